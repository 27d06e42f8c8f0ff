// SPDX-License-Identifier: MIT
/*
 * Children of a rank (item 5): the rank goes on as if there were none, and a child of fork(2)
 * finds every queue in error, has no part in set-up, and may end what it inherited.
 */
#include <signal.h>
#include <stdlib.h>
#include "../comm/children.h"
#include "gin.h"

#define BYTES	4096U

/* Return: 0, or which expectation was not met. */
static int child(struct g_rank *r, struct gda_window *w, unsigned char *mem)
{
	uint32_t next = (r->rank + 1) % r->nranks;
	struct gda_window_segment segment = { .addr = (uintptr_t)mem, .bytes = BYTES };
	struct gda_window_attr attr = {
		.size = sizeof(attr), .count = 1, .segments = &segment,
	};
	struct gda_window *other;
	int i;

	for (i = 0; i < 200; i++) {
		if (gda_gin_put(r->gin, next, gda_at(w, 0), gda_at(w, BYTES), 64,
				gda_gin_inc(1, r->weak)) >= 0)
			return 1;
		if (gda_gin_signal(r->gin, next, gda_gin_inc(1, r->weak)) >= 0)
			return 2;
	}
	if (gda_gin_flush(r->gin, 0) >= 0)
		return 3;
	if (gda_comm_barrier(r->ranks, 0) != -ENODEV)
		return 4;
	if (gda_window_register(r->comm, &attr, &other) != -ENODEV)
		return 5;
	gda_window_deregister(w);
	gda_gin_destroy(r->comm);
	gda_comm_destroy(r->ranks);
	gda_close(r->ctx);
	return 0;
}

static int item5_children(struct g_rank *r)
{
	uint32_t next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
	unsigned char *mem;
	struct gda_window *w;
	int kind, status = -1;
	uint32_t i;
	pid_t pid;

	G_OK(g_window(r, 2 * BYTES, 0, &mem, &w));
	if (!r->rank) {
		/* while the others wait, one of them perhaps under a lock */
		pid = fork();
		if (!pid)
			_exit(child(r, w, mem));
		G_EQ(pid, waitpid(pid, &status, 0));
		G_EQ(0, status);
		for (kind = CHILD_FORK; kind <= CHILD_CLONE; kind++)
			G_TRUE(child_make((enum child_kind)kind));
	}
	G_OK(gda_comm_barrier(r->ranks, 0));
	G_EQ(0, gda_gin_read_signal(r->gin, 1, 64));
	for (i = 1; i <= 50; i++) {
		g_fill(mem + BYTES, BYTES, r->rank, i);
		G_OK(gda_gin_put(r->gin, next, gda_at(w, 0), gda_at(w, BYTES), BYTES,
				 gda_gin_inc(0, 0)));
		G_OK(gda_gin_wait_signal(r->gin, 0, i, 64, 0));
		G_TRUE(g_is(mem, BYTES, before, i));
		G_OK(gda_gin_flush(r->gin, 0));
		G_OK(gda_comm_barrier(r->ranks, 0));
	}
	g_window_end(mem, 2 * BYTES, w);
	return 0;
}

int main(void)
{
	static const struct g_test tests[] = {
		{ "item5_children", item5_children, G_WORDS, 0, { .signals = 2 } },
	};
	int status;

	/* children that live are in the group of this process */
	setpgid(0, 0);
	status = g_main(tests, 1);
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	return status;
}

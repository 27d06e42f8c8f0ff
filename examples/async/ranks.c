// SPDX-License-Identifier: MIT
/*
 * Ranks of the examples of gda/async.h, each with a window.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include "ranks.h"

struct start {
	const struct gda_async_attr *attr;
	size_t bytes;
	bool (*body)(struct rank *r);
};

struct gda_async_event begun(struct gda_async_event event, const char *name)
{
	must(event.handle < 0 ? (int)event.handle : event.handle ? 0 : -1, name);
	return event;
}

static bool rank_run(struct gda_comm *ranks, const void *arg)
{
	const struct start *s = arg;
	struct gda_async_attr attr = *s->attr;
	struct gda_async_window window;
	struct rank r = {
		.ranks = ranks, .rank = gda_comm_rank(ranks), .nranks = gda_comm_size(ranks),
	};
	bool right;

	must(gda_open(NULL, &r.ctx), "gda_open");
	r.memory = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	r.memories = calloc(r.nranks, sizeof(*r.memories));
	must(r.memory == MAP_FAILED || !r.memories, "memory");
	must(gda_comm_allgather(r.ranks, &r.memory, sizeof(r.memory), r.memories, 0),
	     "gda_comm_allgather");
	window.addr = (uintptr_t)r.memory;
	window.bytes = s->bytes;
	attr.windows = &window;
	attr.count = 1;
	/* longer than a busy machine may keep a rank from running */
	attr.timeout_ns = attr.timeout_ns ? attr.timeout_ns : 60000000000;
	must(gda_async_create(r.ranks, r.ctx, &attr, &r.workspace), "gda_async_create");
	right = s->body(&r);
	/* nobody takes memory away that others still read */
	must(gda_comm_barrier(r.ranks, 0), "gda_comm_barrier");
	gda_async_destroy(r.workspace);
	munmap(r.memory, s->bytes);
	free(r.memories);
	gda_close(r.ctx);
	return right;
}

int run_ranks(const char *name, const struct gda_async_attr *attr, size_t bytes,
	      bool (*body)(struct rank *r))
{
	struct start s = { attr, bytes, body };

	return run_all(name, rank_run, &s);
}

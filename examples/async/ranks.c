// SPDX-License-Identifier: MIT
/*
 * Ranks of the examples of gda/async.h, as processes or threads.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "ranks.h"

#define THREADS	4

struct start {
	const struct gda_async_attr *attr;
	size_t bytes;
	bool (*body)(struct rank *r);
	struct gda_comm_id id;
	uint32_t rank;
	bool right;
};

void must(int err, const char *name)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s (%s)\n", name, gda_strerror(err), gda_last_error());
	exit(1);
}

struct gda_async_event begun(struct gda_async_event event, const char *name)
{
	must(event.handle < 0 ? (int)event.handle : event.handle ? 0 : -1, name);
	return event;
}

static bool rank_run(const struct start *s, const struct gda_comm_attr *comm)
{
	struct gda_async_attr attr = *s->attr;
	struct gda_async_window window;
	struct rank r;
	bool right;

	must(gda_comm_create(comm, &r.ranks), "gda_comm_create");
	must(gda_open(NULL, &r.ctx), "gda_open");
	r.rank = gda_comm_rank(r.ranks);
	r.nranks = gda_comm_size(r.ranks);
	r.memory = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	r.memories = calloc(r.nranks, sizeof(*r.memories));
	must(r.memory == MAP_FAILED || !r.memories, "memory");
	must(gda_comm_allgather(r.ranks, &r.memory, sizeof(r.memory), r.memories, 0),
	     "gda_comm_allgather");
	window.addr = (uintptr_t)r.memory;
	window.bytes = s->bytes;
	attr.windows = &window;
	attr.count = 1;
	must(gda_async_create(r.ranks, r.ctx, &attr, &r.workspace), "gda_async_create");
	right = s->body(&r);
	/* nobody takes memory away that others still read */
	must(gda_comm_barrier(r.ranks, 0), "gda_comm_barrier");
	gda_async_destroy(r.workspace);
	munmap(r.memory, s->bytes);
	free(r.memories);
	gda_close(r.ctx);
	gda_comm_destroy(r.ranks);
	return right;
}

static void *thread_main(void *arg)
{
	struct start *s = arg;
	struct gda_comm_attr attr = {
		.size = sizeof(attr), .rank = s->rank, .nranks = THREADS, .id = &s->id,
	};

	s->right = rank_run(s, &attr);
	return NULL;
}

int run_ranks(const char *name, const struct gda_async_attr *attr, size_t bytes,
	      bool (*body)(struct rank *r))
{
	struct start s[THREADS] = { { .attr = attr, .bytes = bytes, .body = body } };
	bool right = true, launched = getenv("GDA_COMM_RANK");
	pthread_t threads[THREADS];
	uint32_t i;

	if (launched) {
		right = rank_run(&s[0], NULL);
	} else {
		must(gda_comm_id_create(NULL, &s[0].id), "gda_comm_id_create");
		for (i = 0; i < THREADS; i++) {
			s[i] = s[0];
			s[i].rank = i;
			must(pthread_create(&threads[i], NULL, thread_main, &s[i]), "pthread");
		}
		for (i = 0; i < THREADS; i++) {
			pthread_join(threads[i], NULL);
			right = right && s[i].right;
		}
	}
	printf("%s: %s\n", name, right ? "as the reference" : "WRONG");
	return right ? 0 : 1;
}

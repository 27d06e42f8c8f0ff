// SPDX-License-Identifier: MIT
/*
 * Ranks of the examples of gda/gin.h, as processes or threads.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "gin-ranks.h"

#define THREADS	4

struct start {
	const struct gda_gin_attr *attr;
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

void *window_of(struct rank *r, size_t bytes, struct gda_window **window)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct gda_window_segment segment = { .addr = (uintptr_t)p, .bytes = bytes };
	struct gda_window_attr attr = {
		.size = sizeof(attr), .segments = &segment, .count = 1,
	};

	must(p == MAP_FAILED, "mmap");
	must(gda_window_register(r->comm, &attr, window), "gda_window_register");
	return p;
}

static bool rank_run(const struct start *s, const struct gda_comm_attr *attr)
{
	struct rank r;
	bool right;

	must(gda_comm_create(attr, &r.ranks), "gda_comm_create");
	must(gda_open(NULL, &r.ctx), "gda_open");
	must(gda_gin_create(r.ranks, r.ctx, s->attr, &r.comm), "gda_gin_create");
	r.gin = gda_gin_context(r.comm, 0);
	r.rank = gda_comm_rank(r.ranks);
	r.nranks = gda_comm_size(r.ranks);
	right = s->body(&r);
	gda_gin_destroy(r.comm);
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

int run_ranks(const char *name, const struct gda_gin_attr *attr, bool (*body)(struct rank *r))
{
	struct start s[THREADS] = { { .attr = attr, .body = body } };
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

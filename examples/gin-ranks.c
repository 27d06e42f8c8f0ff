// SPDX-License-Identifier: MIT
/*
 * Ranks of the examples of gda/gin.h, each with a communicator.
 */
#include <sys/mman.h>
#include "gin-ranks.h"

struct start {
	const struct gda_gin_attr *attr;
	bool (*body)(struct rank *r);
};

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

static bool rank_run(struct gda_comm *ranks, const void *arg)
{
	const struct start *s = arg;
	struct gda_gin_attr attr = *s->attr;
	struct rank r = {
		.ranks = ranks, .rank = gda_comm_rank(ranks), .nranks = gda_comm_size(ranks),
	};
	bool right;

	must(gda_open(NULL, &r.ctx), "gda_open");
	/* longer than a busy machine may keep a rank from running */
	attr.timeout_ns = attr.timeout_ns ? attr.timeout_ns : 60000000000;
	must(gda_gin_create(ranks, r.ctx, &attr, &r.comm), "gda_gin_create");
	r.gin = gda_gin_context(r.comm, 0);
	right = s->body(&r);
	gda_gin_destroy(r.comm);
	gda_close(r.ctx);
	return right;
}

int run_ranks(const char *name, const struct gda_gin_attr *attr, bool (*body)(struct rank *r))
{
	struct start s = { attr, body };

	return run_all(name, rank_run, &s);
}

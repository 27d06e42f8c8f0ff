// SPDX-License-Identifier: MIT
/*
 * All-to-all: each rank puts a block to every rank, itself too. The doorbells of a round are
 * aggregated per peer, and a signal counts the blocks that came. A barrier ends each round:
 * the blocks may then be overwritten. Signals are arrivals at queues of their own, so a
 * block and its signal are one work request.
 */
#include "gin-ranks.h"

#define WORDS	512U
#define BYTES	(WORDS * sizeof(uint32_t))
#define ROUNDS	20U

static uint32_t element(uint32_t from, uint32_t to, uint32_t round, uint32_t i)
{
	return from * 1000003 + to * 10007 + round * 101 + i;
}

static bool alltoall(struct rank *r)
{
	uint32_t n = r->nranks, round, k, i;
	struct gda_gin_barrier barrier;
	struct gda_window *w;
	uint32_t *in = window_of(r, 2 * n * BYTES, &w), *out = in + (size_t)n * WORDS;
	bool right = true;

	must(gda_gin_barrier_begin(&barrier, r->gin, gda_team_world(r->comm), 0), "barrier");
	for (round = 0; round < ROUNDS; round++) {
		for (k = 0; k < n; k++)
			for (i = 0; i < WORDS; i++)
				out[k * WORDS + i] = element(r->rank, k, round, i);
		for (k = 0; k < n; k++)
			must(gda_gin_put(r->gin, k, gda_at_element(w, 0, r->rank, BYTES),
					 gda_at_element(w, n * BYTES, k, BYTES), BYTES,
					 gda_gin_inc(0, GDA_GIN_WEAK)), "gda_gin_put");
		must(gda_gin_wait_signal(r->gin, 0, (round + 1) * n, 64, 0), "gda_gin_wait_signal");
		for (i = 0; i < n * WORDS; i++)
			right = right && in[i] == element(i / WORDS, r->rank, round, i % WORDS);
		/* the caller's sources, then everybody's */
		must(gda_gin_flush(r->gin, 0), "gda_gin_flush");
		must(gda_gin_barrier_sync(&barrier, 0, 0), "gda_gin_barrier_sync");
	}
	gda_gin_barrier_end(&barrier);
	gda_window_deregister(w);
	return right;
}

int main(void)
{
	struct gda_gin_attr attr = {
		.size = sizeof(attr), .flags = GDA_GIN_ARRIVAL, .signals = 1, .barriers = 1,
	};

	return run_ranks("all-to-all", &attr, alltoall);
}

// SPDX-License-Identifier: MIT
/*
 * strong - strong signals on queues without order: fenced, and by epochs
 *
 * A rank puts blocks to the other one, with a strong signal behind every Nth of them. The other
 * rank waits for the last signal, or, where the first one also computes, for nothing until all is
 * sent: the computation behind a signal takes as long as the put of a block. Both kinds run in turn
 * in this process. Prints how many puts go through, and the ratio. Speaks KTAP.
 *
 * On the in-process device a thread that waits for its requests executes them itself, so a wait
 * costs little unless there is something to do meanwhile.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "gin.h"

#define DEPTH	256U
#define TURNS	6U
#define BLOCK	(64U << 10)

struct row {
	uint32_t every, bytes, signals, rounds;
	uint64_t compute;		/* ns behind each signal */
};

static struct row row;
static uint64_t best[2];		/* ns, fenced and by epochs */

/* Be busy, but not with the queue. */
static void compute(uint64_t ns)
{
	uint64_t end = gda_clock_ns() + ns;

	while (ns && gda_clock_ns() < end)
		gda_pause();
}

/* Rank 0 puts. */
static int send(struct g_rank *r, const struct gda_window *w)
{
	uint32_t i, k;

	for (i = 0; i < row.signals; i++) {
		for (k = 1; k < row.every; k++)
			G_OK(gda_gin_put(r->gin, 1, gda_at(w, 0), gda_at(w, 0), row.bytes,
					 gda_gin_plain(0)));
		G_OK(gda_gin_put(r->gin, 1, gda_at(w, 0), gda_at(w, 0), row.bytes,
				 gda_gin_inc(0, 0)));
		compute(row.compute);
	}
	return 0;
}

/* Return: 0, and how long it took in @ns. */
static int one(struct g_rank *r, const struct gda_window *w, uint64_t *ns)
{
	uint64_t begin = gda_clock_ns();

	if (!r->rank)
		G_OK(send(r, w));
	if (!r->rank && row.compute)
		G_OK(gda_gin_flush(r->gin, 0));
	if (r->rank && !row.compute)
		G_OK(gda_gin_wait_signal(r->gin, 0, row.signals, 64, 0));
	*ns = gda_clock_ns() - begin;
	G_OK(gda_comm_barrier(r->ranks, 0));
	if (!row.compute)
		*ns = gda_clock_ns() - begin;
	if (r->rank) {
		G_OK(gda_gin_wait_signal(r->gin, 0, row.signals, 64, 0));
		gda_gin_reset_signal(r->gin, 0);
	}
	G_OK(gda_comm_barrier(r->ranks, 0));
	return 0;
}

static int measure(struct g_rank *r)
{
	int epochs = gda_gin_by_epochs(r->gin);
	struct gda_window *w;
	unsigned char *mem;
	uint32_t i;
	uint64_t ns = 0;

	G_OK(g_window(r, BLOCK, 0, &mem, &w));
	memset(mem, 1, BLOCK);
	for (i = 0; i < row.rounds; i++) {
		G_OK(one(r, w, &ns));
		if (!r->rank && (!best[epochs] || ns < best[epochs]))
			best[epochs] = ns;
	}
	g_window_end(mem, BLOCK, w);
	return 0;
}

/* Run both kinds in turn. Return: how many failed. */
static int run(const struct row *what)
{
	struct g_test test = {
		.name = "strong", .body = measure, .kinds = G_WORDS, .ranks = 2,
		.attr = { .signals = 1, .depth = DEPTH, .dialect = GDA_DIALECT_EFA },
	};
	uint32_t k;
	int rc = 0;

	row = *what;
	best[0] = best[1] = 0;
	for (k = 0; k < 2 * TURNS; k++) {
		test.attr.flags = k % 2 ? GDA_GIN_EPOCHS : 0;
		rc += g_alone(&test);
	}
	return rc;
}

int main(void)
{
	struct row rows[] = {
		{ .every = 1, .bytes = 64, .signals = 4000, .rounds = 3 },
		{ .every = 8, .bytes = 64, .signals = 2000, .rounds = 3 },
		{ .every = 32, .bytes = 64, .signals = 1000, .rounds = 3 },
		{ .every = 1, .bytes = BLOCK, .signals = DEPTH / 2, .rounds = 9 },
		{ .every = 1, .bytes = BLOCK, .signals = DEPTH / 2, .rounds = 9, .compute = 1 },
	};
	uint32_t i, n = sizeof(rows) / sizeof(rows[0]);
	int failed = 0;

	printf("TAP version 13\n1..%u\n", n);
	for (i = 0; i < n; i++) {
		double rate[2];
		uint32_t k;
		int rc;

		if (rows[i].compute)
			rows[i].compute = best[0] / row.signals;
		rc = run(&rows[i]);
		for (k = 0; k < 2; k++)
			rate[k] = 1e3 * row.signals * row.every / (double)best[k];
		printf("# fenced %.3f M puts/s, epochs %.3f: %.2f times\n", rate[0], rate[1],
		       rate[1] / rate[0]);
		printf("%sok %u puts of %u bytes, a strong signal behind each %u%s\n",
		       rc ? "not " : "", i + 1, row.bytes, row.every,
		       row.compute ? ", then a computation" : "");
		failed += rc;
	}
	return failed != 0;
}

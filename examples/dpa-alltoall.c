// SPDX-License-Identifier: MIT
/*
 * All-to-all, offloaded: tasks do it, and the threads that launch them sleep. Each rank has four
 * threads of tasks and an RDMA handle to every rank; a thread writes to its share of the peers
 * and adds to their events behind what it wrote. A round is over for a rank when its own event
 * has counted all ranks. The result is compared with what a serial loop would have stored.
 *
 * Ranks are four threads of this process, or the processes that gda-run starts.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gda/barrier.h>
#include <gda/comm.h>
#include <gda/dpa.h>
#include "ranks.h"

#define MOST	64U
#define THREADS	4U
#define WORDS	4096U
#define BYTES	(WORDS * sizeof(uint32_t))
#define ROUNDS	50U

/* Each rank sends this to the others. */
struct card {
	struct gda_dpa_buf in;
	struct gda_dpa_remote_event arrived;
	struct gda_address address[MOST];	/* of the handle to each rank */
};

struct peer {
	struct gda_dpa_buf in;
	struct gda_dpa_remote_event arrived;
	uint32_t rdma;
	uint32_t reserved;
};

struct alltoall_args {
	uint64_t peers;			/* in the heap */
	struct gda_dpa_buf out;
	uint32_t rank, nranks;
};

GDA_DPA_TASK(alltoall_task)
{
	const struct alltoall_args *a = args;
	const struct peer *peers = gda_dpa_at(t, a->peers, a->nranks * sizeof(*peers));
	uint32_t i;
	int err;

	for (i = gda_dpa_rank(t); i < a->nranks; i += gda_dpa_threads(t)) {
		err = gda_dpa_rdma_write(t, peers[i].rdma, &peers[i].in, a->rank * BYTES, &a->out,
					 i * BYTES, BYTES);
		if (!err)
			err = gda_dpa_rdma_signal_add(t, peers[i].rdma, &peers[i].arrived, 1);
		if (err)
			gda_dpa_log(t, "to rank %u: error %d", i, err);
	}
	/* the sources may be changed when the last thread has waited */
	for (i = gda_dpa_rank(t); i < a->nranks; i += gda_dpa_threads(t)) {
		err = gda_dpa_rdma_wait(t, peers[i].rdma, gda_clock_ns() + 10000000000U);
		if (err)
			gda_dpa_log(t, "wait for rank %u: error %d", i, err);
	}
}

static uint32_t element(uint32_t from, uint32_t to, uint32_t round, uint32_t i)
{
	return from * 1000003 + to * 10007 + round * 101 + i;
}

struct rank {
	struct gda_comm *ranks;
	struct gda_context *ctx;
	struct gda_dpa *dpa;
	struct gda_dpa_event *arrived, *sent;
	struct gda_dpa_rdma *rdma[MOST];
	uint64_t in, out;
	struct alltoall_args args;
};

static void rank_open(struct rank *r, struct card *own, uint32_t n)
{
	struct gda_dpa_event_attr attr = { .size = sizeof(attr), .publishers = GDA_DPA_PEERS };
	struct gda_dpa_attr dpa = {
		.size = sizeof(dpa), .threads = THREADS, .heap_bytes = 65536 + 2 * n * BYTES,
	};
	uint32_t i;

	must(gda_open(NULL, &r->ctx), "gda_open");
	must(gda_dpa_create(r->ctx, &dpa, &r->dpa), "gda_dpa_create");
	must(gda_dpa_event_create(r->dpa, &attr, &r->arrived), "gda_dpa_event_create");
	must(gda_dpa_event_create(r->dpa, NULL, &r->sent), "gda_dpa_event_create");
	must(gda_dpa_alloc(r->dpa, n * BYTES, &r->in), "gda_dpa_alloc");
	must(gda_dpa_alloc(r->dpa, n * BYTES, &r->out), "gda_dpa_alloc");
	must(gda_dpa_heap_buf(r->dpa, r->in, n * BYTES, &own->in), "gda_dpa_heap_buf");
	must(gda_dpa_heap_buf(r->dpa, r->out, n * BYTES, &r->args.out), "gda_dpa_heap_buf");
	must(gda_dpa_event_export(r->arrived, &own->arrived), "gda_dpa_event_export");
	for (i = 0; i < n; i++) {
		must(gda_dpa_rdma_create(r->dpa, NULL, &r->rdma[i]), "gda_dpa_rdma_create");
		must(gda_dpa_rdma_address(r->rdma[i], &own->address[i]), "gda_dpa_rdma_address");
	}
}

/* Connect to all, and tell the tasks who they are. */
static void rank_connect(struct rank *r, uint32_t self, uint32_t n)
{
	struct card *cards = calloc(n + 1, sizeof(*cards));
	struct peer *peers = calloc(n, sizeof(*peers));
	uint32_t i;

	must(!cards || !peers ? -ENOMEM : 0, "calloc");
	rank_open(r, &cards[n], n);
	must(gda_comm_allgather(r->ranks, &cards[n], sizeof(*cards), cards, 0),
	     "gda_comm_allgather");
	for (i = 0; i < n; i++) {
		must(gda_dpa_rdma_connect(r->rdma[i], &cards[i].address[self]),
		     "gda_dpa_rdma_connect");
		peers[i].in = cards[i].in;
		peers[i].arrived = cards[i].arrived;
		peers[i].rdma = gda_dpa_rdma_handle(r->rdma[i]);
	}
	must(gda_dpa_alloc(r->dpa, n * sizeof(*peers), &r->args.peers), "gda_dpa_alloc");
	must(gda_dpa_write(r->dpa, r->args.peers, peers, n * sizeof(*peers)), "gda_dpa_write");
	r->args.rank = self;
	r->args.nranks = n;
	free(cards);
	free(peers);
}

static bool rank_round(struct rank *r, uint32_t round, uint32_t *words)
{
	struct gda_dpa_launch_attr launch = {
		.size = sizeof(launch), .task = &alltoall_task, .threads = THREADS,
		.done = r->sent, .value = 1, .args = &r->args, .bytes = sizeof(r->args),
	};
	uint64_t deadline = gda_clock_ns() + 20000000000U;
	uint32_t n = r->args.nranks, i;
	bool right = true;

	for (i = 0; i < n * WORDS; i++)
		words[i] = element(r->args.rank, i / WORDS, round, i % WORDS);
	must(gda_dpa_write(r->dpa, r->out, words, n * BYTES), "gda_dpa_write");
	must(gda_dpa_launch(r->dpa, &launch), "gda_dpa_launch");
	must(gda_dpa_event_await_gt(r->arrived, (round + 1) * (uint64_t)n - 1, UINT64_MAX,
				    deadline), "arrivals");
	must(gda_dpa_event_await_gt(r->sent, round, UINT64_MAX, deadline), "tasks");
	must(gda_dpa_read(r->dpa, words, r->in, n * BYTES), "gda_dpa_read");
	for (i = 0; i < n * WORDS; i++)
		right = right && words[i] == element(i / WORDS, r->args.rank, round, i % WORDS);
	/* all have read before the next round writes */
	must(gda_comm_barrier(r->ranks, 0), "gda_comm_barrier");
	return right;
}

static bool rank_run(struct gda_comm *ranks, const void *arg)
{
	char line[GDA_DPA_LINE_BYTES];
	struct rank r = { .ranks = ranks };
	uint32_t *words, n = gda_comm_size(ranks), i;
	bool right = true;

	(void)arg;
	must(n > MOST ? -EINVAL : 0, "more than 64 ranks");
	rank_connect(&r, gda_comm_rank(ranks), n);
	words = calloc(n, BYTES);
	must(words ? 0 : -ENOMEM, "calloc");
	must(gda_comm_barrier(ranks, 0), "gda_comm_barrier");
	for (i = 0; i < ROUNDS; i++)
		right = rank_round(&r, i, words) && right;
	while (gda_dpa_log_read(r.dpa, line, sizeof(line)) >= 0)
		printf("rank %u: %s\n", r.args.rank, line);
	free(words);
	must(gda_dpa_destroy(r.dpa), "gda_dpa_destroy");
	gda_close(r.ctx);
	return right;
}

int main(void)
{
	return run_all("all-to-all by tasks", rank_run, NULL);
}

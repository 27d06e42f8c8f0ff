// SPDX-License-Identifier: MIT
/*
 * All-to-all, offloaded: tasks do it, and the threads that launch them sleep. Each rank has four
 * threads of tasks and an RDMA handle to every rank; a thread writes to its share of the peers
 * and adds to their events behind what it wrote. All rounds are launched at once: each starts
 * when the one before has ended.
 *
 * A task waits for what a peer sent in the round before, compares it with what a serial loop
 * would have stored, and only then writes to that peer. So a peer may write again where its last
 * but one block was: two buffers are enough. The host compares the last round.
 *
 * Ranks are four threads of this process, or the processes that gda-run starts. As threads they
 * also say which part of the processor time was theirs, and not that of tasks and device.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <gda/barrier.h>
#include <gda/comm.h>
#include <gda/dpa.h>
#include "ranks.h"

#define MOST	64U
#define THREADS	4U
#define WORDS	4096U
#define BYTES	(WORDS * sizeof(uint32_t))
#define ROUNDS	200U

/* Each rank sends this to the others. */
struct card {
	struct gda_dpa_buf in;
	struct gda_dpa_remote_event arrived[MOST];	/* of what each rank sends */
	struct gda_address address[MOST];	/* of the handle to each rank */
};

struct peer {
	struct gda_dpa_buf in;
	struct gda_dpa_remote_event arrived;
	uint32_t rdma;
	uint32_t from;			/* an event: what has come of it */
};

struct alltoall_args {
	uint64_t peers;			/* in the heap */
	uint64_t in, out;		/* likewise, the buffers of even rounds first */
	struct gda_dpa_buf out_buf;
	uint32_t rank, nranks;
	uint32_t round;
	uint32_t wrong;			/* an event: blocks that are not as they should be */
};

static uint32_t element(uint32_t from, uint32_t to, uint32_t round, uint32_t i)
{
	return from * 1000003 + to * 10007 + round * 101 + i;
}

static bool block_is(const uint32_t *words, uint32_t from, uint32_t to, uint32_t round)
{
	uint32_t different = 0, i;

	for (i = 0; i < WORDS; i++)
		different |= words[i] ^ element(from, to, round, i);
	return !different;
}

/* Where block @i of the buffer of a round begins. */
static uint64_t block_at(const struct alltoall_args *a, uint32_t round, uint32_t i)
{
	return ((uint64_t)(round % 2) * a->nranks + i) * BYTES;
}

/* Compare what came of peer @i in the round before, and make what it gets in this one. */
static void alltoall_block(struct gda_dpa_thread *t, const struct alltoall_args *a, uint32_t i,
			   uint32_t from)
{
	uint32_t *out = gda_dpa_at(t, a->out + block_at(a, a->round, i), BYTES), k;
	const uint32_t *in;

	if (a->round && !gda_dpa_event_wait_gt(t, from, a->round - 1, UINT64_MAX)) {
		in = gda_dpa_at(t, a->in + block_at(a, a->round - 1, i), BYTES);
		if (!block_is(in, i, a->rank, a->round - 1))
			gda_dpa_event_update_add(t, a->wrong, 1);
	}
	for (k = 0; k < WORDS; k++)
		out[k] = element(a->rank, i, a->round, k);
}

GDA_DPA_TASK(alltoall_task)
{
	const struct alltoall_args *a = args;
	const struct peer *peers = gda_dpa_at(t, a->peers, a->nranks * sizeof(*peers));
	uint32_t i;
	int err;

	for (i = gda_dpa_rank(t); i < a->nranks; i += gda_dpa_threads(t)) {
		alltoall_block(t, a, i, peers[i].from);
		err = gda_dpa_rdma_write(t, peers[i].rdma, &peers[i].in,
					 block_at(a, a->round, a->rank), &a->out_buf,
					 block_at(a, a->round, i), BYTES);
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

struct rank {
	struct gda_comm *ranks;
	struct gda_context *ctx;
	struct gda_dpa *dpa;
	struct gda_dpa_event *arrived[MOST], *sent, *finished, *wrong;
	struct gda_dpa_rdma *rdma[MOST];
	struct alltoall_args args;
};

static void rank_open(struct rank *r, struct card *own, uint32_t n)
{
	struct gda_dpa_event_attr attr = { .size = sizeof(attr), .publishers = GDA_DPA_PEERS };
	struct gda_dpa_attr dpa = {
		.size = sizeof(dpa), .flags = GDA_DPA_WAKE, .threads = THREADS,
		.heap_bytes = 65536 + 4 * n * BYTES,
		/* what waits sleeps at once: its processor may be a task's */
		.spin_ns = UINT64_MAX,
	};
	struct alltoall_args *a = &r->args;
	uint32_t i;

	must(gda_open(NULL, &r->ctx), "gda_open");
	must(gda_dpa_create(r->ctx, &dpa, &r->dpa), "gda_dpa_create");
	must(gda_dpa_event_create(r->dpa, NULL, &r->sent), "gda_dpa_event_create");
	must(gda_dpa_event_create(r->dpa, NULL, &r->finished), "gda_dpa_event_create");
	must(gda_dpa_event_create(r->dpa, NULL, &r->wrong), "gda_dpa_event_create");
	a->wrong = gda_dpa_event_handle(r->wrong);
	must(gda_dpa_alloc(r->dpa, 2 * n * BYTES, &a->in), "gda_dpa_alloc");
	must(gda_dpa_alloc(r->dpa, 2 * n * BYTES, &a->out), "gda_dpa_alloc");
	must(gda_dpa_heap_buf(r->dpa, a->in, 2 * n * BYTES, &own->in), "gda_dpa_heap_buf");
	must(gda_dpa_heap_buf(r->dpa, a->out, 2 * n * BYTES, &a->out_buf), "gda_dpa_heap_buf");
	for (i = 0; i < n; i++) {
		must(gda_dpa_event_create(r->dpa, &attr, &r->arrived[i]), "gda_dpa_event_create");
		must(gda_dpa_event_export(r->arrived[i], &own->arrived[i]), "gda_dpa_event_export");
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
		peers[i].arrived = cards[i].arrived[self];
		peers[i].from = gda_dpa_event_handle(r->arrived[i]);
		peers[i].rdma = gda_dpa_rdma_handle(r->rdma[i]);
	}
	must(gda_dpa_alloc(r->dpa, n * sizeof(*peers), &r->args.peers), "gda_dpa_alloc");
	must(gda_dpa_write(r->dpa, r->args.peers, peers, n * sizeof(*peers)), "gda_dpa_write");
	r->args.rank = self;
	r->args.nranks = n;
	free(cards);
	free(peers);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Launch all rounds, and sleep until they have ended. */
static void rank_exchange(struct rank *r)
{
	struct gda_dpa_launch_attr launch = {
		.size = sizeof(launch), .task = &alltoall_task, .threads = THREADS,
		.value = 1, .args = &r->args, .bytes = sizeof(r->args),
	};
	uint64_t deadline = gda_clock_ns() + 60000000000U;
	uint32_t *round = &r->args.round, i;

	for (*round = 0; *round < ROUNDS; (*round)++) {
		launch.wait = *round ? r->sent : NULL;
		launch.threshold = *round - 1U;
		/* what waits for this one sleeps until the last round */
		launch.done = *round + 1 < ROUNDS ? r->sent : r->finished;
		must(gda_dpa_launch(r->dpa, &launch), "gda_dpa_launch");
	}
	must(gda_dpa_event_await_gt(r->finished, 0, UINT64_MAX, deadline), "tasks");
	for (i = 0; i < r->args.nranks; i++)
		must(gda_dpa_event_await_gt(r->arrived[i], ROUNDS - 1, UINT64_MAX, deadline),
		     "arrivals");
}

/* Looks at what the tasks have found, and at the last round. */
static bool rank_is_right(struct rank *r)
{
	const struct alltoall_args *a = &r->args;
	uint32_t words[WORDS], i;
	uint64_t wrong;
	bool right;

	must(gda_dpa_event_get(r->wrong, &wrong), "gda_dpa_event_get");
	right = !wrong;
	for (i = 0; i < a->nranks; i++) {
		must(gda_dpa_read(r->dpa, words, a->in + block_at(a, ROUNDS - 1, i), BYTES),
		     "gda_dpa_read");
		right = right && block_is(words, i, a->rank, ROUNDS - 1);
	}
	return right;
}

/* The processor time of the threads that launch, of all ranks of this process. */
static _Atomic uint64_t launching;

static bool rank_run(struct gda_comm *ranks, const void *arg)
{
	char line[GDA_DPA_LINE_BYTES];
	struct rank r = { .ranks = ranks };
	uint32_t n = gda_comm_size(ranks);
	uint64_t before;
	bool right;

	(void)arg;
	must(n > MOST ? -EINVAL : 0, "more than 64 ranks");
	rank_connect(&r, gda_comm_rank(ranks), n);
	must(gda_comm_barrier(ranks, 0), "gda_comm_barrier");
	before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	rank_exchange(&r);
	launching += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	right = rank_is_right(&r);
	while (gda_dpa_log_read(r.dpa, line, sizeof(line)) >= 0)
		printf("rank %u: %s\n", r.args.rank, line);
	/* a rank that goes takes its memory from those that still write to it */
	must(gda_comm_barrier(ranks, 0), "gda_comm_barrier");
	must(gda_dpa_destroy(r.dpa), "gda_dpa_destroy");
	gda_close(r.ctx);
	return right;
}

int main(void)
{
	int status = run_all("all-to-all by tasks", rank_run, NULL);
	double all = (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	if (!getenv("GDA_COMM_RANK"))
		printf("launching threads: %.2f %% of %.1f ms of processor time\n",
		       100 * (double)launching / all, all / 1e6);
	return status;
}

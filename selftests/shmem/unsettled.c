// SPDX-License-Identifier: MIT
/*
 * The work that OpenSHMEM's calls by queue leave to the next quiet: the puts of the program, but
 * neither the library's own words nor what a read that was waited for was behind. Over a queue
 * in plain memory.
 */
#include <pthread.h>
#include <stdlib.h>
#include "osh.h"
#include "../lib/fake_nic.h"
#include "kselftest_harness.h"

enum { PE, BYTES = 4096 };

FIXTURE(unsettled) {
	struct fake_queue *q;
	struct gda_shmem s;
	struct gda_shmem_peer peer;
	struct gda_shmem_qp qp;
	struct gda_chunk chunk;
	uint64_t *heap;
};

FIXTURE_SETUP(unsettled)
{
	self->heap = aligned_alloc(BYTES, BYTES);
	ASSERT_NE(NULL, self->heap);
	memset(self->heap, 0, BYTES);
	self->q = fake_queue_new(64);
	self->q->view.timeout_ns = UINT32_MAX * 100ULL;
	self->qp = (struct gda_shmem_qp) { .view = (uintptr_t)&self->q->view };
	self->chunk = (struct gda_chunk) {
		.addr = (uintptr_t)self->heap, .length = BYTES, .iova = 1 << 20, .key = 7,
	};
	self->peer = (struct gda_shmem_peer) {
		.qps = (uintptr_t)&self->qp,
		.map = { .size = sizeof(self->peer.map), .count = 1,
			 .chunks = (uintptr_t)&self->chunk },
	};
	self->s = (struct gda_shmem) {
		.size = sizeof(self->s), .npes = 1, .qps = 1, .heap = (uintptr_t)self->heap,
		.heap_bytes = BYTES, .peers = (uintptr_t)&self->peer,
		.stage = (uintptr_t)self->heap, .stage_key = 8, .timeout_ns = 1000000000,
	};
	gda_osh = (struct gda_osh) { .npes = 1, .s = &self->s, .flags = GDA_EXCLUSIVE };
	ASSERT_EQ(0, gda_osh_queue_init());
}

FIXTURE_TEARDOWN(unsettled)
{
	gda_osh_queue_fini();
	fake_queue_free(self->q);
	free(self->heap);
}

/* Does the next quiet post a read? It is left there. */
static bool asks(struct gda_shmem *s, struct gda_shmem_peer *p, struct gda_shmem_qp *qp)
{
	struct gda_view *v = (struct gda_view *)(uintptr_t)qp->view;
	uint64_t before = gda_handed_out(v);
	int some = gda_shmem_queue_flush(s, p, qp);

	return some == 1 && gda_handed_out(v) == before + 1;
}

#define ASKS	asks(&self->s, &self->peer, &self->qp)

TEST_F(unsettled, barriers_leave_it_quiet)
{
	EXPECT_FALSE(ASKS);
	gda_osh_queue_set("test", self->heap, 1, PE);
	gda_osh_queue_add("test", self->heap, 1, PE);
	EXPECT_EQ(2, gda_handed_out(&self->q->view));
	EXPECT_FALSE(ASKS);
}

TEST_F(unsettled, puts_before_one_are_completed)
{
	gda_osh_queue_p64("test", self->heap, 1, PE);
	gda_osh_queue_set("test", self->heap, 2, PE);
	EXPECT_TRUE(ASKS);
}

TEST_F(unsettled, puts_behind_one_are_completed)
{
	gda_osh_queue_set("test", self->heap, 2, PE);
	gda_osh_queue_p64("test", self->heap, 1, PE);
	EXPECT_TRUE(ASKS);
}

/* The queue goes then: nothing may be under way. */
TEST_F(unsettled, those_of_the_end_are_completed)
{
	gda_osh.stopping = true;
	gda_osh_queue_set("test", self->heap, 1, PE);
	EXPECT_TRUE(ASKS);
}

/* Requests that other threads posted between are theirs. */
TEST_F(unsettled, threads_leave_it_to_the_quiet)
{
	gda_osh.flags = 0;
	gda_osh_queue_set("test", self->heap, 1, PE);
	EXPECT_TRUE(ASKS);
}

/* The queue's NIC: all that is posted is done as soon as there are two. */
static void *complete_two(void *arg)
{
	struct fake_queue *q = arg;

	while (gda_handed_out(&q->view) < 2)
		gda_pause();
	fake_complete(q, 2);
	return NULL;
}

/* A read that was waited for is one that a quiet would post. */
TEST_F(unsettled, a_read_completes_what_is_before_it)
{
	pthread_t nic;

	ASSERT_EQ(0, pthread_create(&nic, NULL, complete_two, self->q));
	gda_osh_queue_p64("test", self->heap, 1, PE);
	gda_osh_queue_get("test", self->heap + 1, self->heap, sizeof(*self->heap), PE);
	pthread_join(nic, NULL);
	EXPECT_EQ(2, gda_handed_out(&self->q->view));
	EXPECT_FALSE(ASKS);
	gda_osh_queue_p64("test", self->heap, 1, PE);
	EXPECT_TRUE(ASKS);
}

/* A program's stack may be symmetric memory: then the device reads values from there. */
struct value_on_stack {
	struct fake_queue *q;
	int *dest;
	uint32_t carried_out, early;
};

enum { STACK = 65536, ROUNDS = 64 };

static void *store_values(void *arg)
{
	struct value_on_stack *w = arg;
	uint32_t i;

	for (i = 1; i <= ROUNDS; i++) {
		shmem_int_p(w->dest, (int)i, PE);
		w->early += __atomic_load_n(&w->carried_out, __ATOMIC_ACQUIRE) != i;
	}
	return NULL;
}

/* An int that lies in two MRs is two requests, whose source is the argument of the call. */
TEST_F(unsettled, item_1_value_outlives_the_call)
{
	char *memory = aligned_alloc(BYTES, STACK + BYTES);
	struct gda_chunk chunk[2] = {
		{ .addr = (uintptr_t)memory, .length = 2, .iova = 1 << 20, .key = 7 },
		{ .addr = (uintptr_t)memory + 2, .length = STACK + BYTES - 2, .iova = 1 << 21,
		  .key = 8 },
	};
	struct value_on_stack w = { .q = self->q, .dest = (int *)(void *)memory };
	pthread_attr_t attr;
	pthread_t thread;
	uint64_t i;

	ASSERT_NE(NULL, memory);
	self->s.heap = (uintptr_t)memory;
	self->s.heap_bytes = STACK + BYTES;
	self->peer.map.count = 2;
	self->peer.map.chunks = (uintptr_t)chunk;
	pthread_attr_init(&attr);
	ASSERT_EQ(0, pthread_attr_setstack(&attr, memory + BYTES, STACK));
	ASSERT_EQ(0, pthread_create(&thread, &attr, store_values, &w));
	for (i = 1; i <= ROUNDS; i++) {
		while (gda_handed_out(&self->q->view) < 2 * i)
			gda_pause();
		__atomic_store_n(&w.carried_out, i, __ATOMIC_RELEASE);
		fake_complete(self->q, 2 * i);
	}
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	TH_LOG("%u of %u calls returned while the device might read their value", w.early, ROUNDS);
	EXPECT_EQ(0, w.early);
	free(memory);
}

TEST_HARNESS_MAIN

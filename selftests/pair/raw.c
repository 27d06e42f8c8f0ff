// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Raw verbs between the two guests of gda-pair: that the pair and rdma_rxe do what tests of
 * GDA rely on. Side 0 posts, side 1 owns the memory.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include "kselftest_harness.h"
#include "pair.h"
#include "../../tools/gda-perf/rc.h"

#define BYTES	(1U << 20)
#define DEPTH	64

FIXTURE(raw) {
	struct rc rc;
	struct rc_address peer;
	uint8_t *memory;
};

static uint64_t in_seconds(unsigned int s)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (ts.tv_sec + s) * 1000000000ULL + ts.tv_nsec;
}

FIXTURE_SETUP(raw)
{
	struct rc_address own;
	char name[80];

	if (pair_side() < 0)
		SKIP(return, "not in gda-pair");
	self->memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			    0);
	ASSERT_NE(MAP_FAILED, self->memory);
	ASSERT_EQ(0, rc_open(&self->rc, pair_env("GDA_PAIR_RDMA"), self->memory, BYTES, DEPTH));
	rc_address(&self->rc, &own);
	snprintf(name, sizeof(name), "%s.address", _metadata->name);
	ASSERT_EQ(0, pair_swap(name, &own, &self->peer, sizeof(own)));
	ASSERT_EQ(0, rc_connect(&self->rc, &self->peer));
	snprintf(name, sizeof(name), "%s.connected", _metadata->name);
	ASSERT_EQ(0, pair_barrier(name));
}

FIXTURE_TEARDOWN(raw)
{
	char name[80];

	if (pair_side() < 0)
		return;
	/* Neither end goes before the other one is through. */
	snprintf(name, sizeof(name), "%s.done", _metadata->name);
	pair_barrier(name);
	rc_close(&self->rc);
	munmap(self->memory, BYTES);
}

static uint8_t pattern(size_t i)
{
	return (uint8_t)(i * 7 + i / 251);
}

/* Return: 0, a negative errno, or the status of a request that failed. */
static int run(FIXTURE_DATA(raw) *self, enum ibv_wr_opcode opcode, size_t at, uint32_t bytes)
{
	struct rc_work w;
	int err;

	rc_prepare(&self->rc, &self->peer, &w, opcode, bytes);
	w.sge.addr += at;
	w.wr.wr.rdma.remote_addr += at;
	err = rc_post(&self->rc, &w);
	return err ? err : rc_wait(&self->rc, in_seconds(20));
}

TEST_F_TIMEOUT(raw, write_arrives, 60)
{
	if (!pair_side()) {
		for (size_t i = 0; i < BYTES; i++)
			self->memory[i] = pattern(i);
		for (size_t at = 0; at < BYTES; at += 65536)
			ASSERT_EQ(0, run(self, IBV_WR_RDMA_WRITE, at, 65536));
	}
	ASSERT_EQ(0, pair_barrier("written"));
	for (size_t i = 0; i < BYTES; i++)
		ASSERT_EQ(pattern(i), self->memory[i]);
}

TEST_F_TIMEOUT(raw, fetch_add_counts, 60)
{
	volatile uint64_t *word = (volatile uint64_t *)self->memory;

	if (!pair_side()) {
		for (uint64_t i = 0; i < 100; i++) {
			ASSERT_EQ(0, run(self, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8));
			ASSERT_EQ(i, *word);
		}
	}
	ASSERT_EQ(0, pair_barrier("counted"));
	if (pair_side())
		ASSERT_EQ(100, *word);
}

TEST_F_TIMEOUT(raw, cut_link_ends_in_retry_exceeded, 60)
{
	if (!pair_side()) {
		ASSERT_EQ(0, run(self, IBV_WR_RDMA_WRITE, 0, 8));
		ASSERT_EQ(0, pair_ask("link-off", 1));
		EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, run(self, IBV_WR_RDMA_WRITE, 0, 8));
		ASSERT_EQ(0, pair_ask("link-on", 1));
	}
}

TEST_F_TIMEOUT(raw, stopped_peer_ends_in_retry_exceeded, 60)
{
	if (!pair_side()) {
		ASSERT_EQ(0, run(self, IBV_WR_RDMA_WRITE, 0, 8));
		ASSERT_EQ(0, pair_ask("stop", 1));
		EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, run(self, IBV_WR_RDMA_WRITE, 0, 8));
		ASSERT_EQ(0, pair_ask("cont", 1));
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: MIT
/*
 * Rings of records (engine/control/record.c) under writers that overtake each other: a
 * record that is read is one that somebody wrote, whole; and the reader knows what it missed.
 */
#include <pthread.h>
#include "suite.h"
#include "inproc.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define RECORDS	1000000U
#else
#define RECORDS	10000000U
#endif

struct writer {
	pthread_t thread;
	struct gda_record_ring *ring;
	uint32_t id;
	uint32_t n;
};

/* All members say which record it is: a mixture of two is found out. */
static struct gda_record pattern(uint32_t id, uint64_t i)
{
	return (struct gda_record) {
		.ns = i ^ 0x1111111111111111, .ticket = i, .raddr = ~i, .laddr = i * 3,
		.len = (uint32_t)i + 7, .rkey = (uint32_t)i * 5, .lkey = id, .qpn = (uint32_t)i,
		.kind = GDA_RECORD_DONE, .opcode = (uint8_t)i, .err_class = (uint8_t)(i + 1),
		.cause = (uint8_t)(i + 2), .aux = (uint32_t)~i,
	};
}

static bool whole(const struct gda_record *r)
{
	struct gda_record want = pattern(r->lkey, r->ticket);

	want.seq = r->seq;
	return !memcmp(r, &want, sizeof(want));
}

static void *write_all(void *arg)
{
	const struct writer *w = arg;

	for (uint64_t i = 0; i < w->n; i++) {
		struct gda_record r = pattern(w->id, i);

		gda_record_write(w->ring, &r);
	}
	return NULL;
}

struct seen {
	uint64_t whole, torn, lapped, disordered;
};

/* Read until @end records were handed out and the rest is read. */
static struct seen read_all(const struct gda_record_ring *ring, uint64_t end)
{
	uint64_t last[2] = { 0, 0 };
	struct seen seen = { 0 };
	struct gda_record r;
	uint64_t pos = 0;

	while (pos < end) {
		int ret = gda_record_read(ring->records, ring->mask, pos, &r);

		if (!ret && READ_ONCE(ring->next) >= end && pos + ring->mask >= end) {
			/* its writer dropped it, close to the end; or is about to write it */
			seen.lapped++;
			pos++;
		} else if (ret < 0) {
			seen.lapped++;
			pos++;
		} else if (ret > 0) {
			seen.torn += !whole(&r) || r.seq != pos + 1;
			seen.disordered += r.lkey > 1 || (r.ticket && r.ticket <= last[r.lkey]);
			last[r.lkey & 1] = r.ticket;
			seen.whole++;
			pos++;
		} else {
			sched_yield();
		}
	}
	return seen;
}

static void run(struct __test_metadata *_metadata, uint32_t size, uint32_t n)
{
	struct gda_record_ring ring = { .mask = size - 1 };
	struct writer w[2];
	struct seen seen;

	ring.records = calloc(size, sizeof(*ring.records));
	ASSERT_NE(NULL, ring.records);
	for (uint32_t i = 0; i < 2; i++) {
		w[i] = (struct writer) { .ring = &ring, .id = i, .n = n / 2 };
		ASSERT_OK(pthread_create(&w[i].thread, NULL, write_all, &w[i]));
	}
	seen = read_all(&ring, n);
	for (uint32_t i = 0; i < 2; i++)
		pthread_join(w[i].thread, NULL);
	TH_LOG("%u records in a ring of %u: %llu whole, %llu lapped, %llu torn", n, size,
	       (unsigned long long)seen.whole, (unsigned long long)seen.lapped,
	       (unsigned long long)seen.torn);
	EXPECT_EQ(0, seen.torn);
	EXPECT_EQ(0, seen.disordered);
	EXPECT_EQ(n, seen.whole + seen.lapped);
	EXPECT_GT(seen.whole, 0);
	EXPECT_EQ(n, ring.next);
	free(ring.records);
}

TEST(M_04_never_torn)
{
	run(_metadata, GDA_RECORD_MIN, RECORDS);
}

TEST(M_04_never_torn_large)
{
	run(_metadata, GDA_RECORD_MAX, RECORDS);
}

/* Nobody waits for a writer that stopped in the midst: what laps it is dropped, once a lap. */
TEST(M_04_writer_stopped)
{
	struct gda_record_ring ring = { .mask = GDA_RECORD_MIN - 1 };
	struct gda_record r, p = pattern(0, 1);
	uint64_t pos;

	ring.records = calloc(GDA_RECORD_MIN, sizeof(*ring.records));
	ASSERT_NE(NULL, ring.records);
	ring.next = 1;
	ring.records[0].seq = GDA_RECORD_BUSY | 1;
	EXPECT_EQ(0, gda_record_read(ring.records, ring.mask, 0, &r));
	for (pos = 1; pos < 3 * GDA_RECORD_MIN; pos++)
		gda_record_write(&ring, &p);
	EXPECT_EQ(GDA_RECORD_BUSY | 1, ring.records[0].seq);
	for (pos = 0; pos < 3 * GDA_RECORD_MIN; pos++) {
		int want = pos > 2 * GDA_RECORD_MIN ? 1 : -EOVERFLOW;

		EXPECT_EQ(want, gda_record_read(ring.records, ring.mask, pos, &r));
	}
	EXPECT_EQ(0, gda_record_read(ring.records, ring.mask, pos, &r));
	free(ring.records);
}

/* The copy has the newest, in order, as many as were asked for. */
TEST(M_04_copy)
{
	struct gda_record_ring ring = { .mask = 2 * GDA_RECORD_MIN - 1 };
	struct gda_record to[GDA_RECORD_MIN];

	ring.records = calloc(2 * GDA_RECORD_MIN, sizeof(*ring.records));
	ASSERT_NE(NULL, ring.records);
	EXPECT_EQ(0, gda_record_copy(&ring, to, GDA_RECORD_MIN));
	for (uint64_t i = 0; i < 300; i++) {
		struct gda_record r = pattern(1, i);
		uint32_t n;

		gda_record_write(&ring, &r);
		n = gda_record_copy(&ring, to, GDA_RECORD_MIN);
		ASSERT_EQ(i < GDA_RECORD_MIN ? i + 1 : GDA_RECORD_MIN, n);
		for (uint32_t j = 0; j < n; j++) {
			ASSERT_EQ(i + 1 - n + j, to[j].ticket);
			ASSERT_EQ(to[j].ticket + 1, to[j].seq);
		}
	}
	free(ring.records);
}

TEST_HARNESS_MAIN

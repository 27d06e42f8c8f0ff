// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A ring of records with two writers and a reader that is slower: each record that is read is
 * whole and of one writer, in that writer's order; all others are said to be lapped.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <kselftest_harness.h>
#include "record.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	300

#define WRITERS	2U
#define RECORDS	10000000ULL		/* of all writers */

struct writer {
	pthread_t thread;
	struct gda_record_ring *ring;
	u32 id;
	u64 n;
};

static u64 mix(u64 v)
{
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ULL;
	v = (v ^ v >> 27) * 0x94d049bb133111ebULL;
	return v ^ v >> 31;
}

/* All of a record but seq, from its writer and its number there. */
static struct gda_record make(u32 writer, u64 n)
{
	u64 ticket = (u64)writer << 56 | n;
	const struct gda_record r = {
		.ticket = ticket,
		.ns = mix(ticket),
		.raddr = mix(ticket + 1),
		.laddr = mix(ticket + 2),
		.len = (u32)mix(ticket + 3),
		.rkey = (u32)mix(ticket + 4),
		.lkey = (u32)mix(ticket + 5),
		.qpn = (u32)mix(ticket + 6),
		.kind = (u8)mix(ticket + 7),
		.opcode = (u8)mix(ticket + 8),
		.err_class = (u8)mix(ticket + 9),
		.cause = (u8)mix(ticket + 10),
		.aux = (u32)mix(ticket + 11),
	};

	return r;
}

static void *write_all(void *arg)
{
	const struct writer *w = arg;
	u64 i;

	for (i = 0; i < w->n; i++) {
		struct gda_record r = make(w->id, i);

		gda_record_write(w->ring, &r);
	}
	return NULL;
}

struct seen {
	u64 whole, lapped, torn, disordered, unknown;
	u64 next[WRITERS];		/* the least number that the next record may have */
};

static void judge(struct seen *s, const struct gda_record *r)
{
	u32 writer = (u32)(r->ticket >> 56);
	u64 n = r->ticket & ((1ULL << 56) - 1);
	struct gda_record want = make(writer, n);

	want.seq = r->seq;
	s->torn += memcmp(&want, r, sizeof(want)) != 0;
	if (writer >= WRITERS) {
		s->unknown++;
		return;
	}
	s->disordered += n < s->next[writer];
	s->next[writer] = n + 1;
	s->whole++;
}

/* A reader that was lapped goes on half a lap behind the writers. Return: positions to skip. */
static u64 skip(const struct gda_record_ring *ring, u64 pos)
{
	u64 next = READ_ONCE(ring->next), half = ring->mask / 2 + 1;

	return next > pos + half + 1 ? next - half - pos : 1;
}

/* Read positions up to @end; a reader that begins a lap behind, and rests now and then. */
static void read_all(struct gda_record_ring *ring, u64 end, const bool *over, struct seen *s)
{
	struct gda_record r;
	u64 pos = 0, n;

	while (READ_ONCE(ring->next) < 2 * (ring->mask + 1ULL))
		sched_yield();
	while (pos < end) {
		bool done = __atomic_load_n(over, __ATOMIC_ACQUIRE);
		int ret = gda_record_read(ring->records, ring->mask, pos, &r);

		if (!ret && !done) {
			sched_yield();
			continue;
		}
		n = 1;
		if (ret > 0) {
			s->torn += r.seq != pos + 1;
			judge(s, &r);
		} else {
			/* with 0 it is a record that was dropped, behind which no lap came */
			n = ret ? skip(ring, pos) : 1;
			s->lapped += n;
		}
		pos += n;
	}
}

struct reader {
	struct gda_record_ring *ring;
	const bool *over;
	u64 end;
	struct seen seen;
};

static void *read_thread(void *arg)
{
	struct reader *r = arg;

	read_all(r->ring, r->end, r->over, &r->seen);
	return NULL;
}

FIXTURE(record_ring) {
	struct gda_record_ring ring;
};

FIXTURE_VARIANT(record_ring) {
	u32 records;
};

FIXTURE_VARIANT_ADD(record_ring, short) { .records = 64 };
FIXTURE_VARIANT_ADD(record_ring, long) { .records = 4096 };

FIXTURE_SETUP(record_ring)
{
	memset(&self->ring, 0, sizeof(self->ring));
	self->ring.records = aligned_alloc(64, variant->records * sizeof(struct gda_record));
	ASSERT_NE(NULL, self->ring.records);
	memset(self->ring.records, 0, variant->records * sizeof(struct gda_record));
	self->ring.mask = variant->records - 1;
}

FIXTURE_TEARDOWN(record_ring)
{
	free(self->ring.records);
}

TEST_F(record_ring, M_04_two_writers_never_torn)
{
	struct writer w[WRITERS];
	struct reader r = { .ring = &self->ring, .end = RECORDS };
	bool over = false;
	pthread_t thread;
	u32 i;

	r.over = &over;
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_thread, &r));
	for (i = 0; i < WRITERS; i++) {
		w[i] = (struct writer) { .ring = &self->ring, .id = i, .n = RECORDS / WRITERS };
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, write_all, &w[i]));
	}
	for (i = 0; i < WRITERS; i++)
		pthread_join(w[i].thread, NULL);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	TH_LOG("%llu whole, %llu lapped", (unsigned long long)r.seen.whole,
	       (unsigned long long)r.seen.lapped);
	EXPECT_EQ(0, r.seen.torn);
	EXPECT_EQ(0, r.seen.unknown);
	EXPECT_EQ(0, r.seen.disordered);
	EXPECT_EQ(RECORDS, r.seen.whole + r.seen.lapped);
	/* the first lap was gone before the reader began; the last one stays */
	EXPECT_LE(self->ring.mask + 1, r.seen.lapped);
	EXPECT_LT(0, r.seen.whole);
	EXPECT_EQ(RECORDS, self->ring.next);
}

TEST_HARNESS_MAIN

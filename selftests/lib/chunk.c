// SPDX-License-Identifier: MIT
/*
 * Transfers over several MRs, and which QP a connection uses. The entries that are
 * posted are carried out by the test: a piece that touches two MRs is found by its
 * key, and the bytes must be equal in the end.
 */
#include <stdlib.h>
#include <string.h>
#include <gda/chunk.h>
#include "fake_nic.h"
#include "kselftest_harness.h"

#define HEAP	4096		/* bytes of each side */
#define CHUNKS	64

static uint64_t state = 1;

static uint32_t random_below(uint32_t n)
{
	state = state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(state >> 33) % n;
}

/* One side: its bytes, and the MRs that they are registered as. */
struct side {
	uint8_t bytes[HEAP];
	struct gda_chunk chunks[CHUNKS];
	struct gda_chunk_map map;
	uint64_t base;		/* program's address of bytes[0] */
};

static void side_init(struct side *s, uint32_t keys)
{
	uint32_t off = 0, count = 0;

	s->base = (uint64_t)random_below(1 << 30) << 20;
	while (off < HEAP) {
		uint32_t len = 1 + random_below(random_below(4) ? 64 : 1024);

		if (len > HEAP - off || count == CHUNKS - 1)
			len = HEAP - off;
		/* work requests know the MR by addresses of its own */
		s->chunks[count] = (struct gda_chunk){
			.addr = s->base + off, .length = len,
			.iova = (uint64_t)random_below(1 << 30) << 16, .key = keys + count,
		};
		off += len;
		count++;
	}
	s->map = (struct gda_chunk_map){
		.size = sizeof(s->map), .count = count, .chunks = (uintptr_t)s->chunks,
	};
	for (off = 0; off < HEAP; off++)
		s->bytes[off] = (uint8_t)random_below(256);
}

/* Where a work request goes; NULL if it is not inside the one MR of its key. */
static uint8_t *side_find(struct side *s, uint32_t keys, uint32_t key, uint64_t iova,
			  uint32_t len)
{
	struct gda_chunk *c = &s->chunks[key - keys];

	if (key - keys >= s->map.count || iova < c->iova || len > c->length ||
	    iova - c->iova > c->length - len)
		return NULL;
	return s->bytes + (c->addr - s->base) + (iova - c->iova);
}

#define LKEYS	1000
#define RKEYS	5000

/* Carry out what is rung; returns the number of pieces, or -1. */
static int carry_out(struct fake_queue *q, struct side *local, struct side *remote,
		     uint64_t from)
{
	uint64_t i, end = q->view.reserved;

	if (fake_rung(q) != (uint16_t)end)
		return -1;
	for (i = from; i < end; i++) {
		const struct gda_mlx5_raddr *r = (const void *)(fake_entry(q, i) + 16);
		const struct gda_mlx5_data *d = (const void *)(fake_entry(q, i) + 32);
		uint32_t len = gda_be32_to_cpu(d->byte_count);
		uint8_t *src = side_find(local, LKEYS, gda_be32_to_cpu(d->lkey),
					 gda_be64_to_cpu(d->addr), len);
		uint8_t *dst = side_find(remote, RKEYS, gda_be32_to_cpu(r->rkey),
					 gda_be64_to_cpu(r->raddr), len);

		if (!src || !dst || !len)
			return -1;
		memcpy(dst, src, len);
	}
	fake_complete(q, end);
	return (int)(end - from);
}

FIXTURE(chunk) {
	struct fake_queue *q;
	struct side *local, *remote;
};

FIXTURE_SETUP(chunk)
{
	self->q = fake_queue_new(1024);
	self->local = calloc(1, sizeof(*self->local));
	self->remote = calloc(1, sizeof(*self->remote));
	ASSERT_TRUE(self->local && self->remote);
	side_init(self->local, LKEYS);
	side_init(self->remote, RKEYS);
}

FIXTURE_TEARDOWN(chunk)
{
	fake_queue_free(self->q);
	free(self->local);
	free(self->remote);
}

/* Fewest pieces: a cut wherever a local or remote MR ends inside the range. */
static int pieces(const struct side *local, uint32_t loff, const struct side *remote,
		  uint32_t roff, uint32_t len)
{
	uint32_t i, n = 1;
	bool cut[HEAP] = { false };

	for (i = 1; i < local->map.count; i++)
		if (local->chunks[i].addr - local->base - loff - 1 < len - 1)
			cut[local->chunks[i].addr - local->base - loff] = true;
	for (i = 1; i < remote->map.count; i++)
		if (remote->chunks[i].addr - remote->base - roff - 1 < len - 1)
			cut[remote->chunks[i].addr - remote->base - roff] = true;
	for (i = 1; i < len; i++)
		n += cut[i];
	return (int)n;
}

TEST_F(chunk, I_03_random_maps)
{
	uint8_t want[HEAP];
	int round;

	for (round = 0; round < 20000; round++) {
		uint32_t len = 1 + random_below(round % 2 ? 128 : HEAP);
		uint32_t loff = random_below(HEAP - len + 1);
		uint32_t roff = random_below(HEAP - len + 1);
		uint64_t from = self->q->view.reserved;
		int64_t ticket;

		if (round % 100 == 0) {
			side_init(self->local, LKEYS);
			side_init(self->remote, RKEYS);
		}
		memcpy(want, self->remote->bytes, HEAP);
		memcpy(want + roff, self->local->bytes + loff, len);
		ticket = gda_put_chunked(&self->q->view, &self->local->map,
					 self->local->base + loff, &self->remote->map,
					 self->remote->base + roff, len, GDA_NOWAIT);
		ASSERT_EQ((int64_t)self->q->view.reserved - 1, ticket);
		ASSERT_EQ(pieces(self->local, loff, self->remote, roff, len),
			  carry_out(self->q, self->local, self->remote, from));
		ASSERT_EQ(0, memcmp(want, self->remote->bytes, HEAP));
		ASSERT_EQ(1, gda_test(&self->q->view, ticket));
		self->local->bytes[random_below(HEAP)] ^= 0xff;
	}
}

/* Nothing is posted if a part is in no MR: before, after, or in a hole. */
TEST_F(chunk, I_03_holes)
{
	struct side *l = self->local, *r = self->remote;
	struct gda_view *v = &self->q->view;
	uint64_t hole;

	EXPECT_EQ(-EFAULT, gda_put_chunked(v, &l->map, l->base - 1, &r->map, r->base, 2, 0));
	EXPECT_EQ(-EFAULT, gda_put_chunked(v, &l->map, l->base, &r->map, r->base - 1, 2, 0));
	EXPECT_EQ(-EFAULT, gda_put_chunked(v, &l->map, l->base + 1, &r->map, r->base, HEAP, 0));
	EXPECT_EQ(-EFAULT, gda_put_chunked(v, &l->map, l->base, &r->map, r->base + HEAP, 1, 0));
	hole = r->chunks[1].addr + r->chunks[1].length - 1;
	r->chunks[1].length--;
	EXPECT_EQ(-EFAULT, gda_put_chunked(v, &l->map, l->base, &r->map, r->base, HEAP, 0));
	EXPECT_EQ(-EFAULT, gda_put_chunked(v, &l->map, l->base, &r->map, hole, 1, 0));
	EXPECT_EQ(0, v->reserved);
	EXPECT_EQ(0, gda_put_chunked(v, &l->map, l->base, &r->map, hole + 1, 1, 0));
	EXPECT_EQ(1, gda_put_chunked(v, &l->map, l->base, &r->map, r->base, 0, 0));
}

/* More than one work request can carry is cut as well. */
TEST(I_03_long_transfer)
{
	struct gda_chunk c = { .addr = 0, .length = 1ULL << 40, .iova = 0, .key = 7 };
	struct gda_chunk_map map = {
		.size = sizeof(map), .count = 1, .chunks = (uintptr_t)&c,
	};
	struct fake_queue *q = fake_queue_new(64);

	EXPECT_EQ(4, gda_put_chunked(&q->view, &map, 5, &map, 1ULL << 39,
				     4ULL * GDA_CHUNK_MAX + 1, 0));
	EXPECT_EQ(5, fake_rung(q));
	fake_queue_free(q);
}

/* I-01: rcs[pe * R * N + id % (R * N)] */
TEST(I_01_qp_of_a_connection)
{
	uint32_t pe, id, per_pe, devices;

	for (per_pe = 1; per_pe <= 5; per_pe++)
		for (devices = 1; devices <= 3; devices++)
			for (pe = 0; pe < 4; pe++)
				for (id = 0; id < 40; id++)
					ASSERT_EQ(pe * per_pe * devices + id % (per_pe * devices),
						  gda_qp_index(pe, id, per_pe, devices));
	/* no 32-bit product */
	EXPECT_EQ(0x7fffffffULL * 0x10000 + 3, gda_qp_index(0x7fffffff, 0x10003, 0x8000, 2));
}

TEST_HARNESS_MAIN

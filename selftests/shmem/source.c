// SPDX-License-Identifier: MIT
/*
 * When the source of a put is free, by a device that does nothing until it is told: what a put
 * that has returned delivers, if the program stores to its source then.
 */
#include "world.h"

FIXTURE(source) {
	struct world *w;
	struct gda_shmem *s;
	struct gda_view *v;
	uint8_t *sym;		/* symmetric, of this PE */
};

FIXTURE_SETUP(source)
{
	struct world *w = world_new();

	ASSERT_NE(NULL, w);
	self->w = w;
	self->s = &w->heap.shmem;
	self->v = &w->q[0]->view;
	self->v->timeout_ns = 1;
	self->sym = w->pe[ME].bytes;
}

FIXTURE_TEARDOWN(source)
{
	world_free(self->w);
}

/* What one call of a blocking put returned, of a source that is scribbled over behind it. */
static int put_and_scribble(struct world *w, uint32_t roff, uint8_t *source, uint32_t len,
			    bool with_signal)
{
	struct gda_shmem_signal signal = {
		.word = (uint64_t *)(void *)w->pe[ME].bytes, .value = 1, .op = GDA_SHMEM_SET,
	};
	struct gda_shmem *s = &w->heap.shmem;
	uint8_t *dest = w->pe[ME].bytes + roff;
	int err = with_signal ? gda_shmem_put_signal(s, dest, source, len, &signal, PEER, 0) :
				gda_shmem_put(s, dest, source, len, PEER, 0);

	memset(source, 0xee, len);
	return err;
}

/* Carry out what a put posted; return whether its bytes at the peer are @want. */
static bool put_arrives(struct world *w, uint64_t from, uint32_t roff, const uint8_t *want,
			uint32_t len)
{
	struct fake_queue *q = w->q[0];
	uint64_t i;

	for (i = from; i < q->view.reserved; i++) {
		struct request r = request(q, i);
		uint32_t n = r.length & ~GDA_MLX5_INLINE;
		uint8_t *remote = find(w, PEER, r.rkey, r.raddr, n), *local;

		if (r.opcode != GDA_MLX5_WRITE)		/* of long entries: the rest, and a NOP */
			break;
		local = r.length & GDA_MLX5_INLINE ? NULL : find(w, ME, r.lkey, r.laddr, n);
		if (!remote || (!local && !(r.length & GDA_MLX5_INLINE)))
			return false;
		memcpy(remote, local ? local : r.data, n);
	}
	fake_complete(q, q->view.reserved);
	return !memcmp(w->pe[PEER].bytes + roff, want, len);
}

/*
 * A put that returns 0 before the device has done anything has taken its source. All else waits,
 * and here nothing is ever done: also few bytes that lie in two MRs.
 */
TEST_F(source, item_1_source_is_free_when_a_put_returns)
{
	uint32_t round, len, loff, roff, i, at_once = 0, waited = 0, late = 0;
	uint8_t want[GDA_INLINE_SLOT], *source;
	struct world *w = self->w;
	uint64_t from;
	int err;

	for (round = 0; round < 20000; round++) {
		if (round % 100 == 0) {
			pe_map_random(w, ME);
			do {
				pe_map_random(w, PEER);
			} while (w->pe[PEER].chunks[0].length < 8);	/* the signal's word */
		}
		len = 1 + random_below(sizeof(want));
		loff = 8 + random_below(HEAP - len - 7);
		roff = 8 + random_below(HEAP - len - 7);
		source = self->sym + loff;
		for (i = 0; i < len; i++)
			want[i] = (uint8_t)random_below(256);
		memcpy(source, want, len);
		from = self->v->reserved;
		err = put_and_scribble(w, roff, source, len, round % 2);
		if (err) {
			ASSERT_EQ(-ETIMEDOUT, err);
			waited++;
		} else {
			at_once++;
		}
		late += !put_arrives(w, from, roff, want, len) && !err;
		fake_complete(w->q[0], self->v->reserved);
	}
	TH_LOG("%u of %u puts that returned 0 delivered what was stored afterwards", late, at_once);
	EXPECT_EQ(0, late);
	EXPECT_LT(1000, waited);
	EXPECT_LT(1000, at_once);
}

/* The put is posted, and the queue has no room for its signal: the source is not free. */
TEST_F(source, item_1_put_without_room_for_its_signal)
{
	struct gda_shmem_signal signal = {
		.word = (uint64_t *)(void *)self->sym, .value = 1, .op = GDA_SHMEM_SET,
	};
	uint64_t end;

	for (end = 0; end < 1023; end++)
		ASSERT_EQ(end, gda_nop(self->v, 0));
	EXPECT_EQ(-EAGAIN, gda_shmem_put_signal(self->s, self->sym + 64, self->sym + 128, 64,
						&signal, PEER, GDA_NOWAIT));
	EXPECT_EQ(1024, self->v->reserved);
	EXPECT_EQ((uint16_t)1024, fake_rung(self->w->q[0]));
}

TEST_HARNESS_MAIN

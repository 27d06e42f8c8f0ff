// SPDX-License-Identifier: MIT
/*
 * Requests that the calls of gda/shmem.h post, byte for byte, and where transfers are cut.
 */
#include "world.h"

FIXTURE(requests) {
	struct world *w;
	struct gda_shmem *s;
	struct fake_queue *q;
	struct gda_view *v;
	uint8_t *sym;		/* symmetric, of this PE */
};

FIXTURE_SETUP(requests)
{
	struct world *w = world_new();

	ASSERT_NE(NULL, w);
	self->w = w;
	self->s = &w->heap.shmem;
	self->q = w->q[0];
	self->v = &self->q->view;
	self->sym = w->pe[ME].bytes;
}

FIXTURE_TEARDOWN(requests)
{
	world_free(self->w);
}

/* A million of them, and none crosses an MR. */
TEST_F_TIMEOUT(requests, I_03_random_puts_and_gets, 300)
{
	static uint8_t want[2][HEAP];
	uint32_t round, i, loff, roff, len, most = 1;
	struct world *w = self->w;
	int64_t ticket;
	uint64_t from;
	int pieces;

	for (i = 0; i < HEAP; i++) {
		w->pe[ME].bytes[i] = (uint8_t)random_below(256);
		w->pe[PEER].bytes[i] = (uint8_t)random_below(256);
	}
	memcpy(want[ME], w->pe[ME].bytes, HEAP);
	memcpy(want[PEER], w->pe[PEER].bytes, HEAP);
	for (round = 0; round < 1000000; round++) {
		bool put = random_below(2);

		if (round % 1000 == 0) {
			pe_map_random(w, ME);
			pe_map_random(w, PEER);
		}
		len = 1 + random_below(random_below(8) ? 100 : HEAP);
		loff = random_below(HEAP - len + 1);
		roff = random_below(HEAP - len + 1);
		from = self->v->reserved;
		if (put) {
			memcpy(want[PEER] + roff, want[ME] + loff, len);
			ticket = gda_shmem_put_nbi(self->s, self->sym + roff, self->sym + loff, len,
						   PEER, GDA_NOWAIT);
		} else {
			memcpy(want[ME] + loff, want[PEER] + roff, len);
			ticket = gda_shmem_get_nbi(self->s, self->sym + loff, self->sym + roff, len,
						   PEER, GDA_NOWAIT);
		}
		ASSERT_EQ((int64_t)self->v->reserved - 1, ticket);
		pieces = carry_out(w, self->q, from);
		ASSERT_LT(0, pieces);
		most = (uint32_t)pieces > most ? (uint32_t)pieces : most;
		ASSERT_EQ(0, memcmp(want[ME], w->pe[ME].bytes, HEAP));
		ASSERT_EQ(0, memcmp(want[PEER], w->pe[PEER].bytes, HEAP));
		ASSERT_EQ(1, gda_shmem_test(self->s, ticket, PEER, 0));
		want[ME][i = random_below(HEAP)] ^= 0xff;
		w->pe[ME].bytes[i] ^= 0xff;
	}
	/* and it was not all in one piece */
	EXPECT_LT(32, most);
}

/* Outside of the map nothing is posted, on either side. */
TEST_F(requests, I_03_not_symmetric)
{
	struct gda_shmem *s = self->s;
	uint8_t *sym = self->sym;

	EXPECT_EQ(-EFAULT, gda_shmem_put_nbi(s, sym + HEAP - 99, sym, 100, PEER, 0));
	EXPECT_EQ(-EFAULT, gda_shmem_put_nbi(s, sym + HEAP - 9, sym, 10, PEER, 0));
	EXPECT_EQ(-EFAULT, gda_shmem_get_nbi(s, sym, sym + HEAP, 1, PEER, 0));
	EXPECT_EQ(-EFAULT, gda_shmem_p(s, sym + HEAP, 1, 8, PEER, 0));
	EXPECT_EQ(-EFAULT, gda_shmem_atomic64(s, (uint64_t *)(void *)(sym + HEAP), GDA_SHMEM_ADD,
					      1, PEER, 0));
	EXPECT_EQ(0, self->v->reserved);
}

/*
 * The rule of the warp, as it is written for lanes: lane k walks from the beginning to its
 * chunk, of at most min(what is left, local chunk, remote chunk). At most 32 of them.
 */
static uint32_t lane_chunk(const struct world *w, uint32_t loff, uint32_t roff, uint32_t len,
			   uint32_t lane, uint32_t *at)
{
	uint32_t chunk = 0, k;

	for (k = 0, *at = 0; k <= lane && *at < len; k++) {
		const struct pe *pe[2] = { &w->pe[ME], &w->pe[PEER] };
		uint32_t off[2] = { loff + *at, roff + *at }, side, i;
		uint64_t left;

		chunk = len - *at;
		for (side = 0; side < 2; side++) {
			for (i = 0; pe[side]->offset[i] + pe[side]->chunks[i].length <= off[side];)
				i++;
			left = pe[side]->offset[i] + pe[side]->chunks[i].length - off[side];
			if (left < chunk)
				chunk = (uint32_t)left;
		}
		if (k < lane)
			*at += chunk;
	}
	return *at < len ? chunk : 0;
}

TEST_F(requests, I_02_pieces_are_those_of_the_lanes)
{
	uint32_t round, lane, at, chunk, pieces, beyond = 0;
	struct world *w = self->w;

	for (round = 0; round < 2000; round++) {
		uint32_t len = 29 + random_below(HEAP - 29), loff, roff;
		uint64_t from = self->v->reserved;

		loff = random_below(HEAP - len + 1);
		roff = random_below(HEAP - len + 1);
		pe_map_random(w, ME);
		pe_map_random(w, PEER);
		ASSERT_LE(0, gda_shmem_put_nbi(self->s, self->sym + roff, self->sym + loff, len,
					       PEER, GDA_NOWAIT));
		pieces = (uint32_t)(self->v->reserved - from);
		for (lane = 0; (chunk = lane_chunk(w, loff, roff, len, lane, &at)); lane++) {
			struct request r = request(self->q, from + lane);

			ASSERT_GT(pieces, lane);
			ASSERT_EQ(chunk, r.length);
			ASSERT_EQ(w->pe[PEER].bytes + roff + at,
				  find(w, PEER, r.rkey, r.raddr, 1));
			ASSERT_EQ(w->pe[ME].bytes + loff + at, find(w, ME, r.lkey, r.laddr, 1));
		}
		ASSERT_EQ(lane, pieces);
		/* the warp stops at its number of lanes; here there is no such end */
		beyond += pieces > 32;
		fake_complete(self->q, self->v->reserved);
	}
	EXPECT_LT(0, beyond);
}

/* With chunks of one size the map finds what the shift of the offset does. */
TEST_F(requests, I_04_lookup_is_by_granularity)
{
	uint32_t lengths[CHUNKS], i, log2_gran;
	uint64_t iova;
	uint32_t key;

	for (log2_gran = 6; log2_gran <= 12; log2_gran++) {
		for (i = 0; i < (uint32_t)HEAP >> log2_gran; i++)
			lengths[i] = 1 << log2_gran;
		pe_map(self->w, PEER, lengths, HEAP >> log2_gran);
		for (i = 0; i < HEAP; i++) {
			ASSERT_EQ(1, gda_shmem_remote(&self->w->peers[PEER], self->sym + i, 1,
						      &iova, &key));
			ASSERT_EQ(2 * KEYS + (i >> log2_gran), key);
			ASSERT_EQ(self->w->pe[PEER].chunks[i >> log2_gran].iova +
				  i % (1U << log2_gran), iova);
		}
	}
}

/* I-01: id % (QPs to the PE) */
TEST_F(requests, I_01_queue_pair_of_a_call)
{
	uint32_t id;

	self->s->qps = 3;
	for (id = 0; id < 30; id++) {
		EXPECT_EQ(&self->w->q[id % 3]->view,
			  gda_shmem_view(self->s, PEER, GDA_SHMEM_QP(id)));
		EXPECT_EQ(id / 3, gda_shmem_p(self->s, self->sym, 1, 8, PEER, GDA_SHMEM_QP(id)));
	}
	EXPECT_EQ(NULL, gda_shmem_view(self->s, 2, 0));
}

#define CE_OFFSET	11

/* Every WQE asks for a completion: also the pieces of one put, deferred or not. */
TEST_F(requests, I_07_every_write_has_its_completion)
{
	static const uint32_t lengths[3] = { 1000, 2000, HEAP - 3000 };
	uint64_t i;

	pe_map(self->w, PEER, lengths, 3);
	gda_shmem_put_nbi(self->s, self->sym, self->sym, HEAP, PEER, 0);
	gda_shmem_put_nbi(self->s, self->sym, self->sym, 100, PEER, GDA_DEFER);
	gda_shmem_put_nbi(self->s, self->sym, self->sym, 20, PEER, GDA_EXCLUSIVE | GDA_DEFER);
	gda_shmem_p(self->s, self->sym, 1, 4, PEER, 0);
	EXPECT_EQ(6, self->v->reserved);
	for (i = 0; i < 6; i++) {
		struct request r = request(self->q, i);

		EXPECT_EQ(GDA_MLX5_CE_ALWAYS, fake_entry(self->q, i)[CE_OFFSET]);
		EXPECT_EQ(GDA_MLX5_WRITE, r.opcode);
		EXPECT_EQ(i == 4 ? 4 : 3, r.ds);	/* 20 bytes inline take one more */
	}
}

static void hex(const void *p, uint32_t n, char *out)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		sprintf(out + 2 * i, "%02x", ((const uint8_t *)p)[i]);
}

/* All bytes of a slot, with the addresses of this run put to known values. */
#define EXPECT_SLOT(want, index)					\
	do {								\
		char have_[129];					\
		hex(fake_entry(self->q, index), 64, have_);		\
		EXPECT_STREQ(want, have_);				\
	} while (0)

static void known_addresses(struct world *w)
{
	w->pe[ME].chunks[0].iova = 0x99aabbccddeeff00;
	w->pe[ME].chunks[0].key = 0xe1e2e3e4;
	w->pe[PEER].chunks[0].iova = 0x1122334455667788;
	w->pe[PEER].chunks[0].key = 0xa1b2c3d4;
}

#define CTRL(first)	first "12345603" "0000000800000000"
#define REMOTE	"1122334455667788a1b2c3d400000000"
#define REMOTE_100	"11223344556677880000010000000000"
#define NONE	"00000000000000000000000000000000"

TEST_F(requests, I_07_I_16_I_18_golden)
{
	uint64_t value;

	known_addresses(self->w);
	gda_shmem_put_nbi(self->s, self->sym, self->sym, 4096, PEER, 0);
	EXPECT_SLOT(CTRL("00000008") REMOTE
		    "00001000e1e2e3e499aabbccddeeff00" NONE, 0);
	gda_shmem_p(self->s, self->sym, 0x04030201, 4, PEER, 0);
	EXPECT_SLOT(CTRL("00000108") REMOTE
		    "80000004010203040000000000000000" NONE, 1);
	memcpy(&value, "\1\2\3\4\5\6\7\10", 8);
	gda_shmem_p(self->s, self->sym, value, 8, PEER, 0);
	EXPECT_SLOT(CTRL("00000208") REMOTE
		    "80000008010203040506070800000000" NONE, 2);
	gda_shmem_get_nbi(self->s, self->sym, self->sym, 4096, PEER, 0);
	EXPECT_SLOT(CTRL("00000310") REMOTE
		    "00001000e1e2e3e499aabbccddeeff00" NONE, 3);
}

/* DBREC = be32(index & 0xffff); the doorbell is the first 8 bytes of a control segment. */
TEST_F(requests, I_11_doorbell_of_every_call)
{
	uint64_t next = 0xfff0, i, be;
	uint32_t rec;

	fake_restart(self->q, next);
	for (i = 0; i < 40; i++) {
		gda_shmem_p(self->s, self->sym, i, 8, PEER, 0);
		next++;
		fake_complete(self->q, next);
		rec = gda_be32((uint32_t)next & 0xffff);
		ASSERT_EQ(rec, self->q->dbrec[1]);
		be = gda_be64((uint64_t)(next & 0xffff) << 40 | (uint64_t)FAKE_QPN << 8);
		ASSERT_EQ(be, self->q->db);
	}
}

/* The key 0x100, whose 64-bit swap has nothing in its low half. */
TEST_F(requests, I_19_keys_are_swapped_as_32_bits)
{
	uint32_t faulty = (uint32_t)__builtin_bswap64(0x100);

	EXPECT_EQ(0, faulty);
	known_addresses(self->w);
	self->w->pe[ME].chunks[0].key = 0x100;
	self->w->pe[PEER].chunks[0].key = 0x100;
	gda_shmem_put_nbi(self->s, self->sym, self->sym, 4096, PEER, 0);
	EXPECT_SLOT(CTRL("00000008") REMOTE_100 "000010000000010099aabbccddeeff00" NONE, 0);
}

/*
 * A doorbell for every fourth message, by the faulty rule: the tail of a batch stays
 * un-rung until there is more to post. Every wait here rings.
 */
TEST_F(requests, I_09_no_tail_stays_behind)
{
	uint32_t i;

	for (i = 0; i < 6; i++)
		gda_shmem_p(self->s, self->sym, i, 8, PEER, (i + 1) % 4 ? GDA_DEFER : 0);
	EXPECT_EQ(4, fake_rung(self->q));
	fake_complete(self->q, 4);
	/* as gda_shmem_test() says truly; and a quiet rings all, and reads behind it */
	EXPECT_EQ(0, gda_shmem_test(self->s, 5, PEER, 0));
	EXPECT_EQ(-ETIMEDOUT, gda_shmem_quiet_pe(self->s, PEER, gda_clock_ns() + 1000));
	EXPECT_EQ(7, fake_rung(self->q));
	/* so does a wait for the last of them */
	gda_shmem_p(self->s, self->sym, i, 8, PEER, GDA_DEFER);
	EXPECT_EQ(-ETIMEDOUT, gda_shmem_wait(self->s, 7, PEER, 0, gda_clock_ns() + 1000));
	EXPECT_LE(8, fake_rung(self->q));
}

/*
 * An atomic of 32 bits is a masked fetch-add of 4 bytes, DS 4. By the faulty rule the word
 * of a PE that is mapped is changed with 64 bits: a carry reaches what lies beside it.
 */
TEST_F(requests, I_15_width_and_carry)
{
	uint32_t *words = (uint32_t *)(void *)self->sym, old;
	uint64_t both;

	EXPECT_EQ(0, gda_shmem_atomic32(self->s, words, GDA_SHMEM_ADD, 1, PEER, 0));
	EXPECT_EQ(GDA_MLX5_MASKED_FA, request(self->q, 0).opcode);
	EXPECT_EQ(GDA_MLX5_OPMOD_4BYTE, request(self->q, 0).opmod);
	EXPECT_EQ(4, request(self->q, 0).ds);
	EXPECT_EQ(4, gda_be32_to_cpu(*(const __be32 *)(const void *)(fake_entry(self->q, 0) + 48)));

	words[0] = UINT32_MAX;
	words[1] = 5;
	memcpy(&both, words, 8);
	both += 1;
	memcpy(words, &both, 8);
	EXPECT_EQ(6, words[1]);			/* the faulty rule */
	self->w->peers[PEER].heap = (uintptr_t)self->sym;
	words[0] = UINT32_MAX;
	words[1] = 5;
	EXPECT_EQ(0, gda_shmem_atomic32(self->s, words, GDA_SHMEM_ADD, 1, PEER, 0));
	EXPECT_EQ(0, words[0]);
	EXPECT_EQ(5, words[1]);
	EXPECT_EQ(0, gda_shmem_atomic_fetch32(self->s, words + 1, GDA_SHMEM_XOR, 7, &old, PEER, 0));
	EXPECT_EQ(5, old);
	EXPECT_EQ(2, words[1]);
}

/* Words 1 and 2 of the operands of a masked request of 64 bits. */
struct operands {
	uint64_t a, b, c, d;
};

static struct operands operands(const struct fake_queue *q, uint64_t index)
{
	const __be64 *b = (const void *)(fake_entry(q, index) + 32);

	return (struct operands) {
		gda_be64_to_cpu(b[0]), gda_be64_to_cpu(b[1]), gda_be64_to_cpu(b[2]),
		gda_be64_to_cpu(b[3]),
	};
}

/* Xor: every bit is a boundary. Or, and, set: compare-swaps that compare nothing. */
TEST_F(requests, I_15_masked_requests)
{
	uint64_t *word = (uint64_t *)(void *)self->sym, at = 0, value = 0x123456789abcdef0;
	struct operands o;

	EXPECT_EQ(0, gda_shmem_atomic64(self->s, word, GDA_SHMEM_XOR, value, PEER, 0));
	o = operands(self->q, at);
	EXPECT_EQ(GDA_MLX5_MASKED_FA, request(self->q, at).opcode);
	EXPECT_TRUE(o.a == value && o.b == UINT64_MAX);
	at = 1;
	EXPECT_EQ(1, gda_shmem_atomic64(self->s, word, GDA_SHMEM_OR, value, PEER, 0));
	o = operands(self->q, at);
	EXPECT_EQ(GDA_MLX5_MASKED_CS, request(self->q, at).opcode);
	EXPECT_EQ(GDA_MLX5_OPMOD_8BYTE, request(self->q, at).opmod);
	EXPECT_TRUE(o.a == value && o.b == 0 && o.c == value && o.d == 0);
	at = 4;		/* it takes three slots */
	EXPECT_EQ(4, gda_shmem_atomic64(self->s, word, GDA_SHMEM_AND, value, PEER, 0));
	o = operands(self->q, at);
	EXPECT_TRUE(o.a == 0 && o.b == 0 && o.c == ~value && o.d == 0);
	at = 7;
	EXPECT_EQ(7, gda_shmem_atomic64(self->s, word, GDA_SHMEM_SET, value, PEER, 0));
	o = operands(self->q, at);
	EXPECT_TRUE(o.a == value && o.b == 0 && o.c == UINT64_MAX && o.d == 0);
	at = 10;
	EXPECT_EQ(10, gda_shmem_atomic64(self->s, word, GDA_SHMEM_ADD, value, PEER, 0));
	EXPECT_EQ(GDA_MLX5_ATOMIC_FA, request(self->q, at).opcode);
}

/* The shortcut to memory that is mapped: an address, or none by queue. */
TEST_F(requests, I_17_mapped_or_not)
{
	EXPECT_EQ(NULL, gda_shmem_ptr(self->s, self->sym + 100, PEER));
	self->w->peers[PEER].heap = (uintptr_t)self->w->pe[PEER].bytes;
	EXPECT_EQ(self->w->pe[PEER].bytes + 100, gda_shmem_ptr(self->s, self->sym + 100, PEER));
	EXPECT_EQ(NULL, gda_shmem_ptr(self->s, self->sym + HEAP, PEER));
	EXPECT_EQ(NULL, gda_shmem_ptr(self->s, self->sym, 2));
	EXPECT_EQ(0, gda_shmem_put_nbi(self->s, self->sym + 100, "abc", 4, PEER, 0));
	EXPECT_STREQ("abc", (char *)self->w->pe[PEER].bytes + 100);
	EXPECT_EQ(0, self->v->reserved);
}

/*
 * A quiet reads behind what was posted, once, and one that follows has nothing to do; a
 * fence of one queue pair posts nothing; a put with signal has one doorbell for both.
 */
TEST_F(requests, I_18_quiet_fence_and_signal)
{
	struct gda_shmem_signal signal = {
		.word = (uint64_t *)(void *)self->sym, .value = 3, .op = GDA_SHMEM_ADD,
	};

	EXPECT_EQ(0, gda_shmem_quiet(self->s, 0));
	EXPECT_EQ(0, self->v->reserved);
	EXPECT_EQ(1, gda_shmem_put_signal_nbi(self->s, self->sym + 64, self->sym, 64, &signal, PEER,
					      0));
	EXPECT_EQ(GDA_MLX5_WRITE, request(self->q, 0).opcode);
	EXPECT_EQ(GDA_MLX5_ATOMIC_FA, request(self->q, 1).opcode);
	EXPECT_EQ(2, fake_rung(self->q));
	EXPECT_EQ(0, gda_shmem_fence(self->s));
	EXPECT_EQ(0, gda_shmem_fence_pe(self->s, PEER));
	EXPECT_EQ(2, self->v->reserved);
	fake_complete(self->q, 2);
	/* done is not seen: */
	EXPECT_EQ(1, gda_shmem_test(self->s, 1, PEER, 0));
	EXPECT_EQ(-ETIMEDOUT, gda_shmem_quiet(self->s, gda_clock_ns() + 1000));
	EXPECT_EQ(GDA_MLX5_READ, request(self->q, 2).opcode);
	EXPECT_EQ(self->s->stage_key, request(self->q, 2).lkey);
	EXPECT_EQ(-ETIMEDOUT, gda_shmem_quiet(self->s, gda_clock_ns() + 1000));
	EXPECT_EQ(3, self->v->reserved);
	fake_complete(self->q, 3);
	EXPECT_EQ(0, gda_shmem_quiet(self->s, 0));
	EXPECT_EQ(0, gda_shmem_quiet_pe(self->s, PEER, 0));
	EXPECT_EQ(3, self->v->reserved);
}

/* The ticket of a transfer of no bytes is one of the queue, also if nothing was posted before. */
TEST_F(requests, item_12_no_bytes_have_a_ticket)
{
	struct gda_shmem_signal signal = {
		.word = (uint64_t *)(void *)self->sym, .value = 3, .op = GDA_SHMEM_ADD,
	};
	struct gda_shmem *s = self->s;
	int64_t put = gda_shmem_put_nbi(s, self->sym, self->sym, 0, PEER, 0), get;

	EXPECT_EQ(0, put);
	get = gda_shmem_get_nbi(s, self->sym, self->sym, 0, PEER, 0);
	EXPECT_EQ(1, get);
	EXPECT_EQ(GDA_MLX5_NOP, request(self->q, 0).opcode);
	EXPECT_EQ(GDA_MLX5_NOP, request(self->q, 1).opcode);
	EXPECT_EQ(0, gda_shmem_test(s, put, PEER, 0));
	EXPECT_EQ(-ETIMEDOUT, gda_shmem_wait(s, put, PEER, 0, gda_clock_ns() + 1000));
	fake_complete(self->q, 2);
	EXPECT_EQ(0, gda_shmem_wait(s, put, PEER, 0, 0));
	EXPECT_EQ(1, gda_shmem_test(s, get, PEER, 0));
	/* calls that block have nothing to wait for, and a signal alone is one request */
	EXPECT_EQ(0, gda_shmem_put(s, self->sym, self->sym, 0, PEER, 0));
	EXPECT_EQ(0, gda_shmem_get(s, self->sym, self->sym, 0, PEER, 0));
	EXPECT_EQ(2, self->v->reserved);
	EXPECT_EQ(2, gda_shmem_put_signal_nbi(s, self->sym, self->sym, 0, &signal, PEER, 0));
	EXPECT_EQ(0, gda_shmem_put_signal(s, self->sym, self->sym, 0, &signal, PEER, 0));
	EXPECT_EQ(4, self->v->reserved);
	EXPECT_EQ(-EINVAL, gda_shmem_put_nbi(s, self->sym, self->sym, 0, 2, 0));
	EXPECT_EQ(-EINVAL, gda_shmem_get(s, self->sym, self->sym, 0, 2, 0));
}

/* With several queue pairs a fence waits for them; of one it does not. */
TEST_F(requests, fence_of_several_queue_pairs)
{
	self->s->qps = 3;
	self->s->timeout_ns = 1000000;
	self->w->q[1]->view.timeout_ns = 1000000;
	gda_shmem_p(self->s, self->sym, 1, 8, PEER, GDA_SHMEM_QP(1));
	EXPECT_EQ(0, gda_shmem_fence_qp(self->s, PEER, 1));
	EXPECT_EQ(-ETIMEDOUT, gda_shmem_fence_pe(self->s, PEER));
	EXPECT_EQ(2, self->w->q[1]->view.reserved);
	EXPECT_EQ(0, self->w->q[0]->view.reserved);
	EXPECT_EQ(-ETIMEDOUT, gda_shmem_fence(self->s));
	fake_complete(self->w->q[1], 2);
	EXPECT_EQ(0, gda_shmem_fence(self->s));
}

/*
 * The word of a fetch belongs to the request by its ticket. Where it was the slot's, or was
 * freed by the end of a wait, a late old value would land in another request's word.
 */
TEST_F(requests, word_belongs_to_its_request_until_it_is_done)
{
	uint64_t *word = (uint64_t *)(void *)self->sym, old = 99, at, mine, value;
	int got[64], i, again;

	self->v->timeout_ns = 1000000;
	EXPECT_EQ(-ETIMEDOUT, gda_shmem_atomic_fetch64(self->s, word, GDA_SHMEM_ADD, 1, &old, PEER,
						       0));
	EXPECT_EQ(99, old);
	mine = gda_be64_to_cpu(*(const __be64 *)(const void *)(fake_entry(self->q, 0) + 56));
	for (i = 0; i < 63; i++) {
		got[i] = gda_shmem_word_reserve(self->s, &at);
		ASSERT_LE(0, got[i]);
		EXPECT_NE(mine, at);
	}
	EXPECT_EQ(-ETIMEDOUT, gda_shmem_word_reserve(self->s, &at));
	*(uint64_t *)(uintptr_t)mine = 7;	/* now it lands, and is done */
	fake_complete(self->q, 1);
	again = gda_shmem_word_reserve(self->s, &at);
	ASSERT_LE(0, again);
	EXPECT_EQ(mine, at);
	/* one that was never posted is free at once */
	EXPECT_EQ(-EAGAIN, gda_shmem_word_wait(self->s, self->v, -EAGAIN, again, &value, 8));
	EXPECT_EQ(again, gda_shmem_word_reserve(self->s, &at));
}

/* A PE that is lost ends every wait for it. */
TEST_F(requests, waits_for_a_lost_pe_end)
{
	self->v->abort = (uintptr_t)&self->w->abort;
	gda_shmem_p(self->s, self->sym, 1, 8, PEER, 0);
	self->w->abort = 1;
	EXPECT_EQ(-ESHUTDOWN, gda_shmem_wait(self->s, 0, PEER, 0, GDA_SHMEM_FOREVER));
	EXPECT_EQ(-ESHUTDOWN, gda_shmem_quiet(self->s, GDA_SHMEM_FOREVER));
}

TEST_HARNESS_MAIN

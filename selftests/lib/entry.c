// SPDX-License-Identifier: MIT
/*
 * Bytes of entries and doorbells: the golden rows of FORMATS.md F.6, the encoders of
 * gda/mlx5.h on random inputs, and the edges of what may be posted.
 */
#include <stdlib.h>
#include <string.h>
#include <gda/ioctl.h>
#include <gda/masked_atomic.h>
#include "fake_nic.h"
#include "kselftest_harness.h"

#define RADDR	0x1122334455667788U
#define RKEY	0xa1b2c3d4U
#define LADDR	0x99aabbccddeeff00U
#define LKEY	0xe1e2e3e4U
#define PI	0xabcdU

FIXTURE(entry) {
	struct fake_queue *q;
};

FIXTURE_SETUP(entry)
{
	self->q = fake_queue_new(64);
	memset(self->q->sq, 0x55, 64 * 64);
	fake_restart(self->q, PI);
}

FIXTURE_TEARDOWN(entry)
{
	fake_queue_free(self->q);
}

/* The 64 bytes of @index as hex, in segments, as FORMATS.md prints them. */
static const char *entry_hex(const struct fake_queue *q, uint64_t index)
{
	static char hex[64 * 2 + 4];
	const uint8_t *e = fake_entry(q, index);
	char *p = hex;
	int i;

	for (i = 0; i < 64; i++) {
		if (i && i % 16 == 0)
			*p++ = '|';
		p += sprintf(p, "%02x", e[i]);
	}
	return hex;
}

#define RADDR_SEG "1122334455667788a1b2c3d400000000"
#define SIGNAL_SEG "1122334455668788a1b2c3d500000000"
#define ZERO_SEG "00000000000000000000000000000000"

/* One post into a fresh queue, and its entry. */
#define ENTRY(name, post, hex)							\
	TEST_F(entry, name)							\
	{									\
		ASSERT_EQ(PI, post);						\
		EXPECT_STREQ(hex, entry_hex(self->q, PI));			\
	}

ENTRY(I_07_put,
	gda_put(&self->q->view, LADDR, LKEY, RADDR, RKEY, 0x1000, 0),
	"00abcd08123456030000000800000000|" RADDR_SEG
	"|00001000e1e2e3e499aabbccddeeff00|" ZERO_SEG)

ENTRY(put_exclusive,
	gda_put(&self->q->view, LADDR, LKEY, RADDR, RKEY, 0x1000, GDA_EXCLUSIVE),
	"00abcd08123456030000000800000000|" RADDR_SEG
	"|00001000e1e2e3e499aabbccddeeff00|" ZERO_SEG)

ENTRY(get,
	gda_get(&self->q->view, LADDR, LKEY, RADDR, RKEY, 0x1000, 0),
	"00abcd10123456030000000800000000|" RADDR_SEG
	"|00001000e1e2e3e499aabbccddeeff00|" ZERO_SEG)

ENTRY(put_inline_4,
	gda_put_inline(&self->q->view, RADDR, RKEY, "\1\2\3\4", 4, 0),
	"00abcd08123456030000000800000000|" RADDR_SEG
	"|80000004010203040000000000000000|" ZERO_SEG)

ENTRY(put_inline_8,
	gda_put_inline(&self->q->view, RADDR, RKEY, "\1\2\3\4\5\6\7\x8", 8, 0),
	"00abcd08123456030000000800000000|" RADDR_SEG
	"|80000008010203040506070800000000|" ZERO_SEG)

TEST_F(entry, put_value)
{
	uint64_t value;

	memcpy(&value, "\1\2\3\4\5\6\7\x8", 8);
	ASSERT_EQ(PI, gda_put_value(&self->q->view, RADDR, RKEY, value, 0));
	EXPECT_STREQ("00abcd08123456030000000800000000|" RADDR_SEG
		     "|80000008010203040506070800000000|" ZERO_SEG,
		     entry_hex(self->q, PI));
}

ENTRY(fetch_add,
	gda_fetch_add(&self->q->view, LADDR, LKEY, RADDR, RKEY, 7, 0),
	"00abcd12123456040000000800000000|" RADDR_SEG
	"|00000000000000070000000000000000|00000008e1e2e3e499aabbccddeeff00")

ENTRY(compare_swap,
	gda_compare_swap(&self->q->view, LADDR, LKEY, RADDR, RKEY, 5, 9, 0),
	"00abcd11123456040000000800000000|" RADDR_SEG
	"|00000000000000090000000000000005|00000008e1e2e3e499aabbccddeeff00")

TEST_F(entry, put_imm)
{
	ASSERT_EQ(PI, gda_put_imm(&self->q->view, LADDR, LKEY, RADDR, RKEY, 0x1000, 0xdeadbeefU,
				  0));
	EXPECT_STREQ("00abcd091234560300000008deadbeef|" RADDR_SEG
		     "|00001000e1e2e3e499aabbccddeeff00|" ZERO_SEG,
		     entry_hex(self->q, PI));
	/* an event for the peer; and of nothing but the immediate */
	ASSERT_EQ(PI + 1, gda_put_imm(&self->q->view, LADDR, LKEY, RADDR, RKEY, 0, 1,
				      GDA_SOLICITED | GDA_EXCLUSIVE));
	EXPECT_EQ(0, memcmp(fake_entry(self->q, PI + 1),
			    "\x00\xab\xce\x09\x12\x34\x56\x02\0\0\0\x0a\0\0\0\1", 16));
}

TEST_F(entry, solicited)
{
	struct gda_view *v = &self->q->view;

	gda_put(v, LADDR, LKEY, RADDR, RKEY, 8, GDA_SOLICITED);
	gda_put_value(v, RADDR, RKEY, 8, GDA_SOLICITED);
	gda_fetch_add(v, LADDR, LKEY, RADDR, RKEY, 8, GDA_SOLICITED);
	gda_nop(v, GDA_SOLICITED);
	gda_nop(v, 0);
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(i < 4 ? GDA_MLX5_CE_ALWAYS | GDA_MLX5_SE : GDA_MLX5_CE_ALWAYS,
			  fake_entry(self->q, PI + (uint64_t)i)[11]);
}

/* The fence is in the entry; with a signal, in that of the put. */
TEST_F(entry, after_reads)
{
	struct gda_signal s = { .size = sizeof(s), .op = GDA_SIGNAL_SET, .raddr = RADDR, .rkey = RKEY };
	const int fenced = GDA_MLX5_CE_ALWAYS | GDA_MLX5_FM_FENCE;
	struct gda_view *v = &self->q->view;
	uint8_t data[100] = { 0 };

	gda_put(v, LADDR, LKEY, RADDR, RKEY, 8, GDA_AFTER_READS);
	gda_put_value(v, RADDR, RKEY, 8, GDA_AFTER_READS | GDA_EXCLUSIVE);
	gda_get(v, LADDR, LKEY, RADDR, RKEY, 8, GDA_AFTER_READS | GDA_SOLICITED);
	EXPECT_EQ(fenced, fake_entry(self->q, PI)[11]);
	EXPECT_EQ(fenced, fake_entry(self->q, PI + 1)[11]);
	EXPECT_EQ(fenced | GDA_MLX5_SE, fake_entry(self->q, PI + 2)[11]);
	gda_put_signal(v, LADDR, LKEY, RADDR, RKEY, 8, &s, GDA_AFTER_READS | GDA_SOLICITED);
	EXPECT_EQ(fenced, fake_entry(self->q, PI + 3)[11]);
	EXPECT_EQ(GDA_MLX5_CE_ALWAYS | GDA_MLX5_SE, fake_entry(self->q, PI + 4)[11]);
	/* of an entry of several slots the first, and not the NOP behind it */
	ASSERT_EQ(PI + 5, gda_put_inline(v, RADDR, RKEY, data, sizeof(data), GDA_AFTER_READS));
	EXPECT_EQ(fenced, fake_entry(self->q, PI + 5)[11]);
	EXPECT_EQ(GDA_MLX5_CE_ALWAYS, fake_entry(self->q, PI + 8)[11]);
	gda_put(v, LADDR, LKEY, RADDR, RKEY, 8, 0);
	EXPECT_EQ(GDA_MLX5_CE_ALWAYS, fake_entry(self->q, PI + 9)[11]);
}

TEST_F(entry, I_15_masked_fetch_add)
{
	ASSERT_EQ(PI, gda_masked_fetch_add32(&self->q->view, LADDR, LKEY, RADDR, RKEY, 7,
					     0x80008000U, 0));
	EXPECT_STREQ("08abcd15123456040000000800000000|" RADDR_SEG
		     "|00000007800080000000000000000000|00000004e1e2e3e499aabbccddeeff00",
		     entry_hex(self->q, PI));
	ASSERT_EQ(PI + 1, gda_masked_fetch_add(&self->q->view, LADDR, LKEY, RADDR, RKEY, 7,
					       0x8000000080000000U, 0));
	EXPECT_STREQ("09abce15123456040000000800000000|" RADDR_SEG
		     "|00000000000000078000000080000000|00000008e1e2e3e499aabbccddeeff00",
		     entry_hex(self->q, PI + 1));
}

TEST_F(entry, masked_compare_swap)
{
	ASSERT_EQ(PI, gda_masked_compare_swap32(&self->q->view, LADDR, LKEY, RADDR, RKEY, 5,
						0xff, 9, 0xff00, 0));
	EXPECT_STREQ("08abcd14123456040000000800000000|" RADDR_SEG
		     "|00000009000000050000ff00000000ff|00000004e1e2e3e499aabbccddeeff00",
		     entry_hex(self->q, PI));
	/* two slots, and the NOP */
	ASSERT_EQ(PI + 1, gda_masked_compare_swap(&self->q->view, LADDR, LKEY, RADDR, RKEY, 5,
						  0xff, 9, 0xff00, 0));
	EXPECT_STREQ("09abce14123456050000000800000000|" RADDR_SEG
		     "|00000000000000090000000000000005|000000000000ff0000000000000000ff",
		     entry_hex(self->q, PI + 1));
	EXPECT_STREQ("00000008e1e2e3e499aabbccddeeff00|" ZERO_SEG "|" ZERO_SEG "|" ZERO_SEG,
		     entry_hex(self->q, PI + 2));
	EXPECT_STREQ("00abd000123456010000000800000000|" ZERO_SEG "|" ZERO_SEG "|" ZERO_SEG,
		     entry_hex(self->q, PI + 3));
	EXPECT_EQ((PI + 4) & 0xffff, fake_rung(self->q));
}

/* Two entries, one doorbell; the second adds to a word, or stores it. */
TEST_F(entry, G_04_put_signal)
{
	struct gda_view *v = &self->q->view;
	struct gda_signal s = {
		.size = sizeof(s), .op = GDA_SIGNAL_ADD, .raddr = RADDR + 0x1000, .value = 7,
		.laddr = LADDR + 0x2000, .rkey = RKEY + 1, .lkey = LKEY + 1,
	};

	ASSERT_EQ(PI + 1, gda_put_signal(v, LADDR, LKEY, RADDR, RKEY, 0x1000, &s, GDA_SOLICITED));
	EXPECT_STREQ("00abcd08123456030000000800000000|" RADDR_SEG
		     "|00001000e1e2e3e499aabbccddeeff00|" ZERO_SEG,
		     entry_hex(self->q, PI));
	EXPECT_STREQ("00abce12123456040000000a00000000|" SIGNAL_SEG
		     "|00000000000000070000000000000000|00000008e1e2e3e599aabbccddef1f00",
		     entry_hex(self->q, PI + 1));
	EXPECT_EQ((uint16_t)(PI + 2), fake_rung(self->q));
	memcpy(&s.value, "\1\2\3\4\5\6\7\x8", 8);
	s.op = GDA_SIGNAL_SET;
	ASSERT_EQ(PI + 3, gda_put_signal(v, LADDR, LKEY, RADDR, RKEY, 0, &s, GDA_DEFER));
	EXPECT_EQ(0, memcmp(fake_entry(self->q, PI + 2),
			    "\x00\xab\xcf\x08\x12\x34\x56\x02\0\0\0\x08\0\0\0\0", 16));
	EXPECT_STREQ("00abd008123456030000000800000000|" SIGNAL_SEG
		     "|80000008010203040506070800000000|" ZERO_SEG,
		     entry_hex(self->q, PI + 3));
	EXPECT_EQ((uint16_t)(PI + 2), fake_rung(self->q));
	fake_complete(self->q, PI + 3);
	EXPECT_EQ(0, gda_test(v, PI + 3));
	fake_complete(self->q, PI + 4);
	EXPECT_EQ(1, gda_test(v, PI + 3));
}

/* Both entries are posted, or none. */
TEST_F(entry, I_05_put_signal_without_room)
{
	struct gda_view *v = &self->q->view;
	struct gda_signal s = { .size = sizeof(s) };
	int exclusive;

	for (exclusive = 0; exclusive < 2; exclusive++) {
		unsigned int flags = exclusive ? GDA_EXCLUSIVE : 0;
		int i;

		fake_restart(self->q, 0);
		for (i = 0; i < 63; i++)
			ASSERT_EQ(i, gda_nop(v, flags | GDA_DEFER));
		EXPECT_EQ(-EAGAIN, gda_put_signal(v, LADDR, LKEY, RADDR, RKEY, 8, &s,
						  flags | GDA_NOWAIT));
		EXPECT_LE(63, fake_rung(self->q));
		fake_complete(self->q, v->reserved);
		/* deferred; the post that fills the ring rings */
		for (i = 0; i < 32; i++)
			ASSERT_LT(0, gda_put_signal(v, LADDR, LKEY, RADDR, RKEY, 8, &s,
						    flags | GDA_NOWAIT | GDA_DEFER));
		EXPECT_EQ((uint16_t)v->reserved, fake_rung(self->q));
	}
	fake_restart(self->q, 0);
	s.op = GDA_SIGNAL_SET + 1;
	EXPECT_EQ(-EINVAL, gda_put_signal(v, LADDR, LKEY, RADDR, RKEY, 8, &s, 0));
	s.op = GDA_SIGNAL_SET;
	EXPECT_EQ(-EMSGSIZE, gda_put_signal(v, LADDR, LKEY, RADDR, RKEY, 0x80000000U, &s, 0));
	v->mask = 0;
	EXPECT_EQ(-EMSGSIZE, gda_put_signal(v, LADDR, LKEY, RADDR, RKEY, 8, &s, 0));
	EXPECT_EQ(0, v->reserved);
}

ENTRY(nop,
	gda_nop(&self->q->view, 0),
	"00abcd00123456010000000800000000|" ZERO_SEG "|" ZERO_SEG "|" ZERO_SEG)

/* Nothing to move: a write of two segments, never a byte count of 0 (2^31). */
TEST_F(entry, put_of_nothing)
{
	ASSERT_EQ(PI, gda_put(&self->q->view, LADDR, LKEY, RADDR, RKEY, 0, 0));
	EXPECT_EQ(0, memcmp(fake_entry(self->q, PI),
			    "\x00\xab\xcd\x08\x12\x34\x56\x02\0\0\0\x08\0\0\0\0", 16));
	ASSERT_EQ(PI + 1, gda_put_inline(&self->q->view, RADDR, RKEY, "", 0, 0));
	EXPECT_EQ(0, memcmp(fake_entry(self->q, PI + 1),
			    "\x00\xab\xce\x08\x12\x34\x56\x02\0\0\0\x08\0\0\0\0", 16));
	/* the bytes that there are none of need no address */
	ASSERT_EQ(PI + 2, gda_put_inline(&self->q->view, RADDR, RKEY, NULL, 0, 0));
	EXPECT_EQ(0, memcmp(fake_entry(self->q, PI + 2),
			    "\x00\xab\xcf\x08\x12\x34\x56\x02\0\0\0\x08\0\0\0\0", 16));
}

TEST_F(entry, too_long)
{
	struct gda_view *v = &self->q->view;
	char src[GDA_INLINE_MAX + 1] = "";

	EXPECT_EQ(-EMSGSIZE, gda_put(v, LADDR, LKEY, RADDR, RKEY, 0x80000000U, 0));
	EXPECT_EQ(-EMSGSIZE, gda_get(v, LADDR, LKEY, RADDR, RKEY, 0xffffffffU, 0));
	EXPECT_EQ(-EMSGSIZE, gda_put_inline(v, RADDR, RKEY, src, sizeof(src), 0));
	EXPECT_EQ(PI, v->reserved);
	EXPECT_EQ(PI, gda_put(v, LADDR, LKEY, RADDR, RKEY, 0x7fffffffU, 0));
}

/* Up to 12 bytes three segments, up to 28 four; the bytes in memory order. */
TEST_F(entry, put_inline_of_every_length)
{
	char src[GDA_INLINE_SLOT];
	uint32_t len, i;

	for (i = 0; i < sizeof(src); i++)
		src[i] = (char)(i + 1);
	for (len = 1; len <= GDA_INLINE_SLOT; len++) {
		const uint8_t *e = fake_entry(self->q, PI + len - 1);

		ASSERT_EQ(PI + len - 1, gda_put_inline(&self->q->view, RADDR, RKEY, src, len, 0));
		EXPECT_EQ(len <= 12 ? 3 : 4, e[7]);
		EXPECT_EQ(0x80, e[32]);
		EXPECT_EQ(len, e[35]);
		EXPECT_EQ(0, memcmp(e + 36, src, len));
		for (i = 36 + len; i < 64; i++)
			EXPECT_EQ(0, e[i]);
	}
}

/* Longer ones go on in the next slots, around the end of the ring, and end with a NOP. */
TEST_F(entry, put_inline_of_several_slots)
{
	struct gda_view *v = &self->q->view;
	unsigned int flags[] = { 0, GDA_EXCLUSIVE, GDA_NOWAIT };
	char src[GDA_INLINE_MAX];
	uint64_t index = PI;
	uint32_t len, i;

	for (i = 0; i < sizeof(src); i++)
		src[i] = (char)(i * 7 + 1);
	for (len = GDA_INLINE_SLOT + 1; len <= GDA_INLINE_MAX; len++) {
		uint32_t ds = 2 + (len + 19) / 16, slots = (ds + 3) / 4, at = 36;
		const uint8_t *e = fake_entry(self->q, index);

		gda_view_share(v);
		ASSERT_EQ((int64_t)index, gda_put_inline(v, RADDR, RKEY, src, len,
							 flags[len % 3]));
		ASSERT_EQ(ds, e[7]);
		ASSERT_EQ(0x80000000U | len, gda_be32_to_cpu(*(const uint32_t *)(e + 32)));
		for (i = 0; i < len; i++, at++)
			ASSERT_EQ((uint8_t)src[i], fake_entry(self->q, index + at / 64)[at % 64]);
		for (; at < 64 * slots; at++)
			ASSERT_EQ(0, fake_entry(self->q, index + at / 64)[at % 64]);
		e = fake_entry(self->q, index + slots);
		ASSERT_EQ(0, e[3]);
		ASSERT_EQ((uint16_t)(index + slots), e[1] << 8 | e[2]);
		index += slots + 1;
		ASSERT_EQ((uint16_t)index, fake_rung(self->q));
		ASSERT_EQ(0, gda_test(v, (int64_t)(index - slots - 1)));
		fake_complete(self->q, index);
		ASSERT_EQ(1, gda_test(v, (int64_t)(index - slots - 1)));
	}
}

/* Deferred work takes room that only a doorbell gives back. */
TEST_F(entry, I_09_several_slots_ring_what_is_deferred)
{
	struct gda_view *v = &self->q->view;
	char src[GDA_INLINE_MAX] = "";
	int exclusive, i;

	for (exclusive = 0; exclusive < 2; exclusive++) {
		unsigned int flags = exclusive ? GDA_EXCLUSIVE : 0;

		fake_restart(self->q, 0);
		for (i = 0; i < 60; i++)
			gda_nop(v, flags | GDA_DEFER);
		EXPECT_EQ(0, fake_rung(self->q));
		EXPECT_EQ(-EAGAIN, gda_put_inline(v, RADDR, RKEY, src, sizeof(src),
						  flags | GDA_NOWAIT));
		EXPECT_LE(60, fake_rung(self->q));
		fake_complete(self->q, v->reserved);
		EXPECT_LE(60, gda_put_inline(v, RADDR, RKEY, src, sizeof(src),
					     flags | GDA_NOWAIT | GDA_DEFER));
		/* deferred; who fills the ring rings */
		EXPECT_GE(61, fake_rung(self->q));
		while (gda_nop(v, flags | GDA_NOWAIT | GDA_DEFER) >= 0)
			;
		EXPECT_EQ(v->reserved, fake_rung(self->q));
	}
	fake_restart(self->q, 0);
	v->mask = 15;
	EXPECT_EQ(-EMSGSIZE, gda_put_inline(v, RADDR, RKEY, src, sizeof(src), 0));
	EXPECT_EQ(0, v->reserved);
}

/* The view names what fits: that many bytes are posted, and one more never. */
TEST(max_inline_of_every_depth)
{
	char src[GDA_INLINE_MAX + 1] = "";
	uint32_t depth;

	for (depth = 1; depth <= 64; depth *= 2) {
		struct fake_queue *q = fake_queue_new(depth);
		struct gda_view *v = &q->view;

		EXPECT_EQ(0, gda_put_inline(v, RADDR, RKEY, src, v->max_inline, GDA_NOWAIT));
		fake_restart(q, 0);
		EXPECT_EQ(-EMSGSIZE, gda_put_inline(v, RADDR, RKEY, src, v->max_inline + 1,
						    GDA_NOWAIT));
		fake_queue_free(q);
	}
}

TEST_F(entry, I_06_slot_of_index)
{
	uint64_t base, i;

	for (base = 0; base < (1ULL << 40); base = base * 7 + 65535) {
		fake_restart(self->q, base);
		for (i = base; i < base + 64; i++) {
			const uint8_t *e = self->q->sq + ((uint16_t)i & 63) * 64;

			ASSERT_EQ((int64_t)i, gda_nop(&self->q->view, 0));
			ASSERT_EQ((uint16_t)i, e[1] << 8 | e[2]);
		}
	}
}

/* DB(pi=0x1abcd) is 01abcd0012345600 where index bits spill; ours keeps 16 bits. */
TEST_F(entry, I_11_record_and_doorbell)
{
	ASSERT_EQ(0, memcmp(&self->q->dbrec[1], "\0\0\xab\xcd", 4));
	gda_nop(&self->q->view, 0);
	EXPECT_EQ(0, memcmp(&self->q->dbrec[1], "\0\0\xab\xce", 4));
	EXPECT_EQ(0, memcmp(&self->q->db, "\0\xab\xce\0\x12\x34\x56\0", 8));
	EXPECT_EQ(0, self->q->dbrec[0]);
	fake_restart(self->q, 0x1ffff);
	gda_nop(&self->q->view, GDA_EXCLUSIVE);
	EXPECT_EQ(0, memcmp(&self->q->dbrec[1], "\0\0\0\0", 4));
	EXPECT_EQ(0, memcmp(&self->q->db, "\0\0\0\0\x12\x34\x56\0", 8));
	gda_nop(&self->q->view, GDA_EXCLUSIVE);
	EXPECT_EQ(0, memcmp(&self->q->db, "\0\0\x01\0\x12\x34\x56\0", 8));
}

static uint64_t random64(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15U;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* The poster's registers hold what the encoders of gda/mlx5.h store. */
TEST_F(entry, same_as_encoders)
{
	struct gda_view *v = &self->q->view;
	int i;

	for (i = 0; i < 100000; i++) {
		uint64_t index = random64() >> 8, la = random64(), ra = random64();
		uint64_t add = random64(), compare = random64();
		uint32_t lk = (uint32_t)random64(), rk = (uint32_t)random64();
		uint32_t qpn = random64() & 0xffffff, len = random64() & 0x7fffffff;
		bool atomic = random64() & 1;
		uint8_t want[64] = { 0 };

		fake_restart(self->q, index);
		v->qpn_be = gda_mlx5_doorbell(0, qpn);
		gda_mlx5_set_raddr((void *)(want + 16), ra, rk);
		if (atomic) {
			gda_mlx5_set_ctrl((void *)want, index, GDA_MLX5_ATOMIC_CS, qpn, 4,
					  GDA_MLX5_CE_ALWAYS, 0);
			gda_mlx5_set_atomic((void *)(want + 32), add, compare);
			gda_mlx5_set_data((void *)(want + 48), la, lk, 8);
			gda_compare_swap(v, la, lk, ra, rk, compare, add, 0);
		} else {
			gda_mlx5_set_ctrl((void *)want, index, GDA_MLX5_WRITE, qpn,
					  len ? 3 : 2, GDA_MLX5_CE_ALWAYS, 0);
			gda_mlx5_set_data((void *)(want + 32), la, lk, len);
			gda_put(v, la, lk, ra, rk, len, 0);
		}
		ASSERT_EQ(0, memcmp(want, fake_entry(self->q, index), 64));
		ASSERT_EQ(gda_mlx5_doorbell(index + 1, qpn), self->q->db);
	}
}

TEST_F(entry, view_init)
{
	struct fake_queue *q = self->q;
	struct gda_view_attr good = {
		.size = sizeof(good),
		.sq = q->sq, .dbrec = &q->dbrec[1], .db = &q->db, .cq = &q->cqe,
		.slots = q->slots, .depth = 64, .qpn = FAKE_QPN,
	};
	struct gda_view_attr bad = { .size = sizeof(bad) };
	struct gda_view v;

	memset(&q->cqe, 0xff, sizeof(q->cqe));
	ASSERT_EQ(0, gda_view_init(&v, &good));
	EXPECT_EQ(sizeof(v), v.size);
	EXPECT_EQ(1000000000U, v.timeout_ns);
	EXPECT_EQ(GDA_DIALECT_MLX5, v.dialect);
	EXPECT_EQ(GDA_CAN_ORDER | GDA_CAN_SIGNAL | GDA_CAN_ATOMIC, v.can);
#define REFUSED(member, value, err) do { \
	bad = good; \
	bad.member = value; \
	EXPECT_EQ(err, gda_view_init(&v, &bad)); \
} while (0)
	REFUSED(depth, 0, -EINVAL);
	REFUSED(depth, 63, -EINVAL);
	REFUSED(depth, 65536, -EINVAL);
	REFUSED(qpn, 1 << 24, -EINVAL);
	REFUSED(sq, NULL, -EINVAL);
	REFUSED(sq, q->sq + 32, -EINVAL);
	REFUSED(dbrec, (char *)q->dbrec + 1, -EINVAL);
	REFUSED(db, (char *)&q->db + 4, -EINVAL);
	REFUSED(cq, NULL, -EINVAL);
	REFUSED(slots, NULL, -EINVAL);
	/* I-13: preset 0x00 would say that index 0 is done */
	memset(&q->cqe, 0, sizeof(q->cqe));
	EXPECT_EQ(-EPROTO, gda_view_init(&v, &good));
}

TEST_HARNESS_MAIN

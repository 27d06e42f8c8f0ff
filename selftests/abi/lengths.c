// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Lengths of posts, by the symbols of the library. A program that was linked with GDA_2.0 passes
 * 32 bits, and the upper half of the register is whatever was there; one that is linked now
 * passes 64 bits, and all of them count.
 */
#include <errno.h>
#include <gda/fastpath.h>
#include "../lib/fake_nic.h"
#include "kselftest_harness.h"

#define POISON	0xdeadbeef00000000U
#define WRAPS	0x100000000U	/* 0 in 32 bits */

/* The parameters of a call with a length and what follows, as registers are filled. */
#define MOVE(name, symbol) \
	int64_t name(struct gda_view *v, uint64_t laddr, uint32_t lkey, uint64_t raddr, \
		     uint32_t rkey, uint64_t len, unsigned int flags) __asm__(symbol)
#define MOVE_IMM(name, symbol) \
	int64_t name(struct gda_view *v, uint64_t laddr, uint32_t lkey, uint64_t raddr, \
		     uint32_t rkey, uint64_t len, uint32_t imm, unsigned int flags) __asm__(symbol)
#define MOVE_SIGNAL(name, symbol) \
	int64_t name(struct gda_view *v, uint64_t laddr, uint32_t lkey, uint64_t raddr, \
		     uint32_t rkey, uint64_t len, const struct gda_signal *signal, \
		     unsigned int flags) __asm__(symbol)
#define INLINE(name, symbol) \
	int64_t name(struct gda_view *v, uint64_t raddr, uint32_t rkey, const void *src, \
		     uint64_t len, unsigned int flags) __asm__(symbol)

MOVE(old_put, "old_put");
MOVE(old_get, "old_get");
MOVE_IMM(old_put_imm, "old_put_imm");
MOVE_SIGNAL(old_put_signal, "old_put_signal");
INLINE(old_put_inline, "old_put_inline");
__asm__(".symver old_put, gda_put@GDA_2.0");
__asm__(".symver old_get, gda_get@GDA_2.0");
__asm__(".symver old_put_imm, gda_put_imm@GDA_2.0");
__asm__(".symver old_put_signal, gda_put_signal@GDA_2.0");
__asm__(".symver old_put_inline, gda_put_inline@GDA_2.0");

MOVE(lib_put, "gda_put");
MOVE(lib_get, "gda_get");
MOVE_IMM(lib_put_imm, "gda_put_imm");
MOVE_SIGNAL(lib_put_signal, "gda_put_signal");
INLINE(lib_put_inline, "gda_put_inline");

FIXTURE(lengths) {
	struct fake_queue *q;
	struct gda_view *v;
	struct gda_signal signal;
};

FIXTURE_SETUP(lengths)
{
	self->q = fake_queue_new(64);
	self->v = &self->q->view;
	self->signal = (struct gda_signal) {
		.size = sizeof(self->signal), .op = GDA_SIGNAL_SET, .raddr = 8, .value = 1,
	};
}

FIXTURE_TEARDOWN(lengths)
{
	fake_queue_free(self->q);
}

/* byte_count of the data segment of an entry */
static uint32_t posted(const struct fake_queue *q, uint64_t index)
{
	const struct gda_mlx5_data *d = (const void *)(fake_entry(q, index) + 32);

	return gda_be32_to_cpu(d->byte_count);
}

TEST_F(lengths, item_10_old_programs_pass_32_bits)
{
	char src[8] = "1234567";

	EXPECT_EQ(0, old_put(self->v, 4096, 7, 4096, 7, POISON | 8, GDA_NOWAIT));
	EXPECT_EQ(1, old_get(self->v, 4096, 7, 4096, 7, POISON | 9, GDA_NOWAIT));
	EXPECT_EQ(2, old_put_imm(self->v, 4096, 7, 4096, 7, POISON | 10, 3, GDA_NOWAIT));
	EXPECT_EQ(3, old_put_inline(self->v, 4096, 7, src, POISON | 5, GDA_NOWAIT));
	EXPECT_EQ(5, old_put_signal(self->v, 4096, 7, 4096, 7, POISON | 12, &self->signal,
				    GDA_NOWAIT));
	EXPECT_EQ(8, posted(self->q, 0));
	EXPECT_EQ(9, posted(self->q, 1));
	EXPECT_EQ(10, posted(self->q, 2));
	EXPECT_EQ(5 | GDA_MLX5_INLINE, posted(self->q, 3));
	EXPECT_EQ(12, posted(self->q, 4));
	EXPECT_EQ(-EMSGSIZE, old_put(self->v, 4096, 7, 4096, 7, POISON | 1U << 31, GDA_NOWAIT));
}

TEST_F(lengths, item_10_new_programs_pass_64_bits)
{
	volatile uint64_t length = WRAPS;	/* not for the compiler to see */
	char src[8] = "1234567";
	int i;

	for (i = 0; i < 3; i++, length = i == 1 ? WRAPS + 8 : 1U << 31) {
		EXPECT_EQ(-EMSGSIZE, lib_put(self->v, 4096, 7, 4096, 7, length, GDA_NOWAIT));
		EXPECT_EQ(-EMSGSIZE, lib_get(self->v, 4096, 7, 4096, 7, length, GDA_NOWAIT));
		EXPECT_EQ(-EMSGSIZE, lib_put_imm(self->v, 4096, 7, 4096, 7, length, 3, GDA_NOWAIT));
		EXPECT_EQ(-EMSGSIZE, lib_put_inline(self->v, 4096, 7, src, length, GDA_NOWAIT));
		EXPECT_EQ(-EMSGSIZE, lib_put_signal(self->v, 4096, 7, 4096, 7, length,
						    &self->signal, GDA_NOWAIT));
		EXPECT_EQ(-EMSGSIZE, gda_put(self->v, 4096, 7, 4096, 7, length, GDA_NOWAIT));
		EXPECT_EQ(-EMSGSIZE, gda_get(self->v, 4096, 7, 4096, 7, length, GDA_NOWAIT));
		EXPECT_EQ(-EMSGSIZE, gda_put_imm(self->v, 4096, 7, 4096, 7, length, 3, GDA_NOWAIT));
		EXPECT_EQ(-EMSGSIZE, gda_put_inline(self->v, 4096, 7, src, length, GDA_NOWAIT));
		EXPECT_EQ(-EMSGSIZE, gda_put_signal(self->v, 4096, 7, 4096, 7, length,
						    &self->signal, GDA_NOWAIT));
	}
	EXPECT_EQ(0, self->v->reserved);
	EXPECT_EQ(0, lib_put(self->v, 4096, 7, 4096, 7, 0x7fffffff, GDA_NOWAIT));
	EXPECT_EQ(0x7fffffff, posted(self->q, 0));
}

TEST_HARNESS_MAIN

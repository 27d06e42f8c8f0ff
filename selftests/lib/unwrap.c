// SPDX-License-Identifier: MIT
/*
 * The collapsed CQ: 16 bits of a counter become a 64-bit consumer index, and errors
 * are seen. Beside each rule, the one of the field that it replaces.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include "fake_nic.h"
#include "kselftest_harness.h"

/*
 * I-13: every consumer index modulo 2^16, every number of slots that can have
 * completed since, for the largest depth: that is every smaller depth too. The
 * indices also cross 2^32.
 */
FIXTURE(unwrap) {
};

FIXTURE_SETUP(unwrap)
{
}

FIXTURE_TEARDOWN(unwrap)
{
}

TEST_F_TIMEOUT(unwrap, I_13_is_exact, 100)
{
	uint64_t old, wrong = 0;
	uint32_t done;

	for (old = (1ULL << 32) - 32768; old < (1ULL << 32) + 32768; old++) {
		for (done = 0; done <= GDA_MLX5_MAX_DEPTH; done++) {
			uint32_t counter = (uint32_t)(old + done - 1) & 0xffff;

			/* or the compiler proves the rule and runs nothing */
			__asm__("" : "+r" (counter));
			wrong += gda_cqe_unwrap(GDA_DIALECT_MLX5, old, gda_be32(counter << 16)) != old + done;
		}
	}
	EXPECT_EQ(0, wrong);
}

/* The same through the CQ in memory, at the wraps, for every depth. */
TEST(I_13_poll_at_wraps)
{
	uint32_t depth, done;
	int64_t off;

	for (depth = 1; depth <= GDA_MLX5_MAX_DEPTH; depth *= 2) {
		struct fake_queue *q = fake_queue_new(depth);

		for (off = -3; off <= 3; off++) {
			uint64_t old = (1ULL << 32) + (uint64_t)off;

			for (done = 0; done <= depth; done += done < 8 ? 1 : depth / 8) {
				fake_restart(q, old);
				q->view.reserved = old + depth;
				fake_complete(q, old + done);
				ASSERT_EQ(old + done, gda_poll(&q->view, 0));
				ASSERT_EQ(old + done, q->view.completed);
				if (done)
					ASSERT_EQ(1, gda_test(&q->view, (int64_t)(old + done - 1)));
				if (done < depth)
					ASSERT_EQ(0, gda_test(&q->view, (int64_t)(old + done)));
			}
		}
		fake_queue_free(q);
	}
}

/*
 * I-13: a waiter has read the counter and sleeps; before it stores the consumer index,
 * others advance by more than 2^16. Its own is then wrong and must not be stored.
 *
 * The entry is an error that lies across two pages. The waiter reads the counter in
 * the second, then the first error in the other one, which faults: the handler is
 * what the others did meanwhile.
 */
static struct gda_view *slept;
static char *pages;

#define PAGE	4096
#define FAR	(5 + 65536 + 100)

static void counter_store(uint64_t next)
{
	uint32_t word = gda_be32((uint32_t)((next - 1) & 0xffff) << 16 |
				 GDA_MLX5_CQE_REQ_ERR << 4);

	memcpy(pages + PAGE - 56 + 60, &word, sizeof(word));
}

static void others(int sig)
{
	(void)sig;
	mprotect(pages, PAGE, PROT_READ | PROT_WRITE);
	slept->reserved = FAR + 10;
	slept->completed = FAR;
	counter_store(FAR + 3);
}

TEST(I_13_index_that_moved_is_not_stored)
{
	struct fake_queue *q = fake_queue_new(64);

	pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, pages);
	slept = &q->view;
	fake_restart(q, 0);
	q->view.reserved = 10;
	q->view.cq = (uintptr_t)(pages + PAGE - 56);
	counter_store(5);
	signal(SIGSEGV, others);
	mprotect(pages, PAGE, PROT_NONE);
	EXPECT_EQ(FAR + 3, gda_poll(&q->view, 0));
	EXPECT_EQ(FAR + 3, q->view.completed);
	EXPECT_EQ(0, mprotect(pages, PAGE, PROT_READ));
	fake_queue_free(q);
}

/* DeepEP: idx is the next index that is waited for; done when this is false. */
static int naive_busy(uint64_t idx, uint16_t counter, uint32_t ncqes)
{
	return (uint16_t)(idx - counter - 2) < ncqes;
}

/* I-13: the rule of the field is right only for a preset of 0xff... */
TEST(I_13_preset_zero_breaks_the_naive_rule)
{
	struct fake_queue *q = fake_queue_new(64);
	struct gda_view_attr attr = {
		.size = sizeof(attr),
		.sq = q->sq, .dbrec = &q->dbrec[1], .db = &q->db, .cq = &q->cqe,
		.slots = q->slots, .depth = 64, .qpn = FAKE_QPN,
	};

	EXPECT_TRUE(naive_busy(1, 0xffff, 64));
	EXPECT_FALSE(naive_busy(1, 0, 64));		/* nothing ran, "done" */
	gda_nop(&q->view, 0);
	EXPECT_EQ(0, gda_test(&q->view, 0));
	memset(&q->cqe, 0, sizeof(q->cqe));
	EXPECT_EQ(-EPROTO, gda_view_init(&q->view, &attr));
	fake_queue_free(q);
}

/* ... and for an index that was posted: a later one wraps into "done". */
TEST(I_13_unposted_index_breaks_the_naive_rule)
{
	struct fake_queue *q = fake_queue_new(64);

	fake_restart(q, 10);
	EXPECT_FALSE(naive_busy(10 + 1 + 64 + 1, 9, 64));
	EXPECT_FALSE(naive_busy(10 + 32768, 9, 64));
	EXPECT_EQ(-EINVAL, gda_test(&q->view, 10 + 64));
	EXPECT_EQ(-EINVAL, gda_test(&q->view, 10 + 32767));
	EXPECT_EQ(-EINVAL, gda_wait(&q->view, 10 + 65536, 0));
	/* one that was done 2^16 before spins, where ours stays done */
	fake_restart(q, 100000);
	gda_nop(&q->view, 0);
	EXPECT_TRUE(naive_busy(100000 - 65536 + 1, (uint16_t)(100000 - 1), 64));
	EXPECT_EQ(1, gda_test(&q->view, 100000 - 65536));
	EXPECT_EQ(0, gda_test(&q->view, 100000));
	fake_queue_free(q);
}

/* I-14: the seed's poll looks at the counter only. */
TEST(I_14_error_is_seen_by_every_waiter)
{
	struct fake_queue *q = fake_queue_new(64);
	struct gda_view *v = &q->view;
	struct gda_error e = { .size = sizeof(e) };
	int i;

	for (i = 0; i < 10; i++)
		gda_nop(v, 0);
	EXPECT_EQ(0, gda_error(v, &e));
	/* 4 failed for want of rights, 5 and 6 are flushed, 7 to 9 not yet */
	fake_fail(q, 5, 4, GDA_MLX5_SYND_REMOTE_ACCESS, GDA_MLX5_VENDOR_RIGHTS);
	/* the seed takes the failed one for done, or spins for ever on the next */
	EXPECT_FALSE(naive_busy(5, fake_counter(q), 64));
	EXPECT_TRUE(naive_busy(6, fake_counter(q), 64));
	fake_fail(q, 7, 4, GDA_MLX5_SYND_REMOTE_ACCESS, GDA_MLX5_VENDOR_RIGHTS);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(1, gda_test(v, i));
	EXPECT_EQ(-EIO, gda_test(v, 4));
	EXPECT_EQ(-EIO, gda_wait(v, 4, 0));
	EXPECT_EQ(-ECANCELED, gda_test(v, 5));
	EXPECT_EQ(-ECANCELED, gda_wait(v, 6, 0));
	EXPECT_EQ(0, gda_test(v, 7));
	EXPECT_EQ(-ETIMEDOUT, gda_wait(v, 7, gda_clock_ns() + 1000000));
	fake_fail(q, 10, 4, GDA_MLX5_SYND_REMOTE_ACCESS, GDA_MLX5_VENDOR_RIGHTS);
	EXPECT_EQ(-ECANCELED, gda_wait(v, 9, 0));
	EXPECT_EQ(-EIO, gda_quiet(v, 0));
	ASSERT_EQ(1, gda_error(v, &e));
	EXPECT_EQ(4, e.ticket);
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, e.syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_RIGHTS, e.vendor);
	fake_queue_free(q);
}

/* The error is final and does not take the ring with it. */
TEST(I_14_posting_goes_on_after_an_error)
{
	struct fake_queue *q = fake_queue_new(4);
	struct gda_view *v = &q->view;
	int64_t i;

	fake_restart(q, 65534);
	for (i = 65534; i < 65534 + 4; i++)
		ASSERT_EQ(i, gda_nop(v, GDA_NOWAIT));
	fake_fail(q, 65535, 65534, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER);
	for (; i < 65534 + 40; i++) {
		fake_fail(q, (uint64_t)i, 65534, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER);
		ASSERT_EQ(i, gda_nop(v, GDA_NOWAIT));
		ASSERT_EQ(-ECANCELED, gda_wait(v, i - 1, 0));
	}
	EXPECT_EQ(-EIO, gda_wait(v, 65534, 0));
	fake_queue_free(q);
}

/*
 * A queue that fails while it is empty names the slot that would have been next. That
 * frees nothing: the executor is still to consume what is posted there, and would take
 * a doorbell beyond a full ring for an illegal one.
 */
TEST(I_14_failure_of_an_empty_queue)
{
	struct fake_queue *q = fake_queue_new(4);
	struct gda_view *v = &q->view;
	struct gda_error e = { .size = sizeof(e) };
	int64_t i;

	fake_restart(q, 7);
	fake_fail(q, 8, 7, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER);
	ASSERT_EQ(1, gda_error(v, &e));
	EXPECT_EQ(7, e.ticket);
	EXPECT_EQ(0, gda_quiet(v, 0));
	EXPECT_EQ(-EINVAL, gda_test(v, 7));
	for (i = 7; i < 11; i++)
		ASSERT_EQ(i, gda_nop(v, 0));
	EXPECT_EQ(-EIO, gda_nop(v, 0));
	EXPECT_EQ(-EIO, gda_nop(v, GDA_NOWAIT));
	EXPECT_EQ(11, fake_rung(q));
	EXPECT_EQ(-EIO, gda_wait(v, 7, 0));
	EXPECT_EQ(0, gda_test(v, 8));
	/* now slot 7 is consumed, as flushed, and all behind it */
	fake_flushed(q, 11, 7, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER);
	EXPECT_EQ(-EIO, gda_wait(v, 7, 0));
	EXPECT_EQ(-ECANCELED, gda_wait(v, 8, 0));
	EXPECT_EQ(-EIO, gda_quiet(v, 0));
	ASSERT_EQ(11, gda_nop(v, GDA_NOWAIT));
	EXPECT_EQ(0, gda_test(v, 11));
	fake_queue_free(q);
}

TEST(I_14_failure_of_a_ring_of_one)
{
	struct fake_queue *q = fake_queue_new(1);
	struct gda_view *v = &q->view;

	fake_fail(q, 1, 0, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER);
	ASSERT_EQ(0, gda_nop(v, 0));
	EXPECT_EQ(-EIO, gda_nop(v, 0));
	EXPECT_EQ(-EIO, gda_wait(v, 0, 0));
	fake_flushed(q, 1, 0, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER);
	ASSERT_EQ(1, gda_nop(v, 0));
	fake_flushed(q, 2, 0, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER);
	EXPECT_EQ(-ECANCELED, gda_wait(v, 1, 0));
	fake_queue_free(q);
}

/* A completion that is not about this send queue moves nothing. */
TEST(other_opcodes_are_not_completions)
{
	struct fake_queue *q = fake_queue_new(64);

	gda_nop(&q->view, 0);
	fake_complete(q, 1);
	q->cqe.op_own = GDA_MLX5_CQE_RESP_IMM << 4;
	EXPECT_EQ(0, gda_test(&q->view, 0));
	q->cqe.op_own = GDA_MLX5_CQE_RESP_ERR << 4;
	EXPECT_EQ(0, gda_test(&q->view, 0));
	q->cqe.op_own = GDA_MLX5_CQE_REQ << 4;
	EXPECT_EQ(1, gda_test(&q->view, 0));
	fake_queue_free(q);
}

TEST_HARNESS_MAIN

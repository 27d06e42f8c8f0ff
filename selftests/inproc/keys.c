// SPDX-License-Identifier: MIT
/*
 * The in-process device's table of keys, from within. selftests/kernel/keys.c guesses
 * through queues, one queue a guess; here it is many. Not in the guest.
 */
#include <sys/wait.h>
#include "suite.h"
/* after the public headers, whose attributes the engine's have as macros */
#include "access.h"
#include "gda_internal.h"
#include "inproc.h"

#define NUMBERS	(GDA_INPROC_LEAF * GDA_INPROC_LEAVES)
#define VALUES	256U			/* of a variant */
#define MRS	4096U
#define GUESSES	(1U << 20)
#define SAMPLES	(1U << 16)
#define CHILDREN 16U

FIXTURE(keys) {
	struct gda_context *ctx[2];
};

FIXTURE_SETUP(keys)
{
	ASSERT_OK(gda_open(GDA_DEVICE_INPROC, &self->ctx[0]));
	ASSERT_OK(gda_open(GDA_DEVICE_INPROC, &self->ctx[1]));
}

FIXTURE_TEARDOWN(keys)
{
	gda_close(self->ctx[0]);
	gda_close(self->ctx[1]);
}

/* Memory that no CPU reaches: registration does not check that it is there. */
static int reg(struct gda_context *ctx, struct gda_mr_reg_user *mr)
{
	*mr = (struct gda_mr_reg_user) {
		.size = sizeof(*mr), .addr = 1U << 16, .length = 64, .access = GDA_ACCESS_ALL,
	};
	return gda_inproc_mr_reg_no_cpu(ctx->device, mr, NULL);
}

/* The engine's question: does @key name memory of @ctx's domain? */
static bool hit(const struct gda_context *ctx, u32 key)
{
	const struct gda_sge range = { .addr = 1U << 16, .len = 8, .key = key };

	return gda_access_check(gda_host_mem(NULL, key), ctx->device, &range,
				GDA_ACCESS_REMOTE_WRITE) != GDA_MLX5_VENDOR_KEY;
}

/* MRs of two domains by turns; of each, every other one is gone again. */
static int fill(struct gda_context *const *ctx, struct gda_mr_reg_user *mr)
{
	u32 i;
	int err = 0;

	for (i = 0; i < MRS && !err; i++)
		err = reg(ctx[i & 1], &mr[i]);
	for (i = 0; i < MRS && !err; i++)
		if (i & 2)
			err = gda_destroy_handle(ctx[i & 1], mr[i].handle);
	return err;
}

/* A guess that happens to be the key of a live MR of the domain is none. */
TEST_F(keys, K1_guesses)
{
	static struct gda_mr_reg_user mr[MRS];
	static u16 right[NUMBERS];	/* variant + 1 */
	u32 i, hits = 0, luck = 0;
	uint64_t rnd = s_seed();

	ASSERT_OK(fill(self->ctx, mr));
	for (i = 0; i < MRS; i += 4)
		right[mr[i].key >> 8] = (u16)((mr[i].key & 0xff) + 1);
	for (i = 0; i < GUESSES; i++) {
		u32 key = (u32)s_random(&rnd);
		bool is_right = right[key >> 8] == (key & 0xff) + 1;

		EXPECT_EQ(is_right, hit(self->ctx[0], key));
		hits += !is_right && hit(self->ctx[0], key);
		luck += is_right;
	}
	EXPECT_EQ(0, hits);
	TH_LOG("%u guesses, %u MRs in the domain: %u hits, %u were no guess; GDA_SEED=%#llx",
	       GUESSES, MRS / 4, hits, luck, (unsigned long long)rnd);
}

/* A peer that knows the index tries all variants: only the right one works. */
TEST_F(keys, K1_K2_K4_all_variants)
{
	static struct gda_mr_reg_user mr[MRS];
	u32 i, v, domain, hits = 0, right = 0;

	ASSERT_OK(fill(self->ctx, mr));
	for (i = 0; i < MRS; i++) {
		for (v = 0; v < VALUES; v++) {
			u32 key = (mr[i].key & ~0xffU) | v;

			for (domain = 0; domain < 2; domain++) {
				bool found = hit(self->ctx[domain], key);

				hits += found;
				right += found && key == mr[i].key && !(i & 2) && domain == (i & 1);
			}
		}
	}
	EXPECT_EQ(MRS / 2, hits);
	EXPECT_EQ(MRS / 2, right);
	TH_LOG("%u guesses: %u hits, %u of them right", 2 * MRS * VALUES, hits, right);
}

static double chi_square(const u32 *count)
{
	const double want = (double)SAMPLES / VALUES;
	double sum = 0;
	u32 i;

	for (i = 0; i < VALUES; i++)
		sum += (count[i] - want) * (count[i] - want) / want;
	return sum;
}

/*
 * Variants, and the differences of neighbours, are spread as dice spread them. With 255
 * degrees of freedom the bounds are six times sqrt(2 * 255) from 255: beyond the upper
 * one of them are fewer than one in 10^7, and a counter is below the lower one.
 */
TEST_F(keys, K1_variants_are_random)
{
	static u32 count[VALUES], step[VALUES];
	double of_values, of_steps;
	struct gda_mr_reg_user mr;
	u32 i, last = 0;

	for (i = 0; i < SAMPLES; i++) {
		ASSERT_OK(reg(self->ctx[0], &mr));
		ASSERT_OK(gda_destroy_handle(self->ctx[0], mr.handle));
		count[mr.key % VALUES]++;
		step[(mr.key - last) % VALUES]++;
		last = mr.key;
	}
	of_values = chi_square(count);
	of_steps = chi_square(step);
	TH_LOG("%u keys: chi-square %.1f of variants, %.1f of differences, 255 expected",
	       SAMPLES, of_values, of_steps);
	EXPECT_TRUE(of_values > 120 && of_values < 390);
	EXPECT_TRUE(of_steps > 120 && of_steps < 390);
}

/* The index of a process's first key, by a pipe from each child. */
static u32 first_index(void)
{
	struct gda_context *ctx;
	struct gda_mr_reg_user mr = { 0 };

	if (gda_open(GDA_DEVICE_INPROC, &ctx) || reg(ctx, &mr))
		return 0;
	return mr.key >> 8;
}

/* Two of 16 are the same in one of 10^5 runs, two pairs in none. */
TEST(K1_index_starts_anywhere)
{
	u32 index[CHILDREN], i, k, same = 0;
	int status, fd[2];
	pid_t pid;

	ASSERT_OK(pipe(fd));
	for (i = 0; i < CHILDREN; i++) {
		pid = fork();
		if (!pid) {
			u32 first = first_index();

			_exit(write(fd[1], &first, sizeof(first)) != sizeof(first));
		}
		ASSERT_LT(0, pid);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
		ASSERT_EQ(sizeof(index[i]), read(fd[0], &index[i], sizeof(index[i])));
		ASSERT_NE(0, index[i]);
		for (k = 0; k < i; k++)
			same += index[k] == index[i];
	}
	EXPECT_GT(2, same);
	close(fd[0]);
	close(fd[1]);
}

/* All numbers are handed out, once; then one that was given back, across the wrap. */
TEST(K2_numbers_go_round)
{
	static struct gda_inproc_table t = { .next = NUMBERS - 2 };
	u32 i, n = 0, index = 0, last;
	bool in_order = true;

	for (last = NUMBERS - 3; !gda_inproc_table_reserve(&t, &index); last = index, n++)
		in_order &= index == (last + 1) % NUMBERS || (last == NUMBERS - 1 && index == 1);
	EXPECT_TRUE(in_order);
	EXPECT_EQ(NUMBERS - 1, n);
	EXPECT_EQ(NUMBERS - 3, last);
	EXPECT_EQ(-ENOSPC, gda_inproc_table_reserve(&t, &index));
	EXPECT_EQ(NULL, gda_inproc_table_erase(&t, 7));
	EXPECT_EQ(0, gda_inproc_table_reserve(&t, &index));
	EXPECT_EQ(7, index);
	for (i = 0; i < GDA_INPROC_LEAVES; i++)
		free(t.leaf[i]);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: MIT
/*
 * Counters with words in memory of the program, through the library: both counts in two places,
 * wraps, an owner who rewrites the words, memory that is deregistered while it is counted there,
 * and what is refused. The attack row is Q6; the engine's part is engine/counter.
 */
#define GDA_WQE_EFA
#include <pthread.h>
#include "suite.h"

#define DEPTH	16U
#define LEN	4096U
#define ERRORS	512U		/* where the word of errors is in its MR */

FIXTURE(counters) {
	struct s_end end[2];
	struct s_memory value[2], errors;	/* an MR for each word; errors of the first end */
	struct gda_counter *sent, *arrived;
};

FIXTURE_VARIANT(counters) {
	uint32_t dialect;
	uint64_t needs;
};

FIXTURE_VARIANT_ADD(counters, mlx5) { GDA_DIALECT_MLX5, GDA_FEATURE_DIALECT_MLX5 };
FIXTURE_VARIANT_ADD(counters, efa) { GDA_DIALECT_EFA, GDA_FEATURE_DIALECT_EFA };

FIXTURE_SETUP(counters)
{
	int i;

	memset(self, 0, sizeof(*self));
	for (i = 0; i < 2; i++) {
		ASSERT_OK(gda_open(NULL, &self->end[i].ctx));
		S_NEEDS(self->end[i].ctx, GDA_FEATURE_COUNTER_MEMORY | variant->needs);
		ASSERT_OK(s_memory_new(self->end[i].ctx, LEN, GDA_ACCESS_ALL, &self->end[i].mem));
		ASSERT_OK(s_memory_new(self->end[i].ctx, LEN, GDA_ACCESS_LOCAL_WRITE,
				       &self->value[i]));
	}
	ASSERT_OK(s_memory_new(self->end[0].ctx, LEN, GDA_ACCESS_LOCAL_WRITE, &self->errors));
}

FIXTURE_TEARDOWN(counters)
{
	int i;

	for (i = 0; i < 2; i++)
		gda_qp_destroy(self->end[i].qp);
	gda_counter_destroy(self->sent);
	gda_counter_destroy(self->arrived);
	s_memory_free(&self->errors);
	for (i = 0; i < 2; i++) {
		s_memory_free(&self->value[i]);
		s_memory_free(&self->end[i].mem);
		gda_close(self->end[i].ctx);
	}
}

static int open_qp(struct s_end *e, uint32_t dialect, struct gda_counter *sent,
		   struct gda_counter *arrived)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = DEPTH, .timeout_ns = S_TIMEOUT_NS,
		.dialect = dialect, .sent_counter = sent, .recv_counter = arrived,
	};
	int err = gda_qp_create(e->ctx, &attr, &e->qp);

	e->v = err ? NULL : gda_qp_view(e->qp);
	return err;
}

/* The first end counts what it sends, by @attr; the second what arrives there. */
static int open_counters(FIXTURE_DATA(counters) *self, uint32_t dialect,
			 struct gda_counter_attr *attr)
{
	struct gda_counter_attr arrived = {
		.size = sizeof(arrived), .value_mr = self->value[1].mr,
		.flags = attr->flags, .first_value = attr->first_value,
	};
	int err;

	attr->size = sizeof(*attr);
	attr->value_mr = self->value[0].mr;
	attr->errors_mr = self->errors.mr;
	attr->errors_offset = ERRORS;
	err = gda_counter_create_attr(self->end[0].ctx, attr, &self->sent);
	err = err ? err : gda_counter_create_attr(self->end[1].ctx, &arrived, &self->arrived);
	err = err ? err : open_qp(&self->end[0], dialect, self->sent, NULL);
	err = err ? err : open_qp(&self->end[1], dialect, NULL, self->arrived);
	return err ? err : s_connect(self->end[0].qp, self->end[1].qp);
}

static uint64_t load(const struct s_memory *m, uint64_t off)
{
	return __atomic_load_n((uint64_t *)(void *)(m->addr + off), __ATOMIC_ACQUIRE);
}

static void store(const struct s_memory *m, uint64_t off, uint64_t word)
{
	__atomic_store_n((uint64_t *)(void *)(m->addr + off), word, __ATOMIC_RELAXED);
}

static bool soon(const struct s_memory *m, uint64_t off, uint64_t word)
{
	uint64_t end = gda_clock_ns() + S_TIMEOUT_NS;

	while (load(m, off) != word) {
		if (gda_clock_ns() > end)
			return false;
		gda_yield();
	}
	return true;
}

/* The counts of a cell, to which a worker may still add. */
static struct gda_counter_mem counts(const struct gda_counter *c)
{
	const volatile struct gda_counter_mem *m = gda_counter_memory(c);
	struct gda_counter_mem now = {
		.value = __atomic_load_n(&m->value, __ATOMIC_RELAXED),
		.errors = __atomic_load_n(&m->errors, __ATOMIC_RELAXED),
	};

	return now;
}

static int put(FIXTURE_DATA(counters) *self)
{
	int64_t t = s_put(&self->end[0], 8, &self->end[1], 8, 8, 0);

	return t < 0 ? (int)t : gda_wait(self->end[0].v, t, 0);
}

static int put_bad(FIXTURE_DATA(counters) *self)
{
	int64_t t = s_put(&self->end[0], 8, &self->end[1], LEN - 4, 8, 0);

	return t < 0 ? (int)t : gda_wait(self->end[0].v, t, 0);
}

/* Successes and errors each have their word, and so has what arrives at the other end. */
TEST_F(counters, Q6_values_and_errors_in_two_places)
{
	uint64_t i, rounds = s_short(50, 1000);
	struct gda_counter_attr attr = { 0 };

	ASSERT_OK(open_counters(self, variant->dialect, &attr));
	for (i = 1; i <= rounds; i++) {
		ASSERT_OK(put(self));
		ASSERT_TRUE(soon(&self->value[0], 0, i));
		ASSERT_TRUE(soon(&self->value[1], 0, i));
	}
	EXPECT_EQ(0, load(&self->errors, ERRORS));
	EXPECT_GT(0, put_bad(self));
	EXPECT_TRUE(soon(&self->errors, ERRORS, 1));
	EXPECT_EQ(rounds, load(&self->value[0], 0));
	EXPECT_EQ(rounds, load(&self->value[1], 0));
	EXPECT_EQ(rounds, counts(self->sent).value);
	EXPECT_EQ(1, counts(self->sent).errors);
	EXPECT_EQ(rounds, counts(self->arrived).value);
}

/* The word begins at 0 again at 2^31, by a start just below; the counter goes on. */
TEST_F(counters, Q6_wraps_at_2_31)
{
	const uint64_t start = GDA_COUNTER_WRAP - 3;
	struct gda_counter_attr attr = {
		.flags = GDA_COUNTER_WRAP31, .first_value = start,
		.first_errors = GDA_COUNTER_WRAP - 1,
	};
	uint64_t i;

	ASSERT_OK(open_counters(self, variant->dialect, &attr));
	EXPECT_EQ(start, load(&self->value[0], 0));
	EXPECT_EQ(start, load(&self->value[1], 0));
	EXPECT_EQ(GDA_COUNTER_WRAP - 1, load(&self->errors, ERRORS));
	for (i = 1; i <= 8; i++) {
		ASSERT_OK(put(self));
		ASSERT_TRUE(soon(&self->value[0], 0, (start + i) % GDA_COUNTER_WRAP));
		ASSERT_TRUE(soon(&self->value[1], 0, (start + i) % GDA_COUNTER_WRAP));
		EXPECT_EQ(start + i, counts(self->sent).value);
		EXPECT_EQ(start + i, counts(self->arrived).value);
	}
	EXPECT_GT(0, put_bad(self));
	EXPECT_TRUE(soon(&self->errors, ERRORS, 0));
	EXPECT_EQ(GDA_COUNTER_WRAP, counts(self->sent).errors);
}

/* Writes to all words of the fixture until told to stop. */
struct scribbler {
	FIXTURE_DATA(counters) *self;
	uint64_t rnd;
	bool stop;
};

static void *scribble(void *arg)
{
	struct scribbler *s = arg;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		store(&s->self->value[0], 0, s_random(&s->rnd));
		store(&s->self->value[1], 0, s_random(&s->rnd));
		store(&s->self->errors, ERRORS, s_random(&s->rnd));
		gda_yield();
	}
	return NULL;
}

/* Rewriting the words changes nothing but what is read there. */
TEST_F(counters, Q6_rewritten_while_counting)
{
	uint64_t i, rounds = s_short(200, 5000);
	struct scribbler s = { .self = self, .rnd = s_seed() };
	struct gda_counter_attr attr = { 0 };
	pthread_t thread;

	TH_LOG("GDA_SEED=%#llx", (unsigned long long)s.rnd);
	ASSERT_OK(open_counters(self, variant->dialect, &attr));
	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, &s));
	for (i = 0; i < rounds; i++)
		ASSERT_OK(put(self));
	__atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(rounds, counts(self->sent).value);
	EXPECT_EQ(0, counts(self->sent).errors);
	EXPECT_EQ(rounds, counts(self->arrived).value);
	/* the next count is there again */
	ASSERT_OK(put(self));
	EXPECT_TRUE(soon(&self->value[0], 0, rounds + 1));
	EXPECT_TRUE(soon(&self->value[1], 0, rounds + 1));
}

/* Post until it fails, or @n times. Return: how many puts ended well. */
static uint64_t put_until(FIXTURE_DATA(counters) *self, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n && !put(self); i++)
		;
	return i;
}

/* Deregistered memory is not touched again, the queue that counts there fails, no count is lost. */
TEST_F(counters, Q6_deregistered_while_counting)
{
	struct gda_counter_attr attr = { 0 };
	uint64_t done;

	ASSERT_OK(open_counters(self, variant->dialect, &attr));
	ASSERT_OK(put(self));
	ASSERT_TRUE(soon(&self->value[0], 0, 1));
	ASSERT_OK(gda_mr_dereg(self->value[0].mr));
	self->value[0].mr = NULL;
	memset(self->value[0].addr, 0x5a, LEN);
	done = put_until(self, 1000);
	EXPECT_LE(1, done);
	EXPECT_GT(1000, done);
	EXPECT_TRUE(s_fails_by_queue(self->end[0].qp));
	EXPECT_EQ(0x5a5a5a5a5a5a5a5aULL, load(&self->value[0], 0));
	EXPECT_EQ(1 + done, counts(self->sent).value);
	EXPECT_TRUE(soon(&self->value[1], 0, 1 + done));
	/* the word of errors is still served */
	EXPECT_LE(1, counts(self->sent).errors);
	EXPECT_TRUE(soon(&self->errors, ERRORS, counts(self->sent).errors));
}

/* The same where the puts arrive: what is counted in the cell is what arrived. */
TEST_F(counters, Q6_deregistered_where_it_arrives)
{
	struct gda_counter_attr attr = { 0 };

	ASSERT_OK(open_counters(self, variant->dialect, &attr));
	ASSERT_OK(put(self));
	ASSERT_TRUE(soon(&self->value[1], 0, 1));
	ASSERT_OK(gda_mr_dereg(self->value[1].mr));
	self->value[1].mr = NULL;
	memset(self->value[1].addr, 0x5a, LEN);
	ASSERT_OK(put(self));
	EXPECT_TRUE(s_fails_by_queue(self->end[1].qp));
	EXPECT_EQ(0x5a5a5a5a5a5a5a5aULL, load(&self->value[1], 0));
	EXPECT_EQ(2, counts(self->arrived).value);
	EXPECT_TRUE(soon(&self->value[0], 0, 2));
}

/* Counting, and deregistration at any moment. */
TEST_F(counters, Q6_deregistered_at_any_moment)
{
	uint64_t rnd = s_seed(), i, rounds = s_short(5, 50), k;
	struct gda_counter_attr attr;

	TH_LOG("GDA_SEED=%#llx", (unsigned long long)rnd);
	for (i = 0; i < rounds; i++) {
		memset(&attr, 0, sizeof(attr));
		ASSERT_OK(open_counters(self, variant->dialect, &attr));
		for (k = s_below(&rnd, DEPTH); k; k--)
			ASSERT_LE(0, s_put(&self->end[0], 8, &self->end[1], 8, 8, 0));
		ASSERT_OK(gda_mr_dereg(self->value[0].mr));
		memset(self->value[0].addr, 0x5a, LEN);
		put_until(self, 1000);
		ASSERT_EQ(0x5a5a5a5a5a5a5a5aULL, load(&self->value[0], 0));
		ASSERT_TRUE(s_fails_by_queue(self->end[0].qp));
		gda_qp_destroy(self->end[0].qp);
		gda_qp_destroy(self->end[1].qp);
		self->end[0].qp = NULL;
		self->end[1].qp = NULL;
		gda_counter_destroy(self->sent);
		gda_counter_destroy(self->arrived);
		self->sent = NULL;
		self->arrived = NULL;
		ASSERT_OK(s_register(self->end[0].ctx, self->value[0].addr, LEN,
				     GDA_ACCESS_LOCAL_WRITE, &self->value[0]));
	}
}

/* Only chosen operations have their successes counted. */
TEST_F(counters, E_04_only_writes_or_only_reads)
{
	struct gda_counter_attr attr = { .ops = GDA_COUNT_READ };
	uint64_t i, n = 10;
	int64_t t;

	ASSERT_OK(open_counters(self, variant->dialect, &attr));
	for (i = 0; i < n; i++) {
		ASSERT_OK(put(self));
		t = s_get(&self->end[0], 0, &self->end[1], 0, 8, 0);
		ASSERT_OK(t < 0 ? (int)t : gda_wait(self->end[0].v, t, 0));
	}
	EXPECT_TRUE(soon(&self->value[0], 0, n));
	EXPECT_EQ(n, counts(self->sent).value);
	EXPECT_TRUE(soon(&self->value[1], 0, n));
}

/* gda_qp_query() says where the words are. */
TEST_F(counters, Q6_a_query_says_the_places)
{
	struct gda_qp_query q = { .size = sizeof(q) };
	struct gda_counter_attr attr = { 0 };

	ASSERT_OK(open_counters(self, variant->dialect, &attr));
	ASSERT_OK(gda_qp_query(self->end[0].qp, &q));
	EXPECT_EQ(self->value[0].key, q.sent_value.key);
	EXPECT_EQ(self->value[0].iova, q.sent_value.addr);
	EXPECT_EQ(self->errors.key, q.sent_errors.key);
	EXPECT_EQ(self->errors.iova + ERRORS, q.sent_errors.addr);
	EXPECT_EQ(0, q.recv_value.key);
	EXPECT_EQ(0, q.recv_value.addr);
	ASSERT_OK(gda_qp_query(self->end[1].qp, &q));
	EXPECT_EQ(0, q.sent_value.key);
	EXPECT_EQ(self->value[1].key, q.recv_value.key);
	EXPECT_EQ(self->value[1].iova, q.recv_value.addr);
}

/* Wrong rights, beyond the range, misaligned, of another context; and of the attributes. */
TEST_F(counters, Q6_bad_places_are_refused)
{
	struct gda_context *ctx = self->end[0].ctx;
	const struct gda_counter_attr good = {
		.size = sizeof(good), .value_mr = self->value[0].mr, .errors_mr = self->errors.mr,
	};
	struct gda_counter_attr attr;
	struct gda_counter *c = NULL;
	struct s_memory read;

#define REFUSED(_err, ...) do {						\
	attr = good;								\
	__VA_ARGS__;								\
	EXPECT_EQ(_err, gda_counter_create_attr(ctx, &attr, &c));		\
	EXPECT_STRNE("", gda_last_error());					\
} while (0)

	ASSERT_OK(s_memory_new(ctx, LEN, 0, &read));
	REFUSED(-EACCES, attr.value_mr = read.mr);
	REFUSED(-EACCES, attr.errors_mr = read.mr);
	REFUSED(-EINVAL, attr.value_offset = LEN - 7);
	REFUSED(-EINVAL, attr.value_offset = LEN);
	REFUSED(-EINVAL, attr.value_offset = -8ULL);
	REFUSED(-EINVAL, attr.errors_offset = 1ULL << 63);
	REFUSED(-EINVAL, attr.value_offset = 4);
	REFUSED(-EINVAL, attr.errors_offset = 1);
	REFUSED(-EINVAL, attr.value_mr = self->value[1].mr);
	REFUSED(-EINVAL, attr.errors_mr = self->value[1].mr);
	REFUSED(-EINVAL, attr.errors_mr = attr.value_mr);
	REFUSED(-EINVAL, attr.value_mr = NULL, attr.value_offset = 8);
	REFUSED(-EINVAL, attr.value_mr = attr.errors_mr = NULL, attr.flags = GDA_COUNTER_WRAP31);
	REFUSED(-EOPNOTSUPP, attr.flags = GDA_COUNTER_VALUE_MEMORY);
	REFUSED(-EOPNOTSUPP, attr.flags = 1U << 31);
	REFUSED(-EOPNOTSUPP, attr.ops = 1);
	REFUSED(-EOPNOTSUPP, attr.reserved = 1);
	REFUSED(-EINVAL, attr.size = 8);
	attr = good;
	attr.value_offset = LEN - 8;
	EXPECT_OK(gda_counter_create_attr(ctx, &attr, &c));
	EXPECT_OK(gda_counter_destroy(c));
	s_memory_free(&read);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Counters in memory of the caller: what is stored there, when, and what is never believed;
 * creation of counters (control/counters.h); and counters of some operations only. The attack row
 * is Q6.
 */
#include "counters.h"
#include "pair.h"
#include "qp_refs.h"

#define SIZE	0x4000U
#define WORD	0x40U		/* of successes, in the memory of each domain */
#define ERRORS	0x1040U		/* of errors, on another page */
#define START	0x7ffffffdULL

FIXTURE(counter) {
	TH_PAIR;
	struct th_mr *err;		/* a second MR of the domain of @a */
	struct gda_counter_create cmd;
	struct gda_engine_counter sent, recv;
};

static struct th_dev *device;

const struct gda_mem *gda_host_find_mem(void *ctx, u32 key)
{
	(void)ctx;
	return key >> 8 < TH_KEYS && device->keys[key >> 8] ? &device->keys[key >> 8]->mem : NULL;
}

/* The parts of a queue by small handles: see found(). */
static struct gda_control_part parts[2];

void gda_host_find_cq(void *ctx, u32 handle, struct gda_control_part *part)
{
	(void)ctx;
	if (handle)
		*part = parts[0];
}

void gda_host_find_counter(void *ctx, u32 handle, struct gda_control_part *part)
{
	(void)ctx;
	if (handle)
		*part = parts[1];
}

static struct gda_counter_memory place(const struct th_mr *mr, u64 off)
{
	return (struct gda_counter_memory){ .addr = mr->mem.iova + off, .key = mr->mem.key };
}

FIXTURE_SETUP(counter)
{
	TH_PAIR_OPEN(self, SIZE);
	device = &self->dev;
	self->err = th_mr_new(&self->dev, &dom_a, 0x20000, SIZE, GDA_ACCESS_LOCAL_WRITE, 12, 0);
	self->cmd = (struct gda_counter_create){
		.flags = GDA_COUNTER_VALUE_MEMORY | GDA_COUNTER_ERRORS_MEMORY,
		.value_memory = place(self->l, WORD),
		.errors_memory = place(self->err, ERRORS),
	};
}

FIXTURE_TEARDOWN(counter)
{
	th_mr_free(&self->dev, self->err);
	TH_PAIR_CLOSE(self);
}

static int create(struct gda_engine_counter *c, struct gda_counter_mem *mem,
		  const struct gda_counter_create *cmd, void *dom)
{
	int err = gda_control_check_counter(cmd, ~0ULL);

	return err ? err : gda_control_init_counter(c, mem, cmd, dom);
}

/* @qp has its counters anew, as gda_control_attach_parts() attaches them. */
static void attach(struct th_qp *qp, struct gda_engine_counter *sent,
		   struct gda_engine_counter *recv)
{
	u32 users = 0;
	const struct gda_control_parts p = {
		.cq = { .cq = &qp->cq, .users = &users },
		.sent = { .counter = sent, .users = &users },
		.recv = { .counter = recv, .users = &users },
	};

	gda_control_attach_parts(&qp->q, &p);
	gda_engine_init(&qp->q);
}

static u64 word_at(const struct th_mr *mr, u64 off)
{
	u64 word;

	th_mr_get(mr, off, &word, sizeof(word));
	return word;
}

static void set_word(struct th_mr *mr, u64 off, u64 word)
{
	th_mr_put(mr, off, &word, sizeof(word));
}

#define put(s)		th_rdma((s)->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, (s)->l, 256, \
				(s)->r, 256, 8)
#define put_bad(s)	th_rdma((s)->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, (s)->l, 256, \
				(s)->r, SIZE - 7, 8)
#define get(s)		th_rdma((s)->a, GDA_MLX5_READ, GDA_MLX5_CE_ALWAYS, (s)->l, 256, \
				(s)->r, 256, 8)

static void run(struct th_qp *qp)
{
	th_ring(qp);
	th_run(qp);
}

/* Both counts have their words, in two MRs, and the cell has both, too. */
TEST_F(counter, Q6_values_and_errors_in_two_places)
{
	u32 i;

	ASSERT_EQ(0, create(&self->sent, &self->a->sent, &self->cmd, &dom_a));
	attach(self->a, &self->sent, NULL);
	for (i = 1; i <= 5; i++) {
		put(self);
		run(self->a);
		EXPECT_EQ(i, word_at(self->l, WORD));
		EXPECT_EQ(0, word_at(self->err, ERRORS));
	}
	put_bad(self);
	put(self);
	put(self);
	run(self->a);
	EXPECT_EQ(5, word_at(self->l, WORD));
	EXPECT_EQ(3, word_at(self->err, ERRORS));
	EXPECT_EQ(5, self->a->sent.value);
	EXPECT_EQ(3, self->a->sent.errors);
}

/* The word of one count, and none of the other. */
TEST_F(counter, Q6_one_place)
{
	self->cmd.flags = GDA_COUNTER_ERRORS_MEMORY;
	memset(&self->cmd.value_memory, 0, sizeof(self->cmd.value_memory));
	set_word(self->l, WORD, 77);
	ASSERT_EQ(0, create(&self->sent, &self->a->sent, &self->cmd, &dom_a));
	attach(self->a, &self->sent, NULL);
	put(self);
	put_bad(self);
	run(self->a);
	EXPECT_EQ(77, word_at(self->l, WORD));
	EXPECT_EQ(1, word_at(self->err, ERRORS));
}

/* At 2^31 the word begins at 0 again, and the counter goes on. */
TEST_F(counter, Q6_wraps_at_2_31)
{
	static const u64 words[] = { START + 1, START + 2, 0, 1, 2 };
	u32 i;

	self->cmd.flags |= GDA_COUNTER_WRAP31;
	self->cmd.first_value = START;
	self->cmd.first_errors = GDA_COUNTER_WRAP - 1;
	ASSERT_EQ(0, create(&self->sent, &self->a->sent, &self->cmd, &dom_a));
	attach(self->a, &self->sent, NULL);
	EXPECT_EQ(START, word_at(self->l, WORD));
	EXPECT_EQ(GDA_COUNTER_WRAP - 1, word_at(self->err, ERRORS));
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		put(self);
		run(self->a);
		EXPECT_EQ(words[i], word_at(self->l, WORD));
		EXPECT_EQ(START + 1 + i, self->a->sent.value);
	}
	put_bad(self);
	run(self->a);
	EXPECT_EQ(0, word_at(self->err, ERRORS));
	EXPECT_EQ(GDA_COUNTER_WRAP, self->a->sent.errors);
}

/* Without the flag it does not wrap. */
TEST_F(counter, Q6_has_64_bits_if_not_asked)
{
	self->cmd.first_value = GDA_COUNTER_WRAP - 1;
	ASSERT_EQ(0, create(&self->sent, &self->a->sent, &self->cmd, &dom_a));
	attach(self->a, &self->sent, NULL);
	put(self);
	run(self->a);
	EXPECT_EQ(GDA_COUNTER_WRAP, word_at(self->l, WORD));
}

/* What its owner writes there is never read: the next store has the count. */
TEST_F(counter, Q6_rewritten_by_its_owner)
{
	struct th_rand r = { 6 };
	u32 i;

	ASSERT_EQ(0, create(&self->sent, &self->a->sent, &self->cmd, &dom_a));
	attach(self->a, &self->sent, NULL);
	for (i = 1; i <= 1000; i++) {
		set_word(self->l, WORD, th_rand(&r));
		put(self);
		run(self->a);
		EXPECT_EQ(i, word_at(self->l, WORD));
		EXPECT_EQ(i, self->a->sent.value);
	}
	set_word(self->l, WORD, 7);
	/* nothing has changed, so nothing is stored */
	EXPECT_EQ(0, gda_engine_visit(&self->a->q, 1, 1));
	EXPECT_EQ(7, word_at(self->l, WORD));
}

static void expect_failed(struct __test_metadata *_metadata, struct th_qp *qp)
{
	EXPECT_EQ(GDA_QP_ERROR, qp->q.state);
	EXPECT_EQ(GDA_CLASS_QUEUE, qp->q.first.class);
	EXPECT_EQ(GDA_CAUSE_QUEUE, qp->q.first.cause);
}

/* Revoked memory is not touched, the queue fails, and the cell has lost nothing. */
TEST_F(counter, Q6_revoked_while_counting)
{
	ASSERT_EQ(0, create(&self->sent, &self->a->sent, &self->cmd, &dom_a));
	attach(self->a, &self->sent, NULL);
	put(self);
	run(self->a);
	self->l->mem.state = GDA_MR_REVOKED;
	th_nop(self->a, GDA_MLX5_CE_ALWAYS);
	th_nop(self->a, GDA_MLX5_CE_ALWAYS);
	run(self->a);
	expect_failed(_metadata, self->a);
	EXPECT_EQ(1, word_at(self->l, WORD));
	EXPECT_EQ(3, self->a->sent.value);
	/* the other word goes on; a failure between two requests is none of them */
	th_nop(self->a, GDA_MLX5_CE_ALWAYS);
	th_nop(self->a, GDA_MLX5_CE_ALWAYS);
	run(self->a);
	EXPECT_EQ(self->a->sent.errors, word_at(self->err, ERRORS));
	EXPECT_LE(2, self->a->sent.errors);
	/* for good, though the memory is there again */
	self->l->mem.state = GDA_MR_LIVE;
	EXPECT_EQ(0, gda_engine_visit(&self->a->q, 1, 1));
	EXPECT_EQ(1, word_at(self->l, WORD));
}

/* An MR that is gone, and another with its index but another key. */
TEST_F(counter, Q6_destroyed_while_counting)
{
	struct th_mr *gone = th_mr_new(&self->dev, &dom_a, 0x40000, SIZE, GDA_ACCESS_ALL, 12, 0);
	struct th_mr *next;

	self->cmd.value_memory = place(gone, WORD);
	ASSERT_EQ(0, create(&self->sent, &self->a->sent, &self->cmd, &dom_a));
	attach(self->a, &self->sent, NULL);
	th_nop(self->a, GDA_MLX5_CE_ALWAYS);
	run(self->a);
	EXPECT_EQ(1, word_at(gone, WORD));
	th_mr_free(&self->dev, gone);
	next = th_mr_new(&self->dev, &dom_a, 0x40000, SIZE, GDA_ACCESS_ALL, 12, 0);
	EXPECT_EQ(self->cmd.value_memory.key >> 8, next->mem.key >> 8);
	th_nop(self->a, GDA_MLX5_CE_ALWAYS);
	run(self->a);
	expect_failed(_metadata, self->a);
	EXPECT_EQ(0, word_at(next, WORD));
	th_mr_free(&self->dev, next);
}

/*
 * What arrives is counted in the cell at once, and stored by a visit of the queue where it arrived;
 * such a visit has found work.
 */
TEST_F(counter, Q6_arrivals_are_stored_by_their_queue)
{
	self->cmd.value_memory = place(self->r, WORD);
	self->cmd.flags = GDA_COUNTER_VALUE_MEMORY;
	memset(&self->cmd.errors_memory, 0, sizeof(self->cmd.errors_memory));
	ASSERT_EQ(0, create(&self->recv, &self->b->recv, &self->cmd, &dom_b));
	attach(self->b, NULL, &self->recv);
	EXPECT_FALSE(gda_engine_pending(&self->b->q));
	put(self);
	get(self);
	put(self);
	run(self->a);
	EXPECT_EQ(2, self->b->recv.value);
	EXPECT_EQ(0, word_at(self->r, WORD));
	EXPECT_TRUE(gda_engine_pending(&self->b->q));
	EXPECT_EQ(1, gda_engine_visit(&self->b->q, 1, 1));
	EXPECT_EQ(2, word_at(self->r, WORD));
	EXPECT_FALSE(gda_engine_pending(&self->b->q));
	EXPECT_EQ(0, gda_engine_visit(&self->b->q, 1, 1));
	/* another domain's key: the queue where it arrives fails, and not the one that posts */
	self->recv.pd = &dom_a;
	put(self);
	run(self->a);
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	th_run(self->b);
	expect_failed(_metadata, self->b);
	EXPECT_EQ(3, self->b->recv.value);
	EXPECT_EQ(2, word_at(self->r, WORD));
}

/* While one thread stores, another leaves it to a later visit; nothing waits. */
TEST_F(counter, Q6_two_queues_one_counter)
{
	struct th_qp *other = th_qp_new(&self->dev, &dom_a, 64, 0);

	ASSERT_EQ(0, create(&self->sent, &self->a->sent, &self->cmd, &dom_a));
	attach(self->a, &self->sent, NULL);
	attach(other, &self->sent, NULL);
	other->q.state = GDA_QP_READY;
	other->q.peer = &self->b->q;
	self->sent.storing = 1;
	th_nop(other, GDA_MLX5_CE_ALWAYS);
	th_ring(other);
	EXPECT_EQ(1, gda_engine_visit(&other->q, 8, 1));
	EXPECT_EQ(0, word_at(self->l, WORD));
	EXPECT_EQ(1, gda_engine_visit(&other->q, 8, 1));
	self->sent.storing = 0;
	EXPECT_EQ(1, gda_engine_visit(&other->q, 8, 1));
	EXPECT_EQ(1, word_at(self->l, WORD));
	put(self);
	run(self->a);
	EXPECT_EQ(2, word_at(self->l, WORD));
	/* both fail when its memory is revoked */
	self->l->mem.state = GDA_MR_REVOKED;
	th_nop(self->a, GDA_MLX5_CE_ALWAYS);
	run(self->a);
	th_run(other);
	expect_failed(_metadata, self->a);
	expect_failed(_metadata, other);
	th_qp_free(other);
}

/* A store that faults gives the counter free, and fails the queue. */
TEST_F(counter, Q6_a_fault_while_storing)
{
	ASSERT_EQ(0, create(&self->sent, &self->a->sent, &self->cmd, &dom_a));
	attach(self->a, &self->sent, NULL);
	EXPECT_FALSE(gda_counter_fault(&self->a->q));
	self->sent.storing = 1;
	self->a->q.storing = &self->sent;
	EXPECT_TRUE(gda_counter_fault(&self->a->q));
	EXPECT_EQ(0, self->sent.storing);
	th_run(self->a);
	expect_failed(_metadata, self->a);
}

/* Without words and without a choice, a queue is visited as before. */
TEST_F(counter, Q6_a_plain_counter_costs_nothing)
{
	struct gda_counter_create plain = { 0 };

	ASSERT_EQ(0, create(&self->sent, &self->a->sent, &plain, &dom_a));
	attach(self->a, &self->sent, &self->sent);
	EXPECT_EQ(&self->a->sent, self->a->q.sent);
	EXPECT_EQ(&self->a->sent, self->a->q.recv);
	EXPECT_EQ(NULL, self->a->q.sent_counter);
	EXPECT_EQ(NULL, self->a->q.recv_counter);
	EXPECT_FALSE(gda_counter_is_stored(&self->a->q));
	EXPECT_EQ(0, self->a->q.record);
}

/* Only successes of the chosen operations count; errors always do. */
TEST_F(counter, E_04_only_chosen_operations_count)
{
	static const struct { u32 ops, value; } rows[] = {
		{ GDA_COUNT_WRITE, 2 }, { GDA_COUNT_READ, 1 },
		{ GDA_COUNT_READ | GDA_COUNT_WRITE, 3 }, { 0, 4 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		self->cmd.ops = rows[i].ops;
		memset(&self->a->sent, 0, sizeof(self->a->sent));
		ASSERT_EQ(0, create(&self->sent, &self->a->sent, &self->cmd, &dom_a));
		th_qp_free(self->a);
		self->a = th_qp_new(&self->dev, &dom_a, 64, 0);
		ASSERT_EQ(0, create(&self->sent, &self->a->sent, &self->cmd, &dom_a));
		attach(self->a, &self->sent, NULL);
		th_qp_pair(self->a, self->b);
		put(self);
		put(self);
		get(self);
		th_nop(self->a, GDA_MLX5_CE_ALWAYS);
		put_bad(self);
		get(self);
		run(self->a);
		EXPECT_EQ(rows[i].value, self->a->sent.value);
		EXPECT_EQ(rows[i].value, word_at(self->l, WORD));
		EXPECT_EQ(2, self->a->sent.errors);
		EXPECT_EQ(2, word_at(self->err, ERRORS));
		/* work is not recorded because of that: only errors are */
		EXPECT_EQ(2, self->a->nrecords);
	}
}

/* A counter that would count nothing where it is attached is refused, in the name of E-18. */
TEST_F(counter, E_18_a_counter_that_would_count_nothing)
{
	static const struct { u32 ops; int sent, recv; } rows[] = {
		{ 0, 0, 0 }, { GDA_COUNT_WRITE, 0, -EINVAL }, { GDA_COUNT_READ, 0, -EINVAL },
		{ GDA_COUNT_REMOTE_WRITE, -EINVAL, 0 },
		{ GDA_COUNT_REMOTE_WRITE | GDA_COUNT_READ, 0, 0 },
	};
	struct gda_control_parts p;
	u32 i, users[2] = { 0, 0 };

	parts[0] = (struct gda_control_part){ .cq = &self->a->cq, .users = &users[0] };
	parts[1] = (struct gda_control_part){ .counter = &self->sent, .users = &users[1] };
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gda_qp_create sent = { .cq = 1, .sent_counter = 1 };
		struct gda_qp_create recv = { .cq = 1, .recv_counter = 1 };

		self->cmd.ops = rows[i].ops;
		ASSERT_EQ(0, create(&self->sent, &self->a->sent, &self->cmd, &dom_a));
		EXPECT_EQ(rows[i].sent, gda_control_find_parts(&p, &sent, &gda_dialect_mlx5, NULL));
		EXPECT_EQ(rows[i].recv, gda_control_find_parts(&p, &recv, &gda_dialect_mlx5, NULL));
	}
}

/* Not own memory, wrong rights, beyond the range, misaligned, without the CPU, overlapping. */
TEST_F(counter, Q6_bad_places_are_refused)
{
	struct th_mr *odd = th_mr_new(&self->dev, &dom_a, 0x50000, SIZE, GDA_ACCESS_ALL, 12, 4);
	struct th_mr *read = th_mr_new(&self->dev, &dom_a, 0x60000, SIZE, 0, 12, 0);
	struct th_mr *far = th_mr_new(&self->dev, &dom_a, 0x70000, SIZE, GDA_ACCESS_ALL, 12, 0);
	struct th_mr *was = th_mr_new(&self->dev, &dom_a, 0x80000, SIZE, GDA_ACCESS_ALL, 12, 0);
	const struct { struct th_mr *mr; u64 off; int err; } rows[] = {
		{ self->l, SIZE - 8, 0 }, { self->l, SIZE - 7, -EINVAL },
		{ self->l, SIZE, -EINVAL },
		{ self->l, -8ULL, -EINVAL }, { self->l, 1ULL << 63, -EINVAL },
		{ self->l, 4, -EINVAL }, { self->l, 1, -EINVAL }, { self->l, 4092, -EINVAL },
		{ self->r, WORD, -ENOENT }, { odd, 0, -EINVAL }, { odd, 4, 0 },
		{ read, WORD, -EACCES }, { far, WORD, -EOPNOTSUPP }, { was, WORD, -ENOENT },
		{ self->err, ERRORS, -EINVAL }, { self->err, ERRORS + 7, -EINVAL },
		{ self->err, ERRORS - 7, -EINVAL }, { self->err, ERRORS + 8, 0 },
	};
	u64 before = 0x1122334455667788ULL;
	u32 i;

	far->mem.state |= GDA_MEM_NO_CPU;
	was->mem.state = GDA_MR_REVOKED;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		set_word(self->err, ERRORS, before);
		self->cmd.value_memory = place(rows[i].mr, rows[i].off);
		EXPECT_EQ(rows[i].err, create(&self->sent, &self->a->sent, &self->cmd, &dom_a))
			TH_LOG("row %u", i);
		/* a call that fails writes nothing, and to the other word neither */
		EXPECT_EQ(rows[i].err ? before : 0, word_at(self->err, ERRORS));
	}
	self->cmd.value_memory = place(self->l, WORD);
	self->cmd.value_memory.key ^= 1;
	EXPECT_EQ(-ENOENT, create(&self->sent, &self->a->sent, &self->cmd, &dom_a));
	self->cmd.value_memory.key = ~0U;
	EXPECT_EQ(-ENOENT, create(&self->sent, &self->a->sent, &self->cmd, &dom_a));
	th_mr_free(&self->dev, odd);
	th_mr_free(&self->dev, read);
	th_mr_free(&self->dev, far);
	th_mr_free(&self->dev, was);
}

/* Parameters that say nothing, or what the device lacks. */
TEST_F(counter, Q6_bad_parameters_are_refused)
{
	const u64 had = GDA_FEATURE_COUNTER, has = had | GDA_FEATURE_COUNTER_MEMORY;
	struct gda_counter_create cmd = { 0 };

	EXPECT_EQ(0, gda_control_check_counter(&cmd, had));
	EXPECT_EQ(-EOPNOTSUPP, gda_control_check_counter(&cmd, 0));
	EXPECT_EQ(0, gda_control_check_counter(&self->cmd, has));
	EXPECT_EQ(-EOPNOTSUPP, gda_control_check_counter(&self->cmd, had));
	cmd.first_value = 1;
	EXPECT_EQ(0, gda_control_check_counter(&cmd, has));
	EXPECT_EQ(-EOPNOTSUPP, gda_control_check_counter(&cmd, had));
	cmd.first_value = 0;
	cmd.first_errors = 1;
	EXPECT_EQ(-EOPNOTSUPP, gda_control_check_counter(&cmd, had));
	cmd.first_errors = 0;
	cmd.ops = GDA_COUNT_READ;
	EXPECT_EQ(-EOPNOTSUPP, gda_control_check_counter(&cmd, had));
	for (cmd.ops = 1; cmd.ops; cmd.ops <<= 1) {
		bool known = cmd.ops & (GDA_COUNT_READ | GDA_COUNT_WRITE | GDA_COUNT_REMOTE_WRITE);

		EXPECT_EQ(known ? 0 : -EOPNOTSUPP, gda_control_check_counter(&cmd, has));
	}
	cmd.flags = GDA_COUNTER_WRAP31;
	EXPECT_EQ(-EINVAL, gda_control_check_counter(&cmd, has));
	cmd = self->cmd;
	cmd.flags = GDA_COUNTER_VALUE_MEMORY;
	EXPECT_EQ(-EINVAL, gda_control_check_counter(&cmd, has));
	cmd.flags = GDA_COUNTER_ERRORS_MEMORY;
	EXPECT_EQ(-EINVAL, gda_control_check_counter(&cmd, has));
}

TEST_HARNESS_MAIN

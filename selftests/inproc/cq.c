// SPDX-License-Identifier: MIT
/*
 * Objects that the fast path does not use: ring CQs, counters and events, through the
 * library's calls for both devices. Work is posted by hand, with the encoders of gda/mlx5.h.
 */
#include <endian.h>
#include <poll.h>
#include <sys/eventfd.h>
#include "hand.h"

struct hand_counter {
	struct gda_counter_create create;
	struct gda_region *region;
	const struct gda_counter_mem *counter;
};

static int hand_counter_open(struct gda_context *ctx, struct hand_counter *c)
{
	void *part = NULL;
	int err;

	memset(c, 0, sizeof(*c));
	c->create.size = sizeof(c->create);
	err = gda_ioctl(ctx, GDA_IOC_COUNTER_CREATE, &c->create);
	if (!err)
		err = gda_region_get(ctx, &c->create.counter, &c->region, &part);
	c->counter = part;
	return err;
}

static int hand_counter_close(struct gda_context *ctx, struct hand_counter *c)
{
	int err = gda_destroy_handle(ctx, c->create.handle);

	gda_region_put(ctx, c->region);
	return err;
}

/* Eight bytes to @raddr. */
static void hand_put(struct hand *h, const struct s_memory *to, uint8_t fm_ce_se)
{
	uint8_t *slot = h->sq + (h->next & (DEPTH - 1)) * 64;
	const uint32_t count = gda_be32(8 | GDA_MLX5_INLINE);

	memset(slot, 0, 64);
	gda_mlx5_set_ctrl((void *)slot, h->next++, GDA_MLX5_WRITE, h->qp.qpn, 3, fm_ce_se, 0);
	gda_mlx5_set_raddr((void *)(slot + 16), to->iova, to->key);
	memcpy(slot + 32, &count, 4);
	hand_ring(h);
}

static uint64_t hand_count(const uint64_t *word, uint64_t until)
{
	uint64_t end = gda_clock_ns() + S_TIMEOUT_NS / 6;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < until && gda_clock_ns() < end)
		gda_pause();
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

FIXTURE(cq) {
	struct gda_context *ctx;
	struct s_memory mem;
};

FIXTURE_SETUP(cq)
{
	ASSERT_OK(gda_open(NULL, &self->ctx));
	ASSERT_OK(s_memory_new(self->ctx, 4096, GDA_ACCESS_ALL, &self->mem));
}

FIXTURE_TEARDOWN(cq)
{
	s_memory_free(&self->mem);
	gda_close(self->ctx);
}

/* Every signaled entry is told, in order, over many laps of the ring. */
TEST_F(cq, ring)
{
	struct hand_cq c;
	struct hand h;
	uint64_t told = 0;
	uint32_t i;

	ASSERT_OK(hand_cq_open(self->ctx, 8, 0, &c));
	ASSERT_OK(hand_open(self->ctx, &(struct gda_qp_create){ .cq = c.cq.handle }, &h));
	S_NEEDS(self->ctx, GDA_FEATURE_LOOPBACK);
	ASSERT_OK(hand_connect(&h, &h));
	for (i = 0; i < 200; i++) {
		const struct gda_mlx5_cqe *e;

		hand_post(&h, GDA_MLX5_NOP, i % 3 ? GDA_MLX5_CE_ALWAYS : GDA_MLX5_CE_ERROR);
		if (i % 3 == 0)
			continue;
		e = hand_next(&c);
		ASSERT_NE(NULL, e);
		EXPECT_EQ(GDA_MLX5_CQE_REQ, e->op_own >> 4);
		EXPECT_EQ((uint16_t)i, be16toh(e->wqe_counter));
		EXPECT_EQ(h.qp.qpn, gda_be32_to_cpu(e->sop_qpn) & 0xffffff);
		hand_consume(&c);
		told++;
	}
	EXPECT_EQ(told, c.seen);
	EXPECT_EQ(-EBUSY, gda_destroy_handle(self->ctx, c.cq.handle));
	EXPECT_OK(hand_close(&h));
	EXPECT_OK(hand_cq_close(self->ctx, &c));
}

/* Two queues into one ring: each in its own order. */
TEST_F(cq, ring_shared)
{
	uint64_t next[2] = { 0 };
	struct hand_cq c;
	struct hand h[2];
	uint32_t i;

	ASSERT_OK(hand_cq_open(self->ctx, 2 * DEPTH, 0, &c));
	for (i = 0; i < 2; i++)
		ASSERT_OK(hand_open(self->ctx, &(struct gda_qp_create){ .cq = c.cq.handle },
				    &h[i]));
	ASSERT_OK(hand_connect(&h[0], &h[1]));
	ASSERT_OK(hand_connect(&h[1], &h[0]));
	for (i = 0; i < 2 * DEPTH; i++)
		hand_post(&h[i & 1], GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
	for (i = 0; i < 2 * DEPTH; i++) {
		const struct gda_mlx5_cqe *e = hand_next(&c);
		uint32_t k;

		ASSERT_NE(NULL, e);
		k = (gda_be32_to_cpu(e->sop_qpn) & 0xffffff) == h[1].qp.qpn;
		EXPECT_EQ(next[k]++, be16toh(e->wqe_counter));
	}
	for (i = 0; i < 2; i++)
		EXPECT_OK(hand_close(&h[i]));
	EXPECT_OK(hand_cq_close(self->ctx, &c));
}

/* Work, what failed and what was flushed name their queue by its user index, too. */
TEST_F(cq, user_index_of_work)
{
	static const uint32_t index[2] = { 0x123456, GDA_MLX5_MAX_USER_INDEX };
	struct gda_qp_create bad;
	struct hand_cq c;
	struct hand h[2];
	uint32_t i;

	ASSERT_OK(hand_cq_open(self->ctx, 2 * DEPTH, 0, &c));
	for (i = 0; i < 2; i++) {
		ASSERT_OK(hand_open(self->ctx, &(struct gda_qp_create){
			.cq = c.cq.handle, .user_index = index[i] }, &h[i]));
		S_NEEDS(self->ctx, GDA_FEATURE_LOOPBACK);
		ASSERT_OK(hand_connect(&h[i], &h[i]));
	}
	for (i = 0; i < 6; i++) {
		const struct gda_mlx5_cqe *e;

		/* no such opcode, and then flushed */
		hand_post(&h[i & 1], i / 2 ? 0x7f : GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
		e = hand_next(&c);
		ASSERT_NE(NULL, e);
		EXPECT_EQ(i / 2 ? GDA_MLX5_CQE_REQ_ERR : GDA_MLX5_CQE_REQ, e->op_own >> 4);
		EXPECT_EQ(index[i & 1], gda_be32_to_cpu(e->srqn_uidx));
	}
	bad = h[0].qp;
	bad.user_index = GDA_MLX5_MAX_USER_INDEX + 1;
	EXPECT_EQ(-EINVAL, gda_ioctl(self->ctx, GDA_IOC_QP_CREATE, &bad));
	for (i = 0; i < 2; i++)
		EXPECT_OK(hand_close(&h[i]));
	EXPECT_OK(hand_cq_close(self->ctx, &c));
}

/* An immediate has the user index of the queue that was written to. */
TEST_F(cq, user_index_of_immediates)
{
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = 8 };
	struct gda_qp_attr attr = { .size = sizeof(attr), .user_index = 7 };
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	struct gda_view *v;
	struct gda_qp *qp[2];
	struct gda_cq *cq;

	ASSERT_OK(gda_cq_create(self->ctx, &ring, &cq));
	ASSERT_OK(gda_qp_create(self->ctx, &attr, &qp[0]));
	attr.recv_cq = cq;
	attr.user_index = 9;
	ASSERT_OK(gda_qp_create(self->ctx, &attr, &qp[1]));
	ASSERT_OK(s_connect(qp[0], qp[1]));
	v = gda_qp_view(qp[0]);
	ASSERT_OK(gda_wait(v, gda_put_imm(v, self->mem.iova, self->mem.key, self->mem.iova + 64,
					  self->mem.key, 8, 0xcafe0001U, 0), 0));
	ASSERT_OK(gda_cq_wait(gda_cq_view(cq), &entry, 0));
	EXPECT_EQ(GDA_MLX5_CQE_RESP_IMM, entry.opcode);
	EXPECT_EQ(0xcafe0001U, entry.imm);
	EXPECT_EQ(9, entry.user_index);
	EXPECT_OK(gda_qp_destroy(qp[0]));
	EXPECT_OK(gda_qp_destroy(qp[1]));
	EXPECT_OK(gda_cq_destroy(cq));
	attr.user_index = GDA_MLX5_MAX_USER_INDEX + 1;
	attr.recv_cq = NULL;
	EXPECT_EQ(-EINVAL, gda_qp_create(self->ctx, &attr, &qp[0]));
}

/* The ring is not read: the queue fails, and no entry in the ring is overwritten. */
TEST_F(cq, ring_overflow)
{
	struct gda_qp_query q = { .size = sizeof(q) };
	uint64_t end = gda_clock_ns() + S_TIMEOUT_NS / 6;
	struct hand_cq c;
	struct hand h;
	uint32_t i;

	ASSERT_OK(hand_cq_open(self->ctx, 4, 0, &c));
	ASSERT_OK(hand_open(self->ctx, &(struct gda_qp_create){ .cq = c.cq.handle }, &h));
	S_NEEDS(self->ctx, GDA_FEATURE_LOOPBACK);
	ASSERT_OK(hand_connect(&h, &h));
	for (i = 0; i < 6; i++)
		hand_post(&h, GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
	q.handle = h.qp.handle;
	do {
		ASSERT_OK(gda_ioctl(self->ctx, GDA_IOC_QP_QUERY, &q));
	} while (q.state != GDA_QP_ERROR && gda_clock_ns() < end);
	EXPECT_EQ((uint32_t)GDA_QP_ERROR, q.state);
	EXPECT_EQ((uint32_t)GDA_MLX5_VENDOR_CQ, q.vendor);
	for (i = 0; i < 4; i++) {
		const struct gda_mlx5_cqe *e = hand_next(&c);

		ASSERT_NE(NULL, e);
		EXPECT_EQ(i, be16toh(e->wqe_counter));
	}
	EXPECT_OK(hand_close(&h));
	EXPECT_OK(hand_cq_close(self->ctx, &c));
}

/*
 * Created as DOCA's and NCCL's host code creates rings: the consumer index is never written,
 * and 10 laps later the ring works. Entries not read in time are overwritten, the rest is in order.
 */
TEST_F(cq, overrun_is_ignored)
{
	struct gda_qp_query q = { .size = sizeof(q) };
	uint64_t end = gda_clock_ns() + S_TIMEOUT_NS / 6;
	struct hand_cq c;
	struct hand h;
	uint32_t i;

	ASSERT_OK(hand_cq_open(self->ctx, 4, GDA_CQ_IGNORE_OVERRUN, &c));
	EXPECT_NE(0, c.cq.dbrec.length);
	ASSERT_OK(hand_open(self->ctx, &(struct gda_qp_create){
		.cq = c.cq.handle, .recv_cq = c.cq.handle }, &h));
	S_NEEDS(self->ctx, GDA_FEATURE_LOOPBACK);
	ASSERT_OK(hand_connect(&h, &h));
	for (i = 0; i < 40; i++) {
		const struct gda_mlx5_cqe *e;

		hand_post(&h, GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
		e = hand_next(&c);
		ASSERT_NE(NULL, e);
		EXPECT_EQ(GDA_MLX5_CQE_REQ, e->op_own >> 4);
		EXPECT_EQ(i, be16toh(e->wqe_counter));
	}
	/* a lap and more goes unread, then the last entries of it are there */
	for (i = 40; i < 50; i++)
		hand_post(&h, GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
	q.handle = h.qp.handle;
	do {
		ASSERT_OK(gda_ioctl(self->ctx, GDA_IOC_QP_QUERY, &q));
	} while (q.executed < 50 && gda_clock_ns() < end);
	ASSERT_EQ(50, q.executed);
	for (i = 46; i < 50; i++) {
		c.seen = i;
		EXPECT_EQ(i, be16toh(hand_next(&c)->wqe_counter));
	}
	/* immediates, too; whatever the record says */
	for (i = 50; i < 70; i++) {
		const struct gda_mlx5_cqe *e;
		uint32_t k;

		__atomic_store_n(c.consumer, gda_be32(i * 0x10101), __ATOMIC_RELEASE);
		hand_imm(&h, i);
		for (k = 0; k < 2; k++) {
			e = hand_next(&c);
			ASSERT_NE(NULL, e);
			EXPECT_EQ(k ? GDA_MLX5_CQE_REQ : GDA_MLX5_CQE_RESP_IMM, e->op_own >> 4);
		}
	}
	ASSERT_OK(gda_ioctl(self->ctx, GDA_IOC_QP_QUERY, &q));
	EXPECT_EQ((uint32_t)GDA_QP_READY, q.state);
	EXPECT_OK(hand_close(&h));
	EXPECT_OK(hand_cq_close(self->ctx, &c));
	/* of a collapsed one it changes nothing */
	ASSERT_OK(hand_cq_open(self->ctx, 1, GDA_CQ_COLLAPSED | GDA_CQ_IGNORE_OVERRUN, &c));
	EXPECT_OK(hand_cq_close(self->ctx, &c));
}

TEST_F(cq, counters)
{
	struct hand_counter sent, recv;
	struct hand_cq c[2];
	struct hand h[2];
	struct gda_qp_create how[2] = { 0 };
	int i;

	S_NEEDS(self->ctx, GDA_FEATURE_RECV_COUNTER);
	ASSERT_OK(hand_counter_open(self->ctx, &sent));
	ASSERT_OK(hand_counter_open(self->ctx, &recv));
	for (i = 0; i < 2; i++) {
		ASSERT_OK(hand_cq_open(self->ctx, 1, GDA_CQ_COLLAPSED, &c[i]));
		how[i].cq = c[i].cq.handle;
	}
	how[0].sent_counter = sent.create.handle;
	how[1].recv_counter = recv.create.handle;
	for (i = 0; i < 2; i++)
		ASSERT_OK(hand_open(self->ctx, &how[i], &h[i]));
	ASSERT_OK(hand_connect(&h[0], &h[1]));
	ASSERT_OK(hand_connect(&h[1], &h[0]));
	EXPECT_EQ(-EBUSY, gda_destroy_handle(self->ctx, sent.create.handle));
	for (i = 0; i < 40; i++) {
		hand_put(&h[0], &self->mem, GDA_MLX5_CE_ERROR);
		hand_post(&h[0], GDA_MLX5_NOP, GDA_MLX5_CE_ERROR);
		EXPECT_EQ(2 * i + 2, hand_count((const void *)&sent.counter->value, 2 * i + 2));
		EXPECT_EQ(i + 1, hand_count((const void *)&recv.counter->value, i + 1));
	}
	EXPECT_EQ(0, sent.counter->errors);
	hand_post(&h[0], 0x7f, GDA_MLX5_CE_ERROR);		/* no such opcode */
	hand_post(&h[0], GDA_MLX5_NOP, GDA_MLX5_CE_ERROR);	/* flushed */
	EXPECT_EQ(2, hand_count((const void *)&sent.counter->errors, 2));
	EXPECT_EQ(80, sent.counter->value);
	for (i = 0; i < 2; i++) {
		EXPECT_OK(hand_close(&h[i]));
		EXPECT_OK(hand_cq_close(self->ctx, &c[i]));
	}
	EXPECT_OK(hand_counter_close(self->ctx, &sent));
	EXPECT_OK(hand_counter_close(self->ctx, &recv));
}

static int arm(struct gda_context *ctx, const struct hand_cq *c, uint32_t flags, int fd)
{
	struct gda_cq_event arg = {
		.size = sizeof(arg), .flags = flags, .handle = c->cq.handle, .eventfd = fd,
	};

	return gda_ioctl(ctx, GDA_IOC_CQ_EVENT, &arg);
}

/* How often the eventfd was signaled since it was read last, waiting @ms for the first. */
static uint64_t events(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t n = 0;

	if (poll(&p, 1, ms) == 1 && read(fd, &n, sizeof(n)) != sizeof(n))
		return ~0ULL;
	return n;
}

/*
 * The peer of an idle queue goes: the event and the state tell at once, the ring not before
 * there is a work request to name.
 */
TEST_F(cq, idle_failure_has_no_entry)
{
	struct gda_qp_query q = { .size = sizeof(q) };
	int fd = eventfd(0, EFD_CLOEXEC);
	struct hand_cq c, other;
	struct hand h[2];
	uint32_t i;

	ASSERT_LE(0, fd);
	ASSERT_OK(hand_cq_open(self->ctx, 8, 0, &c));
	ASSERT_OK(hand_cq_open(self->ctx, 8, 0, &other));
	ASSERT_OK(hand_open(self->ctx, &(struct gda_qp_create){ .cq = c.cq.handle }, &h[0]));
	ASSERT_OK(hand_open(self->ctx, &(struct gda_qp_create){ .cq = other.cq.handle }, &h[1]));
	ASSERT_OK(hand_connect(&h[0], &h[1]));
	ASSERT_OK(hand_connect(&h[1], &h[0]));
	hand_post(&h[0], GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
	ASSERT_NE(NULL, hand_next(&c));
	ASSERT_OK(arm(self->ctx, &c, GDA_CQ_ARM_SOLICITED, fd));
	EXPECT_OK(hand_close(&h[1]));
	EXPECT_EQ(1, events(fd, 10000));
	q.handle = h[0].qp.handle;
	ASSERT_OK(gda_ioctl(self->ctx, GDA_IOC_QP_QUERY, &q));
	EXPECT_EQ((uint32_t)GDA_QP_ERROR, q.state);
	EXPECT_EQ((uint32_t)GDA_MLX5_SYND_RETRY_EXC, q.syndrome);
	EXPECT_EQ(1, q.error_index);
	EXPECT_EQ(GDA_MLX5_CQE_INVALID << 4 | 1, c.entries[c.seen * 64 + 63]);
	for (i = 1; i < 4; i++)
		hand_post(&h[0], GDA_MLX5_NOP, GDA_MLX5_CE_ERROR);
	for (i = 1; i < 4; i++) {
		const struct gda_mlx5_err_cqe *e = (const void *)hand_next(&c);

		ASSERT_NE(NULL, e);
		EXPECT_EQ(i, be16toh(e->wqe_counter));
		EXPECT_EQ(i == 1 ? GDA_MLX5_SYND_RETRY_EXC : GDA_MLX5_SYND_WR_FLUSH, e->syndrome);
	}
	EXPECT_EQ(GDA_MLX5_CQE_INVALID << 4 | 1, c.entries[c.seen * 64 + 63]);
	EXPECT_OK(hand_close(&h[0]));
	EXPECT_OK(hand_cq_close(self->ctx, &c));
	EXPECT_OK(hand_cq_close(self->ctx, &other));
	close(fd);
}

FIXTURE(event) {
	struct gda_context *ctx;
	struct hand_cq c;
	struct hand h;
	int fd;
};

FIXTURE_VARIANT(event) {
	uint32_t depth;
	uint32_t flags;
};

FIXTURE_VARIANT_ADD(event, collapsed) { .depth = 1, .flags = GDA_CQ_COLLAPSED };
FIXTURE_VARIANT_ADD(event, ring) { .depth = 1024, .flags = 0 };

FIXTURE_SETUP(event)
{
	ASSERT_OK(gda_open(NULL, &self->ctx));
	ASSERT_OK(hand_cq_open(self->ctx, variant->depth, variant->flags, &self->c));
	ASSERT_OK(hand_open(self->ctx, &(struct gda_qp_create){ .cq = self->c.cq.handle },
			    &self->h));
	S_NEEDS(self->ctx, GDA_FEATURE_LOOPBACK);
	ASSERT_OK(hand_connect(&self->h, &self->h));
	self->fd = eventfd(0, EFD_CLOEXEC);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(event)
{
	hand_close(&self->h);
	hand_cq_close(self->ctx, &self->c);
	gda_close(self->ctx);
	close(self->fd);
}

TEST_F(event, once)
{
	ASSERT_OK(arm(self->ctx, &self->c, GDA_CQ_ARM, self->fd));
	EXPECT_EQ(0, events(self->fd, 20));
	hand_post(&self->h, GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
	EXPECT_EQ(1, events(self->fd, 10000));
	hand_post(&self->h, GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
	EXPECT_EQ(0, events(self->fd, 20));
	/* what is there already signals nothing; the descriptor is remembered */
	ASSERT_OK(arm(self->ctx, &self->c, GDA_CQ_ARM, -1));
	EXPECT_EQ(0, events(self->fd, 20));
	hand_post(&self->h, GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
	EXPECT_EQ(1, events(self->fd, 10000));
}

TEST_F(event, solicited)
{
	ASSERT_OK(arm(self->ctx, &self->c, GDA_CQ_ARM_SOLICITED, self->fd));
	hand_post(&self->h, GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
	EXPECT_EQ(0, events(self->fd, 20));
	hand_post(&self->h, GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS | GDA_MLX5_SE);
	EXPECT_EQ(1, events(self->fd, 10000));
	/* an error always is */
	ASSERT_OK(arm(self->ctx, &self->c, GDA_CQ_ARM_SOLICITED, -1));
	hand_post(&self->h, 0x7f, GDA_MLX5_CE_ERROR);
	EXPECT_EQ(1, events(self->fd, 10000));
}

TEST_F(event, disarmed_and_replaced)
{
	int other = eventfd(0, EFD_CLOEXEC);

	ASSERT_OK(arm(self->ctx, &self->c, GDA_CQ_ARM, self->fd));
	ASSERT_OK(arm(self->ctx, &self->c, 0, -1));
	hand_post(&self->h, GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
	EXPECT_EQ(0, events(self->fd, 20));
	ASSERT_OK(arm(self->ctx, &self->c, GDA_CQ_ARM, other));
	/* the CQ has its own reference */
	close(self->fd);
	hand_post(&self->h, GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
	EXPECT_EQ(1, events(other, 10000));
	self->fd = other;
}

TEST_F(event, detached)
{
	ASSERT_OK(arm(self->ctx, &self->c, GDA_CQ_DETACH, -1));
	ASSERT_OK(arm(self->ctx, &self->c, GDA_CQ_ARM, self->fd));
	ASSERT_OK(arm(self->ctx, &self->c, GDA_CQ_DETACH, -1));
	hand_post(&self->h, GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
	EXPECT_EQ(0, events(self->fd, 20));
	EXPECT_EQ(-EINVAL, arm(self->ctx, &self->c, GDA_CQ_ARM, -1));
	EXPECT_OK(arm(self->ctx, &self->c, 0, -1));
	ASSERT_OK(arm(self->ctx, &self->c, GDA_CQ_ARM, self->fd));
	hand_post(&self->h, GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
	EXPECT_EQ(1, events(self->fd, 10000));
}

TEST_F(event, refused)
{
	EXPECT_EQ(-EINVAL, arm(self->ctx, &self->c, GDA_CQ_DETACH, self->fd));
	EXPECT_EQ(-EINVAL, arm(self->ctx, &self->c, GDA_CQ_DETACH | GDA_CQ_ARM, -1));
	EXPECT_EQ(-EINVAL, arm(self->ctx, &self->c, GDA_CQ_ARM, -1));
	EXPECT_EQ(-EINVAL, arm(self->ctx, &self->c, GDA_CQ_ARM | GDA_CQ_ARM_SOLICITED, self->fd));
	EXPECT_EQ(-EOPNOTSUPP, arm(self->ctx, &self->c, 1U << 31, self->fd));
	EXPECT_EQ(-EBADF, arm(self->ctx, &self->c, GDA_CQ_ARM, 12345));
	EXPECT_EQ(-EINVAL, arm(self->ctx, &self->c, GDA_CQ_ARM, STDOUT_FILENO));
	EXPECT_EQ(-EINVAL, arm(self->ctx, &self->c, GDA_CQ_ARM, -2));
	self->c.cq.handle ^= 0x100;
	EXPECT_EQ(-ENOENT, arm(self->ctx, &self->c, GDA_CQ_ARM, self->fd));
	self->c.cq.handle ^= 0x100;
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: MIT
/*
 * Devices `verbs:`: the first RDMA device of this machine, connected to itself. Without one only
 * what is refused is tested.
 */
#include <signal.h>
#include <sys/wait.h>
#include <gda/ring.h>
#include "../inproc/suite.h"

#define LEN	65536U
#define DEPTH	64

/* The name of the first device, or an empty one. */
static const char *verbs_device(void)
{
	static struct gda_device_info found[32] = { { .size = sizeof(found[0]) } };
	int i, n = gda_devices(found, 32);

	for (i = 0; i < n && i < 32; i++)
		if (!strncmp((char *)found[i].device, GDA_DEVICE_VERBS, strlen(GDA_DEVICE_VERBS)))
			return (char *)found[i].device;
	return "";
}

#define NEED_DEVICE() do {						\
	if (!*verbs_device())						\
		SKIP(return, "no RDMA device here");			\
	setenv("GDA_DEVICE", verbs_device(), 1);			\
} while (0)

TEST(device_that_is_not_there)
{
	struct gda_context *ctx;
	int err = gda_open(GDA_DEVICE_VERBS "none0", &ctx);

	TH_LOG("%s", gda_last_error());
	if (err == -EOPNOTSUPP) {
		EXPECT_NE(NULL, strstr(gda_last_error(), "package"));
		return;
	}
	EXPECT_EQ(-ENOENT, err);
	EXPECT_NE(NULL, strstr(gda_last_error(), "none0"));
	EXPECT_NE(0, gda_open(GDA_DEVICE_VERBS, &ctx));
}

/* In a process of its own: the libraries are looked for once. */
static int library_missing(const char *variable, const char *package)
{
	pid_t child = fork();
	int status;

	if (!child) {
		struct gda_context *ctx;

		setenv(variable, "/nonexistent/lib.so", 1);
		_exit(gda_open(GDA_DEVICE_VERBS "none0", &ctx) != -EOPNOTSUPP ||
		      !strstr(gda_last_error(), package));
	}
	return child < 0 || waitpid(child, &status, 0) != child || status;
}

TEST(library_that_is_not_there)
{
	EXPECT_EQ(0, library_missing("GDA_LIBIBVERBS", "libibverbs1"));
	EXPECT_EQ(0, library_missing("GDA_LIBRDMACM", "librdmacm1"));
}

TEST(listed_and_opened)
{
	struct gda_query q = { .size = sizeof(q) };
	struct gda_context *ctx;

	NEED_DEVICE();
	ASSERT_OK(gda_open(verbs_device(), &ctx))
		TH_LOG("%s", gda_last_error());
	ASSERT_OK(gda_context_query(ctx, &q));
	EXPECT_STREQ(verbs_device(), (char *)q.device);
	EXPECT_TRUE(q.features[0] & GDA_FEATURE_IMM);
	EXPECT_FALSE(q.features[0] & (GDA_FEATURE_MASKED | GDA_FEATURE_RECV_COUNTER |
				      GDA_FEATURE_LOOPBACK | GDA_FEATURE_WORD_STORE |
				      GDA_FEATURE_RNR_RETRY));
	gda_close(ctx);
}

FIXTURE(verbs) {
	struct s_end end[2];
};

FIXTURE_SETUP(verbs)
{
	if (!*verbs_device())
		return;
	setenv("GDA_DEVICE", verbs_device(), 1);
	ASSERT_OK(s_end_open(&self->end[0], DEPTH, LEN))
		TH_LOG("%s", gda_last_error());
	ASSERT_OK(s_end_open(&self->end[1], DEPTH, LEN));
}

FIXTURE_TEARDOWN(verbs)
{
	if (self->end[0].ctx)
		s_pair_close(self->end);
}

#define NEED_ENDS() do {						\
	if (!self->end[0].ctx)						\
		SKIP(return, "no RDMA device here");			\
} while (0)

static uint32_t qp_state(struct s_end *e)
{
	struct gda_qp_query q = { .size = sizeof(q) };

	return gda_qp_query(e->qp, &q) ? ~0U : q.state;
}

/* Wait until the QP has a state other than @state, 10 s at most. Return: the state. */
static uint32_t state_after(struct s_end *e, uint32_t state)
{
	uint64_t end = gda_clock_ns() + 10000000000ULL;

	while (qp_state(e) == state && gda_clock_ns() < end)
		usleep(1000);
	return qp_state(e);
}

/* @e has failed by itself, with nothing posted. */
static int failed_with(struct s_end *e, uint32_t syndrome, uint32_t vendor)
{
	struct gda_qp_query q = { .size = sizeof(q) };

	if (state_after(e, GDA_QP_READY) != GDA_QP_ERROR || gda_qp_query(e->qp, &q))
		return -1;
	if (q.syndrome == syndrome && q.vendor == vendor)
		return 0;
	printf("# %s, %s\n", gda_syndrome_name(q.syndrome), gda_vendor_name(q.vendor));
	return 1;
}

TEST_F(verbs, what_the_bits_lack_is_refused)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = DEPTH };
	struct gda_address own;
	struct gda_qp *qp;

	NEED_ENDS();
	attr.rnr_retry = 1;
	EXPECT_EQ(-EOPNOTSUPP, gda_qp_create(self->end[0].ctx, &attr, &qp));
	attr.rnr_retry = 0;
	ASSERT_OK(gda_counter_create(self->end[0].ctx, &attr.recv_counter));
	EXPECT_EQ(-EOPNOTSUPP, gda_qp_create(self->end[0].ctx, &attr, &qp));
	EXPECT_NE(NULL, strstr(gda_last_error(), "recv_counter"));
	gda_counter_destroy(attr.recv_counter);
	ASSERT_OK(gda_qp_address(self->end[0].qp, &own));
	EXPECT_EQ(-EOPNOTSUPP, gda_qp_connect(self->end[0].qp, &own));
	EXPECT_FALSE(self->end[0].v->can & (GDA_CAN_MASKED | GDA_CAN_SIGNAL));
}

TEST_F(verbs, objects_come_and_go)
{
	struct s_memory m;
	struct gda_mr *mr;
	struct gda_qp *qp;
	uint8_t *p;
	int i;

	NEED_ENDS();
	for (i = 0; i < 20; i++) {
		ASSERT_OK(s_qp_open(self->end[0].ctx, DEPTH, 0, &qp));
		ASSERT_OK(s_memory_new(self->end[0].ctx, LEN, GDA_ACCESS_ALL, &m));
		gda_qp_destroy(qp);
		s_memory_free(&m);
	}
	p = self->end[0].mem.addr;
	EXPECT_EQ(-EINVAL, gda_mr_reg(self->end[0].ctx, p + 8, 64, 0, GDA_MR_ZERO_BASED, &mr));
	ASSERT_OK(gda_mr_reg(self->end[0].ctx, p, 64, 0, GDA_MR_ZERO_BASED, &mr));
	EXPECT_EQ(0, gda_mr_iova(mr));
	gda_mr_dereg(mr);
	ASSERT_OK(gda_mr_reg(self->end[0].ctx, p + 8, 64, 0, 0, &mr));
	EXPECT_EQ((uintptr_t)p + 8, gda_mr_iova(mr));
	gda_mr_dereg(mr);
}

TEST_F(verbs, operations)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint64_t *here, *there;
	uint32_t i;

	NEED_ENDS();
	here = (uint64_t *)a->mem.addr;
	there = (uint64_t *)b->mem.addr;
	ASSERT_OK(s_connect(a->qp, b->qp));
	for (i = 0; i < LEN; i++)
		a->mem.addr[i] = (uint8_t)(i * 7);
	ASSERT_OK(gda_wait(a->v, s_put(a, 0, b, 0, LEN, 0), 0));
	EXPECT_EQ(0, memcmp(here, there, LEN));
	memset(here, 0, LEN);
	ASSERT_OK(gda_wait(a->v, s_get(a, 3, b, 3, LEN - 3, 0), 0));
	EXPECT_EQ(0, memcmp(a->mem.addr + 3, b->mem.addr + 3, LEN - 3));

	there[0] = 40;
	ASSERT_OK(gda_wait(a->v, gda_fetch_add(a->v, a->mem.iova + 64, a->mem.key, b->mem.iova,
					       b->mem.key, 2, 0), 0));
	EXPECT_EQ(40, here[8]);
	EXPECT_EQ(42, there[0]);
	ASSERT_OK(gda_wait(a->v, gda_compare_swap(a->v, a->mem.iova + 64, a->mem.key, b->mem.iova,
						  b->mem.key, 42, 7, 0), 0));
	EXPECT_EQ(42, here[8]);
	EXPECT_EQ(7, there[0]);
	ASSERT_OK(gda_wait(a->v, gda_compare_swap(a->v, a->mem.iova + 64, a->mem.key, b->mem.iova,
						  b->mem.key, 42, 9, 0), 0));
	EXPECT_EQ(7, here[8]);
	EXPECT_EQ(7, there[0]);

	ASSERT_OK(gda_wait(a->v, gda_put_inline(a->v, b->mem.iova + 1, b->mem.key, "inline", 6, 0),
			   0));
	EXPECT_EQ(0, memcmp(b->mem.addr + 1, "inline", 6));
	/* the other way, too */
	ASSERT_OK(gda_wait(b->v, s_put(b, 0, a, 0, 4096, 0), 0));
	EXPECT_EQ(0, memcmp(here, there, 4096));
}

TEST_F(verbs, more_than_the_window)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint64_t i;

	NEED_ENDS();
	ASSERT_OK(s_connect(a->qp, b->qp));
	for (i = 0; i < 5000; i++) {
		((volatile uint64_t *)a->mem.addr)[i % 64] = i;
		ASSERT_LE(0, s_put(a, i % 64 * 8, b, i % 64 * 8, 8, 0));
		if (i % 64 == 63)
			ASSERT_OK(gda_quiet(a->v, 0));
	}
	ASSERT_OK(gda_quiet(a->v, 0));
	EXPECT_EQ(0, memcmp(a->mem.addr, b->mem.addr, 512));
}

/* The immediates that @n puts leave in a ring of @depth. Return: how many were right. */
static uint32_t immediates(struct s_end *a, struct s_end *b, struct gda_cq *ring, uint32_t n)
{
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	uint32_t i, seen = 0;

	for (i = 0; i < n; i++) {
		if (gda_put_imm(a->v, a->mem.iova, a->mem.key, b->mem.iova, b->mem.key, 8, i,
				0) < 0)
			return seen;
		/* the ring is full before it is read: the rest waits in the RDMA device */
		if (i % 16 != 15)
			continue;
		while (seen <= i && !gda_cq_wait(gda_cq_view(ring), &entry, 0) && entry.imm == seen)
			seen++;
	}
	return seen;
}

TEST_F(verbs, immediates)
{
	struct gda_cq_attr ring_attr = { .size = sizeof(ring_attr), .depth = 8 };
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = DEPTH };
	struct s_end *a = &self->end[0], *b = &self->end[1];

	NEED_ENDS();
	ASSERT_OK(gda_cq_create(b->ctx, &ring_attr, &attr.recv_cq));
	gda_qp_destroy(b->qp);
	ASSERT_OK(gda_qp_create(b->ctx, &attr, &b->qp));
	ASSERT_OK(s_connect(a->qp, b->qp));
	EXPECT_EQ(320, immediates(a, b, attr.recv_cq, 320));
	EXPECT_OK(gda_quiet(a->v, 0));
	gda_qp_destroy(b->qp);
	b->qp = NULL;
	gda_cq_destroy(attr.recv_cq);
}

TEST_F(verbs, immediate_that_nobody_takes)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_error error = { .size = sizeof(error) };
	int64_t ticket;

	NEED_ENDS();
	ASSERT_OK(s_connect(a->qp, b->qp));
	ticket = gda_put_imm(a->v, a->mem.iova, a->mem.key, b->mem.iova, b->mem.key, 8, 1, 0);
	EXPECT_EQ(-EIO, gda_wait(a->v, ticket, 0));
	ASSERT_EQ(1, gda_error(a->v, &error));
	EXPECT_EQ(GDA_MLX5_SYND_RNR_EXC, error.syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_RECV, error.vendor);
}

/* A bad put among good ones fails, and all behind it is canceled. */
static int refused(struct s_end *a, struct s_end *b, uint32_t lkey, uint32_t rkey, uint32_t synd,
		   uint32_t vendor)
{
	struct gda_error error = { .size = sizeof(error) };
	int64_t good = s_put(a, 0, b, 0, 8, 0);
	int64_t bad = gda_put(a->v, a->mem.iova, lkey, b->mem.iova, rkey, 8, 0);
	int64_t after = s_put(a, 0, b, 8, 8, 0);

	if (gda_wait(a->v, good, 0) || gda_wait(a->v, bad, 0) != -EIO ||
	    gda_wait(a->v, after, 0) != -ECANCELED || gda_error(a->v, &error) != 1)
		return -1;
	printf("# %s, %s\n", gda_syndrome_name(error.syndrome), gda_vendor_name(error.vendor));
	return error.ticket != bad || error.syndrome != synd || error.vendor != vendor;
}

TEST_F(verbs, bad_remote_key)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];

	NEED_ENDS();
	ASSERT_OK(s_connect(a->qp, b->qp));
	EXPECT_OK(refused(a, b, a->mem.key, b->mem.key ^ 1, GDA_MLX5_SYND_REMOTE_ACCESS,
			  GDA_MLX5_VENDOR_FABRIC));
}

TEST_F(verbs, bad_local_key)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];

	NEED_ENDS();
	ASSERT_OK(s_connect(a->qp, b->qp));
	/* one of another context, which it does not know */
	EXPECT_OK(refused(a, b, b->mem.key, b->mem.key, GDA_MLX5_SYND_LOCAL_PROT,
			  GDA_MLX5_VENDOR_KEY));
}

TEST_F(verbs, right_that_is_not_granted)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct s_memory read_only;

	NEED_ENDS();
	ASSERT_OK(s_connect(a->qp, b->qp));
	ASSERT_OK(s_register(b->ctx, b->mem.addr, LEN, GDA_ACCESS_REMOTE_READ, &read_only));
	EXPECT_OK(refused(a, b, a->mem.key, read_only.key, GDA_MLX5_SYND_REMOTE_ACCESS,
			  GDA_MLX5_VENDOR_FABRIC));
	gda_mr_dereg(read_only.mr);
}

TEST_F(verbs, peer_is_destroyed)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];

	NEED_ENDS();
	ASSERT_OK(s_connect(a->qp, b->qp));
	ASSERT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	gda_qp_destroy(b->qp);
	b->qp = NULL;
	EXPECT_OK(failed_with(a, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER));
}

/* Named before the peer has named it, whoever of the two asks. */
TEST_F(verbs, connects_in_both_orders)
{
	struct gda_address to[2];
	int first, i;

	NEED_ENDS();
	for (first = 0; first < 2; first++) {
		struct s_end *e[] = { &self->end[first], &self->end[!first] };

		for (i = 0; i < 2; i++) {
			gda_qp_destroy(e[i]->qp);
			ASSERT_OK(s_qp_open(e[i]->ctx, DEPTH, S_TIMEOUT_NS, &e[i]->qp));
			e[i]->v = gda_qp_view(e[i]->qp);
			ASSERT_OK(gda_qp_address(e[i]->qp, &to[i]));
		}
		ASSERT_OK(gda_qp_connect(e[0]->qp, &to[1]));
		usleep(200000);
		EXPECT_EQ(GDA_QP_WAIT, qp_state(e[0]));
		EXPECT_EQ(-EALREADY, gda_qp_connect(e[0]->qp, &to[1]));
		ASSERT_OK(gda_qp_connect(e[1]->qp, &to[0]));
		EXPECT_EQ(GDA_QP_READY, state_after(e[0], GDA_QP_WAIT));
		EXPECT_EQ(GDA_QP_READY, state_after(e[1], GDA_QP_WAIT));
		EXPECT_OK(gda_wait(e[0]->v, s_put(e[0], 0, e[1], 0, 8, 0), 0));
	}
}

/* The end that is asked waits as long as the peer is there, and notices when it is not. */
TEST_F(verbs, peer_that_goes_before_it_asks)
{
	struct gda_address to[2];
	struct gda_qp_query q = { .size = sizeof(q) };
	int asks, i;

	NEED_ENDS();
	for (i = 0; i < 2; i++)
		ASSERT_OK(gda_qp_address(self->end[i].qp, &to[i]));
	asks = memcmp(to[1].bytes, to[0].bytes, sizeof(to[0].bytes)) > 0;
	ASSERT_OK(gda_qp_connect(self->end[!asks].qp, &to[asks]));
	/* it has asked after its peer once at least */
	usleep(2500000);
	EXPECT_EQ(GDA_QP_WAIT, qp_state(&self->end[!asks]));
	EXPECT_OK(gda_qp_destroy(self->end[asks].qp));
	self->end[asks].qp = NULL;
	EXPECT_EQ(GDA_QP_ERROR, state_after(&self->end[!asks], GDA_QP_WAIT));
	ASSERT_OK(gda_qp_query(self->end[!asks].qp, &q));
	EXPECT_EQ(GDA_MLX5_VENDOR_PEER, q.vendor);
}

/* A stranger and a wrong nonce are turned away, and the target does not notice. */
TEST_F(verbs, stranger)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_address to_b, to_a, own;
	struct gda_qp *qp;
	int i;

	NEED_ENDS();
	ASSERT_OK(gda_qp_address(a->qp, &to_a));
	ASSERT_OK(gda_qp_address(b->qp, &to_b));
	/* whoever is to ask: with some numbers it is the stranger */
	for (i = 0; i < 8; i++) {
		struct s_end s = { .ctx = a->ctx };

		ASSERT_OK(s_qp_open(a->ctx, DEPTH, 0, &qp));
		s.qp = qp;
		ASSERT_OK(gda_qp_address(qp, &own));
		to_b.bytes[15] ^= i & 1;	/* of the nonce */
		ASSERT_OK(gda_qp_connect(qp, &to_b));
		to_b.bytes[15] ^= i & 1;
		if (i & 1 && memcmp(own.bytes, to_b.bytes, sizeof(own.bytes)) > 0)
			EXPECT_EQ(GDA_QP_ERROR, state_after(&s, GDA_QP_WAIT));
		gda_qp_destroy(qp);
	}
	ASSERT_OK(gda_qp_connect(a->qp, &to_b));
	ASSERT_OK(gda_qp_connect(b->qp, &to_a));
	EXPECT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	memset(to_b.bytes, 0x5a, sizeof(to_b.bytes));
	ASSERT_OK(s_qp_open(a->ctx, DEPTH, 0, &qp));
	EXPECT_EQ(-EINVAL, gda_qp_connect(qp, &to_b));
	gda_qp_destroy(qp);
}

/* Two processes send each other this card of their ends. */
struct card {
	struct gda_address address;
	uint64_t iova;
	uint32_t key;
};

static int card_send(int fd, struct s_end *e)
{
	struct card c = { .iova = e->mem.iova, .key = e->mem.key };

	return gda_qp_address(e->qp, &c.address) || write(fd, &c, sizeof(c)) != sizeof(c);
}

/* The child: serves until it is killed. */
static void serve(int in, int out)
{
	struct s_end e;
	struct card peer;

	if (s_end_open(&e, DEPTH, LEN) || card_send(out, &e) ||
	    read(in, &peer, sizeof(peer)) != sizeof(peer) ||
	    gda_qp_connect(e.qp, &peer.address) ||
	    gda_wait(e.v, gda_put(e.v, e.mem.iova, e.mem.key, peer.iova, peer.key, 8, 0), 0))
		_exit(1);
	for (;;)
		pause();
}

TEST(process_that_is_killed)
{
	struct card peer = { 0 };
	int to[2], from[2], status;
	struct s_end e;
	pid_t child;

	NEED_DEVICE();
	ASSERT_EQ(0, pipe(to));
	ASSERT_EQ(0, pipe(from));
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		serve(to[0], from[1]);
	ASSERT_OK(s_end_open(&e, DEPTH, LEN));
	((volatile uint64_t *)e.mem.addr)[0] = ~0ULL;
	ASSERT_OK(card_send(to[1], &e));
	ASSERT_EQ(sizeof(peer), read(from[0], &peer, sizeof(peer)));
	ASSERT_OK(gda_qp_connect(e.qp, &peer.address));
	EXPECT_OK(gda_wait(e.v, gda_put(e.v, e.mem.iova + 8, e.mem.key, peer.iova, peer.key, 8, 0),
			   0));
	EXPECT_EQ(GDA_QP_READY, qp_state(&e));
	kill(child, SIGKILL);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_OK(failed_with(&e, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER));
	s_end_close(&e);
}

TEST_HARNESS_MAIN

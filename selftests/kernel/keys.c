// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Keys: SECURITY.md K1 (guessing costs a queue), K2 (an old key never names new
 * memory), K3 (rights x opcodes), K4 (a key of another context).
 */
#include "gda_fixture.h"

#define LEN	(4 * T_PAGE)
#define CANARY	0xc5

FIXTURE(keys) {
	struct t_end end[2];
	uint64_t rnd;
};

T_SETUP(keys)
{
	self->rnd = t_seed();
	ASSERT_OK(t_pair_open(self->end, 64, LEN));
	memset(self->end[0].mr.addr, 0x11, LEN);
	memset(self->end[1].mr.addr, CANARY, LEN);
}

T_TEARDOWN(keys)
{
	t_pair_close(self->end);
}

/* A new pair of QPs in place of those in error. */
static int renew(struct t_end end[2])
{
	int err;

	for (int i = 0; i < 2; i++) {
		t_qp_close(&end[i].qp);
		err = t_qp_open(&end[i].qp, end[i].fd, 64);
		if (err)
			return err;
	}
	return t_connect(&end[0].qp, &end[1].qp);
}

static const uint8_t opcodes[] = {
	GDA_MLX5_WRITE, GDA_MLX5_READ, GDA_MLX5_ATOMIC_FA, GDA_MLX5_ATOMIC_CS,
};

/* How many of these there are: efa lacks GDA_CAN_ATOMIC. */
static size_t n_opcodes(void)
{
	return t_speaks_efa() ? 2 : ARRAY_SIZE(opcodes);
}

static struct t_wr request(uint8_t opcode, const struct t_mr *local,
			   const struct t_mr *remote)
{
	switch (opcode) {
	case GDA_MLX5_WRITE:
		return t_wr_write(local, 8, remote, 8, 8);
	case GDA_MLX5_READ:
		return t_wr_read(local, 8, remote, 8, 8);
	default:
		return t_wr_atomic(opcode, local, 8, remote, 8, 1, 0);
	}
}

static uint32_t remote_right(uint8_t opcode)
{
	return opcode == GDA_MLX5_WRITE ? GDA_ACCESS_REMOTE_WRITE :
	       opcode == GDA_MLX5_READ ? GDA_ACCESS_REMOTE_READ :
	       GDA_ACCESS_REMOTE_ATOMIC;
}

static bool legal_access(uint32_t access)
{
	return access & GDA_ACCESS_LOCAL_WRITE ||
	       !(access & (GDA_ACCESS_REMOTE_WRITE | GDA_ACCESS_REMOTE_ATOMIC));
}

TEST_F(keys, K3_registration_needs_local_write)
{
	for (uint32_t access = 0; access <= GDA_ACCESS_ALL; access++) {
		struct t_mr mr = { 0 };

		EXPECT_EQ(legal_access(access) ? 0 : -EINVAL,
			  t_mr_new(self->end[0].fd, T_PAGE, access, &mr))
			TH_LOG("access %#x", access);
		t_mr_free(self->end[0].fd, &mr);
	}
}

/* The target grants every set of rights, each opcode asks for its own. */
TEST_F(keys, K3_rights_times_opcodes_remote)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];

	for (uint32_t access = 0; access <= GDA_ACCESS_ALL; access++) {
		struct t_mr target;

		if (!legal_access(access))
			continue;
		ASSERT_OK(t_mr_new(b->fd, T_PAGE, access, &target));
		for (size_t i = 0; i < n_opcodes(); i++) {
			bool may = access & remote_right(opcodes[i]);
			struct t_wr wr = request(opcodes[i], &a->mr, &target);
			struct t_done done;

			memset(target.addr, 0, T_PAGE);
			EXPECT_EQ(may ? 0 : GDA_MLX5_SYND_REMOTE_ACCESS,
				  t_run(&a->qp, &wr, &done))
				TH_LOG("access %#x opcode %#x", access, opcodes[i]);
			if (may)
				continue;
			EXPECT_EQ(GDA_MLX5_VENDOR_RIGHTS, done.vendor)
				TH_LOG("access %#x opcode %#x", access, opcodes[i]);
			EXPECT_TRUE(t_all(target.addr, 0, T_PAGE));
			/* The target's own QP does not suffer. */
			EXPECT_EQ((int)GDA_QP_READY, t_wait_state(&b->qp, GDA_QP_INIT, 0));
			ASSERT_OK(renew(self->end));
		}
		t_mr_free(b->fd, &target);
	}
}

/* The requester's own memory: results need local write, payload needs nothing. */
TEST_F(keys, K3_rights_times_opcodes_local)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];

	for (uint32_t access = 0; access <= GDA_ACCESS_ALL; access++) {
		struct t_mr local;

		if (!legal_access(access))
			continue;
		ASSERT_OK(t_mr_new(a->fd, T_PAGE, access, &local));
		for (size_t i = 0; i < n_opcodes(); i++) {
			bool may = opcodes[i] == GDA_MLX5_WRITE ||
				   access & GDA_ACCESS_LOCAL_WRITE;
			struct t_wr wr = request(opcodes[i], &local, &b->mr);
			struct t_done done;

			memset(b->mr.addr, CANARY, LEN);
			EXPECT_EQ(may ? 0 : GDA_MLX5_SYND_LOCAL_PROT,
				  t_run(&a->qp, &wr, &done))
				TH_LOG("access %#x opcode %#x", access, opcodes[i]);
			if (may)
				continue;
			EXPECT_EQ(GDA_MLX5_VENDOR_RIGHTS, done.vendor);
			EXPECT_TRUE(t_all(local.addr, 0, T_PAGE));
			EXPECT_TRUE(t_all(b->mr.addr, CANARY, LEN))
				TH_LOG("atomic done without a place for its result");
			ASSERT_OK(renew(self->end));
		}
		t_mr_free(a->fd, &local);
	}
}

/* Memory that its owner may only read cannot be offered for writing. */
TEST_F(keys, K3_read_only_memory)
{
	struct t_mr mr;
	uint8_t *p = t_pages(T_PAGE);

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, mprotect(p, T_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, t_mr_reg(self->end[0].fd, p, T_PAGE, GDA_ACCESS_ALL, &mr));
	EXPECT_EQ(-EFAULT, t_mr_reg(self->end[0].fd, p, T_PAGE, GDA_ACCESS_LOCAL_WRITE,
				    &mr));
	EXPECT_OK(t_mr_reg(self->end[0].fd, p, T_PAGE, GDA_ACCESS_REMOTE_READ, &mr));
	t_mr_free(self->end[0].fd, &mr);
}

/* One's own key is nothing on the other side, and the other way around. */
TEST_F(keys, K4_rkey_of_wrong_context)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];

	for (size_t i = 0; i < n_opcodes(); i++) {
		/* a's own memory, named as if it were b's. */
		struct t_wr wr = request(opcodes[i], &a->mr, &a->mr);
		struct t_done done;

		EXPECT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, t_run(&a->qp, &wr, &done));
		EXPECT_EQ(GDA_MLX5_VENDOR_KEY, done.vendor);
		EXPECT_TRUE(t_all(a->mr.addr, 0x11, LEN));
		EXPECT_TRUE(t_all(b->mr.addr, CANARY, LEN));
		EXPECT_EQ((int)GDA_QP_READY, t_wait_state(&b->qp, GDA_QP_INIT, 0));
		ASSERT_OK(renew(self->end));
	}
}

TEST_F(keys, K4_lkey_of_wrong_context)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];

	for (size_t i = 0; i < n_opcodes(); i++) {
		/* b's memory, named by a as if it were its own. */
		struct t_wr wr = request(opcodes[i], &b->mr, &b->mr);
		struct t_done done;

		EXPECT_EQ(GDA_MLX5_SYND_LOCAL_PROT, t_run(&a->qp, &wr, &done));
		EXPECT_EQ(GDA_MLX5_VENDOR_KEY, done.vendor);
		EXPECT_TRUE(t_all(b->mr.addr, CANARY, LEN));
		ASSERT_OK(renew(self->end));
	}
}

/* A third context's key serves neither as lkey nor as rkey. */
TEST_F(keys, K4_third_context)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	int fd = t_context();
	struct t_mr third;

	ASSERT_GE(fd, 0);
	ASSERT_OK(t_mr_new(fd, LEN, GDA_ACCESS_ALL, &third));
	memset(third.addr, 0x33, LEN);
	for (size_t i = 0; i < n_opcodes(); i++) {
		struct t_wr wr = request(opcodes[i], &third, &b->mr);

		EXPECT_EQ(GDA_MLX5_SYND_LOCAL_PROT, t_run(&a->qp, &wr, NULL));
		ASSERT_OK(renew(self->end));
		wr = request(opcodes[i], &a->mr, &third);
		EXPECT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, t_run(&a->qp, &wr, NULL));
		ASSERT_OK(renew(self->end));
	}
	EXPECT_TRUE(t_all(third.addr, 0x33, LEN));
	EXPECT_TRUE(t_all(a->mr.addr, 0x11, LEN));
	EXPECT_TRUE(t_all(b->mr.addr, CANARY, LEN));
	t_mr_free(fd, &third);
	close(fd);
}

/* Deregistered means dead, at once and for 2^16 registrations. */
TEST_F(keys, K2_old_key_never_hits)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	unsigned long rounds = t_short(1000, 4000);
	struct t_mr old, mr;
	struct t_wr wr;

	ASSERT_OK(t_mr_new(b->fd, T_PAGE, GDA_ACCESS_ALL, &old));
	wr = t_wr_write(&a->mr, 0, &old, 0, 8);
	ASSERT_OK(t_run(&a->qp, &wr, NULL));
	ASSERT_OK(t_destroy(b->fd, old.handle));
	for (unsigned long i = 0; i < rounds; i++) {
		/* The same memory, the same rights: only the key differs. */
		ASSERT_OK(t_mr_reg(b->fd, old.addr, T_PAGE, GDA_ACCESS_ALL, &mr));
		ASSERT_NE(old.key, mr.key);
		ASSERT_NE(old.key >> 8, mr.key >> 8);
		if (i % (rounds / 8) == 0) {
			memset(old.addr, 0, 8);
			wr = t_wr_write(&a->mr, 0, &old, 0, 8);
			ASSERT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, t_run(&a->qp, &wr, NULL));
			ASSERT_TRUE(t_all(old.addr, 0, 8));
			ASSERT_OK(renew(self->end));
		}
		ASSERT_OK(t_destroy(b->fd, mr.handle));
	}
	munmap(old.addr, T_PAGE);
}

/* A dead key while other MRs come and go: the lkey side. */
TEST_F(keys, K2_old_lkey)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct t_mr old;
	struct t_wr wr;

	ASSERT_OK(t_mr_new(a->fd, T_PAGE, GDA_ACCESS_ALL, &old));
	wr = t_wr_write(&old, 0, &b->mr, 0, 8);
	ASSERT_OK(t_run(&a->qp, &wr, NULL));
	memset(b->mr.addr, CANARY, LEN);
	ASSERT_OK(t_destroy(a->fd, old.handle));
	wr = t_wr_write(&old, 0, &b->mr, 0, 8);
	EXPECT_EQ(GDA_MLX5_SYND_LOCAL_PROT, t_run(&a->qp, &wr, NULL));
	EXPECT_TRUE(t_all(b->mr.addr, CANARY, LEN));
	munmap(old.addr, T_PAGE);
}

/* Every bit of a key counts, and each wrong guess costs the guesser its queue. */
TEST_F(keys, K1_neighbours_of_a_key)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];

	for (int bit = 0; bit < 32; bit++) {
		struct t_mr near = b->mr;
		struct t_wr wr;
		struct t_done done;

		near.key ^= 1U << bit;
		wr = t_wr_write(&a->mr, 0, &near, 0, 8);
		ASSERT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, t_run(&a->qp, &wr, &done));
		EXPECT_EQ(GDA_MLX5_VENDOR_KEY, done.vendor);
		wr = t_wr_write(&a->mr, 0, &b->mr, 0, 8);
		EXPECT_EQ(GDA_MLX5_SYND_WR_FLUSH, t_run(&a->qp, &wr, NULL));
		ASSERT_OK(renew(self->end));
	}
	EXPECT_TRUE(t_all(b->mr.addr, CANARY, LEN));
}

TEST_F(keys, K1_guesses)
{
	unsigned long rounds = t_short(200, 1000);
	struct t_end *a = &self->end[0], *b = &self->end[1];

	for (unsigned long i = 0; i < rounds; i++) {
		struct t_mr guess = b->mr;
		struct t_wr wr;

		guess.key = (uint32_t)t_random(&self->rnd);
		if (guess.key == b->mr.key)
			continue;
		wr = t_wr_write(&a->mr, 0, &guess, 0, 8);
		ASSERT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, t_run(&a->qp, &wr, NULL));
		ASSERT_OK(renew(self->end));
	}
	EXPECT_TRUE(t_all(b->mr.addr, CANARY, LEN));
}

/* Variants: the low byte of consecutive keys takes many values, unlike a counter's. */
TEST_F(keys, K1_variants_differ)
{
	unsigned int seen[256] = { 0 }, distinct = 0, same = 0;
	uint32_t last = 0;
	struct t_mr mr;

	for (int i = 0; i < 1024; i++) {
		ASSERT_OK(t_mr_reg(self->end[0].fd, self->end[0].mr.addr, 1, 0, &mr));
		ASSERT_OK(t_destroy(self->end[0].fd, mr.handle));
		distinct += !seen[mr.key & 0xff]++;
		same += (mr.key & 0xff) - (last & 0xff) == 1;
		last = mr.key;
	}
	EXPECT_GT(distinct, 200U);
	EXPECT_LT(same, 64U);
}

TEST_HARNESS_MAIN

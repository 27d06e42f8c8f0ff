// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Peer memory: registered by address, used, and taken away by its driver at any moment
 * (SECURITY.md K5, K6, K7, M6, O8). The driver is gda_test, which fills what it took away
 * with canaries as soon as gda_peer_invalidate() has returned, and looks whether they stay.
 */
#include <pthread.h>
#include "gda_fixture.h"
#include "move.h"

#define LEN	(64 * T_PAGE)
#define DEPTH	64
#define RACE_LEN (16 * T_PAGE)
#define RACE_DEPTH 128
#define ROUNDS	800
#define SOAKED	10000	/* times $GDA_STRESS, above 1 */

FIXTURE(peer_memory) {
	int gpu;
	void *addr;		/* its memory */
	int fd;
	struct t_qp qp;		/* connected to itself */
	struct t_mr mem;
};

T_SETUP(peer_memory)
{
	self->gpu = t_gpu_open(LEN, 0, &self->addr);
	ASSERT_LE(0, self->gpu);
	self->fd = t_context();
	ASSERT_LE(0, self->fd);
	ASSERT_OK(t_mr_new(self->fd, LEN, GDA_ACCESS_ALL, &self->mem));
	memset(self->mem.addr, 0x3c, LEN);
	ASSERT_OK(t_qp_open(&self->qp, self->fd, DEPTH));
	ASSERT_OK(t_connect(&self->qp, &self->qp));
}

static void gpu_close(FIXTURE_DATA(peer_memory) *self)
{
	if (self->gpu < 0)
		return;
	munmap(self->addr, LEN);
	close(self->gpu);
	self->gpu = -1;
}

T_TEARDOWN(peer_memory)
{
	t_qp_close(&self->qp);
	t_mr_free(self->fd, &self->mem);
	close(self->fd);
	gpu_close(self);
}

/* Of the GPU's memory, as long as it is. */
static int reg(int fd, void *addr, struct t_mr *mr)
{
	return t_mr_reg_peer(fd, addr, LEN, GDA_ACCESS_ALL, mr);
}

/* As a user's: what was tried. */
static int reg_user(int fd, void *addr, size_t len, uint32_t access, struct gda_mr_reg_user *cmd)
{
	*cmd = (struct gda_mr_reg_user) {
		.size = sizeof(*cmd), .addr = (uintptr_t)addr, .length = len, .access = access,
	};
	return t_ioctl(fd, GDA_IOC_MR_REG_USER, cmd);
}

static int invalidate(int gpu, uint32_t flags, struct gda_test_peer_invalidate *cmd)
{
	uint64_t linger = cmd->linger_ns;

	*cmd = (struct gda_test_peer_invalidate) { .flags = flags, .linger_ns = linger };
	return t_ioctl(gpu, GDA_TEST_PEER_INVALIDATE, cmd);
}

static int client(int gpu, uint32_t on)
{
	return t_ioctl(gpu, GDA_TEST_PEER_CLIENT, &on);
}

TEST_F(peer_memory, by_address)
{
	uint8_t *p = (uint8_t *)self->addr + 5 * T_PAGE + 100;
	const size_t len = 3 * T_PAGE + 77;
	struct gda_mr_query query = { .size = sizeof(query) };
	struct gda_mr_reg_peer zero = {
		.size = sizeof(zero), .flags = GDA_MR_ZERO_BASED, .addr = (uintptr_t)p,
		.length = len, .access = GDA_ACCESS_ALL,
	};
	struct t_mr mr;
	struct t_wr wr;

	ASSERT_OK(t_mr_reg_peer(self->fd, p, len, GDA_ACCESS_ALL, &mr));
	EXPECT_EQ((uintptr_t)p, mr.iova);
	query.handle = mr.handle;
	ASSERT_OK(t_ioctl(self->fd, GDA_IOC_MR_QUERY, &query));
	EXPECT_EQ(GDA_KIND_PEER, query.kind);
	EXPECT_EQ(GDA_MR_LIVE, query.state);
	EXPECT_EQ(len, query.length);
	wr = t_wr_write(&self->mem, 0, &mr, 0, (uint32_t)len);
	EXPECT_OK(t_run(&self->qp, &wr, NULL));
	EXPECT_TRUE(t_all(p, 0x3c, len));
	EXPECT_EQ(0, p[-1]);
	EXPECT_EQ(0, p[len]);
	memset(p, 0x55, len);
	wr = t_wr_read(&self->mem, 8, &mr, 0, (uint32_t)len);
	EXPECT_OK(t_run(&self->qp, &wr, NULL));
	EXPECT_TRUE(t_all(self->mem.addr + 8, 0x55, len));
	EXPECT_EQ(0x3c, self->mem.addr[8 + len]);
	EXPECT_OK(t_destroy(self->fd, mr.handle));

	ASSERT_OK(t_ioctl(self->fd, GDA_IOC_MR_REG_PEER, &zero));
	EXPECT_EQ(0, zero.iova);
	mr = (struct t_mr) { .key = zero.key };
	wr = t_wr_write(&self->mem, 0, &mr, 10, 4);
	EXPECT_OK(t_run(&self->qp, &wr, NULL));
	EXPECT_EQ(0x55, p[9]);
	EXPECT_TRUE(t_all(p + 10, 0x3c, 4));
	EXPECT_OK(t_destroy(self->fd, zero.handle));
}

/* As long as $GDA_STRESS wants. */
TEST_F_TIMEOUT(peer_memory, K5_no_byte_after_invalidation, 36000)
{
	struct t_race race = { .len = RACE_LEN, .depth = RACE_DEPTH, .seed = t_seed() };
	unsigned long n = t_soaked(ROUNDS, SOAKED);
	char result[160];
	void *addr;
	int gpu = t_gpu_open(RACE_LEN, 0, &addr);

	ASSERT_LE(0, gpu);
	TH_LOG("GDA_SEED=%llu", (unsigned long long)race.seed);
	ASSERT_OK(t_race_begin(&race, n));
	for (unsigned long i = 0; i < n; i++) {
		struct gda_test_peer_invalidate cmd = { .linger_ns = i % 16 ? 0 : T_NS / 1000 };
		bool read = i & 1;
		struct t_mr mr;
		uint64_t last;

		ASSERT_OK(t_race_next(&race)) TH_LOG("round %lu", i);
		ASSERT_OK(t_mr_reg_peer(race.fd, addr, RACE_LEN, GDA_ACCESS_ALL, &mr))
			TH_LOG("round %lu", i);
		last = t_race_traffic(&race, &mr, read);
		ASSERT_OK(invalidate(gpu, 0, &cmd)) TH_LOG("round %lu", i);
		ASSERT_EQ(0, cmd.changed) TH_LOG("round %lu", i);
		ASSERT_EQ(GDA_MR_REVOKED, t_mr_state(race.fd, mr.handle));
		ASSERT_OK(t_race_told(&race, last, read, cmd.wait_ns)) TH_LOG("round %lu", i);
		ASSERT_OK(t_destroy(race.fd, mr.handle));
	}
	TH_LOG("%s", t_race_result(&race, result, sizeof(result)));
	EXPECT_LT(0, race.begun);
	t_race_end(&race);
	munmap(addr, RACE_LEN);
	close(gpu);
}

/* The contents move along; the old key fails for good, a new registration works. */
TEST_F(peer_memory, K5_sticky_and_again)
{
	struct gda_test_peer_invalidate cmd = { 0 };
	struct t_mr old, new;
	struct t_done done;
	struct t_wr wr;

	ASSERT_OK(reg(self->fd, self->addr, &old));
	wr = t_wr_write(&self->mem, 0, &old, 0, LEN);
	ASSERT_OK(t_run(&self->qp, &wr, NULL));
	ASSERT_OK(invalidate(self->gpu, 0, &cmd));
	EXPECT_TRUE(t_all(self->addr, 0x3c, LEN));
	ASSERT_OK(reg(self->fd, self->addr, &new));
	EXPECT_NE(old.key, new.key);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, t_run(&self->qp, &wr, &done));
		EXPECT_EQ(GDA_MLX5_VENDOR_REVOKED, done.first_vendor);
		ASSERT_OK(t_qp_again(&self->qp));
	}
	memset(self->mem.addr, 0x77, LEN);
	wr = t_wr_write(&self->mem, 0, &new, 0, LEN);
	EXPECT_OK(t_run(&self->qp, &wr, NULL));
	EXPECT_TRUE(t_all(self->addr, 0x77, LEN));
	/* Once more, also what is invalid already. */
	ASSERT_OK(invalidate(self->gpu, 0, &cmd));
	EXPECT_EQ(0, cmd.changed);
	EXPECT_EQ(GDA_MR_REVOKED, t_mr_state(self->fd, old.handle));
	EXPECT_EQ(GDA_MR_REVOKED, t_mr_state(self->fd, new.handle));
	EXPECT_OK(t_destroy(self->fd, old.handle));
	EXPECT_OK(t_destroy(self->fd, new.handle));
	/* For good. */
	ASSERT_OK(reg(self->fd, self->addr, &new));
	ASSERT_OK(invalidate(self->gpu, GDA_TEST_GONE, &cmd));
	EXPECT_EQ(GDA_MR_REVOKED, t_mr_state(self->fd, new.handle));
	EXPECT_OK(t_destroy(self->fd, new.handle));
	EXPECT_EQ(-ENODEV, reg(self->fd, self->addr, &new));
}

/* The ways that were tried, and why not. */
TEST_F(peer_memory, K7_refused_and_why)
{
	const uint32_t all = GDA_ACCESS_ALL;
	struct gda_mr_reg_user cmd;
	void *none = t_pages(T_PAGE), *p;
	struct t_mr mr;
	int gpu;

	/* Nobody's. */
	ASSERT_EQ(0, munmap(none, T_PAGE));
	EXPECT_EQ(-EFAULT, reg_user(self->fd, none, T_PAGE, all, &cmd));
	EXPECT_EQ(EFAULT, cmd.tried.user);
	EXPECT_EQ(ENXIO, cmd.tried.peer);
	EXPECT_EQ(0, cmd.tried.reserved);
	EXPECT_EQ(-ENXIO, t_mr_reg_peer(self->fd, none, T_PAGE, all, &mr));
	EXPECT_EQ(-ENXIO, t_mr_reg_peer(self->fd, self->mem.addr, T_PAGE, all, &mr));
	EXPECT_EQ(-ENXIO, t_mr_reg_peer(self->fd, (uint8_t *)self->addr + T_PAGE, LEN, all, &mr));
	EXPECT_EQ(-EFAULT, t_mr_reg_peer(self->fd, (void *)(uintptr_t)-8 - LEN, 8, all, &mr));
	/* A structure that ends before the reasons. */
	cmd = (struct gda_mr_reg_user) {
		.size = offsetof(struct gda_mr_reg_user, tried), .addr = (uintptr_t)none,
		.length = 1, .tried = { .user = 7 },
	};
	EXPECT_EQ(-EFAULT, t_ioctl(self->fd, GDA_IOC_MR_REG_USER, &cmd));
	EXPECT_EQ(7, cmd.tried.user);
	/* Pinning is refused for other reasons: nobody else is asked, or nothing is tried. */
	EXPECT_EQ(-EINVAL, reg_user(self->fd, none, 0, all, &cmd));
	EXPECT_EQ(0, cmd.tried.user);

	/* Read-only. */
	ASSERT_EQ(0, mprotect(self->addr, T_PAGE, PROT_READ));
	EXPECT_EQ(-EACCES, t_mr_reg_peer(self->fd, self->addr, T_PAGE, all, &mr));
	EXPECT_EQ(-EACCES, reg_user(self->fd, self->addr, T_PAGE, all, &cmd));
	EXPECT_EQ(EFAULT, cmd.tried.user);
	EXPECT_EQ(EACCES, cmd.tried.peer);
	ASSERT_OK(t_mr_reg_peer(self->fd, self->addr, T_PAGE, GDA_ACCESS_REMOTE_READ, &mr));
	EXPECT_OK(t_destroy(self->fd, mr.handle));
	ASSERT_EQ(0, mprotect(self->addr, T_PAGE, PROT_NONE));
	EXPECT_EQ(-EACCES, t_mr_reg_peer(self->fd, self->addr, T_PAGE, 0, &mr));
	/* No client. */
	ASSERT_OK(client(self->gpu, 0));
	EXPECT_EQ(-ENXIO, reg(self->fd, self->addr, &mr));
	ASSERT_OK(client(self->gpu, 1));

	/* No address for the CPU, or that of I/O memory. */
	for (uint32_t flags = GDA_TEST_NO_VMAP; flags <= GDA_TEST_IOMEM; flags <<= 1) {
		gpu = t_gpu_open(T_PAGE, flags, &p);
		ASSERT_LE(0, gpu);
		EXPECT_EQ(-EOPNOTSUPP, t_mr_reg_peer(self->fd, p, T_PAGE, all, &mr));
		EXPECT_EQ(-EOPNOTSUPP, reg_user(self->fd, p, T_PAGE, all, &cmd));
		EXPECT_EQ(EFAULT, cmd.tried.user);
		EXPECT_EQ(EOPNOTSUPP, cmd.tried.peer);
		munmap(p, T_PAGE);
		close(gpu);
	}
}

/* Memory that cannot be pinned is had from its peer driver. */
TEST_F(peer_memory, K7_pinning_falls_back)
{
	struct gda_mr_query query = { .size = sizeof(query) };
	struct gda_mr_reg_user cmd;
	struct t_mr mr;
	struct t_wr wr;

	ASSERT_OK(reg_user(self->fd, self->addr, LEN, GDA_ACCESS_ALL, &cmd));
	EXPECT_EQ(EFAULT, cmd.tried.user);
	EXPECT_EQ(0, cmd.tried.peer);
	query.handle = cmd.handle;
	ASSERT_OK(t_ioctl(self->fd, GDA_IOC_MR_QUERY, &query));
	EXPECT_EQ(GDA_KIND_PEER, query.kind);
	mr = (struct t_mr) { .key = cmd.key, .iova = cmd.iova };
	wr = t_wr_write(&self->mem, 0, &mr, 0, LEN);
	EXPECT_OK(t_run(&self->qp, &wr, NULL));
	EXPECT_TRUE(t_all(self->addr, 0x3c, LEN));
	EXPECT_OK(t_destroy(self->fd, cmd.handle));
	/* Of the process itself: pinned as ever. */
	ASSERT_OK(reg_user(self->fd, self->mem.addr, LEN, GDA_ACCESS_ALL, &cmd));
	EXPECT_EQ(0, cmd.tried.user);
	EXPECT_EQ(0, cmd.tried.peer);
	EXPECT_OK(t_destroy(self->fd, cmd.handle));
}

/* MR, context and GPU end, in every order, while data flows. */
static const uint8_t orders[][3] = {
	{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 }, { 1, 0, 2 },
};

TEST_F_TIMEOUT(peer_memory, K6_every_order_of_teardown, 36000)
{
	unsigned long n = t_short(24, 60);

	for (unsigned long i = 0; i < n; i++) {
		const uint8_t *order = orders[i % 6];
		bool read = i / 6 & 1, context = true;
		int fd = t_context();
		struct t_mr mem, mr;
		struct t_qp qp;
		void *addr;
		int gpu = t_gpu_open(LEN, 0, &addr);

		ASSERT_LE(0, fd);
		ASSERT_LE(0, gpu);
		ASSERT_OK(t_mr_new(fd, LEN, GDA_ACCESS_ALL, &mem));
		ASSERT_OK(t_qp_open(&qp, fd, DEPTH));
		ASSERT_OK(t_connect(&qp, &qp));
		ASSERT_OK(reg(fd, addr, &mr));
		t_traffic(&qp, &mem, &mr, read);
		for (int k = 0; k < 3; k++) {
			if (order[k] == 0) {
				EXPECT_EQ(context ? 0 : -ENODEV, t_destroy(fd, mr.handle));
			} else if (order[k] == 1) {
				EXPECT_OK(t_shutdown(fd));
				context = false;
			} else {
				munmap(addr, LEN);
				close(gpu);
			}
		}
		t_qp_unmap(&qp);
		munmap(mem.addr, LEN);
		close(fd);
	}
}

struct taker {
	int gpu;
	bool toggle;		/* the client comes and goes, too */
	bool stop;
	uint64_t changed;
	unsigned long times;
	int err;
};

static void *taker_main(void *arg)
{
	struct taker *t = arg;
	uint64_t seed = t_seed();

	while (!__atomic_load_n(&t->stop, __ATOMIC_RELAXED)) {
		struct gda_test_peer_invalidate cmd = { 0 };
		int err = t->toggle ? client(t->gpu, t->times & 1) : invalidate(t->gpu, 0, &cmd);

		if (err)
			t->err = err;
		t->changed += cmd.changed;
		t->times++;
		/* leave time to register, which two who always invalidate would not */
		t_sleep_ns(t_random(&seed) % 4000000);
	}
	return NULL;
}

/* Registration, deregistration and close against two who invalidate, and unregistration. */
TEST_F_TIMEOUT(peer_memory, K5_M6_against_dereg_close_and_unregister, 36000)
{
	struct taker t[3] = { { .gpu = self->gpu }, { .gpu = self->gpu },
			      { .gpu = self->gpu, .toggle = true } };
	unsigned long n = t_short(40, 100), done = 0, i;
	pthread_t thread[3];
	uint64_t late = 0;

	for (int k = 0; k < 3; k++)
		ASSERT_EQ(0, pthread_create(&thread[k], NULL, taker_main, &t[k]));
	for (i = 0; t_more(i, n, done, &late); i++) {
		int fd = t_context();
		struct t_qp qp;
		struct t_mr mr;
		int err;

		ASSERT_LE(0, fd);
		ASSERT_OK(t_qp_open(&qp, fd, DEPTH));
		ASSERT_OK(t_connect(&qp, &qp));
		err = reg(fd, self->addr, &mr);
		if (!err) {
			t_traffic(&qp, &mr, &mr, i & 1);
			if (i & 2)
				EXPECT_OK(t_destroy(fd, mr.handle));
			done++;
		} else {
			EXPECT_TRUE(err == -ENXIO || err == -ENODEV) TH_LOG("%d", err);
		}
		t_qp_unmap(&qp);
		close(fd);
	}
	for (int k = 0; k < 3; k++) {
		__atomic_store_n(&t[k].stop, true, __ATOMIC_RELAXED);
		pthread_join(thread[k], NULL);
		EXPECT_EQ(0, t[k].err);
		EXPECT_EQ(0, t[k].changed);
		EXPECT_LT(0, t[k].times);
	}
	EXPECT_LT(0, done);
	TH_LOG("%lu of %lu registered, %lu invalidations, client changed %lu times", done, i,
	       t[0].times + t[1].times, t[2].times);
	ASSERT_OK(client(self->gpu, 1));
}

/* A registration alone holds the client's module, and what it calls. */
TEST_F(peer_memory, O8_K6_client_is_not_unloaded_while_in_use)
{
	uint64_t end = t_now() + T_WAIT_NS;
	struct t_mr mr;
	int err;

	EXPECT_EQ(-EWOULDBLOCK, t_module_remove("gda_mr"));
	ASSERT_OK(reg(self->fd, self->addr, &mr));
	ASSERT_OK(client(self->gpu, 0));
	gpu_close(self);
	EXPECT_EQ(GDA_MR_REVOKED, t_mr_state(self->fd, mr.handle));
	EXPECT_EQ(-EWOULDBLOCK, t_module_remove("gda_test"));
	EXPECT_OK(t_destroy(self->fd, mr.handle));
	while ((err = t_module_remove("gda_test")) == -EWOULDBLOCK && t_now() < end)
		t_sleep_ns(T_NS / 100);
	EXPECT_OK(err);
	if (!err)
		EXPECT_OK(t_module_insert_built("selftests/kmod", "gda_test"));
}

TEST_HARNESS_MAIN

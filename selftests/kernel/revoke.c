// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md K5: memory that its owner takes away while it is written to. The buffers
 * are gda_test's: it fills the memory that a buffer had with canaries as soon as the
 * importers' callbacks have returned, and looks whether they stay.
 */
#include <sys/ioctl.h>
#include <gda/cause.h>
#include "gda_fixture.h"
#include "move.h"

#define LEN	(64 * T_PAGE)
#define DEPTH	64
#define RACE_LEN (16 * T_PAGE)
#define RACE_DEPTH 128
#define ROUNDS	800
#define SOAKED	10000	/* times $GDA_STRESS, above 1 */

FIXTURE(revoke) {
	int test;		/* /dev/gda_test */
	int buf;
	int fd;
	struct t_qp qp;		/* connected to itself */
	struct t_mr mem;
};

T_SETUP(revoke)
{
	self->test = open("/dev/gda_test", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->test);
	self->buf = t_test_buffer(self->test, LEN, 0);
	ASSERT_LE(0, self->buf);
	self->fd = t_context();
	ASSERT_LE(0, self->fd);
	ASSERT_OK(t_mr_new(self->fd, LEN, GDA_ACCESS_ALL, &self->mem));
	memset(self->mem.addr, 0x3c, LEN);
	ASSERT_OK(t_qp_open(&self->qp, self->fd, DEPTH));
	ASSERT_OK(t_connect(&self->qp, &self->qp));
}

T_TEARDOWN(revoke)
{
	t_qp_close(&self->qp);
	t_mr_free(self->fd, &self->mem);
	close(self->fd);
	close(self->buf);
	close(self->test);
}

/* As long as $GDA_STRESS wants. */
TEST_F_TIMEOUT(revoke, K5_no_byte_after_the_callback, 36000)
{
	struct t_race race = { .len = RACE_LEN, .depth = RACE_DEPTH, .seed = t_seed() };
	int buf = t_test_buffer(self->test, RACE_LEN, 0);
	unsigned long n = t_soaked(ROUNDS, SOAKED);
	char result[160];

	ASSERT_LE(0, buf);
	TH_LOG("GDA_SEED=%llu", (unsigned long long)race.seed);
	ASSERT_OK(t_race_begin(&race, n));
	for (unsigned long i = 0; i < n; i++) {
		struct gda_test_move cmd = { .linger_ns = i % 16 ? 0 : T_NS / 1000 };
		bool read = i & 1;
		struct t_mr mr;
		uint64_t last;

		ASSERT_OK(t_race_next(&race)) TH_LOG("round %lu", i);
		ASSERT_OK(t_mr_reg_dmabuf(race.fd, buf, RACE_LEN, &mr)) TH_LOG("round %lu", i);
		last = t_race_traffic(&race, &mr, read);
		ASSERT_OK(t_move(self->test, buf, 0, &cmd)) TH_LOG("round %lu", i);
		ASSERT_EQ(0, cmd.changed) TH_LOG("round %lu", i);
		ASSERT_EQ(GDA_MR_REVOKED, t_mr_state(race.fd, mr.handle));
		ASSERT_OK(t_race_told(&race, last, read, cmd.wait_ns)) TH_LOG("round %lu", i);
		ASSERT_OK(t_destroy(race.fd, mr.handle));
	}
	TH_LOG("%s", t_race_result(&race, result, sizeof(result)));
	EXPECT_LT(0, race.begun);
	t_race_end(&race);
	close(buf);
}

#define MANY	64

/* @n MRs of one buffer, and work for each of them under way; what the exporter waited. */
static int move_many(FIXTURE_DATA(revoke) *self, struct t_mr *mr, int n, uint64_t *wait_ns)
{
	struct gda_test_move cmd = { .linger_ns = 1000000 };
	struct t_done done = { 0 };
	uint64_t last = 0;
	int err = 0;

	for (int i = 0; i < n && !err; i++)
		err = t_mr_reg_dmabuf(self->fd, self->buf, LEN, &mr[i]);
	if (err)
		return err;
	for (int i = 0; i < DEPTH; i++) {
		struct t_wr wr = t_wr_write(&self->mem, 0, &mr[i % n], 0, LEN);

		last = t_post(&self->qp, &wr);
	}
	t_ring(&self->qp);
	t_sleep_ns(T_NS / 2000);
	err = t_move(self->test, self->buf, 0, &cmd);
	*wait_ns = cmd.wait_ns;
	if (err || cmd.changed)
		return err ? err : -EIO;
	if (!t_wait(&self->qp, last, &done))
		return 0;
	return done.first_vendor == GDA_MLX5_VENDOR_REVOKED ? t_qp_again(&self->qp) : -EPROTO;
}

/* All of them, with one wait for the executors. */
TEST_F(revoke, K5_many_of_one_buffer)
{
	static const int counts[] = { 1, MANY };
	uint64_t waits[20];
	struct t_mr mr[MANY];

	for (size_t c = 0; c < 2; c++) {
		for (size_t round = 0; round < 20; round++) {
			ASSERT_OK(move_many(self, mr, counts[c], &waits[round]));
			for (int i = 0; i < counts[c]; i++) {
				ASSERT_EQ(GDA_MR_REVOKED, t_mr_state(self->fd, mr[i].handle));
				ASSERT_OK(t_destroy(self->fd, mr[i].handle));
			}
		}
		t_sort(waits, 20);
		TH_LOG("the exporter waited for %d: median %llu us, most %llu us", counts[c],
		       (unsigned long long)waits[10] / 1000,
		       (unsigned long long)waits[19] / 1000);
	}
}

/* The contents move along; the old key fails for good, a new registration works. */
TEST_F(revoke, K5_sticky_and_again)
{
	struct gda_test_move cmd = { 0 };
	struct t_mr old, new;
	struct t_done done;
	struct t_wr wr;
	uint8_t *p;

	p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, self->buf, 0);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_OK(t_mr_reg_dmabuf(self->fd, self->buf, LEN, &old));
	wr = t_wr_write(&self->mem, 0, &old, 0, LEN);
	ASSERT_OK(t_run(&self->qp, &wr, NULL));
	EXPECT_TRUE(t_all(p, 0x3c, LEN));
	ASSERT_OK(t_move(self->test, self->buf, 0, &cmd));
	EXPECT_EQ(0, cmd.changed);
	EXPECT_TRUE(t_all(p, 0x3c, LEN));
	ASSERT_OK(t_mr_reg_dmabuf(self->fd, self->buf, LEN, &new));
	EXPECT_NE(old.key, new.key);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, t_run(&self->qp, &wr, &done));
		EXPECT_EQ(GDA_MLX5_VENDOR_REVOKED, done.first_vendor);
		ASSERT_OK(t_qp_again(&self->qp));
	}
	memset(self->mem.addr, 0x77, LEN);
	wr = t_wr_write(&self->mem, 0, &new, 0, LEN);
	EXPECT_OK(t_run(&self->qp, &wr, NULL));
	EXPECT_TRUE(t_all(p, 0x77, LEN));
	/* Many of one buffer: all of them. */
	ASSERT_OK(t_move(self->test, self->buf, 0, &cmd));
	EXPECT_EQ(GDA_MR_REVOKED, t_mr_state(self->fd, old.handle));
	EXPECT_EQ(GDA_MR_REVOKED, t_mr_state(self->fd, new.handle));
	EXPECT_OK(t_destroy(self->fd, old.handle));
	EXPECT_OK(t_destroy(self->fd, new.handle));
	munmap(p, LEN);
}

TEST_F(revoke, K5_taken_for_good)
{
	struct gda_test_move cmd = { 0 };
	struct t_mr mr;

	ASSERT_OK(t_mr_reg_dmabuf(self->fd, self->buf, LEN, &mr));
	ASSERT_OK(t_move(self->test, self->buf, GDA_TEST_GONE, &cmd));
	EXPECT_EQ(GDA_MR_REVOKED, t_mr_state(self->fd, mr.handle));
	EXPECT_OK(t_destroy(self->fd, mr.handle));
	EXPECT_EQ(-ENODEV, t_mr_reg_dmabuf(self->fd, self->buf, LEN, &mr));
}

TEST_F(revoke, no_address_for_the_cpu)
{
	int buf = t_test_buffer(self->test, LEN, GDA_TEST_NO_VMAP);
	struct t_mr mr;

	ASSERT_LE(0, buf);
	EXPECT_EQ(-EOPNOTSUPP, t_mr_reg_dmabuf(self->fd, buf, LEN, &mr));
	close(buf);
}

/* A QP, connected to itself, whose sent_counter has its word in @mr. */
static int open_counted(struct t_qp *qp, int fd, const struct t_mr *mr,
			struct gda_counter_create *count)
{
	int err;

	memset(qp, 0, sizeof(*qp));
	*count = (struct gda_counter_create) {
		.size = sizeof(*count), .flags = GDA_COUNTER_VALUE_MEMORY,
		.value_memory = { .addr = mr->iova, .key = mr->key },
	};
	err = t_ioctl(fd, GDA_IOC_COUNTER_CREATE, count);
	err = err ? err : t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &qp->cqc);
	if (err)
		return err;
	qp->fd = fd;
	qp->depth = DEPTH;
	qp->qpc = (struct gda_qp_create) {
		.size = sizeof(qp->qpc), .dialect = GDA_DIALECT_MLX5, .cq = qp->cqc.handle,
		.sq_depth = DEPTH, .sent_counter = count->handle,
	};
	err = t_ioctl(fd, GDA_IOC_QP_CREATE, &qp->qpc);
	err = err ? err : t_qp_map(qp);
	return err ? err : t_connect(qp, qp);
}

/* One round: the buffer with the word is moved while the queue counts there. */
static int count_and_move(FIXTURE_DATA(revoke) *self, unsigned long round, uint64_t *left)
{
	struct gda_test_move cmd = { .linger_ns = round % 4 ? 0 : T_NS / 1000 };
	struct gda_counter_create count;
	struct gda_qp_query q;
	const volatile struct gda_counter_mem *cell;
	struct t_mr word;
	struct t_done done;
	struct t_qp qp;
	uint64_t last = 0;
	void *map;
	int err;

	err = t_mr_reg_dmabuf(self->fd, self->buf, LEN, &word);
	err = err ? err : open_counted(&qp, self->fd, &word, &count);
	if (err)
		return err;
	map = t_map(self->fd, &count.counter);
	if (map == MAP_FAILED)
		return -errno;
	cell = (void *)((uint8_t *)map + count.counter.offset);
	for (unsigned long i = 0; i < DEPTH - 2; i++) {
		struct t_wr wr = t_wr_write(&self->mem, 0, &self->mem, T_PAGE, 8);

		last = t_post(&qp, &wr);
		if (i == round % DEPTH)
			t_ring(&qp);
	}
	t_ring(&qp);
	err = t_move(self->test, self->buf, 0, &cmd);
	*left += cmd.changed;
	t_wait(&qp, last, &done);
	/* one more is counted after the move, and is not stored */
	err = err ? err : t_qp_query(self->fd, qp.qpc.handle, &q);
	if (!err && q.state == GDA_QP_READY) {
		struct t_wr wr = t_wr_write(&self->mem, 0, &self->mem, T_PAGE, 8);

		t_run(&qp, &wr, &done);
	}
	if (t_wait_state(&qp, GDA_QP_READY, 10 * T_NS) != GDA_QP_ERROR)
		err = err ? err : -EBUSY;
	err = err ? err : t_qp_query(self->fd, qp.qpc.handle, &q);
	if (!err && (q.vendor != GDA_CAUSE_QUEUE || cell->value != q.executed || !q.executed))
		err = -EPROTO;
	munmap(map, count.counter.length);
	t_qp_close(&qp);
	t_destroy(self->fd, count.handle);
	t_destroy(self->fd, word.handle);
	return err;
}

/* A word that counts go to: no byte after the callback, the queue fails, and no count is lost. */
TEST_F(revoke, Q6_counter_memory_revoked_while_counting)
{
	unsigned long n = t_short(30, 100);
	uint64_t changed = 0;

	for (unsigned long i = 0; i < n; i++) {
		ASSERT_OK(count_and_move(self, i * 7, &changed)) TH_LOG("round %lu", i);
	}
	EXPECT_EQ(0, changed);
}

/* Registration, deregistration and close against moves at any moment. */
TEST_F_TIMEOUT(revoke, K5_against_dereg_and_close, 36000)
{
	struct t_mover m = { .test = self->test, .buf = self->buf };
	unsigned long n = t_short(40, 100), done = 0;

	ASSERT_EQ(0, t_mover_start(&m));
	for (unsigned long i = 0; i < n; i++) {
		int fd = t_context();
		struct t_qp qp;
		struct t_mr mr;
		int err;

		ASSERT_LE(0, fd);
		ASSERT_OK(t_qp_open(&qp, fd, DEPTH));
		ASSERT_OK(t_connect(&qp, &qp));
		err = t_mr_reg_dmabuf(fd, self->buf, LEN, &mr);
		if (!err) {
			t_traffic(&qp, &mr, &mr, i & 1);
			if (i & 2)
				EXPECT_OK(t_destroy(fd, mr.handle));
			done++;
		} else {
			EXPECT_EQ(-EAGAIN, err);
		}
		t_qp_unmap(&qp);
		close(fd);
	}
	t_mover_stop(&m);
	EXPECT_EQ(0, m.err);
	EXPECT_EQ(0, m.changed);
	EXPECT_LT(0, m.moves);
	TH_LOG("%lu of %lu registered, %lu moves", done, n, m.moves);
}

TEST_HARNESS_MAIN

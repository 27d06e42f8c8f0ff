// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The life of mappings: SECURITY.md M4 (moved, split, grown), M5 (forked), M6 and
 * M7 (touched and made while they are destroyed), M8 (their first contents), M9
 * (memory type), M10 (pages with other references).
 */
#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>
#include "gda_fixture.h"
#include "../kmod/gda_test/ioctl.h"

#define DEPTH	1024		/* 16 pages of send queue */

FIXTURE(life) {
	int fd;
	struct t_qp qp;
	size_t len;		/* of the send queue's mapping */
};

T_SETUP(life)
{
	self->fd = t_context();
	ASSERT_GE(self->fd, 0);
	ASSERT_OK(t_qp_open(&self->qp, self->fd, DEPTH));
	ASSERT_OK(t_connect(&self->qp, &self->qp));
	self->len = self->qp.qpc.sq.length;
}

T_TEARDOWN(life)
{
	t_qp_unmap(&self->qp);
	close(self->fd);
}

static int works(struct t_qp *qp)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };

	return t_run(qp, &nop, NULL);
}

/* Every page of a destroyed region, wherever it is mapped, is SIGBUS. */
static int all_bus(const uint8_t *p, size_t len)
{
	for (size_t off = 0; off < len; off += T_PAGE)
		if (t_touch_read(p + off) != SIGBUS)
			return -1;
	return 0;
}

/* Queues of efa have none. */
static bool record_is_gone(const struct t_qp *qp)
{
	return t_is_efa(qp) || t_touch_write((void *)(uintptr_t)qp->dbrec) == SIGBUS;
}

TEST_F(life, M4_destroy_revokes)
{
	uint8_t *second = t_map(self->fd, &self->qp.qpc.sq);
	uint8_t *late = t_map(self->fd, &self->qp.qpc.sq);

	ASSERT_NE(MAP_FAILED, second);
	ASSERT_NE(MAP_FAILED, late);
	memset(second, 1, self->len);
	EXPECT_EQ(1, self->qp.sq[self->len - 1]);
	ASSERT_OK(t_destroy(self->fd, self->qp.qpc.handle));
	/* The CQ lives on, all of the QP's own is gone, touched before or not. */
	EXPECT_EQ(0, t_touch_read(self->qp.cqe));
	EXPECT_OK(all_bus(self->qp.sq, self->len));
	EXPECT_OK(all_bus(second, self->len));
	EXPECT_OK(all_bus(late, self->len));
	EXPECT_EQ(SIGBUS, t_touch_write((void *)(uintptr_t)self->qp.db));
	EXPECT_TRUE(record_is_gone(&self->qp));
	ASSERT_OK(t_destroy(self->fd, self->qp.cqc.handle));
	EXPECT_EQ(SIGBUS, t_touch_read(self->qp.cqe));
	EXPECT_EQ(MAP_FAILED, t_map(self->fd, &self->qp.qpc.sq));
	EXPECT_EQ(ENXIO, errno);
	munmap(second, self->len);
	munmap(late, self->len);
}

TEST_F(life, M4_shutdown_revokes_all)
{
	ASSERT_OK(works(&self->qp));
	ASSERT_OK(t_shutdown(self->fd));
	EXPECT_OK(all_bus(self->qp.sq, self->len));
	EXPECT_EQ(SIGBUS, t_touch_read(self->qp.cqe));
	EXPECT_EQ(SIGBUS, t_touch_write((void *)(uintptr_t)self->qp.db));
	EXPECT_TRUE(record_is_gone(&self->qp));
}

/* A mapping keeps the file, and with it the context: closing alone ends nothing. */
TEST_F(life, M4_mapping_holds_the_context)
{
	close(self->fd);
	EXPECT_OK(works(&self->qp));
	self->fd = -1;
}

TEST_F(life, M4_mremap_moves)
{
	for (int i = 0; i < 4; i++) {
		size_t len = t_qp_length(&self->qp, i);
		uint8_t *room = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint8_t *old = self->qp.map[i];
		void *p;

		if (!old)
			continue;
		ASSERT_NE(MAP_FAILED, room);
		ASSERT_OK(works(&self->qp));
		p = mremap(old, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, room);
		ASSERT_EQ((void *)room, p) TH_LOG("region %d: errno %d", i, errno);
		EXPECT_EQ(SIGSEGV, t_touch_read(old));
		self->qp.map[i] = room;
		self->qp.sq = self->qp.map[0];
		self->qp.dbrec = (void *)((uint8_t *)self->qp.map[1] + self->qp.qpc.dbrec.offset);
		self->qp.db = (void *)((uint8_t *)self->qp.map[2] + self->qp.qpc.db.offset);
		self->qp.cqe = (uint8_t *)self->qp.map[3] + self->qp.cqc.cq.offset;
		t_sleep_ns(T_NS / 100);
		ASSERT_OK(works(&self->qp));
	}
	ASSERT_OK(t_shutdown(self->fd));
	EXPECT_OK(all_bus(self->qp.sq, self->len));
	EXPECT_EQ(SIGBUS, t_touch_read(self->qp.cqe));
	EXPECT_EQ(SIGBUS, t_touch_write((void *)(uintptr_t)self->qp.db));
}

TEST_F(life, M4_mremap_resizes_refused)
{
	uint8_t *sq = self->qp.sq;

	EXPECT_EQ(MAP_FAILED, mremap(sq, self->len, self->len + T_PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(sq, self->len, 2 * self->len, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(sq, self->len, self->len + T_PAGE, 0));
	EXPECT_EQ(MAP_FAILED, mremap(sq, self->len, self->len - T_PAGE, 0));
	EXPECT_EQ(MAP_FAILED, mremap(sq, self->len, T_PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(sq + T_PAGE, T_PAGE, T_PAGE * 2, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap((void *)(uintptr_t)self->qp.map[2], T_PAGE, 2 * T_PAGE,
				     MREMAP_MAYMOVE));
	EXPECT_OK(works(&self->qp));
}

/* Duplicates, if the kernel makes any, are revoked like all. */
TEST_F(life, M4_mremap_duplicates)
{
	void *dup[2];

	dup[0] = mremap(self->qp.sq, 0, self->len, MREMAP_MAYMOVE);
	dup[1] = mremap(self->qp.sq, self->len, self->len,
			MREMAP_MAYMOVE | 4 /* MREMAP_DONTUNMAP */);
	EXPECT_OK(works(&self->qp));
	ASSERT_OK(t_destroy(self->fd, self->qp.qpc.handle));
	EXPECT_OK(all_bus(self->qp.sq, self->len));
	for (int i = 0; i < 2; i++) {
		if (dup[i] == MAP_FAILED)
			continue;
		EXPECT_OK(all_bus(dup[i], self->len));
		munmap(dup[i], self->len);
	}
}

/* A mapping is one piece: nothing that would split it is done. */
TEST_F(life, M4_no_splits)
{
	uint8_t *sq = self->qp.sq;
	const struct {
		size_t off, len;
	} part[] = {
		{ 0, T_PAGE }, { T_PAGE, T_PAGE }, { self->len - T_PAGE, T_PAGE },
		{ T_PAGE, self->len - T_PAGE }, { 0, self->len - T_PAGE },
	};
	uint8_t *room = mmap(NULL, self->len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < ARRAY_SIZE(part); i++) {
		EXPECT_EQ(-1, munmap(sq + part[i].off, part[i].len)) TH_LOG("part %zu", i);
		EXPECT_EQ(-1, mprotect(sq + part[i].off, part[i].len, PROT_READ))
			TH_LOG("part %zu", i);
		EXPECT_EQ(-1, mprotect(sq + part[i].off, part[i].len, PROT_NONE))
			TH_LOG("part %zu", i);
		EXPECT_EQ(MAP_FAILED, mremap(sq + part[i].off, part[i].len, part[i].len,
					     MREMAP_MAYMOVE | MREMAP_FIXED, room))
			TH_LOG("part %zu", i);
		EXPECT_EQ(MAP_FAILED, mmap(sq + part[i].off, part[i].len, PROT_READ,
					   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0))
			TH_LOG("part %zu", i);
	}
	memset(sq, 0x11, self->len);
	EXPECT_OK(works(&self->qp));
}

/* Advice of every kind, on every region: it goes on working. */
TEST_F(life, M4_advice)
{
	for (int i = 0; i < 4; i++) {
		size_t len = i == 0 ? self->len : T_PAGE;

		if (!self->qp.map[i])
			continue;
		for (int advice = 0; advice < 30; advice++) {
			madvise(self->qp.map[i], len, advice);
			ASSERT_OK(works(&self->qp)) TH_LOG("region %d advice %d", i, advice);
		}
		mlock(self->qp.map[i], len);
		ASSERT_OK(works(&self->qp));
		munlock(self->qp.map[i], len);
		msync(self->qp.map[i], len, MS_SYNC);
		t_sleep_ns(T_NS / 100);
		ASSERT_OK(works(&self->qp)) TH_LOG("region %d", i);
	}
	EXPECT_EQ(-1, ftruncate(self->fd, 0));
	EXPECT_NE(0, fallocate(self->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096));
	EXPECT_OK(works(&self->qp));
}

TEST_F(life, M5_child_outlives_parent)
{
	int pipes[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(pipes));
	for (int i = 0; i < 4; i++)
		madvise(self->qp.map[i], i ? T_PAGE : self->len, MADV_DOFORK);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		char c;
		int bad;

		close(pipes[1]);
		/* The parent lets go of everything first. */
		if (read(pipes[0], &c, 1) != 0)
			_exit(1);
		bad = works(&self->qp) != 0;
		bad |= (t_shutdown(self->fd) != 0) << 1;
		bad |= (all_bus(self->qp.sq, self->len) != 0) << 2;
		bad |= (t_touch_write((void *)(uintptr_t)self->qp.db) != SIGBUS) << 3;
		_exit(bad);
	}
	t_qp_unmap(&self->qp);
	close(self->fd);
	self->fd = -1;
	close(pipes[1]);
	EXPECT_EQ(0, t_reap(pid, T_WAIT_NS));
	close(pipes[0]);
}

/* Children that touch while the parent destroys: SIGBUS or not, nothing else. */
TEST_F(life, M5_forks_and_destroy)
{
	unsigned long rounds = t_short(12, 64);

	for (unsigned long i = 0; i < rounds; i++) {
		struct t_qp qp;
		pid_t pid;

		ASSERT_OK(t_qp_open(&qp, self->fd, 64));
		ASSERT_OK(works(&self->qp));
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid) {
			for (int k = 0; k < 1000; k++) {
				int sig = t_touch_write(qp.sq);

				if (sig && sig != SIGBUS)
					_exit(sig);
				sig = t_touch_write((void *)(uintptr_t)self->qp.db);
				if (sig)
					_exit(sig);
			}
			_exit(0);
		}
		if (i & 1)
			t_sleep_ns(500000);
		t_qp_close(&qp);
		ASSERT_OK(works(&self->qp));
		ASSERT_EQ(0, t_reap(pid, T_WAIT_NS));
	}
}

/* --- threads against destruction --- */

struct hammer {
	int fd;
	struct gda_region_info info;	/* written and read without any order */
	bool stop;
	unsigned long hits, misses, bad;
};

static void *mapper(void *arg)
{
	struct hammer *h = arg;

	while (!__atomic_load_n(&h->stop, __ATOMIC_RELAXED)) {
		struct gda_region_info info = h->info;
		uint8_t *p;

		if (!info.length)
			continue;
		p = mmap(NULL, info.length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			 h->fd, (off_t)info.cookie);
		if (p == MAP_FAILED) {
			h->misses++;
			h->bad += errno != ENXIO && errno != EINVAL;
			continue;
		}
		h->hits++;
		munmap(p, info.length);
	}
	return NULL;
}

TEST_F(life, M7_mmap_against_destroy)
{
	struct hammer hammer = { .fd = self->fd };
	uint64_t end = t_now() + t_short(1, 3) * T_NS;
	pthread_t thread[2];

	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, mapper, &hammer));
	}
	for (int i = 0; t_now() < end; i++) {
		struct gda_cq_create cq;
		struct gda_qp_create qp;

		ASSERT_OK(t_cq_create(self->fd, GDA_CQ_COLLAPSED | GDA_CQ_WRITABLE, 1, &cq));
		ASSERT_OK(t_qp_create(self->fd, cq.handle, i & 1 ? 64 : 4096, &qp));
		hammer.info = i % 3 ? qp.sq : cq.cq;
		t_sleep_ns((uint64_t)(i % 7) * 50000);
		ASSERT_OK(t_destroy(self->fd, qp.handle));
		ASSERT_OK(t_destroy(self->fd, cq.handle));
	}
	__atomic_store_n(&hammer.stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	TH_LOG("%lu mapped, %lu too late", hammer.hits, hammer.misses);
	EXPECT_EQ(0, hammer.bad);
}

/* One process touches as fast as it can, another one destroys under it. */
TEST_F(life, M6_touch_against_destroy)
{
	unsigned long rounds = t_short(40, 100);

	for (unsigned long i = 0; i < rounds; i++) {
		struct t_qp qp;
		pid_t pid;

		ASSERT_OK(t_qp_open(&qp, self->fd, 64));
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid) {
			int sig;

			while (!(sig = t_touch_write(qp.sq)))
				madvise(qp.map[0], T_PAGE, MADV_DONTNEED);
			_exit(sig);
		}
		t_sleep_ns(i % 10 * 100000);
		ASSERT_OK(t_destroy(self->fd, qp.qpc.handle));
		ASSERT_EQ(SIGBUS, t_reap(pid, T_WAIT_NS));
		t_qp_unmap(&qp);
		ASSERT_OK(t_destroy(self->fd, qp.cqc.handle));
	}
}

/* --- contents --- */

/*
 * Fill memory with a pattern and give it back, so that it is what is found next: page by
 * page, as those that are given back last are handed out first.
 */
static void poison(void)
{
	size_t len = 16UL << 20;
	uint8_t *p = t_pages(len);

	if (!p)
		return;
	madvise(p, len, MADV_NOHUGEPAGE);
	memset(p, 0xaa, len);
	munmap(p, len);
}

static int counter_create(int fd, struct gda_counter_create *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->size = sizeof(*cmd);
	return t_ioctl(fd, GDA_IOC_COUNTER_CREATE, cmd);
}

/* Entries of a ring in which nothing was completed, and zeros up to its last page's end. */
static bool ring_is_new(const uint8_t *p, const struct gda_cq_create *cq)
{
	const size_t own = offsetof(struct gda_mlx5_cqe, op_own);

	for (uint32_t i = 0; i < cq->depth; i++, p += 64)
		if (!t_all(p, 0, own) || p[own] >> 4 != GDA_MLX5_CQE_INVALID)
			return false;
	return t_all(p, 0, cq->cq.length - cq->depth * 64);
}

/* All that a new context can map, to the last byte. */
static int new_context_shows(unsigned int shift)
{
	struct gda_counter_create count;
	struct gda_cq_create cq;
	uint8_t *ring, *counter;
	struct t_qp qp;
	int fd;

	poison();
	fd = t_context();
	CHECK(fd >= 0);
	CHECK(!t_qp_open(&qp, fd, (t_speaks_efa() ? T_EFA_MAX_DEPTH : 32768) >> shift));
	CHECK(!t_cq_create(fd, 0, 65536 >> (shift + 2), &cq));
	CHECK(!counter_create(fd, &count));
	ring = t_map(fd, &cq.cq);
	counter = t_map(fd, &count.counter);
	CHECK(ring != MAP_FAILED && counter != MAP_FAILED);
	CHECK(t_all(qp.map[0], 0, qp.qpc.sq.length));
	CHECK(!qp.map[1] || t_all(qp.map[1], 0, qp.qpc.dbrec.length));
	CHECK(t_all(qp.map[2], 0, qp.qpc.db.length));
	CHECK(t_all(qp.map[3], t_is_efa(&qp) ? 0 : 0xff, 64));
	CHECK(t_all((uint8_t *)qp.map[3] + 64, 0, qp.cqc.cq.length - 64));
	CHECK(ring_is_new(ring, &cq));
	CHECK(t_all(counter, 0, count.counter.length));
	munmap(ring, cq.cq.length);
	munmap(counter, count.counter.length);
	t_qp_unmap(&qp);
	return close(fd);
}

/* Where the kernel clears all pages by itself (init_on_alloc) this cannot fail. */
TEST_F(life, M8_nothing_old_shows)
{
	for (unsigned int i = 0; i < 14; i += 2) {
		EXPECT_EQ(0, new_context_shows(i)) TH_LOG("round %u", i);
	}
}

/* 1: what is at @p is write-back cached, 0: it is not, -errno: nothing is there. */
static int is_cached(int test, const void *p)
{
	struct gda_test_memtype cmd = { .addr = (uintptr_t)p };
	int err = t_ioctl(test, GDA_TEST_MEMTYPE, &cmd);

	return err ? err : (int)cmd.cached;
}

static int all_cached(int test, uint8_t *p, size_t len)
{
	for (size_t off = 0; off < len; off += T_PAGE) {
		CHECK(!t_touch_read(p + off));
		CHECK(is_cached(test, p + off) == 1);
	}
	return 0;
}

/* ... of a region, mapped by its cookie, and by those who have its dma-buf. */
static int region_cached(int test, int fd, uint32_t handle, uint32_t type)
{
	struct gda_region_query query = { .size = sizeof(query), .handle = handle, .type = type };
	struct gda_region_export buf = { .size = sizeof(buf), .handle = handle, .type = type };
	uint8_t *p[2];
	int err;

	CHECK(!t_ioctl(fd, GDA_IOC_REGION_INFO, &query));
	CHECK(!t_ioctl(fd, GDA_IOC_REGION_EXPORT, &buf));
	p[0] = t_map(fd, &query.info);
	p[1] = mmap(NULL, buf.length, PROT_READ, MAP_SHARED, buf.fd, 0);
	close(buf.fd);
	CHECK(p[0] != MAP_FAILED && p[1] != MAP_FAILED);
	err = all_cached(test, p[0], query.info.length);
	if (!err)
		err = all_cached(test, p[1], buf.length);
	munmap(p[0], query.info.length);
	munmap(p[1], buf.length);
	return err;
}

/* Memory of another type is reported as such: a buffer of gda_test. */
static int combined(int test)
{
	struct gda_test_export cmd = { .length = T_PAGE, .flags = GDA_TEST_WC };
	uint8_t *p;
	int cached;

	CHECK(!t_ioctl(test, GDA_TEST_EXPORT, &cmd));
	p = mmap(NULL, T_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, cmd.fd, 0);
	close(cmd.fd);
	CHECK(p != MAP_FAILED);
	CHECK(is_cached(test, p) == -EFAULT);
	CHECK(!t_touch_write(p));
	cached = is_cached(test, p);
	munmap(p, T_PAGE);
	return cached;
}

/* Ordinary memory is write-back everywhere: no page of ours has a type of its own. */
TEST_F(life, M9_memory_type)
{
	int test = open("/dev/gda_test", O_RDWR | O_CLOEXEC), fd = self->fd;
	uint32_t qp = self->qp.qpc.handle, cq = self->qp.cqc.handle;
	struct gda_counter_create count;
	struct gda_cq_create ring, rw;

	if (test < 0 && errno == ENOENT)
		SKIP(return, "no gda_test to look into page tables");
	ASSERT_LE(0, test);
	ASSERT_EQ(0, combined(test));
	ASSERT_OK(t_cq_create(fd, 0, 256, &ring));
	ASSERT_OK(t_cq_create(fd, GDA_CQ_COLLAPSED | GDA_CQ_WRITABLE, 1, &rw));
	ASSERT_OK(counter_create(fd, &count));
	EXPECT_EQ(0, region_cached(test, fd, qp, GDA_REGION_SQ));
	if (!t_is_efa(&self->qp))
		EXPECT_EQ(0, region_cached(test, fd, qp, GDA_REGION_DBREC));
	EXPECT_EQ(0, region_cached(test, fd, qp, GDA_REGION_DB));
	EXPECT_EQ(0, region_cached(test, fd, cq, GDA_REGION_CQ));
	EXPECT_EQ(0, region_cached(test, fd, rw.handle, GDA_REGION_CQ));
	EXPECT_EQ(0, region_cached(test, fd, ring.handle, GDA_REGION_CQ));
	EXPECT_EQ(0, region_cached(test, fd, ring.handle, GDA_REGION_CQ_DBREC));
	EXPECT_EQ(0, region_cached(test, fd, count.handle, GDA_REGION_COUNTER));
	close(test);
}

TEST_F(life, M10_pages_held_by_a_pipe)
{
	struct iovec iov = { .iov_base = self->qp.sq, .iov_len = T_PAGE };
	char back[T_PAGE_MOST];
	int fds[2];

	memset(self->qp.sq, 0x42, T_PAGE);
	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ((ssize_t)T_PAGE, vmsplice(fds[1], &iov, 1, 0));
	ASSERT_OK(t_shutdown(self->fd));
	t_qp_unmap(&self->qp);
	close(self->fd);
	self->fd = -1;
	poison();
	ASSERT_EQ((ssize_t)T_PAGE, read(fds[0], back, T_PAGE));
	EXPECT_TRUE(t_all(back, 0x42, T_PAGE));
	close(fds[0]);
	close(fds[1]);
}

/* A pin on the doorbell page: the queue is still served, then and afterwards. */
TEST_F(life, M10_doorbell_held_by_a_pipe)
{
	struct iovec iov = { .iov_base = self->qp.map[2], .iov_len = T_PAGE };
	int fds[2];

	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ((ssize_t)T_PAGE, vmsplice(fds[1], &iov, 1, 0));
	for (int i = 0; i < 20; i++) {
		t_sleep_ns(i % 2 ? T_NS / 100 : 0);
		ASSERT_OK(works(&self->qp));
	}
	close(fds[0]);
	close(fds[1]);
	for (int i = 0; i < 20; i++) {
		t_sleep_ns(i % 2 ? T_NS / 100 : 0);
		ASSERT_OK(works(&self->qp));
	}
}

/* One's own queue as an MR: it can be written to by itself, and outlives the QP. */
TEST_F(life, M10_queue_as_memory)
{
	struct t_mr mr, own;
	struct t_wr wr;
	struct t_qp other;

	if (t_mr_reg(self->fd, self->qp.sq, self->len, GDA_ACCESS_ALL, &mr))
		SKIP(return, "this kernel refuses to pin it");
	ASSERT_OK(t_mr_new(self->fd, self->len, GDA_ACCESS_ALL, &own));
	ASSERT_OK(t_qp_open(&other, self->fd, 16));
	ASSERT_OK(t_connect(&other, &other));
	/* Through itself, over the entries that are being executed. */
	wr = t_wr_write(&own, 0, &mr, T_PAGE, T_PAGE);
	EXPECT_OK(t_run(&self->qp, &wr, NULL));
	wr = t_wr_write(&own, 0, &mr, 0, (uint32_t)self->len);
	t_run(&self->qp, &wr, NULL);
	ASSERT_OK(t_destroy(self->fd, self->qp.qpc.handle));
	wr = t_wr_write(&own, 0, &mr, 0, (uint32_t)self->len);
	EXPECT_OK(t_run(&other, &wr, NULL));
	wr = t_wr_read(&own, 0, &mr, 0, (uint32_t)self->len);
	EXPECT_OK(t_run(&other, &wr, NULL));
	EXPECT_OK(t_destroy(self->fd, mr.handle));
	t_mr_free(self->fd, &own);
	t_qp_close(&other);
}

TEST_HARNESS_MAIN

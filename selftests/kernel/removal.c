// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md E4: the device is taken away (its driver is unbound) while it is used. A thread that
 * waits is told why, everything else is ENODEV, mapped memory stays, and not a byte moves
 * once unbinding has returned. Importers of an exported buffer are told, too. And E10: objects
 * made by calls that removal does not wait for go like all the rest.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include "gda_fixture.h"
#include "../kmod/gda_test/ioctl.h"

#define DRIVER	"/sys/bus/platform/drivers/gda_soft/"
#define LEN	(256U << 10)
#define DEPTH	64

FIXTURE(removal) {
	char nothing;
};

T_SETUP(removal)
{
}

T_TEARDOWN(removal)
{
	if (access(DRIVER "gda_soft", F_OK))
		EXPECT_OK(t_soft0("bind"));
}

static void fill(struct t_end end[2])
{
	while (end[0].qp.next % DEPTH || !end[0].qp.next) {
		struct t_wr wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, LEN);

		t_post(&end[0].qp, &wr);
	}
	t_ring(&end[0].qp);
}

/*
 * Until the queue has failed; whether it says that the device has gone. While data moves
 * it may be the peer of which it is seen first.
 */
static int told(const struct t_qp *qp, bool moves)
{
	uint64_t until = t_now() + T_WAIT_NS;
	struct t_done done;

	do {
		memset(&done, 0, sizeof(done));
		/* no request failed; without GDA_CQ_COLLAPSED efa says nothing else */
		if ((t_poll(qp, qp->next - 1, &done) || !qp->next) && !done.error && t_is_efa(qp))
			return 0;
	} while (!done.error && t_now() < until);
	if (!done.error)
		return -ETIMEDOUT;
	if (moves && done.first_vendor == GDA_MLX5_VENDOR_PEER)
		return 0;
	return done.first_vendor == GDA_MLX5_VENDOR_DEVICE ? 0 : done.first_vendor;
}

/* Work that is posted later is flushed, too. */
static int flushed(struct t_qp *qp)
{
	uint64_t until = t_now() + T_WAIT_NS, index;
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_done done;

	index = t_post(qp, &nop);
	t_ring(qp);
	while (!t_poll(qp, index, &done))
		if (t_now() > until)
			return -ETIMEDOUT;
	return done.error ? 0 : -EIO;
}

TEST_F_TIMEOUT(removal, E4_under_traffic, 300)
{
	unsigned long rounds = t_short(30, 100);
	unsigned int seed = 1;

	for (unsigned long i = 0; i < rounds; i++) {
		struct gda_cq_create cq;
		struct t_end end[2], idle[2];
		uint8_t *copy = malloc(LEN);
		struct t_mr mr;

		ASSERT_OK(t_pair_open(end, DEPTH, LEN));
		ASSERT_OK(t_pair_open(idle, DEPTH, T_PAGE));
		memset(end[0].mr.addr, (int)i + 1, LEN);
		fill(end);
		t_sleep_ns((uint64_t)(rand_r(&seed) % 5000) * 1000);
		ASSERT_OK(t_soft0("unbind"));
		/* from here on it is not touched */
		memcpy(copy, end[1].mr.addr, LEN);
		ASSERT_OK(told(&end[0].qp, true)) TH_LOG("round %lu", i);
		ASSERT_OK(told(&idle[0].qp, false)) TH_LOG("round %lu", i);
		ASSERT_OK(told(&idle[1].qp, false)) TH_LOG("round %lu", i);
		EXPECT_EQ(0, memcmp(copy, end[1].mr.addr, LEN)) TH_LOG("round %lu", i);
		EXPECT_OK(flushed(&end[0].qp)) TH_LOG("round %lu", i);
		EXPECT_EQ(0, t_touch_write(idle[0].qp.sq));
		EXPECT_EQ(-ENODEV, t_cq_create(end[0].fd, GDA_CQ_COLLAPSED, 1, &cq));
		EXPECT_EQ(-ENODEV, t_mr_reg(end[0].fd, copy, LEN, 0, &mr));
		EXPECT_EQ(-ENODEV, t_destroy(end[0].fd, end[0].mr.handle));
		EXPECT_EQ(-ENODEV, t_context());
		t_pair_close(end);
		t_pair_close(idle);
		ASSERT_OK(t_soft0("bind"));
		free(copy);
	}
}

/* Sleeping threads are woken. */
TEST_F(removal, E4_events)
{
	struct gda_cq_event arm = { .flags = GDA_CQ_ARM };
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct pollfd p = { .fd = event, .events = POLLIN };
	struct t_end end[2];

	ASSERT_GE(event, 0);
	ASSERT_OK(t_pair_open(end, DEPTH, T_PAGE));
	arm.size = sizeof(arm);
	arm.handle = end[0].qp.cqc.handle;
	arm.eventfd = event;
	ASSERT_OK(t_ioctl(end[0].fd, GDA_IOC_CQ_EVENT, &arm));
	ASSERT_OK(t_soft0("unbind"));
	EXPECT_EQ(1, poll(&p, 1, 20000));
	EXPECT_OK(told(&end[0].qp, false));
	t_pair_close(end);
	close(event);
}

static bool stop;

struct user {
	unsigned long works, gone, other;
	int last;
};

static void *use(void *arg)
{
	struct user *u = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct t_end end[2];
		int err = t_pair_open(end, DEPTH, T_PAGE);
		struct t_wr wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 64);

		if (!err)
			err = t_run(&end[0].qp, &wr, NULL);
		t_pair_close(end);
		if (!err)
			__atomic_add_fetch(&u->works, 1, __ATOMIC_RELAXED);
		/* a syndrome; ENOENT: the peer's context went first */
		else if (err == -ENODEV || err == -ENOENT || err > 0)
			u->gone++;
		else
			u->other++, u->last = err;
	}
	return NULL;
}

static bool worked(const struct user *u)
{
	return __atomic_load_n(&u[0].works, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&u[1].works, __ATOMIC_RELAXED);
}

/* It comes and goes while others open, bind, create, post and close. */
TEST_F_TIMEOUT(removal, E4_against_everything, 300)
{
	uint64_t end = t_now() + t_longer(4) * T_NS, late = 0;
	struct user u[2] = { };
	unsigned long n = 0;
	pthread_t thread[2];

	stop = false;
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, use, &u[i]));
	for (; t_more(t_now(), end, worked(u), &late); n++) {
		ASSERT_OK(t_soft0("unbind"));
		t_sleep_ns(T_NS / 1000);
		ASSERT_OK(t_soft0("bind"));
		t_sleep_ns(T_NS / 50);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, u[i].other) TH_LOG("last %d", u[i].last);
	}
	TH_LOG("%lu removals, %lu uses, %lu ended by it", n, u[0].works + u[1].works,
	       u[0].gone + u[1].gone);
	EXPECT_GT(u[0].works + u[1].works, 0);
}

static int export_region(int fd, uint32_t handle, uint32_t type)
{
	struct gda_region_export cmd = { .size = sizeof(cmd), .handle = handle, .type = type };
	int err = t_ioctl(fd, GDA_IOC_REGION_EXPORT, &cmd);

	return err ? err : cmd.fd;
}

/* A device that has attached @buf: its file, or -errno. */
static int import(int32_t buf)
{
	int dev = open("/dev/gda_test_importer", O_RDWR | O_CLOEXEC);
	int err = dev < 0 ? -errno : t_ioctl(dev, GDA_TEST_ATTACH, &buf);

	if (!err)
		return dev;
	close(dev);
	return err;
}

static int notified(int dev)
{
	uint32_t n = 0;
	int err = t_ioctl(dev, GDA_TEST_NOTIFIED, &n);

	return err ? err : (int)n;
}

static int map_fails(int buf, int prot)
{
	void *p = mmap(NULL, T_PAGE, prot, MAP_SHARED, buf, 0);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, T_PAGE);
	return 0;
}

enum { SQ, REC, DB, ORPHAN, EXPORTS };

/* Three of a context that lives, and one of a context that has been closed. */
static int export_all(struct t_end end[2], int buf[EXPORTS])
{
	static const uint32_t types[] = { GDA_REGION_SQ, GDA_REGION_DBREC, GDA_REGION_DB };

	for (int i = 0; i < ORPHAN; i++) {
		buf[i] = export_region(end[0].fd, end[0].qp.qpc.handle, types[i]);
		if (buf[i] < 0)
			return buf[i];
	}
	buf[ORPHAN] = export_region(end[1].fd, end[1].qp.qpc.handle, GDA_REGION_SQ);
	t_mr_free(end[1].fd, &end[1].mr);
	t_qp_unmap(&end[1].qp);
	close(end[1].fd);
	end[1].fd = 0;
	return buf[ORPHAN] < 0 ? buf[ORPHAN] : 0;
}

/* Each importer is told, once; nobody gets at an export any more, who has it keeps it. */
TEST_F(removal, E4_exports)
{
	int buf[EXPORTS], dev[EXPORTS], fd, cq;
	struct t_end end[2];
	uint8_t *map[EXPORTS];
	struct t_mr mr;

	T_NEEDS("GDA_REGION_DBREC");
	ASSERT_OK(t_pair_open(end, DEPTH, T_PAGE));
	cq = export_region(end[0].fd, end[0].qp.cqc.handle, GDA_REGION_CQ);
	ASSERT_LE(0, cq);
	ASSERT_OK(export_all(end, buf));
	for (int i = 0; i < EXPORTS; i++) {
		dev[i] = import(buf[i]);
		ASSERT_LE(0, dev[i]) TH_LOG("export %d", i);
		map[i] = mmap(NULL, T_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, buf[i], 0);
		ASSERT_NE(MAP_FAILED, map[i]);
		memset(map[i], 0x40 + i, T_PAGE);
		EXPECT_EQ(0, notified(dev[i]));
	}
	/* we are an importer, too */
	EXPECT_OK(t_mr_reg_dmabuf(end[0].fd, buf[SQ], T_PAGE, &mr));
	EXPECT_OK(t_mr_reg_dmabuf(end[0].fd, buf[ORPHAN], T_PAGE, &mr));
	for (int round = 0; round < 2; round++) {
		ASSERT_OK(t_soft0("unbind"));
		for (int i = 0; i < EXPORTS; i++) {
			EXPECT_EQ(1, notified(dev[i])) TH_LOG("export %d", i);
			EXPECT_EQ(-ENODEV, t_ioctl(dev[i], GDA_TEST_MAP, NULL));
			EXPECT_EQ(-ENODEV, import(buf[i]));
			EXPECT_EQ(-ENODEV, map_fails(buf[i], PROT_READ));
			EXPECT_TRUE(t_all(map[i], (uint8_t)(0x40 + i), T_PAGE));
		}
		EXPECT_EQ(-ENODEV, map_fails(cq, PROT_READ));
		/* nor when the device is back */
		ASSERT_OK(t_soft0("bind"));
		fd = t_context();
		ASSERT_LE(0, fd);
		EXPECT_EQ(-ENODEV, t_mr_reg_dmabuf(fd, buf[SQ], T_PAGE, &mr));
		EXPECT_EQ(-ENODEV, t_mr_reg_dmabuf(fd, buf[ORPHAN], T_PAGE, &mr));
		close(fd);
	}
	for (int i = 0; i < EXPORTS; i++) {
		EXPECT_TRUE(t_all(map[i], (uint8_t)(0x40 + i), T_PAGE));
		munmap(map[i], T_PAGE);
		close(i & 1 ? buf[i] : dev[i]);
		close(i & 1 ? dev[i] : buf[i]);
	}
	close(cq);
	t_pair_close(end);
}

static void *let_go(void *arg)
{
	int *fd = arg;

	for (int i = 0; i < 2 * EXPORTS; i++)
		close(fd[i]);
	return NULL;
}

/* ... while those who have them let go of them. */
TEST_F_TIMEOUT(removal, E4_exports_against_close, 300)
{
	unsigned long rounds = t_short(20, 50);
	unsigned int seed = 1;

	T_NEEDS("GDA_REGION_DBREC");
	for (unsigned long i = 0; i < rounds; i++) {
		struct t_end end[2];
		int fd[2 * EXPORTS];
		pthread_t thread;
		struct t_mr mr;

		ASSERT_OK(t_pair_open(end, DEPTH, T_PAGE));
		ASSERT_OK(export_all(end, fd));
		for (int n = 0; n < EXPORTS; n++) {
			fd[EXPORTS + n] = import(fd[n]);
			ASSERT_LE(0, fd[EXPORTS + n]) TH_LOG("round %lu", i);
		}
		ASSERT_OK(t_mr_reg_dmabuf(end[0].fd, fd[ORPHAN], T_PAGE, &mr));
		ASSERT_EQ(0, pthread_create(&thread, NULL, let_go, fd));
		t_sleep_ns((uint64_t)(rand_r(&seed) % 300) * 1000);
		ASSERT_OK(t_soft0("unbind"));
		pthread_join(thread, NULL);
		ASSERT_OK(t_soft0("bind"));
		t_pair_close(end);
	}
}

#define MADE	64

struct maker {
	int n;			/* complete ones */
	struct t_qp qp[MADE];
	int buf[MADE];
};

/* Make QPs and export them until there is no device any more. */
static void *make(void *arg)
{
	struct maker *m = arg;
	int fd = t_context();

	for (m->n = 0; fd >= 0 && m->n < MADE; m->n++) {
		struct t_qp *qp = &m->qp[m->n];

		if (t_qp_open(qp, fd, 16))
			break;
		m->buf[m->n] = export_region(fd, qp->qpc.handle, GDA_REGION_SQ);
	}
	return (void *)(intptr_t)fd;
}

TEST_F_TIMEOUT(removal, E10_calls_under_way, 300)
{
	unsigned long rounds = t_rounds(60), partly = 0, i;
	struct maker *m = calloc(1, sizeof(*m));
	uint64_t seed = t_seed(), late = 0;

	ASSERT_NE(NULL, m);
	for (i = 0; t_more(i, rounds, partly, &late); i++) {
		pthread_t thread;
		void *fd;

		ASSERT_EQ(0, pthread_create(&thread, NULL, make, m));
		/* 20 ms, and longer and longer where that is too early */
		t_sleep_ns(t_random(&seed) % (T_NS / 50 * (1 + i % 16)));
		ASSERT_OK(t_soft0("unbind"));
		pthread_join(thread, &fd);
		partly += m->n && m->n < MADE;
		for (int k = 0; k < m->n; k++) {
			ASSERT_OK(told(&m->qp[k], false)) TH_LOG("round %lu: QP %d", i, k);
			t_qp_unmap(&m->qp[k]);
			if (m->buf[k] < 0) {
				EXPECT_EQ(-ENODEV, m->buf[k]);
				continue;
			}
			EXPECT_EQ(-ENODEV, map_fails(m->buf[k], PROT_READ))
				TH_LOG("round %lu: export %d", i, k);
			close(m->buf[k]);
		}
		close((int)(intptr_t)fd);
		ASSERT_OK(t_soft0("bind"));
	}
	TH_LOG("%lu of %lu removals in the midst of calls", partly, i);
	EXPECT_LT(0, partly);
	free(m);
}

#define LOST	64

struct binder {
	bool stop;
	int n;
	int fd[LOST];			/* those whose bind failed */
};

static void *bind_and_close(void *arg)
{
	struct binder *b = arg;

	while (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED) && b->n < LOST) {
		int fd = t_open();

		if (fd < 0)
			break;
		if (t_bind(fd))
			b->fd[b->n++] = fd;
		else
			close(fd);
	}
	return NULL;
}

/* A file that was to be bound to a device that goes stays unbound, and can be bound again. */
TEST_F_TIMEOUT(removal, E10_bind_after_one_that_failed, 300)
{
	unsigned long rounds = t_rounds(40), failed = 0;

	for (unsigned long r = 0; r < rounds; r++) {
		struct binder b = { 0 };
		pthread_t thread;

		ASSERT_EQ(0, pthread_create(&thread, NULL, bind_and_close, &b));
		t_sleep_ns(T_NS / 500);
		ASSERT_OK(t_soft0("unbind"));
		__atomic_store_n(&b.stop, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		ASSERT_OK(t_soft0("bind"));
		for (int i = 0; i < b.n; i++) {
			EXPECT_OK(t_bind(b.fd[i])) TH_LOG("round %lu", r);
			close(b.fd[i]);
		}
		failed += (unsigned long)b.n;
	}
	TH_LOG("%lu binds had failed", failed);
}

TEST_HARNESS_MAIN

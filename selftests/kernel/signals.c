// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Calls that are interrupted or raced: SECURITY.md O7 (signals and kill -9 in every
 * ioctl), O5 (create, use and destroy from many threads).
 */
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include "gda_fixture.h"
#include "requests.h"

FIXTURE(signals) {
	uint64_t rnd;
};

T_SETUP(signals)
{
	self->rnd = t_seed();
	TH_LOG("GDA_SEED=%#llx", (unsigned long long)self->rnd);
}

T_TEARDOWN(signals)
{
}

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void storm(bool on)
{
	struct sigaction act = { .sa_handler = on_alarm };	/* without SA_RESTART */
	struct itimerval it = { 0 };

	if (on) {
		it.it_interval.tv_usec = 200;
		it.it_value.tv_usec = 200;
		sigaction(SIGALRM, &act, NULL);
	}
	setitimer(ITIMER_REAL, &it, NULL);
}

/* Every ioctl under a storm of signals: done, or EINTR and nothing done. */
TEST_F(signals, O7_storm)
{
	uint64_t end = t_now() + t_stress(2) * T_NS;
	unsigned long calls = 0, interrupted = 0;
	uint8_t buf[T_REQUEST_MAX];
	struct t_objects before, after;
	struct t_world w;

	ASSERT_OK(t_world_open(&w));
	for (unsigned int nr = 0; t_now() < end; nr = (nr + 1) % T_CALLS) {
		int fd = t_request(&w, nr, buf), err;

		ASSERT_GE(fd, 0);
		if (nr == 0)
			ASSERT_OK(t_objects_read(&before));
		storm(true);
		err = t_ioctl(fd, t_calls[nr].nr, buf);
		storm(false);
		ASSERT_TRUE(err == 0 || err == -EINTR)
			TH_LOG("%s: %d", t_calls[nr].name, err);
		calls++;
		interrupted += err == -EINTR;
		if (!err)
			ASSERT_OK(t_request_undo(&w, nr, buf));
	}
	TH_LOG("%lu calls, %lu interrupted, %d signals", calls, interrupted, (int)alarms);
	t_request(&w, GDA_IOC_NR_BIND, buf);
	EXPECT_OK(t_objects_settle(&before, &after));
	t_world_close(&w);
}

/* A large registration that signals come into: nothing stays pinned. */
TEST_F(signals, O7_registration_interrupted)
{
	size_t len = 256UL << 20;
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned long rounds = t_stress(6);
	int fd = t_context();
	struct t_mr mr;

	ASSERT_NE(MAP_FAILED, p);
	for (unsigned long i = 0; i < rounds; i++) {
		int err;

		storm(true);
		err = t_mr_reg(fd, p, len, GDA_ACCESS_ALL, &mr);
		storm(false);
		ASSERT_TRUE(err == 0 || err == -EINTR || err == -EFAULT) TH_LOG("%d", err);
		ASSERT_EQ(err ? 0 : (long)(len >> 10),
			  t_proc_value("/proc/self/status", "VmPin"));
		if (!err)
			ASSERT_OK(t_destroy(fd, mr.handle));
		madvise(p, len, MADV_DONTNEED);
	}
	close(fd);
	munmap(p, len);
}

/* All calls over and over, until killed. */
static int busy(void)
{
	uint8_t buf[T_REQUEST_MAX];
	struct t_world w;
	size_t len = 32UL << 20;
	uint8_t *p = t_pages(len);
	struct t_mr mr;

	if (!p || t_world_open(&w))
		return 1;
	for (unsigned int nr = 0;; nr = (nr + 1) % T_CALLS) {
		int fd = t_request(&w, nr, buf);

		if (fd < 0 || t_ioctl(fd, t_calls[nr].nr, buf))
			return 2;
		t_request_undo(&w, nr, buf);
		if (!t_mr_reg(w.fd, p, len, GDA_ACCESS_ALL, &mr))
			t_destroy(w.fd, mr.handle);
	}
}

TEST_F(signals, O7_killed_in_every_call)
{
	unsigned long rounds = t_stress(40);

	for (unsigned long i = 0; i < rounds; i++) {
		pid_t pid = fork();

		ASSERT_GE(pid, 0);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(busy());
		}
		t_sleep_ns(t_random(&self->rnd) % 60000000);
		kill(pid, SIGKILL);
		ASSERT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS)) TH_LOG("round %lu", i);
	}
}

/* --- threads --- */

struct team {
	int fd;
	uint64_t end;
	uint64_t rnd;
	uint32_t *handle;	/* 64 places that all threads take from and put into */
	unsigned long calls, bad;
};

static int create_any(struct team *t, uint64_t r, uint32_t *handle)
{
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	static uint8_t memory[T_PAGE_MOST];
	struct t_mr mr;
	int err;

	switch (r % 3) {
	case 0:
		err = t_cq_create(t->fd, GDA_CQ_COLLAPSED, 1, &cq);
		*handle = cq.handle;
		return err;
	case 1:
		err = t_mr_reg(t->fd, memory, T_PAGE, GDA_ACCESS_ALL, &mr);
		*handle = mr.handle;
		return err;
	default:
		err = t_qp_create(t->fd, t->handle[r / 3 % 64], 64, &qp);
		*handle = qp.handle;
		return err;
	}
}

static bool expected(int err)
{
	return err == 0 || err == -ENOENT || err == -EBUSY || err == -EALREADY;
}

static void *player(void *arg)
{
	struct team *t = arg;

	while (t_now() < t->end) {
		uint64_t r = t_random(&t->rnd);
		uint32_t *place = &t->handle[r >> 8 & 63], handle = 0;
		struct gda_qp_query query;
		int err;

		switch (r & 3) {
		case 0:
			err = t_destroy(t->fd, __atomic_exchange_n(place, 0, __ATOMIC_RELAXED));
			break;
		case 1:
			err = t_qp_connect(t->fd, *place, t->fd, t->handle[r >> 16 & 63]);
			break;
		case 2:
			err = t_qp_query(t->fd, *place, &query);
			break;
		default:
			err = create_any(t, r >> 20, &handle);
			if (!err)
				handle = __atomic_exchange_n(place, handle, __ATOMIC_RELAXED);
			if (!err && handle)
				t_destroy(t->fd, handle);
		}
		t->calls++;
		t->bad += !expected(err);
	}
	return NULL;
}

TEST_F(signals, O5_create_use_destroy)
{
	uint32_t handle[64] = { 0 };
	struct team team[8];
	pthread_t thread[8];
	unsigned long calls = 0;
	int fd = t_context();

	ASSERT_GE(fd, 0);
	for (int i = 0; i < 8; i++) {
		team[i] = (struct team) {
			.fd = fd, .rnd = t_random(&self->rnd), .handle = handle,
			.end = t_now() + t_stress(2) * T_NS,
		};
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, player, &team[i]));
	}
	for (int i = 0; i < 8; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0UL, team[i].bad);
		calls += team[i].calls;
	}
	TH_LOG("%lu calls", calls);
	close(fd);
}

/* The same with a context that is shut down, or closed, under all of them. */
TEST_F(signals, O5_shut_down_under_threads)
{
	unsigned long rounds = t_stress(30);

	for (unsigned long k = 0; k < rounds; k++) {
		uint32_t handle[64] = { 0 };
		struct team team[4];
		pthread_t thread[4];
		int fd = t_context();

		ASSERT_GE(fd, 0);
		for (int i = 0; i < 4; i++) {
			team[i] = (struct team) {
				.fd = fd, .rnd = t_random(&self->rnd), .handle = handle,
				.end = t_now() + T_NS / 20,
			};
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, player, &team[i]));
		}
		t_sleep_ns(t_random(&self->rnd) % (T_NS / 20));
		ASSERT_OK(t_shutdown(fd));
		for (int i = 0; i < 4; i++)
			pthread_join(thread[i], NULL);
		close(fd);
	}
}

TEST_HARNESS_MAIN

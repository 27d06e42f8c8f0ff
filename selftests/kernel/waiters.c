// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md E11 as it was found: a tenant with 200,000 poll entries on the eventfd of a CQ,
 * which it arms again and again. Another tenant that destroys an object, and an exporter that
 * takes memory away, wait for the executors. They wait for those waiters no longer than when
 * the same eventfd is signalled by write(2).
 */
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include "gda_fixture.h"
#include "move.h"

FIXTURE(waiters) {
	int test;			/* /dev/gda_test */
	int fd;				/* the other tenant's context */
};

T_SETUP(waiters)
{
	self->test = open("/dev/gda_test", O_RDWR | O_CLOEXEC);
	self->fd = t_context();
	ASSERT_LE(0, self->test);
	ASSERT_LE(0, self->fd);
}

T_TEARDOWN(waiters)
{
	close(self->fd);
	close(self->test);
}

static int arm(int fd, uint32_t cq, uint32_t flags, int event)
{
	struct gda_cq_event cmd = {
		.size = sizeof(cmd), .flags = flags, .handle = cq, .eventfd = event,
	};

	return t_ioctl(fd, GDA_IOC_CQ_EVENT, &cmd);
}

#define ENTRIES	200000
#define SIDE	450		/* of the square of epoll files and descriptors */

enum { WRITTEN, ARMED, MODES };

struct hostile {
	int fd;
	int event;
	int files[2 * SIDE];
	unsigned int entries;
	struct t_qp qp;
	struct t_mr mr;
	pthread_t thread[2];
	int err;
	volatile int mode;
	volatile bool stop;
	volatile unsigned long rounds;
};

/* Poll entries on @event: epoll files, each of which has it under many descriptors. */
static unsigned int add_waiters(struct hostile *h, unsigned int want)
{
	struct epoll_event ev = { .events = EPOLLIN };
	unsigned int n = 0;

	for (int i = 0; i < SIDE; i++) {
		h->files[i] = epoll_create1(EPOLL_CLOEXEC);
		h->files[SIDE + i] = dup(h->event);
	}
	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE && n < want; j++)
			n += !epoll_ctl(h->files[i], EPOLL_CTL_ADD, h->files[SIDE + j], &ev);
	return n;
}

/* Work without end: copies, so that a visit takes its time. */
static void *posts(void *arg)
{
	struct hostile *h = arg;
	struct t_wr wr = t_wr_write(&h->mr, 0, &h->mr, T_PAGE, 1024);
	uint64_t seen = 0;
	struct t_done done;

	while (!h->stop) {
		while (seen < h->qp.next && t_poll(&h->qp, seen, &done))
			seen++;
		if (h->qp.next - seen > h->qp.depth / 2) {
			t_sleep_ns(T_NS / 10000);
			continue;
		}
		while (h->qp.next - seen < h->qp.depth)
			t_post(&h->qp, &wr);
		t_ring(&h->qp);
	}
	return NULL;
}

/* The eventfd, signalled as often as can be. */
static void *signals_it(void *arg)
{
	const uint64_t one = 1;
	struct hostile *h = arg;

	for (; !h->stop; h->rounds++) {
		if (h->mode == ARMED)
			h->err |= arm(h->fd, h->qp.cqc.handle, GDA_CQ_ARM, -1);
		else
			h->err |= write(h->event, &one, 8) != 8;
	}
	return NULL;
}

static int hostile_open(struct hostile *h)
{
	struct rlimit files = { 4096, 4096 };
	int err;

	setrlimit(RLIMIT_NOFILE, &files);
	h->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	h->entries = add_waiters(h, (unsigned int)t_rounds(ENTRIES));
	h->fd = t_context();
	if (h->fd < 0)
		return h->fd;
	err = t_qp_open(&h->qp, h->fd, 1024);
	err = err ? err : t_connect(&h->qp, &h->qp);
	err = err ? err : t_mr_new(h->fd, 2 * T_PAGE, GDA_ACCESS_ALL, &h->mr);
	err = err ? err : arm(h->fd, h->qp.cqc.handle, 0, h->event);
	err = err ? err : -pthread_create(&h->thread[0], NULL, posts, h);
	return err ? err : -pthread_create(&h->thread[1], NULL, signals_it, h);
}

static void hostile_close(struct hostile *h)
{
	h->stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(h->thread[i], NULL);
	t_mr_free(h->fd, &h->mr);
	t_qp_close(&h->qp);
	close(h->fd);
	for (int i = 0; i < 2 * SIDE; i++)
		close(h->files[i]);
	close(h->event);
}

#define SAMPLES	10
#define GOES	5

struct tenant {
	int fd, test, buf;
	uint64_t destroy[MODES][SAMPLES], move[MODES][SAMPLES];
};

/* Another tenant destroys an object; an exporter takes an MR's memory away. */
static int measure(struct tenant *t, int mode, int i)
{
	struct gda_test_move move = { 0 };
	struct gda_cq_create cq;
	struct t_mr mr;
	uint64_t start;
	int err = t_cq_create(t->fd, GDA_CQ_COLLAPSED, 1, &cq);

	err = err ? err : t_mr_reg_dmabuf(t->fd, t->buf, T_PAGE, &mr);
	if (err)
		return err;
	start = t_now();
	err = t_destroy(t->fd, cq.handle);
	t->destroy[mode][i] = t_now() - start;
	err = err ? err : t_move(t->test, t->buf, 0, &move);
	t->move[mode][i] = move.wait_ns;
	return err ? err : t_destroy(t->fd, mr.handle);
}

static void tell(const char *what, uint64_t v[MODES][SAMPLES])
{
	static const char *const modes[MODES] = { "control, write(2)", "armed CQ" };

	for (int m = 0; m < MODES; m++) {
		t_sort(v[m], SAMPLES);
		printf("# %s, %s: median %llu us, 90 %% %llu us, most %llu us\n", what, modes[m],
		       (unsigned long long)v[m][SAMPLES / 2] / 1000,
		       (unsigned long long)v[m][SAMPLES * 9 / 10] / 1000,
		       (unsigned long long)v[m][SAMPLES - 1] / 1000);
	}
	fflush(stdout);
}

/* One go, @h and the control in turns: what else the machine does hits both alike. */
static int go(struct tenant *t, struct hostile *h, uint64_t *seed)
{
	int err = 0;

	for (int i = 0; i < SAMPLES * MODES && !err; i++) {
		unsigned long before = h->rounds;

		h->mode = i % MODES;
		while (h->rounds < before + 2)
			t_sleep_ns(T_NS / 1000);
		/* at any moment of what it does then */
		t_sleep_ns(T_NS / 100 + t_random(seed) % (T_NS / 50));
		err = measure(t, h->mode, i / MODES);
	}
	tell("destroy", t->destroy);
	tell("move", t->move);
	return err;
}

/* Once is enough: on a busy machine the medians of a few samples may be anything. */
TEST_F(waiters, E11_destroy_beside_many_waiters)
{
	struct tenant t = { .fd = self->fd, .test = self->test };
	struct hostile h = { .mode = WRITTEN };
	uint64_t seed = t_seed(), end = t_now() + 60 * T_NS;
	bool good = false;

	t.buf = t_test_buffer(self->test, T_PAGE, 0);
	ASSERT_LE(0, t.buf);
	ASSERT_OK(hostile_open(&h));
	for (int i = 0; i < GOES && !good && t_now() < end; i++) {
		ASSERT_OK(go(&t, &h, &seed));
		good = t.destroy[ARMED][SAMPLES / 2] <= 2 * t.destroy[WRITTEN][SAMPLES / 2] &&
		       t.move[ARMED][SAMPLES / 2] <= 2 * t.move[WRITTEN][SAMPLES / 2];
	}
	hostile_close(&h);
	EXPECT_EQ(0, h.err);
	TH_LOG("%u waiters", h.entries);
	EXPECT_TRUE(good) TH_LOG("armed takes more than twice what the control takes");
	EXPECT_LE(t_rounds(ENTRIES), h.entries);
	close(t.buf);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * One context, every call at once: threads make objects of every kind, in memory that
 * moves, while others destroy, connect, export and ask by handles they guess, until the
 * context is shut down under them. SECURITY.md O3 (handles that come and go meanwhile), E4
 * (shutdown against creation), K6 (nothing is left).
 */
#include <pthread.h>
#include <sys/eventfd.h>
#include "gda_fixture.h"
#include "move.h"

#define DEPTH	64
#define LEN	(4 * T_PAGE)
#define GUESSES	48U	/* handles begin at 1, and the lowest free one is next */

enum { OK, GONE, REFUSED, OTHER, ANSWERS };

/* State that the threads of a round share. */
struct arena {
	int fd;
	int buf;		/* of gda_test; moves */
	int event;
	uint8_t *mem;		/* ours */
	uint8_t *peer;		/* of gda_test's peer */
	uint64_t seed;
};

struct hand {
	struct arena *a;
	uint64_t seed;
	unsigned long n[ANSWERS];
	int other;		/* the last errno of those */
	int other_call;
};

static int make_cq(struct hand *h, uint32_t guess)
{
	struct gda_cq_create cmd = { .size = sizeof(cmd), .depth = DEPTH };

	if (guess % 2) {
		cmd.depth = 1;
		cmd.flags = GDA_CQ_COLLAPSED;
	}
	if (guess % 3 == 0) {
		cmd.flags |= GDA_CQ_DMABUF;
		cmd.cq_memory.fd = h->a->buf;
	}
	return t_ioctl(h->a->fd, GDA_IOC_CQ_CREATE, &cmd);
}

static int make_qp(struct hand *h, uint32_t guess)
{
	struct gda_qp_create cmd = {
		.size = sizeof(cmd), .dialect = GDA_DIALECT_MLX5, .sq_depth = DEPTH,
		.cq = guess, .recv_cq = guess % 4 ? 0 : (uint32_t)t_random(&h->seed) % GUESSES,
		.sent_counter = guess % 5 ? 0 : (uint32_t)t_random(&h->seed) % GUESSES,
	};

	if (guess % 3 == 0) {
		cmd.flags = GDA_QP_SQ_DMABUF | GDA_QP_DBREC_DMABUF;
		cmd.sq_memory.fd = h->a->buf;
		cmd.dbrec_memory.fd = h->a->buf;
		cmd.dbrec_memory.offset = 3 * T_PAGE;
	}
	return t_ioctl(h->a->fd, GDA_IOC_QP_CREATE, &cmd);
}

static int make_counter(struct hand *h, uint32_t guess)
{
	struct gda_counter_create cmd = { .size = sizeof(cmd) };

	(void)guess;
	return t_ioctl(h->a->fd, GDA_IOC_COUNTER_CREATE, &cmd);
}

static int make_mr(struct hand *h, uint32_t guess)
{
	struct t_mr mr;

	switch (guess % 3) {
	case 0:
		return t_mr_reg(h->a->fd, h->a->mem, LEN, GDA_ACCESS_ALL, &mr);
	case 1:
		return t_mr_reg_dmabuf(h->a->fd, h->a->buf, LEN, &mr);
	default:
		return t_mr_reg_peer(h->a->fd, h->a->peer, LEN, GDA_ACCESS_ALL, &mr);
	}
}

static int destroy(struct hand *h, uint32_t guess)
{
	return t_destroy(h->a->fd, guess);
}

static int connect_to_itself(struct hand *h, uint32_t guess)
{
	return t_qp_connect(h->a->fd, guess, h->a->fd, guess);
}

static int map(struct hand *h, uint32_t guess)
{
	struct gda_region_query cmd = {
		.size = sizeof(cmd), .handle = guess,
		.type = 1 + (uint32_t)t_random(&h->seed) % GDA_REGION_RECORD,
	};
	int err = t_ioctl(h->a->fd, GDA_IOC_REGION_INFO, &cmd);
	void *p;

	if (err)
		return err;
	p = t_map(h->a->fd, &cmd.info);
	if (p == MAP_FAILED)
		return -errno;
	/* a load: faults, and is no SIGBUS of ours if the kernel does it */
	if (write(h->a->event, p, 8) < 0 && errno != EFAULT && errno != EAGAIN && errno != EINVAL)
		return -errno;
	munmap(p, cmd.info.length);
	return 0;
}

static int export(struct hand *h, uint32_t guess)
{
	struct gda_region_export cmd = {
		.size = sizeof(cmd), .handle = guess,
		.type = 1 + (uint32_t)t_random(&h->seed) % GDA_REGION_COUNTER,
	};
	int err = t_ioctl(h->a->fd, GDA_IOC_REGION_EXPORT, &cmd);

	if (!err)
		close(cmd.fd);
	return err;
}

static int ask(struct hand *h, uint32_t guess)
{
	struct gda_mr_query mr = { .size = sizeof(mr), .handle = guess };
	struct gda_qp_query qp;
	int err = t_qp_query(h->a->fd, guess, &qp);

	return err == -ENOENT ? t_ioctl(h->a->fd, GDA_IOC_MR_QUERY, &mr) : err;
}

static int arm(struct hand *h, uint32_t guess)
{
	struct gda_cq_event cmd = {
		.size = sizeof(cmd), .flags = GDA_CQ_ARM, .handle = guess, .eventfd = h->a->event,
	};

	return t_ioctl(h->a->fd, GDA_IOC_CQ_EVENT, &cmd);
}

typedef int call(struct hand *h, uint32_t guess);

/* Of both together as many are destroyed as made. */
static call *const makers[] = { make_cq, make_qp, make_mr, make_counter, make_qp, arm };
static call *const others[] = { destroy, connect_to_itself, destroy, map, destroy, export,
				destroy, ask };

/* Errors that a call may return when it meets another one: see gda/ioctl.h. */
static int answer(int err)
{
	switch (err) {
	case 0:
		return OK;
	case -ENODEV:
		return GONE;
	case -ENOENT:		/* destroyed; or never there */
	case -EBUSY:		/* a QP uses it */
	case -EAGAIN:		/* the memory moved meanwhile */
	case -EALREADY:		/* connected, or failed of memory that moved */
	case -ENXIO:		/* mmap: destroyed since it was asked for */
	case -EINVAL:		/* a collapsed CQ to receive with */
		return REFUSED;
	default:
		return OTHER;
	}
}

/* Until the context has gone. */
static void churn(struct hand *h, call *const *calls, unsigned int n)
{
	uint64_t end = t_now() + T_WAIT_NS;

	while (!h->n[GONE] && t_now() < end) {
		unsigned int c = (unsigned int)(t_random(&h->seed) % n);
		int err = calls[c](h, (uint32_t)(t_random(&h->seed) % GUESSES));

		h->n[answer(err)]++;
		if (answer(err) == OTHER) {
			h->other = -err;
			h->other_call = (int)c;
		}
	}
}

static void *make_main(void *arg)
{
	churn(arg, makers, ARRAY_SIZE(makers));
	return NULL;
}

static void *other_main(void *arg)
{
	churn(arg, others, ARRAY_SIZE(others));
	return NULL;
}

FIXTURE(churn) {
	struct arena a;
	int gpu;
	struct t_mover mover;
};

T_SETUP(churn)
{
	/* it must pause, or no queue would ever be built */
	self->mover = (struct t_mover) { .pause = T_NS / 100 };
	self->mover.test = open("/dev/gda_test", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->mover.test);
	self->mover.buf = t_test_buffer(self->mover.test, LEN, 0);
	ASSERT_LE(0, self->mover.buf);
	self->gpu = t_gpu_open(LEN, 0, (void **)&self->a.peer);
	ASSERT_LE(0, self->gpu);
	self->a.buf = self->mover.buf;
	self->a.mem = t_pages(LEN);
	self->a.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ASSERT_NE(NULL, self->a.mem);
	ASSERT_LE(0, self->a.event);
	self->a.seed = t_seed();
	TH_LOG("GDA_SEED=%llu", (unsigned long long)self->a.seed);
	ASSERT_EQ(0, t_mover_start(&self->mover));
}

T_TEARDOWN(churn)
{
	t_mover_stop(&self->mover);
	EXPECT_EQ(0, self->mover.err);
	EXPECT_EQ(0, self->mover.changed);
	close(self->mover.buf);
	close(self->mover.test);
	munmap(self->a.peer, LEN);
	close(self->gpu);
	munmap(self->a.mem, LEN);
	close(self->a.event);
}

#define HANDS	4

/* The figures of a round, added to those of all. */
static int round_of(struct arena *a, unsigned long sum[ANSWERS], struct hand *odd)
{
	struct hand hand[HANDS];
	pthread_t thread[HANDS];
	int n, err;

	for (n = 0; n < HANDS; n++) {
		hand[n] = (struct hand) { .a = a, .seed = t_random(&a->seed) };
		err = pthread_create(&thread[n], NULL, n % 2 ? other_main : make_main, &hand[n]);
		if (err)
			break;
	}
	t_sleep_ns(t_random(&a->seed) % (T_NS / 20));
	err = n < HANDS ? -EAGAIN : 0;
	if (t_shutdown(a->fd))
		err = -EIO;
	while (n--) {
		pthread_join(thread[n], NULL);
		for (int k = 0; k < ANSWERS; k++)
			sum[k] += hand[n].n[k];
		if (hand[n].n[OTHER])
			*odd = hand[n];
	}
	return err;
}

/* Only the file is left of a context that was shut down. */
TEST_F_TIMEOUT(churn, E4_O3_shutdown_against_every_call, 300)
{
	unsigned long n = t_short(60, 200), sum[ANSWERS] = { 0 };
	struct hand odd = { 0 };

	for (unsigned long i = 0; i < n; i++) {
		struct t_objects base, now;

		self->a.fd = t_context();
		ASSERT_LE(0, self->a.fd);
		ASSERT_OK(t_objects_read(&base));
		ASSERT_OK(round_of(&self->a, sum, &odd)) TH_LOG("round %lu", i);
		EXPECT_OK(t_objects_settle(&base, &now)) TH_LOG("round %lu", i);
		close(self->a.fd);
	}
	EXPECT_EQ(0, sum[OTHER]) TH_LOG("errno %d of call %d", odd.other, odd.other_call);
	/* each of them has seen the end */
	EXPECT_EQ(n * HANDS, sum[GONE]);
	EXPECT_LT(0, sum[OK]);
	TH_LOG("%lu shutdowns, %lu calls did something, %lu were refused, %lu moves", n, sum[OK],
	       sum[REFUSED], self->mover.moves);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Queues in memory of the caller: send queue, record and CQ in dma-bufs of other
 * drivers. SECURITY.md K5 (the memory is taken away under traffic), M9 (its type), M11
 * (who outlives whom), E4 (teardown meanwhile). Whether the old memory changes is
 * gda_test's to say, see revoke.c.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include "gda_fixture.h"
#include "move.h"

#define DEPTH	64
#define LEN	(2 * T_PAGE)

enum { SQ, REC, CQ, PARTS };

/* Where each part begins in its buffer: all can lie in one. */
static const uint64_t place[PARTS] = { [SQ] = 1024, [REC] = 8, [CQ] = 512 };

struct queue {
	int fd;
	int buf[PARTS];		/* -1: memory of the driver */
	uint8_t *map[PARTS];
	struct t_qp qp;
};

FIXTURE(queue) {
	int test;		/* /dev/gda_test */
	int fd;
	struct t_mr mem;
};

T_SETUP(queue)
{
	self->test = open("/dev/gda_test", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->test);
	self->fd = t_context();
	ASSERT_LE(0, self->fd);
	ASSERT_OK(t_mr_new(self->fd, LEN, GDA_ACCESS_ALL, &self->mem));
}

T_TEARDOWN(queue)
{
	t_mr_free(self->fd, &self->mem);
	close(self->fd);
	close(self->test);
}

static struct gda_queue_memory part(const struct queue *q, int n)
{
	struct gda_queue_memory mem = { 0 };

	if (q->buf[n] >= 0) {
		mem.fd = q->buf[n];
		mem.offset = place[n];
	}
	return mem;
}

static int make_cq(struct queue *q, struct gda_cq_create *cq)
{
	memset(cq, 0, sizeof(*cq));
	cq->size = sizeof(*cq);
	cq->depth = 1;
	cq->flags = GDA_CQ_COLLAPSED | (q->buf[CQ] >= 0 ? GDA_CQ_DMABUF : 0);
	cq->cq_memory = part(q, CQ);
	return t_ioctl(q->fd, GDA_IOC_CQ_CREATE, cq);
}

static int make_qp(struct queue *q, uint32_t cq, struct gda_qp_create *qp)
{
	memset(qp, 0, sizeof(*qp));
	qp->size = sizeof(*qp);
	qp->dialect = GDA_DIALECT_MLX5;
	qp->cq = cq;
	qp->sq_depth = DEPTH;
	qp->flags = (q->buf[SQ] >= 0 ? GDA_QP_SQ_DMABUF : 0) |
		    (q->buf[REC] >= 0 ? GDA_QP_DBREC_DMABUF : 0);
	qp->sq_memory = part(q, SQ);
	qp->dbrec_memory = part(q, REC);
	return t_ioctl(q->fd, GDA_IOC_QP_CREATE, qp);
}

/* Map a part, wherever it is. Return: its first byte, or NULL. */
static uint8_t *map_part(struct queue *q, int n, const struct gda_region_info *info)
{
	static const struct gda_region_info none;
	bool ours = q->buf[n] < 0;
	void *p;

	if (!ours && memcmp(info, &none, sizeof(none)))
		return NULL;
	p = ours ? t_map(q->fd, info) :
		   mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, q->buf[n], 0);
	if (p == MAP_FAILED)
		return NULL;
	q->map[n] = p;
	return q->map[n] + (ours ? info->offset : place[n]);
}

static size_t map_len(const struct queue *q, int n)
{
	const struct t_qp *qp = &q->qp;

	if (q->buf[n] >= 0)
		return LEN;
	return n == SQ ? qp->qpc.sq.length : n == REC ? qp->qpc.dbrec.length :
							qp->cqc.cq.length;
}

/* Objects first: what is mapped stays readable. */
static void queue_close(struct queue *q, bool destroy)
{
	if (q->qp.qpc.handle && destroy)
		t_destroy(q->fd, q->qp.qpc.handle);
	if (q->qp.cqc.handle && destroy)
		t_destroy(q->fd, q->qp.cqc.handle);
	for (int n = 0; n < PARTS; n++)
		if (q->map[n])
			munmap(q->map[n], map_len(q, n));
	if (q->qp.map[0])
		munmap(q->qp.map[0], q->qp.qpc.db.length);
	memset(q->map, 0, sizeof(q->map));
	memset(&q->qp, 0, sizeof(q->qp));
}

/* A QP connected to itself, whose parts lie in @q->buf. */
static int queue_open(struct queue *q, int fd)
{
	struct t_qp *qp = &q->qp;
	uint8_t *rec, *db;
	int err;

	memset(qp, 0, sizeof(*qp));
	memset(q->map, 0, sizeof(q->map));
	q->fd = fd;
	qp->fd = fd;
	qp->depth = DEPTH;
	err = make_cq(q, &qp->cqc);
	if (err)
		return err;
	err = make_qp(q, qp->cqc.handle, &qp->qpc);
	if (!err)
		err = t_qp_connect(fd, qp->qpc.handle, fd, qp->qpc.handle);
	if (!err) {
		qp->sq = map_part(q, SQ, &qp->qpc.sq);
		rec = map_part(q, REC, &qp->qpc.dbrec);
		qp->cqe = map_part(q, CQ, &qp->cqc.cq);
		db = t_map(fd, &qp->qpc.db);
		if (!qp->sq || !rec || !qp->cqe || db == MAP_FAILED)
			err = -ENXIO;
	}
	if (err) {
		queue_close(q, true);
		return err;
	}
	qp->map[0] = db;
	qp->dbrec = (volatile __be32 *)(void *)rec;
	qp->db = (volatile __be64 *)(void *)(db + qp->qpc.db.offset);
	return 0;
}

/* Many requests: every slot of the queue is used, more than once. */
static int work(struct queue *q, struct t_mr *mem)
{
	int err = 0;

	for (int i = 0; !err && i < 3 * DEPTH; i++) {
		uint64_t off = (uint64_t)i * 8 % T_PAGE;
		struct t_wr wr = t_wr_write(mem, off, mem, T_PAGE + off, 8);

		memset(mem->addr + off, i + 1, 8);
		err = t_run(&q->qp, &wr, NULL);
		if (!err && !t_all(mem->addr + T_PAGE + off, (uint8_t)(i + 1), 8))
			err = -EBADMSG;
	}
	return err;
}

static void all_in(struct __test_metadata *_metadata, FIXTURE_DATA(queue) *self, int buf)
{
	/* all in the buffer, then each part alone */
	for (int n = -1; n < PARTS; n++) {
		struct queue q;

		for (int i = 0; i < PARTS; i++)
			q.buf[i] = n < 0 || n == i ? buf : -1;
		ASSERT_OK(queue_open(&q, self->fd)) TH_LOG("part %d", n);
		EXPECT_OK(work(&q, &self->mem)) TH_LOG("part %d", n);
		queue_close(&q, true);
	}
}

TEST_F(queue, in_memory_of_the_test_exporter)
{
	int buf = t_test_buffer(self->test, LEN, 0);

	ASSERT_LE(0, buf);
	all_in(_metadata, self, buf);
	close(buf);
}

TEST_F(queue, in_udmabuf)
{
	int buf = t_udmabuf(LEN);

	if (buf == -ENOENT)
		SKIP(return, "no udmabuf in this kernel");
	ASSERT_LE(0, buf);
	all_in(_metadata, self, buf);
	close(buf);
}

TEST_F(queue, in_dma_heap)
{
	int buf = t_heap_buffer(LEN);

	if (buf == -ENOENT)
		SKIP(return, "no dma-heap in this kernel");
	ASSERT_LE(0, buf);
	all_in(_metadata, self, buf);
	close(buf);
}

/* The object holds the memory: the descriptor may be closed at once. */
TEST_F(queue, M11_holds_the_memory)
{
	int buf = t_test_buffer(self->test, LEN, 0);
	struct queue q = { .buf = { buf, buf, buf } };

	ASSERT_LE(0, buf);
	ASSERT_OK(queue_open(&q, self->fd));
	close(buf);
	EXPECT_OK(work(&q, &self->mem));
	/* ... and the mapping outlives the context. */
	t_mr_free(self->fd, &self->mem);
	ASSERT_OK(t_shutdown(self->fd));
	EXPECT_EQ(0, t_touch_write(q.qp.sq));
	EXPECT_EQ(0, t_touch_write(&q.qp.dbrec[1]));
	EXPECT_EQ(0, t_touch_read(q.qp.cqe));
	queue_close(&q, false);
}

static int make(struct queue *q, uint32_t cq, struct gda_queue_memory sq,
		struct gda_queue_memory rec, uint32_t flags)
{
	struct gda_qp_create qp = {
		.size = sizeof(qp), .dialect = GDA_DIALECT_MLX5, .cq = cq, .sq_depth = DEPTH,
		.flags = flags, .sq_memory = sq, .dbrec_memory = rec,
	};
	int err = t_ioctl(q->fd, GDA_IOC_QP_CREATE, &qp);

	if (!err)
		t_destroy(q->fd, qp.handle);
	return err;
}

TEST_F(queue, refused)
{
	struct gda_queue_memory none = { 0 };
	int buf = t_test_buffer(self->test, LEN, 0);
	int bare = t_test_buffer(self->test, LEN, GDA_TEST_NO_VMAP);
	int event = eventfd(0, EFD_CLOEXEC);
	const uint32_t sq = GDA_QP_SQ_DMABUF, rec = GDA_QP_DBREC_DMABUF;
	struct queue q = { .fd = self->fd, .buf = { -1, -1, -1 } };
	struct gda_cq_create cq;
	struct gda_region_query info = { .size = sizeof(info) };

#define MEM(FD, OFF)	((struct gda_queue_memory){ .fd = (FD), .offset = (OFF) })
	ASSERT_LE(0, buf);
	ASSERT_LE(0, bare);
	ASSERT_OK(make_cq(&q, &cq));
	EXPECT_OK(make(&q, cq.handle, MEM(buf, 0), none, sq));
	EXPECT_OK(make(&q, cq.handle, MEM(buf, LEN - DEPTH * 64), none, sq));
	EXPECT_OK(make(&q, cq.handle, none, MEM(buf, LEN - 8), rec));
	EXPECT_OK(make(&q, cq.handle, MEM(buf, 0), MEM(buf, DEPTH * 64), sq | rec));
	/* size and alignment */
	EXPECT_EQ(-EINVAL, make(&q, cq.handle, MEM(buf, LEN - DEPTH * 64 + 64), none, sq));
	EXPECT_EQ(-EINVAL, make(&q, cq.handle, MEM(buf, LEN), none, sq));
	EXPECT_EQ(-EINVAL, make(&q, cq.handle, MEM(buf, 8), none, sq));
	EXPECT_EQ(-EINVAL, make(&q, cq.handle, none, MEM(buf, 4), rec));
	EXPECT_EQ(-EOVERFLOW, make(&q, cq.handle, MEM(buf, UINT64_MAX - 63), none, sq));
	/* overlap */
	EXPECT_EQ(-EBUSY, make(&q, cq.handle, MEM(buf, 0), MEM(buf, DEPTH * 64 - 8), sq | rec));
	EXPECT_EQ(-EBUSY, make(&q, cq.handle, MEM(buf, 64), MEM(buf, 64), sq | rec));
	/* what is none, and what has no window */
	EXPECT_EQ(-EBADF, make(&q, cq.handle, MEM(-1, 0), none, sq));
	EXPECT_EQ(-EINVAL, make(&q, cq.handle, MEM(event, 0), none, sq));
	EXPECT_EQ(-EOPNOTSUPP, make(&q, cq.handle, MEM(bare, 0), none, sq));
	EXPECT_EQ(-EOPNOTSUPP, make(&q, cq.handle, none, MEM(bare, 0), rec));
	/* members that no flag asks for, and reserved ones */
	EXPECT_EQ(-EINVAL, make(&q, cq.handle, MEM(buf, 0), none, 0));
	EXPECT_EQ(-EINVAL, make(&q, cq.handle, none, MEM(0, 64), sq));
	EXPECT_EQ(-EOPNOTSUPP, make(&q, cq.handle, (struct gda_queue_memory){
		.fd = buf, .reserved = 1 }, none, sq));
	/* a CQ, and no region of what is not ours */
	ASSERT_OK(t_destroy(self->fd, cq.handle));
	q.buf[CQ] = bare;
	EXPECT_EQ(-EOPNOTSUPP, make_cq(&q, &cq));
	q.buf[CQ] = buf;
	ASSERT_OK(make_cq(&q, &cq));
	EXPECT_EQ(-EBUSY, make(&q, cq.handle, MEM(buf, 0), none, sq));
	info.handle = cq.handle;
	info.type = GDA_REGION_CQ;
	EXPECT_EQ(-ENOENT, t_ioctl(self->fd, GDA_IOC_REGION_INFO, &info));
	ASSERT_OK(t_destroy(self->fd, cq.handle));
	close(event);
	close(bare);
	close(buf);
}

TEST_F(queue, M9_only_write_back)
{
	int wc = t_test_buffer(self->test, LEN, GDA_TEST_WC);
	struct queue q = { .fd = self->fd, .buf = { -1, -1, -1 } };
	struct gda_cq_create cq;

	if (wc == -EINVAL)
		SKIP(return, "the exporter has no such memory here");
	ASSERT_LE(0, wc);
	ASSERT_OK(make_cq(&q, &cq));
	EXPECT_EQ(-EMEDIUMTYPE, make(&q, cq.handle, MEM(wc, 0), MEM(0, 0), GDA_QP_SQ_DMABUF));
	EXPECT_EQ(-EMEDIUMTYPE, make(&q, cq.handle, MEM(0, 0), MEM(wc, 0), GDA_QP_DBREC_DMABUF));
	ASSERT_OK(t_destroy(self->fd, cq.handle));
	q.buf[CQ] = wc;
	EXPECT_EQ(-EMEDIUMTYPE, make_cq(&q, &cq));
	close(wc);
}

/* The exporter takes one part away: the QP fails, once and for all, and says why. */
TEST_F(queue, K5_part_is_taken)
{
	for (int n = 0; n < PARTS; n++) {
		int buf = t_test_buffer(self->test, LEN, 0);
		struct queue q = { .buf = { -1, -1, -1 } };
		struct gda_qp_query query = { .size = sizeof(query) };
		struct gda_test_move cmd = { 0 };
		struct t_done done;

		ASSERT_LE(0, buf);
		q.buf[n] = buf;
		ASSERT_OK(queue_open(&q, self->fd));
		EXPECT_OK(work(&q, &self->mem));
		ASSERT_OK(t_move(self->test, buf, 0, &cmd)) TH_LOG("part %d", n);
		EXPECT_EQ(0, cmd.changed) TH_LOG("part %d", n);
		EXPECT_EQ(GDA_QP_ERROR, t_wait_state(&q.qp, GDA_QP_READY, T_WAIT_NS));
		query.handle = q.qp.qpc.handle;
		ASSERT_OK(t_ioctl(self->fd, GDA_IOC_QP_QUERY, &query));
		EXPECT_EQ(GDA_MLX5_SYND_LOCAL_QP_OP, query.syndrome) TH_LOG("part %d", n);
		EXPECT_EQ(GDA_MLX5_VENDOR_QUEUE, query.vendor) TH_LOG("part %d", n);
		if (n != CQ) {
			/* ... in the completion, too */
			EXPECT_EQ(GDA_MLX5_SYND_LOCAL_QP_OP, t_wait(&q.qp, q.qp.next, &done));
			EXPECT_EQ(GDA_MLX5_VENDOR_QUEUE, done.first_vendor);
		}
		queue_close(&q, true);
		/* The buffer can be used again. */
		ASSERT_OK(queue_open(&q, self->fd)) TH_LOG("part %d", n);
		EXPECT_OK(work(&q, &self->mem)) TH_LOG("part %d", n);
		queue_close(&q, true);
		close(buf);
	}
}

/* A reader that sleeps hears of a CQ that is gone. */
TEST_F(queue, K5_event_of_a_lost_cq)
{
	int buf = t_test_buffer(self->test, LEN, 0), event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct queue q = { .buf = { -1, -1, buf } };
	struct gda_cq_event arm = { .size = sizeof(arm), .flags = GDA_CQ_ARM, .eventfd = event };
	struct pollfd p = { .fd = event, .events = POLLIN };
	struct gda_test_move cmd = { 0 };
	uint64_t n = 0;

	ASSERT_LE(0, buf);
	ASSERT_OK(queue_open(&q, self->fd));
	arm.handle = q.qp.cqc.handle;
	ASSERT_OK(t_ioctl(self->fd, GDA_IOC_CQ_EVENT, &arm));
	ASSERT_OK(t_move(self->test, buf, 0, &cmd));
	EXPECT_EQ(1, poll(&p, 1, 20000));
	EXPECT_EQ(sizeof(n), read(event, &n, sizeof(n)));
	/* who would sleep now would sleep for good */
	EXPECT_EQ(-ENODEV, t_ioctl(self->fd, GDA_IOC_CQ_EVENT, &arm));
	arm.flags = 0;
	EXPECT_OK(t_ioctl(self->fd, GDA_IOC_CQ_EVENT, &arm));
	queue_close(&q, true);
	close(event);
	close(buf);
}

struct poster {
	struct t_qp *qp;
	struct t_mr *mem;
	bool stop;
};

/* Posts and rings whatever the ring says: as a hostile or a late producer does. */
static void *poster_main(void *arg)
{
	struct poster *p = arg;
	struct t_wr wr = t_wr_write(p->mem, 0, p->mem, T_PAGE, 256);

	while (!__atomic_load_n(&p->stop, __ATOMIC_RELAXED)) {
		uint64_t index = t_post(p->qp, &wr);

		t_ring(p->qp);
		if (!(index % 16))
			t_wait_ns(p->qp, index, T_NS / 100, NULL);
	}
	return NULL;
}

#define ROUNDS	200
#define SOAKED	2000	/* times $GDA_STRESS, above 1 */

/* As long as $GDA_STRESS wants. */
TEST_F_TIMEOUT(queue, K5_moves_under_traffic, 36000)
{
	unsigned long n = t_soaked(ROUNDS, SOAKED), queue = 0;
	uint64_t seed = t_seed(), longest = 0;
	int buf[PARTS];

	TH_LOG("GDA_SEED=%llu", (unsigned long long)seed);
	for (int i = 0; i < PARTS; i++) {
		buf[i] = t_test_buffer(self->test, LEN, 0);
		ASSERT_LE(0, buf[i]);
	}
	for (unsigned long i = 0; i < n; i++) {
		struct queue q = { .buf = { buf[SQ], buf[REC], buf[CQ] } };
		struct poster p = { .qp = &q.qp, .mem = &self->mem };
		struct gda_qp_query query = { .size = sizeof(query) };
		struct gda_test_move cmd = { .linger_ns = i % 16 ? 0 : T_NS / 1000 };
		pthread_t thread;

		ASSERT_OK(queue_open(&q, self->fd)) TH_LOG("round %lu", i);
		ASSERT_EQ(0, pthread_create(&thread, NULL, poster_main, &p));
		t_sleep_ns(t_random(&seed) % (T_NS / 5000));
		ASSERT_OK(t_move(self->test, buf[i % PARTS], 0, &cmd)) TH_LOG("round %lu", i);
		ASSERT_EQ(0, cmd.changed) TH_LOG("round %lu", i);
		if (cmd.wait_ns > longest)
			longest = cmd.wait_ns;
		ASSERT_EQ(GDA_QP_ERROR, t_wait_state(&q.qp, GDA_QP_READY, T_WAIT_NS));
		__atomic_store_n(&p.stop, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		query.handle = q.qp.qpc.handle;
		ASSERT_OK(t_ioctl(self->fd, GDA_IOC_QP_QUERY, &query));
		ASSERT_NE(0, query.syndrome);
		queue += query.vendor == GDA_MLX5_VENDOR_QUEUE;
		queue_close(&q, true);
	}
	/* the others had failed before, of a full ring: their producer looks at nothing */
	EXPECT_LT(0, queue);
	TH_LOG("%lu moves, %lu failed by them, the exporter waited %llu us at most", n, queue,
	       (unsigned long long)longest / 1000);
	for (int i = 0; i < PARTS; i++)
		close(buf[i]);
}

/* Creation, destruction and close, against moves at any moment and traffic. */
TEST_F_TIMEOUT(queue, E4_teardown_against_moves, 36000)
{
	unsigned long n = t_short(40, 100), made = 0, i;
	uint64_t late = 0;
	/* it must pause, or no queue would ever be built */
	struct t_mover m = { .test = self->test, .pause = T_NS / 50 };

	m.buf = t_test_buffer(self->test, LEN, 0);
	ASSERT_LE(0, m.buf);
	ASSERT_EQ(0, t_mover_start(&m));
	for (i = 0; t_more(i, n, made, &late); i++) {
		struct queue q = { .buf = { m.buf, m.buf, m.buf } };
		int fd = t_context(), err;

		ASSERT_LE(0, fd);
		err = queue_open(&q, fd);
		if (!err) {
			struct t_wr nop = { .opcode = GDA_MLX5_NOP };

			for (int k = 0; k < DEPTH; k++)
				t_post(&q.qp, &nop);
			t_ring(&q.qp);
			made++;
			queue_close(&q, i & 1);
		} else {
			/* moved meanwhile; or it has failed before it was connected */
			EXPECT_TRUE(err == -EAGAIN || err == -EALREADY || err == -ENOENT)
				TH_LOG("errno %d", -err);
		}
		close(fd);
	}
	t_mover_stop(&m);
	EXPECT_EQ(0, m.err);
	EXPECT_EQ(0, m.changed);
	EXPECT_LT(0, m.moves);
	EXPECT_LT(0, made);
	TH_LOG("%lu of %lu made, %lu moves", made, i, m.moves);
	close(m.buf);
}

TEST_HARNESS_MAIN

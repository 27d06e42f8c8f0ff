// SPDX-License-Identifier: MIT
/*
 * gda/dpa.h between two contexts: the rows D-07 to D-10 and D-15 of FIELD.md. On whatever device
 * gda_open(NULL) opens.
 */
#include <stddef.h>
#include <unistd.h>
#include "dpa.h"

#define BYTES	8192U

struct side {
	struct gda_context *ctx;
	struct gda_dpa *dpa;
	struct gda_dpa_rdma *rdma;
	struct gda_dpa_event *event;	/* the peer's tasks update it */
	struct gda_dpa_event *done;
	struct gda_dpa_remote_event remote;
	struct gda_dpa_buf buf;
	uint64_t heap;
	uint64_t array;			/* own buffer, then the peer's */
};

FIXTURE(rdma) {
	struct side s[2];
};

static int side_open(struct side *s, uint32_t flags, uint64_t spin_ns)
{
	struct gda_dpa_attr dpa = {
		.size = sizeof(dpa), .flags = flags, .spin_ns = spin_ns, .heap_bytes = 1 << 20,
	};
	struct gda_dpa_event_attr attr = {
		.size = sizeof(attr), .publishers = GDA_DPA_PEERS | GDA_DPA_HOST,
	};
	int err = gda_open(NULL, &s->ctx);

	if (!err)
		err = gda_dpa_create(s->ctx, &dpa, &s->dpa);
	if (!err)
		err = gda_dpa_rdma_create(s->dpa, NULL, &s->rdma);
	if (!err)
		err = gda_dpa_event_create(s->dpa, &attr, &s->event);
	if (!err)
		err = gda_dpa_event_create(s->dpa, NULL, &s->done);
	if (!err)
		err = gda_dpa_event_export(s->event, &s->remote);
	if (!err)
		err = gda_dpa_alloc(s->dpa, BYTES, &s->heap);
	return err ? err : gda_dpa_heap_buf(s->dpa, s->heap, BYTES, &s->buf);
}

static int side_join(struct side *s, struct side *peer)
{
	struct gda_dpa_buf bufs[2] = { s->buf, peer->buf };
	struct gda_address addr;
	int err = gda_dpa_rdma_address(peer->rdma, &addr);

	bufs[1].pointer = 0;
	if (!err)
		err = gda_dpa_rdma_connect(s->rdma, &addr);
	return err ? err : gda_dpa_bufs_create(s->dpa, bufs, 2, &s->array);
}

FIXTURE_SETUP(rdma)
{
	ASSERT_EQ(0, side_open(&self->s[0], 0, 0));
	ASSERT_EQ(0, side_open(&self->s[1], 0, 0));
	ASSERT_EQ(0, side_join(&self->s[0], &self->s[1]));
	ASSERT_EQ(0, side_join(&self->s[1], &self->s[0]));
}

FIXTURE_TEARDOWN(rdma)
{
	int i;

	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, gda_dpa_destroy(self->s[i].dpa));
		gda_close(self->s[i].ctx);
	}
}

struct d_post {
	uint64_t array;
	uint64_t out;			/* eight results, in the heap */
	struct gda_dpa_remote_event event;
	uint32_t rdma;
	uint32_t number;
	uint32_t go;			/* an event */
	uint32_t odd;
};

/* Launch @task_ on side 0 and wait for it; its results are in out[]. */
#define RUN(task_, n, p) do { \
	struct gda_dpa_launch_attr l_ = { \
		.size = sizeof(l_), .task = &(task_), .threads = (n), .args = (p), \
		.bytes = sizeof(*(p)), .done = self->s[0].done, .value = 1, \
	}; \
	ASSERT_EQ(0, gda_dpa_event_set(self->s[0].done, 0)); \
	ASSERT_EQ(0, gda_dpa_launch(self->s[0].dpa, &l_)); \
	ASSERT_EQ(0, gda_dpa_event_await_gt(self->s[0].done, 0, UINT64_MAX, d_in(20 * SECOND))); \
	ASSERT_EQ(0, gda_dpa_read(self->s[0].dpa, out, (p)->out, sizeof(out))); \
} while (0)

static int post_args(struct side *s, const struct side *peer, struct d_post *p)
{
	memset(p, 0, sizeof(*p));
	p->array = s->array;
	p->event = peer->remote;
	p->rdma = gda_dpa_rdma_handle(s->rdma);
	return gda_dpa_alloc(s->dpa, 8 * sizeof(int64_t), &p->out);
}

/* Write a number all over the peer's buffer, then add to its event. */
GDA_DPA_TASK(d_put_and_add)
{
	const struct d_post *p = args;
	int64_t *out = gda_dpa_at(t, p->out, 64);
	struct gda_dpa_buf own, peers;
	uint32_t *words, i;

	gda_dpa_buf_get(t, p->array, 0, &own);
	gda_dpa_buf_get(t, p->array, 1, &peers);
	words = gda_dpa_buf_pointer(t, &own, 0, BYTES);
	for (i = 0; i < BYTES / 4; i++)
		words[i] = p->number;
	out[0] = gda_dpa_rdma_write(t, p->rdma, &peers, 0, &own, 0, BYTES);
	out[1] = p->odd ? gda_dpa_rdma_signal_set(t, p->rdma, &p->event, p->number) :
		 gda_dpa_rdma_signal_add(t, p->rdma, &p->event, 1);
	out[2] = gda_dpa_rdma_wait(t, p->rdma, gda_clock_ns() + 20 * SECOND);
}

/* The signal is behind the bytes, whenever it is seen. */
TEST_F_TIMEOUT(rdma, D_07_D_09_a_signal_is_behind_the_writes, 200)
{
	uint32_t words[BYTES / 4], i;
	struct d_post p;
	int64_t out[8];

	ASSERT_EQ(0, post_args(&self->s[0], &self->s[1], &p));
	for (p.number = 1; p.number <= 100; p.number++) {
		struct gda_dpa_launch_attr l = {
			.size = sizeof(l), .task = &d_put_and_add, .threads = 1, .args = &p,
			.bytes = sizeof(p), .done = self->s[0].done, .value = 1,
		};

		p.odd = p.number > 50;
		ASSERT_EQ(0, gda_dpa_launch(self->s[0].dpa, &l));
		ASSERT_EQ(0, gda_dpa_event_await_gt(self->s[1].event, p.number - 1, UINT64_MAX,
						    d_in(20 * SECOND)));
		ASSERT_EQ(0, gda_dpa_read(self->s[1].dpa, words, self->s[1].heap, BYTES));
		for (i = 0; i < BYTES / 4; i++)
			ASSERT_EQ(p.number, words[i]);
		ASSERT_EQ(0, gda_dpa_event_await_gt(self->s[0].done, p.number - 1, UINT64_MAX,
						    d_in(20 * SECOND)));
		ASSERT_EQ(0, gda_dpa_read(self->s[0].dpa, out, p.out, sizeof(out)));
		for (i = 0; i < 3; i++)
			ASSERT_EQ(0, out[i]);
	}
}

GDA_DPA_TASK(d_wait_inside)
{
	const struct d_post *p = args;
	int64_t *out = gda_dpa_at(t, p->out, 64);

	out[p->odd] = gda_dpa_event_wait_gt(t, p->go, 0, UINT64_MAX);
}

/* A task that waits inside, and a launch that waits, both see a peer's update. */
TEST_F(rdma, D_07_a_peers_update_starts_what_waits)
{
	struct side *s = &self->s[1];
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &d_wait_inside, .threads = 1,
		.done = s->done, .value = 1,
	};
	struct d_post p, inside = { 0 };
	int64_t out[8];

	inside.go = gda_dpa_event_handle(s->event);
	ASSERT_EQ(0, gda_dpa_alloc(s->dpa, 64, &inside.out));
	l.bytes = sizeof(inside);
	l.args = &inside;
	ASSERT_EQ(0, gda_dpa_launch(s->dpa, &l));
	l.wait = s->event;
	inside.odd = 1;
	ASSERT_EQ(0, gda_dpa_launch(s->dpa, &l));
	EXPECT_EQ(-ETIMEDOUT, gda_dpa_event_await_gt(s->done, 0, UINT64_MAX, d_in(20 * MS)));
	ASSERT_EQ(0, post_args(&self->s[0], s, &p));
	p.number = 1;
	RUN(d_put_and_add, 1, &p);
	EXPECT_EQ(0, gda_dpa_event_await_gt(s->done, 1, UINT64_MAX, d_in(20 * SECOND)));
}

/*
 * With GDA_DPA_WAKE a peer's update wakes a host thread, and a pool for a launch, that sleep:
 * these would look by themselves only after ten seconds.
 */
static void side_wake(struct __test_metadata *_metadata, struct side *a, struct side *b)
{
	uint64_t begin, took;
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .threads = 1, .value = 1 };
	struct d_post p, inside = { 0 };
	uint32_t i;

	inside.go = gda_dpa_event_handle(b->event);
	ASSERT_EQ(0, gda_dpa_alloc(b->dpa, 64, &inside.out));
	ASSERT_EQ(0, post_args(a, b, &p));
	for (i = 0; i < 10; i++) {
		p.number = i + 1;
		p.odd = i & 1;
		/* what sleeps: an odd time a launch, and an even time this thread */
		l.wait = i % 2 ? b->event : NULL;
		l.threshold = i;
		l.done = b->done;
		l.task = &d_wait_inside;
		l.args = &inside;
		l.bytes = sizeof(inside);
		if (i % 2)
			ASSERT_EQ(0, gda_dpa_launch(b->dpa, &l));
		usleep(5000);
		begin = gda_clock_ns();
		l.wait = NULL;
		l.done = a->done;
		l.task = &d_put_and_add;
		l.args = &p;
		l.bytes = sizeof(p);
		ASSERT_EQ(0, gda_dpa_launch(a->dpa, &l));
		ASSERT_EQ(0, i % 2 ?
			  gda_dpa_event_await_gt(b->done, i / 2, UINT64_MAX, d_in(20 * SECOND)) :
			  gda_dpa_event_await_gt(b->event, i, UINT64_MAX, d_in(20 * SECOND)));
		took = gda_clock_ns() - begin;
		EXPECT_LT(took, 5 * SECOND);
		ASSERT_EQ(0, gda_dpa_event_await_gt(a->done, i, UINT64_MAX, d_in(20 * SECOND)));
	}
}

TEST(D_07_a_peers_update_wakes_what_sleeps)
{
	struct side s[2] = { 0 };
	int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, side_open(&s[i], GDA_DPA_WAKE, UINT64_MAX));
	EXPECT_EQ(GDA_DPA_REMOTE_WAKES, s[0].remote.flags);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, side_join(&s[i], &s[!i]));
	side_wake(_metadata, &s[0], &s[1]);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, gda_dpa_destroy(s[i].dpa));
		gda_close(s[i].ctx);
	}
}

GDA_DPA_TASK(d_read_and_add)
{
	const struct d_post *p = args;
	int64_t *out = gda_dpa_at(t, p->out, 64);
	struct gda_dpa_buf own, peers;

	gda_dpa_buf_get(t, p->array, 0, &own);
	gda_dpa_buf_get(t, p->array, 1, &peers);
	out[0] = gda_dpa_rdma_read(t, p->rdma, &own, 16, &peers, 8, 1000);
	out[1] = gda_dpa_rdma_fetch_add(t, p->rdma, &peers, 4096, 41);
	out[2] = gda_dpa_rdma_fetch_add(t, p->rdma, &peers, 4096, 1);
	out[3] = gda_dpa_rdma_wait(t, p->rdma, gda_clock_ns() + 20 * SECOND);
	out[4] = gda_dpa_rdma_wait(t, p->rdma, 0);
}

TEST_F(rdma, D_09_reads_and_additions)
{
	uint8_t bytes[1000], got[1000];
	uint64_t word = 100;
	struct d_post p;
	int64_t out[8];
	size_t i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 13 + 5);
	ASSERT_EQ(0, gda_dpa_write(self->s[1].dpa, self->s[1].heap + 8, bytes, sizeof(bytes)));
	ASSERT_EQ(0, gda_dpa_write(self->s[1].dpa, self->s[1].heap + 4096, &word, 8));
	ASSERT_EQ(0, post_args(&self->s[0], &self->s[1], &p));
	RUN(d_read_and_add, 1, &p);
	for (i = 0; i < 5; i++)
		EXPECT_EQ(0, out[i]);
	ASSERT_EQ(0, gda_dpa_read(self->s[0].dpa, got, self->s[0].heap + 16, sizeof(got)));
	EXPECT_EQ(0, memcmp(bytes, got, sizeof(got)));
	ASSERT_EQ(0, gda_dpa_read(self->s[1].dpa, &word, self->s[1].heap + 4096, 8));
	EXPECT_EQ(142, word);
}

GDA_DPA_TASK(d_odd_posts)
{
	const struct d_post *p = args;
	int64_t *out = gda_dpa_at(t, p->out, 64);
	struct gda_dpa_buf own, peers;

	gda_dpa_buf_get(t, p->array, 0, &own);
	gda_dpa_buf_get(t, p->array, 1, &peers);
	out[0] = gda_dpa_rdma_write(t, 0, &peers, 0, &own, 0, 1);
	out[1] = gda_dpa_rdma_write(t, p->rdma + 1, &peers, 0, &own, 0, 1);
	out[2] = gda_dpa_rdma_write(t, p->rdma, &peers, BYTES, &own, 0, 1);
	out[3] = gda_dpa_rdma_read(t, p->rdma, &own, 1, &peers, 0, BYTES);
	out[4] = gda_dpa_rdma_write(t, p->rdma, &peers, 0, &own, 0, 1ULL << 31);
	out[5] = gda_dpa_rdma_fetch_add(t, p->rdma, &peers, BYTES - 7, 1);
	out[6] = gda_dpa_rdma_fetch_add(t, p->rdma, &peers, 4, 1);
	out[7] = gda_dpa_rdma_wait(t, UINT32_MAX, 0);
}

TEST_F(rdma, D_09_what_is_refused_is_not_posted)
{
	static const int64_t want[] = {
		-EINVAL, -EINVAL, -ERANGE, -ERANGE, -EMSGSIZE, -ERANGE, -EINVAL, -EINVAL,
	};
	struct d_post p;
	int64_t out[8];
	int i;

	ASSERT_EQ(0, post_args(&self->s[0], &self->s[1], &p));
	RUN(d_odd_posts, 1, &p);
	for (i = 0; i < 8; i++)
		EXPECT_EQ(want[i], out[i]);
	p.number = 3;
	RUN(d_put_and_add, 1, &p);
	EXPECT_EQ(0, out[2]);
}

/* A wrong key fails the handle and its waiter, not the context nor another handle. */
TEST_F(rdma, D_09_a_wrong_key_reaches_the_waiter)
{
	struct gda_dpa_buf bufs[2] = { self->s[0].buf, self->s[1].buf };
	struct gda_qp_query q = { .size = sizeof(q) };
	struct gda_dpa_rdma *other;
	struct gda_address addr;
	struct d_post p, bad;
	int64_t out[8];

	bufs[1].key ^= 0x5500;
	ASSERT_EQ(0, gda_dpa_rdma_create(self->s[0].dpa, NULL, &other));
	ASSERT_EQ(0, gda_dpa_rdma_address(other, &addr));
	ASSERT_EQ(0, gda_dpa_rdma_connect(other, &addr));
	ASSERT_EQ(0, post_args(&self->s[0], &self->s[1], &p));
	bad = p;
	bad.rdma = gda_dpa_rdma_handle(other);
	ASSERT_EQ(0, gda_dpa_bufs_create(self->s[0].dpa, bufs, 2, &bad.array));
	RUN(d_put_and_add, 1, &bad);
	EXPECT_EQ(-EIO, out[2]);
	ASSERT_EQ(0, gda_dpa_rdma_query(other, &q));
	EXPECT_EQ(GDA_QP_ERROR, q.state);
	EXPECT_EQ(0, gda_dpa_error(self->s[0].dpa, NULL));
	RUN(d_put_and_add, 1, &p);
	EXPECT_EQ(0, out[2]);
	EXPECT_EQ(0, gda_dpa_rdma_destroy(other));
	EXPECT_EQ(0, gda_dpa_rdma_destroy(NULL));
}

/* Rank 0 posts and keeps the handle; rank 1 is refused until rank 0 has waited. */
GDA_DPA_TASK(d_two_users)
{
	const struct d_post *p = args;
	int64_t *out = gda_dpa_at(t, p->out, 64);
	struct gda_dpa_buf own, peers;
	unsigned int rank = gda_dpa_rank(t);

	gda_dpa_buf_get(t, p->array, 0, &own);
	gda_dpa_buf_get(t, p->array, 1, &peers);
	if (!rank) {
		out[0] = gda_dpa_rdma_write(t, p->rdma, &peers, 0, &own, 0, 8);
		gda_dpa_event_update_set(t, p->go, 1);
		gda_dpa_event_wait_gt(t, p->go, 1, UINT64_MAX);
		out[1] = gda_dpa_rdma_wait(t, p->rdma, gda_clock_ns() + 20 * SECOND);
		gda_dpa_event_update_set(t, p->go, 3);
		return;
	}
	gda_dpa_event_wait_gt(t, p->go, 0, UINT64_MAX);
	out[2] = gda_dpa_rdma_write(t, p->rdma, &peers, 0, &own, 0, 8);
	out[3] = gda_dpa_rdma_wait(t, p->rdma, 0);
	gda_dpa_event_update_set(t, p->go, 2);
	gda_dpa_event_wait_gt(t, p->go, 2, UINT64_MAX);
	/* and it keeps the handle, until the task ends */
	out[4] = gda_dpa_rdma_write(t, p->rdma, &peers, 0, &own, 0, 8);
	out[5] = gda_dpa_rdma_wait(t, p->rdma, gda_clock_ns() + 20 * SECOND);
}

TEST_F(rdma, D_10_a_handle_is_one_threads_at_a_time)
{
	struct gda_dpa_event *go;
	struct d_post p;
	int64_t out[8];

	ASSERT_EQ(0, gda_dpa_event_create(self->s[0].dpa, NULL, &go));
	ASSERT_EQ(0, post_args(&self->s[0], &self->s[1], &p));
	p.go = gda_dpa_event_handle(go);
	RUN(d_two_users, 2, &p);
	EXPECT_EQ(0, out[0]);
	EXPECT_EQ(0, out[1]);
	EXPECT_EQ(-EBUSY, out[2]);
	EXPECT_EQ(-EBUSY, out[3]);
	EXPECT_EQ(0, out[4]);
	EXPECT_EQ(0, out[5]);
	p.number = 9;
	RUN(d_put_and_add, 1, &p);
	EXPECT_EQ(0, out[0]);
	EXPECT_EQ(0, out[2]);
}

TEST_F(rdma, D_08_handles_are_made_on_the_host)
{
	struct gda_dpa_rdma_attr attr = { .size = sizeof(attr), .flags = 1 };
	struct gda_dpa_event *own;
	struct gda_dpa_remote_event remote;
	struct gda_dpa_rdma *r;
	struct gda_address addr;

	EXPECT_EQ(-EOPNOTSUPP, gda_dpa_rdma_create(self->s[0].dpa, &attr, &r));
	attr.flags = 0;
	attr.sq_depth = 17;
	EXPECT_EQ(-EINVAL, gda_dpa_rdma_create(self->s[0].dpa, &attr, &r));
	EXPECT_NE(NULL, strstr(gda_last_error(), "sq_depth 17"));
	attr.sq_depth = 0;
	attr.reserved = 1;
	EXPECT_EQ(-EINVAL, gda_dpa_rdma_create(self->s[0].dpa, &attr, &r));
	ASSERT_EQ(0, gda_dpa_rdma_address(self->s[1].rdma, &addr));
	EXPECT_EQ(-EALREADY, gda_dpa_rdma_connect(self->s[0].rdma, &addr));
	EXPECT_NE(0, gda_dpa_rdma_handle(self->s[0].rdma));
	ASSERT_EQ(0, gda_dpa_event_create(self->s[0].dpa, NULL, &own));
	EXPECT_EQ(-EACCES, gda_dpa_event_export(own, &remote));
}

TEST_F_TIMEOUT(rdma, D_15_handles_count_as_threads, 200)
{
	struct gda_dpa_limits limits = { .size = sizeof(limits) };
	struct gda_dpa_attr attr = { .size = sizeof(attr), .threads = 247, .heap_bytes = 4096 };
	struct gda_dpa_rdma *r;
	struct gda_dpa *dpa;

	ASSERT_EQ(0, gda_dpa_query(self->s[0].ctx, &limits));
	EXPECT_EQ(10, limits.threads_in_use);
	EXPECT_EQ(-ENOSPC, gda_dpa_create(self->s[0].ctx, &attr, &dpa));
	attr.threads = 120;
	ASSERT_EQ(0, gda_dpa_create(self->s[0].ctx, &attr, &dpa));
	attr.threads = 125;
	ASSERT_EQ(0, gda_dpa_rdma_create(self->s[0].dpa, NULL, &r));
	EXPECT_EQ(0, gda_dpa_rdma_destroy(r));
	EXPECT_EQ(0, gda_dpa_destroy(dpa));
	ASSERT_EQ(0, gda_dpa_query(self->s[0].ctx, &limits));
	EXPECT_EQ(10, limits.threads_in_use);
}

/* A launch that waits for arrivals of a QP: there is no signal. */
GDA_DPA_TASK(d_arrived)
{
	const struct d_post *p = args;
	int64_t *out = gda_dpa_at(t, p->out, 64);

	out[0]++;
}

TEST_F_TIMEOUT(rdma, D_11_a_launch_waits_for_a_counter, 200)
{
	struct side *s = &self->s[1];
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &d_arrived, .threads = 1, .done = s->done, .value = 1,
	};
	struct gda_qp_attr qp_attr = { .size = sizeof(qp_attr), .sq_depth = 16 };
	struct gda_dpa_rdma *from;
	struct gda_counter *count;
	struct gda_address addr;
	struct gda_qp *to;
	struct d_post p, args = { 0 };
	int64_t out[8];
	unsigned int i;

	ASSERT_EQ(0, gda_counter_create(s->ctx, &count));
	qp_attr.recv_counter = count;
	ASSERT_EQ(0, gda_qp_create(s->ctx, &qp_attr, &to));
	ASSERT_EQ(0, gda_dpa_rdma_create(self->s[0].dpa, NULL, &from));
	ASSERT_EQ(0, gda_dpa_rdma_address(from, &addr));
	ASSERT_EQ(0, gda_qp_connect(to, &addr));
	ASSERT_EQ(0, gda_qp_address(to, &addr));
	ASSERT_EQ(0, gda_dpa_rdma_connect(from, &addr));
	ASSERT_EQ(0, gda_dpa_alloc(s->dpa, 64, &args.out));
	l.counter = count;
	l.bytes = sizeof(args);
	l.args = &args;
	EXPECT_EQ(-EINVAL, gda_dpa_launch(s->dpa, &l));
	l.arrivals = 6;
	l.wait = s->event;
	EXPECT_EQ(-EINVAL, gda_dpa_launch(s->dpa, &l));
	l.wait = NULL;
	ASSERT_EQ(0, gda_dpa_launch(s->dpa, &l));
	ASSERT_EQ(0, post_args(&self->s[0], s, &p));
	p.rdma = gda_dpa_rdma_handle(from);
	/* two arrivals each: the bytes and the signal */
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(-ETIMEDOUT, gda_dpa_event_await_gt(s->done, 0, UINT64_MAX, d_in(5 * MS)));
		RUN(d_put_and_add, 1, &p);
		ASSERT_EQ(0, out[2]);
	}
	EXPECT_EQ(0, gda_dpa_event_await_gt(s->done, 0, UINT64_MAX, d_in(20 * SECOND)));
	EXPECT_EQ(0, gda_dpa_destroy(s->dpa));
	EXPECT_EQ(0, gda_qp_destroy(to));
	EXPECT_EQ(0, gda_counter_destroy(count));
	ASSERT_EQ(0, gda_dpa_create(s->ctx, NULL, &s->dpa));
}

TEST_HARNESS_MAIN

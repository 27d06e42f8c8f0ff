// SPDX-License-Identifier: MIT
/*
 * Contexts of gda/dpa.h that fail: tasks that run too long, that wait for each other, that copy
 * what is gone, and a ring that was written over. Tasks are functions of this process.
 */
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
#include "dpa.h"
#include "dpa_internal.h"

static int d_release;	/* ends d_endless */

GDA_DPA_TASK(d_endless)
{
	if (gda_dpa_rank(t) != *(const uint32_t *)args)
		return;
	while (!__atomic_load_n(&d_release, __ATOMIC_ACQUIRE))
		gda_pause();
}

GDA_DPA_TASK(d_nothing)
{
}

FIXTURE(fatal) {
	struct gda_context *ctx;
	struct gda_dpa *dpa;
	struct gda_dpa_event *event;
	uint64_t heap;
};

static int open_with_limit(FIXTURE_DATA(fatal) *self, uint64_t run_limit_ns)
{
	int err = d_open(&self->ctx, &self->dpa, 4, run_limit_ns);

	if (!err)
		err = gda_dpa_event_create(self->dpa, NULL, &self->event);
	return err ? err : gda_dpa_alloc(self->dpa, 64, &self->heap);
}

FIXTURE_SETUP(fatal)
{
	ASSERT_EQ(0, open_with_limit(self, 30 * MS));
	__atomic_store_n(&d_release, 0, __ATOMIC_RELEASE);
}

FIXTURE_TEARDOWN(fatal)
{
	uint64_t end = d_in(20 * SECOND);
	int err;

	__atomic_store_n(&d_release, 1, __ATOMIC_RELEASE);
	do {
		err = gda_dpa_destroy(self->dpa);
	} while (err == -EBUSY && gda_clock_ns() < end);
	EXPECT_EQ(0, err);
	gda_close(self->ctx);
}

#define STICKY(call) do { \
	EXPECT_EQ(-ENOTRECOVERABLE, call); \
	EXPECT_NE(NULL, strstr(gda_last_error(), "destroy the context")); \
} while (0)

/* Every call says so; what destroys does its work. */
#define ALL_STICKY() do { \
	struct gda_dpa_launch_attr l_ = { .size = sizeof(l_), .task = &d_nothing, .threads = 1 }; \
	struct gda_dpa_buf buf_ = { 0 }; \
	struct gda_dpa_event *e_; \
	uint64_t v_; \
	STICKY(gda_dpa_launch(self->dpa, &l_)); \
	STICKY(gda_dpa_event_create(self->dpa, NULL, &e_)); \
	STICKY(gda_dpa_event_get(self->event, &v_)); \
	STICKY(gda_dpa_event_set(self->event, 1)); \
	STICKY(gda_dpa_event_add(self->event, 1)); \
	STICKY(gda_dpa_event_await_gt(self->event, 0, 1, d_in(MS))); \
	STICKY(gda_dpa_event_await_ne(self->event, 0, 1, d_in(MS))); \
	STICKY(gda_dpa_alloc(self->dpa, 64, &v_)); \
	STICKY(gda_dpa_free(self->dpa, self->heap)); \
	STICKY(gda_dpa_write(self->dpa, self->heap, &v_, 8)); \
	STICKY(gda_dpa_read(self->dpa, &v_, self->heap, 8)); \
	STICKY(gda_dpa_set(self->dpa, self->heap, 0, 8)); \
	STICKY(gda_dpa_heap_buf(self->dpa, self->heap, 8, &buf_)); \
	STICKY(gda_dpa_mr_buf(self->dpa, self->dpa->mr, NULL, 8, &buf_)); \
	STICKY(gda_dpa_bufs_create(self->dpa, &buf_, 1, &v_)); \
	STICKY(gda_dpa_bufs_destroy(self->dpa, self->heap)); \
} while (0)

TEST_F(fatal, D_14_D_16_an_endless_task_makes_the_context_fatal)
{
	uint32_t rank = 2;
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &d_endless, .threads = 3, .bytes = sizeof(rank),
		.args = &rank, .done = self->event, .value = 1,
	};
	struct gda_dpa_report r = { .size = sizeof(r) };
	uint64_t begin = gda_clock_ns(), end;

	EXPECT_EQ(0, gda_dpa_error(self->dpa, &r));
	ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	/* a wait ends with the context, long before its deadline */
	STICKY(gda_dpa_event_await_gt(self->event, 0, UINT64_MAX, d_in(60 * SECOND)));
	end = gda_clock_ns();
	EXPECT_LT(end - begin, 20 * SECOND);
	ASSERT_EQ(1, gda_dpa_error(self->dpa, &r));
	EXPECT_EQ(GDA_DPA_RUN_LIMIT, r.reason);
	EXPECT_STREQ("d_endless", r.task);
	EXPECT_EQ(2, r.rank);
	EXPECT_EQ(3, r.threads);
	EXPECT_LE(30 * MS, r.ran_ns);
	EXPECT_LT(begin, r.time_ns);
	EXPECT_GE(end, r.time_ns);
	r.size = 4;
	EXPECT_EQ(-EINVAL, gda_dpa_error(self->dpa, &r));
	ALL_STICKY();
	/* it is a function of this process: nothing ends it */
	EXPECT_EQ(-EBUSY, gda_dpa_destroy(self->dpa));
	EXPECT_NE(NULL, strstr(gda_last_error(), "a task still runs"));
	EXPECT_EQ(-EBUSY, gda_dpa_destroy(self->dpa));
	ALL_STICKY();
}

struct d_cross {
	uint32_t wait, set;
};

GDA_DPA_TASK(d_cross)
{
	const struct d_cross *c = args;

	if (!gda_dpa_event_wait_gt(t, c->wait, 0, UINT64_MAX))
		gda_dpa_event_update_add(t, c->set, 1);
}

/* Two tasks that wait inside for each other: the watchdog ends them, and they do return. */
TEST_F(fatal, D_13_a_circle_of_tasks_is_ended)
{
	struct gda_dpa_event *other;
	struct d_cross c;
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &d_cross, .threads = 1, .bytes = sizeof(c), .args = &c,
	};
	struct gda_dpa_report r = { .size = sizeof(r) };

	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &other));
	c.wait = gda_dpa_event_handle(self->event);
	c.set = gda_dpa_event_handle(other);
	ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	c.wait = gda_dpa_event_handle(other);
	c.set = gda_dpa_event_handle(self->event);
	ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	STICKY(gda_dpa_event_await_gt(other, 0, UINT64_MAX, d_in(60 * SECOND)));
	ASSERT_EQ(1, gda_dpa_error(self->dpa, &r));
	EXPECT_EQ(GDA_DPA_RUN_LIMIT, r.reason);
	EXPECT_STREQ("d_cross", r.task);
}

/* A circle of launches that wait holds no thread: nothing runs too long, nothing starts. */
TEST_F(fatal, D_13_a_circle_of_launches_is_none)
{
	struct gda_dpa_event *other;
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .task = &d_nothing, .threads = 1 };
	uint64_t value;

	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &other));
	l.wait = self->event;
	l.done = other;
	l.value = 1;
	ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	l.wait = other;
	l.done = self->event;
	ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	usleep(100000);
	EXPECT_EQ(0, gda_dpa_error(self->dpa, NULL));
	ASSERT_EQ(0, gda_dpa_event_get(other, &value));
	EXPECT_EQ(0, value);
}

/* Many short tasks, over a time longer than @limit, which is that of one. Return: 0 or an error. */
static int short_tasks(struct gda_context *ctx, uint64_t limit)
{
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &d_nothing, .threads = 4, .value = 1,
	};
	struct gda_dpa_attr attr = {
		.size = sizeof(attr), .heap_bytes = 4096, .run_limit_ns = limit,
	};
	uint64_t end = d_in(limit + limit / 4), n;
	struct gda_dpa *dpa;
	int err;

	err = gda_dpa_create(ctx, &attr, &dpa);
	if (err)
		return err;
	err = gda_dpa_event_create(dpa, NULL, &l.done);
	for (n = 0; !err && gda_clock_ns() < end; n++) {
		err = gda_dpa_launch(dpa, &l);
		if (!err)
			err = gda_dpa_event_await_gt(l.done, n, UINT64_MAX, d_in(20 * SECOND));
	}
	if (!err)
		err = gda_dpa_error(dpa, NULL);
	gda_dpa_destroy(dpa);
	return err;
}

/* A machine may stop one of them for as long as the limit: not for a longer one as well. */
TEST_F(fatal, D_14_the_limit_is_of_each_thread)
{
	uint64_t limit;
	int err = 1;

	for (limit = 2 * SECOND; err && limit <= 18 * SECOND; limit *= 3)
		err = short_tasks(self->ctx, limit);
	EXPECT_EQ(0, err);
}

struct d_gone {
	uint64_t array;
	uint64_t out;
};

GDA_DPA_TASK(d_gone)
{
	const struct d_gone *g = args;
	int64_t *out = gda_dpa_at(t, g->out, 24);
	struct gda_dpa_buf a, b;

	gda_dpa_buf_get(t, g->array, 0, &a);
	gda_dpa_buf_get(t, g->array, 1, &b);
	out[0] = gda_dpa_memcpy(t, &b, 0, &a, 0, 64);
	/* the context has failed by then, so no event says that it is there */
	__atomic_store_n(&out[1], gda_dpa_memcpy_wait(t, gda_clock_ns() + 20 * SECOND),
			 __ATOMIC_RELEASE);
}

TEST_F(fatal, D_05_D_16_a_copy_of_what_is_gone)
{
	char *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct gda_dpa_buf bufs[2];
	struct d_gone g;
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &d_gone, .threads = 1, .bytes = sizeof(g), .args = &g,
		.value = 1,
	};
	struct gda_dpa_report r = { .size = sizeof(r) };
	struct gda_mr *mr;
	uint64_t end = d_in(20 * SECOND);
	int64_t *out;

	/* the task ends by itself, and is not to be ended if this machine stops it for a while */
	ASSERT_EQ(0, gda_dpa_destroy(self->dpa));
	gda_close(self->ctx);
	ASSERT_EQ(0, open_with_limit(self, 60 * SECOND));
	l.done = self->event;
	ASSERT_EQ(0, gda_mr_reg(self->ctx, mem, 4096, GDA_ACCESS_ALL, 0, &mr));
	ASSERT_EQ(0, gda_dpa_alloc(self->dpa, 64, &g.out));
	ASSERT_EQ(0, gda_dpa_heap_buf(self->dpa, self->heap, 64, &bufs[0]));
	ASSERT_EQ(0, gda_dpa_mr_buf(self->dpa, mr, mem, 4096, &bufs[1]));
	ASSERT_EQ(0, gda_dpa_bufs_create(self->dpa, bufs, 2, &g.array));
	ASSERT_EQ(0, gda_mr_dereg(mr));
	ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	STICKY(gda_dpa_event_await_gt(self->event, 1, UINT64_MAX, d_in(20 * SECOND)));
	ASSERT_EQ(1, gda_dpa_error(self->dpa, &r));
	EXPECT_EQ(GDA_DPA_COPY_FAILED, r.reason);
	EXPECT_STREQ("d_gone", r.task);
	out = gda_dpa_map_at(&self->dpa->map, g.out, 16);
	while (!__atomic_load_n(&out[1], __ATOMIC_ACQUIRE) && gda_clock_ns() < end)
		usleep(1000);
	EXPECT_EQ(-EIO, out[1]);
	EXPECT_EQ(0, out[0]);
	ALL_STICKY();
}

/* Noise in the ring of launches: fatal, and nothing of it is run. */
TEST_F(fatal, D_16_a_ring_of_noise)
{
	struct gda_dpa_map *m = &self->dpa->map;
	struct gda_dpa_report r = { .size = sizeof(r) };
	unsigned int seed = 11, i;
	uint8_t *ring = (uint8_t *)m->ring;

	for (i = 0; i < 8 * sizeof(struct gda_dpa_entry); i++)
		ring[i] = (uint8_t)rand_r(&seed);
	__atomic_store_n(&m->header->tail, 8, __ATOMIC_SEQ_CST);
	gda_dpa_bell_all(m);
	STICKY(gda_dpa_event_await_gt(self->event, 0, UINT64_MAX, d_in(20 * SECOND)));
	ASSERT_EQ(1, gda_dpa_error(self->dpa, &r));
	EXPECT_EQ(GDA_DPA_CORRUPTED, r.reason);
	EXPECT_STREQ("", r.task);
	ALL_STICKY();
}

TEST_F(fatal, D_16_counts_that_cannot_be)
{
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .task = &d_nothing, .threads = 1 };

	__atomic_store_n(&self->dpa->map.header->ended, 1, __ATOMIC_SEQ_CST);
	STICKY(gda_dpa_launch(self->dpa, &l));
	ALL_STICKY();
}

TEST_F(fatal, D_16_a_tail_out_of_range)
{
	__atomic_store_n(&self->dpa->map.header->tail, 1ULL << 40, __ATOMIC_SEQ_CST);
	gda_dpa_bell_all(&self->dpa->map);
	STICKY(gda_dpa_event_await_gt(self->event, 0, UINT64_MAX, d_in(20 * SECOND)));
	ALL_STICKY();
}

/* A fatal error of one context does not touch another. */
TEST_F(fatal, D_16_a_second_context_goes_on)
{
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .task = &d_nothing, .threads = 2 };
	struct gda_dpa_event *event;
	struct gda_dpa *dpa;

	ASSERT_EQ(0, gda_dpa_create(self->ctx, NULL, &dpa));
	ASSERT_EQ(0, gda_dpa_event_create(dpa, NULL, &event));
	gda_dpa_fatal(&self->dpa->map, GDA_DPA_CORRUPTED, UINT32_MAX);
	ALL_STICKY();
	l.done = event;
	l.value = 1;
	ASSERT_EQ(0, gda_dpa_launch(dpa, &l));
	EXPECT_EQ(0, gda_dpa_event_await_gt(event, 0, UINT64_MAX, d_in(20 * SECOND)));
	EXPECT_EQ(0, gda_dpa_destroy(dpa));
}

TEST_HARNESS_MAIN

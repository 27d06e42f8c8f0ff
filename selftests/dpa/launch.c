// SPDX-License-Identifier: MIT
/*
 * gda/dpa.h: events and launches, the rows D-06, D-11 and D-12 of FIELD.md, with the graphs of
 * the seed. On whatever device gda_open(NULL) opens.
 */
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
#include "dpa.h"

GDA_DPA_TASK(d_nothing)
{
}

/* --- D-06 --- */

TEST_F(dpa, D_06_places_are_declared)
{
	struct gda_dpa_event_attr host = {
		.size = sizeof(host), .publishers = GDA_DPA_HOST, .subscribers = GDA_DPA_HOST,
	}, tasks = {
		.size = sizeof(tasks), .publishers = GDA_DPA_TASKS, .subscribers = GDA_DPA_TASKS,
	}, odd = { .size = sizeof(odd), .publishers = 1U << 31 };
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .task = &d_nothing, .threads = 1 };
	struct gda_dpa_event *h, *k, *none;
	uint64_t value;

	EXPECT_EQ(-EINVAL, gda_dpa_event_create(self->dpa, &odd, &none));
	odd.publishers = 0;
	odd.flags = 8;
	EXPECT_EQ(-EOPNOTSUPP, gda_dpa_event_create(self->dpa, &odd, &none));
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, &host, &h));
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, &tasks, &k));
	EXPECT_NE(gda_dpa_event_handle(h), gda_dpa_event_handle(k));
	EXPECT_EQ(-EACCES, gda_dpa_event_add(k, 1));
	EXPECT_EQ(-EACCES, gda_dpa_event_set(k, 1));
	EXPECT_EQ(-EACCES, gda_dpa_event_get(k, &value));
	EXPECT_EQ(-EACCES, gda_dpa_event_await_gt(k, 0, 1, 0));
	EXPECT_NE(NULL, strstr(gda_last_error(), "no subscriber"));
	l.wait = h;
	EXPECT_EQ(-EACCES, gda_dpa_launch(self->dpa, &l));
	l.wait = NULL;
	l.done = h;
	EXPECT_EQ(-EACCES, gda_dpa_launch(self->dpa, &l));
	EXPECT_EQ(0, gda_dpa_event_destroy(h));
	EXPECT_EQ(0, gda_dpa_event_destroy(k));
	EXPECT_EQ(0, gda_dpa_event_destroy(NULL));
}

struct d_places {
	uint32_t host, tasks, gone;
	uint64_t out;
};

GDA_DPA_TASK(d_places)
{
	const struct d_places *p = args;
	int64_t *out = gda_dpa_at(t, p->out, 8 * sizeof(*out));
	uint64_t value;

	out[0] = gda_dpa_event_update_add(t, p->host, 1);
	out[1] = gda_dpa_event_read(t, p->host, &value);
	out[2] = gda_dpa_event_wait_gt(t, p->host, 0, 1);
	out[3] = gda_dpa_event_update_set(t, p->gone, 1);
	out[4] = gda_dpa_event_wait_ne(t, UINT32_MAX, 0, 1);
	out[5] = gda_dpa_event_update_set(t, p->tasks, 0xf0);
	out[6] = gda_dpa_event_wait_gt(t, p->tasks, 0xef, 0xff);
	out[7] = gda_dpa_event_wait_ne(t, p->tasks, 0, UINT64_MAX);
}

TEST_F(dpa, D_06_places_hold_for_tasks)
{
	struct gda_dpa_event_attr host = {
		.size = sizeof(host), .publishers = GDA_DPA_HOST, .subscribers = GDA_DPA_HOST,
	};
	struct gda_dpa_event *h, *k, *gone;
	struct d_places p;
	int64_t out[8];

	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, &host, &h));
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &k));
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &gone));
	ASSERT_EQ(0, gda_dpa_alloc(self->dpa, sizeof(out), &p.out));
	p.host = gda_dpa_event_handle(h);
	p.tasks = gda_dpa_event_handle(k);
	p.gone = gda_dpa_event_handle(gone);
	ASSERT_EQ(0, gda_dpa_event_destroy(gone));
	ASSERT_EQ(0, LAUNCH(d_places, 1, &p));
	ASSERT_EQ(0, AWAIT(1));
	ASSERT_EQ(0, gda_dpa_read(self->dpa, out, p.out, sizeof(out)));
	EXPECT_EQ(-EACCES, out[0]);
	EXPECT_EQ(-EACCES, out[1]);
	EXPECT_EQ(-EACCES, out[2]);
	EXPECT_EQ(-EINVAL, out[3]);
	EXPECT_EQ(-EINVAL, out[4]);
	EXPECT_EQ(0, out[5]);
	EXPECT_EQ(0, out[6]);
	EXPECT_EQ(0, out[7]);
}

/* (event & mask) > value: strictly, of 64 bits, and of the bits of the mask alone. */
TEST_F(dpa, D_06_wait_is_strictly_greater_under_a_mask)
{
	struct gda_dpa_event *e = self->done;
	uint64_t value;

	EXPECT_EQ(-ETIMEDOUT, gda_dpa_event_await_gt(e, 0, UINT64_MAX, d_in(MS)));
	EXPECT_EQ(-ETIME, gda_dpa_event_await_gt(e, 0, UINT64_MAX, SECOND));
	ASSERT_EQ(0, gda_dpa_event_add(e, 1));
	EXPECT_EQ(0, gda_dpa_event_await_gt(e, 0, UINT64_MAX, d_in(SECOND)));
	EXPECT_EQ(-ETIMEDOUT, gda_dpa_event_await_gt(e, 1, UINT64_MAX, d_in(MS)));
	EXPECT_EQ(-ETIMEDOUT, gda_dpa_event_await_gt(e, 0, ~1ULL, d_in(MS)));
	EXPECT_EQ(-ETIMEDOUT, gda_dpa_event_await_ne(e, 1, UINT64_MAX, d_in(MS)));
	EXPECT_EQ(0, gda_dpa_event_await_ne(e, 2, UINT64_MAX, d_in(SECOND)));
	EXPECT_EQ(0, gda_dpa_event_await_ne(e, 1, 2, d_in(SECOND)));
	ASSERT_EQ(0, gda_dpa_event_set(e, UINT64_MAX));
	EXPECT_EQ(-ETIMEDOUT, gda_dpa_event_await_gt(e, UINT64_MAX, UINT64_MAX, d_in(MS)));
	EXPECT_EQ(0, gda_dpa_event_await_gt(e, UINT64_MAX - 1, UINT64_MAX, d_in(SECOND)));
	EXPECT_EQ(-ETIMEDOUT, gda_dpa_event_await_gt(e, 0xff, 0xff, d_in(MS)));
	EXPECT_EQ(0, gda_dpa_event_await_gt(e, 0xfe, 0xff, d_in(SECOND)));
	ASSERT_EQ(0, gda_dpa_event_add(e, 3));
	ASSERT_EQ(0, gda_dpa_event_get(e, &value));
	EXPECT_EQ(2, value);
}

TEST_F(dpa, D_06_events_come_to_an_end)
{
	struct gda_dpa_event *e[256], *more;
	int i;

	for (i = 0; i < 255; i++)
		ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &e[i]));
	EXPECT_EQ(-ENOSPC, gda_dpa_event_create(self->dpa, NULL, &more));
	ASSERT_EQ(0, gda_dpa_event_add(e[100], 9));
	ASSERT_EQ(0, gda_dpa_event_destroy(e[100]));
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &e[100]));
	/* a new one is at zero */
	EXPECT_EQ(-ETIMEDOUT, gda_dpa_event_await_gt(e[100], 0, UINT64_MAX, d_in(MS)));
}

/* --- D-11, D-12 --- */

struct d_ranks {
	uint64_t counts;
	uint64_t threads;
};

GDA_DPA_TASK(d_ranks)
{
	const struct d_ranks *r = args;
	uint64_t *counts = gda_dpa_at(t, r->counts, 256 * sizeof(*counts));

	__atomic_fetch_add(&counts[gda_dpa_rank(t)], 1, __ATOMIC_RELAXED);
	if (gda_dpa_threads(t) != r->threads)
		__atomic_fetch_add(&counts[255], 1, __ATOMIC_RELAXED);
}

TEST_F(dpa, D_12_each_rank_runs_once)
{
	uint64_t counts[256], i;
	struct d_ranks r;

	ASSERT_EQ(0, gda_dpa_alloc(self->dpa, sizeof(counts), &r.counts));
	for (r.threads = 1; r.threads <= 4; r.threads++) {
		ASSERT_EQ(0, gda_dpa_set(self->dpa, r.counts, 0, sizeof(counts)));
		ASSERT_EQ(0, LAUNCH(d_ranks, (uint32_t)r.threads, &r));
		ASSERT_EQ(0, AWAIT(r.threads));
		ASSERT_EQ(0, gda_dpa_read(self->dpa, counts, r.counts, sizeof(counts)));
		for (i = 0; i < 256; i++)
			EXPECT_EQ(i < r.threads, counts[i]);
	}
}

/* Before the last thread has returned, the completion event does not change. */
GDA_DPA_TASK(d_late)
{
	const struct d_ranks *r = args;
	uint64_t *counts = gda_dpa_at(t, r->counts, 4 * sizeof(*counts));

	if (gda_dpa_rank(t) + 1 == gda_dpa_threads(t))
		usleep(20000);
	__atomic_store_n(&counts[gda_dpa_rank(t)], 1, __ATOMIC_RELEASE);
}

TEST_F(dpa, D_12_done_is_behind_the_last_thread)
{
	uint64_t counts[4], i;
	struct d_ranks r;

	ASSERT_EQ(0, gda_dpa_alloc(self->dpa, sizeof(counts), &r.counts));
	for (r.threads = 1; r.threads <= 4; r.threads++) {
		ASSERT_EQ(0, gda_dpa_set(self->dpa, r.counts, 0, sizeof(counts)));
		ASSERT_EQ(0, LAUNCH(d_late, (uint32_t)r.threads, &r));
		ASSERT_EQ(0, AWAIT(r.threads));
		ASSERT_EQ(0, gda_dpa_read(self->dpa, counts, r.counts, sizeof(counts)));
		for (i = 0; i < r.threads; i++)
			EXPECT_EQ(1, counts[i]);
	}
}

/* Threads of one launch may wait for each other: they all run. */
struct d_meet {
	uint32_t event;
	uint32_t reserved;
};

GDA_DPA_TASK(d_meet)
{
	const struct d_meet *m = args;

	gda_dpa_event_update_add(t, m->event, 1);
	gda_dpa_event_wait_gt(t, m->event, gda_dpa_threads(t) - 1, UINT64_MAX);
}

TEST_F(dpa, D_12_threads_of_a_launch_run_together)
{
	struct gda_dpa_event *e[20];
	struct d_meet m = { 0 };
	uint32_t i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &e[i]));
		m.event = gda_dpa_event_handle(e[i]);
		ASSERT_EQ(0, LAUNCH(d_meet, 1 + i % 4, &m));
	}
	EXPECT_EQ(0, AWAIT(20));
}

TEST_F(dpa, D_11_launches_are_checked)
{
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .task = &d_nothing, .threads = 1 };
	struct gda_dpa_task none = { .size = sizeof(none), .name = "none" };
	uint8_t args[GDA_DPA_MAX_ARGS + 1];

	l.threads = 0;
	EXPECT_EQ(-EINVAL, gda_dpa_launch(self->dpa, &l));
	l.threads = 5;
	EXPECT_EQ(-EINVAL, gda_dpa_launch(self->dpa, &l));
	EXPECT_NE(NULL, strstr(gda_last_error(), "threads 5: set it to 1 to 4"));
	l.threads = 1;
	l.bytes = sizeof(args);
	l.args = args;
	EXPECT_EQ(-EINVAL, gda_dpa_launch(self->dpa, &l));
	l.bytes = 8;
	l.args = NULL;
	EXPECT_EQ(-EINVAL, gda_dpa_launch(self->dpa, &l));
	l.bytes = 0;
	l.flags = 2;
	EXPECT_EQ(-EOPNOTSUPP, gda_dpa_launch(self->dpa, &l));
	l.flags = 0;
	l.task = NULL;
	EXPECT_EQ(-EINVAL, gda_dpa_launch(self->dpa, &l));
	l.task = &none;
	EXPECT_EQ(-EINVAL, gda_dpa_launch(self->dpa, &l));
	EXPECT_NE(NULL, strstr(gda_last_error(), "task \"none\" has a name alone"));
	l.task = &d_nothing;
	l.size = 4;
	EXPECT_EQ(-EINVAL, gda_dpa_launch(self->dpa, &l));
	l.size = sizeof(l);
	EXPECT_EQ(0, gda_dpa_launch(self->dpa, &l));
}

GDA_DPA_TASK(d_left)
{
	gda_dpa_log(t, "left");
}

GDA_DPA_TASK(d_right)
{
	gda_dpa_log(t, "right");
}

/* One address holds a task after the other, and is gone when the launches run. */
TEST_F(dpa, D_11_the_task_of_a_launch_is_copied)
{
	struct gda_dpa_task *tasks = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = tasks, .threads = 1, .done = self->done, .value = 1,
	};
	char *name = (char *)(tasks + 1), line[GDA_DPA_LINE_BYTES];
	struct gda_dpa_event *go;
	int i;

	ASSERT_NE(MAP_FAILED, (void *)tasks);
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &go));
	l.wait = go;
	for (i = 0; i < 4; i++) {
		l.threshold = (uint64_t)i;
		*tasks = i % 2 ? d_right : d_left;
		tasks->name = name;
		snprintf(name, 8, "%s", i % 2 ? "right" : "left");
		ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	}
	ASSERT_EQ(0, munmap(tasks, 4096));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, gda_dpa_event_add(go, 1));
		ASSERT_EQ(0, AWAIT((uint64_t)i + 1));
		ASSERT_LT(0, gda_dpa_log_read(self->dpa, line, sizeof(line)));
		EXPECT_STREQ(i % 2 ? "right" : "left", line);
	}
}

struct d_bytes {
	uint8_t bytes[GDA_DPA_MAX_ARGS - 16];
	uint64_t out;
	uint64_t reserved;
};

GDA_DPA_TASK(d_bytes)
{
	const struct d_bytes *b = args;
	uint64_t *out = gda_dpa_at(t, b->out, 16), sum = 0;
	size_t i;

	for (i = 0; i < sizeof(b->bytes); i++)
		sum += (i + 1) * b->bytes[i];
	out[0] = sum;
	out[1] = (uintptr_t)args % 16;
}

TEST_F(dpa, D_11_arguments_are_copied)
{
	uint64_t out[2], sum = 0;
	struct d_bytes b;
	size_t i;

	ASSERT_EQ(0, gda_dpa_alloc(self->dpa, sizeof(out), &b.out));
	for (i = 0; i < sizeof(b.bytes); i++) {
		b.bytes[i] = (uint8_t)(i * 37 + 1);
		sum += (i + 1) * b.bytes[i];
	}
	ASSERT_EQ(0, LAUNCH(d_bytes, 1, &b));
	memset(b.bytes, 0, sizeof(b.bytes));
	ASSERT_EQ(0, AWAIT(1));
	ASSERT_EQ(0, gda_dpa_read(self->dpa, out, b.out, sizeof(out)));
	EXPECT_EQ(sum, out[0]);
	EXPECT_EQ(0, out[1]);
}

/* The completion event is set or added to, once, by the last thread. */
TEST_F(dpa, D_11_completion_sets_or_adds)
{
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &d_nothing, .threads = 4, .done = self->done, .value = 7,
	};
	uint64_t value;

	ASSERT_EQ(0, gda_dpa_event_set(self->done, 100));
	ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	ASSERT_EQ(0, gda_dpa_event_await_ne(self->done, 100, UINT64_MAX, d_in(20 * SECOND)));
	ASSERT_EQ(0, gda_dpa_event_get(self->done, &value));
	EXPECT_EQ(107, value);
	l.flags = GDA_DPA_DONE_SET;
	ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	ASSERT_EQ(0, gda_dpa_event_await_ne(self->done, 107, UINT64_MAX, d_in(20 * SECOND)));
	ASSERT_EQ(0, gda_dpa_event_get(self->done, &value));
	EXPECT_EQ(7, value);
}

/* Thresholds have 64 bits and are strict; a launch that waits holds no thread. */
TEST_F(dpa, D_11_thresholds_of_64_bits_in_any_order)
{
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &d_nothing, .threads = 4, .done = self->done, .value = 1,
	};
	struct gda_dpa_event *e;
	uint64_t value, i;
	int args = 0;

	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &e));
	l.wait = e;
	/* more than there are threads, the last threshold first */
	for (i = 40; i > 0; i--) {
		l.threshold = 0x500000000 + i;
		ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	}
	ASSERT_EQ(0, LAUNCH(d_nothing, 4, &args));
	ASSERT_EQ(0, AWAIT(1));
	ASSERT_EQ(0, gda_dpa_event_set(e, 0x500000001));
	EXPECT_EQ(-ETIMEDOUT, gda_dpa_event_await_gt(self->done, 1, UINT64_MAX, d_in(20 * MS)));
	for (i = 1; i <= 40; i++) {
		ASSERT_EQ(0, gda_dpa_event_add(e, 1));
		ASSERT_EQ(0, AWAIT(i + 1));
	}
	ASSERT_EQ(0, gda_dpa_event_get(self->done, &value));
	EXPECT_EQ(41, value);
}

TEST_F(dpa, D_11_launches_come_to_an_end)
{
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &d_nothing, .threads = 1, .done = self->done, .value = 1,
	};
	struct gda_dpa_event *e;
	int i;

	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &e));
	l.wait = e;
	for (i = 0; i < 1024; i++)
		ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	EXPECT_EQ(-EAGAIN, gda_dpa_launch(self->dpa, &l));
	ASSERT_EQ(0, gda_dpa_event_add(e, 1));
	ASSERT_EQ(0, AWAIT(1024));
	/* the last one counts as not ended until just after its event */
	for (i = 0; i < 20000 && gda_dpa_launch(self->dpa, &l); i++)
		usleep(1000);
	EXPECT_EQ(0, AWAIT(1025));
}

/*
 * A pool that sleeps is woken by a launch and by an event: it would look by itself only after
 * ten seconds.
 */
TEST(D_11_a_bell_wakes_a_pool_that_sleeps)
{
	struct gda_dpa_attr attr = {
		.size = sizeof(attr), .threads = 2, .heap_bytes = 4096, .spin_ns = UINT64_MAX,
	};
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .task = &d_nothing, .threads = 1 };
	uint64_t begin, took;
	struct gda_dpa_event *go;
	struct gda_context *ctx;
	struct gda_dpa *dpa;
	uint32_t i;

	ASSERT_EQ(0, gda_open(NULL, &ctx));
	ASSERT_EQ(0, gda_dpa_create(ctx, &attr, &dpa));
	ASSERT_EQ(0, gda_dpa_event_create(dpa, NULL, &l.done));
	ASSERT_EQ(0, gda_dpa_event_create(dpa, NULL, &go));
	l.value = 1;
	for (i = 0; i < 10; i++) {
		l.wait = i % 2 ? go : NULL;
		l.threshold = i / 2;
		usleep(5000);
		begin = gda_clock_ns();
		ASSERT_EQ(0, gda_dpa_launch(dpa, &l));
		if (i % 2) {
			usleep(5000);
			begin = gda_clock_ns();
			ASSERT_EQ(0, gda_dpa_event_add(go, 1));
		}
		ASSERT_EQ(0, gda_dpa_event_await_gt(l.done, i, UINT64_MAX, d_in(20 * SECOND)));
		took = gda_clock_ns() - begin;
		EXPECT_LT(took, 5 * SECOND);
	}
	EXPECT_EQ(0, gda_dpa_destroy(dpa));
	gda_close(ctx);
}

/* --- the seed's graphs (D-11, D-13): tasks that wait inside --- */

struct d_linear {
	uint32_t wait, done;
};

GDA_DPA_TASK(linear_task)
{
	const struct d_linear *l = args;

	if (l->wait)
		gda_dpa_event_wait_gt(t, l->wait, 0, UINT64_MAX);
	gda_dpa_event_update_add(t, l->done, 1);
}

TEST_F(dpa, D_11_seed_linear_graph)
{
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .task = &linear_task, .threads = 1 };
	struct gda_dpa_event *a, *b, *c;
	struct d_linear first, second, third;

	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &a));
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &b));
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &c));
	first = (struct d_linear) { 0, gda_dpa_event_handle(b) };
	second = (struct d_linear) { gda_dpa_event_handle(b), gda_dpa_event_handle(c) };
	third = (struct d_linear) { gda_dpa_event_handle(c), gda_dpa_event_handle(self->done) };
	l.bytes = sizeof(first);
	l.args = &first;
	l.wait = a;
	l.threshold = 1;
	ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	l.wait = NULL;
	l.args = &second;
	ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	l.args = &third;
	ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	/* the seed sets 1, which is not greater than 1: nothing may start */
	ASSERT_EQ(0, gda_dpa_event_set(a, 1));
	EXPECT_EQ(-ETIMEDOUT, gda_dpa_event_await_gt(self->done, 0, UINT64_MAX, d_in(20 * MS)));
	ASSERT_EQ(0, gda_dpa_event_set(a, 2));
	EXPECT_EQ(0, AWAIT(1));
}

struct d_diamond {
	uint32_t wait, done1, done2, reserved;
	uint64_t threshold;
};

GDA_DPA_TASK(diamond_task)
{
	const struct d_diamond *d = args;

	if (d->wait)
		gda_dpa_event_wait_gt(t, d->wait, d->threshold, UINT64_MAX);
	gda_dpa_event_update_add(t, d->done1, 1);
	if (d->done2)
		gda_dpa_event_update_add(t, d->done2, 1);
}

/* The seed's diamond, with thresholds that an event of as many parents exceeds. */
TEST_F(dpa, D_11_seed_diamond_graph)
{
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &diamond_task, .threads = 1,
		.bytes = sizeof(struct d_diamond),
	};
	struct gda_dpa_attr attr = { .size = sizeof(attr), .threads = 5, .heap_bytes = 4096 };
	struct gda_dpa_event *a, *b, *c, *d, *e, *done;
	struct gda_dpa *dpa;
	uint64_t value;
	uint32_t i;

	/* four of the tasks wait inside and hold a thread each */
	ASSERT_EQ(0, gda_dpa_create(self->ctx, &attr, &dpa));
	ASSERT_EQ(0, gda_dpa_event_create(dpa, NULL, &done));
	ASSERT_EQ(0, gda_dpa_event_create(dpa, NULL, &a));
	ASSERT_EQ(0, gda_dpa_event_create(dpa, NULL, &b));
	ASSERT_EQ(0, gda_dpa_event_create(dpa, NULL, &c));
	ASSERT_EQ(0, gda_dpa_event_create(dpa, NULL, &d));
	ASSERT_EQ(0, gda_dpa_event_create(dpa, NULL, &e));
	struct d_diamond nodes[] = {
		{ 0, gda_dpa_event_handle(b), gda_dpa_event_handle(c), 0, 0 },
		{ gda_dpa_event_handle(b), gda_dpa_event_handle(e), 0, 0, 0 },
		{ gda_dpa_event_handle(c), gda_dpa_event_handle(d), 0, 0, 0 },
		{ gda_dpa_event_handle(d), gda_dpa_event_handle(e), 0, 0, 0 },
		{ gda_dpa_event_handle(e), gda_dpa_event_handle(done), 0, 0, 1 },
	};

	for (i = 0; i < 5; i++) {
		l.args = &nodes[i];
		l.wait = i ? NULL : a;
		ASSERT_EQ(0, gda_dpa_launch(dpa, &l));
	}
	ASSERT_EQ(0, gda_dpa_event_set(a, 1));
	ASSERT_EQ(0, gda_dpa_event_await_gt(done, 0, UINT64_MAX, d_in(20 * SECOND)));
	ASSERT_EQ(0, gda_dpa_event_get(e, &value));
	EXPECT_EQ(2, value);
	EXPECT_EQ(0, gda_dpa_destroy(dpa));
}

TEST_HARNESS_MAIN

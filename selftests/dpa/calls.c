// SPDX-License-Identifier: MIT
/*
 * gda/dpa.h, call by call: contexts, heap, buffers, copies, the count of threads, the log: the
 * rows D-01 to D-05, D-15 and D-17 of FIELD.md. On whatever device gda_open(NULL) opens.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "dpa.h"

/* --- D-01 --- */

TEST_F(dpa, D_01_query_says_what_a_device_can_do)
{
	struct { struct gda_dpa_limits l; uint8_t behind[64]; } g;
	struct gda_dpa_limits l = { .size = 4 };
	struct gda_dpa_attr attr = { .size = sizeof(attr) };
	struct gda_dpa *dpa;
	size_t i;

	EXPECT_EQ(-EINVAL, gda_dpa_query(self->ctx, &l));
	l.size = 1 << 20;
	EXPECT_EQ(-E2BIG, gda_dpa_query(self->ctx, &l));
	memset(&g, 0xa5, sizeof(g));
	g.l.size = sizeof(g.l);
	ASSERT_EQ(0, gda_dpa_query(self->ctx, &g.l));
	EXPECT_EQ(1, g.l.supported);
	EXPECT_EQ(256, g.l.max_threads);
	EXPECT_EQ(256, g.l.max_args);
	EXPECT_EQ(3600 * SECOND, g.l.max_run_ns);
	EXPECT_EQ(4, g.l.threads_in_use);
	for (i = 0; i < sizeof(g.behind); i++)
		EXPECT_EQ(0xa5, g.behind[i]);
	/* the limits are those that creation holds to */
	attr.threads = g.l.max_threads + 1;
	EXPECT_EQ(-EINVAL, gda_dpa_create(self->ctx, &attr, &dpa));
	attr.threads = 1;
	attr.run_limit_ns = g.l.max_run_ns + 1;
	EXPECT_EQ(-EINVAL, gda_dpa_create(self->ctx, &attr, &dpa));
	attr.run_limit_ns = 0;
	attr.heap_bytes = g.l.max_heap + 1;
	EXPECT_EQ(-EINVAL, gda_dpa_create(self->ctx, &attr, &dpa));
	attr.heap_bytes = 0;
	attr.events = g.l.max_events + 1;
	EXPECT_EQ(-EINVAL, gda_dpa_create(self->ctx, &attr, &dpa));
	attr.events = 0;
	attr.launches = 2 * g.l.max_launches;
	EXPECT_EQ(-EINVAL, gda_dpa_create(self->ctx, &attr, &dpa));
	attr.launches = 3;
	EXPECT_EQ(-EINVAL, gda_dpa_create(self->ctx, &attr, &dpa));
	EXPECT_NE(NULL, strstr(gda_last_error(), "launches 3: set it to a power of two up to "));
	attr.launches = 0;
	attr.flags = 2;
	EXPECT_EQ(-EOPNOTSUPP, gda_dpa_create(self->ctx, &attr, &dpa));
	attr.flags = 0;
	attr.size = 8;
	EXPECT_EQ(-EINVAL, gda_dpa_create(self->ctx, &attr, &dpa));
}

/* --- D-02 --- */

TEST_F_TIMEOUT(dpa, D_02_contexts_are_separate, 200)
{
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .threads = 1, .done = self->done };
	struct gda_dpa_event *other;
	struct gda_dpa *dpa[3];
	uint64_t value;
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, gda_dpa_create(self->ctx, NULL, &dpa[i]));
	ASSERT_EQ(0, gda_dpa_event_create(dpa[0], NULL, &other));
	ASSERT_EQ(0, gda_dpa_event_add(other, 5));
	ASSERT_EQ(0, gda_dpa_event_get(self->done, &value));
	EXPECT_EQ(0, value);
	/* an event is of one of them */
	GDA_DPA_DECLARE(d_nothing);
	l.task = &d_nothing;
	EXPECT_EQ(-EINVAL, gda_dpa_launch(dpa[1], &l));
	l.done = NULL;
	l.wait = other;
	EXPECT_EQ(-EINVAL, gda_dpa_launch(dpa[1], &l));
	EXPECT_NE(NULL, strstr(gda_last_error(), "another gda_dpa context: "));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, gda_dpa_destroy(dpa[i]));
	EXPECT_EQ(0, gda_dpa_destroy(NULL));
}

GDA_DPA_TASK(d_nothing)
{
}

/* Tasks rely on the order of a queue, and say so where there is none. */
TEST_F(dpa, a_queue_without_order_is_refused)
{
	struct gda_query query = { .size = sizeof(query) };
	struct gda_context *ctx;
	struct gda_dpa *dpa;

	ASSERT_EQ(0, gda_open(NULL, &ctx));
	ASSERT_EQ(0, gda_context_query(ctx, &query));
	if (!(query.features[0] & GDA_FEATURE_DIALECT_EFA))
		SKIP(return, "the device has no queues without order");
	setenv("GDA_DIALECT", "efa", 1);
	EXPECT_EQ(-EOPNOTSUPP, gda_dpa_create(ctx, NULL, &dpa));
	EXPECT_NE(NULL, strstr(gda_last_error(), "GDA_CAN_ORDER")) TH_LOG("%s", gda_last_error());
	setenv("GDA_DIALECT", "nonsense", 1);
	EXPECT_EQ(-EINVAL, gda_dpa_create(ctx, NULL, &dpa));
	EXPECT_NE(NULL, strstr(gda_last_error(), "GDA_DIALECT=nonsense"));
	unsetenv("GDA_DIALECT");
	gda_close(ctx);
}

/* In a child of fork(2) every call says so, and the parent's context goes on. */
TEST_F(dpa, D_02_a_child_has_no_context)
{
	uint64_t value;
	int status, ok = 1, args = 0;
	pid_t pid = fork();

	if (!pid) {
		ok = ok && gda_dpa_event_get(self->done, &value) == -ENODEV;
		ok = ok && gda_dpa_event_add(self->done, 1) == -ENODEV;
		ok = ok && gda_dpa_event_await_gt(self->done, 0, 1, 0) == -ENODEV;
		ok = ok && gda_dpa_alloc(self->dpa, 64, &value) == -ENODEV;
		ok = ok && LAUNCH(d_nothing, 1, &args) == -ENODEV;
		ok = ok && gda_dpa_error(self->dpa, NULL) == -ENODEV;
		ok = ok && gda_dpa_event_destroy(self->done) == 0;
		ok = ok && gda_dpa_destroy(self->dpa) == -ENODEV;
		_exit(ok ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_EQ(0, LAUNCH(d_nothing, 4, &args));
	EXPECT_EQ(0, AWAIT(1));
}

/* --- D-03 --- */

struct d_copy {
	uint64_t from, to;
	uint64_t bytes;
};

GDA_DPA_TASK(d_double)
{
	const struct d_copy *c = args;
	const uint32_t *from = gda_dpa_at(t, c->from, c->bytes);
	uint32_t *to = gda_dpa_at(t, c->to, c->bytes);
	uint64_t i;

	for (i = gda_dpa_rank(t); i < c->bytes / 4; i += gda_dpa_threads(t))
		to[i] = 2 * from[i];
}

TEST_F(dpa, D_03_heap_is_shared_with_tasks)
{
	uint32_t words[1000], i;
	struct d_copy c = { .bytes = sizeof(words) };

	ASSERT_EQ(0, gda_dpa_alloc(self->dpa, sizeof(words), &c.from));
	ASSERT_EQ(0, gda_dpa_alloc(self->dpa, sizeof(words), &c.to));
	EXPECT_NE(0, c.from);
	EXPECT_EQ(0, c.from % 64);
	for (i = 0; i < 1000; i++)
		words[i] = i * i;
	ASSERT_EQ(0, gda_dpa_write(self->dpa, c.from, words, sizeof(words)));
	ASSERT_EQ(0, gda_dpa_set(self->dpa, c.to, 0x5a, sizeof(words)));
	ASSERT_EQ(0, gda_dpa_read(self->dpa, words, c.to, sizeof(words)));
	for (i = 0; i < 1000; i++)
		ASSERT_EQ(0x5a5a5a5a, words[i]);
	ASSERT_EQ(0, LAUNCH(d_double, 3, &c));
	ASSERT_EQ(0, AWAIT(1));
	ASSERT_EQ(0, gda_dpa_read(self->dpa, words, c.to, sizeof(words)));
	for (i = 0; i < 1000; i++)
		ASSERT_EQ(2 * i * i, words[i]);
	EXPECT_EQ(0, gda_dpa_free(self->dpa, c.from));
	EXPECT_EQ(0, gda_dpa_free(self->dpa, c.to));
	EXPECT_EQ(0, gda_dpa_free(self->dpa, 0));
}

TEST_F(dpa, D_03_heap_refuses_what_is_outside)
{
	const uint64_t heap = 1 << 20;
	uint64_t addr, all;
	char byte = 0;

	EXPECT_EQ(-EINVAL, gda_dpa_alloc(self->dpa, 0, &addr));
	EXPECT_EQ(-ENOSPC, gda_dpa_alloc(self->dpa, heap, &addr));
	EXPECT_EQ(-ENOSPC, gda_dpa_alloc(self->dpa, SIZE_MAX, &addr));
	ASSERT_EQ(0, gda_dpa_alloc(self->dpa, heap - 64, &all));
	EXPECT_EQ(-ENOSPC, gda_dpa_alloc(self->dpa, 1, &addr));
	EXPECT_EQ(0, gda_dpa_write(self->dpa, heap - 1, &byte, 1));
	EXPECT_EQ(-ERANGE, gda_dpa_write(self->dpa, heap, &byte, 1));
	EXPECT_EQ(-ERANGE, gda_dpa_write(self->dpa, 0, &byte, 1));
	EXPECT_EQ(-ERANGE, gda_dpa_read(self->dpa, &byte, heap - 1, 2));
	EXPECT_EQ(-ERANGE, gda_dpa_set(self->dpa, 64, 0, SIZE_MAX));
	EXPECT_EQ(-EINVAL, gda_dpa_free(self->dpa, all + 64));
	EXPECT_EQ(0, gda_dpa_free(self->dpa, all));
	EXPECT_EQ(-EINVAL, gda_dpa_free(self->dpa, all));
	EXPECT_EQ(-EINVAL, gda_dpa_bufs_destroy(self->dpa, all));
}

/* Freed memory is one piece again, in whatever order it was freed. */
TEST_F(dpa, D_03_freed_pieces_become_one)
{
	uint64_t addr[64], whole;
	unsigned int seed = 7, i, j, round;

	for (round = 0; round < 50; round++) {
		for (i = 0; i < 64; i++)
			ASSERT_EQ(0, gda_dpa_alloc(self->dpa, 1 + (size_t)rand_r(&seed) % 8000,
						   &addr[i]));
		for (i = 64; i; i--) {
			j = (unsigned int)rand_r(&seed) % i;
			ASSERT_EQ(0, gda_dpa_free(self->dpa, addr[j]));
			addr[j] = addr[i - 1];
		}
		ASSERT_EQ(0, gda_dpa_alloc(self->dpa, (1 << 20) - 64, &whole));
		ASSERT_EQ(0, gda_dpa_free(self->dpa, whole));
	}
}

/* --- D-04 --- */

struct d_bufs {
	uint64_t array;
	uint64_t out;
};

GDA_DPA_TASK(d_look_at_bufs)
{
	const struct d_bufs *b = args;
	int64_t *out = gda_dpa_at(t, b->out, 16 * sizeof(*out));
	struct gda_dpa_buf buf = { 0 };
	const char *p;

	out[0] = gda_dpa_buf_get(t, b->array, 2, &buf);
	out[1] = gda_dpa_buf_get(t, b->array, UINT64_MAX, &buf);
	out[2] = gda_dpa_buf_get(t, b->array, 1, &buf);
	out[3] = (int64_t)buf.bytes;
	out[4] = (int64_t)buf.addr;
	p = gda_dpa_buf_pointer(t, &buf, 3, 2);
	out[5] = p ? p[1] : -1;
	out[6] = !gda_dpa_buf_pointer(t, &buf, 99, 2);
	out[7] = !gda_dpa_buf_pointer(t, &buf, 101, 0);
	out[8] = !!gda_dpa_buf_pointer(t, &buf, 100, 0);
	out[9] = !gda_dpa_buf_pointer(t, &buf, UINT64_MAX, 2);
	out[10] = gda_dpa_buf_get(t, b->out, 0, &buf);
	out[11] = gda_dpa_buf_get(t, UINT64_MAX - 8, 0, &buf);
	out[12] = gda_dpa_buf_get(t, b->array, 0, &buf);
	out[13] = (int64_t)buf.bytes;
}

static char *memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

TEST_F(dpa, D_04_buffers_by_index_within_bounds)
{
	struct d_bufs b;
	struct gda_dpa_buf bufs[2];
	struct gda_mr *mr, *zero;
	char *mem = memory(4096);
	int64_t out[16];

	ASSERT_NE(NULL, mem);
	mem[1004] = 77;
	ASSERT_EQ(0, gda_mr_reg(self->ctx, mem, 4096, GDA_ACCESS_ALL, 0, &mr));
	ASSERT_EQ(0, gda_mr_reg(self->ctx, mem, 4096, GDA_ACCESS_ALL, GDA_MR_ZERO_BASED, &zero));
	ASSERT_EQ(0, gda_dpa_alloc(self->dpa, sizeof(out), &b.out));
	ASSERT_EQ(0, gda_dpa_set(self->dpa, b.out, 0, sizeof(out)));
	ASSERT_EQ(0, gda_dpa_heap_buf(self->dpa, b.out, sizeof(out), &bufs[0]));
	ASSERT_EQ(0, gda_dpa_mr_buf(self->dpa, mr, mem + 1000, 100, &bufs[1]));
	EXPECT_EQ(-ERANGE, gda_dpa_mr_buf(self->dpa, mr, mem + 4000, 97, &bufs[1]));
	EXPECT_EQ(-ERANGE, gda_dpa_mr_buf(self->dpa, mr, mem - 1, 2, &bufs[1]));
	EXPECT_EQ(-EINVAL, gda_dpa_mr_buf(self->dpa, zero, mem, 1, &bufs[1]));
	EXPECT_EQ(-ERANGE, gda_dpa_heap_buf(self->dpa, 1 << 20, 1, &bufs[0]));
	EXPECT_EQ(-EINVAL, gda_dpa_bufs_create(self->dpa, bufs, 0, &b.array));
	ASSERT_EQ(0, gda_dpa_bufs_create(self->dpa, bufs, 2, &b.array));
	EXPECT_EQ(-EINVAL, gda_dpa_free(self->dpa, b.array));
	ASSERT_EQ(0, LAUNCH(d_look_at_bufs, 1, &b));
	ASSERT_EQ(0, AWAIT(1));
	ASSERT_EQ(0, gda_dpa_read(self->dpa, out, b.out, sizeof(out)));
	EXPECT_EQ(-ERANGE, out[0]);
	EXPECT_EQ(-ERANGE, out[1]);
	EXPECT_EQ(0, out[2]);
	EXPECT_EQ(100, out[3]);
	EXPECT_EQ((int64_t)(uintptr_t)(mem + 1000), out[4]);
	EXPECT_EQ(77, out[5]);
	EXPECT_EQ(1, out[6]);
	EXPECT_EQ(1, out[7]);
	EXPECT_EQ(1, out[8]);
	EXPECT_EQ(1, out[9]);
	EXPECT_EQ(-EINVAL, out[10]);
	EXPECT_EQ(-EINVAL, out[11]);
	EXPECT_EQ(0, out[12]);
	EXPECT_EQ(sizeof(out), out[13]);
	EXPECT_EQ(0, gda_dpa_bufs_destroy(self->dpa, b.array));
	/* the array is none any more */
	ASSERT_EQ(0, LAUNCH(d_look_at_bufs, 1, &b));
	ASSERT_EQ(0, AWAIT(2));
	ASSERT_EQ(0, gda_dpa_read(self->dpa, out, b.out, sizeof(out)));
	EXPECT_EQ(-EINVAL, out[2]);
	EXPECT_EQ(0, gda_mr_dereg(mr));
	EXPECT_EQ(0, gda_mr_dereg(zero));
}

/* --- D-05 --- */

struct d_memcpy {
	uint64_t array;
	uint64_t result;
	uint64_t columns, rows;
	uint32_t element;
	uint32_t odd;		/* 1: copy what is not to be copied */
};

GDA_DPA_TASK(d_memcpy)
{
	const struct d_memcpy *m = args;
	int64_t *result = gda_dpa_at(t, m->result, 8 * sizeof(*result));
	struct gda_dpa_matrix what = {
		.size = sizeof(what), .element = m->element, .columns = m->columns,
		.rows = m->rows, .src_offset = 16, .dst_offset = 32,
	};
	struct gda_dpa_buf a, b, peers;
	unsigned int i;

	result[0] = gda_dpa_buf_get(t, m->array, 0, &a) | gda_dpa_buf_get(t, m->array, 1, &b);
	what.src = &a;
	what.dst = &b;
	if (m->odd) {
		peers = a;
		peers.pointer = 0;
		result[1] = gda_dpa_memcpy(t, &b, 1, &a, 0, a.bytes);
		result[2] = gda_dpa_memcpy(t, &b, 0, &a, UINT64_MAX, 1);
		result[3] = gda_dpa_memcpy(t, &b, 0, &peers, 0, 1);
		what.columns = a.bytes;
		result[4] = gda_dpa_transpose(t, &what);
		what.columns = UINT64_MAX / 2;
		result[5] = gda_dpa_transpose(t, &what);
		what.rows = 0;
		result[6] = gda_dpa_transpose(t, &what);
		result[7] = gda_dpa_memcpy_wait(t, 0);
		return;
	}
	if (m->element) {
		result[1] = gda_dpa_transpose(t, &what);
	} else {
		/* in pieces, so that there is more than one to wait for */
		for (i = 0; i < 64; i++)
			result[1] |= gda_dpa_memcpy(t, &b, 1 + i * 1000, &a, i * 1000, 1000);
	}
	result[2] = gda_dpa_memcpy_wait(t, 0);
}

TEST_F(dpa, D_05_memcpy_and_transpose)
{
	static const uint32_t elements[] = { 0, 1, 2, 4, 8, 12 };
	struct d_memcpy m = { .columns = 37, .rows = 21 };
	struct gda_dpa_buf bufs[2];
	int64_t result[8];
	uint64_t heap, r, c, k;
	struct gda_mr *mr;
	char *mem = memory(65536), out[65536];
	size_t i;

	ASSERT_EQ(0, gda_mr_reg(self->ctx, mem, 65536, GDA_ACCESS_ALL, 0, &mr));
	ASSERT_EQ(0, gda_dpa_alloc(self->dpa, 65536, &heap));
	ASSERT_EQ(0, gda_dpa_alloc(self->dpa, sizeof(result), &m.result));
	ASSERT_EQ(0, gda_dpa_mr_buf(self->dpa, mr, mem, 65536, &bufs[0]));
	ASSERT_EQ(0, gda_dpa_heap_buf(self->dpa, heap, 65536, &bufs[1]));
	ASSERT_EQ(0, gda_dpa_bufs_create(self->dpa, bufs, 2, &m.array));
	for (i = 0; i < 65536; i++)
		mem[i] = (char)(i * 7 + i / 256);
	for (i = 0; i < 6; i++) {
		m.element = elements[i];
		ASSERT_EQ(0, gda_dpa_set(self->dpa, m.result, 0, sizeof(result)));
		ASSERT_EQ(0, gda_dpa_set(self->dpa, heap, 0, 65536));
		ASSERT_EQ(0, LAUNCH(d_memcpy, 1, &m));
		ASSERT_EQ(0, AWAIT(i + 1));
		ASSERT_EQ(0, gda_dpa_read(self->dpa, result, m.result, sizeof(result)));
		ASSERT_EQ(0, result[0]);
		ASSERT_EQ(0, result[1]);
		ASSERT_EQ(0, result[2]);
		ASSERT_EQ(0, gda_dpa_read(self->dpa, out, heap, 65536));
		if (!m.element) {
			EXPECT_EQ(0, memcmp(out + 1, mem, 64000));
			EXPECT_EQ(0, out[0]);
			EXPECT_EQ(0, out[64001]);
			continue;
		}
		for (r = 0; r < m.rows; r++)
			for (c = 0; c < m.columns; c++)
				for (k = 0; k < m.element; k++)
					ASSERT_EQ(mem[16 + (r * m.columns + c) * m.element + k],
						  out[32 + (c * m.rows + r) * m.element + k]);
		EXPECT_EQ(0, out[31]);
		EXPECT_EQ(0, out[32 + m.columns * m.rows * m.element]);
	}
	/* what is refused is refused before it is posted: the queue and the context go on */
	m.odd = 1;
	ASSERT_EQ(0, LAUNCH(d_memcpy, 1, &m));
	ASSERT_EQ(0, AWAIT(7));
	ASSERT_EQ(0, gda_dpa_read(self->dpa, result, m.result, sizeof(result)));
	EXPECT_EQ(-ERANGE, result[1]);
	EXPECT_EQ(-ERANGE, result[2]);
	EXPECT_EQ(-EINVAL, result[3]);
	EXPECT_EQ(-ERANGE, result[4]);
	EXPECT_EQ(-ERANGE, result[5]);
	EXPECT_EQ(-EINVAL, result[6]);
	EXPECT_EQ(0, result[7]);
	EXPECT_EQ(0, gda_dpa_error(self->dpa, NULL));
	EXPECT_EQ(0, gda_mr_dereg(mr));
}

/* --- D-15 --- */

TEST_F_TIMEOUT(dpa, D_15_threads_of_all_contexts_are_counted, 200)
{
	struct gda_dpa_attr attr = { .size = sizeof(attr), .threads = 128, .heap_bytes = 4096 };
	struct gda_dpa_limits limits = { .size = sizeof(limits) };
	struct gda_dpa *one, *two;

	ASSERT_EQ(0, gda_dpa_create(self->ctx, &attr, &one));
	EXPECT_EQ(-ENOSPC, gda_dpa_create(self->ctx, &attr, &two));
	EXPECT_NE(NULL, strstr(gda_last_error(), "132 threads and handles are in use"));
	attr.threads = 124;
	ASSERT_EQ(0, gda_dpa_create(self->ctx, &attr, &two));
	ASSERT_EQ(0, gda_dpa_query(self->ctx, &limits));
	EXPECT_EQ(256, limits.threads_in_use);
	attr.threads = 1;
	EXPECT_EQ(0, gda_dpa_destroy(one));
	ASSERT_EQ(0, gda_dpa_create(self->ctx, &attr, &one));
	EXPECT_EQ(0, gda_dpa_destroy(one));
	EXPECT_EQ(0, gda_dpa_destroy(two));
	ASSERT_EQ(0, gda_dpa_query(self->ctx, &limits));
	EXPECT_EQ(4, limits.threads_in_use);
}

/* gda_dpa_create() where a process may have @limit threads. Return: -1: no user to try it with. */
static int d_create_limited(rlim_t limit)
{
	struct gda_dpa_attr attr = { .size = sizeof(attr), .threads = 10, .heap_bytes = 4096 };
	const struct rlimit threads = { limit, limit };
	struct gda_context *ctx;
	struct gda_dpa *dpa;
	int err = gda_open(NULL, &ctx);

	/* the limit is none of root's */
	if (err || setresuid(61234, 61234, 61234) || setrlimit(RLIMIT_NPROC, &threads))
		return -1;
	err = gda_dpa_create(ctx, &attr, &dpa);
	if (!err)
		err = gda_dpa_destroy(dpa);
	return -err;
}

/* Whichever of its threads cannot be started: those before it end, and it is an error. */
TEST(D_15_a_thread_that_cannot_be_started)
{
	int status, refused = 0;
	rlim_t limit;
	pid_t pid;

	for (limit = 1; limit < 16; limit++) {
		pid = fork();
		if (!pid) {
			alarm(20);
			_exit(d_create_limited(limit));
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFEXITED(status)) TH_LOG("limit %d: %#x", (int)limit, status);
		if (WEXITSTATUS(status) == 255)
			SKIP(return, "no other user to be");
		EXPECT_TRUE(!status || WEXITSTATUS(status) == EAGAIN);
		refused += status != 0;
	}
	EXPECT_LT(0, refused);
}

/* --- D-17 --- */

struct d_log {
	uint32_t from, lines;
};

GDA_DPA_TASK(d_log)
{
	const struct d_log *l = args;
	char digits[400];
	uint32_t i;

	for (i = 0; i < l->lines; i++)
		gda_dpa_log(t, "line %u of %u", l->from + i, gda_dpa_rank(t));
	memset(digits, '7', sizeof(digits) - 1);
	digits[sizeof(digits) - 1] = 0;
	if (!l->lines)
		gda_dpa_log(t, "%s", digits);
}

TEST_F(dpa, D_17_lines_come_in_order_or_are_counted)
{
	struct d_log l = { .lines = 200 };
	char line[GDA_DPA_LINE_BYTES], want[64];
	uint32_t i;

	EXPECT_EQ(-EAGAIN, gda_dpa_log_read(self->dpa, line, sizeof(line)));
	for (l.from = 0; l.from < 1000; l.from += 200) {
		ASSERT_EQ(0, LAUNCH(d_log, 1, &l));
		ASSERT_EQ(0, AWAIT(l.from / 200 + 1));
		for (i = 0; i < 200; i++) {
			int n = snprintf(want, sizeof(want), "line %u of 0", l.from + i);

			ASSERT_EQ(n, gda_dpa_log_read(self->dpa, line, sizeof(line)));
			ASSERT_STREQ(want, line);
		}
	}
	EXPECT_EQ(0, gda_dpa_log_dropped(self->dpa));
	l.lines = 300;
	ASSERT_EQ(0, LAUNCH(d_log, 1, &l));
	ASSERT_EQ(0, AWAIT(6));
	EXPECT_EQ(300 - 256, gda_dpa_log_dropped(self->dpa));
	for (i = 0; i < 256; i++)
		ASSERT_LT(0, gda_dpa_log_read(self->dpa, line, sizeof(line)));
	EXPECT_EQ(-EAGAIN, gda_dpa_log_read(self->dpa, line, sizeof(line)));
	/* a line is cut, where it is written and where it is read */
	l.lines = 0;
	ASSERT_EQ(0, LAUNCH(d_log, 1, &l));
	ASSERT_EQ(0, AWAIT(7));
	EXPECT_EQ(GDA_DPA_LINE_BYTES - 1, gda_dpa_log_read(self->dpa, line, 4));
	EXPECT_STREQ("777", line);
}

TEST_HARNESS_MAIN

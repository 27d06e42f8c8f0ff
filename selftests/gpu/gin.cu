// SPDX-License-Identifier: MIT
/*
 * gda/gin.h in kernels: ranks are threads of this process, each with a context, a kernel and
 * a GPU of its own (or the one that is there), on the in-process device. Data is in GPU
 * memory, words that are added to in mapped memory of the host. A test is a function that
 * the kernels of all ranks run at the same time. Speaks KTAP.
 */
#include <cerrno>
#include <cstring>
#include <pthread.h>
#include <cooperative_groups.h>
#include <gda/gin.h>
#include "ktap.cuh"

#define RANKS		2U
#define CELL		4096U
#define CELLS		64U
#define POISON		0xee
#define SECOND		1000000000ULL
#define ROUNDS		100U

/* The arguments of a kernel, and its findings; in mapped memory of the host. */
struct env {
	struct gda_gin_comm *comm;
	const struct gda_window *data, *words, *parts;
	uint8_t *mem;		/* of @data, on the GPU */
	uint64_t *word;		/* of @words */
	uint8_t *part[3];	/* of @parts */
	uint32_t rank, nranks;
	uint32_t waiting;	/* for the host: it may go on */
	uint32_t couriers;	/* posters that have a courier */
	int line;
	long long is, want;
};

struct rank;

struct test {
	const char *name;
	void (*kernel)(struct env *);
	uint32_t blocks, threads;
	struct gda_gin_attr attr;
	int (*host)(struct rank *r);	/* while the kernel runs, or behind it */
};

struct rank {
	const struct test *test;
	struct gda_comm_id *id;
	uint32_t rank;
	int device;
	struct gda_comm *ranks;
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	struct gda_gin_comm *comm;
	struct gda_window *data, *words, *parts;
	struct env *env;
	cudaStream_t stream;
	pthread_t thread;
	int result;
};

static __device__ int fail(struct env *e, int line, long long is, long long want)
{
	if (!atomicCAS(&e->line, 0, line)) {
		e->is = is;
		e->want = want;
	}
	return 1;
}

#define EQ(want, is) do { \
	long long is_ = (long long)(is), want_ = (long long)(want); \
	if (is_ != want_) { \
		fail(e, __LINE__, is_, want_); \
		return; \
	} \
} while (0)
#define OK(call)	EQ(0, call)

static __device__ uint8_t byte_of(uint32_t i, uint32_t rank, uint32_t which)
{
	return (uint8_t)(i * 31 + i / 256 + rank * 67 + which * 129 + 1);
}

static __device__ void fill(uint8_t *p, uint32_t bytes, uint32_t rank, uint32_t which)
{
	for (uint32_t i = threadIdx.x; i < bytes; i += blockDim.x)
		((volatile uint8_t *)p)[i] = byte_of(i, rank, which);
	__syncthreads();
}

/* How many bytes are not as they should be, for a thread of its own. */
static __device__ uint32_t wrong(const uint8_t *p, uint32_t bytes, uint32_t rank, uint32_t which)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < bytes; i++)
		n += ((const volatile uint8_t *)p)[i] != byte_of(i, rank, which);
	return n;
}

static __device__ struct gda_gin *gin_of(const struct env *e)
{
	return gda_gin_context(e->comm, 0);
}

/* The others, by posters: told, and waited for. */
template <class queue>
static __device__ int meet(struct gda_gin *gin, struct gda_gin_poster<queue> &p)
{
	struct gda_gin_barrier b = { gin, gda_team_make(gin->nranks, gin->rank, 1), 0, 0 };
	int err = gda_gin_barrier_tell(&b, p);

	return err ? err : gda_gin_barrier_wait(&b, 0);
}

/* --- G-02, 03, 04: put with a signal, by a thread that owns the queue --- */

static __global__ void put_signal(struct env *e)
{
	struct gda_gin *gin = gin_of(e);
	auto p = gda_gin_open_thread(gin, !e->rank);

	OK(p.err);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t bytes = CELL - i % 7 * 8;

		fill(e->mem + 32 * CELL, bytes, e->rank, i);
		OK(gda_gin_put(p, gda_at(e->data, i % 8 * CELL), gda_at(e->data, 32 * CELL), bytes,
			       i & 1 ? gda_gin_inc(0, 0) : gda_gin_inc(0, GDA_GIN_WEAK)));
		OK(gda_gin_wait_signal(gin, 0, i + 1, 64, 0));
		EQ(0, wrong(e->mem + i % 8 * CELL, bytes, !e->rank, i));
		OK(gda_gin_flush(p, 0));
		OK(meet(gin, p));
	}
	/* strong: it reports what was put before without one */
	for (uint32_t i = 0; i < 8; i++)
		OK(gda_gin_put(p, gda_at(e->data, i * CELL), gda_at(e->data, 32 * CELL), CELL - 8,
			       gda_gin_plain(GDA_DEFER)));
	OK(gda_gin_signal(p, gda_gin_add(1, 5, 0)));
	OK(gda_gin_wait_signal(gin, 1, 5, 64, 0));
	EQ(5, gda_gin_read_signal(gin, 1, 64));
	for (uint32_t i = 0; i < 8; i++)
		EQ(0, wrong(e->mem + i * CELL, 64, !e->rank, ROUNDS - 1));
	OK(gda_gin_flush(p, 0));
	OK(meet(gin, p));
	gda_gin_close(p);
}

/* --- the same through the context, by any thread --- */

static __global__ void verbs(struct env *e)
{
	struct gda_gin *gin = gin_of(e);
	struct gda_gin_barrier b;

	OK(gda_gin_barrier_begin(&b, gin, gda_team_world(e->comm), 0));
	for (uint32_t i = 0; i < ROUNDS / 2; i++) {
		fill(e->mem + 32 * CELL, CELL, e->rank, i);
		for (uint32_t k = 0; k < gin->nranks; k++)
			OK(gda_gin_put(gin, k, gda_at(e->data, e->rank * CELL),
				       gda_at(e->data, 32 * CELL), CELL, gda_gin_plain(0)));
		OK(gda_gin_barrier_sync(&b, GDA_GIN_FENCE_PUT, 0));
		EQ(0, wrong(e->mem + !e->rank * CELL, CELL, !e->rank, i));
		OK(gda_gin_flush(gin, 0));
		OK(gda_gin_get(gin, !e->rank, gda_at(e->data, 32 * CELL),
			       gda_at(e->data, 8 * CELL), CELL, gda_gin_plain(0)));
		OK(gda_gin_barrier_sync(&b, GDA_GIN_FENCE_GET, 0));
		EQ(0, wrong(e->mem + 8 * CELL, CELL, !e->rank, i));
	}
	gda_gin_barrier_end(&b);
	OK(gda_gin_barrier_sync_all(e->comm, gda_team_world(e->comm), 1, GDA_GIN_FENCE_PUT, 0));
}

/* --- G-11, 12, 15: values and gets --- */

static __global__ void values(struct env *e)
{
	struct gda_gin *gin = gin_of(e);
	auto p = gda_gin_open_thread(gin, !e->rank);
	uint64_t value = 0x8877665544332211ULL + e->rank, other = value + 1 - 2 * e->rank;

	OK(p.err);
	for (uint32_t n = 1; n <= 8; n++)
		OK(gda_gin_put_value(p, gda_at_element(e->data, CELL, n, 16), value, n,
				     gda_gin_inc(0, 0)));
	OK(gda_gin_wait_signal(gin, 0, 8, 64, 0));
	for (uint32_t n = 1; n <= 8; n++)
		for (uint32_t i = 0; i < 16; i++)
			EQ(i < n ? (uint8_t)(other >> 8 * i) : POISON,
			   ((volatile uint8_t *)e->mem)[CELL + 16 * n + i]);
	fill(e->mem + 40 * CELL, CELL, e->rank, 77);
	OK(meet(gin, p));
	OK(gda_gin_get(p, gda_at(e->data, 40 * CELL), gda_at(e->data, 41 * CELL), CELL,
		       gda_gin_plain(0)));
	OK(gda_gin_flush(p, 0));
	EQ(0, wrong(e->mem + 41 * CELL, CELL, !e->rank, 77));
	/* of nothing the action is left */
	OK(gda_gin_put(p, gda_at(e->data, 0), gda_at(e->data, 0), 0, gda_gin_inc(0, 0)));
	OK(gda_gin_wait_signal(gin, 0, 9, 64, 0));
	EQ(-EINVAL, gda_gin_put_value(p, gda_at(e->data, 0), 0, 9, gda_gin_plain(0)));
	EQ(-EINVAL, gda_gin_put_value(p, gda_at(e->data, 0), 0, 0, gda_gin_plain(0)));
	EQ(-EINVAL, gda_gin_get(p, gda_at(e->data, 0), gda_at(e->data, 0), 8, gda_gin_inc(0, 0)));
	EQ(-EINVAL, gda_gin_signal(p, gda_gin_plain(0)));
	EQ(-EINVAL, gda_gin_signal(p, gda_gin_inc(4, 0)));
	EQ(-EFAULT, gda_gin_put(p, gda_at(e->data, CELLS * CELL - 8), gda_at(e->data, 0), 16,
				gda_gin_plain(0)));
	EQ(-EFAULT, gda_gin_put_value(p, gda_at(e->data, CELLS * CELL), 0, 1, gda_gin_plain(0)));
	/* a window in registers */
	struct gda_gin_opened w = gda_gin_open_window(p, e->data);

	EQ(-EFAULT, gda_gin_put(p, gda_at(w, CELLS * CELL - 8), gda_at(w, 0), 16,
				gda_gin_plain(0)));
	EQ(-EFAULT, gda_gin_get(p, gda_at(w, 0), gda_at(w, ~0ULL), 16, gda_gin_plain(0)));
	OK(gda_gin_put(p, gda_at(w, 42 * CELL), gda_at(w, 40 * CELL), CELL, gda_gin_inc(0, 0)));
	OK(gda_gin_wait_signal(gin, 0, 10, 64, 0));
	EQ(0, wrong(e->mem + 42 * CELL, CELL, !e->rank, 77));
	EQ(-EFAULT, gda_gin_signal(p, gda_gin_inc_at(gda_at(e->words, 4), 0)));
	OK(meet(gin, p));
	gda_gin_close(p);
	auto far = gda_gin_open_thread(gin, gin->nranks);

	EQ(-ENOTCONN, far.err);
	EQ(-ENOTCONN, gda_gin_signal(far, gda_gin_inc(0, 0)));
	EQ(-ENOTCONN, gda_gin_signal(gin, gin->nranks, gda_gin_inc(0, 0)));
}

/* --- G-06 to 09: values of signals, words of windows, shadows, resets --- */

static __global__ void signals(struct env *e)
{
	struct gda_gin *gin = gin_of(e);
	auto p = gda_gin_open_thread(gin, !e->rank);
	uint64_t before, delta;

	OK(p.err);
	for (uint32_t i = 0; i < 20; i++) {
		OK(gda_gin_put(p, gda_at(e->data, 0), gda_at(e->data, CELL), 8,
			       gda_gin_inc_at(gda_at(e->words, 8 * (i % 4)), 0)));
		OK(gda_gin_wait_signal_at(gin, gda_at(e->words, 8 * (i % 4)), 1, 64, 0));
		EQ(1, gda_gin_read_signal_at(gda_at(e->words, 8 * (i % 4)), 64));
		gda_gin_reset_signal_at(gda_at(e->words, 8 * (i % 4)));
		OK(meet(gin, p));
	}
	OK(gda_gin_signal(p, gda_gin_add_at(gda_at(e->words, 64), 1ULL << 40, 0)));
	OK(gda_gin_wait_signal_at(gin, gda_at(e->words, 64), 1ULL << 40, 64, 0));
	EQ(0, gda_gin_read_signal_at(gda_at(e->words, 64), 40));
	for (uint32_t i = 0; i < 20; i++)
		OK(gda_gin_signal(p, gda_gin_inc(2, 0)));
	gda_gin_add_shadow(gin, 2, 5);
	OK(gda_gin_wait_shadow(gin, 2, 0));
	while (*gda_gin_shadow(gin, 2) < 20)
		OK(gda_gin_follow_signal(gin, 2, 1, &before, &delta, 0));
	EQ(20, *gda_gin_shadow(gin, 2));
	EQ(-ETIMEDOUT, gda_gin_follow_signal(gin, 2, 1, &before, &delta,
					     gda_clock_ns() + 1000000));
	OK(meet(gin, p));
	gda_gin_reset_signal(gin, 2);
	EQ(0, gda_gin_read_signal(gin, 2, 64));
	EQ(0, *gda_gin_shadow(gin, 2));
	OK(meet(gin, p));
	OK(gda_gin_signal(p, gda_gin_inc(2, 0)));
	OK(gda_gin_wait_signal(gin, 2, 1, 8, 0));
	EQ(-ETIMEDOUT, gda_gin_wait_signal(gin, 2, 2, 64, gda_clock_ns() + 1000000));
	OK(meet(gin, p));
	gda_gin_close(p);
}

/* --- G-10, 14, 16, 19: counters, flushes, aggregation --- */

static __global__ void counters(struct env *e)
{
	struct gda_gin *gin = gin_of(e);
	auto p = gda_gin_open_thread(gin, !e->rank);
	struct gda_gin_request request;
	int done;

	OK(p.err);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		fill(e->mem + 32 * CELL, CELL, e->rank, i);
		OK(gda_gin_put(p, gda_at(e->data, i % 8 * CELL), gda_at(e->data, 32 * CELL), CELL,
			       gda_gin_count(gda_gin_inc(0, 0), 1)));
		/* its source is ours again: the next round overwrites it */
		OK(gda_gin_wait_counter(p, 1, i + 1, 56, 0));
		OK(gda_gin_wait_signal(gin, 0, i + 1, 64, 0));
		EQ(0, wrong(e->mem + i % 8 * CELL, CELL, !e->rank, i));
		OK(meet(gin, p));
	}
	EQ(ROUNDS, gda_gin_read_counter(p, 1, 56));
	EQ(0, gda_gin_read_counter(p, 0, 56));
	/* deferred ones are rung by what waits */
	for (uint32_t i = 0; i < 300; i++)
		OK(gda_gin_put(p, gda_at(e->data, 0), gda_at(e->data, CELL), 8,
			       gda_gin_count(gda_gin_plain(GDA_DEFER), 2)));
	OK(gda_gin_wait_counter(p, 2, 300, 56, 0));
	EQ(300, gda_gin_read_counter(p, 2, 56));
	gda_gin_reset_counter(gin, 2);
	EQ(0, gda_gin_read_counter(p, 2, 56));
	OK(gda_gin_put(p, gda_at(e->data, 0), gda_at(e->data, CELL), 8,
		       gda_gin_plain(GDA_DEFER)));
	OK(gda_gin_flush_peer(p, &request));
	while (!(done = gda_gin_test(p, &request)))
		;
	EQ(1, done);
	OK(gda_gin_wait(p, &request, 0));
	OK(meet(gin, p));
	gda_gin_close(p);
}

/* --- G-17: groups --- */

template <class group>
static __device__ void by_group(struct env *e, const group &g, uint32_t signal)
{
	struct gda_gin *gin = gin_of(e);
	auto p = gda_gin_open_gpu(gin, !e->rank, false);
	struct gda_gin_barrier b = { gin, gda_team_world(e->comm), 0, 0 };

	for (uint32_t i = 0; i < 20; i++) {
		for (uint32_t k = g.thread_rank(); k < CELL; k += g.size())
			((volatile uint8_t *)e->mem)[32 * CELL + k] = byte_of(k, e->rank, i);
		/*
		 * The bytes that all of the group wrote are put, and all of it sees those that
		 * came. G-18: at the scope that the queue needs, or where that is asked for at the
		 * system's.
		 */
		OK(gda_gin_group(g, [&] {
			return gda_gin_put(p, gda_at(e->data, 0), gda_at(e->data, 32 * CELL), CELL,
					   gda_gin_inc(signal, i % 2 ? GDA_SYSTEM : 0));
		}));
		OK(gda_gin_group(g, [&] {
			return gda_gin_wait_signal(gin, signal, i + 1, 64, 0);
		}));
		for (uint32_t k = g.thread_rank(); k < CELL; k += g.size())
			EQ(byte_of(k, !e->rank, i), ((volatile uint8_t *)e->mem)[k]);
		OK(gda_gin_group(g, [&] {
			int err = gda_gin_flush(p, 0);

			return err ? err : gda_gin_barrier_sync(&b, 0, 0);
		}));
	}
	EQ(-ETIMEDOUT, gda_gin_group(g, [&] {
		return gda_gin_wait_signal(gin, signal, 21, 64, gda_clock_ns() + 1000000);
	}));
	OK(gda_gin_group(g, [&] {
		return gda_gin_barrier_sync(&b, 0, 0);
	}));
}

static __global__ void groups(struct env *e)
{
	if (threadIdx.x < 32) {
		by_group(e, gda_warp_group(), 0);
		by_group(e, cooperative_groups::tiled_partition<32>(
			 cooperative_groups::this_thread_block()), 1);
	}
	if (!threadIdx.x)
		by_group(e, gda_thread_group(), 2);
	__syncthreads();
	by_group(e, gda_block_group(), 3);
}

/* --- G-22: a queue shared by a block, and by all of the GPU, with and without a courier --- */

template <class queue>
static __device__ int many(struct env *e, struct gda_gin_poster<queue> &p, uint32_t who,
			   uint32_t signal, uint32_t count)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < count; i++)
		err = gda_gin_put(p, gda_at(e->data, (32 + who) * 8), gda_at(e->data, CELL + who * 8),
				  8, gda_gin_count(gda_gin_inc(signal, 0), 0));
	return err;
}

static __global__ void by_block(struct env *e)
{
	struct gda_gin *gin = gin_of(e);
	uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32 - 1, round;
	__shared__ struct gda_block block;

	for (round = 0; round < 2; round++) {
		gda_block_open(&block, gda_gin_view(gda_gin_queue(gin, 0, !e->rank)), warps);
		auto p = gda_gin_open_block(gin, !e->rank, &block, round == 1);

		if (warp == warps) {
			if (round == 1 && gda_block_courier(p.q))
				fail(e, __LINE__, 0, 1);
		} else if (!(threadIdx.x & 31)) {
			int err = many(e, p, warp, round, 100);

			if (!err)
				err = gda_gin_flush(p, 0);
			if (err)
				fail(e, __LINE__, err, 0);
			gda_block_leave(&block);
		}
		gda_block_close(&block);
		/* all go on together, or none */
		OK(gda_gin_group(gda_block_group(), [&] {
			return gda_gin_wait_signal(gin, round, 100 * warps, 64, 0);
		}));
		if (e->line)
			return;
	}
	if (!threadIdx.x)
		EQ(200 * warps, gda_gin_read_counter(gin, 0, 56));
}

static __global__ void by_gpu(struct env *e)
{
	struct gda_gin *gin = gin_of(e);
	auto p = gda_gin_open_gpu(gin, !e->rank, false);

	if (!threadIdx.x) {
		OK(many(e, p, blockIdx.x, 0, 50));
		OK(gda_gin_flush(p, 0));
	}
	if (!blockIdx.x && !threadIdx.x) {
		OK(gda_gin_wait_signal(gin, 0, 50 * gridDim.x, 64, 0));
		EQ(50 * gridDim.x, gda_gin_read_signal(gin, 0, 64));
		OK(gda_gin_wait_counter(gin, 0, 50 * gridDim.x, 56, 0));
	}
}

static __global__ void by_gpu_courier(struct env *e)
{
	struct gda_gin *gin = gin_of(e);
	auto p = gda_gin_open_gpu(gin, !e->rank, true);

	OK(p.err);
	if (!blockIdx.x) {
		OK(gda_courier_run(p.q, &e->couriers));
		return;
	}
	if (threadIdx.x)
		return;
	int err = many(e, p, blockIdx.x, 0, 50);

	if (!err)
		err = gda_gin_flush(p, 0);
	gda_courier_leave(&e->couriers);
	OK(err);
	if (blockIdx.x == 1)
		OK(gda_gin_wait_signal(gin, 0, 50 * (gridDim.x - 1), 64, 0));
}

/* --- G-21: segments --- */

/* Where @at of a window of segments of 3, 9 and 4 cells is, here. */
static __device__ volatile uint8_t *part_of(const struct env *e, uint32_t at)
{
	if (at < 3 * CELL)
		return e->part[0] + at;
	if (at < 12 * CELL)
		return e->part[1] + (at - 3 * CELL);
	return e->part[2] + (at - 12 * CELL);
}

template <class queue>
static __device__ void pieces(struct env *e, struct gda_gin_poster<queue> &p, uint32_t signal)
{
	struct gda_gin *gin = gin_of(e);

	for (uint32_t k = 0; k < 10; k++) {
		uint32_t offset = k * 1011, bytes = 16 * CELL - offset - k * 277, bad = 0;

		fill(e->mem + 16 * CELL, bytes, e->rank, k);
		OK(gda_gin_put(p, gda_at(e->parts, offset), gda_at(e->data, 16 * CELL), bytes,
			       gda_gin_count(gda_gin_inc(signal, 0), signal)));
		OK(gda_gin_wait_signal(gin, signal, k + 1, 64, 0));
		EQ(k + 1, gda_gin_read_signal(gin, signal, 64));
		for (uint32_t i = 0; i < bytes; i++)
			bad += *part_of(e, offset + i) != byte_of(i, !e->rank, k);
		EQ(0, bad);
		if (k == 5) {
			/* by a window that is opened, too */
			struct gda_gin_opened parts = gda_gin_open_window(p, e->parts);

			struct gda_gin_opened data = gda_gin_open_window(p, e->data);

			OK(gda_gin_get(p, gda_at(parts, 0), gda_at(data, 40 * CELL), 16 * CELL,
				       gda_gin_plain(0)));
			EQ(-EFAULT, gda_gin_get(p, gda_at(parts, 8), gda_at(data, 40 * CELL),
						16 * CELL, gda_gin_plain(0)));
			OK(gda_gin_flush(p, 0));
		}
		OK(gda_gin_wait_counter(p, signal, k + 1, 56, 0));
		EQ(k + 1, gda_gin_read_counter(p, signal, 56));
		OK(meet(gin, p));
		OK(gda_gin_get(p, gda_at(e->parts, offset), gda_at(e->data, 40 * CELL), bytes,
			       gda_gin_plain(0)));
		OK(gda_gin_flush(p, 0));
		EQ(0, wrong(e->mem + 40 * CELL, bytes, e->rank, k));
		OK(meet(gin, p));
	}
}

static __global__ void segments(struct env *e)
{
	auto p = gda_gin_open_thread(gin_of(e), !e->rank);

	OK(p.err);
	pieces(e, p, 0);
	gda_gin_close(p);
	gda_shared_reset(gda_gin_view(p.to));
	auto shared = gda_gin_open_gpu(gin_of(e), !e->rank, false);

	pieces(e, shared, 1);
}

/* --- G-27, 30: ends of waits --- */

static __global__ void aborted(struct env *e)
{
	struct gda_gin *gin = gin_of(e);

	gda_nic_store32(&e->waiting, 1);
	EQ(-ESHUTDOWN, gda_gin_wait_signal(gin, 0, 1, 64, gda_clock_ns() + 20 * SECOND));
	EQ(-ESHUTDOWN, gda_gin_wait_signal(gin, 0, 1, 64, gda_clock_ns() + 20 * SECOND));
}

static int abort_it(struct rank *r)
{
	while (!__atomic_load_n(&r->env->waiting, __ATOMIC_ACQUIRE))
		usleep(100);
	gda_gin_abort(gda_gin_context(r->comm, 0));
	return 0;
}

static __global__ void refused(struct env *e)
{
	struct gda_gin *gin = gin_of(e);
	auto p = gda_gin_open_thread(gin, !e->rank);

	/* on rank 0 the window seems to be longer than it is */
	if (e->rank)
		return;
	OK(gda_gin_put(p, gda_at(e->data, CELLS * CELL), gda_at(e->data, 0), 64,
		       gda_gin_inc(0, 0)));
	EQ(-EIO, gda_gin_flush(p, 0));
	EQ(-EIO, gda_gin_wait_signal(gin, 0, 1, 64, 0));
	gda_gin_close(p);
}

static int ask_why(struct rank *r)
{
	struct gda_gin_error error = { sizeof(error) };
	int failed;

	CUDA(cudaStreamSynchronize(r->stream));
	failed = gda_gin_query_error(gda_gin_context(r->comm, 0), &error);
	if (r->rank)
		return failed;
	printf("# %d: peer %u, %s, %s, offset %llu\n", failed, error.peer,
	       gda_syndrome_name(error.syndrome), gda_vendor_name(error.vendor),
	       (unsigned long long)error.offset);
	return !(failed == 1 && error.peer == 1 && error.window == r->data &&
		 error.offset == CELLS * CELL && error.syndrome == GDA_MLX5_SYND_REMOTE_ACCESS);
}

/* --- the ranks --- */

static const struct test tests[] = {
	{ "G-02.G-03.G-04.put_signal", put_signal, 1, 1,
	  { .sharing = GDA_GIN_SHARE_THREAD, .signals = 4, .barriers = 1 } },
	{ "G-01.G-25.G-26.verbs_of_the_context", verbs, 1, 1,
	  { .contexts = 2, .signals = 4, .barriers = 2 } },
	{ "G-11.G-12.G-15.values_and_gets", values, 1, 1,
	  { .sharing = GDA_GIN_SHARE_THREAD, .signals = 4, .barriers = 1 } },
	{ "G-06.G-07.G-08.G-09.G-13.signals", signals, 1, 1,
	  { .sharing = GDA_GIN_SHARE_THREAD, .signals = 4, .barriers = 1 } },
	{ "G-10.G-14.G-16.G-19.counters_and_flushes", counters, 1, 1,
	  { .sharing = GDA_GIN_SHARE_THREAD, .signals = 4, .counters = 4, .barriers = 1 } },
	{ "G-17.G-18.groups", groups, 1, 128, { .signals = 4, .barriers = 1 } },
	{ "G-20.G-22.by_block", by_block, 1, 9 * 32,
	  { .sharing = GDA_GIN_SHARE_CTA, .signals = 4, .counters = 1 } },
	{ "G-22.by_gpu", by_gpu, 32, 32, { .signals = 4, .counters = 1 } },
	{ "G-22.by_gpu_with_courier", by_gpu_courier, 32, 32, { .signals = 4, .counters = 1 } },
	{ "G-21.segments", segments, 1, 1, { .signals = 4, .counters = 4, .barriers = 1 } },
	/* the same with signals, and words of a window, in memory of the GPU */
	{ "G-02.G-03.G-04.put_signal_to_gpu_words", put_signal, 1, 1,
	  { .flags = GDA_GIN_SIGNALS_GPU, .sharing = GDA_GIN_SHARE_THREAD, .signals = 4,
	    .barriers = 1 } },
	{ "G-01.G-25.G-26.verbs_to_gpu_words", verbs, 1, 1,
	  { .flags = GDA_GIN_SIGNALS_GPU, .contexts = 2, .signals = 4, .barriers = 2 } },
	{ "G-06.G-07.G-08.G-09.G-13.signals_in_gpu_words", signals, 1, 1,
	  { .flags = GDA_GIN_SIGNALS_GPU, .sharing = GDA_GIN_SHARE_THREAD, .signals = 4,
	    .barriers = 1 } },
	{ "G-22.by_gpu_to_gpu_words", by_gpu, 32, 32,
	  { .flags = GDA_GIN_SIGNALS_GPU, .signals = 4, .counters = 1 } },
	{ "G-27.abort", aborted, 1, 1, { .signals = 1 }, abort_it },
	{ "G-30.an_error_is_named", refused, 1, 1,
	  { .sharing = GDA_GIN_SHARE_THREAD, .signals = 1 }, ask_why },
};

static struct gda_window *window(struct rank *r, const struct gda_window_segment *s, uint32_t count,
				 uint32_t flags)
{
	struct gda_window_attr attr = { sizeof(attr), flags, s, count, 0 };
	struct gda_window *w;

	GDA(gda_window_register(r->comm, &attr, &w));
	return w;
}

/* In a test of refusals rank 0's kernel sees a window that is longer than it is. */
static void lengthen(struct rank *r)
{
	uint64_t bytes = 2 * CELLS * CELL;

	if (r->test->kernel != refused || r->rank)
		return;
	CUDA(cudaMemcpy((char *)gda_gin_cuda_window(r->data) + offsetof(struct gda_window, bytes),
			&bytes, sizeof(bytes), cudaMemcpyHostToDevice));
}

static void rank_open(struct rank *r, struct gda_window_segment parts[3])
{
	struct gda_gin_attr attr = r->test->attr;
	struct gda_window_segment s;
	static const uint32_t cells[] = { 3, 9, 4 };
	uint64_t *word;
	uint8_t *mem;

	CUDA(cudaHostAlloc(&r->env, sizeof(*r->env), cudaHostAllocDefault));
	memset(r->env, 0, sizeof(*r->env));
	CUDA(cudaMalloc(&mem, CELLS * CELL));
	CUDA(cudaMemset(mem, POISON, CELLS * CELL));
	if (attr.flags & GDA_GIN_SIGNALS_GPU)
		CUDA(cudaMalloc(&word, CELL));
	else
		CUDA(cudaHostAlloc(&word, CELL, cudaHostAllocDefault));
	CUDA(cudaMemset(word, 0, CELL));
	for (int i = 0; i < 3; i++) {
		parts[i].bytes = cells[i] * CELL;
		CUDA(cudaMalloc(&r->env->part[i], parts[i].bytes));
		CUDA(cudaMemset(r->env->part[i], POISON, parts[i].bytes));
		parts[i].addr = (uintptr_t)r->env->part[i];
	}
	CUDA(cudaDeviceSynchronize());
	attr.size = sizeof(attr);
	attr.timeout_ns = 10 * SECOND;
	attr.cuda = r->cuda;
	attr.place = GDA_CUDA_CQ_GPU | GDA_CUDA_LEAVES_ROOM;
	GDA(gda_gin_create(r->ranks, r->ctx, &attr, &r->comm));
	s = { (uintptr_t)mem, CELLS * CELL };
	r->data = window(r, &s, 1, 0);
	s = { (uintptr_t)word, CELL };
	r->words = window(r, &s, 1, GDA_WINDOW_STRICT);
	r->parts = window(r, parts, 3, 0);
	r->env->comm = gda_gin_cuda_comm(r->comm);
	r->env->data = gda_gin_cuda_window(r->data);
	r->env->words = gda_gin_cuda_window(r->words);
	r->env->parts = gda_gin_cuda_window(r->parts);
	r->env->mem = mem;
	r->env->word = word;
	r->env->rank = r->rank;
	r->env->nranks = RANKS;
	r->env->couriers = r->test->blocks - 1;
	lengthen(r);
}

static void rank_close(struct rank *r)
{
	uint8_t *mem = r->env->mem;
	uint64_t *word = r->env->word;

	gda_window_deregister(r->parts);
	gda_window_deregister(r->words);
	gda_window_deregister(r->data);
	gda_gin_destroy(r->comm);
	for (int i = 0; i < 3; i++)
		CUDA(cudaFree(r->env->part[i]));
	CUDA(cudaFree(mem));
	if (r->test->attr.flags & GDA_GIN_SIGNALS_GPU)
		CUDA(cudaFree(word));
	else
		CUDA(cudaFreeHost(word));
	CUDA(cudaFreeHost(r->env));
}

static void *rank_main(void *arg)
{
	struct rank *r = (struct rank *)arg;
	struct gda_comm_attr attr = { sizeof(attr), 0, r->rank, RANKS, r->id, NULL, NULL,
				      60 * SECOND };
	struct gda_window_segment parts[3];

	CUDA(cudaSetDevice(r->device));
	CUDA(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
	GDA(gda_comm_create(&attr, &r->ranks));
	GDA(gda_open(GDA_DEVICE_INPROC, &r->ctx));
	GDA(gda_cuda_open(r->ctx, r->device, &r->cuda));
	rank_open(r, parts);
	GDA(gda_comm_barrier(r->ranks, 0));
	r->test->kernel<<<r->test->blocks, r->test->threads, 0, r->stream>>>(r->env);
	CUDA(cudaGetLastError());
	if (r->test->host)
		r->result = r->test->host(r);
	CUDA(cudaStreamSynchronize(r->stream));
	if (r->env->line) {
		printf("# %s, rank %u: line %d: %lld, not %lld\n", r->test->name, r->rank,
		       r->env->line, r->env->is, r->env->want);
		r->result = 1;
	}
	/* nobody frees while another's kernel runs: freeing waits for it */
	GDA(gda_comm_barrier(r->ranks, 0));
	rank_close(r);
	GDA(gda_comm_barrier(r->ranks, 0));
	gda_cuda_close(r->cuda);
	gda_close(r->ctx);
	gda_comm_destroy(r->ranks);
	CUDA(cudaStreamDestroy(r->stream));
	return NULL;
}

static int run(const struct test *test, int devices)
{
	struct rank r[RANKS] = {};
	struct gda_comm_id id;
	int result = 0;

	GDA(gda_comm_id_create(NULL, &id));
	for (uint32_t i = 0; i < RANKS; i++) {
		r[i].test = test;
		r[i].id = &id;
		r[i].rank = i;
		r[i].device = (int)i % devices;
		if (pthread_create(&r[i].thread, NULL, rank_main, &r[i]))
			abort();
	}
	for (uint32_t i = 0; i < RANKS; i++) {
		pthread_join(r[i].thread, NULL);
		result |= r[i].result;
	}
	return result;
}

int main(int argc, char **argv)
{
	return ktap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : "", run);
}

// SPDX-License-Identifier: MIT
/*
 * gda/shmem.h in kernels: PEs are threads of this process, each with a context, a kernel and a
 * GPU of its own (or the one that is there), on the in-process device. A test is a function that
 * the kernels of both PEs run at the same time, by queue and by the direct way. Speaks KTAP.
 */
#include <cerrno>
#include <cstring>
#include <pthread.h>
#include <cooperative_groups.h>
#include <gda/cuda.h>
#include <gda/shmem.h>
#include "ktap.cuh"

#define PES		2U
#define CELL		4096U
#define CELLS		64U
#define SECOND		1000000000ULL
#define ROUNDS		50U
#define MET		480U	/* the word of gda_shmem.data that meet() counts in */

/* The arguments of a kernel, and its findings; in mapped memory of the host. */
struct env {
	struct gda_shmem *s;
	uint8_t *heap;		/* of this PE */
	uint64_t *words;
	uint32_t pe, other;
	bool direct;
	uint32_t waiting;	/* for the host: it may go on */
	uint32_t gone;		/* by the host: the other is */
	uint32_t couriers;	/* posters that have a courier */
	int line;
	long long is, want;
};

struct pe;

struct test {
	const char *name;
	void (*kernel)(struct env *);
	uint32_t blocks, threads, way;
	uint32_t qps, chunk;
	int (*host)(struct pe *pe);	/* while the kernel runs */
};

struct pe {
	const struct test *test;
	struct gda_comm_id *id;
	uint32_t number;
	int device;
	struct gda_comm *comm;
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	struct gda_shmem *s;
	struct env *env, *other;
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
#define POSTED(call) do { \
	long long ticket_ = (long long)(call); \
	if (ticket_ < 0) { \
		fail(e, __LINE__, ticket_, 0); \
		return; \
	} \
} while (0)

static __device__ uint8_t byte_of(uint32_t i, uint32_t pe, uint32_t which)
{
	return (uint8_t)(i * 31 + i / 256 + pe * 67 + which * 129 + 1);
}

template <class group>
static __device__ void fill(const group &g, uint8_t *p, uint32_t bytes, uint32_t pe,
			    uint32_t which)
{
	for (uint32_t i = g.thread_rank(); i < bytes; i += g.size())
		((volatile uint8_t *)p)[i] = byte_of(i, pe, which);
	g.sync();
}

/* How many bytes are not as they should be, for a thread of its own. */
static __device__ uint32_t wrong(const uint8_t *p, uint32_t bytes, uint32_t pe, uint32_t which)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < bytes; i++)
		n += ((const volatile uint8_t *)p)[i] != byte_of(i, pe, which);
	return n;
}

/* A barrier of both: @met counts the caller's. */
template <class queue>
static __device__ int meet(struct env *e, struct gda_shmem_poster<queue> &p, uint64_t &met)
{
	int64_t ticket = gda_shmem_atomic64(p, e->words + MET, GDA_SHMEM_ADD, 1, 0);

	if (ticket < 0)
		return (int)ticket;
	return gda_shmem_wait_until64(e->s, e->words + MET, GDA_SHMEM_GE, ++met, 0);
}

static __device__ struct gda_shmem_signal add(uint64_t *word, uint64_t value)
{
	return { word, value, GDA_SHMEM_ADD, 0 };
}

/* --- put, get and signals, by a thread that owns the queue --- */

static __global__ void put_signal(struct env *e)
{
	auto p = gda_shmem_open_thread(e->s, e->other, 0);
	uint8_t *source = e->heap + 32 * CELL;
	uint64_t met = 0;

	OK(p.err);
	EQ(e->direct, p.direct);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t bytes = CELL - i % 7 * 9;
		uint8_t *dest = e->heap + i % 8 * CELL + i % 3;

		fill(gda_thread_group(), source, bytes, e->pe, i);
		if (i & 1)
			POSTED(gda_shmem_put_signal_nbi(p, dest, source, bytes, add(e->words, 1),
							0));
		else
			OK(gda_shmem_put_signal(p, dest, source, bytes,
						{ e->words, i + 1, GDA_SHMEM_SET, 0 }, 0));
		OK(gda_shmem_wait_until64(e->s, e->words, GDA_SHMEM_GE, i + 1, 0));
		EQ(0, wrong(dest, bytes, e->other, i));
		OK(gda_shmem_quiet(p, 0));
		OK(gda_shmem_quiet(p, 0));
		OK(meet(e, p, met));
	}
	/* a signal is behind all that was put before */
	for (uint32_t i = 0; i < 8; i++)
		POSTED(gda_shmem_put_nbi(p, e->heap + i * CELL, source, CELL - 8, GDA_DEFER));
	OK(gda_shmem_fence(p));
	POSTED(gda_shmem_put_signal_nbi(p, NULL, NULL, 0, add(e->words + 1, 5), 0));
	OK(gda_shmem_wait_until64(e->s, e->words + 1, GDA_SHMEM_EQ, 5, 0));
	for (uint32_t i = 0; i < 8; i++)
		EQ(0, wrong(e->heap + i * CELL, 64, e->other, ROUNDS - 1));
	OK(gda_shmem_get(p, e->heap + 40 * CELL, source, CELL - 8, 0));
	EQ(0, wrong(e->heap + 40 * CELL, 64, e->other, ROUNDS - 1));
	OK(meet(e, p, met));
	gda_shmem_close(p);
}

/* --- every call by any thread, through the heap --- */

/* Apply @op to @word, as the device should. */
static __device__ uint64_t model(uint32_t op, uint64_t word, uint64_t value)
{
	switch (op) {
	case GDA_SHMEM_SET:
		return value;
	case GDA_SHMEM_ADD:
		return word + value;
	case GDA_SHMEM_AND:
		return word & value;
	case GDA_SHMEM_OR:
		return word | value;
	case GDA_SHMEM_XOR:
		return word ^ value;
	default:
		return word;
	}
}

static __global__ void calls(struct env *e)
{
	struct gda_shmem *s = e->s;
	uint8_t *source = e->heap + 32 * CELL;
	uint64_t value, word = 0x123456789abcdef0ULL, old;
	uint32_t small = 0xfedcba98U, was;
	struct gda_shmem_signal signal = add(e->words, 1);

	fill(gda_thread_group(), source, CELL, e->pe, 3);
	OK(gda_shmem_put(s, e->heap, source, CELL, e->other, 0));
	OK(gda_shmem_put(s, e->heap + 2 * CELL, "any memory of the kernel", 25, e->other, 0));
	POSTED(gda_shmem_put_nbi(s, e->heap + CELL, source, CELL - 1, e->other, 0));
	OK(gda_shmem_put_signal(s, e->heap + 3 * CELL, source, 99, &signal, e->other, 0));
	OK(gda_shmem_wait_until64(s, e->words, GDA_SHMEM_EQ, 1, 0));
	EQ(0, wrong(e->heap, CELL, e->other, 3));
	EQ(0, wrong(e->heap + CELL, CELL - 1, e->other, 3));
	EQ(0, wrong(e->heap + 3 * CELL, 99, e->other, 3));
	EQ('k', ((volatile uint8_t *)e->heap)[2 * CELL + 18]);
	OK(gda_shmem_get(s, e->heap + 5 * CELL, source, CELL, e->other, 0));
	EQ(0, wrong(e->heap + 5 * CELL, CELL, e->other, 3));
	for (uint32_t n = 1; n <= 8; n *= 2) {
		uint64_t mask = n == 8 ? ~0ULL : (1ULL << 8 * n) - 1;

		POSTED(gda_shmem_p(s, e->heap + 7 * CELL + 16 * n, word + e->pe, n, e->other, 0));
		OK(gda_shmem_quiet(s, 0));
		OK(gda_shmem_g(s, &value, e->heap + 7 * CELL + 16 * n, n, e->other, 0));
		EQ((word + e->pe) & mask, value);
		EQ(0, ((volatile uint8_t *)e->heap)[7 * CELL + 16 * n + n]);
	}
	/* the words at 8 and 9 are this PE's, of the other; beside them nothing changes */
	POSTED(gda_shmem_p(s, e->words + 8, word, 8, e->other, 0));
	POSTED(gda_shmem_p(s, e->words + 10, (uint64_t)small << 32 | small, 8, e->other, 0));
	for (uint32_t op = 0; op <= GDA_SHMEM_XOR; op++) {
		uint64_t operand = 0xf0f0a5a51234ffffULL * (op + 1);

		OK(gda_shmem_atomic_fetch64(s, e->words + 8, op, operand, &old, e->other, 0));
		EQ(word, old);
		word = model(op, word, operand);
		POSTED(gda_shmem_atomic64(s, e->words + 8, op, operand, e->other, 0));
		word = model(op, word, operand);
		OK(gda_shmem_atomic_fetch32(s, (uint32_t *)(e->words + 10), op, (uint32_t)operand,
					    &was, e->other, 0));
		EQ(small, was);
		small = (uint32_t)model(op, small, (uint32_t)operand);
		POSTED(gda_shmem_atomic32(s, (uint32_t *)(e->words + 10), op, (uint32_t)operand,
					  e->other, 0));
		small = (uint32_t)model(op, small, (uint32_t)operand);
	}
	OK(gda_shmem_compare_swap64(s, e->words + 8, word + 1, 7, &old, e->other, 0));
	EQ(word, old);
	OK(gda_shmem_compare_swap64(s, e->words + 8, word, 7, &old, e->other, 0));
	EQ(word, old);
	OK(gda_shmem_compare_swap32(s, (uint32_t *)(e->words + 10), small, 9, &was, e->other, 0));
	EQ(small, was);
	OK(gda_shmem_g(s, &value, e->words + 8, 8, e->other, 0));
	EQ(7, value);
	OK(gda_shmem_g(s, &value, e->words + 10, 8, e->other, 0));
	EQ(0xfedcba9800000009ULL, value);
	OK(gda_shmem_fence(s));
	OK(gda_shmem_quiet_pe(s, e->other, 0));
	POSTED(gda_shmem_atomic64(s, e->words + MET, GDA_SHMEM_ADD, 1, e->other, 0));
	OK(gda_shmem_wait_until64(s, e->words + MET, GDA_SHMEM_GE, 1, 0));
}

/* --- the same atomics and values by a poster --- */

template <class queue>
static __device__ void by_poster(struct env *e, struct gda_shmem_poster<queue> &p)
{
	uint64_t value, word = 0x8877665544332211ULL, old;
	uint32_t small = 0x89abcdefU, was;

	for (uint32_t n = 1; n <= 8; n *= 2) {
		uint64_t mask = n == 8 ? ~0ULL : (1ULL << 8 * n) - 1;

		POSTED(gda_shmem_p(p, e->heap + 8 * CELL + 16 * n, word + e->pe, n, 0));
		OK(gda_shmem_g(p, &value, e->heap + 8 * CELL + 16 * n, n, 0));
		EQ((word + e->pe) & mask, value);
	}
	POSTED(gda_shmem_p(p, e->words + 16, word, 8, 0));
	POSTED(gda_shmem_p(p, e->words + 18, (uint64_t)small << 32 | small, 8, 0));
	for (uint32_t op = 0; op <= GDA_SHMEM_XOR; op++) {
		uint64_t operand = 0x0f0f5a5a4321ffffULL * (op + 1);

		OK(gda_shmem_atomic_fetch64(p, e->words + 16, op, operand, &old, 0));
		EQ(word, old);
		word = model(op, word, operand);
		POSTED(gda_shmem_atomic64(p, e->words + 16, op, operand, 0));
		word = model(op, word, operand);
		OK(gda_shmem_atomic_fetch32(p, (uint32_t *)(e->words + 18), op, (uint32_t)operand,
					    &was, 0));
		EQ(small, was);
		small = (uint32_t)model(op, small, (uint32_t)operand);
		POSTED(gda_shmem_atomic32(p, (uint32_t *)(e->words + 18), op, (uint32_t)operand,
					  0));
		small = (uint32_t)model(op, small, (uint32_t)operand);
	}
	OK(gda_shmem_compare_swap64(p, e->words + 16, word, 7, &old, 0));
	EQ(word, old);
	OK(gda_shmem_compare_swap32(p, (uint32_t *)(e->words + 18), small + 1, 9, &was, 0));
	EQ(small, was);
	OK(gda_shmem_quiet(p, 0));
	OK(gda_shmem_g(p, &value, e->words + 16, 8, 0));
	EQ(7, value);
	OK(gda_shmem_g(p, &value, e->words + 18, 8, 0));
	EQ(0x89abcdef00000000ULL | small, value);
}

static __global__ void atomics(struct env *e)
{
	auto p = gda_shmem_open_thread(e->s, e->other, 0);
	uint64_t met = 0;

	OK(p.err);
	by_poster(e, p);
	OK(meet(e, p, met));
	gda_shmem_close(p);
	if (!p.direct)
		gda_shared_reset(gda_shmem_view(e->s, e->other, 0));
	auto shared = gda_shmem_open_gpu(e->s, e->other, 0, false);

	by_poster(e, shared);
	OK(meet(e, shared, met));
}

/* --- many threads: each value is fetched once (I-15, and words that belong to requests) --- */

static __global__ void fetched_once(struct env *e)
{
	auto p = gda_shmem_open_gpu(e->s, e->other, 0, false);
	uint32_t threads = gridDim.x * blockDim.x, i;
	uint64_t old;

	for (i = 0; i < 4; i++) {
		OK(gda_shmem_atomic_fetch64(p, e->words + 24, GDA_SHMEM_ADD, 1, &old, 0));
		/* a byte for each, on this PE: it was nobody else's */
		EQ(1, old < 4 * threads);
		EQ(0, atomicAdd((uint32_t *)(e->heap + 4 * old), 1));
	}
	if (!blockIdx.x && !threadIdx.x)
		OK(gda_shmem_wait_until64(e->s, e->words + 24, GDA_SHMEM_EQ, 4 * threads, 0));
}

/* --- groups --- */

template <class group>
static __device__ void by_group(struct env *e, const group &g, uint32_t word)
{
	auto p = gda_shmem_open_gpu(e->s, e->other, 0, false);
	uint8_t *source = e->heap + 32 * CELL;
	uint64_t met = gda_shmem_load64(e->words + MET);

	g.sync();
	for (uint32_t i = 0; i < 12; i++) {
		fill(g, source, CELL, e->pe, i);
		if (i % 3 == 0) {
			POSTED(gda_shmem_put_signal_nbi_group(g, p, e->heap, source, CELL,
							      add(e->words + word, 1), 0));
		} else {
			if (i % 3 == 1)
				OK(gda_shmem_put_group(g, p, e->heap, source, CELL, 0));
			else
				POSTED(gda_shmem_put_nbi_group(g, p, e->heap, source, CELL, 0));
			OK(gda_shmem_group(g, [&] {
				return (int)(gda_shmem_atomic64(p, e->words + word, GDA_SHMEM_ADD, 1,
								0) >> 63);
			}));
		}
		OK(gda_shmem_group(g, [&] {
			return gda_shmem_wait_until64(e->s, e->words + word, GDA_SHMEM_GE, i + 1, 0);
		}));
		for (uint32_t k = g.thread_rank(); k < CELL; k += g.size())
			EQ(byte_of(k, e->other, i), ((volatile uint8_t *)e->heap)[k]);
		OK(gda_shmem_get_group(g, p, e->heap + CELL, source, CELL, 0));
		for (uint32_t k = g.thread_rank(); k < CELL; k += g.size())
			EQ(byte_of(k, e->other, i), ((volatile uint8_t *)e->heap)[CELL + k]);
		OK(gda_shmem_group(g, [&] {
			int err = gda_shmem_quiet(p, 0);

			return err ? err : meet(e, p, met);
		}));
	}
	EQ(-ETIMEDOUT, gda_shmem_group(g, [&] {
		return gda_shmem_wait_until64(e->s, e->words + word, GDA_SHMEM_GE, 13,
					      gda_clock_ns() + 1000000);
	}));
	OK(gda_shmem_group(g, [&] {
		return meet(e, p, met);
	}));
}

static __global__ void groups(struct env *e)
{
	auto p = gda_shmem_open_gpu(e->s, e->other, 0, false);

	if (threadIdx.x < 32) {
		by_group(e, gda_warp_group(), 32);
		by_group(e, cooperative_groups::tiled_partition<32>(
			 cooperative_groups::this_thread_block()), 33);
	}
	if (!threadIdx.x)
		by_group(e, gda_thread_group(), 34);
	__syncthreads();
	by_group(e, gda_block_group(), 35);
	/* by name */
	fill(gda_block_group(), e->heap + 33 * CELL, CELL, e->pe, 5);
	if (threadIdx.x < 32) {
		OK(gda_shmem_put_warp(p, e->heap + 3 * CELL, e->heap + 33 * CELL, CELL, 0));
		POSTED(gda_shmem_put_signal_nbi_warp(p, e->heap + 4 * CELL, e->heap + 33 * CELL, CELL,
						     add(e->words + 36, 1), 0));
	}
	OK(gda_shmem_group(gda_block_group(), [&] {
		return gda_shmem_wait_until64(e->s, e->words + 36, GDA_SHMEM_GE, 1, 0);
	}));
	OK(gda_shmem_get_block(p, e->heap + 5 * CELL, e->heap + 33 * CELL, CELL, 0));
	for (uint32_t k = 3; !threadIdx.x && k < 6; k++)
		EQ(0, wrong(e->heap + k * CELL, CELL, e->other, 5));
}

/* --- a warp that owns the queue: entries of refused puts are written, but not posted --- */

static __global__ void owned(struct env *e)
{
	auto p = gda_shmem_open_thread(e->s, e->other, 0);
	uint8_t *source = e->heap + 32 * CELL, *end = e->heap + CELLS * CELL;
	uint32_t storm = p.direct ? 64 : 3 * (p.q.port.mask + 1) + 5;
	int refused = threadIdx.x && !p.direct ? 0 : -EFAULT;
	struct gda_warp_group g;
	uint64_t met = 0, next;

	OK(p.err);
	for (uint32_t i = 0; i < 5; i++) {
		fill(g, source, 3 * CELL, e->pe, i);
		next = p.q.next;
		POSTED(gda_shmem_put_nbi_warp(p, e->heap, source, CELL, GDA_DEFER));
		EQ(refused, gda_shmem_put_nbi_warp(p, end - 8, source, 16, 0));
		EQ(refused, gda_shmem_get_nbi_warp(p, e->heap, (uint8_t *)4096, 8, 0));
		POSTED(gda_shmem_put_nbi_warp(p, e->heap + CELL, source + CELL, CELL, 0));
		if (!threadIdx.x && !p.direct)
			EQ(next + 2, p.q.next);
		__syncwarp();
		/* the ring is full more than once */
		for (uint32_t k = 0; k < storm; k++) {
			uint32_t at = 2 * CELL + k % 64 * 64;

			POSTED(gda_shmem_put_nbi_warp(p, e->heap + at, source + at, 64, 0));
		}
		OK(gda_shmem_group(g, [&] {
			int err = gda_shmem_quiet(p, 0);

			err = err ? err : gda_shmem_quiet(p, 0);
			return err ? err : meet(e, p, met);
		}));
		EQ(0, wrong(e->heap, 3 * CELL, e->other, i));
		OK(gda_shmem_get_warp(p, e->heap + 8 * CELL, source, 3 * CELL, 0));
		EQ(0, wrong(e->heap + 8 * CELL, 3 * CELL, e->other, i));
		OK(gda_shmem_group(g, [&] {
			return meet(e, p, met);
		}));
	}
	if (!threadIdx.x)
		gda_shmem_close(p);
}

/* --- I-02, 05: a put of each lane, with one reservation --- */

static __global__ void each(struct env *e)
{
	auto p = gda_shmem_open_thread(e->s, e->other, 0);
	uint32_t lane = threadIdx.x;
	uint64_t met = 0;

	OK(p.err);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t bytes = 100 + (lane * 37 + i * 11) % 900;

		fill(gda_thread_group(), e->heap + (32 + lane) * 1024, bytes, e->pe, i);
		POSTED(gda_shmem_put_nbi_each(p, e->heap + lane * 1024,
					      e->heap + (32 + lane) * 1024, bytes, 0));
		__syncwarp();
		OK(gda_shmem_quiet(p, 0));
		__syncwarp();
		/* all lanes make all calls together, also this one: once for all, or 32 times */
		uint64_t flag = i + 1;

		POSTED(gda_shmem_p(p, e->words + 40, flag, 8, 0));
		OK(gda_shmem_wait_until64(e->s, e->words + 40, GDA_SHMEM_GE, flag, 0));
		EQ(0, wrong(e->heap + lane * 1024, bytes, e->other, i));
		__syncwarp();
		POSTED(gda_shmem_p(p, e->words + 41, flag, 8, 0));
		OK(gda_shmem_wait_until64(e->s, e->words + 41, GDA_SHMEM_GE, flag, 0));
		__syncwarp();
	}
	/* one lane's range is not symmetric: nothing is posted */
	EQ(-EFAULT, gda_shmem_put_nbi_each(p, lane == 7 && !p.direct ? (uint8_t *)4096 :
					   e->heap, e->heap, 8, 0) | (p.direct ? -EFAULT : 0));
	OK(gda_shmem_quiet(p, 0));
	__syncwarp();
	if (!lane)
		gda_shmem_close(p);
	__syncwarp();
	if (!p.direct && !lane)
		gda_shared_reset(gda_shmem_view(e->s, e->other, 0));
	__syncwarp();
	auto shared = gda_shmem_open_gpu(e->s, e->other, 0, false);

	for (uint32_t i = 0; i < ROUNDS; i++) {
		fill(gda_thread_group(), e->heap + (32 + lane) * 1024, 512, e->pe, i);
		POSTED(gda_shmem_put_nbi_each(shared, e->heap + lane * 1024,
					      e->heap + (32 + lane) * 1024, 512, 0));
		__syncwarp();
		OK(gda_shmem_group(gda_warp_group(), [&] {
			int err = gda_shmem_quiet(shared, 0);

			return err ? err : meet(e, shared, met);
		}));
		EQ(0, wrong(e->heap + lane * 1024, 512, e->other, i));
		OK(gda_shmem_group(gda_warp_group(), [&] {
			return meet(e, shared, met);
		}));
	}
}

/* --- queues shared by a block, and by all of the GPU, with and without a courier --- */

template <class queue>
static __device__ int many(struct env *e, struct gda_shmem_poster<queue> &p, uint32_t who,
			   uint32_t word, uint32_t count)
{
	int64_t ticket = 0;

	for (uint32_t i = 0; ticket >= 0 && i < count; i++)
		ticket = gda_shmem_put_signal_nbi(p, e->heap + (32 + who) * 8,
						  e->heap + CELL + who * 8, 8,
						  add(e->words + word, 1), 0);
	return ticket < 0 ? (int)ticket : gda_shmem_quiet(p, 0);
}

static __global__ void by_block(struct env *e)
{
	uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32 - 1, round;
	__shared__ struct gda_block block;

	for (round = 0; round < 2; round++) {
		gda_block_open(&block, gda_shmem_view(e->s, e->other, 0), warps);
		auto p = gda_shmem_open_block(e->s, e->other, &block, round == 1);

		if (warp == warps) {
			if (round == 1 && gda_block_courier(p.q))
				fail(e, __LINE__, 0, 1);
		} else if (!(threadIdx.x & 31)) {
			int err = many(e, p, warp, 50 + round, 100);

			if (err)
				fail(e, __LINE__, err, 0);
			gda_block_leave(&block);
		}
		gda_block_close(&block);
		OK(gda_shmem_group(gda_block_group(), [&] {
			return gda_shmem_wait_until64(e->s, e->words + 50 + round, GDA_SHMEM_EQ,
						      100 * warps, 0);
		}));
		if (e->line)
			return;
	}
}

static __global__ void by_gpu(struct env *e)
{
	auto p = gda_shmem_open_gpu(e->s, e->other, 0, false);

	if (threadIdx.x)
		return;
	OK(many(e, p, blockIdx.x, 52, 50));
	if (!blockIdx.x)
		OK(gda_shmem_wait_until64(e->s, e->words + 52, GDA_SHMEM_EQ, 50 * gridDim.x, 0));
}

static __global__ void by_gpu_courier(struct env *e)
{
	auto p = gda_shmem_open_gpu(e->s, e->other, 0, true);

	OK(p.err);
	if (!blockIdx.x) {
		OK(gda_courier_run(p.q, &e->couriers));
		return;
	}
	if (threadIdx.x)
		return;
	int err = many(e, p, blockIdx.x, 53, 50);

	gda_courier_leave(&e->couriers);
	OK(err);
	if (blockIdx.x == 1)
		OK(gda_shmem_wait_until64(e->s, e->words + 53, GDA_SHMEM_EQ,
					  50 * (gridDim.x - 1), 0));
}

/* --- I-03: a heap of many MRs --- */

static __device__ uint32_t draw(uint32_t &state)
{
	state = state * 1664525U + 1013904223U;
	return state >> 8;
}

template <class queue>
static __device__ void pieces(struct env *e, struct gda_shmem_poster<queue> &p, uint64_t &met)
{
	uint32_t half = CELLS / 2 * CELL, state = 7;

	for (uint32_t k = 0; k < 40; k++) {
		uint32_t bytes = 1 + draw(state) % (5 * CELL), to = draw(state) % (half - bytes);
		uint32_t from = half + draw(state) % (half - bytes);

		fill(gda_thread_group(), e->heap + from, bytes, e->pe, k);
		POSTED(gda_shmem_put_nbi(p, e->heap + to, e->heap + from, bytes, 0));
		OK(gda_shmem_quiet(p, 0));
		OK(meet(e, p, met));
		EQ(0, wrong(e->heap + to, bytes, e->other, k));
		/* and back */
		OK(meet(e, p, met));
		OK(gda_shmem_get(p, e->heap + to, e->heap + from, bytes, 0));
		EQ(0, wrong(e->heap + to, bytes, e->other, k));
		OK(meet(e, p, met));
	}
}

static __global__ void chunks(struct env *e)
{
	auto p = gda_shmem_open_thread(e->s, e->other, 0);
	uint64_t met = 0;

	OK(p.err);
	pieces(e, p, met);
	gda_shmem_close(p);
	if (!p.direct)
		gda_shared_reset(gda_shmem_view(e->s, e->other, 0));
	auto shared = gda_shmem_open_gpu(e->s, e->other, 0, false);

	pieces(e, shared, met);
}

/* --- I-01: several queue pairs, and quiet of all of them --- */

static __global__ void queue_pairs(struct env *e)
{
	auto p = gda_shmem_open_gpu(e->s, e->other, blockIdx.x, false);
	uint64_t met = 0;

	if (threadIdx.x)
		return;
	fill(gda_thread_group(), e->heap + (32 + blockIdx.x) * CELL, CELL, e->pe, blockIdx.x);
	for (uint32_t i = 0; i < ROUNDS; i++)
		POSTED(gda_shmem_put_nbi(p, e->heap + blockIdx.x * CELL,
					 e->heap + (32 + blockIdx.x) * CELL, CELL, 0));
	/* the last block waits for all queue pairs */
	if (atomicAdd((uint32_t *)(e->heap + 60 * CELL), 1) + 1 < gridDim.x)
		return;
	__threadfence();
	OK(gda_shmem_quiet(e->s, 0));
	OK(gda_shmem_quiet(e->s, 0));
	OK(meet(e, p, met));
	for (uint32_t i = 0; i < gridDim.x; i++)
		EQ(0, wrong(e->heap + i * CELL, CELL, e->other, i));
}

/* --- refusals: nothing is posted --- */

static __global__ void refused(struct env *e)
{
	auto p = gda_shmem_open_thread(e->s, e->other, 0);
	auto far = gda_shmem_open_thread(e->s, PES, 0);
	/* the words may lie right behind the heap: an address that is nobody's */
	uint8_t *end = e->heap + CELLS * CELL, *nowhere = (uint8_t *)4096;
	uint64_t met = 0, value;
	uint64_t next = p.direct ? 0 : p.q.next;

	EQ(-EINVAL, far.err);
	EQ(-EINVAL, gda_shmem_put_nbi(far, e->heap, e->heap, 8, 0));
	EQ(-EINVAL, gda_shmem_quiet(far, 0));
	EQ(-EINVAL, gda_shmem_put(e->s, e->heap, e->heap, 8, PES, 0));
	EQ(-EFAULT, gda_shmem_put_nbi(p, end - 8, e->heap, 16, 0));
	EQ(-EFAULT, gda_shmem_get_nbi(p, e->heap, nowhere, 1, 0));
	EQ(-EFAULT, gda_shmem_p(p, nowhere, 1, 8, 0));
	EQ(-EINVAL, gda_shmem_p(p, e->heap + 4, 1, 8, 0));
	EQ(-EINVAL, gda_shmem_p(p, e->heap, 1, 3, 0));
	EQ(-EFAULT, gda_shmem_g(p, &value, nowhere, 8, 0));
	EQ(-EINVAL, gda_shmem_atomic64(p, e->words, GDA_SHMEM_XOR + 1, 1, 0));
	EQ(-EINVAL, gda_shmem_atomic64(p, (uint64_t *)((char *)e->words + 4), GDA_SHMEM_ADD, 1, 0));
	EQ(-EINVAL, gda_shmem_put_signal_nbi(p, e->heap, e->heap, 8,
					     { e->words, 1, GDA_SHMEM_OR, 0 }, 0));
	EQ(-EFAULT, gda_shmem_put_signal_nbi(p, e->heap, e->heap, 8,
					     { (uint64_t *)nowhere, 1, GDA_SHMEM_ADD, 0 }, 0));
	if (!p.direct) {
		/* words of a GPU are none for a device yet; local memory is symmetric */
		EQ(-EFAULT, gda_shmem_atomic64(p, (uint64_t *)e->heap, GDA_SHMEM_ADD, 1, 0));
		EQ(-EFAULT, gda_shmem_put_signal_nbi(p, e->heap, e->heap, 8,
						     { (uint64_t *)e->heap, 1, GDA_SHMEM_ADD, 0 },
						     0));
		EQ(-EFAULT, gda_shmem_put_nbi(p, e->heap, nowhere, 8, 0));
		EQ(-EFAULT, gda_shmem_atomic64(e->s, (uint64_t *)e->heap, GDA_SHMEM_ADD, 1,
					       e->other, 0));
		EQ(-EFAULT, gda_shmem_get(e->s, nowhere, e->heap, 8, e->other, 0));
		EQ(next, p.q.next);
	}
	EQ(0, gda_shmem_put_nbi(p, nowhere, nowhere, 0, 0));
	EQ(-EINVAL, gda_shmem_wait_until64(e->s, e->words, 7, 1, 0));
	EQ(-ETIMEDOUT, gda_shmem_wait_until64(e->s, e->words, GDA_SHMEM_EQ, 1,
					      gda_clock_ns() + 1000000));
	OK(meet(e, p, met));
	gda_shmem_close(p);
}

/* --- I-14: an error reaches the waiter --- */

static __global__ void context_gone(struct env *e)
{
	auto p = gda_shmem_open_thread(e->s, e->other, 0);
	uint64_t begin, met = 0, value;
	int err;

	OK(meet(e, p, met));
	/* PE 1 ends; its host shuts the context down and says so */
	if (e->pe) {
		OK(gda_shmem_quiet(p, 0));
		gda_shmem_close(p);
		return;
	}
	begin = gda_clock_ns();
	while (!gda_nic_load32(&e->gone))
		EQ(1, gda_clock_ns() - begin < 20 * SECOND);
	begin = gda_clock_ns();
	POSTED(gda_shmem_put_nbi(p, e->heap, e->heap + CELL, CELL, 0));
	EQ(-EIO, gda_shmem_quiet(p, 0));
	err = gda_shmem_g(p, &value, e->heap, 8, 0);
	EQ(-EIO, err);
	EQ(-ETIMEDOUT, gda_shmem_wait_until64(e->s, e->words, GDA_SHMEM_EQ, 1,
					      gda_clock_ns() + 100000000));
	EQ(1, gda_clock_ns() - begin < 11 * SECOND);
	gda_shmem_close(p);
}

static int shut_down(struct pe *pe)
{
	if (!pe->number)
		return 0;
	CUDA(cudaStreamSynchronize(pe->stream));
	GDA(gda_context_shutdown(pe->ctx));
	gda_nic_store32(&pe->other->gone, 1);
	return 0;
}

/* --- the PEs --- */

#define BOTH(name, kernel, blocks, threads) \
	{ name ".by_queue", kernel, blocks, threads, GDA_SHMEM_QUEUE, 1, 0, NULL }, \
	{ name ".direct", kernel, blocks, threads, GDA_SHMEM_DIRECT, 1, 0, NULL }
#define QUEUE(name, kernel, blocks, threads, qps, chunk, host) \
	{ name ".by_queue", kernel, blocks, threads, GDA_SHMEM_QUEUE, qps, chunk, host }

static const struct test tests[] = {
	BOTH("put_get_signal", put_signal, 1, 1),
	BOTH("I-16.calls_of_the_heap", calls, 1, 1),
	BOTH("I-15.atomics", atomics, 1, 1),
	BOTH("I-18.fetched_once", fetched_once, 16, 64),
	BOTH("groups", groups, 1, 128),
	BOTH("I-02.owned_by_a_warp", owned, 1, 32),
	BOTH("I-02.I-05.each_lane", each, 1, 32),
	QUEUE("by_block", by_block, 1, 9 * 32, 1, 0, NULL),
	QUEUE("by_gpu", by_gpu, 32, 32, 1, 0, NULL),
	QUEUE("by_gpu_with_courier", by_gpu_courier, 32, 32, 1, 0, NULL),
	QUEUE("I-03.heap_of_many_MRs", chunks, 1, 1, 1, 2 * CELL, NULL),
	QUEUE("I-01.I-12.queue_pairs", queue_pairs, 4, 32, 4, 0, NULL),
	BOTH("refused", refused, 1, 1),
	QUEUE("I-14.context_shut_down", context_gone, 1, 1, 1, 0, shut_down),
};

/* Return: why the direct way cannot be, or 0. */
static int pe_open(struct pe *pe)
{
	const struct gda_shmem_attr attr = {
		.size = sizeof(attr), .way = pe->test->way, .qps = pe->test->qps,
		.heap_bytes = CELLS * CELL, .chunk_bytes = pe->test->chunk,
		.timeout_ns = 10 * SECOND, .cuda = pe->cuda,
		.place = GDA_CUDA_CQ_GPU | GDA_CUDA_LEAVES_ROOM,
	};
	int err = gda_shmem_create(pe->comm, &attr, &pe->s);

	if (err == -EOPNOTSUPP && pe->test->way == GDA_SHMEM_DIRECT)
		return err;
	GDA(err);
	CUDA(cudaHostAlloc(&pe->env, sizeof(*pe->env), cudaHostAllocPortable));
	memset(pe->env, 0, sizeof(*pe->env));
	pe->env->s = gda_shmem_cuda(pe->s);
	pe->env->heap = (uint8_t *)pe->s->heap;
	pe->env->words = (uint64_t *)pe->s->data;
	pe->env->pe = pe->number;
	pe->env->other = !pe->number;
	pe->env->direct = pe->test->way == GDA_SHMEM_DIRECT;
	pe->env->couriers = pe->test->blocks - 1;
	return 0;
}

static void pe_run(struct pe *pe)
{
	struct env *all[PES];

	GDA(gda_comm_allgather(pe->comm, &pe->env, sizeof(pe->env), all, 0));
	pe->other = all[!pe->number];
	pe->test->kernel<<<pe->test->blocks, pe->test->threads, 0, pe->stream>>>(pe->env);
	CUDA(cudaGetLastError());
	if (pe->test->host)
		pe->result = pe->test->host(pe);
	CUDA(cudaStreamSynchronize(pe->stream));
	if (pe->env->line) {
		printf("# %s, PE %u: line %d: %lld, not %lld\n", pe->test->name, pe->number,
		       pe->env->line, pe->env->is, pe->env->want);
		pe->result = 1;
	}
	/* nobody frees while another's kernel runs: freeing waits for it */
	GDA(gda_comm_barrier(pe->comm, 0));
	gda_shmem_destroy(pe->s);
	GDA(gda_comm_barrier(pe->comm, 0));
	CUDA(cudaFreeHost(pe->env));
}

static void *pe_main(void *arg)
{
	struct pe *pe = (struct pe *)arg;
	struct gda_comm_attr attr = { sizeof(attr), 0, pe->number, PES, pe->id, NULL, NULL,
				      60 * SECOND };
	int err;

	CUDA(cudaSetDevice(pe->device));
	CUDA(cudaStreamCreateWithFlags(&pe->stream, cudaStreamNonBlocking));
	GDA(gda_comm_create(&attr, &pe->comm));
	GDA(gda_open(GDA_DEVICE_INPROC, &pe->ctx));
	GDA(gda_cuda_open(pe->ctx, pe->device, &pe->cuda));
	err = pe_open(pe);
	if (!err)
		pe_run(pe);
	else
		pe->result = err;
	gda_cuda_close(pe->cuda);
	gda_close(pe->ctx);
	gda_comm_destroy(pe->comm);
	CUDA(cudaStreamDestroy(pe->stream));
	return NULL;
}

static int run(const struct test *test, int devices)
{
	struct pe pe[PES] = {};
	struct gda_comm_id id;
	int result = 0;

	GDA(gda_comm_id_create(NULL, &id));
	for (uint32_t i = 0; i < PES; i++) {
		pe[i].test = test;
		pe[i].id = &id;
		pe[i].number = i;
		pe[i].device = (int)i % devices;
		if (pthread_create(&pe[i].thread, NULL, pe_main, &pe[i]))
			abort();
	}
	for (uint32_t i = 0; i < PES; i++) {
		pthread_join(pe[i].thread, NULL);
		result = pe[i].result ? pe[i].result : result;
	}
	return result;
}

int main(int argc, char **argv)
{
	return ktap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : "", run);
}

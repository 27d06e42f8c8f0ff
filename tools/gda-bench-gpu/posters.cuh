/* SPDX-License-Identifier: MIT */
/* The measured kernels: posters of every kind, each warp with its own count. */
#ifndef GDA_BENCH_POSTERS_CUH
#define GDA_BENCH_POSTERS_CUH

#include "nic.cuh"

enum bench_mode { EXCLUSIVE, SHARED, SHARED_COURIER, BLOCK, BLOCK_COURIER, VIEW };
enum bench_test { PUT, EACH, SIGNAL, GIN, SHMEM_WARP, SHMEM_EACH, BATCH, NOWAIT, TAIL, LATENCY, GET,
		  ASYNC_GET, QUIET, FIRST, SHMEM_QUIET };
enum bench_map { ONE_QUEUE, BLOCK_QUEUE, WARP_QUEUE };

/* A context of gda/gin.h with as many peers as there are posters, and a window on each of them. */
#define BENCH_PEERS	264
#define BENCH_IOVA	16U	/* iova of the poster's own window; a peer's is 0 */

struct bench_gin {
	struct gda_gin gin;
	struct gda_gin_queue queues[BENCH_PEERS];
	struct gda_window windows[BENCH_PEERS];
	struct gda_window_part parts[BENCH_PEERS];
};

/*
 * Heaps of gda/shmem.h, one for each poster, with two PEs: the poster is PE 1. The heap covers all
 * addresses, and the keys of its MR are the poster's.
 */
#define BENCH_HEAPS	4224

struct bench_heap {
	struct gda_shmem s;
	struct gda_shmem_peer peers[2];
	struct gda_chunk chunks[2];
};

/*
 * A workspace of gda/async.h with one queue. Its windows are the two halves of the address space,
 * each slightly shifted in work requests, so that no address is 0 and no sum wraps.
 */
#define BENCH_HALF	(1ULL << 63)

struct bench_async {
	struct gda_async_workspace w;
	struct gda_chunk_map map;
	struct gda_chunk chunks[2];
	uint64_t view;
};

/* Does each lane post its own put, all lanes together? */
__host__ __device__ static constexpr bool bench_is_each(enum bench_test test)
{
	return test == EACH || test == SHMEM_EACH;
}

__host__ __device__ static constexpr bool bench_is_warp(enum bench_test test)
{
	return bench_is_each(test) || test == SHMEM_WARP;
}

__host__ __device__ static constexpr bool bench_is_shmem(enum bench_test test)
{
	return test == SHMEM_WARP || test == SHMEM_EACH || test == SHMEM_QUIET;
}

/* Gets of 8 bytes, each waited for. */
__host__ __device__ static constexpr bool bench_is_get(enum bench_test test)
{
	return test == GET || test == ASYNC_GET;
}

/* One post at a time, whose completion is waited for. */
__host__ __device__ static constexpr bool bench_completes(enum bench_test test)
{
	return test == LATENCY || bench_is_get(test);
}

/* Histogram of cycles per call, by warp, with sixteen buckets to an octave. */
#define BENCH_BUCKETS	512

struct bench_args {
	struct gda_view *views;
	struct bench_gin *gin;
	struct bench_heap *heaps;
	struct bench_async *async;
	uint64_t *t0, *t1, *cycles, *ops;	/* of each warp */
	uint32_t *samples;
	uint32_t *buckets;
	uint32_t *barrier;
	uint32_t *posters;
	int *error;
	uint32_t blocks, warps, skip;		/* skip: blocks that end at once */
	uint32_t warm, batch, rounds;
	uint64_t window;			/* cycles */
	enum bench_map map;
	bool noop;
};

typedef void (*bench_launch)(const struct bench_args &, dim3, dim3, cudaStream_t);

/* Every field follows from the poster and the number of its post; see nic_check(). */
template <bool each, class queue>
static __device__ __forceinline__ int64_t bench_post(queue &q, uint32_t id, uint32_t number,
						     unsigned int flags)
{
	uint64_t word = (uint64_t)id << 32 | number;
	uint32_t len = ((id ^ number) & 0xffffff) | 1;

	if constexpr (each)
		return gda_put_each(q, ~word, id, word, id * GOLDEN, len, flags);
	else
		return gda_put(q, ~word, id, word, id * GOLDEN, len, flags);
}

template <class queue>
static __device__ __forceinline__ int64_t bench_signal(queue &q, uint32_t id, uint32_t number)
{
	uint64_t word = (uint64_t)id << 32 | number;
	struct gda_signal s = { sizeof(s), GDA_SIGNAL_ADD, word, number, ~word, id * GOLDEN, id };

	return gda_put_signal(q, ~word, id, word, id * GOLDEN,
			      ((id ^ number) & 0xffffff) | 1, s, 0);
}

/*
 * A put with Inc, from the poster's own window to that of peer @id: offsets and signal number are
 * chosen such that the entries are those of bench_signal(), except for the word.
 */
template <class queue>
static __device__ __forceinline__ int bench_gin(struct gda_gin_poster<queue> &p,
						const struct gda_gin_opened &w,
						uint32_t id, uint32_t number)
{
	uint64_t word = (uint64_t)id << 32 | number;

	return gda_gin_put(p, gda_at(w, word), gda_at(w, ~word - BENCH_IOVA),
			   ((id ^ number) & 0xffffff) | 1, gda_gin_inc(number, 0));
}

/* The compiler may take these for granted: the capabilities of the device, and the dialect. */
template <class queue>
static __device__ __forceinline__ bool bench_assume(queue &q, uint32_t caps)
{
#ifdef GDA_WQE_EFA
	return gda_assume(q, caps) && gda_assume_dialect(q, GDA_DIALECT_EFA);
#else
	return gda_assume(q, caps);
#endif
}

template <enum bench_test test, class queue>
static __device__ __forceinline__ int64_t bench_one(queue &q, uint32_t id, uint32_t &number,
						    uint32_t batch)
{
	int64_t ticket = 0;
	[[maybe_unused]] uint32_t i;

	if constexpr (test == SIGNAL)
		return bench_signal(q, id, number++);
	if constexpr (test == NOWAIT) {
		ticket = bench_post<false>(q, id, number, GDA_NOWAIT);
		number += ticket >= 0;
		return ticket == -EAGAIN ? 0 : ticket;
	}
	if constexpr (test == BATCH)
		for (i = 1; i < batch; i++)
			ticket |= bench_post<false>(q, id, number++, GDA_DEFER);
	return ticket | bench_post<test == EACH>(q, id, number++, 0);
}

/* The same by a poster of gda/gin.h. */
template <class queue>
struct bench_poster {
	struct gda_gin_poster<queue> p;
	struct gda_gin_opened w;
};

template <enum bench_test test, class queue>
static __device__ __forceinline__ int64_t bench_one(struct bench_poster<queue> &b, uint32_t id,
						    uint32_t &number, uint32_t)
{
	return bench_gin(b.p, b.w, id, number++);
}

/* The same by a poster of gda/shmem.h. */
template <class queue>
struct bench_shmem {
	struct gda_shmem_poster<queue> p;
};

template <enum bench_test test, class queue>
static __device__ __forceinline__ int64_t bench_one(struct bench_shmem<queue> &b, uint32_t id,
						    uint32_t &number, uint32_t)
{
	uint64_t word = (uint64_t)id << 32 | number;
	uint32_t len = ((id ^ number++) & 0xffffff) | 1;
	void *to = (void *)word;
	const void *from = (const void *)(~word - BENCH_IOVA);

	if constexpr (test == SHMEM_EACH)
		return gda_shmem_put_nbi_each(b.p, to, from, len, 0);
	if constexpr (test == SHMEM_WARP)
		return gda_shmem_put_nbi_warp(b.p, to, from, len, 0);
	return gda_shmem_put_nbi(b.p, to, from, len, 0);
}

/* Gets through a view, and through a session of gda/async.h, which posts through it. */
struct bench_view {
	struct gda_view *v;
	struct gda_async_session s;
};

template <enum bench_test test>
static __device__ __forceinline__ int64_t bench_get(struct bench_view &b, uint32_t id,
						    uint32_t number)
{
	uint64_t word = (uint64_t)id << 32 | number;
	int64_t ticket;

	if constexpr (test == ASYNC_GET) {
		ticket = gda_async_get(&b.s, GDA_ASYNC_COPY, (void *)(~word - BENCH_IOVA),
				       (const void *)(word + BENCH_IOVA), 8, 0).handle;
		return ticket > 0 ? gda_async_wait(&b.s, 0) : -EINVAL;
	}
	ticket = gda_get(b.v, ~word, id, word, id * GOLDEN, 8, 0);
	return ticket < 0 ? ticket : gda_wait(b.v, ticket, 0);
}

template <class queue>
static __device__ __forceinline__ int bench_quiet(queue &q)
{
	return gda_quiet(q, 0);
}

template <class queue>
static __device__ __forceinline__ int bench_quiet(struct bench_poster<queue> &b)
{
	return gda_gin_flush(b.p, 0);
}

/* At the end only the requested check is made: a quiet of gda/shmem.h would post once more. */
template <class queue>
static __device__ __forceinline__ int bench_end(queue &q)
{
	return bench_quiet(q);
}

template <class queue>
static __device__ __forceinline__ int bench_quiet(struct bench_shmem<queue> &b)
{
	return gda_shmem_quiet(b.p, 0);
}

template <class queue>
static __device__ __forceinline__ int bench_end(struct bench_shmem<queue> &b)
{
	return gda_quiet(b.p.q, 0);
}

static __device__ __forceinline__ int bench_end(struct bench_view &b)
{
	return gda_quiet(b.v, 0);
}

static __device__ __forceinline__ void bench_start(const struct bench_args &a)
{
	gda_fence_gpu();
	atomicAdd(a.barrier, 1U);
	while (*(volatile uint32_t *)a.barrier < a.blocks * a.warps)
		;
}

/* Between two powers of two, the four bits behind the leading one select the bucket. */
__host__ __device__ static inline uint32_t bench_bucket(uint32_t cycles)
{
	uint32_t power = 4;

	if (cycles < 16)
		return cycles;
	while (cycles >> (power + 1))
		power++;
	return power * 16 + (cycles >> (power - 4) & 15);
}

static __device__ __forceinline__ void bench_count(const struct bench_args &a, uint32_t warp,
						   uint64_t cycles)
{
	uint32_t most = cycles >> 31 ? 0x7fffffff : (uint32_t)cycles;

	a.buckets[warp * BENCH_BUCKETS + bench_bucket(most)]++;
}

/* Time one put until its completion, or a quiet long after a put, the first or the second one. */
template <enum bench_test test, class queue>
static __device__ __forceinline__ int64_t bench_latency(const struct bench_args &a, queue &q,
							uint32_t id, uint32_t &number)
{
	int64_t bad = 0;
	uint32_t i;

	for (i = 0; i < a.rounds; i++) {
		uint64_t begin = clock64(), end;

		bad |= bench_one<PUT>(q, id, number, 0);
		if constexpr (test == QUIET || test == FIRST || test == SHMEM_QUIET) {
			while (clock64() - begin < 40000)
				;
			if (test != FIRST)
				bad |= bench_quiet(q);
			begin = clock64();
		}
		bad |= bench_quiet(q);
		end = clock64();
		a.samples[i] = (uint32_t)(end - begin);
	}
	return bad;
}

template <enum bench_test test>
static __device__ __forceinline__ int64_t bench_gets(const struct bench_args &a,
						     struct bench_view &b, uint32_t id)
{
	int64_t bad = 0;
	uint32_t i;

	for (i = 0; i < a.rounds; i++) {
		uint64_t begin = clock64();

		bad |= bench_get<test>(b, id, i);
		a.samples[i] = (uint32_t)(clock64() - begin);
	}
	return bad;
}

template <enum bench_test test, class queue>
static __device__ __forceinline__ void bench_posts(const struct bench_args &a, queue &q,
						   uint32_t warp)
{
	uint32_t lane = threadIdx.x & 31, number = 0, i;
	uint32_t id = bench_is_each(test) ? warp * 32 + lane : warp;
	uint64_t c0 = 0, c1 = 0, t0 = 0, t1 = 0, n = 0;
	int64_t bad = 0;

	if (!bench_is_warp(test) && lane)
		return;
	if constexpr (bench_is_get(test)) {
		bad = bench_gets<test>(a, q, id);
		n = a.rounds;
	} else if constexpr (test >= LATENCY) {
		bad = bench_latency<test>(a, q, id, number);
		n = a.rounds;
	} else {
		for (i = 0; test == NOWAIT ? number < a.warm : i < a.warm; i++)
			bad |= bench_one<test>(q, id, number, a.batch);
		if (!lane)
			bench_start(a);
		if (bench_is_warp(test))
			__syncwarp();
		t0 = gda_clock_ns();
		c0 = clock64();
		do {
#pragma unroll 1
			for (i = 0; i < 8; i++) {
				uint64_t begin = test == TAIL ? clock64() : 0;

				bad |= bench_one<test>(q, id, number, a.batch);
				if (test == TAIL)
					bench_count(a, warp, clock64() - begin);
			}
			n += 8;
			c1 = clock64() - c0;
			if (bench_is_warp(test))
				c1 = __shfl_sync(~0U, c1, 0);
		} while (c1 < a.window);
		t1 = gda_clock_ns();
		if (test == NOWAIT)
			n = number - a.warm;
	}
	if (!lane)
		bad |= bench_end(q);
	if (bad < 0)
		atomicCAS(a.error, 0, (int)(bad | 1));
	if (lane)
		return;
	a.ops[warp] = n;
	a.t0[warp] = t0;
	a.t1[warp] = t1;
	a.cycles[warp] = c1;
}

/* Post through @q, or through a poster that contains it. */
template <enum bench_test test, class queue>
static __device__ __forceinline__ void bench_run_posts(const struct bench_args &a, queue &q,
						       uint32_t warp)
{
	if constexpr (test == GIN) {
		struct bench_poster<queue> b;

		gda_gin_find(b.p, &a.gin->gin, warp);
		b.p.q = q;
		b.w = gda_gin_open_window(b.p, &a.gin->windows[warp]);
		bench_posts<test>(a, b, warp);
		q = b.p.q;
	} else if constexpr (bench_is_shmem(test)) {
		struct bench_shmem<queue> b;
		uint32_t id = bench_is_each(test) ? warp * 32 + (threadIdx.x & 31) : warp;

		gda_shmem_find(b.p, &a.heaps[id].s, 0);
		b.p.q = q;
		bench_posts<test>(a, b, warp);
		q = b.p.q;
	} else {
		bench_posts<test>(a, q, warp);
	}
}

/*
 * A device-wide courier needs one more block, the first; a courier of a block needs one more warp.
 * The capabilities of the device are a constant here.
 */
template <enum bench_mode mode, enum bench_test test, uint32_t caps>
static __global__ void __launch_bounds__(512, 1) bench_kernel(struct bench_args a)
{
	uint32_t wib = threadIdx.x / 32, block = blockIdx.x - a.skip, warp;
	struct gda_view *v;

	if (a.noop || blockIdx.x < a.skip)
		return;
	if constexpr (mode == SHARED_COURIER) {
		if (!block) {
			struct gda_shared q = gda_shared_open(a.views, true);

			if (!wib && (!bench_assume(q, caps) || gda_courier_run(q, a.posters)))
				atomicCAS(a.error, 0, -ESHUTDOWN);
			return;
		}
		block--;
	}
	warp = block * a.warps + wib;
	v = &a.views[a.map == ONE_QUEUE ? 0 : a.map == BLOCK_QUEUE ? block : warp];
	if constexpr (mode == EXCLUSIVE) {
		struct gda_exclusive q = gda_exclusive_open(v);

		if (!bench_assume(q, caps))
			atomicCAS(a.error, 0, -EINVAL);
		else
			bench_run_posts<test>(a, q, warp);
		if (!(threadIdx.x & 31))
			gda_exclusive_close(q);
	} else if constexpr (mode == VIEW) {
		struct bench_view q;
		uint64_t scratch;

		q.v = v;
		q.s.size = sizeof(q.s);
		if (gda_async_open(&a.async->w, 0, &scratch, sizeof(scratch), &q.s))
			atomicCAS(a.error, 0, -EINVAL);
		else
			bench_posts<test>(a, q, warp);
	} else if constexpr (mode == SHARED || mode == SHARED_COURIER) {
		struct gda_shared q = gda_shared_open(v, mode == SHARED_COURIER);

		if (!bench_assume(q, caps))
			atomicCAS(a.error, 0, -EINVAL);
		else
			bench_run_posts<test>(a, q, warp);
		if (mode == SHARED_COURIER && !(threadIdx.x & 31))
			gda_courier_leave(a.posters);
	} else {
		__shared__ struct gda_block state;

		gda_block_open(&state, v, a.warps);
		{
			struct gda_block_queue q = gda_block_join(&state,
								  mode == BLOCK_COURIER);
			int err = bench_assume(q, caps) ? 0 : -EINVAL;

			if (!err && wib == a.warps)
				err = gda_block_courier(q);
			else if (!err)
				bench_run_posts<test>(a, q, warp);
			if (err)
				atomicCAS(a.error, 0, err);
			if (wib != a.warps && !(threadIdx.x & 31))
				gda_block_leave(&state);
		}
		gda_block_close(&state);
	}
}

/* The floor of any post: an entry, a fence of GPU or of system scope, a doorbell. */
template <bool system>
static __global__ void floor_issue(char *sq, uint64_t *db, struct bench_args a, uint32_t count)
{
	uint32_t warp = (blockIdx.x - a.skip) * a.warps + threadIdx.x / 32, i, k;
	uint64_t c0, t0;

	if (a.noop || blockIdx.x < a.skip || threadIdx.x & 31)
		return;
	bench_start(a);
	sq += (uint64_t)warp * 1024 * 64;
	db += (uint64_t)warp * 32;
	t0 = gda_clock_ns();
	c0 = clock64();
#pragma unroll 1
	for (i = 0; i < count; i++) {
		for (k = 0; k < 4; k++)
			gda_store128(sq + i % 1024 * 64 + 16 * k, i, i, i, i);
		if constexpr (system)
			gda_fence_system();
		else
			gda_fence_gpu();
		asm volatile("st.mmio.relaxed.sys.global.u64 [%0], %1;"
			     ::"l"(db), "l"((uint64_t)i) : "memory");
	}
	a.cycles[warp] = clock64() - c0;
	a.t0[warp] = t0;
	a.t1[warp] = gda_clock_ns();
	a.ops[warp] = count;
}

/*
 * The steps of a post to a shared queue, in this order and with nothing in between: a slot, an
 * entry, a release, the combining role (whose owner must finally check whether a poster has missed
 * it), the record, a release, the doorbell, a release, and a word for the next one to ring.
 */
static __global__ void floor_shared(char *sq, uint64_t *db, struct bench_args a, uint32_t count)
{
	uint64_t *words = (uint64_t *)(sq + 1024 * 64), c0, t0, index, x = 0;
	uint32_t i, k;

	if (a.noop || blockIdx.x < a.skip || threadIdx.x)
		return;
	t0 = gda_clock_ns();
	c0 = clock64();
#pragma unroll 1
	for (i = 0; i < count; i++) {
		index = gda_gpu_fetch_add64(words, 1 + x);
		for (k = 0; k < 3; k++)
			gda_store128(sq + index % 1024 * 64 + 16 * k, i, i, i, i);
		gda_fence_gpu();
		x = gda_gpu_xor64_relaxed(words + 32, 0);
		gda_gpu_store64(words + 16, index);
		gda_release(GDA_VIEW_SQ_ON_GPU);
		asm volatile("st.mmio.relaxed.sys.global.u64 [%0], %1;"
			     ::"l"(db), "l"(index) : "memory");
		gda_release(GDA_VIEW_SQ_ON_GPU);
		gda_gpu_store64(words + 48, index);
	}
	a.cycles[0] = clock64() - c0;
	a.t0[0] = t0;
	a.t1[0] = gda_clock_ns();
	a.ops[0] = count;
}

/* One load that misses the L1, of the word that a quiet polls, by the same SM. */
static __global__ void floor_load(uint32_t *p, uint32_t *samples, uint32_t count, uint32_t skip)
{
	uint64_t c = clock64();
	uint32_t i, x = 0;

	if (blockIdx.x < skip)
		return;
	for (i = 0; i < count; i++)
		x = *(volatile uint32_t *)(p + x);
	c = clock64() - c + x;
	for (i = 0; i < count; i++)
		samples[i] = (uint32_t)(c / count);
}

/* Send a word to another SM and wait for the answer. */
static __global__ void floor_ping(uint32_t *to, uint32_t *from, uint32_t *samples,
				  uint32_t count)
{
	uint32_t i;

	for (i = 1; i <= count; i++) {
		uint64_t c = clock64();

		if (blockIdx.x) {
			while (*(volatile uint32_t *)to != i)
				;
			*(volatile uint32_t *)from = i;
			continue;
		}
		*(volatile uint32_t *)to = i;
		while (*(volatile uint32_t *)from != i)
			;
		samples[i - 1] = (uint32_t)(clock64() - c);
	}
}

#endif /* GDA_BENCH_POSTERS_CUH */

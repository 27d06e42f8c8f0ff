/* SPDX-License-Identifier: MIT */
/*
 * A fake NIC on the GPU: a separate kernel that follows the doorbell record (or the doorbell),
 * reads and checks every entry, and writes the collapsed CQ. With GDA_WQE_EFA the format is that of
 * nic_efa.cuh.
 *
 * Each entry has its poster and its number, in several fields that must agree, so that a stale or
 * torn entry is noticed at once. Lost or repeated entries are noticed at the end, when a sum of
 * hashes of all entries is compared with that of all posts.
 */
#ifndef GDA_BENCH_NIC_CUH
#define GDA_BENCH_NIC_CUH

#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <gda/async.h>
#include <gda/gin.h>
#include <gda/gpu/post.h>
#include <gda/shmem.h>

/*
 * A single queue is served by a cluster of so many SMs, each with so many warps; or, without
 * clusters (before sm_90), by a warp.
 */
#define NIC_BLOCKS	8
#define NIC_WARPS	8

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define NIC_CLUSTER
#else
#define NIC_CLUSTER	__cluster_dims__(NIC_BLOCKS)
#endif
#define GOLDEN		0x9e3779b9U

/* Queues of the efa dialect: bytes of entries, and the target of all posts. */
#define BENCH_EFA_SLOT	128U
#define BENCH_EFA_CQE	32U
#define BENCH_EFA_AH	3U
#define BENCH_EFA_QKEY	0x1234567U

struct nic_queue {
	char *sq;
	uint32_t *dbrec;
	uint64_t *db;
	uint32_t *last;		/* last word of the CQ's entry; of efa the CQ */
	uint32_t depth;
	uint32_t qpn;
	bool inc;		/* an addition is a signal of gda/gin.h */
	uint32_t pause_ns;	/* efa: before each poll */
};

struct nic_result {
	uint64_t done;
	uint64_t sum;
	uint64_t stale;
	uint64_t torn;
	uint64_t overrun;
};

struct nic_args {
	struct nic_queue *queues;
	struct nic_result *results;
	uint32_t *stop;
	uint32_t count;
	uint32_t idle_ns;
	bool follow_db;		/* follow the doorbell instead of the record */
	bool strict;		/* with follow_db: fail if the record is behind the doorbell */
	bool check_late;	/* complete before the check: for latencies, one post at a time */
	bool blind;		/* do not read entries: to measure the cost of checking */
	bool shuffle;		/* efa: complete in another order than that of the entries */
};

__host__ __device__ static inline uint64_t nic_hash(uint64_t x, uint32_t opcode)
{
	x = (x + opcode) * 0xff51afd7ed558ccdULL;
	x ^= x >> 29;
	return x * 0xc4ceb9fe1a85ec53ULL;
}

static __device__ __forceinline__ uint4 nic_load(const char *p)
{
	uint4 v;

	asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p) : "memory");
	return v;
}

#ifdef GDA_WQE_EFA
#include "nic_efa.cuh"
#else
struct nic_entry {
	uint4 ctrl, raddr, data;
};

static __device__ __forceinline__ struct nic_entry nic_read(const struct nic_queue &q,
							    uint64_t index)
{
	const char *entry = q.sq + (index & (q.depth - 1)) * 64;

	return { nic_load(entry), nic_load(entry + 16), nic_load(entry + 32) };
}

/* Check entries of bench_post() and the other posters. */
static __device__ __forceinline__ void nic_check(const struct nic_queue &q, uint64_t index,
						 const struct nic_entry &e,
						 struct nic_result &r)
{
	uint32_t head = gda_swap32(e.ctrl.x), opcode = head & 0xff;
	uint32_t id = gda_swap32(e.raddr.x), number = gda_swap32(e.raddr.y);
	bool read = opcode == GDA_MLX5_READ;
	uint32_t ds = opcode == GDA_MLX5_WRITE || read ? 3 : 4;
	bool inc = q.inc && opcode == GDA_MLX5_ATOMIC_FA;
	uint4 local = ds == 3 ? e.data :
		      nic_load(q.sq + (index & (q.depth - 1)) * 64 + 48);
	bool good = gda_swap32(e.ctrl.y) == (q.qpn << 8 | ds) &&
		    gda_swap32(e.raddr.z) == id * GOLDEN && gda_swap32(local.y) == id &&
		    local.z == ~e.raddr.x && local.w == (inc ? 0 : ~e.raddr.y);

	/* here the number is that of the signal, which is 8 bytes long */
	number /= inc ? 8 : 1;

	/* 8 bytes: the read of a quiet of gda/shmem.h, or a get */
	if (read)
		good &= gda_swap32(local.x) == 8;
	else if (opcode == GDA_MLX5_WRITE)
		good &= gda_swap32(local.x) == (((id ^ number) & 0xffffff) | 1);
	else
		good &= opcode == GDA_MLX5_ATOMIC_FA &&
			gda_swap32(e.data.y) == (inc ? 1 : number);
	r.stale += head >> 8 != (index & 0xffff);
	r.torn += !good;
	r.sum += nic_hash((uint64_t)id << 32 | number, opcode);
}

static __device__ __forceinline__ uint64_t nic_rung(const struct nic_queue &q, uint64_t done,
						    bool follow_db)
{
	uint32_t now = follow_db ? gda_swap32(*(volatile uint32_t *)q.db) >> 8 :
		       gda_swap32(*(volatile uint32_t *)q.dbrec);
	uint16_t more = (uint16_t)(now - (uint32_t)done);

	return done + (more < 0x8000 ? more : 0);
}

/* One store by thread 0 of @lanes completes all from @from to @done. */
static __device__ __forceinline__ void nic_complete(const struct nic_queue &q, uint64_t from,
						    uint64_t done, uint32_t lane, uint32_t lanes,
						    bool shuffle)
{
	uint32_t counter = (uint32_t)(done - 1) & 0xffff;

	if (!lane)
		*(volatile uint32_t *)q.last = gda_swap32(counter << 16);
}
#endif

/* Check every entry from @from to @to, as thread @lane of @lanes. */
static __device__ __forceinline__ void nic_look(const struct nic_queue &q, uint64_t from,
						uint64_t to, uint32_t lane, uint32_t lanes,
						struct nic_result &r)
{
	uint64_t i;

	for (i = from + lane; i < to; i += 2 * lanes) {
		bool two = i + lanes < to;
		struct nic_entry e = nic_read(q, i);
		struct nic_entry f = nic_read(q, two ? i + lanes : i);

		nic_check(q, i, e, r);
		if (two)
			nic_check(q, i + lanes, f, r);
	}
}

static __device__ __forceinline__ void nic_tell(const struct nic_args &a, uint32_t queue,
						const struct nic_result &r, bool first)
{
	atomicAdd((unsigned long long *)&a.results[queue].sum, r.sum);
	atomicAdd((unsigned long long *)&a.results[queue].stale, r.stale);
	atomicAdd((unsigned long long *)&a.results[queue].torn, r.torn);
	atomicAdd((unsigned long long *)&a.results[queue].overrun, r.overrun);
	if (first)
		a.results[queue].done = r.done;
}

/* How far the polling thread may go; @end: the run is over. */
static __device__ __forceinline__ uint64_t nic_next(const struct nic_args &a,
						    const struct nic_queue &q, uint64_t done,
						    bool &end, uint64_t &behind)
{
	uint32_t record = 0;
	uint64_t now;

	end = *(volatile uint32_t *)a.stop;
	now = nic_rung(q, done, a.follow_db);
	end &= now == done;
	if (a.strict && now != done)
		record = *(volatile uint32_t *)q.dbrec;
	if (a.check_late && now != done)
		nic_complete(q, done, now, 0, 1, a.shuffle);
	if (a.strict && now != done)
		behind += (uint16_t)(gda_swap32(record) - (uint32_t)now) >= 0x8000;
	if (now != done)
		gda_fence_gpu();
	return now;
}

/* A warp for each queue. */
static __global__ void nic_kernel(struct nic_args a)
{
	uint32_t queue = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
	struct nic_result r = { 0, 0, 0, 0, 0 };
	struct nic_queue q;

	if (queue >= a.count)
		return;
	q = a.queues[queue];
	for (;;) {
		uint64_t now = r.done;
		bool end = false;

		if (!lane)
			now = nic_next(a, q, r.done, end, r.stale);
		now = __shfl_sync(~0U, now, 0);
		if (__shfl_sync(~0U, end, 0))
			break;
		if (now == r.done) {
			if (a.idle_ns)
				__nanosleep(a.idle_ns);
			continue;
		}
		r.overrun += now - r.done > q.depth;
		if (!a.blind)
			nic_look(q, r.done, now, lane, 32, r);
		__syncwarp();
		if (!a.check_late)
			nic_complete(q, r.done, now, lane, 32, a.shuffle);
		r.done = now;
	}
	nic_tell(a, queue, r, !lane);
}

/*
 * A single queue, by a cluster: the first thread polls and completes, all of them check. One
 * multiprocessor alone cannot read entries as fast as 132 write them.
 */
static __global__ void NIC_CLUSTER nic_kernel_single(struct nic_args a)
{
#if __CUDA_ARCH__ >= 900
	cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
	uint32_t lane = cluster.thread_rank(), lanes = cluster.num_threads(), i;
	struct nic_result r = { 0, 0, 0, 0, 0 };
	struct nic_queue q = a.queues[0];
	__shared__ uint64_t rung[2];
	unsigned int turn = 0;

	for (;; turn ^= 1) {
		uint64_t now;
		bool end;

		if (!lane) {
			do {
				now = nic_next(a, q, r.done, end, r.stale);
				if (now == r.done && !end && a.idle_ns)
					__nanosleep(a.idle_ns);
			} while (now == r.done && !end);
			for (i = 0; i < NIC_BLOCKS; i++)
				*cluster.map_shared_rank(&rung[turn], i) = now;
		}
		cluster.sync();
		now = rung[turn];
		if (now == r.done)
			break;
		r.overrun += !lane && now - r.done > q.depth;
		if (!a.blind)
			nic_look(q, r.done, now, lane, lanes, r);
		cluster.sync();
		if (!a.check_late)
			nic_complete(q, r.done, now, lane, lanes, a.shuffle);
		r.done = now;
	}
	nic_tell(a, 0, r, !lane);
#endif
}

#endif /* GDA_BENCH_NIC_CUH */

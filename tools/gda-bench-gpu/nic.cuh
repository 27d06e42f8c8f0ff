/* SPDX-License-Identifier: MIT */
/*
 * A fake NIC on the GPU: a kernel of its own that follows the doorbell record (or the
 * doorbell, if asked), reads and checks every entry, and writes the collapsed CQ.
 *
 * An entry says who posted it and which of its poster's it is, in fields that must agree
 * with each other, so one that is stale or torn shows at once. That none is lost and none
 * taken twice shows in the end: a sum of hashes of all entries is compared with that of
 * what was posted.
 */
#ifndef GDA_BENCH_NIC_CUH
#define GDA_BENCH_NIC_CUH

#include <cuda_runtime.h>
#include <gda/gpu/post.h>

#define NIC_WARPS	32	/* of the block that serves a single queue */
#define GOLDEN		0x9e3779b9U

struct nic_queue {
	char *sq;
	uint32_t *dbrec;
	uint64_t *db;
	uint32_t *last;		/* last word of the CQ's entry */
	uint32_t depth;
	uint32_t qpn;
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
	bool follow_db;		/* the doorbell instead of the record */
	bool check_late;	/* complete first: for latencies, one post at a time */
	bool blind;		/* look at no entry: what checking costs */
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

struct nic_entry {
	uint4 ctrl, raddr, data;
};

static __device__ __forceinline__ struct nic_entry nic_read(const struct nic_queue &q,
							    uint64_t index)
{
	const char *entry = q.sq + (index & (q.depth - 1)) * 64;

	return { nic_load(entry), nic_load(entry + 16), nic_load(entry + 32) };
}

/* What bench_post() and its like posted. */
static __device__ __forceinline__ void nic_check(const struct nic_queue &q, uint64_t index,
						 const struct nic_entry &e,
						 struct nic_result &r)
{
	uint32_t head = gda_swap32(e.ctrl.x), opcode = head & 0xff;
	uint32_t id = gda_swap32(e.raddr.x), number = gda_swap32(e.raddr.y);
	uint32_t ds = opcode == GDA_MLX5_WRITE ? 3 : 4;
	uint4 local = opcode == GDA_MLX5_WRITE ? e.data :
		      nic_load(q.sq + (index & (q.depth - 1)) * 64 + 48);
	bool good = gda_swap32(e.ctrl.y) == (q.qpn << 8 | ds) &&
		    gda_swap32(e.raddr.z) == id * GOLDEN && gda_swap32(local.y) == id &&
		    local.z == ~e.raddr.x && local.w == ~e.raddr.y;

	if (opcode == GDA_MLX5_WRITE)
		good &= gda_swap32(local.x) == (((id ^ number) & 0xffffff) | 1);
	else
		good &= opcode == GDA_MLX5_ATOMIC_FA && gda_swap32(e.data.y) == number;
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

static __device__ __forceinline__ void nic_complete(const struct nic_queue &q, uint64_t done)
{
	uint32_t counter = (uint32_t)(done - 1) & 0xffff;

	*(volatile uint32_t *)q.last = gda_swap32(counter << 16);
}

/* A warp for each queue, or, for a single one, a block of NIC_WARPS. */
static __global__ void nic_kernel(struct nic_args a)
{
	uint32_t queue = a.count == 1 ? 0 : (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint32_t lanes = a.count == 1 ? blockDim.x : 32;
	uint32_t lane = a.count == 1 ? threadIdx.x : threadIdx.x & 31;
	__shared__ uint64_t rung;
	__shared__ bool ends;
	struct nic_result r = { 0, 0, 0, 0, 0 };
	struct nic_queue q;

	if (queue >= a.count)
		return;
	q = a.queues[queue];
	for (;;) {
		uint64_t now = r.done, i;
		bool end = false;

		if (!lane) {
			end = *(volatile uint32_t *)a.stop;
			now = nic_rung(q, r.done, a.follow_db);
			end &= now == r.done;
			if (a.check_late && now != r.done)
				nic_complete(q, now);
			if (now != r.done)
				gda_fence_gpu();
			if (a.count == 1) {
				rung = now;
				ends = end;
			}
		}
		if (a.count == 1) {
			__syncthreads();
			now = rung;
			end = ends;
		} else {
			now = __shfl_sync(~0U, now, 0);
			end = __shfl_sync(~0U, end, 0);
		}
		if (end)
			break;
		if (now == r.done) {
			if (a.idle_ns)
				__nanosleep(a.idle_ns);
			continue;
		}
		r.overrun += now - r.done > q.depth;
		for (i = r.done + lane; i < now && !a.blind; i += 2 * lanes) {
			bool two = i + lanes < now;
			struct nic_entry e = nic_read(q, i);
			struct nic_entry f = nic_read(q, two ? i + lanes : i);

			nic_check(q, i, e, r);
			if (two)
				nic_check(q, i + lanes, f, r);
		}
		if (a.count == 1)
			__syncthreads();
		else
			__syncwarp();
		if (!lane && !a.check_late)
			nic_complete(q, now);
		r.done = now;
	}
	atomicAdd((unsigned long long *)&a.results[queue].sum, r.sum);
	atomicAdd((unsigned long long *)&a.results[queue].stale, r.stale);
	atomicAdd((unsigned long long *)&a.results[queue].torn, r.torn);
	atomicAdd((unsigned long long *)&a.results[queue].overrun, r.overrun);
	if (!lane)
		a.results[queue].done = r.done;
}

#endif /* GDA_BENCH_NIC_CUH */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Stand-ins for what NCCL's device code takes from CUDA, for a CPU: included before it, in place of
 * CUDA's headers. Each thread of a program is one thread of a GPU, and a group of its own.
 */
#ifndef GDA_VENDORS_CPU_CUDA_H
#define GDA_VENDORS_CPU_CUDA_H

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <new>
#include <sched.h>

#define __CUDACC__
#define __device__
#define __global__
#define __host__
#define __shared__
#define __forceinline__		inline
#define __ldg(p)		(*(p))
#define __threadfence_block()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __threadfence_system()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __syncwarp(mask)	((void)(mask))
#define __syncthreads()		((void)0)
#define __activemask()		1U
#define __popc(x)		__builtin_popcount(x)
#define __ffs(x)		__builtin_ffs((int)(x))
#define __fns(mask, at, n)	0U

/* The store of PTX that it uses, for the assembler: its operands are "[%0], %1". */
__asm__(".macro st.mmio.relaxed.sys.global.b32 at, value\n"
	".intel_syntax prefix\n"
	"mov dword ptr \\at, \\value\n"
	".att_syntax prefix\n"
	".endm\n"
	".macro st.mmio.relaxed.sys.global.b64 at, value\n"
	".intel_syntax prefix\n"
	"mov qword ptr \\at, \\value\n"
	".att_syntax prefix\n"
	".endm");

using std::min;
using std::max;

static inline size_t __cvta_generic_to_global(const void *p)
{
	return (size_t)p;
}

static inline long long clock64()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

struct cpu_index {
	unsigned int x, y, z;
};

extern thread_local cpu_index threadIdx;
static const cpu_index blockDim = { 1, 1, 1 };

struct ulonglong2 {
	unsigned long long x, y;
};

typedef ulonglong2 ulong2;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

namespace cuda {

enum thread_scope {
	thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread
};

enum memory_order {
	memory_order_relaxed = __ATOMIC_RELAXED, memory_order_acquire = __ATOMIC_ACQUIRE,
	memory_order_release = __ATOMIC_RELEASE, memory_order_acq_rel = __ATOMIC_ACQ_REL,
	memory_order_seq_cst = __ATOMIC_SEQ_CST,
};

template <typename T, thread_scope = thread_scope_system>
struct atomic_ref {
	T *p;

	explicit atomic_ref(T &t) : p(&t) {}
	/* Threads wait in loops of these; those of a GPU do not keep each other from running. */
	T load(memory_order order = memory_order_seq_cst) const
	{
		static thread_local unsigned int n;

		if (++n % 16 == 0)
			sched_yield();
		return __atomic_load_n(p, order);
	}
	void store(T t, memory_order order = memory_order_seq_cst) const
	{
		__atomic_store_n(p, t, order);
	}
	T fetch_add(T t, memory_order order = memory_order_seq_cst) const
	{
		return __atomic_fetch_add(p, t, order);
	}
};

static inline void atomic_thread_fence(memory_order order, thread_scope)
{
	__atomic_thread_fence(order);
}

} // namespace cuda

namespace cooperative_groups {

struct coalesced_group {
	int thread_rank() const { return 0; }
	int num_threads() const { return 1; }
	void sync() const {}
	template <typename T>
	T shfl(T t, int) const { return t; }
};

static inline coalesced_group coalesced_threads()
{
	return {};
}

static inline coalesced_group labeled_partition(const coalesced_group &g, unsigned long long)
{
	return g;
}

} // namespace cooperative_groups

#endif /* GDA_VENDORS_CPU_CUDA_H */

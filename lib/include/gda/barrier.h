/* SPDX-License-Identifier: MIT */
/*
 * The platform layer of the fast path: everything that differs between CPU and GPU, and all of its
 * memory order: C11-style atomics on a CPU, scoped PTX in CUDA device code.
 *
 * Order is always carried by an acquire or release on a word, never by a bare
 * fence, so that a race detector sees all of it. Words come in two families:
 *
 * - gda_load/store/exchange/cas/add/max: shared among posters of one queue. Posters of
 *   one queue are all CPU threads or all threads of one GPU.
 * - gda_nic_load/store: shared with the executor (doorbell, record, completion
 *   entry), which may be another processor on the far side of a bus.
 *
 * The names say what they guarantee: acquire, release or relaxed; exchange32 and
 * the cas pair are both acquire and release.
 */
#ifndef GDA_BARRIER_H
#define GDA_BARRIER_H

#include <stdint.h>
#ifndef __CUDA_ARCH__
#include <time.h>
#endif

#ifdef __CUDACC__
#define GDA_HELPER static __host__ __device__ __forceinline__
#define GDA_SLOW static __host__ __device__ __noinline__
#else
/* For functions of the posting path: always inlined, so that constant flags fold. */
#define GDA_HELPER static inline __attribute__((always_inline))
/* For slow paths: never inlined, so that each costs the posting path only a call. */
#define GDA_SLOW static __attribute__((__noinline__, __cold__, __unused__))
#endif

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* The linkage of the public functions; libgda defines this to export each of them once. */
#ifndef GDA_API
#ifdef __CUDACC__
#define GDA_API GDA_HELPER
#else
#define GDA_API static inline __attribute__((always_inline))
#endif
#endif

/* The same for functions that take a sized structure: the library's version checks the size. */
#ifndef GDA_SIZED_API
#define GDA_SIZED_API GDA_API
#endif

#ifdef __CUDACC__
#define gda_unlikely(x) (x)
#else
#define gda_unlikely(x) __builtin_expect(!!(x), 0)
#endif

/* One-directional fences, where the GPU has them. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define GDA_FENCE_RELEASE	"fence.release"
#define GDA_FENCE_ACQUIRE	"fence.acquire"
#else
#define GDA_FENCE_RELEASE	"fence.acq_rel"
#define GDA_FENCE_ACQUIRE	"fence.acq_rel"
#endif

/* Select one of two variants by where this is compiled for; the other is not compiled. */
#ifdef __CUDA_ARCH__
#define GDA_HERE(cpu, gpu) gpu
#else
#define GDA_HERE(cpu, gpu) cpu
#endif

#ifdef __CUDA_ARCH__

GDA_HELPER uint32_t gda_load_acquire32(const uint32_t *p)
{
	uint32_t v;

	asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

GDA_HELPER uint64_t gda_load_acquire64(const uint64_t *p)
{
	uint64_t v;

	asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

GDA_HELPER uint64_t gda_load_relaxed64(const uint64_t *p)
{
	uint64_t v;

	asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

GDA_HELPER void gda_store_relaxed64(uint64_t *p, uint64_t v)
{
	asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

GDA_HELPER void gda_store_release64(uint64_t *p, uint64_t v)
{
	asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

GDA_HELPER uint32_t gda_exchange32(uint32_t *p, uint32_t v)
{
	uint32_t old;

	asm volatile("atom.acq_rel.gpu.exch.b32 %0, [%1], %2;"
		     : "=r"(old) : "l"(p), "r"(v) : "memory");
	return old;
}

GDA_HELPER int gda_cas32(uint32_t *p, uint32_t old, uint32_t v)
{
	uint32_t was;

	asm volatile("atom.acq_rel.gpu.cas.b32 %0, [%1], %2, %3;"
		     : "=r"(was) : "l"(p), "r"(old), "r"(v) : "memory");
	return was == old;
}

GDA_HELPER int gda_cas64(uint64_t *p, uint64_t *old, uint64_t v)
{
	uint64_t was, expected = *old;

	asm volatile("atom.acq_rel.gpu.cas.b64 %0, [%1], %2, %3;"
		     : "=l"(was) : "l"(p), "l"(expected), "l"(v) : "memory");
	*old = was;
	return was == expected;
}

GDA_HELPER uint64_t gda_exchange64(uint64_t *p, uint64_t v)
{
	uint64_t old;

	asm volatile("atom.acq_rel.gpu.exch.b64 %0, [%1], %2;"
		     : "=l"(old) : "l"(p), "l"(v) : "memory");
	return old;
}

GDA_HELPER void gda_add64(uint64_t *p, uint64_t v)
{
	asm volatile("red.release.gpu.add.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

GDA_HELPER void gda_max64(uint64_t *p, uint64_t v)
{
	asm volatile("red.relaxed.gpu.max.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

GDA_HELPER uint32_t gda_nic_load32(const uint32_t *p)
{
	uint32_t v;

	asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

GDA_HELPER uint64_t gda_nic_load64(const uint64_t *p)
{
	uint64_t v;

	asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

GDA_HELPER void gda_nic_store32(uint32_t *p, uint32_t v)
{
	asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

GDA_HELPER void gda_nic_store64(uint64_t *p, uint64_t v)
{
	asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

/* A word that does not change while a kernel runs, so one load of it may be reused. */
GDA_HELPER uint32_t gda_fixed32(const uint32_t *p)
{
	uint32_t v;

	asm("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(p));
	return v;
}

GDA_HELPER uint64_t gda_fixed64(const uint64_t *p)
{
	uint64_t v;

	asm("ld.global.nc.u64 %0, [%1];" : "=l"(v) : "l"(p));
	return v;
}

/* Store one segment of an entry: 16 bytes, one store. */
GDA_HELPER void gda_store_segment(void *p, uint64_t first, uint64_t second)
{
	asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
		     ::"l"(p), "r"((uint32_t)first), "r"((uint32_t)(first >> 32)),
		       "r"((uint32_t)second), "r"((uint32_t)(second >> 32)) : "memory");
}

/* The same only if @on, without a branch. */
GDA_HELPER void gda_store_segment_if(uint32_t on, void *p, uint64_t first, uint64_t second)
{
	asm volatile("{\n\t.reg .pred on;\n\tsetp.ne.u32 on, %5, 0;\n\t"
		     "@on st.global.v4.u32 [%0], {%1, %2, %3, %4};\n\t}"
		     ::"l"(p), "r"((uint32_t)first), "r"((uint32_t)(first >> 32)),
		       "r"((uint32_t)second), "r"((uint32_t)(second >> 32)), "r"(on) : "memory");
}

GDA_HELPER uint64_t gda_clock_ns(void)
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
	return ns;
}

GDA_HELPER void gda_pause(void)
{
}

#else /* a CPU */

GDA_HELPER uint32_t gda_load_acquire32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

GDA_HELPER uint64_t gda_load_acquire64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

GDA_HELPER uint64_t gda_load_relaxed64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

GDA_HELPER void gda_store_relaxed64(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

GDA_HELPER void gda_store_release64(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

GDA_HELPER uint32_t gda_exchange32(uint32_t *p, uint32_t v)
{
	return __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL);
}

GDA_HELPER int gda_cas32(uint32_t *p, uint32_t old, uint32_t v)
{
	return __atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* On failure *@old becomes the value found. */
GDA_HELPER int gda_cas64(uint64_t *p, uint64_t *old, uint64_t v)
{
	return __atomic_compare_exchange_n(p, old, v, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

GDA_HELPER uint64_t gda_exchange64(uint64_t *p, uint64_t v)
{
	return __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL);
}

/* Release: a thread that acquires the sum sees what was done before. */
GDA_HELPER void gda_add64(uint64_t *p, uint64_t v)
{
	__atomic_fetch_add(p, v, __ATOMIC_RELEASE);
}

/* Raise *@p to @v unless it is that large already; relaxed. */
GDA_HELPER void gda_max64(uint64_t *p, uint64_t v)
{
	uint64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);

	while (old < v &&
	       !__atomic_compare_exchange_n(p, &old, v, 1, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

GDA_HELPER uint32_t gda_nic_load32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

GDA_HELPER uint64_t gda_nic_load64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

GDA_HELPER void gda_nic_store32(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

GDA_HELPER void gda_nic_store64(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

GDA_HELPER uint32_t gda_fixed32(const uint32_t *p)
{
	return *p;
}

GDA_HELPER uint64_t gda_fixed64(const uint64_t *p)
{
	return *p;
}

/* A vector register if there is one (SSE2, NEON), which GCC and Clang then use. */
typedef uint64_t gda_segment_t __attribute__((vector_size(16), may_alias));

/* Store one segment of an entry: 16 bytes, one store. */
GDA_HELPER void gda_store_segment(void *p, uint64_t first, uint64_t second)
{
	gda_segment_t segment = { first, second };

	*(gda_segment_t *)p = segment;
}

GDA_HELPER void gda_store_segment_if(uint32_t on, void *p, uint64_t first, uint64_t second)
{
	if (on)
		gda_store_segment(p, first, second);
}

/*
 * In strict C11, <time.h> has struct timespec, but neither the clock nor the function that reads
 * it.
 */
#ifdef CLOCK_MONOTONIC
#define GDA_CLOCK	CLOCK_MONOTONIC
#else
#define GDA_CLOCK	1
__attribute__((nothrow)) int clock_gettime(int clock, struct timespec *ts);
#endif

/**
 * gda_clock_ns - the clock of every deadline
 *
 * CLOCK_MONOTONIC on a CPU, without a system call where the vDSO can read the clock
 * source; the global timer on a GPU. A deadline is absolute: gda_clock_ns() + 1000000000 is one
 * second from now. Headers that post include it; after gda/gda.h, gda/comm.h or gda/dpa.h alone,
 * include gda/fastpath.h as well.
 *
 * Return: nanoseconds.
 */
GDA_HELPER uint64_t gda_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(GDA_CLOCK, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

/* Called between two loads of a word that another thread or a device will change. */
GDA_HELPER void gda_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif /* a CPU */

/*
 * A deadline that was this long past when a wait first read the clock was most likely meant to be
 * relative.
 */
#define GDA_LONG_AGO_NS	1000000000U

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_BARRIER_H */

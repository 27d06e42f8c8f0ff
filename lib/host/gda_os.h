/* SPDX-License-Identifier: MIT */
/*
 * The user-space side of the engine's shim: the names of kmod/gda_core/host/gda_os.h with the same
 * meaning, on C11 and the builtins of gcc and clang.
 *
 * The barriers order ordinary memory between CPU threads, as in the kernel. Types
 * of the width and byte order kind come from <linux/types.h>, as in uapi.
 */
#ifndef GDA_OS_H
#define GDA_OS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define __force
#define noinline	__attribute__((__noinline__))
#undef __always_inline
#define __always_inline	inline __attribute__((__always_inline__))

/* one access of exactly this width, which race detectors accept as intended */
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)

#define min(a, b)				\
	(__extension__ ({			\
		__typeof__(a) min_a = (a);	\
		__typeof__(b) min_b = (b);	\
		min_a < min_b ? min_a : min_b;	\
	}))

/* like the kernel's: the message is optional */
#undef static_assert
#define static_assert(expr, ...)	_Static_assert(expr, #expr)

#define smp_mb()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_wmb()	__atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_rmb()	__atomic_thread_fence(__ATOMIC_ACQUIRE)

#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)

/* No clamp is needed in user space: speculation reads only the process's own memory. */
static inline u64 gda_os_clamp(u64 index, u64 size)
{
	(void)size;
	return index;
}

static inline u64 gda_os_fetch_add64(u64 *p, u64 v)
{
	return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}

static inline u64 gda_os_cmpxchg64(u64 *p, u64 old, u64 new)
{
	__atomic_compare_exchange_n(p, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

static inline u32 gda_os_fetch_add32(u32 *p, u32 v)
{
	return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}

static inline u32 gda_os_cmpxchg32(u32 *p, u32 old, u32 new)
{
	__atomic_compare_exchange_n(p, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

#endif /* GDA_OS_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The kernel's side of the engine's shim: fixed-width types, once-only accesses,
 * ordering, byte order and atomics. lib/host/gda_os.h is the other side; both define
 * the same names with the same meaning.
 */
#ifndef GDA_OS_H
#define GDA_OS_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>

/*
 * Names that both sides define:
 *   u8 u16 u32 u64 bool, READ_ONCE WRITE_ONCE likely unlikely min noinline __always_inline
 *   smp_mb() smp_wmb() smp_rmb() smp_store_release() smp_load_acquire()
 *   memcpy memmove memset static_assert offsetof, the numbers of errno.h
 *   gda_os_fetch_add64 gda_os_cmpxchg64 (fully ordered, natural alignment,
 *   return the old value), gda_os_fetch_add32 gda_os_cmpxchg32
 *   gda_os_clamp(index, size): @index, or 0 if the processor speculates beyond @size
 */

static inline u64 gda_os_clamp(u64 index, u64 size)
{
	return array_index_nospec(index, size);
}

static inline u64 gda_os_fetch_add64(u64 *p, u64 v)
{
	return (u64)atomic64_fetch_add((s64)v, (atomic64_t *)p);
}

static inline u64 gda_os_cmpxchg64(u64 *p, u64 old, u64 new)
{
	return (u64)atomic64_cmpxchg((atomic64_t *)p, (s64)old, (s64)new);
}

static inline u32 gda_os_fetch_add32(u32 *p, u32 v)
{
	return (u32)atomic_fetch_add((int)v, (atomic_t *)p);
}

static inline u32 gda_os_cmpxchg32(u32 *p, u32 old, u32 new)
{
	return (u32)atomic_cmpxchg((atomic_t *)p, (int)old, (int)new);
}

#endif /* GDA_OS_H */

/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * How functions of the uAPI headers are declared, and casts that change the byte order of a type.
 * Included by them; for C99 and C++ alone, for C90 has no inline functions.
 */
#ifndef _UAPI_GDA_INLINE_H
#define _UAPI_GDA_INLINE_H

#include <linux/types.h>

#ifdef __CUDACC__
#define GDA_UAPI_INLINE static __host__ __device__ __forceinline__
#else
#define GDA_UAPI_INLINE static __inline__
#endif

#ifdef __CHECKER__
#define GDA_UAPI_FORCE __attribute__((force))
#else
#define GDA_UAPI_FORCE
#endif

#endif /* _UAPI_GDA_INLINE_H */

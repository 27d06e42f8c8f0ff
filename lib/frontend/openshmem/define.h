/* SPDX-License-Identifier: MIT */
/*
 * Defines functions from the lists of shmem_list.h. The code has the pshmem_ name; shmem_ is a weak
 * alias, so that a tool may define it and call pshmem_. For each operation of a list the including
 * file defines GDA_OSH_DO_<operation>(T): statements in which parameters have their names of the
 * list, and ctx is the context.
 */
#ifndef GDA_OSH_DEFINE_H
#define GDA_OSH_DEFINE_H

#include "osh.h"

#define GDA_OSH_WEAK(name) \
	extern __typeof__(pshmem_##name) shmem_##name \
		__attribute__((weak, alias("pshmem_" #name), visibility("default")));
#define GDA_OSH_WEAK_CALL(ret, name, P, A)	GDA_OSH_WEAK(name)

#define GDA_OSH_DEFINE(ret, name, op, T, P, A) \
	GDA_OSH_PUBLIC ret pshmem_##name P \
	{ \
		GDA_OSH_DO_##op(T); \
	} \
	GDA_OSH_WEAK(name)
#define GDA_OSH_DEFINE_CTX(ret, name, op, T, P, A) \
	GDA_OSH_PUBLIC ret pshmem_##name P \
	{ \
		const shmem_ctx_t ctx = SHMEM_CTX_DEFAULT; \
		GDA_OSH_DO_##op(T); \
	} \
	GDA_OSH_WEAK(name) \
	GDA_OSH_PUBLIC ret pshmem_ctx_##name(shmem_ctx_t ctx, GDA_OSH_BARE P) \
	{ \
		GDA_OSH_DO_##op(T); \
	} \
	GDA_OSH_WEAK(ctx_##name)

#endif /* GDA_OSH_DEFINE_H */

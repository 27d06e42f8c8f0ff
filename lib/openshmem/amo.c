// SPDX-License-Identifier: MIT
/*
 * Atomics: those of this processor, on the mapped word. A floating-point word is fetched,
 * set and swapped as the integer of its size.
 */
#include "define.h"
#include "way.h"

#define GDA_OSH_WORD(addr, T) \
	((T *)gda_osh_at(GDA_OSH_CALL_NAME, addr, sizeof(T), GDA_OSH_PE(ctx, pe)))

#define GDA_OSH_DO_atomic_fetch(T) \
	T old; \
	__atomic_load(GDA_OSH_WORD(source, T), &old, __ATOMIC_ACQUIRE); \
	return old
#define GDA_OSH_DO_atomic_set(T) \
	__atomic_store(GDA_OSH_WORD(dest, T), &value, __ATOMIC_RELEASE)
#define GDA_OSH_DO_atomic_swap(T) \
	T old; \
	__atomic_exchange(GDA_OSH_WORD(dest, T), &value, &old, __ATOMIC_ACQ_REL); \
	return old
#define GDA_OSH_DO_atomic_compare_swap(T) \
	__atomic_compare_exchange_n(GDA_OSH_WORD(dest, T), &cond, value, 0, __ATOMIC_ACQ_REL, \
				    __ATOMIC_ACQUIRE); \
	return cond
#define GDA_OSH_RMW(op, operand, T) \
	__atomic_fetch_##op(GDA_OSH_WORD(dest, T), operand, __ATOMIC_ACQ_REL)
#define GDA_OSH_DO_atomic_fetch_inc(T)	return GDA_OSH_RMW(add, 1, T)
#define GDA_OSH_DO_atomic_fetch_add(T)	return GDA_OSH_RMW(add, value, T)
#define GDA_OSH_DO_atomic_fetch_and(T)	return GDA_OSH_RMW(and, value, T)
#define GDA_OSH_DO_atomic_fetch_or(T)	return GDA_OSH_RMW(or, value, T)
#define GDA_OSH_DO_atomic_fetch_xor(T)	return GDA_OSH_RMW(xor, value, T)
#define GDA_OSH_DO_atomic_inc(T)	GDA_OSH_RMW(add, 1, T)
#define GDA_OSH_DO_atomic_add(T)	GDA_OSH_RMW(add, value, T)
#define GDA_OSH_DO_atomic_and(T)	GDA_OSH_RMW(and, value, T)
#define GDA_OSH_DO_atomic_or(T)		GDA_OSH_RMW(or, value, T)
#define GDA_OSH_DO_atomic_xor(T)	GDA_OSH_RMW(xor, value, T)

/* The word that takes the old value is written before the call returns. */
#define GDA_OSH_DO_atomic_fetch_nbi(T) \
	T old; \
	__atomic_load(GDA_OSH_WORD(source, T), &old, __ATOMIC_ACQUIRE); \
	*fetch = old
#define GDA_OSH_DO_atomic_swap_nbi(T) \
	T old; \
	__atomic_exchange(GDA_OSH_WORD(dest, T), &value, &old, __ATOMIC_ACQ_REL); \
	*fetch = old
#define GDA_OSH_DO_atomic_compare_swap_nbi(T) \
	__atomic_compare_exchange_n(GDA_OSH_WORD(dest, T), &cond, value, 0, __ATOMIC_ACQ_REL, \
				    __ATOMIC_ACQUIRE); \
	*fetch = cond
#define GDA_OSH_DO_atomic_fetch_inc_nbi(T)	*fetch = GDA_OSH_RMW(add, 1, T)
#define GDA_OSH_DO_atomic_fetch_add_nbi(T)	*fetch = GDA_OSH_RMW(add, value, T)
#define GDA_OSH_DO_atomic_fetch_and_nbi(T)	*fetch = GDA_OSH_RMW(and, value, T)
#define GDA_OSH_DO_atomic_fetch_or_nbi(T)	*fetch = GDA_OSH_RMW(or, value, T)
#define GDA_OSH_DO_atomic_fetch_xor_nbi(T)	*fetch = GDA_OSH_RMW(xor, value, T)

GDA_OSH_AMO_CTX(GDA_OSH_DEFINE_CTX)

/* The names before 1.4, which have no form with a context. */
#define GDA_OSH_OLD(T, new) \
	const shmem_ctx_t ctx = SHMEM_CTX_DEFAULT; \
	GDA_OSH_DO_atomic_##new(T)
#define GDA_OSH_DO_fetch(T)	GDA_OSH_OLD(T, fetch)
#define GDA_OSH_DO_set(T)	GDA_OSH_OLD(T, set)
#define GDA_OSH_DO_swap(T)	GDA_OSH_OLD(T, swap)
#define GDA_OSH_DO_cswap(T)	GDA_OSH_OLD(T, compare_swap)
#define GDA_OSH_DO_finc(T)	GDA_OSH_OLD(T, fetch_inc)
#define GDA_OSH_DO_fadd(T)	GDA_OSH_OLD(T, fetch_add)
#define GDA_OSH_DO_inc(T)	GDA_OSH_OLD(T, inc)
#define GDA_OSH_DO_add(T)	GDA_OSH_OLD(T, add)

GDA_OSH_OLD_AMO(GDA_OSH_DEFINE)

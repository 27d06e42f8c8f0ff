// SPDX-License-Identifier: MIT
/*
 * Atomics: by this processor on the mapped word, or by one work request. Floating-point words are
 * fetched, set and swapped as integers of the same size.
 */
#include "define.h"
#include "reach.h"

/* The bits of a value of 4 or 8 bytes, and the value of bits. */
static inline uint64_t bits_of(const void *value, size_t bytes)
{
	uint64_t word;
	uint32_t half;

	memcpy(bytes == 8 ? (void *)&word : (void *)&half, value, bytes);
	return bytes == 8 ? word : half;
}

static inline void set_bits(void *value, uint64_t bits, size_t bytes)
{
	uint32_t half = (uint32_t)bits;

	memcpy(value, bytes == 8 ? (const void *)&bits : (const void *)&half, bytes);
}

/* The work request for @operation with @operand on the word @addr of type T at the PE. */
#define GDA_OSH_REQUEST(operation, addr, operand, T) \
	(&(const struct gda_osh_atomic) { \
		.word = (void *)(uintptr_t)(addr), .op = GDA_SHMEM_##operation, \
		.bytes = sizeof(T), .value = bits_of(&(operand), sizeof(T)), })
#define GDA_OSH_FIND(addr, T) \
	const int at_pe = GDA_OSH_PE(ctx, pe); \
	T *word = (T *)gda_osh_mapped(GDA_OSH_CALL_NAME, addr, sizeof(T), at_pe)

/* @direct stores the old value in old. */
#define GDA_OSH_FETCH(direct, operation, addr, operand, T) \
	T old; \
	GDA_OSH_FIND(addr, T); \
	if (gda_osh_likely(word)) \
		direct; \
	else \
		set_bits(&old, gda_osh_queue_fetch(GDA_OSH_CALL_NAME, \
						   GDA_OSH_REQUEST(operation, addr, operand, T), \
						   at_pe), sizeof(T))
#define GDA_OSH_CHANGE(direct, operation, operand, T) \
	GDA_OSH_FIND(dest, T); \
	if (gda_osh_likely(word)) \
		direct; \
	else \
		gda_osh_queue_change(GDA_OSH_CALL_NAME, \
				     GDA_OSH_REQUEST(operation, dest, operand, T), at_pe)

#define GDA_OSH_RMW(op, operand) \
	__atomic_fetch_##op(word, operand, __ATOMIC_ACQ_REL)
#define GDA_OSH_FETCH_RMW(op, operation, operand, T) \
	GDA_OSH_FETCH(old = GDA_OSH_RMW(op, operand), operation, dest, operand, T)
#define GDA_OSH_CHANGE_RMW(op, operation, operand, T) \
	GDA_OSH_CHANGE((void)GDA_OSH_RMW(op, operand), operation, operand, T)
#define GDA_OSH_ADD(operand, T) \
	const int at_pe = GDA_OSH_PE(ctx, pe); \
	const struct gda_shmem_peer *p = gda_osh_peer(GDA_OSH_CALL_NAME, dest, sizeof(T), at_pe); \
	T *word; \
	if (gda_osh_likely(p->heap)) { \
		word = (T *)gda_osh_mapped_of(GDA_OSH_CALL_NAME, p, dest, sizeof(T), at_pe); \
		(void)GDA_OSH_RMW(add, operand); \
	} else if (sizeof(T) == sizeof(uint64_t)) \
		gda_osh_queue_add64(GDA_OSH_CALL_NAME, (uint64_t *)dest, (uint64_t)(operand), \
				    at_pe); \
	else \
		gda_osh_queue_change(GDA_OSH_CALL_NAME, GDA_OSH_REQUEST(ADD, dest, operand, T), \
				     at_pe)
#define GDA_OSH_LOAD(T) \
	const T none = 0; \
	GDA_OSH_FETCH(__atomic_load(word, &old, __ATOMIC_ACQUIRE), FETCH, source, none, T)
#define GDA_OSH_SWAP(T) \
	GDA_OSH_FETCH(__atomic_exchange(word, &value, &old, __ATOMIC_ACQ_REL), SWAP, dest, \
		      value, T)
#define GDA_OSH_COMPARE_SWAP(T) \
	GDA_OSH_FIND(dest, T); \
	if (gda_osh_likely(word)) \
		__atomic_compare_exchange_n(word, &cond, value, 0, __ATOMIC_ACQ_REL, \
					    __ATOMIC_ACQUIRE); \
	else \
		cond = (T)gda_osh_queue_compare_swap(GDA_OSH_CALL_NAME, \
						     GDA_OSH_REQUEST(SWAP, dest, value, T), \
						     bits_of(&cond, sizeof(T)), at_pe)
#define GDA_OSH_INC(T) \
	const T one = 1; \
	GDA_OSH_FETCH_RMW(add, ADD, one, T)

#define GDA_OSH_DO_atomic_fetch(T)		GDA_OSH_LOAD(T); return old
#define GDA_OSH_DO_atomic_set(T) \
	GDA_OSH_CHANGE(__atomic_store(word, &value, __ATOMIC_RELEASE), SET, value, T)
#define GDA_OSH_DO_atomic_swap(T)		GDA_OSH_SWAP(T); return old
#define GDA_OSH_DO_atomic_compare_swap(T)	GDA_OSH_COMPARE_SWAP(T); return cond
#define GDA_OSH_DO_atomic_fetch_inc(T)		GDA_OSH_INC(T); return old
#define GDA_OSH_DO_atomic_fetch_add(T)		GDA_OSH_FETCH_RMW(add, ADD, value, T); return old
#define GDA_OSH_DO_atomic_fetch_and(T)		GDA_OSH_FETCH_RMW(and, AND, value, T); return old
#define GDA_OSH_DO_atomic_fetch_or(T)		GDA_OSH_FETCH_RMW(or, OR, value, T); return old
#define GDA_OSH_DO_atomic_fetch_xor(T)		GDA_OSH_FETCH_RMW(xor, XOR, value, T); return old
#define GDA_OSH_DO_atomic_inc(T) \
	const T one = 1; \
	GDA_OSH_ADD(one, T)
#define GDA_OSH_DO_atomic_add(T)		GDA_OSH_ADD(value, T)
#define GDA_OSH_DO_atomic_and(T)		GDA_OSH_CHANGE_RMW(and, AND, value, T)
#define GDA_OSH_DO_atomic_or(T)			GDA_OSH_CHANGE_RMW(or, OR, value, T)
#define GDA_OSH_DO_atomic_xor(T)		GDA_OSH_CHANGE_RMW(xor, XOR, value, T)

/* The word that receives the old value is written before the call returns. */
#define GDA_OSH_DO_atomic_fetch_nbi(T)		GDA_OSH_LOAD(T); *fetch = old
#define GDA_OSH_DO_atomic_swap_nbi(T)		GDA_OSH_SWAP(T); *fetch = old
#define GDA_OSH_DO_atomic_compare_swap_nbi(T)	GDA_OSH_COMPARE_SWAP(T); *fetch = cond
#define GDA_OSH_DO_atomic_fetch_inc_nbi(T)	GDA_OSH_INC(T); *fetch = old
#define GDA_OSH_DO_atomic_fetch_add_nbi(T)	GDA_OSH_FETCH_RMW(add, ADD, value, T); *fetch = old
#define GDA_OSH_DO_atomic_fetch_and_nbi(T)	GDA_OSH_FETCH_RMW(and, AND, value, T); *fetch = old
#define GDA_OSH_DO_atomic_fetch_or_nbi(T)	GDA_OSH_FETCH_RMW(or, OR, value, T); *fetch = old
#define GDA_OSH_DO_atomic_fetch_xor_nbi(T)	GDA_OSH_FETCH_RMW(xor, XOR, value, T); *fetch = old

GDA_OSH_AMO_CTX(GDA_OSH_DEFINE_CTX)

/* Names of before 1.4, which have no form with a context. */
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

// SPDX-License-Identifier: MIT
/*
 * Each atomic: once at the next PE, where its result is known; those that add also at PE 0
 * by all at a time, where none may be lost.
 */
#include "every.h"

#define ROUNDS	(every_short ? 2 : 50)

/* A word at each PE, set to what is known, and one for the old value. */
#define EVERY_WORD(T) \
	T *word = every_memory(0); \
	*word = V(T, me, 0); \
	shmem_barrier_all()

#define EVERY_atomic_fetch(T, f) \
	EVERY_WORD(T); \
	EXPECT(f(word, next) == V(T, next, 0)); \
	shmem_barrier_all()
#define EVERY_atomic_fetch_nbi(T, f) \
	T old = 0; \
	EVERY_WORD(T); \
	f(&old, word, next); \
	shmem_quiet(); \
	shmem_ctx_quiet(every_ctx); \
	EXPECT(old == V(T, next, 0)); \
	shmem_barrier_all()
#define EVERY_atomic_set(T, f) \
	EVERY_WORD(T); \
	f(word, V(T, me, 5), next); \
	shmem_barrier_all(); \
	EXPECT(*word == V(T, prev, 5))

/* @statement does an operation at the next PE that makes the word @after. */
#define EVERY_CHANGE(T, statement, after) \
	EVERY_WORD(T); \
	statement; \
	shmem_barrier_all(); \
	EXPECT(*word == (T)(after)); \
	shmem_barrier_all()
#define EVERY_FETCHING(T, statement, after) \
	T old = 0; \
	EVERY_CHANGE(T, statement; shmem_quiet(); shmem_ctx_quiet(every_ctx); \
		     EXPECT(old == V(T, next, 0)), after)
#define EVERY_VALUE(T)	V(T, me, 5)
#define EVERY_THEIRS(T)	V(T, prev, 5)
#define EVERY_OLD(T)	V(T, me, 0)

#define EVERY_atomic_swap(T, f) \
	EVERY_FETCHING(T, old = f(word, EVERY_VALUE(T), next), EVERY_THEIRS(T))
#define EVERY_atomic_swap_nbi(T, f) \
	EVERY_FETCHING(T, f(&old, word, EVERY_VALUE(T), next), EVERY_THEIRS(T))

/* Once with the right condition, and then with a wrong one. */
#define EVERY_atomic_compare_swap(T, f) \
	EVERY_FETCHING(T, old = f(word, V(T, next, 0), EVERY_VALUE(T), next), EVERY_THEIRS(T)); \
	EXPECT(f(word, (T)(EVERY_VALUE(T) + 1), 0, next) == EVERY_VALUE(T)); \
	shmem_barrier_all(); \
	EXPECT(*word == EVERY_THEIRS(T))
#define EVERY_atomic_compare_swap_nbi(T, f) \
	EVERY_FETCHING(T, f(&old, word, V(T, next, 0), EVERY_VALUE(T), next), EVERY_THEIRS(T)); \
	f(&old, word, (T)(EVERY_VALUE(T) + 1), 0, next); \
	shmem_barrier_all(); \
	shmem_ctx_quiet(every_ctx); \
	EXPECT(old == EVERY_VALUE(T) && *word == EVERY_THEIRS(T))

#define EVERY_RMW(op, T, f) \
	EVERY_CHANGE(T, f(word, EVERY_VALUE(T), next), EVERY_OLD(T) op EVERY_THEIRS(T))
#define EVERY_FETCH_RMW(op, T, f) \
	EVERY_FETCHING(T, old = f(word, EVERY_VALUE(T), next), EVERY_OLD(T) op EVERY_THEIRS(T))
#define EVERY_FETCH_RMW_NBI(op, T, f) \
	EVERY_FETCHING(T, f(&old, word, EVERY_VALUE(T), next), EVERY_OLD(T) op EVERY_THEIRS(T))

/* All add at PE 0, @each by @statement in each round; if short, by the function's first name. */
#define EVERY_CONTENDED(T, statement, each) \
	do { \
		T want = V(T, 0, 0); \
		int i; \
		\
		if (every_short && way != PLAIN) \
			break; \
		*word = want; \
		shmem_barrier_all(); \
		for (i = 0; i < ROUNDS; i++) \
			statement; \
		for (i = 0; i < npes; i++) \
			want = (T)(want + ROUNDS * (each)); \
		shmem_ctx_quiet(every_ctx); \
		shmem_barrier_all(); \
		EXPECT(me || *word == want); \
		shmem_barrier_all(); \
	} while (0)

#define EVERY_atomic_add(T, f) \
	EVERY_RMW(+, T, f); \
	EVERY_CONTENDED(T, f(word, (T)(me + 1), 0), i + 1)
#define EVERY_atomic_fetch_add(T, f) \
	EVERY_FETCH_RMW(+, T, f); \
	EVERY_CONTENDED(T, (void)f(word, (T)(me + 1), 0), i + 1)
#define EVERY_atomic_fetch_add_nbi(T, f) \
	EVERY_FETCH_RMW_NBI(+, T, f); \
	EVERY_CONTENDED(T, f(&old, word, (T)(me + 1), 0), i + 1)
#define EVERY_atomic_inc(T, f) \
	EVERY_CHANGE(T, f(word, next), EVERY_OLD(T) + 1); \
	EVERY_CONTENDED(T, f(word, 0), 1)
#define EVERY_atomic_fetch_inc(T, f) \
	EVERY_FETCHING(T, old = f(word, next), EVERY_OLD(T) + 1); \
	EVERY_CONTENDED(T, (void)f(word, 0), 1)
#define EVERY_atomic_fetch_inc_nbi(T, f) \
	EVERY_FETCHING(T, f(&old, word, next), EVERY_OLD(T) + 1); \
	EVERY_CONTENDED(T, f(&old, word, 0), 1)

#define EVERY_atomic_and(T, f)			EVERY_RMW(&, T, f)
#define EVERY_atomic_fetch_and(T, f)		EVERY_FETCH_RMW(&, T, f)
#define EVERY_atomic_fetch_and_nbi(T, f)	EVERY_FETCH_RMW_NBI(&, T, f)
#define EVERY_atomic_or(T, f)			EVERY_RMW(|, T, f)
#define EVERY_atomic_fetch_or(T, f)		EVERY_FETCH_RMW(|, T, f)
#define EVERY_atomic_fetch_or_nbi(T, f)		EVERY_FETCH_RMW_NBI(|, T, f)
#define EVERY_atomic_xor(T, f)			EVERY_RMW(^, T, f)
#define EVERY_atomic_fetch_xor(T, f)		EVERY_FETCH_RMW(^, T, f)
#define EVERY_atomic_fetch_xor_nbi(T, f)	EVERY_FETCH_RMW_NBI(^, T, f)

GDA_OSH_AMO_CTX(EVERY_CTX)

#define EVERY_fetch	EVERY_atomic_fetch
#define EVERY_set	EVERY_atomic_set
#define EVERY_swap	EVERY_atomic_swap
#define EVERY_cswap	EVERY_atomic_compare_swap
#define EVERY_finc	EVERY_atomic_fetch_inc
#define EVERY_fadd	EVERY_atomic_fetch_add
#define EVERY_inc	EVERY_atomic_inc
#define EVERY_add	EVERY_atomic_add

GDA_OSH_OLD_AMO(EVERY)

void every_atomic(void)
{
	GDA_OSH_AMO_CTX(EVERY_RUN)
	GDA_OSH_OLD_AMO(EVERY_RUN)
}

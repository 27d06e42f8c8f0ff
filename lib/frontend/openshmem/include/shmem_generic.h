/* SPDX-License-Identifier: MIT */
/*
 * OpenSHMEM's calls without a type in their name: shmem_put() for shmem_int_put() and so on, by
 * _Generic in C11 and by overloads in C++. The number of arguments tells whether a call has a
 * context.
 */
#ifndef SHMEM_GENERIC_H
#define SHMEM_GENERIC_H

#ifdef __cplusplus

#define GDA_OSH_OVERLOAD(ret, name, op, T, P, A) \
	inline ret shmem_##op P { return shmem_##name A; }
#define GDA_OSH_OVERLOAD_CTX(ret, name, op, T, P, A) \
	GDA_OSH_OVERLOAD(ret, name, op, T, P, A) \
	inline ret shmem_##op(shmem_ctx_t ctx, GDA_OSH_BARE P) \
	{ return shmem_ctx_##name(ctx, GDA_OSH_BARE A); }

GDA_OSH_RMA_C11(GDA_OSH_RMA_OF_TYPE, GDA_OSH_OVERLOAD_CTX)
GDA_OSH_AMO_C11(GDA_OSH_AMO_OF_EXTENDED, GDA_OSH_OVERLOAD_CTX)
GDA_OSH_FLOAT_TYPES(GDA_OSH_AMO_OF_EXTENDED, GDA_OSH_OVERLOAD_CTX)
GDA_OSH_AMO_C11(GDA_OSH_AMO_OF_STANDARD, GDA_OSH_OVERLOAD_CTX)
GDA_OSH_BIT_C11(GDA_OSH_AMO_OF_BITWISE, GDA_OSH_OVERLOAD_CTX)
GDA_OSH_AMO_C11(GDA_OSH_OLD_AMO_OF_EXTENDED, GDA_OSH_OVERLOAD)
GDA_OSH_FLOAT_TYPES(GDA_OSH_OLD_AMO_OF_EXTENDED, GDA_OSH_OVERLOAD)
GDA_OSH_AMO_C11(GDA_OSH_OLD_AMO_OF_STANDARD, GDA_OSH_OVERLOAD)
GDA_OSH_AMO_C11(GDA_OSH_P2P_OF_TYPE, GDA_OSH_OVERLOAD)
GDA_OSH_P2P_OF_TYPE(GDA_OSH_OVERLOAD, short, short)
GDA_OSH_P2P_OF_TYPE(GDA_OSH_OVERLOAD, ushort, unsigned short)
GDA_OSH_RMA_C11(GDA_OSH_COLL_OF_TYPE, GDA_OSH_OVERLOAD)
GDA_OSH_REDUCE_BIT_C11(GDA_OSH_REDUCE_OF_BIT, GDA_OSH_OVERLOAD)
GDA_OSH_RMA_C11(GDA_OSH_REDUCE_OF_ORDER, GDA_OSH_OVERLOAD)
GDA_OSH_RMA_C11(GDA_OSH_REDUCE_OF_ALL, GDA_OSH_OVERLOAD)
GDA_OSH_COMPLEX_TYPES(GDA_OSH_REDUCE_OF_ALL, GDA_OSH_OVERLOAD)

inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

#define GDA_OSH_NARGS_(a, b, c, d, e, f, g, h, n, ...)	n
#define GDA_OSH_NARGS(...)	GDA_OSH_NARGS_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define GDA_OSH_PASTE_(a, b)	a##b
#define GDA_OSH_PASTE(a, b)	GDA_OSH_PASTE_(a, b)

/* Select the function for the type that p points to, among the types of a list. */
#define GDA_OSH_CASE(X, N, T)	, T: GDA_OSH_CASE_##X(N)
#define GDA_OSH_PICK(p, TYPES, X)	_Generic(*(p) TYPES(GDA_OSH_CASE, X))

/* A call with n arguments, or n + 1 with a context; the pointer is the first after that. */
#define GDA_OSH_CALL(n, TYPES, op, ...) \
	GDA_OSH_PASTE(GDA_OSH_CALL_, GDA_OSH_PASTE(n, GDA_OSH_NARGS(__VA_ARGS__))) \
	(TYPES, op, __VA_ARGS__)
#define GDA_OSH_PLAIN(TYPES, op, p, ...)	GDA_OSH_PICK(p, TYPES, op)(p, __VA_ARGS__)
#define GDA_OSH_CTX(TYPES, op, c, p, ...) \
	GDA_OSH_PICK(p, TYPES, ctx_##op)(c, p, __VA_ARGS__)
#define GDA_OSH_CALL_22	GDA_OSH_PLAIN
#define GDA_OSH_CALL_23	GDA_OSH_CTX
#define GDA_OSH_CALL_33	GDA_OSH_PLAIN
#define GDA_OSH_CALL_34	GDA_OSH_CTX
#define GDA_OSH_CALL_44	GDA_OSH_PLAIN
#define GDA_OSH_CALL_45	GDA_OSH_CTX
#define GDA_OSH_CALL_55	GDA_OSH_PLAIN
#define GDA_OSH_CALL_56	GDA_OSH_CTX
#define GDA_OSH_CALL_66	GDA_OSH_PLAIN
#define GDA_OSH_CALL_67	GDA_OSH_CTX
#define GDA_OSH_CALL_77	GDA_OSH_PLAIN
#define GDA_OSH_CALL_78	GDA_OSH_CTX
/* A call for a team: the pointer is the second argument. */
#define GDA_OSH_TEAM(TYPES, op, t, p, ...)	GDA_OSH_PICK(p, TYPES, op)(t, p, __VA_ARGS__)

/* The types among which _Generic selects. */
#define GDA_OSH_EXTENDED_C11(F, X)	GDA_OSH_AMO_C11(F, X) GDA_OSH_FLOAT_TYPES(F, X)
#define GDA_OSH_P2P_C11(F, X) \
	GDA_OSH_AMO_C11(F, X) F(X, short, short) F(X, ushort, unsigned short)
#define GDA_OSH_ALL_C11(F, X)	GDA_OSH_RMA_C11(F, X) GDA_OSH_COMPLEX_TYPES(F, X)

/* RMA */
#define GDA_OSH_CASE_put(N)	shmem_##N##_put
#define GDA_OSH_CASE_ctx_put(N)	shmem_ctx_##N##_put
#define shmem_put(...)	GDA_OSH_CALL(4, GDA_OSH_RMA_C11, put, __VA_ARGS__)
#define GDA_OSH_CASE_get(N)	shmem_##N##_get
#define GDA_OSH_CASE_ctx_get(N)	shmem_ctx_##N##_get
#define shmem_get(...)	GDA_OSH_CALL(4, GDA_OSH_RMA_C11, get, __VA_ARGS__)
#define GDA_OSH_CASE_put_nbi(N)	shmem_##N##_put_nbi
#define GDA_OSH_CASE_ctx_put_nbi(N)	shmem_ctx_##N##_put_nbi
#define shmem_put_nbi(...)	GDA_OSH_CALL(4, GDA_OSH_RMA_C11, put_nbi, __VA_ARGS__)
#define GDA_OSH_CASE_get_nbi(N)	shmem_##N##_get_nbi
#define GDA_OSH_CASE_ctx_get_nbi(N)	shmem_ctx_##N##_get_nbi
#define shmem_get_nbi(...)	GDA_OSH_CALL(4, GDA_OSH_RMA_C11, get_nbi, __VA_ARGS__)
#define GDA_OSH_CASE_iput(N)	shmem_##N##_iput
#define GDA_OSH_CASE_ctx_iput(N)	shmem_ctx_##N##_iput
#define shmem_iput(...)	GDA_OSH_CALL(6, GDA_OSH_RMA_C11, iput, __VA_ARGS__)
#define GDA_OSH_CASE_iget(N)	shmem_##N##_iget
#define GDA_OSH_CASE_ctx_iget(N)	shmem_ctx_##N##_iget
#define shmem_iget(...)	GDA_OSH_CALL(6, GDA_OSH_RMA_C11, iget, __VA_ARGS__)
#define GDA_OSH_CASE_p(N)	shmem_##N##_p
#define GDA_OSH_CASE_ctx_p(N)	shmem_ctx_##N##_p
#define shmem_p(...)	GDA_OSH_CALL(3, GDA_OSH_RMA_C11, p, __VA_ARGS__)
#define GDA_OSH_CASE_g(N)	shmem_##N##_g
#define GDA_OSH_CASE_ctx_g(N)	shmem_ctx_##N##_g
#define shmem_g(...)	GDA_OSH_CALL(2, GDA_OSH_RMA_C11, g, __VA_ARGS__)
#define GDA_OSH_CASE_put_signal(N)	shmem_##N##_put_signal
#define GDA_OSH_CASE_ctx_put_signal(N)	shmem_ctx_##N##_put_signal
#define shmem_put_signal(...)	GDA_OSH_CALL(7, GDA_OSH_RMA_C11, put_signal, __VA_ARGS__)
#define GDA_OSH_CASE_put_signal_nbi(N)	shmem_##N##_put_signal_nbi
#define GDA_OSH_CASE_ctx_put_signal_nbi(N)	shmem_ctx_##N##_put_signal_nbi
#define shmem_put_signal_nbi(...) \
	GDA_OSH_CALL(7, GDA_OSH_RMA_C11, put_signal_nbi, __VA_ARGS__)

/* atomics */
#define GDA_OSH_CASE_atomic_fetch(N)	shmem_##N##_atomic_fetch
#define GDA_OSH_CASE_ctx_atomic_fetch(N)	shmem_ctx_##N##_atomic_fetch
#define shmem_atomic_fetch(...)	GDA_OSH_CALL(2, GDA_OSH_EXTENDED_C11, atomic_fetch, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_set(N)	shmem_##N##_atomic_set
#define GDA_OSH_CASE_ctx_atomic_set(N)	shmem_ctx_##N##_atomic_set
#define shmem_atomic_set(...)	GDA_OSH_CALL(3, GDA_OSH_EXTENDED_C11, atomic_set, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_swap(N)	shmem_##N##_atomic_swap
#define GDA_OSH_CASE_ctx_atomic_swap(N)	shmem_ctx_##N##_atomic_swap
#define shmem_atomic_swap(...)	GDA_OSH_CALL(3, GDA_OSH_EXTENDED_C11, atomic_swap, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_fetch_nbi(N)	shmem_##N##_atomic_fetch_nbi
#define GDA_OSH_CASE_ctx_atomic_fetch_nbi(N)	shmem_ctx_##N##_atomic_fetch_nbi
#define shmem_atomic_fetch_nbi(...) \
	GDA_OSH_CALL(3, GDA_OSH_EXTENDED_C11, atomic_fetch_nbi, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_swap_nbi(N)	shmem_##N##_atomic_swap_nbi
#define GDA_OSH_CASE_ctx_atomic_swap_nbi(N)	shmem_ctx_##N##_atomic_swap_nbi
#define shmem_atomic_swap_nbi(...) \
	GDA_OSH_CALL(4, GDA_OSH_EXTENDED_C11, atomic_swap_nbi, __VA_ARGS__)

/* atomics of integers */
#define GDA_OSH_CASE_atomic_compare_swap(N)	shmem_##N##_atomic_compare_swap
#define GDA_OSH_CASE_ctx_atomic_compare_swap(N)	shmem_ctx_##N##_atomic_compare_swap
#define shmem_atomic_compare_swap(...) \
	GDA_OSH_CALL(4, GDA_OSH_AMO_C11, atomic_compare_swap, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_compare_swap_nbi(N)	shmem_##N##_atomic_compare_swap_nbi
#define GDA_OSH_CASE_ctx_atomic_compare_swap_nbi(N)	shmem_ctx_##N##_atomic_compare_swap_nbi
#define shmem_atomic_compare_swap_nbi(...) \
	GDA_OSH_CALL(5, GDA_OSH_AMO_C11, atomic_compare_swap_nbi, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_fetch_inc(N)	shmem_##N##_atomic_fetch_inc
#define GDA_OSH_CASE_ctx_atomic_fetch_inc(N)	shmem_ctx_##N##_atomic_fetch_inc
#define shmem_atomic_fetch_inc(...) \
	GDA_OSH_CALL(2, GDA_OSH_AMO_C11, atomic_fetch_inc, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_fetch_inc_nbi(N)	shmem_##N##_atomic_fetch_inc_nbi
#define GDA_OSH_CASE_ctx_atomic_fetch_inc_nbi(N)	shmem_ctx_##N##_atomic_fetch_inc_nbi
#define shmem_atomic_fetch_inc_nbi(...) \
	GDA_OSH_CALL(3, GDA_OSH_AMO_C11, atomic_fetch_inc_nbi, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_inc(N)	shmem_##N##_atomic_inc
#define GDA_OSH_CASE_ctx_atomic_inc(N)	shmem_ctx_##N##_atomic_inc
#define shmem_atomic_inc(...)	GDA_OSH_CALL(2, GDA_OSH_AMO_C11, atomic_inc, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_fetch_add(N)	shmem_##N##_atomic_fetch_add
#define GDA_OSH_CASE_ctx_atomic_fetch_add(N)	shmem_ctx_##N##_atomic_fetch_add
#define shmem_atomic_fetch_add(...) \
	GDA_OSH_CALL(3, GDA_OSH_AMO_C11, atomic_fetch_add, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_fetch_add_nbi(N)	shmem_##N##_atomic_fetch_add_nbi
#define GDA_OSH_CASE_ctx_atomic_fetch_add_nbi(N)	shmem_ctx_##N##_atomic_fetch_add_nbi
#define shmem_atomic_fetch_add_nbi(...) \
	GDA_OSH_CALL(4, GDA_OSH_AMO_C11, atomic_fetch_add_nbi, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_add(N)	shmem_##N##_atomic_add
#define GDA_OSH_CASE_ctx_atomic_add(N)	shmem_ctx_##N##_atomic_add
#define shmem_atomic_add(...)	GDA_OSH_CALL(3, GDA_OSH_AMO_C11, atomic_add, __VA_ARGS__)

/* atomics of bits */
#define GDA_OSH_CASE_atomic_fetch_and(N)	shmem_##N##_atomic_fetch_and
#define GDA_OSH_CASE_ctx_atomic_fetch_and(N)	shmem_ctx_##N##_atomic_fetch_and
#define shmem_atomic_fetch_and(...) \
	GDA_OSH_CALL(3, GDA_OSH_BIT_C11, atomic_fetch_and, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_fetch_and_nbi(N)	shmem_##N##_atomic_fetch_and_nbi
#define GDA_OSH_CASE_ctx_atomic_fetch_and_nbi(N)	shmem_ctx_##N##_atomic_fetch_and_nbi
#define shmem_atomic_fetch_and_nbi(...) \
	GDA_OSH_CALL(4, GDA_OSH_BIT_C11, atomic_fetch_and_nbi, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_and(N)	shmem_##N##_atomic_and
#define GDA_OSH_CASE_ctx_atomic_and(N)	shmem_ctx_##N##_atomic_and
#define shmem_atomic_and(...)	GDA_OSH_CALL(3, GDA_OSH_BIT_C11, atomic_and, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_fetch_or(N)	shmem_##N##_atomic_fetch_or
#define GDA_OSH_CASE_ctx_atomic_fetch_or(N)	shmem_ctx_##N##_atomic_fetch_or
#define shmem_atomic_fetch_or(...) \
	GDA_OSH_CALL(3, GDA_OSH_BIT_C11, atomic_fetch_or, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_fetch_or_nbi(N)	shmem_##N##_atomic_fetch_or_nbi
#define GDA_OSH_CASE_ctx_atomic_fetch_or_nbi(N)	shmem_ctx_##N##_atomic_fetch_or_nbi
#define shmem_atomic_fetch_or_nbi(...) \
	GDA_OSH_CALL(4, GDA_OSH_BIT_C11, atomic_fetch_or_nbi, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_or(N)	shmem_##N##_atomic_or
#define GDA_OSH_CASE_ctx_atomic_or(N)	shmem_ctx_##N##_atomic_or
#define shmem_atomic_or(...)	GDA_OSH_CALL(3, GDA_OSH_BIT_C11, atomic_or, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_fetch_xor(N)	shmem_##N##_atomic_fetch_xor
#define GDA_OSH_CASE_ctx_atomic_fetch_xor(N)	shmem_ctx_##N##_atomic_fetch_xor
#define shmem_atomic_fetch_xor(...) \
	GDA_OSH_CALL(3, GDA_OSH_BIT_C11, atomic_fetch_xor, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_fetch_xor_nbi(N)	shmem_##N##_atomic_fetch_xor_nbi
#define GDA_OSH_CASE_ctx_atomic_fetch_xor_nbi(N)	shmem_ctx_##N##_atomic_fetch_xor_nbi
#define shmem_atomic_fetch_xor_nbi(...) \
	GDA_OSH_CALL(4, GDA_OSH_BIT_C11, atomic_fetch_xor_nbi, __VA_ARGS__)
#define GDA_OSH_CASE_atomic_xor(N)	shmem_##N##_atomic_xor
#define GDA_OSH_CASE_ctx_atomic_xor(N)	shmem_ctx_##N##_atomic_xor
#define shmem_atomic_xor(...)	GDA_OSH_CALL(3, GDA_OSH_BIT_C11, atomic_xor, __VA_ARGS__)

/* atomics, by their old names */
#define GDA_OSH_CASE_fetch(N)	shmem_##N##_fetch
#define shmem_fetch(...)	GDA_OSH_PLAIN(GDA_OSH_EXTENDED_C11, fetch, __VA_ARGS__)
#define GDA_OSH_CASE_set(N)	shmem_##N##_set
#define shmem_set(...)	GDA_OSH_PLAIN(GDA_OSH_EXTENDED_C11, set, __VA_ARGS__)
#define GDA_OSH_CASE_swap(N)	shmem_##N##_swap
#define shmem_swap(...)	GDA_OSH_PLAIN(GDA_OSH_EXTENDED_C11, swap, __VA_ARGS__)

/* and those of integers */
#define GDA_OSH_CASE_cswap(N)	shmem_##N##_cswap
#define shmem_cswap(...)	GDA_OSH_PLAIN(GDA_OSH_AMO_C11, cswap, __VA_ARGS__)
#define GDA_OSH_CASE_finc(N)	shmem_##N##_finc
#define shmem_finc(...)	GDA_OSH_PLAIN(GDA_OSH_AMO_C11, finc, __VA_ARGS__)
#define GDA_OSH_CASE_inc(N)	shmem_##N##_inc
#define shmem_inc(...)	GDA_OSH_PLAIN(GDA_OSH_AMO_C11, inc, __VA_ARGS__)
#define GDA_OSH_CASE_fadd(N)	shmem_##N##_fadd
#define shmem_fadd(...)	GDA_OSH_PLAIN(GDA_OSH_AMO_C11, fadd, __VA_ARGS__)
#define GDA_OSH_CASE_add(N)	shmem_##N##_add
#define shmem_add(...)	GDA_OSH_PLAIN(GDA_OSH_AMO_C11, add, __VA_ARGS__)

/* waiting */
#define GDA_OSH_CASE_wait_until(N)	shmem_##N##_wait_until
#define shmem_wait_until(...)	GDA_OSH_PLAIN(GDA_OSH_P2P_C11, wait_until, __VA_ARGS__)
#define GDA_OSH_CASE_test(N)	shmem_##N##_test
#define shmem_test(...)	GDA_OSH_PLAIN(GDA_OSH_P2P_C11, test, __VA_ARGS__)

/* waiting for one of many words */
#define GDA_OSH_CASE_wait_until_all(N)	shmem_##N##_wait_until_all
#define shmem_wait_until_all(...)	GDA_OSH_PLAIN(GDA_OSH_P2P_C11, wait_until_all, __VA_ARGS__)
#define GDA_OSH_CASE_wait_until_any(N)	shmem_##N##_wait_until_any
#define shmem_wait_until_any(...)	GDA_OSH_PLAIN(GDA_OSH_P2P_C11, wait_until_any, __VA_ARGS__)
#define GDA_OSH_CASE_wait_until_some(N)	shmem_##N##_wait_until_some
#define shmem_wait_until_some(...)	GDA_OSH_PLAIN(GDA_OSH_P2P_C11, wait_until_some, __VA_ARGS__)
#define GDA_OSH_CASE_test_all(N)	shmem_##N##_test_all
#define shmem_test_all(...)	GDA_OSH_PLAIN(GDA_OSH_P2P_C11, test_all, __VA_ARGS__)
#define GDA_OSH_CASE_test_any(N)	shmem_##N##_test_any
#define shmem_test_any(...)	GDA_OSH_PLAIN(GDA_OSH_P2P_C11, test_any, __VA_ARGS__)
#define GDA_OSH_CASE_test_some(N)	shmem_##N##_test_some
#define shmem_test_some(...)	GDA_OSH_PLAIN(GDA_OSH_P2P_C11, test_some, __VA_ARGS__)
#define GDA_OSH_CASE_wait_until_all_vector(N)	shmem_##N##_wait_until_all_vector
#define shmem_wait_until_all_vector(...) \
	GDA_OSH_PLAIN(GDA_OSH_P2P_C11, wait_until_all_vector, __VA_ARGS__)
#define GDA_OSH_CASE_wait_until_any_vector(N)	shmem_##N##_wait_until_any_vector
#define shmem_wait_until_any_vector(...) \
	GDA_OSH_PLAIN(GDA_OSH_P2P_C11, wait_until_any_vector, __VA_ARGS__)
#define GDA_OSH_CASE_wait_until_some_vector(N)	shmem_##N##_wait_until_some_vector
#define shmem_wait_until_some_vector(...) \
	GDA_OSH_PLAIN(GDA_OSH_P2P_C11, wait_until_some_vector, __VA_ARGS__)
#define GDA_OSH_CASE_test_all_vector(N)	shmem_##N##_test_all_vector
#define shmem_test_all_vector(...)	GDA_OSH_PLAIN(GDA_OSH_P2P_C11, test_all_vector, __VA_ARGS__)
#define GDA_OSH_CASE_test_any_vector(N)	shmem_##N##_test_any_vector
#define shmem_test_any_vector(...)	GDA_OSH_PLAIN(GDA_OSH_P2P_C11, test_any_vector, __VA_ARGS__)
#define GDA_OSH_CASE_test_some_vector(N)	shmem_##N##_test_some_vector
#define shmem_test_some_vector(...) \
	GDA_OSH_PLAIN(GDA_OSH_P2P_C11, test_some_vector, __VA_ARGS__)

/* collectives */
#define GDA_OSH_CASE_broadcast(N)	shmem_##N##_broadcast
#define shmem_broadcast(...)	GDA_OSH_TEAM(GDA_OSH_RMA_C11, broadcast, __VA_ARGS__)
#define GDA_OSH_CASE_collect(N)	shmem_##N##_collect
#define shmem_collect(...)	GDA_OSH_TEAM(GDA_OSH_RMA_C11, collect, __VA_ARGS__)
#define GDA_OSH_CASE_fcollect(N)	shmem_##N##_fcollect
#define shmem_fcollect(...)	GDA_OSH_TEAM(GDA_OSH_RMA_C11, fcollect, __VA_ARGS__)
#define GDA_OSH_CASE_alltoall(N)	shmem_##N##_alltoall
#define shmem_alltoall(...)	GDA_OSH_TEAM(GDA_OSH_RMA_C11, alltoall, __VA_ARGS__)
#define GDA_OSH_CASE_alltoalls(N)	shmem_##N##_alltoalls
#define shmem_alltoalls(...)	GDA_OSH_TEAM(GDA_OSH_RMA_C11, alltoalls, __VA_ARGS__)

/* reductions */
#define GDA_OSH_CASE_and_reduce(N)	shmem_##N##_and_reduce
#define shmem_and_reduce(...)	GDA_OSH_TEAM(GDA_OSH_REDUCE_BIT_C11, and_reduce, __VA_ARGS__)
#define GDA_OSH_CASE_or_reduce(N)	shmem_##N##_or_reduce
#define shmem_or_reduce(...)	GDA_OSH_TEAM(GDA_OSH_REDUCE_BIT_C11, or_reduce, __VA_ARGS__)
#define GDA_OSH_CASE_xor_reduce(N)	shmem_##N##_xor_reduce
#define shmem_xor_reduce(...)	GDA_OSH_TEAM(GDA_OSH_REDUCE_BIT_C11, xor_reduce, __VA_ARGS__)

/* types that can be compared */
#define GDA_OSH_CASE_max_reduce(N)	shmem_##N##_max_reduce
#define shmem_max_reduce(...)	GDA_OSH_TEAM(GDA_OSH_RMA_C11, max_reduce, __VA_ARGS__)
#define GDA_OSH_CASE_min_reduce(N)	shmem_##N##_min_reduce
#define shmem_min_reduce(...)	GDA_OSH_TEAM(GDA_OSH_RMA_C11, min_reduce, __VA_ARGS__)

/* of all */
#define GDA_OSH_CASE_sum_reduce(N)	shmem_##N##_sum_reduce
#define shmem_sum_reduce(...)	GDA_OSH_TEAM(GDA_OSH_ALL_C11, sum_reduce, __VA_ARGS__)
#define GDA_OSH_CASE_prod_reduce(N)	shmem_##N##_prod_reduce
#define shmem_prod_reduce(...)	GDA_OSH_TEAM(GDA_OSH_ALL_C11, prod_reduce, __VA_ARGS__)

/* For a team, or, deprecated, for an active set. */
#define GDA_OSH_SYNC_1(team)	shmem_team_sync(team)
#define GDA_OSH_SYNC_4(...)	(shmem_sync)(__VA_ARGS__)
#define shmem_sync(...) \
	GDA_OSH_PASTE(GDA_OSH_SYNC_, GDA_OSH_NARGS(__VA_ARGS__))(__VA_ARGS__)

#endif /* C++, C11 */

#endif /* SHMEM_GENERIC_H */

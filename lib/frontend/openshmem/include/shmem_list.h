/* SPDX-License-Identifier: MIT */
/*
 * The list of all functions of OpenSHMEM 1.5. shmem.h declares them from these lists,
 * lib/frontend/shmem defines them with their pshmem_ names, and selftests/shmem/every calls them.
 *
 * An entry is X(return, name, operation, type, (parameters), (arguments)). The function is
 * shmem_<name>; its type-generic form, if there is one, is shmem_<operation>. If the name of a list
 * contains CTX, its functions also exist as shmem_ctx_<name>, with a context as the first
 * parameter. GDA_OSH_<...>_TYPES(F, X) gives F(X, name, type) for each type of a table of the
 * specification, and <...>_C11 for those that _Generic and overloads tell apart.
 */
#ifndef SHMEM_LIST_H
#define SHMEM_LIST_H

/* The types for RMA, put with signal and collectives. */
#define GDA_OSH_RMA_C11(F, X) \
	F(X, float, float) F(X, double, double) F(X, longdouble, long double) \
	F(X, char, char) F(X, schar, signed char) F(X, short, short) F(X, int, int) \
	F(X, long, long) F(X, longlong, long long) F(X, uchar, unsigned char) \
	F(X, ushort, unsigned short) F(X, uint, unsigned int) F(X, ulong, unsigned long) \
	F(X, ulonglong, unsigned long long)
#define GDA_OSH_RMA_TYPES(F, X) \
	GDA_OSH_RMA_C11(F, X) \
	F(X, int8, int8_t) F(X, int16, int16_t) F(X, int32, int32_t) F(X, int64, int64_t) \
	F(X, uint8, uint8_t) F(X, uint16, uint16_t) F(X, uint32, uint32_t) \
	F(X, uint64, uint64_t) F(X, size, size_t) F(X, ptrdiff, ptrdiff_t)

/* Sizes in bits, and a type of each size. */
#define GDA_OSH_SIZES(F, X) \
	F(X, 8, uint8_t) F(X, 16, uint16_t) F(X, 32, uint32_t) F(X, 64, uint64_t) \
	F(X, 128, struct gda_osh_128)

/* The types for atomics, and for waiting for a word. */
#define GDA_OSH_AMO_C11(F, X) \
	F(X, int, int) F(X, long, long) F(X, longlong, long long) F(X, uint, unsigned int) \
	F(X, ulong, unsigned long) F(X, ulonglong, unsigned long long)
#define GDA_OSH_AMO_TYPES(F, X) \
	GDA_OSH_AMO_C11(F, X) \
	F(X, int32, int32_t) F(X, int64, int64_t) F(X, uint32, uint32_t) \
	F(X, uint64, uint64_t) F(X, size, size_t) F(X, ptrdiff, ptrdiff_t)
#define GDA_OSH_FLOAT_TYPES(F, X)	F(X, float, float) F(X, double, double)
#define GDA_OSH_BIT_TYPES(F, X) \
	F(X, uint, unsigned int) F(X, ulong, unsigned long) \
	F(X, ulonglong, unsigned long long) F(X, int32, int32_t) F(X, int64, int64_t) \
	F(X, uint32, uint32_t) F(X, uint64, uint64_t)
#define GDA_OSH_BIT_C11(F, X) \
	F(X, uint, unsigned int) F(X, ulong, unsigned long) \
	F(X, ulonglong, unsigned long long) F(X, int32, int32_t) F(X, int64, int64_t)

/* The types for team reductions: bitwise, comparing, and arithmetic ones. */
#define GDA_OSH_REDUCE_UNSIGNED(F, X) \
	F(X, uchar, unsigned char) F(X, ushort, unsigned short) F(X, uint, unsigned int) \
	F(X, ulong, unsigned long) F(X, ulonglong, unsigned long long)
#define GDA_OSH_REDUCE_BIT_C11(F, X) \
	GDA_OSH_REDUCE_UNSIGNED(F, X) \
	F(X, int8, int8_t) F(X, int16, int16_t) F(X, int32, int32_t) F(X, int64, int64_t)
#define GDA_OSH_REDUCE_BIT_TYPES(F, X) \
	GDA_OSH_REDUCE_BIT_C11(F, X) \
	F(X, uint8, uint8_t) F(X, uint16, uint16_t) F(X, uint32, uint32_t) \
	F(X, uint64, uint64_t) F(X, size, size_t)
#define GDA_OSH_REDUCE_ORDER_TYPES(F, X)	GDA_OSH_RMA_TYPES(F, X)
#define GDA_OSH_COMPLEX_TYPES(F, X) \
	F(X, complexd, double _Complex) F(X, complexf, float _Complex)

/* Reductions of active sets. */
#define GDA_OSH_TO_ALL_BIT_TYPES(F, X) \
	F(X, short, short) F(X, int, int) F(X, long, long) F(X, longlong, long long)
#define GDA_OSH_TO_ALL_ORDER_TYPES(F, X) \
	GDA_OSH_TO_ALL_BIT_TYPES(F, X) \
	F(X, float, float) F(X, double, double) F(X, longdouble, long double)

/* --- RMA --- */

#define GDA_OSH_RMA_WAYS(X, PUT, GET, T, V) \
	X(void, PUT, put, T, (V *dest, const V *source, size_t nelems, int pe), \
	  (dest, source, nelems, pe)) \
	X(void, GET, get, T, (V *dest, const V *source, size_t nelems, int pe), \
	  (dest, source, nelems, pe)) \
	X(void, PUT##_nbi, put_nbi, T, (V *dest, const V *source, size_t nelems, int pe), \
	  (dest, source, nelems, pe)) \
	X(void, GET##_nbi, get_nbi, T, (V *dest, const V *source, size_t nelems, int pe), \
	  (dest, source, nelems, pe)) \
	X(void, PUT##_signal, put_signal, T, \
	  (V *dest, const V *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, \
	   int sig_op, int pe), (dest, source, nelems, sig_addr, signal, sig_op, pe)) \
	X(void, PUT##_signal_nbi, put_signal_nbi, T, \
	  (V *dest, const V *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, \
	   int sig_op, int pe), (dest, source, nelems, sig_addr, signal, sig_op, pe))
#define GDA_OSH_RMA_STRIDED(X, IPUT, IGET, T, V) \
	X(void, IPUT, iput, T, \
	  (V *dest, const V *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
	  (dest, source, dst, sst, nelems, pe)) \
	X(void, IGET, iget, T, \
	  (V *dest, const V *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
	  (dest, source, dst, sst, nelems, pe))
#define GDA_OSH_RMA_OF_TYPE(X, N, T) \
	GDA_OSH_RMA_WAYS(X, N##_put, N##_get, T, T) \
	GDA_OSH_RMA_STRIDED(X, N##_iput, N##_iget, T, T) \
	X(void, N##_p, p, T, (T *dest, T value, int pe), (dest, value, pe)) \
	X(T, N##_g, g, T, (const T *source, int pe), (source, pe))
#define GDA_OSH_RMA_OF_SIZE(X, N, T) \
	GDA_OSH_RMA_WAYS(X, put##N, get##N, T, void) \
	GDA_OSH_RMA_STRIDED(X, iput##N, iget##N, T, void)
#define GDA_OSH_RMA_CTX(X) \
	GDA_OSH_RMA_TYPES(GDA_OSH_RMA_OF_TYPE, X) \
	GDA_OSH_SIZES(GDA_OSH_RMA_OF_SIZE, X) \
	GDA_OSH_RMA_WAYS(X, putmem, getmem, uint8_t, void)

/* --- atomics --- */

#define GDA_OSH_AMO_OF_EXTENDED(X, N, T) \
	X(T, N##_atomic_fetch, atomic_fetch, T, (const T *source, int pe), (source, pe)) \
	X(void, N##_atomic_set, atomic_set, T, (T *dest, T value, int pe), (dest, value, pe)) \
	X(T, N##_atomic_swap, atomic_swap, T, (T *dest, T value, int pe), (dest, value, pe)) \
	X(void, N##_atomic_fetch_nbi, atomic_fetch_nbi, T, (T *fetch, const T *source, int pe), \
	  (fetch, source, pe)) \
	X(void, N##_atomic_swap_nbi, atomic_swap_nbi, T, (T *fetch, T *dest, T value, int pe), \
	  (fetch, dest, value, pe))
#define GDA_OSH_AMO_OF_STANDARD(X, N, T) \
	X(T, N##_atomic_compare_swap, atomic_compare_swap, T, (T *dest, T cond, T value, int pe), \
	  (dest, cond, value, pe)) \
	X(void, N##_atomic_compare_swap_nbi, atomic_compare_swap_nbi, T, \
	  (T *fetch, T *dest, T cond, T value, int pe), (fetch, dest, cond, value, pe)) \
	X(T, N##_atomic_fetch_inc, atomic_fetch_inc, T, (T *dest, int pe), (dest, pe)) \
	X(void, N##_atomic_fetch_inc_nbi, atomic_fetch_inc_nbi, T, (T *fetch, T *dest, int pe), \
	  (fetch, dest, pe)) \
	X(void, N##_atomic_inc, atomic_inc, T, (T *dest, int pe), (dest, pe)) \
	GDA_OSH_AMO_OF_OPERATION(X, N, T, add)
#define GDA_OSH_AMO_OF_OPERATION(X, N, T, op) \
	X(T, N##_atomic_fetch_##op, atomic_fetch_##op, T, (T *dest, T value, int pe), \
	  (dest, value, pe)) \
	X(void, N##_atomic_fetch_##op##_nbi, atomic_fetch_##op##_nbi, T, \
	  (T *fetch, T *dest, T value, int pe), (fetch, dest, value, pe)) \
	X(void, N##_atomic_##op, atomic_##op, T, (T *dest, T value, int pe), (dest, value, pe))
#define GDA_OSH_AMO_OF_BITWISE(X, N, T) \
	GDA_OSH_AMO_OF_OPERATION(X, N, T, and) \
	GDA_OSH_AMO_OF_OPERATION(X, N, T, or) \
	GDA_OSH_AMO_OF_OPERATION(X, N, T, xor)
#define GDA_OSH_AMO_CTX(X) \
	GDA_OSH_AMO_TYPES(GDA_OSH_AMO_OF_EXTENDED, X) \
	GDA_OSH_FLOAT_TYPES(GDA_OSH_AMO_OF_EXTENDED, X) \
	GDA_OSH_AMO_TYPES(GDA_OSH_AMO_OF_STANDARD, X) \
	GDA_OSH_BIT_TYPES(GDA_OSH_AMO_OF_BITWISE, X)

/* Deprecated names; the specification lists fewer types than programs use. */
#define GDA_OSH_OLD_AMO_OF_EXTENDED(X, N, T) \
	X(T, N##_fetch, fetch, T, (const T *source, int pe), (source, pe)) \
	X(void, N##_set, set, T, (T *dest, T value, int pe), (dest, value, pe)) \
	X(T, N##_swap, swap, T, (T *dest, T value, int pe), (dest, value, pe))
#define GDA_OSH_OLD_AMO_OF_STANDARD(X, N, T) \
	X(T, N##_cswap, cswap, T, (T *dest, T cond, T value, int pe), \
	  (dest, cond, value, pe)) \
	X(T, N##_finc, finc, T, (T *dest, int pe), (dest, pe)) \
	X(void, N##_inc, inc, T, (T *dest, int pe), (dest, pe)) \
	X(T, N##_fadd, fadd, T, (T *dest, T value, int pe), (dest, value, pe)) \
	X(void, N##_add, add, T, (T *dest, T value, int pe), (dest, value, pe))
#define GDA_OSH_OLD_AMO(X) \
	GDA_OSH_AMO_TYPES(GDA_OSH_OLD_AMO_OF_EXTENDED, X) \
	GDA_OSH_FLOAT_TYPES(GDA_OSH_OLD_AMO_OF_EXTENDED, X) \
	GDA_OSH_AMO_TYPES(GDA_OSH_OLD_AMO_OF_STANDARD, X)

/* --- waiting for words --- */

#define GDA_OSH_P2P_OF_MANY(X, N, T, suffix, V) \
	X(void, N##_wait_until_all##suffix, wait_until_all##suffix, T, \
	  (volatile T *ivars, size_t nelems, const int *status, int cmp, V), \
	  (ivars, nelems, status, cmp, cmp_value)) \
	X(size_t, N##_wait_until_any##suffix, wait_until_any##suffix, T, \
	  (volatile T *ivars, size_t nelems, const int *status, int cmp, V), \
	  (ivars, nelems, status, cmp, cmp_value)) \
	X(size_t, N##_wait_until_some##suffix, wait_until_some##suffix, T, \
	  (volatile T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, V), \
	  (ivars, nelems, indices, status, cmp, cmp_value)) \
	X(int, N##_test_all##suffix, test_all##suffix, T, \
	  (volatile T *ivars, size_t nelems, const int *status, int cmp, V), \
	  (ivars, nelems, status, cmp, cmp_value)) \
	X(size_t, N##_test_any##suffix, test_any##suffix, T, \
	  (volatile T *ivars, size_t nelems, const int *status, int cmp, V), \
	  (ivars, nelems, status, cmp, cmp_value)) \
	X(size_t, N##_test_some##suffix, test_some##suffix, T, \
	  (volatile T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, V), \
	  (ivars, nelems, indices, status, cmp, cmp_value))
#define GDA_OSH_P2P_OF_TYPE(X, N, T) \
	X(void, N##_wait_until, wait_until, T, (volatile T *ivar, int cmp, T cmp_value), \
	  (ivar, cmp, cmp_value)) \
	X(int, N##_test, test, T, (volatile T *ivar, int cmp, T cmp_value), \
	  (ivar, cmp, cmp_value)) \
	GDA_OSH_P2P_OF_MANY(X, N, T, , T cmp_value) \
	GDA_OSH_P2P_OF_MANY(X, N, T, _vector, const T *cmp_value)
#define GDA_OSH_P2P(X) \
	GDA_OSH_AMO_TYPES(GDA_OSH_P2P_OF_TYPE, X) \
	GDA_OSH_P2P_OF_TYPE(X, short, short) \
	GDA_OSH_P2P_OF_TYPE(X, ushort, unsigned short)

/* Deprecated: wait until the word differs from the value. */
#define GDA_OSH_OLD_WAIT_OF_TYPE(X, N, T) \
	X(void, N##_wait, wait, T, (volatile T *ivar, T cmp_value), (ivar, cmp_value))
#define GDA_OSH_OLD_WAIT(X)	GDA_OSH_TO_ALL_BIT_TYPES(GDA_OSH_OLD_WAIT_OF_TYPE, X)

/* --- collectives of teams --- */

#define GDA_OSH_COLL_WAYS(X, BROADCAST, COLLECT, FCOLLECT, ALLTOALL, T, V) \
	X(int, BROADCAST, broadcast, T, \
	  (shmem_team_t team, V *dest, const V *source, size_t nelems, int PE_root), \
	  (team, dest, source, nelems, PE_root)) \
	X(int, COLLECT, collect, T, \
	  (shmem_team_t team, V *dest, const V *source, size_t nelems), \
	  (team, dest, source, nelems)) \
	X(int, FCOLLECT, fcollect, T, \
	  (shmem_team_t team, V *dest, const V *source, size_t nelems), \
	  (team, dest, source, nelems)) \
	X(int, ALLTOALL, alltoall, T, \
	  (shmem_team_t team, V *dest, const V *source, size_t nelems), \
	  (team, dest, source, nelems))
#define GDA_OSH_COLL_STRIDED(X, ALLTOALLS, T, V) \
	X(int, ALLTOALLS, alltoalls, T, \
	  (shmem_team_t team, V *dest, const V *source, ptrdiff_t dst, ptrdiff_t sst, \
	   size_t nelems), (team, dest, source, dst, sst, nelems))
#define GDA_OSH_COLL_OF_TYPE(X, N, T) \
	GDA_OSH_COLL_WAYS(X, N##_broadcast, N##_collect, N##_fcollect, N##_alltoall, T, T) \
	GDA_OSH_COLL_STRIDED(X, N##_alltoalls, T, T)
#define GDA_OSH_COLL(X) \
	GDA_OSH_RMA_TYPES(GDA_OSH_COLL_OF_TYPE, X) \
	GDA_OSH_COLL_WAYS(X, broadcastmem, collectmem, fcollectmem, alltoallmem, uint8_t, \
			  void) \
	GDA_OSH_COLL_STRIDED(X, alltoallsmem, uint8_t, void)

#define GDA_OSH_REDUCE_OF(X, N, T, op) \
	X(int, N##_##op##_reduce, op##_reduce, T, \
	  (shmem_team_t team, T *dest, const T *source, size_t nreduce), \
	  (team, dest, source, nreduce))
#define GDA_OSH_REDUCE_OF_BIT(X, N, T) \
	GDA_OSH_REDUCE_OF(X, N, T, and) GDA_OSH_REDUCE_OF(X, N, T, or) \
	GDA_OSH_REDUCE_OF(X, N, T, xor)
#define GDA_OSH_REDUCE_OF_ORDER(X, N, T) \
	GDA_OSH_REDUCE_OF(X, N, T, max) GDA_OSH_REDUCE_OF(X, N, T, min)
#define GDA_OSH_REDUCE_OF_ALL(X, N, T) \
	GDA_OSH_REDUCE_OF(X, N, T, sum) GDA_OSH_REDUCE_OF(X, N, T, prod)
#define GDA_OSH_REDUCE(X) \
	GDA_OSH_REDUCE_BIT_TYPES(GDA_OSH_REDUCE_OF_BIT, X) \
	GDA_OSH_REDUCE_ORDER_TYPES(GDA_OSH_REDUCE_OF_ORDER, X) \
	GDA_OSH_REDUCE_ORDER_TYPES(GDA_OSH_REDUCE_OF_ALL, X) \
	GDA_OSH_COMPLEX_TYPES(GDA_OSH_REDUCE_OF_ALL, X)

/* --- collectives of active sets: deprecated --- */

#define GDA_OSH_ACTIVE_OF_SIZE(X, N, T) \
	X(void, broadcast##N, broadcast_set, T, \
	  (void *dest, const void *source, size_t nelems, int PE_root, int PE_start, \
	   int logPE_stride, int PE_size, long *pSync), \
	  (dest, source, nelems, PE_root, PE_start, logPE_stride, PE_size, pSync)) \
	X(void, collect##N, collect_set, T, \
	  (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, \
	   int PE_size, long *pSync), \
	  (dest, source, nelems, PE_start, logPE_stride, PE_size, pSync)) \
	X(void, fcollect##N, fcollect_set, T, \
	  (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, \
	   int PE_size, long *pSync), \
	  (dest, source, nelems, PE_start, logPE_stride, PE_size, pSync)) \
	X(void, alltoall##N, alltoall_set, T, \
	  (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, \
	   int PE_size, long *pSync), \
	  (dest, source, nelems, PE_start, logPE_stride, PE_size, pSync)) \
	X(void, alltoalls##N, alltoalls_set, T, \
	  (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
	   int PE_start, int logPE_stride, int PE_size, long *pSync), \
	  (dest, source, dst, sst, nelems, PE_start, logPE_stride, PE_size, pSync))
#define GDA_OSH_ACTIVE(X) \
	GDA_OSH_ACTIVE_OF_SIZE(X, 32, uint32_t) GDA_OSH_ACTIVE_OF_SIZE(X, 64, uint64_t)

#define GDA_OSH_TO_ALL_OF(X, N, T, op) \
	X(void, N##_##op##_to_all, op##_to_all, T, \
	  (T *dest, const T *source, int nreduce, int PE_start, int logPE_stride, \
	   int PE_size, T *pWrk, long *pSync), \
	  (dest, source, nreduce, PE_start, logPE_stride, PE_size, pWrk, pSync))
#define GDA_OSH_TO_ALL_OF_BIT(X, N, T) \
	GDA_OSH_TO_ALL_OF(X, N, T, and) GDA_OSH_TO_ALL_OF(X, N, T, or) \
	GDA_OSH_TO_ALL_OF(X, N, T, xor)
#define GDA_OSH_TO_ALL_OF_ORDER(X, N, T) \
	GDA_OSH_TO_ALL_OF(X, N, T, max) GDA_OSH_TO_ALL_OF(X, N, T, min)
#define GDA_OSH_TO_ALL_OF_ALL(X, N, T) \
	GDA_OSH_TO_ALL_OF(X, N, T, sum) GDA_OSH_TO_ALL_OF(X, N, T, prod)
#define GDA_OSH_TO_ALL(X) \
	GDA_OSH_TO_ALL_BIT_TYPES(GDA_OSH_TO_ALL_OF_BIT, X) \
	GDA_OSH_TO_ALL_ORDER_TYPES(GDA_OSH_TO_ALL_OF_ORDER, X) \
	GDA_OSH_TO_ALL_ORDER_TYPES(GDA_OSH_TO_ALL_OF_ALL, X) \
	GDA_OSH_COMPLEX_TYPES(GDA_OSH_TO_ALL_OF_ALL, X)

/* --- the rest, without types: X(return, name, (parameters), (arguments)) --- */

#define GDA_OSH_SETUP(X) \
	X(void, init, (void), ()) \
	X(int, init_thread, (int requested, int *provided), (requested, provided)) \
	X(void, finalize, (void), ()) \
	X(void, global_exit, (int status), (status)) \
	X(int, my_pe, (void), ()) \
	X(int, n_pes, (void), ()) \
	X(int, pe_accessible, (int pe), (pe)) \
	X(int, addr_accessible, (const void *addr, int pe), (addr, pe)) \
	X(void *, ptr, (const void *dest, int pe), (dest, pe)) \
	X(void, info_get_version, (int *major, int *minor), (major, minor)) \
	X(void, info_get_name, (char *name), (name)) \
	X(void, query_thread, (int *provided), (provided))
#define GDA_OSH_MEMORY(X) \
	X(void *, malloc, (size_t size), (size)) \
	X(void *, calloc, (size_t count, size_t size), (count, size)) \
	X(void *, align, (size_t alignment, size_t size), (alignment, size)) \
	X(void *, realloc, (void *ptr, size_t size), (ptr, size)) \
	X(void *, malloc_with_hints, (size_t size, long hints), (size, hints)) \
	X(void, free, (void *ptr), (ptr))
#define GDA_OSH_TEAMS(X) \
	X(int, team_my_pe, (shmem_team_t team), (team)) \
	X(int, team_n_pes, (shmem_team_t team), (team)) \
	X(int, team_get_config, \
	  (shmem_team_t team, long config_mask, shmem_team_config_t *config), \
	  (team, config_mask, config)) \
	X(int, team_translate_pe, \
	  (shmem_team_t src_team, int src_pe, shmem_team_t dest_team), \
	  (src_team, src_pe, dest_team)) \
	X(int, team_split_strided, \
	  (shmem_team_t parent_team, int start, int stride, int size, \
	   const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team), \
	  (parent_team, start, stride, size, config, config_mask, new_team)) \
	X(int, team_split_2d, \
	  (shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, \
	   long xaxis_mask, shmem_team_t *xaxis_team, \
	   const shmem_team_config_t *yaxis_config, long yaxis_mask, \
	   shmem_team_t *yaxis_team), \
	  (parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, yaxis_config, \
	   yaxis_mask, yaxis_team)) \
	X(void, team_destroy, (shmem_team_t team), (team)) \
	X(int, team_sync, (shmem_team_t team), (team))
#define GDA_OSH_CONTEXTS(X) \
	X(int, ctx_create, (long options, shmem_ctx_t *ctx), (options, ctx)) \
	X(int, team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t *ctx), \
	  (team, options, ctx)) \
	X(void, ctx_destroy, (shmem_ctx_t ctx), (ctx)) \
	X(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t *team), (ctx, team))
#define GDA_OSH_ORDER(X) \
	X(void, fence, (void), ()) \
	X(void, ctx_fence, (shmem_ctx_t ctx), (ctx)) \
	X(void, quiet, (void), ()) \
	X(void, ctx_quiet, (shmem_ctx_t ctx), (ctx))
#define GDA_OSH_SYNC(X) \
	X(void, barrier_all, (void), ()) \
	X(void, sync_all, (void), ()) \
	X(void, barrier, (int PE_start, int logPE_stride, int PE_size, long *pSync), \
	  (PE_start, logPE_stride, PE_size, pSync)) \
	X(void, sync, (int PE_start, int logPE_stride, int PE_size, long *pSync), \
	  (PE_start, logPE_stride, PE_size, pSync))
#define GDA_OSH_SIGNALS(X) \
	X(uint64_t, signal_fetch, (const uint64_t *sig_addr), (sig_addr)) \
	X(uint64_t, signal_wait_until, (uint64_t *sig_addr, int cmp, uint64_t cmp_value), \
	  (sig_addr, cmp, cmp_value))
#define GDA_OSH_LOCKS(X) \
	X(void, set_lock, (volatile long *lock), (lock)) \
	X(void, clear_lock, (volatile long *lock), (lock)) \
	X(int, test_lock, (volatile long *lock), (lock))
#define GDA_OSH_OLD_CALLS(X) \
	X(void, wait, (volatile long *ivar, long cmp_value), (ivar, cmp_value)) \
	X(void, clear_cache_inv, (void), ()) \
	X(void, set_cache_inv, (void), ()) \
	X(void, clear_cache_line_inv, (void *dest), (dest)) \
	X(void, set_cache_line_inv, (void *dest), (dest)) \
	X(void, udcflush, (void), ()) \
	X(void, udcflush_line, (void *dest), (dest))

/* All functions with a type; shmem_pcontrol() and names without shmem_ are not included. */
#define GDA_OSH_TYPED(X) \
	GDA_OSH_OLD_AMO(X) GDA_OSH_P2P(X) GDA_OSH_OLD_WAIT(X) GDA_OSH_COLL(X) \
	GDA_OSH_REDUCE(X) GDA_OSH_ACTIVE(X) GDA_OSH_TO_ALL(X)
#define GDA_OSH_TYPED_CTX(X)	GDA_OSH_RMA_CTX(X) GDA_OSH_AMO_CTX(X)
#define GDA_OSH_CALLS(X) \
	GDA_OSH_SETUP(X) GDA_OSH_MEMORY(X) GDA_OSH_TEAMS(X) GDA_OSH_CONTEXTS(X) \
	GDA_OSH_ORDER(X) GDA_OSH_SYNC(X) GDA_OSH_SIGNALS(X) GDA_OSH_LOCKS(X) \
	GDA_OSH_OLD_CALLS(X)

#define GDA_OSH_BARE(...)	__VA_ARGS__

#endif /* SHMEM_LIST_H */

/* SPDX-License-Identifier: MIT */
/*
 * OpenSHMEM 1.5, which documents these calls: puts, gets, atomics, signals, collectives and locks
 * between the processing elements (PEs) of one program, on memory that exists at every PE: the
 * symmetric heap, and the program's static and global variables.
 *
 * Calls return no errors: a call that cannot go on prints a line (which PE, which call, why) and
 * ends all PEs. oshcc compiles and links; oshrun -n 4 starts 4 PEs. The declarations come from
 * shmem_list.h; each function also has a pshmem_ name for tools that measure.
 */
#ifndef SHMEM_H
#define SHMEM_H

#include <stddef.h>
#include <stdint.h>
#include "shmem_list.h"

#define SHMEM_MAJOR_VERSION	1
#define SHMEM_MINOR_VERSION	5
#define SHMEM_MAX_NAME_LEN	64
#define SHMEM_VENDOR_STRING	"GDA"

enum {
	SHMEM_THREAD_SINGLE,
	SHMEM_THREAD_FUNNELED,
	SHMEM_THREAD_SERIALIZED,
	SHMEM_THREAD_MULTIPLE,
};

/* Macros, because a program may test whether they are defined. */
#define SHMEM_CMP_EQ		0
#define SHMEM_CMP_NE		1
#define SHMEM_CMP_GT		2
#define SHMEM_CMP_LE		3
#define SHMEM_CMP_LT		4
#define SHMEM_CMP_GE		5

#define SHMEM_SIGNAL_SET	0
#define SHMEM_SIGNAL_ADD	1

#define SHMEM_MALLOC_ATOMICS_REMOTE	(1L << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE	(1L << 1)

#define SHMEM_CTX_SERIALIZED	(1L << 0)
#define SHMEM_CTX_PRIVATE	(1L << 1)
#define SHMEM_CTX_NOSTORE	(1L << 2)

#define SHMEM_TEAM_NUM_CONTEXTS	(1L << 0)

/*
 * Number of entries of pSync, their value before a call, and the smallest number of elements of
 * pWrk.
 */
#define SHMEM_SYNC_VALUE		0L
#define SHMEM_SYNC_SIZE			8
#define SHMEM_BARRIER_SYNC_SIZE		SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE		SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE		SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE		SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE	SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE	SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE	1

/* Names of the constants before 1.4. */
#define _SHMEM_MAJOR_VERSION		SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION		SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN		SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING		SHMEM_VENDOR_STRING
#define _SHMEM_CMP_EQ			SHMEM_CMP_EQ
#define _SHMEM_CMP_NE			SHMEM_CMP_NE
#define _SHMEM_CMP_GT			SHMEM_CMP_GT
#define _SHMEM_CMP_LE			SHMEM_CMP_LE
#define _SHMEM_CMP_LT			SHMEM_CMP_LT
#define _SHMEM_CMP_GE			SHMEM_CMP_GE
#define _SHMEM_SYNC_VALUE		SHMEM_SYNC_VALUE
#define _SHMEM_SYNC_SIZE		SHMEM_SYNC_SIZE
#define _SHMEM_BARRIER_SYNC_SIZE	SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE		SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE	SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE		SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE	SHMEM_REDUCE_MIN_WRKDATA_SIZE

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gda_osh_ctx *shmem_ctx_t;
typedef struct gda_osh_team *shmem_team_t;
typedef struct {
	int num_contexts;
} shmem_team_config_t;

/* An element of put128 and similar calls. */
struct gda_osh_128 {
	unsigned char bytes[16];
};

/* Handles that always exist are small numbers, so that they are constants. */
#define SHMEM_CTX_INVALID	((shmem_ctx_t)0)
#define SHMEM_CTX_DEFAULT	((shmem_ctx_t)1)
#define SHMEM_TEAM_INVALID	((shmem_team_t)0)
#define SHMEM_TEAM_WORLD	((shmem_team_t)1)
#define SHMEM_TEAM_SHARED	((shmem_team_t)2)

#define GDA_OSH_DECLARE_CALL(ret, name, P, A) \
	ret shmem_##name P; \
	ret pshmem_##name P;
#define GDA_OSH_DECLARE(ret, name, op, T, P, A)	GDA_OSH_DECLARE_CALL(ret, name, P, A)
#define GDA_OSH_DECLARE_CTX(ret, name, op, T, P, A) \
	GDA_OSH_DECLARE_CALL(ret, name, P, A) \
	GDA_OSH_DECLARE_CALL(ret, ctx_##name, (shmem_ctx_t ctx, GDA_OSH_BARE P), A)

GDA_OSH_CALLS(GDA_OSH_DECLARE_CALL)
GDA_OSH_TYPED(GDA_OSH_DECLARE)
GDA_OSH_TYPED_CTX(GDA_OSH_DECLARE_CTX)

void shmem_pcontrol(int level, ...);
void pshmem_pcontrol(int level, ...);

/* Deprecated calls with names of their own. */
void start_pes(int npes);
int _my_pe(void);
int _num_pes(void);
void *shmalloc(size_t size);
void shfree(void *ptr);
void *shrealloc(void *ptr, size_t size);
void *shmemalign(size_t alignment, size_t size);

#ifndef __cplusplus
/* In C++ an overload with the same parameters. */
void shmem_wait_until(volatile long *ivar, int cmp, long cmp_value);
#else
}
#endif

#include "shmem_generic.h"

#endif /* SHMEM_H */

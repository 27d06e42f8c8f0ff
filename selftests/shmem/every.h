/* SPDX-License-Identifier: MIT */
/*
 * Between the files of every: each function of OpenSHMEM is called and what it did is
 * compared with what a loop of one PE computes. The functions come from the library's own
 * list, so one that is added and has no EVERY_<operation>() here does not compile.
 *
 * Each is called under its shmem_ and its pshmem_ name, and with a context where it takes
 * one. Odd ways use memory of the heap, even ones static memory.
 */
#ifndef SHMEM_EVERY_H
#define SHMEM_EVERY_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <shmem.h>

enum { PLAIN, PROFILED, CTX, PROFILED_CTX };

#define EVERY_BYTES	65536
#define EVERY_N		13		/* elements of a block */
#define EVERY_MANY	1500		/* of a reduction: more than one chunk of each PE */

extern int me, npes, next, prev;
extern bool every_short;		/* one variant of each function, and few repetitions */
extern int way;				/* PLAIN to PROFILED_CTX */
extern shmem_ctx_t every_ctx;
extern unsigned int functions[4];	/* called, of each way */

/* Symmetric memory: the static one or that of the heap, by the way. */
void *every_memory(int which);
/* Is it to be tried? If short, one of them is, another one each time that @variant is 0. */
bool every_variant(int variant, int variants);
/* A comparison failed: say so, once for each line. */
void every_fail(const char *name, const char *file, int line);
void every_fill(void *at, size_t bytes, int seed);
bool every_is(const void *at, size_t bytes, int seed);
bool every_zero(const void *at, size_t bytes);

void every_rma(void);
void every_atomic(void);
void every_p2p(void);
void every_collective(void);
void every_reduction(void);
void every_call(void);

/* A number that each type can hold, of a PE and an element. */
static inline int every_value(int pe, int i)
{
	return (pe * 31 + i * 7) % 60 + 1;
}

#define EXPECT(condition) \
	do { \
		if (!(condition)) \
			every_fail(every_name, __FILE__, __LINE__); \
	} while (0)

#define V(T, pe, i)	((T)every_value(pe, i))

#define EVERY_COUNT(name) \
	static bool called[4]; \
	functions[way] += !called[way]; \
	called[way] = true

/* call_<name>: the function by the way that is tried. */
#define EVERY_WRAP(ret, name, op, T, P, A) \
	static ret call_##name P \
	{ \
		EVERY_COUNT(name); \
		if (way == PROFILED) \
			return pshmem_##name A; \
		return shmem_##name A; \
	}
#define EVERY_WRAP_CTX(ret, name, op, T, P, A) \
	static ret call_##name P \
	{ \
		EVERY_COUNT(name); \
		if (way == PROFILED) \
			return pshmem_##name A; \
		if (way == CTX) \
			return shmem_ctx_##name(every_ctx, GDA_OSH_BARE A); \
		if (way == PROFILED_CTX) \
			return pshmem_ctx_##name(every_ctx, GDA_OSH_BARE A); \
		return shmem_##name A; \
	}

#define EVERY_TRY(name, op, T, ways) \
	static void try_##name(void) \
	{ \
		const char *every_name = #name; \
		\
		for (way = 0; way < (ways); way++) { \
			EVERY_##op(T, call_##name); \
		} \
		way = 0; \
	}
#define EVERY(ret, name, op, T, P, A) \
	EVERY_WRAP(ret, name, op, T, P, A) \
	EVERY_TRY(name, op, T, CTX)
#define EVERY_CTX(ret, name, op, T, P, A) \
	EVERY_WRAP_CTX(ret, name, op, T, P, A) \
	EVERY_TRY(name, op, T, 4)
#define EVERY_RUN(ret, name, op, T, P, A)	try_##name();

#endif /* SHMEM_EVERY_H */

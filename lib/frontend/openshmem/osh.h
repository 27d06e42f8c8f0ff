/* SPDX-License-Identifier: MIT */
/*
 * Between the files of lib/frontend/openshmem. osh stands for OpenSHMEM, as in oshcc.
 *
 * It stands on gda/shmem.h: a struct gda_shmem has the heap, of which this library keeps the
 * first GDA_OSH_CONTROL_BYTES, the program's data segment, and where both are at each PE
 * (reach.h). gda_osh is written by shmem_init() and shmem_finalize() only, which no other call
 * of the process may be concurrent with; so it is read without a lock.
 */
#ifndef GDA_OSH_H
#define GDA_OSH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <gda/shmem.h>
#include "shmem.h"

#pragma GCC visibility push(hidden)

#define GDA_OSH_MAX_TEAMS		64	/* of which this PE is a member, at a time */
#define GDA_OSH_ROUNDS		12	/* log2(GDA_COMM_MAX_RANKS) */
#define GDA_OSH_CONTROL_BYTES	131072
#define GDA_OSH_SLOT_BYTES	56

#define GDA_OSH_PUBLIC		__attribute__((visibility("default")))

/* A PE gives it to another in a round of a small reduction: the data, and then its number. */
struct gda_osh_slot {
	uint64_t epoch;
	char data[GDA_OSH_SLOT_BYTES];
};

/*
 * The library's part of a heap. A word in sync, and a slot, has one writer at a time: the PE
 * that the round of a collective call assigns it to.
 */
struct gda_osh_control {
	struct {
		uint64_t round[GDA_OSH_ROUNDS];	/* the epoch that the peer of a round reached */
		uint64_t epoch;			/* barriers this PE has begun; its own */
		uint64_t size;			/* bytes that this PE gives to a collect */
		uint64_t offer;			/* its numbers of the teams that are split off */
		uint64_t reductions;		/* small ones that this PE has begun; its own */
		uint64_t broadcasts;		/* that this PE has begun; its own */
		uint64_t told;			/* broadcasts whose data roots have put here */
	} sync[GDA_OSH_MAX_TEAMS];
	/* those of odd and of even reductions, for a peer may be one ahead */
	struct gda_osh_slot slots[GDA_OSH_MAX_TEAMS][2][GDA_OSH_ROUNDS + 1];
	uint32_t exit;		/* 0, until the job or the watcher is to end (exit.c) */
	uint32_t asleep;	/* 1: a wait of this PE may sleep (wait.c) */
	int32_t cpu;		/* on which this PE polled last; -1: none yet (wait.c) */
};

struct gda_osh_team {
	int start;		/* of the world: PEs start, start + stride, ... */
	int stride;
	int size;
	int me;			/* -1: this PE is no member */
	int number;		/* of this PE's words in struct gda_osh_control */
	uint8_t *numbers;	/* the same of each member, by its index */
	shmem_team_config_t config;
	struct gda_osh_ctx *contexts;
};

struct gda_osh_ctx {
	struct gda_osh_team *team;
	long options;
	struct gda_osh_ctx *next;	/* of the team */
};

struct gda_osh {
	unsigned int npes;	/* 0: shmem_init() was not called */
	int me;
	struct gda_shmem *s;	/* of no PE, while there is none */
	struct gda_shmem *left;	/* of a PE that ends without shmem_finalize(), for leak checkers */
	struct gda_osh_control *control;	/* where the heap begins */
	struct gda_comm *comm;
	struct gda_osh_team world;
	struct gda_osh_team shared;
	bool crowded;		/* PEs and workers are more than processors */
	unsigned int spins;	/* looks at a word before gda_osh_rest() decides what to do */
	unsigned int looks;	/* before a wait of a collective call sleeps */
	int threads;		/* SHMEM_THREAD_* */
	uint32_t flags;		/* of posts: GDA_EXCLUSIVE unless threads may post at once */
	bool stopping;		/* it is in the last barrier */
	bool finalized;
};

extern struct gda_osh gda_osh;

/* exit.c */

/* Print what is wrong, and end the job. @call: "shmem_..."; @peer: or -1. */
__attribute__((noreturn, cold, format(printf, 3, 4)))
void gda_osh_die(const char *call, int peer, const char *format, ...);
/* The address, or the PE, is none that a call can use: say which, and end the job. */
__attribute__((noreturn, cold))
void gda_osh_bad(const char *call, const void *addr, size_t bytes, int pe);
/* An error that all PEs know of: PE 0 says it, and all end. */
__attribute__((noreturn, cold, format(printf, 2, 3)))
void gda_osh_die_together(const char *call, const char *format, ...);
int gda_osh_watch_start(void);
void gda_osh_watch_stop(void);
/* If somebody ended the job, or a PE is lost or has left too early, this does not return. */
void gda_osh_check(const char *call);

/* wait.c */

void gda_osh_wait_init(bool crowded);
/* After the @polls-th look in vain. */
__attribute__((cold))
void gda_osh_rest(const char *call, unsigned int polls);
/* p2p.c: after a test that a program may repeat until it @holds. Return: @holds */
bool gda_osh_tested(const char *call, bool holds);
/* Until the word is @least or more; a PE that stores it wakes this one. */
__attribute__((cold))
void gda_osh_sleep_least(const char *call, const uint64_t *word, uint64_t least);
/* @asleep: of the PE that may sleep */
__attribute__((cold))
void gda_osh_wake(uint32_t *asleep);

/* segment.c */

struct gda_osh_program;

/*
 * Put the main program's variables into a memfd that is mapped in their place.
 * Return: the memfd, or a negative errno; -ENOENT: there are no variables.
 */
int gda_osh_data_create(const struct gda_osh_program *program);
/* Would a child of fork(2) write to the parent's variables before it has its own? */
bool gda_osh_fork_is_refused(void);

/* program.c */

#define GDA_OSH_BUILD_ID_BYTES	32

/* The main program's: page-aligned variables, and what tells its build from others. */
struct gda_osh_program {
	uintptr_t base;
	size_t bytes;
	bool is_static;		/* the C library's variables are among them */
	unsigned char build_id[GDA_OSH_BUILD_ID_BYTES];
};

void gda_osh_program_find(struct gda_osh_program *program);

/* blocks.c: offsets from the heap's base; the same calls give the same ones at each PE */

int gda_osh_blocks_init(size_t start, size_t end);
void gda_osh_blocks_fini(void);
/* Return: the offset, or 0. */
size_t gda_osh_block_alloc(size_t alignment, size_t size);
/* Return: bytes at @offset; 0: nothing is allocated there. */
size_t gda_osh_block_size(size_t offset);
void gda_osh_block_free(size_t offset);
/* How many bytes are free, and how many of them in the largest piece. */
void gda_osh_blocks_free(size_t *all, size_t *largest);

/* team.c */

/* Return: 0 or -ENOMEM. */
int gda_osh_teams_init(void);
/* Those that were not destroyed, and all contexts. */
void gda_osh_teams_fini(void);
/* Return: the team behind a handle, which this PE is in; does not return otherwise. */
struct gda_osh_team *gda_osh_team_get(const char *call, shmem_team_t team);

/* The members of a team or of an active set, and how they wait for each other. */
struct gda_osh_group {
	int start;
	int stride;
	int size;
	int me;
	struct gda_osh_team *team;	/* or, of an active set that is not all PEs: */
	long *psync;
	bool is_set;			/* an active set, all PEs or not */
};

static inline int gda_osh_group_pe(const struct gda_osh_group *g, int index)
{
	return g->start + index * g->stride;
}

struct gda_osh_group gda_osh_group_of_team(const char *call, shmem_team_t team);
struct gda_osh_group gda_osh_group_of_set(const char *call, int start, int log_stride,
					  int size, long *psync);

/* sync.c */

void gda_osh_team_wait(const char *call, struct gda_osh_team *team);
/* Stores that each member made before are visible; no quiet is part of it. */
void gda_osh_group_sync(const char *call, const struct gda_osh_group *g);
/* The word in which a member says how many bytes it gives, as this PE addresses it. */
uint64_t *gda_osh_group_size_word(const struct gda_osh_group *g, int index);

/* Elements of 1, 2, 4, 8 or 16 bytes; strides are in elements. */
struct gda_osh_strided {
	void *dest;
	const void *source;
	ptrdiff_t dst;
	ptrdiff_t sst;
	size_t nelems;
	size_t bytes;		/* of an element */
};

/* queue.c: to a PE that is reached by queue. But for init, none returns if it fails. */

int gda_osh_queue_init(void);
void gda_osh_queue_fini(void);

void gda_osh_queue_put(const char *call, void *dest, const void *source, size_t bytes, int pe);
void gda_osh_queue_put_nbi(const char *call, void *dest, const void *source, size_t bytes,
			   int pe);
void gda_osh_queue_get(const char *call, void *dest, const void *source, size_t bytes, int pe);
void gda_osh_queue_get_nbi(const char *call, void *dest, const void *source, size_t bytes,
			   int pe);
void gda_osh_queue_p64(const char *call, void *dest, uint64_t value, int pe);
void gda_osh_queue_add64(const char *call, uint64_t *word, uint64_t value, int pe);
/* Words of the library, for which a call of the peer waits: a program's quiet need not. */
void gda_osh_queue_set(const char *call, uint64_t *word, uint64_t value, int pe);
void gda_osh_queue_add(const char *call, uint64_t *word, uint64_t value, int pe);
void gda_osh_queue_iput(const char *call, const struct gda_osh_strided *w, int pe);
void gda_osh_queue_iget(const char *call, const struct gda_osh_strided *w, int pe);

/* An atomic on a word of 4 or 8 bytes; operands and old value are as in memory. */
struct gda_osh_atomic {
	void *word;
	uint32_t op;		/* enum gda_shmem_op */
	uint32_t bytes;
	uint64_t value;
};

void gda_osh_queue_change(const char *call, const struct gda_osh_atomic *a, int pe);
uint64_t gda_osh_queue_fetch(const char *call, const struct gda_osh_atomic *a, int pe);
/* a->op has no meaning. */
uint64_t gda_osh_queue_compare_swap(const char *call, const struct gda_osh_atomic *a,
				    uint64_t cond, int pe);

/* A block, and behind it a signal. */
struct gda_osh_put_signal {
	void *dest;
	const void *source;
	size_t bytes;
	uint64_t *word;
	uint64_t value;
	int op;			/* SHMEM_SIGNAL_* */
	bool nbi;
};

void gda_osh_queue_put_signal(const char *call, const struct gda_osh_put_signal *w, int pe);
void gda_osh_queue_quiet(const char *call);

/* rma.c */

void gda_osh_iput(const char *call, const struct gda_osh_strided *w, int pe);

/* collect.c: @bytes in all that a PE gives */

void gda_osh_broadcast(const char *call, const struct gda_osh_group *g, void *dest,
		       const void *source, size_t bytes, int root);
void gda_osh_collect(const char *call, const struct gda_osh_group *g, void *dest,
		     const void *source, size_t bytes);
void gda_osh_fcollect(const char *call, const struct gda_osh_group *g, void *dest,
		      const void *source, size_t bytes);

void gda_osh_alltoall(const char *call, const struct gda_osh_group *g,
		      const struct gda_osh_strided *what);

/* reduce.c */

typedef void (*gda_osh_combine)(void *into, const void *from, size_t count);

struct gda_osh_reduction {
	void *dest;
	const void *source;
	size_t count;
	size_t bytes;		/* of an element */
	gda_osh_combine combine;
};

void gda_osh_reduce(const char *call, const struct gda_osh_group *g,
		    const struct gda_osh_reduction *what);

/* init.c */

void gda_osh_start(const char *call, int requested);
void gda_osh_stop(const char *call);
/* In a child of fork(2): it is no PE. */
void gda_osh_forget(void);

#pragma GCC visibility pop

#endif /* GDA_OSH_H */

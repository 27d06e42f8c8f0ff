/* SPDX-License-Identifier: MIT */
/*
 * Private to lib/frontend/openshmem. osh stands for OpenSHMEM, as in oshcc.
 *
 * The library uses gda/shmem.h: a struct gda_shmem has the heap, of which this library reserves the
 * first GDA_OSH_CONTROL_BYTES, the program's data segment, and the addresses of both at each PE
 * (reach.h). Only shmem_init() and shmem_finalize() write gda_osh, and a program may make no other
 * call during these; so gda_osh is read without a lock.
 */
#ifndef GDA_OSH_H
#define GDA_OSH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <gda/shmem.h>
#include "shmem.h"

#pragma GCC visibility push(hidden)

#define GDA_OSH_MAX_TEAMS		64	/* teams that a PE can be in at a time */
#define GDA_OSH_ROUNDS		12	/* log2(GDA_COMM_MAX_RANKS) */
#define GDA_OSH_CONTROL_BYTES	131072
#define GDA_OSH_SLOT_BYTES	56

#define GDA_OSH_PUBLIC		__attribute__((visibility("default")))

/* Sent to another PE in a round of a small reduction: first the data, then the number. */
struct gda_osh_slot {
	uint64_t epoch;
	char data[GDA_OSH_SLOT_BYTES];
};

/*
 * The library's part of a heap. A word in sync, and a slot, has one writer at a time: the PE that
 * the round of the collective call assigns to it.
 */
struct gda_osh_control {
	struct {
		uint64_t round[GDA_OSH_ROUNDS];	/* epoch that the peer of each round has reached */
		uint64_t epoch;			/* barriers begun by this PE, its only writer */
		uint64_t size;			/* bytes that this PE contributes to a collect */
		uint64_t offer;			/* this PE's numbers for the teams of a split */
		uint64_t reductions;		/* small ones begun by this PE, its only writer */
		uint64_t broadcasts;		/* begun by this PE, its only writer */
		uint64_t told;			/* broadcasts whose data has arrived here */
	} sync[GDA_OSH_MAX_TEAMS];
	/* for odd and for even reductions, because a peer may be one ahead */
	struct gda_osh_slot slots[GDA_OSH_MAX_TEAMS][2][GDA_OSH_ROUNDS + 1];
	uint32_t exit;		/* 0, until the job or the watcher shall end (exit.c) */
	uint32_t asleep;	/* 1: a wait of this PE may be asleep (wait.c) */
	int32_t cpu;		/* processor on which this PE polled last; -1: none (wait.c) */
};

struct gda_osh_team {
	int start;		/* PEs of the world: start, start + stride, ... */
	int stride;
	int size;
	int me;			/* index of this PE; -1: not a member */
	int number;		/* index of this PE's words in struct gda_osh_control */
	uint8_t *numbers;	/* the same for each member, by its index */
	shmem_team_config_t config;
	struct gda_osh_ctx *contexts;
};

struct gda_osh_ctx {
	struct gda_osh_team *team;
	long options;
	struct gda_osh_ctx *next;	/* of the team */
};

struct gda_osh {
	unsigned int npes;	/* 0: shmem_init() was not called yet */
	int me;
	struct gda_shmem *s;	/* a heap of no PEs, before shmem_init() */
	struct gda_shmem *left;	/* for leak checkers: the heap, without shmem_finalize() */
	struct gda_osh_control *control;	/* where the heap begins */
	struct gda_comm *comm;
	struct gda_osh_team world;
	struct gda_osh_team shared;
	bool crowded;		/* PEs and workers outnumber the processors */
	unsigned int spins;	/* polls of a word before gda_osh_rest() acts */
	unsigned int looks;	/* polls before a wait of a collective call sleeps */
	int threads;		/* SHMEM_THREAD_* */
	uint32_t flags;		/* for posts: GDA_EXCLUSIVE unless threads may post at once */
	bool stopping;		/* this PE is in the last barrier */
	bool finalized;
};

extern struct gda_osh gda_osh;

/* exit.c */

/* Print an error, and end the job. @call: "shmem_..."; @peer: a PE, or -1. */
__attribute__((noreturn, cold, format(printf, 3, 4)))
void gda_osh_die(const char *call, int peer, const char *format, ...);
/* The call cannot use this address or PE: print which, and end the job. */
__attribute__((noreturn, cold))
void gda_osh_bad(const char *call, const void *addr, size_t bytes, int pe);
/* An error that all PEs know: PE 0 prints it, and all end. */
__attribute__((noreturn, cold, format(printf, 2, 3)))
void gda_osh_die_together(const char *call, const char *format, ...);
int gda_osh_watch_start(void);
void gda_osh_watch_stop(void);
/* Does not return if the job was ended, or if a PE is lost or has left too early. */
void gda_osh_check(const char *call);

/* wait.c */

void gda_osh_wait_init(bool crowded);
/* Called after the @polls-th poll in vain. */
__attribute__((cold))
void gda_osh_rest(const char *call, unsigned int polls);
/* p2p.c: called after a test that a program may repeat until it @holds. Return: @holds */
bool gda_osh_tested(const char *call, bool holds);
/* Wait until the word is @least or more; a PE that stores it wakes this one. */
__attribute__((cold))
void gda_osh_sleep_least(const char *call, const uint64_t *word, uint64_t least);
/* Wake the PE whose @asleep this is, if it is set. */
__attribute__((cold))
void gda_osh_wake(uint32_t *asleep);

/* segment.c */

struct gda_osh_program;

/*
 * Replace the main program's variables by a memfd that is mapped in their place. Return: the memfd,
 * or a negative errno; -ENOENT if there are no variables.
 */
int gda_osh_data_create(const struct gda_osh_program *program);
/*
 * Is fork(2) refused, because the child would write to the parent's variables before it has its
 * own?
 */
bool gda_osh_fork_is_refused(void);

/* program.c */

#define GDA_OSH_BUILD_ID_BYTES	32

/* The main program's page-aligned variables, and an identification of its build. */
struct gda_osh_program {
	uintptr_t base;
	size_t bytes;
	bool is_static;		/* the C library's variables are among them */
	unsigned char build_id[GDA_OSH_BUILD_ID_BYTES];
};

void gda_osh_program_find(struct gda_osh_program *program);

/* blocks.c: offsets from the heap's base, which are the same at each PE after the same calls */

int gda_osh_blocks_init(size_t start, size_t end);
void gda_osh_blocks_fini(void);
/* Return: the offset, or 0. */
size_t gda_osh_block_alloc(size_t alignment, size_t size);
/* Return: the size of the block at @offset; 0 if nothing is allocated there. */
size_t gda_osh_block_size(size_t offset);
void gda_osh_block_free(size_t offset);
/* How many bytes are free in all, and in the largest block. */
void gda_osh_blocks_free(size_t *all, size_t *largest);

/* team.c */

/* Return: 0 or -ENOMEM. */
int gda_osh_teams_init(void);
/* Free the remaining teams, and all contexts. */
void gda_osh_teams_fini(void);
/* Return: the team of a handle, of which this PE must be a member; does not return otherwise. */
struct gda_osh_team *gda_osh_team_get(const char *call, shmem_team_t team);

/* The members of a team or of an active set, and the words by which they synchronize. */
struct gda_osh_group {
	int start;
	int stride;
	int size;
	int me;
	struct gda_osh_team *team;	/* or, for an active set of only some PEs: */
	long *psync;
	bool is_set;			/* an active set, even if it is all PEs */
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
/*
 * Wait until all members have come; their earlier stores are visible then. Does not include a
 * quiet.
 */
void gda_osh_group_sync(const char *call, const struct gda_osh_group *g);
/* The word in which a member announces how many bytes it contributes, as this PE addresses it. */
uint64_t *gda_osh_group_size_word(const struct gda_osh_group *g, int index);

/* A strided transfer: elements of 1, 2, 4, 8 or 16 bytes; strides are in elements. */
struct gda_osh_strided {
	void *dest;
	const void *source;
	ptrdiff_t dst;
	ptrdiff_t sst;
	size_t nelems;
	size_t bytes;		/* of an element */
};

/*
 * queue.c: for a PE that is reached by queue. Except init, none of these returns after a failure.
 */

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
/*
 * Words of the library, for which a call of the peer waits: a program's quiet need not wait for
 * them.
 */
void gda_osh_queue_set(const char *call, uint64_t *word, uint64_t value, int pe);
void gda_osh_queue_add(const char *call, uint64_t *word, uint64_t value, int pe);
void gda_osh_queue_iput(const char *call, const struct gda_osh_strided *w, int pe);
void gda_osh_queue_iget(const char *call, const struct gda_osh_strided *w, int pe);

/* An atomic on a word of 4 or 8 bytes; operands and old value have the memory's format. */
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

/* A block, followed by a signal. */
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

/* collect.c: @bytes is the size of all that a PE contributes */

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
/* Called in a child of fork(2), which is no PE. */
void gda_osh_forget(void);

#pragma GCC visibility pop

#endif /* GDA_OSH_H */

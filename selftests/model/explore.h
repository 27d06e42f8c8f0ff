/* SPDX-License-Identifier: MIT */
/*
 * Every interleaving of a few small threads, by running them.
 *
 * A model is C code: threads that work on a block of shared state and call
 * explore_step() before each access that others can see. The explorer runs one thread
 * up to its next step, and from every state it reaches tries every thread that can go
 * on. A state is the shared block and the threads' stacks and registers, saved and put
 * back byte for byte; one that was seen before (by a 64-bit fingerprint) is not
 * explored again, so loops that change nothing end. Memory is sequentially consistent.
 *
 * It finds: explore_fail() and explore_check() from any thread, threads that wait for
 * ever (deadlock, lost wake-up) and what the model's @finished finds at the end of
 * every run. The failing run is printed, step by step.
 *
 * In a thread: no allocation, no stdio, no deep stacks, no state outside of the shared
 * block and the stack.
 */
#ifndef GDA_EXPLORE_H
#define GDA_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_THREADS	6

struct explore_thread {
	const char *name;
	void (*main)(int id);
	int id;
	bool daemon;		/* may wait for ever once all others have ended */
};

struct explore_model {
	void *shared;		/* restored before every step */
	size_t shared_bytes;
	void (*init)(void);	/* fill @shared */
	/*
	 * Clear in a copy of @shared what nobody will look at again; states that differ
	 * only there are one. Optional.
	 */
	void (*forget)(void *shared);
	void (*finished)(void);	/* all threads but daemons have ended; daemons wait */
	struct explore_thread thread[EXPLORE_THREADS];
	uint64_t max_states;	/* give up beyond; 0: 200 million */
};

struct explore_result {
	uint64_t states;	/* different ones */
	uint64_t steps;
	uint64_t runs;		/* that came to an end */
	bool complete;		/* everything was explored */
	char failure[160];	/* empty: none */
};

/* Explore all of it, or up to the first failure, which is printed if @verbose. */
void explore(const struct explore_model *m, struct explore_result *r, bool verbose);

/* Others may run here; @what and @where only say what comes next. */
void explore_step(const char *what, const void *where);
/* Every number below @n. */
unsigned int explore_choose(unsigned int n);
/* Go on once @ready() is true; it is called often and may look at the shared block. */
void explore_wait(const char *what, bool (*ready)(long arg), long arg);
/* The id of the thread that runs. */
int explore_self(void);
/* No need to go on with this run: another one is the same but for names. */
void explore_prune(void);
/* This run is wrong. */
void explore_fail(const char *why);

#define explore_check(cond) do {		\
	if (!(cond))				\
		explore_fail(#cond);		\
} while (0)

#endif /* GDA_EXPLORE_H */

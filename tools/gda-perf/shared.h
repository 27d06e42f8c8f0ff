/* SPDX-License-Identifier: MIT */
/*
 * gda-perf shared: the cost of waits on shared processors. Measures kinds of exchange between
 * threads of this process, each beside the same exchange over bare words of memory.
 */
#ifndef GDA_PERF_SHARED_H
#define GDA_PERF_SHARED_H

#include <stdint.h>

#define SHARED_RANKS	4U	/* most threads of a group */

/*
 * A kind of exchange. Threads call @step in rounds, from 1 on. A round is over when all of them
 * have returned.
 */
struct shared_way {
	void *(*open)(void);
	int (*step)(void *group, unsigned int rank, uint64_t round);
};

struct shared_kind {
	const char *name;	/* in JSON */
	const char *what;	/* in tables */
	unsigned int threads;	/* that call step() */
	unsigned int polls;	/* threads that poll, without the workers of contexts */
	unsigned int parts;	/* parts of a round; the figure is the time of one part */
	double most;		/* the bar, in times of bare words; 0: none */
	struct shared_way ours;
	struct shared_way bare;
	unsigned int bare_threads;
};

/* exchange.c */
extern const struct shared_kind shared_kinds[];
extern const unsigned int shared_nkinds;

#endif /* GDA_PERF_SHARED_H */

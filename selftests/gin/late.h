/* SPDX-License-Identifier: MIT */
/*
 * Ranks of gda/gin.h in plain memory, and a consumer of their queues that a test steps.
 * Each step carries out one work request of some queue, as a seed says, and fetches its
 * payload only then; completions are reported later still. So it does all that is legal
 * between queues, and is a function of the seed: no thread, no clock.
 *
 * Within a queue it keeps the order of RC. With late_loose() it does not: requests of one queue
 * are carried out in any order, as on SRD. Then @count says how many are done, and the CQ up to
 * where all of them are.
 */
#ifndef GIN_LATE_H
#define GIN_LATE_H

#include <stdbool.h>
#include <gda/gin.h>
#include "fake_nic.h"

#define LATE_RANKS	4U
#define LATE_CONTEXTS	2U

struct late_attr {
	uint32_t nranks, contexts, signals, counters, barriers, depth;
	bool arrival;
	uint64_t bytes;			/* of a window */
};

struct late_queue {
	struct fake_queue *fake;
	uint32_t context, endpoint, rank, peer;
	uint64_t done;			/* all below were carried out */
	uint64_t ahead;			/* bit i: so was @done + i; 0 but for late_loose() */
	uint64_t count;			/* how many were */
	uint64_t reported;
};

struct late {
	struct late_attr attr;
	uint32_t endpoints, slots, nqueues;
	bool loose;
	uint64_t seed;
	struct gda_gin *gins;		/* of context c and rank r at c * nranks + r */
	struct late_queue *queues;
	struct gda_gin_queue *gin_queues;
	uint64_t *words;
	struct gda_window windows[LATE_RANKS];
	struct gda_window_part parts[LATE_RANKS];
	unsigned char *memory;		/* of rank r from r * bytes on */
};

void late_create(struct late *l, const struct late_attr *attr);
void late_destroy(struct late *l);

/* Begin anew to choose. */
void late_seed(struct late *l, uint64_t seed, bool loose);
uint32_t late_random(struct late *l, uint32_t below);

/* Carry something out, or report it. Return: false if all was carried out and reported. */
bool late_step(struct late *l);

struct gda_gin *late_gin(struct late *l, uint32_t context, uint32_t rank);
struct late_queue *late_queue(struct late *l, uint32_t context, uint32_t endpoint, uint32_t rank,
			      uint32_t peer);

#endif /* GIN_LATE_H */

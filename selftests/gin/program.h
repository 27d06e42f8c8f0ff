/* SPDX-License-Identifier: MIT */
/* Random programs of gda/gin.h, see program.c; the world that they run in is made by programs.c. */
#ifndef GIN_PROGRAM_H
#define GIN_PROGRAM_H

#include "late.h"

#define RANKS		LATE_RANKS
#define CONTEXTS	LATE_CONTEXTS
#define STEPS		24U	/* of a program, at most */
#define CELL		64U	/* bytes, of each step */
#define CELLS		(STEPS * CELL)

/* A window: what arrives, what is sent, what is got, what is read by gets, words. */
#define INBOX		0U
#define OUTBOX		CELLS
#define GOT		(2 * CELLS)
#define FIXED		(3 * CELLS)
#define WORDS		(3 * CELLS + CELL)
#define BYTES		8192U

struct step;

struct world {
	uint32_t nranks, nsteps;
	bool arrival;
	struct gda_gin *gin[CONTEXTS][RANKS];
	struct gda_window *window[RANKS];
	unsigned char *memory[RANKS];
	struct late *late;		/* or NULL */
	uint64_t seed;
	struct step *steps;		/* room for STEPS */
	bool add;			/* signals are added to; else Inc */
	uint64_t signals[CONTEXTS][RANKS][RANKS];	/* by @from to @to; the signal is @from */
	uint64_t words[CONTEXTS][RANKS][RANKS];
	uint64_t ticks[CONTEXTS][RANKS][2 * RANKS];
	uint64_t polls, looks;
	const char *broken;
};

/* Run as many as there are to be. Return: NULL, or what was broken first. */
const char *programs_run(struct world *w, uint64_t n);

#endif /* GIN_PROGRAM_H */

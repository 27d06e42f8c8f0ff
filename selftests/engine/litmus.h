/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Litmus tests of what a queue orders: a poster, a second processor that sees the memory at both
 * ends, and the executor, which order.h lets choose. All three take steps in every order, and each
 * run is determined by a tape: the choices that were made, one after the other. litmus_run() goes
 * through all tapes.
 *
 * A memory word has a name: 'a' to 'h' are words at the poster, 'p' to 'w' words at the other end.
 * All are 8 bytes, of which the tests use values 0 to 9.
 */
#ifndef GDA_TEST_LITMUS_H
#define GDA_TEST_LITMUS_H

#include "host.h"

#define LITMUS_STEPS	8U		/* most of one processor */
#define LITMUS_REGS	4U
#define LITMUS_TAPE	64U		/* most choices of a run */
#define LITMUS_OUTCOMES	64U		/* most that differ */

enum litmus_op {
	LITMUS_END,
	/* posts; each is signaled, and rung at once */
	LITMUS_PUT,			/* @n words of @local to @remote */
	LITMUS_PUT_FENCED,		/* ... after all earlier reads and atomics */
	LITMUS_PUT_IMM,			/* ... with an immediate */
	LITMUS_GET,			/* @n words of @remote to @local */
	LITMUS_ADD,			/* add @n to @remote, the old value to @local */
	/* steps of a processor */
	LITMUS_WAIT,			/* until post number @n is done */
	LITMUS_UNTIL,			/* ... until @local is @n */
	LITMUS_LOAD,			/* @local, which may be any word, to register @n */
	LITMUS_STORE,			/* @n to @local */
	LITMUS_IMMS,			/* how many immediates have arrived, to register @n */
};

struct litmus_step {
	enum litmus_op op;
	char local;
	char remote;
	u8 n;
};

/**
 * struct litmus - a test
 * @name: printed
 * @init: values at the begin: "a1p0" says that a is 1; all others are 0
 * @poster: steps of the poster
 * @second: steps of the other processor
 * @mlx5: the outcomes that an ordered queue allows, separated by blanks: a digit per register
 * @efa: those of an unordered queue; NULL: it cannot run there
 */
struct litmus {
	const char *name;
	const char *init;
	struct litmus_step poster[LITMUS_STEPS];
	struct litmus_step second[LITMUS_STEPS];
	const char *mlx5;
	const char *efa;
};

extern const struct litmus litmus_tests[];
extern const u32 litmus_ntests;

#endif /* GDA_TEST_LITMUS_H */

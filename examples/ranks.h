/* SPDX-License-Identifier: MIT */
/*
 * Ranks of the examples: processes where gda-run started them,
 *
 *	gda-run -n 4 gin-allgather
 *
 * and else four threads of the program, on the in-process device if there is no /dev/gda.
 */
#ifndef EXAMPLES_RANKS_H
#define EXAMPLES_RANKS_H

#include <stdbool.h>
#include <gda/comm.h>
#include <gda/gda.h>

/* Ends the program with @name and what gda_last_error() says, unless @err is 0. */
void must(int err, const char *name);

/*
 * Run @body on all ranks. It returns whether its result is that of a serial reference. Return:
 * the exit status.
 */
int run_all(const char *name, bool (*body)(struct gda_comm *ranks, const void *arg),
	    const void *arg);

#endif /* EXAMPLES_RANKS_H */

// SPDX-License-Identifier: MIT
/*
 * Texts for the findings of GDA_CHECK: one line, then the program is ended.
 */
#include <stdio.h>
#include <stdlib.h>
#include "gin_internal.h"

GDA_EXPORT void gda_misuse(enum gda_gin_misuse what, const struct gda_gin *gin, uint32_t index)
{
	static const struct {
		const char *name, *of, *why;
	} words[] = {
		[GDA_MISUSE_MIXED] = { "mixed", "signal", "Inc and Add of one signal: reset it in between" },
		[GDA_MISUSE_RESET] = { "reset", "signal",
			"peers' signals are on their way: wait for them before the reset" },
		[GDA_MISUSE_WINDOW] = { "window", "peer",
			"a word of an ordinary window as a signal: register GDA_WINDOW_STRICT" },
		[GDA_MISUSE_EXCLUSIVE] = { "exclusive", "rank",
			"GDA_EXCLUSIVE is for the one thread of a GDA_GIN_SHARE_THREAD context" },
		[GDA_MISUSE_SOURCE] = { "source", "counter",
			"the source was changed before the counter ticked: wait for it" },
		[GDA_MISUSE_BARRIER] = { "barrier", "barrier",
			"the barrier has a session: end that, or use another index" },
		[GDA_MISUSE_LAYOUT] = { "layout", "version",
			"the library is older than the program: update libgda" },
	};

	fprintf(stderr, "gda: misuse '%s': rank %u, context %u, %s %u: %s\n", words[what].name,
		gin->rank, gin->index, words[what].of, index, words[what].why);
	abort();
}

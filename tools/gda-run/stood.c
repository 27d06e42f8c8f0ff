// SPDX-License-Identifier: MIT
/*
 * Reports where ranks are when the time limit is over: one line each, from what /proc shows to
 * their user.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "run.h"

#define STOOD_PF_EXITING	0x4UL	/* PF_EXITING of linux/sched.h, in proc_pid_stat(5) */

/* Read the first line of a file of a process in /proc; "" if it cannot be read. */
static void proc_line(pid_t pid, const char *name, char *line, size_t room)
{
	char path[64];
	FILE *file;

	line[0] = 0;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "re");
	if (!file)
		return;
	if (!fgets(line, (int)room, file))
		line[0] = 0;
	line[strcspn(line, "\n")] = 0;
	fclose(file);
}

bool rank_is_ending(const struct run_rank *r)
{
	unsigned long flags;
	const char *after;
	char stat[512];

	proc_line(r->pid, "stat", stat, sizeof(stat));
	after = strrchr(stat, ')');
	return after && sscanf(after, ") %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 &&
	       flags & STOOD_PF_EXITING;
}

static const char *state_words(char state)
{
	switch (state) {
	case 'R':
		return "runs: it computes or polls memory";
	case 'S':
		return "sleeps: it waits for a rank, for input or for time";
	case 'D':
		return "waits for a disk or a device";
	case 'T':
		return "is stopped by a signal";
	case 't':
		return "is stopped by a debugger";
	case 'Z':
		return "has ended";
	default:
		return "is in a state that this program does not know";
	}
}

void ranks_stood(const struct run_rank *ranks, const struct run_options *opt,
		 struct run_stream *own, bool stopped)
{
	unsigned long user, system;
	char stat[512], where[64];
	const char *after;
	bool any = false;
	uint32_t rank;
	char state;

	for (rank = 0; rank < opt->nranks; rank++) {
		if (!ranks[rank].pid)
			continue;
		proc_line(ranks[rank].pid, "stat", stat, sizeof(stat));
		proc_line(ranks[rank].pid, "wchan", where, sizeof(where));
		/* the program chooses the name before it, which may have any bytes */
		after = strrchr(stat, ')');
		if (!after || sscanf(after, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
				     &state, &user, &system) != 3)
			continue;
		if (stopped && state != 'T' && state != 't')
			continue;
		any = true;
		stream_say(own, "gda-run: rank %u (pid %d) %s%s%s%s, after %.2f s of processor\n",
			   opt->first + rank, (int)ranks[rank].pid, state_words(state),
			   state == 'S' && where[0] && strcmp(where, "0") ? " (" : "",
			   state == 'S' && strcmp(where, "0") ? where : "",
			   state == 'S' && where[0] && strcmp(where, "0") ? ")" : "",
			   (double)(user + system) / (double)sysconf(_SC_CLK_TCK));
	}
	if (any && stopped)
		stream_say(own, "gda-run: others may have waited for it: kill -CONT PID lets it go on%s\n",
			   opt->keep ? "" : ", gda-run -k keeps it");
	else if (any)
		stream_say(own, "gda-run: gdb -p PID -batch -ex 'thread apply all bt' would have shown where in the program\n");
}

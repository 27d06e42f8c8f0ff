// SPDX-License-Identifier: MIT
/*
 * A rank for lost.sh. Arguments:
 *
 * idle|data: until this is told that another is lost, which waits, or gathers all the time;
 * stopped|traced|quiet RANK S: that one of three ranks does not run for S seconds. It is stopped by
 * SIGSTOP, or as a debugger does, while bytes are under way to it; quiet: while there are none.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <gda/barrier.h>
#include <gda/comm.h>
#include <gda/gda.h>

#define SECOND		1000000000ULL
#define DATA_BYTES	(1U << 20)

static void nap(unsigned int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

/* --- a machine is lost --- */

static int lost(struct gda_comm *comm, bool data)
{
	uint64_t until = gda_clock_ns() + 60 * SECOND;
	char *in = calloc(1, DATA_BYTES), *out = calloc(gda_comm_size(comm), DATA_BYTES);

	while (gda_comm_failed(comm) < 0 && gda_clock_ns() < until) {
		if (data)
			gda_comm_allgather(comm, in, DATA_BYTES, out, until);
		else
			nap(10);
	}
	printf("rank %u names %d at %llu\n", gda_comm_rank(comm), gda_comm_failed(comm),
	       (unsigned long long)(gda_clock_ns() / 1000000));
	fflush(stdout);
	/* who is told last must hear it from a hub that lives */
	nap(1000);
	_exit(0);
}

/* --- a process does not run --- */

static void stop_threads(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;
	pid_t tid;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		tid = atoi(entry->d_name);
		if (tid && (ptrace(PTRACE_SEIZE, tid, 0, 0) || ptrace(PTRACE_INTERRUPT, tid, 0, 0)))
			perror("ptrace");
	}
	if (dir)
		closedir(dir);
}

/* Lets go of threads that it has seen stop. */
static void free_threads(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	int status;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (!atoi(entry->d_name))
			continue;
		waitpid(atoi(entry->d_name), &status, __WALL);
		ptrace(PTRACE_DETACH, atoi(entry->d_name), 0, 0);
	}
	if (dir)
		closedir(dir);
}

/* The parent of the rank: stops it two seconds after it says that it is there. */
static int watch(pid_t child, int ready, bool traced, unsigned int seconds)
{
	int status;
	char c;

	if (read(ready, &c, 1) == 1) {
		nap(2000);
		if (traced)
			stop_threads(child);
		else
			kill(child, SIGSTOP);
		nap(seconds * 1000);
		if (traced)
			free_threads(child);
		else
			kill(child, SIGCONT);
	}
	while (waitpid(child, &status, 0) != child)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* The one that will not run comes to the call first; the others when it has stopped. */
static int stopped(struct gda_comm *comm, bool quiet, bool self, unsigned int seconds)
{
	uint32_t n = gda_comm_size(comm), rank = gda_comm_rank(comm), i;
	char *in = malloc(DATA_BYTES), *out = calloc(n, DATA_BYTES);
	bool right = true;
	int err;

	memset(in, (int)rank + 1, DATA_BYTES);
	if (!self)
		nap(quiet ? 1000 * (seconds + 3) : 3000);
	else if (quiet)
		nap(1000);
	err = gda_comm_allgather(comm, in, DATA_BYTES, out, gda_clock_ns() + 200 * SECOND);
	for (i = 0; i < n; i++)
		right &= out[(size_t)i * DATA_BYTES] == (char)(i + 1) &&
			 out[(size_t)(i + 1) * DATA_BYTES - 1] == (char)(i + 1);
	printf("rank %u: %d%s, failed %d\n", rank, err, right ? "" : " wrong bytes",
	       gda_comm_failed(comm));
	return err || !right || gda_comm_failed(comm) >= 0;
}

int main(int argc, char **argv)
{
	struct gda_comm_attr attr = { .size = sizeof(attr), .timeout_ns = 200 * SECOND };
	const char *what = argc > 1 ? argv[1] : "", *me = getenv("GDA_COMM_RANK");
	bool self = argc > 3 && me && !strcmp(me, argv[2]);
	unsigned int seconds = argc > 3 ? (unsigned int)atoi(argv[3]) : 0;
	int ready[2] = { -1, -1 }, err;
	struct gda_comm *comm;
	pid_t child;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (self) {
		if (pipe(ready))
			return 1;
		child = fork();
		if (child) {
			close(ready[1]);
			return watch(child, ready[0], !strcmp(what, "traced"), seconds);
		}
	}
	err = gda_comm_create(&attr, &comm);
	if (!err)
		err = gda_comm_barrier(comm, 0);
	if (err) {
		printf("rank %s: %s\n", me, gda_last_error());
		return 1;
	}
	puts("ready");
	if (self && write(ready[1], "", 1) != 1)
		return 1;
	if (!seconds)
		return lost(comm, !strcmp(what, "data"));
	err = stopped(comm, !strcmp(what, "quiet"), self, seconds);
	gda_comm_destroy(comm);
	return err;
}

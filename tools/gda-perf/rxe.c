// SPDX-License-Identifier: MIT
/*
 * rdma_rxe, the kernel's software RDMA device, by the programs of package perftest as
 * they come: a server and a client on this machine, which is connected to itself.
 *
 * perftest converts cycles by a frequency that it estimates, which under emulation goes
 * wrong at times; a run that prints no number does not count.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "perf.h"

#define RXE_COLUMNS	16
#define RXE_SECONDS	"60"	/* most that a run may take */

/* A program of perftest, and which columns of its last line are what. */
struct rxe_tool {
	const char *program;
	const char *args[6];
	uint32_t bytes;
	int value, p99, p999, max;	/* 0: none */
	double scale;
};

enum { RXE_WRITE_LAT, RXE_ATOMIC_LAT, RXE_WRITE_RATE, RXE_LIST_RATE, RXE_WRITE_BW };

/* bytes iterations min max typical average stdev 99% 99.9%, or: peak average rate */
static const struct rxe_tool rxe_tools[] = {
	[RXE_WRITE_LAT] = { "ib_write_lat", { "-s", "8", "-n", "2000" }, 8, 4, 7, 8, 3, 1 },
	[RXE_ATOMIC_LAT] = { "ib_atomic_lat", { "-n", "2000" }, 8, 4, 7, 8, 3, 1 },
	[RXE_WRITE_RATE] = { "ib_write_bw", { "-s", "8", "-n", "10000" }, 8, 4, 0, 0, 0, 1 },
	[RXE_LIST_RATE] = { "ib_write_bw", { "-s", "8", "-n", "10000", "-l", "16" }, 8, 4, 0,
			    0, 0, 1 },
	[RXE_WRITE_BW] = { "ib_write_bw", { "-s", "65536", "-n", "1000" }, 65536, 3, 0, 0, 0,
			   1048576 / 1e9 },
};

static char device[64];
static unsigned int port = 18600;

static bool rxe_find(void)
{
	DIR *d = opendir("/sys/class/infiniband");
	struct dirent *entry;

	if (perf_options.rxe)
		snprintf(device, sizeof(device), "%s", perf_options.rxe);
	for (entry = d ? readdir(d) : NULL; entry && !device[0]; entry = readdir(d))
		if (!strncmp(entry->d_name, "rxe", 3))
			snprintf(device, sizeof(device), "%.63s", entry->d_name);
	if (d)
		closedir(d);
	return device[0];
}

static bool rxe_has(const char *program)
{
	char path[64];

	snprintf(path, sizeof(path), "/usr/bin/%s", program);
	return !access(path, X_OK);
}

/* Start a side of @tool; its output goes to @out. Return: process, or -1. */
static pid_t rxe_start(const struct rxe_tool *tool, bool client, int out)
{
	char number[16];
	const char *argv[20] = {
		"timeout", RXE_SECONDS, tool->program, "-F", "-d", device, "-x", "1", "-p", number,
	};
	unsigned int n = 10;
	posix_spawn_file_actions_t files;
	pid_t pid;
	int err;

	snprintf(number, sizeof(number), "%u", port);
	for (unsigned int i = 0; i < 6 && tool->args[i]; i++)
		argv[n++] = tool->args[i];
	if (client)
		argv[n] = "127.0.0.1";
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, 1);
	posix_spawn_file_actions_adddup2(&files, out, 2);
	perf_threads_free(true);
	err = posix_spawnp(&pid, argv[0], &files, NULL, (char **)(uintptr_t)argv,
			   environ);
	perf_threads_free(false);
	posix_spawn_file_actions_destroy(&files);
	return err ? -1 : pid;
}

/* Does a server listen at @port? */
static bool rxe_listening(const char *table)
{
	char line[256], want[16];
	bool found = false;
	FILE *f = fopen(table, "re");

	if (!f)
		return false;
	snprintf(want, sizeof(want), ":%04X ", port);
	while (!found && fgets(line, sizeof(line), f)) {
		char *colon = strstr(line, want);

		/* local address, remote address, state 0A */
		found = colon && strstr(colon, " 0A ");
	}
	fclose(f);
	return found;
}

static bool rxe_await_server(void)
{
	const struct timespec nap = { .tv_nsec = 20000000 };

	for (int i = 0; i < 500; i++) {
		if (rxe_listening("/proc/net/tcp") || rxe_listening("/proc/net/tcp6"))
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

/* The line of figures, of which the first is the size. Return: how many columns. */
static unsigned int rxe_parse(FILE *f, uint32_t bytes, double *column)
{
	unsigned int n = 0;
	char line[512];

	while (fgets(line, sizeof(line), f)) {
		char *at = line, *end;
		unsigned int k = 0;

		for (; k < RXE_COLUMNS; k++, at = end) {
			column[k] = strtod(at, &end);
			if (end == at)
				break;
		}
		if (k > 4 && column[0] == bytes)
			return k;
		n = 0;
	}
	return n;
}

static void rxe_take(const struct rxe_tool *tool, const double *column, unsigned int n,
		     struct perf_sample *s)
{
	const struct {
		int from;
		double *to;
	} which[] = {
		{ tool->value, &s->value }, { tool->p99, &s->p99 },
		{ tool->p999, &s->p999 }, { tool->max, &s->max },
	};

	for (unsigned int i = 0; i < sizeof(which) / sizeof(which[0]); i++)
		if (which[i].from && (unsigned int)which[i].from < n &&
		    isfinite(column[which[i].from]))
			*which[i].to = column[which[i].from] * tool->scale;
}

/* Return: 0, also if no figure came out, or a negative errno. */
static int rxe_client(const struct rxe_tool *tool, struct perf_sample *s)
{
	double column[RXE_COLUMNS];
	FILE *f = tmpfile();
	int status = 0;
	pid_t pid;

	if (!f)
		return -errno;
	pid = rxe_start(tool, true, fileno(f));
	if (pid > 0)
		waitpid(pid, &status, 0);
	rewind(f);
	rxe_take(tool, column, rxe_parse(f, tool->bytes, column), s);
	fclose(f);
	return pid < 0 ? -ENOENT : 0;
}

static int rxe_measure(struct perf_row *row, struct perf_sample *s)
{
	const struct rxe_tool *tool = &rxe_tools[row->arg];
	int null, err = -ETIMEDOUT;
	pid_t server;

	if (!perf_options.rxe && !device[0] && !rxe_find())
		return perf_missing(row, "no rdma_rxe device here");
	if (!rxe_has(tool->program))
		return perf_missing(row, "no %s here (package perftest)", tool->program);
	rxe_find();
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	port++;
	server = rxe_start(tool, false, null);
	if (server > 0 && rxe_await_server())
		err = rxe_client(tool, s);
	if (server > 0) {
		kill(server, SIGTERM);
		waitpid(server, NULL, 0);
	}
	close(null);
	return err ? perf_missing(row, "%s did not start: %s", tool->program, strerror(-err)) : 0;
}

void perf_rxe_plan(void)
{
	perf_row_add(PERF_LAT, "rxe_write", "rxe, ib_write_lat (half a round trip)", 8,
		     rxe_measure, RXE_WRITE_LAT);
	perf_row_add(PERF_LAT, "rxe_atomic", "rxe, ib_atomic_lat", 8, rxe_measure,
		     RXE_ATOMIC_LAT);
	perf_row_add(PERF_RATE, "rxe_write", "rxe, ib_write_bw", 8, rxe_measure, RXE_WRITE_RATE);
	perf_row_add(PERF_RATE, "rxe_write_list", "rxe, ib_write_bw, 16 a post", 8, rxe_measure,
		     RXE_LIST_RATE);
	perf_row_add(PERF_BW, "rxe_write", "rxe, ib_write_bw", 65536, rxe_measure,
		     RXE_WRITE_BW);
}

// SPDX-License-Identifier: MIT
/*
 * Binds threads to CPUs. The thread that posts and polls gets the first CPU, the workers the
 * second. A worker of the kernel is a thread "gda/N", one of the in-process device is a thread of
 * this process; both are found by comparing the lists of threads before and after gda_open().
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "perf.h"

#define PERF_MAX_TIDS	1024
#define PERF_MAX_LINES	16

static cpu_set_t allowed;
static pid_t known[PERF_MAX_TIDS];
static unsigned int nknown;
static char lines[PERF_MAX_LINES][112];
static unsigned int nlines;

unsigned int perf_cpus(void)
{
	return (unsigned int)CPU_COUNT(&allowed);
}

/* The @n-th CPU that we may use, from 0; the last one if there are fewer. */
static int perf_cpu(unsigned int n)
{
	int last = 0;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		last = cpu;
		if (!n--)
			break;
	}
	return last;
}

static int perf_pin(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(tid, sizeof(set), &set);
}

void perf_threads_bind(unsigned int n)
{
	perf_pin(0, perf_cpu(n % perf_cpus()));
}

void perf_threads_free(bool any)
{
	if (any)
		sched_setaffinity(0, sizeof(allowed), &allowed);
	else if (perf_cpus() > 1)
		perf_pin(0, perf_cpu(0));
}

static bool perf_is_worker(const char *dir, const char *tid)
{
	char path[300], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/comm", dir, tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(comm, sizeof(comm), f))
		comm[0] = '\0';
	fclose(f);
	return !strncmp(comm, "gda/", 4) || !strncmp(comm, "gda-inproc", 10);
}

static unsigned int perf_tids_in(const char *dir, pid_t *tids, unsigned int n)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	if (!d)
		return n;
	for (entry = readdir(d); entry && n < PERF_MAX_TIDS; entry = readdir(d))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    perf_is_worker(dir, entry->d_name))
			tids[n++] = (pid_t)atoi(entry->d_name);
	closedir(d);
	return n;
}

static unsigned int perf_tids(pid_t *tids)
{
	return perf_tids_in("/proc/self/task", tids, perf_tids_in("/proc", tids, 0));
}

static bool perf_is_known(pid_t tid)
{
	for (unsigned int i = 0; i < nknown; i++)
		if (known[i] == tid)
			return true;
	return false;
}

void perf_worker_before(void)
{
	nknown = perf_tids(known);
}

void perf_worker_after(const char *what)
{
	static pid_t now[PERF_MAX_TIDS];
	unsigned int n = perf_tids(now);

	for (unsigned int i = 0; i < n; i++)
		if (!perf_is_known(now[i]))
			perf_threads_add(what, now[i], 1);
}

void perf_threads_add(const char *what, pid_t tid, unsigned int n)
{
	int cpu = perf_cpu(n);
	char line[sizeof(lines[0])];

	if (perf_cpus() < 2 || perf_pin(tid, cpu))
		snprintf(line, sizeof(line), "any CPU: %s", what);
	else
		snprintf(line, sizeof(line), "CPU %d: %s", cpu, what);
	for (unsigned int i = 0; i < nlines; i++)
		if (!strcmp(lines[i], line))
			return;
	if (nlines < PERF_MAX_LINES)
		memcpy(lines[nlines++], line, sizeof(line));
}

const char *perf_threads_text(unsigned int i)
{
	return i < nlines ? lines[i] : NULL;
}

void perf_threads_init(void)
{
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		perf_die("sched_getaffinity: %s", strerror(errno));
	perf_threads_add("thread that posts and polls", 0, 0);
}

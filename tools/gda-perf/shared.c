// SPDX-License-Identifier: MIT
/*
 * gda-perf shared: settings of processors and threads, turns of each kind of exchange, and the
 * table.
 *
 *	quiet	one group of threads, each bound to a processor of its own as far as there are
 *	busy	one group that is not bound, and a process that computes on each processor
 *	twice	groups that are not bound, with twice as many threads as there are processors
 *
 * A figure is the mean of a turn, in ns: on shared processors most exchanges are fast and a few
 * wait for a time slice of another thread. In a turn our exchange and the one over bare words get
 * the same time, and each comes first in every second turn. Ratios are of the medians of all turns.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "perf.h"
#include "shared.h"

#define SHARED_GROUPS	64U	/* at most, at once */
#define SHARED_KINDS	8U
#define SHARED_LOOKS	8U	/* rounds between two reads of the clock */

enum { QUIET, BUSY, TWICE, SETTINGS };

static const char *const settings[SETTINGS] = { "quiet", "busy", "twice" };

struct group {
	const struct shared_kind *kind;
	const struct shared_way *way;
	unsigned int threads;
	void *state;
	uint64_t round;		/* the last round that is over */
	uint64_t last;		/* last round of this turn; set by rank 0 before it begins */
	pthread_t thread[SHARED_RANKS];
	double ns;
};

struct member {
	struct group *group;
	unsigned int rank;
	bool bound;
};

/* For each kind of exchange: ours, and over bare words. */
static struct group *groups[SHARED_KINDS][2];
static unsigned int nopen[SHARED_KINDS];
static double figures[SHARED_KINDS][2][PERF_MAX_REPS];
static pid_t *neighbours;
static pthread_barrier_t start;
static bool missed;

/* --- programs that compute --- */

static void neighbour(unsigned int n)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	perf_threads_bind(n);
	for (;;)
		gda_pause();
}

/*
 * Start a process for each CPU that will compute beside the exchanges, and stop it until it is
 * needed. Called before there are threads.
 */
static void neighbours_start(void)
{
	neighbours = calloc(perf_cpus(), sizeof(*neighbours));
	if (!neighbours)
		perf_die("out of memory");
	for (unsigned int i = 0; i < perf_cpus(); i++) {
		neighbours[i] = fork();
		if (neighbours[i] < 0)
			perf_die("cannot create a process: raise ulimit -u");
		if (!neighbours[i])
			neighbour(i);
		kill(neighbours[i], SIGSTOP);
	}
}

static void neighbours_tell(int sig)
{
	for (unsigned int i = 0; i < perf_cpus(); i++)
		kill(neighbours[i], sig);
}

/* --- a turn --- */

static void group_rounds(struct group *g, unsigned int rank)
{
	uint64_t begin = gda_clock_ns(), end = begin + perf_options.ms * 1000000ULL;
	uint64_t first = g->round, round = first;

	do {
		round++;
		if (!rank && (round - first) % SHARED_LOOKS == 0 && gda_clock_ns() >= end)
			__atomic_store_n(&g->last, round, __ATOMIC_RELEASE);
		perf_must(g->way->step(g->state, rank, round), g->kind->name);
	} while (__atomic_load_n(&g->last, __ATOMIC_ACQUIRE) != round);
	if (!rank)
		g->ns = (double)(gda_clock_ns() - begin) / (double)(round - first) / g->kind->parts;
}

static void *member_main(void *arg)
{
	struct member *m = arg;

	if (m->bound)
		perf_threads_bind(m->rank);
	pthread_barrier_wait(&start);
	group_rounds(m->group, m->rank);
	free(m);
	return NULL;
}

static void member_start(struct group *g, unsigned int rank, bool bound)
{
	struct member *m = malloc(sizeof(*m));

	if (!m)
		perf_die("out of memory");
	*m = (struct member){ g, rank, bound };
	perf_must(-pthread_create(&g->thread[rank], NULL, member_main, m), "pthread_create");
}

/* Return: the mean of @n groups that run at the same time. */
static double groups_run(struct group *g, unsigned int n, bool bound)
{
	unsigned int i, r;
	double sum = 0;

	pthread_barrier_init(&start, NULL, n * g->threads);
	for (i = 0; i < n; i++)
		for (r = 0; r < g->threads; r++)
			member_start(&g[i], r, bound);
	for (i = 0; i < n; i++) {
		for (r = 0; r < g->threads; r++)
			pthread_join(g[i].thread[r], NULL);
		g[i].round = g[i].last;
		sum += g[i].ns;
	}
	pthread_barrier_destroy(&start);
	return sum / n;
}

static unsigned int groups_of(const struct shared_kind *kind, int setting)
{
	unsigned int n = setting == TWICE ? 2 * perf_cpus() / kind->polls : 1;

	return n < 1 ? 1 : n < SHARED_GROUPS ? n : SHARED_GROUPS;
}

static void groups_open(unsigned int k, unsigned int n)
{
	const struct shared_kind *kind = &shared_kinds[k];

	for (; nopen[k] < n; nopen[k]++) {
		struct group *ours = &groups[k][0][nopen[k]], *bare = &groups[k][1][nopen[k]];

		*ours = (struct group){
			.kind = kind, .way = &kind->ours, .threads = kind->threads,
			.state = kind->ours.open(),
		};
		*bare = (struct group){
			.kind = kind, .way = &kind->bare, .threads = kind->bare_threads,
			.state = kind->bare.open(),
		};
	}
}

/* --- the table --- */

static double worst_of(unsigned int k)
{
	double worst = 0;

	for (unsigned int i = 0; i < perf_options.reps; i++) {
		double ratio = figures[k][0][i] / figures[k][1][i];

		worst = ratio > worst ? ratio : worst;
	}
	return worst;
}

static double load(void)
{
	double avg = 0;

	return getloadavg(&avg, 1) == 1 ? avg : 0;
}

/* Return: whether the row meets its bar, if it has one. */
static bool report_text(const struct shared_kind *kind, double bare, double ours, double worst)
{
	bool met = !kind->most || ours / bare <= kind->most;

	printf("%-44s %12.1f %12.1f %8.2f %8.2f", kind->what, bare, ours, ours / bare, worst);
	if (kind->most)
		printf("  at most %g: %s", kind->most, met ? "met" : "missed");
	putchar('\n');
	return met;
}

static bool report_json(const struct shared_kind *kind, int setting, double bare, double ours,
			double worst)
{
	static bool begun;
	bool met = !kind->most || ours / bare <= kind->most;

	printf("%s{\"setting\": \"%s\", \"row\": \"%s\", \"groups\": %u", begun ? ",\n" : "[",
	       settings[setting], kind->name, groups_of(kind, setting));
	printf(", \"bare_ns\": %.1f, \"gda_ns\": %.1f, \"worst\": %.3f", bare, ours, worst);
	if (kind->most)
		printf(", \"at_most\": %g, \"met\": %s", kind->most, met ? "true" : "false");
	putchar('}');
	begun = true;
	return met;
}

static void report(int setting)
{
	if (!perf_options.json)
		printf("\n%s: %u processors, median of %u turns, load %.1f\n"
		       "%-44s %12s %12s %8s %8s\n", settings[setting], perf_cpus(),
		       perf_options.reps, load(), "ns", "bare words", "GDA", "ratio", "worst");
	for (unsigned int k = 0; k < shared_nkinds; k++) {
		double ours = perf_median(figures[k][0], perf_options.reps);
		double bare = perf_median(figures[k][1], perf_options.reps);

		if (perf_options.json)
			missed |= !report_json(&shared_kinds[k], setting, bare, ours, worst_of(k));
		else
			missed |= !report_text(&shared_kinds[k], bare, ours, worst_of(k));
	}
	fflush(stdout);
}

static void setting_run(int setting)
{
	unsigned int k, turn, i;

	if (setting == BUSY)
		neighbours_tell(SIGCONT);
	for (turn = 0; turn < perf_options.reps; turn++)
		for (k = 0; k < shared_nkinds; k++)
			for (i = 0; i < 2; i++) {
				unsigned int who = (turn + i) % 2;

				figures[k][who][turn] =
					groups_run(groups[k][who],
						   groups_of(&shared_kinds[k], setting),
						   setting == QUIET);
			}
	if (setting == BUSY)
		neighbours_tell(SIGSTOP);
	report(setting);
}

static int setting_of(const char *name)
{
	for (int s = 0; s < SETTINGS; s++)
		if (!strcmp(name, settings[s]))
			return s;
	return -1;
}

/* @names: of settings; none means all. Return: the exit status. */
int perf_shared(char **names)
{
	bool chosen[SETTINGS] = { false }, all;
	unsigned int k;
	int s;

	for (; *names; names++) {
		s = setting_of(*names);
		if (s < 0)
			return -1;
		chosen[s] = true;
	}
	all = !chosen[QUIET] && !chosen[BUSY] && !chosen[TWICE];
	for (s = 0; s < SETTINGS; s++)
		chosen[s] |= all;
	perf_threads_free(true);
	neighbours_start();
	for (k = 0; k < shared_nkinds; k++) {
		for (s = 0; s < 2; s++) {
			groups[k][s] = calloc(SHARED_GROUPS, sizeof(*groups[k][s]));
			if (!groups[k][s])
				perf_die("out of memory");
		}
		groups_open(k, groups_of(&shared_kinds[k], chosen[TWICE] ? TWICE : QUIET));
	}
	for (s = 0; s < SETTINGS; s++)
		if (chosen[s])
			setting_run(s);
	if (perf_options.json)
		puts("]");
	neighbours_tell(SIGKILL);
	while (wait(NULL) > 0)
		;
	return perf_options.check && missed ? 3 : 0;
}

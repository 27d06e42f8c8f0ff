// SPDX-License-Identifier: MIT
/*
 * GDA_CHECK finds each misuse, and says its name. Each is made in a child, which has to end
 * by abort(3) with the misuse's line on stderr. This is built with GDA_CHECK.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "gin.h"

#define CELL	4096U

static int mixed(struct g_rank *r)
{
	if (!r->rank) {
		G_OK(gda_gin_signal(r->gin, 1, gda_gin_inc(1, 0)));
		G_OK(gda_gin_signal(r->gin, 1, gda_gin_add(1, 2, 0)));
	} else {
		G_OK(gda_gin_wait_signal(r->gin, 1, 3, 64, 0));
	}
	return gda_comm_barrier(r->ranks, 0);
}

/* The same with a reset in between is no misuse. */
static int mixed_and_reset(struct g_rank *r)
{
	uint32_t i;

	for (i = 0; i < 6; i++) {
		if (!r->rank) {
			G_OK(gda_gin_signal(r->gin, 1, i % 2 ? gda_gin_inc(1, 0) :
								gda_gin_add(1, 2, 0)));
		} else {
			G_OK(gda_gin_wait_signal(r->gin, 1, i % 2 ? 1 : 2, 64, 0));
			gda_gin_reset_signal(r->gin, 1);
		}
		G_OK(gda_comm_barrier(r->ranks, 0));
	}
	return 0;
}

/* A signal that is not rung yet is on its way. */
static int reset(struct g_rank *r)
{
	struct gda_gin_queue *q = gda_gin_queue(r->gin, 0, 1);

	if (!r->rank) {
		G_OK(gda_gin_signal(r->gin, 1, gda_gin_inc(0, GDA_DEFER)));
		/* what was said of it has arrived; a wait would ring */
		while (!gda_test(gda_gin_view(q), 0))
			gda_relax(gda_gin_view(q), 1, GDA_RELAX_DONE);
	}
	G_OK(gda_comm_barrier(r->ranks, 0));
	if (r->rank)
		gda_gin_reset_signal(r->gin, 0);
	return gda_comm_barrier(r->ranks, 0);
}

static int window(struct g_rank *r)
{
	struct gda_window *w;
	unsigned char *mem;

	G_OK(g_window(r, CELL, 0, &mem, &w));
	G_OK(gda_gin_signal(r->gin, 0, gda_gin_inc_at(gda_at(w, 0), 0)));
	g_window_end(mem, CELL, w);
	return 0;
}

static int shared_posts(struct g_rank *r)
{
	return gda_gin_signal(r->gin, 0, gda_gin_inc(0, 0));
}

static int exclusive_posts(struct g_rank *r)
{
	return gda_gin_signal(r->gin, 0, gda_gin_inc(0, GDA_EXCLUSIVE));
}

static void *hammer(void *arg)
{
	struct gda_gin *gin = arg;
	uint64_t end = gda_clock_ns() + 20 * G_SECOND;

	while (gda_clock_ns() < end)
		gda_gin_signal(gin, gin->rank, gda_gin_inc(0, GDA_EXCLUSIVE));
	return NULL;
}

static int two_threads(struct g_rank *r)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, hammer, r->gin))
		return 1;
	hammer(r->gin);
	pthread_join(thread, NULL);
	return 0;
}

static int source(struct g_rank *r)
{
	struct gda_window *w;
	unsigned char *mem;

	G_OK(g_window(r, CELL, 0, &mem, &w));
	G_OK(gda_gin_put(r->gin, 0, gda_at(w, 0), gda_at(w, 64), 32,
			 gda_gin_count(gda_gin_plain(GDA_DEFER), 1)));
	mem[70] = 1;
	G_OK(gda_gin_wait_counter(r->gin, 1, 1, 56, 0));
	g_window_end(mem, CELL, w);
	return 0;
}

static int barrier_twice(struct g_rank *r)
{
	struct gda_gin_barrier a, b;

	G_OK(gda_gin_barrier_begin(&a, r->gin, gda_team_world(r->comm), 1));
	G_OK(gda_gin_barrier_begin(&b, r->gin, gda_team_world(r->comm), 0));
	gda_gin_barrier_end(&b);
	G_OK(gda_gin_barrier_begin(&b, r->gin, gda_team_world(r->comm), 0));
	return gda_gin_barrier_begin(&b, r->gin, gda_team_world(r->comm), 1);
}

static int older(struct g_rank *r)
{
	r->gin->version = 0;
	return gda_gin_signal(r->gin, 0, gda_gin_inc(0, 0));
}

#define ATTR(...)	{ .signals = 2, .counters = 2, .barriers = 2, __VA_ARGS__ }

/* @misuse: its name; NULL: it is none. */
static const struct {
	struct g_test test;
	const char *misuse;
} cases[] = {
	{ { "G_05_mixed", mixed, G_WORDS, 2, ATTR() }, "mixed" },
	{ { "G_05_mixed_with_a_reset", mixed_and_reset, G_WORDS, 2, ATTR() }, NULL },
	{ { "G_07_reset_races", reset, G_WORDS, 2, ATTR() }, "reset" },
	{ { "G_09_ordinary_window", window, G_WORDS, 1, ATTR() }, "window" },
	{ { "G_22_shared_posts_where_exclusive", shared_posts, G_WORDS, 1,
	    ATTR(.sharing = GDA_GIN_SHARE_THREAD) }, "exclusive" },
	{ { "G_22_exclusive_posts_where_shared", exclusive_posts, G_WORDS, 1, ATTR() },
	  "exclusive" },
	{ { "G_22_two_threads", two_threads, G_WORDS, 1, ATTR(.sharing = GDA_GIN_SHARE_THREAD) },
	  "exclusive" },
	{ { "G_10_source_changed", source, G_WORDS, 1, ATTR() }, "source" },
	{ { "G_25_barrier_used_twice", barrier_twice, G_WORDS, 1, ATTR() }, "barrier" },
	{ { "E_16_older_layout", older, G_WORDS, 1, ATTR() }, "layout" },
};

static bool right(int status, const char *said, const char *misuse)
{
	char line[64];

	if (!misuse)
		return WIFEXITED(status) && !WEXITSTATUS(status) && !strstr(said, "misuse");
	snprintf(line, sizeof(line), "gda: misuse '%s': rank ", misuse);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(said, line);
}

static bool run(size_t i)
{
	char said[4096] = "";
	size_t got = 0;
	ssize_t n;
	int status, ends[2];
	pid_t child;

	if (pipe(ends))
		return false;
	child = fork();
	if (!child) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		dup2(ends[1], STDERR_FILENO);
		exit(g_alone(&cases[i].test));
	}
	close(ends[1]);
	while ((n = read(ends[0], said + got, sizeof(said) - 1 - got)) > 0)
		got += (size_t)n;
	close(ends[0]);
	waitpid(child, &status, 0);
	if (right(status, said, cases[i].misuse))
		return true;
	printf("# status %#x, and it said: %s\n", (unsigned int)status, said);
	return false;
}

int main(void)
{
	size_t i, n = sizeof(cases) / sizeof(cases[0]);
	int rc = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..%zu\n", n);
	for (i = 0; i < n; i++) {
		bool ok = run(i);

		printf("%sok %zu %s\n", ok ? "" : "not ", i + 1, cases[i].test.name);
		rc |= !ok;
	}
	return rc;
}

// SPDX-License-Identifier: MIT
/*
 * The window in which data flows without system calls. A child arms a seccomp filter
 * that kills it on any system call, without exception, moves the data, and spins: it
 * cannot even exit. The parent watches it through a shared page and kills it in the
 * end. Everything that needs the kernel is done by the parent, before and after.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "demo.h"

/* How long a child may take to notice by itself that its peer is gone. */
#define GRACE_NS 2000000000ULL

static pid_t child;
static char proof[2][64];

static void window_arm(void)
{
	struct sock_filter kill_any[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = { .len = 1, .filter = kill_any };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(DEMO_FAILED);
}

static void window_child(struct window *w, window_body *body, void *arg, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(DEMO_FAILED);
	w->began_ns = gda_clock_ns();
	window_arm();
	__atomic_store_n(&w->state, WINDOW_ARMED, __ATOMIC_RELEASE);
	if (w->clock)
		w->began_ns = gda_clock_ns();
	w->result = body(w, arg);
	if (w->clock)
		w->ended_ns = gda_clock_ns();
	__atomic_store_n(&w->state, WINDOW_DONE, __ATOMIC_RELEASE);
	for (;;)
		gda_pause();
}

static void window_look(char *to, size_t size)
{
	char path[64], line[128];
	int mode = -1, filters = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", child);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "Seccomp:", 8))
			mode = atoi(line + 8);
		if (!strncmp(line, "Seccomp_filters:", 16))
			filters = atoi(line + 16);
	}
	fclose(f);
	snprintf(to, size, "Seccomp: %d, Seccomp_filters: %d", mode, filters);
}

static void window_nap(void)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	nanosleep(&ms, NULL);
}

/* Ends the program if the child has ended: it never does by itself. */
static void window_check_child(const struct window *w)
{
	int status;

	if (waitpid(child, &status, WNOHANG) != child)
		return;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		die(DEMO_SIGSYS, "killed by SIGSYS: a system call in the window, after %llu blocks",
		    (unsigned long long)w->blocks);
	if (WIFSIGNALED(status))
		die(DEMO_FAILED, "the child was killed by signal %d (%s), after %llu blocks",
		    WTERMSIG(status), strsignal(WTERMSIG(status)),
		    (unsigned long long)w->blocks);
	die(DEMO_FAILED, "the child could not arm the filter");
}

static void window_kill(void)
{
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	child = 0;
}

/* Does the C library read the clock by itself? With some clocks it has to ask the kernel. */
static bool window_has_clock(void)
{
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	char name[32] = "";

	if (f) {
		if (!fgets(name, sizeof(name), f))
			name[0] = 0;
		fclose(f);
	}
	return !strcmp(name, "tsc\n") || !strcmp(name, "kvm-clock\n");
}

struct window *window_open(const struct options *o, window_body *body, void *arg,
			   uint64_t blocks)
{
	struct window *w = shared_memory(sizeof(*w), NULL);
	pid_t parent = getpid();

	w->misuse_at = o->syscall ? blocks / 2 : UINT64_MAX;
	w->clock = window_has_clock();
	/*
	 * The queue goes over to the child: this process does not post to it. fork() would
	 * have libgda take the views of the child away, _Fork() runs no handlers.
	 */
	child = _Fork();
	if (child < 0)
		die(DEMO_FAILED, "fork: %s", strerror(errno));
	if (child == 0)
		window_child(w, body, arg, parent);
	atexit(window_kill);
	while (__atomic_load_n(&w->state, __ATOMIC_ACQUIRE) == WINDOW_SETUP) {
		window_check_child(w);
		window_nap();
	}
	window_look(proof[0], sizeof(proof[0]));
	return w;
}

static void window_check_result(const struct window *w)
{
	if (!w->result)
		return;
	if (w->failed)
		die(DEMO_PEER, "%s: %s; after %llu blocks", gda_syndrome_name(w->error.syndrome),
		    gda_vendor_name(w->error.vendor), (unsigned long long)w->blocks);
	die(w->result == -ETIMEDOUT ? DEMO_PEER : DEMO_FAILED, "%s, after %llu blocks",
	    gda_strerror(w->result), (unsigned long long)w->blocks);
}

void window_close(struct window *w, const struct options *o, int peer)
{
	uint64_t now, gone = 0, deadline = gda_clock_ns() + o->seconds * 1000000000ULL;

	while (__atomic_load_n(&w->state, __ATOMIC_ACQUIRE) != WINDOW_DONE) {
		window_check_child(w);
		now = gda_clock_ns();
		if (!gone && wire_hung_up(peer))
			gone = now;
		if (gone && now > gone + GRACE_NS)
			die(DEMO_PEER, "the peer is gone, after %llu blocks",
			    (unsigned long long)w->blocks);
		if (now > deadline)
			die(DEMO_PEER, "not done within %u s, after %llu blocks", o->seconds,
			    (unsigned long long)w->blocks);
		window_nap();
	}
	if (!w->clock)
		w->ended_ns = gda_clock_ns();
	window_look(proof[1], sizeof(proof[1]));
	window_kill();
	window_check_result(w);
}

const char *window_proof(void)
{
	static char text[160];

	if (!strcmp(proof[0], proof[1]))
		snprintf(text, sizeof(text), "%s", proof[0]);
	else
		snprintf(text, sizeof(text), "%s at first, %s at the end", proof[0], proof[1]);
	return text;
}

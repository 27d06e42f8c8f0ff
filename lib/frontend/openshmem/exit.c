// SPDX-License-Identifier: MIT
/*
 * Ending a job early. The PE that ends it stores the status to a word in each PE's heap, on which
 * that PE's watcher thread sleeps. So a PE ends whatever its program is doing, and also with a
 * status of 0, which a launcher would take for success. A work request wakes no thread: if PEs are
 * reached by queue the watcher polls from time to time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "define.h"
#include "reach.h"

#define EXIT_NOW	0x100U		/* and the status */
#define EXIT_STOPPED	0x200U		/* only the watcher ends */
#define EXIT_PATIENCE_S	2
#define EXIT_LOOK_NS		20000000	/* between two polls of the watcher */
#define EXIT_QUIET_NS		500000000	/* time for the words to arrive through queues */
#define EXIT_TOLD_NS		500000000	/* time to wait for a word that may be in flight */

static pthread_t watcher;
static bool watched;

static void word_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Another thread may hold a stdio stream forever: the alarm ends the process if fflush() blocks. */
__attribute__((noreturn)) static void leave(int status)
{
	signal(SIGALRM, SIG_DFL);
	alarm(EXIT_PATIENCE_S);
	fflush(NULL);
	_exit(status);
}

static void *watch(void *arg)
{
	const struct timespec rest = { .tv_nsec = EXIT_LOOK_NS };
	uint32_t *word = arg, value;

	for (;;) {
		value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
		if (value == EXIT_STOPPED)
			return NULL;
		if (value)
			leave((int)(value & 0xff));
		syscall(SYS_futex, word, FUTEX_WAIT, 0, gda_osh.s->qps ? &rest : NULL, NULL, 0);
	}
}

int gda_osh_watch_start(void)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&watcher, NULL, watch, &gda_osh.control->exit);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	watched = !err;
	return err;
}

void gda_osh_watch_stop(void)
{
	if (!watched)
		return;
	__atomic_store_n(&gda_osh.control->exit, EXIT_STOPPED, __ATOMIC_RELEASE);
	word_wake(&gda_osh.control->exit);
	pthread_join(watcher, NULL);
	watched = false;
}

/* Return: the word of @pe, or NULL if that is this PE or is not mapped here. */
static uint32_t *word_of(unsigned int pe)
{
	if (pe == (unsigned int)gda_osh.me)
		return NULL;
	return gda_shmem_ptr(gda_osh.s, &gda_osh.control->exit, pe);
}

/*
 * Tell all other PEs to end. A PE in shmem_finalize() does not read its word any more; the launcher
 * ends a PE that cannot be reached. All words are stored before any PE is woken: no PE shall find
 * another one gone before it knows why.
 */
static void end_others(int status)
{
	uint32_t value = EXIT_NOW | ((uint32_t)status & 0xff), *at;
	unsigned int pe;

	for (pe = 0; pe < gda_osh.npes; pe++) {
		at = word_of(pe);
		if (at)
			__atomic_store_n(at, value, __ATOMIC_RELEASE);
		else if (pe != (unsigned int)gda_osh.me)
			gda_shmem_p(gda_osh.s, &gda_osh.control->exit, value, 4, pe,
				    gda_osh.flags | GDA_NOWAIT);
	}
	for (pe = 0; pe < gda_osh.npes; pe++) {
		at = word_of(pe);
		if (at)
			word_wake(at);
	}
	if (gda_osh.npes)
		gda_shmem_quiet(gda_osh.s, gda_clock_ns() + EXIT_QUIET_NS);
}

void gda_osh_die(const char *call, int peer, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (peer >= 0)
		fprintf(stderr, "PE %d: %s, PE %d: %s\n", gda_osh.me, call, peer, text);
	else
		fprintf(stderr, "PE %d: %s: %s\n", gda_osh.me, call, text);
	end_others(1);
	leave(1);
}

void gda_osh_die_together(const char *call, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!gda_osh.me)
		fprintf(stderr, "PE 0: %s: %s\n", call, text);
	/* The launcher ends all PEs when the first one ends: wait until the reason was printed. */
	gda_comm_barrier(gda_osh.comm, 0);
	leave(1);
}

void gda_osh_bad(const char *call, const void *addr, size_t bytes, int pe)
{
	if (!gda_osh.npes)
		gda_osh_die(call, -1, "called %s",
			    gda_osh.finalized ? "after shmem_finalize(): call it before" :
			    "before shmem_init(), or in a child of fork(): call shmem_init() first");
	if ((unsigned int)pe >= gda_osh.npes)
		gda_osh_die(call, -1, "there is no PE %d, only 0 to %u", pe, gda_osh.npes - 1);
	gda_osh_die(call, pe,
		    "%zu bytes at %p are not symmetric: pass memory of shmem_malloc(), or a static or global variable",
		    bytes, addr);
}

/*
 * Has @pe left without doing what this PE waits for? A PE that left has passed the last barrier,
 * which all PEs had begun by then: unless this PE is still in that one, nothing more can come.
 */
static bool is_missed(unsigned int pe)
{
	const uint64_t *own = &gda_osh.control->sync[gda_osh.world.number].epoch, *at;

	if (gda_comm_state(gda_osh.comm, pe) != -ESHUTDOWN)
		return false;
	at = gda_osh.stopping ? gda_shmem_ptr(gda_osh.s, own, pe) : NULL;
	/* with queues all PEs leave together */
	return !at || __atomic_load_n(at, __ATOMIC_RELAXED) < *own;
}

/* Check one PE per call: callers repeat this often, and there may be thousands of PEs. */
static void check_left(const char *call)
{
	static unsigned int looks;
	unsigned int pe = __atomic_fetch_add(&looks, 1, __ATOMIC_RELAXED) % gda_osh.npes;

	if (is_missed(pe))
		gda_osh_die(call, (int)pe,
			    "it has ended and was waited for: let all PEs make the same collective calls, and shmem_finalize() last");
}

/* Is this PE being ended? Then its watcher, which was woken, ends the process. */
static void wait_if_told(void)
{
	while (__atomic_load_n(&gda_osh.control->exit, __ATOMIC_ACQUIRE))
		pause();
}

/*
 * The connection to a lost PE breaks at once. If a third PE's call ended all of them, its word for
 * this PE may arrive later; then that PE has printed the reason already.
 */
static void wait_for_word(void)
{
	const struct timespec rest = { .tv_nsec = EXIT_LOOK_NS };
	uint64_t until = gda_clock_ns() + EXIT_TOLD_NS;

	while (gda_clock_ns() < until) {
		wait_if_told();
		nanosleep(&rest, NULL);
	}
}

void gda_osh_check(const char *call)
{
	int lost;

	wait_if_told();
	lost = gda_comm_failed(gda_osh.comm);
	if (lost >= 0) {
		wait_for_word();
		gda_osh_die(call, lost, "this PE is lost: its own messages say why");
	}
	check_left(call);
}

GDA_OSH_PUBLIC void pshmem_global_exit(int status)
{
	if (!gda_osh.npes)
		gda_osh_bad(GDA_OSH_CALL_NAME, NULL, 0, 0);
	end_others(status);
	/* Like the end of a program that called exit(), but without shmem_finalize(). */
	gda_osh_forget();
	exit(status);
}
GDA_OSH_WEAK(global_exit)

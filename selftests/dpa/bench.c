// SPDX-License-Identifier: MIT
/*
 * Times of gda/dpa.h, medians: an event that starts a launch, and a launch, into a pool that
 * spins and into one that sleeps; a hop in a chain of launches; and how long a task that does not
 * end outlives its limit. Beside them, of the same run, half a ping-pong of two threads over a
 * word, and a thread that a futex and an eventfd wake. Figures that have a bar say so. Where
 * processors are fewer than the threads that spin, or busy, most of it is waiting for them.
 *
 * The time of a wake depends most on where the thread sleeps. The processor of the waker is awake;
 * an idle one takes tens of microseconds to wake up in a virtual machine. The scheduler would pick
 * one of them, differently for the library and for the bare wakes, so the bench pins the threads
 * and measures both.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <gda/barrier.h>
#include <gda/dpa.h>
#include "dpa_internal.h"
#include "paths.h"
#include "tasks.h"

#define CHAIN	1000U
#define TIMES	201U
#define DEATHS	21U
#define LIMIT	20000000U

/* Threads that are not pinned: a pool that may use one processor alone does not spin. */
#define ANY	(-1)

/* The processors of this thread, and of threads on another one; ANY: this thread is not pinned. */
static int here = ANY, there = ANY;

static uint64_t samples[TIMES];
static uint64_t started;	/* by the task: when */

GDA_DPA_TASK(bench_start)
{
	__atomic_store_n(&started, gda_clock_ns(), __ATOMIC_RELEASE);
}

GDA_DPA_TASK(bench_nothing)
{
}

static void must(int err, const char *name)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s (%s)\n", name, gda_strerror(err), gda_last_error());
	exit(1);
}

/* Find two processors that this process may use. Return: whether there are two. */
static bool processors_find(void)
{
	cpu_set_t set;
	int i, n = 0, found[2];

	if (sched_getaffinity(0, sizeof(set), &set))
		return false;
	for (i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &set))
			found[n++] = i;
	if (n < 2)
		return false;
	here = found[0];
	there = found[1];
	return true;
}

/* Pin the calling thread, and with it all threads that it creates later. */
static void run_on(int processor)
{
	cpu_set_t set;

	if (processor == ANY)
		return;
	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	must(sched_setaffinity(0, sizeof(set), &set) ? -errno : 0, "sched_setaffinity");
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double median(unsigned int n)
{
	qsort(samples, n, sizeof(*samples), by_value);
	return (double)samples[n / 2];
}

static void print(const char *name, double ns)
{
	printf("%-44s %10.0f ns\n", name, ns);
}

/* A figure of which there may be at most @most @units. */
static void print_bar(const char *name, double ns, double unit, double most, const char *units)
{
	printf("%-44s %10.0f ns  %.2f %s, at most %g%s\n", name, ns, ns / unit, units, most,
	       ns / unit <= most ? "" : ": MISSED");
}

/* --- two threads, without the library --- */

enum wake { WAKE_SPIN, WAKE_FUTEX, WAKE_EVENTFD };

static uint32_t word;
static int event_fd;

/* Between two looks at what a thread on @processor does. */
static void pass(int processor)
{
	if (processor != ANY && processor == here)
		sched_yield();
	else
		gda_pause();
}

static void echo_wait(enum wake how, uint32_t i)
{
	uint64_t n;

	if (how == WAKE_EVENTFD && read(event_fd, &n, sizeof(n)) < 0)
		must(-errno, "read");
	while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) != i)
		if (how == WAKE_FUTEX)
			syscall(SYS_futex, &word, FUTEX_WAIT, i - 1, NULL, NULL, 0);
		else
			gda_pause();
}

static void *echo(void *arg)
{
	enum wake how = *(const enum wake *)arg;
	uint32_t i;

	for (i = 1; i < 2 * TIMES; i += 2) {
		echo_wait(how, i);
		__atomic_store_n(&started, gda_clock_ns(), __ATOMIC_RELEASE);
		__atomic_store_n(&word, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* A thread on @processor, woken by this one. */
static double pair(enum wake how, int processor)
{
	pthread_t thread;
	uint64_t begin, one = 1;
	uint32_t i;

	word = 0;
	run_on(processor);
	must(-pthread_create(&thread, NULL, echo, &how), "pthread_create");
	run_on(here);
	for (i = 0; i < TIMES; i++) {
		usleep(how == WAKE_SPIN ? 10 : 3000);
		begin = gda_clock_ns();
		__atomic_store_n(&word, 2 * i + 1, __ATOMIC_RELEASE);
		if (how == WAKE_FUTEX)
			syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
		else if (how == WAKE_EVENTFD && write(event_fd, &one, sizeof(one)) < 0)
			must(-errno, "write");
		while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) != 2 * i + 2)
			pass(processor);
		samples[i] = started - begin;
	}
	pthread_join(thread, NULL);
	return median(TIMES);
}

/* --- a context --- */

static void starts_wait(int processor, uint64_t begin, uint64_t *sample)
{
	while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
		pass(processor);
	*sample = started - begin;
}

static double starts(struct gda_dpa *dpa, int processor, unsigned int pause_us)
{
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .task = &bench_start, .threads = 1 };
	uint64_t begin;
	unsigned int i;

	for (i = 0; i < TIMES; i++) {
		usleep(pause_us);
		__atomic_store_n(&started, 0, __ATOMIC_RELAXED);
		begin = gda_clock_ns();
		must(gda_dpa_launch(dpa, &l), "gda_dpa_launch");
		starts_wait(processor, begin, &samples[i]);
	}
	return median(TIMES);
}

static double event_starts(struct gda_dpa *dpa, int processor, unsigned int pause_us)
{
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .task = &bench_start, .threads = 1 };
	unsigned int i;
	uint64_t begin;

	must(gda_dpa_event_create(dpa, NULL, &l.wait), "gda_dpa_event_create");
	for (i = 0; i < TIMES; i++) {
		l.threshold = i;
		__atomic_store_n(&started, 0, __ATOMIC_RELAXED);
		must(gda_dpa_launch(dpa, &l), "gda_dpa_launch");
		usleep(pause_us);
		begin = gda_clock_ns();
		must(gda_dpa_event_add(l.wait, 1), "gda_dpa_event_add");
		starts_wait(processor, begin, &samples[i]);
	}
	return median(TIMES);
}

/* A context whose pool is on @processor. */
static struct gda_dpa *pool_create(struct gda_context *ctx, int processor)
{
	struct gda_dpa_attr attr = { .size = sizeof(attr), .threads = 1, .launches = 2048 };
	struct gda_dpa *dpa;

	run_on(processor);
	must(gda_dpa_create(ctx, &attr, &dpa), "gda_dpa_create");
	run_on(here);
	return dpa;
}

static double chain(struct gda_dpa *dpa)
{
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &bench_nothing, .threads = 1, .value = 1,
	};
	struct gda_dpa_event *end;
	unsigned int i, k;
	uint64_t begin;

	must(gda_dpa_event_create(dpa, NULL, &l.wait), "gda_dpa_event_create");
	must(gda_dpa_event_create(dpa, NULL, &end), "gda_dpa_event_create");
	for (i = 0; i < TIMES / 10; i++) {
		must(gda_dpa_event_set(l.wait, 0), "gda_dpa_event_set");
		for (k = 0; k < CHAIN; k++) {
			l.threshold = k;
			l.done = k + 1 < CHAIN ? l.wait : end;
			must(gda_dpa_launch(dpa, &l), "gda_dpa_launch");
		}
		usleep(5000);
		begin = gda_clock_ns();
		must(gda_dpa_event_add(l.wait, 1), "gda_dpa_event_add");
		must(gda_dpa_event_await_gt(end, i, UINT64_MAX, begin + 10000000000U), "chain");
		samples[i] = (gda_clock_ns() - begin) / CHAIN;
		usleep(1000);
	}
	return median(TIMES / 10);
}

/* --- the watchdog --- */

/* From the end of its time until the process of an endless task is gone. */
static uint64_t death(struct gda_context *ctx)
{
	static const struct gda_dpa_task p_fault = { .size = sizeof(p_fault), .name = "p_fault" };
	struct p_fault_args f = { .fault = P_ENDLESS };
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &p_fault, .threads = 1, .args = &f, .bytes = sizeof(f),
	};
	struct gda_dpa_attr attr = {
		.size = sizeof(attr), .threads = 1, .heap_bytes = 4096, .run_limit_ns = LIMIT,
		.program = tasks_path,
	};
	struct gda_dpa_report r = { .size = sizeof(r) };
	struct gda_dpa *dpa;
	uint64_t gone;
	pid_t pid;

	must(gda_dpa_create(ctx, &attr, &dpa), "gda_dpa_create");
	pid = dpa->pid;
	must(gda_dpa_launch(dpa, &l), "gda_dpa_launch");
	while (!kill(pid, 0))
		usleep(50);
	gone = gda_clock_ns();
	must(gda_dpa_error(dpa, &r) == 1 && r.reason == GDA_DPA_RUN_LIMIT ? 0 : -EPROTO,
	     "gda_dpa_error");
	must(gda_dpa_destroy(dpa), "gda_dpa_destroy");
	return gone - (r.time_ns - r.ran_ns + LIMIT);
}

static double deaths(struct gda_context *ctx)
{
	unsigned int i;

	for (i = 0; i < DEATHS; i++)
		samples[i] = death(ctx);
	return median(DEATHS);
}

/* A pool that sleeps on @processor, beside bare wakes of a thread there. */
static void asleep(struct gda_context *ctx, int processor, const char *where)
{
	double wake = pair(WAKE_FUTEX, processor);
	struct gda_dpa *dpa;

	printf("asleep on %s:\n", where);
	print("  futex wake to the first instruction", wake);
	print("  eventfd wake to the first instruction", pair(WAKE_EVENTFD, processor));
	dpa = pool_create(ctx, processor);
	print_bar("  event to first instruction", event_starts(dpa, processor, 3000), wake, 1.4,
		  "futex wakes");
	print_bar("  launch to first instruction", starts(dpa, processor, 3000), 1000, 7, "us");
	must(gda_dpa_destroy(dpa), "gda_dpa_destroy");
}

int main(void)
{
	struct gda_context *ctx;
	struct gda_dpa *dpa;
	double half;

	event_fd = eventfd(0, EFD_CLOEXEC);
	must(gda_open(NULL, &ctx), "gda_open");
	printf("gda/dpa.h, medians, on %ld processors\n", sysconf(_SC_NPROCESSORS_ONLN));
	half = pair(WAKE_SPIN, ANY);
	print("half a ping-pong", half);
	dpa = pool_create(ctx, ANY);
	print_bar("event to first instruction, pool spins", event_starts(dpa, ANY, 50), half, 8,
		  "half ping-pongs");
	print("launch into a pool that spins", starts(dpa, ANY, 50));
	print_bar("hop in a chain of 1000 launches", chain(dpa), 1000, 1, "us");
	must(gda_dpa_destroy(dpa), "gda_dpa_destroy");
	print_bar("limit of an endless task to its death", deaths(ctx), 1000000, 10, "ms");
	/* from here on this thread is pinned */
	if (processors_find()) {
		asleep(ctx, there, "another processor, which is idle");
		asleep(ctx, here, "the processor that wakes it");
	} else {
		asleep(ctx, ANY, "the only processor");
	}
	gda_close(ctx);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Times of gda/dpa.h, medians: a hop in a chain of launches, a launch into a pool that spins and
 * into one that sleeps, and an event that starts a launch. Beside them, of the same run, half a
 * ping-pong of two threads over a word and a futex wake.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <gda/barrier.h>
#include <gda/dpa.h>

#define CHAIN	1000U
#define TIMES	201U

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

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print(const char *name, unsigned int n)
{
	qsort(samples, n, sizeof(*samples), by_value);
	printf("%-44s %8.0f ns\n", name, (double)samples[n / 2]);
}

/* --- two threads, without the library --- */

static uint32_t word;

static void *echo(void *arg)
{
	bool sleeps = *(const bool *)arg;
	uint32_t i;

	for (i = 1; i < 2 * TIMES; i += 2) {
		while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) != i)
			if (sleeps)
				syscall(SYS_futex, &word, FUTEX_WAIT, i - 1, NULL, NULL, 0);
			else
				gda_pause();
		__atomic_store_n(&started, gda_clock_ns(), __ATOMIC_RELEASE);
		__atomic_store_n(&word, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void pair(const char *name, bool sleeps)
{
	pthread_t thread;
	uint64_t begin;
	uint32_t i;

	word = 0;
	must(-pthread_create(&thread, NULL, echo, &sleeps), "pthread_create");
	for (i = 0; i < TIMES; i++) {
		usleep(sleeps ? 2000 : 10);
		begin = gda_clock_ns();
		__atomic_store_n(&word, 2 * i + 1, __ATOMIC_RELEASE);
		if (sleeps)
			syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
		while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) != 2 * i + 2)
			gda_pause();
		samples[i] = started - begin;
	}
	pthread_join(thread, NULL);
	print(name, TIMES);
}

/* --- a context --- */

static void starts(struct gda_dpa *dpa, const char *name, unsigned int pause_us)
{
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .task = &bench_start, .threads = 1 };
	uint64_t begin;
	unsigned int i;

	for (i = 0; i < TIMES; i++) {
		usleep(pause_us);
		__atomic_store_n(&started, 0, __ATOMIC_RELAXED);
		begin = gda_clock_ns();
		must(gda_dpa_launch(dpa, &l), "gda_dpa_launch");
		while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
			gda_pause();
		samples[i] = started - begin;
	}
	print(name, TIMES);
}

static void event_starts(struct gda_dpa *dpa, const char *name, unsigned int pause_us)
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
		while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
			gda_pause();
		samples[i] = started - begin;
	}
	print(name, TIMES);
}

static void chain(struct gda_dpa *dpa)
{
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &bench_nothing, .threads = 1, .value = 1,
	};
	unsigned int i, k;
	uint64_t begin;

	must(gda_dpa_event_create(dpa, NULL, &l.wait), "gda_dpa_event_create");
	l.done = l.wait;
	for (i = 0; i < TIMES / 10; i++) {
		must(gda_dpa_event_set(l.wait, 0), "gda_dpa_event_set");
		for (k = 0; k < CHAIN; k++) {
			l.threshold = k;
			must(gda_dpa_launch(dpa, &l), "gda_dpa_launch");
		}
		usleep(5000);
		begin = gda_clock_ns();
		must(gda_dpa_event_add(l.wait, 1), "gda_dpa_event_add");
		must(gda_dpa_event_await_gt(l.wait, CHAIN, UINT64_MAX, begin + 10000000000U),
		     "chain");
		samples[i] = (gda_clock_ns() - begin) / CHAIN;
		usleep(1000);
	}
	print("hop in a chain of 1000 launches", TIMES / 10);
}

int main(void)
{
	struct gda_dpa_attr attr = { .size = sizeof(attr), .threads = 1, .launches = 2048 };
	struct gda_context *ctx;
	struct gda_dpa *dpa;

	must(gda_open(NULL, &ctx), "gda_open");
	pair("half a ping-pong", false);
	pair("futex wake to the first instruction", true);
	must(gda_dpa_create(ctx, &attr, &dpa), "gda_dpa_create");
	event_starts(dpa, "event to first instruction, pool spins", 50);
	event_starts(dpa, "event to first instruction, pool asleep", 3000);
	starts(dpa, "launch into a pool that spins", 50);
	starts(dpa, "launch into a pool that sleeps", 3000);
	chain(dpa);
	must(gda_dpa_destroy(dpa), "gda_dpa_destroy");
	gda_close(ctx);
	return 0;
}

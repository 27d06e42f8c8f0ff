// SPDX-License-Identifier: MIT
/*
 * Threads that call at once: on the default context, on contexts of their own, through
 * locks, and waiting for each other's words. Between phases they meet in a barrier of their
 * own, in which one of them meets the other PEs.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <shmem.h>
#include <shmemx.h>

#define THREADS	4
#define ROUNDS	100

static pthread_barrier_t meeting;
static int me, npes;
static int counter, turn;
static long guarded, lock, own[THREADS];
static uint64_t signals[THREADS];
static int inbox[THREADS][ROUNDS];
static int failed;

static void meet(int thread)
{
	pthread_barrier_wait(&meeting);
	if (!thread)
		shmem_barrier_all();
	pthread_barrier_wait(&meeting);
}

static void expect(int holds, const char *what)
{
	if (!holds) {
		printf("PE %d: %s\n", me, what);
		__atomic_store_n(&failed, 1, __ATOMIC_RELAXED);
	}
}

static void overlap(int thread)
{
	int i;

	for (i = 1; i <= npes; i++)
		shmem_int_atomic_add(&counter, thread, (me + i) % npes);
	shmem_quiet();
	meet(thread);
	expect(counter == THREADS * (THREADS - 1) / 2 * npes, "atomics of threads");
	meet(thread);
}

/* One after the other changes what no atomic guards. */
static void in_turn(int thread)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		shmem_int_wait_until(&turn, SHMEM_CMP_EQ, i * THREADS + thread);
		guarded++;
		shmem_fence();
		turn++;
	}
	meet(thread);
	expect(guarded == ROUNDS * THREADS, "turns of threads");
	meet(thread);
	if (!thread)
		guarded = 0;
	meet(thread);
}

static void in_contexts(int thread)
{
	const int next = (me + 1) % npes;
	shmem_ctx_t ctx;
	int i, got;

	if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx))
		shmem_global_exit(1);
	for (i = 0; i < ROUNDS; i++) {
		shmem_ctx_int_p(ctx, &inbox[thread][i], i + me, next);
		shmem_ctx_long_atomic_inc(ctx, &own[thread], next);
	}
	shmem_ctx_fence(ctx);
	shmem_ctx_putmem_signal(ctx, &inbox[thread][0], &me, sizeof(me), &signals[thread], 1,
				SHMEM_SIGNAL_ADD, next);
	shmem_signal_wait_until(&signals[thread], SHMEM_CMP_GE, 1);
	got = inbox[thread][ROUNDS - 1];
	expect(got == ROUNDS - 1 + (me + npes - 1) % npes, "puts behind a signal");
	shmem_ctx_destroy(ctx);
	meet(thread);
	expect(own[thread] == ROUNDS, "atomics in a context");
	meet(thread);
}

/* All threads of all PEs at once, and some only try. */
static void locked(int thread)
{
	long value;
	int i;

	for (i = 0; i < ROUNDS / 10; i++) {
		if (i % 2)
			shmem_set_lock(&lock);
		else
			while (shmem_test_lock(&lock))
				sched_yield();
		value = shmem_long_g(&guarded, 0);
		shmem_long_p(&guarded, value + 1, 0);
		shmem_clear_lock(&lock);
	}
	meet(thread);
	expect(me || guarded == ROUNDS / 10 * THREADS * npes, "a lock");
	meet(thread);
}

static void *thread_main(void *arg)
{
	int thread = *(int *)arg;

	overlap(thread);
	in_turn(thread);
	in_contexts(thread);
	locked(thread);
	return NULL;
}

int main(void)
{
	int provided, numbers[THREADS], i;
	pthread_t threads[THREADS];

	if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) ||
	    provided != SHMEM_THREAD_MULTIPLE)
		return 1;
	me = shmem_my_pe();
	npes = shmem_n_pes();
	pthread_barrier_init(&meeting, NULL, THREADS);
	for (i = 0; i < THREADS; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, thread_main, &numbers[i]))
			shmem_global_exit(1);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	shmem_barrier_all();
	shmem_int_max_reduce(SHMEM_TEAM_WORLD, &failed, &failed, 1);
	if (!me && !failed)
		printf("threads: %d of each PE\n", THREADS);
	shmem_finalize();
	return failed;
}

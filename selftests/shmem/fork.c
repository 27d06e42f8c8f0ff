// SPDX-License-Identifier: MIT
/*
 * Children of a PE (items 5 and 6): fork PART. Each part ends with a line of PE 0, or says which
 * expectation failed.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <shmem.h>
#include "../comm/children.h"

#define ROUNDS	100
#define WORDS	65536	/* between two variables, so that no copy has both at once */

static volatile long first, between[WORDS], last;
static int me;

#define EXPECT(what) \
	do { \
		if (!(what)) { \
			printf("PE %d: line %d: %s\n", me, __LINE__, #what); \
			fflush(stdout); \
			shmem_global_exit(1); \
		} \
	} while (0)

static int wait_status(pid_t pid)
{
	int status = -1;

	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
	return status;
}

/* The child has the variables as they were at fork(), whatever the parent does then. */
static void try_copy(void)
{
	long i;
	pid_t pid;

	for (i = 1; i <= ROUNDS; i++) {
		first = i;
		between[i] = i;
		last = i;
		pid = fork();
		if (!pid) {
			i = first != i || between[i] != i || last != i;
			/* of its own: the parent does not see these */
			first = -2;
			last = -2;
			_exit(i != 0);
		}
		EXPECT(first == i && last == i);
		first = -1;
		between[i] = -1;
		last = -1;
		EXPECT(wait_status(pid) == 0);
		EXPECT(first == -1 && last == -1);
	}
}

static void *fork_often(void *arg)
{
	pid_t pid;
	int i;

	for (i = 0; i < ROUNDS / 4; i++) {
		pid = fork();
		if (!pid)
			_exit(between[0] != 7);
		EXPECT(wait_status(pid) == 0);
	}
	return arg;
}

static void try_threads(void)
{
	pthread_t thread;

	between[0] = 7;
	EXPECT(!pthread_create(&thread, NULL, fork_often, NULL));
	fork_often(NULL);
	pthread_join(thread, NULL);
}

/* The heap is not the child's: neither this PE's nor what is mapped of another. */
static void try_heap(void)
{
	volatile long *word = shmem_malloc(sizeof(*word));
	volatile long *theirs = shmem_ptr((void *)(uintptr_t)word, (me + 1) % shmem_n_pes());
	int status, i;
	pid_t pid;

	*word = 5;
	shmem_barrier_all();
	for (i = 0; i < 2; i++) {
		pid = fork();
		if (!pid) {
			*(i && theirs ? theirs : word) = 6;
			_exit(0);
		}
		status = wait_status(pid);
		EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	}
	shmem_barrier_all();
	EXPECT(*word == 5);
	shmem_free((void *)(uintptr_t)word);
}

/* All kinds of children; the PE goes on as if there were none. */
static void try_kinds(void)
{
	int kind;

	for (kind = CHILD_FORK; kind <= CHILD_CLONE; kind++)
		EXPECT(child_make(kind));
	shmem_barrier_all();
	shmem_long_atomic_inc((long *)(uintptr_t)&last, 0);
	shmem_barrier_all();
	EXPECT(me || last == shmem_n_pes());
}

static void *nothing(void *arg)
{
	return arg;
}

/* Of a static program: fork() fails, threads can be had after it, and programs be started. */
static void try_static(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < 20; i++) {
		errno = 0;
		EXPECT(fork() == -1 && errno == ENOTSUP);
		EXPECT(!pthread_create(&thread, NULL, nothing, NULL));
		EXPECT(!pthread_join(thread, NULL));
	}
	EXPECT(system("exit 3") == 3 << 8);
	EXPECT(child_make(CHILD_VFORK) && child_make(CHILD_SPAWN));
}

/* Handlers of the program, made before shmem_init(), as a library makes them. */
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int generation, stop;

static void own_prepare(void)
{
	pthread_mutex_lock(&own_lock);
}

static void own_parent(void)
{
	pthread_mutex_unlock(&own_lock);
}

static void own_child(void)
{
	generation++;
	pthread_mutex_unlock(&own_lock);
}

static void *holds_lock(void *arg)
{
	const struct timespec a_while = { .tv_nsec = 500000 };

	while (!stop) {
		pthread_mutex_lock(&own_lock);
		nanosleep(&a_while, NULL);
		pthread_mutex_unlock(&own_lock);
		sched_yield();
	}
	return arg;
}

/* They see the child's variables in the child, and a lock that is held is held by the fork. */
static void try_handlers(void)
{
	pthread_t thread;
	pid_t pid;
	int i;

	EXPECT(!pthread_create(&thread, NULL, holds_lock, NULL));
	for (i = 0; i < 20; i++) {
		pid = fork();
		if (!pid) {
			alarm(20);
			pthread_mutex_lock(&own_lock);
			_exit(generation != 1);
		}
		EXPECT(wait_status(pid) == 0);
		EXPECT(!generation);
	}
	stop = 1;
	EXPECT(!pthread_join(thread, NULL));
}

static void on_signal(int number)
{
	(void)number;
	first = getpid();
}

/* A signal that comes early runs its handler on the child's variables. */
static void try_signals(void)
{
	pid_t pid;
	int i;

	signal(SIGUSR1, on_signal);
	for (i = 0; i < ROUNDS; i++) {
		first = 0;
		pid = fork();
		if (!pid) {
			while (!first)
				sched_yield();
			_exit(first != getpid());
		}
		EXPECT(pid > 0 && !kill(pid, SIGUSR1));
		EXPECT(wait_status(pid) == 0);
		EXPECT(!first);
	}
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "";
	int provided;

	if (!strcmp(part, "handlers"))
		pthread_atfork(own_prepare, own_parent, own_child);
	shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
	me = shmem_my_pe();
	if (!strcmp(part, "copy"))
		try_copy();
	else if (!strcmp(part, "threads"))
		try_threads();
	else if (!strcmp(part, "heap"))
		try_heap();
	else if (!strcmp(part, "kinds"))
		try_kinds();
	else if (!strcmp(part, "handlers"))
		try_handlers();
	else if (!strcmp(part, "signals"))
		try_signals();
	else if (!strcmp(part, "static"))
		try_static();
	else if (!strcmp(part, "daemon") && daemon(1, 1) < 0)
		return 1;
	shmem_barrier_all();
	/* die KIND: the last PE leaves a child and is killed */
	if (!strcmp(part, "die")) {
		if (me == shmem_n_pes() - 1 && child_make(atoi(argv[2])))
			raise(SIGKILL);
		shmem_barrier_all();
	}
	if (!me)
		printf("%s: as it should be\n", part);
	shmem_finalize();
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * How a program ends: end HOW [STATUS], of which the last PE does what is named and the
 * others wait in a barrier, as long as it takes.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <pshmem.h>

static int variable = 1;
static long psync[SHMEM_SYNC_SIZE];
static bool slow;

static void rest(void)
{
	if (slow)
		nanosleep(&(struct timespec) { .tv_nsec = 20000000 }, NULL);
}

/* PE 0 tells PE 2 that all have started, and PE 1 some time later. */
ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
	rest();
	return sendto(fd, data, bytes, flags, NULL, 0);
}

/* A PE that is ended by another one takes its time. */
unsigned int alarm(unsigned int seconds)
{
	struct itimerval t = { .it_value.tv_sec = seconds };

	if (getenv("GDA_COMM_RANK") && strcmp(getenv("GDA_COMM_RANK"), "0"))
		rest();
	setitimer(ITIMER_REAL, &t, NULL);
	return 0;
}

/* A child of fork() writes to a copy of its own; it can make no call. */
static void fork_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		variable = 2;
		shmem_int_p(&variable, 3, 0);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 1 || variable != 1)
		shmem_global_exit(9);
}

/* It destroys neither of them: shmem_finalize() does. */
static void split(void)
{
	shmem_team_t team;
	shmem_ctx_t ctx;

	if (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team) ||
	    shmem_team_create_ctx(team, 0, &ctx) || shmem_ctx_create(0, &ctx))
		shmem_global_exit(9);
}

static void end(const char *how, int status)
{
	int local = 0;
	void *p = &local;

	if (!strcmp(how, "exit"))
		shmem_global_exit(status);
	if (!strcmp(how, "pexit"))
		pshmem_global_exit(status);
	if (!strcmp(how, "pe") || !strcmp(how, "start"))
		shmem_int_p(&variable, 1, shmem_n_pes());
	if (!strcmp(how, "stack"))
		shmem_int_p(p, 1, 0);
	if (!strcmp(how, "past"))
		shmem_putmem(psync, p, 1UL << 40, 0);
	if (!strcmp(how, "free"))
		shmem_free(p);
	if (!strcmp(how, "cmp"))
		shmem_int_test(&variable, 7, 0);
	if (!strcmp(how, "signal"))
		shmem_putmem_signal(psync, p, 0, (uint64_t *)psync, 1, 2, 0);
	if (!strcmp(how, "set"))
		shmem_barrier(0, 0, shmem_n_pes() + 1, psync);
	if (!strcmp(how, "context"))
		shmem_ctx_int_p(SHMEM_CTX_INVALID, &variable, 1, 0);
	if (!strcmp(how, "world"))
		shmem_team_destroy(SHMEM_TEAM_WORLD);
	if (!strcmp(how, "die"))
		raise(SIGKILL);
	if (!strcmp(how, "fork"))
		fork_child();
	if (!strcmp(how, "leave"))
		exit(0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "early"))
		shmem_barrier_all();
	if (!strcmp(how, "late")) {
		shmem_init();
		shmem_finalize();
		shmem_barrier_all();
	}
	slow = !strcmp(how, "start");
	shmem_init();
	if (!strcmp(how, "split"))
		split();
	if (shmem_my_pe() == shmem_n_pes() - 1)
		end(how, argc > 2 ? atoi(argv[2]) : 0);
	shmem_barrier_all();
	if (!strcmp(how, "finalize"))
		shmem_finalize();
	if (!strcmp(how, "pfinalize"))
		pshmem_finalize();
	/* Else at the end of the program. */
	puts("done");
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Splits of teams that fail, and splits of two parents at once: split PART. Each part ends with
 * a line of PE 0, or says which expectation failed.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <shmem.h>

#define MOST	1000	/* teams, more than any PE can be in */
#define ROUNDS	300	/* splits, and sums behind each */

static int me, npes;
static pthread_barrier_t both;
static long source[2], dest[2];
static long values[4];

#define EXPECT(what) \
	do { \
		if (!(what)) { \
			printf("PE %d: line %d: %s\n", me, __LINE__, #what); \
			fflush(stdout); \
			shmem_global_exit(1); \
		} \
	} while (0)

/* Is @value the same at all PEs? */
static bool all_alike(int value)
{
	static int own, least, most;

	own = value;
	shmem_int_min_reduce(SHMEM_TEAM_WORLD, &least, &own, 1);
	shmem_int_max_reduce(SHMEM_TEAM_WORLD, &most, &own, 1);
	return least == most;
}

/* Split @parent, of @size PEs, until it fails. Return: how many there are then. */
static int use_up(shmem_team_t parent, int size, shmem_team_t *teams)
{
	int n = 0;

	while (n < MOST &&
	       !shmem_team_split_strided(parent, 0, 1, size, NULL, 0, &teams[n]))
		n++;
	EXPECT(teams[n] == SHMEM_TEAM_INVALID);
	return n;
}

static void destroy(shmem_team_t *teams, int n)
{
	while (n--)
		shmem_team_destroy(teams[n]);
}

/* PE 0 is in each team, the others in some of them: all are told that PE 0 has no more. */
static void try_strided(void)
{
	static shmem_team_t teams[MOST + 1];
	int i, err = 0, twice;

	for (twice = 0; twice < 2; twice++) {
		for (i = 0; i < MOST && !err; i++) {
			err = shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1 + i % npes, NULL,
						       0, &teams[i]);
			EXPECT(all_alike(err));
		}
		EXPECT(err && i > 32 && teams[i - 1] == SHMEM_TEAM_INVALID);
		destroy(teams, i - 1);
		err = 0;
	}
	/* no such team: all say so, also where only one names it */
	err = shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, me ? 1 : npes + 1, NULL, 0, teams);
	EXPECT(err && all_alike(err) && teams[0] == SHMEM_TEAM_INVALID);
}

/* The first two use up theirs, then all split in two ways; and neither of them leaks a team. */
static void try_2d(void)
{
	static shmem_team_t teams[MOST + 1];
	shmem_team_t pair, x, y;
	int n = 0, i, err;

	shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &pair);
	if (pair != SHMEM_TEAM_INVALID)
		n = use_up(pair, 2, teams);
	for (i = 0; i < 100; i++) {
		err = shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &x, NULL, 0, &y);
		EXPECT(err && all_alike(err));
		EXPECT(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID);
	}
	/* room for one of the two */
	if (n)
		shmem_team_destroy(teams[--n]);
	err = shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &x, NULL, 0, &y);
	EXPECT(err && all_alike(err) && x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID);
	if (n)
		shmem_team_destroy(teams[--n]);
	err = shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &x, NULL, 0, &y);
	EXPECT(!err && shmem_team_my_pe(x) == me % 2 && shmem_team_my_pe(y) == me / 2);
	shmem_team_sync(x);
	shmem_team_sync(y);
	shmem_team_destroy(y);
	shmem_team_destroy(x);
	destroy(teams, n);
	shmem_team_destroy(pair);
	n = use_up(SHMEM_TEAM_WORLD, npes, teams);
	EXPECT(n >= 62 && all_alike(n));
	destroy(teams, n);
}

/* The first PE has another number for the team than the others, in each kind of call. */
static void try_numbers(void)
{
	static long own, all[64], sum;
	shmem_team_t alone, team;
	int i, root;

	EXPECT(!shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &alone));
	EXPECT(!shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team));
	for (root = 0; root < npes; root++) {
		own = me + 10 * root;
		EXPECT(!shmem_long_broadcast(team, &sum, &own, 1, root));
		EXPECT(sum == root + 10 * root);
		EXPECT(!shmem_long_collect(team, all, &own, 1));
		for (i = 0; i < npes; i++)
			EXPECT(all[i] == i + 10 * root);
		EXPECT(!shmem_long_alltoall(team, all + 32, all, 1));
		EXPECT(!shmem_long_sum_reduce(team, &sum, &own, 1));
		EXPECT(sum == npes * (npes - 1) / 2 + 10 * root * npes);
		shmem_team_sync(team);
	}
	shmem_team_destroy(team);
	shmem_team_destroy(alone);
}

/* Sums of two teams that were split at the same time are those of each. */
static void *split_one(void *arg)
{
	shmem_team_t parent = arg ? SHMEM_TEAM_SHARED : SHMEM_TEAM_WORLD, team;
	int i, which = !!arg, size;

	for (i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&both);
		size = shmem_team_n_pes(parent);
		EXPECT(!shmem_team_split_strided(parent, 0, 1, size, NULL, 0, &team));
		source[which] = which ? 1000 + i : 1;
		shmem_long_sum_reduce(team, &dest[which], &source[which], 1);
		EXPECT(dest[which] == source[which] * size);
		EXPECT(!shmem_long_fcollect(team, values + 2 * which, &source[which], 0));
		shmem_team_sync(team);
		shmem_team_destroy(team);
	}
	return NULL;
}

static void try_threads(void)
{
	pthread_t thread;

	pthread_barrier_init(&both, NULL, 2);
	if (pthread_create(&thread, NULL, split_one, &both))
		shmem_global_exit(1);
	split_one(NULL);
	pthread_join(thread, NULL);
}

/* Lengths that overflow, which the library has to refuse: none of these calls returns. */
static void try_absurd(const char *how)
{
	static long array[4];

	if (!strcmp(how, "iput"))
		shmem_long_iput(array, values, 1L << 60, 0, 3, 0);
	if (!strcmp(how, "iget"))
		shmem_long_iget(values, array, 0, 1L << 61, 2, 0);
	if (!strcmp(how, "negative"))
		shmem_long_iput(array + 1, values, -1, 1, 2, 0);
	if (!strcmp(how, "put"))
		shmem_long_put(array, values, (1UL << 61) + 1, 0);
	if (!strcmp(how, "get"))
		shmem_long_get(values, array, (1UL << 61) + 1, 0);
	if (!strcmp(how, "broadcast"))
		shmem_long_broadcast(SHMEM_TEAM_WORLD, array, values, (1UL << 61) + 1, 0);
	if (!strcmp(how, "alltoall"))
		shmem_long_alltoall(SHMEM_TEAM_WORLD, array, values, 1UL << 61);
	if (!strcmp(how, "reduce"))
		shmem_long_sum_reduce(SHMEM_TEAM_WORLD, array, values, 1UL << 62);
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "";
	int provided;

	shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
	me = shmem_my_pe();
	npes = shmem_n_pes();
	if (!strcmp(part, "strided"))
		try_strided();
	else if (!strcmp(part, "2d"))
		try_2d();
	else if (!strcmp(part, "numbers"))
		try_numbers();
	else if (!strcmp(part, "threads"))
		try_threads();
	else
		try_absurd(part);
	shmem_barrier_all();
	if (!me)
		printf("%s: as it should be\n", part);
	shmem_finalize();
	return 0;
}

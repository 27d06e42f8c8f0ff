// SPDX-License-Identifier: MIT
/*
 * Teams of teams: rows and columns of a grid of PEs, split again by every second one, each
 * with a context and collectives of its own; and words that several PEs wait for in the forms
 * for all, any and some.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <shmem.h>

static long sum, part, inbox[64], ivars[64];
static int status[64];
static size_t indices[64];
static int me, npes, wrong;

#define EXPECT(what) \
	do { \
		if (!(what)) { \
			wrong++; \
			printf("PE %d: line %d: %s\n", me, __LINE__, #what); \
		} \
	} while (0)

static void try_team(shmem_team_t team)
{
	int rank = shmem_team_my_pe(team), size = shmem_team_n_pes(team), i;
	long want = 0;
	shmem_ctx_t ctx;

	EXPECT(rank >= 0 && rank < size);
	for (i = 0; i < size; i++)
		want += shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD) + 1;
	part = me + 1;
	EXPECT(!shmem_long_sum_reduce(team, &sum, &part, 1) && sum == want);
	EXPECT(!shmem_long_fcollect(team, inbox, &part, 1));
	for (i = 0; i < size; i++)
		EXPECT(inbox[i] == shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD) + 1);
	EXPECT(!shmem_team_sync(team));
	if (shmem_team_create_ctx(team, 0, &ctx)) {
		EXPECT(!"a context");
		return;
	}
	shmem_ctx_long_p(ctx, &inbox[rank], 100 + rank, (rank + 1) % size);
	shmem_ctx_quiet(ctx);
	shmem_team_sync(team);
	i = (rank + size - 1) % size;
	EXPECT(inbox[i] == 100 + i);
	shmem_ctx_destroy(ctx);
	EXPECT(!shmem_long_broadcast(team, &sum, &part, 1, size - 1));
	EXPECT(sum == shmem_team_translate_pe(team, size - 1, SHMEM_TEAM_WORLD) + 1);
	shmem_team_sync(team);
}

static void try_grid(void)
{
	shmem_team_config_t config = { .num_contexts = 1 };
	shmem_team_t rows, columns, half;

	EXPECT(!shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, &config, SHMEM_TEAM_NUM_CONTEXTS, &rows,
				    NULL, 0, &columns));
	try_team(rows);
	try_team(columns);
	EXPECT(!shmem_team_split_strided(columns, 0, 2, (shmem_team_n_pes(columns) + 1) / 2, NULL,
					 0, &half));
	if (half != SHMEM_TEAM_INVALID)
		try_team(half);
	shmem_team_destroy(half);
	shmem_team_destroy(columns);
	shmem_team_destroy(rows);
	shmem_barrier_all();
}

static void try_many_words(void)
{
	size_t n, i, seen = 0;
	int pe;

	for (pe = 0; pe < npes; pe++)
		shmem_atomic_set(&ivars[me], me + 1L, pe);
	memset(status, 0, sizeof(status));
	while (seen < (size_t)npes) {
		n = shmem_wait_until_some(ivars, (size_t)npes, indices, status, SHMEM_CMP_NE, 0);
		for (i = 0; i < n; i++) {
			EXPECT(ivars[indices[i]] == (long)indices[i] + 1);
			status[indices[i]] = 1;
		}
		seen += n;
	}
	EXPECT(shmem_wait_until_any(ivars, (size_t)npes, status, SHMEM_CMP_NE, 0) == SIZE_MAX);
	EXPECT(shmem_test_all(ivars, (size_t)npes, NULL, SHMEM_CMP_GT, 0));
	shmem_barrier_all();
}

int main(void)
{
	int i;

	shmem_init();
	me = shmem_my_pe();
	npes = shmem_n_pes();
	try_team(SHMEM_TEAM_WORLD);
	try_team(SHMEM_TEAM_SHARED);
	shmem_barrier_all();
	for (i = 0; i < 5; i++)
		try_grid();
	try_many_words();
	shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &wrong, &wrong, 1);
	if (!me && !wrong)
		printf("teams: as the reference\n");
	shmem_finalize();
	return wrong != 0;
}

// SPDX-License-Identifier: MIT
/*
 * Barriers. A team's is a dissemination: in round k each PE tells the one 2^k further on,
 * by the barrier's number, in a word that only it writes; so nothing is reset. An active
 * set of all PEs has that of the world, unless threads may be in several calls at once. Any
 * other one's goes through its first PE, in the words of the caller's pSync:
 *
 *   pSync[0]  at the first PE: how many others have come
 *   pSync[1]  at the others: 1 when they may go
 *   pSync[2]  what its PE gives to a collect
 *
 * and each word is SHMEM_SYNC_VALUE again when the call that used it returns.
 */
#include "define.h"
#include "reach.h"

enum { PSYNC_COME, PSYNC_GO, PSYNC_SIZE };

void gda_osh_team_wait(const char *call, struct gda_osh_team *team)
{
	uint64_t epoch = ++gda_osh.control->sync[team->number].epoch;
	uint64_t *own = gda_osh.control->sync[team->number].round, *theirs;
	int distance, peer, round;

	for (distance = 1, round = 0; distance < team->size; distance *= 2, round++) {
		peer = (team->me + distance) % team->size;
		theirs = gda_osh.control->sync[team->numbers[peer]].round;
		gda_osh_set(call, &theirs[round], epoch, team->start + peer * team->stride);
		gda_osh_wait_least(call, &own[round], epoch);
	}
	/* even a PE that is alone makes earlier stores visible */
	gda_osh_fence();
}

static uint64_t *psync_word(const struct gda_osh_group *g, int word)
{
	_Static_assert(sizeof(long) == sizeof(uint64_t), "a word of pSync is one of the library's");
	return (uint64_t *)&g->psync[word];
}

static void psync_wait(const char *call, const struct gda_osh_group *g, int which, int value)
{
	uint64_t *word = psync_word(g, which);

	_Static_assert(SHMEM_SYNC_VALUE == 0, "words of pSync count from there");
	gda_osh_wait_least(call, word, (uint64_t)value);
	__atomic_store_n(word, SHMEM_SYNC_VALUE, __ATOMIC_RELAXED);
}

static void set_wait(const char *call, const struct gda_osh_group *g)
{
	int i;

	if (g->me) {
		gda_osh_add(call, psync_word(g, PSYNC_COME), 1, gda_osh_group_pe(g, 0));
		psync_wait(call, g, PSYNC_GO, 1);
		return;
	}
	psync_wait(call, g, PSYNC_COME, g->size - 1);
	for (i = 1; i < g->size; i++)
		gda_osh_set(call, psync_word(g, PSYNC_GO), 1, gda_osh_group_pe(g, i));
}

void gda_osh_group_sync(const char *call, const struct gda_osh_group *g)
{
	if (g->team)
		gda_osh_team_wait(call, g->team);
	else
		set_wait(call, g);
}

struct gda_osh_group gda_osh_group_of_set(const char *call, int start, int log_stride,
					  int size, long *psync)
{
	struct gda_osh_group g = { .start = start, .size = size, .psync = psync, .is_set = true };
	int64_t last;

	if (!gda_osh.npes)
		gda_osh_bad(call, NULL, 0, 0);
	if (log_stride < 0 || log_stride > 30)
		gda_osh_die(call, -1,
			    "there is no stride of 2^%d: pass the logarithm, 0 to 30",
			    log_stride);
	g.stride = 1 << log_stride;
	last = start + (int64_t)g.stride * (size - 1);
	if (start < 0 || size < 1 || last >= gda_osh.npes)
		gda_osh_die(call, -1,
			    "PEs %d to %lld: the active set must lie in 0 to %u",
			    start, (long long)last, gda_osh.npes - 1);
	g.me = (gda_osh.me - start) / g.stride;
	if (gda_osh.me < start || gda_osh.me > last || (gda_osh.me - start) % g.stride)
		gda_osh_die(call, -1, "this PE is not in the active set: let only its PEs call");
	if (size == (int)gda_osh.npes && gda_osh.threads != SHMEM_THREAD_MULTIPLE)
		g.team = &gda_osh.world;
	return g;
}

uint64_t *gda_osh_group_size_word(const struct gda_osh_group *g, int index)
{
	return g->team ? &gda_osh.control->sync[g->team->numbers[index]].size :
			 psync_word(g, PSYNC_SIZE);
}

static void world_wait(const char *call)
{
	if (!gda_osh.npes)
		gda_osh_bad(call, NULL, 0, 0);
	gda_osh_team_wait(call, &gda_osh.world);
}

GDA_OSH_PUBLIC void pshmem_barrier_all(void)
{
	gda_osh_quiet(GDA_OSH_CALL_NAME);
	world_wait(GDA_OSH_CALL_NAME);
}

GDA_OSH_PUBLIC void pshmem_sync_all(void)
{
	world_wait(GDA_OSH_CALL_NAME);
}

GDA_OSH_PUBLIC void pshmem_sync(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
	struct gda_osh_group g = gda_osh_group_of_set(GDA_OSH_CALL_NAME, PE_start, logPE_stride,
						      PE_size, pSync);

	gda_osh_group_sync(GDA_OSH_CALL_NAME, &g);
}

GDA_OSH_PUBLIC void pshmem_barrier(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
	struct gda_osh_group g = gda_osh_group_of_set(GDA_OSH_CALL_NAME, PE_start, logPE_stride,
						      PE_size, pSync);

	gda_osh_quiet(GDA_OSH_CALL_NAME);
	gda_osh_group_sync(GDA_OSH_CALL_NAME, &g);
}

#undef shmem_sync
GDA_OSH_SYNC(GDA_OSH_WEAK_CALL)

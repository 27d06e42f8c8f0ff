// SPDX-License-Identifier: MIT
/*
 * Broadcast, collect and all-to-all. Each PE puts its data to its destination, and a barrier, or
 * for broadcasts a word, tells that all data is there. The caller ensures that the destinations may
 * be overwritten.
 */
#include "define.h"
#include "reach.h"

static void finish(const char *call, const struct gda_osh_group *g)
{
	gda_osh_quiet(call);
	gda_osh_group_sync(call, g);
}

/* Each PE begins with its neighbour, so that not all put to the same PE at once. */
static int rotated(const struct gda_osh_group *g, int i)
{
	return (g->me + 1 + i) % g->size;
}

static void put_to_all(const char *call, const struct gda_osh_group *g, char *dest,
		       const void *source, size_t bytes)
{
	int i;

	for (i = 0; i < g->size; i++)
		gda_osh_put_nbi(call, dest, source, bytes, gda_osh_group_pe(g, rotated(g, i)));
}

/*
 * With direct access the root waits for no PE. It adds to the word of each PE only after the data
 * of all was stored. So if a PE that was told is the root of the next broadcast, its data cannot be
 * overwritten by data of this one, whichever of the two adds arrives first.
 */
static void tell(const char *call, const struct gda_osh_group *g, int root)
{
	struct gda_osh_control *control = gda_osh.control;
	uint64_t *told = &control->sync[g->team->number].told;
	uint64_t *begun = &control->sync[g->team->number].broadcasts;
	int i, to;

	++*begun;
	if (g->me != root) {
		gda_osh_wait_least(call, told, *begun);
		return;
	}
	__atomic_fetch_add(told, 1, __ATOMIC_RELAXED);
	for (i = 0; i < g->size - 1; i++) {
		to = rotated(g, i);
		gda_osh_add(call, &control->sync[g->team->numbers[to]].told, 1,
			    gda_osh_group_pe(g, to));
	}
}

/* Unlike in a team, nothing is written at the root of an active set. */
void gda_osh_broadcast(const char *call, const struct gda_osh_group *g, void *dest,
		       const void *source, size_t bytes, int root)
{
	int i;

	if (root < 0 || root >= g->size)
		gda_osh_die(call, -1,
			    "there is no root %d: pass one of 0 to %d",
			    root, g->size - 1);
	for (i = 0; g->me == root && i < g->size; i++)
		if (i != root || !g->is_set)
			gda_osh_put_nbi(call, dest, source, bytes, gda_osh_group_pe(g, i));
	if (g->team && !gda_osh.s->qps)
		tell(call, g, root);
	else
		finish(call, g);
}

void gda_osh_fcollect(const char *call, const struct gda_osh_group *g, void *dest,
		      const void *source, size_t bytes)
{
	put_to_all(call, g, (char *)dest + (size_t)g->me * bytes, source, bytes);
	finish(call, g);
}

void gda_osh_collect(const char *call, const struct gda_osh_group *g, void *dest,
		     const void *source, size_t bytes)
{
	uint64_t *own = gda_osh_group_size_word(g, g->me);
	size_t before = 0;
	int i;

	__atomic_store_n(own, bytes, __ATOMIC_RELEASE);
	gda_osh_group_sync(call, g);
	for (i = 0; i < g->me; i++)
		before += gda_osh_load_from(call, gda_osh_group_size_word(g, i),
					    gda_osh_group_pe(g, i));
	put_to_all(call, g, (char *)dest + before, source, bytes);
	finish(call, g);
	__atomic_store_n(own, SHMEM_SYNC_VALUE, __ATOMIC_RELAXED);
}

void gda_osh_alltoall(const char *call, const struct gda_osh_group *g,
		      const struct gda_osh_strided *what)
{
	ptrdiff_t block, all;
	struct gda_osh_strided w = *what;
	int i, to;

	/* no PE's block may begin at an address that wrapped around */
	if (__builtin_mul_overflow(what->nelems, what->bytes, &block) ||
	    __builtin_mul_overflow(block, g->size, &all) ||
	    __builtin_mul_overflow(all, what->dst, &all))
		gda_osh_bad(call, what->dest, SIZE_MAX, gda_osh_group_pe(g, g->me));
	w.dest = (char *)what->dest + g->me * block * what->dst;
	for (i = 0; i < g->size; i++) {
		to = rotated(g, i);
		w.source = (const char *)what->source + to * block * what->sst;
		if (w.dst == 1 && w.sst == 1)
			gda_osh_put_nbi(call, w.dest, w.source, (size_t)block,
					gda_osh_group_pe(g, to));
		else
			gda_osh_iput(call, &w, gda_osh_group_pe(g, to));
	}
	finish(call, g);
}

#define GDA_OSH_TEAM_GROUP \
	const struct gda_osh_group g = gda_osh_group_of_team(GDA_OSH_CALL_NAME, team)
#define GDA_OSH_DO_broadcast(T) \
	GDA_OSH_TEAM_GROUP; \
	gda_osh_broadcast(GDA_OSH_CALL_NAME, &g, dest, source, GDA_OSH_BYTES(T), PE_root); \
	return 0
#define GDA_OSH_DO_collect(T) \
	GDA_OSH_TEAM_GROUP; \
	gda_osh_collect(GDA_OSH_CALL_NAME, &g, dest, source, GDA_OSH_BYTES(T)); \
	return 0
#define GDA_OSH_DO_fcollect(T) \
	GDA_OSH_TEAM_GROUP; \
	gda_osh_fcollect(GDA_OSH_CALL_NAME, &g, dest, source, GDA_OSH_BYTES(T)); \
	return 0
#define GDA_OSH_EXCHANGE(T, to, from) \
	const struct gda_osh_strided w = { \
		.dest = dest, .source = source, .dst = to, .sst = from, .nelems = nelems, \
		.bytes = sizeof(T), \
	}; \
	gda_osh_alltoall(GDA_OSH_CALL_NAME, &g, &w)
#define GDA_OSH_DO_alltoall(T) \
	GDA_OSH_TEAM_GROUP; \
	GDA_OSH_EXCHANGE(T, 1, 1); \
	return 0
#define GDA_OSH_DO_alltoalls(T) \
	GDA_OSH_TEAM_GROUP; \
	GDA_OSH_EXCHANGE(T, dst, sst); \
	return 0

GDA_OSH_COLL(GDA_OSH_DEFINE)

#define GDA_OSH_SET_GROUP \
	const struct gda_osh_group g = gda_osh_group_of_set(GDA_OSH_CALL_NAME, PE_start, \
							    logPE_stride, PE_size, pSync)
#define GDA_OSH_DO_broadcast_set(T) \
	GDA_OSH_SET_GROUP; \
	gda_osh_broadcast(GDA_OSH_CALL_NAME, &g, dest, source, GDA_OSH_BYTES(T), PE_root)
#define GDA_OSH_DO_collect_set(T) \
	GDA_OSH_SET_GROUP; \
	gda_osh_collect(GDA_OSH_CALL_NAME, &g, dest, source, GDA_OSH_BYTES(T))
#define GDA_OSH_DO_fcollect_set(T) \
	GDA_OSH_SET_GROUP; \
	gda_osh_fcollect(GDA_OSH_CALL_NAME, &g, dest, source, GDA_OSH_BYTES(T))
#define GDA_OSH_DO_alltoall_set(T) \
	GDA_OSH_SET_GROUP; \
	GDA_OSH_EXCHANGE(T, 1, 1)
#define GDA_OSH_DO_alltoalls_set(T) \
	GDA_OSH_SET_GROUP; \
	GDA_OSH_EXCHANGE(T, dst, sst)

GDA_OSH_ACTIVE(GDA_OSH_DEFINE)

// SPDX-License-Identifier: MIT
/*
 * Teams and contexts. Each team is a start, a stride and a size of the world. Collective calls of a
 * team use words that each PE keeps under a number of its own choice, and each member knows the
 * numbers of the others. So two threads may split two teams at once, and PEs need not have the same
 * number free. A split reserves, agrees with all of the parent whether it succeeded everywhere, and
 * then learns the numbers.
 *
 * teams_lock guards @teams, and the contexts of each team.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "define.h"
#include "reach.h"

enum { TEAM_WORLD, TEAM_SHARED, TEAM_FIRST };

#define MAX_SPLIT	2	/* teams that one call makes */
#define OFFER_BITS	8	/* bits of a number in sync[].offer */

static pthread_mutex_t teams_lock = PTHREAD_MUTEX_INITIALIZER;

/* The teams made by splits, by this PE's numbers. */
static struct gda_osh_team *teams[GDA_OSH_MAX_TEAMS];

/* Numbers for the world and for the shared team, which are the same at all PEs. */
static uint8_t *numbers_alloc(int number)
{
	uint8_t *numbers = malloc(gda_osh.npes);

	if (numbers)
		memset(numbers, number, gda_osh.npes);
	return numbers;
}

int gda_osh_teams_init(void)
{
	gda_osh.world = (struct gda_osh_team) {
		.stride = 1, .size = (int)gda_osh.npes, .me = gda_osh.me, .number = TEAM_WORLD,
	};
	/* PEs that are mapped share memory: all of them, or this PE alone. */
	gda_osh.shared = gda_osh.world;
	gda_osh.shared.number = TEAM_SHARED;
	if (gda_osh.s->qps) {
		gda_osh.shared.start = gda_osh.me;
		gda_osh.shared.size = 1;
		gda_osh.shared.me = 0;
	}
	gda_osh.world.numbers = numbers_alloc(TEAM_WORLD);
	gda_osh.shared.numbers = numbers_alloc(TEAM_SHARED);
	return gda_osh.world.numbers && gda_osh.shared.numbers ? 0 : -ENOMEM;
}

static void free_contexts(struct gda_osh_team *team)
{
	struct gda_osh_ctx *ctx, *next;

	for (ctx = team->contexts; ctx; ctx = next) {
		next = ctx->next;
		free(ctx);
	}
	team->contexts = NULL;
}

static void free_team(struct gda_osh_team *team)
{
	free_contexts(team);
	pthread_mutex_lock(&teams_lock);
	teams[team->number] = NULL;
	pthread_mutex_unlock(&teams_lock);
	free(team);
}

void gda_osh_teams_fini(void)
{
	int number;

	for (number = TEAM_FIRST; number < GDA_OSH_MAX_TEAMS; number++)
		if (teams[number])
			free_team(teams[number]);
	free_contexts(&gda_osh.world);
	free_contexts(&gda_osh.shared);
	free(gda_osh.world.numbers);
	free(gda_osh.shared.numbers);
	gda_osh.world.numbers = NULL;
	gda_osh.shared.numbers = NULL;
}

/* NULL: SHMEM_TEAM_INVALID. */
static struct gda_osh_team *find(const char *call, shmem_team_t team)
{
	if (!gda_osh.npes)
		gda_osh_bad(call, NULL, 0, 0);
	if (team == SHMEM_TEAM_WORLD)
		return &gda_osh.world;
	if (team == SHMEM_TEAM_SHARED)
		return &gda_osh.shared;
	return team;
}

static shmem_team_t handle(struct gda_osh_team *team)
{
	if (team == &gda_osh.world)
		return SHMEM_TEAM_WORLD;
	return team == &gda_osh.shared ? SHMEM_TEAM_SHARED : team;
}

struct gda_osh_team *gda_osh_team_get(const char *call, shmem_team_t team)
{
	struct gda_osh_team *t = find(call, team);

	if (!t)
		gda_osh_die(call, -1,
			    "the team is SHMEM_TEAM_INVALID, for this PE is in none: let only its members call");
	return t;
}

struct gda_osh_group gda_osh_group_of_team(const char *call, shmem_team_t team)
{
	struct gda_osh_team *t = gda_osh_team_get(call, team);

	return (struct gda_osh_group) {
		.start = t->start, .stride = t->stride, .size = t->size, .me = t->me, .team = t,
	};
}

/* The index in @team of a PE of the world, or -1. */
static int index_of(const struct gda_osh_team *team, int pe)
{
	int from = pe - team->start, index;

	if (from % team->stride)
		return -1;
	index = from / team->stride;
	return index >= 0 && index < team->size ? index : -1;
}

static int world_pe(const struct gda_osh_team *team, int index)
{
	return team->start + index * team->stride;
}

GDA_OSH_PUBLIC int pshmem_team_my_pe(shmem_team_t team)
{
	struct gda_osh_team *t = find(GDA_OSH_CALL_NAME, team);

	return t ? t->me : -1;
}

GDA_OSH_PUBLIC int pshmem_team_n_pes(shmem_team_t team)
{
	struct gda_osh_team *t = find(GDA_OSH_CALL_NAME, team);

	return t ? t->size : -1;
}

GDA_OSH_PUBLIC int pshmem_team_get_config(shmem_team_t team, long config_mask,
					  shmem_team_config_t *config)
{
	struct gda_osh_team *t = find(GDA_OSH_CALL_NAME, team);

	if (!t || config_mask & ~SHMEM_TEAM_NUM_CONTEXTS)
		return -EINVAL;
	if (config_mask & SHMEM_TEAM_NUM_CONTEXTS)
		config->num_contexts = t->config.num_contexts;
	return 0;
}

GDA_OSH_PUBLIC int pshmem_team_translate_pe(shmem_team_t src_team, int src_pe,
					    shmem_team_t dest_team)
{
	struct gda_osh_team *from = find(GDA_OSH_CALL_NAME, src_team);
	struct gda_osh_team *to = find(GDA_OSH_CALL_NAME, dest_team);

	if (!from || !to || src_pe < 0 || src_pe >= from->size)
		return -1;
	return index_of(to, world_pe(from, src_pe));
}

/* Give @team a number that no other team of this PE has. Return: the number, or -ENOSPC. */
static int number_reserve(struct gda_osh_team *team)
{
	int number = TEAM_FIRST;

	pthread_mutex_lock(&teams_lock);
	while (number < GDA_OSH_MAX_TEAMS && teams[number])
		number++;
	if (number < GDA_OSH_MAX_TEAMS)
		teams[number] = team;
	else
		number = -ENOSPC;
	pthread_mutex_unlock(&teams_lock);
	return number;
}

/* Allocate all that this PE needs as a member of @want, before other PEs learn its number. */
static int prepare(const struct gda_osh_team *want, struct gda_osh_team **team)
{
	struct gda_osh_control *control = gda_osh.control;
	struct gda_osh_team *t = malloc(sizeof(*t) + (size_t)want->size);

	if (!t)
		return -ENOMEM;
	*t = *want;
	t->numbers = (uint8_t *)(t + 1);
	t->number = number_reserve(t);
	if (t->number < 0) {
		free(t);
		return -ENOSPC;
	}
	memset(&control->sync[t->number], 0, sizeof(control->sync[0]));
	memset(&control->slots[t->number], 0, sizeof(control->slots[0]));
	*team = t;
	return 0;
}

static void worst_of(void *into, const void *from, size_t count)
{
	const uint64_t *other = from;
	uint64_t *worst = into;

	(void)count;
	if (*worst < *other)
		*worst = *other;
}

/*
 * Agree on an error. Return: the same at all members of @parent: 0, or the error of one. Stores
 * that members made before are visible to all afterwards.
 */
static int agree(const char *call, struct gda_osh_team *parent, int err)
{
	uint64_t own = (uint64_t)-err, worst = 0;
	const struct gda_osh_group g = {
		.start = parent->start, .stride = parent->stride, .size = parent->size,
		.me = parent->me, .team = parent,
	};
	const struct gda_osh_reduction what = {
		.dest = &worst, .source = &own, .count = 1, .bytes = sizeof(own),
		.combine = worst_of,
	};

	gda_osh_reduce(call, &g, &what);
	return -(int)worst;
}

/* Read the numbers of all members of @team, which is the @which-th of its split. */
static void learn(const char *call, const struct gda_osh_team *parent,
		  const struct gda_osh_team *team, int which)
{
	const uint64_t *offer;
	int i, pe;

	for (i = 0; i < team->size; i++) {
		pe = world_pe(team, i);
		offer = &gda_osh.control->sync[parent->numbers[index_of(parent, pe)]].offer;
		team->numbers[i] = (uint8_t)(gda_osh_load_from(call, offer, pe) >>
					     which * OFFER_BITS);
	}
}

/*
 * Split: each member of @parent names the @count teams that it wants to be in, by start, stride and
 * size; a size of 0 is no team, -1 is an invalid one. Return: the same at all members: 0; -ENOSPC a
 * PE is in as many teams as it can be; -ENOMEM; -EINVAL.
 */
static int split(const char *call, struct gda_osh_team *parent, const struct gda_osh_team *want,
		 int count, struct gda_osh_team **made)
{
	uint64_t offer = 0;
	int i, err = 0;

	for (i = 0; i < count; i++) {
		made[i] = NULL;
		if (want[i].size < 0)
			err = -EINVAL;
		if (!err && want[i].size)
			err = prepare(&want[i], &made[i]);
		if (made[i])
			offer |= (uint64_t)made[i]->number << i * OFFER_BITS;
	}
	__atomic_store_n(&gda_osh.control->sync[parent->number].offer, offer, __ATOMIC_RELEASE);
	err = agree(call, parent, err);
	for (i = 0; i < count; i++) {
		if (made[i] && !err)
			learn(call, parent, made[i], i);
		else if (made[i])
			free_team(made[i]);
	}
	/* the next split of the parent overwrites the offer */
	if (!err)
		gda_osh_team_wait(call, parent);
	return err;
}

static void configure(struct gda_osh_team *want, const shmem_team_config_t *config, long mask)
{
	if (config && mask & SHMEM_TEAM_NUM_CONTEXTS)
		want->config = *config;
}

/* Compute the team of start, stride and size in @parent. A size of -1: there is no such team. */
static void want_strided(struct gda_osh_team *want, const struct gda_osh_team *parent, int start,
			 int stride, int size)
{
	int64_t last = start + ((int64_t)size - 1) * stride;

	want->size = -1;
	if (size < 1 || start < 0 || start >= parent->size || last < 0 || last >= parent->size ||
	    (!stride && size > 1))
		return;
	want->start = world_pe(parent, start);
	want->stride = size > 1 ? stride * parent->stride : 1;
	want->size = size;
	want->me = index_of(want, gda_osh.me);
	if (want->me < 0)
		want->size = 0;
}

GDA_OSH_PUBLIC int pshmem_team_split_strided(shmem_team_t parent_team, int start, int stride,
					     int size, const shmem_team_config_t *config,
					     long config_mask, shmem_team_t *new_team)
{
	struct gda_osh_team *parent = find(GDA_OSH_CALL_NAME, parent_team), *made;
	struct gda_osh_team want = { .me = -1 };
	int err;

	*new_team = SHMEM_TEAM_INVALID;
	if (!parent)
		return -EINVAL;
	want_strided(&want, parent, start, stride, size);
	configure(&want, config, config_mask);
	err = split(GDA_OSH_CALL_NAME, parent, &want, 1, &made);
	if (!err)
		*new_team = made;
	return err;
}

/* Compute the rows, of @xrange members of @parent each, and the columns. */
static void want_2d(struct gda_osh_team want[MAX_SPLIT], const struct gda_osh_team *parent,
		    int xrange)
{
	int row, column;

	want[0].size = -1;
	if (xrange < 1)
		return;
	if (xrange > parent->size)
		xrange = parent->size;
	row = parent->me / xrange;
	column = parent->me % xrange;
	want[0].start = world_pe(parent, row * xrange);
	want[0].stride = parent->stride;
	want[0].size = parent->size - row * xrange < xrange ? parent->size - row * xrange : xrange;
	want[0].me = column;
	want[1].start = world_pe(parent, column);
	want[1].stride = parent->stride * xrange;
	want[1].size = (parent->size - column + xrange - 1) / xrange;
	want[1].me = row;
}

GDA_OSH_PUBLIC int pshmem_team_split_2d(shmem_team_t parent_team, int xrange,
					const shmem_team_config_t *xaxis_config, long xaxis_mask,
					shmem_team_t *xaxis_team,
					const shmem_team_config_t *yaxis_config, long yaxis_mask,
					shmem_team_t *yaxis_team)
{
	struct gda_osh_team *parent = find(GDA_OSH_CALL_NAME, parent_team), *made[MAX_SPLIT];
	struct gda_osh_team want[MAX_SPLIT] = { 0 };
	int err;

	*xaxis_team = SHMEM_TEAM_INVALID;
	*yaxis_team = SHMEM_TEAM_INVALID;
	if (!parent)
		return -EINVAL;
	want_2d(want, parent, xrange);
	configure(&want[0], xaxis_config, xaxis_mask);
	configure(&want[1], yaxis_config, yaxis_mask);
	err = split(GDA_OSH_CALL_NAME, parent, want, MAX_SPLIT, made);
	if (err)
		return err;
	*xaxis_team = made[0];
	*yaxis_team = made[1];
	return 0;
}

GDA_OSH_PUBLIC void pshmem_team_destroy(shmem_team_t team)
{
	struct gda_osh_team *t = find(GDA_OSH_CALL_NAME, team);

	if (!t)
		return;
	if (t->number < TEAM_FIRST)
		gda_osh_die(GDA_OSH_CALL_NAME, -1,
			    "SHMEM_TEAM_WORLD and SHMEM_TEAM_SHARED stay: destroy only what shmem_team_split_*() made");
	free_team(t);
}

GDA_OSH_PUBLIC int pshmem_team_sync(shmem_team_t team)
{
	gda_osh_team_wait(GDA_OSH_CALL_NAME, gda_osh_team_get(GDA_OSH_CALL_NAME, team));
	return 0;
}

GDA_OSH_TEAMS(GDA_OSH_WEAK_CALL)

int gda_osh_ctx_pe(const char *call, shmem_ctx_t ctx, int pe)
{
	if (ctx == SHMEM_CTX_DEFAULT)
		return pe;
	if (ctx == SHMEM_CTX_INVALID)
		gda_osh_die(call, -1,
			    "the context is SHMEM_CTX_INVALID: pass one that shmem_ctx_create() made");
	if (pe < 0 || pe >= ctx->team->size)
		gda_osh_die(call, -1, "there is no PE %d in the context's team, only 0 to %d", pe,
			    ctx->team->size - 1);
	return world_pe(ctx->team, pe);
}

GDA_OSH_PUBLIC int pshmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx)
{
	struct gda_osh_team *t = find(GDA_OSH_CALL_NAME, team);
	struct gda_osh_ctx *c = t ? malloc(sizeof(*c)) : NULL;

	*ctx = SHMEM_CTX_INVALID;
	if (!c)
		return t ? -ENOMEM : -EINVAL;
	*c = (struct gda_osh_ctx) { .team = t, .options = options };
	pthread_mutex_lock(&teams_lock);
	c->next = t->contexts;
	t->contexts = c;
	pthread_mutex_unlock(&teams_lock);
	*ctx = c;
	return 0;
}

GDA_OSH_PUBLIC int pshmem_ctx_create(long options, shmem_ctx_t *ctx)
{
	return pshmem_team_create_ctx(SHMEM_TEAM_WORLD, options, ctx);
}

GDA_OSH_PUBLIC void pshmem_ctx_destroy(shmem_ctx_t ctx)
{
	struct gda_osh_ctx **at;

	if (ctx == SHMEM_CTX_INVALID)
		return;
	if (ctx == SHMEM_CTX_DEFAULT)
		gda_osh_die(GDA_OSH_CALL_NAME, -1,
			    "SHMEM_CTX_DEFAULT stays: destroy only what shmem_ctx_create() made");
	gda_osh_quiet(GDA_OSH_CALL_NAME);
	pthread_mutex_lock(&teams_lock);
	for (at = &ctx->team->contexts; *at && *at != ctx; at = &(*at)->next)
		;
	if (*at)
		*at = ctx->next;
	pthread_mutex_unlock(&teams_lock);
	free(ctx);
}

GDA_OSH_PUBLIC int pshmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team)
{
	*team = SHMEM_TEAM_INVALID;
	if (ctx == SHMEM_CTX_INVALID)
		return -EINVAL;
	*team = ctx == SHMEM_CTX_DEFAULT ? SHMEM_TEAM_WORLD : handle(ctx->team);
	return 0;
}

GDA_OSH_CONTEXTS(GDA_OSH_WEAK_CALL)

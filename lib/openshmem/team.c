// SPDX-License-Identifier: MIT
/*
 * Teams and contexts. Each team is a start, a stride and a size of the world. Its members
 * agree on a number that is free at all of them, under which each keeps the words that
 * barriers of the team use; a split gathers the free numbers between two barriers of the
 * parent.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "define.h"
#include "way.h"

enum { TEAM_WORLD, TEAM_SHARED, TEAM_FIRST };

/* Contexts of one team may be created by several threads. */
static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;

/* Those that were split off, by their numbers. */
static struct gda_osh_team *teams[64];

void gda_osh_teams_init(void)
{
	gda_osh.world = (struct gda_osh_team) {
		.stride = 1, .size = (int)gda_osh.npes, .me = gda_osh.me, .number = TEAM_WORLD,
	};
	/* Those that are mapped share memory: all, or this PE alone. */
	gda_osh.shared = gda_osh.world;
	gda_osh.shared.number = TEAM_SHARED;
	if (gda_osh.s->qps) {
		gda_osh.shared.start = gda_osh.me;
		gda_osh.shared.size = 1;
		gda_osh.shared.me = 0;
	}
	gda_osh.control->teams = UINT64_MAX << TEAM_FIRST;
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
	teams[team->number] = NULL;
	free(team);
}

void gda_osh_teams_fini(void)
{
	int number;

	for (number = TEAM_FIRST; number < 64; number++)
		if (teams[number])
			free_team(teams[number]);
	free_contexts(&gda_osh.world);
	free_contexts(&gda_osh.shared);
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
			    "the team is SHMEM_TEAM_INVALID: this PE is not in it, and does not call");
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

/* Numbers that are free at all members. Between two barriers nobody changes them. */
static uint64_t free_numbers(const char *call, const struct gda_osh_team *team)
{
	uint64_t numbers = UINT64_MAX;
	int i;

	for (i = 0; i < team->size; i++)
		numbers &= gda_osh_load_from(call, &gda_osh.control->teams, world_pe(team, i));
	return numbers;
}

/*
 * Each member of @parent names the team that it wants to be in, by start, stride and size;
 * with no size, it is in none. Return: 0; -ENOSPC the members have no number in common.
 */
static int split(const char *call, struct gda_osh_team *parent, const struct gda_osh_team *want,
		 shmem_team_t *new_team)
{
	struct gda_osh_team *t = want->size ? malloc(sizeof(*t)) : NULL;
	uint64_t numbers;

	*new_team = SHMEM_TEAM_INVALID;
	if (want->size && !t)
		gda_osh_die(call, -1, "out of memory: destroy teams, or start fewer PEs");
	gda_osh_team_wait(call, parent);
	if (t) {
		*t = *want;
		numbers = free_numbers(call, t);
		t->number = numbers ? __builtin_ctzll(numbers) : -1;
		if (numbers) {
			memset(&gda_osh.control->sync[t->number], 0,
			       sizeof(gda_osh.control->sync[0]));
			memset(&gda_osh.control->slots[t->number], 0,
			       sizeof(gda_osh.control->slots[0]));
		}
	}
	gda_osh_team_wait(call, parent);
	if (!t)
		return 0;
	if (t->number < 0) {
		free(t);
		return -ENOSPC;
	}
	gda_osh.control->teams &= ~(1ULL << t->number);
	teams[t->number] = t;
	*new_team = t;
	return 0;
}

static void configure(struct gda_osh_team *want, const shmem_team_config_t *config, long mask)
{
	if (config && mask & SHMEM_TEAM_NUM_CONTEXTS)
		want->config = *config;
}

GDA_OSH_PUBLIC int pshmem_team_split_strided(shmem_team_t parent_team, int start, int stride,
					     int size, const shmem_team_config_t *config,
					     long config_mask, shmem_team_t *new_team)
{
	struct gda_osh_team *parent = find(GDA_OSH_CALL_NAME, parent_team);
	struct gda_osh_team want = { .me = -1 };
	int64_t last = start + ((int64_t)size - 1) * stride;

	*new_team = SHMEM_TEAM_INVALID;
	if (!parent || size < 1 || start < 0 || start >= parent->size || last < 0 ||
	    last >= parent->size || (!stride && size > 1))
		return -EINVAL;
	want.start = world_pe(parent, start);
	want.stride = size > 1 ? stride * parent->stride : 1;
	want.size = size;
	want.me = index_of(&want, gda_osh.me);
	if (want.me < 0)
		want.size = 0;
	configure(&want, config, config_mask);
	return split(GDA_OSH_CALL_NAME, parent, &want, new_team);
}

GDA_OSH_PUBLIC int pshmem_team_split_2d(shmem_team_t parent_team, int xrange,
					const shmem_team_config_t *xaxis_config, long xaxis_mask,
					shmem_team_t *xaxis_team,
					const shmem_team_config_t *yaxis_config, long yaxis_mask,
					shmem_team_t *yaxis_team)
{
	struct gda_osh_team *parent = find(GDA_OSH_CALL_NAME, parent_team);
	struct gda_osh_team x = { 0 }, y = { 0 };
	int row, column, err;

	*xaxis_team = SHMEM_TEAM_INVALID;
	*yaxis_team = SHMEM_TEAM_INVALID;
	if (!parent || xrange < 1)
		return -EINVAL;
	if (xrange > parent->size)
		xrange = parent->size;
	row = parent->me / xrange;
	column = parent->me % xrange;
	x.start = world_pe(parent, row * xrange);
	x.stride = parent->stride;
	x.size = parent->size - row * xrange < xrange ? parent->size - row * xrange : xrange;
	x.me = column;
	configure(&x, xaxis_config, xaxis_mask);
	y.start = world_pe(parent, column);
	y.stride = parent->stride * xrange;
	y.size = (parent->size - column + xrange - 1) / xrange;
	y.me = row;
	configure(&y, yaxis_config, yaxis_mask);
	err = split(GDA_OSH_CALL_NAME, parent, &x, xaxis_team);
	return err ? err : split(GDA_OSH_CALL_NAME, parent, &y, yaxis_team);
}

GDA_OSH_PUBLIC void pshmem_team_destroy(shmem_team_t team)
{
	struct gda_osh_team *t = find(GDA_OSH_CALL_NAME, team);

	if (!t)
		return;
	if (t->number < TEAM_FIRST)
		gda_osh_die(GDA_OSH_CALL_NAME, -1,
			    "SHMEM_TEAM_WORLD and SHMEM_TEAM_SHARED stay: destroy only what shmem_team_split_*() made");
	gda_osh.control->teams |= 1ULL << t->number;
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
	pthread_mutex_lock(&contexts_lock);
	c->next = t->contexts;
	t->contexts = c;
	pthread_mutex_unlock(&contexts_lock);
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
	pthread_mutex_lock(&contexts_lock);
	for (at = &ctx->team->contexts; *at && *at != ctx; at = &(*at)->next)
		;
	if (*at)
		*at = ctx->next;
	pthread_mutex_unlock(&contexts_lock);
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

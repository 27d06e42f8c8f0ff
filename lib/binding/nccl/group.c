// SPDX-License-Identifier: MIT
/*
 * The ranks of one connect(), all in one process. They find each other by the id in the handle of
 * rank 0 and exchange data in *rounds*. All ranks make the same calls in the same order, so the
 * n-th round of one rank is the n-th of all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "nccl_internal.h"

struct gda_nccl_round {
	struct gda_nccl_round *next;
	uint64_t number;
	size_t bytes;			/* of a rank */
	int came;
	int left;
	unsigned char items[];
};

static pthread_mutex_t gda_nccl_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gda_nccl_group *gda_nccl_groups;

static struct gda_nccl_group *gda_nccl_group_new(uint64_t id, int ranks)
{
	struct gda_nccl_group *g = calloc(1, sizeof(*g) + (size_t)ranks * sizeof(g->member[0]));
	pthread_condattr_t attr;

	if (!g)
		return NULL;
	g->id = id;
	g->ranks = ranks;
	pthread_mutex_init(&g->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&g->changed, &attr);
	pthread_condattr_destroy(&attr);
	g->next = gda_nccl_groups;
	gda_nccl_groups = g;
	return g;
}

int gda_nccl_group_join(uint64_t id, int ranks, struct gda_nccl_group **group)
{
	struct gda_nccl_group *g;
	int err = 0;

	pthread_mutex_lock(&gda_nccl_lock);
	for (g = gda_nccl_groups; g && g->id != id;)
		g = g->next;
	if (!g)
		g = gda_nccl_group_new(id, ranks);
	if (!g)
		err = -ENOMEM;
	else if (g->ranks != ranks)
		err = -EBADMSG;
	else
		g->users++;
	pthread_mutex_unlock(&gda_nccl_lock);
	*group = err ? NULL : g;
	return err;
}

static void gda_nccl_group_free(struct gda_nccl_group *g)
{
	struct gda_nccl_group **link = &gda_nccl_groups;
	struct gda_nccl_round *r;
	int i;

	while (*link != g)
		link = &(*link)->next;
	*link = g->next;
	while ((r = g->rounds)) {
		g->rounds = r->next;
		free(r);
	}
	for (i = 0; i < g->ranks; i++)
		gda_nccl_member_free(g->member[i]);
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

void gda_nccl_group_leave(struct gda_nccl_group *group, int rank)
{
	struct gda_nccl_member *m;

	pthread_mutex_lock(&group->lock);
	/* the others would wait for this rank in vain */
	group->broken = true;
	m = group->member[rank];
	pthread_cond_broadcast(&group->changed);
	pthread_mutex_unlock(&group->lock);
	if (m)
		gda_nccl_member_close(m, group->ranks);
	pthread_mutex_lock(&gda_nccl_lock);
	if (--group->users == 0)
		gda_nccl_group_free(group);
	pthread_mutex_unlock(&gda_nccl_lock);
}

/* With g->lock. */
static struct gda_nccl_round *gda_nccl_round_get(struct gda_nccl_group *g, uint64_t number,
						 size_t bytes)
{
	struct gda_nccl_round *r = g->rounds;

	while (r && r->number != number)
		r = r->next;
	if (r)
		return r;
	r = calloc(1, sizeof(*r) + (size_t)g->ranks * bytes);
	if (!r)
		return NULL;
	r->number = number;
	r->bytes = bytes;
	r->next = g->rounds;
	g->rounds = r;
	return r;
}

/* The last rank to leave a complete round frees it. */
static void gda_nccl_round_put(struct gda_nccl_group *g, struct gda_nccl_round *r)
{
	struct gda_nccl_round **link = &g->rounds;

	if (++r->left < g->ranks)
		return;
	while (*link != r)
		link = &(*link)->next;
	*link = r->next;
	free(r);
}

static struct timespec gda_nccl_deadline(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += (time_t)(GDA_NCCL_MEET_NS / 1000000000);
	return t;
}

static int gda_nccl_round_wait(struct gda_nccl_group *g, const struct gda_nccl_round *r)
{
	const struct timespec deadline = gda_nccl_deadline();
	int err = 0;

	while (r->came < g->ranks && !g->broken && !err)
		err = pthread_cond_timedwait(&g->changed, &g->lock, &deadline);
	if (r->came == g->ranks)
		return 0;
	g->broken = true;
	pthread_cond_broadcast(&g->changed);
	return err ? -ETIME : -EPIPE;
}

int gda_nccl_meet(struct gda_nccl_coll *coll, const void *mine, size_t bytes, void *all)
{
	struct gda_nccl_group *g = coll->group;
	struct gda_nccl_round *r;
	int err = 0;

	pthread_mutex_lock(&g->lock);
	r = g->broken ? NULL : gda_nccl_round_get(g, coll->round++, bytes);
	if (!r || r->bytes != bytes) {
		err = g->broken ? -EPIPE : r ? -EBADMSG : -ENOMEM;
		g->broken = true;
		pthread_cond_broadcast(&g->changed);
	} else {
		memcpy(r->items + (size_t)coll->rank * bytes, mine, bytes);
		if (++r->came == g->ranks)
			pthread_cond_broadcast(&g->changed);
		err = gda_nccl_round_wait(g, r);
	}
	if (!err) {
		memcpy(all, r->items, (size_t)g->ranks * bytes);
		gda_nccl_round_put(g, r);
	}
	pthread_mutex_unlock(&g->lock);
	return err;
}

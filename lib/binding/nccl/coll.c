// SPDX-License-Identifier: MIT
/*
 * Listen and connect. NCCL carries the handle of every rank to all others. A handle names its
 * process, because a queue of the in-process device reaches no other process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "nccl_internal.h"

struct gda_nccl_handle {
	uint64_t magic;
	uint64_t process[2];		/* random; and the process id in a child of fork(2) */
	uint64_t id;
	int32_t device;
	int32_t reserved;
};

#define GDA_NCCL_MAGIC	0x3130414d52414447ULL	/* GDARMA01 */

static_assert(sizeof(struct gda_nccl_handle) <= GDA_NCCL_HANDLE_BYTES, "NCCL carries no more");

static pthread_once_t gda_nccl_process_once = PTHREAD_ONCE_INIT;
static uint64_t gda_nccl_process;

static void gda_nccl_process_init(void)
{
	if (getrandom(&gda_nccl_process, sizeof(gda_nccl_process), 0) < 0)
		gda_nccl_process = gda_clock_ns();
}

static struct gda_nccl_handle gda_nccl_handle_new(void)
{
	static uint64_t last;

	pthread_once(&gda_nccl_process_once, gda_nccl_process_init);
	return (struct gda_nccl_handle){
		.magic = GDA_NCCL_MAGIC,
		.process = { gda_nccl_process, (uint64_t)getpid() },
		.id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED),
		.device = gda_nccl_gpu(),
	};
}

int gda_nccl_listen(void *ctx, int device, void *handle, void **listener)
{
	struct gda_nccl_handle *h;

	(void)ctx;
	if (device) {
		gda_nccl_log(GDA_NCCL_LOG_WARN, "GDA: listen: there is no device %d, only 0",
			     device);
		return GDA_NCCL_INVALID_ARGUMENT;
	}
	h = malloc(sizeof(*h));
	if (!h)
		return GDA_NCCL_SYSTEM_ERROR;
	*h = gda_nccl_handle_new();
	memset(handle, 0, GDA_NCCL_HANDLE_BYTES);
	memcpy(handle, h, sizeof(*h));
	*listener = h;
	return GDA_NCCL_SUCCESS;
}

int gda_nccl_close_listen(void *listener)
{
	free(listener);
	return GDA_NCCL_SUCCESS;
}

/* May ranks with these handles connect? */
static int gda_nccl_handles_check(const struct gda_nccl_handle *all, int ranks, int rank,
				  const struct gda_nccl_handle *mine)
{
	int i;

	for (i = 0; i < ranks; i++) {
		if (all[i].magic != GDA_NCCL_MAGIC) {
			gda_nccl_log(GDA_NCCL_LOG_WARN,
				     "GDA: connect: rank %d has the handle of another plugin: set NCCL_RMA_PLUGIN alike for all ranks",
				     i);
			return GDA_NCCL_INVALID_ARGUMENT;
		}
		if (memcmp(all[i].process, mine->process, sizeof(mine->process))) {
			gda_nccl_refuse("GDA: rank %d is in another process than rank %d, and the in-process device reaches only the threads of one: start all ranks as threads of one process, or unset NCCL_RMA_PLUGIN",
					i, rank);
			return GDA_NCCL_INVALID_USAGE;
		}
	}
	if (all[rank].id == mine->id)
		return GDA_NCCL_SUCCESS;
	gda_nccl_log(GDA_NCCL_LOG_WARN, "GDA: connect: the handle at place %d is not that of this rank: pass the handles as NCCL gathered them", rank);
	return GDA_NCCL_INVALID_ARGUMENT;
}

int gda_nccl_agree(struct gda_nccl_coll *coll, int err)
{
	int *all = calloc((size_t)coll->group->ranks, sizeof(*all));
	int met, i;

	if (!all)
		return -ENOMEM;
	met = gda_nccl_meet(coll, &err, sizeof(err), all);
	for (i = 0; i < coll->group->ranks && !met; i++)
		met = all[i] ? -ECANCELED : 0;
	free(all);
	return err ? err : met;
}

static int gda_nccl_serve_connect(struct gda_nccl_coll *coll)
{
	struct gda_nccl_member *m = coll->member;
	size_t ranks = (size_t)coll->group->ranks, i;
	struct gda_address *mine = calloc(ranks, sizeof(*mine));
	struct gda_address *all = calloc(ranks * ranks, sizeof(*all));
	int err = mine && all ? 0 : -ENOMEM;

	for (i = 0; i < ranks && !err; i++)
		err = gda_qp_address(m->serve[i].qp, &mine[i]);
	if (!err)
		err = gda_nccl_meet(coll, mine, ranks * sizeof(*mine), all);
	for (i = 0; i < ranks && !err; i++)
		err = gda_nccl_queue_connect(&m->serve[i],
					     &all[i * ranks + (size_t)coll->rank]);
	free(mine);
	free(all);
	return err;
}

static int gda_nccl_member_join(struct gda_nccl_coll *coll, const struct gda_nccl_handle *all)
{
	struct gda_nccl_group *g = coll->group;
	int err = gda_nccl_member_create(coll->rank, all[coll->rank].device, g->ranks,
					 &coll->member);
	int i;

	for (i = 0; i < g->ranks && !err; i++)
		err = gda_nccl_queue_create(coll->member, all[i].device, &coll->member->serve[i]);
	pthread_mutex_lock(&g->lock);
	g->member[coll->rank] = coll->member;
	pthread_mutex_unlock(&g->lock);
	err = gda_nccl_agree(coll, err);
	if (!err)
		err = gda_nccl_serve_connect(coll);
	return err ? err : gda_nccl_agree(coll, 0);
}

static int gda_nccl_coll_new(const struct gda_nccl_handle *all, int ranks, int rank, void **coll)
{
	struct gda_nccl_coll *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;

	if (!c)
		return err;
	c->rank = rank;
	err = gda_nccl_group_join(all[0].id, ranks, &c->group);
	if (err)
		goto err_free;
	err = gda_nccl_member_join(c, all);
	if (err)
		goto err_leave;
	*coll = c;
	return 0;

err_leave:
	gda_nccl_group_leave(c->group, rank);
err_free:
	free(c);
	return err;
}

int gda_nccl_connect(void *ctx, void *handles[], int ranks, int rank, void *listener, void **coll)
{
	struct gda_nccl_handle *all;
	int result, err, i;

	(void)ctx;
	if (ranks < 1 || rank < 0 || rank >= ranks || !listener) {
		gda_nccl_log(GDA_NCCL_LOG_WARN, "GDA: connect: rank %d of %d", rank, ranks);
		return GDA_NCCL_INVALID_ARGUMENT;
	}
	all = calloc((size_t)ranks, sizeof(*all));
	if (!all)
		return GDA_NCCL_SYSTEM_ERROR;
	for (i = 0; i < ranks; i++)
		memcpy(&all[i], handles[i], sizeof(all[i]));
	result = gda_nccl_handles_check(all, ranks, rank, listener);
	if (!result) {
		err = gda_nccl_coll_new(all, ranks, rank, coll);
		if (err)
			gda_nccl_log(GDA_NCCL_LOG_WARN, "GDA: rank %d cannot connect: %s", rank,
				     gda_nccl_reason(err));
		result = err ? GDA_NCCL_SYSTEM_ERROR : GDA_NCCL_SUCCESS;
	}
	free(all);
	return result;
}

int gda_nccl_close_coll(void *coll)
{
	struct gda_nccl_coll *c = coll;

	if (!c)
		return GDA_NCCL_SUCCESS;
	/* NCCL does not destroy its contexts in every case */
	while (c->contexts)
		gda_nccl_destroy_context(c->contexts);
	while (c->mrs)
		gda_nccl_dereg(c, c->mrs);
	gda_nccl_group_leave(c->group, c->rank);
	free(c);
	return GDA_NCCL_SUCCESS;
}

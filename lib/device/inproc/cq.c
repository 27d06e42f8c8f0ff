// SPDX-License-Identifier: MIT
/*
 * Completion queues, as in kmod/gda_core/cq.c. The worker or helper that completes a request
 * writes the entry under cq->lock; nothing reads entries back.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "inproc.h"

static int gda_inproc_cq_memory(struct gda_inproc_context *ctx, struct gda_inproc_cq *cq,
				const struct gda_cq_create *cmd)
{
	const struct gda_dialect_ops *dialect = cq->engine_cq.dialect;
	int err = gda_inproc_region_create(ctx, (u64)cmd->depth *
					   gda_control_cq_stride(cmd, dialect),
					   cmd->flags & GDA_CQ_WRITABLE ? GDA_MAP_RW : GDA_MAP_RO,
					   &cq->region);

	if (err)
		return err;
	cq->engine_cq.entries = cq->region->addr;
	if (dialect->record && !cq->engine_cq.collapsed) {
		err = gda_inproc_cell_create(ctx, GDA_INPROC_RECORD, &cq->rec);
		if (err) {
			gda_inproc_region_destroy(ctx, cq->region);
			return err;
		}
		/* user space may store to the record, but the engine ignores it */
		if (!(cmd->flags & GDA_CQ_IGNORE_OVERRUN))
			cq->engine_cq.consumer = cq->rec.addr;
	}
	gda_cq_init(&cq->engine_cq);
	return 0;
}

static void gda_inproc_cq_memory_free(struct gda_inproc_context *ctx, struct gda_inproc_cq *cq)
{
	gda_inproc_cell_destroy(ctx, &cq->rec);
	gda_inproc_region_destroy(ctx, cq->region);
}

/* Unpublish the CQ. A QP that waits for its entries is told to look again, and fails. */
static void gda_inproc_cq_kill(struct gda_inproc_object *obj)
{
	struct gda_inproc_cq *cq = gda_inproc_of(obj, struct gda_inproc_cq, obj);

	pthread_mutex_lock(&gda_inproc.lock);
	cq->dead_leaf = gda_inproc_table_erase(&gda_inproc.cqs, cq->cqn);
	pthread_mutex_unlock(&gda_inproc.lock);
	gda_inproc_wait_turn(obj->ctx);
	gda_inproc_wait_wake(obj->ctx);
}

static void gda_inproc_cq_free(struct gda_inproc_object *obj)
{
	struct gda_inproc_cq *cq = gda_inproc_of(obj, struct gda_inproc_cq, obj);

	gda_inproc_cq_memory_free(obj->ctx, cq);
	free(cq->dead_leaf);
	if (cq->event >= 0)
		close(cq->event);
	pthread_mutex_destroy(&cq->lock);
	free(cq);
}

static int gda_inproc_cq_region(struct gda_inproc_object *obj, u32 type,
				struct gda_region_info *info)
{
	const struct gda_inproc_cq *cq = gda_inproc_of(obj, struct gda_inproc_cq, obj);

	if (type == GDA_REGION_CQ)
		gda_inproc_region_info(cq->region, 0, info);
	else if (type == GDA_REGION_CQ_DBREC && cq->rec.cells)
		gda_inproc_cell_info(&cq->rec, info);
	else
		return -ENOENT;
	return 0;
}

static const struct gda_inproc_object_ops gda_inproc_cq_ops = {
	.type = GDA_INPROC_CQ,
	.max = GDA_INPROC_MAX_CQ,
	.kill = gda_inproc_cq_kill,
	.free = gda_inproc_cq_free,
	.region = gda_inproc_cq_region,
};

/* Reserve a number that lookups do not find yet. */
static int gda_inproc_cq_number(struct gda_inproc_cq *cq)
{
	int err;

	pthread_mutex_lock(&gda_inproc.lock);
	err = gda_inproc_table_reserve(&gda_inproc.cqs, &cq->cqn);
	pthread_mutex_unlock(&gda_inproc.lock);
	return err;
}

int gda_inproc_cq_create(struct gda_inproc_context *ctx, struct gda_cq_create *cmd)
{
	const struct gda_dialect_ops *dialect;
	struct gda_inproc_cq *cq;
	int err;

	err = gda_control_check_cq(cmd, ctx->features, GDA_INPROC_MAX_CQ_DEPTH, &dialect);
	if (!err)
		err = gda_inproc_object_room(ctx, &gda_inproc_cq_ops);
	if (err)
		return err;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	gda_control_init_cq(&cq->engine_cq, cmd, dialect);
	err = gda_inproc_cq_memory(ctx, cq, cmd);
	if (err) {
		free(cq);
		return err;
	}
	err = gda_inproc_cq_number(cq);
	if (err) {
		gda_inproc_cq_memory_free(ctx, cq);
		free(cq);
		return err;
	}
	pthread_mutex_init(&cq->lock, NULL);
	cq->event = -1;
	gda_inproc_object_add(ctx, &cq->obj, &gda_inproc_cq_ops);
	gda_inproc_table_publish(&gda_inproc.cqs, cq->cqn, cq);

	cmd->handle = cq->obj.handle;
	cmd->cqn = cq->cqn;
	gda_inproc_region_info(cq->region, 0, &cmd->cq);
	gda_inproc_cell_info(&cq->rec, &cmd->dbrec);
	return 0;
}

/* Return: a duplicate of the eventfd @fd; -EBADF or -EINVAL for any other descriptor. */
static int gda_inproc_eventfd_get(int fd)
{
	static const char name[] = "anon_inode:[eventfd]";
	char path[32], target[sizeof(name)];
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	ssize_t n;

	if (copy < 0)
		return errno == EMFILE ? -EMFILE : -EBADF;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
	n = readlink(path, target, sizeof(target));
	/* without /proc the type of the descriptor is unknown, so any is accepted */
	if (n < 0 || (n == sizeof(name) - 1 && !memcmp(target, name, sizeof(name) - 1)))
		return copy;
	close(copy);
	return -EINVAL;
}

int gda_inproc_cq_event(struct gda_inproc_context *ctx, const struct gda_cq_event *cmd)
{
	const bool detach = cmd->flags & GDA_CQ_DETACH;
	struct gda_inproc_object *obj;
	struct gda_inproc_cq *cq;
	int err, event = -1;

	obj = gda_inproc_object_find(ctx, cmd->handle, GDA_INPROC_CQ);
	if (!obj)
		return -ENOENT;
	cq = gda_inproc_of(obj, struct gda_inproc_cq, obj);
	err = gda_control_check_event(cmd, cq->event >= 0);
	if (err)
		return err;
	if (cmd->eventfd >= 0) {
		event = gda_inproc_eventfd_get(cmd->eventfd);
		if (event < 0)
			return event;
	}
	pthread_mutex_lock(&cq->lock);
	if (event >= 0 || detach) {
		int old = cq->event;

		cq->event = event;
		event = old;
	}
	cq->armed = gda_control_arm_flags(cmd);
	pthread_mutex_unlock(&cq->lock);
	if (event >= 0)
		close(event);
	return 0;
}

void gda_host_find_cq(void *ctx, u32 handle, struct gda_control_part *part)
{
	struct gda_inproc_object *obj = gda_inproc_object_find(ctx, handle, GDA_INPROC_CQ);

	if (!obj)
		return;
	part->users = &obj->users;
	part->cq = &gda_inproc_of(obj, struct gda_inproc_cq, obj)->engine_cq;
}

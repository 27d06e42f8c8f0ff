// SPDX-License-Identifier: MIT
/*
 * Memory regions: rights and a key over memory of this process. The key comes from the executor or
 * from key.c. Registration checks that the whole range is mapped with the required rights.
 *
 * Memory that no CPU can access (GDA_MEM_NO_CPU) is registered by code that has checked that it
 * exists. Executors attached to the queues that use it access it; they may attach data to the MR.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "inproc.h"
#include "mr.h"

/* Without /proc: check only that the range is mapped. */
static int gda_inproc_mapped_any(u64 start, u64 end)
{
	unsigned char in[256];

	for (start -= start % GDA_INPROC_PAGE; start < end;
	     start += sizeof(in) * GDA_INPROC_PAGE) {
		u64 len = min(end - start, (u64)sizeof(in) * GDA_INPROC_PAGE);

		if (mincore((void *)(uintptr_t)start, len, in))
			return -EFAULT;
	}
	return 0;
}

/* Return: whether all of [@start, @end) is mapped, readable and, if asked, writable. */
static int gda_inproc_mapped(u64 start, u64 end, bool writable)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long from, to;
	char *line = NULL, r, w;
	size_t room = 0;

	if (!maps)
		return gda_inproc_mapped_any(start, end);
	/* /proc/self/maps is sorted by address */
	while (start < end && getline(&line, &room, maps) > 0) {
		if (sscanf(line, "%llx-%llx %c%c", &from, &to, &r, &w) != 4 || to <= start)
			continue;
		if (from > start || r != 'r' || (writable && w != 'w'))
			break;
		start = to;
	}
	free(line);
	fclose(maps);
	return start < end ? -EFAULT : 0;
}

static void gda_inproc_mr_kill(struct gda_inproc_object *obj)
{
	struct gda_inproc_mr *mr = gda_inproc_of(obj, struct gda_inproc_mr, obj);

	WRITE_ONCE(mr->mem.state, GDA_MR_REVOKED);
	gda_inproc_record_mr(mr, GDA_RECORD_REVOKED);
	if (obj->ctx->executor->mr_unmap)
		obj->ctx->executor->mr_unmap(mr);
	else
		gda_inproc_key_remove(mr);
}

static void gda_inproc_mr_free(struct gda_inproc_object *obj)
{
	struct gda_inproc_mr *mr = gda_inproc_of(obj, struct gda_inproc_mr, obj);

	if (obj->ctx->executor->mr_free)
		obj->ctx->executor->mr_free(mr);
	if (mr->attached)
		mr->attached->free(mr->attached);
	free(mr->dead_leaf);
	free(mr);
}

static const struct gda_inproc_object_ops gda_inproc_mr_ops = {
	.type = GDA_INPROC_MR,
	.max = GDA_INPROC_MAX_MR,
	.kill = gda_inproc_mr_kill,
	.free = gda_inproc_mr_free,
};

static int gda_inproc_mr_create(struct gda_inproc_context *ctx, struct gda_mr_reg_user *cmd,
				u32 state, struct gda_inproc_attachment *attached)
{
	const struct gda_control_mr_range range = {
		.addr = cmd->addr, .length = cmd->length, .access = cmd->access,
		.iova = gda_control_mr_iova(cmd->flags, cmd->addr),
	};
	struct gda_inproc_mr *mr;
	int err = gda_control_check_mr(&range, GDA_INPROC_MAX_MR_SIZE);

	if (!err)
		err = gda_inproc_object_room(ctx, &gda_inproc_mr_ops);
	if (!err && !(state & GDA_MEM_NO_CPU))
		err = gda_inproc_mapped(cmd->addr, cmd->addr + cmd->length,
					cmd->access & GDA_ACCESS_LOCAL_WRITE);
	if (err)
		return err;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	mr->obj.ctx = ctx;
	mr->addr = (u8 *)(uintptr_t)cmd->addr;
	mr->attached = attached;
	mr->mem.pd = ctx;
	gda_control_init_mr(&mr->mem, &range, state);
	err = ctx->executor->mr_map ? ctx->executor->mr_map(mr) : gda_inproc_key_create(mr);
	if (err) {
		free(mr);
		return err;
	}
	gda_inproc_object_add(ctx, &mr->obj, &gda_inproc_mr_ops);
	gda_inproc_record_mr(mr, GDA_RECORD_REGISTERED);

	cmd->handle = mr->obj.handle;
	cmd->key = mr->mem.key;
	cmd->iova = mr->mem.iova;
	return 0;
}

int gda_inproc_mr_reg(struct gda_inproc_context *ctx, struct gda_mr_reg_user *cmd)
{
	return gda_inproc_mr_create(ctx, cmd, GDA_MR_LIVE, NULL);
}

int gda_inproc_mr_reg_no_cpu(struct gda_inproc_context *ctx, struct gda_mr_reg_user *cmd,
			     struct gda_inproc_attachment *attached)
{
	/* the library calls this directly, without the check of gda_inproc_call() */
	int err = gda_control_check_request(GDA_IOC_NR_MR_REG_USER, cmd);

	if (err)
		return err;
	err = gda_inproc_enter(ctx);
	if (err)
		return err;
	err = gda_inproc_mr_create(ctx, cmd, GDA_MR_LIVE | GDA_MEM_NO_CPU, attached);
	pthread_mutex_unlock(&ctx->lock);
	return err;
}

int gda_inproc_mr_query(struct gda_inproc_context *ctx, struct gda_mr_query *cmd)
{
	struct gda_inproc_object *obj;
	struct gda_inproc_mr *mr;

	obj = gda_inproc_object_find(ctx, cmd->handle, GDA_INPROC_MR);
	if (!obj)
		return -ENOENT;
	mr = gda_inproc_of(obj, struct gda_inproc_mr, obj);
	gda_control_query_mr(&mr->mem, GDA_KIND_USER, cmd);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The table of all ioctls and a good request of each, for the kernel selftests. */
#include <gda/record.h>
#include "efa_queue.h"
#include "requests.h"

#define FIELD(type, member, bits) {						\
	.name = #member,							\
	.offset = offsetof(struct type, member),				\
	.bytes = sizeof(((struct type *)0)->member),				\
	.known = (bits),							\
}

#define CALL(NR, type) \
	.name = #NR, .nr = GDA_IOC_##NR, .size = sizeof(struct type)

#define HANDLE(type) .in_handle = offsetof(struct type, handle)
#define CREATES(type) \
	.output = true, .creates = true, .out_handle = offsetof(struct type, handle)

const struct t_call t_calls[T_CALLS] = {
	[GDA_IOC_NR_BIND] = {
		CALL(BIND, gda_bind),
		.zero = { FIELD(gda_bind, flags, 0) },
	},
	[GDA_IOC_NR_QUERY] = {
		CALL(QUERY, gda_query), .output = true,
		.zero = { FIELD(gda_query, flags, 0) },
	},
	[GDA_IOC_NR_DESTROY] = {
		CALL(DESTROY, gda_destroy), HANDLE(gda_destroy),
		.zero = {
			FIELD(gda_destroy, flags, GDA_DESTROY_CONTEXT),
			FIELD(gda_destroy, reserved, 0),
		},
	},
	[GDA_IOC_NR_REGION_INFO] = {
		CALL(REGION_INFO, gda_region_query), HANDLE(gda_region_query),
		.output = true,
		.zero = { FIELD(gda_region_query, flags, 0) },
	},
	[GDA_IOC_NR_CQ_CREATE] = {
		CALL(CQ_CREATE, gda_cq_create), CREATES(gda_cq_create),
		.min = offsetof(struct gda_cq_create, cq_memory),
		.zero = {
			FIELD(gda_cq_create, flags, GDA_CQ_COLLAPSED | GDA_CQ_WRITABLE |
						    GDA_CQ_DMABUF | GDA_CQ_DBREC_DMABUF |
						    GDA_CQ_IGNORE_OVERRUN),
			FIELD(gda_cq_create, reserved, 0),
		},
	},
	[GDA_IOC_NR_QP_CREATE] = {
		CALL(QP_CREATE, gda_qp_create), CREATES(gda_qp_create),
		.min = offsetof(struct gda_qp_create, sq_memory),
		.zero = {
			FIELD(gda_qp_create, flags, GDA_QP_POLLED | GDA_QP_SQ_DMABUF |
						    GDA_QP_DBREC_DMABUF),
			FIELD(gda_qp_create, reserved, 0),
		},
	},
	[GDA_IOC_NR_QP_ADDRESS] = {
		CALL(QP_ADDRESS, gda_qp_address), HANDLE(gda_qp_address),
		.output = true,
		.zero = {
			FIELD(gda_qp_address, flags, 0),
			FIELD(gda_qp_address, reserved, 0),
		},
	},
	[GDA_IOC_NR_QP_CONNECT] = {
		CALL(QP_CONNECT, gda_qp_connect), HANDLE(gda_qp_connect),
		.zero = {
			FIELD(gda_qp_connect, flags, 0),
			FIELD(gda_qp_connect, reserved, 0),
		},
	},
	[GDA_IOC_NR_QP_QUERY] = {
		CALL(QP_QUERY, gda_qp_query), HANDLE(gda_qp_query),
		.output = true,
		.min = offsetof(struct gda_qp_query, peer),
		.zero = { FIELD(gda_qp_query, flags, 0) },
	},
	[GDA_IOC_NR_MR_REG_USER] = {
		CALL(MR_REG_USER, gda_mr_reg_user), CREATES(gda_mr_reg_user),
		.min = offsetof(struct gda_mr_reg_user, tried),
		.zero = {
			FIELD(gda_mr_reg_user, flags, GDA_MR_ZERO_BASED),
			FIELD(gda_mr_reg_user, access, GDA_ACCESS_ALL),
			FIELD(gda_mr_reg_user, reserved, 0),
		},
	},
	[GDA_IOC_NR_MR_QUERY] = {
		CALL(MR_QUERY, gda_mr_query), HANDLE(gda_mr_query),
		.output = true,
		.zero = {
			FIELD(gda_mr_query, flags, 0),
			FIELD(gda_mr_query, reserved, 0),
		},
	},
	[GDA_IOC_NR_CQ_EVENT] = {
		CALL(CQ_EVENT, gda_cq_event), HANDLE(gda_cq_event),
		.zero = {
			FIELD(gda_cq_event, flags,
			      GDA_CQ_ARM | GDA_CQ_ARM_SOLICITED | GDA_CQ_DETACH),
		},
	},
	[GDA_IOC_NR_COUNTER_CREATE] = {
		CALL(COUNTER_CREATE, gda_counter_create), CREATES(gda_counter_create),
		.min = offsetof(struct gda_counter_create, ops),
		.zero = {
			FIELD(gda_counter_create, flags, GDA_COUNTER_VALUE_MEMORY |
			      GDA_COUNTER_ERRORS_MEMORY | GDA_COUNTER_WRAP31),
			FIELD(gda_counter_create, reserved, 0),
			FIELD(gda_counter_create, ops, GDA_COUNT_READ | GDA_COUNT_WRITE |
			      GDA_COUNT_REMOTE_WRITE),
			FIELD(gda_counter_create, reserved2, 0),
			FIELD(gda_counter_create, value_memory.reserved, 0),
			FIELD(gda_counter_create, errors_memory.reserved, 0),
		},
	},
	[GDA_IOC_NR_MR_REG_DMABUF] = {
		CALL(MR_REG_DMABUF, gda_mr_reg_dmabuf), CREATES(gda_mr_reg_dmabuf),
		.zero = {
			FIELD(gda_mr_reg_dmabuf, flags, GDA_MR_ZERO_BASED),
			FIELD(gda_mr_reg_dmabuf, access, GDA_ACCESS_ALL),
		},
	},
	[GDA_IOC_NR_MR_REG_PEER] = {
		CALL(MR_REG_PEER, gda_mr_reg_peer), CREATES(gda_mr_reg_peer),
		.zero = {
			FIELD(gda_mr_reg_peer, flags, GDA_MR_ZERO_BASED),
			FIELD(gda_mr_reg_peer, access, GDA_ACCESS_ALL),
			FIELD(gda_mr_reg_peer, reserved, 0),
		},
	},
	[GDA_IOC_NR_DEVICE_INFO] = {
		CALL(DEVICE_INFO, gda_device_info), .output = true,
		.zero = { FIELD(gda_device_info, flags, 0) },
	},
	[GDA_IOC_NR_RECORD] = {
		CALL(RECORD, gda_record_set), .output = true, .creates = true,
		.zero = {
			FIELD(gda_record_set, flags, 0),
			FIELD(gda_record_set, reserved, 0),
		},
	},
	[GDA_IOC_NR_PEER_ADD] = {
		CALL(PEER_ADD, gda_peer_add), CREATES(gda_peer_add),
		.zero = { FIELD(gda_peer_add, flags, 0) },
	},
	[GDA_IOC_NR_REGION_EXPORT] = {
		CALL(REGION_EXPORT, gda_region_export), HANDLE(gda_region_export),
		.output = true, .creates = true,
		.zero = { FIELD(gda_region_export, flags, 0) },
	},
};

/* A QP that others may name: whom PEER_ADD requests are about. */
static int t_world_named(struct t_world *w)
{
	struct t_efa q;
	int err = t_efa_create(&q, w->fd, 1, 0, 0);

	w->named[0] = q.cqc.handle;
	w->named[1] = q.qpc.handle;
	return err ? err : t_efa_address(w->fd, q.qpc.handle, w->address);
}

/* A dma-buf of this world's send queue: what MR_REG_DMABUF requests register. */
static int t_world_export(struct t_world *w)
{
	struct gda_region_export cmd = {
		.size = sizeof(cmd), .handle = w->qp, .type = GDA_REGION_SQ,
	};
	int err = t_ioctl(w->fd, GDA_IOC_REGION_EXPORT, &cmd);

	w->dmabuf = err ? -1 : cmd.fd;
	return err;
}

int t_world_open(struct t_world *w)
{
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	struct t_mr mr;
	int err;

	memset(w, 0, sizeof(*w));
	w->mem = t_pages(T_PAGE);
	if (!w->mem)
		return -ENOMEM;
	w->fd = t_context();
	if (w->fd < 0)
		return w->fd;
	w->other = t_context();
	if (w->other < 0)
		return w->other;
	err = t_cq_create(w->fd, GDA_CQ_COLLAPSED, 1, &cq);
	if (err)
		return err;
	err = t_qp_create(w->fd, cq.handle, 64, &qp);
	if (err)
		return err;
	err = t_mr_reg(w->fd, w->mem, T_PAGE, GDA_ACCESS_ALL, &mr);
	w->cq = cq.handle;
	w->qp = qp.handle;
	w->mr = mr.handle;
	w->gpu = t_gpu_open(T_PAGE, 0, &w->gpu_mem);
	err = err ? err : t_world_named(w);
	return err ? err : t_world_export(w);
}

void t_world_close(struct t_world *w)
{
	close(w->fd);
	close(w->other);
	close(w->dmabuf);
	if (w->gpu >= 0) {
		munmap(w->gpu_mem, T_PAGE);
		close(w->gpu);
	}
	munmap(w->mem, T_PAGE);
}

/* A fresh CQ and, with @qp, a QP on it, for one request. */
static int t_world_temp(struct t_world *w, bool qp)
{
	struct gda_cq_create cq;
	struct gda_qp_create q;
	int err;

	err = t_cq_create(w->fd, GDA_CQ_COLLAPSED, 1, &cq);
	if (err)
		return err;
	w->temp[0] = cq.handle;
	if (!qp)
		return 0;
	err = t_qp_create(w->fd, cq.handle, 64, &q);
	w->temp[1] = err ? 0 : q.handle;
	return err;
}

static void t_world_temp_destroy(struct t_world *w)
{
	if (w->temp[1])
		t_destroy(w->fd, w->temp[1]);
	if (w->temp[0])
		t_destroy(w->fd, w->temp[0]);
	w->temp[0] = 0;
	w->temp[1] = 0;
}

static int t_request_bind(struct t_world *w)
{
	close(w->other);
	w->other = t_open();
	return w->other;
}

static int t_request_connect(struct t_world *w, struct gda_qp_connect *cmd)
{
	struct gda_qp_address address = { .size = sizeof(address), .handle = w->qp };
	int err = t_world_temp(w, true);

	if (!err)
		err = t_ioctl(w->fd, GDA_IOC_QP_ADDRESS, &address);
	cmd->handle = w->temp[1];
	memcpy(cmd->address, address.address, sizeof(cmd->address));
	return err ? err : w->fd;
}

static int t_request_destroy(struct t_world *w, struct gda_destroy *cmd)
{
	int err = t_world_temp(w, false);

	cmd->handle = w->temp[0];
	return err ? err : w->fd;
}

static int t_request_qp_create(struct t_world *w, struct gda_qp_create *cmd)
{
	int err = t_world_temp(w, false);

	cmd->dialect = GDA_DIALECT_MLX5;
	cmd->cq = w->temp[0];
	cmd->sq_depth = 64;
	return err ? err : w->fd;
}

int t_request(struct t_world *w, unsigned int nr, void *buf)
{
	uint32_t *handle = (uint32_t *)((uint8_t *)buf + t_calls[nr].in_handle);
	struct gda_cq_create *cq = buf;
	struct gda_region_query *region = buf;
	struct gda_mr_reg_user *mr = buf;
	struct gda_mr_reg_dmabuf *dmabuf = buf;
	struct gda_region_export *export = buf;
	struct gda_mr_reg_peer *peer = buf;
	struct gda_cq_event *event = buf;
	struct gda_record_set *record = buf;
	struct gda_peer_add *peer_add = buf;

	t_world_temp_destroy(w);
	memset(buf, 0, T_REQUEST_MAX);
	*(uint32_t *)buf = t_calls[nr].size;
	switch (nr) {
	case GDA_IOC_NR_BIND:
		return t_request_bind(w);
	case GDA_IOC_NR_DESTROY:
		return t_request_destroy(w, buf);
	case GDA_IOC_NR_REGION_INFO:
		region->type = GDA_REGION_SQ;
		*handle = w->qp;
		break;
	case GDA_IOC_NR_CQ_CREATE:
		cq->flags = GDA_CQ_COLLAPSED;
		cq->depth = 1;
		break;
	case GDA_IOC_NR_QP_CREATE:
		return t_request_qp_create(w, buf);
	case GDA_IOC_NR_QP_CONNECT:
		return t_request_connect(w, buf);
	case GDA_IOC_NR_QP_ADDRESS:
	case GDA_IOC_NR_QP_QUERY:
		*handle = w->qp;
		break;
	case GDA_IOC_NR_MR_REG_USER:
		mr->addr = (uintptr_t)w->mem;
		mr->length = T_PAGE;
		mr->access = GDA_ACCESS_LOCAL_WRITE;
		break;
	case GDA_IOC_NR_MR_QUERY:
		*handle = w->mr;
		break;
	case GDA_IOC_NR_CQ_EVENT:
		event->eventfd = -1;
		*handle = w->cq;
		break;
	case GDA_IOC_NR_MR_REG_DMABUF:
		dmabuf->fd = w->dmabuf;
		dmabuf->length = T_PAGE;
		dmabuf->access = GDA_ACCESS_LOCAL_WRITE;
		break;
	case GDA_IOC_NR_MR_REG_PEER:
		peer->addr = (uintptr_t)w->gpu_mem;
		peer->length = T_PAGE;
		peer->access = GDA_ACCESS_LOCAL_WRITE;
		break;
	case GDA_IOC_NR_REGION_EXPORT:
		export->type = GDA_REGION_SQ;
		*handle = w->qp;
		break;
	case GDA_IOC_NR_RECORD:
		record->records = GDA_RECORD_MIN;
		break;
	case GDA_IOC_NR_PEER_ADD:
		memcpy(peer_add->address, w->address, sizeof(w->address));
		break;
	}
	return w->fd;
}

int t_request_undo(struct t_world *w, unsigned int nr, const void *buf)
{
	struct gda_record_set off = { .size = sizeof(off) };
	const struct gda_region_export *export = buf;
	uint32_t handle;

	if (!t_calls[nr].creates)
		return 0;
	if (nr == GDA_IOC_NR_REGION_EXPORT)
		return close(export->fd) ? -errno : 0;
	if (nr == GDA_IOC_NR_RECORD)
		return t_ioctl(w->fd, GDA_IOC_RECORD, &off);
	memcpy(&handle, (const uint8_t *)buf + t_calls[nr].out_handle, sizeof(handle));
	return t_destroy(w->fd, handle);
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The calls that fail_nth sweeps: every way into the modules, with what must be there before
 * the call and how it is taken back. Here are objects; regions are in sweep_map.c,
 * memory of others is in sweep_memory.c, RDMA devices are in sweep_ib.c, queues of another dialect
 * in sweep_efa.c.
 */
#include <sys/eventfd.h>
#include "nl.h"
#include "sweep.h"

#define MANY		2100UL		/* pages of a large MR: more than one batch */

int sweep_bound(struct fx *fx)
{
	fx->fd = t_context();
	return fx->fd < 0 ? fx->fd : 0;
}

int sweep_qp(struct fx *fx)
{
	int err = sweep_bound(fx);

	if (!err)
		err = t_cq_create(fx->fd, GDA_CQ_COLLAPSED, 1, &fx->cq);
	if (!err)
		err = t_cq_create(fx->fd, 0, 1024, &fx->ring);
	if (!err)
		err = t_qp_create(fx->fd, fx->cq.handle, 1024, &fx->qp);
	return err;
}

int sweep_counter(struct fx *fx, struct gda_counter_create *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->size = sizeof(*cmd);
	return t_ioctl(fx->fd, GDA_IOC_COUNTER_CREATE, cmd);
}

/* Everything that a QP can use, but no QP. */
static int prepare_parts(struct fx *fx)
{
	int err = sweep_bound(fx);

	if (!err)
		err = t_cq_create(fx->fd, GDA_CQ_COLLAPSED, 1, &fx->cq);
	if (!err)
		err = t_cq_create(fx->fd, 0, 64, &fx->ring);
	for (int i = 0; i < 2 && !err; i++)
		err = sweep_counter(fx, &fx->count[i]);
	return err;
}

void sweep_undo_made(struct fx *fx)
{
	t_destroy(fx->fd, fx->made);
}

void sweep_undo_fd(struct fx *fx)
{
	close(fx->made_fd);
	fx->made_fd = -1;
}

/* Each ioctl, as requests.c knows it. */
static int prepare_request(struct fx *fx)
{
	int err = t_world_open(&fx->w);

	if (err)
		return err;
	fx->made_fd = t_request(&fx->w, fx->op->nr, fx->buf);
	return fx->made_fd < 0 ? fx->made_fd : 0;
}

static int call_request(struct fx *fx)
{
	return t_ioctl(fx->made_fd, t_calls[fx->op->nr].nr, fx->buf);
}

static void undo_request(struct fx *fx)
{
	t_request_undo(&fx->w, fx->op->nr, fx->buf);
	fx->made_fd = -1;
}

static int call_open(struct fx *fx)
{
	fx->made_fd = t_open();
	return fx->made_fd < 0 ? fx->made_fd : 0;
}

static int call_cq_ring(struct fx *fx)
{
	int err = t_cq_create(fx->fd, 0, 4096, &fx->ring);

	fx->made = fx->ring.handle;
	return err;
}

static int call_qp_full(struct fx *fx)
{
	struct gda_qp_create cmd = {
		.size = sizeof(cmd), .flags = GDA_QP_POLLED, .dialect = GDA_DIALECT_MLX5,
		.cq = fx->cq.handle, .sq_depth = 4096, .recv_cq = fx->ring.handle,
		.sent_counter = fx->count[0].handle, .recv_counter = fx->count[1].handle,
	};
	int err = t_ioctl(fx->fd, GDA_IOC_QP_CREATE, &cmd);

	fx->made = cmd.handle;
	return err;
}

static int call_counter(struct fx *fx)
{
	int err = sweep_counter(fx, &fx->count[0]);

	fx->made = fx->count[0].handle;
	return err;
}

/* A counter with both words in memory of the caller. */
static int call_counter_memory(struct fx *fx)
{
	struct gda_counter_create cmd = {
		.size = sizeof(cmd),
		.flags = GDA_COUNTER_VALUE_MEMORY | GDA_COUNTER_ERRORS_MEMORY,
		.value_memory = { .addr = (uintptr_t)fx->mem, .key = fx->made_key },
		.errors_memory = { .addr = (uintptr_t)fx->mem + 8, .key = fx->made_key },
	};
	int err = t_ioctl(fx->fd, GDA_IOC_COUNTER_CREATE, &cmd);

	fx->made = cmd.handle;
	return err;
}

static int prepare_many(struct fx *fx)
{
	fx->len = MANY * T_PAGE;
	fx->mem = t_pages(fx->len);
	if (!fx->mem)
		return -ENOMEM;
	memset(fx->mem, 1, fx->len);
	return sweep_bound(fx);
}

int sweep_mr(struct fx *fx)
{
	struct t_mr mr;
	int err = t_mr_reg(fx->fd, fx->mem, fx->len, GDA_ACCESS_ALL, &mr);

	fx->made = mr.handle;
	return err;
}

/* Pages that are not there yet: pinning them allocates them. */
static int prepare_fresh(struct fx *fx)
{
	fx->len = 3 * T_PAGE;
	fx->mem = t_pages(fx->len);
	return fx->mem ? sweep_bound(fx) : -ENOMEM;
}

static int prepare_counter_memory(struct fx *fx)
{
	struct t_mr mr;
	int err = prepare_many(fx);

	err = err ? err : t_mr_reg(fx->fd, fx->mem, fx->len, GDA_ACCESS_ALL, &mr);
	fx->made_key = err ? 0 : mr.key;
	return err;
}

static int prepare_mr(struct fx *fx)
{
	int err = prepare_many(fx);

	return err ? err : sweep_mr(fx);
}

int sweep_destroy(struct fx *fx)
{
	return t_destroy(fx->fd, fx->made);
}

static int prepare_destroy_qp(struct fx *fx)
{
	int err = sweep_qp(fx);

	fx->made = fx->qp.handle;
	return err;
}

static int prepare_destroy_cq(struct fx *fx)
{
	int err = sweep_qp(fx);

	fx->made = fx->ring.handle;
	return err;
}

static int prepare_destroy_counter(struct fx *fx)
{
	int err = prepare_parts(fx);

	fx->made = fx->count[1].handle;
	return err;
}

static int prepare_all(struct fx *fx)
{
	int err = prepare_parts(fx);

	if (!err)
		err = call_qp_full(fx);
	if (!err) {
		fx->len = 3 * T_PAGE;
		fx->mem = t_pages(fx->len);
		err = fx->mem ? sweep_mr(fx) : -ENOMEM;
	}
	return err;
}

static int call_shutdown(struct fx *fx)
{
	return t_shutdown(fx->fd);
}

/* The last reference: everything goes, whatever fails. */
static int call_close(struct fx *fx)
{
	int err = close(fx->fd) ? -errno : 0;

	fx->fd = -1;
	return err;
}

static int prepare_event(struct fx *fx)
{
	fx->event = eventfd(0, EFD_CLOEXEC);
	return fx->event < 0 ? -errno : sweep_qp(fx);
}

static int call_event(struct fx *fx)
{
	struct gda_cq_event cmd = {
		.size = sizeof(cmd), .flags = GDA_CQ_ARM, .handle = fx->ring.handle,
		.eventfd = fx->event,
	};

	return t_ioctl(fx->fd, GDA_IOC_CQ_EVENT, &cmd);
}

/* A socket of the netlink family, which stays open. */
static struct t_nl sweep_nl = { .fd = -1 };

static int prepare_netlink(struct fx *fx)
{
	return (fx->op->type ? sweep_qp(fx) : 0) ?:
	       (sweep_nl.fd < 0 ? t_nl_open(&sweep_nl) : 0);
}

/* A request of counts, or a dump of the objects of which op->type is the command. */
static int call_netlink(struct fx *fx)
{
	struct t_nl_msg msg;
	long n;

	if (fx->op->type)
		n = t_nl_count(&sweep_nl, (uint8_t)fx->op->type, 0);
	else
		n = t_nl_get(&sweep_nl, GDA_CMD_STATS_GET, 0, 0, &msg);
	if (n >= 0)
		return 0;
	/* what is left of a dump is not read: the next request has a socket of its own */
	t_nl_close(&sweep_nl);
	sweep_nl.fd = -1;
	if (t_nl_open(&sweep_nl))
		sweep_nl.fd = -1;
	return (int)n;
}

void fx_close(struct fx *fx)
{
	t_pair_close(fx->end);
	if (fx->w.mem)
		t_world_close(&fx->w);
	if (fx->map)
		munmap(fx->map, fx->info.length);
	if (fx->made_fd >= 0 && !fx->w.mem)
		close(fx->made_fd);
	if (fx->dmabuf >= 0)
		close(fx->dmabuf);
	if (fx->event >= 0)
		close(fx->event);
	if (fx->fd >= 0)
		close(fx->fd);
	if (fx->mem)
		munmap(fx->mem, fx->len);
	if (fx->gpu >= 0)
		close(fx->gpu);
	if (fx->dev >= 0)
		close(fx->dev);
}

#define IOCTL(NR) \
	OP(ioctl_##NR, .prepare = prepare_request, .call = call_request, \
	   .undo = undo_request, .nr = GDA_IOC_NR_##NR)

static const struct op ops[] = {
	IOCTL(BIND),
	IOCTL(QUERY),
	IOCTL(DESTROY),
	IOCTL(REGION_INFO),
	IOCTL(CQ_CREATE),
	IOCTL(QP_CREATE),
	IOCTL(QP_ADDRESS),
	IOCTL(QP_CONNECT),
	IOCTL(QP_QUERY),
	IOCTL(MR_REG_USER),
	IOCTL(MR_QUERY),
	IOCTL(CQ_EVENT),
	IOCTL(COUNTER_CREATE),
	IOCTL(MR_REG_DMABUF),
	IOCTL(REGION_EXPORT),
	IOCTL(MR_REG_PEER),
	IOCTL(DEVICE_INFO),
	IOCTL(RECORD),
	IOCTL(PEER_ADD),

	OP(open, .call = call_open, .undo = sweep_undo_fd),
	OP(close, .prepare = prepare_all, .call = call_close, .cannot_fail = true,
	   .asks_nothing = true),
	OP(shutdown, .prepare = prepare_all, .call = call_shutdown, .cannot_fail = true),
	OP(cq_ring, .prepare = sweep_bound, .call = call_cq_ring, .undo = sweep_undo_made),
	OP(qp_full, .prepare = prepare_parts, .call = call_qp_full, .undo = sweep_undo_made),
	OP(counter_first, .prepare = sweep_bound, .call = call_counter, .undo = sweep_undo_made),
	OP(counter_memory, .prepare = prepare_counter_memory, .call = call_counter_memory,
	   .undo = sweep_undo_made),
	OP(cq_event, .prepare = prepare_event, .call = call_event),
	OP(mr_many, .prepare = prepare_many, .call = sweep_mr, .undo = sweep_undo_made),
	OP(mr_fresh, .prepare = prepare_fresh, .call = sweep_mr, .undo = sweep_undo_made),
	OP(destroy_mr, .prepare = prepare_mr, .call = sweep_destroy, .cannot_fail = true),
	OP(netlink_stats, .prepare = prepare_netlink, .call = call_netlink, .says = -ENOBUFS),
	OP(netlink_contexts, .prepare = prepare_netlink, .call = call_netlink, .says = -ENOBUFS,
	   .type = GDA_CMD_CONTEXT_GET),
	OP(netlink_qps, .prepare = prepare_netlink, .call = call_netlink, .says = -ENOBUFS,
	   .type = GDA_CMD_QP_GET),
	OP(destroy_qp, .prepare = prepare_destroy_qp, .call = sweep_destroy, .cannot_fail = true),
	OP(destroy_cq, .prepare = prepare_destroy_cq, .call = sweep_destroy, .cannot_fail = true),
	OP(destroy_counter, .prepare = prepare_destroy_counter, .call = sweep_destroy,
	   .cannot_fail = true),
	{ 0 }
};

const struct op *op_find(const char *name)
{
	const struct op *const tables[] = {
		ops, sweep_map_ops, sweep_memory_ops, sweep_ib_ops, sweep_efa_ops,
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct op *op = tables[i]; op->name; op++)
			if (!strcmp(op->name, name))
				return op;
	return NULL;
}

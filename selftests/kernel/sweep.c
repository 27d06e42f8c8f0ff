// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What fail_nth sweeps: every way into the modules, with what must be there before
 * the call and how it is taken back.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sweep.h"
#include "../kmod/gda_test/ioctl.h"

#define MANY		2100UL		/* pages of a large MR: more than one batch */

static int prepare_bound(struct fx *fx)
{
	fx->fd = t_context();
	return fx->fd < 0 ? fx->fd : 0;
}

static int prepare_qp(struct fx *fx)
{
	int err = prepare_bound(fx);

	if (!err)
		err = t_cq_create(fx->fd, GDA_CQ_COLLAPSED, 1, &fx->cq);
	if (!err)
		err = t_cq_create(fx->fd, 0, 1024, &fx->ring);
	if (!err)
		err = t_qp_create(fx->fd, fx->cq.handle, 1024, &fx->qp);
	return err;
}

static int counter_create(struct fx *fx, struct gda_counter_create *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->size = sizeof(*cmd);
	return t_ioctl(fx->fd, GDA_IOC_COUNTER_CREATE, cmd);
}

/* Everything that a QP can use, but no QP. */
static int prepare_parts(struct fx *fx)
{
	int err = prepare_bound(fx);

	if (!err)
		err = t_cq_create(fx->fd, GDA_CQ_COLLAPSED, 1, &fx->cq);
	if (!err)
		err = t_cq_create(fx->fd, 0, 64, &fx->ring);
	for (int i = 0; i < 2 && !err; i++)
		err = counter_create(fx, &fx->count[i]);
	return err;
}

static void undo_made(struct fx *fx)
{
	t_destroy(fx->fd, fx->made);
}

static void undo_fd(struct fx *fx)
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
	int err = counter_create(fx, &fx->count[0]);

	fx->made = fx->count[0].handle;
	return err;
}

static int prepare_many(struct fx *fx)
{
	fx->len = MANY * T_PAGE;
	fx->mem = t_pages(fx->len);
	if (!fx->mem)
		return -ENOMEM;
	memset(fx->mem, 1, fx->len);
	return prepare_bound(fx);
}

static int call_mr(struct fx *fx)
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
	return fx->mem ? prepare_bound(fx) : -ENOMEM;
}

static int prepare_dmabuf(struct fx *fx)
{
	int err = prepare_bound(fx);

	if (err)
		return err;
	fx->dmabuf = t_udmabuf(8 * T_PAGE);
	return fx->dmabuf < 0 ? fx->dmabuf : 0;
}

static int call_dmabuf(struct fx *fx)
{
	struct gda_mr_reg_dmabuf cmd = {
		.size = sizeof(cmd), .offset = 100, .length = 7 * T_PAGE,
		.access = GDA_ACCESS_ALL, .fd = fx->dmabuf,
	};
	int err = t_ioctl(fx->fd, GDA_IOC_MR_REG_DMABUF, &cmd);

	fx->made = cmd.handle;
	return err;
}

static int prepare_dmabuf_mr(struct fx *fx)
{
	int err = prepare_dmabuf(fx);

	return err ? err : call_dmabuf(fx);
}

static int prepare_peer(struct fx *fx)
{
	int err = prepare_bound(fx);

	if (err)
		return err;
	fx->len = 20 * T_PAGE;
	fx->gpu = t_gpu_open(fx->len, 0, &fx->mem);
	if (fx->gpu >= 0)
		return 0;
	fx->mem = NULL;
	return fx->gpu;
}

static int prepare_peer_mr(struct fx *fx)
{
	int err = prepare_peer(fx);

	return err ? err : sweep_peer(fx);
}

static int prepare_qp_dmabuf(struct fx *fx)
{
	int err = prepare_dmabuf(fx);

	return err ? err : t_cq_create(fx->fd, GDA_CQ_COLLAPSED, 1, &fx->cq);
}

static int prepare_made_qp_dmabuf(struct fx *fx)
{
	int err = prepare_qp_dmabuf(fx);

	return err ? err : sweep_qp_dmabuf(fx);
}

static int prepare_mr(struct fx *fx)
{
	int err = prepare_many(fx);

	return err ? err : call_mr(fx);
}

static int call_destroy(struct fx *fx)
{
	return t_destroy(fx->fd, fx->made);
}

static int prepare_destroy_qp(struct fx *fx)
{
	int err = prepare_qp(fx);

	fx->made = fx->qp.handle;
	return err;
}

static int prepare_destroy_cq(struct fx *fx)
{
	int err = prepare_qp(fx);

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
		err = fx->mem ? call_mr(fx) : -ENOMEM;
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
	return fx->event < 0 ? -errno : prepare_qp(fx);
}

static int call_event(struct fx *fx)
{
	struct gda_cq_event cmd = {
		.size = sizeof(cmd), .flags = GDA_CQ_ARM, .handle = fx->ring.handle,
		.eventfd = fx->event,
	};

	return t_ioctl(fx->fd, GDA_IOC_CQ_EVENT, &cmd);
}

static int region_of(struct fx *fx, uint32_t type)
{
	struct gda_region_query cmd = {
		.size = sizeof(cmd), .type = type,
		.handle = type >= GDA_REGION_CQ ? fx->ring.handle : fx->qp.handle,
	};
	int err = t_ioctl(fx->fd, GDA_IOC_REGION_INFO, &cmd);

	fx->info = cmd.info;
	return err;
}

static int prepare_region(struct fx *fx)
{
	int err = prepare_qp(fx);

	return err ? err : region_of(fx, fx->op->type);
}

static int call_export(struct fx *fx)
{
	struct gda_region_export cmd = {
		.size = sizeof(cmd), .type = fx->op->type,
		.handle = fx->op->type >= GDA_REGION_CQ ? fx->ring.handle : fx->qp.handle,
	};
	int err = t_ioctl(fx->fd, GDA_IOC_REGION_EXPORT, &cmd);

	fx->made_fd = err ? -1 : cmd.fd;
	return err;
}

static int call_map(struct fx *fx)
{
	void *p = t_map(fx->fd, &fx->info);

	if (p == MAP_FAILED)
		return -errno;
	fx->map = p;
	return 0;
}

static void undo_map(struct fx *fx)
{
	munmap(fx->map, fx->info.length);
	fx->map = NULL;
}

static int prepare_map(struct fx *fx)
{
	int err = prepare_region(fx);

	return err ? err : call_map(fx);
}

/* A fault that finds no memory is made again by the core. */
static int call_touch(struct fx *fx)
{
	volatile uint8_t *p = fx->map;
	uint8_t byte = p[0];

	if (fx->info.map == GDA_MAP_RW)
		p[0] = byte;
	return 0;
}

static int prepare_touched(struct fx *fx)
{
	int err = prepare_map(fx);

	return err ? err : call_touch(fx);
}

static int call_unmap(struct fx *fx)
{
	if (munmap(fx->map, fx->info.length))
		return -errno;
	fx->map = NULL;
	return 0;
}

static int call_move(struct fx *fx)
{
	void *p = mremap(fx->map, fx->info.length, fx->info.length,
			 MREMAP_MAYMOVE | MREMAP_FIXED, (uint8_t *)fx->mem + T_PAGE);

	if (p == MAP_FAILED)
		return -errno;
	fx->map = p;
	return 0;
}

static int prepare_move(struct fx *fx)
{
	int err = prepare_touched(fx);

	fx->len = fx->info.length + 2 * T_PAGE;
	fx->mem = t_pages(fx->len);
	return err ? err : fx->mem ? 0 : -ENOMEM;
}

/* The child has the mapping, touches it and goes. */
static int call_fork(struct fx *fx)
{
	pid_t pid = (pid_t)syscall(SYS_fork);

	if (!pid) {
		call_touch(fx);
		_exit(0);
	}
	if (pid < 0)
		return -errno;
	fx->made_pid = pid;
	return 0;
}

static void undo_fork(struct fx *fx)
{
	t_reap(fx->made_pid, 20 * T_NS);
}

static int prepare_export(struct fx *fx)
{
	int err = prepare_region(fx);

	return err ? err : call_export(fx);
}

static int call_export_map(struct fx *fx)
{
	int prot = fx->info.map == GDA_MAP_RO ? PROT_READ : PROT_READ | PROT_WRITE;
	void *p = mmap(NULL, fx->info.length, prot, MAP_SHARED, fx->made_fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	fx->map = p;
	return 0;
}

static int prepare_export_map(struct fx *fx)
{
	int err = prepare_export(fx);

	return err ? err : call_export_map(fx);
}

static void undo_export_map(struct fx *fx)
{
	if (fx->map)
		undo_map(fx);
}

/* Our own dma-buf as memory of an MR. */
static int call_import(struct fx *fx)
{
	struct gda_mr_reg_dmabuf cmd = {
		.size = sizeof(cmd), .length = fx->info.length,
		.access = GDA_ACCESS_ALL, .fd = fx->made_fd,
	};
	int err = t_ioctl(fx->fd, GDA_IOC_MR_REG_DMABUF, &cmd);

	fx->made = cmd.handle;
	return err;
}

void fx_close(struct fx *fx)
{
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
}

#define OP(NAME, ...)	{ .name = #NAME, __VA_ARGS__ }
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

	OP(open, .call = call_open, .undo = undo_fd),
	OP(close, .prepare = prepare_all, .call = call_close, .cannot_fail = true),
	OP(shutdown, .prepare = prepare_all, .call = call_shutdown, .cannot_fail = true),
	OP(cq_ring, .prepare = prepare_bound, .call = call_cq_ring, .undo = undo_made),
	OP(qp_full, .prepare = prepare_parts, .call = call_qp_full, .undo = undo_made),
	OP(counter_first, .prepare = prepare_bound, .call = call_counter, .undo = undo_made),
	OP(cq_event, .prepare = prepare_event, .call = call_event),
	OP(mr_many, .prepare = prepare_many, .call = call_mr, .undo = undo_made),
	OP(mr_fresh, .prepare = prepare_fresh, .call = call_mr, .undo = undo_made),
	OP(mr_dmabuf, .prepare = prepare_dmabuf, .call = call_dmabuf, .undo = undo_made,
	   .needs_dmabuf = true),
	OP(mr_peer, .prepare = prepare_peer, .call = sweep_peer, .undo = undo_made,
	   .needs_gpu = true),
	OP(mr_user_peer, .prepare = prepare_peer, .call = call_mr, .undo = undo_made,
	   .needs_gpu = true),
	OP(destroy_mr, .prepare = prepare_mr, .call = call_destroy, .cannot_fail = true),
	OP(cq_dmabuf, .prepare = prepare_dmabuf, .call = sweep_cq_dmabuf, .undo = undo_made,
	   .needs_dmabuf = true),
	OP(qp_dmabuf, .prepare = prepare_qp_dmabuf, .call = sweep_qp_dmabuf, .undo = undo_made,
	   .needs_dmabuf = true),
	OP(destroy_qp_dmabuf, .prepare = prepare_made_qp_dmabuf, .call = call_destroy,
	   .needs_dmabuf = true, .cannot_fail = true),
	OP(destroy_dmabuf, .prepare = prepare_dmabuf_mr, .call = call_destroy,
	   .needs_dmabuf = true, .cannot_fail = true),
	OP(destroy_peer, .prepare = prepare_peer_mr, .call = call_destroy,
	   .needs_gpu = true, .cannot_fail = true),
	OP(invalidate, .prepare = prepare_peer_mr, .call = sweep_invalidate,
	   .needs_gpu = true, .cannot_fail = true),
	OP(close_gpu, .prepare = prepare_peer_mr, .call = sweep_close_gpu,
	   .needs_gpu = true, .cannot_fail = true),
	OP(destroy_qp, .prepare = prepare_destroy_qp, .call = call_destroy, .cannot_fail = true),
	OP(destroy_cq, .prepare = prepare_destroy_cq, .call = call_destroy, .cannot_fail = true),
	OP(destroy_counter, .prepare = prepare_destroy_counter, .call = call_destroy,
	   .cannot_fail = true),
	OP(map_sq, .prepare = prepare_region, .call = call_map, .undo = undo_map,
	   .type = GDA_REGION_SQ),
	OP(map_doorbell, .prepare = prepare_region, .call = call_map, .undo = undo_map,
	   .type = GDA_REGION_DB),
	OP(map_cq, .prepare = prepare_region, .call = call_map, .undo = undo_map,
	   .type = GDA_REGION_CQ),
	OP(touch_sq, .prepare = prepare_map, .call = call_touch, .undo = undo_map,
	   .type = GDA_REGION_SQ),
	OP(touch_doorbell, .prepare = prepare_map, .call = call_touch, .undo = undo_map,
	   .type = GDA_REGION_DB),
	OP(touch_cq, .prepare = prepare_map, .call = call_touch, .undo = undo_map,
	   .type = GDA_REGION_CQ),
	OP(unmap, .prepare = prepare_touched, .call = call_unmap, .type = GDA_REGION_SQ),
	OP(move, .prepare = prepare_move, .call = call_move, .undo = undo_map,
	   .type = GDA_REGION_SQ),
	OP(fork, .prepare = prepare_touched, .call = call_fork, .undo = undo_fork,
	   .type = GDA_REGION_DB),
	OP(export_sq, .prepare = prepare_region, .call = call_export, .undo = undo_fd,
	   .type = GDA_REGION_SQ),
	OP(export_doorbell, .prepare = prepare_region, .call = call_export, .undo = undo_fd,
	   .type = GDA_REGION_DB),
	OP(export_cq, .prepare = prepare_region, .call = call_export, .undo = undo_fd,
	   .type = GDA_REGION_CQ),
	OP(export_map, .prepare = prepare_export, .call = call_export_map,
	   .undo = undo_export_map, .type = GDA_REGION_SQ),
	OP(export_touch, .prepare = prepare_export_map, .call = call_touch,
	   .undo = undo_export_map, .type = GDA_REGION_SQ),
	OP(export_import, .prepare = prepare_export, .call = call_import, .undo = undo_made,
	   .type = GDA_REGION_SQ),
};

const struct op *op_find(const char *name)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (!strcmp(ops[i].name, name))
			return &ops[i];
	return NULL;
}

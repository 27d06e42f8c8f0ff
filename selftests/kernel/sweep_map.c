// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Calls that fail_nth sweeps with regions: mapped, touched, moved, forked, exported, and
 * the exports mapped, registered and attached by devices.
 */
#include <signal.h>
#include <sys/syscall.h>
#include "sweep.h"
#include "../kmod/gda_edu/ioctl.h"
#include "../kmod/gda_test/ioctl.h"

#define FAR		((void *)0x200000000000UL)
#define IMPORTER	"/dev/gda_test_importer"
#define EDU		"/dev/gda_edu"

static uint32_t handle_of(const struct fx *fx)
{
	switch (fx->op->type) {
	case GDA_REGION_COUNTER:
		return fx->count[0].handle;
	case GDA_REGION_CQ:
	case GDA_REGION_CQ_DBREC:
		return fx->ring.handle;
	default:
		return fx->qp.handle;
	}
}

/* The region that the call is about. */
static int prepare_region(struct fx *fx)
{
	struct gda_region_query cmd = { .size = sizeof(cmd), .type = fx->op->type };
	int err = cmd.type == GDA_REGION_COUNTER ? sweep_bound(fx) : sweep_qp(fx);

	if (!err && cmd.type == GDA_REGION_COUNTER)
		err = sweep_counter(fx, &fx->count[0]);
	if (err)
		return err;
	cmd.handle = handle_of(fx);
	err = t_ioctl(fx->fd, GDA_IOC_REGION_INFO, &cmd);
	fx->info = cmd.info;
	return err;
}

static int call_export(struct fx *fx)
{
	struct gda_region_export cmd = {
		.size = sizeof(cmd), .type = fx->op->type, .handle = handle_of(fx),
	};
	int err = t_ioctl(fx->fd, GDA_IOC_REGION_EXPORT, &cmd);

	fx->made_fd = err ? -1 : cmd.fd;
	return err;
}

static int map_at(struct fx *fx, void *where, int fd, uint64_t cookie)
{
	int prot = fx->info.map == GDA_MAP_RO ? PROT_READ : PROT_READ | PROT_WRITE;
	int flags = MAP_SHARED | (where ? MAP_FIXED_NOREPLACE : 0);
	void *p = mmap(where, fx->info.length, prot, flags, fd, (off_t)cookie);

	if (p == MAP_FAILED)
		return -errno;
	fx->map = p;
	return 0;
}

static int call_map(struct fx *fx)
{
	return map_at(fx, NULL, fx->fd, fx->info.cookie);
}

static void undo_map(struct fx *fx)
{
	munmap(fx->map, fx->info.length);
	fx->map = NULL;
}

/* Where nothing else is: the first touch needs page tables. */
static int prepare_far(struct fx *fx)
{
	int err = prepare_region(fx);

	return err ? err : map_at(fx, FAR, fx->fd, fx->info.cookie);
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
	int err = prepare_region(fx);

	if (!err)
		err = call_map(fx);
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
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

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
	return map_at(fx, NULL, fx->made_fd, 0);
}

static int prepare_export_far(struct fx *fx)
{
	int err = prepare_export(fx);

	return err ? err : map_at(fx, FAR, fx->made_fd, 0);
}

/* An export that outlives its context. */
static int prepare_last(struct fx *fx)
{
	int err = prepare_export(fx);

	close(fx->fd);
	fx->fd = -1;
	return err;
}

/* The last reference of the dma-buf, and of the region. */
static int call_export_close(struct fx *fx)
{
	int err = close(fx->made_fd) ? -errno : 0;

	fx->made_fd = -1;
	return err;
}

/* Our own dma-buf as memory of an MR. */
static int call_import(struct fx *fx)
{
	struct t_mr mr = { 0 };
	int err = t_mr_reg_dmabuf(fx->fd, fx->made_fd, fx->info.length, &mr);

	fx->made = mr.handle;
	return err;
}

/* A device that can be told, and one that cannot. */
static int prepare_attach(struct fx *fx)
{
	int err = prepare_export(fx);

	if (err)
		return err;
	fx->dev = open(fx->op->needs, O_RDWR | O_CLOEXEC);
	return fx->dev < 0 ? -errno : 0;
}

static int call_attach(struct fx *fx)
{
	int32_t fd = fx->made_fd;

	return t_ioctl(fx->dev, GDA_TEST_ATTACH, &fd);
}

static int call_attach_edu(struct fx *fx)
{
	struct gda_edu_attach cmd = {
		.fd = fx->made_fd, .flags = fx->info.map == GDA_MAP_RO ? GDA_EDU_READ_ONLY : 0,
	};

	return t_ioctl(fx->dev, GDA_EDU_ATTACH, &cmd);
}

#define MAP(NAME, TYPE) \
	OP(map_##NAME, .prepare = prepare_region, .call = call_map, .undo = undo_map, \
	   .type = GDA_REGION_##TYPE)
#define TOUCH(NAME, TYPE) \
	OP(touch_##NAME, .prepare = prepare_far, .call = call_touch, .undo = undo_map, \
	   .type = GDA_REGION_##TYPE)
#define EXPORT(NAME, TYPE) \
	OP(export_##NAME, .prepare = prepare_region, .call = call_export, \
	   .undo = sweep_undo_fd, .type = GDA_REGION_##TYPE)
#define ALL(WHAT) \
	WHAT(sq, SQ), WHAT(record, DBREC), WHAT(doorbell, DB), WHAT(cq, CQ), \
	WHAT(cq_record, CQ_DBREC), WHAT(counter, COUNTER)

const struct op sweep_map_ops[] = {
	ALL(MAP),
	ALL(TOUCH),
	ALL(EXPORT),
	OP(unmap, .prepare = prepare_touched, .call = call_unmap, .type = GDA_REGION_SQ),
	OP(move, .prepare = prepare_move, .call = call_move, .undo = undo_map,
	   .type = GDA_REGION_SQ),
	OP(fork, .prepare = prepare_touched, .call = call_fork, .undo = undo_fork,
	   .type = GDA_REGION_DB),
	OP(export_map, .prepare = prepare_export, .call = call_export_map, .undo = undo_map,
	   .type = GDA_REGION_SQ),
	OP(export_touch, .prepare = prepare_export_far, .call = call_touch, .undo = undo_map,
	   .type = GDA_REGION_SQ),
	OP(export_import, .prepare = prepare_export, .call = call_import,
	   .undo = sweep_undo_made, .type = GDA_REGION_SQ),
	OP(export_close, .prepare = prepare_last, .call = call_export_close,
	   .type = GDA_REGION_SQ, .cannot_fail = true, .asks_nothing = true),
	OP(attach_sq, .prepare = prepare_attach, .call = call_attach, .type = GDA_REGION_SQ,
	   .needs = IMPORTER),
	OP(attach_sq_static, .prepare = prepare_attach, .call = call_attach_edu,
	   .type = GDA_REGION_SQ, .needs = EDU),
	OP(attach_cq_static, .prepare = prepare_attach, .call = call_attach_edu,
	   .type = GDA_REGION_CQ, .needs = EDU),
	{ 0 }
};

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md O6: every error path. Each call is made again and again, and the kernel
 * fails its first allocation or copy, then its second, and so on until there is none
 * left to fail (/proc/self/fail-nth). Each time the call either does what it should or
 * fails cleanly: with an errno that says so, leaving nothing behind, and the same call
 * made once more succeeds. What else goes wrong the kernel's own checks tell.
 *
 * For a kernel with CONFIG_FAULT_INJECTION; skipped on others.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include "gda_fixture.h"
#include "requests.h"

#define POINTS_MAX	3000
#define MANY		2100UL		/* pages of a large MR: more than one batch */

/* --- fault injection --- */

static int nth_fd = -1;

static int debugfs_set(const char *attr, const char *value)
{
	char path[128];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s", attr);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, value, strlen(value));
	close(fd);
	return n < 0 ? -EIO : 0;
}

/* Any allocation and any copy can fail, and no word about it. */
static int nth_open(void)
{
	static const char *const quiet[] = {
		"failslab/verbose", "fail_page_alloc/verbose", "fail_usercopy/verbose",
		"fail_function/verbose", "fail_futex/verbose",
	};
	const char *verbose = getenv("GDA_FAIL_VERBOSE");

	if (debugfs_set("failslab/ignore-gfp-wait", "N") ||
	    debugfs_set("fail_page_alloc/ignore-gfp-wait", "N") ||
	    debugfs_set("fail_page_alloc/ignore-gfp-highmem", "N") ||
	    debugfs_set("fail_page_alloc/min-order", "0"))
		return -ENOENT;
	for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
		debugfs_set(quiet[i], verbose ? verbose : "0");
	nth_fd = open("/proc/self/fail-nth", O_RDWR | O_CLOEXEC);
	return nth_fd < 0 ? -errno : 0;
}

static int nth_arm(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	return pwrite(nth_fd, text, (size_t)len, 0) == len ? 0 : -errno;
}

/* Return: whether something was failed since nth_arm(). */
static bool nth_disarm(void)
{
	char text[16] = "";
	bool fired = true;

	/* What was left to count may hit these calls: then it had not fired before. */
	if (pread(nth_fd, text, sizeof(text) - 1, 0) < 0 || strtoul(text, NULL, 0))
		fired = false;
	while (pwrite(nth_fd, "0", 1, 0) != 1)
		;
	return fired;
}

/* --- what is swept --- */

struct fx {
	struct t_world w;
	uint8_t buf[T_REQUEST_MAX];
	int fd;				/* the context */
	struct gda_cq_create cq;
	struct gda_cq_create ring;
	struct gda_counter_create count[2];
	struct gda_qp_create qp;
	int event;
	int dmabuf;
	void *mem;
	size_t len;
	struct gda_region_info info;
	void *map;
	uint32_t made;			/* handle, file, process or address that a call made */
	int made_fd;
	pid_t made_pid;
};

struct op {
	const char *name;
	int (*prepare)(struct fx *fx);
	int (*call)(struct fx *fx);
	void (*undo)(struct fx *fx);
	unsigned int nr;		/* of a request, where @call is call_request */
	uint32_t type;			/* of a region */
	bool needs_dmabuf;
	bool cannot_fail;		/* whatever fails: an answer is all it may not get */
};

static const struct op *op;

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
	fx->made_fd = t_request(&fx->w, op->nr, fx->buf);
	return fx->made_fd < 0 ? fx->made_fd : 0;
}

static int call_request(struct fx *fx)
{
	return t_ioctl(fx->made_fd, t_calls[op->nr].nr, fx->buf);
}

static void undo_request(struct fx *fx)
{
	t_request_undo(&fx->w, op->nr, fx->buf);
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
	struct udmabuf_create create = { .size = 8 * T_PAGE };
	int dev, err = prepare_bound(fx);

	if (err)
		return err;
	dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	if (dev < 0)
		return -errno;
	create.memfd = (uint32_t)memfd_create("gda", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	err = ftruncate((int)create.memfd, (off_t)create.size) ||
	      fcntl((int)create.memfd, F_ADD_SEALS, F_SEAL_SHRINK) ? -errno : 0;
	if (!err) {
		fx->dmabuf = ioctl(dev, UDMABUF_CREATE, &create);
		err = fx->dmabuf < 0 ? -errno : 0;
	}
	close((int)create.memfd);
	close(dev);
	return err;
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

	return err ? err : region_of(fx, op->type);
}

static int call_export(struct fx *fx)
{
	struct gda_region_export cmd = {
		.size = sizeof(cmd), .type = op->type,
		.handle = op->type >= GDA_REGION_CQ ? fx->ring.handle : fx->qp.handle,
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

static void fx_close(struct fx *fx)
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
}

/* --- the sweep --- */

struct tally {
	unsigned int points;
	unsigned int failed;
	unsigned int survived;		/* the call succeeded all the same */
	int errnos[4];
};

static bool errno_expected(struct tally *t, int err)
{
	if (err != -ENOMEM && err != -EFAULT && err != -EAGAIN && err != -EINTR)
		return false;
	for (int i = 0; i < 4; i++) {
		if (!t->errnos[i])
			t->errnos[i] = err;
		if (t->errnos[i] == err)
			return true;
	}
	return false;
}

static bool has_dmabuf(void)
{
	return !access("/dev/udmabuf", R_OK | W_OK);
}

/* One point. Return: false when there was nothing left to fail. */
static bool sweep_point(struct __test_metadata *_metadata, unsigned int n, struct tally *t)
{
	struct fx fx = { .fd = -1, .event = -1, .dmabuf = -1, .made_fd = -1 };
	struct t_objects before, now;
	bool fired;
	int err;

	if (op->prepare)
		EXPECT_EQ(0, op->prepare(&fx));
	EXPECT_EQ(0, t_objects_read(&before));
	EXPECT_EQ(0, nth_arm(n));
	err = op->call(&fx);
	fired = nth_disarm();
	if (err) {
		t->failed++;
		EXPECT_TRUE(fired && errno_expected(t, err))
			TH_LOG("%s: point %u: errno %d", op->name, n, -err);
		if (op->cannot_fail)
			EXPECT_EQ(-EFAULT, err) TH_LOG("%s: point %u", op->name, n);
		EXPECT_EQ(0, t_objects_settle(&before, &now))
			TH_LOG("%s: point %u: errno %d, left: contexts %ld qps %ld cqs %ld counters %ld mrs %ld regions %ld pages %ld keys %ld",
			       op->name, n, -err,
			       now.n[T_CONTEXTS] - before.n[T_CONTEXTS],
			       now.n[T_QPS] - before.n[T_QPS],
			       now.n[T_CQS] - before.n[T_CQS],
			       now.n[T_COUNTERS] - before.n[T_COUNTERS],
			       now.n[T_MRS] - before.n[T_MRS],
			       now.n[T_REGIONS] - before.n[T_REGIONS],
			       now.n[T_PAGES] - before.n[T_PAGES],
			       now.n[T_KEYS] - before.n[T_KEYS]);
		err = op->call(&fx);
		EXPECT_EQ(0, err) TH_LOG("%s: after point %u", op->name, n);
	} else if (fired) {
		t->survived++;
	}
	if (!err && op->undo)
		op->undo(&fx);
	fx_close(&fx);
	if (fired)
		t->points++;
	return fired && _metadata->exit_code != KSFT_FAIL;
}

static void sweep(struct __test_metadata *_metadata)
{
	struct tally t = { 0 };
	struct t_objects base;
	unsigned int n = 1;

	ASSERT_EQ(0, t_objects_read(&base));
	/* Once before, so that what is made once in a lifetime is there. */
	sweep_point(_metadata, 1000000, &t);
	while (n < POINTS_MAX && sweep_point(_metadata, n, &t))
		n++;
	EXPECT_GT(POINTS_MAX, n) TH_LOG("%s: no end", op->name);
	printf("# %s: %u points, %u failed, %u survived, errnos %d %d %d %d\n", op->name,
	       t.points, t.failed, t.survived, -t.errnos[0], -t.errnos[1], -t.errnos[2],
	       -t.errnos[3]);
	T_BASE_CHECK(&base);
}

FIXTURE(fail_nth) {
	int unused;
};

FIXTURE_VARIANT(fail_nth) {
	struct op op;
};

FIXTURE_SETUP(fail_nth)
{
	op = &variant->op;
	if (nth_open())
		SKIP(return, "no fault injection in this kernel");
	if (op->needs_dmabuf && !has_dmabuf())
		SKIP(return, "no /dev/udmabuf");
}

FIXTURE_TEARDOWN(fail_nth)
{
}

#define OP(NAME, ...) \
	FIXTURE_VARIANT_ADD(fail_nth, NAME) { .op = { .name = #NAME, __VA_ARGS__ } }
#define IOCTL(NR) \
	OP(ioctl_##NR, .prepare = prepare_request, .call = call_request, \
	   .undo = undo_request, .nr = GDA_IOC_NR_##NR)

IOCTL(BIND);
IOCTL(QUERY);
IOCTL(DESTROY);
IOCTL(REGION_INFO);
IOCTL(CQ_CREATE);
IOCTL(QP_CREATE);
IOCTL(QP_ADDRESS);
IOCTL(QP_CONNECT);
IOCTL(QP_QUERY);
IOCTL(MR_REG_USER);
IOCTL(MR_QUERY);
IOCTL(CQ_EVENT);
IOCTL(COUNTER_CREATE);
IOCTL(MR_REG_DMABUF);
IOCTL(REGION_EXPORT);

OP(open, .call = call_open, .undo = undo_fd);
OP(close, .prepare = prepare_all, .call = call_close, .cannot_fail = true);
OP(shutdown, .prepare = prepare_all, .call = call_shutdown, .cannot_fail = true);
OP(cq_ring, .prepare = prepare_bound, .call = call_cq_ring, .undo = undo_made);
OP(qp_full, .prepare = prepare_parts, .call = call_qp_full, .undo = undo_made);
OP(counter_first, .prepare = prepare_bound, .call = call_counter, .undo = undo_made);
OP(cq_event, .prepare = prepare_event, .call = call_event);
OP(mr_many, .prepare = prepare_many, .call = call_mr, .undo = undo_made);
OP(mr_fresh, .prepare = prepare_fresh, .call = call_mr, .undo = undo_made);
OP(mr_dmabuf, .prepare = prepare_dmabuf, .call = call_dmabuf, .undo = undo_made,
   .needs_dmabuf = true);
OP(destroy_mr, .prepare = prepare_mr, .call = call_destroy, .cannot_fail = true);
OP(destroy_dmabuf, .prepare = prepare_dmabuf_mr, .call = call_destroy,
   .needs_dmabuf = true, .cannot_fail = true);
OP(destroy_qp, .prepare = prepare_destroy_qp, .call = call_destroy, .cannot_fail = true);
OP(destroy_cq, .prepare = prepare_destroy_cq, .call = call_destroy, .cannot_fail = true);
OP(destroy_counter, .prepare = prepare_destroy_counter, .call = call_destroy,
   .cannot_fail = true);
OP(map_sq, .prepare = prepare_region, .call = call_map, .undo = undo_map,
   .type = GDA_REGION_SQ);
OP(map_doorbell, .prepare = prepare_region, .call = call_map, .undo = undo_map,
   .type = GDA_REGION_DB);
OP(map_cq, .prepare = prepare_region, .call = call_map, .undo = undo_map,
   .type = GDA_REGION_CQ);
OP(touch_sq, .prepare = prepare_map, .call = call_touch, .undo = undo_map,
   .type = GDA_REGION_SQ);
OP(touch_doorbell, .prepare = prepare_map, .call = call_touch, .undo = undo_map,
   .type = GDA_REGION_DB);
OP(touch_cq, .prepare = prepare_map, .call = call_touch, .undo = undo_map,
   .type = GDA_REGION_CQ);
OP(unmap, .prepare = prepare_touched, .call = call_unmap, .type = GDA_REGION_SQ);
OP(move, .prepare = prepare_move, .call = call_move, .undo = undo_map,
   .type = GDA_REGION_SQ);
OP(fork, .prepare = prepare_touched, .call = call_fork, .undo = undo_fork,
   .type = GDA_REGION_DB);
OP(export_sq, .prepare = prepare_region, .call = call_export, .undo = undo_fd,
   .type = GDA_REGION_SQ);
OP(export_doorbell, .prepare = prepare_region, .call = call_export, .undo = undo_fd,
   .type = GDA_REGION_DB);
OP(export_cq, .prepare = prepare_region, .call = call_export, .undo = undo_fd,
   .type = GDA_REGION_CQ);
OP(export_map, .prepare = prepare_export, .call = call_export_map,
   .undo = undo_export_map, .type = GDA_REGION_SQ);
OP(export_touch, .prepare = prepare_export_map, .call = call_touch,
   .undo = undo_export_map, .type = GDA_REGION_SQ);
OP(export_import, .prepare = prepare_export, .call = call_import, .undo = undo_made,
   .type = GDA_REGION_SQ);

TEST_F_TIMEOUT(fail_nth, O6_sweep, 300)
{
	sweep(_metadata);
}

/* --- module init --- */

static int module_load(const char *name)
{
	struct utsname uts;
	char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 200);
	char *end;
	int fd, err;

	uname(&uts);
	/* build/selftests/kernel/fail_nth, build/RELEASE/kmod/NAME/NAME.ko */
	for (int i = 0; i < 3; i++) {
		path[n > 0 ? n : 0] = 0;
		end = strrchr(path, '/');
		if (!end)
			return -ENOENT;
		n = end - path;
	}
	snprintf(path + n, 200, "/%s/kmod/%s/%s.ko", uts.release, name, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return err;
}

static int module_unload(const char *name)
{
	uint64_t end = t_now() + T_WAIT_NS;

	while (syscall(SYS_delete_module, name, O_NONBLOCK)) {
		if (errno != EWOULDBLOCK || t_now() > end)
			return -errno;
		t_sleep_ns(T_NS / 100);
	}
	return 0;
}

static unsigned int module_sweep(struct __test_metadata *_metadata, const char *name)
{
	struct tally t = { 0 };
	unsigned int n;
	bool fired = true;

	for (n = 1; fired && n < POINTS_MAX && _metadata->exit_code != KSFT_FAIL; n++) {
		int err;

		EXPECT_EQ(0, nth_arm(n));
		err = module_load(name);
		fired = nth_disarm();
		if (!err)
			err = module_unload(name);
		else if (fired && errno_expected(&t, err))
			err = 0;
		EXPECT_EQ(0, err) TH_LOG("%s: point %u", name, n);
	}
	printf("# init of %s: %u points\n", name, n - 2);
	return n;
}

TEST(O6_sweep_module_init)
{
	if (nth_open())
		SKIP(return, "no fault injection in this kernel");
	if (module_unload("gda_mr") || module_unload("gda_core"))
		SKIP(return, "the modules are in use");
	EXPECT_GT(POINTS_MAX, module_sweep(_metadata, "gda_core"));
	EXPECT_OK(module_load("gda_core"));
	EXPECT_GT(POINTS_MAX, module_sweep(_metadata, "gda_mr"));
	EXPECT_OK(module_load("gda_mr"));
	EXPECT_EQ(0, chown("/dev/gda", 0, T_GROUP));
	EXPECT_EQ(0, chmod("/dev/gda", 0660));
}

int main(int argc, char **argv)
{
	/* Running out of memory on purpose: the core says so, and where. */
	printf("# dmesg: Call Trace:|vmalloc error: size\n");
	return test_harness_run(argc, argv);
}

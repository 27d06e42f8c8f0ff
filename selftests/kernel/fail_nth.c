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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include "gda_fixture.h"
#include "sweep.h"

#define POINTS_MAX	3000

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

static const struct op *op;

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

static void log_left(unsigned int n, int err, const struct t_objects *before,
		     const struct t_objects *now)
{
	static const char *const names[T_OBJECTS] = {
		[T_CONTEXTS] = "contexts", [T_QPS] = "QPs", [T_CQS] = "CQs",
		[T_COUNTERS] = "counters", [T_MRS] = "MRs", [T_REGIONS] = "regions",
		[T_PAGES] = "pages", [T_KEYS] = "keys",
	};

	printf("# %s: point %u: errno %d, left:", op->name, n, -err);
	for (size_t i = 0; i < T_OBJECTS; i++)
		if (names[i] && now->n[i] != before->n[i])
			printf(" %ld %s", now->n[i] - before->n[i], names[i]);
	printf("\n");
}

/* One point. Return: false when there was nothing left to fail. */
static bool sweep_point(struct __test_metadata *_metadata, unsigned int n, struct tally *t)
{
	struct fx fx = { .op = op, .fd = -1, .event = -1, .dmabuf = -1, .gpu = -1, .made_fd = -1 };
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
			log_left(n, err, &before, &now);
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

/* Set the sysctl, unless @value is negative. Return: what it was. */
static int panic_on_warn(int value)
{
	FILE *f = fopen("/proc/sys/kernel/panic_on_warn", "r+");
	int old = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &old) != 1)
		old = -1;
	if (value >= 0) {
		rewind(f);
		fprintf(f, "%d\n", value);
	}
	fclose(f);
	return old;
}

FIXTURE(fail_nth) {
	int panic_on_warn;
};

FIXTURE_VARIANT(fail_nth) {
	const char *op;
};

FIXTURE_SETUP(fail_nth)
{
	op = op_find(variant->op);
	ASSERT_NE(NULL, op);
	if (nth_open())
		SKIP(return, "no fault injection in this kernel");
	if (op->needs_dmabuf && !has_dmabuf())
		SKIP(return, "no /dev/udmabuf");
	/* dma_buf_vmap() warns of whatever an exporter's vmap answers */
	self->panic_on_warn = panic_on_warn(op->needs_dmabuf ? 0 : -1);
}

FIXTURE_TEARDOWN(fail_nth)
{
	panic_on_warn(self->panic_on_warn);
}

#define OP(NAME)	FIXTURE_VARIANT_ADD(fail_nth, NAME) { .op = #NAME }

OP(ioctl_BIND);
OP(ioctl_QUERY);
OP(ioctl_DESTROY);
OP(ioctl_REGION_INFO);
OP(ioctl_CQ_CREATE);
OP(ioctl_QP_CREATE);
OP(ioctl_QP_ADDRESS);
OP(ioctl_QP_CONNECT);
OP(ioctl_QP_QUERY);
OP(ioctl_MR_REG_USER);
OP(ioctl_MR_QUERY);
OP(ioctl_CQ_EVENT);
OP(ioctl_COUNTER_CREATE);
OP(ioctl_MR_REG_DMABUF);
OP(ioctl_REGION_EXPORT);
OP(ioctl_MR_REG_PEER);
OP(open);
OP(close);
OP(shutdown);
OP(cq_ring);
OP(qp_full);
OP(counter_first);
OP(cq_event);
OP(mr_many);
OP(mr_fresh);
OP(mr_dmabuf);
OP(mr_peer);
OP(mr_user_peer);
OP(cq_dmabuf);
OP(qp_dmabuf);
OP(destroy_qp_dmabuf);
OP(destroy_mr);
OP(destroy_dmabuf);
OP(destroy_peer);
OP(invalidate);
OP(close_gpu);
OP(destroy_qp);
OP(destroy_cq);
OP(destroy_counter);
OP(map_sq);
OP(map_doorbell);
OP(map_cq);
OP(touch_sq);
OP(touch_doorbell);
OP(touch_cq);
OP(unmap);
OP(move);
OP(fork);
OP(export_sq);
OP(export_doorbell);
OP(export_cq);
OP(export_map);
OP(export_touch);
OP(export_import);

TEST_F_TIMEOUT(fail_nth, O6_sweep, 300)
{
	sweep(_metadata);
}

/* --- module init --- */

/* A module's file, as a copy without debug information: much of loading is copying. */
struct module_file {
	void *image;
	size_t len;
};

static int module_read(const char *name, struct module_file *m)
{
	struct utsname uts;
	char path[512], command[700];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 200);
	struct stat st;
	int fd, err = -EIO;

	uname(&uts);
	/* build/selftests/kernel/fail_nth, build/RELEASE/[selftests/]kmod/NAME/NAME.ko */
	for (int i = 0; i < 3; i++) {
		char *end;

		path[n > 0 ? n : 0] = 0;
		end = strrchr(path, '/');
		if (!end)
			return -ENOENT;
		n = end - path;
	}
	snprintf(path + n, 200, "/%s/%skmod/%s/%s.ko", uts.release,
		 strcmp(name, "gda_test") ? "" : "selftests/", name, name);
	snprintf(command, sizeof(command), "strip -g -o /tmp/gda-module.ko '%s'", path);
	if (system(command))
		return -ENOEXEC;
	fd = open("/tmp/gda-module.ko", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st)) {
		m->len = (size_t)st.st_size;
		m->image = malloc(m->len);
		if (m->image && read(fd, m->image, m->len) == st.st_size)
			err = 0;
	}
	close(fd);
	unlink("/tmp/gda-module.ko");
	return err;
}

static int module_insert(const struct module_file *m)
{
	return syscall(SYS_init_module, m->image, m->len, "") ? -errno : 0;
}

static int module_load(const char *name)
{
	struct module_file m = { 0 };
	int err = module_read(name, &m);

	if (!err)
		err = module_insert(&m);
	free(m.image);
	return err == -EEXIST ? 0 : err;
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

static void module_sweep(struct __test_metadata *_metadata, const char *name)
{
	struct module_file m = { 0 };
	struct tally t = { 0 };
	unsigned int n;
	bool fired = true;

	ASSERT_OK(module_read(name, &m));
	for (n = 1; fired && n < POINTS_MAX && _metadata->exit_code != KSFT_FAIL; n++) {
		int err;

		EXPECT_EQ(0, nth_arm(n));
		err = module_insert(&m);
		fired = nth_disarm();
		if (!err)
			err = module_unload(name);
		else if (fired && errno_expected(&t, err))
			err = 0;
		EXPECT_EQ(0, err) TH_LOG("%s: point %u", name, n);
	}
	free(m.image);
	printf("# init of %s: %u points, errnos %d %d %d %d\n", name, n - 2, -t.errnos[0],
	       -t.errnos[1], -t.errnos[2], -t.errnos[3]);
	EXPECT_GT(POINTS_MAX, n);
}

FIXTURE(module_init) {
	bool out;
	int panic_on_warn;
};

FIXTURE_SETUP(module_init)
{
	if (nth_open())
		SKIP(return, "no fault injection in this kernel");
	if (module_unload("gda_test") || module_unload("gda_mr") || module_unload("gda_core"))
		SKIP(return, "the modules are in use");
	self->out = true;
	/* without memory tracing warns of a module's events, and jump labels of its keys */
	self->panic_on_warn = panic_on_warn(0);
}

FIXTURE_TEARDOWN(module_init)
{
	if (!self->out)
		return;
	panic_on_warn(self->panic_on_warn);
	module_load("gda_core");
	EXPECT_OK(module_load("gda_mr"));
	EXPECT_OK(module_load("gda_test"));
	EXPECT_EQ(0, chown("/dev/gda", 0, T_GROUP));
	EXPECT_EQ(0, chmod("/dev/gda", 0660));
}

TEST_F_TIMEOUT(module_init, O6_sweep, 900)
{
	module_sweep(_metadata, "gda_core");
	EXPECT_OK(module_load("gda_core"));
	module_sweep(_metadata, "gda_mr");
	EXPECT_OK(module_load("gda_mr"));
	module_sweep(_metadata, "gda_test");
}

/*
 * Whoever is preempted while a copy is to fail may have it fail in the kernel's own
 * look at his rseq, which is answered by SIGSEGV.
 */
static void rseq_off(void)
{
	char *area = (char *)__builtin_thread_pointer() + __rseq_offset;

	if (__rseq_size)
		syscall(SYS_rseq, area, sizeof(struct rseq), RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
}

int main(int argc, char **argv)
{
	rseq_off();
	/* Running out of memory on purpose: the core says so, and where. */
	printf("# dmesg: Call Trace:|vmalloc error: size|");
	printf("WARNING: .* (dma_buf_vmap|event_|jump_label_)|");
	printf("gda_(mr|test): Unknown symbol [a-z_]+ \\(err -12\\)\n");
	return test_harness_run(argc, argv);
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md O6, as fail_nth.c: every error path of loading the modules, and of taking
 * the device away and giving it back.
 *
 * For a kernel with CONFIG_FAULT_INJECTION; skipped on others.
 */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include "gda_fixture.h"
#include "nth.h"

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
	/* build/selftests/kernel/fail_init, build/RELEASE/[selftests/]kmod/NAME/NAME.ko */
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

	int err;

	while ((err = t_module_remove(name)) == -EWOULDBLOCK && t_now() <= end)
		t_sleep_ns(T_NS / 100);
	return err;
}

static void module_sweep(struct __test_metadata *_metadata, const char *name)
{
	struct module_file m = { 0 };
	struct nth_tally t = { 0 };
	unsigned int n;
	bool fired = true;

	ASSERT_OK(module_read(name, &m));
	for (n = 1; fired && n < NTH_MAX && _metadata->exit_code != KSFT_FAIL; n++) {
		int err;

		EXPECT_EQ(0, nth_arm(n));
		err = module_insert(&m);
		fired = nth_disarm();
		if (!err)
			err = module_unload(name);
		else if (fired && nth_expected(&t, err))
			err = 0;
		t.points += fired;
		EXPECT_EQ(0, err) TH_LOG("%s: point %u", name, n);
	}
	free(m.image);
	printf("# init of %s: %u points, errnos %d %d %d %d\n", name, t.points, -t.errnos[0],
	       -t.errnos[1], -t.errnos[2], -t.errnos[3]);
	EXPECT_GT(NTH_MAX, n);
	EXPECT_LT(0, t.points);
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
	self->panic_on_warn = nth_panic_on_warn(0);
}

FIXTURE_TEARDOWN(module_init)
{
	if (!self->out)
		return;
	nth_panic_on_warn(self->panic_on_warn);
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
}

FIXTURE(removal) {
	int fd;			/* a context that is there when its device goes */
	struct t_qp qp;
};

T_SETUP(removal)
{
	if (nth_open())
		SKIP(return, "no fault injection in this kernel");
	self->fd = t_context();
	ASSERT_LE(0, self->fd);
	ASSERT_OK(t_qp_open(&self->qp, self->fd, 64));
}

T_TEARDOWN(removal)
{
	t_qp_close(&self->qp);
	close(self->fd);
}

/* The device is there or not as the answer says, and the same once more works. */
static void driver_sweep(struct __test_metadata *_metadata, const char *attr,
			 const char *back)
{
	struct nth_tally t = { 0 };
	bool fired = true;
	unsigned int n;

	for (n = 1; fired && n < NTH_MAX && _metadata->exit_code != KSFT_FAIL; n++) {
		int err, probe;

		EXPECT_EQ(0, nth_arm(n));
		err = t_soft0(attr);
		fired = nth_disarm();
		t.points += fired;
		if (err) {
			EXPECT_TRUE(fired && nth_expected(&t, err))
				TH_LOG("%s: point %u: errno %d", attr, n, -err);
			EXPECT_OK(t_soft0(attr));
		}
		probe = t_context();
		if (probe >= 0)
			close(probe);
		EXPECT_EQ(!strcmp(attr, "bind"), probe >= 0) TH_LOG("%s: point %u", attr, n);
		EXPECT_OK(t_soft0(back));
	}
	printf("# %s: %u points, errnos %d %d %d %d\n", attr, t.points, -t.errnos[0],
	       -t.errnos[1], -t.errnos[2], -t.errnos[3]);
	EXPECT_GT(NTH_MAX, n);
	EXPECT_LT(0, t.points);
}

TEST_F_TIMEOUT(removal, O6_unbind, 300)
{
	driver_sweep(_metadata, "unbind", "bind");
}

TEST_F_TIMEOUT(removal, O6_bind, 300)
{
	ASSERT_OK(t_soft0("unbind"));
	driver_sweep(_metadata, "bind", "unbind");
	EXPECT_OK(t_soft0("bind"));
}

int main(int argc, char **argv)
{
	nth_begin();
	return test_harness_run(argc, argv);
}

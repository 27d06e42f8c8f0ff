// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md O8: the modules come and go, and never while somebody uses them. The
 * folder of the modules is $GDA_MODULES, else build/RELEASE/kmod.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include "gda_fixture.h"

/* The last one uses the others; it is out while they are tested. */
#define USER	2

FIXTURE(module) {
	char path[3][512];
	bool user;
};

static const char *const names[3] = { "gda_core", "gda_mr", "gda_test" };

static int unload(int i)
{
	return syscall(SYS_delete_module, names[i], O_NONBLOCK) ? -errno : 0;
}

FIXTURE_SETUP(module)
{
	const char *dir = getenv("GDA_MODULES");
	struct utsname un;

	ASSERT_EQ(0, uname(&un));
	for (int i = 0; i < 3; i++) {
		char *p = self->path[i];
		int n = dir && i < USER ?
			snprintf(p, 300, "%s", dir) :
			snprintf(p, 300, "build/%s/%skmod", un.release,
				 i == USER ? "selftests/" : "");

		snprintf(p + n, sizeof(self->path[i]) - (size_t)n, "/%s/%s.ko", names[i],
			 names[i]);
	}
	if (access(self->path[0], R_OK))
		SKIP(return, "no modules at %s", self->path[0]);
	self->user = !unload(USER);
}

static int load(FIXTURE_DATA(module) *self, int i)
{
	int fd = open(self->path[i], O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	/* The node is new; no udev here gives it to the group. */
	if (!err && !i && chown("/dev/gda", 0, T_GROUP))
		err = -errno;
	return err;
}

FIXTURE_TEARDOWN(module)
{
	for (int i = 0; i < 2; i++)
		load(self, i);
	if (self->user)
		EXPECT_OK(load(self, USER));
	EXPECT_EQ(0, chmod("/dev/gda", 0660));
}

/* Both out and in again; a moment's grace for references that are about to go. */
static int cycle(FIXTURE_DATA(module) *self)
{
	uint64_t end = t_now() + 5 * T_NS;
	int err;

	for (int i = 1; i >= 0; i--) {
		while ((err = unload(i)) == -EAGAIN || err == -EBUSY || err == -EWOULDBLOCK)
			if (t_now() > end)
				return err;
		if (err)
			return err;
	}
	err = load(self, 0);
	return err ? err : load(self, 1);
}

static int works(void)
{
	struct t_end end[2];
	struct t_wr wr;
	int err = t_pair_open(end, 16, T_PAGE);

	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 64);
	if (!err)
		err = t_run(&end[0].qp, &wr, NULL);
	t_pair_close(end);
	return err;
}

TEST_F(module, O8_unload_and_load)
{
	unsigned long rounds = t_stress(20);

	for (unsigned long i = 0; i < rounds; i++) {
		struct t_objects o;

		ASSERT_OK(cycle(self)) TH_LOG("round %lu", i);
		ASSERT_OK(works()) TH_LOG("round %lu", i);
		ASSERT_OK(t_objects_read(&o));
		for (int k = 0; k < T_OBJECTS; k++) {
			EXPECT_EQ(0, o.n[k]);
		}
	}
}

/* Whatever is open or mapped, or registered, holds what it needs. */
TEST_F(module, O8_not_while_in_use)
{
	struct t_qp qp;
	struct t_mr mr;
	int fd;

	fd = t_open();
	ASSERT_GE(fd, 0);
	EXPECT_NE(0, unload(0));
	ASSERT_OK(t_bind(fd));
	EXPECT_NE(0, unload(0));
	ASSERT_OK(t_mr_new(fd, T_PAGE, GDA_ACCESS_ALL, &mr));
	EXPECT_NE(0, unload(1));
	ASSERT_OK(t_qp_open(&qp, fd, 16));
	t_mr_free(fd, &mr);
	close(fd);
	/* Mappings alone. */
	EXPECT_NE(0, unload(0));
	EXPECT_EQ(0, t_touch_write(qp.sq));
	t_qp_unmap(&qp);
	EXPECT_OK(cycle(self));
	EXPECT_OK(works());
}

/* Without the module of memory kinds: registration says so, the rest goes on. */
TEST_F(module, O8_without_memory_kinds)
{
	struct gda_query query = { .size = sizeof(query) };
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_mr mr;
	struct t_qp qp;
	int fd;

	ASSERT_OK(unload(1));
	fd = t_context();
	ASSERT_GE(fd, 0);
	ASSERT_OK(t_ioctl(fd, GDA_IOC_QUERY, &query));
	EXPECT_FALSE(query.features[0] & GDA_FEATURE_MR_USER);
	EXPECT_EQ(-EOPNOTSUPP, t_mr_new(fd, T_PAGE, GDA_ACCESS_ALL, &mr));
	ASSERT_OK(t_qp_open(&qp, fd, 16));
	ASSERT_OK(t_connect(&qp, &qp));
	EXPECT_OK(t_run(&qp, &nop, NULL));
	ASSERT_OK(load(self, 1));
	EXPECT_OK(t_mr_new(fd, T_PAGE, GDA_ACCESS_ALL, &mr));
	t_mr_free(fd, &mr);
	t_qp_unmap(&qp);
	close(fd);
}

static bool stop;

static void *opener(void *arg)
{
	unsigned long *n = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		*n += works() == 0;
	return NULL;
}

/* Somebody opens and uses the device all the time while modules try to go. */
TEST_F(module, O8_unload_against_use)
{
	uint64_t end = t_now() + t_stress(6) * T_NS;
	unsigned long out = 0, busy = 0, used = 0;
	pthread_t thread;

	stop = false;
	ASSERT_EQ(0, pthread_create(&thread, NULL, opener, &used));
	while (t_now() < end) {
		for (int i = 1; i >= 0; i--) {
			int err = unload(i);

			if (err)
				busy++;
			else
				out++;
		}
		for (int i = 0; i < 2; i++) {
			int err = load(self, i);

			ASSERT_TRUE(err == 0 || err == -EEXIST || err == -EBUSY ||
				    err == -ENOENT) TH_LOG("%s: %d", names[i], err);
		}
		t_sleep_ns(T_NS / 500);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	TH_LOG("%lu unloaded, %lu in use, %lu uses", out, busy, used);
}

TEST_HARNESS_MAIN

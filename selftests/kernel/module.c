// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md O8: modules are loaded and unloaded, and never unloaded in use; and O11:
 * limits of a user, which are parameters of a module.
 */
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "gda_fixture.h"
#include "nl.h"
#include "reload.h"

FIXTURE(module) {
	struct t_modules m;
	bool limited;
};

FIXTURE_SETUP(module)
{
	if (t_modules_begin(&self->m))
		SKIP(return, "no modules at %s", self->m.path[T_CORE]);
}

static int load(FIXTURE_DATA(module) *self, int i)
{
	return t_load(&self->m, i, "");
}

static int cycle(FIXTURE_DATA(module) *self)
{
	return t_reload(&self->m, "");
}

FIXTURE_TEARDOWN(module)
{
	for (int i = 0; i < 2; i++)
		load(self, i);
	if (self->limited)
		EXPECT_OK(cycle(self));
	EXPECT_OK(t_modules_end(&self->m));
	EXPECT_EQ(0, chmod("/dev/gda", 0660));
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
	unsigned long rounds = t_short(6, 20);

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

/* Each open file, mapping and MR holds the modules that it needs. */
TEST_F(module, O8_not_while_in_use)
{
	struct t_qp qp;
	struct t_mr mr;
	int fd;

	fd = t_open();
	ASSERT_GE(fd, 0);
	EXPECT_NE(0, t_unload(0));
	ASSERT_OK(t_bind(fd));
	EXPECT_NE(0, t_unload(0));
	ASSERT_OK(t_mr_new(fd, T_PAGE, GDA_ACCESS_ALL, &mr));
	EXPECT_NE(0, t_unload(1));
	ASSERT_OK(t_qp_open(&qp, fd, 16));
	t_mr_free(fd, &mr);
	close(fd);
	/* Mappings alone. */
	EXPECT_NE(0, t_unload(0));
	EXPECT_EQ(0, t_touch_write(qp.sq));
	t_qp_unmap(&qp);
	EXPECT_OK(cycle(self));
	EXPECT_OK(works());
}

/*
 * A dump that is read half-way holds the module until its socket is closed, and nothing after that;
 * a socket on which nothing goes on holds nothing, and finds the family gone.
 */
TEST_F(module, O8_abandoned_dump)
{
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	struct t_nl half, idle;
	struct t_nl_msg msg;
	int fd = t_context();

	ASSERT_GE(fd, 0);
	ASSERT_OK(t_cq_create(fd, 0, 16, &cq));
	for (int i = 0; i < 500; i++)
		ASSERT_OK(t_qp_create(fd, cq.handle, 16, &qp));
	ASSERT_OK(t_nl_open(&half));
	ASSERT_OK(t_nl_open(&idle));
	ASSERT_OK(t_nl_dump(&half, GDA_CMD_QP_GET, 0));
	ASSERT_EQ(1, t_nl_next(&half, &msg));
	close(fd);
	/* nothing else holds it */
	ASSERT_OK(t_unload(1));
	EXPECT_NE(0, t_unload(0));
	ASSERT_OK(load(self, 1));
	t_nl_close(&half);
	EXPECT_OK(cycle(self));
	/* the family has come again, and perhaps with another number */
	t_nl_get(&idle, GDA_CMD_LIMITS_GET, 0, 0, &msg);
	t_nl_close(&idle);
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

	ASSERT_OK(t_unload(1));
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

/*
 * One who uses the device and one who unloads it. Each gives way at times until the other
 * has done something once more: on a slow kernel no fixed time is enough for that.
 */
static struct {
	bool stop, rests;
	unsigned long used, busy;
	unsigned long out[2];	/* how often each module was unloaded */
} race;

#define LOOK(what)	__atomic_load_n(&race.what, __ATOMIC_RELAXED)
#define STORE(what, v)	__atomic_store_n(&race.what, v, __ATOMIC_RELAXED)
#define COUNT(what)	__atomic_add_fetch(&race.what, 1, __ATOMIC_RELAXED)

static bool all_happened(void)
{
	return LOOK(out[0]) && LOOK(busy) && LOOK(used);
}

static void rest_until_unloaded(void)
{
	unsigned long was = LOOK(out[0]);
	uint64_t late = t_now() + T_WAIT_NS;

	STORE(rests, true);
	while (LOOK(out[0]) == was && !LOOK(stop) && t_now() < late)
		t_sleep_ns(T_NS / 500);
	STORE(rests, false);
}

static void wait_until_used(void)
{
	unsigned long was = LOOK(used);
	uint64_t late = t_now() + T_WAIT_NS;

	while (LOOK(used) == was && !LOOK(rests) && t_now() < late)
		t_sleep_ns(T_NS / 500);
}

static void *user(void *arg)
{
	while (!LOOK(stop)) {
		if (works())
			t_sleep_ns(T_NS / 1000);
		else if (COUNT(used) % 8 == 0)
			rest_until_unloaded();
	}
	return arg;
}

/* A thread opens and uses the device all the time while the modules are being unloaded. */
TEST_F(module, O8_unload_against_use)
{
	uint64_t end = t_now() + t_short(2, 6) * T_NS, late = 0;
	pthread_t thread;

	memset(&race, 0, sizeof(race));
	ASSERT_EQ(0, pthread_create(&thread, NULL, user, NULL));
	for (int n = 1; t_more(t_now(), end, all_happened(), &late); n++) {
		for (int i = 1; i >= 0; i--) {
			if (t_unload(i))
				COUNT(busy);
			else
				COUNT(out[i]);
		}
		for (int i = 0; i < 2; i++) {
			int err = load(self, i);

			ASSERT_TRUE(err == 0 || err == -EEXIST || err == -EBUSY ||
				    err == -ENOENT) TH_LOG("%s: %d", t_module_names[i], err);
		}
		if (n % 4)
			t_sleep_ns(T_NS / 500);
		else
			wait_until_used();
	}
	STORE(stop, true);
	pthread_join(thread, NULL);
	TH_LOG("%lu and %lu unloaded, %lu in use, %lu uses", race.out[0], race.out[1],
	       race.busy, race.used);
	EXPECT_LT(0, race.out[0]);
	EXPECT_LT(0, race.busy);
	EXPECT_LT(0, race.used);
}

/* Limits that can be reached. */
static int limit(FIXTURE_DATA(module) *self)
{
	self->limited = true;
	return t_reload(&self->m, "max_contexts=2 max_objects=4");
}

static int objects_of_user(void *arg)
{
	int fd[2] = { t_context(), -1 };
	struct gda_cq_create cq, more;

	(void)arg;
	CHECK(!t_drop(true));
	close(fd[0]);
	for (int i = 0; i < 2; i++) {
		fd[i] = t_context();
		CHECK(fd[i] >= 0);
		CHECK(!t_cq_create(fd[i], GDA_CQ_COLLAPSED, 1, &cq));
		CHECK(!t_cq_create(fd[i], GDA_CQ_COLLAPSED, 1, &cq));
	}
	CHECK(t_context() == -ENOSPC);
	CHECK(t_cq_create(fd[0], GDA_CQ_COLLAPSED, 1, &more) == -ENOSPC);
	CHECK(!t_destroy(fd[1], cq.handle));
	CHECK(!t_cq_create(fd[0], GDA_CQ_COLLAPSED, 1, &more));
	CHECK(t_cq_create(fd[1], GDA_CQ_COLLAPSED, 1, &more) == -ENOSPC);
	return 0;
}

/* In all contexts of a user together; root has no limit. */
TEST_F(module, O11_objects_of_a_user)
{
	int fd[6];

	ASSERT_OK(limit(self));
	EXPECT_EQ(0, t_in_child(objects_of_user, NULL));
	for (int i = 0; i < 6; i++) {
		struct gda_cq_create cq;

		fd[i] = t_context();
		ASSERT_GE(fd[i], 0);
		EXPECT_OK(t_cq_create(fd[i], GDA_CQ_COLLAPSED, 1, &cq));
	}
	for (int i = 0; i < 6; i++)
		close(fd[i]);
}

/* Be @uid, bind a context, say how that went, and keep it until the other end is closed. */
static int bind_as(unsigned int uid, int tell, int until)
{
	char c;
	int fd;

	if (setresuid(uid, uid, uid))
		return 1;
	fd = t_context();
	c = (char)(fd < 0 ? -fd : 0);
	if (write(tell, &c, 1) != 1)
		return 2;
	return read(until, &c, 1) != 0;
}

/* An ordinary user in a namespace of its own, where it has other ids as well. */
static int owner(int tell, int mapped)
{
	int told[2], until[2];
	char c = 0;

	CHECK(!t_drop(true));
	/* or /proc/PID/uid_map is root's */
	CHECK(!prctl(PR_SET_DUMPABLE, 1));
	if (unshare(CLONE_NEWUSER))
		return 77;
	CHECK(!pipe(told) && !pipe(until));
	CHECK(write(tell, &c, 1) == 1 && read(mapped, &c, 1) == 1);
	for (unsigned int uid = 1; uid <= 3; uid++) {
		if (!fork()) {
			close(until[1]);
			_exit(bind_as(uid, told[1], until[0]));
		}
		CHECK(read(told[0], &c, 1) == 1);
		CHECK(c == (uid < 3 ? 0 : ENOSPC));
	}
	return 0;
}

static int subordinate(void *arg)
{
	int told[2], go[2];
	char path[64], c = 0;
	pid_t pid;

	(void)arg;
	CHECK(!pipe(told) && !pipe(go));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(owner(told[1], go[0]));
	close(told[1]);
	if (read(told[0], &c, 1) == 1) {
		FILE *map;

		snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
		map = fopen(path, "we");
		CHECK(map && fputs("0 100000 10\n", map) >= 0 && !fclose(map));
		CHECK(write(go[1], &c, 1) == 1);
	}
	return t_reap(pid, T_WAIT_NS);
}

TEST_F(module, O11_subordinate_ids)
{
	int err;

	ASSERT_OK(limit(self));
	err = t_in_child(subordinate, NULL);
	if (err == 77)
		SKIP(return, "no user namespaces for ordinary users");
	EXPECT_EQ(0, err);
}

/* Container of root's: all of its users are users of the host, as far as ids go. */
static int container(int tell, int mapped)
{
	int told[2], until[2];
	char c = 0;

	CHECK(!setresgid(T_GROUP, T_GROUP, T_GROUP) && !prctl(PR_SET_DUMPABLE, 1));
	CHECK(!unshare(CLONE_NEWUSER));
	CHECK(!pipe(told) && !pipe(until));
	CHECK(write(tell, &c, 1) == 1 && read(mapped, &c, 1) == 1);
	for (unsigned int uid = 0; uid <= 2; uid++) {
		if (!fork()) {
			close(until[1]);
			_exit(bind_as(uid, told[1], until[0]));
		}
		CHECK(read(told[0], &c, 1) == 1);
		CHECK(c == (uid < 2 ? 0 : ENOSPC));
	}
	/* they go on until we are gone */
	CHECK(write(tell, &c, 1) == 1 && read(mapped, &c, 1) == 1);
	return 0;
}

static int map_ids(pid_t pid, const char *file)
{
	char path[64];
	FILE *map;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	map = fopen(path, "we");
	if (!map)
		return -errno;
	err = fputs("0 0 10000\n", map) < 0;
	return fclose(map) || err ? -EIO : 0;
}

/* Outside of containers, as root without capabilities, whose limits hold. */
static int root_binds(void *arg)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	(void)arg;
	CHECK(!syscall(SYS_capset, &head, none));
	CHECK(t_context() >= 0);
	CHECK(t_context() >= 0);
	CHECK(t_context() == -ENOSPC);
	return 0;
}

static int containers(void *arg)
{
	int told[2][2], go[2][2];
	pid_t pid[2];
	char c = 0;

	(void)arg;
	/* each has its own total */
	for (int i = 0; i < 2; i++) {
		CHECK(!pipe(told[i]) && !pipe(go[i]));
		pid[i] = fork();
		CHECK(pid[i] >= 0);
		if (!pid[i])
			_exit(container(told[i][1], go[i][0]));
		close(told[i][1]);
		CHECK(read(told[i][0], &c, 1) == 1);
		CHECK(!map_ids(pid[i], "uid_map") && !map_ids(pid[i], "gid_map"));
		CHECK(write(go[i][1], &c, 1) == 1);
		/* or it ended where it found something wrong */
		CHECK(read(told[i][0], &c, 1) == 1);
	}
	CHECK(t_in_child(root_binds, NULL) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(write(go[i][1], &c, 1) == 1);
		CHECK(t_reap(pid[i], T_WAIT_NS) == 0);
	}
	return 0;
}

/* A total for each, and none of it is root's outside. */
TEST_F(module, O14_containers_of_root)
{
	ASSERT_OK(limit(self));
	EXPECT_EQ(0, t_in_child(containers, NULL));
}

TEST_HARNESS_MAIN

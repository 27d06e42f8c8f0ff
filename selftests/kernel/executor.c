// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * An executor in a module of its own, gda_null: its devices are listed, bound with limits of
 * their own, driven, and taken away under traffic (SECURITY.md E4, E10). "null0" completes
 * everything with an error, "null1" has no worker. That invalid devices are refused the module
 * checks itself: it is not loaded otherwise.
 */
#include <dirent.h>
#include <pthread.h>
#include <gda/gda.h>
#include "gda_fixture.h"

#define DRIVER	"/sys/bus/platform/drivers/gda_null"
#define DEPTH	16
#define DEVICES	3

static int unload(void)
{
	return t_module_remove("gda_null");
}

/* Bind the driver or unbind it: the devices come or go. */
static int null_driver(const char *what)
{
	return t_write_file(DRIVER, what, "gda_null");
}

/* Count objects that the module has made and nobody gave back, its devices included. */
static long live(void)
{
	char buf[32] = { 0 };
	int fd = open("/sys/module/gda_null/parameters/live", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	close(fd);
	return n > 0 ? strtol(buf, NULL, 10) : -1;
}

FIXTURE(executor) {
	struct t_objects base;
};

FIXTURE_SETUP(executor)
{
	int err = t_module_insert_built("selftests/kmod", "gda_null");

	if (err == -ENOENT)
		SKIP(return, "no gda_null for this kernel");
	ASSERT_OK(err);
	T_BASE_READ(&self->base);
}

FIXTURE_TEARDOWN(executor)
{
	T_BASE_CHECK(&self->base);
	if (!access(DRIVER "/gda_null", F_OK))
		EXPECT_OK(null_driver("unbind"));
	EXPECT_EQ(0, live());
	EXPECT_OK(unload());
}

/* The next device of the list; 0, and @info is zero: there is none. */
static int next_device(int fd, struct gda_device_info *info)
{
	uint32_t id = info->id;
	int err;

	*info = (struct gda_device_info) { .size = sizeof(*info), .after = id };
	err = t_ioctl(fd, GDA_IOC_DEVICE_INFO, info);
	if (err == -ENOENT)
		memset(info, 0, sizeof(*info));
	return err == -ENOENT ? 0 : err;
}

static bool is_listed(const char *name)
{
	struct gda_device_info info = { 0 };
	bool found = false;
	int fd = t_open();

	while (!next_device(fd, &info) && info.id)
		found |= !strcmp((char *)info.device, name);
	close(fd);
	return found;
}

TEST_F(executor, I_devices_are_listed)
{
	static const char *const names[] = { GDA_DEVICE_SOFT, "null0", "null1", "null2" };
	struct gda_device_info info = { 0 };
	uint32_t id = 0;
	int fd = t_open();

	ASSERT_LE(0, fd);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		ASSERT_OK(next_device(fd, &info));
		EXPECT_STREQ(names[i], (char *)info.device);
		EXPECT_LT(id, info.id);
		id = info.id;
		EXPECT_TRUE(info.features[0] & GDA_FEATURE_DIALECT_MLX5);
		EXPECT_EQ(!i, !!(info.features[0] & GDA_FEATURE_CQ_EVENT));
	}
	ASSERT_OK(next_device(fd, &info));
	EXPECT_EQ(0, info.id);
	/* those that come again have new ids, and do not come first */
	ASSERT_OK(null_driver("unbind"));
	EXPECT_TRUE(is_listed(GDA_DEVICE_SOFT));
	EXPECT_FALSE(is_listed("null0"));
	EXPECT_FALSE(is_listed("null1"));
	ASSERT_OK(null_driver("bind"));
	info.id = id;
	ASSERT_OK(next_device(fd, &info));
	EXPECT_STREQ("null0", (char *)info.device);
	close(fd);
}

TEST_F(executor, I_query_answers_for_the_bound_device)
{
	struct gda_query null = { .size = sizeof(null) }, soft = { .size = sizeof(soft) };
	int fd = t_context_on("null0"), other = t_context();

	ASSERT_LE(0, fd);
	ASSERT_LE(0, other);
	ASSERT_OK(t_ioctl(fd, GDA_IOC_QUERY, &null));
	ASSERT_OK(t_ioctl(other, GDA_IOC_QUERY, &soft));
	EXPECT_STREQ("null0", (char *)null.device);
	EXPECT_STREQ(GDA_DEVICE_SOFT, (char *)soft.device);
	EXPECT_EQ(2, null.max_qp);
	EXPECT_EQ(64, null.max_sq_depth);
	EXPECT_EQ(0, null.max_counter);
	EXPECT_LT(null.max_qp, soft.max_qp);
	EXPECT_FALSE(null.features[0] & (GDA_FEATURE_COUNTER | GDA_FEATURE_EXPORT));
	close(fd);
	close(other);
	EXPECT_EQ(-ENOENT, t_context_on("null3"));
}

/* Limits and features of the device, not of gda_core. */
TEST_F(executor, I_limits_of_the_device)
{
	struct gda_counter_create counter = { .size = sizeof(counter) };
	struct gda_region_export export = { .size = sizeof(export), .type = GDA_REGION_SQ };
	struct gda_cq_event event = { .size = sizeof(event), .eventfd = -1 };
	int fd = t_context_on("null0");
	struct gda_cq_create cq[4];
	struct gda_qp_create qp[3];
	struct t_mr mr[3];

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EOPNOTSUPP, t_cq_create(fd, 0, 16, &cq[0]));
	for (int i = 0; i < 3; i++)
		ASSERT_OK(t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq[i]));
	EXPECT_EQ(-ENOSPC, t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq[3]));
	EXPECT_EQ(-EINVAL, t_qp_create(fd, cq[0].handle, 128, &qp[0]));
	for (int i = 0; i < 2; i++)
		ASSERT_OK(t_qp_create(fd, cq[i].handle, 64, &qp[i]));
	EXPECT_EQ(-ENOSPC, t_qp_create(fd, cq[2].handle, 64, &qp[2]));
	memset(&qp[2], 0, sizeof(qp[2]));
	qp[2] = (struct gda_qp_create) {
		.size = sizeof(qp[2]), .flags = GDA_QP_POLLED, .dialect = GDA_DIALECT_MLX5,
		.cq = cq[2].handle, .sq_depth = 16,
	};
	EXPECT_EQ(-EOPNOTSUPP, t_ioctl(fd, GDA_IOC_QP_CREATE, &qp[2]));
	EXPECT_EQ(-EOPNOTSUPP, t_ioctl(fd, GDA_IOC_COUNTER_CREATE, &counter));
	event.handle = cq[0].handle;
	EXPECT_EQ(-EOPNOTSUPP, t_ioctl(fd, GDA_IOC_CQ_EVENT, &event));
	export.handle = qp[0].handle;
	EXPECT_EQ(-EOPNOTSUPP, t_ioctl(fd, GDA_IOC_REGION_EXPORT, &export));
	EXPECT_EQ(-EINVAL, t_mr_new(fd, 2U << 20, GDA_ACCESS_ALL, &mr[2]));
	for (int i = 0; i < 2; i++)
		ASSERT_OK(t_mr_new(fd, T_PAGE, GDA_ACCESS_ALL, &mr[i]));
	EXPECT_NE(mr[0].key, mr[1].key);
	EXPECT_EQ(-ENOSPC, t_mr_new(fd, T_PAGE, GDA_ACCESS_ALL, &mr[2]));
	/* the devices, the context, two QPs, two MRs */
	EXPECT_EQ(DEVICES + 1 + 2 + 2, live());
	for (int i = 0; i < 2; i++)
		t_mr_free(fd, &mr[i]);
	EXPECT_EQ(DEVICES + 1 + 2, live());
	close(fd);
	EXPECT_EQ(DEVICES, live());
}

static void close_all(struct t_qp *qp)
{
	t_qp_unmap(qp);
	close(qp->fd);
}

/* Did a call return @err, and does its reason contain @text? */
static bool says(int ret, int err, const char *text)
{
	return ret == err && strstr(gda_last_error(), text);
}

TEST_F(executor, I_last_error_names_what_the_device_lacks)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 16, .user_index = 1 };
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = 16 };
	struct gda_device_info list[8] = { { .size = sizeof(list[0]) } };
	struct gda_counter *counter;
	struct gda_context *ctx;
	struct gda_exported exported = { .size = sizeof(exported) };
	struct gda_cq *cq;
	struct gda_qp *qp;

	/* the kernel's in the order in which they came, and the library's */
	ASSERT_EQ(2 + DEVICES, gda_devices(list, 8));
	EXPECT_STREQ(GDA_DEVICE_SOFT, (char *)list[0].device);
	EXPECT_STREQ(GDA_DEVICE_INPROC, (char *)list[1 + DEVICES].device);
	ASSERT_OK(gda_open((char *)list[1].device, &ctx));
	EXPECT_TRUE(says(gda_cq_create(ctx, &ring, &cq), -EOPNOTSUPP, "a ring: the device null0"));
	EXPECT_TRUE(says(gda_qp_create(ctx, &attr, &qp), -EOPNOTSUPP,
			 "user_index: the device null0 does not offer GDA_FEATURE_USER_INDEX"));
	attr.user_index = 0;
	attr.flags = GDA_QP_POLLED;
	EXPECT_TRUE(says(gda_qp_create(ctx, &attr, &qp), -EOPNOTSUPP, "GDA_QP_POLLED: the device"));
	EXPECT_TRUE(says(gda_counter_create(ctx, &counter), -EOPNOTSUPP, "counters: the device"));
	attr.flags = 0;
	ASSERT_OK(gda_qp_create(ctx, &attr, &qp));
	EXPECT_TRUE(says(gda_qp_export(qp, GDA_REGION_SQ, &exported), -EOPNOTSUPP,
			 "the device exports no regions"));
	EXPECT_OK(gda_qp_destroy(qp));
	gda_close(ctx);
}

/* A QP that is connected to itself. */
static int open_connected(struct t_qp *qp, const char *device)
{
	int fd = t_context_on(device);
	int err = fd < 0 ? fd : t_qp_open(qp, fd, DEPTH);

	if (err) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	err = t_connect(qp, qp);
	if (err)
		close_all(qp);
	return err;
}

TEST_F(executor, I_everything_completes_with_an_error)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct gda_qp_address foreign = { .size = sizeof(foreign) };
	struct gda_qp_connect connect = { .size = sizeof(connect) };
	struct t_qp qp, soft;
	struct t_done done;
	uint64_t last = 0;

	ASSERT_OK(open_connected(&qp, "null0"));
	ASSERT_OK(open_connected(&soft, ""));
	/* one device does not take an address of another, and connects once */
	foreign.handle = soft.qpc.handle;
	ASSERT_OK(t_ioctl(soft.fd, GDA_IOC_QP_ADDRESS, &foreign));
	connect.handle = qp.qpc.handle;
	memcpy(connect.address, foreign.address, sizeof(connect.address));
	EXPECT_EQ(-EINVAL, t_ioctl(qp.fd, GDA_IOC_QP_CONNECT, &connect));
	EXPECT_EQ(-EALREADY, t_qp_connect(qp.fd, qp.qpc.handle, qp.fd, qp.qpc.handle));

	for (int i = 0; i < DEPTH; i++)
		last = t_post(&qp, &nop);
	t_ring(&qp);
	EXPECT_EQ(GDA_MLX5_SYND_WR_FLUSH, t_wait(&qp, last, &done));
	EXPECT_EQ(GDA_MLX5_VENDOR_OPCODE, done.first_vendor);
	EXPECT_EQ(0, done.first_error);
	/* the device beside it goes on */
	EXPECT_OK(t_run(&soft, &nop, NULL));
	close_all(&qp);
	close_all(&soft);
}

/* More than its window at once, from memory and to memory that are not adjacent in pages. */
TEST_F(executor, I_an_executor_copies_with_work_in_flight)
{
	struct t_mr src, dst;
	struct t_done done;
	struct t_wr wr;
	struct t_qp qp;
	uint64_t last = 0;

	ASSERT_OK(open_connected(&qp, "null2"));
	ASSERT_OK(t_mr_new(qp.fd, DEPTH * T_PAGE, GDA_ACCESS_ALL, &src));
	ASSERT_OK(t_mr_new(qp.fd, DEPTH * T_PAGE, GDA_ACCESS_ALL, &dst));
	for (size_t i = 0; i < src.len / 8; i++)
		((uint64_t *)src.addr)[i] = i * 0x9e3779b97f4a7c15U;
	for (int round = 0; round < 20; round++) {
		memset(dst.addr, 0, dst.len);
		for (int i = 0; i < DEPTH; i++) {
			/* backwards, and not from the beginning of a page */
			wr = t_wr_write(&src, (DEPTH - 1 - i) * T_PAGE + 100, &dst, i * T_PAGE,
					T_PAGE - 100);
			last = t_post(&qp, &wr);
		}
		t_ring(&qp);
		ASSERT_EQ(0, t_wait(&qp, last, &done));
		for (int i = 0; i < DEPTH; i++)
			EXPECT_EQ(0, memcmp((char *)dst.addr + i * T_PAGE,
					    (char *)src.addr + (DEPTH - 1 - i) * T_PAGE + 100,
					    T_PAGE - 100));
	}
	/* one that is refused in the midst: what is in flight behind it is flushed */
	for (int i = 0; i < DEPTH; i++) {
		wr = t_wr_write(&src, 0, &dst, 0, 8);
		wr.rkey += i == 5 ? 1000 : 0;
		last = t_post(&qp, &wr);
	}
	t_ring(&qp);
	EXPECT_EQ(GDA_MLX5_SYND_WR_FLUSH, t_wait(&qp, last, &done));
	EXPECT_EQ(GDA_MLX5_VENDOR_KEY, done.first_vendor);
	EXPECT_EQ(20 * DEPTH + 5, done.first_error);
	t_mr_free(qp.fd, &src);
	t_mr_free(qp.fd, &dst);
	close_all(&qp);
}

/* Threads of the kernel's that are workers of contexts. */
static int workers(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	int n = 0;

	while (dir && (d = readdir(dir))) {
		char path[300], comm[32] = { 0 };
		int fd;

		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (read(fd, comm, sizeof(comm) - 1) > 0 && !strncmp(comm, "gda/", 4))
			n++;
		close(fd);
	}
	if (dir)
		closedir(dir);
	return n;
}

TEST_F(executor, I_no_visit_no_worker)
{
	struct gda_qp_query query = { .size = sizeof(query) };
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_done done;
	struct t_qp qp;
	int before = workers();

	ASSERT_OK(open_connected(&qp, "null1"));
	EXPECT_EQ(before, workers());
	t_post(&qp, &nop);
	t_ring(&qp);
	t_sleep_ns(T_NS / 20);
	EXPECT_FALSE(t_poll(&qp, 0, &done));
	ASSERT_OK(t_qp_query(qp.fd, qp.qpc.handle, &query));
	EXPECT_EQ(GDA_QP_READY, query.state);
	EXPECT_EQ(0, query.consumer);
	/* taken away, closed: there is nobody to wait for */
	ASSERT_OK(null_driver("unbind"));
	EXPECT_EQ(-ENODEV, t_qp_query(qp.fd, qp.qpc.handle, &query));
	EXPECT_EQ(0, t_touch_write(qp.sq));
	close_all(&qp);
	ASSERT_OK(open_connected(&qp, ""));
	EXPECT_EQ(before + 1, workers());
	close_all(&qp);
}

/* Contexts that are left hold the module and the device, and are told that it has gone. */
TEST_F(executor, E4_removed_and_held)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct gda_cq_create cq;
	struct t_done done;
	struct t_qp qp;
	struct t_mr mr;

	ASSERT_OK(open_connected(&qp, "null0"));
	ASSERT_OK(t_mr_new(qp.fd, T_PAGE, GDA_ACCESS_ALL, &mr));
	EXPECT_NE(0, unload());
	ASSERT_OK(null_driver("unbind"));
	EXPECT_NE(0, unload());
	EXPECT_EQ(-ENODEV, t_cq_create(qp.fd, GDA_CQ_COLLAPSED, 1, &cq));
	EXPECT_EQ(-ENODEV, t_destroy(qp.fd, mr.handle));
	EXPECT_EQ(-ENOENT, t_context_on("null0"));
	t_post(&qp, &nop);
	t_ring(&qp);
	t_wait(&qp, 0, &done);
	EXPECT_TRUE(done.error);
	EXPECT_EQ(GDA_MLX5_VENDOR_DEVICE, done.first_vendor);
	/* a device of that name is another one */
	ASSERT_OK(null_driver("bind"));
	EXPECT_EQ(-ENODEV, t_cq_create(qp.fd, GDA_CQ_COLLAPSED, 1, &cq));
	/* one device is left of the first ones, with context, QP and MR */
	EXPECT_EQ(DEVICES + 1 + 3, live());
	munmap(mr.addr, mr.len);
	close_all(&qp);
	EXPECT_EQ(DEVICES, live());
}

static bool stop;

struct user {
	const char *device;
	unsigned long works, gone, other;
	int last;
};

/* Bind, create, connect, register, post, and wait for the outcome. */
static int use_once(const char *device)
{
	struct t_wr wr;
	struct t_qp qp;
	struct t_mr mr;
	int err = open_connected(&qp, device);

	if (err)
		return err;
	err = t_mr_new(qp.fd, T_PAGE, GDA_ACCESS_ALL, &mr);
	if (!err) {
		wr = t_wr_write(&mr, 0, &mr, 8, 8);
		err = t_run(&qp, &wr, NULL);
		t_mr_free(qp.fd, &mr);
	}
	close_all(&qp);
	return err;
}

static void *use(void *arg)
{
	struct user *u = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		int err = use_once(u->device);

		if (err >= 0)
			__atomic_add_fetch(&u->works, 1, __ATOMIC_RELAXED);
		else if (err == -ENODEV || err == -ENOENT)
			u->gone++;
		else
			u->other++, u->last = err;
	}
	return NULL;
}

static bool worked(const struct user *u)
{
	return __atomic_load_n(&u[0].works, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&u[1].works, __ATOMIC_RELAXED);
}

TEST_F_TIMEOUT(executor, E10_removed_under_traffic, 300)
{
	uint64_t end = t_now() + t_longer(5) * T_NS, late = 0;
	struct user u[2] = { { .device = "null0" }, { .device = "null2" } };
	unsigned long n = 0;
	pthread_t thread[2];

	stop = false;
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, use, &u[i]));
	for (; t_more(t_now(), end, worked(u), &late); n++) {
		ASSERT_OK(null_driver("unbind"));
		t_sleep_ns(T_NS / 1000);
		ASSERT_OK(null_driver("bind"));
		t_sleep_ns(T_NS / 25);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, u[i].other) TH_LOG("last %d", u[i].last);
	}
	TH_LOG("%lu removals, %lu uses, %lu ended by it", n, u[0].works + u[1].works,
	       u[0].gone + u[1].gone);
	EXPECT_LT(0, u[0].works);
	EXPECT_LT(0, u[1].works);
	EXPECT_EQ(DEVICES, live());
}

TEST_HARNESS_MAIN

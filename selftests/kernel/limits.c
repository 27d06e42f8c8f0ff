// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Permissions and limits: SECURITY.md P1 (mode and group of the node, no capability
 * needed), K8 (RLIMIT_MEMLOCK to the page), and the limits
 * that GDA_IOC_QUERY names.
 */
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "gda_fixture.h"

T_FIXTURE(limits);

TEST_F(limits, P1_node)
{
	struct stat st;

	ASSERT_EQ(0, stat("/dev/gda", &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(0660, st.st_mode & 07777);
	EXPECT_EQ(0, st.st_uid);
	EXPECT_EQ(T_GROUP, st.st_gid);
}

static int opens(void *arg)
{
	bool *in_group = arg;
	int err = t_drop(*in_group);

	if (err)
		return 100;
	err = open("/dev/gda", O_RDWR | O_CLOEXEC);
	if (err < 0)
		err = open("/dev/gda", O_RDONLY | O_CLOEXEC);
	return err < 0 ? errno : 0;
}

TEST_F(limits, P1_open_needs_the_group)
{
	bool in_group = false;

	EXPECT_EQ(EACCES, t_in_child(opens, &in_group));
	in_group = true;
	EXPECT_EQ(0, t_in_child(opens, &in_group));
}

/* Everything works for user nobody in group gda. */
static int works(void *arg)
{
	struct t_end end[2];
	struct t_wr wr;

	(void)arg;
	if (t_drop(true))
		return 1;
	if (t_pair_open(end, 64, 4 * T_PAGE))
		return 2;
	for (int i = 0; i < 4; i++) {
		static const uint8_t opcodes[] = {
			GDA_MLX5_WRITE, GDA_MLX5_READ, GDA_MLX5_ATOMIC_FA, GDA_MLX5_ATOMIC_CS,
		};

		wr = t_wr_atomic(opcodes[i], &end[0].mr, 8, &end[1].mr, 16, 1, 0);
		if (t_run(&end[0].qp, &wr, NULL))
			return 3 + i;
	}
	t_qp_close(&end[0].qp);
	if (t_shutdown(end[1].fd))
		return 8;
	t_pair_close(end);
	return 0;
}

TEST_F(limits, P1_works_without_capabilities)
{
	EXPECT_EQ(0, t_in_child(works, NULL));
}

static int memlock(uint64_t bytes)
{
	struct rlimit rl = { .rlim_cur = bytes, .rlim_max = bytes };

	return setrlimit(RLIMIT_MEMLOCK, &rl) ? -errno : 0;
}

static long vmpin(void)
{
	return t_proc_value("/proc/self/status", "VmPin");
}

#define PAGES	8

/* As user nobody with a limit of PAGES pages; returns the line that failed. */
T_CHILD_TEST(limits, K8_memlock_to_the_page)
{
	uint8_t *p = t_pages(4 * PAGES * T_PAGE);
	struct t_mr mr[3];
	int fd;

	CHECK(p && !memlock(PAGES * T_PAGE) && !t_drop(true));
	fd = t_context();
	CHECK(fd >= 0 && vmpin() == 0);
	/* one less, exactly, one more */
	CHECK(!t_mr_reg(fd, p, (PAGES - 1) * T_PAGE, GDA_ACCESS_ALL, &mr[0]));
	CHECK(vmpin() == (PAGES - 1) * 4);
	CHECK(!t_destroy(fd, mr[0].handle) && vmpin() == 0);
	CHECK(!t_mr_reg(fd, p, PAGES * T_PAGE, GDA_ACCESS_ALL, &mr[0]));
	CHECK(vmpin() == PAGES * 4);
	CHECK(t_mr_reg(fd, p, 1, GDA_ACCESS_ALL, &mr[1]) == -ENOMEM);
	CHECK(vmpin() == PAGES * 4);
	CHECK(!t_destroy(fd, mr[0].handle) && vmpin() == 0);
	CHECK(t_mr_reg(fd, p, (PAGES + 1) * T_PAGE, GDA_ACCESS_ALL, &mr[0]) == -ENOMEM);
	CHECK(t_mr_reg(fd, p, PAGES * T_PAGE + 1, GDA_ACCESS_ALL, &mr[0]) == -ENOMEM);
	/* bytes at either side of a border are two pages */
	CHECK(t_mr_reg(fd, p + 1, PAGES * T_PAGE, GDA_ACCESS_ALL, &mr[0]) == -ENOMEM);
	CHECK(!t_mr_reg(fd, p + T_PAGE - 1, 2, GDA_ACCESS_ALL, &mr[0]));
	CHECK(vmpin() == 8);
	CHECK(!t_destroy(fd, mr[0].handle) && vmpin() == 0);
	/* the same pages twice count twice, and room comes back piece by piece */
	CHECK(!t_mr_reg(fd, p, PAGES / 2 * T_PAGE, GDA_ACCESS_ALL, &mr[0]));
	CHECK(!t_mr_reg(fd, p, PAGES / 2 * T_PAGE, GDA_ACCESS_ALL, &mr[1]));
	CHECK(t_mr_reg(fd, p, 1, GDA_ACCESS_ALL, &mr[2]) == -ENOMEM);
	CHECK(!t_destroy(fd, mr[1].handle));
	CHECK(!t_mr_reg(fd, p, 1, GDA_ACCESS_ALL, &mr[2]));
	/* a failed registration charges nothing */
	for (int i = 0; i < 100; i++) {
		CHECK(t_mr_reg(fd, (void *)16, T_PAGE, GDA_ACCESS_ALL, &mr[1]) == -EFAULT);
		CHECK(t_mr_reg(fd, p, PAGES * T_PAGE, GDA_ACCESS_ALL, &mr[1]) == -ENOMEM);
	}
	CHECK(vmpin() == (PAGES / 2 + 1) * 4);
	/* closing gives all of it back */
	close(fd);
	CHECK(vmpin() == 0);
	fd = t_context();
	CHECK(!t_mr_reg(fd, p, PAGES * T_PAGE, GDA_ACCESS_ALL, &mr[0]));
	CHECK(!t_shutdown(fd) && vmpin() == 0);
	close(fd);
	return 0;
}

/* The limit is the user's: children do not multiply it. */
T_CHILD_TEST(limits, K8_memlock_is_the_users)
{
	uint8_t *p = t_pages(PAGES * T_PAGE);
	struct t_mr mr;
	int fd, got = 0;

	CHECK(p && !memlock(PAGES * T_PAGE) && !t_drop(true));
	fd = t_context();
	CHECK(fd >= 0 && !t_mr_reg(fd, p, (PAGES - 2) * T_PAGE, GDA_ACCESS_ALL, &mr));
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			int own = t_context();

			_exit(own < 0 ? 99 :
			      t_mr_reg(own, p, 3 * T_PAGE, GDA_ACCESS_ALL, &mr) != -ENOMEM);
		}
		got += t_reap(pid, T_WAIT_NS);
	}
	CHECK(got == 0);
	close(fd);
	return 0;
}

/* Charged as one user, given back as another: to the one that was charged. */
T_CHILD_TEST(limits, K8_setuid_between)
{
	uint8_t *p = t_pages(PAGES * T_PAGE);
	struct t_mr mr, again;
	int fd;

	CHECK(p && !memlock(PAGES * T_PAGE));
	/* The saved id stays root's, to come back. */
	CHECK(!setresuid(T_NOBODY, T_NOBODY, 0));
	CHECK(!setresuid(-1, 0, -1));
	fd = t_context();
	CHECK(fd >= 0);
	CHECK(!setresuid(-1, T_NOBODY, -1));
	CHECK(!t_mr_reg(fd, p, PAGES * T_PAGE, GDA_ACCESS_ALL, &mr));
	CHECK(t_mr_reg(fd, p, 1, GDA_ACCESS_ALL, &again) == -ENOMEM);
	/* root destroys it: user nobody has room again, root's account is not touched */
	CHECK(!setresuid(0, 0, 0));
	CHECK(!t_destroy(fd, mr.handle));
	CHECK(!setresuid(T_NOBODY, T_NOBODY, 0));
	CHECK(!t_mr_reg(fd, p, PAGES * T_PAGE, GDA_ACCESS_ALL, &mr));
	CHECK(!t_destroy(fd, mr.handle));
	close(fd);
	return 0;
}

/* Registers all there is room for, then becomes cat, which ends when its input does. */
static int register_and_exec(uint8_t *p, int input, int told)
{
	int fd = t_context();
	struct t_mr mr;

	if (fd < 0 || t_mr_reg(fd, p, PAGES * T_PAGE, GDA_ACCESS_ALL, &mr))
		return 100;
	if (fcntl(fd, F_SETFD, 0) || fcntl(told, F_SETFD, FD_CLOEXEC) || dup2(input, 0))
		return 101;
	execl("/bin/cat", "cat", NULL);
	return 102;
}

/* Registered before exec, so of an mm that has gone: charged until the file is closed. */
T_CHILD_TEST(limits, K8_exec)
{
	uint8_t *p = t_pages(PAGES * T_PAGE);
	int input[2], told[2], fd;
	struct t_mr mr;
	pid_t pid;
	char c;

	CHECK(p && !memlock(PAGES * T_PAGE) && !t_drop(true));
	fd = t_context();
	CHECK(fd >= 0 && !pipe(input) && !pipe(told));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(input[1]);
		_exit(register_and_exec(p, input[0], told[1]));
	}
	close(told[1]);
	CHECK(read(told[0], &c, 1) == 0);
	CHECK(t_mr_reg(fd, p, 1, GDA_ACCESS_ALL, &mr) == -ENOMEM);
	close(input[1]);
	CHECK(t_reap(pid, T_WAIT_NS) == 0);
	CHECK(!t_mr_reg(fd, p, PAGES * T_PAGE, GDA_ACCESS_ALL, &mr));
	close(fd);
	return 0;
}

/* All capabilities in a user namespace of one's own are none outside. */
static int limit_userns(void *arg)
{
	uint8_t *p = t_pages(2 * PAGES * T_PAGE);
	struct t_mr mr;
	int fd;

	(void)arg;
	CHECK(p && !memlock(PAGES * T_PAGE) && !t_drop(true));
	if (unshare(CLONE_NEWUSER))
		return 77;
	fd = t_context();
	CHECK(fd >= 0);
	CHECK(t_mr_reg(fd, p, (PAGES + 1) * T_PAGE, GDA_ACCESS_ALL, &mr) == -ENOMEM);
	CHECK(!t_mr_reg(fd, p, PAGES * T_PAGE, GDA_ACCESS_ALL, &mr));
	CHECK(t_mr_reg(fd, p, 1, GDA_ACCESS_ALL, &mr) == -ENOMEM);
	close(fd);
	return 0;
}

TEST_F(limits, K8_P1_user_namespace)
{
	int err = t_in_child(limit_userns, NULL);

	if (err == 77)
		SKIP(return, "no user namespaces for ordinary users");
	EXPECT_EQ(0, err);
}

static int opens_in_userns(void *arg)
{
	(void)arg;
	if (t_drop(false))
		return 100;
	if (unshare(CLONE_NEWUSER))
		return 77;
	return open("/dev/gda", O_RDWR | O_CLOEXEC) < 0 ? errno : 0;
}

TEST_F(limits, P1_user_namespace_opens_nothing)
{
	int err = t_in_child(opens_in_userns, NULL);

	if (err == 77)
		SKIP(return, "no user namespaces for ordinary users");
	EXPECT_EQ(EACCES, err);
}

/* CAP_IPC_LOCK is above the limit, as everywhere; VmPin counts all the same. */
T_CHILD_TEST(limits, K8_root)
{
	uint8_t *p = t_pages(2 * PAGES * T_PAGE);
	struct t_mr mr;
	int fd = t_context();

	CHECK(p && fd >= 0 && !memlock(PAGES * T_PAGE));
	CHECK(!t_mr_reg(fd, p, 2 * PAGES * T_PAGE, GDA_ACCESS_ALL, &mr));
	CHECK(vmpin() == 2 * PAGES * 4);
	CHECK(!t_destroy(fd, mr.handle) && vmpin() == 0);
	close(fd);
	return 0;
}

/* As many as QUERY says, then ENOSPC; one less, and there is room again. */
TEST_F(limits, O11_cqs_and_qps)
{
	struct gda_query query = { .size = sizeof(query) };
	int fd = t_context();
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	uint32_t *cqs, *qps, n;

	ASSERT_GE(fd, 0);
	ASSERT_OK(t_ioctl(fd, GDA_IOC_QUERY, &query));
	cqs = calloc(query.max_cq + 1, sizeof(*cqs));
	qps = calloc(query.max_qp + 1, sizeof(*qps));
	ASSERT_TRUE(cqs && qps);
	for (n = 0; n < query.max_cq; n++) {
		ASSERT_OK(t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq)) TH_LOG("CQ %u", n);
		cqs[n] = cq.handle;
	}
	EXPECT_EQ(-ENOSPC, t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq));
	for (n = 0; n < query.max_qp; n++) {
		ASSERT_OK(t_qp_create(fd, cqs[n], 16, &qp)) TH_LOG("QP %u", n);
		qps[n] = qp.handle;
	}
	EXPECT_NE(0, t_qp_create(fd, cqs[0], 16, &qp));
	EXPECT_OK(t_destroy(fd, qps[7]));
	EXPECT_OK(t_qp_create(fd, cqs[7], 16, &qp));
	free(cqs);
	free(qps);
	close(fd);
}

TEST_F_TIMEOUT(limits, O11_mrs, 300)
{
	struct gda_query query = { .size = sizeof(query) };
	uint8_t *p = t_pages(T_PAGE);
	int fd = t_context();
	struct t_mr mr, first;

	ASSERT_GE(fd, 0);
	ASSERT_OK(t_ioctl(fd, GDA_IOC_QUERY, &query));
	if (t_stress(10) < 10)
		SKIP(close(fd); return, "%u registrations take long here", query.max_mr);
	ASSERT_OK(t_mr_reg(fd, p, 1, 0, &first));
	for (uint32_t n = 1; n < query.max_mr; n++) {
		ASSERT_OK(t_mr_reg(fd, p, 1, 0, &mr)) TH_LOG("MR %u", n);
	}
	EXPECT_EQ(-ENOSPC, t_mr_reg(fd, p, 1, 0, &mr));
	EXPECT_OK(t_destroy(fd, first.handle));
	EXPECT_OK(t_mr_reg(fd, p, 1, 0, &mr));
	close(fd);
}

TEST_HARNESS_MAIN

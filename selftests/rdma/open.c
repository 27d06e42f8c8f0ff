// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Contexts of gda0 that are refused, and processes that are killed while they open one: nothing of
 * them stays. rdma.mk runs it in the guest.
 */
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "rc.h"

#define PROCESSES	300

/* UVERBS_METHOD_GET_CONTEXT of a library that asks for what there is not. Return: its errno. */
static int refused(void)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = { .max_cqe_version = 1, .flags = ~0U };
	struct mlx5_ib_alloc_ucontext_resp resp;
	uint32_t vectors;
	uint64_t support;
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[4];
	} cmd = {
		.hdr = {
			.length = sizeof(cmd),
			.object_id = UVERBS_OBJECT_DEVICE,
			.method_id = UVERBS_METHOD_GET_CONTEXT,
			.num_attrs = 4,
			.driver_id = RDMA_DRIVER_MLX5,
		},
		.attrs = {
			{ UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, sizeof(vectors),
			  UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)&vectors },
			{ UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, sizeof(support),
			  UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)&support },
			{ UVERBS_ATTR_UHW_IN, sizeof(req), UVERBS_ATTR_F_MANDATORY,
			  .data = (uintptr_t)&req },
			{ UVERBS_ATTR_UHW_OUT, sizeof(resp), UVERBS_ATTR_F_MANDATORY,
			  .data = (uintptr_t)&resp },
		},
	};
	int fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
	int ret = fd < 0 || !ioctl(fd, RDMA_VERBS_IOCTL, &cmd) ? 0 : errno;

	close(fd);
	return ret;
}

/* Structures of tasks that the kernel has, also of those that have ended. */
static long tasks(void)
{
	FILE *f = fopen("/proc/slabinfo", "r");
	char line[512];
	long n = -1;

	while (f && n < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "task_struct %ld", &n) != 1)
			n = -1;
	if (f)
		fclose(f);
	return n;
}

/* The kernel frees a task some time after it was waited for. */
static long tasks_above(long before)
{
	for (int i = 0; i < 100 && tasks() - before > PROCESSES / 2; i++)
		usleep(50000);
	return tasks() - before;
}

TEST(X8_a_context_that_is_refused_keeps_no_task)
{
	long before = tasks();
	int status;

	if (before < 0)
		SKIP(return, "no task_struct in /proc/slabinfo");
	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(refused() == EOPNOTSUPP ? 0 : 1);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
	}
	EXPECT_LE(tasks_above(before), PROCESSES / 2);
}

static void opens_main(void)
{
	struct ibv_context *verbs;

	while ((verbs = rc_device()))
		ibv_close_device(verbs);
	_exit(1);
}

/* The thread of a context is created meanwhile, or the context is refused for that. */
TEST(X7_killed_while_a_context_is_opened)
{
	struct rc rc;
	int status;

	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (!pid)
			opens_main();
		usleep(1000 + (useconds_t)i * 500);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
	}
	ASSERT_EQ(0, rc_open(&rc));
	EXPECT_EQ(0, rc_close(&rc));
}

TEST_HARNESS_MAIN

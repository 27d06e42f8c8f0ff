// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Contexts of gda0: those that are refused, and processes that are killed while they open one, leave
 * nothing, nor do those of processes that are killed later; those that are idle take no time. rdma.mk
 * runs it in the guest. GDA_STRESS=34 is 1000 kills.
 */
#include <dirent.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "rc.h"

#define PROCESSES	300

/* UVERBS_METHOD_GET_CONTEXT of a library that asks for what there is not. Return: its errno. */
static int refused(const char *path)
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
	int fd = open(path, O_RDWR | O_CLOEXEC);
	int ret = fd < 0 || !ioctl(fd, RDMA_VERBS_IOCTL, &cmd) ? 0 : errno;
	close(fd);
	return ret;
}

/* The file of gda0. */
static void find(char path[64])
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	*path = '\0';
	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "gda0"))
			snprintf(path, 64, "/dev/infiniband/%.40s", list[i]->dev_name);
	if (list)
		ibv_free_device_list(list);
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
	char path[64];
	int status;

	if (before < 0)
		SKIP(return, "no task_struct in /proc/slabinfo");
	find(path);
	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(refused(path) == EOPNOTSUPP ? 0 : 1);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
	}
	/* that of KASAN keeps what was freed, and has a leak detector */
	if (!getenv("GDA_KERNEL_IS"))
		EXPECT_LE(tasks_above(before), PROCESSES / 2);
}

/* Of what is repeated by $GDA_STRESS, with a limit of time of its own. */
FIXTURE(killed)
{
	int status;
};

FIXTURE_SETUP(killed)
{
	self->status = 0;
}

FIXTURE_TEARDOWN(killed)
{
	EXPECT_TRUE(WIFSIGNALED(self->status));
}

static void opens_main(void)
{
	struct ibv_context *verbs;

	while ((verbs = rc_device()))
		ibv_close_device(verbs);
	_exit(1);
}

/* The thread of a context is created meanwhile, or the context is refused for that. */
TEST_F_TIMEOUT(killed, X7_killed_while_a_context_is_opened, 3600)
{
	int n = (int)rc_stressed(100);
	struct rc rc;

	for (int i = 0; i < n; i++) {
		self->status = rc_killed(opens_main, 1000 + (useconds_t)i % 100 * 500 + (useconds_t)i);
		ASSERT_EQ(SIGKILL, self->status);
	}
	ASSERT_EQ(0, rc_open(&rc));
	EXPECT_EQ(0, rc_close(&rc));
}

/* Two QPs that write to each other until they are killed. */
static void killed_main(void)
{
	struct rc rc;
	struct ibv_qp *q[2];
	struct ibv_wc wc[8];

	if (rc_open(&rc))
		_exit(2);
	q[0] = rc_qp(&rc);
	q[1] = rc_qp(&rc);
	if (!q[0] || !q[1] || rc_connect(q[0], q[1]->qp_num) || rc_connect(q[1], q[0]->qp_num))
		_exit(3);
	for (uint32_t i = 0;; i++) {
		struct rc_post p = { .op = IBV_WR_RDMA_WRITE, .bytes = 32768,
				     .to = (uintptr_t)rc.memory + RC_BYTES / 2,
				     .key = rc.mr->rkey };

		rc_post(&rc, q[i % 2], &p);
		ibv_poll_cq(rc.cq, 8, wc);
	}
}

TEST_F_TIMEOUT(killed, X7_kill_at_any_moment, 3600)
{
	int n = (int)rc_stressed(30);

	for (int i = 0; i < n; i++) {
		self->status = rc_killed(killed_main, 20000 + (useconds_t)i % 30 * 3000 + (useconds_t)i);
		ASSERT_EQ(SIGKILL, self->status);
	}
}

/* How often the threads of contexts have gone to sleep; of @n threads, @awake run or want to. */
static long sleeps(int *n, int *awake)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	char path[64], line[128];
	long sum = 0, value;

	*n = 0;
	*awake = 0;
	while (dir && (entry = readdir(dir))) {
		bool worker = false;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%.20s/status", entry->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f)) {
			if (!strncmp(line, "Name:\tgda/", 10))
				worker = true;
			*awake += worker && !strncmp(line, "State:\tR", 8);
			if (worker && sscanf(line, "voluntary_ctxt_switches: %ld", &value) == 1) {
				sum += value;
				++*n;
			}
		}
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return sum;
}

/* Each has sent, and rests. */
TEST(X9_contexts_that_are_idle_take_no_time)
{
	struct rc rc[16];
	struct ibv_qp *qp[16];
	int n, awake = 1;
	long before = 0;

	for (int i = 0; i < 16; i++) {
		struct rc_post put = { .op = IBV_WR_RDMA_WRITE, .bytes = 64, .from = 0 };

		ASSERT_EQ(0, rc_open(&rc[i]));
		qp[i] = rc_qp(&rc[i]);
		ASSERT_NE(NULL, qp[i]);
		ASSERT_EQ(0, rc_connect(qp[i], qp[i]->qp_num));
		put.to = (uintptr_t)rc[i].memory + 4096;
		put.key = rc[i].mr->rkey;
		for (int k = 0; k < 50; k++)
			ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&rc[i], qp[i], &put));
	}
	/* a worker looks for some time whether more comes */
	for (int i = 0; i < 200 && awake; i++) {
		usleep(50000);
		before = sleeps(&n, &awake);
	}
	EXPECT_EQ(0, awake);
	EXPECT_LE(16, n);
	usleep(1500000);
	EXPECT_EQ(before, sleeps(&n, &awake));
	for (int i = 0; i < 16; i++) {
		EXPECT_EQ(0, ibv_destroy_qp(qp[i]));
		EXPECT_EQ(0, rc_close(&rc[i]));
	}
}

TEST_HARNESS_MAIN

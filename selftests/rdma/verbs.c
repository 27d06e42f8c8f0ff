// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * gda0, the RDMA device of gda_rdma, by libibverbs and libmlx5 as they are: what works, and who
 * reaches what. rdma.sh runs it in the guest.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gda/ioctl.h>

#include "kselftest_harness.h"
#include "rc.h"

FIXTURE(rc)
{
	struct rc a, b;
	struct ibv_qp *qa, *qb;
	struct rc_post put;
};

FIXTURE_SETUP(rc)
{
	ASSERT_EQ(0, rc_open(&self->a));
	ASSERT_EQ(0, rc_open(&self->b));
	self->qa = rc_qp(&self->a);
	self->qb = rc_qp(&self->b);
	ASSERT_NE(NULL, self->qa);
	ASSERT_NE(NULL, self->qb);
	self->put = (struct rc_post) {
		.op = IBV_WR_RDMA_WRITE,
		.bytes = 64,
		.to = (uintptr_t)self->b.memory,
		.key = self->b.mr->rkey,
	};
}

FIXTURE_TEARDOWN(rc)
{
	if (self->qa)
		EXPECT_EQ(0, ibv_destroy_qp(self->qa));
	if (self->qb)
		EXPECT_EQ(0, ibv_destroy_qp(self->qb));
	EXPECT_EQ(0, rc_close(&self->a));
	EXPECT_EQ(0, rc_close(&self->b));
}

static void fill(uint8_t *p, uint32_t n, uint32_t seed)
{
	for (uint32_t i = 0; i < n; i++)
		p[i] = (uint8_t)((i * 2654435761U + seed) >> 13);
}

TEST_F(rc, write_read_and_atomics_move_what_they_say)
{
	static const uint32_t sizes[] = { 1, 7, 8, 64, 4096, 4097, 65536, RC_BYTES };
	struct rc_post p = self->put;
	uint64_t *word = (uint64_t *)self->b.memory, *result = (uint64_t *)self->a.memory;

	ASSERT_EQ(0, rc_connect(self->qa, self->qb->qp_num));
	ASSERT_EQ(0, rc_connect(self->qb, self->qa->qp_num));
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		p.bytes = sizes[i];
		p.op = IBV_WR_RDMA_WRITE;
		fill(self->a.memory, sizes[i], i);
		ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &p));
		ASSERT_EQ(0, memcmp(self->a.memory, self->b.memory, sizes[i]));
		fill(self->b.memory, sizes[i], i + 100);
		p.op = IBV_WR_RDMA_READ;
		ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &p));
		ASSERT_EQ(0, memcmp(self->a.memory, self->b.memory, sizes[i]));
	}
	*word = 40;
	p = (struct rc_post) { .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .bytes = 8, .to = p.to,
			       .key = p.key, .add = 2 };
	ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &p));
	EXPECT_EQ(40, *result);
	EXPECT_EQ(42, *word);
	p.op = IBV_WR_ATOMIC_CMP_AND_SWP;
	p.add = 42;
	p.swap = 7;
	ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &p));
	EXPECT_EQ(42, *result);
	EXPECT_EQ(7, *word);
}

TEST_F(rc, a_hundred_thousand_posts_on_one_queue)
{
	const uint32_t total = 100000;
	uint32_t posted = 0, done = 0;
	struct rc_post p = self->put;
	struct ibv_wc wc[16];

	ASSERT_EQ(0, rc_connect(self->qa, self->qb->qp_num));
	ASSERT_EQ(0, rc_connect(self->qb, self->qa->qp_num));
	p.bytes = 8;
	while (done < total) {
		int n;

		for (; posted < total && posted - done < 64; posted++) {
			p.from = posted % 64 * 8;
			p.to = (uintptr_t)self->b.memory + posted % 4096 * 8;
			*(uint64_t *)(self->a.memory + p.from) = posted;
			ASSERT_EQ(0, rc_post(&self->a, self->qa, &p));
		}
		n = ibv_poll_cq(self->a.cq, 16, wc);
		ASSERT_LE(0, n);
		for (int i = 0; i < n; i++)
			ASSERT_EQ(IBV_WC_SUCCESS, wc[i].status);
		done += (uint32_t)n;
	}
	for (uint32_t i = total - 4096; i < total; i++)
		ASSERT_EQ(i, ((uint64_t *)self->b.memory)[i % 4096]);
}

/* A filter that kills: what is left needs no system call but exit. */
static void forbid_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { .len = 4, .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(9);
}

/* Post and poll 1000 times with no system call; with @calls make one. */
static void post_under_filter(bool calls)
{
	struct rc rc;
	struct ibv_qp *qp;
	struct rc_post p;
	struct ibv_wc wc;

	if (rc_open(&rc))
		_exit(2);
	qp = rc_qp(&rc);
	if (!qp || rc_connect(qp, qp->qp_num))
		_exit(3);
	p = (struct rc_post) { .op = IBV_WR_RDMA_WRITE, .bytes = 64,
			       .to = (uintptr_t)rc.memory + 4096, .key = rc.mr->rkey };
	forbid_calls();
	for (int i = 0; i < 1000; i++) {
		if (rc_post(&rc, qp, &p))
			syscall(SYS_exit_group, 4);
		while (ibv_poll_cq(rc.cq, 1, &wc) == 0)
			;
		if (wc.status)
			syscall(SYS_exit_group, 5);
	}
	if (calls)
		syscall(SYS_getppid);
	syscall(SYS_exit_group, 0);
}

TEST(X1_posting_makes_no_system_call)
{
	int status;

	for (int calls = 0; calls < 2; calls++) {
		pid_t pid = fork();

		if (!pid)
			post_under_filter(calls);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(calls ? SIGSYS : 0, status & 0x7f);
		EXPECT_TRUE(calls || !status);
	}
}

TEST_F(rc, X1_numbers_and_keys_are_no_sequence)
{
	struct ibv_qp *qp[16];
	struct ibv_mr *mr[16];
	int near = 0;

	for (int i = 0; i < 16; i++) {
		qp[i] = rc_qp(&self->a);
		mr[i] = ibv_reg_mr(self->a.pd, self->a.memory, 4096, RC_ACCESS);
		ASSERT_NE(NULL, qp[i]);
		ASSERT_NE(NULL, mr[i]);
		if (i)
			near += labs((long)qp[i]->qp_num - (long)qp[i - 1]->qp_num) < 256;
		if (i)
			near += labs((long)(mr[i]->rkey >> 8) - (long)(mr[i - 1]->rkey >> 8)) < 256;
	}
	/* of 30 pairs, each is near by chance once in 32768 */
	EXPECT_GE(1, near);
	for (int i = 0; i < 16; i++) {
		EXPECT_EQ(0, ibv_destroy_qp(qp[i]));
		EXPECT_EQ(0, ibv_dereg_mr(mr[i]));
	}
}

TEST_F(rc, X1_a_wrong_key_costs_the_queue_and_moves_nothing)
{
	struct rc_post p = self->put;

	ASSERT_EQ(0, rc_connect(self->qa, self->qb->qp_num));
	ASSERT_EQ(0, rc_connect(self->qb, self->qa->qp_num));
	fill(self->a.memory, 64, 3);
	p.key ^= 1;
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, rc_do(&self->a, self->qa, &p));
	EXPECT_EQ(IBV_QPS_ERR, rc_state(self->qa));
	p.key ^= 1;
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, rc_do(&self->a, self->qa, &p));
	for (int i = 0; i < 64; i++)
		ASSERT_EQ(0, self->b.memory[i]);
}

TEST_F(rc, X1_a_key_of_another_domain_does_not_exist)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->b.verbs);
	struct ibv_mr *mr = ibv_reg_mr(pd, self->b.memory, 4096, RC_ACCESS);
	struct rc_post p = self->put;

	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, rc_connect(self->qa, self->qb->qp_num));
	ASSERT_EQ(0, rc_connect(self->qb, self->qa->qp_num));
	p.key = mr->rkey;
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, rc_do(&self->a, self->qa, &p));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

TEST_F(rc, X1_what_a_queue_does_not_grant_is_refused)
{
	static const enum ibv_wr_opcode op[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						 IBV_WR_ATOMIC_FETCH_AND_ADD };
	static const int right[] = { IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ,
				     IBV_ACCESS_REMOTE_ATOMIC };
	struct rc_post p = self->put;

	for (int i = 0; i < 9; i++) {
		struct ibv_qp_attr attr = { .qp_access_flags = RC_ACCESS & ~right[i / 3] };

		ASSERT_EQ(0, rc_connect(self->qa, self->qb->qp_num));
		ASSERT_EQ(0, rc_connect(self->qb, self->qa->qp_num));
		ASSERT_EQ(0, ibv_modify_qp(self->qb, &attr, IBV_QP_ACCESS_FLAGS));
		p.op = op[i % 3];
		p.bytes = 8;
		EXPECT_EQ(i / 3 == i % 3 ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS,
			  rc_do(&self->a, self->qa, &p));
		ASSERT_EQ(0, rc_to(self->qa, IBV_QPS_RESET));
		ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_RESET));
	}
}

TEST_F(rc, X1_a_peer_that_names_another_does_not_respond)
{
	struct ibv_qp *other = rc_qp(&self->b);

	ASSERT_EQ(0, rc_connect(self->qb, other->qp_num));
	ASSERT_EQ(0, rc_init(self->qa));
	ASSERT_EQ(0, rc_rtr(self->qa, self->qb->qp_num));
	ASSERT_EQ(0, rc_rts(self->qa, 10));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, rc_do(&self->a, self->qa, &self->put));
	EXPECT_EQ(0, ibv_destroy_qp(other));
}

TEST_F(rc, a_peer_that_comes_late_is_waited_for)
{
	struct ibv_wc wc;

	ASSERT_EQ(0, rc_init(self->qa));
	ASSERT_EQ(0, rc_rtr(self->qa, self->qb->qp_num));
	/* for ever */
	ASSERT_EQ(0, rc_rts(self->qa, 0));
	ASSERT_EQ(0, rc_post(&self->a, self->qa, &self->put));
	EXPECT_EQ(-1, rc_poll(&self->a, &wc, 100));
	ASSERT_EQ(0, rc_init(self->qb));
	ASSERT_EQ(0, rc_rtr(self->qb, self->qa->qp_num));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_poll(&self->a, &wc, 20000));
}

TEST_F(rc, a_peer_that_is_destroyed_does_not_respond_any_more)
{
	ASSERT_EQ(0, rc_connect(self->qa, self->qb->qp_num));
	ASSERT_EQ(0, rc_connect(self->qb, self->qa->qp_num));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->put));
	ASSERT_EQ(0, ibv_destroy_qp(self->qb));
	self->qb = NULL;
	EXPECT_EQ(IBV_QPS_RTS, rc_state(self->qa));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, rc_do(&self->a, self->qa, &self->put));
	EXPECT_EQ(IBV_QPS_ERR, rc_state(self->qa));
}

TEST_F(rc, error_flushes_and_reset_begins_anew)
{
	struct ibv_wc wc;

	for (int round = 0; round < 20; round++) {
		ASSERT_EQ(0, rc_connect(self->qa, self->qb->qp_num));
		ASSERT_EQ(0, rc_connect(self->qb, self->qa->qp_num));
		for (int i = 0; i < 70; i++)
			ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->put));
		ASSERT_EQ(0, rc_to(self->qa, IBV_QPS_ERR));
		ASSERT_EQ(0, rc_post(&self->a, self->qa, &self->put));
		EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, rc_poll(&self->a, &wc, 20000));
		ASSERT_EQ(0, rc_to(self->qa, IBV_QPS_RESET));
		ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_RESET));
	}
}

TEST_F(rc, what_is_posted_ends_done_or_flushed)
{
	struct ibv_wc wc;

	for (int round = 0; round < 100; round++) {
		int posted = 0;

		ASSERT_EQ(0, rc_connect(self->qa, self->qb->qp_num));
		ASSERT_EQ(0, rc_connect(self->qb, self->qa->qp_num));
		while (posted < 60 && !rc_post(&self->a, self->qa, &self->put))
			posted++;
		ASSERT_EQ(0, rc_to(self->qa, IBV_QPS_ERR));
		for (; posted; posted--) {
			int status = rc_poll(&self->a, &wc, 20000);

			ASSERT_TRUE(status == IBV_WC_SUCCESS || status == IBV_WC_WR_FLUSH_ERR);
		}
		ASSERT_EQ(0, rc_to(self->qa, IBV_QPS_RESET));
		ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_RESET));
	}
}

TEST_F(rc, times_and_counts_beyond_their_fields_are_refused)
{
	ASSERT_EQ(0, rc_init(self->qa));
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_attr attr = {
			.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_4096,
			.dest_qp_num = self->qb->qp_num, .max_dest_rd_atomic = 1,
			.min_rnr_timer = i ? 32 : 255, .ah_attr = { .dlid = 1, .port_num = 1 },
		};

		EXPECT_EQ(EINVAL, ibv_modify_qp(self->qa, &attr, IBV_QP_STATE | IBV_QP_AV |
				  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	}
	for (int i = 0; i < 3; i++) {
		struct ibv_qp_attr attr = {
			.qp_state = IBV_QPS_RTR,
			.path_mtu = i == 0 ? 0 : i == 1 ? IBV_MTU_4096 + 1 : IBV_MTU_4096,
			.dest_qp_num = i == 2 ? 1U << 24 : self->qb->qp_num,
			.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
			.ah_attr = { .dlid = 1, .port_num = 1 },
		};

		EXPECT_EQ(EINVAL, ibv_modify_qp(self->qa, &attr, IBV_QP_STATE | IBV_QP_AV |
				  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
			TH_LOG("case %d", i);
	}
	ASSERT_EQ(0, rc_rtr(self->qa, self->qb->qp_num));
	EXPECT_EQ(EINVAL, rc_rts(self->qa, 32));
	EXPECT_EQ(0, rc_rts(self->qa, 31));
}

TEST_F(rc, what_a_newer_library_asks_is_refused_if_it_is_something)
{
	uint64_t good = (uintptr_t)self->a.memory;

	EXPECT_EQ(EOPNOTSUPP, raw_cq_of(self->a.verbs, good, good + 65536, 64, 1));
	EXPECT_EQ(0, raw_cq_of(self->a.verbs, good, good + 65536, 64, 0));
}

TEST_F(rc, X5_a_cq_without_memory_is_refused)
{
	uint64_t good = (uintptr_t)self->a.memory;

	EXPECT_EQ(0, raw_cq(self->a.verbs, good, good + 65536, 128));
	EXPECT_EQ(0, raw_cq(self->a.verbs, good + 131072, good + 65544, 64));
	EXPECT_EQ(EINVAL, raw_cq(self->a.verbs, 0, good, 128));
	EXPECT_EQ(EINVAL, raw_cq(self->a.verbs, 0, good, 64));
	EXPECT_EQ(EINVAL, raw_cq(self->a.verbs, good, 0, 64));
	EXPECT_EQ(EINVAL, raw_cq(self->a.verbs, good + 8, good, 64));
	EXPECT_EQ(EINVAL, raw_cq(self->a.verbs, good, good, 32));
	EXPECT_EQ(EFAULT, raw_cq(self->a.verbs, 1ULL << 46, good, 64));
}

static void *destroy(void *qp)
{
	return (void *)(intptr_t)ibv_destroy_qp(qp);
}

TEST_F(rc, X7_both_ends_are_destroyed_at_once)
{
	pthread_t thread;
	void *ret;

	for (int i = 0; i < 200; i++) {
		ASSERT_EQ(0, rc_connect(self->qa, self->qb->qp_num));
		ASSERT_EQ(0, rc_connect(self->qb, self->qa->qp_num));
		for (int k = 0; k < 20; k++)
			rc_post(&self->a, self->qa, &self->put);
		ASSERT_EQ(0, pthread_create(&thread, NULL, destroy, self->qb));
		EXPECT_EQ(0, ibv_destroy_qp(self->qa));
		ASSERT_EQ(0, pthread_join(thread, &ret));
		EXPECT_EQ(NULL, ret);
		self->qa = rc_qp(&self->a);
		self->qb = rc_qp(&self->b);
		ASSERT_NE(NULL, self->qa);
		ASSERT_NE(NULL, self->qb);
	}
}

TEST_F(rc, a_cq_that_is_armed_signals_once_and_none_is_lost)
{
	struct pollfd fd = { .fd = self->a.channel->fd, .events = POLLIN };
	struct ibv_wc wc;
	struct ibv_cq *cq;
	void *context;

	ASSERT_EQ(0, rc_connect(self->qa, self->qb->qp_num));
	ASSERT_EQ(0, rc_connect(self->qb, self->qa->qp_num));
	/* not armed: no event */
	ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->put));
	EXPECT_EQ(0, poll(&fd, 1, 50));
	for (int i = 0; i < 500; i++) {
		/* before the post, and behind it: then an entry may be there already */
		if (i % 2)
			ASSERT_EQ(0, ibv_req_notify_cq(self->a.cq, 0));
		ASSERT_EQ(0, rc_post(&self->a, self->qa, &self->put));
		if (i % 4 == 2)
			usleep(100);
		if (i % 2 == 0)
			ASSERT_EQ(0, ibv_req_notify_cq(self->a.cq, 0));
		ASSERT_EQ(1, poll(&fd, 1, 20000));
		ASSERT_EQ(0, ibv_get_cq_event(self->a.channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
		ASSERT_EQ(1, ibv_poll_cq(self->a.cq, 1, &wc));
		ASSERT_EQ(0, poll(&fd, 1, 0));
	}
}

/* Another user's QP, as a process that is killed at the end. */
struct stranger {
	pid_t pid;
	volatile uint32_t *shared;	/* number, key, go; address behind them */
};

static void stranger_main(volatile uint32_t *shared)
{
	struct rc rc;
	struct ibv_qp *qp;

	if (setgid(12345) || setuid(12345) || rc_open(&rc))
		_exit(2);
	qp = rc_qp(&rc);
	if (!qp)
		_exit(3);
	*(volatile uint64_t *)(shared + 4) = (uintptr_t)rc.memory;
	shared[1] = rc.mr->rkey;
	__atomic_store_n(shared, qp->qp_num, __ATOMIC_RELEASE);
	while (!__atomic_load_n(shared + 2, __ATOMIC_ACQUIRE))
		usleep(1000);
	if (rc_connect(qp, shared[2]))
		_exit(4);
	__atomic_store_n(shared + 3, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

/* Set whose QPs exist. Return: 0 or an errno. */
static int set_peers(const char *whose)
{
	int fd = open("/sys/module/gda_rdma/parameters/peers", O_WRONLY | O_CLOEXEC);
	int ret = write(fd, whose, strlen(whose)) < 0 ? errno : 0;

	close(fd);
	return ret;
}

/* How a write to a QP of another user ends. */
static int write_to_stranger(struct rc *rc, struct ibv_qp *qp, struct rc_post p)
{
	volatile uint32_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	int ret = -1;

	if (!pid)
		stranger_main(shared);
	for (int i = 0; i < 20000 && !__atomic_load_n(shared, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	shared[2] = qp->qp_num;
	for (int i = 0; i < 20000 && !__atomic_load_n(shared + 3, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	p.to = *(volatile uint64_t *)(shared + 4);
	p.key = shared[1];
	if (shared[0] && shared[3] && !rc_init(qp) && !rc_rtr(qp, shared[0]) && !rc_rts(qp, 10))
		ret = rc_do(rc, qp, &p);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap((void *)shared, 4096);
	return ret;
}

TEST_F(rc, X1_queues_of_another_user_do_not_exist)
{
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, write_to_stranger(&self->a, self->qa, self->put));
	EXPECT_EQ(0, set_peers("any"));
	EXPECT_EQ(IBV_WC_SUCCESS, write_to_stranger(&self->b, self->qb, self->put));
	EXPECT_EQ(EINVAL, set_peers("all"));
	EXPECT_EQ(0, set_peers("user"));
}

TEST_F(rc, X3_of_the_file_only_the_doorbells_can_be_mapped)
{
	int fd = self->a.verbs->cmd_fd;

	/* a command that there is not, another page of doorbells, two pages, executable, private */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 1L << 20));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 1L << 12));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 8192, PROT_WRITE, MAP_SHARED, fd, 0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_WRITE | PROT_EXEC, MAP_SHARED, fd, 0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_WRITE, MAP_PRIVATE, fd, 0));
	EXPECT_NE(MAP_FAILED, mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0));
}

TEST(X1_dev_gda_cannot_be_bound_to_it)
{
	struct gda_bind bind = { .size = sizeof(bind), .device = "rdma:gda0" };
	int fd = open("/dev/gda", O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, ioctl(fd, GDA_IOC_BIND, &bind));
	EXPECT_EQ(EOPNOTSUPP, errno);
	bind = (struct gda_bind) { .size = sizeof(bind), .device = "soft0" };
	EXPECT_EQ(0, ioctl(fd, GDA_IOC_BIND, &bind));
	close(fd);
}

TEST(X8_pinned_memory_is_limited)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct rlimit limit = { 256 << 10, 256 << 10 };
		struct rc rc;

		if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(12345) || setuid(12345))
			_exit(2);
		/* its last step registers 1 MiB */
		_exit(rc_open(&rc) && rc.cq && !rc.mr && errno == ENOMEM ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN

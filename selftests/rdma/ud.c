// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * UD queue pairs of gda0 and address handles, by libibverbs and libmlx5 as they are: what arrives,
 * what is lost, and who reaches whom. rdma.mk runs it in the guest.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "rc.h"

#define UD_HEAD		40
#define UD_KEY		0x1ee7U
#define UD_RECVS	64

FIXTURE(ud)
{
	struct rc a, b;
	struct ibv_srq *srq;
	struct ibv_qp *qa, *qb;
	struct ibv_ah *ah;
};

FIXTURE_VARIANT(ud)
{
	bool shared;
};

FIXTURE_VARIANT_ADD(ud, own) { .shared = false };
FIXTURE_VARIANT_ADD(ud, shared) { .shared = true };

static struct ibv_qp *ud_qp(struct rc *rc, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = rc->cq,
		.recv_cq = rc->cq,
		.srq = srq,
		.cap = { .max_send_wr = 64, .max_recv_wr = UD_RECVS, .max_send_sge = 2,
			 .max_recv_sge = 2, .max_inline_data = 200 },
		.qp_type = IBV_QPT_UD,
	};

	return ibv_create_qp(rc->pd, &init);
}

static struct ibv_ah *ud_ah(struct rc *rc, uint16_t lid)
{
	struct ibv_ah_attr attr = { .dlid = lid, .sl = 3, .port_num = 1 };

	return ibv_create_ah(rc->pd, &attr);
}

static int ud_init(struct ibv_qp *qp, uint32_t key)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = key };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_QKEY);
}

static int ud_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	return rc_to(qp, IBV_QPS_RTR) ? -1 :
	       ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

FIXTURE_SETUP(ud)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = UD_RECVS, .max_sge = 2 } };

	ASSERT_EQ(0, rc_open(&self->a));
	ASSERT_EQ(0, rc_open(&self->b));
	if (variant->shared) {
		self->srq = ibv_create_srq(self->b.pd, &init);
		ASSERT_NE(NULL, self->srq);
	}
	self->qa = ud_qp(&self->a, NULL);
	self->qb = ud_qp(&self->b, self->srq);
	self->ah = ud_ah(&self->a, 1);
	ASSERT_NE(NULL, self->qa);
	ASSERT_NE(NULL, self->qb);
	ASSERT_NE(NULL, self->ah);
	ASSERT_EQ(0, ud_init(self->qa, UD_KEY + 1));
	ASSERT_EQ(0, ud_init(self->qb, UD_KEY));
	ASSERT_EQ(0, ud_rts(self->qa));
	ASSERT_EQ(0, ud_rts(self->qb));
	for (uint32_t i = 0; i < 65536; i++)
		self->a.memory[i] = (uint8_t)(i * 2654435761U >> 13 | 1);
}

FIXTURE_TEARDOWN(ud)
{
	EXPECT_EQ(0, ibv_destroy_ah(self->ah));
	EXPECT_EQ(0, ibv_destroy_qp(self->qa));
	if (self->qb)
		EXPECT_EQ(0, ibv_destroy_qp(self->qb));
	if (self->srq)
		EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	EXPECT_EQ(0, rc_close(&self->a));
	EXPECT_EQ(0, rc_close(&self->b));
}

static int post_recv(struct _test_data_ud *self, uint64_t id, uint32_t at, uint32_t bytes)
{
	struct ibv_sge sge = { .addr = (uintptr_t)self->b.memory + at, .length = bytes,
			       .lkey = self->b.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return self->srq ? ibv_post_srq_recv(self->srq, &wr, &bad) :
			   ibv_post_recv(self->qb, &wr, &bad);
}

/* Whom a datagram is for, and how it is sent. */
struct ud_to {
	struct ibv_ah *ah;
	uint32_t number, key, bytes;
	enum ibv_wr_opcode op;
	int flags;
};

static int ud_post(struct rc *rc, struct ibv_qp *qp, const struct ud_to *to)
{
	struct ibv_sge sge = { .addr = (uintptr_t)rc->memory, .length = to->bytes,
			       .lkey = rc->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = to->op, .imm_data = htonl(77),
		.send_flags = IBV_SEND_SIGNALED | to->flags,
		.wr.ud = { .ah = to->ah, .remote_qpn = to->number, .remote_qkey = to->key },
	}, *bad;

	return ibv_post_send(qp, &wr, &bad);
}

static int ud_do(struct rc *rc, struct ibv_qp *qp, const struct ud_to *to)
{
	struct ibv_wc wc;

	return ud_post(rc, qp, to) ? -2 : rc_poll(rc, &wc, 20000);
}

static struct ud_to to_b(const struct _test_data_ud *self, uint32_t bytes)
{
	return (struct ud_to) { .ah = self->ah, .number = self->qb->qp_num, .key = UD_KEY,
				.bytes = bytes, .op = IBV_WR_SEND };
}

TEST_F(ud, ten_thousand_datagrams_arrive_behind_their_header)
{
	struct ud_to to = to_b(self, 0);
	struct ibv_wc wc;

	for (uint32_t i = 0; i < 10000; i++) {
		to.bytes = 1 + i * 2654435761U % 4096;
		to.op = i % 3 ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM;
		to.flags = to.bytes <= 200 && i % 2 ? IBV_SEND_INLINE : 0;
		*(uint32_t *)self->a.memory = i | 1;
		ASSERT_EQ(0, post_recv(self, i, i % 16 * 8192, to.bytes + UD_HEAD));
		ASSERT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
		ASSERT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
		ASSERT_EQ(IBV_WC_RECV, wc.opcode);
		ASSERT_EQ(i, wc.wr_id);
		ASSERT_EQ(to.bytes + UD_HEAD, wc.byte_len);
		ASSERT_EQ(self->qa->qp_num, wc.src_qp);
		ASSERT_EQ(1, wc.slid);
		ASSERT_EQ(3, wc.sl);
		ASSERT_EQ(i % 3 ? 0 : IBV_WC_WITH_IMM, (int)wc.wc_flags);
		ASSERT_EQ(0, memcmp(self->a.memory, self->b.memory + i % 16 * 8192 + UD_HEAD,
				    to.bytes));
	}
}

TEST_F(ud, a_global_header_names_its_sender)
{
	struct ibv_ah_attr attr = { .dlid = 1, .port_num = 1, .is_global = 1,
				    .grh = { .hop_limit = 9 } };
	struct ud_to to = to_b(self, 64);
	struct ibv_ah *back, *ah;
	struct ibv_grh grh;
	union ibv_gid gid;
	struct ibv_wc wc;

	ASSERT_EQ(0, ibv_query_gid(self->a.verbs, 1, 0, &gid));
	for (int right = 1; right >= 0; right--) {
		attr.grh.dgid = gid;
		attr.grh.dgid.raw[15] ^= !right;
		ah = ibv_create_ah(self->a.pd, &attr);
		ASSERT_NE(NULL, ah);
		to.ah = ah;
		ASSERT_EQ(0, post_recv(self, 5, 0, 200));
		EXPECT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
		EXPECT_EQ(0, ibv_destroy_ah(ah));
		if (!right)
			break;
		ASSERT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
		EXPECT_EQ(IBV_WC_GRH, wc.wc_flags);
		memcpy(&grh, self->b.memory, sizeof(grh));
		EXPECT_EQ(6, ntohl(grh.version_tclass_flow) >> 28);
		EXPECT_EQ(9, grh.hop_limit);
		EXPECT_EQ(0, memcmp(&grh.sgid, &gid, sizeof(gid)));
		EXPECT_EQ(0, memcmp(&grh.dgid, &gid, sizeof(gid)));
		/* and it is answered by what arrived */
		back = ibv_create_ah_from_wc(self->b.pd, &wc, (void *)self->b.memory, 1);
		EXPECT_NE(NULL, back);
		if (back)
			EXPECT_EQ(0, ibv_destroy_ah(back));
	}
	EXPECT_EQ(-1, rc_poll(&self->b, &wc, 50));
}

TEST_F(ud, a_queue_sends_to_itself)
{
	struct ibv_ah *ah = ud_ah(&self->b, 1);
	struct ud_to to = to_b(self, 64);
	struct ibv_wc wc[2];

	ASSERT_NE(NULL, ah);
	to.ah = ah;
	for (int i = 0; i < 1000; i++) {
		ASSERT_EQ(0, post_recv(self, 5, 4096, 200));
		ASSERT_EQ(0, ud_post(&self->b, self->qb, &to));
		ASSERT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc[0], 20000));
		ASSERT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc[1], 20000));
		ASSERT_NE(wc[0].opcode, wc[1].opcode);
	}
	EXPECT_EQ(0, ibv_destroy_ah(ah));
}

TEST_F(ud, solicited_ones_are_events)
{
	struct pollfd fd = { .fd = self->b.channel->fd, .events = POLLIN };
	struct ud_to to = to_b(self, 8);
	struct ibv_cq *cq;
	void *context;

	ASSERT_EQ(0, post_recv(self, 0, 0, 100));
	ASSERT_EQ(0, post_recv(self, 1, 0, 100));
	ASSERT_EQ(0, ibv_req_notify_cq(self->b.cq, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
	EXPECT_EQ(0, poll(&fd, 1, 50));
	to.flags = IBV_SEND_SOLICITED;
	EXPECT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
	ASSERT_EQ(1, poll(&fd, 1, 20000));
	ASSERT_EQ(0, ibv_get_cq_event(self->b.channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
}

TEST_F(ud, X6_what_finds_no_room_is_lost)
{
	struct ud_to to = to_b(self, 64);
	struct ibv_wc wc;

	for (int i = 0; i < 100; i++)
		ASSERT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
	EXPECT_EQ(-1, rc_poll(&self->b, &wc, 50));
	ASSERT_EQ(0, post_recv(self, 1, 0, UD_HEAD + 63));
	ASSERT_EQ(0, post_recv(self, 2, 0, UD_HEAD + 64));
	EXPECT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
	/* one of its own serves the next datagram; one that others share completes */
	if (self->srq) {
		EXPECT_EQ(IBV_WC_LOC_LEN_ERR, rc_poll(&self->b, &wc, 20000));
		EXPECT_EQ(1, wc.wr_id);
	} else {
		EXPECT_EQ(-1, rc_poll(&self->b, &wc, 50));
		to.bytes = 63;
	}
	EXPECT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
	EXPECT_EQ(self->srq ? 2 : 1, wc.wr_id);
	EXPECT_EQ(IBV_QPS_RTS, rc_state(self->qa));
	EXPECT_EQ(IBV_QPS_RTS, rc_state(self->qb));
}

/* Whoever sets the limit again is told again. */
TEST_F(ud, an_srq_tells_each_time_that_few_are_left)
{
	struct ud_to to = to_b(self, 64);
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct ibv_async_event event;
	struct pollfd fd = { .fd = self->b.verbs->async_fd, .events = POLLIN };
	struct ibv_wc wc;

	if (!self->srq)
		SKIP(return, "no SRQ");
	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 2; i++)
			ASSERT_EQ(0, post_recv(self, i, 0, 256));
		ASSERT_EQ(0, ibv_modify_srq(self->srq, &attr, IBV_SRQ_LIMIT));
		ASSERT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
		ASSERT_EQ(1, poll(&fd, 1, 20000)) TH_LOG("round %d", round);
		ASSERT_EQ(0, ibv_get_async_event(self->b.verbs, &event));
		EXPECT_EQ(IBV_EVENT_SRQ_LIMIT_REACHED, event.event_type);
		ibv_ack_async_event(&event);
		ASSERT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
		for (int i = 0; i < 2; i++)
			ASSERT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
	}
}

TEST_F(ud, longer_than_the_mtu_is_an_error)
{
	struct ud_to to = to_b(self, 4097);

	ASSERT_EQ(0, post_recv(self, 1, 0, 8192));
	EXPECT_EQ(IBV_WC_LOC_LEN_ERR, ud_do(&self->a, self->qa, &to));
	EXPECT_EQ(IBV_QPS_ERR, rc_state(self->qa));
	EXPECT_EQ(IBV_QPS_RTS, rc_state(self->qb));
}

TEST_F(ud, only_queues_in_rtr_and_rts_take_them)
{
	struct ud_to to = to_b(self, 8);
	struct ibv_wc wc;

	ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_RESET));
	EXPECT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
	ASSERT_EQ(0, ud_init(self->qb, UD_KEY));
	ASSERT_EQ(0, post_recv(self, 1, 0, 100));
	EXPECT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
	EXPECT_EQ(-1, rc_poll(&self->b, &wc, 50));
	ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_RTR));
	EXPECT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
}

TEST_F(ud, attributes_are_those_of_verbs)
{
	struct ibv_qp_attr set = { .qkey = 5, .qp_state = IBV_QPS_RTS }, attr;
	struct ibv_qp_init_attr init;

	ASSERT_EQ(0, ibv_query_qp(self->qb, &attr, IBV_QP_QKEY, &init));
	EXPECT_EQ(IBV_QPT_UD, init.qp_type);
	EXPECT_EQ(UD_KEY, attr.qkey);
	EXPECT_EQ(1, attr.port_num);
	ASSERT_EQ(0, ibv_modify_qp(self->qb, &set, IBV_QP_STATE | IBV_QP_QKEY));
	ASSERT_EQ(0, ibv_query_qp(self->qb, &attr, IBV_QP_QKEY, &init));
	EXPECT_EQ(5, attr.qkey);
	ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_RESET));
	EXPECT_EQ(EINVAL, rc_init(self->qb));
}

/* All keys of 16 bits, wrong by one bit or more; none may arrive, and none costs the sender. */
TEST_F(ud, X1_queue_keys_are_guessed)
{
	struct ud_to to = to_b(self, 64);
	uint32_t posted = 0, done = 0;
	struct ibv_wc wc;

	ASSERT_EQ(0, post_recv(self, 1, 0, 1000));
	while (done < 65536) {
		for (; posted < 65536 && posted - done < 64; posted++) {
			to.key = posted == UD_KEY ? UD_KEY | 1U << 16 : posted;
			ASSERT_EQ(0, ud_post(&self->a, self->qa, &to));
		}
		for (; ibv_poll_cq(self->a.cq, 1, &wc) == 1; done++)
			ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
	}
	EXPECT_EQ(-1, rc_poll(&self->b, &wc, 50));
	for (int i = 0; i < 1000; i++)
		ASSERT_EQ(0, self->b.memory[i]);
	/* numbers and LIDs likewise */
	to.key = UD_KEY;
	for (uint32_t bit = 0; bit < 24; bit++) {
		to.number = self->qb->qp_num ^ 1U << bit;
		ASSERT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
	}
	to.number = self->qb->qp_num;
	to.ah = ud_ah(&self->a, 2);
	ASSERT_NE(NULL, to.ah);
	EXPECT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
	EXPECT_EQ(0, ibv_destroy_ah(to.ah));
	EXPECT_EQ(-1, rc_poll(&self->b, &wc, 50));
	to.ah = self->ah;
	EXPECT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
}

/* In a request such a key stands for the queue's own, which only the privileged can have so. */
TEST_F(ud, X1_a_privileged_key_is_the_queues_own)
{
	struct ud_to to = to_b(self, 8);
	struct ibv_wc wc;
	int status;
	pid_t pid;

	ASSERT_EQ(0, post_recv(self, 1, 0, 100));
	ASSERT_EQ(0, post_recv(self, 2, 0, 100));
	to.key = 1U << 31 | UD_KEY;
	EXPECT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
	EXPECT_EQ(-1, rc_poll(&self->b, &wc, 50));
	/* root may have one */
	ASSERT_EQ(0, rc_to(self->qa, IBV_QPS_RESET));
	ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_RESET));
	ASSERT_EQ(0, ud_init(self->qa, 1U << 31 | 9));
	ASSERT_EQ(0, ud_init(self->qb, 1U << 31 | 9));
	ASSERT_EQ(0, ud_rts(self->qa));
	ASSERT_EQ(0, ud_rts(self->qb));
	if (!self->srq)
		ASSERT_EQ(0, post_recv(self, 1, 0, 100));
	EXPECT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
	pid = fork();
	if (!pid) {
		struct ibv_qp *qp;
		struct rc rc;

		if (setgid(12345) || setuid(12345) || rc_open(&rc))
			_exit(2);
		qp = ud_qp(&rc, NULL);
		if (!qp)
			_exit(3);
		_exit(ud_init(qp, 1U << 31 | 9) == EPERM && !ud_init(qp, 9) ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* Another user's QP, which tells its number and counts what it got; killed at the end. */
static void stranger_main(volatile uint32_t *shared)
{
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_sge sge;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	struct rc rc;

	if (setgid(12345) || setuid(12345) || rc_open(&rc))
		_exit(2);
	qp = ud_qp(&rc, NULL);
	if (!qp || ud_init(qp, UD_KEY) || ud_rts(qp))
		_exit(3);
	sge = (struct ibv_sge) { (uintptr_t)rc.memory, 1000, rc.mr->lkey };
	wr.sg_list = &sge;
	if (ibv_post_recv(qp, &wr, &bad))
		_exit(4);
	__atomic_store_n(shared, qp->qp_num, __ATOMIC_RELEASE);
	for (;;)
		if (ibv_poll_cq(rc.cq, 1, &wc) == 1)
			shared[1]++;
}

TEST_F(ud, X1_queues_of_another_user_do_not_exist)
{
	volatile uint32_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ud_to to = to_b(self, 64);
	pid_t pid = fork();

	if (!pid)
		stranger_main(shared);
	for (int i = 0; i < 20000 && !__atomic_load_n(shared, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	ASSERT_NE(0, shared[0]);
	to.number = shared[0];
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(IBV_WC_SUCCESS, ud_do(&self->a, self->qa, &to));
	usleep(50000);
	EXPECT_EQ(0, shared[1]);
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	munmap((void *)shared, 4096);
}

/* Keeps sending to whatever number stands there. */
struct flood {
	struct _test_data_ud *self;
	volatile uint32_t number;
	volatile bool stop;
	uint32_t bad;
};

static void *flood_main(void *arg)
{
	struct flood *f = arg;
	struct ud_to to = { .ah = f->self->ah, .key = UD_KEY, .bytes = 2048, .op = IBV_WR_SEND };
	struct ibv_wc wc[8];
	int n;

	while (!f->stop) {
		to.number = f->number;
		ud_post(&f->self->a, f->self->qa, &to);
		n = ibv_poll_cq(f->self->a.cq, 8, wc);
		for (int i = 0; i < n; i++)
			f->bad += wc[i].status != IBV_WC_SUCCESS;
	}
	return NULL;
}

TEST_F(ud, X7_the_receiver_is_destroyed_under_load)
{
	struct flood f = { .self = self, .number = self->qb->qp_num };
	pthread_t thread;
	struct ibv_wc wc;

	ASSERT_EQ(0, pthread_create(&thread, NULL, flood_main, &f));
	for (int i = 0; i < 300; i++) {
		for (int k = 0; k < 8; k++)
			post_recv(self, k, 0, 4096);
		usleep((useconds_t)i % 7 * 100);
		if (i % 3 == 0) {
			ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_RESET));
		} else {
			ASSERT_EQ(0, ibv_destroy_qp(self->qb));
			self->qb = ud_qp(&self->b, self->srq);
			ASSERT_NE(NULL, self->qb);
		}
		f.number = self->qb->qp_num;
		ASSERT_EQ(0, ud_init(self->qb, UD_KEY));
		ASSERT_EQ(0, ud_rts(self->qb));
		while (ibv_poll_cq(self->b.cq, 1, &wc) == 1)
			;
	}
	f.stop = true;
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, f.bad);
	EXPECT_EQ(IBV_QPS_RTS, rc_state(self->qa));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * DEVX of gda0, by libmlx5 as it is: two programs that make their queues as NVSHMEM's IBGDA and as
 * DOCA do, and what is refused. rdma.mk runs it in the guest. GDA_STRESS=10 is 10^6 writes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>

#include <gda_test/ioctl.h>

#include "kselftest_harness.h"
#include "devx.h"

#define WRITES	100000

FIXTURE(devx)
{
	struct devx_pair pair;
	struct ibv_srq *srq;
	struct ibv_cq *recv_cq;
};

FIXTURE_VARIANT(devx)
{
	bool doca;
};

FIXTURE_VARIANT_ADD(devx, nvshmem) { .doca = false };
FIXTURE_VARIANT_ADD(devx, doca) { .doca = true };

/* NVSHMEM has an SRQ and a CQ of verbs for what it never receives. */
static void add_srq(struct __test_metadata *_metadata, struct _test_data_devx *self)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 64, .max_sge = 1 } };
	struct mlx5dv_srq dv_srq = { .comp_mask = MLX5DV_SRQ_MASK_SRQN };
	struct mlx5dv_cq dv_cq = { 0 };
	struct mlx5dv_obj obj = { .srq = { .out = &dv_srq }, .cq = { .out = &dv_cq } };

	self->srq = ibv_create_srq(self->pair.rc.pd, &init);
	self->recv_cq = ibv_create_cq(self->pair.rc.verbs, 64, NULL, NULL, 0);
	ASSERT_NE(NULL, self->srq);
	ASSERT_NE(NULL, self->recv_cq);
	obj.srq.in = self->srq;
	obj.cq.in = self->recv_cq;
	ASSERT_EQ(0, mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ | MLX5DV_OBJ_CQ));
	ASSERT_NE(0, dv_srq.srqn);
	self->pair.shape.srqn = dv_srq.srqn;
	self->pair.shape.recv_cqn = dv_cq.cqn;
}

FIXTURE_SETUP(devx)
{
	ASSERT_EQ(0, rc_open_on(&self->pair.rc, devx_device()));
	self->pair.shape = (struct devx_shape) {
		.one_umem = variant->doca,
		.blueflame = variant->doca,
		.pdn = devx_pdn(self->pair.rc.pd),
		.user_index = variant->doca ? 0xabcdef : 7,
	};
	ASSERT_NE(0, self->pair.shape.pdn);
	if (!variant->doca)
		add_srq(_metadata, self);
	ASSERT_EQ(0, devx_pair_open(&self->pair));
}

FIXTURE_TEARDOWN(devx)
{
	EXPECT_EQ(0, devx_close(&self->pair.a));
	EXPECT_EQ(0, devx_close(&self->pair.b));
	if (self->srq)
		EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	if (self->recv_cq)
		EXPECT_EQ(0, ibv_destroy_cq(self->recv_cq));
	EXPECT_EQ(0, rc_close(&self->pair.rc));
}

TEST_F_TIMEOUT(devx, writes_by_hand_complete_in_one_entry, 3600)
{
	ASSERT_EQ(0, devx_join(&self->pair));
	EXPECT_EQ(0, devx_cells(&self->pair, &self->pair.a, rc_stressed(WRITES)));
	EXPECT_EQ(self->pair.a.qpn, be32toh(*(volatile uint32_t *)(self->pair.a.cqe + 56)) & 0xffffff);
	EXPECT_EQ(self->pair.shape.user_index, be32toh(*(volatile uint32_t *)(self->pair.a.cqe + 32)));
	EXPECT_EQ(0, devx_cells(&self->pair, &self->pair.b, DEVX_BATCH));
}

TEST_F(devx, the_device_says_what_programs_ask)
{
	static uint8_t out[0x1010];
	uint8_t in[DEVX_SHORT];

	devx_begin(in, DEVX_QUERY_HCA_CAP, sizeof(in));
	devx_set(in, 0x30, 16, 1);
	ASSERT_EQ(0, mlx5dv_devx_general_cmd(self->pair.rc.verbs, in, sizeof(in), out, sizeof(out)));
	EXPECT_EQ(1, devx_get(out, 0x80 + 0x1fc, 4)) TH_LOG("cqe_version");
	EXPECT_EQ(1, devx_get(out, 0x80 + 0x23f, 1)) TH_LOG("rc");
	EXPECT_EQ(9, devx_get(out, 0x80 + 0x26b, 5)) TH_LOG("log_bf_reg_size");
	EXPECT_EQ(15, devx_get(out, 0x80 + 0x88, 8)) TH_LOG("log_max_qp_sz");
	EXPECT_EQ(1008, devx_get(out, 0x80 + 0x290, 16)) TH_LOG("max_wqe_sz_sq");
	devx_set(in, 0x30, 16, 4 << 1 | 1);
	EXPECT_EQ(0, mlx5dv_devx_general_cmd(self->pair.rc.verbs, in, sizeof(in), out, sizeof(out)));
	devx_set(in, 0x30, 16, 12 << 1 | 1);
	EXPECT_NE(0, mlx5dv_devx_general_cmd(self->pair.rc.verbs, in, sizeof(in), out, sizeof(out)));
	EXPECT_EQ(DEVX_BAD_PARAM, out[0]);
	devx_begin(in, DEVX_QUERY_HCA_VPORT, sizeof(in));
	ASSERT_EQ(0, mlx5dv_devx_general_cmd(self->pair.rc.verbs, in, sizeof(in), out, sizeof(out)));
	EXPECT_EQ(1, devx_get(out, 0x80 + 0x300, 16)) TH_LOG("lid");
	devx_begin(in, DEVX_QUERY_NIC_VPORT, sizeof(in));
	EXPECT_EQ(0, mlx5dv_devx_general_cmd(self->pair.rc.verbs, in, sizeof(in), out, sizeof(out)));
	/* RQs of their own, QUERY_ADAPTER */
	for (int op = 0; op < 2; op++) {
		devx_begin(in, op ? 0x908 : 0x101, sizeof(in));
		EXPECT_NE(0, mlx5dv_devx_general_cmd(self->pair.rc.verbs, in, sizeof(in), out,
						     sizeof(out)));
		EXPECT_EQ(DEVX_BAD_OP, out[0]);
		EXPECT_EQ(0x47440001, devx_get(out, 0x20, 32));
	}
}

/* INIT2INIT, and rights that opt_param_mask chooses one by one. */
TEST_F(devx, options_change_what_they_name)
{
	uint8_t in[DEVX_LONG], query[DEVX_SHORT], out[DEVX_LONG];

	ASSERT_EQ(0, devx_init(&self->pair.a));
	devx_begin(in, DEVX_INIT2INIT, sizeof(in));
	devx_set(in, DEVX_OPT, 32, 1 << 3);
	ASSERT_EQ(0, devx_modify(&self->pair.a, in));
	devx_begin(query, DEVX_QUERY_QP, sizeof(query));
	devx_set(query, DEVX_NUMBER, 24, self->pair.a.qpn);
	ASSERT_EQ(0, mlx5dv_devx_obj_query(self->pair.a.qp, query, sizeof(query), out, sizeof(out)));
	EXPECT_EQ(5, devx_get(out, DEVX_QPC(0x490), 3)) TH_LOG("rre, rwe, rae");
	EXPECT_EQ(self->pair.shape.user_index, devx_get(out, DEVX_QPC(0x88), 24));
	EXPECT_EQ(self->pair.a.cqn, devx_get(out, DEVX_QPC(0x3e8), 24));
	devx_set(in, DEVX_OPT, 32, 1);
	EXPECT_NE(0, devx_modify(&self->pair.a, in));
	EXPECT_EQ(DEVX_BAD_PARAM, self->pair.a.status);
	ASSERT_EQ(0, devx_rtr(&self->pair.a, self->pair.b.qpn));
	ASSERT_EQ(0, devx_rts(&self->pair.a));
	devx_begin(in, DEVX_RTS2RTS, sizeof(in));
	devx_set(in, DEVX_OPT, 32, 1 << 1);
	ASSERT_EQ(0, devx_modify(&self->pair.a, in));
	ASSERT_EQ(0, mlx5dv_devx_obj_query(self->pair.a.qp, query, sizeof(query), out, sizeof(out)));
	EXPECT_EQ(1, devx_get(out, DEVX_QPC(0x490), 3));
	EXPECT_EQ(self->pair.b.qpn, devx_get(out, DEVX_QPC(0xa8), 24));
	EXPECT_EQ(14, devx_get(out, DEVX_PATH(0x40), 5)) TH_LOG("ack_timeout");
}

TEST_F(devx, a_transition_leaves_only_its_own_state)
{
	for (int i = 0; i < 3; i++) {
		EXPECT_NE(0, devx_rtr(&self->pair.a, self->pair.b.qpn));
		EXPECT_EQ(DEVX_BAD_QP_STATE, self->pair.a.status);
		EXPECT_NE(0, devx_rts(&self->pair.a));
		EXPECT_EQ(DEVX_BAD_QP_STATE, self->pair.a.status);
		EXPECT_EQ(0, devx_state(&self->pair.a));
		ASSERT_EQ(0, devx_join(&self->pair));
		EXPECT_NE(0, devx_init(&self->pair.a));
		EXPECT_EQ(3, devx_state(&self->pair.a));
		EXPECT_EQ(0, devx_cells(&self->pair, &self->pair.a, DEVX_BATCH));
		ASSERT_EQ(0, devx_to(&self->pair.a, DEVX_2ERR));
		EXPECT_EQ(6, devx_state(&self->pair.a));
		ASSERT_EQ(0, devx_reset(&self->pair.a));
		ASSERT_EQ(0, devx_reset(&self->pair.b));
	}
}

TEST_F(devx, X1_keys_and_rights_are_checked_as_of_verbs)
{
	struct devx_write w = { .from = self->pair.rc.memory, .lkey = self->pair.rc.mr->lkey,
				.to = (uintptr_t)self->pair.rc.memory + 4096,
				.rkey = self->pair.rc.mr->rkey ^ 1, .bytes = 8 };

	ASSERT_EQ(0, devx_join(&self->pair));
	*(uint64_t *)self->pair.rc.memory = 1;
	devx_put(&self->pair.a, &w);
	devx_ring(&self->pair.a);
	EXPECT_EQ(0x13, devx_wait(&self->pair.a, 20000));
	EXPECT_EQ(0, *(uint64_t *)(self->pair.rc.memory + 4096));
	EXPECT_EQ(6, devx_state(&self->pair.a));
	EXPECT_EQ(3, devx_state(&self->pair.b));
}

/* Another context of the process, and an endpoint in it that is to be refused. */
TEST_F(devx, X1_numbers_of_another_context_do_not_exist)
{
	struct rc other;
	struct devx_ep ep;
	uint8_t in[DEVX_LONG];
	uint32_t number;

	ASSERT_EQ(0, rc_open_on(&other, devx_device()));
	/* a CQ of a context, in a QP of another */
	memset(&ep, 0, sizeof(ep));
	ASSERT_EQ(0, devx_open(&ep, other.verbs, &(struct devx_shape) {
			       .pdn = devx_pdn(other.pd) }));
	devx_qp_command(&ep, &(struct devx_shape) { .pdn = devx_pdn(other.pd) },
			ep.uar->page_id, in);
	devx_set(in, DEVX_QPC(0x3e8), 24, self->pair.a.cqn);
	EXPECT_EQ(NULL, devx_create(&ep, in, &number));
	EXPECT_EQ(DEVX_BAD_RES, ep.status);
	/* a domain, and umems, that this one does not have */
	for (int i = 0; i < 3; i++) {
		devx_qp_command(&ep, &(struct devx_shape) { .pdn = devx_pdn(other.pd) },
				ep.uar->page_id, in);
		if (i == 0)
			devx_set(in, DEVX_QPC(0x28), 24, 0xfffff);
		else
			devx_set(in, i == 1 ? 0x840 : DEVX_QPC(0x720), 32, 0x7ffffff);
		EXPECT_EQ(NULL, devx_create(&ep, in, &number));
		EXPECT_EQ(DEVX_BAD_RES, ep.status);
	}
	EXPECT_EQ(0, devx_close(&ep));
	EXPECT_EQ(0, rc_close(&other));
}

TEST_F(devx, X3_a_uar_of_another_context_is_refused)
{
	struct rc other;
	struct devx_ep ep;
	struct devx_shape shape = { .page_id = self->pair.a.uar->page_id };
	uint8_t in[DEVX_LONG];
	uint32_t number;

	ASSERT_EQ(0, rc_open_on(&other, devx_device()));
	shape.pdn = devx_pdn(other.pd);
	EXPECT_EQ(-2, devx_open(&ep, other.verbs, &shape));
	EXPECT_EQ(DEVX_BAD_PARAM, ep.status);
	EXPECT_EQ(0, devx_close(&ep));
	shape.page_id = 0;
	ASSERT_EQ(0, devx_open(&ep, other.verbs, &shape));
	devx_qp_command(&ep, &shape, self->pair.a.uar->page_id, in);
	EXPECT_EQ(NULL, devx_create(&ep, in, &number));
	EXPECT_EQ(DEVX_BAD_PARAM, ep.status);
	EXPECT_EQ(0, devx_close(&ep));
	EXPECT_EQ(0, rc_close(&other));
}

TEST_F(devx, X5_umems_that_cannot_be_are_refused)
{
	struct ibv_context *verbs = self->pair.rc.verbs;
	uint8_t *hollow = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT_EQ(NULL, mlx5dv_devx_umem_reg(verbs, (void *)(1ULL << 46), 4096, 1));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(NULL, mlx5dv_devx_umem_reg(verbs, hollow, 8192, 1));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(NULL, mlx5dv_devx_umem_reg(verbs, self->pair.rc.memory, 0, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, mlx5dv_devx_umem_reg(verbs, self->pair.rc.memory, 1UL << 40, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, mlx5dv_devx_umem_reg(verbs, self->pair.rc.memory, 4096, 1U << 30));
	munmap(hollow, 8192);
}

/* MLX5_IB_METHOD_DEVX_UMEM_REG, which is to store the umem's number at @out. Return: as ioctl(). */
static int umem_reg_at(struct ibv_context *verbs, void *memory, void *out)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[4];
	} cmd = {
		.hdr = {
			.length = sizeof(cmd), .object_id = MLX5_IB_OBJECT_DEVX_UMEM,
			.method_id = MLX5_IB_METHOD_DEVX_UMEM_REG, .num_attrs = 4,
			.driver_id = RDMA_DRIVER_MLX5,
		},
		.attrs = {
			{ .attr_id = MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, .flags = UVERBS_ATTR_F_MANDATORY },
			{ .attr_id = MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, .flags = UVERBS_ATTR_F_MANDATORY,
			  .len = 8, .data = (uintptr_t)memory },
			{ .attr_id = MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, .flags = UVERBS_ATTR_F_MANDATORY,
			  .len = 8, .data = 4096 },
			{ .attr_id = MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, .flags = UVERBS_ATTR_F_MANDATORY,
			  .len = 4, .data = (uintptr_t)out },
		},
	};

	return ioctl(verbs->cmd_fd, RDMA_VERBS_IOCTL, &cmd);
}

#define UNTOLD	3000

/* What umem_reg_at() does not return, as its number cannot be stored. */
struct untold {
	struct devx_ep *ep;
	uint8_t *memory;
	bool over;
	int registered;
};

static void *untold_umems(void *arg)
{
	void *sealed = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct untold *u = arg;

	for (uint32_t i = 0; i < rc_stressed(UNTOLD); i++)
		if (!umem_reg_at(u->ep->verbs, u->memory, sealed) || errno != EFAULT)
			u->registered++;
	__atomic_store_n(&u->over, true, __ATOMIC_RELEASE);
	munmap(sealed, 4096);
	return NULL;
}

/*
 * A umem whose creation fails when its number is told: a thread that guesses the number makes no
 * queue of it, which would keep it from going, and the kernel would warn of that.
 */
TEST_F(devx, X5_a_umem_that_is_not_told_serves_no_queue)
{
	struct devx_ep ep = self->pair.a;
	struct devx_shape shape = self->pair.shape;
	struct untold u = { .ep = &ep };
	struct mlx5dv_devx_umem *next;
	struct mlx5dv_devx_obj *cq;
	uint8_t in[DEVX_LONG];
	uint32_t number, guess;
	int made = 0;
	pthread_t thread;

	shape.one_umem = false;
	ASSERT_EQ(0, devx_umems(&ep, &shape));
	u.memory = ep.sq;
	ASSERT_EQ(0, umem_reg_at(ep.verbs, u.memory, &number));
	/* the lowest that is free */
	next = mlx5dv_devx_umem_reg(ep.verbs, ep.sq, 4096, 1);
	ASSERT_NE(NULL, next);
	guess = next->umem_id;
	ASSERT_EQ(0, mlx5dv_devx_umem_dereg(next));
	devx_cq_command(&ep, ep.uar->page_id, in);
	devx_set(in, 0x2c0, 32, guess);
	ASSERT_EQ(0, pthread_create(&thread, NULL, untold_umems, &u));
	while (!__atomic_load_n(&u.over, __ATOMIC_ACQUIRE)) {
		cq = devx_create(&ep, in, &number);
		if (!cq)
			continue;
		made++;
		mlx5dv_devx_obj_destroy(cq);
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(0, made);
	EXPECT_EQ(0, u.registered);
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(0, mlx5dv_devx_umem_dereg(ep.umem[i]));
	free(ep.memory);
}

/* Offsets of a queue and of its record: beyond the umem, its end, not aligned, in use. */
TEST_F(devx, X5_queues_lie_inside_of_their_umems)
{
	static const uint64_t queue[] = { 64, 4096, 8, 1ULL << 40, ~0ULL << 6 };
	static const uint64_t record[] = { 4096, 4092, 4, ~0ULL << 3 };
	struct devx_ep ep = self->pair.a;
	struct devx_shape shape = self->pair.shape;
	uint8_t in[DEVX_LONG];
	uint32_t number;

	shape.one_umem = false;
	/* queues that are not used by a QP */
	ASSERT_EQ(0, devx_umems(&ep, &shape));
	for (int i = 0; i < 9; i++) {
		devx_qp_command(&ep, &shape, ep.uar->page_id, in);
		if (i < 5)
			devx_set(in, 0x800, 64, queue[i]);
		else
			devx_set(in, DEVX_QPC(0x500), 64, record[i - 5]);
		/* collapsed CQs serve one QP */
		devx_set(in, DEVX_QPC(0x3e8), 24, self->pair.b.cqn);
		EXPECT_EQ(NULL, devx_create(&ep, in, &number));
		EXPECT_EQ(DEVX_BAD_PARAM, ep.status) TH_LOG("case %d", i);
	}
	devx_qp_command(&ep, &shape, ep.uar->page_id, in);
	EXPECT_EQ(NULL, devx_create(&ep, in, &number));
	EXPECT_EQ(DEVX_BUSY, ep.status) TH_LOG("a collapsed CQ in use");
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(0, mlx5dv_devx_umem_dereg(ep.umem[i]));
	free(ep.memory);
}

TEST_F(devx, X5_what_a_queue_needs_cannot_go)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->pair.rc.verbs);
	struct devx_shape shape = self->pair.shape;
	struct devx_ep ep;

	for (int i = 0; i < (self->pair.shape.one_umem ? 3 : 4); i++)
		EXPECT_EQ(EBUSY, mlx5dv_devx_umem_dereg(self->pair.a.umem[i]));
	EXPECT_EQ(EBUSY, mlx5dv_devx_obj_destroy(self->pair.a.cq));
	if (self->srq) {
		EXPECT_EQ(EBUSY, ibv_destroy_srq(self->srq));
		EXPECT_EQ(EBUSY, ibv_destroy_cq(self->recv_cq));
	}
	shape.pdn = devx_pdn(pd);
	ASSERT_EQ(0, devx_open(&ep, self->pair.rc.verbs, &shape));
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(pd));
	EXPECT_EQ(0, devx_close(&ep));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(0, devx_join(&self->pair));
	EXPECT_EQ(0, devx_cells(&self->pair, &self->pair.a, DEVX_BATCH));
}

/* A queue in a dma-buf whose exporter takes it away: the QP fails, and nothing else. */
TEST_F(devx, X5_a_umem_that_is_revoked_fails_its_queue)
{
	struct gda_test_export export = { .length = 4096 };
	struct gda_test_move move = { .flags = GDA_TEST_GONE };
	struct mlx5dv_devx_umem_in in = { .size = 4096, .access = 1, .pgsz_bitmap = 4096,
					  .comp_mask = MLX5DV_UMEM_MASK_DMABUF };
	struct devx_shape shape = self->pair.shape;
	struct devx_ep ep = { .verbs = self->pair.rc.verbs, .uar = self->pair.a.uar };
	struct mlx5dv_devx_umem *old;
	int test = open("/dev/gda_test", O_RDWR | O_CLOEXEC);
	uint8_t command[DEVX_LONG];
	uint32_t page_id = self->pair.a.uar->page_id;

	if (test < 0)
		SKIP(return, "no gda_test");
	shape.one_umem = false;
	ASSERT_EQ(0, ioctl(test, GDA_TEST_EXPORT, &export));
	ASSERT_EQ(0, devx_umems(&ep, &shape));
	in.dmabuf_fd = export.fd;
	old = ep.umem[2];
	ep.umem[2] = mlx5dv_devx_umem_reg_ex(self->pair.rc.verbs, &in);
	ASSERT_NE(NULL, ep.umem[2]);
	ep.sq = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, export.fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)ep.sq);
	devx_cq_command(&ep, page_id, command);
	ep.cq = devx_create(&ep, command, &ep.cqn);
	ASSERT_NE(NULL, ep.cq);
	devx_qp_command(&ep, &shape, page_id, command);
	ep.qp = devx_create(&ep, command, &ep.qpn);
	ASSERT_NE(NULL, ep.qp);
	ASSERT_EQ(0, devx_connect(&ep, self->pair.b.qpn));
	ASSERT_EQ(0, devx_connect(&self->pair.b, ep.qpn));
	EXPECT_EQ(0, devx_cells(&self->pair, &ep, DEVX_BATCH));
	move.fd = export.fd;
	ASSERT_EQ(0, ioctl(test, GDA_TEST_MOVE, &move));
	EXPECT_EQ(0, move.changed);
	for (int i = 0; i < 2000 && devx_state(&ep) != 6; i++)
		usleep(1000);
	EXPECT_EQ(6, devx_state(&ep));
	EXPECT_EQ(3, devx_state(&self->pair.b));
	EXPECT_EQ(EBUSY, mlx5dv_devx_umem_dereg(ep.umem[2]));
	/* a reset does not bring the memory back: what its record says is posted is nowhere */
	EXPECT_EQ(0, devx_reset(&ep));
	devx_connect(&ep, self->pair.b.qpn);
	__atomic_store_n(ep.record + 1, htobe32(3), __ATOMIC_RELEASE);
	*(volatile uint64_t *)ep.uar->reg_addr = 0;
	for (int i = 0; i < 2000 && devx_state(&ep) != 6; i++)
		usleep(1000);
	EXPECT_EQ(6, devx_state(&ep));
	ep.uar = NULL;
	munmap(ep.sq, 4096);
	EXPECT_EQ(0, devx_close(&ep));
	EXPECT_EQ(0, mlx5dv_devx_umem_dereg(old));
	close(export.fd);
	close(test);
}

/* Of a context of its own, joined. */
static int pair_of_its_own(struct devx_pair *pair)
{
	*pair = (struct devx_pair) { .shape = { .one_umem = true } };
	if (rc_open_on(&pair->rc, devx_device()))
		return -1;
	pair->shape.pdn = devx_pdn(pair->rc.pd);
	return devx_pair_open(pair) || devx_join(pair) ? -1 : 0;
}

/* Endpoints that write to each other until they are killed. */
static void killed_main(void)
{
	struct devx_pair pair;

	if (pair_of_its_own(&pair))
		_exit(2);
	for (;;)
		devx_cells(&pair, &pair.a, 1024);
}

/* Of what is repeated by $GDA_STRESS, with a limit of time of its own. */
FIXTURE(ends)
{
	int status;
};

FIXTURE_SETUP(ends)
{
	self->status = 0;
}

FIXTURE_TEARDOWN(ends)
{
}

TEST_F_TIMEOUT(ends, X7_devx_is_killed_at_any_moment, 3600)
{
	int n = (int)rc_stressed(20);

	for (int i = 0; i < n; i++) {
		self->status = rc_killed(killed_main, 20000 + (useconds_t)i % 20 * 4000 + (useconds_t)i);
		ASSERT_EQ(SIGKILL, self->status);
	}
}

/* Commands until the device has gone; what is posted meanwhile goes nowhere. */
static void removed_main(int ready)
{
	struct devx_pair pair;

	if (pair_of_its_own(&pair) || devx_cells(&pair, &pair.a, DEVX_BATCH) ||
	    write(ready, "", 1) != 1)
		_exit(2);
	while (devx_state(&pair.a) >= 0)
		devx_ring(&pair.a);
	if (mlx5dv_devx_umem_reg(pair.rc.verbs, pair.rc.memory, 4096, 1) || errno != EIO)
		_exit(3);
	_exit(0);
}

TEST_F_TIMEOUT(ends, X7_devx_loses_its_device, 3600)
{
	int ready[2], n = (int)rc_stressed(3);
	struct devx_pair again;
	char c;

	for (int i = 0; i < n; i++) {
		pid_t pid;

		ASSERT_EQ(0, pipe(ready));
		pid = fork();
		if (!pid)
			removed_main(ready[1]);
		close(ready[1]);
		ASSERT_EQ(1, read(ready[0], &c, 1));
		close(ready[0]);
		ASSERT_EQ(0, rc_driver("unbind"));
		ASSERT_EQ(pid, waitpid(pid, &self->status, 0));
		EXPECT_EQ(0, self->status);
		ASSERT_EQ(0, rc_driver("bind"));
		for (int k = 0; k < 100 && pair_of_its_own(&again); k++)
			usleep(20000);
		EXPECT_EQ(0, devx_cells(&again, &again.a, DEVX_BATCH));
		EXPECT_EQ(0, devx_close(&again.a) | devx_close(&again.b) | rc_close(&again.rc));
	}
}

TEST(X8_umems_are_limited_as_locked_memory)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct rlimit limit = { 256 << 10, 256 << 10 };
		uint8_t *p = aligned_alloc(4096, RC_BYTES);
		struct ibv_context *verbs;
		struct mlx5dv_devx_umem *umem;

		if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(12345) || setuid(12345))
			_exit(2);
		verbs = devx_device();
		if (!verbs)
			_exit(3);
		umem = mlx5dv_devx_umem_reg(verbs, p, 128 << 10, 1);
		if (!umem || mlx5dv_devx_umem_dereg(umem))
			_exit(4);
		umem = mlx5dv_devx_umem_reg(verbs, p, RC_BYTES, 1);
		_exit(!umem && errno == ENOMEM ? 0 : 5);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN

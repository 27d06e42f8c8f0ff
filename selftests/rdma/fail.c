// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md O6, as kernel/fail_nth.c: every error path of gda0. Each verb, and each call of DEVX, is
 * swept: the kernel fails its first allocation or copy, then its second, until there is none left to
 * fail. Each time the verb does what it should, or fails, and the same verb made once more succeeds.
 * What a failure leaves behind, the kernel's own leak detector tells, and that gda_rdma goes. (Of address
 * handles libmlx5 asks no kernel.)
 *
 * For a kernel with CONFIG_FAULT_INJECTION; skipped on others.
 */
#include <sys/mman.h>

#include "devx.h"
#include "kselftest_harness.h"
#include "nth.h"

struct fx {
	struct rc rc;
	struct ibv_device *device;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_srq *srq;
	struct ibv_qp *qp, *peer;
	struct devx_ep ep;
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_uar *uar;
	struct mlx5dv_devx_obj *obj;
	uint8_t in[DEVX_LONG];
	int cqes;
};

struct op {
	const char *name;
	int (*prepare)(struct fx *fx);
	int (*call)(struct fx *fx);
	int (*undo)(struct fx *fx);
	int over;	/* errno of a second call, if the first was carried out but not answered */
};

/* NAME_call() sets fx->MEMBER by CALL, and NAME_undo() undoes it by UNDO. */
#define MAKES(name, member, made, unmade)				\
static int name##_call(struct fx *fx)					\
{									\
	fx->member = made;						\
	return fx->member ? 0 : -1;					\
}									\
static int name##_undo(struct fx *fx)					\
{									\
	int ret = fx->member ? unmade : 0;				\
									\
	if (!ret)							\
		fx->member = NULL;					\
	return ret;							\
}
/* NAME_call() only makes CALL, which returns 0 if all went well. */
#define DOES(name, does)						\
static int name##_call(struct fx *fx)					\
{									\
	return does;							\
}

static struct ibv_qp *new_qp(struct fx *fx, enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = fx->rc.cq, .recv_cq = fx->rc.cq, .srq = srq, .qp_type = type,
		.cap = { .max_send_wr = 64, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return ibv_create_qp(fx->rc.pd, &init);
}

static struct ibv_srq *new_srq(struct fx *fx)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 15, .max_sge = 1 } };

	return ibv_create_srq(fx->rc.pd, &init);
}

static int query_qp(struct fx *fx)
{
	return rc_state(fx->qp) < 0;
}

static int limit_srq(struct fx *fx)
{
	struct ibv_srq_attr attr = { .srq_limit = 4 };

	return ibv_modify_srq(fx->srq, &attr, IBV_SRQ_LIMIT) || ibv_query_srq(fx->srq, &attr);
}

static int query_device(struct fx *fx)
{
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;

	return ibv_query_device(fx->rc.verbs, &attr) || ibv_query_port(fx->rc.verbs, 1, &port) ||
	       ibv_query_gid(fx->rc.verbs, 1, 0, &gid);
}

static int capabilities(struct fx *fx)
{
	uint8_t in[DEVX_SHORT], out[4112] = { 0 };

	devx_begin(in, DEVX_QUERY_HCA_CAP, sizeof(in));
	return mlx5dv_devx_general_cmd(fx->rc.verbs, in, sizeof(in), out, sizeof(out));
}

static int map_doorbells(struct fx *fx)
{
	void *p = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fx->rc.verbs->cmd_fd, 0);

	return p == MAP_FAILED ? -1 : munmap(p, 4096);
}

MAKES(open, verbs, ibv_open_device(fx->device), ibv_close_device(fx->verbs))
MAKES(pd, pd, ibv_alloc_pd(fx->rc.verbs), ibv_dealloc_pd(fx->pd))
MAKES(channel, channel, ibv_create_comp_channel(fx->rc.verbs), ibv_destroy_comp_channel(fx->channel))
MAKES(cq, cq, ibv_create_cq(fx->rc.verbs, 64, NULL, fx->rc.channel, 0), ibv_destroy_cq(fx->cq))
MAKES(cq_without_channel, cq, ibv_create_cq(fx->rc.verbs, 64, NULL, NULL, 0), ibv_destroy_cq(fx->cq))
MAKES(mr, mr, ibv_reg_mr(fx->rc.pd, fx->rc.memory, RC_BYTES, RC_ACCESS), ibv_dereg_mr(fx->mr))
MAKES(srq, srq, new_srq(fx), ibv_destroy_srq(fx->srq))
MAKES(qp_rc, qp, new_qp(fx, IBV_QPT_RC, NULL), ibv_destroy_qp(fx->qp))
MAKES(qp_uc, qp, new_qp(fx, IBV_QPT_UC, NULL), ibv_destroy_qp(fx->qp))
MAKES(qp_ud, qp, new_qp(fx, IBV_QPT_UD, NULL), ibv_destroy_qp(fx->qp))
MAKES(qp_srq, qp, new_qp(fx, IBV_QPT_RC, fx->srq), ibv_destroy_qp(fx->qp))
MAKES(umem, umem, mlx5dv_devx_umem_reg(fx->rc.verbs, fx->rc.memory, 65536, 1),
      mlx5dv_devx_umem_dereg(fx->umem))
MAKES(uar, uar, mlx5dv_devx_alloc_uar(fx->rc.verbs, MLX5DV_UAR_ALLOC_TYPE_BF),
      (mlx5dv_devx_free_uar(fx->uar), 0))
MAKES(devx_create, obj, devx_create(&fx->ep, fx->in, &(uint32_t){ 0 }),
      mlx5dv_devx_obj_destroy(fx->obj))
DOES(query_device, query_device(fx))
DOES(init, rc_init(fx->qp))
DOES(rtr, rc_rtr(fx->qp, fx->peer->qp_num))
DOES(rts, rc_rts(fx->qp, 14))
DOES(err, rc_to(fx->qp, IBV_QPS_ERR))
DOES(reset, rc_to(fx->qp, IBV_QPS_RESET))
DOES(query_qp, query_qp(fx))
DOES(limit, limit_srq(fx))
DOES(resize, ibv_resize_cq(fx->rc.cq, fx->cqes ^= 1024))
DOES(map, map_doorbells(fx))
DOES(caps, capabilities(fx))
DOES(devx_init, devx_init(&fx->ep))
DOES(devx_state, devx_state(&fx->ep) < 0)
DOES(devx_err, devx_to(&fx->ep, DEVX_2ERR))

static int qp_in_init(struct fx *fx)
{
	return qp_rc_call(fx) || rc_init(fx->qp);
}

static int qp_in_rtr(struct fx *fx)
{
	return qp_in_init(fx) || rtr_call(fx);
}

static int qp_in_rts(struct fx *fx)
{
	return qp_in_rtr(fx) || rts_call(fx);
}

static int qp_of_srq_undo(struct fx *fx)
{
	return qp_srq_undo(fx) || srq_undo(fx);
}

static int devx_prepare(struct fx *fx)
{
	struct devx_shape shape = { .pdn = devx_pdn(fx->rc.pd) };

	return devx_open(&fx->ep, fx->rc.verbs, &shape);
}

static int devx_in_init(struct fx *fx)
{
	return devx_prepare(fx) || devx_init(&fx->ep);
}

static int devx_undo(struct fx *fx)
{
	return devx_close(&fx->ep);
}

static int devx_prepare_cq(struct fx *fx)
{
	int ret = devx_prepare(fx) || mlx5dv_devx_obj_destroy(fx->ep.qp) ||
		  mlx5dv_devx_obj_destroy(fx->ep.cq);

	fx->ep.qp = NULL;
	fx->ep.cq = NULL;
	devx_cq_command(&fx->ep, fx->ep.uar->page_id, fx->in);
	return ret;
}

static int devx_prepare_qp(struct fx *fx)
{
	struct devx_shape shape = { .pdn = devx_pdn(fx->rc.pd) };
	int ret = devx_prepare(fx) || mlx5dv_devx_obj_destroy(fx->ep.qp);

	fx->ep.qp = NULL;
	devx_qp_command(&fx->ep, &shape, fx->ep.uar->page_id, fx->in);
	return ret;
}

static int devx_create_and_all_undo(struct fx *fx)
{
	return devx_create_undo(fx) || devx_undo(fx);
}

#define MADE(name)		{ #name, NULL, name##_call, name##_undo, 0 }
#define UNMADE(name)		{ "destroy_" #name, name##_call, name##_undo, NULL, ENOENT }

static const struct op ops[] = {
	MADE(open), MADE(pd), MADE(channel), MADE(cq), MADE(mr), MADE(srq), MADE(qp_rc), MADE(qp_uc),
	MADE(qp_ud), MADE(umem), MADE(uar),
	UNMADE(pd), UNMADE(cq_without_channel), UNMADE(mr), UNMADE(srq), UNMADE(qp_rc), UNMADE(qp_ud), UNMADE(umem),
	{ "qp_srq", srq_call, qp_srq_call, qp_of_srq_undo, 0 },
	{ "query_device", NULL, query_device_call, NULL, 0 },
	{ "init", qp_rc_call, init_call, qp_rc_undo, 0 },
	{ "rtr", qp_in_init, rtr_call, qp_rc_undo, 0 },
	{ "rts", qp_in_rtr, rts_call, qp_rc_undo, 0 },
	{ "err", qp_in_rts, err_call, qp_rc_undo, 0 },
	{ "reset", qp_in_rts, reset_call, qp_rc_undo, 0 },
	{ "query_qp", qp_in_rts, query_qp_call, qp_rc_undo, 0 },
	{ "limit", srq_call, limit_call, srq_undo, 0 },
	{ "resize", NULL, resize_call, NULL, 0 },
	{ "map", NULL, map_call, NULL, 0 },
	{ "capabilities", NULL, caps_call, NULL, 0 },
	{ "devx_cq", devx_prepare_cq, devx_create_call, devx_create_and_all_undo, 0 },
	{ "devx_qp", devx_prepare_qp, devx_create_call, devx_create_and_all_undo, 0 },
	{ "devx_init", devx_prepare, devx_init_call, devx_undo, EREMOTEIO },
	{ "devx_state", devx_prepare, devx_state_call, devx_undo, 0 },
	{ "devx_err", devx_in_init, devx_err_call, devx_undo, EREMOTEIO },
};

FIXTURE(fail)
{
	struct fx fx;
};

FIXTURE_SETUP(fail)
{
	struct ibv_device **list;

	if (nth_open())
		SKIP(return, "no fault injection in this kernel");
	memset(&self->fx, 0, sizeof(self->fx));
	ASSERT_EQ(0, rc_open_on(&self->fx.rc, devx_device()));
	self->fx.peer = new_qp(&self->fx, IBV_QPT_RC, NULL);
	ASSERT_NE(NULL, self->fx.peer);
	self->fx.cqes = RC_DEPTH;
	list = ibv_get_device_list(NULL);
	for (int i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "gda0"))
			self->fx.device = list[i];
	ASSERT_NE(NULL, self->fx.device);
}

FIXTURE_TEARDOWN(fail)
{
	if (self->fx.peer)
		EXPECT_EQ(0, ibv_destroy_qp(self->fx.peer) | rc_close(&self->fx.rc));
}

/* One point. Return: false when there was nothing left to fail. */
static bool point(struct __test_metadata *_metadata, struct fx *fx, const struct op *op,
		  unsigned int n, unsigned int *failed)
{
	bool fired;
	int ret;

	if (op->prepare)
		EXPECT_EQ(0, op->prepare(fx)) TH_LOG("%s: before point %u", op->name, n);
	EXPECT_EQ(0, nth_arm(n));
	ret = op->call(fx);
	fired = nth_disarm();
	if (ret) {
		EXPECT_TRUE(fired) TH_LOG("%s: point %u: errno %d", op->name, n, errno);
		ret = op->call(fx);
		EXPECT_TRUE(!ret || errno == op->over)
			TH_LOG("%s: after point %u: errno %d", op->name, n, errno);
		++*failed;
	}
	if (op->undo)
		EXPECT_EQ(0, op->undo(fx)) TH_LOG("%s: undo of point %u", op->name, n);
	return fired;
}

TEST_F_TIMEOUT(fail, O6_sweep_of_verbs, 300)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		unsigned int n = 1, failed = 0;

		while (n < NTH_MAX && point(_metadata, &self->fx, &ops[i], n, &failed))
			n++;
		EXPECT_GT(NTH_MAX, n) TH_LOG("%s: no end", ops[i].name);
		/* or nothing was swept */
		EXPECT_LT(1, n) TH_LOG("%s: no point", ops[i].name);
		printf("# %s: %u points, %u failed\n", ops[i].name, n - 1, failed);
	}
}

int main(int argc, char **argv)
{
	nth_begin();
	/* memory of the program itself: its fault is tried again */
	printf("# dmesg: Huh VM_FAULT_OOM leaked out\n");
	return test_harness_run(argc, argv);
}

// SPDX-License-Identifier: MIT
/* An RDMA write by libibverbs alone: nothing in here is GDA's but the name of the device. */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(call) must(#call, !!(call))

static void must(const char *call, int good)
{
	if (good)
		return;
	perror(call);
	exit(1);
}

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (int i = 0; list && list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

static struct ibv_qp *qp_create(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_send_sge = 1, .max_recv_wr = 1, .max_recv_sge = 1 },
	};

	return ibv_create_qp(pd, &init);
}

/* RESET to RTS, as man ibv_modify_qp has it. Each end does that, and names the other's number. */
static void qp_connect(struct ibv_qp *qp, uint32_t peer, uint16_t lid)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	MUST(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_4096, .dest_qp_num = peer,
		.ah_attr = { .dlid = lid, .port_num = 1 }, .max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
	};
	MUST(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 1,
	};
	MUST(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

int main(int argc, char **argv)
{
	static char from[14] = "hello, remote", to[14];
	const char *name = argc > 1 ? argv[1] : "gda0";
	struct ibv_context *ctx = device_open(name);
	struct ibv_send_wr wr, *bad;
	struct ibv_mr *source, *target;
	struct ibv_port_attr port;
	struct ibv_qp *qp, *peer;
	struct ibv_sge sge;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	int n;

	if (!ctx) {
		printf("no RDMA device %s that may be opened; as root: modprobe gda_rdma\n", name);
		return 4;
	}
	MUST(!ibv_query_port(ctx, 1, &port));
	MUST(pd = ibv_alloc_pd(ctx));
	MUST(cq = ibv_create_cq(ctx, 16, NULL, NULL, 0));
	MUST(source = ibv_reg_mr(pd, from, sizeof(from), 0));
	MUST(target = ibv_reg_mr(pd, to, sizeof(to),
				 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	MUST(qp = qp_create(pd, cq));
	MUST(peer = qp_create(pd, cq));
	qp_connect(peer, qp->qp_num, port.lid);
	qp_connect(qp, peer->qp_num, port.lid);

	/* from here on no system call: on gda0 as on a NIC */
	sge = (struct ibv_sge) { (uintptr_t)from, sizeof(from), source->lkey };
	wr = (struct ibv_send_wr) {
		.wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)to, .rkey = target->rkey },
	};
	MUST(!ibv_post_send(qp, &wr, &bad));
	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		;
	MUST(n == 1);
	printf("request %d: %s: %s\n", (int)wc.wr_id, ibv_wc_status_str(wc.status), to);

	MUST(!ibv_destroy_qp(qp));
	MUST(!ibv_destroy_qp(peer));
	MUST(!ibv_dereg_mr(target));
	MUST(!ibv_dereg_mr(source));
	MUST(!ibv_destroy_cq(cq));
	MUST(!ibv_dealloc_pd(pd));
	MUST(!ibv_close_device(ctx));
	return 0;
}

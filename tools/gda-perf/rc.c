// SPDX-License-Identifier: MIT
/*
 * A reliable connection on libibverbs. Its two ends exchange struct rc_address by other means.
 * rdma_cm is not used, because a test of the network should not depend on it.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <gda/barrier.h>
#include "rc.h"

#define RC_PORT		1
#define RC_TIMEOUT	14	/* 4.096 us * 2^14 = 67 ms until a request is sent again */
#define RC_RETRIES	6	/* rdma_rxe takes 7 as "without end" */
#define RC_RNR_RETRIES	7	/* for ever */
#define RC_RNR_TIMER	12	/* 0.64 ms */
#define RC_PSN		1
#define RC_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static bool rc_is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/* On Ethernet the GID is an IP address; RoCE v2 with IPv4 is preferred. */
static int rc_find_gid(struct rc *rc)
{
	struct ibv_gid_entry entry;
	int err = -EADDRNOTAVAIL;

	for (int i = 0; i < rc->port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(rc->ctx, RC_PORT, (uint32_t)i, &entry, 0))
			continue;
		if (err || (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && rc_is_ipv4(&entry.gid)))
			rc->gid = entry;
		err = 0;
	}
	return err;
}

static int rc_open_device(struct rc *rc, struct ibv_device *device)
{
	rc->ctx = ibv_open_device(device);
	if (!rc->ctx)
		return -errno;
	if (!ibv_query_port(rc->ctx, RC_PORT, &rc->port) && rc->port.state == IBV_PORT_ACTIVE)
		return 0;
	ibv_close_device(rc->ctx);
	return -ENETDOWN;
}

static int rc_find_device(struct rc *rc, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int err = -ENODEV;

	for (int i = 0; list && list[i] && err; i++)
		if (!name || !strcmp(ibv_get_device_name(list[i]), name))
			err = rc_open_device(rc, list[i]);
	if (list)
		ibv_free_device_list(list);
	return err;
}

static int rc_create_qp(struct rc *rc)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = rc->cq, .recv_cq = rc->cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = rc->depth, .max_send_sge = 1, .max_recv_wr = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = RC_PORT, .qp_access_flags = RC_ACCESS,
	};

	rc->qp = ibv_create_qp(rc->pd, &attr);
	if (!rc->qp)
		return -errno;
	return -ibv_modify_qp(rc->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			      IBV_QP_ACCESS_FLAGS);
}

int rc_open(struct rc *rc, const char *device, void *memory, size_t bytes, unsigned int depth)
{
	int err;

	*rc = (struct rc){ .depth = depth };
	err = rc_find_device(rc, device);
	if (err)
		return err;
	err = rc_find_gid(rc);
	if (err)
		goto err_close;
	rc->pd = ibv_alloc_pd(rc->ctx);
	rc->mr = rc->pd ? ibv_reg_mr(rc->pd, memory, bytes, RC_ACCESS) : NULL;
	rc->cq = rc->mr ? ibv_create_cq(rc->ctx, (int)depth, NULL, NULL, 0) : NULL;
	err = rc->cq ? rc_create_qp(rc) : -errno;
	if (!err)
		return 0;
err_close:
	rc_close(rc);
	return err;
}

void rc_close(struct rc *rc)
{
	if (rc->qp)
		ibv_destroy_qp(rc->qp);
	if (rc->cq)
		ibv_destroy_cq(rc->cq);
	if (rc->mr)
		ibv_dereg_mr(rc->mr);
	if (rc->pd)
		ibv_dealloc_pd(rc->pd);
	ibv_close_device(rc->ctx);
}

void rc_address(const struct rc *rc, struct rc_address *own)
{
	*own = (struct rc_address){
		.gid = rc->gid.gid, .iova = (uintptr_t)rc->mr->addr, .rkey = rc->mr->rkey,
		.qpn = rc->qp->qp_num, .lid = rc->port.lid,
	};
}

int rc_connect(struct rc *rc, const struct rc_address *peer)
{
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = rc->port.active_mtu,
		.dest_qp_num = peer->qpn, .rq_psn = RC_PSN, .max_dest_rd_atomic = 1,
		.min_rnr_timer = RC_RNR_TIMER,
		.ah_attr = {
			.dlid = peer->lid, .port_num = RC_PORT,
			.is_global = rc->port.link_layer == IBV_LINK_LAYER_ETHERNET,
			.grh = { .dgid = peer->gid, .hop_limit = 64,
				 .sgid_index = (uint8_t)rc->gid.gid_index },
		},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS, .sq_psn = RC_PSN, .timeout = RC_TIMEOUT,
		.retry_cnt = RC_RETRIES, .rnr_retry = RC_RNR_RETRIES, .max_rd_atomic = 1,
	};
	int err = ibv_modify_qp(rc->qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				IBV_QP_MIN_RNR_TIMER);

	if (!err)
		err = ibv_modify_qp(rc->qp, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT |
				    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				    IBV_QP_MAX_QP_RD_ATOMIC);
	return -err;
}

void rc_prepare(const struct rc *rc, const struct rc_address *peer, struct rc_work *w,
		enum ibv_wr_opcode opcode, uint32_t bytes)
{
	w->sge = (struct ibv_sge){
		.addr = (uintptr_t)rc->mr->addr, .length = bytes, .lkey = rc->mr->lkey,
	};
	w->wr = (struct ibv_send_wr){
		.sg_list = &w->sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		w->wr.wr.atomic.remote_addr = peer->iova;
		w->wr.wr.atomic.rkey = peer->rkey;
		w->wr.wr.atomic.compare_add = 1;
	} else {
		w->wr.wr.rdma.remote_addr = peer->iova;
		w->wr.wr.rdma.rkey = peer->rkey;
	}
}

int rc_post(struct rc *rc, struct rc_work *w)
{
	struct ibv_send_wr *bad;

	return -ibv_post_send(rc->qp, &w->wr, &bad);
}

static uint64_t rc_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

int rc_wait(struct rc *rc, uint64_t deadline)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(rc->cq, 1, &wc);
		if (n > 0)
			return (int)wc.status;
		if (n < 0)
			return -EIO;
		/* like GDA's own loops: another thread may need the processor */
		gda_pause();
	} while (rc_clock() < deadline);
	return -ETIMEDOUT;
}

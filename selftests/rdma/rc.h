/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * RC queue pairs of gda0 by libibverbs, for tests: a context with memory, a CQ, QPs, and the steps
 * of verbs from RESET to RTS.
 */
#ifndef RC_H
#define RC_H

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RC_BYTES	(1U << 20)
#define RC_DEPTH	256
#define RC_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct rc {
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory;
};

static inline struct ibv_context *rc_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *verbs = NULL;

	for (int i = 0; list && list[i] && !verbs; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "gda0"))
			verbs = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return verbs;
}

/* What is of a context that was opened. */
static inline int rc_open_on(struct rc *rc, struct ibv_context *verbs)
{
	memset(rc, 0, sizeof(*rc));
	rc->verbs = verbs;
	if (!rc->verbs)
		return -1;
	rc->pd = ibv_alloc_pd(rc->verbs);
	rc->channel = ibv_create_comp_channel(rc->verbs);
	rc->cq = ibv_create_cq(rc->verbs, RC_DEPTH, NULL, rc->channel, 0);
	rc->memory = aligned_alloc(4096, RC_BYTES);
	if (!rc->pd || !rc->channel || !rc->cq || !rc->memory)
		return -1;
	memset(rc->memory, 0, RC_BYTES);
	rc->mr = ibv_reg_mr(rc->pd, rc->memory, RC_BYTES, RC_ACCESS);
	return rc->mr ? 0 : -1;
}

static inline int rc_open(struct rc *rc)
{
	return rc_open_on(rc, rc_device());
}

static inline int rc_close(struct rc *rc)
{
	int ret = ibv_dereg_mr(rc->mr) | ibv_destroy_cq(rc->cq) |
		  ibv_destroy_comp_channel(rc->channel) | ibv_dealloc_pd(rc->pd) |
		  ibv_close_device(rc->verbs);

	free(rc->memory);
	return ret;
}

/* $GDA_STRESS times @n, if that is more. */
static inline uint32_t rc_stressed(uint32_t n)
{
	const char *s = getenv("GDA_STRESS");
	double times = s ? atof(s) : 1;

	return times > 1 ? n * (uint32_t)times : n;
}

/* Kill a process that does @main after @us. Return: its status, or -1. */
static inline int rc_killed(void (*main)(void), useconds_t us)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		main();
	usleep(us);
	return kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid ? -1 : status;
}

/* "unbind" takes the device away, and "bind" brings it back. */
static inline int rc_driver(const char *what)
{
	char path[64];
	int fd, ret;

	snprintf(path, sizeof(path), "/sys/bus/platform/drivers/gda_rdma/%s", what);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ret = write(fd, "gda_rdma", 8) == 8 ? 0 : -1;
	close(fd);
	return ret;
}

static inline struct ibv_qp *rc_qp(struct rc *rc)
{
	struct ibv_qp_init_attr init = {
		.send_cq = rc->cq,
		.recv_cq = rc->cq,
		.cap = { .max_send_wr = 64, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(rc->pd, &init);
}

static inline int rc_state(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) ? -1 : (int)attr.qp_state;
}

static inline int rc_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static inline int rc_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = RC_ACCESS & ~IBV_ACCESS_LOCAL_WRITE,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

static inline int rc_rtr(struct ibv_qp *qp, uint32_t number)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = number,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = { .dlid = 1, .port_num = 1 },
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER);
}

/* A peer that is not there is waited for 8 times 4.096 us * 2^timeout. */
static inline int rc_rts(struct ibv_qp *qp, uint8_t timeout)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static inline int rc_connect(struct ibv_qp *qp, uint32_t number)
{
	return rc_init(qp) ? -1 : rc_rtr(qp, number) ? -2 : rc_rts(qp, 14) ? -3 : 0;
}

/* What is posted: @op of @bytes between rc->memory + @from and the peer's @to, or an atomic. */
struct rc_post {
	enum ibv_wr_opcode op;
	uint32_t bytes;
	uint32_t from;
	uint64_t to;
	uint32_t key;
	uint64_t add;
	uint64_t swap;
	int flags;
};

static inline int rc_post(struct rc *rc, struct ibv_qp *qp, const struct rc_post *p)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)rc->memory + p->from,
		.length = p->bytes,
		.lkey = rc->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = qp->qp_num,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = p->op,
		.send_flags = IBV_SEND_SIGNALED | p->flags,
	}, *bad;

	if (p->op == IBV_WR_ATOMIC_FETCH_AND_ADD || p->op == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = p->to;
		wr.wr.atomic.rkey = p->key;
		wr.wr.atomic.compare_add = p->add;
		wr.wr.atomic.swap = p->swap;
	} else {
		wr.wr.rdma.remote_addr = p->to;
		wr.wr.rdma.rkey = p->key;
	}
	return ibv_post_send(qp, &wr, &bad);
}

static inline uint64_t rc_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* The next completion's status; -1: none within @ms. */
static inline int rc_poll(struct rc *rc, struct ibv_wc *wc, uint64_t ms)
{
	uint64_t end = rc_ms() + ms;

	do {
		if (ibv_poll_cq(rc->cq, 1, wc) == 1)
			return (int)wc->status;
	} while (rc_ms() < end);
	return -1;
}

static inline int rc_do(struct rc *rc, struct ibv_qp *qp, const struct rc_post *p)
{
	struct ibv_wc wc;
	int ret = rc_post(rc, qp, p);

	return ret ? -2 : rc_poll(rc, &wc, 20000);
}

/* CREATE_CQ as libibverbs and libmlx5 would write it, but for the addresses, and a @later member. */
static inline int raw_cq_of(struct ibv_context *verbs, uint64_t entries, uint64_t record,
			    uint32_t bytes, uint64_t later)
{
	struct ib_uverbs_create_cq_resp resp[2];
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_create_cq cq;
		struct mlx5_ib_create_cq mlx5;
		uint64_t later;
	} cmd = {
		.hdr = { .command = IB_USER_VERBS_CMD_CREATE_CQ, .in_words = sizeof(cmd) / 4,
			 .out_words = sizeof(resp) / 4 },
		.cq = { .response = (uintptr_t)resp, .cqe = 63, .comp_channel = -1 },
		.mlx5 = { .buf_addr = entries, .db_addr = record, .cqe_size = bytes },
		.later = later,
	};

	return write(verbs->cmd_fd, &cmd, sizeof(cmd)) == sizeof(cmd) ? 0 : errno;
}

static inline int raw_cq(struct ibv_context *verbs, uint64_t entries, uint64_t record,
			 uint32_t bytes)
{
	return raw_cq_of(verbs, entries, record, bytes, 0);
}

#endif /* RC_H */

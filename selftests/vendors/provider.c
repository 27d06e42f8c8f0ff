// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * rdma-core's provider of efa behind the functions of client.h. Its files, providers/efa/efa.c and
 * verbs.c, are compiled as they are. In place of libibverbs and the kernel stand the functions here
 * that they call: the answers name a queue that exists already, and mmap() returns its memory.
 *
 * With older calls requests are identified by 16 bits, completions are read by ibv_poll_cq(), and
 * sends are posted by ibv_post_send().
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "efa.h"
#include "verbs.h"
#include "client.h"

#define PAGE	4096UL

/* Keys of memory: what the answers of this kernel say to map. */
enum { MAP_CQ = 1, MAP_DB, MAP_SQ, MAP_RECV };

struct client {
	struct client_attr attr;
	struct ibv_device *device;
	struct verbs_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;		/* the last one */
	uint16_t handle;		/* its number */
};

static const struct verbs_device_ops *provider;
static struct client *creating;		/* whose control calls are answered */
static uint8_t recv_queue[PAGE];	/* these queues have none, but the provider maps one */

/* --- libibverbs --- */

void verbs_register_driver(const struct verbs_device_ops *ops)
{
	provider = ops;
}

void *_verbs_init_and_alloc_context(struct ibv_device *device, int fd, size_t bytes,
				    struct verbs_context *at, uint32_t driver)
{
	uint8_t *p = calloc(1, bytes);
	struct verbs_context *ctx = (void *)(p + (uintptr_t)at);

	(void)driver;
	ctx->context.device = device;
	ctx->context.cmd_fd = fd;
	ctx->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	ctx->sz = sizeof(*ctx);
	return p;
}

void verbs_uninit_context(struct verbs_context *ctx)
{
	(void)ctx;
}

void verbs_set_ops(struct verbs_context *ctx, const struct verbs_context_ops *ops)
{
	ctx->context.ops.poll_cq = ops->poll_cq;
	ctx->context.ops.post_send = ops->post_send;
}

void __verbs_log(struct verbs_context *ctx, uint32_t level, const char *fmt, ...)
{
	va_list args;

	(void)ctx;
	if (level > VERBS_LOG_ERR || !getenv("VERBS_LOG"))
		return;
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
}

/* What this kernel has not; the provider's other calls end here. */
int vendors_refuse(void);
int vendors_refuse(void)
{
	return EOPNOTSUPP;
}

/* --- the kernel --- */

int ibv_cmd_get_context(struct verbs_context *ctx, struct ibv_get_context *cmd, size_t cmd_size,
			struct ibv_fd_arr *fds, struct ib_uverbs_get_context_resp *resp,
			size_t resp_size)
{
	struct efa_alloc_ucontext_resp *r = (void *)resp;

	r->cmds_supp_udata_mask = EFA_USER_CMDS_SUPP_UDATA_QUERY_DEVICE |
				  EFA_USER_CMDS_SUPP_UDATA_CREATE_AH;
	r->sub_cqs_per_cq = 1;
	r->inline_buf_size = 32;
	r->inline_buf_size_ex = CLIENT_INLINE;
	r->max_llq_size = creating->attr.sq_depth * creating->attr.sq_entry;
	return 0;
}

int ibv_cmd_query_device_any(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
			     struct ibv_device_attr_ex *attr, size_t size,
			     struct ib_uverbs_ex_query_device_resp *resp, size_t *resp_size)
{
	struct efa_query_device_ex_resp *r = (void *)resp;

	memset(attr, 0, size);
	attr->orig_attr.max_sge_rd = 1;
	attr->orig_attr.max_qp = 1 << 16;
	r->max_sq_wr = creating->attr.sq_depth;
	r->max_rq_wr = 1;
	r->max_sq_sge = 1;
	r->max_rq_sge = 1;
	r->max_rdma_size = 1 << 30;
	r->device_caps = EFA_QUERY_DEVICE_CAPS_RDMA_READ | EFA_QUERY_DEVICE_CAPS_RDMA_WRITE |
			 EFA_QUERY_DEVICE_CAPS_UNSOLICITED_WRITE_RECV |
			 (creating->attr.older ? 0 : EFA_QUERY_DEVICE_CAPS_SQ_64_BIT_REQ_ID);
	return 0;
}

int ibv_cmd_alloc_pd(struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_alloc_pd *cmd,
		     size_t cmd_size, struct ib_uverbs_alloc_pd_resp *resp, size_t resp_size)
{
	pd->context = ctx;
	return 0;
}

int ibv_cmd_dealloc_pd(struct ibv_pd *pd)
{
	return 0;
}

int ibv_cmd_create_cq_ex(struct ibv_context *ctx, const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_create_cq_prov_attr *prov, struct verbs_cq *cq,
			 struct ibv_create_cq_ex *cmd, size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp, size_t resp_size, uint32_t flags)
{
	struct efa_create_cq_resp *r = (void *)resp;
	const struct efa_create_cq *c = (void *)cmd;

	/* what the provider asks for is what there is */
	if (c->cq_entry_size != creating->attr.cq_stride || attr->cqe != creating->attr.cq_depth)
		return EINVAL;
	cq->cq.context = ctx;
	cq->cq.cqe = (int)attr->cqe;
	r->q_mmap_key = MAP_CQ;
	r->q_mmap_size = (__u64)attr->cqe * creating->attr.cq_stride;
	return 0;
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	return 0;
}

int ibv_cmd_create_qp_ex(struct ibv_context *ctx, struct verbs_qp *qp,
			 struct ibv_qp_init_attr_ex *attr, struct ibv_create_qp *cmd, size_t cmd_size,
			 struct ib_uverbs_create_qp_resp *resp, size_t resp_size)
{
	const struct client_attr *a = &creating->attr;
	struct efa_create_qp_resp *r = (void *)resp;
	const struct efa_create_qp *c = (void *)cmd;

	if (c->sq_ring_size != a->sq_depth * a->sq_entry)
		return EINVAL;
	qp->qp.context = ctx;
	qp->qp.pd = attr->pd;
	qp->qp.send_cq = attr->send_cq;
	qp->qp.recv_cq = attr->recv_cq;
	qp->qp.qp_type = attr->qp_type;
	qp->qp.qp_num = a->number;
	r->sq_db_mmap_key = MAP_DB;
	r->sq_db_offset = (uintptr_t)a->db % PAGE;
	r->llq_desc_mmap_key = MAP_SQ;
	r->llq_desc_offset = (uintptr_t)a->sq % PAGE;
	r->rq_db_mmap_key = r->rq_mmap_key = MAP_RECV;
	r->rq_mmap_size = PAGE;
	return 0;
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	return 0;
}

int ibv_cmd_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		      struct ibv_modify_qp *cmd, size_t cmd_size)
{
	return 0;
}

int ibv_cmd_create_ah(struct ibv_pd *pd, struct ibv_ah *ah, struct ibv_ah_attr *attr,
		      struct ib_uverbs_create_ah_resp *resp, size_t resp_size)
{
	struct efa_create_ah_resp *r = (void *)resp;

	ah->context = pd->context;
	ah->pd = pd;
	r->efa_address_handle = attr->dlid;
	return 0;
}

int ibv_cmd_destroy_ah(struct ibv_ah *ah)
{
	return 0;
}

/* The provider is compiled with these in place of mmap() and munmap(). */
void *vendors_mmap(void *hint, size_t bytes, int prot, int flags, int fd, off_t key);
void *vendors_mmap(void *hint, size_t bytes, int prot, int flags, int fd, off_t key)
{
	const struct client_attr *a = &creating->attr;

	switch (key) {
	case MAP_CQ:
		return a->cq;
	case MAP_DB:
		return (void *)((uintptr_t)a->db & ~(PAGE - 1));
	case MAP_SQ:
		return (void *)((uintptr_t)a->sq & ~(PAGE - 1));
	case MAP_RECV:
		return recv_queue;
	}
	errno = EINVAL;
	return (void *)-1;
}

int vendors_munmap(void *p, size_t bytes);
int vendors_munmap(void *p, size_t bytes)
{
	return 0;
}

/* --- a queue --- */

static int open_qp(struct client *e)
{
	struct ibv_context *ctx = &e->ctx->context;
	struct ibv_cq_init_attr_ex cq = {
		.cqe = e->attr.cq_depth,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
			    IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID,
	};
	struct efadv_cq_init_attr dv_cq = { .wc_flags = EFADV_WC_EX_WITH_IS_UNSOLICITED };
	struct ibv_qp_init_attr_ex qp = {
		.qp_type = IBV_QPT_DRIVER, .sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND,
		.cap = { .max_send_wr = e->attr.sq_depth, .max_send_sge = 1, .max_recv_wr = 1,
			 .max_recv_sge = 1, .max_inline_data = 32 },
	};
	struct efadv_qp_init_attr dv_qp = {
		.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD,
		.flags = EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV,
		.wr_flags = EFADV_WR_EX_WITH_PROCESSING_HINTS,
	};
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };

	if (e->attr.sq_entry == 128) {
		dv_qp.flags |= EFADV_QP_FLAGS_INLINE_WRITE;
		qp.cap.max_inline_data = CLIENT_INLINE;
	}
	e->pd = efa_alloc_pd(ctx);
	e->cq = efadv_create_cq(ctx, &cq, &dv_cq, sizeof(dv_cq));
	if (!e->pd || !e->cq)
		return -errno;
	qp.pd = e->pd;
	qp.send_cq = qp.recv_cq = ibv_cq_ex_to_cq(e->cq);
	e->qp = efadv_create_qp_ex(ctx, &qp, &dv_qp, sizeof(dv_qp));
	return e->qp ? -efa_modify_qp(e->qp, &rts, IBV_QP_STATE) : -errno;
}

struct client *client_new(const struct client_attr *attr)
{
	struct client *e = calloc(1, sizeof(*e));
	int err;

	e->attr = *attr;
	creating = e;
	e->device = &provider->alloc_device(NULL)->device;
	verbs_get_device(e->device)->ops = provider;
	e->ctx = provider->alloc_context(e->device, -1, NULL);
	err = e->ctx ? open_qp(e) : -ENOMEM;
	creating = NULL;
	if (!err)
		return e;
	fprintf(stderr, "no queue of the provider: %s\n", strerror(-err));
	return NULL;
}

void client_delete(struct client *e)
{
	if (!e)
		return;
	if (e->ah)
		efa_destroy_ah(e->ah);
	efa_destroy_qp(e->qp);
	efa_destroy_cq(ibv_cq_ex_to_cq(e->cq));
	efa_dealloc_pd(e->pd);
	free(container_of(e->ctx, struct efa_context, ibvctx));
	provider->uninit_device(verbs_get_device(e->device));
	free(e);
}

static int address(struct client *e, uint16_t handle)
{
	struct ibv_ah_attr attr = { .dlid = handle };

	if (e->ah && e->handle == handle)
		return 0;
	if (e->ah)
		efa_destroy_ah(e->ah);
	e->handle = handle;
	e->ah = efa_create_ah(e->pd, &attr);
	return e->ah ? 0 : -errno;
}

/* The older calls have sends only. */
static int post_send(struct client *e, const struct client_wr *wr)
{
	struct ibv_sge sge = { .addr = wr->laddr, .length = wr->len, .lkey = wr->lkey };
	struct ibv_send_wr send = {
		.wr_id = wr->id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = e->ah, .remote_qpn = wr->number, .remote_qkey = wr->qkey },
	}, *bad;

	return -efa_post_send(e->qp, &send, &bad);
}

static void build(struct client *e, const struct client_wr *wr)
{
	struct ibv_qp_ex *qp = &to_efa_qp(e->qp)->verbs_qp.qp_ex;

	qp->wr_id = wr->id;
	if (wr->send)
		ibv_wr_send(qp);
	else if (wr->read)
		ibv_wr_rdma_read(qp, wr->rkey, wr->raddr);
	else if (wr->has_imm)
		ibv_wr_rdma_write_imm(qp, wr->rkey, wr->raddr, htobe32(wr->imm));
	else
		ibv_wr_rdma_write(qp, wr->rkey, wr->raddr);
	if (wr->inlined)
		ibv_wr_set_inline_data(qp, (void *)wr->data, wr->len);
	else
		ibv_wr_set_sge(qp, wr->lkey, wr->laddr, wr->len);
	ibv_wr_set_ud_addr(qp, e->ah, wr->number, wr->qkey);
	efadv_wr_set_processing_hints(efadv_qp_from_ibv_qp_ex(qp),
				      wr->hint ? EFADV_WR_PROCESSING_HINT_BURST_PPS_SENSITIVE : 0);
}

int client_post(struct client *e, const struct client_wr *wr, int n)
{
	struct ibv_qp_ex *qp = &to_efa_qp(e->qp)->verbs_qp.qp_ex;
	int i, err = 0;

	for (i = 0; i < n && !err; i++)
		err = address(e, wr[i].ah);
	if (err)
		return err;
	if (e->attr.older && wr->send)
		return post_send(e, wr);
	ibv_wr_start(qp);
	for (i = 0; i < n; i++)
		build(e, &wr[i]);
	return -ibv_wr_complete(qp);
}

/* The provider calls a read a send, and sends are refused. */
static bool is_read(enum ibv_wc_opcode op)
{
	return op == IBV_WC_RDMA_READ || op == IBV_WC_SEND;
}

static bool poll_older(struct client *e, struct client_done *done)
{
	struct ibv_wc wc;

	if (efa_poll_cq(ibv_cq_ex_to_cq(e->cq), 1, &wc) != 1)
		return false;
	*done = (struct client_done) {
		.id = wc.wr_id, .status = wc.vendor_err, .qp = wc.qp_num,
		.read = is_read(wc.opcode),
		.received = wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM,
	};
	if (done->received) {
		done->has_imm = wc.wc_flags & IBV_WC_WITH_IMM;
		done->unsolicited = true;	/* these calls do not say */
		done->imm = be32toh(wc.imm_data);
		done->len = wc.byte_len;
		done->src_qp = wc.src_qp;
		done->ah = wc.slid;
	}
	return true;
}

bool client_poll(struct client *e, struct client_done *done)
{
	struct ibv_poll_cq_attr attr = { 0 };

	if (e->attr.older)
		return poll_older(e, done);
	if (ibv_start_poll(e->cq, &attr))
		return false;
	*done = (struct client_done) {
		.status = ibv_wc_read_vendor_err(e->cq), .qp = ibv_wc_read_qp_num(e->cq),
		.read = is_read(ibv_wc_read_opcode(e->cq)),
		.received = ibv_wc_read_opcode(e->cq) == IBV_WC_RECV_RDMA_WITH_IMM,
	};
	if (done->received) {
		done->has_imm = ibv_wc_read_wc_flags(e->cq) & IBV_WC_WITH_IMM;
		done->unsolicited = efadv_wc_is_unsolicited(efadv_cq_from_ibv_cq_ex(e->cq));
		done->imm = be32toh(ibv_wc_read_imm_data(e->cq));
		done->len = ibv_wc_read_byte_len(e->cq);
		done->src_qp = ibv_wc_read_src_qp(e->cq);
		done->ah = ibv_wc_read_slid(e->cq);
	} else {
		done->id = e->cq->wr_id;
	}
	ibv_end_poll(e->cq);
	return true;
}

bool client_present(bool older)
{
	(void)older;
	return true;
}

bool client_counts(void)
{
	return true;
}

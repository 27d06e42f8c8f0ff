// SPDX-License-Identifier: MIT
/*
 * A fake RDMA device "fake0" in place of libibverbs and librdmacm (GDA_LIBIBVERBS and
 * GDA_LIBRDMACM name this library): for QPs of one process, carried out when they are posted
 * or polled. It checks keys, rights and ranges as an RDMA device does.
 *
 * GDA_FAKE in the environment names one thing that it does wrong:
 *
 *	mute	what is posted has no completion, and neither has a flush
 *	silent	an id that is destroyed tells its peer nothing, nor does one that disconnects
 *
 * GDA_FAKE_DELAY=N: events of rdma_cm come up to N ms late, each id's in their order.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/verbs.h>

/* These are also macros. */
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define FAKE_WINDOW	256
#define FAKE_SGE	4
#define FAKE_INLINE	512
#define FAKE_CQ		1024
#define FAKE_RNR_NS	1000000000ULL

struct fake_cq {
	struct ibv_cq ib;
	struct fake_qp *qp;		/* that sends */
	struct ibv_wc wc[FAKE_CQ];
	unsigned int head, tail;
};

struct fake_wr {
	struct ibv_send_wr wr;
	struct ibv_sge sge[FAKE_SGE];
	unsigned char data[FAKE_INLINE];
};

struct fake_qp {
	struct ibv_qp ib;
	struct fake_qp *next;
	uint32_t dest;
	struct fake_wr sq[FAKE_WINDOW];
	unsigned int head, tail;
	unsigned int nrecv;
	uint64_t recv_id;		/* of each receive */
	uint64_t rnr_since;
};

struct fake_mr {
	struct ibv_mr ib;
	struct fake_mr *next;
	uint64_t iova;
	int access;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_qp *qps;
static struct fake_mr *mrs;
static uint32_t next_qpn = 17, next_key = 0x1000;

static int fake_poll(struct ibv_cq *ib, int n, struct ibv_wc *wc);
static int fake_send(struct ibv_qp *ib, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
static int fake_recv(struct ibv_qp *ib, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

static struct ibv_device device = {
	.node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, .name = "fake0",
};

static struct ibv_context context = {
	.device = &device, .cmd_fd = -1, .async_fd = -1,
	.ops = { .poll_cq = fake_poll, .post_send = fake_send, .post_recv = fake_recv },
};

static bool fake_does(const char *what)
{
	const char *does = getenv("GDA_FAKE");

	return does && !strcmp(does, what);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* --- the device --- */

struct ibv_device **ibv_get_device_list(int *n)
{
	struct ibv_device **list = calloc(2, sizeof(*list));

	*n = list ? 1 : 0;
	if (list)
		list[0] = &device;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *dev)
{
	(void)dev;
	return &context;
}

int ibv_close_device(struct ibv_context *ctx)
{
	(void)ctx;
	return 0;
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	(void)ctx;
	*attr = (struct ibv_device_attr) {
		.max_mr_size = ~0ULL, .max_qp = 4096, .max_qp_wr = FAKE_WINDOW, .max_cq = 8192,
		.max_cqe = FAKE_CQ, .max_mr = 1 << 20, .max_pd = 4096, .max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16, .atomic_cap = IBV_ATOMIC_HCA,
	};
	return 0;
}

int ibv_query_port(struct ibv_context *ctx, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	(void)ctx;
	(void)port;
	((struct ibv_port_attr *)(void *)attr)->max_msg_sz = 1U << 30;
	((struct ibv_port_attr *)(void *)attr)->link_layer = IBV_LINK_LAYER_ETHERNET;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	if (pd)
		pd->context = ctx;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	struct fake_mr *mr = calloc(1, sizeof(*mr));
	unsigned char seen;
	size_t at;

	if (!mr)
		return NULL;
	/* memory that is not there is no MR */
	for (at = 0; at < length; at += 4096)
		if (mincore((void *)(((uintptr_t)addr + at) & ~4095UL), 1, &seen)) {
			free(mr);
			errno = EFAULT;
			return NULL;
		}
	mr->ib.pd = pd;
	mr->ib.context = pd->context;
	mr->ib.addr = addr;
	mr->ib.length = length;
	mr->iova = iova;
	mr->access = access;
	pthread_mutex_lock(&lock);
	next_key += 0x100 + (uint32_t)(now_ns() & 0xff);
	mr->ib.lkey = next_key;
	mr->ib.rkey = next_key;
	mr->next = mrs;
	mrs = mr;
	pthread_mutex_unlock(&lock);
	return &mr->ib;
}

int ibv_dereg_mr(struct ibv_mr *ib)
{
	struct fake_mr **link = &mrs;

	pthread_mutex_lock(&lock);
	while (&(*link)->ib != ib)
		link = &(*link)->next;
	*link = (*link)->next;
	pthread_mutex_unlock(&lock);
	free(ib);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct fake_cq *cq = calloc(1, sizeof(*cq));

	(void)cqe;
	(void)cq_context;
	(void)channel;
	(void)vector;
	if (!cq)
		return NULL;
	cq->ib.context = ctx;
	return &cq->ib;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(cq);
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct fake_qp *qp;

	if (attr->cap.max_inline_data > FAKE_INLINE || attr->cap.max_send_wr > FAKE_WINDOW ||
	    attr->cap.max_send_sge > FAKE_SGE) {
		errno = EINVAL;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	qp->ib.context = pd->context;
	qp->ib.pd = pd;
	qp->ib.send_cq = attr->send_cq;
	qp->ib.recv_cq = attr->recv_cq;
	qp->ib.state = IBV_QPS_RESET;
	pthread_mutex_lock(&lock);
	qp->ib.qp_num = next_qpn++;
	((struct fake_cq *)attr->send_cq)->qp = qp;
	qp->next = qps;
	qps = qp;
	pthread_mutex_unlock(&lock);
	return &qp->ib;
}

int ibv_destroy_qp(struct ibv_qp *ib)
{
	struct fake_qp **link = &qps;

	pthread_mutex_lock(&lock);
	while (&(*link)->ib != ib)
		link = &(*link)->next;
	*link = (*link)->next;
	((struct fake_cq *)ib->send_cq)->qp = NULL;
	pthread_mutex_unlock(&lock);
	free(ib);
	return 0;
}

/* --- work, under the lock --- */

static void complete(struct ibv_cq *ib, const struct ibv_wc *wc)
{
	struct fake_cq *cq = (struct fake_cq *)ib;

	if (cq->tail - cq->head == FAKE_CQ)
		abort();	/* whoever made it too small */
	cq->wc[cq->tail++ % FAKE_CQ] = *wc;
}

static void done(struct fake_qp *qp, const struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	const struct ibv_wc wc = { .wr_id = wr->wr_id, .status = status };

	if (status || wr->send_flags & IBV_SEND_SIGNALED)
		complete(qp->ib.send_cq, &wc);
}

static void fail_qp(struct fake_qp *qp)
{
	qp->ib.state = IBV_QPS_ERR;
	if (fake_does("mute"))
		return;
	for (; qp->head != qp->tail; qp->head++)
		done(qp, &qp->sq[qp->head % FAKE_WINDOW].wr, IBV_WC_WR_FLUSH_ERR);
}

int ibv_modify_qp(struct ibv_qp *ib, struct ibv_qp_attr *attr, int mask)
{
	struct fake_qp *qp = (struct fake_qp *)ib;

	pthread_mutex_lock(&lock);
	if (attr->qp_state == IBV_QPS_RTR)
		qp->dest = attr->dest_qp_num;
	if (attr->qp_state == IBV_QPS_RESET)
		qp->head = qp->tail;
	if (attr->qp_state == IBV_QPS_ERR)
		fail_qp(qp);
	if (mask & IBV_QP_STATE)
		ib->state = attr->qp_state;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* Where @bytes at @addr of the MR with this key are, if @pd has it and it grants @access. */
static unsigned char *span(const struct ibv_pd *pd, uint32_t key, uint64_t addr, uint32_t bytes,
			   int access)
{
	const struct fake_mr *mr = mrs;

	while (mr && mr->ib.rkey != key)
		mr = mr->next;
	if (!mr || mr->ib.pd != pd || (mr->access & access) != access || addr < mr->iova ||
	    addr - mr->iova > mr->ib.length || bytes > mr->ib.length - (addr - mr->iova))
		return NULL;
	return (unsigned char *)mr->ib.addr + (addr - mr->iova);
}

static struct fake_qp *peer_of(const struct fake_qp *qp)
{
	struct fake_qp *peer = qps;

	while (peer && (peer->ib.qp_num != qp->dest || peer->ib.state < IBV_QPS_RTR ||
			peer->ib.state == IBV_QPS_ERR))
		peer = peer->next;
	return peer;
}

/* Copy between a segment list and @remote. */
static enum ibv_wc_status copy(struct fake_qp *qp, const struct fake_wr *w, unsigned char *remote,
			       bool out)
{
	uint32_t done_bytes = 0;
	int i;

	for (i = 0; i < w->wr.num_sge; i++) {
		const struct ibv_sge *sge = &w->sge[i];
		unsigned char *local = w->wr.send_flags & IBV_SEND_INLINE ?
				       (unsigned char *)w->data :
				       span(qp->ib.pd, sge->lkey, sge->addr, sge->length,
					    out ? 0 : IBV_ACCESS_LOCAL_WRITE);

		if (!local)
			return IBV_WC_LOC_PROT_ERR;
		if (out)
			memcpy(remote + done_bytes, local, sge->length);
		else
			memcpy(local, remote + done_bytes, sge->length);
		done_bytes += sge->length;
	}
	return IBV_WC_SUCCESS;
}

static uint32_t length_of(const struct fake_wr *w)
{
	uint32_t bytes = 0;
	int i;

	for (i = 0; i < w->wr.num_sge; i++)
		bytes += w->sge[i].length;
	return bytes;
}

static enum ibv_wc_status atomic(struct fake_qp *qp, struct fake_qp *peer, const struct fake_wr *w)
{
	const struct ibv_send_wr *wr = &w->wr;
	unsigned char *at = span(peer->ib.pd, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr, 8,
				 IBV_ACCESS_REMOTE_ATOMIC);
	uint64_t old;

	if (!at)
		return IBV_WC_REM_ACCESS_ERR;
	old = __atomic_load_n((uint64_t *)(void *)at, __ATOMIC_ACQUIRE);
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		__atomic_store_n((uint64_t *)(void *)at, old + wr->wr.atomic.compare_add,
				 __ATOMIC_RELEASE);
	else if (old == wr->wr.atomic.compare_add)
		__atomic_store_n((uint64_t *)(void *)at, wr->wr.atomic.swap, __ATOMIC_RELEASE);
	return copy(qp, w, (unsigned char *)&old, false);
}

static enum ibv_wc_status transfer(struct fake_qp *qp, struct fake_qp *peer,
				   const struct fake_wr *w)
{
	const struct ibv_send_wr *wr = &w->wr;
	bool out = wr->opcode != IBV_WR_RDMA_READ;
	uint32_t bytes = length_of(w);
	unsigned char *remote = span(peer->ib.pd, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, bytes,
				     out ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ);

	if (!remote && bytes)
		return IBV_WC_REM_ACCESS_ERR;
	return copy(qp, w, remote, out);
}

/* Return: false if the peer has no receive, and it is to be tried again. */
static bool carry_out(struct fake_qp *qp, const struct fake_wr *w, enum ibv_wc_status *status)
{
	const struct ibv_send_wr *wr = &w->wr;
	bool imm = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct fake_qp *peer = peer_of(qp);

	if (!peer) {
		*status = IBV_WC_RETRY_EXC_ERR;
		return true;
	}
	if (imm && !peer->nrecv) {
		if (!qp->rnr_since)
			qp->rnr_since = now_ns();
		*status = IBV_WC_RNR_RETRY_EXC_ERR;
		return now_ns() - qp->rnr_since > FAKE_RNR_NS;
	}
	qp->rnr_since = 0;
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
		*status = atomic(qp, peer, w);
	else
		*status = transfer(qp, peer, w);
	if (*status == IBV_WC_REM_ACCESS_ERR) {
		fail_qp(peer);
	} else if (!*status && imm) {
		const struct ibv_wc wc = {
			.wr_id = peer->recv_id, .opcode = IBV_WC_RECV_RDMA_WITH_IMM,
			.imm_data = wr->imm_data,
			.byte_len = length_of(w), .wc_flags = IBV_WC_WITH_IMM,
		};

		peer->nrecv--;
		complete(peer->ib.recv_cq, &wc);
	}
	return true;
}

/* What comes back of a read comes late: whatever has no fence goes before it. */
static void delay_read(struct fake_qp *qp)
{
	struct fake_wr *w = &qp->sq[qp->head % FAKE_WINDOW];
	struct fake_wr *next = &qp->sq[(qp->head + 1) % FAKE_WINDOW], read = *w;

	if (qp->tail - qp->head < 2 || w->wr.opcode != IBV_WR_RDMA_READ ||
	    next->wr.send_flags & IBV_SEND_FENCE)
		return;
	*w = *next;
	*next = read;
}

static void progress(struct fake_qp *qp)
{
	if (fake_does("mute"))
		return;
	while (qp->ib.state == IBV_QPS_RTS && qp->head != qp->tail) {
		const struct fake_wr *w = &qp->sq[qp->head % FAKE_WINDOW];
		enum ibv_wc_status status;

		if (fake_does("late"))
			delay_read(qp);
		if (!carry_out(qp, w, &status))
			return;
		qp->head++;
		done(qp, &w->wr, status);
		if (status)
			fail_qp(qp);
	}
}

static int fake_send(struct ibv_qp *ib, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *qp = (struct fake_qp *)ib;
	int err = 0;

	pthread_mutex_lock(&lock);
	for (; wr && !err; wr = wr->next) {
		struct fake_wr *w = &qp->sq[qp->tail % FAKE_WINDOW];

		if (ib->state < IBV_QPS_RTS || qp->tail - qp->head == FAKE_WINDOW) {
			*bad = wr;
			err = ENOMEM;
			break;
		}
		w->wr = *wr;
		memcpy(w->sge, wr->sg_list, sizeof(*wr->sg_list) * (size_t)wr->num_sge);
		if (wr->send_flags & IBV_SEND_INLINE)
			memcpy(w->data, (void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
		qp->tail++;
	}
	if (ib->state == IBV_QPS_ERR)
		fail_qp(qp);
	else
		progress(qp);
	pthread_mutex_unlock(&lock);
	return err;
}

static int fake_recv(struct ibv_qp *ib, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_qp *qp = (struct fake_qp *)ib;

	(void)bad;
	pthread_mutex_lock(&lock);
	qp->recv_id = wr->wr_id;
	qp->nrecv++;
	pthread_mutex_unlock(&lock);
	return 0;
}

static int fake_poll(struct ibv_cq *ib, int n, struct ibv_wc *wc)
{
	struct fake_cq *cq = (struct fake_cq *)ib;
	int i;

	pthread_mutex_lock(&lock);
	if (cq->qp)
		progress(cq->qp);
	for (i = 0; i < n && cq->head != cq->tail; i++)
		wc[i] = cq->wc[cq->head++ % FAKE_CQ];
	pthread_mutex_unlock(&lock);
	return i;
}

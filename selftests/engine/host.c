// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The test host's objects and its gda_host_* callbacks. See host.h.
 */
#include <stdlib.h>

#include "host.h"

#define th_of(ptr, type, member) \
	((type *)(void *)((char *)(uintptr_t)(ptr) - offsetof(type, member)))

u64 th_rand(struct th_rand *r)
{
	u64 z;

	r->s += 0x9e3779b97f4a7c15ULL;
	z = r->s;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

u32 th_below(struct th_rand *r, u32 n)
{
	return (u32)((th_rand(r) >> 32) * n >> 32);
}

void *th_alloc(size_t align, size_t size)
{
	void *p = NULL;

	if (posix_memalign(&p, align, size))
		abort();
	memset(p, 0, size);
	return p;
}

struct th_mr *th_mr_new(struct th_dev *dev, void *dom, u64 iova, u64 size, u32 access,
			u32 shift, u32 offset)
{
	struct th_mr *mr = calloc(1, sizeof(*mr));
	u32 i;

	for (i = 1; i < TH_KEYS && dev->keys[i]; i++)
		;
	if (!mr || i == TH_KEYS)
		abort();
	dev->keys[i] = mr;
	mr->mem.pd = dom;
	mr->mem.iova = iova;
	mr->mem.size = size;
	mr->mem.key = i << 8 | (dev->variant++ & 0xff);
	mr->mem.access = access;
	mr->mem.state = GDA_MR_LIVE;
	mr->shift = shift;
	mr->offset = offset;
	/* MRs of an absurd size, for range checks, have no memory */
	if (size >> 32) {
		mr->windowless = true;
		return mr;
	}
	mr->npages = (u32)((offset + size + (1ULL << shift) - 1) >> shift);
	mr->pages = calloc(mr->npages + 1, sizeof(*mr->pages));
	if (!mr->pages)
		abort();
	for (i = 0; i < mr->npages; i++)
		mr->pages[i] = th_alloc(64, (size_t)1 << shift);
	return mr;
}

void th_mr_free(struct th_dev *dev, struct th_mr *mr)
{
	u32 i;

	for (i = 0; i < mr->npages; i++)
		free(mr->pages[i]);
	free(mr->pages);
	dev->keys[mr->mem.key >> 8] = NULL;
	free(mr);
}

u8 *th_mr_at(const struct th_mr *mr, u64 off)
{
	off += mr->offset;
	return mr->pages[off >> mr->shift] + (off & ((1ULL << mr->shift) - 1));
}

void th_mr_put(struct th_mr *mr, u64 off, const void *buf, u64 len)
{
	const u8 *src = buf;

	while (len--)
		*th_mr_at(mr, off++) = *src++;
}

void th_mr_get(const struct th_mr *mr, u64 off, void *buf, u64 len)
{
	u8 *dst = buf;

	while (len--)
		*dst++ = *th_mr_at(mr, off++);
}

/*
 * TH_ORDER in the environment has every queue visited through order.c: "plain", one request after
 * the other, or a number, which seeds what is chosen; with "split:" before it, requests take several
 * steps.
 */
static u32 th_choose(struct gda_order *o, u32 n)
{
	return th_below(o->arg, n);
}

static void th_order_new(struct th_qp *qp)
{
	const char *how = getenv("TH_ORDER");

	if (!how)
		return;
	qp->q.order = th_alloc(64, sizeof(*qp->q.order));
	if (!strcmp(how, "plain"))
		return;
	if (!strncmp(how, "split:", 6)) {
		qp->q.order->split = GDA_ORDER_SPLIT_ALL;
		how += 6;
	}
	qp->choices.s = strtoull(how, NULL, 0);
	qp->q.order->choose = th_choose;
	qp->q.order->arg = &qp->choices;
}

struct th_qp *th_qp_new(struct th_dev *dev, void *dom, u32 depth, u32 cq_depth)
{
	struct th_qp *qp = th_alloc(64, sizeof(*qp));
	u32 entries = cq_depth ? cq_depth : 1;

	qp->dev = dev;
	qp->sq = th_alloc(64, (size_t)depth * GDA_MLX5_SLOT_BYTES);
	qp->cqe = th_alloc(64, (size_t)entries * 64);
	qp->cq.dialect = &gda_dialect_mlx5;
	qp->cq.entries = qp->cqe;
	qp->cq.depth = entries;
	qp->cq.collapsed = !cq_depth;
	if (cq_depth)
		qp->cq.consumer = &qp->consumer;
	gda_cq_init(&qp->cq);

	qp->q.dialect = &gda_dialect_mlx5;
	qp->q.sq = qp->sq;
	qp->q.dbrec = qp->dbrec;
	qp->q.db = &qp->db;
	qp->q.cq = &qp->cq;
	qp->q.sent = &qp->sent;
	qp->q.recv = &qp->recv;
	qp->q.pd = dom;
	qp->q.depth = depth;
	qp->q.qpn = TH_QPN;
	qp->q.max_sge = GDA_ENGINE_MAX_SGE;
	qp->q.sends = true;
	qp->q.state = GDA_QP_INIT;
	th_order_new(qp);
	gda_engine_init(&qp->q);
	return qp;
}

void th_qp_free(struct th_qp *qp)
{
	free(qp->q.order);
	free(qp->sq);
	free(qp->cqe);
	free(qp);
}

void th_again(struct th_qp *qp)
{
	qp->q.state = GDA_QP_READY;
	if (qp->q.order)
		qp->q.order->flight.stopped = false;
}

void th_moved(struct th_qp *qp)
{
	struct gda_engine_qp *front = qp->q.order ? &qp->q.order->flight.front : &qp->q;

	front->sq = qp->q.sq;
	front->dbrec = qp->q.dbrec;
	front->db = qp->q.db;
}

bool th_busy(const struct th_qp *qp)
{
	return qp->q.busy || (qp->q.order && qp->q.order->n);
}

void th_qp_pair(struct th_qp *a, struct th_qp *b)
{
	a->q.peer = &b->q;
	b->q.peer = &a->q;
	a->q.state = GDA_QP_READY;
	b->q.state = GDA_QP_READY;
}

void *th_seg(struct th_qp *qp, u64 index, u32 seg)
{
	u64 slot = (index + seg / 4) & (qp->q.depth - 1);

	return qp->sq + slot * GDA_MLX5_SLOT_BYTES + seg % 4 * GDA_MLX5_SEG_BYTES;
}

void *th_slot(struct th_qp *qp, u64 index)
{
	return memset(th_seg(qp, index, 0), 0, GDA_MLX5_SLOT_BYTES);
}

struct gda_mlx5_ctrl *th_ctrl(struct th_qp *qp, u64 index)
{
	return th_seg(qp, index, 0);
}

static u64 th_begin(struct th_qp *qp, u32 opcode, u32 ds, u8 ce)
{
	u64 index = qp->next;
	u32 i;

	for (i = 0; i < (ds + 3) / 4; i++)
		th_slot(qp, index + i);
	gda_mlx5_set_ctrl(th_seg(qp, index, 0), index, opcode, qp->q.qpn, ds, ce, 0);
	qp->next += (ds + 3) / 4;
	return index;
}

static void th_raddr(struct th_qp *qp, u64 index, const struct th_mr *r, u64 roff)
{
	gda_mlx5_set_raddr(th_seg(qp, index, 1), r->mem.iova + roff, r->mem.key);
}

u64 th_nop(struct th_qp *qp, u8 ce)
{
	return th_begin(qp, GDA_MLX5_NOP, 1, ce);
}

u64 th_rdma(struct th_qp *qp, u32 opcode, u8 ce, const struct th_mr *l, u64 loff,
	    const struct th_mr *r, u64 roff, u32 len)
{
	u64 index = th_begin(qp, opcode, 2 + (len != 0), ce);

	th_raddr(qp, index, r, roff);
	if (len)
		gda_mlx5_set_data(th_seg(qp, index, 2), l->mem.iova + loff, l->mem.key, len);
	return index;
}

u64 th_list(struct th_qp *qp, u32 opcode, u8 ce, const struct gda_sge *sge, u32 n,
	    const struct th_mr *r, u64 roff)
{
	u64 index = th_begin(qp, opcode, 2 + n, ce);
	u32 i;

	th_raddr(qp, index, r, roff);
	for (i = 0; i < n; i++)
		gda_mlx5_set_data(th_seg(qp, index, 2 + i), sge[i].addr, sge[i].key, sge[i].len);
	return index;
}

u64 th_rdma2(struct th_qp *qp, u32 opcode, u8 ce, const struct gda_sge *sge,
	     const struct th_mr *r, u64 roff)
{
	return th_list(qp, opcode, ce, sge, 2, r, roff);
}

u64 th_inline(struct th_qp *qp, u8 ce, const void *data, u32 len, const struct th_mr *r,
	      u64 roff)
{
	u32 ds = 2 + (4 + len + 15) / 16;
	u64 index = th_begin(qp, GDA_MLX5_WRITE, ds, ce);
	struct gda_mlx5_inline *inl = th_seg(qp, index, 2);
	const u8 *src = data;
	u32 i;

	th_raddr(qp, index, r, roff);
	inl->byte_count = gda_be32(len | GDA_MLX5_INLINE);
	for (i = 4; i < len + 4; i++)
		((u8 *)th_seg(qp, index, 2 + i / 16))[i % 16] = *src++;
	return index;
}

u64 th_atomic(struct th_qp *qp, u32 opcode, u8 ce, const struct th_mr *l, u64 loff,
	      const struct th_mr *r, u64 roff, u64 swap_add, u64 compare)
{
	u64 index = th_begin(qp, opcode, 4, ce);

	th_raddr(qp, index, r, roff);
	gda_mlx5_set_atomic(th_seg(qp, index, 2), swap_add, compare);
	gda_mlx5_set_data(th_seg(qp, index, 3), l->mem.iova + loff, l->mem.key, 8);
	return index;
}

u64 th_imm(struct th_qp *qp, u8 ce, u32 imm, const struct th_mr *l, u64 loff,
	   const struct th_mr *r, u64 roff, u32 len)
{
	u64 index = th_rdma(qp, GDA_MLX5_WRITE_IMM, ce, l, loff, r, roff, len);

	th_ctrl(qp, index)->imm = gda_be32(imm);
	return index;
}

u64 th_send(struct th_qp *qp, u8 ce, const struct gda_sge *sge, u32 n)
{
	u64 index = th_begin(qp, GDA_MLX5_SEND, 1 + n, ce);
	u32 i;

	for (i = 0; i < n; i++)
		gda_mlx5_set_data(th_seg(qp, index, 1 + i), sge[i].addr, sge[i].key, sge[i].len);
	return index;
}

u64 th_send_inline(struct th_qp *qp, u8 ce, const void *data, u32 len)
{
	u64 index = th_begin(qp, GDA_MLX5_SEND, 1 + (4 + len + 15) / 16, ce);
	struct gda_mlx5_inline *inl = th_seg(qp, index, 1);
	const u8 *src = data;
	u32 i;

	inl->byte_count = gda_be32(len | GDA_MLX5_INLINE);
	for (i = 4; i < len + 4; i++)
		((u8 *)th_seg(qp, index, 1 + i / 16))[i % 16] = *src++;
	return index;
}

u64 th_wait(struct th_qp *qp, u8 ce, u32 cqn, u32 index)
{
	u64 slot = th_begin(qp, GDA_MLX5_WAIT, 2, ce);

	gda_mlx5_set_wait(th_seg(qp, slot, 1), cqn, index);
	return slot;
}

u64 th_dump(struct th_qp *qp, u8 ce, const struct th_mr *l, u64 loff, u32 len)
{
	u64 index = th_begin(qp, GDA_MLX5_DUMP, 2, ce);

	gda_mlx5_set_data(th_seg(qp, index, 1), l->mem.iova + loff, l->mem.key, len);
	return index;
}

u64 th_masked(struct th_qp *qp, u32 opcode, u8 ce, const struct th_mr *l, u64 loff,
	      const struct th_mr *r, u64 roff, const struct th_masked *m)
{
	u32 opmod = m->width == 4 ? GDA_MLX5_OPMOD_4BYTE : GDA_MLX5_OPMOD_8BYTE;
	u32 ds = m->width == 8 && opcode == GDA_MLX5_MASKED_CS ? 5 : 4;
	u64 index = th_begin(qp, opmod << 24 | opcode, ds, ce);

	th_raddr(qp, index, r, roff);
	if (m->width == 4)
		gda_mlx5_set_masked4(th_seg(qp, index, 2), (u32)m->swap_add, (u32)m->compare,
				     (u32)m->swap_mask, (u32)m->compare_mask);
	else
		gda_mlx5_set_masked8(th_seg(qp, index, 2), m->swap_add, m->compare);
	if (ds == 5)
		gda_mlx5_set_masked8(th_seg(qp, index, 3), m->swap_mask, m->compare_mask);
	gda_mlx5_set_data(th_seg(qp, index, ds - 1), l->mem.iova + loff, l->mem.key, m->width);
	return index;
}

void th_ring_db(struct th_qp *qp, u64 next)
{
	__atomic_store_n(&qp->db, gda_mlx5_doorbell(next, qp->q.qpn), __ATOMIC_RELEASE);
}

void th_ring_rec(struct th_qp *qp, u64 next)
{
	__atomic_store_n(&qp->dbrec[1], gda_mlx5_dbrec(next), __ATOMIC_RELEASE);
}

void th_ring(struct th_qp *qp)
{
	th_ring_rec(qp, qp->next);
	th_ring_db(qp, qp->next);
}

u32 th_run(struct th_qp *qp)
{
	u32 sum = 0;
	u32 n;

	do {
		n = gda_engine_visit(&qp->q, 64, 1U << 16);
		sum += n;
	} while (n && !qp->delay_ns);
	qp->delay_ns = 0;
	return sum;
}

const struct gda_mlx5_cqe *th_cqe(const struct th_qp *qp)
{
	return qp->cq.entries;
}

const struct gda_mlx5_err_cqe *th_err(const struct th_qp *qp)
{
	return qp->cq.entries;
}

u32 th_cqe_opcode(const struct th_qp *qp)
{
	return th_cqe(qp)->op_own >> 4;
}

u16 th_cqe_counter(const struct th_qp *qp)
{
	/* as a poller loads it: one aligned word */
	__be32 last = __atomic_load_n((__be32 *)(uintptr_t)(qp->cqe + 60), __ATOMIC_ACQUIRE);

	return (u16)(gda_be32_to_cpu(last) >> 16);
}

u64 th_first_error(const struct th_qp *qp)
{
	return gda_be64_to_cpu(th_err(qp)->first_error);
}

bool th_never_fatal(struct gda_status st)
{
	(void)st;
	return false;
}

struct th_why th_why(const struct th_qp *qp, struct gda_status st)
{
	struct th_why why = { qp->q.dialect->syndrome(st), st.cause };

	return why;
}

u8 th_syndrome(const struct th_qp *qp)
{
	return th_why(qp, qp->q.first).syndrome;
}

/* The engine's callbacks. */

const struct gda_mem *gda_host_mem(const struct gda_engine_qp *q, u32 key)
{
	const struct th_qp *qp = th_of(q, struct th_qp, q);
	u32 i = key >> 8;

	return i < TH_KEYS && qp->dev->keys[i] ? &qp->dev->keys[i]->mem : NULL;
}

u32 gda_host_span(const struct gda_mem *mem, u64 off, u32 len, void **ptr)
{
	const struct th_mr *mr = th_of(mem, struct th_mr, mem);
	u32 size = 1U << mr->shift;
	u32 in;

	if (mr->windowless)
		return 0;
	off += mr->offset;
	in = (u32)off & (size - 1);
	*ptr = mr->pages[off >> mr->shift] + in;
	return min(len, size - in);
}

void gda_host_delay(struct gda_engine_qp *q, u32 ns)
{
	struct th_qp *qp = th_of(q, struct th_qp, q);

	qp->delay_ns = ns;
	qp->delays++;
}

int gda_host_wait(struct gda_engine_qp *q, u32 cqn, u32 index, bool resumed)
{
	struct th_qp *qp = th_of(q, struct th_qp, q);
	const struct th_qp *owner = qp->awaits;

	qp->waits++;
	qp->resumed += resumed;
	if (!owner || cqn != TH_CQN)
		return -(int)GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_CQ);
	if (qp->late)
		return -(int)GDA_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_CQ);
	return gda_cq_reached(&owner->cq, index);
}

int gda_host_recv(struct gda_engine_qp *peer, struct gda_recv *out)
{
	struct th_qp *qp = th_of(peer, struct th_qp, q);
	int ret = gda_rq_take(peer, out);

	qp->takes += ret == 1;
	return ret;
}

int gda_host_recv_end(struct gda_engine_qp *peer, const struct gda_completion *c)
{
	return gda_rq_end(peer, c);
}

bool gda_host_recv_flush(struct gda_engine_qp *q)
{
	return gda_rq_flush(q);
}

struct gda_engine_qp *gda_host_datagram(const struct gda_engine_qp *q)
{
	struct th_qp *to = th_of(q, struct th_qp, q)->reader;

	return to && q->work.to.number == to->q.qpn && q->work.to.key == TH_QKEY ? &to->q : NULL;
}

struct gda_status (*th_target)(struct gda_engine_qp *q, struct gda_engine_qp **peer);

struct gda_status gda_host_target(struct gda_engine_qp *q, struct gda_engine_qp **peer)
{
	return th_target(q, peer);
}

int gda_host_recv_datagram(struct gda_engine_qp *q, struct gda_engine_qp *peer,
			   const struct gda_exec_mems *mems)
{
	return gda_rq_datagram(q, peer, mems);
}

void gda_host_fail(struct gda_engine_qp *q, u32 fail)
{
	struct th_qp *qp = th_of(q, struct th_qp, q);

	qp->fails++;
	if (!q->fail)
		q->fail = fail;
}

bool gda_host_stray(struct gda_engine_qp *q, u32 qpn)
{
	struct th_qp *qp = th_of(q, struct th_qp, q);
	struct th_qp *other = qp->neighbour;

	qp->strays++;
	if (!other || other->q.qpn != qpn)
		return false;
	other->q.fail = GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DOORBELL);
	return true;
}

void gda_host_record(const struct gda_engine_qp *q, struct gda_record *r)
{
	struct th_qp *qp = th_of(q, struct th_qp, q);

	if (qp->nrecords < TH_RECORDS)
		qp->records[qp->nrecords] = *r;
	qp->nrecords++;
}

void gda_host_event(struct gda_engine_cq *cq, const struct gda_completion *c)
{
	struct th_qp *qp = th_of(cq, struct th_qp, cq);

	qp->events += c->solicited || c->status.class;
}

bool gda_host_push(struct gda_engine_cq *cq, const struct gda_completion *c)
{
	struct th_qp *qp = th_of(cq, struct th_qp, cq);

	qp->pushes++;
	qp->events += c->solicited || c->status.class;
	if (gda_cq_push(cq, c))
		return true;
	qp->refused++;
	return false;
}

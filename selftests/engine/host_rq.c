// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Receive queues of the test host, and posters for them and of datagrams. See host.h.
 */
#include <endian.h>
#include <stdlib.h>

#include "host.h"

struct th_rq *th_rq_new(void *dom, u32 depth, u32 shift, bool linked)
{
	struct th_rq *rq = th_alloc(64, sizeof(*rq));
	struct gda_mlx5_srq_next *next;
	u32 i;

	rq->entries = th_alloc(64, (size_t)depth << shift);
	rq->rq.dialect = &gda_dialect_mlx5;
	rq->rq.entries = rq->entries;
	rq->rq.record = &rq->record;
	rq->rq.pd = dom;
	rq->rq.depth = depth;
	rq->rq.shift = shift;
	rq->rq.linked = linked;
	rq->tail = depth - 1;
	if (!gda_rq_init(&rq->rq))
		abort();
	for (i = 0; linked && i < depth; i++) {
		next = th_rq_entry(rq, i);
		next->next_wqe_index = htobe16((u16)((i + 1) & (depth - 1)));
	}
	return rq;
}

void th_rq_free(struct th_rq *rq)
{
	free(rq->entries);
	free(rq);
}

void *th_rq_entry(struct th_rq *rq, u32 at)
{
	return rq->entries + ((size_t)at << rq->rq.shift);
}

u32 th_rq_post(struct th_rq *rq, const struct gda_sge *sge, u32 n)
{
	u32 at = rq->rq.linked ? rq->head : rq->posted & (rq->rq.depth - 1), i;
	u32 index = rq->rq.linked ? at : rq->posted & 0xffff;
	const struct gda_mlx5_srq_next *next = th_rq_entry(rq, at);
	struct gda_mlx5_data *data = th_rq_entry(rq, at);

	if (rq->rq.linked) {
		rq->head = be16toh(next->next_wqe_index);
		data++;
	}
	for (i = 0; i < n; i++)
		gda_mlx5_set_data(data++, sge[i].addr, sge[i].key, sge[i].len);
	if (n + rq->rq.linked < (1U << rq->rq.shift) / GDA_MLX5_SEG_BYTES)
		gda_mlx5_set_data(data, 0, GDA_MLX5_INVALID_LKEY, 0);
	rq->posted++;
	__atomic_store_n(&rq->record, gda_be32(rq->posted & 0xffff), __ATOMIC_RELEASE);
	return index;
}

void th_rq_reuse(struct th_rq *rq, u32 index)
{
	struct gda_mlx5_srq_next *next = th_rq_entry(rq, rq->tail);

	next->next_wqe_index = htobe16((u16)index);
	rq->tail = index;
}

static const struct gda_port th_port = { .gid = { 0xfe, 0x80, 1, 2, 3 }, .lid = TH_LID };

void th_datagrams(struct th_qp *qp, struct th_qp *reader)
{
	qp->q.dialect = gda_dialect_mlx5.ud;
	qp->q.port = &th_port;
	qp->q.peer = NULL;
	qp->q.state = GDA_QP_READY;
	qp->reader = reader;
	gda_engine_init(&qp->q);
}

/* Control segment and address vector, as libmlx5 writes them. */
static u64 th_begin_datagram(struct th_qp *qp, u32 ds, u8 ce, const struct th_to *to)
{
	u64 index = qp->next;
	__be32 *key, *path;

	for (u32 i = 0; i < ds; i += 4)
		th_slot(qp, index + i / 4);
	gda_mlx5_set_ctrl(th_ctrl(qp, index), (u32)index, GDA_MLX5_SEND, qp->q.qpn, ds, ce, 0);
	key = th_seg(qp, index, 1);
	key[0] = gda_be32(to->key);
	key[2] = gda_be32(to->number | 0x80000000U);
	key[3] = gda_be32(3U << 24 | TH_LID);
	path = th_seg(qp, index, 2);
	path[2] = gda_be32(0x7704);
	path[3] = gda_be32(to->flow ? to->flow | 0x40000000U : 0);
	memset(th_seg(qp, index, 3), 0x42, 16);
	qp->next += (ds + 3) / 4;
	return index;
}

u64 th_datagram(struct th_qp *qp, u8 ce, const struct th_to *to, const struct gda_sge *sge, u32 n)
{
	u64 index = th_begin_datagram(qp, 4 + n, ce, to);

	for (u32 i = 0; i < n; i++)
		gda_mlx5_set_data(th_seg(qp, index, 4 + i), sge[i].addr, sge[i].key, sge[i].len);
	return index;
}

u64 th_datagram_inline(struct th_qp *qp, u8 ce, const struct th_to *to, const void *data, u32 len)
{
	u64 index = th_begin_datagram(qp, 4 + (4 + len + 15) / 16, ce, to);
	struct gda_mlx5_inline *inl = th_seg(qp, index, 4);
	const u8 *src = data;

	inl->byte_count = gda_be32(len | GDA_MLX5_INLINE);
	for (u32 i = 4; i < len + 4; i++)
		((u8 *)th_seg(qp, index, 4 + i / 16))[i % 16] = *src++;
	return index;
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Receive queues of the test host, and a poster for them. See host.h.
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

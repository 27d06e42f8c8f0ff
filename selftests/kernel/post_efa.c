// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * QPs of gda_test.h in the efa dialect, for suites that run a second time: t_qp_open(),
 * t_connect(), t_post(), t_ring() and t_poll() come here if GDA_DIALECT is "efa". Tests that write
 * entries or read completions by hand are of mlx5 alone.
 *
 * The id of a request is its index, and /dev/gda executes in order, so that the completion of
 * request I is entry I of the ring, and all before it are done.
 */
#include <stdlib.h>
#include "efa_queue.h"

#define STRIDE	(2 * GDA_EFA_CQE_BYTES)

bool t_speaks_efa(void)
{
	const char *name = getenv("GDA_DIALECT");

	return name && !strcmp(name, "efa");
}

void t_qp_efa_attr(uint32_t depth, struct gda_cq_create *cq, struct gda_qp_create *qp)
{
	*cq = (struct gda_cq_create) {
		.size = sizeof(*cq), .dialect = GDA_DIALECT_EFA, .stride = STRIDE,
		.depth = depth < 16 ? 16 : depth,
	};
	*qp = (struct gda_qp_create) {
		.size = sizeof(*qp), .dialect = GDA_DIALECT_EFA, .sq_depth = depth,
		.sq_entry = GDA_EFA_WIDE_BYTES,
	};
}

static int name(struct t_qp *qp, const struct t_qp *to)
{
	const struct t_efa target = { .fd = to->fd, .qpc = to->qpc };

	return t_efa_peer(qp->fd, &target, &qp->to);
}

int t_connect_efa(struct t_qp *a, struct t_qp *b)
{
	int err = name(a, b);

	return err || a == b ? err : name(b, a);
}

static uint8_t ctrl1_of(const struct t_wr *wr)
{
	uint8_t inlined = wr->data ? GDA_EFA_INLINE : 0;

	switch (wr->opcode) {
	case GDA_MLX5_NOP:		/* a write of no bytes */
	case GDA_MLX5_WRITE:
		return GDA_EFA_WRITE | inlined;
	case GDA_MLX5_WRITE_IMM:
		return GDA_EFA_WRITE | GDA_EFA_HAS_IMM | inlined;
	case GDA_MLX5_READ:
		return GDA_EFA_READ;
	default:
		return GDA_EFA_OP_MASK;	/* no operation of this dialect: it is refused */
	}
}

uint64_t t_post_efa(struct t_qp *qp, const struct t_wr *wr)
{
	struct gda_efa_wide_wqe *e = (void *)(qp->sq + (qp->next & (qp->depth - 1)) * sizeof(*e));
	uint32_t len = wr->data ? wr->data_len : wr->sge[0].len;

	memset(e, 0, sizeof(*e));
	gda_efa_set_what(&e->meta, qp->next, ctrl1_of(wr), (uint32_t)(qp->next / qp->depth),
			 (uint16_t)(wr->data ? len : wr->nsge), wr->imm);
	gda_efa_set_whom(&e->meta, qp->to.ah, qp->to.number, qp->to.qkey);
	gda_efa_set_segment(&e->remote, wr->raddr, wr->rkey, len);
	if (wr->data)
		memcpy(e->data, wr->data, len < sizeof(e->data) ? len : sizeof(e->data));
	else
		gda_efa_set_segment((void *)e->data, wr->sge[0].addr,
				    wr->sge[0].lkey >> GDA_EFA_LKEY_SHIFT, len);
	return qp->next++;
}

/* The name that mlx5 has for what went wrong, as the tests use it. */
static uint8_t as_mlx5(uint32_t status)
{
	switch (status) {
	case GDA_EFA_OK:
		return GDA_MLX5_SYND_NONE;
	case GDA_EFA_FLUSHED:
		return GDA_MLX5_SYND_WR_FLUSH;
	case GDA_EFA_BAD_LKEY:
		return GDA_MLX5_SYND_LOCAL_PROT;
	case GDA_EFA_BAD_LENGTH:
		return GDA_MLX5_SYND_LOCAL_LENGTH;
	case GDA_EFA_BAD_ADDRESS:
		return GDA_MLX5_SYND_REMOTE_ACCESS;
	case GDA_EFA_ABORT:
		return GDA_MLX5_SYND_REMOTE_OP;
	case GDA_EFA_UNRESPONSIVE:
	case GDA_EFA_UNKNOWN_PEER:
		return GDA_MLX5_SYND_RETRY_EXC;
	default:
		return GDA_MLX5_SYND_LOCAL_QP_OP;
	}
}

/* Of the queue's first error, which completions of efa do not have. */
static void first_error(const struct t_qp *qp, struct t_done *done)
{
	struct gda_qp_query q;

	if (t_qp_query(qp->fd, qp->qpc.handle, &q))
		return;
	done->first_syndrome = as_mlx5(q.syndrome);
	done->first_vendor = (uint8_t)q.vendor;
	done->first_error = q.error_index;
	done->vendor = done->counter == (uint16_t)q.error_index ? (uint8_t)q.vendor : 0;
}

bool t_poll_efa(const struct t_qp *qp, uint64_t index, struct t_done *done)
{
	uint32_t depth = qp->cqc.depth;
	const uint8_t *entry = (const uint8_t *)qp->cqe + (index & (depth - 1)) * STRIDE;
	/* pairs with the executor's release of the first 8 bytes, which are all that is read */
	uint64_t first = __atomic_load_n((const uint64_t *)(const void *)entry, __ATOMIC_ACQUIRE);
	struct gda_efa_cqe e = { 0 };

	memcpy(&e, &first, sizeof(first));
	done->counter = gda_efa_le16(e.id);
	if (done->counter == (uint16_t)index ? (e.flags & GDA_EFA_CQE_PHASE) != !(index & depth) :
	    (uint16_t)(done->counter - (uint16_t)index) >= 0x8000)
		return false;
	memcpy(done->raw, &e, sizeof(e));
	done->error = e.status;
	done->syndrome = as_mlx5(e.status);
	done->vendor = done->first_syndrome = done->first_vendor = 0;
	done->first_error = 0;
	if (done->error)
		first_error(qp, done);
	return true;
}

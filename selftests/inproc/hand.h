/* SPDX-License-Identifier: MIT */
/*
 * Queues by hand: QPs and CQs through the library's calls for both devices, and work
 * that is posted with the encoders of gda/mlx5.h. For what the fast path does not use.
 */
#ifndef GDA_HAND_H
#define GDA_HAND_H

#include "gda_internal.h"
#include "suite.h"

#define DEPTH	64U

/* A QP by hand, connected to itself. */
struct hand {
	struct gda_context *ctx;
	struct gda_qp_create qp;
	struct gda_region *region[3];
	uint8_t *sq;
	__be32 *dbrec;
	__be64 *db;
	uint64_t next;
};

struct hand_cq {
	struct gda_cq_create cq;
	struct gda_region *region[2];
	const uint8_t *entries;
	__be32 *consumer;
	uint64_t seen;
};

static inline int hand_cq_open_in(struct gda_context *ctx, uint32_t dialect, uint32_t depth,
				  uint32_t flags, struct hand_cq *c)
{
	void *part;
	int err;

	memset(c, 0, sizeof(*c));
	c->cq = (struct gda_cq_create){
		.size = sizeof(c->cq), .depth = depth, .flags = flags, .dialect = dialect,
	};
	err = gda_ioctl(ctx, GDA_IOC_CQ_CREATE, &c->cq);
	if (err)
		return err;
	err = gda_region_get(ctx, &c->cq.cq, &c->region[0], &part);
	c->entries = part;
	if (err || flags & GDA_CQ_COLLAPSED)
		return err;
	err = gda_region_get(ctx, &c->cq.dbrec, &c->region[1], &part);
	c->consumer = part;
	return err;
}

static inline int hand_cq_open(struct gda_context *ctx, uint32_t depth, uint32_t flags,
			       struct hand_cq *c)
{
	return hand_cq_open_in(ctx, 0, depth, flags, c);
}

static inline int hand_cq_close(struct gda_context *ctx, struct hand_cq *c)
{
	int err = gda_destroy_handle(ctx, c->cq.handle);

	gda_region_put(ctx, c->region[0]);
	gda_region_put(ctx, c->region[1]);
	return err;
}

static inline int hand_connect(struct hand *h, const struct hand *to)
{
	struct gda_qp_address address = {
		.size = sizeof(address), .handle = to->qp.handle,
	};
	struct gda_qp_connect connect = {
		.size = sizeof(connect), .handle = h->qp.handle,
	};
	int err = gda_ioctl(to->ctx, GDA_IOC_QP_ADDRESS, &address);

	if (err)
		return err;
	memcpy(connect.address, address.address, sizeof(connect.address));
	return gda_ioctl(h->ctx, GDA_IOC_QP_CONNECT, &connect);
}

static inline int hand_open(struct gda_context *ctx, const struct gda_qp_create *how,
			    struct hand *h)
{
	void *part[3];
	int err;

	memset(h, 0, sizeof(*h));
	h->ctx = ctx;
	h->qp = *how;
	h->qp.size = sizeof(h->qp);
	if (!h->qp.dialect)
		h->qp.dialect = GDA_DIALECT_MLX5;
	h->qp.sq_depth = DEPTH;
	err = gda_ioctl(ctx, GDA_IOC_QP_CREATE, &h->qp);
	if (!err)
		err = gda_region_get(ctx, &h->qp.sq, &h->region[0], &part[0]);
	if (!err)
		err = gda_region_get(ctx, &h->qp.dbrec, &h->region[1], &part[1]);
	if (!err)
		err = gda_region_get(ctx, &h->qp.db, &h->region[2], &part[2]);
	if (err)
		return err;
	h->sq = part[0];
	h->dbrec = part[1];
	h->db = part[2];
	return 0;
}

static inline int hand_close(struct hand *h)
{
	int err = gda_destroy_handle(h->ctx, h->qp.handle);
	int i;

	for (i = 0; i < 3; i++)
		gda_region_put(h->ctx, h->region[i]);
	return err;
}

static inline void hand_ring(struct hand *h)
{
	__atomic_store_n(&h->dbrec[1], gda_mlx5_dbrec(h->next), __ATOMIC_RELEASE);
	__atomic_store_n(h->db, gda_mlx5_doorbell(h->next, h->qp.qpn), __ATOMIC_RELEASE);
}

static inline void hand_post(struct hand *h, uint32_t opcode, uint8_t fm_ce_se)
{
	uint8_t *slot = h->sq + (h->next & (DEPTH - 1)) * 64;

	memset(slot, 0, 64);
	gda_mlx5_set_ctrl((void *)slot, h->next++, opcode, h->qp.qpn, 1, fm_ce_se, 0);
	hand_ring(h);
}

/* An immediate, and nothing written. */
static inline void hand_imm(struct hand *h, uint32_t imm)
{
	uint8_t *slot = h->sq + (h->next & (DEPTH - 1)) * 64;

	memset(slot, 0, 64);
	gda_mlx5_set_ctrl((void *)slot, h->next++, GDA_MLX5_WRITE_IMM, h->qp.qpn, 2,
			  GDA_MLX5_CE_ALWAYS, imm);
	hand_ring(h);
}

/* The next entry of a ring, or NULL after a while. */
static inline const struct gda_mlx5_cqe *hand_next(struct hand_cq *c)
{
	const uint8_t *e = c->entries + (c->seen & (c->cq.depth - 1)) * 64;
	uint64_t end = gda_clock_ns() + S_TIMEOUT_NS / 6;
	uint32_t last;

	do {
		last = gda_be32_to_cpu(__atomic_load_n((const __be32 *)(const void *)(e + 60),
						       __ATOMIC_ACQUIRE));
		if ((last >> 4 & 15) != GDA_MLX5_CQE_INVALID &&
		    (last & 1) == ((c->seen & c->cq.depth) != 0)) {
			c->seen++;
			return (const void *)e;
		}
	} while (gda_clock_ns() < end);
	return NULL;
}

static inline void hand_consume(struct hand_cq *c)
{
	__atomic_store_n(c->consumer, gda_be32((uint32_t)c->seen & 0xffffff), __ATOMIC_RELEASE);
}

#endif /* GDA_HAND_H */

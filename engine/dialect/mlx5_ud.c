// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Datagram queues of the mlx5 dialect. A send has a three-segment address vector behind the
 * control segment. The vector names the receiver, which is looked up for each send. The only
 * other operation is NOP.
 */
#include "mlx5_wqe.h"

#define GDA_MLX5_AV_SEGS	3U
#define GDA_MLX5_UD_DATA	(1U + GDA_MLX5_AV_SEGS)	/* number of the first data segment */
#define GDA_MLX5_AV_EXTENDED	0x80000000U	/* beside the QP number */
#define GDA_MLX5_AV_GRH		0x40000000U	/* beside the flow label */
#define GDA_MLX5_GRH_VERSION	6U

/* Return: false if the address vector does not have three segments. */
static bool gda_mlx5_decode_av(const struct gda_engine_qp *q, struct gda_datagram *to)
{
	struct gda_mlx5_seg key = gda_mlx5_fetch_far(q, 1);
	struct gda_mlx5_seg path = gda_mlx5_fetch_far(q, 2);
	struct gda_mlx5_seg gid = gda_mlx5_fetch_far(q, 3);
	u32 number = gda_mlx5_half(&key, 2);
	u32 port = gda_mlx5_half(&key, 3);	/* rate, SL, path bits, LID (2 bytes) */
	u32 class = gda_mlx5_half(&path, 2);	/* 2 bytes unused, class, hop limit */
	u32 flow = gda_mlx5_half(&path, 3);

	to->key = gda_mlx5_half(&key, 0);
	to->number = number & 0xffffff;
	to->lid = (u16)port;
	to->sl = (u8)(port >> 24 & 0xf);
	to->hops = (u8)class;
	to->flow = 0;
	if (flow & GDA_MLX5_AV_GRH)
		to->flow = GDA_MLX5_GRH_VERSION << 28 | (class >> 8 & 0xff) << 20 | (flow & 0xfffff);
	memcpy(to->gid, gid.raw, sizeof(to->gid));
	return number & GDA_MLX5_AV_EXTENDED;
}

/* Decode SEND and SEND_IMM: data segments, inline data or neither, behind the address vector. */
static struct gda_status gda_mlx5_ud_decode_send(const struct gda_engine_qp *q, u32 ds, u8 op,
						 struct gda_work *work)
{
	struct gda_mlx5_seg seg;

	gda_mlx5_set_shape(work, op, ds > GDA_MLX5_UD_DATA);
	memset(&work->remote, 0, sizeof(work->remote));
	gda_mlx5_solicit(work);
	if (unlikely(ds < GDA_MLX5_UD_DATA || ds > GDA_MLX5_MAX_DS) ||
	    unlikely(!gda_mlx5_decode_av(q, &work->to)))
		return gda_mlx5_bad_ds();
	if (ds == GDA_MLX5_UD_DATA)
		return gda_status(GDA_CLASS_NONE, 0);
	seg = gda_mlx5_fetch_far(q, GDA_MLX5_UD_DATA);
	if (unlikely(!gda_mlx5_decode_data(&seg, &work->sge[0])))
		return work->sge[0].len & GDA_MLX5_INLINE ?
		       gda_mlx5_copy_inline(q, GDA_MLX5_UD_DATA, ds, seg, work) :
		       gda_mlx5_bad_length();
	work->remote.len = work->sge[0].len;
	return gda_mlx5_decode_list(q, GDA_MLX5_UD_DATA + 1, ds, work);
}

static struct gda_status gda_mlx5_ud_decode(const struct gda_engine_qp *q, u32 avail,
					    struct gda_work *work)
{
	struct gda_mlx5_seg ctrl = gda_mlx5_fetch(gda_mlx5_slot(q, 0), 0);
	struct gda_status st = gda_mlx5_decode_ctrl(q, &ctrl, avail, work);
	u32 ds = gda_mlx5_ds(&ctrl);

	if (unlikely(st.class))
		return st;
	work->imm = 0;
	switch (gda_mlx5_opcode(&ctrl)) {
	case GDA_MLX5_SEND:
		return gda_mlx5_ud_decode_send(q, ds, GDA_OP_SEND, work);
	case GDA_MLX5_SEND_IMM:
		work->imm = gda_mlx5_half(&ctrl, 3);
		return gda_mlx5_ud_decode_send(q, ds, GDA_OP_SEND_IMM, work);
	case GDA_MLX5_NOP:
		return gda_mlx5_decode_nop(work);
	default:
		return gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_OPCODE);
	}
}

/* A NOP has no receiver: the decoder left q->work.to as an earlier request set it. */
static struct gda_status gda_mlx5_ud_route(struct gda_engine_qp *q, struct gda_engine_qp **peer)
{
	*peer = q->work.op == GDA_OP_NOP ? NULL : gda_host_datagram(q);
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

static u32 gda_mlx5_ud_visit(struct gda_engine_qp *q, u32 wqes, u32 bytes)
{
	return gda_engine_serve(q, wqes, bytes, &gda_mlx5_ud);
}

const struct gda_dialect_ops gda_mlx5_ud = {
	.id = GDA_DIALECT_MLX5,
	.feature = GDA_FEATURE_DIALECT_MLX5,
	.slot_bytes = GDA_MLX5_SLOT_BYTES,
	.max_depth = GDA_MLX5_MAX_DEPTH,
	.max_user_index = GDA_MLX5_MAX_USER_INDEX,
	.unreliable = true,
	.published = gda_mlx5_scan,
	.record = gda_mlx5_record,
	.decode = gda_mlx5_ud_decode,
	.route = gda_mlx5_ud_route,
	.syndrome = gda_mlx5_syndrome,
	.fatal = gda_mlx5_fatal,
	.visit = gda_mlx5_ud_visit,
};

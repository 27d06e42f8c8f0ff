// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Any bytes as an entry of a send queue: what is decoded is within the limits of struct gda_work,
 * and what is refused still says how many slots it takes; and as one of a receive queue: within
 * those of struct gda_recv.
 */
#include "fuzz.h"
#include "../engine/host.h"

#define DEPTH	8U

static void decode_receive(struct input *in, u32 shift, bool linked)
{
	static struct th_rq *rqs[2][16];
	struct gda_recv out;
	u64 sum = 0;

	if (!rqs[linked][shift])
		rqs[linked][shift] = th_rq_new(rqs, DEPTH, shift, linked);
	take(in, th_rq_entry(rqs[linked][shift], DEPTH - 1), 1U << shift);
	memset(&out, 0xa5, sizeof(out));
	gda_dialect_mlx5.recv(&rqs[linked][shift]->rq, DEPTH - 1, &out);
	HOLDS(out.nsge <= (1U << shift) / GDA_MLX5_SEG_BYTES - linked);
	HOLDS(out.next <= 0xffff);
	for (u32 i = 0; i < out.nsge; i++) {
		HOLDS(out.sge[i].len - 1 < GDA_ENGINE_MAX_MSG);
		sum += out.sge[i].len;
	}
	HOLDS(sum == out.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct th_dev dev;
	static struct th_qp *qp;
	struct input in = { data, size };
	struct gda_work w;
	struct gda_status st;
	u32 avail, i, flags;
	u64 sum = 0;

	/* bits that a send queue's entry has no use for */
	if (size && (data[0] & 0x80) && (data[0] & 7) < 6) {
		flags = take8(&in);
		decode_receive(&in, GDA_RECV_MIN_SHIFT + (flags & 7), flags & 8);
		return 0;
	}
	if (!qp)
		qp = th_qp_new(&dev, &dev, DEPTH, 0);
	flags = take8(&in);
	qp->q.ci = flags & 7;
	avail = 1 + (flags >> 3 & 7) % DEPTH;
	memset(qp->sq, 0, DEPTH * GDA_MLX5_SLOT_BYTES);
	for (i = 0; i < avail && in.left; i++)
		take(&in, th_slot(qp, qp->q.ci + i), GDA_MLX5_SLOT_BYTES);
	/* mostly the index and number that it must have: all else comes after them */
	if (flags & 0x40) {
		__be32 *head = (__be32 *)(void *)th_ctrl(qp, qp->q.ci);

		head[0] = gda_be32((gda_be32(head[0]) & 0xff0000ff) |
					  (u32)(qp->q.ci & 0xffff) << 8);
		head[1] = gda_be32((gda_be32(head[1]) & 0xff) | TH_QPN << 8);
	}
	memset(&w, 0xa5, sizeof(w));
	st = gda_dialect_mlx5.decode(&qp->q, avail, &w);
	HOLDS(w.slots >= 1 && w.slots <= avail);
	if (st.class)
		return 0;
	HOLDS(w.slots <= TH_MAX_SLOTS);
	HOLDS(w.remote.len <= GDA_ENGINE_MAX_MSG || w.op == GDA_OP_NOP);
	HOLDS(w.nsge <= GDA_ENGINE_MAX_SGE);
	if ((w.op == GDA_OP_WRITE || w.op >= GDA_OP_SEND) && w.inlined) {
		HOLDS(!w.nsge);
		HOLDS(w.remote.len <= GDA_ENGINE_MAX_INLINE);
	} else if (w.op == GDA_OP_WRITE || w.op == GDA_OP_READ || w.op >= GDA_OP_SEND) {
		for (i = 0; i < w.nsge; i++)
			sum += w.sge[i].len;
		HOLDS(sum == w.remote.len);
	}
	return 0;
}

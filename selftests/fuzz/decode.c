// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Any bytes as an entry: what is decoded is within the limits of struct gda_work, and
 * what is refused still says how many slots it takes.
 */
#include "fuzz.h"
#include "../engine/host.h"

#define DEPTH	8U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct th_dev dev;
	static struct th_qp *qp;
	struct input in = { data, size };
	struct gda_work w;
	struct gda_status st;
	u32 avail, i, flags;
	u64 sum = 0;

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
	if (w.op == GDA_OP_WRITE && w.inlined) {
		HOLDS(!w.nsge);
		HOLDS(w.remote.len <= GDA_ENGINE_MAX_INLINE);
	} else if (w.op == GDA_OP_WRITE || w.op == GDA_OP_READ) {
		for (i = 0; i < w.nsge; i++)
			sum += w.sge[i].len;
		HOLDS(sum == w.remote.len);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Any bytes as an entry of a send queue of the efa dialect, short and long: what is decoded is within
 * the limits of struct gda_work, what is refused has still its id, and no reserved bit is let through.
 */
#include <gda/efa.h>
#include "fuzz.h"
#include "../engine/host.h"

#define DEPTH	8U

static void check_decoded(const struct gda_efa_wide_wqe *e, const struct gda_work *w, bool wide)
{
	HOLDS(w->slots == 1);
	HOLDS(w->op == GDA_OP_WRITE || w->op == GDA_OP_WRITE_IMM || w->op == GDA_OP_READ);
	HOLDS(w->remote.len <= GDA_EFA_MAX_MSG);
	HOLDS((e->meta.ctrl1 & (GDA_EFA_META | 0x40)) == GDA_EFA_META);
	HOLDS((e->meta.ctrl2 & 0xee) == (GDA_EFA_FIRST | GDA_EFA_LAST));
	HOLDS(!e->meta.reserved15 && !(e->meta.hints & ~GDA_EFA_HINTS));
	if (w->inlined) {
		HOLDS(wide && !w->nsge && w->remote.len <= GDA_EFA_MAX_INLINE);
		HOLDS(!memcmp(w->data, e->data, w->remote.len));
		HOLDS(w->op != GDA_OP_READ);
		return;
	}
	HOLDS(w->nsge <= 1 && w->nsge == !!w->remote.len);
	if (w->nsge)
		HOLDS(w->sge[0].len == w->remote.len && !(w->sge[0].key & 0xff));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct th_dev dev;
	static struct th_qp *qp;
	struct input in = { data, size };
	struct gda_efa_wide_wqe *e;
	const struct gda_dialect_ops *ops;
	struct gda_status st;
	struct gda_work w;
	u8 flags;

	if (!qp)
		qp = th_qp_new(&dev, &dev, 2 * DEPTH, 0);
	flags = take8(&in);
	ops = flags & 1 ? gda_dialect_efa.wide : &gda_dialect_efa;
	qp->q.dialect = ops;
	qp->q.depth = DEPTH;
	qp->q.ci = flags >> 4;
	e = (void *)(qp->sq + (qp->q.ci & (DEPTH - 1)) * ops->slot_bytes);
	memset(e, 0, ops->slot_bytes);
	take(&in, e, ops->slot_bytes);
	/* mostly the bits that it must have: all else comes after them */
	if (flags & 2) {
		e->meta.ctrl1 = (u8)((e->meta.ctrl1 & ~0x40) | GDA_EFA_META);
		e->meta.ctrl2 = (u8)((e->meta.ctrl2 & GDA_EFA_COMPLETE) | GDA_EFA_FIRST | GDA_EFA_LAST |
				     (qp->q.ci / DEPTH & GDA_EFA_PHASE));
		e->meta.hints &= GDA_EFA_HINTS;
		e->meta.reserved15 = 0;
		memset(e->meta.reserved20, 0, sizeof(e->meta.reserved20));
	}
	memset(&w, 0xa5, sizeof(w));
	st = ops->decode(&qp->q, 1, &w);
	HOLDS(w.slots == 1);
	HOLDS((u16)w.target.id == gda_efa_le16((__force u16)e->meta.id));
	if (!st.class)
		check_decoded(e, &w, flags & 1);
	return 0;
}

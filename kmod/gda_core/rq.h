/* SPDX-License-Identifier: GPL-2.0 */
/* Receive queues of clients' QPs (rq.c): a part of gda_private.h. */
#ifndef GDA_RQ_H
#define GDA_RQ_H

/*
 * A receive queue. Workers of the contexts that send take entries from it, several workers at once
 * if it is shared. @lock guards the engine's part, and the entry that each QP has taken and not
 * finished; locks of CQs are taken inside of it.
 */
struct gda_rq {
	spinlock_t lock;		/* see above */
	struct gda_engine_rq engine_rq;
	struct gda_umem entries;
};

struct gda_client_srq_attr;

/* A shared receive queue, which is an object. */
struct gda_srq {
	struct gda_object obj;
	struct gda_rq rq;
	struct gda_umem record;
	u32 limit;			/* fewer entries: an event; 0: none; under @rq's lock */
	bool told;			/* nothing was taken since that event; likewise */
	struct gda_async async;
};

int gda_rq_create(struct gda_qp *qp, const struct gda_umem_addresses *user,
		  const struct gda_dialect_ops *dialect);
void gda_rq_attach(struct gda_qp *qp);
void gda_rq_free(struct gda_qp *qp);
struct gda_object *gda_srq_create(struct gda_ctx *ctx, const struct gda_client_srq_attr *attr);
int gda_srq_attach(struct gda_qp *qp, u32 handle);
void gda_srq_detach(struct gda_qp *qp);
void gda_srq_taken(struct gda_rq *rq, int taken);
void gda_srq_set_limit(struct gda_srq *srq, u32 limit);

#endif /* GDA_RQ_H */

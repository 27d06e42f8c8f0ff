/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A host for the engine in one process: a device of keys, MRs whose pages are
 * scattered single allocations (so a span that is too long is a heap overflow under
 * ASan), queues with all they need, and a poster that writes entries with the uapi
 * encoders. Nothing here is clever: what is under test is the engine.
 */
#ifndef GDA_TEST_HOST_H
#define GDA_TEST_HOST_H

#include <gda/mlx5.h>
#include "order.h"

/* The longest entry of the dialect, in slots. */
#define TH_MAX_SLOTS	16U

#define TH_KEYS		64
#define TH_QPN		0x123456U
#define TH_CQN		0x777U
#define TH_QKEY		0x11223344U
#define TH_LID		0x1234U
#define TH_RECORDS	64

/* A pseudo-random sequence that a seed repeats. */
struct th_rand {
	u64 s;
};

struct th_mr {
	struct gda_mem mem;
	u8 **pages;
	u32 npages;
	u32 shift;		/* log2 of the page size */
	u32 offset;		/* of the first byte in the first page */
	bool windowless;	/* gda_host_span() returns 0 */
};

struct th_dev {
	struct th_mr *keys[TH_KEYS];
	u32 variant;
};

struct th_qp {
	struct gda_engine_qp q;
	struct gda_engine_cq cq;
	struct gda_counter_mem sent;
	struct gda_counter_mem recv;
	struct th_dev *dev;
	struct th_rand choices;	/* of its order, if it has one */
	u64 next;		/* poster's index */
	u8 *sq;
	__be32 dbrec[2];
	__be64 db;
	u8 *cqe;
	__be32 consumer;
	u32 pushes;		/* calls of gda_host_push() */
	u32 refused;		/* ... that failed */
	u32 delay_ns;		/* asked for last: ends th_run(), which begins behind it */
	u32 delays;		/* how often it did */
	struct th_qp *awaits;	/* whose CQ has the number TH_CQN for this one's WAITs; or NULL */
	struct th_qp *reader;	/* takes what is sent to its number with TH_QKEY; or NULL */
	struct th_qp *neighbour;	/* another QP of the context, or NULL */
	bool late;		/* the time of a WAIT is over */
	u32 waits;		/* calls of gda_host_wait() */
	u32 resumed;		/* ... for the same work request again */
	u32 strays;		/* calls of gda_host_stray() */
	u32 takes;		/* entries that were taken by gda_host_recv() */
	u32 fails;		/* calls of gda_host_fail() */
	u32 events;		/* of solicited or error completions, with an entry or without */
	struct gda_record records[TH_RECORDS];	/* the first that the engine told */
	u32 nrecords;		/* how many those were, or would have been */
};

/* A receive queue: a ring, or the list of an SRQ with a poster that links it as libmlx5 does. */
struct th_rq {
	struct gda_engine_rq rq;
	u8 *entries;
	__be32 record;
	u32 posted;		/* poster's count */
	u32 head, tail;		/* of the free entries of a list */
};

u64 th_rand(struct th_rand *r);
u32 th_below(struct th_rand *r, u32 n);		/* 0 to n - 1 */

void *th_alloc(size_t align, size_t size);	/* zeroed; never NULL */

/* dom is any pointer: the identity of the protection domain */
struct th_mr *th_mr_new(struct th_dev *dev, void *dom, u64 iova, u64 size, u32 access,
			u32 shift, u32 offset);
void th_mr_free(struct th_dev *dev, struct th_mr *mr);
u8 *th_mr_at(const struct th_mr *mr, u64 off);
void th_mr_put(struct th_mr *mr, u64 off, const void *buf, u64 len);
void th_mr_get(const struct th_mr *mr, u64 off, void *buf, u64 len);

struct th_qp *th_qp_new(struct th_dev *dev, void *dom, u32 depth, u32 cq_depth);
void th_qp_free(struct th_qp *qp);
void th_again(struct th_qp *qp);	/* one that has failed is ready, and goes on where it was */
void th_moved(struct th_qp *qp);	/* its send queue, record or doorbell is another now */
bool th_busy(const struct th_qp *qp);	/* something was begun that is to be resumed */
void th_qp_pair(struct th_qp *a, struct th_qp *b);	/* both become ready */

struct th_rq *th_rq_new(void *dom, u32 depth, u32 shift, bool linked);
void th_rq_free(struct th_rq *rq);
void *th_rq_entry(struct th_rq *rq, u32 at);	/* by number, below the depth */
/* Post an entry, ended as libmlx5 ends it, and count it in the record. Return: its index. */
u32 th_rq_post(struct th_rq *rq, const struct gda_sge *sge, u32 n);
void th_rq_reuse(struct th_rq *rq, u32 index);	/* of a list: its completion was seen */

/* Slot @index, zeroed; its segments. */
void *th_slot(struct th_qp *qp, u64 index);
struct gda_mlx5_ctrl *th_ctrl(struct th_qp *qp, u64 index);
void *th_seg(struct th_qp *qp, u64 index, u32 seg);	/* wraps at the ring's end */

/* Post at qp->next, which advances; no doorbell. Return: the index. */
u64 th_nop(struct th_qp *qp, u8 ce);
u64 th_rdma(struct th_qp *qp, u32 opcode, u8 ce, const struct th_mr *l, u64 loff,
	    const struct th_mr *r, u64 roff, u32 len);
u64 th_list(struct th_qp *qp, u32 opcode, u8 ce, const struct gda_sge *sge, u32 n,
	    const struct th_mr *r, u64 roff);
u64 th_rdma2(struct th_qp *qp, u32 opcode, u8 ce, const struct gda_sge *sge,
	     const struct th_mr *r, u64 roff);
u64 th_inline(struct th_qp *qp, u8 ce, const void *data, u32 len, const struct th_mr *r,
	      u64 roff);
u64 th_imm(struct th_qp *qp, u8 ce, u32 imm, const struct th_mr *l, u64 loff,
	   const struct th_mr *r, u64 roff, u32 len);
u64 th_send(struct th_qp *qp, u8 ce, const struct gda_sge *sge, u32 n);
u64 th_send_inline(struct th_qp *qp, u8 ce, const void *data, u32 len);
/* What gda_host_target() does, set by a test of queues whose requests name their responder. */
extern struct gda_status (*th_target)(struct gda_engine_qp *q, struct gda_engine_qp **peer);

/* Whom a datagram of th_datagram() is for; @flow: of its global header, or 0. */
struct th_to {
	u32 number;
	u32 key;
	u32 flow;
};

/* A queue that has posted nothing becomes one of datagrams, which @reader takes, and ready. */
void th_datagrams(struct th_qp *qp, struct th_qp *reader);
u64 th_datagram(struct th_qp *qp, u8 ce, const struct th_to *to, const struct gda_sge *sge, u32 n);
u64 th_datagram_inline(struct th_qp *qp, u8 ce, const struct th_to *to, const void *data, u32 len);
u64 th_wait(struct th_qp *qp, u8 ce, u32 cqn, u32 index);
u64 th_dump(struct th_qp *qp, u8 ce, const struct th_mr *l, u64 loff, u32 len);
u64 th_atomic(struct th_qp *qp, u32 opcode, u8 ce, const struct th_mr *l, u64 loff,
	      const struct th_mr *r, u64 roff, u64 swap_add, u64 compare);

/* Operands of a masked atomic of @width bytes; of MASKED_FA, @compare is the boundary. */
struct th_masked {
	u32 width;
	u64 swap_add, compare, swap_mask, compare_mask;
};

u64 th_masked(struct th_qp *qp, u32 opcode, u8 ce, const struct th_mr *l, u64 loff,
	      const struct th_mr *r, u64 roff, const struct th_masked *m);

void th_ring_db(struct th_qp *qp, u64 next);
void th_ring_rec(struct th_qp *qp, u64 next);
void th_ring(struct th_qp *qp);			/* record and doorbell, qp->next */

/* Visit until nothing is left to do. Return: sum of what the visits returned. */
u32 th_run(struct th_qp *qp);

/* The collapsed CQ's entry. */
const struct gda_mlx5_cqe *th_cqe(const struct th_qp *qp);
const struct gda_mlx5_err_cqe *th_err(const struct th_qp *qp);
u32 th_cqe_opcode(const struct th_qp *qp);
u16 th_cqe_counter(const struct th_qp *qp);
u64 th_first_error(const struct th_qp *qp);

/* A status as the dialect reports it; and that of the first error. */
struct th_why {
	u8 syndrome;
	u8 vendor;
};

/* gda_dialect_ops.fatal of a dialect whose queues survive each error. */
bool th_never_fatal(struct gda_status st);

struct th_why th_why(const struct th_qp *qp, struct gda_status st);
u8 th_syndrome(const struct th_qp *qp);

#endif /* GDA_TEST_HOST_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The flight record of a context, and of contexts that are gone. A part of gda_private.h, which
 * includes it.
 */
#ifndef GDA_FLIGHT_RECORD_H
#define GDA_FLIGHT_RECORD_H

/* record.c */
int gda_record_init(struct gda_ctx *ctx);
void gda_record_free(struct gda_ctx *ctx);
int gda_record_set(struct gda_ctx *ctx, struct gda_record_set *cmd);
int gda_record_set_locked(struct gda_ctx *ctx, u32 *records);
void gda_record_stop(struct gda_ctx *ctx);
u32 gda_record_peek(struct gda_ctx *ctx, struct gda_record *to, u32 n);
void gda_record_asleep(struct gda_ctx *ctx, bool asleep);
void gda_record_mr(const struct gda_mr *mr, u8 kind, u8 cause);
void gda_record_connection(struct gda_qp *qp, u8 kind, struct gda_status why);

/* dead.c */

/* The last state of a QP; members as in struct gda_qp_query. */
struct gda_dead_qp {
	u32 qpn;
	u32 handle;
	u32 state;
	struct gda_status first;	/* its first error */
	u64 error_index;
	u64 consumer;
	u64 producer;			/* slots published, also if not seen by the worker */
	u64 executed;
	u64 flushed;
	u64 bytes;
};

/* A context that ended with work that had no outcome, or with a QP in error. Constant. */
struct gda_dead {
	struct kref ref;
	struct list_head node;
	u32 id;				/* not used again */
	u32 ctx;			/* its id */
	struct gda_opener opener;
	u64 ns;				/* when it ended, CLOCK_MONOTONIC */
	char device[GDA_DEVICE_NAME_MAX];
	u32 nqps;
	u32 nrecords;
	struct gda_dead_qp *qps;
	struct gda_record *records;	/* the newest records, the oldest of them first */
};

void gda_dead_keep(struct gda_ctx *ctx);
void gda_dead_exit(void);
/* Return: the entry with the smallest id above @after, with a reference; or NULL. */
struct gda_dead *gda_dead_get(u32 after);
void gda_dead_put(struct gda_dead *dead);

#endif /* GDA_FLIGHT_RECORD_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Queues of the efa dialect for tests, as gda_test.h has those of mlx5: raw ioctls, mappings and
 * bytes. Functions return 0 or a negative errno, unless noted.
 */
#ifndef GDA_EFA_QUEUE_H
#define GDA_EFA_QUEUE_H

#include <gda/efa.h>
#include "gda_test.h"

/* A QP with a CQ ring of its own, which also receives immediates if the stride permits. */
struct t_efa {
	int fd;
	struct gda_cq_create cqc;
	struct gda_qp_create qpc;
	struct gda_qp_query query;
	uint64_t next;			/* entries posted */
	uint64_t read;			/* completions read */
	uint8_t *sq;
	volatile uint32_t *db;
	uint8_t *cq;
	void *map[3];			/* sq, db, cq */
	/* of t_efa_open_counted(): what it has done, what has arrived */
	struct gda_counter_create count[2];
	const struct gda_counter_mem *sent;
	const struct gda_counter_mem *arrived;
	void *count_map[2];
};

/* A request of one local segment, or of inline @data. */
struct t_efa_wr {
	uint8_t ctrl1;			/* enum gda_efa_op, GDA_EFA_HAS_IMM */
	uint64_t id;
	uint64_t raddr;
	uint32_t rkey;
	uint64_t laddr;
	uint32_t lkey;			/* the MR's whole key */
	uint32_t len;
	uint32_t imm;
	const void *data;
};

/* A completion. */
struct t_efa_done {
	uint8_t status;
	uint8_t flags;
	uint16_t qp;
	uint64_t id;
	/* only for a received immediate */
	uint32_t imm;
	uint32_t len;
	uint16_t ah;
	uint16_t src_qp;
};

int t_efa_create(struct t_efa *q, int fd, uint32_t depth, uint32_t entry, uint32_t stride);
/* Create a queue as t_efa_create() does, and map it. */
int t_efa_open(struct t_efa *q, int fd, uint32_t depth, uint32_t entry, uint32_t stride);
/* ... with a CQ that is mapped writable, as drivers of GPUs want it. */
int t_efa_open_writable(struct t_efa *q, int fd, uint32_t depth, uint32_t entry);
/* ... with counters of its own. */
int t_efa_open_counted(struct t_efa *q, int fd, uint32_t depth, uint32_t entry);
void t_efa_close(struct t_efa *q);
int t_efa_peer(int fd, const struct t_efa *to, struct t_efa_peer *peer);
/* Get the address of a QP by GDA_IOC_QP_ADDRESS. */
int t_efa_address(int fd, uint32_t qp, uint8_t address[GDA_ADDRESS_BYTES]);

/* Write an entry, which the caller may change before it calls t_efa_ring(). */
struct gda_efa_wide_wqe *t_efa_post(struct t_efa *q, const struct t_efa_peer *to,
				    const struct t_efa_wr *wr);
void t_efa_ring(struct t_efa *q);
/* Wait for the next completion: 0 or -ETIMEDOUT. */
int t_efa_wait(struct t_efa *q, struct t_efa_done *done);
/* Post, ring and wait: the status of the completion, or a negative errno. */
int t_efa_run(struct t_efa *q, const struct t_efa_peer *to, const struct t_efa_wr *wr);

/* --- queues of gda_test.h in this dialect (post_efa.c), whose entries are long --- */

/* What GDA_IOC_CQ_CREATE and GDA_IOC_QP_CREATE are told; the QP's CQ is filled in later. */
void t_qp_efa_attr(uint32_t depth, struct gda_cq_create *cq, struct gda_qp_create *qp);
int t_connect_efa(struct t_qp *a, struct t_qp *b);
uint64_t t_post_efa(struct t_qp *qp, const struct t_wr *wr);
bool t_poll_efa(const struct t_qp *qp, uint64_t index, struct t_done *done);

#endif /* GDA_EFA_QUEUE_H */

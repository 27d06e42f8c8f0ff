/* SPDX-License-Identifier: MIT */
/*
 * A reliable connection on libibverbs, with memory at each end: plain verbs, with which GDA is
 * compared, and which test a network before GDA uses it. One thread at a time may use a connection.
 */
#ifndef GDA_PERF_RC_H
#define GDA_PERF_RC_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rc {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_port_attr port;
	struct ibv_gid_entry gid;
	unsigned int depth;	/* most work requests that are posted and not completed */
};

/* The address of one end, for the other. */
struct rc_address {
	union ibv_gid gid;
	uint64_t iova;		/* of the memory */
	uint32_t rkey;
	uint32_t qpn;
	uint16_t lid;
};

/*
 * Open @device, or if that is NULL the first one whose port is active, for @memory. @rc need not be
 * initialized. Return: 0, or a negative errno: -ENODEV if there is no such device, -ENETDOWN if no
 * port is active, -EADDRNOTAVAIL if it has no address. After an error there is nothing to close.
 */
int rc_open(struct rc *rc, const char *device, void *memory, size_t bytes, unsigned int depth);
void rc_close(struct rc *rc);
void rc_address(const struct rc *rc, struct rc_address *own);
/*
 * Connect to the peer. Return: 0, or a negative errno. The peer's writes may arrive once it has
 * connected, too.
 */
int rc_connect(struct rc *rc, const struct rc_address *peer);

/*
 * A prepared work request with the members that all posts share. @wr.sg_list points to @sge, so do
 * not copy it.
 */
struct rc_work {
	struct ibv_send_wr wr;
	struct ibv_sge sge;
};

/* Prepare to move @bytes between the beginnings of the memory here and at the peer. */
void rc_prepare(const struct rc *rc, const struct rc_address *peer, struct rc_work *w,
		enum ibv_wr_opcode opcode, uint32_t bytes);
/* Return: 0, or a negative errno. */
int rc_post(struct rc *rc, struct rc_work *w);
/*
 * Wait for one completion until @deadline, in ns of CLOCK_MONOTONIC. Return: 0, -ETIMEDOUT or
 * another negative errno; or the enum ibv_wc_status of a failed request.
 */
int rc_wait(struct rc *rc, uint64_t deadline);

#endif /* GDA_PERF_RC_H */

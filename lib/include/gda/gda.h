/* SPDX-License-Identifier: MIT */
/*
 * libgda: control calls. Ordinary functions over /dev/gda; posting and waiting is
 * in gda/fastpath.h and never calls the kernel.
 *
 * Every function that returns int returns 0 or a negative errno (see gda/ioctl.h
 * for the contract) and never touches errno itself; pointers come back through the
 * last argument and are written only on success. Objects are created from a
 * context and must be destroyed before it is closed (gda_close() destroys what is
 * left in the kernel, not the library's memory for it). Any thread may call any
 * function; two calls on the same object are the caller's to order. There are no
 * hidden threads, and nothing is ever printed.
 */
#ifndef GDA_GDA_H
#define GDA_GDA_H

#include <stddef.h>
#include <stdint.h>
#include <gda/ioctl.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gda_context;
struct gda_cq;
struct gda_qp;
struct gda_mr;
struct gda_view;

/**
 * gda_open - open a device
 * @device: name of the device, NULL for the default ("soft0")
 * @ctx: out
 *
 * Opens /dev/gda and binds a context to the device.
 */
int gda_open(const char *device, struct gda_context **ctx);

/** gda_close - close a context; the kernel destroys everything it still owns */
void gda_close(struct gda_context *ctx);

/** gda_context_fd - the file of /dev/gda, for poll(2), fork or SCM_RIGHTS */
int gda_context_fd(const struct gda_context *ctx);

/** gda_context_query - features and limits */
int gda_context_query(struct gda_context *ctx, struct gda_query *query);

/** gda_context_shutdown - destroy all objects and revoke all mappings at once */
int gda_context_shutdown(struct gda_context *ctx);

/**
 * struct gda_cq_attr - how to create a CQ
 * @depth: entries, power of two; ignored (1) for a collapsed CQ
 * @flags: GDA_CQ_*
 */
struct gda_cq_attr {
	uint32_t depth;
	uint32_t flags;
};

/** gda_cq_create - create and map a completion queue */
int gda_cq_create(struct gda_context *ctx, const struct gda_cq_attr *attr,
		  struct gda_cq **cq);
/** gda_cq_destroy - -EBUSY while a QP uses it */
int gda_cq_destroy(struct gda_cq *cq);

/**
 * struct gda_qp_attr - how to create a QP
 * @cq: its CQ; NULL: a collapsed CQ of its own, destroyed with the QP
 * @sq_depth: slots of 64 bytes, power of two; 0: 256
 * @flags: GDA_QP_*
 * @timeout_ns: bound of every wait inside a posting call (full ring) and of
 *	gda_quiet(); 0: one second
 */
struct gda_qp_attr {
	struct gda_cq *cq;
	uint32_t sq_depth;
	uint32_t flags;
	uint64_t timeout_ns;
};

/** gda_qp_create - create a queue pair and map its queue, record and doorbell */
int gda_qp_create(struct gda_context *ctx, const struct gda_qp_attr *attr,
		  struct gda_qp **qp);
/** gda_qp_destroy - destroy the QP (and the CQ it brought along) and its view */
int gda_qp_destroy(struct gda_qp *qp);

/** struct gda_address - what a peer needs to connect; plain bytes, send them anyhow */
struct gda_address {
	uint8_t bytes[GDA_ADDRESS_BYTES];
};

/** gda_qp_address - the QP's own address */
int gda_qp_address(struct gda_qp *qp, struct gda_address *addr);
/** gda_qp_connect - name the peer; work flows once it has named this QP too */
int gda_qp_connect(struct gda_qp *qp, const struct gda_address *peer);
/** gda_qp_query - state, first error and counters */
int gda_qp_query(struct gda_qp *qp, struct gda_qp_query *query);
/** gda_qp_view - what posts to this QP; valid until gda_qp_destroy() */
struct gda_view *gda_qp_view(struct gda_qp *qp);

/**
 * gda_mr_reg - register memory of this process
 * @ctx: context
 * @addr: first byte
 * @length: bytes
 * @access: GDA_ACCESS_*
 * @flags: 0 or %GDA_MR_ZERO_BASED
 * @mr: out
 */
int gda_mr_reg(struct gda_context *ctx, void *addr, size_t length, uint32_t access,
	       uint32_t flags, struct gda_mr **mr);
/** gda_mr_dereg - when it returns no executor touches the memory any more */
int gda_mr_dereg(struct gda_mr *mr);
/** gda_mr_key - key for work requests, local and remote */
uint32_t gda_mr_key(const struct gda_mr *mr);
/** gda_mr_iova - address of the first byte in work requests */
uint64_t gda_mr_iova(const struct gda_mr *mr);
/** gda_mr_query - describe the MR */
int gda_mr_query(struct gda_mr *mr, struct gda_mr_query *query);

/** gda_strerror - one line for a negative errno of this library */
const char *gda_strerror(int error);
/** gda_syndrome_name - name of an enum gda_mlx5_syndrome value */
const char *gda_syndrome_name(uint32_t syndrome);
/** gda_vendor_name - one line for an enum gda_mlx5_vendor value: why */
const char *gda_vendor_name(uint32_t vendor);

#ifdef __cplusplus
}
#endif

#endif /* GDA_GDA_H */

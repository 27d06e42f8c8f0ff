/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address handles of a context, and the numbers by which requests name its QPs; see control/ah.h.
 */
#ifndef GDA_ADDRESS_H
#define GDA_ADDRESS_H

/**
 * struct gda_addresses - part of a context; changed under ctx->lock, read under gda_srcu
 * @serial: a number that is never used for another context; set once
 * @handles: struct gda_ah by handle number
 * @next: handle number to try next
 * @by_context: struct gda_address by the id of the context that the handle names
 * @queues: struct gda_engine_qp by the low 16 bits of the QP number, for dialects that use them
 */
struct gda_addresses {
	u64 serial;
	struct xarray handles;
	u32 next;
	struct xarray by_context;
	struct xarray queues;
};

struct gda_ctx;
struct gda_object;
struct gda_qp;

void gda_addresses_init(struct gda_addresses *a);
void gda_addresses_bind(struct gda_ctx *ctx);
void gda_addresses_free(struct gda_addresses *a);
int gda_addresses_reserve(struct gda_qp *qp, u32 *qpn);
void gda_addresses_release(struct gda_qp *qp, u32 qpn);
void gda_addresses_publish(struct gda_qp *qp);
struct gda_object *gda_peer_add(struct gda_ctx *ctx, struct gda_peer_add *cmd);

#endif /* GDA_ADDRESS_H */

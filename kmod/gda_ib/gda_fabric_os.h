/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's side of the shim of engine/fabric: verbs and rdma_cm without the prefix that they
 * have here. lib/device/verbs/gda_fabric_os.h is the other side; both define the same names with
 * the same meaning.
 */
#ifndef GDA_FABRIC_OS_H
#define GDA_FABRIC_OS_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/string.h>
#include <linux/types.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include <gda/ioctl.h>

/* For gda/cm_proof.h. */
static inline __be64 gda_os_siphash(const void *data, size_t bytes, __be64 k0, __be64 k1)
{
	const siphash_key_t key = { { be64_to_cpu(k0), be64_to_cpu(k1) } };

	return cpu_to_be64(siphash(data, bytes, &key));
}

#include <gda/cm_proof.h>

/* The names of numbers of verbs, and of their structures. */
#define GDA_OS_IB(name)		IB_##name
#define gda_os_cq		ib_cq
#define gda_os_qp		ib_qp
#define gda_os_qp_attr		ib_qp_attr
#define gda_os_send_wr		ib_send_wr
#define gda_os_sge		ib_sge
#define gda_os_wc		ib_wc

/* Payload inside of a work request. */
#define GDA_FABRIC_MAX_INLINE	256U

union gda_os_wr {
	struct ib_send_wr send;
	struct ib_rdma_wr rdma;
	struct ib_atomic_wr atomic;
};

/* Members of a union gda_os_wr, and the immediate of a request or of a completion. */
#define gda_os_rdma(w)		(&(w)->rdma)
#define gda_os_atomic(w)	(&(w)->atomic)
#define gda_os_imm(w)		((w)->ex.imm_data)

#define gda_os_poll_cq		ib_poll_cq
#define gda_os_post_send	ib_post_send

static inline int gda_os_post_recv(struct ib_qp *qp, u64 wr_id)
{
	const struct ib_recv_wr wr = { .wr_id = wr_id };

	return ib_post_recv(qp, &wr, NULL);
}

#define gda_os_random32		get_random_u32

/* These return 0 or a negative errno. */
#define gda_os_modify_qp	ib_modify_qp
#define gda_os_init_qp_attr	rdma_init_qp_attr
#define gda_os_accept		rdma_accept
#define gda_os_establish(id)	rdma_accept(id, NULL)
/* The handler of the id calls these. */
#define gda_os_connect		rdma_connect_locked
#define gda_os_destroy_id	rdma_destroy_id

static inline int gda_os_reject(struct rdma_cm_id *id, const struct gda_cm_reject *why)
{
	return rdma_reject(id, why, sizeof(*why), IB_CM_REJ_CONSUMER_DEFINED);
}

static inline int gda_os_resolve_route(const struct ib_qp *qp, struct rdma_cm_id *id, int ms)
{
	return id->device == qp->device ? rdma_resolve_route(id, ms) : -EHOSTUNREACH;
}

#endif /* GDA_FABRIC_OS_H */

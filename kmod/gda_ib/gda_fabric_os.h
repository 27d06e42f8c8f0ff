/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's side of the shim of engine/fabric: verbs and rdma_cm without the prefix that they
 * have here. lib/device/verbs/gda_fabric_os.h is the other side; both define the same names with the
 * same meaning.
 */
#ifndef GDA_FABRIC_OS_H
#define GDA_FABRIC_OS_H

#include <linux/siphash.h>
#include <linux/string.h>
#include <linux/types.h>
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

/* A number of verbs; and their structures. */
#define GDA_OS_IB(name)		IB_##name
#define gda_os_cq		ib_cq
#define gda_os_qp		ib_qp
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

/* Of a union gda_os_wr; and the immediate of a request or of a completion. */
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

#endif /* GDA_FABRIC_OS_H */

/* SPDX-License-Identifier: MIT */
/*
 * The user-space side of the shim of engine/fabric: the names of kmod/gda_ib/gda_fabric_os.h, with
 * the same meaning, on libibverbs and librdmacm.
 */
#ifndef GDA_FABRIC_OS_H
#define GDA_FABRIC_OS_H

#include <endian.h>
#include <errno.h>
#include "driver.h"
#include "inproc.h"
#include "siphash.h"

#define be32_to_cpu		be32toh
#define cpu_to_be32		htobe32

/* For gda/cm_proof.h. */
static inline __be64 gda_os_siphash(const void *data, size_t bytes, __be64 k0, __be64 k1)
{
	const struct gda_siphash_key key = { be64toh(k0), be64toh(k1) };

	return htobe64(gda_siphash(data, bytes, &key));
}

#include <gda/cm_proof.h>

#define GDA_OS_IB(name)		IBV_##name
#define gda_os_cq		ibv_cq
#define gda_os_qp		ibv_qp
#define gda_os_qp_attr		ibv_qp_attr
#define gda_os_send_wr		ibv_send_wr
#define gda_os_sge		ibv_sge
#define gda_os_wc		ibv_wc

/* Most inline payload that QPs of a device are asked for. */
#define GDA_FABRIC_MAX_INLINE	512U

union gda_os_wr {
	struct ibv_send_wr send;
};

#define gda_os_rdma(w)		(&(w)->send.wr.rdma)
#define gda_os_atomic(w)	(&(w)->send.wr.atomic)
#define gda_os_imm(w)		((w)->imm_data)

#define gda_os_poll_cq		ibv_poll_cq

static inline int gda_os_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
				   const struct ibv_send_wr **bad)
{
	return ibv_post_send(qp, wr, (struct ibv_send_wr **)bad);
}

static inline int gda_os_post_recv(struct ibv_qp *qp, u64 wr_id)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

#define gda_os_random32()	((u32)gda_inproc_random())

#define gda_os_modify_qp(qp, attr, mask)	(-gda_ibv.modify_qp(qp, attr, mask))
#define gda_os_init_qp_attr(id, attr, mask)	(gda_rdma.init_qp_attr(id, attr, mask) ? -errno : 0)
#define gda_os_accept(id, param)		(gda_rdma.accept(id, param) ? -errno : 0)
#define gda_os_establish(id)			(gda_rdma.establish(id) ? -errno : 0)
#define gda_os_connect(id, param)		(gda_rdma.connect(id, param) ? -errno : 0)
#define gda_os_destroy_id			gda_rdma.destroy_id

/* librdmacm has opened the RDMA device separately, so there is no device of @qp to compare with. */
static inline int gda_os_resolve_route(const struct ibv_qp *qp, struct rdma_cm_id *id, int ms)
{
	(void)qp;
	return gda_rdma.resolve_route(id, ms) ? -errno : 0;
}

#endif /* GDA_FABRIC_OS_H */

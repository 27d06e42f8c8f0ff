/* SPDX-License-Identifier: MIT */
/*
 * The functions of libibverbs and librdmacm that are used here, with the types of their headers.
 * The libraries are opened once, at run time; inline functions of the headers are called directly.
 */
#ifndef GDA_VERBS_DRIVER_H
#define GDA_VERBS_DRIVER_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

struct gda_ibv {
	struct ibv_device **(*get_device_list)(int *n);
	__typeof__(&ibv_free_device_list) free_device_list;
	__typeof__(&ibv_get_device_name) get_device_name;
	__typeof__(&ibv_open_device) open_device;
	__typeof__(&ibv_close_device) close_device;
	__typeof__(&ibv_query_device) query_device;
	/* every version of the library fills in this structure, which must be zero before */
	__typeof__(&ibv_query_port) query_port;
	__typeof__(&ibv_alloc_pd) alloc_pd;
	__typeof__(&ibv_dealloc_pd) dealloc_pd;
	struct ibv_mr *(*reg_mr_iova)(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				      int access);
	__typeof__(&ibv_dereg_mr) dereg_mr;
	__typeof__(&ibv_create_cq) create_cq;
	__typeof__(&ibv_destroy_cq) destroy_cq;
	__typeof__(&ibv_create_qp) create_qp;
	__typeof__(&ibv_destroy_qp) destroy_qp;
	__typeof__(&ibv_modify_qp) modify_qp;
};

struct gda_rdma {
	__typeof__(&rdma_create_event_channel) create_event_channel;
	__typeof__(&rdma_destroy_event_channel) destroy_event_channel;
	__typeof__(&rdma_create_id) create_id;
	__typeof__(&rdma_destroy_id) destroy_id;
	__typeof__(&rdma_bind_addr) bind_addr;
	__typeof__(&rdma_listen) listen;
	__typeof__(&rdma_get_src_port) get_src_port;
	__typeof__(&rdma_resolve_addr) resolve_addr;
	__typeof__(&rdma_resolve_route) resolve_route;
	__typeof__(&rdma_init_qp_attr) init_qp_attr;
	__typeof__(&rdma_connect) connect;
	__typeof__(&rdma_establish) establish;
	__typeof__(&rdma_accept) accept;
	__typeof__(&rdma_reject) reject;
	__typeof__(&rdma_disconnect) disconnect;
	__typeof__(&rdma_get_cm_event) get_event;
	__typeof__(&rdma_ack_cm_event) ack_event;
};

extern struct gda_ibv gda_ibv;
extern struct gda_rdma gda_rdma;

/*
 * Open both libraries, or those that GDA_LIBIBVERBS and GDA_LIBRDMACM in the environment name.
 * Return: 0; -EOPNOTSUPP with a reason: one is not installed, or too old.
 */
int gda_verbs_load(void);

#endif /* GDA_VERBS_DRIVER_H */

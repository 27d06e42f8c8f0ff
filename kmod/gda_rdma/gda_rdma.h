/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gda_rdma's own structures: an RDMA device whose queues gda_core executes.
 *
 * Its user space is the unchanged libmlx5. The stable ABI of uapi/rdma/mlx5-abi.h defines how
 * programs create queues in their memory and what they store there to post. Nothing else here
 * is mlx5's: there is no firmware, no command interface, no wire. Each verbs context is a context
 * of gda_core (gda/client.h), and each verbs object an object of that context.
 *
 * Lock order: qp->lock (mutex), then rdma->peers_lock (spinlock).
 */
#ifndef GDA_RDMA_H
#define GDA_RDMA_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include <gda/client.h>

#define GDA_RDMA_PORT		1U
#define GDA_RDMA_LID		1U
#define GDA_RDMA_PKEY		0xffffU
#define GDA_RDMA_GUID		0x0247440000000001ULL
#define GDA_RDMA_SUBNET		0xfe80000000000000ULL

/* Largest work request and largest receive, in bytes, and the size of a segment. */
#define GDA_RDMA_SEND_BYTES	1008U
#define GDA_RDMA_RECV_BYTES	512U
#define GDA_RDMA_SEGMENT_BYTES	16U
#define GDA_RDMA_RECVS		32768U	/* most entries of a receive queue */

/**
 * struct gda_rdma - the device as gda_core sees it; freed with its last context
 * @dev: registered while the module is loaded
 * @ibdev: the device as the RDMA subsystem sees it
 * @port: source address of datagrams
 * @peers_lock: guards the ends of all QPs (struct gda_rdma_end)
 */
struct gda_rdma {
	struct gda_device dev;
	struct ib_device *ibdev;
	struct gda_port port;
	spinlock_t peers_lock;		/* guards the ends of all QPs */
};

struct gda_rdma_device {
	struct ib_device ib;
	struct gda_rdma *rdma;
};

/**
 * struct gda_rdma_ctx - a verbs context
 * @ib: context of the RDMA subsystem
 * @ctx: context of gda_core
 * @user: the user who opened it
 * @uar: random 16-bit number by which libmlx5 names the page of doorbells
 * @devx: it was opened for commands (devx.h)
 * @pds: struct gda_rdma_pd by number; the xarray's lock also guards their @users
 */
struct gda_rdma_ctx {
	struct ib_ucontext ib;
	struct gda_ctx *ctx;
	kuid_t user;
	u32 uar;
	bool devx;
	struct xarray pds;
};

/**
 * struct gda_rdma_pd - a protection domain
 * @ib: PD of the RDMA subsystem
 * @ctx: its context
 * @number: the number by which commands name it
 * @users: QPs created by commands, which the RDMA subsystem does not count
 */
struct gda_rdma_pd {
	struct ib_pd ib;
	struct gda_rdma_ctx *ctx;
	u32 number;
	u32 users;
};

struct gda_rdma_mr {
	struct ib_mr ib;
	struct gda_ctx *ctx;
	u32 handle;
};

struct gda_rdma_cq {
	struct ib_cq ib;
	struct gda_ctx *ctx;
	u32 handle;
};

struct gda_rdma_srq {
	struct ib_srq ib;
	struct gda_ctx *ctx;
	u32 handle;
	u32 max_wr;
	u32 max_sge;
};

/**
 * struct gda_rdma_end - a QP as its peers see it: gda_executor_qp.priv, under rdma->peers_lock
 * @exec: the QP as gda_core sees it
 * @type: its type in verbs
 * @state: its state in verbs
 * @dest: QP number of the peer, from RTR on
 * @qkey: for UD: the queue key that datagrams to it must have; like @state, @type and @user it is
 *	read under no lock
 * @user: the user of its context
 * @peer: the responder, or NULL
 * @asker: the QP whose @peer this is, or NULL; this can only be the QP that @dest names
 */
struct gda_rdma_end {
	struct gda_executor_qp *exec;
	enum ib_qp_type type;
	enum ib_qp_state state;
	u32 dest;
	u32 qkey;
	kuid_t user;
	struct gda_rdma_end *peer;
	struct gda_rdma_end *asker;
};

/**
 * struct gda_rdma_qp - a QP
 * @ib: QP of the RDMA subsystem
 * @ctx: context of gda_core
 * @handle: its handle in @ctx
 * @exec: the QP as gda_core sees it
 * @lock: serializes modify and query; guards @attr
 * @attr: the attributes that modify has set
 * @cap: the capabilities at creation
 * @give_up: work that runs when the peer does not answer: posted requests fail from then on
 */
struct gda_rdma_qp {
	struct ib_qp ib;
	struct gda_ctx *ctx;
	u32 handle;
	struct gda_executor_qp *exec;
	struct mutex lock;		/* guards @attr */
	struct ib_qp_attr attr;
	struct ib_qp_cap cap;
	bool signal_all;
	struct delayed_work give_up;
};

#define GDA_RDMA_OF(type, field)						\
static inline struct gda_rdma_##type *gda_rdma_##type##_of(struct ib_##field *ib) \
{									\
	return container_of(ib, struct gda_rdma_##type, ib);		\
}
GDA_RDMA_OF(device, device)
GDA_RDMA_OF(ctx, ucontext)
GDA_RDMA_OF(pd, pd)
GDA_RDMA_OF(mr, mr)
GDA_RDMA_OF(cq, cq)
GDA_RDMA_OF(srq, srq)
GDA_RDMA_OF(qp, qp)
#undef GDA_RDMA_OF

static inline struct gda_rdma *gda_rdma_of(struct ib_device *ib)
{
	return gda_rdma_device_of(ib)->rdma;
}

/*
 * Copy in the request of the caller's library, at least @least bytes. A newer library may pass
 * bytes behind @size, which this device does not know: they must be zero.
 */
static inline int gda_rdma_ask(struct ib_udata *udata, void *req, size_t size, size_t least)
{
	if (udata->inlen < least)
		return -EINVAL;
	if (udata->inlen > size && !ib_is_udata_cleared(udata, size, udata->inlen - size))
		return -EOPNOTSUPP;
	return ib_copy_from_udata(req, udata, min(udata->inlen, size));
}

/* Copy the answer out, as far as the caller's library has room for it. */
static inline int gda_rdma_answer(struct ib_udata *udata, void *resp, size_t size)
{
	return ib_copy_to_udata(udata, resp, min(udata->outlen, size));
}

/* main.c */
extern bool gda_rdma_peers_any;

/* query.c */
int gda_rdma_query_device(struct ib_device *ib, struct ib_device_attr *attr,
			  struct ib_udata *udata);
int gda_rdma_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr);
int gda_rdma_query_gid(struct ib_device *ib, u32 port, int index, union ib_gid *gid);
int gda_rdma_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey);
int gda_rdma_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *immutable);
enum rdma_link_layer gda_rdma_link_layer(struct ib_device *ib, u32 port);

/* ctx.c */
int gda_rdma_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata);
void gda_rdma_dealloc_ucontext(struct ib_ucontext *ib);
void gda_rdma_disassociate_ucontext(struct ib_ucontext *ib);
int gda_rdma_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma);
int gda_rdma_alloc_pd(struct ib_pd *ib, struct ib_udata *udata);
int gda_rdma_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata);
struct gda_rdma_pd *gda_rdma_pd_get(struct gda_rdma_ctx *ctx, u32 number);
void gda_rdma_pd_put(struct gda_rdma_pd *pd);
u64 gda_rdma_doorbells_offset(void);

/* devx.c, umem.c */
extern const struct uapi_definition gda_rdma_devx_defs[], gda_rdma_umem_defs[];

/* mr.c */
u32 gda_rdma_access(int access);
struct ib_mr *gda_rdma_reg_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access);
int gda_rdma_dereg_mr(struct ib_mr *ib, struct ib_udata *udata);

/* cq.c */
int gda_rdma_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		       struct ib_udata *udata);
int gda_rdma_resize_cq(struct ib_cq *ib, unsigned int cqe, struct ib_udata *udata);
int gda_rdma_destroy_cq(struct ib_cq *ib, struct ib_udata *udata);

/* srq.c */
int gda_rdma_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *init, struct ib_udata *udata);
int gda_rdma_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
			struct ib_udata *udata);
int gda_rdma_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr);
int gda_rdma_destroy_srq(struct ib_srq *ib, struct ib_udata *udata);

/* event.c */
void gda_rdma_qp_event(void *priv, enum gda_client_event event);
void gda_rdma_cq_event(void *priv, enum gda_client_event event);
void gda_rdma_srq_event(void *priv, enum gda_client_event event);

/* qp.c */
int gda_rdma_qp_make(struct gda_rdma_qp *qp, struct gda_rdma_ctx *ctx,
		     const struct gda_client_qp_attr *attr);
int gda_rdma_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *init, struct ib_udata *udata);
int gda_rdma_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		       struct ib_udata *udata);
int gda_rdma_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		      struct ib_qp_init_attr *init);
int gda_rdma_destroy_qp(struct ib_qp *ib, struct ib_udata *udata);

/* peer.c */
void gda_rdma_end_init(struct gda_executor_qp *exec, enum ib_qp_type type, kuid_t user);
void gda_rdma_end_set(struct gda_executor_qp *exec, enum ib_qp_state state, u32 dest);
u32 gda_rdma_peer(const struct gda_executor_qp *exec);
void gda_rdma_disconnect(struct gda_executor_qp *exec);
bool gda_rdma_exists_for(const struct gda_rdma_end *end, const struct gda_rdma_end *other);

/* datagram.c */
struct gda_executor_qp *gda_rdma_datagram(const struct gda_executor_qp *exec,
					  const struct gda_datagram *to);
void gda_rdma_port_init(struct gda_port *port, __be64 guid);

#endif /* GDA_RDMA_H */

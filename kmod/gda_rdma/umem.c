// SPDX-License-Identifier: GPL-2.0
/*
 * Memory for the queues of commands (umems), and pages of doorbells as objects (UARs): the part of
 * the library's ABI that consists of uverbs methods rather than commands.
 *
 * All UARs of a program are the context's one page of doorbells. So it has no effect whether a
 * program asks for registers that take whole work requests.
 */
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_std_types.h>

#include "gda_rdma.h"

#define UVERBS_MODULE_NAME gda_rdma
#include <rdma/uverbs_named_ioctl.h>

/* Queues are written whatever rights a program names; rights that only a NIC has are ignored. */
#define GDA_UMEM_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |	\
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_RELAXED_ORDERING)

static struct gda_rdma_ctx *gda_umem_ctx(struct uverbs_attr_bundle *attrs)
{
	return rdma_udata_to_drv_context(&attrs->driver_udata, struct gda_rdma_ctx, ib);
}

static int gda_umem_request(const struct uverbs_attr_bundle *attrs,
			    struct gda_client_umem_attr *attr)
{
	u32 access;
	int ret;

	ret = uverbs_copy_from(&attr->addr, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR);
	ret = ret ?: uverbs_copy_from(&attr->length, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN);
	ret = ret ?: uverbs_get_flags32(&access, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS,
					GDA_UMEM_ACCESS);
	attr->dmabuf = uverbs_attr_is_valid(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD);
	if (ret || !attr->dmabuf)
		return ret;
	return uverbs_get_raw_fd(&attr->fd, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD);
}

/* Commands name the umem by its handle in the context; another context has other handles. */
static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_UMEM_REG)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs,
							  MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE);
	struct gda_rdma_ctx *ctx = gda_umem_ctx(attrs);
	struct gda_client_umem_attr attr = { };
	u32 number;
	int ret;

	if (!ctx->devx)
		return -EINVAL;
	ret = gda_umem_request(attrs, &attr);
	if (ret)
		return ret;
	ret = gda_client_umem_reg(ctx->ctx, &attr);
	if (ret < 0)
		return ret;
	number = ret;
	uobj->object = (void *)(unsigned long)number;
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE);
	ret = uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &number, sizeof(number));
	if (!ret)
		gda_client_name(ctx->ctx, number);
	return ret;
}

static int gda_umem_cleanup(struct ib_uobject *uobj, enum rdma_remove_reason why,
			    struct uverbs_attr_bundle *attrs)
{
	struct gda_rdma_ctx *ctx = gda_rdma_ctx_of(uobj->context);

	return gda_client_umem_dereg(ctx->ctx, (unsigned long)uobj->object);
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_UAR_OBJ_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs,
							  MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	struct gda_rdma_ctx *ctx = gda_umem_ctx(attrs);
	enum mlx5_ib_uapi_uar_alloc_type type;
	u64 offset = gda_rdma_doorbells_offset();
	u32 length = PAGE_SIZE;
	int ret;

	ret = uverbs_get_const(&type, attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE);
	if (ret)
		return ret;
	if (type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF && type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC)
		return -EOPNOTSUPP;
	ret = gda_client_count(ctx->ctx);
	if (ret)
		return ret;
	uobj->object = ctx;
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	ret = uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset,
			     sizeof(offset));
	ret = ret ?: uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &ctx->uar,
				    sizeof(ctx->uar));
	return ret ?: uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length,
				     sizeof(length));
}

static int gda_uar_cleanup(struct ib_uobject *uobj, enum rdma_remove_reason why,
			   struct uverbs_attr_bundle *attrs)
{
	struct gda_rdma_ctx *ctx = uobj->object;

	gda_client_uncount(ctx->ctx);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_UMEM_REG,
	UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, MLX5_IB_OBJECT_DEVX_UMEM,
			UVERBS_ACCESS_NEW, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
	UVERBS_ATTR_RAW_FD(MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD, UA_OPTIONAL),
	UVERBS_ATTR_FLAGS_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, enum ib_access_flags),
	UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, u64),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, UVERBS_ATTR_TYPE(u32),
			    UA_MANDATORY));
DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_DEVX_UMEM_DEREG,
	UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, MLX5_IB_OBJECT_DEVX_UMEM,
			UVERBS_ACCESS_DESTROY, UA_MANDATORY));
DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_DEVX_UMEM, UVERBS_TYPE_ALLOC_IDR(gda_umem_cleanup),
	&UVERBS_METHOD(MLX5_IB_METHOD_DEVX_UMEM_REG),
	&UVERBS_METHOD(MLX5_IB_METHOD_DEVX_UMEM_DEREG));

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_UAR_OBJ_ALLOC,
	UVERBS_ATTR_IDR(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, MLX5_IB_OBJECT_UAR,
			UVERBS_ACCESS_NEW, UA_MANDATORY),
	UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, enum mlx5_ib_uapi_uar_alloc_type,
			     UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, UVERBS_ATTR_TYPE(u32),
			    UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, UVERBS_ATTR_TYPE(u32),
			    UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, UVERBS_ATTR_TYPE(u64),
			    UA_MANDATORY));
DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_UAR_OBJ_DESTROY,
	UVERBS_ATTR_IDR(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, MLX5_IB_OBJECT_UAR,
			UVERBS_ACCESS_DESTROY, UA_MANDATORY));
DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_UAR, UVERBS_TYPE_ALLOC_IDR(gda_uar_cleanup),
	&UVERBS_METHOD(MLX5_IB_METHOD_UAR_OBJ_ALLOC),
	&UVERBS_METHOD(MLX5_IB_METHOD_UAR_OBJ_DESTROY));

const struct uapi_definition gda_rdma_umem_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX_UMEM),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_UAR),
	{ }
};

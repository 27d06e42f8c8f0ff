// SPDX-License-Identifier: GPL-2.0
/* Memory regions: user memory, pinned and accounted by gda_mr as for /dev/gda. */
#include <linux/slab.h>

#include "gda_rdma.h"

#define GDA_RDMA_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |	\
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* These flags have no effect: accesses are always ordered, and pages may have any size. */
#define GDA_RDMA_ACCESS_IGNORED	(IB_ACCESS_OPTIONAL | IB_ACCESS_HUGETLB)

u32 gda_rdma_access(int access)
{
	u32 ret = 0;

	/* memory that others may write must also be writable for the CPU */
	if (access & (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC))
		ret |= GDA_ACCESS_LOCAL_WRITE;
	if (access & IB_ACCESS_REMOTE_WRITE)
		ret |= GDA_ACCESS_REMOTE_WRITE;
	if (access & IB_ACCESS_REMOTE_READ)
		ret |= GDA_ACCESS_REMOTE_READ;
	if (access & IB_ACCESS_REMOTE_ATOMIC)
		ret |= GDA_ACCESS_REMOTE_ATOMIC;
	return ret;
}

struct ib_mr *gda_rdma_reg_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access)
{
	const struct gda_client_mr_attr attr = {
		.pd = pd,
		.addr = start,
		.iova = iova,
		.length = length,
		.access = gda_rdma_access(access),
	};
	struct gda_rdma_mr *mr;
	u32 key;
	int ret;

	if (access & ~(GDA_RDMA_ACCESS | GDA_RDMA_ACCESS_IGNORED))
		return ERR_PTR(-EOPNOTSUPP);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->ctx = gda_rdma_pd_of(pd)->ctx->ctx;
	ret = gda_client_mr_reg(mr->ctx, &attr, &key);
	if (ret < 0) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	mr->handle = ret;
	mr->ib.lkey = key;
	mr->ib.rkey = key;
	return &mr->ib;
}

int gda_rdma_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct gda_rdma_mr *mr = gda_rdma_mr_of(ib);

	gda_client_destroy(mr->ctx, mr->handle);
	kfree(mr);
	return 0;
}

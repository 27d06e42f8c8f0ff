// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions: registered by ib_core for the calling process; ib_core pins and charges as for
 * any program of verbs. The key that users see is the remote key; keys of one device differ in some
 * of their 32 bits.
 */
#include <linux/slab.h>

#include "gda_ib.h"

static int gda_ib_mr_open(struct gda_ib_mr *mr, struct ib_pd *pd,
			  const struct gda_executor_mr_attr *attr)
{
	struct ib_mr *ibmr;

	/* an MR of verbs has the same offset in a page at both of its addresses */
	if (offset_in_page(attr->addr ^ attr->iova))
		return -EINVAL;
	ibmr = ib_reg_user_mr(pd, attr->addr, attr->length, attr->iova,
			      gda_fabric_access(attr->access));
	if (IS_ERR(ibmr))
		return PTR_ERR(ibmr);
	mr->mr = ibmr;
	return 0;
}

int gda_ib_mr_reg(struct gda_executor_mr *exec, const struct gda_executor_mr_attr *attr)
{
	struct gda_ib_ctx *ctx = exec->ctx->priv;
	struct gda_ib *ib = ctx->ib;
	struct gda_ib_mr *mr;
	int ret = -ENODEV;

	mr = kzalloc(sizeof(*mr), GDA_GFP_USER);
	if (!mr)
		return -ENOMEM;
	mr->ib = ib;
	if (!gda_ib_enter(ib))
		goto err_free;
	ret = gda_ib_mr_open(mr, ctx->pd, attr);
	if (!ret) {
		spin_lock(&ib->lock);
		list_add(&mr->node, &ib->mrs);
		spin_unlock(&ib->lock);
		/*
		 * rdma_rxe of 6.1 sets no rkey in an MR without remote rights: its lkey is the same
		 * number
		 */
		exec->key = mr->mr->rkey ?: mr->mr->lkey;
		exec->priv = mr;
	}
	gda_ib_exit(ib);
	if (ret)
		goto err_free;
	return 0;

err_free:
	kfree(mr);
	return ret;
}

static void gda_ib_mr_close(struct gda_ib_mr *mr)
{
	spin_lock(&mr->ib->lock);
	list_del(&mr->node);
	spin_unlock(&mr->ib->lock);
	ib_dereg_mr(mr->mr);
	mr->mr = NULL;
}

void gda_ib_mr_dereg(struct gda_executor_mr *exec)
{
	struct gda_ib_mr *mr = exec->priv;

	if (gda_ib_enter_free(mr->ib)) {
		gda_ib_mr_close(mr);
		gda_ib_exit(mr->ib);
	}
	kfree(mr);
}

/* Called by removal, when no call is under way. */
void gda_ib_mrs_free(struct gda_ib *ib)
{
	struct gda_ib_mr *mr, *next;

	list_for_each_entry_safe(mr, next, &ib->mrs, node)
		gda_ib_mr_close(mr);
}

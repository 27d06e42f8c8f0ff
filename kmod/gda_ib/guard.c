// SPDX-License-Identifier: GPL-2.0
/*
 * Who uses an RDMA device: calls, for which removal waits, and requests of peers, which find the
 * device and their target QP here.
 */
#include <linux/slab.h>

#include "gda_ib.h"

static LIST_HEAD(gda_ib_devices);
static DEFINE_SPINLOCK(gda_ib_lock);

struct workqueue_struct *gda_ib_wq;
struct workqueue_struct *gda_ib_probe_wq;

bool gda_ib_enter(struct gda_ib *ib)
{
	return refcount_inc_not_zero(&ib->calls);
}

void gda_ib_exit(struct gda_ib *ib)
{
	if (refcount_dec_and_test(&ib->calls))
		complete(&ib->idle);
}

void gda_ib_show(struct gda_ib *ib)
{
	spin_lock(&gda_ib_lock);
	list_add(&ib->node, &gda_ib_devices);
	spin_unlock(&gda_ib_lock);
}

void gda_ib_hide(struct gda_ib *ib)
{
	spin_lock(&gda_ib_lock);
	list_del(&ib->node);
	spin_unlock(&gda_ib_lock);
}

struct gda_ib *gda_ib_enter_device(const struct ib_device *ibdev)
{
	struct gda_ib *ib, *found = NULL;

	spin_lock(&gda_ib_lock);
	list_for_each_entry(ib, &gda_ib_devices, node)
		if (ib->ibdev == ibdev && gda_ib_enter(ib))
			found = ib;
	spin_unlock(&gda_ib_lock);
	return found;
}

struct gda_ib_qp *gda_ib_qp_get(struct gda_ib *ib, u32 number)
{
	struct gda_ib_qp *qp;

	spin_lock(&ib->lock);
	qp = xa_load(&ib->numbers, number);
	if (qp)
		kref_get(&qp->ref);
	spin_unlock(&ib->lock);
	return qp;
}

static void gda_ib_qp_release(struct kref *ref)
{
	struct gda_ib_qp *qp = container_of(ref, struct gda_ib_qp, ref);

	gda_memlock_uncharge(&qp->charge);
	kfree(qp);
}

void gda_ib_qp_put(struct gda_ib_qp *qp)
{
	kref_put(&qp->ref, gda_ib_qp_release);
}

// SPDX-License-Identifier: MIT
/*
 * Memory regions on an RDMA device: the user's key is the device's 32-bit rkey, and addresses on
 * the fabric are those of GDA. The RDMA device pins the memory and charges it, and checks what
 * peers do with it. The table here checks the local keys of a work request before it is posted.
 */
#include <errno.h>
#include <stdlib.h>
#include "verbs_internal.h"

static u32 gda_verbs_bucket(u32 key)
{
	return key * 0x9e3779b1U / (u32)((1ULL << 32) / GDA_VERBS_BUCKETS);
}

const struct gda_verbs_mr *gda_verbs_mr_find(const struct gda_verbs *verbs, u32 key)
{
	/* pairs with gda_verbs_mr_publish() */
	const struct gda_verbs_mr *m = smp_load_acquire(&verbs->keys[gda_verbs_bucket(key)]);

	while (m && m->mr->mem.key != key)
		m = smp_load_acquire(&m->next);		/* the same */
	return m;
}

static void gda_verbs_mr_publish(struct gda_verbs *verbs, struct gda_verbs_mr *m)
{
	struct gda_verbs_mr **bucket = &verbs->keys[gda_verbs_bucket(m->mr->mem.key)];

	m->next = *bucket;
	/* pairs with gda_verbs_mr_find() */
	smp_store_release(bucket, m);
}

/*
 * An RDMA device maps whole pages, so the address and the iova must have the same offset in a page.
 */
int gda_verbs_mr_map(struct gda_inproc_mr *mr)
{
	struct gda_verbs *verbs = gda_verbs_of(mr->obj.ctx);
	struct gda_verbs_mr *m;
	int err;

	if (((uintptr_t)mr->addr - mr->mem.iova) % GDA_INPROC_PAGE)
		return gda_because(-EINVAL,
				   "GDA_MR_ZERO_BASED on an RDMA device: pass memory that begins at a page, or leave it out");
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->mr = mr;
	m->ib = gda_ibv.reg_mr_iova(verbs->pd, mr->addr, mr->mem.size, mr->mem.iova,
				    gda_fabric_access(mr->mem.access));
	if (!m->ib) {
		err = -errno;
		free(m);
		return err;
	}
	mr->mem.key = m->ib->rkey;
	mr->priv = m;
	gda_verbs_mr_publish(verbs, m);
	return 0;
}

void gda_verbs_mr_unmap(struct gda_inproc_mr *mr)
{
	struct gda_verbs *verbs = gda_verbs_of(mr->obj.ctx);
	struct gda_verbs_mr **link = &verbs->keys[gda_verbs_bucket(mr->mem.key)];

	while (*link != mr->priv)
		link = &(*link)->next;
	/* pairs with gda_verbs_mr_find() */
	smp_store_release(link, (*link)->next);
}

void gda_verbs_mr_free(struct gda_inproc_mr *mr)
{
	struct gda_verbs_mr *m = mr->priv;

	/* fails only if the device is gone */
	gda_ibv.dereg_mr(m->ib);
	free(m);
}

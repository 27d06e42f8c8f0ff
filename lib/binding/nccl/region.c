// SPDX-License-Identifier: MIT
/*
 * Symmetric registrations. Each rank registers its own memory and learns the addresses and keys of
 * all others; NCCL gets one handle per rank, which stands for the memory of all.
 *
 * NCCL declares pinned host memory as GPU memory if the GPU reaches it, so the CUDA driver is asked
 * which it is.
 */
#include <errno.h>
#include <stdlib.h>
#include "nccl_internal.h"

static void gda_nccl_region_put(struct gda_nccl_region *region)
{
	struct gda_nccl_word *w;
	unsigned int i;

	/* the last user's free is ordered after all other uses */
	if (__atomic_sub_fetch(&region->users, 1, __ATOMIC_ACQ_REL))
		return;
	for (i = 0; i < GDA_NCCL_BUCKETS; i++) {
		while ((w = region->words[i])) {
			region->words[i] = w->next;
			free(w);
		}
	}
	free(region);
}

static int gda_nccl_region_reg(struct gda_nccl_region *region, void *data, int type)
{
	struct gda_nccl_member *m = region->owner;
	int err;

	if (type == GDA_NCCL_PTR_CUDA && m->cuda) {
		err = gda_cuda_mr_reg(m->cuda, (uintptr_t)data, region->size, GDA_ACCESS_ALL, 0,
				      &region->mr);
		region->gpu = !err;
		if (err != -EFAULT)
			return err;
	}
	return gda_mr_reg(m->ctx, data, region->size, GDA_ACCESS_ALL, 0, &region->mr);
}

static int gda_nccl_region_new(struct gda_nccl_coll *coll, void *data, size_t size, int type,
			       uint64_t flags, struct gda_nccl_region **region)
{
	struct gda_nccl_region *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->users = (unsigned int)coll->group->ranks;
	r->owner = coll->member;
	r->size = size;
	r->never_reset = flags & GDA_NCCL_MR_NEVER_RESET;
	err = gda_nccl_region_reg(r, data, type);
	if (err) {
		free(r);
		return err;
	}
	r->iova = gda_mr_iova(r->mr);
	r->key = gda_mr_key(r->mr);
	*region = r;
	return 0;
}

/* A rank's answer about its region; if any rank has none, all free theirs. */
struct gda_nccl_card {
	struct gda_nccl_region *region;
	int64_t err;
};

static int gda_nccl_mr_share(struct gda_nccl_mr *mr, struct gda_nccl_region *region, int err)
{
	struct gda_nccl_coll *coll = mr->coll;
	const struct gda_nccl_card mine = { region, err };
	int ranks = coll->group->ranks, i;
	struct gda_nccl_card *all = calloc((size_t)ranks, sizeof(*all));
	int met = all ? gda_nccl_meet(coll, &mine, sizeof(mine), all) : -ENOMEM;

	for (i = 0; i < ranks && !met; i++) {
		met = all[i].err ? -ECANCELED : 0;
		mr->region[i] = all[i].region;
	}
	free(all);
	return err ? err : met;
}

static int gda_nccl_mr_new(struct gda_nccl_coll *coll, void *data, size_t size, int type,
			   uint64_t flags, struct gda_nccl_mr **mr)
{
	struct gda_nccl_mr *m = calloc(1, sizeof(*m) + (size_t)coll->group->ranks *
							       sizeof(m->region[0]));
	struct gda_nccl_region *region = NULL;
	int err;

	if (!m)
		return -ENOMEM;
	m->coll = coll;
	err = gda_nccl_region_new(coll, data, size, type, flags, &region);
	err = gda_nccl_mr_share(m, region, err);
	if (err) {
		if (region)
			gda_mr_dereg(region->mr);
		free(region);
		free(m);
		return err;
	}
	m->next = coll->mrs;
	coll->mrs = m;
	*mr = m;
	return 0;
}

int gda_nccl_reg(void *coll, void *data, size_t size, int type, uint64_t flags, void **mr)
{
	struct gda_nccl_mr *m;
	int err;

	if (type != GDA_NCCL_PTR_HOST && type != GDA_NCCL_PTR_CUDA) {
		gda_nccl_log(GDA_NCCL_LOG_WARN,
			     "GDA: regMrSym: unknown kind of memory %#x: install a newer plugin",
			     type);
		return GDA_NCCL_INVALID_ARGUMENT;
	}
	err = gda_nccl_mr_new(coll, data, size, type, flags, &m);
	if (err) {
		gda_nccl_log(GDA_NCCL_LOG_WARN, "GDA: regMrSym: %p, %zu bytes: %s", data, size,
			     gda_nccl_reason(err));
		return err == -EINVAL || err == -EFAULT ? GDA_NCCL_INVALID_ARGUMENT :
							  GDA_NCCL_SYSTEM_ERROR;
	}
	*mr = m;
	return GDA_NCCL_SUCCESS;
}

/* The in-process device does not need the dma-buf: the address is enough. */
int gda_nccl_reg_dmabuf(void *coll, void *data, size_t size, int type, uint64_t offset, int fd,
			uint64_t flags, void **mr)
{
	(void)offset;
	(void)fd;
	return gda_nccl_reg(coll, data, size, type, flags, mr);
}

int gda_nccl_dereg(void *coll, void *mr)
{
	struct gda_nccl_coll *c = coll;
	struct gda_nccl_mr *m = mr, **link;
	struct gda_nccl_region *own;
	int i;

	for (link = &c->mrs; *link && *link != m;)
		link = &(*link)->next;
	if (!*link) {
		gda_nccl_log(GDA_NCCL_LOG_WARN,
			     "GDA: deregMrSym: %p is not registered here: deregister what regMrSym() returned, once",
			     mr);
		return GDA_NCCL_INVALID_ARGUMENT;
	}
	*link = m->next;
	own = m->region[c->rank];
	gda_mr_dereg(own->mr);
	own->mr = NULL;
	for (i = 0; i < c->group->ranks; i++)
		gda_nccl_region_put(m->region[i]);
	free(m);
	return GDA_NCCL_SUCCESS;
}

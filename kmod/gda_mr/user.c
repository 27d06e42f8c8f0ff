// SPDX-License-Identifier: GPL-2.0
/*
 * The kind "user": pages of the caller's address space, pinned for long.
 *
 * Pages are charged before they are pinned: to RLIMIT_MEMLOCK of the user, as gda_core charges
 * queues (gda_memlock_charge()), and to pinned_vm (VmPin) of the mm, to which a reference is held
 * as long as it is charged.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <gda/compat.h>
#include <gda/ioctl.h>
#include <gda/mem.h>

#include "gda_mr.h"

/* Pages that one call pins: a fatal signal ends the registration between two calls. */
#define GDA_PIN_BATCH	512
#define GDA_UNPIN_BATCH	65536

struct gda_user_memory {
	struct mm_struct *mm;
	struct gda_memlock charge;
	bool writable;
};

static int gda_user_charge(struct gda_user_memory *um, unsigned long npages)
{
	int ret = gda_memlock_charge(&um->charge, npages);

	if (!ret)
		atomic64_add(npages, &um->mm->pinned_vm);
	return ret;
}

static void gda_user_uncharge(struct gda_user_memory *um, unsigned long npages)
{
	gda_memlock_uncharge(&um->charge);
	atomic64_sub(npages, &um->mm->pinned_vm);
}

static struct gda_user_memory *gda_user_memory_create(bool writable)
{
	struct gda_user_memory *um = kzalloc(sizeof(*um), GDA_GFP_USER);

	if (!um)
		return NULL;
	um->mm = current->mm;
	mmgrab(um->mm);
	um->writable = writable;
	return um;
}

static void gda_user_memory_destroy(struct gda_user_memory *um)
{
	mmdrop(um->mm);
	kfree(um);
}

/*
 * Make room in b->pages for more than the @pinned pages that it has. The room doubles only while
 * memory is found at the addresses, because a caller with an unlimited RLIMIT_MEMLOCK can name any
 * number of addresses without memory.
 */
static int gda_user_grow(struct gda_mem_backing *b, unsigned long pinned, unsigned long *room)
{
	unsigned long n = min(b->npages, max(2 * *room, (unsigned long)GDA_PIN_BATCH));
	struct page **pages;

	if (pinned < *room)
		return 0;
	pages = gda_alloc_large(array_size(n, sizeof(*pages)));
	if (!pages)
		return -ENOMEM;
	if (pinned)
		memcpy(pages, b->pages, pinned * sizeof(*pages));
	kvfree(b->pages);
	b->pages = pages;
	*room = n;
	return 0;
}

/* Pin b->npages pages from @addr. Return: 0, or an error with *@pinned left pinned. */
static int gda_user_pin(struct gda_mem_backing *b, unsigned long addr, bool writable,
			unsigned long *pinned)
{
	unsigned int flags = FOLL_LONGTERM | (writable ? FOLL_WRITE : GDA_FOLL_READ);
	unsigned long room = 0;

	*pinned = 0;
	if (!writable && !gda_mm_readable(current->mm, addr, b->npages << PAGE_SHIFT))
		return -EFAULT;
	while (*pinned < b->npages) {
		int n, ret = gda_user_grow(b, *pinned, &room);

		if (ret)
			return ret;
		n = min_t(unsigned long, room - *pinned, GDA_PIN_BATCH);
		n = pin_user_pages_fast(addr + (*pinned << PAGE_SHIFT), n, flags,
					b->pages + *pinned);
		if (n <= 0)
			return n == -ENOMEM ? -ENOMEM : -EFAULT;
		*pinned += n;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static void gda_user_unpin(struct gda_mem_backing *b, unsigned long pinned)
{
	struct gda_user_memory *um = b->priv;
	unsigned long done, n;

	for (done = 0; done < pinned; done += n) {
		n = min_t(unsigned long, pinned - done, GDA_UNPIN_BATCH);
		unpin_user_pages_dirty_lock(b->pages + done, n, um->writable);
		cond_resched();
	}
}

static int gda_user_attach(struct gda_mem_backing *b, const struct gda_mem_request *req)
{
	unsigned long addr = untagged_addr(req->addr);
	struct gda_user_memory *um;
	unsigned long pinned;
	int ret;

	if (addr >= TASK_SIZE_MAX || req->length > TASK_SIZE_MAX - addr)
		return -EFAULT;
	b->offset = offset_in_page(req->addr);
	b->npages = DIV_ROUND_UP(b->offset + req->length, PAGE_SIZE);
	um = gda_user_memory_create(req->writable);
	if (!um)
		return -ENOMEM;
	b->priv = um;
	ret = gda_user_charge(um, b->npages);
	if (ret)
		goto err_um;
	ret = gda_user_pin(b, addr & PAGE_MASK, req->writable, &pinned);
	if (ret)
		goto err_unpin;
	return 0;

err_unpin:
	gda_user_unpin(b, pinned);
	kvfree(b->pages);
	b->pages = NULL;
	gda_user_uncharge(um, b->npages);
err_um:
	gda_user_memory_destroy(um);
	return ret;
}

static void gda_user_detach(struct gda_mem_backing *b)
{
	struct gda_user_memory *um = b->priv;

	gda_user_unpin(b, b->npages);
	gda_user_uncharge(um, b->npages);
	gda_user_memory_destroy(um);
	kvfree(b->pages);
}

const struct gda_mem_kind gda_mem_user = {
	.name = "user",
	.owner = THIS_MODULE,
	.id = GDA_KIND_USER,
	.attach = gda_user_attach,
	.detach = gda_user_detach,
};

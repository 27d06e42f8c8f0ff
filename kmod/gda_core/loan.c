// SPDX-License-Identifier: GPL-2.0
/*
 * Memory on loan: a part of a queue (send queue, CQ, record) that lies in a dma-buf of
 * the caller. The kind "dma-buf" of gda_mr attaches, pins and maps it, as it does for
 * an MR; executors see an address.
 *
 * The lender may take it back at any time, under its dma_resv, for good: the owner of
 * the part is told to lose it, so that whoever looks from then on looks elsewhere, and
 * who looks already is waited for, with gda_mem_revoke_wait(). It is touched under SRCU,
 * or under cq->lock, and only after a look at whether it is lost.
 *
 * A loan is taken before the context is locked (other drivers are waited for) and
 * entered in the context's list under its lock.
 */
#include <linux/list.h>
#include <linux/overflow.h>
#include <linux/string.h>

#include "gda_private.h"

static void gda_loan_revoke(struct gda_mem_backing *b)
{
	struct gda_loan *loan = container_of(b, struct gda_loan, backing);

	WRITE_ONCE(loan->revoked, true);
	loan->lose(loan);
}

void gda_loan_init(struct gda_loan *loan, struct gda_object *obj,
		   void (*lose)(struct gda_loan *loan))
{
	loan->obj = obj;
	loan->lose = lose;
	loan->backing.revoke = gda_loan_revoke;
	INIT_LIST_HEAD(&loan->node);
}

/* What can be said without looking at the dma-buf. @given: a flag says there is one. */
int gda_loan_check(const struct gda_queue_memory *mem, bool given)
{
	if (!given)
		return memchr_inv(mem, 0, sizeof(*mem)) ? -EINVAL : 0;
	return mem->reserved ? -EOPNOTSUPP : 0;
}

static bool gda_loan_cached(const void *addr, u32 length)
{
	const void *p = PTR_ALIGN_DOWN(addr, PAGE_SIZE);

	for (; p < addr + length; p += PAGE_SIZE)
		if (!gda_kaddr_cached(p))
			return false;
	return true;
}

/* Is what was attached fit for a queue? */
static int gda_loan_inspect(struct gda_loan *loan, u32 length, u32 align)
{
	struct gda_mem_backing *b = &loan->backing;
	int idx = gda_read_lock();
	void *addr = NULL;
	int ret = 0;

	if (READ_ONCE(loan->revoked))
		ret = -EAGAIN;
	else if (b->pages || b->kind->span(b, 0, length, &addr) != length)
		ret = -EOPNOTSUPP;
	else if (!IS_ALIGNED((unsigned long)addr, align))
		ret = -EINVAL;
	else if (!gda_loan_cached(addr, length))
		ret = -EMEDIUMTYPE;
	gda_read_unlock(idx);
	if (ret)
		return ret;
	loan->addr = addr;
	loan->length = length;
	return 0;
}

int gda_loan_take(struct gda_loan *loan, const struct gda_queue_memory *mem, u32 length,
		  u32 align)
{
	struct gda_mem_request req = {
		.addr = mem->offset,
		.length = length,
		.fd = mem->fd,
		.writable = true,
	};
	u64 end;
	int ret;

	if (!IS_ALIGNED(mem->offset, align))
		return -EINVAL;
	if (check_add_overflow(req.addr, req.length, &end))
		return -EOVERFLOW;
	ret = gda_mem_attach(&loan->backing, GDA_KIND_DMABUF, &req);
	if (ret)
		return ret;
	ret = gda_loan_inspect(loan, length, align);
	if (ret)
		gda_mem_detach(&loan->backing);
	return ret;
}

/* Nobody looks any more. Also of what was never taken. */
void gda_loan_return(struct gda_loan *loan)
{
	if (!loan->addr)
		return;
	gda_mem_detach(&loan->backing);
	loan->addr = NULL;
}

/* Two queues on the same bytes would only ruin each other. */
static bool gda_loan_overlaps(const struct gda_loan *a, const struct gda_loan *b)
{
	return a->addr < b->addr + b->length && b->addr < a->addr + a->length;
}

int gda_loan_enter(struct gda_loan *loan)
{
	struct gda_ctx *ctx = loan->obj->ctx;
	struct gda_loan *other;

	lockdep_assert_held(&ctx->lock);
	if (!loan->addr)
		return 0;
	list_for_each_entry(other, &ctx->loans, node)
		if (!READ_ONCE(other->revoked) && gda_loan_overlaps(loan, other))
			return -EBUSY;
	list_add(&loan->node, &ctx->loans);
	return 0;
}

void gda_loan_leave(struct gda_loan *loan)
{
	lockdep_assert_held(&loan->obj->ctx->lock);
	list_del_init(&loan->node);
}

/* A record, which is small, begins at zero. */
int gda_loan_clear(struct gda_loan *loan)
{
	int idx = gda_read_lock();
	int ret = 0;

	if (READ_ONCE(loan->revoked))
		ret = -EAGAIN;
	else if (loan->addr)
		memset(loan->addr, 0, loan->length);
	gda_read_unlock(idx);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * A umem: a part of a queue (send queue, CQ, record) that lies in a dma-buf of the user. A part of
 * a client's queue may also lie at an address in the process, or in a umem that the client has
 * registered (whole.c). gda_mr attaches, pins and maps the dma-buf, or pins and charges the pages,
 * as for an MR; executors see an address.
 *
 * The exporter may revoke the memory at any time, under its dma_resv, for good. ->revoked_cb() then
 * redirects new readers, and gda_mem_revoke_wait() waits for the old ones. Readers hold SRCU or
 * cq->lock, and test ->revoked inside.
 *
 * gda_umem_get() attaches before the context is locked, because it waits for other drivers;
 * gda_umem_insert() adds the umem to the context's list under ctx->lock.
 */
#include <linux/list.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "cached.h"
#include "gda_private.h"

static void gda_umem_revoke(struct gda_mem_backing *b)
{
	struct gda_umem *umem = container_of(b, struct gda_umem, backing);

	WRITE_ONCE(umem->revoked, true);
	umem->revoked_cb(umem);
}

void gda_umem_init(struct gda_umem *umem, struct gda_object *obj,
		   void (*revoked_cb)(struct gda_umem *umem))
{
	umem->obj = obj;
	umem->revoked_cb = revoked_cb;
	umem->backing.revoke = gda_umem_revoke;
	INIT_LIST_HEAD(&umem->node);
}

/* Check @mem without looking at the dma-buf. @given: a flag says that @mem is set. */
int gda_umem_check(const struct gda_queue_memory *mem, bool given)
{
	if (!given)
		return memchr_inv(mem, 0, sizeof(*mem)) ? -EINVAL : 0;
	return mem->reserved ? -EOPNOTSUPP : 0;
}

static bool gda_umem_cached(const void *addr, u32 length)
{
	const void *p = PTR_ALIGN_DOWN(addr, PAGE_SIZE);

	for (; p < addr + length; p += PAGE_SIZE)
		if (!gda_kaddr_cached(p))
			return false;
	return true;
}

/* Is the attached memory fit for a queue? */
static int gda_umem_inspect(struct gda_umem *umem, u32 length, u32 align)
{
	struct gda_mem_backing *b = &umem->backing;
	int idx = gda_read_lock();
	void *addr = NULL;
	int ret = 0;

	if (READ_ONCE(umem->revoked))
		ret = -EAGAIN;
	else if (b->pages || b->kind->span(b, 0, length, &addr) != length)
		ret = -EOPNOTSUPP;
	else if (!IS_ALIGNED((unsigned long)addr, align))
		ret = -EINVAL;
	else if (!gda_umem_cached(addr, length))
		ret = -EMEDIUMTYPE;
	gda_read_unlock(idx);
	if (ret)
		return ret;
	umem->addr = addr;
	umem->length = length;
	return 0;
}

int gda_umem_get(struct gda_umem *umem, const struct gda_queue_memory *mem, u32 length,
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
	ret = gda_mem_attach(&umem->backing, GDA_KIND_DMABUF, &req);
	if (ret)
		return ret;
	ret = gda_umem_inspect(umem, length, align);
	if (ret)
		gda_mem_detach(&umem->backing);
	return ret;
}

/* Map pages of a process into one range of kernel addresses. */
static int gda_umem_map(struct gda_umem *umem)
{
	struct gda_mem_backing *b = &umem->backing;

	if (b->npages == 1) {
		umem->addr = page_address(b->pages[0]) + b->offset;
		return 0;
	}
	umem->map = vmap(b->pages, b->npages, VM_MAP, PAGE_KERNEL);
	if (!umem->map)
		return -ENOMEM;
	umem->addr = umem->map + b->offset;
	return 0;
}

int gda_umem_get_user(struct gda_umem *umem, u64 addr, u32 length, u32 align)
{
	struct gda_mem_request req = { .addr = addr, .length = length, .writable = true };
	u64 end;
	int ret;

	if (!IS_ALIGNED(addr, align))
		return -EINVAL;
	if (check_add_overflow(addr, req.length, &end))
		return -EOVERFLOW;
	ret = gda_mem_attach(&umem->backing, GDA_KIND_USER, &req);
	if (ret)
		return ret;
	ret = gda_umem_map(umem);
	if (ret)
		gda_mem_detach(&umem->backing);
	else
		umem->length = length;
	return ret;
}

/* @at: an offset in the umem @handle; an address if @handle is 0. */
int gda_umem_get_at(struct gda_umem *umem, u32 handle, u64 at, u32 length, u32 align)
{
	return handle ? gda_umem_get_part(umem, handle, at, length, align) :
			gda_umem_get_user(umem, at, length, align);
}

/* On failure the caller undoes this by gda_umem_put() of both. */
int gda_umem_get_both(struct gda_umem *entries, struct gda_umem *rec,
		      const struct gda_umem_addresses *user, u32 length, u32 align)
{
	int ret = 0;

	if (user->entries || user->entries_umem)
		ret = gda_umem_get_at(entries, user->entries_umem, user->entries, length, align);
	return ret ?: gda_umem_get_at(rec, user->record_umem, user->record, GDA_RECORD_BYTES,
				      GDA_RECORD_BYTES);
}

/* No executor reads the memory any more. @umem may be one that was never attached. */
void gda_umem_put(struct gda_umem *umem)
{
	if (!umem->addr)
		return;
	if (umem->whole) {
		gda_umem_put_part(umem);
		return;
	}
	if (umem->map)
		vunmap(umem->map);
	umem->map = NULL;
	gda_mem_detach(&umem->backing);
	umem->addr = NULL;
}

/* Refuse overlaps: two queues in the same bytes would corrupt each other. */
static bool gda_umem_overlaps(const struct gda_umem *a, const struct gda_umem *b)
{
	return a->addr < b->addr + b->length && b->addr < a->addr + a->length;
}

int gda_umem_insert(struct gda_umem *umem)
{
	struct gda_ctx *ctx = umem->obj->ctx;
	struct gda_umem *other;

	lockdep_assert_held(&ctx->lock);
	if (!umem->addr)
		return 0;
	list_for_each_entry(other, &ctx->umems, node)
		if (!READ_ONCE(other->revoked) && gda_umem_overlaps(umem, other))
			return -EBUSY;
	list_add(&umem->node, &ctx->umems);
	return 0;
}

void gda_umem_remove(struct gda_umem *umem)
{
	lockdep_assert_held(&umem->obj->ctx->lock);
	list_del_init(&umem->node);
}

/* Set a record to zero. */
int gda_umem_clear(struct gda_umem *umem)
{
	int idx = gda_read_lock();
	int ret = 0;

	if (READ_ONCE(umem->revoked))
		ret = -EAGAIN;
	else if (umem->addr)
		memset(umem->addr, 0, umem->length);
	gda_read_unlock(idx);
	return ret;
}

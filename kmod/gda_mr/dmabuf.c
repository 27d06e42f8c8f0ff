// SPDX-License-Identifier: GPL-2.0
/*
 * The kind "dma-buf": memory of another driver. Attached dynamically, pinned, mapped
 * for the CPU and made accessible once, at registration; executors see only the
 * mapping.
 *
 * The exporter may take the memory away whenever it wants by move_notify. That means
 * revocation, for good: executors are stopped first (gda_mem_revoke), then mapping and
 * pin are given up, all before the callback returns. @revoked and @mapped and @pinned
 * are guarded by the buffer's dma_resv; readers look at the mapping's address only,
 * under the protection of gda_core.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/iosys-map.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <gda/compat.h>
#include <gda/ioctl.h>
#include <gda/mem.h>

#include "gda_mr.h"

/* How long the buffer's earlier users may keep it busy before we give up. */
#define GDA_DMABUF_WAIT	(10 * HZ)

struct gda_dmabuf {
	struct gda_mem_backing *backing;
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct iosys_map map;
	void *addr;		/* of the MR's first byte */
	bool pinned;
	bool mapped;
	bool revoked;
};

/* Give up the mapping and the pin. Nobody reads any more. */
static void gda_dmabuf_release(struct gda_dmabuf *db)
{
	dma_resv_assert_held(db->dmabuf->resv);
	if (db->mapped)
		dma_buf_vunmap(db->dmabuf, &db->map);
	if (db->pinned)
		dma_buf_unpin(db->attach);
	db->mapped = false;
	db->pinned = false;
}

static void gda_dmabuf_move_notify(struct dma_buf_attachment *attach)
{
	struct gda_dmabuf *db = attach->importer_priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	if (db->revoked)
		return;
	db->revoked = true;
	gda_mem_revoke(db->backing);
	gda_dmabuf_release(db);
}

static const struct dma_buf_attach_ops gda_dmabuf_attach_ops = {
	.allow_peer2peer = true,
	.move_notify = gda_dmabuf_move_notify,
};

static int gda_dmabuf_pin(struct gda_dmabuf *db)
{
	struct dma_resv *resv = db->dmabuf->resv;
	long left;
	int ret;

	ret = dma_resv_lock_interruptible(resv, NULL);
	if (ret)
		return ret;
	ret = db->revoked ? -EAGAIN : dma_buf_pin(db->attach);
	db->pinned = !ret;
	dma_resv_unlock(resv);
	if (ret)
		return ret;
	/* whoever moved or cleared it last must have finished */
	left = dma_resv_wait_timeout(resv, DMA_RESV_USAGE_KERNEL, true, GDA_DMABUF_WAIT);
	return left > 0 ? 0 : left ?: -ETIMEDOUT;
}

static int gda_dmabuf_map(struct gda_dmabuf *db)
{
	struct iosys_map map;
	int ret;

	ret = gda_dma_buf_vmap(db->dmabuf, &map);
	if (ret)
		return ret == -ENOMEM || ret == -EINTR ? ret : -EOPNOTSUPP;
	dma_resv_lock(db->dmabuf->resv, NULL);
	db->map = map;
	db->mapped = true;
	/* I/O memory wants accessors of its own, which executors do not have yet */
	if (map.is_iomem)
		ret = -EOPNOTSUPP;
	else if (db->revoked)
		ret = -EAGAIN;
	dma_resv_unlock(db->dmabuf->resv);
	return ret;
}

static void gda_dmabuf_destroy(struct gda_dmabuf *db)
{
	dma_resv_lock(db->dmabuf->resv, NULL);
	db->revoked = true;
	gda_dmabuf_release(db);
	dma_resv_unlock(db->dmabuf->resv);
	dma_buf_detach(db->dmabuf, db->attach);
	dma_buf_put(db->dmabuf);
	kfree(db);
}

static int gda_dmabuf_check(const struct dma_buf *dmabuf,
			    const struct gda_mem_request *req)
{
	if (req->addr > dmabuf->size || req->length > dmabuf->size - req->addr)
		return -EINVAL;
	if (req->writable && !(dmabuf->file->f_mode & FMODE_WRITE))
		return -EACCES;
	return 0;
}

static struct gda_dmabuf *gda_dmabuf_create(struct gda_mem_backing *b,
					    const struct gda_mem_request *req)
{
	struct gda_dmabuf *db;
	int ret;

	db = kzalloc(sizeof(*db), GFP_KERNEL_ACCOUNT);
	if (!db)
		return ERR_PTR(-ENOMEM);
	db->backing = b;
	db->dmabuf = dma_buf_get(req->fd);
	if (IS_ERR(db->dmabuf)) {
		ret = PTR_ERR(db->dmabuf);
		goto err_kfree;
	}
	ret = gda_dmabuf_check(db->dmabuf, req);
	if (ret)
		goto err_put;
	db->attach = dma_buf_dynamic_attach(db->dmabuf, gda_dma_device(),
					    &gda_dmabuf_attach_ops, db);
	if (IS_ERR(db->attach)) {
		ret = PTR_ERR(db->attach);
		goto err_put;
	}
	return db;

err_put:
	dma_buf_put(db->dmabuf);
err_kfree:
	kfree(db);
	return ERR_PTR(ret);
}

static int gda_dmabuf_attach(struct gda_mem_backing *b, const struct gda_mem_request *req)
{
	struct gda_dmabuf *db = gda_dmabuf_create(b, req);
	int ret;

	if (IS_ERR(db))
		return PTR_ERR(db);
	ret = gda_dmabuf_pin(db);
	if (ret)
		goto err_destroy;
	ret = dma_buf_begin_cpu_access(db->dmabuf, DMA_BIDIRECTIONAL);
	if (ret)
		goto err_destroy;
	ret = gda_dmabuf_map(db);
	if (ret)
		goto err_cpu_access;
	db->addr = db->map.vaddr + req->addr;
	b->priv = db;
	return 0;

err_cpu_access:
	dma_buf_end_cpu_access(db->dmabuf, DMA_BIDIRECTIONAL);
err_destroy:
	gda_dmabuf_destroy(db);
	return ret;
}

static void gda_dmabuf_detach(struct gda_mem_backing *b)
{
	struct gda_dmabuf *db = b->priv;

	dma_buf_end_cpu_access(db->dmabuf, DMA_BIDIRECTIONAL);
	gda_dmabuf_destroy(db);
}

static u32 gda_dmabuf_span(const struct gda_mem_backing *b, u64 off, u32 len, void **ptr)
{
	const struct gda_dmabuf *db = b->priv;

	*ptr = db->addr + off;
	return len;
}

const struct gda_mem_kind gda_mem_dmabuf = {
	.name = "dma-buf",
	.owner = THIS_MODULE,
	.id = GDA_KIND_DMABUF,
	.attach = gda_dmabuf_attach,
	.detach = gda_dmabuf_detach,
	.span = gda_dmabuf_span,
};

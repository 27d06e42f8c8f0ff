// SPDX-License-Identifier: GPL-2.0
/*
 * The kind "dma-buf": memory of another driver. At registration the buffer is attached, held where
 * it is, mapped for the CPU and made accessible, once; executors use only the mapping, and no
 * device accesses the buffer through this attachment.
 *
 * Memory of a dynamic exporter is attached dynamically and pinned. Memory of other exporters does
 * not move while it is attached. It has to be attached and not only mapped, because some exporters
 * (those of DRM) pin it when it is attached. It is attached statically: for a dynamic importer the
 * kernel would map the pages for DMA, once per registration, which no executor needs, and
 * DMA_API_DEBUG takes two such mappings of one buffer for a bug.
 *
 * The exporter may take the memory away whenever it wants, by invalidate_mappings. That is a
 * revocation, for good: executors are stopped first, then mapping and pin are given up, all before
 * the callback returns. The exporter calls it for one attachment after the other, and the first of
 * our attachments stops the executors of all, so that the exporter waits for them once. @held and
 * @stopped are guarded by the buffer's dma_resv, and so are @mapped and @map; readers use the
 * mapping's address only, under the protection of gda_core. Moves of memory that is not held are
 * ignored, among them those that our own pinning causes.
 *
 * In kernels that do not map under dma_resv (GDA_VMAP_UNDER_RESV is not defined), the callback
 * cannot give a mapping up, because dma_buf_vmap() takes dma_resv last. There @mapped and @map are
 * guarded by a lock of gda_dmabuf_maps. A mapping of memory that moved stays, unused, until the MR
 * is deregistered or the buffer is registered again: as long as one mapping is left, the kernel
 * hands it out again.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/hash.h>
#include <linux/iosys-map.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
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
	struct list_head node;	/* in gda_dmabuf_maps */
	struct iosys_map map;
	void *addr;		/* of the MR's first byte */
	u64 length;		/* of the MR */
	bool held;		/* the memory is pinned if it can move, and was not taken away */
	bool stopped;		/* the memory is about to be taken away: executors look no more */
	bool mapped;
};

/*
 * Used unless GDA_VMAP_UNDER_RESV: lists of what is mapped, hashed by dma-buf. The lock of a list
 * is held while the exporter maps; there are many lists, so that other buffers do not wait for
 * that. The lock is taken before any dma_resv.
 */
#define GDA_DMABUF_MAPS_BITS	6

static struct gda_dmabuf_maps {
	struct mutex lock;	/* guards the list, and the mappings of its buffers */
	struct list_head list;
} gda_dmabuf_maps[1 << GDA_DMABUF_MAPS_BITS];

static struct gda_dmabuf_maps *gda_dmabuf_maps_of(const struct dma_buf *dmabuf)
{
	return &gda_dmabuf_maps[hash_ptr(dmabuf, GDA_DMABUF_MAPS_BITS)];
}

void gda_dmabuf_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(gda_dmabuf_maps); i++) {
		mutex_init(&gda_dmabuf_maps[i].lock);
		INIT_LIST_HEAD(&gda_dmabuf_maps[i].list);
	}
}

static void gda_dmabuf_unmap(struct gda_dmabuf *db)
{
	if (!db->mapped)
		return;
	db->mapped = false;
	dma_buf_vunmap(db->dmabuf, &db->map);
}

/* Give up the pin, and the mapping if possible. No executor reads the memory any more. */
static void gda_dmabuf_release(struct gda_dmabuf *db)
{
	dma_resv_assert_held(db->dmabuf->resv);
	if (GDA_VMAP_UNDER_RESV)
		gda_dmabuf_unmap(db);
	if (db->held && dma_buf_is_dynamic(db->dmabuf))
		dma_buf_unpin(db->attach);
	WRITE_ONCE(db->held, false);
}

static const struct dma_buf_attach_ops gda_dmabuf_attach_ops;

/* Stop the executors of all our attachments that hold the buffer: they are about to lose it. */
static void gda_dmabuf_stop(struct dma_buf *dmabuf)
{
	struct dma_buf_attachment *attach;

	dma_resv_assert_held(dmabuf->resv);
	list_for_each_entry(attach, &dmabuf->attachments, node) {
		struct gda_dmabuf *db = attach->importer_priv;

		if (attach->importer_ops != &gda_dmabuf_attach_ops || !db->held)
			continue;
		gda_mem_revoke_begin(db->backing);
		db->stopped = true;
		/* a user may have any number of them, each with all the queues of a context */
		cond_resched();
	}
	gda_mem_revoke_wait();
}

static void gda_dmabuf_invalidate(struct dma_buf_attachment *attach)
{
	struct gda_dmabuf *db = attach->importer_priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	if (!db->held)
		return;
	if (!db->stopped)
		gda_dmabuf_stop(attach->dmabuf);
	gda_dmabuf_release(db);
}

static const struct dma_buf_attach_ops gda_dmabuf_attach_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = gda_dmabuf_invalidate,
};

/* Pin the buffer and wait until it is idle: its last move or clearing has finished. */
static int gda_dmabuf_hold(struct gda_dmabuf *db)
{
	struct dma_resv *resv = db->dmabuf->resv;
	long left;
	int ret;

	ret = dma_buf_is_dynamic(db->dmabuf) ? dma_buf_pin(db->attach) : 0;
	if (ret)
		return ret;
	db->held = true;
	left = dma_resv_wait_timeout(resv, DMA_RESV_USAGE_KERNEL, true, GDA_DMABUF_WAIT);
	return left > 0 ? 0 : left ?: -ETIMEDOUT;
}

static int gda_dmabuf_map(struct gda_dmabuf *db)
{
	int ret = dma_buf_vmap(db->dmabuf, &db->map);

	if (ret)
		return ret == -ENOMEM || ret == -EINTR ? ret : -EOPNOTSUPP;
	db->mapped = true;
	/* I/O memory needs accessors of its own, which executors do not have yet */
	return db->map.is_iomem ? -EOPNOTSUPP : 0;
}

/*
 * Map a held buffer in kernels that do not map under dma_resv: the buffer may move in between.
 * Mappings that are stale were stale before the buffer was held.
 */
static int gda_dmabuf_map_late(struct gda_dmabuf *db)
{
	struct gda_dmabuf_maps *maps = gda_dmabuf_maps_of(db->dmabuf);
	struct gda_dmabuf *other, *tmp;
	int ret;

	mutex_lock(&maps->lock);
	list_for_each_entry_safe(other, tmp, &maps->list, node) {
		if (other->dmabuf == db->dmabuf && !READ_ONCE(other->held)) {
			list_del_init(&other->node);
			gda_dmabuf_unmap(other);
		}
	}
	ret = gda_dmabuf_map(db);
	dma_resv_lock(db->dmabuf->resv, NULL);
	if (!ret && !db->held)
		ret = -EAGAIN;
	dma_resv_unlock(db->dmabuf->resv);
	if (ret)
		gda_dmabuf_unmap(db);
	else
		list_add(&db->node, &maps->list);
	mutex_unlock(&maps->lock);
	return ret;
}

/* On failure the caller releases what this function has acquired. */
static int gda_dmabuf_open(struct gda_dmabuf *db)
{
	struct dma_resv *resv = db->dmabuf->resv;
	int ret;

	ret = dma_resv_lock_interruptible(resv, NULL);
	if (ret)
		return ret;
	ret = gda_dmabuf_hold(db);
	if (!ret && GDA_VMAP_UNDER_RESV)
		ret = gda_dmabuf_map(db);
	dma_resv_unlock(resv);
	if (!ret && !GDA_VMAP_UNDER_RESV)
		ret = gda_dmabuf_map_late(db);
	return ret;
}

static void gda_dmabuf_destroy(struct gda_dmabuf *db)
{
	struct gda_dmabuf_maps *maps = gda_dmabuf_maps_of(db->dmabuf);

	dma_resv_lock(db->dmabuf->resv, NULL);
	gda_dmabuf_release(db);
	dma_resv_unlock(db->dmabuf->resv);
	if (!GDA_VMAP_UNDER_RESV) {
		mutex_lock(&maps->lock);
		list_del(&db->node);
		gda_dmabuf_unmap(db);
		mutex_unlock(&maps->lock);
	}
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

static struct dma_buf_attachment *gda_dmabuf_join(struct gda_dmabuf *db)
{
	if (!dma_buf_is_dynamic(db->dmabuf))
		return dma_buf_attach(db->dmabuf, gda_dma_device());
	return dma_buf_dynamic_attach(db->dmabuf, gda_dma_device(), &gda_dmabuf_attach_ops,
				      db);
}

static struct gda_dmabuf *gda_dmabuf_create(struct gda_mem_backing *b,
					    const struct gda_mem_request *req)
{
	struct gda_dmabuf *db;
	int ret;

	db = kzalloc(sizeof(*db), GDA_GFP_USER);
	if (!db)
		return ERR_PTR(-ENOMEM);
	db->backing = b;
	INIT_LIST_HEAD(&db->node);
	db->dmabuf = dma_buf_get(req->fd);
	if (IS_ERR(db->dmabuf)) {
		ret = PTR_ERR(db->dmabuf);
		goto err_kfree;
	}
	ret = gda_dmabuf_check(db->dmabuf, req);
	if (ret)
		goto err_put;
	db->attach = gda_dmabuf_join(db);
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
	ret = dma_buf_begin_cpu_access(db->dmabuf, DMA_BIDIRECTIONAL);
	if (ret)
		goto err_destroy;
	ret = gda_dmabuf_open(db);
	if (ret)
		goto err_cpu_access;
	db->addr = db->map.vaddr + req->addr;
	db->length = req->length;
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

	/* a mispredicted branch may come here with any @off: clamp it, then select a pointer */
	*ptr = db->addr + array_index_nospec(off, db->length);
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

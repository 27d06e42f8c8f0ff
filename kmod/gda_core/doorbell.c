// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbell by fault. A doorbell page is either active: mapped wherever user space
 * touched it, and scanned by the worker; or silent: in no page table, not scanned.
 * The next store to a silent page faults, and the handler makes it active before the
 * store can happen. So a poster rings by storing, always, and an idle context costs
 * nothing.
 *
 * Both transitions are made under map_lock. Going silent is: unmap, then look once
 * more. A store that came before the unmapping is seen by that look; one that comes
 * after it faults and waits for map_lock. None is lost.
 *
 * Some pages cannot go silent: those with polled queues, those with a dma-buf, and
 * those somebody else still refers to after they were unmapped (a device may store
 * through a pin, and devices do not fault). They stay active, paced: looked at
 * periodically (GDA_PACE_US), for as long as that lasts.
 *
 * map_lock is never taken inside an SRCU read section: somebody who waits for
 * executors must not wait for a fault or an unmapping too.
 */
#include <linux/fs.h>
#include <linux/timekeeping.h>

#include "gda_private.h"
#include "trace.h"

static bool gda_doorbell_active(const struct gda_db_page *db_page)
{
	return test_bit(db_page->page, db_page->region->ctx->active);
}

static void gda_doorbell_set_active(struct gda_db_page *db_page)
{
	const struct gda_region *region = db_page->region;

	if (!gda_doorbell_active(db_page))
		trace_gda_doorbell(region->ctx->id, gda_region_cookie(region), true);
	WRITE_ONCE(db_page->paced, false);
	WRITE_ONCE(db_page->silent_since, ktime_get_ns());
	set_bit(db_page->page, region->ctx->active);
}

/*
 * Called by the fault handler before it installs the page. @own: for the caller's memory, and not
 * for that of a process which a tracer looks at: the tracer does not use the context.
 */
void gda_doorbell_fault(struct gda_ctx *ctx, struct gda_db_page *db_page, bool own)
{
	lockdep_assert_held(&ctx->map_lock);
	if (own)
		gda_payer_adopt(&ctx->payer);
	if (gda_doorbell_active(db_page))
		return;
	gda_doorbell_set_active(db_page);
	/* pairs with set_current_state(): the worker sees the bit or is woken */
	gda_worker_wake(ctx);
}

/*
 * Unmap active pages, which stay active: the next store to each faults, and who makes it is known
 * (payer.c). Called by the worker.
 */
void gda_doorbell_recall(struct gda_ctx *ctx)
{
	unsigned int page;

	mutex_lock(&ctx->map_lock);
	for_each_set_bit(page, ctx->active, GDA_CELL_PAGES)
		if (ctx->db[page])
			unmap_mapping_range(ctx->inode->i_mapping,
					    gda_region_cookie(ctx->db[page]->region), PAGE_SIZE, 1);
	mutex_unlock(&ctx->map_lock);
}

/* After a kick the worker found work on a silent page. */
void gda_doorbell_activate(struct gda_ctx *ctx, unsigned int page)
{
	mutex_lock(&ctx->map_lock);
	if (ctx->db[page])
		gda_doorbell_set_active(ctx->db[page]);
	mutex_unlock(&ctx->map_lock);
}

/* A polled queue came (@n 1) or went (@n -1). */
void gda_doorbell_poll(struct gda_region *region, int n)
{
	struct gda_ctx *ctx = region->ctx;

	mutex_lock(&ctx->map_lock);
	if (region->db_page) {
		region->db_page->npolled += n;
		gda_doorbell_set_active(region->db_page);
		gda_worker_wake(ctx);
	}
	mutex_unlock(&ctx->map_lock);
}

/*
 * The region has been exported once more. Releasing an export does not notify anybody, since it
 * may outlive the context: the worker drops the page from the paced ones when it scans it.
 * Other references to the page count as pins then (gda_doorbell_shared()).
 */
void gda_doorbell_export(struct gda_region *region)
{
	atomic_inc(&region->exports);
	gda_doorbell_poll(region, 0);
}

static bool gda_doorbell_polled(const struct gda_db_page *db_page)
{
	lockdep_assert_held(&db_page->region->ctx->map_lock);
	return db_page->npolled || atomic_read(&db_page->region->exports);
}

static bool gda_doorbell_qp_pending(struct gda_qp *qp)
{
	return unlikely(qp->visit) ? gda_executor_pending(qp) :
				     gda_engine_pending(&qp->engine_qp);
}

/* Under SRCU, by the worker, after a scan that found no work: is any in flight? */
bool gda_doorbell_waits(const struct gda_db_page *db_page)
{
	unsigned int slot;

	for_each_set_bit(slot, db_page->used, GDA_CELLS) {
		struct gda_qp *qp = READ_ONCE(db_page->qps[slot]);

		if (qp && gda_executor_waits(qp))
			return true;
	}
	return false;
}

/* Under SRCU, by the worker: does any queue of the page have work? */
bool gda_doorbell_pending(const struct gda_db_page *db_page)
{
	unsigned int slot;

	for_each_set_bit(slot, db_page->used, GDA_CELLS) {
		struct gda_qp *qp = READ_ONCE(db_page->qps[slot]);

		if (qp && gda_qp_may_visit(qp) && gda_doorbell_qp_pending(qp))
			return true;
	}
	return false;
}

static bool gda_doorbell_look_again(const struct gda_db_page *db_page)
{
	int idx = gda_read_lock();
	bool pending = gda_doorbell_pending(db_page);

	gda_read_unlock(idx);
	return pending;
}

/* Is there another reference to the page: a pin, or one that is about to be dropped? */
static bool gda_doorbell_shared(const struct gda_region *region)
{
	return page_count(region->pages[0]) > 1;
}

/* Return: true if the page must stay active. */
static bool gda_doorbell_unmap(struct gda_ctx *ctx, struct gda_db_page *db_page)
{
	struct gda_region *region = db_page->region;
	bool shared;

	clear_bit(db_page->page, ctx->active);
	unmap_mapping_range(ctx->inode->i_mapping, gda_region_cookie(region), PAGE_SIZE, 1);
	shared = gda_doorbell_shared(region);
	/* a holder that dropped the page stored before that; pairs with the atomic in put_page() */
	smp_rmb();
	/* the unmapping flushed TLBs: earlier stores are visible to this scan */
	if (gda_doorbell_look_again(db_page)) {
		gda_doorbell_set_active(db_page);
		return false;
	}
	if (shared)
		return true;
	trace_gda_doorbell(ctx->id, gda_region_cookie(region), false);
	return false;
}

/* The page was silent for long enough: try to go silent. Called by the worker. */
void gda_doorbell_idle(struct gda_ctx *ctx, unsigned int page)
{
	struct gda_db_page *db_page;

	mutex_lock(&ctx->map_lock);
	db_page = ctx->db[page];
	if (db_page && (gda_doorbell_polled(db_page) || gda_doorbell_unmap(ctx, db_page))) {
		gda_doorbell_set_active(db_page);
		WRITE_ONCE(db_page->paced, true);
	}
	mutex_unlock(&ctx->map_lock);
}

/* The page was removed from the table, and its region is about to be revoked. */
void gda_doorbell_forget(const struct gda_db_page *db_page)
{
	struct gda_ctx *ctx = db_page->region->ctx;

	lockdep_assert_held(&ctx->map_lock);
	clear_bit(db_page->page, ctx->active);
}

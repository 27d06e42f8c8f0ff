// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbell by fault. A doorbell page is either active, that is scanned by the worker, or silent,
 * that is in no page table and not scanned. A store to a silent page faults, and the handler either
 * carries it out or makes the page active before the store can happen. So a poster rings by
 * storing, always, and an idle context costs nothing.
 *
 * To carry it out, the handler stores to the page (store.h) and visits the queue, whose record was
 * stored before; if the visit leaves work, the page becomes active. The page stays in no page
 * table. Otherwise the handler maps the page, and the program stores again. An active page may be
 * mapped or not: the worker unmaps it when it gives its processor up (policy.c).
 *
 * All transitions are made under map_lock. To make a page silent, the worker unmaps it and then
 * looks once more. That look sees each store from before the unmapping, and each that a fault made;
 * a later store faults and waits for map_lock. None is lost.
 *
 * Some pages cannot go silent: those with polled queues, those with a dma-buf, and those that have
 * other references after they were unmapped (a device may store through a pin, and devices do not
 * fault). For as long as that lasts such a page is paced: it stays active, and the worker looks at
 * it periodically (GDA_PACE_US).
 *
 * map_lock is never taken inside an SRCU read section: a task that waits for executors must not
 * wait for a fault or an unmapping, too.
 */
#include <linux/fs.h>
#include <linux/timekeeping.h>

#include "gda_private.h"
#include "store.h"
#include "trace.h"

/* Queues of a client's context that one fault looks at. */
#define GDA_DOORBELL_MOST	64U

/* ... and CQs. */
#define GDA_DOORBELL_MOST_CQS	8U

/* How often the receives that are posted to a QP in error are flushed. */
#define GDA_DOORBELL_FLUSH_NS	(10 * NSEC_PER_MSEC)

/* How long a fault goes on from one queue to the next. */
#define GDA_DOORBELL_MOST_NS	(50 * NSEC_PER_USEC)

static bool gda_doorbell_active(const struct gda_db_page *db_page)
{
	return test_bit(db_page->page, db_page->region->ctx->active);
}

static void gda_doorbell_set_active_at(struct gda_db_page *db_page, u64 now)
{
	const struct gda_region *region = db_page->region;

	if (!gda_doorbell_active(db_page))
		trace_gda_doorbell(region->ctx->id, gda_region_cookie(region), true);
	WRITE_ONCE(db_page->paced, false);
	WRITE_ONCE(db_page->silent_since, now);
	set_bit(db_page->page, region->ctx->active);
}

static void gda_doorbell_set_active(struct gda_db_page *db_page)
{
	gda_doorbell_set_active_at(db_page, ktime_get_ns());
}

static void gda_doorbell_set_mapped(struct gda_db_page *db_page, u64 now)
{
	if (!db_page->mapped)
		gda_policy_mapped(db_page->region->ctx, now);
	WRITE_ONCE(db_page->mapped, true);
}

static void gda_doorbell_set_unmapped(struct gda_db_page *db_page)
{
	if (db_page->mapped)
		gda_policy_unmapped(db_page->region->ctx);
	WRITE_ONCE(db_page->mapped, false);
}

/* Have the worker scan the page from now on, if it does not yet. */
static void gda_doorbell_begin(struct gda_ctx *ctx, struct gda_db_page *db_page, u64 now)
{
	if (gda_doorbell_active(db_page))
		return;
	gda_doorbell_set_active_at(db_page, now);
	/* pairs with set_current_state(): the worker sees the bit or is woken */
	gda_worker_wake(ctx);
}

static bool gda_doorbell_polled(const struct gda_db_page *db_page)
{
	lockdep_assert_held(&db_page->region->ctx->map_lock);
	return db_page->npolled || atomic_read(&db_page->region->exports);
}

/*
 * Does the worker scan the page for a poster whose stores do not fault? Then the page must stay
 * mapped.
 */
static bool gda_doorbell_needed(const struct gda_db_page *db_page)
{
	return gda_doorbell_polled(db_page) || db_page->paced;
}

/* The page is about to be mapped: from now on the program stores to it without a fault. */
static void gda_doorbell_map(struct gda_ctx *ctx, struct gda_db_page *db_page, u64 now)
{
	if (!gda_doorbell_needed(db_page))
		gda_doorbell_set_mapped(db_page, now);
	gda_doorbell_begin(ctx, db_page, now);
}

/* May a fault carry out a store to the page, so that the page stays as it is? */
static bool gda_doorbell_may_serve(const struct gda_ctx *ctx, const struct gda_db_page *db_page)
{
	return gda_policy_applies(ctx) && !gda_doorbell_needed(db_page) &&
	       READ_ONCE(ctx->payer.place) == GDA_PAYER_PAYS && !READ_ONCE(ctx->worker.stopped);
}

/* Has a fault done all the work that a store has announced? If not, who does the rest? */
enum gda_doorbell_rest {
	GDA_DOORBELL_DONE,
	GDA_DOORBELL_MORE,		/* the worker, which scans the page */
	GDA_DOORBELL_KICK,		/* ... and also has to look whether some QP waits */
};

/* Under SRCU: does the thread that posts to the peer wait for this processor? */
static bool gda_doorbell_peer_waits(const struct gda_qp *qp)
{
	const struct gda_engine_qp *peer = gda_engine_peer(&qp->engine_qp);

	return peer && gda_policy_waits_here(container_of(peer, struct gda_qp, engine_qp)->obj.ctx);
}

/*
 * Visit the queue whose doorbell was stored, if it exists. Its record was stored before. @yield:
 * set if the caller should give way afterwards.
 */
static enum gda_doorbell_rest gda_doorbell_visit(struct gda_db_page *db_page, unsigned int slot,
						 u64 now, bool *yield)
{
	enum gda_doorbell_rest rest = GDA_DOORBELL_MORE;
	int idx = gda_read_lock();
	/* pairs with smp_store_release in gda_qp_publish() */
	struct gda_qp *qp = smp_load_acquire(&db_page->qps[slot]);

	/* must follow srcu_read_lock(), as in gda_qp_may_visit() */
	if (qp && !READ_ONCE(qp->lost)) {
		if (gda_worker_serve(db_page, slot, now))
			*yield = gda_doorbell_peer_waits(qp);
		if (READ_ONCE(qp->lost))
			rest = GDA_DOORBELL_KICK;
		else if (!gda_engine_pending(&qp->engine_qp))
			rest = GDA_DOORBELL_DONE;
	}
	gda_read_unlock(idx);
	return rest;
}

/*
 * A store was made to @slot of a page that may be silent: serve its queue, or have the worker serve
 * it. The worker is also woken if it should poll. Return: whether the caller should give way.
 */
static bool gda_doorbell_serve(struct gda_ctx *ctx, struct gda_db_page *db_page,
			       unsigned int slot, u64 now)
{
	enum gda_doorbell_rest rest = GDA_DOORBELL_MORE;
	bool yield = false;

	if (gda_visit_trylock(&ctx->visiting)) {
		rest = gda_doorbell_visit(db_page, slot, now, &yield);
		gda_visit_unlock(&ctx->visiting);
		WRITE_ONCE(ctx->policy.served, ctx->policy.served + 1);
	}
	if (gda_policy_wants_worker(ctx, now) || rest)
		gda_doorbell_begin(ctx, db_page, now);
	if (rest == GDA_DOORBELL_KICK)
		gda_worker_kick(ctx);
	return yield;
}

/*
 * Called by the fault handler before it installs the page. A fault of the caller's own memory is a
 * use of the context; a fault of a process that a tracer looks at is none.
 *
 * Return: what the fault handler is to do.
 */
enum gda_doorbell_answer gda_doorbell_fault(struct gda_ctx *ctx, struct gda_db_page *db_page,
					    const struct vm_fault *vmf)
{
	unsigned int slot = offset_in_page(vmf->real_address) / GDA_CELL_BYTES;
	bool own = vmf->vma->vm_mm == current->mm;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&ctx->map_lock);
	if (own)
		gda_payer_adopt(&ctx->payer);
	if (own && gda_doorbell_may_serve(ctx, db_page) && !gda_policy_maps(ctx, now) &&
	    gda_store_emulate(vmf, db_page->region->kaddr))
		return gda_doorbell_serve(ctx, db_page, slot, now) ? GDA_DOORBELL_YIELD :
								     GDA_DOORBELL_STORED;
	gda_doorbell_map(ctx, db_page, now);
	return GDA_DOORBELL_MAP;
}

static void gda_doorbell_hide(struct gda_ctx *ctx, struct gda_db_page *db_page)
{
	unsigned int page;

	unmap_mapping_range(ctx->inode->i_mapping, gda_region_cookie(db_page->region), PAGE_SIZE,
			    1);
	gda_doorbell_set_unmapped(db_page);
	/* a client's page stands for all pages of the context */
	for (page = 0; db_page->region->client && page < GDA_CELL_PAGES; page++)
		if (ctx->db[page])
			gda_doorbell_set_unmapped(ctx->db[page]);
}

/* A client's doorbells stand for a new page of queues from now on; they may be mapped already. */
void gda_doorbell_renew(struct gda_ctx *ctx, struct gda_db_page *db_page)
{
	lockdep_assert_held(&ctx->map_lock);
	gda_doorbell_hide(ctx, db_page);
	/* or pinned: the worker then makes the page silent, or paces it */
	gda_doorbell_begin(ctx, db_page, ktime_get_ns());
}

/*
 * Visit the queues of a client: its one page of doorbells does not say which one was rung. Most
 * contexts have few queues, one of which has work; in other contexts the worker serves the rest. A
 * queue that waits, or is not published yet, does not keep this function from visiting the others.
 */
static enum gda_doorbell_rest gda_doorbell_visit_any(struct gda_ctx *ctx, u64 now, bool *yield)
{
	enum gda_doorbell_rest rest = GDA_DOORBELL_DONE, of_one;
	unsigned int page, slot, n = 0;
	bool waits;

	for (page = 0; page < GDA_CELL_PAGES; page++) {
		struct gda_db_page *db_page = ctx->db[page];

		if (!db_page)
			continue;
		for_each_set_bit(slot, db_page->used, GDA_CELLS) {
			if (n++ == GDA_DOORBELL_MOST)
				return max(rest, GDA_DOORBELL_MORE);
			waits = false;
			of_one = gda_doorbell_visit(db_page, slot, now, &waits);
			rest = max(rest, of_one);
			*yield |= waits;
			if (ktime_get_ns() - now > GDA_DOORBELL_MOST_NS)
				return max(rest, GDA_DOORBELL_MORE);
		}
	}
	return rest;
}

/* As gda_doorbell_serve(), for a client's context. */
static bool gda_doorbell_serve_any(struct gda_ctx *ctx, u64 now)
{
	enum gda_doorbell_rest rest = GDA_DOORBELL_MORE;
	bool yield = false, wanted;
	unsigned int page;

	if (gda_visit_trylock(&ctx->visiting)) {
		rest = gda_doorbell_visit_any(ctx, now, &yield);
		gda_visit_unlock(&ctx->visiting);
		WRITE_ONCE(ctx->policy.served, ctx->policy.served + 1);
	}
	wanted = gda_policy_wants_worker(ctx, now) || rest;
	for (page = 0; wanted && page < GDA_CELL_PAGES; page++)
		if (ctx->db[page])
			gda_doorbell_begin(ctx, ctx->db[page], now);
	/* if there are many CQs the worker looks at them: the store may have armed one */
	if (rest == GDA_DOORBELL_KICK || READ_ONCE(ctx->narming) > GDA_DOORBELL_MOST_CQS)
		gda_worker_kick(ctx);
	else
		gda_arm_look(ctx);
	return yield;
}

static bool gda_doorbell_may_serve_any(const struct gda_ctx *ctx)
{
	unsigned int page;

	for (page = 0; page < GDA_CELL_PAGES; page++)
		if (ctx->db[page] && !gda_doorbell_may_serve(ctx, ctx->db[page]))
			return false;
	return true;
}

/*
 * As gda_doorbell_fault(), for a client's page of doorbells, which stands for all queues of the
 * context: their pages can be silent only while that page is in no page table.
 */
enum gda_doorbell_answer gda_doorbell_fault_all(struct gda_ctx *ctx, const struct vm_fault *vmf)
{
	bool own = vmf->vma->vm_mm == current->mm;
	u64 now = ktime_get_ns();
	unsigned int page;

	lockdep_assert_held(&ctx->map_lock);
	if (own)
		gda_payer_adopt(&ctx->payer);
	if (own && gda_doorbell_may_serve_any(ctx) && !gda_policy_maps(ctx, now) &&
	    gda_store_emulate(vmf, ctx->doorbells->kaddr))
		return gda_doorbell_serve_any(ctx, now) ? GDA_DOORBELL_YIELD :
							  GDA_DOORBELL_STORED;
	for (page = 0; page < GDA_CELL_PAGES; page++)
		if (ctx->db[page])
			gda_doorbell_map(ctx, ctx->db[page], now);
	gda_worker_kick(ctx);
	return GDA_DOORBELL_MAP;
}

/*
 * Unmap active pages, which stay active: the next store to each faults, and tells which process
 * made it (payer.c). Called by the worker.
 */
void gda_doorbell_recall(struct gda_ctx *ctx)
{
	unsigned int page;

	mutex_lock(&ctx->map_lock);
	for_each_set_bit(page, ctx->active, GDA_CELL_PAGES)
		if (ctx->db[page])
			gda_doorbell_hide(ctx, ctx->db[page]);
	mutex_unlock(&ctx->map_lock);
}

/*
 * The worker gives its processor up, so posters have to do without it. Mapped pages are unmapped,
 * and stay active until the worker finds no work. Called by the worker.
 */
void gda_doorbell_withdraw(struct gda_ctx *ctx)
{
	unsigned int page;

	mutex_lock(&ctx->map_lock);
	for_each_set_bit(page, ctx->active, GDA_CELL_PAGES) {
		struct gda_db_page *db_page = ctx->db[page];

		if (db_page && db_page->mapped && !gda_doorbell_needed(db_page))
			gda_doorbell_hide(ctx, db_page);
	}
	mutex_unlock(&ctx->map_lock);
}

/* Make a silent page active on which the worker found work after a kick. */
void gda_doorbell_activate(struct gda_ctx *ctx, unsigned int page)
{
	mutex_lock(&ctx->map_lock);
	if (ctx->db[page])
		gda_doorbell_set_active(ctx->db[page]);
	mutex_unlock(&ctx->map_lock);
}

/* A polled queue was added (@n is 1) or removed (@n is -1). */
void gda_doorbell_poll(struct gda_region *region, int n)
{
	struct gda_ctx *ctx = region->ctx;

	mutex_lock(&ctx->map_lock);
	if (region->db_page) {
		bool needed = gda_doorbell_needed(region->db_page);

		WRITE_ONCE(region->db_page->npolled, region->db_page->npolled + n);
		if (needed && !gda_doorbell_needed(region->db_page))
			gda_doorbell_hide(ctx, region->db_page);
		else
			gda_doorbell_set_unmapped(region->db_page);
		gda_doorbell_set_active(region->db_page);
		gda_worker_wake(ctx);
	}
	mutex_unlock(&ctx->map_lock);
}

/*
 * The region has been exported once more. The release of an export notifies nobody, since the
 * export may outlive the context: the worker finds out when it scans the page, which is then paced
 * no more. Other references to the page count as pins then (gda_region_provider.shared).
 */
void gda_doorbell_export(struct gda_region *region)
{
	atomic_inc(&region->exports);
	gda_doorbell_poll(region, 0);
}

/* Under SRCU, by the worker: do all stores to the page fault, so that it need not be polled? */
bool gda_doorbell_faults(const struct gda_db_page *db_page)
{
	const struct gda_region *region = db_page->region;

	return !READ_ONCE(db_page->mapped) && !READ_ONCE(db_page->npolled) &&
	       !atomic_read(&region->exports) && !region->provider->shared(region);
}

static bool gda_doorbell_qp_pending(struct gda_qp *qp)
{
	return unlikely(qp->visit) ? gda_executor_pending(qp) :
				     gda_engine_pending(&qp->engine_qp);
}

/* Under SRCU, by the worker, after a scan that found no work: is any work in flight? */
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
		/*
		 * a post to a receive queue rings no doorbell, so a QP in error is looked at again
		 * to flush it
		 */
		if (qp && qp->rq && READ_ONCE(qp->engine_qp.state) == GDA_QP_ERROR)
			gda_worker_set_due(qp->obj.ctx, ktime_get_ns() + GDA_DOORBELL_FLUSH_NS);
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

/* Return: whether the page must stay active. */
static bool gda_doorbell_unmap(struct gda_ctx *ctx, struct gda_db_page *db_page)
{
	struct gda_region *region = db_page->region;
	bool shared;

	clear_bit(db_page->page, ctx->active);
	gda_doorbell_hide(ctx, db_page);
	shared = region->provider->shared(region);
	/*
	 * a holder that dropped the page stored to it before that; pairs with the atomic in
	 * put_page()
	 */
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

static void gda_doorbell_silence(struct gda_ctx *ctx, struct gda_db_page *db_page)
{
	if (gda_doorbell_polled(db_page) || gda_doorbell_unmap(ctx, db_page)) {
		gda_doorbell_set_active(db_page);
		gda_doorbell_set_unmapped(db_page);
		WRITE_ONCE(db_page->paced, true);
	}
}

/* The page was silent for long enough: try to go silent. Called by the worker. */
void gda_doorbell_idle(struct gda_ctx *ctx, unsigned int page)
{
	mutex_lock(&ctx->map_lock);
	if (ctx->db[page])
		gda_doorbell_silence(ctx, ctx->db[page]);
	/* the worker was woken for posts, but none came while it was polling */
	if (ctx->policy.tried && !ctx->policy.mapped)
		gda_policy_missed(ctx);
	mutex_unlock(&ctx->map_lock);
}

/*
 * Other tasks want the worker's processor, or had it for long: posters do without the worker for a
 * while. Pages without work become silent at once. Called by the worker.
 */
void gda_doorbell_late(struct gda_ctx *ctx)
{
	unsigned int page;

	mutex_lock(&ctx->map_lock);
	for_each_set_bit(page, ctx->active, GDA_CELL_PAGES)
		if (ctx->db[page] && !gda_doorbell_needed(ctx->db[page]))
			gda_doorbell_silence(ctx, ctx->db[page]);
	gda_policy_missed(ctx);
	mutex_unlock(&ctx->map_lock);
}

/* The page was removed from the table, and its region is about to be revoked. */
void gda_doorbell_forget(struct gda_db_page *db_page)
{
	struct gda_ctx *ctx = db_page->region->ctx;

	lockdep_assert_held(&ctx->map_lock);
	clear_bit(db_page->page, ctx->active);
	/* a client's doorbells stay, because stores to them arm CQs, too */
	if (db_page->region->client)
		gda_doorbell_hide(ctx, db_page);
	else
		gda_doorbell_set_unmapped(db_page);
}

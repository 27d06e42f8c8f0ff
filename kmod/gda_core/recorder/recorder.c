// SPDX-License-Identifier: GPL-2.0
/*
 * Records of a context (gda/record.h): the page of control events and errors that each has from
 * bind on, and the ring of work that its owner or an administrator asks for.
 * control/record.c writes them; dead.c keeps them beyond the context.
 *
 * Any thread writes, under gda_srcu: the context's worker and those of its peers' contexts,
 * calls that connect or destroy QPs of any context, and exporters that take memory away.
 * A ring of work is withdrawn, then freed after synchronize_srcu(). Its region is
 * mapped read-only, and nobody can make it writable; nothing is read back from it but seq, which
 * only the kernel writes.
 *
 * For netlink (gda_private.h has the declarations):
 *
 *	gda_record_set_locked()	switches work on and off, ctx->lock held
 *	gda_record_peek()	copies the newest records of a live context, under gda_srcu,
 *				which keeps the ring: takes no lock, does not sleep
 *	gda_dead_get()		the kept contexts, ascending by id (dead.c), and gda_dead_put()
 */
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "gda_private.h"
#include "trace.h"

static_assert(GDA_RECORD_MIN * sizeof(struct gda_record) == 4096);

/* Called with ctx->lock held, by bind. What this allocates stays if bind fails afterwards. */
int gda_record_init(struct gda_ctx *ctx)
{
	struct gda_record_ring *control = &ctx->record.control;

	lockdep_assert_held(&ctx->lock);
	if (control->records)
		return 0;
	control->records = kcalloc(GDA_RECORD_MIN, sizeof(*control->records), GDA_GFP_USER);
	if (!control->records)
		return -ENOMEM;
	control->mask = GDA_RECORD_MIN - 1;
	return 0;
}

/* Nobody finds the context any more. */
void gda_record_free(struct gda_ctx *ctx)
{
	kfree(ctx->record.control.records);
}

static int gda_record_start(struct gda_ctx *ctx, u32 records)
{
	struct gda_region *region;
	size_t bytes = records * sizeof(struct gda_record);
	int ret;

	ret = gda_control_check_record(records);
	if (ret)
		return ret;
	region = gda_region_create(ctx, DIV_ROUND_UP(bytes, PAGE_SIZE), GDA_MAP_RO, NULL);
	if (IS_ERR(region))
		return PTR_ERR(region);
	ctx->work_region = region;
	gda_record_publish(&ctx->record, region->kaddr, records);
	return 0;
}

void gda_record_stop(struct gda_ctx *ctx)
{
	lockdep_assert_held(&ctx->lock);
	if (!ctx->record.work)
		return;
	gda_record_withdraw(&ctx->record);
	synchronize_srcu_expedited(&gda_srcu);
	gda_region_revoke(ctx->work_region);
	gda_region_put(ctx->work_region);
	ctx->work_region = NULL;
}

/*
 * GDA_IOC_RECORD: 0 in @records stops recording. If there is a ring already, its size is returned.
 */
int gda_record_set_locked(struct gda_ctx *ctx, u32 *records)
{
	int ret = 0;

	lockdep_assert_held(&ctx->lock);
	if (!gda_device_has_worker(ctx->dev))
		return -EOPNOTSUPP;
	ctx->record_sets++;
	if (!*records)
		gda_record_stop(ctx);
	else if (!ctx->record.work)
		ret = gda_record_start(ctx, *records);
	if (!ret && ctx->record.work)
		*records = ctx->record.ring.mask + 1;
	return ret;
}

int gda_record_set(struct gda_ctx *ctx, struct gda_record_set *cmd)
{
	int ret;

	ret = gda_record_set_locked(ctx, &cmd->records);
	if (ret)
		return ret;
	memset(&cmd->ring, 0, sizeof(cmd->ring));
	if (ctx->work_region)
		gda_region_info(ctx->work_region, 0, &cmd->ring);
	return 0;
}

/* Called under gda_srcu. Return: how many of the newest records were copied, oldest first. */
u32 gda_record_peek(struct gda_ctx *ctx, struct gda_record *to, u32 n)
{
	/* pairs with the release of a ring that is complete */
	struct gda_record_ring *ring = smp_load_acquire(&ctx->record.work);

	return gda_record_copy(ring ?: &ctx->record.control, to, n);
}

/* Write a record whose time is set already. */
static void gda_record_put(struct gda_ctx *ctx, const struct gda_record *r)
{
	int idx = gda_read_lock();

	gda_record_keep(&ctx->record, r);
	gda_read_unlock(idx);
}

static void gda_record_trace(const struct gda_record *r)
{
	switch (r->kind) {
	case GDA_RECORD_FETCHED:
		trace_gda_fetched(r);
		break;
	case GDA_RECORD_DONE:
	case GDA_RECORD_FAILED:
	case GDA_RECORD_FLUSHED:
		trace_gda_outcome(r);
		break;
	}
}

void gda_host_record(const struct gda_engine_qp *q, struct gda_record *r)
{
	const struct gda_qp *qp = container_of(q, struct gda_qp, engine_qp);
	struct gda_ctx *ctx = qp->obj.ctx;

	gda_record_trace(r);
	if (!gda_record_wanted(&ctx->record, r->kind))
		return;
	/* records of work are written by the worker that visits the queue, under SRCU */
	if (r->kind <= GDA_RECORD_FLUSHED) {
		r->ns = q->record & GDA_ENGINE_RECORD ? qp->visit_ns : ktime_get_ns();
		gda_record_keep(&ctx->record, r);
	} else {
		r->ns = ktime_get_ns();
		gda_record_put(ctx, r);
	}
}

/* Called only by the worker. */
void gda_record_asleep(struct gda_ctx *ctx, bool asleep)
{
	struct gda_record r = { .kind = asleep ? GDA_RECORD_SLEEP : GDA_RECORD_WAKE };

	if (!gda_record_wanted(&ctx->record, r.kind))
		return;
	r.ns = ktime_get_ns();
	gda_record_put(ctx, &r);
}

/*
 * @mr was inserted, or its exporter takes it away; the latter perhaps before it is inserted: then
 * nothing is recorded.
 */
void gda_record_mr(const struct gda_mr *mr, u8 kind, u8 cause)
{
	struct gda_ctx *ctx = READ_ONCE(mr->ctx);
	struct gda_record r = gda_record_mem(&mr->mem, kind, cause);

	r.ns = ktime_get_ns();
	if (ctx)
		gda_record_put(ctx, &r);
}

/* For executors in other modules, which do not know the number of the peer. */
void gda_record_connection(struct gda_qp *qp, u8 kind, struct gda_status why)
{
	struct gda_record r = {
		.kind = kind,
		.qpn = qp->engine_qp.qpn,
		.err_class = why.class,
		.cause = why.cause,
	};

	gda_host_record(&qp->engine_qp, &r);
}

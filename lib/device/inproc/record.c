// SPDX-License-Identifier: MIT
/*
 * Records (gda/record.h): the rings of a context of the in-process device, and the program's
 * own ring. engine/control/record.c writes them.
 *
 * A context's work ring is a region, which mappings of the file can only read; the library's
 * reader uses the device's own mapping, through a pointer to const. Workers and helpers write to
 * the ring, and so do threads with ctx->lock, and threads with dev->peer_lock that connect or
 * destroy QPs of any context. To free the ring, withdraw it under both locks and then wait for the
 * workers.
 *
 * The program's ring exists from its first use to the end of the process.
 */
#include <errno.h>
#include <stdlib.h>
#include "inproc.h"

void gda_inproc_record_init(struct gda_inproc_context *ctx)
{
	ctx->record.control.records = ctx->control_records;
	ctx->record.control.mask = GDA_RECORD_MIN - 1;
}

static int gda_inproc_record_start(struct gda_inproc_context *ctx, u32 records)
{
	int err = gda_control_check_record(records);

	if (!err)
		err = gda_inproc_region_create(ctx, (u64)records * sizeof(struct gda_record),
					       GDA_MAP_RO, &ctx->work_region);
	if (err)
		return err;
	gda_record_publish(&ctx->record, ctx->work_region->addr, records);
	return 0;
}

void gda_inproc_record_stop(struct gda_inproc_context *ctx)
{
	if (!ctx->record.work)
		return;
	pthread_mutex_lock(&gda_inproc.peer_lock);
	gda_record_withdraw(&ctx->record);
	pthread_mutex_unlock(&gda_inproc.peer_lock);
	gda_inproc_sync();
	gda_inproc_region_destroy(ctx, ctx->work_region);
	ctx->work_region = NULL;
}

int gda_inproc_record_set(struct gda_inproc_context *ctx, struct gda_record_set *cmd)
{
	int err = 0;

	if (!cmd->records)
		gda_inproc_record_stop(ctx);
	else if (!ctx->record.work)
		err = gda_inproc_record_start(ctx, cmd->records);
	if (err)
		return err;
	memset(&cmd->ring, 0, sizeof(cmd->ring));
	if (!ctx->record.work)
		return 0;
	cmd->records = ctx->record.ring.mask + 1;
	gda_inproc_region_info(ctx->work_region, 0, &cmd->ring);
	return 0;
}

void gda_inproc_record_keep(struct gda_inproc_context *ctx, struct gda_record *r)
{
	r->ns = gda_inproc_now();
	gda_record_keep(&ctx->record, r);
}

void gda_inproc_record_mr(struct gda_inproc_mr *mr, u8 kind)
{
	struct gda_record r = gda_record_mem(&mr->mem, kind, GDA_CAUSE_NONE);

	gda_inproc_record_keep(mr->obj.ctx, &r);
}

/* Called by the worker @w when it holds no pointer to an object. */
void gda_inproc_record_asleep(struct gda_inproc_worker *w, bool asleep)
{
	struct gda_record r = {
		.kind = asleep ? GDA_RECORD_SLEEP : GDA_RECORD_WAKE,
		.aux = w->number,
	};

	if (w->said_asleep == asleep)
		return;
	w->said_asleep = asleep;
	if (gda_record_wanted(&w->ctx->record, r.kind))
		gda_inproc_record_keep(w->ctx, &r);
}

void gda_host_record(const struct gda_engine_qp *q, struct gda_record *r)
{
	struct gda_inproc_qp *qp = gda_inproc_of(q, struct gda_inproc_qp, engine_qp);
	struct gda_inproc_context *ctx = qp->obj.ctx;

	if (!gda_record_wanted(&ctx->record, r->kind))
		return;
	/* records of work take the time from the thread that visits the queue */
	r->ns = r->kind <= GDA_RECORD_FLUSHED && q->record & GDA_ENGINE_RECORD ?
		qp->visit_ns : gda_inproc_now();
	gda_record_keep(&ctx->record, r);
}

int gda_record_at(const struct gda_record *records, uint32_t mask, uint64_t pos,
		  struct gda_record *r)
{
	return gda_record_read(records, mask, pos, r);
}

static struct gda_record_ring *gda_program_ring;

int gda_program_ring_get(uint32_t records, const struct gda_record **ring, uint32_t *mask)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct gda_record_ring *r;
	int err = gda_control_check_record(records);

	if (err)
		return err;
	pthread_mutex_lock(&lock);
	r = gda_program_ring;
	if (!r) {
		r = calloc(1, sizeof(*r));
		if (r)
			r->records = calloc(records, sizeof(*r->records));
		if (r && r->records) {
			r->mask = records - 1;
			/* pairs with the acquire load of posters */
			smp_store_release(&gda_program_ring, r);
		} else {
			free(r);
			r = NULL;
		}
	}
	pthread_mutex_unlock(&lock);
	if (!r)
		return -ENOMEM;
	*ring = r->records;
	*mask = r->mask;
	return 0;
}

void gda_program_ring_write(struct gda_record *r)
{
	/* pairs with the store of a ring that is complete */
	struct gda_record_ring *ring = smp_load_acquire(&gda_program_ring);

	if (!ring)
		return;
	r->ns = gda_inproc_now();
	gda_record_write(ring, r);
}

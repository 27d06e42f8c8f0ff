// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: a send queue, its doorbell and doorbell record, and the CQ that it completes to.
 *
 * A QP becomes visible to its worker when its doorbell slot is filled, and to peers
 * when its number is published; kill undoes both. Only the owner's worker accesses engine_qp,
 * except for state and fail (see executor/qp.c).
 *
 * Queue and record may lie in memory of the caller (umem.c). When that memory is revoked, the
 * worker detaches the queue and continues with a copy of the record's last value: the QP fails, and
 * all posted requests are flushed.
 */
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "gda_private.h"

struct gda_qp_flight {
	struct gda_flight flight;
	struct gda_flight_request requests[];
};

static int gda_qp_check(const struct gda_device *dev, const struct gda_qp_create *cmd,
			const struct gda_dialect_ops **dialect)
{
	int ret;

	ret = gda_control_check_qp(cmd, dev->features, dev->limits.max_sq_depth, dialect);
	ret = ret ?: gda_umem_check(&cmd->sq_memory, cmd->flags & GDA_QP_SQ_DMABUF);
	return ret ?: gda_umem_check(&cmd->dbrec_memory, cmd->flags & GDA_QP_DBREC_DMABUF);
}

/* The unchanging doorbell of a client's QPs, which publish work only through the record. */
static const __be64 gda_no_doorbell;

static void gda_qp_init_engine(struct gda_qp *qp)
{
	struct gda_engine_qp *q = &qp->engine_qp;

	q->sq = qp->sq ? qp->sq->kaddr : qp->sq_umem.addr;
	q->dbrec = qp->rec.db_page ? gda_cell_addr(&qp->rec) : qp->rec_umem.addr;
	q->db = qp->obj.ctx->doorbells ? &gda_no_doorbell : gda_cell_addr(&qp->db);
	gda_control_attach_parts(q, &qp->parts);
	q->pd = qp->obj.ctx;
}

static int gda_qp_alloc_sq(struct gda_ctx *ctx, struct gda_qp *qp)
{
	const struct gda_engine_qp *q = &qp->engine_qp;
	unsigned int npages = DIV_ROUND_UP(q->depth * q->dialect->slot_bytes, PAGE_SIZE);
	struct gda_region *sq;

	if (qp->sq_umem.addr)
		return gda_umem_insert(&qp->sq_umem);
	sq = gda_region_create(ctx, npages, GDA_MAP_RW, NULL);
	if (IS_ERR(sq))
		return PTR_ERR(sq);
	qp->sq = sq;
	return 0;
}

static int gda_qp_alloc_rec(struct gda_ctx *ctx, struct gda_qp *qp)
{
	int ret;

	if (!qp->engine_qp.dialect->record)
		return 0;
	if (!qp->rec_umem.addr)
		return gda_cell_alloc(ctx, ctx->rec, GDA_REC_PAGES, GDA_CELL_RECORD,
				      &qp->rec);
	ret = gda_umem_insert(&qp->rec_umem);
	return ret ?: gda_umem_clear(&qp->rec_umem);
}

/* Unlink queue and record from the context, as far as they were created. */
static void gda_qp_kill_memory(struct gda_ctx *ctx, struct gda_qp *qp)
{
	if (qp->rec.db_page)
		gda_cell_kill(ctx->rec, &qp->rec);
	if (qp->sq)
		gda_region_revoke(qp->sq);
	gda_umem_remove(&qp->rec_umem);
	gda_umem_remove(&qp->sq_umem);
}

static void gda_qp_free_memory(struct gda_qp *qp)
{
	gda_rq_free(qp);
	if (qp->rec.db_page)
		gda_cell_free(&qp->rec);
	if (qp->sq)
		gda_region_put(qp->sq);
	gda_umem_put(&qp->rec_umem);
	gda_umem_put(&qp->sq_umem);
}

/* On failure gda_qp_kill_memory() and gda_qp_free_memory() undo it. */
static int gda_qp_alloc_memory(struct gda_ctx *ctx, struct gda_qp *qp)
{
	int ret;

	ret = gda_qp_alloc_sq(ctx, qp);
	if (!ret)
		ret = gda_qp_alloc_rec(ctx, qp);
	if (ret)
		return ret;
	return gda_cell_alloc(ctx, ctx->db, GDA_CELL_PAGES, GDA_CELL_DOORBELL, &qp->db);
}

/* Without a worker, which would carry out the failure, set the error state here. */
void gda_qp_fail(struct gda_qp *qp, u8 cause)
{
	struct gda_engine_qp *q = &qp->engine_qp;

	WRITE_ONCE(q->fail, GDA_STATUS(GDA_CLASS_QUEUE, cause));
	if (!gda_device_has_worker(qp->exec.ctx->dev)) {
		WRITE_ONCE(q->state, GDA_QP_ERROR);
		gda_notify_failed(qp);
	}
	gda_host_kick(q);
}

static void gda_qp_revoke(struct gda_qp *qp, enum gda_qp_revoked part)
{
	set_bit(part, &qp->lost);
	/* gda_worker_kick() orders the bit before the kick */
	gda_worker_kick(qp->obj.ctx);
}

static void gda_qp_revoke_sq(struct gda_umem *umem)
{
	gda_qp_revoke(container_of(umem, struct gda_qp, sq_umem), GDA_QP_REVOKED_SQ);
}

static void gda_qp_revoke_rec(struct gda_umem *umem)
{
	gda_qp_revoke(container_of(umem, struct gda_qp, rec_umem), GDA_QP_REVOKED_REC);
}

static bool gda_qp_cq_revoked(const struct gda_qp *qp)
{
	return gda_cq_lost(qp->parts.cq.cq) ||
	       (qp->parts.recv_cq.cq && gda_cq_lost(qp->parts.recv_cq.cq));
}

static bool gda_qp_has_cq(const struct gda_qp *qp, const struct gda_cq *cq)
{
	return qp->parts.cq.cq == &cq->engine_cq || qp->parts.recv_cq.cq == &cq->engine_cq;
}

/* Mark every QP whose CQ @cq has lost its memory. The exporter's dma_resv is held. */
void gda_qp_detach_cq(struct gda_ctx *ctx, const struct gda_cq *cq)
{
	int idx = gda_read_lock();
	unsigned int page, slot;

	for (page = 0; page < GDA_CELL_PAGES; page++) {
		/* pairs with smp_store_release in gda_cell_alloc() */
		struct gda_db_page *db_page = smp_load_acquire(&ctx->db[page]);

		for (slot = 0; db_page && slot < GDA_CELLS; slot++) {
			/* pairs with smp_store_release in gda_qp_publish() */
			struct gda_qp *qp = smp_load_acquire(&db_page->qps[slot]);

			if (qp && gda_qp_has_cq(qp, cq))
				set_bit(GDA_QP_REVOKED_CQ, &qp->lost);
		}
	}
	gda_read_unlock(idx);
	gda_worker_kick(ctx);
}

/* Called only by the worker, which owns engine_qp. Detach revoked memory and fail the QP. */
static void gda_qp_detach_revoked(struct gda_qp *qp)
{
	const u32 gone = GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_QUEUE);
	struct gda_engine_qp *q = &qp->engine_qp;

	if (test_bit(GDA_QP_REVOKED_SQ, &qp->lost))
		q->sq = NULL;
	if (test_bit(GDA_QP_REVOKED_REC, &qp->lost) && q->dbrec != qp->rec_blank) {
		q->dialect->record(q, qp->rec_blank);
		q->dbrec = qp->rec_blank;
	}
	if (!READ_ONCE(q->fail))
		WRITE_ONCE(q->fail, gone);
}

/*
 * Called only by the worker, when a bit of qp->lost is set: detach revoked memory, and check
 * whether an RNR delay has ended or an awaited CQ entry has arrived. A QP that is asked to fail
 * may be visited at once. The worker forgets when a delay ends, so set it again if it continues.
 */
bool gda_qp_attend(struct gda_qp *qp)
{
	if (!gda_qp_readable(qp))
		gda_qp_detach_revoked(qp);
	if (test_bit(GDA_QP_WAITS, &qp->lost) && !gda_wait_over(qp))
		return false;
	if (!test_bit(GDA_QP_DELAYED, &qp->lost))
		return true;
	if (!READ_ONCE(qp->engine_qp.fail) && ktime_get_ns() < qp->rnr_until) {
		gda_worker_set_due(qp->obj.ctx, qp->rnr_until);
		return false;
	}
	clear_bit(GDA_QP_DELAYED, &qp->lost);
	return true;
}

/*
 * Publish the queue to the worker. From here on its doorbell page is active or faults on a store.
 */
static void gda_qp_publish(struct gda_object *obj)
{
	struct gda_qp *qp = container_of(obj, struct gda_qp, obj);

	/* pairs with READ_ONCE in the worker: the engine's part is complete */
	smp_store_release(&qp->db.db_page->qps[qp->db.slot], qp);
	/*
	 * a revocation of the CQ that did not find this QP has set ->lost before its search;
	 * pairs with smp_mb() in gda_cq_revoke()
	 */
	smp_mb();
	if (gda_qp_cq_revoked(qp))
		set_bit(GDA_QP_REVOKED_CQ, &qp->lost);
	/* the device is being removed, and removal may have missed the QP: see executor/device.c */
	if (READ_ONCE(obj->ctx->dead))
		gda_qp_fail(qp, GDA_CAUSE_DEVICE);
	if (READ_ONCE(qp->lost))
		gda_worker_kick(obj->ctx);
	if (qp->polled)
		gda_doorbell_poll(qp->db.db_page->region, 1);
}

/* Hide the QP from visits. Drop a receive that it has begun at its peer. */
void gda_qp_stop(struct gda_qp *qp)
{
	int idx;

	WRITE_ONCE(qp->db.db_page->qps[qp->db.slot], NULL);
	synchronize_srcu_expedited(&gda_srcu);
	idx = gda_read_lock();
	gda_recv_drop(&qp->engine_qp);
	gda_read_unlock(idx);
}

/*
 * Reset a QP to its initial state. The caller has stopped the QP, and its executor has unlinked
 * it from every QP whose peer it was.
 */
void gda_qp_reset(struct gda_qp *qp)
{
	struct gda_engine_qp *q = &qp->engine_qp;

	/* wait for visits of QPs that had this one as their peer */
	synchronize_srcu_expedited(&gda_srcu);
	WRITE_ONCE(q->state, GDA_QP_INIT);
	WRITE_ONCE(q->fail, 0);
	/* revoked memory stays so and fails the QP at its first visit; its CQs are checked anew */
	clear_bit(GDA_QP_REVOKED_CQ, &qp->lost);
	clear_bit(GDA_QP_DELAYED, &qp->lost);
	clear_bit(GDA_QP_WAITS, &qp->lost);
	memset(&qp->stats, 0, sizeof(qp->stats));
	gda_async_forget(&qp->async);
	/* clear the old index: a verbs library zeroes the record only after the reset */
	gda_umem_clear(&qp->rec_umem);
	if (qp->rq)
		gda_rq_init(&qp->rq->engine_rq);
	gda_engine_init(q);
	gda_qp_publish(&qp->obj);
}

static void gda_qp_kill(struct gda_object *obj)
{
	struct gda_qp *qp = container_of(obj, struct gda_qp, obj);
	struct gda_ctx *ctx = obj->ctx;

	if (qp->exec.number) {
		/*
		 * unlink the QP from lookups first: no peer may connect to it after
		 * qp_disconnect()
		 */
		gda_addresses_release(qp, qp->exec.number);
		ctx->dev->ops->qp_disconnect(&qp->exec);
	}
	if (qp->polled && obj->published)
		gda_doorbell_poll(qp->db.db_page->region, -1);
	gda_cell_kill(ctx->db, &qp->db);
	gda_qp_kill_memory(ctx, qp);
}

/* Allocate the memory of requests in flight, for the executor's window. */
static int gda_qp_alloc_flight(struct gda_qp *qp)
{
	u32 window = qp->exec.window;
	struct gda_qp_flight *flight;

	flight = gda_alloc_large(struct_size(flight, requests, window));
	if (!flight)
		return -ENOMEM;
	gda_flight_init(&flight->flight, &qp->engine_qp, flight->requests, window);
	qp->exec.flight = &flight->flight;
	return 0;
}

static void gda_qp_free_flight(struct gda_qp *qp)
{
	if (qp->exec.flight)
		kvfree(container_of(qp->exec.flight, struct gda_qp_flight, flight));
}

/* Free the executor's part if gda_core allocated it. Peers may have accessed it until now. */
static void gda_qp_free_priv(struct gda_qp *qp)
{
	if (qp->obj.ctx->dev->ops->qp_size)
		kfree(qp->exec.priv);
}

static int gda_qp_alloc_priv(struct gda_qp *qp)
{
	size_t size = qp->obj.ctx->dev->ops->qp_size;

	if (!size)
		return 0;
	qp->exec.priv = kzalloc(size, GDA_GFP_USER);
	return qp->exec.priv ? 0 : -ENOMEM;
}

/* Have the executor free its part. Only executors with qp_free() are charged for one. */
static void gda_qp_free_exec(struct gda_qp *qp)
{
	const struct gda_executor_ops *ops = qp->obj.ctx->dev->ops;

	if (!ops->qp_free)
		return;
	ops->qp_free(&qp->exec);
	gda_unaccount_one(qp->obj.ctx, GDA_COUNT_EXECUTOR_QPS);
}

/* On failure gda_qp_free() frees @priv. */
static int gda_qp_create_exec(struct gda_qp *qp)
{
	const struct gda_executor_ops *ops = qp->obj.ctx->dev->ops;
	int ret = gda_qp_alloc_priv(qp);

	if (!ret && ops->qp_free)
		ret = gda_account_one(qp->obj.ctx, GDA_COUNT_EXECUTOR_QPS);
	if (ret || !ops->qp_create)
		return ret;
	ret = ops->qp_create(&qp->exec);
	if (ret) {
		if (ops->qp_free)
			gda_unaccount_one(qp->obj.ctx, GDA_COUNT_EXECUTOR_QPS);
		return ret;
	}
	if (qp->exec.window)
		ret = gda_qp_alloc_flight(qp);
	if (ret)
		gda_qp_free_exec(qp);
	return ret;
}

static void gda_qp_free(struct gda_object *obj)
{
	struct gda_qp *qp = container_of(obj, struct gda_qp, obj);

	if (qp->exec.number)
		gda_qp_free_exec(qp);
	gda_qp_free_priv(qp);
	gda_qp_free_flight(qp);
	gda_cell_free(&qp->db);
	gda_qp_free_memory(qp);
	gda_control_detach_parts(&qp->parts);
	gda_srq_detach(qp);
	gda_async_free(&qp->async);
	obj->ctx->nqp--;
	gda_stat_add(GDA_STAT_QPS, -1);
	kfree(qp);
}

static struct gda_region *gda_qp_region(struct gda_object *obj, u32 type, u32 *offset)
{
	struct gda_qp *qp = container_of(obj, struct gda_qp, obj);

	if (type == GDA_REGION_SQ)
		return qp->sq;
	if (type == GDA_REGION_DBREC)
		return gda_cell_region(&qp->rec, offset);
	if (type == GDA_REGION_DB)
		return gda_cell_region(&qp->db, offset);
	return NULL;
}

const struct gda_object_ops gda_qp_ops = {
	.publish = gda_qp_publish,
	.kill = gda_qp_kill,
	.free = gda_qp_free,
	.region = gda_qp_region,
};

static void gda_qp_answer(const struct gda_qp *qp, struct gda_qp_create *cmd)
{
	cmd->handle = qp->obj.handle;
	cmd->qpn = qp->engine_qp.qpn;
	memset(&cmd->sq, 0, sizeof(cmd->sq));
	if (qp->sq)
		gda_region_info(qp->sq, 0, &cmd->sq);
	memset(&cmd->dbrec, 0, sizeof(cmd->dbrec));
	if (qp->rec.db_page)
		gda_region_info(qp->rec.db_page->region, gda_cell_offset(&qp->rec),
				&cmd->dbrec);
	gda_region_info(qp->db.db_page->region, gda_cell_offset(&qp->db), &cmd->db);
}

/* Reserve a number that no QP or CQ of the device has; on a client's device it is hard to guess. */
int gda_number_reserve(struct gda_device *dev, u32 *number)
{
	u32 next = get_random_u32() & 0xffffff;
	int ret;

	ret = xa_alloc_cyclic(&dev->qps, number, XA_ZERO_ENTRY, XA_LIMIT(1, 0xffffff),
			      dev->ops->client ? &next : &dev->next_qpn, GDA_GFP_USER);
	return gda_cyclic_error(ret);
}

/* Publish the QP to its executor, then to peers, which do not know its number yet. */
static int gda_qp_add_to_device(struct gda_device *dev, struct gda_qp *qp)
{
	const struct gda_executor_ops *ops = dev->ops;
	u32 qpn;
	int ret;

	ret = gda_addresses_reserve(qp, &qpn);
	if (ret)
		return ret;
	qp->engine_qp.qpn = qpn;
	/* the engine copies the number to each completion */
	gda_engine_init(&qp->engine_qp);
	qp->exec = (struct gda_executor_qp) {
		.ctx = &qp->obj.ctx->exec,
		.number = qpn,
		.sq_depth = qp->engine_qp.depth,
		.recv_depth = qp->parts.recv_cq.cq ? qp->parts.recv_cq.cq->depth : 0,
	};
	ret = gda_qp_create_exec(qp);
	if (ret) {
		qp->exec.number = 0;
		gda_addresses_release(qp, qpn);
		return ret;
	}
	/* set ->visit once, so that the worker need not look up the executor at each visit */
	if (qp->exec.window || !ops->engine)
		qp->visit = ops->visit;
	gda_addresses_publish(qp);
	return 0;
}

/* Attach memory of the caller. No lock is held, because attaching waits for the exporter. */
static int gda_qp_borrow(struct gda_ctx *ctx, struct gda_qp *qp,
			 const struct gda_qp_create *cmd, const struct gda_umem_addresses *user)
{
	const struct gda_dialect_ops *dialect;
	int ret;

	gda_umem_init(&qp->sq_umem, &qp->obj, gda_qp_revoke_sq);
	gda_umem_init(&qp->rec_umem, &qp->obj, gda_qp_revoke_rec);
	if (!user && !(cmd->flags & (GDA_QP_SQ_DMABUF | GDA_QP_DBREC_DMABUF)))
		return 0;
	/* a revocation kicks the worker, so the context must be bound before the first umem */
	ret = gda_ctx_lock(ctx);
	if (ret)
		return ret;
	gda_ctx_unlock(ctx);
	qp->obj.ctx = ctx;
	ret = gda_qp_check(ctx->dev, cmd, &dialect);
	if (!ret && user)
		ret = gda_rq_create(qp, user, dialect) ?:
		      gda_umem_get_both(&qp->sq_umem, &qp->rec_umem, user,
					cmd->sq_depth * dialect->slot_bytes, dialect->slot_bytes);
	/* peers read a receive queue's record without checking @lost: it must not be revocable */
	if (!ret && qp->rq && !gda_umem_part_fixed(&qp->rec_umem))
		ret = -EOPNOTSUPP;
	if (!ret && cmd->flags & GDA_QP_SQ_DMABUF)
		ret = gda_umem_get(&qp->sq_umem, &cmd->sq_memory,
				   cmd->sq_depth * dialect->slot_bytes, dialect->slot_bytes);
	if (!ret && cmd->flags & GDA_QP_DBREC_DMABUF)
		ret = gda_umem_get(&qp->rec_umem, &cmd->dbrec_memory, GDA_RECORD_BYTES,
				   GDA_RECORD_BYTES);
	return ret;
}

/* On failure the caller has only the umems to free. */
static int gda_qp_build(struct gda_ctx *ctx, struct gda_qp *qp,
			const struct gda_qp_create *cmd)
{
	const struct gda_dialect_ops *dialect;
	int ret;

	ret = gda_qp_check(ctx->dev, cmd, &dialect);
	if (!ret && ctx->nqp >= ctx->dev->limits.max_qp)
		ret = -ENOSPC;
	if (!ret)
		ret = gda_control_find_parts(&qp->parts, cmd, dialect, ctx);
	if (!ret)
		ret = gda_object_reserve(ctx, &qp->obj, GDA_OBJECT_QP);
	if (ret)
		return ret;
	/* peers count in the cell, and visits of this queue store the word */
	qp->polled = cmd->flags & GDA_QP_POLLED || gda_counter_has_words(qp->parts.recv.counter);
	gda_control_init_qp(&qp->engine_qp, cmd, dialect);
	ret = gda_qp_alloc_memory(ctx, qp);
	if (ret)
		goto err_memory;
	gda_qp_init_engine(qp);
	ctx->nqp++;
	gda_stat_add(GDA_STAT_QPS, 1);
	gda_object_complete(&qp->obj);
	return 0;

err_memory:
	gda_qp_kill_memory(ctx, qp);
	gda_object_abort(&qp->obj);
	return ret;
}

/* @user: addresses of queue and record in the calling process, or NULL. */
struct gda_object *gda_qp_create(struct gda_ctx *ctx, struct gda_qp_create *cmd,
				 const struct gda_umem_addresses *user)
{
	struct gda_qp *qp;
	int ret;

	qp = kzalloc(sizeof(*qp), GDA_GFP_USER);
	if (!qp)
		return ERR_PTR(-ENOMEM);
	ret = gda_qp_borrow(ctx, qp, cmd, user);
	if (ret)
		goto err_free;
	ret = gda_ctx_lock(ctx);
	if (ret)
		goto err_free;
	ret = gda_qp_build(ctx, qp, cmd);
	if (ret)
		goto err_leave;
	ret = gda_qp_add_to_device(ctx->dev, qp);
	if (ret)
		gda_object_discard(&qp->obj);
	else
		gda_qp_answer(qp, cmd);
	gda_ctx_unlock(ctx);
	return ret ? ERR_PTR(ret) : &qp->obj;

err_leave:
	gda_ctx_unlock(ctx);
err_free:
	gda_qp_free_memory(qp);
	kfree(qp);
	return ERR_PTR(ret);
}

static struct gda_qp *gda_qp_find(struct gda_ctx *ctx, u32 handle)
{
	struct gda_object *obj = gda_object_find(ctx, handle, GDA_OBJECT_QP);

	return obj ? container_of(obj, struct gda_qp, obj) : NULL;
}

int gda_qp_address(struct gda_ctx *ctx, struct gda_qp_address *cmd)
{
	struct gda_qp *qp;

	qp = gda_qp_find(ctx, cmd->handle);
	if (!qp)
		return -ENOENT;
	ctx->dev->ops->qp_address(&qp->exec, cmd->address);
	return 0;
}

int gda_qp_connect(struct gda_ctx *ctx, struct gda_qp_connect *cmd)
{
	struct gda_qp *qp;
	int ret;

	qp = gda_qp_find(ctx, cmd->handle);
	if (!qp)
		return -ENOENT;
	ret = ctx->dev->ops->qp_connect(&qp->exec, cmd->address);
	/*
	 * Removal marks the context dead and then fails its QPs, possibly during this call; then
	 * report the removal. Pairs with smp_mb() in gda_device_retire().
	 */
	smp_rmb();
	return ret && READ_ONCE(ctx->dead) ? -ENODEV : ret;
}

int gda_qp_query(struct gda_ctx *ctx, struct gda_qp_query *cmd)
{
	struct gda_qp *qp = gda_qp_find(ctx, cmd->handle);

	if (!qp)
		return -ENOENT;
	gda_control_query_qp(&qp->engine_qp, cmd);
	cmd->peer = gda_executor_peer(qp);
	cmd->delayed = test_bit(GDA_QP_DELAYED, &qp->lost);
	cmd->in_flight = qp->exec.flight ? gda_flight_count(qp->exec.flight) : 0;
	gda_worker_query(ctx, cmd);
	return 0;
}

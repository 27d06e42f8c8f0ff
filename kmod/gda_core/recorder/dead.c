// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts that ended with a QP in error or with work without an outcome: their newest records
 * and the last state of their QPs, so that "gdactl why" explains them also when the process was
 * killed.
 *
 * The newest GDA_DEAD_USER entries of a user are kept, and GDA_DEAD_ALL in all: if there is no
 * room, the oldest entry of the same user is dropped; only for a user who has none, one of another
 * user. The memory of an entry is charged to the memory cgroup of the process that closes the
 * context last. If there is no memory, nothing is kept: closing neither waits nor fails because of
 * it.
 *
 * gda_dead_lock guards the list; an entry has references, and does not change once it is listed.
 * recorder.c says who reads entries.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "gda_private.h"

#define GDA_DEAD_USER		4
#define GDA_DEAD_ALL		16
#define GDA_DEAD_RECORDS	4096U

static LIST_HEAD(gda_dead_list);	/* ascending by id */
static DEFINE_SPINLOCK(gda_dead_lock);
static u32 gda_dead_ids;

static void gda_dead_free(struct kref *ref)
{
	struct gda_dead *dead = container_of(ref, struct gda_dead, ref);

	gda_opener_put(&dead->opener);
	kvfree(dead->records);
	kvfree(dead->qps);
	kfree(dead);
}

void gda_dead_put(struct gda_dead *dead)
{
	kref_put(&dead->ref, gda_dead_free);
}

struct gda_dead *gda_dead_get(u32 after)
{
	struct gda_dead *dead, *found = NULL;

	spin_lock(&gda_dead_lock);
	list_for_each_entry(dead, &gda_dead_list, node) {
		if (dead->id <= after)
			continue;
		kref_get(&dead->ref);
		found = dead;
		break;
	}
	spin_unlock(&gda_dead_lock);
	return found;
}

/* Under SRCU, after the worker has stopped. Return: how much published work has no outcome. */
static u32 gda_dead_pending(struct gda_qp *qp)
{
	const struct gda_engine_qp *q = &qp->engine_qp;
	struct gda_ring_scan scan = { };

	if (gda_qp_readable(qp))
		q->dialect->published(q, &scan);
	return max_t(u32, scan.ahead, q->pi - q->ci);
}

static bool gda_dead_describe(struct gda_qp *qp, struct gda_dead_qp *to)
{
	const struct gda_engine_qp *q = &qp->engine_qp;
	int idx = gda_read_lock();

	*to = (struct gda_dead_qp) {
		.qpn = q->qpn,
		.handle = qp->obj.handle,
		.state = READ_ONCE(q->state),
		.first = q->first,
		.error_index = q->first_error,
		.consumer = q->ci,
		.producer = q->ci + gda_dead_pending(qp),
		.executed = q->executed,
		.flushed = q->flushed,
		.bytes = q->bytes,
	};
	gda_read_unlock(idx);
	return to->state == GDA_QP_ERROR || to->producer != to->consumer;
}

/* Does any QP owe something? */
static bool gda_dead_worth(struct gda_ctx *ctx)
{
	struct gda_dead_qp last;
	struct gda_object *obj;
	unsigned long handle;

	xa_for_each(&ctx->objects, handle, obj) {
		if (obj->type == GDA_OBJECT_QP && obj->published &&
		    gda_dead_describe(container_of(obj, struct gda_qp, obj), &last))
			return true;
	}
	return false;
}

static struct gda_dead *gda_dead_alloc(u32 nqps, u32 nrecords)
{
	struct gda_dead *dead = kzalloc(sizeof(*dead), GDA_GFP_USER);

	if (!dead)
		return NULL;
	dead->qps = gda_alloc_large(array_size(nqps, sizeof(*dead->qps)));
	dead->records = gda_alloc_large(array_size(nrecords, sizeof(*dead->records)));
	if (dead->qps && dead->records)
		return dead;
	kvfree(dead->records);
	kvfree(dead->qps);
	kfree(dead);
	return NULL;
}

static void gda_dead_fill(struct gda_dead *dead, struct gda_ctx *ctx, u32 nqps, u32 nrecords)
{
	struct gda_object *obj;
	unsigned long handle;
	int idx;

	kref_init(&dead->ref);
	dead->ctx = ctx->id;
	gda_opener_get(&dead->opener, &ctx->opener);
	dead->ns = ktime_get_ns();
	strscpy(dead->device, READ_ONCE(ctx->dev->name), sizeof(dead->device));
	xa_for_each(&ctx->objects, handle, obj) {
		if (obj->type != GDA_OBJECT_QP || !obj->published || dead->nqps == nqps)
			continue;
		gda_dead_describe(container_of(obj, struct gda_qp, obj), &dead->qps[dead->nqps]);
		dead->nqps++;
		cond_resched();
	}
	idx = gda_read_lock();
	dead->nrecords = gda_record_peek(ctx, dead->records, nrecords);
	gda_read_unlock(idx);
}

/* Take the oldest entry off the list: of the user of @cred; if that is NULL, of any user. */
static struct gda_dead *gda_dead_oldest(const struct cred *cred)
{
	struct gda_dead *dead;

	lockdep_assert_held(&gda_dead_lock);
	list_for_each_entry(dead, &gda_dead_list, node)
		if (!cred || uid_eq(dead->opener.cred->euid, cred->euid))
			return dead;
	return NULL;
}

/*
 * Return: the entry that is dropped for one more entry of this user, taken off the list; or NULL.
 */
static struct gda_dead *gda_dead_evict(const struct cred *cred)
{
	struct gda_dead *dead, *victim = NULL;
	u32 own = 0, all = 0;

	lockdep_assert_held(&gda_dead_lock);
	list_for_each_entry(dead, &gda_dead_list, node) {
		own += uid_eq(dead->opener.cred->euid, cred->euid);
		all++;
	}
	if (own >= GDA_DEAD_USER || all >= GDA_DEAD_ALL)
		victim = gda_dead_oldest(own ? cred : NULL);
	if (victim)
		list_del(&victim->node);
	return victim;
}

static void gda_dead_insert(struct gda_dead *dead)
{
	struct gda_dead *victim;

	spin_lock(&gda_dead_lock);
	victim = gda_dead_evict(dead->opener.cred);
	dead->id = ++gda_dead_ids;
	list_add_tail(&dead->node, &gda_dead_list);
	spin_unlock(&gda_dead_lock);
	if (victim)
		gda_dead_put(victim);
}

/* The context ends: its worker has stopped, its objects are still there. */
void gda_dead_keep(struct gda_ctx *ctx)
{
	u32 nqps = ctx->nqp, nrecords;
	struct gda_dead *dead;

	lockdep_assert_held(&ctx->lock);
	if (!nqps || !gda_device_has_worker(ctx->dev) || !gda_dead_worth(ctx))
		return;
	nrecords = ctx->record.work ? ctx->record.ring.mask + 1 : GDA_RECORD_MIN;
	nrecords = min(nrecords, GDA_DEAD_RECORDS);
	dead = gda_dead_alloc(nqps, nrecords);
	if (!dead)
		return;
	gda_dead_fill(dead, ctx, nqps, nrecords);
	gda_dead_insert(dead);
}

/* The module is unloaded: nobody reads entries any more. */
void gda_dead_exit(void)
{
	struct gda_dead *dead, *next;

	list_for_each_entry_safe(dead, next, &gda_dead_list, node) {
		list_del(&dead->node);
		gda_dead_put(dead);
	}
}

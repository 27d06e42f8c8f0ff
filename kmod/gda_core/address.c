// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles, the calls that add and drop them, and the numbers of QPs within their context.
 * engine/control/ah.h says what a handle is.
 *
 * A context has one handle of each other context, however often that one is added. Each call
 * creates an object of its own; the destruction of the last one also destroys the handle.
 *
 * gda_ah_lock guards the twin pointers of all contexts, and is held for a few loads and
 * stores. Both sides first make their handle visible in @by_context and then, under the lock, look
 * for the other's handle: the second one finds the first.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "gda_private.h"
#include "control/ah.h"

struct gda_address {
	struct gda_ah ah;
	u32 id;			/* id in gda_contexts of the named context */
};

/* One call of GDA_IOC_PEER_ADD. */
struct gda_peer {
	struct gda_object obj;
	struct gda_address *address;	/* set by kill, freed with this object; or NULL */
};

/* The context of the QP that a call names. */
struct gda_peer_context {
	u32 id;
	u64 serial;
};

static DEFINE_SPINLOCK(gda_ah_lock);
static atomic64_t gda_serial;

/* A search for a free number tries at most one more number than the context has QPs. */
static_assert(GDA_MAX_QP < GDA_AH_NUMBERS);

void gda_addresses_init(struct gda_addresses *a)
{
	xa_init_flags(&a->handles, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	xa_init_flags(&a->by_context, XA_FLAGS_ACCOUNT);
	xa_init_flags(&a->queues, XA_FLAGS_ACCOUNT);
}

void gda_addresses_bind(struct gda_ctx *ctx)
{
	ctx->addresses.serial = atomic64_inc_return(&gda_serial);
}

void gda_addresses_free(struct gda_addresses *a)
{
	WARN_ON_ONCE(!xa_empty(&a->handles) || !xa_empty(&a->by_context) || !xa_empty(&a->queues));
	xa_destroy(&a->handles);
	xa_destroy(&a->by_context);
	xa_destroy(&a->queues);
}

/* Reserve a number of the device whose low bits no QP of the context has. */
int gda_addresses_reserve(struct gda_qp *qp, u32 *qpn)
{
	struct gda_ctx *ctx = qp->obj.ctx;
	int ret;

	do {
		ret = gda_number_reserve(ctx->dev, qpn);
		if (ret || !qp->engine_qp.dialect->named)
			return ret;
		qp->engine_qp.qkey = get_random_u32();
		ret = xa_insert(&ctx->addresses.queues, *qpn % GDA_AH_NUMBERS, XA_ZERO_ENTRY,
				GDA_GFP_USER);
		if (ret)
			xa_erase(&ctx->dev->qps, *qpn);
	} while (ret == -EBUSY);
	return ret;
}

void gda_addresses_release(struct gda_qp *qp, u32 qpn)
{
	struct gda_ctx *ctx = qp->obj.ctx;

	xa_erase(&ctx->dev->qps, qpn);
	if (qp->engine_qp.dialect->named)
		xa_erase(&ctx->addresses.queues, qpn % GDA_AH_NUMBERS);
}

/* Publish the QP's reserved numbers. This allocates nothing and cannot fail. */
void gda_addresses_publish(struct gda_qp *qp)
{
	struct gda_ctx *ctx = qp->obj.ctx;
	u32 qpn = qp->engine_qp.qpn;

	xa_store(&ctx->dev->qps, qpn, qp, GDA_GFP_USER);
	if (qp->engine_qp.dialect->named)
		xa_store(&ctx->addresses.queues, qpn % GDA_AH_NUMBERS, &qp->engine_qp, GDA_GFP_USER);
}

const struct gda_ah *gda_host_ah(const struct gda_engine_qp *q, u32 number)
{
	const struct gda_qp *qp = container_of(q, struct gda_qp, engine_qp);

	return xa_load(&qp->obj.ctx->addresses.handles, number);
}

struct gda_engine_qp *gda_host_numbered(void *ctx, u32 number)
{
	return xa_load(&((struct gda_ctx *)ctx)->addresses.queues, number);
}

/* Fill in @cmd, except its handle, and @of, whose context may be gone before it is used. */
static int gda_peer_find(struct gda_device *dev, struct gda_peer_add *cmd,
			 struct gda_peer_context *of)
{
	const struct gda_ah none = { };
	struct gda_executor_qp *exec;
	struct gda_qp *qp;
	int idx, ret;

	idx = gda_read_lock();
	exec = dev->ops->qp_find(dev, cmd->address);
	ret = PTR_ERR_OR_ZERO(exec);
	qp = ret || !exec ? NULL : gda_qp_of(exec);
	ret = ret ?: gda_ah_check(qp ? &qp->engine_qp : NULL);
	if (!ret) {
		of->id = qp->obj.ctx->id;
		of->serial = qp->obj.ctx->addresses.serial;
		gda_ah_answer(&none, &qp->engine_qp, cmd);
	}
	gda_read_unlock(idx);
	return ret;
}

/* Make @address the twin of the named context's handle of its owner, if there is one. */
static void gda_address_pair(struct gda_address *address)
{
	struct gda_ctx *ctx = address->ah.ctx, *to;
	struct gda_address *other;
	int idx;

	idx = gda_read_lock();
	to = xa_load(&gda_contexts, address->id);
	spin_lock(&gda_ah_lock);
	other = to ? xa_load(&to->addresses.by_context, ctx->id) : NULL;
	gda_ah_pair(&address->ah, other ? &other->ah : NULL);
	spin_unlock(&gda_ah_lock);
	gda_read_unlock(idx);
}

static struct gda_address *gda_address_create(struct gda_ctx *ctx,
					      const struct gda_peer_context *to)
{
	struct gda_addresses *a = &ctx->addresses;
	struct gda_address *address;
	u32 number;
	int ret;

	address = kzalloc(sizeof(*address), GDA_GFP_USER);
	if (!address)
		return ERR_PTR(-ENOMEM);
	address->ah.ctx = ctx;
	address->ah.owner = a->serial;
	address->ah.to = to->serial;
	address->id = to->id;
	ret = xa_alloc_cyclic(&a->handles, &number, XA_ZERO_ENTRY, XA_LIMIT(0, GDA_MAX_PEERS - 1),
			      &a->next, GDA_GFP_USER);
	if (ret < 0)
		goto err_free;
	address->ah.number = number;
	/* an old entry names a context that is gone and had the same id */
	ret = xa_err(xa_store(&a->by_context, to->id, address, GDA_GFP_USER));
	if (ret)
		goto err_number;
	/* the index is reserved: this allocates nothing and cannot fail */
	xa_store(&a->handles, number, &address->ah, GDA_GFP_USER);
	gda_address_pair(address);
	return address;

err_number:
	xa_erase(&a->handles, number);
err_free:
	kfree(address);
	return ERR_PTR(gda_cyclic_error(ret));
}

static void gda_address_kill(struct gda_address *address)
{
	struct gda_ctx *ctx = address->ah.ctx;

	xa_erase(&ctx->addresses.handles, address->ah.number);
	xa_cmpxchg(&ctx->addresses.by_context, address->id, address, NULL, GDA_GFP_USER);
	spin_lock(&gda_ah_lock);
	gda_ah_unpair(&address->ah, READ_ONCE(ctx->closed));
	spin_unlock(&gda_ah_lock);
}

static struct gda_address *gda_address_get(struct gda_ctx *ctx, const struct gda_peer_context *to)
{
	struct gda_address *address = xa_load(&ctx->addresses.by_context, to->id);

	if (!address || address->ah.to != to->serial)
		address = gda_address_create(ctx, to);
	if (!IS_ERR(address))
		address->ah.users++;
	return address;
}

static void gda_peer_kill(struct gda_object *obj)
{
	struct gda_peer *peer = container_of(obj, struct gda_peer, obj);

	if (--peer->address->ah.users)
		peer->address = NULL;
	else
		gda_address_kill(peer->address);
}

static void gda_peer_free(struct gda_object *obj)
{
	struct gda_peer *peer = container_of(obj, struct gda_peer, obj);

	kfree(peer->address);
	kfree(peer);
}

const struct gda_object_ops gda_peer_ops = {
	.kill = gda_peer_kill,
	.free = gda_peer_free,
};

struct gda_object *gda_peer_add(struct gda_ctx *ctx, struct gda_peer_add *cmd)
{
	struct gda_peer_context to;
	struct gda_peer *peer;
	int ret;

	if (!ctx->dev->ops->qp_find)
		return ERR_PTR(-EOPNOTSUPP);
	ret = gda_peer_find(ctx->dev, cmd, &to);
	if (ret)
		return ERR_PTR(ret);
	peer = kzalloc(sizeof(*peer), GDA_GFP_USER);
	if (!peer)
		return ERR_PTR(-ENOMEM);
	ret = gda_object_reserve(ctx, &peer->obj, GDA_OBJECT_PEER);
	if (ret)
		goto err_free;
	peer->address = gda_address_get(ctx, &to);
	if (IS_ERR(peer->address)) {
		ret = PTR_ERR(peer->address);
		goto err_handle;
	}
	gda_object_complete(&peer->obj);
	cmd->handle = peer->obj.handle;
	cmd->ah = peer->address->ah.number;
	return &peer->obj;

err_handle:
	gda_object_abort(&peer->obj);
err_free:
	kfree(peer);
	return ERR_PTR(ret);
}

// SPDX-License-Identifier: MIT
/*
 * Address handles and the numbers of QPs within their context, as in kmod/gda_core/address.c; ah.h
 * says what a handle is.
 *
 * Handles of all contexts are created, paired and dropped under dev->peer_lock. Workers look up
 * handles, and queues by number, without it.
 */
#include <errno.h>
#include <stdlib.h>
#include "inproc.h"

struct gda_inproc_address {
	struct gda_ah ah;
	struct gda_inproc_address *next;	/* of the same context */
};

/* A context gets this on first use. Pages of it that are never written take no memory. */
struct gda_inproc_addresses {
	u64 serial;			/* never used for another context */
	u32 next;			/* handle number to try next */
	struct gda_inproc_address *first;
	struct gda_ah *handle[GDA_AH_NUMBERS];
	struct gda_engine_qp *queue[GDA_AH_NUMBERS];
};

/* One call of GDA_IOC_PEER_ADD. */
struct gda_inproc_peer {
	struct gda_inproc_object obj;
	struct gda_inproc_address *address;	/* set by kill, freed with this object; or NULL */
};

static u64 gda_inproc_serial;		/* atomic */

/* A search for a free number tries at most one more number than the context has QPs. */
static_assert(GDA_INPROC_MAX_QP < GDA_AH_NUMBERS);

int gda_inproc_addresses_create(struct gda_inproc_context *ctx)
{
	struct gda_inproc_addresses *a;

	/* other contexts may be reading the pointer */
	if (ctx->addresses)
		return 0;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->serial = __atomic_add_fetch(&gda_inproc_serial, 1, __ATOMIC_RELAXED);
	ctx->addresses = a;
	return 0;
}

/* Return: the place where other contexts look up a QP that requests name by number. */
static struct gda_engine_qp **gda_inproc_number(const struct gda_inproc_qp *qp)
{
	return &qp->obj.ctx->addresses->queue[qp->engine_qp.qpn % GDA_AH_NUMBERS];
}

int gda_inproc_number_reserve(struct gda_inproc_qp *qp)
{
	bool named = qp->engine_qp.dialect->named;
	int err = named ? gda_inproc_addresses_create(qp->obj.ctx) : 0;
	void *leaf;

	while (!err) {
		pthread_mutex_lock(&gda_inproc.lock);
		err = gda_inproc_table_reserve(&gda_inproc.qps, &qp->engine_qp.qpn);
		pthread_mutex_unlock(&gda_inproc.lock);
		if (err || !named || !*gda_inproc_number(qp))
			break;
		pthread_mutex_lock(&gda_inproc.lock);
		leaf = gda_inproc_table_erase(&gda_inproc.qps, qp->engine_qp.qpn);
		pthread_mutex_unlock(&gda_inproc.lock);
		/* a worker may be looking up a number in the leaf */
		if (leaf)
			gda_inproc_sync();
		free(leaf);
	}
	qp->engine_qp.qkey = named ? (u32)gda_inproc_random() : 0;
	return err;
}

static void gda_inproc_number_set(struct gda_inproc_qp *qp, struct gda_engine_qp *q)
{
	if (qp->engine_qp.dialect->named)
		/* pairs with gda_host_numbered() */
		smp_store_release(gda_inproc_number(qp), q);
}

void gda_inproc_number_publish(struct gda_inproc_qp *qp)
{
	gda_inproc_table_publish(&gda_inproc.qps, qp->engine_qp.qpn, qp);
	gda_inproc_number_set(qp, &qp->engine_qp);
}

void gda_inproc_number_erase(struct gda_inproc_qp *qp)
{
	gda_inproc_number_set(qp, NULL);
	qp->dead_leaf = gda_inproc_table_erase(&gda_inproc.qps, qp->engine_qp.qpn);
}

const struct gda_ah *gda_host_ah(const struct gda_engine_qp *q, u32 number)
{
	const struct gda_inproc_qp *qp = gda_inproc_of(q, struct gda_inproc_qp, engine_qp);

	/* pairs with gda_inproc_address_create() */
	return smp_load_acquire(&qp->obj.ctx->addresses->handle[number % GDA_AH_NUMBERS]);
}

struct gda_engine_qp *gda_host_numbered(void *ctx, u32 number)
{
	struct gda_inproc_addresses *a = ((struct gda_inproc_context *)ctx)->addresses;

	/* pairs with gda_inproc_number_set() */
	return smp_load_acquire(&a->queue[number % GDA_AH_NUMBERS]);
}

/* Return: the context's handle of the context with @serial, or NULL. */
static struct gda_inproc_address *gda_inproc_address_of(const struct gda_inproc_addresses *a,
							u64 serial)
{
	struct gda_inproc_address *address = a->first;

	while (address && address->ah.to != serial)
		address = address->next;
	return address;
}

/* Return: a free handle number, or GDA_MAX_PEERS. */
static u32 gda_inproc_handle_number(struct gda_inproc_addresses *a)
{
	u32 i;

	for (i = 0; i < GDA_MAX_PEERS; i++) {
		u32 number = a->next++ % GDA_MAX_PEERS;

		if (!a->handle[number])
			return number;
	}
	return GDA_MAX_PEERS;
}

/* Make @address a handle of @ctx that names the context of @a. */
static int gda_inproc_address_create(struct gda_inproc_context *ctx,
				     const struct gda_inproc_addresses *a,
				     struct gda_inproc_address *address)
{
	struct gda_inproc_addresses *mine = ctx->addresses;
	u32 number = gda_inproc_handle_number(mine);
	struct gda_inproc_address *back;

	if (number == GDA_MAX_PEERS)
		return -ENOSPC;
	*address = (struct gda_inproc_address) {
		.ah = { .ctx = ctx, .owner = mine->serial, .to = a->serial, .number = (u16)number },
		.next = mine->first,
	};
	mine->first = address;
	/* pairs with gda_host_ah() */
	smp_store_release(&mine->handle[number], &address->ah);
	back = gda_inproc_address_of(a, mine->serial);
	gda_ah_pair(&address->ah, back ? &back->ah : NULL);
	return 0;
}

/*
 * Fill in @cmd and @peer for the QP that @cmd names. @spare is memory for a new handle and is set
 * to NULL if it was used. Called under dev->peer_lock.
 */
static int gda_inproc_peer_name(struct gda_inproc_context *ctx, struct gda_peer_add *cmd,
				struct gda_inproc_peer *peer, struct gda_inproc_address **spare)
{
	const struct gda_inproc_addresses *a;
	struct gda_inproc_qp *qp = NULL;
	int err = ctx->executor->qp_find(cmd->address, &qp);

	if (!err)
		err = gda_ah_check(qp ? &qp->engine_qp : NULL);
	if (err)
		return err;
	a = qp->obj.ctx->addresses;
	peer->address = gda_inproc_address_of(ctx->addresses, a->serial);
	if (!peer->address) {
		err = gda_inproc_address_create(ctx, a, *spare);
		if (err)
			return err;
		peer->address = *spare;
		*spare = NULL;
	}
	peer->address->ah.users++;
	gda_ah_answer(&peer->address->ah, &qp->engine_qp, cmd);
	return 0;
}

static void gda_inproc_address_kill(struct gda_inproc_context *ctx,
				    struct gda_inproc_address *address)
{
	struct gda_inproc_address **link = &ctx->addresses->first;

	while (*link != address)
		link = &(*link)->next;
	*link = address->next;
	/* pairs with gda_host_ah() */
	smp_store_release(&ctx->addresses->handle[address->ah.number], NULL);
	gda_ah_unpair(&address->ah, ctx->dead);
}

static void gda_inproc_peer_kill(struct gda_inproc_object *obj)
{
	struct gda_inproc_peer *peer = gda_inproc_of(obj, struct gda_inproc_peer, obj);

	pthread_mutex_lock(&gda_inproc.peer_lock);
	if (--peer->address->ah.users)
		peer->address = NULL;
	else
		gda_inproc_address_kill(obj->ctx, peer->address);
	pthread_mutex_unlock(&gda_inproc.peer_lock);
}

static void gda_inproc_peer_free(struct gda_inproc_object *obj)
{
	struct gda_inproc_peer *peer = gda_inproc_of(obj, struct gda_inproc_peer, obj);

	free(peer->address);
	free(peer);
}

static const struct gda_inproc_object_ops gda_inproc_peer_ops = {
	.type = GDA_INPROC_PEER,
	.max = UINT32_MAX,
	.kill = gda_inproc_peer_kill,
	.free = gda_inproc_peer_free,
};

int gda_inproc_peer_add(struct gda_inproc_context *ctx, struct gda_peer_add *cmd)
{
	struct gda_inproc_address *spare;
	struct gda_inproc_peer *peer;
	int err;

	if (!ctx->executor->qp_find)
		return -EOPNOTSUPP;
	err = gda_inproc_object_room(ctx, &gda_inproc_peer_ops);
	if (!err)
		err = gda_inproc_addresses_create(ctx);
	if (err)
		return err;
	spare = calloc(1, sizeof(*spare));
	peer = calloc(1, sizeof(*peer));
	err = spare && peer ? 0 : -ENOMEM;
	if (!err) {
		pthread_mutex_lock(&gda_inproc.peer_lock);
		err = gda_inproc_peer_name(ctx, cmd, peer, &spare);
		pthread_mutex_unlock(&gda_inproc.peer_lock);
	}
	free(spare);
	if (err) {
		free(peer);
		return err;
	}
	gda_inproc_object_add(ctx, &peer->obj, &gda_inproc_peer_ops);
	cmd->handle = peer->obj.handle;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The kind "peer": memory that only its own driver can hand out. Such a driver is a client, see
 * gda/peer_memory.h. This file owns the list of clients, and the state of each registration.
 *
 * Clients are asked one after the other. That may sleep, so the list is read under SRCU:
 * unregistration waits for callers that are inside a client. gda_peer_lock guards changes of the
 * list and is never held while a client is called. A registration holds its client's module from
 * before get() until after put(). Its backing, which invalidation revokes, lives longer.
 *
 * The CPU's address belongs to the client, which gives it up when the memory is invalidated or put.
 * So invalidation has nothing to undo here, and can run beside a registration, a deregistration or
 * another invalidation.
 */
#include <linux/iosys-map.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include <gda/compat.h>
#include <gda/ioctl.h>
#include <gda/mem.h>
#include <gda/peer_memory.h>

#include "gda_mr.h"

struct gda_peer_memory {
	struct gda_mem_backing *backing;
	struct gda_peer_client *client;
	void *priv;		/* the client's */
	void *addr;		/* the CPU's address of the MR's first byte */
	u64 length;		/* of the MR */
};

static LIST_HEAD(gda_peer_clients);
static DEFINE_MUTEX(gda_peer_lock);
DEFINE_STATIC_SRCU(gda_peer_srcu);

static bool gda_peer_registered(const struct gda_peer_client *client)
{
	const struct gda_peer_client *other;

	lockdep_assert_held(&gda_peer_lock);
	list_for_each_entry(other, &gda_peer_clients, node)
		if (other == client)
			return true;
	return false;
}

int gda_peer_register(struct gda_peer_client *client)
{
	int ret = 0;

	if (!client->get || !client->put)
		return -EINVAL;
	mutex_lock(&gda_peer_lock);
	if (gda_peer_registered(client))
		ret = -EBUSY;
	else
		list_add_tail_rcu(&client->node, &gda_peer_clients);
	mutex_unlock(&gda_peer_lock);
	return ret;
}
GDA_EXPORT(gda_peer_register);

void gda_peer_unregister(struct gda_peer_client *client)
{
	mutex_lock(&gda_peer_lock);
	list_del_rcu(&client->node);
	mutex_unlock(&gda_peer_lock);
	synchronize_srcu(&gda_peer_srcu);
}
GDA_EXPORT(gda_peer_unregister);

void gda_peer_invalidate(struct gda_peer_memory *memory)
{
	gda_mem_revoke(memory->backing);
}
GDA_EXPORT(gda_peer_invalidate);

/* Ask one client. If the range belongs to it, or the client fails, the result is final. */
static int gda_peer_ask(struct gda_peer_memory *memory, struct gda_peer_client *client,
			const struct gda_mem_request *req)
{
	int ret;

	if (!try_module_get(client->owner))
		return -ENXIO;
	memory->client = client;
	ret = client->get(memory, req->addr, req->length, req->writable, &memory->priv);
	if (ret)
		module_put(client->owner);
	/* a positive value would be taken for a pointer */
	return WARN_ON_ONCE(ret > 0) ? -EINVAL : ret;
}

static int gda_peer_get(struct gda_peer_memory *memory, const struct gda_mem_request *req)
{
	struct gda_peer_client *client;
	int ret = -ENXIO;
	int idx;

	idx = srcu_read_lock(&gda_peer_srcu);
	list_for_each_entry_srcu(client, &gda_peer_clients, node,
				 srcu_read_lock_held(&gda_peer_srcu)) {
		ret = gda_peer_ask(memory, client, req);
		if (ret != -ENXIO)
			break;
	}
	srcu_read_unlock(&gda_peer_srcu, idx);
	return ret;
}

static void gda_peer_put(struct gda_peer_memory *memory)
{
	struct module *owner = memory->client->owner;

	memory->client->put(memory->priv);
	module_put(owner);
}

/* Get the CPU's address; put() undoes this. */
static int gda_peer_map(struct gda_peer_memory *memory)
{
	const struct gda_peer_client *client = memory->client;
	struct iosys_map map;
	int ret;

	if (!client->vmap)
		return -EOPNOTSUPP;
	ret = client->vmap(memory->priv, &map);
	if (ret)
		return WARN_ON_ONCE(ret > 0) ? -EINVAL : ret;
	/* I/O memory needs accessors of its own, which executors do not have yet */
	if (map.is_iomem)
		return -EOPNOTSUPP;
	memory->addr = map.vaddr;
	return 0;
}

static int gda_peer_attach(struct gda_mem_backing *b, const struct gda_mem_request *req)
{
	struct gda_mem_request range = *req;
	struct gda_peer_memory *memory;
	int ret;

	range.addr = untagged_addr(req->addr);
	if (range.addr >= TASK_SIZE_MAX || range.length > TASK_SIZE_MAX - range.addr)
		return -EFAULT;
	memory = kzalloc(sizeof(*memory), GDA_GFP_USER);
	if (!memory)
		return -ENOMEM;
	memory->length = req->length;
	/* set before get(): once get() was called the memory can be invalidated */
	memory->backing = b;
	ret = gda_peer_get(memory, &range);
	if (ret)
		goto err_kfree;
	ret = gda_peer_map(memory);
	if (ret)
		goto err_put;
	b->priv = memory;
	return 0;

err_put:
	gda_peer_put(memory);
err_kfree:
	kfree(memory);
	return ret;
}

static void gda_peer_detach(struct gda_mem_backing *b)
{
	struct gda_peer_memory *memory = b->priv;

	gda_peer_put(memory);
	kfree(memory);
}

static u32 gda_peer_span(const struct gda_mem_backing *b, u64 off, u32 len, void **ptr)
{
	const struct gda_peer_memory *memory = b->priv;

	/* a mispredicted branch may come here with any @off: clamp it, then select a pointer */
	*ptr = memory->addr + array_index_nospec(off, memory->length);
	return len;
}

const struct gda_mem_kind gda_mem_peer = {
	.name = "peer",
	.owner = THIS_MODULE,
	.id = GDA_KIND_PEER,
	.attach = gda_peer_attach,
	.detach = gda_peer_detach,
	.span = gda_peer_span,
};

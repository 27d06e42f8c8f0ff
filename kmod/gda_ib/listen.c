// SPDX-License-Identifier: GPL-2.0
/*
 * Listeners: one for each net namespace that has contexts, on a port of its own. A request to it
 * has to prove that its sender knows the nonce of a QP before anything of the request is kept.
 *
 * All QPs of the namespace send their requests from one more port, which they share: the port means
 * nothing to a target, and the namespace has few ports for all its users.
 *
 * A listener is made under no lock. If two are made at the same time, one of them is destroyed.
 */
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "gda_ib.h"

static LIST_HEAD(gda_ib_listeners);
static DEFINE_SPINLOCK(gda_ib_lock);

/*
 * Return: whether packets of the connection would go to the address under the tags, so that a
 * sender at another address cannot use a message that it has overheard. GIDs of RoCE are IP
 * addresses.
 */
static bool gda_ib_listener_from(const struct rdma_cm_id *id, const struct gda_cm_private *p)
{
	const struct sa_path_rec *path = id->route.path_rec;

	return path && !memcmp(path->dgid.raw, p->ip, sizeof(p->ip));
}

/* Return: whether the id belongs to a QP; if not, @reject may say why. */
static bool gda_ib_listener_ask(const struct gda_ib_listener *listener,
				const struct gda_fabric_event *e, struct gda_cm_reject *reject)
{
	struct gda_ib_qp *qp;
	bool taken = false;
	struct gda_ib *ib;

	ib = gda_ib_enter_device(e->id->device);
	if (!ib)
		return false;
	qp = gda_ib_qp_get(ib, be32_to_cpu(e->private.number));
	if (qp) {
		/* a stranger learns nothing: not even whether there is such a QP */
		if (qp->listener == listener && gda_ib_listener_from(e->id, &e->private) &&
		    gda_cm_knows(&e->private, &qp->fabric.self, e->qpn))
			taken = gda_ib_request(qp, e, reject);
		gda_ib_qp_put(qp);
	}
	gda_ib_exit(ib);
	return taken;
}

static int gda_ib_listener_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct gda_cm_reject reject = {
		.version = GDA_CM_VERSION, .reason = GDA_CM_REASON_VERSION,
	};
	const struct gda_ib_listener *listener = id->context;
	struct gda_fabric_event e;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	gda_fabric_event_set(&e, id, event);
	if (gda_cm_private_ok(&e.private)) {
		reject.reason = GDA_CM_REASON_UNKNOWN;
		if (gda_ib_listener_ask(listener, &e, &reject))
			return 0;
	}
	gda_os_reject(id, &reject);
	/* rdma_cm destroys it */
	return -ECONNREFUSED;
}

/*
 * Return: an id that has a port of the namespace. @shared says whether other ids may share the
 * port.
 */
static struct rdma_cm_id *gda_ib_port_open(struct gda_ib_listener *listener, bool shared,
					   __be16 *port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
	const struct sockaddr_in6 *bound;
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(listener->net, gda_ib_listener_handler, listener, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	/* IPv4 too, whatever bindv6only says */
	ret = rdma_set_afonly(id, 0);
	if (!ret && shared)
		ret = rdma_set_reuseaddr(id, 1);
	if (!ret)
		ret = rdma_bind_addr(id, (struct sockaddr *)&any);
	if (ret) {
		rdma_destroy_id(id);
		return ERR_PTR(ret);
	}
	bound = (void *)&id->route.addr.src_addr;
	*port = bound->sin6_port;
	return id;
}

static int gda_ib_listen(struct gda_ib_listener *listener)
{
	int ret;

	listener->source = gda_ib_port_open(listener, true, &listener->source_port);
	if (IS_ERR(listener->source))
		return PTR_ERR(listener->source);
	listener->id = gda_ib_port_open(listener, false, &listener->port);
	if (IS_ERR(listener->id)) {
		ret = PTR_ERR(listener->id);
		goto err_source;
	}
	ret = rdma_listen(listener->id, 0);
	if (!ret)
		return 0;
	rdma_destroy_id(listener->id);
err_source:
	rdma_destroy_id(listener->source);
	return ret;
}

static struct gda_ib_listener *gda_ib_listener_create(struct net *net)
{
	struct gda_ib_listener *listener = kzalloc(sizeof(*listener), GDA_GFP_USER);
	int ret;

	if (!listener)
		return ERR_PTR(-ENOMEM);
	listener->net = net;
	listener->users = 1;
	ret = gda_ib_listen(listener);
	if (!ret)
		return listener;
	kfree(listener);
	return ERR_PTR(ret);
}

static void gda_ib_listener_destroy(struct gda_ib_listener *listener)
{
	rdma_destroy_id(listener->id);
	rdma_destroy_id(listener->source);
	kfree(listener);
}

/* Return: the listener of @net, with one more user; or NULL. */
static struct gda_ib_listener *gda_ib_listener_find_locked(const struct net *net)
{
	struct gda_ib_listener *listener;

	lockdep_assert_held(&gda_ib_lock);
	list_for_each_entry(listener, &gda_ib_listeners, node) {
		if (!net_eq(listener->net, net))
			continue;
		listener->users++;
		return listener;
	}
	return NULL;
}

struct gda_ib_listener *gda_ib_listener_get(struct net *net)
{
	struct gda_ib_listener *found, *made;

	spin_lock(&gda_ib_lock);
	found = gda_ib_listener_find_locked(net);
	spin_unlock(&gda_ib_lock);
	if (found)
		return found;
	made = gda_ib_listener_create(net);
	if (IS_ERR(made))
		return made;
	spin_lock(&gda_ib_lock);
	found = gda_ib_listener_find_locked(net);
	if (!found)
		list_add(&made->node, &gda_ib_listeners);
	spin_unlock(&gda_ib_lock);
	if (!found)
		return made;
	gda_ib_listener_destroy(made);
	return found;
}

void gda_ib_listener_put(struct gda_ib_listener *listener)
{
	bool last;

	spin_lock(&gda_ib_lock);
	last = !--listener->users;
	if (last)
		list_del(&listener->node);
	spin_unlock(&gda_ib_lock);
	if (last)
		gda_ib_listener_destroy(listener);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts: each has a protection domain of the RDMA device, and the address at which the device is
 * reached in the net namespace of the process that bound the context.
 */
#include <linux/inetdevice.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "gda_ib.h"

static bool gda_ib_gid_is_of(const struct ib_gid_attr *attr, const struct net *net)
{
	const struct net_device *ndev;
	bool same;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	same = !IS_ERR(ndev) && net_eq(dev_net(ndev), net);
	rcu_read_unlock();
	return same;
}

/* Is the GID an IP address that others may connect to? */
static bool gda_ib_gid_is_ip(const struct ib_gid_attr *attr, bool v4)
{
	const struct in6_addr *ip = (const struct in6_addr *)attr->gid.raw;

	if (attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return false;
	if (v4)
		return ipv6_addr_v4mapped(ip);
	return !ipv6_addr_v4mapped(ip) && !ipv6_addr_any(ip) &&
	       !(ipv6_addr_type(ip) & IPV6_ADDR_LINKLOCAL);
}

static bool gda_ib_find_ip(struct gda_ib_ctx *ctx, const struct net *net, bool v4)
{
	struct ib_device *ibdev = ctx->ib->ibdev;
	u32 port = rdma_start_port(ibdev);
	bool found = false;
	int i;

	for (i = 0; !found && i < ibdev->port_data[port].immutable.gid_tbl_len; i++) {
		const struct ib_gid_attr *attr = rdma_get_gid_attr(ibdev, port, i);

		if (IS_ERR(attr))
			continue;
		found = gda_ib_gid_is_ip(attr, v4) && gda_ib_gid_is_of(attr, net);
		if (found)
			memcpy(ctx->ip, attr->gid.raw, sizeof(ctx->ip));
		rdma_put_gid_attr(attr);
	}
	return found;
}

static int gda_ib_ctx_open(struct gda_ib_ctx *ctx, struct net *net)
{
	struct ib_pd *pd;
	int ret;

	if (!rdma_dev_access_netns(ctx->ib->ibdev, net))
		return -ENOENT;
	if (!gda_ib_find_ip(ctx, net, true) && !gda_ib_find_ip(ctx, net, false))
		return -EADDRNOTAVAIL;
	ctx->listener = gda_ib_listener_get(net);
	if (IS_ERR(ctx->listener))
		return PTR_ERR(ctx->listener);
	pd = ib_alloc_pd(ctx->ib->ibdev, 0);
	if (IS_ERR(pd)) {
		ret = PTR_ERR(pd);
		gda_ib_listener_put(ctx->listener);
		return ret;
	}
	ctx->pd = pd;
	return 0;
}

int gda_ib_bind(struct gda_executor_ctx *exec)
{
	struct gda_ib *ib = gda_ib_of(exec->dev);
	struct gda_ib_ctx *ctx;
	int ret;

	ctx = kzalloc(sizeof(*ctx), GDA_GFP_USER);
	if (!ctx)
		return -ENOMEM;
	ctx->ib = ib;
	ratelimit_state_init(&ctx->probes, HZ, GDA_IB_PROBES);
	/* the ratelimit does not write to the log */
	ratelimit_set_flags(&ctx->probes, RATELIMIT_MSG_ON_RELEASE);
	ret = -ENODEV;
	if (!gda_ib_enter(ib))
		goto err_free;
	ret = gda_ib_ctx_open(ctx, current->nsproxy->net_ns);
	if (!ret) {
		spin_lock(&ib->lock);
		list_add(&ctx->node, &ib->ctxs);
		spin_unlock(&ib->lock);
	}
	gda_ib_exit(ib);
	if (ret)
		goto err_free;
	exec->priv = ctx;
	return 0;

err_free:
	kfree(ctx);
	return ret;
}

static void gda_ib_ctx_close(struct gda_ib_ctx *ctx)
{
	spin_lock(&ctx->ib->lock);
	list_del(&ctx->node);
	spin_unlock(&ctx->ib->lock);
	ib_dealloc_pd(ctx->pd);
	ctx->pd = NULL;
}

void gda_ib_unbind(struct gda_executor_ctx *exec)
{
	struct gda_ib_ctx *ctx = exec->priv;

	if (gda_ib_enter_free(ctx->ib)) {
		gda_ib_ctx_close(ctx);
		gda_ib_exit(ctx->ib);
	}
	gda_ib_listener_put(ctx->listener);
	kfree(ctx);
}

/* Called by removal, when no call is under way. */
void gda_ib_ctxs_free(struct gda_ib *ib)
{
	struct gda_ib_ctx *ctx, *next;

	list_for_each_entry_safe(ctx, next, &ib->ctxs, node)
		gda_ib_ctx_close(ctx);
}

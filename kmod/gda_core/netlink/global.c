// SPDX-License-Identifier: GPL-2.0
/*
 * Devices, contexts, counts of live objects and limits, as netlink shows and sets them.
 */
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "nl.h"

#define GDA_NL_IDLE_US_MAX	USEC_PER_SEC

struct gda_limits gda_limits = {
	.max_contexts = 256,
	.max_objects = 1 << 20,
	.max_executor_qps = 4096,
	.idle_us = 1000,
};

/* Read-only: once the module is loaded, the limits are set by netlink, which needs a capability. */
module_param_named(max_contexts, gda_limits.max_contexts, uint, 0444);
MODULE_PARM_DESC(max_contexts, "bound contexts of one user, or of one user namespace");
module_param_named(max_objects, gda_limits.max_objects, uint, 0444);
MODULE_PARM_DESC(max_objects, "objects of one user, or of one user namespace, in all contexts");
module_param_named(max_executor_qps, gda_limits.max_executor_qps, uint, 0444);
MODULE_PARM_DESC(max_executor_qps,
		 "QPs of RDMA devices of one user, or of one user namespace, in all contexts");
module_param_named(idle_us, gda_limits.idle_us, uint, 0444);
MODULE_PARM_DESC(idle_us, "silence in microseconds after which a doorbell page is unmapped");

/* --- devices --- */

struct gda_nl_device {
	u32 id;
	struct gda_query query;
};

static int gda_nl_fill_device(struct sk_buff *msg, const void *arg)
{
	const struct gda_nl_device *dev = arg;
	const struct gda_query *q = &dev->query;

	if (nla_put_u32(msg, GDA_A_DEVICE_ID, dev->id) ||
	    nla_put_string(msg, GDA_A_DEVICE_NAME, q->device) ||
	    nla_put_u64_64bit(msg, GDA_A_DEVICE_FEATURES, q->features[0], GDA_A_DEVICE_PAD) ||
	    nla_put_u32(msg, GDA_A_DEVICE_MAX_QP, q->max_qp) ||
	    nla_put_u32(msg, GDA_A_DEVICE_MAX_CQ, q->max_cq) ||
	    nla_put_u32(msg, GDA_A_DEVICE_MAX_MR, q->max_mr) ||
	    nla_put_u32(msg, GDA_A_DEVICE_MAX_COUNTER, q->max_counter) ||
	    nla_put_u32(msg, GDA_A_DEVICE_MAX_SQ_DEPTH, q->max_sq_depth) ||
	    nla_put_u32(msg, GDA_A_DEVICE_MAX_CQ_DEPTH, q->max_cq_depth) ||
	    nla_put_u32(msg, GDA_A_DEVICE_MAX_SGE, q->max_sge) ||
	    nla_put_u32(msg, GDA_A_DEVICE_MAX_INLINE, q->max_inline) ||
	    nla_put_u32(msg, GDA_A_DEVICE_MAX_MSG, q->max_msg) ||
	    nla_put_u64_64bit(msg, GDA_A_DEVICE_MAX_MR_SIZE, q->max_mr_size, GDA_A_DEVICE_PAD))
		return -EMSGSIZE;
	return 0;
}

static bool gda_nl_is_device(const struct gda_nl_device *dev, struct nlattr **attrs)
{
	const struct nlattr *id = attrs[GDA_A_DEVICE_ID], *name = attrs[GDA_A_DEVICE_NAME];

	return (!id || nla_get_u32(id) == dev->id) &&
	       (!name || !nla_strcmp(name, dev->query.device));
}

int gda_nl_device_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct gda_nl_device dev = { };

	if (!info->attrs[GDA_A_DEVICE_ID] && GENL_REQ_ATTR_CHECK(info, GDA_A_DEVICE_NAME))
		return -EINVAL;
	while (!gda_device_next(&dev.id, &dev.query))
		if (gda_nl_is_device(&dev, info->attrs))
			return gda_nl_reply(info, GDA_CMD_DEVICE_GET, gda_nl_fill_device, &dev);
	GENL_SET_ERR_MSG(info, "no such device");
	return -ENOENT;
}

/*
 * Return: the generation of the devices, another number if a device came or went: ids are never
 * used again.
 */
static u32 gda_nl_device_generation(void)
{
	struct gda_nl_device dev = { };
	u32 sum = 0;

	while (!gda_device_next(&dev.id, &dev.query))
		sum += dev.id * 0x9e3779b1U;
	return sum ?: 1;
}

int gda_nl_device_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct gda_nl_device dev = { .id = cb->args[0] };
	void *header;

	cb->seq = gda_nl_device_generation();
	while (!gda_device_next(&dev.id, &dev.query)) {
		header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				     &gda_nl_family, NLM_F_MULTI, GDA_CMD_DEVICE_GET);
		if (!header)
			break;
		genl_dump_check_consistent(cb, header);
		if (gda_nl_fill_device(skb, &dev)) {
			genlmsg_cancel(skb, header);
			break;
		}
		genlmsg_end(skb, header);
		cb->args[0] = dev.id;
	}
	cb->seq = gda_nl_device_generation();
	return skb->len;
}

/* --- contexts --- */

/* Under gda_read_lock(); the context holds a reference on the task. */
static int gda_nl_put_worker(struct sk_buff *msg, const struct gda_ctx *ctx)
{
	const struct gda_worker *worker = &ctx->worker;
	const struct task_struct *task = READ_ONCE(worker->task);
	bool stopped = !task || READ_ONCE(worker->stopped);
	u32 state = stopped ? GDA_WORKER_STATE_NONE : READ_ONCE(worker->state);

	if (nla_put_u32(msg, GDA_A_CONTEXT_WORKER_STATE, state) ||
	    (!stopped && !READ_ONCE(task->__state) &&
	     nla_put_flag(msg, GDA_A_CONTEXT_WORKER_RUNNABLE)) ||
	    nla_put_u64_64bit(msg, GDA_A_CONTEXT_WORKER_RUNTIME,
			      task ? READ_ONCE(task->se.sum_exec_runtime) : 0,
			      GDA_A_CONTEXT_PAD) ||
	    nla_put_u64_64bit(msg, GDA_A_CONTEXT_WORKER_SLEEPS, READ_ONCE(worker->sleeps),
			      GDA_A_CONTEXT_PAD) ||
	    nla_put_u64_64bit(msg, GDA_A_CONTEXT_WORKER_WAKEUPS, READ_ONCE(worker->wakeups),
			      GDA_A_CONTEXT_PAD) ||
	    nla_put_u64_64bit(msg, GDA_A_CONTEXT_WORKER_LAST_PASS, READ_ONCE(worker->last_pass),
			      GDA_A_CONTEXT_PAD) ||
	    nla_put_u64_64bit(msg, GDA_A_CONTEXT_FAULT_VISITS, READ_ONCE(ctx->policy.served),
			      GDA_A_CONTEXT_PAD))
		return -EMSGSIZE;
	return 0;
}

/* exec.dev is set as long as the context is listed; ctx->dev is set later. */
static int gda_nl_fill_context(struct sk_buff *msg, const struct gda_ctx *ctx)
{
	if (nla_put_u32(msg, GDA_A_CONTEXT_ID, ctx->id) ||
	    nla_put_string(msg, GDA_A_CONTEXT_DEVICE, READ_ONCE(ctx->exec.dev->name)) ||
	    gda_nl_put_opener(msg, &ctx->opener, GDA_A_CONTEXT_PID, GDA_A_CONTEXT_UID) ||
	    nla_put_string(msg, GDA_A_CONTEXT_COMM, ctx->opener.comm) ||
	    (READ_ONCE(ctx->dead) && nla_put_flag(msg, GDA_A_CONTEXT_DEAD)) ||
	    nla_put_u32(msg, GDA_A_CONTEXT_QPS, READ_ONCE(ctx->nqp)) ||
	    nla_put_u32(msg, GDA_A_CONTEXT_CQS, READ_ONCE(ctx->ncq)) ||
	    nla_put_u32(msg, GDA_A_CONTEXT_MRS, READ_ONCE(ctx->nmr)) ||
	    nla_put_u32(msg, GDA_A_CONTEXT_COUNTERS, READ_ONCE(ctx->ncounter)))
		return -EMSGSIZE;
	return gda_nl_put_worker(msg, ctx);
}

struct gda_nl_context_arg {
	struct genl_info *info;
	const struct gda_nl_reader *reader;
};

static int gda_nl_find_context(struct sk_buff *msg, const void *arg)
{
	const struct gda_nl_context_arg *a = arg;
	u32 id = nla_get_u32(a->info->attrs[GDA_A_CONTEXT_ID]);
	int idx = gda_read_lock();
	const struct gda_ctx *ctx = xa_load(&gda_contexts, id);
	int ret = -ENOENT;

	if (ctx && gda_nl_may_see(a->reader, &ctx->opener))
		ret = gda_nl_fill_context(msg, ctx);
	else
		GENL_SET_ERR_MSG(a->info, "no such context, or it is another user's");
	gda_read_unlock(idx);
	return ret;
}

int gda_nl_context_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct gda_nl_reader reader;
	const struct gda_nl_context_arg arg = { info, &reader };

	if (GENL_REQ_ATTR_CHECK(info, GDA_A_CONTEXT_ID))
		return -EINVAL;
	gda_nl_reader_init(&reader, skb);
	return gda_nl_reply(info, GDA_CMD_CONTEXT_GET, gda_nl_find_context, &arg);
}

int gda_nl_context_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return gda_nl_dump_contexts(skb, cb, GDA_CMD_CONTEXT_GET, gda_nl_fill_context);
}

/* --- counts of live objects --- */

static int gda_nl_fill_stats(struct sk_buff *msg, const void *unused)
{
	static const u8 attrs[GDA_STATS] = {
		[GDA_STAT_CONTEXTS] = GDA_A_STATS_CONTEXTS,
		[GDA_STAT_QPS] = GDA_A_STATS_QPS,
		[GDA_STAT_CQS] = GDA_A_STATS_CQS,
		[GDA_STAT_COUNTERS] = GDA_A_STATS_COUNTERS,
		[GDA_STAT_MRS] = GDA_A_STATS_MRS,
		[GDA_STAT_REGIONS] = GDA_A_STATS_REGIONS,
		[GDA_STAT_PAGES] = GDA_A_STATS_PAGES,
		[GDA_STAT_KEYS] = GDA_A_STATS_KEYS,
	};
	int i;

	for (i = 0; i < GDA_STATS; i++)
		if (nla_put_u64_64bit(msg, attrs[i], gda_stat_read(i), GDA_A_STATS_PAD))
			return -EMSGSIZE;
	return 0;
}

int gda_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return gda_nl_reply(info, GDA_CMD_STATS_GET, gda_nl_fill_stats, NULL);
}

/* --- limits --- */

static int gda_nl_fill_limits(struct sk_buff *msg, const void *unused)
{
	if (nla_put_u32(msg, GDA_A_LIMITS_MAX_CONTEXTS, READ_ONCE(gda_limits.max_contexts)) ||
	    nla_put_u32(msg, GDA_A_LIMITS_MAX_OBJECTS, READ_ONCE(gda_limits.max_objects)) ||
	    nla_put_u32(msg, GDA_A_LIMITS_IDLE_US, READ_ONCE(gda_limits.idle_us)) ||
	    nla_put_u32(msg, GDA_A_LIMITS_MAX_EXECUTOR_QPS,
			READ_ONCE(gda_limits.max_executor_qps)))
		return -EMSGSIZE;
	return 0;
}

int gda_nl_limits_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return gda_nl_reply(info, GDA_CMD_LIMITS_GET, gda_nl_fill_limits, NULL);
}

/* A new limit takes effect when it is next read. */
static void gda_nl_set_limit(unsigned int *limit, const struct nlattr *value)
{
	if (value)
		WRITE_ONCE(*limit, nla_get_u32(value));
}

int gda_nl_limits_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *idle = info->attrs[GDA_A_LIMITS_IDLE_US];

	if (idle && nla_get_u32(idle) > GDA_NL_IDLE_US_MAX) {
		NL_SET_ERR_MSG_ATTR(info->extack, idle, "more than a second");
		return -ERANGE;
	}
	gda_nl_set_limit(&gda_limits.max_contexts, info->attrs[GDA_A_LIMITS_MAX_CONTEXTS]);
	gda_nl_set_limit(&gda_limits.max_objects, info->attrs[GDA_A_LIMITS_MAX_OBJECTS]);
	gda_nl_set_limit(&gda_limits.max_executor_qps,
			 info->attrs[GDA_A_LIMITS_MAX_EXECUTOR_QPS]);
	gda_nl_set_limit(&gda_limits.idle_us, idle);
	return 0;
}

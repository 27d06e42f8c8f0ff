// SPDX-License-Identifier: GPL-2.0
/*
 * Dumps of contexts and of what they have, in ascending order of (context, handle).
 *
 * Between two messages of a dump nothing is held: the dump goes on after the last place. So what
 * exists throughout is shown exactly once; what was created or destroyed meanwhile may be shown or
 * not, and then cb->seq, a generation, has changed, and messages say NLM_F_DUMP_INTR.
 *
 * Contexts and objects are looked at under gda_srcu, GDA_NL_BATCH at a time, since a task that
 * destroys something waits for readers, and a reader is not preempted.
 */
#include <linux/sched/signal.h>

#include "nl.h"

/* Kept in cb->ctx from one part of a dump to the next: the place to look at next. */
struct gda_nl_dump {
	struct gda_nl_asker asker;
	u32 context;
	u32 handle;
	u32 last;			/* the last context to look at */
	bool begun;
};

static_assert(sizeof(struct gda_nl_dump) <= sizeof_field(struct netlink_callback, ctx));
/* The requests of all objects have the same layout. */
static_assert(GDA_A_QP_CONTEXT == 1 && GDA_A_CQ_CONTEXT == 1 && GDA_A_MR_CONTEXT == 1 &&
	      GDA_A_COUNTER_CONTEXT == 1);
static_assert(GDA_A_QP_HANDLE == 2 && GDA_A_CQ_HANDLE == 2 && GDA_A_MR_HANDLE == 2 &&
	      GDA_A_COUNTER_HANDLE == 2);

static struct gda_nl_dump *gda_nl_dump_begin(struct netlink_callback *cb,
					     struct gda_nl_reader *reader,
					     const struct nlattr *context)
{
	struct gda_nl_dump *dump = (struct gda_nl_dump *)cb->ctx;

	gda_nl_reader_of_dump(reader, cb->skb, &dump->asker);
	if (!dump->begun) {
		dump->begun = true;
		dump->context = context ? nla_get_u32(context) : 0;
		dump->last = context ? dump->context : U32_MAX;
	}
	return dump;
}

/*
 * Return: the generation of what @reader sees of the contexts from @first to @last, another number
 * if one of them or of their objects was created or destroyed. Never 0.
 */
static u32 gda_nl_generation(const struct gda_nl_reader *reader, u32 first, u32 last)
{
	unsigned long id = first;
	struct gda_ctx *ctx;
	u32 sum = 0;

	do {
		unsigned int n;
		int idx = gda_read_lock();

		for (n = 0; n < GDA_NL_BATCH; n++, id++) {
			ctx = xa_find(&gda_contexts, &id, last, XA_PRESENT);
			if (!ctx)
				break;
			if (gda_nl_may_see(reader, &ctx->opener))
				sum += (u32)id * 0x9e3779b1U + atomic_read(&ctx->generation);
		}
		gda_read_unlock(idx);
		cond_resched();
	} while (ctx);
	return sum ?: 1;
}

/* Begin a message and note its place. -EMSGSIZE: this part of the dump has no room for it. */
static void *gda_nl_dump_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	void *header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				   &gda_nl_family, NLM_F_MULTI, cmd);

	if (header)
		genl_dump_check_consistent(cb, header);
	return header;
}

static int gda_nl_dump_object(struct sk_buff *skb, struct netlink_callback *cb,
			      const struct gda_nl_kind *kind, const struct gda_nl_reader *reader,
			      const struct gda_object *obj)
{
	void *header = gda_nl_dump_put(skb, cb, kind->cmd);

	if (!header)
		return -EMSGSIZE;
	if (kind->fill(skb, reader, obj)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

static bool gda_nl_is(const struct gda_object *obj, const struct gda_nl_kind *kind)
{
	/* pairs with smp_store_release in gda_object_publish() */
	return obj->type == kind->type && smp_load_acquire(&obj->published);
}

/* Return: the first context at or after @dump, or NULL. */
static struct gda_ctx *gda_nl_dump_context(struct gda_nl_dump *dump)
{
	unsigned long id = dump->context;
	struct gda_ctx *ctx = xa_find(&gda_contexts, &id, dump->last, XA_PRESENT);

	if (id != dump->context)
		dump->handle = 0;
	dump->context = id;
	return ctx;
}

/* Look at one thing. Return: 1 go on; 0 there is no more; -EMSGSIZE. */
static int gda_nl_dump_step(struct sk_buff *skb, struct netlink_callback *cb,
			    const struct gda_nl_kind *kind, const struct gda_nl_reader *reader,
			    struct gda_nl_dump *dump)
{
	struct gda_ctx *ctx = gda_nl_dump_context(dump);
	struct gda_object *obj = NULL;
	unsigned long handle = dump->handle;
	int ret;

	if (!ctx)
		return 0;
	if (gda_nl_may_see(reader, &ctx->opener) && !READ_ONCE(ctx->closed))
		obj = xa_find(&ctx->objects, &handle, ULONG_MAX, kind->filter);
	if (!obj) {
		dump->handle = 0;
		return dump->context++ < dump->last;
	}
	dump->handle = handle;
	if (gda_nl_is(obj, kind)) {
		ret = gda_nl_dump_object(skb, cb, kind, reader, obj);
		if (ret)
			return ret;
	}
	dump->handle++;
	return 1;
}

/* Also called at the end of the dump, to show what was created since its last message. */
static int gda_nl_dump_end(struct sk_buff *skb, struct netlink_callback *cb, u32 generation,
			   int ret)
{
	cb->seq = generation;
	return ret && !skb->len ? ret : skb->len;
}

int gda_nl_dump_objects(struct sk_buff *skb, struct netlink_callback *cb,
			const struct gda_nl_kind *kind)
{
	const struct nlattr *context = gda_dump_attrs(cb)[GDA_A_QP_CONTEXT];
	u32 first = context ? nla_get_u32(context) : 0;
	struct gda_nl_reader reader;
	struct gda_nl_dump *dump;
	int ret;

	if (gda_dump_attrs(cb)[GDA_A_QP_HANDLE])
		return -EINVAL;
	dump = gda_nl_dump_begin(cb, &reader, context);
	cb->seq = gda_nl_generation(&reader, first, dump->last);
	do {
		unsigned int n;
		int idx = gda_read_lock();

		for (n = 0, ret = 1; n < GDA_NL_BATCH && ret > 0; n++)
			ret = gda_nl_dump_step(skb, cb, kind, &reader, dump);
		gda_read_unlock(idx);
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	} while (ret > 0);
	return gda_nl_dump_end(skb, cb, gda_nl_generation(&reader, first, dump->last), ret);
}

/* As gda_nl_dump_step(), of a context. */
static int gda_nl_dump_context_step(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
				    const struct gda_nl_reader *reader, struct gda_nl_dump *dump,
				    int (*fill)(struct sk_buff *msg, const struct gda_ctx *ctx))
{
	struct gda_ctx *ctx = gda_nl_dump_context(dump);
	void *header;

	if (!ctx)
		return 0;
	if (gda_nl_may_see(reader, &ctx->opener)) {
		header = gda_nl_dump_put(skb, cb, cmd);
		if (!header)
			return -EMSGSIZE;
		if (fill(skb, ctx)) {
			genlmsg_cancel(skb, header);
			return -EMSGSIZE;
		}
		genlmsg_end(skb, header);
	}
	return dump->context++ < dump->last;
}

int gda_nl_dump_contexts(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
			 int (*fill)(struct sk_buff *msg, const struct gda_ctx *ctx))
{
	struct gda_nl_reader reader;
	struct gda_nl_dump *dump = gda_nl_dump_begin(cb, &reader, NULL);
	int ret;

	cb->seq = gda_nl_generation(&reader, 0, dump->last);
	do {
		unsigned int n;
		int idx = gda_read_lock();

		for (n = 0, ret = 1; n < GDA_NL_BATCH && ret > 0; n++)
			ret = gda_nl_dump_context_step(skb, cb, cmd, &reader, dump, fill);
		gda_read_unlock(idx);
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	} while (ret > 0);
	return gda_nl_dump_end(skb, cb, gda_nl_generation(&reader, 0, dump->last), ret);
}

struct gda_ctx *gda_nl_find_live(const struct gda_nl_reader *reader, u32 id)
{
	struct gda_ctx *ctx = xa_load(&gda_contexts, id);

	return ctx && gda_nl_may_see(reader, &ctx->opener) && !READ_ONCE(ctx->closed) ? ctx :
											 NULL;
}

/* Under gda_read_lock(). */
static const struct gda_object *gda_nl_find(struct genl_info *info,
					    const struct gda_nl_reader *reader,
					    const struct gda_nl_kind *kind)
{
	struct gda_ctx *ctx = xa_load(&gda_contexts,
				      nla_get_u32(info->attrs[GDA_A_QP_CONTEXT]));
	struct gda_object *obj;

	if (!ctx || !gda_nl_may_see(reader, &ctx->opener)) {
		GENL_SET_ERR_MSG(info, "no such context, or it is another user's");
		return NULL;
	}
	obj = READ_ONCE(ctx->closed) ? NULL :
	      xa_load(&ctx->objects, nla_get_u32(info->attrs[GDA_A_QP_HANDLE]));
	if (!obj || !gda_nl_is(obj, kind)) {
		GENL_SET_ERR_MSG(info, "the context has no such object");
		return NULL;
	}
	return obj;
}

struct gda_nl_object_arg {
	struct genl_info *info;
	const struct gda_nl_kind *kind;
	const struct gda_nl_reader *reader;
};

static int gda_nl_fill_object(struct sk_buff *msg, const void *arg)
{
	const struct gda_nl_object_arg *a = arg;
	const struct gda_object *obj;
	int idx = gda_read_lock();
	int ret = -ENOENT;

	obj = gda_nl_find(a->info, a->reader, a->kind);
	if (obj)
		ret = a->kind->fill(msg, a->reader, obj);
	gda_read_unlock(idx);
	return ret;
}

int gda_nl_get_object(struct sk_buff *skb, struct genl_info *info,
		      const struct gda_nl_kind *kind)
{
	struct gda_nl_reader reader;
	const struct gda_nl_object_arg arg = { info, kind, &reader };

	if (GENL_REQ_ATTR_CHECK(info, GDA_A_QP_CONTEXT) ||
	    GENL_REQ_ATTR_CHECK(info, GDA_A_QP_HANDLE))
		return -EINVAL;
	gda_nl_reader_init(&reader, skb);
	reader.one = true;
	return gda_nl_reply(info, kind->cmd, gda_nl_fill_object, &arg);
}

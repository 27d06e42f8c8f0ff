// SPDX-License-Identifier: GPL-2.0
/*
 * The flight records of contexts (record.c), and of contexts that are gone (dead.c), as netlink
 * shows them and switches them on.
 */
#include <linux/sched/signal.h>

#include "nl.h"

/* Of one dump. */
#define GDA_NL_RECORDS	4096U

#define GDA_NL_RECORD_U64(msg, attr, value)	\
	nla_put_u64_64bit(msg, GDA_A_RECORD_##attr, value, GDA_A_RECORD_PAD)

/* In cb->ctx. */
struct gda_nl_record_dump {
	struct gda_nl_asker asker;
	u64 next;			/* position in the ring */
	u64 end;			/* later positions were written after the dump began */
	u32 records;			/* size of the ring when the dump began */
	bool begun;
	bool told;			/* the first message was put */
};

static_assert(sizeof(struct gda_nl_record_dump) <= sizeof_field(struct netlink_callback, ctx));

/* Under gda_read_lock(). */
static struct gda_record_ring *gda_nl_ring(struct gda_ctx *ctx)
{
	/* pairs with the release of a ring that is complete */
	struct gda_record_ring *ring = smp_load_acquire(&ctx->record.work);

	return ring ?: &ctx->record.control;
}

static int gda_nl_fill_ring(struct sk_buff *msg, struct gda_ctx *ctx)
{
	/* pairs as above */
	const struct gda_record_ring *work = smp_load_acquire(&ctx->record.work);

	if (nla_put_u32(msg, GDA_A_RECORD_CONTEXT, ctx->id) ||
	    nla_put_u32(msg, GDA_A_RECORD_RECORDS, work ? work->mask + 1 : 0))
		return -EMSGSIZE;
	return 0;
}

struct gda_nl_record_arg {
	struct genl_info *info;
	const struct gda_nl_reader *reader;
};

static int gda_nl_fill_record(struct sk_buff *msg, const void *arg)
{
	const struct gda_nl_record_arg *a = arg;
	u32 id = nla_get_u32(a->info->attrs[GDA_A_RECORD_CONTEXT]);
	int idx = gda_read_lock();
	struct gda_ctx *ctx = gda_nl_find_live(a->reader, id);
	int ret = ctx ? gda_nl_fill_ring(msg, ctx) : -ENOENT;

	gda_read_unlock(idx);
	return ret;
}

int gda_nl_record_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct gda_nl_reader reader;
	const struct gda_nl_record_arg arg = { info, &reader };

	if (GENL_REQ_ATTR_CHECK(info, GDA_A_RECORD_CONTEXT))
		return -EINVAL;
	gda_nl_reader_init(&reader, skb);
	return gda_nl_reply(info, GDA_CMD_RECORD_GET, gda_nl_fill_record, &arg);
}

static void *gda_nl_record_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	void *header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				   &gda_nl_family, NLM_F_MULTI, cmd);

	if (header)
		genl_dump_check_consistent(cb, header);
	return header;
}

static int gda_nl_record_end(struct sk_buff *skb, void *header, int ret)
{
	if (ret)
		genlmsg_cancel(skb, header);
	else
		genlmsg_end(skb, header);
	return ret;
}

static int gda_nl_put_record(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
			     const struct gda_record *r)
{
	void *header = gda_nl_record_put(skb, cb, cmd);

	if (!header)
		return -EMSGSIZE;
	return gda_nl_record_end(skb, header,
				 nla_put(skb, GDA_A_RECORD_ENTRY, sizeof(*r), r));
}

static void gda_nl_record_begin(struct gda_nl_record_dump *dump,
				const struct gda_record_ring *ring)
{
	u32 most = min(ring->mask + 1, GDA_NL_RECORDS);

	dump->records = ring->mask + 1;
	dump->end = READ_ONCE(ring->next);
	dump->next = dump->end > most ? dump->end - most : 0;
}

/* Put one record, or the first message. Return: 1 go on; 0 there is no more; -EMSGSIZE. */
static int gda_nl_record_step(struct sk_buff *skb, struct netlink_callback *cb,
			      struct gda_nl_record_dump *dump, struct gda_ctx *ctx,
			      const struct gda_record_ring *ring)
{
	struct gda_record r;
	void *header;
	int ret;

	if (!dump->told) {
		header = gda_nl_record_put(skb, cb, GDA_CMD_RECORD_GET);
		ret = header ? gda_nl_record_end(skb, header, gda_nl_fill_ring(skb, ctx)) :
			       -EMSGSIZE;
		dump->told = !ret;
		return ret ?: 1;
	}
	if (dump->next == dump->end)
		return 0;
	/* a record that was lapped is left out, and seq shows the gap */
	if (gda_record_read(ring->records, ring->mask, dump->next, &r) == 1) {
		ret = gda_nl_put_record(skb, cb, GDA_CMD_RECORD_GET, &r);
		if (ret)
			return ret;
	}
	dump->next++;
	return 1;
}

/* Put up to GDA_NL_BATCH records. Under gda_read_lock(). */
static int gda_nl_record_batch(struct sk_buff *skb, struct netlink_callback *cb,
			       const struct gda_nl_reader *reader,
			       struct gda_nl_record_dump *dump, u32 id)
{
	struct gda_ctx *ctx = gda_nl_find_live(reader, id);
	const struct gda_record_ring *ring;
	unsigned int n;
	int ret = 1;

	if (!ctx)
		return dump->told ? 0 : -ENOENT;
	ring = gda_nl_ring(ctx);
	if (!dump->begun)
		gda_nl_record_begin(dump, ring);
	dump->begun = true;
	/* this is another ring, whose positions mean something else */
	if (dump->records != ring->mask + 1) {
		cb->seq++;
		return 0;
	}
	for (n = 0; n < GDA_NL_BATCH && ret > 0; n++)
		ret = gda_nl_record_step(skb, cb, dump, ctx, ring);
	return ret;
}

int gda_nl_record_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct gda_nl_record_dump *dump = (struct gda_nl_record_dump *)cb->ctx;
	const struct nlattr *context = gda_dump_attrs(cb)[GDA_A_RECORD_CONTEXT];
	struct gda_nl_reader reader;
	int ret;

	if (!context)
		return -EINVAL;
	gda_nl_reader_of_dump(&reader, cb->skb, &dump->asker);
	cb->seq = 1;
	do {
		int idx = gda_read_lock();

		ret = gda_nl_record_batch(skb, cb, &reader, dump, nla_get_u32(context));
		gda_read_unlock(idx);
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	} while (ret > 0);
	return ret && !skb->len ? ret : skb->len;
}

/*
 * Find a context and lock it without waiting: its owner may be in a call, stopped by its CPU limit.
 * A close of the context waits for the lock, so it stays until gda_nl_ctx_unlock().
 */
static struct gda_ctx *gda_nl_ctx_lock(u32 id)
{
	int idx = gda_read_lock();
	struct gda_ctx *ctx = xa_load(&gda_contexts, id);

	if (!ctx)
		ctx = ERR_PTR(-ENOENT);
	else if (!mutex_trylock(&ctx->lock))
		ctx = ERR_PTR(-EBUSY);
	gda_read_unlock(idx);
	return ctx;
}

/* A close of the context that gets the lock now waits for readers before the context is freed. */
static void gda_nl_ctx_unlock(struct gda_ctx *ctx)
{
	int idx = gda_read_lock();

	mutex_unlock(&ctx->lock);
	gda_read_unlock(idx);
}

int gda_nl_record_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct gda_ctx *ctx;
	u32 records;
	int ret;

	if (GENL_REQ_ATTR_CHECK(info, GDA_A_RECORD_CONTEXT) ||
	    GENL_REQ_ATTR_CHECK(info, GDA_A_RECORD_RECORDS))
		return -EINVAL;
	records = nla_get_u32(info->attrs[GDA_A_RECORD_RECORDS]);
	ctx = gda_nl_ctx_lock(nla_get_u32(info->attrs[GDA_A_RECORD_CONTEXT]));
	if (ctx == ERR_PTR(-EBUSY))
		GENL_SET_ERR_MSG(info, "the context is in a call: try again");
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	if (!ctx->dev || READ_ONCE(ctx->dead))
		ret = -ENODEV;
	else
		ret = gda_record_set_locked(ctx, &records);
	gda_nl_ctx_unlock(ctx);
	return ret;
}

/* --- contexts that are gone --- */

static int gda_nl_fill_dead(struct sk_buff *msg, const void *arg)
{
	const struct gda_dead *dead = arg;

	if (nla_put_u32(msg, GDA_A_RECORD_DEAD, dead->id) ||
	    nla_put_u32(msg, GDA_A_RECORD_CONTEXT, dead->ctx) ||
	    nla_put_string(msg, GDA_A_RECORD_DEVICE, dead->device) ||
	    gda_nl_put_opener(msg, &dead->opener, GDA_A_RECORD_PID, GDA_A_RECORD_UID) ||
	    GDA_NL_RECORD_U64(msg, TIME, dead->ns))
		return -EMSGSIZE;
	return 0;
}

static int gda_nl_fill_dead_qp(struct sk_buff *msg, const struct gda_dead_qp *qp)
{
	if (nla_put_u32(msg, GDA_A_RECORD_QPN, qp->qpn) ||
	    nla_put_u32(msg, GDA_A_RECORD_HANDLE, qp->handle) ||
	    nla_put_u32(msg, GDA_A_RECORD_STATE, qp->state) ||
	    nla_put_u32(msg, GDA_A_RECORD_CLASS, qp->first.class) ||
	    nla_put_u32(msg, GDA_A_RECORD_CAUSE, qp->first.cause) ||
	    GDA_NL_RECORD_U64(msg, ERROR_INDEX, qp->error_index) ||
	    GDA_NL_RECORD_U64(msg, PRODUCER, qp->producer) ||
	    GDA_NL_RECORD_U64(msg, CONSUMER, qp->consumer) ||
	    GDA_NL_RECORD_U64(msg, EXECUTED, qp->executed) ||
	    GDA_NL_RECORD_U64(msg, FLUSHED, qp->flushed) ||
	    GDA_NL_RECORD_U64(msg, BYTES, qp->bytes))
		return -EMSGSIZE;
	return 0;
}

/* Put the message at @at: first the context's, then those of its QPs, then its records. */
static int gda_nl_put_dead(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct gda_dead *dead, u32 at)
{
	void *header;
	int ret;

	if (at > dead->nqps)
		return gda_nl_put_record(skb, cb, GDA_CMD_DEAD_GET,
					 &dead->records[at - 1 - dead->nqps]);
	header = gda_nl_record_put(skb, cb, GDA_CMD_DEAD_GET);
	if (!header)
		return -EMSGSIZE;
	ret = at ? gda_nl_fill_dead_qp(skb, &dead->qps[at - 1]) : gda_nl_fill_dead(skb, dead);
	return gda_nl_record_end(skb, header, ret);
}

/* Return: the next entry from @id on that @reader may see, with a reference; or NULL. */
static struct gda_dead *gda_nl_next_dead(const struct gda_nl_reader *reader, u32 id)
{
	struct gda_dead *dead;

	for (id -= id > 0; (dead = gda_dead_get(id)); gda_dead_put(dead)) {
		if (gda_nl_may_see(reader, &dead->opener))
			return dead;
		id = dead->id;
	}
	return NULL;
}

int gda_nl_dead_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct gda_nl_reader reader;
	struct gda_dead *dead;
	int ret = -ENOENT;
	u32 id;

	if (GENL_REQ_ATTR_CHECK(info, GDA_A_RECORD_DEAD))
		return -EINVAL;
	gda_nl_reader_init(&reader, skb);
	id = nla_get_u32(info->attrs[GDA_A_RECORD_DEAD]);
	dead = gda_nl_next_dead(&reader, id);
	if (!dead)
		return ret;
	if (dead->id == id)
		ret = gda_nl_reply(info, GDA_CMD_DEAD_GET, gda_nl_fill_dead, dead);
	gda_dead_put(dead);
	return ret;
}

/* In cb->ctx. */
struct gda_nl_dead_dump {
	struct gda_nl_asker asker;
	u32 dead;			/* the next entry, from its message @at on */
	u32 at;
};

static_assert(sizeof(struct gda_nl_dead_dump) <= sizeof_field(struct netlink_callback, ctx));

/* Entries do not change, and none is inserted between two others. */
int gda_nl_dead_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct gda_nl_dead_dump *dump = (struct gda_nl_dead_dump *)cb->ctx;
	struct gda_nl_reader reader;
	struct gda_dead *dead;
	int ret = 0;

	gda_nl_reader_of_dump(&reader, cb->skb, &dump->asker);
	while (!ret && (dead = gda_nl_next_dead(&reader, dump->dead))) {
		if (dead->id != dump->dead)
			dump->at = 0;
		dump->dead = dead->id;
		while (!ret && dump->at < 1 + dead->nqps + dead->nrecords) {
			ret = gda_nl_put_dead(skb, cb, dead, dump->at);
			dump->at += !ret;
		}
		if (!ret) {
			dump->dead++;
			dump->at = 0;
		}
		gda_dead_put(dead);
		cond_resched();
	}
	return ret && !skb->len ? ret : skb->len;
}

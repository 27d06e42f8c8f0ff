// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Counts are copied to words in memory of the caller, and some operations are not counted: see
 * counter.h.
 *
 * Invariant: one thread at a time stores to the words of a counter, and each time the count as it
 * is then. So a word never goes back, though several queues share its counter.
 */
#include "access.h"
#include "counter.h"
#include "order.h"

static u64 gda_counter_count(const struct gda_engine_counter *c, u32 i)
{
	const u64 *count = i == GDA_COUNTER_ERRORS ? &c->mem->errors : &c->mem->value;

	/* pairs with the atomic addition: the effects of what was counted come before the store */
	return smp_load_acquire(count);
}

static bool gda_counter_changed(const struct gda_engine_counter *c, u32 i)
{
	return c->word[i].len && !READ_ONCE(c->lost[i]) &&
	       gda_counter_count(c, i) != READ_ONCE(c->stored[i]);
}

static bool gda_counter_any_changed(const struct gda_engine_counter *c)
{
	return c && (gda_counter_changed(c, GDA_COUNTER_VALUE) ||
		     gda_counter_changed(c, GDA_COUNTER_ERRORS));
}

static bool gda_counter_any_lost(const struct gda_engine_counter *c)
{
	return c && (READ_ONCE(c->lost[GDA_COUNTER_VALUE]) ||
		     READ_ONCE(c->lost[GDA_COUNTER_ERRORS]));
}

/* Return: the word, or NULL if the memory may no longer be used. */
static u64 *gda_counter_find(const struct gda_engine_qp *q, const struct gda_engine_counter *c,
			     u32 i)
{
	const struct gda_mem *mem = gda_host_mem(q, c->word[i].key);
	void *ptr;

	if (gda_access_check(mem, c->pd, &c->word[i], GDA_ACCESS_LOCAL_WRITE))
		return NULL;
	if (gda_host_span(mem, c->word[i].addr - mem->iova, sizeof(u64), &ptr) != sizeof(u64) ||
	    (uintptr_t)ptr % sizeof(u64))
		return NULL;
	return ptr;
}

static void gda_counter_store_word(const struct gda_engine_qp *q, struct gda_engine_counter *c,
				   u32 i)
{
	u64 count = gda_counter_count(c, i);
	u64 *word = gda_counter_find(q, c, i);

	if (!word) {
		WRITE_ONCE(c->lost[i], true);
		return;
	}
	gda_counter_put(c, word, count);
	WRITE_ONCE(c->stored[i], count);
}

/* Return: whether there was something to store. */
static bool gda_counter_store_one(struct gda_engine_qp *q, struct gda_engine_counter *c)
{
	u32 i;

	if (!gda_counter_any_changed(c))
		return false;
	if (gda_os_cmpxchg32(&c->storing, 0, 1))
		return true;
	WRITE_ONCE(q->storing, c);
	for (i = 0; i < GDA_COUNTER_WORDS; i++)
		if (gda_counter_changed(c, i))
			gda_counter_store_word(q, c, i);
	WRITE_ONCE(q->storing, NULL);
	/* pairs with the exchange of the next thread */
	smp_store_release(&c->storing, 0);
	return true;
}

/*
 * Shall the queue fail, because it counts in memory that was revoked? A queue that is to be
 * connected has to be so first: its creator does not expect an error before.
 */
static bool gda_counter_fails(const struct gda_engine_qp *q)
{
	if (likely(!gda_counter_any_lost(q->sent_counter) &&
		   !gda_counter_any_lost(q->recv_counter)))
		return false;
	return READ_ONCE(q->state) == GDA_QP_READY && !READ_ONCE(q->fail);
}

bool gda_counter_store(struct gda_engine_qp *q)
{
	bool stored = gda_counter_store_one(q, q->sent_counter);

	stored |= gda_counter_store_one(q, q->recv_counter);
	if (!gda_counter_fails(q))
		return stored;
	gda_host_fail(q, GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_QUEUE));
	return true;
}

bool gda_counter_pending(const struct gda_engine_qp *q)
{
	return gda_counter_any_changed(q->sent_counter) ||
	       gda_counter_any_changed(q->recv_counter) || gda_counter_fails(q);
}

u32 gda_counter_visit(struct gda_engine_qp *q, u32 wqes, u32 bytes)
{
	u32 n = q->order ? gda_order_visit(q, wqes, bytes) : q->dialect->visit(q, wqes, bytes);
	bool stored = gda_counter_store(q);

	return n ? n : stored;
}

bool gda_counter_fault(struct gda_engine_qp *q)
{
	struct gda_engine_counter *c = READ_ONCE(q->storing);
	u32 i;

	if (!c)
		return false;
	/* which of both words it was makes no difference to the queue */
	for (i = 0; i < GDA_COUNTER_WORDS; i++)
		WRITE_ONCE(c->lost[i], true);
	WRITE_ONCE(q->storing, NULL);
	/* pairs with the exchange of the next thread */
	smp_store_release(&c->storing, 0);
	gda_host_fail(q, GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_QUEUE));
	return true;
}

static u32 gda_counter_kind(u8 op)
{
	switch (op) {
	case GDA_OP_WRITE:
	case GDA_OP_WRITE_IMM:
		return GDA_COUNT_WRITE;
	case GDA_OP_READ:
		return GDA_COUNT_READ;
	default:
		return 0;
	}
}

void gda_counter_done(const struct gda_engine_qp *q)
{
	if (gda_counter_kind(q->work.op) & q->sent_counter->ops)
		gda_os_fetch_add64(&q->sent_counter->mem->value, 1);
}

void gda_counter_failed(const struct gda_engine_qp *q)
{
	struct gda_counter_mem *mem = q->sent_counter ? q->sent_counter->mem : q->sent;

	if (mem)
		gda_os_fetch_add64(&mem->errors, 1);
}

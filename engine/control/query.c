// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Queries of a queue. Each value is read once; the values are not a consistent snapshot. */
#include "counter.h"
#include "query.h"

static void gda_control_query_word(const struct gda_engine_counter *c, u32 i,
				   struct gda_counter_memory *out)
{
	memset(out, 0, sizeof(*out));
	if (!c)
		return;
	out->addr = c->word[i].addr;
	out->key = c->word[i].key;
}

void gda_control_query_qp(const struct gda_engine_qp *q, struct gda_qp_query *cmd)
{
	struct gda_status first;

	/* pairs with the engine's release: once the state is ERROR, the reason is set */
	cmd->state = smp_load_acquire(&q->state);
	first.class = READ_ONCE(q->first.class);
	first.cause = READ_ONCE(q->first.cause);
	cmd->syndrome = q->dialect->syndrome(first);
	cmd->vendor = first.cause;
	cmd->sq_depth = q->depth;
	cmd->sq_entry = q->dialect->slot_bytes;
	cmd->qkey = q->qkey;
	cmd->qpn = q->qpn;
	cmd->error_index = READ_ONCE(q->first_error);
	cmd->consumer = READ_ONCE(q->ci);
	cmd->producer = READ_ONCE(q->pi);
	cmd->executed = READ_ONCE(q->executed);
	cmd->flushed = READ_ONCE(q->flushed);
	cmd->bytes = READ_ONCE(q->bytes);
	gda_control_query_word(q->sent_counter, GDA_COUNTER_VALUE, &cmd->sent_value);
	gda_control_query_word(q->sent_counter, GDA_COUNTER_ERRORS, &cmd->sent_errors);
	gda_control_query_word(q->recv_counter, GDA_COUNTER_VALUE, &cmd->recv_value);
}

// SPDX-License-Identifier: MIT
/*
 * Token dispatch, as a mixture of experts does it: each token goes to the rank of its expert,
 * which works on it and puts it back where it belongs.
 *
 * How many tokens come from a rank is not known beforehand. So they are put one behind the
 * other into the sender's part of the inbox, with doorbells aggregated; then a signal of the
 * sender's own adds their number, plus one, so that none is news, too. It is a strong one:
 * who sees it sees all the tokens. On the way back each token has a signal that counts.
 */
#include <string.h>
#include "gin-ranks.h"

#define TOKENS	200U
#define BYTES	128U
#define ROUNDS	10U
#define WORDS	(BYTES / sizeof(uint32_t))

struct token {
	uint32_t from;		/* rank that it belongs to */
	uint32_t index;		/* and which of those */
	uint32_t data[WORDS - 2];
};

static uint32_t datum(uint32_t from, uint32_t index, uint32_t round, uint32_t i)
{
	return from * 1000003 + index * 10007 + round * 101 + i;
}

static uint32_t expert_of(uint32_t from, uint32_t index, uint32_t round, uint32_t nranks)
{
	return datum(from, index, round, 0) * 2654435761U % 97 % nranks;
}

/* Signals: one of each sender, then the one for tokens that come back. */
static uint32_t returned(const struct rank *r)
{
	return r->nranks;
}

/* The window: tokens, an inbox part for each sender, and the tokens that came back. */
static struct gda_gin_place token_at(const struct gda_window *w, uint32_t part, uint32_t index)
{
	return gda_at_element(w, 0, (uint64_t)part * TOKENS + index, BYTES);
}

static void dispatch(struct rank *r, const struct gda_window *w, uint32_t round)
{
	uint32_t sent[64] = { 0 }, i, k;

	for (i = 0; i < TOKENS; i++) {
		struct token *t = gda_at_local(token_at(w, 0, i));
		uint32_t expert = expert_of(r->rank, i, round, r->nranks);

		t->from = r->rank;
		t->index = i;
		for (k = 0; k < WORDS - 2; k++)
			t->data[k] = datum(r->rank, i, round, k);
		must(gda_gin_put(r->gin, expert, token_at(w, 1 + r->rank, sent[expert]++),
				 token_at(w, 0, i), BYTES, gda_gin_plain(GDA_DEFER)),
		     "gda_gin_put");
	}
	for (k = 0; k < r->nranks; k++)
		must(gda_gin_signal(r->gin, k, gda_gin_add(r->rank, sent[k] + 1, 0)),
		     "gda_gin_signal");
}

/* The expert's work, on all that came from @from, and the way back. */
static void work(struct rank *r, const struct gda_window *w, uint32_t from)
{
	uint32_t count, i, k;

	must(gda_gin_wait_signal(r->gin, from, 1, 64, 0), "gda_gin_wait_signal");
	count = (uint32_t)gda_gin_read_signal(r->gin, from, 64) - 1;
	gda_gin_reset_signal(r->gin, from);
	for (i = 0; i < count; i++) {
		struct gda_gin_place at = token_at(w, 1 + from, i);
		struct token *t = gda_at_local(at);

		for (k = 0; k < WORDS - 2; k++)
			t->data[k] = 3 * t->data[k] + r->rank;
		must(gda_gin_put(r->gin, from, token_at(w, 1 + r->nranks, t->index), at, BYTES,
				 gda_gin_inc(returned(r), GDA_GIN_WEAK)), "gda_gin_put");
	}
}

static bool is_right(const struct rank *r, const struct gda_window *w, uint32_t round)
{
	bool right = true;
	uint32_t i, k;

	for (i = 0; i < TOKENS; i++) {
		struct token *t = gda_at_local(token_at(w, 1 + r->nranks, i));
		uint32_t expert = expert_of(r->rank, i, round, r->nranks);

		right = right && t->from == r->rank && t->index == i;
		for (k = 0; k < WORDS - 2; k++)
			right = right && t->data[k] == 3 * datum(r->rank, i, round, k) + expert;
		memset(t, 0, BYTES);
	}
	return right;
}

static bool tokens(struct rank *r)
{
	struct gda_gin_barrier barrier;
	struct gda_window *w;
	bool right = true;
	uint32_t round, k;

	window_of(r, (size_t)(2 + r->nranks) * TOKENS * BYTES, &w);
	must(gda_gin_barrier_begin(&barrier, r->gin, gda_team_world(r->comm), 0), "barrier");
	for (round = 0; round < ROUNDS; round++) {
		dispatch(r, w, round);
		for (k = 0; k < r->nranks; k++)
			work(r, w, (r->rank + k) % r->nranks);
		must(gda_gin_wait_signal(r->gin, returned(r), (round + 1) * TOKENS, 64, 0),
		     "gda_gin_wait_signal");
		right = is_right(r, w, round) && right;
		must(gda_gin_flush(r->gin, 0), "gda_gin_flush");
		must(gda_gin_barrier_sync(&barrier, 0, 0), "gda_gin_barrier_sync");
	}
	gda_gin_barrier_end(&barrier);
	gda_window_deregister(w);
	return right;
}

int main(void)
{
	struct gda_gin_attr attr = {
		.size = sizeof(attr), .signals = 65, .barriers = 1, .timeout_ns = 10000000000,
	};

	return run_ranks("token dispatch", &attr, tokens);
}

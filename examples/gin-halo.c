// SPDX-License-Identifier: MIT
/*
 * Halo exchange: a ring of cells, each the sum of itself and its neighbours in every round.
 * A rank has a part of them and needs one cell of either neighbour, which that puts by value
 * with a signal: one for the left, one for the right. Two buffers take turns: who signals a
 * round has read the cells of the one before.
 */
#include <stdlib.h>
#include "gin-ranks.h"

#define CELLS	64U
#define ROUNDS	50U
#define ROW	(CELLS + 2)	/* with a cell of either neighbour */

enum { FROM_LEFT, FROM_RIGHT };

static uint64_t first(uint32_t i)
{
	return i * 2654435761U % 1000;
}

static void exchange(struct rank *r, const struct gda_window *w, const uint64_t *row,
		     uint32_t round)
{
	uint64_t at = (uint64_t)(round % 2) * ROW * sizeof(uint64_t);
	uint32_t right = (r->rank + 1) % r->nranks, left = (r->rank + r->nranks - 1) % r->nranks;

	must(gda_gin_put_value(r->gin, right, gda_at(w, at), row[CELLS], 8,
			       gda_gin_inc(FROM_LEFT, 0)), "gda_gin_put_value");
	must(gda_gin_put_value(r->gin, left, gda_at(w, at + (CELLS + 1) * sizeof(uint64_t)), row[1],
			       8, gda_gin_inc(FROM_RIGHT, 0)), "gda_gin_put_value");
	must(gda_gin_wait_signal(r->gin, FROM_LEFT, round + 1, 64, 0), "gda_gin_wait_signal");
	must(gda_gin_wait_signal(r->gin, FROM_RIGHT, round + 1, 64, 0), "gda_gin_wait_signal");
}

static bool is_right(const struct rank *r, const uint64_t *row)
{
	uint32_t all = CELLS * r->nranks, round, i;
	uint64_t *now = malloc(2 * all * sizeof(uint64_t)), *then = now + all;
	bool right = true;

	for (i = 0; i < all; i++)
		now[i] = first(i);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < all; i++)
			then[i] = now[(i + all - 1) % all] + now[i] + now[(i + 1) % all];
		for (i = 0; i < all; i++)
			now[i] = then[i];
	}
	for (i = 0; i < CELLS; i++)
		right = right && row[1 + i] == now[r->rank * CELLS + i];
	free(now);
	return right;
}

static bool halo(struct rank *r)
{
	struct gda_window *w;
	uint64_t *rows = window_of(r, 2 * ROW * sizeof(uint64_t), &w);
	uint32_t round, i;
	bool right;

	for (i = 0; i < CELLS; i++)
		rows[1 + i] = first(r->rank * CELLS + i);
	for (round = 0; round < ROUNDS; round++) {
		uint64_t *now = rows + (round % 2) * ROW, *then = rows + (1 - round % 2) * ROW;

		exchange(r, w, now, round);
		for (i = 1; i <= CELLS; i++)
			then[i] = now[i - 1] + now[i] + now[i + 1];
	}
	right = is_right(r, rows + (ROUNDS % 2) * ROW);
	must(gda_gin_flush(r->gin, 0), "gda_gin_flush");
	gda_window_deregister(w);
	return right;
}

int main(void)
{
	struct gda_gin_attr attr = { .size = sizeof(attr), .signals = 2 };

	return run_ranks("halo exchange", &attr, halo);
}

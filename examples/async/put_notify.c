// SPDX-License-Identifier: MIT
/*
 * The put twin: every rank puts rows of a matrix to the next one, into every second row there,
 * and notifies it; the receiver waits for the word and reads. One doorbell for all rows.
 */
#include "ranks.h"

#define ROWS	64U
#define COLUMNS	96U

struct window {
	uint64_t arrived;
	uint32_t own[ROWS][COLUMNS], in[2 * ROWS][COLUMNS];
};

static uint32_t element(uint32_t rank, uint32_t row, uint32_t column)
{
	return rank * 1000003 + row * 1009 + column;
}

static bool put_notify(struct rank *r)
{
	struct gda_async_session session = { .size = sizeof(session) };
	uint32_t next = (r->rank + 1) % r->nranks, last = (r->rank + r->nranks - 1) % r->nranks;
	struct window *own = r->memory, *there = r->memories[next];
	struct gda_async_rows rows = {
		.size = sizeof(rows), .rows = ROWS, .bytes = sizeof(own->own[0]),
		.src = (uintptr_t)own->own, .src_pitch = sizeof(own->own[0]),
		.dst = (uintptr_t)there->in, .dst_pitch = 2 * sizeof(own->in[0]),
	};
	uint32_t row, column, wrong = 0;

	for (row = 0; row < ROWS; row++)
		for (column = 0; column < COLUMNS; column++)
			own->own[row][column] = element(r->rank, row, column);
	must(gda_async_open_peer(r->workspace, 0, next, NULL, 0, &session), "gda_async_open_peer");
	begun(gda_async_put_rows(&session, GDA_ASYNC_PEER, &rows, 0), "gda_async_put_rows");
	begun(gda_async_notify(&session, GDA_ASYNC_PEER, &there->arrived, GDA_ASYNC_ADD, 1, 0),
	      "gda_async_notify");
	must(gda_async_wait_word(&session, &own->arrived, GDA_ASYNC_GE, 1, 0),
	     "gda_async_wait_word");
	for (row = 0; row < 2 * ROWS; row++)
		for (column = 0; column < COLUMNS; column++)
			wrong += own->in[row][column] !=
				 (row % 2 ? 0 : element(last, row / 2, column));
	must(gda_async_wait(&session, 0), "gda_async_wait");
	return !wrong;
}

int main(void)
{
	struct gda_async_attr attr = { .size = sizeof(attr) };

	return run_ranks("put and notify", &attr, sizeof(struct window), put_notify);
}

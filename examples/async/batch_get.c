// SPDX-License-Identifier: MIT
/*
 * A batch of transfers, as PTO's BatchGet does it: 1024 elements from every rank, each by a call
 * that names its rank, and one wait at the end that drains them all.
 */
#include "ranks.h"

#define ELEMENTS	1024U
#define MOST		64U

struct window {
	uint32_t own[ELEMENTS], all[MOST][ELEMENTS];
};

static uint32_t element(uint32_t rank, uint32_t i)
{
	return rank * 1000003 + i * 7;
}

static bool batch_get(struct rank *r)
{
	struct gda_async_session session = { .size = sizeof(session) };
	struct window *own = r->memory;
	uint32_t rank, i, wrong = 0;
	uint64_t scratch[32];

	for (i = 0; i < ELEMENTS; i++)
		own->own[i] = element(r->rank, i);
	must(gda_comm_barrier(r->ranks, 0), "gda_comm_barrier");
	must(gda_async_open(r->workspace, 0, scratch, sizeof(scratch), &session),
	     "gda_async_open");
	for (rank = 0; rank < r->nranks && rank < MOST; rank++) {
		struct window *there = r->memories[rank];

		begun(gda_async_get_array(&session, GDA_ASYNC_PEERS(rank), own->all[rank],
					  there->own, ELEMENTS, 0), "gda_async_get");
	}
	must(gda_async_wait(&session, 0), "gda_async_wait");
	for (rank = 0; rank < r->nranks && rank < MOST; rank++)
		for (i = 0; i < ELEMENTS; i++)
			wrong += own->all[rank][i] != element(rank, i);
	return !wrong;
}

int main(void)
{
	struct gda_async_attr attr = { .size = sizeof(attr), .queues = 2 };

	return run_ranks("batch get", &attr, sizeof(struct window), batch_get);
}

// SPDX-License-Identifier: MIT
/*
 * A single transfer, as PTO's SimpleGetUrma does it: 1024 elements from another rank, a session
 * that is bound to that rank and needs no scratch, one wait.
 */
#include "ranks.h"

#define ELEMENTS	1024U

struct window {
	float local[ELEMENTS], remote[ELEMENTS];
};

static float element(uint32_t rank, uint32_t i)
{
	return (float)(rank * ELEMENTS + i) / 7;
}

static bool simple_get(struct rank *r)
{
	struct gda_async_session session = { .size = sizeof(session) };
	uint32_t peer = (r->rank + 1) % r->nranks, i, wrong = 0;
	struct window *own = r->memory, *there = r->memories[peer];

	for (i = 0; i < ELEMENTS; i++)
		own->remote[i] = element(r->rank, i);
	must(gda_comm_barrier(r->ranks, 0), "gda_comm_barrier");
	must(gda_async_open_peer(r->workspace, 0, peer, NULL, 0, &session), "gda_async_open_peer");
	begun(gda_async_get_array(&session, GDA_ASYNC_PEER, own->local, there->remote, ELEMENTS,
				  0), "gda_async_get");
	must(gda_async_wait(&session, 0), "gda_async_wait");
	for (i = 0; i < ELEMENTS; i++)
		wrong += own->local[i] != element(peer, i);
	return !wrong;
}

int main(void)
{
	struct gda_async_attr attr = { .size = sizeof(attr) };

	return run_ranks("simple get from a peer", &attr, sizeof(struct window), simple_get);
}

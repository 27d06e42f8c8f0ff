// SPDX-License-Identifier: MIT
/* Two processes: rank 0 puts a greeting into the memory of rank 1. */
#include <string.h>
#include <gda/comm.h>
#include "tutorial.h"

/* Everything that the other process has to know, gathered by gda_comm_allgather(). */
struct card {
	struct gda_address addr;
	uint64_t iova;
	uint32_t key;
	uint32_t inproc;
};

static uint32_t is_inproc(struct gda_context *ctx)
{
	struct gda_query query = { .size = sizeof(query) };

	MUST(gda_context_query(ctx, &query));
	return !strcmp((const char *)query.device, "inproc");
}

static void greet(struct end *e, const struct card *peer)
{
	struct gda_view *view = gda_qp_view(e->qp);

	MUST(gda_wait(view, gda_put(view, gda_mr_iova(e->mr), gda_mr_key(e->mr), peer->iova,
				    peer->key, 32, 0), 0));
	printf("rank 0 has put its greeting\n");
}

int main(void)
{
	static char memory[32];
	struct gda_comm *comm;
	struct card mine, all[2];
	uint32_t rank;
	struct end e;

	MUST(gda_comm_create(NULL, &comm));
	rank = gda_comm_rank(comm);
	if (gda_comm_size(comm) != 2) {
		fprintf(stderr, "usage: gda-run -n 2 processes\n");
		return 2;
	}
	if (rank == 0)
		snprintf(memory, sizeof(memory), "hello from rank 0");
	end_open(&e, memory, sizeof(memory));
	mine = (struct card){ .iova = gda_mr_iova(e.mr), .key = gda_mr_key(e.mr),
			      .inproc = is_inproc(e.ctx) };
	MUST(gda_qp_address(e.qp, &mine.addr));
	MUST(gda_comm_allgather(comm, &mine, sizeof(mine), all, 0));
	if (all[0].inproc || all[1].inproc) {
		if (rank == 0)
			printf("inproc connects queue pairs of one process: two need /dev/gda\n");
	} else {
		MUST(gda_qp_connect(e.qp, &all[!rank].addr));
		if (rank == 0)
			greet(&e, &all[1]);
		MUST(gda_comm_barrier(comm, 0));
		if (rank == 1)
			printf("rank 1 reads: %s\n", memory);
	}
	end_close(&e);
	gda_comm_destroy(comm);
	return 0;
}

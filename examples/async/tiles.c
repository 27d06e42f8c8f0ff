// SPDX-License-Identifier: MIT
/*
 * A product of matrices whose right side lies at the other ranks: C = A B, A and C here, B in
 * tiles, each rank having some. Tile k + 1 is on its way while tile k is multiplied: two buffers,
 * and a wait for the event of the tile that is needed, which does not wait for the one behind it.
 */
#include "ranks.h"

#define N	48U		/* rows of A, and rows and columns of a tile */
#define TILES	12U
#define BUFFERS	2U

struct window {
	double tiles[TILES][N][N];	/* of B: tile t is valid at rank t % nranks */
	double buffers[BUFFERS][N][N];
};

static double a_element(uint32_t row, uint32_t column)
{
	return (double)((row * 7 + column * 3) % 11) - 5;
}

static double b_element(uint32_t tile, uint32_t row, uint32_t column)
{
	return (double)((tile * 13 + row * 5 + column) % 9) - 4;
}

/* Add to @c the product of the columns of A that belong to @tile, and of that tile. */
static void multiply(double c[N][N], uint32_t tile, double b[N][N])
{
	uint32_t i, j, k;

	for (i = 0; i < N; i++)
		for (k = 0; k < N; k++)
			for (j = 0; j < N; j++)
				c[i][j] += a_element(i, tile * N + k) * b[k][j];
}

static struct gda_async_event fetch(struct rank *r, struct gda_async_session *s, uint32_t tile)
{
	struct window *own = r->memory, *there = r->memories[tile % r->nranks];
	uint32_t rank = tile % r->nranks;

	return begun(gda_async_get(s, GDA_ASYNC_PEERS(rank), own->buffers[tile % BUFFERS],
				   there->tiles[tile], sizeof(there->tiles[tile]), 0),
		     "gda_async_get");
}

static bool is_product(double c[N][N])
{
	static double zero[N][N];
	double serial[N][N], tile[N][N];
	uint32_t t, i, j;
	bool right = true;

	for (i = 0; i < N; i++)
		for (j = 0; j < N; j++)
			serial[i][j] = zero[i][j];
	for (t = 0; t < TILES; t++) {
		for (i = 0; i < N; i++)
			for (j = 0; j < N; j++)
				tile[i][j] = b_element(t, i, j);
		multiply(serial, t, tile);
	}
	for (i = 0; i < N; i++)
		for (j = 0; j < N; j++)
			right = right && serial[i][j] == c[i][j];
	return right;
}

static bool tiles(struct rank *r)
{
	struct gda_async_session session = { .size = sizeof(session) };
	struct gda_async_event events[BUFFERS];
	struct window *own = r->memory;
	double c[N][N] = { { 0 } };
	uint64_t scratch[32];
	uint32_t t, i, j;

	for (t = r->rank; t < TILES; t += r->nranks)
		for (i = 0; i < N; i++)
			for (j = 0; j < N; j++)
				own->tiles[t][i][j] = b_element(t, i, j);
	must(gda_comm_barrier(r->ranks, 0), "gda_comm_barrier");
	must(gda_async_open(r->workspace, 0, scratch, sizeof(scratch), &session),
	     "gda_async_open");
	events[0] = fetch(r, &session, 0);
	for (t = 0; t < TILES; t++) {
		if (t + 1 < TILES)
			events[(t + 1) % BUFFERS] = fetch(r, &session, t + 1);
		must(gda_async_wait_for(&session, events[t % BUFFERS], 0), "gda_async_wait_for");
		multiply(c, t, own->buffers[t % BUFFERS]);
	}
	return is_product(c);
}

int main(void)
{
	struct gda_async_attr attr = { .size = sizeof(attr), .queues = 2 };

	return run_ranks("product of tiles", &attr, sizeof(struct window), tiles);
}

/* SPDX-License-Identifier: MIT */
/*
 * A symmetric heap of two PEs made by hand, over queues in plain memory, whose entries the
 * test carries out: a piece that touches two MRs is found by its key.
 */
#ifndef WORLD_H
#define WORLD_H

#include <stdlib.h>
#include <string.h>
#include <gda/shmem.h>
#include "../lib/fake_nic.h"
#include "kselftest_harness.h"
#include "shmem_internal.h"

#define HEAP	4096		/* bytes of each PE */
#define CHUNKS	64
#define ME	0
#define PEER	1
#define KEYS	1000		/* of a PE: its number * KEYS, and on */

static uint64_t state = 1;

static inline uint32_t random_below(uint32_t n)
{
	state = state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(state >> 33) % n;
}

/* A PE: its bytes, and its MRs by the addresses of PE 0, which are those of @bytes there. */
struct pe {
	uint8_t bytes[HEAP];
	struct gda_chunk chunks[CHUNKS];
	uint64_t iova[CHUNKS];
	uint32_t offset[CHUNKS];
};

struct world {
	struct pe pe[2];
	struct gda_shmem_peer peers[2];
	struct gda_shmem_qp qps[2][3];
	struct gda_shmem_heap heap;
	struct fake_queue *q[3];	/* to PE 1 */
	struct fake_queue *own;		/* to PE 0 itself: nothing is posted there */
	uint32_t words[2048];		/* stage */
	uint32_t abort;
};

static inline void pe_map(struct world *w, uint32_t pe, const uint32_t *lengths, uint32_t count)
{
	struct pe *p = &w->pe[pe];
	uint32_t i, off = 0;

	for (i = 0; i < count; i++) {
		p->offset[i] = off;
		p->chunks[i] = (struct gda_chunk) {
			.addr = (uintptr_t)w->pe[ME].bytes + off, .length = lengths[i],
			/* work requests know the MR by addresses of its own */
			.iova = ((uint64_t)random_below(1 << 30) << 16) + random_below(4096),
			.key = (pe + 1) * KEYS + i,
		};
		off += lengths[i];
	}
	w->peers[pe].map = (struct gda_chunk_map) {
		.size = sizeof(w->peers[pe].map), .count = count,
		.chunks = (uintptr_t)p->chunks,
	};
}

static inline void pe_map_random(struct world *w, uint32_t pe)
{
	uint32_t lengths[CHUNKS], off = 0, count = 0, len;

	while (off < HEAP) {
		len = 1 + random_below(random_below(4) ? 64 : 1024);
		if (len > HEAP - off || count == CHUNKS - 1)
			len = HEAP - off;
		lengths[count++] = len;
		off += len;
	}
	pe_map(w, pe, lengths, count);
}

/* Where a work request goes; NULL if it is not inside the one MR of its key. */
static inline uint8_t *find(struct world *w, uint32_t pe, uint32_t key, uint64_t iova,
			    uint32_t len)
{
	uint32_t i = key - (pe + 1) * KEYS;
	const struct gda_chunk *c = &w->pe[pe].chunks[i];

	if (i >= w->peers[pe].map.count || iova < c->iova || len > c->length ||
	    iova - c->iova > c->length - len)
		return NULL;
	return w->pe[pe].bytes + w->pe[pe].offset[i] + (iova - c->iova);
}

/* An entry of the queue, taken apart. */
struct request {
	uint32_t opcode, opmod, ds, ce, rkey, length, lkey;
	uint64_t raddr, laddr;
	const uint8_t *data;	/* of an inline segment */
};

static inline struct request request(const struct fake_queue *q, uint64_t index)
{
	const uint8_t *e = fake_entry(q, index);
	const struct gda_mlx5_ctrl *c = (const void *)e;
	const struct gda_mlx5_raddr *r = (const void *)(e + 16);
	const struct gda_mlx5_data *d = (const void *)(e + 32);
	uint32_t word = gda_be32_to_cpu(c->opmod_idx_opcode);

	return (struct request) {
		.opcode = word & 0xff, .opmod = word >> 24, .ce = c->fm_ce_se,
		.ds = gda_be32_to_cpu(c->qpn_ds) & 0x3f,
		.raddr = gda_be64_to_cpu(r->raddr), .rkey = gda_be32_to_cpu(r->rkey),
		.length = gda_be32_to_cpu(d->byte_count), .lkey = gda_be32_to_cpu(d->lkey),
		.laddr = gda_be64_to_cpu(d->addr), .data = e + 36,
	};
}

/* PE 0 of two, whose heaps are one MR each; or NULL. */
static inline struct world *world_new(void)
{
	struct world *w = aligned_alloc(128, (sizeof(*w) + 127) & ~(size_t)127);
	uint32_t whole = HEAP, i;

	if (!w)
		return NULL;
	memset(w, 0, sizeof(*w));
	w->own = fake_queue_new(32);
	for (i = 0; i < 3; i++) {
		w->q[i] = fake_queue_new(1024);
		w->qps[PEER][i].view = (uintptr_t)&w->q[i]->view;
		w->qps[ME][i].view = (uintptr_t)&w->own->view;
	}
	for (i = 0; i < 2; i++) {
		w->peers[i].qps = (uintptr_t)w->qps[i];
		w->peers[i].abort = (uintptr_t)&w->abort;
		pe_map(w, i, &whole, 1);
	}
	w->heap.shmem = (struct gda_shmem) {
		.size = sizeof(w->heap.shmem), .version = GDA_SHMEM_VERSION, .pe = ME, .npes = 2,
		.qps = 1, .heap = (uintptr_t)w->pe[ME].bytes, .heap_bytes = HEAP,
		.peers = (uintptr_t)w->peers, .timeout_ns = 1000000,
		.stage = (uintptr_t)w->words, .stage_key = 0xabcdef01,
		.owner = (uintptr_t)&w->heap,
	};
	return w;
}

static inline void world_free(struct world *w)
{
	uint32_t i;

	for (i = 0; i < 3; i++)
		fake_queue_free(w->q[i]);
	fake_queue_free(w->own);
	free(w);
}

/* Carry out what is rung; returns the number of pieces, or -1. */
static inline int carry_out(struct world *w, struct fake_queue *q, uint64_t from)
{
	uint64_t i, end = q->view.reserved;
	uint8_t *local, *remote;

	if (fake_rung(q) != (uint16_t)end)
		return -1;
	for (i = from; i < end; i++) {
		struct request r = request(q, i);
		uint32_t len = r.length & ~GDA_MLX5_INLINE;

		remote = find(w, PEER, r.rkey, r.raddr, len);
		if (!remote || !len || r.ce != GDA_MLX5_CE_ALWAYS)
			return -1;
		if (r.length & GDA_MLX5_INLINE) {
			memcpy(remote, r.data, len);
			continue;
		}
		local = find(w, ME, r.lkey, r.laddr, len);
		if (!local)
			return -1;
		memcpy(r.opcode == GDA_MLX5_READ ? local : remote,
		       r.opcode == GDA_MLX5_READ ? remote : local, len);
	}
	fake_complete(q, end);
	return (int)(end - from);
}

#endif /* WORLD_H */

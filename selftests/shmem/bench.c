// SPDX-License-Identifier: MIT
/*
 * bench --count MODE - 8192 calls of gda/shmem.h, in a function of its own
 *
 * The queue is plain memory, and completions are set by hand: instructions.sh counts what
 * a call costs under callgrind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gda/shmem.h>
#include "../lib/fake_nic.h"

#define CALLS	8192

static uint64_t heap[512];

#define BATCH(name, call) \
static __attribute__((noinline)) void name(struct gda_shmem *s, uint32_t pe) \
{ \
	uint32_t i; \
	for (i = 0; i < CALLS; i++) \
		call; \
}

BATCH(count_p, gda_shmem_p(s, heap + i % 512, i, 8, pe, 0))
BATCH(count_p_exclusive, gda_shmem_p(s, heap + i % 512, i, 8, pe, GDA_EXCLUSIVE))
BATCH(count_inc, gda_shmem_atomic64(s, heap + i % 512, GDA_SHMEM_ADD, 1, pe, 0))
BATCH(count_put, gda_shmem_put_nbi(s, heap + i % 256, heap + 300, 64, pe, 0))

static const struct mode {
	const char *name;
	void (*batch)(struct gda_shmem *s, uint32_t pe);
} modes[] = {
	{ "p", count_p }, { "p_exclusive", count_p_exclusive }, { "inc", count_inc },
	{ "put", count_put },
};

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";
	struct fake_queue *q = fake_queue_new(GDA_MLX5_MAX_DEPTH);
	struct gda_chunk chunk = {
		.addr = (uintptr_t)heap, .length = sizeof(heap), .iova = 4096, .key = 7,
	};
	struct gda_shmem_qp qp = { .view = (uintptr_t)&q->view };
	struct gda_shmem_peer peer = {
		.qps = (uintptr_t)&qp,
		.map = { .size = sizeof(peer.map), .count = 1, .chunks = (uintptr_t)&chunk },
	};
	struct gda_shmem s = {
		.size = sizeof(s), .npes = 1, .qps = 1, .heap = (uintptr_t)heap,
		.heap_bytes = sizeof(heap), .peers = (uintptr_t)&peer,
		.stage = (uintptr_t)heap, .stage_key = 8,
	};
	size_t i;

	if (!strncmp(mode, "direct", 6))
		peer.heap = (uintptr_t)heap;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strchr(mode, '_') && !strcmp(strchr(mode, '_') + 1, modes[i].name))
			modes[i].batch(&s, 0);
	fake_queue_free(q);
	return 0;
}

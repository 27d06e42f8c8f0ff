// SPDX-License-Identifier: MIT
/*
 * bench --count MODE - 8192 calls of gda/shmem.h, or of OpenSHMEM, in a function of its own
 *
 * The queue is plain memory, and completions are set by hand: instructions.sh counts what
 * a call costs under callgrind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "osh.h"
#include "../lib/fake_nic.h"

#define CALLS	8192

static uint64_t heap[512], data[512];

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
BATCH(count_shmem_p, shmem_long_p((long *)heap + i % 512, i, (int)pe); (void)s)
BATCH(count_shmem_p_data, shmem_long_p((long *)data + i % 512, i, (int)pe); (void)s)
BATCH(count_shmem_inc, shmem_long_atomic_inc((long *)heap + i % 512, (int)pe); (void)s)
BATCH(count_shmem_put, shmem_long_put((long *)heap + i % 256, (long *)data, 1, (int)pe); (void)s)
BATCH(count_shmem_get, shmem_long_get((long *)data, (long *)heap + i % 256, 1, (int)pe); (void)s)

static const struct mode {
	const char *name;
	void (*batch)(struct gda_shmem *s, uint32_t pe);
} modes[] = {
	{ "p", count_p }, { "p_exclusive", count_p_exclusive }, { "inc", count_inc },
	{ "put", count_put }, { "shmem_p", count_shmem_p }, { "shmem_p_data", count_shmem_p_data },
	{ "shmem_inc", count_shmem_inc }, { "shmem_p_threads", count_shmem_p },
	{ "shmem_inc_threads", count_shmem_inc }, { "shmem_put", count_shmem_put },
	{ "shmem_get", count_shmem_get },
};

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";
	struct fake_queue *q = fake_queue_new(GDA_MLX5_MAX_DEPTH);
	/* OpenSHMEM has the data segment, too */
	const uint32_t chunks = strstr(mode, "shmem") ? 2 : 1;
	struct gda_chunk chunk[2] = {
		{ .addr = (uintptr_t)heap, .length = sizeof(heap), .iova = 4096, .key = 7, },
		{ .addr = (uintptr_t)data, .length = sizeof(data), .iova = 4096, .key = 8, },
	};
	struct gda_shmem_qp qp = { .view = (uintptr_t)&q->view };
	struct gda_shmem_peer peer = {
		.qps = (uintptr_t)&qp,
		.map = { .size = sizeof(peer.map), .count = chunks, .chunks = (uintptr_t)chunk },
	};
	struct gda_shmem s = {
		.size = sizeof(s), .npes = 1, .qps = 1, .heap = (uintptr_t)heap,
		.heap_bytes = sizeof(heap), .data = (uintptr_t)data,
		.data_bytes = sizeof(data), .peers = (uintptr_t)&peer,
		.stage = (uintptr_t)heap, .stage_key = 8,
	};
	size_t i;

	if (!strncmp(mode, "direct", 6)) {
		peer.heap = (uintptr_t)heap;
		peer.data = (uintptr_t)data;
	}
	if (chunks == 2 && &data[0] < &heap[0]) {
		struct gda_chunk first = chunk[1];

		chunk[1] = chunk[0];
		chunk[0] = first;
	}
	gda_osh = (struct gda_osh) {
		.npes = 1, .s = &s, .flags = strstr(mode, "threads") ? 0 : GDA_EXCLUSIVE,
	};
	if (gda_osh_queue_init())
		return 1;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strchr(mode, '_') && !strcmp(strchr(mode, '_') + 1, modes[i].name))
			modes[i].batch(&s, 0);
	gda_osh_queue_fini();
	fake_queue_free(q);
	return 0;
}

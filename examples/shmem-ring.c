// SPDX-License-Identifier: MIT
/*
 * A ring of PEs on a symmetric heap: each puts a line into the heap of the next one, and a signal
 * behind it, reads the line that came by a get, and adds to a word of PE 0. Run it by
 * gda-run -n 4 build/examples/shmem-ring.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gda/comm.h>
#include <gda/gda.h>
#include <gda/shmem.h>

#define LINE	48

/* The heap of each PE. */
struct heap {
	uint64_t arrived;
	uint64_t sum;
	char line[LINE];
};

static int64_t must(int64_t result)
{
	if (result >= 0)
		return result;
	fprintf(stderr, "%s\n", *gda_last_error() ? gda_last_error() : gda_strerror((int)result));
	exit(1);
}

/* Put a line to the next PE, and a signal that is visible there behind it. */
static void pass_on(struct gda_shmem *s, struct heap *heap)
{
	struct gda_shmem_signal signal = {
		.word = &heap->arrived, .value = 1, .op = GDA_SHMEM_ADD,
	};
	char line[LINE] = { 0 };

	snprintf(line, sizeof(line), "from PE %u", s->pe);
	must(gda_shmem_put_signal(s, heap->line, line, sizeof(line), &signal,
				  (s->pe + 1) % s->npes, 0));
	must(gda_shmem_wait_until64(s, &heap->arrived, GDA_SHMEM_EQ, 1, 0));
}

/* Read the line of the next PE back, and add this PE's number to the sum of PE 0. */
static void read_back(struct gda_shmem *s, struct heap *heap)
{
	uint32_t next = (s->pe + 1) % s->npes;
	char line[LINE];
	uint64_t before;	/* the sum as it was */

	must(gda_shmem_get(s, line, heap->line, sizeof(line), next, 0));
	must(gda_shmem_atomic_fetch64(s, &heap->sum, GDA_SHMEM_ADD, s->pe, &before, 0, 0));
	printf("PE %u has \"%s\", PE %u \"%s\"\n", s->pe, heap->line, next, line);
}

int main(void)
{
	struct gda_shmem_attr attr = { .size = sizeof(attr), .heap_bytes = sizeof(struct heap) };
	struct gda_comm *comm;
	struct gda_shmem *s;
	struct heap *heap;

	must(gda_comm_create(NULL, &comm));
	must(gda_shmem_create(comm, &attr, &s));
	heap = (struct heap *)(uintptr_t)s->heap;
	pass_on(s, heap);
	/* all lines have arrived before one is read */
	must(gda_comm_barrier(comm, 0));
	read_back(s, heap);
	must(gda_shmem_quiet(s, 0));
	must(gda_comm_barrier(comm, 0));
	if (!s->pe)
		printf("the sum is %llu\n",
		       (unsigned long long)gda_shmem_load64(&heap->sum));
	gda_shmem_destroy(s);
	gda_comm_destroy(comm);
	return 0;
}

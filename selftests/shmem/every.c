// SPDX-License-Identifier: MIT
/*
 * The main program of every (every.h). Prints how many functions it called; every.sh
 * compares that with what nm counts in the library. With an argument each is called in one of
 * its variants only.
 */
#include <stdlib.h>
#include "every.h"

int me, npes, next, prev;
int way;
bool every_short;
shmem_ctx_t every_ctx;
unsigned int functions[4];

static _Alignas(64) char statics[3][EVERY_BYTES];
static char *heap;
static int failures, all_failures;

void *every_memory(int which)
{
	return way & 1 ? heap + (size_t)which * EVERY_BYTES : statics[which];
}

void every_fail(const char *name, const char *file, int line)
{
	if (failures++ < 20)
		printf("# PE %d of %d: %s, way %d: wrong at %s:%d\n", me, npes, name, way, file,
		       line);
}

void every_fill(void *at, size_t bytes, int seed)
{
	unsigned char *p = at;
	size_t i;

	for (i = 0; i < bytes; i++)
		p[i] = (unsigned char)(seed * 131 + i * 7 + 1);
}

bool every_is(const void *at, size_t bytes, int seed)
{
	const unsigned char *p = at;
	size_t i;

	for (i = 0; i < bytes; i++)
		if (p[i] != (unsigned char)(seed * 131 + i * 7 + 1))
			return false;
	return true;
}

bool every_zero(const void *at, size_t bytes)
{
	const char *p = at;
	size_t i;

	for (i = 0; i < bytes; i++)
		if (p[i])
			return false;
	return true;
}

bool every_variant(int variant, int variants)
{
	static int turn;

	turn += !variant;
	return !every_short || turn % variants == variant;
}

int main(int argc, char **argv)
{
	(void)argv;
	every_short = argc > 1;
	shmem_init();
	me = shmem_my_pe();
	npes = shmem_n_pes();
	next = (me + 1) % npes;
	prev = (me + npes - 1) % npes;
	heap = shmem_malloc(sizeof(statics));
	if (!heap || shmem_ctx_create(SHMEM_CTX_SERIALIZED, &every_ctx))
		shmem_global_exit(1);

	every_rma();
	every_atomic();
	every_p2p();
	every_collective();
	every_reduction();
	every_call();

	shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &all_failures, &failures, 1);
	shmem_ctx_destroy(every_ctx);
	shmem_free(heap);
	if (!me)
		printf("called: %u shmem_ %u pshmem_\n", functions[PLAIN] + functions[CTX],
		       functions[PROFILED] + functions[PROFILED_CTX]);
	shmem_finalize();
	return all_failures != 0;
}

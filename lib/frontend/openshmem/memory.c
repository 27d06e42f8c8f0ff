// SPDX-License-Identifier: MIT
/*
 * Allocation in the symmetric heap. These calls are collective. They begin or end with a barrier,
 * so that no PE uses memory before all have allocated it, or after one has freed it.
 */
#include <stdio.h>
#include <string.h>
#include "define.h"
#include "reach.h"

static void *address(size_t offset)
{
	return offset ? (char *)gda_osh.control + offset : NULL;
}

static size_t offset_of(const char *call, const void *ptr)
{
	size_t offset = (uintptr_t)ptr - (uintptr_t)gda_osh.control;

	if (!gda_osh.npes)
		gda_osh_bad(call, ptr, 0, 0);
	if (!gda_osh_block_size(offset))
		gda_osh_die(call, -1,
			    "%p was not allocated, or is freed already: pass what shmem_malloc() returned, once",
			    ptr);
	return offset;
}

static void barrier(const char *call)
{
	gda_osh_quiet(call);
	gda_osh_team_wait(call, &gda_osh.world);
}

/*
 * The heap is full. A program that does not check the result crashes at address 0, so say it; all
 * PEs get the same result.
 */
static void say_full(const char *call, size_t size)
{
	static bool said;
	size_t all, largest;

	if (gda_osh.me || said)
		return;
	said = true;
	gda_osh_blocks_free(&all, &largest);
	fprintf(stderr,
		"PE 0: %s: %zu bytes do not fit: %zu are free, %zu in the largest piece, SHMEM_SYMMETRIC_SIZE is %llu: set it to more\n",
		call, size, all, largest,
		(unsigned long long)gda_osh.s->heap_bytes - GDA_OSH_CONTROL_BYTES);
}

static void *allocate(const char *call, size_t alignment, size_t size, bool clear)
{
	void *p;

	if (!gda_osh.npes)
		gda_osh_bad(call, NULL, 0, 0);
	if (!size || alignment & (alignment - 1))
		return NULL;
	p = address(gda_osh_block_alloc(alignment, size));
	if (!p)
		say_full(call, size);
	else if (clear)
		memset(p, 0, size);
	barrier(call);
	return p;
}

GDA_OSH_PUBLIC void *pshmem_malloc(size_t size)
{
	return allocate(GDA_OSH_CALL_NAME, 0, size, false);
}

GDA_OSH_PUBLIC void *pshmem_malloc_with_hints(size_t size, long hints)
{
	(void)hints;
	return allocate(GDA_OSH_CALL_NAME, 0, size, false);
}

GDA_OSH_PUBLIC void *pshmem_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		bytes = SIZE_MAX;
	return allocate(GDA_OSH_CALL_NAME, 0, bytes, true);
}

GDA_OSH_PUBLIC void *pshmem_align(size_t alignment, size_t size)
{
	return allocate(GDA_OSH_CALL_NAME, alignment, size, false);
}

GDA_OSH_PUBLIC void pshmem_free(void *ptr)
{
	size_t offset;

	if (!ptr)
		return;
	offset = offset_of(GDA_OSH_CALL_NAME, ptr);
	barrier(GDA_OSH_CALL_NAME);
	gda_osh_block_free(offset);
}

GDA_OSH_PUBLIC void *pshmem_realloc(void *ptr, size_t size)
{
	size_t offset, old;
	void *p;

	if (!ptr)
		return pshmem_malloc(size);
	if (!size) {
		pshmem_free(ptr);
		return NULL;
	}
	offset = offset_of(GDA_OSH_CALL_NAME, ptr);
	barrier(GDA_OSH_CALL_NAME);
	p = address(gda_osh_block_alloc(0, size));
	if (p) {
		old = gda_osh_block_size(offset);
		memcpy(p, ptr, old < size ? old : size);
		gda_osh_block_free(offset);
	} else {
		say_full(GDA_OSH_CALL_NAME, size);
	}
	barrier(GDA_OSH_CALL_NAME);
	return p;
}

GDA_OSH_MEMORY(GDA_OSH_WEAK_CALL)

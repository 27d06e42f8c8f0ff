// SPDX-License-Identifier: MIT
/*
 * Deprecated names that OpenSHMEM inherited from its predecessors. Caches are coherent here, so
 * calls that flush or invalidate them do nothing.
 */
#include "define.h"

GDA_OSH_PUBLIC void start_pes(int npes)
{
	(void)npes;
	gda_osh_start("start_pes", SHMEM_THREAD_SINGLE);
}

GDA_OSH_PUBLIC int _my_pe(void)
{
	return pshmem_my_pe();
}

GDA_OSH_PUBLIC int _num_pes(void)
{
	return pshmem_n_pes();
}

GDA_OSH_PUBLIC void *shmalloc(size_t size)
{
	return pshmem_malloc(size);
}

GDA_OSH_PUBLIC void shfree(void *ptr)
{
	pshmem_free(ptr);
}

GDA_OSH_PUBLIC void *shrealloc(void *ptr, size_t size)
{
	return pshmem_realloc(ptr, size);
}

GDA_OSH_PUBLIC void *shmemalign(size_t alignment, size_t size)
{
	return pshmem_align(alignment, size);
}

#define GDA_OSH_NOTHING(name) \
	GDA_OSH_PUBLIC void pshmem_##name(void) \
	{ \
	} \
	GDA_OSH_WEAK(name)
#define GDA_OSH_NOTHING_AT(name) \
	GDA_OSH_PUBLIC void pshmem_##name(void *dest) \
	{ \
		(void)dest; \
	} \
	GDA_OSH_WEAK(name)

GDA_OSH_NOTHING(clear_cache_inv)
GDA_OSH_NOTHING(set_cache_inv)
GDA_OSH_NOTHING(udcflush)
GDA_OSH_NOTHING_AT(clear_cache_line_inv)
GDA_OSH_NOTHING_AT(set_cache_line_inv)
GDA_OSH_NOTHING_AT(udcflush_line)

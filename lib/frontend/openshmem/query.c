// SPDX-License-Identifier: MIT
/*
 * Queries: the rank of this PE, the number of PEs, and which addresses can be reached.
 */
#include <string.h>
#include "define.h"
#include "reach.h"

static void need_init(const char *call)
{
	if (!gda_osh.npes)
		gda_osh_bad(call, NULL, 0, 0);
}

GDA_OSH_PUBLIC int pshmem_my_pe(void)
{
	return gda_osh.me;
}

GDA_OSH_PUBLIC int pshmem_n_pes(void)
{
	return gda_osh.npes ? (int)gda_osh.npes : -1;
}

GDA_OSH_PUBLIC int pshmem_pe_accessible(int pe)
{
	need_init(GDA_OSH_CALL_NAME);
	return (unsigned int)pe < gda_osh.npes;
}

GDA_OSH_PUBLIC int pshmem_addr_accessible(const void *addr, int pe)
{
	return pshmem_pe_accessible(pe) && gda_shmem_is_symmetric(gda_osh.s, addr, 1);
}

GDA_OSH_PUBLIC void *pshmem_ptr(const void *dest, int pe)
{
	need_init(GDA_OSH_CALL_NAME);
	/* a PE's own memory is always mapped, even if all PEs are reached by queue */
	if (pe == gda_osh.me)
		return gda_shmem_is_symmetric(gda_osh.s, dest, 1) ? (void *)(uintptr_t)dest : NULL;
	return gda_shmem_ptr(gda_osh.s, dest, (uint32_t)pe);
}

GDA_OSH_PUBLIC void pshmem_info_get_version(int *major, int *minor)
{
	*major = SHMEM_MAJOR_VERSION;
	*minor = SHMEM_MINOR_VERSION;
}

GDA_OSH_PUBLIC void pshmem_info_get_name(char *name)
{
	memcpy(name, SHMEM_VENDOR_STRING, sizeof(SHMEM_VENDOR_STRING));
}

GDA_OSH_PUBLIC void pshmem_pcontrol(int level, ...)
{
	(void)level;
}

GDA_OSH_WEAK(my_pe)
GDA_OSH_WEAK(n_pes)
GDA_OSH_WEAK(pe_accessible)
GDA_OSH_WEAK(addr_accessible)
GDA_OSH_WEAK(ptr)
GDA_OSH_WEAK(info_get_version)
GDA_OSH_WEAK(info_get_name)
GDA_OSH_WEAK(pcontrol)

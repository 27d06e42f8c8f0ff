// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Owns the decision whether a key may be used, and the reason if not: identity and
 * protection domain, revocation, rights, range, in this order. A domain learns
 * nothing about keys of another, not even that they exist.
 */
#include "access.h"

/* A state other than GDA_MR_LIVE: GDA_MEM_NO_CPU is usable too; any other means revoked. */
static noinline u8 gda_access_no_cpu(const struct gda_mem *mem, const struct gda_sge *range,
				     u32 access)
{
	if (READ_ONCE(mem->state) != (GDA_MR_LIVE | GDA_MEM_NO_CPU))
		return GDA_CAUSE_REVOKED;
	if (!gda_access_granted(mem, 0, access))
		return GDA_CAUSE_RIGHTS;
	if (!gda_access_inside(mem, range->addr, range->len))
		return GDA_CAUSE_RANGE;
	return GDA_ACCESS_NO_CPU;
}

u8 gda_access_check(const struct gda_mem *mem, const void *pd, const struct gda_sge *range,
		    u32 access)
{
	if (!gda_access_owned(mem, pd, range->key))
		return GDA_CAUSE_KEY;
	if (!gda_access_live(mem))
		return gda_access_no_cpu(mem, range, access);
	if (!gda_access_granted(mem, 0, access))
		return GDA_CAUSE_RIGHTS;
	if (!gda_access_inside(mem, range->addr, range->len))
		return GDA_CAUSE_RANGE;
	return GDA_CAUSE_NONE;
}

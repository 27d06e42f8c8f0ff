/* SPDX-License-Identifier: GPL-2.0 */
/* How the kernel maps memory: the part that depends on the architecture. */
#ifndef GDA_CACHED_H
#define GDA_CACHED_H

#include <linux/irqflags.h>
#include <linux/mm.h>

/*
 * Is a mapping of the kernel's write-back cached, as all other mappings of RAM are? On other
 * architectures exporters are trusted.
 */
#ifdef CONFIG_X86
static inline bool gda_kaddr_cached(const void *addr)
{
	unsigned int level;
	pte_t *pte = lookup_address((unsigned long)addr, &level);

	if (!pte || !pte_present(*pte))
		return false;
	return !(pte_val(*pte) &
		 (level == PG_LEVEL_4K ? _PAGE_CACHE_MASK : _PAGE_LARGE_CACHE_MASK));
}
#elif defined(CONFIG_ARM64)
/*
 * The processor translates as for a load and returns the attribute in a register; no other
 * translation may come in between.
 */
static inline bool gda_kaddr_cached(const void *addr)
{
	unsigned long flags;
	u64 par, attr;

	local_irq_save(flags);
	asm volatile("at s1e1r, %0" : : "r" (addr));
	isb();
	par = read_sysreg_par();
	local_irq_restore(flags);
	attr = par >> 56;
	return !(par & SYS_PAR_EL1_F) &&
	       (attr == MAIR_ATTR_NORMAL || attr == MAIR_ATTR_NORMAL_TAGGED);
}
#else
static inline bool gda_kaddr_cached(const void *addr)
{
	return true;
}
#endif

#endif /* GDA_CACHED_H */

// SPDX-License-Identifier: MIT
/*
 * Symbols of GDA_2.0 as programs know them that were linked before GDA_2.1, whose posts take 64
 * bits of a length. Those programs pass 32 bits: the upper half of the register, or of the word
 * on the stack, is whatever was there. So each of these takes 32 bits and extends them with zeros.
 * A program that is linked now gets the symbols of GDA_2.1, from fastpath.c.
 */
#include <gda/fastpath.h>
#include "gda_internal.h"

/* The default symbol, which checks the size of the signal. */
int64_t gda_sized_put_signal(struct gda_view *v, uint64_t laddr, uint32_t lkey, uint64_t raddr,
			     uint32_t rkey, uint64_t len, const struct gda_signal *signal,
			     unsigned int flags) __asm__("gda_put_signal");

__asm__(".symver gda_put_2_0, gda_put@GDA_2.0");
__asm__(".symver gda_put_imm_2_0, gda_put_imm@GDA_2.0");
__asm__(".symver gda_get_2_0, gda_get@GDA_2.0");
__asm__(".symver gda_put_inline_2_0, gda_put_inline@GDA_2.0");
__asm__(".symver gda_put_signal_2_0, gda_put_signal@GDA_2.0");

GDA_EXPORT int64_t gda_put_2_0(struct gda_view *v, uint64_t laddr, uint32_t lkey, uint64_t raddr,
			       uint32_t rkey, uint32_t len, unsigned int flags)
{
	return gda_put(v, laddr, lkey, raddr, rkey, len, flags);
}

GDA_EXPORT int64_t gda_put_imm_2_0(struct gda_view *v, uint64_t laddr, uint32_t lkey,
				   uint64_t raddr, uint32_t rkey, uint32_t len, uint32_t imm,
				   unsigned int flags)
{
	return gda_put_imm(v, laddr, lkey, raddr, rkey, len, imm, flags);
}

GDA_EXPORT int64_t gda_get_2_0(struct gda_view *v, uint64_t laddr, uint32_t lkey, uint64_t raddr,
			       uint32_t rkey, uint32_t len, unsigned int flags)
{
	return gda_get(v, laddr, lkey, raddr, rkey, len, flags);
}

GDA_EXPORT int64_t gda_put_inline_2_0(struct gda_view *v, uint64_t raddr, uint32_t rkey,
				      const void *src, uint32_t len, unsigned int flags)
{
	return gda_put_inline(v, raddr, rkey, src, len, flags);
}

GDA_EXPORT int64_t gda_put_signal_2_0(struct gda_view *v, uint64_t laddr, uint32_t lkey,
				      uint64_t raddr, uint32_t rkey, uint32_t len,
				      const struct gda_signal *signal, unsigned int flags)
{
	return gda_sized_put_signal(v, laddr, lkey, raddr, rkey, len, signal, flags);
}

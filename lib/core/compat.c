// SPDX-License-Identifier: MIT
/*
 * Symbol versions GDA_2.0 of the posts whose length became 64 bits wide in GDA_2.1. A program that
 * was linked before passes 32 bits and leaves the upper half of the register or stack word
 * undefined, so each function here takes 32 bits and zero-extends them. A program that is linked
 * now gets the GDA_2.1 symbols of fastpath.c.
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

// SPDX-License-Identifier: MIT
/* The put path of each kind of poster in the efa dialect. sass.sh counts; never run. */
#define GDA_WQE_EFA
#include <gda/gpu/post.h>

#define PROBE(name, open) \
extern "C" __global__ void name(struct gda_view *v, uint64_t laddr, uint64_t raddr) \
{ \
	open; \
	if (gda_assume_dialect(q, GDA_DIALECT_EFA)) \
		gda_put(q, laddr, 0x1234, raddr, 0x5678, 4096, 0); \
}

PROBE(efa_exclusive, struct gda_exclusive q = gda_exclusive_open(v))
PROBE(efa_shared, struct gda_shared q = gda_shared_open(v, false))
PROBE(efa_courier, struct gda_shared q = gda_shared_open(v, true))

extern "C" __global__ void efa_block(struct gda_view *v, struct gda_block *b, uint64_t laddr,
				     uint64_t raddr)
{
	struct gda_block_queue q = gda_block_join(b, false);

	if (gda_assume_dialect(q, GDA_DIALECT_EFA))
		gda_put(q, laddr, 0x1234, raddr, 0x5678, 4096, 0);
}

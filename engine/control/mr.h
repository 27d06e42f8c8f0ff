/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Memory regions: checks of registrations, and answers to queries. Portable like the engine; the
 * host has the memory, the key and the lifetime.
 */
#ifndef GDA_CONTROL_MR_H
#define GDA_CONTROL_MR_H

#include "engine.h"

/**
 * struct gda_control_mr_range - the range that a registration covers
 * @addr: start address, or offset in the dma-buf
 * @iova: address of the first byte as work requests name it
 * @length: bytes
 * @access: GDA_ACCESS_*
 */
struct gda_control_mr_range {
	u64 addr;
	u64 iova;
	u64 length;
	u32 access;
};

/**
 * gda_control_check_mr - check the range of a registration
 * @range: the range that the caller asks for
 * @max: largest length
 *
 * Return: 0; -EOPNOTSUPP unknown rights; -EINVAL remote write or atomic rights without local
 * write, or a length that is 0 or above @max; -EOVERFLOW @addr or @iova plus the length wraps.
 */
int gda_control_check_mr(const struct gda_control_mr_range *range, u64 max);

/**
 * gda_control_mr_iova - the address by which work requests name the start of an MR
 * @flags: of the call
 * @addr: start of the memory
 *
 * Return: @addr; 0 with %GDA_MR_ZERO_BASED.
 */
static inline u64 gda_control_mr_iova(u32 flags, u64 addr)
{
	return flags & GDA_MR_ZERO_BASED ? 0 : addr;
}

/**
 * gda_control_init_mr - copy the range of a registration to an MR
 * @mem: the MR as the engine sees it; the host fills in its key and protection domain
 * @range: what gda_control_check_mr() accepted
 * @state: its first state
 */
static inline void gda_control_init_mr(struct gda_mem *mem,
				       const struct gda_control_mr_range *range, u32 state)
{
	mem->iova = range->iova;
	mem->size = range->length;
	mem->access = range->access;
	mem->state = state;
}

/**
 * gda_control_query_mr - answer GDA_IOC_MR_QUERY
 * @mem: the MR as the engine sees it; it may be revoked meanwhile
 * @kind: enum gda_mr_kind
 * @cmd: out
 */
void gda_control_query_mr(const struct gda_mem *mem, u32 kind, struct gda_mr_query *cmd);

#endif /* GDA_CONTROL_MR_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Memory regions: what a registration may ask for, and what is answered about one. Portable
 * like the engine; the host has the memory, the key and the life.
 */
#ifndef GDA_CONTROL_MR_H
#define GDA_CONTROL_MR_H

#include "engine.h"

/**
 * struct gda_control_mr_range - what a registration covers
 * @addr: start, in the address space or the dma-buf
 * @iova: address of the first byte in work requests
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
 * gda_control_check_mr - may this be registered?
 * @range: as the caller asks
 * @max: largest length
 *
 * Return: 0; -EOPNOTSUPP unknown rights; -EINVAL remote write or atomic rights without local
 * write, or a length that is 0 or above @max; -EOVERFLOW @addr or @iova plus the length wraps.
 */
int gda_control_check_mr(const struct gda_control_mr_range *range, u64 max);

/**
 * gda_control_mr_iova - where a registration by address begins in work requests
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
 * gda_control_init_mr - fill in what the caller of a registration says about an MR
 * @mem: the MR as the engine knows it; its key and protection domain are the host's to fill in
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
 * gda_control_query_mr - fill in what an MR is
 * @mem: as the engine knows it; it may be revoked meanwhile
 * @kind: enum gda_mr_kind
 * @cmd: out
 */
void gda_control_query_mr(const struct gda_mem *mem, u32 kind, struct gda_mr_query *cmd);

#endif /* GDA_CONTROL_MR_H */

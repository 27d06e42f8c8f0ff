/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Creation of counters: what may be asked for, and the words in memory of the caller. Portable like
 * the engine; the host has the cell, the MRs and the lifetime.
 */
#ifndef GDA_CONTROL_COUNTERS_H
#define GDA_CONTROL_COUNTERS_H

#include "counter.h"

/**
 * gda_control_check_counter - check the parameters of a new counter
 * @cmd: the caller's parameters
 * @features: GDA_FEATURE_* of the device
 *
 * Return: 0; -EOPNOTSUPP an unknown operation, or a feature that the device lacks; -EINVAL a word
 * without its flag, two words that overlap, or a wrap without a word.
 */
int gda_control_check_counter(const struct gda_counter_create *cmd, u64 features);

/**
 * gda_control_init_counter - prepare a counter, and store the first counts to its words
 * @c: the counter
 * @mem: its cell
 * @cmd: parameters that gda_control_check_counter() accepted
 * @ctx: the host's context, which is the protection domain of the words' MRs
 *
 * No MR of the context is freed during the call.
 *
 * Return: 0; -ENOENT no such MR, or it was revoked; -EACCES it may not be written; -EINVAL the word
 * is not inside the MR or not aligned; -EOPNOTSUPP the memory has no CPU mapping.
 */
int gda_control_init_counter(struct gda_engine_counter *c, struct gda_counter_mem *mem,
			     const struct gda_counter_create *cmd, void *ctx);

/**
 * gda_host_find_mem - find an MR by its key; the host defines it
 * @ctx: the host's context
 * @key: from the user; the caller compares what the lookup ignores
 *
 * Return: the MR, or NULL.
 */
const struct gda_mem *gda_host_find_mem(void *ctx, u32 key);

#endif /* GDA_CONTROL_COUNTERS_H */

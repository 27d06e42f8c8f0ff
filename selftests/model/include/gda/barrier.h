/* SPDX-License-Identifier: MIT */
/*
 * The real gda/barrier.h, with a step of the explorer before every access to a shared
 * word; and primitives that can be broken, one by one (enum broken in fastpath.c).
 */
#ifndef GDA_MODEL_BARRIER_H
#define GDA_MODEL_BARRIER_H

#define gda_load_acquire32	gda_real_load_acquire32
#define gda_load_acquire64	gda_real_load_acquire64
#define gda_load_relaxed64	gda_real_load_relaxed64
#define gda_store_relaxed64	gda_real_store_relaxed64
#define gda_store_release64	gda_real_store_release64
#define gda_exchange32		gda_real_exchange32
#define gda_cas32		gda_real_cas32
#define gda_cas64		gda_real_cas64
#define gda_max64		gda_real_max64
#define gda_nic_load32		gda_real_nic_load32
#define gda_nic_load64		gda_real_nic_load64
#define gda_nic_store32		gda_real_nic_store32
#define gda_nic_store64		gda_real_nic_store64
#define gda_store_segment	gda_real_store_segment
#define gda_store_segment_if	gda_real_store_segment_if
#include "../../../../lib/include/gda/barrier.h"
#undef gda_load_acquire32
#undef gda_load_acquire64
#undef gda_load_relaxed64
#undef gda_store_relaxed64
#undef gda_store_release64
#undef gda_exchange32
#undef gda_cas32
#undef gda_cas64
#undef gda_max64
#undef gda_nic_load32
#undef gda_nic_load64
#undef gda_nic_store32
#undef gda_nic_store64
#undef gda_store_segment
#undef gda_store_segment_if

#include "../../explore.h"

uint32_t gda_load_acquire32(const uint32_t *p);
uint64_t gda_load_acquire64(const uint64_t *p);
uint64_t gda_load_relaxed64(const uint64_t *p);
void gda_store_relaxed64(uint64_t *p, uint64_t v);
void gda_store_release64(uint64_t *p, uint64_t v);
uint32_t gda_exchange32(uint32_t *p, uint32_t v);
int gda_cas32(uint32_t *p, uint32_t old, uint32_t v);
int gda_cas64(uint64_t *p, uint64_t *old, uint64_t v);
void gda_max64(uint64_t *p, uint64_t v);
uint32_t gda_nic_load32(const uint32_t *p);
uint64_t gda_nic_load64(const uint64_t *p);
void gda_nic_store32(uint32_t *p, uint32_t v);
void gda_nic_store64(uint64_t *p, uint64_t v);
void gda_store_segment(void *p, uint64_t first, uint64_t second);

static inline void gda_store_segment_if(uint32_t on, void *p, uint64_t first, uint64_t second)
{
	if (on)
		gda_store_segment(p, first, second);
}

#endif /* GDA_MODEL_BARRIER_H */

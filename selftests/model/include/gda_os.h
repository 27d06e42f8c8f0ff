/* SPDX-License-Identifier: MIT */
/*
 * The real shim of the engine, with a step of the explorer before every acquire and
 * release: the engine's looks at doorbells and its writes of completions.
 */
#ifndef GDA_MODEL_OS_H
#define GDA_MODEL_OS_H

#include "../../../lib/host/gda_os.h"
#include "../explore.h"

#undef smp_load_acquire
#undef smp_store_release

void model_engine_load(const void *p);

#define smp_load_acquire(p)					\
	(__extension__ ({					\
		model_engine_load(p);				\
		__atomic_load_n(p, __ATOMIC_ACQUIRE);		\
	}))
#define smp_store_release(p, v) do {				\
	explore_step("engine stores", p);			\
	__atomic_store_n(p, v, __ATOMIC_RELEASE);		\
} while (0)

#endif /* GDA_MODEL_OS_H */

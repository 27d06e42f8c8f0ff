// SPDX-License-Identifier: MIT
/*
 * Exports the inline functions of gda/shmem.h from the library, for languages that cannot include
 * them. They are compiled from the same header.
 */
#include <stddef.h>
/* functions of gda/fastpath.h stay inline here: lib/core/fastpath.c exports them */
#include <gda/gda.h>
#include <gda/chunk.h>
#include <gda/masked_atomic.h>
#undef GDA_API
#undef GDA_HOST_API
#define GDA_API __attribute__((visibility("default")))
#define GDA_HOST_API __attribute__((visibility("default")))
#include <gda/shmem.h>

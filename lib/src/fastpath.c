// SPDX-License-Identifier: MIT
/*
 * The functions of gda/fastpath.h, and those that go with it, once more as symbols of
 * the library, for languages that cannot include them. Same text, no second copy.
 */
#define GDA_API __attribute__((visibility("default")))
#include <gda/chunk.h>
#include <gda/fastpath.h>
#include <gda/masked.h>
#include <gda/ring.h>

/* SPDX-License-Identifier: MIT */
/* Where programs look for an implementation's extensions of OpenSHMEM. Here are none. */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

#endif /* SHMEMX_H */

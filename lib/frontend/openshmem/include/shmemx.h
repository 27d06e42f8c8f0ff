/* SPDX-License-Identifier: MIT */
/* The header in which programs expect extensions of OpenSHMEM. There are none here. */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

#endif /* SHMEMX_H */

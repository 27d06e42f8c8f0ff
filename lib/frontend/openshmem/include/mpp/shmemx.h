/* SPDX-License-Identifier: MIT */
/* The location of shmemx.h before OpenSHMEM 1.2, which some programs still include. */
#ifndef MPP_SHMEMX_H
#define MPP_SHMEMX_H

#include <shmemx.h>

#endif /* MPP_SHMEMX_H */

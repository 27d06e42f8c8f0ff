/* SPDX-License-Identifier: MIT */
/* The place of shmemx.h before OpenSHMEM 1.2, which programs still name. */
#ifndef MPP_SHMEMX_H
#define MPP_SHMEMX_H

#include <shmemx.h>

#endif /* MPP_SHMEMX_H */

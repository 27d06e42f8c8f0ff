/* SPDX-License-Identifier: MIT */
/* The header's place before OpenSHMEM 1.2, which programs still name. */
#ifndef MPP_SHMEM_H
#define MPP_SHMEM_H

#include <shmem.h>

#endif /* MPP_SHMEM_H */

/* SPDX-License-Identifier: MIT */
/* The header's location before OpenSHMEM 1.2, which some programs still include. */
#ifndef MPP_SHMEM_H
#define MPP_SHMEM_H

#include <shmem.h>

#endif /* MPP_SHMEM_H */

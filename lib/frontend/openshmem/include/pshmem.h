/* SPDX-License-Identifier: MIT */
/*
 * The header for tools that stand between a program and the library: the same calls, types and
 * constants, and pshmem_ names for all functions (OpenSHMEM 1.5, Profiling Interface).
 */
#ifndef PSHMEM_H
#define PSHMEM_H

#include <shmem.h>

#endif /* PSHMEM_H */

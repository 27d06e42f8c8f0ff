/* SPDX-License-Identifier: MIT */
/*
 * A CUDA driver without a GPU: the calls that lib/gpu makes, under their names. GPU
 * memory is memory that is not readable at its address; there is a window to it for the
 * test. A thread carries out what is on the streams, each in order, otherwise in any.
 */
#ifndef GDA_FAKE_CUDA_H
#define GDA_FAKE_CUDA_H

#include <stdbool.h>
#include <stdint.h>

/* Let lib/gpu find it: this program. Before the first call. */
void fake_cuda_use(void);

/* Where the CPU finds what a GPU has at @addr. */
void *fake_cuda_window(uint64_t addr);

/* Nothing on any stream is carried out while it is held. */
void fake_cuda_hold(bool hold);

/* Copies and stores that are begun and not carried out. */
unsigned int fake_cuda_pending(void);

/* From now on every call fails, and nothing is carried out any more. */
void fake_cuda_break(void);

/* Allocations and registrations that were made, and copies that had to wait. */
unsigned int fake_cuda_allocations(void);
unsigned int fake_cuda_waits(void);

/* Whether a kernel takes all multiprocessors; if so, no copy is done within a GPU. */
void fake_cuda_full(bool full);

uint64_t fake_cuda_alloc(int device, uint64_t bytes);
void fake_cuda_free(uint64_t addr);

#endif /* GDA_FAKE_CUDA_H */

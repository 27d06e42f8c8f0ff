/* SPDX-License-Identifier: MIT */
/*
 * Groups of threads that do one thing together. A group is any object with
 * thread_rank(), size() and sync(), for instance those of cooperative_groups; here are
 * three that need nothing else.
 */
#ifndef GDA_GPU_GROUP_H
#define GDA_GPU_GROUP_H

#include <gda/gpu/device.h>

/**
 * struct gda_thread_group - a thread alone
 */
struct gda_thread_group {
	__device__ unsigned int thread_rank() const { return 0; }
	__device__ unsigned int size() const { return 1; }
	__device__ void sync() const { }
};

/**
 * struct gda_warp_group - the 32 lanes of a warp
 */
struct gda_warp_group {
	__device__ unsigned int thread_rank() const { return threadIdx.x & 31; }
	__device__ unsigned int size() const { return 32; }
	__device__ void sync() const { __syncwarp(); }
};

/**
 * struct gda_block_group - the threads of a block, of any number of dimensions
 */
struct gda_block_group {
	__device__ unsigned int thread_rank() const { return gda_block_rank(); }
	__device__ unsigned int size() const { return gda_block_size(); }
	__device__ void sync() const { __syncthreads(); }
};

#endif /* GDA_GPU_GROUP_H */

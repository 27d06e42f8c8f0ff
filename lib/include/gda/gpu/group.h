/* SPDX-License-Identifier: MIT */
/*
 * Groups of threads that do one thing together. A group is any object with thread_rank(), size()
 * and sync(), for instance those of cooperative_groups; here are three that have no dependencies.
 * To broadcast one thread's result a group also needs share(), as these have, or shfl(), as tiles
 * of cooperative_groups have.
 */
#ifndef GDA_GPU_GROUP_H
#define GDA_GPU_GROUP_H

#include <gda/gpu/device.h>

/**
 * struct gda_thread_group - a single thread
 */
struct gda_thread_group {
	__device__ unsigned int thread_rank() const { return 0; }
	__device__ unsigned int size() const { return 1; }
	__device__ void sync() const { }
	__device__ int share(int value) const { return value; }
};

/**
 * struct gda_warp_group - the 32 lanes of a warp
 */
struct gda_warp_group {
	__device__ unsigned int thread_rank() const { return threadIdx.x & 31; }
	__device__ unsigned int size() const { return 32; }
	__device__ void sync() const { __syncwarp(); }
	__device__ int share(int value) const { return __shfl_sync(~0U, value, 0); }
};

/**
 * struct gda_block_group - the threads of a block, of any number of dimensions
 */
struct gda_block_group {
	__device__ unsigned int thread_rank() const { return gda_block_rank(); }
	__device__ unsigned int size() const { return gda_block_size(); }
	__device__ void sync() const { __syncthreads(); }
	__device__ int share(int value) const
	{
		__shared__ int shared;

		if (!gda_block_rank())
			shared = value;
		__syncthreads();
		value = shared;
		__syncthreads();
		return value;
	}
};

/* Return: @value of the thread of rank 0. All threads of the group call this. */
template <class group>
GDA_DEVICE auto gda_group_share(const group &g, int value) -> decltype(g.share(value))
{
	return g.share(value);
}

template <class group>
GDA_DEVICE auto gda_group_share(const group &g, int value) -> decltype(g.shfl(value, 0))
{
	return g.shfl(value, 0);
}

#endif /* GDA_GPU_GROUP_H */

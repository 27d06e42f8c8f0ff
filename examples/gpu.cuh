/* SPDX-License-Identifier: MIT */
/*
 * Of the examples with kernels: a call that fails ends the program with its text.
 */
#ifndef EXAMPLES_GPU_CUH
#define EXAMPLES_GPU_CUH

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <gda/gda.h>

/* At once: other threads may wait in what exit(3) would take down. */
#define CUDA(call) do { \
	cudaError_t err_ = (call); \
	if (err_ != cudaSuccess) { \
		fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, #call, \
			cudaGetErrorString(err_)); \
		_Exit(1); \
	} \
} while (0)

#define GDA(call) do { \
	int err_ = (call); \
	if (err_) { \
		fprintf(stderr, "%s: %s: %s (%s)\n", program_invocation_short_name, #call, \
			gda_strerror(err_), gda_last_error()); \
		_Exit(1); \
	} \
} while (0)

#endif /* EXAMPLES_GPU_CUH */

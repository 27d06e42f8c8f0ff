/* SPDX-License-Identifier: MIT */
/*
 * Rows of the efa dialect. Posters and NIC that speak it are in a source file of their own,
 * efa.cu, so that those of the other rows are compiled for mlx5 alone.
 */
#ifndef GDA_BENCH_EFA_CUH
#define GDA_BENCH_EFA_CUH

#include "posters.cuh"

/* The launch of a row, whose posters release at system scope and whose doorbells need no record. */
template <enum bench_mode mode, enum bench_test test>
void bench_run_efa(const struct bench_args &a, dim3 grid, dim3 block, cudaStream_t s);

/* Start the NIC; @single: for one queue, by a cluster. */
void bench_efa_nic(const struct nic_args &nic, bool single, cudaStream_t s);

#endif /* GDA_BENCH_EFA_CUH */

// SPDX-License-Identifier: MIT
/* Posters and the fake NIC of gda-bench-gpu in the efa dialect; see efa.cuh. */
#define GDA_WQE_EFA
#include "efa.cuh"

template <enum bench_mode mode, enum bench_test test>
void bench_run_efa(const struct bench_args &a, dim3 grid, dim3 block, cudaStream_t s)
{
	bench_kernel<mode, test, GDA_VIEW_DB_UNORDERED><<<grid, block, 0, s>>>(a);
}

#define LAUNCH(mode, test) \
	template void bench_run_efa<mode, test>(const struct bench_args &, dim3, dim3, cudaStream_t)

LAUNCH(EXCLUSIVE, PUT);
LAUNCH(EXCLUSIVE, EACH);
LAUNCH(EXCLUSIVE, BATCH);
LAUNCH(EXCLUSIVE, LATENCY);
LAUNCH(SHARED, PUT);
LAUNCH(SHARED, EACH);
LAUNCH(SHARED, LATENCY);
LAUNCH(SHARED_COURIER, PUT);
LAUNCH(BLOCK, PUT);
LAUNCH(BLOCK_COURIER, PUT);

void bench_efa_nic(const struct nic_args &nic, bool single, cudaStream_t s)
{
	if (single)
		nic_kernel_single<<<NIC_BLOCKS, NIC_WARPS * 32, 0, s>>>(nic);
	else
		nic_kernel<<<(nic.count + 3) / 4, 128, 0, s>>>(nic);
}

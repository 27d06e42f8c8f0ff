// SPDX-License-Identifier: MIT
/* A CUDA kernel puts 14 bytes from GPU memory to GPU memory. */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <gda/cuda.h>
#include <gda/fastpath.h>

#define MUST(call) do { \
	int err_ = (call); \
	if (err_) { \
		fprintf(stderr, "%s: %s\n", #call, gda_last_error()); \
		exit(1); \
	} \
} while (0)

#define CUDA(call) do { \
	cudaError_t err_ = (call); \
	if (err_ != cudaSuccess) { \
		fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(err_)); \
		exit(1); \
	} \
} while (0)

/* The same two calls as on a CPU. */
static __global__ void put(struct gda_view *view, uint64_t from, uint64_t to, uint32_t key,
			   uint32_t bytes, int *err)
{
	*err = gda_wait(view, gda_put(view, from, key, to, key, bytes, 0), 0);
}

int main()
{
	struct gda_cuda_qp_attr attr = { sizeof(attr) };
	char text[16] = "hello from GPU";
	struct gda_context *ctx;
	struct gda_address addr;
	struct gda_cuda_qp *qp;
	struct gda_cuda *cuda;
	struct gda_mr *mr;
	char *memory;
	int n = 0, *err;

	if (cudaGetDeviceCount(&n) != cudaSuccess || !n) {
		printf("there is no GPU here\n");
		return 4;
	}
	MUST(gda_open("inproc", &ctx));
	MUST(gda_cuda_open(ctx, 0, &cuda));
	attr.place = GDA_CUDA_LEAVES_ROOM;	/* one thread leaves room on the GPU */
	MUST(gda_cuda_qp_create(cuda, &attr, &qp));
	MUST(gda_qp_address(gda_cuda_qp_base(qp), &addr));
	MUST(gda_qp_connect(gda_cuda_qp_base(qp), &addr));

	CUDA(cudaMalloc(&memory, 32));
	CUDA(cudaMemcpy(memory, text, 16, cudaMemcpyHostToDevice));
	MUST(gda_cuda_mr_reg(cuda, (uintptr_t)memory, 32, GDA_ACCESS_ALL, 0, &mr));
	CUDA(cudaHostAlloc(&err, sizeof(*err), cudaHostAllocMapped));

	put<<<1, 1>>>(gda_cuda_qp_view(qp), gda_mr_iova(mr), gda_mr_iova(mr) + 16, gda_mr_key(mr),
		      14, err);
	CUDA(cudaDeviceSynchronize());
	if (*err) {
		fprintf(stderr, "the kernel's put: %s\n", gda_strerror(*err));
		return 1;
	}
	CUDA(cudaMemcpy(text, memory + 16, 14, cudaMemcpyDeviceToHost));
	printf("the GPU's put is done: %.14s\n", text);

	MUST(gda_mr_dereg(mr));
	MUST(gda_cuda_qp_destroy(qp));
	CUDA(cudaFree(memory));
	gda_cuda_close(cuda);
	gda_close(ctx);
	return 0;
}

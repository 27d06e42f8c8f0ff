// SPDX-License-Identifier: MIT
/*
 * examples/async/tiles.c on a GPU: a product of matrices whose right side comes in tiles. Each
 * block of threads has rows of its own and fetches each tile itself, from memory of another GPU,
 * or of the same one where there is none. With two tiles in flight tile k + 1 is on its way while
 * tile k is multiplied.
 *
 * A buffer has a warp of its own, one thread of which gets tiles and waits for them: so nobody
 * who multiplies posts or polls. Barriers of the block hand the buffer over and back.
 *
 * The number of rows is such that copy and product of a tile take about as long as each other.
 * The program says what two tiles in flight take of the time of one, and compares the results
 * with a serial product: all numbers are small integers, so sums are exact.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda/barrier>
#include <cuda_runtime.h>
#include <gda/async.h>
#include "gpu.cuh"

#define N		256U	/* rows and columns of a tile; a thread a column */
#define TILES		32U
#define BLOCKS		2U	/* more, and one worker has no time for all their copies */
#define MAX_ROWS	256U	/* of a block */
#define BUFFERS		2U	/* of a block, each with a warp that fills it */
#define RUNS		5U
#define TILE_BYTES	(N * N * sizeof(float))

enum mode { COPIES = 1, PRODUCTS = 2 };

struct env {
	struct gda_async_workspace *workspace;
	float *buffers;			/* BUFFERS tiles a block */
	const float *tiles;
	float *c;
	int *err;			/* in mapped memory of the host */
};

static __host__ __device__ float a_element(uint32_t row, uint32_t column)
{
	return (float)((row * 7 + column * 3) % 11) - 5;
}

static __host__ __device__ float b_element(uint32_t row, uint32_t column)
{
	return (float)((row * 5 + column) % 9) - 4;
}

/* Add to this block's rows of C the product with a tile. */
static __device__ void multiply(float *c, uint32_t rows, uint32_t tile, const float *b)
{
	uint32_t j = threadIdx.x;

	for (uint32_t i = 0; i < rows; i++) {
		float sum = c[i * N + j];

		for (uint32_t k = 0; k < N; k++)
			sum += a_element(blockIdx.x * MAX_ROWS + i, tile * N + k) *
			       __ldcg(&b[k * N + j]);
		c[i * N + j] = sum;
	}
}

/* A buffer goes to those who multiply when it is full, and back when it is empty. */
struct handover {
	cuda::barrier<cuda::thread_scope_block> full, empty;
};

/* By one thread: have every tile that goes to buffer @i of this block, one after the other. */
static __device__ void fill(struct env e, int mode, uint32_t flight, uint32_t i, float *buffer,
			    struct handover *h)
{
	uint64_t scratch;
	struct gda_async_session s;
	int err = 0;

	s.size = sizeof(s);
	if (gda_async_open(e.workspace, blockIdx.x * BUFFERS + i, &scratch, sizeof(scratch), &s))
		*e.err = s.refused;
	for (uint32_t t = i; t < TILES; t += flight) {
		h->empty.arrive_and_wait();
		if (mode & COPIES)
			err = gda_async_wait_for(&s, gda_async_get(&s, GDA_ASYNC_COPY, buffer,
								   e.tiles + t * N * N,
								   TILE_BYTES, GDA_EXCLUSIVE),
						 0);
		if (err)
			*e.err = err;
		(void)h->full.arrive();
	}
}

static __global__ void __launch_bounds__(N + 32 * BUFFERS) product(struct env e, int mode,
								    uint32_t rows,
								    uint32_t flight)
{
	/* their constructors do nothing: init() does */
	__shared__ alignas(struct handover) char memory[BUFFERS * sizeof(struct handover)];
	struct handover *h = (struct handover *)memory;
	float *buffers = e.buffers + blockIdx.x * BUFFERS * N * N;
	float *c = e.c + blockIdx.x * MAX_ROWS * N;
	uint32_t i;

	for (i = 0; i < BUFFERS && !threadIdx.x; i++) {
		init(&h[i].full, N + 1);
		init(&h[i].empty, N + 1);
	}
	__syncthreads();
	if (threadIdx.x >= N) {
		i = (threadIdx.x - N) / 32;
		if (threadIdx.x % 32 == 0 && i < flight)
			fill(e, mode, flight, i, buffers + i * N * N, &h[i]);
		return;
	}
	for (i = 0; i < flight; i++)
		(void)h[i].empty.arrive();
	for (uint32_t t = 0; t < TILES; t++) {
		i = t % flight;
		h[i].full.arrive_and_wait();
		if (mode & PRODUCTS)
			multiply(c, rows, t, buffers + i * N * N);
		(void)h[i].empty.arrive();
	}
}

/* Run it once. Return: us. */
static float run(struct env e, int mode, uint32_t rows, uint32_t flight)
{
	cudaEvent_t begin, end;
	float ms;

	CUDA(cudaMemset(e.c, 0, BLOCKS * MAX_ROWS * N * sizeof(float)));
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaEventCreate(&begin));
	CUDA(cudaEventCreate(&end));
	CUDA(cudaEventRecord(begin));
	product<<<BLOCKS, N + 32 * BUFFERS>>>(e, mode, rows, flight);
	CUDA(cudaEventRecord(end));
	CUDA(cudaEventSynchronize(end));
	CUDA(cudaEventElapsedTime(&ms, begin, end));
	CUDA(cudaEventDestroy(begin));
	CUDA(cudaEventDestroy(end));
	if (*e.err) {
		fprintf(stderr, "tiles: a block: %s\n", gda_strerror(*e.err));
		_Exit(1);
	}
	return ms * 1000;
}

static float median(struct env e, int mode, uint32_t rows, uint32_t flight)
{
	std::vector<float> us;

	for (uint32_t i = 0; i < RUNS; i++)
		us.push_back(run(e, mode, rows, flight));
	std::sort(us.begin(), us.end());
	return us[RUNS / 2];
}

static bool is_product(struct env e, uint32_t rows)
{
	std::vector<float> c(BLOCKS * MAX_ROWS * N), sum(N);

	CUDA(cudaMemcpy(c.data(), e.c, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
	for (uint32_t row = 0; row < BLOCKS * MAX_ROWS; row++) {
		if (row % MAX_ROWS >= rows)
			continue;
		std::fill(sum.begin(), sum.end(), 0.0F);
		for (uint32_t k = 0; k < TILES * N; k++)
			for (uint32_t j = 0; j < N; j++)
				sum[j] += a_element(row, k) * b_element(k, j);
		if (memcmp(sum.data(), &c[row * N], N * sizeof(float)))
			return false;
	}
	return true;
}

/* So many rows that the product of a tile takes as long as its copy. */
static uint32_t calibrate(struct env e, float copy)
{
	uint32_t rows = 4;
	float us = median(e, PRODUCTS, rows, 1);

	for (int i = 0; i < 4; i++) {
		float next = std::round((float)rows * copy / us);

		rows = (uint32_t)std::min(std::max(next, 1.0F), (float)MAX_ROWS);
		us = median(e, PRODUCTS, rows, 1);
	}
	return rows;
}

static bool measure(struct env e, int gpus)
{
	float copy = median(e, COPIES, 0, 1), one, two;
	uint32_t rows = calibrate(e, copy);
	float alone = median(e, PRODUCTS, rows, 1);
	bool right;

	one = median(e, COPIES | PRODUCTS, rows, 1);
	right = is_product(e, rows);
	two = median(e, COPIES | PRODUCTS, rows, 2);
	right = is_product(e, rows) && right;
	printf("%d GPU: a tile's copy %.1f us, product %.1f us (%u rows): two in flight take %.2f "
	       "of the time of one%s\n", gpus, copy / TILES, alone / TILES, rows, two / one,
	       std::fabs(alone / copy - 1) > 0.2F ? " (copy and product differ)" :
	       two / one <= 0.65F ? "" : ": MISSED, at most 0.65");
	printf("%d GPU: product of tiles: %s\n", gpus, right ? "as the reference" : "WRONG");
	return right;
}

/* The tiles on GPU @gpus - 1, the blocks on GPU 0. */
static bool on_gpus(int gpus)
{
	struct gda_async_window windows[2] = {};
	std::vector<float> b(TILES * N * N);
	struct gda_cuda *cuda, *other = NULL;
	struct gda_async_attr attr = {};
	struct gda_async_workspace *w;
	struct gda_context *ctx;
	struct env e;
	float *tiles;
	bool right;

	for (uint32_t k = 0; k < TILES * N; k++)
		for (uint32_t j = 0; j < N; j++)
			b[k * N + j] = b_element(k, j);
	CUDA(cudaSetDevice(gpus - 1));
	CUDA(cudaMalloc(&tiles, TILES * TILE_BYTES));
	CUDA(cudaMemcpy(tiles, b.data(), TILES * TILE_BYTES, cudaMemcpyHostToDevice));
	CUDA(cudaSetDevice(0));
	CUDA(cudaMalloc(&e.buffers, BLOCKS * BUFFERS * TILE_BYTES));
	CUDA(cudaMemset(e.buffers, 0, BLOCKS * BUFFERS * TILE_BYTES));
	CUDA(cudaMalloc(&e.c, BLOCKS * MAX_ROWS * N * sizeof(float)));
	CUDA(cudaHostAlloc(&e.err, sizeof(*e.err), cudaHostAllocMapped));
	*e.err = 0;
	e.tiles = tiles;
	GDA(gda_open(GDA_DEVICE_INPROC, &ctx));
	GDA(gda_cuda_open(ctx, 0, &cuda));
	if (gpus > 1)
		GDA(gda_cuda_open(ctx, 1, &other));
	windows[0].addr = (uintptr_t)e.buffers;
	windows[0].bytes = BLOCKS * BUFFERS * TILE_BYTES;
	windows[1].addr = (uintptr_t)tiles;
	windows[1].bytes = TILES * TILE_BYTES;
	attr.size = sizeof(attr);
	attr.groups = BLOCKS * BUFFERS;
	attr.windows = windows;
	attr.count = 2;
	attr.cuda = cuda;
	/* these few blocks leave multiprocessors for copies within the GPU */
	attr.place = GDA_CUDA_LEAVES_ROOM;
	GDA(gda_async_create(NULL, ctx, &attr, &w));
	e.workspace = gda_async_cuda_workspace(w);
	right = measure(e, gpus);
	gda_async_destroy(w);
	gda_cuda_close(other);
	gda_cuda_close(cuda);
	gda_close(ctx);
	CUDA(cudaFreeHost(e.err));
	CUDA(cudaFree(e.c));
	CUDA(cudaFree(e.buffers));
	CUDA(cudaFree(tiles));
	return right;
}

int main(void)
{
	int devices = 0;
	bool right;

	/* lazily loaded code would wait for an idle GPU */
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	/* a copy within a GPU must not share a connection with the kernel that waits for it */
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		printf("tiles: no GPU here\n");
		return 77;
	}
	right = on_gpus(1);
	if (devices > 1)
		right = on_gpus(2) && right;
	return right ? 0 : 1;
}

// SPDX-License-Identifier: MIT
/*
 * Two ranks exchange halos from inside one kernel that runs from the first step to the
 * last: heat spreads on a torus, each rank has half of its rows, and after each step it
 * puts its first and its last row into the other's memory and a signal behind them. No
 * CPU is told. In the end the CPU does the same and compares.
 *
 *	halo [STEPS [COLUMNS [ROWS]]]
 *
 * With two GPUs there is a rank on each; with one, both are on it.
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <gda/cuda.h>
#include <gda/fastpath.h>
#include "gpu.cuh"

#define RANKS		2
#define BLOCKS		32	/* per rank; all of them run at the same time */
#define THREADS		256
#define PATIENCE_NS	10000000000ULL

/* One rank: its rows are 1 to @rows, and 0 and @rows + 1 are halos. */
struct rank {
	struct gda_view *v;
	float *grid[2];		/* now and next, by turns */
	float *peer[2];		/* the other rank's */
	uint32_t key;
	uint32_t peer_key;
	uint64_t *signal;	/* in host memory: the other has done that many steps */
	uint64_t *peer_signal;
	uint32_t peer_signal_key;
	unsigned int *arrived;	/* blocks at the barrier, in all steps */
	unsigned int *over;	/* something went wrong: for all blocks to see */
	int *err;		/* errors of all ranks, in host memory */
};

struct job {
	struct rank rank[RANKS];
	int first;		/* rank of block 0 */
	uint32_t columns, rows, steps;
};

static __host__ __device__ float heat(float here, float above, float below, float left,
				      float right)
{
	return 0.5f * here + 0.125f * ((above + below) + (left + right));
}

/* Rows come from copy engines and from other blocks: never from this one's cache. */
static __device__ float cell(const float *grid, uint32_t columns, uint32_t row, uint32_t column)
{
	return __ldcg(grid + (size_t)row * columns + column);
}

static __device__ void row_step(const struct job &j, const float *now, float *next, uint32_t row)
{
	uint32_t n = j.columns;

	for (uint32_t c = threadIdx.x; c < n; c += blockDim.x)
		next[(size_t)row * n + c] =
			heat(cell(now, n, row, c), cell(now, n, row - 1, c),
			     cell(now, n, row + 1, c), cell(now, n, row, (c + n - 1) % n),
			     cell(now, n, row, (c + 1) % n));
}

/* One thread: both rows of the grid @next, and a signal behind them. */
static __device__ int row_send(const struct job &j, const struct rank &r, uint32_t step)
{
	float *next = r.grid[step & 1], *peer = r.peer[step & 1];
	uint32_t bytes = j.columns * (uint32_t)sizeof(float);
	uint64_t last = (uint64_t)j.rows * j.columns, beyond = last + j.columns;
	int64_t ticket;

	/* my first row is below the other's last, my last is above its first */
	gda_put(r.v, (uintptr_t)(next + j.columns), r.key, (uintptr_t)(peer + beyond),
		r.peer_key, bytes, GDA_EXCLUSIVE | GDA_DEFER);
	gda_put(r.v, (uintptr_t)(next + last), r.key, (uintptr_t)peer, r.peer_key, bytes,
		GDA_EXCLUSIVE | GDA_DEFER);
	ticket = gda_put_value(r.v, (uintptr_t)r.peer_signal, r.peer_signal_key, step,
			       GDA_EXCLUSIVE);
	return ticket < 0 ? (int)ticket : 0;
}

/* One thread: has the other sent what belongs to @step? */
static __device__ int row_wait(const struct rank &r, uint32_t step)
{
	uint64_t deadline = gda_clock_ns() + PATIENCE_NS;
	struct gda_error error = { sizeof(error) };

	while (gda_nic_load64(r.signal) < step) {
		if (*(volatile int *)r.err)
			return *(volatile int *)r.err;
		if (gda_clock_ns() > deadline)
			return gda_error(r.v, &error) ? -EIO : -ETIMEDOUT;
	}
	return 0;
}

/* All blocks of a rank. */
static __device__ void barrier(const struct rank &r, uint32_t step)
{
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0) {
		atomicAdd(r.arrived, 1);
		while (gda_load_acquire32(r.arrived) < step * BLOCKS)
			;
	}
	__syncthreads();
}

/*
 * A row that was sent at a step is written again two steps later. By then it has arrived,
 * for the other rank's signal of the step between was sent after that, and was waited for.
 */
static __global__ void __launch_bounds__(THREADS) halo_kernel(struct job j)
{
	const struct rank &r = j.rank[j.first + blockIdx.x / BLOCKS];
	uint32_t block = blockIdx.x % BLOCKS;
	int err = 0;

	for (uint32_t step = 1; step <= j.steps; step++) {
		const float *now = r.grid[!(step & 1)];
		float *next = r.grid[step & 1];

		if (block == 0) {
			row_step(j, now, next, 1);
			row_step(j, now, next, j.rows);
			/* posting releases what this thread has seen: let that be all rows */
			__threadfence_system();
			__syncthreads();
			if (threadIdx.x == 0)
				err = row_send(j, r, step);
		}
		/* the others do what lies between, and meanwhile the rows travel */
		for (uint32_t row = 2 + block; row < j.rows; row += BLOCKS)
			row_step(j, now, next, row);
		if (block == 0 && threadIdx.x == 0) {
			err = err ? err : row_wait(r, step);
			if (err) {
				*(volatile int *)r.err = err;
				*(volatile unsigned int *)r.over = 1;
			}
		}
		barrier(r, step);
		/* not in host memory: looks at one line there queue up, a microsecond each */
		if (__ldcg(r.over))
			return;
	}
	/* the QP is destroyed next */
	if (block == 0 && threadIdx.x == 0) {
		err = gda_quiet(r.v, 0);
		if (err)
			*(volatile int *)r.err = err;
	}
}

/* The host's side of a rank. */
struct host_rank {
	int device;
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	struct gda_cuda_qp *qp;
	struct gda_mr *mr;
	struct gda_mr *signal_mr;
	float *memory;
};

static size_t cells(const struct job &j)
{
	return (size_t)(j.rows + 2) * j.columns;
}

static float initial(uint32_t row, uint32_t column)
{
	return (float)((row * 37U + column * 101U) % 1000U);
}

static void rank_open(struct host_rank *h, struct rank *r, const struct job &j, int number,
		      uint64_t *signal)
{
	struct gda_cuda_qp_attr attr = { sizeof(attr) };
	std::vector<float> grid(cells(j));

	CUDA(cudaSetDevice(h->device));
	GDA(gda_open(GDA_DEVICE_INPROC, &h->ctx));
	GDA(gda_cuda_open(h->ctx, h->device, &h->cuda));
	/* waiting threads poll GPU memory, and no poll crosses the bus */
	attr.place = GDA_CUDA_CQ_GPU;
	attr.timeout_ns = PATIENCE_NS;
	GDA(gda_cuda_qp_create(h->cuda, &attr, &h->qp));
	CUDA(cudaMalloc(&h->memory, 2 * cells(j) * sizeof(float)));
	GDA(gda_cuda_mr_reg(h->cuda, (uintptr_t)h->memory, 2 * cells(j) * sizeof(float),
			    GDA_ACCESS_ALL, 0, &h->mr));
	GDA(gda_mr_reg(h->ctx, signal, sizeof(*signal), GDA_ACCESS_ALL, 0, &h->signal_mr));
	/* the rank's rows, and the halos of the first step */
	for (uint32_t row = 0; row < j.rows + 2; row++)
		for (uint32_t c = 0; c < j.columns; c++)
			grid[(size_t)row * j.columns + c] =
				initial((number * j.rows + row + RANKS * j.rows - 1) %
					(RANKS * j.rows), c);
	CUDA(cudaMemcpy(h->memory, grid.data(), cells(j) * sizeof(float),
			cudaMemcpyHostToDevice));
	CUDA(cudaMalloc(&r->arrived, 2 * sizeof(*r->arrived)));
	CUDA(cudaMemset(r->arrived, 0, 2 * sizeof(*r->arrived)));
	r->over = r->arrived + 1;
	r->v = gda_cuda_qp_view(h->qp);
	r->grid[0] = h->memory;
	r->grid[1] = h->memory + cells(j);
	r->key = gda_mr_key(h->mr);
	r->signal = signal;
}

static void ranks_connect(struct host_rank h[RANKS], struct rank r[RANKS])
{
	struct gda_address addr[RANKS];

	for (int i = 0; i < RANKS; i++)
		GDA(gda_qp_address(gda_cuda_qp_base(h[i].qp), &addr[i]));
	for (int i = 0; i < RANKS; i++) {
		GDA(gda_qp_connect(gda_cuda_qp_base(h[i].qp), &addr[!i]));
		r[i].peer[0] = r[!i].grid[0];
		r[i].peer[1] = r[!i].grid[1];
		r[i].peer_key = r[!i].key;
		r[i].peer_signal = r[!i].signal;
		r[i].peer_signal_key = gda_mr_key(h[!i].signal_mr);
	}
}

static void rank_close(struct host_rank *h, struct rank *r)
{
	CUDA(cudaSetDevice(h->device));
	GDA(gda_cuda_qp_destroy(h->qp));
	GDA(gda_mr_dereg(h->signal_mr));
	GDA(gda_mr_dereg(h->mr));
	CUDA(cudaFree(r->arrived));
	CUDA(cudaFree(h->memory));
	gda_cuda_close(h->cuda);
	gda_close(h->ctx);
}

/* Return: ns that all steps took, on all GPUs. */
static uint64_t run(struct job *j, const struct host_rank h[RANKS])
{
	int kernels = h[0].device == h[1].device ? 1 : RANKS;
	uint64_t began = gda_clock_ns();

	for (int i = 0; i < kernels; i++) {
		CUDA(cudaSetDevice(h[i].device));
		j->first = i;
		halo_kernel<<<BLOCKS * RANKS / kernels, THREADS>>>(*j);
		CUDA(cudaGetLastError());
	}
	for (int i = 0; i < kernels; i++) {
		CUDA(cudaSetDevice(h[i].device));
		CUDA(cudaDeviceSynchronize());
	}
	return gda_clock_ns() - began;
}

/* The whole torus on the CPU. */
static std::vector<float> reference(const struct job &j)
{
	uint32_t n = j.columns, rows = RANKS * j.rows;
	std::vector<float> now((size_t)rows * n), next(now.size());

	for (uint32_t row = 0; row < rows; row++)
		for (uint32_t c = 0; c < n; c++)
			now[(size_t)row * n + c] = initial(row, c);
	for (uint32_t step = 0; step < j.steps; step++) {
		for (uint32_t row = 0; row < rows; row++) {
			const float *here = &now[(size_t)row * n];
			const float *above = &now[(size_t)((row + rows - 1) % rows) * n];
			const float *below = &now[(size_t)((row + 1) % rows) * n];

			for (uint32_t c = 0; c < n; c++)
				next[(size_t)row * n + c] =
					heat(here[c], above[c], below[c], here[(c + n - 1) % n],
					     here[(c + 1) % n]);
		}
		now.swap(next);
	}
	return now;
}

static double difference(const struct job &j, const struct host_rank h[RANKS])
{
	std::vector<float> right = reference(j), got((size_t)j.rows * j.columns);
	double most = 0;

	for (int i = 0; i < RANKS; i++) {
		CUDA(cudaMemcpy(got.data(), j.rank[i].grid[j.steps & 1] + j.columns,
				got.size() * sizeof(float), cudaMemcpyDeviceToHost));
		for (size_t k = 0; k < got.size(); k++)
			most = fmax(most, fabs((double)got[k] - right[i * got.size() + k]));
	}
	(void)h;
	return most;
}

int main(int argc, char **argv)
{
	struct host_rank h[RANKS] = {};
	struct job j = {};
	int devices = 0, *err;
	uint64_t *signals, ns;
	double most;

	j.steps = argc > 1 ? (uint32_t)atoi(argv[1]) : 200;
	j.columns = argc > 2 ? (uint32_t)atoi(argv[2]) : 1024;
	j.rows = argc > 3 ? (uint32_t)atoi(argv[3]) : 256;
	if (!j.steps || !j.columns || j.rows < 2) {
		fprintf(stderr, "usage: halo [STEPS [COLUMNS [ROWS]]]\n");
		return 2;
	}
	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		printf("halo: there is no GPU here\n");
		return 4;
	}
	/* signals a line apart, then the error */
	CUDA(cudaHostAlloc(&signals, 4096, cudaHostAllocPortable));
	memset(signals, 0, 4096);
	err = (int *)(signals + 64);
	for (int i = 0; i < RANKS; i++) {
		h[i].device = i % devices;
		j.rank[i].err = err;
		rank_open(&h[i], &j.rank[i], j, i, signals + 16 * i);
	}
	ranks_connect(h, j.rank);
	ns = run(&j, h);
	if (*err) {
		fprintf(stderr, "halo: a kernel gave up: %s\n", gda_strerror(*err));
		return 1;
	}
	most = difference(j, h);
	printf("halo: %d ranks of %u x %u on %d GPU%s, %u steps, %.1f us each; greatest "
	       "difference to the CPU %g: %s\n", RANKS, j.rows, j.columns,
	       devices > 1 ? 2 : 1, devices > 1 ? "s" : "", j.steps, (double)ns / 1e3 / j.steps,
	       most, most < 1e-2 ? "right" : "WRONG");
	for (int i = 0; i < RANKS; i++)
		rank_close(&h[i], &j.rank[i]);
	CUDA(cudaFreeHost(signals));
	return most < 1e-2 ? 0 : 1;
}

// SPDX-License-Identifier: MIT
/*
 * Ring all-reduce as gin-allreduce.c does it on CPUs, in kernels that are resident for all of
 * its rounds:
 *
 *	gin-allreduce-gpu [--ranks N] [ROUNDS]
 *
 * Ranks are threads of this process, each with a GPU, or with a share of those that are there; N
 * is 2. First each block of words goes once around the ring and grows into the sum of all ranks'
 * (reduce-scatter), then the sums go around (all-gather). Each step is one put with a signal
 * behind it, by a block of threads that shares a poster; no CPU is told. In the end the CPU
 * computes the sums of the last round and compares.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>
#include <gda/cuda.h>
#include <gda/gin.h>
#include "gpu.cuh"

#define WORDS	16384U		/* of a block of the data; it has as many as there are ranks */
#define BYTES	(WORDS * sizeof(uint64_t))
#define MOST	4U		/* ranks */
#define THREADS	512U

struct job {
	struct gda_gin_comm *comm;
	const struct gda_window *window;
	uint64_t *blocks;	/* of the window; behind them an inbox for each step */
	uint32_t rank, nranks, rounds;
	int *err;		/* in memory of the host */
};

static __host__ __device__ uint64_t element(uint32_t rank, uint32_t round, uint32_t i)
{
	return (uint64_t)(rank + 1) * 1000003 + (uint64_t)i * i + round * 77;
}

/* By all threads: put a block to the next rank, and wait for what the one before has put. */
static __device__ int pass(struct gda_gin *gin, struct gda_gin_poster<struct gda_shared> &next,
			   struct gda_gin_place to, struct gda_gin_place from, uint64_t steps)
{
	return gda_gin_group(gda_block_group(), [&] {
		int err = gda_gin_put(next, to, from, BYTES, gda_gin_inc(0, 0));

		return err ? err : gda_gin_wait_signal(gin, 0, steps, 64, 0);
	});
}

static __device__ int allreduce(const struct job &j, struct gda_gin *gin,
				struct gda_gin_poster<struct gda_shared> &next, uint64_t &steps)
{
	uint32_t n = j.nranks, step;
	uint64_t *inbox = j.blocks + (size_t)n * WORDS;
	int err = 0;

	for (step = 0; !err && step + 1 < n; step++) {
		uint32_t out = (j.rank + n - step) % n, in = (out + n - 1) % n;

		err = pass(gin, next, gda_at_element(j.window, n * BYTES, step, BYTES),
			   gda_at_element(j.window, 0, out, BYTES), ++steps);
		for (uint32_t i = threadIdx.x; i < WORDS; i += THREADS)
			j.blocks[(size_t)in * WORDS + i] += __ldcg(inbox + (size_t)step * WORDS + i);
	}
	for (; !err && step + 2 < 2 * n; step++) {
		uint32_t out = (j.rank + 2 * n - step) % n;
		struct gda_gin_place at = gda_at_element(j.window, 0, out, BYTES);

		err = pass(gin, next, at, at, ++steps);
	}
	return err;
}

static __global__ void __launch_bounds__(THREADS) allreduce_kernel(struct job j)
{
	struct gda_gin *gin = gda_gin_context(j.comm, 0);
	auto next = gda_gin_open_gpu(gin, (j.rank + 1) % j.nranks, false);
	uint64_t steps = 0;
	int err = next.err;

	for (uint32_t round = 0; !err && round < j.rounds; round++) {
		for (uint32_t i = threadIdx.x; i < j.nranks * WORDS; i += THREADS)
			j.blocks[i] = element(j.rank, round, i);
		/* a rank may put once all have theirs: what it puts replaces sums of the round before */
		err = gda_gin_group(gda_block_group(), [&] {
			return gda_gin_barrier_sync_all(j.comm, gda_team_world(j.comm), 0,
							GDA_GIN_FENCE_PUT, 0);
		});
		err = err ? err : allreduce(j, gin, next, steps);
		err = err ? err : gda_gin_group(gda_block_group(), [&] {
			return gda_gin_flush(next, 0);
		});
	}
	if (!threadIdx.x)
		*j.err = err;
}

/* The host's side of a rank. */
struct rank {
	struct gda_comm_id *id;
	struct job job;
	int device;
	struct gda_comm *ranks;
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	struct gda_gin_comm *comm;
	struct gda_window *window;
	cudaStream_t stream;
	bool right;
};

static void rank_open(struct rank *r)
{
	struct gda_comm_attr attr = { sizeof(attr), 0, r->job.rank, r->job.nranks, r->id, NULL,
				      NULL, 60000000000ULL };
	struct gda_window_segment segment;
	struct gda_window_attr what = { sizeof(what), 0, &segment, 1, 0 };
	struct gda_gin_attr gin = {};

	CUDA(cudaSetDevice(r->device));
	CUDA(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
	GDA(gda_comm_create(&attr, &r->ranks));
	GDA(gda_open(GDA_DEVICE_INPROC, &r->ctx));
	GDA(gda_cuda_open(r->ctx, r->device, &r->cuda));
	gin.size = sizeof(gin);
	gin.signals = 1;
	gin.barriers = 1;
	gin.timeout_ns = 10000000000ULL;
	gin.cuda = r->cuda;
	/* one block: the CUDA driver's copies find room */
	gin.place = GDA_CUDA_CQ_GPU | GDA_CUDA_LEAVES_ROOM;
	GDA(gda_gin_create(r->ranks, r->ctx, &gin, &r->comm));
	segment.bytes = 2 * r->job.nranks * BYTES;
	CUDA(cudaMalloc(&r->job.blocks, segment.bytes));
	segment.addr = (uintptr_t)r->job.blocks;
	GDA(gda_window_register(r->comm, &what, &r->window));
	CUDA(cudaHostAlloc(&r->job.err, sizeof(int), cudaHostAllocDefault));
	*r->job.err = -ECANCELED;
	r->job.comm = gda_gin_cuda_comm(r->comm);
	r->job.window = gda_gin_cuda_window(r->window);
}

static void rank_close(struct rank *r)
{
	gda_window_deregister(r->window);
	gda_gin_destroy(r->comm);
	CUDA(cudaFree(r->job.blocks));
	CUDA(cudaFreeHost(r->job.err));
	gda_cuda_close(r->cuda);
	gda_close(r->ctx);
	gda_comm_destroy(r->ranks);
	CUDA(cudaStreamDestroy(r->stream));
}

static bool compare(const struct rank *r)
{
	uint32_t n = r->job.nranks;
	std::vector<uint64_t> got((size_t)n * WORDS);

	CUDA(cudaMemcpy(got.data(), r->job.blocks, got.size() * sizeof(got[0]),
			cudaMemcpyDeviceToHost));
	for (uint32_t i = 0; i < n * WORDS; i++) {
		uint64_t sum = 0;

		for (uint32_t k = 0; k < n; k++)
			sum += element(k, r->job.rounds - 1, i);
		if (got[i] != sum)
			return false;
	}
	return true;
}

static void rank_main(struct rank *r)
{
	uint64_t began;
	double us;

	rank_open(r);
	GDA(gda_comm_barrier(r->ranks, 0));
	began = gda_clock_ns();
	allreduce_kernel<<<1, THREADS, 0, r->stream>>>(r->job);
	CUDA(cudaGetLastError());
	CUDA(cudaStreamSynchronize(r->stream));
	us = (double)(gda_clock_ns() - began) / 1e3 / r->job.rounds;
	/* a copy and what frees wait for kernels of other ranks on the same GPU */
	GDA(gda_comm_barrier(r->ranks, 0));
	r->right = !*r->job.err && compare(r);
	printf("ring all-reduce: rank %u on GPU %d, %u rounds of %zu bytes, %.1f us each: %s\n",
	       r->job.rank, r->device, r->job.rounds, r->job.nranks * BYTES, us,
	       *r->job.err ? gda_strerror(*r->job.err) : r->right ? "right" : "WRONG");
	rank_close(r);
}

int main(int argc, char **argv)
{
	uint32_t nranks = 2, rounds = 100;
	struct gda_comm_id id;
	int devices = 0;
	bool right = true;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--ranks") && i + 1 < argc)
			nranks = (uint32_t)atoi(argv[++i]);
		else
			rounds = (uint32_t)atoi(argv[i]);
	}
	if (nranks < 2 || nranks > MOST || !rounds) {
		fprintf(stderr, "usage: gin-allreduce-gpu [--ranks 2..%u] [ROUNDS]\n", MOST);
		return 2;
	}
	/* lazily loaded code would wait for an idle GPU while another rank's kernel runs */
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	/* a copy within a GPU must not share a connection with the kernel that waits for it */
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	setenv("GDA_INPROC_WORKERS", "2", 0);
	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		printf("all-reduce: there is no GPU here\n");
		return 4;
	}
	std::vector<struct rank> ranks(nranks);
	std::vector<std::thread> threads;

	GDA(gda_comm_id_create(NULL, &id));
	for (uint32_t i = 0; i < nranks; i++) {
		ranks[i].id = &id;
		ranks[i].job.rank = i;
		ranks[i].job.nranks = nranks;
		ranks[i].job.rounds = rounds;
		ranks[i].device = (int)i % devices;
		threads.emplace_back(rank_main, &ranks[i]);
	}
	for (auto &t : threads)
		t.join();
	for (const auto &r : ranks)
		right &= r.right;
	return right ? 0 : 1;
}

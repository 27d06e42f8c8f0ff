// SPDX-License-Identifier: MIT
/*
 * The fast path in device code: threads of a GPU post to a queue in host memory that
 * the fake NIC consumes and checks on a CPU. The view and the slot words lie in GPU
 * memory. make check-gpu runs it. Speaks KTAP.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <gda/gpu/post.h>
#include "fake_nic.h"

#define CUDA(call) do { \
	cudaError_t err_ = (call); \
	if (err_ != cudaSuccess) { \
		printf("Bail out! %s: %s\n", #call, cudaGetErrorString(err_)); \
		exit(1); \
	} \
} while (0)

struct job {
	struct gda_view *v;
	uint32_t puts;
	unsigned int flags;
	uint32_t batch;
	bool pairs;		/* two entries with one reservation */
	int *errors;
};

static __device__ __forceinline__ int post_all(const struct job &j, uint32_t id,
					       unsigned int flags)
{
	int64_t ticket = 0;

	for (uint32_t i = 0; i < j.puts; i++) {
		ticket = fake_post(j.v, id, i, j.batch && (i + 1) % j.batch ?
				   flags | GDA_DEFER : flags);
		if (ticket < 0)
			return (int)ticket;
	}
	return gda_wait(j.v, ticket, 0);
}

static __device__ void post_one(const struct gda_port &p, uint64_t index, uint32_t id,
				uint64_t number)
{
	gda_write_rdma(p, index, GDA_MLX5_WRITE, ~number, id, number, id * 0x9e3779b9U,
		       (id ^ (uint32_t)number) & 0xffffff);
	/* which a device does not read, but the checks do */
	gda_store128(p.sq + ((uint32_t)index & p.mask) * 64 + 48, 0, 0, 0, 0);
}

static __device__ int post_pairs(const struct job &j, uint32_t id)
{
	struct gda_shared q = gda_shared_open(j.v, false);
	int64_t ticket = 0;

	for (uint32_t i = 0; i < j.puts; i += 2) {
		ticket = gda_post(q, 2, 0, [&](uint64_t index) {
			post_one(q.port, index, id, i);
			post_one(q.port, index + 1, id, i + 1);
		});
		if (ticket < 0)
			return (int)ticket;
	}
	return gda_wait(q, ticket, 0);
}

static __global__ void post_kernel(struct job j)
{
	uint32_t id = blockIdx.x * blockDim.x + threadIdx.x;
	int err;

	if (j.pairs)
		err = post_pairs(j, id);
	else if (j.flags & GDA_EXCLUSIVE)
		err = post_all(j, id, GDA_EXCLUSIVE);
	else
		err = post_all(j, id, 0);
	if (err)
		atomicCAS(j.errors, 0, err);
}

/* A wait on the GPU for what never completes must end at its deadline. */
static __global__ void timeout_kernel(struct gda_view *v, int *err)
{
	*err = gda_wait(v, gda_nop(v, 0), gda_clock_ns() + 1000000);
}

struct gpu_queue {
	struct fake_queue *q;
	struct gda_view *v;	/* in GPU memory */
	uint32_t *slots;
	int *error;
};

static void gpu_queue_open(struct gpu_queue *g, uint32_t depth)
{
	struct gda_view view;

	g->q = fake_queue_new(depth);
	CUDA(cudaHostRegister(g->q, sizeof(*g->q), cudaHostRegisterDefault));
	CUDA(cudaHostRegister(g->q->sq, (size_t)depth * 64, cudaHostRegisterDefault));
	CUDA(cudaMalloc(&g->v, sizeof(*g->v)));
	CUDA(cudaMalloc(&g->slots, depth * sizeof(uint32_t)));
	CUDA(cudaMalloc(&g->error, sizeof(int)));
	CUDA(cudaMemset(g->error, 0, sizeof(int)));
	CUDA(cudaMemcpy(g->slots, g->q->slots, depth * sizeof(uint32_t),
			cudaMemcpyHostToDevice));
	view = g->q->view;
	view.slots = (uintptr_t)g->slots;
	view.abort = (uintptr_t)&g->v->abort_word;
	view.timeout_ns = 10000000000U;
	CUDA(cudaMemcpy(g->v, &view, sizeof(view), cudaMemcpyHostToDevice));
}

static int gpu_queue_close(struct gpu_queue *g)
{
	int err;

	CUDA(cudaMemcpy(&err, g->error, sizeof(err), cudaMemcpyDeviceToHost));
	CUDA(cudaFree(g->v));
	CUDA(cudaFree(g->slots));
	CUDA(cudaFree(g->error));
	CUDA(cudaHostUnregister(g->q->sq));
	CUDA(cudaHostUnregister(g->q));
	fake_queue_free(g->q);
	return err;
}

static int number, status;

static void verdict(bool ok, const char *what)
{
	printf("%sok %d %s\n", ok ? "" : "not ", ++number, what);
	status |= !ok;
}

static void run_on(const char *what, uint32_t depth, int blocks, int threads, uint32_t puts,
		   unsigned int flags, uint32_t batch, bool pairs)
{
	static struct fake_nic nic;
	struct gpu_queue g;
	struct job j;
	uint64_t began, ns, wrong;
	int err;

	gpu_queue_open(&g, depth);
	j = { g.v, puts, flags, batch, pairs, g.error };
	fake_nic_start(&nic, g.q, 0);
	began = gda_clock_ns();
	post_kernel<<<blocks, threads>>>(j);
	CUDA(cudaDeviceSynchronize());
	ns = gda_clock_ns() - began;
	wrong = fake_nic_stop(&nic);
	for (int i = 0; i < blocks * threads; i++)
		wrong += nic.expected[i] != puts;
	err = gpu_queue_close(&g);
	printf("# %s: %.2f M/s, %llu doorbells seen, error %d, wrong %llu\n", what,
	       (double)blocks * threads * puts * 1e3 / (double)ns,
	       (unsigned long long)nic.doorbells, err, (unsigned long long)wrong);
	if (wrong)
		printf("# backwards %llu overrun %llu stale %llu torn %llu order %llu\n",
		       (unsigned long long)nic.backwards, (unsigned long long)nic.overrun,
		       (unsigned long long)nic.stale, (unsigned long long)nic.torn,
		       (unsigned long long)nic.order);
	verdict(!err && !wrong, what);
}

static void run(const char *what, int blocks, int threads, uint32_t puts, unsigned int flags,
		uint32_t batch)
{
	run_on(what, 1024, blocks, threads, puts, flags, batch, false);
}

/* Two slots at a time: of one word, of two, and around the end of a ring. */
static void run_pairs(uint32_t depth)
{
	char what[64];

	snprintf(what, sizeof(what), "shared, one thread, pairs in a ring of %u", depth);
	run_on(what, depth, 1, 1, 2000, 0, 0, true);
	snprintf(what, sizeof(what), "shared, 3 blocks, pairs in a ring of %u", depth);
	run_on(what, depth, 3, 1, 1000, 0, 0, true);
}

int main()
{
	struct gpu_queue g;
	int devices = 0;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		printf("1..0 # SKIP no GPU here\n");
		return 0;
	}
	printf("1..28\n");
	run("exclusive, one thread", 1, 1, 20000, GDA_EXCLUSIVE, 0);
	run("exclusive, one thread, batches of 16", 1, 1, 20000, GDA_EXCLUSIVE, 16);
	run("shared, one thread", 1, 1, 20000, 0, 0);
	run("shared, 8 blocks of one", 8, 1, 5000, 0, 0);
	run("shared, 132 blocks of one", 132, 1, 1000, 0, 0);
	run("shared, 132 blocks, batches of 5", 132, 1, 1000, 0, 5);
	/* as many posters as slots: a slot comes round as soon as it is free */
	for (int i = 0; i < 6; i++) {
		run("shared, 16 blocks of 64, divergent", 16, 64, 100, 0, 0);
		run("shared, 128 blocks of 8, divergent", 128, 8, 100, 0, 0);
	}
	run("shared, 132 blocks of 31, divergent", 132, 31, 20, 0, 0);

	for (uint32_t depth = 8; depth <= 64; depth *= 2)
		run_pairs(depth);

	gpu_queue_open(&g, 16);
	timeout_kernel<<<1, 1>>>(g.v, g.error);
	CUDA(cudaDeviceSynchronize());
	verdict(gpu_queue_close(&g) == -ETIMEDOUT, "a wait ends at its deadline");
	return status;
}

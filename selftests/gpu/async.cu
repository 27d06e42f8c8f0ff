// SPDX-License-Identifier: MIT
/*
 * gda/async.h in kernels, on the in-process device: blocks copy within the memory of their GPU, and
 * between it and mapped memory of the host, and compare what came. Speaks KTAP.
 */
#include <cstring>
#include <gda/async.h>
#include "ktap.cuh"

#define BLOCKS		8U
#define PART		65536U
#define BYTES		(2 * BLOCKS * PART)
#define WORDS		4096U
#define ROUNDS		50U
#define SECOND		1000000000ULL

/* The first error of each block; in mapped memory of the host. */
struct report {
	int line;
	long long is, want;
};

struct env {
	struct gda_async_workspace *workspace;
	uint8_t *mem;			/* of the GPU: destinations, and behind them sources */
	uint64_t *words;		/* of the host */
	struct report *reports;
};

#define EQ(want_, is_) do { \
	long long a_ = (long long)(want_), b_ = (long long)(is_); \
	if (a_ != b_) { \
		fail(e, __LINE__, b_, a_); \
		return; \
	} \
} while (0)

static __device__ void fail(struct env e, int line, long long is, long long want)
{
	e.reports[blockIdx.x].is = is;
	e.reports[blockIdx.x].want = want;
	__threadfence_system();
	e.reports[blockIdx.x].line = line;
}

static __device__ uint8_t pattern(uint32_t i, uint32_t which)
{
	return (uint8_t)(i * 31 + i / 256 + which * 129 + 1);
}

static __device__ void fill(uint8_t *p, uint32_t bytes, uint32_t which)
{
	for (uint32_t i = 0; i < bytes; i++)
		p[i] = pattern(i, which);
}

static __device__ bool is(const uint8_t *p, uint32_t bytes, uint32_t which)
{
	for (uint32_t i = 0; i < bytes; i++)
		if (*(volatile const uint8_t *)(p + i) != pattern(i, which))
			return false;
	return true;
}

/* One thread of each block, in the group of the block's number, with scratch that it shares. */
static __global__ void copies(struct env e)
{
	__shared__ uint64_t scratch[32];
	struct gda_async_session s;
	uint8_t *dst = e.mem + blockIdx.x * PART, *src = dst + BLOCKS * PART;

	s.size = sizeof(s);
	EQ(0, gda_async_open(e.workspace, GDA_ASYNC_AUTO, scratch, sizeof(scratch), &s));
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct gda_async_event event[4];

		fill(src, 4096, blockIdx.x + round);
		__threadfence_system();
		for (int i = 0; i < 4; i++) {
			event[i] = gda_async_get(&s, GDA_ASYNC_COPY, dst + 1024 * i,
						 src + 1024 * i, 1024, 0);
			EQ(1, event[i].handle > 0);
		}
		EQ(0, gda_async_wait_for(&s, event[1], gda_clock_ns() + 20 * SECOND));
		EQ(1, is(dst, 2048, blockIdx.x + round));
		EQ(0, gda_async_wait(&s, gda_clock_ns() + 20 * SECOND));
		EQ(1, is(dst, 4096, blockIdx.x + round));
		EQ(1, gda_async_test(&s, event[3]));
	}
}

/* A refused call posts nothing, on a GPU, too. */
static __global__ void refusals(struct env e)
{
	__shared__ uint64_t scratch[32];
	struct gda_async_session s;

	s.size = sizeof(s);
	EQ(-EINVAL, gda_async_open(e.workspace, 1000, scratch, sizeof(scratch), &s));
	EQ(0, gda_async_open(e.workspace, GDA_ASYNC_AUTO, scratch, sizeof(scratch), &s));
	EQ(0, gda_async_get(&s, GDA_ASYNC_COPY, e.mem + BYTES, e.mem, 1, 0).handle);
	EQ(-EFAULT, s.refused);
	EQ(0, gda_async_get(&s, GDA_ASYNC_PEER, e.mem, e.mem, 1, 0).handle);
	EQ(-EINVAL, s.refused);
	EQ(0, gda_async_wait(&s, 0));
}

/* A notification of another block behind a copy: its word is the host's. */
static __global__ void notes(struct env e)
{
	__shared__ uint64_t scratch[32];
	struct gda_async_session s;
	uint32_t last = (blockIdx.x + gridDim.x - 1) % gridDim.x;
	uint32_t next = (blockIdx.x + 1) % gridDim.x;
	uint8_t *dst = e.mem + next * PART, *src = e.mem + (BLOCKS + blockIdx.x) * PART;

	s.size = sizeof(s);
	EQ(0, gda_async_open(e.workspace, GDA_ASYNC_AUTO, scratch, sizeof(scratch), &s));
	fill(src, 2048, 100 + blockIdx.x);
	__threadfence_system();
	EQ(1, gda_async_put(&s, GDA_ASYNC_COPY, dst, src, 2048, 0).handle > 0);
	EQ(1, gda_async_notify(&s, GDA_ASYNC_COPY, e.words + next, GDA_ASYNC_SET, 7, 0).handle > 0);
	EQ(0, gda_async_wait_word(&s, e.words + blockIdx.x, GDA_ASYNC_GE, 7,
				  gda_clock_ns() + 20 * SECOND));
	EQ(1, is(e.mem + blockIdx.x * PART, 2048, 100 + last));
	EQ(0, gda_async_wait(&s, gda_clock_ns() + 20 * SECOND));
}

static int number, status;

static void run(const char *name, void (*kernel)(struct env e), uint32_t queues)
{
	struct gda_async_window windows[2];
	struct gda_async_attr attr = {};
	struct gda_async_workspace *w;
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	struct env e;
	int failed = 0;

	ktap_running = name;
	CUDA(cudaMalloc(&e.mem, BYTES));
	CUDA(cudaHostAlloc(&e.words, WORDS, cudaHostAllocMapped | cudaHostAllocPortable));
	CUDA(cudaHostAlloc(&e.reports, BLOCKS * sizeof(*e.reports), cudaHostAllocMapped));
	memset(e.words, 0, WORDS);
	memset(e.reports, 0, BLOCKS * sizeof(*e.reports));
	windows[0].addr = (uintptr_t)e.mem;
	windows[0].bytes = BYTES;
	windows[1].addr = (uintptr_t)e.words;
	windows[1].bytes = WORDS;
	attr.size = sizeof(attr);
	attr.groups = BLOCKS;
	attr.queues = queues;
	attr.windows = windows;
	attr.count = 2;
	GDA(gda_open(GDA_DEVICE_INPROC, &ctx));
	GDA(gda_cuda_open(ctx, 0, &cuda));
	attr.cuda = cuda;
	GDA(gda_async_create(NULL, ctx, &attr, &w));
	e.workspace = gda_async_cuda_workspace(w);
	kernel<<<BLOCKS, 1>>>(e);
	CUDA(cudaDeviceSynchronize());
	for (uint32_t i = 0; i < BLOCKS; i++) {
		if (!e.reports[i].line)
			continue;
		printf("# block %u, line %d: %lld, not %lld\n", i, e.reports[i].line,
		       e.reports[i].is, e.reports[i].want);
		failed = 1;
	}
	gda_async_destroy(w);
	gda_cuda_close(cuda);
	gda_close(ctx);
	CUDA(cudaFreeHost(e.reports));
	CUDA(cudaFreeHost(e.words));
	CUDA(cudaFree(e.mem));
	printf("%sok %d %s.%u_queues\n", failed ? "not " : "", ++number, name, queues);
	status |= failed;
}

int main(void)
{
	int devices = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* lazily loaded code would wait for an idle GPU */
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		printf("1..0 # SKIP no GPU here\n");
		return 0;
	}
	signal(SIGALRM, ktap_hangs);
	alarm(120);
	printf("TAP version 13\n1..6\n");
	for (uint32_t queues = 1; queues < 4; queues += 2) {
		run("P_01_copies", copies, queues);
		run("P_03_refusals", refusals, queues);
		run("P_15_notes", notes, queues);
	}
	return status;
}

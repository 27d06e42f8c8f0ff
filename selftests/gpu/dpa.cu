// SPDX-License-Identifier: MIT
/*
 * Events of gda/dpa.h on a GPU: kernels that a stream's wait starts, one for each update and none
 * lost; kernels that wait for an event and set one; launches that a kernel starts. And how long
 * it takes from an event to a kernel, beside a thread that polls and launches. Speaks KTAP.
 */
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>
#include <vector>
#include <cuda_runtime.h>
#include <gda/dpa_cuda.h>
#include "ktap.cuh"

#define KERNELS		10000U
#define BATCH		200U	/* behind waits at a time: a stream has room for about a thousand */
#define ROUNDS		1000U
#define TIMES		501U
#define SECOND		1000000000ULL

/* In memory of the host that the GPU has mapped. */
struct shared {
	uint64_t ran;			/* kernels */
	uint64_t early;			/* of them, or in another order */
	uint64_t stamp;			/* of the last one */
	int err;
};

static struct gda_context *ctx;
static struct gda_cuda *cuda;
static struct gda_dpa *dpa;
static struct gda_dpa_cuda *gpu;
static struct shared *shared;
static cudaStream_t stream;
static int status, number;

static uint64_t soon(void)
{
	return gda_clock_ns() + 20 * SECOND;
}

static void verdict(const char *name, bool good)
{
	printf("%sok %d %s\n", good ? "" : "not ", ++number, name);
	status |= !good;
}

static struct gda_dpa_event *event(uint32_t publishers, uint32_t subscribers)
{
	struct gda_dpa_event_attr attr = { sizeof(attr), 0, publishers, subscribers };
	struct gda_dpa_event *e;

	GDA(gda_dpa_event_create(dpa, &attr, &e));
	return e;
}

static struct gda_dpa_cuda_event word_of(struct gda_dpa_event *e)
{
	struct gda_dpa_cuda_event word;

	GDA(gda_dpa_cuda_event(gpu, e, &word));
	return word;
}

/* --- kernels that a stream's wait starts --- */

static __global__ void started(struct shared *s, struct gda_dpa_cuda_event go, uint64_t i)
{
	if (gda_dpa_cuda_read(go) <= i || s->ran != i)
		s->early++;
	s->ran++;
}

static void stream_starts_kernels(void)
{
	struct gda_dpa_event *go = event(GDA_DPA_HOST, GDA_DPA_GPU | GDA_DPA_HOST);
	struct gda_dpa_event *done = event(GDA_DPA_GPU, GDA_DPA_HOST);
	struct gda_dpa_cuda_event word = word_of(go);
	uint64_t i, k, value;

	*shared = {};
	for (i = 0; i < KERNELS; i += BATCH) {
		for (k = i; k < i + BATCH; k++) {
			GDA(gda_dpa_cuda_stream_wait_gt(gpu, go, k, UINT64_MAX, stream));
			started<<<1, 1, 0, stream>>>(shared, word, k);
			CUDA(cudaGetLastError());
			GDA(gda_dpa_cuda_stream_set(gpu, done, k + 1, stream));
		}
		/* one by one, and many at once */
		for (k = i; k < i + BATCH; k++) {
			GDA(gda_dpa_event_add(go, 1));
			if (i / BATCH % 2)
				GDA(gda_dpa_event_await_gt(done, k, UINT64_MAX, soon()));
		}
		GDA(gda_dpa_event_await_gt(done, i + BATCH - 1, UINT64_MAX, soon()));
	}
	CUDA(cudaStreamSynchronize(stream));
	GDA(gda_dpa_event_get(done, &value));
	printf("# %llu kernels, %llu early\n", (unsigned long long)shared->ran,
	       (unsigned long long)shared->early);
	verdict("D_06_kernels_behind_a_streams_wait",
		shared->ran == KERNELS && !shared->early && value == KERNELS);
}

/* --- kernels that wait and set --- */

static __global__ void echo(struct shared *s, struct gda_dpa_cuda_event to,
			    struct gda_dpa_cuda_event from)
{
	uint64_t i;

	for (i = 0; i < ROUNDS && !s->err; i++) {
		s->err = gda_dpa_cuda_wait_gt(to, i, UINT64_MAX, gda_clock_ns() + 20 * SECOND);
		gda_dpa_cuda_set(from, i + 1);
	}
	/* under a mask, and other than a value */
	if (!s->err)
		s->err = gda_dpa_cuda_wait_ne(to, ROUNDS & 0xff, 0xff,
					      gda_clock_ns() + 20 * SECOND);
	gda_dpa_cuda_set(from, ROUNDS + 1);
}

GDA_DPA_TASK(d_answer)
{
	gda_dpa_event_update_add(t, *(const uint32_t *)args, 1);
}

/* The host, or with @tasks launches, answer each set of a kernel. */
static void kernels_wait(const char *name, bool tasks)
{
	struct gda_dpa_event *to = event(GDA_DPA_HOST | GDA_DPA_TASKS, GDA_DPA_GPU | GDA_DPA_HOST);
	struct gda_dpa_event *from = event(GDA_DPA_GPU, GDA_DPA_HOST | GDA_DPA_TASKS);
	uint32_t handle = gda_dpa_event_handle(to);
	uint64_t i;

	*shared = {};
	for (i = 1; tasks && i <= ROUNDS; i++) {
		struct gda_dpa_launch_attr l = {};

		l.size = sizeof(l);
		l.task = &d_answer;
		l.wait = from;
		l.threshold = i - 1;
		l.threads = 1;
		l.bytes = sizeof(handle);
		l.args = &handle;
		GDA(gda_dpa_launch(dpa, &l));
	}
	echo<<<1, 1, 0, stream>>>(shared, word_of(to), word_of(from));
	CUDA(cudaGetLastError());
	GDA(gda_dpa_event_add(to, 1));
	for (i = 0; !tasks && i < ROUNDS; i++) {
		GDA(gda_dpa_event_await_gt(from, i, UINT64_MAX, soon()));
		GDA(gda_dpa_event_add(to, 1));
	}
	GDA(gda_dpa_event_await_gt(from, ROUNDS, UINT64_MAX, soon()));
	CUDA(cudaStreamSynchronize(stream));
	printf("# error %d\n", shared->err);
	verdict(name, !shared->err);
}

/* --- from an event to a kernel --- */

static __global__ void stamp(struct shared *s, uint64_t i)
{
	gda_store_release64(&s->stamp, i);
}

static uint64_t stamped(uint64_t begin, uint64_t i)
{
	while (gda_load_acquire64(&shared->stamp) != i)
		gda_pause();
	return gda_clock_ns() - begin;
}

static uint64_t by_stream(struct gda_dpa_event *go, uint64_t i)
{
	uint64_t begin;

	GDA(gda_dpa_cuda_stream_wait_gt(gpu, go, i, UINT64_MAX, stream));
	stamp<<<1, 1, 0, stream>>>(shared, 2 * i + 1);
	usleep(200);
	begin = gda_clock_ns();
	GDA(gda_dpa_event_set(go, i + 1));
	return stamped(begin, 2 * i + 1);
}

static uint64_t by_thread(std::atomic<uint64_t> *go, uint64_t i)
{
	uint64_t begin;

	usleep(200);
	begin = gda_clock_ns();
	go->store(i + 1, std::memory_order_release);
	return stamped(begin, 2 * i + 2);
}

/* Polls and launches, until it is told a round that is none. */
static void launcher(std::atomic<uint64_t> *go, cudaStream_t own)
{
	uint64_t i, last = 0;

	CUDA(cudaSetDevice(0));
	for (;;) {
		while ((i = go->load(std::memory_order_acquire)) == last)
			gda_pause();
		if (i == UINT64_MAX)
			return;
		stamp<<<1, 1, 0, own>>>(shared, 2 * i);
		last = i;
	}
}

static double median(std::vector<uint64_t> &v)
{
	std::sort(v.begin(), v.end());
	return (double)v[v.size() / 2] / 1000;
}

static void latency(void)
{
	struct gda_dpa_event *go = event(GDA_DPA_HOST, GDA_DPA_GPU);
	std::vector<uint64_t> streams, threads;
	std::atomic<uint64_t> told{0};
	double stream_us, thread_us;
	cudaStream_t own;

	CUDA(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
	*shared = {};
	std::thread thread(launcher, &told, own);
	for (uint64_t i = 0; i < TIMES; i++) {
		streams.push_back(by_stream(go, i));
		threads.push_back(by_thread(&told, i));
	}
	told = UINT64_MAX;
	thread.join();
	CUDA(cudaStreamSynchronize(stream));
	CUDA(cudaStreamDestroy(own));
	stream_us = median(streams);
	thread_us = median(threads);
	printf("# event to kernel, p50: %.2f us by a stream, %.2f us by a thread that polls and "
	       "launches\n", stream_us, thread_us);
	verdict("D_06_event_to_kernel_is_no_slower_than_a_thread", stream_us <= thread_us);
}

/* --- --- */

static void hangs(int signal)
{
	static const char text[] = "Bail out! it hangs\n";

	(void)signal;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(2);
	_exit(1);
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
	signal(SIGALRM, hangs);
	alarm(240);
	printf("TAP version 13\n1..4\n");
	CUDA(cudaHostAlloc((void **)&shared, sizeof(*shared), cudaHostAllocMapped));
	CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	GDA(gda_open(GDA_DEVICE_INPROC, &ctx));
	GDA(gda_cuda_open(ctx, 0, &cuda));
	GDA(gda_dpa_create(ctx, NULL, &dpa));
	GDA(gda_dpa_cuda_create(dpa, cuda, &gpu));
	stream_starts_kernels();
	kernels_wait("D_06_kernels_wait_for_the_host", false);
	kernels_wait("D_11_kernels_start_launches", true);
	latency();
	GDA(gda_dpa_cuda_destroy(gpu));
	GDA(gda_dpa_destroy(dpa));
	gda_cuda_close(cuda);
	gda_close(ctx);
	return status;
}

// SPDX-License-Identifier: MIT
/*
 * gda-perf-gpu - the program of gda-perf --gpu: puts that a kernel posts to the in-process device,
 * whose worker lets the CUDA driver copy
 *
 * One thread of the GPU owns the queue. lat: from post to observed completion, one at a time. rate,
 * bw: one doorbell for 16 puts, as many in flight as fit into the queue, until the last is
 * complete. Beside them the driver's own copies, launched by the CPU: lat until the stream is idle,
 * bw one behind the other. Afterwards the target is compared. signal, stream: see gpu_signal.cuh.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <getopt.h>
#include <cuda_runtime.h>
#include <gda/cuda.h>
#include <gda/gpu/post.h>

#define CUDA(call) do { \
	cudaError_t err_ = (call); \
	if (err_ != cudaSuccess) { \
		fprintf(stderr, "gda-perf: %s: %s\n", #call, cudaGetErrorString(err_)); \
		exit(1); \
	} \
} while (0)

#define GDA(call) do { \
	int err_ = (call); \
	if (err_) { \
		fprintf(stderr, "gda-perf: %s: %s\n", #call, gda_strerror(err_)); \
		exit(1); \
	} \
} while (0)

#define ROOM		(64ULL << 20)
#define DEPTH		256U
#define BATCH		16U
#define LATENCIES	301U
#define DEADLINE_NS	20000000000ULL

enum test { LAT, RATE, BW, SIGNAL, STREAM, TESTS };

static const char *const tests[TESTS] = { "lat", "rate", "bw", "signal", "stream" };
static const char *const units[TESTS] = { "us", "M/s", "GB/s", "us", "GB/s" };

static struct {
	bool test[TESTS];
	bool json;
	unsigned int runs = 5;
	std::vector<unsigned int> sizes = { 8, 4096, 65536, 1 << 20, 16 << 20 };
} options;

/* Source and destination, and the room that the kernel leaves for the driver. */
struct path {
	const char *name;
	int device;		/* of the target */
	uint32_t place;
};

struct side {
	int device;
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	uint8_t *mem;
	struct gda_mr *mr;
	struct gda_cuda_qp *qp;
};

struct job {
	struct gda_view *v;
	uint64_t from, to;
	uint32_t lkey, rkey;
	uint32_t bytes, count;
	uint64_t span;		/* size of the target, which is written cyclically */
	uint32_t *ns;		/* time of each, or of all */
	int *err;
};

static __device__ int64_t put(struct gda_exclusive &q, const struct job &j, uint32_t i,
			      unsigned int flags)
{
	uint64_t at = (uint64_t)i * j.bytes % j.span;

	return gda_put(q, j.from + at, j.lkey, j.to + at, j.rkey, j.bytes, flags);
}

static __global__ void latency_kernel(struct job j)
{
	struct gda_exclusive q = gda_exclusive_open(j.v);
	int err = 0;

	for (uint32_t i = 0; i < j.count && !err; i++) {
		uint64_t began = gda_clock_ns();

		err = gda_wait(q, put(q, j, i, 0), 0);
		j.ns[i] = (uint32_t)(gda_clock_ns() - began);
	}
	*j.err = err;
	gda_exclusive_close(q);
}

static __global__ void stream_kernel(struct job j)
{
	struct gda_exclusive q = gda_exclusive_open(j.v);
	uint64_t began = gda_clock_ns();
	int64_t ticket = 0;

	for (uint32_t i = 0; i < j.count && ticket >= 0; i++)
		ticket = put(q, j, i, (i + 1) % BATCH && i + 1 != j.count ? GDA_DEFER : 0);
	*j.err = gda_wait(q, ticket, 0);
	*j.ns = (uint32_t)(gda_clock_ns() - began);
	gda_exclusive_close(q);
}

static __device__ uint8_t pattern(uint64_t at)
{
	return (uint8_t)((at * 0x9e3779b97f4a7c15ULL) >> 56);
}

static __global__ void fill_kernel(uint8_t *mem, bool zero)
{
	for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < ROOM;
	     i += (uint64_t)gridDim.x * blockDim.x)
		mem[i] = zero ? 0 : pattern(i);
}

static __global__ void compare_kernel(const uint8_t *mem, uint64_t len, unsigned int *wrong)
{
	for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < len;
	     i += (uint64_t)gridDim.x * blockDim.x)
		if (mem[i] != pattern(i))
			atomicAdd(wrong, 1);
}

static void side_open(struct side *s, int device, bool target, uint32_t place)
{
	struct gda_cuda_qp_attr attr = { sizeof(attr) };

	s->device = device;
	CUDA(cudaSetDevice(device));
	CUDA(cudaMalloc(&s->mem, ROOM));
	fill_kernel<<<1024, 256>>>(s->mem, target);
	CUDA(cudaDeviceSynchronize());
	GDA(gda_open(GDA_DEVICE_INPROC, &s->ctx));
	GDA(gda_cuda_open(s->ctx, device, &s->cuda));
	GDA(gda_cuda_mr_reg(s->cuda, (uintptr_t)s->mem, ROOM, GDA_ACCESS_ALL, 0, &s->mr));
	attr.sq_depth = DEPTH;
	attr.timeout_ns = DEADLINE_NS;
	attr.place = place;
	GDA(gda_cuda_qp_create(s->cuda, &attr, &s->qp));
}

static void side_close(struct side *s)
{
	GDA(gda_cuda_qp_destroy(s->qp));
	gda_mr_dereg(s->mr);
	gda_cuda_close(s->cuda);
	gda_close(s->ctx);
	CUDA(cudaSetDevice(s->device));
	CUDA(cudaFree(s->mem));
}

static void connect_sides(struct side s[2])
{
	struct gda_address addr[2];

	for (int i = 0; i < 2; i++)
		GDA(gda_qp_address(gda_cuda_qp_base(s[i].qp), &addr[i]));
	for (int i = 0; i < 2; i++)
		GDA(gda_qp_connect(gda_cuda_qp_base(s[i].qp), &addr[!i]));
}

static uint32_t count_of(enum test test, uint32_t bytes)
{
	uint64_t most = (4ULL << 30) / bytes;

	if (test == LAT)
		return LATENCIES;
	return (uint32_t)std::min<uint64_t>(most, test == RATE ? 50000 : 5000);
}

/* us, M/s or GB/s of so many in so many ns. */
static double figure(enum test test, uint32_t bytes, uint32_t count, double ns)
{
	if (test == LAT)
		return ns / 1e3;
	return test == RATE ? count * 1e3 / ns : (double)bytes * count / ns;
}

static double measure(struct side s[2], enum test test, uint32_t bytes)
{
	std::vector<uint32_t> ns(LATENCIES);
	struct job j = {};
	int err;

	CUDA(cudaSetDevice(s[0].device));
	j.v = gda_cuda_qp_view(s[0].qp);
	j.from = (uintptr_t)s[0].mem;
	j.to = (uintptr_t)s[1].mem;
	j.lkey = gda_mr_key(s[0].mr);
	j.rkey = gda_mr_key(s[1].mr);
	j.bytes = bytes;
	j.count = count_of(test, bytes);
	j.span = ROOM / bytes * bytes;
	CUDA(cudaMalloc(&j.ns, LATENCIES * sizeof(*j.ns)));
	CUDA(cudaMalloc(&j.err, sizeof(*j.err)));
	if (test == LAT)
		latency_kernel<<<1, 1>>>(j);
	else
		stream_kernel<<<1, 1>>>(j);
	CUDA(cudaGetLastError());
	/* a copy that waits here would block the driver, and so the waiting kernel */
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaMemcpy(&err, j.err, sizeof(err), cudaMemcpyDeviceToHost));
	CUDA(cudaMemcpy(ns.data(), j.ns, LATENCIES * sizeof(*j.ns), cudaMemcpyDeviceToHost));
	CUDA(cudaFree(j.ns));
	CUDA(cudaFree(j.err));
	GDA(err);
	if (test == LAT)
		std::sort(ns.begin(), ns.end());
	return figure(test, bytes, j.count, ns[test == LAT ? LATENCIES / 2 : 0]);
}

/* The same with the driver's own copies. */
static double measure_copies(struct side s[2], enum test test, uint32_t bytes)
{
	uint32_t count = count_of(test, bytes), i;
	std::vector<uint64_t> ns(count);
	uint64_t span = ROOM / bytes * bytes, all = gda_clock_ns();
	cudaStream_t stream;

	CUDA(cudaSetDevice(s[0].device));
	CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (i = 0; i < count; i++) {
		uint64_t began = gda_clock_ns(), at = (uint64_t)i * bytes % span;

		CUDA(cudaMemcpyPeerAsync(s[1].mem + at, s[1].device, s[0].mem + at, s[0].device,
					 bytes, stream));
		if (test == LAT)
			CUDA(cudaStreamSynchronize(stream));
		ns[i] = gda_clock_ns() - began;
	}
	CUDA(cudaStreamSynchronize(stream));
	all = gda_clock_ns() - all;
	CUDA(cudaStreamDestroy(stream));
	std::sort(ns.begin(), ns.end());
	return figure(test, bytes, count, (double)(test == LAT ? ns[count / 2] : all));
}

static unsigned int compare(struct side *s, uint64_t len)
{
	unsigned int *wrong, result;

	CUDA(cudaSetDevice(s->device));
	CUDA(cudaMalloc(&wrong, sizeof(*wrong)));
	CUDA(cudaMemset(wrong, 0, sizeof(*wrong)));
	compare_kernel<<<1024, 256>>>(s->mem, len, wrong);
	CUDA(cudaMemcpy(&result, wrong, sizeof(result), cudaMemcpyDeviceToHost));
	CUDA(cudaFree(wrong));
	fill_kernel<<<1024, 256>>>(s->mem, true);
	CUDA(cudaDeviceSynchronize());
	return result;
}

/* Was a row printed? */
static bool rows_any;

static double median_of(std::vector<double> &v)
{
	std::sort(v.begin(), v.end());
	return v[v.size() / 2];
}

#include "gpu_signal.cuh"

/* Returns how many bytes are wrong. */
static unsigned int row(const struct path *p, struct side s[2], enum test test, uint32_t bytes)
{
	uint64_t len = std::min<uint64_t>(ROOM / bytes, count_of(test, bytes)) * bytes;
	std::vector<double> ours, copies;
	unsigned int wrong = 0, i;
	double median;

	measure(s, test, bytes);
	measure_copies(s, test, bytes);
	compare(&s[1], 0);
	for (i = 0; i < options.runs; i++) {
		ours.push_back(measure(s, test, bytes));
		wrong += compare(&s[1], len);
		copies.push_back(measure_copies(s, test, bytes));
		compare(&s[1], 0);
	}
	median = median_of(ours);
	if (options.json)
		printf("%s    { \"test\": \"%s\", \"path\": \"%s\", \"bytes\": %u, \"unit\": \"%s\", "
		       "\"puts\": %.4g, \"min\": %.4g, \"max\": %.4g, \"copies\": %.4g, "
		       "\"wrong\": %u }", rows_any ? ",\n" : "", tests[test], p->name, bytes,
		       units[test], median, ours.front(), ours.back(),
		       median_of(copies), wrong);
	else
		printf("%-5s %-14s %9u %10.4g (%.4g..%.4g) %10.4g %-5s%s\n", tests[test], p->name,
		       bytes, median, ours.front(), ours.back(), median_of(copies), units[test],
		       wrong ? "WRONG BYTES" : "");
	fflush(stdout);
	rows_any = true;
	return wrong;
}

static unsigned int path_rows(const struct path *p)
{
	unsigned int wrong = 0;
	struct side s[2];

	side_open(&s[0], 0, false, p->place);
	side_open(&s[1], p->device, true, p->place);
	connect_sides(s);
	for (int t = 0; t < SIGNAL; t++)
		for (unsigned int bytes : options.sizes)
			if (options.test[t] && (t != RATE || bytes <= 4096) &&
			    (t != BW || bytes > 4096))
				wrong += row(p, s, (enum test)t, bytes);
	side_close(&s[0]);
	side_close(&s[1]);
	return wrong;
}

static void usage(void)
{
	fputs("usage: gda-perf --gpu [--json] [--runs N] [--sizes BYTES,...] [lat|rate|bw|signal|stream]...\n",
	      stderr);
	exit(2);
}

static void options_parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "gpu", no_argument, NULL, 'g' }, { "json", no_argument, NULL, 'j' },
		{ "runs", required_argument, NULL, 'r' },
		{ "sizes", required_argument, NULL, 's' }, { NULL, 0, NULL, 0 }
	};
	bool any = false;
	int c, t;

	while ((c = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		if (c == 'j') {
			options.json = true;
		} else if (c == 'r') {
			options.runs = (unsigned int)atoi(optarg);
		} else if (c == 's') {
			options.sizes.clear();
			for (char *s = strtok(optarg, ","); s; s = strtok(NULL, ","))
				options.sizes.push_back((unsigned int)atoi(s));
		} else if (c != 'g') {
			usage();
		}
	}
	for (unsigned int bytes : options.sizes)
		if (!bytes || bytes > ROOM)
			usage();
	if (!options.runs)
		usage();
	for (; optind < argc; optind++) {
		for (t = 0; t < TESTS && strcmp(argv[optind], tests[t]); t++)
			;
		if (t == TESTS)
			usage();
		options.test[t] = any = true;
	}
	for (t = 0; t < TESTS; t++)
		options.test[t] |= !any;
}

int main(int argc, char **argv)
{
	static const struct path paths[] = {
		{ "within a GPU", 0, GDA_CUDA_CQ_GPU },
		{ "..., with room", 0, GDA_CUDA_CQ_GPU | GDA_CUDA_LEAVES_ROOM },
		{ "two GPUs", 1, GDA_CUDA_CQ_GPU },
	};
	unsigned int wrong = 0;
	cudaDeviceProp prop;
	int devices = 0;

	/* loading code lazily would wait for an idle device while a kernel waits */
	setenv("CUDA_MODULE_LOADING", "EAGER", 0);
	options_parse(argc, argv);
	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		printf("gda-perf: no GPU here, nothing was measured\n");
		return 4;
	}
	CUDA(cudaGetDeviceProperties(&prop, 0));
	if (options.json)
		printf("{ \"gpu\": \"%s\", \"device\": \"inproc\", \"runs\": %u, \"rows\": [\n",
		       prop.name, options.runs);
	else
		printf("# %s, device inproc, medians of %u runs; copies: by the driver, launched "
		       "by the CPU\n%-5s %-14s %9s %10s (min..max) %10s\n", prop.name, options.runs,
		       "test", "path", "bytes", "puts", "copies");
	for (const struct path &p : paths)
		if (p.device < devices)
			wrong += path_rows(&p);
	wrong += signal_rows(devices, options.test[SIGNAL], options.test[STREAM]);
	if (options.json)
		printf("\n] }\n");
	return wrong ? 1 : 0;
}

// SPDX-License-Identifier: MIT
/*
 * Kernels post to the in-process device, and the CUDA driver moves the bytes: on a GPU,
 * and between two where there are two. The kernel of the long tests has all threads of all
 * multiprocessors, so nothing of what it waits for can be a kernel.
 *
 *	gpu [SMALL [LARGE]]	random operations of 8 B to 64 KiB, and to 16 MiB
 *
 * Speaks KTAP.
 */
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>
#include <gda/cuda.h>
#include <gda/fastpath.h>
#include "../gpu/ktap.cuh"

#define QUEUES		8
#define BATCH		32U
#define GUARD		64U
#define POISON		0xee
#define SOURCE		(32ULL << 20)
#define DEADLINE_NS	20000000000ULL

/* Blocks of 1024 threads that a multiprocessor takes. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define PRESENT		1
#else
#define PRESENT		2
#endif

static int number, status;

static void verdict(bool ok, const char *what)
{
	printf("%sok %d %s\n", ok ? "" : "not ", ++number, what);
	status |= !ok;
}

/* Memory of a GPU for the tests: a source that never changes, and room. */
struct side {
	int device;
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	uint8_t *mem;
	uint64_t len;
	struct gda_mr *mr;
};

static __host__ __device__ uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

static __host__ __device__ uint8_t pattern(uint64_t at)
{
	return (uint8_t)(mix(at / 8 + 1) >> at % 8 * 8);
}

static __global__ void fill_kernel(uint8_t *mem, uint64_t len)
{
	for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < len;
	     i += (uint64_t)gridDim.x * blockDim.x)
		mem[i] = i < SOURCE ? pattern(i) : POISON;
}

static void side_open(struct side *s, int device, uint64_t room)
{
	s->device = device;
	s->len = SOURCE + room;
	CUDA(cudaSetDevice(device));
	CUDA(cudaMalloc(&s->mem, s->len));
	fill_kernel<<<1024, 256>>>(s->mem, s->len);
	CUDA(cudaDeviceSynchronize());
	GDA(gda_open(GDA_DEVICE_INPROC, &s->ctx));
	GDA(gda_cuda_open(s->ctx, device, &s->cuda));
	GDA(gda_cuda_mr_reg(s->cuda, (uintptr_t)s->mem, s->len, GDA_ACCESS_ALL, 0, &s->mr));
}

static void side_close(struct side *s)
{
	gda_mr_dereg(s->mr);
	gda_cuda_close(s->cuda);
	gda_close(s->ctx);
	CUDA(cudaSetDevice(s->device));
	CUDA(cudaFree(s->mem));
}

struct pair {
	struct gda_cuda_qp *qp[2];
};

static struct gda_cuda_qp *qp_open(struct side *s, uint32_t depth, uint32_t place,
				   uint64_t timeout_ns)
{
	struct gda_cuda_qp_attr attr = { sizeof(attr) };
	struct gda_cuda_qp *qp;

	attr.sq_depth = depth;
	attr.timeout_ns = timeout_ns;
	attr.place = place;
	GDA(gda_cuda_qp_create(s->cuda, &attr, &qp));
	return qp;
}

static void pair_open(struct pair *p, struct side side[2], uint32_t depth, uint32_t place)
{
	struct gda_address addr[2];

	for (int i = 0; i < 2; i++) {
		p->qp[i] = qp_open(&side[i], depth, place, DEADLINE_NS);
		GDA(gda_qp_address(gda_cuda_qp_base(p->qp[i]), &addr[i]));
	}
	for (int i = 0; i < 2; i++)
		GDA(gda_qp_connect(gda_cuda_qp_base(p->qp[i]), &addr[!i]));
}

static void pair_close(struct pair *p)
{
	for (int i = 0; i < 2; i++)
		GDA(gda_cuda_qp_destroy(p->qp[i]));
}

/* --- random operations --- */

struct job {
	struct gda_view *v;
	uint64_t src[2];	/* of the local and the remote side */
	uint64_t dst[2];	/* ... BATCH slices of @slice bytes */
	uint32_t key[2];
};

struct outcome {
	unsigned long long wrong;	/* bytes */
	unsigned long long moved;
	int err;
};

struct run {
	struct job job[QUEUES];
	uint64_t slice;
	uint64_t seed;
	uint32_t batches;
	uint32_t least;		/* powers of two: lengths */
	uint32_t most;
	unsigned int finished;
	unsigned int stop;
	unsigned int present;	/* blocks */
	struct outcome outcome;
};

struct operation {
	uint64_t from, to;	/* in the source, and in the slice */
	uint32_t len;
	uint32_t get;
};

static __device__ struct operation operation_of(const struct run *r, uint32_t batch, uint32_t i)
{
	uint64_t z = mix(r->seed + ((uint64_t)blockIdx.x << 40 | (uint64_t)batch << 8 | i));
	uint32_t power = r->least + (uint32_t)(z % (r->most - r->least + 1));
	struct operation op;

	op.len = 1U << power;
	if (power < r->most)
		op.len += (uint32_t)(z >> 8) & (op.len - 1);
	op.get = (uint32_t)(z >> 32) & 1;
	op.to = GUARD + (z >> 34) % GUARD;
	op.from = mix(z) % (SOURCE - op.len);
	return op;
}

static __device__ uint32_t byte_of(uint64_t base, uint64_t at)
{
	return *(volatile uint8_t *)(uintptr_t)(base + at);
}

/* All of the block: is it there, and nothing beside it? Then it is poisoned again. */
static __device__ unsigned int check(const struct operation &op, uint64_t dst)
{
	unsigned int wrong = 0;

	for (uint64_t i = threadIdx.x; i < GUARD; i += blockDim.x) {
		wrong += byte_of(dst, op.to - GUARD + i) != POISON;
		wrong += byte_of(dst, op.to + op.len + i) != POISON;
	}
	for (uint64_t i = threadIdx.x; i < op.len; i += blockDim.x) {
		wrong += byte_of(dst, op.to + i) != pattern(op.from + i);
		*(volatile uint8_t *)(uintptr_t)(dst + op.to + i) = POISON;
	}
	return wrong;
}

static __device__ int64_t post(const struct job &j, const struct operation &op, uint64_t slice)
{
	if (op.get)
		return gda_get(j.v, j.dst[0] + slice + op.to, j.key[0], j.src[1] + op.from,
			       j.key[1], op.len, 0);
	return gda_put(j.v, j.src[0] + op.from, j.key[0], j.dst[1] + slice + op.to, j.key[1],
		       op.len, 0);
}

static __device__ void random_batch(struct run *r, uint32_t batch)
{
	const struct job &j = r->job[blockIdx.x];
	unsigned long long wrong = 0, moved = 0;
	int err = 0;

	if (threadIdx.x < BATCH) {
		int64_t ticket = post(j, operation_of(r, batch, threadIdx.x),
				      threadIdx.x * r->slice);

		if (ticket < 0)
			err = (int)ticket;
	}
	__syncthreads();
	/* one waits for all: what others would look at is across the bus */
	if (!threadIdx.x) {
		int quiet = gda_quiet(j.v, gda_clock_ns() + DEADLINE_NS);

		err = err ? err : quiet;
	}
	if (err)
		atomicCAS(&r->outcome.err, 0, err);
	__syncthreads();
	for (uint32_t i = 0; i < BATCH; i++) {
		struct operation op = operation_of(r, batch, i);

		wrong += check(op, j.dst[!op.get] + i * r->slice);
		moved += threadIdx.x ? 0 : op.len;
	}
	if (wrong)
		atomicAdd(&r->outcome.wrong, wrong);
	if (moved)
		atomicAdd(&r->outcome.moved, moved);
	__threadfence_system();
	__syncthreads();
}

/*
 * A block per queue, and others that only are there: two on every multiprocessor, with all
 * the threads that it has, and no room for another kernel's.
 */
static __global__ void __launch_bounds__(1024, PRESENT) random_kernel(struct run *r)
{
	if (!threadIdx.x)
		atomicAdd(&r->present, 1);
	if (blockIdx.x >= QUEUES) {
		while (!*(volatile unsigned int *)&r->stop)
			__nanosleep(1000);
		return;
	}
	/* not before all are there, at the same time */
	if (!threadIdx.x)
		while (*(volatile unsigned int *)&r->present != gridDim.x)
			;
	__syncthreads();
	for (uint32_t batch = 0; batch < r->batches && !r->outcome.err; batch++)
		random_batch(r, batch);
	if (!threadIdx.x && atomicAdd(&r->finished, 1) == QUEUES - 1)
		atomicExch(&r->stop, 1);
}

static void random_run(const char *what, struct side side[2], uint32_t ops, uint32_t least,
		       uint32_t most, const uint32_t *place)
{
	const char *env = getenv("GDA_SEED");
	uint64_t began = gda_clock_ns();
	struct pair pair[QUEUES];
	struct run *r, result;
	cudaDeviceProp prop;
	int blocks;

	CUDA(cudaSetDevice(side[0].device));
	CUDA(cudaGetDeviceProperties(&prop, side[0].device));
	memset(&result, 0, sizeof(result));
	result.slice = (1ULL << most) + 3 * GUARD;
	result.seed = env ? strtoull(env, NULL, 0) : began;
	result.batches = (ops + QUEUES * BATCH - 1) / (QUEUES * BATCH);
	result.least = least;
	result.most = most;
	for (int i = 0; i < QUEUES; i++) {
		uint64_t off = SOURCE + i * BATCH * result.slice;

		pair_open(&pair[i], side, 64, place[i % 4]);
		result.job[i].v = gda_cuda_qp_view(pair[i].qp[0]);
		for (int k = 0; k < 2; k++) {
			result.job[i].src[k] = (uintptr_t)side[k].mem;
			result.job[i].dst[k] = (uintptr_t)side[k].mem + off;
			result.job[i].key[k] = gda_mr_key(side[k].mr);
		}
	}
	CUDA(cudaMalloc(&r, sizeof(*r)));
	CUDA(cudaMemcpy(r, &result, sizeof(*r), cudaMemcpyHostToDevice));
	blocks = prop.multiProcessorCount * (prop.maxThreadsPerMultiProcessor / 1024);
	began = gda_clock_ns();
	random_kernel<<<blocks, 1024>>>(r);
	CUDA(cudaGetLastError());
	CUDA(cudaDeviceSynchronize());
	began = gda_clock_ns() - began;
	CUDA(cudaMemcpy(&result, r, sizeof(result), cudaMemcpyDeviceToHost));
	CUDA(cudaFree(r));
	for (int i = 0; i < QUEUES; i++)
		pair_close(&pair[i]);
	printf("# %s: GDA_SEED=%#llx, %u operations, %.2f GB, %.2f s, %.3f M/s, %d threads on %d "
	       "multiprocessors, error %d, %llu bytes wrong\n", what,
	       (unsigned long long)result.seed, result.batches * QUEUES * BATCH,
	       (double)result.outcome.moved / 1e9, (double)began / 1e9,
	       result.batches * QUEUES * BATCH * 1e3 / (double)began, blocks * 1024,
	       prop.multiProcessorCount, result.outcome.err, result.outcome.wrong);
	verdict(!result.outcome.err && !result.outcome.wrong && result.outcome.moved &&
		(int)result.present == blocks, what);
}

/* --- what a GPU is told --- */

struct told {
	int before, at, behind, full, waited, other;
	struct gda_error error = { sizeof(error) };
	int64_t bad;
	uint64_t ns;
};

static __global__ void error_kernel(struct gda_view *v, uint64_t src, uint32_t lkey, uint64_t dst,
				    uint32_t rkey, struct told *t)
{
	int64_t good = gda_put(v, src, lkey, dst, rkey, 1 << 20, 0);
	int64_t behind;

	t->bad = gda_put(v, src, lkey, dst, rkey + 0x100, 8, 0);
	behind = gda_put(v, src, lkey, dst, rkey, 8, 0);
	t->behind = gda_wait(v, behind, 0);
	t->at = gda_wait(v, t->bad, 0);
	t->before = gda_wait(v, good, 0);
	t->other = gda_error(v, &t->error);
}

static void error_test(struct side side[2], uint32_t place, const char *what)
{
	struct pair pair;
	struct told *t;

	CUDA(cudaHostAlloc(&t, sizeof(*t), cudaHostAllocDefault));
	memset(t, 0, sizeof(*t));
	CUDA(cudaSetDevice(side[0].device));
	pair_open(&pair, side, 16, place);
	error_kernel<<<1, 1>>>(gda_cuda_qp_view(pair.qp[0]), (uintptr_t)side[0].mem,
			       gda_mr_key(side[0].mr), (uintptr_t)side[1].mem + SOURCE,
			       gda_mr_key(side[1].mr), t);
	CUDA(cudaDeviceSynchronize());
	printf("# before %d at %d behind %d: %s, %s\n", t->before, t->at, t->behind,
	       gda_syndrome_name(t->error.syndrome), gda_vendor_name(t->error.vendor));
	verdict(!t->before && t->at == -EIO && t->behind == -ECANCELED && t->other == 1 &&
		t->error.ticket == t->bad &&
		t->error.syndrome == GDA_MLX5_SYND_REMOTE_ACCESS &&
		t->error.vendor == GDA_MLX5_VENDOR_KEY, what);
	pair_close(&pair);
	/* the source lies over what the good one wrote */
	fill_kernel<<<1024, 256>>>(side[1].mem, side[1].len);
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaFreeHost(t));
}

/* No worker executes: waits end at their deadline, and a full ring is not lapped. */
static __global__ void stalled_kernel(struct gda_view *v, uint32_t depth, struct told *t)
{
	uint64_t began = gda_clock_ns();
	int64_t first = gda_nop(v, 0);

	for (uint32_t i = 1; i < depth; i++)
		if (gda_nop(v, 0) < 0)
			t->other = 1;
	t->full = (int)gda_nop(v, GDA_NOWAIT);
	t->waited = (int)gda_nop(v, 0);
	t->at = gda_wait(v, first, gda_clock_ns() + 2000000);
	t->behind = gda_test(v, first);
	t->ns = gda_clock_ns() - began;
}

static void stalled_test(struct side side[2])
{
	struct gda_cuda_qp *qp = qp_open(&side[0], 16, GDA_CUDA_CQ_GPU, 3000000);
	struct gda_qp_query query = { sizeof(query) };
	struct told *t;

	CUDA(cudaHostAlloc(&t, sizeof(*t), cudaHostAllocDefault));
	memset(t, 0, sizeof(*t));
	CUDA(cudaSetDevice(side[0].device));
	stalled_kernel<<<1, 1>>>(gda_cuda_qp_view(qp), 16, t);
	CUDA(cudaDeviceSynchronize());
	GDA(gda_qp_query(gda_cuda_qp_base(qp), &query));
	printf("# full %d, waited %d, deadline %d, %.1f ms\n", t->full, t->waited, t->at,
	       (double)t->ns / 1e6);
	verdict(!t->other && t->full == -EAGAIN && t->waited == -ETIMEDOUT &&
		t->at == -ETIMEDOUT && !t->behind && t->ns >= 5000000 && !query.executed &&
		query.state != GDA_QP_ERROR, "full ring and deadlines, on the GPU");
	GDA(gda_cuda_qp_destroy(qp));
	CUDA(cudaFreeHost(t));
}

static __global__ void abort_kernel(struct gda_view *v, volatile int *waiting, struct told *t)
{
	int64_t ticket = gda_nop(v, 0);

	*waiting = 1;
	__threadfence_system();
	t->at = gda_wait(v, ticket, gda_clock_ns() + DEADLINE_NS);
}

static void abort_test(struct side side[2])
{
	struct gda_cuda_qp *qp = qp_open(&side[0], 16, 0, DEADLINE_NS);
	struct told *t;
	uint64_t ns;
	int *waiting;

	CUDA(cudaHostAlloc(&t, sizeof(*t), cudaHostAllocDefault));
	CUDA(cudaHostAlloc(&waiting, sizeof(*waiting), cudaHostAllocDefault));
	memset(t, 0, sizeof(*t));
	*waiting = 0;
	CUDA(cudaSetDevice(side[0].device));
	abort_kernel<<<1, 1>>>(gda_cuda_qp_view(qp), waiting, t);
	CUDA(cudaGetLastError());
	while (!__atomic_load_n(waiting, __ATOMIC_ACQUIRE))
		usleep(100);
	usleep(10000);
	ns = gda_clock_ns();
	gda_cuda_qp_abort(qp);
	CUDA(cudaDeviceSynchronize());
	ns = gda_clock_ns() - ns;
	printf("# aborted with %d, %.1f us after the call\n", t->at, (double)ns / 1e3);
	verdict(t->at == -ESHUTDOWN, "abort, on the GPU");
	GDA(gda_cuda_qp_destroy(qp));
	CUDA(cudaFreeHost(t));
	CUDA(cudaFreeHost(waiting));
}

/* --- host memory: signals, atomics, data --- */

#define SIGNALS	2000U
#define CHUNK	16384U

struct signals {
	uint64_t flag;		/* put behind the data */
	uint64_t sum;		/* added to */
	uint64_t old[256];	/* fetched */
	unsigned int wrong;
	int err;
};

/* Block 0 sends, block 1 receives: data in GPU memory, the flag in host memory. */
static __global__ void signal_kernel(struct gda_view *v, uint8_t *src, uint32_t src_key,
				     uint8_t *dst, uint32_t dst_key, struct signals *s,
				     uint32_t s_key, uint32_t l_key)
{
	for (uint64_t i = 1; i <= SIGNALS; i++) {
		if (blockIdx.x == 0) {
			for (uint32_t k = threadIdx.x; k < CHUNK / 8; k += blockDim.x)
				((volatile uint64_t *)src)[k] = mix(i + k);
			__threadfence_system();
			__syncthreads();
			if (!threadIdx.x) {
				gda_put(v, (uintptr_t)src, src_key, (uintptr_t)dst, dst_key, CHUNK,
					GDA_DEFER);
				gda_put_value(v, (uintptr_t)&s->flag, s_key, i, 0);
				/* what is sent must stay, and what was received be looked at */
				int err = gda_quiet(v, 0);

				if (err)
					atomicCAS(&s->err, 0, err);
				while (gda_nic_load64(&s->old[255]) != i && !s->err)
					;
			}
			__syncthreads();
			continue;
		}
		if (!threadIdx.x)
			while (gda_nic_load64(&s->flag) != i && !*(volatile int *)&s->err)
				;
		__syncthreads();
		for (uint32_t k = threadIdx.x; k < CHUNK / 8; k += blockDim.x)
			if (((volatile uint64_t *)dst)[k] != mix(i + k))
				atomicAdd(&s->wrong, 1);
		__syncthreads();
		if (!threadIdx.x)
			gda_nic_store64(&s->old[255], i);
	}
	/* every thread adds, and gets another old value */
	if (blockIdx.x == 0 && threadIdx.x < 128) {
		int64_t ticket = gda_fetch_add(v, (uintptr_t)&s->old[threadIdx.x], l_key,
					       (uintptr_t)&s->sum, s_key, 1, 0);
		int err = gda_wait(v, ticket, 0);

		if (err)
			atomicCAS(&s->err, 0, err);
	}
}

static void signal_test(struct side side[2], uint32_t place, const char *what)
{
	struct gda_mr *mr[2];
	struct signals *s;
	uint64_t seen[2] = { 0, 0 };
	struct pair pair;

	CUDA(cudaHostAlloc(&s, sizeof(*s), cudaHostAllocPortable));
	memset(s, 0, sizeof(*s));
	CUDA(cudaSetDevice(side[0].device));
	for (int i = 0; i < 2; i++)
		GDA(gda_mr_reg(side[i].ctx, s, sizeof(*s), GDA_ACCESS_ALL, 0, &mr[i]));
	pair_open(&pair, side, 256, place);
	signal_kernel<<<2, 256>>>(gda_cuda_qp_view(pair.qp[0]), side[0].mem + SOURCE,
				  gda_mr_key(side[0].mr), side[1].mem + SOURCE + CHUNK,
				  gda_mr_key(side[1].mr), s, gda_mr_key(mr[1]),
				  gda_mr_key(mr[0]));
	CUDA(cudaDeviceSynchronize());
	for (int i = 0; i < 128; i++)
		if (s->old[i] < 128)
			seen[s->old[i] / 64] |= 1ULL << s->old[i] % 64;
	printf("# error %d, %u words wrong, sum %llu\n", s->err, s->wrong,
	       (unsigned long long)s->sum);
	verdict(!s->err && !s->wrong && s->sum == 128 && !~seen[0] && !~seen[1], what);
	pair_close(&pair);
	for (int i = 0; i < 2; i++) {
		GDA(gda_mr_dereg(mr[i]));
		fill_kernel<<<1024, 256>>>(side[i].mem, side[i].len);
		CUDA(cudaDeviceSynchronize());
	}
	CUDA(cudaFreeHost(s));
}

#define MIXED	(1U << 20)

/* From the GPU to the host and back: what returns is what went. */
static __global__ void mixed_kernel(struct gda_view *v, uint64_t gpu, uint32_t gpu_key,
				    uint64_t host, uint32_t host_key, uint32_t l_key, int *err)
{
	for (uint32_t len = 1; len <= MIXED / 2 && !*err; len = len * 3 + 1) {
		uint64_t at = len % 61;

		gda_put(v, gpu + at, l_key, host + len, host_key, len, 0);
		*err = gda_wait(v, gda_get(v, gpu + SOURCE + at, l_key, host + len, host_key, len,
					   0), 0);
		for (uint32_t i = 0; i < len && !*err; i++)
			if (byte_of(gpu, SOURCE + at + i) != pattern(at + i))
				*err = 1;
	}
}

static void mixed_test(struct side side[2])
{
	uint8_t *host = (uint8_t *)aligned_alloc(4096, MIXED);
	struct gda_mr *mr;
	struct pair pair;
	int *err;

	CUDA(cudaHostAlloc(&err, sizeof(*err), cudaHostAllocDefault));
	*err = 0;
	memset(host, 0, MIXED);
	CUDA(cudaSetDevice(side[0].device));
	GDA(gda_mr_reg(side[1].ctx, host, MIXED, GDA_ACCESS_ALL, 0, &mr));
	pair_open(&pair, side, 16, 0);
	mixed_kernel<<<1, 1>>>(gda_cuda_qp_view(pair.qp[0]), (uintptr_t)side[0].mem,
			       gda_mr_key(side[0].mr), (uintptr_t)host, gda_mr_key(mr),
			       gda_mr_key(side[0].mr), err);
	CUDA(cudaDeviceSynchronize());
	printf("# error %d\n", *err);
	verdict(!*err, "between GPU memory and pageable host memory");
	pair_close(&pair);
	GDA(gda_mr_dereg(mr));
	fill_kernel<<<1024, 256>>>(side[0].mem, side[0].len);
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaFreeHost(err));
	free(host);
}

/* --- control --- */

static void control_test(struct side *s)
{
	struct gda_cuda_caps caps = { sizeof(caps) };
	uint64_t offset = 0;
	struct gda_mr *mr;
	bool ok = true;
	int fd = -1, err;

	GDA(gda_cuda_query(s->cuda, &caps));
	ok &= caps.features & GDA_CUDA_COPY && caps.features & GDA_CUDA_ATOMIC;
	err = gda_cuda_dmabuf(s->cuda, (uintptr_t)s->mem + 5000, 100000, &fd, &offset);
	printf("# dma-buf: %s, file %d, offset %llu; registered with no module, for there is "
	       "none\n", err ? gda_strerror(err) : "exported", fd, (unsigned long long)offset);
	if (caps.features & GDA_CUDA_DMABUF)
		ok &= !err && fd >= 0 && offset == 5000 % 4096 && !close(fd);
	else
		ok &= err == -EOPNOTSUPP;
	ok &= gda_cuda_mr_reg(s->cuda, (uintptr_t)s->mem, s->len * 2, 0, 0, &mr) == -EFAULT;
	ok &= gda_cuda_mr_reg(s->cuda, (uintptr_t)&caps, 8, 0, 0, &mr) == -EFAULT;
	verdict(ok, "what a GPU can do, and dma-bufs");
}

/* --- a kernel that dies, in a process of its own --- */

static __global__ void dying_kernel(struct gda_view *v, uint64_t src, uint32_t lkey, uint64_t dst,
				    uint32_t rkey)
{
	for (int i = 0; i < 64; i++)
		gda_put(v, src, lkey, dst, rkey, 16 << 20, 0);
	__trap();
}

/* Work in flight fails or is done, and everything can be destroyed. */
static int die(void)
{
	struct gda_qp_query query = { sizeof(query) };
	struct side side[2];
	struct pair pair;
	uint64_t began;

	side_open(&side[0], 0, SOURCE);
	side_open(&side[1], 0, SOURCE);
	pair_open(&pair, side, 64, 0);
	began = gda_clock_ns();
	dying_kernel<<<1, 1>>>(gda_cuda_qp_view(pair.qp[0]), (uintptr_t)side[0].mem,
			       gda_mr_key(side[0].mr), (uintptr_t)side[1].mem + SOURCE,
			       gda_mr_key(side[1].mr));
	if (cudaDeviceSynchronize() == cudaSuccess)
		return 3;
	while (query.state != GDA_QP_ERROR && query.consumer != 64 &&
	       gda_clock_ns() - began < DEADLINE_NS / 2)
		GDA(gda_qp_query(gda_cuda_qp_base(pair.qp[0]), &query));
	printf("# after %.1f ms: state %u, %llu begun, first error at %llu: %s, %s\n",
	       (double)(gda_clock_ns() - began) / 1e6, query.state,
	       (unsigned long long)query.consumer, (unsigned long long)query.error_index,
	       gda_syndrome_name(query.syndrome), gda_vendor_name(query.vendor));
	for (int i = 0; i < 2; i++)
		gda_cuda_qp_destroy(pair.qp[i]);
	for (int i = 0; i < 2; i++) {
		gda_mr_dereg(side[i].mr);
		gda_cuda_close(side[i].cuda);
		gda_close(side[i].ctx);
	}
	return 0;
}

static void die_test(const char *self)
{
	std::string command = std::string("timeout 60 '") + self + "' die";

	fflush(stdout);
	verdict(!system(command.c_str()), "a kernel that dies takes nothing else along");
}

/* --- figures, not judged --- */

#define ROUNDS	301

static __global__ void latency_kernel(struct gda_view *v, uint64_t src, uint32_t lkey,
				      uint64_t dst, uint32_t rkey, uint32_t *ns)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t began = gda_clock_ns();

		gda_wait(v, gda_put(v, src, lkey, dst, rkey, 8, GDA_EXCLUSIVE), 0);
		ns[i] = (uint32_t)(gda_clock_ns() - began);
	}
}

static void latency(struct side side[2], uint32_t place, const char *what)
{
	std::vector<uint32_t> all(ROUNDS);
	struct pair pair;
	uint32_t *ns;

	CUDA(cudaSetDevice(side[0].device));
	CUDA(cudaMalloc(&ns, ROUNDS * sizeof(*ns)));
	pair_open(&pair, side, 64, place);
	latency_kernel<<<1, 1>>>(gda_cuda_qp_view(pair.qp[0]), (uintptr_t)side[0].mem,
				 gda_mr_key(side[0].mr), (uintptr_t)side[1].mem + SOURCE,
				 gda_mr_key(side[1].mr), ns);
	/* a copy that waits here would keep the driver to itself, and the kernel waiting */
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaMemcpy(all.data(), ns, ROUNDS * sizeof(*ns), cudaMemcpyDeviceToHost));
	pair_close(&pair);
	CUDA(cudaFree(ns));
	std::sort(all.begin(), all.end());
	printf("# 8-byte put, posted until seen complete, %s: median %.1f us, 90%% %.1f us\n",
	       what, all[ROUNDS / 2] / 1e3, all[ROUNDS * 9 / 10] / 1e3);
	fill_kernel<<<1024, 256>>>(side[1].mem, side[1].len);
	CUDA(cudaDeviceSynchronize());
}

static void suite(struct side side[2], uint32_t small, uint32_t large)
{
	const uint32_t gpu = GDA_CUDA_SQ_GPU | GDA_CUDA_CQ_GPU;
	const uint32_t places[4] = { 0, GDA_CUDA_CQ_GPU, gpu, 0 };

	error_test(side, 0, "an error and its reason, on the GPU");
	error_test(side, gpu, "the same with the queues in GPU memory");
	stalled_test(side);
	abort_test(side);
	signal_test(side, 0, "a signal behind the data, and atomics");
	signal_test(side, gpu | GDA_CUDA_VIEW_HOST, "the same with everything elsewhere");
	mixed_test(side);
	random_run("8 B to 64 KiB", side, small, 3, 16, places);
	random_run("64 KiB to 16 MiB", side, large, 16, 24, places);
	latency(side, 0, "queues in host memory");
	latency(side, GDA_CUDA_CQ_GPU, "CQ in GPU memory");
	latency(side, gpu, "both in GPU memory");
	latency(side, GDA_CUDA_CQ_GPU | GDA_CUDA_LEAVES_ROOM, "CQ in GPU memory, and room");
}

int main(int argc, char **argv)
{
	uint32_t small = argc > 1 ? (uint32_t)atoi(argv[1]) : 50000;
	uint32_t large = argc > 2 ? (uint32_t)atoi(argv[2]) : 500;
	uint64_t room = (uint64_t)QUEUES * BATCH * ((16U << 20) + 3 * GUARD);
	int devices = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && !strcmp(argv[1], "die"))
		return die();
	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		printf("1..0 # SKIP no GPU here\n");
		return 0;
	}
	setenv("GDA_INPROC_WORKERS", "4", 0);
	printf("TAP version 13\n1..%d\n", devices > 1 ? 20 : 11);
	die_test(argv[0]);
	for (int peer = 0; peer < 2 && peer < devices; peer++) {
		struct side side[2];

		printf("# %s\n", peer ? "between two GPUs" : "on one GPU");
		side_open(&side[0], 0, room);
		side_open(&side[1], peer, room);
		if (!peer)
			control_test(&side[0]);
		suite(side, small, large);
		side_close(&side[1]);
		side_close(&side[0]);
	}
	return status;
}

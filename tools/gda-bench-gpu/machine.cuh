/* SPDX-License-Identifier: MIT */
/*
 * One measured run: queues in memory, the fake NIC, posters, and the outcome of every entry. Each
 * repetition uses other memory and starts on another SM.
 */
#ifndef GDA_BENCH_MACHINE_CUH
#define GDA_BENCH_MACHINE_CUH

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "efa.cuh"

#define CUDA(call) do { \
	cudaError_t err_ = (call); \
	if (err_ != cudaSuccess) { \
		printf("Bail out! %s: %s\n", #call, cudaGetErrorString(err_)); \
		exit(1); \
	} \
} while (0)

#define MAX_WARPS	2112
#define ROUNDS		200
#define TAIL_WARPS	8	/* most warps whose calls are timed one by one */

template <enum bench_mode mode, enum bench_test test, bool lazy>
static void bench_run(const struct bench_args &a, dim3 grid, dim3 block, cudaStream_t s)
{
	bench_kernel<mode, test, GDA_VIEW_SQ_ON_GPU | (lazy ? GDA_VIEW_DB_UNORDERED : 0)>
		<<<grid, block, 0, s>>>(a);
	CUDA(cudaGetLastError());
}

struct bench_row {
	const char *name;
	enum bench_mode mode;
	enum bench_test test;
	bool lazy;
	uint32_t blocks, warps;
	enum bench_map map;
	uint32_t depth;
	bench_launch launch;
	bool efa;		/* @launch is of efa.cu */
	bool shuffle;		/* requests complete in another order */
};

struct bench_result {
	double rate;		/* M/s of puts, or of messages */
	double cycles;		/* cycles per call, or per sample */
	double slowest;		/* slowest warp over the mean */
	double tail[3];		/* cycles of a call: p50, p99, p999 */
	uint64_t entries;
	uint64_t wrong;		/* lost, twice, stale, torn, lapped */
	int error;
};

struct bench_machine {
	char *gpu, *host;
	size_t gpu_size, host_size, gpu_used, host_used;
	struct gda_view *views;
	struct bench_gin *gin;
	struct bench_heap *heaps;
	struct bench_async *async;
	struct nic_queue *queues;
	struct nic_result *results;
	uint64_t *times;
	uint32_t *samples, *buckets;
	uint32_t *words;	/* words: barrier, posters, error, stop */
	cudaStream_t posters, nic, control;
	double window_us;
	bool blind, clusters;
	uint64_t verified;
};

static char *take(struct bench_machine *m, bool host, size_t size, size_t align)
{
	size_t *used = host ? &m->host_used : &m->gpu_used;
	char *p;

	*used = (*used + align - 1) / align * align;
	p = (host ? m->host : m->gpu) + *used;
	*used += size;
	if (*used > (host ? m->host_size : m->gpu_size)) {
		printf("Bail out! arena\n");
		exit(1);
	}
	return p;
}

static void machine_open(struct bench_machine *m, double window_us)
{
	m->gpu_size = 512U << 20;
	m->host_size = 4U << 20;
	m->window_us = window_us;
	m->verified = 0;
	CUDA(cudaMalloc(&m->gpu, m->gpu_size));
	CUDA(cudaHostAlloc(&m->host, m->host_size, cudaHostAllocMapped));
	CUDA(cudaMalloc(&m->views, (MAX_WARPS + 64) * sizeof(struct gda_view)));
	CUDA(cudaMalloc(&m->gin, sizeof(*m->gin)));
	CUDA(cudaMalloc(&m->async, sizeof(*m->async)));
	CUDA(cudaMalloc(&m->heaps, BENCH_HEAPS * sizeof(*m->heaps)));
	CUDA(cudaMalloc(&m->queues, MAX_WARPS * sizeof(struct nic_queue)));
	CUDA(cudaMalloc(&m->results, MAX_WARPS * sizeof(struct nic_result)));
	CUDA(cudaMalloc(&m->times, 4 * MAX_WARPS * sizeof(uint64_t)));
	CUDA(cudaMalloc(&m->samples, ROUNDS * sizeof(uint32_t)));
	CUDA(cudaMalloc(&m->buckets, TAIL_WARPS * BENCH_BUCKETS * sizeof(uint32_t)));
	CUDA(cudaMalloc(&m->words, 4096));
	CUDA(cudaStreamCreateWithFlags(&m->posters, cudaStreamNonBlocking));
	CUDA(cudaStreamCreateWithFlags(&m->nic, cudaStreamNonBlocking));
	CUDA(cudaStreamCreateWithFlags(&m->control, cudaStreamNonBlocking));
}

/* On which SM the first poster runs, and where the views are. */
static uint32_t skip_of(uint32_t blocks, int rep)
{
	return blocks == 1 ? rep * 23 % 120 : 0;
}

static struct gda_view *views_of(struct bench_machine *m, int rep)
{
	return m->views + rep * 29 % 64;
}

static uint32_t queues_of(const struct bench_row &r)
{
	return r.map == ONE_QUEUE ? 1 : r.map == BLOCK_QUEUE ? r.blocks : r.blocks * r.warps;
}

/*
 * What is different in the efa dialect. Doorbells need no order; entries are released at system
 * scope, for a NIC reads them.
 */
static void queue_make_efa(struct bench_machine *m, const struct bench_row &r, struct gda_view *v,
			   struct nic_queue *q)
{
	char *cq = take(m, false, (size_t)r.depth * BENCH_EFA_CQE, 128);
	char *marks = take(m, false, GDA_VIEW_MARKS_BYTES, 128);

	CUDA(cudaMemsetAsync(cq, 0, (size_t)r.depth * BENCH_EFA_CQE, m->posters));
	CUDA(cudaMemsetAsync(marks, 0, GDA_VIEW_MARKS_BYTES, m->posters));
	v->dialect = GDA_DIALECT_EFA;
	v->cq = (uintptr_t)cq;
	v->marks = (uintptr_t)marks;
	v->qpn_be = (uint64_t)(v->qpn & 0xffff) << 32;
	v->ah = (uint64_t)BENCH_EFA_AH << 32;
	v->qkey = BENCH_EFA_QKEY;
	v->caps = GDA_VIEW_DB_UNORDERED;
	q->last = (uint32_t *)cq;
	q->pause_ns = bench_completes(r.test) ? 0 : queues_of(r) > 8 ? 100000 : 20000;
}

/*
 * Make a fresh queue without posts, like that of gda_view_init(), but in the GPU's memory. The
 * caller sets the address of the abort word, for it knows where @v will be.
 */
static void queue_make(struct bench_machine *m, const struct bench_row &r, uint32_t i,
		       struct gda_view *v, struct nic_queue *q, const std::vector<uint32_t> &slots)
{
	bool db_gpu = bench_completes(r.test);
	size_t slot = r.efa ? BENCH_EFA_SLOT : 64;
	char *record = take(m, false, 128, 128), *cq = take(m, false, 128, 128);
	char *words = take(m, false, (size_t)r.depth * 4, 128);
	char *sq = take(m, false, (size_t)r.depth * slot, 4096);
	char *db = take(m, !db_gpu, 256, 256);

	CUDA(cudaMemsetAsync(record, 0, 128, m->posters));
	CUDA(cudaMemsetAsync(cq, 0xff, 128, m->posters));
	CUDA(cudaMemsetAsync(sq, 0xee, (size_t)r.depth * slot, m->posters));
	CUDA(cudaMemcpyAsync(words, slots.data(), (size_t)r.depth * 4, cudaMemcpyHostToDevice,
			     m->posters));
	if (db_gpu)
		CUDA(cudaMemsetAsync(db, 0, 8, m->posters));
	else
		memset(db, 0, 8);
	memset(v, 0, sizeof(*v));
	v->size = sizeof(*v);
	v->version = GDA_VIEW_VERSION;
	v->sq = (uintptr_t)sq;
	v->dbrec = (uintptr_t)record + 4;
	v->db = (uintptr_t)db;
	v->cq = (uintptr_t)cq;
	v->slots = (uintptr_t)words;
	v->mask = r.depth - 1;
	v->qpn = 0x1000 + i;
	v->qpn_be = gda_mlx5_doorbell(0, v->qpn);
	v->timeout_ns = 2000000000U;
	v->caps = GDA_VIEW_SQ_ON_GPU | (r.lazy ? GDA_VIEW_DB_UNORDERED : 0);
	v->error_index = GDA_NO_ERROR;
	*q = { sq, (uint32_t *)(record + 4), (uint64_t *)db,
	       (uint32_t *)(cq + offsetof(struct gda_mlx5_cqe, wqe_counter)), r.depth, v->qpn,
	       r.test == GIN };
	if (r.efa)
		queue_make_efa(m, r, v, q);
}

/* Builds what gda_gin_create() and gda_window_register() build. */
static void gin_make(struct bench_machine *m, const struct bench_row &r, int rep)
{
	std::vector<struct bench_gin> all(1);
	struct bench_gin *g = &all[0];
	uint32_t n = r.blocks * r.warps, i;

	if (n > BENCH_PEERS) {
		printf("Bail out! peers\n");
		exit(1);
	}
	g->gin.size = sizeof(g->gin);
	g->gin.version = GDA_GIN_VERSION;
	g->gin.nranks = n;
	g->gin.sharing = r.mode == EXCLUSIVE ? GDA_GIN_SHARE_THREAD : GDA_GIN_SHARE_GPU;
	g->gin.signals = UINT32_MAX;
	g->gin.endpoints = 1;
	g->gin.queues = (uintptr_t)m->gin->queues;
	g->gin.timeout_ns = 2000000000U;
	for (i = 0; i < n; i++) {
		g->queues[i].view = (uintptr_t)(views_of(m, rep) + (r.map == ONE_QUEUE ? 0 : i));
		g->queues[i].signals = (uint64_t)i << 32;
		g->queues[i].fetched = (uint64_t)~i << 32;
		g->queues[i].rkey = i * GOLDEN;
		g->queues[i].lkey = i;
		g->windows[i].size = sizeof(g->windows[i]);
		g->windows[i].version = GDA_GIN_VERSION;
		g->windows[i].pieces = 1;
		g->windows[i].bytes = UINT64_MAX;
		g->windows[i].iova = BENCH_IOVA;
		g->windows[i].key = i;
		g->windows[i].parts = (uintptr_t)m->gin->parts;
		g->parts[i].key = i * GOLDEN;
	}
	CUDA(cudaMemcpy(m->gin, g, sizeof(*g), cudaMemcpyHostToDevice));
}

/* Builds what gda_shmem_create() builds, without the queue pairs. */
static void heaps_make(struct bench_machine *m, const struct bench_row &r)
{
	uint32_t n = r.blocks * r.warps * (bench_is_each(r.test) ? 32 : 1), i, k;
	std::vector<struct bench_heap> all(n);

	if (n > BENCH_HEAPS) {
		printf("Bail out! heaps\n");
		exit(1);
	}
	for (i = 0; i < n; i++) {
		struct bench_heap *h = &all[i];

		h->s.size = sizeof(h->s);
		h->s.version = GDA_SHMEM_VERSION;
		h->s.pe = 1;
		h->s.npes = 2;
		h->s.qps = 1;
		h->s.heap_bytes = UINT64_MAX;
		h->s.peers = (uintptr_t)m->heaps[i].peers;
		h->s.timeout_ns = 2000000000U;
		/* a quiet reads into this address, the complement of its source, for nic_check() */
		h->s.stage = ~(uint64_t)8;
		h->s.stage_key = i;
		for (k = 0; k < 2; k++) {
			h->chunks[k] = { 0, UINT64_MAX, k ? BENCH_IOVA : 0, k ? i : i * GOLDEN, 0 };
			h->peers[k].map = { sizeof(h->peers[k].map), 1,
					    (uintptr_t)&m->heaps[i].chunks[k] };
		}
	}
	CUDA(cudaMemcpy(m->heaps, all.data(), n * sizeof(all[0]), cudaMemcpyHostToDevice));
}

/* As gda_async_create() makes it. */
static void async_make(struct bench_machine *m, int rep)
{
	struct bench_async a = {};

	a.w.size = sizeof(a.w);
	a.w.version = GDA_ASYNC_VERSION;
	a.w.nranks = 1;
	a.w.groups = 1;
	a.w.queues = 1;
	a.w.timeout_ns = 2000000000U;
	a.w.views = (uintptr_t)&m->async->view;
	a.w.maps = (uintptr_t)&m->async->map;
	a.map = { sizeof(a.map), 2, (uintptr_t)m->async->chunks };
	a.chunks[0] = { BENCH_IOVA, BENCH_HALF - 1 - BENCH_IOVA, 0, 0, 0 };
	a.chunks[1] = { BENCH_HALF, BENCH_HALF - 1, BENCH_HALF + BENCH_IOVA, 0, 0 };
	a.view = (uintptr_t)views_of(m, rep);
	CUDA(cudaMemcpy(m->async, &a, sizeof(a), cudaMemcpyHostToDevice));
}

static void queues_make(struct bench_machine *m, const struct bench_row &r, int rep)
{
	uint32_t n = queues_of(r), i;
	std::vector<struct gda_view> views(n);
	std::vector<struct nic_queue> queues(n);
	std::vector<uint32_t> slots(r.depth);

	m->gpu_used = 0;
	m->host_used = 0;
	take(m, false, (size_t)(rep * 29 % 64 + 1) * 20480, 4096);
	slots[0] = GDA_SLOT_HEAD;
	for (i = 0; i < n; i++) {
		queue_make(m, r, i, &views[i], &queues[i], slots);
		views[i].abort = (uintptr_t)&views_of(m, rep)[i].abort_word;
	}
	if (r.test == GIN)
		gin_make(m, r, rep);
	if (bench_is_shmem(r.test))
		heaps_make(m, r);
	if (bench_is_get(r.test))
		async_make(m, rep);
	CUDA(cudaMemcpyAsync(views_of(m, rep), views.data(), n * sizeof(views[0]),
			     cudaMemcpyHostToDevice, m->posters));
	CUDA(cudaMemcpyAsync(m->queues, queues.data(), n * sizeof(queues[0]),
			     cudaMemcpyHostToDevice, m->posters));
	CUDA(cudaMemsetAsync(m->results, 0, n * sizeof(struct nic_result), m->posters));
	CUDA(cudaMemsetAsync(m->words, 0, 4096, m->posters));
	CUDA(cudaMemsetAsync(m->buckets, 0, TAIL_WARPS * BENCH_BUCKETS * sizeof(uint32_t),
			     m->posters));
	CUDA(cudaStreamSynchronize(m->posters));
}

/* Is each call a put followed by an entry that adds? */
static bool pairs(const struct bench_row &r)
{
	return r.test == SIGNAL || r.test == GIN;
}

static struct bench_args args_of(struct bench_machine *m, const struct bench_row &r, int rep)
{
	uint32_t each = bench_is_each(r.test) ? 32 : pairs(r) ? 2 : r.test == BATCH ? 16 : 1;
	uint32_t share = r.map == ONE_QUEUE ? r.blocks * r.warps :
			 r.map == BLOCK_QUEUE ? r.warps : 1;
	struct bench_args a = {};

	a.views = views_of(m, rep);
	a.gin = m->gin;
	a.heaps = m->heaps;
	a.async = m->async;
	a.t0 = m->times;
	a.t1 = m->times + MAX_WARPS;
	a.cycles = m->times + 2 * MAX_WARPS;
	a.ops = m->times + 3 * MAX_WARPS;
	a.samples = m->samples;
	a.buckets = m->buckets;
	a.barrier = m->words;
	a.posters = m->words + 32;
	a.error = (int *)(m->words + 64);
	a.blocks = r.blocks;
	a.warps = r.warps;
	a.skip = skip_of(r.blocks, rep);
	/* the first lap of a ring needs no completions, so post one lap before the clock runs */
	a.warm = r.depth * 5 / 4 / (each * share) + 16;
	a.batch = 16;
	a.rounds = ROUNDS;
	a.window = (uint64_t)(m->window_us * 1980);
	a.map = r.map;
	return a;
}

/* The sums of all posted entries, computed as by the fake NIC. */
static uint64_t expected_sum(const struct bench_row &r, const struct bench_args &a,
			     const std::vector<uint64_t> &ops, uint64_t *entries)
{
	uint64_t sum = 0, i, k;
	uint32_t ids = bench_is_each(r.test) ? 32 : 1, warp, lane;

	*entries = 0;
	for (warp = 0; warp < r.blocks * r.warps; warp++) {
		uint64_t calls = ops[warp] + (r.test < LATENCY ? a.warm : 0);

		calls *= r.test == BATCH ? a.batch : 1;
		for (lane = 0; lane < ids; lane++) {
			k = (uint64_t)(warp * ids + lane) << 32;
			for (i = 0; i < calls; i++) {
				sum += nic_hash(k | i, bench_is_get(r.test) ? GDA_MLX5_READ :
									      GDA_MLX5_WRITE);
				if (pairs(r))
					sum += nic_hash(k | i, GDA_MLX5_ATOMIC_FA);
				if (r.test == SHMEM_QUIET)
					sum += nic_hash(0, GDA_MLX5_READ);
			}
		}
		*entries += calls * ids * (pairs(r) || r.test == SHMEM_QUIET ? 2 : 1);
	}
	return sum;
}

static void wait_idle(struct bench_machine *m, cudaStream_t s, const char *what)
{
	uint64_t end = gda_clock_ns() + 8000000000ULL;
	cudaError_t st;

	while ((st = cudaStreamQuery(s)) == cudaErrorNotReady) {
		if (gda_clock_ns() > end) {
			printf("Bail out! %s hangs\n", what);
			fflush(stdout);
			_Exit(1);
		}
	}
	CUDA(st);
}

static void verify(struct bench_machine *m, const struct bench_row &r,
		   const struct bench_args &a, const std::vector<uint64_t> &times,
		   struct bench_result *out)
{
	uint32_t n = queues_of(r), i;
	std::vector<struct nic_result> got(n);
	std::vector<uint64_t> ops(times.begin() + 3 * MAX_WARPS, times.end());
	uint64_t sum = 0, done = 0;

	CUDA(cudaMemcpy(got.data(), m->results, n * sizeof(got[0]), cudaMemcpyDeviceToHost));
	CUDA(cudaMemcpy(&out->error, a.error, sizeof(int), cudaMemcpyDeviceToHost));
	for (i = 0; i < n; i++) {
		sum += got[i].sum;
		done += got[i].done;
		out->wrong += got[i].stale + got[i].torn + got[i].overrun;
	}
	out->wrong += expected_sum(r, a, ops, &out->entries) != sum && !m->blind;
	out->wrong += done > out->entries ? done - out->entries : out->entries - done;
	m->verified += m->blind ? 0 : done;
}

static void time_of(const struct bench_row &r, const std::vector<uint64_t> &times,
		    struct bench_result *out)
{
	double each = bench_is_each(r.test) ? 32 : r.test == BATCH ? 16 : 1, slowest = 1e300, sum = 0;
	uint64_t begin = UINT64_MAX, end = 0;
	uint32_t warps = r.blocks * r.warps, i;

	for (i = 0; i < warps; i++) {
		double ops = (double)times[3 * MAX_WARPS + i];

		begin = std::min(begin, times[i]);
		end = std::max(end, times[MAX_WARPS + i]);
		slowest = std::min(slowest, ops);
		sum += ops;
	}
	out->rate = sum * each * 1e3 / (double)(end - begin);
	out->cycles = (double)times[2 * MAX_WARPS] / (times[3 * MAX_WARPS] * each);
	out->slowest = slowest * warps / sum;
}

static double median_of(std::vector<double> v)
{
	std::sort(v.begin(), v.end());
	return v[v.size() / 2];
}

/* The cycles that a given number of a thousand calls took at most. */
static double bucket_of(const std::vector<uint32_t> &b, uint64_t calls, uint32_t permille)
{
	uint64_t before = 0;
	uint32_t i = 0;

	for (i = 0; i < BENCH_BUCKETS - 1; i++) {
		before += b[i];
		if (before * 1000 >= calls * permille)
			break;
	}
	return i < 16 ? i : (double)((uint64_t)(i % 16 + 17) << (i / 16 - 4));
}

static void tail_of(struct bench_machine *m, struct bench_result *out)
{
	std::vector<uint32_t> all(TAIL_WARPS * BENCH_BUCKETS), b(BENCH_BUCKETS);
	uint64_t calls = 0;
	size_t i;

	CUDA(cudaMemcpy(all.data(), m->buckets, all.size() * 4, cudaMemcpyDeviceToHost));
	for (i = 0; i < all.size(); i++) {
		b[i % BENCH_BUCKETS] += all[i];
		calls += all[i];
	}
	out->tail[0] = bucket_of(b, calls, 500);
	out->tail[1] = bucket_of(b, calls, 990);
	out->tail[2] = bucket_of(b, calls, 999);
}

static double median_samples(struct bench_machine *m)
{
	std::vector<uint32_t> s(ROUNDS);

	CUDA(cudaMemcpy(s.data(), m->samples, ROUNDS * 4, cudaMemcpyDeviceToHost));
	return median_of(std::vector<double>(s.begin(), s.end()));
}

static struct bench_result measure(struct bench_machine *m, const struct bench_row &r, int rep)
{
	struct bench_result out = {};
	struct bench_args a = args_of(m, r, rep);
	uint32_t n = queues_of(r), one = 1, live = r.blocks * r.warps;
	bool late = bench_completes(r.test);
	struct nic_args nic = { m->queues, m->results, m->words + 96, n,
				n > 8 ? 3000U : late ? 0U : 100U, late, late && !r.lazy,
				late, m->blind, r.shuffle };
	bool single = n == 1 && !late && m->clusters;
	dim3 grid(r.blocks + a.skip + (r.mode == SHARED_COURIER));
	dim3 block((r.warps + (r.mode == BLOCK_COURIER)) * 32);
	std::vector<uint64_t> times(4 * MAX_WARPS);

	/*
	 * a first launch may wait for an idle device, which must not happen while the fake NIC runs
	 */
	a.noop = true;
	r.launch(a, grid, block, m->posters);
	a.noop = false;
	queues_make(m, r, rep);
	CUDA(cudaMemcpy(a.posters, &live, 4, cudaMemcpyHostToDevice));
	if (r.efa)
		bench_efa_nic(nic, single, m->nic);
	else if (single)
		nic_kernel_single<<<NIC_BLOCKS, NIC_WARPS * 32, 0, m->nic>>>(nic);
	else
		nic_kernel<<<(n + 3) / 4, 128, 0, m->nic>>>(nic);
	CUDA(cudaGetLastError());
	r.launch(a, grid, block, m->posters);
	wait_idle(m, m->posters, r.name);
	CUDA(cudaMemcpyAsync(nic.stop, &one, 4, cudaMemcpyHostToDevice, m->control));
	wait_idle(m, m->nic, "fake NIC");
	CUDA(cudaMemcpy(times.data(), m->times, times.size() * 8, cudaMemcpyDeviceToHost));
	verify(m, r, a, times, &out);
	if (r.test >= LATENCY)
		out.cycles = median_samples(m);
	else
		time_of(r, times, &out);
	if (r.test == TAIL) {
		tail_of(m, &out);
		out.cycles = out.tail[2];
	}
	return out;
}

/*
 * M/s of the bare issue by a number of warps, with a fence of @system scope or not, and its
 * cycles.
 */
static struct bench_result measure_floor(struct bench_machine *m,
					 uint32_t warps, bool system, int rep)
{
	struct bench_row r = { "floor", EXCLUSIVE, PUT, true, warps > 264 ? 132 : warps,
			       warps > 264 ? warps / 132 : 1, WARP_QUEUE, 1024, NULL };
	struct bench_args a = args_of(m, r, rep);
	struct bench_result out = {};
	std::vector<uint64_t> times(4 * MAX_WARPS);
	char *sq, *db;

	m->gpu_used = 0;
	m->host_used = 0;
	take(m, false, (size_t)(rep * 29 % 64 + 1) * 20480, 4096);
	sq = take(m, false, (size_t)warps * 1024 * 64, 4096);
	db = take(m, true, (size_t)warps * 256, 256);
	CUDA(cudaMemset(m->words, 0, 4096));
	(system ? floor_issue<true> : floor_issue<false>)
		<<<r.blocks + a.skip, r.warps * 32, 0, m->posters>>>(sq, (uint64_t *)db, a, 1000);
	wait_idle(m, m->posters, "floor");
	CUDA(cudaMemcpy(times.data(), m->times, times.size() * 8, cudaMemcpyDeviceToHost));
	time_of(r, times, &out);
	return out;
}

/* M/s of the unavoidable work of one thread that posts in shared mode. */
static double measure_shared(struct bench_machine *m, int rep)
{
	struct bench_row r = { "floor", EXCLUSIVE, PUT, false, 1, 1, WARP_QUEUE, 1024, NULL };
	struct bench_args a = args_of(m, r, rep);
	struct bench_result out = {};
	std::vector<uint64_t> times(4 * MAX_WARPS);
	char *sq, *db;

	m->gpu_used = 0;
	m->host_used = 0;
	take(m, false, (size_t)(rep * 29 % 64 + 1) * 20480, 4096);
	sq = take(m, false, 1024 * 64 + 4096, 4096);
	db = take(m, true, 256, 256);
	CUDA(cudaMemset(sq, 0, 1024 * 64 + 4096));
	floor_shared<<<a.skip + 1, 32, 0, m->posters>>>(sq, (uint64_t *)db, a, 1000);
	wait_idle(m, m->posters, "floor");
	CUDA(cudaMemcpy(times.data(), m->times, times.size() * 8, cudaMemcpyDeviceToHost));
	time_of(r, times, &out);
	return out.rate;
}

static double measure_load(struct bench_machine *m, int rep)
{
	uint32_t *p = (uint32_t *)&views_of(m, rep)->reserved, skip = skip_of(1, rep);

	CUDA(cudaMemset(p, 0, 8));
	floor_load<<<skip + 1, 1, 0, m->posters>>>(p, m->samples, ROUNDS, skip);
	wait_idle(m, m->posters, "floor");
	return median_samples(m);
}

static double measure_ping(struct bench_machine *m, int rep)
{
	uint32_t *p = (uint32_t *)(m->gpu + (size_t)(rep * 29 % 64 + 1) * 20480);

	CUDA(cudaMemset(p, 0, 4096));
	floor_ping<<<2, 1, 0, m->posters>>>(p, p + 64, m->samples, ROUNDS);
	wait_idle(m, m->posters, "floor");
	return median_samples(m);
}

#endif /* GDA_BENCH_MACHINE_CUH */

// SPDX-License-Identifier: MIT
/*
 * Posters of every kind on queues of the efa dialect, which the in-process device executes: in
 * order, and with GDA_ORDER in any. Each thread has cells of its own, keeps several requests in
 * flight, waits for them in another order, and checks what each ticket promises. Queues and data
 * are in host memory that the GPU reaches; view, marks and slot words are in its own. With
 * --library the queues are those of gda_cuda_qp_create(), and the data is the GPU's. Speaks KTAP.
 */
#define GDA_WQE_EFA
#include <set>
#include <gda/gda.h>
#include <gda/gpu/post.h>
#include <gda/cuda.h>
#include "ktap.cuh"

#define DEPTH		64U
#define FLIGHT		6U		/* requests of a thread in flight */
#define CELL		128U
#define MAX_THREADS	512U
#define SIZE		((size_t)MAX_THREADS * FLIGHT * CELL)
#define ROUNDS		40U
#define WAIT_NS		10000000000ULL

enum kind { EXCLUSIVE, WARP, BLOCK, BLOCK_COURIER, SHARED, COURIER, VIEW };

struct test {
	const char *name;
	enum kind kind;
	bool wrong;		/* a wrong key, which fails the queue */
	int blocks, threads;	/* that post */
};

static const struct test tests[] = {
	{ "a thread that owns its queue", EXCLUSIVE, false, 1, 1 },
	{ "a warp, each lane its request", WARP, false, 1, 32 },
	{ "threads of a block", BLOCK, false, 1, 160 },
	{ "threads of a block with a courier", BLOCK_COURIER, false, 1, 160 },
	{ "threads of many blocks", SHARED, false, 16, 32 },
	{ "threads of many blocks with a courier", COURIER, false, 16, 32 },
	{ "threads of many blocks through the view", VIEW, false, 16, 32 },
	{ "a wrong key fails the queue of a thread", EXCLUSIVE, true, 1, 1 },
	{ "a wrong key fails the queue of a block", BLOCK, true, 1, 64 },
	{ "a wrong key fails a shared queue", SHARED, true, 4, 32 },
};

struct job {
	struct gda_view *v;
	char *mem[2];		/* of the poster's side and the peer's, as many bytes */
	uint32_t lkey, rkey;
	uint32_t *posters;
	bool wrong;
};

struct outcome {
	uint32_t bytes, errors, done, failed, flushed, refused;
	int first;
};

static __device__ struct outcome outcome;

static __device__ uint64_t value_of(uint32_t id, uint32_t round, uint32_t k)
{
	uint64_t z = ((uint64_t)id << 32 | round << 8 | k) * 0x9e3779b97f4a7c15ULL;

	return z ^ z >> 29;
}

static __device__ void fill(char *cell, uint64_t value)
{
	for (uint32_t i = 0; i < CELL / 8; i++)
		((volatile uint64_t *)cell)[i] = value + i;
}

static __device__ uint32_t differ(const char *cell, uint64_t value, uint32_t words)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < words; i++)
		n += gda_nic_load64((const uint64_t *)cell + i) != value + i;
	return n;
}

static __device__ void complain(int64_t err)
{
	atomicAdd(&outcome.errors, 1);
	atomicCAS(&outcome.first, 0, (int)err);
}

/* Write a cell of this side to the peer's, or a value, or 80 bytes, or read; by turns. */
template <class queue>
static __device__ int64_t post(queue &q, const struct job &j, uint32_t id,
			       uint32_t round, uint32_t k, unsigned int flags)
{
	size_t at = ((size_t)id * FLIGHT + k) * CELL;
	uint64_t mine = (uintptr_t)j.mem[0] + at, peers = (uintptr_t)j.mem[1] + at;
	uint64_t value = value_of(id, round, k), bytes[10];

	switch ((round + k) % 4) {
	case 0:
		fill(j.mem[0] + at, value);
		return gda_put(q, mine, j.lkey, peers, j.rkey, CELL, flags | GDA_SYSTEM);
	case 1:
		return gda_put_value(q, peers, j.rkey, value, flags);
	case 2:
		for (uint32_t i = 0; i < 10; i++)
			bytes[i] = value + i;
		return gda_put_inline(q, peers, j.rkey, bytes, sizeof(bytes), flags);
	default:
		fill(j.mem[1] + at, value);
		return gda_get(q, mine, j.lkey, peers, j.rkey, CELL, flags | GDA_SYSTEM);
	}
}

/* The ticket of post() is done: is everything in place? */
static __device__ void check(const struct job &j, uint32_t id, uint32_t round, uint32_t k)
{
	static const uint32_t words[4] = { CELL / 8, 1, 10, CELL / 8 };
	uint32_t what = (round + k) % 4;
	size_t at = ((size_t)id * FLIGHT + k) * CELL;
	uint32_t wrong = differ(j.mem[what != 3] + at, value_of(id, round, k), words[what]);

	if (wrong)
		atomicAdd(&outcome.bytes, 8 * wrong);
	atomicAdd(&outcome.done, 1);
}

template <class queue>
static __device__ void rounds(queue &q, const struct job &j, uint32_t id)
{
	int64_t ticket[FLIGHT];
	int err;

	for (uint32_t round = 0; round < ROUNDS; round++) {
#pragma unroll
		for (uint32_t k = 0; k < FLIGHT; k++) {
			ticket[k] = post(q, j, id, round, k, 0);
			if (ticket[k] < 0)
				return complain(ticket[k]);
		}
#pragma unroll
		for (uint32_t i = 0; i < FLIGHT; i++) {
			uint32_t k = (i * 5 + 2) % FLIGHT;

			err = gda_wait(q, ticket[k], gda_clock_ns() + WAIT_NS);
			if (err)
				return complain(err);
			check(j, id, round, k);
			if (gda_test(q, ticket[k]) != 1)
				complain(-EINVAL);
		}
	}
	err = gda_quiet(q, gda_clock_ns() + WAIT_NS);
	if (err)
		complain(err);
}

/* All lanes of a warp own the queue together. */
static __device__ void rounds_each(struct gda_exclusive &q, const struct job &j, uint32_t id)
{
	for (uint32_t round = 0; round < ROUNDS * 2; round++) {
		size_t at = (size_t)id * FLIGHT * CELL;
		uint64_t value = value_of(id, round, 0);
		int64_t ticket;
		int err;

		fill(j.mem[0] + at, value);
		ticket = gda_put_each(q, (uintptr_t)j.mem[0] + at, j.lkey,
				      (uintptr_t)j.mem[1] + at, j.rkey, CELL,
				      GDA_SYSTEM);
		err = ticket < 0 ? (int)ticket : gda_wait(q, ticket, gda_clock_ns() + WAIT_NS);
		if (__any_sync(~0U, err)) {
			if (err)
				complain(err);
			return;
		}
		if (differ(j.mem[1] + at, value, CELL / 8))
			atomicAdd(&outcome.bytes, 8);
		atomicAdd(&outcome.done, 1);
		__syncwarp();
	}
}

/*
 * Some good requests, a wrong one of the first thread, and more; their outcomes and that of a
 * quiet.
 */
template <class queue>
static __device__ void rounds_wrong(queue &q, const struct job &j, uint32_t id)
{
	uint64_t peers = (uintptr_t)j.mem[1] + (size_t)id * FLIGHT * CELL;

	for (uint32_t k = 0; k < 4 * DEPTH; k++) {
		bool wrong = !id && k == DEPTH + 3;
		int64_t ticket = gda_put_value(q, peers, j.rkey ^ (wrong ? 0x100 : 0), k, 0);
		int err = ticket < 0 ? (int)ticket : gda_wait(q, ticket, gda_clock_ns() + WAIT_NS);

		if (!err && !wrong)
			atomicAdd(&outcome.done, 1);
		else if (err == -EIO && wrong)
			atomicAdd(&outcome.failed, 1);
		else if (err == -ECANCELED)
			atomicAdd(&outcome.flushed, 1);
		else
			complain(err ? err : -EINVAL);
	}
	if (gda_quiet(q, gda_clock_ns() + WAIT_NS) != -EIO)
		complain(-EINVAL);
}

template <class queue>
static __device__ int64_t put_signal(queue &q, uint64_t mine, uint32_t lkey,
				     uint64_t peers, uint32_t rkey,
				     const struct gda_signal &s)
{
	return gda_put_signal(q, mine, lkey, peers, rkey, 8, s, 0);
}

static __device__ int64_t put_signal(struct gda_view *v, uint64_t mine,
				     uint32_t lkey, uint64_t peers,
				     uint32_t rkey, const struct gda_signal &s)
{
	return gda_put_signal(v, mine, lkey, peers, rkey, 8, &s, 0);
}

/* Operations that the dialect lacks. */
template <class queue>
static __device__ void refused(queue &q, const struct job &j)
{
	const struct gda_signal s = { sizeof(s), GDA_SIGNAL_ADD, (uintptr_t)j.mem[1], 1,
				      (uintptr_t)j.mem[0], j.rkey, j.lkey };
	const struct gda_signal set = { sizeof(set), GDA_SIGNAL_SET, (uintptr_t)j.mem[1], 77,
					(uintptr_t)j.mem[0], j.rkey, j.lkey };
	uint64_t mine = (uintptr_t)j.mem[0], peers = (uintptr_t)j.mem[1];
	char bytes[96] = { 0 };
	bool ok = true;

	ok &= gda_nop(q, 0) == -EOPNOTSUPP;
	ok &= gda_fetch_add(q, mine, j.lkey, peers, j.rkey, 1, 0) == -EOPNOTSUPP;
	ok &= gda_compare_swap(q, mine, j.lkey, peers, j.rkey, 1, 2, 0) == -EOPNOTSUPP;
	ok &= put_signal(q, mine, j.lkey, peers, j.rkey, s) == -EOPNOTSUPP;
	ok &= gda_wait(q, put_signal(q, mine, j.lkey, peers, j.rkey, set), 0) == 0;
	ok &= gda_nic_load64((const uint64_t *)j.mem[1]) == set.value;
	ok &= gda_put_inline(q, peers, j.rkey, bytes, 81, 0) == -EMSGSIZE;
	ok &= gda_put(q, mine, j.lkey, peers, j.rkey, (1ULL << 30) + 1, 0) == -EMSGSIZE;
	if (ok)
		atomicAdd(&outcome.refused, 1);
}

template <class queue>
static __device__ void work(queue &q, const struct job &j, uint32_t id)
{
	if (!id)
		refused(q, j);
	if (j.wrong)
		rounds_wrong(q, j, id);
	else
		rounds(q, j, id);
}

template <enum kind kind>
static __global__ void run(struct job j)
{
	uint32_t id = blockIdx.x * blockDim.x + threadIdx.x;

	if constexpr (kind == EXCLUSIVE || kind == WARP) {
		struct gda_exclusive q = gda_exclusive_open(j.v);

		if (!gda_assume_dialect(q, GDA_DIALECT_EFA))
			complain(-EINVAL);
		else if constexpr (kind == WARP)
			rounds_each(q, j, id);
		else
			work(q, j, id);
		gda_exclusive_close(q);
	} else if constexpr (kind == BLOCK || kind == BLOCK_COURIER) {
		uint32_t posters = blockDim.x - (kind == BLOCK_COURIER ? 32 : 0);
		__shared__ struct gda_block b;

		gda_block_open(&b, j.v, posters);
		{
			struct gda_block_queue q = gda_block_join(&b, kind == BLOCK_COURIER);

			if (kind == BLOCK_COURIER && threadIdx.x >= posters) {
				if (gda_block_courier(q))
					complain(-ESHUTDOWN);
			} else {
				work(q, j, id);
				gda_block_leave(&b);
			}
		}
		gda_block_close(&b);
	} else if constexpr (kind == SHARED || kind == COURIER) {
		struct gda_shared q = gda_shared_open(j.v, kind == COURIER);

		if (kind == COURIER && !blockIdx.x) {
			if (threadIdx.x < 32 && gda_courier_run(q, j.posters))
				complain(-ESHUTDOWN);
			return;
		}
		work(q, j, kind == COURIER ? id - blockDim.x : id);
		if (kind == COURIER)
			gda_courier_leave(j.posters);
	} else {
		struct gda_view *v = j.v;

		work(v, j, id);
	}
}

/* Are the queues the library's for GPUs, and the memory the GPU's? Else views of the test's own. */
static bool by_library;

struct side {
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	struct gda_cuda_qp *gpu_qp;
	struct gda_qp *qp;
	struct gda_mr *mr;
	char *mem;
};

static std::set<uintptr_t> pages;	/* that the GPU reaches */

static void reach(uint64_t addr, size_t bytes)
{
	/* page by page, for several parts of a queue are in one */
	for (uintptr_t at = addr & ~4095ULL; at < addr + bytes; at += 4096)
		if (pages.insert(at).second)
			CUDA(cudaHostRegister((void *)at, 4096, cudaHostRegisterDefault));
}

/* Before they are unmapped: others may then have their addresses. */
static void leave_all(void)
{
	for (uintptr_t at : pages)
		CUDA(cudaHostUnregister((void *)at));
	pages.clear();
}

static void side_open(struct side *s)
{
	struct gda_qp_attr attr = { sizeof(attr) };

	attr.sq_depth = DEPTH;
	attr.dialect = GDA_DIALECT_EFA;
	GDA(gda_open(GDA_DEVICE_INPROC, &s->ctx));
	if (by_library) {
		struct gda_cuda_qp_attr gpu = { sizeof(gpu) };

		gpu.sq_depth = DEPTH;
		gpu.dialect = GDA_DIALECT_EFA;
		gpu.timeout_ns = 20000000000ULL;
		GDA(gda_cuda_open(s->ctx, 0, &s->cuda));
		GDA(gda_cuda_qp_create(s->cuda, &gpu, &s->gpu_qp));
		s->qp = gda_cuda_qp_base(s->gpu_qp);
		CUDA(cudaMalloc(&s->mem, SIZE));
		CUDA(cudaMemset(s->mem, 0, SIZE));
		CUDA(cudaDeviceSynchronize());
		GDA(gda_cuda_mr_reg(s->cuda, (uintptr_t)s->mem, SIZE, GDA_ACCESS_ALL, 0, &s->mr));
		return;
	}
	GDA(gda_qp_create(s->ctx, &attr, &s->qp));
	CUDA(cudaHostAlloc(&s->mem, SIZE, cudaHostAllocDefault));
	memset(s->mem, 0, SIZE);
	GDA(gda_mr_reg(s->ctx, s->mem, SIZE, GDA_ACCESS_ALL, 0, &s->mr));
}

static void side_close(struct side *s)
{
	if (by_library)
		GDA(gda_cuda_qp_destroy(s->gpu_qp));
	else
		GDA(gda_qp_destroy(s->qp));
	GDA(gda_mr_dereg(s->mr));
	gda_cuda_close(s->cuda);
	gda_close(s->ctx);
	if (by_library)
		CUDA(cudaFree(s->mem));
	else
		CUDA(cudaFreeHost(s->mem));
}

/* The view of @qp, for a GPU. */
static struct gda_view *view_on_gpu(struct gda_qp *qp)
{
	const struct gda_view *v = gda_qp_view(qp);
	struct gda_view copy = *v;
	size_t words = DEPTH * sizeof(uint32_t);
	char *there;

	reach(v->sq, (size_t)DEPTH * GDA_EFA_WIDE_BYTES);
	reach(v->cq, (size_t)DEPTH * 2 * GDA_EFA_CQE_BYTES);
	reach(v->db, 8);
	CUDA(cudaMalloc(&there, sizeof(copy) + words + GDA_VIEW_MARKS_BYTES));
	CUDA(cudaMemset(there, 0, sizeof(copy) + words + GDA_VIEW_MARKS_BYTES));
	copy.slots = (uintptr_t)there + sizeof(copy);
	copy.marks = copy.slots + words;
	copy.abort = (uintptr_t)there + offsetof(struct gda_view, abort_word);
	copy.caps = GDA_VIEW_DB_UNORDERED;
	CUDA(cudaMemcpy(there, &copy, sizeof(copy), cudaMemcpyHostToDevice));
	CUDA(cudaMemcpy((void *)copy.slots, (void *)v->slots, words, cudaMemcpyHostToDevice));
	return (struct gda_view *)there;
}

static void launch(const struct test *t, const struct job &j)
{
	switch (t->kind) {
	case EXCLUSIVE:
		return run<EXCLUSIVE><<<t->blocks, t->threads>>>(j);
	case WARP:
		return run<WARP><<<t->blocks, t->threads>>>(j);
	case BLOCK:
		return run<BLOCK><<<t->blocks, t->threads>>>(j);
	case BLOCK_COURIER:
		return run<BLOCK_COURIER><<<t->blocks, t->threads + 32>>>(j);
	case SHARED:
		return run<SHARED><<<t->blocks, t->threads>>>(j);
	case COURIER:
		return run<COURIER><<<t->blocks + 1, t->threads>>>(j);
	default:
		return run<VIEW><<<t->blocks, t->threads>>>(j);
	}
}

/* All threads together must have found this. */
static bool right(const struct test *t, const struct outcome &o)
{
	uint32_t threads = t->blocks * t->threads;

	if (t->wrong)
		return !o.errors && o.failed == 1 && o.refused == 1 && o.flushed &&
		       o.done + o.flushed == threads * 4 * DEPTH - 1;
	return !o.errors && !o.bytes && o.refused == (t->kind != WARP) &&
	       o.done == threads * (t->kind == WARP ? ROUNDS * 2 : ROUNDS * FLIGHT);
}

static int run_one(const struct test *t, int)
{
	uint32_t threads = t->blocks * t->threads;
	struct outcome o = {};
	struct gda_address addr[2];
	struct side side[2] = {};
	struct job j = {};

	for (int i = 0; i < 2; i++) {
		side_open(&side[i]);
		GDA(gda_qp_address(side[i].qp, &addr[i]));
		j.mem[i] = side[i].mem;
	}
	for (int i = 0; i < 2; i++)
		GDA(gda_qp_connect(side[i].qp, &addr[!i]));
	CUDA(cudaMalloc(&j.posters, sizeof(threads)));
	CUDA(cudaMemcpy(j.posters, &threads, sizeof(threads), cudaMemcpyHostToDevice));
	CUDA(cudaMemcpyToSymbol(outcome, &o, sizeof(o)));
	j.v = by_library ? gda_cuda_qp_view(side[0].gpu_qp) : view_on_gpu(side[0].qp);
	if (!j.v)
		return 1;
	j.lkey = gda_mr_key(side[0].mr);
	j.rkey = gda_mr_key(side[1].mr);
	j.wrong = t->wrong;
	launch(t, j);
	CUDA(cudaGetLastError());
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaMemcpyFromSymbol(&o, outcome, sizeof(o)));
	printf("# %u done, %u bytes wrong, %u failed, %u flushed, %u refused, %u errors, first %d\n",
	       o.done, o.bytes, o.failed, o.flushed, o.refused, o.errors,
	       o.first);
	leave_all();
	if (!by_library)
		CUDA(cudaFree(j.v));
	CUDA(cudaFree(j.posters));
	for (int i = 0; i < 2; i++)
		side_close(&side[i]);
	return !right(t, o);
}

int main(int argc, char **argv)
{
	by_library = argc > 1 && !strcmp(argv[1], "--library");
	argv += by_library;
	argc -= by_library;
	return ktap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : "", run_one);
}

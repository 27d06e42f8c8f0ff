// SPDX-License-Identifier: MIT
/*
 * Words in GPU memory on the in-process device, changed while a kernel has all threads of all
 * multiprocessors: so nothing of what it waits for can be a kernel.
 *
 *	words [TEST [ADDITIONS]]	those whose names contain TEST
 *
 * GDA_TEST_SECONDS: a test may take so long, 60 if it is not set. Speaks KTAP.
 */
#include <cstring>
#include <vector>
#include <gda/cuda.h>
#include <gda/fastpath.h>
#include "ktap.cuh"

#define QUEUES		64U
#define WORDS		8U
#define BATCH		32U
#define ROUNDS		1000U
#define CHUNK		16384U
#define DEADLINE_NS	30000000000ULL

/* Blocks of 1024 threads that a multiprocessor takes. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define PRESENT		1
#else
#define PRESENT		2
#endif

struct test {
	const char *name;
	int peer;		/* the GPU that has the words */
	uint32_t flags;
	uint32_t additions;	/* 0: the test of order */
};

static const struct test tests[] = {
	{ "order", 0, 0, 0 },
	{ "order_stores", 0, GDA_CUDA_MR_STORES, 0 },
	{ "sums", 0, 0, 1000000 },
	{ "sums_stores", 0, GDA_CUDA_MR_STORES, 20000 },
	/* the last two need another GPU */
	{ "order_two_gpus", 1, 0, 0 },
	{ "sums_two_gpus", 1, 0, 1000000 },
};

static uint32_t additions;	/* in place of those of the tests, or 0 */

/* A context on a GPU. */
struct side {
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	int device;
};

static void side_open(struct side *s, int device)
{
	s->device = device;
	CUDA(cudaSetDevice(device));
	CUDA(cudaFree(0));
	GDA(gda_open(GDA_DEVICE_INPROC, &s->ctx));
	GDA(gda_cuda_open(s->ctx, device, &s->cuda));
}

static void side_close(struct side *s)
{
	gda_cuda_close(s->cuda);
	gda_close(s->ctx);
}

static void pair_open(struct side *side, struct gda_cuda_qp **qp)
{
	struct gda_cuda_qp_attr attr = { sizeof(attr) };
	struct gda_address addr[2];

	attr.sq_depth = 2 * BATCH;
	attr.timeout_ns = DEADLINE_NS;
	for (int i = 0; i < 2; i++) {
		/* the second one posts nothing: it needs no way around the multiprocessors */
		attr.place = i ? GDA_CUDA_LEAVES_ROOM : 0;
		GDA(gda_cuda_qp_create(side[i].cuda, &attr, &qp[i]));
		GDA(gda_qp_address(gda_cuda_qp_base(qp[i]), &addr[i]));
	}
	for (int i = 0; i < 2; i++)
		GDA(gda_qp_connect(gda_cuda_qp_base(qp[i]), &addr[!i]));
}

/* What a kernel is given, and what it says; in mapped memory of the host. */
struct run {
	struct gda_view *views[QUEUES];
	uint64_t words;
	uint32_t rkey;
	uint64_t olds;			/* BATCH for each queue, in mapped memory of the host */
	uint32_t lkey;
	uint32_t each;			/* additions of a queue */
	uint32_t most;			/* values of a word, for which @found has a bit each */
	uint32_t *found;		/* in GPU memory, as the next */
	unsigned int *present;		/* blocks; then who has finished */
	/* the test of order */
	uint8_t *data[2];
	uint32_t data_key[2];
	uint32_t stores;
	/* out */
	unsigned int blocks;		/* that were there together */
	unsigned int twice, strange, back, wrong;
	unsigned long long looks;
	int err;
};

static __device__ void failed(struct run *r, int err)
{
	if (err)
		atomicCAS_system(&r->err, 0, err);
}

static __device__ uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

static __device__ uint32_t word_of(uint32_t queue, uint32_t i)
{
	return (uint32_t)(mix((uint64_t)queue << 32 | i) % WORDS);
}

/* A value was found: by nobody else, and one that this queue could find. */
static __device__ void found(struct run *r, uint32_t word, uint64_t old, uint64_t *least)
{
	uint64_t bit;

	if (old >= r->most || old < *least) {
		atomicAdd_system(&r->strange, 1);
		return;
	}
	*least = old + 1;
	bit = (uint64_t)word * r->most + old;
	if (atomicOr(&r->found[bit / 32], 1U << bit % 32) & 1U << bit % 32)
		atomicAdd_system(&r->twice, 1);
}

static __device__ void add(struct run *r, uint32_t queue)
{
	uint64_t olds = r->olds + (uint64_t)queue * BATCH * 8, least[WORDS] = {};
	struct gda_view *v = r->views[queue];
	uint32_t each = r->each, lkey = r->lkey, rkey = r->rkey;
	int err = 0;

	for (uint32_t i = 0; i < each && !err; i += BATCH) {
		uint32_t n = each - i < BATCH ? each - i : BATCH;

		for (uint32_t k = 0; k < n && !err; k++) {
			int64_t ticket = gda_fetch_add(v, olds + 8 * k, lkey,
						       r->words + 8 * word_of(queue, i + k), rkey,
						       1, k + 1 < n ? GDA_EXCLUSIVE | GDA_DEFER :
								      GDA_EXCLUSIVE);

			err = ticket < 0 ? (int)ticket : 0;
		}
		if (!err)
			err = gda_quiet(v, gda_clock_ns() + DEADLINE_NS);
		for (uint32_t k = 0; k < n && !err; k++) {
			uint32_t word = word_of(queue, i + k);

			found(r, word, gda_nic_load64((uint64_t *)(olds + 8 * k)), &least[word]);
		}
	}
	failed(r, err);
}

/* Until all have finished: no word goes back. */
static __device__ void watch(struct run *r)
{
	volatile unsigned int *finished = r->present + 1;
	uint64_t seen[WORDS] = {};
	unsigned long long looks = 0;
	bool last = false;

	for (;;) {
		for (uint32_t i = 0; i < WORDS; i++) {
			uint64_t now = gda_nic_load64((uint64_t *)r->words + i);

			if (now < seen[i])
				atomicAdd_system(&r->back, 1);
			seen[i] = now;
		}
		looks++;
		if (last)
			break;
		last = *finished == QUEUES;
	}
	r->looks = looks;
}

/*
 * A block for each queue, one that watches, and others that only are there: with all the threads
 * of all multiprocessors, so there is no room for another kernel.
 */
static __global__ void __launch_bounds__(1024, PRESENT) sums_kernel(struct run *r)
{
	volatile unsigned int *present = r->present;

	if (!threadIdx.x) {
		uint64_t end = gda_clock_ns() + DEADLINE_NS;

		atomicAdd(r->present, 1);
		while (present[0] != gridDim.x && gda_clock_ns() < end)
			;
		if (!blockIdx.x)
			r->blocks = present[0];
		if (blockIdx.x < QUEUES) {
			add(r, blockIdx.x);
			__threadfence();
			atomicAdd(r->present + 1, 1);
		} else if (blockIdx.x == QUEUES) {
			watch(r);
		}
		while (present[1] != QUEUES)
			__nanosleep(1000);
	}
	__syncthreads();
}

/*
 * Block 0 puts data and a word behind it, block 1 waits for the word and looks at the data; with
 * @stores it also sets the word back. The rest is only there.
 */
static __device__ void send(struct run *r, uint64_t round)
{
	volatile unsigned int *answer = r->present + 2;
	struct gda_view *v = r->views[0];

	for (uint32_t k = threadIdx.x; k < CHUNK / 8; k += blockDim.x)
		((volatile uint64_t *)r->data[0])[k] = mix(round + k);
	__threadfence_system();
	__syncthreads();
	if (!threadIdx.x) {
		int64_t ticket;

		gda_put(v, (uintptr_t)r->data[0], r->data_key[0], (uintptr_t)r->data[1],
			r->data_key[1], CHUNK, GDA_DEFER);
		if (r->stores || round % 2)
			ticket = gda_fetch_add(v, r->olds, r->lkey, r->words, r->rkey, 1, 0);
		else
			ticket = gda_put_value(v, r->words, r->rkey, round, 0);
		failed(r, ticket < 0 ? (int)ticket :
				       gda_wait(v, ticket, gda_clock_ns() + DEADLINE_NS));
		while (*answer != round && !*(volatile int *)&r->err)
			;
	}
	__syncthreads();
}

static __device__ void receive(struct run *r, uint64_t round)
{
	uint64_t want = r->stores ? 1 : round;

	if (!threadIdx.x)
		while (gda_nic_load64((uint64_t *)r->words) != want &&
		       !*(volatile int *)&r->err)
			;
	__syncthreads();
	for (uint32_t k = threadIdx.x; k < CHUNK / 8; k += blockDim.x)
		if (((volatile uint64_t *)r->data[1])[k] != mix(round + k))
			atomicAdd_system(&r->wrong, 1);
	__syncthreads();
	if (!threadIdx.x) {
		if (r->stores)
			gda_nic_store64((uint64_t *)r->words, 0);
		__threadfence_system();
		*(volatile unsigned int *)(r->present + 2) = (unsigned int)round;
	}
}

static __global__ void __launch_bounds__(1024, PRESENT) order_kernel(struct run *r)
{
	volatile unsigned int *present = r->present;

	if (!threadIdx.x) {
		uint64_t end = gda_clock_ns() + DEADLINE_NS;

		atomicAdd(r->present, 1);
		while (present[0] != gridDim.x && gda_clock_ns() < end)
			;
		if (!blockIdx.x)
			r->blocks = present[0];
	}
	__syncthreads();
	for (uint64_t round = 1; round <= ROUNDS && blockIdx.x < 2; round++) {
		if (blockIdx.x)
			receive(r, round);
		else
			send(r, round);
	}
	if (!threadIdx.x) {
		if (blockIdx.x < 2)
			atomicAdd(r->present + 1, 1);
		while (present[1] != 2)
			__nanosleep(1000);
	}
	__syncthreads();
}

static int grid(int device)
{
	cudaDeviceProp prop;

	CUDA(cudaGetDeviceProperties(&prop, device));
	return prop.multiProcessorCount * (prop.maxThreadsPerMultiProcessor / 1024);
}

/* The words are what was added, and every value below was found. */
static bool exact(const struct run *r, const uint64_t *words)
{
	std::vector<uint32_t> bits((size_t)WORDS * r->most / 32 + 1);
	uint64_t sum = 0;

	CUDA(cudaMemcpy(bits.data(), r->found, bits.size() * 4, cudaMemcpyDeviceToHost));
	for (uint32_t i = 0; i < WORDS; i++) {
		sum += words[i];
		for (uint64_t k = 0; k < words[i] && k < r->most; k++) {
			uint64_t bit = (uint64_t)i * r->most + k;

			if (!(bits[bit / 32] >> bit % 32 & 1)) {
				printf("# word %u: nobody found %llu\n", i, (unsigned long long)k);
				return false;
			}
		}
	}
	printf("# sum %llu of %llu\n", (unsigned long long)sum,
	       (unsigned long long)QUEUES * r->each);
	return sum == (uint64_t)QUEUES * r->each;
}

static int run_kernel(const struct test *t, struct run *r, uint64_t *dev_words)
{
	uint64_t began = gda_clock_ns(), words[WORDS];
	int blocks = grid(0);
	bool ok;

	if (t->additions)
		sums_kernel<<<blocks, 1024>>>(r);
	else
		order_kernel<<<blocks, 1024>>>(r);
	CUDA(cudaGetLastError());
	CUDA(cudaDeviceSynchronize());
	began = gda_clock_ns() - began;
	CUDA(cudaMemcpy(words, dev_words, sizeof(words), cudaMemcpyDeviceToHost));
	ok = !r->err && !r->twice && !r->strange && !r->back && !r->wrong &&
	     r->blocks == (unsigned int)blocks;
	printf("# %s: %d threads, all there: %d; error %d, %u values found twice, %u impossible, "
	       "%u times back in %llu looks, %u words of data wrong, %.3f s\n", t->name,
	       blocks * 1024, r->blocks == (unsigned int)blocks, r->err, r->twice, r->strange,
	       r->back, r->looks, r->wrong, (double)began / 1e9);
	if (!t->additions)
		return ok && words[0] == (r->stores ? 0 : ROUNDS) ? 0 : 1;
	printf("# %.0f thousand additions a second\n",
	       (double)QUEUES * r->each * 1e6 / (double)began);
	return ok && exact(r, words) ? 0 : 1;
}

static int run_test(const struct test *t, int)
{
	struct gda_cuda_qp *qp[QUEUES][2];
	uint32_t n = additions && t->additions ? additions : t->additions;
	uint32_t queues = t->additions ? QUEUES : 1;
	struct gda_mr *words_mr, *olds_mr, *data_mr[2];
	struct side side[2];
	uint64_t *words;
	struct run *r;
	void *olds;
	int err;

	side_open(&side[1], t->peer);
	CUDA(cudaMalloc(&words, 4096));
	CUDA(cudaMemset(words, 0, 4096));
	side_open(&side[0], 0);
	CUDA(cudaHostAlloc(&r, sizeof(*r), cudaHostAllocPortable | cudaHostAllocMapped));
	CUDA(cudaHostAlloc(&olds, QUEUES * BATCH * 8, cudaHostAllocPortable));
	memset(r, 0, sizeof(*r));
	r->each = n / QUEUES;
	r->most = n ? n : 1;
	CUDA(cudaMalloc(&r->found, (size_t)WORDS * r->most / 8 + 64));
	CUDA(cudaMemset(r->found, 0, (size_t)WORDS * r->most / 8 + 64));
	CUDA(cudaMalloc(&r->present, 64));
	CUDA(cudaMemset(r->present, 0, 64));
	CUDA(cudaMalloc(&r->data[0], CHUNK));
	CUDA(cudaSetDevice(t->peer));
	CUDA(cudaMalloc(&r->data[1], CHUNK));
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaSetDevice(0));
	CUDA(cudaDeviceSynchronize());
	GDA(gda_cuda_mr_reg(side[1].cuda, (uintptr_t)words, 4096, GDA_ACCESS_ALL,
			    GDA_CUDA_MR_WORDS | t->flags, &words_mr));
	GDA(gda_mr_reg(side[0].ctx, olds, QUEUES * BATCH * 8, GDA_ACCESS_ALL, 0, &olds_mr));
	for (int i = 0; i < 2; i++) {
		GDA(gda_cuda_mr_reg(side[i].cuda, (uintptr_t)r->data[i], CHUNK, GDA_ACCESS_ALL, 0,
				    &data_mr[i]));
		r->data_key[i] = gda_mr_key(data_mr[i]);
	}
	for (uint32_t i = 0; i < queues; i++) {
		pair_open(side, qp[i]);
		r->views[i] = gda_cuda_qp_view(qp[i][0]);
	}
	r->words = (uintptr_t)words;
	r->rkey = gda_mr_key(words_mr);
	r->olds = (uintptr_t)olds;
	r->lkey = gda_mr_key(olds_mr);
	r->stores = t->flags & GDA_CUDA_MR_STORES ? 1 : 0;
	err = run_kernel(t, r, words);
	for (uint32_t i = 0; i < queues; i++)
		for (int k = 0; k < 2; k++)
			gda_cuda_qp_destroy(qp[i][k]);
	gda_mr_dereg(words_mr);
	gda_mr_dereg(olds_mr);
	for (int i = 0; i < 2; i++) {
		gda_mr_dereg(data_mr[i]);
		CUDA(cudaFree(r->data[i]));
	}
	CUDA(cudaFree(words));
	CUDA(cudaFree(r->found));
	CUDA(cudaFree(r->present));
	CUDA(cudaFreeHost(olds));
	CUDA(cudaFreeHost(r));
	side_close(&side[0]);
	side_close(&side[1]);
	return err;
}

int main(int argc, char **argv)
{
	size_t n = sizeof(tests) / sizeof(tests[0]);
	int devices = 0;

	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	setenv("GDA_INPROC_WORKERS", "4", 0);
	if (cudaGetDeviceCount(&devices) == cudaSuccess && devices == 1) {
		printf("# one GPU here: no tests between two\n");
		n -= 2;
	}
	additions = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	return ktap_run(tests, n, argc > 1 ? argv[1] : "", run_test);
}

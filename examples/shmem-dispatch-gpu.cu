// SPDX-License-Identifier: MIT
/*
 * Token dispatch and combine for a mixture of experts, as low-latency inference does them, in
 * kernels that are resident from the first token to the last:
 *
 *	shmem-dispatch-gpu [--bf16] [--pes N] [ROUNDS]
 *	shmem-dispatch-gpu --die 1
 *
 * PEs are threads of this process, each with a GPU, or with a share of those that are there; N is
 * 2. They do the work that shmem-dispatch.c does on CPUs. A block of threads fills a token and
 * puts it to each of its experts, into any free slot that this PE has there; behind the last one
 * goes the count, a word that says that all is there and of which round. The expert's blocks work
 * on what came and put each row back to where its token waits, and behind the last one its flag.
 * PEs meet in no barrier, and no CPU is told. Routes are random.
 *
 * With --die that PE's kernel ends in the midst of a round and its host shuts its context down.
 * The others wait for its count until the deadline, mask it, leave out its tokens and its experts,
 * and finish. Kernels compare every element of every round with what it has to be, and the CPU the
 * sums of the last round with those of a loop.
 *
 * GDA_SHMEM_WAY=direct: by loads and stores, where the GPUs reach each other.
 */
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>
#include <gda/cuda.h>
#include <gda/shmem.h>
#include "gpu.cuh"

#define TOKENS		16U		/* of a PE in a round */
#define TOP		4U		/* experts of a token */
#define LOCAL		4U		/* experts of a PE */
#define HIDDEN		7168U		/* elements of a token */
#define SCALED		128U		/* elements that have one scale */
#define MOST		4U		/* PEs */
#define EXPERTS		(LOCAL * MOST)
#define FATAL		3U		/* the round in which one dies */
#define BLOCKS		16U		/* of a PE; all of them run at the same time */
#define THREADS		256U
#define PATIENCE_NS	2000000000ULL	/* for a PE that does not answer */

/* In the symmetric heap; those of odd and of even rounds, for a PE may be one ahead. */
struct slot {
	uint32_t token;		/* index at its PE */
	uint32_t reserved[3];
	uint32_t scales[HIDDEN / SCALED];
	uint8_t data[2 * HIDDEN];
};

struct buffers {
	struct slot tokens[TOKENS];				/* of this PE */
	struct slot inbox[LOCAL][MOST][TOKENS];
	uint16_t results[LOCAL][MOST][TOKENS][HIDDEN];		/* on their way back */
	uint16_t rows[EXPERTS][TOKENS][HIDDEN];			/* that come back */
};

/* In the words beside it. */
struct words {
	uint64_t counts[LOCAL][MOST];				/* round + 1, and how many */
	uint64_t flags[EXPERTS];				/* round + 1: all rows came */
};

/* Of a PE, in its GPU's memory: what its blocks share. */
struct shared {
	uint32_t arrived;		/* blocks at the barrier, in all rounds */
	uint32_t masked[MOST];
	uint32_t sent[2][EXPERTS];
	unsigned long long wrong;
	uint32_t sums[TOKENS][HIDDEN];	/* of the newest round */
};

struct job {
	struct gda_shmem *s;
	struct buffers *b;		/* two of them */
	struct words *w;		/* likewise */
	struct shared *shared;
	uint32_t pe, npes, rounds, die;
	bool bf16;
};

static __host__ __device__ uint32_t hash(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t x = ((uint64_t)a << 40 ^ (uint64_t)b << 20 ^ c) * 0x9e3779b97f4a7c15U;

	return (uint32_t)(x >> 32 ^ x >> 13);
}

/* The expert that is the @k-th of a token, no two of them alike: a walk with an odd stride. */
static __host__ __device__ uint32_t route(const struct job &j, uint32_t pe, uint32_t token,
					  uint32_t round, uint32_t k)
{
	uint32_t experts = LOCAL * j.npes, x = hash(pe * TOKENS + token, round, 1), stride;

	/* a stride that has no divisor with the number of experts, 8, 12 or 16 */
	stride = 1 + 2 * (x >> 8 & 3);
	while (stride % 3 == 0 && experts % 3 == 0)
		stride += 2;
	return (x % experts + k * stride) % experts;
}

static __host__ __device__ uint32_t element(const struct job &j, uint32_t pe, uint32_t token,
					    uint32_t round, uint32_t i)
{
	uint32_t value = (pe * 31 + token * 17 + round * 7 + i) * 2654435761U;

	return j.bf16 ? value >> 16 : value >> 24;
}

static __host__ __device__ uint32_t scale(const struct job &j, uint32_t pe, uint32_t token,
					  uint32_t i)
{
	return j.bf16 ? 1 : 1 + (pe + token + i / SCALED) % 5;
}

/* An expert makes this of an element. */
static __host__ __device__ uint16_t work(uint32_t value, uint32_t factor, uint32_t expert)
{
	return (uint16_t)(value * factor + 3 * expert);
}

static __host__ __device__ uint32_t slot_bytes(const struct job &j)
{
	return (uint32_t)offsetof(struct slot, data) + (j.bf16 ? 2 : 1) * HIDDEN;
}

/* All blocks of a PE. */
static __device__ void barrier(const struct job &j, uint32_t &count)
{
	__syncthreads();
	if (!threadIdx.x) {
		__threadfence();
		atomicAdd(&j.shared->arrived, 1);
		count++;
		while (gda_load_acquire32(&j.shared->arrived) < count * BLOCKS)
			;
	}
	__syncthreads();
}

static __device__ bool is_masked(const struct job &j, uint32_t pe)
{
	return *(volatile uint32_t *)&j.shared->masked[pe];
}

/* One thread: the result of a call to a PE; one that failed takes no further part. */
static __device__ void reach(const struct job &j, int64_t err, uint32_t pe)
{
	if (err < 0)
		*(volatile uint32_t *)&j.shared->masked[pe] = 1;
}

/* By a block: put to a PE, and do not wait. */
static __device__ void put(const struct job &j, void *dest, const void *source, uint32_t bytes,
			   uint32_t pe)
{
	auto p = gda_shmem_open_gpu(j.s, pe, 0, false);
	int64_t ticket = gda_shmem_put_nbi_block(p, dest, source, bytes, 0);

	if (!threadIdx.x)
		reach(j, ticket, pe);
}

static __device__ void tell(const struct job &j, uint64_t *word, uint64_t value, uint32_t pe)
{
	if (!is_masked(j, pe))
		reach(j, gda_shmem_p(j.s, word, value, 8, pe, 0), pe);
}

static __device__ void fill(const struct job &j, struct slot *t, uint32_t token, uint32_t round)
{
	if (!threadIdx.x)
		t->token = token;
	for (uint32_t i = threadIdx.x; i < HIDDEN / SCALED; i += THREADS)
		t->scales[i] = scale(j, j.pe, token, i * SCALED);
	for (uint32_t i = threadIdx.x; i < HIDDEN; i += THREADS) {
		uint32_t value = element(j, j.pe, token, round, i);

		if (j.bf16)
			((uint16_t *)t->data)[i] = (uint16_t)value;
		else
			t->data[i] = (uint8_t)value;
	}
}

static __device__ void dispatch(const struct job &j, uint32_t round, uint32_t tokens)
{
	struct buffers *b = &j.b[round % 2];
	__shared__ uint32_t at;

	for (uint32_t token = blockIdx.x; token < tokens; token += BLOCKS) {
		fill(j, &b->tokens[token], token, round);
		for (uint32_t k = 0; k < TOP; k++) {
			uint32_t expert = route(j, j.pe, token, round, k), pe = expert / LOCAL;

			__syncthreads();
			if (!threadIdx.x)
				at = is_masked(j, pe) ? TOKENS :
				     atomicAdd(&j.shared->sent[round % 2][expert], 1);
			__syncthreads();
			if (at < TOKENS)
				put(j, &b->inbox[expert % LOCAL][j.pe][at], &b->tokens[token],
				    slot_bytes(j), pe);
		}
	}
}

/* By a block: wait for a word that @pe writes in this round. Return: its value; 0: it did not. */
static __device__ uint64_t came(const struct job &j, uint64_t *word, uint64_t least, uint32_t pe)
{
	__shared__ uint64_t value;

	__syncthreads();
	if (!threadIdx.x) {
		uint64_t deadline = gda_clock_ns() + PATIENCE_NS;
		unsigned int polls = 0;

		value = 0;
		while (!is_masked(j, pe)) {
			if (gda_shmem_test_until64(word, GDA_SHMEM_GE | GDA_SHMEM_UNSIGNED, least)) {
				value = gda_shmem_load64(word);
				break;
			}
			reach(j, gda_shmem_gpu_relax(j.s, ++polls, pe, deadline), pe);
		}
	}
	__syncthreads();
	return value;
}

/* The rows of a local expert for the tokens of a PE, those that are this block's. */
static __device__ void serve(const struct job &j, uint32_t round, uint32_t local, uint32_t pe)
{
	struct buffers *b = &j.b[round % 2];
	uint32_t expert = j.pe * LOCAL + local, count;

	count = (uint32_t)came(j, &j.w[round % 2].counts[local][pe], (uint64_t)(round + 1) << 32, pe);
	for (uint32_t k = blockIdx.x; k < count; k += BLOCKS) {
		const struct slot *t = &b->inbox[local][pe][k];
		uint16_t *row = b->results[local][pe][k];
		uint32_t token = __ldcg(&t->token) % TOKENS;

		for (uint32_t i = threadIdx.x; i < HIDDEN; i += THREADS) {
			uint32_t value = j.bf16 ? __ldcg((const uint16_t *)t->data + i) :
						  __ldcg(t->data + i);

			row[i] = work(value, __ldcg(&t->scales[i / SCALED]), expert);
		}
		put(j, b->rows[expert][token], row, HIDDEN * sizeof(*row), pe);
	}
}

/* Sum the rows of each token, those of experts that did not answer left out. */
static __device__ void combine(const struct job &j, uint32_t round)
{
	struct buffers *b = &j.b[round % 2];
	unsigned long long wrong = 0;
	uint32_t answered = 0;

	for (uint32_t e = 0; e < LOCAL * j.npes; e++)
		if (came(j, &j.w[round % 2].flags[e], round + 1, e / LOCAL))
			answered |= 1U << e;
	for (uint32_t token = blockIdx.x; token < TOKENS; token += BLOCKS) {
		for (uint32_t i = threadIdx.x; i < HIDDEN; i += THREADS) {
			uint32_t sum = 0, want = 0;

			for (uint32_t k = 0; k < TOP; k++) {
				uint32_t e = route(j, j.pe, token, round, k);

				if (!(answered >> e & 1))
					continue;
				sum += (k + 1) * __ldcg(&b->rows[e][token][i]);
				want += (k + 1) * work(element(j, j.pe, token, round, i),
						       scale(j, j.pe, token, i), e);
			}
			j.shared->sums[token][i] = sum;
			wrong += sum != want;
		}
	}
	if (wrong)
		atomicAdd(&j.shared->wrong, wrong);
}

static __global__ void __launch_bounds__(THREADS) dispatch_kernel(struct job j)
{
	uint32_t experts = LOCAL * j.npes, count = 0;

	for (uint32_t round = 0; round < j.rounds; round++) {
		bool die = j.die == j.pe && round == FATAL;

		dispatch(j, round, die ? TOKENS / 2 : TOKENS);
		if (die)
			return;
		barrier(j, count);
		/* the counts are behind the tokens, on the same queue pair */
		if (!blockIdx.x && threadIdx.x < experts) {
			uint32_t e = threadIdx.x;

			gda_shmem_fence_qp(j.s, e / LOCAL, 0);
			tell(j, &j.w[round % 2].counts[e % LOCAL][j.pe],
			     (uint64_t)(round + 1) << 32 | j.shared->sent[round % 2][e], e / LOCAL);
			j.shared->sent[!(round % 2)][e] = 0;
		}
		for (uint32_t local = 0; local < LOCAL; local++)
			for (uint32_t k = 0; k < j.npes; k++)
				serve(j, round, local, (j.pe + k) % j.npes);
		barrier(j, count);
		if (!blockIdx.x && threadIdx.x < LOCAL * j.npes) {
			uint32_t pe = threadIdx.x / LOCAL, e = j.pe * LOCAL + threadIdx.x % LOCAL;

			gda_shmem_fence_qp(j.s, pe, 0);
			tell(j, &j.w[round % 2].flags[e], round + 1, pe);
		}
		combine(j, round);
		barrier(j, count);
	}
	/* sources are read until then; of a PE that is gone nothing is waited for */
	if (!blockIdx.x && threadIdx.x < j.npes && !is_masked(j, threadIdx.x))
		gda_shmem_quiet_pe(j.s, threadIdx.x, 0);
}

/* The host's side of a PE. */
struct pe {
	struct gda_comm_id *id;
	struct job job;
	int device;
	struct gda_comm *comm;
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	struct gda_shmem *s;
	cudaStream_t stream;
	double us;		/* a round */
	struct shared *result;	/* copied here */
};

static void pe_open(struct pe *p)
{
	struct gda_comm_attr comm = { sizeof(comm), 0, p->job.pe, p->job.npes, p->id, NULL, NULL,
				      60000000000ULL };
	struct gda_shmem_attr attr = {};

	CUDA(cudaSetDevice(p->device));
	CUDA(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking));
	GDA(gda_comm_create(&comm, &p->comm));
	GDA(gda_open(GDA_DEVICE_INPROC, &p->ctx));
	GDA(gda_cuda_open(p->ctx, p->device, &p->cuda));
	attr.size = sizeof(attr);
	attr.heap_bytes = 2 * sizeof(struct buffers);
	attr.word_bytes = 2 * sizeof(struct words);
	attr.timeout_ns = 5 * PATIENCE_NS;
	attr.cuda = p->cuda;
	/* the blocks are few: the CUDA driver's copies find room */
	attr.place = GDA_CUDA_LEAVES_ROOM;
	GDA(gda_shmem_create(p->comm, &attr, &p->s));
	CUDA(cudaMalloc(&p->job.shared, sizeof(*p->job.shared)));
	CUDA(cudaMemset(p->job.shared, 0, sizeof(*p->job.shared)));
	CUDA(cudaDeviceSynchronize());
	p->job.s = gda_shmem_cuda(p->s);
	p->job.b = (struct buffers *)p->s->heap;
	p->job.w = (struct words *)p->s->data;
}

static void pe_close(struct pe *p)
{
	gda_shmem_destroy(p->s);
	GDA(gda_comm_barrier(p->comm, 0));
	CUDA(cudaFree(p->job.shared));
	gda_cuda_close(p->cuda);
	gda_close(p->ctx);
	gda_comm_destroy(p->comm);
	CUDA(cudaStreamDestroy(p->stream));
}

static void pe_main(struct pe *p)
{
	uint64_t began;

	pe_open(p);
	GDA(gda_comm_barrier(p->comm, 0));
	began = gda_clock_ns();
	dispatch_kernel<<<BLOCKS, THREADS, 0, p->stream>>>(p->job);
	CUDA(cudaGetLastError());
	CUDA(cudaStreamSynchronize(p->stream));
	p->us = (double)(gda_clock_ns() - began) / 1e3 / p->job.rounds;
	if (p->job.die == p->job.pe)
		GDA(gda_context_shutdown(p->ctx));
	/* copies wait for kernels of other PEs on the same GPU, and so does what frees */
	GDA(gda_comm_barrier(p->comm, 0));
	CUDA(cudaMemcpy(p->result, p->job.shared, sizeof(*p->result), cudaMemcpyDeviceToHost));
	pe_close(p);
}

/* The sums of the last round that are not those of a loop. */
static unsigned long long compare(const struct pe &p)
{
	const struct job &j = p.job;
	uint32_t round = j.rounds - 1;
	unsigned long long wrong = 0;

	for (uint32_t token = 0; token < TOKENS; token++) {
		for (uint32_t i = 0; i < HIDDEN; i++) {
			uint32_t want = 0;

			for (uint32_t k = 0; k < TOP; k++) {
				uint32_t e = route(j, j.pe, token, round, k);

				if (e / LOCAL != j.die)
					want += (k + 1) * work(element(j, j.pe, token, round, i),
							       scale(j, j.pe, token, i), e);
			}
			wrong += p.result->sums[token][i] != want;
		}
	}
	return wrong;
}

/* Return: whether the PE did all that it had to. */
static bool report(const struct pe &p)
{
	unsigned long long wrong = p.result->wrong;
	bool good = true;

	printf("PE %u on GPU %d: ", p.job.pe, p.device);
	if (p.job.pe == p.job.die) {
		printf("died\n");
		return true;
	}
	wrong += compare(p);
	printf("%u rounds of %u tokens, %u bytes each, %.1f us a round, %llu wrong, masked:",
	       p.job.rounds, TOKENS, slot_bytes(p.job), p.us, wrong);
	for (uint32_t pe = 0; pe < p.job.npes; pe++) {
		if (p.result->masked[pe])
			printf(" %u", pe);
		good &= p.result->masked[pe] == (pe == p.job.die);
	}
	printf("%s\n", p.job.die < p.job.npes ? "" : " none");
	return good && !wrong;
}

int main(int argc, char **argv)
{
	struct job job = {};
	struct gda_comm_id id;
	int devices = 0;
	bool good = true;

	job.npes = 2;
	job.rounds = 100;
	job.die = MOST;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--bf16"))
			job.bf16 = true;
		else if (!strcmp(argv[i], "--pes") && i + 1 < argc)
			job.npes = (uint32_t)atoi(argv[++i]);
		else if (!strcmp(argv[i], "--die") && i + 1 < argc)
			job.die = (uint32_t)atoi(argv[++i]);
		else
			job.rounds = (uint32_t)atoi(argv[i]);
	}
	if (job.npes < 2 || job.npes > MOST || job.rounds <= FATAL) {
		fprintf(stderr, "usage: shmem-dispatch-gpu [--bf16] [--pes 2..%u] [--die PE] "
			"[ROUNDS]\n", MOST);
		return 2;
	}
	/* lazily loaded code would wait for an idle GPU while another PE's kernel runs */
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	/* a copy within a GPU must not share a connection with the kernel that waits for it */
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	setenv("GDA_INPROC_WORKERS", "2", 0);
	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		printf("dispatch: there is no GPU here\n");
		return 4;
	}
	std::vector<struct pe> pes(job.npes);
	std::vector<struct shared> results(job.npes);
	std::vector<std::thread> threads;

	GDA(gda_comm_id_create(NULL, &id));
	for (uint32_t i = 0; i < job.npes; i++) {
		pes[i].id = &id;
		pes[i].job = job;
		pes[i].job.pe = i;
		pes[i].device = (int)i % devices;
		pes[i].result = &results[i];
		threads.emplace_back(pe_main, &pes[i]);
	}
	for (auto &t : threads)
		t.join();
	for (const auto &p : pes)
		good &= report(p);
	return good ? 0 : 1;
}

// SPDX-License-Identifier: MIT
/*
 * The fast path in device code: threads of a GPU post to a queue in host memory that
 * the fake NIC consumes and checks on a CPU. The view and the slot words lie in GPU
 * memory. make check-gpu runs it. Speaks KTAP.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gda/gpu/post.h>
#include "../gpu/ktap.cuh"
#include "fake_nic.h"

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
	struct gda_wqe w = gda_wqe_make(GDA_DIALECT_MLX5,
					gda_wr_put(~number, id, number, id * 0x9e3779b9U,
						   (id ^ (uint32_t)number) & 0xffffff));

	gda_wqe_store(gda_sq(p), index, &w, 0);
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

/* Every operation there is, on whatever a poster calls its queue and its signal. */
#define EVERY(q, the_signal) do { \
	struct gda_chunk chunk[2] = { { 0x1000, 8, 0x9000, 7, 0 }, { 0x1008, 99, 0xa000, 8, 0 } }; \
	struct gda_chunk_map map = { sizeof(map), 2, (uintptr_t)chunk }; \
	struct gda_signal s = { sizeof(s), GDA_SIGNAL_ADD, 1, 2, 3, 4, 5 }; \
	uint64_t src[13]; \
	for (int k = 0; k < 13; k++) \
		src[k] = k * 0x0102030405060708ULL; \
	gda_put(q, 0x1122334455667788ULL, 0x99aabbcc, 0xffeeddccbbaa9988ULL, 0x77665544, 4096, 0); \
	gda_put(q, 1, 2, 3, 4, 0, GDA_SOLICITED); \
	gda_put_imm(q, 1, 2, 3, 4, 5, 0xdeadbeef, 0); \
	gda_get(q, 1, 2, 3, 4, 5, 0); \
	gda_put_inline(q, 1, 2, src + 1, 13, 0); \
	gda_put_inline(q, 1, 2, src + 1, 93, 0); \
	gda_put_value(q, 1, 2, 0x1122334455667788ULL, 0); \
	gda_put_signal(q, 1, 2, 3, 4, 5, the_signal, 0); \
	s.op = GDA_SIGNAL_SET; \
	gda_put_signal(q, 1, 2, 3, 4, 5, the_signal, 0); \
	gda_put_chunked(q, &map, 0x1001, &map, 0x1004, 20, 0); \
	gda_nop(q, 0); \
	gda_fetch_add(q, 1, 2, 3, 4, 5, 0); \
	gda_compare_swap(q, 1, 2, 3, 4, 5, 6, 0); \
	gda_masked_fetch_add(q, 1, 2, 3, 4, 5, 6, 0); \
	gda_masked_fetch_add32(q, 1, 2, 3, 4, 5, 6, 0); \
	gda_masked_compare_swap(q, 1, 2, 3, 4, 5, 6, 7, 8, 0); \
	gda_masked_compare_swap32(q, 1, 2, 3, 4, 5, 6, 7, 8, 0); \
} while (0)

enum kind { EXCLUSIVE, SHARED, BLOCK, VIEW, KINDS };

static __global__ void every_kernel(struct gda_view *v, enum kind kind)
{
	__shared__ struct gda_block b;

	if (kind == EXCLUSIVE) {
		struct gda_exclusive q = gda_exclusive_open(v);

		EVERY(q, s);
		gda_exclusive_close(q);
	} else if (kind == SHARED) {
		struct gda_shared q = gda_shared_open(v, false);

		EVERY(q, s);
	} else if (kind == BLOCK) {
		gda_block_open(&b, v, 1);
		{
			struct gda_block_queue q = gda_block_join(&b, false);

			EVERY(q, s);
		}
		gda_block_close(&b);
	} else {
		EVERY(v, &s);
	}
}

/* A GPU writes the bytes that a CPU writes, whoever posts. */
static void run_every(enum kind kind)
{
	static const char *const names[] = { "exclusive", "shared", "block", "view" };
	struct fake_queue *cpu = fake_queue_new(64);
	struct gpu_queue g;
	char what[64];
	bool same;

	EVERY(&cpu->view, &s);
	gpu_queue_open(&g, 64);
	every_kernel<<<1, 1>>>(g.v, kind);
	CUDA(cudaDeviceSynchronize());
	same = !memcmp(g.q->sq, cpu->sq, 64 * 64) && fake_rung(g.q) == fake_rung(cpu) &&
	       fake_rung(cpu) > 20;
	snprintf(what, sizeof(what), "%s, every operation is as on a CPU", names[kind]);
	verdict(!gpu_queue_close(&g) && same, what);
	fake_queue_free(cpu);
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
	printf("1..%d\n", 28 + KINDS);
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

	for (int kind = 0; kind < KINDS; kind++)
		run_every((enum kind)kind);

	gpu_queue_open(&g, 16);
	timeout_kernel<<<1, 1>>>(g.v, g.error);
	CUDA(cudaDeviceSynchronize());
	verdict(gpu_queue_close(&g) == -ETIMEDOUT, "a wait ends at its deadline");
	return status;
}

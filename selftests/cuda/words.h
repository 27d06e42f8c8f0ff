/* SPDX-License-Identifier: MIT */
/*
 * Words in GPU memory (lib/device/copier/atomic.c), without a GPU: on a driver that carries out
 * what it is asked in any order that streams allow (fake.c). A CPU posts, as a kernel would.
 */
#ifndef SELFTESTS_CUDA_WORDS_H
#define SELFTESTS_CUDA_WORDS_H

#include "pair.h"

#define WORDS	8192U		/* bytes that are registered for words: two blocks of the shadow */
#define QUEUES	8U

/* A detector of races sees one in a plain copy that is polled. */
#ifdef __SANITIZE_THREAD__
#define WORDS_TSAN	1
#else
#define WORDS_TSAN	0
#endif

FIXTURE(words) {
	struct end end[2];
	uint64_t addr;		/* words, on the GPU of the second end */
	uint8_t *window;
	struct gda_mr *mr;
	uint32_t key;
	uint64_t seed;
};

FIXTURE_VARIANT(words) {
	uint32_t place;
	uint32_t flags;
	int device;		/* of the second end */
	uint64_t operations;	/* of the model */
};

FIXTURE_VARIANT_ADD(words, host) { .device = 1, .operations = 100000 };

FIXTURE_VARIANT_ADD(words, one_gpu) { .operations = 10000 };

FIXTURE_VARIANT_ADD(words, gpu) {
	.place = GDA_CUDA_SQ_GPU | GDA_CUDA_CQ_GPU | GDA_CUDA_VIEW_HOST, .device = 1,
	.operations = 10000,
};

FIXTURE_VARIANT_ADD(words, stores) {
	.flags = GDA_CUDA_MR_STORES, .device = 1, .operations = 5000,
};

FIXTURE_VARIANT_ADD(words, stores_gpu) {
	.place = GDA_CUDA_SQ_GPU | GDA_CUDA_CQ_GPU, .flags = GDA_CUDA_MR_STORES,
	.operations = 5000,
};

FIXTURE_SETUP(words)
{
	fake_cuda_use();
	fake_cuda_full(true);
	self->seed = s_seed();
	TH_LOG("GDA_SEED=%#llx", (unsigned long long)self->seed);
	ASSERT_OK(end_open(&self->end[0], 0, 64, variant->place));
	ASSERT_OK(end_open(&self->end[1], variant->device, 64, variant->place));
	ASSERT_OK(s_connect(gda_cuda_qp_base(self->end[0].qp), gda_cuda_qp_base(self->end[1].qp)));
	self->addr = fake_cuda_alloc(variant->device, WORDS);
	self->window = fake_cuda_window(self->addr);
	memset(self->window, 0, WORDS);
	ASSERT_OK(gda_cuda_mr_reg(self->end[1].cuda, self->addr, WORDS, GDA_ACCESS_ALL,
				  GDA_CUDA_MR_WORDS | variant->flags, &self->mr));
	self->key = gda_mr_key(self->mr);
}

FIXTURE_TEARDOWN(words)
{
	fake_cuda_hold(false);
	gda_mr_dereg(self->mr);
	end_close(&self->end[0]);
	end_close(&self->end[1]);
	fake_cuda_free(self->addr);
}

/* What a thread of the GPU sees of a word. */
static inline uint64_t word64(const uint8_t *window, uint64_t off)
{
	return __atomic_load_n((const uint64_t *)(const void *)(window + off), __ATOMIC_ACQUIRE);
}

static inline uint32_t word32(const uint8_t *window, uint64_t off)
{
	return __atomic_load_n((const uint32_t *)(const void *)(window + off), __ATOMIC_ACQUIRE);
}

#endif /* SELFTESTS_CUDA_WORDS_H */

// SPDX-License-Identifier: MIT
/*
 * Communicators of gda/gin.h for a GPU, on a driver without one: what kernels are given
 * names the same memory as what the host has. The kernels are tested in
 * selftests/gpu/gin.
 */
#include <gda/cuda.h>
#include <gda/gin.h>
#include "../inproc/suite.h"
#include "fake.h"

#define BYTES	65536U

FIXTURE(gin) {
	struct gda_comm_id id;
	struct gda_comm *ranks;
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	uint64_t memory;
};

FIXTURE_SETUP(gin)
{
	struct gda_comm_attr attr = { .size = sizeof(attr), .nranks = 1, .id = &self->id };

	fake_cuda_use();
	ASSERT_EQ(0, gda_comm_id_create(NULL, &self->id));
	ASSERT_EQ(0, gda_comm_create(&attr, &self->ranks));
	ASSERT_EQ(0, gda_open(GDA_DEVICE_INPROC, &self->ctx));
	ASSERT_EQ(0, gda_cuda_open(self->ctx, 0, &self->cuda));
	self->memory = fake_cuda_alloc(0, BYTES);
}

FIXTURE_TEARDOWN(gin)
{
	fake_cuda_free(self->memory);
	gda_cuda_close(self->cuda);
	gda_close(self->ctx);
	gda_comm_destroy(self->ranks);
}

static void *there(uint64_t addr)
{
	return fake_cuda_window(addr);
}

TEST_F(gin, is_copied)
{
	struct gda_gin_attr attr = {
		.size = sizeof(attr), .contexts = 2, .depth = 64, .signals = 3, .counters = 2,
		.barriers = 1, .cuda = self->cuda, .place = GDA_CUDA_CQ_GPU,
	};
	struct gda_gin_comm *comm, *copy;
	struct gda_gin_queue *q;
	struct gda_gin *gin, *host;
	struct gda_view *v;
	uint32_t c;

	ASSERT_EQ(0, gda_gin_create(self->ranks, self->ctx, &attr, &comm));
	copy = there((uintptr_t)gda_gin_cuda_comm(comm));
	EXPECT_EQ(2, copy->contexts);
	EXPECT_NE(comm->gins, copy->gins);
	for (c = 0; c < 2; c++) {
		gin = there(copy->gins + c * copy->gin_bytes);
		host = gda_gin_context(comm, c);
		EXPECT_EQ(c, gin->index);
		EXPECT_EQ(host->abort, gin->abort);
		EXPECT_EQ((uintptr_t)&host->abort_word, gin->abort);
		q = there(gin->queues);
		v = there(q->view);
		EXPECT_EQ(host->abort, v->abort);
		EXPECT_EQ(63, v->mask);
		EXPECT_EQ(0, *(uint64_t *)there(q->tags));
		/* words are the host's, and so is what the peer's queue names */
		EXPECT_EQ(q->signals, *(uint64_t *)there(gin->words));
		EXPECT_EQ(0, *(uint64_t *)(uintptr_t)q->signals);
		EXPECT_EQ(0, *(uint64_t *)there(gin->counts));
		EXPECT_EQ(0, *(const uint32_t *)(uintptr_t)gin->lost);
		gda_gin_abort(host);
		EXPECT_EQ(1, *(const uint32_t *)(uintptr_t)v->abort);
	}
	gda_gin_destroy(comm);
}

TEST_F(gin, windows_of_a_gpu_and_of_the_host)
{
	static uint64_t words[512] __attribute__((aligned(4096)));
	struct gda_gin_attr attr = { .size = sizeof(attr), .cuda = self->cuda };
	struct gda_window_segment s[2] = {
		{ self->memory, BYTES }, { (uintptr_t)words, sizeof(words) },
	};
	struct gda_window_attr what = { .size = sizeof(what), .segments = s, .count = 2 };
	const struct gda_chunk_map *map;
	const struct gda_chunk *chunk;
	struct gda_window *w, *copy;
	struct gda_gin_comm *comm;

	ASSERT_EQ(0, gda_gin_create(self->ranks, self->ctx, &attr, &comm));
	ASSERT_EQ(0, gda_window_register(comm, &what, &w));
	copy = there((uintptr_t)gda_gin_cuda_window(w));
	EXPECT_EQ(BYTES + sizeof(words), copy->bytes);
	EXPECT_EQ(2, copy->pieces);
	map = there(copy->maps);
	chunk = there(map->chunks);
	EXPECT_EQ(2, map->count);
	EXPECT_EQ(self->memory, chunk[0].iova);
	EXPECT_EQ((uintptr_t)words, chunk[1].iova);
	EXPECT_EQ(BYTES, chunk[1].addr);
	gda_window_deregister(w);
	gda_gin_destroy(comm);
}

/* Post as a kernel would: what lies on the GPU through its window. */
static struct gda_view moved_view(const struct gda_gin_queue *q)
{
	struct gda_view v = *(struct gda_view *)there(q->view);

	v.slots = (uintptr_t)there(v.slots);
	return v;
}

TEST_F(gin, G_05_signals_in_gpu_memory)
{
	struct gda_gin_attr attr = {
		.size = sizeof(attr), .contexts = 2, .depth = 64, .signals = 3, .barriers = 1,
		.flags = GDA_GIN_SIGNALS_GPU, .cuda = self->cuda,
	};
	struct gda_gin_comm *comm, *copy;
	struct gda_gin_queue *q;
	const uint64_t *words;
	struct gda_gin *gin;
	struct gda_view v;
	int64_t ticket;
	uint32_t c, i;

	ASSERT_EQ(0, gda_gin_create(self->ranks, self->ctx, &attr, &comm));
	copy = there((uintptr_t)gda_gin_cuda_comm(comm));
	for (c = 0; c < 2; c++) {
		gin = there(copy->gins + c * copy->gin_bytes);
		q = there(gin->queues);
		words = there(gin->words);
		v = moved_view(q);
		for (i = 0; i < 4; i++) {
			const uint64_t *word = there(words[i]);

			/* on the GPU, and what the peer's queue names */
			EXPECT_NE(words[i], (uintptr_t)word);
			EXPECT_EQ(q->signals + 8 * i, words[i]);
			EXPECT_EQ(0, *word);
			ticket = gda_fetch_add(&v, q->fetched, q->lkey, words[i], q->rkey,
					       10 * c + i + 1, 0);
			EXPECT_EQ(0, gda_wait(&v, ticket, 0));
			EXPECT_EQ(10 * c + i + 1, *word);
		}
		EXPECT_EQ(0, *(const uint32_t *)(uintptr_t)gin->lost);
	}
	gda_gin_destroy(comm);
}

TEST_F(gin, G_09_words_of_windows_in_gpu_memory)
{
	struct gda_gin_attr attr = { .size = sizeof(attr), .cuda = self->cuda };
	struct gda_window_segment s = { self->memory, BYTES };
	struct gda_window_attr what = {
		.size = sizeof(what), .segments = &s, .count = 1, .flags = GDA_WINDOW_STRICT,
	};
	uint64_t *word = there(self->memory + 64);
	struct gda_window *w, *again = NULL;
	struct gda_gin_queue *q;
	struct gda_gin_comm *comm, *copy;
	struct gda_gin *gin;
	struct gda_view v;

	ASSERT_EQ(0, gda_gin_create(self->ranks, self->ctx, &attr, &comm));
	ASSERT_EQ(0, gda_window_register(comm, &what, &w));
	EXPECT_EQ(-EBUSY, gda_window_register(comm, &what, &again));
	EXPECT_EQ(NULL, again);
	copy = there((uintptr_t)gda_gin_cuda_comm(comm));
	gin = there(copy->gins);
	q = there(gin->queues);
	v = moved_view(q);
	/* data, a signal, a reset by the GPU, and a signal again */
	ASSERT_LE(0, gda_put_inline(&v, self->memory + 60, w->key, "data put beside", 15, 0));
	ASSERT_LE(0, gda_put_value(&v, self->memory + 64, w->key, 5, 0));
	ASSERT_EQ(0, gda_wait(&v, gda_fetch_add(&v, q->fetched, q->lkey, self->memory + 64, w->key,
						1, 0), 0));
	EXPECT_EQ(6, *word);
	EXPECT_EQ(0, memcmp(there(self->memory + 60), "data", 4));
	*word = 0;
	ASSERT_EQ(0, gda_wait(&v, gda_fetch_add(&v, q->fetched, q->lkey, self->memory + 64, w->key,
						1, 0), 0));
	EXPECT_EQ(1, *word);
	gda_window_deregister(w);
	gda_gin_destroy(comm);
}

TEST_F(gin, refusals)
{
	struct gda_gin_attr attr = {
		.size = sizeof(attr), .signals = 1, .flags = GDA_GIN_ARRIVAL, .cuda = self->cuda,
	};
	struct gda_context *other;
	struct gda_gin_comm *comm;
	struct gda_window *w;
	struct gda_window_segment s = { (uintptr_t)&attr & ~7ULL, 8 };
	struct gda_window_attr what = { .size = sizeof(what), .segments = &s, .count = 1 };

	EXPECT_EQ(-EOPNOTSUPP, gda_gin_create(self->ranks, self->ctx, &attr, &comm));
	EXPECT_NE(NULL, strstr(gda_last_error(), "GDA_GIN_ARRIVAL"));
	attr.flags = 0;
	attr.reserved2 = 1;
	EXPECT_EQ(-EINVAL, gda_gin_create(self->ranks, self->ctx, &attr, &comm));
	attr.reserved2 = 0;
	attr.dialect = GDA_DIALECT_EFA;
	EXPECT_EQ(-EOPNOTSUPP, gda_gin_create(self->ranks, self->ctx, &attr, &comm));
	EXPECT_NE(NULL, strstr(gda_last_error(), "GDA_CAN_ORDER"));
	attr.dialect = 0;
	ASSERT_EQ(0, gda_open(GDA_DEVICE_INPROC, &other));
	EXPECT_EQ(-EINVAL, gda_gin_create(self->ranks, other, &attr, &comm));
	gda_close(other);
	/* CPU threads post: there is nothing on a GPU */
	attr.cuda = NULL;
	attr.flags = GDA_GIN_SIGNALS_GPU;
	EXPECT_EQ(-EOPNOTSUPP, gda_gin_create(self->ranks, self->ctx, &attr, &comm));
	EXPECT_NE(NULL, strstr(gda_last_error(), "GDA_GIN_SIGNALS_GPU"));
	attr.flags = 0;
	ASSERT_EQ(0, gda_gin_create(self->ranks, self->ctx, &attr, &comm));
	ASSERT_EQ(0, gda_window_register(comm, &what, &w));
	EXPECT_EQ(NULL, gda_gin_cuda_comm(comm));
	EXPECT_EQ(NULL, gda_gin_cuda_window(w));
	gda_window_deregister(w);
	gda_gin_destroy(comm);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: MIT
/*
 * Symmetric heaps for GPUs, on a driver without one: what kernels are given names the same
 * memory as what the host has. selftests/gpu/shmem tests the kernels.
 */
#include <pthread.h>
#include <gda/cuda.h>
#include <gda/shmem.h>
#include "../inproc/suite.h"
#include "fake.h"

#define BYTES	(3 * 4096U)
#define PES	2U

/* A PE: a thread of this process. */
struct pe {
	pthread_t thread;
	struct gda_comm_id *id;
	uint32_t number;
	const struct gda_shmem_attr *attr;
	struct gda_comm *comm;
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	struct gda_shmem *s;
	int err;
};

static void *pe_open(void *arg)
{
	struct pe *p = arg;
	struct gda_comm_attr attr = {
		.size = sizeof(attr), .nranks = PES, .rank = p->number, .id = p->id,
	};
	struct gda_shmem_attr heap = *p->attr;

	p->err = gda_comm_create(&attr, &p->comm);
	if (!p->err)
		p->err = gda_open(GDA_DEVICE_INPROC, &p->ctx);
	if (!p->err)
		p->err = gda_cuda_open(p->ctx, (int)p->number, &p->cuda);
	if (!p->err) {
		heap.cuda = p->cuda;
		p->err = gda_shmem_create(p->comm, &heap, &p->s);
	}
	return NULL;
}

static void *pe_close(void *arg)
{
	struct pe *p = arg;

	gda_shmem_destroy(p->s);
	gda_cuda_close(p->cuda);
	gda_close(p->ctx);
	gda_comm_destroy(p->comm);
	return NULL;
}

FIXTURE(shmem) {
	struct gda_comm_id id;
	struct pe pe[PES];
};

FIXTURE_SETUP(shmem)
{
	fake_cuda_use();
	ASSERT_EQ(0, gda_comm_id_create(NULL, &self->id));
}

FIXTURE_TEARDOWN(shmem)
{
	unsigned int i;

	for (i = 0; i < PES; i++)
		pthread_create(&self->pe[i].thread, NULL, pe_close, &self->pe[i]);
	for (i = 0; i < PES; i++)
		pthread_join(self->pe[i].thread, NULL);
}

static void open_all(FIXTURE_DATA(shmem) *self, const struct gda_shmem_attr *attr)
{
	unsigned int i;

	for (i = 0; i < PES; i++) {
		self->pe[i].id = &self->id;
		self->pe[i].number = i;
		self->pe[i].attr = attr;
		pthread_create(&self->pe[i].thread, NULL, pe_open, &self->pe[i]);
	}
	for (i = 0; i < PES; i++)
		pthread_join(self->pe[i].thread, NULL);
}

static void *there(uint64_t addr)
{
	return fake_cuda_window(addr);
}

TEST_F(shmem, by_queue_is_copied)
{
	struct gda_shmem_attr attr = {
		.size = sizeof(attr), .heap_bytes = BYTES, .chunk_bytes = 2 * 4096, .qps = 2,
		.depth = 64, .place = GDA_CUDA_CQ_GPU,
	};
	const struct gda_shmem_peer *peer;
	const struct gda_chunk *chunk;
	const struct gda_shmem_qp *qp;
	struct gda_shmem *s, *copy;
	struct gda_view *v;
	uint32_t pe, other;
	unsigned int i, at;

	open_all(self, &attr);
	for (pe = 0; pe < PES; pe++) {
		ASSERT_EQ(0, self->pe[pe].err) TH_LOG("%s", gda_last_error());
		s = self->pe[pe].s;
		ASSERT_NE(NULL, gda_shmem_cuda(s));
		copy = there((uintptr_t)gda_shmem_cuda(s));
		EXPECT_EQ(s->heap, copy->heap);
		EXPECT_EQ(s->data, copy->data);
		EXPECT_EQ(4096, copy->data_bytes);
		EXPECT_EQ(2, copy->qps);
		EXPECT_EQ(GDA_SHMEM_DATA_ATOMICS, copy->caps & GDA_SHMEM_DATA_ATOMICS);
		/* the heap is the GPU's and zeroed, words are the host's */
		for (i = 0; i < BYTES; i++)
			ASSERT_EQ(0, ((uint8_t *)there(s->heap))[i]);
		EXPECT_EQ(0, *(uint64_t *)(uintptr_t)s->data);
		EXPECT_EQ(0, *(uint64_t *)there(copy->words));
		peer = there(copy->peers);
		for (other = 0; other < PES; other++) {
			EXPECT_EQ(0, peer[other].heap);
			EXPECT_EQ(0, *(const uint32_t *)(uintptr_t)peer[other].abort);
			chunk = there(peer[other].map.chunks);
			/* two MRs of the heap and one of the words, by the addresses of this PE */
			ASSERT_EQ(3, peer[other].map.count);
			for (i = 0; i < 3; i++) {
				at = chunk[i].addr == s->data;
				EXPECT_EQ(at ? s->data : s->heap + (chunk[i].addr - s->heap),
					  chunk[i].addr);
				EXPECT_EQ((at ? self->pe[other].s->data : self->pe[other].s->heap) +
					  (chunk[i].addr - (at ? s->data : s->heap)),
					  chunk[i].iova);
			}
			qp = there(peer[other].qps);
			for (i = 0; i < 2; i++) {
				v = there(qp[i].view);
				EXPECT_EQ(63, v->mask);
				EXPECT_EQ(peer[other].abort, v->abort);
			}
		}
	}
}

TEST_F(shmem, directly_each_has_the_others_heap)
{
	struct gda_shmem_attr attr = {
		.size = sizeof(attr), .heap_bytes = BYTES, .way = GDA_SHMEM_DIRECT,
		.word_bytes = 5000,
	};
	const struct gda_shmem_peer *peer;
	struct gda_shmem *copy;
	uint32_t pe, other;

	open_all(self, &attr);
	for (pe = 0; pe < PES; pe++) {
		ASSERT_EQ(0, self->pe[pe].err);
		copy = there((uintptr_t)gda_shmem_cuda(self->pe[pe].s));
		EXPECT_EQ(0, copy->qps);
		EXPECT_EQ(0, copy->caps & GDA_SHMEM_DATA_ATOMICS);
		EXPECT_EQ(8192, copy->data_bytes);
		peer = there(copy->peers);
		for (other = 0; other < PES; other++) {
			EXPECT_EQ(self->pe[other].s->heap, peer[other].heap);
			EXPECT_EQ(self->pe[other].s->data, peer[other].data);
			/* words, too, are the GPU's */
			EXPECT_EQ(0, *(uint64_t *)there(peer[other].data));
		}
	}
}

TEST_F(shmem, what_a_gpu_has_no_use_for_is_refused)
{
	static uint8_t page[4096] __attribute__((aligned(4096)));
	struct gda_shmem_attr attr = {
		.size = sizeof(attr), .heap_bytes = BYTES, .data = page, .data_bytes = 4096,
	};

	open_all(self, &attr);
	EXPECT_EQ(-EINVAL, self->pe[0].err);
	EXPECT_EQ(-EINVAL, self->pe[1].err);
}

/* On a CPU the members for GPUs are 0, and there is no copy. */
TEST(a_cpu_has_none)
{
	struct gda_shmem_attr attr = {
		.size = sizeof(attr), .heap_bytes = BYTES, .word_bytes = 1,
	};
	struct gda_comm *comm;
	struct gda_shmem *s;

	ASSERT_EQ(0, gda_comm_create(NULL, &comm));
	EXPECT_EQ(-EINVAL, gda_shmem_create(comm, &attr, &s));
	EXPECT_NE(NULL, strstr(gda_last_error(), "word_bytes"));
	attr.word_bytes = 0;
	ASSERT_EQ(0, gda_shmem_create(comm, &attr, &s));
	EXPECT_EQ(NULL, gda_shmem_cuda(s));
	gda_shmem_destroy(s);
	gda_comm_destroy(comm);
}

TEST_HARNESS_MAIN

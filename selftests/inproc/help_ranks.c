// SPDX-License-Identifier: MIT
/*
 * A rank of gda/gin.h, and a PE of gda/shmem.h, that waits executes what it has posted: its peer
 * may wait for that. The worker has no processor meanwhile (hold.h).
 */
#include <pthread.h>
#include <gda/gin.h>
#include <gda/shmem.h>
#include "hold.h"
#include "shmem_internal.h"

/* --- a rank that waits for a signal --- */

struct rank {
	struct gda_context *ctx;
	struct gda_comm_id *id;
	uint32_t rank;
	struct gda_comm *comm;
	struct gda_gin_comm *gin;
	int err;
};

static void *rank_begin(void *arg)
{
	struct rank *r = arg;
	struct gda_comm_attr ranks = {
		.size = sizeof(ranks), .rank = r->rank, .nranks = 2, .id = r->id,
	};
	struct gda_gin_attr attr = {
		.size = sizeof(attr), .signals = 1, .timeout_ns = S_TIMEOUT_NS,
	};

	r->err = gda_comm_create(&ranks, &r->comm);
	if (!r->err)
		r->err = gda_gin_create(r->comm, r->ctx, &attr, &r->gin);
	return NULL;
}

static void *rank_end(void *arg)
{
	struct rank *r = arg;

	gda_gin_destroy(r->gin);
	gda_comm_destroy(r->comm);
	return NULL;
}

static void both(struct rank *r, void *(*body)(void *))
{
	pthread_t other;

	if (pthread_create(&other, NULL, body, &r[1]))
		abort();
	body(&r[0]);
	pthread_join(other, NULL);
}

/* What it has sent is what its peer waits for, before that answers. */
TEST(a_wait_for_a_signal_executes_what_the_rank_has_posted)
{
	struct gda_context *ctx;
	struct gda_comm_id id;
	struct rank r[2];
	uint64_t i;

	setenv("GDA_DEVICE", GDA_DEVICE_INPROC, 1);
	ASSERT_OK(gda_open(NULL, &ctx));
	ASSERT_OK(gda_comm_id_create(NULL, &id));
	for (i = 0; i < 2; i++)
		r[i] = (struct rank){ .ctx = ctx, .id = &id, .rank = (uint32_t)i };
	both(r, rank_begin);
	ASSERT_OK(r[0].err);
	ASSERT_OK(r[1].err);
	ASSERT_TRUE(worker_hold(ctx));
	for (i = 1; i <= 20; i++) {
		struct gda_gin *gin = gda_gin_context(r[0].gin, 0);

		ASSERT_OK(gda_gin_signal(gin, 1, gda_gin_inc(0, 0)));
		/* nobody answers */
		EXPECT_EQ(-ETIMEDOUT, gda_gin_wait_signal(gin, 0, 1, 64,
							  gda_clock_ns() + 5000000));
		EXPECT_EQ(i, gda_gin_read_signal(gda_gin_context(r[1].gin, 0), 0, 64));
	}
	worker_release(ctx);
	both(r, rank_end);
	gda_close(ctx);
}

/* --- a PE that waits for a word --- */

struct pe {
	struct gda_comm_id *id;
	uint32_t pe;
	struct gda_comm *comm;
	struct gda_shmem *s;
	int err;
};

static void *pe_begin(void *arg)
{
	struct pe *p = arg;
	struct gda_comm_attr pes = {
		.size = sizeof(pes), .rank = p->pe, .nranks = 2, .id = p->id,
	};
	struct gda_shmem_attr attr = {
		.size = sizeof(attr), .way = GDA_SHMEM_QUEUE, .heap_bytes = 4096,
		.device = GDA_DEVICE_INPROC,
	};

	p->err = gda_comm_create(&pes, &p->comm);
	if (!p->err)
		p->err = gda_shmem_create(p->comm, &attr, &p->s);
	return NULL;
}

TEST(a_wait_for_a_word_executes_what_the_pe_has_posted)
{
	struct gda_context *ctx;
	struct gda_comm_id id;
	struct pe p[2] = { { .id = &id, .pe = 0 }, { .id = &id, .pe = 1 } };
	uint64_t *here, *there, i;
	pthread_t other;

	ASSERT_OK(gda_comm_id_create(NULL, &id));
	ASSERT_OK(pthread_create(&other, NULL, pe_begin, &p[1]));
	pe_begin(&p[0]);
	pthread_join(other, NULL);
	ASSERT_OK(p[0].err);
	ASSERT_OK(p[1].err);
	here = (uint64_t *)(uintptr_t)p[0].s->heap;
	there = (uint64_t *)(uintptr_t)p[1].s->heap;
	ctx = ((struct gda_shmem_heap *)(uintptr_t)p[0].s->owner)->ctx;
	ASSERT_TRUE(worker_hold(ctx));
	for (i = 1; i <= 20; i++) {
		ASSERT_LE(0, gda_shmem_p(p[0].s, here, i, 8, 1, 0));
		/* nobody answers */
		EXPECT_EQ(-ETIMEDOUT, gda_shmem_wait_until64(p[0].s, here, GDA_SHMEM_NE, 0,
							     gda_clock_ns() + 5000000));
		EXPECT_EQ(i, __atomic_load_n(there, __ATOMIC_ACQUIRE));
	}
	worker_release(ctx);
	/* rank 0 waits for the others to leave, up to 30 s */
	for (i = 2; i--;) {
		gda_shmem_destroy(p[i].s);
		gda_comm_destroy(p[i].comm);
	}
}

TEST_HARNESS_MAIN

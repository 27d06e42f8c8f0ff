// SPDX-License-Identifier: MIT
/*
 * Words in GPU memory: what is refused, and what goes while words are in flight.
 */
#include <pthread.h>
#include "words.h"

/* The queue has failed with this, at @ticket. */
static void expect_error(struct __test_metadata *_metadata, struct end *e, int64_t ticket,
			 uint32_t syndrome, uint32_t vendor)
{
	struct gda_error error = { .size = sizeof(error) };

	EXPECT_EQ(-EIO, gda_wait(e->v, ticket, 0));
	ASSERT_EQ(1, gda_error(e->v, &error));
	EXPECT_EQ(ticket, error.ticket);
	EXPECT_EQ(syndrome, error.syndrome);
	EXPECT_EQ(vendor, error.vendor);
}

static int64_t add(FIXTURE_DATA(words) *self, uint64_t off, uint32_t key)
{
	struct end *e = self->end;

	return gda_fetch_add(e->v, e->near.iova, e->near.key, self->addr + off, key, 1, 0);
}

TEST_F(words, misaligned)
{
	int64_t ticket = add(self, 4, self->key);

	expect_error(_metadata, self->end, ticket, GDA_MLX5_SYND_REMOTE_INVAL_REQ,
		     GDA_MLX5_VENDOR_ALIGN);
	EXPECT_EQ(0, word64(self->window, 0));
	EXPECT_EQ(0, word64(self->window, 8));
}

TEST_F(words, outside)
{
	expect_error(_metadata, self->end, add(self, WORDS, self->key),
		     GDA_MLX5_SYND_REMOTE_ACCESS, GDA_MLX5_VENDOR_RANGE);
}

/* What is no word is written only where nothing is kept. */
TEST_F(words, other_writes)
{
	struct end *e = self->end;
	int64_t ticket;

	ASSERT_OK(gda_wait(e->v, add(self, 16, self->key), 0));
	memset(e->near.addr, 0x77, 64);
	ticket = gda_put(e->v, e->near.iova, e->near.key, self->addr + 12, self->key, 8, 0);
	if (!variant->flags) {
		expect_error(_metadata, e, ticket, GDA_MLX5_SYND_REMOTE_INVAL_REQ,
			     GDA_MLX5_VENDOR_ALIGN);
		EXPECT_EQ(1, word64(self->window, 16));
		return;
	}
	ASSERT_LE(0, ticket);
	ASSERT_OK(gda_wait(e->v, add(self, 16, self->key), 0));
	EXPECT_EQ(0x77777778, word64(self->window, 16));
	EXPECT_EQ(0x77777777, word32(self->window, 12));
}

/* A kernel stores to a word between: the next addition is to that. */
TEST_F(words, others_store)
{
	struct end *e = self->end;
	uint64_t i, old;

	if (!variant->flags)
		SKIP(return, "nobody else stores to these words");
	for (i = 0; i < 100; i++) {
		uint64_t reset = i % 2 ? s_random(&self->seed) : 0;

		ASSERT_OK(gda_wait(e->v, add(self, 8 * (i % 4), self->key), 0));
		__atomic_store_n((uint64_t *)(void *)(self->window + 8 * (i % 4)), reset,
				 __ATOMIC_RELEASE);
		ASSERT_OK(gda_wait(e->v, add(self, 8 * (i % 4), self->key), 0));
		memcpy(&old, e->near.addr, sizeof(old));
		ASSERT_EQ(reset, old);
		ASSERT_EQ(reset + 1, word64(self->window, 8 * (i % 4)));
	}
}

/* Rights are looked at as for any other memory. */
TEST_F(words, K3_rights)
{
	struct end *e = self->end;
	struct gda_mr *mr;

	gda_mr_dereg(self->mr);
	self->mr = NULL;
	ASSERT_OK(gda_cuda_mr_reg(e[1].cuda, self->addr, WORDS,
				  GDA_ACCESS_LOCAL_WRITE | GDA_ACCESS_REMOTE_WRITE,
				  GDA_CUDA_MR_WORDS | variant->flags, &mr));
	EXPECT_OK(gda_wait(e->v, gda_put_value(e->v, self->addr, gda_mr_key(mr), 7, 0), 0));
	EXPECT_EQ(7, word64(self->window, 0));
	expect_error(_metadata, e, add(self, 0, gda_mr_key(mr)), GDA_MLX5_SYND_REMOTE_ACCESS,
		     GDA_MLX5_VENDOR_RIGHTS);
	gda_mr_dereg(mr);
}

TEST_F(words, registration)
{
	struct end *e = &self->end[1];
	struct gda_mr *mr = NULL;

	EXPECT_EQ(-EINVAL, gda_cuda_mr_reg(e->cuda, e->gpu, 64, GDA_ACCESS_ALL,
					   GDA_CUDA_MR_STORES, &mr));
	EXPECT_NE(NULL, strstr(gda_last_error(), "without GDA_CUDA_MR_WORDS"));
	EXPECT_EQ(-EINVAL, gda_cuda_mr_reg(e->cuda, e->gpu + 4, 64, GDA_ACCESS_ALL,
					   GDA_CUDA_MR_WORDS, &mr));
	EXPECT_NE(NULL, strstr(gda_last_error(), "no multiple of 8"));
	EXPECT_EQ(-EBUSY, gda_cuda_mr_reg(e->cuda, self->addr + 8, 8, GDA_ACCESS_ALL,
					  GDA_CUDA_MR_WORDS, &mr));
	EXPECT_NE(NULL, strstr(gda_last_error(), "registered with GDA_CUDA_MR_WORDS already"));
	EXPECT_EQ(-EFAULT, gda_cuda_mr_reg(e->cuda, self->addr, WORDS + 8, GDA_ACCESS_ALL,
					   GDA_CUDA_MR_WORDS, &mr));
	EXPECT_EQ(-EOPNOTSUPP, gda_cuda_mr_reg(e->cuda, e->gpu, 64, GDA_ACCESS_ALL,
					       GDA_CUDA_MR_WORDS | 1U << 18, &mr));
	EXPECT_EQ(NULL, mr);
	/* what was refused is in nobody's way, and plain MRs of the same memory are not either */
	ASSERT_OK(gda_cuda_mr_reg(e->cuda, e->gpu, 64, GDA_ACCESS_ALL, GDA_CUDA_MR_WORDS, &mr));
	EXPECT_OK(gda_mr_dereg(mr));
	ASSERT_OK(gda_cuda_mr_reg(e->cuda, self->addr, 64, GDA_ACCESS_ALL, 0, &mr));
	EXPECT_OK(gda_mr_dereg(mr));
}

static void *dereg_thread(void *arg)
{
	FIXTURE_DATA(words) *self = arg;

	gda_mr_dereg(self->mr);
	__atomic_store_n(&self->mr, NULL, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * The MR goes while words are read and stored for several queues: that waits for what was begun,
 * and what was not begun fails; nobody waits for a queue that held the words.
 */
TEST_F(words, dereg_in_flight)
{
	struct end *e = self->end;
	int64_t first, last = 0;
	pthread_t thread;
	int i;

	ASSERT_OK(gda_wait(e[0].v, gda_nop(e[0].v, 0), 0));
	ASSERT_OK(gda_wait(e[1].v, gda_nop(e[1].v, 0), 0));
	if (variant->place)
		SKIP(return, "what was posted would not be fetched");
	fake_cuda_hold(true);
	first = add(self, 0, self->key);
	while (!fake_cuda_pending())
		usleep(100);
	for (i = 0; i < 8; i++) {
		last = add(self, 8, self->key);
		ASSERT_LE(0, gda_fetch_add(e[1].v, e[1].near.iova, e[1].near.key, e[0].gpu,
					   e[0].key, 1, 0));
	}
	ASSERT_OK(pthread_create(&thread, NULL, dereg_thread, self));
	usleep(20000);
	EXPECT_NE(NULL, __atomic_load_n(&self->mr, __ATOMIC_ACQUIRE));
	fake_cuda_hold(false);
	pthread_join(thread, NULL);
	EXPECT_GE(0, gda_wait(e[0].v, first, 0));
	EXPECT_GT(0, gda_wait(e[0].v, add(self, 0, self->key), 0));
	EXPECT_GE(0, gda_wait(e[0].v, last, 0));
}

/* A queue goes while it has words in flight, and one that it kept waiting goes on. */
TEST_F(words, destroy_in_flight)
{
	struct gda_cuda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = 64, .timeout_ns = S_TIMEOUT_NS,
	};
	struct end *e = self->end;
	struct gda_cuda_qp *to;
	struct end other;
	int64_t ticket;
	int i;

	ASSERT_OK(end_open(&other, 0, 64, 0));
	ASSERT_OK(gda_cuda_qp_create(e[1].cuda, &attr, &to));
	ASSERT_OK(s_connect(gda_cuda_qp_base(other.qp), gda_cuda_qp_base(to)));
	for (i = 0; i < 12; i++)
		ASSERT_LE(0, add(self, 8 * (uint64_t)i, self->key));
	ticket = gda_fetch_add(other.v, other.near.iova, other.near.key, self->addr, self->key, 1,
			       0);
	EXPECT_OK(gda_cuda_qp_destroy(e[0].qp));
	e[0].qp = NULL;
	EXPECT_OK(gda_wait(other.v, ticket, 0));
	EXPECT_LE(1, word64(self->window, 0));
	gda_cuda_qp_destroy(to);
	end_close(&other);
}

/* So can the whole context, under it. */
TEST_F(words, shutdown_in_flight)
{
	struct end *e = self->end;
	int i;

	for (i = 0; i < 12; i++) {
		ASSERT_LE(0, add(self, 8 * (uint64_t)i, self->key));
		ASSERT_LE(0, gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 3000, 0));
	}
	EXPECT_OK(gda_context_shutdown(e[variant->flags ? 1 : 0].ctx));
	if (variant->flags)
		gda_quiet(e[0].v, 0);
	for (i = 0; i < 2; i++) {
		gda_cuda_qp_destroy(e[i].qp);
		e[i].qp = NULL;
	}
}

/* The GPU may be closed before words of its memory are: they stay. */
TEST_F(words, outlive_the_gpu)
{
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	uint64_t addr = fake_cuda_alloc(0, 4096);
	struct gda_mr *mr;

	ASSERT_OK(gda_open(GDA_DEVICE_INPROC, &ctx));
	ASSERT_OK(gda_cuda_open(ctx, 0, &cuda));
	ASSERT_OK(gda_cuda_mr_reg(cuda, addr, 4096, GDA_ACCESS_ALL, GDA_CUDA_MR_WORDS, &mr));
	gda_cuda_close(cuda);
	EXPECT_OK(gda_mr_dereg(mr));
	gda_close(ctx);
	fake_cuda_free(addr);
}

/* The driver dies: the oldest request without a completion fails, and all others are flushed. */
TEST_F(words, driver_dies)
{
	struct end *e = self->end;
	int64_t ticket[8];
	int i;

	ASSERT_OK(gda_wait(e[0].v, add(self, 0, self->key), 0));
	if (variant->place)
		SKIP(return, "nobody would hear of it: the CQ is the driver's to write");
	fake_cuda_hold(true);
	for (i = 0; i < 8; i++)
		ticket[i] = add(self, 0, self->key);
	while (!fake_cuda_pending())
		usleep(100);
	fake_cuda_break();
	expect_error(_metadata, e, ticket[0], GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_IO);
	EXPECT_EQ(-ECANCELED, gda_wait(e[0].v, ticket[7], 0));
}

TEST_HARNESS_MAIN

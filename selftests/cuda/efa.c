// SPDX-License-Identifier: MIT
/*
 * Queues of the efa dialect with a copier, without a GPU: GPU memory in requests that name their
 * target and complete by id. A CPU posts by the view of the QP, or by the GPU's view where that
 * lies in host memory.
 */
#define GDA_WQE_EFA
#include <gda/efa.h>
#include "pair.h"

#define DEPTH	64U
#define ROOM	8192U		/* of a memory in random programs */

FIXTURE(efa) {
	struct end end[2];
	uint64_t seed;
};

FIXTURE_VARIANT(efa) {
	uint32_t place;
	int device;		/* of the second end */
};

FIXTURE_VARIANT_ADD(efa, one_gpu) { .place = 0 };

FIXTURE_VARIANT_ADD(efa, two_gpus) { .place = 0, .device = 1 };

FIXTURE_VARIANT_ADD(efa, gpus_view) { .place = GDA_CUDA_VIEW_HOST };

FIXTURE_SETUP(efa)
{
	struct end *e = self->end;
	int i;

	fake_cuda_use();
	self->seed = s_seed();
	TH_LOG("GDA_SEED=%#llx", (unsigned long long)self->seed);
	ASSERT_OK(end_open_in(&e[0], 0, DEPTH, variant->place, GDA_DIALECT_EFA));
	ASSERT_OK(end_open_in(&e[1], variant->device, DEPTH, variant->place, GDA_DIALECT_EFA));
	ASSERT_OK(s_connect(gda_cuda_qp_base(e[0].qp), gda_cuda_qp_base(e[1].qp)));
	/* the GPU's view names the target from now on */
	for (i = 0; i < 2; i++)
		e[i].v = end_view(&e[i], variant->place);
}

FIXTURE_TEARDOWN(efa)
{
	fake_cuda_hold(false);
	end_close(&self->end[0]);
	end_close(&self->end[1]);
}

/* Memory of an end: on the GPU, or here. */
struct piece {
	uint64_t addr;
	uint8_t *bytes;
	uint32_t key;
};

static struct piece piece_of(struct end *e, bool gpu, uint64_t off)
{
	if (gpu)
		return (struct piece){ e->gpu + off, e->window + off, e->key };
	return (struct piece){ e->near.iova + off, e->near.addr + off, e->near.key };
}

static int64_t move(struct end *e, bool get, struct piece local, struct piece remote, uint32_t len)
{
	return get ? gda_get(e->v, local.addr, local.key, remote.addr, remote.key, len, 0) :
		     gda_put(e->v, local.addr, local.key, remote.addr, remote.key, len, 0);
}

/* Every pair of places, both ways, lengths around all limits. */
TEST_F(efa, every_way)
{
	static const uint32_t lens[] = { 1, 3, 8, 64, 65, 4096, 65535, 65536, 65537, 200000 };
	unsigned int i, way;
	uint32_t j;

	for (way = 0; way < 8; way++) {
		for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			struct piece local = piece_of(&self->end[0], way & 1, i);
			struct piece remote = piece_of(&self->end[1], way & 2, 2 * i);
			uint8_t *src = way & 4 ? remote.bytes : local.bytes;
			uint8_t *dst = way & 4 ? local.bytes : remote.bytes;
			int64_t ticket;

			for (j = 0; j < lens[i]; j++)
				src[j] = (uint8_t)s_random(&self->seed);
			memset(dst, 0, lens[i]);
			ticket = move(&self->end[0], way & 4, local, remote, lens[i]);
			ASSERT_OK(gda_wait(self->end[0].v, ticket, 0));
			ASSERT_EQ(0, memcmp(dst, src, lens[i]))
				TH_LOG("way %u, %u bytes", way, lens[i]);
		}
	}
}

/* Values and inline payload up to 80 bytes find their way to the GPU, many laps long. */
TEST_F(efa, inline_80)
{
	struct end *e = self->end;
	uint8_t text[81];
	uint32_t len;
	uint64_t i;

	for (i = 0; i < s_short(1000, 5000); i++) {
		len = 1 + (uint32_t)(i % 80);
		memset(text, (int)i, sizeof(text));
		e[1].window[4096 + len] = 0xee;
		ASSERT_LE(0, gda_put_value(e[0].v, e[1].gpu, e[1].key, i, 0));
		ASSERT_LE(0, gda_put_inline(e[0].v, e[1].gpu + 4096, e[1].key, text, len, 0));
		ASSERT_OK(gda_quiet(e[0].v, 0));
		ASSERT_EQ(0, memcmp(e[1].window, &i, sizeof(i)));
		ASSERT_EQ(0, memcmp(e[1].window + 4096, text, len));
		ASSERT_EQ(0xee, e[1].window[4096 + len]);
	}
	EXPECT_EQ(-EMSGSIZE, gda_put_inline(e[0].v, e[1].gpu, e[1].key, text, sizeof(text), 0));
}

/* What a random program of puts and gets leaves, each awaited by its own ticket, equals a model. */
TEST_F(efa, random_program)
{
	uint8_t *model = malloc(4 * ROOM);
	uint64_t i, off, dst, len;
	int64_t ticket;

	ASSERT_NE(NULL, model);
	for (i = 0; i < 4; i++) {
		struct piece p = piece_of(&self->end[i / 2], i % 2, 0);

		for (off = 0; off < ROOM; off++)
			p.bytes[off] = (uint8_t)s_random(&self->seed);
		memcpy(model + i * ROOM, p.bytes, ROOM);
	}
	for (i = 0; i < s_short(600, 3000); i++) {
		bool far_local = s_below(&self->seed, 2), far_remote = s_below(&self->seed, 2);
		bool get = s_below(&self->seed, 2);
		uint8_t *local, *remote;

		len = 1 + s_below(&self->seed, 512);
		off = s_below(&self->seed, ROOM - len);
		dst = s_below(&self->seed, ROOM - len);
		ticket = move(&self->end[0], get, piece_of(&self->end[0], far_local, off),
			      piece_of(&self->end[1], far_remote, dst), (uint32_t)len);
		ASSERT_LE(0, ticket);
		ASSERT_OK(gda_wait(self->end[0].v, ticket, 0));
		local = model + far_local * ROOM + off;
		remote = model + (2 + far_remote) * ROOM + dst;
		memcpy(get ? local : remote, get ? remote : local, len);
	}
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, memcmp(model + i * ROOM, piece_of(&self->end[i / 2], i % 2, 0).bytes,
				    ROOM)) TH_LOG("memory %d", (int)i);
	free(model);
}

/* Many requests to places of their own are in flight, and a quiet is behind them all. */
TEST_F(efa, many_in_flight)
{
	struct end *e = self->end;
	uint64_t i, round;

	for (round = 0; round < s_short(20, 100); round++) {
		memset(e[0].window, (int)round, LEN);
		memset(e[1].window, 0xee, LEN);
		for (i = 0; i < LEN / 1024; i++)
			ASSERT_LE(0, gda_put(e[0].v, e[0].gpu + i * 1024, e[0].key,
					     e[1].gpu + i * 1024, e[1].key, 1000, 0));
		ASSERT_OK(gda_quiet(e[0].v, 0));
		for (i = 0; i < LEN; i++)
			ASSERT_EQ(i % 1024 < 1000 ? (uint8_t)round : 0xee, e[1].window[i]);
	}
}

/* Done is done: no ticket is before its copy is. */
TEST_F(efa, completes_when_done)
{
	struct end *e = self->end;
	int64_t first = 0, ticket = 0;
	unsigned int i;

	ASSERT_OK(gda_wait(e[0].v, gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 8, 0),
			   0));
	fake_cuda_hold(true);
	for (i = 0; i < DEPTH - 1; i++) {
		ticket = gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 8, 0);
		ASSERT_LE(0, ticket);
		first = i ? first : ticket;
	}
	while (fake_cuda_pending() < DEPTH - 1)
		usleep(100);
	EXPECT_EQ(0, gda_test(e[0].v, first));
	EXPECT_EQ(0, gda_test(e[0].v, ticket));
	fake_cuda_hold(false);
	EXPECT_OK(gda_wait(e[0].v, ticket, 0));
	EXPECT_OK(gda_quiet(e[0].v, 0));
}

/* A wrong range at the target fails the queue: its ticket has the error, later ones are flushed. */
TEST_F(efa, error_fails_the_queue)
{
	struct end *e = self->end;
	struct gda_error error = { .size = sizeof(error) };
	int64_t good, bad, after;

	good = gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 50000, 0);
	bad = gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu + LEN - 7, e[1].key, 8, 0);
	after = gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 8, 0);
	EXPECT_OK(gda_wait(e[0].v, good, 0));
	EXPECT_EQ(-EIO, gda_wait(e[0].v, bad, 0));
	EXPECT_EQ(-ECANCELED, gda_wait(e[0].v, after, 0));
	ASSERT_EQ(1, gda_error(e[0].v, &error));
	EXPECT_EQ(bad, error.ticket);
	EXPECT_EQ(GDA_EFA_BAD_ADDRESS, error.syndrome);
}

/* A target that has gone fails its request alone: the queue goes on. */
TEST_F(efa, lost_peer_fails_its_request)
{
	struct end *e = self->end;
	int i;

	ASSERT_OK(gda_cuda_qp_destroy(e[1].qp));
	e[1].qp = NULL;
	/* each has an error of its own; a queue that has failed would flush the second */
	for (i = 0; i < 2; i++)
		EXPECT_EQ(-EIO, gda_wait(e[0].v, gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu,
							 e[1].key, 8, 0), 0));
}

/* The dialect has no atomics, and the copier no immediates behind GPU memory. */
TEST_F(efa, lacks)
{
	struct end *e = self->end;
	int64_t ticket;

	EXPECT_EQ(-EOPNOTSUPP, gda_fetch_add(e[0].v, e[0].near.iova, e[0].near.key, e[1].gpu,
					     e[1].key, 1, 0));
	ticket = gda_put_imm(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 8, 7, 0);
	ASSERT_LE(0, ticket);
	EXPECT_EQ(-EIO, gda_wait(e[0].v, ticket, 0));
}

/* A queue can go while it has copies in flight. */
TEST_F(efa, destroy_in_flight)
{
	struct end *e = self->end;
	int i;

	for (i = 0; i < 12; i++)
		ASSERT_LE(0, gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 100000, 0));
	EXPECT_OK(gda_cuda_qp_destroy(e[0].qp));
	e[0].qp = NULL;
	EXPECT_EQ(0, fake_cuda_pending());
}

/* Refused by name, and nothing is left over. */
TEST(efa_refused)
{
	struct gda_cuda_qp_attr attr = { .size = sizeof(attr), .dialect = GDA_DIALECT_EFA };
	struct gda_context *ctx;
	struct gda_cuda_qp *qp;
	struct gda_cuda *cuda;

	fake_cuda_use();
	ASSERT_OK(gda_open(GDA_DEVICE_INPROC, &ctx));
	ASSERT_OK(gda_cuda_open(ctx, 0, &cuda));
	attr.place = GDA_CUDA_SQ_GPU;
	EXPECT_EQ(-EOPNOTSUPP, gda_cuda_qp_create(cuda, &attr, &qp));
	EXPECT_NE(NULL, strstr(gda_last_error(), "leave GDA_CUDA_SQ_GPU and GDA_CUDA_CQ_GPU out"));
	attr.place = GDA_CUDA_CQ_GPU;
	EXPECT_EQ(-EOPNOTSUPP, gda_cuda_qp_create(cuda, &attr, &qp));
	attr.place = 0;
	attr.dialect = 77;
	EXPECT_EQ(-EOPNOTSUPP, gda_cuda_qp_create(cuda, &attr, &qp));
	attr.dialect = GDA_DIALECT_EFA;
	attr.reserved = 1;
	EXPECT_EQ(-EOPNOTSUPP, gda_cuda_qp_create(cuda, &attr, &qp));
	attr.reserved = 0;
	ASSERT_OK(gda_cuda_qp_create(cuda, &attr, &qp));
	/* a kernel that was built without the dialect */
	EXPECT_EQ(NULL, gda_cuda_qp_view_sized(qp, sizeof(struct gda_view)));
	EXPECT_NE(NULL, gda_cuda_qp_view(qp));
	gda_cuda_qp_destroy(qp);
	gda_cuda_close(cuda);
	gda_close(ctx);
}

TEST_HARNESS_MAIN

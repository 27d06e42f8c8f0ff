// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Commands of DEVX of every length and of random content (SECURITY.md X4). rdma.mk runs it in the
 * guest. GDA_STRESS=10 is 10^6 random commands.
 */
#include "kselftest_harness.h"
#include "devx.h"

#define FUZZED	10000

FIXTURE(commands)
{
	struct devx_pair pair;
};

FIXTURE_SETUP(commands)
{
	ASSERT_EQ(0, rc_open_on(&self->pair.rc, devx_device()));
	self->pair.shape.pdn = devx_pdn(self->pair.rc.pd);
	ASSERT_EQ(0, devx_pair_open(&self->pair));
}

FIXTURE_TEARDOWN(commands)
{
	EXPECT_EQ(0, devx_close(&self->pair.a));
	EXPECT_EQ(0, devx_close(&self->pair.b));
	EXPECT_EQ(0, rc_close(&self->pair.rc));
}

/* A command that there is. */
struct known {
	uint16_t opcode;
	uint32_t in, out;	/* lengths that are enough */
	char call;		/* general, create, modify, query */
};

static const struct known known[] = {
	{ DEVX_QUERY_HCA_CAP, 16, 0x1010, 'g' },
	{ DEVX_QUERY_HCA_VPORT, 16, 0x210, 'g' },
	{ DEVX_QUERY_NIC_VPORT, 16, 0x110, 'g' },
	{ DEVX_CREATE_CQ, DEVX_LONG, 16, 'c' },
	{ DEVX_CREATE_QP, DEVX_LONG, 16, 'c' },
	{ DEVX_RST2INIT, DEVX_LONG, 16, 'm' },
	{ DEVX_INIT2INIT, DEVX_LONG, 16, 'm' },
	{ DEVX_INIT2RTR, DEVX_LONG, 16, 'm' },
	{ DEVX_RTR2RTS, DEVX_LONG, 16, 'm' },
	{ DEVX_RTS2RTS, DEVX_LONG, 16, 'm' },
	{ DEVX_2ERR, 16, 16, 'm' },
	{ DEVX_2RST, 16, 16, 'm' },
	{ DEVX_QUERY_QP, 16, 0x100, 'q' },
};

#define KNOWN	(sizeof(known) / sizeof(known[0]))
#define ROOM	0x1100

/* Issue it by @call; what was created is destroyed. Return: 0, or the errno. */
static int issue(struct devx_ep *ep, char call, const void *in, size_t inlen, void *out,
		 size_t outlen)
{
	struct mlx5dv_devx_obj *obj;

	switch (call) {
	case 'g':
		return mlx5dv_devx_general_cmd(ep->verbs, in, inlen, out, outlen);
	case 'm':
		return mlx5dv_devx_obj_modify(ep->qp, in, inlen, out, outlen);
	case 'q':
		return mlx5dv_devx_obj_query(ep->qp, in, inlen, out, outlen);
	default:
		obj = mlx5dv_devx_obj_create(ep->verbs, in, inlen, out, outlen);
		return obj ? mlx5dv_devx_obj_destroy(obj) : errno;
	}
}

/* @ep is an endpoint without a QP, whose command would create one. */
static void compose(const struct devx_ep *ep, const struct devx_shape *shape,
		    const struct known *k, uint8_t *in)
{
	memset(in, 0, ROOM);
	if (k->opcode == DEVX_CREATE_CQ)
		devx_cq_command(ep, ep->uar->page_id, in);
	else if (k->opcode == DEVX_CREATE_QP)
		devx_qp_command(ep, shape, ep->uar->page_id, in);
	devx_set(in, 0, 16, k->opcode);
	if (k->call == 'm' || k->call == 'q')
		devx_set(in, DEVX_NUMBER, 24, ep->qpn);
}

/* An endpoint whose queues are free; commands about a QP are of @pair->a's. */
static int spare(struct devx_pair *pair, struct devx_ep *ep)
{
	int ret = devx_open(ep, pair->rc.verbs, &pair->shape);

	if (!ret)
		ret = mlx5dv_devx_obj_destroy(ep->qp);
	ep->qp = pair->a.qp;
	ep->qpn = pair->a.qpn;
	return ret;
}

TEST_F_TIMEOUT(commands, X4_commands_of_every_length, 600)
{
	static uint8_t in[ROOM], out[ROOM];
	uint8_t untouched[8];
	struct devx_ep ep;
	int ret;

	memset(untouched, 0xee, sizeof(untouched));
	ASSERT_EQ(0, spare(&self->pair, &ep));
	for (unsigned int k = 0; k < KNOWN; k++) {
		compose(&ep, &self->pair.shape, &known[k], in);
		for (uint32_t n = 0; n <= known[k].in + 8; n++) {
			memset(out, 0, sizeof(out));
			ret = issue(&ep, known[k].call, in, n, out, known[k].out);
			ASSERT_TRUE(n >= 16 || ret);
			ASSERT_EQ(n >= 16 && n < known[k].in, out[0] == DEVX_BAD_IN)
				TH_LOG("%#x of %u", known[k].opcode, n);
		}
		in[known[k].in + 3] = 1;
		issue(&ep, known[k].call, in, known[k].in + 8, out, known[k].out);
		ASSERT_EQ(DEVX_BAD_IN, out[0]) TH_LOG("something behind %#x", known[k].opcode);
		in[known[k].in + 3] = 0;
		for (uint32_t n = 0; n <= known[k].out + 8; n += n < 0x120 ? 1 : 97) {
			memset(out, 0xee, sizeof(out));
			ret = issue(&ep, known[k].call, in, known[k].in, out, n);
			ASSERT_TRUE(n >= 16 || ret);
			ASSERT_EQ(n >= 16 && n < known[k].out, out[0] == DEVX_BAD_OUT)
				TH_LOG("%#x with room for %u", known[k].opcode, n);
			/* nothing behind the room */
			ASSERT_EQ(0, memcmp(out + n, untouched, sizeof(untouched)));
		}
	}
	ep.qp = NULL;
	EXPECT_EQ(0, devx_close(&ep));
	devx_reset(&self->pair.a);
	ASSERT_EQ(0, devx_join(&self->pair));
	EXPECT_EQ(0, devx_cells(&self->pair, &self->pair.a, DEVX_BATCH));
}

static uint32_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*seed >> 33);
}

/* Random bytes, or a valid command of which some are random; any call, any length. */
static int fuzz(struct devx_ep *ep, const struct devx_shape *shape, uint64_t *seed)
{
	static uint8_t in[ROOM], out[ROOM];
	const struct known *k = &known[next(seed) % KNOWN];
	uint32_t inlen = next(seed) % 4 ? k->in : next(seed) % ROOM;
	uint32_t outlen = next(seed) % 4 ? k->out : next(seed) % ROOM;
	char call = next(seed) % 8 ? k->call : "gcmq"[next(seed) % 4];
	uint32_t n = next(seed) % 3 ? next(seed) % 4 : inlen;
	int ret;

	compose(ep, shape, k, in);
	for (uint32_t i = 0; inlen && i < n; i++)
		in[next(seed) % inlen] = (uint8_t)next(seed);
	/* mostly one that is known, about the object that it comes with */
	if (next(seed) % 8) {
		devx_set(in, 0, 16, k->opcode);
		if (k->call == 'm' || k->call == 'q')
			devx_set(in, DEVX_NUMBER, 24, ep->qpn);
	}
	out[0] = 0;
	ret = issue(ep, call, in, inlen, out, outlen);
	return ret == EREMOTEIO && outlen >= 16 && !out[0] ? -1 : ret;
}

TEST_F_TIMEOUT(commands, X4_commands_of_random_content, 36000)
{
	uint64_t seed = (uint64_t)getpid() << 32 | (uint32_t)rc_ms();
	uint32_t n = rc_stressed(FUZZED) * (rc_stressed(1) > 1 ? 10 : 1), good = 0;
	struct devx_ep ep;

	ASSERT_EQ(0, spare(&self->pair, &ep));
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = seed;
		int ret = fuzz(&ep, &self->pair.shape, &seed);

		ASSERT_TRUE(ret == 0 || ret == EREMOTEIO || ret == EINVAL || ret == ENOSPC ||
			    ret == EMSGSIZE || ret == E2BIG)
			TH_LOG("command %u, seed %#lx: %d", i, (unsigned long)at, ret);
		good += !ret;
	}
	EXPECT_LT(n / 50, good) TH_LOG("too few were carried out");
	ep.qp = NULL;
	EXPECT_EQ(0, devx_close(&ep));
	devx_reset(&self->pair.a);
	ASSERT_EQ(0, devx_join(&self->pair));
	EXPECT_EQ(0, devx_cells(&self->pair, &self->pair.a, DEVX_BATCH));
}

TEST_HARNESS_MAIN

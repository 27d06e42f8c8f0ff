// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Bytes: what the uapi encoders write and the engine's completions hold, against the
 * golden rows (made with rdma-core and vendors' device code) and against rdma-core's
 * own header over random inputs.
 */
#include "host.h"
#include "mlx5dv.h"
#include "kselftest_harness.h"

#define QPN	0x123456U
#define PI	0xabcdU
#define RADDR	0x1122334455667788ULL
#define RKEY	0xa1b2c3d4U
#define LADDR	0x99aabbccddeeff00ULL
#define LKEY	0xe1e2e3e4U

#define RANDOM_INPUTS	100000

struct entry {
	u8 b[128] __attribute__((aligned(64)));
};

static void *seg(struct entry *e, u32 n)
{
	return e->b + n * 16;
}

static void start(struct entry *e, u32 opcode, u32 ds)
{
	memset(e, 0, sizeof(*e));
	gda_mlx5_set_ctrl(seg(e, 0), PI, opcode, QPN, ds, GDA_MLX5_CE_ALWAYS, 0);
}

static void rdma(struct entry *e, u32 opcode)
{
	start(e, opcode, 3);
	gda_mlx5_set_raddr(seg(e, 1), RADDR, RKEY);
	gda_mlx5_set_data(seg(e, 2), LADDR, LKEY, 0x1000);
}

static void inl(struct entry *e, u32 len)
{
	struct gda_mlx5_inline *i = seg(e, 2);
	u32 k;

	start(e, GDA_MLX5_WRITE, 3);
	gda_mlx5_set_raddr(seg(e, 1), RADDR, RKEY);
	i->byte_count = gda_be32(len | GDA_MLX5_INLINE);
	for (k = 0; k < len; k++)
		i->data[k] = (u8)(k + 1);
}

static void atomic(struct entry *e, u32 opcode, u64 swap_add, u64 compare)
{
	start(e, opcode, 4);
	gda_mlx5_set_raddr(seg(e, 1), RADDR, RKEY);
	gda_mlx5_set_atomic(seg(e, 2), swap_add, compare);
	gda_mlx5_set_data(seg(e, 3), LADDR, LKEY, 8);
}

static void hex(const void *p, u32 n, char *out)
{
	const u8 *b = p;
	u32 i;

	for (i = 0; i < n; i++)
		snprintf(out + 2 * i, 3, "%02x", b[i]);
}

#define EXPECT_FIRST_BYTES(want, p, n)					\
	do {								\
		char have_[2 * (n) + 1];				\
		hex(p, n, have_);					\
		EXPECT_STREQ(want, have_);				\
	} while (0)
#define EXPECT_BYTES(want, p)	EXPECT_FIRST_BYTES(want, p, sizeof(*(p)))
#define EXPECT_SLOT(want, e)	EXPECT_FIRST_BYTES(want, e, 64)

#define CTRL(op, ds)	"00abcd" op "123456" ds "0000000800000000"
#define REMOTE		"1122334455667788a1b2c3d400000000"
#define LOCAL		"00001000e1e2e3e499aabbccddeeff00"
#define RESULT		"00000008e1e2e3e499aabbccddeeff00"
#define NONE		"00000000000000000000000000000000"

/* What @encode, statements about @e, makes of an entry. */
#define GOLDEN(name, encode, hex)					\
	TEST(name)							\
	{								\
		struct entry e;						\
									\
		encode;							\
		EXPECT_SLOT(hex, &e);					\
	}

GOLDEN(I_07_golden_write,
	rdma(&e, GDA_MLX5_WRITE),
	CTRL("08", "03") REMOTE LOCAL NONE)

GOLDEN(I_16_golden_write_inline_4,
	inl(&e, 4),
	CTRL("08", "03") REMOTE "80000004010203040000000000000000" NONE)

GOLDEN(I_16_golden_write_inline_8,
	inl(&e, 8),
	CTRL("08", "03") REMOTE "80000008010203040506070800000000" NONE)

GOLDEN(I_18_golden_read,
	rdma(&e, GDA_MLX5_READ),
	CTRL("10", "03") REMOTE LOCAL NONE)

GOLDEN(golden_atomic_fa,
	atomic(&e, GDA_MLX5_ATOMIC_FA, 7, 0),
	CTRL("12", "04") REMOTE "00000000000000070000000000000000" RESULT)

GOLDEN(golden_atomic_cs,
	atomic(&e, GDA_MLX5_ATOMIC_CS, 9, 5),
	CTRL("11", "04") REMOTE "00000000000000090000000000000005" RESULT)

GOLDEN(I_18_golden_nop,
	start(&e, GDA_MLX5_NOP, 1),
	CTRL("00", "01") NONE NONE NONE)

TEST(golden_write_imm_and_dump)
{
	struct entry e;

	rdma(&e, GDA_MLX5_WRITE_IMM);
	gda_mlx5_set_ctrl(seg(&e, 0), PI, GDA_MLX5_WRITE_IMM, QPN, 3, GDA_MLX5_CE_ALWAYS,
			  0xcafe0001);
	EXPECT_SLOT("00abcd091234560300000008cafe0001" REMOTE LOCAL NONE, &e);
	start(&e, GDA_MLX5_DUMP, 2);
	gda_mlx5_set_data(seg(&e, 1), LADDR, LKEY, 1);
	EXPECT_SLOT(CTRL("23", "02") "00000001e1e2e3e499aabbccddeeff00" NONE NONE, &e);
}

GOLDEN(S11_golden_wait,
	start(&e, GDA_MLX5_WAIT, 2);
	gda_mlx5_set_wait(seg(&e, 1), 0x777, 0x55),
	CTRL("0f", "02") "00000000000000000000005500000777" NONE NONE)

/* A masked atomic; @tail is the segment of the result. */
static void masked(struct entry *e, u32 opcode, u32 opmod, u32 tail, u32 len)
{
	start(e, opmod << 24 | opcode, tail + 1);
	gda_mlx5_set_raddr(seg(e, 1), RADDR, RKEY);
	gda_mlx5_set_data(seg(e, tail), LADDR, LKEY, len);
}

GOLDEN(I_15_golden_masked_fa_4,
	masked(&e, GDA_MLX5_MASKED_FA, GDA_MLX5_OPMOD_4BYTE, 3, 4);
	gda_mlx5_set_masked4(seg(&e, 2), 7, 0, 0, 0),
	"08abcd15123456040000000800000000" REMOTE
	"00000007000000000000000000000000" "00000004e1e2e3e499aabbccddeeff00")

GOLDEN(golden_masked_fa_8,
	masked(&e, GDA_MLX5_MASKED_FA, GDA_MLX5_OPMOD_8BYTE, 3, 8);
	gda_mlx5_set_masked8(seg(&e, 2), 7, 0),
	"09abcd15123456040000000800000000" REMOTE
	"00000000000000070000000000000000" RESULT)

/* Its row is made from the layout: no vendor code was run for it. */
GOLDEN(golden_masked_cs_4,
	masked(&e, GDA_MLX5_MASKED_CS, GDA_MLX5_OPMOD_4BYTE, 3, 4);
	gda_mlx5_set_masked4(seg(&e, 2), 9, 5, 0xffff0000, 0x0000ffff),
	"08abcd14123456040000000800000000" REMOTE
	"0000000900000005ffff00000000ffff" "00000004e1e2e3e499aabbccddeeff00")

TEST(golden_masked_cs_8)
{
	struct entry e;

	masked(&e, GDA_MLX5_MASKED_CS, GDA_MLX5_OPMOD_8BYTE, 4, 8);
	gda_mlx5_set_masked8(seg(&e, 2), 9, 5);
	gda_mlx5_set_masked8(seg(&e, 3), ~0ULL, ~0ULL);
	EXPECT_BYTES("09abcd14123456050000000800000000" REMOTE
		     "00000000000000090000000000000005" "ffffffffffffffffffffffffffffffff"
		     RESULT NONE NONE NONE, &e);
}

/* The entry that carries the immediate of a 4-byte put. */
GOLDEN(I_16_golden_write_imm_inline_4,
	inl(&e, 4);
	gda_mlx5_set_ctrl(seg(&e, 0), PI, GDA_MLX5_WRITE_IMM, QPN, 3, GDA_MLX5_CE_ALWAYS,
	0xcafe0001),
	"00abcd091234560300000008cafe0001" REMOTE
	"80000004010203040000000000000000" NONE)

/* Byte-swapped 32-bit keys, not truncated 64-bit ones (a bug seen elsewhere). */
TEST(I_19_invalid_lkey)
{
	struct gda_mlx5_data d;

	gda_mlx5_set_data(&d, 0, 0x100, 0);
	EXPECT_BYTES("00000000000001000000000000000000", &d);
}

TEST(I_11_golden_doorbell)
{
	__be64 db = gda_mlx5_doorbell(0x1abcd, QPN);
	__be32 rec = gda_mlx5_dbrec(0x1abcd);

	/* some producers spill higher bits into the first byte; ours do not */
	EXPECT_BYTES("00abcd0012345600", &db);
	EXPECT_BYTES("0000abcd", &rec);
}

TEST(I_11_doorbell_is_a_ctrl_segment)
{
	struct th_rand r = { 11 };
	u32 i, bad = 0;

	for (i = 0; i < RANDOM_INPUTS; i++) {
		u64 next = th_rand(&r);
		u32 qpn = (u32)th_rand(&r) & 0xffffff;
		__be64 db = gda_mlx5_doorbell(next, qpn);
		struct gda_mlx5_ctrl c;

		gda_mlx5_set_ctrl(&c, next, 0, qpn, 0, 0, 0);
		bad += memcmp(&db, &c, 8) != 0;
	}
	EXPECT_EQ(0, bad);
}

static u64 corner64(struct th_rand *r)
{
	u64 v = th_rand(r);

	switch (th_below(r, 4)) {
	case 0:
		return v & 1 ? ~0ULL : 0;
	case 1:
		return 1ULL << (v & 63);
	default:
		return v;
	}
}

TEST(mlx5dv_random_ctrl)
{
	struct th_rand r = { 1 };
	u32 i, bad = 0;

	if (!dv_present())
		SKIP(return, "no infiniband/mlx5dv.h (libibverbs-dev)");
	for (i = 0; i < RANDOM_INPUTS; i++) {
		u64 index = th_rand(&r);
		u8 opcode = (u8)th_rand(&r), opmod = (u8)th_rand(&r);
		u8 flags = (u8)th_rand(&r), ds = (u8)th_rand(&r);
		u32 qpn = (u32)th_rand(&r) & 0xffffff, imm = (u32)th_rand(&r);
		struct gda_mlx5_ctrl ours;
		u8 theirs[16] = { 0 };

		memset(&ours, 0xa5, sizeof(ours));
		gda_mlx5_set_ctrl(&ours, index, (u32)opmod << 24 | opcode, qpn, ds, flags, imm);
		dv_ctrl(theirs, (u16)index, opcode, opmod, qpn, flags, ds, imm);
		bad += memcmp(&ours, theirs, 16) != 0;
	}
	EXPECT_EQ(0, bad);
}

TEST(mlx5dv_random_segments)
{
	struct th_rand r = { 2 };
	u32 i, bad = 0;

	if (!dv_present())
		SKIP(return, "no infiniband/mlx5dv.h (libibverbs-dev)");
	for (i = 0; i < RANDOM_INPUTS; i++) {
		u64 a = corner64(&r), b = corner64(&r);
		u32 key = (u32)corner64(&r), len = (u32)corner64(&r);
		struct gda_mlx5_raddr raddr;
		struct gda_mlx5_data data;
		struct gda_mlx5_atomic at;
		struct gda_mlx5_masked8 m8;
		u8 theirs[16];

		gda_mlx5_set_raddr(&raddr, a, key);
		dv_raddr(theirs, a, key);
		bad += memcmp(&raddr, theirs, 16) != 0;
		gda_mlx5_set_data(&data, b, key, len);
		dv_data(theirs, len, key, b);
		bad += memcmp(&data, theirs, 16) != 0;
		gda_mlx5_set_atomic(&at, a, b);
		dv_atomic(theirs, a, b);
		bad += memcmp(&at, theirs, 16) != 0;
		/* mlx5dv.h knows no masked ones; 8-byte ones are pairs of the same */
		gda_mlx5_set_masked8(&m8, a, b);
		bad += memcmp(&m8, theirs, 16) != 0;
	}
	EXPECT_EQ(0, bad);
}

TEST(mlx5dv_random_inline)
{
	struct th_rand r = { 3 };
	u32 i, k, bad = 0;

	if (!dv_present())
		SKIP(return, "no infiniband/mlx5dv.h (libibverbs-dev)");
	for (i = 0; i < RANDOM_INPUTS; i++) {
		u32 len = th_below(&r, GDA_ENGINE_MAX_INLINE + 1);
		u8 payload[GDA_ENGINE_MAX_INLINE], ours[sizeof(payload) + 4] = { 0 };
		u8 theirs[sizeof(ours)] = { 0 };
		struct gda_mlx5_inline head;

		for (k = 0; k < len; k++)
			payload[k] = (u8)th_rand(&r);
		head.byte_count = gda_be32(len | GDA_MLX5_INLINE);
		memcpy(ours, &head.byte_count, 4);
		memcpy(ours + offsetof(struct gda_mlx5_inline, data), payload, len);
		dv_inline(theirs, len, payload);
		bad += memcmp(ours, theirs, sizeof(ours)) != 0;
	}
	EXPECT_EQ(0, bad);
}

TEST(mlx5dv_values)
{
	static const u32 ours[DV_VALUES] = {
		GDA_MLX5_NOP, GDA_MLX5_WRITE, GDA_MLX5_WRITE_IMM, GDA_MLX5_READ,
		GDA_MLX5_ATOMIC_CS, GDA_MLX5_ATOMIC_FA, GDA_MLX5_MASKED_CS,
		GDA_MLX5_MASKED_FA,
		GDA_MLX5_CQE_REQ, GDA_MLX5_CQE_RESP_IMM, GDA_MLX5_CQE_REQ_ERR,
		GDA_MLX5_CQE_RESP_ERR, GDA_MLX5_CQE_INVALID,
		GDA_MLX5_SYND_LOCAL_LENGTH, GDA_MLX5_SYND_LOCAL_QP_OP,
		GDA_MLX5_SYND_LOCAL_PROT, GDA_MLX5_SYND_WR_FLUSH,
		GDA_MLX5_SYND_BAD_RESP, GDA_MLX5_SYND_LOCAL_ACCESS,
		GDA_MLX5_SYND_REMOTE_INVAL_REQ, GDA_MLX5_SYND_REMOTE_ACCESS,
		GDA_MLX5_SYND_REMOTE_OP, GDA_MLX5_SYND_RETRY_EXC,
		GDA_MLX5_SYND_RNR_EXC, GDA_MLX5_SYND_REMOTE_ABORTED,
		GDA_MLX5_CE_ALWAYS, GDA_MLX5_SE, GDA_MLX5_INLINE, GDA_MLX5_SLOT_BYTES,
	};
	u32 i;

	if (!dv_present())
		SKIP(return, "no infiniband/mlx5dv.h (libibverbs-dev)");
	for (i = 0; i < DV_VALUES; i++)
		EXPECT_EQ(dv_values[i], ours[i])
			TH_LOG("value %u", i);
}

TEST(mlx5dv_completion_layout)
{
	struct dv_layout l = { 0 };

	if (!dv_present())
		SKIP(return, "no infiniband/mlx5dv.h (libibverbs-dev)");
	dv_layout(&l);
	EXPECT_EQ(l.cqe_size, sizeof(struct gda_mlx5_cqe));
	EXPECT_EQ(l.uidx, offsetof(struct gda_mlx5_cqe, srqn_uidx));
	EXPECT_EQ(l.imm, offsetof(struct gda_mlx5_cqe, imm));
	EXPECT_EQ(l.byte_cnt, offsetof(struct gda_mlx5_cqe, byte_cnt));
	EXPECT_EQ(l.timestamp, offsetof(struct gda_mlx5_cqe, timestamp));
	EXPECT_EQ(l.sop_qpn, offsetof(struct gda_mlx5_cqe, sop_qpn));
	EXPECT_EQ(l.wqe_counter, offsetof(struct gda_mlx5_cqe, wqe_counter));
	EXPECT_EQ(l.signature, offsetof(struct gda_mlx5_cqe, signature));
	EXPECT_EQ(l.op_own, offsetof(struct gda_mlx5_cqe, op_own));
	EXPECT_EQ(l.err_size, sizeof(struct gda_mlx5_err_cqe));
	EXPECT_EQ(l.err_uidx, offsetof(struct gda_mlx5_err_cqe, srqn));
	EXPECT_EQ(l.vendor, offsetof(struct gda_mlx5_err_cqe, vendor_err_synd));
	EXPECT_EQ(l.syndrome, offsetof(struct gda_mlx5_err_cqe, syndrome));
	EXPECT_EQ(l.err_qpn, offsetof(struct gda_mlx5_err_cqe, s_wqe_opcode_qpn));
	EXPECT_EQ(l.err_counter, offsetof(struct gda_mlx5_err_cqe, wqe_counter));
	EXPECT_EQ(l.err_op_own, offsetof(struct gda_mlx5_err_cqe, op_own));
}

/* Completions that the engine writes, read with rdma-core's accessors. */
static struct gda_status some_status(struct th_rand *r)
{
	struct gda_status st = { (u8)th_below(r, GDA_CLASS_FLUSH + 1), (u8)th_rand(r) };

	return st;
}

TEST(mlx5dv_reads_random_completions)
{
	struct th_rand r = { 4 };
	u8 entry[64] __attribute__((aligned(64)));
	struct gda_engine_cq cq = {
		.dialect = &gda_dialect_mlx5, .entries = entry, .depth = 1, .collapsed = true,
	};
	u32 i, bad = 0;

	if (!dv_present())
		SKIP(return, "no infiniband/mlx5dv.h (libibverbs-dev)");
	gda_cq_init(&cq);
	for (i = 0; i < RANDOM_INPUTS; i++) {
		struct gda_completion c = {
			.kind = th_rand(&r) & 1 ? GDA_COMPLETION_DONE : GDA_COMPLETION_ERROR,
			.wr_opcode = (u8)th_rand(&r),
			.solicited = th_rand(&r) & 1,
			.first_error = th_rand(&r),
			.index = th_rand(&r),
			.qpn = (u32)th_rand(&r) & 0xffffff,
			.byte_cnt = (u32)corner64(&r),
			.uidx_imm = (th_rand(&r) & 0xffffff) << 32,
		};
		struct dv_cqe d = { 0 };
		bool error = c.kind == GDA_COMPLETION_ERROR;
		u32 opcode = error ? GDA_MLX5_CQE_REQ_ERR : GDA_MLX5_CQE_REQ;

		if (!error && th_rand(&r) & 1) {
			opcode = GDA_MLX5_CQE_RESP_IMM;
			c.kind = GDA_COMPLETION_IMM;
			c.wr_opcode = GDA_MLX5_WRITE_IMM;
			c.uidx_imm |= (u32)corner64(&r);
		}

		if (error) {
			c.status = some_status(&r);
			c.first = some_status(&r);
		}
		if (!gda_cq_push(&cq, &c))
			bad++;
		dv_cqe(entry, &d);
		bad += d.opcode != opcode || d.owner || d.format ||
		       d.solicited != c.solicited || d.wqe_counter != (u16)c.index ||
		       d.sop_qpn != ((u32)c.wr_opcode << 24 | c.qpn);
		bad += !error && d.imm != (u32)c.uidx_imm;
		bad += d.uidx != c.uidx_imm >> 32;
		bad += error ? d.vendor != c.status.cause ||
				       d.syndrome != gda_dialect_mlx5.syndrome(c.status) :
			       d.byte_cnt != c.byte_cnt;
	}
	EXPECT_EQ(0, bad);
}

TEST_HARNESS_MAIN

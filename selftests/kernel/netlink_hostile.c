// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Requests of the netlink family that no library would send: SECURITY.md O2 and O3 for attributes;
 * and P4, that no answer is an address of the kernel's.
 */
#include "gda_fixture.h"
#include "nl.h"

static const struct {
	uint8_t cmd;
	bool dump;		/* has a dump */
	bool admin;		/* is for CAP_NET_ADMIN */
	uint16_t must[2];	/* attributes that a request needs; 0: none */
} ops[] = {
	{ GDA_CMD_DEVICE_GET, true, false, { GDA_A_DEVICE_NAME } },
	{ GDA_CMD_CONTEXT_GET, true, false, { GDA_A_CONTEXT_ID } },
	{ GDA_CMD_QP_GET, true, false, { GDA_A_QP_CONTEXT, GDA_A_QP_HANDLE } },
	{ GDA_CMD_CQ_GET, true, false, { GDA_A_CQ_CONTEXT, GDA_A_CQ_HANDLE } },
	{ GDA_CMD_MR_GET, true, false, { GDA_A_MR_CONTEXT, GDA_A_MR_HANDLE } },
	{ GDA_CMD_COUNTER_GET, true, false, { GDA_A_COUNTER_CONTEXT, GDA_A_COUNTER_HANDLE } },
	{ GDA_CMD_STATS_GET, false, true, { 0 } },
	{ GDA_CMD_LIMITS_GET, false, false, { 0 } },
	{ GDA_CMD_LIMITS_SET, false, true, { 0 } },
	{ GDA_CMD_RECORD_GET, true, false, { GDA_A_RECORD_CONTEXT } },
	{ GDA_CMD_RECORD_SET, false, true, { GDA_A_RECORD_CONTEXT, GDA_A_RECORD_RECORDS } },
	{ GDA_CMD_DEAD_GET, true, false, { GDA_A_RECORD_DEAD } },
	{ GDA_CMD_WQE_GET, true, false, { GDA_A_WQE_CONTEXT, GDA_A_WQE_HANDLE } },
};

#define NOPS	(sizeof(ops) / sizeof(ops[0]))

FIXTURE(hostile) {
	struct t_nl nl;
};

T_SETUP(hostile)
{
	ASSERT_OK(t_nl_open(&self->nl));
}

T_TEARDOWN(hostile)
{
	t_nl_close(&self->nl);
}

/* --- what is told is no address of the kernel's --- */

/*
 * Are the upper 16 bits of any 8 bytes of an attribute those of a kernel address, or are they what
 * a kernel for debugging leaves in memory that was not written or is free?
 */
static bool has_pointer(const struct nlattr *a)
{
	const uint8_t *bytes = (const uint8_t *)a + NLA_HDRLEN;
	uint64_t value;

	for (size_t i = 0; i + 8 <= (size_t)a->nla_len - NLA_HDRLEN; i += 8) {
		memcpy(&value, bytes + i, 8);
		if (value >> 47 == 0x1ffff || value == 0x5a5a5a5a5a5a5a5a ||
		    value == 0x6b6b6b6b6b6b6b6b)
			return true;
	}
	return false;
}

TEST_F(hostile, P4_no_pointers)
{
	struct t_nl *nl = &self->nl;
	struct t_nl_msg msg;
	struct t_end end[2];
	struct t_wr wr;
	uint32_t id;
	int err;

	/* a QP in error, one with an entry, and records of both */
	ASSERT_OK(t_pair_open(end, 16, T_PAGE));
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
	t_post(&end[1].qp, &wr);
	wr.rkey ^= 1;
	ASSERT_LT(0, t_run(&end[0].qp, &wr, NULL));
	id = t_nl_my_context(nl);
	for (size_t i = 0; i < NOPS; i++) {
		struct t_nl_req req;

		if (!ops[i].dump)
			continue;
		t_nl_begin(nl, &req, ops[i].cmd, NLM_F_DUMP);
		if (ops[i].cmd == GDA_CMD_RECORD_GET || ops[i].cmd == GDA_CMD_WQE_GET)
			t_nl_put_u32(&req, GDA_A_RECORD_CONTEXT, id);
		if (ops[i].cmd == GDA_CMD_WQE_GET)
			t_nl_put_u32(&req, GDA_A_WQE_HANDLE, end[1].qp.qpc.handle);
		ASSERT_OK(t_nl_send(nl, &req));
		while ((err = t_nl_next(nl, &msg)) > 0) {
			for (int a = 0; a < T_NL_ATTRS; a++) {
				EXPECT_FALSE(msg.attr[a] && has_pointer(msg.attr[a]))
					TH_LOG("cmd %u attribute %d", ops[i].cmd, a);
			}
		}
		EXPECT_EQ(0, err);
	}
	/* and there is no other place that tells */
	EXPECT_EQ(-1, access("/sys/kernel/debug/gda", F_OK));
	t_pair_close(end);
}

/* --- requests that are wrong --- */

static int refused(int err)
{
	return err == -EINVAL || err == -ERANGE || err == -ENOENT || err == -EOPNOTSUPP;
}

TEST_F(hostile, O2_attributes)
{
	static const uint8_t junk[64] = { 0x41, 0x41, 0x41, 0x41, 0x41 };
	struct t_nl *nl = &self->nl;
	struct t_nl_msg msg;
	struct t_nl_req req;

	for (size_t i = 0; i < NOPS; i++) {
		/* what a request must have is missing */
		for (int n = 0; n < 2; n++) {
			if (!ops[i].must[n])
				continue;
			t_nl_begin(nl, &req, ops[i].cmd, NLM_F_ACK);
			if (n)
				t_nl_put_u32(&req, ops[i].must[0], 1);
			EXPECT_EQ(-EINVAL, t_nl_ask(nl, &req, &msg)) TH_LOG("cmd %u", ops[i].cmd);
		}
		/* every attribute, and some that there are not, of every length and nested */
		for (uint16_t type = 1; type < 64; type++) {
			for (size_t len = 0; len <= 65; len++) {
				bool nested = len == 65;

				if (ops[i].cmd == GDA_CMD_LIMITS_SET && len == 4)
					continue;
				t_nl_begin(nl, &req, ops[i].cmd, NLM_F_ACK);
				for (int n = 0; n < 2; n++)
					if (ops[i].must[n] && ops[i].must[n] != type)
						t_nl_put_u32(&req, ops[i].must[n], 1);
				t_nl_put(&req, nested ? type | NLA_F_NESTED : type, junk,
					 nested ? 4 : len);
				EXPECT_TRUE(refused(t_nl_ask(nl, &req, &msg)))
					TH_LOG("cmd %u attribute %u length %zu", ops[i].cmd, type,
					       len);
			}
		}
	}
}

TEST_F(hostile, O2_commands)
{
	struct t_nl *nl = &self->nl;
	struct t_nl_msg msg;
	struct t_nl_req req;

	for (unsigned int cmd = 0; cmd < 256; cmd++) {
		bool known = cmd >= 1 && cmd <= GDA_CMD_MAX && cmd != GDA_CMD_EVENT;

		t_nl_begin(nl, &req, (uint8_t)cmd, NLM_F_ACK);
		if (!known)
			EXPECT_EQ(-EOPNOTSUPP, t_nl_ask(nl, &req, &msg)) TH_LOG("cmd %u", cmd);
	}
	for (size_t i = 0; i < NOPS; i++)
		if (!ops[i].dump)
			EXPECT_EQ(-EOPNOTSUPP, t_nl_count(nl, ops[i].cmd, 0));
	/* what is kept for later is zero */
	t_nl_begin(nl, &req, GDA_CMD_LIMITS_GET, NLM_F_ACK);
	req.genl.reserved = 1;
	EXPECT_EQ(-EINVAL, t_nl_ask(nl, &req, &msg));
}

/* Messages of random bytes: an answer comes to each that is whole, and nothing else happens. */
TEST_F_TIMEOUT(hostile, O2_random_messages, 300)
{
	unsigned long n = t_soaked(20000, 100000);
	uint64_t seed = t_seed();
	struct t_nl *nl = &self->nl;
	struct t_nl_msg msg;
	struct t_nl_req req;
	struct t_end end[2];
	int err;

	/* something that they may hit: contexts and handles are small numbers */
	ASSERT_OK(t_pair_open(end, 16, T_PAGE));
	TH_LOG("%lu messages, GDA_SEED=%llu", n, (unsigned long long)seed);
	for (unsigned long i = 0; i < n; i++) {
		uint64_t r = t_random(&seed);
		uint8_t cmd = (uint8_t)(1 + r % GDA_CMD_MAX);
		bool dump = r >> 8 & 1;

		/* its effect would be the end of this test */
		if (cmd == GDA_CMD_LIMITS_SET)
			continue;
		t_nl_begin(nl, &req, cmd, dump ? NLM_F_DUMP : NLM_F_ACK);
		for (unsigned int k = r >> 16 & 3; k; k--) {
			uint8_t bytes[40];
			uint64_t a = t_random(&seed);

			for (size_t b = 0; b < sizeof(bytes); b += 8)
				memcpy(bytes + b, &(uint64_t){ t_random(&seed) }, 8);
			if (a & 0x100)
				memset(bytes + 1, 0, sizeof(bytes) - 1);
			t_nl_put(&req, (uint16_t)(a >> 16 & (a & 0x200 ? 0xffff : 3)), bytes,
				 a & 0x400 ? 4 : a >> 40 & 31);
		}
		ASSERT_OK(t_nl_send(nl, &req));
		while ((err = t_nl_next(nl, &msg)) > 0 && dump)
			;
		ASSERT_NE(-ETIMEDOUT, err);
		/* an answer, and then the acknowledgment of it */
		if (err > 0)
			ASSERT_EQ(0, t_nl_next(nl, &msg));
	}
	t_pair_close(end);
}

TEST_HARNESS_MAIN

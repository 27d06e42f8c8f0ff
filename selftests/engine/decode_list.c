// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Decoding of what is as long as it likes: lists of data segments, of a receive queue's entries,
 * too, and inline payload.
 */
#include <endian.h>
#include "host.h"
#include "kselftest_harness.h"

static struct th_why decode(struct th_qp *qp, u32 avail, struct gda_work *w)
{
	memset(w, 0xa5, sizeof(*w));
	return th_why(qp, gda_dialect_mlx5.decode(&qp->q, avail, w));
}

/* The sum of a list, at each place where it becomes too long, and a bad segment at each place. */
TEST(S4_list_lengths)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 16, 0);
	const u32 part = GDA_ENGINE_MAX_MSG / GDA_ENGINE_MAX_SGE;
	u32 n, bad, i, k;

	for (n = 1; n <= GDA_ENGINE_MAX_SGE; n++) {
		for (bad = 0; bad < n; bad++) {
			const u32 lens[] = {
				part, GDA_ENGINE_MAX_MSG - (n - 1) * part,
				GDA_ENGINE_MAX_MSG - (n - 1) * part + 1, 0, 0x80000000, 0xffffffff,
			};

			for (k = 0; k < ARRAY_SIZE(lens); k++) {
				struct gda_work w;
				struct th_why st;

				/* a first segment may be inline */
				if (lens[k] >> 31 && !bad)
					continue;
				gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, GDA_MLX5_WRITE, TH_QPN, 2 + n,
						  0, 0);
				for (i = 0; i < n; i++)
					gda_mlx5_set_data(th_seg(qp, 0, 2 + i), i, i,
							  i == bad ? lens[k] : part);
				st = decode(qp, 16, &w);
				EXPECT_EQ(k < 2 ? 0 : GDA_MLX5_SYND_LOCAL_LENGTH, st.syndrome)
					TH_LOG("%u segments, %u is %#x", n, bad, lens[k]);
				if (k < 2)
					EXPECT_EQ((n - 1) * part + lens[k], w.remote.len);
			}
		}
	}
	th_qp_free(qp);
}

TEST(S4_inline_lengths)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 32, 0);
	static const u32 huge[] = {
		GDA_ENGINE_MAX_INLINE + 1, 0x1000, 0xffff, 0x10000, 0x7fffffff,
	};
	struct th_why st;
	struct gda_work w;
	u32 len, ds, i, op;

	for (len = 0; len <= 1000; len++) {
		for (ds = 3; ds <= 70; ds++) {
			bool ok = len <= GDA_ENGINE_MAX_INLINE && ds == 2 + (len + 4 + 15) / 16;

			op = len % 2 ? GDA_MLX5_WRITE : GDA_MLX5_WRITE_IMM;
			gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, op, TH_QPN, ds, 0, 0);
			gda_mlx5_set_data(th_seg(qp, 0, 2), 0, 0, len | GDA_MLX5_INLINE);
			st = decode(qp, 32, &w);
			EXPECT_EQ(ok, !st.syndrome)
				TH_LOG("len %u ds %u", len, ds);
			if (ok)
				EXPECT_EQ(len, w.remote.len);
		}
	}
	for (i = 0; i < ARRAY_SIZE(huge); i++) {
		gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, GDA_MLX5_WRITE, TH_QPN, 4, 0, 0);
		gda_mlx5_set_data(th_seg(qp, 0, 2), 0, 0, huge[i] | GDA_MLX5_INLINE);
		st = decode(qp, 4, &w);
		EXPECT_EQ(GDA_MLX5_SYND_LOCAL_LENGTH, st.syndrome);
	}
	th_qp_free(qp);
}

/* The longest entry, from every slot of a ring that it fills: it wraps, and is whole. */
TEST(S4_longest_inline_wraps)
{
	struct th_dev dev = { 0 };
	struct th_qp *qp = th_qp_new(&dev, NULL, 16, 0);
	struct th_mr *mr = th_mr_new(&dev, NULL, 0, 1024, GDA_ACCESS_ALL, 7, 0);
	u8 bytes[GDA_ENGINE_MAX_INLINE], got[sizeof(bytes)];
	u32 i, at;

	th_qp_pair(qp, qp);
	for (at = 0; at < 33; at++) {
		for (i = 0; i < sizeof(bytes); i++)
			bytes[i] = (u8)(at * 7 + i * 5 + (i >> 8));
		th_inline(qp, GDA_MLX5_CE_ALWAYS, bytes, sizeof(bytes), mr, 3);
		th_ring(qp);
		EXPECT_EQ(1, th_run(qp));
		EXPECT_EQ((u16)(17 * at), th_cqe_counter(qp));
		th_mr_get(mr, 3, got, sizeof(got));
		EXPECT_EQ(0, memcmp(bytes, got, sizeof(got)));
		/* the next one begins a slot further on */
		th_nop(qp, 0);
		th_ring(qp);
		th_run(qp);
	}
	EXPECT_EQ(GDA_QP_READY, qp->q.state);
	th_qp_free(qp);
	th_mr_free(&dev, mr);
}

/* An entry of two slots whose second is not published, or that laps itself. */
TEST(S4_more_slots_than_published)
{
	u32 depth, avail;

	for (depth = 1; depth <= 4; depth *= 2) {
		for (avail = 1; avail <= depth; avail++) {
			struct th_qp *qp = th_qp_new(NULL, NULL, depth, 0);
			struct th_why st;
			struct gda_work w;

			gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, GDA_MLX5_WRITE, TH_QPN, 5, 0, 0);
			gda_mlx5_set_data(th_seg(qp, 0, 2), 0, 0, 40 | GDA_MLX5_INLINE);
			st = decode(qp, avail, &w);
			EXPECT_EQ(avail < 2 ? GDA_MLX5_VENDOR_DS : 0, st.vendor);
			EXPECT_EQ(min(avail, 2U), w.slots);
			th_qp_free(qp);
		}
	}
}

/* A host that says nothing of it has queues of two segments. */
TEST(segments_by_default)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 4, 0);
	struct gda_sge sge[3] = { { 0, 1, 0 }, { 0, 1, 0 }, { 0, 1, 0 } };
	struct gda_work w;
	u32 n;

	qp->q.max_sge = 0;
	gda_engine_init(&qp->q);
	for (n = 1; n < 4; n++) {
		th_send(qp, 0, sge, n);
		qp->q.ci = qp->next - 1;
		EXPECT_EQ(n > 2 ? GDA_MLX5_SYND_LOCAL_QP_OP : 0, decode(qp, 4, &w).syndrome);
	}
	th_qp_free(qp);
}

/* Of a send, whose payload begins one segment earlier; the bytes as well. */
TEST(S4_inline_sends)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 32, 0);
	u8 bytes[GDA_ENGINE_MAX_INLINE];
	struct gda_work w;
	u32 len, ds, i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (u8)(i * 7 + 1);
	for (len = 0; len <= 1000; len++) {
		if (len <= sizeof(bytes)) {
			th_send_inline(qp, 0, bytes, len);
			qp->q.ci = qp->next - ((len + 4 + 15) / 16 + 1 + 3) / 4;
			EXPECT_EQ(0, decode(qp, 16, &w).syndrome);
			EXPECT_TRUE(w.inlined && !w.nsge && w.remote.len == len);
			EXPECT_EQ(0, memcmp(w.data, bytes, len));
		}
		for (ds = 2; ds <= 70; ds++) {
			bool ok = len <= GDA_ENGINE_MAX_INLINE && ds == 1 + (len + 4 + 15) / 16;

			qp->q.ci = 0;
			gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, len % 2 ? GDA_MLX5_SEND :
					  GDA_MLX5_SEND_IMM, TH_QPN, ds, 0, 0);
			gda_mlx5_set_data(th_seg(qp, 0, 1), 0, 0, len | GDA_MLX5_INLINE);
			EXPECT_EQ(ok, !decode(qp, 32, &w).syndrome) TH_LOG("len %u ds %u", len, ds);
		}
	}
	th_qp_free(qp);
}

/* One entry of a receive queue, as it was meant and as it was decoded. */
struct entry {
	u32 n, next;
	bool bad;
	u64 len;
	struct gda_sge sge[GDA_RECV_MAX_SGE];
};

/* Any list that fits in @segs segments: what it says, in the queue's entry @at. */
static void any_list(struct th_rand *r, struct th_rq *rq, u32 at, struct entry *e)
{
	u32 segs = (1U << rq->rq.shift) / GDA_MLX5_SEG_BYTES, i;
	struct gda_mlx5_data *data = th_rq_entry(rq, at);

	memset(e, 0, sizeof(*e));
	if (rq->rq.linked) {
		memset(data, (int)th_rand(r), sizeof(*data));
		e->next = (u32)th_rand(r) & 0xffff;
		((struct gda_mlx5_srq_next *)(void *)data)->next_wqe_index = htobe16((u16)e->next);
	}
	for (i = rq->rq.linked; i < segs; i++) {
		u32 what = th_below(r, 12), key = (u32)th_rand(r);
		u32 len = !what ? 0 : what == 1 && !th_below(r, 8) ? 0x80000000 | (u32)th_rand(r) :
			  (u32)th_rand(r) >> (1 + th_below(r, 30));
		u64 addr = th_rand(r);

		if (key == GDA_MLX5_INVALID_LKEY)
			key++;
		/* the end is one whatever its address says */
		if (what == 2) {
			gda_mlx5_set_data(data + i, addr, GDA_MLX5_INVALID_LKEY, 0);
			for (i++; i < segs; i++)
				memset(data + i, 0xff, sizeof(*data));
			return;
		}
		gda_mlx5_set_data(data + i, addr, key, len);
		if (len >> 31) {
			e->bad = true;
			return;
		}
		if (len)
			e->sge[e->n++] = (struct gda_sge){ .addr = addr, .len = len, .key = key };
		e->len += len;
	}
}

/* 10^5 entries of each size, in a ring and in a list. */
TEST(X2_random_receive_lists)
{
	struct th_rand r = { 44 };
	u32 shift, linked, i, k, bad = 0;

	for (shift = GDA_RECV_MIN_SHIFT; shift <= GDA_RECV_MAX_SHIFT; shift++) {
		for (linked = 0; linked < 2; linked++) {
			struct th_rq *rq = th_rq_new(NULL, 8, shift, linked);
			static struct gda_recv out;
			static struct entry e;

			for (i = 0; i < 100000; i++) {
				any_list(&r, rq, i & 7, &e);
				memset(&out, 0xa5, sizeof(out));
				gda_dialect_mlx5.recv(&rq->rq, i & 7, &out);
				bad += e.bad != !!out.st.class;
				bad += linked && out.next != e.next;
				if (e.bad)
					continue;
				bad += out.nsge != e.n || out.len != e.len;
				for (k = 0; k < e.n; k++)
					bad += out.sge[k].addr != e.sge[k].addr ||
					       out.sge[k].len != e.sge[k].len ||
					       out.sge[k].key != e.sge[k].key;
			}
			th_rq_free(rq);
		}
	}
	EXPECT_EQ(0, bad);
}

TEST_HARNESS_MAIN

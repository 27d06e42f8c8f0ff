// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Random programs of sends, writes, reads, immediates and receives against a flat model: every
 * byte of both sides, every completion of a receive, in a ring and in a list.
 */
#include <endian.h>
#include "host.h"
#include "kselftest_harness.h"

#define PROGRAMS	100000
#define SIZE		2048U
#define SEGS		31U		/* of a receive's entry of 512 bytes */
#define ENTRIES		64U
#define DEPTH		16U		/* receives */
#define MOST		16U		/* requests that have no outcome */

static int dom_a, dom_b;

struct list {
	struct gda_sge sge[SEGS];
	u32 n, len;
};

/* What was posted and not carried out by the model. */
struct request {
	u32 opcode, roff, imm;
	bool inlined;
	struct list from;
	u8 data[200];
};

struct receive {
	struct list to;
	u32 index;
	bool bad;		/* its last segment's key */
};

/* What must be seen of a receive. */
struct expected {
	u32 opcode, index, bytes, imm, syndrome;
};

struct world {
	struct th_dev dev;
	struct th_rand r;
	struct th_mr *l, *m;	/* of a and of b */
	u8 fl[SIZE], fm[SIZE];
	struct th_qp *a, *b, *sink;
	struct th_rq *rq;
	struct request requests[MOST];
	struct receive receives[DEPTH];
	struct expected expected[ENTRIES];
	u32 req_head, req_tail, recv_head, recv_tail, exp_head, exp_tail;
	u64 done;
	bool dead;		/* the model says that both queues fail */
	u32 bad;
};

static void world_open(struct world *w, u64 seed)
{
	u32 shift;

	memset(w, 0, sizeof(*w));
	w->r.s = seed;
	shift = 5 + th_below(&w->r, 6);
	w->l = th_mr_new(&w->dev, &dom_a, 0x10000 + th_below(&w->r, 99), SIZE, GDA_ACCESS_ALL,
			 shift, th_below(&w->r, 30));
	w->m = th_mr_new(&w->dev, &dom_b, 0x10000 + th_below(&w->r, 99), SIZE, GDA_ACCESS_ALL,
			 5 + th_below(&w->r, 6), th_below(&w->r, 30));
	for (u32 i = 0; i < SIZE; i++)
		w->fl[i] = (u8)th_rand(&w->r);
	th_mr_put(w->l, 0, w->fl, SIZE);
	w->a = th_qp_new(&w->dev, &dom_a, 256, 0);
	w->b = th_qp_new(&w->dev, &dom_b, 16, 0);
	w->sink = th_qp_new(&w->dev, &dom_b, 1, ENTRIES);
	w->rq = th_rq_new(&dom_b, DEPTH, GDA_RECV_MAX_SHIFT, seed & 1);
	w->b->q.recv_cq = &w->sink->cq;
	w->b->q.rq = &w->rq->rq;
	w->a->q.rnr_retry = GDA_ENGINE_RNR_FOREVER;
	th_qp_pair(w->a, w->b);
}

static void world_close(struct world *w)
{
	th_mr_free(&w->dev, w->l);
	th_mr_free(&w->dev, w->m);
	th_qp_free(w->a);
	th_qp_free(w->b);
	th_qp_free(w->sink);
	th_rq_free(w->rq);
}

static u32 few(struct world *w, u32 most)
{
	return th_below(&w->r, th_below(&w->r, 4) ? 4 : most + 1);
}

/* A list of up to @most segments of @mr, of @len bytes in all at most. */
static void some_list(struct world *w, const struct th_mr *mr, u32 most, u32 len, struct list *list)
{
	u32 n = few(w, most), i;

	list->n = n;
	list->len = 0;
	for (i = 0; i < n; i++) {
		struct gda_sge *s = &list->sge[i];

		s->len = 1 + th_below(&w->r, len / n);
		s->addr = mr->mem.iova + th_below(&w->r, SIZE - s->len + 1);
		s->key = mr->mem.key;
		list->len += s->len;
	}
}

static u8 some_ce(struct world *w)
{
	return (u8)(th_below(&w->r, 4) << 2 | th_below(&w->r, 2) << 1);
}

static bool receives(const struct request *q)
{
	return q->opcode == GDA_MLX5_SEND || q->opcode == GDA_MLX5_SEND_IMM ||
	       q->opcode == GDA_MLX5_WRITE_IMM;
}

static void post_request(struct world *w)
{
	static const u32 opcodes[] = {
		GDA_MLX5_SEND, GDA_MLX5_SEND, GDA_MLX5_SEND_IMM, GDA_MLX5_WRITE_IMM,
		GDA_MLX5_WRITE, GDA_MLX5_READ,
	};
	struct request *q = &w->requests[w->req_tail++ % MOST];
	bool send;
	u64 index;

	memset(q, 0, offsetof(struct request, data));
	q->opcode = opcodes[th_below(&w->r, ARRAY_SIZE(opcodes))];
	q->imm = (u32)th_rand(&w->r);
	send = q->opcode == GDA_MLX5_SEND || q->opcode == GDA_MLX5_SEND_IMM;
	q->inlined = q->opcode != GDA_MLX5_READ && !th_below(&w->r, 4);
	if (q->inlined) {
		q->from.len = th_below(&w->r, sizeof(q->data) + 1);
		for (u32 i = 0; i < q->from.len; i++)
			q->data[i] = (u8)th_rand(&w->r);
	} else {
		some_list(w, w->l, GDA_ENGINE_MAX_SGE, 600, &q->from);
	}
	q->roff = th_below(&w->r, SIZE - q->from.len + 1);
	if (send)
		index = q->inlined ? th_send_inline(w->a, some_ce(w), q->data, q->from.len) :
				     th_send(w->a, some_ce(w), q->from.sge, q->from.n);
	else
		index = q->inlined ?
			th_inline(w->a, some_ce(w), q->data, q->from.len, w->m, q->roff) :
			th_list(w->a, q->opcode, some_ce(w), q->from.sge, q->from.n, w->m, q->roff);
	th_ctrl(w->a, index)->opmod_idx_opcode =
		gda_be32((u32)(index & 0xffff) << 8 | q->opcode);
	th_ctrl(w->a, index)->imm = gda_be32(q->imm);
	th_ring(w->a);
}

static void post_receive(struct world *w)
{
	struct receive *v = &w->receives[w->recv_tail++ % DEPTH];

	some_list(w, w->m, SEGS - 1, 1500, &v->to);
	/* mostly there is room for what will come */
	if (th_below(&w->r, 40) && v->to.n < SEGS) {
		struct gda_sge *s = &v->to.sge[v->to.n++];

		s->len = 700;
		s->addr = w->m->mem.iova + th_below(&w->r, SIZE - s->len + 1);
		s->key = w->m->mem.key;
		v->to.len += s->len;
	}
	v->bad = v->to.n && !th_below(&w->r, 100);
	if (v->bad)
		v->to.sge[v->to.n - 1].key ^= 0x80;
	v->index = th_rq_post(w->rq, v->to.sge, v->to.n);
}

/* The bytes of a list of @flat, whose MR is @mr: out, or in. */
static void gather(const u8 *flat, const struct th_mr *mr, const struct list *list, u8 *out)
{
	for (u32 i = 0; i < list->n; i++) {
		memcpy(out, flat + (list->sge[i].addr - mr->mem.iova), list->sge[i].len);
		out += list->sge[i].len;
	}
}

static void scatter(u8 *flat, const struct th_mr *mr, const struct list *list, const u8 *in,
		    u32 len)
{
	for (u32 i = 0; len; i++) {
		u32 n = min(len, list->sge[i].len);

		memcpy(flat + (list->sge[i].addr - mr->mem.iova), in, n);
		in += n;
		len -= n;
	}
}

static void expect(struct world *w, u32 opcode, const struct receive *v, const struct request *q,
		   u32 syndrome)
{
	struct expected *e = &w->expected[w->exp_tail++ % ENTRIES];

	*e = (struct expected){ .opcode = opcode, .index = v->index, .syndrome = syndrome };
	if (q) {
		e->bytes = q->from.len;
		e->imm = q->opcode == GDA_MLX5_SEND ? 0 : q->imm;
	}
}

/* Both queues fail: what is posted is flushed, but for the list of an SRQ. */
static void die(struct world *w)
{
	w->dead = true;
	for (; !w->rq->rq.linked && w->recv_head != w->recv_tail; w->recv_head++)
		expect(w, GDA_MLX5_CQE_RESP_ERR, &w->receives[w->recv_head % DEPTH], NULL,
		       GDA_MLX5_SYND_WR_FLUSH);
}

/* A send into a receive. */
static void do_send(struct world *w, const struct request *q, const struct receive *v,
		    const u8 *bytes)
{
	u32 good = v->bad ? v->to.len - v->to.sge[v->to.n - 1].len : v->to.len;

	if (q->from.len > good) {
		expect(w, GDA_MLX5_CQE_RESP_ERR, v, NULL, q->from.len > v->to.len ?
		       GDA_MLX5_SYND_LOCAL_LENGTH : GDA_MLX5_SYND_LOCAL_PROT);
		die(w);
		return;
	}
	scatter(w->fm, w->m, &v->to, bytes, q->from.len);
	expect(w, q->opcode == GDA_MLX5_SEND ? GDA_MLX5_CQE_RESP_SEND : GDA_MLX5_CQE_RESP_SEND_IMM,
	       v, q, 0);
}

/* Carry out what can be. */
static void model(struct world *w)
{
	while (w->req_head != w->req_tail && !w->dead) {
		const struct request *q = &w->requests[w->req_head % MOST];
		const struct receive *v = NULL;
		u8 bytes[SIZE];

		if (q->inlined)
			memcpy(bytes, q->data, q->from.len);
		else
			gather(w->fl, w->l, &q->from, bytes);
		/* of an immediate, too, before it is known whether there is a receive for it */
		if (q->opcode == GDA_MLX5_WRITE || q->opcode == GDA_MLX5_WRITE_IMM)
			memcpy(w->fm + q->roff, bytes, q->from.len);
		if (receives(q)) {
			if (w->recv_head == w->recv_tail)
				return;
			v = &w->receives[w->recv_head++ % DEPTH];
		}
		if (q->opcode == GDA_MLX5_READ)
			scatter(w->fl, w->l, &q->from, memcpy(bytes, w->fm + q->roff, q->from.len),
				q->from.len);
		else if (q->opcode == GDA_MLX5_WRITE_IMM)
			expect(w, GDA_MLX5_CQE_RESP_IMM, v, q, 0);
		else if (q->opcode != GDA_MLX5_WRITE)
			do_send(w, q, v, bytes);
		w->done += !w->dead;
		w->req_head++;
	}
}

/* Visit both until nothing goes on: the sender may wait for a receive. */
static void run(struct world *w)
{
	u32 most = th_below(&w->r, 2) ? 5000 : 64;

	do {
		w->a->delay_ns = 0;
		gda_engine_visit(&w->a->q, 1 + th_below(&w->r, 20), 1 + th_below(&w->r, most));
		gda_engine_visit(&w->b->q, 1 + th_below(&w->r, 20), 1);
	} while ((gda_engine_pending(&w->a->q) && !w->a->delay_ns) || gda_engine_pending(&w->b->q));
}

static void check_completion(struct world *w)
{
	const struct expected *e = &w->expected[w->exp_head % ENTRIES];
	const struct gda_mlx5_cqe *cqe = (const void *)
		(w->sink->cqe + (w->exp_head & (ENTRIES - 1)) * 64);
	const struct gda_mlx5_err_cqe *err = (const void *)cqe;

	w->exp_head++;
	w->bad += cqe->op_own >> 4 != e->opcode || be16toh(cqe->wqe_counter) != e->index;
	if (e->opcode == GDA_MLX5_CQE_RESP_ERR)
		w->bad += err->syndrome != e->syndrome;
	else
		w->bad += gda_be32_to_cpu(cqe->byte_cnt) != e->bytes ||
			  gda_be32_to_cpu(cqe->imm) != e->imm;
	if (w->rq->rq.linked)
		th_rq_reuse(w->rq, e->index);
}

static void check(struct world *w)
{
	static u8 now[SIZE];

	w->bad += w->sink->cq.producer != w->exp_tail;
	while (w->exp_head != w->exp_tail)
		check_completion(w);
	w->sink->consumer = gda_be32(w->exp_head & 0xffffff);
	w->bad += w->a->q.executed != w->done;
	w->bad += w->dead != (w->a->q.state == GDA_QP_ERROR);
	w->bad += w->dead != (w->b->q.state == GDA_QP_ERROR);
	th_mr_get(w->l, 0, now, SIZE);
	w->bad += !!memcmp(now, w->fl, SIZE);
	th_mr_get(w->m, 0, now, SIZE);
	w->bad += !!memcmp(now, w->fm, SIZE);
}

static void program(struct world *w)
{
	u32 i, n = 1 + th_below(&w->r, 8);

	for (i = 0; i < n; i++) {
		bool full = w->req_tail - w->req_head == MOST;
		bool room = w->recv_tail - w->recv_head < DEPTH;

		if (room && (full || th_below(&w->r, 2)))
			post_receive(w);
		else if (!full)
			post_request(w);
		/* what is posted later is seen at any time */
		if (!th_below(&w->r, 6))
			gda_engine_visit(&w->a->q, 3, 1 + th_below(&w->r, 300));
	}
	model(w);
	run(w);
	check(w);
}

TEST(X2_random_programs_are_as_the_model)
{
	static struct world w;
	u32 i, deaths = 0;
	u64 seed = 44;

	world_open(&w, seed);
	for (i = 0; i < PROGRAMS; i++) {
		program(&w);
		ASSERT_EQ(0, w.bad) TH_LOG("program %u, seed %llu", i, (unsigned long long)seed);
		if (!w.dead && th_below(&w.r, 500))
			continue;
		deaths += w.dead;
		world_close(&w);
		world_open(&w, ++seed);
	}
	TH_LOG("%u programs, %u of them end in an error", i, deaths);
	EXPECT_LT(100, deaths);
	world_close(&w);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A program that writes what it likes into its queue, doorbell, record and consumer
 * index, and its peer into its receives, between visits of the engine. In every case
 * progress is within what a ring can hold, a visit keeps to its budget, no byte changes in
 * memory to which no key of this queue gives a right, and the neighbour's queue goes on.
 * Memory beyond the regions is ASan's to watch.
 */
#include "fuzz.h"
#include "../engine/host.h"

#define DEPTH	16U
#define SHIFT	8U		/* pages are small, so that looking at all of them is quick */
#define BYTES	(3U << SHIFT)
#define CANARY	0x5a

enum { LOCAL, REMOTE, READ_ONLY, FOREIGN, SECRET, MRS };

struct scene {
	struct th_dev dev;
	struct th_mr *mr[MRS];
	struct th_qp *a, *b;
	struct th_rq *rq;	/* of b, or NULL */
	bool datagrams;		/* a sends them, and b takes them */
};

static void scene_open(struct scene *s, u32 flags)
{
	static const u32 rights[MRS] = {
		[LOCAL] = GDA_ACCESS_ALL, [REMOTE] = GDA_ACCESS_ALL,
		[READ_ONLY] = GDA_ACCESS_REMOTE_READ, [FOREIGN] = GDA_ACCESS_ALL, [SECRET] = 0,
	};
	u32 i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < MRS; i++) {
		/* domains: the queue's own, its peer's, and somebody else's */
		void *dom = i == LOCAL ? (void *)s : i == FOREIGN ? (void *)&s->mr : &s->dev;

		s->mr[i] = th_mr_new(&s->dev, dom, 0x10000 * (i + 1), BYTES - i, rights[i], SHIFT,
				     i * 8);
		for (u32 k = 0; k < s->mr[i]->npages; k++)
			memset(s->mr[i]->pages[k], i < READ_ONLY ? 0 : CANARY, 1U << SHIFT);
	}
	s->a = th_qp_new(&s->dev, s, DEPTH, flags & 1 ? 4 : 0);
	s->b = th_qp_new(&s->dev, &s->dev, DEPTH, 0);
	/* immediates to a ring that the program fills and empties as it likes */
	if ((flags & 3) == 3)
		s->b->q.recv_cq = &s->a->cq;
	s->a->q.rnr_retry = flags >> 2 & 3;
	if ((flags & 0x11) == 0x11) {
		s->rq = th_rq_new(&s->dev, 4, GDA_RECV_MIN_SHIFT + 2, flags & 0x20);
		s->b->q.rq = &s->rq->rq;
		s->b->q.recv_cq = &s->a->cq;
	}
	if (flags & 0x80) {
		s->a->q.dialect = gda_dialect_mlx5.uc;
		s->a->q.rnr_retry = 0;
		gda_engine_init(&s->a->q);
	}
	th_qp_pair(s->a, s->b);
	s->datagrams = s->rq && flags & 0x40;
	if (s->datagrams)
		th_datagrams(s->a, s->b);
}

static void scene_close(struct scene *s)
{
	for (u32 i = 0; i < MRS; i++)
		th_mr_free(&s->dev, s->mr[i]);
	th_qp_free(s->a);
	th_qp_free(s->b);
	if (s->rq)
		th_rq_free(s->rq);
}

/* Bytes in, as a range of one of the MRs, nearly: the ends are what matters. */
static void range(struct scene *s, struct input *in, u64 *addr, u32 *key, u32 *len)
{
	u8 pick = take8(in);
	const struct gda_mem *mem = &s->mr[pick % MRS]->mem;

	*key = mem->key ^ (pick & 0x80 ? take32(in) : 0);
	*addr = mem->iova + (pick & 0x40 ? take64(in) : take8(in));
	*len = pick & 0x20 ? take32(in) : pick & 0x10 ? BYTES - take8(in) : take8(in);
}

/* For b as a rule, with a global header or without. */
static void throw(struct scene *s, struct input *in, const struct gda_sge *sge)
{
	u8 what = take8(in);
	struct th_to to = {
		.number = TH_QPN ^ (what & 0x80 ? take8(in) : 0),
		.key = TH_QKEY ^ (what & 0x40 ? take8(in) : 0),
		.flow = what & 0x20 ? take32(in) : 0,
	};

	if (what & 0x10)
		th_datagram_inline(s->a, what & 8, &to, in->p, (u32)(in->left < 60 ? in->left : 60));
	else
		th_datagram(s->a, what & 8, &to, sge, what % 3);
}

static void post(struct scene *s, struct input *in)
{
	static const u32 opcodes[] = {
		GDA_MLX5_WRITE, GDA_MLX5_READ, GDA_MLX5_ATOMIC_FA, GDA_MLX5_ATOMIC_CS,
	};
	struct th_qp *qp = s->a;
	u8 what = take8(in);
	struct gda_sge sge[2], remote;
	u64 index = qp->next;
	u8 *slot = th_slot(qp, index);
	u32 word;

	range(s, in, &remote.addr, &remote.key, &remote.len);
	range(s, in, &sge[0].addr, &sge[0].key, &sge[0].len);
	range(s, in, &sge[1].addr, &sge[1].key, &sge[1].len);
	if (s->datagrams)
		what |= 6;
	switch (what & 7) {
	case 0:
	case 1:
		th_rdma2(qp, opcodes[what & 1], GDA_MLX5_CE_ALWAYS, sge, s->mr[REMOTE], 0);
		break;
	case 2:
	case 3:
		th_atomic(qp, opcodes[what & 3], GDA_MLX5_CE_ALWAYS, s->mr[LOCAL], 0,
			  s->mr[REMOTE], take8(in), take64(in), take64(in));
		break;
	case 4:
		th_inline(qp, 0, in->p, (u32)(in->left < 44 ? in->left : 44), s->mr[REMOTE], 0);
		break;
	case 5:
		th_nop(qp, 0);
		break;
	default:
		if (s->datagrams && what & 0x40) {
			throw(s, in, sge);
			break;
		}
		if ((what & 7) == 6 && s->rq) {
			th_send(qp, take8(in), sge, take8(in) % 3);
			break;
		}
		take(in, slot, GDA_MLX5_SLOT_BYTES);
		word = (u32)(index & 0xffff) << 8 | take8(in);
		th_ctrl(qp, index)->opmod_idx_opcode = gda_be32(word);
		th_ctrl(qp, index)->qpn_ds = gda_be32(TH_QPN << 8 | take8(in) % 8);
		qp->next++;
		break;
	}
	/* ... and its remote address as it came, and any byte of it changed */
	if (what & 0x08) {
		struct gda_mlx5_raddr *r = (void *)(slot + 16);

		r->raddr = gda_be64(remote.addr);
		r->rkey = gda_be32(remote.key);
	}
	if (what & 0x10)
		slot[take8(in) % GDA_MLX5_SLOT_BYTES] ^= take8(in);
}

/* The peer's side: a receive, good or not, a link or a record of any value. */
static void receive(struct scene *s, struct input *in, u8 what)
{
	struct gda_sge to[3];
	u32 i;

	if (what & 0x20) {
		s->rq->record = gda_be32(take32(in));
		return;
	}
	if (what & 0x10) {
		take(in, th_rq_entry(s->rq, take8(in) & 3), 16);
		return;
	}
	for (i = 0; i < 3; i++)
		range(s, in, &to[i].addr, &to[i].key, &to[i].len);
	s->rq->head &= 3;
	th_rq_post(s->rq, to, what & 3);
	if (what & 8)
		gda_engine_visit(&s->b->q, 1 + (what & 3), 1);
}

static void step(struct scene *s, struct input *in)
{
	struct th_qp *qp = s->a;
	u8 what = take8(in);
	u32 wqes, bytes, did;

	switch (what & 7) {
	case 0:
	case 1:
	case 2:
		post(s, in);
		th_ring(qp);
		break;
	case 3:
		th_ring_db(qp, qp->next + (int8_t)take8(in));
		break;
	case 4:
		qp->db = gda_be64(take64(in));
		break;
	case 5:
		qp->dbrec[1] = gda_be32(take32(in));
		break;
	case 6:
		qp->consumer = gda_be32(what & 0x80 ? take32(in) : (u32)qp->cq.producer);
		break;
	default:
		wqes = take8(in);
		if (s->rq && wqes & 0x80)
			receive(s, in, (u8)wqes);
		else
			s->mr[wqes % MRS]->mem.state = GDA_MR_REVOKED;
		break;
	}
	wqes = 1 + (what >> 3 & 7);
	bytes = what & 0x40 ? BYTES : 1U + take8(in);
	did = gda_engine_visit(&qp->q, wqes, bytes);
	HOLDS(did <= wqes + 1);
	HOLDS(qp->q.rnr_tries <= qp->q.rnr_retry);
	HOLDS(qp->q.ci <= qp->q.pi && qp->q.pi <= qp->q.ci + DEPTH);
}

static bool untouched(const struct th_mr *mr)
{
	for (u32 k = 0; k < mr->npages; k++)
		for (u32 i = 0; i < 1U << SHIFT; i++)
			if (mr->pages[k][i] != CANARY)
				return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct scene s;

	scene_open(&s, take8(&in));
	for (int i = 0; i < 64 && in.left; i++)
		step(&s, &in);
	for (u32 i = READ_ONLY; i < MRS; i++)
		HOLDS(untouched(s.mr[i]));
	/* The neighbour has lost its peer at most; its own queue is as good as before. */
	th_nop(s.b, GDA_MLX5_CE_ALWAYS);
	th_ring(s.b);
	th_run(s.b);
	HOLDS(s.b->q.ci == 1 && s.b->q.pi == 1);
	scene_close(&s);
	return 0;
}

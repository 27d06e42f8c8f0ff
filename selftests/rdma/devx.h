/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * DEVX of gda0 by libmlx5, for tests: commands as bytes, and an endpoint (a CQ and a QP in umems)
 * made by them, that is posted to and polled by hand.
 *
 * Fields are named by their first bit, as the mlx5 programmer's manual and the kernel's mlx5_ifc.h
 * have them.
 */
#ifndef DEVX_H
#define DEVX_H

#include <endian.h>
#include <infiniband/mlx5dv.h>
#include <stdbool.h>

#include "rc.h"

#define DEVX_DEPTH	64
#define DEVX_SHORT	16	/* bytes of most answers, and of the shortest commands */
#define DEVX_LONG	272	/* of commands with a context */

enum {
	DEVX_QUERY_HCA_CAP = 0x100,
	DEVX_CREATE_CQ = 0x400,
	DEVX_CREATE_QP = 0x500,
	DEVX_RST2INIT = 0x502,
	DEVX_INIT2RTR = 0x503,
	DEVX_RTR2RTS = 0x504,
	DEVX_RTS2RTS = 0x505,
	DEVX_2ERR = 0x507,
	DEVX_2RST = 0x50a,
	DEVX_QUERY_QP = 0x50b,
	DEVX_INIT2INIT = 0x50e,
	DEVX_QUERY_NIC_VPORT = 0x754,
	DEVX_QUERY_HCA_VPORT = 0x762,
};

/* Statuses. */
enum {
	DEVX_BAD_OP = 0x2,
	DEVX_BAD_PARAM = 0x3,
	DEVX_BAD_RES = 0x5,
	DEVX_BUSY = 0x6,
	DEVX_BAD_QP_STATE = 0x10,
	DEVX_BAD_IN = 0x50,
	DEVX_BAD_OUT = 0x51,
};

/* First bits: of the command; of a CQ's context; of a QP's, in commands and in QUERY_QP's answer. */
#define DEVX_NUMBER	0x48
#define DEVX_OPT	0x80
#define DEVX_CQC(bit)	(0x80 + (bit))
#define DEVX_QPC(bit)	(0xc0 + (bit))
#define DEVX_PATH(bit)	DEVX_QPC(0xc0 + (bit))

struct devx_ep {
	struct ibv_context *verbs;
	struct mlx5dv_devx_umem *umem[4];	/* CQ, its record, queue, its record */
	struct mlx5dv_devx_obj *cq, *qp;
	struct mlx5dv_devx_uar *uar;
	uint8_t *memory;		/* of all umems */
	volatile uint8_t *cqe;
	uint8_t *sq;
	volatile uint32_t *record;
	uint32_t cqn, qpn;
	uint32_t pi, ci;
	uint8_t status;			/* of the last command */
	bool blueflame;
};

/* How an endpoint is made. */
struct devx_shape {
	bool one_umem;			/* queue and record in one, at an offset */
	bool blueflame;
	uint32_t pdn;
	uint32_t srqn, recv_cqn;	/* or 0 */
	uint32_t user_index;
	uint32_t page_id;		/* in place of the UAR's, or 0 */
};

static inline void devx_set(void *p, uint32_t bit, uint32_t width, uint64_t value)
{
	uint8_t *bytes = p;

	for (uint32_t i = 0; i < width; i++) {
		uint32_t at = bit + width - 1 - i;
		uint8_t mask = (uint8_t)(0x80 >> at % 8);

		bytes[at / 8] = (uint8_t)((bytes[at / 8] & ~mask) | (value >> i & 1 ? mask : 0));
	}
}

static inline uint64_t devx_get(const void *p, uint32_t bit, uint32_t width)
{
	const uint8_t *bytes = p;
	uint64_t value = 0;

	for (uint32_t at = bit; at < bit + width; at++)
		value = value << 1 | (bytes[at / 8] >> (7 - at % 8) & 1);
	return value;
}

static inline void devx_begin(void *in, uint16_t opcode, size_t size)
{
	memset(in, 0, size);
	devx_set(in, 0, 16, opcode);
}

static inline struct ibv_context *devx_device(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *verbs = NULL;

	for (int i = 0; list && list[i] && !verbs; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "gda0") && mlx5dv_is_supported(list[i]))
			verbs = mlx5dv_open_device(list[i], &attr);
	if (list)
		ibv_free_device_list(list);
	return verbs;
}

static inline uint32_t devx_pdn(struct ibv_pd *pd)
{
	struct mlx5dv_pd dv = { 0 };
	struct mlx5dv_obj obj = { .pd = { .in = pd, .out = &dv } };

	return mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD) ? 0 : dv.pdn;
}

/* CREATE_CQ: collapsed, overrun ignored. */
static inline void devx_cq_command(const struct devx_ep *ep, uint32_t page_id, void *in)
{
	uint32_t eqn = 0;

	mlx5dv_devx_query_eqn(ep->verbs, 0, &eqn);
	devx_begin(in, DEVX_CREATE_CQ, DEVX_LONG);
	devx_set(in, DEVX_CQC(0x6), 1, 1);
	devx_set(in, DEVX_CQC(0xb), 1, 1);
	devx_set(in, DEVX_CQC(0xe), 1, 1);
	devx_set(in, DEVX_CQC(0x20), 32, ep->umem[1]->umem_id);
	devx_set(in, DEVX_CQC(0x63), 5, 6);
	devx_set(in, DEVX_CQC(0x68), 24, page_id);
	devx_set(in, DEVX_CQC(0xa0), 32, eqn);
	devx_set(in, 0x2c0, 32, ep->umem[0]->umem_id);
	devx_set(in, 0x2e0, 1, 1);
}

static inline void devx_qp_command(const struct devx_ep *ep, const struct devx_shape *shape,
				   uint32_t page_id, void *in)
{
	devx_begin(in, DEVX_CREATE_QP, DEVX_LONG);
	devx_set(in, DEVX_QPC(0x13), 2, 3);
	devx_set(in, DEVX_QPC(0x28), 24, shape->pdn);
	devx_set(in, DEVX_QPC(0x51), 4, 6);
	devx_set(in, DEVX_QPC(0x68), 24, page_id);
	devx_set(in, DEVX_QPC(0x88), 24, shape->user_index);
	devx_set(in, DEVX_QPC(0x3e8), 24, ep->cqn);
	devx_set(in, DEVX_QPC(0x4e8), 24, shape->recv_cqn);
	devx_set(in, DEVX_QPC(0x500), 64, shape->one_umem ? 4096 : 0);
	devx_set(in, DEVX_QPC(0x565), 3, shape->srqn ? 1 : 3);
	devx_set(in, DEVX_QPC(0x568), 24, shape->srqn);
	devx_set(in, DEVX_QPC(0x683), 1, 1);
	devx_set(in, DEVX_QPC(0x720), 32, ep->umem[shape->one_umem ? 2 : 3]->umem_id);
	devx_set(in, 0x840, 32, ep->umem[2]->umem_id);
	devx_set(in, 0x860, 1, 1);
}

static inline struct mlx5dv_devx_obj *devx_create(struct devx_ep *ep, const void *in,
						  uint32_t *number)
{
	uint8_t out[DEVX_SHORT] = { 0 };
	struct mlx5dv_devx_obj *obj = mlx5dv_devx_obj_create(ep->verbs, in, DEVX_LONG, out,
							     sizeof(out));

	ep->status = out[0];
	*number = (uint32_t)devx_get(out, DEVX_NUMBER, 24);
	return obj;
}

static inline int devx_close(struct devx_ep *ep)
{
	int ret = 0;

	if (ep->qp)
		ret |= mlx5dv_devx_obj_destroy(ep->qp);
	if (ep->cq)
		ret |= mlx5dv_devx_obj_destroy(ep->cq);
	if (ep->uar)
		mlx5dv_devx_free_uar(ep->uar);
	for (int i = 0; i < 4; i++)
		if (ep->umem[i])
			ret |= mlx5dv_devx_umem_dereg(ep->umem[i]);
	free(ep->memory);
	memset(ep, 0, sizeof(*ep));
	return ret;
}

/* A page each for the CQ and the records, and the queue's in front of its record. */
static inline int devx_umems(struct devx_ep *ep, const struct devx_shape *shape)
{
	static const uint32_t at[] = { 0, 4096, 8192, 12288 };
	int n = shape->one_umem ? 3 : 4;

	ep->memory = aligned_alloc(4096, 16384);
	if (!ep->memory)
		return -1;
	memset(ep->memory, 0, 16384);
	memset(ep->memory, 0xff, 4096);
	ep->cqe = ep->memory;
	ep->sq = ep->memory + at[2];
	ep->record = (volatile uint32_t *)(ep->memory + at[3]);
	for (int i = 0; i < n; i++) {
		uint32_t bytes = shape->one_umem && i == 2 ? 8192 : 4096;

		ep->umem[i] = mlx5dv_devx_umem_reg(ep->verbs, ep->memory + at[i], bytes,
						   shape->one_umem ? 0 : IBV_ACCESS_LOCAL_WRITE);
		if (!ep->umem[i])
			return -1;
	}
	return 0;
}

/* On failure devx_close() undoes it. */
static inline int devx_open(struct devx_ep *ep, struct ibv_context *verbs,
			    const struct devx_shape *shape)
{
	uint8_t in[DEVX_LONG];
	uint32_t page_id;

	memset(ep, 0, sizeof(*ep));
	ep->verbs = verbs;
	ep->blueflame = shape->blueflame;
	ep->uar = mlx5dv_devx_alloc_uar(verbs, shape->blueflame ? MLX5DV_UAR_ALLOC_TYPE_BF :
					MLX5DV_UAR_ALLOC_TYPE_NC);
	if (!ep->uar || devx_umems(ep, shape))
		return -1;
	page_id = shape->page_id ? shape->page_id : ep->uar->page_id;
	devx_cq_command(ep, page_id, in);
	ep->cq = devx_create(ep, in, &ep->cqn);
	if (!ep->cq)
		return -2;
	devx_qp_command(ep, shape, page_id, in);
	ep->qp = devx_create(ep, in, &ep->qpn);
	return ep->qp ? 0 : -3;
}

static inline int devx_modify(struct devx_ep *ep, uint8_t *in)
{
	uint8_t out[DEVX_SHORT] = { 0 };
	bool shorter = devx_get(in, 0, 16) == DEVX_2ERR || devx_get(in, 0, 16) == DEVX_2RST;
	int ret;

	devx_set(in, DEVX_NUMBER, 24, ep->qpn);
	ret = mlx5dv_devx_obj_modify(ep->qp, in, shorter ? DEVX_SHORT : DEVX_LONG, out,
				     sizeof(out));
	ep->status = out[0];
	return ret;
}

static inline int devx_init(struct devx_ep *ep)
{
	uint8_t in[DEVX_LONG];

	devx_begin(in, DEVX_RST2INIT, sizeof(in));
	devx_set(in, DEVX_PATH(0x128), 8, 1);
	devx_set(in, DEVX_QPC(0x490), 3, 7);
	devx_set(in, DEVX_QPC(0x48c), 4, 3);
	return devx_modify(ep, in);
}

static inline int devx_rtr(struct devx_ep *ep, uint32_t number)
{
	uint8_t in[DEVX_LONG];

	devx_begin(in, DEVX_INIT2RTR, sizeof(in));
	devx_set(in, DEVX_QPC(0x40), 3, IBV_MTU_4096);
	devx_set(in, DEVX_QPC(0x43), 5, 30);
	devx_set(in, DEVX_QPC(0xa8), 24, number);
	devx_set(in, DEVX_PATH(0x30), 16, 1);
	devx_set(in, DEVX_QPC(0x488), 3, 4);
	devx_set(in, DEVX_QPC(0x4a3), 5, 12);
	return devx_modify(ep, in);
}

static inline int devx_rts(struct devx_ep *ep)
{
	uint8_t in[DEVX_LONG];

	devx_begin(in, DEVX_RTR2RTS, sizeof(in));
	devx_set(in, DEVX_QPC(0x388), 3, 4);
	devx_set(in, DEVX_QPC(0x38d), 3, 7);
	devx_set(in, DEVX_QPC(0x390), 3, 7);
	devx_set(in, DEVX_PATH(0x40), 5, 14);
	return devx_modify(ep, in);
}

static inline int devx_connect(struct devx_ep *ep, uint32_t number)
{
	return devx_init(ep) ? -1 : devx_rtr(ep, number) ? -2 : devx_rts(ep) ? -3 : 0;
}

static inline int devx_to(struct devx_ep *ep, uint16_t opcode)
{
	uint8_t in[DEVX_SHORT];

	devx_begin(in, opcode, sizeof(in));
	return devx_modify(ep, in);
}

/* The queue begins anew, and its producer and its entry have to, too: that of index 15 looks alike. */
static inline int devx_reset(struct devx_ep *ep)
{
	int ret = devx_to(ep, DEVX_2RST);

	memset(ep->memory, 0xff, 64);
	ep->pi = 0;
	ep->ci = 0;
	return ret;
}

static inline int devx_state(struct devx_ep *ep)
{
	uint8_t in[DEVX_SHORT], out[DEVX_LONG] = { 0 };

	devx_begin(in, DEVX_QUERY_QP, sizeof(in));
	devx_set(in, DEVX_NUMBER, 24, ep->qpn);
	return mlx5dv_devx_obj_query(ep->qp, in, sizeof(in), out, sizeof(out)) ? -1 :
	       (int)devx_get(out, DEVX_QPC(0), 4);
}

/* What a write moves. */
struct devx_write {
	const void *from;
	uint32_t lkey;
	uint64_t to;
	uint32_t rkey;
	uint32_t bytes;
};

/* One entry of a write, which asks for a completion; it is not published. */
static inline void devx_put(struct devx_ep *ep, const struct devx_write *w)
{
	uint32_t words[16] = { 0 };
	uint8_t *slot = ep->sq + ep->pi % DEVX_DEPTH * 64;

	words[0] = htobe32((ep->pi & 0xffff) << 8 | 8);
	words[1] = htobe32(ep->qpn << 8 | 3);
	words[2] = htobe32(8);
	words[4] = htobe32((uint32_t)(w->to >> 32));
	words[5] = htobe32((uint32_t)w->to);
	words[6] = htobe32(w->rkey);
	words[8] = htobe32(w->bytes);
	words[9] = htobe32(w->lkey);
	words[10] = htobe32((uint32_t)((uintptr_t)w->from >> 32));
	words[11] = htobe32((uint32_t)(uintptr_t)w->from);
	memcpy(slot, words, sizeof(words));
	ep->pi++;
}

/* The record, then the doorbell: 8 bytes, or the last entry whole. */
static inline void devx_ring(struct devx_ep *ep)
{
	const uint64_t *last = (const uint64_t *)(ep->sq + (ep->pi - 1) % DEVX_DEPTH * 64);
	volatile uint64_t *reg = ep->uar->reg_addr;

	__atomic_store_n(ep->record + 1, htobe32(ep->pi & 0xffff), __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (int i = 0; i < (ep->blueflame ? 8 : 1); i++)
		reg[i] = last[i];
}

/* Wait until all is complete. Return: 0; the syndrome of an error; -1: @ms are over. */
static inline int devx_wait(struct devx_ep *ep, uint64_t ms)
{
	uint64_t end = rc_ms() + ms;
	uint32_t n = 0;

	for (;;) {
		uint32_t tail = be32toh(__atomic_load_n((const uint32_t *)(ep->cqe + 60),
							__ATOMIC_ACQUIRE));
		uint32_t op = tail >> 4 & 0xf;

		if (op == 13)
			return ep->cqe[55];
		if (op == 0 && (tail >> 16) == ((ep->pi - 1) & 0xffff))
			break;
		if (++n % 1024 == 0 && rc_ms() > end)
			return -1;
	}
	ep->ci = ep->pi;
	return 0;
}

#define DEVX_BATCH	16
#define DEVX_CELL	64

/* Two endpoints of a context, whose memory is the first's and the second's halves of rc.memory. */
struct devx_pair {
	struct rc rc;
	struct devx_shape shape;
	struct devx_ep a, b;
};

/* Of a context that is open, and a shape. */
static inline int devx_pair_open(struct devx_pair *pair)
{
	int ret = devx_open(&pair->a, pair->rc.verbs, &pair->shape);

	return ret ? ret : devx_open(&pair->b, pair->rc.verbs, &pair->shape);
}

static inline int devx_join(struct devx_pair *pair)
{
	return devx_connect(&pair->a, pair->b.qpn) | devx_connect(&pair->b, pair->a.qpn);
}

/*
 * Write @n cells, DEVX_BATCH at a time, and look at each byte that arrives. Return: wrong bytes; -1
 * if they do not complete.
 */
static inline int devx_cells(struct devx_pair *pair, struct devx_ep *ep, uint32_t n)
{
	uint8_t *from = pair->rc.memory, *to = from + RC_BYTES / 2;
	struct devx_write w = { .bytes = DEVX_CELL, .lkey = pair->rc.mr->lkey,
				.rkey = pair->rc.mr->rkey };
	int wrong = 0;

	for (uint32_t done = 0; done < n; done += DEVX_BATCH) {
		for (uint32_t i = 0; i < DEVX_BATCH * DEVX_CELL / 4; i++)
			((uint32_t *)from)[i] = done * 2654435761U + i;
		for (uint32_t i = 0; i < DEVX_BATCH; i++) {
			w.from = from + i * DEVX_CELL;
			w.to = (uintptr_t)to + i * DEVX_CELL;
			devx_put(ep, &w);
		}
		devx_ring(ep);
		if (devx_wait(ep, 20000))
			return -1;
		for (uint32_t i = 0; i < DEVX_BATCH * DEVX_CELL; i++)
			wrong += from[i] != to[i];
	}
	return wrong;
}

#endif /* DEVX_H */

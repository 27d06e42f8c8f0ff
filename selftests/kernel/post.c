// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Raw work requests and completions for the kernel selftests, of the mlx5 dialect; those of efa are
 * in post_efa.c.
 */
#include <sched.h>
#include "efa_queue.h"

struct t_wr t_wr_write(const struct t_mr *src, uint64_t src_off,
		       const struct t_mr *dst, uint64_t dst_off, uint32_t len)
{
	struct t_wr wr = {
		.opcode = GDA_MLX5_WRITE,
		.raddr = dst->iova + dst_off,
		.rkey = dst->key,
		.nsge = 1,
	};

	wr.sge[0].addr = src->iova + src_off;
	wr.sge[0].lkey = src->key;
	wr.sge[0].len = len;
	return wr;
}

struct t_wr t_wr_read(const struct t_mr *to, uint64_t to_off,
		      const struct t_mr *from, uint64_t from_off, uint32_t len)
{
	struct t_wr wr = t_wr_write(to, to_off, from, from_off, len);

	wr.opcode = GDA_MLX5_READ;
	return wr;
}

struct t_wr t_wr_atomic(uint8_t opcode, const struct t_mr *result, uint64_t result_off,
			const struct t_mr *target, uint64_t target_off,
			uint64_t swap_add, uint64_t compare)
{
	struct t_wr wr = t_wr_write(result, result_off, target, target_off, 8);

	wr.opcode = opcode;
	wr.swap_add = swap_add;
	wr.compare = compare;
	return wr;
}

static bool t_is_atomic(uint8_t opcode)
{
	return opcode == GDA_MLX5_ATOMIC_FA || opcode == GDA_MLX5_ATOMIC_CS;
}

static uint8_t *t_encode_masked(uint8_t *seg, const struct t_wr *wr)
{
	if (wr->sge[0].len == 4) {
		gda_mlx5_set_masked4((void *)seg, (uint32_t)wr->swap_add,
				     (uint32_t)wr->compare, (uint32_t)wr->swap_mask,
				     (uint32_t)wr->compare_mask);
		return seg + GDA_MLX5_SEG_BYTES;
	}
	gda_mlx5_set_masked8((void *)seg, wr->swap_add, wr->compare);
	seg += GDA_MLX5_SEG_BYTES;
	if (wr->opcode == GDA_MLX5_MASKED_FA)
		return seg;
	gda_mlx5_set_masked8((void *)seg, wr->swap_mask, wr->compare_mask);
	return seg + GDA_MLX5_SEG_BYTES;
}

/* Segments behind control and remote address; returns their end. */
static uint8_t *t_encode_tail(uint8_t *seg, const struct t_wr *wr)
{
	if (wr->opcode == GDA_MLX5_MASKED_FA || wr->opcode == GDA_MLX5_MASKED_CS)
		seg = t_encode_masked(seg, wr);
	if (t_is_atomic(wr->opcode)) {
		gda_mlx5_set_atomic((void *)seg, wr->swap_add, wr->compare);
		seg += GDA_MLX5_SEG_BYTES;
	}
	if (wr->data) {
		struct gda_mlx5_inline *in = (void *)seg;
		size_t bytes = 4 + wr->data_len;

		in->byte_count = gda_be32(wr->data_len | GDA_MLX5_INLINE);
		memcpy(seg + 4, wr->data, wr->data_len);
		seg += (bytes + 15) / 16 * 16;
	}
	for (unsigned int i = 0; i < wr->nsge; i++) {
		gda_mlx5_set_data((void *)seg, wr->sge[i].addr, wr->sge[i].lkey,
				  wr->sge[i].len);
		seg += GDA_MLX5_SEG_BYTES;
	}
	return seg;
}

unsigned int t_encode(uint8_t wqe[T_WQE_MAX], const struct t_wr *wr, uint64_t index,
		      uint32_t qpn)
{
	uint8_t ce = wr->ce == 0xff ? GDA_MLX5_CE_ERROR :
		     wr->ce ? wr->ce : GDA_MLX5_CE_ALWAYS;
	uint8_t *end = wqe + GDA_MLX5_SEG_BYTES;
	unsigned int ds;

	memset(wqe, 0, T_WQE_MAX);
	if (wr->opcode != GDA_MLX5_NOP && wr->opcode != GDA_MLX5_DUMP) {
		gda_mlx5_set_raddr((void *)end, wr->raddr, wr->rkey);
		end += GDA_MLX5_SEG_BYTES;
	}
	if (wr->opcode != GDA_MLX5_NOP)
		end = t_encode_tail(end, wr);
	ds = (unsigned int)(end - wqe) / GDA_MLX5_SEG_BYTES;
	gda_mlx5_set_ctrl((void *)wqe, index, wr->opcode | (uint32_t)wr->opmod << 24,
			  qpn, ds, ce, wr->imm);
	return ds;
}

uint64_t t_post_raw(struct t_qp *qp, const void *wqe, unsigned int slots)
{
	const uint8_t *from = wqe;
	uint64_t index = qp->next;

	for (unsigned int i = 0; i < slots; i++, from += GDA_MLX5_SLOT_BYTES)
		memcpy(qp->sq + (qp->next++ & (qp->depth - 1)) * GDA_MLX5_SLOT_BYTES,
		       from, GDA_MLX5_SLOT_BYTES);
	return index;
}

uint64_t t_post(struct t_qp *qp, const struct t_wr *wr)
{
	uint8_t wqe[T_WQE_MAX];
	unsigned int ds;

	if (t_is_efa(qp))
		return t_post_efa(qp, wr);
	ds = t_encode(wqe, wr, qp->next, qp->qpc.qpn);
	return t_post_raw(qp, wqe, t_slots(ds));
}

/* The doorbell of efa, which has no record. */
static volatile uint32_t *t_efa_db(const struct t_qp *qp)
{
	return (volatile uint32_t *)(volatile void *)qp->db;
}

void t_ring_index(struct t_qp *qp, uint64_t next)
{
	if (t_is_efa(qp)) {
		__atomic_store_n(t_efa_db(qp), (uint32_t)next, __ATOMIC_RELEASE);
		return;
	}
	__atomic_store_n(&qp->dbrec[1], gda_mlx5_dbrec(next), __ATOMIC_RELEASE);
	__atomic_store_n(qp->db, gda_mlx5_doorbell(next, qp->qpc.qpn), __ATOMIC_RELEASE);
}

size_t t_doorbell(const struct t_qp *qp, uint8_t value[8])
{
	const uint32_t next = (uint32_t)qp->next;
	const __be64 db = gda_mlx5_doorbell(qp->next, qp->qpc.qpn);

	if (t_is_efa(qp))
		memcpy(value, &next, sizeof(next));
	else
		memcpy(value, &db, sizeof(db));
	return t_is_efa(qp) ? sizeof(next) : sizeof(db);
}

void t_ring(struct t_qp *qp)
{
	t_ring_index(qp, qp->next);
}

void t_ring_exchange(struct t_qp *qp)
{
	if (t_is_efa(qp)) {
		__atomic_exchange_n(t_efa_db(qp), (uint32_t)qp->next, __ATOMIC_ACQ_REL);
		return;
	}
	__atomic_store_n(&qp->dbrec[1], gda_mlx5_dbrec(qp->next), __ATOMIC_RELEASE);
	__atomic_exchange_n(qp->db, gda_mlx5_doorbell(qp->next, qp->qpc.qpn), __ATOMIC_ACQ_REL);
}

uint64_t t_traffic(struct t_qp *qp, const struct t_mr *mem, const struct t_mr *mr, bool read)
{
	struct t_wr wr = read ? t_wr_read(mr, 0, mem, 0, (uint32_t)mr->len) :
				t_wr_write(mem, 0, mr, 0, (uint32_t)mr->len);
	uint64_t last = 0;

	for (uint32_t i = 0; i < qp->depth; i++)
		last = t_post(qp, &wr);
	t_ring(qp);
	return last;
}

static bool t_poll_mlx5(const struct t_qp *qp, uint64_t index, struct t_done *done)
{
	const volatile uint32_t *last = (const volatile uint32_t *)(qp->cqe + 60);
	uint32_t before = __atomic_load_n(last, __ATOMIC_ACQUIRE);
	const struct gda_mlx5_err_cqe *err = (const void *)done->raw;
	uint8_t opcode = before >> 28;

	if (opcode == GDA_MLX5_CQE_INVALID)
		return false;
	do {
		before = __atomic_load_n(last, __ATOMIC_ACQUIRE);
		for (int i = 0; i < 60; i++)
			done->raw[i] = qp->cqe[i];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (before != __atomic_load_n(last, __ATOMIC_RELAXED));
	memcpy(done->raw + 60, &before, 4);

	opcode = before >> 28;
	done->counter = (uint16_t)(done->raw[60] << 8 | done->raw[61]);
	done->error = opcode != GDA_MLX5_CQE_REQ;
	done->syndrome = done->error ? err->syndrome : 0;
	done->vendor = done->error ? err->vendor_err_synd : 0;
	done->first_syndrome = done->error ? err->first_syndrome : 0;
	done->first_vendor = done->error ? err->first_vendor : 0;
	done->first_error = done->error ? gda_be64_to_cpu(err->first_error) : 0;
	return (uint16_t)(done->counter - (uint16_t)index) < 0x8000;
}

bool t_poll(const struct t_qp *qp, uint64_t index, struct t_done *done)
{
	return t_is_efa(qp) ? t_poll_efa(qp, index, done) : t_poll_mlx5(qp, index, done);
}

int t_wait_ns(const struct t_qp *qp, uint64_t index, uint64_t ns, struct t_done *done)
{
	uint64_t end = t_now() + ns;
	struct t_done local;

	if (!done)
		done = &local;
	while (!t_poll(qp, index, done)) {
		if (t_now() > end)
			return -ETIMEDOUT;
		sched_yield();
	}
	return done->error ? (done->syndrome ? done->syndrome : 0xff) : 0;
}

int t_wait(const struct t_qp *qp, uint64_t index, struct t_done *done)
{
	return t_wait_ns(qp, index, T_WAIT_NS, done);
}

bool t_cq_ring_poll(struct t_cq_ring *ring, void *cqe)
{
	uint32_t depth = ring->cq.depth;
	const uint8_t *e = ring->entries + ring->seen % depth * 64;
	uint8_t own = __atomic_load_n(&e[63], __ATOMIC_ACQUIRE);

	if (own >> 4 == GDA_MLX5_CQE_INVALID || (own & 1) != !!(ring->seen & depth))
		return false;
	memcpy(cqe, e, 64);
	ring->seen++;
	__atomic_store_n(ring->consumer, gda_be32((uint32_t)ring->seen & 0xffffff),
			 __ATOMIC_RELEASE);
	return true;
}

int t_cq_ring_wait(struct t_cq_ring *ring, void *cqe)
{
	uint64_t end = t_now() + T_WAIT_NS;

	while (!t_cq_ring_poll(ring, cqe)) {
		if (t_now() > end)
			return -ETIMEDOUT;
		sched_yield();
	}
	return 0;
}

int t_wait_state(const struct t_qp *qp, uint32_t state, uint64_t ns)
{
	uint64_t end = t_now() + ns;
	struct gda_qp_query query;
	int err;

	for (;;) {
		err = t_qp_query(qp->fd, qp->qpc.handle, &query);
		if (err)
			return err;
		if (query.state != state)
			return (int)query.state;
		if (t_now() > end)
			return -ETIMEDOUT;
		sched_yield();
	}
}

int t_run(struct t_qp *qp, const struct t_wr *wr, struct t_done *done)
{
	uint64_t index = t_post(qp, wr);

	t_ring(qp);
	return t_wait(qp, index, done);
}

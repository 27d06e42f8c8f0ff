// SPDX-License-Identifier: MIT
/* The fake NIC, see fake_nic.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fake_nic.h"

static void *fake_alloc(size_t bytes)
{
	void *p = aligned_alloc(128, (bytes + 127) & ~(size_t)127);

	if (!p) {
		perror("fake_nic: memory");
		exit(1);
	}
	memset(p, 0, (bytes + 127) & ~(size_t)127);
	return p;
}

struct fake_queue *fake_queue_new(uint32_t depth)
{
	struct fake_queue *q = fake_alloc(sizeof(*q));
	struct gda_view_attr attr = {
		.size = sizeof(attr),
		.dbrec = &q->dbrec[1], .db = &q->db, .cq = &q->cqe,
		.depth = depth, .qpn = FAKE_QPN, .timeout_ns = 20000000000U,
	};

	q->depth = depth;
	q->sq = fake_alloc((size_t)depth * 64);
	q->slots = fake_alloc(depth * sizeof(*q->slots));
	memset(&q->cqe, 0xff, sizeof(q->cqe));
	attr.sq = q->sq;
	attr.slots = q->slots;
	if (gda_view_init(&q->view, &attr)) {
		fprintf(stderr, "fake_nic: gda_view_init failed\n");
		exit(1);
	}
	return q;
}

void fake_queue_free(struct fake_queue *q)
{
	free(q->sq);
	free(q->slots);
	free(q);
}

/*
 * The cell and the record, the one that is followed with acquire order: each alone
 * must do for the entries. The record is stored first: it may be ahead for a moment,
 * never behind.
 */
static uint32_t fake_follow(const struct fake_queue *q, bool record_only)
{
	uint32_t cell, record;

	if (record_only)
		return gda_be32_to_cpu(__atomic_load_n(&q->dbrec[1], __ATOMIC_ACQUIRE));
	cell = gda_be64_to_cpu(__atomic_load_n(&q->db, __ATOMIC_ACQUIRE)) >> 40 & 0xffff;
	record = gda_be32_to_cpu(__atomic_load_n(&q->dbrec[1], __ATOMIC_RELAXED));
	return (uint16_t)(record - cell) < 0x8000 ? cell : 0x10000;
}

uint32_t fake_rung(const struct fake_queue *q)
{
	return fake_follow(q, false);
}

static uint32_t fake_last_word(uint64_t next, uint8_t opcode)
{
	return gda_be32((uint32_t)((next - 1) & 0xffff) << 16 | (uint32_t)opcode << 4);
}

void fake_complete(struct fake_queue *q, uint64_t next)
{
	__atomic_store_n((uint32_t *)&q->cqe.wqe_counter,
			 fake_last_word(next, GDA_MLX5_CQE_REQ), __ATOMIC_RELEASE);
}

static void fake_error(struct fake_queue *q, uint64_t next, uint64_t first,
		       const uint8_t bytes[4])
{
	struct gda_mlx5_err_cqe *e = (struct gda_mlx5_err_cqe *)&q->cqe;
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	__atomic_store_n((uint64_t *)&e->first_error, gda_be64(first), __ATOMIC_RELAXED);
	__atomic_store_n((uint32_t *)&e->first_syndrome, word, __ATOMIC_RELAXED);
	__atomic_store_n((uint32_t *)&q->cqe.wqe_counter,
			 fake_last_word(next, GDA_MLX5_CQE_REQ_ERR), __ATOMIC_RELEASE);
}

void fake_flushed(struct fake_queue *q, uint64_t next, uint64_t first, uint8_t syndrome,
		  uint8_t vendor)
{
	const uint8_t bytes[4] = { syndrome, vendor, 0, GDA_MLX5_SYND_WR_FLUSH };

	fake_error(q, next, first, bytes);
}

void fake_fail(struct fake_queue *q, uint64_t next, uint64_t first, uint8_t syndrome,
	       uint8_t vendor)
{
	const uint8_t bytes[4] = { syndrome, vendor, vendor, syndrome };

	if (next - 1 == first)
		fake_error(q, next, first, bytes);
	else
		fake_flushed(q, next, first, syndrome, vendor);
}

void fake_restart(struct fake_queue *q, uint64_t start)
{
	memset(&q->cqe, 0xff, sizeof(q->cqe));
	if (start)
		fake_complete(q, start);
	q->dbrec[1] = gda_mlx5_dbrec(start);
	q->db = gda_mlx5_doorbell(start, FAKE_QPN);
	q->view.reserved = start;
	q->view.completed = start;
	q->view.deferred = 0;
	q->view.flushed = 0;
	q->view.error_index = GDA_NO_ERROR;
	q->view.error = 0;
	gda_view_share(&q->view);
}

const uint8_t *fake_entry(const struct fake_queue *q, uint64_t index)
{
	return q->sq + (index & (q->depth - 1)) * 64;
}

static void fake_check(struct fake_nic *nic, uint8_t *entry)
{
	struct {
		struct gda_mlx5_ctrl ctrl;
		struct gda_mlx5_raddr raddr;
		struct gda_mlx5_data data;
	} e;
	uint64_t number;
	uint32_t poster, head;

	memcpy(&e, entry, sizeof(e));
	memset(entry, 0xee, GDA_MLX5_SLOT_BYTES);
	head = gda_be32_to_cpu(e.ctrl.opmod_idx_opcode);
	if ((head >> 8 & 0xffff) != (nic->consumed & 0xffff)) {
		nic->stale++;
		return;
	}
	if ((head & 0xff) == GDA_MLX5_NOP)
		return;
	poster = gda_be32_to_cpu(e.data.lkey);
	number = gda_be64_to_cpu(e.raddr.raddr);
	if (head >> 24 || (head & 0xff) != GDA_MLX5_WRITE ||
	    gda_be32_to_cpu(e.ctrl.qpn_ds) >> 8 != FAKE_QPN || poster >= FAKE_POSTERS ||
	    gda_be64_to_cpu(e.data.addr) != ~number ||
	    gda_be32_to_cpu(e.raddr.rkey) != poster * 0x9e3779b9U ||
	    gda_be32_to_cpu(e.data.byte_count) != ((poster ^ (uint32_t)number) & 0xffffff))
		nic->torn++;
	else if (number != nic->expected[poster])
		nic->order++;
	else
		nic->expected[poster]++;
}

static void fake_pause(void)
{
	int i;

	for (i = 0; i < 100; i++)
		gda_pause();
}

/* Take what the doorbell says; returns whether there was anything. */
static bool fake_visit(struct fake_nic *nic)
{
	struct fake_queue *q = nic->queue;
	uint32_t rung = fake_follow(q, nic->by_record);
	uint32_t more = (uint16_t)(rung - nic->consumed);

	if (rung == 0x10000 || more > q->depth) {
		/* behind: a doorbell went back; far ahead: the ring was lapped */
		if (rung == 0x10000 || more >= 0x8000)
			nic->backwards++;
		else
			nic->overrun++;
		return false;
	}
	if (!more)
		return false;
	nic->doorbells++;
	for (; more; more--) {
		fake_check(nic, q->sq + (nic->consumed & (q->depth - 1)) * 64);
		nic->consumed++;
		if (nic->seed) {
			nic->seed = nic->seed * 1664525 + 1013904223;
			if (nic->seed >> 24 < 64)
				fake_complete(q, nic->consumed);
			if (nic->seed >> 24 < 4)
				fake_pause();
		}
	}
	fake_complete(q, nic->consumed);
	return true;
}

static void *fake_nic_main(void *arg)
{
	struct fake_nic *nic = arg;

	while (!__atomic_load_n(&nic->stop, __ATOMIC_ACQUIRE))
		if (!fake_visit(nic))
			gda_pause();
	while (fake_visit(nic))
		;
	return NULL;
}

void fake_nic_start(struct fake_nic *nic, struct fake_queue *q, uint32_t seed)
{
	memset(nic, 0, sizeof(*nic));
	nic->queue = q;
	nic->seed = seed;
	nic->by_record = seed % 2;
	nic->consumed = q->view.reserved;
	if (pthread_create(&nic->thread, NULL, fake_nic_main, nic)) {
		perror("fake_nic: thread");
		exit(1);
	}
}

uint64_t fake_nic_stop(struct fake_nic *nic)
{
	__atomic_store_n(&nic->stop, 1, __ATOMIC_RELEASE);
	pthread_join(nic->thread, NULL);
	return nic->backwards + nic->overrun + nic->stale + nic->torn + nic->order;
}

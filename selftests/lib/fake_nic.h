/* SPDX-License-Identifier: MIT */
/*
 * A queue in plain memory and, if wanted, a thread that consumes it as a NIC would,
 * checking every entry: that the doorbell never goes back and never covers a slot
 * that is not written, that nothing is lost, posted twice, stale or torn.
 *
 * Entries of fake_post() say who posted them and which of the poster's they are, in
 * fields that must agree with each other. Consumed entries are overwritten, so that
 * none can be taken for new twice.
 */
#ifndef GDA_FAKE_NIC_H
#define GDA_FAKE_NIC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <gda/fastpath.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_POSTERS	4096
#define FAKE_QPN	0x123456

struct fake_queue {
	struct gda_view view;
	struct gda_mlx5_cqe cqe;	/* 64 bytes, behind a multiple of them */
	uint64_t db;
	uint32_t dbrec[2];
	uint8_t *sq;
	uint32_t *slots;
	uint32_t depth;
};

/* A fresh queue, preset as the kernel does. Ends the test program without memory. */
struct fake_queue *fake_queue_new(uint32_t depth);
void fake_queue_free(struct fake_queue *q);

/* Next index as the doorbell says, its low 16 bits; the record must agree. */
uint32_t fake_rung(const struct fake_queue *q);

/* The 16 bits in the CQ. */
static inline uint16_t fake_counter(const struct fake_queue *q)
{
	return (uint16_t)(gda_be32_to_cpu(q->cqe.wqe_counter) >> 16);
}

/* Everything below @next, which is beyond what completed before, is done. */
void fake_complete(struct fake_queue *q, uint64_t next);

/* The entry at @next - 1 is done, with an error; the queue's first was @first. */
void fake_fail(struct fake_queue *q, uint64_t next, uint64_t first, uint8_t syndrome,
	       uint8_t vendor);
/* The same, and it is flushed even if it is the first. */
void fake_flushed(struct fake_queue *q, uint64_t next, uint64_t first, uint8_t syndrome,
		  uint8_t vendor);

/* Start all over at index @start, nothing posted. */
void fake_restart(struct fake_queue *q, uint64_t start);

const uint8_t *fake_entry(const struct fake_queue *q, uint64_t index);

struct fake_nic {
	struct fake_queue *queue;
	pthread_t thread;
	uint32_t seed;		/* of its pauses; 0: none */
	bool by_record;		/* follows the record, not the doorbell; by odd seeds */
	int stop;
	uint64_t consumed;
	uint64_t expected[FAKE_POSTERS];	/* next number of each poster */
	uint64_t doorbells;			/* times new work was seen */
	/* what must stay 0 */
	uint64_t backwards;
	uint64_t overrun;
	uint64_t stale;
	uint64_t torn;
	uint64_t order;
};

void fake_nic_start(struct fake_nic *nic, struct fake_queue *q, uint32_t seed);
/* Consume what is rung, then end. Returns the sum of what must stay 0. */
uint64_t fake_nic_stop(struct fake_nic *nic);

/* A put that says: the @number-th of @poster. */
GDA_HELPER int64_t fake_post(struct gda_view *v, uint32_t poster, uint64_t number,
			     unsigned int flags)
{
	return gda_put(v, ~number, poster, number, poster * 0x9e3779b9U,
		       (poster ^ (uint32_t)number) & 0xffffff, flags);
}

#ifdef __cplusplus
}
#endif

#endif /* GDA_FAKE_NIC_H */

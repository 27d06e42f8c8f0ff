/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A queue of the efa dialect, driven by the vendor's device library alone (efa-dp-direct, as NCCL's
 * package has it), on a CPU, or, where CUDA's compiler has compiled it, by one thread of a GPU. Nothing
 * here knows what its entries look like.
 */
#ifndef GDA_VENDORS_EFA_CUDA_H
#define GDA_VENDORS_EFA_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EFA_CUDA_BATCH	15		/* most requests of one doorbell */
#define EFA_CUDA_INLINE	80

struct efa_cuda;

/* The properties of a queue that a producer has to know. */
struct efa_cuda_attr {
	void *sq;
	uint32_t sq_depth;
	uint32_t sq_entry;		/* bytes */
	volatile uint32_t *db;
	void *cq;
	uint32_t cq_depth;
	uint32_t cq_stride;
};

struct efa_cuda_wr {
	uint64_t id;
	bool read;
	bool has_imm;
	bool hint;
	uint32_t imm;
	uint64_t raddr;
	uint32_t rkey;
	bool inlined;
	uint8_t data[EFA_CUDA_INLINE];	/* that is inline */
	uint64_t laddr;
	uint32_t lkey;			/* 24 bits */
	uint32_t len;
	uint16_t ah;
	uint16_t number;
	uint32_t qkey;
};

struct efa_cuda_done {
	uint64_t id;
	uint32_t status;
	uint32_t qp;
	bool read;
	bool received;
	/* of what was received */
	bool has_imm;
	bool unsolicited;
	uint32_t imm;
	uint32_t len;
	uint32_t src_qp;
	uint32_t ah;
};

/* Return: NULL if there is no memory, or the GPU does not reach the queue. */
struct efa_cuda *efa_cuda_new(const struct efa_cuda_attr *attr);
void efa_cuda_delete(struct efa_cuda *e);
/* Store the entries of @n requests, then ring once. Return: 0 or a negative errno. */
int efa_cuda_post(struct efa_cuda *e, const struct efa_cuda_wr *wr, int n);
/* Return: whether there was a completion. */
bool efa_cuda_poll(struct efa_cuda *e, struct efa_cuda_done *done);
/* Whether there is a processor to run on. */
bool efa_cuda_present(void);

#ifdef __cplusplus
}
#endif

#endif /* GDA_VENDORS_EFA_CUDA_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A queue of the efa dialect, driven by the code of a vendor alone: by the device library in NCCL's
 * package (efa-dp-direct: cuda.cc) on a CPU or by one thread of a GPU, or by the provider of
 * rdma-core (provider.c). Nothing here knows what its entries look like.
 */
#ifndef GDA_VENDORS_CLIENT_H
#define GDA_VENDORS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CLIENT_BATCH	15		/* most requests of one doorbell */
#define CLIENT_INLINE	80

struct client;

/* The properties of a queue that a producer has to know. */
struct client_attr {
	void *sq;
	uint32_t sq_depth;
	uint32_t sq_entry;		/* bytes */
	volatile uint32_t *db;
	void *cq;
	uint32_t cq_depth;
	uint32_t cq_stride;
	uint16_t number;		/* of its QP */
	bool older;			/* by the older calls, of a library that has two sets of them */
};

struct client_wr {
	uint64_t id;
	bool read;
	bool send;
	bool has_imm;
	bool hint;
	uint32_t imm;
	uint64_t raddr;
	uint32_t rkey;
	bool inlined;
	uint8_t data[CLIENT_INLINE];	/* that is inline */
	uint64_t laddr;
	uint32_t lkey;			/* 24 bits */
	uint32_t len;
	uint16_t ah;
	uint16_t number;
	uint32_t qkey;
};

struct client_done {
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
struct client *client_new(const struct client_attr *attr);
void client_delete(struct client *e);
/* Store @n entries and ring once. Return: 0, or a negative errno: none was posted. */
int client_post(struct client *e, const struct client_wr *wr, int n);
/* Return: whether there was a completion. */
bool client_poll(struct client *e, struct client_done *done);
/* Whether there is a processor to run on, and with @older such calls. */
bool client_present(bool older);
/* Whether it counts the slots of its queue, and posts to none that is taken. */
bool client_counts(void);

#ifdef __cplusplus
}
#endif

#endif /* GDA_VENDORS_CLIENT_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * One rank of NCCL's EFA-GDA back end, driven by NCCL's device code alone (gin_efa_gda.h of its
 * package) on a CPU, or by threads of a GPU. The queues, counters and keys that the caller names
 * take the place of what NCCL's plugin creates.
 */
#ifndef GDA_VENDORS_GIN_CLIENT_H
#define GDA_VENDORS_GIN_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GIN_RANKS	2
#define GIN_SIGNALS	3		/* and as many counters */
#define GIN_SLOTS	(1 + GIN_SIGNALS)	/* a peer's queues: data, then signals */
#define GIN_OPS		64		/* most of one call */

struct gin_queue {
	void *sq;
	uint32_t sq_depth;
	uint32_t sq_entry;		/* bytes */
	volatile uint32_t *db;
	const uint64_t *sent;		/* requests that are done */
	const uint64_t *arrived;	/* writes of others; NULL: not counted */
};

struct gin_target {
	uint16_t ah;
	uint16_t number;
	uint32_t qkey;
};

/* Memory of a rank; the local key is only that of its own. */
struct gin_memory {
	uint64_t addr;
	uint32_t lkey;			/* 24 bits */
	uint32_t rkey;
};

struct gin_attr {
	int rank;
	uint32_t batch;			/* most entries behind the doorbell */
	struct gin_queue data;
	struct gin_queue values;
	struct gin_queue signal[GIN_SIGNALS];
	struct gin_target to[GIN_SLOTS][GIN_RANKS];
	struct gin_memory scratch[GIN_RANKS];
	struct gin_memory window[GIN_RANKS];
};

enum gin_what { GIN_PUT, GIN_VALUE, GIN_GET, GIN_FLUSH, GIN_RESET_SIGNAL, GIN_RESET_COUNTER };

struct gin_op {
	enum gin_what what;
	int peer;
	uint64_t remote;		/* offsets in the windows */
	uint64_t local;
	uint64_t bytes;			/* of a value 1, 2, 4 or 8 */
	uint64_t value;
	int signal;			/* -1: none */
	uint32_t add;			/* 0: Inc */
	int counter;			/* -1: none */
	bool defer;
};

struct gin;

/* Return: NULL if there is no memory, or the GPU does not reach a queue. */
struct gin *gin_new(const struct gin_attr *attr);
void gin_delete(struct gin *g);
/* One thread does @n operations in order. Return: 0, or -ETIMEDOUT of a flush. */
int gin_run(struct gin *g, const struct gin_op *ops, int n);
/* Thread i of @threads does operation i, @times times. */
int gin_run_by(struct gin *g, const struct gin_op *ops, int threads, int times);
uint64_t gin_signal(struct gin *g, int signal);
uint64_t gin_counter(struct gin *g, int counter);
bool gin_present(void);

#ifdef __cplusplus
}
#endif

#endif /* GDA_VENDORS_GIN_CLIENT_H */

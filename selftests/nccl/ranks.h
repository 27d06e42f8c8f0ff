/* SPDX-License-Identifier: MIT */
/*
 * Two ranks of the RMA plugin, as threads of this process, as NCCL has them: the plugin is
 * opened by its name, and driven by its table alone. `cuda` ranks use the driver without a GPU of
 * selftests/cuda/fake.c.
 */
#ifndef SELFTESTS_NCCL_RANKS_H
#define SELFTESTS_NCCL_RANKS_H

#include <stdbool.h>
#include <stdint.h>
#include "rma.h"

#define RANKS		2
#define CONTEXTS	2
#define WINDOW		65536U
#define WORDS		16U

struct rank {
	int rank;
	bool cuda;
	void *listener;
	unsigned char handle[GDA_NCCL_HANDLE_BYTES];
	void *coll;
	void *context;
	uint8_t *window;	/* where the CPU finds it */
	void *window_mr;
	uint64_t *words;	/* signals that nobody resets */
	void *words_mr;
	uint64_t *resettable;	/* signals that the program resets */
	void *resettable_mr;
	void *addr[3];		/* of the three, as registered */
	int result;
};

extern const struct gda_nccl_rma *rma;
extern struct rank ranks[RANKS];
/* The plugin's log since it was cleared. */
extern char logged[8192];

/* Open the plugin and start logging. */
bool ranks_load(void);

/* Run @fn for both ranks at once. Return: whether both returned 0. */
bool ranks_both(int (*fn)(struct rank *r));

/* Listen, connect, create a context of CONTEXTS contexts, and register. */
bool ranks_open(bool cuda);
void ranks_close(void);

/* Test until it is done, as NCCL's thread does, or 20 s. Return: enum gda_nccl_result, or -1. */
int ranks_wait(struct rank *r, void *request);

/* A put, get, or put with signal, and its end. */
int ranks_put(struct rank *r, int context, uint64_t from, uint64_t to, size_t size, int peer);
int ranks_get(struct rank *r, int context, uint64_t from, uint64_t to, size_t size, int peer);
int ranks_put_signal(struct rank *r, int context, uint64_t from, uint64_t to, size_t size,
		     int peer, void *signal_mr, unsigned int word, uint64_t add);

uint64_t ranks_random(uint64_t *state);
uint64_t ranks_now(void);

#endif /* SELFTESTS_NCCL_RANKS_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The calls that fail_nth sweeps.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "gda_test.h"
#include "requests.h"

struct op;

/* What a call needs, and what it made. */
struct fx {
	const struct op *op;
	struct t_world w;
	uint8_t buf[T_REQUEST_MAX];
	int fd;				/* the context */
	struct gda_cq_create cq;
	struct gda_cq_create ring;
	struct gda_counter_create count[2];
	struct gda_qp_create qp;
	int event;
	int dmabuf;
	int gpu;			/* peer memory: @mem is its */
	void *mem;
	size_t len;
	struct gda_region_info info;
	void *map;
	uint32_t made;			/* handle, file, process or address that a call made */
	int made_fd;
	pid_t made_pid;
};

/* A call, what is there before it, and how it is taken back. */
struct op {
	const char *name;
	int (*prepare)(struct fx *fx);
	int (*call)(struct fx *fx);
	void (*undo)(struct fx *fx);
	unsigned int nr;		/* of a request, where @call is call_request */
	uint32_t type;			/* of a region */
	bool needs_dmabuf;
	bool needs_gpu;
	bool cannot_fail;		/* whatever fails: an answer is all it may not get */
};

/* Return: the call of that name, or NULL. */
const struct op *op_find(const char *name);
/* Close and free whatever the call and its preparation have left. */
void fx_close(struct fx *fx);

/* sweep_memory.c */
int sweep_peer(struct fx *fx);
int sweep_invalidate(struct fx *fx);
int sweep_close_gpu(struct fx *fx);
int sweep_cq_dmabuf(struct fx *fx);
int sweep_qp_dmabuf(struct fx *fx);

#endif /* SWEEP_H */

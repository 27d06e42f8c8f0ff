/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The calls that fail_nth sweeps.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "gda_test.h"
#include "requests.h"

struct op;

/* The needs of a call, and the objects that it made. */
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
	int dev;			/* of gda_test or gda_edu */
	int gpu;			/* peer memory: @mem is its */
	void *mem;
	size_t len;
	struct gda_region_info info;
	void *map;
	uint32_t made;			/* handle, file, process or address that a call made */
	uint32_t made_key;
	int made_fd;
	pid_t made_pid;
	struct t_end end[2];		/* on an RDMA device */
};

/* A call, what is there before it, and how it is taken back. */
struct op {
	const char *name;
	int (*prepare)(struct fx *fx);
	int (*call)(struct fx *fx);
	int (*check)(struct fx *fx);	/* after a call that succeeded: what comes of it */
	void (*undo)(struct fx *fx);
	unsigned int nr;		/* of a request, where @call is call_request */
	uint32_t type;			/* of a region; a command of netlink */
	const char *needs;		/* a device of somebody else */
	bool warns;			/* the kernel does, when something fails */
	int says;			/* its exporter for want of memory, as we pass it on */
	bool cannot_fail;		/* whatever fails: an answer is all it may not get */
	bool asks_nothing;		/* there is nothing to fail: neither memory nor a copy */
};

#define OP(NAME, ...)	{ .name = #NAME, __VA_ARGS__ }

/* Return: the call of that name, or NULL. */
const struct op *op_find(const char *name);
/* Close and free whatever the call and its preparation have left. */
void fx_close(struct fx *fx);

/* Tables, up to one without a name. */
extern const struct op sweep_map_ops[];		/* sweep_map.c */
extern const struct op sweep_memory_ops[];	/* sweep_memory.c */
extern const struct op sweep_ib_ops[];		/* sweep_ib.c */
extern const struct op sweep_efa_ops[];		/* sweep_efa.c */

/* A context; it and a QP, a collapsed CQ of its own and a ring. */
int sweep_bound(struct fx *fx);
int sweep_qp(struct fx *fx);
int sweep_counter(struct fx *fx, struct gda_counter_create *cmd);
/* Register all of @fx->mem. */
int sweep_mr(struct fx *fx);
/* Destroy what was made, or close it. */
int sweep_destroy(struct fx *fx);
void sweep_undo_made(struct fx *fx);
void sweep_undo_fd(struct fx *fx);

#endif /* SWEEP_H */

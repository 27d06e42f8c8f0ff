/* SPDX-License-Identifier: MIT */
/*
 * Arguments of the tasks in tasks.c, which a process of its own runs.
 */
#ifndef DPA_TASKS_H
#define DPA_TASKS_H

#include <gda/dpa_task.h>

struct p_work {
	uint64_t out;			/* eight results, in the heap */
	uint64_t array;			/* a buffer of the caller, one of the heap */
	struct gda_dpa_remote_event remote;
	uint32_t rdma;
	uint32_t event;
};

enum p_fault {
	P_ENDLESS,
	P_SEGV,
	P_ABORT,
	P_DIVIDE,
	P_STACK,
	P_EXIT,
	P_EXIT_NOW,
	P_NOISE,
	P_FAULTS,
};

#define P_BAD_ADDRESS	0x123456789000ULL
#define P_STATUS	7

struct p_fault_args {
	uint32_t fault;
	uint32_t rank;			/* which fails; the others return */
	uint64_t before;		/* bytes of shared memory before the heap */
	uint64_t seed;
};

#endif /* DPA_TASKS_H */

// SPDX-License-Identifier: MIT
/*
 * Tasks that gda-dpa loads: one that works with all a task has, and one that fails in every way.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <gda/barrier.h>
#include "tasks.h"

GDA_DPA_TASK(p_work)
{
	const struct p_work *w = args;
	int64_t *out = gda_dpa_at(t, w->out, 8 * sizeof(*out));
	uint64_t deadline = gda_clock_ns() + 20000000000U;
	struct gda_dpa_buf mem, heap;
	unsigned char *p;
	size_t i;

	if (gda_dpa_rank(t))
		return;
	out[0] = gda_dpa_buf_get(t, w->array, 0, &mem) | gda_dpa_buf_get(t, w->array, 1, &heap);
	/* memory of the caller is not mapped here */
	out[1] = gda_dpa_buf_pointer(t, &mem, 0, 1) ? 1 : 0;
	out[2] = gda_dpa_memcpy(t, &heap, 0, &mem, 0, mem.bytes);
	out[3] = gda_dpa_memcpy_wait(t, deadline);
	p = gda_dpa_buf_pointer(t, &heap, 0, heap.bytes);
	for (i = 0; p && i < heap.bytes; i++)
		p[i] = (unsigned char)(p[i] + 1);
	out[4] = gda_dpa_rdma_write(t, w->rdma, &mem, 0, &heap, 0, heap.bytes);
	out[5] = gda_dpa_rdma_signal_add(t, w->rdma, &w->remote, 1);
	out[6] = gda_dpa_rdma_wait(t, w->rdma, deadline);
	out[7] = getpid();
	gda_dpa_log(t, "in process %d", (int)getpid());
	gda_dpa_event_update_add(t, w->event, 5);
}

GDA_DPA_TASK(t_left)
{
	gda_dpa_log(t, "t_left");
}

GDA_DPA_TASK(t_right)
{
	gda_dpa_log(t, "t_right");
}

static void ignore(int signal)
{
	(void)signal;
}

/* A signal that the program of tasks has use for comes to the thread that answers the caller. */
GDA_DPA_TASK(p_signal)
{
	struct sigaction sa = { .sa_handler = ignore };

	(void)args;
	sigaction(SIGUSR1, &sa, NULL);
	if (!gda_dpa_rank(t))
		syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1);
}

/* Until the stack ends, for @above is 1. */
static int recurse(volatile char *above)
{
	volatile char frame[4096];

	frame[0] = above[0];
	return frame[0] ? frame[0] + recurse(frame) : 0;
}

static void noise(char *heap, const struct p_fault_args *f)
{
	uint64_t state = f->seed | 1, *words = (uint64_t *)(heap - f->before), i;

	for (i = 0; i < f->before / 8; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		__atomic_store_n(&words[i], state, __ATOMIC_RELAXED);
	}
}

static int zero;

GDA_DPA_TASK(p_fault)
{
	const struct p_fault_args *f = args;
	char byte = 1;

	if (gda_dpa_rank(t) != f->rank)
		return;
	switch (f->fault) {
	case P_SEGV:
		*(volatile char *)(uintptr_t)P_BAD_ADDRESS = 1;
		break;
	case P_ABORT:
		abort();
	case P_DIVIDE:
		zero = 1 / *(volatile int *)&zero;
		raise(SIGFPE);		/* where a processor does not trap */
		break;
	case P_STACK:
		zero = recurse(&byte);
		break;
	case P_EXIT:
		exit(P_STATUS);
	case P_EXIT_NOW:
		_exit(P_STATUS);
	case P_NOISE:
		noise((char *)gda_dpa_at(t, 64, 1) - 64, f);
		break;
	default:
		break;
	}
	for (;;)
		*(volatile char *)&byte = 1;
}

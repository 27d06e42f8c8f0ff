// SPDX-License-Identifier: MIT
/*
 * Memory that the program takes away while it is registered: unmapped, made read-only, or
 * behind the end of its file. The load or store of the engine that meets it raises SIGSEGV
 * or SIGBUS in the thread that executes the queue. The handler here jumps back to where
 * that thread began (struct gda_inproc_guard), and the queue fails.
 *
 * It is ours only if the thread is executing a queue and the address is inside an MR.
 * Everything else goes to whatever handled the signal before, or is fatal as it was. The
 * handler is set when memory is registered for the first time, and stays: a handler that
 * the program sets later is the one that runs.
 *
 * The jump leaves no lock behind. The engine touches the memory of MRs while it holds
 * none, and a lock is held only around memory of the device's own, where a fault is not
 * ours. Nor does it leave half a step: a work request that has not finished is the first
 * that has no outcome, so the queue fails at it (gda_engine_fail_queue()); where several are in
 * flight (order.h) the one that was being carried out is known.
 */
#define _GNU_SOURCE
#include <signal.h>
#include "inproc.h"
#include "order.h"

/* Allocated with the thread: a signal handler must not allocate it. */
__attribute__((tls_model("initial-exec")))
_Thread_local struct gda_inproc_guard *gda_inproc_guard;

static pthread_once_t gda_inproc_fault_once = PTHREAD_ONCE_INIT;
static struct sigaction gda_inproc_before[2];	/* SIGSEGV, SIGBUS */

static bool gda_inproc_mr_covers(const struct gda_inproc_mr *mr, u64 addr)
{
	return mr && !(READ_ONCE(mr->mem.state) & GDA_MEM_NO_CPU) &&
	       addr - (uintptr_t)mr->addr < mr->mem.size;
}

/*
 * Find the MR that has @addr. The caller is executing a queue, so MRs that it finds are not
 * freed. The MR may be any of the process: a fault handler takes no lock to choose one.
 */
static const struct gda_inproc_mr *gda_inproc_mr_at(u64 addr)
{
	u32 i, n;

	for (i = 0; i < GDA_INPROC_LEAVES; i++) {
		/* pairs with the release of a new leaf */
		if (!smp_load_acquire(&gda_inproc.keys.leaf[i]))
			continue;
		for (n = 0; n < GDA_INPROC_LEAF; n++) {
			const struct gda_inproc_mr *mr =
				gda_inproc_table_find(&gda_inproc.keys, i * GDA_INPROC_LEAF + n);

			if (gda_inproc_mr_covers(mr, addr))
				return mr;
		}
	}
	return NULL;
}

/* Do with the signal what would have been done without this file. */
static void gda_inproc_fault_pass(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *before = &gda_inproc_before[sig == SIGBUS];
	sigset_t mask;

	if (!(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_IGN &&
	    info->si_code <= 0)
		return;
	if (!(before->sa_flags & SA_SIGINFO) &&
	    (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN)) {
		/* a fault is repeated on return, with the default action */
		signal(sig, SIG_DFL);
		if (info->si_code <= 0)
			raise(sig);
		return;
	}
	pthread_sigmask(SIG_BLOCK, &before->sa_mask, &mask);
	if (before->sa_flags & SA_SIGINFO)
		before->sa_sigaction(sig, info, context);
	else
		before->sa_handler(sig);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static void gda_inproc_fault_handler(int sig, siginfo_t *info, void *context)
{
	struct gda_inproc_guard *guard = gda_inproc_guard;
	const struct gda_inproc_mr *mr = NULL;

	if (guard && guard->qp && info->si_code > 0)
		mr = gda_inproc_mr_at((uintptr_t)info->si_addr);
	if (!mr) {
		gda_inproc_fault_pass(sig, info, context);
		return;
	}
	guard->key = mr->mem.key;
	siglongjmp(guard->env, 1);
}

static void gda_inproc_fault_start(void)
{
	struct sigaction ours = {
		.sa_sigaction = gda_inproc_fault_handler,
		/* with the jump in mind: nothing that would have to be unblocked */
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};

	sigemptyset(&ours.sa_mask);
	sigaction(SIGSEGV, &ours, &gda_inproc_before[0]);
	sigaction(SIGBUS, &ours, &gda_inproc_before[1]);
}

void gda_inproc_fault_init(void)
{
	pthread_once(&gda_inproc_fault_once, gda_inproc_fault_start);
}

void gda_inproc_fault(struct gda_inproc_guard *guard)
{
	struct gda_engine_qp *q = &guard->qp->engine_qp;
	u8 class = guard->key == q->work.remote.key ? GDA_CLASS_REMOTE_OP : GDA_CLASS_LOCAL;

	guard->qp = NULL;
	/* it need not be the first without an outcome there */
	if (q->order && q->order->stepping != GDA_ORDER_NONE)
		gda_order_fault(q->order, gda_status(class, GDA_CAUSE_IO));
	else
		WRITE_ONCE(q->fail, GDA_STATUS(class, GDA_CAUSE_IO));
}

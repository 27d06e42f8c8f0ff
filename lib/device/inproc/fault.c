// SPDX-License-Identifier: MIT
/*
 * Faults on registered memory: the program has unmapped it, made it read-only, or truncated its
 * file. The engine's load or store then raises SIGSEGV or SIGBUS in the thread that executes the
 * queue. The handler here jumps back to where that thread began (struct gda_inproc_guard), and
 * the queue fails.
 *
 * The handler acts only if the thread is executing a queue and the address is inside an MR. It
 * passes all other signals to the previous handler or default action. The handler is installed at
 * the first registration and stays; a handler that the program installs later replaces it.
 *
 * The jump leaves no lock held: the engine holds none while it accesses MRs, and locks protect only
 * the device's own memory, where the handler does not act. Nor does it leave a step half done: the
 * unfinished work request is the first without a completion, so the queue fails at it
 * (gda_engine_fail_queue()). If several are in flight, order.h records which one was being carried
 * out.
 */
#define _GNU_SOURCE
#include <signal.h>
#include "counter.h"
#include "inproc.h"
#include "order.h"

/* Thread-local memory is allocated with the thread, as a signal handler must not allocate it. */
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
 * Find the MR that has @addr. The caller is executing a queue, so MRs found here are not freed.
 * MRs of all contexts are searched: a fault handler may not take a lock to select one.
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

/* Handle the signal as the previous handler or default action would. */
static void gda_inproc_fault_pass(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *before = &gda_inproc_before[sig == SIGBUS];
	sigset_t mask;

	if (!(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_IGN &&
	    info->si_code <= 0)
		return;
	if (!(before->sa_flags & SA_SIGINFO) &&
	    (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN)) {
		/* the fault recurs on return, now with the default action */
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
		/* SA_NODEFER: after the jump no signal needs to be unblocked */
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
	/* all requests of the visit had their outcome when it stored its counts */
	if (gda_counter_fault(q))
		return;
	/* the request that faulted need not be the first without a completion */
	if (q->order && q->order->stepping != GDA_ORDER_NONE)
		gda_order_fault(q->order, gda_status(class, GDA_CAUSE_IO));
	else
		WRITE_ONCE(q->fail, GDA_STATUS(class, GDA_CAUSE_IO));
}

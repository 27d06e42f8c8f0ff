// SPDX-License-Identifier: MIT
/*
 * Quiescence: when to free an object to which workers and helpers may have had a pointer.
 *
 * A thread that has unlinked an object increments dev->grace and waits. A worker copies dev->grace
 * to @acked between two visits, when it holds no pointer to an object (worker.c). A helper takes a
 * *seat* of the context before it looks up an object, and leaves it at the end (help.c). Once every
 * worker has done so or sleeps, and every helper has left the seat it had, no thread has a pointer
 * from before. This costs a worker one load per visit, of a cache line that rarely changes.
 */
#include "inproc.h"
#include "waiter.h"

struct gda_inproc_seat *gda_inproc_sit(struct gda_inproc_context *ctx)
{
	/* threads have different stacks, so most get the seat that they try first */
	u64 here = (u64)(uintptr_t)__builtin_frame_address(0) >> 16;
	u32 first = (u32)(here * 0x9e3779b97f4a7c15U >> 32);
	u32 i;

	for (i = 0; i < GDA_INPROC_SEATS; i++) {
		struct gda_inproc_seat *seat = &ctx->seat[(first + i) % GDA_INPROC_SEATS];
		u64 taken = READ_ONCE(seat->taken);

		if (taken & 1 ||
		    !__atomic_compare_exchange_n(&seat->taken, &taken, taken + 1, false,
						 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			continue;
		/* pairs with gda_inproc_sync(): it sees the seat taken, or we see the unlinking */
		smp_mb();
		return seat;
	}
	return NULL;
}

void gda_inproc_rise(struct gda_inproc_seat *seat)
{
	/* pairs with gda_inproc_risen(): uses of looked-up objects come before */
	smp_store_release(&seat->taken, READ_ONCE(seat->taken) + 1);
}

/* Wait until all current helpers have left their seats. */
static void gda_inproc_risen(struct gda_inproc_context *ctx)
{
	u32 i;

	for (i = 0; i < GDA_INPROC_SEATS; i++) {
		/* pairs with gda_inproc_rise() */
		u64 taken = smp_load_acquire(&ctx->seat[i].taken);

		/* pairs with gda_inproc_rise(), too */
		while (taken & 1 && smp_load_acquire(&ctx->seat[i].taken) == taken)
			gda_waiter_yield();
	}
}

static bool gda_inproc_passed(struct gda_inproc_worker *w, u64 grace)
{
	/* pairs with gda_inproc_quiescent() */
	if (smp_load_acquire(&w->acked) >= grace)
		return true;
	/* a sleeping worker became quiescent under w->lock, and takes it before its next lookup */
	return gda_inproc_asleep(w);
}

void gda_inproc_sync(void)
{
	u64 grace = __atomic_add_fetch(&gda_inproc.grace, 1, __ATOMIC_SEQ_CST);
	struct gda_inproc_worker *w;

	/* pairs with gda_inproc_sit(): a helper sees the unlinking, or we see its seat taken */
	smp_mb();
	/* hold the lock while waiting, so that no worker leaves the list */
	pthread_mutex_lock(&gda_inproc.lock);
	for (w = gda_inproc.workers; w; w = w->next) {
		while (!gda_inproc_passed(w, grace))
			gda_waiter_yield();
		if (!w->number)
			gda_inproc_risen(w->ctx);
	}
	pthread_mutex_unlock(&gda_inproc.lock);
}

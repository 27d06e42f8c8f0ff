// SPDX-License-Identifier: MIT
/*
 * The slow path of a wait on a symmetric heap, between two loads: from time to time it checks
 * whether a PE is lost and whether the deadline has passed.
 */
#include <errno.h>
#include "shmem_internal.h"
#include "waiter.h"

static bool gda_shmem_is_lost(const struct gda_shmem *s, uint32_t pe)
{
	const struct gda_shmem_peer *peers = (const struct gda_shmem_peer *)(uintptr_t)s->peers;
	uint32_t end = pe == GDA_SHMEM_ANY_PE ? s->npes : pe + 1;

	for (pe = pe == GDA_SHMEM_ANY_PE ? 0 : pe; pe < end; pe++)
		if (gda_nic_load32((const uint32_t *)(uintptr_t)peers[pe].abort))
			return true;
	return false;
}

/*
 * Pick a queue with unfinished posts: some PE may have to see them before it stores the value
 * waited for here. Each call picks another one. Queues in GPU memory are left to kernels.
 */
static struct gda_view *gda_shmem_posted(const struct gda_shmem *s, unsigned int polls)
{
	const struct gda_shmem_heap *h = (const struct gda_shmem_heap *)(uintptr_t)s->owner;
	struct gda_view *v;

	if (!s->qps || !s->npes || (h && h->cuda))
		return NULL;
	v = gda_shmem_view(s, polls % s->npes, GDA_SHMEM_QP(polls / s->npes % s->qps));
	return v && gda_load_relaxed64(&v->reserved) != gda_poll(v, 0) ? v : NULL;
}

static void gda_shmem_rest(const struct gda_shmem *s, unsigned int polls)
{
	uint32_t caps = __atomic_load_n(&s->caps, __ATOMIC_RELAXED);
	struct gda_view *v = gda_shmem_posted(s, polls);

	if (v)
		gda_relax(v, polls, GDA_RELAX_DONE);
	else
		gda_waiter_rest(polls, caps & GDA_VIEW_YIELD ? GDA_WAITER_SHORT :
							       GDA_WAITER_OFTEN);
}

GDA_EXPORT int gda_shmem_relax(struct gda_shmem *s, unsigned int polls, uint32_t pe,
			       uint64_t *deadline)
{
	uint64_t now;

	gda_shmem_rest(s, polls);
	if (polls % GDA_POLLS)
		return 0;
	if (pe >= s->npes && pe != GDA_SHMEM_ANY_PE)
		return -EINVAL;
	if (gda_shmem_is_lost(s, pe))
		return -ESHUTDOWN;
	now = gda_clock_ns();
	if (!*deadline)
		*deadline = now + s->timeout_ns;
	if (now >= *deadline)
		return -ETIMEDOUT;
	return 0;
}

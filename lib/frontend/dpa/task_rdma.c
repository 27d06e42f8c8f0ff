// SPDX-License-Identifier: MIT
/*
 * Posts of tasks to RDMA handles. One thread uses a handle at a time: its first post reserves the
 * handle until that thread has waited for it or its task has ended. Until then posts of other
 * threads are refused, and nothing of them is posted.
 */
#include <errno.h>
#include <gda/fastpath.h>
#include "dpa_internal.h"

static int gda_dpa_rdma_use(struct gda_dpa_thread *t, uint32_t handle, struct gda_dpa_handle **h)
{
	uint32_t none = 0, self = t->index + 1;

	if (!handle || handle > GDA_DPA_MAX_THREADS)
		return -EINVAL;
	*h = &t->pool->handles[handle - 1];
	if (!__atomic_load_n(&(*h)->view, __ATOMIC_ACQUIRE))
		return -EINVAL;
	if (__atomic_load_n(&(*h)->user, __ATOMIC_RELAXED) == self)
		return 0;
	if (!__atomic_compare_exchange_n(&(*h)->user, &none, self, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return -EBUSY;
	t->uses[(handle - 1) / 64] |= 1ULL << (handle - 1) % 64;
	return 0;
}

void gda_dpa_rdma_leave(struct gda_dpa_thread *t)
{
	uint32_t i, bit;

	for (i = 0; i < GDA_DPA_MAX_THREADS / 64; i++) {
		for (; t->uses[i]; t->uses[i] &= t->uses[i] - 1) {
			bit = (uint32_t)__builtin_ctzll(t->uses[i]);
			__atomic_store_n(&t->pool->handles[64 * i + bit].user, 0, __ATOMIC_RELEASE);
		}
	}
}

/* Check the ranges of a transfer before anything is posted. @local is in this process. */
static int gda_dpa_rdma_check(const struct gda_dpa_buf *remote, uint64_t remote_offset,
			      const struct gda_dpa_buf *local, uint64_t local_offset,
			      uint64_t bytes)
{
	if (bytes > INT32_MAX)
		return -EMSGSIZE;
	if (remote_offset > remote->bytes || bytes > remote->bytes - remote_offset ||
	    local_offset > local->bytes || bytes > local->bytes - local_offset)
		return -ERANGE;
	return 0;
}

static int gda_dpa_posted(int64_t ticket)
{
	return ticket < 0 ? (int)ticket : 0;
}

/* After an update, send an immediate that wakes waiters, if the peer asks for that. */
static int gda_dpa_rdma_wake(struct gda_dpa_handle *h, const struct gda_dpa_remote_event *event)
{
	if (!(event->flags & GDA_DPA_REMOTE_WAKES))
		return 0;
	return gda_dpa_posted(gda_put_imm(h->view, 0, h->key, 0, 0, 0, 0,
					  GDA_EXCLUSIVE | GDA_SOLICITED));
}

GDA_EXPORT int gda_dpa_rdma_write(struct gda_dpa_thread *t, uint32_t rdma,
				  const struct gda_dpa_buf *dst, uint64_t dst_offset,
				  const struct gda_dpa_buf *src, uint64_t src_offset, size_t bytes)
{
	int err = gda_dpa_rdma_check(dst, dst_offset, src, src_offset, bytes);
	struct gda_dpa_handle *h;

	if (!err)
		err = gda_dpa_rdma_use(t, rdma, &h);
	if (err)
		return err;
	return gda_dpa_posted(gda_put(h->view, src->addr + src_offset, src->key,
				      dst->addr + dst_offset, dst->key, (uint32_t)bytes,
				      GDA_EXCLUSIVE));
}

GDA_EXPORT int gda_dpa_rdma_read(struct gda_dpa_thread *t, uint32_t rdma,
				 const struct gda_dpa_buf *dst, uint64_t dst_offset,
				 const struct gda_dpa_buf *src, uint64_t src_offset, size_t bytes)
{
	int err = gda_dpa_rdma_check(src, src_offset, dst, dst_offset, bytes);
	struct gda_dpa_handle *h;

	if (!err)
		err = gda_dpa_rdma_use(t, rdma, &h);
	if (err)
		return err;
	return gda_dpa_posted(gda_get(h->view, dst->addr + dst_offset, dst->key,
				      src->addr + src_offset, src->key, (uint32_t)bytes,
				      GDA_EXCLUSIVE));
}

GDA_EXPORT int gda_dpa_rdma_fetch_add(struct gda_dpa_thread *t, uint32_t rdma,
				      const struct gda_dpa_buf *dst, uint64_t dst_offset,
				      uint64_t value)
{
	struct gda_dpa_handle *h;
	int err;

	if (dst_offset > dst->bytes || 8 > dst->bytes - dst_offset)
		return -ERANGE;
	if ((dst->addr + dst_offset) % 8)
		return -EINVAL;
	err = gda_dpa_rdma_use(t, rdma, &h);
	if (err)
		return err;
	return gda_dpa_posted(gda_fetch_add(h->view, h->fetched, h->key, dst->addr + dst_offset,
					    dst->key, value, GDA_EXCLUSIVE));
}

/* Reserve a handle for updates of @event. */
static int gda_dpa_rdma_signal(struct gda_dpa_thread *t, uint32_t rdma,
			       const struct gda_dpa_remote_event *event, struct gda_dpa_handle **h)
{
	int err = gda_dpa_rdma_use(t, rdma, h);

	if (!err && event->flags & GDA_DPA_REMOTE_WAKES && !((*h)->view->can & GDA_CAN_IMM))
		err = -EOPNOTSUPP;
	return err;
}

GDA_EXPORT int gda_dpa_rdma_signal_add(struct gda_dpa_thread *t, uint32_t rdma,
				       const struct gda_dpa_remote_event *event, uint64_t value)
{
	struct gda_dpa_handle *h;
	int err = gda_dpa_rdma_signal(t, rdma, event, &h);

	if (!err)
		err = gda_dpa_posted(gda_fetch_add(h->view, h->fetched, h->key, event->addr,
						   event->key, value, GDA_EXCLUSIVE));
	return err ? err : gda_dpa_rdma_wake(h, event);
}

GDA_EXPORT int gda_dpa_rdma_signal_set(struct gda_dpa_thread *t, uint32_t rdma,
				       const struct gda_dpa_remote_event *event, uint64_t value)
{
	struct gda_dpa_handle *h;
	int err = gda_dpa_rdma_signal(t, rdma, event, &h);

	if (!err)
		err = gda_dpa_posted(gda_put_value(h->view, event->addr, event->key, value,
						   GDA_EXCLUSIVE));
	return err ? err : gda_dpa_rdma_wake(h, event);
}

GDA_EXPORT int gda_dpa_rdma_wait(struct gda_dpa_thread *t, uint32_t rdma, uint64_t deadline)
{
	struct gda_dpa_handle *h;
	int err = gda_dpa_rdma_use(t, rdma, &h);

	if (err)
		return err;
	err = gda_quiet(h->view, deadline);
	if (err)
		return err;
	t->uses[(rdma - 1) / 64] &= ~(1ULL << (rdma - 1) % 64);
	__atomic_store_n(&h->user, 0, __ATOMIC_RELEASE);
	return 0;
}

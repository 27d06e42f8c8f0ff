// SPDX-License-Identifier: MIT
/*
 * Completion queues: create and map them, and sleep on their events. The fast path polls collapsed
 * CQs; gda/ring.h polls rings.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
#include "gda_internal.h"

static int gda_cq_map(struct gda_cq *c, const struct gda_cq_attr *attr,
		      const struct gda_cq_create *made)
{
	int err = gda_place_get(c->ctx, attr->memory, &made->cq, &c->region, &c->entries);

	if (err || c->flags & GDA_CQ_COLLAPSED)
		return err;
	if (gda_wqe_speaks(made->dialect) && gda_cqe_unordered(made->dialect))
		c->record = &c->own_record;
	else
		err = gda_place_get(c->ctx, attr->dbrec, &made->dbrec, &c->dbrec, &c->record);
	if (err)
		return err;
	c->view.size = sizeof(c->view);
	c->view.entries = (uint64_t)(uintptr_t)c->entries;
	c->view.record = (uint64_t)(uintptr_t)c->record;
	c->view.mask = made->depth - 1;
	c->view.dialect = made->dialect;
	pthread_mutex_init(&c->credits.lock, NULL);
	c->view.owner = (uintptr_t)c;
	c->view.caps = gda_crowded() ? GDA_VIEW_YIELD : 0;
	return 0;
}

static void gda_cq_unmap(struct gda_cq *c)
{
	if (c->view.owner) {
		free(c->credits.table);
		pthread_mutex_destroy(&c->credits.lock);
	}
	gda_region_put(c->ctx, c->dbrec);
	gda_region_put(c->ctx, c->region);
}

/* @attr is a copy that the library owns, places included. */
int gda_cq_new(struct gda_context *ctx, const struct gda_cq_attr *attr, struct gda_cq **cq)
{
	struct gda_cq_create arg = {
		.size = sizeof(arg),
		.flags = attr->flags | (attr->memory ? GDA_CQ_DMABUF : 0) |
			 (attr->dbrec ? GDA_CQ_DBREC_DMABUF : 0),
		.depth = attr->flags & GDA_CQ_COLLAPSED ? 1 : attr->depth,
		.dialect = attr->dialect,
		.cq_memory = gda_place_memory(attr->memory),
		.dbrec_memory = gda_place_memory(attr->dbrec),
	};
	struct gda_cq *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	/* rings may be in a dialect that no poster here speaks */
	err = arg.dialect ? 0 : gda_dialect_check(&arg.dialect);
	if (!err)
		err = gda_ioctl(ctx, GDA_IOC_CQ_CREATE, &arg);
	if (err)
		goto err_free;
	c->ctx = ctx;
	c->handle = arg.handle;
	c->flags = attr->flags;
	c->dialect = arg.dialect;
	err = gda_cq_map(c, attr, &arg);
	if (err)
		goto err_unmap;
	gda_fork_add_cq(c);
	*cq = c;
	return 0;

err_unmap:
	gda_destroy_handle(ctx, c->handle);
	gda_cq_unmap(c);
err_free:
	free(c);
	return err;
}

GDA_EXPORT int gda_cq_create(struct gda_context *ctx, const struct gda_cq_attr *attr,
			     struct gda_cq **cq)
{
	struct gda_place memory, dbrec;
	struct gda_cq_attr a = { 0 };
	int err = gda_struct_read(&a, sizeof(a), GDA_THROUGH(struct gda_cq_attr, dbrec), attr);

	if (!err)
		err = gda_place_read(&a.memory, &memory);
	if (!err)
		err = gda_place_read(&a.dbrec, &dbrec);
	if (!err) {
		err = gda_cq_new(ctx, &a, cq);
		if (err)
			gda_why_cq(ctx, err, &a);
	}
	return gda_called(err, "gda_cq_create", "fd %d, depth %u, flags %#x%s%s", ctx->fd,
			  a.depth, a.flags, a.memory ? ", memory" : "", a.dbrec ? ", dbrec" : "");
}

int gda_cq_drop(struct gda_cq *cq)
{
	int err;

	if (!cq)
		return 0;
	err = gda_destroy_handle(cq->ctx, cq->handle);
	if (err == -EBUSY)
		return err;
	/* after any other error the kernel has no CQ any more */
	gda_fork_remove_cq(cq);
	gda_cq_unmap(cq);
	free(cq);
	return err;
}

GDA_EXPORT int gda_cq_destroy(struct gda_cq *cq)
{
	uint32_t handle = cq ? cq->handle : 0;

	return gda_called(gda_why_busy(gda_cq_drop(cq)), "gda_cq_destroy", "CQ %u", handle);
}

static int gda_cq_arm(struct gda_cq *cq, int eventfd, uint32_t flags)
{
	struct gda_cq_event arg = {
		.size = sizeof(arg), .flags = flags, .handle = cq->handle, .eventfd = eventfd,
	};

	return gda_why_cq_event(cq->ctx, gda_ioctl(cq->ctx, GDA_IOC_CQ_EVENT, &arg), eventfd,
				flags);
}

GDA_EXPORT int gda_cq_event(struct gda_cq *cq, int eventfd, uint32_t flags)
{
	return gda_called(gda_cq_arm(cq, eventfd, flags), "gda_cq_event",
			  "CQ %u, eventfd %d, flags %#x", cq->handle, eventfd, flags);
}

GDA_EXPORT struct gda_cq_view *gda_cq_view_sized(struct gda_cq *cq, size_t size)
{
	int err = 0;

	if (size < GDA_THROUGH(struct gda_cq_view, caps) || size > sizeof(cq->view))
		err = gda_because(-E2BIG,
				  "the program's view has %zu bytes, the library's %zu: install a newer libgda",
				  size, sizeof(cq->view));
	else if (!cq->entries || !cq->record)
		err = gda_because(-EINVAL,
				  "the CQ is collapsed or unmapped: only a mapped ring has a view");
	else if (!gda_wqe_speaks(cq->dialect))
		err = gda_because(-EINVAL,
				  "the CQ is in dialect %u, which has no reader here: read its entries by gda/wqe.h",
				  cq->dialect);
	if (!err)
		return &cq->view;
	gda_called(err, "gda_cq_view", "CQ %u", cq->handle);
	return NULL;
}

/* Wait for the eventfd and reset it. A signal handler that interrupts the wait is no error. */
static int gda_cq_doze(int eventfd, uint64_t deadline)
{
	struct pollfd p = { .fd = eventfd, .events = POLLIN };
	uint64_t now = gda_clock_ns(), left = deadline > now ? deadline - now : 0;
	struct timespec ts = {
		.tv_sec = (time_t)(left / 1000000000U), .tv_nsec = (long)(left % 1000000000U),
	};
	int saved = errno, n = ppoll(&p, 1, &ts, NULL), err = 0;
	uint64_t count;

	if (n < 0 && errno != EINTR)
		err = -errno;
	else if (n > 0 && read(eventfd, &count, sizeof(count)) < 0 && errno != EAGAIN &&
		 errno != EINTR)
		err = -errno;
	else if (!left)
		err = -ETIMEDOUT;
	errno = saved;
	return err;
}

/* Return: 0 with an entry, or the error that ends the wait. */
static int gda_cq_await(struct gda_cq *cq, int eventfd, uint32_t flags,
			struct gda_cq_entry *entry, uint64_t deadline)
{
	uint64_t now = gda_clock_ns();
	int err = 0;

	if (!cq->entries || !cq->record)
		return gda_because(-EINVAL,
				   "the CQ is collapsed or unmapped: only a mapped ring has a view");
	if (!flags)
		return gda_because(-EINVAL,
				   "flags is 0: set GDA_CQ_ARM or GDA_CQ_ARM_SOLICITED");
	if (!deadline)
		deadline = now + 1000000000U;
	while (!err) {
		if (gda_cq_poll(&cq->view, entry))
			return 0;
		if (cq->view.error)
			return gda_because(-(int)cq->view.error,
					   "the CQ belongs to the parent of this process: create another one here");
		err = gda_cq_arm(cq, eventfd, flags);
		if (err)
			return err;
		/* an entry that came before the CQ was armed sends no event */
		if (gda_cq_poll(&cq->view, entry))
			return 0;
		if (now > deadline && now - deadline > GDA_LONG_AGO_NS)
			return -ETIME;
		err = gda_cq_doze(eventfd, deadline);
	}
	return err;
}

GDA_EXPORT int gda_cq_sleep(struct gda_cq *cq, int eventfd, uint32_t flags,
			    struct gda_cq_entry *entry, uint64_t deadline)
{
	struct gda_cq_entry taken = { .size = sizeof(taken) };
	int err = gda_struct_check(entry, GDA_THROUGH(struct gda_cq_entry, vendor));

	if (!err)
		err = gda_cq_await(cq, eventfd, flags, &taken, deadline);
	if (!err)
		gda_struct_write(entry, &taken, sizeof(taken));
	return gda_called(err, "gda_cq_sleep", "CQ %u, eventfd %d, flags %#x, deadline %llu",
			  cq->handle, eventfd, flags, (unsigned long long)deadline);
}

// SPDX-License-Identifier: MIT
/*
 * The lane on which words of a GPU's memory are stored: a stream of the library, one for each GPU
 * that a context has opened. It stores whole words by stream memory operations of the driver, and
 * reads by a copy engine. Neither needs a multiprocessor, and the stream does not wait for others.
 *
 * MRs use the lane as long as they are registered, which may be longer than the GPU is open: so the
 * lane has its own reference to the GPU's context.
 */
#include <errno.h>
#include <stdlib.h>
#include "cuda_internal.h"

struct gda_cuda_lane {
	struct gda_inproc_lane base;
	unsigned int users;		/* atomic */
	int device;
	void *context;
	void *stream;
	void *event;
};

static struct gda_cuda_lane *gda_cuda_lane_of(struct gda_inproc_lane *lane)
{
	return gda_inproc_of(lane, struct gda_cuda_lane, base);
}

static int gda_cuda_lane_store(struct gda_inproc_lane *base, u64 dst, u64 value, u32 width)
{
	struct gda_cuda_lane *lane = gda_cuda_lane_of(base);

	gda_cu.context_set(lane->context);
	/* without flags, earlier stores are visible before this one */
	return gda_cu_errno(width == sizeof(u32) ?
			    gda_cu.stream_store(lane->stream, dst, (u32)value, 0) :
			    gda_cu.stream_store64(lane->stream, dst, value, 0));
}

static int gda_cuda_lane_read(struct gda_inproc_lane *base, u64 dst, u64 src, u32 len)
{
	struct gda_cuda_lane *lane = gda_cuda_lane_of(base);

	gda_cu.context_set(lane->context);
	return gda_cu_errno(gda_cu.stream_copy(dst, src, len, lane->stream));
}

/* The stream waits for the work that the event covers at the time of this call. */
static int gda_cuda_lane_order(struct gda_inproc_lane *base, struct gda_inproc_copier *c)
{
	struct gda_cuda_lane *lane = gda_cuda_lane_of(base);
	int result;

	gda_cu.context_set(lane->context);
	result = gda_cu.event_record(lane->event, lane->stream);
	return result ? gda_cu_errno(result) : gda_cuda_copier_wait(c, lane->event);
}

static int gda_cuda_lane_check(struct gda_inproc_lane *base)
{
	struct gda_cuda_lane *lane = gda_cuda_lane_of(base);
	int result;

	gda_cu.context_set(lane->context);
	result = gda_cu.stream_query(lane->stream);
	return result && result != GDA_CU_NOT_READY ? -EIO : 0;
}

static void gda_cuda_lane_put(struct gda_inproc_lane *base)
{
	struct gda_cuda_lane *lane = gda_cuda_lane_of(base);
	bool entered;

	if (__atomic_sub_fetch(&lane->users, 1, __ATOMIC_ACQ_REL))
		return;
	entered = !gda_cu.context_push(lane->context);
	if (lane->stream)
		gda_cu.stream_destroy(lane->stream);
	if (lane->event)
		gda_cu.event_destroy(lane->event);
	if (entered)
		gda_cuda_leave();
	gda_cu.context_release(lane->device);
	pthread_mutex_destroy(&lane->base.lock);
	free(lane);
}

static const struct gda_inproc_lane_ops gda_cuda_lane_ops = {
	.store = gda_cuda_lane_store,
	.read = gda_cuda_lane_read,
	.order = gda_cuda_lane_order,
	.check = gda_cuda_lane_check,
	.put = gda_cuda_lane_put,
};

static int gda_cuda_lane_new(struct gda_cuda *cuda, struct gda_cuda_lane **new)
{
	struct gda_cuda_lane *lane = calloc(1, sizeof(*lane));
	int err;

	if (!lane)
		return -ENOMEM;
	lane->device = cuda->device;
	err = gda_cu_errno(gda_cu.context_retain(&lane->context, cuda->device));
	if (err) {
		free(lane);
		return err;
	}
	lane->base.ops = &gda_cuda_lane_ops;
	lane->users = 1;
	pthread_mutex_init(&lane->base.lock, NULL);
	err = gda_cu_errno(gda_cu.stream_create(&lane->stream, GDA_CU_STREAM_NON_BLOCKING,
						cuda->priority));
	if (!err)
		err = gda_cu_errno(gda_cu.event_create(&lane->event,
						       GDA_CU_EVENT_DISABLE_TIMING));
	if (err) {
		gda_cuda_lane_put(&lane->base);
		return err;
	}
	*new = lane;
	return 0;
}

int gda_cuda_lane_get(struct gda_cuda *cuda, struct gda_inproc_lane **lane)
{
	int err = 0;

	pthread_mutex_lock(&cuda->lock);
	if (!cuda->lane)
		err = gda_cuda_lane_new(cuda, &cuda->lane);
	if (!err) {
		__atomic_fetch_add(&cuda->lane->users, 1, __ATOMIC_RELAXED);
		*lane = &cuda->lane->base;
	}
	pthread_mutex_unlock(&cuda->lock);
	return err;
}

void gda_cuda_lane_close(struct gda_cuda *cuda)
{
	if (cuda->lane)
		gda_cuda_lane_put(&cuda->lane->base);
	cuda->lane = NULL;
}

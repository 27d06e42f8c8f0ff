// SPDX-License-Identifier: MIT
/*
 * Events for a GPU: the pages of events are mapped there, and streams wait for their words and
 * write them by calls of the driver. For each event the highest awaited value is kept, so that
 * waiting streams can be released when the GPU is closed.
 */
#include <errno.h>
#include <stdlib.h>
#include <gda/dpa_cuda.h>
#include "dpa_internal.h"
#include "share.h"

struct gda_dpa_cuda {
	struct gda_dpa *dpa;
	struct gda_cuda *cuda;
	struct gda_cuda_map *map;
	uint64_t addr;			/* of map.words[0], there */
	uint64_t awaited[];		/* by handle: highest awaited value; under dpa->lock */
};

static int gda_dpa_cuda_new(struct gda_dpa *dpa, struct gda_cuda *cuda, struct gda_dpa_cuda **gpu)
{
	struct gda_dpa_map *m = &dpa->map;
	struct gda_dpa_cuda *g;
	int err = gda_dpa_enter(dpa);

	if (!err && gda_cuda_context(cuda) != dpa->ctx)
		err = gda_because(-EINVAL,
				  "the GPU was opened with another context: open it with that of gda_dpa_create()");
	if (err)
		return err;
	g = calloc(1, sizeof(*g) + (m->events + 1) * sizeof(g->awaited[0]));
	if (!g)
		return -ENOMEM;
	g->dpa = dpa;
	g->cuda = cuda;
	/* the events fill whole pages, and the heap follows */
	err = gda_cuda_pages_get(cuda, m->words, (size_t)(m->heap - (char *)m->words), &g->addr,
				 &g->map);
	if (err) {
		free(g);
		return err;
	}
	pthread_mutex_lock(&dpa->lock);
	dpa->gpus++;
	pthread_mutex_unlock(&dpa->lock);
	*gpu = g;
	return 0;
}

GDA_EXPORT int gda_dpa_cuda_create(struct gda_dpa *dpa, struct gda_cuda *cuda,
				   struct gda_dpa_cuda **gpu)
{
	return gda_called(gda_dpa_cuda_new(dpa, cuda, gpu), "gda_dpa_cuda_create", "%p",
			  (void *)cuda);
}

/* Release all streams that wait for an event. */
static void gda_dpa_cuda_release(struct gda_dpa_cuda *gpu)
{
	struct gda_dpa_map *m = &gpu->dpa->map;
	uint32_t i;

	for (i = 1; i <= m->events; i++)
		if (gpu->awaited[i])
			gda_max64(&m->words[i].value, gpu->awaited[i]);
}

static int gda_dpa_cuda_end(struct gda_dpa_cuda *gpu)
{
	struct gda_dpa *dpa = gpu->dpa;

	if (dpa->generation != gda_fork_generation()) {
		free(gpu);
		return -ENODEV;
	}
	pthread_mutex_lock(&dpa->lock);
	gda_dpa_cuda_release(gpu);
	dpa->gpus--;
	pthread_mutex_unlock(&dpa->lock);
	gda_cuda_pages_put(gpu->cuda, gpu->map);
	free(gpu);
	return 0;
}

GDA_EXPORT int gda_dpa_cuda_destroy(struct gda_dpa_cuda *gpu)
{
	if (!gpu)
		return 0;
	return gda_called(gda_dpa_cuda_end(gpu), "gda_dpa_cuda_destroy", "%p", (void *)gpu);
}

/* May the GPU use the event? @places: the event's publishers or subscribers. */
static int gda_dpa_cuda_may(struct gda_dpa_cuda *gpu, const struct gda_dpa_event *event,
			    uint32_t places, const char *name, uint64_t *addr)
{
	int err = gda_dpa_enter(gpu->dpa);

	if (!err && event->dpa != gpu->dpa)
		err = gda_because(-EINVAL,
				  "the event is of another gda_dpa context: pass one of this");
	if (!err && !(places & GDA_DPA_GPU))
		err = gda_because(-EACCES,
				  "GPUs are no %s of the event: create it with GDA_DPA_GPU among them",
				  name);
	*addr = gpu->addr + event->handle * sizeof(struct gda_dpa_word);
	return err;
}

GDA_EXPORT int gda_dpa_cuda_event(struct gda_dpa_cuda *gpu, struct gda_dpa_event *event,
				  struct gda_dpa_cuda_event *word)
{
	return gda_called(gda_dpa_cuda_may(gpu, event, event->publishers | event->subscribers,
					   "publisher or subscriber", &word->addr),
			  "gda_dpa_cuda_event", "event %u", event->handle);
}

static int gda_dpa_cuda_wait(struct gda_dpa_cuda *gpu, const struct gda_dpa_event *event,
			     uint64_t threshold, uint64_t mask, void *stream)
{
	uint64_t addr, *awaited = &gpu->awaited[event->handle];
	int err = gda_dpa_cuda_may(gpu, event, event->subscribers, "subscriber", &addr);

	if (err)
		return err;
	if (mask != UINT64_MAX)
		return gda_because(-EOPNOTSUPP,
				   "a stream compares all bits: set mask to UINT64_MAX, or wait by gda_dpa_event_await_gt()");
	if (threshold >= INT64_MAX)
		return gda_because(-ERANGE,
				   "a stream compares 63 bits: set a threshold below INT64_MAX");
	pthread_mutex_lock(&gpu->dpa->lock);
	err = gda_cuda_stream_wait(gpu->cuda, stream, addr, threshold + 1);
	if (!err && threshold >= *awaited)
		*awaited = threshold + 1;
	pthread_mutex_unlock(&gpu->dpa->lock);
	return err;
}

GDA_EXPORT int gda_dpa_cuda_stream_wait_gt(struct gda_dpa_cuda *gpu, struct gda_dpa_event *event,
					   uint64_t threshold, uint64_t mask, void *stream)
{
	return gda_called(gda_dpa_cuda_wait(gpu, event, threshold, mask, stream),
			  "gda_dpa_cuda_stream_wait_gt", "event %u, %p", event->handle, stream);
}

GDA_EXPORT int gda_dpa_cuda_stream_set(struct gda_dpa_cuda *gpu, struct gda_dpa_event *event,
				       uint64_t value, void *stream)
{
	uint64_t addr;
	int err = gda_dpa_cuda_may(gpu, event, event->publishers, "publisher", &addr);

	if (!err)
		err = gda_cuda_stream_store(gpu->cuda, stream, addr, value);
	return gda_called(err, "gda_dpa_cuda_stream_set", "event %u, %p", event->handle, stream);
}

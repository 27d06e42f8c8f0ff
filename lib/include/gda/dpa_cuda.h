/* SPDX-License-Identifier: MIT */
/*
 * Events of gda/dpa.h for a GPU: CUDA streams that wait for an event and set one, and kernels that
 * read, set and wait for it. Without a CUDA driver the rest of the library works.
 *
 * Events stay in memory of the host. A GPU's atomics there are not atomic with a processor's, so a
 * GPU sets events and does not add to them. A GPU may use only events whose attributes name
 * %GDA_DPA_GPU; threads that sleep for an event that a GPU publishes poll every millisecond.
 *
 * Streams wait for and set events by the driver's 64-bit wait and write operations, which need no
 * host thread and no multiprocessor. These waits have neither mask nor deadline, and compare 63-bit
 * differences: an event that a stream waits for must stay below 2^63.
 */
#ifndef GDA_DPA_CUDA_H
#define GDA_DPA_CUDA_H

#include <errno.h>
#include <stdint.h>
#include <gda/barrier.h>
#include <gda/cuda.h>
#include <gda/dpa.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

struct gda_dpa_cuda;

/**
 * struct gda_dpa_cuda_event - an event for kernels
 * @addr: of its value, for the GPU
 *
 * Plain data, to be passed to kernels by value.
 */
struct gda_dpa_cuda_event {
	uint64_t addr;
};

/**
 * gda_dpa_cuda_create - let a GPU reach the events of a context
 * @dpa: the context
 * @cuda: the GPU, opened with the same device context
 * @gpu: receives what the calls below take
 *
 * Return: 0; -EINVAL @cuda is of another device context; -ENOMEM out of memory; -EOPNOTSUPP the
 * driver cannot map the memory; -EIO the CUDA driver reports an error.
 */
int gda_dpa_cuda_create(struct gda_dpa *dpa, struct gda_cuda *cuda, struct gda_dpa_cuda **gpu);

/**
 * gda_dpa_cuda_destroy - take the events from a GPU
 * @gpu: of gda_dpa_cuda_create(), or NULL
 *
 * Must be called before gda_dpa_destroy(), which returns -EBUSY otherwise, even if the context is
 * fatal. Streams that still wait for an event are released: it is set to the awaited value. Kernels
 * may not use events any more, and the driver waits for running kernels.
 *
 * Return: 0; -ENODEV in a child of fork(2).
 */
int gda_dpa_cuda_destroy(struct gda_dpa_cuda *gpu);

/**
 * gda_dpa_cuda_event - an event for kernels
 * @gpu: the GPU
 * @event: an event of its context
 * @word: receives what kernels need
 *
 * Return: 0; -EINVAL the event is of another context; -EACCES %GDA_DPA_GPU is neither a publisher
 * nor a subscriber of it.
 */
int gda_dpa_cuda_event(struct gda_dpa_cuda *gpu, struct gda_dpa_event *event,
		       struct gda_dpa_cuda_event *word);

/**
 * gda_dpa_cuda_stream_wait_gt - have a stream wait until an event is greater
 * @gpu: the GPU
 * @event: the event
 * @threshold: its value must be greater than this, which is below 2^63 - 1
 * @mask: must be all ones
 * @stream: a CUstream or cudaStream_t of this GPU
 *
 * Kernels that are launched on the stream afterwards start then, and see all that was written
 * before the update. The call itself waits for nothing.
 *
 * Return: 0; -EOPNOTSUPP another mask, or the GPU has no 64-bit waits; -ERANGE @threshold is too
 * large; -EINVAL the event is of another context; -EACCES %GDA_DPA_GPU is no subscriber of it;
 * -EIO the CUDA driver reports an error.
 */
int gda_dpa_cuda_stream_wait_gt(struct gda_dpa_cuda *gpu, struct gda_dpa_event *event,
				uint64_t threshold, uint64_t mask, void *stream);

/**
 * gda_dpa_cuda_stream_set - have a stream set an event
 * @gpu: the GPU
 * @event: the event
 * @value: its value once all earlier work of the stream is done
 * @stream: a CUstream or cudaStream_t of this GPU
 *
 * Earlier writes are visible to a thread that sees the value, and launches that wait for the event
 * start.
 *
 * Return: 0; -EOPNOTSUPP the GPU has no 64-bit writes; -EINVAL the event is of another context;
 * -EACCES %GDA_DPA_GPU is no publisher of it; -EIO the CUDA driver reports an error.
 */
int gda_dpa_cuda_stream_set(struct gda_dpa_cuda *gpu, struct gda_dpa_event *event, uint64_t value,
			    void *stream);

/**
 * gda_dpa_cuda_read - the value of an event, in a kernel
 * @event: of gda_dpa_cuda_event()
 *
 * Return: the value; everything done before its update is visible.
 */
GDA_HELPER uint64_t gda_dpa_cuda_read(struct gda_dpa_cuda_event event)
{
	return gda_load_acquire64((const uint64_t *)(uintptr_t)event.addr);
}

/**
 * gda_dpa_cuda_set - set an event, in a kernel
 * @event: of gda_dpa_cuda_event(); the GPU is a publisher
 * @value: its value from now on
 *
 * This thread's earlier writes are visible to a thread that sees the value.
 */
GDA_HELPER void gda_dpa_cuda_set(struct gda_dpa_cuda_event event, uint64_t value)
{
	gda_store_release64((uint64_t *)(uintptr_t)event.addr, value);
}

/**
 * gda_dpa_cuda_wait_gt - wait in a kernel until an event is greater
 * @event: of gda_dpa_cuda_event(); the GPU is a subscriber
 * @threshold: (value & @mask) must be greater than this
 * @mask: bits of the value that count
 * @deadline: in ns of gda_clock_ns() there; 0: one second from now
 *
 * Return: 0; -ETIMEDOUT not so at @deadline.
 */
GDA_HELPER int gda_dpa_cuda_wait_gt(struct gda_dpa_cuda_event event, uint64_t threshold,
				    uint64_t mask, uint64_t deadline)
{
	if (!deadline)
		deadline = gda_clock_ns() + 1000000000U;
	while ((gda_dpa_cuda_read(event) & mask) <= threshold) {
		if (gda_clock_ns() >= deadline)
			return -ETIMEDOUT;
		gda_pause();
	}
	return 0;
}

/**
 * gda_dpa_cuda_wait_ne - wait in a kernel until an event differs
 * @event: of gda_dpa_cuda_event(); the GPU is a subscriber
 * @value: (value & @mask) must differ from this
 * @mask: bits of the value that count
 * @deadline: in ns of gda_clock_ns() there; 0: one second from now
 *
 * Return: as gda_dpa_cuda_wait_gt().
 */
GDA_HELPER int gda_dpa_cuda_wait_ne(struct gda_dpa_cuda_event event, uint64_t value,
				    uint64_t mask, uint64_t deadline)
{
	if (!deadline)
		deadline = gda_clock_ns() + 1000000000U;
	while ((gda_dpa_cuda_read(event) & mask) == value) {
		if (gda_clock_ns() >= deadline)
			return -ETIMEDOUT;
		gda_pause();
	}
	return 0;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_DPA_CUDA_H */

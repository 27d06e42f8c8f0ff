/* SPDX-License-Identifier: MIT */
/*
 * GPUs: queues that CUDA kernels post to, and GPU memory in work requests. gda_cuda_open() loads
 * libcuda; without it the rest of the library works.
 *
 * On the in-process device the CUDA driver copies GPU memory by its copy engines, on streams of the
 * library's own. Copy engines need no multiprocessor, so copies proceed beside a kernel that fills
 * all of them (but see %GDA_CUDA_LEAVES_ROOM). A queue has many copies in flight, in order, and
 * completes each work request when its copies are done. After gda_cuda_qp_create() nothing is
 * allocated for it, and no other stream is waited for.
 *
 * The CUDA driver has two properties that matter while a kernel waits for completions. A call that
 * unregisters or frees memory waits for the kernel: destroy QPs after it has ended, or call
 * gda_cuda_qp_abort() before. And a copy from or to pageable memory that waits behind the kernel,
 * such as cudaMemcpy(), blocks all other calls until then, the library's too: wait with
 * cudaStreamSynchronize() or cudaDeviceSynchronize() first.
 *
 * Addresses of GPU memory are 64-bit integers, which CUDA calls CUdeviceptr. All calls
 * use the primary context of the GPU, as the CUDA runtime does, and leave the calling
 * thread's current context alone. Return values are as in gda/gda.h; in addition any
 * call may return -EIO, when the CUDA driver reports an error that no other errno fits, such
 * as one of an earlier kernel.
 *
 * The CUDA driver does not work in a child of fork(2): there every call but
 * gda_cuda_open() is -ENODEV, and destroys nothing.
 */
#ifndef GDA_CUDA_H
#define GDA_CUDA_H

#include <stddef.h>
#include <stdint.h>
#include <gda/gda.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gda_cuda;
struct gda_cuda_qp;

/**
 * gda_cuda_open - use a GPU with a context
 * @ctx: the context; must outlive @cuda
 * @device: number of the GPU, as the CUDA driver counts
 * @cuda: receives the GPU
 *
 * Where possible, lets this GPU and those opened before reach each other's memory.
 *
 * Return: 0; -ENOENT there is no CUDA driver; -ENODEV it has no such GPU;
 * -EOPNOTSUPP the driver or the GPU is too old; -EINVAL %GDA_LIBCUDA is no absolute path; -EACCES
 * the loader would search relative directories.
 */
int gda_cuda_open(struct gda_context *ctx, int device, struct gda_cuda **cuda);

/**
 * gda_cuda_close - give a GPU back
 * @cuda: the GPU, or NULL; its QPs are destroyed
 */
void gda_cuda_close(struct gda_cuda *cuda);

/**
 * define GDA_CUDA_COPY - work requests may name GPU memory
 */
#define GDA_CUDA_COPY		(1ULL << 0)
/**
 * define GDA_CUDA_DMABUF - gda_cuda_dmabuf() works
 */
#define GDA_CUDA_DMABUF		(1ULL << 1)
/**
 * define GDA_CUDA_ATOMIC - GPU memory may be registered with %GDA_CUDA_MR_WORDS
 *
 * Without it, atomic words live in host memory that the GPU has mapped.
 */
#define GDA_CUDA_ATOMIC		(1ULL << 2)

/**
 * struct gda_cuda_caps - the features of a GPU with a context
 * @size: sizeof(struct gda_cuda_caps)
 * @device: as given to gda_cuda_open()
 * @features: GDA_CUDA_*
 * @multiprocessors: of the GPU
 * @reserved: 0
 */
struct gda_cuda_caps {
	uint32_t size;
	int32_t device;
	uint64_t features;
	uint32_t multiprocessors;
	uint32_t reserved;
};

/**
 * gda_cuda_query - read the features of a GPU with its context
 * @cuda: the GPU
 * @caps: receives them; the caller sets the size
 *
 * Return: 0; -EINVAL, -E2BIG the size of @caps is wrong.
 */
int gda_cuda_query(struct gda_cuda *cuda, struct gda_cuda_caps *caps);

/**
 * define GDA_CUDA_SQ_GPU - the send queue lies in GPU memory
 *
 * The executor copies what was published before it reads it: one copy of a few
 * microseconds per doorbell, but posters write to memory of their own.
 */
#define GDA_CUDA_SQ_GPU		(1U << 0)
/**
 * define GDA_CUDA_CQ_GPU - the completion queue lies in GPU memory
 *
 * Waiting threads then poll memory of their own. In host memory each poll crosses the
 * bus, and many threads that wait slow down all other traffic on it.
 */
#define GDA_CUDA_CQ_GPU		(1U << 1)
/**
 * define GDA_CUDA_VIEW_HOST - the view and its words lie in host memory
 *
 * By default they are in GPU memory, where posters share them cheaply.
 */
#define GDA_CUDA_VIEW_HOST	(1U << 2)
/**
 * define GDA_CUDA_LEAVES_ROOM - kernels that wait leave room on the multiprocessors
 *
 * The CUDA driver copies within a GPU by a kernel of its own. If threads that wait for the copy
 * occupy all multiprocessors, that kernel never runs and they wait for ever; so the library moves
 * such bytes through host memory, at the speed of the bus. With this promise it lets the driver
 * copy directly.
 */
#define GDA_CUDA_LEAVES_ROOM	(1U << 3)

/**
 * struct gda_cuda_qp_attr - attributes of a new QP for a GPU
 * @size: sizeof(struct gda_cuda_qp_attr)
 * @flags: %GDA_QP_POLLED, or 0
 * @sq_depth: slots of 64 bytes, a power of two; 0: 256
 * @place: %GDA_CUDA_SQ_GPU, %GDA_CUDA_CQ_GPU, %GDA_CUDA_VIEW_HOST and %GDA_CUDA_LEAVES_ROOM, any
 *	combination; 0: queues in host memory, the view in GPU memory, and no promise
 * @timeout_ns: bound of every wait inside a posting call (full ring) and of waits without a
 *	deadline, in the GPU's time; 0: one second
 * @dialect: enum gda_dialect of gda/ioctl.h; 0: the default one. %GDA_DIALECT_EFA takes neither
 *	%GDA_CUDA_SQ_GPU nor %GDA_CUDA_CQ_GPU, and exists on the in-process device
 * @reserved: 0
 */
struct gda_cuda_qp_attr {
	uint32_t size;
	uint32_t flags;
	uint32_t sq_depth;
	uint32_t place;
	uint64_t timeout_ns;
	uint32_t dialect;
	uint32_t reserved;
};

/**
 * gda_cuda_qp_create - create a QP that a GPU posts to
 * @cuda: the GPU
 * @attr: attributes of the QP
 * @qp: receives the new QP
 *
 * Creates the QP with a CQ of its own, maps both into the GPU's address space and makes the view.
 * On the in-process device the CUDA driver executes work requests that name GPU memory.
 *
 * Call it before launching a kernel that runs until it is told to stop: the
 * driver may wait for that kernel.
 *
 * Return: as gda_qp_create(); -EOPNOTSUPP also if @place names a part that the device does not
 * put there: the kernel's devices keep their queues in host memory; or if the device has no queues
 * in @dialect that a GPU can map.
 */
int gda_cuda_qp_create(struct gda_cuda *cuda, const struct gda_cuda_qp_attr *attr,
		       struct gda_cuda_qp **qp);

/**
 * gda_cuda_qp_destroy - destroy a QP and its view
 * @qp: the QP, or NULL; gone when the call returns
 *
 * No kernel may use the view any more. Waits for the copies in flight, and, like any
 * call that unregisters host memory, for all kernels that run.
 *
 * Return: 0 or a negative errno.
 */
int gda_cuda_qp_destroy(struct gda_cuda_qp *qp);

/**
 * gda_cuda_qp_base - the QP of gda/gda.h behind a GPU's QP, to connect and query it
 * @qp: the QP
 *
 * If its queues are in host memory a CPU may post through gda_qp_view(), but only instead of the
 * GPU, because each view has its own counters. The caller must not destroy it.
 *
 * Return: the QP of gda/gda.h.
 */
struct gda_qp *gda_cuda_qp_base(struct gda_cuda_qp *qp);

/**
 * gda_cuda_qp_view_sized - the view of a GPU's QP, for a kernel that knows the view's size
 * @qp: the QP
 * @size: bytes of the view that the kernel knows
 *
 * Return: as gda_cuda_qp_view(); NULL if the library's view has fewer bytes than @size.
 */
struct gda_view *gda_cuda_qp_view_sized(struct gda_cuda_qp *qp, size_t size);

/**
 * gda_cuda_qp_view_spoken - gda_cuda_qp_view_sized(), for a kernel whose dialects are known, too
 * @qp: the QP
 * @size: bytes of the view that the kernel knows
 * @spoken: a bit for each enum gda_dialect, as %GDA_SPOKEN
 *
 * Return: as gda_cuda_qp_view().
 */
struct gda_view *gda_cuda_qp_view_spoken(struct gda_cuda_qp *qp, size_t size, uint64_t spoken);

/**
 * gda_cuda_qp_view - the view through which a kernel posts to a QP
 * @qp: the QP
 *
 * In a dialect in which each post names its target, the view names the QP to which @qp was
 * connected when this was called last: call it behind gda_qp_connect().
 *
 * Return: the view, at the GPU's address; see gda/fastpath.h. NULL if the library is older
 * than this header and its view is smaller, or the program does not speak the dialect of @qp
 * (%GDA_SPOKEN).
 */
GDA_HOST_API struct gda_view *gda_cuda_qp_view(struct gda_cuda_qp *qp)
{
	return gda_cuda_qp_view_spoken(qp, sizeof(struct gda_view), GDA_SPOKEN);
}

/**
 * gda_cuda_qp_abort - end all waits on the GPU with -ESHUTDOWN
 * @qp: the QP
 *
 * Sets the view's abort word, which lies in host memory. It stays set.
 */
void gda_cuda_qp_abort(struct gda_cuda_qp *qp);

/**
 * define GDA_CUDA_MR_WORDS - words of the MR may be added to and signalled
 *
 * Every atomic work request may name an aligned word of 4 or 8 bytes of the MR, from any number of
 * QPs made by gda_cuda_qp_create(), and it is atomic against all of them. So is a write of 4 or 8
 * aligned bytes, inline, from host memory or from one segment of GPU memory. The word is stored
 * whole, behind all that its QP was posted before: a thread that sees it by an acquiring load sees
 * that, too. None of this needs a multiprocessor.
 *
 * The library keeps the current values: while the MR is registered, only such work requests on it
 * may change the memory. Other writes to it fail with %GDA_CAUSE_ALIGN; reads work as on any MR.
 * %GDA_CUDA_MR_STORES allows more.
 */
#define GDA_CUDA_MR_WORDS	(1U << 16)
/**
 * define GDA_CUDA_MR_STORES - others store to words of the MR, too
 *
 * Together with %GDA_CUDA_MR_WORDS. Kernels, other writes to the MR and copies by the program may
 * change a word while no atomic on it is in flight. The library keeps no values: each atomic reads
 * the word first, which takes some microseconds, one at a time for each MR.
 */
#define GDA_CUDA_MR_STORES	(1U << 17)

/**
 * gda_cuda_mr_reg - register GPU memory
 * @cuda: the GPU
 * @addr: first byte, of memory allocated by the CUDA driver or runtime on any GPU
 * @length: length in bytes
 * @access: rights: GDA_ACCESS_*
 * @flags: %GDA_MR_ZERO_BASED, %GDA_CUDA_MR_WORDS and %GDA_CUDA_MR_STORES, any combination
 * @mr: receives the new MR, to be used and deregistered as any other
 *
 * On the in-process device the memory must stay allocated while it is registered. A work request
 * that names it executes on a QP made by gda_cuda_qp_create(). On any other QP it fails with
 * %GDA_CAUSE_IO, as does an atomic work request on every QP unless the MR has %GDA_CUDA_MR_WORDS.
 * On the kernel's devices the memory is registered as a dma-buf, and an executor that cannot reach
 * the memory refuses it.
 *
 * Return: as gda_mr_reg(); -EFAULT it is not GPU memory, or not all of one allocation;
 * -EOPNOTSUPP the module, the executor or the GPU does not support it; with %GDA_CUDA_MR_WORDS
 * also -EINVAL @addr is no multiple of 8, and -EBUSY some of it is registered so already.
 */
int gda_cuda_mr_reg(struct gda_cuda *cuda, uint64_t addr, size_t length, uint32_t access,
		    uint32_t flags, struct gda_mr **mr);

/**
 * gda_cuda_dmabuf - export GPU memory as a dma-buf
 * @cuda: the GPU
 * @addr: first byte
 * @length: length in bytes
 * @fd: receives the dma-buf, close-on-exec; the caller closes it
 * @offset: receives the offset of @addr in the dma-buf, because dma-bufs begin and end on page
 *	boundaries
 *
 * Nothing is registered. The dma-buf holds a reference to the memory.
 *
 * Return: 0; -EFAULT it is not GPU memory, or not all of one allocation; -EOPNOTSUPP the GPU or
 * its driver does not export memory.
 */
int gda_cuda_dmabuf(struct gda_cuda *cuda, uint64_t addr, size_t length, int *fd,
		    uint64_t *offset);

#ifdef __cplusplus
}
#endif

#endif /* GDA_CUDA_H */

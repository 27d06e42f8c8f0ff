/* SPDX-License-Identifier: MIT */
/*
 * An executor carries out the work of a context. As in kmod/include/gda/executor.h it is a table of
 * operations, with the same names. The calls for one context are serialized by ctx->lock, except
 * where noted below. Operations that return void cannot fail. device.c lists the executors.
 *
 * An executor can also be attached to a single QP, which it then serves in place of the context's
 * executor (copier/copier.h). Such an executor has only visit() and poll().
 */
#ifndef GDA_INPROC_EXECUTOR_H
#define GDA_INPROC_EXECUTOR_H

#include <gda/gda.h>
#include "gda_os.h"

struct gda_inproc_context;
struct gda_inproc_mr;
struct gda_inproc_qp;

struct gda_inproc_executor {
	/* Called without a lock: does a device of this name belong to the executor? */
	bool (*has)(const char *device);
	/* Called without a lock: name and features of device @n. 0, or -ENOENT at the end. */
	int (*describe)(u32 n, struct gda_device_info *info);
	/* The first call for a context: set ctx->features. 0 or a negative errno. */
	int (*bind)(struct gda_inproc_context *ctx, const char *device);
	/* The last call for a context. */
	void (*unbind)(struct gda_inproc_context *ctx);
	/*
	 * Called in a child of fork(2) in place of all others: close descriptors that would keep
	 * the parent's device open. Optional.
	 */
	void (*forked)(struct gda_inproc_context *ctx);
	/* Fill in the name, and lower the limits in @cmd to those of the device. */
	void (*query)(const struct gda_inproc_context *ctx, struct gda_query *cmd);
	/* Bytes to allocate with each QP as qp->priv; 0 if the executor sets qp->priv itself. */
	size_t qp_size;
	/*
	 * The QP has a number and is about to be published to its worker. Set qp->flight if
	 * requests can stay in flight between two visits. 0 or a negative errno.
	 */
	int (*qp_create)(struct gda_inproc_qp *qp);
	/* Optional: undo qp_create(). */
	void (*qp_free)(struct gda_inproc_qp *qp);
	void (*qp_address)(struct gda_inproc_qp *qp, u8 *address);
	int (*qp_connect)(struct gda_inproc_qp *qp, const u8 *address);
	/* Optional, under dev->peer_lock: the QP of an address, or NULL; -EINVAL if malformed. */
	int (*qp_find)(const u8 *address, struct gda_inproc_qp **qp);
	/* The QP is being destroyed and its number is unpublished. */
	void (*qp_disconnect)(struct gda_inproc_qp *qp);
	/* Optional: the number of the peer that the QP has requested, or 0. */
	u32 (*qp_peer)(const struct gda_inproc_qp *qp);
	/*
	 * Set mr->mem.key; the rest of @mr is filled in. 0 or a negative errno. An executor
	 * without these three operations uses the keys of key.c, which the engine can look up.
	 */
	int (*mr_map)(struct gda_inproc_mr *mr);
	/* The key is dead; queues may still use the MR until mr_free(). */
	void (*mr_unmap)(struct gda_inproc_mr *mr);
	void (*mr_free)(struct gda_inproc_mr *mr);
	/*
	 * Serve a queue for a while, called without a lock by the thread that has the queue's
	 * turn. NULL: gda_engine_visit() serves it. Return: the number of work requests done, or
	 * more than 0 if the worker shall come again soon.
	 */
	u32 (*visit)(struct gda_inproc_qp *qp, u32 wqes, u32 bytes);
	/*
	 * Optional: only the queue's worker visits the queue. After gda_inproc_poll_later() the
	 * worker calls poll() in every pass, and neither sleeps nor becomes quiescent until
	 * poll() returns false because nothing is in flight.
	 */
	bool (*poll)(struct gda_inproc_qp *qp);
};

/* Data that an attached executor keeps with an object; the object frees it. */
struct gda_inproc_attachment {
	void (*free)(struct gda_inproc_attachment *attached);
};

extern const struct gda_inproc_executor gda_inproc_soft, gda_verbs_executor;

#endif /* GDA_INPROC_EXECUTOR_H */

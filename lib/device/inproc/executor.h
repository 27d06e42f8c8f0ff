/* SPDX-License-Identifier: MIT */
/*
 * An executor carries out the work of a context, as in kmod/include/gda/executor.h: one table each,
 * with the same names for the same. Calls of one context are one after the other, with ctx->lock
 * held but for those that the table says; what returns void cannot fail. device.c has the list.
 *
 * One can be attached to a QP later, to serve it in place of the context's (copier/copier.h). It
 * has visit() and poll() only.
 */
#ifndef GDA_INPROC_EXECUTOR_H
#define GDA_INPROC_EXECUTOR_H

#include <gda/gda.h>
#include "gda_os.h"

struct gda_inproc_context;
struct gda_inproc_mr;
struct gda_inproc_qp;

struct gda_inproc_executor {
	/* Without a lock: is it asked for a device of this name? */
	bool (*has)(const char *device);
	/* Likewise: fill in name and features of its devices, @n from 0. 0, or -ENOENT: no more. */
	int (*describe)(u32 n, struct gda_device_info *info);
	/* Before all other calls of a context: set ctx->features. 0 or a negative errno */
	int (*bind)(struct gda_inproc_context *ctx, const char *device);
	/* After all others. */
	void (*unbind)(struct gda_inproc_context *ctx);
	/*
	 * Instead of any other, in a child of fork(2): close what a device would keep for the
	 * parent. NULL: nothing
	 */
	void (*forked)(struct gda_inproc_context *ctx);
	/* Its name, and limits that are lower than those that are filled in. */
	void (*query)(const struct gda_inproc_context *ctx, struct gda_query *cmd);
	/* Bytes of its own that are allocated with each QP, qp->priv; 0: it sets that itself */
	size_t qp_size;
	/*
	 * A QP that has its number is about to be shown to its worker. If work of it can be in
	 * flight between two visits, set qp->flight. 0 or a negative errno
	 */
	int (*qp_create)(struct gda_inproc_qp *qp);
	/* Optional: undo qp_create(). */
	void (*qp_free)(struct gda_inproc_qp *qp);
	void (*qp_address)(struct gda_inproc_qp *qp, u8 *address);
	int (*qp_connect)(struct gda_inproc_qp *qp, const u8 *address);
	/* Optional: the QP of an address, or NULL; -EINVAL. dev->peer_lock is held. */
	int (*qp_find)(const u8 *address, struct gda_inproc_qp **qp);
	/* It is being killed: nobody finds its number any more. */
	void (*qp_disconnect)(struct gda_inproc_qp *qp);
	/* Optional: the number of the peer that it has named, or 0. */
	u32 (*qp_peer)(const struct gda_inproc_qp *qp);
	/*
	 * Set mr->mem.key; all else there is filled in. 0 or a negative errno. Without these three
	 * keys are key.c's, as the engine finds them
	 */
	int (*mr_map)(struct gda_inproc_mr *mr);
	/* The key is dead; queues may be at work with the MR until mr_free(). */
	void (*mr_unmap)(struct gda_inproc_mr *mr);
	void (*mr_free)(struct gda_inproc_mr *mr);
	/*
	 * Serve a queue for a while, in place of gda_engine_visit(); NULL: the engine does. Called
	 * without a lock, by whoever has the queue's turn. Return: how much was done, in work
	 * requests, and more than 0 also while the worker is to come again soon
	 */
	u32 (*visit)(struct gda_inproc_qp *qp, u32 wqes, u32 bytes);
	/*
	 * Optional: the queue's worker alone visits it. After gda_inproc_poll_later() it calls this
	 * in every pass, and neither sleeps nor is quiescent, until this is false: nothing is in
	 * flight
	 */
	bool (*poll)(struct gda_inproc_qp *qp);
};

/* Data that an attached executor keeps with an object; the object frees it. */
struct gda_inproc_attachment {
	void (*free)(struct gda_inproc_attachment *attached);
};

extern const struct gda_inproc_executor gda_inproc_soft, gda_verbs_executor;

#endif /* GDA_INPROC_EXECUTOR_H */

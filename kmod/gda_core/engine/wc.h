/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Why work that an RDMA device carried out failed: the status of its work completion as a
 * class and a cause. The same table for executors on the kernel's verbs and on libibverbs,
 * whose numbers are the same.
 *
 * A responder on the fabric says that it refuses, and not why: GDA_CAUSE_FABRIC.
 */
#ifndef GDA_ENGINE_WC_H
#define GDA_ENGINE_WC_H

#include "dialect.h"

/**
 * gda_wc_status - what the status of a work completion means
 * @status: enum ib_wc_status or enum ibv_wc_status
 *
 * A flush says only that the queue pair is in error: the request that failed before, or the
 * event that ended the connection, says why.
 *
 * Return: class and cause; of success GDA_CLASS_NONE, of a status that is new
 * GDA_CLASS_QUEUE.
 */
static inline struct gda_status gda_wc_status(u32 status)
{
	static const struct gda_status of[] = {
		{ GDA_CLASS_NONE, GDA_CAUSE_NONE },		/* SUCCESS */
		{ GDA_CLASS_LOCAL, GDA_CAUSE_LENGTH },		/* LOC_LEN_ERR */
		{ GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC },		/* LOC_QP_OP_ERR */
		{ GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC },		/* LOC_EEC_OP_ERR */
		{ GDA_CLASS_LOCAL, GDA_CAUSE_KEY },		/* LOC_PROT_ERR */
		{ GDA_CLASS_FLUSH, GDA_CAUSE_NONE },		/* WR_FLUSH_ERR */
		{ GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC },		/* MW_BIND_ERR */
		{ GDA_CLASS_RETRY, GDA_CAUSE_FABRIC },		/* BAD_RESP_ERR */
		{ GDA_CLASS_LOCAL, GDA_CAUSE_RIGHTS },		/* LOC_ACCESS_ERR */
		{ GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_FABRIC },	/* REM_INV_REQ_ERR */
		{ GDA_CLASS_REMOTE_ACCESS, GDA_CAUSE_FABRIC },	/* REM_ACCESS_ERR */
		{ GDA_CLASS_REMOTE_OP, GDA_CAUSE_FABRIC },	/* REM_OP_ERR */
		{ GDA_CLASS_RETRY, GDA_CAUSE_FABRIC },		/* RETRY_EXC_ERR */
		{ GDA_CLASS_RNR, GDA_CAUSE_RECV },		/* RNR_RETRY_EXC_ERR */
		{ GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC },		/* LOC_RDD_VIOL_ERR */
		{ GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_FABRIC },	/* REM_INV_RD_REQ_ERR */
		{ GDA_CLASS_REMOTE_OP, GDA_CAUSE_FABRIC },	/* REM_ABORT_ERR */
		{ GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC },		/* INV_EECN_ERR */
		{ GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC },		/* INV_EEC_STATE_ERR */
		{ GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE },		/* FATAL_ERR */
		{ GDA_CLASS_RETRY, GDA_CAUSE_FABRIC },		/* RESP_TIMEOUT_ERR */
		{ GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC },		/* GENERAL_ERR */
	};

	if (status < sizeof(of) / sizeof(of[0]))
		return of[status];
	return gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC);
}

#endif /* GDA_ENGINE_WC_H */

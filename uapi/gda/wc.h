/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/**
 * DOC: Why work that an RDMA device carried out failed
 *
 * The status of a work completion of verbs as a class and a cause, the same for executors in the
 * kernel and for those on libibverbs: the numbers of enum ib_wc_status and enum ibv_wc_status are
 * the same. A responder on a fabric says that it refuses, but not why: %GDA_CAUSE_FABRIC.
 */
#ifndef _UAPI_GDA_WC_H
#define _UAPI_GDA_WC_H

#include <linux/types.h>
#include <gda/cause.h>

/**
 * define GDA_WC_STATUS - a class and a cause in one word
 * @class: enum gda_class, in bits 7:0
 * @cause: enum gda_cause, in bits 15:8
 */
#define GDA_WC_STATUS(class, cause)	((cause) * 256U + (class))

/**
 * gda_wc_status - translate the status of a work completion
 * @status: enum ib_wc_status or enum ibv_wc_status
 *
 * A flush says only that the queue pair is in error: the request that failed before, or the
 * event that ended the connection, says why.
 *
 * Return: GDA_WC_STATUS(); 0 of success.
 */
static __inline__ __u32 gda_wc_status(__u32 status)
{
	switch (status) {
	case 0:		/* SUCCESS */
		return GDA_WC_STATUS(GDA_CLASS_NONE, GDA_CAUSE_NONE);
	case 1:		/* LOC_LEN_ERR */
		return GDA_WC_STATUS(GDA_CLASS_LOCAL, GDA_CAUSE_LENGTH);
	case 4:		/* LOC_PROT_ERR */
		return GDA_WC_STATUS(GDA_CLASS_LOCAL, GDA_CAUSE_KEY);
	case 5:		/* WR_FLUSH_ERR */
		return GDA_WC_STATUS(GDA_CLASS_FLUSH, GDA_CAUSE_NONE);
	case 8:		/* LOC_ACCESS_ERR */
		return GDA_WC_STATUS(GDA_CLASS_LOCAL, GDA_CAUSE_RIGHTS);
	case 9:		/* REM_INV_REQ_ERR */
	case 15:	/* REM_INV_RD_REQ_ERR */
		return GDA_WC_STATUS(GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_FABRIC);
	case 10:	/* REM_ACCESS_ERR */
		return GDA_WC_STATUS(GDA_CLASS_REMOTE_ACCESS, GDA_CAUSE_FABRIC);
	case 11:	/* REM_OP_ERR */
	case 16:	/* REM_ABORT_ERR */
		return GDA_WC_STATUS(GDA_CLASS_REMOTE_OP, GDA_CAUSE_FABRIC);
	case 7:		/* BAD_RESP_ERR */
	case 12:	/* RETRY_EXC_ERR */
	case 20:	/* RESP_TIMEOUT_ERR */
		return GDA_WC_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_FABRIC);
	case 13:	/* RNR_RETRY_EXC_ERR */
		return GDA_WC_STATUS(GDA_CLASS_RNR, GDA_CAUSE_RECV);
	case 19:	/* FATAL_ERR */
		return GDA_WC_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE);
	default:	/* an error of the queue pair itself, or a status that is new */
		return GDA_WC_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC);
	}
}

#endif /* _UAPI_GDA_WC_H */

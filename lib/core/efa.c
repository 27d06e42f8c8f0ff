// SPDX-License-Identifier: MIT
/* The part of the efa dialect that posting does not need: texts of its statuses. */
#include <gda/efa.h>
#include "gda_internal.h"

static const struct gda_error_text gda_efa_statuses[] = {
	{ GDA_EFA_OK, "no error" },
	{ GDA_EFA_FLUSHED, "flushed: another request has failed the queue" },
	{ GDA_EFA_QP_INTERNAL, "malformed entry, or a queue that cannot be read" },
	{ GDA_EFA_BAD_OP, "unknown operation" },
	{ GDA_EFA_BAD_AH, "the address handle names nobody: call gda_qp_connect() or gda_view_peer()" },
	{ GDA_EFA_BAD_LKEY, "bad local key, right or range" },
	{ GDA_EFA_BAD_LENGTH, "bad length" },
	{ GDA_EFA_BAD_ADDRESS, "bad remote key, right or range, or key of the peer's QP" },
	{ GDA_EFA_ABORT, "the responder cannot carry it out" },
	{ GDA_EFA_BAD_DEST_QP, "no such QP at the peer" },
	{ GDA_EFA_NOT_READY, "receiver not ready, retry exceeded" },
	{ GDA_EFA_UNRESPONSIVE, "the peer is gone or has failed" },
	{ GDA_EFA_UNKNOWN_PEER,
	  "the peer has not added this side: call gda_qp_connect() or gda_peer_add() there" },
	{ GDA_EFA_FEATURE_MISMATCH, "the peer's QP takes no immediates" },
};

const char *gda_efa_status_name(uint32_t status)
{
	return GDA_LOOKUP(gda_efa_statuses, (int)status);
}

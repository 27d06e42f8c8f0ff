// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The table of known flags and reserved members of control calls (request.h). */
#include "request.h"

#define GDA_REQUEST_RESERVED	4

/* Offsets of reserved members, each 32 bits; 0 stands for none. */
struct gda_request {
	u32 flags;
	u16 reserved[GDA_REQUEST_RESERVED];
};

#define GDA_REQUEST(_nr, _flags, ...)	\
	[GDA_IOC_NR_##_nr] = { .flags = _flags, .reserved = { __VA_ARGS__ } }

static const struct gda_request gda_requests[GDA_IOC_NR_END] = {
	GDA_REQUEST(DESTROY, GDA_DESTROY_CONTEXT, offsetof(struct gda_destroy, reserved)),
	GDA_REQUEST(CQ_CREATE, GDA_CQ_COLLAPSED | GDA_CQ_WRITABLE | GDA_CQ_DMABUF |
		    GDA_CQ_DBREC_DMABUF | GDA_CQ_IGNORE_OVERRUN,
		    offsetof(struct gda_cq_create, reserved)),
	GDA_REQUEST(QP_CREATE, GDA_QP_POLLED | GDA_QP_SQ_DMABUF | GDA_QP_DBREC_DMABUF,
		    offsetof(struct gda_qp_create, reserved)),
	GDA_REQUEST(QP_ADDRESS, 0, offsetof(struct gda_qp_address, reserved)),
	GDA_REQUEST(QP_CONNECT, 0, offsetof(struct gda_qp_connect, reserved)),
	GDA_REQUEST(MR_REG_USER, GDA_MR_ZERO_BASED, offsetof(struct gda_mr_reg_user, reserved)),
	GDA_REQUEST(MR_REG_DMABUF, GDA_MR_ZERO_BASED),
	GDA_REQUEST(MR_REG_PEER, GDA_MR_ZERO_BASED, offsetof(struct gda_mr_reg_peer, reserved)),
	GDA_REQUEST(MR_QUERY, 0, offsetof(struct gda_mr_query, reserved)),
	GDA_REQUEST(CQ_EVENT, GDA_CQ_ARM | GDA_CQ_ARM_SOLICITED | GDA_CQ_DETACH),
	GDA_REQUEST(RECORD, 0, offsetof(struct gda_record_set, reserved)),
	GDA_REQUEST(COUNTER_CREATE, GDA_COUNTER_VALUE_MEMORY | GDA_COUNTER_ERRORS_MEMORY |
		    GDA_COUNTER_WRAP31, offsetof(struct gda_counter_create, reserved),
		    offsetof(struct gda_counter_create, reserved2),
		    offsetof(struct gda_counter_create, value_memory.reserved),
		    offsetof(struct gda_counter_create, errors_memory.reserved)),
};

int gda_control_check_request(u32 nr, const void *cmd)
{
	const struct gda_request *request = &gda_requests[nr];
	const u32 *words = cmd;
	u32 i;

	/* each structure begins with its size and its flags */
	if (words[1] & ~request->flags)
		return -EOPNOTSUPP;
	for (i = 0; i < GDA_REQUEST_RESERVED; i++)
		if (request->reserved[i] && words[request->reserved[i] / sizeof(*words)])
			return -EOPNOTSUPP;
	return 0;
}

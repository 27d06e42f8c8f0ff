// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/gda.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink_gen.h"

#include <uapi/gda/netlink.h>
#include <gda/ioctl.h>
#include <gda/cause.h>
#include <gda/record.h>

/* GDA_CMD_DEVICE_GET - do */
const struct nla_policy gda_device_get_nl_policy[GDA_A_DEVICE_NAME + 1] = {
	[GDA_A_DEVICE_ID] = { .type = NLA_U32, },
	[GDA_A_DEVICE_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
};

/* GDA_CMD_CONTEXT_GET - do */
const struct nla_policy gda_context_get_nl_policy[GDA_A_CONTEXT_ID + 1] = {
	[GDA_A_CONTEXT_ID] = { .type = NLA_U32, },
};

/* GDA_CMD_QP_GET - do */
const struct nla_policy gda_qp_get_nl_policy[GDA_A_QP_HANDLE + 1] = {
	[GDA_A_QP_CONTEXT] = { .type = NLA_U32, },
	[GDA_A_QP_HANDLE] = { .type = NLA_U32, },
};

/* GDA_CMD_CQ_GET - do */
const struct nla_policy gda_cq_get_nl_policy[GDA_A_CQ_HANDLE + 1] = {
	[GDA_A_CQ_CONTEXT] = { .type = NLA_U32, },
	[GDA_A_CQ_HANDLE] = { .type = NLA_U32, },
};

/* GDA_CMD_MR_GET - do */
const struct nla_policy gda_mr_get_nl_policy[GDA_A_MR_HANDLE + 1] = {
	[GDA_A_MR_CONTEXT] = { .type = NLA_U32, },
	[GDA_A_MR_HANDLE] = { .type = NLA_U32, },
};

/* GDA_CMD_COUNTER_GET - do */
const struct nla_policy gda_counter_get_nl_policy[GDA_A_COUNTER_HANDLE + 1] = {
	[GDA_A_COUNTER_CONTEXT] = { .type = NLA_U32, },
	[GDA_A_COUNTER_HANDLE] = { .type = NLA_U32, },
};

/* GDA_CMD_STATS_GET - do */
const struct nla_policy gda_stats_get_nl_policy[GDA_A_STATS_PAD + 1] = {
};

/* GDA_CMD_LIMITS_GET - do */
const struct nla_policy gda_limits_get_nl_policy[GDA_A_LIMITS_PAD + 1] = {
};

/* GDA_CMD_LIMITS_SET - do */
const struct nla_policy gda_limits_set_nl_policy[GDA_A_LIMITS_MAX_EXECUTOR_QPS + 1] = {
	[GDA_A_LIMITS_MAX_CONTEXTS] = { .type = NLA_U32, },
	[GDA_A_LIMITS_MAX_OBJECTS] = { .type = NLA_U32, },
	[GDA_A_LIMITS_IDLE_US] = { .type = NLA_U32, },
	[GDA_A_LIMITS_MAX_EXECUTOR_QPS] = { .type = NLA_U32, },
};

/* GDA_CMD_RECORD_GET - do */
const struct nla_policy gda_record_get_nl_policy[GDA_A_RECORD_CONTEXT + 1] = {
	[GDA_A_RECORD_CONTEXT] = { .type = NLA_U32, },
};

/* GDA_CMD_RECORD_SET - do */
const struct nla_policy gda_record_set_nl_policy[GDA_A_RECORD_RECORDS + 1] = {
	[GDA_A_RECORD_CONTEXT] = { .type = NLA_U32, },
	[GDA_A_RECORD_RECORDS] = { .type = NLA_U32, },
};

/* GDA_CMD_DEAD_GET - do */
const struct nla_policy gda_dead_get_nl_policy[GDA_A_RECORD_DEAD + 1] = {
	[GDA_A_RECORD_DEAD] = { .type = NLA_U32, },
};

/* GDA_CMD_WQE_GET - do */
const struct nla_policy gda_wqe_get_nl_policy[GDA_A_WQE_INDEX + 1] = {
	[GDA_A_WQE_CONTEXT] = { .type = NLA_U32, },
	[GDA_A_WQE_HANDLE] = { .type = NLA_U32, },
	[GDA_A_WQE_INDEX] = { .type = NLA_U64, },
};

/* Ops table for gda */
const struct genl_ops gda_nl_ops[13] = {
	{
		.cmd		= GDA_CMD_DEVICE_GET,
		.doit		= gda_nl_device_get_doit,
		.dumpit		= gda_nl_device_get_dumpit,
		.policy		= gda_device_get_nl_policy,
		.maxattr	= GDA_A_DEVICE_NAME,
	},
	{
		.cmd		= GDA_CMD_CONTEXT_GET,
		.doit		= gda_nl_context_get_doit,
		.dumpit		= gda_nl_context_get_dumpit,
		.policy		= gda_context_get_nl_policy,
		.maxattr	= GDA_A_CONTEXT_ID,
	},
	{
		.cmd		= GDA_CMD_QP_GET,
		.doit		= gda_nl_qp_get_doit,
		.dumpit		= gda_nl_qp_get_dumpit,
		.policy		= gda_qp_get_nl_policy,
		.maxattr	= GDA_A_QP_HANDLE,
	},
	{
		.cmd		= GDA_CMD_CQ_GET,
		.doit		= gda_nl_cq_get_doit,
		.dumpit		= gda_nl_cq_get_dumpit,
		.policy		= gda_cq_get_nl_policy,
		.maxattr	= GDA_A_CQ_HANDLE,
	},
	{
		.cmd		= GDA_CMD_MR_GET,
		.doit		= gda_nl_mr_get_doit,
		.dumpit		= gda_nl_mr_get_dumpit,
		.policy		= gda_mr_get_nl_policy,
		.maxattr	= GDA_A_MR_HANDLE,
	},
	{
		.cmd		= GDA_CMD_COUNTER_GET,
		.doit		= gda_nl_counter_get_doit,
		.dumpit		= gda_nl_counter_get_dumpit,
		.policy		= gda_counter_get_nl_policy,
		.maxattr	= GDA_A_COUNTER_HANDLE,
	},
	{
		.cmd		= GDA_CMD_STATS_GET,
		.doit		= gda_nl_stats_get_doit,
		.policy		= gda_stats_get_nl_policy,
		.maxattr	= GDA_A_STATS_PAD,
		.flags		= GENL_ADMIN_PERM,
	},
	{
		.cmd		= GDA_CMD_LIMITS_GET,
		.doit		= gda_nl_limits_get_doit,
		.policy		= gda_limits_get_nl_policy,
		.maxattr	= GDA_A_LIMITS_PAD,
	},
	{
		.cmd		= GDA_CMD_LIMITS_SET,
		.doit		= gda_nl_limits_set_doit,
		.policy		= gda_limits_set_nl_policy,
		.maxattr	= GDA_A_LIMITS_MAX_EXECUTOR_QPS,
		.flags		= GENL_ADMIN_PERM,
	},
	{
		.cmd		= GDA_CMD_RECORD_GET,
		.doit		= gda_nl_record_get_doit,
		.dumpit		= gda_nl_record_get_dumpit,
		.policy		= gda_record_get_nl_policy,
		.maxattr	= GDA_A_RECORD_CONTEXT,
	},
	{
		.cmd		= GDA_CMD_RECORD_SET,
		.doit		= gda_nl_record_set_doit,
		.policy		= gda_record_set_nl_policy,
		.maxattr	= GDA_A_RECORD_RECORDS,
		.flags		= GENL_ADMIN_PERM,
	},
	{
		.cmd		= GDA_CMD_DEAD_GET,
		.doit		= gda_nl_dead_get_doit,
		.dumpit		= gda_nl_dead_get_dumpit,
		.policy		= gda_dead_get_nl_policy,
		.maxattr	= GDA_A_RECORD_DEAD,
	},
	{
		.cmd		= GDA_CMD_WQE_GET,
		.doit		= gda_nl_wqe_get_doit,
		.dumpit		= gda_nl_wqe_get_dumpit,
		.policy		= gda_wqe_get_nl_policy,
		.maxattr	= GDA_A_WQE_INDEX,
	},
};

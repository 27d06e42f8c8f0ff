/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/gda.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_GDA_GEN_H
#define _LINUX_GDA_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/gda/netlink.h>
#include <gda/ioctl.h>
#include <gda/cause.h>
#include <gda/record.h>

extern const struct nla_policy gda_device_get_nl_policy[GDA_A_DEVICE_NAME + 1];

extern const struct nla_policy gda_context_get_nl_policy[GDA_A_CONTEXT_ID + 1];

extern const struct nla_policy gda_qp_get_nl_policy[GDA_A_QP_HANDLE + 1];

extern const struct nla_policy gda_cq_get_nl_policy[GDA_A_CQ_HANDLE + 1];

extern const struct nla_policy gda_mr_get_nl_policy[GDA_A_MR_HANDLE + 1];

extern const struct nla_policy gda_counter_get_nl_policy[GDA_A_COUNTER_HANDLE + 1];

extern const struct nla_policy gda_stats_get_nl_policy[GDA_A_STATS_PAD + 1];

extern const struct nla_policy gda_limits_get_nl_policy[GDA_A_LIMITS_PAD + 1];

extern const struct nla_policy gda_limits_set_nl_policy[GDA_A_LIMITS_MAX_EXECUTOR_QPS + 1];

extern const struct nla_policy gda_record_get_nl_policy[GDA_A_RECORD_CONTEXT + 1];

extern const struct nla_policy gda_record_set_nl_policy[GDA_A_RECORD_RECORDS + 1];

extern const struct nla_policy gda_dead_get_nl_policy[GDA_A_RECORD_DEAD + 1];

extern const struct nla_policy gda_wqe_get_nl_policy[GDA_A_WQE_INDEX + 1];

/* Ops table for gda */
extern const struct genl_ops gda_nl_ops[13];

int gda_nl_device_get_doit(struct sk_buff *skb, struct genl_info *info);
int gda_nl_device_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int gda_nl_context_get_doit(struct sk_buff *skb, struct genl_info *info);
int gda_nl_context_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int gda_nl_qp_get_doit(struct sk_buff *skb, struct genl_info *info);
int gda_nl_qp_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int gda_nl_cq_get_doit(struct sk_buff *skb, struct genl_info *info);
int gda_nl_cq_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int gda_nl_mr_get_doit(struct sk_buff *skb, struct genl_info *info);
int gda_nl_mr_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int gda_nl_counter_get_doit(struct sk_buff *skb, struct genl_info *info);
int gda_nl_counter_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int gda_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info);
int gda_nl_limits_get_doit(struct sk_buff *skb, struct genl_info *info);
int gda_nl_limits_set_doit(struct sk_buff *skb, struct genl_info *info);
int gda_nl_record_get_doit(struct sk_buff *skb, struct genl_info *info);
int gda_nl_record_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int gda_nl_record_set_doit(struct sk_buff *skb, struct genl_info *info);
int gda_nl_dead_get_doit(struct sk_buff *skb, struct genl_info *info);
int gda_nl_dead_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int gda_nl_wqe_get_doit(struct sk_buff *skb, struct genl_info *info);
int gda_nl_wqe_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);

enum {
	GDA_NLGRP_EVENTS,
};

#endif /* _LINUX_GDA_GEN_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Events of CQs: checks of GDA_IOC_CQ_EVENT, and the rule by which a completion fires an armed
 * CQ. Portable like the engine; the host has the eventfd and the lock of the CQ.
 */
#ifndef GDA_CONTROL_EVENT_H
#define GDA_CONTROL_EVENT_H

#include "engine.h"

/**
 * gda_control_check_event - check the parameters of GDA_IOC_CQ_EVENT
 * @cmd: the caller's parameters; gda_control_check_request() has accepted their flags
 * @attached: the CQ has an eventfd
 *
 * Return: 0; -EINVAL more than one flag, an eventfd below -1 or beside %GDA_CQ_DETACH, or
 * arming without an eventfd.
 */
int gda_control_check_event(const struct gda_cq_event *cmd, bool attached);

/**
 * gda_control_arm_flags - how GDA_IOC_CQ_EVENT arms a CQ
 * @cmd: the caller's parameters
 *
 * Return: %GDA_CQ_ARM, %GDA_CQ_ARM_SOLICITED, or 0 to disarm the CQ.
 */
static inline u32 gda_control_arm_flags(const struct gda_cq_event *cmd)
{
	return cmd->flags & (GDA_CQ_ARM | GDA_CQ_ARM_SOLICITED);
}

/**
 * gda_control_fires - does a completion fire an armed CQ?
 * @cq: the CQ, under its lock
 * @armed: how the CQ is armed, from gda_control_arm_flags()
 * @c: the completion that was passed to gda_cq_push()
 * @pushed: the result of gda_cq_push()
 *
 * An overflow fires too, as no further completion will come.
 *
 * Return: whether the host disarms the CQ and signals its eventfd.
 */
static inline bool gda_control_fires(const struct gda_engine_cq *cq, u32 armed,
				     const struct gda_completion *c, bool pushed)
{
	return (pushed || cq->failed) && armed & gda_completion_fires(c);
}

#endif /* GDA_CONTROL_EVENT_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Events of CQs: what GDA_IOC_CQ_EVENT may ask for, and which completion fires an armed CQ.
 * Portable like the engine; the host has the eventfd and the lock of the CQ.
 */
#ifndef GDA_CONTROL_EVENT_H
#define GDA_CONTROL_EVENT_H

#include "engine.h"

/**
 * gda_control_check_event - may a CQ be armed so?
 * @cmd: as the caller asks; its flags are known
 * @attached: the CQ has an eventfd
 *
 * Return: 0; -EINVAL more than one flag, an eventfd below -1 or beside %GDA_CQ_DETACH, or
 * arming without an eventfd.
 */
int gda_control_check_event(const struct gda_cq_event *cmd, bool attached);

/**
 * gda_control_arm_flags - how GDA_IOC_CQ_EVENT arms a CQ
 * @cmd: as the caller asks
 *
 * Return: %GDA_CQ_ARM, %GDA_CQ_ARM_SOLICITED, or 0: it disarms the CQ.
 */
static inline u32 gda_control_arm_flags(const struct gda_cq_event *cmd)
{
	return cmd->flags & (GDA_CQ_ARM | GDA_CQ_ARM_SOLICITED);
}

/**
 * gda_control_fires - is a completion that gda_cq_push() wrote, or refused, an event?
 * @cq: the CQ, under its lock
 * @armed: how it is armed, gda_control_arm_flags()
 * @c: the completion
 * @pushed: what gda_cq_push() returned
 *
 * An overflow is an event too: nothing else will come.
 *
 * Return: whether the host disarms the CQ and signals its eventfd.
 */
static inline bool gda_control_fires(const struct gda_engine_cq *cq, u32 armed,
				     const struct gda_completion *c, bool pushed)
{
	return (pushed || cq->failed) && armed & gda_completion_fires(c);
}

#endif /* GDA_CONTROL_EVENT_H */

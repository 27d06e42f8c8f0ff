// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Checks of GDA_IOC_CQ_EVENT (event.h). */
#include "event.h"

int gda_control_check_event(const struct gda_cq_event *cmd, bool attached)
{
	if (cmd->flags & (cmd->flags - 1))
		return -EINVAL;
	if (cmd->eventfd < -1 || (cmd->eventfd >= 0 && cmd->flags & GDA_CQ_DETACH))
		return -EINVAL;
	if (cmd->eventfd == -1 && gda_control_arm_flags(cmd) && !attached)
		return -EINVAL;
	return 0;
}

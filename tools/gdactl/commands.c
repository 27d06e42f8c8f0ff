// SPDX-License-Identifier: MIT
/* Commands of the netlink family, by name. */
#include <string.h>
#include "command.h"
#include "ctl.h"

const char command_usage[] =
	"gdactl device|context|qp|cq|mr|counter [show] [dev NAME] [ctx ID] [pid PID] [uid UID]\n"
	"gdactl wqe ctx ID handle QP\n"
	"gdactl stats\n"
	"gdactl limits [show | set NAME VALUE ...]\n"
	"gdactl monitor\n"
	"gdactl top [rows N] [times N] [seconds N]\n"
	"gdactl record show ctx ID | record show dead | record on|off ctx ID [records N]\n"
	"gdactl why [pid PID | qp NUMBER]\n";

int command_run(const char *name, int n, char **v, bool json)
{
	static const struct ctl_kind *const kinds[] = {
		&ctl_device, &ctl_context, &ctl_qp, &ctl_cq, &ctl_mr, &ctl_counter, &ctl_stats,
	};
	struct ctl_args args = { .n = n, .v = v, .json = json };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(name, kinds[i]->name))
			return ctl_show(kinds[i], &args);
	if (!strcmp(name, "wqe"))
		return ctl_wqe_command(&args);
	if (!strcmp(name, "limits"))
		return ctl_limits_command(&args);
	if (!strcmp(name, "monitor"))
		return ctl_monitor(&args);
	if (!strcmp(name, "top"))
		return ctl_top(&args);
	if (!strcmp(name, "record"))
		return ctl_record(&args);
	if (!strcmp(name, "why"))
		return ctl_why(&args);
	return -1;
}

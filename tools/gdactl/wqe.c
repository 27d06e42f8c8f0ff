// SPDX-License-Identifier: MIT
/*
 * gdactl wqe: decodes those entries of a QP's send queue that have no outcome yet.
 */
#include <stdio.h>
#include <string.h>
#include "ctl.h"

static void show_one(void *arg, struct nlattr *const *attrs)
{
	ctl_rows_add(arg, attrs);
}

int ctl_wqe_command(struct ctl_args *args)
{
	struct ctl_value of[2] = { { GDA_A_WQE_CONTEXT, 0 }, { GDA_A_WQE_HANDLE, 0 } };
	struct ctl_link *link;
	struct ctl_rows rows;
	int err;

	if (args->n != 4 || strcmp(args->v[0], "ctx") || strcmp(args->v[2], "handle"))
		return ctl_usage(args, "needs ctx ID handle QP, which gdactl qp shows");
	if (ctl_argument(args, 0, &of[0].value) || ctl_argument(args, 2, &of[1].value))
		return 2;
	if (ctl_open(&link))
		return 1;
	ctl_rows_init(&rows, &ctl_wqe, args->json);
	err = ctl_dump_of(link, GDA_CMD_WQE_GET, of, 2, show_one, &rows);
	if (!err)
		ctl_rows_print(&rows);
	ctl_close(link);
	return err ? 1 : 0;
}

// SPDX-License-Identifier: MIT
/*
 * gdactl limits [show | set NAME VALUE ...]
 */
#include <stdio.h>
#include <string.h>
#include "ctl.h"

#define LIMITS	8	/* more than there are */

static void show_limits(void *arg, struct nlattr *const *attrs)
{
	ctl_rows_add(arg, attrs);
}

static int limits_show(struct ctl_link *link, bool json)
{
	struct ctl_rows rows;

	ctl_rows_init(&rows, &ctl_limits, json);
	if (ctl_do(link, GDA_CMD_LIMITS_GET, NULL, 0, show_limits, &rows))
		return 1;
	ctl_rows_print(&rows);
	return 0;
}

static int limits_parse(const struct ctl_args *args, struct ctl_value *values)
{
	int n = 0;

	for (int i = 1; i < args->n; i += 2) {
		size_t k;

		for (k = 0; k < ctl_limits.nfields; k++)
			if (!strcmp(args->v[i], ctl_limits.fields[k].name))
				break;
		if (k == ctl_limits.nfields || n == LIMITS) {
			ctl_usage(args, "no limit %s", args->v[i]);
			return -1;
		}
		values[n].type = ctl_limits.fields[k].attr;
		if (ctl_argument(args, i, &values[n++].value))
			return -1;
	}
	if (!n)
		ctl_usage(args, "set needs a name and a value");
	return n ? n : -1;
}

int ctl_limits_command(struct ctl_args *args)
{
	struct ctl_value values[LIMITS];
	struct ctl_link *link;
	int n = 0, status;

	if (args->n && !strcmp(args->v[0], "set"))
		n = limits_parse(args, values);
	else if (args->n && (args->n > 1 || strcmp(args->v[0], "show")))
		return ctl_usage(args, "unknown word %s", args->v[args->n > 1]);
	if (n < 0)
		return 2;
	if (ctl_open(&link))
		return 1;
	if (n)
		status = ctl_do(link, GDA_CMD_LIMITS_SET, values, (size_t)n, NULL, NULL) ? 1 : 0;
	else
		status = limits_show(link, args->json);
	ctl_close(link);
	return status;
}

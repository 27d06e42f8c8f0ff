// SPDX-License-Identifier: MIT
/* In place of commands.c and what it calls, where there was no libnl to build it with. */
#include "command.h"

const char command_usage[] =
	"\nThis gdactl was built without libnl-3 and libnl-genl-3, and has no other commands.\n";

int command_run(const char *name, int n, char **args, bool json)
{
	(void)name;
	(void)n;
	(void)args;
	(void)json;
	return -1;
}

// SPDX-License-Identifier: MIT
/* Replaces commands.c and the files it calls where libnl was missing at build time. */
#include "command.h"

void command_list(FILE *to)
{
	fputs("\nThis gdactl was built without libnl-3 and libnl-genl-3, and has no other\n"
	      "commands.\n", to);
}

int command_run(const char *name, int n, char **args, bool json)
{
	(void)name;
	(void)n;
	(void)args;
	(void)json;
	return -1;
}

int command_help(const char *name)
{
	(void)name;
	return -1;
}

int command_unknown(const char *name)
{
	fprintf(stderr, "gdactl: no command %s: it was built without libnl-3 and libnl-genl-3: ",
		name);
	fputs("install these, and build gdactl again\n", stderr);
	return 2;
}

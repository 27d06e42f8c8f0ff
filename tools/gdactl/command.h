/* SPDX-License-Identifier: MIT */
/*
 * The commands of the netlink family, for main.c: in commands.c, or, where libnl was not there
 * when this was built, in no_netlink.c.
 */
#ifndef GDACTL_COMMAND_H
#define GDACTL_COMMAND_H

#include <stdbool.h>

/* The list of commands for the usage text. */
extern const char command_usage[];

/* Run the command @name with @n arguments. Return: the exit status; -1: no such command. */
int command_run(const char *name, int n, char **args, bool json);

#endif /* GDACTL_COMMAND_H */

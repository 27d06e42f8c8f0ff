/* SPDX-License-Identifier: MIT */
/*
 * The commands of the netlink family, for main.c: implemented in commands.c or, without libnl at
 * build time, in no_netlink.c.
 */
#ifndef GDACTL_COMMAND_H
#define GDACTL_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

/* Print the list of commands for the usage text. */
void command_list(FILE *to);

/* Run the command @name with @n arguments. Return: the exit status; -1: no such command. */
int command_run(const char *name, int n, char **args, bool json);

/* Print the help of the command @name. Return: 0; -1: no such command. */
int command_help(const char *name);

/* Print one line to stderr that there is no command @name. Return: the exit status. */
int command_unknown(const char *name);

/* module.c: is the module @name installed for the running kernel? */
bool module_installed(const char *name);

#endif /* GDACTL_COMMAND_H */

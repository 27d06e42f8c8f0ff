// SPDX-License-Identifier: MIT
/*
 * gdactl: what GDA can do on this machine ("doctor"), its users, and their progress.
 */
#include <stdio.h>
#include <string.h>
#include "command.h"
#include "doctor.h"

static int usage(FILE *to)
{
	fputs("gdactl [--json] COMMAND ...\n\n"
	      "gdactl doctor\n", to);
	command_list(to);
	fputs("gdactl --version\n"
	      "gdactl COMMAND --help\n\n"
	      "doctor says which kinds of memory and which executors work here, for the user\n"
	      "who runs it; which do not, why, and what to do about it. The others show what\n"
	      "the caller has, and to administrators what everybody has.\n", to);
	return to == stderr ? 2 : 0;
}

static void print_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		putchar(*s < ' ' ? ' ' : *s);
	}
	putchar('"');
}

static void print_json(const struct check *c, const struct answer *a, bool first)
{
	printf("%s\n {\"group\":\"%s\",\"name\":\"%s\",\"works\":%s,\"reason\":",
	       first ? "[" : ",", c->group, c->name, a->works ? "true" : "false");
	print_string(a->reason);
	printf(",\"advice\":");
	print_string(a->advice);
	putchar('}');
}

static void print_line(const struct check *c, const struct answer *a, bool first)
{
	if (first)
		printf("%-10s %-20s %-5s %s\n", "what", "", "works", "why, and what to do");
	printf("%-10s %-20s %-5s %s\n", c->group, c->name, a->works ? "yes" : "NO", a->reason);
	if (a->advice[0])
		printf("%-10s %-20s %-5s -> %s\n", "", "", "", a->advice);
}

/* Return: 0 if the kernel's device can be used. */
static int examine(bool json)
{
	struct patient p = { 0 };
	const struct check *c;
	bool first = true;
	bool usable;

	for (c = checks; c->group; c++) {
		struct answer a = { 0 };

		if (c->needs_ctx && !p.ctx)
			fails(&a, "", "needs the device, see above");
		else
			c->run(&p, &a);
		if (json)
			print_json(c, &a, first);
		else
			print_line(c, &a, first);
		first = false;
	}
	if (json)
		printf("\n]\n");
	usable = p.ctx;
	gda_close(p.ctx);
	return !usable;
}

/* Remove "--json" from the arguments, wherever it is. */
static bool take_json(int *argc, char **argv)
{
	bool json = false;
	int n = 0;

	for (int i = 0; i < *argc; i++) {
		if (!strcmp(argv[i], "--json"))
			json = true;
		else
			argv[n++] = argv[i];
	}
	*argc = n;
	return json;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help");
}

/* Print help for all commands, or for one. */
static int help(const char *name)
{
	if (!name || !strcmp(name, "doctor"))
		return usage(stdout);
	return command_help(name) ? command_unknown(name) : 0;
}

int main(int argc, char **argv)
{
	bool json = take_json(&argc, argv);
	int status;

	if (argc < 2)
		return usage(stderr);
	if (is_help(argv[1]))
		return help(argv[2]);
	if (argc > 2 && is_help(argv[argc - 1]))
		return help(argv[1]);
	if (!strcmp(argv[1], "--version")) {
		puts("gdactl " GDA_VERSION_STRING);
		return 0;
	}
	if (!strcmp(argv[1], "doctor"))
		return argc > 2 ? usage(stderr) : examine(json);
	status = command_run(argv[1], argc - 2, argv + 2, json);
	return status < 0 ? command_unknown(argv[1]) : status;
}

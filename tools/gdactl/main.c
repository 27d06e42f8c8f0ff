// SPDX-License-Identifier: MIT
/*
 * gdactl: what GDA can do on this machine ("doctor"), who uses it, and how far they got.
 */
#include <stdio.h>
#include <string.h>
#include "command.h"
#include "doctor.h"

static int usage(FILE *to)
{
	fputs("gdactl [--json] COMMAND ...\n\n"
	      "gdactl doctor\n", to);
	fputs(command_usage, to);
	fputs("gdactl --version\n\n"
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

/* Take "--json" out of the arguments, wherever it is. */
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

int main(int argc, char **argv)
{
	bool json = take_json(&argc, argv);
	int status;

	if (argc < 2)
		return usage(stderr);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))
		return usage(stdout);
	if (!strcmp(argv[1], "--version")) {
		puts("gdactl " GDA_VERSION_STRING);
		return 0;
	}
	if (!strcmp(argv[1], "doctor"))
		return argc > 2 ? usage(stderr) : examine(json);
	status = command_run(argv[1], argc - 2, argv + 2, json);
	return status < 0 ? usage(stderr) : status;
}

// SPDX-License-Identifier: MIT
/*
 * gdactl: what GDA can do on this machine. "doctor" is its only command yet.
 */
#include <stdio.h>
#include <string.h>
#include "doctor.h"

static int usage(FILE *to)
{
	fputs("gdactl doctor [--json]\n"
	      "gdactl --version\n\n"
	      "Says which kinds of memory and which executors work here, for the user\n"
	      "who runs it; which do not, why, and what to do about it.\n", to);
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

int main(int argc, char **argv)
{
	bool json = argc == 3 && !strcmp(argv[2], "--json");

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")))
		return usage(stdout);
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts("gdactl " GDA_VERSION_STRING);
		return 0;
	}
	if (argc < 2 || strcmp(argv[1], "doctor") || (argc > 2 && !json))
		return usage(stderr);
	return examine(json);
}

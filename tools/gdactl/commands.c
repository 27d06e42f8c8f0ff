// SPDX-License-Identifier: MIT
/* The commands of the netlink family, by name, with their help. */
#include <stdarg.h>
#include <string.h>
#include "command.h"
#include "ctl.h"

#define FILTER		" [show] [dev NAME] [ctx ID] [pid PID] [uid UID] [--wide]"
#define FILTERED	"dev, ctx, pid and uid show those of a device, of a context, and of\n" \
			"contexts that a process or a user opened.\n"

#define NEAR	2	/* most letters in which a suggested name may differ */

struct command {
	const char *name;
	const char *arguments;
	const char *help;
	const struct ctl_kind *kind;	/* or @run */
	int (*run)(struct ctl_args *args);
};

static const struct command commands[] = {
	{ "device", " [show] [dev NAME]",
	  "Devices, and how many objects of each kind they have room for.\n", &ctl_device, NULL },
	{ "context", FILTER,
	  "Contexts: open files of /dev/gda, with the process and the user that opened them, what\n"
	  "they have, and what their worker does. RUNS with an old LAST-PASS: it gets no processor.\n"
	  FILTERED, &ctl_context, NULL },
	{ "qp", FILTER,
	  "QPs: their peers and their progress. PRODUCER counts slots that were rung for, CONSUMER\n"
	  "slots that have an outcome; CAUSE says why a QP failed. --wide shows all columns; those\n"
	  "without it fit a terminal of 100.\n"
	  FILTERED, &ctl_qp, NULL },
	{ "cq", FILTER, "CQs. USERS counts their QPs.\n" FILTERED, &ctl_cq, NULL },
	{ "mr", FILTER,
	  "MRs. ACCESS: local: the owner's work may write to it; write, read, atomic: a peer's puts,\n"
	  "gets and atomics may use it.\n" FILTERED, &ctl_mr, NULL },
	{ "counter", FILTER, "Counters, and their values.\n" FILTERED, &ctl_counter, NULL },
	{ "wqe", " ctx ID handle QP",
	  "Entries of a QP that have no outcome, as its executor decodes them. ID and QP are in the\n"
	  "columns CTX and HANDLE of gdactl qp. RUNG: a doorbell covers it.\n", NULL,
	  ctl_wqe_command },
	{ "stats", "",
	  "How many objects there are, of all users; for administrators.\n", &ctl_stats, NULL },
	{ "limits", " [show | set NAME VALUE ...]",
	  "Limits, or set some of max-contexts, max-objects, max-executor-qps and idle-us until\n"
	  "gda_core goes; gda(4) describes them. Setting is for administrators.\n", NULL,
	  ctl_limits_command },
	{ "monitor", "",
	  "An event a line, when a device or context comes or goes, a QP is connected or fails, an MR\n"
	  "is revoked, a CQ overflows; for administrators. SIGINT (^C) or SIGTERM ends it.\n", NULL,
	  ctl_monitor },
	{ "top", " [rows N] [times N] [seconds N]",
	  "The busiest QPs, every second. OWES counts slots that were posted and have no outcome.\n",
	  NULL, ctl_top },
	{ "record", " show ctx ID | show dead | on ctx ID [records N] | off ctx ID",
	  "The flight record of a context: control events and errors, and after \"on\" all work. dead:\n"
	  "of contexts that ended with a QP in error or with work that had no outcome.\n", NULL,
	  ctl_record },
	{ "why", " [pid PID | qp NUMBER]",
	  "For each QP whose work is not done, a line says what is missing, since when and why; its\n"
	  "records follow. If all work is done, a process waits for a peer: each QP is listed with\n"
	  "its last progress, and whether its process and its peer's run, are stopped or are gone.\n"
	  "Processes that move bytes by mapped memory have no QP and are listed below. NUMBER: column\n"
	  "QPN of gdactl qp.\n",
	  NULL, ctl_why },
};

#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

void command_list(FILE *to)
{
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "gdactl %s%s\n", commands[i].name, commands[i].arguments);
}

/* Remove "--wide" from the arguments, wherever it is. Return: whether it was there. */
static bool take_wide(int *n, char **v)
{
	bool wide = false;
	int left = 0;

	for (int i = 0; i < *n; i++) {
		if (!strcmp(v[i], "--wide"))
			wide = true;
		else
			v[left++] = v[i];
	}
	*n = left;
	return wide;
}

int command_run(const char *name, int n, char **v, bool json)
{
	struct ctl_args args = { .name = name, .v = v, .json = json };
	const struct command *c = find(name);

	args.wide = take_wide(&n, v);
	args.n = n;
	if (!c)
		return -1;
	return c->kind ? ctl_show(c->kind, &args) : c->run(&args);
}

int command_help(const char *name)
{
	const struct command *c = find(name);

	if (!c)
		return -1;
	printf("gdactl [--json] %s%s\n\n%s", c->name, c->arguments, c->help);
	return 0;
}

/* How many letters must be changed, added or removed to turn @a into @b? */
static size_t distance(const char *a, const char *b)
{
	size_t row[16], la = strlen(a), lb = strlen(b);

	if (lb >= sizeof(row) / sizeof(row[0]))
		return SIZE_MAX;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			best = corner + 1 < best ? corner + 1 : best;
			row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
		}
	}
	return row[lb];
}

/* The command that was probably meant, or NULL. */
static const char *nearest(const char *name)
{
	const char *best = NULL;
	size_t least = NEAR + 1;

	for (size_t i = 0; i < COMMANDS; i++) {
		size_t d = distance(name, commands[i].name);

		/* a name this short could match without one right letter */
		if (d < least && d < strlen(name)) {
			least = d;
			best = commands[i].name;
		}
	}
	return best;
}

int command_unknown(const char *name)
{
	const char *meant = nearest(name);

	fprintf(stderr, "gdactl: no command %s: ", name);
	if (meant)
		fprintf(stderr, "did you mean %s? ", meant);
	fputs("gdactl --help lists all\n", stderr);
	return 2;
}

int ctl_usage(const struct ctl_args *args, const char *format, ...)
{
	va_list values;

	fprintf(stderr, "gdactl: %s: ", args->name);
	va_start(values, format);
	vfprintf(stderr, format, values);
	va_end(values);
	fprintf(stderr, ": gdactl %s --help\n", args->name);
	return 2;
}

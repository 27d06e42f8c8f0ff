// SPDX-License-Identifier: MIT
/* gda-perf [lat|rate|bw]...: options, and the sequence of steps. */
#define _GNU_SOURCE
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "perf.h"

struct perf_options perf_options = {
	.peers = true,
	.ms = 200,
	.idle = 1000,
	.depth = 256,
	.nsizes = 8,
	.sizes = { 8, 64, 512, 4096, 16384, 65536, 1048576, 4194304 },
};

void perf_die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("gda-perf: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	perf_two_end();
	exit(1);
}

void perf_must(int err, const char *what)
{
	const char *why = gda_last_error();

	if (err >= 0)
		return;
	/* the reason of a control call; posts and waits only have an errno */
	if (!strncmp(why, what, strlen(what)))
		perf_die("%s", why);
	perf_die("%s: %s", what, gda_strerror(err));
}

static void help(int status)
{
	fputs("usage: gda-perf [OPTION]... [lat|rate|bw]...\n"
	      "       gda-perf [OPTION]... shared [quiet|busy|twice]...\n"
	      "  lat            latencies, of puts of all sizes\n"
	      "  rate           messages per second, of 8 bytes\n"
	      "  bw             bandwidth, of puts of all sizes, and of memcpy\n"
	      "                 (none of them: all three)\n"
	      "  shared         exchanges of threads, beside those over bare words: each thread bound to\n"
	      "                 a processor (quiet), a program that computes on each processor (busy),\n"
	      "                 twice as many threads as processors (none of them: all three)\n"
	      "  --json         one JSON object\n"
	      "  --check        exit status 3 unless every bar is met\n"
	      "  --runs N       measure each row N times, in turns [5; shared: 7]\n"
	      "  --ms N         for so many milliseconds each [200]\n"
	      "  --sizes N,...  bytes, 8 to 4194304, multiples of 8\n"
	      "  --idle N       QPs that do nothing, beside the one that does [1000]\n"
	      "  --depth N      slots of the send queue [256]\n"
	      "  --no-peers     neither memcpy nor raw verbs\n"
	      "  --rdma DEVICE  RDMA device for raw verbs [the first with an active port]\n"
	      "  --gpu          a kernel posts (with --json, --runs, --sizes)\n"
	      "  --version      print it\n",
	      status ? stderr : stdout);
	exit(status);
}

static void version(void)
{
	puts("gda-perf " GDA_VERSION_STRING);
	exit(0);
}

static unsigned int option_number(const char *text, unsigned long least, unsigned long most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (end == text || *end || n < least || n > most) {
		fprintf(stderr, "gda-perf: %s is not between %lu and %lu\n", text, least, most);
		exit(2);
	}
	return (unsigned int)n;
}

static void option_sizes(char *list)
{
	struct perf_options *o = &perf_options;

	o->nsizes = 0;
	for (char *s = strtok(list, ","); s; s = strtok(NULL, ",")) {
		if (o->nsizes == PERF_MAX_SIZES)
			help(2);
		o->sizes[o->nsizes] = option_number(s, 8, PERF_MAX_BYTES);
		if (o->sizes[o->nsizes++] % 8)
			help(2);
	}
}

static void option_test(const char *name)
{
	static const char *const names[PERF_TESTS] = { "lat", "rate", "bw" };

	for (unsigned int t = 0; t < PERF_TESTS; t++) {
		if (!strcmp(name, names[t])) {
			perf_options.test[t] = true;
			return;
		}
	}
	help(2);
}

/* Options with a number. */
static const struct number {
	int letter;
	unsigned long least;
	unsigned long most;
	unsigned int *to;
} numbers[] = {
	{ 'r', 1, PERF_MAX_REPS, &perf_options.reps },
	{ 'm', 1, 60000, &perf_options.ms },
	{ 'i', 0, PERF_MAX_IDLE, &perf_options.idle },
	{ 'd', 1, 32768, &perf_options.depth },
};

static void option(int letter)
{
	struct perf_options *o = &perf_options;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct number *n = &numbers[i];

		if (n->letter == letter) {
			*n->to = option_number(optarg, n->least, n->most);
			return;
		}
	}
	if (letter == 'j')
		o->json = true;
	else if (letter == 'c')
		o->check = true;
	else if (letter == 's')
		option_sizes(optarg);
	else if (letter == 'n')
		o->peers = false;
	else if (letter == 'x')
		o->rdma = optarg;
	else if (letter == 'v')
		version();
	else
		help(letter == 'h' ? 0 : 2);
}

static char **shared;	/* names of settings for gda-perf shared */

static void options_parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "json", no_argument, NULL, 'j' }, { "check", no_argument, NULL, 'c' },
		{ "runs", required_argument, NULL, 'r' }, { "ms", required_argument, NULL, 'm' },
		{ "sizes", required_argument, NULL, 's' }, { "idle", required_argument, NULL, 'i' },
		{ "depth", required_argument, NULL, 'd' }, { "no-peers", no_argument, NULL, 'n' },
		{ "rdma", required_argument, NULL, 'x' }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 }
	};
	bool any = false;
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) >= 0)
		option(c);
	shared = optind < argc && !strcmp(argv[optind], "shared") ? argv + optind + 1 : NULL;
	if (!perf_options.reps)
		perf_options.reps = shared ? 7 : 5;
	if (shared)
		return;
	for (; optind < argc; optind++)
		option_test(argv[optind]);
	for (unsigned int t = 0; t < PERF_TESTS; t++)
		any |= perf_options.test[t];
	for (unsigned int t = 0; t < PERF_TESTS; t++)
		perf_options.test[t] |= !any;
}

/* A separate program beside this one posts from the GPU, so that only that one needs CUDA. */
static void gpu_run(char **argv)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("-gpu"));

	if (n > 0) {
		memcpy(path + n, "-gpu", sizeof("-gpu"));
		execv(path, argv);
	}
	fputs("gda-perf: no gda-perf-gpu beside it (make perf-gpu, where there is an nvcc)\n",
	      stderr);
	exit(4);
}

static bool bars_met(void)
{
	const struct perf_bar *bar;

	for (unsigned int n = perf_bars(&bar); n--; bar++)
		if (!perf_bar_met(bar))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--gpu"))
			gpu_run(argv);
	options_parse(argc, argv);
	perf_threads_init();
	if (shared) {
		int status = perf_shared(shared);

		if (status < 0)
			help(2);
		return status;
	}
	perf_two_plan();
	perf_put_plan();
	perf_ping_plan();
	perf_gin_plan();
	if (perf_options.peers) {
		perf_memcpy_plan();
		perf_verbs_plan();
	}
	perf_rows_measure();
	perf_two_end();
	perf_report(perf_put_device());
	return perf_options.check && !bars_met() ? 3 : 0;
}

// SPDX-License-Identifier: MIT
/* Prints the measurements, as tables or as one JSON object. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include "perf.h"

#define COLUMN(member) offsetof(struct perf_sample, member)

static const struct {
	const char *name;
	const char *title;
	const char *unit;
} tests[PERF_TESTS] = {
	[PERF_LAT] = { "lat", "latency, us", "us" },
	[PERF_RATE] = { "rate", "messages, million/s", "million/s" },
	[PERF_BW] = { "bw", "bandwidth, GB/s", "GB/s" },
};

/* Print significant digits only. */
static void table_number(double v)
{
	int digits = v < 10 ? 3 : v < 100 ? 2 : v < 1000 ? 1 : 0;

	if (isfinite(v))
		printf(" %9.*f", digits, v);
	else
		printf(" %9s", "-");
}

static void table_head(enum perf_test test)
{
	static const char *const latency[] = { "p50", "p90", "p99", "p99.9", "max" };
	static const char *const other[] = { "median", "least", "most" };

	printf("\n%-40s %8s", tests[test].title, "bytes");
	for (unsigned int i = 0; i < (test == PERF_LAT ? 5U : 3U); i++)
		printf(" %9s", test == PERF_LAT ? latency[i] : other[i]);
	putchar('\n');
}

static void table_row(const struct perf_row *row)
{
	printf("%-40s %8u", row->what, row->bytes);
	if (!row->n) {
		printf("   not measured: %s\n", row->missing);
		return;
	}
	table_number(perf_row_median(row, COLUMN(value)));
	if (row->test == PERF_LAT) {
		table_number(perf_row_median(row, COLUMN(p90)));
		table_number(perf_row_median(row, COLUMN(p99)));
		table_number(perf_row_median(row, COLUMN(p999)));
	} else {
		table_number(perf_row_least(row, COLUMN(value)));
	}
	table_number(perf_row_most(row, row->test == PERF_LAT ? COLUMN(max) : COLUMN(value)));
	if (row->n < perf_options.reps)
		printf("   (%u of %u runs)", row->n, perf_options.reps);
	putchar('\n');
}

/* Rows of one kind together, by size. */
static void table_test(enum perf_test test)
{
	bool done[PERF_MAX_ROWS] = { false };

	table_head(test);
	for (unsigned int i = 0; i < perf_nrows; i++) {
		if (perf_rows[i].test != test || done[i])
			continue;
		for (unsigned int k = i; k < perf_nrows; k++) {
			if (perf_rows[k].test != test || done[k] ||
			    strcmp(perf_rows[k].name, perf_rows[i].name))
				continue;
			table_row(&perf_rows[k]);
			done[k] = true;
		}
	}
}

static void table_bars(void)
{
	const struct perf_bar *bar;
	unsigned int n = perf_bars(&bar);

	if (!n)
		return;
	printf("\n%-49s %9s %9s\n", "bar", "asked", "measured");
	for (; n--; bar++) {
		printf("%-46s %2s", bar->name, bar->least ? ">=" : "<=");
		table_number(bar->bar);
		table_number(bar->measured);
		printf("   %s\n", !isfinite(bar->measured) ? "not measured" :
		       perf_bar_met(bar) ? "met" : "MISSED");
	}
}

static void table(const char *device)
{
	struct utsname u;

	uname(&u);
	printf("Linux %s, device %s, %u CPUs, %u runs of %u ms each, in turns\n", u.release,
	       device, perf_cpus(), perf_options.reps, perf_options.ms);
	if (perf_options.test[PERF_RATE] && perf_options.idle)
		printf("idle QPs: %u\n", perf_options.idle);
	for (unsigned int i = 0; perf_threads_text(i); i++)
		printf("%s\n", perf_threads_text(i));
	for (unsigned int t = 0; t < PERF_TESTS; t++)
		if (perf_options.test[t])
			table_test(t);
	table_bars();
}

static void json_number(const char *name, double v)
{
	if (isfinite(v))
		printf(", \"%s\": %.6g", name, v);
	else
		printf(", \"%s\": null", name);
}

/* Only for our own strings and those of strerror(), which have no control characters. */
static void json_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
	putchar('"');
}

static void json_row(const struct perf_row *row)
{
	printf("{\"test\": \"%s\", \"row\": \"%s\", \"bytes\": %u, \"unit\": \"%s\"",
	       tests[row->test].name, row->name, row->bytes, tests[row->test].unit);
	printf(", \"runs\": %u", row->n);
	if (!row->n) {
		printf(", \"missing\": ");
		json_string(row->missing);
	}
	json_number("median", perf_row_median(row, COLUMN(value)));
	json_number("least", perf_row_least(row, COLUMN(value)));
	json_number("most", perf_row_most(row, COLUMN(value)));
	if (row->test == PERF_LAT) {
		json_number("p50", perf_row_median(row, COLUMN(value)));
		json_number("p90", perf_row_median(row, COLUMN(p90)));
		json_number("p99", perf_row_median(row, COLUMN(p99)));
		json_number("p99.9", perf_row_median(row, COLUMN(p999)));
		json_number("max", perf_row_most(row, COLUMN(max)));
	}
	putchar('}');
}

static void json_bars(void)
{
	const struct perf_bar *bar;
	unsigned int n = perf_bars(&bar);
	const char *comma = "";

	printf(" \"bars\": [");
	for (; n--; bar++, comma = ",") {
		printf("%s\n  {\"bar\": \"%s\", \"%s\": %g", comma, bar->name,
		       bar->least ? "least" : "most", bar->bar);
		json_number("measured", bar->measured);
		printf(", \"met\": %s}", !isfinite(bar->measured) ? "null" :
		       perf_bar_met(bar) ? "true" : "false");
	}
	printf("\n ]");
}

static void json(const char *device)
{
	struct utsname u;

	uname(&u);
	printf("{\"kernel\": \"%s\", \"device\": \"%s\", \"cpus\": %u, \"runs\": %u,\n", u.release,
	       device, perf_cpus(), perf_options.reps);
	printf(" \"ms\": %u, \"idle_qps\": %u, \"threads\": [", perf_options.ms,
	       perf_options.idle);
	for (unsigned int i = 0; perf_threads_text(i); i++) {
		printf(i ? ", " : "");
		json_string(perf_threads_text(i));
	}
	printf("],\n \"rows\": [");
	for (unsigned int i = 0; i < perf_nrows; i++) {
		printf(i ? ",\n  " : "\n  ");
		json_row(&perf_rows[i]);
	}
	printf("\n ],\n");
	json_bars();
	printf("}\n");
}

void perf_report(const char *device)
{
	if (perf_options.json)
		json(device);
	else
		table(device);
}

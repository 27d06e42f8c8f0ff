// SPDX-License-Identifier: MIT
/* Rows: measures them in turns, and computes statistics of the results. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "perf.h"

struct perf_row perf_rows[PERF_MAX_ROWS];
unsigned int perf_nrows;

void perf_row_add(enum perf_test test, const char *name, const char *what, uint32_t bytes,
		  int (*measure)(struct perf_row *row, struct perf_sample *s), int arg)
{
	struct perf_row *row = &perf_rows[perf_nrows];

	if (!perf_options.test[test])
		return;
	if (perf_nrows++ == PERF_MAX_ROWS)
		perf_die("too many rows");
	row->test = test;
	row->name = name;
	row->what = what;
	row->bytes = bytes;
	row->measure = measure;
	row->arg = arg;
}

int perf_missing(struct perf_row *row, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(row->missing, sizeof(row->missing), format, args);
	va_end(args);
	return -ENODATA;
}

/* A row that could not be measured is not tried again. */
static void perf_row_measure(struct perf_row *row)
{
	struct perf_sample *s = &row->sample[row->n];
	int err;

	if (row->missing[0])
		return;
	*s = (struct perf_sample){ NAN, NAN, NAN, NAN, NAN };
	err = row->measure(row, s);
	if (!err && isfinite(s->value))
		row->n++;
	else if (err && !row->missing[0])
		perf_missing(row, "%s", gda_strerror(err));
}

void perf_rows_measure(void)
{
	for (unsigned int rep = 0; rep < perf_options.reps; rep++)
		for (unsigned int i = 0; i < perf_nrows; i++)
			perf_row_measure(&perf_rows[i]);
	for (unsigned int i = 0; i < perf_nrows; i++)
		if (!perf_rows[i].n && !perf_rows[i].missing[0])
			perf_missing(&perf_rows[i], "no run gave a figure");
}

struct perf_row *perf_row_find(enum perf_test test, const char *name, uint32_t bytes)
{
	for (unsigned int i = 0; i < perf_nrows; i++) {
		struct perf_row *row = &perf_rows[i];

		if (row->test == test && row->bytes == bytes && !strcmp(row->name, name))
			return row;
	}
	return NULL;
}

static int perf_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double perf_median(const double *values, unsigned int n)
{
	double sorted[PERF_MAX_REPS];

	if (!n)
		return NAN;
	memcpy(sorted, values, n * sizeof(*values));
	qsort(sorted, n, sizeof(*sorted), perf_compare);
	return (sorted[n / 2] + sorted[(n - 1) / 2]) / 2;
}

static unsigned int perf_row_column(const struct perf_row *row, size_t offset, double *values)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < row->n; i++) {
		double v = *(const double *)((const char *)&row->sample[i] + offset);

		if (isfinite(v))
			values[n++] = v;
	}
	return n;
}

double perf_row_median(const struct perf_row *row, size_t offset)
{
	double values[PERF_MAX_REPS];
	unsigned int n = perf_row_column(row, offset, values);

	return perf_median(values, n);
}

static double perf_row_extreme(const struct perf_row *row, size_t offset, bool most)
{
	double values[PERF_MAX_REPS];
	unsigned int n = perf_row_column(row, offset, values);

	if (!n)
		return NAN;
	qsort(values, n, sizeof(*values), perf_compare);
	return values[most ? n - 1 : 0];
}

double perf_row_least(const struct perf_row *row, size_t offset)
{
	return perf_row_extreme(row, offset, false);
}

double perf_row_most(const struct perf_row *row, size_t offset)
{
	return perf_row_extreme(row, offset, true);
}

static int perf_compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double perf_percentile(const uint64_t *ns, unsigned int n, double part)
{
	unsigned int i = (unsigned int)ceil(part * n);

	return (double)ns[i ? i - 1 : 0] / 1000;
}

void perf_percentiles(uint64_t *ns, unsigned int n, struct perf_sample *s)
{
	qsort(ns, n, sizeof(*ns), perf_compare_ns);
	s->value = perf_percentile(ns, n, 0.5);
	s->p90 = perf_percentile(ns, n, 0.9);
	s->p99 = perf_percentile(ns, n, 0.99);
	s->p999 = perf_percentile(ns, n, 0.999);
	s->max = (double)ns[n - 1] / 1000;
}

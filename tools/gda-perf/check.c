// SPDX-License-Identifier: MIT
/*
 * The bars: our own goals, as ratios within one run. Our figure is the median of the runs, that of
 * raw verbs the best of them, and that of memcpy the faster of its two. On devices that are RDMA
 * devices themselves (ib:, verbs:) both figures are medians.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>
#include "perf.h"

#define VALUE offsetof(struct perf_sample, value)

static struct perf_bar bars[5];

static double perf_ours(enum perf_test test, const char *name, uint32_t bytes)
{
	const struct perf_row *row = perf_row_find(test, name, bytes);

	return row ? perf_row_median(row, VALUE) : NAN;
}

static double perf_best(enum perf_test test, const char *name, uint32_t bytes)
{
	const struct perf_row *row = perf_row_find(test, name, bytes);

	if (!row)
		return NAN;
	return test == PERF_LAT ? perf_row_least(row, VALUE) : perf_row_most(row, VALUE);
}

/* Our median as a part of the median of raw verbs on the same RDMA device. */
static double perf_part(enum perf_test test, const char *name, uint32_t bytes)
{
	return perf_ours(test, name, bytes) / perf_ours(test, "verbs_write", bytes);
}

static unsigned int perf_rdma_bars(bool kernel)
{
	unsigned int n = 0;

	if (perf_options.test[PERF_RATE])
		bars[n++] = (struct perf_bar){ "rate of 8-byte puts, times raw verbs'",
			kernel ? 1.3 : 1.0, true, perf_part(PERF_RATE, "put", 8) };
	if (perf_options.test[PERF_LAT] && kernel)
		bars[n++] = (struct perf_bar){ "latency of an 8-byte put, times raw verbs'", 2,
			false, perf_part(PERF_LAT, "put_completed", 8) };
	if (perf_options.test[PERF_BW])
		bars[n++] = (struct perf_bar){ "bandwidth of 64 KiB puts, times raw verbs'", 0.9,
			true, perf_part(PERF_BW, "put", 65536) };
	return n;
}

unsigned int perf_bars(const struct perf_bar **out)
{
	const char *device = perf_put_device();
	unsigned int n = 0;

	*out = bars;
	if (!strncmp(device, "ib:", 3) || !strncmp(device, "verbs:", 6))
		return perf_rdma_bars(device[0] == 'i');

	if (perf_options.test[PERF_RATE])
		bars[n++] = (struct perf_bar){ "rate of 8-byte puts, times raw verbs'", 20, true,
			perf_ours(PERF_RATE, "put", 8) /
			fmax(perf_best(PERF_RATE, "verbs_write", 8),
			     perf_best(PERF_RATE, "verbs_write_list", 8)) };
	if (perf_options.test[PERF_LAT])
		bars[n++] = (struct perf_bar){ "latency of an 8-byte put, part of raw verbs'",
			1.0 / 8, false,
			perf_ours(PERF_LAT, "put_completed", 8) /
			perf_best(PERF_LAT, "verbs_write", 8) };
	if (perf_options.test[PERF_BW]) {
		double ours = perf_ours(PERF_BW, "put", 65536);
		double user = perf_ours(PERF_BW, "memcpy_user", 65536);
		double kernel = perf_ours(PERF_BW, "memcpy_kernel", 65536);

		bars[n++] = (struct perf_bar){ "bandwidth of 64 KiB puts, times raw verbs'", 15,
			true, ours / perf_best(PERF_BW, "verbs_write", 65536) };
		bars[n++] = (struct perf_bar){ "bandwidth of 64 KiB puts, part of memcpy's", 0.6,
			true, ours / fmax(user, kernel) };
	}
	if (perf_options.test[PERF_RATE] && perf_options.idle)
		bars[n++] = (struct perf_bar){ "rate with idle QPs, part of that without", 0.95,
			true, perf_ours(PERF_RATE, "put_idle_qps", 8) /
			      perf_ours(PERF_RATE, "put", 8) };
	return n;
}

bool perf_bar_met(const struct perf_bar *bar)
{
	return bar->least ? bar->measured >= bar->bar : bar->measured <= bar->bar;
}

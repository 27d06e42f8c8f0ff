// SPDX-License-Identifier: MIT
/*
 * Raw verbs: the same work on libibverbs, with our own loop and clock, between two connections of
 * this process over one RDMA device. A device that is no loopback sends everything through its port
 * and back.
 *
 * One thread posts and polls. Each request is posted alone, unless the row says otherwise, and one
 * in VERBS_SIGNALED is signaled.
 */
#include <errno.h>
#include <stdlib.h>
#include "perf.h"
#include "rc.h"

#define VERBS_DEPTH		256U
#define VERBS_SIGNALED		16U
#define VERBS_MAX_LATENCIES	100000U
#define VERBS_STEP_NS		20000000000ULL

/* For rows of a rate: the number of requests per post. */
enum { VERBS_ALONE = 1, VERBS_LIST = VERBS_SIGNALED };

static struct rc from, to;
static struct rc_address target;
static uint64_t *latencies;
static int failed;

static int verbs_open(void)
{
	struct rc_address own;
	int err = rc_open(&from, perf_options.rdma, perf_memory(), PERF_MAX_BYTES, VERBS_DEPTH);

	if (err)
		return err;
	err = rc_open(&to, perf_options.rdma, perf_memory(), PERF_MAX_BYTES, VERBS_DEPTH);
	if (err) {
		rc_close(&from);
		return err;
	}
	rc_address(&from, &own);
	rc_address(&to, &target);
	err = rc_connect(&from, &target);
	if (!err)
		err = rc_connect(&to, &own);
	if (err) {
		rc_close(&from);
		rc_close(&to);
	}
	return err;
}

static int verbs_missing(struct perf_row *row)
{
	switch (failed) {
	case -ENODEV:
		return perf_missing(row, "no RDMA device here%s%s",
				    perf_options.rdma ? " called " : "",
				    perf_options.rdma ? perf_options.rdma : "");
	case -ENETDOWN:
		return perf_missing(row, "the port of the RDMA device is not active");
	case -EADDRNOTAVAIL:
		return perf_missing(row, "the RDMA device has no address");
	default:
		return perf_missing(row, "the RDMA device cannot be used: %s",
				    gda_strerror(failed));
	}
}

static int verbs_wait(struct perf_row *row, uint64_t deadline)
{
	int err = rc_wait(&from, deadline);

	return err <= 0 ? err : perf_missing(row, "a request failed: %s", ibv_wc_status_str(err));
}

static int verbs_lat(struct perf_row *row, struct perf_sample *s)
{
	uint64_t end = gda_clock_ns() + perf_options.ms * 1000000ULL;
	struct rc_work w;
	unsigned int n = 0, warm = 20;
	int err = 0;

	if (failed)
		return verbs_missing(row);
	rc_prepare(&from, &target, &w, (enum ibv_wr_opcode)row->arg, row->bytes);
	while (!err && (!n || gda_clock_ns() < end) && n < VERBS_MAX_LATENCIES) {
		uint64_t begin = gda_clock_ns();

		err = rc_post(&from, &w);
		if (!err)
			err = verbs_wait(row, begin + VERBS_STEP_NS);
		latencies[n] = gda_clock_ns() - begin;
		if (warm)
			warm--;
		else
			n++;
	}
	if (!err)
		perf_percentiles(latencies, n, s);
	return err;
}

/* Post VERBS_SIGNALED requests, of which the last is signaled; @list: by one call. */
static int verbs_post_some(struct rc_work *work, bool list)
{
	int err = 0;

	if (list)
		return rc_post(&from, work);
	for (unsigned int i = 0; i < VERBS_SIGNALED && !err; i++)
		err = rc_post(&from, &work[i]);
	return err;
}

/* Posted and completed, in million/s. The queue is kept full. */
static int verbs_rate_of(struct perf_row *row, uint32_t bytes, bool list, double *rate)
{
	struct rc_work work[VERBS_SIGNALED];
	uint64_t begin = gda_clock_ns(), end = begin + perf_options.ms * 1000000ULL;
	unsigned int groups = 0, posted = 0;
	int err = 0;

	for (unsigned int i = 0; i < VERBS_SIGNALED; i++) {
		bool last = i == VERBS_SIGNALED - 1;

		rc_prepare(&from, &target, &work[i], IBV_WR_RDMA_WRITE, bytes);
		work[i].wr.next = list && !last ? &work[i + 1].wr : NULL;
		work[i].wr.send_flags = last ? IBV_SEND_SIGNALED : 0;
	}
	do {
		for (; groups < VERBS_DEPTH / VERBS_SIGNALED && !err; groups++) {
			err = verbs_post_some(work, list);
			posted += VERBS_SIGNALED;
		}
		if (!err)
			err = verbs_wait(row, gda_clock_ns() + VERBS_STEP_NS);
		groups--;
	} while (!err && gda_clock_ns() < end);
	for (; groups && !err; groups--)
		err = verbs_wait(row, gda_clock_ns() + VERBS_STEP_NS);
	*rate = posted * 1000.0 / (double)(gda_clock_ns() - begin);
	return err;
}

static int verbs_rate(struct perf_row *row, struct perf_sample *s)
{
	int err;

	if (failed)
		return verbs_missing(row);
	err = verbs_rate_of(row, row->bytes, row->arg == VERBS_LIST, &s->value);
	if (row->test == PERF_BW)
		s->value *= row->bytes / 1000.0;
	return err;
}

void perf_verbs_plan(void)
{
	latencies = calloc(VERBS_MAX_LATENCIES, sizeof(*latencies));
	if (!latencies)
		perf_die("out of memory");
	failed = verbs_open();
	perf_row_add(PERF_LAT, "verbs_write", "raw verbs: write, completion seen", 8, verbs_lat,
		     IBV_WR_RDMA_WRITE);
	perf_row_add(PERF_LAT, "verbs_fetch_add", "raw verbs: fetch-add, completion seen", 8,
		     verbs_lat, IBV_WR_ATOMIC_FETCH_AND_ADD);
	perf_row_add(PERF_RATE, "verbs_write", "raw verbs: write", 8, verbs_rate, VERBS_ALONE);
	perf_row_add(PERF_RATE, "verbs_write_list", "raw verbs: write, 16 a post", 8, verbs_rate,
		     VERBS_LIST);
	perf_row_add(PERF_BW, "verbs_write", "raw verbs: write", 65536, verbs_rate, VERBS_ALONE);
}

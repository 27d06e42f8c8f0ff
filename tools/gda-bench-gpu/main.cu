// SPDX-License-Identifier: MIT
/*
 * gda-bench-gpu - what a GPU pays to post, against a fake NIC
 *
 * usage: gda-bench-gpu [--json] [--blind] [--reps N] [--window US] [--only TEXT]
 *
 * A row for each that is asked of the posting path: the floor in this run, what the
 * strongest peer that checks for a full ring reached (recorded once with its floor, times
 * floor now over floor then), the bar, ours, and whether it is above. Beside it the
 * strongest peer that skips the check. Every entry is verified by the fake NIC. Medians of
 * the repetitions; each is elsewhere in memory and on other SMs.
 *
 * strict: doorbell record, fence, doorbell. lazy: the device takes doorbells in any order,
 * as peers that use no record rely on. efa: lazy, and entries are released at system scope, as
 * peers of that dialect do; a floor of theirs has such a fence. shuffled: requests complete in
 * another order.
 */
#include <cstring>
#include <gda/version.h>
#include "machine.cuh"

enum floor_of { ISSUE, SYSTEM, LOAD, PING };

struct row {
	struct bench_row bench;
	enum floor_of floor;
	double floor_then;	/* M/s, or cycles; 0: the peer was measured on this bench */
	const char *peer;
	double peer_then;
	double times;		/* the bar: at least so many times the peer; 0: see below */
	const char *skips;	/* a peer that does not check for a full ring */
	double skips_then;
	double fair;		/* slowest warp, as part of the mean, at least */
	double of_floor;	/* else the bar is so many times the floor */
	const char *of_row;	/* and so many times the result of this row */
	double of_row_times;
};

/* rings are as deep as those on which the peers were measured */
#define D(mode, test, lazy, blocks, warps, map, depth) \
	mode, test, lazy, blocks, warps, map, depth, bench_run<mode, test, lazy>
#define B(mode, test, lazy, blocks, warps, map) \
	D(mode, test, lazy, blocks, warps, map, \
	  (blocks) > 1 && (map) == ONE_QUEUE ? 4096 : 1024)

#define E(mode, test, blocks, warps, map, shuffle) \
	mode, test, true, blocks, warps, map, (blocks) > 1 && (map) == ONE_QUEUE ? 4096 : 1024, \
	bench_run_efa<mode, test>, true, shuffle

static const struct row rows[] = {
	{ { "1 exclusive strict", B(EXCLUSIVE, PUT, false, 1, 1, WARP_QUEUE) }, ISSUE, 0,
	  "doca-excl", 0.593, 2.8, "", 0 },
	{ { "1 exclusive lazy", B(EXCLUSIVE, PUT, true, 1, 1, WARP_QUEUE) }, ISSUE, 0,
	  "doca-excl-nodbr", 0.717, 0, "", 0, 0, 0.95 },
	{ { "1 courier", B(BLOCK_COURIER, PUT, false, 1, 1, BLOCK_QUEUE) }, ISSUE, 0,
	  "doca-excl-nodbr", 0.717, 7.0, "", 0 },
	{ { "1 shared strict", B(SHARED, PUT, false, 1, 1, ONE_QUEUE) }, ISSUE, 0,
	  "doca-gpu", 0.319, 2.6, "", 0 },
	{ { "1 shared lazy", B(SHARED, PUT, true, 1, 1, ONE_QUEUE) }, ISSUE, 0,
	  "doca-gpu-nodbr", 0.414, 3.0, "", 0 },
	{ { "1 shared courier", B(SHARED_COURIER, PUT, false, 1, 1, ONE_QUEUE) }, ISSUE, 0,
	  "doca-gpu-nodbr", 0.414, 3.5, "", 0 },
	{ { "2 warp strict", B(EXCLUSIVE, EACH, false, 1, 1, WARP_QUEUE) }, ISSUE, 0,
	  "doca-excl", 15.4, 3.0, "", 0 },
	{ { "2 warp lazy", B(EXCLUSIVE, EACH, true, 1, 1, WARP_QUEUE) }, ISSUE, 0,
	  "doca-excl-nodbr", 16.95, 4.0, "", 0 },
	{ { "2 132 warps one QP strict", B(SHARED, EACH, false, 132, 1, ONE_QUEUE) }, ISSUE,
	  0, "doca-gpu", 40.1, 11, "", 0 },
	{ { "2 132 warps one QP lazy", B(SHARED, EACH, true, 132, 1, ONE_QUEUE) }, ISSUE,
	  0, "doca-gpu-nodbr", 214, 2.5, "", 0 },
	{ { "2 132 warps one QP courier", B(SHARED_COURIER, EACH, false, 132, 1, ONE_QUEUE) },
	  ISSUE, 0, "doca-gpu-nodbr", 214, 2.5, "", 0 },
	{ { "2 the same, ring of 16384",
	    D(SHARED_COURIER, EACH, false, 132, 1, ONE_QUEUE, 16384) },
	  ISSUE, 0, "doca-gpu-nodbr", 214, 4.0, "", 0 },
	{ { "3 one QP 2 warps", B(SHARED, PUT, false, 2, 1, ONE_QUEUE) }, ISSUE, 0,
	  "nvshmem", 0.685, 1.5, "", 0, 0.5 },
	{ { "3 one QP 8 warps", B(SHARED, PUT, false, 8, 1, ONE_QUEUE) }, ISSUE, 26.91,
	  "nvshmem", 2.81, 2.6, "doca skip", 4.90, 0.5 },
	{ { "3 one QP 8 warps lazy", B(SHARED, PUT, true, 8, 1, ONE_QUEUE) }, ISSUE, 0,
	  "doca-gpu-nodbr", 3.37, 3.0, "", 0, 0.5 },
	{ { "3 one QP 32 warps", B(SHARED, PUT, false, 32, 1, ONE_QUEUE) }, ISSUE, 92.43,
	  "nvshmem", 7.60, 4.0, "doca skip", 7.69, 0.5 },
	{ { "3 one QP 132 warps", B(SHARED, PUT, false, 132, 1, ONE_QUEUE) }, ISSUE, 380.85,
	  "nvshmem", 7.24, 11, "doca skip", 7.75, 0.9 },
	{ { "3 one QP 132 warps lazy", B(SHARED, PUT, true, 132, 1, ONE_QUEUE) }, ISSUE,
	  0, "doca-gpu-nodbr", 7.67, 11, "", 0, 0.9 },
	{ { "3 one QP 132 not waiting", B(SHARED, NOWAIT, false, 132, 1, ONE_QUEUE) }, ISSUE,
	  0, "doca-gpu-nodbr", 7.67, 1, "", 0, 0, 0, "3 one QP 132 warps", 0.8 },
	{ { "3 one QP 264 warps", B(SHARED, PUT, false, 264, 1, ONE_QUEUE) }, ISSUE, 737.73,
	  "nvshmem", 6.89, 12, "doca skip", 6.98, 0.5 },
	{ { "3 one QP 8 courier", B(SHARED_COURIER, PUT, false, 8, 1, ONE_QUEUE) }, ISSUE,
	  0, "doca-gpu-nodbr", 3.37, 3.5, "", 0, 0.5 },
	{ { "3 one QP 32 courier", B(SHARED_COURIER, PUT, false, 32, 1, ONE_QUEUE) }, ISSUE,
	  92.43, "nvshmem", 7.60, 7.0, "doca skip", 7.69, 0.5 },
	{ { "3 one QP 132 courier", B(SHARED_COURIER, PUT, false, 132, 1, ONE_QUEUE) }, ISSUE,
	  0, "doca-gpu-nodbr", 7.67, 32, "", 0, 0.5 },
	{ { "3 one QP 264 courier", B(SHARED_COURIER, PUT, false, 264, 1, ONE_QUEUE) }, ISSUE,
	  737.73, "nvshmem", 6.89, 40, "doca skip", 6.98, 0.5 },
	{ { "3 own QPs 132 strict", B(EXCLUSIVE, PUT, false, 132, 1, WARP_QUEUE) }, ISSUE,
	  0, "doca-excl", 78.1, 2.8, "", 0 },
	{ { "3 own QPs 132 lazy", B(EXCLUSIVE, PUT, true, 132, 1, WARP_QUEUE) }, ISSUE,
	  0, "doca-excl-nodbr", 96.0, 0, "", 0, 0, 0.95 },
	{ { "3 block of 8 strict", B(BLOCK, PUT, false, 1, 8, BLOCK_QUEUE) }, ISSUE, 26.91,
	  "nvshmem", 2.82, 3.7, "doca skip", 4.31 },
	{ { "3 block of 8 lazy", B(BLOCK, PUT, true, 1, 8, BLOCK_QUEUE) }, ISSUE, 26.91,
	  "doca-cta-nodbr", 3.31, 3.2, "skip", 4.31 },
	{ { "3 block of 8 courier", B(BLOCK_COURIER, PUT, false, 1, 8, BLOCK_QUEUE) }, ISSUE,
	  26.91, "doca-cta-nodbr", 3.31, 9.0, "skip", 4.31 },
	{ { "3 block of 1", B(BLOCK, PUT, false, 1, 1, BLOCK_QUEUE) }, ISSUE, 3.40,
	  "doca-cta", 0.342, 2.3, "doca skip", 0.612 },
	{ { "3 132 blocks of 8 strict", B(BLOCK, PUT, false, 132, 8, BLOCK_QUEUE) }, ISSUE,
	  752.27, "nvshmem", 378, 3.6, "doca skip", 635 },
	{ { "3 132 blocks of 8 lazy", B(BLOCK, PUT, true, 132, 8, BLOCK_QUEUE) }, ISSUE,
	  752.27, "doca-cta-nodbr", 494, 2.8, "skip", 635 },
	{ { "3 132 blocks of 8 courier", B(BLOCK_COURIER, PUT, false, 132, 8, BLOCK_QUEUE) },
	  ISSUE, 752.27, "doca-cta-nodbr", 494, 8.0, "skip", 635 },
	{ { "4 signal strict", B(EXCLUSIVE, SIGNAL, false, 1, 1, WARP_QUEUE) }, ISSUE, 0,
	  "doca-excl", 0.579, 2.8, "", 0 },
	{ { "4 signal lazy", B(EXCLUSIVE, SIGNAL, true, 1, 1, WARP_QUEUE) }, ISSUE, 0,
	  "doca-excl-nodbr", 0.706, 3.8, "", 0 },
	{ { "4 signal 132 warps one QP", B(SHARED, SIGNAL, false, 132, 1, ONE_QUEUE) }, ISSUE,
	  380.85, "nvshmem", 6.91, 3.8, "doca skip", 7.84 },
	{ { "4 signal 132 courier", B(SHARED_COURIER, SIGNAL, false, 132, 1, ONE_QUEUE) },
	  ISSUE, 380.85, "doca-gpu-nodbr", 7.53, 8.9, "skip", 7.84 },
	{ { "8 gin Inc, one thread", B(EXCLUSIVE, GIN, false, 1, 1, WARP_QUEUE) }, ISSUE, 0,
	  "gin-thread", 0.464, 2.7, "", 0, 0, 0, "4 signal strict", 0.9 },
	{ { "8 gin Inc, 132 warps", B(SHARED, GIN, false, 132, 1, ONE_QUEUE) }, ISSUE, 0,
	  "best peer", 7.5, 5, "", 0, 0, 0, "4 signal 132 warps one QP", 0.9 },
	{ { "8 gin Inc, 132 courier", B(SHARED_COURIER, GIN, false, 132, 1, ONE_QUEUE) }, ISSUE,
	  0, "best peer", 7.5, 20, "", 0, 0, 0, "4 signal 132 courier", 0.9 },
	{ { "9 shmem put_nbi by a warp", B(EXCLUSIVE, SHMEM_WARP, false, 1, 1, WARP_QUEUE) },
	  ISSUE, 0, "deepep", 0.552, 2.5, "", 0, 0, 0, "1 exclusive strict", 0.9 },
	{ { "9 shmem put_nbi by 32 lanes", B(EXCLUSIVE, SHMEM_EACH, false, 1, 1, WARP_QUEUE) },
	  ISSUE, 0, "nvshmem", 7.62, 5, "", 0, 0, 0, "2 warp strict", 0.9 },
	{ { "9 shmem 132 warps one QP", B(SHARED, SHMEM_EACH, false, 132, 1, ONE_QUEUE) },
	  ISSUE, 0, "nvshmem", 50.7, 8, "", 0, 0, 0, "2 132 warps one QP strict", 0.9 },
	{ { "9 shmem quiet again", B(EXCLUSIVE, SHMEM_QUIET, false, 1, 1, WARP_QUEUE) }, LOAD,
	  0, "nvshmem", 863, 2, "", 0, 0, 0, "5 quiet again, exclusive", 0.9 },
	{ { "9 shmem quiet again, shared", B(SHARED, SHMEM_QUIET, false, 1, 1, ONE_QUEUE) },
	  LOAD, 0, "nvshmem", 863, 2, "", 0, 0, 0, "5 quiet again, shared", 0.9 },
	{ { "5 quiet again, exclusive", B(EXCLUSIVE, QUIET, false, 1, 1, WARP_QUEUE) }, LOAD,
	  0, "doca-excl", 727, 16, "", 0 },
	{ { "5 quiet again, shared", B(SHARED, QUIET, false, 1, 1, ONE_QUEUE) }, LOAD, 0,
	  "doca-gpu", 1018, 3, "", 0 },
	{ { "5 quiet first, shared", B(SHARED, FIRST, false, 1, 1, ONE_QUEUE) }, LOAD, 0,
	  "doca-gpu", 1380, 1.2, "", 0 },
	{ { "5 complete, exclusive strict", B(EXCLUSIVE, LATENCY, false, 1, 1, WARP_QUEUE) },
	  PING, 0, "doca-excl", 3719, 1.3, "", 0 },
	{ { "5 complete, exclusive lazy", B(EXCLUSIVE, LATENCY, true, 1, 1, WARP_QUEUE) },
	  PING, 0, "doca-excl-nodbr", 3726, 1.8, "", 0 },
	{ { "5 complete, shared strict", B(SHARED, LATENCY, false, 1, 1, ONE_QUEUE) }, PING,
	  0, "doca-gpu", 5455, 1.2, "", 0 },
	{ { "5 complete, shared lazy", B(SHARED, LATENCY, true, 1, 1, ONE_QUEUE) }, PING, 0,
	  "doca-gpu-nodbr", 4782, 1.4, "", 0 },
	{ { "5 get and wait, view", B(VIEW, GET, false, 1, 1, ONE_QUEUE) }, PING, 0,
	  "nvshmem", 9856, 1, "", 0 },
	{ { "5 get and wait, async", B(VIEW, ASYNC_GET, false, 1, 1, ONE_QUEUE) }, PING, 0,
	  "nvshmem", 9856, 1, "", 0, 0, 0, "5 get and wait, view", 1 / 1.1 },
	{ { "6 p999 of 2 warps", B(SHARED, TAIL, false, 2, 1, ONE_QUEUE) }, LOAD, 0,
	  "bar", 20000, 1, "", 0 },
	{ { "6 p999 of 8 warps", B(SHARED, TAIL, false, 8, 1, ONE_QUEUE) }, LOAD, 0,
	  "bar", 20000, 1, "", 0 },
	{ { "7 batch of 16 strict", B(EXCLUSIVE, BATCH, false, 1, 1, WARP_QUEUE) }, ISSUE,
	  0, "doca-excl", 1.049, 11, "", 0 },
	{ { "7 batch of 16 lazy", B(EXCLUSIVE, BATCH, true, 1, 1, WARP_QUEUE) }, ISSUE, 0,
	  "doca-excl-nodbr", 1.011, 13, "", 0 },
	{ { "efa one thread", E(EXCLUSIVE, PUT, 1, 1, WARP_QUEUE, false) }, SYSTEM, 1.81,
	  "efa-new-owner", 0.436, 3.2, "", 0 },
	{ { "efa one thread, shuffled", E(EXCLUSIVE, PUT, 1, 1, WARP_QUEUE, true) }, SYSTEM, 1.81,
	  "efa-new-owner", 0.436, 1, "", 0 },
	{ { "efa batch of 16", E(EXCLUSIVE, BATCH, 1, 1, WARP_QUEUE, false) }, SYSTEM, 1.81,
	  "efa-new-owner", 0.439, 3.2, "", 0 },
	{ { "efa warp", E(EXCLUSIVE, EACH, 1, 1, WARP_QUEUE, false) }, SYSTEM, 1.81,
	  "efa-pr5", 7.87, 1.5, "", 0 },
	{ { "efa own queues 132", E(EXCLUSIVE, PUT, 132, 1, WARP_QUEUE, false) }, SYSTEM, 165.81,
	  "efa-new-owner", 54.8, 2.7, "", 0 },
	{ { "efa one queue 8 warps", E(SHARED, PUT, 8, 1, ONE_QUEUE, false) }, SYSTEM, 13.26,
	  "efa-new-gpu", 0.629, 5, "", 0 },
	{ { "efa one queue 132 warps", E(SHARED, PUT, 132, 1, ONE_QUEUE, false) }, SYSTEM, 165.81,
	  "efa-new-gpu", 0.642, 5, "", 0 },
	{ { "efa the same, shuffled", E(SHARED, PUT, 132, 1, ONE_QUEUE, true) }, SYSTEM, 165.81,
	  "efa-new-gpu", 0.642, 1, "", 0 },
	{ { "efa one queue 132 each", E(SHARED, EACH, 132, 1, ONE_QUEUE, false) }, SYSTEM, 165.81,
	  "efa-pr5", 9.36, 1.5, "", 0 },
	{ { "efa one queue courier", E(SHARED_COURIER, PUT, 132, 1, ONE_QUEUE, false) }, SYSTEM,
	  165.81, "efa-new-gpu", 0.642, 5, "", 0 },
	{ { "efa block of 8", E(BLOCK, PUT, 1, 8, BLOCK_QUEUE, false) }, SYSTEM, 13.26,
	  "efa-gin-cta", 0.999, 3, "", 0 },
	{ { "efa block of 8 courier", E(BLOCK_COURIER, PUT, 1, 8, BLOCK_QUEUE, false) }, SYSTEM,
	  13.26, "efa-gin-cta", 0.999, 3, "", 0 },
	{ { "efa complete, exclusive", E(EXCLUSIVE, LATENCY, 1, 1, WARP_QUEUE, false) }, PING, 919,
	  "efa-new-owner", 6398, 1, "", 0 },
	{ { "efa complete, shared", E(SHARED, LATENCY, 1, 1, ONE_QUEUE, false) }, PING, 919,
	  "efa-new-gpu", 9932, 1, "", 0 },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

struct taken {
	std::vector<double> floor, floor_cycles, rate, cycles, slowest, tail[3];
	uint64_t wrong;
	int error;
};

static struct taken taken[ROWS];

static bool lower_is_better(const struct row &r)
{
	return r.floor > SYSTEM;
}

static void take_one(struct bench_machine *m, const struct row &r, int rep, struct taken *t)
{
	struct bench_result floor = {}, ours;

	if (!lower_is_better(r))
		floor = measure_floor(m, r.bench.blocks * r.bench.warps, r.floor == SYSTEM, rep);
	else
		floor.rate = r.floor == LOAD ? measure_load(m, rep) : measure_ping(m, rep);
	ours = measure(m, r.bench, rep);
	t->floor.push_back(floor.rate);
	t->floor_cycles.push_back(floor.cycles);
	t->rate.push_back(ours.rate);
	t->cycles.push_back(ours.cycles);
	t->slowest.push_back(ours.slowest);
	for (int i = 0; i < 3; i++)
		t->tail[i].push_back(ours.tail[i]);
	t->wrong += ours.wrong;
	t->error = t->error ? t->error : ours.error;
}

/*
 * Did @r reach that part of another row's result in this run, in M/s or cycles? True if the other
 * was not measured. For a row of a few cycles half the clock's resolution is tolerated.
 */
static bool reaches(const struct row &r, const struct taken &t, bool lower)
{
	size_t k;

	for (k = 0; k < ROWS; k++) {
		const struct taken &other = taken[k];

		if (strcmp(rows[k].bench.name, r.of_row) || other.rate.empty())
			continue;
		if (lower)
			return median_of(t.cycles) * r.of_row_times <= median_of(other.cycles) + 8;
		return median_of(t.rate) >= median_of(other.rate) * r.of_row_times;
	}
	return true;
}

/* Further conditions of single rows. Return: what is wrong, or "". */
static const char *more(const struct row &r, const struct taken &t)
{
	if (t.error)
		return "error ";
	if (t.wrong)
		return "WRONG ENTRIES ";
	if (median_of(t.slowest) < r.fair)
		return "unfair ";
	if (r.of_row && !reaches(r, t, lower_is_better(r)))
		return "of other row ";
	return "";
}

static int show(const struct row &r, const struct taken &t, bool json, bool last)
{
	double floor = median_of(t.floor), scale = r.floor_then ? floor / r.floor_then : 1;
	double peer = r.peer_then * scale, skips = r.skips_then * scale;
	bool lower = lower_is_better(r);
	double bar = r.of_floor ? r.of_floor * floor : lower ? peer / r.times : peer * r.times;
	double ours = lower ? median_of(t.cycles) : median_of(t.rate);
	const std::vector<double> &all = lower ? t.cycles : t.rate;
	const char *also = more(r, t);
	bool good = !*also && (lower ? ours <= bar : ours >= bar);

	if (json) {
		printf("    { \"row\": \"%s\", \"unit\": \"%s\", \"floor\": %.4g, "
		       "\"peer\": \"%s\", \"peer_then\": %.4g, \"floor_then\": %.4g, "
		       "\"peer_now\": %.4g, \"unchecked_now\": %.4g, \"bar\": %.4g, "
		       "\"ours\": %.4g, \"min\": %.4g, \"max\": %.4g, \"cycles\": %.4g, "
		       "\"floor_cycles\": %.4g, \"slowest\": %.2f, \"p50\": %.4g, "
		       "\"p99\": %.4g, \"p999\": %.4g, \"wrong\": %llu, "
		       "\"error\": %d, \"met\": %s }%s\n", r.bench.name,
		       lower ? "cycles" : "M/s", floor, r.peer, r.peer_then, r.floor_then,
		       peer, skips, bar, ours, *std::min_element(all.begin(), all.end()),
		       *std::max_element(all.begin(), all.end()), median_of(t.cycles),
		       median_of(t.floor_cycles), median_of(t.slowest), median_of(t.tail[0]),
		       median_of(t.tail[1]), median_of(t.tail[2]),
		       (unsigned long long)t.wrong, t.error, good ? "true" : "false",
		       last ? "" : ",");
		return !good;
	}
	printf("%-28s %8.4g %-16s %8.4g %8.4g %8.4g %8.4g (%.4g..%.4g) %5.2f  %s%s", r.bench.name,
	       floor, r.peer, peer, skips, bar, ours, *std::min_element(all.begin(), all.end()),
	       *std::max_element(all.begin(), all.end()), median_of(t.slowest),
	       good ? "ok" : "BELOW ", also);
	if (r.bench.test == TAIL)
		printf(" p50 %.4g p99 %.4g p999 %.4g", median_of(t.tail[0]),
		       median_of(t.tail[1]), median_of(t.tail[2]));
	printf("\n");
	return !good;
}

int main(int argc, char **argv)
{
	struct bench_machine m = {};
	struct cudaDeviceProp prop;
	int reps = 7, below = 0, devices = 0, i;
	double window = 1000;
	const char *only = "";
	bool json = false;
	std::vector<double> chain;
	size_t k, shown = 0;

	/* loading code lazily would wait for an idle device while the fake NIC runs */
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json")) {
			json = true;
		} else if (i + 1 < argc && !strcmp(argv[i], "--reps")) {
			reps = atoi(argv[++i]);
		} else if (i + 1 < argc && !strcmp(argv[i], "--window")) {
			window = atof(argv[++i]);
		} else if (i + 1 < argc && !strcmp(argv[i], "--only")) {
			only = argv[++i];
		} else if (!strcmp(argv[i], "--version")) {
			puts("gda-bench-gpu " GDA_VERSION_STRING);
			return 0;
		} else if (!strcmp(argv[i], "--blind")) {
			m.blind = true;
		} else {
			fprintf(stderr, "usage: %s [--json] [--blind] [--reps N] [--window US] "
				"[--only TEXT]\n", argv[0]);
			return 2;
		}
	}
	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		printf("gda-bench-gpu: no GPU here, nothing was measured\n");
		return 0;
	}
	CUDA(cudaGetDeviceProperties(&prop, 0));
	machine_open(&m, window);
	m.clusters = prop.major >= 9;
	for (i = -1; i < reps; i++)
		for (k = 0; k < ROWS; k++) {
			static struct taken unused;

			if (strstr(rows[k].bench.name, only))
				take_one(&m, rows[k], i < 0 ? reps : i, i < 0 ? &unused : &taken[k]);
		}
	if (json)
		printf("{ \"device\": \"%s\", \"reps\": %d, \"verified\": %llu, \"rows\": [\n",
		       prop.name, reps, (unsigned long long)m.verified);
	else
		printf("# %s, %d placements, medians; M/s, rows 5 and 6 in cycles\n"
		       "%-28s %8s %-16s %8s %8s %8s %8s (min..max) slowest/mean\n", prop.name,
		       reps, "row", "floor", "peer", "now", "unchckd", "bar", "ours");
	for (k = 0; k < ROWS; k++)
		shown += !!strstr(rows[k].bench.name, only);
	for (i = 0; i < reps; i++)
		chain.push_back(measure_shared(&m, i));
	for (k = 0; k < ROWS; k++)
		if (strstr(rows[k].bench.name, only))
			below += show(rows[k], taken[k], json, !--shown);
	if (json)
		printf("], \"shared_strict_at_most\": %.4g }\n", median_of(chain));
	else
		printf("# 1 shared strict, its accesses and releases with nothing between: "
		       "%.4g (%.4g..%.4g)\n", median_of(chain),
		       *std::min_element(chain.begin(), chain.end()),
		       *std::max_element(chain.begin(), chain.end()));
	if (!json)
		printf("# entries verified: %llu; rows below their bar: %d\n",
		       (unsigned long long)m.verified, below);
	return 0;
}

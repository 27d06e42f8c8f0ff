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
 * as peers that use no record rely on.
 */
#include <cstring>
#include <gda/version.h>
#include "machine.cuh"

enum floor_of { ISSUE, LOAD, PING };

struct row {
	struct bench_row bench;
	enum floor_of floor;
	double floor_then;	/* M/s, or cycles */
	const char *peer;
	double peer_then;
	double times;		/* as good as the peer, at least */
	const char *skips;	/* a peer that does not check for a full ring */
	double skips_then;
	bool fair;		/* slowest warp at least half of the mean */
};

/* rings as deep as those that the peers were measured with */
#define B(mode, test, lazy, blocks, warps, map) \
	mode, test, lazy, blocks, warps, map, (blocks) > 1 && (map) == ONE_QUEUE ? 4096 : 1024, \
	bench_run<mode, test, lazy>

static const struct row rows[] = {
	{ { "1 exclusive strict", B(EXCLUSIVE, PUT, false, 1, 1, WARP_QUEUE) }, ISSUE, 3.40,
	  "doca-excl", 0.520, 2.8, "skip", 1.24 },
	{ { "1 exclusive lazy", B(EXCLUSIVE, PUT, true, 1, 1, WARP_QUEUE) }, ISSUE, 3.40,
	  "doca-excl-nodbr", 0.671, 4.0, "skip", 1.99 },
	{ { "1 courier", B(BLOCK_COURIER, PUT, false, 1, 1, BLOCK_QUEUE) }, ISSUE, 3.40,
	  "doca-excl-nodbr", 0.671, 7.0, "skip", 1.99 },
	{ { "1 shared strict", B(SHARED, PUT, false, 1, 1, ONE_QUEUE) }, ISSUE, 3.40,
	  "doca-gpu", 0.349, 2.5, "skip", 0.467 },
	{ { "1 shared lazy", B(SHARED, PUT, true, 1, 1, ONE_QUEUE) }, ISSUE, 3.40,
	  "doca-gpu-nodbr", 0.445, 2.0, "skip", 0.678 },
	{ { "1 shared courier", B(SHARED_COURIER, PUT, false, 1, 1, ONE_QUEUE) }, ISSUE, 3.40,
	  "doca-gpu-nodbr", 0.445, 3.5, "skip", 0.678 },
	{ { "2 warp strict", B(EXCLUSIVE, EACH, false, 1, 1, WARP_QUEUE) }, ISSUE, 3.40,
	  "doca-excl", 14.1, 3.0, "skip", 37.5 },
	{ { "2 warp lazy", B(EXCLUSIVE, EACH, true, 1, 1, WARP_QUEUE) }, ISSUE, 3.40,
	  "doca-excl-nodbr", 18.1, 3.9, "skip", 58.0 },
	{ { "2 132 warps one QP strict", B(SHARED, EACH, false, 132, 1, ONE_QUEUE) }, ISSUE,
	  380.85, "nvshmem-b1", 50.9, 7.9, "doca skip", 39.6 },
	{ { "2 132 warps one QP lazy", B(SHARED, EACH, true, 132, 1, ONE_QUEUE) }, ISSUE,
	  380.85, "doca-gpu-nodbr", 210, 2.5, "skip", 216 },
	{ { "2 132 warps one QP courier", B(SHARED_COURIER, EACH, false, 132, 1, ONE_QUEUE) },
	  ISSUE, 380.85, "doca-gpu-nodbr", 210, 4.0, "skip", 216 },
	{ { "3 one QP 8 warps", B(SHARED, PUT, false, 8, 1, ONE_QUEUE) }, ISSUE, 26.91,
	  "nvshmem", 2.81, 2.6, "doca skip", 4.90, true },
	{ { "3 one QP 32 warps", B(SHARED, PUT, false, 32, 1, ONE_QUEUE) }, ISSUE, 92.43,
	  "nvshmem", 7.60, 4.0, "doca skip", 7.69, true },
	{ { "3 one QP 132 warps", B(SHARED, PUT, false, 132, 1, ONE_QUEUE) }, ISSUE, 380.85,
	  "nvshmem", 7.24, 11, "doca skip", 7.75, true },
	{ { "3 one QP 132 warps lazy", B(SHARED, PUT, true, 132, 1, ONE_QUEUE) }, ISSUE,
	  380.85, "doca-gpu-nodbr", 7.61, 11, "skip", 7.75, true },
	{ { "3 one QP 264 warps", B(SHARED, PUT, false, 264, 1, ONE_QUEUE) }, ISSUE, 737.73,
	  "nvshmem", 6.89, 12, "doca skip", 6.98, true },
	{ { "3 one QP 8 courier", B(SHARED_COURIER, PUT, false, 8, 1, ONE_QUEUE) }, ISSUE,
	  26.91, "doca-gpu-nodbr", 3.14, 4.0, "skip", 4.90, true },
	{ { "3 one QP 32 courier", B(SHARED_COURIER, PUT, false, 32, 1, ONE_QUEUE) }, ISSUE,
	  92.43, "nvshmem", 7.60, 7.0, "doca skip", 7.69, true },
	{ { "3 one QP 132 courier", B(SHARED_COURIER, PUT, false, 132, 1, ONE_QUEUE) }, ISSUE,
	  380.85, "doca-gpu-nodbr", 7.61, 30, "skip", 7.75, true },
	{ { "3 one QP 264 courier", B(SHARED_COURIER, PUT, false, 264, 1, ONE_QUEUE) }, ISSUE,
	  737.73, "nvshmem", 6.89, 40, "doca skip", 6.98, true },
	{ { "3 own QPs 132 strict", B(EXCLUSIVE, PUT, false, 132, 1, WARP_QUEUE) }, ISSUE,
	  380.85, "doca-excl", 69.4, 3.0, "skip", 162 },
	{ { "3 own QPs 132 lazy", B(EXCLUSIVE, PUT, true, 132, 1, WARP_QUEUE) }, ISSUE,
	  380.85, "doca-excl-nodbr", 90.0, 4.0, "skip", 264 },
	{ { "3 block of 8 strict", B(BLOCK, PUT, false, 1, 8, BLOCK_QUEUE) }, ISSUE, 26.91,
	  "nvshmem", 2.82, 3.7, "doca skip", 4.31 },
	{ { "3 block of 8 lazy", B(BLOCK, PUT, true, 1, 8, BLOCK_QUEUE) }, ISSUE, 26.91,
	  "doca-cta-nodbr", 3.31, 3.2, "skip", 4.31 },
	{ { "3 block of 8 courier", B(BLOCK_COURIER, PUT, false, 1, 8, BLOCK_QUEUE) }, ISSUE,
	  26.91, "doca-cta-nodbr", 3.31, 9.0, "skip", 4.31 },
	{ { "3 132 blocks of 8 strict", B(BLOCK, PUT, false, 132, 8, BLOCK_QUEUE) }, ISSUE,
	  752.27, "nvshmem", 378, 3.6, "doca skip", 635 },
	{ { "3 132 blocks of 8 lazy", B(BLOCK, PUT, true, 132, 8, BLOCK_QUEUE) }, ISSUE,
	  752.27, "doca-cta-nodbr", 494, 2.8, "skip", 635 },
	{ { "3 132 blocks of 8 courier", B(BLOCK_COURIER, PUT, false, 132, 8, BLOCK_QUEUE) },
	  ISSUE, 752.27, "doca-cta-nodbr", 494, 8.0, "skip", 635 },
	{ { "4 signal strict", B(EXCLUSIVE, SIGNAL, false, 1, 1, WARP_QUEUE) }, ISSUE, 3.40,
	  "doca-excl", 0.510, 2.8, "skip", 0.910 },
	{ { "4 signal lazy", B(EXCLUSIVE, SIGNAL, true, 1, 1, WARP_QUEUE) }, ISSUE, 3.40,
	  "doca-excl-nodbr", 0.658, 3.8, "skip", 1.87 },
	{ { "4 signal 132 warps one QP", B(SHARED, SIGNAL, false, 132, 1, ONE_QUEUE) }, ISSUE,
	  380.85, "nvshmem", 6.91, 3.8, "doca skip", 7.84 },
	{ { "4 signal 132 courier", B(SHARED_COURIER, SIGNAL, false, 132, 1, ONE_QUEUE) },
	  ISSUE, 380.85, "doca-gpu-nodbr", 7.53, 8.9, "skip", 7.84 },
	{ { "5 quiet again, exclusive", B(EXCLUSIVE, QUIET, false, 1, 1, WARP_QUEUE) }, LOAD,
	  279, "efa-new", 649, 12, "", 0 },
	{ { "5 quiet again, shared", B(SHARED, QUIET, false, 1, 1, ONE_QUEUE) }, LOAD, 279,
	  "efa-new", 649, 2, "", 0 },
	{ { "5 put to complete", B(EXCLUSIVE, LATENCY, true, 1, 1, WARP_QUEUE) }, PING, 919,
	  "doca-excl-nodbr", 4164, 1.5, "skip", 4151 },
	{ { "7 batch of 16 strict", B(EXCLUSIVE, BATCH, false, 1, 1, WARP_QUEUE) }, ISSUE,
	  3.40, "doca-excl", 0.831, 11, "skip", 4.71 },
	{ { "7 batch of 16 lazy", B(EXCLUSIVE, BATCH, true, 1, 1, WARP_QUEUE) }, ISSUE, 3.40,
	  "doca-excl-nodbr", 0.844, 11, "skip", 4.95 },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

struct taken {
	std::vector<double> floor, floor_cycles, rate, cycles, slowest;
	uint64_t wrong;
	int error;
};

static bool lower_is_better(const struct row &r)
{
	return r.floor != ISSUE;
}

static void take_one(struct bench_machine *m, const struct row &r, int rep, struct taken *t)
{
	struct bench_result floor = {}, ours;

	if (r.floor == ISSUE)
		floor = measure_floor(m, r.bench.blocks * r.bench.warps, rep);
	else
		floor.rate = r.floor == LOAD ? measure_load(m, rep) : measure_ping(m, rep);
	ours = measure(m, r.bench, rep);
	t->floor.push_back(floor.rate);
	t->floor_cycles.push_back(floor.cycles);
	t->rate.push_back(ours.rate);
	t->cycles.push_back(ours.cycles);
	t->slowest.push_back(ours.slowest);
	t->wrong += ours.wrong;
	t->error = t->error ? t->error : ours.error;
}

/* Further conditions of single rows; what is wrong, or "". */
static const char *more(const struct row &r, const struct taken &t)
{
	if (t.error)
		return "error ";
	if (t.wrong)
		return "WRONG ENTRIES ";
	if (r.fair && median_of(t.slowest) < 0.5)
		return "unfair ";
	if (!strcmp(r.bench.name, "1 exclusive lazy") &&
	    median_of(t.cycles) > 1.25 * median_of(t.floor_cycles))
		return "over 1.25x floor ";
	if (!strcmp(r.bench.name, "3 own QPs 132 lazy") &&
	    median_of(t.rate) < 0.95 * median_of(t.floor))
		return "under 0.95 of floor ";
	return "";
}

static int show(const struct row &r, const struct taken &t, bool json, bool last)
{
	double floor = median_of(t.floor), scale = floor / r.floor_then;
	double peer = r.peer_then * scale, skips = r.skips_then * scale;
	bool lower = lower_is_better(r);
	double bar = lower ? peer / r.times : peer * r.times;
	double ours = lower ? median_of(t.cycles) : median_of(t.rate);
	const std::vector<double> &all = lower ? t.cycles : t.rate;
	const char *also = more(r, t);
	double then = lower ? r.peer_then / r.times : r.peer_then * r.times;
	bool good = !*also && (lower ? ours <= bar : ours >= bar);
	bool as_recorded = lower ? ours <= then : ours >= then;

	if (json) {
		printf("    { \"row\": \"%s\", \"unit\": \"%s\", \"floor\": %.4g, "
		       "\"peer\": \"%s\", \"peer_then\": %.4g, \"floor_then\": %.4g, "
		       "\"peer_now\": %.4g, \"unchecked_now\": %.4g, \"bar\": %.4g, "
		       "\"bar_as_recorded\": %.4g, "
		       "\"ours\": %.4g, \"min\": %.4g, \"max\": %.4g, \"cycles\": %.4g, "
		       "\"floor_cycles\": %.4g, \"slowest\": %.2f, \"wrong\": %llu, "
		       "\"error\": %d, \"met\": %s }%s\n", r.bench.name,
		       lower ? "cycles" : "M/s", floor, r.peer, r.peer_then, r.floor_then,
		       peer, skips, bar, then, ours, *std::min_element(all.begin(), all.end()),
		       *std::max_element(all.begin(), all.end()), median_of(t.cycles),
		       median_of(t.floor_cycles), median_of(t.slowest),
		       (unsigned long long)t.wrong, t.error, good ? "true" : "false",
		       last ? "" : ",");
		return !good;
	}
	printf("%-27s %8.4g %-16s %8.4g %8.4g %8.4g %8.4g %8.4g (%.4g..%.4g) %5.2f  %s%s\n",
	       r.bench.name, floor, r.peer, peer, skips, bar, then, ours,
	       *std::min_element(all.begin(), all.end()),
	       *std::max_element(all.begin(), all.end()), median_of(t.slowest),
	       !good ? "BELOW " : as_recorded ? "ok" : "ok, converted only", also);
	return !good;
}

int main(int argc, char **argv)
{
	static struct taken taken[ROWS];
	struct bench_machine m = {};
	struct cudaDeviceProp prop;
	int reps = 7, below = 0, devices = 0, i;
	double window = 1000;
	const char *only = "";
	bool json = false;
	std::vector<double> chain;
	size_t k, shown = 0;

	/* lazily loaded code would wait for an idle device while the fake NIC runs */
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
		printf("# %s, %d placements, medians; M/s, row 5 in cycles\n"
		       "%-27s %8s %-16s %8s %8s %8s %8s %8s (min..max) slowest/mean\n", prop.name,
		       reps, "row", "floor", "peer", "now", "unchckd", "bar", "as then",
		       "ours");
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
		printf("# entries verified: %llu; rows below their bar: %d\n"
		       "# efa rows: not measured, there is no such dialect\n",
		       (unsigned long long)m.verified, below);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Couriers that come late, that are aborted, and that come again; posters that do not wait.
 * The fake NIC of the bench checks every entry. Speaks KTAP.
 *
 * In one kernel, on one queue: posters with a courier that begins @delay later; when all is
 * complete the courier is aborted, or left; posters without a courier; posters with another
 * one.
 */
#include <cstring>
#include "../../tools/gda-bench-gpu/machine.cuh"

#define POSTERS		96
#define AGAIN		64U	/* puts of each in the second and in the third part */
#define CAPS		GDA_VIEW_SQ_ON_GPU

/* Words behind those of the bench: who has come how far. */
enum { MET = 128, COURIERS = 160 };

static struct late {
	uint64_t delay_ns;
	unsigned int flags;
	bool abort;
} how;

static __device__ void wait_for(uint32_t *word, uint32_t value)
{
	while (*(volatile uint32_t *)word < value)
		;
	gda_fence_system();
}

static __device__ void meet(const struct bench_args &a, int part)
{
	gda_fence_system();
	atomicAdd(a.barrier + MET + part, 1);
	wait_for(a.barrier + MET + part, a.blocks);
}

static __device__ void run_courier(const struct bench_args &a, const struct late &j)
{
	uint64_t end = gda_clock_ns() + j.delay_ns;
	struct gda_shared q = gda_shared_open(a.views, true);
	bool first = !(threadIdx.x & 31);
	int part, err;

	while (gda_clock_ns() < end)
		;
	for (part = 0; part < 2; part++) {
		if (part)
			wait_for(a.barrier + MET + 1, a.blocks);
		__syncwarp();
		err = gda_courier_run(q, a.posters);
		if (first && err != (j.abort && !part ? -ESHUTDOWN : 0))
			atomicCAS(a.error, 0, err | 1);
		gda_fence_system();
		if (first)
			atomicAdd(a.barrier + COURIERS, 1);
	}
}

static __device__ int post_some(struct gda_shared &q, uint32_t id, uint32_t &number, uint32_t n,
				unsigned int flags)
{
	uint64_t end = gda_clock_ns() + 2000000000;

	while (n) {
		int64_t ticket = bench_post<false>(q, id, number, flags);

		if (ticket == -EAGAIN && gda_clock_ns() < end)
			continue;
		if (ticket < 0)
			return (int)ticket;
		number++;
		n--;
	}
	return gda_quiet(q, 0);
}

static __device__ void run_poster(const struct bench_args &a, const struct late &j, uint32_t id)
{
	struct gda_shared q = gda_shared_open(a.views, true);
	struct gda_shared alone = gda_shared_open(a.views, false);
	uint32_t number = 0;
	int err;

	err = post_some(q, id, number, a.warm, j.flags);
	meet(a, 0);
	if (!j.abort)
		gda_courier_leave(a.posters);
	else if (!id)
		atomicExch_system(&a.views->abort_word, 1);
	wait_for(a.barrier + COURIERS, 1);
	if (!id) {
		atomicExch_system(&a.views->abort_word, 0);
		atomicExch(a.posters, a.blocks);
	}
	meet(a, 2);
	if (!err)
		err = post_some(alone, id, number, AGAIN, j.flags);
	meet(a, 1);
	if (!err)
		err = post_some(q, id, number, AGAIN, j.flags);
	gda_courier_leave(a.posters);
	if (err)
		atomicCAS(a.error, 0, err);
	a.ops[id] = number - a.warm;
	a.t0[id] = 0;
	a.t1[id] = 1;
}

static __global__ void late_kernel(struct bench_args a, struct late j)
{
	if (a.noop)
		return;
	if (!blockIdx.x)
		run_courier(a, j);
	else if (!threadIdx.x)
		run_poster(a, j, blockIdx.x - 1);
}

static void late_launch(const struct bench_args &a, dim3 grid, dim3 block, cudaStream_t s)
{
	late_kernel<<<grid, block, 0, s>>>(a, how);
	CUDA(cudaGetLastError());
}

static int number, status;

static void verdict(bool ok, const char *what)
{
	printf("%sok %d %s\n", ok ? "" : "not ", ++number, what);
	fflush(stdout);
	status |= !ok;
}

static void run_late(struct bench_machine *m, uint32_t depth, unsigned int delay_us, bool waits,
		     bool abort)
{
	/* beside a single queue's NIC of eight multiprocessors */
	struct bench_row r = { "courier", SHARED_COURIER, PUT, false, POSTERS, 1, ONE_QUEUE,
			       depth, late_launch };
	struct bench_result got;
	char what[128];

	how = { delay_us * 1000ULL, waits ? 0 : GDA_NOWAIT, abort };
	got = measure(m, r, 0);
	if (got.wrong || got.error)
		printf("# %llu wrong of %llu, error %d\n", (unsigned long long)got.wrong,
		       (unsigned long long)got.entries, got.error);
	snprintf(what, sizeof(what), "courier %u us late, ring of %u, posters that %s%s", delay_us,
		 depth, waits ? "wait" : "do not wait", abort ? ", aborted" : "");
	verdict(!got.wrong && !got.error, what);
}

/* The same puts, waiting and not, to a ring that is not full. */
static void run_nowait(struct bench_machine *m, bool lazy)
{
	struct bench_row waits = { "waiting", SHARED, PUT, lazy, 132, 1, ONE_QUEUE, 4096,
				   lazy ? bench_run<SHARED, PUT, true> :
					  bench_run<SHARED, PUT, false> };
	struct bench_row not_ = { "not waiting", SHARED, NOWAIT, lazy, 132, 1, ONE_QUEUE, 4096,
				  lazy ? bench_run<SHARED, NOWAIT, true> :
					 bench_run<SHARED, NOWAIT, false> };
	struct bench_result a = measure(m, waits, 0), b = measure(m, not_, 0);

	printf("# waiting %.1f M/s, not waiting %.1f M/s, slowest warp %.2f of the mean\n", a.rate,
	       b.rate, b.slowest);
	verdict(!a.wrong && !a.error && !b.wrong && !b.error && b.rate > a.rate / 3 &&
		b.slowest > 0.2, lazy ? "puts that do not wait go on, lazy" :
					"puts that do not wait go on");
}

/* courier [late|aborted|nowait]: all, or one of the three parts */
int main(int argc, char **argv)
{
	static const unsigned int delays[] = { 0, 10, 100, 1000 };
	struct bench_machine m = {};
	struct cudaDeviceProp prop;
	const char *only = argc > 1 ? argv[1] : "";
	int devices = 0, plan = 0, abort;
	uint32_t depth;

	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		printf("1..0 # SKIP no GPU here: device code was compiled, not run\n");
		return 0;
	}
	CUDA(cudaGetDeviceProperties(&prop, 0));
	machine_open(&m, 1000);
	m.clusters = prop.major >= 9;
	plan += strstr("late", only) ? 10 * 4 * 2 : 0;
	plan += strstr("aborted", only) ? 10 * 4 * 2 : 0;
	plan += strstr("nowait", only) ? 2 : 0;
	printf("1..%d\n", plan);
	for (abort = 0; abort < 2; abort++) {
		if (!strstr(abort ? "aborted" : "late", only))
			continue;
		for (depth = 8; depth <= 4096; depth *= 2)
			for (unsigned int delay : delays) {
				run_late(&m, depth, delay, true, abort);
				run_late(&m, depth, delay, false, abort);
			}
	}
	if (strstr("nowait", only)) {
		run_nowait(&m, false);
		run_nowait(&m, true);
	}
	return status;
}

// SPDX-License-Identifier: MIT
/*
 * Copies of mapped memory in kernels (gda/shmem_copy.h): every size up to 300 bytes and every
 * alignment of both ends up to 31, by threads, warps and blocks, and long ones of random alignment.
 * The target is on the second GPU where there is one that the first reaches. Speaks KTAP.
 */
#include <gda/shmem.h>
#include "ktap.cuh"

#define SIZES		301U
#define ALIGNS		32U
#define CASES		(SIZES * ALIGNS * ALIGNS)
#define AROUND		64U
#define SMALL		512U		/* room of a small copy, with what lies around it */
#define LARGE		(300U << 10)
#define LONG_CASES	2000U
#define BLOCKS		64U
#define WARPS		8U

struct found {
	unsigned long long cases, wrong;
	uint32_t bytes, target, source, at;
	uint8_t is, want, later;	/* of the first wrong byte; later: loaded once more */
};

enum by { THREAD, WARP, BLOCK };

struct test {
	const char *name;
	enum by by;
	bool large;
};

static __device__ uint8_t byte_of(uint32_t i, uint32_t which)
{
	return (uint8_t)((i + which) * 2654435761U >> 21);
}

struct one {
	uint32_t bytes, target, source;
};

static __device__ struct one small_case(uint32_t n)
{
	return { n % SIZES, n / SIZES % ALIGNS, n / SIZES / ALIGNS };
}

static __device__ struct one large_case(uint32_t n)
{
	uint32_t draw = (n + 1) * 2654435761U;

	return { draw % (LARGE - 2 * AROUND - ALIGNS), draw >> 8 & 31, n & 1 ? draw >> 8 & 31 :
		 draw >> 16 & 31 };
}

/* @g copies one after the other of its cases, each between bytes that stay. */
template <class group>
static __device__ void copies(const group &g, uint8_t *to, uint8_t *from, uint32_t room,
			      uint32_t first, uint32_t step, bool large, struct found *found)
{
	uint32_t n, i;

	for (n = first; n < (large ? LONG_CASES : CASES); n += step) {
		struct one c = large ? large_case(n) : small_case(n);
		uint32_t begin = AROUND + c.target, len = large ? c.bytes + 2 * AROUND + ALIGNS :
							  room;

		for (i = g.thread_rank(); i < len; i += g.size()) {
			((volatile uint8_t *)from)[i] = byte_of(i, n);
			((volatile uint8_t *)to)[i] = 0xa5;
		}
		__threadfence_system();
		g.sync();
		gda_shmem_copy_mapped(to + begin, from + AROUND + c.source, c.bytes,
				      g.thread_rank(), g.size());
		__threadfence_system();
		g.sync();
		for (i = g.thread_rank(); i < len; i += g.size()) {
			uint8_t want = i - begin < c.bytes ?
				       byte_of(i - begin + AROUND + c.source, n) : 0xa5;

			uint8_t is = ((volatile uint8_t *)to)[i];

			if (is == want)
				continue;
			if (!atomicAdd(&found->wrong, 1)) {
				found->bytes = c.bytes;
				found->target = c.target;
				found->source = c.source;
				found->at = i - begin;
				found->is = is;
				found->want = want;
				__threadfence_system();
				found->later = ((volatile uint8_t *)to)[i];
			}
		}
		g.sync();
		if (!g.thread_rank())
			atomicAdd(&found->cases, 1);
	}
}

static __global__ void by_thread(uint8_t *to, uint8_t *from, bool large, struct found *found)
{
	uint32_t n = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
	uint32_t room = large ? LARGE : SMALL;

	copies(gda_thread_group(), to + (size_t)n * room, from + (size_t)n * room, room, n, all,
	       large, found);
}

static __global__ void by_warp(uint8_t *to, uint8_t *from, bool large, struct found *found)
{
	uint32_t n = (blockIdx.x * blockDim.x + threadIdx.x) / 32, all = gridDim.x * WARPS;
	uint32_t room = large ? LARGE : SMALL;

	copies(gda_warp_group(), to + (size_t)n * room, from + (size_t)n * room, room, n, all,
	       large, found);
}

static __global__ void by_block(uint8_t *to, uint8_t *from, bool large, struct found *found)
{
	uint32_t room = large ? LARGE : SMALL;

	copies(gda_block_group(), to + (size_t)blockIdx.x * room, from + (size_t)blockIdx.x * room,
	       room, blockIdx.x, gridDim.x, large, found);
}

static int run(const struct test *test, int devices)
{
	uint32_t groups = test->by == THREAD ? BLOCKS * 32 : test->by == WARP ? BLOCKS * WARPS :
			  BLOCKS;
	size_t bytes = (size_t)groups * (test->large ? LARGE : SMALL);
	uint32_t all = test->large ? LONG_CASES : CASES;
	uint8_t *from, *to;
	struct found *found;
	int reaches = 0;
	int failed;

	if (devices > 1)
		CUDA(cudaDeviceCanAccessPeer(&reaches, 0, 1));
	CUDA(cudaSetDevice(reaches));
	CUDA(cudaMalloc(&to, bytes));
	CUDA(cudaSetDevice(0));
	if (reaches && cudaDeviceEnablePeerAccess(1, 0) != cudaSuccess)
		cudaGetLastError();	/* it is enabled already */
	CUDA(cudaMalloc(&from, bytes));
	CUDA(cudaHostAlloc(&found, sizeof(*found), 0));
	memset(found, 0, sizeof(*found));
	if (test->by == THREAD)
		by_thread<<<BLOCKS, 32>>>(to, from, test->large, found);
	else if (test->by == WARP)
		by_warp<<<BLOCKS, 32 * WARPS>>>(to, from, test->large, found);
	else
		by_block<<<BLOCKS, 256>>>(to, from, test->large, found);
	CUDA(cudaDeviceSynchronize());
	failed = found->wrong || found->cases != all;
	printf("# %s: %llu copies, target on GPU %d\n", test->name, found->cases, reaches);
	if (failed)
		printf("# %llu bytes wrong; of %u bytes, to %u, from %u: %d is %#x, later %#x, not %#x\n",
		       found->wrong, found->bytes, found->target, found->source,
		       (int)found->at, found->is, found->later, found->want);
	CUDA(cudaFreeHost(found));
	CUDA(cudaFree(from));
	CUDA(cudaSetDevice(reaches));
	CUDA(cudaFree(to));
	return failed;
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "every_size_and_alignment.thread", THREAD, false },
		{ "every_size_and_alignment.warp", WARP, false },
		{ "every_size_and_alignment.block", BLOCK, false },
		{ "long.warp", WARP, true },
		{ "long.block", BLOCK, true },
	};

	return ktap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : "", run);
}

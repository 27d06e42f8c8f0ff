// SPDX-License-Identifier: MIT
/*
 * NCCL's device API over the RMA plugin, as its users write it: two ranks as threads, on two GPUs
 * or on one, random operations of both against what they must leave, by one thread, a warp
 * and a block. Then latency and bandwidth, and errors.
 *
 *	device [OPERATIONS [ROUNDS]]	random operations in all; of each measurement
 *
 * Both ranks draw the same operations. The data of a put is a function of the rank, the
 * operation and the place, so the other one knows each byte. An operation in which each puts to
 * the other and waits is a turn. A rank that begins turn t + 2 has seen the other's signal of
 * t + 1, sent when t had been checked: so buffers and signals of two turns are enough, and
 * those of a rank to itself are apart.
 *
 * Speaks KTAP.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>
#include <pthread.h>
#include <unistd.h>
#include <cuda_runtime.h>
#include <nccl.h>
#include <nccl_device.h>

#define CUDA(call) do { \
	cudaError_t err_ = (call); \
	if (err_ != cudaSuccess) { \
		printf("Bail out! %s: %s\n", #call, cudaGetErrorString(err_)); \
		fflush(stdout); \
		_exit(1); \
	} \
} while (0)

#define NCCL(call) do { \
	ncclResult_t err_ = (call); \
	if (err_ != ncclSuccess) { \
		printf("Bail out! %s: %s\n", #call, ncclGetErrorString(err_)); \
		fflush(stdout); \
		_exit(1); \
	} \
} while (0)

#define RANKS		2
#define CONTEXTS	2
#define BUFFER		(64UL << 10)
#define CONSTANT	(1UL << 20)
#define LARGE		(16UL << 20)
#define WINDOW		(2 * LARGE)
#define STRICT		4096UL
#define TIMEOUT		40000000000LL	/* cycles, more than 20 s */

/* Places in the window; each but the first two is one of a pair, by parity. */
#define AT_CONSTANT	0UL
#define AT_SOURCE	CONSTANT
#define AT_SOURCE2	(AT_SOURCE + 2 * BUFFER)
#define AT_PUT		(AT_SOURCE2 + 2 * BUFFER)	/* by the rank that puts, too */
#define AT_PUT2		(AT_PUT + 4 * BUFFER)
#define AT_GET		(AT_PUT2 + 4 * BUFFER)

/* Signals of a context, and words in the strict window: by slot, that is to self, and turn. */
#define SLOTS		4
enum { SIGNAL_INC, SIGNAL_ADD = SLOTS, SIGNAL_PING = 2 * SLOTS, SIGNALS };
#define WORD_INC(slot)	(64UL * (slot))
#define WORD_ADD(slot)	(64UL * (SLOTS + (slot)))
#define WORD_MANY	1024UL

enum kind { PUT, PUT_TWICE, VALUE, GET, SIGNAL, BARRIER, RESET, KINDS };

struct report {
	unsigned long long wrong;	/* bytes */
	unsigned long long done;	/* operations */
	int failed;			/* line of what timed out, or 0 */
	int barrier;			/* ncclResult_t of a barrier with a time-out */
	long long cycles;
};

struct work {
	ncclDevComm comm;
	ncclWindow_t window, strict;
	unsigned char *bytes;		/* of the window, here */
	struct report *report;
	uint64_t seed;
	unsigned int operations;
};

__host__ __device__ static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15ULL;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* The byte at @at of what @rank puts by operation @i, or, with -1, has in its constant part. */
__host__ __device__ static unsigned char byte(int rank, long i, size_t at)
{
	return (unsigned char)mix(((uint64_t)(i + 1) << 24 ^ at) * 2 + (uint64_t)rank);
}

/* Is @mine true for any member of the group? */
template <typename Coop>
__device__ static bool any(Coop coop, bool mine)
{
	__shared__ int flag;
	bool result;

	coop.sync();
	if (coop.thread_rank() == 0)
		flag = 0;
	coop.sync();
	if (mine)
		flag = 1;
	coop.sync();
	result = flag;
	coop.sync();
	return result;
}

template <typename Coop> struct player {
	Coop coop;
	struct work w;
	int rank;
	bool dead;
	unsigned int turn;
	uint64_t inc[CONTEXTS][SLOTS], add[CONTEXTS][SLOTS], counter[CONTEXTS];
	uint64_t va_inc[SLOTS], va_add[SLOTS];

	__device__ player(Coop c, const struct work &work) : coop(c), w(work), dead(false), turn(0)
	{
		rank = w.comm.rank;
		for (int i = 0; i < CONTEXTS; i++)
			forget(i);
	}

	__device__ void forget(int c)
	{
		counter[c] = 0;
		for (int slot = 0; slot < SLOTS; slot++)
			inc[c][slot] = add[c][slot] = va_inc[slot] = va_add[slot] = 0;
	}

	__device__ void fail(int line)
	{
		if (coop.thread_rank() == 0)
			atomicCAS(&w.report->failed, 0, line);
		dead = true;
	}

	__device__ void fill(size_t at, size_t size, long i)
	{
		for (size_t k = coop.thread_rank(); k < size; k += coop.size())
			w.bytes[at + k] = byte(rank, i, k);
		coop.sync();
	}

	__device__ void check(size_t at, size_t size, int from, long i, size_t first = 0)
	{
		const volatile unsigned char *bytes = w.bytes + at;
		unsigned int wrong = 0;

		for (size_t k = coop.thread_rank(); k < size; k += coop.size())
			wrong += bytes[k] != byte(from, i, first + k);
		if (wrong)
			atomicAdd(&w.report->wrong, (unsigned long long)wrong);
		coop.sync();
	}

	/* Until the indexed or the VA signal is there, but not for ever; then as users wait. */
	__device__ void await(const ncclGin &gin, bool va, size_t id, uint64_t least, int bits)
	{
		uint64_t mask = ~0ULL >> (64 - bits);
		long long start = clock64();
		bool late = false;

		if (coop.thread_rank() == 0) {
			for (;;) {
				uint64_t now = va ? gin.readSignal(w.strict, id, bits) :
						    gin.readSignal((ncclGinSignal_t)id, bits);

				if (((now - least) & mask) <= mask >> 1)
					break;
				late = clock64() - start > TIMEOUT;
				if (late)
					break;
			}
		}
		if (any(coop, late)) {
			fail(__LINE__);
			return;
		}
		if (va)
			gin.waitSignal(coop, w.strict, id, least, bits);
		else
			gin.waitSignal(coop, (ncclGinSignal_t)id, least, bits);
	}

	template <typename Action>
	__device__ void put(const ncclGin &gin, int peer, size_t to, size_t from, size_t size,
			    Action action, int c, bool counted)
	{
		ncclTeam world = ncclTeamWorld(w.comm);

		if (counted) {
			gin.put(world, peer, w.window, to, w.window, from, size, action,
				ncclGin_WeakCounterInc{ (ncclGinCounter_t)0 }, coop);
			counter[c]++;
		} else {
			gin.put(world, peer, w.window, to, w.window, from, size, action,
				ncclGin_None{}, coop);
		}
	}

	template <typename Action>
	__device__ void value(const ncclGin &gin, int peer, size_t to, int size, uint64_t bits,
			      Action action)
	{
		ncclTeam world = ncclTeamWorld(w.comm);

		switch (size) {
		case 1:
			gin.putValue(world, peer, w.window, to, (uint8_t)bits, action, coop);
			break;
		case 2:
			gin.putValue(world, peer, w.window, to, (uint16_t)bits, action, coop);
			break;
		case 4:
			gin.putValue(world, peer, w.window, to, (uint32_t)bits, action, coop);
			break;
		default:
			gin.putValue(world, peer, w.window, to, bits, action, coop);
		}
	}

	/* @send with one of the eight actions, then wait for the other's. */
	template <typename Send>
	__device__ void act(const ncclGin &gin, int c, int slot, unsigned int which,
			    uint64_t amount, Send send)
	{
		bool va = which & 1, adds = which & 2, strong = which & 4;
		ncclGinSignal_t i = SIGNAL_INC + slot, a = SIGNAL_ADD + slot;
		size_t word_inc = WORD_INC(slot), word_add = WORD_ADD(slot);
		int bits = amount & 1 ? 64 : 32;

		if (!va && !adds) {
			if (strong)
				send(ncclGin_StrongSignalInc{ i });
			else
				send(ncclGin_WeakSignalInc{ i });
			await(gin, false, i, ++inc[c][slot], bits);
		} else if (!va) {
			if (strong)
				send(ncclGin_StrongSignalAdd{ a, amount });
			else
				send(ncclGin_WeakSignalAdd{ a, amount });
			add[c][slot] += amount;
			await(gin, false, a, add[c][slot], bits);
		} else if (!adds) {
			if (strong)
				send(ncclGin_StrongVASignalInc{ w.strict, word_inc });
			else
				send(ncclGin_WeakVASignalInc{ w.strict, word_inc });
			await(gin, true, word_inc, ++va_inc[slot], bits);
		} else {
			if (strong)
				send(ncclGin_StrongVASignalAdd{ w.strict, word_add, amount });
			else
				send(ncclGin_WeakVASignalAdd{ w.strict, word_add, amount });
			va_add[slot] += amount;
			await(gin, true, word_add, va_add[slot], bits);
		}
	}

	__device__ void barrier(const ncclGin &gin, ncclGinFenceLevel fence)
	{
		ncclGinBarrierSession<Coop> session(coop, gin, ncclTeamTagWorld(), 0);

		if (any(coop, session.sync(coop, cuda::memory_order_acq_rel, fence, TIMEOUT) !=
				      ncclSuccess))
			fail(__LINE__);
	}

	/* The sources may be written again: by flush, flush of the peer, or counter. */
	__device__ void consumed(const ncclGin &gin, int peer, int c, bool counted,
				 unsigned int how)
	{
		if (counted) {
			gin.waitCounter(coop, 0, counter[c]);
		} else if (how) {
			if (coop.thread_rank() == 0) {
				ncclGinRequest_t request;

				gin.flushAsync(ncclTeamWorld(w.comm), (uint32_t)peer, &request);
				gin.wait(request);
			}
			coop.sync();
		} else {
			gin.flush(coop);
		}
	}

	/* Words go back to 0 on both ranks, while nobody changes them. */
	__device__ void reset(const ncclGin &gin, int c)
	{
		barrier(gin, ncclGinFenceLevel::Put | ncclGinFenceLevel::Get);
		if (dead)
			return;
		gin.flush(coop);
		for (int slot = coop.thread_rank(); slot < SLOTS; slot += coop.size()) {
			gin.resetSignal(w.strict, WORD_INC(slot));
			gin.resetSignal(w.strict, WORD_ADD(slot));
			gin.resetSignal((ncclGinSignal_t)(SIGNAL_INC + slot));
			gin.resetSignal((ncclGinSignal_t)(SIGNAL_ADD + slot));
		}
		if (coop.thread_rank() == 0)
			gin.resetCounter(0);
		forget(c);
		coop.sync();
		barrier(gin, ncclGinFenceLevel::None);
	}

	__device__ void operation(unsigned int i)
	{
		uint64_t r = mix(w.seed ^ (uint64_t)i << 20), s = mix(r);
		enum kind kind = (enum kind)(r % 64 ? r / 64 % (KINDS - 1) : RESET);
		int c = (int)(s & 1), peer = s & 2 ? rank : 1 - rank, from = peer;
		unsigned int action = (unsigned int)(s >> 2) & 7;
		bool counted = s >> 5 & 1;
		uint64_t amount = (s >> 6 & 0xffff) + 1;
		int slot = s & 2 ? 2 : turn % 2;
		size_t half = slot % 2 * BUFFER, size = s >> 32 & 7 ? 1 + (s >> 40 & 0x3ff) :
							       1 + (s >> 40) % BUFFER;
		size_t at = (s >> 56) % (BUFFER - size + 1);
		size_t source = AT_SOURCE + half, put_to = AT_PUT + half * 2 + rank * BUFFER + at;
		size_t put_at = AT_PUT + half * 2 + from * BUFFER + at;
		ncclGin gin(w.comm, c);

		switch (kind) {
		case PUT:
			fill(source, size, i);
			act(gin, c, slot, action, amount, [&](auto with) {
				put(gin, peer, put_to, source, size, with, c, counted);
			});
			if (!dead)
				check(put_at, size, from, i);
			if (!dead)
				consumed(gin, peer, c, counted, s >> 20 & 1);
			break;
		case PUT_TWICE:
			/* the first is covered by the strong signal of the second */
			fill(source, size, i);
			fill(AT_SOURCE2 + half, size, i);
			put(gin, peer, put_to, source, size, ncclGin_None{}, c, false);
			act(gin, c, slot, action | 4, amount, [&](auto with) {
				put(gin, peer, put_to - AT_PUT + AT_PUT2, AT_SOURCE2 + half, size,
				    with, c, counted);
			});
			if (!dead) {
				check(put_at, size, from, i);
				check(put_at - AT_PUT + AT_PUT2, size, from, i);
			}
			if (!dead)
				consumed(gin, peer, c, counted, s >> 20 & 1);
			break;
		case VALUE: {
			int bytes = 1 << (s >> 21 & 3);
			uint64_t bits = 0;

			for (int k = bytes - 1; k >= 0; k--)
				bits = bits << 8 | byte(rank, i, (size_t)k);
			put_to = put_to / 8 * 8;
			put_at = put_at / 8 * 8;
			act(gin, c, slot, action, amount, [&](auto with) {
				value(gin, peer, put_to, bytes, bits, with);
			});
			if (!dead)
				check(put_at, (size_t)bytes, from, i);
			break;
		}
		case GET: {
			size_t where = (s >> 24) % (CONSTANT - size);

			gin.get(ncclTeamWorld(w.comm), peer, w.window, AT_CONSTANT + where,
				w.window, AT_GET + half + at, size, coop);
			consumed(gin, peer, c, false, s >> 20 & 1);
			check(AT_GET + half + at, size, from, -1, where);
			break;
		}
		case SIGNAL:
			act(gin, c, slot, action, amount, [&](auto with) {
				gin.signal(ncclTeamWorld(w.comm), peer, with, coop);
			});
			break;
		case BARRIER:
			fill(source, size, i);
			put(gin, peer, put_to, source, size, ncclGin_None{}, c, false);
			barrier(gin, ncclGinFenceLevel::Put);
			if (!dead)
				check(put_at, size, from, i);
			/* the other has put, but I may not have been checked */
			if (!dead)
				barrier(gin, ncclGinFenceLevel::Get);
			break;
		default:
			for (int k = 0; k < CONTEXTS && !dead; k++)
				reset(ncclGin(w.comm, k), k);
		}
		turn += peer != rank && kind != GET;
	}

	__device__ void play(void)
	{
		unsigned int i;

		for (i = 0; i < w.operations && !dead; i++)
			operation(i);
		if (!dead)
			reset(ncclGin(w.comm, 0), 0);
		if (!dead)
			reset(ncclGin(w.comm, 1), 1);
		if (coop.thread_rank() == 0)
			w.report->done += i;
	}
};

template <typename Coop> __global__ void play(struct work w)
{
	player<Coop> p(Coop(), w);

	p.play();
}

__global__ void constant(unsigned char *bytes, int rank)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

	for (; i < CONSTANT; i += (size_t)gridDim.x * blockDim.x)
		bytes[AT_CONSTANT + i] = byte(rank, -1, i);
}

/* Blocks of both ranks, each in a context, add to one VA word of rank 0. */
__global__ void many(struct work w)
{
	ncclGin gin(w.comm, (int)blockIdx.x % CONTEXTS);
	uint64_t all = (uint64_t)RANKS * gridDim.x * w.operations;
	long long start = clock64();

	for (unsigned int i = 0; i < w.operations; i++)
		gin.signal(ncclTeamWorld(w.comm), 0,
			   ncclGin_WeakVASignalInc{ w.strict, WORD_MANY }, ncclCoopThread());
	gin.flush(ncclCoopThread());
	if (w.comm.rank == 0)
		while (gin.readSignal(w.strict, WORD_MANY) < all)
			if (clock64() - start > TIMEOUT) {
				w.report->failed = __LINE__;
				break;
			}
	if (w.comm.rank == 0 && blockIdx.x == 0)
		w.report->wrong += gin.readSignal(w.strict, WORD_MANY) - all;
}

/* Rank 0 puts and rank 1 answers, each @size bytes with a signal. */
__global__ void pingpong(struct work w, size_t size, bool answer)
{
	ncclGin gin(w.comm, 0);
	ncclTeam world = ncclTeamWorld(w.comm);
	uint64_t seen = gin.readSignal(SIGNAL_PING);
	long long start = 0;

	{
		ncclGinBarrierSession<ncclCoopThread> session(ncclCoopThread(), gin,
							      ncclTeamTagWorld(), 0);
		session.sync(ncclCoopThread(), cuda::memory_order_acq_rel,
			     ncclGinFenceLevel::None);
	}
	start = clock64();
	for (unsigned int i = 1; i <= w.operations; i++) {
		if (w.comm.rank == 1)
			gin.waitSignal(ncclCoopThread(), SIGNAL_PING, seen + i);
		if (w.comm.rank == 0 || answer)
			gin.put(world, 1 - w.comm.rank, w.window, LARGE, w.window, 0, size,
				ncclGin_StrongSignalInc{ SIGNAL_PING });
		if (w.comm.rank == 0 && answer)
			gin.waitSignal(ncclCoopThread(), SIGNAL_PING, seen + i);
	}
	gin.flush(ncclCoopThread());
	if (!answer) {
		ncclGinBarrierSession<ncclCoopThread> session(ncclCoopThread(), gin,
							      ncclTeamTagWorld(), 0);
		session.sync(ncclCoopThread(), cuda::memory_order_acq_rel,
			     ncclGinFenceLevel::Put);
	}
	w.report->cycles = clock64() - start;
}

/* Rank 0 puts to @offset at its peer, and waits for a signal that does not come. */
__global__ void doomed(struct work w, size_t offset, long long timeout)
{
	ncclGin gin(w.comm, 0);

	gin.put(ncclTeamWorld(w.comm), 1, w.window, offset, w.window, 0, 8,
		ncclGin_StrongSignalInc{ SIGNAL_PING });
	ncclGinBarrierSession<ncclCoopThread> session(ncclCoopThread(), gin, ncclTeamTagWorld(), 0);
	w.report->barrier = session.sync(ncclCoopThread(), cuda::memory_order_acq_rel,
					 ncclGinFenceLevel::None, (uint64_t)timeout);
}

struct rank {
	int rank, device;
	ncclComm_t comm;
	cudaStream_t stream;
	void *memory, *words;
	struct work work;
	struct report *report;		/* of the host, mapped */
};

static pthread_barrier_t meeting;
static int number, status, gpus;
static ncclUniqueId id;
static unsigned int operations = 20000, rounds = 2000;

static void verdict(bool ok, const char *what)
{
	printf("%sok %d %s\n", ok ? "" : "not ", ++number, what);
	fflush(stdout);
	status |= !ok;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void start(struct rank *r)
{
	ncclDevCommRequirements needs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;

	CUDA(cudaSetDevice(r->device));
	CUDA(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
	CUDA(cudaHostAlloc(&r->report, sizeof(*r->report), cudaHostAllocMapped));
	memset(r->report, 0, sizeof(*r->report));
	NCCL(ncclCommInitRank(&r->comm, RANKS, id, r->rank));
	NCCL(ncclMemAlloc(&r->memory, WINDOW));
	NCCL(ncclMemAlloc(&r->words, STRICT));
	CUDA(cudaMemsetAsync(r->memory, 0, WINDOW, r->stream));
	CUDA(cudaMemsetAsync(r->words, 0, STRICT, r->stream));
	constant<<<64, 256, 0, r->stream>>>((unsigned char *)r->memory, r->rank);
	CUDA(cudaStreamSynchronize(r->stream));
	NCCL(ncclCommWindowRegister(r->comm, r->memory, WINDOW, &r->work.window,
				    NCCL_WIN_COLL_SYMMETRIC));
	NCCL(ncclCommWindowRegister(r->comm, r->words, STRICT, &r->work.strict,
				    NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING));
	needs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
	needs.ginContextCount = CONTEXTS;
	needs.ginSignalCount = SIGNALS;
	needs.ginCounterCount = 1;
	needs.worldGinBarrierCount = 1;
	NCCL(ncclDevCommCreate(r->comm, &needs, &r->work.comm));
	r->work.bytes = (unsigned char *)r->memory;
	r->work.report = r->report;
}

static void stop(struct rank *r)
{
	NCCL(ncclDevCommDestroy(r->comm, &r->work.comm));
	NCCL(ncclCommWindowDeregister(r->comm, r->work.window));
	NCCL(ncclCommWindowDeregister(r->comm, r->work.strict));
	NCCL(ncclCommDestroy(r->comm));
	NCCL(ncclMemFree(r->memory));
	NCCL(ncclMemFree(r->words));
	CUDA(cudaFreeHost(r->report));
	CUDA(cudaStreamDestroy(r->stream));
}

static void both(void (*fn)(struct rank *r))
{
	std::vector<std::thread> threads;
	static struct rank ranks[RANKS];

	NCCL(ncclGetUniqueId(&id));
	for (int i = 0; i < RANKS; i++) {
		ranks[i] = (struct rank){};
		ranks[i].rank = i;
		ranks[i].device = i % gpus;
		threads.emplace_back(fn, &ranks[i]);
	}
	for (auto &t : threads)
		t.join();
}

/* Rank 0 speaks for both, when both have ended. */
static struct report reports[RANKS];

static void finish(struct rank *r, const char *what)
{
	CUDA(cudaStreamSynchronize(r->stream));
	reports[r->rank] = *r->report;
	pthread_barrier_wait(&meeting);
	if (r->rank == 0) {
		for (int i = 0; i < RANKS; i++)
			printf("# rank %d: %llu operations, %llu wrong, %s%d\n", i,
			       reports[i].done, reports[i].wrong,
			       reports[i].failed ? "timed out at line " : "timed out: ",
			       reports[i].failed);
		verdict(!reports[0].wrong && !reports[1].wrong && !reports[0].failed &&
				!reports[1].failed, what);
	}
	memset(r->report, 0, sizeof(*r->report));
	pthread_barrier_wait(&meeting);
}

static void measure(struct rank *r)
{
	int khz = 0;
	double us, gb;

	CUDA(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, r->device));
	r->work.operations = rounds;
	pingpong<<<1, 1, 0, r->stream>>>(r->work, 8, true);
	CUDA(cudaStreamSynchronize(r->stream));
	us = r->report->cycles * 1e3 / khz / rounds / 2;
	if (r->rank == 0)
		printf("# put of 8 bytes with signal until seen: %.2f us\n", us);
	pthread_barrier_wait(&meeting);
	r->work.operations = 64;
	pingpong<<<1, 1, 0, r->stream>>>(r->work, LARGE, false);
	CUDA(cudaStreamSynchronize(r->stream));
	gb = 64.0 * LARGE / (r->report->cycles * 1e3 / khz * 1e3);
	if (r->rank == 0)
		printf("# put of 16 MiB with signal: %.2f GB/s\n", gb);
	pthread_barrier_wait(&meeting);
	memset(r->report, 0, sizeof(*r->report));
}

static void conform(struct rank *r)
{
	start(r);
	pthread_barrier_wait(&meeting);
	r->work.operations = operations * 2 / 5;
	r->work.seed = 1;
	play<ncclCoopThread><<<1, 1, 0, r->stream>>>(r->work);
	finish(r, "random operations by one thread");
	r->work.operations = operations * 3 / 10;
	r->work.seed = 2;
	play<ncclCoopWarp><<<1, 32, 0, r->stream>>>(r->work);
	finish(r, "random operations by a warp");
	r->work.seed = 3;
	play<ncclCoopCta><<<1, 128, 0, r->stream>>>(r->work);
	finish(r, "random operations by a block");
	r->work.operations = 1000;
	many<<<4, 1, 0, r->stream>>>(r->work);
	finish(r, "many add to one word");
	measure(r);
	stop(r);
}

/* Rank 0's asynchronous error within a second, and its kernel's time-out. */
static void error(struct rank *r, size_t offset, const char *what)
{
	ncclResult_t async = ncclSuccess;
	double begin = now();

	doomed<<<1, 1, 0, r->stream>>>(r->work, offset, 2000000000LL);
	while (async == ncclSuccess && now() - begin < 5)
		NCCL(ncclCommGetAsyncError(r->comm, &async));
	begin = now() - begin;
	CUDA(cudaStreamSynchronize(r->stream));
	printf("# %s: %s after %.3f s, the kernel's wait %s\n", what, ncclGetErrorString(async),
	       begin, r->report->barrier == ncclTimeout ? "timed out" : "did not time out");
	verdict(async != ncclSuccess && begin < 1 && r->report->barrier == ncclTimeout, what);
}

static void outside(struct rank *r)
{
	start(r);
	pthread_barrier_wait(&meeting);
	if (r->rank == 0)
		error(r, WINDOW + (1UL << 40), "a put outside of the window");
	pthread_barrier_wait(&meeting);
	ncclCommAbort(r->comm);
}

/*
 * NCCL keeps what a communicator has until all those of its process are destroyed; but queues it
 * destroys with the device communicator.
 */
static void gone(struct rank *r)
{
	start(r);
	pthread_barrier_wait(&meeting);
	if (r->rank == 1)
		NCCL(ncclDevCommDestroy(r->comm, &r->work.comm));
	pthread_barrier_wait(&meeting);
	if (r->rank == 0)
		error(r, 0, "a destroyed peer");
	pthread_barrier_wait(&meeting);
	ncclCommAbort(r->comm);
}

int main(int argc, char **argv)
{
	int version = 0;

	if (cudaGetDeviceCount(&gpus) != cudaSuccess || !gpus) {
		printf("1..0 # SKIP no GPU\n");
		return 0;
	}
	if (argc > 1)
		operations = (unsigned int)strtoul(argv[1], NULL, 0);
	if (argc > 2)
		rounds = (unsigned int)strtoul(argv[2], NULL, 0);
	gpus = gpus < RANKS ? gpus : RANKS;
	setenv("NCCL_RMA_PLUGIN", GDA_NCCL_PLUGIN, 0);
	if (gpus < RANKS)
		setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);
	pthread_barrier_init(&meeting, NULL, RANKS);
	NCCL(ncclGetVersion(&version));
	printf("1..6\n# NCCL %d, %d ranks on %d GPUs\n", version, RANKS, gpus);
	fflush(stdout);
	both(conform);
	both(outside);
	both(gone);
	return status;
}

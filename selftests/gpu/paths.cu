// SPDX-License-Identifier: MIT
/*
 * Posters of every kind on a GPU where nothing goes well: a consumer that stands still, a
 * deadline, an abort, a queue that fails, a slot to be given back. The consumer is the
 * host, between kernels. paths_efa is the same file, compiled with GDA_WQE_EFA, on queues of that
 * dialect. Speaks KTAP.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <gda/gpu/post.h>
#include "ktap.cuh"

#define DEPTH	64U
#define QPN	0x123456U

/* The dialect's formats; its first completion is that of the newest request, see fail(). */
#ifdef GDA_WQE_EFA
#define DIALECT			GDA_DIALECT_EFA
#define SLOT			GDA_EFA_WIDE_BYTES
#define CQ_BYTES		(DEPTH * sizeof(struct gda_efa_recv_cqe))
#define CQ_PRESET		0
#define RUNG_BY_DOORBELL	1
#define INDEX_OF(entry)		((entry)[1] << 8 | (entry)[0])
#define ERROR_TICKET		8
#define SYNDROME		GDA_EFA_FLUSHED
#define VENDOR			0
#else
#define DIALECT			GDA_DIALECT_MLX5
#define SLOT			64
#define CQ_BYTES		64
#define CQ_PRESET		0xff
#define RUNG_BY_DOORBELL	0
#define INDEX_OF(entry)		((entry)[1] << 8 | (entry)[2])
#define ERROR_TICKET		5
#define SYNDROME		GDA_MLX5_SYND_REMOTE_ACCESS
#define VENDOR			7
#endif

enum kind { EXCLUSIVE, SHARED, BLOCK, VIEW, KINDS };

static const char *const kind_names[] = { "exclusive", "shared", "block", "view" };

/* Results of a thread: counts by errno, and the tickets that it got. */
struct found {
	uint32_t posted, again, timedout, shutdown, failed, other;
	uint32_t taken[DEPTH * 4];	/* times each index was handed out */
	int wait, quiet, has_error;
	struct gda_error error = { sizeof(error) };
};

static __device__ void note(struct found *f, int64_t ticket)
{
	if (ticket >= 0) {
		atomicAdd(&f->posted, 1);
		atomicAdd(&f->taken[ticket % (DEPTH * 4)], 1);
	} else if (ticket == -EAGAIN) {
		atomicAdd(&f->again, 1);
	} else if (ticket == -ETIMEDOUT) {
		atomicAdd(&f->timedout, 1);
	} else if (ticket == -ESHUTDOWN) {
		atomicAdd(&f->shutdown, 1);
	} else if (ticket == -EIO) {
		atomicAdd(&f->failed, 1);
	} else {
		atomicAdd(&f->other, 1);
	}
}

struct job {
	struct gda_view *v;
	struct found *f;
	uint32_t puts;
	unsigned int flags;
	bool waits;		/* for the last, or, if none is posted, for @ticket */
	int64_t ticket;
};

template <class queue>
static __device__ void work(const struct job &j, queue &q)
{
	uint32_t i;
	int64_t ticket = j.ticket;

	for (i = 0; i < j.puts; i++) {
		ticket = gda_put_value(q, blockIdx.x, threadIdx.x, i, j.flags);
		note(j.f, ticket);
		if (ticket < 0)
			break;
	}
	if (j.waits) {
		j.f->wait = gda_wait(q, ticket, 0);
		j.f->quiet = gda_quiet(q, 0);
	}
}

/* The same on the view, as on a CPU. */
static __device__ void work_view(const struct job &j)
{
	uint32_t i;
	int64_t ticket = j.ticket;

	for (i = 0; i < j.puts; i++) {
		ticket = gda_put_value(j.v, blockIdx.x, threadIdx.x, i, j.flags);
		note(j.f, ticket);
		if (ticket < 0)
			break;
	}
	if (j.waits) {
		j.f->wait = gda_wait(j.v, ticket, 0);
		j.f->quiet = gda_quiet(j.v, 0);
		j.f->has_error = gda_error(j.v, &j.f->error);
	}
}

template <enum kind kind>
static __global__ void run(struct job j)
{
	if constexpr (kind == EXCLUSIVE) {
		struct gda_exclusive q = gda_exclusive_open(j.v);

		work(j, q);
		gda_exclusive_close(q);
	} else if constexpr (kind == SHARED) {
		struct gda_shared q = gda_shared_open(j.v, false);

		work(j, q);
	} else if constexpr (kind == BLOCK) {
		__shared__ struct gda_block b;

		gda_block_open(&b, j.v, blockDim.x);
		{
			struct gda_block_queue q = gda_block_join(&b, false);

			work(j, q);
		}
		gda_block_close(&b);
	} else {
		work_view(j);
	}
}

struct queue {
	struct gda_view *v;
	char *sq, *cq;
	uint32_t *slots, *record;
	uint64_t *db, *marks;
	struct found *f;
	uint64_t completed;
};

static void poke(void *to, const void *from, size_t size)
{
	CUDA(cudaMemcpy(to, from, size, cudaMemcpyHostToDevice));
}

static void queue_open(struct queue *q, uint64_t timeout_ns)
{
	struct gda_view v;
	uint32_t head = GDA_SLOT_HEAD;

	CUDA(cudaMalloc(&q->v, sizeof(v)));
	q->completed = 0;
	CUDA(cudaMalloc(&q->sq, DEPTH * SLOT));
	CUDA(cudaMalloc(&q->cq, CQ_BYTES));
	CUDA(cudaMalloc(&q->marks, GDA_VIEW_MARKS_BYTES));
	CUDA(cudaMemset(q->marks, 0, GDA_VIEW_MARKS_BYTES));
	CUDA(cudaMalloc(&q->slots, DEPTH * 4));
	CUDA(cudaMalloc(&q->record, 64));
	CUDA(cudaMalloc(&q->db, 64));
	CUDA(cudaMalloc(&q->f, sizeof(*q->f)));
	CUDA(cudaMemset(q->f, 0, sizeof(*q->f)));
	CUDA(cudaMemset(q->sq, 0xee, DEPTH * SLOT));
	CUDA(cudaMemset(q->cq, CQ_PRESET, CQ_BYTES));
	CUDA(cudaMemset(q->slots, 0, DEPTH * 4));
	CUDA(cudaMemset(q->record, 0, 64));
	CUDA(cudaMemset(q->db, 0, 64));
	poke(q->slots, &head, sizeof(head));
	memset(&v, 0, sizeof(v));
	v.size = sizeof(v);
	v.version = GDA_VIEW_VERSION;
	v.sq = (uintptr_t)q->sq;
	v.dbrec = (uintptr_t)(q->record + 1);
	v.db = (uintptr_t)q->db;
	v.cq = (uintptr_t)q->cq;
	v.slots = (uintptr_t)q->slots;
	v.mask = DEPTH - 1;
	v.qpn = QPN;
	v.dialect = DIALECT;
	v.qpn_be = gda_db_qpn(DIALECT, QPN);
	v.marks = (uintptr_t)q->marks;
	v.timeout_ns = timeout_ns;
	v.abort = (uintptr_t)&q->v->abort_word;
	v.caps = GDA_VIEW_SQ_ON_GPU;
	v.error_index = GDA_NO_ERROR;
	poke(q->v, &v, sizeof(v));
}

static void queue_close(struct queue *q)
{
	CUDA(cudaFree(q->v));
	CUDA(cudaFree(q->sq));
	CUDA(cudaFree(q->cq));
	CUDA(cudaFree(q->marks));
	CUDA(cudaFree(q->slots));
	CUDA(cudaFree(q->record));
	CUDA(cudaFree(q->db));
	CUDA(cudaFree(q->f));
}

#ifdef GDA_WQE_EFA
/* Requests from the last one completed to @next, backwards, and from @first on they have failed. */
static void fail(struct queue *q, uint64_t next, uint64_t first)
{
	uint64_t from = q->completed, id;

	for (; q->completed < next; q->completed++) {
		id = next - 1 - (q->completed - from);
		struct gda_efa_recv_cqe e = {};

		e.id = (uint16_t)id;
		e.status = id < first  ? GDA_EFA_OK :
			   id == first ? GDA_EFA_BAD_ADDRESS :
					 GDA_EFA_FLUSHED;
		e.flags = GDA_EFA_CQE_SENT | !(q->completed & DEPTH);
		poke(q->cq + q->completed % DEPTH * sizeof(e), &e, sizeof(e));
	}
}

static void complete(struct queue *q, uint64_t next)
{
	fail(q, next, UINT64_MAX);
}
#else
static void complete(struct queue *q, uint64_t next)
{
	uint32_t word = __builtin_bswap32((uint32_t)((next - 1) & 0xffff) << 16);

	poke(q->cq + offsetof(struct gda_mlx5_cqe, wqe_counter), &word, 4);
}

/* The entry at @next - 1 is done; @first was the first that failed. */
static void fail(struct queue *q, uint64_t next, uint64_t first)
{
	uint32_t word = __builtin_bswap32((uint32_t)((next - 1) & 0xffff) << 16 |
					  GDA_MLX5_CQE_REQ_ERR << 4);
	uint64_t failed = __builtin_bswap64(first);
	const uint8_t why[4] = { GDA_MLX5_SYND_REMOTE_ACCESS, 7, 0, GDA_MLX5_SYND_WR_FLUSH };

	poke(q->cq + offsetof(struct gda_mlx5_err_cqe, first_error), &failed, 8);
	poke(q->cq + offsetof(struct gda_mlx5_err_cqe, first_syndrome), why, 4);
	poke(q->cq + offsetof(struct gda_mlx5_cqe, wqe_counter), &word, 4);
}
#endif

static uint64_t reserved(struct queue *q)
{
	struct gda_view v;

	CUDA(cudaMemcpy(&v, q->v, sizeof(v), cudaMemcpyDeviceToHost));
	return v.reserved;
}

static void launch(enum kind kind, const struct job &j, int blocks, int threads,
		   cudaStream_t s)
{
	switch (kind) {
	case EXCLUSIVE:
		run<EXCLUSIVE><<<blocks, threads, 0, s>>>(j);
		break;
	case SHARED:
		run<SHARED><<<blocks, threads, 0, s>>>(j);
		break;
	case BLOCK:
		run<BLOCK><<<blocks, threads, 0, s>>>(j);
		break;
	default:
		run<VIEW><<<blocks, threads, 0, s>>>(j);
	}
	CUDA(cudaGetLastError());
}

static struct found go(struct queue *q, enum kind kind, int blocks, int threads, uint32_t puts,
		       unsigned int flags, bool waits)
{
	struct job j = { q->v, q->f, puts, flags, waits, (int64_t)reserved(q) - 1 };
	struct found f;

	launch(kind, j, blocks, threads, 0);
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaMemcpy(&f, q->f, sizeof(f), cudaMemcpyDeviceToHost));
	CUDA(cudaMemset(q->f, 0, sizeof(f)));
	return f;
}

static int number, status;

static void verdict(bool ok, const char *kind, const char *what, const struct found &f)
{
	if (!ok)
		printf("# posted %u again %u timedout %u shutdown %u failed %u other %u wait %d "
		       "quiet %d error %d: %lld %x %x\n", f.posted, f.again, f.timedout,
		       f.shutdown, f.failed, f.other, f.wait, f.quiet, f.has_error,
		       (long long)f.error.ticket, f.error.syndrome, f.error.vendor);
	printf("%sok %d %s: %s\n", ok ? "" : "not ", ++number, kind, what);
	status |= !ok;
}

static uint32_t rung(struct queue *q)
{
	uint32_t word;

	CUDA(cudaMemcpy(&word, RUNG_BY_DOORBELL ? (void *)q->db : q->record + 1, 4,
			cudaMemcpyDeviceToHost));
	return RUNG_BY_DOORBELL ? word : __builtin_bswap32(word);
}

/* Each index of a lap was handed out once, and its entry is there. */
static bool once(struct queue *q, const struct found &f, uint32_t from)
{
	std::vector<uint8_t> sq(DEPTH * SLOT);
	bool ok = true;
	uint32_t i;

	CUDA(cudaMemcpy(sq.data(), q->sq, sq.size(), cudaMemcpyDeviceToHost));
	for (i = from; i < from + DEPTH; i++) {
		const uint8_t *entry = &sq[i % DEPTH * SLOT];

		ok &= f.taken[i % (DEPTH * 4)] == 1;
		ok &= (uint32_t)INDEX_OF(entry) == (i & 0xffff);
	}
	return ok;
}

static void test_full(enum kind kind)
{
	int blocks = kind == SHARED || kind == VIEW ? 132 : 1;
	int threads = kind == EXCLUSIVE ? 1 : 33;
	struct queue q;
	struct found f;

	queue_open(&q, 3000000);
	f = go(&q, kind, blocks, threads, DEPTH * 2, 0, false);
	verdict(f.posted == DEPTH && f.timedout == (uint32_t)(blocks * threads) &&
		once(&q, f, 0) && reserved(&q) == DEPTH && rung(&q) == DEPTH, kind_names[kind],
		"a consumer that stands still is never lapped, and all time out", f);
	f = go(&q, kind, blocks, threads, DEPTH, GDA_NOWAIT, false);
	verdict(!f.posted && f.again == (uint32_t)(blocks * threads) && reserved(&q) == DEPTH,
		kind_names[kind], "without waiting, the full ring is told at once", f);
	complete(&q, DEPTH);
	f = go(&q, kind, blocks, threads, DEPTH * 2, 0, false);
	verdict(f.posted == DEPTH && once(&q, f, DEPTH) && reserved(&q) == DEPTH * 2 &&
		rung(&q) == DEPTH * 2, kind_names[kind],
		"slots that were given back are handed out again, once", f);
	complete(&q, DEPTH * 2);
	f = go(&q, kind, 1, 1, 1, 0, true);
	verdict(f.posted == 1 && f.wait == -ETIMEDOUT && f.quiet == -ETIMEDOUT, kind_names[kind],
		"waits end at their deadline", f);
	queue_close(&q);
}

static void test_error(enum kind kind)
{
	struct queue q;
	struct found f;

	queue_open(&q, 3000000);
	f = go(&q, kind, 1, 1, 8, 0, false);
	go(&q, kind, 1, 1, 1, 0, false);
	fail(&q, 9, 5);
	f = go(&q, kind, 1, 1, 0, 0, true);
	verdict(f.wait == -ECANCELED && f.quiet == -EIO, kind_names[kind],
		"what follows a failure is cancelled, quiet tells of it", f);
	if (kind == VIEW)
		verdict(f.has_error == 1 && f.error.ticket == ERROR_TICKET &&
				f.error.vendor == VENDOR &&
				f.error.syndrome == SYNDROME,
			kind_names[kind], "the error is decoded", f);
	f = go(&q, kind, 1, 1, DEPTH * 2, 0, false);
	if (RUNG_BY_DOORBELL)
		/* a failed queue frees its slots, unless its device stands still */
		verdict(!f.failed && f.timedout == 1 && f.posted == DEPTH, kind_names[kind],
			"a queue that failed is posted to until it is full", f);
	else
		verdict(f.failed == 1 && !f.timedout, kind_names[kind],
			"the full ring of a queue that failed is told at once", f);
	queue_close(&q);
}

static void test_abort(enum kind kind)
{
	int blocks = kind == SHARED || kind == VIEW ? 132 : 1;
	uint32_t one = 1, posted = 0;
	cudaStream_t work, control;
	struct queue q;
	struct found f;
	struct job j;

	CUDA(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
	CUDA(cudaStreamCreateWithFlags(&control, cudaStreamNonBlocking));
	queue_open(&q, UINT64_MAX / 4);
	j = { q.v, q.f, DEPTH * 2, 0, false, 0 };
	launch(kind, j, blocks, 1, work);
	while (posted < DEPTH) {
		CUDA(cudaMemcpyAsync(&posted, &q.f->posted, 4, cudaMemcpyDeviceToHost, control));
		CUDA(cudaStreamSynchronize(control));
	}
	CUDA(cudaMemcpyAsync((char *)q.v + offsetof(struct gda_view, abort_word), &one, 4,
			     cudaMemcpyHostToDevice, control));
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaMemcpy(&f, q.f, sizeof(f), cudaMemcpyDeviceToHost));
	verdict(f.posted == DEPTH && f.shutdown == (uint32_t)blocks && reserved(&q) == DEPTH,
		kind_names[kind], "the abort word ends every wait", f);
	queue_close(&q);
	CUDA(cudaStreamDestroy(work));
	CUDA(cudaStreamDestroy(control));
}

int main()
{
	int devices = 0, kind;

	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		printf("1..0 # SKIP no GPU here: device code was compiled, not run\n");
		return 0;
	}
	printf("1..%d\n", 7 * KINDS + 1);
	for (kind = 0; kind < KINDS; kind++) {
		test_full((enum kind)kind);
		test_error((enum kind)kind);
		test_abort((enum kind)kind);
	}
	return status;
}

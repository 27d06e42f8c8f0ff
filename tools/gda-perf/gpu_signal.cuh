/* SPDX-License-Identifier: MIT */
/*
 * Rows of gda-perf --gpu for gda/shmem.h: how long until the other PE sees a put with its signal,
 * and how fast puts follow each other, by direct access and by queue. Two PEs are threads of this
 * process, on two GPUs where there are two. Beside each row the floor of the same run: 8 bytes and
 * a flag, stored by one thread with a fence between them.
 *
 * signal: the PEs answer each other with equal puts; half a round is one way. stream: from the
 * first put of any block until the last has its quiet. Afterwards both targets are compared.
 */
#ifndef GDA_PERF_GPU_SIGNAL_CUH
#define GDA_PERF_GPU_SIGNAL_CUH

#include <pthread.h>
#include <gda/shmem.h>

#define SIGNAL_PES	2U
#define SIGNAL_ROUNDS	301U
#define SIGNAL_HEAP	(128ULL << 20)
#define SIGNAL_BLOCKS	32U
#define SIGNAL_THREADS	512U
#define SIGNAL_POLLS	(1U << 28)

struct signal_job;

struct signal_row {
	const char *name;
	uint32_t way;
	void (*kernel)(struct signal_job job);
	uint32_t blocks, threads;
	bool stream;
	std::vector<uint32_t> sizes;
};

/* A kernel finds this in memory of its GPU: a fence waits for stores to the host. */
struct signal_found {
	int err;
	unsigned int wrong;
	uint32_t ns[SIGNAL_ROUNDS];
	uint64_t begin[SIGNAL_BLOCKS], end[SIGNAL_BLOCKS];
};

/* The arguments of a kernel, by value. */
struct signal_job {
	struct gda_shmem *s;
	uint8_t *heap;
	uint64_t *words;
	uint8_t *there;			/* the same of the other PE, where they are mapped */
	uint64_t *flag;
	uint32_t pe, bytes, rounds;
	struct signal_found *found;
};

static __device__ int signal_seen(const struct signal_job &j, uint64_t value)
{
	return gda_shmem_wait_until64(j.s, j.words, GDA_SHMEM_GE, value, 0);
}

template <class group>
static __device__ int signal_send(const group &g, struct gda_shmem_poster<struct gda_shared> &p,
				  const struct signal_job &j)
{
	const struct gda_shmem_signal then = { j.words, 1, GDA_SHMEM_ADD, 0 };
	int64_t ticket = gda_shmem_put_signal_nbi_group(g, p, j.heap, j.heap + SIGNAL_HEAP / 2,
							j.bytes, then, 0);

	return ticket < 0 ? (int)ticket : 0;
}

/* The same with a value of 8 bytes in the request, by one thread. */
struct signal_value_group : gda_thread_group { };

static __device__ int signal_send(const struct signal_value_group &,
				  struct gda_shmem_poster<struct gda_shared> &p,
				  const struct signal_job &j)
{
	const struct gda_shmem_signal then = { j.words, 1, GDA_SHMEM_ADD, 0 };
	uint64_t value;
	int64_t ticket;

	memcpy(&value, j.heap + SIGNAL_HEAP / 2, sizeof(value));
	ticket = gda_shmem_p(p, j.heap, value, sizeof(value), GDA_DEFER);
	if (ticket >= 0)
		ticket = gda_shmem_put_signal_nbi(p, NULL, NULL, 0, then, 0);
	return ticket < 0 ? (int)ticket : 0;
}

/* Answer each other; @g has all threads of the kernel. */
template <class group>
static __device__ void signal_rounds(const group &g, const struct signal_job &j)
{
	auto p = gda_shmem_open_gpu(j.s, !j.pe, 0, false);
	bool first = !g.thread_rank();
	int err = p.err;

	for (uint32_t i = 0; i < j.rounds && !err; i++) {
		uint64_t began = gda_clock_ns();

		if (!j.pe)
			err = signal_send(g, p, j);
		err = err ? err : gda_shmem_group(g, [&] {
			return signal_seen(j, i + 1);
		});
		if (j.pe && !err)
			err = signal_send(g, p, j);
		if (first)
			j.found->ns[i] = (uint32_t)(gda_clock_ns() - began);
	}
	if (first) {
		err = err ? err : gda_shmem_quiet(p, 0);
		j.found->err = err;
	}
}

template <class group>
static __global__ __launch_bounds__(SIGNAL_THREADS) void signal_kernel(struct signal_job j)
{
	signal_rounds(group(), j);
}

static __global__ void floor_kernel(struct signal_job j)
{
	for (uint32_t i = 0; i < j.rounds; i++) {
		uint64_t began = gda_clock_ns();

		for (uint32_t step = 0; step < 2; step++) {
			if (step == j.pe) {
				asm volatile("st.relaxed.sys.u64 [%0], %1;"
					     ::"l"(j.there), "l"((uint64_t)i) : "memory");
				asm volatile("fence.acq_rel.sys;" ::: "memory");
				asm volatile("st.relaxed.sys.u64 [%0], %1;"
					     ::"l"(j.flag), "l"((uint64_t)i + 1) : "memory");
				continue;
			}
			for (uint32_t n = 0; gda_nic_load64(j.words) < i + 1; n++)
				if (n == SIGNAL_POLLS) {
					j.found->err = -ETIMEDOUT;
					return;
				}
		}
		j.found->ns[i] = (uint32_t)(gda_clock_ns() - began);
	}
}

/* Each block writes its part again and again; PE 0 does. */
static __global__ __launch_bounds__(SIGNAL_THREADS) void stream_puts_kernel(struct signal_job j)
{
	auto p = gda_shmem_open_gpu(j.s, !j.pe, blockIdx.x, false);
	uint64_t at = (uint64_t)blockIdx.x * j.bytes;
	struct gda_block_group g;
	int err = p.err;

	if (!threadIdx.x)
		j.found->begin[blockIdx.x] = gda_clock_ns();
	for (uint32_t i = 0; i < j.rounds && !err; i++) {
		int64_t ticket = gda_shmem_put_nbi_group(g, p, j.heap + at,
							 j.heap + SIGNAL_HEAP / 2 + at, j.bytes,
							 0);

		err = ticket < 0 ? (int)ticket : 0;
	}
	g.sync();
	if (threadIdx.x)
		return;
	err = err ? err : gda_shmem_quiet(p, 0);
	if (err)
		j.found->err = err;
	j.found->end[blockIdx.x] = gda_clock_ns();
}

static __global__ void signal_fill_kernel(uint8_t *heap, bool source)
{
	for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < SIGNAL_HEAP / 2;
	     i += (uint64_t)gridDim.x * blockDim.x)
		heap[i] = source ? pattern(i) : 0;
}

static __global__ void signal_compare_kernel(const uint8_t *heap, uint64_t len, unsigned int *wrong)
{
	for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < len;
	     i += (uint64_t)gridDim.x * blockDim.x)
		if (heap[i] != pattern(i))
			atomicAdd(wrong, 1);
}

struct signal_pe {
	const struct signal_row *row;
	const struct gda_comm_id *id;
	uint32_t number;
	int device;
	struct gda_comm *comm;
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	struct gda_shmem *s;
	struct signal_job job;
	struct signal_found found;
	cudaStream_t stream;
	pthread_t thread;
	unsigned int wrong;
	bool refused;
};

static int signal_devices;

/* One result of each size, by runs; the floor's in us. */
struct signal_result {
	std::vector<double> ours, floor;
};

static double signal_median(const struct signal_found *f, uint32_t rounds)
{
	std::vector<uint32_t> ns(f->ns, f->ns + rounds);

	std::sort(ns.begin(), ns.end());
	return ns[ns.size() / 2] / 2e3;
}

static void signal_reset(struct signal_pe *pe)
{
	GDA(gda_comm_barrier(pe->comm, 0));
	CUDA(cudaMemsetAsync((void *)pe->job.words, 0, 64, pe->stream));
	CUDA(cudaMemsetAsync(pe->job.found, 0, sizeof(*pe->job.found), pe->stream));
	CUDA(cudaStreamSynchronize(pe->stream));
	GDA(gda_comm_barrier(pe->comm, 0));
}

/* Returns us or GB/s. */
static double signal_measure(struct signal_pe *pe, uint32_t bytes, bool floor)
{
	const struct signal_row *row = pe->row;
	struct signal_found *f = &pe->found;
	struct signal_job *j = &pe->job;
	uint64_t begin = UINT64_MAX, end = 0;

	j->bytes = bytes;
	j->rounds = row->stream && !floor ? std::max(8U, std::min(256U, (64U << 20) / bytes)) :
		    SIGNAL_ROUNDS;
	signal_reset(pe);
	if (floor)
		floor_kernel<<<1, 1, 0, pe->stream>>>(*j);
	else if (!row->stream)
		row->kernel<<<row->blocks, row->threads, 0, pe->stream>>>(*j);
	else if (!pe->number)
		stream_puts_kernel<<<row->blocks, row->threads, 0, pe->stream>>>(*j);
	CUDA(cudaGetLastError());
	CUDA(cudaMemcpyAsync(f, j->found, sizeof(*f), cudaMemcpyDeviceToHost, pe->stream));
	CUDA(cudaStreamSynchronize(pe->stream));
	GDA(f->err);
	GDA(gda_comm_barrier(pe->comm, 0));
	if (!row->stream || floor)
		return signal_median(f, j->rounds);
	for (uint32_t b = 0; b < row->blocks; b++) {
		begin = std::min(begin, f->begin[b]);
		end = std::max(end, f->end[b]);
	}
	return (double)bytes * row->blocks * j->rounds / (double)(end - begin);
}

/* The target of PE 1, and of both where they answer each other. */
static void signal_compare(struct signal_pe *pe, uint32_t bytes)
{
	if (pe->row->stream && !pe->number)
		return;
	signal_compare_kernel<<<64, 256, 0, pe->stream>>>(pe->job.heap,
							  (uint64_t)bytes * pe->row->blocks,
							  &pe->job.found->wrong);
	CUDA(cudaMemcpyAsync(&pe->found, pe->job.found, sizeof(pe->found), cudaMemcpyDeviceToHost,
			     pe->stream));
	CUDA(cudaStreamSynchronize(pe->stream));
	pe->wrong += pe->found.wrong;
	signal_fill_kernel<<<256, 256, 0, pe->stream>>>(pe->job.heap, false);
	CUDA(cudaStreamSynchronize(pe->stream));
}

static void signal_print(const struct signal_row *row, uint32_t bytes, struct signal_result *r)
{
	double ours = median_of(r->ours), floor = median_of(r->floor);
	const char *test = row->stream ? "stream" : "signal";
	const char *unit = row->stream ? "GB/s" : "us";

	if (options.json)
		printf("%s    { \"test\": \"%s\", \"path\": \"%s\", \"gpus\": %d, \"bytes\": %u, "
		       "\"unit\": \"%s\", \"puts\": %.4g, \"min\": %.4g, \"max\": %.4g, "
		       "\"floor_us\": %.4g }", rows_any ? ",\n" : "", test, row->name, signal_devices,
		       bytes, unit, ours, r->ours.front(), r->ours.back(), floor);
	else
		printf("%-6s %-17s %9u %10.4g (%.4g..%.4g) %-5s floor %.3g us\n", test, row->name,
		       bytes, ours, r->ours.front(), r->ours.back(), unit, floor);
	fflush(stdout);
	rows_any = true;
}

static void signal_sizes(struct signal_pe *pe)
{
	for (uint32_t bytes : pe->row->sizes) {
		struct signal_result r;

		for (unsigned int i = 0; i <= options.runs; i++) {
			bool direct = pe->row->way == GDA_SHMEM_DIRECT;
			double floor = direct ? signal_measure(pe, bytes, true) : 0;
			double ours = signal_measure(pe, bytes, false);

			signal_compare(pe, bytes);
			if (!i)
				continue;
			r.floor.push_back(floor);
			r.ours.push_back(ours);
		}
		if (!pe->number)
			signal_print(pe->row, bytes, &r);
	}
}

static void signal_open(struct signal_pe *pe)
{
	const struct gda_shmem_attr attr = {
		.size = sizeof(attr), .way = pe->row->way, .qps = pe->row->blocks,
		.heap_bytes = SIGNAL_HEAP, .timeout_ns = DEADLINE_NS, .cuda = pe->cuda,
		.place = GDA_CUDA_LEAVES_ROOM,
	};
	int err = gda_shmem_create(pe->comm, &attr, &pe->s);
	struct signal_job *j = &pe->job;

	pe->refused = err == -EOPNOTSUPP;
	if (pe->refused)
		return;
	GDA(err);
	CUDA(cudaMalloc(&j->found, sizeof(*j->found)));
	j->s = gda_shmem_cuda(pe->s);
	j->heap = (uint8_t *)pe->s->heap;
	j->words = (uint64_t *)pe->s->data;
	j->there = (uint8_t *)gda_shmem_ptr(pe->s, j->heap, !pe->number);
	j->flag = (uint64_t *)gda_shmem_ptr(pe->s, j->words, !pe->number);
	j->pe = pe->number;
	signal_fill_kernel<<<256, 256, 0, pe->stream>>>(j->heap, false);
	signal_fill_kernel<<<256, 256, 0, pe->stream>>>(j->heap + SIGNAL_HEAP / 2, true);
	CUDA(cudaStreamSynchronize(pe->stream));
}

static void signal_close(struct signal_pe *pe)
{
	/* nobody frees while another's kernel runs: freeing waits for it */
	GDA(gda_comm_barrier(pe->comm, 0));
	gda_shmem_destroy(pe->s);
	GDA(gda_comm_barrier(pe->comm, 0));
	CUDA(cudaFree(pe->job.found));
}


static void *signal_main(void *arg)
{
	struct signal_pe *pe = (struct signal_pe *)arg;
	const struct gda_comm_attr attr = { sizeof(attr), 0, pe->number, SIGNAL_PES, pe->id, NULL,
					    NULL, DEADLINE_NS };

	CUDA(cudaSetDevice(pe->device));
	CUDA(cudaStreamCreateWithFlags(&pe->stream, cudaStreamNonBlocking));
	GDA(gda_comm_create(&attr, &pe->comm));
	GDA(gda_open(GDA_DEVICE_INPROC, &pe->ctx));
	GDA(gda_cuda_open(pe->ctx, pe->device, &pe->cuda));
	signal_open(pe);
	if (!pe->refused) {
		signal_sizes(pe);
		signal_close(pe);
	}
	gda_cuda_close(pe->cuda);
	gda_close(pe->ctx);
	gda_comm_destroy(pe->comm);
	CUDA(cudaStreamDestroy(pe->stream));
	return NULL;
}

/* Returns how many bytes are wrong. */
static unsigned int signal_row(const struct signal_row *row)
{
	struct signal_pe pe[SIGNAL_PES] = {};
	struct gda_comm_id id;
	unsigned int wrong = 0;

	GDA(gda_comm_id_create(NULL, &id));
	for (uint32_t i = 0; i < SIGNAL_PES; i++) {
		pe[i].row = row;
		pe[i].id = &id;
		pe[i].number = i;
		pe[i].device = (int)i % signal_devices;
		if (pthread_create(&pe[i].thread, NULL, signal_main, &pe[i]))
			abort();
	}
	for (uint32_t i = 0; i < SIGNAL_PES; i++) {
		pthread_join(pe[i].thread, NULL);
		wrong += pe[i].wrong;
	}
	if (wrong)
		fprintf(stderr, "gda-perf: %s: %u WRONG BYTES\n", row->name, wrong);
	return wrong;
}

static unsigned int signal_rows(int devices, bool signals, bool streams)
{
	const auto thread = signal_kernel<struct gda_thread_group>;
	const auto warp = signal_kernel<struct gda_warp_group>;
	const auto block = signal_kernel<struct gda_block_group>;
	const auto value = signal_kernel<struct signal_value_group>;
	const uint32_t direct = GDA_SHMEM_DIRECT, queue = GDA_SHMEM_QUEUE, all = SIGNAL_THREADS;
	const std::vector<uint32_t> few = { 8, 64, 1024, 4096, 65536 };
	const std::vector<uint32_t> sizes = { 8, 64, 1024, 4096, 7168, 65536, 1 << 20 };
	const std::vector<uint32_t> large = { 4096, 65536, 1 << 20 };
	const struct signal_row rows[] = {
		{ "direct, a thread", direct, thread, 1, 1, false, few },
		{ "direct, a warp", direct, warp, 1, 32, false, sizes },
		{ "direct, a block", direct, block, 1, all, false, sizes },
		{ "queue, a value", queue, value, 1, 1, false, { 8 } },
		{ "queue, a thread", queue, thread, 1, 1, false, sizes },
		{ "direct, a thread", direct, NULL, 1, 1, true, large },
		{ "direct, a block", direct, NULL, 1, all, true, large },
		{ "direct, 32 blocks", direct, NULL, 32, all, true, large },
		{ "queue, a block", queue, NULL, 1, all, true, large },
	};
	unsigned int wrong = 0;

	signal_devices = std::min(devices, (int)SIGNAL_PES);
	for (const struct signal_row &row : rows)
		if (row.stream ? streams : signals)
			wrong += signal_row(&row);
	return wrong;
}

#endif /* GDA_PERF_GPU_SIGNAL_CUH */

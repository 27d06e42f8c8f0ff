// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * NCCL's EFA-GDA back end behind C functions: gin_client.h. Its device code is included as it is,
 * and called as NCCL's own classes call it. Its structures are filled in as by aws-ofi-nccl.
 */
#ifdef __CUDACC__
#include "gpu.h"
#else
#include "cpu_cuda.h"
#include "cpu.h"
#endif
#include <cerrno>
#include <cstring>
#include <nccl_device/gin/efa_gda/gin_efa_gda.h>
#include "gin_client.h"

#define TIMEOUT	20000000000LL		/* cycles or ns */

/* Of a window's structure, which ends with an array of any length. */
#define WINDOW_BYTES	(sizeof(nccl_ofi_gin_gdaki_mr_handle) + \
			 GIN_RANKS * sizeof(nccl_ofi_gin_gdaki_mr_peer))

struct gin {
	nccl_ofi_gin_gdaki_dev_handle dev;
	nccl_ofi_gin_gdaki_dev_counter_handle signal[GIN_SIGNALS], counter[GIN_SIGNALS];
	nccl_ofi_gin_gdaki_dev_counter_handle *signals[GIN_SIGNALS], *counters[GIN_SIGNALS];
	efa_cuda_qp qp[2 + GIN_SIGNALS];
	uint16_t ah[GIN_SLOTS * GIN_RANKS], number[GIN_SLOTS * GIN_RANKS];
	uint32_t qkey[GIN_SLOTS * GIN_RANKS];
	uint64_t scratch[GIN_RANKS];
	uint32_t scratch_key[GIN_RANKS];
	alignas(8) uint8_t window[WINDOW_BYTES];
	void *rails[1];			/* NCCL's handle of a window: one pointer for each NIC */
	/* what the processor is given, and answers */
	gin_op ops[GIN_OPS];
	int n;
	int times;
	int result;
	uint64_t value;
};

static uint32_t log2_of(uint32_t n)
{
	return 31 - (uint32_t)__builtin_clz(n);
}

static void fill_qp(efa_cuda_qp *qp, const gin_queue *q, uint32_t batch)
{
	efa_cuda_wq *wq = &qp->sq.wq;
	efa_cuda_wr_ctx *ctx = &qp->sq.wr_ctx;

	wq->max_sge = 1;
	wq->max_wqes = q->sq_depth;
	wq->queue_mask = q->sq_depth - 1;
	wq->queue_size_shift = log2_of(q->sq_depth);
	wq->max_batch = batch;
	wq->buf = (uint8_t *)q->sq;
	wq->db = (uint32_t *)q->db;
	ctx->remote_mem_offset = 32;
	ctx->local_mem_offset = 48;
	ctx->sgl_offset = 32;
	ctx->send_inline_data_offset = 32;
	ctx->write_inline_data_offset = q->sq_entry == 128 ? 48 : 0;
	ctx->max_inline_data = q->sq_entry == 128 ? 80 : 32;
	ctx->max_rdma_sges = 1;
	ctx->wqe_size = (uint16_t)q->sq_entry;
}

static bool reach_queue(const gin_queue *q)
{
	return reach(q->sq, q->sq_depth * q->sq_entry) && reach((void *)q->db, 4) &&
	       reach((void *)q->sent, 8) && (!q->arrived || reach((void *)q->arrived, 8));
}

static void fill_end(gin *g, nccl_ofi_gin_gdaki_dev_endpoint_handle *end, int i, const gin_queue *q,
		     uint32_t batch)
{
	fill_qp(&g->qp[i], q, batch);
	end->qp = &g->qp[i];
	end->target_address_handles = g->ah;
	end->target_remote_qpns = g->number;
	end->target_qkey = g->qkey;
	end->local_cntr_value = (uint64_t *)q->sent;
	end->sq_size = q->sq_depth;
}

static void fill_tables(gin *g, const gin_attr *attr)
{
	auto *win = (nccl_ofi_gin_gdaki_mr_handle *)g->window;

	for (int s = 0; s < GIN_SLOTS; s++)
		for (int p = 0; p < GIN_RANKS; p++) {
			int i = s * GIN_RANKS + p;

			g->ah[i] = attr->to[s][p].ah;
			g->number[i] = attr->to[s][p].number;
			g->qkey[i] = attr->to[s][p].qkey;
		}
	for (int p = 0; p < GIN_RANKS; p++) {
		g->scratch[p] = attr->scratch[p].addr;
		g->scratch_key[p] = attr->scratch[p].rkey;
		win->peers[p].remote_addr = attr->window[p].addr;
		win->peers[p].rkey = attr->window[p].rkey;
	}
	win->lkey = attr->window[attr->rank].lkey;
	win->local_addr = attr->window[attr->rank].addr;
	win->nranks = GIN_RANKS;
	g->rails[0] = win;
}

/* Signals and counters are views of the same queues: who wrote to them, what they have written. */
static void fill_signal(gin *g, const gin_attr *attr, int i)
{
	const gin_queue *q = &attr->signal[i];

	fill_end(g, &g->signal[i].base, 2 + i, q, attr->batch);
	fill_end(g, &g->counter[i].base, 2 + i, q, attr->batch);
	g->signal[i].cntr_value = (uint64_t *)q->arrived;
	g->counter[i].cntr_value = (uint64_t *)q->sent;
	g->signals[i] = &g->signal[i];
	g->counters[i] = &g->counter[i];
}

gin *gin_new(const gin_attr *attr)
{
	gin *g = (gin *)memory_new(sizeof(*g));
	bool reached = g && reach_queue(&attr->data) && reach_queue(&attr->values);

	for (int i = 0; i < GIN_SIGNALS; i++)
		reached = reached && reach_queue(&attr->signal[i]);
	if (!reached)
		return nullptr;
	fill_end(g, &g->dev.data, 0, &attr->data, attr->batch);
	fill_end(g, &g->dev.pvdata, 1, &attr->values, attr->batch);
	for (int i = 0; i < GIN_SIGNALS; i++)
		fill_signal(g, attr, i);
	fill_tables(g, attr);
	g->dev.signal_handles = g->signals;
	g->dev.counter_handles = g->counters;
	g->dev.nSignals = g->dev.nCounters = GIN_SIGNALS;
	g->dev.nranks = GIN_RANKS;
	g->dev.rank = attr->rank;
	g->dev.scratch_lkey = attr->scratch[attr->rank].lkey;
	g->dev.scratch_local_addr = attr->scratch[attr->rank].addr;
	g->dev.scratch_remote_addrs = g->scratch;
	g->dev.scratch_remote_rkeys = g->scratch_key;
	return g;
}

void gin_delete(gin *g)
{
	memory_free(g);
}

static __device__ ncclGinCtx context(gin *g)
{
	ncclGinCtx ctx = {};

	ctx.backend = NCCL_NET_DEVICE_GIN_EFA_GDA;
	ctx.backendMask = 1U << NCCL_NET_DEVICE_GIN_EFA_GDA;
	ctx.rank = g->dev.rank;
	ctx.nRanks = GIN_RANKS;
	ctx.handle = &g->dev;
	return ctx;
}

static __device__ ncclGinSignalDescriptor descriptor(int signal)
{
	ncclGinSignalDescriptor s = {};

	s.type = signal < 0 ? NCCL_GIN_SIGNAL_TYPE_NONE : NCCL_GIN_SIGNAL_TYPE_INDEXED;
	s.indexedSignal.signalId = signal < 0 ? 0 : (ncclGinSignal_t)signal;
	return s;
}

template <typename T>
static __device__ void put_value(gin *g, const gin_op *op)
{
	ncclGinApi_PutValue<NCCL_NET_DEVICE_GIN_EFA_GDA>::call(context(g), ncclCoopThread(), op->peer,
		g->rails, op->remote, (T)op->value, descriptor(op->signal),
		op->add ? ncclGinSignalAdd : ncclGinSignalInc, op->add ? op->add : 1, false, nullptr,
		cuda::thread_scope_system, cuda::thread_scope_thread);
}

static __device__ void put(gin *g, const gin_op *op)
{
	ncclGinApi_Put<NCCL_NET_DEVICE_GIN_EFA_GDA>::call(context(g), ncclCoopThread(), op->peer,
		op->bytes > 0, g->rails, op->remote, g->rails, op->local, op->bytes,
		descriptor(op->signal), op->add ? ncclGinSignalAdd : ncclGinSignalInc,
		op->add ? op->add : 1, op->counter >= 0,
		op->counter < 0 ? 0 : (ncclGinCounter_t)op->counter, false, nullptr,
		cuda::thread_scope_system, cuda::thread_scope_thread,
		op->defer ? ncclGinOptFlagsAggregateRequests : ncclGinOptFlagsDefault);
}

static __device__ int flush(gin *g)
{
	return ncclGinApi_Flush<NCCL_NET_DEVICE_GIN_EFA_GDA>::call(context(g), ncclCoopThread(), false,
		nullptr, cuda::memory_order_acquire, nullptr, TIMEOUT) == ncclSuccess ? 0 : -ETIMEDOUT;
}

static __device__ int run_op(gin *g, const gin_op *op)
{
	switch (op->what) {
	case GIN_PUT:
		put(g, op);
		return 0;
	case GIN_VALUE:
		if (op->bytes == 1)
			put_value<uint8_t>(g, op);
		else if (op->bytes == 2)
			put_value<uint16_t>(g, op);
		else if (op->bytes == 4)
			put_value<uint32_t>(g, op);
		else
			put_value<uint64_t>(g, op);
		return 0;
	case GIN_GET:
		ncclGinApi_Get<NCCL_NET_DEVICE_GIN_EFA_GDA>::call(context(g), ncclCoopThread(), op->peer,
			g->rails, op->remote, g->rails, op->local, op->bytes, false, nullptr,
			op->defer ? ncclGinOptFlagsAggregateRequests : ncclGinOptFlagsDefault);
		return 0;
	case GIN_FLUSH:
		return flush(g);
	case GIN_RESET_SIGNAL:
		ncclGinApi_ResetSignal<NCCL_NET_DEVICE_GIN_EFA_GDA>::call(context(g), descriptor(op->signal));
		return 0;
	case GIN_RESET_COUNTER:
		ncclGinApi_ResetCounter<NCCL_NET_DEVICE_GIN_EFA_GDA>::call(context(g), op->counter);
		return 0;
	}
	return -EINVAL;
}

static __global__ void run_all(gin *g)
{
	g->result = 0;
	for (int i = 0; i < g->n && !g->result; i++)
		g->result = run_op(g, &g->ops[i]);
}

static __global__ void run_own(gin *g)
{
	for (int i = 0; i < g->times; i++)
		if (run_op(g, &g->ops[threadIdx.x]))
			g->result = -ETIMEDOUT;
}

static __global__ void read_signal(gin *g)
{
	auto at = ncclGinApi_GetSignalPtr<NCCL_NET_DEVICE_GIN_EFA_GDA>::call(context(g), g->n);

	g->value = nccl::gin::efa_gda::hwCounterLoad(at.ptr) - at.offset;
}

static __global__ void read_counter(gin *g)
{
	auto at = ncclGinApi_GetCounterPtr<NCCL_NET_DEVICE_GIN_EFA_GDA>::call(context(g), g->n);

	g->value = nccl::gin::efa_gda::hwCounterLoad(at.ptr) - at.offset;
}

int gin_run(gin *g, const gin_op *ops, int n)
{
	if (n > GIN_OPS)
		return -EINVAL;
	memcpy(g->ops, ops, n * sizeof(*ops));
	g->n = n;
	return RUN(run_all, g) ? g->result : -EIO;
}

int gin_run_by(gin *g, const gin_op *ops, int threads, int times)
{
	if (threads > GIN_OPS)
		return -EINVAL;
	memcpy(g->ops, ops, threads * sizeof(*ops));
	g->times = times;
	g->result = 0;
	return RUN_BY(run_own, g, threads) ? g->result : -EIO;
}

uint64_t gin_signal(gin *g, int signal)
{
	g->n = signal;
	return RUN(read_signal, g) ? g->value : ~0ULL;
}

uint64_t gin_counter(gin *g, int counter)
{
	g->n = counter;
	return RUN(read_counter, g) ? g->value : ~0ULL;
}

bool gin_present(void)
{
	return present();
}

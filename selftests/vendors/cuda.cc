// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The vendor's device library behind C functions: client.h. Its files are included as they are. For
 * a CPU, cpu.h has what CUDA has; for a GPU, each function is a kernel of one thread (gpu.h).
 */
#ifdef __CUDACC__
#include "gpu.h"
#else
#include "cpu.h"
#endif
#include <device/efa_cuda_dp_impl.cuh>
#include "client.h"

struct client {
	efa_cuda_qp qp;
	efa_cuda_cq cq;
	/* what the processor is given, and answers */
	client_wr wr[CLIENT_BATCH];
	client_done done;
	int n;
	int result;
};

static uint32_t log2_of(uint32_t n)
{
	return 31 - (uint32_t)__builtin_clz(n);
}

struct client *client_new(const struct client_attr *attr)
{
	bool wide = attr->sq_entry == 128;
	client *e = (client *)memory_new(sizeof(*e));
	efa_cuda_wq *wq = &e->qp.sq.wq;
	efa_cuda_wr_ctx *ctx = &e->qp.sq.wr_ctx;

	if (!e || !reach(attr->sq, attr->sq_depth * attr->sq_entry) || !reach((void *)attr->db, 4) ||
	    (attr->cq && !reach(attr->cq, attr->cq_depth * attr->cq_stride)))
		return nullptr;
	wq->max_sge = 1;
	wq->max_wqes = attr->sq_depth;
	wq->queue_mask = attr->sq_depth - 1;
	wq->queue_size_shift = log2_of(attr->sq_depth);
	wq->max_batch = CLIENT_BATCH;
	wq->buf = (uint8_t *)attr->sq;
	wq->db = (uint32_t *)attr->db;
	ctx->remote_mem_offset = 32;
	ctx->local_mem_offset = 48;
	ctx->sgl_offset = 32;
	ctx->send_inline_data_offset = 32;
	ctx->write_inline_data_offset = wide ? 48 : 0;
	ctx->max_inline_data = wide ? 80 : 32;
	ctx->max_rdma_sges = 1;
	ctx->wqe_size = (uint16_t)attr->sq_entry;
	e->cq.entry_size = attr->cq_stride;
	e->cq.num_entries = attr->cq_depth;
	e->cq.queue_mask = attr->cq_depth - 1;
	e->cq.queue_size_shift = log2_of(attr->cq_depth);
	e->cq.phase = 1;
	e->cq.buf = (uint8_t *)attr->cq;
	return e;
}

void client_delete(struct client *e)
{
	memory_free(e);
}

static __device__ int place(client *e, int i, client_wr *wr)
{
	uint8_t buf[128] __attribute__((aligned(8)));
	EfaCudaWrBuilder b(&e->qp.sq.wr_ctx, buf);
	int err;

	if (wr->send)
		err = b.init_send(wr->id);
	else if (wr->read)
		err = b.init_rdma_read(wr->id, wr->rkey, wr->raddr);
	else if (wr->has_imm)
		err = b.init_rdma_write_imm(wr->id, wr->rkey, wr->raddr, wr->imm);
	else
		err = b.init_rdma_write(wr->id, wr->rkey, wr->raddr);
	if (!err)
		err = wr->inlined ? b.set_inline_data(wr->data, wr->len) :
				 b.set_sge(wr->lkey, wr->laddr, wr->len);
	if (err)
		return err;
	b.set_remote(wr->ah, wr->number, wr->qkey);
	b.set_processing_hints(wr->hint ? EFA_CUDA_PROCESSING_HINT_BURST_PPS_SENSITIVE : 0);
	return efa_cuda_sq_batch_place_wr(&e->qp, i, buf);
}

static __global__ void post(client *e)
{
	int err = efa_cuda_start_sq_batch(&e->qp, e->n);

	for (int i = 0; !err && i < e->n; i++)
		err = place(e, i, &e->wr[i]);
	efa_cuda_flush_sq_wrs(&e->qp);
	e->result = err;
}

static __global__ void poll(client *e)
{
	client_done *done = &e->done;
	void *wc = efa_cuda_cq_poll(&e->cq, 0);
	enum efa_cuda_wc_opcode op;

	e->result = wc != nullptr;
	if (!wc)
		return;
	op = efa_cuda_wc_read_opcode(wc);
	*done = {};
	done->status = efa_cuda_wc_read_vendor_err(wc);
	done->qp = efa_cuda_wc_read_qp_num(wc);
	done->read = op == EFA_CUDA_WC_RDMA_READ;
	done->received = (op & EFA_CUDA_WC_RECV) != 0;
	if (done->received) {
		done->has_imm = efa_cuda_wc_has_imm(wc);
		done->unsolicited = efa_cuda_wc_is_unsolicited(wc);
		done->imm = efa_cuda_wc_read_imm_data(wc);
		done->len = efa_cuda_wc_read_byte_len(wc);
		done->src_qp = efa_cuda_wc_read_src_qp(wc);
		done->ah = efa_cuda_wc_read_slid(wc);
	} else {
		done->id = efa_cuda_wc_read_req_id(wc);
	}
	efa_cuda_cq_pop(&e->cq, 1);
}

int client_post(struct client *e, const struct client_wr *wr, int n)
{
	if (n > CLIENT_BATCH)
		return -EINVAL;
	memcpy(e->wr, wr, n * sizeof(*wr));
	e->n = n;
	return RUN(post, e) ? e->result : -EIO;
}

bool client_poll(struct client *e, struct client_done *done)
{
	if (!RUN(poll, e) || !e->result)
		return false;
	*done = e->done;
	return true;
}

bool client_present(bool older)
{
	return !older && present();
}

bool client_counts(void)
{
	return false;
}

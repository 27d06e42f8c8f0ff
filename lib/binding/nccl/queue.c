// SPDX-License-Identifier: MIT
/*
 * Queues. With a GPU, the CUDA driver copies for them, even between two places in host memory.
 * Copies to another GPU use no multiprocessor, so nothing is staged.
 */
#include <errno.h>
#include "nccl_internal.h"

int gda_nccl_queue_create(struct gda_nccl_member *member, int peer_device,
			  struct gda_nccl_queue *queue)
{
	const struct gda_cuda_qp_attr gpu = {
		.size = sizeof(gpu), .flags = GDA_QP_POLLED, .sq_depth = GDA_NCCL_DEPTH,
		.place = peer_device == member->device ? 0 : GDA_CUDA_LEAVES_ROOM,
	};
	const struct gda_qp_attr host = {
		.size = sizeof(host), .flags = GDA_QP_POLLED, .sq_depth = GDA_NCCL_DEPTH,
		.dialect = GDA_WQE_FIRST,
	};
	int err;

	queue->last = -1;
	if (member->cuda) {
		err = gda_cuda_qp_create(member->cuda, &gpu, &queue->gpu_qp);
		if (!err)
			queue->qp = gda_cuda_qp_base(queue->gpu_qp);
	} else {
		err = gda_qp_create(member->ctx, &host, &queue->qp);
	}
	return err;
}

int gda_nccl_queue_connect(struct gda_nccl_queue *queue, const struct gda_address *peer)
{
	int err = gda_qp_connect(queue->qp, peer);

	if (!err)
		queue->view = gda_qp_view(queue->qp);
	return err;
}

void gda_nccl_queue_destroy(struct gda_nccl_queue *queue)
{
	if (queue->gpu_qp)
		gda_cuda_qp_destroy(queue->gpu_qp);
	else
		gda_qp_destroy(queue->qp);
	*queue = (struct gda_nccl_queue){ .last = -1 };
}

int64_t gda_nccl_queue_put(struct gda_nccl_queue *queue, uint64_t laddr, uint32_t lkey,
			   uint64_t raddr, uint32_t rkey, uint64_t size)
{
	while (size) {
		uint32_t n = size < GDA_NCCL_CHUNK ? (uint32_t)size : GDA_NCCL_CHUNK;
		int64_t ticket = gda_put(queue->view, laddr, lkey, raddr, rkey, n, 0);

		if (ticket < 0)
			return ticket;
		queue->last = ticket;
		laddr += n;
		raddr += n;
		size -= n;
	}
	return queue->last;
}

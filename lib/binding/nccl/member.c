// SPDX-License-Identifier: MIT
/*
 * A rank's own part of a group: a context, the GPU, and the serve queues that its peers use. The
 * structure lives until the last rank has left the group.
 */
#include <errno.h>
#include <stdlib.h>
#include "nccl_internal.h"

static int gda_nccl_member_gpu(struct gda_nccl_member *m)
{
	int err;

	if (m->device < 0)
		return 0;
	err = gda_cuda_open(m->ctx, m->device, &m->cuda);
	if (!err)
		return 0;
	gda_nccl_log(GDA_NCCL_LOG_INFO, "GDA: rank %d has memory of the host only: %s", m->rank,
		     gda_last_error());
	m->device = -1;
	return 0;
}

int gda_nccl_member_create(int rank, int device, int ranks, struct gda_nccl_member **member)
{
	struct gda_nccl_member *m = calloc(1, sizeof(*m));
	int err = -ENOMEM;
	int i;

	if (!m)
		return err;
	pthread_mutex_init(&m->lock, NULL);
	m->rank = rank;
	m->device = device;
	m->serve = calloc((size_t)ranks, sizeof(m->serve[0]));
	m->scratch = calloc(GDA_NCCL_SCRATCH, sizeof(m->scratch[0]));
	if (!m->serve || !m->scratch)
		goto err_free;
	for (i = 0; i < ranks; i++)
		m->serve[i].last = -1;
	err = gda_open(GDA_DEVICE_INPROC, &m->ctx);
	if (!err)
		err = gda_nccl_member_gpu(m);
	if (!err)
		err = gda_mr_reg(m->ctx, m->scratch, GDA_NCCL_SCRATCH * sizeof(m->scratch[0]),
				 GDA_ACCESS_ALL, 0, &m->scratch_mr);
	if (err)
		goto err_free;
	*member = m;
	return 0;

err_free:
	gda_nccl_member_close(m, ranks);
	gda_nccl_member_free(m);
	return err;
}

void gda_nccl_member_close(struct gda_nccl_member *member, int ranks)
{
	int i;

	pthread_mutex_lock(&member->lock);
	member->closed = true;
	pthread_mutex_unlock(&member->lock);
	for (i = 0; i < ranks && member->serve; i++)
		gda_nccl_queue_destroy(&member->serve[i]);
	gda_mr_dereg(member->scratch_mr);
	gda_cuda_close(member->cuda);
	gda_close(member->ctx);
	member->scratch_mr = NULL;
	member->cuda = NULL;
	member->ctx = NULL;
}

void gda_nccl_member_free(struct gda_nccl_member *member)
{
	if (!member)
		return;
	pthread_mutex_destroy(&member->lock);
	free(member->serve);
	free(member->scratch);
	free(member);
}

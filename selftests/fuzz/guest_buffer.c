// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory of other drivers for the fuzzer's inputs, and queues in it. gda_test's is moved
 * by it, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include "guest.h"
#include "kmod/gda_test/ioctl.h"

static int test = -1;		/* /dev/gda_test, once it is asked for */

int guest_buffer(unsigned int kind, size_t len, void **at)
{
	struct gda_test_export export = { .length = len };

	switch (kind & 3) {
	case 0:
		return t_udmabuf(len);
	case 1:
		return t_heap_buffer(len);
	case 2:
		if (test < 0)
			test = open("/dev/gda_test", O_RDWR | O_CLOEXEC);
		return t_ioctl(test, GDA_TEST_EXPORT, &export) ?: export.fd;
	default:
		return t_gpu_open(len, 0, at);
	}
}

bool guest_move(int fd, bool gone)
{
	struct gda_test_move move = { .fd = fd, .flags = gone ? GDA_TEST_GONE : 0 };
	struct gda_test_peer_invalidate gpu = { .flags = move.flags };

	if (t_ioctl(test, GDA_TEST_MOVE, &move))
		t_ioctl(fd, GDA_TEST_PEER_INVALIDATE, &gpu);
	return !move.changed && !gpu.changed;
}

/* The entries of the CQ at 0, the record at 512, those of the send queue in page 1. */
static int guest_create(int buf, struct t_qp *qp)
{
	int err;

	qp->cqc = (struct gda_cq_create) {
		.size = sizeof(qp->cqc), .depth = 1, .flags = GDA_CQ_COLLAPSED | GDA_CQ_DMABUF,
		.cq_memory = { .fd = buf },
	};
	err = t_ioctl(qp->fd, GDA_IOC_CQ_CREATE, &qp->cqc);
	if (err)
		return err;
	qp->qpc = (struct gda_qp_create) {
		.size = sizeof(qp->qpc), .dialect = GDA_DIALECT_MLX5, .cq = qp->cqc.handle,
		.sq_depth = qp->depth, .flags = GDA_QP_SQ_DMABUF | GDA_QP_DBREC_DMABUF,
		.sq_memory = { .fd = buf, .offset = T_PAGE },
		.dbrec_memory = { .fd = buf, .offset = 512 },
	};
	return t_ioctl(qp->fd, GDA_IOC_QP_CREATE, &qp->qpc);
}

int guest_lend(int fd, int buf, uint32_t depth, struct t_qp *to)
{
	struct t_qp qp = { .fd = fd, .depth = depth };
	int err = guest_create(buf, &qp);
	uint8_t *at, *db;

	if (err)
		return err;
	at = mmap(NULL, T_PAGE + depth * 64UL, PROT_READ | PROT_WRITE, MAP_SHARED, buf, 0);
	db = t_map(fd, &qp.qpc.db);
	if (at == MAP_FAILED || db == MAP_FAILED)
		return -errno;
	qp.sq = at + T_PAGE;
	qp.dbrec = (volatile __be32 *)(void *)(at + 512);
	qp.db = (volatile __be64 *)(void *)(db + qp.qpc.db.offset);
	qp.cqe = at;
	qp.map[0] = at;
	qp.map[2] = db;
	*to = qp;
	return t_connect(to, to);
}

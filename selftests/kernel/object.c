// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Contexts, queues and memory of /dev/gda by raw ioctls, for the kernel selftests. */
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include "efa_queue.h"
#include "../kmod/gda_test/ioctl.h"

int t_ioctl(int fd, unsigned long nr, void *arg)
{
	return ioctl(fd, nr, arg) < 0 ? -errno : 0;
}

int t_open(void)
{
	int fd = open("/dev/gda", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int t_bind(int fd)
{
	struct gda_bind bind = { .size = sizeof(bind) };

	return t_ioctl(fd, GDA_IOC_BIND, &bind);
}

int t_context_on(const char *device)
{
	struct gda_bind bind = { .size = sizeof(bind) };
	int fd = t_open();
	int err;

	if (fd < 0)
		return fd;
	snprintf((char *)bind.device, sizeof(bind.device), "%s", device);
	err = t_ioctl(fd, GDA_IOC_BIND, &bind);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int t_context(void)
{
	return t_context_on("");
}

int t_destroy(int fd, uint32_t handle)
{
	struct gda_destroy cmd = { .size = sizeof(cmd), .handle = handle };

	return t_ioctl(fd, GDA_IOC_DESTROY, &cmd);
}

int t_shutdown(int fd)
{
	struct gda_destroy cmd = {
		.size = sizeof(cmd), .flags = GDA_DESTROY_CONTEXT,
	};

	return t_ioctl(fd, GDA_IOC_DESTROY, &cmd);
}

int t_cq_create(int fd, uint32_t flags, uint32_t depth, struct gda_cq_create *cq)
{
	memset(cq, 0, sizeof(*cq));
	cq->size = sizeof(*cq);
	cq->flags = flags;
	cq->depth = depth;
	return t_ioctl(fd, GDA_IOC_CQ_CREATE, cq);
}

int t_qp_create(int fd, uint32_t cq, uint32_t depth, struct gda_qp_create *qp)
{
	memset(qp, 0, sizeof(*qp));
	qp->size = sizeof(*qp);
	qp->dialect = GDA_DIALECT_MLX5;
	qp->cq = cq;
	qp->sq_depth = depth;
	return t_ioctl(fd, GDA_IOC_QP_CREATE, qp);
}

int t_qp_connect(int fd, uint32_t handle, int peer_fd, uint32_t peer)
{
	struct gda_qp_address address = { .size = sizeof(address), .handle = peer };
	struct gda_qp_connect connect = { .size = sizeof(connect), .handle = handle };
	int err = t_ioctl(peer_fd, GDA_IOC_QP_ADDRESS, &address);

	if (err)
		return err;
	memcpy(connect.address, address.address, sizeof(connect.address));
	return t_ioctl(fd, GDA_IOC_QP_CONNECT, &connect);
}

int t_qp_query(int fd, uint32_t handle, struct gda_qp_query *query)
{
	memset(query, 0, sizeof(*query));
	query->size = sizeof(*query);
	query->handle = handle;
	return t_ioctl(fd, GDA_IOC_QP_QUERY, query);
}

int t_mr_reg_raw(int fd, uint64_t addr, uint64_t len, uint32_t access, struct t_mr *mr)
{
	struct gda_mr_reg_user cmd = {
		.size = sizeof(cmd),
		.addr = addr,
		.length = len,
		.access = access,
	};
	int err = t_ioctl(fd, GDA_IOC_MR_REG_USER, &cmd);

	if (err)
		return err;
	mr->handle = cmd.handle;
	mr->key = cmd.key;
	mr->iova = cmd.iova;
	mr->addr = (void *)(uintptr_t)addr;
	mr->len = (size_t)len;
	return 0;
}

int t_mr_reg(int fd, void *addr, size_t len, uint32_t access, struct t_mr *mr)
{
	return t_mr_reg_raw(fd, (uintptr_t)addr, len, access, mr);
}

int t_udmabuf(size_t len)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = len };
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd = -1, err;

	if (dev < 0)
		return -errno;
	create.memfd = (uint32_t)memfd_create("gda", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (!ftruncate((int)create.memfd, (off_t)len) &&
	    !fcntl((int)create.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		fd = ioctl(dev, UDMABUF_CREATE, &create);
	err = fd < 0 ? -errno : 0;
	close((int)create.memfd);
	close(dev);
	return err ? err : fd;
}

int t_heap_buffer(size_t len)
{
	struct dma_heap_allocation_data data = { .len = len, .fd_flags = O_RDWR | O_CLOEXEC };
	int dev = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC), err;

	if (dev < 0)
		return -errno;
	err = ioctl(dev, DMA_HEAP_IOCTL_ALLOC, &data) ? -errno : 0;
	close(dev);
	return err ? err : (int)data.fd;
}

int t_gpu_open(size_t len, uint32_t flags, void **addr)
{
	struct gda_test_peer_alloc cmd = { .length = len, .flags = flags };
	int fd = open("/dev/gda_test_peer", O_RDWR | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = t_ioctl(fd, GDA_TEST_PEER_ALLOC, &cmd);
	*addr = err ? MAP_FAILED : mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*addr != MAP_FAILED)
		return fd;
	err = err ? err : -errno;
	close(fd);
	return err;
}

int t_mr_reg_peer(int fd, void *addr, size_t len, uint32_t access, struct t_mr *mr)
{
	struct gda_mr_reg_peer cmd = {
		.size = sizeof(cmd), .addr = (uintptr_t)addr, .length = len, .access = access,
	};
	int err = t_ioctl(fd, GDA_IOC_MR_REG_PEER, &cmd);

	memset(mr, 0, sizeof(*mr));
	mr->handle = cmd.handle;
	mr->key = cmd.key;
	mr->iova = cmd.iova;
	mr->addr = addr;
	mr->len = len;
	return err;
}

void *t_pages(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int t_mr_new(int fd, size_t len, uint32_t access, struct t_mr *mr)
{
	void *p = t_pages(len);
	int err;

	if (!p)
		return -ENOMEM;
	err = t_mr_reg(fd, p, len, access, mr);
	if (err)
		munmap(p, len);
	return err;
}

void t_mr_free(int fd, struct t_mr *mr)
{
	if (mr->handle)
		t_destroy(fd, mr->handle);
	if (mr->addr)
		munmap(mr->addr, mr->len);
	memset(mr, 0, sizeof(*mr));
}

int t_mr_reg_dmabuf(int fd, int buf, size_t len, struct t_mr *mr)
{
	struct gda_mr_reg_dmabuf cmd = {
		.size = sizeof(cmd), .flags = GDA_MR_ZERO_BASED, .length = len,
		.access = GDA_ACCESS_ALL, .fd = buf,
	};
	int err = t_ioctl(fd, GDA_IOC_MR_REG_DMABUF, &cmd);

	*mr = (struct t_mr) { .handle = cmd.handle, .key = cmd.key, .len = len };
	return err;
}

uint32_t t_mr_state(int fd, uint32_t handle)
{
	struct gda_mr_query query = { .size = sizeof(query), .handle = handle };

	return t_ioctl(fd, GDA_IOC_MR_QUERY, &query) ? 0 : query.state;
}

void *t_map(int fd, const struct gda_region_info *info)
{
	int prot = info->map == GDA_MAP_RO ? PROT_READ : PROT_READ | PROT_WRITE;

	return mmap(NULL, info->length, prot, MAP_SHARED, fd, (off_t)info->cookie);
}

static const struct gda_region_info *t_qp_info(const struct t_qp *qp, int i)
{
	const struct gda_region_info *const info[] = {
		&qp->qpc.sq, &qp->qpc.dbrec, &qp->qpc.db, &qp->cqc.cq,
	};

	return info[i];
}

size_t t_qp_length(const struct t_qp *qp, int i)
{
	return t_qp_info(qp, i)->length;
}

int t_qp_map(struct t_qp *qp)
{
	uint8_t *at[4];

	for (int i = 0; i < 4; i++) {
		const struct gda_region_info *info = t_qp_info(qp, i);

		at[i] = NULL;
		if (!info->length)	/* efa has no record */
			continue;
		qp->map[i] = t_map(qp->fd, info);
		if (qp->map[i] == MAP_FAILED) {
			qp->map[i] = NULL;
			return -errno;
		}
		at[i] = (uint8_t *)qp->map[i] + info->offset;
	}
	qp->sq = at[0];
	qp->dbrec = (volatile __be32 *)(void *)at[1];
	qp->db = (volatile __be64 *)(void *)at[2];
	qp->cqe = at[3];
	return 0;
}

void t_qp_unmap(struct t_qp *qp)
{
	for (int i = 0; i < 4; i++) {
		if (qp->map[i])
			munmap(qp->map[i], t_qp_info(qp, i)->length);
		qp->map[i] = NULL;
	}
}

/* Create and map a QP of which all but handles and regions is filled in. */
static int t_qp_begin(struct t_qp *qp)
{
	int err;

	qp->qpc.cq = qp->cqc.handle;
	err = t_ioctl(qp->fd, GDA_IOC_QP_CREATE, &qp->qpc);
	if (err)
		return err;
	err = t_qp_map(qp);
	if (!err)
		return 0;
	t_qp_unmap(qp);
	t_destroy(qp->fd, qp->qpc.handle);
	return err;
}

static int t_qp_open_with(struct t_qp *qp, int fd, uint32_t depth, const struct gda_cq_create *cq,
			  uint32_t recv_cq)
{
	memset(qp, 0, sizeof(*qp));
	qp->fd = fd;
	qp->depth = depth;
	qp->cqc = *cq;
	qp->qpc = (struct gda_qp_create) {
		.size = sizeof(qp->qpc), .dialect = GDA_DIALECT_MLX5, .sq_depth = depth,
		.recv_cq = recv_cq,
	};
	return t_qp_begin(qp);
}

int t_qp_open_on(struct t_qp *qp, int fd, uint32_t depth, const struct gda_cq_create *cq)
{
	return t_qp_open_with(qp, fd, depth, cq, 0);
}

int t_qp_open_receiver(struct t_qp *qp, int fd, uint32_t depth, uint32_t recv_cq)
{
	struct gda_cq_create cq;
	int err = t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq);

	if (err)
		return err;
	err = t_qp_open_with(qp, fd, depth, &cq, recv_cq);
	if (err)
		t_destroy(fd, cq.handle);
	return err;
}

static int t_qp_open_efa(struct t_qp *qp, int fd, uint32_t depth)
{
	int err;

	memset(qp, 0, sizeof(*qp));
	qp->fd = fd;
	qp->depth = depth;
	t_qp_efa_attr(depth, &qp->cqc, &qp->qpc);
	err = t_ioctl(fd, GDA_IOC_CQ_CREATE, &qp->cqc);
	if (err)
		return err;
	err = t_qp_begin(qp);
	if (err)
		t_destroy(fd, qp->cqc.handle);
	return err;
}

int t_qp_open(struct t_qp *qp, int fd, uint32_t depth)
{
	if (t_speaks_efa())
		return t_qp_open_efa(qp, fd, depth);
	return t_qp_open_receiver(qp, fd, depth, 0);
}

void t_qp_close(struct t_qp *qp)
{
	t_qp_unmap(qp);
	t_destroy(qp->fd, qp->qpc.handle);
	t_destroy(qp->fd, qp->cqc.handle);
	memset(qp, 0, sizeof(*qp));
}

int t_cq_ring_open(struct t_cq_ring *ring, int fd, uint32_t depth)
{
	int err;

	memset(ring, 0, sizeof(*ring));
	err = t_cq_create(fd, 0, depth, &ring->cq);
	for (int i = 0; !err && i < 2; i++) {
		ring->map[i] = t_map(fd, i ? &ring->cq.dbrec : &ring->cq.cq);
		if (ring->map[i] == MAP_FAILED) {
			ring->map[i] = NULL;
			err = -errno;
		}
	}
	if (err)
		return err;
	ring->entries = (uint8_t *)ring->map[0] + ring->cq.cq.offset;
	ring->consumer = (void *)((uint8_t *)ring->map[1] + ring->cq.dbrec.offset);
	return 0;
}

void t_cq_ring_unmap(struct t_cq_ring *ring)
{
	for (int i = 0; i < 2; i++) {
		if (ring->map[i])
			munmap(ring->map[i], i ? ring->cq.dbrec.length : ring->cq.cq.length);
		ring->map[i] = NULL;
	}
}

int t_connect(struct t_qp *a, struct t_qp *b)
{
	int err;

	if (t_is_efa(a))
		return t_connect_efa(a, b);
	err = t_qp_connect(a->fd, a->qpc.handle, b->fd, b->qpc.handle);
	if (err || a == b)
		return err;
	return t_qp_connect(b->fd, b->qpc.handle, a->fd, a->qpc.handle);
}

int t_qp_again(struct t_qp *qp)
{
	uint32_t depth = qp->depth;
	int fd = qp->fd;
	int err;

	t_qp_close(qp);
	err = t_qp_open(qp, fd, depth);
	return err ? err : t_connect(qp, qp);
}

int t_pair_open(struct t_end end[2], uint32_t depth, size_t mr_len)
{
	int err;

	memset(end, 0, 2 * sizeof(end[0]));
	for (int i = 0; i < 2; i++) {
		end[i].fd = t_context();
		if (end[i].fd < 0)
			return end[i].fd;
		err = t_qp_open(&end[i].qp, end[i].fd, depth);
		if (err)
			return err;
		err = t_mr_new(end[i].fd, mr_len, GDA_ACCESS_ALL, &end[i].mr);
		if (err)
			return err;
	}
	return t_connect(&end[0].qp, &end[1].qp);
}

void t_pair_close(struct t_end end[2])
{
	for (int i = 0; i < 2; i++) {
		if (end[i].fd <= 0)
			continue;
		t_mr_free(end[i].fd, &end[i].mr);
		t_qp_unmap(&end[i].qp);
		close(end[i].fd);
		end[i].fd = 0;
	}
}

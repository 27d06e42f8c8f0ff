// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * dma-bufs both ways: SECURITY.md M11 (an exported region outlives its context), and
 * memory that is registered through a dma-buf.
 */
#include <linux/udmabuf.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include "gda_fixture.h"

#define LEN	(16 * T_PAGE)

FIXTURE(export) {
	struct t_end end[2];
	struct gda_query query;
};

T_SETUP(export)
{
	ASSERT_OK(t_pair_open(self->end, 64, LEN));
	self->query.size = sizeof(self->query);
	ASSERT_OK(t_ioctl(self->end[0].fd, GDA_IOC_QUERY, &self->query));
}

T_TEARDOWN(export)
{
	t_pair_close(self->end);
}

static int export_region(int fd, uint32_t handle, uint32_t type, struct gda_region_export *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->size = sizeof(*cmd);
	cmd->handle = handle;
	cmd->type = type;
	return t_ioctl(fd, GDA_IOC_REGION_EXPORT, cmd);
}

static int reg_dmabuf(int fd, int buf, uint64_t off, uint64_t len, uint32_t access,
		      struct t_mr *mr)
{
	struct gda_mr_reg_dmabuf cmd = {
		.size = sizeof(cmd), .flags = GDA_MR_ZERO_BASED, .offset = off, .length = len,
		.access = access, .fd = buf,
	};
	int err = t_ioctl(fd, GDA_IOC_MR_REG_DMABUF, &cmd);

	memset(mr, 0, sizeof(*mr));
	mr->handle = cmd.handle;
	mr->key = cmd.key;
	mr->len = len;
	return err;
}

TEST_F(export, M11_outlives_the_context)
{
	struct t_end *a = &self->end[0];
	struct gda_region_export buf;
	uint8_t *p;

	ASSERT_OK(export_region(a->fd, a->qp.qpc.handle, GDA_REGION_SQ, &buf));
	EXPECT_TRUE(fcntl(buf.fd, F_GETFD) & FD_CLOEXEC);
	EXPECT_EQ(a->qp.qpc.sq.length, buf.length);
	p = mmap(NULL, buf.length, PROT_READ | PROT_WRITE, MAP_SHARED, buf.fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	memset(a->qp.sq, 0x5e, T_PAGE);
	EXPECT_TRUE(t_all(p + buf.offset, 0x5e, T_PAGE));
	t_pair_close(self->end);
	/* The pages are still there, and belong to no other user. */
	EXPECT_EQ(0, t_touch_write(p));
	EXPECT_TRUE(t_all(p + buf.offset, 0x5e, T_PAGE));
	close(buf.fd);
	EXPECT_TRUE(t_all(p + buf.offset, 0x5e, T_PAGE));
	munmap(p, buf.length);
}

TEST_F(export, M11_read_only_stays_read_only)
{
	struct t_end *a = &self->end[0];
	struct gda_region_export buf;
	uint8_t *p;

	ASSERT_OK(export_region(a->fd, a->qp.cqc.handle, GDA_REGION_CQ, &buf));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, buf.length, PROT_READ | PROT_WRITE, MAP_SHARED,
				   buf.fd, 0));
	p = mmap(NULL, buf.length, PROT_READ, MAP_SHARED, buf.fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(-1, mprotect(p, buf.length, PROT_READ | PROT_WRITE));
	EXPECT_EQ(t_speaks_efa() ? 0 : 0xff, p[buf.offset]);
	munmap(p, buf.length);
	/* ... and cannot be made writable by registering it. */
	if (self->query.features[0] & GDA_FEATURE_MR_DMABUF) {
		struct t_mr mr;

		EXPECT_EQ(-EACCES, reg_dmabuf(a->fd, buf.fd, 0, T_PAGE, GDA_ACCESS_ALL, &mr));
	}
	close(buf.fd);
}

/* Rung through the dma-buf alone, which does not fault; so the page is polled. */
TEST_F(export, doorbell_is_polled)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp;
	struct gda_region_export buf;
	volatile __be64 *db = qp->db;
	uint8_t *p;

	ASSERT_OK(export_region(qp->fd, qp->qpc.handle, GDA_REGION_DB, &buf));
	p = mmap(NULL, buf.length, PROT_READ | PROT_WRITE, MAP_SHARED, buf.fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	qp->db = (volatile __be64 *)(void *)(p + buf.offset);
	for (int i = 0; i < 50; i++) {
		t_sleep_ns(i % 3 ? 5 * self->query.idle_ns : 0);
		ASSERT_OK(t_run(qp, &nop, NULL)) TH_LOG("round %d", i);
	}
	qp->db = db;
	munmap(p, buf.length);
	close(buf.fd);
}

TEST_F(export, wrong_regions)
{
	struct t_end *a = &self->end[0];
	struct gda_region_export buf;

	EXPECT_EQ(-ENOENT, export_region(a->fd, a->qp.cqc.handle, GDA_REGION_SQ, &buf));
	EXPECT_EQ(-ENOENT, export_region(a->fd, a->qp.qpc.handle, GDA_REGION_CQ, &buf));
	EXPECT_EQ(-ENOENT, export_region(a->fd, a->mr.handle, GDA_REGION_SQ, &buf));
	EXPECT_EQ(-ENOENT, export_region(a->fd, 9999, GDA_REGION_SQ, &buf));
	EXPECT_EQ(-EINVAL, export_region(a->fd, a->qp.qpc.handle, 0, &buf));
	EXPECT_EQ(-EINVAL, export_region(a->fd, a->qp.qpc.handle, 77, &buf));
}

/* Many of one region, gone in any order; each is a file of its own. */
TEST_F(export, many)
{
	static const uint32_t types[] = { GDA_REGION_SQ, GDA_REGION_DB, GDA_REGION_DBREC };
	struct t_end *a = &self->end[0];
	struct gda_region_export buf[32];
	int n = t_speaks_efa() ? 2 : 3;	/* efa has no record */

	for (int i = 0; i < 32; i++) {
		ASSERT_OK(export_region(a->fd, a->qp.qpc.handle, types[i % n], &buf[i]));
	}
	for (int i = 0; i < 32; i++) {
		close(buf[i * 13 % 32].fd);
		if (i == 16)
			ASSERT_OK(t_destroy(a->fd, a->qp.qpc.handle));
	}
}

/* Bytes through an MR over a dma-buf: here one's own exported queue. */
TEST_F(export, register_own)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct gda_region_export buf;
	struct t_mr mr, part;
	struct t_wr wr;
	uint8_t *p;

	ASSERT_OK(export_region(b->fd, b->qp.qpc.handle, GDA_REGION_SQ, &buf));
	p = mmap(NULL, buf.length, PROT_READ | PROT_WRITE, MAP_SHARED, buf.fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_OK(reg_dmabuf(b->fd, buf.fd, 0, T_PAGE, GDA_ACCESS_ALL, &mr));
	ASSERT_OK(reg_dmabuf(b->fd, buf.fd, 100, 50, GDA_ACCESS_ALL, &part));
	close(buf.fd);
	memset(a->mr.addr, 0x7b, T_PAGE);
	wr = t_wr_write(&a->mr, 0, &part, 0, 50);
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
	EXPECT_TRUE(t_all(p, 0, 100));
	EXPECT_TRUE(t_all(p + 100, 0x7b, 50));
	EXPECT_TRUE(t_all(p + 150, 0, T_PAGE - 150));
	wr = t_wr_read(&a->mr, T_PAGE, &mr, 50, 150);
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
	EXPECT_EQ(0, memcmp(p + 50, a->mr.addr + T_PAGE, 150));
	/* The queue is gone; the MR holds the pages. */
	ASSERT_OK(t_destroy(b->fd, part.handle));
	munmap(p, buf.length);
	wr = t_wr_write(&a->mr, 0, &part, 0, 50);
	EXPECT_GT(t_run(&a->qp, &wr, NULL), 0);
	EXPECT_OK(t_destroy(b->fd, mr.handle));
}

TEST_F(export, register_wrong)
{
	struct t_end *a = &self->end[0];
	int fd = a->fd, event = eventfd(0, EFD_CLOEXEC);
	struct gda_mr_reg_dmabuf cmd = { .size = sizeof(cmd), .length = 8 };
	struct gda_region_export buf;
	struct t_mr mr;

	ASSERT_OK(export_region(fd, a->qp.qpc.handle, GDA_REGION_SQ, &buf));
	EXPECT_EQ(-EBADF, reg_dmabuf(fd, -1, 0, T_PAGE, 0, &mr));
	EXPECT_EQ(-EBADF, reg_dmabuf(fd, 999, 0, T_PAGE, 0, &mr));
	EXPECT_EQ(-EINVAL, reg_dmabuf(fd, event, 0, T_PAGE, 0, &mr));
	EXPECT_EQ(-EINVAL, reg_dmabuf(fd, fd, 0, T_PAGE, 0, &mr));
	EXPECT_EQ(-EINVAL, reg_dmabuf(fd, buf.fd, 0, 0, 0, &mr));
	EXPECT_EQ(-EINVAL, reg_dmabuf(fd, buf.fd, 0, buf.length + 1, 0, &mr));
	EXPECT_EQ(-EINVAL, reg_dmabuf(fd, buf.fd, 1, buf.length, 0, &mr));
	EXPECT_EQ(-EINVAL, reg_dmabuf(fd, buf.fd, buf.length, 1, 0, &mr));
	EXPECT_NE(0, reg_dmabuf(fd, buf.fd, UINT64_MAX, 1, 0, &mr));
	EXPECT_NE(0, reg_dmabuf(fd, buf.fd, UINT64_MAX, 2, 0, &mr));
	EXPECT_NE(0, reg_dmabuf(fd, buf.fd, 0, UINT64_MAX, 0, &mr));
	EXPECT_EQ(-EINVAL, reg_dmabuf(fd, buf.fd, 0, 8, GDA_ACCESS_REMOTE_WRITE, &mr));
	/* An address that is chosen must not wrap. */
	cmd.fd = buf.fd;
	cmd.iova = UINT64_MAX - 6;
	EXPECT_EQ(-EOVERFLOW, t_ioctl(fd, GDA_IOC_MR_REG_DMABUF, &cmd));
	close(buf.fd);
	close(event);
}

/*
 * One buffer, several MRs, of two contexts: nothing of it is mapped for DMA, which only
 * a kernel with DMA_API_DEBUG can tell. Each MR holds the memory by itself.
 */
static void several_mrs(struct __test_metadata *_metadata, struct t_end end[2], int buf)
{
	struct t_end *a = &end[0], *b = &end[1];
	struct t_mr mr[4];
	struct t_wr wr;

	for (int i = 0; i < 4; i++)
		ASSERT_OK(reg_dmabuf(end[i % 2].fd, buf, 0, LEN, GDA_ACCESS_ALL, &mr[i]));
	close(buf);
	memset(a->mr.addr, 0x4c, LEN);
	wr = t_wr_write(&a->mr, 0, &mr[1], 5, T_PAGE);
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
	EXPECT_OK(t_destroy(b->fd, mr[1].handle));
	EXPECT_OK(t_destroy(a->fd, mr[0].handle));
	wr = t_wr_write(&mr[2], 5, &b->mr, 0, T_PAGE);
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
	EXPECT_TRUE(t_all(b->mr.addr, 0x4c, T_PAGE));
	EXPECT_OK(t_destroy(a->fd, mr[2].handle));
	EXPECT_OK(t_destroy(b->fd, mr[3].handle));
}

/* Memory of another exporter, where the kernel has one. */
TEST_F(export, register_udmabuf)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	struct udmabuf_create create = { .size = LEN };
	struct t_mr mr;
	struct t_wr wr;
	uint8_t *p;
	int buf;

	if (dev < 0)
		SKIP(return, "no udmabuf in this kernel");
	create.memfd = (uint32_t)memfd_create("gda", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ASSERT_EQ(0, ftruncate((int)create.memfd, LEN));
	ASSERT_EQ(0, fcntl((int)create.memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, (int)create.memfd, 0);
	ASSERT_NE(MAP_FAILED, p);
	buf = ioctl(dev, UDMABUF_CREATE, &create);
	ASSERT_GE(buf, 0);
	ASSERT_OK(reg_dmabuf(b->fd, buf, T_PAGE + 3, LEN - 2 * T_PAGE, GDA_ACCESS_ALL, &mr));
	close(buf);
	memset(a->mr.addr, 0x2d, LEN);
	wr = t_wr_write(&a->mr, 0, &mr, 0, LEN - 2 * T_PAGE);
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
	EXPECT_TRUE(t_all(p, 0, T_PAGE + 3));
	EXPECT_TRUE(t_all(p + T_PAGE + 3, 0x2d, LEN - 2 * T_PAGE));
	EXPECT_TRUE(t_all(p + LEN - T_PAGE + 3, 0, T_PAGE - 3));
	EXPECT_OK(t_destroy(b->fd, mr.handle));
	munmap(p, LEN);
	close((int)create.memfd);
	close(dev);
}

TEST_F(export, several_mrs_of_one_udmabuf)
{
	int buf = t_udmabuf(LEN);

	if (buf == -ENOENT)
		SKIP(return, "no udmabuf in this kernel");
	ASSERT_LE(0, buf);
	several_mrs(_metadata, self->end, buf);
}

TEST_F(export, several_mrs_of_one_heap_buffer)
{
	int buf = t_heap_buffer(LEN);

	if (buf == -ENOENT)
		SKIP(return, "no dma-heap in this kernel");
	ASSERT_LE(0, buf);
	several_mrs(_metadata, self->end, buf);
}

TEST_HARNESS_MAIN

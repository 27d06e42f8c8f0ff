// SPDX-License-Identifier: MIT
/*
 * dma-bufs both ways through the library: a queue is exported, and what was exported is
 * memory that a peer puts to. The in-process device has neither, and says so.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "pair.h"

#define SLOTS	64

FIXTURE(dmabuf) {
	struct side a, b;
	bool kernel;
};

FIXTURE_SETUP(dmabuf)
{
	ASSERT_EQ(0, side_pair_open(&self->a, &self->b, SLOTS));
	self->kernel = access("/dev/gda", F_OK) == 0;
}

FIXTURE_TEARDOWN(dmabuf)
{
	side_close(&self->a);
	side_close(&self->b);
}

TEST_F(dmabuf, inproc_has_none)
{
	struct gda_exported e = { .size = sizeof(e) };
	struct gda_mr *mr;

	if (self->kernel)
		SKIP(return, "the device is the kernel's");
	EXPECT_EQ(-EOPNOTSUPP, gda_qp_export(self->a.qp, GDA_REGION_SQ, &e));
	EXPECT_EQ(-EOPNOTSUPP, gda_mr_reg_dmabuf(self->a.ctx, 0, 0, 1, 0, 0, 0, &mr));
	EXPECT_STREQ(gda_last_error(),
		     "gda_mr_reg_dmabuf: this device does not register such memory: use another device");
	EXPECT_EQ(-EOPNOTSUPP, gda_mr_reg_peer(self->a.ctx, self->a.mem, 1, 0, 0, &mr));
	EXPECT_STREQ(gda_last_error(),
		     "gda_mr_reg_peer: this device does not register such memory: use another device");
	EXPECT_EQ(-EINVAL, gda_mr_reg(self->a.ctx, self->a.mem, 0, 0, 0, &mr));
	EXPECT_STREQ("gda_mr_reg: length is 0: register at least one byte", gda_last_error());
}

TEST_F(dmabuf, put_to_what_was_exported)
{
	struct side *a = &self->a, *b = &self->b;
	const uint64_t iova = 0x7000000000U;
	struct gda_mr_query query = { .size = sizeof(query) };
	struct gda_exported e = { .size = sizeof(e) };
	struct gda_mr *mr;
	uint8_t *last = (uint8_t *)(uintptr_t)b->v->sq + (SLOTS - 1) * 64;

	if (!self->kernel)
		SKIP(return, "the in-process device has no dma-bufs");
	ASSERT_EQ(0, gda_qp_export(b->qp, GDA_REGION_SQ, &e));
	ASSERT_LE(e.offset + SLOTS * 64, e.length);
	EXPECT_TRUE(fcntl(e.fd, F_GETFD) & FD_CLOEXEC);
	ASSERT_EQ(0, gda_mr_reg_dmabuf(b->ctx, e.fd, e.offset, SLOTS * 64, iova,
				       GDA_ACCESS_ALL, 0, &mr));
	close(e.fd);
	EXPECT_EQ(iova, gda_mr_iova(mr));
	ASSERT_EQ(0, gda_mr_query(mr, &query));
	EXPECT_EQ(GDA_MR_LIVE, query.state);
	memset(a->mem, 0x5a, 64);
	ASSERT_EQ(0, gda_wait(a->v, gda_put(a->v, a->iova, a->key, iova + (SLOTS - 1) * 64,
					    gda_mr_key(mr), 64, 0), 0));
	EXPECT_EQ(0, memcmp(a->mem, last, 64));
	memset(last, 0xa5, 64);
	ASSERT_EQ(0, gda_wait(a->v, gda_get(a->v, a->iova + 100, a->key, iova + (SLOTS - 1) * 64,
					    gda_mr_key(mr), 64, 0), 0));
	EXPECT_EQ(0, memcmp(a->mem + 100, last, 64));
	EXPECT_EQ(0, gda_mr_dereg(mr));
}

/* A read-only region stays so, whatever is asked for. */
TEST_F(dmabuf, M3_rights_of_an_export)
{
	struct gda_counter *count;
	struct gda_exported e = { .size = sizeof(e) };
	struct gda_mr *mr;

	if (!self->kernel)
		SKIP(return, "the in-process device has no dma-bufs");
	ASSERT_EQ(0, gda_counter_create(self->a.ctx, &count));
	ASSERT_EQ(0, gda_counter_export(count, &e));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, e.length, PROT_READ | PROT_WRITE, MAP_SHARED, e.fd, 0));
	EXPECT_EQ(-EACCES, gda_mr_reg_dmabuf(self->a.ctx, e.fd, e.offset, 8, 0,
					     GDA_ACCESS_ALL, 0, &mr));
	/* the CPU's window would be writable, so there is none */
	EXPECT_EQ(-EOPNOTSUPP, gda_mr_reg_dmabuf(self->a.ctx, e.fd, e.offset, 8, 0,
						 GDA_ACCESS_REMOTE_READ, 0, &mr));
	close(e.fd);
	EXPECT_EQ(0, gda_counter_destroy(count));
}

TEST_F(dmabuf, refusals)
{
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = 16 };
	struct gda_exported e = { .size = sizeof(e) };
	struct gda_cq *cq;
	struct gda_mr *mr;

	if (!self->kernel)
		SKIP(return, "the in-process device has no dma-bufs");
	EXPECT_EQ(-ENOENT, gda_qp_export(self->a.qp, GDA_REGION_COUNTER, &e));
	EXPECT_EQ(-EINVAL, gda_qp_export(self->a.qp, 99, &e));
	ASSERT_EQ(0, gda_cq_create(self->a.ctx, &ring, &cq));
	EXPECT_EQ(-ENOENT, gda_cq_export(cq, GDA_REGION_SQ, &e));
	ASSERT_EQ(0, gda_cq_export(cq, GDA_REGION_CQ_DBREC, &e));
	EXPECT_EQ(-EINVAL, gda_mr_reg_dmabuf(self->a.ctx, e.fd, e.length, 1, 0, 0, 0, &mr));
	EXPECT_EQ(-EINVAL, gda_mr_reg_dmabuf(self->a.ctx, e.fd, 0, 0, 0, 0, 0, &mr));
	close(e.fd);
	EXPECT_EQ(-EBADF, gda_mr_reg_dmabuf(self->a.ctx, -1, 0, 1, 0, 0, 0, &mr));
	EXPECT_EQ(-EINVAL, gda_mr_reg_dmabuf(self->a.ctx, STDIN_FILENO, 0, 1, 0, 0, 0, &mr));
	EXPECT_EQ(0, gda_cq_destroy(cq));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Buffers shared with a driver of the kernel's own, vgem, through PRIME and in both
 * directions: it imports our queue and maps it, we import its buffer as memory.
 */
#include <sys/ioctl.h>
#include "gda_fixture.h"
#include "move.h"
#include "prime.h"

#define LEN	(64 * T_PAGE)
#define DEPTH	64

FIXTURE(vgem) {
	struct t_end end[2];
	int drm;
};

T_SETUP(vgem)
{
	self->drm = vgem_open();
	if (self->drm < 0)
		SKIP(return, "no vgem in this kernel");
	ASSERT_OK(t_pair_open(self->end, DEPTH, LEN));
}

T_TEARDOWN(vgem)
{
	t_pair_close(self->end);
	close(self->drm);
}

/* A region as vgem maps it. */
struct part {
	uint32_t handle;
	uint8_t *p;
	size_t len;
	uint32_t offset;
};

/*
 * vgem imports a region and maps it by its own file. It tells the offset of no object
 * that it imported; a buffer of that size has just been where the next one will be.
 */
static int part_open(int drm, int fd, uint32_t handle, uint32_t type, struct part *part)
{
	struct gda_region_export cmd;
	struct own probe;
	int err = export_region(fd, handle, type, &cmd);

	if (err)
		return err;
	part->len = cmd.length;
	part->offset = cmd.offset;
	err = own_create(drm, part->len, &probe);
	err = err ? err : own_destroy(drm, part->len, &probe);
	err = err ? err : prime_import(drm, cmd.fd, &part->handle);
	close(cmd.fd);
	if (err)
		return err;
	part->p = mmap(NULL, part->len, PROT_READ | PROT_WRITE, MAP_SHARED, drm,
		       (off_t)probe.offset);
	return part->p == MAP_FAILED ? -errno : 0;
}

enum { SQ, REC, DB, PARTS, CQ = PARTS };

static int parts_open(int drm, const struct t_qp *qp, struct part part[PARTS])
{
	static const uint32_t types[PARTS] = {
		GDA_REGION_SQ, GDA_REGION_DBREC, GDA_REGION_DB,
	};
	int err = 0;

	for (int i = 0; i < PARTS && !err; i++)
		err = part_open(drm, qp->fd, qp->qpc.handle, types[i], &part[i]);
	return err;
}

/* Every store of a post through the mappings of vgem. */
TEST_F(vgem, imports_our_queue_and_posts)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct t_qp qp = a->qp;
	struct part part[PARTS];

	ASSERT_OK(parts_open(self->drm, &a->qp, part));
	qp.sq = part[SQ].p + part[SQ].offset;
	qp.dbrec = (volatile __be32 *)(void *)(part[REC].p + part[REC].offset);
	qp.db = (volatile __be64 *)(void *)(part[DB].p + part[DB].offset);
	for (int i = 0; i < 50; i++) {
		struct t_wr wr;

		memset(a->mr.addr, 0x20 + i, LEN);
		wr = t_wr_write(&a->mr, 0, &b->mr, 0, LEN);
		t_sleep_ns(i % 5 ? 0 : T_NS / 100);
		ASSERT_OK(t_run(&qp, &wr, NULL)) TH_LOG("round %d", i);
		ASSERT_TRUE(t_all(b->mr.addr, (uint8_t)(0x20 + i), LEN));
	}
	for (int i = 0; i < PARTS; i++) {
		munmap(part[i].p, part[i].len);
		EXPECT_OK(gem_close(self->drm, part[i].handle));
	}
	a->qp.next = qp.next;
}

/* The context goes first: vgem's mapping stays, and no queue uses the pages any more. */
TEST_F(vgem, M11_vgem_outlives_the_context)
{
	struct part part[PARTS];
	struct t_objects now;

	ASSERT_OK(parts_open(self->drm, &self->end[0].qp, part));
	memset(self->end[0].qp.sq, 0x5e, T_PAGE);
	t_pair_close(self->end);
	EXPECT_TRUE(t_all(part[SQ].p, 0x5e, T_PAGE));
	memset(part[SQ].p, 0x6f, T_PAGE);
	memset(part[DB].p, 0xff, T_PAGE);
	ASSERT_OK(t_objects_read(&now));
	EXPECT_LT(t_base.n[T_PAGES], now.n[T_PAGES]);
	/* Handles first, then the mappings: they hold it, too. */
	for (int i = 0; i < PARTS; i++)
		EXPECT_OK(gem_close(self->drm, part[i].handle));
	EXPECT_TRUE(t_all(part[SQ].p, 0x6f, T_PAGE));
	for (int i = 0; i < PARTS; i++)
		munmap(part[i].p, part[i].len);
	EXPECT_OK(t_objects_settle(&t_base, &now));
}

/*
 * vgem maps for both ways, so what is read-only is not for it; where it maps nothing for a
 * device, it may have it, and no store gets there by its mapping.
 */
TEST_F(vgem, M3_read_only_takes_no_store_by_vgem)
{
	struct t_end *a = &self->end[0];
	struct gda_region_export cmd;
	struct own probe;
	uint32_t handle;
	void *p;
	int err;

	ASSERT_OK(export_region(a->fd, a->qp.cqc.handle, GDA_REGION_CQ, &cmd));
	ASSERT_OK(own_create(self->drm, cmd.length, &probe));
	ASSERT_OK(own_destroy(self->drm, cmd.length, &probe));
	err = prime_import(self->drm, cmd.fd, &handle);
	close(cmd.fd);
	if (err) {
		EXPECT_EQ(-EACCES, err);
		return;
	}
	p = mmap(NULL, cmd.length, PROT_READ | PROT_WRITE, MAP_SHARED, self->drm,
		 (off_t)probe.offset);
	EXPECT_EQ(MAP_FAILED, p);
	EXPECT_EQ(EPERM, errno);
	p = mmap(NULL, cmd.length, PROT_READ, MAP_SHARED, self->drm, (off_t)probe.offset);
	if (p != MAP_FAILED) {
		EXPECT_EQ(-1, mprotect(p, T_PAGE, PROT_READ | PROT_WRITE));
		munmap(p, cmd.length);
	}
	EXPECT_OK(gem_close(self->drm, handle));
}

/* The dma-buf that vgem exports again is the region, and can be registered as memory. */
TEST_F(vgem, round_trip)
{
	struct t_end *a = &self->end[0];
	struct drm_prime_handle prime = { .flags = O_CLOEXEC | O_RDWR };
	struct gda_region_export cmd;
	uint8_t *p;

	ASSERT_OK(export_region(a->fd, a->qp.qpc.handle, GDA_REGION_SQ, &cmd));
	ASSERT_OK(prime_import(self->drm, cmd.fd, &prime.handle));
	ASSERT_OK(t_ioctl(self->drm, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	close(cmd.fd);
	p = mmap(NULL, cmd.length, PROT_READ | PROT_WRITE, MAP_SHARED, prime.fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	memset(a->qp.sq, 0x31, T_PAGE);
	EXPECT_TRUE(t_all(p + cmd.offset, 0x31, T_PAGE));
	munmap(p, cmd.length);
	close(prime.fd);
	EXPECT_OK(gem_close(self->drm, prime.handle));
}

/* Source and target, here and at the peer, and what vgem itself maps is what moved. */
TEST_F(vgem, we_import_its_buffer)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct t_mr here, there;
	struct own x, y;
	uint64_t five = 5, old = 0;
	struct t_wr wr;

	ASSERT_OK(own_create(self->drm, LEN, &x));
	ASSERT_OK(own_create(self->drm, LEN, &y));
	ASSERT_OK(t_mr_reg_dmabuf(a->fd, x.fd, LEN, &here));
	ASSERT_OK(t_mr_reg_dmabuf(b->fd, y.fd, LEN, &there));
	for (size_t i = 0; i < LEN; i++)
		x.p[i] = (uint8_t)(i * 7 + i / T_PAGE);
	/* put, from one buffer of vgem's to the other, across pages */
	wr = t_wr_write(&here, 3, &there, T_PAGE - 5, LEN - 2 * T_PAGE);
	ASSERT_OK(t_run(&a->qp, &wr, NULL));
	EXPECT_EQ(0, memcmp(x.p + 3, y.p + T_PAGE - 5, LEN - 2 * T_PAGE));
	EXPECT_TRUE(t_all(y.p, 0, T_PAGE - 5));
	EXPECT_TRUE(t_all(y.p + LEN - T_PAGE - 5, 0, T_PAGE + 5));
	/* get, into it */
	memset(b->mr.addr, 0x64, LEN);
	wr = t_wr_read(&here, 0, &b->mr, 0, LEN);
	ASSERT_OK(t_run(&a->qp, &wr, NULL));
	EXPECT_TRUE(t_all(x.p, 0x64, LEN));
	/* an atomic, with its old value */
	memcpy(y.p, &five, sizeof(five));
	wr = t_wr_atomic(GDA_MLX5_ATOMIC_FA, &here, 64, &there, 0, 3, 0);
	ASSERT_OK(t_run(&a->qp, &wr, NULL));
	memcpy(&old, x.p + 64, sizeof(old));
	EXPECT_EQ(five, old);
	memcpy(&old, y.p, sizeof(old));
	EXPECT_EQ(five + 3, old);
	/* its file and handle are gone: the MR holds the memory */
	ASSERT_OK(own_destroy(self->drm, LEN, &y));
	wr = t_wr_read(&here, 0, &there, T_PAGE, T_PAGE);
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
	EXPECT_OK(t_destroy(b->fd, there.handle));
	EXPECT_OK(t_destroy(a->fd, here.handle));
	ASSERT_OK(own_destroy(self->drm, LEN, &x));
}

/* Where the parts of a queue begin in one buffer. */
static const uint64_t place[] = { [SQ] = 4096, [REC] = 64, [CQ] = 128 };

static int cq_in(int fd, int buf, struct gda_cq_create *cq)
{
	*cq = (struct gda_cq_create) {
		.size = sizeof(*cq), .flags = GDA_CQ_COLLAPSED | GDA_CQ_DMABUF, .depth = 1,
		.cq_memory = { .fd = buf, .offset = place[CQ] },
	};
	return t_ioctl(fd, GDA_IOC_CQ_CREATE, cq);
}

static int qp_in(int fd, int buf, uint32_t flags, uint32_t cq, struct gda_qp_create *qp)
{
	*qp = (struct gda_qp_create) {
		.size = sizeof(*qp), .dialect = GDA_DIALECT_MLX5, .cq = cq, .sq_depth = DEPTH,
		.flags = flags,
	};
	if (flags & GDA_QP_SQ_DMABUF)
		qp->sq_memory = (struct gda_queue_memory) { .fd = buf, .offset = place[SQ] };
	if (flags & GDA_QP_DBREC_DMABUF)
		qp->dbrec_memory = (struct gda_queue_memory) { .fd = buf, .offset = place[REC] };
	return t_ioctl(fd, GDA_IOC_QP_CREATE, qp);
}

/* A QP connected to itself, all in @buf, which is mapped at @p. */
static int queue_in(struct t_qp *qp, int fd, int buf, uint8_t *p)
{
	int err;

	*qp = (struct t_qp) { .fd = fd, .depth = DEPTH };
	err = cq_in(fd, buf, &qp->cqc);
	err = err ? err : qp_in(fd, buf, GDA_QP_SQ_DMABUF | GDA_QP_DBREC_DMABUF, qp->cqc.handle,
				&qp->qpc);
	err = err ? err : t_connect(qp, qp);
	if (err)
		return err;
	qp->map[DB] = t_map(fd, &qp->qpc.db);
	if (qp->map[DB] == MAP_FAILED)
		return -errno;
	qp->db = (volatile __be64 *)(void *)((uint8_t *)qp->map[DB] + qp->qpc.db.offset);
	qp->sq = p + place[SQ];
	qp->dbrec = (volatile __be32 *)(void *)(p + place[REC]);
	qp->cqe = p + place[CQ];
	return 0;
}

/* Its memory is mapped write-combined, which no executor may poll: never a queue. */
TEST_F(vgem, M9_its_memory_is_no_queue)
{
	int fd = self->end[0].fd;
	uint32_t none = self->end[0].qp.cqc.handle;
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	struct own own;

	ASSERT_OK(own_create(self->drm, LEN, &own));
	EXPECT_EQ(-EMEDIUMTYPE, cq_in(fd, own.fd, &cq));
	EXPECT_EQ(-EMEDIUMTYPE, qp_in(fd, own.fd, GDA_QP_SQ_DMABUF, none, &qp));
	EXPECT_EQ(-EMEDIUMTYPE, qp_in(fd, own.fd, GDA_QP_DBREC_DMABUF, none, &qp));
	/* nor when vgem has let go of it */
	ASSERT_OK(gem_close(self->drm, own.handle));
	EXPECT_EQ(-EMEDIUMTYPE, cq_in(fd, own.fd, &cq));
	munmap(own.p, LEN);
	close(own.fd);
}

/* A buffer of gda_test that vgem has imported, at @part. */
static int lend(int drm, int buf, struct part *part)
{
	struct own probe;
	int err;

	*part = (struct part) { .len = LEN };
	err = own_create(drm, LEN, &probe);
	err = err ? err : own_destroy(drm, LEN, &probe);
	err = err ? err : prime_import(drm, buf, &part->handle);
	if (err)
		return err;
	part->p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, drm, (off_t)probe.offset);
	return part->p == MAP_FAILED ? -errno : 0;
}

/* Posted and polled through vgem's mapping of a buffer that both have. */
TEST_F(vgem, queue_in_what_it_imported)
{
	struct t_mr *mem = &self->end[0].mr;
	int test = open("/dev/gda_test", O_RDWR | O_CLOEXEC), buf;
	struct part part;
	struct t_qp qp;
	uint8_t *p;

	ASSERT_LE(0, test);
	buf = t_test_buffer(test, LEN, 0);
	ASSERT_LE(0, buf);
	ASSERT_OK(lend(self->drm, buf, &part));
	p = mmap(NULL, LEN, PROT_READ, MAP_SHARED, buf, 0);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_OK(queue_in(&qp, self->end[0].fd, buf, part.p));
	EXPECT_EQ(0, qp.qpc.sq.length);
	EXPECT_EQ(0, qp.cqc.cq.length);
	for (int i = 0; i < 3 * DEPTH; i++) {
		struct t_wr wr = t_wr_write(mem, 0, mem, LEN / 2, 64);

		memset(mem->addr, i + 1, 64);
		ASSERT_OK(t_run(&qp, &wr, NULL)) TH_LOG("request %d", i);
		ASSERT_TRUE(t_all(mem->addr + LEN / 2, (uint8_t)(i + 1), 64));
	}
	EXPECT_EQ(0, memcmp(p, part.p, LEN));
	EXPECT_FALSE(t_all(p + place[CQ], 0, 64));
	t_qp_close(&qp);
	munmap(p, LEN);
	munmap(part.p, LEN);
	EXPECT_OK(gem_close(self->drm, part.handle));
	close(buf);
	close(test);
}

/* vgem's handle goes, then every descriptor and mapping: the queue has the memory still. */
TEST_F(vgem, M11_handle_is_closed_while_a_queue)
{
	struct t_mr *mem = &self->end[0].mr;
	int test = open("/dev/gda_test", O_RDWR | O_CLOEXEC), buf;
	uint64_t until = t_now() + T_WAIT_NS;
	struct part part;
	struct t_qp qp;
	struct t_wr wr;

	ASSERT_LE(0, test);
	buf = t_test_buffer(test, LEN, 0);
	ASSERT_LE(0, buf);
	ASSERT_OK(lend(self->drm, buf, &part));
	ASSERT_OK(queue_in(&qp, self->end[0].fd, buf, part.p));
	EXPECT_OK(gem_close(self->drm, part.handle));
	close(buf);
	memset(mem->addr, 0x41, 64);
	wr = t_wr_write(mem, 0, mem, LEN / 2, 64);
	EXPECT_OK(t_run(&qp, &wr, NULL));
	EXPECT_TRUE(t_all(mem->addr + LEN / 2, 0x41, 64));
	/* the queue alone holds the memory of the last post when the doorbell rings */
	wr = t_wr_write(mem, 0, mem, LEN / 4, 64);
	t_post(&qp, &wr);
	__atomic_store_n(&qp.dbrec[1], gda_mlx5_dbrec(qp.next), __ATOMIC_RELEASE);
	munmap(part.p, LEN);
	__atomic_store_n(qp.db, gda_mlx5_doorbell(qp.next, qp.qpc.qpn), __ATOMIC_RELEASE);
	while (!t_all(mem->addr + LEN / 4, 0x41, 64) && t_now() < until)
		t_sleep_ns(T_NS / 1000);
	EXPECT_TRUE(t_all(mem->addr + LEN / 4, 0x41, 64));
	t_qp_close(&qp);
	close(test);
}

TEST_HARNESS_MAIN

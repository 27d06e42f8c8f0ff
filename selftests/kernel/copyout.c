// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A result that cannot be delivered: SECURITY.md O4. The call fails with EFAULT and
 * nothing of it remains: no object, no handle, no key, no pinned page.
 */
#include "gda_fixture.h"
#include "requests.h"

FIXTURE(copyout) {
	struct t_world w;
	uint8_t *page;			/* its end borders on nothing */
	uint8_t buf[T_REQUEST_MAX];
};

FIXTURE_VARIANT(copyout) {
	unsigned int nr;
};

#define VARIANT(NAME) \
	FIXTURE_VARIANT_ADD(copyout, NAME) { .nr = GDA_IOC_NR_##NAME }
VARIANT(QUERY);
VARIANT(REGION_INFO);
VARIANT(CQ_CREATE);
VARIANT(QP_CREATE);
VARIANT(QP_ADDRESS);
VARIANT(QP_QUERY);
VARIANT(MR_REG_USER);
VARIANT(MR_QUERY);
VARIANT(COUNTER_CREATE);
VARIANT(MR_REG_DMABUF);
VARIANT(REGION_EXPORT);
VARIANT(MR_REG_PEER);
VARIANT(DEVICE_INFO);
VARIANT(RECORD);
VARIANT(PEER_ADD);

T_SETUP(copyout)
{
	ASSERT_OK(t_world_open(&self->w));
	self->page = t_pages(2 * T_PAGE);
	ASSERT_NE(NULL, self->page);
	ASSERT_EQ(0, munmap(self->page + T_PAGE, T_PAGE));
}

T_TEARDOWN(copyout)
{
	t_world_close(&self->w);
}

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return n;
}

/* The counts when a request's temporary objects exist, but not its result. */
static int counts(FIXTURE_DATA(copyout) *self, unsigned int nr, struct t_objects *o)
{
	int fd = t_request(&self->w, nr, self->buf);

	return fd < 0 ? fd : t_objects_read(o);
}

TEST_F(copyout, O4_read_only)
{
	const struct t_call *call = &t_calls[variant->nr];
	unsigned long rounds = t_stress(200);
	struct t_objects before, after;
	int files = open_files();

	ASSERT_OK(counts(self, variant->nr, &before));
	for (unsigned long i = 0; i < rounds; i++) {
		int fd = t_request(&self->w, variant->nr, self->buf);

		ASSERT_GE(fd, 0);
		memcpy(self->page, self->buf, call->size);
		ASSERT_EQ(0, mprotect(self->page, T_PAGE, PROT_READ));
		ASSERT_EQ(-EFAULT, t_ioctl(fd, call->nr, self->page));
		EXPECT_EQ(0, memcmp(self->page, self->buf, call->size));
		ASSERT_EQ(0, mprotect(self->page, T_PAGE, PROT_READ | PROT_WRITE));
	}
	EXPECT_OK(t_objects_settle(&before, &after));
	EXPECT_EQ(files, open_files());
	/* The same request goes through afterwards. */
	ASSERT_OK(t_ioctl(self->w.fd, call->nr, self->page));
	EXPECT_OK(t_request_undo(&self->w, variant->nr, self->page));
}

/* The structure's end lies on an unmapped page, wherever it is cut. */
TEST_F(copyout, O4_cut_by_the_end_of_memory)
{
	const struct t_call *call = &t_calls[variant->nr];
	struct t_objects before, after;

	ASSERT_OK(counts(self, variant->nr, &before));
	for (uint32_t inside = 4; inside < call->size; inside += 4) {
		int fd = t_request(&self->w, variant->nr, self->buf);
		uint8_t *at = self->page + T_PAGE - inside;

		ASSERT_GE(fd, 0);
		memcpy(at, self->buf, inside);
		EXPECT_EQ(-EFAULT, t_ioctl(fd, call->nr, at))
			TH_LOG("%u bytes inside", inside);
	}
	EXPECT_OK(t_objects_settle(&before, &after));
}

/* A result that lies in a mapping of the context itself. */
TEST_F(copyout, O4_into_own_queue)
{
	const struct t_call *call = &t_calls[variant->nr];
	struct t_qp qp;
	int fd;

	ASSERT_OK(t_qp_open(&qp, self->w.fd, 64));
	fd = t_request(&self->w, variant->nr, qp.sq);
	ASSERT_GE(fd, 0);
	EXPECT_OK(t_ioctl(fd, call->nr, qp.sq));
	EXPECT_OK(t_request_undo(&self->w, variant->nr, qp.sq));
	t_qp_close(&qp);
}

/* ... and one in its doorbell page: the copy itself faults into the driver. */
TEST_F(copyout, O4_into_own_doorbell)
{
	const struct t_call *call = &t_calls[variant->nr];
	struct t_qp qp;
	int fd;

	ASSERT_OK(t_qp_open(&qp, self->w.fd, 64));
	t_sleep_ns(T_NS / 50);
	fd = t_request(&self->w, variant->nr, self->buf);
	ASSERT_GE(fd, 0);
	/* Behind the cells in use; the kernel reads and writes it as user memory. */
	memcpy((uint8_t *)qp.map[2] + T_PAGE / 2, self->buf, T_PAGE / 8);
	t_sleep_ns(T_NS / 50);
	EXPECT_OK(t_ioctl(fd, call->nr, (uint8_t *)qp.map[2] + T_PAGE / 2));
	EXPECT_OK(t_request_undo(&self->w, variant->nr, (uint8_t *)qp.map[2] + T_PAGE / 2));
	t_qp_close(&qp);
}

TEST_HARNESS_MAIN

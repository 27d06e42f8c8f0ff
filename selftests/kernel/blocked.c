// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A caller that makes the kernel wait for it: its memory is under userfaultfd, and
 * nobody answers the fault. SECURITY.md O4, O7: everybody else goes on, the context
 * can be shut down meanwhile, and kill -9 ends it all.
 */
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "gda_fixture.h"
#include "requests.h"

FIXTURE(blocked) {
	struct t_world w;
	int uffd;
	uint8_t *page;
};

FIXTURE_VARIANT(blocked) {
	unsigned int nr;
};

#define VARIANT(NAME) \
	FIXTURE_VARIANT_ADD(blocked, NAME) { .nr = GDA_IOC_NR_##NAME }
VARIANT(CQ_CREATE);
VARIANT(QP_CREATE);
VARIANT(MR_REG_USER);
VARIANT(COUNTER_CREATE);
VARIANT(MR_REG_DMABUF);
VARIANT(REGION_EXPORT);
VARIANT(MR_REG_PEER);
VARIANT(QP_QUERY);
VARIANT(PEER_ADD);

/* Watch one page: for stores to it (@wp), or until somebody provides it. */
static int watch(void *page, bool wp)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	struct uffdio_api api = {
		.api = UFFD_API, .features = wp ? UFFD_FEATURE_PAGEFAULT_FLAG_WP : 0,
	};
	struct uffdio_register reg = {
		.range = { .start = (uintptr_t)page, .len = T_PAGE },
		.mode = wp ? UFFDIO_REGISTER_MODE_WP : UFFDIO_REGISTER_MODE_MISSING,
	};

	if (fd < 0)
		return -errno;
	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg)) {
		int err = errno;

		close(fd);
		return -err;
	}
	return fd;
}

static int protect(int uffd, void *page, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = { .start = (uintptr_t)page, .len = T_PAGE },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return ioctl(uffd, UFFDIO_WRITEPROTECT, &wp) ? -errno : 0;
}

/* Somebody has come upon the page. */
static bool faulted(int uffd)
{
	struct pollfd p = { .fd = uffd, .events = POLLIN };
	struct uffd_msg msg;

	return poll(&p, 1, 20000) == 1 && read(uffd, &msg, sizeof(msg)) == sizeof(msg) &&
	       msg.event == UFFD_EVENT_PAGEFAULT;
}

struct call {
	int fd;
	unsigned long nr;
	void *arg;
	int result;
	int returned;		/* an eventfd that counts it, or 0 */
};

static void *caller(void *arg)
{
	struct call *c = arg;

	c->result = t_ioctl(c->fd, c->nr, c->arg);
	if (c->returned)
		eventfd_write(c->returned, 1);
	return NULL;
}

T_SETUP(blocked)
{
	ASSERT_OK(t_world_open(&self->w));
	self->page = t_pages(T_PAGE);
	ASSERT_NE(NULL, self->page);
	memset(self->page, 0, T_PAGE);
	self->uffd = watch(self->page, true);
	ASSERT_GE(self->uffd, 0) TH_LOG("userfaultfd: %d", self->uffd);
}

T_TEARDOWN(blocked)
{
	close(self->uffd);
	munmap(self->page, T_PAGE);
	t_world_close(&self->w);
}

/* A context of another tenant does what it likes. */
static int others_work(void)
{
	struct t_end end[2];
	struct t_wr wr;
	int err = t_pair_open(end, 16, T_PAGE);

	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 64);
	if (!err)
		err = t_run(&end[0].qp, &wr, NULL);
	t_pair_close(end);
	return err;
}

static int begin(FIXTURE_DATA(blocked) *self, unsigned int nr, struct call *call,
		 pthread_t *thread)
{
	int fd = t_request(&self->w, nr, self->page), err;

	if (fd < 0)
		return fd;
	err = protect(self->uffd, self->page, true);
	if (err)
		return err;
	*call = (struct call) { .fd = fd, .nr = t_calls[nr].nr, .arg = self->page };
	if (pthread_create(thread, NULL, caller, call))
		return -EAGAIN;
	return faulted(self->uffd) ? 0 : -ETIMEDOUT;
}

TEST_F(blocked, O4_answer_then_goes_on)
{
	struct gda_qp_query q;
	pthread_t thread;
	struct call call;

	ASSERT_OK(begin(self, variant->nr, &call, &thread));
	/* Neither the others nor this context's other threads wait for it. */
	EXPECT_OK(others_work());
	EXPECT_OK(t_qp_query(self->w.fd, self->w.qp, &q));
	/* No handle names an object that is half made, nor one near it. */
	for (uint32_t handle = 1; handle < 16; handle++) {
		if (handle == self->w.cq || handle == self->w.qp || handle == self->w.mr ||
		    handle == self->w.temp[0] || handle == self->w.temp[1] ||
		    handle == self->w.named[0] || handle == self->w.named[1])
			continue;
		EXPECT_EQ(-ENOENT, t_destroy(self->w.fd, handle));
	}
	ASSERT_OK(protect(self->uffd, self->page, false));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, call.result);
	EXPECT_OK(t_request_undo(&self->w, variant->nr, self->page));
}

TEST_F(blocked, O4_shut_down_meanwhile)
{
	uint64_t start = t_now();
	pthread_t thread;
	struct call call;

	ASSERT_OK(begin(self, variant->nr, &call, &thread));
	ASSERT_OK(t_shutdown(self->w.fd));
	EXPECT_LT(t_now() - start, T_WAIT_NS);
	EXPECT_OK(others_work());
	ASSERT_OK(protect(self->uffd, self->page, false));
	pthread_join(thread, NULL);
	/* Too late, or done just before; nothing remains in either case. */
	EXPECT_TRUE(call.result == -ENODEV || call.result == 0) TH_LOG("%d", call.result);
	if (!call.result && variant->nr == GDA_IOC_NR_REGION_EXPORT)
		t_request_undo(&self->w, variant->nr, self->page);
}

/* The object that the call needs goes while its answer waits. */
TEST_F(blocked, O4_destroyed_meanwhile)
{
	pthread_t thread;
	struct call call;

	ASSERT_OK(begin(self, variant->nr, &call, &thread));
	t_destroy(self->w.fd, self->w.qp);
	t_destroy(self->w.fd, self->w.mr);
	t_destroy(self->w.fd, self->w.cq);
	if (self->w.temp[0])
		t_destroy(self->w.fd, self->w.temp[0]);
	ASSERT_OK(protect(self->uffd, self->page, false));
	pthread_join(thread, NULL);
	EXPECT_TRUE(call.result == 0 || call.result == -ENOENT) TH_LOG("%d", call.result);
	if (!call.result)
		EXPECT_OK(t_request_undo(&self->w, variant->nr, self->page));
}

static int blocks_until_killed(void *arg)
{
	FIXTURE_DATA(blocked) self = { 0 };
	unsigned int nr = *(unsigned int *)arg;
	pthread_t thread;
	struct call call;

	if (t_world_open(&self.w))
		return 1;
	self.page = t_pages(T_PAGE);
	memset(self.page, 0, T_PAGE);
	self.uffd = watch(self.page, true);
	if (self.uffd < 0 || begin(&self, nr, &call, &thread))
		return 2;
	kill(getpid(), SIGKILL);
	return 3;
}

TEST_F(blocked, O7_killed)
{
	unsigned int nr = variant->nr;

	EXPECT_EQ(128 + SIGKILL, t_in_child(blocks_until_killed, &nr));
	EXPECT_OK(others_work());
}

T_FIXTURE(pinning);

/* Memory that does not come: the registration waits, and is killed. */
static int pins_until_killed(void *arg)
{
	uint8_t *p = mmap(NULL, 4 * T_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gda_mr_reg_user reg = {
		.size = sizeof(reg), .addr = (uintptr_t)p, .length = 4 * T_PAGE,
		.access = GDA_ACCESS_ALL,
	};
	struct call call = { .fd = t_context(), .nr = GDA_IOC_MR_REG_USER, .arg = &reg };
	int uffd = watch(p + 2 * T_PAGE, false);
	struct gda_cq_create cq;
	struct pollfd either[] = { { .fd = uffd, .events = POLLIN }, { .events = POLLIN } };
	pthread_t thread;

	(void)arg;
	call.returned = eventfd(0, EFD_CLOEXEC);
	either[1].fd = call.returned;
	if (call.fd < 0 || uffd < 0 || call.returned < 0 ||
	    pthread_create(&thread, NULL, caller, &call))
		return 1;
	poll(either, 2, 20000);
	if (either[1].revents || !faulted(uffd)) {
		/* 6.1 pins for long without waiting for a userfaultfd: it fails */
		pthread_join(thread, NULL);
		return call.result == -EFAULT ? 5 : 2;
	}
	/* The context's other threads do not wait for it. */
	if (t_cq_create(call.fd, GDA_CQ_COLLAPSED, 1, &cq) || others_work())
		return 3;
	kill(getpid(), SIGKILL);
	return 4;
}

TEST_F(pinning, O7_killed)
{
	int end = t_in_child(pins_until_killed, NULL);

	if (end == 5)
		SKIP(return, "this kernel does not wait for a userfaultfd when it pins");
	EXPECT_EQ(128 + SIGKILL, end);
	EXPECT_OK(others_work());
}

TEST_HARNESS_MAIN

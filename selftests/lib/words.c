// SPDX-License-Identifier: MIT
/*
 * Answers that help: gda_last_error() names the argument and the rule, GDA_DEBUG prints,
 * a deadline that was meant to be relative is told from one that was missed. In the guest
 * on the kernel's device, natively on the in-process one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <gda/ring.h>
#include "kselftest_harness.h"
#include "pair.h"

FIXTURE(words) {
	struct side a, b;
	bool kernel;
};

FIXTURE_SETUP(words)
{
	ASSERT_EQ(0, side_pair_open(&self->a, &self->b, 16));
	self->kernel = access("/dev/gda", F_OK) == 0;
}

FIXTURE_TEARDOWN(words)
{
	side_close(&self->a);
	side_close(&self->b);
}

/* Did a call return @want, and is @text all of the last error? */
static bool says(int err, int want, const char *text)
{
	if (err == want && !strcmp(gda_last_error(), text))
		return true;
	printf("# %d, not %d: \"%s\", not \"%s\"\n", err, want, gda_last_error(), text);
	return false;
}

#define SAYS(call, want, text)	EXPECT_TRUE(says(call, want, text))

TEST_F(words, create_qp)
{
	struct gda_context *ctx = self->a.ctx;
	struct gda_cq_attr collapsed = { .size = sizeof(collapsed), .flags = GDA_CQ_COLLAPSED };
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 17 };
	struct gda_counter *count;
	struct gda_cq *cq;
	struct gda_qp *qp, *other;

	SAYS(gda_qp_create(ctx, &attr, &qp), -EINVAL,
	     "gda_qp_create: sq_depth 17 is no power of two: set it to 16");
	attr.size = 0;
	EXPECT_EQ(-EINVAL, gda_qp_create(ctx, &attr, &qp));
	EXPECT_NE(NULL, strstr(gda_last_error(), "gda_qp_create: size 0 is less than"));
	attr.size = sizeof(attr);
	attr.sq_depth = 65536;
	SAYS(gda_qp_create(ctx, &attr, &qp), -EINVAL,
	     "gda_qp_create: sq_depth 65536: the device takes at most 32768");
	attr.sq_depth = 16;
	attr.flags = 0x80000000;
	SAYS(gda_qp_create(ctx, &attr, &qp), -EOPNOTSUPP,
	     "gda_qp_create: flags has unknown bits: 0x80000000: clear them, or install a newer libgda and driver");
	attr.flags = 0;
	ASSERT_EQ(0, gda_cq_create(self->b.ctx, &collapsed, &cq));
	ASSERT_EQ(0, gda_counter_create(self->b.ctx, &count));
	attr.cq = cq;
	SAYS(gda_qp_create(ctx, &attr, &qp), -EINVAL,
	     "gda_qp_create: cq is of another context: use one context");
	attr.cq = NULL;
	attr.sent_counter = count;
	SAYS(gda_qp_create(ctx, &attr, &qp), -EINVAL,
	     "gda_qp_create: sent_counter is of another context: use one context");
	attr.sent_counter = NULL;
	attr.recv_cq = cq;
	SAYS(gda_qp_create(self->b.ctx, &attr, &qp), -EINVAL,
	     "gda_qp_create: recv_cq is collapsed, immediates need a ring: create it without GDA_CQ_COLLAPSED");
	attr.recv_cq = NULL;
	attr.cq = cq;
	ASSERT_EQ(0, gda_qp_create(self->b.ctx, &attr, &qp));
	SAYS(gda_qp_create(self->b.ctx, &attr, &other), -EBUSY,
	     "gda_qp_create: cq is collapsed and serves another QP: pass another");
	SAYS(gda_cq_destroy(cq), -EBUSY,
	     "gda_cq_destroy: a QP uses it: destroy the QP before");
	EXPECT_EQ(NULL, gda_cq_view(cq));
	EXPECT_STREQ("gda_cq_view: the CQ is collapsed or unmapped: only a mapped ring has a view",
		     gda_last_error());
	EXPECT_EQ(0, gda_qp_destroy(qp));
	EXPECT_EQ(0, gda_cq_destroy(cq));
	EXPECT_EQ(0, gda_counter_destroy(count));
}

TEST_F(words, create_cq)
{
	struct gda_cq_attr attr = { .size = sizeof(attr), .depth = 12 };
	struct gda_context *ctx = self->a.ctx;
	struct gda_cq *cq;

	SAYS(gda_cq_create(ctx, &attr, &cq), -EINVAL,
	     "gda_cq_create: depth 12 is no power of two: set it to 8");
	attr.depth = 0;
	SAYS(gda_cq_create(ctx, &attr, &cq), -EINVAL,
	     "gda_cq_create: depth is 0: set it to a power of two");
	attr.depth = 1U << 31;
	SAYS(gda_cq_create(ctx, &attr, &cq), -EINVAL,
	     "gda_cq_create: depth 2147483648: the device takes at most 65536");
	attr.depth = 16;
	attr.flags = 0x40000000;
	SAYS(gda_cq_create(ctx, &attr, &cq), -EOPNOTSUPP,
	     "gda_cq_create: flags has unknown bits: 0x40000000: clear them, or install a newer libgda and driver");
}

TEST_F(words, events)
{
	struct gda_cq_attr attr = { .size = sizeof(attr), .depth = 16 };
	int event = eventfd(0, EFD_CLOEXEC);
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	struct gda_cq *cq;

	ASSERT_EQ(0, gda_cq_create(self->a.ctx, &attr, &cq));
	SAYS(gda_cq_event(cq, -1, GDA_CQ_ARM), -EINVAL,
	     "gda_cq_event: eventfd is -1 and none was given before: pass one");
	SAYS(gda_cq_event(cq, 9999, GDA_CQ_ARM), -EBADF,
	     "gda_cq_event: eventfd 9999 is no open file: pass one of eventfd(2)");
	SAYS(gda_cq_event(cq, event, 3), -EINVAL,
	     "gda_cq_event: flags arms in two ways: set one GDA_CQ_ARM* flag");
	SAYS(gda_cq_sleep(cq, event, 0, &entry, 0), -EINVAL,
	     "gda_cq_sleep: flags is 0: set GDA_CQ_ARM or GDA_CQ_ARM_SOLICITED");
	SAYS(gda_cq_sleep(cq, 9999, GDA_CQ_ARM, &entry, 0), -EBADF,
	     "gda_cq_sleep: eventfd 9999 is no open file: pass one of eventfd(2)");
	EXPECT_EQ(0, gda_cq_destroy(cq));
	close(event);
}

TEST_F(words, registration)
{
	struct side *a = &self->a;
	uint8_t *unmapped = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gda_mr *mr;

	ASSERT_NE(MAP_FAILED, unmapped);
	munmap(unmapped, 4096);
	SAYS(gda_mr_reg(a->ctx, a->mem, 0, 0, 0, &mr), -EINVAL,
	     "gda_mr_reg: length is 0: register at least one byte");
	SAYS(gda_mr_reg(a->ctx, a->mem, 8, GDA_ACCESS_REMOTE_WRITE, 0, &mr), -EINVAL,
	     "gda_mr_reg: access: remote write needs GDA_ACCESS_LOCAL_WRITE, too");
	SAYS(gda_mr_reg(a->ctx, a->mem, 8, GDA_ACCESS_REMOTE_ATOMIC, 0, &mr), -EINVAL,
	     "gda_mr_reg: access: remote atomic needs GDA_ACCESS_LOCAL_WRITE, too");
	SAYS(gda_mr_reg(a->ctx, a->mem, 8, 0x30, 0, &mr), -EOPNOTSUPP,
	     "gda_mr_reg: access has unknown bits: 0x30: clear them, or install a newer libgda and driver");
	SAYS(gda_mr_reg(a->ctx, a->mem, 8, 0, 6, &mr), -EOPNOTSUPP,
	     "gda_mr_reg: flags has unknown bits: 0x6: clear them, or install a newer libgda and driver");
	SAYS(gda_mr_reg(a->ctx, (void *)~4095UL, 8192, 0, 0, &mr), -EOVERFLOW,
	     "gda_mr_reg: addr 0xfffffffffffff000 plus length 0x2000 wraps: is one of them wrong?");
	EXPECT_EQ(-EFAULT, gda_mr_reg(a->ctx, unmapped, 4096, 0, 0, &mr));
	/* the kernel says which ways it tried */
	EXPECT_NE(NULL, strstr(gda_last_error(), self->kernel ? "gda_mr_reg: pinning: " :
			       "not all mapped with these rights"))
		TH_LOG("%s", gda_last_error());
}

TEST_F(words, connect)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 16 };
	struct gda_address address, dead;
	struct gda_qp *qp;

	ASSERT_EQ(0, gda_qp_create(self->a.ctx, &attr, &qp));
	ASSERT_EQ(0, gda_qp_address(qp, &dead));
	ASSERT_EQ(0, gda_qp_address(self->b.qp, &address));
	SAYS(gda_qp_connect(qp, &address), -EBUSY,
	     "gda_qp_connect: peer has named another QP: it must name this one");
	SAYS(gda_qp_connect(self->a.qp, &address), -EALREADY,
	     "gda_qp_connect: this QP has a peer, or has failed: create another");
	memset(&address, 0x55, sizeof(address));
	SAYS(gda_qp_connect(qp, &address), -EINVAL,
	     "gda_qp_connect: peer is no address of this kind of device: pass what gda_qp_address() gave the other side");
	EXPECT_EQ(0, gda_qp_destroy(qp));
	ASSERT_EQ(0, gda_qp_create(self->a.ctx, &attr, &qp));
	if (self->kernel) {
		SAYS(gda_qp_connect(qp, &dead), -ENOENT,
		     "gda_qp_connect: peer: no such QP (any more): exchange addresses again");
	} else {
		SAYS(gda_qp_connect(qp, &dead), -ENOENT,
		     "gda_qp_connect: peer is no QP of this process, and the in-process device reaches no other: use soft0 or an RDMA device (GDA_DEVICE; gdactl doctor names them), or make the ranks threads");
	}
	EXPECT_EQ(0, gda_qp_destroy(qp));
}

/* The last error is the thread's, and calls that succeed leave it alone. */
struct other {
	struct side *side;
	bool empty_at_first;
	bool its_own;
};

static void *other_main(void *arg)
{
	struct other *o = arg;
	struct gda_mr *mr;

	o->empty_at_first = !*gda_last_error();
	o->its_own = says(gda_mr_reg(o->side->ctx, o->side->mem, 0, 0, 0, &mr), -EINVAL,
			  "gda_mr_reg: length is 0: register at least one byte");
	return NULL;
}

TEST_F(words, of_this_thread_until_the_next_failure)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 17 };
	struct other other = { .side = &self->a };
	struct gda_query q = { .size = sizeof(q) };
	struct gda_qp *qp;
	pthread_t thread;

	EXPECT_EQ(-EINVAL, gda_qp_create(self->a.ctx, &attr, &qp));
	ASSERT_EQ(0, pthread_create(&thread, NULL, other_main, &other));
	pthread_join(thread, NULL);
	EXPECT_TRUE(other.empty_at_first);
	EXPECT_TRUE(other.its_own);
	EXPECT_EQ(0, gda_context_query(self->a.ctx, &q));
	EXPECT_STREQ("gda_qp_create: sq_depth 17 is no power of two: set it to 16",
		     gda_last_error());
	/* what no rule explains has at least the errno's text */
	EXPECT_EQ(0, gda_context_shutdown(self->b.ctx));
	SAYS(gda_context_query(self->b.ctx, &q), -ENODEV,
	     "gda_context_query: the context was shut down, or its device is gone");
}

TEST(names_of_devices)
{
	bool kernel = access("/dev/gda", F_OK) == 0;
	struct gda_context *ctx;
	char name[GDA_DEVICE_NAME_MAX + 1] = { 0 }, text[128];

	memset(name, 'x', GDA_DEVICE_NAME_MAX);
	SAYS(gda_open(name, &ctx), -EINVAL,
	     "gda_open: the name has 64 bytes, the most is 63: gda_devices() lists the names");
	EXPECT_EQ(-ENOENT, gda_open("nosuch", &ctx));
	snprintf(text, sizeof(text), "gda_open: there is no device \"nosuch\", there are: %s",
		 kernel ? "soft0" : GDA_DEVICE_INPROC);
	EXPECT_EQ(0, strncmp(text, gda_last_error(), strlen(text))) TH_LOG("%s", gda_last_error());
	EXPECT_NE(NULL, strstr(gda_last_error(), GDA_DEVICE_INPROC));
	EXPECT_EQ(!kernel, !!strstr(gda_last_error(), "(and no /dev/gda: load gda_core)"));
}

TEST(inproc_workers)
{
	static const char *const bad[] = { "", "0", "-1", "17", "2x", "many", " " };
	struct gda_context *ctx = NULL;
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text),
			 "gda_open: GDA_INPROC_WORKERS=%s is no number from 1 to 16: unset it, or correct it",
			 bad[i]);
		setenv("GDA_INPROC_WORKERS", bad[i], 1);
		SAYS(gda_open(GDA_DEVICE_INPROC, &ctx), -EINVAL, text);
	}
	setenv("GDA_INPROC_WORKERS", "16", 1);
	EXPECT_EQ(0, gda_open(GDA_DEVICE_INPROC, &ctx));
	gda_close(ctx);
}

TEST(view_init)
{
	static uint8_t memory[4096] __attribute__((aligned(64)));
	static uint32_t slots[16];
	struct gda_view_attr attr = { .size = sizeof(attr),
		.sq = memory, .dbrec = memory + 1028, .db = memory + 1032, .cq = memory + 2048,
		.slots = slots, .depth = 16, .qpn = 1,
	};
	struct gda_view v;

	memset(memory + 2048, 0xff, 64);
	EXPECT_EQ(0, gda_view_init(&v, &attr));
	attr.depth = 3;
	SAYS(gda_view_init(&v, &attr), -EINVAL,
	     "gda_view_init: depth 3 is no power of two: set it to one, such as 64");
	attr.depth = 16;
	attr.db = memory + 1028;
	EXPECT_EQ(-EINVAL, gda_view_init(&v, &attr));
	EXPECT_EQ(0, strncmp(gda_last_error(), "gda_view_init: db 0x", 20));
	attr.db = memory + 1032;
	memory[2048 + 63] = 0;
	SAYS(gda_view_init(&v, &attr), -EPROTO,
	     "gda_view_init: the entry at cq is not preset: set its bytes to 0xff before, "
	     "those of a ring to 0");
}

/* A relative deadline is -ETIME, one that was just missed -ETIMEDOUT; done work is 0. */
TEST_F(words, a_deadline_that_was_long_past)
{
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = 16 };
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = 16, .timeout_ns = 20000000000U,
	};
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	struct gda_view *v;
	struct gda_qp *qp;
	struct gda_cq *cq;
	int64_t t;

	if (gda_clock_ns() < 3000000000U)
		SKIP(return, "the machine is too young");
	/* nobody has connected to it: its work waits */
	ASSERT_EQ(0, gda_qp_create(self->a.ctx, &attr, &qp));
	ASSERT_EQ(0, gda_cq_create(self->a.ctx, &ring, &cq));
	v = gda_qp_view(qp);
	t = gda_nop(v, 0);
	EXPECT_EQ(-ETIME, gda_wait(v, t, 1000000));
	EXPECT_EQ(-ETIME, gda_quiet(v, 1000000));
	EXPECT_EQ(-ETIMEDOUT, gda_wait(v, t, gda_clock_ns() + 1000000));
	EXPECT_EQ(-ETIMEDOUT, gda_wait(v, t, gda_clock_ns() - 1000));
	EXPECT_EQ(-ETIME, gda_cq_wait(gda_cq_view(cq), &entry, 1000000));
	EXPECT_EQ(-ETIMEDOUT, gda_cq_wait(gda_cq_view(cq), &entry, gda_clock_ns() + 1000000));
	EXPECT_EQ(-ETIME, gda_cq_sleep(cq, event, GDA_CQ_ARM, &entry, 1000000));
	EXPECT_NE(NULL, strstr(gda_last_error(), "it is absolute"));
	EXPECT_EQ(-ETIMEDOUT, gda_cq_sleep(cq, event, GDA_CQ_ARM, &entry,
					   gda_clock_ns() + 1000000));
	EXPECT_EQ(0, gda_qp_destroy(qp));
	EXPECT_EQ(0, gda_cq_destroy(cq));
	/* done is done, whatever the deadline */
	EXPECT_EQ(0, gda_quiet(self->a.v, 1));
	t = gda_nop(self->a.v, 0);
	ASSERT_EQ(0, gda_wait(self->a.v, t, 0));
	EXPECT_EQ(0, gda_wait(self->a.v, t, 1));
	close(event);
}

/* A file in place of stderr; what was written there. */
static int capture(int *saved)
{
	int fd = memfd_create("stderr", MFD_CLOEXEC);

	fflush(stderr);
	*saved = dup(STDERR_FILENO);
	dup2(fd, STDERR_FILENO);
	return fd;
}

static void release(int fd, int saved, char *text, size_t room)
{
	ssize_t n;

	dup2(saved, STDERR_FILENO);
	close(saved);
	n = pread(fd, text, room - 1, 0);
	text[n > 0 ? n : 0] = 0;
	close(fd);
}

/* One QP fails and is seen by the thread; another one goes as soon as it has failed. */
static int fail_two(void)
{
	struct gda_qp_attr bad = { .size = sizeof(bad), .sq_depth = 17 };
	struct side a = { 0 }, b = { 0 };
	struct gda_qp *qp;
	int i, err = 0;

	for (i = 0; i < 2 && !err; i++) {
		err = side_pair_open(&a, &b, 16);
		if (!err && gda_wait(a.v, gda_put(a.v, a.iova, a.key, b.iova, b.key ^ 0x10000, 8,
						  0), 0) != -EIO)
			err = -EPROTO;
		if (!i)
			usleep(200000);
		if (gda_qp_create(a.ctx, &bad, &qp) != -EINVAL)
			err = -EPROTO;
		side_close(&a);
		side_close(&b);
	}
	return err;
}

static unsigned int count(const char *text, const char *what)
{
	unsigned int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

TEST(debug)
{
	static char text[65536];
	int fd, saved, err;
	size_t i;

	setenv("GDA_DEBUG", "1", 1);
	fd = capture(&saved);
	err = fail_two();
	release(fd, saved, text, sizeof(text));
	EXPECT_EQ(0, err);
	/* what was printed, for whoever reads the log of a failure */
	for (i = 0; text[i]; i++)
		printf("%s%c", i && text[i - 1] != '\n' ? "" : "# ", text[i]);
	EXPECT_EQ(4, count(text, ": gda_open(NULL) = 0\n"));
	EXPECT_EQ(2, count(text, "sq_depth 17, flags 0) = -22: sq_depth 17 is no power of two: "));
	EXPECT_EQ(4, count(text, ": gda_close("));
	/* of each queue that failed for its own work, once */
	EXPECT_EQ(2, count(text, " failed at ticket 0: remote access error: no such key"));
}

TEST(no_debug)
{
	char text[256];
	int fd, saved, err;

	setenv("GDA_DEBUG", "0", 1);
	fd = capture(&saved);
	err = fail_two();
	release(fd, saved, text, sizeof(text));
	EXPECT_EQ(0, err);
	EXPECT_STREQ("", text);
}

TEST_HARNESS_MAIN

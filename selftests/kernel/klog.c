// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md O10: whatever a user does wrong, the kernel log stays empty. (The whole
 * suite is held to that by its runner, too; here every documented error is provoked.)
 */
#include "gda_fixture.h"
#include "requests.h"

FIXTURE(quiet) {
	struct t_world w;
	int log;
	bool seen[200];			/* errors that came */
	uint8_t buf[T_REQUEST_MAX];
};

T_SETUP(quiet)
{
	self->log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ASSERT_GE(self->log, 0);
	ASSERT_OK(t_world_open(&self->w));
	ASSERT_EQ(0, lseek(self->log, 0, SEEK_END));
}

/* Lines since the start that our modules printed. */
static int lines(int log)
{
	char line[8192];
	int n = 0;

	for (;;) {
		ssize_t len = read(log, line, sizeof(line) - 1);

		if (len < 0 && errno == EPIPE)
			continue;
		if (len <= 0)
			return n;
		line[len] = 0;
		if (strstr(line, "gda") && !strstr(line, "gda-test")) {
			printf("# %s", line);
			n++;
		}
	}
}

T_TEARDOWN(quiet)
{
	EXPECT_EQ(0, lines(self->log));
	close(self->log);
	t_world_close(&self->w);
}

static void note(FIXTURE_DATA(quiet) *self, int err)
{
	if (err < 0 && -err < (int)ARRAY_SIZE(self->seen))
		self->seen[-err] = true;
}

/* Request @nr after a change of one member, if @bytes, or of its size or its file. */
static void bad(FIXTURE_DATA(quiet) *self, unsigned int nr, size_t offset, uint64_t value,
		size_t bytes)
{
	int err, fd = t_request(&self->w, nr, self->buf);

	memcpy(self->buf + offset, &value, bytes);
	err = t_ioctl(fd, t_calls[nr].nr, self->buf);
	note(self, err);
	if (!err)
		t_request_undo(&self->w, nr, self->buf);
}

static void bad_connects(FIXTURE_DATA(quiet) *self)
{
	struct gda_qp_connect *cmd = (void *)self->buf;
	struct t_end end[2];
	struct t_qp qp;

	t_request(&self->w, GDA_IOC_NR_QP_CONNECT, self->buf);
	memset(cmd->address, 0, sizeof(cmd->address));
	note(self, t_ioctl(self->w.fd, GDA_IOC_QP_CONNECT, cmd));
	t_pair_open(end, 16, T_PAGE);
	note(self, t_connect(&end[0].qp, &end[1].qp));
	t_qp_open(&qp, end[0].fd, 16);
	note(self, t_qp_connect(end[0].fd, qp.qpc.handle, end[1].fd, end[1].qp.qpc.handle));
	t_qp_unmap(&qp);
	t_pair_close(end);
}

static void bad_mappings(FIXTURE_DATA(quiet) *self)
{
	static const int prots[] = { PROT_READ, PROT_WRITE, PROT_EXEC };

	for (uint64_t page = 0; page < 64; page++)
		for (size_t i = 0; i < ARRAY_SIZE(prots); i++)
			for (size_t len = 1; len < 4; len++) {
				void *p = mmap(NULL, len * T_PAGE, prots[i], MAP_SHARED,
					       self->w.fd, (off_t)(page * T_PAGE));

				if (p != MAP_FAILED)
					munmap(p, len * T_PAGE);
			}
}

TEST_F(quiet, O10_every_errno)
{
	static const int documented[] = {
		ENOTTY, E2BIG, EINVAL, EOPNOTSUPP, ENOENT, EBUSY, EOVERFLOW, ENOMEM, ENOSPC,
		EFAULT, ENOTCONN, EALREADY, ENODEV,
	};
	struct gda_cq_create cq;

	for (unsigned int nr = 0; nr < T_CALLS; nr++) {
		int unbound;

		bad(self, nr, 0, 1, 4);
		bad(self, nr, 0, t_calls[nr].size + 8, 4);
		self->buf[t_calls[nr].size] = 1;
		note(self, t_ioctl(self->w.fd, t_calls[nr].nr, self->buf));
		bad(self, nr, 4, 0x80000000, 4);
		if (t_calls[nr].in_handle)
			bad(self, nr, t_calls[nr].in_handle, 9999, 4);
		note(self, t_ioctl(self->w.fd, t_calls[nr].nr, (void *)8));
		unbound = t_open();
		ASSERT_GE(unbound, 0);
		t_request(&self->w, nr, self->buf);
		note(self, t_ioctl(unbound, t_calls[nr].nr, self->buf));
		close(unbound);
	}
	note(self, t_ioctl(self->w.fd, _IO(GDA_IOC_MAGIC, 200), NULL));
	note(self, t_bind(self->w.fd));
	note(self, t_destroy(self->w.fd, self->w.cq));
	bad(self, GDA_IOC_NR_MR_REG_USER, offsetof(struct gda_mr_reg_user, addr), 8, 8);
	bad(self, GDA_IOC_NR_MR_REG_USER, offsetof(struct gda_mr_reg_user, addr),
	    UINT64_MAX, 8);
	bad(self, GDA_IOC_NR_MR_REG_USER, offsetof(struct gda_mr_reg_user, length),
	    1ULL << 37, 8);
	bad_connects(self);
	bad_mappings(self);
	/* over a limit */
	for (int i = 0; i < 100000; i++) {
		int err = t_cq_create(self->w.fd, GDA_CQ_COLLAPSED, 1, &cq);

		note(self, err);
		if (err)
			break;
	}
	note(self, t_shutdown(self->w.fd));
	note(self, t_destroy(self->w.fd, self->w.cq));
	for (size_t i = 0; i < ARRAY_SIZE(documented); i++) {
		/* Registration exceeds the memory limit only as another user than root. */
		if (documented[i] != ENOMEM) {
			EXPECT_TRUE(self->seen[documented[i]])
				TH_LOG("%s never came", strerror(documented[i]));
		}
	}
}

/* Every way that a queue fails. */
TEST_F(quiet, O10_every_error_completion)
{
	uint64_t rnd = t_seed();
	struct t_end end[2];

	for (int i = 0; i < 100; i++) {
		uint8_t junk[64 * 16];
		uint64_t index;

		ASSERT_OK(t_pair_open(end, 16, T_PAGE));
		for (size_t k = 0; k < sizeof(junk); k++)
			junk[k] = (uint8_t)t_random(&rnd);
		/* The first one gets past the index check, with an opcode of any kind. */
		memset(junk, 0, 64);
		junk[3] = (uint8_t)i;
		junk[4] = (uint8_t)(end[0].qp.qpc.qpn >> 16);
		junk[5] = (uint8_t)(end[0].qp.qpc.qpn >> 8);
		junk[6] = (uint8_t)end[0].qp.qpc.qpn;
		junk[7] = (uint8_t)(i % 7);
		index = t_post_raw(&end[0].qp, junk, 16);
		t_ring(&end[0].qp);
		ASSERT_NE(-ETIMEDOUT, t_wait(&end[0].qp, index, NULL));
		if (i & 1)
			t_ring_index(&end[1].qp, 4000);
		if (i & 2)
			t_shutdown(end[1].fd);
		t_pair_close(end);
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md E4, K6 and M11 with all that other drivers can hold: a process is killed
 * at any moment while the memory that it registered moves, while another process has
 * its queue mapped, and while a device and another driver have it attached. They keep
 * the memory, which no queue uses any more; with the last reference nothing is left.
 */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include "gda_fixture.h"
#include "move.h"
#include "prime.h"
#include "../kmod/gda_edu/ioctl.h"

#define LEN	(64 * T_PAGE)
#define DEPTH	64
#define ROUNDS	40

/* The regions of the queue that are exported. */
enum { SQ, DB, PARTS };

FIXTURE(killed) {
	uint64_t seed;
	int test;		/* /dev/gda_test */
	int buf;
	int drm;		/* vgem, or -1 */
	int edu;		/* /dev/gda_edu, or -1 */
};

T_SETUP(killed)
{
	self->seed = t_seed();
	self->test = open("/dev/gda_test", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->test);
	self->buf = t_test_buffer(self->test, LEN, 0);
	ASSERT_LE(0, self->buf);
	self->drm = vgem_open();
	self->edu = open("/dev/gda_edu", O_RDWR | O_CLOEXEC);
}

T_TEARDOWN(killed)
{
	close(self->buf);
	close(self->test);
	if (self->drm >= 0)
		close(self->drm);
	if (self->edu >= 0)
		close(self->edu);
}

/* A ring full of work on memory that may be gone before it is done. */
static void work(struct t_qp *qp, const struct t_mr *mem, const struct t_mr *mr)
{
	for (int i = 0; i < DEPTH; i++) {
		struct t_wr wr = i & 1 ? t_wr_write(mem, 0, mr, 0, LEN) :
					 t_wr_read(mem, 0, mr, 0, LEN);

		t_post(qp, &wr);
	}
	t_ring(qp);
}

/* Hand out the queue, then register and work until the end, which comes from outside. */
static int victim(int sock, int buf)
{
	struct gda_region_export part;
	int fd = t_context();
	struct t_qp shown, qp;
	struct t_mr mem, mr;

	if (fd < 0 || t_mr_new(fd, LEN, GDA_ACCESS_ALL, &mem) || t_qp_open(&shown, fd, DEPTH))
		return 1;
	for (int i = 0; i < PARTS; i++) {
		if (export_region(fd, shown.qpc.handle, i ? GDA_REGION_DB : GDA_REGION_SQ, &part) ||
		    t_send_fd(sock, part.fd))
			return 2;
		close(part.fd);
	}
	for (unsigned int i = 0;; i++) {
		int err = t_mr_reg_dmabuf(fd, buf, LEN, &mr);

		if (err == -EAGAIN)
			continue;
		if (err || t_qp_open(&qp, fd, DEPTH) || t_connect(&qp, &qp))
			return 3;
		work(&qp, &mem, &mr);
		if (i % 3)
			t_wait(&qp, DEPTH - 1, NULL);
		t_qp_close(&qp);
		if (t_destroy(fd, mr.handle))
			return 4;
	}
}

/* The holders of the files that the victim handed out. */
struct holder {
	int fd[PARTS];
	uint8_t *p[PARTS];
	uint32_t handle[PARTS];
	struct gda_edu_attach seen[PARTS];
};

static int hold(FIXTURE_DATA(killed) *self, struct holder *h)
{
	for (int i = 0; i < PARTS; i++) {
		int err = 0;

		h->seen[i].fd = h->fd[i];
		h->p[i] = mmap(NULL, T_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, h->fd[i], 0);
		if (h->p[i] == MAP_FAILED)
			return -errno;
		if (self->drm >= 0)
			err = prime_import(self->drm, h->fd[i], &h->handle[i]);
		if (!err && self->edu >= 0)
			err = t_ioctl(self->edu, GDA_EDU_ATTACH, &h->seen[i]);
		if (err)
			return err;
	}
	return 0;
}

/* The device stores where the dead one's queue was. */
static int device_writes(FIXTURE_DATA(killed) *self, struct holder *h)
{
	uint8_t bytes[64];
	struct gda_edu_copy cmd = {
		.iova = h->seen[SQ].iova, .data = (uintptr_t)bytes, .length = sizeof(bytes),
		.flags = GDA_EDU_WRITE,
	};
	int err;

	if (self->edu < 0)
		return 0;
	memset(bytes, 0x4f, sizeof(bytes));
	err = t_ioctl(self->edu, GDA_EDU_COPY, &cmd);
	return err ? err : t_all(h->p[SQ], 0x4f, sizeof(bytes)) ? 0 : -EBADMSG;
}

/* In an order that differs from time to time. */
static int let_go(FIXTURE_DATA(killed) *self, struct holder *h, unsigned int order)
{
	int err = 0;

	for (unsigned int step = order; step < order + 4; step++) {
		for (int i = 0; i < PARTS; i++) {
			struct gda_edu_detach cmd = { .id = h->seen[i].id };

			if (step % 4 == 0)
				err |= munmap(h->p[i], T_PAGE);
			else if (step % 4 == 1)
				err |= close(h->fd[i]);
			else if (step % 4 == 2 && self->drm >= 0)
				err |= gem_close(self->drm, h->handle[i]);
			else if (step % 4 == 3 && self->edu >= 0)
				err |= t_ioctl(self->edu, GDA_EDU_DETACH, &cmd);
		}
	}
	return err;
}

/* Its objects are gone, though not what others hold: 0 or -ETIMEDOUT. */
static int settle_held(const struct t_objects *base)
{
	uint64_t end = t_now() + T_WAIT_NS;
	struct t_objects now;

	while (t_now() < end) {
		int err = t_objects_read(&now);

		if (err)
			return err;
		if (now.n[T_CONTEXTS] == base->n[T_CONTEXTS] && now.n[T_QPS] == base->n[T_QPS] &&
		    now.n[T_MRS] == base->n[T_MRS] && now.n[T_KEYS] == base->n[T_KEYS])
			return now.n[T_PAGES] > base->n[T_PAGES] ? 0 : -ESTALE;
		t_sleep_ns(T_NS / 500);
	}
	return -ETIMEDOUT;
}

static pid_t start(int buf, int *sock)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		_exit(victim(pair[1], buf));
	}
	close(pair[1]);
	*sock = pair[0];
	return pid;
}

/* As long as $GDA_STRESS wants. */
TEST_F_TIMEOUT(killed, E4_K6_M11_while_moved_and_held, 36000)
{
	struct t_mover m = { .test = self->test, .buf = self->buf, .pause = T_NS / 1000 };
	unsigned long rounds = t_stress(ROUNDS);

	TH_LOG("GDA_SEED=%llu, vgem %s, edu %s", (unsigned long long)self->seed,
	       self->drm < 0 ? "no" : "yes", self->edu < 0 ? "no" : "yes");
	ASSERT_EQ(0, t_mover_start(&m));
	for (unsigned long i = 0; i < rounds; i++) {
		struct holder h = { 0 };
		struct t_objects now;
		int sock;
		pid_t pid = start(self->buf, &sock);

		ASSERT_LT(0, pid);
		for (int k = 0; k < PARTS; k++) {
			h.fd[k] = t_recv_fd(sock);
			ASSERT_LE(0, h.fd[k]) TH_LOG("round %lu", i);
		}
		ASSERT_OK(hold(self, &h)) TH_LOG("round %lu", i);
		t_sleep_ns(t_random(&self->seed) % (T_NS / 33));
		kill(pid, SIGKILL);
		ASSERT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS)) TH_LOG("round %lu", i);
		ASSERT_OK(settle_held(&t_base)) TH_LOG("round %lu", i);
		if (i % 8 == 0)
			ASSERT_OK(device_writes(self, &h)) TH_LOG("round %lu", i);
		memset(h.p[DB], 0xff, T_PAGE);
		ASSERT_EQ(0, let_go(self, &h, (unsigned int)i)) TH_LOG("round %lu", i);
		ASSERT_OK(t_objects_settle(&t_base, &now)) TH_LOG("round %lu", i);
		close(sock);
	}
	t_mover_stop(&m);
	EXPECT_EQ(0, m.err);
	EXPECT_EQ(0, m.changed);
	EXPECT_LT(0, m.moves);
	TH_LOG("%lu killed, %lu moves", rounds, m.moves);
}

/* Killed in turn: who holds the device's mapping, and then who owns the queue. */
TEST_F(killed, E4_M11_who_holds)
{
	unsigned long rounds = t_stress(5);

	for (unsigned long i = 0; i < rounds; i++) {
		struct t_objects now;
		int sock;
		pid_t pid, owner = start(self->buf, &sock);

		ASSERT_LT(0, owner);
		pid = fork();
		if (!pid) {
			struct holder h = { 0 };

			for (int k = 0; k < PARTS; k++)
				h.fd[k] = t_recv_fd(sock);
			/* files of its own: no other process is to hold what it attached */
			self->drm = self->drm < 0 ? -1 : vgem_open();
			self->edu = open("/dev/gda_edu", O_RDWR | O_CLOEXEC);
			if (hold(self, &h))
				_exit(1);
			for (;;)
				device_writes(self, &h);
		}
		ASSERT_LT(0, pid);
		t_sleep_ns(T_NS / 5 + t_random(&self->seed) % (T_NS / 4));
		kill(i & 1 ? pid : owner, SIGKILL);
		t_sleep_ns(t_random(&self->seed) % (T_NS / 20));
		kill(i & 1 ? owner : pid, SIGKILL);
		EXPECT_EQ(128 + SIGKILL, t_reap(owner, T_WAIT_NS));
		EXPECT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS));
		close(sock);
		ASSERT_OK(t_objects_settle(&t_base, &now)) TH_LOG("round %lu", i);
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md O15: the pages of queues count to RLIMIT_MEMLOCK of their user, to the page,
 * from when they are made until the last mapping, dma-buf or process lets go of them.
 *
 * Each test is carried out by an ordinary user in a child. How many pages that user has
 * left is measured from outside of the queues: by registering that many, and one more.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "gda_fixture.h"
#include "move.h"

#define LIMIT	16U		/* pages: 64 KiB */
#define DEEP	65536U		/* entries: 4 MiB */
#define ENTRIES	64U		/* in a page */

T_FIXTURE(memlock);

static int limit(uint64_t pages)
{
	struct rlimit rl = { .rlim_cur = pages * T_PAGE, .rlim_max = pages * T_PAGE };

	return setrlimit(RLIMIT_MEMLOCK, &rl) ? -errno : 0;
}

/* A context by which an ordinary user with so many pages measures its room, or -errno. */
static int tenant(uint64_t pages)
{
	int err = limit(pages);

	if (!err)
		err = t_drop(true);
	return err ? err : t_context();
}

/* The pages that the user can still lock, of LIMIT at most; -1 if that cannot be said. */
static int room_now(int probe)
{
	uint8_t *p = t_pages((LIMIT + 1) * T_PAGE);
	struct t_mr mr;
	int n, err = -ENOMEM;

	for (n = LIMIT + 1; p && n > 0; n--) {
		err = t_mr_reg(probe, p, n * T_PAGE, GDA_ACCESS_ALL, &mr);
		if (err != -ENOMEM)
			break;
	}
	if (n && (err || t_destroy(probe, mr.handle)))
		n = -1;
	munmap(p, (LIMIT + 1) * T_PAGE);
	return n;
}

/* Does the user have just @pages left? Freed pages may take a moment to count. */
static bool room(int probe, int pages)
{
	uint64_t end = t_now() + T_WAIT_NS;
	int n;

	while ((n = room_now(probe)) < pages && n >= 0 && t_now() < end)
		t_sleep_ns(T_NS / 100);
	return n == pages;
}

static int export_cq(int fd, const struct gda_cq_create *cq)
{
	struct gda_region_export cmd = {
		.size = sizeof(cmd), .handle = cq->handle, .type = GDA_REGION_CQ,
	};
	int err = t_ioctl(fd, GDA_IOC_REGION_EXPORT, &cmd);

	return err ? err : cmd.fd;
}

/* These objects took 16 GiB a context before they were charged. */
T_CHILD_TEST(memlock, O15_deep_queues_are_refused)
{
	struct gda_cq_create cq, small;
	struct gda_qp_create qp;
	int fd = tenant(LIMIT), err = 0, n;

	CHECK(fd >= 0);
	for (n = 0; n < 16 && !err; n++)
		err = t_cq_create(fd, 0, DEEP, &cq);
	CHECK(n == 1 && err == -ENOMEM);
	CHECK(!t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &small));
	CHECK(t_qp_create(fd, small.handle, DEEP / 2, &qp) == -ENOMEM);
	/* what fits is made all the same */
	CHECK(!t_qp_create(fd, small.handle, 256, &qp));
	CHECK(!t_destroy(fd, qp.handle) && !t_destroy(fd, small.handle));
	CHECK(room(fd, LIMIT));
	close(fd);
	return 0;
}

/* Each kind of page, and what a creation that fails gives back. */
T_CHILD_TEST(memlock, O15_to_the_page)
{
	struct gda_counter_create count = { .size = sizeof(count) };
	struct gda_cq_create one, ring, more;
	struct gda_qp_create qp, none;
	int probe = tenant(LIMIT), fd = t_context();
	struct t_mr mr;

	CHECK(probe >= 0 && fd >= 0 && room(probe, LIMIT));
	CHECK(!t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &one) && room(probe, 15));
	/* four of entries, one of records, which has space for others */
	CHECK(!t_cq_create(fd, 0, 4 * ENTRIES, &ring) && room(probe, 10));
	CHECK(!t_cq_create(fd, GDA_CQ_WRITABLE, ENTRIES, &more) && room(probe, 9));
	/* two of slots, one of doorbells */
	CHECK(!t_qp_create(fd, one.handle, 2 * ENTRIES, &qp) && room(probe, 6));
	CHECK(!t_ioctl(fd, GDA_IOC_COUNTER_CREATE, &count) && room(probe, 5));
	CHECK(!t_ioctl(fd, GDA_IOC_COUNTER_CREATE, &count) && room(probe, 5));
	CHECK(t_qp_create(fd, ring.handle, 8 * ENTRIES, &none) == -ENOMEM && room(probe, 5));
	CHECK(!t_destroy(fd, qp.handle) && room(probe, 8));
	CHECK(!t_shutdown(fd) && room(probe, LIMIT));
	close(fd);
	/* entries find room and the record does not */
	fd = t_context();
	CHECK(fd >= 0 && !t_mr_new(probe, 12 * T_PAGE, GDA_ACCESS_ALL, &mr));
	for (int i = 0; i < 100; i++)
		CHECK(t_cq_create(fd, 0, 4 * ENTRIES, &ring) == -ENOMEM);
	CHECK(room(probe, 4));
	t_mr_free(probe, &mr);
	CHECK(room(probe, LIMIT));
	close(fd);
	return 0;
}

/* A mapping outlives its object, and keeps its file open. */
T_CHILD_TEST(memlock, O15_until_the_last_mapping)
{
	int probe = tenant(LIMIT), fd = t_context();
	struct gda_cq_create cq;
	uint8_t *p;

	CHECK(probe >= 0 && fd >= 0 && !t_cq_create(fd, 0, 4 * ENTRIES, &cq));
	p = t_map(fd, &cq.cq);
	CHECK(p != MAP_FAILED && !t_touch_read(p));
	CHECK(!t_destroy(fd, cq.handle) && room(probe, 12));
	munmap(p, 4 * T_PAGE);
	CHECK(room(probe, LIMIT));
	CHECK(!t_cq_create(fd, 0, 4 * ENTRIES, &cq));
	p = t_map(fd, &cq.cq);
	CHECK(p != MAP_FAILED);
	close(fd);
	CHECK(room(probe, 11));
	munmap(p, 4 * T_PAGE);
	CHECK(room(probe, LIMIT));
	return 0;
}

/* A child's copy of a mapping is the last one. */
T_CHILD_TEST(memlock, O15_until_a_child_ends)
{
	int probe = tenant(LIMIT), fd = t_context(), until[2];
	struct gda_cq_create cq;
	uint8_t *p;
	pid_t pid;
	char c;

	CHECK(probe >= 0 && fd >= 0 && !t_cq_create(fd, 0, 4 * ENTRIES, &cq));
	p = t_map(fd, &cq.cq);
	CHECK(p != MAP_FAILED && !t_touch_read(p) && !pipe(until));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(fd);
		close(until[1]);
		_exit(read(until[0], &c, 1) != 0);
	}
	CHECK(!t_destroy(fd, cq.handle));
	close(fd);
	munmap(p, 4 * T_PAGE);
	CHECK(room(probe, 12));
	close(until[1]);
	CHECK(t_reap(pid, T_WAIT_NS) == 0 && room(probe, LIMIT));
	return 0;
}

/* A dma-buf outlives its context, and a mapping of it the file descriptor. */
T_CHILD_TEST(memlock, O15_until_the_last_dmabuf)
{
	int probe = tenant(LIMIT), fd = t_context(), buf;
	struct gda_cq_create cq;
	uint8_t *p;

	CHECK(probe >= 0 && fd >= 0 && !t_cq_create(fd, 0, 4 * ENTRIES, &cq));
	buf = export_cq(fd, &cq);
	CHECK(buf >= 0 && room(probe, 11));
	close(fd);
	CHECK(room(probe, 12));
	p = mmap(NULL, 4 * T_PAGE, PROT_READ, MAP_SHARED, buf, 0);
	CHECK(p != MAP_FAILED);
	close(buf);
	CHECK(room(probe, 12));
	munmap(p, 4 * T_PAGE);
	CHECK(room(probe, LIMIT));
	return 0;
}

static int measure(void *arg)
{
	const int *pages = arg;
	int probe = tenant(LIMIT);

	CHECK(probe >= 0 && room(probe, *pages));
	close(probe);
	return 0;
}

static int give_away(void *arg)
{
	const int *sock = arg;
	struct gda_cq_create cq;
	int fd = tenant(LIMIT), buf;

	CHECK(fd >= 0 && !t_cq_create(fd, 0, 4 * ENTRIES, &cq));
	buf = export_cq(fd, &cq);
	CHECK(buf >= 0 && !t_send_fd(*sock, buf));
	return 0;
}

/* Another user holds the last pages of a process that is gone. */
TEST_F(memlock, O15_until_another_user_lets_go)
{
	int sock[2], pages = LIMIT, buf;

	ASSERT_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	ASSERT_EQ(0, t_in_child(give_away, &sock[1]));
	buf = t_recv_fd(sock[0]);
	ASSERT_GE(buf, 0);
	pages = LIMIT - 4;
	EXPECT_EQ(0, t_in_child(measure, &pages));
	close(buf);
	pages = LIMIT;
	EXPECT_EQ(0, t_in_child(measure, &pages));
	close(sock[0]);
	close(sock[1]);
}

/* Make queues until that is refused, say how, and keep them until the other end closes. */
static int take_all(int tell, int until)
{
	int fd = tenant(LIMIT), err = 0, n;
	struct gda_cq_create cq;
	char c;

	for (n = 0; fd >= 0 && n < 64 && !err; n++)
		err = t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq);
	c = (char)-err;
	if (write(tell, &c, 1) != 1)
		return 1;
	return read(until, &c, 1) != 0;
}

/* Processes of a user share its limit; those that are killed give it back. */
TEST_F(memlock, O15_is_the_users)
{
	int told[2], until[2], pages = LIMIT;
	struct t_objects now;
	pid_t pid[4];
	char c;

	ASSERT_EQ(0, pipe(told) | pipe(until));
	for (int i = 0; i < 4; i++) {
		pid[i] = fork();
		ASSERT_GE(pid[i], 0);
		if (!pid[i]) {
			close(until[1]);
			_exit(take_all(told[1], until[0]));
		}
		EXPECT_EQ(1, read(told[0], &c, 1));
		EXPECT_EQ(ENOMEM, c);
	}
	EXPECT_OK(t_objects_read(&now));
	EXPECT_EQ(LIMIT, now.n[T_PAGES] - t_base.n[T_PAGES]);
	TH_LOG("4 processes of a user with %u KiB: %ld pages of queues", LIMIT * 4,
	       now.n[T_PAGES] - t_base.n[T_PAGES]);
	kill(pid[0], SIGKILL);
	EXPECT_EQ(128 + SIGKILL, t_reap(pid[0], T_WAIT_NS));
	close(until[1]);
	for (int i = 1; i < 4; i++)
		EXPECT_EQ(0, t_reap(pid[i], T_WAIT_NS));
	EXPECT_EQ(0, t_in_child(measure, &pages));
	close(until[0]);
	close(told[0]);
	close(told[1]);
}

/* Root creates them, user nobody destroys them; and CAP_IPC_LOCK is above the limit. */
T_CHILD_TEST(memlock, O15_ipc_lock_is_exempt)
{
	struct gda_cq_create cq;
	int probe, fd = t_context();

	CHECK(fd >= 0 && !limit(LIMIT) && !t_cq_create(fd, 0, DEEP, &cq));
	probe = tenant(LIMIT);
	CHECK(probe >= 0 && room(probe, LIMIT));
	CHECK(!t_destroy(fd, cq.handle) && room(probe, LIMIT));
	CHECK(t_cq_create(fd, 0, DEEP, &cq) == -ENOMEM);
	CHECK(!t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq) && room(probe, LIMIT - 1));
	close(fd);
	CHECK(room(probe, LIMIT));
	return 0;
}

/* Has this process used a capability? PF_SUPERPRIV of the flags in its stat file. */
static bool used_capability(void)
{
	unsigned int flags = 0;
	FILE *f = fopen("/proc/self/stat", "re");

	if (!f || fscanf(f, "%*d %*s %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
		flags = 0x100;
	if (f)
		fclose(f);
	return flags & 0x100;
}

/* Every question may be an entry in an audit log. */
T_CHILD_TEST(memlock, O15_ipc_lock_is_asked_above_the_limit)
{
	struct gda_cq_create cq;
	int fd;

	CHECK(!limit(LIMIT));
	CHECK(!used_capability());
	fd = t_context();
	CHECK(fd >= 0 && !t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq));
	CHECK(!used_capability());
	CHECK(!t_cq_create(fd, 0, DEEP, &cq));
	CHECK(used_capability());
	close(fd);
	return 0;
}

/* Entries in memory of the caller cost no page, their record does. */
static int lent(void *arg)
{
	const int *buf = arg;
	struct gda_cq_create cq = {
		.size = sizeof(cq), .flags = GDA_CQ_DMABUF, .depth = 1024,
		.cq_memory = { .fd = *buf },
	};
	int fd = tenant(LIMIT);

	CHECK(fd >= 0 && !t_ioctl(fd, GDA_IOC_CQ_CREATE, &cq) && room(fd, LIMIT - 1));
	CHECK(!t_destroy(fd, cq.handle) && room(fd, LIMIT));
	close(fd);
	return 0;
}

TEST_F(memlock, O15_memory_of_the_caller)
{
	int test = open("/dev/gda_test", O_RDWR | O_CLOEXEC);
	int buf = t_test_buffer(test, 1024 * 64, 0);

	ASSERT_GE(buf, 0);
	EXPECT_EQ(0, t_in_child(lent, &buf));
	close(buf);
	close(test);
}

/* Queues as gda_qp_create() makes them by default, at the usual limit of 8 MiB. */
static int usual(void *arg)
{
	int fd = tenant((8UL << 20) / T_PAGE), err = 0, n, *out = arg;
	struct gda_cq_create cq;
	struct gda_qp_create qp;

	CHECK(fd >= 0);
	for (n = 0; n < 1000 && !err; n++) {
		err = t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq);
		if (!err)
			err = t_qp_create(fd, cq.handle, 256, &qp);
	}
	CHECK(err == -ENOMEM && write(*out, &n, sizeof(n)) == sizeof(n));
	close(fd);
	return 0;
}

TEST_F(memlock, O15_usual_limit_has_room)
{
	int told[2], n;

	ASSERT_EQ(0, pipe(told));
	ASSERT_EQ(0, t_in_child(usual, &told[1]));
	ASSERT_EQ((ssize_t)sizeof(n), read(told[0], &n, sizeof(n)));
	TH_LOG("%d queue pairs of default depth in 8 MiB", n - 1);
	EXPECT_LT(400, n);
	close(told[0]);
	close(told[1]);
}

TEST_HARNESS_MAIN

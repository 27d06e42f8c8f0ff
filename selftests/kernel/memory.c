// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory that is registered: SECURITY.md K7 (of every kind there is), K9 (fork and
 * copy on write), K10 (its owner gone first), K8 (given back after every end).
 */
#include <signal.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include "gda_fixture.h"

#define HUGE	(2UL << 20)

FIXTURE(memory) {
	struct t_end end[2];
};

T_SETUP(memory)
{
	ASSERT_OK(t_pair_open(self->end, 64, HUGE + 2 * T_PAGE));
}

T_TEARDOWN(memory)
{
	t_pair_close(self->end);
}

/* Register @p in context 1, write to all of it and read it back, give it back. */
static int use(FIXTURE_DATA(memory) *self, void *p, size_t len)
{
	struct t_end *a = &self->end[0];
	struct t_mr mr;
	struct t_wr wr;
	int err = t_mr_reg(self->end[1].fd, p, len, GDA_ACCESS_ALL, &mr);

	if (err)
		return err;
	memset(a->mr.addr, 0x3c, len);
	wr = t_wr_write(&a->mr, 0, &mr, 0, (uint32_t)len);
	err = t_run(&a->qp, &wr, NULL);
	if (!err && !t_all(p, 0x3c, len))
		err = -EBADMSG;
	memset(p, 0x4d, len);
	wr = t_wr_read(&a->mr, 0, &mr, 0, (uint32_t)len);
	if (!err)
		err = t_run(&a->qp, &wr, NULL);
	if (!err && !t_all(a->mr.addr, 0x4d, len))
		err = -EBADMSG;
	t_destroy(self->end[1].fd, mr.handle);
	return err;
}

TEST_F(memory, K7_anonymous)
{
	uint8_t *p = t_pages(HUGE);

	EXPECT_OK(use(self, p, HUGE));
	EXPECT_OK(use(self, p + 1, T_PAGE));
	EXPECT_OK(use(self, p + T_PAGE - 1, 2));
	EXPECT_OK(use(self, p, 1));
	munmap(p, HUGE);
}

/* Never touched, so behind it is the one page of zeroes: it must not be written. */
TEST_F(memory, K7_zero_page)
{
	uint8_t *p = t_pages(4 * T_PAGE), *q = t_pages(T_PAGE);
	struct t_mr mr;
	struct t_wr wr;

	EXPECT_EQ(0, p[0] | p[T_PAGE] | q[0]);
	EXPECT_OK(use(self, p, 4 * T_PAGE));
	EXPECT_TRUE(t_all(q, 0, T_PAGE));
	/* Registered for reading, then written by its owner: what is read is the new. */
	munmap(p, 4 * T_PAGE);
	p = t_pages(T_PAGE);
	EXPECT_EQ(0, p[0]);
	ASSERT_OK(t_mr_reg(self->end[1].fd, p, T_PAGE, GDA_ACCESS_REMOTE_READ, &mr));
	memset(p, 0x66, T_PAGE);
	wr = t_wr_read(&self->end[0].mr, 0, &mr, 0, T_PAGE);
	ASSERT_OK(t_run(&self->end[0].qp, &wr, NULL));
	EXPECT_TRUE(t_all(self->end[0].mr.addr, 0x66, T_PAGE));
	t_destroy(self->end[1].fd, mr.handle);
	munmap(p, T_PAGE);
	munmap(q, T_PAGE);
}

TEST_F(memory, K7_stack_and_data)
{
	static uint8_t data[3 * T_PAGE_MOST];
	uint8_t stack[3 * T_PAGE_MOST];

	EXPECT_OK(use(self, stack + 5, sizeof(stack) - 9));
	EXPECT_OK(use(self, data + 5, sizeof(data) - 9));
}

TEST_F(memory, K7_transparent_huge_page)
{
	uint8_t *room = t_pages(2 * HUGE);
	uint8_t *p = (uint8_t *)(((uintptr_t)room + HUGE - 1) & ~(HUGE - 1));

	madvise(p, HUGE, MADV_HUGEPAGE);
	memset(p, 1, HUGE);
	EXPECT_OK(use(self, p, HUGE));
	EXPECT_OK(use(self, p + T_PAGE + 7, T_PAGE));
	munmap(room, 2 * HUGE);
}

TEST_F(memory, K7_hugetlb)
{
	FILE *f = fopen("/proc/sys/vm/nr_hugepages", "w");
	uint8_t *p;

	ASSERT_NE(NULL, f);
	fprintf(f, "4\n");
	fclose(f);
	p = mmap(NULL, HUGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_OK(use(self, p, HUGE));
	EXPECT_OK(use(self, p + T_PAGE + 7, T_PAGE));
	munmap(p, HUGE);
	p = mmap(NULL, HUGE, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_OK(use(self, p, HUGE));
	munmap(p, HUGE);
}

TEST_F(memory, K7_shared_memory)
{
	int fd = memfd_create("gda", MFD_CLOEXEC), id;
	uint8_t *p;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ftruncate(fd, (off_t)HUGE));
	p = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_OK(use(self, p, HUGE));
	munmap(p, HUGE);
	close(fd);

	p = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_OK(use(self, p, HUGE));
	munmap(p, HUGE);

	id = shmget(IPC_PRIVATE, HUGE, IPC_CREAT | 0600);
	ASSERT_GE(id, 0);
	p = shmat(id, NULL, 0);
	ASSERT_NE((void *)-1, p);
	EXPECT_OK(use(self, p, HUGE));
	shmdt(p);
	shmctl(id, IPC_RMID, NULL);
}

/* A file in memory is shared memory; past its end there is nothing to pin. */
TEST_F(memory, K7_file_in_memory)
{
	int fd = open("/var/gda-file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint8_t *p;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ftruncate(fd, (off_t)HUGE));
	p = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_OK(use(self, p, HUGE));
	EXPECT_EQ(-EFAULT, use(self, p + HUGE, T_PAGE));
	munmap(p, 2 * HUGE);
	close(fd);
	unlink("/var/gda-file");
}

/*
 * A file whose file system wants to know which pages are dirty (here 9p): since 6.5 the
 * kernel does not pin such pages for long and for writing. To be read they may be, and a
 * private copy is anonymous memory.
 */
TEST_F(memory, K7_file)
{
	char name[] = "build/gda-file.XXXXXX";
	int fd = mkstemp(name), err;
	struct t_mr mr;
	uint8_t *p;

	if (fd < 0)
		SKIP(return, "no file can be made here");
	ASSERT_EQ(0, ftruncate(fd, 4 * T_PAGE));
	p = mmap(NULL, 4 * T_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	err = t_mr_reg(self->end[1].fd, p, 4 * T_PAGE, GDA_ACCESS_ALL, &mr);
	EXPECT_EQ(t_kernel() < 6005 ? 0 : -EFAULT, err);
	if (!err)
		EXPECT_OK(t_destroy(self->end[1].fd, mr.handle));
	ASSERT_OK(t_mr_reg(self->end[1].fd, p, 4 * T_PAGE, GDA_ACCESS_REMOTE_READ, &mr));
	EXPECT_OK(t_destroy(self->end[1].fd, mr.handle));
	munmap(p, 4 * T_PAGE);
	p = mmap(NULL, 4 * T_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_OK(use(self, p, 4 * T_PAGE));
	munmap(p, 4 * T_PAGE);
	close(fd);
	unlink(name);
}

/* Pages that the kernel itself cannot reach, and so neither can an executor. */
TEST_F(memory, K7_secret)
{
	int fd = (int)syscall(447 /* memfd_secret */, 0);
	struct t_mr mr;
	uint8_t *p;

	if (fd < 0)
		SKIP(return, "no memfd_secret (secretmem.enable=1)");
	ASSERT_EQ(0, ftruncate(fd, T_PAGE));
	p = mmap(NULL, T_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(-EFAULT, t_mr_reg(self->end[1].fd, p, T_PAGE, GDA_ACCESS_ALL, &mr));
	EXPECT_EQ(-EFAULT, t_mr_reg(self->end[1].fd, p, T_PAGE, 0, &mr));
	munmap(p, T_PAGE);
	close(fd);
}

TEST_F(memory, K7_refused)
{
	int fd = self->end[1].fd, mem;
	uint8_t *p = t_pages(4 * T_PAGE), *io;
	struct t_mr mr;

	ASSERT_EQ(0, mprotect(p + T_PAGE, T_PAGE, PROT_NONE));
	ASSERT_EQ(0, munmap(p + 3 * T_PAGE, T_PAGE));
	EXPECT_EQ(-EFAULT, t_mr_reg(fd, p + T_PAGE, T_PAGE, GDA_ACCESS_ALL, &mr));
	EXPECT_EQ(-EFAULT, t_mr_reg(fd, p + T_PAGE, T_PAGE, 0, &mr));
	EXPECT_EQ(-EFAULT, t_mr_reg(fd, p, 2 * T_PAGE, 0, &mr));
	EXPECT_EQ(-EFAULT, t_mr_reg(fd, p + 3 * T_PAGE, 1, 0, &mr));
	EXPECT_EQ(-EFAULT, t_mr_reg(fd, p + 2 * T_PAGE, T_PAGE + 1, 0, &mr));
	munmap(p, 3 * T_PAGE);

	/* The kernel's vsyscall page, and pages that are not the process's memory. */
	EXPECT_EQ(-EFAULT, t_mr_reg_raw(fd, 0xffffffffff600000ULL, T_PAGE, 0, &mr));
	/* ... and the kernel's own. */
	EXPECT_EQ(-EFAULT, t_mr_reg_raw(fd, 0xffff888000000000ULL, T_PAGE, 0, &mr));
	EXPECT_EQ(-EFAULT, t_mr_reg_raw(fd, 0xffffffff81000000ULL, T_PAGE, GDA_ACCESS_ALL, &mr));
	mem = open("/dev/mem", O_RDONLY | O_CLOEXEC);
	io = mmap(NULL, T_PAGE, PROT_READ, MAP_SHARED, mem, 0xfee00000);
	if (mem >= 0 && io != MAP_FAILED) {
		EXPECT_EQ(-EFAULT, t_mr_reg(fd, io, T_PAGE, 0, &mr));
		munmap(io, T_PAGE);
	}
	close(mem);
}

/* Memory that one may only read, private or shared: never for writing. */
TEST_F(memory, K7_read_only)
{
	int ctx = self->end[1].fd, fd = memfd_create("gda", MFD_CLOEXEC);
	struct t_end *a = &self->end[0];

	ASSERT_EQ(0, ftruncate(fd, T_PAGE));
	for (int shared = 0; shared < 2; shared++) {
		uint8_t *p = mmap(NULL, T_PAGE, PROT_READ, shared ? MAP_SHARED : MAP_PRIVATE,
				  fd, 0);
		struct t_mr mr = { 0 };
		struct t_wr wr;
		int err;

		ASSERT_NE(MAP_FAILED, p);
		ASSERT_EQ(4, pwrite(fd, "abcd", 4, 0));
		EXPECT_EQ(-EFAULT, t_mr_reg(ctx, p, T_PAGE, GDA_ACCESS_LOCAL_WRITE, &mr));
		err = t_mr_reg(ctx, p, T_PAGE, GDA_ACCESS_REMOTE_READ, &mr);
		/* Before 6.2 shared read-only memory cannot be pinned for long. */
		EXPECT_TRUE(err == 0 || (shared && t_kernel() < 6002 && err == -EFAULT))
			TH_LOG("shared %d: %d", shared, err);
		if (!err) {
			wr = t_wr_read(&a->mr, 0, &mr, 0, 4);
			EXPECT_OK(t_run(&a->qp, &wr, NULL));
			EXPECT_EQ(0, memcmp("abcd", a->mr.addr, 4));
			t_destroy(ctx, mr.handle);
		}
		munmap(p, T_PAGE);
	}
	close(fd);
}

/* Unmapped and mapped anew: the MR stays with the pages that it pinned. */
TEST_F(memory, K7_unmapped_later)
{
	struct t_end *a = &self->end[0];
	uint8_t *p = t_pages(T_PAGE), *q;
	struct t_mr mr;
	struct t_wr wr;

	memset(p, 0x10, T_PAGE);
	ASSERT_OK(t_mr_reg(self->end[1].fd, p, T_PAGE, GDA_ACCESS_ALL, &mr));
	ASSERT_EQ(0, munmap(p, T_PAGE));
	q = mmap(p, T_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0);
	ASSERT_EQ(p, q);
	memset(a->mr.addr, 0x20, T_PAGE);
	wr = t_wr_write(&a->mr, 0, &mr, 0, T_PAGE);
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
	EXPECT_TRUE(t_all(q, 0, T_PAGE));
	EXPECT_OK(t_destroy(self->end[1].fd, mr.handle));
	munmap(q, T_PAGE);
}

/* The parent registered, forks, and writes: what is written arrives at the parent. */
TEST_F(memory, K9_parent_sees_the_write)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct t_wr wr;
	int pipes[2];
	pid_t pid;

	memset(b->mr.addr, 0x01, T_PAGE);
	ASSERT_EQ(0, pipe(pipes));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		char c;
		int same;

		close(pipes[1]);
		if (read(pipes[0], &c, 1) != 1)
			_exit(10);
		/* The child has a copy from before. */
		same = t_all(b->mr.addr, 0x01, T_PAGE);
		b->mr.addr[0] = 0x99;
		_exit(!same);
	}
	memset(a->mr.addr, 0x02, T_PAGE);
	b->mr.addr[T_PAGE - 1] = 0x03;
	wr = t_wr_write(&a->mr, 0, &b->mr, 0, T_PAGE - 1);
	ASSERT_OK(t_run(&a->qp, &wr, NULL));
	EXPECT_TRUE(t_all(b->mr.addr, 0x02, T_PAGE - 1));
	EXPECT_EQ(0x03, b->mr.addr[T_PAGE - 1]);
	ASSERT_EQ(1, write(pipes[1], "x", 1));
	/* The child's last byte is its own, too: pinned pages are copied at fork. */
	b->mr.addr[T_PAGE - 1] = 0x01;
	EXPECT_EQ(0, t_reap(pid, T_WAIT_NS));
	EXPECT_EQ(0x02, b->mr.addr[0]);
	close(pipes[0]);
	close(pipes[1]);
}

/* The owner of the memory is gone, its context goes on in another process. */
TEST_F(memory, K10_owner_exits_first)
{
	struct t_end *a = &self->end[0];
	int pair[2], fd;
	struct t_qp mine, theirs = { 0 };
	struct t_mr mr;
	struct t_wr wr;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		int own = t_context();

		_exit(own < 0 || t_qp_open(&theirs, own, 16) ||
		      t_mr_new(own, 4 * T_PAGE, GDA_ACCESS_ALL, &mr) ||
		      write(pair[1], &theirs, sizeof(theirs)) != sizeof(theirs) ||
		      write(pair[1], &mr, sizeof(mr)) != sizeof(mr) ||
		      t_send_fd(pair[1], own));
	}
	ASSERT_EQ((ssize_t)sizeof(theirs), read(pair[0], &theirs, sizeof(theirs)));
	ASSERT_EQ((ssize_t)sizeof(mr), read(pair[0], &mr, sizeof(mr)));
	fd = t_recv_fd(pair[0]);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, t_reap(pid, T_WAIT_NS));

	theirs.fd = fd;
	ASSERT_OK(t_qp_open(&mine, a->fd, 16));
	ASSERT_OK(t_connect(&mine, &theirs));
	memset(a->mr.addr, 0x71, 4 * T_PAGE);
	wr = t_wr_write(&a->mr, 0, &mr, 0, 4 * T_PAGE);
	EXPECT_OK(t_run(&mine, &wr, NULL));
	memset(a->mr.addr, 0, 4 * T_PAGE);
	wr = t_wr_read(&a->mr, 0, &mr, 0, 4 * T_PAGE);
	EXPECT_OK(t_run(&mine, &wr, NULL));
	EXPECT_TRUE(t_all(a->mr.addr, 0x71, 4 * T_PAGE));
	EXPECT_OK(t_destroy(fd, mr.handle));
	close(fd);
	t_qp_close(&mine);
	close(pair[0]);
	close(pair[1]);
}

/* The same page in many MRs, and out again in another order. */
TEST_F(memory, K8_one_page_many_times)
{
	int fd = self->end[1].fd;
	uint8_t *p = t_pages(T_PAGE);
	struct t_mr mr[64];

	for (int i = 0; i < 64; i++) {
		ASSERT_OK(t_mr_reg(fd, p, T_PAGE, GDA_ACCESS_ALL, &mr[i]));
	}
	for (int i = 0; i < 64; i++) {
		ASSERT_OK(t_destroy(fd, mr[(i * 37) % 64].handle));
	}
	EXPECT_OK(use(self, p, T_PAGE));
	munmap(p, T_PAGE);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Rules of mmap(): SECURITY.md M1 (exactly the cookie, length and protection), M2 (no
 * cookie of another context), M3 (read only stays read only).
 */
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include "gda_fixture.h"

/* One region of each type that there is, and of each way to map it. */
enum { SQ, LONG_SQ, DBREC, DB, CQ, WRITABLE_CQ, RING, RING_REC, COUNTER, REGIONS };

static const char *const names[REGIONS] = {
	[SQ] = "sq of one page", [LONG_SQ] = "sq of many", [DBREC] = "dbrec", [DB] = "db",
	[CQ] = "cq", [WRITABLE_CQ] = "writable cq", [RING] = "ring",
	[RING_REC] = "consumer record", [COUNTER] = "counter",
};

static bool read_only(int i)
{
	return i == CQ || i == RING || i == COUNTER;
}

FIXTURE(mmap) {
	int fd;
	struct gda_region_info info[REGIONS];
};

T_SETUP(mmap)
{
	struct gda_counter_create count = { .size = sizeof(count) };
	struct gda_cq_create cq;
	struct gda_qp_create qp;

	self->fd = t_context();
	ASSERT_GE(self->fd, 0);
	ASSERT_OK(t_cq_create(self->fd, GDA_CQ_COLLAPSED, 1, &cq));
	ASSERT_OK(t_qp_create(self->fd, cq.handle, 64, &qp));
	self->info[SQ] = qp.sq;
	self->info[DBREC] = qp.dbrec;
	self->info[DB] = qp.db;
	self->info[CQ] = cq.cq;
	ASSERT_OK(t_cq_create(self->fd, GDA_CQ_COLLAPSED | GDA_CQ_WRITABLE, 1, &cq));
	ASSERT_OK(t_qp_create(self->fd, cq.handle, 1024, &qp));
	self->info[LONG_SQ] = qp.sq;
	self->info[WRITABLE_CQ] = cq.cq;
	ASSERT_OK(t_cq_create(self->fd, 0, 1024, &cq));
	self->info[RING] = cq.cq;
	self->info[RING_REC] = cq.dbrec;
	ASSERT_OK(t_ioctl(self->fd, GDA_IOC_COUNTER_CREATE, &count));
	self->info[COUNTER] = count.counter;
}

T_TEARDOWN(mmap)
{
	close(self->fd);
}

/* Map and unmap: 0 or the errno. */
static int try_map(int fd, uint64_t cookie, uint64_t length, int prot, int flags)
{
	void *p = mmap(NULL, length, prot, flags, fd, (off_t)cookie);

	if (p == MAP_FAILED)
		return errno;
	munmap(p, length);
	return 0;
}

static int rights(const struct gda_region_info *info)
{
	return info->map == GDA_MAP_RO ? PROT_READ : PROT_READ | PROT_WRITE;
}

/* Is there a region of this context that these two numbers name? */
static bool legal(FIXTURE_DATA(mmap) *self, uint64_t cookie, uint64_t length)
{
	for (int i = 0; i < REGIONS; i++)
		if (self->info[i].cookie == cookie && self->info[i].length == length)
			return true;
	return false;
}

TEST_F(mmap, M1_cookies_are_as_promised)
{
	for (int i = 0; i < REGIONS; i++) {
		const struct gda_region_info *info = &self->info[i];

		EXPECT_NE(0, info->cookie) TH_LOG("%s", names[i]);
		EXPECT_EQ(0, info->cookie % T_PAGE) TH_LOG("%s", names[i]);
		EXPECT_LT(info->cookie, 1ULL << 44) TH_LOG("%s", names[i]);
		EXPECT_NE(0, info->length) TH_LOG("%s", names[i]);
		EXPECT_EQ(0, info->length % T_PAGE) TH_LOG("%s", names[i]);
		EXPECT_LT(info->offset, info->length) TH_LOG("%s", names[i]);
		EXPECT_EQ(read_only(i) ? GDA_MAP_RO : GDA_MAP_RW, info->map)
			TH_LOG("%s", names[i]);
	}
	/* 64 slots of 64 bytes: a page, or less */
	EXPECT_EQ(T_PAGE > 64 * 64 ? T_PAGE : 64 * 64, self->info[SQ].length);
	EXPECT_EQ(1024 * 64, self->info[LONG_SQ].length);
	EXPECT_EQ(1024 * 64, self->info[RING].length);
	EXPECT_EQ(0, self->info[DBREC].offset % 64);
	EXPECT_EQ(0, self->info[DB].offset % 64);
	EXPECT_EQ(0, self->info[RING_REC].offset % 64);
	EXPECT_EQ(0, self->info[COUNTER].offset % 64);
	EXPECT_NE(self->info[DBREC].cookie, self->info[DB].cookie);
	/* what may not be written is in no page of what may */
	EXPECT_NE(self->info[COUNTER].cookie, self->info[DBREC].cookie);
	EXPECT_NE(self->info[COUNTER].cookie, self->info[RING_REC].cookie);
}

TEST_F(mmap, M1_as_told_works_again_and_again)
{
	for (int i = 0; i < REGIONS; i++) {
		const struct gda_region_info *info = &self->info[i];

		for (int k = 0; k < 20; k++) {
			ASSERT_EQ(0, try_map(self->fd, info->cookie, info->length,
					     rights(info), MAP_SHARED));
		}
		EXPECT_EQ(0, try_map(self->fd, info->cookie, info->length, PROT_READ,
				     MAP_SHARED));
		EXPECT_EQ(0, try_map(self->fd, info->cookie, info->length, PROT_NONE,
				     MAP_SHARED));
		EXPECT_EQ(0, try_map(self->fd, info->cookie, info->length, rights(info),
				     MAP_SHARED | MAP_POPULATE));
	}
}

TEST_F(mmap, M1_wrong_length_and_offset)
{
	static const int64_t dlen[] = { -1, 1, -2, 2, 15, 255, 1 << 20 };
	static const int64_t dcookie[] = { -1, 1, -2, 2, 1 << 10, 1 << 20 };

	for (int i = 0; i < REGIONS; i++) {
		const struct gda_region_info *info = &self->info[i];
		int prot = rights(info);

		for (size_t k = 0; k < ARRAY_SIZE(dlen); k++) {
			uint64_t len = info->length + (uint64_t)dlen[k] * T_PAGE;

			if ((int64_t)len <= 0 || (size_t)len != len)
				continue;
			EXPECT_EQ(EINVAL, try_map(self->fd, info->cookie, len, prot, MAP_SHARED))
				TH_LOG("%s, %+lld pages", names[i], (long long)dlen[k]);
		}
		EXPECT_EQ(EINVAL, try_map(self->fd, info->cookie, 0, prot, MAP_SHARED));
		for (size_t k = 0; k < ARRAY_SIZE(dcookie); k++) {
			uint64_t cookie = info->cookie + (uint64_t)dcookie[k] * T_PAGE;
			int err;

			if (legal(self, cookie, info->length))
				continue;
			err = try_map(self->fd, cookie, info->length, prot, MAP_SHARED);
			EXPECT_TRUE(err == ENXIO || err == EINVAL || err == EOVERFLOW)
				TH_LOG("%s, cookie %+lld pages: %d", names[i],
				       (long long)dcookie[k], err);
		}
	}
}

TEST_F(mmap, M1_cookies_that_are_none)
{
	const uint64_t cookies[] = {
		0, 1ULL << 44, (1ULL << 44) - T_PAGE, 1ULL << 52, 1ULL << 62,
		0x7fffffffffff0000ULL,
	};

	for (size_t i = 0; i < ARRAY_SIZE(cookies); i++) {
		int err = try_map(self->fd, cookies[i], T_PAGE, PROT_READ, MAP_SHARED);

		/* EINVAL comes from a C library of 32 bits. */
		EXPECT_TRUE(err == ENXIO || err == EOVERFLOW ||
			    (sizeof(long) < 8 && err == EINVAL))
			TH_LOG("%#llx: %d", (unsigned long long)cookies[i], err);
	}
	EXPECT_EQ(EINVAL, try_map(self->fd, self->info[SQ].cookie + 64, T_PAGE, PROT_READ,
				  MAP_SHARED));
}

TEST_F(mmap, M1_private_exec_and_write)
{
	for (int i = 0; i < REGIONS; i++) {
		const struct gda_region_info *info = &self->info[i];
		int prot = rights(info);

		EXPECT_EQ(EINVAL, try_map(self->fd, info->cookie, info->length, prot,
					  MAP_PRIVATE)) TH_LOG("%s", names[i]);
		EXPECT_EQ(EINVAL, try_map(self->fd, info->cookie, info->length, PROT_READ,
					  MAP_PRIVATE)) TH_LOG("%s", names[i]);
		EXPECT_EQ(EPERM, try_map(self->fd, info->cookie, info->length,
					 prot | PROT_EXEC, MAP_SHARED))
			TH_LOG("%s", names[i]);
		EXPECT_EQ(EPERM, try_map(self->fd, info->cookie, info->length,
					 PROT_READ | PROT_EXEC, MAP_SHARED))
			TH_LOG("%s", names[i]);
		if (info->map == GDA_MAP_RO) {
			EXPECT_EQ(EPERM, try_map(self->fd, info->cookie, info->length,
						 PROT_READ | PROT_WRITE, MAP_SHARED));
		}
	}
}

TEST_F(mmap, M1_never_executable_later)
{
	for (int i = 0; i < REGIONS; i++) {
		const struct gda_region_info *info = &self->info[i];
		void *p = t_map(self->fd, info);

		ASSERT_NE(MAP_FAILED, p);
		EXPECT_EQ(-1, mprotect(p, info->length, PROT_READ | PROT_EXEC))
			TH_LOG("%s", names[i]);
		EXPECT_EQ(EACCES, errno);
		munmap(p, info->length);
	}
}

/* A file opened for reading only cannot be mapped writable. */
TEST_F(mmap, M1_descriptor_open_for_reading)
{
	struct gda_bind bind = { .size = sizeof(bind) };
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	int fd = open("/dev/gda", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		SKIP(return, "reading alone is refused at open: errno %d", errno);
	ASSERT_OK(t_ioctl(fd, GDA_IOC_BIND, &bind));
	ASSERT_OK(t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq));
	ASSERT_OK(t_qp_create(fd, cq.handle, 64, &qp));
	EXPECT_EQ(EACCES, try_map(fd, qp.sq.cookie, qp.sq.length, PROT_READ | PROT_WRITE,
				  MAP_SHARED));
	/* For reading it is as good as any; mmap() drops VM_SHARED of such a file. */
	EXPECT_EQ(0, try_map(fd, cq.cq.cookie, cq.cq.length, PROT_READ, MAP_SHARED));
	EXPECT_EQ(0, try_map(fd, qp.sq.cookie, qp.sq.length, PROT_READ, MAP_SHARED));
	EXPECT_EQ(EINVAL, try_map(fd, cq.cq.cookie, cq.cq.length, PROT_READ, MAP_PRIVATE));
	close(fd);
}

TEST_F(mmap, M1_unbound_and_shut_down)
{
	int fd = t_open();

	ASSERT_GE(fd, 0);
	for (int i = 0; i < REGIONS; i++) {
		EXPECT_EQ(ENXIO, try_map(fd, self->info[i].cookie, self->info[i].length,
					 PROT_READ, MAP_SHARED)) TH_LOG("%s", names[i]);
	}
	close(fd);
	ASSERT_OK(t_shutdown(self->fd));
	for (int i = 0; i < REGIONS; i++) {
		int err = try_map(self->fd, self->info[i].cookie, self->info[i].length,
				  PROT_READ, MAP_SHARED);

		EXPECT_TRUE(err == ENXIO || err == ENODEV) TH_LOG("%s: %d", names[i], err);
	}
}

/* Every region's cookie, on a context that has nothing. */
static int foreign_fails(const struct gda_region_info *info, int fd)
{
	int bad = 0;

	for (int i = 0; i < REGIONS; i++) {
		bad += try_map(fd, info[i].cookie, info[i].length, PROT_READ,
			       MAP_SHARED) != ENXIO;
		bad += try_map(fd, info[i].cookie, info[i].length, rights(&info[i]),
			       MAP_SHARED) != ENXIO;
	}
	return bad;
}

TEST_F(mmap, M2_cookie_of_another_context)
{
	int fd = t_context();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, foreign_fails(self->info, fd));
	close(fd);
}

/* Numbers may coincide; then they name one's own memory, never the other's. */
TEST_F(mmap, M2_same_number_is_not_same_memory)
{
	const struct gda_region_info *info = &self->info[SQ];
	uint8_t *mine = t_map(self->fd, info), *theirs;
	struct t_qp qp[8];
	int fd = t_context();

	ASSERT_GE(fd, 0);
	ASSERT_NE(MAP_FAILED, mine);
	memset(mine, 0x5a, info->length);
	for (int i = 0; i < 8; i++) {
		ASSERT_OK(t_qp_open(&qp[i], fd, 64));
		for (size_t k = 0; k < 4096; k++) {
			ASSERT_EQ(0, qp[i].sq[k]);
		}
	}
	theirs = mmap(NULL, info->length, PROT_READ, MAP_SHARED, fd, (off_t)info->cookie);
	if (theirs != MAP_FAILED) {
		for (size_t k = 0; k < info->length; k++) {
			ASSERT_NE(0x5a, theirs[k]);
		}
		munmap(theirs, info->length);
	}
	for (int i = 0; i < 8; i++)
		t_qp_unmap(&qp[i]);
	close(fd);
	munmap(mine, info->length);
}

/* Runs after exec: fd 3 is the inherited context, the arguments are regions. */
static int after_exec(int argc, char **argv)
{
	struct gda_region_info info[REGIONS] = { 0 };
	int fd = t_context();
	int bad;

	if (fd < 0 || argc != 2 + 3 * REGIONS)
		return 100;
	for (int i = 0; i < REGIONS; i++) {
		info[i].cookie = strtoull(argv[2 + 3 * i], NULL, 0);
		info[i].length = strtoull(argv[3 + 3 * i], NULL, 0);
		info[i].map = (uint32_t)strtoul(argv[4 + 3 * i], NULL, 0);
	}
	bad = foreign_fails(info, fd);
	/* The inherited file is the context itself: its cookies go on working. */
	for (int i = 0; i < REGIONS; i++)
		bad += try_map(3, info[i].cookie, info[i].length, rights(&info[i]),
			       MAP_SHARED) != 0;
	return bad;
}

TEST_F(mmap, M2_after_fork_and_exec)
{
	char args[3 * REGIONS][24], *argv[3 + 3 * REGIONS] = { "mmap", "--after-exec" };
	pid_t pid;

	for (int i = 0; i < 3 * REGIONS; i++) {
		const struct gda_region_info *info = &self->info[i / 3];
		uint64_t v[] = { info->cookie, info->length, info->map };

		snprintf(args[i], sizeof(args[i]), "%#llx", (unsigned long long)v[i % 3]);
		argv[2 + i] = args[i];
	}
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		if (self->fd == 3)
			fcntl(3, F_SETFD, 0);
		else
			dup2(self->fd, 3);
		execv("/proc/self/exe", argv);
		_exit(101);
	}
	EXPECT_EQ(0, t_reap(pid, T_WAIT_NS));
}

TEST_F(mmap, M2_over_scm_rights)
{
	int pair[2];
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		int other, own, bad;

		close(self->fd);
		other = t_recv_fd(pair[1]);
		own = t_context();
		if (other < 0 || own < 0)
			_exit(100);
		bad = foreign_fails(self->info, own);
		for (int i = 0; i < REGIONS; i++)
			bad += try_map(other, self->info[i].cookie, self->info[i].length,
				       rights(&self->info[i]), MAP_SHARED) != 0;
		_exit(bad);
	}
	ASSERT_OK(t_send_fd(pair[0], self->fd));
	EXPECT_EQ(0, t_reap(pid, T_WAIT_NS));
	close(pair[0]);
	close(pair[1]);
}

static void stays_read_only(struct __test_metadata *_metadata, int fd,
			    const struct gda_region_info *info)
{
	uint8_t *p = t_map(fd, info), before[64], junk[64];
	struct iovec local = { .iov_base = junk, .iov_len = sizeof(junk) };
	struct iovec remote = { .iov_len = sizeof(junk) };
	struct t_mr mr;
	int mem, fds[2];

	ASSERT_NE(MAP_FAILED, p);
	memset(junk, 0x77, sizeof(junk));
	memcpy(before, p + info->offset, sizeof(before));

	EXPECT_EQ(-1, mprotect(p, info->length, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(p, info->length, PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(SIGSEGV, t_touch_write(p));

	remote.iov_base = p + info->offset;
	EXPECT_EQ(-1, process_vm_writev(getpid(), &local, 1, &remote, 1, 0));
	EXPECT_EQ(EFAULT, errno);
	mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	ASSERT_GE(mem, 0);
	EXPECT_EQ(-1, pwrite(mem, junk, sizeof(junk), (off_t)(uintptr_t)p));
	close(mem);

	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ((ssize_t)sizeof(junk), write(fds[1], junk, sizeof(junk)));
	EXPECT_EQ(-1, read(fds[0], p + info->offset, sizeof(junk)));
	EXPECT_EQ(EFAULT, errno);
	close(fds[0]);
	close(fds[1]);
	EXPECT_EQ(-EFAULT, t_mr_reg(fd, p, info->length, GDA_ACCESS_ALL, &mr));

	EXPECT_EQ(0, memcmp(before, p + info->offset, sizeof(before)));
	munmap(p, info->length);
}

TEST_F(mmap, M3_read_only_stays_read_only)
{
	for (int i = 0; i < REGIONS; i++)
		if (read_only(i))
			stays_read_only(_metadata, self->fd, &self->info[i]);
}

/* The map type is what the flag asked for, and only that flag. */
TEST_F(mmap, M3_writable_only_on_request)
{
	uint8_t *p = t_map(self->fd, &self->info[WRITABLE_CQ]);

	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(0, t_touch_write(p));
	ASSERT_EQ(0, mprotect(p, self->info[WRITABLE_CQ].length, PROT_READ));
	EXPECT_EQ(0, mprotect(p, self->info[WRITABLE_CQ].length, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, t_touch_write(p));
	munmap(p, self->info[WRITABLE_CQ].length);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--after-exec"))
		return after_exec(argc, argv);
	return test_harness_run(argc, argv);
}

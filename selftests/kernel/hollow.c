// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md O17: registering a range of addresses in which there is no memory. Its owner may lock
 * any amount of memory, and what is allocated must still follow what is there, not what was named.
 */
#include <sys/resource.h>
#include "gda_fixture.h"
#include "group.h"

#define MIB	(1UL << 20)
#define HUGE	(1UL << 38)		/* the longest MR: 512 MiB of page array */
#define HERE	(8 * MIB)		/* memory at its beginning, where there is any */
#define SPENT	(2 * MIB)		/* more than the array of HERE, and what a process needs */
#define ROUNDS	8

FIXTURE(hollow) {
	struct t_group group;
};

FIXTURE_VARIANT(hollow) {
	int prot;			/* of the range */
	bool file;			/* it maps a file that ends at HERE */
	bool here;			/* there is memory at its beginning */
};

FIXTURE_VARIANT_ADD(hollow, nothing) { .prot = PROT_NONE };
FIXTURE_VARIANT_ADD(hollow, some) { .prot = PROT_NONE, .here = true };
FIXTURE_VARIANT_ADD(hollow, file) { .prot = PROT_READ | PROT_WRITE, .file = true, .here = true };

T_SETUP(hollow)
{
	int err;

	err = t_group_open(&self->group, "+memory");
	if (err == -ENODEV)
		SKIP(return, "no cgroup v2");
	if (err == -EOPNOTSUPP)
		SKIP(return, "no controller for memory");
	ASSERT_OK(err);
}

T_TEARDOWN(hollow)
{
	t_group_close(&self->group);
}

/* A registration, and what became of it. */
struct hole {
	const char *dir;
	int prot;
	bool file, here;
	int told;
	struct answer {
		uint64_t best;		/* ns of the fastest registration */
		long before;		/* bytes that the group has before the first */
	} answer;
};

static char *map_hole(const struct hole *hole)
{
	int flags = MAP_NORESERVE | (hole->file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS);
	int fd = hole->file ? memfd_create("hollow", MFD_CLOEXEC) : -1;
	char *p;

	if (hole->file && (fd < 0 || ftruncate(fd, HERE)))
		return MAP_FAILED;
	p = mmap(NULL, HUGE, hole->prot, flags, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED || !hole->here)
		return p;
	if (mprotect(p, HERE, PROT_READ | PROT_WRITE))
		return MAP_FAILED;
	memset(p, 1, HERE);
	return p;
}

/* As nobody, who may lock any amount of memory; returns the line that failed. */
static int register_hole(void *arg)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct hole *hole = arg;
	struct answer *a = &hole->answer;
	struct t_mr mr;
	uint64_t start;
	char *p;
	int fd;

	CHECK(!t_group_enter(hole->dir));
	CHECK(!setrlimit(RLIMIT_MEMLOCK, &unlimited) && !t_drop(true));
	p = map_hole(hole);
	CHECK(p != MAP_FAILED);
	fd = t_context();
	CHECK(fd >= 0);
	a->before = t_group_get(hole->dir, "memory.current", NULL);
	a->best = UINT64_MAX;
	for (int i = 0; i < ROUNDS; i++) {
		start = t_now();
		CHECK(t_mr_reg(fd, p, HUGE, GDA_ACCESS_ALL, &mr) == -EFAULT);
		start = t_now() - start;
		a->best = start < a->best ? start : a->best;
	}
	/* what is there can be had, to the last page, and no more */
	if (hole->here) {
		CHECK(t_mr_reg(fd, p, HERE + 1, GDA_ACCESS_ALL, &mr) == -EFAULT);
		CHECK(!t_mr_reg(fd, p, HERE, GDA_ACCESS_ALL, &mr));
	}
	CHECK(write(hole->told, a, sizeof(*a)) == sizeof(*a));
	close(fd);
	return 0;
}

TEST_F(hollow, O17_costs_what_is_there)
{
	struct hole hole = {
		.dir = self->group.dir,
		.prot = variant->prot,
		.file = variant->file,
		.here = variant->here,
	};
	struct answer a = { 0 };
	int told[2];
	long peak;

	ASSERT_EQ(0, pipe(told));
	hole.told = told[1];
	EXPECT_EQ(0, t_in_child(register_hole, &hole));
	close(told[1]);
	ASSERT_EQ((ssize_t)sizeof(a), read(told[0], &a, sizeof(a)));
	peak = t_group_get(self->group.dir, "memory.peak", NULL);
	TH_LOG("256 GiB refused in %llu us, with at most %ld KiB more",
	       (unsigned long long)a.best / 1000, (peak - a.before) / 1024);
	EXPECT_LT(0, a.before);
	EXPECT_LT(peak - a.before, (long)SPENT);
	close(told[0]);
}

TEST_HARNESS_MAIN

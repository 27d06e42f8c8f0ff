// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md O12: in a memory cgroup that has reached memory.max, creating an object fails with
 * -ENOMEM. Neither its creator nor a bystander in the same group is killed for memory that is in
 * nobody's RSS.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <gda/record.h>
#include "gda_fixture.h"
#include "group.h"

#define MIB		(1UL << 20)
#define OWN		(4 * MIB)	/* of the bystander and of the creator */
#define CONTEXTS	512

/* One more object in a context; 0, or -errno of which -ENOSPC asks for another context. */
struct kind {
	const char *name;
	int (*create)(int fd, void *page);
};

/* What the library does next: map the region, and touch it. */
static int use(int fd, const struct gda_region_info *info)
{
	volatile char *p = t_map(fd, info);

	if (p == MAP_FAILED)
		return -errno;
	(void)p[0];
	(void)p[info->length - 1];
	return 0;
}

static int create_cq(int fd, uint32_t flags, uint32_t depth)
{
	struct gda_cq_create cq;
	int err = t_cq_create(fd, flags, depth, &cq);

	return err ? err : use(fd, &cq.cq);
}

static int create_large_cq(int fd, void *page)
{
	(void)page;
	return create_cq(fd, 0, 32768);
}

static int create_small_cq(int fd, void *page)
{
	(void)page;
	return create_cq(fd, GDA_CQ_COLLAPSED, 1);
}

static int create_qp(int fd, void *page)
{
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	int err = t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq);

	(void)page;
	err = err ? err : t_qp_create(fd, cq.handle, 1024, &qp);
	return err ? err : use(fd, &qp.sq);
}

static int create_counter(int fd, void *page)
{
	struct gda_counter_create counter = { .size = sizeof(counter) };

	(void)page;
	return t_ioctl(fd, GDA_IOC_COUNTER_CREATE, &counter);
}

/* One ring of records for each context. */
static int create_record(int fd, void *page)
{
	struct gda_record_set record = { .size = sizeof(record), .records = 4096 };
	int err = t_ioctl(fd, GDA_IOC_RECORD, &record);

	(void)page;
	err = err ? err : use(fd, &record.ring);
	return err ? err : -ENOSPC;
}

static int create_mr(int fd, void *page)
{
	struct t_mr mr;

	return t_mr_reg(fd, page, T_PAGE, GDA_ACCESS_ALL, &mr);
}

FIXTURE(memory_max) {
	struct t_group group;
};

FIXTURE_VARIANT(memory_max) {
	struct kind kind;
};

FIXTURE_VARIANT_ADD(memory_max, large_cqs) { .kind = { "CQs of 2 MiB", create_large_cq } };
FIXTURE_VARIANT_ADD(memory_max, small_cqs) { .kind = { "CQs of a page", create_small_cq } };
FIXTURE_VARIANT_ADD(memory_max, qps) { .kind = { "QPs", create_qp } };
FIXTURE_VARIANT_ADD(memory_max, counters) { .kind = { "counters", create_counter } };
FIXTURE_VARIANT_ADD(memory_max, records) { .kind = { "rings of records", create_record } };
FIXTURE_VARIANT_ADD(memory_max, mrs) { .kind = { "MRs", create_mr } };

T_SETUP(memory_max)
{
	int err;

	err = t_group_open(&self->group, "+memory");
	if (err == -ENODEV)
		SKIP(return, "no cgroup v2");
	if (err == -EOPNOTSUPP)
		SKIP(return, "no controller for memory");
	ASSERT_OK(err);
}

T_TEARDOWN(memory_max)
{
	t_group_close(&self->group);
}

static int enter_and_touch(const char *dir, char **own)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	*own = t_pages(OWN);
	if (!*own || t_group_enter(dir))
		return 1;
	memset(*own, 1, OWN);
	return 0;
}

static int stand_by(const char *dir, int ready)
{
	char *own;

	if (enter_and_touch(dir, &own) || write(ready, "", 1) != 1)
		return 1;
	for (;;)
		pause();
}

/* Objects until -ENOMEM, which is returned as a number; another -errno is a failure. */
static int create_all(const struct kind *kind, void *page, unsigned long *n)
{
	int err, fd, i;

	for (i = 0; i < CONTEXTS; i++) {
		fd = t_context();
		for (err = fd < 0 ? fd : 0; !err; *n += !err)
			err = kind->create(fd, page);
		*n += kind->create == create_record && err == -ENOSPC;
		if (err != -ENOSPC)
			return -err;
	}
	return ENOSPC;
}

static int create_and_live(const char *dir, const struct kind *kind, int told)
{
	unsigned long n = 0;
	char *own;
	int err;

	if (enter_and_touch(dir, &own))
		return 1;
	err = create_all(kind, own, &n);
	/* a process that goes on has pages of its own to write to */
	memset(own, 2, OWN);
	return write(told, &n, sizeof(n)) == sizeof(n) ? err : 2;
}

/* Counters and MRs are small: 50000 until there is no room are too many for a debug kernel. */
static const char *max_of(const struct kind *kind)
{
	bool small = kind->create == create_counter || kind->create == create_mr;

	return small && t_stress(10) < 10 ? "10M" : "16M";
}

TEST_F_TIMEOUT(memory_max, O12_enomem_and_nobody_is_killed, 300)
{
	const char *dir = self->group.dir;
	unsigned long n = 0;
	int told[2], err;
	pid_t by, pid;
	char c;

	printf("# dmesg: oom-kill|Call Trace:\n");
	fflush(stdout);
	ASSERT_EQ(0, pipe(told));
	ASSERT_OK(t_write_file(dir, "memory.max", max_of(&variant->kind)));
	t_write_file(dir, "memory.swap.max", "0");
	by = fork();
	ASSERT_GE(by, 0);
	if (!by)
		_exit(stand_by(dir, told[1]));
	ASSERT_EQ(1, read(told[0], &c, 1));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(create_and_live(dir, &variant->kind, told[1]));
	close(told[1]);
	err = t_reap(pid, t_longer(10) * T_WAIT_NS / 2);
	EXPECT_EQ(ENOMEM, err);
	EXPECT_EQ((ssize_t)sizeof(n), read(told[0], &n, sizeof(n)));
	TH_LOG("%lu %s, then %d; %ld processes were killed", n, variant->kind.name, err,
	       t_group_get(dir, "memory.events", "oom_kill"));
	EXPECT_LT(0, n);
	EXPECT_EQ(0, t_group_get(dir, "memory.events", "oom_kill"));
	kill(by, SIGTERM);
	EXPECT_EQ(128 + SIGTERM, t_reap(by, T_WAIT_NS));
	close(told[0]);
}

TEST_HARNESS_MAIN

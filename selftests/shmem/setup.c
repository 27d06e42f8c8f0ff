// SPDX-License-Identifier: MIT
/*
 * How a symmetric heap is made, is refused, and loses a PE.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include "pes.h"

#define HEAP	(1U << 20)

/* A page of this program, and what is in it before it becomes symmetric. */
static uint64_t page[512] __attribute__((aligned(4096))) = { 11, 22, 33 };

static int body_data(struct gda_shmem *s, struct gda_comm *comm)
{
	uint32_t right = (s->pe + 1) % s->npes, left = (s->pe + s->npes - 1) % s->npes;
	uint64_t value = 100 + s->pe, old;

	CHECK(page[0] == 11 && page[1] == 22 && page[2] == 33 && page[511] == 0);
	CHECK(!gda_comm_barrier(comm, 0));
	CHECK(!gda_shmem_put(s, &page[3], &value, 8, right, 0));
	CHECK(!gda_shmem_atomic_fetch64(s, &page[1], GDA_SHMEM_ADD, value, &old, right, 0));
	CHECK(old == 22 && !gda_shmem_quiet(s, 0) && !gda_comm_barrier(comm, 0));
	CHECK(page[3] == 100 + left && page[1] == 122 + left);
	CHECK(!gda_shmem_get(s, &value, &page[3], 8, right, 0) && value == 100 + s->pe);
	CHECK(gda_shmem_put(s, &page[511], page, 9, right, 0) == -EFAULT);
	return 0;
}

TEST(data_segment_becomes_symmetric)
{
	struct gda_shmem_attr attr = {
		.heap_bytes = HEAP, .data = page, .data_bytes = sizeof(page),
	};
	struct p_pe *p = p_alloc();

	EXPECT_EQ(0, p_run(p, 3, true, &attr, body_data)) {
		TH_LOG("%d %d %d %s", p[0].result, p[1].result, p[2].result, p[0].why);
	}
	/* threads have one between them */
	EXPECT_EQ(-EINVAL, p_run(p, 2, false, &attr, body_data));
	EXPECT_STREQ("gda_shmem_create: PEs 0 and 1 share a data segment: pass data_fd of each",
		     p[1].why);
}

/* A PE that made shared memory shorter would end the others: whoever opens it cannot. */
static int body_sealed(struct gda_shmem *s, struct gda_comm *comm)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[256], path[64];
	uint32_t found = 0;
	int fd;

	(void)s;
	(void)comm;
	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/memfd:gda-shmem"))
			continue;
		snprintf(path, sizeof(path), "/proc/self/map_files/%.*s",
			 (int)strcspn(line, " "), line);
		fd = open(path, O_RDWR | O_CLOEXEC);
		CHECK(fd >= 0);
		CHECK(ftruncate(fd, 4096) && errno == EPERM);
		CHECK((fcntl(fd, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW)) ==
		      (F_SEAL_SHRINK | F_SEAL_GROW));
		close(fd);
		found++;
	}
	fclose(maps);
	CHECK(found);
	return 0;
}

TEST(item_12_memory_is_sealed)
{
	struct gda_shmem_attr attr = { .heap_bytes = HEAP, .way = GDA_SHMEM_DIRECT };
	struct p_pe *p = p_alloc();

	if (geteuid())
		SKIP(return, "/proc/self/map_files is root's");
	EXPECT_EQ(0, p_run(p, 2, true, &attr, body_sealed)) {
		TH_LOG("%d %d %s", p[0].result, p[1].result, p[0].why);
	}
}

static int body_none(struct gda_shmem *s, struct gda_comm *comm)
{
	(void)s;
	(void)comm;
	return 0;
}

/* One PE gives what the others do not: all are told, and who it is. */
static int main_odd(struct p_pe *p, bool processes, const struct gda_shmem_attr *attr,
		    const struct gda_shmem_attr *odd)
{
	struct gda_comm_id id;
	uint32_t i;
	int status;
	pid_t pid;

	gda_comm_id_create(NULL, &id);
	for (i = 0; i < 3; i++) {
		p[i] = (struct p_pe) {
			.id = &id, .pe = i, .npes = 3, .attr = i == 1 ? *odd : *attr,
			.body = body_none,
		};
		p[i].attr.size = sizeof(*attr);
		if (!processes) {
			pthread_create(&p[i].thread, NULL, p_main, &p[i]);
			continue;
		}
		pid = fork();
		if (!pid) {
			p_main(&p[i]);
			_exit(0);
		}
		p[i].pid = pid;
	}
	for (i = 0; i < 3; i++) {
		if (processes)
			waitpid(p[i].pid, &status, 0);
		else
			pthread_join(p[i].thread, NULL);
	}
	return p[0].result == p[1].result && p[1].result == p[2].result ? p[0].result : 1;
}

TEST(refusals_name_the_pe)
{
	struct gda_shmem_attr attr = { .heap_bytes = HEAP, .way = GDA_SHMEM_DIRECT }, odd = attr;
	struct p_pe *p = p_alloc();

	odd.heap_bytes = 0;
	EXPECT_EQ(-EINVAL, main_odd(p, false, &attr, &odd));
	EXPECT_STREQ("gda_shmem_create: PE 1: heap_bytes is 0: set at least 1, and less than 2^63",
		     p[2].why);
	odd.heap_bytes = HEAP + 1;
	EXPECT_EQ(-EPROTO, main_odd(p, false, &attr, &odd));
	EXPECT_STREQ(p[2].why,
		     "gda_shmem_create: PE 0 has 1048576 + 0 bytes, PE 1 1052672 + 0: give all the same");
	odd.heap_bytes = 1ULL << 62;
	EXPECT_GT(0, main_odd(p, false, &attr, &odd));
	odd = attr;
	odd.flags = 1;
	EXPECT_EQ(-EOPNOTSUPP, main_odd(p, false, &attr, &odd));
	odd = attr;
	odd.way = 3;
	EXPECT_EQ(-EINVAL, main_odd(p, false, &attr, &odd));
	odd = attr;
	odd.qps = 2;
	EXPECT_EQ(-EPROTO, main_odd(p, false, &attr, &odd));
	odd = attr;
	odd.qps = GDA_SHMEM_MAX_QPS + 1;
	EXPECT_EQ(-EINVAL, main_odd(p, false, &attr, &odd));
	odd = attr;
	odd.data = page + 1;
	odd.data_bytes = 4096;
	EXPECT_EQ(-EINVAL, main_odd(p, false, &attr, &odd));
	odd = attr;
	odd.chunk_bytes = 1;
	EXPECT_EQ(-EINVAL, main_odd(p, false, &attr, &odd));
	odd = attr;
	odd.dialect = 99;
	EXPECT_EQ(-EOPNOTSUPP, main_odd(p, false, &odd, &odd));
	EXPECT_STREQ(p[0].why,
		     "gda_shmem_create: PE 0: dialect 99: this library writes no entries of it: set it to 0");
	setenv("GDA_SHMEM_WAY", "straight", 1);
	attr.way = GDA_SHMEM_AUTO;
	EXPECT_EQ(-EINVAL, main_odd(p, false, &attr, &attr));
	EXPECT_STREQ(p[0].why,
		     "gda_shmem_create: PE 0: GDA_SHMEM_WAY is \"straight\": set it to direct or queue");
}

/* Without /dev/gda processes have no way by queue, and are told so in one sentence. */
/* Process 1 of a PID namespace of its own, as the first process of a container is. */
static void main_first(struct p_pe *p)
{
	int status = -1;
	pid_t pid;

	if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
		_exit(77);
	pid = fork();
	if (!pid) {
		p_main(p);
		_exit(getpid() != 1);
	}
	waitpid(pid, &status, 0);
	_exit(status ? 1 : 0);
}

/* Two processes of one number are no threads of one process: their memory is not at one place. */
TEST(pes_of_one_number_in_two_pid_namespaces)
{
	struct gda_shmem_attr attr = { .size = sizeof(attr), .heap_bytes = HEAP };
	struct p_pe *p = p_alloc();
	struct gda_comm_id id;
	int status[2], i;
	pid_t pid[2];

	ASSERT_OK(gda_comm_id_create(NULL, &id));
	for (i = 0; i < 2; i++) {
		p[i] = (struct p_pe) {
			.id = &id, .pe = (uint32_t)i, .npes = 2, .attr = attr, .body = body_none,
		};
		pid[i] = fork();
		if (!pid[i])
			main_first(&p[i]);
	}
	for (i = 0; i < 2; i++)
		ASSERT_EQ(pid[i], waitpid(pid[i], &status[i], 0));
	if (WIFEXITED(status[0]) && WEXITSTATUS(status[0]) == 77)
		SKIP(return, "no PID namespace may be made here");
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, status[i]);
		EXPECT_EQ(-EACCES, p[i].result);
		EXPECT_NE(NULL, strstr(p[i].why, "(process 1): ")) {
			TH_LOG("%s", p[i].why);
		}
	}
}

TEST(forced_queue)
{
	struct gda_shmem_attr attr = { .heap_bytes = HEAP };
	struct p_pe *p = p_alloc();

	setenv("GDA_SHMEM_WAY", "queue", 1);
	EXPECT_EQ(0, p_run(p, 2, false, &attr, body_none)) {
		TH_LOG("%s", p[0].why);
	}
	if (!access("/dev/gda", F_OK)) {
		EXPECT_EQ(0, p_run(p, 2, true, &attr, body_none)) {
			TH_LOG("%s", p[0].why);
		}
	} else {
		EXPECT_EQ(-EOPNOTSUPP, p_run(p, 2, true, &attr, body_none));
		EXPECT_NE(NULL, strstr(p[1].why, "PE 0: processes have no queue without /dev/gda"));
	}
	setenv("GDA_SHMEM_WAY", "direct", 1);
	EXPECT_EQ(0, p_run(p, 2, true, &attr, body_none));
	unsetenv("GDA_SHMEM_WAY");
	attr.way = GDA_SHMEM_QUEUE;
	attr.depth = 16;
	EXPECT_EQ(-EINVAL, p_run(p, 2, false, &attr, body_none));
	EXPECT_STREQ("gda_shmem_create: PE 0: depth 16: set at least 32", p[1].why);
}

static int body_die(struct gda_shmem *s, struct gda_comm *comm)
{
	uint64_t *word = (uint64_t *)(uintptr_t)s->heap, forever = GDA_SHMEM_FOREVER;
	unsigned int polls = 0;
	int err;

	CHECK(!gda_comm_barrier(comm, 0));
	if (s->pe == 1) {
		gda_shmem_p(s, word + 1, 7, 8, 0, 0);
		raise(SIGKILL);
	}
	CHECK(gda_shmem_wait_until64(s, word, GDA_SHMEM_NE, 0, forever) == -ESHUTDOWN);
	CHECK(gda_comm_failed(comm) == 1);
	/* a wait for one that is still there goes on; what it put stays */
	do {
		err = gda_shmem_relax(s, ++polls, 1, &forever);
	} while (!err);
	CHECK(err == -ESHUTDOWN);
	for (polls = 0; polls < 1000; polls++)
		CHECK(!gda_shmem_relax(s, polls, s->pe, &forever));
	CHECK(s->pe || gda_shmem_load64(word + 1) == 7);
	return 0;
}

TEST(a_pe_that_dies_ends_waits)
{
	struct gda_shmem_attr attr = { .heap_bytes = HEAP };
	struct p_pe *p = p_alloc();

	p_run(p, 3, true, &attr, body_die);
	EXPECT_EQ(0, p[0].result);
	EXPECT_EQ(-1, p[1].result);	/* killed */
	EXPECT_EQ(0, p[2].result);
}

static int body_crowd(struct gda_shmem *s, struct gda_comm *comm)
{
	struct gda_view v = { 0 };

	CHECK(s->caps & GDA_VIEW_YIELD);
	CHECK(!gda_comm_watch(comm, 0, &v) && v.caps & GDA_VIEW_YIELD);
	return 0;
}

static int body_room(struct gda_shmem *s, struct gda_comm *comm)
{
	struct gda_view v = { 0 };

	(void)comm;
	CHECK(!(s->caps & GDA_VIEW_YIELD) || !gda_comm_watch(comm, 0, &v));
	return 0;
}

TEST(waits_yield_where_ranks_outnumber_processors)
{
	struct gda_shmem_attr attr = { .heap_bytes = HEAP };
	struct p_pe *p = p_alloc();
	cpu_set_t one;

	EXPECT_EQ(0, p_run(p, 1, false, &attr, body_room));
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	EXPECT_EQ(0, p_run(p, 2, true, &attr, body_crowd));
	EXPECT_EQ(0, p_run(p, 2, false, &attr, body_crowd));
}

/* All that a heap took is given back. */
TEST(nothing_is_left)
{
	struct gda_shmem_attr attr = { .heap_bytes = HEAP };
	struct p_pe *p = p_alloc();
	char line[256];
	int round, maps = 0, fds = -1, n;
	FILE *f;

	for (round = 0; round < 2; round++) {
		EXPECT_EQ(0, p_run(p, 3, false, &attr, body_none));
		f = fopen("/proc/self/maps", "r");
		for (n = 0; fgets(line, sizeof(line), f);)
			n += !!strstr(line, "memfd:gda-shmem");
		fclose(f);
		maps += n;
		n = dup(0);
		close(n);
		EXPECT_TRUE(fds == -1 || fds == n);
		fds = n;
	}
	EXPECT_EQ(0, maps);
}

TEST_HARNESS_MAIN

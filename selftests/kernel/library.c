// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * libgda over the real driver: what a program sees, from many threads, around the
 * ring, to the error and the end of its peer.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "gda_fixture.h"
#include <gda/gda.h>
#include <gda/fastpath.h>

#define LEN	(1UL << 20)

struct side {
	struct gda_context *ctx;
	struct gda_qp *qp;
	struct gda_mr *mr;
	struct gda_view *v;
	uint8_t *mem;
};

FIXTURE(library) {
	struct side a, b;
};

static int side_open(struct side *s, uint32_t depth)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = depth, .timeout_ns = T_WAIT_NS,
	};
	int err = gda_open(NULL, &s->ctx);

	if (!err)
		err = gda_qp_create(s->ctx, &attr, &s->qp);
	s->mem = t_pages(LEN);
	if (!err)
		err = gda_mr_reg(s->ctx, s->mem, LEN, GDA_ACCESS_ALL, 0, &s->mr);
	if (!err)
		s->v = gda_qp_view(s->qp);
	return err;
}

static void side_close(struct side *s)
{
	if (s->mr)
		gda_mr_dereg(s->mr);
	if (s->qp)
		gda_qp_destroy(s->qp);
	if (s->ctx)
		gda_close(s->ctx);
	if (s->mem)
		munmap(s->mem, LEN);
	memset(s, 0, sizeof(*s));
}

static int join(struct side *a, struct side *b)
{
	struct gda_address addr;
	int err = gda_qp_address(b->qp, &addr);

	if (!err)
		err = gda_qp_connect(a->qp, &addr);
	if (!err)
		err = gda_qp_address(a->qp, &addr);
	return err ? err : gda_qp_connect(b->qp, &addr);
}

static int join_self(struct gda_qp *qp)
{
	struct gda_address addr;
	int err = gda_qp_address(qp, &addr);

	return err ? err : gda_qp_connect(qp, &addr);
}

T_SETUP(library)
{
	ASSERT_OK(side_open(&self->a, 64));
	ASSERT_OK(side_open(&self->b, 64));
	ASSERT_OK(join(&self->a, &self->b));
}

T_TEARDOWN(library)
{
	side_close(&self->a);
	side_close(&self->b);
}

/* Address and key of a byte of a side's memory. */
#define AT(s, off)	gda_mr_iova((s)->mr) + (off), gda_mr_key((s)->mr)

TEST_F(library, all_operations)
{
	struct side *a = &self->a, *b = &self->b;
	uint64_t value, rounds = t_short(100, 500);

	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t off = i * 8 % 4096;

		memset(a->mem, (int)i, 4096);
		ASSERT_OK(gda_wait(a->v, gda_put(a->v, AT(a, 0), AT(b, 8192), 4096, 0), 0));
		ASSERT_TRUE(t_all(b->mem + 8192, (uint8_t)i, 4096));
		ASSERT_OK(gda_wait(a->v, gda_get(a->v, AT(a, 65536), AT(b, 8192), 4096, 0), 0));
		ASSERT_TRUE(t_all(a->mem + 65536, (uint8_t)i, 4096));
		ASSERT_OK(gda_wait(a->v, gda_put_value(a->v, AT(b, off), i, 0), 0));
		memcpy(&value, b->mem + off, 8);
		ASSERT_EQ(i, value);
		ASSERT_OK(gda_wait(a->v, gda_fetch_add(a->v, AT(a, 16), AT(b, off), 3, 0), 0));
		memcpy(&value, a->mem + 16, 8);
		ASSERT_EQ(i, value);
		ASSERT_OK(gda_wait(a->v, gda_compare_swap(a->v, AT(a, 16), AT(b, off), i + 3,
							  7 * i, 0), 0));
		memcpy(&value, b->mem + off, 8);
		ASSERT_EQ(7 * i, value);
		ASSERT_OK(gda_wait(a->v, gda_put_inline(a->v, AT(b, 4096), "twenty-one bytes long",
							21, 0), 0));
		ASSERT_EQ(0, memcmp("twenty-one bytes long", b->mem + 4096, 21));
	}
	EXPECT_OK(gda_quiet(a->v, 0));
}

/* --- many producers on one queue --- */

struct producer {
	struct side *a, *b;
	uint64_t n;
	unsigned int id, flags;
	int err;
};

/* A put from and to the QP's own side; the word that arrived is @value. */
static int put_to_self(struct side *s, struct gda_qp *qp, uint32_t value)
{
	struct gda_view *v = gda_qp_view(qp);
	int64_t t = gda_put_value(v, AT(s, 0), value, 0);
	int err = t < 0 ? (int)t : gda_wait(v, t, gda_clock_ns() + T_WAIT_NS);

	return err ? err : *(volatile uint32_t *)s->mem == value ? 0 : -EBADMSG;
}

#define QUEUES	1100U			/* of three regions each, 4 MiB of cookies apart */

/* The offsets at which regions are mapped go beyond 2 and 4 GiB. */
TEST_F(library, O9_queue_after_queue)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 64 };
	struct side *a = &self->a;
	struct gda_qp *qp;

	for (uint32_t i = 0; i < QUEUES; i++) {
		ASSERT_OK(gda_qp_create(a->ctx, &attr, &qp)) TH_LOG("QP %u", i);
		ASSERT_OK(join_self(qp));
		ASSERT_OK(put_to_self(a, qp, i)) TH_LOG("QP %u", i);
		ASSERT_OK(gda_qp_destroy(qp));
	}
}

static void *produce(void *arg)
{
	struct producer *p = arg;
	int64_t ticket = 0;

	for (uint64_t i = 0; i < p->n && ticket >= 0; i++) {
		unsigned int flags = i % 8 == 7 ? 0 : p->flags;

		/* A sum that all share, and a place of one's own. */
		ticket = gda_fetch_add(p->a->v, AT(p->a, 64 + 8 * p->id), AT(p->b, 0), 1, flags);
		if (ticket >= 0)
			ticket = gda_put_value(p->a->v, AT(p->b, 64 + 8 * p->id), i + 1, flags);
		if (ticket >= 0 && i % 100 == 99) {
			p->err = gda_wait(p->a->v, ticket, 0);
			if (p->err)
				return NULL;
		}
	}
	p->err = ticket < 0 ? (int)ticket : gda_wait(p->a->v, ticket, 0);
	return NULL;
}

TEST_F(library, producers_share_a_queue)
{
	static const unsigned int modes[] = { 0, GDA_DEFER };

	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		struct producer p[4];
		pthread_t thread[4];
		uint64_t sum, n = t_short(1000, 5000);

		memset(self->b.mem, 0, 4096);
		for (unsigned int i = 0; i < 4; i++) {
			p[i] = (struct producer) {
				.a = &self->a, .b = &self->b, .n = n, .id = i,
				.flags = modes[m],
			};
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, produce, &p[i]));
		}
		for (unsigned int i = 0; i < 4; i++) {
			uint64_t last;

			pthread_join(thread[i], NULL);
			EXPECT_EQ(0, p[i].err);
			memcpy(&last, self->b.mem + 64 + 8 * i, 8);
			EXPECT_EQ(n, last);
		}
		ASSERT_OK(gda_quiet(self->a.v, 0));
		memcpy(&sum, self->b.mem, 8);
		EXPECT_EQ(4 * n, sum);
	}
}

/* The error is seen by who waits for it, by who waits for later work, and asks. */
TEST_F(library, errors_are_decoded)
{
	struct side *a = &self->a, *b = &self->b;
	struct gda_qp_query query = { .size = sizeof(query) };
	struct gda_error error = { .size = sizeof(error) };
	int64_t good, bad, late;

	EXPECT_EQ(0, gda_error(a->v, &error));
	good = gda_put(a->v, AT(a, 0), AT(b, 0), 8, 0);
	bad = gda_put(a->v, AT(a, 0), gda_mr_iova(b->mr), gda_mr_key(b->mr) ^ 1, 8, 0);
	late = gda_put(a->v, AT(a, 0), AT(b, 0), 8, 0);
	EXPECT_EQ(-EIO, gda_wait(a->v, bad, 0));
	EXPECT_EQ(0, gda_wait(a->v, good, 0));
	EXPECT_EQ(-ECANCELED, gda_wait(a->v, late, 0));
	EXPECT_EQ(1, gda_error(a->v, &error));
	EXPECT_EQ(bad, error.ticket);
	EXPECT_EQ((uint32_t)GDA_MLX5_SYND_REMOTE_ACCESS, error.syndrome);
	EXPECT_EQ((uint32_t)GDA_MLX5_VENDOR_KEY, error.vendor);
	EXPECT_NE(0, gda_quiet(a->v, 0));
	ASSERT_OK(gda_qp_query(a->qp, &query));
	EXPECT_EQ((uint32_t)GDA_QP_ERROR, query.state);
	/* Posting does not block on a failed queue. */
	for (int i = 0; i < 200; i++) {
		late = gda_put(a->v, AT(a, 0), AT(b, 0), 8, 0);
		EXPECT_NE(0, gda_wait(a->v, late, 0));
	}
}

/* Has this process /dev/gda open, or mapped? */
static bool has_the_file(void)
{
	char path[64], to[64];
	FILE *maps = fopen("/proc/self/maps", "re");
	bool found = false;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, "/dev/gda") != NULL;
	if (maps)
		fclose(maps);
	for (int fd = 3; fd < 256; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = 0;
		found |= !strcmp(to, "/dev/gda");
	}
	return found;
}

/*
 * A child has no part in the context: it may not post, nor ask, and it has not the file; it opens
 * its own. Its exit status is the line that failed.
 */
static int fork_child(struct side *a, struct side *b, int64_t done)
{
	struct gda_qp_query query = { .size = sizeof(query) };
	struct gda_qp_attr attr = { .size = sizeof(attr), .timeout_ns = T_WAIT_NS };
	struct gda_error error = { .size = sizeof(error) };
	struct gda_qp *qp;
	struct side own;

	if (gda_put(a->v, AT(a, 0), AT(b, 0), 8, 0) != -EIO ||
	    gda_put(a->v, AT(a, 0), AT(b, 0), 8, GDA_EXCLUSIVE) != -EIO ||
	    gda_put(a->v, AT(a, 0), AT(b, 0), 8, GDA_DEFER | GDA_NOWAIT) != -EIO)
		return 1;
	gda_flush(a->v);
	if (gda_wait(a->v, done, 0) || gda_wait(a->v, done + 1, 0) != -EIO ||
	    gda_quiet(a->v, 0) != -ESHUTDOWN)
		return 2;
	if (gda_error(a->v, &error) != 1 || error.vendor != GDA_MLX5_VENDOR_FORK)
		return 3;
	if (gda_qp_query(a->qp, &query) != -ENODEV ||
	    gda_qp_create(a->ctx, &attr, &qp) != -ENODEV || gda_context_fd(a->ctx) != -1 ||
	    has_the_file())
		return 4;
	if (side_open(&own, 64) || join_self(own.qp))
		return 5;
	*(uint64_t *)(void *)own.mem = 1;
	if (gda_wait(own.v, gda_put(own.v, AT(&own, 0), AT(&own, 64), 8, 0), 0))
		return 6;
	side_close(&own);
	side_close(a);
	return 0;
}

TEST_F(library, fork_child_cannot_post)
{
	struct side *a = &self->a, *b = &self->b;
	int64_t done;
	int status;
	pid_t pid;

	for (int i = 0; i < 5; i++) {
		done = gda_put(a->v, AT(a, 0), AT(b, 0), 8, 0);
		ASSERT_OK(gda_wait(a->v, done, 0));
		pid = fork();
		if (!pid)
			_exit(fork_child(a, b, done));
		ASSERT_LT(0, pid);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
		/* the next slot is the next one still */
		ASSERT_EQ(done + 1, gda_put(a->v, AT(a, 0), AT(b, 0), 8, 0));
		ASSERT_OK(gda_quiet(a->v, 0));
	}
}

/* Open and close contexts that have something mapped, until *@arg. */
static void *open_and_close(void *arg)
{
	const bool *stop = arg;
	struct side s = { 0 };

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		if (side_open(&s, 64))
			return arg;
		side_close(&s);
	}
	return NULL;
}

/* Wherever gda_open() and gda_close() of another thread are when the process forks. */
TEST_F_TIMEOUT(library, item5_fork_beside_open_and_close, 120)
{
	void *failed = NULL;
	pthread_t thread;
	bool stop = false;
	int kept = 0;

	ASSERT_EQ(0, pthread_create(&thread, NULL, open_and_close, &stop));
	for (unsigned long i = 0; i < t_stress(300); i++) {
		pid_t pid = fork();
		int status = 1;

		if (!pid)
			_exit(has_the_file());
		kept += waitpid(pid, &status, 0) != pid || status;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, &failed);
	EXPECT_EQ(NULL, failed);
	EXPECT_EQ(0, kept);
}

/* The peer does not connect: the ring fills up, posts end at their deadline, then it works. */
TEST_F(library, full_ring_has_a_deadline)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = 16, .timeout_ns = T_NS / 20,
	};
	struct side lone = { .ctx = self->a.ctx };
	struct gda_address addr;
	int64_t ticket = 0;
	int n = 0;

	ASSERT_OK(gda_qp_create(lone.ctx, &attr, &lone.qp));
	lone.v = gda_qp_view(lone.qp);
	while (n < 100 && (ticket = gda_nop(lone.v, 0)) >= 0)
		n++;
	EXPECT_EQ(16, n);
	EXPECT_EQ(-ETIMEDOUT, ticket);
	EXPECT_EQ(-EAGAIN, gda_nop(lone.v, GDA_NOWAIT));
	EXPECT_EQ(-ETIMEDOUT, gda_quiet(lone.v, 0));
	ASSERT_OK(gda_qp_address(lone.qp, &addr));
	ASSERT_OK(gda_qp_connect(lone.qp, &addr));
	EXPECT_OK(gda_quiet(lone.v, gda_clock_ns() + T_WAIT_NS));
	ASSERT_OK(gda_qp_destroy(lone.qp));
}

/* A child that lives on, and has said so: by then the library has learnt of the fork. */
static bool has_child(void)
{
	int said[2];
	char c = 0;

	if (pipe(said))
		return false;
	if (!fork()) {
		if (write(said[1], &c, 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	return read(said[0], &c, 1) == 1;
}

/*
 * A peer that is killed: a wait ends with an error, not with its deadline, also if a child
 * of fork(2) lives on.
 */
static void kill_peer(struct __test_metadata *_metadata, FIXTURE_DATA(library) *self, bool child)
{
	struct gda_address theirs;
	struct { struct gda_address addr; } mine;
	struct gda_error error = { .size = sizeof(error) };
	int pair[2];
	pid_t pid;

	side_close(&self->b);
	side_close(&self->a);
	ASSERT_OK(side_open(&self->a, 64));
	ASSERT_OK(gda_qp_address(self->a.qp, &mine.addr));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		struct side s = { 0 };
		char c;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		close(pair[0]);
		if (side_open(&s, 64) || (child && !has_child()))
			_exit(1);
		if (gda_qp_address(s.qp, &theirs) ||
		    gda_qp_connect(s.qp, &mine.addr) ||
		    write(pair[1], &theirs, sizeof(theirs)) != sizeof(theirs))
			_exit(1);
		while (read(pair[1], &c, 1) > 0)
			;
		for (;;)
			pause();
	}
	close(pair[1]);
	ASSERT_EQ((ssize_t)sizeof(theirs), read(pair[0], &theirs, sizeof(theirs)));
	ASSERT_OK(gda_qp_connect(self->a.qp, &theirs));
	ASSERT_OK(gda_wait(self->a.v, gda_nop(self->a.v, 0), 0));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS));
	EXPECT_NE(0, gda_wait(self->a.v, gda_put(self->a.v, AT(&self->a, 0), 4096, 1, 8, 0), 0));
	EXPECT_EQ(1, gda_error(self->a.v, &error));
	EXPECT_EQ((uint32_t)GDA_MLX5_SYND_RETRY_EXC, error.syndrome);
	EXPECT_EQ((uint32_t)GDA_MLX5_VENDOR_PEER, error.vendor);
	kill(-pid, SIGKILL);
	close(pair[0]);
}

TEST_F(library, peer_killed)
{
	kill_peer(_metadata, self, false);
}

TEST_F(library, item5_peer_killed_while_its_child_lives)
{
	kill_peer(_metadata, self, true);
}

/* Objects in any order, twice, and a context that is shut down under them. */
TEST_F(library, shutdown_and_leftovers)
{
	struct gda_cq_attr attr = { .size = sizeof(attr), .flags = GDA_CQ_COLLAPSED };
	struct gda_qp_attr qattr = { .size = sizeof(qattr) };
	struct gda_context *ctx;
	struct gda_cq *cq;
	struct gda_qp *qp;

	ASSERT_OK(gda_open(GDA_DEVICE_SOFT, &ctx));
	ASSERT_OK(gda_cq_create(ctx, &attr, &cq));
	qattr.cq = cq;
	ASSERT_OK(gda_qp_create(ctx, &qattr, &qp));
	EXPECT_EQ(-EBUSY, gda_cq_destroy(cq));
	EXPECT_OK(gda_qp_destroy(qp));
	EXPECT_OK(gda_cq_destroy(cq));
	EXPECT_OK(gda_context_shutdown(ctx));
	EXPECT_EQ(-ENODEV, gda_cq_create(ctx, &attr, &cq));
	gda_close(ctx);
	EXPECT_EQ(-ENOENT, gda_open("no such device", &ctx));
}

/* Memory of another driver: by its own call, and where pinning fails; and why not. */
TEST_F(library, K7_peer_memory)
{
	struct side *a = &self->a, *b = &self->b;
	struct gda_mr_query query = { .size = sizeof(query) };
	struct gda_mr *mr;
	uint8_t *gpu;
	void *at;
	int fd = t_gpu_open(LEN, 0, &at);

	ASSERT_LE(0, fd);
	gpu = at;
	for (int own = 0; own < 2; own++) {
		ASSERT_EQ(0, own ? gda_mr_reg_peer(b->ctx, at, LEN, GDA_ACCESS_ALL, 0, &mr) :
				   gda_mr_reg(b->ctx, at, LEN, GDA_ACCESS_ALL, 0, &mr));
		ASSERT_EQ(0, gda_mr_query(mr, &query));
		EXPECT_EQ(GDA_KIND_PEER, query.kind);
		EXPECT_EQ((uintptr_t)at, gda_mr_iova(mr));
		memset(a->mem, 0x60 + own, 64);
		EXPECT_EQ(0, gda_wait(a->v, gda_put(a->v, gda_mr_iova(a->mr), gda_mr_key(a->mr),
						    gda_mr_iova(mr) + 99, gda_mr_key(mr), 64, 0),
				      0));
		EXPECT_TRUE(t_all(gpu + 99, (uint8_t)(0x60 + own), 64));
		EXPECT_EQ(0, gda_mr_dereg(mr));
	}
	EXPECT_EQ(-ENXIO, gda_mr_reg_peer(b->ctx, b->mem, LEN, 0, 0, &mr));
	EXPECT_STREQ("gda_mr_reg_peer: no peer driver claims this address range", gda_last_error());
	ASSERT_EQ(0, mprotect(at, LEN, PROT_READ));
	EXPECT_EQ(-EACCES, gda_mr_reg(b->ctx, at, LEN, GDA_ACCESS_ALL, 0, &mr));
	EXPECT_STREQ("gda_mr_reg: pinning: the memory cannot be read, written or pinned; "
		     "peer memory: the range is not mapped for this access",
		     gda_last_error());
	munmap(at, LEN);
	EXPECT_EQ(-EFAULT, gda_mr_reg(b->ctx, at, LEN, GDA_ACCESS_ALL, 0, &mr));
	EXPECT_STREQ("gda_mr_reg: pinning: the memory cannot be read, written or pinned; "
		     "peer memory: no peer driver claims this address range",
		     gda_last_error());
	close(fd);
}

/* Queue, record and CQ where the caller says, in a dma-buf: here the driver's own. */
TEST_F(library, queue_in_memory_of_the_caller)
{
	struct side *a = &self->a;
	struct gda_cq_attr cqattr = { .size = sizeof(cqattr), .flags = GDA_CQ_COLLAPSED };
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = 32, .timeout_ns = T_WAIT_NS,
	};
	struct gda_place sq, rec, entry, far;
	struct gda_exported buf = { .size = sizeof(buf) };
	struct gda_address addr;
	struct gda_cq *cq;
	struct gda_qp *qp;
	uint8_t *p;

	ASSERT_OK(gda_qp_export(self->b.qp, GDA_REGION_SQ, &buf));
	p = mmap(NULL, buf.length, PROT_READ | PROT_WRITE, MAP_SHARED, buf.fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	sq = (struct gda_place){ sizeof(sq), buf.fd, 0, p };
	rec = (struct gda_place){ sizeof(rec), buf.fd, 2048, p + 2048 };
	entry = (struct gda_place){ sizeof(entry), buf.fd, 3072, p + 3072 };
	far = (struct gda_place){ sizeof(far), buf.fd, 0, NULL };
	cqattr.memory = &entry;
	ASSERT_OK(gda_cq_create(a->ctx, &cqattr, &cq));
	attr.cq = cq;
	attr.sq = &far;
	ASSERT_OK(gda_qp_create(a->ctx, &attr, &qp));
	EXPECT_EQ(NULL, gda_qp_view(qp));
	EXPECT_OK(gda_qp_destroy(qp));
	attr.sq = &sq;
	attr.dbrec = &rec;
	ASSERT_OK(gda_qp_create(a->ctx, &attr, &qp));
	ASSERT_NE(NULL, gda_qp_view(qp));
	ASSERT_OK(gda_qp_address(qp, &addr));
	ASSERT_OK(gda_qp_connect(qp, &addr));
	for (int i = 0; i < 100; i++) {
		struct gda_view *v = gda_qp_view(qp);

		memset(a->mem, i, 64);
		ASSERT_OK(gda_wait(v, gda_put(v, AT(a, 0), AT(a, 4096), 64, 0), 0));
		ASSERT_TRUE(t_all(a->mem + 4096, (uint8_t)i, 64));
	}
	EXPECT_OK(gda_qp_destroy(qp));
	EXPECT_OK(gda_cq_destroy(cq));
	munmap(p, buf.length);
	close(buf.fd);
}

TEST_HARNESS_MAIN

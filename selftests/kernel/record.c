// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * GDA_IOC_RECORD on the kernel's side: its ring is mapped read-only for good, is exported to
 * nobody, goes with the context and is charged as queues are. selftests/inproc/record.c has what
 * stands in it.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <gda/efa.h>
#include <gda/record.h>
#include "gda_fixture.h"
#include "nl.h"

#define RECORDS	256U

FIXTURE(record) {
	struct t_end end[2];
};

T_SETUP(record)
{
	ASSERT_OK(t_pair_open(self->end, 64, T_PAGE));
}

T_TEARDOWN(record)
{
	t_pair_close(self->end);
}

static int set(int fd, uint32_t records, struct gda_record_set *cmd)
{
	*cmd = (struct gda_record_set) { .size = sizeof(*cmd), .records = records };
	return t_ioctl(fd, GDA_IOC_RECORD, cmd);
}

static const struct gda_record *map_ring(int fd, const struct gda_record_set *cmd)
{
	return mmap(NULL, cmd->ring.length, PROT_READ, MAP_SHARED, fd, (off_t)cmd->ring.cookie);
}

/* The ring's record of work with this ticket, or NULL. */
static const struct gda_record *find(const struct gda_record *ring, uint32_t n, uint8_t kind,
				     uint64_t ticket)
{
	for (uint32_t i = 0; i < n; i++) {
		/* pairs with the executor's release */
		if (__atomic_load_n(&ring[i].seq, __ATOMIC_ACQUIRE) && ring[i].kind == kind &&
		    ring[i].ticket == ticket)
			return &ring[i];
	}
	return NULL;
}

TEST_F(record, M_04_written_by_the_executor)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct t_wr wr = t_wr_write(&a->mr, 8, &b->mr, 16, 24);
	const struct gda_record *ring, *r;
	struct gda_record_set cmd;

	ASSERT_OK(set(a->fd, RECORDS, &cmd));
	EXPECT_EQ(RECORDS, cmd.records);
	EXPECT_EQ(RECORDS * sizeof(*ring), cmd.ring.length);
	EXPECT_EQ(GDA_MAP_RO, cmd.ring.map);
	ring = map_ring(a->fd, &cmd);
	ASSERT_NE(MAP_FAILED, ring);
	/* what happened before comes first */
	EXPECT_EQ(1, ring[0].seq);
	ASSERT_OK(t_run(&a->qp, &wr, NULL));
	r = find(ring, RECORDS, GDA_RECORD_DONE, 0);
	ASSERT_NE(NULL, r);
	EXPECT_EQ(t_speaks_efa() ? GDA_EFA_WRITE : GDA_MLX5_WRITE, r->opcode);
	EXPECT_EQ(a->qp.qpc.qpn, r->qpn);
	EXPECT_EQ(24, r->len);
	EXPECT_EQ(a->mr.iova + 8, r->laddr);
	EXPECT_EQ(b->mr.iova + 16, r->raddr);
	EXPECT_EQ(a->mr.key, r->lkey);
	EXPECT_EQ(b->mr.key, r->rkey);
	wr.rkey ^= 1;
	ASSERT_NE(0, t_run(&a->qp, &wr, NULL));
	r = find(ring, RECORDS, GDA_RECORD_FAILED, 1);
	ASSERT_NE(NULL, r);
	EXPECT_EQ(GDA_CLASS_REMOTE_ACCESS, r->err_class);
	EXPECT_EQ(GDA_CAUSE_KEY, r->cause);
	munmap((void *)(uintptr_t)ring, cmd.ring.length);
}

/* Neither mapped nor made writable, nor executable, nor private; not in part. */
TEST_F(record, M3_owner_cannot_write)
{
	struct t_end *a = &self->end[0];
	struct gda_record_set cmd;
	void *p;

	ASSERT_OK(set(a->fd, RECORDS, &cmd));
	p = mmap(NULL, cmd.ring.length, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd,
		 (off_t)cmd.ring.cookie);
	EXPECT_EQ(MAP_FAILED, p);
	EXPECT_EQ(EPERM, errno);
	p = mmap(NULL, cmd.ring.length, PROT_WRITE, MAP_SHARED, a->fd, (off_t)cmd.ring.cookie);
	EXPECT_EQ(MAP_FAILED, p);
	p = mmap(NULL, cmd.ring.length, PROT_READ, MAP_PRIVATE, a->fd, (off_t)cmd.ring.cookie);
	EXPECT_EQ(MAP_FAILED, p);
	p = mmap(NULL, T_PAGE, PROT_READ, MAP_SHARED, a->fd, (off_t)cmd.ring.cookie);
	EXPECT_EQ(MAP_FAILED, p);
	p = (void *)(uintptr_t)map_ring(a->fd, &cmd);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(-1, mprotect(p, cmd.ring.length, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(p, cmd.ring.length, PROT_READ | PROT_EXEC));
	EXPECT_EQ(SIGSEGV, t_touch_write(p));
	EXPECT_EQ(0, t_touch_read(p));
	munmap(p, cmd.ring.length);
}

TEST_F(record, sizes)
{
	static const uint32_t bad[] = { 1, 63, 65, 96, 65535, 65537, 131072, 0x80000000 };
	struct gda_record_set cmd;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, set(self->end[0].fd, bad[i], &cmd));
	EXPECT_OK(set(self->end[0].fd, 0, &cmd));
	EXPECT_EQ(0, cmd.ring.length);
	EXPECT_OK(set(self->end[0].fd, GDA_RECORD_MAX, &cmd));
	EXPECT_EQ(GDA_RECORD_MAX * sizeof(struct gda_record), cmd.ring.length);
	/* the one that there is */
	EXPECT_OK(set(self->end[0].fd, GDA_RECORD_MIN, &cmd));
	EXPECT_EQ(GDA_RECORD_MAX, cmd.records);
}

struct unanswered {
	int fd;
	bool stop;
};

/* Ask for rings, with arguments that cannot be written. */
static void *ask_unanswered(void *arg)
{
	struct gda_record_set *cmd = mmap(NULL, T_PAGE, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct unanswered *u = arg;

	if (cmd == MAP_FAILED)
		return NULL;
	*cmd = (struct gda_record_set) { .size = sizeof(*cmd), .records = RECORDS };
	mprotect(cmd, T_PAGE, PROT_READ);
	while (!__atomic_load_n(&u->stop, __ATOMIC_RELAXED))
		ioctl(u->fd, GDA_IOC_RECORD, cmd);
	munmap(cmd, T_PAGE);
	return NULL;
}

/* A call that cannot be answered takes no ring away that another thread was told of. */
TEST_F(record, unanswered_call_leaves_others_rings)
{
	struct unanswered u = { .fd = self->end[0].fd };
	uint64_t until = t_now() + T_NS;
	struct gda_record_set cmd, again;
	unsigned int lost = 0, n;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, ask_unanswered, &u));
	for (n = 0; n < 2000 || t_now() < until; n++) {
		ASSERT_OK(set(u.fd, 0, &cmd));
		ASSERT_OK(set(u.fd, RECORDS, &cmd));
		ASSERT_OK(set(u.fd, RECORDS, &again));
		lost += cmd.ring.cookie != again.ring.cookie;
	}
	__atomic_store_n(&u.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	TH_LOG("%u rings, %u lost", n, lost);
	EXPECT_EQ(0, lost);
}

TEST_F(record, region)
{
	struct gda_region_query q = { .size = sizeof(q), .type = GDA_REGION_RECORD };
	struct gda_region_export e = { .size = sizeof(e), .type = GDA_REGION_RECORD };
	int fd = self->end[0].fd;
	struct gda_record_set cmd;
	const void *ring;

	EXPECT_EQ(-ENOENT, t_ioctl(fd, GDA_IOC_REGION_INFO, &q));
	ASSERT_OK(set(fd, RECORDS, &cmd));
	EXPECT_OK(t_ioctl(fd, GDA_IOC_REGION_INFO, &q));
	EXPECT_EQ(0, memcmp(&cmd.ring, &q.info, sizeof(q.info)));
	EXPECT_EQ(-EINVAL, t_ioctl(fd, GDA_IOC_REGION_EXPORT, &e));
	ring = map_ring(fd, &cmd);
	ASSERT_NE(MAP_FAILED, ring);
	/* stopping takes it away, also where it is mapped */
	ASSERT_OK(set(fd, 0, &cmd));
	EXPECT_EQ(SIGBUS, t_touch_read(ring));
	EXPECT_EQ(-ENOENT, t_ioctl(fd, GDA_IOC_REGION_INFO, &q));
	munmap((void *)(uintptr_t)ring, RECORDS * sizeof(struct gda_record));
	ASSERT_OK(set(fd, RECORDS, &cmd));
	ring = map_ring(fd, &cmd);
	ASSERT_NE(MAP_FAILED, ring);
	ASSERT_OK(t_shutdown(fd));
	EXPECT_EQ(SIGBUS, t_touch_read(ring));
	EXPECT_EQ(-ENODEV, set(fd, RECORDS, &cmd));
	munmap((void *)(uintptr_t)ring, RECORDS * sizeof(struct gda_record));
}

/* Pages of the ring count to RLIMIT_MEMLOCK of a user without privileges. */
TEST_F(record, O15_charged)
{
	pid_t pid = fork();

	ASSERT_GE(pid, 0);
	if (!pid) {
		const struct rlimit limit = { 8 * T_PAGE, 8 * T_PAGE };
		struct gda_record_set cmd;
		int fd, status = 1;

		if (setrlimit(RLIMIT_MEMLOCK, &limit) || t_drop(true))
			_exit(2);
		fd = t_context();
		if (fd < 0)
			_exit(3);
		if (set(fd, 1024, &cmd) == -ENOMEM && !set(fd, 256, &cmd) && !set(fd, 0, &cmd) &&
		    !set(fd, 512, &cmd))
			status = 0;
		_exit(status);
	}
	EXPECT_EQ(0, t_reap(pid, T_WAIT_NS));
}

/* Posts and waits until it is killed; one more QP has failed, so that the context is kept. */
static void traffic(int ready)
{
	struct gda_record_set cmd;
	struct t_end end[2];
	struct t_qp failed;
	struct t_wr wr;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (t_pair_open(end, 64, T_PAGE) || set(end[0].fd, 1024, &cmd) ||
	    t_qp_open(&failed, end[0].fd, 16) || t_connect(&failed, &failed))
		_exit(1);
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
	wr.rkey ^= 1;
	if (t_run(&failed, &wr, NULL) <= 0)
		_exit(1);
	wr.rkey ^= 1;
	if (t_run(&end[0].qp, &wr, NULL) || write(ready, &end[0].qp.qpc.qpn, 4) != 4)
		_exit(1);
	for (;;) {
		for (int i = 0; i < 32; i++)
			t_post(&end[0].qp, &wr);
		t_ring(&end[0].qp);
		t_wait(&end[0].qp, end[0].qp.next - 1, NULL);
	}
}

/* What is kept of the context whose QP @qpn did the work. */
struct kept {
	uint32_t qpn;
	bool here;			/* the messages are of a context of @pid */
	bool found;
	uint64_t seq, records, gaps, done;
	uint64_t producer, consumer, executed;
	uint32_t state, errors;
};

static void note_qp(struct kept *k, const struct t_nl_msg *msg)
{
	k->errors += t_nl_u32(msg, GDA_A_RECORD_STATE) == GDA_QP_ERROR;
	if (t_nl_u32(msg, GDA_A_RECORD_QPN) != k->qpn)
		return;
	k->found = true;
	k->state = t_nl_u32(msg, GDA_A_RECORD_STATE);
	k->producer = t_nl_u64(msg, GDA_A_RECORD_PRODUCER);
	k->consumer = t_nl_u64(msg, GDA_A_RECORD_CONSUMER);
	k->executed = t_nl_u64(msg, GDA_A_RECORD_EXECUTED);
}

static void note_record(struct kept *k, const struct nlattr *a)
{
	struct gda_record r;

	memcpy(&r, (const uint8_t *)a + NLA_HDRLEN, sizeof(r));
	k->gaps += k->seq && r.seq != k->seq + 1;
	k->seq = r.seq;
	k->records++;
	/* the last outcome of that QP */
	if (r.kind == GDA_RECORD_DONE && r.qpn == k->qpn)
		k->done = r.ticket + 1;
}

/* Read what is kept of @pid's context with QP @k->qpn. */
static int read_kept(struct t_nl *nl, pid_t pid, struct kept *k)
{
	struct t_nl_msg msg;
	int err;

	err = t_nl_dump(nl, GDA_CMD_DEAD_GET, 0);
	while (!err && (err = t_nl_next(nl, &msg)) > 0) {
		err = 0;
		if (msg.attr[GDA_A_RECORD_DEAD])
			k->here = !k->found && t_nl_u32(&msg, GDA_A_RECORD_PID) == (uint32_t)pid;
		else if (k->here && msg.attr[GDA_A_RECORD_QPN])
			note_qp(k, &msg);
		else if (k->here && k->found && msg.attr[GDA_A_RECORD_ENTRY])
			note_record(k, msg.attr[GDA_A_RECORD_ENTRY]);
	}
	return err;
}

/*
 * Killed at any moment, recording, with work posted: nothing is left but what is kept, and that has
 * the newest records without a gap, and the last state of the QPs.
 */
TEST_F_TIMEOUT(record, E4_killed, 300)
{
	unsigned long rounds = t_stress(20);
	uint64_t seed = t_seed();
	struct t_nl nl;

	TH_LOG("GDA_SEED=%llu", (unsigned long long)seed);
	ASSERT_OK(t_nl_open(&nl));
	for (unsigned long i = 0; i < rounds; i++) {
		uint64_t end = t_now() + T_WAIT_NS;
		struct kept k;
		int pipes[2];
		uint32_t qpn;
		pid_t pid;

		ASSERT_EQ(0, pipe(pipes));
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid)
			traffic(pipes[1]);
		close(pipes[1]);
		ASSERT_EQ(4, read(pipes[0], &qpn, 4));
		close(pipes[0]);
		t_sleep_ns(t_random(&seed) % (T_NS / 100));
		ASSERT_EQ(0, kill(pid, SIGKILL));
		EXPECT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS));
		do {
			k = (struct kept) { .qpn = qpn };
			ASSERT_OK(read_kept(&nl, pid, &k));
		} while (!k.found && t_now() < end);
		ASSERT_TRUE(k.found) TH_LOG("round %lu", i);
		EXPECT_LT(0, k.records);
		EXPECT_EQ(0, k.gaps);
		EXPECT_LE(1, k.errors);
		EXPECT_LE(k.consumer, k.producer);
		EXPECT_LE(1, k.executed);
		/* each outcome that left is in the record, if it is no longer than the ring */
		if (k.state == GDA_QP_READY) {
			EXPECT_EQ(k.executed, k.consumer);
			EXPECT_EQ(k.consumer, k.done);
		}
	}
	t_nl_close(&nl);
}

TEST_HARNESS_MAIN

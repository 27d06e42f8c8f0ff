// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What one tenant may use up of an RDMA device and of rdma_cm. A net namespace has few ports, for
 * all its users: queue pairs that ask, and those that have failed, take none, so that
 * another tenant and a program that binds a port by rdma_cm alone find some. And there is a limit
 * of queue pairs, whose memory the RDMA driver charges to no memory cgroup.
 */
#include <sys/resource.h>
#include <sys/utsname.h>
#include <arpa/inet.h>
#include <rdma/rdma_user_cm.h>
#include "gda_fixture.h"
#include "nl.h"
#include "rxe.h"

#define RANGE	"40000 40063"
#define DEPTH	16
#define PENDING	64		/* GDA_CM_MAX_PENDING */
#define MANY	256		/* QPs that ask: four times as many as there are ports */

T_RXE_FIXTURE(ib_limits)

static int ucma(int fd, unsigned int cmd, const void *in, size_t bytes)
{
	uint8_t buf[sizeof(struct rdma_ucm_cmd_hdr) + sizeof(struct rdma_ucm_bind)];
	const struct rdma_ucm_cmd_hdr hdr = {
		.cmd = cmd, .in = (uint16_t)bytes, .out = sizeof(struct rdma_ucm_create_id_resp),
	};

	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), in, bytes);
	return write(fd, buf, sizeof(hdr) + bytes) < 0 ? -errno : 0;
}

/* rdma_bind_addr() of any port, by the kernel's interface: no library is wanted. */
static int bind_one(void)
{
	struct rdma_ucm_create_id_resp made = { 0 };
	struct rdma_ucm_create_id create = {
		.response = (uintptr_t)&made, .ps = RDMA_PS_TCP, .qp_type = 2,
	};
	struct rdma_ucm_bind to = { .addr_size = sizeof(struct sockaddr_in) };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = ucma(fd, RDMA_USER_CM_CMD_CREATE_ID, &create, sizeof(create));
	inet_pton(AF_INET, "10.9.0.1", &sin.sin_addr);
	memcpy(&to.addr, &sin, sizeof(sin));
	to.id = made.id;
	err = err ? err : ucma(fd, RDMA_USER_CM_CMD_BIND, &to, sizeof(to));
	close(fd);
	return err;
}

static int ask(const struct t_qp *qp, const uint8_t *address)
{
	struct gda_qp_connect cmd = { .size = sizeof(cmd), .handle = qp->qpc.handle };

	memcpy(cmd.address, address, sizeof(cmd.address));
	return t_ioctl(qp->fd, GDA_IOC_QP_CONNECT, &cmd);
}

/* Others find a port. */
static void others(struct __test_metadata *_metadata)
{
	struct t_end pair[2];

	EXPECT_OK(bind_one());
	ASSERT_OK(t_ib_pair_open(pair, DEPTH, T_PAGE));
	t_pair_close(pair);
}

/* How many ids rdma_cm has. */
static long ids(void)
{
	FILE *f = popen("rdma resource show cm_id | wc -l", "re");
	long n = -1;

	if (f) {
		if (fscanf(f, "%ld", &n) != 1)
			n = -1;
		pclose(f);
	}
	return n;
}

static long ids_until(long most)
{
	long n = ids();

	for (uint64_t until = t_now() + T_WAIT_NS; n > most && t_now() < until; n = ids())
		t_sleep_ns(T_NS / 10);
	return n;
}

/* A QP that has failed has no id; QPs that wait at a peer that has not named them have no port. */
TEST_F_TIMEOUT(ib_limits, O16_failed_and_waiting, 200)
{
	struct gda_qp_address to = { .size = sizeof(to) };
	struct t_qp *qp = calloc(MANY, sizeof(*qp));
	struct t_qp target[MANY / PENDING];
	char before[32] = "32768\t60999";
	int fd, peer, file;
	long base;

	ASSERT_NE(NULL, qp);
	ASSERT_EQ(0, system("modprobe rdma_ucm"));
	file = open("/proc/sys/net/ipv4/ip_local_port_range", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, file);
	ASSERT_LT(0, read(file, before, sizeof(before) - 1));
	close(file);
	ASSERT_OK(t_write_file("/proc/sys/net/ipv4", "ip_local_port_range", RANGE));
	fd = t_context_on(T_IB);
	peer = t_context_on(T_IB);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, peer);
	for (size_t i = 0; i < ARRAY_SIZE(target); i++)
		ASSERT_OK(t_qp_open(&target[i], peer, DEPTH));
	base = ids();
	for (int i = 0; i < MANY; i++) {
		ASSERT_OK(t_qp_open(&qp[i], fd, DEPTH));
		to.handle = target[i / PENDING].qpc.handle;
		ASSERT_OK(t_ioctl(peer, GDA_IOC_QP_ADDRESS, &to));
		/* those of the first half are refused: there is no such nonce */
		to.address[15] ^= i < MANY / 2;
		ASSERT_OK(ask(&qp[i], to.address));
	}
	for (int i = 0; i < MANY / 2; i++)
		EXPECT_EQ(GDA_QP_ERROR, t_wait_state(&qp[i], GDA_QP_WAIT, T_WAIT_NS));
	others(_metadata);
	/* both ends of what waits, and of what waits no longer nothing; and some to spare */
	EXPECT_GE(base + MANY + 8, ids_until(base + MANY + 8));
	for (int i = MANY / 2; i < MANY; i++) {
		struct gda_qp_query q;

		ASSERT_OK(t_qp_query(fd, qp[i].qpc.handle, &q));
		EXPECT_EQ((uint32_t)GDA_QP_WAIT, q.state);
	}
	for (int i = 0; i < MANY; i++)
		t_qp_close(&qp[i]);
	for (size_t i = 0; i < ARRAY_SIZE(target); i++)
		t_qp_close(&target[i]);
	close(fd);
	close(peer);
	EXPECT_GE(base, ids_until(base));
	others(_metadata);
	ASSERT_OK(t_write_file("/proc/sys/net/ipv4", "ip_local_port_range", before));
	free(qp);
}

static int load_with(const char *parameters)
{
	struct utsname un;
	char path[256];
	int err = t_ib_unload();

	uname(&un);
	snprintf(path, sizeof(path), "build/%s/kmod/gda_ib/gda_ib.ko", un.release);
	return err ? err : t_module_insert(path, parameters);
}

/* A request of a QP that nobody names goes in the end, and so does its id. */
TEST_F(ib_limits, O18_held_for_a_while)
{
	struct gda_qp_address to = { .size = sizeof(to) };
	struct t_qp target, qp[8];
	int fd, peer;
	long base;

	ASSERT_OK(load_with("pending_s=2"));
	fd = t_context_on(T_IB);
	peer = t_context_on(T_IB);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, peer);
	ASSERT_OK(t_qp_open(&target, peer, DEPTH));
	to.handle = target.qpc.handle;
	ASSERT_OK(t_ioctl(peer, GDA_IOC_QP_ADDRESS, &to));
	base = ids();
	for (size_t i = 0; i < ARRAY_SIZE(qp); i++) {
		ASSERT_OK(t_qp_open(&qp[i], fd, DEPTH));
		ASSERT_OK(ask(&qp[i], to.address));
	}
	EXPECT_EQ(-ETIMEDOUT, t_wait_state(&qp[0], GDA_QP_WAIT, T_NS));
	for (size_t i = 0; i < ARRAY_SIZE(qp); i++)
		EXPECT_EQ(GDA_QP_ERROR, t_wait_state(&qp[i], GDA_QP_WAIT, T_WAIT_NS));
	/* of neither end anything is left, though all QPs are there */
	EXPECT_GE(base, ids_until(base));
	for (size_t i = 0; i < ARRAY_SIZE(qp); i++)
		t_qp_close(&qp[i]);
	/* and the target may be connected */
	ASSERT_OK(t_qp_open(&qp[0], fd, DEPTH));
	ASSERT_OK(t_connect(&target, &qp[0]));
	EXPECT_OK(t_ib_wait_ready(&target));
	t_qp_close(&qp[0]);
	t_qp_close(&target);
	close(fd);
	close(peer);
}

/* Have @n QPs, each of a peer's own, ask the QPs @target, each as many of them. */
static int ask_all(struct t_qp *qp, int n, int fd, struct t_qp *target, int targets)
{
	struct gda_qp_address to = { .size = sizeof(to) };
	int err = 0;

	for (int i = 0; i < n && !err; i++) {
		struct t_qp *t = &target[i % targets];

		to.handle = t->qpc.handle;
		err = t_qp_open(&qp[i], fd, DEPTH);
		err = err ? err : t_ioctl(t->fd, GDA_IOC_QP_ADDRESS, &to);
		err = err ? err : ask(&qp[i], to.address);
	}
	return err;
}

/* How many of @n QPs fail, and so were not held? As many as @want, in the end. */
static int refused(struct t_qp *qp, int n, int want)
{
	int failed = 0, settled = 0;

	/* a second without a change: nothing is under way any more */
	for (uint64_t until = t_now() + T_WAIT_NS; settled < 10 && t_now() < until; settled++) {
		int now = 0;

		for (int i = 0; i < n; i++) {
			struct gda_qp_query q;

			if (t_qp_query(qp[i].fd, qp[i].qpc.handle, &q))
				return -1;
			now += q.state == GDA_QP_ERROR;
		}
		if (now != failed || now < want)
			settled = 0;
		failed = now;
		t_sleep_ns(T_NS / 10);
	}
	return failed;
}

#define HELD	6
#define ASKING	16

/*
 * Two contexts of one user hold no more than the user may, beside one of each QP; what they have
 * held is given back.
 */
TEST_F(ib_limits, O18_held_of_a_user)
{
	struct t_qp target[2], qp[ASKING];
	int fd, peer[2];

	ASSERT_OK(load_with("pending_user=4 pending_context=3"));
	fd = t_context_on(T_IB);
	ASSERT_LE(0, fd);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 2; i++) {
			peer[i] = t_context_on(T_IB);
			ASSERT_LE(0, peer[i]);
			ASSERT_OK(t_qp_open(&target[i], peer[i], DEPTH));
		}
		ASSERT_OK(ask_all(qp, ASKING, fd, target, 2));
		EXPECT_EQ(ASKING - HELD, refused(qp, ASKING, ASKING - HELD));
		for (int i = 0; i < ASKING; i++)
			t_qp_close(&qp[i]);
		for (int i = 0; i < 2; i++) {
			t_qp_close(&target[i]);
			close(peer[i]);
		}
	}
	close(fd);
}

/* Nor does one context, with two QPs, hold more than it may, beside one of each. */
TEST_F(ib_limits, O18_held_of_a_context)
{
	struct t_qp target[2], qp[ASKING];
	int fd, peer;

	ASSERT_OK(load_with("pending_user=12 pending_context=4"));
	fd = t_context_on(T_IB);
	peer = t_context_on(T_IB);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, peer);
	for (int i = 0; i < 2; i++)
		ASSERT_OK(t_qp_open(&target[i], peer, DEPTH));
	ASSERT_OK(ask_all(qp, ASKING, fd, target, 2));
	EXPECT_EQ(ASKING - HELD, refused(qp, ASKING, ASKING - HELD));
	for (int i = 0; i < ASKING; i++)
		t_qp_close(&qp[i]);
	for (int i = 0; i < 2; i++)
		t_qp_close(&target[i]);
	close(fd);
	close(peer);
}

#define TARGETS	8

/*
 * Each QP of a context holds one, however many others do: so peers of a large group may be early.
 */
TEST_F(ib_limits, O18_each_queue_holds_one)
{
	struct t_qp target[TARGETS], qp[ASKING];
	int fd, peer;

	ASSERT_OK(load_with("pending_context=1"));
	fd = t_context_on(T_IB);
	peer = t_context_on(T_IB);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, peer);
	for (int i = 0; i < TARGETS; i++)
		ASSERT_OK(t_qp_open(&target[i], peer, DEPTH));
	ASSERT_OK(ask_all(qp, ASKING, fd, target, TARGETS));
	EXPECT_EQ(ASKING - TARGETS - 1, refused(qp, ASKING, ASKING - TARGETS - 1));
	for (int i = 0; i < ASKING; i++)
		t_qp_close(&qp[i]);
	for (int i = 0; i < TARGETS; i++)
		t_qp_close(&target[i]);
	close(fd);
	close(peer);
}

#define LIMIT	32

static int limit_set(uint32_t value)
{
	struct t_nl_req req;
	struct t_nl_msg msg;
	struct t_nl nl;
	int err = t_nl_open(&nl);

	if (err)
		return err;
	t_nl_begin(&nl, &req, GDA_CMD_LIMITS_SET, NLM_F_ACK);
	t_nl_put_u32(&req, GDA_A_LIMITS_MAX_EXECUTOR_QPS, value);
	err = t_nl_ask(&nl, &req, &msg);
	t_nl_close(&nl);
	return err;
}

/* A user without a limit of locked memory, in two contexts. */
static int qps_of_a_user(void *arg)
{
	struct rlimit rl = { RLIM_INFINITY, RLIM_INFINITY };
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	int fd[2], n = 0, err = 0;

	(void)arg;
	if (setrlimit(RLIMIT_MEMLOCK, &rl) || t_drop(true))
		return 101;
	for (int i = 0; i < 2; i++) {
		fd[i] = t_context_on(T_IB);
		if (fd[i] < 0 || t_cq_create(fd[i], 0, 128, &cq))
			return 102;
		while (!err && n < LIMIT * (i + 1) / 2) {
			err = t_qp_create(fd[i], cq.handle, DEPTH, &qp);
			n += !err;
		}
	}
	if (err || n != LIMIT)
		return 103;
	if (t_qp_create(fd[1], cq.handle, DEPTH, &qp) != -ENOSPC)
		return 104;
	/* the software device has no such memory */
	fd[0] = t_context();
	if (fd[0] < 0 || t_cq_create(fd[0], 0, 128, &cq))
		return 105;
	for (int i = 0; i < LIMIT; i++)
		if (t_qp_create(fd[0], cq.handle, DEPTH, &qp))
			return 106;
	return 0;
}

/* Of what nobody is charged for, one user has so much; then it is given back. */
TEST_F(ib_limits, O12_queue_pairs_of_a_user)
{
	ASSERT_OK(limit_set(LIMIT));
	EXPECT_EQ(0, t_in_child(qps_of_a_user, NULL));
	EXPECT_EQ(0, t_in_child(qps_of_a_user, NULL));
	ASSERT_OK(limit_set(4096));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Rights of readers of the netlink family: SECURITY.md P1 (what sets needs CAP_NET_ADMIN in the
 * initial user namespace). Requests that no library would send are in netlink_hostile.c.
 */
#include <sys/syscall.h>
#include <sys/prctl.h>
#include <linux/capability.h>
#include <sched.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "gda_fixture.h"
#include "nl.h"
#include "tenant.h"

FIXTURE(rights) {
	struct t_nl nl;
};

T_SETUP(rights)
{
	ASSERT_OK(t_nl_open(&self->nl));
}

T_TEARDOWN(rights)
{
	t_nl_close(&self->nl);
}

static const uint8_t object_cmds[4] = {
	GDA_CMD_QP_GET, GDA_CMD_CQ_GET, GDA_CMD_MR_GET, GDA_CMD_COUNTER_GET,
};

/* Begin a dump of what has a request of context, and of handle unless 0. */
static int dump_of(struct t_nl *nl, uint8_t cmd, uint32_t context, uint32_t handle)
{
	struct t_nl_req req;

	t_nl_begin(nl, &req, cmd, NLM_F_DUMP);
	t_nl_put_u32(&req, GDA_A_WQE_CONTEXT, context);
	if (handle)
		t_nl_put_u32(&req, GDA_A_WQE_HANDLE, handle);
	return t_nl_send(nl, &req);
}

/* ... is the record of @t seen, and an entry of its queue's? */
static int sees_inside(struct t_nl *nl, const struct t_tenant *t, bool sees)
{
	struct t_nl_req req;
	struct t_nl_msg msg;
	int want = sees ? 0 : -ENOENT, err;

	CHECK(t_nl_get(nl, GDA_CMD_RECORD_GET, t->context, 0, &msg) == want);
	CHECK(!dump_of(nl, GDA_CMD_RECORD_GET, t->context, 0));
	while ((err = t_nl_next(nl, &msg)) > 0)
		CHECK(sees);
	CHECK(err == want);
	CHECK(!dump_of(nl, GDA_CMD_WQE_GET, t->context, t->handle[0]));
	while ((err = t_nl_next(nl, &msg)) > 0)
		CHECK(sees);
	CHECK(err == want);
	t_nl_begin(nl, &req, GDA_CMD_WQE_GET, 0);
	t_nl_put_u32(&req, GDA_A_WQE_CONTEXT, t->context);
	t_nl_put_u32(&req, GDA_A_WQE_HANDLE, t->handle[0]);
	t_nl_put(&req, GDA_A_WQE_INDEX, &(uint64_t){ 0 }, 8);
	CHECK(t_nl_ask(nl, &req, &msg) == want);
	return 0;
}

/* In the caller's identity: is everything of @t seen, or nothing? */
static int sees_is(const struct t_tenant *t, bool sees)
{
	struct t_nl_msg msg;
	struct t_nl nl;
	int want = sees ? 0 : -ENOENT, err;

	CHECK(!t_nl_open(&nl));
	CHECK(t_nl_get(&nl, GDA_CMD_CONTEXT_GET, t->context, 0, &msg) == want);
	CHECK(t_nl_count(&nl, GDA_CMD_CONTEXT_GET, 0) >= sees);
	for (int i = 0; i < 4; i++) {
		CHECK(t_nl_get(&nl, object_cmds[i], t->context, t->handle[i], &msg) == want);
		CHECK(t_nl_count(&nl, object_cmds[i], t->context) == sees);
	}
	/* devices and limits are shown to everybody */
	CHECK(t_nl_count(&nl, GDA_CMD_DEVICE_GET, 0) > 0);
	CHECK(!t_nl_get(&nl, GDA_CMD_LIMITS_GET, 0, 0, &msg));
	err = sees_inside(&nl, t, sees);
	t_nl_close(&nl);
	return err;
}

static int sets(bool may, bool joins)
{
	int want = may ? 0 : -EPERM;
	struct t_nl_req req;
	struct t_nl_msg msg;
	struct t_nl nl;
	uint32_t idle;

	CHECK(!t_nl_open(&nl));
	CHECK(!t_nl_get(&nl, GDA_CMD_LIMITS_GET, 0, 0, &msg));
	idle = t_nl_u32(&msg, GDA_A_LIMITS_IDLE_US);
	t_nl_begin(&nl, &req, GDA_CMD_LIMITS_SET, NLM_F_ACK);
	t_nl_put_u32(&req, GDA_A_LIMITS_IDLE_US, idle);
	CHECK(t_nl_ask(&nl, &req, &msg) == want);
	CHECK(t_nl_get(&nl, GDA_CMD_STATS_GET, 0, 0, &msg) == want);
	CHECK(t_nl_join(&nl) == (joins ? 0 : -EPERM));
	t_nl_close(&nl);
	return 0;
}

static int as_owner(void *arg)
{
	struct t_tenant *t = arg;
	int err;

	CHECK(!t_drop(true));
	CHECK(!t_tenant_open(t));
	err = sees_is(t, true) ?: sets(false, false);
	if (err)
		return err;
	/* another process of that user's */
	if (!fork())
		_exit(sees_is(t, true));
	CHECK(wait(&err) > 0 && !err);
	return 0;
}

TEST_F(rights, P1_owner)
{
	struct t_tenant t = { 0 };

	EXPECT_EQ(0, t_in_child(as_owner, &t));
}

static int as_root(void *arg)
{
	return sees_is(arg, true) ?: sets(true, true);
}

static int as_same_user(void *arg)
{
	CHECK(!t_drop(false));
	return sees_is(arg, true) ?: sets(false, false);
}

static int as_same_user_elsewhere(void *arg)
{
	CHECK(!t_drop(false));
	return sees_is(arg, false);
}

/* Nobody, with CAP_SYS_PTRACE. */
static int as_tracer(void *arg)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { { 0 } };

	caps[0].permitted = 1U << CAP_SYS_PTRACE;
	caps[0].effective = caps[0].permitted;
	CHECK(!prctl(PR_SET_KEEPCAPS, 1) && !setresuid(T_NOBODY, T_NOBODY, T_NOBODY));
	CHECK(!syscall(SYS_capset, &header, caps));
	return sees_is(arg, true);
}

static int as_other_user(void *arg)
{
	CHECK(!t_become_other());
	return sees_is(arg, false) ?: sets(false, false);
}

static int in_other_netns(void *arg)
{
	CHECK(!unshare(CLONE_NEWNET));
	CHECK(!t_drop(false));
	return sees_is(arg, false);
}

/* The capability is that of the initial user namespace, from whatever network namespace. */
static int as_root_in_netns(void *arg)
{
	CHECK(!unshare(CLONE_NEWNET));
	return sees_is(arg, true);
}

/* Root in a user namespace, and in a network namespace of its own. */
static int as_root_of_userns(void *arg)
{
	CHECK(!t_drop(false));
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return T_SKIP;
	/* whose events are none: they are sent to the initial one */
	return sees_is(arg, false) ?: sets(false, true);
}

static int drop_net_admin(void *arg)
{
	/* root without any capability: another user than nobody */
	CHECK(!setresuid(T_OTHER, T_OTHER, 0));
	return sees_is(arg, false);
}

TEST_F(rights, P1_root)
{
	EXPECT_EQ(0, t_beside_tenant(as_root, NULL));
	EXPECT_EQ(0, t_beside_tenant(as_root_in_netns, NULL));
	EXPECT_EQ(0, t_beside_tenant(drop_net_admin, NULL));
}

TEST_F(rights, P1_same_user)
{
	EXPECT_EQ(0, t_beside_tenant(as_same_user, NULL));
}

/* A process that its user cannot trace: as a program with rights that its user has not. */
TEST_F(rights, P1_same_user_of_a_closed_process)
{
	t_tenant_closed = true;
	EXPECT_EQ(0, t_beside_tenant(as_same_user_elsewhere, NULL));
	EXPECT_EQ(0, t_beside_tenant(as_tracer, NULL));
	EXPECT_EQ(0, t_beside_tenant(as_root, NULL));
	t_tenant_closed = false;
	EXPECT_EQ(0, t_beside_tenant(as_tracer, NULL));
}

#define COUNTERS	1000

/* The owner begins a dump of several parts, and a child of its reads them. */
static int dump_is_handed_on(void *arg)
{
	struct t_tenant t;
	struct t_nl_msg msg;
	struct t_nl nl;
	int n = 0, err;

	(void)arg;
	CHECK(!t_drop(true) && !t_tenant_open(&t));
	for (int i = 1; i < COUNTERS; i++) {
		struct gda_counter_create counter = { .size = sizeof(counter) };

		CHECK(!t_ioctl(t.fd, GDA_IOC_COUNTER_CREATE, &counter));
	}
	CHECK(!t_nl_open(&nl) && !t_nl_dump(&nl, GDA_CMD_COUNTER_GET, t.context));
	if (!fork()) {
		while ((err = t_nl_next(&nl, &msg)) > 0)
			n++;
		_exit(err || n != COUNTERS);
	}
	CHECK(wait(&err) > 0 && !err);
	return 0;
}

/* What a dump shows is for the eyes of who asked for it, whoever reads its later parts. */
TEST_F(rights, P1_dump_of_a_closed_process_is_handed_on)
{
	t_tenant_closed = true;
	EXPECT_EQ(0, t_in_child(dump_is_handed_on, NULL));
	t_tenant_closed = false;
}

TEST_F(rights, P1_other_user)
{
	EXPECT_EQ(0, t_beside_tenant(as_other_user, NULL));
}

static int get_dead(struct t_nl *nl, uint32_t id)
{
	struct t_nl_req req;
	struct t_nl_msg msg;

	t_nl_begin(nl, &req, GDA_CMD_DEAD_GET, 0);
	t_nl_put_u32(&req, GDA_A_RECORD_DEAD, id);
	return t_nl_ask(nl, &req, &msg);
}

/* How many kept contexts are seen? */
static int count_dead(struct t_nl *nl)
{
	struct t_nl_msg msg;
	int n = 0, err = t_nl_dump(nl, GDA_CMD_DEAD_GET, 0);

	while (!err && (err = t_nl_next(nl, &msg)) > 0) {
		n += !!msg.attr[GDA_A_RECORD_DEAD];
		err = 0;
	}
	return err ? err : n;
}

static int dead_as_owner(void *arg)
{
	struct t_nl nl;

	(void)arg;
	CHECK(!t_drop(true));
	CHECK(!t_nl_open(&nl));
	/* the newest four of a user */
	CHECK(count_dead(&nl) >= 1 && count_dead(&nl) <= 4);
	t_nl_close(&nl);
	return 0;
}

static int dead_as_other(void *arg)
{
	struct t_nl nl;

	CHECK(!t_become_other());
	CHECK(!t_nl_open(&nl));
	CHECK(count_dead(&nl) == 0);
	CHECK(get_dead(&nl, *(uint32_t *)arg) == -ENOENT);
	t_nl_close(&nl);
	return 0;
}

TEST_F(rights, P1_dead)
{
	struct t_nl_msg msg;
	uint32_t id = 0;
	int err;

	for (int i = 0; i < 6; i++)
		ASSERT_EQ(0, t_in_child(t_tenant_die, NULL));
	ASSERT_OK(t_nl_dump(&self->nl, GDA_CMD_DEAD_GET, 0));
	while ((err = t_nl_next(&self->nl, &msg)) > 0)
		if (t_nl_u32(&msg, GDA_A_RECORD_UID) == T_NOBODY)
			id = t_nl_u32(&msg, GDA_A_RECORD_DEAD);
	ASSERT_EQ(0, err);
	ASSERT_NE(0, id);
	ASSERT_OK(get_dead(&self->nl, id));
	EXPECT_EQ(0, t_in_child(dead_as_owner, NULL));
	EXPECT_EQ(0, t_in_child(dead_as_other, &id));
}

static int new_netns(void)
{
	return unshare(CLONE_NEWNET);
}

TEST_F(rights, P1_P2_network_namespace)
{
	EXPECT_EQ(0, t_beside_tenant(in_other_netns, NULL));
	EXPECT_EQ(0, t_beside_tenant(as_same_user_elsewhere, new_netns));
	EXPECT_EQ(0, t_beside_tenant(as_root, new_netns));
}

TEST_F(rights, P1_user_namespace)
{
	int err = t_beside_tenant(as_root_of_userns, NULL);

	if (err == T_SKIP)
		SKIP(return, "no user namespaces for ordinary users");
	EXPECT_EQ(0, err);
}

/* The socket is somebody else's: what is asked on it shows what both may see. */
static int on_foreign_socket(void *arg)
{
	struct t_tenant *t = arg;
	struct t_nl_msg msg;
	struct t_nl nl;

	CHECK(!setgroups(0, NULL) && !setresgid(T_OTHER, T_OTHER, T_OTHER));
	CHECK(!setresuid(T_OTHER, T_OTHER, 0));
	CHECK(!t_nl_open(&nl));
	CHECK(!setresuid(0, 0, 0));
	CHECK(t_nl_get(&nl, GDA_CMD_CONTEXT_GET, t->context, 0, &msg) == -ENOENT);
	CHECK(t_nl_get(&nl, GDA_CMD_STATS_GET, 0, 0, &msg) == -EPERM);
	CHECK(t_nl_count(&nl, GDA_CMD_QP_GET, 0) == 0);
	t_nl_close(&nl);
	/* and the other way round */
	CHECK(!t_nl_open(&nl));
	CHECK(!setresuid(T_OTHER, T_OTHER, T_OTHER));
	CHECK(t_nl_get(&nl, GDA_CMD_CONTEXT_GET, t->context, 0, &msg) == -ENOENT);
	CHECK(t_nl_get(&nl, GDA_CMD_STATS_GET, 0, 0, &msg) == -EPERM);
	return 0;
}

TEST_F(rights, P1_socket_of_another)
{
	EXPECT_EQ(0, t_beside_tenant(on_foreign_socket, NULL));
}

/* Of a peer that is another user's, only the number. */
static int peer_of_root(void *arg)
{
	int sock = *(int *)arg, root = t_recv_fd(sock);
	struct gda_qp_create other = { 0 }, own;
	struct gda_cq_create cq;
	struct t_nl_msg msg;
	struct t_nl nl;
	int fd;

	CHECK(root >= 0 && read(sock, &other.handle, 4) == 4 && read(sock, &other.qpn, 4) == 4);
	CHECK(!setgid(T_GROUP) && !setresuid(T_NOBODY, T_NOBODY, T_NOBODY));
	fd = t_context();
	CHECK(fd >= 0 && !t_nl_open(&nl));
	CHECK(!t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq));
	CHECK(!t_qp_create(fd, cq.handle, 16, &own));
	CHECK(!t_qp_connect(fd, own.handle, root, other.handle));
	CHECK(!t_nl_get(&nl, GDA_CMD_QP_GET, t_nl_my_context(&nl), own.handle, &msg));
	CHECK(t_nl_u32(&msg, GDA_A_QP_STATE) == GDA_QP_WAIT);
	CHECK(t_nl_u32(&msg, GDA_A_QP_PEER_QPN) == other.qpn);
	CHECK(!msg.attr[GDA_A_QP_PEER_CONTEXT] && !msg.attr[GDA_A_QP_PEER_PID] &&
	      !msg.attr[GDA_A_QP_PEER_UID]);
	CHECK(!t_qp_connect(root, other.handle, fd, own.handle));
	CHECK(!t_nl_get(&nl, GDA_CMD_QP_GET, t_nl_my_context(&nl), own.handle, &msg));
	CHECK(t_nl_u32(&msg, GDA_A_QP_STATE) == GDA_QP_READY);
	CHECK(t_nl_u32(&msg, GDA_A_QP_PEER_QPN) == other.qpn);
	CHECK(!msg.attr[GDA_A_QP_PEER_CONTEXT] && !msg.attr[GDA_A_QP_PEER_PID] &&
	      !msg.attr[GDA_A_QP_PEER_UID]);
	/* a file that root opened and this user holds is still root's */
	CHECK(t_nl_count(&nl, GDA_CMD_CONTEXT_GET, 0) == 1);
	return 0;
}

TEST_F(rights, P1_peer_of_another)
{
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	int sock[2], fd = t_context();

	ASSERT_GE(fd, 0);
	ASSERT_OK(t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq));
	ASSERT_OK(t_qp_create(fd, cq.handle, 16, &qp));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	ASSERT_OK(t_send_fd(sock[0], fd));
	ASSERT_EQ(4, write(sock[0], &qp.handle, 4));
	ASSERT_EQ(4, write(sock[0], &qp.qpn, 4));
	EXPECT_EQ(0, t_in_child(peer_of_root, &sock[1]));
	close(sock[0]);
	close(sock[1]);
	close(fd);
}

/* --- limits --- */

static int limit_set(struct t_nl *nl, uint16_t attr, uint32_t value)
{
	struct t_nl_req req;
	struct t_nl_msg msg;

	t_nl_begin(nl, &req, GDA_CMD_LIMITS_SET, NLM_F_ACK);
	t_nl_put_u32(&req, attr, value);
	return t_nl_ask(nl, &req, &msg);
}

static int two_contexts(void *arg)
{
	int one, two;

	(void)arg;
	if (t_drop(true))
		return 100;
	one = t_context();
	two = t_context();
	close(one);
	return two < 0 ? -two : 0;
}

static int two_cqs(void *arg)
{
	struct gda_cq_create cq;
	int fd;

	(void)arg;
	if (t_drop(true))
		return 100;
	fd = t_context();
	if (fd < 0 || t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq))
		return 101;
	return -t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq);
}

/* A limit that is set holds from the next call on. */
TEST_F(rights, O11_limits_are_set)
{
	struct gda_query query = { .size = sizeof(query) };
	struct t_nl *nl = &self->nl;
	struct t_nl_msg msg;
	uint32_t contexts, objects, idle;
	int fd;

	ASSERT_OK(t_nl_get(nl, GDA_CMD_LIMITS_GET, 0, 0, &msg));
	contexts = t_nl_u32(&msg, GDA_A_LIMITS_MAX_CONTEXTS);
	objects = t_nl_u32(&msg, GDA_A_LIMITS_MAX_OBJECTS);
	idle = t_nl_u32(&msg, GDA_A_LIMITS_IDLE_US);
	EXPECT_EQ(0, t_in_child(two_contexts, NULL));
	ASSERT_OK(limit_set(nl, GDA_A_LIMITS_MAX_CONTEXTS, 1));
	EXPECT_EQ(ENOSPC, t_in_child(two_contexts, NULL));
	ASSERT_OK(limit_set(nl, GDA_A_LIMITS_MAX_CONTEXTS, contexts));
	EXPECT_EQ(0, t_in_child(two_contexts, NULL));
	ASSERT_OK(limit_set(nl, GDA_A_LIMITS_MAX_OBJECTS, 1));
	EXPECT_EQ(ENOSPC, t_in_child(two_cqs, NULL));
	ASSERT_OK(limit_set(nl, GDA_A_LIMITS_MAX_OBJECTS, objects));
	EXPECT_EQ(0, t_in_child(two_cqs, NULL));
	EXPECT_EQ(-ERANGE, limit_set(nl, GDA_A_LIMITS_IDLE_US, 1000001));
	ASSERT_OK(limit_set(nl, GDA_A_LIMITS_IDLE_US, 1234));
	fd = t_context();
	EXPECT_OK(t_ioctl(fd, GDA_IOC_QUERY, &query));
	EXPECT_EQ(1234000, query.idle_ns);
	close(fd);
	ASSERT_OK(limit_set(nl, GDA_A_LIMITS_IDLE_US, idle));
	ASSERT_OK(t_nl_get(nl, GDA_CMD_LIMITS_GET, 0, 0, &msg));
	EXPECT_EQ(contexts, t_nl_u32(&msg, GDA_A_LIMITS_MAX_CONTEXTS));
	EXPECT_EQ(objects, t_nl_u32(&msg, GDA_A_LIMITS_MAX_OBJECTS));
	EXPECT_EQ(idle, t_nl_u32(&msg, GDA_A_LIMITS_IDLE_US));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md P1, every operation by every kind of reader: one that may see a context is shown
 * the attributes that root is shown, each of them; one that may not is shown none. What single
 * operations do for special readers is in netlink_rights.c.
 */
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "gda_fixture.h"
#include "nl.h"
#include "tenant.h"

/* Readers that an operation is for. */
enum whose { EVERYBODY, OWNER, ADMIN };

/* The objects that a request names. */
enum names { NOTHING, DEVICE, CONTEXT, OBJECT, SLOT, RECORDS, IDLE, DEAD };

static const struct op {
	uint8_t cmd;
	bool dump;
	enum whose whose;
	enum names names;
	int object;			/* of the tenant's */
	int hidden;			/* what a dump answers where a context may not be seen */
} ops[] = {
	{ GDA_CMD_DEVICE_GET, false, EVERYBODY, DEVICE, 0, 0 },
	{ GDA_CMD_DEVICE_GET, true, EVERYBODY, NOTHING, 0, 0 },
	{ GDA_CMD_CONTEXT_GET, false, OWNER, CONTEXT, 0, 0 },
	{ GDA_CMD_CONTEXT_GET, true, OWNER, NOTHING, 0, 0 },
	{ GDA_CMD_QP_GET, false, OWNER, OBJECT, 0, 0 },
	{ GDA_CMD_QP_GET, true, OWNER, CONTEXT, 0, 0 },
	{ GDA_CMD_CQ_GET, false, OWNER, OBJECT, 1, 0 },
	{ GDA_CMD_CQ_GET, true, OWNER, CONTEXT, 0, 0 },
	{ GDA_CMD_MR_GET, false, OWNER, OBJECT, 2, 0 },
	{ GDA_CMD_MR_GET, true, OWNER, CONTEXT, 0, 0 },
	{ GDA_CMD_COUNTER_GET, false, OWNER, OBJECT, 3, 0 },
	{ GDA_CMD_COUNTER_GET, true, OWNER, CONTEXT, 0, 0 },
	{ GDA_CMD_WQE_GET, false, OWNER, SLOT, 0, 0 },
	{ GDA_CMD_WQE_GET, true, OWNER, OBJECT, 0, -ENOENT },
	{ GDA_CMD_RECORD_GET, false, OWNER, CONTEXT, 0, 0 },
	{ GDA_CMD_RECORD_GET, true, OWNER, CONTEXT, 0, -ENOENT },
	{ GDA_CMD_DEAD_GET, false, OWNER, DEAD, 0, 0 },
	{ GDA_CMD_DEAD_GET, true, OWNER, NOTHING, 0, 0 },
	{ GDA_CMD_LIMITS_GET, false, EVERYBODY, NOTHING, 0, 0 },
	{ GDA_CMD_LIMITS_SET, false, ADMIN, IDLE, 0, 0 },
	{ GDA_CMD_STATS_GET, false, ADMIN, NOTHING, 0, 0 },
	{ GDA_CMD_RECORD_SET, false, ADMIN, RECORDS, 0, 0 },
};

#define NOPS	(sizeof(ops) / sizeof(ops[0]))

T_FIXTURE(matrix);

/* The tenant's context, one of its user's that is gone, and a limit. */
struct target {
	struct t_tenant tenant;
	uint32_t dead, idle;
};

/* Answers to an operation. */
struct seen {
	int err;
	unsigned int messages;
	uint64_t attrs;			/* a bit for each that was in one of them */
};

static void put_names(struct t_nl_req *req, const struct op *op, const struct target *t)
{
	enum names names = op->names;

	if (names == DEVICE)
		t_nl_put(req, GDA_A_DEVICE_NAME, GDA_DEVICE_SOFT, sizeof(GDA_DEVICE_SOFT));
	if (names == IDLE)
		t_nl_put_u32(req, GDA_A_LIMITS_IDLE_US, t->idle);
	if (names == DEAD)
		t_nl_put_u32(req, GDA_A_RECORD_DEAD, t->dead);
	if (names == CONTEXT || names == OBJECT || names == SLOT)
		t_nl_put_u32(req, GDA_A_QP_CONTEXT, t->tenant.context);
	if (names == OBJECT || names == SLOT)
		t_nl_put_u32(req, GDA_A_QP_HANDLE, t->tenant.handle[op->object]);
	if (names == SLOT)
		t_nl_put(req, GDA_A_WQE_INDEX, &(uint64_t){ 0 }, 8);
	if (names == RECORDS) {
		t_nl_put_u32(req, GDA_A_RECORD_CONTEXT, t->tenant.context);
		t_nl_put_u32(req, GDA_A_RECORD_RECORDS, 0);
	}
}

/* Messages about other contexts, of readers that have some, do not count. */
static bool is_mine(const struct op *op, const struct t_nl_msg *msg, const struct target *t)
{
	if (op->cmd == GDA_CMD_CONTEXT_GET)
		return t_nl_u32(msg, GDA_A_CONTEXT_ID) == t->tenant.context;
	return true;
}

static struct seen look(struct t_nl *nl, const struct op *op, const struct target *t)
{
	uint16_t flags = op->dump ? NLM_F_DUMP : NLM_F_ACK;
	struct seen seen = { 0 };
	struct t_nl_msg msg;
	struct t_nl_req req;

	t_nl_begin(nl, &req, op->cmd, flags);
	put_names(&req, op, t);
	seen.err = t_nl_send(nl, &req);
	while (!seen.err && (seen.err = t_nl_next(nl, &msg)) > 0) {
		seen.err = 0;
		if (!is_mine(op, &msg, t))
			continue;
		seen.messages++;
		for (int a = 0; a < T_NL_ATTRS; a++)
			seen.attrs |= (uint64_t)!!msg.attr[a] << a;
		/* its worker runs now and then */
		if (op->cmd == GDA_CMD_CONTEXT_GET)
			seen.attrs &= ~(1ULL << GDA_A_CONTEXT_WORKER_RUNNABLE);
	}
	return seen;
}

/* As root: the number of a context of nobody's that is kept, and a limit. */
static int find_target(struct t_nl *nl, struct target *t)
{
	struct t_nl_msg msg;
	int err;

	CHECK(!t_nl_get(nl, GDA_CMD_LIMITS_GET, 0, 0, &msg));
	t->idle = t_nl_u32(&msg, GDA_A_LIMITS_IDLE_US);
	CHECK(!t_nl_dump(nl, GDA_CMD_DEAD_GET, 0));
	while ((err = t_nl_next(nl, &msg)) > 0)
		if (msg.attr[GDA_A_RECORD_DEAD] && t_nl_u32(&msg, GDA_A_RECORD_UID) == T_NOBODY)
			t->dead = t_nl_u32(&msg, GDA_A_RECORD_DEAD);
	CHECK(!err && t->dead);
	return 0;
}

/* A reader whom an operation is not for: it learns nothing, not even that there is something. */
static bool is_refused(const struct op *op, const struct seen *seen)
{
	int want = op->whose == ADMIN ? -EPERM : op->dump ? op->hidden : -ENOENT;

	return seen->err == want && !seen->messages && !seen->attrs;
}

/*
 * The values that root sees are asked for first, in the same process. Return: 0; 1 and more: the
 * operation, plus 1, that answers otherwise; or a line.
 */
static int sees(void *tenant, int (*become)(void), enum whose reader)
{
	struct target t = { .tenant = *(struct t_tenant *)tenant };
	struct seen all[NOPS];
	struct t_nl nl;
	int err;

	CHECK(!t_nl_open(&nl));
	err = find_target(&nl, &t);
	if (err)
		return err;
	for (size_t i = 0; i < NOPS; i++) {
		all[i] = look(&nl, &ops[i], &t);
		/* requests that set something are only acknowledged */
		CHECK(!all[i].err);
		CHECK(all[i].messages || ops[i].names == IDLE || ops[i].names == RECORDS);
	}
	t_nl_close(&nl);
	err = become ? become() : 0;
	if (err)
		return err;
	CHECK(!t_nl_open(&nl));
	for (size_t i = 0; i < NOPS; i++) {
		struct seen seen = look(&nl, &ops[i], &t);
		bool same = !seen.err && seen.attrs == all[i].attrs &&
			    !seen.messages == !all[i].messages;

		if (!(ops[i].whose <= reader ? same : is_refused(&ops[i], &seen)))
			return (int)i + 1;
	}
	t_nl_close(&nl);
	return 0;
}

static int become_nobody(void)
{
	return t_drop(false);
}

/* The capability and nothing else, as another user. */
static int become_admin(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { 0 };

	CHECK(!prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
	CHECK(!t_become_other());
	caps[0].effective = 1U << CAP_NET_ADMIN;
	caps[0].permitted = 1U << CAP_NET_ADMIN;
	CHECK(!syscall(SYS_capset, &header, caps));
	return 0;
}

static int become_nobody_of_netns(void)
{
	CHECK(!unshare(CLONE_NEWNET));
	return t_drop(false);
}

/* Nobody as nobody of a user namespace, in the same network namespace. */
static int become_nobody_of_userns(void)
{
	CHECK(!t_drop(false));
	return unshare(CLONE_NEWUSER) ? T_SKIP : 0;
}

/* Root of a user namespace: nobody outside of it, with all capabilities in it. */
static int become_root_of_userns(void)
{
	char map[32];

	CHECK(!t_drop(false));
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return T_SKIP;
	/* or the file is root's */
	CHECK(!prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	snprintf(map, sizeof(map), "0 %d 1", T_NOBODY);
	CHECK(!t_write_file("/proc/self", "uid_map", map));
	CHECK(getuid() == 0);
	return 0;
}

#define READER(name, become, whose)							\
static int as_##name(void *tenant)							\
{											\
	return sees(tenant, become, whose);						\
}											\
											\
TEST_F(matrix, P1_##name)								\
{											\
	int err;									\
											\
	ASSERT_EQ(0, t_in_child(t_tenant_die, NULL));					\
	err = t_beside_tenant(as_##name, NULL);						\
	if (err == T_SKIP)								\
		SKIP(return, "no user namespaces for ordinary users");			\
	EXPECT_EQ(0, err) TH_LOG("%d: an operation, the first is 1; or a line", err);	\
}

READER(owner, become_nobody, OWNER)
READER(other_uid, t_become_other, EVERYBODY)
READER(same_uid_in_another_network_namespace, become_nobody_of_netns, EVERYBODY)
READER(same_uid_in_another_user_namespace, become_nobody_of_userns, EVERYBODY)
READER(root_of_a_user_namespace, become_root_of_userns, EVERYBODY)
READER(net_admin, become_admin, ADMIN)
READER(root, NULL, ADMIN)

TEST_HARNESS_MAIN

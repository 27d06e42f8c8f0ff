// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md O6: every error path. Each call is made again and again, and the kernel
 * fails its first allocation or copy, then its second, and so on until there is none
 * left to fail (/proc/self/fail-nth). Each time the call either does what it should or
 * fails cleanly: with an errno that says so, leaving nothing behind, and the same call
 * made once more succeeds. The kernel's own checks tell all other errors. Loading the
 * modules and taking the device away are in fail_init.c.
 *
 * For a kernel with CONFIG_FAULT_INJECTION; skipped on others.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include "gda_fixture.h"
#include "nth.h"
#include "sweep.h"

static const struct op *op;

static void log_left(unsigned int n, int err, const struct t_objects *before,
		     const struct t_objects *now)
{
	static const char *const names[T_OBJECTS] = {
		[T_CONTEXTS] = "contexts", [T_QPS] = "QPs", [T_CQS] = "CQs",
		[T_COUNTERS] = "counters", [T_MRS] = "MRs", [T_REGIONS] = "regions",
		[T_PAGES] = "pages", [T_KEYS] = "keys",
	};

	printf("# %s: point %u: errno %d, left:", op->name, n, -err);
	for (size_t i = 0; i < T_OBJECTS; i++)
		if (names[i] && now->n[i] != before->n[i])
			printf(" %ld %s", now->n[i] - before->n[i], names[i]);
	printf("\n");
}

/* One point. Return: false when there was nothing left to fail. */
static bool sweep_point(struct __test_metadata *_metadata, unsigned int n, struct nth_tally *t)
{
	struct fx fx = { .op = op, .fd = -1, .event = -1, .dmabuf = -1, .dev = -1, .gpu = -1,
			 .made_fd = -1 };
	struct t_objects before, now;
	bool fired;
	int err;

	if (op->prepare)
		EXPECT_EQ(0, op->prepare(&fx));
	EXPECT_EQ(0, t_objects_read(&before));
	EXPECT_EQ(0, nth_arm(n));
	err = op->call(&fx);
	fired = nth_disarm();
	if (err) {
		t->failed++;
		EXPECT_TRUE(fired && (nth_expected(t, err) || err == op->says))
			TH_LOG("%s: point %u: errno %d", op->name, n, -err);
		if (op->cannot_fail)
			EXPECT_EQ(-EFAULT, err) TH_LOG("%s: point %u", op->name, n);
		EXPECT_EQ(0, t_objects_settle(&before, &now))
			log_left(n, err, &before, &now);
		err = op->call(&fx);
		EXPECT_EQ(0, err) TH_LOG("%s: after point %u", op->name, n);
	} else if (fired) {
		t->survived++;
	}
	if (!err && op->undo)
		op->undo(&fx);
	fx_close(&fx);
	if (fired)
		t->points++;
	return fired && _metadata->exit_code != KSFT_FAIL;
}

static void sweep(struct __test_metadata *_metadata)
{
	struct nth_tally t = { 0 };
	struct t_objects base;
	unsigned int n = 1;

	ASSERT_EQ(0, t_objects_read(&base));
	/* Once before, so that what is made once in a lifetime is there. */
	sweep_point(_metadata, 1000000, &t);
	while (n < NTH_MAX && sweep_point(_metadata, n, &t))
		n++;
	EXPECT_GT(NTH_MAX, n) TH_LOG("%s: no end", op->name);
	/* or nothing was swept */
	EXPECT_TRUE(t.points || op->asks_nothing) TH_LOG("%s: no point", op->name);
	printf("# %s: %u points, %u failed, %u survived, errnos %d %d %d %d\n", op->name,
	       t.points, t.failed, t.survived, -t.errnos[0], -t.errnos[1], -t.errnos[2],
	       -t.errnos[3]);
	T_BASE_CHECK(&base);
}

FIXTURE(fail_nth) {
	int panic_on_warn;
};

FIXTURE_VARIANT(fail_nth) {
	const char *op;
};

FIXTURE_SETUP(fail_nth)
{
	op = op_find(variant->op);
	ASSERT_NE(NULL, op);
	if (nth_open())
		SKIP(return, "no fault injection in this kernel");
	if (op->needs && access(op->needs, R_OK | W_OK))
		SKIP(return, "no %s", op->needs);
	/* dma_buf_vmap() warns of whatever an exporter's vmap answers */
	self->panic_on_warn = nth_panic_on_warn(op->warns ? 0 : -1);
}

FIXTURE_TEARDOWN(fail_nth)
{
	nth_panic_on_warn(self->panic_on_warn);
}

#define SWEEP(NAME)	FIXTURE_VARIANT_ADD(fail_nth, NAME) { .op = #NAME }

SWEEP(ioctl_BIND);
SWEEP(ioctl_QUERY);
SWEEP(ioctl_DESTROY);
SWEEP(ioctl_REGION_INFO);
SWEEP(ioctl_CQ_CREATE);
SWEEP(ioctl_QP_CREATE);
SWEEP(ioctl_QP_ADDRESS);
SWEEP(ioctl_QP_CONNECT);
SWEEP(ioctl_QP_QUERY);
SWEEP(ioctl_MR_REG_USER);
SWEEP(ioctl_MR_QUERY);
SWEEP(ioctl_CQ_EVENT);
SWEEP(ioctl_COUNTER_CREATE);
SWEEP(ioctl_MR_REG_DMABUF);
SWEEP(ioctl_REGION_EXPORT);
SWEEP(ioctl_MR_REG_PEER);
SWEEP(ioctl_DEVICE_INFO);
SWEEP(ioctl_RECORD);
SWEEP(open);
SWEEP(close);
SWEEP(shutdown);
SWEEP(cq_ring);
SWEEP(qp_full);
SWEEP(counter_first);
SWEEP(cq_event);
SWEEP(mr_many);
SWEEP(mr_fresh);
SWEEP(mr_dmabuf);
SWEEP(mr_peer);
SWEEP(mr_user_peer);
SWEEP(cq_dmabuf);
SWEEP(qp_dmabuf);
SWEEP(destroy_qp_dmabuf);
SWEEP(destroy_mr);
SWEEP(destroy_dmabuf);
SWEEP(destroy_peer);
SWEEP(invalidate);
SWEEP(close_gpu);
SWEEP(mr_moving);
SWEEP(cq_moving);
SWEEP(qp_moving);
SWEEP(destroy_qp_moving);
SWEEP(move_of_mr);
SWEEP(move_of_cq);
SWEEP(move_of_qp);
SWEEP(destroy_qp);
SWEEP(destroy_cq);
SWEEP(destroy_counter);
SWEEP(netlink_stats);
SWEEP(netlink_contexts);
SWEEP(netlink_qps);
SWEEP(map_sq);
SWEEP(map_record);
SWEEP(map_doorbell);
SWEEP(map_cq);
SWEEP(map_cq_record);
SWEEP(map_counter);
SWEEP(touch_sq);
SWEEP(touch_record);
SWEEP(touch_doorbell);
SWEEP(touch_cq);
SWEEP(touch_cq_record);
SWEEP(touch_counter);
SWEEP(unmap);
SWEEP(move);
SWEEP(fork);
SWEEP(export_sq);
SWEEP(export_record);
SWEEP(export_doorbell);
SWEEP(export_cq);
SWEEP(export_cq_record);
SWEEP(export_counter);
SWEEP(export_map);
SWEEP(export_touch);
SWEEP(export_import);
SWEEP(export_close);
SWEEP(attach_sq);
SWEEP(attach_sq_static);
SWEEP(attach_cq_static);

TEST_F_TIMEOUT(fail_nth, O6_sweep, 300)
{
	sweep(_metadata);
}

int main(int argc, char **argv)
{
	nth_begin();
	return test_harness_run(argc, argv);
}

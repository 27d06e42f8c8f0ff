// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md O6: every error path. Each call is made again and again, and the kernel
 * fails its first allocation or copy, then its second, and so on until there is none
 * left to fail (/proc/self/fail-nth). Each time the call either does what it should or
 * fails cleanly: with an errno that says so, leaving nothing behind, and the same call
 * made once more succeeds. What else goes wrong the kernel's own checks tell. Loading the
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

static bool has_dmabuf(void)
{
	return !access("/dev/udmabuf", R_OK | W_OK);
}

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
	struct fx fx = { .op = op, .fd = -1, .event = -1, .dmabuf = -1, .gpu = -1, .made_fd = -1 };
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
		EXPECT_TRUE(fired && nth_expected(t, err))
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
	if (op->needs_dmabuf && !has_dmabuf())
		SKIP(return, "no /dev/udmabuf");
	/* dma_buf_vmap() warns of whatever an exporter's vmap answers */
	self->panic_on_warn = nth_panic_on_warn(op->needs_dmabuf ? 0 : -1);
}

FIXTURE_TEARDOWN(fail_nth)
{
	nth_panic_on_warn(self->panic_on_warn);
}

#define OP(NAME)	FIXTURE_VARIANT_ADD(fail_nth, NAME) { .op = #NAME }

OP(ioctl_BIND);
OP(ioctl_QUERY);
OP(ioctl_DESTROY);
OP(ioctl_REGION_INFO);
OP(ioctl_CQ_CREATE);
OP(ioctl_QP_CREATE);
OP(ioctl_QP_ADDRESS);
OP(ioctl_QP_CONNECT);
OP(ioctl_QP_QUERY);
OP(ioctl_MR_REG_USER);
OP(ioctl_MR_QUERY);
OP(ioctl_CQ_EVENT);
OP(ioctl_COUNTER_CREATE);
OP(ioctl_MR_REG_DMABUF);
OP(ioctl_REGION_EXPORT);
OP(ioctl_MR_REG_PEER);
OP(open);
OP(close);
OP(shutdown);
OP(cq_ring);
OP(qp_full);
OP(counter_first);
OP(cq_event);
OP(mr_many);
OP(mr_fresh);
OP(mr_dmabuf);
OP(mr_peer);
OP(mr_user_peer);
OP(cq_dmabuf);
OP(qp_dmabuf);
OP(destroy_qp_dmabuf);
OP(destroy_mr);
OP(destroy_dmabuf);
OP(destroy_peer);
OP(invalidate);
OP(close_gpu);
OP(destroy_qp);
OP(destroy_cq);
OP(destroy_counter);
OP(map_sq);
OP(map_doorbell);
OP(map_cq);
OP(touch_sq);
OP(touch_doorbell);
OP(touch_cq);
OP(unmap);
OP(move);
OP(fork);
OP(export_sq);
OP(export_doorbell);
OP(export_cq);
OP(export_map);
OP(export_touch);
OP(export_import);

TEST_F_TIMEOUT(fail_nth, O6_sweep, 300)
{
	sweep(_metadata);
}

int main(int argc, char **argv)
{
	nth_begin();
	return test_harness_run(argc, argv);
}

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The sweep of one call, for programs whose variants are calls: the kernel fails its first
 * allocation or copy, then its second, and so on until there is none left to fail
 * (/proc/self/fail-nth). Each time the call either does what it should or fails cleanly:
 * with an errno that says so, leaving nothing behind, and the same call made once more succeeds.
 */
#ifndef SWEEP_RUN_H
#define SWEEP_RUN_H

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
	if (!err && op->check)
		EXPECT_EQ(0, op->check(&fx)) TH_LOG("%s: what comes of point %u", op->name, n);
	if (!err && op->undo)
		op->undo(&fx);
	fx_close(&fx);
	if (fired)
		t->points++;
	return fired && _metadata->exit_code != KSFT_FAIL;
}

static inline void sweep(struct __test_metadata *_metadata)
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

#endif /* SWEEP_RUN_H */

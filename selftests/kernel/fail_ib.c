// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md O6, as fail_nth.c: every error path of a device on rdma_rxe. What its handlers and
 * work items allocate is not the caller's, and is not failed.
 *
 * For a kernel with CONFIG_FAULT_INJECTION; skipped on others.
 */
#include "rxe.h"
#include "sweep_run.h"

FIXTURE(fail_ib) {
	bool up;
};

FIXTURE_VARIANT(fail_ib) {
	const char *op;
};

FIXTURE_SETUP(fail_ib)
{
	self->up = false;
	op = op_find(variant->op);
	ASSERT_NE(NULL, op);
	if (nth_open())
		SKIP(return, "no fault injection in this kernel");
	T_RXE_UP();
	self->up = true;
}

FIXTURE_TEARDOWN(fail_ib)
{
	if (self->up)
		EXPECT_OK(t_rxe_down());
}

#define SWEEP(NAME)	FIXTURE_VARIANT_ADD(fail_ib, NAME) { .op = #NAME }

SWEEP(ib_bind);
SWEEP(ib_qp);
SWEEP(ib_mr);
SWEEP(ib_ask);
SWEEP(ib_accept);
SWEEP(ib_destroy_qp);
SWEEP(ib_destroy_mr);
SWEEP(ib_disconnect);

TEST_F_TIMEOUT(fail_ib, O6_sweep, 300)
{
	sweep(_metadata);
}

int main(int argc, char **argv)
{
	nth_begin();
	return test_harness_run(argc, argv);
}

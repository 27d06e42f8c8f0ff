// SPDX-License-Identifier: MIT
/*
 * Queues with a copier that are connected and posted to in either order, also while the worker
 * looks at them for the first time.
 */
#include "pair.h"

FIXTURE(connect) {
	struct end end[2];
};

FIXTURE_SETUP(connect)
{
	fake_cuda_use();
	ASSERT_OK(end_open(&self->end[0], 0, 16, 0));
	ASSERT_OK(end_open(&self->end[1], 0, 16, 0));
}

FIXTURE_TEARDOWN(connect)
{
	end_close(&self->end[0]);
	end_close(&self->end[1]);
}

TEST_F(connect, E1_posted_to_at_once)
{
	const struct gda_cuda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = 16, .timeout_ns = S_TIMEOUT_NS,
	};
	struct end *e = self->end;
	struct gda_cuda_qp *qp[2];
	struct gda_view *v;
	int i, k;

	for (i = 0; i < 100; i++) {
		for (k = 0; k < 2; k++)
			ASSERT_OK(gda_cuda_qp_create(e[k].cuda, &attr, &qp[k]));
		ASSERT_OK(s_connect(gda_cuda_qp_base(qp[0]), gda_cuda_qp_base(qp[1])));
		v = gda_qp_view(gda_cuda_qp_base(qp[0]));
		ASSERT_OK(gda_wait(v, gda_put(v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 8, 0), 0));
		for (k = 0; k < 2; k++)
			gda_cuda_qp_destroy(qp[k]);
	}
}

/* What is posted before there is a peer is carried out when there is. */
TEST_F(connect, E1_posted_to_before)
{
	struct end *e = self->end;
	int64_t ticket = gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 8, 0);

	usleep(10000);
	EXPECT_EQ(0, gda_test(e[0].v, ticket));
	ASSERT_OK(s_connect(gda_cuda_qp_base(e[0].qp), gda_cuda_qp_base(e[1].qp)));
	EXPECT_OK(gda_wait(e[0].v, ticket, 0));
}

TEST_HARNESS_MAIN

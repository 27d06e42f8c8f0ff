// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md O6: every error path. Each call is swept (sweep_run.h), and the kernel's own checks
 * tell all other errors. Loading the modules and taking the device away are in fail_init.c, RDMA
 * devices in fail_ib.c.
 *
 * For a kernel with CONFIG_FAULT_INJECTION; skipped on others.
 */
#include "sweep_run.h"

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
SWEEP(ioctl_PEER_ADD);
SWEEP(efa_cq);
SWEEP(efa_qp);
SWEEP(efa_peer);
SWEEP(efa_peer_again);
SWEEP(efa_destroy_peer);
SWEEP(efa_destroy_qp);
SWEEP(efa_close);
SWEEP(open);
SWEEP(close);
SWEEP(shutdown);
SWEEP(cq_ring);
SWEEP(qp_full);
SWEEP(counter_first);
SWEEP(counter_memory);
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

// SPDX-License-Identifier: MIT
/*
 * The table of calls that NCCL finds in libnccl-rma-gda.so. The device is the process's in-process
 * device, which NCCL sees as one NIC close to every GPU.
 *
 * NCCL passes init()'s context to listen() and finalize(), but in one case passes that of another
 * plugin: so nothing here uses it.
 */
#include "nccl_internal.h"

#define GDA_NCCL_RECVS	8	/* allows 256 requests in flight to a peer */

static int gda_nccl_init(void **ctx, uint64_t comm_id, gda_nccl_log_fn log)
{
	static char context;

	(void)comm_id;
	gda_nccl_log_to(log);
	*ctx = &context;
	return GDA_NCCL_SUCCESS;
}

static int gda_nccl_devices(int *count)
{
	*count = 1;
	return GDA_NCCL_SUCCESS;
}

static int gda_nccl_get_properties(int device, struct gda_nccl_properties *properties)
{
	if (device) {
		gda_nccl_log(GDA_NCCL_LOG_WARN, "GDA: there is no device %d, only 0", device);
		return GDA_NCCL_INVALID_ARGUMENT;
	}
	*properties = (struct gda_nccl_properties){
		.name = "gda_inproc",
		.guid = 0x6764610000000001ULL,
		.ptr_support = GDA_NCCL_PTR_HOST | GDA_NCCL_PTR_CUDA,
		.speed = 200000,
		.port = 1,
		.max_comms = 65536,
		.max_recvs = GDA_NCCL_RECVS,
		.device_type = GDA_NCCL_DEVICE_PROXY,
		.virtual_nic = { .n = 1 },
		.max_p2p_bytes = 1ULL << 40,
		.max_coll_bytes = 1ULL << 40,
		.max_multi_request = 1,
		.rail = -1,
		.plane = -1,
	};
	return GDA_NCCL_SUCCESS;
}

static int gda_nccl_finalize(void *ctx)
{
	(void)ctx;
	return GDA_NCCL_SUCCESS;
}

/* A put with its signal takes two slots, a flush takes none. */
static_assert(GDA_NCCL_DEPTH >= 2 * GDA_NCCL_REQUESTS * GDA_NCCL_RECVS, "room for what NCCL asks");

const struct gda_nccl_rma ncclRmaPlugin_v14 = {
	.name = "gda",
	.init = gda_nccl_init,
	.devices = gda_nccl_devices,
	.get_properties = gda_nccl_get_properties,
	.listen = gda_nccl_listen,
	.connect = gda_nccl_connect,
	.create_context = gda_nccl_create_context,
	.reg_mr_sym = gda_nccl_reg,
	.reg_mr_sym_dmabuf = gda_nccl_reg_dmabuf,
	.dereg_mr_sym = gda_nccl_dereg,
	.destroy_context = gda_nccl_destroy_context,
	.close_coll = gda_nccl_close_coll,
	.close_listen = gda_nccl_close_listen,
	.iput = gda_nccl_iput,
	.iput_signal = gda_nccl_iput_signal,
	.iget = gda_nccl_iget,
	.iflush = gda_nccl_iflush,
	.test = gda_nccl_test,
	.progress = gda_nccl_progress,
	.query_last_error = gda_nccl_query_last_error,
	.finalize = gda_nccl_finalize,
};

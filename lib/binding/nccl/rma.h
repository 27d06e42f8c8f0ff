/* SPDX-License-Identifier: MIT */
/*
 * NCCL's RMA plugin interface, version 14, which NCCL 2.30.7 and later load: the table of calls and
 * their structures. Written anew from the interface's definition; the layout is asserted. NCCL
 * calls a group of ranks a collective communicator, and so does lib/binding/nccl.
 */
#ifndef GDA_NCCL_RMA_H
#define GDA_NCCL_RMA_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The values of ncclResult_t that are returned here. */
enum gda_nccl_result {
	GDA_NCCL_SUCCESS = 0,
	GDA_NCCL_SYSTEM_ERROR = 2,
	GDA_NCCL_INVALID_ARGUMENT = 4,
	GDA_NCCL_INVALID_USAGE = 5,
	GDA_NCCL_REMOTE_ERROR = 6,
};

/* Kinds of memory (NCCL_PTR_*), and flags of a registration (NCCL_NET_MR_FLAG_*). */
#define GDA_NCCL_PTR_HOST		0x1
#define GDA_NCCL_PTR_CUDA		0x2
#define GDA_NCCL_PTR_DMABUF		0x4
#define GDA_NCCL_MR_STRICT_ORDER	(1U << 0)
#define GDA_NCCL_MR_NEVER_RESET		(1U << 1)	/* GPUs never store to signals in it */

/* The operation of a signal on its word. */
#define GDA_NCCL_SIGNAL_INC		1U
#define GDA_NCCL_SIGNAL_ADD		2U

#define GDA_NCCL_HANDLE_BYTES		128U
#define GDA_NCCL_DEVICE_PROXY		2	/* NCCL's own thread asks */
#define GDA_NCCL_REQUESTS		32	/* in flight to a peer; times maxRecvs */

/*
 * NCCL's logger takes a level, a mask of subsystems, the place and the text. A line is printed if
 * NCCL_DEBUG has the level and NCCL_DEBUG_SUBSYS one of the subsystems; the default is INIT,
 * BOOTSTRAP and ENV. NCCL's own warnings use all subsystems.
 */
#define GDA_NCCL_LOG_WARN		2
#define GDA_NCCL_LOG_INFO		3
#define GDA_NCCL_LOG_INIT		1UL
#define GDA_NCCL_LOG_NET		16UL
#define GDA_NCCL_LOG_ALL		(~0UL)
typedef void (*gda_nccl_log_fn)(int level, unsigned long subsystems, const char *where, int line,
				const char *format, ...);

struct gda_nccl_properties {
	const char *name;
	const char *pci_path;
	uint64_t guid;
	int ptr_support;
	int reg_is_global;
	int force_flush;
	int speed;		/* Mbit/s */
	int port;
	float latency;
	int max_comms;
	int max_recvs;
	int device_type;
	int device_version;
	struct {
		int n;
		int device[8];
	} virtual_nic;
	size_t max_p2p_bytes;
	size_t max_coll_bytes;
	int max_multi_request;
	int16_t rail;
	int16_t plane;
};

static_assert(offsetof(struct gda_nccl_properties, guid) == 16, "ncclNetProperties_v12_t");
static_assert(offsetof(struct gda_nccl_properties, latency) == 44, "ncclNetProperties_v12_t");
static_assert(offsetof(struct gda_nccl_properties, device_type) == 56, "ncclNetProperties_v12_t");
static_assert(offsetof(struct gda_nccl_properties, virtual_nic) == 64, "ncclNetProperties_v12_t");
static_assert(offsetof(struct gda_nccl_properties, max_p2p_bytes) == 104,
	      "ncclNetProperties_v12_t");
static_assert(offsetof(struct gda_nccl_properties, plane) == 126, "ncclNetProperties_v12_t");
static_assert(sizeof(struct gda_nccl_properties) == 128, "ncclNetProperties_v12_t");

struct gda_nccl_config {
	int contexts;
	int traffic_class;
	int rank_stride;	/* peers are a multiple of this away */
};

static_assert(sizeof(struct gda_nccl_config) == 12, "ncclRmaConfig_v14_t");

/* ncclRma_v14_t. All calls return enum gda_nccl_result. */
struct gda_nccl_rma {
	const char *name;
	int (*init)(void **ctx, uint64_t comm_id, gda_nccl_log_fn log);
	int (*devices)(int *count);
	int (*get_properties)(int device, struct gda_nccl_properties *properties);
	int (*listen)(void *ctx, int device, void *handle, void **listener);
	int (*connect)(void *ctx, void *handles[], int ranks, int rank, void *listener,
		       void **coll);
	int (*create_context)(void *coll, struct gda_nccl_config *config, void **context);
	int (*reg_mr_sym)(void *coll, void *data, size_t size, int type, uint64_t flags,
			  void **mr);
	int (*reg_mr_sym_dmabuf)(void *coll, void *data, size_t size, int type, uint64_t offset,
				 int fd, uint64_t flags, void **mr);
	int (*dereg_mr_sym)(void *coll, void *mr);
	int (*destroy_context)(void *context);
	int (*close_coll)(void *coll);
	int (*close_listen)(void *listener);
	int (*iput)(void *context, int index, uint64_t src_offset, void *src_mr, size_t size,
		    uint64_t dst_offset, void *dst_mr, uint32_t rank, void **request);
	int (*iput_signal)(void *context, int index, uint64_t src_offset, void *src_mr,
			   size_t size, uint64_t dst_offset, void *dst_mr, uint32_t rank,
			   uint64_t signal_offset, void *signal_mr, uint64_t signal_value,
			   uint32_t signal_op, bool strong, void **request);
	int (*iget)(void *context, int index, uint64_t remote_offset, void *remote_mr,
		    size_t size, uint64_t local_offset, void *local_mr, uint32_t rank,
		    void **request);
	int (*iflush)(void *context, int index, void *mr, uint32_t rank, void **request);
	int (*test)(void *coll, void *request, int *done);
	int (*progress)(void *context);
	int (*query_last_error)(void *context, bool *has_error);
	int (*finalize)(void *ctx);
};

static_assert(offsetof(struct gda_nccl_rma, reg_mr_sym) == 7 * sizeof(void *), "ncclRma_v14_t");
static_assert(offsetof(struct gda_nccl_rma, iput) == 13 * sizeof(void *), "ncclRma_v14_t");
static_assert(offsetof(struct gda_nccl_rma, test) == 17 * sizeof(void *), "ncclRma_v14_t");
static_assert(sizeof(struct gda_nccl_rma) == 21 * sizeof(void *), "ncclRma_v14_t");

/* The symbol by which NCCL finds the table. */
extern const struct gda_nccl_rma ncclRmaPlugin_v14 __attribute__((visibility("default")));

#endif /* GDA_NCCL_RMA_H */

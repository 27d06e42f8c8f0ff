/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DEVX: commands in the format of a NIC's firmware, which create the same objects as verbs do. A
 * command's bytes are copied in once, and are at least as long as the command's fields.
 *
 * A refused command returns a status, as the firmware defines it, and a reason of this driver; the
 * program finds both in the answer.
 */
#ifndef GDA_RDMA_DEVX_H
#define GDA_RDMA_DEVX_H

#include <linux/mlx5/device.h>
#include <linux/mlx5/mlx5_ifc.h>

#include "gda_rdma.h"

/* The event queue of all CQs, which exists in name only. */
#define GDA_DEVX_EQN		1U

/* Byte offsets of fields that the kernel's description of the commands leaves out. */
#define GDA_DEVX_CQC_RECORD_UMEM	0x4
#define GDA_DEVX_QPC_RECORD_UMEM	0xe4
#define GDA_DEVX_CREATE_CQ_OFFSET	0x50
#define GDA_DEVX_CREATE_CQ_UMEM		0x58
#define GDA_DEVX_CREATE_QP_OFFSET	0x100
#define GDA_DEVX_CREATE_QP_UMEM		0x108

/**
 * enum gda_devx_reason - why a command was refused: the low half of the syndrome
 * @GDA_DEVX_OPCODE: there is no such command
 * @GDA_DEVX_INPUT: the command is too short, or has nonzero bytes behind its fields
 * @GDA_DEVX_OUTPUT: the answer does not fit
 * @GDA_DEVX_KIND: no such kind of object or capability
 * @GDA_DEVX_SIZE: bad size of a queue or an entry
 * @GDA_DEVX_UAR: the UAR does not belong to the context
 * @GDA_DEVX_EQ: there is no such event queue
 * @GDA_DEVX_UMEM: the command names no umem
 * @GDA_DEVX_PD: the context has no such protection domain
 * @GDA_DEVX_CQ: the context has no such CQ
 * @GDA_DEVX_STATE: the QP is not in the state from which the command starts
 * @GDA_DEVX_OPTION: an unsupported bit of opt_param_mask
 * @GDA_DEVX_PORT: there is no such port
 * @GDA_DEVX_ATTR: a bad attribute or named object; the status says which kind of error
 */
enum gda_devx_reason {
	GDA_DEVX_OPCODE = 1,
	GDA_DEVX_INPUT,
	GDA_DEVX_OUTPUT,
	GDA_DEVX_KIND,
	GDA_DEVX_SIZE,
	GDA_DEVX_UAR,
	GDA_DEVX_EQ,
	GDA_DEVX_UMEM,
	GDA_DEVX_PD,
	GDA_DEVX_CQ,
	GDA_DEVX_STATE,
	GDA_DEVX_OPTION,
	GDA_DEVX_PORT,
	GDA_DEVX_ATTR,
};

#define GDA_DEVX_SYNDROME	0x47440000U	/* high half of all syndromes */

/* The return value of a refused command: neither 0 nor an errno. */
#define GDA_DEVX_REFUSE(status, reason)	\
	(MLX5_CMD_STAT_##status << 16 | GDA_DEVX_##reason)

/**
 * struct gda_devx_obj - an object that a command created
 * @ctx: its context
 * @creation: opcode of the command
 * @number: the number by which commands name it
 * @name: optional; called once its creation cannot fail any more: other objects may now use it
 * @destroy: destroy and free it. 0; -EBUSY another object uses it
 */
struct gda_devx_obj {
	struct gda_rdma_ctx *ctx;
	u16 creation;
	u32 number;
	void (*name)(struct gda_devx_obj *obj);
	int (*destroy)(struct gda_devx_obj *obj);
};

/**
 * struct gda_devx_cmd - a command being carried out
 * @ctx: context of the caller
 * @obj: the command's object; for a creation, out: the new object
 * @in: the command
 * @out: buffer of the answer, zeroed
 */
struct gda_devx_cmd {
	struct gda_rdma_ctx *ctx;
	struct gda_devx_obj *obj;
	const void *in;
	void *out;
};

static inline u32 gda_devx_u32(const void *p, size_t offset)
{
	return be32_to_cpup(p + offset);
}

static inline u64 gda_devx_u64(const void *p, size_t offset)
{
	return (u64)gda_devx_u32(p, offset) << 32 | gda_devx_u32(p, offset + 4);
}

/* devx_cq.c */
int gda_devx_create_cq(struct gda_devx_cmd *cmd);

/* devx_qp.c */
int gda_devx_create_qp(struct gda_devx_cmd *cmd);
int gda_devx_modify_qp(struct gda_devx_cmd *cmd);
int gda_devx_query_qp(struct gda_devx_cmd *cmd);

/* devx_query.c */
int gda_devx_query_hca_cap(struct gda_devx_cmd *cmd);
int gda_devx_query_hca_vport(struct gda_devx_cmd *cmd);
int gda_devx_query_nic_vport(struct gda_devx_cmd *cmd);

#endif /* GDA_RDMA_DEVX_H */

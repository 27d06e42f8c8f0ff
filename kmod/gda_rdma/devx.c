// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of programs: looked up, checked for length, carried out and answered. devx_*.c carry out
 * the commands; they access no byte beyond the lengths in the table here.
 *
 * The calls return what the kernel's mlx5_ib returns for a NIC: -EREMOTEIO if the answer has the
 * reason, -EINVAL if a command comes by the wrong call or names another object.
 */
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_std_types.h>

#include "devx.h"

#define UVERBS_MODULE_NAME gda_rdma
#include <rdma/uverbs_named_ioctl.h>

#define GDA_DEVX_IN	MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr)
#define GDA_DEVX_OUT	MLX5_ST_SZ_BYTES(general_obj_out_cmd_hdr)

/* The uverbs methods that carry commands. */
enum gda_devx_call {
	GDA_DEVX_OTHER,
	GDA_DEVX_CREATE,
	GDA_DEVX_MODIFY,
	GDA_DEVX_QUERY,
};

/* A command: its minimum lengths of input and answer, and the command that created its object. */
struct gda_devx_command {
	u16 opcode;
	u16 about;
	enum gda_devx_call call;
	u32 in;
	u32 out;
	int (*run)(struct gda_devx_cmd *cmd);
};

#define GDA_DEVX_QUERIES(op, name, fn) {				\
	.opcode = MLX5_CMD_OP_##op, .call = GDA_DEVX_OTHER,		\
	.in = MLX5_ST_SZ_BYTES(name##_in),				\
	.out = MLX5_ST_SZ_BYTES(name##_out), .run = fn }
#define GDA_DEVX_CREATES(op, name, fn) {				\
	.opcode = MLX5_CMD_OP_##op, .call = GDA_DEVX_CREATE,		\
	.in = MLX5_ST_SZ_BYTES(name##_in), .out = GDA_DEVX_OUT, .run = fn }
#define GDA_DEVX_MODIFIES(op, name) {					\
	.opcode = MLX5_CMD_OP_##op, .about = MLX5_CMD_OP_CREATE_QP,	\
	.call = GDA_DEVX_MODIFY, .in = MLX5_ST_SZ_BYTES(name##_in),	\
	.out = GDA_DEVX_OUT, .run = gda_devx_modify_qp }

static const struct gda_devx_command gda_devx_commands[] = {
	GDA_DEVX_QUERIES(QUERY_HCA_CAP, query_hca_cap, gda_devx_query_hca_cap),
	GDA_DEVX_QUERIES(QUERY_HCA_VPORT_CONTEXT, query_hca_vport_context,
			 gda_devx_query_hca_vport),
	GDA_DEVX_QUERIES(QUERY_NIC_VPORT_CONTEXT, query_nic_vport_context,
			 gda_devx_query_nic_vport),
	GDA_DEVX_CREATES(CREATE_CQ, create_cq, gda_devx_create_cq),
	GDA_DEVX_CREATES(CREATE_QP, create_qp, gda_devx_create_qp),
	GDA_DEVX_MODIFIES(RST2INIT_QP, rst2init_qp),
	GDA_DEVX_MODIFIES(INIT2INIT_QP, init2init_qp),
	GDA_DEVX_MODIFIES(INIT2RTR_QP, init2rtr_qp),
	GDA_DEVX_MODIFIES(RTR2RTS_QP, rtr2rts_qp),
	GDA_DEVX_MODIFIES(RTS2RTS_QP, rts2rts_qp),
	GDA_DEVX_MODIFIES(2ERR_QP, qp_2err),
	GDA_DEVX_MODIFIES(2RST_QP, qp_2rst),
	{
		.opcode = MLX5_CMD_OP_QUERY_QP,
		.about = MLX5_CMD_OP_CREATE_QP,
		.call = GDA_DEVX_QUERY,
		.in = MLX5_ST_SZ_BYTES(query_qp_in),
		.out = MLX5_BYTE_OFF(query_qp_out, qpc) + MLX5_ST_SZ_BYTES(qpc),
		.run = gda_devx_query_qp,
	},
};

static const struct gda_devx_command *gda_devx_find(u16 opcode)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(gda_devx_commands); i++)
		if (gda_devx_commands[i].opcode == opcode)
			return &gda_devx_commands[i];
	return NULL;
}

/* Check that the command has the right length and that the answer fits. */
static int gda_devx_measure(const struct gda_devx_command *command, const void *in, size_t inlen,
			    size_t outlen)
{
	if (inlen < command->in || memchr_inv(in + command->in, 0, inlen - command->in))
		return GDA_DEVX_REFUSE(BAD_INP_LEN_ERR, INPUT);
	return outlen < command->out ? GDA_DEVX_REFUSE(BAD_OUTP_LEN_ERR, OUTPUT) : 0;
}

/* Convert an errno to the status of a command, or return the errno if no status fits. */
static int gda_devx_refusal(int err)
{
	switch (err) {
	case -ENOMEM:
	case -ENOSPC:
	case -EDQUOT:
		return GDA_DEVX_REFUSE(LIM_ERR, ATTR);
	case -EBUSY:
		return GDA_DEVX_REFUSE(RES_BUSY, ATTR);
	case -ENOENT:
		return GDA_DEVX_REFUSE(BAD_RES_ERR, ATTR);
	case -EAGAIN:
		return GDA_DEVX_REFUSE(BAD_RES_STATE_ERR, ATTR);
	case -EINVAL:
	case -EOPNOTSUPP:
	case -EOVERFLOW:
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, ATTR);
	default:
		return err;
	}
}

/* Return: whether the command came by the right method, for the object that it names. */
static bool gda_devx_fits(const struct gda_devx_command *command, enum gda_devx_call call,
			  const struct gda_devx_cmd *cmd)
{
	if (command->call != call)
		return false;
	return !cmd->obj || (command->about == cmd->obj->creation &&
			     MLX5_GET(query_qp_in, cmd->in, qpn) == cmd->obj->number);
}

static int gda_devx_run(struct gda_devx_cmd *cmd, enum gda_devx_call call, size_t inlen,
			size_t outlen)
{
	const struct gda_devx_command *command =
		gda_devx_find(MLX5_GET(general_obj_in_cmd_hdr, cmd->in, opcode));
	int ret;

	if (!command)
		return GDA_DEVX_REFUSE(BAD_OP_ERR, OPCODE);
	if (!gda_devx_fits(command, call, cmd))
		return -EINVAL;
	ret = gda_devx_measure(command, cmd->in, inlen, outlen);
	if (ret)
		return ret;
	ret = command->run(cmd);
	return ret < 0 ? gda_devx_refusal(ret) : ret;
}

/* Carry out and answer a command. If a creation could not be answered, cmd->obj stays set. */
static int gda_devx_call(struct uverbs_attr_bundle *attrs, enum gda_devx_call call, u16 in,
			 u16 out, struct gda_devx_cmd *cmd)
{
	int outlen = uverbs_attr_get_len(attrs, out);
	int ret, err;

	if (!cmd->ctx->devx)
		return -EINVAL;
	cmd->in = uverbs_attr_get_alloced_ptr(attrs, in);
	if (IS_ERR(cmd->in))
		return PTR_ERR(cmd->in);
	cmd->out = uverbs_zalloc(attrs, outlen);
	if (IS_ERR(cmd->out))
		return PTR_ERR(cmd->out);
	ret = gda_devx_run(cmd, call, uverbs_attr_get_len(attrs, in), outlen);
	if (ret < 0)
		return ret;
	MLX5_SET(general_obj_out_cmd_hdr, cmd->out, status, ret >> 16);
	if (ret)
		MLX5_SET(general_obj_out_cmd_hdr, cmd->out, syndrome,
			 GDA_DEVX_SYNDROME | (ret & 0xffff));
	err = uverbs_copy_to(attrs, out, cmd->out, outlen);
	if (err)
		return err;
	return ret ? -EREMOTEIO : 0;
}

/* Return: the context of a method on an object, which uverbs has looked up. */
static struct gda_rdma_ctx *gda_devx_ctx(struct uverbs_attr_bundle *attrs)
{
	return rdma_udata_to_drv_context(&attrs->driver_udata, struct gda_rdma_ctx, ib);
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OTHER)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *ib = ib_uverbs_get_ucontext(attrs);
	struct gda_devx_cmd cmd = { };

	if (IS_ERR(ib))
		return PTR_ERR(ib);
	cmd.ctx = gda_rdma_ctx_of(ib);
	return gda_devx_call(attrs, GDA_DEVX_OTHER, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN,
			     MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, &cmd);
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_QUERY_EQN)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *ib = ib_uverbs_get_ucontext(attrs);
	u32 vector, eqn = GDA_DEVX_EQN;
	int ret;

	if (IS_ERR(ib))
		return PTR_ERR(ib);
	ret = uverbs_copy_from(&vector, attrs, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC);
	if (ret)
		return ret;
	if (!gda_rdma_ctx_of(ib)->devx || vector >= ib->device->num_comp_vectors)
		return -EINVAL;
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, &eqn, sizeof(eqn));
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_QUERY_UAR)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *ib = ib_uverbs_get_ucontext(attrs);
	struct gda_rdma_ctx *ctx;
	u32 index;
	int ret;

	if (IS_ERR(ib))
		return PTR_ERR(ib);
	ctx = gda_rdma_ctx_of(ib);
	ret = uverbs_copy_from(&index, attrs, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX);
	if (ret)
		return ret;
	if (!ctx->devx || index)
		return -EINVAL;
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, &ctx->uar,
			      sizeof(ctx->uar));
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OBJ_CREATE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs,
							  MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
	struct gda_devx_cmd cmd = { .ctx = gda_devx_ctx(attrs) };
	int ret;

	ret = gda_devx_call(attrs, GDA_DEVX_CREATE, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN,
			    MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, &cmd);
	if (!cmd.obj)
		return ret;
	cmd.obj->ctx = cmd.ctx;
	cmd.obj->creation = MLX5_GET(general_obj_in_cmd_hdr, cmd.in, opcode);
	uobj->object = cmd.obj;
	/* on an error uverbs destroys the new object when this function returns */
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
	if (!ret && cmd.obj->name)
		cmd.obj->name(cmd.obj);
	return ret;
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OBJ_MODIFY)(struct uverbs_attr_bundle *attrs)
{
	struct gda_devx_cmd cmd = {
		.ctx = gda_devx_ctx(attrs),
		.obj = uverbs_attr_get_obj(attrs, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE),
	};

	return gda_devx_call(attrs, GDA_DEVX_MODIFY, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN,
			     MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, &cmd);
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OBJ_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct gda_devx_cmd cmd = {
		.ctx = gda_devx_ctx(attrs),
		.obj = uverbs_attr_get_obj(attrs, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE),
	};

	return gda_devx_call(attrs, GDA_DEVX_QUERY, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN,
			     MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, &cmd);
}

static int gda_devx_cleanup(struct ib_uobject *uobj, enum rdma_remove_reason why,
			    struct uverbs_attr_bundle *attrs)
{
	struct gda_devx_obj *obj = uobj->object;

	return obj->destroy(obj);
}

#define GDA_DEVX_ATTR_IN(id)						\
	UVERBS_ATTR_PTR_IN(id, UVERBS_ATTR_MIN_SIZE(GDA_DEVX_IN), UA_MANDATORY, UA_ALLOC_AND_COPY)
#define GDA_DEVX_ATTR_OUT(id)						\
	UVERBS_ATTR_PTR_OUT(id, UVERBS_ATTR_MIN_SIZE(GDA_DEVX_OUT), UA_MANDATORY)
#define GDA_DEVX_ATTR_OBJ(id, access)					\
	UVERBS_ATTR_IDR(id, MLX5_IB_OBJECT_DEVX_OBJ, access, UA_MANDATORY)

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OTHER,
	GDA_DEVX_ATTR_IN(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN),
	GDA_DEVX_ATTR_OUT(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT));
DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_QUERY_UAR,
	UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, UVERBS_ATTR_TYPE(u32),
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, UVERBS_ATTR_TYPE(u32),
			    UA_MANDATORY));
DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_QUERY_EQN,
	UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, UVERBS_ATTR_TYPE(u32),
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, UVERBS_ATTR_TYPE(u32),
			    UA_MANDATORY));
DECLARE_UVERBS_GLOBAL_METHODS(MLX5_IB_OBJECT_DEVX,
	&UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OTHER),
	&UVERBS_METHOD(MLX5_IB_METHOD_DEVX_QUERY_UAR),
	&UVERBS_METHOD(MLX5_IB_METHOD_DEVX_QUERY_EQN));

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OBJ_CREATE,
	GDA_DEVX_ATTR_OBJ(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, UVERBS_ACCESS_NEW),
	GDA_DEVX_ATTR_IN(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN),
	GDA_DEVX_ATTR_OUT(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT));
DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_DEVX_OBJ_DESTROY,
	GDA_DEVX_ATTR_OBJ(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, UVERBS_ACCESS_DESTROY));
DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OBJ_MODIFY,
	GDA_DEVX_ATTR_OBJ(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, UVERBS_ACCESS_READ),
	GDA_DEVX_ATTR_IN(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN),
	GDA_DEVX_ATTR_OUT(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT));
DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OBJ_QUERY,
	GDA_DEVX_ATTR_OBJ(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, UVERBS_ACCESS_READ),
	GDA_DEVX_ATTR_IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN),
	GDA_DEVX_ATTR_OUT(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT));
DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_DEVX_OBJ, UVERBS_TYPE_ALLOC_IDR(gda_devx_cleanup),
	&UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_CREATE),
	&UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_DESTROY),
	&UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_MODIFY),
	&UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_QUERY));

const struct uapi_definition gda_rdma_devx_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX_OBJ),
	{ }
};

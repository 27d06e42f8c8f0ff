// SPDX-License-Identifier: MIT
/*
 * The mlx5 dialect off the fast path: texts for its syndromes and opcodes.
 */
#include <gda/mlx5.h>
#include "gda_internal.h"

static const struct gda_error_text gda_syndromes[] = {
	{ GDA_MLX5_SYND_NONE, "no error" },
	{ GDA_MLX5_SYND_LOCAL_LENGTH, "local length error" },
	{ GDA_MLX5_SYND_LOCAL_QP_OP, "local QP operation error" },
	{ GDA_MLX5_SYND_LOCAL_PROT, "local protection error" },
	{ GDA_MLX5_SYND_WR_FLUSH, "flushed: something before it failed" },
	{ GDA_MLX5_SYND_BAD_RESP, "bad response" },
	{ GDA_MLX5_SYND_LOCAL_ACCESS, "local access error" },
	{ GDA_MLX5_SYND_REMOTE_INVAL_REQ, "remote invalid request" },
	{ GDA_MLX5_SYND_REMOTE_ACCESS, "remote access error" },
	{ GDA_MLX5_SYND_REMOTE_OP, "remote operation error" },
	{ GDA_MLX5_SYND_RETRY_EXC, "transport retry exceeded" },
	{ GDA_MLX5_SYND_RNR_EXC, "receiver not ready, retry exceeded" },
	{ GDA_MLX5_SYND_REMOTE_ABORTED, "remote aborted" },
};

GDA_EXPORT const char *gda_syndrome_name(uint32_t syndrome)
{
	const char *text = GDA_LOOKUP(gda_syndromes, (int)syndrome);

	return text ? text : "unknown syndrome";
}

static const struct gda_error_text gda_opcodes[] = {
	{ GDA_MLX5_NOP, "nop" },
	{ GDA_MLX5_WRITE, "put" },
	{ GDA_MLX5_WRITE_IMM, "put-imm" },
	{ GDA_MLX5_SEND, "send" },
	{ GDA_MLX5_SEND_IMM, "send-imm" },
	{ GDA_MLX5_READ, "get" },
	{ GDA_MLX5_ATOMIC_CS, "cswap" },
	{ GDA_MLX5_ATOMIC_FA, "fetch-add" },
	{ GDA_MLX5_MASKED_CS, "masked-cswap" },
	{ GDA_MLX5_MASKED_FA, "masked-add" },
	{ GDA_MLX5_DUMP, "dump" },
};

const char *gda_opcode_name(uint32_t opcode)
{
	return GDA_LOOKUP(gda_opcodes, (int)opcode);
}

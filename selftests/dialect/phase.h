/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A dialect that only tests have, unlike mlx5 wherever that is possible: slots of 32 bytes
 * in host order, a phase bit in entries and completions instead of an index, a doorbell that
 * counts slots, no doorbell record, and queues that survive what a responder refuses.
 */
#ifndef GDA_TEST_PHASE_H
#define GDA_TEST_PHASE_H

#include <linux/types.h>
#include <gda/cause.h>
#include <gda/mlx5.h>

#define PH_ID		200U
#define PH_SLOT		32U

/* ph_entry.op, the numbers of enum gda_op */
enum ph_op {
	PH_NOP,
	PH_WRITE,
	PH_READ,
	PH_WRITE_IMM,
	PH_DUMP,
	PH_WAIT,			/* refused, as the one before */
	PH_FETCH_ADD,
	PH_COMPARE_SWAP,
	PH_MASKED_FETCH_ADD,
	PH_MASKED_COMPARE_SWAP,
};

/* ph_entry.flags. The phase is 1 in even laps of the ring, 0 in odd ones. */
#define PH_PHASE	0x01
#define PH_SIGNALED	0x02
#define PH_INLINE	0x04
#define PH_SOLICITED	0x08

/* Inline bytes that an entry of one slot has in place of @laddr. */
#define PH_INLINE_SLOT	8U
/* ... and an entry of any length, as in mlx5. */
#define PH_INLINE_MAX	972U

/*
 * The first slot of an entry; longer inline payload, the operands of an atomic or an immediate
 * follow in others. Operands: added or swapped in, compared or the last bit of each field, and
 * the masks of both.
 */
struct ph_entry {
	__u8 op;		/* enum ph_op */
	__u8 flags;
	__u8 slots;
	__u8 rsvd;
	__u32 len;
	__u64 raddr;
	__u32 rkey;
	__u32 lkey;
	__u64 laddr;
};

/* ph_cqe.last: index 15:0, cause 23:16, class 28:24, kind 30:29, phase 31. */
enum ph_kind {
	PH_DONE,
	PH_IMM,
	PH_ERROR,
	PH_NONE,		/* of a collapsed CQ that was preset */
};

struct ph_cqe {
	__u64 index;
	__u64 uidx_imm;
	__u32 qpn;
	__u32 count;		/* bytes; of an error: cause 15:8 and class 7:0 of the first one */
	__u32 first;		/* low half of the index of the first error */
	__u32 last;
};

/* The code of an error as gda_syndrome_name() names it: those are mlx5's. */
static inline __u32 ph_syndrome_of(__u32 class, __u32 cause)
{
	switch (class) {
	case GDA_CLASS_NONE:
		return GDA_MLX5_SYND_NONE;
	case GDA_CLASS_LOCAL:
		return cause == GDA_CAUSE_LENGTH ? GDA_MLX5_SYND_LOCAL_LENGTH :
		       GDA_MLX5_SYND_LOCAL_PROT;
	case GDA_CLASS_REMOTE_ACCESS:
		return GDA_MLX5_SYND_REMOTE_ACCESS;
	case GDA_CLASS_REMOTE_OP:
		return GDA_MLX5_SYND_REMOTE_OP;
	case GDA_CLASS_INVALID_REQUEST:
		return GDA_MLX5_SYND_REMOTE_INVAL_REQ;
	case GDA_CLASS_RETRY:
		return GDA_MLX5_SYND_RETRY_EXC;
	case GDA_CLASS_RNR:
		return GDA_MLX5_SYND_RNR_EXC;
	case GDA_CLASS_FLUSH:
		return GDA_MLX5_SYND_WR_FLUSH;
	default:
		return GDA_MLX5_SYND_LOCAL_QP_OP;
	}
}

#endif /* GDA_TEST_PHASE_H */

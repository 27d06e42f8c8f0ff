/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A dialect that only tests have, unlike mlx5 wherever that is possible: slots of 32 bytes
 * in host order, a phase bit in entries and completions instead of an index, a doorbell of
 * 64 bits, no doorbell record, and queues that survive what a responder refuses.
 */
#ifndef GDA_TEST_PHASE_H
#define GDA_TEST_PHASE_H

#include "engine.h"

#define PH_ID		200U
#define PH_SLOT		32U

/* ph_entry.flags. The phase is 1 in even laps of the ring, 0 in odd ones. */
#define PH_PHASE	0x01
#define PH_SIGNALED	0x02
#define PH_INLINE	0x04

/* The first slot of an entry; inline payload, operands or an immediate follow in others. */
struct ph_entry {
	u8 op;			/* enum gda_op */
	u8 flags;
	u8 slots;
	u8 rsvd;
	u32 len;
	u64 raddr;
	u32 rkey;
	u32 lkey;
	u64 laddr;
};

/* ph_cqe.last: index 15:0, cause 23:16, class 28:24, enum gda_completion_kind 30:29, phase 31. */
struct ph_cqe {
	u64 index;
	u64 uidx_imm;
	u32 qpn;
	u32 count;
	u32 first;		/* low half of the index of the first error */
	u32 last;
};

#endif /* GDA_TEST_PHASE_H */

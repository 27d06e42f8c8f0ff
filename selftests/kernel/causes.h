/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Causes of failure, each made on purpose on the software device, and where they are named: the
 * QP's attributes, the event, and the record. As in gda_test.h nothing prints.
 */
#ifndef GDA_CAUSES_TEST_H
#define GDA_CAUSES_TEST_H

#include <gda/cause.h>
#include "gda_test.h"
#include "nl.h"

/* What a cause is made with: two ends that are connected, and memory that can be taken away. */
struct t_failure {
	struct t_end end[2];
	int test, buf;			/* /dev/gda_test, and a buffer of it */
	const struct t_qp *qp;		/* that fails: of end[0], or @own, in the same context */
	struct t_qp own;
	bool removed;			/* the device is gone until t_failure_close() */
};

int t_failure_open(struct t_failure *f);
int t_failure_close(struct t_failure *f);

/* What is said of a failure: without an opcode where no work request is to blame. */
struct t_cause {
	uint8_t opcode, class, cause;
	uint8_t or_class, or_cause;	/* of one that is wanted: these are as good, unless 0 */
	uint64_t ticket, executed;
};

/*
 * Wait until the QP has failed, and compare: 0; 1: the event, 2: the QP, 3: the record names
 * another cause, which is @said; or -errno. @heard has joined the group of events.
 */
int t_cause_named(struct t_nl *nl, struct t_nl *heard, uint32_t context, const struct t_qp *qp,
		  const struct t_cause *want, struct t_cause *said);

/*
 * Each makes one cause, after the two good requests on the QP of end[0] with which it was opened.
 * GDA_CAUSE_IO is not here: all memory that soft0 registers has a CPU window; nor GDA_CAUSE_FORK,
 * which only libgda says, in a child; GDA_CAUSE_FABRIC is in netlink_fabric.c, and
 * GDA_CAUSE_RESERVED, of the efa dialect, in engine/efa.
 */
int t_fail_remote_key(struct t_failure *f);
int t_fail_local_key(struct t_failure *f);
int t_fail_range(struct t_failure *f);
int t_fail_rights(struct t_failure *f);
int t_fail_align(struct t_failure *f);
int t_fail_length(struct t_failure *f);
int t_fail_recv_cq(struct t_failure *f);
int t_fail_rnr(struct t_failure *f);
int t_fail_revoked(struct t_failure *f);
int t_fail_slot_index(struct t_failure *f);
int t_fail_opcode(struct t_failure *f);
int t_fail_size(struct t_failure *f);
int t_fail_doorbell(struct t_failure *f);
int t_fail_peer(struct t_failure *f);
int t_fail_cq(struct t_failure *f);
int t_fail_queue(struct t_failure *f);
int t_fail_device(struct t_failure *f);

#define T_CAUSE(op, cls, why, at, done)							\
	{ .opcode = (op), .class = GDA_CLASS_##cls, .cause = GDA_CAUSE_##why,		\
	  .ticket = (at), .executed = (done) }

/* In a test: compare what the two sockets are told of the QP. */
#define T_EXPECT_CAUSE(nl, heard, context, qp, want) do {				\
	struct t_cause said_;								\
											\
	EXPECT_EQ(0, t_cause_named(nl, heard, context, qp, want, &said_)) {		\
		TH_LOG("class %u, cause %u, ticket %llu, executed %llu, opcode %#x",	\
		       said_.class, said_.cause, (unsigned long long)said_.ticket,	\
		       (unsigned long long)said_.executed, said_.opcode);		\
	}										\
} while (0)

#endif /* GDA_CAUSES_TEST_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Two connected queues, each with memory of a domain of its own: members of a fixture. */
#ifndef GDA_TEST_PAIR_H
#define GDA_TEST_PAIR_H

#include "host.h"
#include "kselftest_harness.h"

static int dom_a, dom_b;

#define TH_PAIR									\
	struct th_dev dev;							\
	struct th_qp *a, *b;							\
	struct th_mr *l, *r

#define TH_PAIR_OPEN(self, size) do {						\
	memset(self, 0, sizeof(*(self)));					\
	(self)->a = th_qp_new(&(self)->dev, &dom_a, 64, 0);			\
	(self)->b = th_qp_new(&(self)->dev, &dom_b, 64, 0);			\
	th_qp_pair((self)->a, (self)->b);					\
	(self)->l = th_mr_new(&(self)->dev, &dom_a, 0x10000, size, GDA_ACCESS_ALL, 12, 0); \
	(self)->r = th_mr_new(&(self)->dev, &dom_b, 0x90000, size, GDA_ACCESS_ALL, 12, 0); \
} while (0)

#define TH_PAIR_CLOSE(self) do {						\
	th_mr_free(&(self)->dev, (self)->l);					\
	th_mr_free(&(self)->dev, (self)->r);					\
	th_qp_free((self)->a);							\
	th_qp_free((self)->b);							\
} while (0)

#endif /* GDA_TEST_PAIR_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * rdma_rxe, the kernel's RDMA device in software, over a network interface that leads nowhere,
 * and gda_ib on it: put in and taken out by a test. As in gda_test.h nothing prints.
 */
#ifndef GDA_RXE_H
#define GDA_RXE_H

#include "gda_test.h"

#define T_RXE		"rxe0"
#define T_IB		"ib:" T_RXE

/* In a FIXTURE_SETUP(): t_rxe_up(), or the test is skipped. */
#define T_RXE_UP() do {								\
	int t_up = t_rxe_up();							\
										\
	if (t_up == -ENOENT)							\
		SKIP(return, "no rdma_rxe, or no gda_ib, for this kernel");	\
	ASSERT_OK(t_up);							\
} while (0)

/* The fixture @name: the device, and a pair, which is closed if the test has opened it. */
#define T_RXE_FIXTURE(name)							\
FIXTURE(name) {									\
	struct t_objects base;							\
	struct t_end end[2];							\
};										\
										\
FIXTURE_SETUP(name)								\
{										\
	T_BASE_READ(&self->base);						\
	memset(self->end, 0, sizeof(self->end));				\
	T_RXE_UP();								\
}										\
										\
FIXTURE_TEARDOWN(name)								\
{										\
	t_pair_close(self->end);						\
	EXPECT_OK(t_rxe_down());						\
	T_BASE_CHECK(&self->base);						\
}

/* The device and gda_ib. -ENOENT: this kernel has no rdma_rxe, and nothing was done. */
int t_rxe_up(void);
/* Undo t_rxe_up(), as far as it came. */
int t_rxe_down(void);

int t_rxe_add(void);			/* the device alone; the interface is there */
int t_rxe_del(void);
int t_ib_load(void);
int t_ib_unload(void);

/* t_pair_open(), over the RDMA device, and ready: who posts before has to wait only. */
int t_ib_pair_open(struct t_end end[2], uint32_t depth, size_t mr_len);
/* ... without connecting them. */
int t_ib_pair_make(struct t_end end[2], uint32_t depth, size_t mr_len);
/* Wait until a QP is ready: 0, -EIO if it failed, -ETIMEDOUT. */
int t_ib_wait_ready(const struct t_qp *qp);

#endif /* GDA_RXE_H */

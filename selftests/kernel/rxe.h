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

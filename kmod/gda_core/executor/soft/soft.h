/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the files of the software device: its peers are QPs of the same device, found
 * by number; its keys are numbers of its own.
 */
#ifndef GDA_SOFT_H
#define GDA_SOFT_H

#include "../../gda_private.h"

/**
 * struct gda_soft - one software device
 * @dev: as gda_core knows it
 * @peer_lock: who is connected to whom; it never sleeps and takes no other lock of ours
 * @keys: key >> 8 -> struct gda_mr
 * @next_key: cyclic, random start
 */
struct gda_soft {
	struct gda_device dev;
	spinlock_t peer_lock;		/* guards the endpoints of all QPs */
	struct xarray keys;
	u32 next_key;
};

static inline struct gda_soft *gda_soft_of(struct gda_device *dev)
{
	return container_of(dev, struct gda_soft, dev);
}

/* connect.c */
int gda_soft_qp_create(struct gda_executor_qp *exec);
void gda_soft_address(struct gda_executor_qp *exec, u8 *address);
int gda_soft_connect(struct gda_executor_qp *exec, const u8 *address);
void gda_soft_disconnect(struct gda_executor_qp *exec);

/* key.c */
int gda_soft_map(struct gda_executor_mr *exec, const struct gda_executor_mr_attr *attr);
void gda_soft_unmap(struct gda_executor_mr *exec);

#endif /* GDA_SOFT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The software device. gda_core itself uses only gda_soft_init() and gda_soft_exit(). The peers
 * of its QPs are QPs of the same device, found by number.
 */
#ifndef GDA_SOFT_H
#define GDA_SOFT_H

#include "../../gda_private.h"

/**
 * struct gda_soft - one software device
 * @dev: the device as gda_core sees it
 * @peer_lock: guards connections; its holder never sleeps and takes no other lock of gda_core
 */
struct gda_soft {
	struct gda_device dev;
	spinlock_t peer_lock;		/* guards the endpoints of all QPs */
};

/**
 * struct gda_soft_qp - the software device's part of a QP, struct gda_executor_qp.priv
 * @end: the QP as connections see it; under soft->peer_lock
 */
struct gda_soft_qp {
	struct gda_endpoint end;
};

static inline struct gda_soft *gda_soft_of(struct gda_device *dev)
{
	return container_of(dev, struct gda_soft, dev);
}

/* device.c */
int gda_soft_init(void);
void gda_soft_exit(void);

/* connect.c */
int gda_soft_qp_create(struct gda_executor_qp *exec);
void gda_soft_address(struct gda_executor_qp *exec, u8 *address);
int gda_soft_connect(struct gda_executor_qp *exec, const u8 *address);
struct gda_executor_qp *gda_soft_find(struct gda_device *dev, const u8 *address);
u32 gda_soft_peer(const struct gda_executor_qp *exec);
void gda_soft_disconnect(struct gda_executor_qp *exec);

#endif /* GDA_SOFT_H */

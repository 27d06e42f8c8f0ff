/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GDA_MR_H
#define GDA_MR_H

#include <gda/mem.h>

extern const struct gda_mem_kind gda_mem_user;	/* user.c */
extern const struct gda_mem_kind gda_mem_dmabuf;	/* dmabuf.c */
extern const struct gda_mem_kind gda_mem_peer;	/* peer.c */

void gda_dmabuf_init(void);	/* before the kind is offered */

#endif /* GDA_MR_H */

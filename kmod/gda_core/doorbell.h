/* SPDX-License-Identifier: GPL-2.0 */
/* Doorbells by fault (doorbell.c): a part of gda_private.h. */
#ifndef GDA_DOORBELL_H
#define GDA_DOORBELL_H

enum gda_doorbell_answer {
	GDA_DOORBELL_MAP,	/* map the page, and have the program make the store again */
	GDA_DOORBELL_STORED,	/* the store was made, and the page stays as it is */
	GDA_DOORBELL_YIELD,	/* ... and the caller should give way, once it holds no lock */
};

enum gda_doorbell_answer gda_doorbell_fault(struct gda_ctx *ctx, struct gda_db_page *db_page,
					    const struct vm_fault *vmf);
enum gda_doorbell_answer gda_doorbell_fault_all(struct gda_ctx *ctx, const struct vm_fault *vmf);
void gda_doorbell_renew(struct gda_ctx *ctx, struct gda_db_page *db_page);
void gda_doorbell_activate(struct gda_ctx *ctx, unsigned int page);
void gda_doorbell_idle(struct gda_ctx *ctx, unsigned int page);
void gda_doorbell_forget(struct gda_db_page *db_page);
void gda_doorbell_recall(struct gda_ctx *ctx);
void gda_doorbell_withdraw(struct gda_ctx *ctx);
void gda_doorbell_late(struct gda_ctx *ctx);
void gda_doorbell_poll(struct gda_region *region, int n);
void gda_doorbell_export(struct gda_region *region);
bool gda_doorbell_faults(const struct gda_db_page *db_page);
bool gda_doorbell_waits(const struct gda_db_page *db_page);
bool gda_doorbell_pending(const struct gda_db_page *db_page);

#endif /* GDA_DOORBELL_H */

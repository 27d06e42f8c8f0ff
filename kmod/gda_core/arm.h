/* SPDX-License-Identifier: GPL-2.0 */
/* CQs that their record arms (arm.c): a part of gda_private.h. */
#ifndef GDA_ARM_H
#define GDA_ARM_H

struct gda_cq;

struct gda_arm {
	const __be32 *record;		/* the word that arms it, written by user space; or NULL */
	u32 seen;			/* what was in it last */
	u64 solicited;			/* the producer's count after the last that fires each way */
};

void gda_arm_init(struct gda_cq *cq);
void gda_arm_publish(struct gda_cq *cq);
void gda_arm_kill(struct gda_cq *cq);
void gda_arm_completed(struct gda_cq *cq, const struct gda_completion *c);
void gda_arm_look(struct gda_ctx *ctx);

#endif /* GDA_ARM_H */

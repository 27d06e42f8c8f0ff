/* SPDX-License-Identifier: GPL-2.0 */
/* CQs that their record arms (arm.c): a part of gda_private.h. */
#ifndef GDA_ARM_H
#define GDA_ARM_H

struct gda_cq;

struct gda_arm {
	const __be32 *record;		/* the word by which user space arms the CQ; or NULL */
	u32 seen;			/* what was in it last */
	u64 solicited;			/* the producer's count after the last solicited entry */
	u64 told;			/* @solicited, or the producer's count, at the last event */
	u64 told_read;			/* ... and how many entries the consumer had read */
};

void gda_arm_init(struct gda_cq *cq);
void gda_arm_publish(struct gda_cq *cq);
void gda_arm_kill(struct gda_cq *cq);
void gda_arm_completed(struct gda_cq *cq, const struct gda_completion *c);
void gda_arm_look(struct gda_ctx *ctx);
void gda_arm_look_at(struct gda_cq *cq);
void gda_arm_moved(struct gda_cq *cq);

#endif /* GDA_ARM_H */

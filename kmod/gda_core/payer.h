/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The process that pays for a worker (payer.c), and the place of a worker among the threads of
 * that process (thread.c). Included by gda_private.h.
 */
#ifndef GDA_PAYER_H
#define GDA_PAYER_H

#include <linux/compiler.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct gda_ctx;
struct gda_thread;
struct pid;
struct workqueue_struct;

/* defined in main.c; runs work that may block, and has threads of its own for that */
extern struct workqueue_struct *gda_wq;

/* Where a worker should be. */
enum gda_payer_place {
	GDA_PAYER_PAYS,			/* in the cgroups of its payer */
	GDA_PAYER_FREEZES,		/* in the root, and stopped: its payer freezes, or moves */
	GDA_PAYER_GONE,			/* in the root, and slow: its payer has ended */
};

struct gda_payer {
	spinlock_t lock;		/* of the next three */
	struct pid *process;		/* referenced */
	struct pid *thread;		/* ... the one that became the payer, likewise */
	bool gone;			/* the process has ended; the next payer is not known */
	/* written by the work item of payer.c alone */
	enum gda_payer_place place;
};

void gda_payer_init(struct gda_ctx *ctx);
void gda_payer_bind(struct gda_ctx *ctx);
void gda_payer_become(struct gda_payer *payer);
void gda_payer_free(struct gda_ctx *ctx);
void gda_payer_exit(void);

/*
 * A process uses the context, by a call or by a store: if the context has no payer, the process
 * becomes it.
 */
static inline void gda_payer_adopt(struct gda_payer *payer)
{
	if (unlikely(READ_ONCE(payer->gone)))
		gda_payer_become(payer);
}

struct gda_thread *gda_thread_reserve(void);
void gda_thread_release(struct gda_thread *thread);

#endif /* GDA_PAYER_H */

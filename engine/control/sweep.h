/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Which of its queues a worker visits in a pass: each queue that had work lately, and a few of
 * the idle ones. Portable like the engine; only the worker uses a sweep, and only @used is
 * written by others meanwhile.
 *
 * A sweep visits every idle queue once and ends at the last queue. A pass visits GDA_SWEEP_IDLE
 * idle queues for each busy one. A queue without work during a whole sweep becomes idle at its end.
 * So the cost of idle queues does not grow with their number, and new work of an idle queue is
 * found after at most 1 / GDA_SWEEP_IDLE passes per idle queue. A worker that found no work in its
 * last pass visits all queues.
 */
#ifndef GDA_CONTROL_SWEEP_H
#define GDA_CONTROL_SWEEP_H

#include "gda_os.h"

/* How many idle queues a pass visits for each busy one. */
#define GDA_SWEEP_IDLE	2U

#define GDA_SWEEP_WORD	((u32)(8 * sizeof(unsigned long)))

/**
 * struct gda_sweep - the queues of a worker, a bit for each in bitmaps of one length
 * @used: queues that exist
 * @busy: queues that had work in this sweep or in the last one
 * @fresh: queues that had work in this sweep
 * @cursor: the queue at which the sweep continues
 */
struct gda_sweep {
	const unsigned long *used;
	unsigned long *busy;
	unsigned long *fresh;
	u32 cursor;
};

/**
 * struct gda_sweep_pass - the progress of a pass
 * @words: length of the bitmaps
 * @word: word of @busy whose queues are being visited; @words once all were visited
 * @left: busy queues of that word that were not visited yet
 * @idle: idle queues that may still be visited
 * @all: visit all idle queues
 */
struct gda_sweep_pass {
	u32 words;
	u32 word;
	unsigned long left;
	u32 idle;
	bool all;
};

/**
 * gda_sweep_begin - begin a pass
 * @s: the sweep
 * @pass: out
 * @words: words of each bitmap that have queues
 * @all: visit all queues, because there was no work lately
 */
void gda_sweep_begin(struct gda_sweep *s, struct gda_sweep_pass *pass, u32 words, bool all);

/**
 * gda_sweep_next - choose the next queue of a pass, busy ones first; each queue comes once
 * @s: the sweep
 * @pass: the pass
 * @i: out, the queue's bit; the queue may be gone meanwhile
 *
 * Return: false at the end of the pass.
 */
bool gda_sweep_next(struct gda_sweep *s, struct gda_sweep_pass *pass, u32 *i);

/* Queue @i had work. */
static inline void gda_sweep_worked(struct gda_sweep *s, u32 i)
{
	unsigned long bit = 1UL << i % GDA_SWEEP_WORD;

	s->busy[i / GDA_SWEEP_WORD] |= bit;
	s->fresh[i / GDA_SWEEP_WORD] |= bit;
}

#endif /* GDA_CONTROL_SWEEP_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Which of its queues a worker visits in a pass: each one that had work lately, and a few of
 * the others. Portable like the engine; only the worker uses a sweep, and only @used is
 * written by others meanwhile.
 *
 * A sweep visits every idle queue once, GDA_SWEEP_IDLE of them for each busy one and pass, and
 * ends where the queues do. A queue without work in a whole sweep is idle from its end on. So
 * the cost of idle queues does not grow with their number, and the first work of an idle queue
 * is found after 1 / GDA_SWEEP_IDLE passes for each idle queue at the latest. A worker that
 * found no work in its last pass visits all queues.
 */
#ifndef GDA_CONTROL_SWEEP_H
#define GDA_CONTROL_SWEEP_H

#include "gda_os.h"

/* Idle queues that are visited for each busy one. */
#define GDA_SWEEP_IDLE	2U

#define GDA_SWEEP_WORD	((u32)(8 * sizeof(unsigned long)))

/**
 * struct gda_sweep - the queues of a worker, a bit for each in bitmaps of one length
 * @used: queues that there are
 * @busy: queues that had work in this sweep or in the last one
 * @fresh: queues that had work in this sweep
 * @cursor: the sweep goes on at this queue
 */
struct gda_sweep {
	const unsigned long *used;
	unsigned long *busy;
	unsigned long *fresh;
	u32 cursor;
};

/**
 * struct gda_sweep_pass - how far a pass has come
 * @words: length of the bitmaps
 * @word: word of @busy whose queues are being visited; @words if all were
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
 * @all: visit all queues, for there was no work lately
 */
void gda_sweep_begin(struct gda_sweep *s, struct gda_sweep_pass *pass, u32 words, bool all);

/**
 * gda_sweep_next - choose the next queue of a pass, each once: first busy ones, then idle ones
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

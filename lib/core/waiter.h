/* SPDX-License-Identifier: MIT */
/*
 * How a thread of this library passes the time between two looks at what it waits for. Every part
 * that polls calls these two; a part with a word that the other side rings may sleep on it after.
 */
#ifndef GDA_WAITER_H
#define GDA_WAITER_H

#include <stdint.h>

/* Looks between two yields of a thread that has found its processor its own. */
#define GDA_WAITER_SHORT	64U	/* where processors are fewer than threads that poll */
#define GDA_WAITER_OFTEN	256U
#define GDA_WAITER_RARELY	1024U	/* the device needs no processor, as far as is known */

/*
 * After the @polls-th look in vain, from 1 on, pause, or let other threads run. @most: a
 * GDA_WAITER_*; a thread that shares its processor yields much earlier.
 */
void gda_waiter_rest(unsigned int polls, unsigned int most);

/*
 * Let other threads run, as gda_yield(). Return: the ns for which the processor was another
 * thread's, 0: none wanted it.
 */
uint64_t gda_waiter_yield(void);

#endif /* GDA_WAITER_H */

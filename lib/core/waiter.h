/* SPDX-License-Identifier: MIT */
/*
 * How a thread of this library passes the time between two polls. Every part that polls calls these
 * two functions; a part whose other side can wake it may sleep after them.
 */
#ifndef GDA_WAITER_H
#define GDA_WAITER_H

#include <stdint.h>

/* Polls between two yields of a thread that has its processor to itself. */
#define GDA_WAITER_SHORT	64U	/* where processors are fewer than threads that poll */
#define GDA_WAITER_OFTEN	256U
#define GDA_WAITER_RARELY	1024U	/* the device needs no processor, as far as is known */

/*
 * Called after the @polls-th poll in vain, from 1 on: pause, or let other threads run. @most: a
 * GDA_WAITER_*; a thread that shares its processor yields much earlier.
 */
void gda_waiter_rest(unsigned int polls, unsigned int most);

/*
 * Let other threads run, as gda_yield(). Return: for how many ns another thread had the processor;
 * 0: none wanted it.
 */
uint64_t gda_waiter_yield(void);

#endif /* GDA_WAITER_H */

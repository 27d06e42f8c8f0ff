/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A sweep makes a call again and again, and fails in it the first allocation or copy,
 * then the second, until there is none left to fail.
 */
#ifndef NTH_H
#define NTH_H

#include <stdbool.h>

#define NTH_MAX	3000		/* points; a call that has more has no end */

struct nth_tally {
	unsigned int points;
	unsigned int failed;
	unsigned int survived;		/* the call succeeded all the same */
	int errnos[4];
};

/* First in main(): what the kernel will say, and what cannot bear failures. */
void nth_begin(void);
/* Any allocation and any copy can fail, and no word about it: 0, or -errno if none can. */
int nth_open(void);
/* The caller's @n-th is to fail from here on, if it comes to that: 0 or -errno. */
int nth_arm(unsigned int n);
/* Return: whether something was failed since nth_arm(). */
bool nth_disarm(void);
/* Whether @err is an answer to want of memory or to memory that cannot be read. */
bool nth_expected(struct nth_tally *t, int err);
/* Set the sysctl, unless @value is negative. Return: what it was. */
int nth_panic_on_warn(int value);

#endif /* NTH_H */

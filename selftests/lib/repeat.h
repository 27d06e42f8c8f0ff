/* SPDX-License-Identifier: MIT */
/* How often a test does what it repeats: $GDA_STRESS, and what is slow here. */
#ifndef SELFTESTS_LIB_REPEAT_H
#define SELFTESTS_LIB_REPEAT_H

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* $GDA_STRESS where it asks for more, else 1. */
static inline unsigned int test_times(void)
{
	const char *env = getenv("GDA_STRESS");
	int times = env ? atoi(env) : 1;

	return times > 1 ? (unsigned int)times : 1;
}

/* Emulated, or under a sanitizer. */
static inline bool test_slow(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	return true;
#else
	return !access("/dev/gda", F_OK);
#endif
}

#endif /* SELFTESTS_LIB_REPEAT_H */

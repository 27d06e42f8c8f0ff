// SPDX-License-Identifier: MIT
/*
 * Replaces the C library's fork(2) in static programs: it fails, because the child would write to
 * the parent's variables (segment.c). The linker takes this file from libgda-shmem.a if the program
 * calls fork(); in libgda-shmem.so it is not used.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "osh.h"

/* The C library's function, of which fork() is a weak alias. */
extern pid_t __fork(void);

pid_t fork(void)
{
	static bool said;

	if (!gda_osh_fork_is_refused())
		return __fork();
	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		fprintf(stderr,
			"PE %d: %s: %s: link it dynamically, or start programs with posix_spawn(3)\n",
			gda_osh.me, __func__, "a static program cannot fork after shmem_init()");
	errno = ENOTSUP;
	return -1;
}

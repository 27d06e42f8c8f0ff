// SPDX-License-Identifier: MIT
/*
 * malloc(3) that has no room for a line of gda-run's, for run.sh.
 */
#include <stddef.h>

#define LINE	65536U	/* STREAM_LINE */

void *__libc_malloc(size_t bytes);

void *malloc(size_t bytes)
{
	return bytes == LINE ? NULL : __libc_malloc(bytes);
}

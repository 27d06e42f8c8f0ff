/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What clients of vendors need of a processor, for a CPU: kernels are functions. */
#ifndef GDA_VENDORS_CPU_H
#define GDA_VENDORS_CPU_H

#include <stdlib.h>
#include <thread>
#include <vector>
#include "cpu_cuda.h"

/* Run a kernel to its end, by one thread or by @n; whether it ran. */
#define RUN(kernel, e)		(kernel(e), true)
#define RUN_BY(kernel, e, n)	(run_by(kernel, e, n), true)

thread_local cpu_index threadIdx;

template <typename T>
static inline void run_by(void (*kernel)(T *), T *e, int n)
{
	std::vector<std::thread> threads;

	for (int i = 0; i < n; i++)
		threads.emplace_back([=] {
			threadIdx.x = (unsigned int)i;
			kernel(e);
		});
	for (std::thread &t : threads)
		t.join();
}

static bool present(void)
{
	return true;
}

static void *memory_new(size_t bytes)
{
	return calloc(1, bytes);
}

static void memory_free(void *p)
{
	free(p);
}

static bool reach(void *, size_t)
{
	return true;
}

#endif /* GDA_VENDORS_CPU_H */

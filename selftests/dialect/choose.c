// SPDX-License-Identifier: MIT
/*
 * Which dialect a queue of this library's speaks when its creator names none: both in turn, so
 * that queues of one context, and the two ends of a connection, differ. GDA_TEST_DIALECT is
 * "mlx5" or "phase" for one of them alone.
 */
#include <stdlib.h>
#include <string.h>
#include <gda/wqe.h>

uint32_t gda_test_dialect(void)
{
	static unsigned int turn;
	const char *name = getenv("GDA_TEST_DIALECT");

	if (name && !strcmp(name, "mlx5"))
		return GDA_DIALECT_MLX5;
	if (name && !strcmp(name, "phase"))
		return GDA_WQE_TEST;
	return __atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) % 2 ? GDA_DIALECT_MLX5 :
								    GDA_WQE_TEST;
}

// SPDX-License-Identifier: MIT
/*
 * heap - an OpenSHMEM program that asks for more than its heap has, for ten.sh
 */
#include <shmem.h>

int main(void)
{
	shmem_init();
	if (!shmem_malloc(64U << 20))
		shmem_global_exit(1);
	shmem_finalize();
	return 0;
}

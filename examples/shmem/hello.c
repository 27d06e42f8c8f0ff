// SPDX-License-Identifier: MIT
/*
 * The first OpenSHMEM program: each PE says who it is.
 *
 *   oshcc hello.c -o hello && oshrun -n 4 ./hello
 */
#include <stdio.h>
#include <shmem.h>

int main(void)
{
	char name[SHMEM_MAX_NAME_LEN];
	int major, minor;

	shmem_init();
	shmem_info_get_name(name);
	shmem_info_get_version(&major, &minor);
	printf("PE %d of %d (%s, OpenSHMEM %d.%d)\n", shmem_my_pe(), shmem_n_pes(), name, major,
	       minor);
	shmem_finalize();
	return 0;
}

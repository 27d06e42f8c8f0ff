// SPDX-License-Identifier: MIT
/*
 * A block of data and the news that it is there, in one call. PE 0 puts a message to each
 * of the others; the receiver waits for the signal word, after which it may read.
 *
 *   oshcc put_signal.c -o put_signal && oshrun -n 4 ./put_signal
 */
#include <stdio.h>
#include <string.h>
#include <shmem.h>

static uint64_t arrived;

int main(void)
{
	char text[64], *inbox;
	int me, npes, pe;

	shmem_init();
	me = shmem_my_pe();
	npes = shmem_n_pes();
	inbox = shmem_calloc(1, sizeof(text));
	if (!inbox)
		shmem_global_exit(1);

	if (!me) {
		for (pe = 1; pe < npes; pe++) {
			snprintf(text, sizeof(text), "for PE %d from PE %d", pe, me);
			shmem_putmem_signal(inbox, text, sizeof(text), &arrived, 1,
					    SHMEM_SIGNAL_SET, pe);
		}
	} else {
		shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, 1);
		snprintf(text, sizeof(text), "for PE %d from PE 0", me);
		printf("PE %d got \"%s\"\n", me, inbox);
		if (strcmp(inbox, text))
			shmem_global_exit(1);
	}
	shmem_free(inbox);
	shmem_finalize();
	return 0;
}

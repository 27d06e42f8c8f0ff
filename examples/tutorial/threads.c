// SPDX-License-Identifier: MIT
/* Four threads post to one queue. */
#include <pthread.h>
#include "tutorial.h"

#define THREADS	4
#define ADDS	500

static struct {
	uint64_t sum;
	uint64_t before[THREADS];
} memory;

static struct end end;

static void *add(void *before)
{
	struct gda_view *view = gda_qp_view(end.qp);
	uint32_t key = gda_mr_key(end.mr);
	int64_t ticket = -1;

	for (int i = 0; i < ADDS; i++)
		ticket = MUST(gda_fetch_add(view, (uintptr_t)before, key, (uintptr_t)&memory.sum,
					    key, 1, 0));
	MUST(gda_wait(view, ticket, in_ms(10000)));
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	end_open(&end, &memory, sizeof(memory));
	end_connect(&end, &end);
	for (int i = 0; i < THREADS; i++)
		MUST(-pthread_create(&thread[i], NULL, add, &memory.before[i]));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%d threads have added 1, %d times each: %llu\n", THREADS, ADDS,
	       (unsigned long long)memory.sum);
	end_close(&end);
	return 0;
}

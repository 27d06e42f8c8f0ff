// SPDX-License-Identifier: MIT
/*
 * What a program is told about its heap, and which of many words is found: small PART.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <shmem.h>

#define WORDS	4

static long words[WORDS];

/* No allocation of these fits; what is free is not lost. */
static int try_full(void)
{
	char *p = shmem_malloc(300000);
	int bad = !p;

	bad += !!shmem_malloc(1UL << 40);
	bad += !!shmem_malloc(SIZE_MAX);
	bad += !!shmem_calloc(SIZE_MAX / 2, 3);
	bad += !!shmem_align(1UL << 30, 64);
	bad += !!shmem_realloc(p, 1UL << 40);
	shmem_free(p);
	p = shmem_malloc(300000);
	shmem_free(p);
	return bad + !p;
}

/* Each word of which the comparison holds has its turn. */
static int try_any(void)
{
	int status[WORDS] = { 0, 1, 0, 0 }, seen[WORDS] = { 0 }, bad = 0, i;
	size_t at;

	for (i = 0; i < WORDS; i++)
		words[i] = 1;
	for (i = 0; i < 3 * WORDS; i++) {
		at = i % 2 ? shmem_long_test_any(words, WORDS, NULL, SHMEM_CMP_EQ, 1) :
			     shmem_long_wait_until_any(words, WORDS, NULL, SHMEM_CMP_EQ, 1);
		bad += at >= WORDS || seen[at]++ != i / WORDS;
	}
	for (i = 0; i < 3; i++)
		bad += shmem_long_test_any(words, WORDS, status, SHMEM_CMP_EQ, 1) == 1;
	/* the last answer was beyond these */
	shmem_long_test_any(words + 3, 1, NULL, SHMEM_CMP_EQ, 1);
	bad += shmem_long_test_any(words, 1, NULL, SHMEM_CMP_EQ, 1) != 0;
	bad += shmem_long_test_any(words, WORDS, NULL, SHMEM_CMP_EQ, 2) != SIZE_MAX;
	bad += shmem_long_test_any(words, 0, NULL, SHMEM_CMP_EQ, 1) != SIZE_MAX;
	return bad;
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "";
	int bad = 0;

	shmem_init();
	if (!strcmp(part, "full"))
		bad = try_full();
	if (!strcmp(part, "any"))
		bad = try_any();
	shmem_barrier_all();
	if (!shmem_my_pe())
		printf("%s: %d wrong\n", part, bad);
	shmem_finalize();
	return bad != 0;
}

// SPDX-License-Identifier: MIT
/*
 * Each wait and test, of one word and of many. The words come from the PE before, in an
 * order of its own; one of the many is excluded by its status.
 */
#include "every.h"

enum { WORDS = 5, OUT = 1 };

static const int excluded[WORDS] = { [OUT] = 1 };

#define EVERY_COMPARE(T, f, word, value, less, equal) \
	EXPECT(f(word, SHMEM_CMP_EQ, value) == (equal)); \
	EXPECT(f(word, SHMEM_CMP_NE, value) == !(equal)); \
	EXPECT(f(word, SHMEM_CMP_LT, value) == (less)); \
	EXPECT(f(word, SHMEM_CMP_GE, value) == !(less)); \
	EXPECT(f(word, SHMEM_CMP_LE, value) == ((less) || (equal))); \
	EXPECT(f(word, SHMEM_CMP_GT, value) == !((less) || (equal)))

#define EVERY_test(T, f) \
	T *word = every_memory(0); \
	*word = 7; \
	EVERY_COMPARE(T, f, word, 7, 0, 1); \
	EVERY_COMPARE(T, f, word, 8, 1, 0); \
	EVERY_COMPARE(T, f, word, 6, 0, 0); \
	*word = (T)-1; \
	EVERY_COMPARE(T, f, word, 1, (T)-1 < (T)1, 0); \
	*word = 0; \
	shmem_barrier_all(); \
	shmem_putmem(word, &(T) { 3 }, sizeof(T), next); \
	while (!f(word, SHMEM_CMP_EQ, 3)) \
		; \
	shmem_barrier_all()
#define EVERY_wait_until(T, f) \
	T *word = every_memory(0); \
	*word = 0; \
	shmem_barrier_all(); \
	shmem_putmem(word, &(T) { 3 }, sizeof(T), next); \
	f(word, SHMEM_CMP_GT, 2); \
	EXPECT(*word == 3); \
	f(word, SHMEM_CMP_EQ, 3); \
	f(word, SHMEM_CMP_NE, 4); \
	f(word, SHMEM_CMP_LT, 4); \
	f(word, SHMEM_CMP_LE, 3); \
	f(word, SHMEM_CMP_GE, 3); \
	shmem_barrier_all()
#define EVERY_wait(T, f) \
	T *word = every_memory(0); \
	*word = 0; \
	shmem_barrier_all(); \
	shmem_putmem(word, &(T) { 3 }, sizeof(T), next); \
	f(word, 0); \
	EXPECT(*word == 3); \
	shmem_barrier_all()

/* Word i becomes i + 1, the last one first, and that which is left out never. */
#define EVERY_SEND(T) \
	T *words = every_memory(0), values[WORDS]; \
	const T *one = values; \
	int i; \
	for (i = 0; i < WORDS; i++) { \
		words[i] = 0; \
		values[i] = (T)(i + 1); \
	} \
	shmem_barrier_all(); \
	for (i = WORDS - 1; i >= 0; i--) \
		if (i != OUT) \
			shmem_putmem(&words[i], &values[i], sizeof(T), next); \
	(void)one
/* The comparison of each word: with a value, by "is not 0", or its own, by "is". */
#define EVERY_ONE	SHMEM_CMP_GE, 1
#define EVERY_EACH	SHMEM_CMP_EQ, one

#define EVERY_ALL(T, f, compare) \
	EVERY_SEND(T); \
	f(words, WORDS, excluded, compare); \
	for (i = 0; i < WORDS; i++) \
		EXPECT(words[i] == (i == OUT ? 0 : values[i])); \
	f(words, 0, excluded, compare); \
	f(&words[OUT], 1, &excluded[OUT], compare); \
	shmem_barrier_all()
#define EVERY_wait_until_all(T, f)		EVERY_ALL(T, f, EVERY_ONE)
#define EVERY_wait_until_all_vector(T, f)	EVERY_ALL(T, f, EVERY_EACH)

/* One after the other, each once. */
#define EVERY_ANY(T, f, compare) \
	int seen[WORDS] = { [OUT] = 1 }, n = 0; \
	EVERY_SEND(T); \
	for (;;) { \
		size_t at = f(words, WORDS, seen, compare); \
		\
		if (at == SIZE_MAX) { \
			if (EVERY_POLLS && n < WORDS - 1) \
				continue; \
			break; \
		} \
		EXPECT(at < WORDS && !seen[at] && words[at] == values[at]); \
		seen[at] = 1; \
		n++; \
	} \
	EXPECT(n == WORDS - 1); \
	EXPECT(f(words, 0, NULL, compare) == SIZE_MAX); \
	shmem_barrier_all()
#define EVERY_POLLS	(!!strstr(every_name, "_test_"))
#define EVERY_wait_until_any(T, f)		EVERY_ANY(T, f, EVERY_ONE)
#define EVERY_wait_until_any_vector(T, f)	EVERY_ANY(T, f, EVERY_EACH)
#define EVERY_test_any(T, f)			EVERY_ANY(T, f, EVERY_ONE)
#define EVERY_test_any_vector(T, f)		EVERY_ANY(T, f, EVERY_EACH)

#define EVERY_SOME(T, f, compare) \
	size_t at[WORDS]; \
	int seen[WORDS] = { [OUT] = 1 }, n = 0, k, found; \
	EVERY_SEND(T); \
	while (n < WORDS - 1) { \
		found = (int)f(words, WORDS, at, seen, compare); \
		EXPECT(EVERY_POLLS || found); \
		for (k = 0; k < found; k++) { \
			EXPECT(at[k] < WORDS && !seen[at[k]] && words[at[k]] == values[at[k]]); \
			seen[at[k]] = 1; \
		} \
		n += found; \
	} \
	EXPECT(!f(words, WORDS, at, seen, compare) && !f(words, 0, at, NULL, compare)); \
	shmem_barrier_all()
#define EVERY_wait_until_some(T, f)		EVERY_SOME(T, f, EVERY_ONE)
#define EVERY_wait_until_some_vector(T, f)	EVERY_SOME(T, f, EVERY_EACH)
#define EVERY_test_some(T, f)			EVERY_SOME(T, f, EVERY_ONE)
#define EVERY_test_some_vector(T, f)		EVERY_SOME(T, f, EVERY_EACH)

#define EVERY_TEST_ALL(T, f, compare) \
	EVERY_SEND(T); \
	while (!f(words, WORDS, excluded, compare)) \
		; \
	for (i = 0; i < WORDS; i++) \
		EXPECT(words[i] == (i == OUT ? 0 : values[i])); \
	EXPECT(!f(words, WORDS, NULL, compare)); \
	EXPECT(f(words, 0, NULL, compare) && f(&words[OUT], 1, &excluded[OUT], compare)); \
	shmem_barrier_all()
#define EVERY_test_all(T, f)		EVERY_TEST_ALL(T, f, EVERY_ONE)
#define EVERY_test_all_vector(T, f)	EVERY_TEST_ALL(T, f, EVERY_EACH)

GDA_OSH_P2P(EVERY)
GDA_OSH_OLD_WAIT(EVERY)

void every_p2p(void)
{
	GDA_OSH_P2P(EVERY_RUN)
	GDA_OSH_OLD_WAIT(EVERY_RUN)
}

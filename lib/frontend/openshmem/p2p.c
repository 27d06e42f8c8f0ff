// SPDX-License-Identifier: MIT
/*
 * Waiting for words of this PE that other PEs change: for one word, or for all, any or some of
 * many, compared with one value or with a value each. A word is read with acquire, so data that was
 * put before it (by a fence or signal) is visible after it.
 */
#include "define.h"
#include "reach.h"

/* An array of words of 2, 4 or 8 bytes. */
struct words {
	const volatile void *ivars;
	size_t nelems;
	const int *status;	/* words whose status is not 0 are skipped; NULL: none are */
	int cmp;
	bool is_signed;
	bool vector;		/* there is one value for each word */
	size_t bytes;
	const void *values;
};

static void check_cmp(const char *call, int cmp)
{
	if (cmp < SHMEM_CMP_EQ || cmp > SHMEM_CMP_GE)
		gda_osh_die(call, -1,
			    "there is no comparison %d: pass SHMEM_CMP_EQ, NE, GT, GE, LT or LE",
			    cmp);
}

#define GDA_OSH_HOLDS(a, cmp, b) \
	((cmp) == SHMEM_CMP_EQ ? (a) == (b) : (cmp) == SHMEM_CMP_NE ? (a) != (b) : \
	 (cmp) == SHMEM_CMP_GT ? (a) > (b) : (cmp) == SHMEM_CMP_LE ? (a) <= (b) : \
	 (cmp) == SHMEM_CMP_LT ? (a) < (b) : (a) >= (b))

/* Extend a word to 64 bits, keeping the order of signed or of unsigned words. */
static uint64_t word_at(const volatile void *words, size_t i, const struct words *w)
{
	const volatile char *at = (const volatile char *)words + i * w->bytes;

	if (w->bytes == 8)
		return __atomic_load_n((const volatile uint64_t *)at, __ATOMIC_ACQUIRE);
	if (w->bytes == 2 && w->is_signed)
		return (uint64_t)(int64_t)__atomic_load_n((const volatile int16_t *)at,
							  __ATOMIC_ACQUIRE);
	if (w->bytes == 2)
		return __atomic_load_n((const volatile uint16_t *)at, __ATOMIC_ACQUIRE);
	if (w->is_signed)
		return (uint64_t)(int64_t)__atomic_load_n((const volatile int32_t *)at,
							  __ATOMIC_ACQUIRE);
	return __atomic_load_n((const volatile uint32_t *)at, __ATOMIC_ACQUIRE);
}

static bool left_out(const struct words *w, size_t i)
{
	return w->status && w->status[i];
}

static bool holds(const struct words *w, size_t i)
{
	uint64_t a = word_at(w->ivars, i, w), b = word_at(w->values, w->vector ? i : 0, w);

	return w->is_signed ? GDA_OSH_HOLDS((int64_t)a, w->cmp, (int64_t)b) :
			      GDA_OSH_HOLDS(a, w->cmp, b);
}

static bool none_counts(const struct words *w)
{
	size_t i;

	for (i = 0; i < w->nelems; i++)
		if (!left_out(w, i))
			return false;
	return true;
}

/*
 * A program may test in a loop. After some tests in vain, look for peers that poll on this
 * processor; after more, for lost PEs, whose store will never come.
 */
#define VAIN_TESTS	64U
#define VAIN_CHECKS	4096U

bool gda_osh_tested(const char *call, bool holds)
{
	static __thread unsigned int vain;

	if (!holds && ++vain % VAIN_TESTS == 0)
		gda_osh_rest(call, VAIN_TESTS);
	/* gda_osh_rest() does not check for lost PEs while this PE has a processor to itself */
	if (!holds && vain % VAIN_CHECKS == 0)
		gda_osh_check(call);
	return holds;
}

/*
 * Find a word that holds, beginning behind the last answer, so that one word that always holds does
 * not hide the others. The last answer may be of another array; any start is correct.
 */
static size_t find_any(const char *call, const struct words *w)
{
	static size_t behind;
	size_t i = __atomic_load_n(&behind, __ATOMIC_RELAXED), n;

	check_cmp(call, w->cmp);
	for (n = 0; n < w->nelems; n++, i++) {
		if (i >= w->nelems)
			i = 0;
		if (left_out(w, i) || !holds(w, i))
			continue;
		__atomic_store_n(&behind, i + 1, __ATOMIC_RELAXED);
		return i;
	}
	return SIZE_MAX;
}

static int test_all(const char *call, const struct words *w)
{
	size_t i;

	check_cmp(call, w->cmp);
	for (i = 0; i < w->nelems; i++)
		if (!left_out(w, i) && !holds(w, i))
			return gda_osh_tested(call, false);
	return gda_osh_tested(call, true);
}

static size_t find_some(const char *call, const struct words *w, size_t *indices)
{
	size_t i, n = 0;

	check_cmp(call, w->cmp);
	for (i = 0; i < w->nelems; i++)
		if (!left_out(w, i) && holds(w, i))
			indices[n++] = i;
	return n;
}

static size_t test_any(const char *call, const struct words *w)
{
	size_t i = find_any(call, w);

	gda_osh_tested(call, i != SIZE_MAX);
	return i;
}

static size_t test_some(const char *call, const struct words *w, size_t *indices)
{
	size_t n = find_some(call, w, indices);

	gda_osh_tested(call, n);
	return n;
}

static void wait_all(const char *call, const struct words *w)
{
	unsigned int polls = 0;
	size_t i;

	check_cmp(call, w->cmp);
	for (i = 0; i < w->nelems; i++)
		while (!left_out(w, i) && !holds(w, i))
			gda_osh_relax(call, ++polls);
}

static size_t wait_any(const char *call, const struct words *w)
{
	unsigned int polls = 0;
	size_t i;

	if (none_counts(w))
		return SIZE_MAX;
	while ((i = find_any(call, w)) == SIZE_MAX)
		gda_osh_relax(call, ++polls);
	return i;
}

static size_t wait_some(const char *call, const struct words *w, size_t *indices)
{
	unsigned int polls = 0;
	size_t n;

	if (none_counts(w))
		return 0;
	while (!(n = find_some(call, w, indices)))
		gda_osh_relax(call, ++polls);
	return n;
}

#define GDA_OSH_READ(ivar)	__atomic_load_n(ivar, __ATOMIC_ACQUIRE)
#define GDA_OSH_DO_test(T) \
	const T now = GDA_OSH_READ(ivar); \
	check_cmp(GDA_OSH_CALL_NAME, cmp); \
	return gda_osh_tested(GDA_OSH_CALL_NAME, GDA_OSH_HOLDS(now, cmp, cmp_value))
#define GDA_OSH_DO_wait_until(T) \
	T now; \
	unsigned int polls = 0; \
	check_cmp(GDA_OSH_CALL_NAME, cmp); \
	while (now = GDA_OSH_READ(ivar), !GDA_OSH_HOLDS(now, cmp, cmp_value)) \
		gda_osh_relax(GDA_OSH_CALL_NAME, ++polls)
#define GDA_OSH_DO_wait(T) \
	unsigned int polls = 0; \
	while (GDA_OSH_READ(ivar) == cmp_value) \
		gda_osh_relax(GDA_OSH_CALL_NAME, ++polls)

#define GDA_OSH_WORDS(T, of, each) \
	(&(const struct words) { \
		.ivars = ivars, .nelems = nelems, .status = status, .cmp = cmp, \
		.is_signed = (T)-1 < (T)1, .vector = each, .bytes = sizeof(T), .values = of, })
#define GDA_OSH_ONE(T)	GDA_OSH_CALL_NAME, GDA_OSH_WORDS(T, &cmp_value, false)
#define GDA_OSH_EACH(T)	GDA_OSH_CALL_NAME, GDA_OSH_WORDS(T, cmp_value, true)
#define GDA_OSH_DO_wait_until_all(T)		wait_all(GDA_OSH_ONE(T))
#define GDA_OSH_DO_wait_until_any(T)		return wait_any(GDA_OSH_ONE(T))
#define GDA_OSH_DO_wait_until_some(T)		return wait_some(GDA_OSH_ONE(T), indices)
#define GDA_OSH_DO_test_all(T)			return test_all(GDA_OSH_ONE(T))
#define GDA_OSH_DO_test_any(T)			return test_any(GDA_OSH_ONE(T))
#define GDA_OSH_DO_test_some(T)			return test_some(GDA_OSH_ONE(T), indices)
#define GDA_OSH_DO_wait_until_all_vector(T)	wait_all(GDA_OSH_EACH(T))
#define GDA_OSH_DO_wait_until_any_vector(T)	return wait_any(GDA_OSH_EACH(T))
#define GDA_OSH_DO_wait_until_some_vector(T)	return wait_some(GDA_OSH_EACH(T), indices)
#define GDA_OSH_DO_test_all_vector(T)		return test_all(GDA_OSH_EACH(T))
#define GDA_OSH_DO_test_any_vector(T)		return test_any(GDA_OSH_EACH(T))
#define GDA_OSH_DO_test_some_vector(T)		return test_some(GDA_OSH_EACH(T), indices)

GDA_OSH_P2P(GDA_OSH_DEFINE)
GDA_OSH_OLD_WAIT(GDA_OSH_DEFINE)

GDA_OSH_PUBLIC void pshmem_wait(volatile long *ivar, long cmp_value)
{
	GDA_OSH_DO_wait(long);
}

GDA_OSH_PUBLIC uint64_t pshmem_signal_fetch(const uint64_t *sig_addr)
{
	return gda_osh_load(sig_addr);
}

GDA_OSH_PUBLIC uint64_t pshmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
	uint64_t now;
	unsigned int polls = 0;

	check_cmp(GDA_OSH_CALL_NAME, cmp);
	while (now = gda_osh_load(sig_addr), !GDA_OSH_HOLDS(now, cmp, cmp_value))
		gda_osh_relax(GDA_OSH_CALL_NAME, ++polls);
	return now;
}

GDA_OSH_WEAK(wait)
GDA_OSH_SIGNALS(GDA_OSH_WEAK_CALL)

/* The version of C without _Generic, for long. */
#undef shmem_wait_until
GDA_OSH_PUBLIC void shmem_wait_until(volatile long *ivar, int cmp, long cmp_value)
{
	pshmem_long_wait_until(ivar, cmp, cmp_value);
}

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The kernel's harness, and the one check that ends every test: the device holds
 * no more than before. Included once, by a test program.
 */
#ifndef GDA_FIXTURE_H
#define GDA_FIXTURE_H

#include "gda_test.h"

/* A test that is made longer may take longer. */
static inline unsigned int t_alarm(unsigned int seconds)
{
	return alarm(seconds ? (unsigned int)t_longer(seconds) : 0);
}

#define alarm	t_alarm
#include <kselftest_harness.h>

/* An emulated machine on a busy one; what hangs is found out by then, too. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	200

#define T_BASE_READ(base)	ASSERT_EQ(0, t_objects_read(base))

#define T_BASE_CHECK(base) do {							\
	struct t_objects now_;							\
										\
	EXPECT_EQ(0, t_objects_settle((base), &now_)) {				\
		TH_LOG("left: contexts %ld qps %ld cqs %ld counters %ld mrs %ld "	\
		       "regions %ld pages %ld keys %ld VmPin %ld kB",		\
		       now_.n[T_CONTEXTS] - (base)->n[T_CONTEXTS],		\
		       now_.n[T_QPS] - (base)->n[T_QPS],			\
		       now_.n[T_CQS] - (base)->n[T_CQS],			\
		       now_.n[T_COUNTERS] - (base)->n[T_COUNTERS],		\
		       now_.n[T_MRS] - (base)->n[T_MRS],			\
		       now_.n[T_REGIONS] - (base)->n[T_REGIONS],		\
		       now_.n[T_PAGES] - (base)->n[T_PAGES],			\
		       now_.n[T_KEYS] - (base)->n[T_KEYS],			\
		       now_.pinned_kb - (base)->pinned_kb);			\
	}									\
} while (0)

static struct t_objects t_base __attribute__((unused));

#define T_ARGS(name)								\
	struct __test_metadata __attribute__((unused)) *_metadata,		\
	FIXTURE_DATA(name) __attribute__((unused)) *self,			\
	const FIXTURE_VARIANT(name) __attribute__((unused)) *variant

/* FIXTURE_SETUP() and FIXTURE_TEARDOWN() of tests that leave the device as it was: t_base. */
#define T_SETUP(name)								\
	static void name##_set_up(T_ARGS(name));				\
	FIXTURE_SETUP(name)							\
	{									\
		T_BASE_READ(&t_base);						\
		name##_set_up(_metadata, self, variant);			\
	}									\
	static void name##_set_up(T_ARGS(name))

#define T_TEARDOWN(name)							\
	static void name##_tear_down(T_ARGS(name));				\
	FIXTURE_TEARDOWN(name)							\
	{									\
		name##_tear_down(_metadata, self, variant);			\
		T_BASE_CHECK(&t_base);						\
	}									\
	static void name##_tear_down(T_ARGS(name))

/* A fixture that is nothing else. */
#define T_FIXTURE(name)								\
	FIXTURE(name) { char nothing; };					\
	T_SETUP(name) {}							\
	T_TEARDOWN(name) {}							\
	FIXTURE_DATA(name)

/* Skip a test for what queues of efa lack: GDA_CAN_*, or another name of uapi/gda or gda/view.h. */
#define T_NEEDS(what) do {							\
	if (t_speaks_efa())							\
		SKIP(return, "queues of efa lack " what);			\
} while (0)

/* TEST_F() whose body runs in a child: 0, or what CHECK() returns. */
#define T_CHILD_TEST(fixture, test)						\
	static int fixture##_##test##_child(void *arg);				\
	TEST_F(fixture, test)							\
	{									\
		EXPECT_EQ(0, t_in_child(fixture##_##test##_child, NULL));	\
	}									\
	static int fixture##_##test##_child(void *arg __attribute__((unused)))

#endif /* GDA_FIXTURE_H */

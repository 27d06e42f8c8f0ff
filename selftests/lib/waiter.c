// SPDX-License-Identifier: MIT
/*
 * What a thread that polls makes of its yields (lib/core/waiter.c). The scheduler and the clock are
 * the test's: a yield takes as long as the test says.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "../../lib/core/waiter.h"
#include "kselftest_harness.h"

#define ALONE	300U
#define PEER	3000U
#define PROGRAM	4000000U

static uint64_t now, takes;
static unsigned int yields, naps;

int sched_yield(void)
{
	yields++;
	now += takes;
	errno = EBADF;
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, ts);
	ts->tv_sec = (time_t)(now / 1000000000);
	ts->tv_nsec = (long)(now % 1000000000);
	return 0;
}

/* The library sleeps by the system call itself. */
long syscall(long number, ...)
{
	static long (*next)(long number, ...);
	long arg[6];
	va_list args;

	if (number == SYS_nanosleep) {
		naps++;
		return 0;
	}
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return next(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

/* Looks until this thread yields or sleeps, counted from 1 as a wait does. */
static unsigned int looks(unsigned int most)
{
	unsigned int before = yields + naps, polls;

	for (polls = 1; polls <= 2 * most; polls++) {
		gda_waiter_rest(polls, most);
		if (yields + naps != before)
			break;
	}
	return polls;
}

FIXTURE(waiter) {
	int none;
};

/* As a thread that has not waited yet: each test has a process. */
FIXTURE_SETUP(waiter)
{
	now = 1000000000;
	takes = ALONE;
}

FIXTURE_TEARDOWN(waiter)
{
}

TEST_F(waiter, alone_it_spins)
{
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(GDA_WAITER_OFTEN, looks(GDA_WAITER_OFTEN));
		EXPECT_EQ(GDA_WAITER_SHORT, looks(GDA_WAITER_SHORT));
		EXPECT_EQ(GDA_WAITER_RARELY, looks(GDA_WAITER_RARELY));
	}
	EXPECT_EQ(0, naps);
}

TEST_F(waiter, beside_a_peer_it_yields_early)
{
	takes = PEER;
	looks(GDA_WAITER_RARELY);
	for (int i = 0; i < 10; i++)
		EXPECT_EQ(32, looks(GDA_WAITER_RARELY));
	EXPECT_EQ(0, naps);
}

TEST_F(waiter, it_spins_again_when_the_peer_has_gone)
{
	unsigned int n;

	takes = PEER;
	looks(GDA_WAITER_RARELY);
	takes = ALONE;
	for (n = 32; n < GDA_WAITER_RARELY; n *= 2)
		EXPECT_EQ(n, looks(GDA_WAITER_RARELY));
	for (int i = 0; i < 10; i++)
		EXPECT_EQ(GDA_WAITER_RARELY, looks(GDA_WAITER_RARELY));
}

/* It is behind that program each time that it yields, and not when it wakes. */
TEST_F(waiter, beside_a_program_that_computes_it_sleeps)
{
	unsigned int n, before;

	takes = PROGRAM;
	for (n = 16; n <= 1024; n *= 2) {
		looks(GDA_WAITER_SHORT);
		before = yields;
		for (unsigned int i = 0; i < n; i++)
			ASSERT_EQ(GDA_WAITER_SHORT, looks(GDA_WAITER_SHORT));
		ASSERT_EQ(before, yields);
	}
	EXPECT_EQ(2 * 1024 - 16, naps);
}

TEST_F(waiter, it_tells_whose_the_processor_was)
{
	EXPECT_EQ(0, gda_waiter_yield());
	takes = PEER;
	EXPECT_EQ(PEER, gda_waiter_yield());
	takes = PROGRAM;
	EXPECT_EQ(PROGRAM, gda_waiter_yield());
	EXPECT_LT(0, gda_waiter_yield());
	EXPECT_EQ(1, naps);
}

TEST_F(waiter, errno_stays)
{
	errno = EXDEV;
	gda_waiter_yield();
	EXPECT_EQ(EXDEV, errno);
	takes = PROGRAM;
	gda_waiter_yield();
	gda_waiter_yield();
	EXPECT_EQ(1, naps);
	EXPECT_EQ(EXDEV, errno);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: MIT
/*
 * Entries and doorbells of each verb, counted: the cell of the doorbell lies in a page that may
 * not be written, so that every store to it is seen, and carried out as a single step.
 * Whatever is deferred is rung by the next verb that is not, or by whoever waits for it.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <ucontext.h>
#include "../inproc/suite.h"
#include "late.h"

#define PAGE		4096U
#define TRAP_FLAG	0x100

static char *cell;			/* page of the doorbell that is counted */
static volatile unsigned int rings;

static void on_store(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig;
	if ((char *)info->si_addr < cell || (char *)info->si_addr >= cell + PAGE)
		_exit(99);
	rings++;
	mprotect(cell, PAGE, PROT_READ | PROT_WRITE);
	u->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig;
	(void)info;
	u->uc_mcontext.gregs[REG_EFL] &= ~(long long)TRAP_FLAG;
	mprotect(cell, PAGE, PROT_READ);
}

/* Up to where the doorbell says that entries are written. */
static uint64_t rung(void)
{
	return gda_be64_to_cpu(*(__be64 *)(void *)cell) >> 40 & 0xffff;
}

FIXTURE(counted) {
	struct late late;
	struct gda_gin *gin;
	struct gda_view *view;
	struct late_queue *queue;
	struct gda_gin_place here, there;
	unsigned int flags;
	uint64_t before;
};

FIXTURE_VARIANT(counted) {
	bool arrival;
};

FIXTURE_VARIANT_ADD(counted, words) { .arrival = false };
FIXTURE_VARIANT_ADD(counted, arrival) { .arrival = true };

/* Count the doorbells of a queue: its view names another cell. */
static void watch(struct gda_view *v)
{
	struct sigaction store = { .sa_flags = SA_SIGINFO }, step = store;

	store.sa_sigaction = on_store;
	step.sa_sigaction = on_step;
	sigaction(SIGSEGV, &store, NULL);
	sigaction(SIGTRAP, &step, NULL);
	cell = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	v->db = (uintptr_t)cell;
	rings = 0;
}

FIXTURE_SETUP(counted)
{
	const struct late_attr attr = {
		.nranks = 2, .contexts = 1, .signals = 2, .counters = 2, .depth = 64,
		.arrival = variant->arrival, .bytes = PAGE,
	};

	late_create(&self->late, &attr);
	self->gin = late_gin(&self->late, 0, 0);
	/* by arrival the queue of signal 0 */
	self->queue = late_queue(&self->late, 0, variant->arrival, 0, 1);
	self->view = &self->queue->fake->view;
	self->flags = variant->arrival ? GDA_GIN_WEAK : 0;
	self->here = gda_at(&self->late.windows[0], 0);
	self->there = gda_at(&self->late.windows[0], 64);
	watch(self->view);
}

FIXTURE_TEARDOWN(counted)
{
	munmap(cell, PAGE);
	late_destroy(&self->late);
}

#define COUNT(entries, doorbells, call) do { \
	self->before = self->view->reserved; \
	rings = 0; \
	ASSERT_EQ(0, call); \
	EXPECT_EQ(entries, self->view->reserved - self->before); \
	EXPECT_EQ(doorbells, rings); \
} while (0)

/* With a signal two entries and one doorbell, by arrival one and one; G-13 is one and one. */
TEST_F(counted, E_01_E_02_E_05_signals)
{
	uint32_t both = variant->arrival ? 1 : 2;
	struct gda_gin_how how = gda_gin_inc(0, self->flags);

	COUNT(both, 1, gda_gin_put(self->gin, 1, self->there, self->here, 8, how));
	COUNT(both, 1, gda_gin_put(self->gin, 1, self->there, self->here, 8,
				   gda_gin_count(how, 1)));
	COUNT(both, 1, gda_gin_put_value(self->gin, 1, self->there, 7, 8, how));
	COUNT(1, 1, gda_gin_signal(self->gin, 1, how));
}

/* A put, a value and a get without a signal, by the queue of the data. */
TEST_F(counted, G_02_G_11_G_15_data)
{
	struct gda_gin_how how = gda_gin_plain(0);

	self->view = &late_queue(&self->late, 0, 0, 0, 1)->fake->view;
	self->view->db = (uintptr_t)cell;
	COUNT(1, 1, gda_gin_put(self->gin, 1, self->there, self->here, 8, how));
	COUNT(1, 1, gda_gin_put(self->gin, 1, self->there, self->here, 0, how));
	COUNT(1, 1, gda_gin_put_value(self->gin, 1, self->there, 7, 1, how));
	COUNT(1, 1, gda_gin_get(self->gin, 1, self->there, self->here, 8, how));
}

static int aggregate(struct gda_gin *gin, struct gda_gin_place to, struct gda_gin_place from,
		     uint32_t n, unsigned int flags)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < n; i++)
		err = gda_gin_put(gin, 1, to, from, 8,
				  gda_gin_inc(0, flags | (i + 1 < n ? GDA_DEFER : 0)));
	return err;
}

TEST_F(counted, G19_32_puts_ring_once)
{
	uint32_t each = variant->arrival ? 1 : 2;

	COUNT(each * 32, 1, aggregate(self->gin, self->there, self->here, 32, self->flags));
	EXPECT_EQ(self->view->reserved, rung());
}

/* Deferred, and then nothing but the call: is all of it rung? */
static int rung_by(struct gda_gin *gin, uint32_t call, uint64_t soon)
{
	struct gda_gin_request request;

	switch (call) {
	case 0:
		return gda_gin_flush(gin, soon);
	case 1:
		return gda_gin_flush_peer(gin, 1, &request);
	case 2:
		return gda_gin_wait_counter(gin, 0, 1, 56, soon);
	default:
		return gda_gin_signal(gin, 1, gda_gin_inc(0, GDA_GIN_WEAK));
	}
}

TEST_F(counted, E_13_nothing_is_left_deferred)
{
	uint32_t call;

	for (call = 0; call < 4; call++) {
		uint64_t soon = gda_clock_ns() + 1000000;
		struct gda_gin_how how = gda_gin_inc(0, self->flags | GDA_DEFER);
		int err;

		rings = 0;
		ASSERT_EQ(0, gda_gin_put(self->gin, 1, self->there, self->here, 8,
					 gda_gin_count(how, 0)));
		EXPECT_EQ(0, rings);
		err = rung_by(self->gin, call, soon);
		EXPECT_TRUE(!err || err == -ETIMEDOUT);
		EXPECT_EQ(1, rings);
		EXPECT_EQ(self->view->reserved, rung());
	}
}

/* The post that fills the ring rings. */
TEST_F(counted, G_19_a_full_ring_is_rung)
{
	struct gda_gin_how how = gda_gin_inc(0, self->flags | GDA_DEFER | GDA_NOWAIT);
	int err = 0;

	while (!err)
		err = gda_gin_put(self->gin, 1, self->there, self->here, 8, how);
	EXPECT_EQ(-EAGAIN, err);
	EXPECT_GE(rings, 1);
	EXPECT_EQ(64, rung());
}

TEST_HARNESS_MAIN

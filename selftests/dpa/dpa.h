/* SPDX-License-Identifier: MIT */
/*
 * Common parts of the tests of gda/dpa.h.
 */
#ifndef DPA_TEST_H
#define DPA_TEST_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gda/barrier.h>
#include <gda/dpa.h>
#include "kselftest_harness.h"

#define SECOND	1000000000ULL
#define MS	1000000ULL

static inline uint64_t d_in(uint64_t ns)
{
	return gda_clock_ns() + ns;
}

/* A context with default attributes but for those that matter to the test. */
static inline int d_open(struct gda_context **ctx, struct gda_dpa **dpa, uint32_t threads,
			 uint64_t run_limit_ns)
{
	struct gda_dpa_attr attr = {
		.size = sizeof(attr), .threads = threads, .heap_bytes = 1 << 20,
		.run_limit_ns = run_limit_ns,
	};
	int err = gda_open(NULL, ctx);

	return err ? err : gda_dpa_create(*ctx, &attr, dpa);
}

FIXTURE(dpa) {
	struct gda_context *ctx;
	struct gda_dpa *dpa;
	struct gda_dpa_event *done;
};

FIXTURE_SETUP(dpa)
{
	ASSERT_EQ(0, d_open(&self->ctx, &self->dpa, 4, 0));
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &self->done));
}

FIXTURE_TEARDOWN(dpa)
{
	EXPECT_EQ(0, gda_dpa_destroy(self->dpa));
	gda_close(self->ctx);
}

/* Launch a task now, over @n threads, with what @args points to. */
#define LAUNCH(task_, n, args_) ({ \
	struct gda_dpa_launch_attr l_ = { \
		.size = sizeof(l_), .task = &(task_), .threads = (n), .args = (args_), \
		.bytes = sizeof(*(args_)), .done = self->done, .value = 1, \
	}; \
	gda_dpa_launch(self->dpa, &l_); \
})

#define AWAIT(n) gda_dpa_event_await_gt(self->done, (n) - 1, UINT64_MAX, d_in(20 * SECOND))

#endif /* DPA_TEST_H */

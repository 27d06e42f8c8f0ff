/* SPDX-License-Identifier: MIT */
/*
 * Tests of gda/gin.h that all ranks run together: as threads of this program, or, where
 * gda-run started it, as processes. Speaks KTAP; rank 0 does.
 *
 * A test is a body that every rank runs on a communicator made for it. It returns 0, or
 * fails by one of the G_ macros, which say what was seen on which rank.
 */
#ifndef GIN_TEST_H
#define GIN_TEST_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <gda/gin.h>

#define G_MAX		4
#define G_SECOND	1000000000ULL

/* In which kinds of signals a test runs. */
#define G_WORDS		1
#define G_ARRIVAL	2
#define G_BOTH		3

struct g_rank {
	struct gda_comm *ranks;
	struct gda_context *ctx;
	struct gda_gin_comm *comm;
	struct gda_gin *gin;		/* its context 0 */
	uint32_t rank, nranks;
	bool arrival;
	uint32_t weak;			/* GDA_GIN_WEAK where signals can be nothing else */
};

struct g_test {
	const char *name;
	int (*body)(struct g_rank *r);
	int kinds;
	uint32_t ranks;			/* as threads: how many; 0: 3 */
	struct gda_gin_attr attr;
};

int g_main(const struct g_test *tests, size_t n);

/* Run one test, by threads. */
int g_alone(const struct g_test *test);

/* Say that something is not as it should be. Return: 1. */
int g_fail(const struct g_rank *r, const char *file, int line, const char *what, long long is,
	   long long want);

/* Do the queues complete in any order, and lack atomics? */
static inline bool g_unordered(const struct g_rank *r)
{
	return gda_view_unordered(gda_gin_view(gda_gin_queue(r->gin, 0, 0)));
}

/* Memory of @bytes, zeroed, as a window; for G_MAX of them at a time. */
int g_window(struct g_rank *r, size_t bytes, uint32_t flags, unsigned char **mem,
	     struct gda_window **w);
void g_window_end(unsigned char *mem, size_t bytes, struct gda_window *w);

/* A pattern that says from whom it is, and which it is. */
void g_fill(void *p, size_t bytes, uint32_t rank, uint32_t which);
bool g_is(const void *p, size_t bytes, uint32_t rank, uint32_t which);

#define G_EQ(want, is) do { \
	long long is_ = (long long)(is), want_ = (long long)(want); \
	if (is_ != want_) \
		return g_fail(r, __FILE__, __LINE__, #is, is_, want_); \
} while (0)
#define G_OK(call)	G_EQ(0, call)
#define G_TRUE(what)	G_EQ(1, !!(what))

#endif /* GIN_TEST_H */

/* SPDX-License-Identifier: MIT */
/* The fixture of programs that ask why a ticket is not done: two ends, and what is answered. */
#ifndef GDA_EXPLAIN_TEST_H
#define GDA_EXPLAIN_TEST_H

#include "suite.h"

#define DEPTH	64U
#define BYTES	4096U

#define S_EXPLAIN_FIXTURE(name)								\
FIXTURE(name) {										\
	struct s_end end[2];								\
	char text[256];									\
};											\
											\
FIXTURE_SETUP(name)									\
{											\
	ASSERT_OK(s_pair_open(self->end, DEPTH, BYTES));				\
	S_NEEDS_SIGHT(self->end[0].ctx);						\
}											\
											\
FIXTURE_TEARDOWN(name)									\
{											\
	s_pair_close(self->end);							\
}

#endif /* GDA_EXPLAIN_TEST_H */

/* SPDX-License-Identifier: MIT */
/* The memory, streams and events of fake.c. */
#ifndef GDA_FAKE_TYPES_H
#define GDA_FAKE_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_OPS	1024	/* as a channel of a GPU's: who begins more waits */

enum fake_kind { FAKE_GPU = 1, FAKE_HOST, FAKE_REGISTERED };

struct fake_block {
	enum fake_kind kind;	/* 0: free */
	uint64_t addr;
	uint64_t bytes;
	char *window;
	int device;
};

struct fake_op {
	char *dst;
	const char *src;	/* NULL: @value is stored */
	uint64_t bytes;
	uint64_t value;
	bool kernel;		/* of the driver's, that needs room */
	bool wide;		/* @value is of 64 bits */
	bool word;		/* nothing is done until the word at @dst has come to @value */
	const struct fake_stream *wait;	/* nothing is done until that has come to @value */
};

struct fake_stream {
	bool used;
	unsigned int head, tail;
	struct fake_op ops[FAKE_OPS];
};

/* Where a stream was when the event was recorded. */
struct fake_event {
	const struct fake_stream *stream;	/* NULL: never */
	unsigned int tail;
};

#endif /* GDA_FAKE_TYPES_H */

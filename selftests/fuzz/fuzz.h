/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Common parts of targets: bytes of the input, taken one after the other; past its end
 * there are zeros. A target is one function, LLVMFuzzerTestOneInput(); what must hold
 * and does not is an abort(). Built with libFuzzer, or with replay.c.
 */
#ifndef GDA_FUZZ_H
#define GDA_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct input {
	const uint8_t *p;
	size_t left;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void take(struct input *in, void *to, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(to, 0, n);
	if (have)
		memcpy(to, in->p, have);
	in->p += have;
	in->left -= have;
}

static inline uint8_t take8(struct input *in)
{
	uint8_t v;

	take(in, &v, sizeof(v));
	return v;
}

static inline uint32_t take32(struct input *in)
{
	uint32_t v;

	take(in, &v, sizeof(v));
	return v;
}

static inline uint64_t take64(struct input *in)
{
	uint64_t v;

	take(in, &v, sizeof(v));
	return v;
}

/*
 * A model that is run to be compared with, not to be explored: what it does tells the
 * fuzzer nothing new, and recording that is most of the time of an execution.
 */
#ifdef __clang__
#define MODEL	__attribute__((no_sanitize("coverage")))
#else
#define MODEL
#endif

/* Not assert(): it stays with every set of flags. */
#define HOLDS(what) do {							\
	if (!(what)) {								\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);	\
		abort();							\
	}									\
} while (0)

#endif /* GDA_FUZZ_H */

/* SPDX-License-Identifier: MIT */
/*
 * SipHash-2-4 of Aumasson and Bernstein: proves to somebody who has the same key who made a
 * message. The kernel has the form of 64 bits in <linux/siphash.h>.
 */
#ifndef GDA_SIPHASH_H
#define GDA_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

/* The key: bytes 0 to 7 of the reference's key are k0, little-endian, and the rest k1. */
struct gda_siphash_key {
	uint64_t k0;
	uint64_t k1;
};

/* With a result of 64 bits. */
uint64_t gda_siphash(const void *data, size_t bytes, const struct gda_siphash_key *key);
/* With one of 128 bits, which is another function. */
void gda_siphash_128(const void *data, size_t bytes, const struct gda_siphash_key *key,
		     unsigned char out[16]);

/* 8 bytes, of which the first is the lowest, and the other way. */
uint64_t gda_siphash_load(const unsigned char *p);
void gda_siphash_store(unsigned char *p, uint64_t v);

#endif /* GDA_SIPHASH_H */

/* SPDX-License-Identifier: MIT */
/*
 * SipHash-2-4 of Aumasson and Bernstein, a keyed hash: it authenticates a message between two ends
 * that share a key. The kernel has the 64-bit form in <linux/siphash.h>.
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

/* The hash with a 64-bit result. */
uint64_t gda_siphash(const void *data, size_t bytes, const struct gda_siphash_key *key);
/* The hash with a 128-bit result, which is a different function. */
void gda_siphash_128(const void *data, size_t bytes, const struct gda_siphash_key *key,
		     unsigned char out[16]);

/* Load 8 bytes as a little-endian number, and store them. */
uint64_t gda_siphash_load(const unsigned char *p);
void gda_siphash_store(unsigned char *p, uint64_t v);

#endif /* GDA_SIPHASH_H */

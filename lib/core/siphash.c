// SPDX-License-Identifier: MIT
/*
 * SipHash-2-4. Input and output are bytes in the reference's order on any machine.
 */
#include "siphash.h"

uint64_t gda_siphash_load(const unsigned char *p)
{
	uint64_t v = 0;
	int i;

	for (i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

void gda_siphash_store(unsigned char *p, uint64_t v)
{
	int i;

	for (i = 0; i < 8; i++, v >>= 8)
		p[i] = (unsigned char)v;
}

static uint64_t gda_sip_rotate(uint64_t v, int by)
{
	return v << by | v >> (64 - by);
}

static void gda_sip_rounds(uint64_t v[4], int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = gda_sip_rotate(v[1], 13) ^ v[0];
		v[3] = gda_sip_rotate(v[3], 16) ^ v[2];
		v[0] = gda_sip_rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = gda_sip_rotate(v[1], 17) ^ v[2];
		v[3] = gda_sip_rotate(v[3], 21) ^ v[0];
		v[2] = gda_sip_rotate(v[2], 32);
	}
}

static void gda_sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	gda_sip_rounds(v, 2);
	v[0] ^= word;
}

static void gda_sip_init(uint64_t v[4], const struct gda_siphash_key *key)
{
	v[0] = key->k0 ^ 0x736f6d6570736575ULL;
	v[1] = key->k1 ^ 0x646f72616e646f6dULL;
	v[2] = key->k0 ^ 0x6c7967656e657261ULL;
	v[3] = key->k1 ^ 0x7465646279746573ULL;
}

static void gda_sip_bytes(uint64_t v[4], const unsigned char *p, size_t bytes)
{
	/* the last word: the bytes that are left, and the length in all */
	uint64_t last = (uint64_t)bytes << 56;
	unsigned int shift = 0;

	for (; bytes >= 8; bytes -= 8, p += 8)
		gda_sip_word(v, gda_siphash_load(p));
	for (; bytes; bytes--, p++, shift += 8)
		last |= (uint64_t)*p << shift;
	gda_sip_word(v, last);
}

static uint64_t gda_sip_end(uint64_t v[4], unsigned int change, int which)
{
	v[which] ^= change;
	gda_sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t gda_siphash(const void *data, size_t bytes, const struct gda_siphash_key *key)
{
	uint64_t v[4];

	gda_sip_init(v, key);
	gda_sip_bytes(v, data, bytes);
	return gda_sip_end(v, 0xff, 2);
}

void gda_siphash_128(const void *data, size_t bytes, const struct gda_siphash_key *key,
		     unsigned char out[16])
{
	uint64_t v[4];

	gda_sip_init(v, key);
	v[1] ^= 0xee;
	gda_sip_bytes(v, data, bytes);
	gda_siphash_store(out, gda_sip_end(v, 0xee, 2));
	gda_siphash_store(out + 8, gda_sip_end(v, 0xdd, 1));
}

// SPDX-License-Identifier: MIT
/*
 * Proves that the other end of a connection knows the secret of the id, without sending
 * it: SipHash-2-4 with a result of 128 bits, keyed with the secret, over a nonce of the
 * end that asks and the side of the end that answers. With the side in it, an answer
 * cannot be sent back to its sender as the answer to the same question.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include "comm_internal.h"

int gda_comm_random(void *out, size_t bytes)
{
	unsigned char *p = out;

	while (bytes) {
		ssize_t n = getrandom(p, bytes, 0);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			p += n;
			bytes -= (size_t)n;
		}
	}
	return 0;
}

static uint64_t gda_sip_load(const unsigned char *p)
{
	uint64_t v = 0;
	int i;

	for (i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

static void gda_sip_store(unsigned char *p, uint64_t v)
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

void gda_comm_tag(const struct gda_comm_secret *secret, enum gda_comm_side prover,
		  const unsigned char nonce[GDA_COMM_NONCE_BYTES],
		  unsigned char tag[GDA_COMM_TAG_BYTES])
{
	uint64_t k0 = gda_sip_load(secret->bytes);
	uint64_t k1 = gda_sip_load(secret->bytes + 8);
	uint64_t v[4] = {
		k0 ^ 0x736f6d6570736575ULL,
		k1 ^ 0x646f72616e646f6dULL ^ 0xee,
		k0 ^ 0x6c7967656e657261ULL,
		k1 ^ 0x7465646279746573ULL,
	};

	gda_sip_word(v, gda_sip_load(nonce));
	gda_sip_word(v, gda_sip_load(nonce + 8));
	/* the last word: one byte that is left, and the length in all */
	gda_sip_word(v, (uint64_t)(GDA_COMM_NONCE_BYTES + 1) << 56 | (unsigned int)prover);
	v[2] ^= 0xee;
	gda_sip_rounds(v, 4);
	gda_sip_store(tag, v[0] ^ v[1] ^ v[2] ^ v[3]);
	v[1] ^= 0xdd;
	gda_sip_rounds(v, 4);
	gda_sip_store(tag + 8, v[0] ^ v[1] ^ v[2] ^ v[3]);
}

/* In a time that does not tell where they differ. */
bool gda_comm_tag_equal(const unsigned char *a, const unsigned char *b)
{
	unsigned char diff = 0;
	int i;

	for (i = 0; i < GDA_COMM_TAG_BYTES; i++)
		diff |= a[i] ^ b[i];
	return !diff;
}

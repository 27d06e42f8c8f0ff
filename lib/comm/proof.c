// SPDX-License-Identifier: MIT
/*
 * Proves to the other end of a connection that this end knows the id's secret, without sending it.
 * The proof is SipHash-2-4 with a 128-bit result, keyed with the secret, over the asker's nonce and
 * the side that answers. Since the side is included, an answer cannot be reflected to its sender.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include "comm_internal.h"
#include "siphash.h"

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

void gda_comm_tag(const struct gda_comm_secret *secret, enum gda_comm_side prover,
		  const unsigned char nonce[GDA_COMM_NONCE_BYTES],
		  unsigned char tag[GDA_COMM_TAG_BYTES])
{
	const struct gda_siphash_key key = {
		gda_siphash_load(secret->bytes), gda_siphash_load(secret->bytes + 8),
	};
	unsigned char text[GDA_COMM_NONCE_BYTES + 1];

	memcpy(text, nonce, GDA_COMM_NONCE_BYTES);
	text[GDA_COMM_NONCE_BYTES] = (unsigned char)prover;
	gda_siphash_128(text, sizeof(text), &key, tag);
}

/* Compare in constant time, which does not reveal where the tags differ. */
bool gda_comm_tag_equal(const unsigned char *a, const unsigned char *b)
{
	unsigned char diff = 0;
	int i;

	for (i = 0; i < GDA_COMM_TAG_BYTES; i++)
		diff |= a[i] ^ b[i];
	return !diff;
}

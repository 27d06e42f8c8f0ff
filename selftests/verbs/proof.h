/* SPDX-License-Identifier: MIT */
/*
 * The tags of gda/cm.h, for a test that plays an end of a connection: as gda_ib and
 * lib/device/verbs make and check them, over the library's SipHash.
 */
#ifndef GDA_VERBS_PROOF_H
#define GDA_VERBS_PROOF_H

#include <arpa/inet.h>
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "gda_os.h"
#include "siphash.h"

static inline __be64 gda_os_siphash(const void *data, size_t bytes, __be64 k0, __be64 k1)
{
	const struct gda_siphash_key key = { be64toh(k0), be64toh(k1) };

	return htobe64(gda_siphash(data, bytes, &key));
}

#include <gda/cm_proof.h>

/* A peer of the target that a test plays: it is the greater one, so it asks. */
static inline struct gda_cm_address greater(const struct gda_cm_address *target,
					    unsigned int number)
{
	struct gda_cm_address a = *target;

	a.port = htons(0xffff);
	a.number = htonl(number);
	a.nonce = htobe64(0x1122334455667788ULL + number);
	return a;
}

static inline struct gda_cm_private signed_request(const struct gda_cm_address *from,
						   const struct gda_cm_address *to, uint32_t qpn)
{
	struct gda_cm_private p;

	gda_cm_private_set(&p, GDA_CM_ROLE_REQUEST, htonl(99), from, to);
	gda_cm_sign(&p, from, to, htonl(qpn));
	return p;
}

#endif /* GDA_VERBS_PROOF_H */

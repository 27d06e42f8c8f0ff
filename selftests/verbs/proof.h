/* SPDX-License-Identifier: MIT */
/*
 * The tags of gda/cm.h, for a test that plays an end of a connection: as gda_ib and
 * lib/device/verbs make and check them, over the library's SipHash.
 */
#ifndef GDA_VERBS_PROOF_H
#define GDA_VERBS_PROOF_H

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

#endif /* GDA_VERBS_PROOF_H */

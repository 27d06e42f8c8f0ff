// SPDX-License-Identifier: MIT
/* Peers: targets of requests in dialects in which each request names its target. */
#include <string.h>
#include "gda_internal.h"

int gda_peer_make(struct gda_context *ctx, const struct gda_address *address, struct gda_peer *peer)
{
	struct gda_peer_add arg = { .size = sizeof(arg) };
	int err;

	memcpy(arg.address, address->bytes, sizeof(arg.address));
	err = gda_why_peer(ctx, gda_ioctl(ctx, GDA_IOC_PEER_ADD, &arg));
	if (err)
		return err;
	*peer = (struct gda_peer) {
		.target = arg.ah | (uint64_t)arg.number << 16 | (uint64_t)arg.qkey << 32,
		.handle = arg.handle,
	};
	return 0;
}

GDA_EXPORT int gda_peer_add(struct gda_context *ctx, const struct gda_address *address,
			    struct gda_peer *peer)
{
	return gda_called(gda_peer_make(ctx, address, peer), "gda_peer_add", "fd %d", ctx->fd);
}

GDA_EXPORT int gda_peer_remove(struct gda_context *ctx, const struct gda_peer *peer)
{
	return gda_called(gda_destroy_handle(ctx, peer->handle), "gda_peer_remove", "peer %u",
			  peer->handle);
}

// SPDX-License-Identifier: MIT
/*
 * Frames in buffers: bytes of a connection, received and sent piece by piece as the socket permits.
 * A buffer belongs to one thread.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "comm_internal.h"

/* A frame on the wire. */
struct gda_comm_wire {
	uint32_t kind;
	uint32_t bytes;
	uint32_t a;
	uint32_t b;
	uint64_t time;
};

static int gda_comm_buffer_room(struct gda_comm_buffer *b, size_t bytes)
{
	size_t room = b->room ? b->room : 256;
	unsigned char *data;

	while (room - b->used < bytes)
		room *= 2;
	if (room == b->room)
		return 0;
	data = realloc(b->data, room);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->room = room;
	return 0;
}

int gda_comm_buffer_add(struct gda_comm_buffer *b, const void *data, size_t bytes)
{
	int err = gda_comm_buffer_room(b, bytes);

	if (err)
		return err;
	if (bytes)
		memcpy(b->data + b->used, data, bytes);
	b->used += bytes;
	return 0;
}

void gda_comm_buffer_free(struct gda_comm_buffer *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

int gda_comm_frame_head_add(struct gda_comm_buffer *b, const struct gda_comm_frame *frame)
{
	struct gda_comm_wire wire = {
		.kind = htole32(frame->kind),
		.bytes = htole32(frame->bytes),
		.a = htole32(frame->a),
		.b = htole32(frame->b),
		.time = htole64(frame->time),
	};

	return gda_comm_buffer_add(b, &wire, sizeof(wire));
}

int gda_comm_frame_add(struct gda_comm_buffer *b, const struct gda_comm_frame *frame,
		       const void *payload)
{
	/* both or nothing */
	int err = gda_comm_buffer_room(b, sizeof(struct gda_comm_wire) + frame->bytes);

	if (!err)
		err = gda_comm_frame_head_add(b, frame);
	return err ? err : gda_comm_buffer_add(b, payload, frame->bytes);
}

int gda_comm_buffer_flush(struct gda_comm_buffer *b, int fd)
{
	b->full = false;
	while (b->sent < b->used) {
		size_t room = gda_comm_alive_room(fd, b->used - b->sent);
		ssize_t n;

		b->full = !room;
		if (!room)
			return 0;
		n = send(fd, b->data + b->sent, room, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return errno == EAGAIN ? 0 : -errno;
		}
		b->sent += (size_t)n;
	}
	b->sent = 0;
	b->used = 0;
	return 0;
}

int gda_comm_buffer_fill(struct gda_comm_buffer *b, int fd, size_t most)
{
	while (b->used < most) {
		size_t want = most - b->used < 65536 ? most - b->used : 65536;
		ssize_t n;

		if (gda_comm_buffer_room(b, want))
			return -ENOMEM;
		n = recv(fd, b->data + b->used, want, MSG_DONTWAIT);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return errno == EAGAIN ? 0 : -errno;
		}
		if (!n)
			return -ECONNRESET;
		b->used += (size_t)n;
	}
	return 0;
}

int gda_comm_frame_get(const struct gda_comm_buffer *b, size_t most,
		       struct gda_comm_frame *frame, const unsigned char **payload)
{
	struct gda_comm_wire wire;

	if (b->used < sizeof(wire))
		return 0;
	memcpy(&wire, b->data, sizeof(wire));
	frame->kind = le32toh(wire.kind);
	frame->bytes = le32toh(wire.bytes);
	frame->a = le32toh(wire.a);
	frame->b = le32toh(wire.b);
	frame->time = le64toh(wire.time);
	if (frame->bytes > most)
		return -EPROTO;
	*payload = b->data + sizeof(wire);
	return b->used - sizeof(wire) >= frame->bytes;
}

void gda_comm_bytes_drop(struct gda_comm_buffer *b, size_t bytes)
{
	b->used -= bytes;
	/* free a large buffer: most calls have few bytes */
	if (!b->used && b->room > 65536)
		gda_comm_buffer_free(b);
	else
		memmove(b->data, b->data + bytes, b->used);
}

void gda_comm_frame_drop(struct gda_comm_buffer *b, const struct gda_comm_frame *frame)
{
	gda_comm_bytes_drop(b, sizeof(struct gda_comm_wire) + frame->bytes);
}

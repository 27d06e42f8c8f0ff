// SPDX-License-Identifier: MIT
/*
 * The hub's output to a rank: frames for this rank, and results of calls, of which there is one
 * copy for all ranks.
 *
 * It is sent in the order @out, @result, @behind: frames that are added while a result is being
 * sent go to @behind. A result is reference-counted: one reference for each rank that has not
 * received it, and one for the hub during the call. All of it belongs to the hub's thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "hub.h"

struct gda_comm_result *gda_comm_result_alloc(size_t bytes)
{
	struct gda_comm_result *result = malloc(sizeof(*result) + bytes);

	if (result)
		result->users = 1;
	return result;
}

void gda_comm_result_put(struct gda_comm_result *result)
{
	if (result && !--result->users)
		free(result);
}

bool gda_comm_member_waits(const struct gda_comm_member *m)
{
	return m->out.used || m->result;
}

bool gda_comm_member_full(const struct gda_comm_member *m)
{
	return m->out.used ? m->out.full : m->result && m->rest.full;
}

static void gda_comm_member_result_end(struct gda_comm_member *m)
{
	gda_comm_result_put(m->result);
	m->result = NULL;
}

int gda_comm_member_flush(struct gda_comm_member *m)
{
	int err = gda_comm_buffer_flush(&m->out, m->fd);

	if (err || m->out.used || !m->result)
		return err;
	err = gda_comm_buffer_flush(&m->rest, m->fd);
	if (err || m->rest.used)
		return err;
	gda_comm_member_result_end(m);
	gda_comm_buffer_free(&m->out);
	m->out = m->behind;
	m->behind = (struct gda_comm_buffer) { 0 };
	return gda_comm_buffer_flush(&m->out, m->fd);
}

static void gda_comm_member_flushed(struct gda_comm_member *m, int err)
{
	if (!err)
		err = gda_comm_member_flush(m);
	if (err)
		/* poll(2) then reports it, and the rank is declared lost outside of this call */
		shutdown(m->fd, SHUT_RDWR);
}

void gda_comm_member_send(struct gda_comm_member *m, const struct gda_comm_frame *frame,
			  const void *payload)
{
	int err = gda_comm_frame_add(m->result ? &m->behind : &m->out, frame, payload);

	gda_comm_member_flushed(m, err);
}

void gda_comm_member_send_result(struct gda_comm_member *m, const struct gda_comm_frame *frame,
				 struct gda_comm_result *result)
{
	/* a rank that joins its next call must have received the previous result */
	int err = m->result ? -EPROTO : gda_comm_frame_head_add(&m->out, frame);

	if (!err) {
		result->users++;
		m->result = result;
		m->rest = (struct gda_comm_buffer) {
			.data = result->data, .used = frame->bytes,
		};
	}
	gda_comm_member_flushed(m, err);
}

void gda_comm_member_clear(struct gda_comm_member *m)
{
	gda_comm_buffer_free(&m->in);
	gda_comm_buffer_free(&m->out);
	gda_comm_buffer_free(&m->behind);
	gda_comm_member_result_end(m);
}

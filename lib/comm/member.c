// SPDX-License-Identifier: MIT
/*
 * What goes out from the hub to a rank: frames of its own, and the result of a call, of which the
 * hub has one copy for all ranks.
 *
 * Order: @out, then @result, then @behind, which holds the frames that came while a result is on
 * its way. A result has a user for each rank that still has to get it, and one for the hub
 * while the call is under way. All of it is the hub's thread's own.
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
		/* poll(2) finds it, and the rank is lost where nothing is being sent */
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
	/* a rank that comes to its next call has the result of the one before */
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

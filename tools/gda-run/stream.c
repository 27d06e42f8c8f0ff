// SPDX-License-Identifier: MIT
/*
 * Output of the ranks: whole lines, marked with the rank that wrote them, so that those
 * of different ranks do not mix. A line of more than STREAM_LINE bytes is passed on in
 * pieces.
 *
 * A stream holds at most STREAM_LINE bytes, and is not read while it is full: so a rank whose
 * output is not read blocks, and no other rank does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include "run.h"

int stream_open(struct run_stream *s, int *theirs)
{
	int ends[2];

	*s = (struct run_stream) { .fd = -1 };
	/* allocate now, because a line that has arrived cannot wait for memory */
	s->line = malloc(STREAM_LINE);
	if (!s->line)
		return -ENOMEM;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	s->fd = ends[0];
	*theirs = ends[1];
	return 0;
}

bool stream_has_room(const struct run_stream *s)
{
	return s->fd >= 0 && s->used < STREAM_LINE;
}

void stream_read(struct run_stream *s)
{
	size_t room = STREAM_LINE - s->used;
	ssize_t n;

	if (!stream_has_room(s))
		return;
	if (s->ending && s->last < room)
		room = s->last;
	n = read(s->fd, s->line + s->used, room);
	if (n > 0) {
		s->used += (size_t)n;
		s->last -= s->ending ? (size_t)n : 0;
	}
	if (!n || (n < 0 && errno != EAGAIN && errno != EINTR) || (s->ending && !s->last))
		stream_close(s);
}

void stream_end(struct run_stream *s)
{
	int bytes = 0;

	s->ending = true;
	if (s->fd >= 0 && !ioctl(s->fd, FIONREAD, &bytes) && bytes > 0)
		s->last = (size_t)bytes;
	else
		stream_close(s);
}

/* Length of the first line; 0: it is incomplete. */
static size_t stream_first(const struct run_stream *s)
{
	const char *newline = s->used ? memchr(s->line, '\n', s->used) : NULL;

	if (newline)
		return (size_t)(newline + 1 - s->line);
	return s->used == STREAM_LINE ? s->used : 0;
}

bool stream_lines(struct run_stream *s, struct run_output *o, const char *mark)
{
	bool any = false;
	size_t bytes;

	while (!output_waits(o) && (bytes = stream_first(s))) {
		output_line(o, mark, s->line, bytes);
		s->used -= bytes;
		memmove(s->line, s->line + bytes, s->used);
		any = true;
	}
	return any;
}

bool stream_waits(const struct run_stream *s)
{
	return stream_first(s) || (s->ending && s->fd >= 0);
}

void stream_close(struct run_stream *s)
{
	if (s->fd < 0)
		return;
	close(s->fd);
	s->fd = -1;
	/* pass on the rest, even without a newline; a full buffer is passed on as it is */
	if (s->used && s->used < STREAM_LINE && s->line[s->used - 1] != '\n')
		s->line[s->used++] = '\n';
}

void stream_free(struct run_stream *s)
{
	stream_close(s);
	free(s->line);
	s->line = NULL;
	s->used = 0;
}

void stream_say(struct run_stream *s, const char *format, ...)
{
	size_t room = STREAM_LINE - s->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(s->line + s->used, room, format, args);
	va_end(args);
	/* a line that does not fit behind unread ones is dropped */
	if (n > 0 && (size_t)n < room)
		s->used += (size_t)n;
}

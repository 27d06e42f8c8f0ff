// SPDX-License-Identifier: MIT
/*
 * Output of the ranks: whole lines, marked with the rank that wrote them, so that those
 * of different ranks do not mix. A line of more than STREAM_LINE bytes is passed on in
 * pieces.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "run.h"

#define STREAM_LINE 65536U

int stream_open(struct run_stream *s, int to, int *theirs)
{
	int ends[2];

	*s = (struct run_stream) { .fd = -1, .to = to };
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	s->fd = ends[0];
	*theirs = ends[1];
	return 0;
}

static void write_all(int fd, const char *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return;
		if (n > 0) {
			data += n;
			bytes -= (size_t)n;
		}
	}
}

/* One write for the mark and the line: others may write to the same place. */
static void line_out(const struct run_stream *s, uint32_t rank, const struct run_options *opt,
		     const char *line, size_t bytes)
{
	static char out[STREAM_LINE + 32];
	int n = 0;

	if (!opt->bare)
		n = snprintf(out, 32, "[%u] ", opt->first + rank);
	memcpy(out + n, line, bytes);
	write_all(s->to, out, (size_t)n + bytes);
}

static void lines_out(struct run_stream *s, uint32_t rank, const struct run_options *opt)
{
	char *at = s->line, *end = s->line + s->used, *newline;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		line_out(s, rank, opt, at, (size_t)(newline + 1 - at));
		at = newline + 1;
	}
	s->used = (size_t)(end - at);
	memmove(s->line, at, s->used);
	if (s->used == STREAM_LINE) {
		line_out(s, rank, opt, s->line, s->used);
		s->used = 0;
	}
}

void stream_read(struct run_stream *s, uint32_t rank, const struct run_options *opt)
{
	ssize_t n;

	if (!s->line)
		s->line = malloc(STREAM_LINE);
	if (!s->line)
		return;
	n = read(s->fd, s->line + s->used, STREAM_LINE - s->used);
	if (n > 0) {
		s->used += (size_t)n;
		lines_out(s, rank, opt);
	} else if (!n || (errno != EAGAIN && errno != EINTR)) {
		stream_close(s, rank, opt);
	}
}

void stream_close(struct run_stream *s, uint32_t rank, const struct run_options *opt)
{
	if (s->fd < 0)
		return;
	if (s->used) {
		s->line[s->used < STREAM_LINE ? s->used++ : s->used - 1] = '\n';
		line_out(s, rank, opt, s->line, s->used);
	}
	close(s->fd);
	s->fd = -1;
	free(s->line);
	s->line = NULL;
	s->used = 0;
}

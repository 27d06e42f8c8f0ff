// SPDX-License-Identifier: MIT
/*
 * Writes the ranks' output to our standard output and error, whose readers may be slow or stuck.
 *
 * Invariant: gda-run never blocks in write(2). An output holds one line at a time; until that is
 * written, further lines stay in their streams, a full stream is not read, and its rank blocks.
 * Other processes share the descriptor, so it must not be set to O_NONBLOCK; instead a pipe or
 * terminal is opened anew. If that is not permitted, only as much is written as a pipe surely has
 * room for when poll(2) reports that it is writable.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "run.h"

#define OUTPUT_MARK 32U		/* bytes of "[rank] " */

int output_open(struct run_output *o, int fd)
{
	char path[32];
	struct stat st;

	*o = (struct run_output) { .fd = fd, .most = SIZE_MAX };
	o->data = malloc(STREAM_LINE + OUTPUT_MARK);
	if (!o->data)
		return -ENOMEM;
	if (fstat(fd, &st))
		return 0;
	o->socket = S_ISSOCK(st.st_mode);
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		o->fd = fd;
	else
		o->most = PIPE_BUF;
	return 0;
}

bool output_same(int a, int b)
{
	struct stat one, other;

	return !fstat(a, &one) && !fstat(b, &other) && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

bool output_waits(const struct run_output *o)
{
	return o->sent < o->used;
}

void output_flush(struct run_output *o)
{
	struct pollfd p = { .fd = o->fd, .events = POLLOUT };

	while (output_waits(o)) {
		size_t bytes = o->used - o->sent < o->most ? o->used - o->sent : o->most;
		ssize_t n;

		if (poll(&p, 1, 0) == 0)
			return;
		n = o->socket ? send(o->fd, o->data + o->sent, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) :
				write(o->fd, o->data + o->sent, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		/* the output has no reader any more: drop the rest */
		o->sent = n < 0 ? o->used : o->sent + (size_t)n;
	}
	o->sent = 0;
	o->used = 0;
}

void output_line(struct run_output *o, const char *mark, const char *line, size_t bytes)
{
	size_t n = strlen(mark);

	memcpy(o->data, mark, n);
	memcpy(o->data + n, line, bytes);
	o->used = n + bytes;
	o->sent = 0;
	output_flush(o);
}

void output_free(struct run_output *o)
{
	free(o->data);
	o->data = NULL;
}

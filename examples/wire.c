// SPDX-License-Identifier: MIT
/* A unix socket for what is said before and after the data flows. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "demo.h"

static socklen_t wire_address(const struct options *o, struct sockaddr_un *sun)
{
	size_t len = strlen(o->socket);

	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	if (len >= sizeof(sun->sun_path))
		die(DEMO_FAILED, "socket name too long");
	memcpy(sun->sun_path, o->socket, len);
	if (o->socket[0] == '@')
		sun->sun_path[0] = 0;
	else
		len++;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static int wire_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die(DEMO_FAILED, "socket: %s", strerror(errno));
	return fd;
}

/* Steps on the socket are bounded too. */
static void wire_bound(const struct options *o, int fd, uid_t *peer)
{
	struct timeval tv = { .tv_sec = o->seconds };
	struct ucred cred;
	socklen_t len = sizeof(cred);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		die(DEMO_FAILED, "who is the peer: %s", strerror(errno));
	*peer = cred.uid;
}

int wire_listen(const struct options *o)
{
	struct sockaddr_un sun;
	socklen_t len = wire_address(o, &sun);
	int fd = wire_socket();

	if (o->socket[0] != '@')
		unlink(o->socket);
	if (bind(fd, (struct sockaddr *)&sun, len) || listen(fd, 1))
		die(DEMO_FAILED, "%s: %s", o->socket, strerror(errno));
	return fd;
}

int wire_accept(const struct options *o, int listener, uid_t *peer)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	int fd;

	if (poll(&p, 1, (int)o->seconds * 1000) != 1)
		die(DEMO_PEER, "nobody connected within %u s", o->seconds);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		die(DEMO_FAILED, "accept: %s", strerror(errno));
	close(listener);
	wire_bound(o, fd, peer);
	return fd;
}

/* The receiver may not be there yet. */
int wire_connect(const struct options *o, uid_t *peer)
{
	struct sockaddr_un sun;
	socklen_t len = wire_address(o, &sun);
	uint64_t deadline = gda_clock_ns() + o->seconds * 1000000000ULL;
	int fd = wire_socket();

	while (connect(fd, (struct sockaddr *)&sun, len)) {
		if (gda_clock_ns() > deadline)
			die(DEMO_PEER, "%s: %s", o->socket, strerror(errno));
		usleep(10000);
	}
	wire_bound(o, fd, peer);
	return fd;
}

void wire_send(int fd, const void *message, size_t size)
{
	ssize_t n = send(fd, message, size, MSG_NOSIGNAL);

	if (n != (ssize_t)size)
		die(DEMO_PEER, "the peer is gone (%s)", n < 0 ? strerror(errno) : "short");
}

void wire_recv(int fd, void *message, size_t size, uint32_t type)
{
	ssize_t n = recv(fd, message, size, MSG_TRUNC);

	if (n == 0)
		die(DEMO_PEER, "the peer is gone");
	if (n < 0)
		die(DEMO_PEER, "no word from the peer (%s)", strerror(errno));
	if (n != (ssize_t)size || memcmp(message, &type, sizeof(type)))
		die(DEMO_FAILED, "the peer said something else than expected");
}

bool wire_hung_up(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) == 1;
}

// SPDX-License-Identifier: MIT
/*
 * A socket for what is said before and after the data flows: a unix socket, or a TCP
 * connection to another machine. A message is a struct whose size both sides know; both
 * machines are little-endian.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "demo.h"

#define WIRE_TCP	"tcp:"

/* Where the receiver listens, and which kind of socket that takes. */
struct wire_address {
	struct sockaddr_storage addr;
	socklen_t len;
	int type;
};

static bool stream;	/* the socket knows no bounds of messages */

/* HOST:PORT, both in numbers; of an IPv6 address after the last colon. */
static void wire_tcp(const char *text, struct wire_address *w)
{
	static const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
	};
	const char *port = strrchr(text, ':');
	struct addrinfo *found;
	char host[64];

	if (!port || (size_t)(port - text) >= sizeof(host))
		die(DEMO_FAILED, "%s is not HOST:PORT", text);
	snprintf(host, sizeof(host), "%.*s", (int)(port - text), text);
	if (getaddrinfo(host, port + 1, &hints, &found))
		die(DEMO_FAILED, "%s is not HOST:PORT", text);
	memcpy(&w->addr, found->ai_addr, found->ai_addrlen);
	w->len = found->ai_addrlen;
	w->type = SOCK_STREAM;
	freeaddrinfo(found);
}

static void wire_unix(const char *name, struct wire_address *w)
{
	struct sockaddr_un *sun = (struct sockaddr_un *)&w->addr;
	size_t len = strlen(name);

	sun->sun_family = AF_UNIX;
	if (len >= sizeof(sun->sun_path))
		die(DEMO_FAILED, "socket name too long");
	memcpy(sun->sun_path, name, len);
	if (name[0] == '@')
		sun->sun_path[0] = 0;
	else
		len++;
	w->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	w->type = SOCK_SEQPACKET;
}

static struct wire_address wire_address(const struct options *o)
{
	struct wire_address w = { .len = 0 };

	if (strncmp(o->socket, WIRE_TCP, strlen(WIRE_TCP)))
		wire_unix(o->socket, &w);
	else
		wire_tcp(o->socket + strlen(WIRE_TCP), &w);
	stream = w.type == SOCK_STREAM;
	return w;
}

static int wire_socket(const struct wire_address *w)
{
	int fd = socket(w->addr.ss_family, w->type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die(DEMO_FAILED, "socket: %s", strerror(errno));
	return fd;
}

/* The user at the other end, or the address. */
static void wire_name_peer(int fd, char peer[DEMO_PEER_NAME])
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr), cred_len = sizeof(struct ucred);
	char host[64], port[8];
	struct ucred cred;

	if (!stream && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len))
		snprintf(peer, DEMO_PEER_NAME, "%u", cred.uid);
	else if (stream && !getpeername(fd, (struct sockaddr *)&addr, &len) &&
		 !getnameinfo((struct sockaddr *)&addr, len, host, sizeof(host), port,
			      sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(peer, DEMO_PEER_NAME, "%s:%s", host, port);
	else
		die(DEMO_FAILED, "who is the peer: %s", strerror(errno));
}

/* Steps on the socket are bounded too. */
static void wire_bound(const struct options *o, int fd, char peer[DEMO_PEER_NAME])
{
	struct timeval tv = { .tv_sec = o->seconds };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	wire_name_peer(fd, peer);
}

int wire_listen(const struct options *o)
{
	struct wire_address w = wire_address(o);
	int one = 1, fd = wire_socket(&w);

	if (stream)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	else if (o->socket[0] != '@')
		unlink(o->socket);
	if (bind(fd, (struct sockaddr *)&w.addr, w.len) || listen(fd, 1))
		die(DEMO_FAILED, "%s: %s", o->socket, strerror(errno));
	return fd;
}

int wire_accept(const struct options *o, int listener, char peer[DEMO_PEER_NAME])
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
int wire_connect(const struct options *o, char peer[DEMO_PEER_NAME])
{
	struct wire_address w = wire_address(o);
	uint64_t deadline = gda_clock_ns() + o->seconds * 1000000000ULL;
	int fd = wire_socket(&w);

	while (connect(fd, (struct sockaddr *)&w.addr, w.len)) {
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
	ssize_t n = recv(fd, message, size, stream ? MSG_WAITALL : MSG_TRUNC);

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

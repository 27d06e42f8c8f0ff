// SPDX-License-Identifier: MIT
/*
 * Unique ids: "gda1 ADDRESS PORT SECRET", the secret in 32 hexadecimal digits, and the
 * sockets that listen for them in the process of rank 0.
 *
 * gda_comm_ids_lock guards the list. A socket is listed from gda_comm_id_create() until the
 * communicator takes it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include <gda/barrier.h>
#include "comm_internal.h"

#define GDA_COMM_BACKLOG	1024

struct gda_comm_listener {
	struct gda_comm_listener *next;
	struct gda_comm_id id;
	int fd;
};

static struct gda_comm_listener *gda_comm_ids;
static pthread_mutex_t gda_comm_ids_lock = PTHREAD_MUTEX_INITIALIZER;

/* Find an interface's first address that is not link-local, IPv4 before IPv6. */
static int gda_comm_interface(const char *interface, struct sockaddr_storage *addr)
{
	struct ifaddrs *all, *i;
	int err = -ENODEV;

	if (getifaddrs(&all))
		return -errno;
	for (i = all; i; i = i->ifa_next) {
		if (!i->ifa_addr || strcmp(i->ifa_name, interface))
			continue;
		if (i->ifa_addr->sa_family == AF_INET) {
			memcpy(addr, i->ifa_addr, sizeof(struct sockaddr_in));
			err = 0;
			break;
		}
		if (i->ifa_addr->sa_family == AF_INET6 && err) {
			const struct sockaddr_in6 *six = (const void *)i->ifa_addr;

			if (IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr))
				continue;
			memcpy(addr, six, sizeof(*six));
			err = 0;
		}
	}
	freeifaddrs(all);
	return err;
}

static void gda_comm_loopback(struct sockaddr_storage *addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

static socklen_t gda_comm_addr_length(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in);
}

static void gda_comm_any_port(struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = 0;
	else
		((struct sockaddr_in *)addr)->sin_port = 0;
}

static int gda_comm_no_socket(int err)
{
	if (err == -EMFILE)
		gda_because(err,
			    "this process has too many open files: raise RLIMIT_NOFILE, ulimit -n");
	return err;
}

/*
 * Listen at @addr; port 0 is replaced by a free one. @again: even while old connections of that
 * port linger.
 */
static int gda_comm_listen(struct sockaddr_storage *addr, int again, int *fd)
{
	socklen_t length = gda_comm_addr_length(addr);
	int err;

	*fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return gda_comm_no_socket(-errno);
	setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &again, sizeof(again));
	if (!bind(*fd, (struct sockaddr *)addr, length) && !listen(*fd, GDA_COMM_BACKLOG) &&
	    !getsockname(*fd, (struct sockaddr *)addr, &length))
		return 0;
	err = -errno;
	close(*fd);
	return gda_because(err, "cannot listen for the other ranks: %s", strerror(-err));
}

static int gda_comm_id_format(const struct sockaddr_storage *addr,
			      const struct gda_comm_secret *secret, struct gda_comm_id *id)
{
	const struct sockaddr_in6 *six = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	bool is_six = addr->ss_family == AF_INET6;
	char text[INET6_ADDRSTRLEN];
	int i, n;

	memset(id, 0, sizeof(*id));
	if (!inet_ntop(addr->ss_family,
		       is_six ? (const void *)&six->sin6_addr : (const void *)&in->sin_addr,
		       text, sizeof(text)))
		return -errno;
	n = snprintf(id->text, sizeof(id->text), "gda1 %s %u ", text,
		     ntohs(is_six ? six->sin6_port : in->sin_port));
	for (i = 0; i < GDA_COMM_SECRET_BYTES; i++)
		n += snprintf(id->text + n, sizeof(id->text) - (size_t)n, "%02x",
			      secret->bytes[i]);
	return 0;
}

int gda_comm_id_listen(const struct sockaddr_storage *at, struct gda_comm_id *id)
{
	struct gda_comm_listener *l = calloc(1, sizeof(*l));
	struct sockaddr_storage addr = *at;
	struct gda_comm_secret secret;
	int err;

	if (!l)
		return -ENOMEM;
	err = gda_comm_random(&secret, sizeof(secret));
	gda_comm_any_port(&addr);
	if (!err)
		err = gda_comm_listen(&addr, 0, &l->fd);
	if (err)
		goto err_free;
	err = gda_comm_id_format(&addr, &secret, &l->id);
	if (err)
		goto err_close;
	*id = l->id;
	pthread_mutex_lock(&gda_comm_ids_lock);
	l->next = gda_comm_ids;
	gda_comm_ids = l;
	pthread_mutex_unlock(&gda_comm_ids_lock);
	return 0;

err_close:
	close(l->fd);
err_free:
	free(l);
	return err;
}

GDA_EXPORT int gda_comm_id_create(const char *interface, struct gda_comm_id *id)
{
	struct sockaddr_storage addr = { 0 };
	int err = 0;

	gda_comm_loopback(&addr);
	if (interface)
		err = gda_comm_interface(interface, &addr);
	if (err == -ENODEV)
		gda_because(err,
			    "there is no interface \"%s\" with an address: choose one that ip address shows",
			    interface);
	if (!err)
		err = gda_comm_id_listen(&addr, id);
	return gda_called(err, "gda_comm_id_create", "%s", interface ? interface : "NULL");
}

/* gda-run has created the socket, and passed its number to rank 0 alone. */
static int gda_comm_id_inherited(const struct gda_comm_id *id)
{
	const char *env_id = secure_getenv("GDA_COMM_ID");
	const char *fd = secure_getenv("GDA_COMM_FD");
	char *end;
	long n;

	if (!fd || !env_id || strcmp(env_id, id->text))
		return -ENOENT;
	n = strtol(fd, &end, 10);
	/* no other communicator of this process may use the socket */
	unsetenv("GDA_COMM_FD");
	if (*end || n < 3 || n > INT32_MAX)
		return -EINVAL;
	/* programs that this one executes do not inherit the socket */
	return fcntl((int)n, F_SETFD, FD_CLOEXEC) ? -errno : (int)n;
}

int gda_comm_id_listener(const struct gda_comm_id *id)
{
	struct gda_comm_listener **at, *l;
	int fd = -ENOENT;

	pthread_mutex_lock(&gda_comm_ids_lock);
	for (at = &gda_comm_ids; *at; at = &(*at)->next) {
		l = *at;
		if (strncmp(l->id.text, id->text, sizeof(id->text)))
			continue;
		fd = l->fd;
		*at = l->next;
		free(l);
		break;
	}
	if (fd < 0)
		fd = gda_comm_id_inherited(id);
	pthread_mutex_unlock(&gda_comm_ids_lock);
	return fd;
}

void gda_comm_id_forget(const struct gda_comm_id *id)
{
	int fd = gda_comm_id_listener(id);

	if (fd >= 0)
		close(fd);
}

static int gda_comm_id_secret(const char *hex, struct gda_comm_secret *secret)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	if (strlen(hex) != 2 * GDA_COMM_SECRET_BYTES ||
	    strspn(hex, digits) != 2 * GDA_COMM_SECRET_BYTES)
		return -EINVAL;
	for (i = 0; i < GDA_COMM_SECRET_BYTES; i++)
		secret->bytes[i] = (unsigned char)((strchr(digits, hex[2 * i]) - digits) << 4 |
						   (strchr(digits, hex[2 * i + 1]) - digits));
	return 0;
}

static int gda_comm_id_wrong(void)
{
	return gda_because(-EINVAL, "id is no text of gda_comm_id_create(): pass all of it on");
}

int gda_comm_id_parse(const struct gda_comm_id *id, struct gda_comm_secret *secret,
		      struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)addr;
	struct sockaddr_in *in = (struct sockaddr_in *)addr;
	char address[64], hex[64];
	unsigned int port;

	if (!memchr(id->text, 0, sizeof(id->text)) ||
	    sscanf(id->text, "gda1 %63s %u %63s", address, &port, hex) != 3 ||
	    !port || port > 65535)
		return gda_comm_id_wrong();
	memset(addr, 0, sizeof(*addr));
	if (inet_pton(AF_INET, address, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)port);
	} else if (inet_pton(AF_INET6, address, &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons((uint16_t)port);
	} else {
		return gda_comm_id_wrong();
	}
	return gda_comm_id_secret(hex, secret) ? gda_comm_id_wrong() : 0;
}

int gda_comm_id_reopen(const struct gda_comm_id *id)
{
	struct sockaddr_storage addr;
	struct gda_comm_secret secret;
	int fd, err = gda_comm_id_parse(id, &secret, &addr);

	if (!err)
		err = gda_comm_listen(&addr, 1, &fd);
	return err ? err : fd;
}

/* Wait for @events. Return: 0, or -ETIMEDOUT at the deadline. */
static int gda_comm_poll(int fd, short events, uint64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		uint64_t now = gda_clock_ns();
		uint64_t left = deadline > now ? (deadline - now) / 1000000 + 1 : 0;

		if (!left)
			return -ETIMEDOUT;
		if (poll(&p, 1, left > 1000 ? 1000 : (int)left) > 0)
			return 0;
	}
}

static int gda_comm_transfer(int fd, void *data, size_t bytes, bool out, uint64_t deadline)
{
	unsigned char *p = data;

	while (bytes) {
		int err = gda_comm_poll(fd, out ? POLLOUT : POLLIN, deadline);
		ssize_t n;

		if (err)
			return err;
		n = out ? send(fd, p, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) :
			  recv(fd, p, bytes, MSG_DONTWAIT);
		if (!n)
			return -ECONNRESET;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0) {
			p += n;
			bytes -= (size_t)n;
		}
	}
	return 0;
}

/* The rank's half of the proof: answer the hub's nonce, send a nonce, and check the answer. */
static int gda_comm_prove(int fd, const struct gda_comm_secret *secret, uint64_t deadline)
{
	struct {
		unsigned char tag[GDA_COMM_TAG_BYTES];
		unsigned char nonce[GDA_COMM_NONCE_BYTES];
	} mine;
	unsigned char nonce[GDA_COMM_NONCE_BYTES];
	unsigned char want[GDA_COMM_TAG_BYTES], got[GDA_COMM_TAG_BYTES];
	int err;

	err = gda_comm_random(mine.nonce, sizeof(mine.nonce));
	if (!err)
		err = gda_comm_transfer(fd, nonce, sizeof(nonce), false, deadline);
	if (err)
		return err;
	gda_comm_tag(secret, GDA_COMM_RANK, nonce, mine.tag);
	err = gda_comm_transfer(fd, &mine, sizeof(mine), true, deadline);
	if (!err)
		err = gda_comm_transfer(fd, got, sizeof(got), false, deadline);
	if (err)
		return err;
	gda_comm_tag(secret, GDA_COMM_HUB, mine.nonce, want);
	return gda_comm_tag_equal(got, want) ? 0 : -EACCES;
}

/* Try once to connect. A peer that answers too late or wrongly is not the hub. */
static int gda_comm_try(const struct sockaddr_storage *addr,
			const struct gda_comm_secret *secret, uint64_t deadline, int *fd)
{
	int err = 0;
	socklen_t size = sizeof(err);

	gda_fd_lock();
	*fd = gda_fd_list(socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	gda_fd_unlock();
	if (*fd < 0)
		return gda_comm_no_socket(-errno);
	gda_comm_alive_start(*fd);
	if (connect(*fd, (const struct sockaddr *)addr, gda_comm_addr_length(addr))) {
		err = errno == EINPROGRESS ? gda_comm_poll(*fd, POLLOUT, deadline) : -errno;
		if (!err && !getsockopt(*fd, SOL_SOCKET, SO_ERROR, &err, &size))
			err = -err;
	}
	if (!err)
		err = gda_comm_prove(*fd, secret, deadline);
	if (err)
		gda_fd_close(*fd);
	return err;
}

int gda_comm_id_connect(const struct gda_comm_id *id, uint64_t deadline, int *fd)
{
	struct sockaddr_storage addr;
	struct gda_comm_secret secret;
	int err = gda_comm_id_parse(id, &secret, &addr);
	bool refused = false;

	if (err)
		return err;
	for (;;) {
		struct timespec nap = { .tv_nsec = 10000000 };

		err = gda_comm_try(&addr, &secret, deadline, fd);
		/* the last try may have been too short for an answer */
		refused = err == -ECONNREFUSED ||
			  (refused && err == -ETIMEDOUT && gda_clock_ns() >= deadline);
		if (err == -EACCES)
			gda_because(err,
				    "the process at the id's address has not its secret: is the id that of this job?");
		/* the hub may be full of guests whose time for a proof is not over */
		if (err && err != -ETIMEDOUT && err != -ECONNREFUSED && err != -ECONNRESET &&
		    err != -EPIPE)
			gda_because(err,
				    "rank 0 cannot be reached at the id's address: %s: see ip route",
				    strerror(-err));
		/*
		 * TCP_USER_TIMEOUT ends a try, too: packets may be lost before the hub's machine is
		 * up
		 */
		if (err != -ECONNREFUSED && err != -ECONNRESET && err != -EPIPE && err != -ETIMEDOUT)
			return err;
		if (gda_clock_ns() >= deadline)
			return refused ? -ECONNREFUSED : -ETIMEDOUT;
		nanosleep(&nap, NULL);
	}
}

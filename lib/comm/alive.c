// SPDX-License-Identifier: MIT
/*
 * TCP detects the loss of a machine on both ends of each connection: by keepalive while the
 * connection is idle, by TCP_USER_TIMEOUT while data is unacknowledged. The peer's kernel answers
 * both, so a process that is stopped or debugged does not count as lost.
 *
 * Invariant: no byte is given to the kernel unless the peer has announced room for it.
 * TCP_USER_TIMEOUT also ends a connection whose peer has no room for so long, although the peer's
 * kernel answers; and keepalive is not sent while bytes wait for room. So without the invariant a
 * process that is stopped during a transfer would count as a lost machine.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include "comm_internal.h"

/* A machine is lost 6 s after the last sign of life; the other ranks are then told at once. */
#define GDA_COMM_ALIVE_IDLE_S	2
#define GDA_COMM_ALIVE_EACH_S	1
#define GDA_COMM_ALIVE_MS	6000U

/* TCP_ESTABLISHED of netinet/tcp.h, a header that conflicts with linux/tcp.h. */
#define GDA_COMM_ESTABLISHED	1

static void gda_comm_alive_set(int fd, int level, int option, int value)
{
	/* does not fail on any supported kernel */
	setsockopt(fd, level, option, &value, sizeof(value));
}

void gda_comm_alive_start(int fd)
{
	gda_comm_alive_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	gda_comm_alive_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, GDA_COMM_ALIVE_IDLE_S);
	gda_comm_alive_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, GDA_COMM_ALIVE_EACH_S);
	gda_comm_alive_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, GDA_COMM_ALIVE_MS);
	gda_comm_alive_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

size_t gda_comm_alive_room(int fd, size_t bytes)
{
	struct tcp_info info;
	socklen_t size = sizeof(info);
	int queued;

	/*
	 * Rank 0's own connection is no TCP connection. A connection that has ended keeps its last
	 * window, which may be closed: send(2) reports why it ended.
	 */
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) ||
	    info.tcpi_state != GDA_COMM_ESTABLISHED ||
	    size < offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof(info.tcpi_snd_wnd) ||
	    ioctl(fd, SIOCOUTQ, &queued))
		return bytes;
	if (info.tcpi_snd_wnd <= (uint32_t)queued)
		return 0;
	return bytes < info.tcpi_snd_wnd - (uint32_t)queued ?
		bytes : info.tcpi_snd_wnd - (uint32_t)queued;
}

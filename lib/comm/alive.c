// SPDX-License-Identifier: MIT
/*
 * A machine that is gone is noticed by TCP, on both ends of each connection, whether anything is
 * under way or not: without data by keepalive, with data by TCP_USER_TIMEOUT. Both are answered by
 * the peer's kernel, so a process that is stopped or under a debugger is not lost.
 *
 * Invariant: no byte is given to the kernel for which the peer has not announced room.
 * TCP_USER_TIMEOUT also ends a connection whose peer has no room for so long, although the
 * peer's kernel answers; and keepalive is not sent while bytes wait for room. So a process that
 * is stopped while data is under way would be taken for a machine that is gone.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include "comm_internal.h"

/* A machine is lost 6 s after the last sign of it; the other ranks are told at once. */
#define GDA_COMM_ALIVE_IDLE_S	2
#define GDA_COMM_ALIVE_EACH_S	1
#define GDA_COMM_ALIVE_MS	6000U

/* TCP_ESTABLISHED of netinet/tcp.h, which does not go with linux/tcp.h. */
#define GDA_COMM_ESTABLISHED	1

static void gda_comm_alive_set(int fd, int level, int option, int value)
{
	/* fails for none of the kernels that are supported */
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
	 * Rank 0's own connection is none of TCP. One that has ended keeps its last window, which
	 * may be closed: send(2) says why it ended.
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

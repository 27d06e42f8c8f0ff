// SPDX-License-Identifier: MIT
/*
 * The netlink family "gda", through libnl.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include "command.h"
#include "ctl.h"

#ifndef SOL_NETLINK
#define SOL_NETLINK	270
#endif

#define TRIES	3		/* of a dump that changes meanwhile */
#define RECEIVE	65536		/* bytes; the kernel's messages have at most half of that */

struct ctl_link {
	struct nl_sock *sock;
	int family;
	char reason[128];	/* the kernel's text for an error */
	int ended;		/* errno at the end of a dump, or 0 */
	bool keeps;		/* collect the messages of a dump until it is complete */
	char *kept;
	size_t len, room;	/* of @kept */
	bool unloaded;		/* the family has gone */
	void (*fn)(void *arg, struct nlattr *const *attrs);
	void *arg;
};

static int link_tell(struct ctl_link *link, struct nlmsghdr *h)
{
	struct nlattr *attrs[CTL_ATTRS];

	if (genlmsg_parse(h, 0, attrs, CTL_ATTRS - 1, NULL))
		return NL_SKIP;
	if (link->fn)
		link->fn(link->arg, attrs);
	return NL_OK;
}

static int link_keep(struct ctl_link *link, const struct nlmsghdr *h)
{
	size_t len = NLMSG_ALIGN(h->nlmsg_len);

	if (link->room - link->len < len) {
		size_t room = 2 * link->room + 65536 + len;
		char *kept = realloc(link->kept, room);

		if (!kept)
			return -NLE_NOMEM;
		link->kept = kept;
		link->room = room;
	}
	memcpy(link->kept + link->len, h, h->nlmsg_len);
	link->len += len;
	return NL_OK;
}

static void link_tell_kept(struct ctl_link *link)
{
	for (size_t at = 0; at < link->len;) {
		struct nlmsghdr *h = (void *)(link->kept + at);

		link_tell(link, h);
		at += NLMSG_ALIGN(h->nlmsg_len);
	}
	link->len = 0;
}

/* A message of the netlink controller: a family came or went. */
static int link_family(struct ctl_link *link, struct nlmsghdr *h)
{
	const struct genlmsghdr *genl = nlmsg_data(h);
	struct nlattr *attrs[CTRL_ATTR_MAX + 1];

	if (genlmsg_valid_hdr(h, 0) && genl->cmd == CTRL_CMD_DELFAMILY &&
	    !genlmsg_parse(h, 0, attrs, CTRL_ATTR_MAX, NULL) && attrs[CTRL_ATTR_FAMILY_ID] &&
	    nla_get_u16(attrs[CTRL_ATTR_FAMILY_ID]) == link->family)
		link->unloaded = true;
	return NL_OK;
}

static int link_message(struct nl_msg *msg, void *data)
{
	struct ctl_link *link = data;

	if (nlmsg_hdr(msg)->nlmsg_type == GENL_ID_CTRL)
		return link_family(link, nlmsg_hdr(msg));
	return link->keeps ? link_keep(link, nlmsg_hdr(msg)) : link_tell(link, nlmsg_hdr(msg));
}

/* A dump reports its error in the last message, which libnl ignores. */
static int link_end(struct nl_msg *msg, void *data)
{
	const struct nlmsghdr *h = nlmsg_hdr(msg);
	struct ctl_link *link = data;
	int err = 0;

	if (h->nlmsg_len >= NLMSG_HDRLEN + sizeof(err))
		memcpy(&err, nlmsg_data(h), sizeof(err));
	link->ended = -err;
	return NL_OK;
}

/* The text of an error follows the request's header, or the whole request. */
static int link_error(struct sockaddr_nl *from, struct nlmsgerr *err, void *data)
{
	const struct nlmsghdr *h = (const void *)((const char *)err - NLMSG_HDRLEN);
	struct ctl_link *link = data;
	struct nlattr *attrs[NLMSGERR_ATTR_MAX + 1];
	size_t skip = sizeof(*err);

	(void)from;
	link->reason[0] = 0;
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		skip += err->msg.nlmsg_len - NLMSG_HDRLEN;
	if (h->nlmsg_flags & NLM_F_ACK_TLVS && h->nlmsg_len > NLMSG_HDRLEN + skip &&
	    !nla_parse(attrs, NLMSGERR_ATTR_MAX, (void *)((char *)err + skip),
		       (int)(h->nlmsg_len - NLMSG_HDRLEN - skip), NULL) &&
	    attrs[NLMSGERR_ATTR_MSG])
		snprintf(link->reason, sizeof(link->reason), "%s",
			 nla_get_string(attrs[NLMSGERR_ATTR_MSG]));
	return -nl_syserr2nlerr(err->error);
}

static int link_fail(const struct ctl_link *link, const char *what, int err)
{
	const char *advice = "";

	if (err == -NLE_PERM)
		advice = ": this is for administrators: run it as root, or with CAP_NET_ADMIN";
	else if (err == -NLE_OBJ_NOTFOUND)
		advice = ": gdactl context and gdactl qp show what there is";
	else if (err == -NLE_RANGE || err == -NLE_INVAL)
		advice = ": gdactl(1) has what is allowed";
	fprintf(stderr, "gdactl: %s: %s%s\n", what,
		link && link->reason[0] ? link->reason : nl_geterror(err), advice);
	return -1;
}

int ctl_open(struct ctl_link **to)
{
	struct ctl_link *link = calloc(1, sizeof(*link));
	int err, on = 1;

	if (!link) {
		fputs("gdactl: out of memory: end other programs, and try again\n", stderr);
		return -1;
	}
	link->sock = nl_socket_alloc();
	err = link->sock ? genl_connect(link->sock) : -NLE_NOMEM;
	if (err) {
		link_fail(NULL, "netlink", err);
		goto fail;
	}
	/* otherwise libnl requests an acknowledgment after each answer and leaves it unread */
	nl_socket_disable_auto_ack(link->sock);
	/* otherwise libnl reads each message twice, to learn its length first */
	nl_socket_set_msg_buf_size(link->sock, RECEIVE);
	nl_socket_disable_msg_peek(link->sock);
	link->family = genl_ctrl_resolve(link->sock, GDA_FAMILY_NAME);
	if (link->family < 0) {
		fputs(module_installed("gda_core") ?
		      "gdactl: gda_core is not loaded: as root: modprobe gda_mr" :
		      "gdactl: gda_core is not installed for this kernel: install package gda-dkms, or make install",
		      stderr);
		fputs(" (the in-process device needs none, and is not seen here)\n", stderr);
		goto fail;
	}
	/* an older kernel reports less about errors */
	setsockopt(nl_socket_get_fd(link->sock), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	nl_socket_set_buffer_size(link->sock, 1 << 20, 0);
	nl_socket_modify_cb(link->sock, NL_CB_VALID, NL_CB_CUSTOM, link_message, link);
	nl_socket_modify_cb(link->sock, NL_CB_FINISH, NL_CB_CUSTOM, link_end, link);
	nl_socket_modify_err_cb(link->sock, NL_CB_CUSTOM, link_error, link);
	*to = link;
	return 0;

fail:
	ctl_close(link);
	return -1;
}

void ctl_close(struct ctl_link *link)
{
	if (link->sock)
		nl_socket_free(link->sock);
	free(link->kept);
	free(link);
}

static int link_send(struct ctl_link *link, uint8_t cmd, int flags, const struct ctl_value *values,
		     size_t n)
{
	struct nl_msg *msg = nlmsg_alloc();
	int err = -NLE_NOMEM;

	if (msg && genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, link->family, 0, flags, cmd,
			       GDA_FAMILY_VERSION))
		err = 0;
	for (size_t i = 0; !err && i < n; i++)
		err = nla_put_u32(msg, values[i].type, values[i].value);
	if (!err)
		err = nl_send_auto(link->sock, msg);
	nlmsg_free(msg);
	return err < 0 ? err : 0;
}

int ctl_dump_of(struct ctl_link *link, uint8_t cmd, const struct ctl_value *values, size_t n,
		void (*fn)(void *arg, struct nlattr *const *attrs), void *arg)
{
	int err = 0;

	link->fn = fn;
	link->arg = arg;
	link->keeps = true;
	for (int tries = 0; tries < TRIES; tries++) {
		link->len = 0;
		link->ended = 0;
		err = link_send(link, cmd, NLM_F_DUMP, values, n);
		if (!err)
			err = nl_recvmsgs_default(link->sock);
		if (err != -NLE_DUMP_INTR)
			break;
	}
	link->keeps = false;
	if (!err && link->ended > 0)
		err = -nl_syserr2nlerr(link->ended);
	if (err == -NLE_DUMP_INTR)
		fprintf(stderr, "gdactl: the table changed while it was read: run gdactl again\n");
	else if (err)
		return link_fail(link, "dump", err);
	link_tell_kept(link);
	return 0;
}

int ctl_dump(struct ctl_link *link, uint8_t cmd, uint32_t context,
	     void (*fn)(void *arg, struct nlattr *const *attrs), void *arg)
{
	/* the attribute has the same number in all objects */
	const struct ctl_value of = { GDA_A_QP_CONTEXT, context };

	return ctl_dump_of(link, cmd, &of, context != 0, fn, arg);
}

int ctl_do(struct ctl_link *link, uint8_t cmd, const struct ctl_value *values, size_t n,
	   void (*fn)(void *arg, struct nlattr *const *attrs), void *arg)
{
	int err = link_send(link, cmd, fn ? 0 : NLM_F_ACK, values, n);

	link->fn = fn;
	link->arg = arg;
	/* one message: the answer, an error, or an acknowledgment if there is no answer */
	if (!err)
		err = nl_recvmsgs_default(link->sock);
	return err < 0 ? link_fail(link, "request", err) : 0;
}

/*
 * Join the group of events, and that of families, by which the unloading of the module is noticed.
 * After joining no request is sent, because an event might be taken for the answer.
 */
static int link_join(struct ctl_link *link)
{
	int events = genl_ctrl_resolve_grp(link->sock, GDA_FAMILY_NAME, GDA_MCGRP_EVENTS);
	int families = genl_ctrl_resolve_grp(link->sock, "nlctrl", "notify");

	if (events < 0 || families < 0)
		return events < 0 ? events : families;
	return nl_socket_add_memberships(link->sock, events, families, 0);
}

/* A descriptor that becomes readable at SIGINT or SIGTERM; -1: these signals end the program. */
static int link_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

int ctl_listen(struct ctl_link *link, void (*fn)(void *arg, struct nlattr *const *attrs),
	       void *arg)
{
	struct pollfd p[2] = { { .events = POLLIN }, { .events = POLLIN } };
	int err = link_join(link);

	if (err)
		return link_fail(link, "events", err);
	nl_socket_disable_seq_check(link->sock);
	link->fn = fn;
	link->arg = arg;
	p[0].fd = nl_socket_get_fd(link->sock);
	p[1].fd = link_signals();
	while (!link->unloaded) {
		/* EINTR: a debugger may have stopped it */
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents) {
			close(p[1].fd);
			return 0;
		}
		err = nl_recvmsgs_default(link->sock);
		/* the socket had no room; the kernel's own count does not include these events */
		if (err == -NLE_NOMEM)
			link->fn(link->arg, NULL);
		else if (err < 0)
			return link_fail(link, "events", err);
	}
	close(p[1].fd);
	fputs("gdactl: gda_core was unloaded: load it, and start gdactl monitor again\n", stderr);
	return -1;
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The netlink family "gda", by bytes: nl.h. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "nl.h"

#ifndef SOL_NETLINK
#define SOL_NETLINK	270
#endif

static void *nl_data(const struct nlattr *a)
{
	return (uint8_t *)a + NLA_HDRLEN;
}

static size_t nl_len(const struct nlattr *a)
{
	return a->nla_len - NLA_HDRLEN;
}

static void nl_parse(const void *data, size_t len, const struct nlattr **attrs, size_t n)
{
	const uint8_t *p = data;

	memset(attrs, 0, n * sizeof(*attrs));
	while (len >= NLA_HDRLEN) {
		const struct nlattr *a = (const void *)p;
		size_t step = NLA_ALIGN(a->nla_len);

		if (a->nla_len < NLA_HDRLEN || a->nla_len > len)
			return;
		if ((a->nla_type & NLA_TYPE_MASK) < n)
			attrs[a->nla_type & NLA_TYPE_MASK] = a;
		if (step >= len)
			return;
		p += step;
		len -= step;
	}
}

void t_nl_begin(struct t_nl *nl, struct t_nl_req *req, uint8_t cmd, uint16_t flags)
{
	memset(req, 0, sizeof(*req));
	req->nlh = (struct nlmsghdr) {
		.nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN,
		.nlmsg_type = nl->family,
		.nlmsg_flags = NLM_F_REQUEST | flags,
		.nlmsg_seq = ++nl->seq,
	};
	req->genl = (struct genlmsghdr) { .cmd = cmd, .version = 1 };
}

void t_nl_put(struct t_nl_req *req, uint16_t type, const void *data, size_t len)
{
	struct nlattr a = { .nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type };
	uint8_t *at = req->bytes + req->nlh.nlmsg_len;

	if (req->nlh.nlmsg_len + NLA_HDRLEN + NLA_ALIGN(len) > sizeof(req->bytes))
		return;
	memcpy(at, &a, sizeof(a));
	memcpy(at + NLA_HDRLEN, data, len);
	req->nlh.nlmsg_len += NLA_HDRLEN + (uint32_t)NLA_ALIGN(len);
}

void t_nl_put_u32(struct t_nl_req *req, uint16_t type, uint32_t value)
{
	t_nl_put(req, type, &value, sizeof(value));
}

int t_nl_send(struct t_nl *nl, const struct t_nl_req *req)
{
	nl->len = 0;
	nl->next = 0;
	nl->intr = false;
	return send(nl->fd, req->bytes, req->nlh.nlmsg_len, 0) < 0 ? -errno : 0;
}

static int nl_receive(struct t_nl *nl)
{
	ssize_t n = recv(nl->fd, nl->buf, sizeof(nl->buf), 0);

	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	nl->len = (size_t)n;
	nl->next = 0;
	return 0;
}

int t_nl_next(struct t_nl *nl, struct t_nl_msg *msg)
{
	const struct nlmsghdr *h;
	const struct genlmsghdr *genl;
	int err;

	if (nl->next + NLMSG_HDRLEN > nl->len) {
		err = nl_receive(nl);
		if (err)
			return err;
	}
	h = (const void *)(nl->buf + nl->next);
	nl->next += NLMSG_ALIGN(h->nlmsg_len);
	nl->intr |= h->nlmsg_flags & NLM_F_DUMP_INTR;
	if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE) {
		memcpy(&err, (const uint8_t *)h + NLMSG_HDRLEN, sizeof(err));
		return err;
	}
	genl = (const void *)((const uint8_t *)h + NLMSG_HDRLEN);
	msg->cmd = genl->cmd;
	nl_parse((const uint8_t *)genl + GENL_HDRLEN, h->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN,
		 msg->attr, T_NL_ATTRS);
	return 1;
}

int t_nl_ask(struct t_nl *nl, struct t_nl_req *req, struct t_nl_msg *msg)
{
	int err = t_nl_send(nl, req);

	if (err)
		return err;
	err = t_nl_next(nl, msg);
	return err > 0 ? 0 : err;
}

int t_nl_get(struct t_nl *nl, uint8_t cmd, uint32_t context, uint32_t handle,
	     struct t_nl_msg *msg)
{
	struct t_nl_req req;

	t_nl_begin(nl, &req, cmd, 0);
	if (context)
		t_nl_put_u32(&req, GDA_A_QP_CONTEXT, context);
	if (handle)
		t_nl_put_u32(&req, GDA_A_QP_HANDLE, handle);
	return t_nl_ask(nl, &req, msg);
}

int t_nl_dump(struct t_nl *nl, uint8_t cmd, uint32_t context)
{
	struct t_nl_req req;

	t_nl_begin(nl, &req, cmd, NLM_F_DUMP);
	if (context)
		t_nl_put_u32(&req, GDA_A_QP_CONTEXT, context);
	return t_nl_send(nl, &req);
}

long t_nl_count(struct t_nl *nl, uint8_t cmd, uint32_t context)
{
	struct t_nl_msg msg;
	long n = 0;
	int err;

	err = t_nl_dump(nl, cmd, context);
	if (err)
		return err;
	while ((err = t_nl_next(nl, &msg)) > 0)
		n++;
	return err ? err : n;
}

uint32_t t_nl_u32(const struct t_nl_msg *msg, int attr)
{
	uint32_t v = 0;

	if (msg->attr[attr] && nl_len(msg->attr[attr]) >= sizeof(v))
		memcpy(&v, nl_data(msg->attr[attr]), sizeof(v));
	return v;
}

uint64_t t_nl_u64(const struct t_nl_msg *msg, int attr)
{
	uint64_t v = 0;

	if (msg->attr[attr] && nl_len(msg->attr[attr]) >= sizeof(v))
		memcpy(&v, nl_data(msg->attr[attr]), sizeof(v));
	return v;
}

const char *t_nl_string(const struct t_nl_msg *msg, int attr)
{
	return msg->attr[attr] ? nl_data(msg->attr[attr]) : "";
}

/* The id of the first group of a family, which is nested twice. */
static uint32_t nl_group(const struct nlattr *groups)
{
	const struct nlattr *list[2], *group[CTRL_ATTR_MCAST_GRP_MAX + 1];
	uint32_t id;

	if (!groups)
		return 0;
	nl_parse(nl_data(groups), nl_len(groups), list, 2);
	if (!list[1])
		return 0;
	nl_parse(nl_data(list[1]), nl_len(list[1]), group, CTRL_ATTR_MCAST_GRP_MAX + 1);
	if (!group[CTRL_ATTR_MCAST_GRP_ID])
		return 0;
	memcpy(&id, nl_data(group[CTRL_ATTR_MCAST_GRP_ID]), sizeof(id));
	return id;
}

static int nl_resolve(struct t_nl *nl)
{
	struct t_nl_msg msg;
	struct t_nl_req req;
	int err;

	nl->family = GENL_ID_CTRL;
	t_nl_begin(nl, &req, CTRL_CMD_GETFAMILY, 0);
	t_nl_put(&req, CTRL_ATTR_FAMILY_NAME, GDA_FAMILY_NAME, sizeof(GDA_FAMILY_NAME));
	err = t_nl_ask(nl, &req, &msg);
	if (err)
		return err;
	if (!msg.attr[CTRL_ATTR_FAMILY_ID])
		return -EPROTO;
	memcpy(&nl->family, nl_data(msg.attr[CTRL_ATTR_FAMILY_ID]), sizeof(nl->family));
	nl->events = nl_group(msg.attr[CTRL_ATTR_MCAST_GROUPS]);
	return 0;
}

int t_nl_open(struct t_nl *nl)
{
	struct timeval limit = { .tv_sec = 20 };
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
	int err;

	memset(nl, 0, offsetof(struct t_nl, buf));
	nl->len = 0;
	nl->next = 0;
	nl->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (nl->fd < 0)
		return -errno;
	setsockopt(nl->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	err = bind(nl->fd, (void *)&addr, sizeof(addr)) ? -errno : nl_resolve(nl);
	if (err)
		close(nl->fd);
	return err;
}

void t_nl_close(struct t_nl *nl)
{
	close(nl->fd);
}

int t_nl_join(struct t_nl *nl)
{
	int group = (int)nl->events;

	return setsockopt(nl->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) ?
	       -errno : 0;
}

uint32_t t_nl_my_context(struct t_nl *nl)
{
	uint32_t id = 0;
	struct t_nl_msg msg;

	if (t_nl_dump(nl, GDA_CMD_CONTEXT_GET, 0))
		return 0;
	while (t_nl_next(nl, &msg) > 0)
		if (t_nl_u32(&msg, GDA_A_CONTEXT_PID) == (uint32_t)getpid())
			id = t_nl_u32(&msg, GDA_A_CONTEXT_ID);
	return id;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The netlink family "gda": who uses GDA, the progress of queues, and limits. Its operations and
 * attributes are in Documentation/netlink/specs/gda.yaml, from which netlink_gen.[ch] and
 * gda/netlink.h are generated.
 *
 * Requests run in parallel and take no mutex: if a CPU limit stopped the owner of a mutex, it would
 * stop everybody. They look at contexts and objects under gda_srcu, a few at a time.
 *
 * A reader sees the contexts of its own uid that were opened in its network and user namespace, but
 * not those of a process that this user may not trace (opener.c), unless the reader has
 * CAP_SYS_PTRACE there or is that process. A reader is the user that opened the socket and also
 * sends the request on it: if a privileged program is tricked into writing to a socket of another
 * user, that user sees nothing of the program's.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/net.h>
#include <linux/netlink.h>
#include <linux/pid_namespace.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "nl.h"

static const struct genl_multicast_group gda_nl_groups[] = {
	[GDA_NLGRP_EVENTS] = { .name = GDA_MCGRP_EVENTS, .flags = GENL_MCAST_CAP_NET_ADMIN, },
};

struct genl_family gda_nl_family = {
	.name = GDA_FAMILY_NAME,
	.version = GDA_FAMILY_VERSION,
	.netnsok = true,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.ops = gda_nl_ops,
	.n_ops = ARRAY_SIZE(gda_nl_ops),
	.mcgrps = gda_nl_groups,
	.n_mcgrps = ARRAY_SIZE(gda_nl_groups),
};

/*
 * Credentials of the opener of the socket that a request came from; they live as long as the
 * socket.
 */
static const struct cred *gda_nl_socket_cred(const struct sock *sk)
{
	const struct socket *sock = READ_ONCE(sk->sk_socket);
	const struct file *file = sock ? READ_ONCE(sock->file) : NULL;

	return file ? file->f_cred : NULL;
}

/* Called in the task that sends the request. */
void gda_nl_reader_init(struct gda_nl_reader *reader, struct sk_buff *request)
{
	const struct sock *sk = NETLINK_CB(request).sk;
	const struct cred *cred = gda_nl_socket_cred(sk);

	*reader = (struct gda_nl_reader) {
		.cred = cred,
		.net_cookie = sock_net(sk)->net_cookie,
		.admin = cred && netlink_capable(request, CAP_NET_ADMIN),
		.self = cred && uid_eq(cred->euid, current_euid()) &&
			cred->user_ns == current_user_ns(),
		.pid = task_tgid(current),
	};
	/*
	 * both the socket's owner, which is in the caller's namespace, and the caller have the
	 * capability
	 */
	reader->tracer = reader->self && cap_raised(cred->cap_effective, CAP_SYS_PTRACE) &&
			 ns_capable_noaudit(current_user_ns(), CAP_SYS_PTRACE);
}

/*
 * The first part of a dump runs in the task that asked for it. Later parts have the rights of that
 * task.
 */
void gda_nl_reader_of_dump(struct gda_nl_reader *reader, struct sk_buff *request,
			   struct gda_nl_asker *asker)
{
	gda_nl_reader_init(reader, request);
	if (!asker->known)
		*asker = (struct gda_nl_asker) {
			.pid = reader->pid,
			.known = true,
			.admin = reader->admin,
			.self = reader->self,
			.tracer = reader->tracer,
		};
	reader->pid = asker->pid;
	reader->admin = asker->admin;
	reader->self = asker->self;
	reader->tracer = asker->tracer;
}

/* May @reader see the context that @opener opened? */
bool gda_nl_may_see(const struct gda_nl_reader *reader, const struct gda_opener *opener)
{
	if (reader->admin)
		return true;
	return reader->self && uid_eq(opener->cred->euid, reader->cred->euid) &&
	       opener->cred->user_ns == reader->cred->user_ns &&
	       opener->net_cookie == reader->net_cookie &&
	       (reader->tracer || opener->pid == reader->pid ||
		gda_opener_open_to(opener, reader->cred->euid));
}

/* Put the process that opened a context, by its number in the caller's pid namespace. */
int gda_nl_put_opener(struct sk_buff *msg, const struct gda_opener *opener, int pid_attr,
		      int uid_attr)
{
	pid_t pid = pid_nr_ns(opener->pid, task_active_pid_ns(current));
	uid_t uid = from_kuid_munged(current_user_ns(), opener->cred->euid);

	return nla_put_u32(msg, pid_attr, pid) || nla_put_u32(msg, uid_attr, uid) ?
	       -EMSGSIZE : 0;
}

/* Answer a request with one message, whose attributes @fill puts. */
int gda_nl_reply(struct genl_info *info, u8 cmd,
		 int (*fill)(struct sk_buff *msg, const void *arg), const void *arg)
{
	struct sk_buff *msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *header;
	int ret;

	if (!msg)
		return -ENOMEM;
	header = genlmsg_put_reply(msg, info, &gda_nl_family, 0, cmd);
	ret = header ? fill(msg, arg) : -EMSGSIZE;
	if (ret) {
		nlmsg_free(msg);
		return ret;
	}
	genlmsg_end(msg, header);
	return genlmsg_reply(msg, info);
}

int gda_netlink_init(void)
{
	int ret = genl_register_family(&gda_nl_family);

	if (!ret)
		gda_notices_open(true);
	return ret;
}

void gda_netlink_exit(void)
{
	gda_notices_open(false);
	genl_unregister_family(&gda_nl_family);
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of the netlink family: who sends a request, and how an answer is made.
 */
#ifndef GDA_NL_H
#define GDA_NL_H

#include <net/genetlink.h>

#include "gda_private.h"
#include "netlink_gen.h"

/* How many contexts and objects are looked at in one read section, for which others wait. */
#define GDA_NL_BATCH	64U

extern struct genl_family gda_nl_family;

/**
 * struct gda_nl_reader - who sends a request
 * @cred: of open(2) of the socket, which holds them; NULL: a socket of the kernel's
 * @net_cookie: of the socket's network namespace
 * @admin: both the socket's owner and the caller have CAP_NET_ADMIN in the initial user namespace
 * @self: the caller is the user that opened the socket
 * @tracer: both have CAP_SYS_PTRACE in their user namespace
 * @pid: the process that sends the request. It is compared, and never looked into: when a later
 *       part of a dump runs it may be gone
 * @one: one object was requested, so attributes that take longer to find are put, too
 */
struct gda_nl_reader {
	const struct cred *cred;
	u64 net_cookie;
	bool admin;
	bool self;
	bool tracer;
	const struct pid *pid;
	bool one;
};

/*
 * Kept in cb->ctx of a dump, whose later parts run in the task that reads the socket: the rights of
 * the task that requested the dump.
 */
struct gda_nl_asker {
	const struct pid *pid;
	bool known;
	bool admin;
	bool self;
	bool tracer;
};

/**
 * struct gda_nl_kind - what one dump shows
 * @cmd: GDA_CMD_*, of the answers as well
 * @type: enum gda_object_type
 * @filter: objects to look at: XA_PRESENT, or GDA_OBJECT_FEW where it has those of @type
 * @fill: put the attributes. Called under gda_read_lock(). 0 or -EMSGSIZE
 */
struct gda_nl_kind {
	u8 cmd;
	u8 type;
	xa_mark_t filter;
	int (*fill)(struct sk_buff *msg, const struct gda_nl_reader *reader,
		    const struct gda_object *obj);
};

/* netlink.c */
void gda_nl_reader_init(struct gda_nl_reader *reader, struct sk_buff *request);
void gda_nl_reader_of_dump(struct gda_nl_reader *reader, struct sk_buff *request,
			   struct gda_nl_asker *asker);
bool gda_nl_may_see(const struct gda_nl_reader *reader, const struct gda_opener *opener);
int gda_nl_put_opener(struct sk_buff *msg, const struct gda_opener *opener, int pid_attr,
		      int uid_attr);
int gda_nl_reply(struct genl_info *info, u8 cmd,
		 int (*fill)(struct sk_buff *msg, const void *arg), const void *arg);

/* dump.c */
int gda_nl_get_object(struct sk_buff *skb, struct genl_info *info,
		      const struct gda_nl_kind *kind);
int gda_nl_dump_objects(struct sk_buff *skb, struct netlink_callback *cb,
			const struct gda_nl_kind *kind);
/*
 * Under gda_read_lock(). Return: the context, if @reader may see it and it was not shut down; or
 * NULL.
 */
struct gda_ctx *gda_nl_find_live(const struct gda_nl_reader *reader, u32 id);
int gda_nl_dump_contexts(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
			 int (*fill)(struct sk_buff *msg, const struct gda_ctx *ctx));

/* wqe.c, under gda_read_lock() */
/*
 * Return: how many slots are published; if the executor makes progress meanwhile, only those that
 * it has seen.
 */
u64 gda_nl_rung(const struct gda_qp *qp);
/* Return: how many entries are written from slot @index on that no doorbell covers. */
u32 gda_nl_written(const struct gda_qp *qp, u64 index);

/* event.c */
void gda_notices_open(bool open);

#endif /* GDA_NL_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The netlink family "gda" without a library, so that a test can send any bytes.
 *
 * Functions return 0 or a negative errno, unless said otherwise.
 */
#ifndef GDA_NL_TEST_H
#define GDA_NL_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <gda/netlink.h>

#define T_NL_ATTRS	48
#define T_NL_REQUEST	512

/* A socket of NETLINK_GENERIC. */
struct t_nl {
	int fd;
	uint16_t family;
	uint32_t events;		/* id of the group */
	uint32_t seq;
	bool intr;			/* the last dump says that something changed meanwhile */
	uint8_t buf[65536];
	size_t len, next;		/* of what was received and is not looked at */
};

/* A message: its attributes by number, or NULL. */
struct t_nl_msg {
	uint8_t cmd;
	const struct nlattr *attr[T_NL_ATTRS];
};

/* A request that is put together; @len grows. */
struct t_nl_req {
	union {
		struct {
			struct nlmsghdr nlh;
			struct genlmsghdr genl;
		};
		uint8_t bytes[T_NL_REQUEST];
	};
};

int t_nl_open(struct t_nl *nl);
void t_nl_close(struct t_nl *nl);
int t_nl_join(struct t_nl *nl);		/* the group of events */

void t_nl_begin(struct t_nl *nl, struct t_nl_req *req, uint8_t cmd, uint16_t flags);
void t_nl_put(struct t_nl_req *req, uint16_t type, const void *data, size_t len);
void t_nl_put_u32(struct t_nl_req *req, uint16_t type, uint32_t value);
int t_nl_send(struct t_nl *nl, const struct t_nl_req *req);

/* The next message: 1; 0 at the end; or what the kernel answered. */
int t_nl_next(struct t_nl *nl, struct t_nl_msg *msg);

/* Send and wait for the one answer, whose attributes stay until the next call. */
int t_nl_ask(struct t_nl *nl, struct t_nl_req *req, struct t_nl_msg *msg);
/* ... of the object @handle of @context; 0: without that attribute. */
int t_nl_get(struct t_nl *nl, uint8_t cmd, uint32_t context, uint32_t handle,
	     struct t_nl_msg *msg);
/* Begin a dump; @context: only of that, unless 0. */
int t_nl_dump(struct t_nl *nl, uint8_t cmd, uint32_t context);
/* Count the messages of a dump; or -errno. */
long t_nl_count(struct t_nl *nl, uint8_t cmd, uint32_t context);

/* Values; 0 where there is none. */
uint32_t t_nl_u32(const struct t_nl_msg *msg, int attr);
uint64_t t_nl_u64(const struct t_nl_msg *msg, int attr);
const char *t_nl_string(const struct t_nl_msg *msg, int attr);

/* The newest context of this process, by its pid; or 0. */
uint32_t t_nl_my_context(struct t_nl *nl);
/* A number of a context's, or UINT64_MAX (util.c, and the next). */
uint64_t t_nl_context(struct t_nl *nl, uint32_t context, int attr);
/* Wait until its worker sleeps: all its doorbell pages are silent then. */
bool t_nl_asleep(struct t_nl *nl, uint32_t context);

#endif /* GDA_NL_TEST_H */

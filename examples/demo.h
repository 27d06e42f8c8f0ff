/* SPDX-License-Identifier: MIT */
/*
 * Shared by gda-send and gda-recv: the messages that they exchange over a
 * socket before and after, the window in which the data flows without system calls
 * (window.c), and how they report (report.c).
 */
#ifndef GDA_EXAMPLE_DEMO_H
#define GDA_EXAMPLE_DEMO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>
#include <gda/fastpath.h>
#include <gda/gda.h>

#define DEMO_BLOCK	65536U		/* bytes of one put */
#define DEMO_HASH	65		/* SHA-256 as hex, with its NUL */
#define DEMO_PEER_NAME	80		/* a user, or an IP address and port */

/* Exit status; 0 is success, 2 wrong usage. */
enum {
	DEMO_FAILED = 1,	/* anything else */
	DEMO_SIGSYS = 3,	/* our child made a system call inside the window */
	DEMO_PEER = 4,		/* the other side died, or did not answer in time */
};

struct options {
	const char *device;	/* of gda_open() */
	const char *socket;	/* a leading '@': in the abstract namespace; or tcp:HOST:PORT */
	const char *file;	/* of the sender */
	unsigned int seconds;	/* deadline of every step */
	bool json;
	bool syscall;		/* negative control: one getpid() inside the window */
};

/* Ends the program on wrong usage. */
void options_parse(struct options *o, int argc, char **argv, bool with_file);

/* wire.c: messages, a struct each. */

enum message_type { MESSAGE_HELLO = 1, MESSAGE_OFFER, MESSAGE_ARMED, MESSAGE_SUM,
		    MESSAGE_VERDICT };

struct message_hello {		/* sender: what is to come */
	uint32_t type;
	uint32_t block;
	uint64_t bytes;
	struct gda_address qp;
};

struct message_offer {		/* receiver: where it may go */
	uint32_t type;
	uint32_t data_key;
	uint64_t data_iova;
	uint64_t counter_iova;
	uint32_t counter_key;
	struct gda_address qp;
};

struct message_armed {		/* receiver: its filter is armed, begin */
	uint32_t type;
};

struct message_sum {		/* sender: after the window */
	uint32_t type;
	char sha256[DEMO_HASH];
	uint64_t bytes;
	uint64_t ns;
};

struct message_verdict {	/* receiver */
	uint32_t type;
	uint32_t equal;
};

int wire_listen(const struct options *o);
int wire_accept(const struct options *o, int listener, char peer[DEMO_PEER_NAME]);
int wire_connect(const struct options *o, char peer[DEMO_PEER_NAME]);
/* A deadline or a peer that is gone ends the program with DEMO_PEER. */
void wire_send(int fd, const void *message, size_t size);
void wire_recv(int fd, void *message, size_t size, uint32_t type);
bool wire_hung_up(int fd);

/* window.c */

/*
 * Shared by the child that moves the data and the parent that watches it: the child
 * cannot say anything by other means.
 */
struct window {
	uint32_t state;		/* enum window_state */
	int32_t result;		/* of the body */
	uint64_t blocks;	/* done so far */
	bool clock;		/* the child can tell the time without a system call */
	uint64_t began_ns;	/* by the child, or else by the parent, to a millisecond */
	uint64_t ended_ns;
	uint64_t misuse_at;	/* call getpid() before this block; UINT64_MAX: never */
	int32_t failed;		/* @error is filled */
	struct gda_error error;
};

enum window_state { WINDOW_SETUP, WINDOW_ARMED, WINDOW_DONE };

/*
 * Moves the data; returns 0 or a negative errno. May only load, store, compute, and need not
 * end: the parent has the clock.
 */
typedef int window_body(struct window *w, void *arg);

/*
 * Run @body in a child that has armed the filter: any system call kills it. Returns
 * when the filter is armed.
 */
struct window *window_open(const struct options *o, window_body *body, void *arg,
			   uint64_t blocks);

/*
 * Watch the child until its body has ended, the filter has killed it, its peer at
 * @peer is gone, or the deadline has passed. The program ends if it was not the first.
 */
void window_close(struct window *w, const struct options *o, int peer);

/* For bodies: called before every block. */
static inline void window_step(struct window *w, uint64_t block)
{
	if (__builtin_expect(block == w->misuse_at, 0))
		getpid();
	__atomic_store_n(&w->blocks, block, __ATOMIC_RELAXED);
}

/* The lines of /proc about the child's filter when it was armed, and at the end. */
const char *window_proof(void);

/* report.c */

__attribute__((format(printf, 2, 3), noreturn))
void die(int status, const char *format, ...);

/* die() unless @err is 0 or more. */
void must(int err, const char *what);

/* Memory that a child shares: a memfd of @bytes, mapped. */
void *shared_memory(uint64_t bytes, int *fd);

/* SHA-256 of all of @fd by the sha256sum program. */
void sha256_of(int fd, char hex[DEMO_HASH]);

/* One line of the report, or one member of the JSON object. */
__attribute__((format(printf, 3, 4)))
void report(const struct options *o, const char *name, const char *format, ...);
void report_end(const struct options *o);

#endif /* GDA_EXAMPLE_DEMO_H */

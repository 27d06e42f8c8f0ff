/* SPDX-License-Identifier: MIT */
/*
 * Private to lib/comm: the messages between a rank and the hub, the hub's handle, and the
 * communicator.
 *
 * A connection begins with a proof by both ends that they know the secret (proof.c); then follow
 * frames: a struct gda_comm_frame in little-endian order, and frame.bytes of payload.
 */
#ifndef GDA_COMM_INTERNAL_H
#define GDA_COMM_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <gda/comm.h>
#include "gda_internal.h"

#define GDA_COMM_TIMEOUT_NS	30000000000ULL
#define GDA_COMM_GRACE_NS	500000000ULL	/* how late the hub may report a deadline */
#define GDA_COMM_PROOF_NS	1000000000ULL
#define GDA_COMM_HELLO_NS	10000000000ULL	/* a rank may be stopped meanwhile */
#define GDA_COMM_VERSION	2U
#define GDA_COMM_WHY		160U	/* bytes of words */

/* @ns after @time, saturating: a deadline may be so far away that it never comes. */
static inline uint64_t gda_comm_after(uint64_t time, uint64_t ns)
{
	return ns < UINT64_MAX - time ? time + ns : UINT64_MAX;
}

/* proof.c */

#define GDA_COMM_SECRET_BYTES	16
#define GDA_COMM_NONCE_BYTES	16
#define GDA_COMM_TAG_BYTES	16

struct gda_comm_secret {
	unsigned char bytes[GDA_COMM_SECRET_BYTES];
};

/* Each end sends its nonce, the hub first, and answers the other's nonce with a tag. */
enum gda_comm_side {
	GDA_COMM_HUB = 1,
	GDA_COMM_RANK = 2,
};

int gda_comm_random(void *out, size_t bytes);
void gda_comm_tag(const struct gda_comm_secret *secret, enum gda_comm_side prover,
		  const unsigned char nonce[GDA_COMM_NONCE_BYTES],
		  unsigned char tag[GDA_COMM_TAG_BYTES]);
bool gda_comm_tag_equal(const unsigned char *a, const unsigned char *b);

/* frame.c */

enum gda_comm_kind {
	GDA_COMM_HELLO = 1,	/* rank to hub: @a rank, @b nranks, @time until the deadline */
	GDA_COMM_WELCOME,	/* hub to rank: all are here, @a of them on its machine */
	GDA_COMM_GATHER,	/* rank to hub: @a number of the call, @time, the bytes */
	GDA_COMM_RESULT,	/* hub to rank: @a number of the call, the bytes of all ranks */
	GDA_COMM_STATE,		/* hub to rank: rank @a is gone, for reason errno @b */
	GDA_COMM_FAIL,		/* hub to rank: the call, or the creation, failed: errno @b, text */
	GDA_COMM_BYE,		/* rank to hub: the rank leaves */
};

struct gda_comm_frame {
	uint32_t kind;
	uint32_t bytes;
	uint32_t a;
	uint32_t b;
	uint64_t time;		/* ns */
};

/* The payload of HELLO. @version never moves within it. */
struct gda_comm_hello {
	uint8_t version;
	char machine[GDA_MACHINE_BYTES];
};

/* Bytes that are received or sent piece by piece. */
struct gda_comm_buffer {
	unsigned char *data;
	size_t used;
	size_t room;
	size_t sent;		/* of an outgoing buffer: bytes already sent */
	bool full;		/* no room at the peer; POLLOUT does not report any */
};

int gda_comm_buffer_add(struct gda_comm_buffer *b, const void *data, size_t bytes);
void gda_comm_buffer_free(struct gda_comm_buffer *b);
int gda_comm_frame_add(struct gda_comm_buffer *b, const struct gda_comm_frame *frame,
		       const void *payload);
/* Add a frame's head. The caller sends the payload next. */
int gda_comm_frame_head_add(struct gda_comm_buffer *b, const struct gda_comm_frame *frame);
/* Send as much as goes without waiting. Return: 0 or a negative errno. */
int gda_comm_buffer_flush(struct gda_comm_buffer *b, int fd);
/* Read what has arrived. Return: 0, -ECONNRESET at the end, or another negative errno. */
int gda_comm_buffer_fill(struct gda_comm_buffer *b, int fd, size_t most);
/*
 * Get the first received frame. Return: 1 if it is complete (its payload is at *payload until
 * gda_comm_frame_drop()), 0 if it is not yet, -EPROTO if it never will be.
 */
int gda_comm_frame_get(const struct gda_comm_buffer *b, size_t most,
		       struct gda_comm_frame *frame, const unsigned char **payload);
void gda_comm_frame_drop(struct gda_comm_buffer *b, const struct gda_comm_frame *frame);
void gda_comm_bytes_drop(struct gda_comm_buffer *b, size_t bytes);

/* alive.c */

/* Make the kernel end a connection whose peer's machine is gone. */
void gda_comm_alive_start(int fd);
/* Return: how many of @bytes the peer has room for now. */
size_t gda_comm_alive_room(int fd, size_t bytes);

#define GDA_COMM_NAP_MS		50	/* longest pause between two checks for room */

/* The next pause before checking for room again, in ms: short while bytes leave, else longer. */
static inline int gda_comm_alive_nap(int nap, bool moved)
{
	return moved ? 1 : nap < GDA_COMM_NAP_MS / 2 ? 2 * nap + 1 : GDA_COMM_NAP_MS;
}

/* id.c */

/* Find the listening socket that gda_comm_id_create() made, or that gda-run passed on. */
int gda_comm_id_listener(const struct gda_comm_id *id);
/* Close the listening socket, if there is one: nobody will connect to it. */
void gda_comm_id_forget(const struct gda_comm_id *id);
/*
 * Listen at the address of @id in a process that did not create it. Return: the socket, or -errno.
 */
int gda_comm_id_reopen(const struct gda_comm_id *id);
int gda_comm_id_parse(const struct gda_comm_id *id, struct gda_comm_secret *secret,
		      struct sockaddr_storage *addr);
/* gda_comm_id_create() at the address @at, whose port is ignored. */
int gda_comm_id_listen(const struct sockaddr_storage *at, struct gda_comm_id *id);
int gda_comm_id_connect(const struct gda_comm_id *id, uint64_t deadline, int *fd);

/* hub.c */

struct gda_comm_hub;

/*
 * Start the hub's thread. It takes @listener and @own, one end of rank 0's connection, which needs
 * no proof. It closes both, also on failure.
 */
int gda_comm_hub_start(uint32_t nranks, uint64_t timeout_ns,
		       const struct gda_comm_secret *secret, int listener, int own,
		       struct gda_comm_hub **hub);
/* Wait until the other ranks have left, at most until @deadline; then end the hub. */
void gda_comm_hub_stop(struct gda_comm_hub *hub, uint64_t deadline);

/* start.c: learn rank and number of ranks from the launcher, and distribute the id */

int gda_comm_start(const struct gda_comm_attr *given, struct gda_comm_attr *attr,
		   struct gda_comm_id *id);
/* pmix.c; -ENOENT if PMIx did not start this program. */
int gda_comm_pmix(const char *interface, struct gda_comm_attr *attr, struct gda_comm_id *id);

/* comm.c */

struct gda_comm {
	uint32_t rank;
	uint32_t nranks;
	uint64_t timeout_ns;
	pid_t pid;
	int fd;				/* to the hub */
	int stop;			/* an eventfd: ends the thread */
	pthread_t thread;
	struct gda_comm_hub *hub;	/* rank 0's */
	struct sockaddr_storage address;	/* this rank's address for the others */
	uint32_t neighbours;		/* ranks on this machine, this one included; of WELCOME */
	uint32_t calls;			/* collective calls so far; written by callers */
	uint32_t *abort_words;

	pthread_mutex_t lock;		/* guards the rest */
	pthread_cond_t changed;
	bool welcome;
	int error;			/* sticky: returned by all later collective calls */
	char why[GDA_COMM_WHY];		/* the hub's text for @error, or empty */
	int blamed;			/* the first rank that @error is about, or -1 */
	int failed;			/* the rank that was lost first, or -1 */
	int *states;			/* by rank */
	uint32_t done;			/* RESULTs so far */
	void *out;			/* buffer and exact length of the next result */
	size_t out_bytes;
};

/* failed.c */

/* The rank whose state is @err; of several, the one that failed first; -1 if there is none. */
int gda_comm_why_rank(const struct gda_comm *comm, int err);
/* Note with gda_because() which ranks caused @err; comm->lock is held. Return: @err. */
int gda_comm_why(const struct gda_comm *comm, int err);

#endif /* GDA_COMM_INTERNAL_H */

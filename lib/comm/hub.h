/* SPDX-License-Identifier: MIT */
/*
 * Between hub.c and pending.c: the hub, the ranks that it knows, and the connections that are
 * none yet. All of it is the hub's thread's own, but for what hub.c says.
 */
#ifndef GDA_COMM_HUB_H
#define GDA_COMM_HUB_H

#include <poll.h>
#include <pthread.h>
#include "comm_internal.h"

#define GDA_COMM_GUESTS		128U

struct gda_comm_guest {
	int fd;				/* -1: no guest */
	nfds_t at;			/* in the hub's @polls; 0: not there yet */
	bool proven;
	uint64_t deadline;
	unsigned char nonce[GDA_COMM_NONCE_BYTES];
	struct gda_comm_buffer in;
	struct gda_comm_buffer out;
};

/* The bytes of all ranks, in one call. */
struct gda_comm_result {
	uint32_t users;
	unsigned char data[];
};

struct gda_comm_member {
	int fd;				/* -1: not here, or gone */
	nfds_t at;			/* in the hub's @polls; 0: not there yet */
	int state;			/* of gda_comm_state() */
	bool came;			/* to the call that is under way */
	bool told;			/* came too late: was told why the creation failed */
	char machine[GDA_MACHINE_BYTES];
	uint32_t neighbours;		/* ranks on that machine; 0: not counted yet */
	struct gda_comm_buffer in;
	struct gda_comm_buffer out;	/* member.c says in which order these go out */
	struct gda_comm_result *result;	/* NULL: none is on its way */
	struct gda_comm_buffer rest;	/* of @result, whose memory it has */
	struct gda_comm_buffer behind;
};

struct gda_comm_hub {
	uint32_t nranks;
	uint32_t here;			/* ranks that have said hello */
	struct gda_comm_secret secret;
	int listener;
	bool deaf;			/* accept4() had no descriptor: not at once again */
	bool short_of;			/* it did so since the last guest came */
	int wake;			/* an eventfd: look at @stopping */
	pthread_t thread;
	struct gda_comm_member *members;
	struct gda_comm_guest guests[GDA_COMM_GUESTS];
	struct pollfd *polls;		/* one for each that is there, see gda_comm_hub_poll() */
	nfds_t npolls;
	int failed;			/* negative errno of the first failure */
	char why[GDA_COMM_WHY];		/* its words, or empty: the ranks' states say it */
	uint32_t lost;			/* rank that was lost first, or @nranks */
	int nap;			/* ms until ranks without room are tried again; 0: none */
	uint64_t end_at;		/* @stop_at, as far as the thread knows; UINT64_MAX: not stopping */

	/* the collective call that is under way; before @here is @nranks: the creation */
	uint32_t call;			/* calls that are complete */
	uint32_t came;
	uint32_t bytes;
	uint64_t deadline;		/* 0: none is under way */
	struct gda_comm_result *all;

	pthread_mutex_t lock;
	bool stopping;
	uint64_t stop_at;
};

/* member.c */

/* For one user. NULL: no memory. */
struct gda_comm_result *gda_comm_result_alloc(size_t bytes);
void gda_comm_result_put(struct gda_comm_result *result);
/* Send a frame, or as much of it as goes out now. */
void gda_comm_member_send(struct gda_comm_member *m, const struct gda_comm_frame *frame,
			  const void *payload);
/* The same with a payload that others get, too. */
void gda_comm_member_send_result(struct gda_comm_member *m, const struct gda_comm_frame *frame,
				 struct gda_comm_result *result);
/* Send what can be sent without waiting. Return: 0 or a negative errno. */
int gda_comm_member_flush(struct gda_comm_member *m);
/* Has it something to send, and is that because the rank has no room? */
bool gda_comm_member_waits(const struct gda_comm_member *m);
bool gda_comm_member_full(const struct gda_comm_member *m);
/* Forget what came, and what was to go out. */
void gda_comm_member_clear(struct gda_comm_member *m);

/* hub.c */

/* The call that is under way has @left ns. */
void gda_comm_hub_begin(struct gda_comm_hub *hub, uint64_t left);
void gda_comm_hub_reset(struct gda_comm_hub *hub);
void gda_comm_hub_welcome(struct gda_comm_hub *hub);

/* pending.c */

/* Accept a connection; where there is no room for a guest, the oldest goes. */
void gda_comm_guest_accept(struct gda_comm_hub *hub);
/* Something has come from a guest: its proof, or which rank it is. */
void gda_comm_guest_read(struct gda_comm_hub *hub, struct gda_comm_guest *g);
/* Its time is over: what it has said is read, and it is closed if that was not what was due. */
void gda_comm_guest_expire(struct gda_comm_hub *hub, struct gda_comm_guest *g);
void gda_comm_guest_close(struct gda_comm_guest *g);

#endif /* GDA_COMM_HUB_H */

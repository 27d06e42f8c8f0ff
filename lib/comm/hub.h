/* SPDX-License-Identifier: MIT */
/*
 * Shared by hub.c, member.c and pending.c: the hub, its ranks, and the connections that are not yet
 * ranks. All of it belongs to the hub's thread, except where hub.c says otherwise.
 */
#ifndef GDA_COMM_HUB_H
#define GDA_COMM_HUB_H

#include <poll.h>
#include <pthread.h>
#include "comm_internal.h"

#define GDA_COMM_GUESTS		128U

struct gda_comm_guest {
	int fd;				/* -1: no guest */
	nfds_t at;			/* index in the hub's @polls; 0: not there yet */
	bool proven;
	uint64_t deadline;
	unsigned char nonce[GDA_COMM_NONCE_BYTES];
	struct gda_comm_buffer in;
	struct gda_comm_buffer out;
};

/* The bytes of all ranks in one call. */
struct gda_comm_result {
	uint32_t users;
	unsigned char data[];
};

struct gda_comm_member {
	int fd;				/* -1: not connected, or gone */
	nfds_t at;			/* index in the hub's @polls; 0: not there yet */
	int state;			/* of gda_comm_state() */
	bool came;			/* has joined the current call */
	bool told;			/* was too late, and was told why the creation failed */
	char machine[GDA_MACHINE_BYTES];
	uint32_t neighbours;		/* ranks on the same machine; 0: not counted yet */
	struct gda_comm_buffer in;
	struct gda_comm_buffer out;	/* member.c has the order in which these three are sent */
	struct gda_comm_result *result;	/* NULL: no result is being sent */
	struct gda_comm_buffer rest;	/* the rest of @result; refers to its memory */
	struct gda_comm_buffer behind;
};

struct gda_comm_hub {
	uint32_t nranks;
	uint32_t here;			/* ranks that have said hello */
	struct gda_comm_secret secret;
	int listener;
	bool deaf;			/* accept4() had no descriptor: do not retry at once */
	bool short_of;			/* accept4() found none since the last guest came */
	int wake;			/* an eventfd: check @stopping */
	pthread_t thread;
	struct gda_comm_member *members;
	struct gda_comm_guest guests[GDA_COMM_GUESTS];
	struct pollfd *polls;		/* one for each open connection, see gda_comm_hub_poll() */
	nfds_t npolls;
	int failed;			/* negative errno of the first failure */
	char why[GDA_COMM_WHY];		/* text of @failed; empty: take the ranks' states */
	uint32_t lost;			/* the rank that was lost first, or @nranks */
	int nap;			/* ms until ranks without room are tried again, or 0 */
	uint64_t end_at;		/* the thread's copy of @stop_at, or UINT64_MAX */

	/* the current collective call; while @here is below @nranks: the creation */
	uint32_t call;			/* calls that are complete */
	uint32_t came;
	uint32_t bytes;
	uint64_t deadline;		/* 0: there is no current call */
	struct gda_comm_result *all;

	pthread_mutex_t lock;
	bool stopping;
	uint64_t stop_at;
};

/* member.c */

/* A result with one user. NULL: no memory. */
struct gda_comm_result *gda_comm_result_alloc(size_t bytes);
void gda_comm_result_put(struct gda_comm_result *result);
/* Send a frame, as much of it as goes without waiting. */
void gda_comm_member_send(struct gda_comm_member *m, const struct gda_comm_frame *frame,
			  const void *payload);
/* The same with a payload that other ranks receive, too. */
void gda_comm_member_send_result(struct gda_comm_member *m, const struct gda_comm_frame *frame,
				 struct gda_comm_result *result);
/* Send as much as goes without waiting. Return: 0 or a negative errno. */
int gda_comm_member_flush(struct gda_comm_member *m);
/* Does the rank have unsent data because it has no room for it? */
bool gda_comm_member_waits(const struct gda_comm_member *m);
bool gda_comm_member_full(const struct gda_comm_member *m);
/* Drop what was received, and what was to be sent. */
void gda_comm_member_clear(struct gda_comm_member *m);

/* hub.c */

/* Start a collective call that has @left ns. */
void gda_comm_hub_begin(struct gda_comm_hub *hub, uint64_t left);
void gda_comm_hub_reset(struct gda_comm_hub *hub);
void gda_comm_hub_welcome(struct gda_comm_hub *hub);

/* pending.c */

/* Accept a connection; if there is no room for a guest, drop the oldest. */
void gda_comm_guest_accept(struct gda_comm_hub *hub);
/* Read from a guest: its proof, or which rank it is. */
void gda_comm_guest_read(struct gda_comm_hub *hub, struct gda_comm_guest *g);
/* A guest's time is over: read what it has sent, and close it if that is not complete. */
void gda_comm_guest_expire(struct gda_comm_hub *hub, struct gda_comm_guest *g);
void gda_comm_guest_close(struct gda_comm_guest *g);

#endif /* GDA_COMM_HUB_H */

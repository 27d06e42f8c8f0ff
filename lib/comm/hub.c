// SPDX-License-Identifier: MIT
/*
 * The hub: a thread in rank 0's process, to which every rank has a connection. It collects and
 * distributes the bytes of collective calls, and tells all ranks which of them are gone.
 *
 * A new connection is a guest until it has said which rank it is (pending.c).
 *
 * Everything but @lock, @stopping and @stop_at belongs to the thread. It waits only in poll(2),
 * which returns when data arrives or the nearest deadline passes, so the hub of idle ranks takes no
 * processor time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <gda/barrier.h>
#include "hub.h"

#define GDA_COMM_HUB_RETRY_MS	50

static void gda_comm_hub_broadcast(struct gda_comm_hub *hub, const struct gda_comm_frame *frame,
				   const void *payload)
{
	uint32_t rank = hub->nranks;

	/* rank 0 last: once told it may exit, which ends the hub */
	while (rank--)
		if (hub->members[rank].fd >= 0)
			gda_comm_member_send(&hub->members[rank], frame, payload);
}

/* Fail the current call, or the creation, on all ranks, and with it all later calls. */
static void gda_comm_hub_fail(struct gda_comm_hub *hub, int err)
{
	struct gda_comm_frame fail = {
		.kind = GDA_COMM_FAIL,
		.bytes = (uint32_t)strlen(hub->why),
		.b = (uint32_t)-err,
	};

	if (hub->failed)
		return;
	hub->failed = err;
	hub->deadline = 0;
	gda_comm_hub_broadcast(hub, &fail, hub->why);
}

/*
 * A rank is gone, or was too late and counts as gone; only in the first case its connection is
 * closed. Return: whether that is new.
 */
static bool gda_comm_hub_gone(struct gda_comm_hub *hub, struct gda_comm_member *m, int state)
{
	struct gda_comm_frame frame = {
		.kind = GDA_COMM_STATE,
		.a = (uint32_t)(m - hub->members),
		.b = (uint32_t)-state,
	};

	if (state != -ETIMEDOUT && m->fd >= 0) {
		gda_fd_close(m->fd);
		m->fd = -1;
		gda_comm_member_clear(m);
	}
	if (m->state)
		return false;
	m->state = state;
	if (hub->lost == hub->nranks)
		hub->lost = frame.a;
	gda_comm_hub_broadcast(hub, &frame, NULL);
	return true;
}

static void gda_comm_hub_lost(struct gda_comm_hub *hub, struct gda_comm_member *m, int state)
{
	if (!gda_comm_hub_gone(hub, m, state))
		return;
	/* a rank that left on purpose fails only a call that waits for it */
	if (state != -ESHUTDOWN || hub->deadline)
		gda_comm_hub_fail(hub, state);
}

/* The deadline of the current call has passed: name all ranks that did not come. */
static void gda_comm_hub_expire(struct gda_comm_hub *hub)
{
	uint32_t rank;

	if (hub->here < hub->nranks && hub->short_of)
		snprintf(hub->why, sizeof(hub->why),
			 "rank 0 has no descriptor for %u of %u ranks: raise its RLIMIT_NOFILE, ulimit -n",
			 hub->nranks - hub->here, hub->nranks);
	for (rank = 0; rank < hub->nranks; rank++)
		if (!hub->members[rank].came)
			gda_comm_hub_gone(hub, &hub->members[rank], -ETIMEDOUT);
	gda_comm_hub_fail(hub, -ETIMEDOUT);
}

void gda_comm_hub_begin(struct gda_comm_hub *hub, uint64_t left)
{
	uint64_t until = gda_comm_after(gda_clock_ns(), left);

	if (!hub->deadline || until < hub->deadline)
		hub->deadline = until;
}

/* Reset the state of the call that has ended. */
void gda_comm_hub_reset(struct gda_comm_hub *hub)
{
	uint32_t rank;

	for (rank = 0; rank < hub->nranks; rank++)
		hub->members[rank].came = false;
	hub->came = 0;
	hub->deadline = 0;
	gda_comm_result_put(hub->all);
	hub->all = NULL;
}

/*
 * Check that no rank is missing, for a missing rank fails every call. Return: 0 or the reason of
 * one.
 */
static int gda_comm_hub_missing(const struct gda_comm_hub *hub)
{
	uint32_t rank;

	for (rank = 0; rank < hub->nranks; rank++)
		if (hub->members[rank].state)
			return hub->members[rank].state;
	return 0;
}

/* Check that a rank's call and its number of bytes are those of the ranks before it. */
static int gda_comm_hub_differs(struct gda_comm_hub *hub, const struct gda_comm_member *m,
				const struct gda_comm_frame *f)
{
	uint32_t own = (uint32_t)(m - hub->members), first = 0;

	while (first < hub->nranks && !hub->members[first].came)
		first++;
	if (!m->came && hub->here == hub->nranks && f->a == hub->call + 1) {
		if (f->bytes == hub->bytes)
			return 0;
		snprintf(hub->why, sizeof(hub->why),
			 "rank %u gives %u bytes, rank %u gave %u: pass the same number on all ranks",
			 own, f->bytes, first, hub->bytes);
	} else {
		snprintf(hub->why, sizeof(hub->why),
			 "rank %u is at its call %u, the others at call %u: make the same calls on all ranks",
			 own, f->a, hub->call + 1);
	}
	return -EPROTO;
}

static void gda_comm_hub_gather(struct gda_comm_hub *hub, struct gda_comm_member *m,
				const struct gda_comm_frame *f, const unsigned char *payload)
{
	struct gda_comm_frame result = { .kind = GDA_COMM_RESULT };
	int err = hub->failed ? hub->failed : gda_comm_hub_missing(hub);
	uint32_t rank;

	if (hub->failed) {
		struct gda_comm_frame fail = {
			.kind = GDA_COMM_FAIL,
			.bytes = (uint32_t)strlen(hub->why),
			.b = (uint32_t)-err,
		};

		gda_comm_member_send(m, &fail, hub->why);
		return;
	}
	if (!err && !hub->came) {
		hub->bytes = f->bytes;
		hub->all = gda_comm_result_alloc((size_t)hub->nranks * f->bytes);
		if (!hub->all)
			err = -ENOMEM;
	}
	if (!err)
		err = gda_comm_hub_differs(hub, m, f);
	if (err) {
		gda_comm_hub_fail(hub, err);
		return;
	}
	if (f->bytes)
		memcpy(hub->all->data + (size_t)(m - hub->members) * f->bytes, payload,
		       f->bytes);
	m->came = true;
	gda_comm_hub_begin(hub, f->time);
	if (++hub->came < hub->nranks)
		return;
	hub->call++;
	result.a = hub->call;
	result.bytes = hub->nranks * hub->bytes;
	/* rank 0 last, as in gda_comm_hub_broadcast() */
	for (rank = hub->nranks; rank--; )
		if (hub->members[rank].fd >= 0)
			gda_comm_member_send_result(&hub->members[rank], &result, hub->all);
	gda_comm_hub_reset(hub);
}

static void gda_comm_member_frame(struct gda_comm_hub *hub, struct gda_comm_member *m,
				  const struct gda_comm_frame *f, const unsigned char *payload)
{
	if (f->kind == GDA_COMM_GATHER)
		gda_comm_hub_gather(hub, m, f, payload);
	else if (f->kind == GDA_COMM_BYE)
		gda_comm_hub_lost(hub, m, -ESHUTDOWN);
	else
		gda_comm_hub_lost(hub, m, -ECONNRESET);
}

static void gda_comm_member_read(struct gda_comm_hub *hub, struct gda_comm_member *m)
{
	const unsigned char *payload;
	struct gda_comm_frame f;
	int end, ret = 0;

	end = gda_comm_buffer_fill(&m->in, m->fd, GDA_COMM_MAX_GATHER + 64);
	while (m->fd >= 0) {
		ret = gda_comm_frame_get(&m->in, GDA_COMM_MAX_GATHER, &f, &payload);
		if (ret <= 0)
			break;
		gda_comm_member_frame(hub, m, &f, payload);
		if (m->fd >= 0)
			gda_comm_frame_drop(&m->in, &f);
	}
	if (m->fd >= 0 && (end || ret < 0))
		gda_comm_hub_lost(hub, m, -ECONNRESET);
}

/* Count the ranks on the machine of @rank, and store the count in each of them. */
static void gda_comm_hub_count(struct gda_comm_hub *hub, uint32_t rank)
{
	const char *machine = hub->members[rank].machine;
	uint32_t i, n = 0;

	for (i = rank; i < hub->nranks; i++)
		n += !memcmp(hub->members[i].machine, machine, GDA_MACHINE_BYTES);
	for (i = rank; i < hub->nranks; i++)
		if (!memcmp(hub->members[i].machine, machine, GDA_MACHINE_BYTES))
			hub->members[i].neighbours = n;
}

/* All ranks are here; rank 0 is told last, as in gda_comm_hub_broadcast(). */
void gda_comm_hub_welcome(struct gda_comm_hub *hub)
{
	struct gda_comm_frame welcome = { .kind = GDA_COMM_WELCOME };
	uint32_t rank;

	for (rank = 0; rank < hub->nranks; rank++)
		if (!hub->members[rank].neighbours)
			gda_comm_hub_count(hub, rank);
	while (rank--) {
		welcome.a = hub->members[rank].neighbours;
		if (hub->members[rank].fd >= 0)
			gda_comm_member_send(&hub->members[rank], &welcome, NULL);
	}
}

/* A rank died while the others joined: may @m still come and ask why? */
static bool gda_comm_hub_owes(const struct gda_comm_hub *hub, const struct gda_comm_member *m)
{
	return hub->here < hub->nranks && hub->failed == -ECONNRESET && !m->came && !m->state &&
	       !m->told;
}

/* Return: whether the thread shall end. */
static bool gda_comm_hub_stops(struct gda_comm_hub *hub, uint64_t now)
{
	bool stopping, others = false;
	uint64_t stop_at, count;
	uint32_t rank;

	(void)!read(hub->wake, &count, sizeof(count));
	pthread_mutex_lock(&hub->lock);
	stopping = hub->stopping;
	stop_at = hub->stop_at;
	pthread_mutex_unlock(&hub->lock);
	hub->end_at = stopping ? stop_at : UINT64_MAX;
	for (rank = 1; rank < hub->nranks; rank++)
		others |= hub->members[rank].fd >= 0 || gda_comm_hub_owes(hub, &hub->members[rank]);
	return stopping && (!others || now >= stop_at);
}

/* Apply the deadlines of guests and of the current call. */
static void gda_comm_hub_tick(struct gda_comm_hub *hub, uint64_t now)
{
	uint32_t i;

	for (i = 0; i < GDA_COMM_GUESTS; i++)
		if (hub->guests[i].fd >= 0 && now >= hub->guests[i].deadline)
			gda_comm_guest_expire(hub, &hub->guests[i]);
	if (hub->deadline && now >= hub->deadline)
		gda_comm_hub_expire(hub);
}

static nfds_t gda_comm_hub_poll_add(struct gda_comm_hub *hub, int fd, int events)
{
	hub->polls[hub->npolls] = (struct pollfd) { .fd = fd, .events = (short)events };
	return hub->npolls++;
}

/* Return: ms until the nearest deadline, at most @most; -1 if there is none. */
static int gda_comm_hub_patience(const struct gda_comm_hub *hub, int most)
{
	uint64_t until = hub->end_at, now = gda_clock_ns(), left;
	uint32_t i;

	if (hub->deadline && hub->deadline < until)
		until = hub->deadline;
	for (i = 0; i < GDA_COMM_GUESTS; i++)
		if (hub->guests[i].fd >= 0 && hub->guests[i].deadline < until)
			until = hub->guests[i].deadline;
	if (until == UINT64_MAX)
		return most;
	left = until > now ? (until - now - 1) / 1000000 + 1 : 0;
	if (most < 0 || left < (uint64_t)most)
		return left < INT_MAX ? (int)left : INT_MAX;
	return most;
}

/*
 * Wait until there is something to do. Only open descriptors are polled: poll(2) takes no more
 * entries than RLIMIT_NOFILE.
 */
static void gda_comm_hub_poll(struct gda_comm_hub *hub)
{
	/*
	 * poll(2) does not report that a descriptor is free again, or that a rank has room. So look
	 * again from time to time, also while ranks join or a call is under way: one missed wake-up
	 * would cost all of them the time-out.
	 */
	int most = hub->deaf || hub->deadline ? GDA_COMM_HUB_RETRY_MS : -1;
	uint32_t i;

	hub->npolls = 0;
	gda_comm_hub_poll_add(hub, hub->wake, POLLIN);
	gda_comm_hub_poll_add(hub, hub->deaf ? -1 : hub->listener, POLLIN);
	hub->deaf = false;
	for (i = 0; i < GDA_COMM_GUESTS; i++)
		if (hub->guests[i].fd >= 0)
			hub->guests[i].at = gda_comm_hub_poll_add(hub, hub->guests[i].fd, POLLIN);
	for (i = 0; i < hub->nranks; i++) {
		struct gda_comm_member *m = &hub->members[i];
		bool pollout = gda_comm_member_waits(m) && !gda_comm_member_full(m);

		if (m->fd < 0)
			continue;
		m->at = gda_comm_hub_poll_add(hub, m->fd, POLLIN | (pollout ? POLLOUT : 0));
		if (gda_comm_member_full(m))
			most = hub->nap ? hub->nap : GDA_COMM_HUB_RETRY_MS;
	}
	poll(hub->polls, hub->npolls, gda_comm_hub_patience(hub, most));
}

/* Return: what poll(2) found on @fd; 0 if @fd was accepted after the poll. */
static int gda_comm_hub_found(const struct gda_comm_hub *hub, nfds_t at, int fd)
{
	return fd >= 0 && at && at < hub->npolls && hub->polls[at].fd == fd ?
	       hub->polls[at].revents : 0;
}

/* Try ranks that had no room again, since poll(2) does not report that. */
static void gda_comm_hub_retry(struct gda_comm_hub *hub)
{
	bool full = false, moved = false;
	size_t sent;
	uint32_t i;

	for (i = 0; i < hub->nranks; i++) {
		struct gda_comm_member *m = &hub->members[i];

		if (m->fd < 0 || !gda_comm_member_full(m))
			continue;
		sent = m->out.sent + m->rest.sent;
		if (gda_comm_member_flush(m))
			gda_comm_hub_lost(hub, m, -ECONNRESET);
		full = full || (m->fd >= 0 && gda_comm_member_full(m));
		moved = moved || sent != m->out.sent + m->rest.sent;
	}
	hub->nap = full ? gda_comm_alive_nap(hub->nap, moved) : 0;
}

static void gda_comm_hub_serve(struct gda_comm_hub *hub)
{
	uint32_t i;

	for (i = 0; i < hub->nranks; i++) {
		struct gda_comm_member *m = &hub->members[i];
		int found = gda_comm_hub_found(hub, m->at, m->fd);
		int err = found & POLLOUT ? gda_comm_member_flush(m) : 0;

		/* a rank that reads no more may have sent its BYE */
		if (found)
			gda_comm_member_read(hub, m);
		if (err && m->fd >= 0)
			gda_comm_hub_lost(hub, m, -ECONNRESET);
	}
	for (i = 0; i < GDA_COMM_GUESTS; i++)
		if (gda_comm_hub_found(hub, hub->guests[i].at, hub->guests[i].fd))
			gda_comm_guest_read(hub, &hub->guests[i]);
	if (hub->polls[1].revents)
		gda_comm_guest_accept(hub);
	gda_comm_hub_retry(hub);
}

static void *gda_comm_hub_main(void *arg)
{
	struct gda_comm_hub *hub = arg;

	for (;;) {
		uint64_t now = gda_clock_ns();

		/* read everything that came before the deadline, then let it end the wait */
		gda_comm_hub_poll(hub);
		gda_comm_hub_serve(hub);
		gda_comm_hub_tick(hub, now);
		if (gda_comm_hub_stops(hub, now))
			return NULL;
	}
}

static void gda_comm_hub_free(struct gda_comm_hub *hub)
{
	uint32_t i;

	for (i = 0; i < GDA_COMM_GUESTS; i++)
		gda_comm_guest_close(&hub->guests[i]);
	for (i = 0; hub->members && i < hub->nranks; i++) {
		if (hub->members[i].fd >= 0)
			gda_fd_close(hub->members[i].fd);
		gda_comm_member_clear(&hub->members[i]);
	}
	gda_fd_close(hub->listener);
	if (hub->wake >= 0)
		gda_fd_close(hub->wake);
	pthread_mutex_destroy(&hub->lock);
	gda_comm_result_put(hub->all);
	free(hub->polls);
	free(hub->members);
	free(hub);
}

/* Signals are for the program: block them all in a thread of the library. */
static int gda_comm_hub_thread(struct gda_comm_hub *hub)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&hub->thread, NULL, gda_comm_hub_main, hub);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

/*
 * Descriptors needed by rank 0: one for each other rank, two of its own connection, @listener and
 * @wake.
 */
static int gda_comm_hub_room(uint32_t nranks)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= (rlim_t)nranks + 3)
		return 0;
	return gda_because(-EMFILE,
			   "rank 0 of %u ranks needs %u descriptors and more, RLIMIT_NOFILE is %llu: raise it, ulimit -n",
			   nranks, nranks + 3, (unsigned long long)limit.rlim_cur);
}

int gda_comm_hub_start(uint32_t nranks, uint64_t timeout_ns,
		       const struct gda_comm_secret *secret, int listener, int own,
		       struct gda_comm_hub **result)
{
	int err = gda_comm_hub_room(nranks);
	struct gda_comm_hub *hub = err ? NULL : calloc(1, sizeof(*hub));
	uint32_t i;

	if (!hub) {
		gda_fd_close(listener);
		gda_fd_close(own);
		return err ? err : -ENOMEM;
	}
	hub->nranks = nranks;
	hub->lost = nranks;
	hub->end_at = UINT64_MAX;
	hub->secret = *secret;
	hub->listener = listener;
	hub->deadline = gda_comm_after(gda_clock_ns(), timeout_ns);
	pthread_mutex_init(&hub->lock, NULL);
	gda_fd_lock();
	hub->wake = gda_fd_list(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	gda_fd_unlock();
	hub->members = calloc(nranks, sizeof(*hub->members));
	hub->polls = calloc(2 + GDA_COMM_GUESTS + nranks, sizeof(*hub->polls));
	for (i = 0; hub->members && i < nranks; i++)
		hub->members[i].fd = -1;
	for (i = 0; i < GDA_COMM_GUESTS; i++)
		hub->guests[i].fd = -1;
	/* rank 0's own connection needs no proof and has no deadline */
	hub->guests[0] = (struct gda_comm_guest) {
		.fd = own, .proven = true, .deadline = UINT64_MAX,
	};
	err = hub->wake < 0 ? -errno : !hub->members || !hub->polls ? -ENOMEM : 0;
	if (!err)
		err = gda_comm_hub_thread(hub);
	if (err)
		gda_comm_hub_free(hub);
	else
		*result = hub;
	return err;
}

void gda_comm_hub_stop(struct gda_comm_hub *hub, uint64_t deadline)
{
	uint64_t one = 1;

	pthread_mutex_lock(&hub->lock);
	hub->stopping = true;
	hub->stop_at = deadline;
	pthread_mutex_unlock(&hub->lock);
	(void)!write(hub->wake, &one, sizeof(one));
	pthread_join(hub->thread, NULL);
	gda_comm_hub_free(hub);
}

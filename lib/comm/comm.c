// SPDX-License-Identifier: MIT
/*
 * Communicators, as one rank sees them: its connection to the hub, the thread that receives the
 * hub's messages, and the collective calls.
 *
 * The thread only reads the connection, and stores what it receives under comm->lock; callers only
 * send. A communicator of one rank has neither connection nor thread.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <gda/barrier.h>
#include "comm_internal.h"

#define GDA_COMM_MAX_RESULT	(1U << 30)
#define GDA_COMM_POLLERS	2U	/* of a rank with queues: a thread and a worker */

#define GDA_COMM_PAGE		4096U

/* A GPU may map the abort words, so they need pages of their own. */
static size_t gda_comm_words_bytes(uint32_t nranks)
{
	return (nranks * sizeof(uint32_t) + GDA_COMM_PAGE - 1) / GDA_COMM_PAGE * GDA_COMM_PAGE;
}

static uint32_t *gda_comm_words_alloc(uint32_t nranks)
{
	uint32_t *words = aligned_alloc(GDA_COMM_PAGE, gda_comm_words_bytes(nranks));

	if (words)
		memset(words, 0, gda_comm_words_bytes(nranks));
	return words;
}

static void gda_comm_set_state(struct gda_comm *comm, uint32_t rank, int state)
{
	if (rank >= comm->nranks || comm->states[rank])
		return;
	comm->states[rank] = state;
	if (state == -ESHUTDOWN)
		return;
	if (comm->failed < 0)
		comm->failed = (int)rank;
	__atomic_store_n(&comm->abort_words[rank], 1, __ATOMIC_RELEASE);
}

static void gda_comm_set_error(struct gda_comm *comm, int err)
{
	if (comm->error)
		return;
	comm->error = err;
	comm->blamed = gda_comm_why_rank(comm, err);
}

/* Handle a message of the hub; comm->lock is held. */
static void gda_comm_heard(struct gda_comm *comm, const struct gda_comm_frame *f,
			   const unsigned char *payload)
{
	switch (f->kind) {
	case GDA_COMM_WELCOME:
		comm->neighbours = f->a;
		comm->welcome = true;
		break;
	case GDA_COMM_STATE:
		gda_comm_set_state(comm, f->a, -(int)f->b);
		break;
	case GDA_COMM_RESULT:
		if (!comm->out || f->bytes != comm->out_bytes || f->a != comm->calls)
			break;
		memcpy(comm->out, payload, f->bytes);
		comm->out = NULL;
		comm->done = f->a;
		break;
	case GDA_COMM_FAIL:
		if (!comm->error && f->bytes < sizeof(comm->why)) {
			memcpy(comm->why, payload, f->bytes);
			comm->why[f->bytes] = 0;
		}
		gda_comm_set_error(comm, -(int)f->b);
		break;
	default:
		gda_comm_set_error(comm, -EPROTO);
	}
}

/* Read all that has arrived. Return: 0, or why no more will come. */
static int gda_comm_hear(struct gda_comm *comm, struct gda_comm_buffer *in)
{
	int end = gda_comm_buffer_fill(in, comm->fd, (size_t)GDA_COMM_MAX_RESULT + 64);
	const unsigned char *payload;
	struct gda_comm_frame f;
	int ret;

	pthread_mutex_lock(&comm->lock);
	while ((ret = gda_comm_frame_get(in, GDA_COMM_MAX_RESULT, &f, &payload)) > 0) {
		gda_comm_heard(comm, &f, payload);
		gda_comm_frame_drop(in, &f);
	}
	if (!end)
		end = ret;
	if (end) {
		/* the hub, which runs in rank 0, is gone; one that refused us has said why */
		if (!comm->error)
			gda_comm_set_state(comm, 0, -ECONNRESET);
		gda_comm_set_error(comm, -ECONNRESET);
	}
	pthread_cond_broadcast(&comm->changed);
	pthread_mutex_unlock(&comm->lock);
	return end;
}

static void *gda_comm_main(void *arg)
{
	struct gda_comm *comm = arg;
	struct gda_comm_buffer in = { 0 };
	struct pollfd p[2] = {
		{ .fd = comm->stop, .events = POLLIN },
		{ .fd = comm->fd, .events = POLLIN },
	};

	while (!p[0].revents) {
		if (poll(p, 2, -1) > 0 && p[1].revents && gda_comm_hear(comm, &in))
			p[1].fd = -1;
	}
	gda_comm_buffer_free(&in);
	return NULL;
}

static int gda_comm_thread(struct gda_comm *comm)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&comm->thread, NULL, gda_comm_main, comm);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

/* Send a whole frame, waiting until @deadline if necessary. */
static int gda_comm_send(struct gda_comm *comm, const struct gda_comm_frame *f,
			 const void *payload, uint64_t deadline)
{
	struct gda_comm_buffer out = { 0 };
	struct pollfd p = { .fd = comm->fd, .events = POLLOUT };
	int err = gda_comm_frame_add(&out, f, payload), nap = 0;
	size_t sent;

	while (!err) {
		sent = out.sent;
		err = gda_comm_buffer_flush(&out, comm->fd);
		if (err || !out.used)
			break;
		nap = gda_comm_alive_nap(nap, out.sent != sent);
		if (gda_clock_ns() >= deadline)
			err = -ETIMEDOUT;
		else
			poll(&p, !out.full, out.full ? nap : 50);
	}
	gda_comm_buffer_free(&out);
	return err;
}

static uint64_t gda_comm_left(uint64_t deadline)
{
	uint64_t now = gda_clock_ns();

	return deadline > now ? deadline - now : 0;
}

/*
 * Wait until @what returns true or the communicator has failed; comm->lock is held. If the hub does
 * not answer in time, its rank 0 is to blame.
 */
static int gda_comm_wait(struct gda_comm *comm, bool (*what)(const struct gda_comm *comm),
			 uint64_t deadline)
{
	uint64_t until = gda_comm_after(deadline, GDA_COMM_GRACE_NS);
	struct timespec ts = {
		.tv_sec = (time_t)(until / 1000000000),
		.tv_nsec = (long)(until % 1000000000),
	};

	while (!what(comm) && !comm->error) {
		if (pthread_cond_timedwait(&comm->changed, &comm->lock, &ts) == ETIMEDOUT &&
		    !what(comm) && !comm->error) {
			gda_comm_set_state(comm, 0, -ETIMEDOUT);
			gda_comm_set_error(comm, -ETIMEDOUT);
		}
	}
	return what(comm) ? 0 : comm->error;
}

static bool gda_comm_is_welcome(const struct gda_comm *comm)
{
	return comm->welcome;
}

static bool gda_comm_is_done(const struct gda_comm *comm)
{
	return comm->done == comm->calls;
}

static struct gda_comm *gda_comm_alloc(const struct gda_comm_attr *attr)
{
	struct gda_comm *comm = calloc(1, sizeof(*comm));
	pthread_condattr_t clock;

	if (!comm)
		return NULL;
	comm->rank = attr->rank;
	comm->nranks = attr->nranks;
	comm->timeout_ns = attr->timeout_ns;
	comm->pid = getpid();
	comm->neighbours = 1;
	comm->fd = -1;
	comm->failed = -1;
	comm->blamed = -1;
	gda_fd_lock();
	comm->stop = gda_fd_list(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	gda_fd_unlock();
	comm->states = calloc(attr->nranks, sizeof(*comm->states));
	comm->abort_words = gda_comm_words_alloc(attr->nranks);
	pthread_mutex_init(&comm->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&comm->changed, &clock);
	pthread_condattr_destroy(&clock);
	if (comm->stop >= 0 && comm->states && comm->abort_words)
		return comm;
	if (comm->stop >= 0)
		gda_fd_close(comm->stop);
	free(comm->states);
	free(comm->abort_words);
	free(comm);
	return NULL;
}

static void gda_comm_free(struct gda_comm *comm)
{
	if (comm->fd >= 0)
		gda_fd_close(comm->fd);
	gda_fd_close(comm->stop);
	pthread_cond_destroy(&comm->changed);
	pthread_mutex_destroy(&comm->lock);
	free(comm->states);
	free(comm->abort_words);
	free(comm);
}

static int gda_comm_pair(int pair[2])
{
	int err;

	gda_fd_lock();
	err = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) ? -errno : 0;
	if (!err && gda_fd_list(pair[0]) < 0) {
		close(pair[1]);
		err = -errno;
	} else if (!err && gda_fd_list(pair[1]) < 0) {
		err = -errno;
	}
	gda_fd_unlock();
	return err;
}

/* Rank 0's connection is a socketpair, whose other end the hub has. */
static int gda_comm_open_hub(struct gda_comm *comm, const struct gda_comm_id *id)
{
	struct gda_comm_secret secret;
	int err = gda_comm_id_parse(id, &secret, &comm->address);
	int listener, pair[2];

	if (!err)
		err = gda_comm_pair(pair);
	if (err)
		return err;
	/* from here on the process is rank 0; before, a child of fork(2) might have become it */
	gda_fd_lock();
	listener = gda_fd_list(gda_comm_id_listener(id));
	gda_fd_unlock();
	if (listener < 0) {
		gda_fd_close(pair[0]);
		gda_fd_close(pair[1]);
		return gda_because(-EINVAL,
				   "id was not made in this process, or is in use: rank 0 calls gda_comm_id_create()");
	}
	comm->fd = pair[0];
	return gda_comm_hub_start(comm->nranks, comm->timeout_ns, &secret, listener, pair[1],
				  &comm->hub);
}

static int gda_comm_open(struct gda_comm *comm, const struct gda_comm_id *id, uint64_t deadline)
{
	socklen_t length = sizeof(comm->address);
	int err;

	if (!comm->rank)
		return gda_comm_open_hub(comm, id);
	err = gda_comm_id_connect(id, deadline, &comm->fd);
	if (err == -ETIMEDOUT || err == -ECONNRESET)
		gda_comm_set_state(comm, 0, err);
	if (!err && getsockname(comm->fd, (struct sockaddr *)&comm->address, &length))
		err = -errno;
	return err;
}

/* Explain the time-out: nothing listened at the id's address. */
static int gda_comm_nobody(struct gda_comm *comm, const struct gda_comm_id *id)
{
	char address[64] = "?", port[8] = "?";

	sscanf(id->text, "%*s %63s %7s", address, port);
	comm->error = -ETIMEDOUT;
	snprintf(comm->why, sizeof(comm->why),
		 "nobody listens at %s, port %s (connection refused): start rank 0 too, where the id was made",
		 address, port);
	return comm->error;
}

static int gda_comm_join(struct gda_comm *comm, const struct gda_comm_id *id)
{
	uint64_t deadline = gda_comm_after(gda_clock_ns(), comm->timeout_ns);
	struct gda_comm_hello self = { .version = GDA_COMM_VERSION };
	struct gda_comm_frame hello = {
		.kind = GDA_COMM_HELLO,
		.bytes = sizeof(self),
		.a = comm->rank,
		.b = comm->nranks,
	};
	int err;

	if (comm->nranks == 1) {
		gda_comm_id_forget(id);
		return 0;
	}
	err = gda_comm_open(comm, id, deadline);
	if (err)
		return err == -ECONNREFUSED ? gda_comm_nobody(comm, id) : err;
	gda_machine_name(self.machine);
	hello.time = gda_comm_left(deadline);
	err = gda_comm_send(comm, &hello, &self, deadline);
	if (err == -ECONNRESET)
		gda_comm_set_state(comm, 0, err);
	if (!err)
		err = gda_comm_thread(comm);
	if (err)
		return err;
	pthread_mutex_lock(&comm->lock);
	err = gda_comm_wait(comm, gda_comm_is_welcome, deadline);
	pthread_mutex_unlock(&comm->lock);
	if (!err)
		return 0;
	(void)!write(comm->stop, &(uint64_t) { 1 }, sizeof(uint64_t));
	pthread_join(comm->thread, NULL);
	return err;
}

static int gda_comm_new(const struct gda_comm_attr *attr, struct gda_comm **result)
{
	struct gda_comm_attr how;
	struct gda_comm_id id;
	struct gda_comm *comm;
	int err = gda_comm_start(attr, &how, &id);

	if (err)
		return err;
	comm = gda_comm_alloc(&how);
	if (!comm)
		return -ENOMEM;
	err = gda_comm_join(comm, &id);
	if (err) {
		gda_comm_why(comm, err);
		if (comm->hub)
			gda_comm_hub_stop(comm->hub, gda_clock_ns() + GDA_COMM_GRACE_NS);
		gda_comm_free(comm);
		return err;
	}
	*result = comm;
	return 0;
}

GDA_EXPORT int gda_comm_create(const struct gda_comm_attr *attr, struct gda_comm **result)
{
	return gda_called(gda_comm_new(attr, result), "gda_comm_create", "%p", (const void *)attr);
}

GDA_EXPORT void gda_comm_destroy(struct gda_comm *comm)
{
	struct gda_comm_frame bye = { .kind = GDA_COMM_BYE };
	uint64_t deadline;

	if (!comm || comm->pid != getpid())
		return;
	deadline = gda_comm_after(gda_clock_ns(), comm->timeout_ns);
	if (comm->fd >= 0) {
		gda_comm_send(comm, &bye, NULL, deadline);
		(void)!write(comm->stop, &(uint64_t) { 1 }, sizeof(uint64_t));
		pthread_join(comm->thread, NULL);
	}
	if (comm->hub)
		gda_comm_hub_stop(comm->hub, deadline);
	gda_comm_free(comm);
}

static int gda_comm_call(struct gda_comm *comm, const void *in, size_t bytes, void *out,
			 uint64_t deadline)
{
	struct gda_comm_frame gather = {
		.kind = GDA_COMM_GATHER,
		.bytes = (uint32_t)bytes,
		.time = gda_comm_left(deadline),
	};
	int err;

	pthread_mutex_lock(&comm->lock);
	err = comm->error;
	if (!err) {
		gather.a = ++comm->calls;
		comm->out = out;
		comm->out_bytes = bytes * comm->nranks;
	}
	pthread_mutex_unlock(&comm->lock);
	if (!err)
		/* if it fails, the thread finds out why */
		gda_comm_send(comm, &gather, in, gda_comm_after(deadline, GDA_COMM_GRACE_NS));
	pthread_mutex_lock(&comm->lock);
	if (!err)
		err = gda_comm_wait(comm, gda_comm_is_done, deadline);
	comm->out = NULL;
	if (err)
		gda_comm_why(comm, err);
	pthread_mutex_unlock(&comm->lock);
	return err;
}

static int gda_comm_gather(struct gda_comm *comm, const void *in, size_t bytes, void *out,
			   uint64_t deadline)
{
	if (comm->pid != getpid())
		return gda_because(-ENODEV,
				   "the communicator belongs to the parent of this process: create another one here");
	if (bytes > GDA_COMM_MAX_GATHER || bytes * comm->nranks > GDA_COMM_MAX_RESULT)
		return gda_because(-EMSGSIZE,
				   "%zu bytes of each of %u ranks are too many: gather them in parts",
				   bytes,
				   comm->nranks);
	if (!deadline)
		deadline = gda_comm_after(gda_clock_ns(), comm->timeout_ns);
	if (comm->fd >= 0)
		return gda_comm_call(comm, in, bytes, out, deadline);
	if (bytes)
		memmove(out, in, bytes);
	return 0;
}

GDA_EXPORT int gda_comm_allgather(struct gda_comm *comm, const void *in, size_t bytes,
				  void *out, uint64_t deadline)
{
	return gda_called(gda_comm_gather(comm, in, bytes, out, deadline), "gda_comm_allgather",
			  "%p, %zu bytes", (void *)comm, bytes);
}

GDA_EXPORT int gda_comm_barrier(struct gda_comm *comm, uint64_t deadline)
{
	char nothing = 0;

	return gda_called(gda_comm_gather(comm, &nothing, 0, &nothing, deadline),
			  "gda_comm_barrier", "%p", (void *)comm);
}

GDA_EXPORT uint32_t gda_comm_rank(const struct gda_comm *comm)
{
	return comm->rank;
}

GDA_EXPORT uint32_t gda_comm_size(const struct gda_comm *comm)
{
	return comm->nranks;
}

static int gda_comm_no_rank(const struct gda_comm *comm, uint32_t rank, const char *call)
{
	int err = gda_because(-EINVAL, "rank %u: the communicator has ranks 0 to %u", rank,
			      comm->nranks - 1);

	return gda_called(err, call, "%p, %u", (const void *)comm, rank);
}

GDA_EXPORT int gda_comm_state(const struct gda_comm *comm, uint32_t rank)
{
	struct gda_comm *c = (struct gda_comm *)(uintptr_t)comm;
	int state;

	if (rank >= comm->nranks)
		return gda_comm_no_rank(comm, rank, "gda_comm_state");
	/* in a child of fork(2) the lock may be held by a thread that does not exist there */
	if (comm->pid != getpid())
		return -ENODEV;
	pthread_mutex_lock(&c->lock);
	state = c->states[rank];
	pthread_mutex_unlock(&c->lock);
	return state;
}

GDA_EXPORT int gda_comm_failed(const struct gda_comm *comm)
{
	struct gda_comm *c = (struct gda_comm *)(uintptr_t)comm;
	int failed;

	if (comm->pid != getpid())
		return -ENODEV;
	pthread_mutex_lock(&c->lock);
	failed = c->failed;
	pthread_mutex_unlock(&c->lock);
	return failed;
}

size_t gda_comm_abort_bytes(const struct gda_comm *comm)
{
	return gda_comm_words_bytes(comm->nranks);
}

GDA_EXPORT const uint32_t *gda_comm_abort_word(const struct gda_comm *comm, uint32_t rank)
{
	return rank < comm->nranks ? &comm->abort_words[rank] : NULL;
}

bool gda_comm_crowded(const struct gda_comm *comm, unsigned int each)
{
	return gda_crowded_by(each * comm->neighbours);
}

GDA_EXPORT int gda_comm_watch(const struct gda_comm *comm, uint32_t rank,
			      struct gda_view *view)
{
	if (rank >= comm->nranks)
		return gda_comm_no_rank(comm, rank, "gda_comm_watch");
	view->abort = (uintptr_t)&comm->abort_words[rank];
	if (gda_comm_crowded(comm, GDA_COMM_POLLERS))
		gda_view_yield(view, 1);
	return 0;
}

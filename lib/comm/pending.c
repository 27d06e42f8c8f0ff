// SPDX-License-Identifier: MIT
/*
 * Guests of the hub: connections that are not yet ranks. A guest has to prove that it knows the
 * secret within GDA_COMM_PROOF_NS, and then to say which rank it is within GDA_COMM_HELLO_NS. Until
 * the proof is valid nothing else is read. There are at most GDA_COMM_GUESTS guests; one more drops
 * the oldest, so that silent connections cannot keep others out.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <gda/barrier.h>
#include "hub.h"

#define GDA_COMM_PROOF_BYTES	(GDA_COMM_TAG_BYTES + GDA_COMM_NONCE_BYTES)

void gda_comm_guest_close(struct gda_comm_guest *g)
{
	if (g->fd >= 0)
		gda_fd_close(g->fd);
	g->fd = -1;
	gda_comm_buffer_free(&g->in);
	gda_comm_buffer_free(&g->out);
}

/* Refuse a guest with an error and its text, which become the rank's. */
static void gda_comm_guest_refuse(struct gda_comm_guest *g, int err, const char *why)
{
	struct gda_comm_frame fail = {
		.kind = GDA_COMM_FAIL,
		.bytes = (uint32_t)strlen(why),
		.b = (uint32_t)-err,
	};

	if (!gda_comm_frame_add(&g->out, &fail, why))
		gda_comm_buffer_flush(&g->out, g->fd);
	gda_comm_guest_close(g);
}

/* Tell a late rank which ranks were lost, the first one first. */
static void gda_comm_guest_tell(const struct gda_comm_hub *hub, struct gda_comm_guest *g)
{
	uint32_t i;

	for (i = 0; hub->lost < hub->nranks && i < hub->nranks; i++) {
		uint32_t rank = (hub->lost + i) % hub->nranks;
		struct gda_comm_frame frame = {
			.kind = GDA_COMM_STATE,
			.a = rank,
			.b = (uint32_t)-hub->members[rank].state,
		};

		if (frame.b && gda_comm_frame_add(&g->out, &frame, NULL))
			return;
	}
}

/* Refuse a guest of another version, or of another number of ranks. */
static void gda_comm_guest_differs(const struct gda_comm_hub *hub, struct gda_comm_guest *g,
				   const struct gda_comm_frame *f, uint8_t version)
{
	char why[GDA_COMM_WHY];

	if (f->kind == GDA_COMM_HELLO && version == GDA_COMM_VERSION)
		snprintf(why, sizeof(why),
			 "this is rank %u of %u, rank 0 is one of %u ranks: give all ranks the same number",
			 f->a, f->b, hub->nranks);
	else
		snprintf(why, sizeof(why),
			 "rank 0 has libgda of another version: install the same one for all ranks");
	gda_comm_guest_refuse(g, -EPROTO, why);
}

/* A guest has said which rank it is: make it that rank. */
static void gda_comm_guest_hello(struct gda_comm_hub *hub, struct gda_comm_guest *g,
				 const struct gda_comm_frame *f, const unsigned char *payload)
{
	struct gda_comm_hello hello = { 0 };
	struct gda_comm_member *m;
	char why[GDA_COMM_WHY];

	if (f->bytes == sizeof(hello))
		memcpy(&hello, payload, sizeof(hello));
	if (f->kind != GDA_COMM_HELLO || hello.version != GDA_COMM_VERSION ||
	    f->b != hub->nranks || f->a >= hub->nranks) {
		gda_comm_guest_differs(hub, g, f, hello.version);
		return;
	}
	m = &hub->members[f->a];
	if (hub->failed) {
		m->told = true;
		gda_comm_guest_tell(hub, g);
		gda_comm_guest_refuse(g, hub->failed, hub->why);
		return;
	}
	if (m->came || m->state || hub->here == hub->nranks) {
		gda_comm_guest_tell(hub, g);
		snprintf(why, sizeof(why),
			 "another process is rank %u of %u: give each rank a number of its own, and each job an id",
			 f->a, hub->nranks);
		gda_comm_guest_refuse(g, -EEXIST, why);
		return;
	}
	gda_comm_frame_drop(&g->in, f);
	m->fd = g->fd;
	m->in = g->in;
	m->out = g->out;
	m->came = true;
	memcpy(m->machine, hello.machine, sizeof(m->machine));
	*g = (struct gda_comm_guest) { .fd = -1 };
	gda_comm_hub_begin(hub, f->time);
	if (++hub->here < hub->nranks)
		return;
	gda_comm_hub_reset(hub);
	gda_comm_hub_welcome(hub);
}

/* Return: 0 if the guest may go on, or a negative errno. */
static int gda_comm_guest_prove(struct gda_comm_hub *hub, struct gda_comm_guest *g)
{
	unsigned char tag[GDA_COMM_TAG_BYTES];
	int err = gda_comm_buffer_fill(&g->in, g->fd, GDA_COMM_PROOF_BYTES);

	if (err || g->in.used < GDA_COMM_PROOF_BYTES)
		return err;
	gda_comm_tag(&hub->secret, GDA_COMM_RANK, g->nonce, tag);
	if (!gda_comm_tag_equal(g->in.data, tag))
		return -EACCES;
	gda_comm_tag(&hub->secret, GDA_COMM_HUB, g->in.data + GDA_COMM_TAG_BYTES, tag);
	gda_comm_bytes_drop(&g->in, GDA_COMM_PROOF_BYTES);
	g->proven = true;
	g->deadline = gda_clock_ns() + GDA_COMM_HELLO_NS;
	err = gda_comm_buffer_add(&g->out, tag, sizeof(tag));
	return err ? err : gda_comm_buffer_flush(&g->out, g->fd);
}

void gda_comm_guest_read(struct gda_comm_hub *hub, struct gda_comm_guest *g)
{
	const unsigned char *payload;
	struct gda_comm_frame f;
	int err = 0, ret = 0;

	if (!g->proven)
		err = gda_comm_guest_prove(hub, g);
	if (!err && g->proven) {
		err = gda_comm_buffer_fill(&g->in, g->fd, GDA_COMM_MAX_GATHER + 64);
		ret = gda_comm_frame_get(&g->in, sizeof(struct gda_comm_hello), &f, &payload);
	}
	if (ret == 1)
		gda_comm_guest_hello(hub, g, &f, payload);
	else if (err || ret < 0)
		gda_comm_guest_close(g);
}

void gda_comm_guest_expire(struct gda_comm_hub *hub, struct gda_comm_guest *g)
{
	/* data may have arrived in time, while the hub had no processor */
	gda_comm_guest_read(hub, g);
	if (g->fd >= 0 && gda_clock_ns() >= g->deadline)
		gda_comm_guest_close(g);
}

/* Find room for a guest; if there is none, drop the oldest guest without a proof. */
static struct gda_comm_guest *gda_comm_guest_room(struct gda_comm_hub *hub)
{
	struct gda_comm_guest *oldest = NULL;
	uint32_t i;

	for (i = 0; i < GDA_COMM_GUESTS; i++) {
		struct gda_comm_guest *g = &hub->guests[i];

		if (g->fd < 0)
			return g;
		if (!oldest || g->deadline < oldest->deadline)
			oldest = g;
	}
	gda_comm_guest_close(oldest);
	return oldest;
}

void gda_comm_guest_accept(struct gda_comm_hub *hub)
{
	struct gda_comm_guest *g;
	int fd;

	gda_fd_lock();
	fd = gda_fd_list(accept4(hub->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
	gda_fd_unlock();
	/* without descriptors the connection stays pending, and poll(2) would return at once */
	hub->deaf = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			       errno == ENOMEM);
	if (fd < 0) {
		hub->short_of = hub->short_of || hub->deaf;
		return;
	}
	hub->short_of = false;
	gda_comm_alive_start(fd);
	g = gda_comm_guest_room(hub);
	*g = (struct gda_comm_guest) {
		.fd = fd,
		.deadline = gda_clock_ns() + GDA_COMM_PROOF_NS,
	};
	if (gda_comm_random(g->nonce, sizeof(g->nonce)) ||
	    gda_comm_buffer_add(&g->out, g->nonce, sizeof(g->nonce)) ||
	    gda_comm_buffer_flush(&g->out, fd))
		gda_comm_guest_close(g);
}

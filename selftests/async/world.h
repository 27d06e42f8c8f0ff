/* SPDX-License-Identifier: MIT */
/*
 * Worlds for the tests of gda/async.h: a workspace of this rank alone, or those of some ranks,
 * each with a context and memory of its own. Threads make and end them, for that is
 * collective; in between the test's own thread posts for whichever rank it likes.
 */
#ifndef ASYNC_WORLD_H
#define ASYNC_WORLD_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <gda/async.h>

#define WORLD_MAX	4
#define WORLD_SECOND	1000000000ULL
#define WORLD_GUARD	65536U

struct world_rank {
	struct world *world;
	uint32_t rank;
	struct gda_comm *comm;
	struct gda_context *ctx;
	struct gda_async_workspace *w;
	unsigned char *mem;		/* one window */
	uint64_t *control;		/* another one: words, and scratch */
	int err;
};

#define WORLD_CONTROL	(64 * 1024U)

struct world {
	uint32_t n;			/* 0: without ranks */
	size_t bytes;			/* of the first window */
	struct gda_async_attr attr;	/* without windows */
	struct gda_comm_id id;
	struct world_rank r[WORLD_MAX];
	pthread_barrier_t barrier;
};

/* Zeroed memory with a page on either side that nobody reaches: windows must not touch. */
static inline void *world_map(size_t bytes)
{
	char *p = mmap(NULL, bytes + 2 * WORLD_GUARD, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED ||
	    mprotect(p + WORLD_GUARD, bytes, PROT_READ | PROT_WRITE))
		abort();
	return p + WORLD_GUARD;
}

static inline void world_unmap(void *p, size_t bytes)
{
	munmap((char *)p - WORLD_GUARD, bytes + 2 * WORLD_GUARD);
}

static inline int world_workspace(struct world_rank *r)
{
	struct gda_async_window windows[2] = {
		{ .addr = (uintptr_t)r->mem, .bytes = r->world->bytes },
		{ .addr = (uintptr_t)r->control, .bytes = WORLD_CONTROL },
	};
	struct gda_async_attr attr = r->world->attr;

	attr.size = sizeof(attr);
	attr.windows = windows;
	attr.count = 2;
	attr.timeout_ns = attr.timeout_ns ? attr.timeout_ns : 20 * WORLD_SECOND;
	return gda_async_create(r->comm, r->ctx, &attr, &r->w);
}

static inline void *world_begin_rank(void *arg)
{
	struct world_rank *r = arg;
	struct gda_comm_attr attr = {
		.size = sizeof(attr), .rank = r->rank, .nranks = r->world->n,
		.id = &r->world->id, .timeout_ns = 60 * WORLD_SECOND,
	};

	r->mem = world_map(r->world->bytes);
	r->control = world_map(WORLD_CONTROL);
	r->err = r->world->n ? gda_comm_create(&attr, &r->comm) : 0;
	if (!r->err)
		r->err = gda_open(NULL, &r->ctx);
	if (!r->err)
		r->err = world_workspace(r);
	if (r->err)
		printf("# rank %u: %s\n", r->rank, gda_last_error());
	return NULL;
}

static inline void *world_end_rank(void *arg)
{
	struct world_rank *r = arg;

	gda_async_destroy(r->w);
	if (r->comm)
		gda_comm_barrier(r->comm, 0);
	gda_close(r->ctx);
	gda_comm_destroy(r->comm);
	world_unmap(r->mem, r->world->bytes);
	world_unmap(r->control, WORLD_CONTROL);
	return NULL;
}

/* Run @body for each rank, in a thread of its own. */
static inline void world_each(struct world *world, void *(*body)(void *))
{
	uint32_t n = world->n ? world->n : 1, i;
	pthread_t threads[WORLD_MAX];

	for (i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, body, &world->r[i]))
			abort();
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* world->n, ->bytes and ->attr are set. Return: 0, or the error of a rank. */
static inline int world_begin(struct world *world)
{
	int err = 0;
	uint32_t i;

	if (world->n && gda_comm_id_create(NULL, &world->id))
		return -1;
	for (i = 0; i < WORLD_MAX; i++) {
		world->r[i].world = world;
		world->r[i].rank = i;
	}
	world_each(world, world_begin_rank);
	for (i = 0; i < WORLD_MAX; i++)
		err = err ? err : world->r[i].err;
	return err;
}

static inline void world_end(struct world *world)
{
	world_each(world, world_end_rank);
}

/* A session of rank @rank; @peer: or GDA_ASYNC_AUTO. */
static inline int world_open(struct world *world, uint32_t rank, uint32_t peer, void *scratch,
			     uint32_t bytes, struct gda_async_session *s)
{
	s->size = sizeof(*s);
	if (peer == GDA_ASYNC_AUTO)
		return gda_async_open(world->r[rank].w, 0, scratch, bytes, s);
	return gda_async_open_peer(world->r[rank].w, 0, peer, scratch, bytes, s);
}

/* A pattern that says which it is. */
/* Do the queues have atomics, for notifications that add? */
static inline int world_adds(const struct gda_async_session *s)
{
	return !gda_view_unordered(gda_async_view(s, 0));
}

static inline void world_fill(void *p, size_t bytes, uint32_t which)
{
	unsigned char *b = p;
	size_t i;

	for (i = 0; i < bytes; i++)
		b[i] = (unsigned char)(i * 31 + i / 256 + which * 129 + 1);
}

static inline int world_is(const void *p, size_t bytes, uint32_t which)
{
	const unsigned char *b = p;
	size_t i;

	for (i = 0; i < bytes; i++)
		if (b[i] != (unsigned char)(i * 31 + i / 256 + which * 129 + 1))
			return 0;
	return 1;
}

/* Are all @bytes equal to @c? */
static inline int world_only(const void *p, size_t bytes, unsigned char c)
{
	const unsigned char *b = p;
	size_t i;

	for (i = 0; i < bytes; i++)
		if (b[i] != c)
			return 0;
	return 1;
}

/* How many entries were handed out in all queues of a workspace. */
static inline uint64_t world_posted(const struct gda_async_workspace *w)
{
	const uint64_t *views = (const uint64_t *)(uintptr_t)w->views;
	uint64_t n = (uint64_t)w->groups * w->nranks * w->queues, sum = 0, i;

	for (i = 0; i < n; i++)
		sum += __atomic_load_n(&((struct gda_view *)(uintptr_t)views[i])->reserved,
				       __ATOMIC_RELAXED);
	return sum;
}

#endif /* ASYNC_WORLD_H */

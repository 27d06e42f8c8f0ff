// SPDX-License-Identifier: MIT
/*
 * Random programs over gda/async.h, against a serial model. A program is some thirty calls of one
 * or two sessions: gets and puts of random ranges, by rows too, notifications, waits for all,
 * for an event, tests. The model carries out each call when it is made, in memory of its own.
 * A call never overlaps with one that is on its way: the program waits for the event of the last
 * call that is in the way, and for nothing else. Memory that a wait or a test says is done must
 * be as in the model; in the end all memory of all ranks must.
 *
 * GDA_STRESS=N: N times as many programs; GDA_SEED=N: that one alone, told.
 */
#include <errno.h>
#include <stdbool.h>
#include "../lib/repeat.h"
#include "world.h"

#define PROGRAMS	100000U
#define PROGRAMS_SLOW	1000U
#define CALLS		30U
#define BYTES		16384U
#define BLOCK		256U
#define WORLDS		24U

struct copy_range {
	uint32_t rank, from, bytes;
};

/* A call that no wait has covered yet; or one that has ended. */
struct call {
	struct gda_async_event event;
	uint32_t session;
	struct copy_range dst, src;
	int live;
};

struct program {
	struct world *world;
	unsigned char *model[WORLD_MAX];
	uint64_t seed, state;
	struct gda_async_session s[2];
	uint32_t peer[2];		/* of a session that is bound, or GDA_ASYNC_AUTO */
	uint32_t sessions;
	struct call calls[CALLS];
	uint32_t made;
	int tell;
};

static uint32_t pick(struct program *p, uint32_t n)
{
	p->state = p->state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(p->state >> 33) % n;
}

static int wrong(const struct program *p, const char *what)
{
	printf("# seed %llu, %u ranks, %u queues, flags %u: %s (%s)\n",
	       (unsigned long long)p->seed, p->world->n, p->world->attr.queues,
	       p->world->attr.flags, what, gda_last_error());
	return 1;
}

static unsigned char *place(const struct program *p, const struct copy_range *r)
{
	return p->world->r[r->rank].mem + r->from;
}

static int overlaps(const struct copy_range *a, const struct copy_range *b)
{
	return a->rank == b->rank && a->from < b->from + b->bytes && b->from < a->from + a->bytes;
}

/* All calls of a session up to @last have ended: is their memory that of the model? */
static int ended(struct program *p, uint32_t session, uint32_t last)
{
	uint32_t i;

	for (i = 0; i <= last; i++) {
		struct call *c = &p->calls[i];

		if (c->session != session || !c->live)
			continue;
		c->live = 0;
		if (memcmp(place(p, &c->dst), p->model[c->dst.rank] + c->dst.from, c->dst.bytes))
			return wrong(p, "a wait was early");
	}
	return 0;
}

static int wait_for(struct program *p, uint32_t i)
{
	struct call *c = &p->calls[i];

	if (p->tell)
		printf("# wait for call %u\n", i);
	if (gda_async_wait_for(&p->s[c->session], c->event, 0))
		return wrong(p, "gda_async_wait_for");
	return ended(p, c->session, i);
}

/* Wait for the last call, of each session, that a copy would be in the way of. */
static int make_way(struct program *p, const struct copy_range *dst, const struct copy_range *src)
{
	uint32_t i;
	int err = 0;

	for (i = p->made; !err && i-- > 0;) {
		const struct call *c = &p->calls[i];

		if (c->live && (overlaps(&c->dst, dst) || overlaps(&c->dst, src) ||
				overlaps(&c->src, dst)))
			err = wait_for(p, i);
	}
	return err;
}

static struct gda_async_event copy(struct program *p, struct gda_async_session *s, uint32_t put,
				   uint32_t peer, const struct copy_range *d,
				   const struct copy_range *r, unsigned int flags)
{
	void *dst = place(p, d), *src = place(p, r);

	if (s->engine == GDA_ASYNC_COPY)
		return put ? gda_async_put(s, GDA_ASYNC_COPY, dst, src, d->bytes, flags) :
			     gda_async_get(s, GDA_ASYNC_COPY, dst, src, d->bytes, flags);
	if (s->engine == GDA_ASYNC_PEER)
		return put ? gda_async_put(s, GDA_ASYNC_PEER, dst, src, d->bytes, flags) :
			     gda_async_get(s, GDA_ASYNC_PEER, dst, src, d->bytes, flags);
	return put ? gda_async_put(s, GDA_ASYNC_PEERS(peer), dst, src, d->bytes, flags) :
		     gda_async_get(s, GDA_ASYNC_PEERS(peer), dst, src, d->bytes, flags);
}

/* The first half of each 128 bytes, as rows. */
static struct gda_async_event rows(struct program *p, struct gda_async_session *s, uint32_t put,
				   uint32_t peer, const struct copy_range *d,
				   const struct copy_range *r)
{
	uint32_t engine = s->engine == GDA_ASYNC_ANY ? GDA_ASYNC_PEERS(peer) : s->engine;
	struct gda_async_rows rows = {
		.size = sizeof(rows), .rows = d->bytes / 128, .bytes = 64,
		.dst = (uintptr_t)place(p, d), .dst_pitch = 128,
		.src = (uintptr_t)place(p, r), .src_pitch = 128,
	};

	return put ? gda_async_put_rows(s, engine, &rows, 0) :
		     gda_async_get_rows(s, engine, &rows, 0);
}

/* Carry out a call in the model. */
static void model(struct program *p, const struct copy_range *d, const struct copy_range *r,
		  int by_rows)
{
	unsigned char *dst = p->model[d->rank] + d->from, *src = p->model[r->rank] + r->from;
	uint32_t i;

	if (!by_rows)
		memcpy(dst, src, d->bytes);
	for (i = 0; by_rows && i < d->bytes / 128; i++)
		memcpy(dst + 128 * i, src + 128 * i, 64);
}

static int begin(struct program *p)
{
	uint32_t session = pick(p, p->sessions), put = pick(p, 2), bytes, peer, by_rows;
	struct gda_async_session *s = &p->s[session];
	struct call *c = &p->calls[p->made];
	struct copy_range here, there;

	peer = s->engine == GDA_ASYNC_ANY ? pick(p, p->world->n) : s->peer;
	bytes = pick(p, 8) ? 1 + pick(p, 300) : 1 + pick(p, 4 * BLOCK + 50);
	by_rows = bytes >= 256 && !pick(p, 3);
	here = (struct copy_range){ 0, pick(p, BYTES - bytes), bytes };
	there = (struct copy_range){ peer, pick(p, BYTES - bytes), bytes };
	c->session = session;
	c->dst = put ? there : here;
	c->src = put ? here : there;
	if (overlaps(&c->dst, &c->src))
		return 0;
	if (make_way(p, &c->dst, &c->src))
		return 1;
	if (p->tell)
		printf("# call %u: session %u, rank %u + %u to rank %u + %u, %u bytes%s\n", p->made,
		       session, c->src.rank, c->src.from, c->dst.rank, c->dst.from, bytes,
		       by_rows ? " by rows" : "");
	c->event = by_rows ? rows(p, s, put, peer, &c->dst, &c->src) :
			     copy(p, s, put, peer, &c->dst, &c->src, pick(p, 6) ? 0 : GDA_DEFER);
	if (c->event.handle <= 0)
		return wrong(p, "a copy was refused");
	model(p, &c->dst, &c->src, (int)by_rows);
	c->live = 1;
	p->made++;
	return 0;
}

/* A word of the peer behind all that was put there: what was put is there once it has changed. */
static int notify(struct program *p)
{
	uint32_t session = pick(p, p->sessions), peer, i;
	struct gda_async_session *s = &p->s[session];
	uint64_t *word, value = p->seed << 8 | p->made;
	int err;

	peer = s->engine == GDA_ASYNC_ANY ? pick(p, p->world->n) : s->peer;
	word = p->world->r[peer].control + session;
	if (gda_async_notify(s, s->engine == GDA_ASYNC_ANY ? GDA_ASYNC_PEERS(peer) : s->engine,
			     word, GDA_ASYNC_SET, value, 0).handle <= 0)
		return wrong(p, "gda_async_notify");
	err = gda_async_wait_word(s, word, GDA_ASYNC_EQ, value, 0);
	if (err)
		return wrong(p, "gda_async_wait_word");
	for (i = 0; i < p->made; i++) {
		const struct call *c = &p->calls[i];

		/* a put, and of COPY every copy */
		if (!c->live || c->session != session || c->dst.rank != peer ||
		    (s->engine != GDA_ASYNC_COPY && c->src.rank != 0) ||
		    (s->engine != GDA_ASYNC_COPY && peer == 0))
			continue;
		if (memcmp(place(p, &c->dst), p->model[peer] + c->dst.from, c->dst.bytes))
			return wrong(p, "a notification was early");
	}
	return 0;
}

static int drain(struct program *p, uint32_t session)
{
	if (p->tell)
		printf("# wait for session %u\n", session);
	if (gda_async_wait(&p->s[session], 0))
		return wrong(p, "gda_async_wait");
	return p->made ? ended(p, session, p->made - 1) : 0;
}

static int test(struct program *p)
{
	uint32_t i = pick(p, p->made);
	int done = gda_async_test(&p->s[p->calls[i].session], p->calls[i].event);

	if (done < 0)
		return wrong(p, "gda_async_test");
	return done ? ended(p, p->calls[i].session, i) : 0;
}

static int step(struct program *p)
{
	switch (p->made ? pick(p, 16) : 15) {
	case 0:
		return drain(p, pick(p, p->sessions));
	case 1:
		return wait_for(p, pick(p, p->made));
	case 2:
	case 3:
		return test(p);
	case 4:
		return notify(p);
	default:
		return begin(p);
	}
}

/* Sessions of the program: of all peers or bound to one, and with more or less scratch. */
static int open_sessions(struct program *p)
{
	uint32_t i;

	p->sessions = 1 + pick(p, 2);
	for (i = 0; i < p->sessions; i++) {
		uint32_t peer = p->world->n && pick(p, 2) ? pick(p, p->world->n) : GDA_ASYNC_AUTO;
		uint32_t bytes = gda_async_scratch_bytes(p->world->r[0].w, peer);

		bytes += 8 * pick(p, 40);
		if (world_open(p->world, 0, peer, p->world->r[0].control + 64 + 128 * i, bytes,
			       &p->s[i]))
			return wrong(p, "gda_async_open");
	}
	return 0;
}

static int run(struct world *world, unsigned char **model_of, uint64_t seed, int tell)
{
	struct program p = { .world = world, .seed = seed, .state = seed * 2654435761U + 1 };
	uint32_t i, ranks = world->n ? world->n : 1;
	int err;

	p.tell = tell;
	memcpy(p.model, model_of, sizeof(p.model));
	err = open_sessions(&p);
	for (i = 0; !err && i < 2 * CALLS && p.made < CALLS; i++)
		err = step(&p);
	for (i = 0; !err && i < p.sessions; i++)
		err = drain(&p, i);
	for (i = 0; !err && i < ranks; i++)
		if (memcmp(world->r[i].mem, model_of[i], BYTES))
			err = wrong(&p, "memory is not that of the model");
	return err;
}

/* World @which: without ranks, with flags or not, or of 1 to 4 ranks; of 1 to 4 queues. */
static int world_number(uint32_t which, uint64_t first, uint64_t programs, int tell)
{
	struct world world = {
		.n = which / 4 < 2 ? 0 : which / 4 - 1, .bytes = BYTES, .attr = {
			.queues = which % 4 + 1, .depth = 32, .block_bytes = BLOCK,
			.flags = which / 4 == 1 ? GDA_ASYNC_FLAG_WAIT : 0,
		},
	};
	static unsigned char models[WORLD_MAX][BYTES];
	unsigned char *model_of[WORLD_MAX];
	uint32_t i;
	uint64_t k;
	int err = world_begin(&world);

	for (i = 0; !err && i < WORLD_MAX; i++) {
		model_of[i] = models[i];
		if (i && i >= world.n)
			continue;
		world_fill(world.r[i].mem, BYTES, which + i);
		memcpy(models[i], world.r[i].mem, BYTES);
	}
	for (k = 0; !err && k < programs; k++)
		err = run(&world, model_of, first + k, tell);
	world_end(&world);
	return err;
}

int main(void)
{
	const char *seed = getenv("GDA_SEED");
	uint32_t programs = (test_slow() ? PROGRAMS_SLOW : PROGRAMS) * test_times(), each, which;
	int rc = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	each = (programs + WORLDS - 1) / WORLDS;
	printf("TAP version 13\n1..%u\n", WORLDS);
	for (which = 0; which < WORLDS; which++) {
		uint64_t first = seed ? strtoull(seed, NULL, 0) : (uint64_t)which << 32;
		int err = world_number(which, first, seed ? 1 : each, !!seed);

		printf("%sok %u P_11_P_15_programs.%u_ranks.%u_queues%s\n", err ? "not " : "",
		       which + 1, which / 4 < 2 ? 0 : which / 4 - 1, which % 4 + 1,
		       which / 4 == 1 ? ".flags" : "");
		rc |= err;
	}
	printf("# %u programs\n", WORLDS * each);
	return rc != 0;
}

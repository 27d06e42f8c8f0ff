// SPDX-License-Identifier: MIT
/*
 * Random programs of 2 to 4 ranks in two contexts: puts, values, gets, signals, words of
 * windows, counters, flushes of a peer and a barrier. One thread is all ranks, and after every
 * step it may look: of whatever a signal, a counter, a flush or a barrier reports by then
 * the bytes have to be there, and sources that are free are written over. In the end the words
 * are what the sums say.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "program.h"

enum kind { PUT, PUT_SIGNAL, PUT_WORD, VALUE, VALUE_SIGNAL, SIGNAL, GET, FLUSH, KINDS };

struct step {
	enum kind kind;
	uint32_t context, from, to, bytes, counter;
	bool weak, counted;
	bool landed, freed, got, flushed;	/* looked at, and found so */
	uint64_t after;				/* sum of the signal, or of the counter */
	uint64_t ticks;
	struct gda_gin_request request;
};

static uint32_t chance(struct world *w, uint32_t below)
{
	uint64_t x;

	w->seed += 0x9e3779b97f4a7c15U;
	x = (w->seed ^ w->seed >> 30) * 0xbf58476d1ce4e5b9U;
	x = (x ^ x >> 27) * 0x94d049bb133111ebU;
	return (uint32_t)((x >> 32) % below);
}

static unsigned char byte_of(uint32_t step, uint32_t i)
{
	return (unsigned char)(step * 37 + i * 5 + 1) | 1;
}

static void fill(unsigned char *p, uint32_t step)
{
	uint32_t i;

	for (i = 0; i < CELL; i++)
		p[i] = byte_of(step, i);
}

static bool filled(const unsigned char *p, uint32_t step, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes; i++)
		if (p[i] != byte_of(step, i))
			return false;
	return true;
}

static void check(struct world *w, bool good, const char *what)
{
	if (!good && !w->broken)
		w->broken = what;
}

static bool has_data(const struct step *s)
{
	return s->kind <= VALUE_SIGNAL;
}

static bool has_source(const struct step *s)
{
	return s->kind <= PUT_WORD;
}

static bool signals(const struct step *s)
{
	return s->kind == PUT_SIGNAL || s->kind == VALUE_SIGNAL || s->kind == SIGNAL;
}

static struct gda_gin_place place(const struct world *w, uint32_t rank, uint64_t offset)
{
	return gda_at(w->window[rank], offset);
}

static uint32_t word_at(uint32_t context, uint32_t from)
{
	return WORDS + 8 * (context * RANKS + from);
}

/* The rest of the verb's choices, and the sum that it makes. */
static struct gda_gin_how how_of(struct world *w, struct step *s)
{
	unsigned int flags = (s->weak ? GDA_GIN_WEAK : 0) | (chance(w, 3) ? 0 : GDA_DEFER);
	uint64_t add = w->add ? 1 + chance(w, 9) : 1, *sum;
	struct gda_gin_how how = gda_gin_plain(flags);

	if (signals(s)) {
		sum = &w->signals[s->context][s->from][s->to];
		how = w->add ? gda_gin_add(s->from, add, flags) : gda_gin_inc(s->from, flags);
		s->after = *sum += add;
	}
	if (s->kind == PUT_WORD) {
		sum = &w->words[s->context][s->from][s->to];
		how = gda_gin_add_at(place(w, s->from, word_at(s->context, s->from)), add, flags);
		s->after = *sum += add;
	}
	if (s->counted) {
		how = gda_gin_count(how, s->counter);
		s->ticks = ++w->ticks[s->context][s->from][s->counter];
	}
	return how;
}

/* The step's own choices. By arrival there are no words, and signals are weak. */
static void choose(struct world *w, struct step *s)
{
	memset(s, 0, sizeof(*s));
	s->kind = (enum kind)chance(w, KINDS);
	if (w->arrival && s->kind == PUT_WORD)
		s->kind = PUT_SIGNAL;
	s->context = chance(w, CONTEXTS);
	s->from = chance(w, w->nranks);
	s->to = chance(w, w->nranks);
	s->bytes = s->kind == VALUE || s->kind == VALUE_SIGNAL ? 1 + chance(w, 8) :
								 chance(w, CELL + 1);
	s->weak = w->arrival || chance(w, 2);
	s->counted = has_source(s) && chance(w, 2);
	/* a counter for each queue: what it has counted is known then */
	s->counter = 2 * s->to + (w->arrival && signals(s));
}

static int post(struct world *w, uint32_t i)
{
	struct step *s = &w->steps[i];
	unsigned char *source;
	struct gda_gin_place to;
	struct gda_gin_how how;
	struct gda_gin *gin;
	uint64_t value;

	choose(w, s);
	how = how_of(w, s);
	gin = w->gin[s->context][s->from];
	to = place(w, s->from, INBOX + i * CELL);
	source = w->memory[s->from] + OUTBOX + i * CELL;
	fill(source, i);
	switch (s->kind) {
	case PUT:
	case PUT_SIGNAL:
	case PUT_WORD:
		return gda_gin_put(gin, s->to, to, place(w, s->from, OUTBOX + i * CELL), s->bytes,
				   how);
	case VALUE:
	case VALUE_SIGNAL:
		memcpy(&value, source, sizeof(value));
		return gda_gin_put_value(gin, s->to, to, value, s->bytes, how);
	case SIGNAL:
		return gda_gin_signal(gin, s->to, how);
	case GET:
		return gda_gin_get(gin, s->to, place(w, s->from, FIXED),
				   place(w, s->from, GOT + i * CELL), s->bytes, how);
	default:
		return gda_gin_flush_peer(gin, s->to, &s->request);
	}
}

/* It has to be there by now. */
static void has_landed(struct world *w, uint32_t i, const char *what)
{
	struct step *s = &w->steps[i];

	if (s->landed || !has_data(s))
		return;
	s->landed = true;
	check(w, filled(w->memory[s->to] + INBOX + i * CELL, i, s->bytes), what);
}

/* The source is the program's again: nobody reads it any more. */
static void is_free(struct world *w, uint32_t i)
{
	struct step *s = &w->steps[i];

	if (s->freed || !has_source(s))
		return;
	s->freed = true;
	memset(w->memory[s->from] + OUTBOX + i * CELL, 0, CELL);
}

static void is_got(struct world *w, uint32_t i, const char *what)
{
	struct step *s = &w->steps[i];

	if (s->got || s->kind != GET)
		return;
	s->got = true;
	check(w, filled(w->memory[s->from] + GOT + i * CELL, 99 + s->to, s->bytes), what);
}

static bool same_way(const struct step *a, const struct step *b)
{
	return a->context == b->context && a->from == b->from && a->to == b->to;
}

/* A signal was seen: its own put is there, and if it is strong all that were before it. */
static void look_at_signal(struct world *w, uint32_t i)
{
	const struct step *s = &w->steps[i];
	uint64_t value;
	uint32_t k;

	value = s->kind == PUT_WORD ?
		gda_gin_read_signal_at(place(w, s->to, word_at(s->context, s->from)), 64) :
		gda_gin_read_signal(w->gin[s->context][s->to], s->from, 64);
	if (value < s->after)
		return;
	has_landed(w, i, "the put of a signal that was seen");
	for (k = 0; !s->weak && k < i; k++)
		if (same_way(&w->steps[k], s))
			has_landed(w, k, "a put before a strong signal that was seen");
}

/* A flush of a peer is done: sources before it are free, gets have landed. */
static void look_at_flush(struct world *w, uint32_t i)
{
	struct step *s = &w->steps[i];
	uint32_t k;
	int done;

	if (s->flushed)
		return;
	done = gda_gin_test(w->gin[s->context][s->from], &s->request);
	check(w, done >= 0, "a flush failed");
	s->flushed = done > 0;
	for (k = 0; s->flushed && k < i; k++) {
		if (!same_way(&w->steps[k], s))
			continue;
		is_free(w, k);
		is_got(w, k, "a get before a flush");
	}
}

static void look(struct world *w)
{
	uint32_t i;

	w->looks++;
	for (i = 0; i < w->nsteps; i++) {
		const struct step *s = &w->steps[i];

		if (signals(s) || s->kind == PUT_WORD)
			look_at_signal(w, i);
		if (s->kind == FLUSH)
			look_at_flush(w, i);
		if (s->counted && !s->freed &&
		    gda_gin_read_counter(w->gin[s->context][s->from], s->counter, 56) >= s->ticks)
			is_free(w, i);
	}
}

/* Let the device go on. */
static void go_on(struct world *w)
{
	uint32_t at = (uint32_t)w->polls++;
	struct gda_gin *gin = w->gin[at % CONTEXTS][at / CONTEXTS % w->nranks];

	if (w->late) {
		late_step(w->late);
		return;
	}
	at /= CONTEXTS * w->nranks;
	gda_relax(gda_gin_view((struct gda_gin_queue *)(uintptr_t)gin->queues +
			       at % (gin->endpoints * gin->nranks)),
		  2 + (uint32_t)w->polls % 64, GDA_RELAX_DONE);
}

/* Flush everything: what was deferred is rung, whoever it was for. */
static void finish(struct world *w)
{
	uint32_t c, r, p, tries;

	for (c = 0; c < CONTEXTS; c++) {
		for (r = 0; r < w->nranks; r++) {
			for (p = 0; p < w->nranks; p++) {
				struct gda_gin_request q;
				int done = gda_gin_flush_peer(w->gin[c][r], p, &q);

				for (tries = 0; !done && tries < 100000000; tries++) {
					done = gda_gin_test(w->gin[c][r], &q);
					go_on(w);
				}
				check(w, done > 0, "a flush did not end");
			}
		}
	}
}

static bool all_here(struct world *w, uint32_t context)
{
	uint32_t r, p;

	for (r = 0; r < w->nranks; r++) {
		const struct gda_gin *gin = w->gin[context][r];

		for (p = 0; p < w->nranks; p++) {
			uint32_t slot = gda_gin_barrier_slot(gin, 0, p);
			struct gda_gin_value v = gda_gin_signal_value(gin, slot, 32);

			if (p != r && !gda_gin_reached(*gda_gin_shadow(gin, slot) + 1,
						       gda_gin_value(&v), 32))
				return false;
		}
	}
	return true;
}

/* All ranks come to a barrier. By one thread: first all say so, then all wait. */
static void barrier(struct world *w, uint32_t context, unsigned int fence)
{
	struct gda_gin_barrier b[RANKS];
	uint32_t r;

	for (r = 0; r < w->nranks; r++) {
		struct gda_gin *gin = w->gin[context][r];

		check(w, !gda_gin_barrier_begin(&b[r], gin,
						gda_team_make(w->nranks, r, 1), 0), "begin");
		check(w, !gda_gin_barrier_arrive(&b[r], fence, 0), "arrive at a barrier");
	}
	while (!w->broken && !all_here(w, context))
		go_on(w);
	for (r = 0; !w->broken && r < w->nranks; r++) {
		check(w, !gda_gin_barrier_wait(&b[r], 0), "wait for a barrier");
		gda_gin_barrier_end(&b[r]);
	}
}

/*
 * A barrier in each context. The consumer of late.h goes on when it is stepped, and not while a
 * fence waits: there the flush is before, and by arrival puts are all carried out.
 */
static void meet(struct world *w)
{
	unsigned int fence = chance(w, 2) ? GDA_GIN_FENCE_PUT :
					    GDA_GIN_FENCE_PUT | GDA_GIN_FENCE_GET;
	uint32_t c, i;

	if (w->late || chance(w, 2))
		finish(w);
	while (w->late && late_step(w->late))
		;
	for (c = 0; c < CONTEXTS; c++)
		barrier(w, c, w->late ? 0 : fence);
	for (i = 0; i < w->nsteps; i++) {
		if (w->steps[i].to != w->steps[i].from || w->late)
			has_landed(w, i, "a put before a barrier");
		if (fence & GDA_GIN_FENCE_GET)
			is_got(w, i, "a get before a barrier");
	}
}

/* The words are what the sums say; then they begin anew. */
static void sums(struct world *w)
{
	uint32_t c, f, t;

	for (c = 0; c < CONTEXTS; c++) {
		for (f = 0; f < w->nranks; f++) {
			for (t = 0; t < w->nranks; t++) {
				struct gda_gin *gin = w->gin[c][t];

				check(w, gda_gin_read_signal(gin, f, 64) == w->signals[c][f][t],
				      "the sum of a signal");
				check(w, gda_gin_read_signal_at(place(w, t, word_at(c, f)), 64) ==
					 w->words[c][f][t], "the sum of a word");
				gda_gin_reset_signal(gin, f);
				gda_gin_reset_signal_at(place(w, t, word_at(c, f)));
			}
			for (t = 0; t < 2 * w->nranks; t++) {
				check(w, gda_gin_read_counter(w->gin[c][f], t, 56) ==
					 w->ticks[c][f][t], "the sum of a counter");
				gda_gin_reset_counter(w->gin[c][f], t);
			}
		}
	}
	memset(w->signals, 0, sizeof(w->signals));
	memset(w->words, 0, sizeof(w->words));
	memset(w->ticks, 0, sizeof(w->ticks));
}

static void clear(struct world *w)
{
	uint32_t r, c;

	for (r = 0; r < w->nranks; r++) {
		memset(w->memory[r] + INBOX, 0, w->nsteps * CELL);
		memset(w->memory[r] + GOT, 0, w->nsteps * CELL);
	}
	for (c = 0; w->late && c < CONTEXTS; c++)
		for (r = 0; r < w->nranks; r++)
			gda_gin_progress(w->gin[c][r], 0);
}

static void program(struct world *w, uint64_t number)
{
	uint32_t n, i, k;

	w->seed = number * 0x632be59bd9b4e019U;
	if (w->late)
		late_seed(w->late, number, false);
	w->add = !w->arrival && chance(w, 2);
	n = 1 + chance(w, STEPS);
	for (w->nsteps = 0; w->nsteps < n && !w->broken; ) {
		check(w, !post(w, w->nsteps), "a verb failed");
		w->nsteps++;
		for (k = chance(w, 4); k; k--)
			go_on(w);
		if (!chance(w, 4))
			look(w);
	}
	meet(w);
	finish(w);
	for (i = 0; i < n; i++) {
		has_landed(w, i, "a put, in the end");
		is_got(w, i, "a get, in the end");
	}
	look(w);
	sums(w);
	clear(w);
}

static void prepare(struct world *w)
{
	uint32_t r;

	for (r = 0; r < w->nranks; r++)
		fill(w->memory[r] + FIXED, 99 + r);
}

const char *programs_run(struct world *w, uint64_t n)
{
	struct step steps[STEPS];
	uint64_t i;

	w->steps = steps;
	prepare(w);
	for (i = 0; i < n && !w->broken; i++)
		program(w, i);
	printf("# %u ranks: %llu programs, %llu looks\n", w->nranks, (unsigned long long)i,
	       (unsigned long long)w->looks);
	if (w->broken)
		printf("# program %llu: %s\n", (unsigned long long)i - 1, w->broken);
	return w->broken;
}

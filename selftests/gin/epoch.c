// SPDX-License-Identifier: MIT
/*
 * The arithmetic of gda/gin/epoch.h under every order that a fabric without order allows: a
 * sender's steps, the arrival of each write (the tick of its counter, and its immediate), its
 * completion, and the steps of the receiver are taken in all sequences, for all small programs of
 * puts and signals. Never is a signal delivered before all writes up to it have arrived; none is
 * lost or out of turn.
 *
 * The same search finds that a bare count is wrong, and that epoch e + 2 may not begin before epoch
 * e is done. Speaks KTAP. GDA_STRESS=2: larger programs.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gda/gin/epoch.h>
#include "../lib/repeat.h"

#define MOST	16U		/* writes of a program */
#define ROOM	4U		/* most */

enum scheme {
	EPOCHS,
	EARLY,			/* epochs, but nothing waits for the epoch before the last */
	BARE,			/* one number; a signal tells how many writes were before it */
};

/* A program: P a put, S a signal. */
struct world {
	enum scheme scheme;
	const char *program;
	uint32_t writes, room;
	uint32_t epoch[MOST + 1];	/* of each write: the signals before it */
	char wrong[80];		/* what was found */
	char trace[256];	/* and the events that led there */
};

/* Bits of a write. */
#define POSTED	1U
#define TICKED	2U		/* arrived, and counted */
#define TOLD	4U		/* arrived, and its immediate is in the ring */
#define DONE	8U		/* the sender knows */

/* All that changes; no padding, so that states are compared as bytes. */
struct state {
	struct gda_epoch_sender send;
	struct gda_epoch_receiver recv;
	struct gda_epoch_note notes[ROOM];
	uint64_t arrived[2];
	uint32_t imms[MOST / 2];	/* of signals that were posted */
	uint8_t write[MOST];
	uint8_t ring[ROOM];	/* writes whose immediates were not taken */
	uint32_t next;		/* of the program */
	uint32_t told;		/* immediates in the ring */
	uint32_t delivered;	/* signals */
	uint32_t pops;		/* the receiver's next step takes an immediate */
};

static bool is_signal(const struct world *w, uint32_t i)
{
	return w->program[i] == 'S';
}

/* How many signals are before write @i; the epoch of the write. */
static uint32_t signals_before(const struct world *w, uint32_t i)
{
	return w->epoch[i];
}

/* The signal that ends epoch @epoch: every other one is long. */
static uint64_t add_of(uint32_t epoch)
{
	return epoch % 2 ? 1 : 5 + epoch;
}

static uint32_t number_of(const struct world *w, uint32_t i)
{
	return w->scheme == BARE ? 0 : gda_epoch_number(signals_before(w, i));
}

/* --- the states that were seen --- */

struct seen {
	struct state *states;
	uint32_t *table;	/* 1 + place in states, or 0 */
	uint64_t count, size;
};

static struct seen seen;

static uint64_t hash(const struct state *s)
{
	const unsigned char *p = (const unsigned char *)s;
	uint64_t h = 0xcbf29ce484222325, word;
	size_t i;

	for (i = 0; i < sizeof(*s); i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15;
		h ^= h >> 29;
	}
	return h;
}

static void seen_place(uint32_t number)
{
	uint64_t i = hash(&seen.states[number - 1]) & (seen.size - 1);

	while (seen.table[i])
		i = (i + 1) & (seen.size - 1);
	seen.table[i] = number;
}

static void seen_grow(void)
{
	uint64_t i;

	seen.size = seen.size ? 2 * seen.size : 1U << 14;
	seen.states = realloc(seen.states, seen.size / 2 * sizeof(*seen.states));
	free(seen.table);
	seen.table = calloc(seen.size, sizeof(*seen.table));
	if (!seen.states || !seen.table)
		abort();
	for (i = 0; i < seen.count; i++)
		seen_place((uint32_t)i + 1);
}

/* Return: whether @s is new. */
static bool seen_add(const struct state *s)
{
	uint64_t i;

	if (2 * (seen.count + 1) > seen.size)
		seen_grow();
	for (i = hash(s) & (seen.size - 1); seen.table[i]; i = (i + 1) & (seen.size - 1))
		if (!memcmp(&seen.states[seen.table[i] - 1], s, sizeof(*s)))
			return false;
	seen.states[seen.count++] = *s;
	seen.table[i] = (uint32_t)seen.count;
	return true;
}

static void seen_forget(void)
{
	seen.count = 0;
	if (seen.table)
		memset(seen.table, 0, seen.size * sizeof(*seen.table));
}

/* --- steps; each returns whether it was possible --- */

/* Is all done that was posted to the number of the current epoch? */
static bool number_is_done(const struct world *w, const struct state *s)
{
	uint32_t i;

	for (i = 0; i < s->next; i++)
		if (number_of(w, i) == gda_epoch_number(s->send.epoch) && !(s->write[i] & DONE))
			return false;
	return true;
}

/* The note of a long signal lies at the receiver once its write has arrived. */
static void land(const struct world *w, struct state *s, uint32_t i)
{
	uint32_t epoch = signals_before(w, i), k;
	uint64_t writes = 1;

	if (w->scheme == BARE || !is_signal(w, i) ||
	    !(s->imms[signals_before(w, i)] & GDA_EPOCH_LONG))
		return;
	for (k = i; k-- && !is_signal(w, k);)
		writes++;
	s->notes[epoch % w->room] = (struct gda_epoch_note){ add_of(epoch), writes, epoch };
}

static bool post(const struct world *w, struct state *s)
{
	struct gda_epoch_note note;
	uint32_t i = s->next;

	if (i == w->writes)
		return false;
	if (w->scheme != BARE && s->send.pending) {
		if (w->scheme == EPOCHS && !number_is_done(w, s))
			return false;
		gda_epoch_open(&s->send);
	}
	if (is_signal(w, i) && !gda_epoch_has_room(&s->send, w->room)) {
		s->send.delivered = s->recv.epoch;
		if (!gda_epoch_has_room(&s->send, w->room))
			return false;
	}
	if (is_signal(w, i) && w->scheme == BARE) {
		s->imms[signals_before(w, i)] = i + 1;
	} else if (is_signal(w, i)) {
		s->imms[signals_before(w, i)] = gda_epoch_imm(&s->send, (uint32_t)s->send.epoch,
					   add_of((uint32_t)s->send.epoch), &note);
	}
	if (w->scheme != BARE)
		gda_epoch_wrote(&s->send);
	if (is_signal(w, i) && w->scheme != BARE)
		gda_epoch_close(&s->send);
	s->write[i] = POSTED;
	s->next++;
	return true;
}

static bool tick(const struct world *w, struct state *s, uint32_t i)
{
	if (!(s->write[i] & POSTED) || s->write[i] & TICKED)
		return false;
	land(w, s, i);
	s->arrived[number_of(w, i)]++;
	s->write[i] |= TICKED;
	return true;
}

static bool tell(struct world *w, struct state *s, uint32_t i)
{
	if (!is_signal(w, i) || !(s->write[i] & POSTED) || s->write[i] & TOLD)
		return false;
	land(w, s, i);
	if (s->told == w->room)
		snprintf(w->wrong, sizeof(w->wrong), "the ring is full");
	s->ring[s->told++ % ROOM] = (uint8_t)i;
	s->write[i] |= TOLD;
	return true;
}

static bool done(const struct world *w, struct state *s, uint32_t i)
{
	uint8_t all = POSTED | TICKED | (is_signal(w, i) ? TOLD : 0);

	if (s->write[i] != all)
		return false;
	s->write[i] |= DONE;
	return true;
}

/* --- the receiver, and what it may not do --- */

/* A signal was delivered as the next one: have all writes up to it arrived? */
static void check_delivered(struct world *w, struct state *s, const struct gda_epoch_note *note)
{
	uint32_t epoch = s->delivered++, i;

	if (note && (note->signal != epoch || note->add != add_of(epoch)))
		snprintf(w->wrong, sizeof(w->wrong), "signal %u is another one", epoch);
	for (i = 0; i < w->writes && signals_before(w, i) <= epoch; i++)
		if (!(s->write[i] & TICKED))
			snprintf(w->wrong, sizeof(w->wrong),
				 "signal %u is early: write %u has not arrived", epoch, i);
}

static bool deliver(struct world *w, struct state *s)
{
	struct gda_epoch_note note;

	if (w->scheme == BARE) {
		if (!s->recv.closed[0] || s->arrived[0] < s->recv.closing[0])
			return false;
		s->recv.closed[0] = 0;
		check_delivered(w, s, NULL);
		return true;
	}
	if (!gda_epoch_deliver(&s->recv, s->arrived[gda_epoch_number(s->recv.epoch)], s->notes,
			       w->room, &note))
		return false;
	check_delivered(w, s, &note);
	return true;
}

static bool take(struct world *w, struct state *s)
{
	uint32_t imm;

	if (!s->told || (w->scheme == BARE && s->recv.closed[0]))
		return false;
	imm = s->imms[signals_before(w, s->ring[0])];
	memmove(s->ring, s->ring + 1, --s->told);
	s->ring[s->told] = 0;
	if (w->scheme == BARE) {
		s->recv.closing[0] = imm;
		s->recv.closed[0] = 1;
	} else if (gda_epoch_closed(&s->recv, imm)) {
		snprintf(w->wrong, sizeof(w->wrong), "an epoch was closed twice");
	}
	return true;
}

/* Deliver all that is ready, then take an immediate, and so on. */
static bool receive(struct world *w, struct state *s)
{
	if (!s->pops) {
		if (deliver(w, s))
			return true;
		/* the same as no step, if there is nothing to take */
		s->pops = 1;
		return s->told > 0;
	}
	s->pops = 0;
	return take(w, s);
}

/* --- the search --- */

/* Nothing can happen any more: was all posted and delivered? */
static void check_end(struct world *w, const struct state *s)
{
	if (s->next != w->writes || s->delivered != signals_before(w, w->writes))
		snprintf(w->wrong, sizeof(w->wrong), "%u of %u signals were delivered",
			 s->delivered, signals_before(w, w->writes));
}

/* Take event @event; return whether that was possible. */
static bool happen(struct world *w, struct state *s, uint32_t event)
{
	if (event == 0)
		return post(w, s);
	if (event == 1)
		return receive(w, s);
	event -= 2;
	switch (event % 3) {
	case 0:
		return tick(w, s, event / 3);
	case 1:
		return tell(w, s, event / 3);
	default:
		return done(w, s, event / 3);
	}
}

static void say(struct world *w, size_t at, uint32_t event)
{
	static const char *const names[] = { "count", "imm", "done" };

	if (event < 2)
		snprintf(w->trace + at, sizeof(w->trace) - at, "%s ", event ? "receive" : "post");
	else
		snprintf(w->trace + at, sizeof(w->trace) - at, "%s%u ", names[(event - 2) % 3],
			 (event - 2) / 3);
}

/* Return: whether all sequences from @s on are as they should be. */
static bool search(struct world *w, const struct state *s)
{
	size_t at = strlen(w->trace);
	bool end = true;
	uint32_t event;

	if (!seen_add(s))
		return true;
	for (event = 0; event < 2 + 3 * w->writes; event++) {
		struct state next = *s;

		if (!happen(w, &next, event))
			continue;
		end = false;
		say(w, at, event);
		if (w->wrong[0] || !search(w, &next))
			return false;
		w->trace[at] = 0;
	}
	if (end)
		check_end(w, s);
	return !w->wrong[0];
}

/* Return: how many states there are, or 0: @w says what is wrong. */
static uint64_t explore(struct world *w)
{
	struct state s;
	uint32_t i;

	memset(&s, 0, sizeof(s));
	w->writes = (uint32_t)strlen(w->program);
	for (i = 0; i < w->writes; i++)
		w->epoch[i + 1] = w->epoch[i] + is_signal(w, i);
	w->wrong[0] = 0;
	w->trace[0] = 0;
	seen_forget();
	return search(w, &s) ? seen.count : 0;
}

/* All programs of @epochs epochs, each of at most @puts puts and its signal. */
static int all_programs(enum scheme scheme, uint32_t room, uint32_t epochs, uint32_t puts)
{
	uint32_t total = 1, i, k, p;
	uint64_t states = 0, some;

	for (i = 0; i < epochs; i++)
		total *= puts + 1;
	for (i = 0; i < total; i++) {
		char program[MOST + 1] = "";
		struct world w = { .scheme = scheme, .room = room, .program = program };

		for (k = 0, p = i; k < epochs; k++, p /= puts + 1) {
			strcat(program, &"PPPS"[3 - p % (puts + 1)]);
		}
		some = explore(&w);
		states += some;
		if (!some) {
			printf("# %s: %s: %s\n", program, w.wrong, w.trace);
			return 1;
		}
	}
	printf("# %u programs, %llu states\n", total, (unsigned long long)states);
	return 0;
}

/* Return: 0 if the search finds that @program is wrong with @scheme. */
static int finds(enum scheme scheme, const char *program)
{
	struct world w = { .scheme = scheme, .room = ROOM, .program = program };
	uint64_t states = explore(&w);

	if (!states)
		printf("# %s: %s: %s\n", program, w.wrong, w.trace);
	return states != 0;
}

/* What an immediate says, at the ends of its fields. */
static int split(void)
{
	static const struct {
		uint64_t writes, add;
		uint32_t signal;
		bool is_long;
	} cases[] = {
		{ 1, 1, 0, false },
		{ GDA_EPOCH_COUNT, 1, GDA_EPOCH_SIGNALS - 1, false },
		{ GDA_EPOCH_COUNT + 1ULL, 1, 0, true },
		{ 1ULL << 40, 1, 3, true },
		{ 1, 2, 0, true },
		{ 1, UINT64_MAX, 0, true },
		{ 1, 0, 0, true },
		{ 1, 1, GDA_EPOCH_SIGNALS, true },
	};
	uint32_t i, epoch;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (epoch = 0; epoch < 5; epoch++) {
			struct gda_epoch_sender s = {
				.epoch = epoch, .writes = cases[i].writes - 1,
			};
			struct gda_epoch_receiver r = { .epoch = epoch };
			struct gda_epoch_note notes[ROOM] = { { 0 } }, note;
			uint32_t imm = gda_epoch_imm(&s, cases[i].signal, cases[i].add, &note);

			if (!!(imm & GDA_EPOCH_LONG) != cases[i].is_long)
				return 1;
			notes[epoch % ROOM] = note;
			r.arrived[epoch % 2] = UINT64_MAX - 3;
			if (gda_epoch_closed(&r, imm) || !gda_epoch_closed(&r, imm))
				return 1;
			if (gda_epoch_deliver(&r, UINT64_MAX - 3 + cases[i].writes - 1, notes, ROOM,
					      &note) ||
			    !gda_epoch_deliver(&r, UINT64_MAX - 3 + cases[i].writes, notes, ROOM,
					       &note))
				return 1;
			if (note.add != cases[i].add || note.writes != cases[i].writes ||
			    note.signal != cases[i].signal || r.epoch != epoch + 1)
				return 1;
		}
	}
	return 0;
}

static int number;

static int row(int wrong, const char *name)
{
	printf("%sok %d %s\n", wrong ? "not " : "", ++number, name);
	return wrong;
}

int main(void)
{
	/* of 3 puts they take ten seconds */
	uint32_t most = test_times() > 1 ? 3 : 2;
	int rc = 0;

	printf("TAP version 13\n1..8\n");
	rc |= row(split(), "G_04_immediate_at_the_ends_of_its_fields");
	rc |= row(all_programs(EPOCHS, ROOM, 2, 3), "G_04_two_epochs_of_3_puts_in_every_order");
	rc |= row(all_programs(EPOCHS, ROOM, 3, most), "G_04_three_epochs_in_every_order");
	rc |= row(all_programs(EPOCHS, ROOM, 4, 1), "G_04_four_epochs_of_1_put_in_every_order");
	rc |= row(all_programs(EPOCHS, 2, 5, 1), "G_04_five_epochs_and_room_for_two");
	rc |= row(all_programs(EPOCHS, 1, 4, 1), "G_04_four_epochs_and_room_for_one");
	rc |= row(finds(BARE, "PSP"), "G_04_a_bare_count_is_early");
	rc |= row(finds(EARLY, "PSSP"), "G_04_an_epoch_begun_too_soon_is_early");
	return rc;
}

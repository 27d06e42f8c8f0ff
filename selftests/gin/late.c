// SPDX-License-Identifier: MIT
/* See late.h. Keys are not looked at, and every address is one of this process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "late.h"

static void *late_alloc(size_t n, size_t bytes)
{
	void *p = calloc(n + 1, bytes);

	if (!p) {
		perror("late: memory");
		exit(1);
	}
	return p;
}

struct gda_gin *late_gin(struct late *l, uint32_t context, uint32_t rank)
{
	return &l->gins[context * l->attr.nranks + rank];
}

static uint32_t late_at(const struct late *l, uint32_t context, uint32_t endpoint, uint32_t rank,
			uint32_t peer)
{
	uint32_t n = l->attr.nranks;

	return ((context * n + rank) * l->endpoints + endpoint) * n + peer;
}

struct late_queue *late_queue(struct late *l, uint32_t context, uint32_t endpoint, uint32_t rank,
			      uint32_t peer)
{
	return &l->queues[late_at(l, context, endpoint, rank, peer)];
}

/* The words of a rank's signals in a context. */
static uint64_t *late_words(struct late *l, uint32_t context, uint32_t rank)
{
	return l->words + (size_t)(context * l->attr.nranks + rank) * l->slots;
}

static void late_queue_create(struct late *l, uint32_t context, uint32_t endpoint, uint32_t rank,
			      uint32_t peer)
{
	struct late_queue *q = late_queue(l, context, endpoint, rank, peer);
	struct gda_gin_queue *g = &l->gin_queues[late_at(l, context, endpoint, rank, peer)];

	*q = (struct late_queue){
		.fake = fake_queue_new(l->attr.depth), .context = context,
		.endpoint = endpoint, .rank = rank, .peer = peer,
	};
	g->view = (uintptr_t)&q->fake->view;
	if (l->attr.counters)
		g->tags = (uintptr_t)late_alloc(l->attr.depth, sizeof(uint64_t));
	g->signals = (uintptr_t)late_words(l, context, peer);
	g->fetched = (uintptr_t)&g->reserved[0];
}

static void late_gin_create(struct late *l, uint32_t context, uint32_t rank)
{
	struct gda_gin *gin = late_gin(l, context, rank);
	uint64_t *tables = late_alloc(3 * (size_t)l->slots + l->attr.counters, sizeof(uint64_t));
	uint32_t i;

	*gin = (struct gda_gin){
		.size = sizeof(*gin), .version = GDA_GIN_VERSION, .rank = rank,
		.nranks = l->attr.nranks, .index = context,
		.flags = l->attr.arrival ? GDA_GIN_ARRIVAL : 0, .signals = l->attr.signals,
		.counters = l->attr.counters, .barriers = l->attr.barriers,
		.endpoints = l->endpoints, .timeout_ns = 20000000000U,
	};
	gin->queues = (uintptr_t)&l->gin_queues[late_at(l, context, 0, rank, 0)];
	gin->words = (uintptr_t)tables;
	gin->resets = (uintptr_t)(tables + l->slots);
	gin->shadows = (uintptr_t)(tables + 2 * (size_t)l->slots);
	gin->counts = (uintptr_t)(tables + 3 * (size_t)l->slots);
	gin->lost = (uintptr_t)late_alloc(l->attr.nranks, sizeof(uint32_t));
	gin->abort = (uintptr_t)&gin->abort_word;
	for (i = 0; i < l->slots; i++)
		tables[i] = (uintptr_t)(late_words(l, context, rank) + i);
}

static void late_window_create(struct late *l, uint32_t rank)
{
	l->parts[rank].iova = (uintptr_t)(l->memory + rank * l->attr.bytes);
	l->windows[rank] = (struct gda_window){
		.size = sizeof(struct gda_window), .version = GDA_GIN_VERSION,
		.flags = GDA_WINDOW_STRICT, .pieces = 1, .bytes = l->attr.bytes,
		.iova = l->parts[rank].iova, .rank = rank, .parts = (uintptr_t)l->parts,
	};
}

void late_create(struct late *l, const struct late_attr *attr)
{
	uint32_t n = attr->nranks, c, e, r, p;

	memset(l, 0, sizeof(*l));
	l->attr = *attr;
	l->endpoints = attr->arrival ? 1 + attr->signals + attr->barriers : 1;
	l->slots = attr->signals + attr->barriers * n;
	l->nqueues = attr->contexts * n * l->endpoints * n;
	l->gins = late_alloc((size_t)attr->contexts * n, sizeof(*l->gins));
	l->queues = late_alloc(l->nqueues, sizeof(*l->queues));
	l->gin_queues = late_alloc(l->nqueues, sizeof(*l->gin_queues));
	l->words = late_alloc((size_t)attr->contexts * n * l->slots, sizeof(uint64_t));
	l->memory = late_alloc(n, attr->bytes);
	for (r = 0; r < n; r++)
		late_window_create(l, r);
	for (c = 0; c < attr->contexts; c++) {
		for (r = 0; r < n; r++) {
			for (e = 0; e < l->endpoints; e++)
				for (p = 0; p < n; p++)
					late_queue_create(l, c, e, r, p);
			late_gin_create(l, c, r);
		}
	}
	late_seed(l, 1, false);
}

void late_destroy(struct late *l)
{
	uint32_t i;

	for (i = 0; i < l->nqueues; i++) {
		free((void *)(uintptr_t)l->gin_queues[i].tags);
		fake_queue_free(l->queues[i].fake);
	}
	for (i = 0; i < l->attr.contexts * l->attr.nranks; i++) {
		free((void *)(uintptr_t)l->gins[i].words);
		free((void *)(uintptr_t)l->gins[i].lost);
	}
	free(l->gins);
	free(l->queues);
	free(l->gin_queues);
	free(l->words);
	free(l->memory);
}

void late_seed(struct late *l, uint64_t seed, bool loose)
{
	l->seed = seed * 0x632be59bd9b4e019U;
	l->loose = loose;
}

uint32_t late_random(struct late *l, uint32_t below)
{
	uint64_t x;

	l->seed += 0x9e3779b97f4a7c15U;
	x = (l->seed ^ l->seed >> 30) * 0xbf58476d1ce4e5b9U;
	x = (x ^ x >> 27) * 0x94d049bb133111ebU;
	return (uint32_t)((x >> 32) % below);
}

/* The word that the peer's device counts arrivals of this queue in, or NULL. */
static uint64_t *late_arrivals(struct late *l, const struct late_queue *q)
{
	uint64_t *words = late_words(l, q->context, q->peer);
	uint32_t at = q->endpoint - 1;

	if (!q->endpoint)
		return NULL;
	if (at < l->attr.signals)
		return words + at;
	at -= l->attr.signals;
	return words + l->attr.signals + at * l->attr.nranks + q->rank;
}

static void *late_pointer(__be64 addr)
{
	return (void *)(uintptr_t)gda_be64_to_cpu(addr);
}

/* Carry out an entry of one slot. */
static void late_carry(struct late *l, const struct late_queue *q, const uint8_t *entry)
{
	struct gda_mlx5_ctrl ctrl;
	struct gda_mlx5_raddr to;
	struct gda_mlx5_data data;
	struct gda_mlx5_atomic atomic;
	uint64_t *arrivals = late_arrivals(l, q), old;
	uint32_t opcode, bytes;

	memcpy(&ctrl, entry, sizeof(ctrl));
	memcpy(&to, entry + 16, sizeof(to));
	memcpy(&data, entry + 32, sizeof(data));
	opcode = gda_be32_to_cpu(ctrl.opmod_idx_opcode) & 0xff;
	bytes = gda_be32_to_cpu(data.byte_count);
	if (opcode == GDA_MLX5_WRITE) {
		if (bytes & GDA_MLX5_INLINE)
			memcpy(late_pointer(to.raddr), entry + 36, bytes & ~GDA_MLX5_INLINE);
		else if (bytes)
			memcpy(late_pointer(to.raddr), late_pointer(data.addr), bytes);
		*(arrivals ? arrivals : &old) += 1;
	} else if (opcode == GDA_MLX5_READ) {
		memcpy(late_pointer(data.addr), late_pointer(to.raddr), bytes);
	} else if (opcode == GDA_MLX5_ATOMIC_FA) {
		memcpy(&atomic, entry + 32, sizeof(atomic));
		memcpy(&data, entry + 48, sizeof(data));
		memcpy(&old, late_pointer(to.raddr), sizeof(old));
		memcpy(late_pointer(data.addr), &old, sizeof(old));
		old += gda_be64_to_cpu(atomic.swap_add);
		memcpy(late_pointer(to.raddr), &old, sizeof(old));
	} else if (opcode != GDA_MLX5_NOP) {
		fprintf(stderr, "late: opcode %#x\n", opcode);
		abort();
	}
}

/* How many entries are rung and not carried out, with those that were out of order. */
static uint32_t late_open(const struct late_queue *q)
{
	return (uint16_t)(fake_rung(q->fake) - (uint32_t)q->done);
}

static void late_carry_one(struct late *l, struct late_queue *q, uint32_t open)
{
	uint32_t at = 0;

	if (l->loose) {
		at = late_random(l, open < 64 ? open : 64);
		while (q->ahead >> at & 1)
			at = at ? at - 1 : 63;
		if (at >= open)
			at = (uint32_t)__builtin_ctzll(~q->ahead);
	}
	late_carry(l, q, fake_entry(q->fake, q->done + at));
	q->count++;
	q->ahead |= 1ULL << at;
	for (; q->ahead & 1; q->ahead >>= 1)
		q->done++;
}

static bool late_report(struct late_queue *q)
{
	if (q->reported == q->done)
		return false;
	q->reported = q->done;
	fake_complete(q->fake, q->done);
	return true;
}

bool late_step(struct late *l)
{
	uint32_t first = late_random(l, l->nqueues), i;

	for (i = 0; i < l->nqueues; i++) {
		struct late_queue *q = &l->queues[(first + i) % l->nqueues];
		uint32_t open = late_open(q);

		if (open && late_random(l, 4)) {
			late_carry_one(l, q, open);
			return true;
		}
		if (!late_random(l, 4) && late_report(q))
			return true;
	}
	/* none was chosen: what is left? */
	for (i = 0; i < l->nqueues; i++)
		if (late_open(&l->queues[i]) || late_report(&l->queues[i]))
			return true;
	return false;
}

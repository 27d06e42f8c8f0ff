// SPDX-License-Identifier: MIT
/*
 * Reductions. The result is the same at each PE, bit for bit, and source and dest may be
 * one array.
 *
 * Many elements are divided among the PEs. Each PE reduces its share, reading it from all members
 * in the same order, and puts the result to all of them. Only that PE reads the share, and it does
 * so before it writes.
 *
 * Few elements, in a team: in round k a PE exchanges its partial result with the PE whose index
 * differs in bit k, and both combine the two in the same order. PEs beyond the largest power of two
 * send theirs to a PE below it, and receive the result from there. A slot is rewritten two
 * reductions later: by then its owner has taken part in the reduction in between, and so has read
 * the slot.
 */
#include <string.h>
#include "define.h"
#include "reach.h"

#define CHUNK_BYTES	8192U	/* on the stack; a multiple of each element's size */

/* The state of a small reduction. */
struct exchange {
	const char *call;
	const struct gda_osh_team *team;
	uint64_t epoch;
	size_t bytes;
};

/* @number: the team's number at the PE that has the slot */
static struct gda_osh_slot *slot_of(const struct exchange *x, int number, int round)
{
	return &gda_osh.control->slots[number][x->epoch & 1][round];
}

static void give(const struct exchange *x, int round, const void *data, int index)
{
	struct gda_osh_slot *slot = slot_of(x, x->team->numbers[index], round);
	int pe = x->team->start + index * x->team->stride;

	gda_osh_put(x->call, slot->data, data, x->bytes, pe);
	gda_osh_set(x->call, &slot->epoch, x->epoch, pe);
}

static void take(const struct exchange *x, int round, void *data)
{
	struct gda_osh_slot *slot = slot_of(x, x->team->number, round);

	gda_osh_wait_least(x->call, &slot->epoch, x->epoch);
	memcpy(data, slot->data, x->bytes);
}

static void reduce_few(const char *call, struct gda_osh_team *team,
		       const struct gda_osh_reduction *what)
{
	const struct exchange x = {
		.call = call, .team = team, .bytes = what->count * what->bytes,
		.epoch = ++gda_osh.control->sync[team->number].reductions,
	};
	_Alignas(16) char low[GDA_OSH_SLOT_BYTES], high[GDA_OSH_SLOT_BYTES];
	char *sum = low, *other = high, *lower;
	int power = 1 << (31 - __builtin_clz((unsigned int)team->size));
	int round, peer;

	memcpy(sum, what->source, x.bytes);
	if (team->me >= power) {
		give(&x, GDA_OSH_ROUNDS, sum, team->me - power);
		take(&x, GDA_OSH_ROUNDS, what->dest);
		return;
	}
	if (team->me + power < team->size) {
		take(&x, GDA_OSH_ROUNDS, other);
		what->combine(sum, other, what->count);
	}
	for (round = 0; 1 << round < power; round++) {
		peer = team->me ^ 1 << round;
		give(&x, round, sum, peer);
		take(&x, round, other);
		if (peer < team->me) {
			lower = other;
			other = sum;
			sum = lower;
		}
		what->combine(sum, other, what->count);
	}
	if (team->me + power < team->size)
		give(&x, GDA_OSH_ROUNDS, sum, team->me + power);
	memcpy(what->dest, sum, x.bytes);
}

static void combine_from(const char *call, const struct gda_osh_reduction *what, char *sum,
			 const char *source, size_t count, int pe)
{
	_Alignas(64) char theirs[CHUNK_BYTES];
	size_t bytes = count * what->bytes;
	const char *at = gda_osh_mapped(call, source, bytes, pe);

	if (!at) {
		gda_osh_queue_get(call, theirs, source, bytes, pe);
		at = theirs;
	}
	what->combine(sum, at, count);
}

static void reduce_chunk(const char *call, const struct gda_osh_group *g,
			 const struct gda_osh_reduction *what, size_t first, size_t count)
{
	_Alignas(64) char sum[CHUNK_BYTES];
	const char *source = (const char *)what->source + first * what->bytes;
	char *dest = (char *)what->dest + first * what->bytes;
	size_t bytes = count * what->bytes;
	int i;

	gda_osh_get(call, sum, source, bytes, gda_osh_group_pe(g, 0));
	for (i = 1; i < g->size; i++)
		combine_from(call, what, sum, source, count, gda_osh_group_pe(g, i));
	for (i = 0; i < g->size; i++)
		gda_osh_put(call, dest, sum, bytes, gda_osh_group_pe(g, i));
}

static void reduce_many(const char *call, const struct gda_osh_group *g,
			const struct gda_osh_reduction *what)
{
	size_t size = (size_t)g->size, me = (size_t)g->me, most = CHUNK_BYTES / what->bytes;
	size_t each = what->count / size, more = what->count % size;
	size_t first = me * each + (me < more ? me : more);
	size_t end = first + each + (me < more), n;

	if (gda_osh_bytes(what->count, what->bytes) == SIZE_MAX)
		gda_osh_bad(call, what->dest, SIZE_MAX, gda_osh_group_pe(g, g->me));
	gda_osh_group_sync(call, g);
	for (; first < end; first += n) {
		n = end - first < most ? end - first : most;
		reduce_chunk(call, g, what, first, n);
	}
	gda_osh_quiet(call);
	gda_osh_group_sync(call, g);
}

void gda_osh_reduce(const char *call, const struct gda_osh_group *g,
		    const struct gda_osh_reduction *what)
{
	if (g->team && what->count <= GDA_OSH_SLOT_BYTES / what->bytes)
		reduce_few(call, g->team, what);
	else
		reduce_many(call, g, what);
}

#define GDA_OSH_OP_and(a, b)	((a) & (b))
#define GDA_OSH_OP_or(a, b)	((a) | (b))
#define GDA_OSH_OP_xor(a, b)	((a) ^ (b))
#define GDA_OSH_OP_max(a, b)	((a) < (b) ? (b) : (a))
#define GDA_OSH_OP_min(a, b)	((b) < (a) ? (b) : (a))
#define GDA_OSH_OP_sum(a, b)	((a) + (b))
#define GDA_OSH_OP_prod(a, b)	((a) * (b))
#define GDA_OSH_OP_and_reduce	GDA_OSH_OP_and
#define GDA_OSH_OP_or_reduce	GDA_OSH_OP_or
#define GDA_OSH_OP_xor_reduce	GDA_OSH_OP_xor
#define GDA_OSH_OP_max_reduce	GDA_OSH_OP_max
#define GDA_OSH_OP_min_reduce	GDA_OSH_OP_min
#define GDA_OSH_OP_sum_reduce	GDA_OSH_OP_sum
#define GDA_OSH_OP_prod_reduce	GDA_OSH_OP_prod
#define GDA_OSH_OP_and_to_all	GDA_OSH_OP_and
#define GDA_OSH_OP_or_to_all	GDA_OSH_OP_or
#define GDA_OSH_OP_xor_to_all	GDA_OSH_OP_xor
#define GDA_OSH_OP_max_to_all	GDA_OSH_OP_max
#define GDA_OSH_OP_min_to_all	GDA_OSH_OP_min
#define GDA_OSH_OP_sum_to_all	GDA_OSH_OP_sum
#define GDA_OSH_OP_prod_to_all	GDA_OSH_OP_prod

#define GDA_OSH_COMBINE(ret, name, op, T, P, A) \
	__attribute__((no_sanitize("undefined"))) \
	static void combine_##name(void *into, const void *from, size_t count) \
	{ \
		T *a = into; \
		const T *b = from; \
		size_t i; \
		\
		for (i = 0; i < count; i++) \
			a[i] = (T)GDA_OSH_OP_##op(a[i], b[i]); \
	}

#define GDA_OSH_REDUCTION(name, T) \
	{ .dest = dest, .source = source, .count = (size_t)nreduce, .bytes = sizeof(T), \
	  .combine = combine_##name, }

#define GDA_OSH_DEFINE_REDUCE(ret, name, op, T, P, A) \
	GDA_OSH_COMBINE(ret, name, op, T, P, A) \
	GDA_OSH_PUBLIC ret pshmem_##name P \
	{ \
		const struct gda_osh_reduction what = GDA_OSH_REDUCTION(name, T); \
		const struct gda_osh_group g = gda_osh_group_of_team(GDA_OSH_CALL_NAME, team); \
		\
		gda_osh_reduce(GDA_OSH_CALL_NAME, &g, &what); \
		return 0; \
	} \
	GDA_OSH_WEAK(name)

GDA_OSH_REDUCE(GDA_OSH_DEFINE_REDUCE)

/* For an active set; pWrk is not needed. */
#define GDA_OSH_DEFINE_TO_ALL(ret, name, op, T, P, A) \
	GDA_OSH_COMBINE(ret, name, op, T, P, A) \
	GDA_OSH_PUBLIC ret pshmem_##name P \
	{ \
		const struct gda_osh_reduction what = GDA_OSH_REDUCTION(name, T); \
		const struct gda_osh_group g = gda_osh_group_of_set(GDA_OSH_CALL_NAME, PE_start, \
								    logPE_stride, PE_size, pSync); \
		\
		(void)pWrk; \
		gda_osh_reduce(GDA_OSH_CALL_NAME, &g, &what); \
	} \
	GDA_OSH_WEAK(name)

GDA_OSH_TO_ALL(GDA_OSH_DEFINE_TO_ALL)

// SPDX-License-Identifier: MIT
/*
 * Reductions. The elements are dealt out: each PE reduces its share of them, reading it
 * from all members in the same order, and puts the result to all. So the result is the
 * same at each PE, bit for bit, and source and dest may be one array: a share is read by
 * one PE only, and before it writes it.
 */
#include <string.h>
#include "define.h"
#include "way.h"

#define CHUNK_BYTES	8192U	/* on the stack; a multiple of each element's size */

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
		what->combine(sum, gda_osh_at(call, source, bytes, gda_osh_group_pe(g, i)), count);
	for (i = 0; i < g->size; i++)
		gda_osh_put(call, dest, sum, bytes, gda_osh_group_pe(g, i));
}

void gda_osh_reduce(const char *call, const struct gda_osh_group *g,
		    const struct gda_osh_reduction *what)
{
	size_t size = (size_t)g->size, me = (size_t)g->me, most = CHUNK_BYTES / what->bytes;
	size_t each = what->count / size, more = what->count % size;
	size_t first = me * each + (me < more ? me : more);
	size_t end = first + each + (me < more), n;

	gda_osh_group_sync(call, g);
	for (; first < end; first += n) {
		n = end - first < most ? end - first : most;
		reduce_chunk(call, g, what, first, n);
	}
	gda_osh_quiet();
	gda_osh_group_sync(call, g);
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

/* Of an active set; pWrk is not needed. */
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

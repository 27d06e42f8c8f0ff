// SPDX-License-Identifier: MIT
/*
 * Each collective, of the world, of all PEs in the opposite order, and of all but PE 0;
 * and of the active sets that are the first and the last of these.
 */
#include "every.h"

/* PEs that take part, in order: first, first + step, ... */
struct members {
	shmem_team_t team;
	int first;
	int step;
	int size;
	int index;		/* of this PE; -1: it is none of them */
};

enum { WORLD, REVERSED, LATER, TEAMS };

static struct members teams[TEAMS];
static long psync[SHMEM_SYNC_SIZE];

static void teams_create(void)
{
	teams[WORLD] = (struct members) { SHMEM_TEAM_WORLD, 0, 1, npes, me };
	teams[REVERSED] = (struct members) {
		.first = npes - 1, .step = -1, .size = npes, .index = npes - 1 - me,
	};
	teams[LATER] = (struct members) {
		.first = npes > 1, .step = 1, .size = npes - (npes > 1), .index = me - (npes > 1),
	};
	shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0,
				 &teams[REVERSED].team);
	shmem_team_split_strided(SHMEM_TEAM_WORLD, teams[LATER].first, 1, teams[LATER].size, NULL,
				 0, &teams[LATER].team);
}

static void teams_destroy(void)
{
	shmem_team_destroy(teams[REVERSED].team);
	shmem_team_destroy(teams[LATER].team);
}

static int pe_of(const struct members *m, int index)
{
	return m->first + index * m->step;
}

#define EVERY_BEGIN(T, give, take) \
	char *dst = every_memory(0), *src = every_memory(1); \
	const size_t given = (give) * sizeof(T), taken = (take) * sizeof(T); \
	every_fill(src, given, me); \
	memset(dst, 0, taken + sizeof(T)); \
	shmem_barrier_all()
#define EVERY_END \
	EXPECT(every_zero(psync, sizeof(psync))); \
	shmem_barrier_all()

/* In a team the root's own destination is written, too; in an active set it is not. */
#define EVERY_BROADCAST(T, call, own) \
	EVERY_BEGIN(T, EVERY_N, EVERY_N); \
	if (m->index >= 0) \
		call; \
	if (m->index >= 0 && ((own) || m->index != m->size - 1)) \
		EXPECT(every_is(dst, taken, pe_of(m, m->size - 1))); \
	else \
		EXPECT(every_zero(dst, taken)); \
	EXPECT(every_zero(dst + taken, sizeof(T))); \
	(void)given; \
	EVERY_END

/* Each gives one element more than the one before. */
static bool collected_is(const char *dst, const struct members *m, size_t size)
{
	int i;

	for (i = 0; i < m->size; i++) {
		if (!every_is(dst, (size_t)(i + 1) * size, pe_of(m, i)))
			return false;
		dst += (size_t)(i + 1) * size;
	}
	return every_zero(dst, size);
}

#define EVERY_COLLECT(T, call) \
	const int all = m->size * (m->size + 1) / 2; \
	EVERY_BEGIN(T, (size_t)m->index + 1, (size_t)all); \
	if (m->index >= 0) { \
		call; \
		EXPECT(collected_is(dst, m, sizeof(T))); \
	} \
	(void)given; \
	EVERY_END
#define EVERY_FCOLLECT(T, call) \
	int i; \
	EVERY_BEGIN(T, EVERY_N, EVERY_N * (size_t)m->size); \
	if (m->index >= 0) { \
		call; \
		for (i = 0; i < m->size; i++) \
			EXPECT(every_is(dst + (size_t)i * given, given, pe_of(m, i))); \
		EXPECT(every_zero(dst + taken, sizeof(T))); \
	} \
	EVERY_END

/* Element k of block @to, from an array in which elements are @stride apart. */
static bool element_is(const char *dst, int pe, size_t k, size_t size)
{
	static char want[EVERY_BYTES];

	every_fill(want, (k + 1) * size, pe);
	return !memcmp(dst, want + k * size, size);
}

#define EVERY_ALLTOALL(T, call, dstride, sstride) \
	const size_t each = EVERY_N * (size_t)m->size; \
	size_t i, k; \
	EVERY_BEGIN(T, each * (sstride), each * (dstride)); \
	if (m->index >= 0) { \
		call; \
		for (i = 0; i < (size_t)m->size; i++) \
			for (k = 0; k < EVERY_N; k++) \
				EXPECT(element_is(dst + (i * EVERY_N + k) * (dstride) * sizeof(T), \
						  pe_of(m, (int)i), \
						  ((size_t)m->index * EVERY_N + k) * (sstride), \
						  sizeof(T))); \
		EXPECT(every_zero(dst + taken, sizeof(T))); \
	} \
	(void)given; \
	EVERY_END

/* If short, of teams that PE 0 is in: it counts what was called. */
#define EVERY_OF_TEAMS(body) \
	const struct members *m; \
	for (m = teams; m < teams + TEAMS; m++) { \
		if (!every_variant((int)(m - teams), LATER)) \
			continue; \
		body; \
	}
#define EVERY_broadcast(T, f) \
	EVERY_OF_TEAMS(EVERY_BROADCAST(T, EXPECT(!f(m->team, (void *)dst, (void *)src, EVERY_N, \
						    m->size - 1)), true))
#define EVERY_collect(T, f) \
	EVERY_OF_TEAMS(EVERY_COLLECT(T, EXPECT(!f(m->team, (void *)dst, (void *)src, \
						  (size_t)m->index + 1))))
#define EVERY_fcollect(T, f) \
	EVERY_OF_TEAMS(EVERY_FCOLLECT(T, EXPECT(!f(m->team, (void *)dst, (void *)src, EVERY_N))))
#define EVERY_alltoall(T, f) \
	EVERY_OF_TEAMS(EVERY_ALLTOALL(T, EXPECT(!f(m->team, (void *)dst, (void *)src, EVERY_N)), \
				      1, 1))
#define EVERY_alltoalls(T, f) \
	EVERY_OF_TEAMS(EVERY_ALLTOALL(T, EXPECT(!f(m->team, (void *)dst, (void *)src, 2, 3, \
						   EVERY_N)), 2, 3))

GDA_OSH_COLL(EVERY)

#define EVERY_OF_SETS(body) \
	const struct members *m; \
	for (m = teams; m < teams + TEAMS; m += LATER) { \
		if (every_short && m != teams) \
			continue; \
		body; \
	}
#define EVERY_SET	m->first, 0, m->size, psync
#define EVERY_broadcast_set(T, f) \
	EVERY_OF_SETS(EVERY_BROADCAST(T, f((void *)dst, (void *)src, EVERY_N, m->size - 1, \
					   EVERY_SET), false))
#define EVERY_collect_set(T, f) \
	EVERY_OF_SETS(EVERY_COLLECT(T, f((void *)dst, (void *)src, (size_t)m->index + 1, \
					 EVERY_SET)))
#define EVERY_fcollect_set(T, f) \
	EVERY_OF_SETS(EVERY_FCOLLECT(T, f((void *)dst, (void *)src, EVERY_N, EVERY_SET)))
#define EVERY_alltoall_set(T, f) \
	EVERY_OF_SETS(EVERY_ALLTOALL(T, f((void *)dst, (void *)src, EVERY_N, EVERY_SET), 1, 1))
#define EVERY_alltoalls_set(T, f) \
	EVERY_OF_SETS(EVERY_ALLTOALL(T, f((void *)dst, (void *)src, 2, 3, EVERY_N, EVERY_SET), \
				     2, 3))

GDA_OSH_ACTIVE(EVERY)

void every_collective(void)
{
	teams_create();
	GDA_OSH_COLL(EVERY_RUN)
	GDA_OSH_ACTIVE(EVERY_RUN)
	shmem_barrier_all();
	teams_destroy();
}

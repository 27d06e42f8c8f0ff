// SPDX-License-Identifier: MIT
/*
 * The calls without types. Each is named in EVERY_CALLED() where it is tried; one of the
 * list that is not is a failure.
 */
#include <stdlib.h>
#include "every.h"

/* Which of the list were called, by each of their two names. */
#define EVERY_FLAG(ret, name, P, A)	static bool called_##name[2];
GDA_OSH_CALLS(EVERY_FLAG)

/* Call it by the name that is tried. */
#define CALL(name, ...) \
	(called_##name[way] = true, way == PROFILED ? pshmem_##name(__VA_ARGS__) : \
						      (shmem_##name)(__VA_ARGS__))

static const char every_name[] = "a call without types";
static long word[SHMEM_SYNC_SIZE];
static volatile long lock;
static int order;

static void try_setup(void)
{
	char name[SHMEM_MAX_NAME_LEN] = "";
	int major = 0, minor = 0, provided = -1;
	long local;

	/* Once more has no effect. */
	CALL(init);
	EXPECT(!CALL(init_thread, SHMEM_THREAD_MULTIPLE, &provided));
	EXPECT(provided == SHMEM_THREAD_SINGLE);
	CALL(query_thread, &provided);
	EXPECT(provided == SHMEM_THREAD_SINGLE);
	EXPECT(CALL(my_pe) == me && CALL(n_pes) == npes);
	CALL(info_get_version, &major, &minor);
	CALL(info_get_name, name);
	EXPECT(major == 1 && minor == 5 && !strcmp(name, SHMEM_VENDOR_STRING));
	EXPECT(CALL(pe_accessible, next) && !CALL(pe_accessible, npes) &&
	       !CALL(pe_accessible, -1));
	EXPECT(CALL(addr_accessible, word, next) && !CALL(addr_accessible, &local, next) &&
	       !CALL(addr_accessible, word, npes));
	EXPECT(CALL(ptr, word, me) == word && !CALL(ptr, &local, me) && !CALL(ptr, word, npes));
}

static void try_memory(void)
{
	char *a, *b, *c;
	int i;

	for (i = 0; i < 2; i++) {
		a = CALL(malloc, 100);
		b = CALL(align, 1UL << 20, 1);
		c = CALL(malloc_with_hints, 10, SHMEM_MALLOC_SIGNAL_REMOTE);
		EXPECT(a && b && c && !((uintptr_t)b % (1UL << 20)));
		memset(a, 1, 100);
		a = CALL(realloc, a, 5000);
		EXPECT(a && a[0] == 1 && a[99] == 1);
		EXPECT(!CALL(malloc, 0) && !CALL(malloc, SIZE_MAX / 2) && !CALL(align, 3, 8) &&
		       !CALL(calloc, SIZE_MAX / 2, 3));
		memset(a, 1, 5000);
		CALL(free, a);
		a = CALL(calloc, 50, 100);
		EXPECT(a && every_zero(a, 5000));
		CALL(barrier_all);
		/* It is at the same offset everywhere. */
		shmem_char_p(&a[me], (char)(me + 1), next);
		CALL(barrier_all);
		EXPECT(a[prev] == prev + 1);
		EXPECT(!CALL(realloc, a, 0));
		CALL(free, b);
		CALL(free, c);
		CALL(free, NULL);
	}
}

static void try_teams(void)
{
	const shmem_team_config_t want = { .num_contexts = 3 };
	shmem_team_config_t config = { 0 };
	shmem_team_t even, x, y, none = SHMEM_TEAM_WORLD;
	int half = (npes + 1) / 2;

	EXPECT(!CALL(team_split_strided, SHMEM_TEAM_WORLD, 0, 2, half, &want,
		     SHMEM_TEAM_NUM_CONTEXTS, &even));
	EXPECT((me % 2) == (even == SHMEM_TEAM_INVALID));
	if (even != SHMEM_TEAM_INVALID) {
		EXPECT(CALL(team_my_pe, even) == me / 2 && CALL(team_n_pes, even) == half);
		EXPECT(!CALL(team_get_config, even, SHMEM_TEAM_NUM_CONTEXTS, &config) &&
		       config.num_contexts == 3);
		EXPECT(CALL(team_translate_pe, even, half - 1, SHMEM_TEAM_WORLD) == 2 * half - 2);
		EXPECT(CALL(team_translate_pe, SHMEM_TEAM_WORLD, 1, even) == -1);
		EXPECT(!CALL(team_sync, even));
		CALL(team_destroy, even);
	}
	EXPECT(CALL(team_split_strided, SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &none) &&
	       none == SHMEM_TEAM_INVALID);
	EXPECT(CALL(team_split_strided, SHMEM_TEAM_WORLD, 0, 1, npes + 1, NULL, 0, &none));
	EXPECT(CALL(team_my_pe, SHMEM_TEAM_INVALID) == -1);
	EXPECT(CALL(team_n_pes, SHMEM_TEAM_INVALID) == -1);
	EXPECT(CALL(team_get_config, SHMEM_TEAM_INVALID, 0, &config));
	EXPECT(!CALL(team_split_2d, SHMEM_TEAM_WORLD, 2, NULL, 0, &x, NULL, 0, &y));
	EXPECT(CALL(team_my_pe, x) == me % 2 && CALL(team_my_pe, y) == me / 2);
	EXPECT(CALL(team_translate_pe, y, 0, SHMEM_TEAM_WORLD) == me % 2);
	CALL(team_destroy, x);
	CALL(team_destroy, y);
}

/* More of them than there may be at a time. */
static void try_many_teams(void)
{
	shmem_team_t teams[100];
	int n, i;

	for (n = 0; n < 100; n++)
		if (CALL(team_split_strided, SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &teams[n]))
			break;
	EXPECT(n >= 32 && n < 100 && teams[n] == SHMEM_TEAM_INVALID);
	for (i = 0; i < n; i++)
		EXPECT(!CALL(team_sync, teams[i]));
	for (i = 0; i < n; i++)
		CALL(team_destroy, teams[i]);
}

static void try_contexts(void)
{
	shmem_team_t reversed, team;
	shmem_ctx_t ctx;

	EXPECT(!CALL(ctx_create, SHMEM_CTX_PRIVATE, &ctx));
	EXPECT(!CALL(ctx_get_team, ctx, &team) && team == SHMEM_TEAM_WORLD);
	CALL(ctx_destroy, ctx);
	EXPECT(!CALL(ctx_get_team, SHMEM_CTX_DEFAULT, &team) && team == SHMEM_TEAM_WORLD);
	EXPECT(CALL(ctx_get_team, SHMEM_CTX_INVALID, &team) && team == SHMEM_TEAM_INVALID);
	EXPECT(CALL(team_create_ctx, SHMEM_TEAM_INVALID, 0, &ctx) && ctx == SHMEM_CTX_INVALID);
	CALL(ctx_destroy, SHMEM_CTX_INVALID);

	/* PEs of a context are those of its team. */
	shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &reversed);
	EXPECT(!CALL(team_create_ctx, reversed, 0, &ctx));
	EXPECT(!CALL(ctx_get_team, ctx, &team) && team == reversed);
	shmem_ctx_long_p(ctx, &word[0], me + 10, npes - 1 - next);
	CALL(ctx_fence, ctx);
	shmem_ctx_long_p(ctx, &word[1], me + 20, npes - 1 - next);
	CALL(ctx_quiet, ctx);
	CALL(fence);
	CALL(quiet);
	CALL(sync_all);
	EXPECT(word[0] == prev + 10 && word[1] == prev + 20);
	CALL(sync_all);
	/* The team takes its contexts with it. */
	shmem_team_destroy(reversed);
	memset(word, 0, sizeof(word));
}

static void try_sync(void)
{
	static uint64_t signal;
	int i;

	CALL(sync_all);
	for (i = 0; i < (every_short ? 5 : 50); i++) {
		shmem_int_p(&order, i, next);
		CALL(barrier, 0, 0, npes, word);
		EXPECT(order == i);
		CALL(sync, 0, 0, npes, word);
	}
	/* Every second PE, where there are so many. */
	if (me % 2 == 0)
		CALL(barrier, 0, 1, (npes + 1) / 2, word);
	EXPECT(every_zero(word, sizeof(word)));
	signal = 0;
	CALL(barrier_all);
	shmem_uint64_atomic_set(&signal, 4, next);
	EXPECT(CALL(signal_wait_until, &signal, SHMEM_CMP_GE, 4) == 4);
	EXPECT(CALL(signal_fetch, &signal) == 4);
	CALL(barrier_all);
}

/* Data that the lock guards is read and written without atomics. */
static void try_locks(void)
{
	static long sum;
	long got;
	int rounds = every_short ? 20 : 200, i;

	sum = 0;
	CALL(barrier_all);
	for (i = 0; i < rounds; i++) {
		if (i % 2)
			CALL(set_lock, &lock);
		else
			while (CALL(test_lock, &lock))
				;
		EXPECT(i % 10 || CALL(test_lock, &lock));
		got = shmem_long_g(&sum, 0);
		shmem_long_p(&sum, got + 1, 0);
		CALL(clear_lock, &lock);
	}
	CALL(barrier_all);
	EXPECT(me || sum == (long)rounds * npes);
	EXPECT(!lock);
}

static void try_old(void)
{
	void *p;

	word[0] = 0;
	CALL(barrier_all);
	shmem_long_p(&word[0], 1, next);
	CALL(wait, &word[0], 0);
	CALL(barrier_all);
	(shmem_wait_until)(&word[0], SHMEM_CMP_EQ, 1);
	word[0] = 0;
	CALL(clear_cache_inv);
	CALL(set_cache_inv);
	CALL(clear_cache_line_inv, word);
	CALL(set_cache_line_inv, word);
	CALL(udcflush);
	CALL(udcflush_line, word);
	start_pes(0);
	EXPECT(_my_pe() == me && _num_pes() == npes);
	p = shrealloc(shmalloc(10), 20);
	EXPECT(p);
	shfree(p);
	p = shmemalign(64, 10);
	EXPECT(p && !((uintptr_t)p % 64));
	shfree(p);
	if (way == PROFILED)
		pshmem_pcontrol(1);
	else
		shmem_pcontrol(1);
}

/* Those that end a program are tried by others (end.c). */
#define EVERY_CALLED(ret, name, P, A) \
	if (strcmp(#name, "finalize") && strcmp(#name, "global_exit")) { \
		if (!called_##name[0] || !called_##name[1]) \
			every_fail(#name, "not called", 0); \
		functions[PLAIN] += called_##name[0]; \
		functions[PROFILED] += called_##name[1]; \
	}

void every_call(void)
{
	for (way = PLAIN; way <= PROFILED; way++) {
		try_setup();
		try_memory();
		try_teams();
		try_many_teams();
		try_contexts();
		try_sync();
		try_locks();
		try_old();
	}
	way = PLAIN;
	GDA_OSH_CALLS(EVERY_CALLED)
	/* shmem_pcontrol(), and shmem_wait_until() of long. */
	functions[PLAIN] += 2;
	functions[PROFILED]++;
}

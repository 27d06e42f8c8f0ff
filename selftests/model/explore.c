// SPDX-License-Identifier: MIT
/*
 * The explorer, see explore.h: depth first, over saved states.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "explore.h"

#define STACK		4096
#define SHARED		16384		/* most of a model's shared bytes */
#define DEFAULT_STATES	200000000U
#define HUGE		(2U << 20)	/* bytes of a huge page */
#define SEEN_FIRST	(HUGE / sizeof(uint64_t))

/* A thread between two steps. Part of the state. */
struct thread {
	void *sp;			/* NULL: ended */
	const char *what;		/* comes next */
	const void *where;
	bool (*ready)(long arg);	/* waits for it, or NULL */
	long arg;
	unsigned int choices;		/* ways to go on */
	unsigned int chosen;
};

static struct thread threads[EXPLORE_THREADS];
static uint8_t stacks[EXPLORE_THREADS][STACK] __attribute__((aligned(64)));

static const struct explore_model *model;
static struct explore_result *result;
static unsigned int nthreads;
static int current;			/* runs now */
static bool pruned;			/* and leads nowhere new */
static void *explorer_sp;

/* Save the callee's registers on this stack, *@save = its pointer, go on at @to. */
void explore_switch(void **save, void *to);
__asm__(".text\n"
	".type explore_switch, @function\n"
	"explore_switch:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size explore_switch, . - explore_switch\n");

static void yield(const char *what, const void *where, bool (*ready)(long), long arg,
		  unsigned int choices)
{
	struct thread *t = &threads[current];

	t->what = what;
	t->where = where;
	t->ready = ready;
	t->arg = arg;
	t->choices = choices;
	explore_switch(&t->sp, explorer_sp);
}

void explore_step(const char *what, const void *where)
{
	yield(what, where, NULL, 0, 1);
}

unsigned int explore_choose(unsigned int n)
{
	yield("choose", NULL, NULL, 0, n);
	return threads[current].chosen;
}

void explore_wait(const char *what, bool (*ready)(long arg), long arg)
{
	yield(what, NULL, ready, arg, 1);
}

int explore_self(void)
{
	return model->thread[current].id;
}

void explore_prune(void)
{
	pruned = true;
}

void explore_fail(const char *why)
{
	/* on a small stack: no stdio */
	if (!result->failure[0])
		memcpy(result->failure, why, strnlen(why, sizeof(result->failure) - 1));
}

static void thread_main(void)
{
	const struct explore_thread *t = &model->thread[current];
	void *dead;

	t->main(t->id);
	threads[current].sp = NULL;
	explore_switch(&dead, explorer_sp);
	abort();
}

static void thread_init(unsigned int i)
{
	/* six registers, where to return to, and an odd slot to align the stack */
	void **sp = (void **)(void *)(stacks[i] + STACK) - 8;

	memset(stacks[i], 0, STACK);
	sp[6] = (void *)thread_main;
	threads[i] = (struct thread){ .sp = sp, .what = "start", .choices = 1 };
}

/* --- states --- */

/* The saved part of a state: threads, the shared block, and the used part of stacks. */
static size_t state_bytes(void)
{
	size_t n = sizeof(threads) + model->shared_bytes;
	unsigned int i;

	for (i = 0; i < nthreads; i++)
		if (threads[i].sp)
			n += (size_t)(stacks[i] + STACK - (uint8_t *)threads[i].sp);
	return n;
}

static void state_save(uint8_t *to)
{
	unsigned int i;

	memcpy(to, threads, sizeof(threads));
	to += sizeof(threads);
	memcpy(to, model->shared, model->shared_bytes);
	to += model->shared_bytes;
	for (i = 0; i < nthreads; i++) {
		size_t n = (size_t)(stacks[i] + STACK - (uint8_t *)threads[i].sp);

		if (!threads[i].sp)
			continue;
		memcpy(to, threads[i].sp, n);
		to += n;
	}
}

static void state_load(const uint8_t *from)
{
	unsigned int i;

	memcpy(threads, from, sizeof(threads));
	from += sizeof(threads);
	memcpy(model->shared, from, model->shared_bytes);
	from += model->shared_bytes;
	for (i = 0; i < nthreads; i++) {
		size_t n = (size_t)(stacks[i] + STACK - (uint8_t *)threads[i].sp);

		if (!threads[i].sp)
			continue;
		memcpy(threads[i].sp, from, n);
		from += n;
	}
}

/* Both halves of a product: each bit of it depends on all of @a and @b. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Lanes that do not wait for each other: most of the time is spent here. */
#define LANES	4

static const uint64_t keys[2 * LANES] = {
	0xa0761d6478bd642fU, 0xe7037ed1a0b428dbU, 0x8ebc6af09c88c6e3U, 0x589965cc75374cc3U,
	0x1d8e4e27c47d124fU, 0xeb44accab455d165U, 0x9c6e6877736c46e3U, 0xd3833e804f4c574bU,
};

/* A lane's past is a factor, too: the order of blocks counts. */
static inline void mix_block(uint64_t h[LANES], const uint64_t w[2 * LANES])
{
	unsigned int i;

#pragma GCC unroll 4
	for (i = 0; i < LANES; i++)
		h[i] = mix(w[2 * i] ^ keys[2 * i] ^ h[i], w[2 * i + 1] ^ keys[2 * i + 1]);
}

static uint64_t fingerprint(const uint8_t *p, size_t n)
{
	uint64_t h[LANES] = { n, 1, 2, 3 }, w[2 * LANES] = { 0 };

	for (; n >= sizeof(w); p += sizeof(w), n -= sizeof(w)) {
		memcpy(w, p, sizeof(w));
		mix_block(h, w);
	}
	memset(w, 0, sizeof(w));
	memcpy(w, p, n);
	mix_block(h, w);
	h[0] = mix(h[0] ^ keys[0], h[1] ^ keys[1]) ^ mix(h[2] ^ keys[2], h[3] ^ keys[3]);
	return h[0] ? h[0] : 1;
}

static uint64_t *seen;
static uint64_t seen_room;

static void seen_grow(void)
{
	uint64_t *old = seen, room = seen_room, i, k;

	seen_room = room ? room * 2 : SEEN_FIRST;
	seen = aligned_alloc(HUGE, seen_room * sizeof(*seen));
	if (!seen)
		abort();
	/* It is looked up at random: a page of its own for each would miss the TLB, too. */
	madvise(seen, seen_room * sizeof(*seen), MADV_HUGEPAGE);
	memset(seen, 0, seen_room * sizeof(*seen));
	for (i = 0; i < room; i++) {
		if (!old[i])
			continue;
		for (k = old[i] & (seen_room - 1); seen[k]; k = (k + 1) & (seen_room - 1))
			;
		seen[k] = old[i];
	}
	free(old);
}

/* Was it new? */
static bool seen_add(uint64_t print)
{
	uint64_t k;

	if (result->states * 2 >= seen_room)
		seen_grow();
	for (k = print & (seen_room - 1); seen[k]; k = (k + 1) & (seen_room - 1))
		if (seen[k] == print)
			return false;
	seen[k] = print;
	result->states++;
	return true;
}

/* --- the search --- */

struct node {
	uint8_t *state;
	unsigned int thread;		/* tried next ... */
	unsigned int choice;		/* ... this way */
	unsigned int ran, ran_choice;	/* led to the node above; or nthreads: the end */
};

static struct node *path;
static size_t depth, path_room;

/* Is the state that was reached a new one? Most are not, and are not kept. */
static bool state_is_new(size_t n)
{
	static _Alignas(64) uint8_t copy[sizeof(threads) + STACK * EXPLORE_THREADS + SHARED];

	state_save(copy);
	if (model->forget)
		model->forget(copy + sizeof(threads));
	return seen_add(fingerprint(copy, n));
}

static void push_state(void)
{
	size_t n = state_bytes();
	uint8_t *state;

	if (!state_is_new(n))
		return;
	state = malloc(n);
	if (!state)
		abort();
	state_save(state);
	if (depth == path_room) {
		path_room = path_room ? path_room * 2 : 1024;
		path = realloc(path, path_room * sizeof(*path));
		if (!path)
			abort();
	}
	path[depth++] = (struct node){ .state = state };
}

static bool enabled(unsigned int i)
{
	const struct thread *t = &threads[i];

	return t->sp && (!t->ready || t->ready(t->arg));
}

/* Nobody can go on: is that the end of a run, or are some stuck? */
static void ended(void)
{
	unsigned int i;

	result->runs++;
	for (i = 0; i < nthreads; i++)
		if (threads[i].sp && !model->thread[i].daemon) {
			snprintf(result->failure, sizeof(result->failure),
				 "%s waits for ever: %s", model->thread[i].name, threads[i].what);
			return;
		}
	if (model->finished)
		model->finished();
}

static void run(unsigned int i, unsigned int choice)
{
	struct thread *t = &threads[i];

	current = (int)i;
	t->chosen = choice;
	t->ready = NULL;
	pruned = false;
	result->steps++;
	explore_switch(&explorer_sp, t->sp);
	t->chosen = 0;
	/* what deeper calls left behind is no part of the state */
	if (t->sp)
		memset(stacks[i], 0, (size_t)((uint8_t *)t->sp - stacks[i]));
}

/* The next way on from the topmost state, which is loaded. */
static bool next_way(struct node *n)
{
	for (; n->thread < nthreads; n->thread++, n->choice = 0)
		if (enabled(n->thread) && n->choice < threads[n->thread].choices)
			return true;
	return false;
}

static void print_path(void)
{
	size_t i;

	for (i = 0; i < depth; i++) {
		const struct thread *t = (const void *)path[i].state;
		const struct node *n = &path[i];

		if (n->ran == nthreads)
			break;
		t += n->ran;
		printf("#   %-10s %s", model->thread[n->ran].name, t->what);
		if (t->choices > 1)
			printf(" %u", n->ran_choice);
		if (t->where)
			printf(" +%#tx",
			       (const uint8_t *)t->where - (const uint8_t *)model->shared);
		printf("\n");
	}
	printf("# %s\n", result->failure);
}

static void search(uint64_t max_states)
{
	while (depth && !result->failure[0] && result->states <= max_states) {
		struct node *n = &path[depth - 1];
		bool first = !n->thread && !n->choice;

		state_load(n->state);
		if (!next_way(n)) {
			if (first)
				ended();
			n->ran = nthreads;
			if (result->failure[0])
				return;
			free(n->state);
			depth--;
			continue;
		}
		n->ran = n->thread;
		n->ran_choice = n->choice++;
		run(n->ran, n->ran_choice);
		if (!result->failure[0] && !pruned)
			push_state();
	}
}

void explore(const struct explore_model *m, struct explore_result *r, bool verbose)
{
	unsigned int i;

	if (m->shared_bytes > SHARED)
		abort();
	model = m;
	result = r;
	memset(r, 0, sizeof(*r));
	memset(threads, 0, sizeof(threads));
	for (nthreads = 0; nthreads < EXPLORE_THREADS && m->thread[nthreads].main; nthreads++)
		thread_init(nthreads);
	memset(m->shared, 0, m->shared_bytes);
	m->init();
	push_state();
	search(m->max_states ? m->max_states : DEFAULT_STATES);
	r->complete = !depth && !r->failure[0];
	if (verbose && r->failure[0])
		print_path();
	for (i = 0; i < depth; i++)
		free(path[i].state);
	depth = 0;
	free(seen);
	seen = NULL;
	seen_room = 0;
}

// SPDX-License-Identifier: MIT
/*
 * Token dispatch and combine for a mixture of experts, as low-latency inference does them:
 *
 *	gda-run -n 4 shmem-dispatch [--bf16] [ROUNDS]
 *	gda-run --keep -n 4 shmem-dispatch --die 3
 *
 * A token is put to each of its experts, into the slots that this PE has at that expert; behind
 * the last one goes the count, a word that says that all is there and of which round. The
 * expert works on what came and puts each row back to where its token waits, and behind the
 * last one its flag. Nobody meets in a barrier. Tokens are 8 bits an element with a scale for
 * each 128, or 16 bits (--bf16); rows are 16 bits. Routes are random.
 *
 * A PE that is lost is masked: its tokens and its experts are left out, and the others finish.
 * Every sum is compared with what one loop computes, byte for byte.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gda/gda.h>
#include <gda/shmem.h>

#define TOKENS	16U		/* of a PE in a round */
#define TOP	4U		/* experts of a token */
#define LOCAL	2U		/* experts of a PE */
#define HIDDEN	7168U		/* elements of a token */
#define BLOCK	128U		/* elements that have one scale */
#define MOST	8U		/* PEs */
#define FATAL	3U		/* the round in which one dies */

/* In the symmetric heap; those of odd and of even rounds, for a PE may be one ahead. */
struct slot {
	uint32_t token;		/* index at its PE */
	uint32_t reserved[3];
	uint32_t scales[HIDDEN / BLOCK];
	uint8_t data[2 * HIDDEN];
};

struct buffers {
	struct slot tokens[TOKENS];				/* of this PE */
	uint16_t rows[LOCAL * MOST][TOKENS][HIDDEN];		/* that come back */
	uint64_t flags[LOCAL * MOST];				/* round + 1: all rows came */
	uint64_t counts[LOCAL][MOST];				/* round + 1, and how many */
	struct slot inbox[LOCAL][MOST][TOKENS];
	uint16_t results[HIDDEN];				/* on its way back */
};

static struct {
	struct gda_shmem *s;
	struct buffers *b;
	uint32_t experts;
	bool bf16, masked[MOST];
	unsigned long long wrong;
} me;

static void must(int err, const char *name)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s (%s)\n", name, gda_strerror(err), gda_last_error());
	exit(1);
}

/* The result of a call to a PE: one that is lost takes no further part. */
static void reach(int64_t err, uint32_t pe)
{
	if (err == -ESHUTDOWN || err == -EIO)
		me.masked[pe] = true;
	else
		must(err < 0 ? (int)err : 0, "gda_shmem");
}

static uint32_t hash(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t x = ((uint64_t)a << 40 ^ (uint64_t)b << 20 ^ c) * 0x9e3779b97f4a7c15U;

	return (uint32_t)(x >> 32 ^ x >> 13);
}

/* The TOP experts of a token, no two of them alike. */
static void route(uint32_t pe, uint32_t token, uint32_t round, uint32_t *expert)
{
	uint32_t all[LOCAL * MOST], k, at;

	for (k = 0; k < me.experts; k++)
		all[k] = k;
	for (k = 0; k < TOP; k++) {
		at = k + hash(pe * TOKENS + token, round, k) % (me.experts - k);
		expert[k] = all[at];
		all[at] = all[k];
	}
}

static uint32_t element(uint32_t pe, uint32_t token, uint32_t round, uint32_t i)
{
	uint32_t value = (pe * 31 + token * 17 + round * 7 + i) * 2654435761U;

	return me.bf16 ? value >> 16 : value >> 24;
}

static uint32_t scale(uint32_t pe, uint32_t token, uint32_t i)
{
	return me.bf16 ? 1 : 1 + (pe + token + i / BLOCK) % 5;
}

/* An expert makes this of an element. */
static uint16_t work(uint32_t value, uint32_t factor, uint32_t expert)
{
	return (uint16_t)(value * factor + 3 * expert);
}

static size_t slot_bytes(void)
{
	return offsetof(struct slot, data) + (me.bf16 ? 2 : 1) * HIDDEN;
}

static void fill(struct slot *t, uint32_t token, uint32_t round)
{
	uint32_t i, value;

	t->token = token;
	for (i = 0; i < HIDDEN / BLOCK; i++)
		t->scales[i] = scale(me.s->pe, token, i * BLOCK);
	for (i = 0; i < HIDDEN; i++) {
		value = element(me.s->pe, token, round, i);
		if (me.bf16)
			memcpy(t->data + 2 * i, &(uint16_t){ (uint16_t)value }, 2);
		else
			t->data[i] = (uint8_t)value;
	}
}

static void dispatch(struct buffers *b, uint32_t round, bool die)
{
	uint32_t sent[LOCAL * MOST] = { 0 }, expert[TOP], token, k, pe;

	for (token = 0; token < TOKENS; token++) {
		if (die && token == TOKENS / 2)
			raise(SIGKILL);
		fill(&b->tokens[token], token, round);
		route(me.s->pe, token, round, expert);
		for (k = 0; k < TOP; k++) {
			pe = expert[k] / LOCAL;
			if (!me.masked[pe])
				reach(gda_shmem_put_nbi(me.s, &b->inbox[expert[k] % LOCAL][me.s->pe]
							[sent[expert[k]]++], &b->tokens[token],
							slot_bytes(), pe, 0), pe);
		}
	}
	/* the counts are behind the tokens, on the same queue pair */
	for (k = 0; k < me.experts; k++) {
		pe = k / LOCAL;
		if (me.masked[pe])
			continue;
		reach(gda_shmem_fence_qp(me.s, pe, 0), pe);
		reach(gda_shmem_p(me.s, &b->counts[k % LOCAL][me.s->pe],
				  (uint64_t)(round + 1) << 32 | sent[k], 8, pe, 0), pe);
	}
}

/* Wait for a word that @pe writes in this round. Return: whether it did. */
static bool came(const uint64_t *word, uint64_t least, uint32_t pe)
{
	uint64_t deadline = 0;
	unsigned int polls = 0;

	while (!me.masked[pe] &&
	       !gda_shmem_test_until64(word, GDA_SHMEM_GE | GDA_SHMEM_UNSIGNED, least))
		reach(gda_shmem_relax(me.s, ++polls, pe, &deadline), pe);
	return !me.masked[pe];
}

/* The row of a token, in its place at the PE that it came from. */
static void give_back(struct buffers *b, const struct slot *t, uint32_t expert, uint32_t pe)
{
	uint32_t i, value;
	uint16_t wide;

	for (i = 0; i < HIDDEN; i++) {
		memcpy(&wide, t->data + 2 * (me.bf16 ? i : 0), 2);
		value = me.bf16 ? wide : t->data[i];
		b->results[i] = work(value, t->scales[i / BLOCK], expert);
	}
	reach(gda_shmem_put(me.s, b->rows[expert][t->token], b->results, sizeof(b->results), pe,
			    0), pe);
}

static void serve(struct buffers *b, uint32_t round, uint32_t pe)
{
	uint32_t local, i, expert;

	for (local = 0; local < LOCAL; local++) {
		expert = me.s->pe * LOCAL + local;
		if (!came(&b->counts[local][pe], (uint64_t)(round + 1) << 32, pe))
			return;
		for (i = 0; i < (uint32_t)b->counts[local][pe] && !me.masked[pe]; i++)
			give_back(b, &b->inbox[local][pe][i], expert, pe);
		if (!me.masked[pe]) {
			reach(gda_shmem_fence_qp(me.s, pe, 0), pe);
			reach(gda_shmem_p(me.s, &b->flags[expert], round + 1, 8, pe, 0), pe);
		}
	}
}

/* Sum the rows of each token, those of masked experts left out. */
static void combine(struct buffers *b, uint32_t round)
{
	uint32_t expert[TOP], token, k, i, sum, want;
	bool answered[LOCAL * MOST];

	for (k = 0; k < me.experts; k++)
		answered[k] = came(&b->flags[k], round + 1, k / LOCAL);
	for (token = 0; token < TOKENS; token++) {
		route(me.s->pe, token, round, expert);
		for (i = 0; i < HIDDEN; i++) {
			sum = 0;
			want = 0;
			for (k = 0; k < TOP; k++) {
				if (!answered[expert[k]])
					continue;
				sum += (k + 1) * b->rows[expert[k]][token][i];
				want += (k + 1) * work(element(me.s->pe, token, round, i),
						       scale(me.s->pe, token, i), expert[k]);
			}
			me.wrong += sum != want;
		}
	}
}

static void report(uint32_t rounds)
{
	char masked[4 * MOST] = "";
	size_t n = 0;
	uint32_t pe;

	for (pe = 0; pe < me.s->npes; pe++)
		if (me.masked[pe])
			n += (size_t)snprintf(masked + n, sizeof(masked) - n, " %u", pe);
	printf("dispatch and combine: %u rounds, %zu bytes a token, %llu wrong, masked:%s\n",
	       rounds, slot_bytes(), me.wrong, n ? masked : " none");
}

int main(int argc, char **argv)
{
	struct gda_shmem_attr attr = { .size = sizeof(attr), .heap_bytes = 2 * sizeof(*me.b) };
	uint32_t rounds = 20, round, k, dead = MOST;
	struct gda_comm *comm;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--bf16"))
			me.bf16 = true;
		else if (!strcmp(argv[i], "--die") && i + 1 < argc)
			dead = (uint32_t)atoi(argv[++i]);
		else
			rounds = (uint32_t)atoi(argv[i]);
	}
	must(gda_comm_create(NULL, &comm), "gda_comm_create");
	must(gda_shmem_create(comm, &attr, &me.s), "gda_shmem_create");
	me.b = (struct buffers *)(uintptr_t)me.s->heap;
	me.experts = LOCAL * me.s->npes;
	if (me.experts < TOP || me.s->npes > MOST) {
		fprintf(stderr, "2 to %u PEs, please\n", MOST);
		return 1;
	}
	for (round = 0; round < rounds; round++) {
		struct buffers *b = &me.b[round % 2];

		dispatch(b, round, me.s->pe == dead && round == FATAL);
		for (k = 0; k < me.s->npes; k++)
			serve(b, round, (me.s->pe + k) % me.s->npes);
		combine(b, round);
	}
	report(rounds);
	/* the others have all that they waited for: an error here is of one that has ended */
	gda_shmem_quiet(me.s, 0);
	gda_shmem_destroy(me.s);
	gda_comm_destroy(comm);
	return me.wrong != 0;
}

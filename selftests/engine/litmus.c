// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Goes through all tapes of each litmus test (litmus.h): no outcome may be met that the queue
 * forbids, and each one that it allows has to be met, or the executor's choices are too few.
 */
#include "efa_host.h"
#include "kselftest_harness.h"
#include "litmus.h"

#define IOVA_L	0x10000U
#define IOVA_R	0x90000U
#define PLACES	8U

/* The tape: choices to repeat, then zeros; and how many there were to choose from. */
static struct {
	u8 choice[LITMUS_TAPE];
	u8 of[LITMUS_TAPE];
	u32 n;			/* that are repeated */
	u32 at;
} tape;

struct world {
	struct th_dev dev;
	struct th_qp *a, *b;
	struct th_mr *l, *r;
	struct gda_order order;
	const struct gda_dialect_ops *dialect;
	u32 posts;
	u64 done;		/* bits of posts */
	u64 read;		/* completions */
	char outcome[LITMUS_REGS + 1];
};

static u32 choose(u32 n)
{
	if (n < 2)
		return 0;
	if (tape.at == LITMUS_TAPE)
		abort();
	if (tape.at >= tape.n)
		tape.choice[tape.at] = 0;
	tape.of[tape.at] = (u8)n;
	return tape.choice[tape.at++];
}

static u32 choose_request(struct gda_order *o, u32 n)
{
	(void)o;
	return choose(n);
}

/* The next tape: the last choice that has another. Return: false if there is none. */
static bool next_tape(void)
{
	while (tape.at && tape.choice[tape.at - 1] + 1 == tape.of[tape.at - 1])
		tape.at--;
	if (!tape.at)
		return false;
	tape.choice[tape.at - 1]++;
	tape.n = tape.at;
	return true;
}

static u64 *word(struct world *w, char name)
{
	struct th_mr *mr = name < 'p' ? w->l : w->r;

	return (u64 *)(void *)th_mr_at(mr, 8U * (u32)(name < 'p' ? name - 'a' : name - 'p'));
}

static u64 offset(char name)
{
	return 8U * (u32)(name < 'p' ? name - 'a' : name - 'p');
}

static void post_mlx5(struct world *w, const struct litmus_step *s)
{
	u64 l = offset(s->local), r = offset(s->remote), at;

	switch (s->op) {
	case LITMUS_PUT:
	case LITMUS_PUT_FENCED:
		at = th_rdma(w->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, w->l, l, w->r, r, 8U * s->n);
		if (s->op == LITMUS_PUT_FENCED)
			th_ctrl(w->a, at)->fm_ce_se |= GDA_MLX5_FM_MASK;
		break;
	case LITMUS_PUT_IMM:
		th_imm(w->a, GDA_MLX5_CE_ALWAYS, 1, w->l, l, w->r, r, 8U * s->n);
		break;
	case LITMUS_GET:
		th_rdma(w->a, GDA_MLX5_READ, GDA_MLX5_CE_ALWAYS, w->l, l, w->r, r, 8U * s->n);
		break;
	default:
		th_atomic(w->a, GDA_MLX5_ATOMIC_FA, GDA_MLX5_CE_ALWAYS, w->l, l, w->r, r, s->n, 0);
	}
	th_ring(w->a);
}

static void post_efa(struct world *w, const struct litmus_step *s)
{
	struct request e = request_of(w->l, (u32)offset(s->local), w->r, (u32)offset(s->remote),
				      8U * s->n);

	e.id = w->posts;
	if (s->op == LITMUS_GET)
		e.ctrl1 = GDA_EFA_READ;
	if (s->op == LITMUS_PUT_IMM)
		e.ctrl1 |= GDA_EFA_HAS_IMM;
	encode((void *)(w->a->sq + w->posts * GDA_EFA_SLOT_BYTES), GDA_EFA_SLOT_BYTES, 0, &e);
	__atomic_store_n((u16 *)(void *)&w->a->db, (u16)(w->posts + 1), __ATOMIC_RELEASE);
}

/* See completions: a bit each. */
static u64 done(struct world *w)
{
	const struct gda_efa_cqe *c;

	if (w->dialect == &gda_dialect_mlx5)
		return (1ULL << w->a->cq.producer) - 1;
	while ((c = next_cqe(w->a, &w->read)))
		w->done |= 1ULL << id_of(c);
	return w->done;
}

static bool enabled(struct world *w, const struct litmus_step *s)
{
	if (s->op == LITMUS_UNTIL)
		return *word(w, s->local) == s->n;
	return s->op != LITMUS_END && (s->op != LITMUS_WAIT || done(w) >> s->n & 1);
}

static void step(struct world *w, const struct litmus_step *s)
{
	switch (s->op) {
	case LITMUS_END:
	case LITMUS_WAIT:
	case LITMUS_UNTIL:
		break;
	case LITMUS_LOAD:
		w->outcome[s->n] = (char)('0' + *word(w, s->local));
		break;
	case LITMUS_STORE:
		*word(w, s->local) = s->n;
		break;
	case LITMUS_IMMS:
		w->outcome[s->n] = (char)('0' + w->b->cq.producer);
		break;
	default:
		if (w->dialect == &gda_dialect_mlx5)
			post_mlx5(w, s);
		else
			post_efa(w, s);
		w->posts++;
	}
}

static void open_world(struct world *w, const struct gda_dialect_ops *dialect)
{
	memset(w, 0, sizeof(*w));
	w->dialect = dialect;
	w->l = th_mr_new(&w->dev, &dom_a, IOVA_L, 64, GDA_ACCESS_ALL, 12, 0);
	w->r = th_mr_new(&w->dev, &dom_b, IOVA_R, 64, GDA_ACCESS_ALL, 12, 0);
	if (dialect == &gda_dialect_mlx5) {
		w->a = th_qp_new(&w->dev, &dom_a, DEPTH, CQ);
		w->b = th_qp_new(&w->dev, &dom_b, DEPTH, CQ);
	} else {
		w->a = open_efa(&w->dev, &dom_a, dialect);
		w->b = open_efa(&w->dev, &dom_b, dialect);
		th_target = find_target;
		target.peer = &w->b->q;
	}
	w->order.choose = choose_request;
	w->order.split = GDA_ORDER_SPLIT_ALL;
	free(w->a->q.order);
	w->a->q.order = &w->order;
	w->b->q.recv_cq = &w->b->cq;
}

static void close_world(struct world *w)
{
	w->a->q.order = NULL;
	th_qp_free(w->a);
	th_qp_free(w->b);
	th_mr_free(&w->dev, w->l);
	th_mr_free(&w->dev, w->r);
}

/* As open_world() left it, with values of the test. */
static void reset_world(struct world *w, const char *init)
{
	w->a->q.ci = w->a->q.pi = 0;
	w->a->q.executed = 0;
	w->a->q.seen_db = w->a->q.seen_dbrec = 0;
	w->a->next = 0;
	w->a->db = 0;
	memset(w->a->dbrec, 0, sizeof(w->a->dbrec));
	w->a->cq.producer = w->b->cq.producer = 0;
	w->posts = 0;
	w->done = w->read = 0;
	gda_engine_init(&w->a->q);
	if (w->dialect == &gda_dialect_mlx5)
		th_qp_pair(w->a, w->b);
	gda_cq_init(&w->a->cq);
	memset(th_mr_at(w->l, 0), 0, 64);
	memset(th_mr_at(w->r, 0), 0, 64);
	memset(w->outcome, 0, sizeof(w->outcome));
	for (; *init; init += 2)
		*word(w, init[0]) = (u64)(init[1] - '0');
}

/* Run the test along the tape. */
static void run_tape(struct world *w, const struct litmus *t)
{
	const struct litmus_step *at[2] = { t->poster, t->second };
	u32 can[3], n, who;

	reset_world(w, t->init);
	tape.at = 0;
	for (;;) {
		for (n = who = 0; who < 2; who++)
			if (enabled(w, at[who]))
				can[n++] = who;
		if (gda_engine_pending(&w->a->q))
			can[n++] = 2;
		if (!n)
			return;
		who = can[choose(n)];
		if (who == 2)
			gda_engine_visit(&w->a->q, 1, 64);
		else
			step(w, at[who]++);
	}
}

struct tally {
	char met[LITMUS_OUTCOMES][LITMUS_REGS + 1];
	u32 n;
	u64 tapes;
	u32 forbidden;
};

static bool listed(const char *list, const char *outcome)
{
	size_t len = strlen(outcome);

	for (; *list; list += len + (list[len] == ' '))
		if (!strncmp(list, outcome, len))
			return true;
	return false;
}

static void print_tape(const struct litmus *t, const char *outcome)
{
	u32 i;

	printf("# %s: %s is forbidden; choices:", t->name, outcome);
	for (i = 0; i < tape.at; i++)
		printf(" %u/%u", tape.choice[i], tape.of[i]);
	printf("\n");
}

static void count(struct tally *c, const struct litmus *t, const char *list, const char *outcome)
{
	u32 i;

	c->tapes++;
	for (i = 0; i < c->n; i++)
		if (!strcmp(c->met[i], outcome))
			return;
	if (c->n == LITMUS_OUTCOMES)
		abort();
	strcpy(c->met[c->n++], outcome);
	if (listed(list, outcome))
		return;
	c->forbidden++;
	print_tape(t, outcome);
}

/* Return: how many outcomes were forbidden, or allowed and not met. */
static u32 run_test(const struct litmus *t, const char *list, const struct gda_dialect_ops *dialect,
		    u64 *tapes)
{
	struct tally c = { .n = 0 };
	struct world w;
	const char *p;
	u32 i, wrong;
	size_t len;

	open_world(&w, dialect);
	tape.n = 0;
	do {
		run_tape(&w, t);
		count(&c, t, list, w.outcome);
	} while (next_tape());
	len = strlen(w.outcome);
	close_world(&w);
	wrong = c.forbidden;
	for (p = list; *p; p += len + (p[len] == ' ')) {
		for (i = 0; i < c.n && strncmp(c.met[i], p, len); i++)
			;
		if (i < c.n)
			continue;
		printf("# %s: %.*s is allowed and was not met\n", t->name, (int)len, p);
		wrong++;
	}
	printf("# %-10s %-40s %8llu tapes, %2u outcomes\n",
	       dialect == &gda_dialect_mlx5 ? "ordered" : "unordered", t->name,
	       (unsigned long long)c.tapes, c.n);
	*tapes += c.tapes;
	return wrong;
}

static u32 run_all(bool unordered, u32 *ran)
{
	u64 tapes = 0;
	u32 i, wrong = 0;

	for (i = 0; i < litmus_ntests; i++) {
		const struct litmus *t = &litmus_tests[i];
		const char *list = unordered ? t->efa : t->mlx5;

		if (!list)
			continue;
		wrong += run_test(t, list, unordered ? &gda_dialect_efa : &gda_dialect_mlx5, &tapes);
		++*ran;
	}
	printf("# %u tests, %llu tapes\n", *ran, (unsigned long long)tapes);
	return wrong;
}

TEST(an_ordered_queue_does_what_it_may_and_nothing_else)
{
	u32 ran = 0;

	EXPECT_EQ(0, run_all(false, &ran));
	EXPECT_LE(24, ran);
}

TEST(an_unordered_queue_does_what_it_may_and_nothing_else)
{
	u32 ran = 0;

	EXPECT_EQ(0, run_all(true, &ran));
	EXPECT_LE(10, ran);
}

TEST_HARNESS_MAIN

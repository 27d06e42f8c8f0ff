// SPDX-License-Identifier: MIT
/*
 * The fast path, exhaustively: producers that share a ring of four, and the engine that consumes
 * it, in every interleaving. It is not a copy of the protocol that is checked but the headers and
 * the engine themselves, built with a barrier.h and a gda_os.h that step.
 *
 * Every post adds another byte's one to its producer's word, so a lost, duplicated, torn or
 * overwritten entry shows in the word, or the engine refuses it. Indices start so that 16 bits,
 * 2^30 (where the words of slots wrap) or 2^32 are crossed on the way.
 *
 * Memory that is weaker than sequentially consistent is not covered; the same headers run
 * under ThreadSanitizer for that (selftests/lib, selftests/inproc).
 *
 * usage: fastpath [-v | -a], -v: print how the broken ones fail, -a: also what takes minutes
 */
#include <stdio.h>
#include <string.h>
#include <gda/fastpath.h>
#include "visit.h"
#include "explore.h"
#include "unused_host.h"

/* The library's half of a wait: in the model others run between two looks as it is. */
void gda_relax(struct gda_view *v, unsigned int polls, enum gda_relax_for what)
{
	(void)v, (void)polls, (void)what;
}

/* No view of the model completes through a ring. */
void gda_view_progress(struct gda_view *v)
{
	(void)v;
}

/* What the library notes for gda_last_error() is no state of a queue. */
int gda_post_failed(struct gda_view *v, int err)
{
	(void)v;
	return err;
}

#define DEPTH		4U
#define PRODUCERS	3
#define QPN		0x123456U
#define KEY		0x4711U

/* Primitives and rules that can be broken, to see that it is found. */
enum broken {
	NONE,
	RESERVE_NOT_ATOMIC,	/* two producers can get one slot */
	FULL_OFF_BY_ONE,	/* one slot more than there is */
	READY_NOT_ATOMIC,	/* marking a slot ready can overlook the combining role */
	PARK_UNCHECKED,		/* parking the combining role can overwrite "ready" */
	RING_AFTER_PARK,	/* the doorbell leaves after the combining role */
	PUBLISH_BEFORE_WRITE,	/* the entry is finished after it was published */
	DEFER_NEVER_RINGS,	/* nobody flushes */
	COUNTER_NOT_WIDENED,	/* high bits of the consumer index are the poster's */
	DOORBELL_ONLY_UP,	/* 16 bits of doorbells are compared as they are */
	BREAKS
};

static const char *const break_names[BREAKS] = {
	[NONE] = "as it is",
	[RESERVE_NOT_ATOMIC] = "reservation is not atomic",
	[FULL_OFF_BY_ONE] = "ring is full one slot late",
	[READY_NOT_ATOMIC] = "slot is marked without looking",
	[PARK_UNCHECKED] = "combining role is parked without looking",
	[RING_AFTER_PARK] = "doorbell after the combining role",
	[PUBLISH_BEFORE_WRITE] = "published before it is written",
	[DEFER_NEVER_RINGS] = "deferred posts are not flushed",
	[COUNTER_NOT_WIDENED] = "completions counted in the poster's lap of 2^16",
	[DOORBELL_ONLY_UP] = "no doorbell that is lower than the last",
};

static enum broken broken;
static uint64_t start;			/* first index */
static unsigned int posts, last_posts;	/* of each producer; but of the third */
static bool defers;			/* any of them may be deferred */
static bool coarse;			/* without the steps of detail() */
static unsigned int budget;		/* of a visit of the engine */

static struct {
	struct gda_view v;
	__be64 db;
	__be32 dbrec[2];
	uint32_t slots[DEPTH];
	uint8_t sq[DEPTH * 64] __attribute__((aligned(64)));
	uint8_t cqe[64] __attribute__((aligned(64)));
	uint64_t word[PRODUCERS];
	uint64_t old[PRODUCERS];
	struct gda_engine_cq cq;
	struct gda_engine_qp q;
	unsigned int has_posted;	/* producers, a bit each */
	uint64_t late_db[PRODUCERS];	/* RING_AFTER_PARK: held back; 0: none */
} s;

static struct gda_mem mem = {
	.pd = &mem, .key = KEY, .access = GDA_ACCESS_ALL, .state = GDA_MR_LIVE,
	.size = sizeof(s),
};

/*
 * Steps between which only the engine can look, or only at what is the producer's own: between the
 * doorbell record and the doorbell, in an entry, and within the engine's look at the queue. With
 * three producers there are too many of them; two have them.
 */
static void detail(const char *what, const void *where)
{
	if (!coarse)
		explore_step(what, where);
}

/* --- barrier.h --- */

static uint16_t index_of(uint64_t doorbell)
{
	return (uint16_t)(gda_be64_to_cpu(doorbell) >> 40);
}

static void store_doorbell(void *p, uint64_t v)
{
	detail("store", p);
	if ((uint16_t)(index_of(v) - index_of(s.db)) > DEPTH)
		explore_fail("the doorbell went back, or lapped the ring");
	memcpy(p, &v, sizeof(v));
}

uint32_t gda_load_acquire32(const uint32_t *p)
{
	explore_step("load", p);
	return *p;
}

/* Of the cached consumer index, mostly, which is only ever too low. */
uint64_t gda_load_acquire64(const uint64_t *p)
{
	detail("load", p);
	return *p;
}

uint64_t gda_load_relaxed64(const uint64_t *p)
{
	explore_step("load", p);
	return *p;
}

void gda_store_relaxed64(uint64_t *p, uint64_t v)
{
	explore_step("store", p);
	*p = v;
}

void gda_store_release64(uint64_t *p, uint64_t v)
{
	explore_step("store", p);
	*p = v;
}

uint32_t gda_exchange32(uint32_t *p, uint32_t v)
{
	uint32_t old;

	explore_step("exchange", p);
	old = *p;
	if (broken == READY_NOT_ATOMIC)
		explore_step("exchange: store", p);
	*p = v;
	return old;
}

static void ring_late(void)
{
	uint64_t *late = &s.late_db[explore_self()];
	uint64_t v = *late;

	*late = 0;
	explore_step("late store", &s.dbrec[1]);
	s.dbrec[1] = gda_mlx5_dbrec(index_of(v));
	store_doorbell(&s.db, v);
}

int gda_cas32(uint32_t *p, uint32_t old, uint32_t v)
{
	explore_step("cas", p);
	if (*p != old && broken != PARK_UNCHECKED)
		return 0;
	*p = v;
	if (broken == RING_AFTER_PARK && s.late_db[explore_self()])
		ring_late();
	return 1;
}

/*
 * The producers are alike, so only runs are looked at in which their first slots are
 * taken in the order of their ids.
 */
static void in_order_of_ids(int id)
{
	s.has_posted |= 1U << id;
	if (id && !(s.has_posted & 1U << (id - 1)))
		explore_prune();
}

int gda_cas64(uint64_t *p, uint64_t *old, uint64_t v)
{
	explore_step("cas", p);
	if (*p != *old) {
		*old = *p;
		return 0;
	}
	if (broken == RESERVE_NOT_ATOMIC)
		explore_step("cas: store", p);
	if (broken == COUNTER_NOT_WIDENED && p == &s.v.completed)
		v = s.v.reserved - (uint16_t)s.v.reserved + (uint16_t)v;
	*p = v;
	if (p == &s.v.reserved)
		in_order_of_ids(explore_self());
	return 1;
}

void gda_max64(uint64_t *p, uint64_t v)
{
	explore_step("max", p);
	if (*p < v)
		*p = v;
}

uint32_t gda_nic_load32(const uint32_t *p)
{
	explore_step("load", p);
	if (broken == FULL_OFF_BY_ONE)
		return gda_be32(gda_be32_to_cpu(*p) + 0x10000);
	return *p;
}

uint64_t gda_nic_load64(const uint64_t *p)
{
	explore_step("load", p);
	return *p;
}

void gda_nic_store32(uint32_t *p, uint32_t v)
{
	if (broken == RING_AFTER_PARK)
		return;
	explore_step("store", p);
	if (broken == DOORBELL_ONLY_UP && gda_be32_to_cpu(v) < gda_be32_to_cpu(*p))
		return;
	*p = v;
}

void gda_nic_store64(uint64_t *p, uint64_t v)
{
	if (broken == RING_AFTER_PARK)
		s.late_db[explore_self()] = v;
	else if (broken != DOORBELL_ONLY_UP || index_of(v) >= index_of(s.db))
		store_doorbell(p, v);
}

void gda_store_segment(void *p, uint64_t first, uint64_t second)
{
	/* others cannot see it: one step is enough to tear an entry */
	if ((uintptr_t)p % 64 == 48)
		detail("store", p);
	gda_real_store_segment(p, first, second);
}

/* The engine and its host. */
void model_engine_load(const void *p)
{
	detail("engine loads", p);
}

const struct gda_mem *gda_host_mem(const struct gda_engine_qp *q, u32 key)
{
	(void)q;
	return key == KEY ? &mem : NULL;
}

u32 gda_host_span(const struct gda_mem *m, u64 off, u32 len, void **ptr)
{
	(void)m;
	*ptr = (u8 *)&s + off;
	return len;
}

bool gda_host_push(struct gda_engine_cq *cq, const struct gda_completion *c)
{
	return gda_cq_push(cq, c);
}

/* An entry is taken once: what is read a second time is no entry. */
static struct gda_status decode(const struct gda_engine_qp *q, u32 avail, struct gda_work *work)
{
	struct gda_status st;

	detail("engine fetches", &s.sq[q->ci % DEPTH * 64]);
	st = gda_dialect_mlx5.decode(q, avail, work);
	memset(&s.sq[q->ci % DEPTH * 64], 0xee, 64);
	return st;
}

/* As the engine's table, but for what decode() adds. */
static struct gda_dialect_ops dialect;

static u32 visit(struct gda_engine_qp *q, u32 wqes, u32 bytes)
{
	return gda_engine_serve(q, wqes, bytes, &dialect);
}

static uint32_t ahead(uint32_t index)
{
	uint32_t n = (index - (uint32_t)s.q.ci) & 0xffff;

	return n <= DEPTH ? n : 0;
}

static bool rung(long arg)
{
	(void)arg;
	return ahead(index_of(s.db)) || ahead(gda_be32_to_cpu(s.dbrec[1]) & 0xffff);
}

static void engine(int id)
{
	(void)id;
	for (;;) {
		explore_wait("doorbell", rung, 0);
		gda_engine_visit(&s.q, budget, 1U << 20);
		if (s.q.state == GDA_QP_ERROR)
			explore_fail("the engine refused an entry or a doorbell");
	}
}

/* --- posters --- */

/* Slots completed, as the CQ says. */
static uint64_t completed(void)
{
	uint32_t last;

	memcpy(&last, s.cqe + 60, 4);
	last = gda_be32_to_cpu(last);
	if ((last >> 4 & 15) != GDA_MLX5_CQE_REQ)
		return start;
	return start + (uint16_t)((last >> 16) + 1 - (uint32_t)start);
}

static bool room(long arg)
{
	(void)arg;
	return s.v.reserved - completed() < DEPTH;
}

static bool done(long ticket)
{
	return completed() > (uint64_t)ticket;
}

static int64_t post(int id, unsigned int k, unsigned int flags)
{
	uint64_t word = (uint64_t)((uint8_t *)&s.word[id] - (uint8_t *)&s);
	uint64_t old = (uint64_t)((uint8_t *)&s.old[id] - (uint8_t *)&s);

	return gda_fetch_add(&s.v, old, KEY, word, KEY, 1ULL << 8 * k, flags | GDA_NOWAIT);
}

/* The same steps by hand, in the wrong order. */
static int64_t post_wrong(int id, unsigned int k)
{
	struct gda_wqe nop = gda_wqe_make(s.v.dialect, gda_wr_nop());
	unsigned int flags = GDA_NOWAIT;
	uint64_t index;

	if (gda_reserve(&s.v, 1, &flags, &index))
		return -EAGAIN;
	gda_publish(&s.v, s.v.dialect, index, 1, 0);
	explore_step("late write", NULL);
	gda_wqe_store(gda_sq(&s.v, s.v.dialect), index, &nop, 0);
	s.word[id] += 1ULL << 8 * k;
	return (int64_t)index;
}

static unsigned int posts_of(int id)
{
	return id == PRODUCERS - 1 ? last_posts : posts;
}

static void producer(int id)
{
	int64_t ticket = 0;
	unsigned int k;

	for (k = 0; k < posts_of(id); k++) {
		unsigned int flags = defers && explore_choose(2) ? GDA_DEFER : 0;

		while ((ticket = broken == PUBLISH_BEFORE_WRITE ? post_wrong(id, k)
							       : post(id, k, flags)) == -EAGAIN)
			explore_wait("room", room, 0);
	}
	if (defers && broken != DEFER_NEVER_RINGS)
		gda_flush(&s.v);
	if (!coarse)
		explore_wait("completion", done, (long)ticket);
}

/* Anybody may test; the cached consumer index never runs ahead of the engine. */
static void tester(int id)
{
	(void)id;
	gda_test(&s.v, (int64_t)start + 1);
	explore_check(s.v.completed <= completed());
	explore_wait("completion", done, (long)start);
	explore_check(gda_test(&s.v, (int64_t)start) == 1);
}

static void init(void)
{
	struct gda_view *v = &s.v;

	*v = (struct gda_view){
		.size = sizeof(*v), .version = GDA_VIEW_VERSION, .sq = (uintptr_t)s.sq,
		.dbrec = (uintptr_t)&s.dbrec[1], .db = (uintptr_t)&s.db,
		.cq = (uintptr_t)s.cqe, .slots = (uintptr_t)s.slots, .mask = DEPTH - 1,
		.qpn = QPN, .qpn_be = gda_mlx5_doorbell(0, QPN), .timeout_ns = 1,
		.abort = (uintptr_t)&v->abort_word, .reserved = start, .completed = start,
		.error_index = GDA_NO_ERROR, .exclusive_done = GDA_NOT_EXCLUSIVE,
	};
	/* as after gda_view_share() at @start */
	s.slots[start % DEPTH] = gda_slot_word(start, GDA_SLOT_HEAD);
	s.db = gda_mlx5_doorbell(start, QPN);
	s.dbrec[1] = gda_mlx5_dbrec(start);
	memset(s.sq, 0xee, sizeof(s.sq));
	dialect = gda_dialect_mlx5;
	dialect.decode = decode;
	dialect.visit = visit;
	s.cq = (struct gda_engine_cq){ &dialect, s.cqe, .depth = 1, .collapsed = true };
	gda_cq_init(&s.cq);
	s.q = (struct gda_engine_qp){
		.dialect = &dialect, .sq = s.sq, .dbrec = s.dbrec, .db = &s.db, .cq = &s.cq,
		.pd = &mem, .peer = &s.q, .depth = DEPTH, .qpn = QPN, .state = GDA_QP_READY,
	};
	gda_engine_init(&s.q);
	s.q.ci = start;
	s.q.pi = start;
	s.q.seen_db = (uint32_t)start & 0xffff;
	s.q.seen_dbrec = (uint32_t)start & 0xffff;
}

/* Words of slots that were consumed, counts, and what the engine prepares anew. */
static void forget(void *shared)
{
	__typeof__(s) *c = shared;
	unsigned int i;

	for (i = 0; i < DEPTH; i++)
		if ((int32_t)(c->slots[i] - gda_slot_word(c->q.ci, 0)) < 0)
			c->slots[i] = 0;
	memset(&c->q.last, 0, sizeof(c->q.last));
	memset(&c->q.work, 0, sizeof(c->q.work));
	c->cq.producer = 0;
	c->q.executed = 0;
	c->q.bytes = 0;
	/* the engine only asks whether they are still the same */
	c->q.seen_db = c->q.seen_db == index_of(c->db);
	c->q.seen_dbrec = c->q.seen_dbrec == (gda_be32_to_cpu(c->dbrec[1]) & 0xffff);
}

static void finished(void)
{
	for (int i = 0; i < PRODUCERS; i++) {
		uint64_t all = 0x0101010101010101 & ((1ULL << 8 * posts_of(i)) - 1);

		explore_check(s.word[i] == all || !s.word[i]);
	}
	explore_check(s.q.ci == s.v.reserved);
	explore_check(completed() == s.q.ci);
	explore_check(index_of(s.db) == (uint16_t)s.q.ci);
}

#define PRODUCER(n)	{ .name = "producer " #n, .main = producer, .id = n }
#define ENGINE		{ .name = "engine", .main = engine, .daemon = true }

static const struct explore_thread three[EXPLORE_THREADS] = {
	ENGINE, PRODUCER(0), PRODUCER(1), PRODUCER(2),
};

static const struct explore_thread two[EXPLORE_THREADS] = {
	ENGINE, PRODUCER(0), PRODUCER(1),
};

static const struct explore_thread two_and_a_tester[EXPLORE_THREADS] = {
	ENGINE, PRODUCER(0), PRODUCER(1), { .name = "tester", .main = tester },
};

static const struct scenario {
	const char *name;
	const struct explore_thread *threads;
	uint64_t start;
	unsigned int posts;
	unsigned int budget;
	unsigned int last_posts;	/* 0: as many as the others */
	bool defers, coarse;
	bool slow;			/* minutes: only if asked for */
	enum broken broken;
	bool wraps;			/* only at @start it shows, from 0 on all is well */
} scenarios[] = {
	/* a ring of four, more than once around, over the wrap of 16 bits */
	{ "three producers, 2, 2 and 1 posts", three, 65533, 2, 64, .last_posts = 1,
	  .coarse = true },
	{ "three producers, two posts each", three, 65533, 2, 64, .coarse = true, .slow = true },
	{ "two producers, two posts each, in more detail", two, 65533, 2, .budget = 64 },
	{ "two producers and a tester, in more detail", two_and_a_tester, 65534, 1, .budget = 64 },
	{ "two producers, three posts each, one entry a visit", two, 65533, 3, 1, .coarse = true },
	{ "two producers, two posts each, deferred or not", two, 65533, 2, 64, .defers = true,
	  .coarse = true },
	{ "three producers, one post each, deferred or not", three, 65534, 1, 64, .defers = true,
	  .coarse = true, .slow = true },
	{ "two producers, words of slots wrap", two, (1ULL << 30) - 3, 3, 64, .coarse = true },
	{ "two producers, words of slots negative", two, (1ULL << 29) - 3, 3, 64, .coarse = true },
	{ "two producers, indices past 2^32", two, (1ULL << 32) - 3, 3, 64, .coarse = true },
	{ "", two, 0, 2, 64, .broken = RESERVE_NOT_ATOMIC },
	{ "", two, 0, 3, 64, .broken = FULL_OFF_BY_ONE },
	{ "", two, 0, 2, 64, .broken = READY_NOT_ATOMIC },
	{ "", two, 0, 2, 64, .broken = PARK_UNCHECKED },
	{ "", two, 0, 2, 64, .broken = RING_AFTER_PARK },
	{ "", two, 0, 2, 64, .broken = PUBLISH_BEFORE_WRITE },
	{ "", two, 0, 1, 64, .defers = true, .broken = DEFER_NEVER_RINGS },
	{ "", two, 65533, 3, 64, .coarse = true, .broken = COUNTER_NOT_WIDENED, .wraps = true },
	{ "", two, 65533, 3, 64, .coarse = true, .broken = DOORBELL_ONLY_UP, .wraps = true },
};

#define SCENARIOS	(sizeof(scenarios) / sizeof(scenarios[0]))

/* A bug that only the wrap shows is not found elsewhere. */
static bool well_from_zero(const struct explore_model *m)
{
	struct explore_result r;

	start = 0;
	explore(m, &r, true);
	return r.complete && r.runs;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && !strcmp(argv[1], "-v");
	bool slow = argc > 1 && !strcmp(argv[1], "-a");
	unsigned int i, failed = 0;

	printf("TAP version 13\n1..%u\n", (unsigned int)SCENARIOS);
	for (i = 0; i < SCENARIOS; i++) {
		const struct scenario *sc = &scenarios[i];
		struct explore_model m = {
			.shared = &s, .shared_bytes = sizeof(s), .init = init,
			.forget = forget, .finished = finished,
		};
		struct explore_result r;
		bool ok;

		if (sc->slow && !slow) {
			printf("ok %u %s # SKIP only with -a\n", i + 1, sc->name);
			continue;
		}
		memcpy(m.thread, sc->threads, sizeof(m.thread));
		start = sc->start;
		posts = sc->posts;
		last_posts = sc->last_posts ? sc->last_posts : posts;
		budget = sc->budget;
		defers = sc->defers;
		coarse = sc->coarse;
		broken = sc->broken;
		explore(&m, &r, verbose || broken == NONE);
		ok = broken == NONE ? r.complete && r.runs : r.failure[0] != 0;
		if (ok && sc->wraps)
			ok = well_from_zero(&m);
		failed += !ok;
		printf("# %llu states, %llu steps, %llu ends; %s\n",
		       (unsigned long long)r.states, (unsigned long long)r.steps,
		       (unsigned long long)r.runs, r.failure[0] ? r.failure : "no failure");
		printf("%sok %u %s%s\n", ok ? "" : "not ", i + 1,
		       broken == NONE ? sc->name : "found: ",
		       broken == NONE ? "" : break_names[broken]);
		fflush(stdout);
	}
	return failed != 0;
}

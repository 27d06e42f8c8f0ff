// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Work in flight: random schedules of a poster, an executor and a host against a model of the
 * rules of gda/flight.h. After each step the model says how many outcomes left, what was
 * completed and how, which error was first, and where the consumer index is.
 *
 * The model is shown to find what breaks a rule: it is run on a dialect whose outcomes leave as
 * they are reported, and on one whose queues survive errors.
 */
#include "flight.h"
#include "host.h"
#include "kselftest_harness.h"

#define DEPTH		64U
#define CQ_DEPTH	64U
#define SCHEDULES	1000000U
#define STEPS		24U
#define LAPS		20ULL		/* of a 16-bit index */
#define LONG_STEPS	100000U
#define NEVER		(~0U)

static int dom;

/* A work request of the poster's. */
struct item {
	u64 index;
	u32 len;
	bool signaled;
	bool bad;			/* no entry that can be decoded */
	bool reported;
	struct gda_status st;		/* then */
};

struct cqe {
	u64 index;
	bool error;
	struct gda_status st;
};

struct world {
	struct th_dev dev;
	struct th_rand r;
	struct th_qp *qp;
	struct gda_flight f;
	struct gda_flight_request requests[DEPTH];
	struct th_mr mr;

	bool calm;			/* nothing fails */

	/* the model; items are counted from 0, as tickets */
	struct item items[2 * DEPTH];
	u64 posted, published, begun, left;
	u64 executed, flushed, errors, bytes;
	bool stopped;			/* an error was reported */
	bool failed;
	struct gda_status first;
	u64 first_error;
	bool blame;			/* failed with nothing posted: the next is to say so */
	struct gda_status stop;		/* abandoned, or the doorbell is illegal */
	bool illegal;			/* it is, and may be noticed */
	struct cqe cqes[CQ_DEPTH];
	u64 produced, seen, consumed;
	bool cq_failed;
	u64 slots;			/* posted */
	int wrong;			/* the line of the first check that failed, or 0 */
};

#define CHECK(w, x) do {				\
		if (!(x) && !(w)->wrong)		\
			(w)->wrong = __LINE__;		\
	} while (0)

static struct item *item_of(struct world *w, u64 n)
{
	return &w->items[n % ARRAY_SIZE(w->items)];
}

static bool same(struct gda_status a, struct gda_status b)
{
	return a.class == b.class && a.cause == b.cause;
}

static struct gda_status asked(const struct world *w)
{
	return gda_status((u8)w->qp->q.fail, (u8)(w->qp->q.fail >> 8));
}

static struct gda_status reason(const struct world *w)
{
	return asked(w).class ? asked(w) : w->stop;
}

static bool nothing_new(const struct world *w)
{
	return w->stopped || w->failed || reason(w).class;
}

/* The queue, as new, at a place where its 16-bit index is about to wrap or not. */
static void restart(struct world *w, const struct gda_dialect_ops *dialect)
{
	struct gda_engine_qp *q = &w->qp->q;
	struct gda_engine_cq *cq = &w->qp->cq;
	u64 base = th_below(&w->r, 4) ? 0x10000 * (1 + th_below(&w->r, 3)) - th_below(&w->r, 40) :
					th_rand(&w->r) >> 16;

	*w = (struct world){ .r = w->r, .qp = w->qp, .calm = w->calm };
	cq->collapsed = !th_below(&w->r, 4);
	cq->depth = cq->collapsed ? 1 : w->calm ? CQ_DEPTH : 1U << (1 + th_below(&w->r, 6));
	cq->consumer = cq->collapsed ? NULL : &w->qp->consumer;
	cq->producer = 0;
	cq->failed = false;
	w->qp->consumer = 0;
	gda_cq_init(cq);
	q->dialect = dialect;
	q->sq = w->qp->sq;
	q->state = GDA_QP_READY;
	q->fail = 0;
	gda_engine_init(q);
	q->ci = base;
	q->pi = base;
	q->seen_db = (u32)base & 0xffff;
	q->seen_dbrec = (u32)base & 0xffff;
	w->qp->next = base;
	w->qp->sent = (struct gda_counter_mem){ 0 };
	th_ring(w->qp);
	gda_flight_init(&w->f, q, w->requests, 1U << th_below(&w->r, 7));

	item_of(w, 0)->index = base;
}

static void post(struct world *w)
{
	static const u8 data[GDA_ENGINE_MAX_INLINE];
	struct item *i = item_of(w, w->posted);
	u8 ce = th_below(&w->r, 3) ? GDA_MLX5_CE_ALWAYS : GDA_MLX5_CE_ERROR;
	u64 next = w->qp->next;

	i->signaled = ce == GDA_MLX5_CE_ALWAYS;
	i->bad = !w->calm && !th_below(&w->r, 200);
	i->reported = false;
	i->len = th_below(&w->r, 8) ? 8 : th_below(&w->r, 600);
	if (next + (i->len + 36 + 63) / 64 - item_of(w, w->left)->index > DEPTH)
		return;
	th_inline(w->qp, ce, data, i->len, &w->mr, w->posted);
	if (i->bad) {
		w->qp->next = next + 1;
		gda_mlx5_set_ctrl(th_seg(w->qp, next, 0), next, 0x3f, TH_QPN, 1, ce, 0);
	}
	item_of(w, ++w->posted)->index = w->qp->next;
	w->slots += w->qp->next - next;
}

static void publish(struct world *w)
{
	if (w->illegal)
		return;
	w->published = w->posted;
	th_ring(w->qp);
}

static void report(struct world *w, u64 n, struct gda_status st)
{
	struct item *i = item_of(w, n);

	if (n < w->left || n >= w->begun || i->reported)
		return;
	i->reported = true;
	i->st = st;
	w->stopped |= st.class != 0;
}

/*
 * An entry that cannot be decoded is begun and has failed without the executor; unless the
 * doorbell was found to be illegal before, which depends on when it was read.
 */
static void begin_bad(struct world *w)
{
	while (w->begun < w->published && item_of(w, w->begun)->bad && !nothing_new(w) &&
	       w->begun - w->left < w->f.size && (!w->illegal || w->begun != w->f.tail)) {
		w->begun++;
		report(w, w->begun - 1, gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_OPCODE));
	}
}

static bool begin(struct world *w)
{
	const struct gda_work *work = gda_flight_next(&w->f);
	bool want;

	begin_bad(w);
	if (w->illegal && w->f.stop.class)
		w->stop = gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_DOORBELL);
	want = w->begun < w->published && !nothing_new(w) && w->begun - w->left < w->f.size;
	CHECK(w, !work == !want);
	if (!work || !want) {
		/* what it says is seen once all before it was begun */
		CHECK(w, !w->illegal || nothing_new(w) || w->begun < w->published ||
		      w->begun - w->left == w->f.size);
		return false;
	}
	if (!th_below(&w->r, 8))
		CHECK(w, gda_flight_next(&w->f) == work);
	if (!th_below(&w->r, 16))
		return false;
	CHECK(w, work->op == GDA_OP_WRITE && work->inlined);
	CHECK(w, work->remote.addr == w->begun);
	CHECK(w, work->remote.len == item_of(w, w->begun)->len);
	CHECK(w, gda_flight_begin(&w->f) == w->begun);
	w->begun++;
	CHECK(w, gda_flight_count(&w->f) == w->begun - w->left);
	return true;
}

static struct gda_status some_outcome(struct world *w)
{
	switch (w->calm ? 2 : th_below(&w->r, 60)) {
	case 0:
		return gda_status(GDA_CLASS_REMOTE_ACCESS, GDA_CAUSE_KEY);
	case 1:
		return gda_status(GDA_CLASS_FLUSH, GDA_CAUSE_NONE);
	default:
		return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
	}
}

/* Some outcomes, in any order, of things in flight or not. */
static void come(struct world *w)
{
	u32 n = th_below(&w->r, 6);

	while (n--) {
		u64 ticket = w->left + th_below(&w->r, (u32)(w->begun - w->left) + 2) - 1;
		struct gda_status st = some_outcome(w);

		if (ticket < w->begun && ticket + 1 == w->left)
			ticket = w->left;
		gda_flight_done(&w->f, ticket, st);
		report(w, ticket, st);
	}
}

static void come_through(struct world *w)
{
	u64 ticket = w->left + th_below(&w->r, (u32)(w->begun - w->left) + 2), n;

	gda_flight_done_through(&w->f, ticket);
	for (n = w->left; n <= ticket; n++)
		report(w, n, gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE));
}

static void give_up(struct world *w)
{
	const struct gda_status st = { GDA_CLASS_QUEUE, GDA_CAUSE_IO };
	u64 n;

	gda_flight_abandon(&w->f, st);
	if (!w->stop.class)
		w->stop = st;
	for (n = w->left; n < w->begun; n++)
		report(w, n, gda_status(GDA_CLASS_FLUSH, GDA_CAUSE_NONE));
}

/* The host, or the poster, at a moment of its own choice. */
static void intervene(struct world *w)
{
	struct gda_engine_qp *q = &w->qp->q;

	switch (th_below(&w->r, 4)) {
	case 0:
		q->fail = GDA_FAIL_PEER;
		break;
	case 1:
		q->fail = GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_QUEUE);
		q->sq = NULL;
		break;
	case 2:
		give_up(w);
		break;
	default:
		w->illegal = true;
		th_ring_db(w->qp, w->qp->next + 0x4000);
		break;
	}
}

static void fail(struct world *w, u64 index, struct gda_status st)
{
	w->failed = true;
	w->first = st;
	w->first_error = index;
}

static void complete(struct world *w, u64 index, bool error, struct gda_status st)
{
	const struct gda_engine_cq *cq = &w->qp->cq;

	if (w->cq_failed)
		return;
	if (!cq->collapsed && w->produced - w->consumed == cq->depth) {
		w->cq_failed = true;
		if (!w->failed)
			fail(w, index, gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_CQ));
		return;
	}
	w->cqes[w->produced++ % CQ_DEPTH] = (struct cqe){ index, error, st };
}

static void leave_failed(struct world *w, u64 index, struct gda_status st)
{
	w->errors++;
	w->flushed += st.class == GDA_CLASS_FLUSH;
	complete(w, index, true, st);
	w->left++;
}

static void leave(struct world *w)
{
	const struct gda_status flush = { GDA_CLASS_FLUSH, GDA_CAUSE_NONE };
	const struct item *i = item_of(w, w->left);
	struct gda_status st = i->st;

	if (w->failed) {
		leave_failed(w, i->index, flush);
		return;
	}
	if (!st.class) {
		w->executed++;
		w->bytes += i->len;
		if (i->signaled)
			complete(w, i->index, false, st);
		w->left++;
		return;
	}
	if (st.class == GDA_CLASS_FLUSH)
		st = reason(w).class ? reason(w) : gda_status(GDA_CLASS_RETRY, GDA_CAUSE_PEER);
	fail(w, i->index, st);
	leave_failed(w, i->index, st);
}

/* Nothing is in flight. Without its memory, the queue has a work request in each slot. */
static u32 drained(struct world *w, u32 limit)
{
	const struct gda_status flush = { GDA_CLASS_FLUSH, GDA_CAUSE_NONE };
	u64 index = item_of(w, w->left)->index;
	u32 n = 0;

	if (!w->failed) {
		n++;
		fail(w, index, reason(w));
		w->blame = w->left == w->published && !w->qp->cq.collapsed;
		if (w->left != w->published)
			leave_failed(w, index, w->first);
		else if (!w->blame)
			complete(w, index, true, w->first);
	}
	while (w->left < w->published && n < limit) {
		leave_failed(w, item_of(w, w->left)->index, w->blame ? w->first : flush);
		w->blame = false;
		n++;
	}
	/* nothing is begun any more */
	w->begun = w->left;
	return n;
}

static void see(struct world *w)
{
	const struct gda_engine_cq *cq = &w->qp->cq;

	/* of a collapsed CQ only the newest shows */
	if (!cq->collapsed)
		CHECK(w, cq->producer == w->produced);
	else if (w->seen != w->produced)
		w->seen = w->produced - 1;
	for (; w->seen != w->produced; w->seen++) {
		const struct cqe *want = &w->cqes[w->seen % CQ_DEPTH];
		const struct gda_mlx5_err_cqe *e = cq->entries;
		u8 counter[2];

		e += w->seen & (cq->depth - 1);
		memcpy(counter, &e->wqe_counter, sizeof(counter));
		CHECK(w, (counter[0] << 8 | counter[1]) == (u16)want->index);
		CHECK(w, e->op_own >> 4 == (want->error ? GDA_MLX5_CQE_REQ_ERR : GDA_MLX5_CQE_REQ));
		if (!want->error)
			continue;
		CHECK(w, e->syndrome == gda_dialect_mlx5.syndrome(want->st));
		CHECK(w, e->vendor_err_synd == want->st.cause);
		CHECK(w, gda_be64_to_cpu(e->first_error) == w->first_error);
	}
}

static void retire(struct world *w, u32 limit)
{
	const struct gda_engine_qp *q = &w->qp->q;
	bool gone = !q->sq, pending = gda_flight_pending(&w->f);
	u32 n = gda_flight_retire(&w->f, limit), want = 0;

	while (w->left < w->begun && item_of(w, w->left)->reported && want < limit) {
		leave(w);
		want++;
	}
	if (gone && w->left == w->begun) {
		/* slots cannot be told apart any more: that is drain()'s, and the end */
		CHECK(w, n >= want);
		return;
	}
	if (w->left == w->begun && want < limit && nothing_new(w))
		want += drained(w, limit - want);
	CHECK(w, n == want);
	CHECK(w, !n || pending);
	CHECK(w, q->ci == item_of(w, w->left)->index);
	CHECK(w, q->executed == w->executed && q->flushed == w->flushed && q->bytes == w->bytes);
	CHECK(w, w->qp->sent.value == w->executed && w->qp->sent.errors == w->errors);
	CHECK(w, (q->state == GDA_QP_ERROR) == w->failed);
	if (w->failed) {
		CHECK(w, same(q->first, w->first) && q->first_error == w->first_error);
		CHECK(w, gda_flight_stopped(&w->f));
	}
	see(w);
}

static void consume(struct world *w)
{
	w->consumed = w->seen;
	w->qp->consumer = gda_be32((u32)w->consumed & 0xffffff);
}

static void step(struct world *w)
{
	switch (th_below(&w->r, 8)) {
	case 0:
	case 1:
		post(w);
		post(w);
		break;
	case 2:
		publish(w);
		break;
	case 3:
		while (begin(w) && th_below(&w->r, 8))
			;
		break;
	case 4:
		come(w);
		break;
	case 5:
		if (th_below(&w->r, 2))
			come_through(w);
		if (th_below(&w->r, 4))
			consume(w);
		break;
	default:
		if (w->calm)
			consume(w);
		retire(w, 1 + th_below(&w->r, w->calm ? 2 : 20));
		break;
	}
}

/* All that was published has left in the end, and not a visit later. */
static void drain(struct world *w)
{
	const struct gda_engine_qp *q = &w->qp->q;
	u32 i;

	publish(w);
	for (i = 0; i < 2 * DEPTH && (i < 2 || gda_flight_pending(&w->f) ||
				      gda_flight_count(&w->f)); i++) {
		consume(w);
		while (begin(w))
			;
		come_through(w);
		come_through(w);
		retire(w, 64);
	}
	if (!q->sq && w->left == w->begun) {
		CHECK(w, q->state == GDA_QP_ERROR && q->ci == item_of(w, w->posted)->index);
		return;
	}
	CHECK(w, w->left == w->published);
	CHECK(w, !gda_flight_count(&w->f) && !gda_flight_pending(&w->f));
}

/* Return: 0, or the line of the check that failed. */
static int run(struct world *w, const struct gda_dialect_ops *dialect, u32 steps, u32 moment)
{
	u32 i;

	restart(w, dialect);
	for (i = 0; i < steps && !w->wrong; i++) {
		if (i == moment)
			intervene(w);
		step(w);
	}
	if (!w->wrong)
		drain(w);
	return w->wrong;
}

static struct world *open_world(u64 seed)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->r.s = seed;
	w->qp = th_qp_new(&w->dev, &dom, DEPTH, CQ_DEPTH);
	return w;
}

static void close_world(struct world *w)
{
	th_qp_free(w->qp);
	free(w);
}

FIXTURE(schedule) {
	struct world *w;
};

FIXTURE_SETUP(schedule)
{
	self->w = open_world(1);
}

FIXTURE_TEARDOWN(schedule)
{
	close_world(self->w);
}

/* Half of them are left alone; in the others the host steps in, at each moment of them. */
TEST_F_TIMEOUT(schedule, random, 200)
{
	u32 i;

	for (i = 0; i < SCHEDULES; i++) {
		u32 moment = i % 2 ? i / 2 % STEPS : NEVER;

		ASSERT_EQ(0, run(self->w, &gda_dialect_mlx5, STEPS, moment))
			TH_LOG("schedule %u", i);
	}
}

/* Without errors: many laps of the 16-bit index and of the requests. */
TEST_F_TIMEOUT(schedule, long_run, 100)
{
	struct world *w = self->w;
	u64 slots;

	w->calm = true;
	for (slots = 0; slots < LAPS << 16; slots += w->slots) {
		ASSERT_EQ(0, run(w, &gda_dialect_mlx5, LONG_STEPS, NEVER));
		ASSERT_EQ(GDA_QP_READY, w->qp->q.state);
		ASSERT_EQ(w->posted, w->left);
	}
}

/* How often the model finds fault with a dialect that breaks a rule. */
static u32 found(const struct gda_dialect_ops *dialect)
{
	u32 i, n = 0;

	for (i = 0; i < 1000; i++) {
		struct world *w = open_world(i);

		n += run(w, dialect, STEPS, NEVER) != 0;
		close_world(w);
	}
	return n;
}

TEST(planted_out_of_order)
{
	struct gda_dialect_ops planted = gda_dialect_mlx5;

	EXPECT_EQ(0, found(&planted));
	planted.unordered = true;
	EXPECT_LT(100, found(&planted));
}

TEST(planted_survives)
{
	struct gda_dialect_ops planted = gda_dialect_mlx5;

	planted.fatal = th_never_fatal;
	EXPECT_LT(10, found(&planted));
}

TEST_HARNESS_MAIN

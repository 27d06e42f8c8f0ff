// SPDX-License-Identifier: MIT
/*
 * Values put to a peer over queues of the efa dialect, as NCCL's EFA-GDA back end does it: an 8-byte
 * write tells its target by a counter of arrivals, for the queue promises no order. Three rounds: a put
 * that tells nobody, one that signals, and a burst of eight of which seven are deferred.
 *
 * In one process, two contexts. With GDA_ORDER=random:SEED the in-process device carries the writes out
 * in any order.
 */
#define GDA_WQE_EFA
#include <stdio.h>
#include <string.h>
#include <gda/fastpath.h>
#include <gda/gda.h>

#define BURST	8
#define SECOND	1000000000U

struct side {
	struct gda_context *ctx;
	struct gda_qp *data;		/* tells nobody */
	struct gda_qp *signal;		/* its target counts what arrives: that is the signal */
	struct gda_counter *arrived;
	struct gda_mr *mr;
	struct gda_address at[2];
	uint64_t word[BURST];
};

static struct side a, b;

static int side_open(struct side *s)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .dialect = GDA_DIALECT_EFA };
	int err = gda_open(NULL, &s->ctx);

	err = err ? err : gda_counter_create(s->ctx, &s->arrived);
	err = err ? err : gda_qp_create(s->ctx, &attr, &s->data);
	attr.recv_counter = s->arrived;
	err = err ? err : gda_qp_create(s->ctx, &attr, &s->signal);
	err = err ? err : gda_qp_address(s->data, &s->at[0]);
	err = err ? err : gda_qp_address(s->signal, &s->at[1]);
	return err ? err : gda_mr_reg(s->ctx, s->word, sizeof(s->word), GDA_ACCESS_ALL, 0, &s->mr);
}

static int side_connect(struct side *s, const struct side *to)
{
	int err = gda_qp_connect(s->data, &to->at[0]);

	return err ? err : gda_qp_connect(s->signal, &to->at[1]);
}

static uint64_t arrived(const struct side *s)
{
	return __atomic_load_n(&gda_counter_memory(s->arrived)->value, __ATOMIC_ACQUIRE);
}

/* The target waits for a signal. */
static int wait_for(const struct side *s, uint64_t signals)
{
	uint64_t end = gda_clock_ns() + SECOND;

	while (arrived(s) < signals) {
		if (gda_clock_ns() > end)
			return -1;
		gda_yield();
	}
	return 0;
}

static int64_t put(struct gda_qp *qp, unsigned int i, uint64_t value, unsigned int flags)
{
	return gda_put_value(gda_qp_view(qp), gda_mr_iova(b.mr) + 8 * i, gda_mr_key(b.mr), value,
			     flags);
}

static int check(const char *what, int ok)
{
	printf("%-44s %s\n", what, ok ? "ok" : "FAILED");
	return !ok;
}

int main(void)
{
	struct gda_view *signal;
	int64_t ticket;
	unsigned int i;
	int failed = 0, good = 1;

	if (side_open(&a) || side_open(&b) || side_connect(&a, &b) || side_connect(&b, &a)) {
		fprintf(stderr, "%s\n", gda_last_error());
		return 1;
	}
	signal = gda_qp_view(a.signal);

	ticket = put(a.data, 0, 0x1111, 0);
	failed += check("a put that tells nobody",
			!gda_wait(gda_qp_view(a.data), ticket, 0) && b.word[0] == 0x1111 &&
			!arrived(&b));

	put(a.signal, 0, 0x2222, 0);
	failed += check("a put whose arrival is a signal", !wait_for(&b, 1) && b.word[0] == 0x2222);

	/* eight signals say that all eight have arrived; one says nothing of which */
	for (i = 0; i < BURST; i++)
		put(a.signal, i, 0x3300 + i, GDA_EXCLUSIVE | (i < BURST - 1 ? GDA_DEFER : 0));
	good = !wait_for(&b, 1 + BURST);
	for (i = 0; i < BURST; i++)
		good &= b.word[i] == 0x3300 + i;
	failed += check("a burst of eight, seven deferred", good);
	failed += check("nothing is outstanding", !gda_quiet(signal, 0) && arrived(&b) == 1 + BURST);
	return failed != 0;	/* ending the process cleans up */
}

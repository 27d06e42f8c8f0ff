// SPDX-License-Identifier: MIT
/*
 * bench_efa --count MODE - what a post to an efa queue costs, in a program that speaks mlx5, too,
 * and what a completion costs that is taken with seven others. For instructions_efa.sh; the memory
 * of the queue is plain, and completions are written by hand.
 */
#define GDA_WQE_EFA
#include <stdlib.h>
#include <string.h>
#include <gda/fastpath.h>

#define PUTS	8192U

struct queue {
	struct gda_view view;
	struct gda_efa_wide_wqe sq[2 * PUTS];
	struct gda_efa_recv_cqe cq[2 * PUTS];
	uint32_t slots[2 * PUTS];
	uint64_t marks[GDA_VIEW_MARKS_BYTES / 8];
	uint64_t db;
	uint32_t rung;
};

static struct gda_view *queue_new(struct queue *q)
{
	struct gda_view_attr attr = {
		.size = sizeof(attr), .depth = 2 * PUTS, .dialect = GDA_DIALECT_EFA,
		.sq = q->sq, .dbrec = &q->rung, .db = &q->db, .cq = q->cq, .slots = q->slots,
		.marks = q->marks,
	};

	return gda_view_init(&q->view, &attr) ? NULL : &q->view;
}

#define BATCH(name, post) \
static __attribute__((noinline)) void name(struct gda_view *v, uint64_t addr, uint32_t key) \
{ \
	uint32_t i; \
	for (i = 0; i < PUTS; i++) \
		post; \
}

BATCH(count_exclusive, gda_put(v, addr + i, key, addr, key, 8, GDA_EXCLUSIVE))
BATCH(count_shared, gda_put(v, addr + i, key, addr, key, 8, 0))
BATCH(count_value, gda_put_value(v, addr, key, i, GDA_EXCLUSIVE))

static const struct {
	const char *name;
	void (*batch)(struct gda_view *v, uint64_t addr, uint32_t key);
} modes[] = {
	{ "exclusive", count_exclusive },
	{ "shared", count_shared },
	{ "value", count_value },
};

/* Eight are done each time that somebody looks, in the order of posting, or not. */
static void complete(struct queue *q, uint64_t at, uint64_t ticket)
{
	struct gda_efa_recv_cqe *e = &q->cq[at];

	e->id = gda_efa_le16((uint16_t)ticket);
	e->status = 0;
	e->flags = GDA_EFA_CQE_SENT | GDA_EFA_CQE_PHASE;
}

static __attribute__((noinline)) int count_reap(struct gda_view *v, int64_t ticket)
{
	return gda_test(v, ticket);
}

static int reap(struct queue *q, uint64_t mix)
{
	uint64_t i, k;

	modes[0].batch(&q->view, 4096, 7);
	for (i = 0; i < PUTS; i += 8) {
		for (k = 0; k < 8; k++)
			complete(q, i + k, i + (k ^ mix));
		if (count_reap(&q->view, (int64_t)(i + 7)) != 1)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct queue *q = aligned_alloc(128, (sizeof(*q) + 127) & ~127UL);
	const char *mode = argc > 2 ? argv[2] : "exclusive";
	struct gda_view *v;
	size_t i;

	memset(q, 0, sizeof(*q));
	v = queue_new(q);
	if (!v)
		return 2;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(mode, modes[i].name))
			continue;
		modes[i].batch(v, 4096, 7);
		return 0;
	}
	return reap(q, !strcmp(mode, "reap_swapped"));
}

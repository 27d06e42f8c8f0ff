// SPDX-License-Identifier: MIT
/*
 * Bytes that each verb of gda/gin.h moves, and its reports.
 */
#include <pthread.h>
#include "gin.h"

#define CELL	4096U

/* Everybody puts to everybody, itself too, and hears from everybody. */
static int put_to_all(struct g_rank *r)
{
	size_t bytes = (size_t)CELL * (r->nranks + 1);
	struct gda_window *w;
	unsigned char *mem;
	uint32_t round, i;

	G_OK(g_window(r, bytes, 0, &mem, &w));
	for (round = 0; round < 20; round++) {
		uint64_t len = round * 211 % CELL;

		g_fill(mem + (size_t)CELL * r->nranks, CELL, r->rank, round);
		for (i = 0; i < r->nranks; i++)
			G_OK(gda_gin_put(r->gin, i, gda_at(w, r->rank * CELL),
					 gda_at(w, r->nranks * CELL), len,
					 gda_gin_inc(0, r->weak)));
		G_OK(gda_gin_wait_signal(r->gin, 0, r->nranks * (round + 1), 64, 0));
		for (i = 0; i < r->nranks; i++)
			G_TRUE(g_is(mem + i * CELL, len, i, round));
		G_OK(gda_gin_flush(r->gin, 0));
		G_OK(gda_comm_barrier(r->ranks, 0));
	}
	g_window_end(mem, bytes, w);
	return 0;
}

/* Each context has signals of its own. */
static int contexts(struct g_rank *r)
{
	uint32_t next = (r->rank + 1) % r->nranks, c, s;

	for (c = 0; c < 3; c++)
		for (s = 0; s <= c; s++)
			G_OK(gda_gin_signal(gda_gin_context(r->comm, c), next,
					    gda_gin_inc(c, r->weak)));
	for (c = 0; c < 3; c++) {
		struct gda_gin *gin = gda_gin_context(r->comm, c);

		G_EQ(c, gin->index);
		G_OK(gda_gin_wait_signal(gin, c, c + 1, 64, 0));
		G_OK(gda_comm_barrier(r->ranks, 0));
		for (s = 0; s < 3; s++)
			G_EQ(s == c ? c + 1 : 0, gda_gin_read_signal(gin, s, 64));
	}
	G_TRUE(gda_gin_context(r->comm, 4) == gda_gin_context(r->comm, 1));
	return 0;
}

/* Each action, weak and strong, adds what it says, once. */
static int actions(struct g_rank *r)
{
	uint32_t next = (r->rank + 1) % r->nranks, weak;
	uint64_t sum = 0, inc = 0;
	struct gda_window *w;
	unsigned char *mem;
	int at;

	G_OK(g_window(r, CELL, GDA_WINDOW_STRICT, &mem, &w));
	for (weak = 0; weak < 2; weak++) {
		unsigned int flags = weak ? GDA_GIN_WEAK : 0;

		G_OK(gda_gin_put(r->gin, next, gda_at(w, 64), gda_at(w, 128), 8,
				 gda_gin_inc(1, flags)));
		G_OK(gda_gin_put(r->gin, next, gda_at(w, 64), gda_at(w, 128), 8,
				 gda_gin_add(2, 1ULL << 40, flags)));
		at = g_unordered(r) ? -EOPNOTSUPP : 0;
		G_EQ(at, gda_gin_put(r->gin, next, gda_at(w, 64), gda_at(w, 128), 8,
				     gda_gin_inc_at(gda_at(w, 0), flags)));
		G_EQ(at, gda_gin_put(r->gin, next, gda_at(w, 64), gda_at(w, 128), 8,
				     gda_gin_add_at(gda_at(w, 8), UINT64_MAX, flags)));
		inc++;
		sum += 1ULL << 40;
		G_OK(gda_gin_wait_signal(r->gin, 1, inc, 64, 0));
		G_OK(gda_gin_wait_signal(r->gin, 2, sum, 64, 0));
		if (!at)
			G_OK(gda_gin_wait_signal_at(r->gin, gda_at(w, 0), inc, 64, 0));
		/* the last put, which comes after what the peer has waited for */
		G_OK(gda_gin_flush(r->gin, 0));
		G_OK(gda_comm_barrier(r->ranks, 0));
		G_EQ(inc, gda_gin_read_signal(r->gin, 1, 64));
		G_EQ(at ? 0 : -(int64_t)inc, gda_gin_read_signal_at(gda_at(w, 8), 64));
		G_OK(gda_comm_barrier(r->ranks, 0));
	}
	gda_gin_reset_signal_at(gda_at(w, 8));
	G_EQ(0, gda_gin_read_signal_at(gda_at(w, 8), 64));
	g_window_end(mem, CELL, w);
	return 0;
}

/* A strong signal, with data or alone, is behind all puts before it. */
static int strong(struct g_rank *r)
{
	uint32_t next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
	struct gda_window *w;
	unsigned char *mem;
	uint32_t round, i;

	G_OK(g_window(r, 64 * CELL, 0, &mem, &w));
	for (round = 0; round < 30; round++) {
		for (i = 32; i < 64; i++) {
			g_fill(mem + i * CELL, CELL, r->rank, round + i);
			G_OK(gda_gin_put(r->gin, next, gda_at(w, (i - 32) * CELL),
					 gda_at(w, i * CELL), CELL, gda_gin_plain(0)));
		}
		if (round % 2)
			G_OK(gda_gin_signal(r->gin, next, gda_gin_inc(0, 0)));
		else
			G_OK(gda_gin_put(r->gin, next, gda_at(w, 0), gda_at(w, 32 * CELL), 8,
					 gda_gin_inc(0, 0)));
		G_OK(gda_gin_wait_signal(r->gin, 0, round + 1, 64, 0));
		for (i = 32; i < 64; i++)
			G_TRUE(g_is(mem + (i - 32) * CELL, CELL, before, round + i));
		G_OK(gda_gin_flush(r->gin, 0));
		G_OK(gda_comm_barrier(r->ranks, 0));
	}
	g_window_end(mem, 64 * CELL, w);
	return 0;
}

/* Values of each size, and nothing beside them. */
static int values(struct g_rank *r)
{
	uint32_t next = (r->rank + 1) % r->nranks, bytes;
	uint64_t value = 0x8877665544332211;
	struct gda_window *w;
	unsigned char *mem;

	G_OK(g_window(r, CELL, 0, &mem, &w));
	memset(mem, 0xee, CELL);
	G_OK(gda_comm_barrier(r->ranks, 0));
	for (bytes = 1; bytes <= 8; bytes++)
		G_OK(gda_gin_put_value(r->gin, next, gda_at(w, 16 * bytes), value, bytes,
				       gda_gin_inc(0, r->weak)));
	G_OK(gda_gin_wait_signal(r->gin, 0, 8, 64, 0));
	for (bytes = 1; bytes <= 8; bytes++) {
		G_EQ(0, memcmp(mem + 16 * bytes, &value, bytes));
		G_EQ(0xee, mem[16 * bytes + bytes]);
		G_EQ(0xee, mem[16 * bytes - 1]);
	}
	G_EQ(-EINVAL, gda_gin_put_value(r->gin, next, gda_at(w, 0), 0, 0, gda_gin_plain(0)));
	G_EQ(-EINVAL, gda_gin_put_value(r->gin, next, gda_at(w, 0), 0, 9, gda_gin_plain(0)));
	G_EQ(-EINVAL, gda_gin_put_value(r->gin, next, gda_at(w, 0), 0, 8,
					gda_gin_count(gda_gin_plain(0), 0)));
	/* where nothing is in order the ninth arrival must not count for one of the eight */
	G_OK(gda_gin_flush(r->gin, 0));
	/* an element by index */
	G_OK(gda_gin_put_value(r->gin, next, gda_at_element(w, 1024, 3, 4), 7, 4,
			       gda_gin_inc(0, r->weak)));
	G_OK(gda_gin_wait_signal(r->gin, 0, 9, 64, 0));
	G_EQ(7, mem[1024 + 12]);
	g_window_end(mem, CELL, w);
	return 0;
}

/* A counter ticks once per put, when its source may be changed. */
static int counters(struct g_rank *r)
{
	uint32_t next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
	struct gda_window *w;
	unsigned char *mem;
	uint32_t i;

	G_OK(g_window(r, 513 * CELL, 0, &mem, &w));
	for (i = 0; i < 512; i++) {
		g_fill(mem + 512 * CELL, CELL, r->rank, i);
		G_OK(gda_gin_put(r->gin, next, gda_at(w, i * CELL), gda_at(w, 512 * CELL), CELL,
				 gda_gin_count(i % 3 ? gda_gin_plain(i % 5 ? 0 : GDA_DEFER) :
					       gda_gin_inc(0, r->weak), 2)));
		G_OK(gda_gin_wait_counter(r->gin, 2, i + 1, GDA_GIN_COUNTER_BITS, 0));
		G_EQ(i + 1, gda_gin_read_counter(r->gin, 2, GDA_GIN_COUNTER_BITS));
		memset(mem + 512 * CELL, 0xff, CELL);
	}
	G_EQ(0, gda_gin_read_counter(r->gin, 1, GDA_GIN_COUNTER_BITS));
	G_OK(gda_gin_wait_signal(r->gin, 0, 171, 64, 0));
	G_OK(gda_gin_flush(r->gin, 0));
	G_OK(gda_comm_barrier(r->ranks, 0));
	for (i = 0; i < 512; i++)
		G_TRUE(g_is(mem + i * CELL, CELL, before, i));
	G_OK(gda_comm_barrier(r->ranks, 0));
	/* more puts than slots, looked at once: each is counted once */
	gda_gin_reset_counter(r->gin, 2);
	for (i = 0; i < 700; i++)
		G_OK(gda_gin_put(r->gin, (r->rank + i) % r->nranks,
				 gda_at(w, (4 * (i % 128) + r->rank) * CELL),
				 gda_at(w, 512 * CELL), 64,
				 gda_gin_count(gda_gin_plain(0), i % 2 ? 1 : 2)));
	G_OK(gda_gin_flush(r->gin, 0));
	G_EQ(350, gda_gin_read_counter(r->gin, 2, 56));
	G_EQ(350, gda_gin_read_counter(r->gin, 1, 56));
	/* 56 bits roll over */
	((uint64_t *)(uintptr_t)r->gin->counts)[2] = (1ULL << 56) - 1;
	G_OK(gda_gin_put(r->gin, next, gda_at(w, r->rank * CELL), gda_at(w, 512 * CELL), 64,
			 gda_gin_count(gda_gin_plain(0), 2)));
	G_OK(gda_gin_wait_counter(r->gin, 2, 0, 56, 0));
	G_EQ(0, gda_gin_read_counter(r->gin, 2, 56));
	g_window_end(mem, 513 * CELL, w);
	return 0;
}

/* Data that was put is got back; a flush of one peer is a request. */
static int gets(struct g_rank *r)
{
	struct gda_gin_request request;
	struct gda_window *w;
	unsigned char *mem;
	uint32_t i, k;

	G_OK(g_window(r, 32 * CELL, 0, &mem, &w));
	g_fill(mem, CELL, r->rank, 5);
	G_OK(gda_comm_barrier(r->ranks, 0));
	for (i = 0; i < r->nranks; i++) {
		for (k = 1; k < 8; k++)
			G_OK(gda_gin_get(r->gin, i, gda_at(w, 0), gda_at(w, k * CELL), CELL,
					 gda_gin_plain(k % 2 ? GDA_DEFER : 0)));
		if (i % 2) {
			G_OK(gda_gin_flush(r->gin, 0));
		} else {
			G_OK(gda_gin_flush_peer(r->gin, i, &request));
			G_OK(gda_gin_wait(r->gin, &request, 0));
			G_EQ(1, gda_gin_test(r->gin, &request));
		}
		for (k = 1; k < 8; k++)
			G_TRUE(g_is(mem + k * CELL, CELL, i, 5));
		memset(mem + CELL, 0, 7 * CELL);
	}
	G_EQ(-EINVAL, gda_gin_get(r->gin, 0, gda_at(w, 0), gda_at(w, CELL), 8,
				  gda_gin_inc(0, r->weak)));
	g_window_end(mem, 32 * CELL, w);
	return 0;
}

static int bad_arguments(struct g_rank *r)
{
	uint64_t before, delta;
	struct gda_window *w;
	unsigned char *mem;

	G_OK(g_window(r, CELL, GDA_WINDOW_STRICT, &mem, &w));
	G_EQ(-EFAULT, gda_gin_put(r->gin, 0, gda_at(w, CELL), gda_at(w, 0), 1, gda_gin_plain(0)));
	G_EQ(-EFAULT, gda_gin_put(r->gin, 0, gda_at(w, 0), gda_at(w, 1), CELL, gda_gin_plain(0)));
	G_EQ(-EFAULT, gda_gin_put(r->gin, 0, gda_at(w, 8), gda_at(w, 0), UINT64_MAX,
				  gda_gin_plain(0)));
	G_EQ(-EFAULT, gda_gin_get(r->gin, 0, gda_at(w, UINT64_MAX), gda_at(w, 0), 2,
				  gda_gin_plain(0)));
	G_EQ(-ENOTCONN, gda_gin_put(r->gin, r->nranks, gda_at(w, 0), gda_at(w, 8), 8,
				    gda_gin_plain(0)));
	G_EQ(-EINVAL, gda_gin_put(r->gin, 0, gda_at(w, 0), gda_at(w, 8), 8,
				  gda_gin_inc(r->gin->signals, r->weak)));
	/* E-18: a counter that is not there is an error, and never silence */
	G_EQ(-EINVAL, gda_gin_put(r->gin, 0, gda_at(w, 0), gda_at(w, 8), 8,
				  gda_gin_count(gda_gin_plain(0), r->gin->counters)));
	G_EQ(-EINVAL, gda_gin_signal(r->gin, 0, gda_gin_plain(0)));
	G_EQ(-EINVAL, gda_gin_wait_signal(r->gin, r->gin->signals, 1, 64, 0));
	G_EQ(-EINVAL, gda_gin_wait_signal(r->gin, 1U << 30, 1, 64, 0));
	G_EQ(-EINVAL, gda_gin_wait_shadow(r->gin, 1U << 30, 0));
	G_EQ(-EINVAL, gda_gin_follow_signal(r->gin, 1U << 30, 1, &before, &delta, 0));
	G_EQ(-EINVAL, gda_gin_wait_counter(r->gin, r->gin->counters, 1, 56, 0));
	G_EQ(-EINVAL, gda_gin_wait_counter(r->gin, 1U << 30, 1, 56, 0));
	if (!r->arrival) {
		int at = g_unordered(r) ? -EOPNOTSUPP : -EFAULT;

		G_EQ(at, gda_gin_signal(r->gin, 0, gda_gin_inc_at(gda_at(w, 4), 0)));
		G_EQ(at, gda_gin_signal(r->gin, 0, gda_gin_inc_at(gda_at(w, CELL), 0)));
	}
	/* nothing was posted */
	G_EQ(0, gda_gin_view(gda_gin_queue(r->gin, 0, 0))->reserved);
	g_window_end(mem, CELL, w);
	return 0;
}

/*
 * Deferred posts are rung once, by the next that is not, or by a flush. A dialect without NOPs rings
 * shared posts at once.
 */
static int aggregation(struct g_rank *r)
{
	struct gda_gin_queue *q = gda_gin_queue(r->gin, 0, r->rank);
	const uint32_t *dbrec = (const uint32_t *)(uintptr_t)gda_gin_view(q)->dbrec;
	uint32_t i, was = gda_nic_load32(dbrec);
	struct gda_window *w;
	unsigned char *mem;

	G_OK(g_window(r, CELL, 0, &mem, &w));
	for (i = 0; i < 31; i++) {
		G_OK(gda_gin_put(r->gin, r->rank, gda_at(w, i * 8), gda_at(w, 2048), 8,
				 gda_gin_plain(GDA_DEFER | GDA_GIN_SKIP_CREDIT)));
		if (!g_unordered(r))
			G_EQ(was, gda_nic_load32(dbrec));
	}
	G_OK(gda_gin_put(r->gin, r->rank, gda_at(w, i * 8), gda_at(w, 2048), 8,
			 gda_gin_plain(0)));
	G_EQ(gda_db_record(gda_gin_view(q)->dialect, 32), gda_nic_load32(dbrec));
	/* a flush, a request and a counter ring what was deferred */
	for (i = 0; i < 3; i++) {
		struct gda_gin_request request;

		was = gda_nic_load32(dbrec);
		G_OK(gda_gin_put(r->gin, r->rank, gda_at(w, 0), gda_at(w, 2048), 8,
				 gda_gin_count(gda_gin_plain(GDA_DEFER), 0)));
		if (!g_unordered(r))
			G_EQ(was, gda_nic_load32(dbrec));
		if (i == 0)
			G_OK(gda_gin_flush(r->gin, 0));
		if (i == 1)
			G_OK(gda_gin_wait_counter(r->gin, 0, 2, 56, 0));
		if (i == 2) {
			G_OK(gda_gin_flush_peer(r->gin, r->rank, &request));
			G_OK(gda_gin_wait(r->gin, &request, 0));
		}
	}
	G_EQ(3, gda_gin_read_counter(r->gin, 0, 56));
	g_window_end(mem, CELL, w);
	return 0;
}

/* Two entries, or by arrival or epochs one; the view counts them. */
static int entries(struct g_rank *r)
{
	struct gda_gin_queue *q = gda_gin_queue(r->gin, r->arrival ? 1 : 0, r->rank);
	struct gda_wr wr = gda_wr_fetch_add(0, 0, 0, 0, 0);
	uint64_t add = gda_gin_by_epochs(r->gin) ? 0 :
		       gda_wqe_make(gda_gin_view(q)->dialect, wr).slots;
	uint64_t said = r->gin->flags & GDA_GIN_CHECKED ? add : 0;
	struct gda_window *w;
	unsigned char *mem;

	G_OK(g_window(r, CELL, 0, &mem, &w));
	G_OK(gda_gin_put(r->gin, r->rank, gda_at(w, 0), gda_at(w, 8), 8,
			 gda_gin_count(gda_gin_inc(0, r->weak), 0)));
	G_EQ(r->arrival ? 1 : 1 + add + said, gda_gin_view(q)->reserved);
	G_OK(gda_gin_wait_signal(r->gin, 0, 1, 64, 0));
	G_OK(gda_gin_wait_counter(r->gin, 0, 1, 56, 0));
	/* E-01: without an action the data queue, with one that of the signal */
	if (r->arrival) {
		G_EQ(said, gda_gin_view(gda_gin_queue(r->gin, 0, r->rank))->reserved);
		G_OK(gda_gin_put(r->gin, r->rank, gda_at(w, 0), gda_at(w, 8), 8,
				 gda_gin_count(gda_gin_plain(0), 0)));
		G_EQ(1 + said, gda_gin_view(gda_gin_queue(r->gin, 0, r->rank))->reserved);
		G_OK(gda_gin_wait_counter(r->gin, 0, 2, 56, 0));
		/* E-05: a signal alone is a write of no bytes */
		G_OK(gda_gin_signal(r->gin, r->rank, gda_gin_inc(0, GDA_GIN_WEAK)));
		G_EQ(2, gda_gin_view(q)->reserved);
		G_OK(gda_gin_wait_signal(r->gin, 0, 2, 64, 0));
	}
	g_window_end(mem, CELL, w);
	return 0;
}

/*
 * A group is threads that synchronize: what all of them wrote before is put by one of them, and
 * what it has waited for all of them see. A barrier of pthreads is release and acquire enough.
 */
#define GROUP	4U

struct group {
	struct g_rank *r;
	struct gda_window *w;
	unsigned char *mem;
	pthread_barrier_t meet;
	int wrong;
};

struct in_group {
	struct group *group;
	uint32_t number;
	pthread_t thread;
};

static int group_round(struct group *g, uint32_t number, uint32_t round)
{
	struct g_rank *r = g->r;
	uint32_t next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
	uint32_t part = CELL / GROUP, from = number * part, err = 0;

	g_fill(g->mem + CELL + from, part, r->rank, round + number);
	pthread_barrier_wait(&g->meet);
	if (number == round % GROUP)
		err = (uint32_t)gda_gin_put(r->gin, next, gda_at(g->w, 0), gda_at(g->w, CELL), CELL,
					    gda_gin_inc(0, r->weak));
	if (number == (round + 1) % GROUP)
		err |= (uint32_t)gda_gin_wait_signal(r->gin, 0, round + 1, 64, 0);
	pthread_barrier_wait(&g->meet);
	err |= !g_is(g->mem + from, part, before, round + number);
	pthread_barrier_wait(&g->meet);
	if (!number)
		err |= (uint32_t)gda_gin_flush(r->gin, 0) |
		       (uint32_t)gda_comm_barrier(r->ranks, 0);
	pthread_barrier_wait(&g->meet);
	return err != 0;
}

static void *group_main(void *arg)
{
	struct in_group *t = arg;
	uint32_t round;

	for (round = 0; round < 20; round++)
		if (group_round(t->group, t->number, round))
			__atomic_store_n(&t->group->wrong, 1, __ATOMIC_RELAXED);
	return NULL;
}

static int groups(struct g_rank *r)
{
	struct group g = { .r = r };
	struct in_group t[GROUP];
	uint32_t i;

	G_OK(g_window(r, 2 * CELL, 0, &g.mem, &g.w));
	pthread_barrier_init(&g.meet, NULL, GROUP);
	for (i = 0; i < GROUP; i++) {
		t[i] = (struct in_group){ .group = &g, .number = i };
		G_OK(pthread_create(&t[i].thread, NULL, group_main, &t[i]));
	}
	for (i = 0; i < GROUP; i++)
		pthread_join(t[i].thread, NULL);
	pthread_barrier_destroy(&g.meet);
	G_OK(g.wrong);
	g_window_end(g.mem, 2 * CELL, g.w);
	return 0;
}

/* Whoever adds, and whichever way: the sum is there, and nothing else. */
static int sums(struct g_rank *r)
{
	uint32_t round, i, k;
	uint64_t sum;

	for (round = 0; round < 3; round++) {
		for (sum = 0, i = 0; i < r->nranks; i++)
			sum += r->arrival || round % 2 ? i + 1 : (i + 1) * (i + 7);
		for (i = 0; i < r->nranks; i++)
			for (k = 0; k <= r->rank; k++)
				G_OK(gda_gin_signal(r->gin, i, r->arrival || round % 2 ?
						    gda_gin_inc(2, r->weak) :
						    gda_gin_add(2, r->rank + 7, 0)));
		G_OK(gda_gin_wait_signal(r->gin, 2, sum, 64, 0));
		G_OK(gda_comm_barrier(r->ranks, 0));
		G_EQ(sum, gda_gin_read_signal(r->gin, 2, 64));
		gda_gin_reset_signal(r->gin, 2);
		G_OK(gda_comm_barrier(r->ranks, 0));
	}
	return 0;
}

/* A place is a window and an offset, wherever each rank has its memory. */
static int windows(struct g_rank *r)
{
	uint32_t next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
	unsigned char *mem[3];
	struct gda_window *w[3];
	uint32_t i;

	for (i = 0; i < 3; i++)
		G_OK(g_window(r, CELL << i, 0, &mem[i], &w[i]));
	g_fill(mem[2], CELL, r->rank, 9);
	for (i = 0; i < 3; i++)
		G_OK(gda_gin_put(r->gin, next, gda_at(w[i], (CELL << i) - 100),
				 gda_at(w[2], 8 * i), 100, gda_gin_inc(i, r->weak)));
	for (i = 0; i < 3; i++) {
		unsigned char want[CELL];

		g_fill(want, CELL, before, 9);
		G_OK(gda_gin_wait_signal(r->gin, i, 1, 64, 0));
		G_OK(memcmp(mem[i] + (CELL << i) - 100, want + 8 * i, 100));
		G_TRUE(gda_at_local(gda_at(w[i], 5)) == mem[i] + 5);
		G_EQ(CELL << i, w[i]->bytes);
	}
	G_OK(gda_gin_flush(r->gin, 0));
	for (i = 3; i--; )
		g_window_end(mem[i], CELL << i, w[i]);
	return 0;
}

/* Read for each wait: one that is more than a second past is another error. */
static uint64_t soon(void)
{
	return gda_clock_ns() + 1000000;
}

/* Of waits that fail: what they waited for (issue 40, item 14). */
static int words_of_waits(struct g_rank *r)
{
	struct gda_gin_barrier b;
	struct gda_context *none;

	G_TRUE(gda_open("no-such-device", &none));
	G_OK(gda_gin_signal(r->gin, r->rank, gda_gin_inc(1, r->weak)));
	G_OK(gda_gin_wait_signal(r->gin, 1, 1, 64, 0));
	G_EQ(-ETIMEDOUT, gda_gin_wait_signal(r->gin, 1, 3, 64, soon()));
	G_TRUE(strstr(gda_last_error(), "signal 1 holds 1, 3 is waited for: not at the deadline"));
	G_EQ(-ETIMEDOUT, gda_gin_wait_counter(r->gin, 0, 5, 32, soon()));
	G_TRUE(strstr(gda_last_error(), "counter 0 holds 0, 5 is waited for"));
	/* rank 1 does not come to a barrier */
	if (!r->rank) {
		G_OK(gda_gin_barrier_begin(&b, r->gin, gda_team_world(r->comm), 0));
		G_EQ(-ETIMEDOUT, gda_gin_barrier_sync(&b, 0, gda_clock_ns() + 20000000));
		G_TRUE(strstr(gda_last_error(), "barrier 0: rank 1 has not come"));
		gda_gin_barrier_end(&b);
	}
	G_OK(gda_comm_barrier(r->ranks, 0));
	if (!r->rank)
		gda_gin_abort(r->gin);
	if (!r->rank) {
		G_EQ(-ESHUTDOWN, gda_gin_wait_signal(r->gin, 1, 9, 64, 0));
		G_TRUE(strstr(gda_last_error(), "gda_gin_abort() was called"));
	}
	return 0;
}

#define ATTR(...)	{ .signals = 3, .counters = 3, __VA_ARGS__ }

static const struct g_test tests[] = {
	{ "G_01_contexts", contexts, G_BOTH, 2, ATTR(.contexts = 3) },
	{ "G_02_put_to_all_and_itself", put_to_all, G_BOTH, 4, ATTR() },
	{ "G_03_G_09_each_action", actions, G_WORDS, 3, ATTR() },
	{ "G_04_G_13_strong_signal_is_behind_all_puts", strong, G_WORDS, 2, ATTR() },
	{ "G_05_sums_of_signals", sums, G_BOTH, 3, ATTR() },
	{ "G_10_E_04_counter_is_the_source", counters, G_BOTH, 2, ATTR() },
	{ "G_11_G_12_E_06_values", values, G_BOTH, 3, ATTR() },
	{ "G_14_G_15_G_16_get_and_flush", gets, G_BOTH, 3, ATTR() },
	{ "G_17_G_18_a_group_of_threads", groups, G_BOTH, 2, ATTR() },
	{ "G_29_places_in_windows", windows, G_BOTH, 3, ATTR() },
	{ "G_19_aggregation", aggregation, G_BOTH, 2, ATTR() },
	{ "G_24_E_18_bad_arguments", bad_arguments, G_BOTH, 2, ATTR() },
	{ "I40_14_words_of_waits", words_of_waits, G_BOTH, 2, ATTR(.barriers = 1) },
	{ "E_01_E_02_E_05_entries_and_queues", entries, G_BOTH, 2, ATTR() },
};

int main(void)
{
	return g_main(tests, sizeof(tests) / sizeof(tests[0]));
}

// SPDX-License-Identifier: MIT
/*
 * Why a ticket is not done (gda_explain()): each cause is made on purpose, on whatever device
 * gda_open(NULL) opens, and is named right.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <gda/mlx5.h>
#include <gda/ring.h>
#include "explain.h"

#define TRIES	50

S_EXPLAIN_FIXTURE(explain)

/* The cause is @why, and the line has @words. */
#define EXPECT_WHY(why, v, ticket, words) do {						\
	int why_ = gda_explain(v, ticket, self->text, sizeof(self->text));		\
											\
	EXPECT_EQ(why, why_) {								\
		TH_LOG("%s", self->text);						\
	}										\
	EXPECT_NE(NULL, strstr(self->text, words)) {					\
		TH_LOG("%s", self->text);						\
	}										\
} while (0)

TEST_F(explain, M_04_done_and_not_posted)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_qp *silent;

	EXPECT_WHY(GDA_WHY_NOT_POSTED, a->v, 0, "ticket 0: not posted: the next ticket is 0");
	ASSERT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	EXPECT_WHY(GDA_WHY_DONE, a->v, 0, "done, and nothing is outstanding");
	ASSERT_EQ(1, s_put(a, 0, b, 0, 8, GDA_DEFER));
	EXPECT_WHY(GDA_WHY_DONE, a->v, 0, "done");
	EXPECT_EQ(NULL, strstr(self->text, "outstanding"));
	gda_flush(a->v);
	ASSERT_OK(gda_quiet(a->v, 0));
	EXPECT_EQ(-EAGAIN, gda_explain(a->v, -EAGAIN, self->text, sizeof(self->text)));
	ASSERT_OK(s_qp_open(a->ctx, 8, 0, &silent));
	gda_qp_destroy(silent);
}

TEST_F(explain, M_04_not_connected)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_qp *one, *other;
	struct gda_address to;
	char words[64];

	ASSERT_OK(s_qp_open(a->ctx, 8, 0, &one));
	ASSERT_OK(s_qp_open(b->ctx, 8, 0, &other));
	ASSERT_EQ(0, gda_nop(gda_qp_view(one), 0));
	EXPECT_WHY(GDA_WHY_UNCONNECTED, gda_qp_view(one), 0, "gda_qp_connect() was not called");
	ASSERT_OK(gda_qp_address(other, &to));
	ASSERT_OK(gda_qp_connect(one, &to));
	snprintf(words, sizeof(words), "waits for QP %#x to name it", gda_qp_view(other)->qpn);
	EXPECT_WHY(GDA_WHY_PEER_WAITS, gda_qp_view(one), 0, words);
	ASSERT_OK(gda_qp_address(one, &to));
	ASSERT_OK(gda_qp_connect(other, &to));
	ASSERT_OK(gda_wait(gda_qp_view(one), 0, gda_clock_ns() + S_TIMEOUT_NS));
	EXPECT_WHY(GDA_WHY_DONE, gda_qp_view(one), 0, "done");
	gda_qp_destroy(one);
	gda_qp_destroy(other);
}

TEST_F(explain, M_04_never_rung)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	unsigned int flags = 0;
	uint64_t index;

	for (unsigned int lap = 0; lap < 3 * DEPTH; lap++)
		ASSERT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	ASSERT_EQ(3 * DEPTH, s_put(a, 0, b, 0, 8, GDA_DEFER));
	EXPECT_WHY(GDA_WHY_UNRUNG, a->v, 3 * DEPTH, "never rung");
	gda_flush(a->v);
	ASSERT_OK(gda_wait(a->v, 3 * DEPTH, 0));
	EXPECT_WHY(GDA_WHY_DONE, a->v, 3 * DEPTH, "done");
	ASSERT_OK(gda_quiet(a->v, 0));
	ASSERT_EQ(3 * DEPTH + 2, s_put(a, 0, b, 0, 8, GDA_EXCLUSIVE | GDA_DEFER));
	EXPECT_WHY(GDA_WHY_UNRUNG, a->v, 3 * DEPTH + 2, "never rung");
	gda_flush(a->v);
	ASSERT_OK(gda_quiet(a->v, 0));
	/* a poster that has taken a slot, and does not go on */
	ASSERT_EQ(0, gda_reserve(a->v, 1, &flags, &index));
	EXPECT_WHY(GDA_WHY_UNWRITTEN, a->v, (int64_t)index, "still at it");
}

TEST_F(explain, M_04_failed_and_flushed)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];

	ASSERT_EQ(0, gda_put(a->v, a->mem.iova, a->mem.key, b->mem.iova, b->mem.key ^ 1, 8,
			     GDA_DEFER));
	ASSERT_EQ(1, s_put(a, 0, b, 0, 8, 0));
	ASSERT_EQ(-ECANCELED, gda_wait(a->v, 1, 0));
	EXPECT_WHY(GDA_WHY_FAILED, a->v, 0, "remote access error");
	EXPECT_WHY(GDA_WHY_FLUSHED, a->v, 1, "ticket 0 failed before");
}

TEST_F(explain, M_04_peer_gone)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];

	ASSERT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	ASSERT_OK(gda_qp_destroy(b->qp));
	b->qp = NULL;
	/* the worker finds out in its own time */
	for (int i = 0; i < 20000; i++) {
		struct gda_error error = { .size = sizeof(error) };

		if (gda_error(a->v, &error))
			break;
		usleep(1000);
	}
	ASSERT_EQ(1, s_put(a, 0, b, 0, 8, 0));
	EXPECT_WHY(GDA_WHY_PEER_GONE, a->v, 1, "the peer is gone");
}

TEST_F(explain, M_04_overflow)
{
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = 2 };
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 2,
				    .timeout_ns = S_TIMEOUT_NS };
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_qp *from, *to;
	struct gda_cq *cq;
	struct gda_view *v;

	S_NEEDS(a->ctx, GDA_FEATURE_CQ_RING);
	ASSERT_OK(s_qp_open(b->ctx, 8, 0, &to));
	ASSERT_OK(gda_cq_create(a->ctx, &ring, &cq));
	attr.cq = cq;
	ASSERT_OK(gda_qp_create(a->ctx, &attr, &from));
	ASSERT_OK(s_connect(from, to));
	v = gda_qp_view(from);
	__atomic_store_n((uint32_t *)(uintptr_t)gda_cq_view(cq)->record, gda_be32(0x800000),
			 __ATOMIC_RELEASE);
	ASSERT_EQ(0, gda_nop(v, 0));
	for (int i = 0; i < 20000 && gda_explain(v, 0, self->text, sizeof(self->text)) !=
	     GDA_WHY_OVERFLOW; i++)
		usleep(1000);
	EXPECT_WHY(GDA_WHY_OVERFLOW, v, 0, "overflowed at ticket 0");
	gda_qp_destroy(from);
	gda_qp_destroy(to);
	gda_cq_destroy(cq);
}

TEST_F(explain, M_04_peer_full)
{
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = 2 };
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 8, .rnr_retry = 6,
				    .timeout_ns = S_TIMEOUT_NS, .min_rnr_timer = 31 };
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_qp *from, *to;
	struct gda_view *v;
	struct gda_cq *cq;
	int why = 0;

	S_NEEDS(a->ctx, GDA_FEATURE_IMM | GDA_FEATURE_RNR_RETRY);
	ASSERT_OK(gda_cq_create(b->ctx, &ring, &cq));
	ASSERT_OK(gda_qp_create(a->ctx, &attr, &from));
	attr.recv_cq = cq;
	ASSERT_OK(gda_qp_create(b->ctx, &attr, &to));
	ASSERT_OK(s_connect(from, to));
	v = gda_qp_view(from);
	for (int i = 0; i < 4; i++)
		ASSERT_EQ(i, gda_put_imm(v, a->mem.iova, a->mem.key, b->mem.iova, b->mem.key, 8,
					 7, 0));
	ASSERT_OK(gda_wait(v, 1, 0));
	/* it is tried again for three seconds */
	for (int i = 0; i < 2500 && why != GDA_WHY_PEER_FULL; i++) {
		why = gda_explain(v, 2, self->text, sizeof(self->text));
		usleep(1000);
	}
	EXPECT_EQ(GDA_WHY_PEER_FULL, why) {
		TH_LOG("%s", self->text);
	}
	EXPECT_WHY(GDA_WHY_PEER_FULL, v, 3, "no room for an immediate");
	gda_qp_destroy(from);
	gda_qp_destroy(to);
	gda_cq_destroy(cq);
}

/* --- the worker has no processor: it is idle, and somebody else spins on the only one --- */

static int stop;

static void *spin(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		;
	return NULL;
}

static bool reads(const char *dir, const char *id, const char *begin)
{
	char path[300], comm[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/comm", dir, id);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(comm, sizeof(comm), f))
		comm[0] = '\0';
	fclose(f);
	return !strncmp(comm, begin, strlen(begin));
}

/* Make the threads below @dir that are called so idle ones of processor @cpu: how many? */
static int starve(const char *dir, const char *begin, int cpu)
{
	const struct sched_param none = { 0 };
	DIR *d = opendir(dir);
	struct dirent *e;
	cpu_set_t set;
	int n = 0;

	if (!d)
		return 0;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	while ((e = readdir(d))) {
		int id = atoi(e->d_name);

		if (id > 0 && reads(dir, e->d_name, begin) &&
		    !sched_setaffinity(id, sizeof(set), &set) &&
		    !sched_setscheduler(id, SCHED_IDLE, &none))
			n++;
	}
	closedir(d);
	return n;
}

TEST_F(explain, M_04_no_processor)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	bool inproc = s_inproc(a->ctx);
	pthread_t hog[2];
	cpu_set_t all, one;
	int64_t t = -1;
	int why = 0, cpu = 0, starved = 0;

	ASSERT_EQ(0, sched_getaffinity(0, sizeof(all), &all));
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	/* a new thread has not named itself yet */
	for (int i = 0; i < 1000 && starved < 2; i++) {
		starved = starve(inproc ? "/proc/self/task" : "/proc",
				 inproc ? "gda-inproc" : "gda/", cpu);
		usleep(1000);
	}
	if (starved < 2)
		SKIP(return, "the workers are out of reach: not root");
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_create(&hog[i], NULL, spin, NULL));
		ASSERT_EQ(0, pthread_setaffinity_np(hog[i], sizeof(one), &one));
	}
	for (int i = 0; i < TRIES && why != GDA_WHY_NO_PROCESSOR; i++) {
		t = s_put(a, 0, b, 0, 8, 0);
		ASSERT_GE(t, 0);
		/* the kernel's device carries a post out by its fault, where the worker cannot */
		if (!inproc)
			ASSERT_OK(gda_wait(a->v, t, 0));
		why = gda_explain(a->v, t, self->text, sizeof(self->text));
		/* in a guest that has few processors itself, the hogs do not run all the time */
		if (why != GDA_WHY_NO_PROCESSOR)
			usleep(1000 * (unsigned int)i);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	EXPECT_EQ(inproc ? GDA_WHY_NO_PROCESSOR : GDA_WHY_DONE, why) {
		TH_LOG("%s", self->text);
	}
	EXPECT_NE(NULL, strstr(self->text, inproc ? "no processor" : "done"));
	for (int i = 0; i < 2; i++)
		pthread_join(hog[i], NULL);
	ASSERT_OK(gda_quiet(a->v, gda_clock_ns() + S_TIMEOUT_NS));
	EXPECT_WHY(GDA_WHY_DONE, a->v, t, "done");
}

/* Rung by the record alone, which no fault tells the kernel of. */
TEST_F(explain, M_04_worker_not_woken)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint64_t before = UINT64_MAX;
	int why = 0, same = 0;

	if (!s_has(a->ctx, GDA_FEATURE_DOORBELL_FAULT))
		SKIP(return, "the workers of this device poll");
	/* until its doorbells are silent: on a busy machine one look may miss a pass */
	for (int i = 0; i < 1000 && same < 10; i++) {
		struct gda_qp_query q = { .size = sizeof(q) };

		ASSERT_OK(gda_qp_query(a->qp, &q));
		same = q.worker == GDA_QP_WORKER_SLEEPS && q.passes == before ? same + 1 : 0;
		before = q.passes;
		usleep(20000);
	}
	ASSERT_EQ(0, s_put(a, 0, b, 0, 8, GDA_DEFER));
	gda_nic_store32((uint32_t *)(uintptr_t)a->v->dbrec, gda_db_record(a->v->dialect, 1));
	why = gda_explain(a->v, 0, self->text, sizeof(self->text));
	EXPECT_EQ(GDA_WHY_ASLEEP, why) {
		TH_LOG("%s", self->text);
	}
	EXPECT_NE(NULL, strstr(self->text, "GDA_QP_POLLED"));
	gda_flush(a->v);
	ASSERT_OK(gda_quiet(a->v, 0));
}

TEST_F(explain, M_04_text_is_cut)
{
	char small[8];

	memset(small, 'x', sizeof(small));
	EXPECT_EQ(GDA_WHY_NOT_POSTED, gda_explain(self->end[0].v, 5, small, sizeof(small)));
	EXPECT_EQ(0, strcmp(small, "ticket "));
	EXPECT_EQ(GDA_WHY_NOT_POSTED, gda_explain(self->end[0].v, 5, NULL, 0));
}

/* A view of the program's own: the library has no device to ask. */
TEST_F(explain, M_04_foreign_view)
{
	static uint8_t memory[4][64] __attribute__((aligned(64)));
	uint32_t slots[1];
	struct gda_view_attr attr = {
		.size = sizeof(attr), .depth = 1, .qpn = 1, .sq = memory[0], .dbrec = memory[1],
		.db = memory[2], .cq = memory[3], .slots = slots,
	};
	struct gda_view v;

	memset(memory[3], 0xff, 64);
	ASSERT_OK(gda_view_init(&v, &attr));
	EXPECT_EQ(-EOPNOTSUPP, gda_explain(&v, 0, self->text, sizeof(self->text)));
}

TEST_HARNESS_MAIN

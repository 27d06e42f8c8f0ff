// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md E1: a tenant whose rings are never empty gets its share and no more;
 * the others go on, calls return, and its own context can still be taken down.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include "gda_fixture.h"

#define HOGS	16
#define DEPTH	1024
#define LEN	(1UL << 20)

FIXTURE(fair) {
	struct t_end end[2];
};

T_SETUP(fair)
{
	ASSERT_OK(t_pair_open(self->end, 64, LEN));
}

T_TEARDOWN(fair)
{
	t_pair_close(self->end);
}

/* Many queues, each rung with a full ring of large requests, again and again. */
static int hog(void)
{
	struct t_qp *qp = calloc(HOGS, sizeof(*qp));
	int fd = t_context();
	struct t_mr mr;

	if (!qp || fd < 0 || t_mr_new(fd, LEN, GDA_ACCESS_ALL, &mr))
		return 1;
	for (int i = 0; i < HOGS; i++) {
		if (t_qp_open(&qp[i], fd, DEPTH) || t_connect(&qp[i], &qp[i]))
			return 2;
		for (int k = 0; k < DEPTH; k++) {
			struct t_wr wr = t_wr_write(&mr, 0, &mr, LEN / 2, LEN / 2);

			t_post(&qp[i], &wr);
		}
		t_ring(&qp[i]);
	}
	for (;;) {
		for (int i = 0; i < HOGS; i++) {
			struct t_done done;

			/* A completed ring is written anew: indices differ. */
			if (!t_poll(&qp[i], qp[i].next - DEPTH / 2, &done))
				continue;
			for (int k = 0; k < DEPTH / 2; k++) {
				struct t_wr wr = t_wr_write(&mr, 0, &mr, LEN / 2, LEN / 2);

				t_post(&qp[i], &wr);
			}
			t_ring(&qp[i]);
		}
		t_sleep_ns(T_NS / 1000);
	}
}

/* A tenant's share: writes of 64 KiB, and how long each took from post to seen. */
#define SAMPLES_MAX	(1U << 20)

struct share {
	unsigned long n;
	uint64_t p50, p99;
};

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Keep a ring full of 64 KiB writes for a while, without burning time. */
static int stream(struct t_end *end, uint64_t ns, struct share *share)
{
	struct t_wr wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 65536);
	struct t_qp *qp = &end[0].qp;
	uint64_t until = t_now() + ns, first = qp->next, done = first;
	uint64_t *posted = calloc(qp->depth, sizeof(*posted));
	uint32_t *us = calloc(SAMPLES_MAX, sizeof(*us));
	struct t_done d;
	int err = -ENOMEM;

	while (posted && us && t_now() < until) {
		while (qp->next - done < qp->depth) {
			posted[qp->next % qp->depth] = t_now();
			t_post(qp, &wr);
		}
		t_ring(qp);
		t_sleep_ns(T_NS / 5000);
		for (; done < qp->next && t_poll(qp, done, &d); done++) {
			if (d.error)
				goto out;
			us[(done - first) % SAMPLES_MAX] =
				(uint32_t)((t_now() - posted[done % qp->depth]) / 1000);
		}
	}
	err = t_wait(qp, qp->next - 1, NULL);
	share->n = done - first;
	if (!err && share->n) {
		size_t n = share->n < SAMPLES_MAX ? share->n : SAMPLES_MAX;

		qsort(us, n, sizeof(*us), compare);
		share->p50 = us[n / 2];
		share->p99 = us[n * 99 / 100];
	}
out:
	free(posted);
	free(us);
	return err;
}

static void print_share(const char *when, const struct share *share, const struct share *alone)
{
	printf("# %-12s %8lu writes of 64 KiB (%3lu%%), us: median %7llu, 99%% %7llu (%.2f)\n",
	       when, share->n, alone->n ? share->n * 100 / alone->n : 0,
	       (unsigned long long)share->p50, (unsigned long long)share->p99,
	       alone->p99 ? (double)share->p99 / (double)alone->p99 : 0);
}

/* GDA_STRESS=10 makes it 30 seconds each. */
TEST_F_TIMEOUT(fair, E1_never_empty_ring, 300)
{
	uint64_t ns = t_longer(3) * T_NS, start;
	struct share share[3] = { 0 };
	pid_t pid;

	ASSERT_OK(stream(self->end, ns, &share[0]));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(hog());
	}
	t_sleep_ns(T_NS / 2);
	EXPECT_OK(stream(self->end, ns, &share[1]));
	/* Control calls wait for one visit of the hog's worker at most. */
	start = t_now();
	for (int i = 0; i < 20; i++) {
		struct t_mr mr;

		ASSERT_OK(t_mr_new(self->end[0].fd, LEN, GDA_ACCESS_ALL, &mr));
		t_mr_free(self->end[0].fd, &mr);
	}
	TH_LOG("20 registrations in %llu us", (unsigned long long)(t_now() - start) / 1000);
	EXPECT_LT(t_now() - start, 20 * T_NS);
	start = t_now();
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS));
	EXPECT_LT(t_now() - start, 20 * T_NS);
	EXPECT_OK(stream(self->end, ns, &share[2]));
	print_share("alone", &share[0], &share[0]);
	print_share("beside a hog", &share[1], &share[0]);
	print_share("afterwards", &share[2], &share[0]);
	/* The bars (45%, 3) are to be read off; here, far below a fair share fails. */
	EXPECT_GT(share[1].n * 10, share[0].n < share[2].n ? share[0].n : share[2].n);
}

/* 512 MiB are posted to @big; the last index. */
static uint64_t post_much(const struct t_mr *mr, struct t_qp *big)
{
	uint64_t last = 0;

	for (int k = 0; k < DEPTH; k++) {
		struct t_wr wr = t_wr_write(mr, 0, mr, LEN / 2, LEN / 2);

		wr.ce = k + 1 < DEPTH ? 0xff : GDA_MLX5_CE_ALWAYS;
		last = t_post(big, &wr);
	}
	t_ring(big);
	return last;
}

#define TRIES	5

TEST_F(fair, E1_queues_of_one_context)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct t_qp big, small;
	uint64_t last, start;
	struct t_done done;
	struct t_wr wr;
	bool before = false;

	ASSERT_OK(t_qp_open(&big, a->fd, DEPTH));
	ASSERT_OK(t_connect(&big, &big));
	ASSERT_OK(t_qp_open(&small, a->fd, 16));
	ASSERT_OK(t_connect(&small, &small));
	wr = t_wr_write(&a->mr, 0, &a->mr, 64, 8);
	/* The small one does not wait for the big; this process may be stopped till both end. */
	for (int i = 0; i < TRIES && !before; i++) {
		start = t_now();
		last = post_much(&a->mr, &big);
		for (int k = 0; k < 20; k++)
			ASSERT_OK(t_run(&small, &wr, NULL));
		TH_LOG("20 requests beside 512 MiB in %llu us",
		       (unsigned long long)(t_now() - start) / 1000);
		before = !t_poll(&big, last, &done);
	}
	EXPECT_TRUE(before);
	/* Destroying a busy queue does not wait for it, either. */
	start = t_now();
	t_qp_close(&big);
	EXPECT_LT(t_now() - start, T_WAIT_NS);
	t_qp_close(&small);
	wr = t_wr_write(&a->mr, 0, &b->mr, 0, 8);
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md E1: a tenant whose rings are never empty gets its share and no more;
 * the others go on, calls return, and its own context can still be taken down.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include "gda_fixture.h"

#define HOGS	16
#define DEPTH	1024
#define LEN	(1UL << 20)

FIXTURE(fair) {
	struct t_objects base;
	struct t_end end[2];
};

FIXTURE_SETUP(fair)
{
	T_BASE_READ(&self->base);
	ASSERT_OK(t_pair_open(self->end, 64, LEN));
}

FIXTURE_TEARDOWN(fair)
{
	t_pair_close(self->end);
	T_BASE_CHECK(&self->base);
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

/* Keep a ring full of 64 KiB writes for a while, without burning time: how many. */
static long stream(struct t_end *end, uint64_t ns)
{
	struct t_wr wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 65536);
	struct t_qp *qp = &end[0].qp;
	uint64_t until = t_now() + ns, first = qp->next, done = first;
	struct t_done d;

	while (t_now() < until) {
		while (qp->next - done < qp->depth)
			t_post(qp, &wr);
		t_ring(qp);
		t_sleep_ns(T_NS / 5000);
		while (done < qp->next && t_poll(qp, done, &d)) {
			if (d.error)
				return -1;
			done++;
		}
	}
	if (t_wait(qp, qp->next - 1, NULL))
		return -1;
	return (long)(done - first);
}

TEST_F(fair, E1_never_empty_ring)
{
	uint64_t ns = t_stress(3) * T_NS, start;
	long n[3];
	pid_t pid;

	n[0] = stream(self->end, ns);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(hog());
	}
	t_sleep_ns(T_NS / 2);
	n[1] = stream(self->end, ns);
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
	n[2] = stream(self->end, ns);
	TH_LOG("writes of 64 KiB: %ld alone, %ld beside a hog, %ld afterwards", n[0], n[1], n[2]);
	/* Far below a fair share, but on a busy machine all figures vary. */
	EXPECT_GT(n[1] * 10, n[0] < n[2] ? n[0] : n[2]);
}

TEST_F(fair, E1_queues_of_one_context)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	uint64_t start = t_now();
	struct t_qp big, small;
	uint64_t last = 0;
	struct t_done done;
	struct t_wr wr;

	ASSERT_OK(t_qp_open(&big, a->fd, DEPTH));
	ASSERT_OK(t_connect(&big, &big));
	ASSERT_OK(t_qp_open(&small, a->fd, 16));
	ASSERT_OK(t_connect(&small, &small));
	for (int k = 0; k < DEPTH; k++) {
		wr = t_wr_write(&a->mr, 0, &a->mr, LEN / 2, LEN / 2);
		wr.ce = k + 1 < DEPTH ? 0xff : GDA_MLX5_CE_ALWAYS;
		last = t_post(&big, &wr);
	}
	t_ring(&big);
	wr = t_wr_write(&a->mr, 0, &a->mr, 64, 8);
	/* Half a GiB is queued: the small one does not wait for it. */
	for (int i = 0; i < 20; i++) {
		ASSERT_OK(t_run(&small, &wr, NULL));
	}
	TH_LOG("20 requests beside 512 MiB in %llu us",
	       (unsigned long long)(t_now() - start) / 1000);
	EXPECT_FALSE(t_poll(&big, last, &done));
	/* Destroying a busy queue does not wait for it, either. */
	start = t_now();
	t_qp_close(&big);
	EXPECT_LT(t_now() - start, 10 * T_NS);
	t_qp_close(&small);
	wr = t_wr_write(&a->mr, 0, &b->mr, 0, 8);
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Holds one of everything, after some work, until it is killed; for ynl.py. Prints its pid. A child
 * of it has ended with a QP in error, which is kept.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../kernel/gda_test.h"

/* Some work, and then some that fails, for what only a QP in error has. */
static int work(struct t_end end[2])
{
	struct t_wr wr;

	if (t_pair_open(end, 16, T_PAGE))
		return 1;
	for (int i = 0; i < 10; i++) {
		wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
		if (t_run(&end[0].qp, &wr, NULL))
			return 1;
	}
	wr.rkey ^= 1;
	t_run(&end[0].qp, &wr, NULL);
	return 0;
}

/* A QP that waits for another, with entries: some are rung for, one is written. */
static int wait_with_entries(struct t_end *end, struct t_qp *qp)
{
	struct gda_cq_create cq;
	struct gda_qp_create peer;
	struct t_wr wr = t_wr_write(&end->mr, 8, &end->mr, 64, 24);

	if (t_qp_open(qp, end->fd, 16) || t_cq_create(end->fd, 0, 16, &cq) ||
	    t_qp_create(end->fd, cq.handle, 16, &peer) ||
	    t_qp_connect(end->fd, qp->qpc.handle, end->fd, peer.handle))
		return 1;
	t_post(qp, &wr);
	wr.opcode = GDA_MLX5_READ;
	t_post(qp, &wr);
	t_ring(qp);
	wr = (struct t_wr) { .opcode = GDA_MLX5_NOP };
	t_post(qp, &wr);
	return 0;
}

int main(void)
{
	struct gda_counter_create counter = { .size = sizeof(counter) };
	struct t_end end[2];
	struct t_qp qp;
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(work(end));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status || work(end) ||
	    t_ioctl(end[0].fd, GDA_IOC_COUNTER_CREATE, &counter) ||
	    wait_with_entries(&end[0], &qp))
		return 1;
	/* until the workers sleep */
	t_sleep_ns(T_NS / 2);
	printf("%d\n", getpid());
	fflush(stdout);
	pause();
	return 0;
}

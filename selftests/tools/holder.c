// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Holds one of everything, after some work, until it is killed; for ynl.py. Prints its pid. */
#include <stdio.h>
#include <unistd.h>
#include "../kernel/gda_test.h"

int main(void)
{
	struct gda_counter_create counter = { .size = sizeof(counter) };
	struct t_end end[2];
	struct t_wr wr;

	if (t_pair_open(end, 16, T_PAGE) ||
	    t_ioctl(end[0].fd, GDA_IOC_COUNTER_CREATE, &counter))
		return 1;
	for (int i = 0; i < 10; i++) {
		wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
		if (t_run(&end[0].qp, &wr, NULL))
			return 1;
	}
	/* and one that fails, for what only a QP in error has */
	wr.rkey ^= 1;
	t_run(&end[0].qp, &wr, NULL);
	/* until the workers sleep */
	t_sleep_ns(T_NS / 2);
	printf("%d\n", getpid());
	fflush(stdout);
	pause();
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A context of user nobody, for tests of who sees what: tenant.h says what. */
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "nl.h"
#include "tenant.h"

bool t_tenant_closed;

int t_tenant_open(struct t_tenant *t)
{
	struct gda_counter_create counter = { .size = sizeof(counter) };
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_nl nl;
	struct t_mr mr;
	struct t_qp qp;

	/* as a program that its user has started: one that has dropped rights is closed to it */
	if (prctl(PR_SET_DUMPABLE, !t_tenant_closed))
		return -errno;
	t->fd = t_context();
	if (t->fd < 0)
		return t->fd;
	if (t_qp_open(&qp, t->fd, 16) || t_mr_new(t->fd, T_PAGE, 0, &mr) ||
	    t_ioctl(t->fd, GDA_IOC_COUNTER_CREATE, &counter) || t_nl_open(&nl))
		return -EINVAL;
	/* not connected: what is posted stays */
	t_post(&qp, &nop);
	t->handle[0] = qp.qpc.handle;
	t->handle[1] = qp.cqc.handle;
	t->handle[2] = mr.handle;
	t->handle[3] = counter.handle;
	t->context = t_nl_my_context(&nl);
	t_nl_close(&nl);
	return t->context ? 0 : -ENOENT;
}

int t_beside_tenant(int (*fn)(void *), int (*become)(void))
{
	int told[2], stay[2], err, status;
	struct t_tenant t = { 0 };
	pid_t pid;
	char c;

	CHECK(!pipe(told) && !pipe(stay));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(stay[1]);
		if ((become && become()) || t_drop(true) || t_tenant_open(&t))
			_exit(125);
		if (write(told[1], &t, sizeof(t)) != sizeof(t))
			_exit(124);
		_exit(read(stay[0], &c, 1) != 0);
	}
	close(told[1]);
	err = read(told[0], &t, sizeof(t)) == sizeof(t) ? t_in_child(fn, &t) : 123;
	close(stay[1]);
	close(stay[0]);
	close(told[0]);
	waitpid(pid, &status, 0);
	return err ? err : WEXITSTATUS(status);
}

int t_tenant_die(void *unused)
{
	struct t_end end[2];
	struct t_wr wr;

	(void)unused;
	CHECK(!t_drop(true));
	CHECK(!t_pair_open(end, 16, T_PAGE));
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
	wr.rkey ^= 1;
	CHECK(t_run(&end[0].qp, &wr, NULL) > 0);
	return 0;
}

int t_become_other(void)
{
	return setgroups(0, NULL) || setresgid(T_OTHER, T_OTHER, T_OTHER) ||
	       setresuid(T_OTHER, T_OTHER, T_OTHER) ? -errno : 0;
}

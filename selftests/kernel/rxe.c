// SPDX-License-Identifier: GPL-2.0 OR MIT
/* rdma_rxe and gda_ib for the kernel selftests: rxe.h says what. */
#include <sys/wait.h>
#include "rxe.h"

/* Run a command, and say nothing: 0, or -EIO. */
static int t_command(const char *command)
{
	char line[512];
	int status;

	snprintf(line, sizeof(line), "{ %s; } >/dev/null 2>&1", command);
	status = system(line);
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

int t_rxe_add(void)
{
	return t_command("rdma link add " T_RXE " type rxe netdev gda-rxe");
}

int t_rxe_del(void)
{
	return t_command("rdma link del " T_RXE);
}

int t_ib_load(void)
{
	return t_module_insert_built("kmod", "gda_ib");
}

int t_ib_unload(void)
{
	return t_module_remove("gda_ib");
}

int t_rxe_up(void)
{
	int err;

	if (t_command("modprobe -a rdma_rxe rdma_cm"))
		return -ENOENT;
	err = t_command("ip link add gda-rxe type dummy");
	if (!err)
		err = t_command("ip addr add 10.9.0.1/24 dev gda-rxe");
	if (!err)
		err = t_command("ip link set gda-rxe mtu 4200 up");
	if (!err)
		err = t_rxe_add();
	return err ? err : t_ib_load();
}

int t_rxe_down(void)
{
	int err = t_ib_unload();

	if (err == -ENOENT)
		err = 0;
	t_rxe_del();
	t_command("ip link del gda-rxe");
	return err;
}

int t_ib_pair_make(struct t_end end[2], uint32_t depth, size_t mr_len)
{
	memset(end, 0, 2 * sizeof(end[0]));
	for (int i = 0; i < 2; i++) {
		int err;

		end[i].fd = t_context_on(T_IB);
		if (end[i].fd < 0)
			return end[i].fd;
		err = t_qp_open(&end[i].qp, end[i].fd, depth);
		if (!err)
			err = t_mr_new(end[i].fd, mr_len, GDA_ACCESS_ALL, &end[i].mr);
		if (err)
			return err;
	}
	return 0;
}

int t_ib_wait_ready(const struct t_qp *qp)
{
	uint64_t until = t_now() + T_WAIT_NS;
	struct gda_qp_query query;

	for (;;) {
		int err = t_qp_query(qp->fd, qp->qpc.handle, &query);

		if (err)
			return err;
		if (query.state == GDA_QP_READY)
			return 0;
		if (query.state == GDA_QP_ERROR)
			return -EIO;
		if (t_now() > until)
			return -ETIMEDOUT;
		t_sleep_ns(1000000);
	}
}

int t_ib_pair_open(struct t_end end[2], uint32_t depth, size_t mr_len)
{
	int err = t_ib_pair_make(end, depth, mr_len);

	if (!err)
		err = t_connect(&end[0].qp, &end[1].qp);
	for (int i = 0; i < 2 && !err; i++)
		err = t_ib_wait_ready(&end[i].qp);
	return err;
}

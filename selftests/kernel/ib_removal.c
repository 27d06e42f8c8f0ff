// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * An RDMA device that goes while it is used: whoever waits is told that it was the device, not a
 * byte moves afterwards, and it can come again. And a connected context that has nothing to
 * do costs nothing.
 */
#include <dirent.h>
#include "gda_fixture.h"
#include "rxe.h"

#define LEN	(256U << 10)
#define DEPTH	64

T_RXE_FIXTURE(ib_removal)

/* Until the queue has failed; the vendor syndrome of its first error. */
static int told(const struct t_qp *qp)
{
	uint64_t until = t_now() + T_WAIT_NS;
	struct t_done done;

	do {
		memset(&done, 0, sizeof(done));
		t_poll(qp, qp->next - 1, &done);
	} while (!done.error && t_now() < until);
	return done.error ? done.first_vendor : -ETIMEDOUT;
}

/* Does the RDMA stack list a queue pair that gda_ib made? */
static bool queues_are_listed(void)
{
	return !system("rdma res show qp | grep -qF '[gda_ib]'");
}

/* A device that has got another name goes by it, and the old one is free for the next device. */
TEST_F(ib_removal, item_4_renamed)
{
	struct t_qp qp;
	int fd;

	ASSERT_OK(t_ib_pair_open(self->end, DEPTH, LEN));
	ASSERT_EQ(0, system("rdma dev set " T_RXE " name gda_other"));
	EXPECT_EQ(-ENOENT, t_context_on(T_IB));
	fd = t_context_on("ib:gda_other");
	ASSERT_LE(0, fd);
	close(fd);
	ASSERT_EQ(0, system("ip link add gda-dummy2 type dummy"));
	ASSERT_EQ(0, system("ip addr add 10.9.1.1/24 dev gda-dummy2"));
	ASSERT_EQ(0, system("ip link set gda-dummy2 up"));
	ASSERT_EQ(0, system("rdma link add " T_RXE " type rxe netdev gda-dummy2"));
	fd = t_context_on(T_IB);
	EXPECT_LE(0, fd);
	/* each is itself */
	EXPECT_OK(t_qp_open(&qp, fd, DEPTH));
	t_qp_close(&qp);
	close(fd);
	ASSERT_EQ(0, system("rdma link del " T_RXE " && ip link del gda-dummy2"));
	ASSERT_EQ(0, system("rdma dev set gda_other name " T_RXE));
	fd = t_context_on(T_IB);
	EXPECT_LE(0, fd);
	close(fd);
	EXPECT_EQ(-ENOENT, t_context_on("ib:gda_other"));
}

TEST_F_TIMEOUT(ib_removal, E4_under_traffic, 300)
{
	unsigned long rounds = t_short(6, 10);
	unsigned int seed = 1;
	uint64_t longest = 0;

	/*
	 * ib_core posts the receive of a datagram, which is one of any connection manager's,
	 * again to a QP of its own that it is destroying. rdma_rxe warns of that, once.
	 */
	printf("# dmesg: WARNING: .* rxe_post_recv|Call Trace:\n");
	fflush(stdout);
	for (unsigned long r = 0; r < rounds; r++) {
		struct gda_cq_create cq;
		bool read = r % 2;
		struct t_end idle[2];
		uint8_t *copy = malloc(LEN);
		uint64_t begin, took;
		struct t_mr mr;

		ASSERT_NE(NULL, copy);
		ASSERT_OK(t_ib_pair_open(self->end, DEPTH, LEN));
		ASSERT_OK(t_ib_pair_open(idle, DEPTH, T_PAGE));
		EXPECT_TRUE(queues_are_listed());
		memset(self->end[read].mr.addr, (int)r + 1, LEN);
		t_traffic(&self->end[0].qp, &self->end[read].mr, &self->end[!read].mr, read);
		t_sleep_ns((uint64_t)(rand_r(&seed) % 50000) * 1000);
		begin = t_now();
		ASSERT_OK(t_rxe_del());
		took = t_now() - begin;
		longest = took > longest ? took : longest;
		/* from here on it is not touched */
		memcpy(copy, self->end[!read].mr.addr, LEN);
		EXPECT_EQ(GDA_MLX5_VENDOR_DEVICE, told(&self->end[0].qp)) TH_LOG("round %lu", r);
		EXPECT_EQ(GDA_MLX5_VENDOR_DEVICE, told(&idle[0].qp)) TH_LOG("round %lu", r);
		EXPECT_EQ(GDA_MLX5_VENDOR_DEVICE, told(&idle[1].qp)) TH_LOG("round %lu", r);
		EXPECT_EQ(0, memcmp(copy, self->end[!read].mr.addr, LEN));
		EXPECT_EQ(-ENODEV, t_cq_create(self->end[0].fd, GDA_CQ_COLLAPSED, 1, &cq));
		EXPECT_EQ(-ENODEV, t_mr_reg(self->end[0].fd, copy, LEN, 0, &mr));
		EXPECT_EQ(-ENOENT, t_context_on(T_IB));
		/* a device of that name comes while contexts of the old one are there */
		ASSERT_OK(t_rxe_add());
		EXPECT_FALSE(queues_are_listed());
		t_pair_close(self->end);
		t_pair_close(idle);
		memset(self->end, 0, sizeof(self->end));
		free(copy);
	}
	TH_LOG("a removal took %llu ms at most", (unsigned long long)longest / 1000000);
	EXPECT_GT(T_WAIT_NS, longest);
}

/* The module goes and comes with contexts of its device in between. */
TEST_F_TIMEOUT(ib_removal, E10_loads, 300)
{
	unsigned long rounds = t_short(11, 100);

	for (unsigned long r = 0; r < rounds; r++) {
		ASSERT_OK(t_ib_unload());
		ASSERT_OK(t_ib_load());
		if (r % 10)
			continue;
		ASSERT_OK(t_ib_pair_open(self->end, DEPTH, T_PAGE));
		t_traffic(&self->end[0].qp, &self->end[0].mr, &self->end[1].mr, false);
		EXPECT_EQ(-EAGAIN, t_ib_unload());
		t_pair_close(self->end);
		memset(self->end, 0, sizeof(self->end));
	}
}

/* How often workers have given up the processor of their own accord, all of them together. */
static long worker_switches(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	long sum = 0;

	while (proc && (d = readdir(proc))) {
		char path[300], comm[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (!fgets(comm, sizeof(comm), f))
			comm[0] = 0;
		fclose(f);
		if (strncmp(comm, "gda/", 4))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/status", d->d_name);
		sum += t_proc_value(path, "voluntary_ctxt_switches");
	}
	if (proc)
		closedir(proc);
	return sum;
}

TEST_F(ib_removal, I_idle)
{
	long before = 0, after = -1;
	struct t_wr wr;

	ASSERT_OK(t_ib_pair_open(self->end, DEPTH, T_PAGE));
	wr = t_wr_write(&self->end[0].mr, 0, &self->end[1].mr, 0, 8);
	ASSERT_OK(t_run(&self->end[0].qp, &wr, NULL));
	t_sleep_ns(T_NS);
	/* they sleep after a time that depends on the machine, but then for good */
	for (int i = 0; i < 5 && before != after; i++) {
		before = worker_switches();
		EXPECT_LT(0, before);
		t_sleep_ns(10 * T_NS);
		after = worker_switches();
	}
	EXPECT_EQ(before, after);
	/* and then it is awake again */
	ASSERT_OK(t_run(&self->end[0].qp, &wr, NULL));
}

TEST_HARNESS_MAIN

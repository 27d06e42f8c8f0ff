// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * gdactl's commands of the netlink family: what they say of work that was done here, and why
 * queues hang, each cause made on purpose.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../kernel/gda_fixture.h"
#include "../kernel/group.h"
#include "../kernel/nl.h"
#include "gdactl.h"

FIXTURE(gdactl) {
	char out[ROOM];
};

T_SETUP(gdactl)
{
}

T_TEARDOWN(gdactl)
{
}

TEST_F(gdactl, commands)
{
	char number[64];
	struct t_end end[2];
	struct t_wr wr;

	ASSERT_OK(t_pair_open(end, 16, T_PAGE));
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
	ASSERT_OK(t_run(&end[0].qp, &wr, NULL));
	EXPECT_EQ(0, run(self->out, "device"));
	EXPECT_SAYS(GDA_DEVICE_SOFT);
	EXPECT_EQ(0, run_on(self->out, "context pid", (uint32_t)getpid()));
	EXPECT_SAYS("gdactl");
	EXPECT_EQ(0, run_on(self->out, "--json qp pid", (uint32_t)getpid()));
	snprintf(number, sizeof(number), "\"qpn\":%u,\"state\":\"ready\",\"peer-qpn\":%u",
		 end[0].qp.qpc.qpn, end[1].qp.qpc.qpn);
	EXPECT_SAYS(number);
	EXPECT_SAYS("\"executed\":1,\"flushed\":0,\"bytes\":8,\"doorbells\":1,\"visits\":1");
	EXPECT_EQ(0, run_on(self->out, "--json mr pid", (uint32_t)getpid()));
	snprintf(number, sizeof(number), "\"key\":%u,\"kind\":\"user\",\"state\":\"live\"",
		 end[1].mr.key);
	EXPECT_SAYS(number);
	EXPECT_EQ(0, run_on(self->out, "cq pid", (uint32_t)getpid()));
	EXPECT_SAYS("COLLAPSED");
	EXPECT_EQ(0, run(self->out, "counter"));
	EXPECT_EQ(0, run(self->out, "stats"));
	EXPECT_EQ(0, run(self->out, "limits"));
	EXPECT_SAYS("MAX-CONTEXTS");
	EXPECT_EQ(1, run(self->out, "limits set idle-us 1000001"));
	EXPECT_SAYS("more than a second");
	EXPECT_EQ(0, run(self->out, "top times 1"));
	EXPECT_SAYS("WORK/s");
	t_pair_close(end);
}

/* Where does column @n of a line begin? Columns are two spaces or more apart. */
static size_t column(const char *line, int n)
{
	size_t at = strspn(line, " ");

	while (n-- && line[at] && line[at] != '\n') {
		while (line[at] && line[at] != '\n' && strncmp(line + at, "  ", 2))
			at++;
		at += strspn(line + at, " ");
	}
	return at;
}

/*
 * A process gives itself a name as long as can be, which would move a terminal's cursor, break a
 * line, and is no UTF-8: columns stay under their heads.
 */
TEST_F(gdactl, M_04_names_of_processes)
{
	static const char name[] = "a\033[2J\nb\xff\"\\cdefg";
	const char *line;
	int fd;

	ASSERT_EQ(15, strlen(name));
	ASSERT_EQ(0, prctl(PR_SET_NAME, name));
	fd = t_context();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, run_on(self->out, "context pid", (uint32_t)getpid()));
	EXPECT_SAYS("a?[2J?b?\"\\cdefg");
	line = strchr(self->out, '\n');
	ASSERT_NE(NULL, line);
	line++;
	/* COMMAND, and the last one: what is between them is numbers, at the right of theirs */
	EXPECT_EQ(strstr(self->out, "COMMAND") - self->out, strstr(line, "a?[2J") - line);
	EXPECT_EQ(column(self->out, 4), column(line, 4));
	EXPECT_EQ(column(self->out, 14), column(line, 14));
	EXPECT_EQ(0, strcmp("no\n", line + column(line, 14)));
	EXPECT_EQ(0, run_on(self->out, "--json context pid", (uint32_t)getpid()));
	EXPECT_SAYS("\"comm\":\"a\\u001b[2J\\u000ab\\u00ff\\\"\\\\cdefg\"");
	close(fd);
}

/* Each cause of SECURITY.md's silence: a queue that is not what its owner thinks. */
TEST_F(gdactl, why_not_connected)
{
	struct gda_qp_create qp[2];
	struct gda_cq_create cq;
	char text[64];
	int fd = t_context();

	ASSERT_GE(fd, 0);
	ASSERT_OK(t_cq_create(fd, 0, 16, &cq));
	ASSERT_OK(t_qp_create(fd, cq.handle, 16, &qp[0]));
	ASSERT_OK(t_qp_create(fd, cq.handle, 16, &qp[1]));
	EXPECT_EQ(0, run_on(self->out, "why qp", qp[0].qpn));
	EXPECT_SAYS("not connected, and no peer was named");
	ASSERT_OK(t_qp_connect(fd, qp[0].handle, fd, qp[1].handle));
	EXPECT_EQ(0, run_on(self->out, "why qp", qp[0].qpn));
	snprintf(text, sizeof(text), "waits for QP %#x of pid %d to name it", qp[1].qpn, getpid());
	EXPECT_SAYS(text);
	EXPECT_EQ(0, run_on(self->out, "why pid", (uint32_t)getpid()));
	EXPECT_SAYS(text);
	close(fd);
}

TEST_F(gdactl, why_never_rung)
{
	struct t_end end[2];
	struct t_wr wr;

	ASSERT_OK(t_pair_open(end, 16, T_PAGE));
	EXPECT_EQ(0, run_on(self->out, "why qp", end[0].qp.qpc.qpn));
	EXPECT_SAYS("nothing outstanding at all");
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
	t_post(&end[0].qp, &wr);
	t_post(&end[0].qp, &wr);
	t_post(&end[0].qp, &wr);
	EXPECT_EQ(0, run_on(self->out, "why qp", end[0].qp.qpc.qpn));
	EXPECT_SAYS("3 entries were written, but never rung for");
	t_ring(&end[0].qp);
	ASSERT_OK(t_wait(&end[0].qp, end[0].qp.next - 1, NULL));
	EXPECT_EQ(0, run_on(self->out, "why qp", end[0].qp.qpc.qpn));
	EXPECT_SAYS("nothing outstanding at all");
	t_pair_close(end);
}

TEST_F(gdactl, why_peer_gone_and_overflow)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct gda_cq_create cq;
	struct t_end end[2];
	struct t_qp qp;

	ASSERT_OK(t_pair_open(end, 16, T_PAGE));
	t_qp_close(&end[1].qp);
	ASSERT_EQ(GDA_QP_ERROR, t_wait_state(&end[0].qp, GDA_QP_READY, T_WAIT_NS));
	EXPECT_EQ(0, run_on(self->out, "why qp", end[0].qp.qpc.qpn));
	EXPECT_SAYS("its peer is gone");
	/* and the records around it */
	EXPECT_SAYS("connected");
	EXPECT_SAYS("lost");
	ASSERT_OK(t_cq_create(end[0].fd, 0, 4, &cq));
	ASSERT_OK(t_qp_open_on(&qp, end[0].fd, 16, &cq));
	ASSERT_OK(t_connect(&qp, &qp));
	for (int i = 0; i < 8; i++)
		t_post(&qp, &nop);
	t_ring(&qp);
	ASSERT_EQ(GDA_QP_ERROR, t_wait_state(&qp, GDA_QP_READY, T_WAIT_NS));
	EXPECT_EQ(0, run_on(self->out, "why qp", qp.qpc.qpn));
	EXPECT_SAYS("its CQ overflowed");
	EXPECT_SAYS("overflow");
	t_qp_unmap(&qp);
	t_qp_unmap(&end[0].qp);
	close(end[0].fd);
	close(end[1].fd);
	t_mr_free(-1, &end[0].mr);
	t_mr_free(-1, &end[1].mr);
}

struct starved {
	char dir[96];
	int told;
};

/* A context whose worker may run for 1 ms of a second, and has work for more. */
static int starve(void *arg)
{
	struct starved *s = arg;
	struct t_qp qp;
	struct t_mr mr;
	int fd;

	if (t_group_enter(s->dir))
		return 1;
	fd = t_context();
	if (fd < 0 || t_mr_new(fd, 1 << 20, GDA_ACCESS_ALL, &mr) || t_qp_open(&qp, fd, 64) ||
	    t_connect(&qp, &qp))
		return 2;
	t_traffic(&qp, &mr, &mr, false);
	if (write(s->told, &qp.qpc.qpn, 4) != 4)
		return 3;
	pause();
	return 0;
}

TEST_F(gdactl, why_no_processor)
{
	struct t_group group;
	struct starved s;
	int told[2], err, tries;
	uint32_t qpn;
	pid_t pid;

	if (t_kernel() >= 6018)
		SKIP(return, "cpu.max stops a thread that returns to user space: no worker does");
	err = t_group_open(&group, "+cpu");
	if (err)
		SKIP(return, "no CPU controller");
	ASSERT_EQ(0, pipe(told));
	memcpy(s.dir, group.dir, sizeof(s.dir));
	s.told = told[1];
	ASSERT_OK(t_write_file(group.dir, "cpu.max", "2000 1000000"));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(starve(&s));
	ASSERT_EQ(4, read(told[0], &qpn, 4));
	for (tries = 0; tries < 20; tries++) {
		ASSERT_EQ(0, run_on(self->out, "why qp", qpn));
		if (strstr(self->out, "has had no processor"))
			break;
		t_sleep_ns(T_NS / 5);
	}
	EXPECT_GT(20, tries) TH_LOG("%s", self->out);
	kill(pid, SIGKILL);
	t_write_file(group.dir, "cpu.max", "max");
	waitpid(pid, NULL, 0);
	t_group_close(&group);
	close(told[0]);
	close(told[1]);
}

/* The record of work is switched on and off, shown, and kept when the process dies. */
TEST_F(gdactl, record)
{
	struct t_end end[2];
	char args[64];
	struct t_nl nl;
	struct t_wr wr;
	uint32_t id;

	ASSERT_OK(t_nl_open(&nl));
	ASSERT_OK(t_pair_open(end, 16, T_PAGE));
	id = t_nl_my_context(&nl) - 1;
	EXPECT_EQ(0, run_on(self->out, "record on ctx", id));
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
	for (int i = 0; i < 3; i++)
		ASSERT_OK(t_run(&end[0].qp, &wr, NULL));
	EXPECT_EQ(0, run_on(self->out, "record show ctx", id));
	EXPECT_SAYS("work is recorded");
	EXPECT_SAYS("connected");
	snprintf(args, sizeof(args), "done       qp %#x ticket 2", end[0].qp.qpc.qpn);
	EXPECT_SAYS(args);
	EXPECT_EQ(0, run_on(self->out, "record off ctx", id));
	EXPECT_EQ(0, run_on(self->out, "record show ctx", id));
	EXPECT_SAYS("work is not recorded");
	EXPECT_EQ(1, run(self->out, "record on ctx 4000000000"));
	EXPECT_SAYS("gdactl context and gdactl qp show what there is");
	snprintf(args, sizeof(args), "record on ctx %u records 65", id);
	EXPECT_EQ(1, run(self->out, args));
	wr.rkey ^= 1;
	t_run(&end[0].qp, &wr, NULL);
	snprintf(args, sizeof(args), "context %u of pid %d, uid 0, on soft0", id, getpid());
	for (int i = 0; i < 2; i++) {
		t_qp_unmap(&end[i].qp);
		close(end[i].fd);
		t_mr_free(-1, &end[i].mr);
	}
	EXPECT_EQ(0, run(self->out, "record show dead"));
	EXPECT_SAYS(args);
	EXPECT_SAYS("error: 3 executed");
	t_nl_close(&nl);
}

/* --- what it costs --- */

#define QUEUES	1000

/* Processor time of the children so far, ns. */
static uint64_t children_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * T_NS +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

/* ... of the cheapest of some runs of a command. 0: it failed. */
static uint64_t cost_of(const char *command, int runs)
{
	uint64_t least = UINT64_MAX;
	char line[128];

	snprintf(line, sizeof(line), "exec %s >/dev/null", command);
	for (int i = 0; i < runs; i++) {
		uint64_t begin = children_ns(), ns;

		if (system(line))
			return 0;
		ns = children_ns() - begin;
		least = ns < least ? ns : least;
	}
	return least;
}

static uint64_t cost(const char *args, int runs)
{
	char command[128];

	snprintf(command, sizeof(command), "build/tools/gdactl %s", args);
	return cost_of(command, runs);
}

/*
 * With 1000 QPs each command takes 0.2 s at most, and top 3 % of a processor. An emulated machine
 * is slower than one: its limits are as many times higher as it needs longer to start gdactl.
 */
TEST_F_TIMEOUT(gdactl, M_04_costs, 300)
{
	static const char *const commands[] = {
		"context", "qp", "--json qp", "cq", "mr", "counter", "stats", "limits", "device",
		"why", "record show dead",
	};
	unsigned long n = t_rounds(QUEUES);
	uint64_t start, top, ns, slow;
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	int fd = t_context();

	ASSERT_GE(fd, 0);
	ASSERT_OK(t_cq_create(fd, 0, 16, &cq));
	for (unsigned long i = 0; i < n; i++)
		ASSERT_OK(t_qp_create(fd, cq.handle, 16, &qp));
	start = cost("--version", 5);
	ASSERT_NE(0, start);
	/* for who reads the figures: of a program that asks netlink and prints a table, too */
	TH_LOG("true: %llu us, ip link: %llu us, a start: %llu us",
	       (unsigned long long)cost_of("true", 5) / 1000,
	       (unsigned long long)cost_of("ip link", 5) / 1000,
	       (unsigned long long)start / 1000);
	/* the shell, and gdactl with its libraries: less than 10 ms */
	slow = 1 + start / (T_NS / 100);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		ns = cost(commands[i], 3);
		TH_LOG("%s: %llu ms", commands[i], (unsigned long long)ns / 1000000);
		ASSERT_NE(0, ns);
		EXPECT_GE(slow * (T_NS / 5), ns) TH_LOG("%s", commands[i]);
	}
	/* a refresh, which is once a second: what three more cost */
	ns = cost("top times 1", 3);
	top = cost("top times 4", 3);
	ASSERT_LT(0, ns);
	top = top > ns ? (top - ns) / 3 : 0;
	TH_LOG("%lu QPs: a start %llu ms, a second of top %llu us of processor", n,
	       (unsigned long long)start / 1000000, (unsigned long long)top / 1000);
	EXPECT_GE(slow * (T_NS * 3 / 100), top);
	close(fd);
}

/* The entries of a queue that waits. */
TEST_F(gdactl, wqe)
{
	struct gda_qp_create peer;
	struct gda_cq_create cq;
	struct t_end end[2];
	char args[64];
	struct t_nl nl;
	struct t_qp qp;
	struct t_wr wr;

	ASSERT_OK(t_nl_open(&nl));
	ASSERT_OK(t_pair_open(end, 16, T_PAGE));
	ASSERT_OK(t_qp_open(&qp, end[1].fd, 16));
	ASSERT_OK(t_cq_create(end[1].fd, 0, 16, &cq));
	ASSERT_OK(t_qp_create(end[1].fd, cq.handle, 16, &peer));
	ASSERT_OK(t_qp_connect(end[1].fd, qp.qpc.handle, end[1].fd, peer.handle));
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 77);
	t_post(&qp, &wr);
	t_ring(&qp);
	t_post(&qp, &wr);
	snprintf(args, sizeof(args), "--json wqe ctx %u handle %u", t_nl_my_context(&nl),
		 qp.qpc.handle);
	EXPECT_EQ(0, run(self->out, args));
	EXPECT_SAYS("\"index\":0,\"rung\":true,\"slots\":1,\"opcode\":8,\"length\":77");
	EXPECT_SAYS("\"index\":1,\"slots\":1,\"opcode\":8,\"length\":77");
	EXPECT_EQ(0, run(self->out, args + 7));
	EXPECT_SAYS("TICKET");
	EXPECT_EQ(1, run(self->out, "wqe ctx 4000000000 handle 1"));
	t_qp_unmap(&qp);
	t_pair_close(end);
	t_nl_close(&nl);
}

/* What is not there is said, in a line beside the table, and what shows what is. */
TEST_F(gdactl, unknown_numbers)
{
	EXPECT_EQ(0, run(self->out, "why qp 4000000000"));
	EXPECT_SAYS("no QP has the number 0xee6b2800");
	EXPECT_SAYS("gdactl qp shows all\n");
	EXPECT_EQ(0, run(self->out, "why pid 1"));
	EXPECT_SAYS("pid 1 has no context");
	EXPECT_EQ(0, run(self->out, "qp pid 1"));
	EXPECT_SAYS("no qp fits that, or it is another user's: gdactl context shows all\n");
	EXPECT_EQ(0, run(self->out, "device dev none"));
	EXPECT_SAYS("gdactl device shows all\n");
	EXPECT_EQ(0, run(self->out, "--json qp pid 1"));
	EXPECT_SAYS("[]\n");
}

/* An ordinary user is told what to do. */
static int as_nobody(void *arg)
{
	char *out = arg;

	CHECK(!t_drop(true));
	CHECK(run(out, "limits set idle-us 5") == 1 && strstr(out, "for administrators"));
	CHECK(run(out, "stats") == 1 && strstr(out, "for administrators"));
	CHECK(run(out, "monitor") == 1 && strstr(out, "for administrators"));
	CHECK(run(out, "qp") == 0);
	return 0;
}

TEST_F(gdactl, P1_nobody)
{
	EXPECT_EQ(0, t_in_child(as_nobody, self->out));
}

/* --- issue 40, items 15 and 16 --- */

/* Do all lines fit @columns? */
static bool fits(const char *text, size_t columns)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (strcspn(text, "\n") > columns)
			return false;
	return true;
}

TEST_F(gdactl, I40_16_names_and_columns)
{
	struct gda_qp_create peer;
	struct gda_cq_create cq;
	struct t_end end[2];
	char args[64];
	struct t_nl nl;
	struct t_qp qp;
	struct t_wr wr;

	ASSERT_OK(t_nl_open(&nl));
	ASSERT_OK(t_pair_open(end, 16, T_PAGE));
	EXPECT_EQ(0, run_on(self->out, "mr pid", (uint32_t)getpid()));
	EXPECT_SAYS("local,write,read,atomic");
	EXPECT_EQ(0, run_on(self->out, "qp pid", (uint32_t)getpid()));
	EXPECT_TRUE(fits(self->out, 100)) TH_LOG("%s", self->out);
	EXPECT_EQ(NULL, strstr(self->out, "DOORBELLS"));
	EXPECT_EQ(0, run_on(self->out, "qp --wide pid", (uint32_t)getpid()));
	EXPECT_SAYS("DOORBELLS");
	/* a queue that waits for its peer: what was rung for is in PRODUCER, and in words */
	ASSERT_OK(t_qp_open(&qp, end[1].fd, 16));
	ASSERT_OK(t_cq_create(end[1].fd, 0, 16, &cq));
	ASSERT_OK(t_qp_create(end[1].fd, cq.handle, 16, &peer));
	ASSERT_OK(t_qp_connect(end[1].fd, qp.qpc.handle, end[1].fd, peer.handle));
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 77);
	t_post(&qp, &wr);
	wr.opcode = GDA_MLX5_READ;
	t_post(&qp, &wr);
	t_ring(&qp);
	snprintf(args, sizeof(args), "wqe ctx %u handle %u", t_nl_my_context(&nl), qp.qpc.handle);
	EXPECT_EQ(0, run(self->out, args));
	EXPECT_SAYS("put ");
	EXPECT_SAYS("get ");
	snprintf(args, sizeof(args), "qp ctx %u", t_nl_my_context(&nl));
	EXPECT_EQ(0, run(self->out, args));
	EXPECT_SAYS("         2         0 ");
	/* the record of work, and how to have it */
	EXPECT_EQ(0, run_on(self->out, "why qp", qp.qpc.qpn));
	snprintf(args, sizeof(args), "work is not recorded: gdactl record on ctx %u",
		 t_nl_my_context(&nl));
	EXPECT_SAYS(args);
	t_qp_unmap(&qp);
	t_pair_close(end);
	t_nl_close(&nl);
}

/* A process with queues that owe nothing, which stops. */
static int idle_child(void)
{
	struct t_end end[2];

	if (t_pair_open(end, 16, T_PAGE))
		return 1;
	raise(SIGSTOP);
	return 0;
}

TEST_F(gdactl, I40_15_nothing_owed)
{
	char words[128];
	struct t_end end[2];
	struct t_wr wr;
	int status;
	pid_t pid;

	ASSERT_OK(t_pair_open(end, 16, T_PAGE));
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
	ASSERT_OK(t_run(&end[0].qp, &wr, NULL));
	EXPECT_EQ(0, run_on(self->out, "why pid", (uint32_t)getpid()));
	EXPECT_SAYS("no queue owes anything");
	EXPECT_SAYS("nothing owed, last progress 0.");
	snprintf(words, sizeof(words), "peer qp %#x: pid %d (gdactl)", end[1].qp.qpc.qpn, getpid());
	EXPECT_SAYS(words);
	EXPECT_SAYS("waits for a word or an entry that a peer is to send");
	EXPECT_SAYS("mapped memory");
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(idle_child());
	ASSERT_EQ(pid, waitpid(pid, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));
	EXPECT_EQ(0, run_on(self->out, "why pid", (uint32_t)pid));
	snprintf(words, sizeof(words), "pid %d (gdactl) is stopped: kill -CONT %d lets it go on", pid,
		 pid);
	EXPECT_SAYS(words);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	t_pair_close(end);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: MIT
/*
 * ten FAILURE - a program that makes a mistake, or has bad luck, for ten.sh: it prints what the
 * library says of it, by gda_last_error(), and no word of its own
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <gda/barrier.h>
#include <gda/comm.h>
#include <gda/dpa.h>
#include <gda/fastpath.h>
#include <gda/gda.h>

#define BYTES	4096U
#define SECOND	1000000000ULL

static int say(long long result)
{
	if (result >= 0)
		return 0;
	fprintf(stderr, "%s\n", gda_last_error());
	exit(1);
}

static void *memory(void)
{
	return mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Put to a queue of this process: with another key than the memory has, or without the right. */
static void put(uint32_t access, uint32_t key)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .timeout_ns = 20 * SECOND };
	struct gda_mr *from, *to;
	struct gda_address self;
	struct gda_context *ctx;
	struct gda_qp *qp;
	struct gda_view *v;

	say(gda_open(NULL, &ctx));
	say(gda_qp_create(ctx, &attr, &qp));
	say(gda_qp_address(qp, &self));
	say(gda_qp_connect(qp, &self));
	say(gda_mr_reg(ctx, memory(), BYTES, GDA_ACCESS_ALL, 0, &from));
	say(gda_mr_reg(ctx, memory(), BYTES, access, 0, &to));
	v = gda_qp_view(qp);
	say(gda_wait(v, gda_put(v, gda_mr_iova(from), gda_mr_key(from), gda_mr_iova(to),
				gda_mr_key(to) ^ key, 64, 0), 0));
}

static void tasks(void)
{
	struct gda_dpa_attr attr = {
		.size = sizeof(attr), .threads = 1, .program = "/usr/lib/tasks.so",
	};
	struct gda_context *ctx;
	struct gda_dpa *dpa;

	say(gda_open(NULL, &ctx));
	say(gda_dpa_create(ctx, &attr, &dpa));
}

/* More memory than RLIMIT_MEMLOCK lets this process pin. */
static void pin(void)
{
	size_t bytes = 64U << 20;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gda_context *ctx;
	struct gda_mr *mr;

	say(gda_open(NULL, &ctx));
	say(gda_mr_reg(ctx, p, bytes, GDA_ACCESS_ALL, 0, &mr));
}

/* Ranks meet, one of them does not come again. */
static void meet(int signal)
{
	struct gda_comm *comm;

	say(gda_comm_create(NULL, &comm));
	say(gda_comm_barrier(comm, 0));
	if (gda_comm_rank(comm) == 1)
		raise(signal);
	say(gda_comm_barrier(comm, gda_clock_ns() + 3 * SECOND));
}

/* Where the id says nobody listens. */
static void refused(void)
{
	struct gda_comm_id id = { "gda1 127.0.0.1 1 0123456789abcdef0123456789abcdef" };
	struct gda_comm_attr attr = {
		.size = sizeof(attr), .rank = 1, .nranks = 2, .id = &id, .timeout_ns = SECOND,
	};
	struct gda_comm *comm;

	say(gda_comm_create(&attr, &comm));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "key"))
		put(GDA_ACCESS_ALL, 0x100);
	else if (!strcmp(what, "right"))
		put(GDA_ACCESS_LOCAL_WRITE | GDA_ACCESS_REMOTE_READ, 0);
	else if (!strcmp(what, "tasks"))
		tasks();
	else if (!strcmp(what, "pin"))
		pin();
	else if (!strcmp(what, "stop"))
		meet(SIGSTOP);
	else if (!strcmp(what, "die"))
		meet(SIGKILL);
	else if (!strcmp(what, "connect"))
		refused();
	else
		return 2;
	return 0;
}

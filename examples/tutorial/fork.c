// SPDX-License-Identifier: MIT
/* A child of fork(2) cannot post to its parent's queue, and opens its own. */
#include <sys/wait.h>
#include <unistd.h>
#include "tutorial.h"

static uint64_t memory[2] = { 42 };

static int64_t put(struct end *e)
{
	return gda_put(gda_qp_view(e->qp), (uintptr_t)&memory[0], gda_mr_key(e->mr),
		       (uintptr_t)&memory[1], gda_mr_key(e->mr), sizeof(memory[0]), 0);
}

static void child_main(struct end *inherited)
{
	struct gda_error error = { .size = sizeof(error) };
	struct end own;

	printf("child, parent's queue: %s\n", gda_strerror((int)put(inherited)));
	if (gda_error(gda_qp_view(inherited->qp), &error))
		printf("child, because: %s\n", gda_vendor_name(error.vendor));
	end_open(&own, memory, sizeof(memory));
	end_connect(&own, &own);
	MUST(gda_wait(gda_qp_view(own.qp), put(&own), 0));
	printf("child, own queue: the word is %llu\n",
	       (unsigned long long)memory[1]);
	end_close(&own);
	fflush(stdout);
	_exit(0);
}

int main(void)
{
	struct end e;
	pid_t pid;
	int status;

	end_open(&e, memory, sizeof(memory));
	end_connect(&e, &e);
	pid = fork();
	if (pid == 0)
		child_main(&e);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 1;
	MUST(gda_wait(gda_qp_view(e.qp), put(&e), 0));
	printf("parent: the word is %llu\n",
	       (unsigned long long)memory[1]);
	end_close(&e);
	return 0;
}

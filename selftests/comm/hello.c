// SPDX-License-Identifier: MIT
/*
 * hello [WHAT [RANK]] - a rank for run.sh: says who it is, and then does WHAT
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gda/comm.h>
#include <gda/gda.h>

static int does(struct gda_comm *comm, const char *what)
{
	char line[100];
	int err;

	if (!strcmp(what, "exit"))
		exit(7);
	if (!strcmp(what, "die"))
		raise(SIGKILL);
	if (!strcmp(what, "leave"))
		_exit(0);
	if (!strcmp(what, "hang"))
		for (;;)
			pause();
	if (!strcmp(what, "cat"))
		while (fgets(line, sizeof(line), stdin))
			fputs(line, stdout);
	if (!strcmp(what, "sleeper") && !fork()) {
		for (;;)
			pause();
	}
	err = gda_comm_barrier(comm, 0);
	printf("barrier: %s, failed: %d\n", err ? strerror(-err) : "done", gda_comm_failed(comm));
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint32_t who = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	struct gda_comm *comm;
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	err = gda_comm_create(NULL, &comm);
	if (err) {
		fprintf(stderr, "gda_comm_create: %s\n", strerror(-err));
		return 1;
	}
	printf("rank %u of %u\n", gda_comm_rank(comm), gda_comm_size(comm));
	err = does(comm, gda_comm_rank(comm) == who ? what : "");
	if (!strcmp(what, "part"))
		printf("no newline");
	if (argc > 1 && !strcmp(argv[1], "leave") && gda_comm_failed(comm) >= 0) {
		fprintf(stderr, "%s\n", gda_last_error());
		sleep(1);	/* so that who left is waited for before */
		return 1;
	}
	gda_comm_destroy(comm);
	return err;
}

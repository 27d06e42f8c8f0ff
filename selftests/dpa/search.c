// SPDX-License-Identifier: MIT
/*
 * search.c - calls that make libgda look for its files, for search_paths.sh
 *
 * Prints a line for each: what was opened, 0 or the errno, and why. The argument is the path of
 * tasks.so, whose task t_left writes "t_left" in the log of the context; or "pmix".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gda/barrier.h>
#include <gda/comm.h>
#include <gda/cuda.h>
#include <gda/dpa.h>
#include <gda/gda.h>

static void say(const char *what, int err)
{
	printf("%s: %d %s\n", what, err, err ? gda_last_error() : "");
}

static int run_task(struct gda_dpa *dpa)
{
	struct gda_dpa_task task = { .size = sizeof(task), .name = "t_left" };
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .task = &task, .threads = 1 };
	struct gda_dpa_event *done;
	char line[GDA_DPA_LINE_BYTES];
	int err = gda_dpa_event_create(dpa, NULL, &done);

	l.done = done;
	l.value = 1;
	if (!err)
		err = gda_dpa_launch(dpa, &l);
	if (!err)
		err = gda_dpa_event_await_gt(done, 0, UINT64_MAX, gda_clock_ns() + 20000000000U);
	if (!err && gda_dpa_log_read(dpa, line, sizeof(line)) > 0)
		printf("task: %s\n", line);
	return err;
}

int main(int argc, char **argv)
{
	struct gda_dpa_attr attr = { .size = sizeof(attr), .threads = 1 };
	struct gda_context *ctx, *verbs;
	struct gda_cuda *cuda;
	struct gda_comm *comm;
	struct gda_dpa *dpa;
	int err = gda_open("inproc", &ctx);

	if (err || argc < 2) {
		say("inproc", err);
		return 1;
	}
	/* in a static program libpmix itself may end by a signal, so nothing comes after it */
	if (!strcmp(argv[1], "pmix")) {
		setenv("PMIX_NAMESPACE", "none", 1);
		say("pmix", gda_comm_create(NULL, &comm));
		return 0;
	}
	attr.program = argv[1];
	say("verbs", gda_open("verbs:", &verbs));
	say("cuda", gda_cuda_open(ctx, 0, &cuda));
	err = gda_dpa_create(ctx, &attr, &dpa);
	say("dpa", err);
	if (!err) {
		say("launch", run_task(dpa));
		gda_dpa_destroy(dpa);
	}
	gda_close(ctx);
	return 0;
}

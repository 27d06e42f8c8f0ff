// SPDX-License-Identifier: MIT
/*
 * Ranks of the examples, as processes or threads.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "ranks.h"

#define THREADS	4

struct start {
	bool (*body)(struct gda_comm *ranks, const void *arg);
	const void *arg;
	struct gda_comm_attr attr;
	bool right;
};

void must(int err, const char *name)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s (%s)\n", name, gda_strerror(err), gda_last_error());
	exit(1);
}

static bool rank_run(const struct start *s, const struct gda_comm_attr *attr)
{
	struct gda_comm *ranks;
	bool right;

	must(gda_comm_create(attr, &ranks), "gda_comm_create");
	right = s->body(ranks, s->arg);
	gda_comm_destroy(ranks);
	return right;
}

static void *thread_main(void *arg)
{
	struct start *s = arg;

	s->right = rank_run(s, &s->attr);
	return NULL;
}

static bool threads_run(struct start *s)
{
	pthread_t threads[THREADS];
	struct gda_comm_id id;
	bool right = true;
	uint32_t i;

	must(gda_comm_id_create(NULL, &id), "gda_comm_id_create");
	for (i = 0; i < THREADS; i++) {
		s[i] = s[0];
		s[i].attr = (struct gda_comm_attr) {
			.size = sizeof(s[i].attr), .rank = i, .nranks = THREADS, .id = &id,
		};
		must(pthread_create(&threads[i], NULL, thread_main, &s[i]), "pthread_create");
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		right = right && s[i].right;
	}
	return right;
}

int run_all(const char *name, bool (*body)(struct gda_comm *ranks, const void *arg),
	    const void *arg)
{
	struct start s[THREADS] = { { .body = body, .arg = arg } };
	bool right = getenv("GDA_COMM_RANK") ? rank_run(&s[0], NULL) : threads_run(s);

	printf("%s: %s\n", name, right ? "as the reference" : "WRONG");
	return right ? 0 : 1;
}

// SPDX-License-Identifier: MIT
/*
 * bench [--json | --count MODE] - what a post costs
 *
 * Without options: ns per 8-byte put, posted to a queue whose completions are set by
 * hand (nobody else touches its memory), and what waiting for a done ticket costs.
 * --count posts 8192 puts in the named mode and does nothing else, in a function of
 * its own: instructions.sh runs it under callgrind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fake_nic.h"

#define PUTS	8192

/* One batch into a ring that has room for it. */
#define BATCH(name, post) \
static __attribute__((noinline)) void name(struct gda_view *v, uint64_t addr, uint32_t key) \
{ \
	uint32_t i; \
	for (i = 0; i < PUTS; i++) \
		post; \
}

BATCH(count_exclusive, gda_put(v, addr + i, key, addr, key, 8, GDA_EXCLUSIVE))
BATCH(count_shared, gda_put(v, addr + i, key, addr, key, 8, 0))
BATCH(count_value, gda_put_value(v, addr, key, i, GDA_EXCLUSIVE))
BATCH(count_deferred, gda_put(v, addr + i, key, addr, key, 8, GDA_EXCLUSIVE | GDA_DEFER))

static const struct mode {
	const char *name;
	void (*batch)(struct gda_view *v, uint64_t addr, uint32_t key);
} modes[4] = {
	{ "exclusive", count_exclusive },
	{ "shared", count_shared },
	{ "value", count_value },
	{ "deferred", count_deferred },
};

static double measure(struct fake_queue *q, const struct mode *m)
{
	uint64_t best = UINT64_MAX, began, ns;
	int rep;

	for (rep = 0; rep < 200; rep++) {
		fake_restart(q, 0);
		began = gda_clock_ns();
		m->batch(&q->view, 4096, 7);
		ns = gda_clock_ns() - began;
		best = ns < best ? ns : best;
	}
	return (double)best / PUTS;
}

static double measure_quiet(struct fake_queue *q)
{
	uint64_t best = UINT64_MAX, began, ns;
	int rep, i, err = 0;

	fake_restart(q, 0);
	gda_nop(&q->view, 0);
	fake_complete(q, 1);
	for (rep = 0; rep < 200; rep++) {
		began = gda_clock_ns();
		for (i = 0; i < 1000; i++)
			err |= gda_quiet(&q->view, 0);
		ns = gda_clock_ns() - began;
		best = ns < best ? ns : best;
	}
	return err ? -1 : (double)best / 1000;
}

int main(int argc, char **argv)
{
	struct fake_queue *q = fake_queue_new(GDA_MLX5_MAX_DEPTH);
	bool json = argc > 1 && !strcmp(argv[1], "--json");
	unsigned int i;

	for (i = 0; i < 4; i++) {
		if (argc > 2 && !strcmp(argv[1], "--count")) {
			if (!strcmp(argv[2], modes[i].name))
				modes[i].batch(&q->view, 4096, 7);
		} else {
			printf(json ? "%s\"%s_ns\": %.2f" : "%spost, %-10s %6.2f ns\n",
			       json ? i ? ", " : "{" : "", modes[i].name,
			       measure(q, &modes[i]));
		}
	}
	if (argc < 3)
		printf(json ? ", \"quiet_ns\": %.2f}\n" : "quiet, again     %6.2f ns\n",
		       measure_quiet(q));
	fake_queue_free(q);
	return 0;
}

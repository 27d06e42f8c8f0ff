// SPDX-License-Identifier: MIT
/*
 * bench --count MODE - verbs of gda/gin.h for instructions.sh to count
 *
 * 4096 puts of 8 bytes in the named mode, posted to a queue in plain memory that nobody
 * consumes, in a function of its own.
 */
#include <string.h>
#include <gda/gin.h>
#include "fake_nic.h"

#define PUTS	4096

static struct gda_gin_queue queue;
static struct gda_window_part part = { .iova = 4096, .key = 7 };
static struct gda_window window = {
	.size = sizeof(window), .version = GDA_GIN_VERSION, .pieces = 1, .bytes = 1 << 20,
	.iova = 4096, .key = 7,
};
static struct gda_gin gin = {
	.size = sizeof(gin), .version = GDA_GIN_VERSION, .nranks = 1, .signals = 4,
	.counters = 4, .endpoints = 1,
};

#define BATCH(name, how) \
static __attribute__((noinline)) void name(struct gda_gin *g, const struct gda_window *w) \
{ \
	uint32_t i; \
	for (i = 0; i < PUTS; i++) \
		gda_gin_put(g, 0, gda_at(w, i), gda_at(w, i), 8, how); \
}

BATCH(count_exclusive, gda_gin_plain(GDA_EXCLUSIVE))
BATCH(count_shared, gda_gin_plain(0))
BATCH(count_signal, gda_gin_inc(1, 0))
BATCH(count_counter, gda_gin_count(gda_gin_plain(0), 1))

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*batch)(struct gda_gin *g, const struct gda_window *w);
	} modes[] = {
		{ "exclusive", count_exclusive }, { "shared", count_shared },
		{ "signal", count_signal }, { "counter", count_counter },
	};
	struct fake_queue *q = fake_queue_new(GDA_MLX5_MAX_DEPTH);
	static uint64_t tags[GDA_MLX5_MAX_DEPTH], counts[4];
	unsigned int i;

	queue.view = (uintptr_t)&q->view;
	queue.tags = (uintptr_t)tags;
	gin.queues = (uintptr_t)&queue;
	gin.counts = (uintptr_t)counts;
	window.parts = (uintptr_t)&part;
	for (i = 0; i < 4; i++)
		if (argc == 3 && !strcmp(argv[2], modes[i].name))
			modes[i].batch(&gin, &window);
	fake_queue_free(q);
	return 0;
}

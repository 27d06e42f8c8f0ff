// SPDX-License-Identifier: MIT
/*
 * bench --count MODE - copies of gda/async.h, and what they stand on, for instructions.sh to count
 *
 * 4096 times a get and the wait for it, on a queue in plain memory whose completions this program
 * writes, in a function that is not counted. A list has the sources of the gets, with their keys
 * where gda_get() is to have them.
 */
#include <string.h>
#include <gda/async.h>
#include "fake_nic.h"

#define TIMES	4096

static char memory[8192];
static struct gda_chunk window = { .length = sizeof(memory), .key = 7 };
static struct gda_chunk_map map = { .size = sizeof(map), .count = 1 };
static uint64_t views[1];
static struct gda_async_workspace workspace = {
	.size = sizeof(workspace), .version = GDA_ASYNC_VERSION, .nranks = 1, .groups = 1,
	.queues = 1, .block_bytes = GDA_ASYNC_BLOCK_BYTES, .timeout_ns = 1000000000,
};
static struct fake_queue *queue;

static struct item {
	char *dst;
	const char *src;
	uint32_t bytes, lkey, rkey;
} items[TIMES];

/* All that was posted is done; callgrind stops counting here. */
static __attribute__((noinline)) void complete(void)
{
	fake_complete(queue, queue->view.reserved);
}

#define PLAIN(name, flags) \
static __attribute__((noinline)) int name(struct gda_view *v, struct gda_async_session *s) \
{ \
	int i, err = 0; \
	(void)s; \
	for (i = 0; i < TIMES; i++) { \
		const struct item *item = &items[i]; \
		int64_t ticket = gda_get(v, (uintptr_t)item->dst, item->lkey, \
					 (uintptr_t)item->src, item->rkey, item->bytes, flags); \
		complete(); \
		err |= gda_wait(v, ticket, 0); \
	} \
	return err; \
}

#define ASYNC(name, engine, flags) \
static __attribute__((noinline)) int name(struct gda_view *v, struct gda_async_session *s) \
{ \
	int i, err = 0; \
	(void)v; \
	for (i = 0; i < TIMES; i++) { \
		const struct item *item = &items[i]; \
		gda_async_get(s, engine, item->dst, item->src, item->bytes, flags); \
		complete(); \
		err |= gda_async_wait(s, 0); \
	} \
	return err; \
}

PLAIN(count_get, 0)
PLAIN(count_get_exclusive, GDA_EXCLUSIVE)
ASYNC(count_async, GDA_ASYNC_COPY, 0)
ASYNC(count_async_exclusive, GDA_ASYNC_COPY, GDA_EXCLUSIVE)
ASYNC(count_peer, GDA_ASYNC_PEER, 0)

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*batch)(struct gda_view *v, struct gda_async_session *s);
	} modes[] = {
		{ "get", count_get }, { "get_exclusive", count_get_exclusive },
		{ "async", count_async }, { "async_exclusive", count_async_exclusive },
		{ "peer", count_peer },
	};
	struct gda_async_session s = { .size = sizeof(s) };
	uint64_t scratch[1];
	unsigned int i;
	int err = 0;

	queue = fake_queue_new(256);
	views[0] = (uintptr_t)&queue->view;
	window.addr = (uintptr_t)memory;
	window.iova = window.addr;
	map.chunks = (uintptr_t)&window;
	workspace.views = (uintptr_t)views;
	workspace.maps = (uintptr_t)&map;
	for (i = 0; i < TIMES; i++) {
		items[i].dst = memory + i;
		items[i].src = memory + 4096;
		items[i].bytes = 1 + i % 256;
		items[i].lkey = 7;
		items[i].rkey = 7;
	}
	workspace.remote = argc == 3 && !strcmp(argv[2], "peer");
	err = workspace.remote ? gda_async_open_peer(&workspace, 0, 0, NULL, 0, &s) :
				 gda_async_open(&workspace, 0, scratch, sizeof(scratch), &s);
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (argc == 3 && !strcmp(argv[2], modes[i].name))
			err |= modes[i].batch(&queue->view, &s);
	fake_queue_free(queue);
	return err != 0;
}

// SPDX-License-Identifier: MIT
/* The calls that the other steps did not need, each once. */
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>
#include <sys/eventfd.h>
#include <gda/masked_atomic.h>
#include <gda/ring.h>
#include "tutorial.h"

static struct {
	uint64_t target[4];
	uint64_t local[4];
} memory;

static struct end end;

static void get_and_test(struct gda_view *view, uint32_t key)
{
	int64_t ticket;
	int done;

	memory.target[0] = 7;
	ticket = MUST(gda_get(view, (uintptr_t)&memory.local[0], key,
			      (uintptr_t)&memory.target[0], key, 8, 0));
	do
		done = (int)MUST(gda_test(view, ticket));
	while (!done);
	printf("get: %llu\n", (unsigned long long)memory.local[0]);
}

static void put_inline(struct gda_view *view, uint32_t key)
{
	uint64_t pair[2] = { 1, 2 };

	MUST(gda_put_inline(view, (uintptr_t)&memory.target[1], key, pair, sizeof(pair), 0));
	pair[0] = 0;	/* the queue has its own copy */
	MUST(gda_quiet(view, 0));
	printf("put inline: %llu %llu\n", (unsigned long long)memory.target[1],
	       (unsigned long long)memory.target[2]);
}

static void compare_swap(struct gda_view *view, uint32_t key)
{
	int64_t ticket = gda_compare_swap(view, (uintptr_t)&memory.local[1], key,
					  (uintptr_t)&memory.target[0], key, 7, 8, 0);

	MUST(gda_wait(view, ticket, 0));
	printf("compare and swap: was %llu, is %llu\n", (unsigned long long)memory.local[1],
	       (unsigned long long)memory.target[0]);
}

/* Three puts and one doorbell: no post rings, gda_flush() does. */
static void put_three(struct gda_view *view, uint32_t key)
{
	for (uint64_t i = 0; i < 3; i++)
		MUST(gda_put_value(view, (uintptr_t)&memory.target[i], key, 10 * i, GDA_DEFER));
	gda_flush(view);
	MUST(gda_wait(view, gda_nop(view, 0), 0));
	printf("batch: %llu %llu %llu\n", (unsigned long long)memory.target[0],
	       (unsigned long long)memory.target[1], (unsigned long long)memory.target[2]);
}

/* Adds 1 to each 16 bits of a word: the boundary has the highest bit of each field. */
static void masked_add(struct gda_view *view, uint32_t key)
{
	int64_t ticket;

	memory.target[0] = 0x000100020003ffffULL;
	ticket = gda_masked_fetch_add(view, (uintptr_t)&memory.local[2], key,
				      (uintptr_t)&memory.target[0], key, 0x0001000100010001ULL,
				      0x8000800080008000ULL, 0);
	MUST(gda_wait(view, ticket, 0));
	printf("masked add: %#llx\n", (unsigned long long)memory.target[0]);
}

/* Why is the last ticket not done? It is. */
static void explain(struct gda_view *view)
{
	int64_t ticket = MUST(gda_nop(view, 0));
	char why[160];

	MUST(gda_wait(view, ticket, 0));
	if (MUST(gda_explain(view, ticket, why, sizeof(why))) != GDA_WHY_DONE)
		printf("ticket %lld: %s\n", (long long)ticket, why);
}

/* Finds the device that gda_open() has chosen among those that there are. */
static void find_device(struct gda_context *ctx)
{
	struct gda_device_info list[16] = { { .size = sizeof(list[0]) } };
	struct gda_query query = { .size = sizeof(query) };
	int i, n = (int)MUST(gda_devices(list, 16));

	MUST(gda_context_query(ctx, &query));
	for (i = 0; i < n && i < 16; i++)
		if (!strcmp((const char *)list[i].device, (const char *)query.device))
			printf("the device is listed\n");
}

/* A queue pair whose completions are counted in memory, which is read without a call. */
static void count(struct gda_context *ctx, uint32_t key)
{
	struct gda_qp_attr attr = { .size = sizeof(attr) };
	struct gda_qp_query state = { .size = sizeof(state) };
	uint64_t until = in_ms(10000);
	struct gda_counter *counter;
	struct end other = { .ctx = ctx };

	MUST(gda_counter_create(ctx, &counter));
	attr.sent_counter = counter;
	MUST(gda_qp_create(ctx, &attr, &other.qp));
	end_connect(&other, &other);
	for (uint64_t i = 0; i < 3; i++)
		MUST(gda_put_value(gda_qp_view(other.qp), (uintptr_t)&memory.target[i], key, i, 0));
	while (__atomic_load_n(&gda_counter_memory(counter)->value, __ATOMIC_ACQUIRE) < 3 &&
	       gda_clock_ns() < until)
		sched_yield();
	MUST(gda_qp_query(other.qp, &state));
	printf("counted: %llu of %llu\n", (unsigned long long)gda_counter_memory(counter)->value,
	       (unsigned long long)state.producer);
	MUST(gda_qp_destroy(other.qp));
	MUST(gda_counter_destroy(counter));
}

/* An event loop: poll(2) waits for the eventfd of a ring, and gda_cq_poll() takes entries. */
static void event_loop(struct gda_context *ctx, uint32_t key)
{
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = 64 };
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	struct gda_qp_attr attr = { .size = sizeof(attr) };
	struct pollfd fd = { .fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), .events = POLLIN };
	struct end other = { .ctx = ctx };

	MUST(gda_cq_create(ctx, &ring, &attr.recv_cq));
	MUST(gda_qp_create(ctx, &attr, &other.qp));
	end_connect(&other, &other);
	MUST(gda_cq_event(attr.recv_cq, fd.fd, GDA_CQ_ARM));
	MUST(gda_put_imm(gda_qp_view(other.qp), (uintptr_t)&memory.local[0], key,
			 (uintptr_t)&memory.target[0], key, 8, 5, 0));
	while (!MUST(gda_cq_poll(gda_cq_view(attr.recv_cq), &entry)))
		poll(&fd, 1, 10000);
	printf("event loop: immediate %u\n", entry.imm);
	MUST(gda_qp_destroy(other.qp));
	MUST(gda_cq_destroy(attr.recv_cq));
	close(fd.fd);
}

int main(void)
{
	struct gda_view *view;
	uint32_t key;

	end_open(&end, &memory, sizeof(memory));
	end_connect(&end, &end);
	view = gda_qp_view(end.qp);
	key = gda_mr_key(end.mr);
	get_and_test(view, key);
	put_inline(view, key);
	compare_swap(view, key);
	put_three(view, key);
	masked_add(view, key);
	explain(view);
	find_device(end.ctx);
	count(end.ctx, key);
	event_loop(end.ctx, key);
	end_close(&end);
	return 0;
}

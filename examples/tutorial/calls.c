// SPDX-License-Identifier: MIT
/* The calls that the other steps did not need, each once. */
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
	end_close(&end);
	return 0;
}

// SPDX-License-Identifier: MIT
/* A call that is refused, a wait that ends at its deadline, and a queue that fails. */
#include "tutorial.h"

static uint64_t memory[2] = { 42 };

static void create_with_bad_depth(struct gda_context *ctx)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 17 };
	struct gda_qp *qp;
	int err = gda_qp_create(ctx, &attr, &qp);

	printf("refused: %s\n", gda_strerror(err));
	printf("because: %s\n", gda_last_error());
}

/* Puts the first word of @memory onto the second one, by @rkey. */
static int64_t put(struct end *e, uint32_t rkey)
{
	return gda_put(gda_qp_view(e->qp), (uintptr_t)&memory[0], gda_mr_key(e->mr),
		       (uintptr_t)&memory[1], rkey, sizeof(memory[0]), 0);
}

static void put_with_bad_key(struct end *e)
{
	struct gda_view *view = gda_qp_view(e->qp);
	struct gda_error error = { .size = sizeof(error) };
	int64_t bad = MUST(put(e, ~gda_mr_key(e->mr))), next = put(e, gda_mr_key(e->mr));

	printf("wait for the bad one: %s\n", gda_strerror(gda_wait(view, bad, in_ms(10000))));
	printf("wait for the next: %s\n", gda_strerror(gda_wait(view, next, in_ms(10000))));
	if (gda_error(view, &error))
		printf("ticket %lld: %s: %s\n", (long long)error.ticket,
		       gda_syndrome_name(error.syndrome), gda_vendor_name(error.vendor));
}

int main(void)
{
	struct gda_address addr;
	struct end e;
	int64_t ticket;

	end_open(&e, memory, sizeof(memory));
	create_with_bad_depth(e.ctx);

	/* not connected yet: the put waits, and the wait has a deadline */
	ticket = MUST(put(&e, gda_mr_key(e.mr)));
	printf("wait for 10 ms: %s\n",
	       gda_strerror(gda_wait(gda_qp_view(e.qp), ticket, in_ms(10))));
	MUST(gda_qp_address(e.qp, &addr));
	MUST(gda_qp_connect(e.qp, &addr));
	MUST(gda_wait(gda_qp_view(e.qp), ticket, 0));
	printf("connected: the word is %llu\n",
	       (unsigned long long)memory[1]);

	put_with_bad_key(&e);
	end_close(&e);

	/* an error is final, and a new queue pair is good again */
	memory[1] = 0;
	end_open(&e, memory, sizeof(memory));
	end_connect(&e, &e);
	MUST(gda_wait(gda_qp_view(e.qp), put(&e, gda_mr_key(e.mr)), 0));
	printf("a new queue pair: the word is %llu\n",
	       (unsigned long long)memory[1]);
	end_close(&e);
	return 0;
}

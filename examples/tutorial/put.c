// SPDX-License-Identifier: MIT
/* Puts 14 bytes from one end of a connection to the other. */
#include "tutorial.h"

int main(void)
{
	static char from[14] = "hello, remote", to[14];
	struct gda_qp_attr attr = { .size = sizeof(attr) };
	struct gda_context *ctx;
	struct gda_address addr;
	struct gda_mr *source, *target;
	struct gda_view *view;
	struct gda_qp *qp;
	int64_t ticket;

	/* set-up: system calls, on a device of the kernel's */
	MUST(gda_open(NULL, &ctx));
	MUST(gda_qp_create(ctx, &attr, &qp));
	MUST(gda_mr_reg(ctx, from, sizeof(from), 0, 0, &source));
	MUST(gda_mr_reg(ctx, to, sizeof(to), GDA_ACCESS_LOCAL_WRITE | GDA_ACCESS_REMOTE_WRITE,
			0, &target));
	MUST(gda_qp_address(qp, &addr));
	MUST(gda_qp_connect(qp, &addr));

	/* the fast path: stores and loads */
	view = gda_qp_view(qp);
	ticket = gda_put(view, gda_mr_iova(source), gda_mr_key(source), gda_mr_iova(target),
			 gda_mr_key(target), sizeof(from), 0);
	MUST(gda_wait(view, ticket, 0));
	printf("ticket %lld is done: %s\n", (long long)ticket, to);

	MUST(gda_mr_dereg(target));
	MUST(gda_mr_dereg(source));
	MUST(gda_qp_destroy(qp));
	gda_close(ctx);
	return 0;
}

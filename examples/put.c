// SPDX-License-Identifier: MIT
/* Two queue pairs in two contexts of one process: put 13 bytes, wait, look. */
#include <stdio.h>
#include <stdlib.h>
#include <gda/fastpath.h>
#include <gda/gda.h>

static void check(int err)
{
	if (err < 0) {
		fprintf(stderr, "put: %s\n", gda_strerror(err));
		exit(1);
	}
}

int main(void)
{
	struct { struct gda_context *ctx; struct gda_qp *qp; struct gda_mr *mr; } a, b;
	struct gda_qp_attr attr = { .sq_depth = 16 };
	static char from[4096] = "hello, remote", to[4096];
	struct gda_address addr;
	int64_t ticket;

	check(gda_open(NULL, &a.ctx));
	check(gda_open(NULL, &b.ctx));
	check(gda_qp_create(a.ctx, &attr, &a.qp));
	check(gda_qp_create(b.ctx, &attr, &b.qp));
	check(gda_qp_address(b.qp, &addr));
	check(gda_qp_connect(a.qp, &addr));
	check(gda_qp_address(a.qp, &addr));
	check(gda_qp_connect(b.qp, &addr));
	check(gda_mr_reg(a.ctx, from, sizeof(from), 0, 0, &a.mr));
	check(gda_mr_reg(b.ctx, to, sizeof(to),
			 GDA_ACCESS_LOCAL_WRITE | GDA_ACCESS_REMOTE_WRITE, 0, &b.mr));

	ticket = gda_put(gda_qp_view(a.qp), gda_mr_iova(a.mr), gda_mr_key(a.mr),
			 gda_mr_iova(b.mr), gda_mr_key(b.mr), 13, 0);
	check(gda_wait(gda_qp_view(a.qp), ticket, gda_clock_ns() + 1000000000));
	printf("%s\n", to);
	return strcmp(to, from) != 0;
}

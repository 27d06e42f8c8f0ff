// SPDX-License-Identifier: MIT
/* Two queue pairs in two contexts of one process: put 14 bytes, wait, look. */
#include <stdio.h>
#include <gda/fastpath.h>
#include <gda/gda.h>

struct side {
	struct gda_context *ctx;
	struct gda_qp *qp;
	struct gda_mr *mr;
	struct gda_address addr;
};

static int side_open(struct side *s, void *memory, size_t bytes, uint32_t access)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 16 };
	int err = gda_open(NULL, &s->ctx);

	err = err ? err : gda_qp_create(s->ctx, &attr, &s->qp);
	err = err ? err : gda_qp_address(s->qp, &s->addr);
	return err ? err : gda_mr_reg(s->ctx, memory, bytes, access, 0, &s->mr);
}

int main(void)
{
	static char from[14] = "hello, remote", to[14];
	struct side a, b;
	int64_t ticket;
	int err = side_open(&a, from, sizeof(from), 0);

	err = err ? err : side_open(&b, to, sizeof(to), GDA_ACCESS_LOCAL_WRITE |
							GDA_ACCESS_REMOTE_WRITE);
	err = err ? err : gda_qp_connect(a.qp, &b.addr);
	err = err ? err : gda_qp_connect(b.qp, &a.addr);
	if (!err) {
		ticket = gda_put(gda_qp_view(a.qp), gda_mr_iova(a.mr), gda_mr_key(a.mr),
				 gda_mr_iova(b.mr), gda_mr_key(b.mr), sizeof(from), 0);
		err = gda_wait(gda_qp_view(a.qp), ticket, gda_clock_ns() + 1000000000);
	}
	printf("%s\n", err ? gda_strerror(err) : to);
	return err != 0;	/* ending the process cleans up */
}

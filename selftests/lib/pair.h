/* SPDX-License-Identifier: MIT */
/* One side of a pair in tests of the library on a device: memory, a queue, a view. */
#ifndef SELFTESTS_LIB_SIDE_H
#define SELFTESTS_LIB_SIDE_H

#include <errno.h>
#include <sys/mman.h>
#include <gda/fastpath.h>
#include <gda/gda.h>

#define BYTES	(256 * 1024)	/* of memory on each side */

struct side {
	struct gda_context *ctx;
	struct gda_qp *qp;
	struct gda_view *v;
	struct gda_mr *mr;
	uint8_t *mem;
	uint64_t iova;
	uint32_t key;
};

/* @device: of gda_open(). */
static inline int side_open_on(struct side *s, const char *device, uint32_t depth)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = depth, .timeout_ns = 20000000000U,
	};
	int err = gda_open(device, &s->ctx);

	if (err)
		return err;
	s->mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	err = s->mem == MAP_FAILED ? -ENOMEM : gda_qp_create(s->ctx, &attr, &s->qp);
	if (!err)
		err = gda_mr_reg(s->ctx, s->mem, BYTES, GDA_ACCESS_ALL, 0, &s->mr);
	if (err)
		return err;
	s->v = gda_qp_view(s->qp);
	s->iova = gda_mr_iova(s->mr);
	s->key = gda_mr_key(s->mr);
	return 0;
}

static inline int side_open(struct side *s, uint32_t depth)
{
	return side_open_on(s, NULL, depth);
}

static inline int side_connect(struct side *a, struct side *b)
{
	struct gda_address address;
	int err = gda_qp_address(b->qp, &address);

	err = err ? err : gda_qp_connect(a->qp, &address);
	err = err ? err : gda_qp_address(a->qp, &address);
	return err ? err : gda_qp_connect(b->qp, &address);
}

/* Two sides, connected, each with its own bytes. */
static inline int side_pair_open(struct side *a, struct side *b, uint32_t depth)
{
	int err = side_open(a, depth);
	int i;

	err = err ? err : side_open(b, depth);
	err = err ? err : side_connect(a, b);
	for (i = 0; i < BYTES && !err; i++) {
		a->mem[i] = (uint8_t)(i * 7 + i / 251);
		b->mem[i] = 0xcc;
	}
	return err;
}

static inline void side_close(struct side *s)
{
	gda_qp_destroy(s->qp);
	gda_mr_dereg(s->mr);
	gda_close(s->ctx);
	munmap(s->mem, BYTES);
}

#endif /* SELFTESTS_LIB_SIDE_H */

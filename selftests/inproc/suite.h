/* SPDX-License-Identifier: MIT */
/*
 * Shared by the device tests. They are written against gda/gda.h and gda/fastpath.h
 * and run on the device that gda_open(NULL) opens: the in-process device here, the kernel's in
 * the guest, or what GDA_DEVICE names. GDA_SEED repeats a run, GDA_STRESS makes it longer;
 * where it is above 1, s_short() is no shorter on slow machines.
 */
#ifndef GDA_SUITE_H
#define GDA_SUITE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <gda/chunk.h>
#include <gda/fastpath.h>
#include <gda/gda.h>
#include "../lib/repeat.h"

static inline unsigned long s_stress(unsigned long n)
{
	const char *env = getenv("GDA_STRESS");
	double times = env ? strtod(env, NULL) : 1;

	return n * times < 1 ? 1 : (unsigned long)(n * times);
}

/* A test that is made longer may take longer. */
static inline unsigned int s_alarm(unsigned int seconds)
{
	unsigned long stressed = seconds ? s_stress(seconds) : 0;

	return alarm(stressed < seconds ? seconds : (unsigned int)stressed);
}

#define alarm	s_alarm
#include <kselftest_harness.h>

/* Emulation and sanitizers, on a busy machine. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	200
#define S_TIMEOUT_NS		60000000000ULL

#define ASSERT_OK(call)	ASSERT_EQ(0, (call))
#define EXPECT_OK(call)	EXPECT_EQ(0, (call))

struct s_memory {
	uint8_t *addr;
	size_t len;
	struct gda_mr *mr;
	uint64_t iova;
	uint32_t key;
};

/* A context with a QP and memory with all rights. */
struct s_end {
	struct gda_context *ctx;
	struct gda_qp *qp;
	struct gda_view *v;
	struct s_memory mem;
};

static inline uint64_t s_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

static inline uint64_t s_below(uint64_t *state, uint64_t n)
{
	return s_random(state) % n;
}

static inline uint64_t s_seed(void)
{
	const char *env = getenv("GDA_SEED");

	return env ? strtoull(env, NULL, 0) : gda_clock_ns();
}

/* @n times $GDA_STRESS; on a slow machine no more than @few, if that is 1 or less. */
static inline unsigned long s_short(unsigned long few, unsigned long n)
{
	unsigned long stressed = s_stress(n);

	return !test_slow() || stressed > n || stressed < few ? stressed : few;
}

/* Slots of an atomic, in the dialect of @v. */
static inline uint32_t s_atomic_slots(const struct gda_view *v)
{
	return gda_wqe_make(v->dialect, gda_wr_fetch_add(0, 0, 0, 0, 0)).slots;
}

/* Slots of a put of @len bytes that travel in the queue of @v. */
static inline uint32_t s_inline_slots(const struct gda_view *v, uint32_t len)
{
	static const uint8_t zeroes[GDA_INLINE_MAX];

	return gda_wqe_make(v->dialect, gda_wr_inline(0, 0, zeroes, len)).slots;
}

/* Of these, slots that no completion names: an entry of several has one, the NOP behind it too. */
static inline uint32_t s_atomic_extra(const struct gda_view *v)
{
	return s_atomic_slots(v) > 1 ? s_atomic_slots(v) - 2 : 0;
}

static inline void *s_pages(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static inline int s_register(struct gda_context *ctx, void *addr, size_t len, uint32_t access,
			     struct s_memory *m)
{
	int err = gda_mr_reg(ctx, addr, len, access, 0, &m->mr);

	if (err)
		return err;
	m->addr = addr;
	m->len = len;
	m->iova = gda_mr_iova(m->mr);
	m->key = gda_mr_key(m->mr);
	return 0;
}

static inline int s_memory_new(struct gda_context *ctx, size_t len, uint32_t access,
			       struct s_memory *m)
{
	void *p = s_pages(len);

	return p ? s_register(ctx, p, len, access, m) : -ENOMEM;
}

static inline void s_memory_free(struct s_memory *m)
{
	gda_mr_dereg(m->mr);
	if (m->addr)
		munmap(m->addr, m->len);
	memset(m, 0, sizeof(*m));
}

static inline int s_qp_open(struct gda_context *ctx, uint32_t depth, uint64_t timeout_ns,
			    struct gda_qp **qp)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = depth, .timeout_ns = timeout_ns,
	};

	return gda_qp_create(ctx, &attr, qp);
}

static inline int s_connect(struct gda_qp *a, struct gda_qp *b)
{
	struct gda_address to_a, to_b;
	int err = gda_qp_address(a, &to_a);

	if (!err)
		err = gda_qp_address(b, &to_b);
	if (!err)
		err = gda_qp_connect(a, &to_b);
	if (!err && a != b)
		err = gda_qp_connect(b, &to_a);
	return err;
}

static inline int s_end_open(struct s_end *e, uint32_t depth, size_t len)
{
	int err;

	memset(e, 0, sizeof(*e));
	err = gda_open(NULL, &e->ctx);
	if (!err)
		err = s_qp_open(e->ctx, depth, S_TIMEOUT_NS, &e->qp);
	if (!err)
		err = s_memory_new(e->ctx, len, GDA_ACCESS_ALL, &e->mem);
	if (!err)
		e->v = gda_qp_view(e->qp);
	return err;
}

static inline void s_end_close(struct s_end *e)
{
	gda_qp_destroy(e->qp);
	s_memory_free(&e->mem);
	gda_close(e->ctx);
	memset(e, 0, sizeof(*e));
}

static inline int s_pair_open(struct s_end end[2], uint32_t depth, size_t len)
{
	int err = s_end_open(&end[0], depth, len);

	if (!err)
		err = s_end_open(&end[1], depth, len);
	if (!err)
		err = s_connect(end[0].qp, end[1].qp);
	return err;
}

static inline void s_pair_close(struct s_end end[2])
{
	s_end_close(&end[0]);
	s_end_close(&end[1]);
}

/* A put or get between the memories of two ends, by offset. */
static inline int64_t s_put(struct s_end *from, uint64_t src, struct s_end *to, uint64_t dst,
			    uint32_t len, unsigned int flags)
{
	return gda_put(from->v, from->mem.iova + src, from->mem.key, to->mem.iova + dst,
		       to->mem.key, len, flags);
}

static inline int64_t s_get(struct s_end *to, uint64_t dst, struct s_end *from, uint64_t src,
			    uint32_t len, unsigned int flags)
{
	return gda_get(to->v, to->mem.iova + dst, to->mem.key, from->mem.iova + src,
		       from->mem.key, len, flags);
}

/* The in-process device, not one of the kernel's? */
static inline bool s_inproc(struct gda_context *ctx)
{
	struct gda_query q = { .size = sizeof(q) };

	return !gda_context_query(ctx, &q) && !strcmp((const char *)q.device, GDA_DEVICE_INPROC);
}

/* Has the device all of these, GDA_FEATURE_*? */
static inline bool s_has(struct gda_context *ctx, uint64_t features)
{
	struct gda_query q = { .size = sizeof(q) };

	return !gda_context_query(ctx, &q) && !(features & ~q.features[0]);
}

/* An RDMA device: peers are told over a fabric, in its own time and with less detail. */
static inline bool s_fabric(struct gda_context *ctx)
{
	struct gda_query q = { .size = sizeof(q) };

	return !gda_context_query(ctx, &q) &&
	       (!strncmp((const char *)q.device, GDA_DEVICE_VERBS, strlen(GDA_DEVICE_VERBS)) ||
		!strncmp((const char *)q.device, "ib:", 3));
}

/* In a test or its set-up: skip it on a device that lacks one of these. */
#define S_NEEDS(ctx, features) do {						\
	if (!s_has(ctx, features))						\
		SKIP(return, "the device has not " #features);			\
} while (0)

/* ... and on one that knows of its peers only what they tell. */
#define S_NEEDS_SIGHT(ctx) do {							\
	if (s_fabric(ctx))							\
		SKIP(return, "the device does not see its peers");		\
} while (0)

/* Does the queue fail for GDA_CAUSE_QUEUE, in good time? */
static inline bool s_fails_by_queue(struct gda_qp *qp)
{
	struct gda_qp_query q = { .size = sizeof(q) };
	uint64_t end = gda_clock_ns() + S_TIMEOUT_NS;

	do {
		if (gda_qp_query(qp, &q))
			return false;
		gda_yield();
	} while (q.state != GDA_QP_ERROR && gda_clock_ns() < end);
	return q.state == GDA_QP_ERROR && q.vendor == GDA_CAUSE_QUEUE;
}

#endif /* GDA_SUITE_H */

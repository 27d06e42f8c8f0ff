// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A program and a library of different ages, on the in-process device. Built three times:
 * with the headers of the last release (of today if there was none) and today's library, with
 * these headers and a library of which every structure has grown, and with headers that have
 * grown (GROWN) and today's library. Behind every structure that the library writes lie bytes that must stay.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <gda/chunk.h>
#include <gda/comm.h>
#include <gda/cuda.h>
#include <gda/fastpath.h>
#include <gda/gda.h>
#include <gda/ring.h>
#include "kselftest_harness.h"

/* The library's own, which programs without headers call. */
struct gda_view *lib_qp_view(struct gda_qp *qp) __asm__("gda_qp_view");
struct gda_cq_view *lib_cq_view(struct gda_cq *cq) __asm__("gda_cq_view");
int64_t lib_put_imm(struct gda_view *v, uint64_t laddr, uint32_t lkey, uint64_t raddr,
		    uint32_t rkey, uint64_t len, uint32_t imm,
		    unsigned int flags) __asm__("gda_put_imm");
int lib_wait(struct gda_view *v, int64_t ticket, uint64_t deadline) __asm__("gda_wait");
int lib_error(struct gda_view *v, struct gda_error *error) __asm__("gda_error");
int lib_cq_poll(struct gda_cq_view *cq, struct gda_cq_entry *entry) __asm__("gda_cq_poll");
int lib_cq_wait(struct gda_cq_view *cq, struct gda_cq_entry *entry,
		uint64_t deadline) __asm__("gda_cq_wait");
int64_t lib_put_chunked(struct gda_view *v, const struct gda_chunk_map *lmap, uint64_t laddr,
			const struct gda_chunk_map *rmap, uint64_t raddr, uint64_t len,
			unsigned int flags) __asm__("gda_put_chunked");

int64_t lib_put_signal(struct gda_view *v, uint64_t laddr, uint32_t lkey, uint64_t raddr,
		       uint32_t rkey, uint64_t len, const struct gda_signal *signal,
		       unsigned int flags) __asm__("gda_put_signal");

#define FILL	0xa5

/* @s has its size, and is followed by what the library does not own. */
#define GUARDED(type) struct guarded_##type { struct gda_##type s; uint8_t behind[1024]; }

GUARDED(query);
GUARDED(qp_query);
GUARDED(mr_query);
GUARDED(device_info);
GUARDED(exported);
GUARDED(cq_entry);
GUARDED(error);
GUARDED(view);

#define GUARD(g) do { \
	memset(&(g), FILL, sizeof(g)); \
	memset(&(g).s, 0, sizeof((g).s)); \
	(g).s.size = sizeof((g).s); \
} while (0)
#define INTACT(g) intact(&(g).s.size, sizeof((g).s), (g).behind)

static bool intact(const uint32_t *size, size_t was, const uint8_t *behind)
{
	size_t i;

	for (i = 0; i < 1024; i++)
		if (behind[i] != FILL)
			return false;
	return *size == was;
}

/* Members that the library does not know are zero, also if they were not before. */
#ifdef GROWN
#define DIRTY(g) memset((g).s.grown, FILL, sizeof((g).s.grown))
#define CLEAN(g) all_zero((g).s.grown, sizeof((g).s.grown))
static bool all_zero(const void *p, size_t n)
{
	const uint8_t *b = p;

	while (n && !b[n - 1])
		n--;
	return !n;
}
#else
#define DIRTY(g) ((void)(g))
#define CLEAN(g) ((void)(g), true)
#endif

FIXTURE(sizes) {
	struct gda_context *ctx;
	struct gda_cq *ring;
	struct gda_qp *qp;
	struct gda_mr *mr;
	uint64_t at;
	uint32_t key;
	uint8_t mem[4096] __attribute__((aligned(64)));
};

FIXTURE_SETUP(sizes)
{
	struct gda_cq_attr cq = { .size = sizeof(cq), .depth = 16 };
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 16 };
	struct gda_address addr;

	ASSERT_EQ(0, gda_open(GDA_DEVICE_INPROC, &self->ctx));
	ASSERT_EQ(0, gda_cq_create(self->ctx, &cq, &self->ring));
	attr.recv_cq = self->ring;
	ASSERT_EQ(0, gda_qp_create(self->ctx, &attr, &self->qp));
	ASSERT_EQ(0, gda_qp_address(self->qp, &addr));
	ASSERT_EQ(0, gda_qp_connect(self->qp, &addr));
	ASSERT_EQ(0, gda_mr_reg(self->ctx, self->mem, sizeof(self->mem), GDA_ACCESS_ALL, 0,
				&self->mr));
	self->at = gda_mr_iova(self->mr);
	self->key = gda_mr_key(self->mr);
}

FIXTURE_TEARDOWN(sizes)
{
	gda_qp_destroy(self->qp);
	gda_cq_destroy(self->ring);
	gda_mr_dereg(self->mr);
	gda_close(self->ctx);
}

/* Too small, and what nobody initialized; @call uses the size of @s. */
#define REFUSES(s, call) do { \
	uint32_t was = (s).size; \
	(s).size = 0; \
	EXPECT_EQ(-EINVAL, call); \
	(s).size = 8; \
	EXPECT_EQ(-EINVAL, call); \
	(s).size = 4097; \
	EXPECT_EQ(-E2BIG, call); \
	(s).size = UINT32_MAX; \
	EXPECT_EQ(-E2BIG, call); \
	(s).size = was; \
} while (0)

/* A member that the library does not know must not be set. */
#ifdef GROWN
#define UNKNOWN(s, call) do { \
	(s).grown[39] = 1; \
	EXPECT_EQ(-E2BIG, call); \
	(s).grown[39] = 0; \
} while (0)
#else
#define UNKNOWN(s, call) ((void)(s), (void)sizeof(call))
#endif

TEST_F(sizes, queries_write_what_the_program_knows)
{
	struct guarded_query query;
	struct guarded_qp_query qp;
	struct guarded_mr_query mr;

	GUARD(query);
	GUARD(qp);
	GUARD(mr);
	DIRTY(query);
	DIRTY(qp);
	DIRTY(mr);
	ASSERT_EQ(0, gda_context_query(self->ctx, &query.s));
	ASSERT_EQ(0, gda_qp_query(self->qp, &qp.s));
	ASSERT_EQ(0, gda_mr_query(self->mr, &mr.s));
	EXPECT_TRUE(INTACT(query) && INTACT(qp) && INTACT(mr));
	EXPECT_TRUE(CLEAN(query) && CLEAN(qp) && CLEAN(mr));
	EXPECT_STREQ(GDA_DEVICE_INPROC, (char *)query.s.device);
	EXPECT_EQ(16, qp.s.sq_depth);
	EXPECT_EQ(sizeof(self->mem), mr.s.length);
	REFUSES(query.s, gda_context_query(self->ctx, &query.s));
	REFUSES(qp.s, gda_qp_query(self->qp, &qp.s));
	REFUSES(mr.s, gda_mr_query(self->mr, &mr.s));
}

/* Entries of the program's size, one after the other; the last is the in-process device. */
TEST_F(sizes, devices)
{
	struct gda_device_info list[8] = { { .size = sizeof(list[0]) } };
	struct guarded_device_info info;
	int n = gda_devices(list, 8);

	ASSERT_LE(1, n);
	ASSERT_GE(8, n);
	EXPECT_STREQ(GDA_DEVICE_INPROC, (char *)list[n - 1].device);
	EXPECT_EQ(0, list[n - 1].id);
	for (int i = 0; i < n; i++) {
		EXPECT_EQ(sizeof(list[0]), list[i].size);
		EXPECT_TRUE(list[i].features[0] & GDA_FEATURE_DIALECT_MLX5);
	}
	GUARD(info);
	DIRTY(info);
	EXPECT_EQ(n, gda_devices(&info.s, 1));
	EXPECT_STREQ((char *)list[0].device, (char *)info.s.device);
	EXPECT_TRUE(INTACT(info) && CLEAN(info));
	EXPECT_EQ(n, gda_devices(NULL, 0));
	REFUSES(info.s, gda_devices(&info.s, 1));
	info.s.flags = 1;
	EXPECT_EQ(-EOPNOTSUPP, gda_devices(&info.s, 1));
}

TEST_F(sizes, attributes)
{
	struct gda_place place = { .size = sizeof(place), .fd = -1 };
	struct gda_cq_attr cq = { .size = sizeof(cq), .depth = 16 };
	struct gda_qp_attr attr = { .size = sizeof(attr) };
	struct guarded_exported exported;
	struct gda_cq *c;
	struct gda_qp *q;

	REFUSES(cq, gda_cq_create(self->ctx, &cq, &c));
	UNKNOWN(cq, gda_cq_create(self->ctx, &cq, &c));
	REFUSES(attr, gda_qp_create(self->ctx, &attr, &q));
	UNKNOWN(attr, gda_qp_create(self->ctx, &attr, &q));
	attr.sq = &place;
	REFUSES(place, gda_qp_create(self->ctx, &attr, &q));
	UNKNOWN(place, gda_qp_create(self->ctx, &attr, &q));
	EXPECT_EQ(-EOPNOTSUPP, gda_qp_create(self->ctx, &attr, &q));
	attr.sq = NULL;
	cq.dialect = 99;
	attr.dialect = 99;
	EXPECT_EQ(-EOPNOTSUPP, gda_cq_create(self->ctx, &cq, &c));
	EXPECT_EQ(-EOPNOTSUPP, gda_qp_create(self->ctx, &attr, &q));
	/* nothing was created by any of these */
	attr.dialect = 0;
	ASSERT_EQ(0, gda_qp_create(self->ctx, &attr, &q));
	EXPECT_EQ(0, gda_qp_destroy(q));
	GUARD(exported);
	REFUSES(exported.s, gda_qp_export(self->qp, GDA_REGION_SQ, &exported.s));
	EXPECT_EQ(-EOPNOTSUPP, gda_qp_export(self->qp, GDA_REGION_SQ, &exported.s));
	EXPECT_TRUE(INTACT(exported));
}

/* Smaller than the program's headers say: refused, not read. Otherwise it works. */
TEST_F(sizes, views_are_large_enough)
{
	struct gda_view *v = gda_qp_view(self->qp);

	EXPECT_EQ(NULL, gda_qp_view_sized(self->qp, 0));
	EXPECT_EQ(NULL, gda_qp_view_sized(self->qp, 511));
	EXPECT_NE(NULL, gda_qp_view_sized(self->qp, 512));
	EXPECT_EQ(NULL, gda_qp_view_sized(self->qp, lib_qp_view(self->qp)->size + 1));
	EXPECT_EQ(NULL, gda_cq_view_sized(self->ring, 0));
	EXPECT_EQ(NULL, gda_cq_view_sized(self->ring, lib_cq_view(self->ring)->size + 1));
#ifdef GROWN
	EXPECT_EQ(NULL, v);
	EXPECT_EQ(NULL, gda_cq_view(self->ring));
	EXPECT_GT(sizeof(*v), lib_qp_view(self->qp)->size);
#else
	ASSERT_NE(NULL, v);
	ASSERT_NE(NULL, gda_cq_view(self->ring));
	EXPECT_LE(sizeof(*v), v->size);
	memcpy(self->mem, "old and new", 12);
	ASSERT_EQ(0, gda_wait(v, gda_put(v, self->at, self->key, self->at + 64, self->key, 12, 0),
			      0));
	EXPECT_STREQ("old and new", (char *)self->mem + 64);
#endif
}

TEST_F(sizes, entries_of_a_ring)
{
	struct gda_view *v = lib_qp_view(self->qp);
	struct gda_cq_view *ring = lib_cq_view(self->ring);
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct guarded_cq_entry entry;
	uint32_t i;

	GUARD(entry);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, lib_wait(v, lib_put_imm(v, 0, 0, self->at, self->key, 0, 70 + i, 0),
				      0));
	REFUSES(entry.s, gda_cq_sleep(self->ring, fd, GDA_CQ_ARM, &entry.s, 0));
	REFUSES(entry.s, lib_cq_poll(ring, &entry.s));
	REFUSES(entry.s, lib_cq_wait(ring, &entry.s, 0));
	DIRTY(entry);
	ASSERT_EQ(0, gda_cq_sleep(self->ring, fd, GDA_CQ_ARM, &entry.s, 0));
	EXPECT_TRUE(INTACT(entry) && CLEAN(entry));
	EXPECT_EQ(70, entry.s.imm);
	DIRTY(entry);
	ASSERT_EQ(1, lib_cq_poll(ring, &entry.s));
	EXPECT_TRUE(INTACT(entry) && CLEAN(entry));
	EXPECT_EQ(71, entry.s.imm);
	ASSERT_EQ(0, lib_cq_wait(ring, &entry.s, 0));
	EXPECT_TRUE(INTACT(entry));
	EXPECT_EQ(72, entry.s.imm);
	EXPECT_EQ(0, lib_cq_poll(ring, &entry.s));
	close(fd);
}

TEST_F(sizes, signal)
{
	struct gda_signal s = { .size = sizeof(s), .op = GDA_SIGNAL_SET, .value = 9,
				.raddr = self->at + 512, .rkey = self->key };
	struct gda_view *v = lib_qp_view(self->qp);

	REFUSES(s, lib_put_signal(v, self->at, self->key, self->at + 256, self->key, 8, &s, 0));
	UNKNOWN(s, lib_put_signal(v, self->at, self->key, self->at + 256, self->key, 8, &s, 0));
	self->mem[0] = 7;
	ASSERT_EQ(0, lib_wait(v, lib_put_signal(v, self->at, self->key, self->at + 256, self->key,
						8, &s, 0), 0));
	EXPECT_EQ(7, self->mem[256]);
	EXPECT_EQ(9, self->mem[512]);
}

TEST_F(sizes, chunks_and_errors)
{
	struct gda_chunk chunk = { .addr = 0, .length = 1024, .iova = self->at,
				   .key = self->key };
	struct gda_chunk_map map = { .size = sizeof(map), .count = 1,
				     .chunks = (uintptr_t)&chunk };
	struct gda_view *v = lib_qp_view(self->qp);
	struct guarded_error error;
	int64_t t;

	REFUSES(map, lib_put_chunked(v, &map, 0, &map, 512, 8, 0));
	UNKNOWN(map, lib_put_chunked(v, &map, 0, &map, 512, 8, 0));
	self->mem[0] = 7;
	ASSERT_EQ(0, lib_wait(v, lib_put_chunked(v, &map, 0, &map, 512, 8, 0), 0));
	EXPECT_EQ(7, self->mem[512]);
	GUARD(error);
	EXPECT_EQ(0, lib_error(v, &error.s));
	chunk.key ^= 0x5555;
	t = lib_put_chunked(v, &map, 0, &map, 512, 8, 0);
	ASSERT_EQ(-EIO, lib_wait(v, t, 0));
	REFUSES(error.s, lib_error(v, &error.s));
	DIRTY(error);
	ASSERT_EQ(1, lib_error(v, &error.s));
	EXPECT_TRUE(INTACT(error) && CLEAN(error));
	EXPECT_EQ(t, error.s.ticket);
	EXPECT_EQ(GDA_MLX5_VENDOR_KEY, error.s.vendor);
}

TEST(communicator)
{
	struct gda_comm_attr attr = { .size = sizeof(attr), .nranks = 1 };
	struct gda_comm_id id;
	struct gda_comm *comm;

	ASSERT_EQ(0, gda_comm_id_create(NULL, &id));
	attr.id = &id;
	REFUSES(attr, gda_comm_create(&attr, &comm));
	UNKNOWN(attr, gda_comm_create(&attr, &comm));
	ASSERT_EQ(0, gda_comm_create(&attr, &comm));
	gda_comm_destroy(comm);
}

/* A view in memory of the program's. */
TEST(view_init)
{
	static uint32_t slots[16], dbrec[2];
	static uint8_t sq[16][64] __attribute__((aligned(64)));
	static uint64_t cell __attribute__((aligned(64)));
	static struct gda_mlx5_cqe cqe __attribute__((aligned(64)));
	struct gda_view_attr attr = {
		.size = sizeof(attr), .depth = 16, .qpn = 5, .sq = sq, .dbrec = &dbrec[1],
		.db = &cell, .cq = &cqe, .slots = slots,
	};
	struct guarded_view view;

	memset(&cqe, 0xff, sizeof(cqe));
	GUARD(view);
#ifdef GROWN
	EXPECT_EQ(-E2BIG, gda_view_init(&view.s, &attr));
	EXPECT_EQ(sizeof(view.s), view.s.size);
	EXPECT_EQ(0, gda_view_init_sized(&view.s, 512, &attr));
#else
	REFUSES(attr, gda_view_init(&view.s, &attr));
	ASSERT_EQ(0, gda_view_init(&view.s, &attr));
	EXPECT_TRUE(INTACT(view));
	EXPECT_EQ(0, gda_nop(&view.s, 0));
	EXPECT_EQ(1, gda_nop(&view.s, 0));
	EXPECT_EQ(gda_mlx5_doorbell(2, 5), cell);
	EXPECT_TRUE(INTACT(view));
#endif
	EXPECT_EQ(-EINVAL, gda_view_init_sized(&view.s, 511, &attr));
	EXPECT_EQ(-E2BIG, gda_view_init_sized(&view.s, 1 << 20, &attr));
}

TEST_HARNESS_MAIN

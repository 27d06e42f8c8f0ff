// SPDX-License-Identifier: MIT
/*
 * gda_explain() names each cause of failure, made on purpose on whatever device gda_open(NULL)
 * opens. Not here: a lost peer and a CQ that overflowed, which are in explain.c; GDA_CAUSE_QUEUE
 * and GDA_CAUSE_REVOKED, for which another driver must take memory away (kernel/netlink_causes);
 * GDA_CAUSE_FABRIC, which needs one (kernel/netlink_fabric, verbs/lost); and GDA_CAUSE_RESERVED, of
 * the efa dialect (engine/efa).
 */
#include <stdio.h>
#include <sys/wait.h>
#include <gda/mlx5.h>
#include "explain.h"

#define UNBIND	"/sys/bus/platform/drivers/gda_soft/"

S_EXPLAIN_FIXTURE(causes)

/* A request of which some bytes are changed before it is rung for. */
static int64_t post_changed(struct s_end *a, struct s_end *b, size_t at, uint8_t value, bool atomic)
{
	int64_t t = atomic ? gda_fetch_add(a->v, a->mem.iova, a->mem.key, b->mem.iova + 8,
					   b->mem.key, 1, GDA_DEFER) :
			     s_put(a, 0, b, 0, 8, GDA_DEFER);
	uint8_t *wqe = (uint8_t *)(uintptr_t)a->v->sq + (t & (DEPTH - 1)) *
		       gda_wqe_slot_bytes(a->v->dialect);

	wqe[at] = value;
	gda_flush(a->v);
	return t;
}

static int64_t post_remote_key(struct s_end *a, struct s_end *b)
{
	return gda_put(a->v, a->mem.iova, a->mem.key, b->mem.iova, b->mem.key ^ 1, 8, 0);
}

static int64_t post_local_key(struct s_end *a, struct s_end *b)
{
	return gda_put(a->v, a->mem.iova, a->mem.key ^ 1, b->mem.iova, b->mem.key, 8, 0);
}

static int64_t post_range(struct s_end *a, struct s_end *b)
{
	return s_put(a, 0, b, BYTES - 4, 8, 0);
}

static int64_t post_rights(struct s_end *a, struct s_end *b)
{
	struct gda_mr *mr;

	/* goes with its context */
	if (gda_mr_reg(b->ctx, b->mem.addr, BYTES, GDA_ACCESS_REMOTE_READ, 0, &mr))
		return -1;
	return gda_put(a->v, a->mem.iova, a->mem.key, gda_mr_iova(mr), gda_mr_key(mr), 8, 0);
}

static int64_t post_align(struct s_end *a, struct s_end *b)
{
	return gda_fetch_add(a->v, a->mem.iova, a->mem.key, b->mem.iova + 4, b->mem.key, 1, 0);
}

/* The byte count of an atomic's result, which is in its last segment, in big endian. */
static int64_t post_length(struct s_end *a, struct s_end *b)
{
	return post_changed(a, b, 48 + 3, 4, true);
}

static int64_t post_index(struct s_end *a, struct s_end *b)
{
	return post_changed(a, b, 2, 0x77, false);
}

static int64_t post_opcode(struct s_end *a, struct s_end *b)
{
	return post_changed(a, b, 3, 0x55, false);
}

static int64_t post_size(struct s_end *a, struct s_end *b)
{
	return post_changed(a, b, 7, 1, false);
}

static int64_t post_recv(struct s_end *a, struct s_end *b)
{
	return gda_put_imm(a->v, a->mem.iova, a->mem.key, b->mem.iova, b->mem.key, 8, 7, 0);
}

/* Memory that is no more, though it is registered: in this process the worker notices. */
static int64_t post_io(struct s_end *a, struct s_end *b)
{
	munmap(b->mem.addr, BYTES);
	b->mem.addr = NULL;
	return s_put(a, 0, b, 0, 8, 0);
}

FIXTURE_VARIANT(causes) {
	int64_t (*post)(struct s_end *a, struct s_end *b);
	const char *where;		/* it failed */
	uint32_t cause;
	const char *remedy;
};

#define CAUSE(name, text, why, what)							\
	FIXTURE_VARIANT_ADD(causes, name) {						\
		.post = post_##name, .where = text, .cause = GDA_CAUSE_##why,		\
		.remedy = what,								\
	}

CAUSE(remote_key, "remote access error", KEY, ": pass gda_mr_key()");
CAUSE(local_key, "local protection error", KEY, ": pass gda_mr_key()");
CAUSE(range, "remote access error", RANGE, ": addresses are gda_mr_iova()");
CAUSE(rights, "remote access error", RIGHTS, ": register it with");
CAUSE(align, "remote invalid request", ALIGN, ": pass an address that is a multiple");
CAUSE(length, "local length error", LENGTH, "");
CAUSE(index, "local QP operation error", INDEX, "");
CAUSE(opcode, "local QP operation error", OPCODE, "");
CAUSE(size, "local QP operation error", SIZE, "");
CAUSE(recv, "remote invalid request", RECV, ": give the peer's QP a recv_cq");
CAUSE(io, "remote operation error", IO, "");

TEST_F(causes, M_04_named)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	char words[200];
	int64_t t;

	if (variant->post == post_io && !s_inproc(a->ctx))
		SKIP(return, "the kernel has pinned what is registered");
#ifdef __SANITIZE_THREAD__
	if (variant->post == post_io)
		SKIP(return, "the detector has the signal");
#endif
	if (variant->post == post_recv)
		S_NEEDS(a->ctx, GDA_FEATURE_IMM);
	ASSERT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	t = variant->post(a, b);
	ASSERT_EQ(1, t);
	ASSERT_EQ(-EIO, gda_wait(a->v, t, 0));
	EXPECT_EQ(GDA_WHY_FAILED, gda_explain(a->v, t, self->text, sizeof(self->text)));
	snprintf(words, sizeof(words), "ticket 1: failed: %s: %s%s", variant->where,
		 gda_vendor_name(variant->cause), variant->remedy);
	EXPECT_EQ(0, strncmp(words, self->text, strlen(words))) {
		TH_LOG("%s, not %s", self->text, words);
	}
	/* the whole of a remedy fits, and where there is none nothing follows */
	EXPECT_GT(sizeof(self->text) - 1, strlen(self->text));
	EXPECT_EQ(!*variant->remedy, strlen(words) == strlen(self->text));
	t = s_put(a, 0, b, 0, 8, 0);
	ASSERT_EQ(-ECANCELED, gda_wait(a->v, t, 0));
	EXPECT_EQ(GDA_WHY_FLUSHED, gda_explain(a->v, t, self->text, sizeof(self->text)));
	EXPECT_NE(NULL, strstr(self->text, gda_vendor_name(variant->cause)));
	EXPECT_EQ(GDA_WHY_DONE, gda_explain(a->v, 0, self->text, sizeof(self->text)));
}

S_EXPLAIN_FIXTURE(explain)

/* A doorbell that is further ahead than the queue is long. */
TEST_F(explain, M_04_doorbell)
{
	struct gda_view *v = self->end[0].v;
	struct gda_error error = { .size = sizeof(error) };
	uint64_t end = gda_clock_ns() + S_TIMEOUT_NS;

	ASSERT_EQ(0, gda_nop(v, GDA_DEFER));
	gda_ring(v, v->dialect, 1000);
	while (!gda_error(v, &error) && gda_clock_ns() < end)
		usleep(1000);
	EXPECT_EQ(GDA_WHY_FAILED, gda_explain(v, 0, self->text, sizeof(self->text)));
	EXPECT_NE(NULL, strstr(self->text, gda_vendor_name(GDA_CAUSE_DOORBELL))) {
		TH_LOG("%s", self->text);
	}
}

/* In a child of fork(2): what was done is, and the rest is its parent's. */
static int child(struct gda_view *v, char *text)
{
	if (gda_explain(v, 0, text, 256) != GDA_WHY_DONE)
		return 1;
	if (gda_explain(v, 1, text, 256) != GDA_WHY_FAILED ||
	    strncmp(text, "ticket 1: the queue belongs to the parent", 41))
		return 2;
	return gda_explain(v, -EAGAIN, text, 256) == -EAGAIN ? 0 : 3;
}

TEST_F(explain, M_04_fork)
{
#ifdef __SANITIZE_THREAD__
	SKIP(return, "the detector takes no child of a process with threads");
#endif
	struct s_end *a = &self->end[0], *b = &self->end[1];
	int status = -1;
	pid_t pid;

	ASSERT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	ASSERT_EQ(1, s_put(a, 0, b, 0, 8, GDA_DEFER));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(child(a->v, self->text));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(GDA_WHY_UNRUNG, gda_explain(a->v, 1, self->text, sizeof(self->text)));
	gda_flush(a->v);
	ASSERT_OK(gda_quiet(a->v, 0));
}

static int driver(const char *file)
{
	char path[128];
	FILE *f;
	int err;

	snprintf(path, sizeof(path), UNBIND "%s", file);
	f = fopen(path, "w");
	if (!f)
		return -errno;
	err = fputs("gda_soft", f) < 0;
	return fclose(f) || err ? -EIO : 0;
}

/* The kernel's device goes: the view has the completion, and nobody can be asked. */
TEST_F(explain, M_04_device)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];

	if (s_inproc(a->ctx))
		SKIP(return, "this device cannot be taken away");
	ASSERT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	if (driver("unbind"))
		SKIP(return, "not root");
	ASSERT_EQ(1, s_put(a, 0, b, 0, 8, 0));
	EXPECT_EQ(-EIO, gda_wait(a->v, 1, 0));
	EXPECT_OK(driver("bind"));
	EXPECT_EQ(GDA_WHY_FAILED, gda_explain(a->v, 1, self->text, sizeof(self->text)));
	EXPECT_NE(NULL, strstr(self->text, "the device was taken away")) {
		TH_LOG("%s", self->text);
	}
	EXPECT_EQ(GDA_WHY_DONE, gda_explain(a->v, 0, self->text, sizeof(self->text)));
}

TEST_HARNESS_MAIN

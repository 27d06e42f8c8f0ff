// SPDX-License-Identifier: MIT
/*
 * The engine COPY of gda/async.h: what PTO's SDMA engine gives, and what is refused. A test has
 * the id of the capability in FIELD.md that it proves.
 */
#include "copy.h"

/* One get, and one put; from a byte to several blocks. */
TEST_F(copy, P_01_get_and_put)
{
	static const uint32_t sizes[] = { 1, 7, 64, 4095, 4096, 4097, 65536, 100001, MIB };
	uint32_t i, put;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (put = 0; put < 2; put++) {
			struct gda_async_event e;

			world_fill(self->src, sizes[i], 2 * i + put);
			memset(self->dst, 0xee, sizes[i] + 1);
			e = put ? gda_async_put(&self->s, GDA_ASYNC_COPY, self->dst, self->src,
						sizes[i], 0) :
				  gda_async_get(&self->s, GDA_ASYNC_COPY, self->dst, self->src,
						sizes[i], 0);
			ASSERT_LT(0, e.handle);
			ASSERT_EQ(0, gda_async_wait(&self->s, 0));
			ASSERT_TRUE(world_is(self->dst, sizes[i], 2 * i + put));
			ASSERT_EQ(0xee, self->dst[sizes[i]]);
		}
	}
}

/* Shape of a tensor that is flat. */
static struct gda_async_tensor flat(void *addr, uint64_t n)
{
	struct gda_async_tensor t = {
		.addr = (uintptr_t)addr, .element = 4, .shape = { 1, 1, 1, 1, n },
		.stride = { n, n, n, n, 1 },
	};

	return t;
}

/* The compiler compares types (types.sh); what it cannot see is compared when the call runs. */
TEST_F(copy, P_02_types_and_layouts)
{
	struct gda_async_tensor dst = flat(self->dst, 1000), src = flat(self->src, 1000);
	float *to = (float *)self->dst;
	const float *from = (const float *)self->src;
	uint64_t posted;

	world_fill(self->src, 4000, 1);
	ASSERT_LT(0, gda_async_get_array(&self->s, GDA_ASYNC_COPY, to, from, 1000, 0).handle);
	ASSERT_EQ(0, gda_async_wait(&self->s, 0));
	ASSERT_TRUE(world_is(self->dst, 4000, 1));
	world_fill(self->src, 4000, 2);
	ASSERT_LT(0, gda_async_get_tensor(&self->s, GDA_ASYNC_COPY, &dst, &src, 0).handle);
	ASSERT_EQ(0, gda_async_wait(&self->s, 0));
	ASSERT_TRUE(world_is(self->dst, 4000, 2));
	posted = world_posted(self->world.r[0].w);
	dst.element = 8;
	ASSERT_EQ(0, gda_async_get_tensor(&self->s, GDA_ASYNC_COPY, &dst, &src, 0).handle);
	ASSERT_EQ(-EINVAL, self->s.refused);
	dst.element = 4;
	dst.layout = 1;
	ASSERT_EQ(0, gda_async_put_tensor(&self->s, GDA_ASYNC_COPY, &dst, &src, 0).handle);
	ASSERT_NE(NULL, strstr(gda_last_error(), "differ"));
	dst.layout = 0;
	dst.shape[4] = 999;
	ASSERT_EQ(0, gda_async_get_tensor(&self->s, GDA_ASYNC_COPY, &dst, &src, 0).handle);
	/* so many elements wrap */
	ASSERT_EQ(0, gda_async_get_array(&self->s, GDA_ASYNC_COPY, to, from, UINT64_MAX / 4 + 2,
					 0).handle);
	ASSERT_EQ(posted, world_posted(self->world.r[0].w));
}

/* Not flat, null, outside: the event is 0, nothing is posted, a wait returns at once. */
TEST_F(copy, P_03_bad_shape_posts_nothing)
{
	struct gda_async_tensor good = flat(self->dst, 64), bad;
	uint64_t posted = world_posted(self->world.r[0].w);
	struct gda_async_event e = { .handle = 77 };
	struct gda_async_session *s = &self->s;
	unsigned char *end = self->dst + 2 * HALF;
	uint32_t i;

	for (i = 0; i < 5; i++) {
		bad = good;
		bad.addr = (uintptr_t)self->src;
		if (i < 4)
			bad.shape[i] = 2;
		else
			bad.stride[4] = 2;
		e = gda_async_get_tensor(s, GDA_ASYNC_COPY, &good, &bad, 0);
		ASSERT_EQ(0, e.handle);
		ASSERT_EQ(-EINVAL, s->refused);
		ASSERT_NE(NULL, strstr(gda_last_error(), "contiguous"));
		ASSERT_EQ(0, gda_async_put_tensor(s, GDA_ASYNC_COPY, &bad, &good, 0).handle);
	}
	ASSERT_EQ(0, gda_async_get(s, GDA_ASYNC_COPY, NULL, self->src, 8, 0).handle);
	ASSERT_NE(NULL, strstr(gda_last_error(), "NULL"));
	ASSERT_EQ(0, gda_async_get(s, GDA_ASYNC_COPY, self->dst, NULL, 8, 0).handle);
	s->refused = 0;
	ASSERT_EQ(0, gda_async_get(s, GDA_ASYNC_COPY, self->dst, end, 1, 0).handle);
	ASSERT_EQ(-EFAULT, s->refused);
	ASSERT_NE(NULL, strstr(gda_last_error(), "source is not all in one window: give"));
	ASSERT_EQ(0, gda_async_get(s, GDA_ASYNC_COPY, self->dst, end - 8, 9, 0).handle);
	ASSERT_EQ(0, gda_async_put(s, GDA_ASYNC_COPY, self->dst - 1, self->src, 1, 0).handle);
	ASSERT_NE(NULL, strstr(gda_last_error(), "destination is not all in one window: give"));
	ASSERT_EQ(0, gda_async_put(s, GDA_ASYNC_COPY, self->dst, self->src, UINT64_MAX, 0).handle);
	ASSERT_EQ(0, gda_async_get(s, GDA_ASYNC_COPY, self->dst, self->src, 0, 0).handle);
	ASSERT_EQ(0, gda_async_get(s, GDA_ASYNC_PEER, self->dst, self->src, 8, 0).handle);
	ASSERT_NE(NULL, strstr(gda_last_error(), "another engine: GDA_ASYNC_COPY is"));
	ASSERT_EQ(0, gda_async_get(s, GDA_ASYNC_PEERS(0), self->dst, self->src, 8, 0).handle);
	ASSERT_EQ(posted, world_posted(self->world.r[0].w));
	ASSERT_EQ(0, gda_async_wait_for(s, e, 1));
	ASSERT_EQ(1, gda_async_test(s, e));
	ASSERT_EQ(0, gda_async_wait(s, 1));
	/* an event that the session has not had */
	e.handle = 1000;
	ASSERT_EQ(-EINVAL, gda_async_wait_for(s, e, 0));
	ASSERT_EQ(-EINVAL, gda_async_test(s, e));
	e.handle = -EAGAIN;
	ASSERT_EQ(-EAGAIN, gda_async_wait_for(s, e, 0));
}

/* A session, and a workspace, refuse bad calls. */
TEST_F(copy, P_04_sessions_refused)
{
	const struct gda_async_workspace *w = self->world.r[0].w;
	struct gda_async_workspace older = *w;
	struct gda_async_session s = { .size = sizeof(s) };
	uint32_t least = gda_async_scratch_bytes(w, GDA_ASYNC_AUTO);

	ASSERT_EQ(-EINVAL, gda_async_open(NULL, 0, self->scratch, 512, &s));
	ASSERT_NE(NULL, strstr(gda_last_error(), "workspace"));
	older.size -= 8;
	ASSERT_EQ(-EINVAL, gda_async_open(&older, 0, self->scratch, 512, &s));
	ASSERT_EQ(-EINVAL, gda_async_open(w, 2, self->scratch, 512, &s));
	ASSERT_NE(NULL, strstr(gda_last_error(), "group"));
	ASSERT_EQ(-EINVAL, gda_async_open(w, 0, self->scratch, least - 1, &s));
	ASSERT_NE(NULL, strstr(gda_last_error(), "scratch"));
	ASSERT_EQ(-EINVAL, gda_async_open(w, 0, NULL, least, &s));
	ASSERT_EQ(-EINVAL, gda_async_open(w, 0, (char *)self->scratch + 1, least, &s));
	ASSERT_EQ(-ENOTCONN, gda_async_open_peer(w, 0, 0, self->scratch, 512, &s));
	ASSERT_EQ(-ENOTCONN, gda_async_open_peer(w, 0, GDA_ASYNC_AUTO, self->scratch, 512, &s));
	s.size = sizeof(s) - 1;
	ASSERT_EQ(-EINVAL, gda_async_open(w, 0, self->scratch, 512, &s));
	s.size = sizeof(s);
	ASSERT_EQ(0, gda_async_open(w, 1, self->scratch, least, &s));
	ASSERT_EQ(GDA_ASYNC_COPY, s.engine);
	if (variant->flags) {
		uint64_t elsewhere[64];	/* in no window */

		ASSERT_EQ(-EFAULT, gda_async_open(w, 0, elsewhere, sizeof(elsewhere), &s));
		/* and nothing can be posted to such a session */
		ASSERT_EQ(0, gda_async_get(&s, GDA_ASYNC_COPY, self->dst, self->src, 8,
					   0).handle);
	}
}

TEST(P_04_workspaces_refused)
{
	static char mem[4 * 4096] __attribute__((aligned(4096)));
	struct gda_async_window two[2] = {
		{ .addr = (uintptr_t)mem, .bytes = 4096 },
		{ .addr = (uintptr_t)mem + 4095, .bytes = 4096 },
	}, good = { .addr = (uintptr_t)mem, .bytes = sizeof(mem) }, none = { 0 };
	const struct gda_async_attr ok = {
		.size = sizeof(ok), .windows = &good, .count = 1,
	};
	struct gda_async_attr bad[] = {
		ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok, ok,
	};
	static const int errors[] = {
		-EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EOPNOTSUPP,
		-EOPNOTSUPP, -EINVAL, -EINVAL, -EINVAL,
	};
	struct gda_async_workspace *w = (void *)1;
	struct gda_context *ctx;
	uint32_t i;

	bad[0].size = 8;
	bad[1].groups = GDA_ASYNC_MAX_GROUPS + 1;
	bad[2].queues = GDA_ASYNC_MAX_QUEUES + 1;
	bad[3].depth = 48;
	bad[4].depth = 2;
	bad[5].block_bytes = 100;
	bad[6].count = 0;
	bad[7].windows = NULL;
	bad[8].dialect = 63;
	bad[9].flags = 1U << 31;
	bad[10].windows = two;
	bad[10].count = 2;
	bad[11].windows = &none;
	bad[12].reserved2 = 1;
	ASSERT_EQ(0, gda_open(NULL, &ctx));
	ASSERT_EQ(-EINVAL, gda_async_create(NULL, ctx, NULL, &w));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ASSERT_EQ(errors[i], gda_async_create(NULL, ctx, &bad[i], &w)) {
			TH_LOG("row %u: %s", i, gda_last_error());
		}
		ASSERT_EQ((void *)1, w);
		ASSERT_EQ(0, strncmp(gda_last_error(), "gda_async_create: ", 18));
		if (bad[i].count && !bad[i].windows)
			ASSERT_NE(NULL, strstr(gda_last_error(), "windows is NULL"));
	}
	ASSERT_EQ(0, gda_async_create(NULL, ctx, &ok, &w));
	gda_async_destroy(w);
	gda_async_destroy(NULL);
	gda_close(ctx);
}

/* Two MiB of memory of huge pages, or NULL if the system gives none. */
static void *huge_memory(size_t bytes)
{
	char *p = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	char *aligned = (char *)(((uintptr_t)p + bytes - 1) & ~(uintptr_t)(bytes - 1));
	FILE *f;

	/* transparent ones, or those of root */
	if (p != MAP_FAILED && !madvise(aligned, bytes, MADV_HUGEPAGE)) {
		memset(aligned, 1, bytes);
		return aligned;
	}
	f = fopen("/proc/sys/vm/nr_hugepages", "w");
	if (f) {
		fputs("4", f);
		fclose(f);
	}
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1,
		 0);
	return p == MAP_FAILED ? NULL : p;
}

/* A workspace that demands huge pages takes them, and names the range that is not of them. */
TEST(P_12_huge_pages)
{
	const size_t bytes = 2 * MIB;
	unsigned char *huge = huge_memory(bytes), *small = world_map(bytes);
	struct gda_async_window windows[2] = {
		{ .addr = (uintptr_t)small + 4096, .bytes = 8192 },
		{ .addr = (uintptr_t)huge, .bytes = bytes },
	};
	struct gda_async_attr attr = {
		.size = sizeof(attr), .flags = GDA_ASYNC_HUGE_PAGES, .windows = windows,
		.count = 1,
	};
	struct gda_async_workspace *w;
	struct gda_context *ctx;
	char range[64];

	ASSERT_EQ(0, gda_open(NULL, &ctx));
	small[4096] = 1;
	snprintf(range, sizeof(range), "%#llx to %#llx", (unsigned long long)windows[0].addr,
		 (unsigned long long)windows[0].addr + 8192);
	ASSERT_EQ(-EFAULT, gda_async_create(NULL, ctx, &attr, &w));
	ASSERT_NE(NULL, strstr(gda_last_error(), range)) {
		TH_LOG("%s, not %s", gda_last_error(), range);
	}
	ASSERT_NE(NULL, strstr(gda_last_error(), "or leave out GDA_ASYNC_HUGE_PAGES"));
	world_unmap(small, bytes);
	ASSERT_EQ(-EFAULT, gda_async_create(NULL, ctx, &attr, &w));
	ASSERT_NE(NULL, strstr(gda_last_error(), "not mapped"));
	if (!huge)
		SKIP(goto out, "this system gives no huge pages");
	attr.windows = &windows[1];
	ASSERT_EQ(0, gda_async_create(NULL, ctx, &attr, &w)) {
		TH_LOG("%s", gda_last_error());
	}
	gda_async_destroy(w);
out:
	gda_close(ctx);
}

/* Sessions share a group, and each one's wait is for its own. */
TEST_F(copy, P_07_sessions_of_a_group)
{
	struct gda_async_session t, other;
	uint32_t i, bytes = 2048;

	ASSERT_EQ(0, world_open(&self->world, 0, GDA_ASYNC_AUTO, self->scratch + 64, 512, &t));
	other.size = sizeof(other);
	ASSERT_EQ(0, gda_async_open(self->world.r[0].w, 1, self->scratch + 128, 512, &other));
	world_fill(self->src, 64 * bytes, 7);
	for (i = 0; i < 64; i++) {
		struct gda_async_session *s = i % 3 == 0 ? &self->s : i % 3 == 1 ? &t : &other;

		ASSERT_LT(0, gda_async_get(s, GDA_ASYNC_COPY, self->dst + i * bytes,
					   self->src + i * bytes, bytes, 0).handle);
	}
	ASSERT_EQ(0, gda_async_wait(&t, 0));
	ASSERT_EQ(0, gda_async_wait(&self->s, 0));
	ASSERT_EQ(0, gda_async_wait(&other, 0));
	ASSERT_TRUE(world_is(self->dst, 64 * bytes, 7));
}

struct block {
	struct world *world;
	uint32_t number;
	int wrong;
};

/* A poster of its own, in the group of its own number. */
static void *block_main(void *arg)
{
	struct block *b = arg;
	unsigned char *dst = b->world->r[0].mem + b->number * 65536, *src = dst + HALF;
	struct gda_async_session s = { .size = sizeof(s) };
	uint32_t round;

	b->wrong = gda_async_open(b->world->r[0].w, GDA_ASYNC_AUTO,
				  b->world->r[0].control + 64 * b->number, 512, &s);
	for (round = 0; !b->wrong && round < 50; round++) {
		world_fill(src, 65536, b->number * 100 + round);
		gda_async_get(&s, GDA_ASYNC_COPY, dst, src, 65536, 0);
		b->wrong = gda_async_wait(&s, 0) || !world_is(dst, 65536, b->number * 100 + round);
	}
	return NULL;
}

TEST_F(copy, P_07_groups_by_thread)
{
	struct block blocks[8];
	pthread_t threads[8];
	uint32_t i;

	for (i = 0; i < 8; i++) {
		blocks[i].world = &self->world;
		blocks[i].number = i;
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, block_main, &blocks[i]));
	}
	for (i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, blocks[i].wrong);
	}
}

/* The scratch is tickets and flags: bytes that are copied never come there, nor from there. */
TEST_F(copy, P_08_scratch_holds_no_payload)
{
	uint32_t least = gda_async_scratch_bytes(self->world.r[0].w, GDA_ASYNC_AUTO), i, k;
	struct gda_async_session s;
	uint64_t *words = self->scratch + 256;

	ASSERT_LE(8 * variant->queues, least);
	ASSERT_GE(16 * variant->queues, least);
	ASSERT_EQ(-EINVAL, world_open(&self->world, 0, GDA_ASYNC_AUTO, words, 7, &s));
	memset(words, 0xa5, 512);
	ASSERT_EQ(0, world_open(&self->world, 0, GDA_ASYNC_AUTO, words, least, &s));
	memset(self->src, 0x5c, 65536);
	for (i = 0; i < 64; i++) {
		ASSERT_LT(0, gda_async_get(&s, GDA_ASYNC_COPY, self->dst + 1024 * i,
					   self->src + 1024 * i, 1024, 0).handle);
		for (k = 0; k < least / 8; k++)
			ASSERT_NE(0x5c5c5c5c5c5c5c5cULL, words[k]);
	}
	ASSERT_EQ(0, gda_async_wait(&s, 0));
	ASSERT_TRUE(world_only(self->dst, 65536, 0x5c));
	ASSERT_TRUE(world_only((char *)words + least, 512 - least, 0xa5));
}

/* With flags nothing but data is posted before the wait, and the wait posts one flag a queue. */
TEST_F(copy, P_09_flag_is_deferred_to_wait)
{
	const struct gda_async_workspace *w = self->world.r[0].w;
	uint64_t before = world_posted(w), n = 3 * variant->queues, i;
	uint64_t flags = variant->flags ? variant->queues : 0;

	world_fill(self->src, n * 512, 3);
	for (i = 0; i < n; i++)
		ASSERT_LT(0, gda_async_get(&self->s, GDA_ASYNC_COPY, self->dst + 512 * i,
					   self->src + 512 * i, 512, 0).handle);
	ASSERT_EQ(before + n, world_posted(w));
	ASSERT_EQ(0, gda_async_wait(&self->s, 0));
	ASSERT_EQ(before + n + flags, world_posted(w));
	ASSERT_TRUE(world_is(self->dst, n * 512, 3));
	/* nothing is on its way: no flag is posted */
	ASSERT_EQ(0, gda_async_wait(&self->s, 0));
	ASSERT_EQ(before + n + flags, world_posted(w));
	/* only the queue that was used */
	ASSERT_LT(0, gda_async_get(&self->s, GDA_ASYNC_COPY, self->dst, self->src, 8, 0).handle);
	ASSERT_EQ(0, gda_async_wait(&self->s, 0));
	ASSERT_EQ(before + n + flags + 1 + !!flags, world_posted(w));
}

/* One wait drains all; an event covers those before it, in whatever order they are asked for. */
TEST_F(copy, P_11_quiet)
{
	struct gda_async_event e[48];
	uint32_t round, i;

	for (round = 0; round < 20; round++) {
		world_fill(self->src, 48 * 1000, round);
		for (i = 0; i < 48; i++) {
			e[i] = gda_async_get(&self->s, GDA_ASYNC_COPY, self->dst + 1000 * i,
					     self->src + 1000 * i, 1000, 0);
			ASSERT_LT(0, e[i].handle);
		}
		if (round % 2) {
			ASSERT_EQ(0, gda_async_wait_for(&self->s, e[30], 0));
			for (i = 0; i <= 30; i++)
				ASSERT_EQ(1, gda_async_test(&self->s, e[i]));
			ASSERT_TRUE(world_is(self->dst, 31 * 1000, round));
			while (!gda_async_test(&self->s, e[40]))
				;
			ASSERT_TRUE(world_is(self->dst, 41 * 1000, round));
			ASSERT_EQ(0, gda_async_wait_for(&self->s, e[3], 0));
		}
		ASSERT_EQ(0, gda_async_wait(&self->s, 0));
		ASSERT_TRUE(world_is(self->dst, 48 * 1000, round));
		ASSERT_EQ(1, gda_async_test(&self->s, e[47]));
	}
}

/* A long copy is dealt: at most as many entries as queues. */
TEST_F(copy, P_13_long_copies_are_dealt)
{
	const struct gda_async_workspace *w = self->world.r[0].w;
	static const uint32_t sizes[] = { BLOCK, BLOCK + 1, 3 * BLOCK, 5 * BLOCK + 1, HALF };
	uint32_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t before = world_posted(w), blocks = (sizes[i] + BLOCK - 1) / BLOCK, n;

		world_fill(self->src, sizes[i], i);
		ASSERT_LT(0, gda_async_get(&self->s, GDA_ASYNC_COPY, self->dst, self->src,
					   sizes[i], 0).handle);
		n = world_posted(w) - before;
		ASSERT_LE(1, n);
		ASSERT_GE(variant->queues, n);
		ASSERT_EQ(blocks < variant->queues ? blocks : variant->queues,
			  variant->queues > 1 && blocks == 6 ? n + 1 : n);
		ASSERT_EQ(0, gda_async_wait(&self->s, 0));
		ASSERT_TRUE(world_is(self->dst, sizes[i], i));
	}
}

/* More than the scratch, or the ring, can hold: a call waits for room, or says -EAGAIN. */
TEST_F(copy, P_14_batches)
{
	struct gda_async_session s;
	uint32_t least = gda_async_scratch_bytes(self->world.r[0].w, GDA_ASYNC_AUTO), i;

	ASSERT_EQ(0, world_open(&self->world, 0, GDA_ASYNC_AUTO, self->scratch + 256, least, &s));
	world_fill(self->src, MIB, 9);
	for (i = 0; i < 1024; i++)
		ASSERT_LT(0, gda_async_get(&s, GDA_ASYNC_COPY, self->dst + 1024 * i,
					   self->src + 1024 * i, 1024, 0).handle);
	ASSERT_EQ(0, gda_async_wait(&s, 0));
	ASSERT_TRUE(world_is(self->dst, MIB, 9));
	world_fill(self->src, MIB, 10);
	for (i = 0; i < 1024;) {
		struct gda_async_event e = gda_async_get(&s, GDA_ASYNC_COPY, self->dst + 1024 * i,
							 self->src + 1024 * i, 1024, GDA_NOWAIT);

		if (e.handle == -EAGAIN)
			continue;
		ASSERT_LT(0, e.handle);
		i++;
	}
	/* each was told to the caller, and is no failure of the session */
	ASSERT_EQ(0, gda_async_wait(&s, 0));
	ASSERT_TRUE(world_is(self->dst, MIB, 10));
}

/* Deferred copies are rung by whatever waits, and by a test. */
TEST_F(copy, deferred)
{
	struct gda_async_event e;
	uint64_t until = gda_clock_ns() + 20 * WORLD_SECOND;
	int done = 0;

	world_fill(self->src, 2048, 1);
	ASSERT_LT(0, gda_async_get(&self->s, GDA_ASYNC_COPY, self->dst, self->src, 2048,
				   GDA_DEFER).handle);
	ASSERT_EQ(0, gda_async_wait(&self->s, 0));
	ASSERT_TRUE(world_is(self->dst, 2048, 1));
	world_fill(self->src, 2048, 2);
	e = gda_async_get(&self->s, GDA_ASYNC_COPY, self->dst, self->src, 2048, GDA_DEFER);
	while (!done && gda_clock_ns() < until)
		done = gda_async_test(&self->s, e);
	ASSERT_EQ(1, done);
	ASSERT_TRUE(world_is(self->dst, 2048, 2));
}

/* A poster that has its group alone. */
TEST_F(copy, exclusive)
{
	uint32_t i;

	world_fill(self->src, 300 * 1024, 4);
	for (i = 0; i < 300; i++) {
		ASSERT_LT(0, gda_async_get(&self->s, GDA_ASYNC_COPY, self->dst + 1024 * i,
					   self->src + 1024 * i, 1024, GDA_EXCLUSIVE).handle);
		if (i % 7 == 0)
			ASSERT_EQ(0, gda_async_wait(&self->s, 0));
	}
	ASSERT_EQ(0, gda_async_wait(&self->s, 0));
	ASSERT_TRUE(world_is(self->dst, 300 * 1024, 4));
}

TEST_HARNESS_MAIN

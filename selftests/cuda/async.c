// SPDX-License-Identifier: MIT
/*
 * Workspaces of gda/async.h for a GPU, on a driver without one: what kernels are given names the
 * same queues and windows as what the host has. selftests/gpu/async tests the kernels.
 */
#include <gda/async.h>
#include <gda/cuda.h>
#include "../inproc/suite.h"
#include "fake.h"

#define BYTES	65536U

FIXTURE(async) {
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	uint64_t memory;
};

FIXTURE_SETUP(async)
{
	fake_cuda_use();
	ASSERT_EQ(0, gda_open(GDA_DEVICE_INPROC, &self->ctx));
	ASSERT_EQ(0, gda_cuda_open(self->ctx, 0, &self->cuda));
	self->memory = fake_cuda_alloc(0, BYTES);
}

FIXTURE_TEARDOWN(async)
{
	fake_cuda_free(self->memory);
	gda_cuda_close(self->cuda);
	gda_close(self->ctx);
}

static void *there(uint64_t addr)
{
	return fake_cuda_window(addr);
}

TEST_F(async, is_copied)
{
	static uint64_t words[512] __attribute__((aligned(4096)));
	struct gda_async_window windows[2] = {
		{ .addr = self->memory, .bytes = BYTES },
		{ .addr = (uintptr_t)words, .bytes = sizeof(words) },
	};
	struct gda_async_attr attr = {
		.size = sizeof(attr), .groups = 2, .queues = 3, .depth = 64, .windows = windows,
		.count = 2, .cuda = self->cuda,
	};
	struct gda_async_workspace *w, *copy;
	const struct gda_chunk_map *map;
	const struct gda_chunk *chunk;
	uint64_t *views;
	uint32_t i, gpu;

	ASSERT_EQ(0, gda_async_create(NULL, self->ctx, &attr, &w));
	copy = there((uintptr_t)gda_async_cuda_workspace(w));
	EXPECT_EQ(2, copy->groups);
	EXPECT_EQ(3, copy->queues);
	EXPECT_EQ(sizeof(*copy), copy->size);
	EXPECT_NE(w->views, copy->views);
	views = there(copy->views);
	for (i = 0; i < 6; i++) {
		const struct gda_view *v = there(views[i]);

		EXPECT_EQ(((const uint64_t *)(uintptr_t)w->views)[i], views[i]);
		EXPECT_EQ(63, v->mask);
	}
	map = there(copy->maps);
	chunk = there(map->chunks);
	EXPECT_EQ(2, map->count);
	/* by address */
	gpu = chunk[0].addr != self->memory;
	EXPECT_EQ(self->memory, chunk[gpu].iova);
	EXPECT_EQ(BYTES, chunk[gpu].length);
	EXPECT_EQ((uintptr_t)words, chunk[!gpu].addr);
	/* the word that peers read, of the host */
	EXPECT_EQ(w->stage + 6 * 8, chunk[2].iova);
	EXPECT_EQ(0, *(uint64_t *)(uintptr_t)chunk[2].iova);
	gda_async_destroy(w);
}

TEST_F(async, refusals)
{
	struct gda_async_window window = { .addr = self->memory, .bytes = BYTES };
	struct gda_async_attr attr = {
		.size = sizeof(attr), .windows = &window, .count = 1, .cuda = self->cuda,
	};
	struct gda_async_workspace *w;
	struct gda_context *other;

	ASSERT_EQ(0, gda_open(GDA_DEVICE_INPROC, &other));
	EXPECT_EQ(-EINVAL, gda_async_create(NULL, other, &attr, &w));
	EXPECT_NE(NULL, strstr(gda_last_error(), "another context"));
	gda_close(other);
	attr.place = 1U << 31;
	EXPECT_GT(0, gda_async_create(NULL, self->ctx, &attr, &w));
	attr.place = 0;
	window.bytes = BYTES + 1;
	EXPECT_EQ(-EFAULT, gda_async_create(NULL, self->ctx, &attr, &w));
	window.bytes = BYTES;
	ASSERT_EQ(0, gda_async_create(NULL, self->ctx, &attr, &w));
	gda_async_destroy(w);
}

TEST_HARNESS_MAIN

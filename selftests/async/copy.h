/* SPDX-License-Identifier: MIT */
/*
 * A session of the engine COPY of gda/async.h, of one queue and of four, with flags and without.
 */
#ifndef ASYNC_COPY_H
#define ASYNC_COPY_H

#include <errno.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "world.h"

#define MIB	(1U << 20)
#define BLOCK	4096U
#define HALF	(2 * MIB)

FIXTURE(copy) {
	struct world world;
	struct gda_async_session s;
	unsigned char *dst, *src;
	uint64_t *scratch;
	uint32_t bytes;			/* of scratch */
};

FIXTURE_VARIANT(copy) {
	uint32_t queues, flags;
};

FIXTURE_VARIANT_ADD(copy, one) {
	.queues = 1,
};

FIXTURE_VARIANT_ADD(copy, four) {
	.queues = 4,
};

FIXTURE_VARIANT_ADD(copy, one_flag) {
	.queues = 1, .flags = GDA_ASYNC_FLAG_WAIT,
};

FIXTURE_VARIANT_ADD(copy, four_flags) {
	.queues = 4, .flags = GDA_ASYNC_FLAG_WAIT,
};

FIXTURE_SETUP(copy)
{
	self->world.bytes = 2 * HALF;
	self->world.attr.queues = variant->queues;
	self->world.attr.flags = variant->flags;
	self->world.attr.groups = 2;
	self->world.attr.depth = 64;
	self->world.attr.block_bytes = BLOCK;
	ASSERT_EQ(0, world_begin(&self->world));
	self->dst = self->world.r[0].mem;
	self->src = self->dst + HALF;
	self->scratch = self->world.r[0].control;
	self->bytes = 512;
	ASSERT_EQ(0, world_open(&self->world, 0, GDA_ASYNC_AUTO, self->scratch, self->bytes,
				&self->s)) {
		TH_LOG("%s", gda_last_error());
	}
}

FIXTURE_TEARDOWN(copy)
{
	world_end(&self->world);
}

#endif /* ASYNC_COPY_H */

// SPDX-License-Identifier: MIT
/*
 * The allocator of the symmetric heap: first fit, in a list ordered by offset. The list is in
 * private memory, so that no peer can overwrite it by mistake. It depends only on the calls: the
 * same calls give the same offsets at every PE.
 */
#include <errno.h>
#include <stdlib.h>
#include "osh.h"

#define BLOCK_ALIGN	64UL	/* blocks share no cache line */

/* Blocks cover the heap without gaps, and no two free ones are neighbours. */
struct block {
	size_t offset;
	size_t bytes;
	size_t asked;		/* 0: it is free */
	struct block *next;
};

static struct block *blocks;

int gda_osh_blocks_init(size_t start, size_t end)
{
	blocks = calloc(1, sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	blocks->offset = start;
	blocks->bytes = end - start;
	return 0;
}

void gda_osh_blocks_fini(void)
{
	while (blocks) {
		struct block *next = blocks->next;

		free(blocks);
		blocks = next;
	}
}

/* Shrink @b to @bytes; the rest becomes a free block. */
static bool split(struct block *b, size_t bytes)
{
	struct block *rest;

	if (b->bytes == bytes)
		return true;
	rest = malloc(sizeof(*rest));
	if (!rest)
		return false;
	*rest = (struct block) {
		.offset = b->offset + bytes, .bytes = b->bytes - bytes, .next = b->next,
	};
	b->bytes = bytes;
	b->next = rest;
	return true;
}

static void merge(struct block *b)
{
	struct block *next = b->next;

	if (b->asked || !next || next->asked)
		return;
	b->bytes += next->bytes;
	b->next = next->next;
	free(next);
}

size_t gda_osh_block_alloc(size_t alignment, size_t size)
{
	size_t bytes = (size + BLOCK_ALIGN - 1) & ~(BLOCK_ALIGN - 1);
	struct block *b;
	size_t front;

	if (bytes < size)
		return 0;
	alignment = alignment < BLOCK_ALIGN ? BLOCK_ALIGN : alignment;
	for (b = blocks; b; b = b->next) {
		front = -b->offset & (alignment - 1);
		if (b->asked || front > b->bytes || bytes > b->bytes - front)
			continue;
		if (front) {
			if (!split(b, front))
				return 0;
			b = b->next;
		}
		if (!split(b, bytes))
			return 0;
		b->asked = size;
		return b->offset;
	}
	return 0;
}

void gda_osh_blocks_free(size_t *all, size_t *largest)
{
	const struct block *b;

	*all = 0;
	*largest = 0;
	for (b = blocks; b; b = b->next) {
		if (b->asked)
			continue;
		*all += b->bytes;
		*largest = b->bytes > *largest ? b->bytes : *largest;
	}
}

size_t gda_osh_block_size(size_t offset)
{
	struct block *b;

	for (b = blocks; b; b = b->next)
		if (b->offset == offset)
			return b->asked;
	return 0;
}

void gda_osh_block_free(size_t offset)
{
	struct block *b, *before = NULL;

	for (b = blocks; b && b->offset != offset; b = b->next)
		before = b;
	if (!b)
		return;
	b->asked = 0;
	merge(b);
	if (before)
		merge(before);
}

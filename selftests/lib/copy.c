// SPDX-License-Identifier: MIT
/*
 * Copies of mapped memory by threads of a GPU (gda/shmem_copy.h), on a CPU: of every size up to 300
 * bytes and every alignment of both ends, by one thread and by groups, one thread after another.
 */
#include <stdlib.h>
#include <kselftest_harness.h>
#include <gda/shmem_copy.h>

#define SIZES		301U
#define ALIGNS		32U
#define AROUND		64U
#define ROOM		(AROUND + ALIGNS + SIZES + AROUND)

static _Alignas(64) uint8_t from[ROOM], to[ROOM], expect[ROOM];

static void copy_fill(void)
{
	uint32_t i;

	for (i = 0; i < ROOM; i++)
		from[i] = (uint8_t)(i * 31 + i / 256 + 7);
	memset(expect, 0xa5, sizeof(expect));
	memset(to, 0xa5, sizeof(to));
}

/* Copy by @size threads, and undo it. Return: whether exactly the target has changed. */
static bool copy_is_right(uint32_t target, uint32_t source, uint32_t bytes, uint32_t size)
{
	uint8_t *there = to + AROUND + target;
	const uint8_t *here = from + AROUND + source;
	uint32_t rank;
	bool right;

	for (rank = 0; rank < size; rank++)
		gda_shmem_copy_mapped(there, here, bytes, rank, size);
	memcpy(expect + AROUND + target, here, bytes);
	right = !memcmp(expect, to, ROOM);
	memset(expect + AROUND + target, 0xa5, bytes);
	memcpy(to, expect, ROOM);
	return right;
}

static void copy_all(struct __test_metadata *_metadata, uint32_t size, uint32_t aligns)
{
	uint32_t bytes, target, source;

	copy_fill();
	for (bytes = 0; bytes < SIZES; bytes++)
		for (target = 0; target < ALIGNS; target++)
			for (source = 0; source < aligns; source++)
				ASSERT_TRUE(copy_is_right(target, source, bytes, size))
					TH_LOG("%u bytes, to %u, from %u, by %u", bytes, target,
					       source, size);
}

TEST(by_a_thread)
{
	copy_all(_metadata, 1, ALIGNS);
}

TEST(by_three)
{
	copy_all(_metadata, 3, ALIGNS);
}

TEST(by_a_warp)
{
	copy_all(_metadata, 32, ALIGNS);
}

TEST(by_a_block)
{
	copy_all(_metadata, 256, 2);
}

/* Vectors are aligned, and nothing beside the source is loaded; all bytes are in one range. */
TEST(only_the_source_is_loaded)
{
	uint32_t bytes, target, source;

	for (bytes = 0; bytes < SIZES; bytes++) {
		for (target = 0; target < ALIGNS; target++) {
			for (source = 0; source < ALIGNS; source++) {
				const char *out = (char *)to + target, *in = (char *)from + source;
				struct gda_shmem_plan p = gda_shmem_copy_plan(out, in, bytes);
				uint64_t begin = p.head - p.shift;
				uint64_t end = begin + 16 * p.vectors + (p.shift ? 16 : 0);

				ASSERT_EQ(bytes, p.rest + 16 * p.vectors);
				ASSERT_LE(p.head, p.rest);
				if (!p.vectors)
					continue;
				ASSERT_EQ(0, ((uintptr_t)out + p.head) % 16);
				ASSERT_EQ(0, ((uintptr_t)in + begin) % 16);
				ASSERT_LE(p.shift, p.head);
				ASSERT_LE(end, bytes);
			}
		}
	}
}

/* A word that is aligned at both ends is one store: no unit is smaller than it could be. */
TEST(words_are_stored_once)
{
	uint32_t unit;

	for (unit = 1; unit <= 8; unit *= 2)
		EXPECT_EQ(unit, gda_shmem_copy_plan((char *)to + unit, (char *)from + 3 * unit,
						    5 * unit).unit);
}

/* Longer than a batch, so that the loop runs more than once. */
TEST(many_vectors)
{
	const uint32_t most = 20000;
	uint8_t *source = malloc(most + 64), *target = malloc(most + 64);
	uint32_t bytes, rank, size, i;

	ASSERT_NE(NULL, source);
	ASSERT_NE(NULL, target);
	for (i = 0; i < most + 64; i++)
		source[i] = (uint8_t)(i * 131 + i / 251);
	for (bytes = most - 1000, i = 0; bytes < most; bytes += 7, i++) {
		for (size = 1; size <= 64; size *= 4) {
			memset(target, 0, most + 64);
			for (rank = 0; rank < size; rank++)
				gda_shmem_copy_mapped(target + 1 + i % 16, source + i % 13, bytes,
						      rank, size);
			ASSERT_EQ(0, memcmp(target + 1 + i % 16, source + i % 13, bytes));
			ASSERT_EQ(0, target[i % 16]);
			ASSERT_EQ(0, target[1 + i % 16 + bytes]);
		}
	}
	free(source);
	free(target);
}

TEST_HARNESS_MAIN

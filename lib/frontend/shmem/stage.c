// SPDX-License-Identifier: MIT
/*
 * Registered memory of the library: words for the results of fetching requests, and blocks through
 * which unregistered memory is copied.
 *
 * Each piece belongs to one request. If a wait ends before its request is done, the piece is left
 * to the request, with its ticket. A caller that finds no free piece checks whether such a request
 * is done meanwhile. Bits and tickets change only by atomics; there is no lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "shmem_internal.h"

#define GDA_SHMEM_WORDS		64U
#define GDA_SHMEM_WORD_BYTES	64U	/* one to a line */
#define GDA_SHMEM_BLOCKS	8U
#define GDA_SHMEM_BLOCK_BYTES	32768U
#define GDA_SHMEM_SINK_BYTES	4096U
#define GDA_SHMEM_STAGE_BYTES	(GDA_SHMEM_SINK_BYTES + GDA_SHMEM_WORDS * GDA_SHMEM_WORD_BYTES + \
				 GDA_SHMEM_BLOCKS * GDA_SHMEM_BLOCK_BYTES)

static void gda_shmem_piece_release(struct gda_shmem_pool *pool, int piece)
{
	/* pairs with the acquire of the next thread that reserves it */
	__atomic_fetch_and(&pool->used, ~(1ULL << piece), __ATOMIC_RELEASE);
}

/* The request still uses the piece: it is free when its ticket is done. */
static void gda_shmem_piece_leave(struct gda_shmem_pool *pool, int piece, struct gda_view *view,
				  int64_t ticket)
{
	pool->left[piece].ticket = ticket;
	__atomic_store_n(&pool->left[piece].view, view, __ATOMIC_RELEASE);
}

/* Free the pieces whose requests are done. */
static void gda_shmem_pool_reclaim(struct gda_shmem_pool *pool)
{
	struct gda_view *view;
	unsigned int i;

	for (i = 0; i < 64; i++) {
		view = __atomic_exchange_n(&pool->left[i].view, NULL, __ATOMIC_ACQ_REL);
		if (!view)
			continue;
		if (gda_test_through(view, pool->left[i].ticket))
			gda_shmem_piece_release(pool, (int)i);
		else
			__atomic_store_n(&pool->left[i].view, view, __ATOMIC_RELEASE);
	}
}

/* Reserve a piece. Return: its number, or -ETIMEDOUT. */
static int gda_shmem_piece_reserve(struct gda_shmem *s, struct gda_shmem_pool *pool)
{
	uint64_t deadline = 0, used;
	unsigned int polls = 0;
	int piece, err = 0;

	for (;;) {
		used = __atomic_load_n(&pool->used, __ATOMIC_RELAXED);
		if (used != UINT64_MAX) {
			piece = __builtin_ctzll(~used);
			if (__atomic_compare_exchange_n(&pool->used, &used, used | 1ULL << piece, 1,
							__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
				return piece;
			continue;
		}
		if (err)
			return err;
		gda_shmem_pool_reclaim(pool);
		err = gda_shmem_relax(s, ++polls, s->pe, &deadline);
	}
}

/* The wait for a piece's request has ended. Return: the error for the caller. */
static int gda_shmem_piece_done(struct gda_shmem_pool *pool, int piece, struct gda_view *view,
				int64_t ticket, int err)
{
	if (!err || err == -EIO || err == -ECANCELED)
		gda_shmem_piece_release(pool, piece);
	else
		gda_shmem_piece_leave(pool, piece, view, ticket);
	return err == -ECANCELED ? -EIO : err;
}

static struct gda_shmem_stage *gda_shmem_stage_of(const struct gda_shmem *s)
{
	return &((struct gda_shmem_heap *)(uintptr_t)s->owner)->stage;
}

static char *gda_shmem_word(const struct gda_shmem *s, int word)
{
	return (char *)(uintptr_t)s->stage + GDA_SHMEM_SINK_BYTES +
	       (size_t)word * GDA_SHMEM_WORD_BYTES;
}

GDA_EXPORT int gda_shmem_word_reserve(struct gda_shmem *s, uint64_t *at)
{
	int word = gda_shmem_piece_reserve(s, &gda_shmem_stage_of(s)->words);

	if (word >= 0)
		*at = (uintptr_t)gda_shmem_word(s, word);
	return word;
}

GDA_EXPORT int gda_shmem_word_wait(struct gda_shmem *s, struct gda_view *view, int64_t ticket,
				   int word, void *value, uint32_t bytes)
{
	struct gda_shmem_pool *pool = &gda_shmem_stage_of(s)->words;
	int err;

	if (ticket < 0) {
		gda_shmem_piece_release(pool, word);
		return (int)ticket;
	}
	err = gda_wait(view, ticket, 0);
	if (!err)
		memcpy(value, gda_shmem_word(s, word), bytes);
	return gda_shmem_piece_done(pool, word, view, ticket, err);
}

/*
 * Move one block of a put or a get. If a post failed midway, earlier pieces may be in flight, so
 * the block stays reserved until all that was posted is done.
 */
static int64_t gda_shmem_stage_move(struct gda_shmem *s, struct gda_shmem_move m, uint32_t pe,
				    uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	struct gda_shmem_stage *stage = gda_shmem_stage_of(s);
	struct gda_view *v = gda_shmem_queue(s, p, flags);
	unsigned int post = gda_shmem_post_flags(flags) & ~GDA_DEFER;
	int piece = gda_shmem_piece_reserve(s, &stage->blocks), err;
	int64_t ticket, last;
	char *block;

	if (piece < 0)
		return piece;
	block = gda_shmem_word(s, GDA_SHMEM_WORDS) + (size_t)piece * GDA_SHMEM_BLOCK_BYTES;
	if (m.get) {
		ticket = gda_shmem_queue_read(v, gda_chunk_begin(&stage->map, (uintptr_t)block,
								 &p->map, (uintptr_t)m.remote,
								 m.bytes), post);
	} else {
		memcpy(block, m.local, m.bytes);
		ticket = gda_put_chunked(v, &stage->map, (uintptr_t)block, &p->map,
					 (uintptr_t)m.remote, m.bytes, post);
	}
	err = ticket < 0 ? (int)ticket : gda_wait(v, ticket, 0);
	if (!err && m.get)
		memcpy((void *)(uintptr_t)m.local, block, m.bytes);
	last = (int64_t)gda_handed_out(v) - 1;
	err = gda_shmem_piece_done(&stage->blocks, piece, v, ticket < 0 ? last : ticket, err);
	return err ? err : ticket;
}

static int64_t gda_shmem_stage_all(struct gda_shmem *s, struct gda_shmem_move m, uint32_t pe,
				   uint32_t flags)
{
	uint64_t left = m.bytes;
	int64_t ticket = 0;

	for (; left && ticket >= 0; left -= m.bytes) {
		m.bytes = left < GDA_SHMEM_BLOCK_BYTES ? left : GDA_SHMEM_BLOCK_BYTES;
		ticket = gda_shmem_stage_move(s, m, pe, flags);
		m.remote = (const char *)m.remote + m.bytes;
		m.local = (const char *)m.local + m.bytes;
	}
	return ticket;
}

GDA_EXPORT int64_t gda_shmem_stage_put(struct gda_shmem *s, void *dest, const void *source,
				       uint64_t bytes, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_move m = { dest, source, bytes, 0 };

	return gda_shmem_stage_all(s, m, pe, flags);
}

GDA_EXPORT int64_t gda_shmem_stage_get(struct gda_shmem *s, void *dest, const void *source,
				       uint64_t bytes, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_move m = { source, dest, bytes, 1 };

	return gda_shmem_stage_all(s, m, pe, flags);
}

static int gda_shmem_stage_map(void **addr)
{
	*addr = mmap(NULL, GDA_SHMEM_STAGE_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (*addr == MAP_FAILED)
		return -ENOMEM;
	/* a child of fork(2) must not get the pages to which the device writes */
	madvise(*addr, GDA_SHMEM_STAGE_BYTES, MADV_DONTFORK);
	return 0;
}

int gda_shmem_stage_create(struct gda_shmem_heap *h)
{
	struct gda_shmem_stage *stage = &h->stage;
	size_t bytes = GDA_SHMEM_STAGE_BYTES;
	void *addr;
	int err;

	if (h->cuda)
		err = gda_shmem_gpu_stage(h, &addr, &bytes);
	else
		err = gda_shmem_stage_map(&addr);
	if (err)
		return gda_shmem_refuse(h, err, "no memory for staging: set fewer qps");
	h->shmem.stage = (uintptr_t)addr;
	err = gda_mr_reg(h->ctx, addr, bytes, GDA_ACCESS_LOCAL_WRITE, 0, &stage->mr);
	if (err)
		return gda_shmem_refuse(h, err, "%s", gda_last_error());
	h->shmem.stage_key = gda_mr_key(stage->mr);
	stage->blocks.used = UINT64_MAX << GDA_SHMEM_BLOCKS;
	stage->chunk = (struct gda_chunk) {
		.addr = (uintptr_t)addr, .length = bytes,
		.iova = gda_mr_iova(stage->mr), .key = h->shmem.stage_key,
	};
	stage->map = (struct gda_chunk_map) {
		.size = sizeof(stage->map), .count = 1, .chunks = (uintptr_t)&stage->chunk,
	};
	return 0;
}

uint64_t gda_shmem_stage_bytes(void)
{
	return GDA_SHMEM_STAGE_BYTES;
}

void gda_shmem_stage_destroy(struct gda_shmem_heap *h)
{
	if (h->stage.mr)
		gda_mr_dereg(h->stage.mr);
	if (h->shmem.stage && !h->cuda)
		munmap((void *)(uintptr_t)h->shmem.stage, GDA_SHMEM_STAGE_BYTES);
}

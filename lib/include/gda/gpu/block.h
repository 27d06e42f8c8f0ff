/* SPDX-License-Identifier: MIT */
/*
 * Posting by the threads of one block, which owns the queue between gda_block_open() and
 * gda_block_close(). Cursors and the marks of ready slots are in shared memory, so a post needs
 * only a fence of block scope. Each doorbell needs one wider fence, by the thread that rings: a
 * poster that has the combining role, or a courier, a warp of the block that only rings.
 *
 * A slot's mark is a bit that is inverted in each lap of the window of GDA_WINDOW slots, so nothing
 * has to be cleared. Indices are 32 bits here, counted by differences.
 */
#ifndef GDA_GPU_BLOCK_H
#define GDA_GPU_BLOCK_H

#include <gda/gpu/exclusive.h>

/* Most slots that are not rung yet. */
#define GDA_WINDOW	1024U

/*
 * After so many rings in a row the combiner offers its role, and checks whether another thread has
 * taken it.
 */
#define GDA_BLOCK_LED		64
#define GDA_BLOCK_OFFERED	8

#define GDA_LEAD_FREE	0U
#define GDA_LEAD_TAKEN	1U
#define GDA_LEAD_OFFER	2U	/* taken, but the combiner offers it */

/**
 * struct gda_block - the state of a block's queue, in its shared memory
 * @view: the queue
 * @start: index when it was opened
 * @reserved: next slot to hand out
 * @rung: everything below was rung
 * @done: slots known to have completed
 * @lead: state of the combining role: GDA_LEAD_*
 * @retreat: number of posters that want to return a slot
 * @failed: the queue has failed
 * @posters: number of threads that may still post, for the courier
 * @ready: marks
 */
struct gda_block {
	struct gda_view *view;
	uint64_t start;
	uint32_t reserved;
	uint32_t rung;
	uint32_t done;
	uint32_t lead;
	uint32_t retreat;
	uint32_t failed;
	uint32_t posters;
	uint32_t ready[GDA_WINDOW / 32];
};

/**
 * struct gda_block_queue - a block's queue, as one of its posters sees it
 * @port: constants
 * @block: the state
 * @limit: slots below may be used: free and in the window
 * @last: index of this poster's newest post, in 64 bits
 * @courier: a warp of the block runs gda_block_courier(); a constant
 */
struct gda_block_queue {
	struct gda_port port;
	struct gda_block *block;
	uint32_t limit;
	uint64_t last;
	bool courier;
};

GDA_DEVICE uint32_t gda_block_load(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

GDA_DEVICE void gda_block_store(uint32_t *p, uint32_t v)
{
	*(volatile uint32_t *)p = v;
}

/**
 * gda_block_open - the block owns a queue
 * @b: in shared memory
 * @v: the view; no other thread may post to it until gda_block_close()
 * @posters: number of threads that will call gda_block_leave(); for a courier
 *
 * All threads of the block call it; it ends with a barrier of the block. Valid for 2^32 posts.
 */
GDA_GPU_API void gda_block_open(struct gda_block *b, struct gda_view *v, uint32_t posters)
{
	uint32_t rank = gda_block_rank(), size = gda_block_size();
	uint64_t start = gda_gpu_load64(&v->reserved);
	uint32_t word, bit;

	for (word = rank; word < GDA_WINDOW / 32; word += size) {
		uint32_t marks = 0;

		for (bit = 0; bit < 32; bit++) {
			uint32_t at = (uint32_t)start +
				      ((word * 32 + bit - (uint32_t)start) % GDA_WINDOW);

			marks |= (at / GDA_WINDOW & 1) << bit;
		}
		b->ready[word] = marks;
	}
	if (!rank) {
		b->view = v;
		b->start = start;
		b->reserved = (uint32_t)start;
		b->rung = (uint32_t)start;
		b->done = (uint32_t)gda_gpu_load64(&v->completed);
		b->lead = GDA_LEAD_FREE;
		b->retreat = 0;
		b->failed = 0;
		b->posters = posters;
	}
	__syncthreads();
}

/**
 * gda_block_join - a thread opens the block's queue
 * @b: after gda_block_open()
 * @courier: whether a warp runs gda_block_courier(); a constant, the same for all
 *
 * Return: the queue, to be kept in registers.
 */
GDA_GPU_API struct gda_block_queue gda_block_join(struct gda_block *b, bool courier)
{
	struct gda_block_queue q;

	q.port = gda_port_open(b->view);
	q.block = b;
	q.limit = (uint32_t)b->start;
	q.last = b->start;
	q.courier = courier;
	return q;
}

/**
 * gda_block_close - end a block's ownership of a queue
 * @b: after gda_block_open(); no thread posts any more
 *
 * All threads of the block call it. Completions need not have come.
 */
GDA_GPU_API void gda_block_close(struct gda_block *b)
{
	struct gda_view *v = b->view;
	uint64_t completed = b->start;

	__syncthreads();
	if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
		gda_gpu_store64(&v->reserved, b->start + (b->reserved - (uint32_t)b->start));
		/* may be behind the index at which the queue was opened */
		completed += (int64_t)(int32_t)(b->done - (uint32_t)b->start);
		/* where the ring is emptied through the view, that has it */
		if (!gda_cqe_unordered(v->dialect))
			gda_gpu_store64(&v->completed, completed);
		gda_fence_gpu();
	}
	__syncthreads();
}

/* Record that slots below @now are free. Return: the consumer index. */
GDA_DEVICE uint32_t gda_block_credit(struct gda_block *b, uint32_t now)
{
	uint32_t old = gda_block_load(&b->done);

	/* another thread may have recorded a later poll than this one */
	if (now != old && now - old <= b->view->mask + 1)
		atomicCAS(&b->done, old, now);
	return gda_block_load(&b->done);
}

/* Record a poll of the CQ. Return: the consumer index. */
GDA_DEVICE uint32_t gda_block_note(struct gda_block *b, uint32_t word)
{
	uint32_t old = gda_block_load(&b->done);
	int failed;
	uint32_t now = (uint32_t)gda_cqe_completed(b->view->dialect, b->view, word, old, &failed);

	if (failed)
		gda_block_store(&b->failed, 1);
	/* another thread may have recorded a later poll than this one */
	if (now - old > b->view->mask + 1)
		return old;
	if (now != old)
		atomicCAS(&b->done, old, now);
	return gda_block_load(&b->done);
}

GDA_DEVICE uint32_t gda_block_poll(struct gda_block *b)
{
	if (gda_cqe_unordered(b->view->dialect))
		return gda_block_credit(b, (uint32_t)gda_poll(b->view, 0));
	return gda_block_note(b, gda_nic_load32(gda_cqe_last(b->view->dialect, b->view->cq)));
}

GDA_DEVICE uint32_t gda_block_limit(struct gda_block *b, uint32_t mask, uint32_t done)
{
	uint32_t room = gda_block_load(&b->rung) + GDA_WINDOW - (done + mask + 1);

	return done + mask + 1 + ((int32_t)room < 0 ? room : 0);
}

/*
 * Wait for room for the caller's @n slots at @index, or return the slots as gda_shared_room() does.
 * Return: the index, which may have changed, in the high 32 bits, and the new limit in the low
 * ones; a limit of index + n + errno means failure.
 */
GDA_DEVICE_SLOW uint64_t gda_block_room(struct gda_block *b, uint32_t mask, uint32_t index,
					uint32_t n, unsigned int flags)
{
	struct gda_view *v = b->view;
	uint64_t deadline = 0;
	unsigned int polls;
	uint32_t limit;
	int err = 0;

	for (polls = 0;; polls++) {
		limit = gda_block_limit(b, mask, polls ? gda_block_poll(b) :
					gda_block_load(&b->done));
		if ((int32_t)(index + n - limit) <= 0)
			break;
		if (!polls) {
			deadline = gda_gpu_deadline(v, 0);
			continue;
		}
		if (!err) {
			if (gda_block_load(&b->failed))
				err = -EIO;
			else if (flags & GDA_NOWAIT)
				err = -EAGAIN;
			else
				err = gda_gpu_expired(v, polls, deadline);
			if (err)
				atomicAdd(&b->retreat, 1);
			else if (!gda_block_load(&b->retreat))
				continue;
		}
		if (atomicCAS(&b->reserved, index + n, index) != index + n)
			continue;
		if (err) {
			limit = index + n + (uint32_t)err;
			break;
		}
		while (gda_block_load(&b->retreat))
			;
		index = atomicAdd(&b->reserved, n);
	}
	if (err)
		atomicSub(&b->retreat, 1);
	return (uint64_t)index << 32 | limit;
}

/* Extend a 32-bit index to 64 bits, relative to the poster's newest post. */
GDA_DEVICE uint64_t gda_block_unwrap(const struct gda_block_queue &q, uint32_t index)
{
	return q.last + (int64_t)(int32_t)(index - (uint32_t)q.last);
}

GDA_DEVICE bool gda_reserve(struct gda_block_queue &q, uint32_t n, unsigned int flags,
			    uint64_t &index)
{
	uint32_t at = atomicAdd(&q.block->reserved, n);

	index = gda_block_unwrap(q, at);
	return (int32_t)(at + n - q.limit) > 0;
}

GDA_DEVICE int gda_room(struct gda_block_queue &q, uint32_t n, unsigned int flags,
			uint64_t &index)
{
	uint64_t got = gda_block_room(q.block, q.port.mask, (uint32_t)index, n, flags);
	int32_t over = (int32_t)((uint32_t)(got >> 32) + n - (uint32_t)got);

	if (over > 0)
		return -over;
	q.limit = (uint32_t)got;
	index = gda_block_unwrap(q, (uint32_t)(got >> 32));
	return 0;
}

GDA_DEVICE struct gda_turn gda_begin(struct gda_block_queue &q, uint64_t index, uint32_t n)
{
	q.last = index;
	return {};
}

/* How many slots from @from on are marked, as far as one word of marks shows. */
GDA_DEVICE uint32_t gda_block_marked(const struct gda_block *b, uint32_t from)
{
	uint32_t marks = gda_block_load(&b->ready[from / 32 % (GDA_WINDOW / 32)]);

	if (from / GDA_WINDOW & 1)
		marks = ~marks;
	/* zeros are unmarked slots, and bits that were shifted in */
	marks = ~(marks >> (from % 32));
	return marks ? __ffs(marks) - 1 : 32;
}

GDA_DEVICE uint32_t gda_block_walk(const struct gda_block *b, uint32_t from)
{
	uint32_t more, at = from;

	do {
		more = gda_block_marked(b, at);
		at += more;
	} while (more && at % 32 == 0 && at - from < 256);
	return at;
}

/*
 * Ring for all ready slots, unless another thread has the combining role. A thread marks its slot
 * before it asks for the role; the combiner scans once more after it has given up the role.
 */
GDA_DEVICE void gda_block_lead(const struct gda_port &p, struct gda_block *b, uint32_t caps)
{
	uint32_t lead = gda_block_load(&b->lead), from, to;
	unsigned int led = 0, i;

	if (lead == GDA_LEAD_TAKEN || atomicCAS(&b->lead, lead, GDA_LEAD_TAKEN) != lead)
		return;
	gda_fence_block();
	for (;;) {
		from = gda_block_load(&b->rung);
		to = gda_block_walk(b, from);
		if (to != from) {
			gda_pass_on(caps);
			gda_port_ring(p, to);
			gda_block_store(&b->rung, to);
			if (++led < GDA_BLOCK_LED)
				continue;
			gda_fence_block();
			gda_block_store(&b->lead, GDA_LEAD_OFFER);
#pragma unroll 1
			for (i = 0; i < GDA_BLOCK_OFFERED; i++)
				if (gda_block_load(&b->lead) != GDA_LEAD_OFFER)
					return;
			led = 0;
			if (atomicCAS(&b->lead, GDA_LEAD_OFFER, GDA_LEAD_TAKEN) !=
			    GDA_LEAD_OFFER)
				return;
			continue;
		}
		gda_fence_block();
		atomicExch(&b->lead, GDA_LEAD_FREE);
		gda_fence_block();
		if (gda_block_walk(b, from) == from ||
		    atomicCAS(&b->lead, GDA_LEAD_FREE, GDA_LEAD_TAKEN) != GDA_LEAD_FREE)
			return;
	}
}

GDA_DEVICE void gda_block_mark(struct gda_block *b, uint32_t index, uint32_t n)
{
	uint32_t *word = &b->ready[index / 32 % (GDA_WINDOW / 32)];
	uint32_t bits = (n == 32 ? ~0U : (1U << n) - 1) << (index % 32);

	atomicXor(word, bits);
	if (index % 32 + n > 32)
		atomicXor(&b->ready[(index / 32 + 1) % (GDA_WINDOW / 32)],
			  (1U << (index % 32 + n - 32)) - 1);
}

/* At most 32 entries. */
GDA_DEVICE void gda_publish(struct gda_block_queue &q, uint64_t index, uint32_t n,
			    unsigned int flags, const struct gda_turn &turn)
{
	if (flags & GDA_SYSTEM)
		gda_fence_system();
	else
		gda_fence_block();
	gda_block_mark(q.block, (uint32_t)index, n);
	if (!q.courier) {
		gda_fence_block();
		gda_block_lead(q.port, q.block, q.port.caps);
	}
}

GDA_DEVICE bool gda_reserve_warp(struct gda_block_queue &q, unsigned int flags, uint64_t &index)
{
	bool full = false;

	index = 0;
	if (!(threadIdx.x & 31))
		full = gda_reserve(q, 32, flags, index);
	return gda_first_lane(full, index);
}

GDA_DEVICE int gda_room_warp(struct gda_block_queue &q, unsigned int flags, uint64_t &index)
{
	int err = 0;

	if (!(threadIdx.x & 31))
		err = gda_room(q, 32, flags, index);
	index = __shfl_sync(~0U, index, 0);
	return __shfl_sync(~0U, err, 0);
}

GDA_DEVICE struct gda_turn gda_begin_warp(struct gda_block_queue &q, uint64_t index)
{
	return gda_begin(q, index, 32);
}

GDA_DEVICE void gda_publish_warp(struct gda_block_queue &q, uint64_t index, unsigned int flags,
				 const struct gda_turn &turn)
{
	__syncwarp();
	if (!(threadIdx.x & 31))
		gda_publish(q, index, 32, flags, turn);
	__syncwarp();
}

/* Nothing to do: another thread of the block rings. */
GDA_DEVICE void gda_ring_deferred(struct gda_block_queue &q)
{
}

GDA_DEVICE uint32_t gda_scan(const struct gda_block_queue &q)
{
	return gda_port_last(q.port);
}

GDA_DEVICE uint64_t gda_refresh(struct gda_block_queue &q, uint32_t look, int &failed)
{
	uint32_t done;

	gda_acquire();
	done = gda_block_note(q.block, look);
	failed = gda_block_load(&q.block->failed);
	return gda_block_unwrap(q, done);
}

/* Return nothing without a poll of the CQ, which is how a failure is noticed. */
GDA_DEVICE uint64_t gda_known(const struct gda_block_queue &q)
{
	return 0;
}

GDA_DEVICE uint64_t gda_posted(struct gda_block_queue &q)
{
	uint32_t reserved = gda_block_load(&q.block->reserved);
	uint32_t most = gda_block_load(&q.block->done) + q.port.mask + 1;

	return gda_block_unwrap(q, (int32_t)(reserved - most) > 0 ? most : reserved);
}

GDA_DEVICE bool gda_quiet_known(struct gda_block_queue &q)
{
	return gda_block_load(&q.block->reserved) == gda_block_load(&q.block->done) &&
	       !gda_block_load(&q.block->failed);
}

/**
 * gda_block_courier - ring for all posters of the block
 * @q: the queue, as a poster opens it
 *
 * Called by all lanes of a warp, which do nothing else meanwhile.
 *
 * Return: 0 when no poster is left and all is rung; -ESHUTDOWN aborted.
 */
GDA_GPU_API int gda_block_courier(const struct gda_block_queue &q)
{
	struct gda_block *b = q.block;
	struct gda_port p = q.port;
	unsigned int lane = threadIdx.x & 31, idle = 0;
	uint32_t from = gda_block_load(&b->rung);

	for (;;) {
		uint32_t first = (from & ~31U) + 32 * lane, to, full, i;
		uint32_t marks = gda_block_load(&b->ready[first / 32 % (GDA_WINDOW / 32)]);

		if (first / GDA_WINDOW & 1)
			marks = ~marks;
		if (!lane)
			marks |= (1U << (from % 32)) - 1;
		full = ~__ballot_sync(~0U, marks == ~0U);
		i = full ? __ffs(full) - 1 : 31;
		marks = ~__shfl_sync(~0U, marks, i);
		to = (from & ~31U) + 32 * i + (marks ? __ffs(marks) - 1 : 32);
		if (to != from) {
			gda_pass_on(p.caps);
			if (!lane) {
				gda_port_ring(p, to);
				gda_block_store(&b->rung, to);
			}
			from = to;
			idle = 0;
			continue;
		}
		if (++idle % GDA_POLLS)
			continue;
		i = gda_block_load(&b->posters);
		gda_fence_block();
		if (!i && gda_block_load(&b->reserved) == from)
			return 0;
		if (gda_nic_load32((const uint32_t *)b->view->abort))
			return -ESHUTDOWN;
	}
}

/**
 * gda_block_leave - a poster will not post any more
 * @b: the state, whose count of posters is decremented
 */
GDA_GPU_API void gda_block_leave(struct gda_block *b)
{
	gda_fence_block();
	atomicSub(&b->posters, 1);
}

#endif /* GDA_GPU_BLOCK_H */

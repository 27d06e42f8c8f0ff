/* SPDX-License-Identifier: MIT */
/*
 * Shared posting on a GPU: any thread of it posts to one queue. Included by
 * gda/queue.h in CUDA code, where gda_put() and all the others use it.
 *
 * Reserve is one fetch-add, with the cached consumer index loaded beside it. Who got a
 * slot that is not free yet waits for it, in order. Who must give up gives the slot
 * back, which can be done only in reverse order; so it raises view->retreat, and all who
 * wait for a slot give theirs back and come again when it is over. The slots given back
 * have never been published, and the ring is never lapped.
 *
 * Publish is as on a CPU: a poster marks its slot ready; who finds the headship at it
 * walks on, rings once for all that are ready, and parks the headship at the next slot
 * that is not. Only the marks differ: bits, 32 slots to a word, so that a walk sees 128
 * slots at once (a warp 1024). Who is alone marks and moves the headship on by one atomic,
 * before it rings; whoever finds it there waits in view->rung until that is done. And
 * because under load there is always one more slot ready, who has led for long offers the
 * headship in view->offer, to be taken by anyone that has just published; it goes on
 * leading if nobody does.
 *
 * With a courier (gda/gpu/courier.h) the headship is with a warp that does nothing else,
 * and publishing is an atomic that nothing waits for.
 */
#ifndef GDA_GPU_SHARED_H
#define GDA_GPU_SHARED_H

#include <gda/gpu/device.h>

/* Rings in a row after which the headship is on offer, and looks at who takes it. */
#define GDA_LED		64
#define GDA_OFFERED	8
/* Looks at a cached consumer index that stands still, for one at the CQ. */
#define GDA_LOOKS	16

/* Not a look ahead but the truth, for it is taken with the slot: none, or all. */
GDA_DEVICE_SLOW int64_t gda_shared_try(struct gda_view *v, uint32_t n)
{
	uint64_t index = gda_gpu_load64(&v->reserved);

	for (;;) {
		uint64_t was;

		if ((int64_t)(index + n - gda_poll(v, 0)) > (int64_t)v->mask + 1)
			return gda_load_acquire64(&v->error_index) == GDA_NO_ERROR ?
			       -EAGAIN : -EIO;
		was = gda_gpu_cas64(&v->reserved, index, index + n);
		if (was == index)
			return (int64_t)index;
		index = was;
	}
}

/* Without a slot, until nobody wants to give one back. */
GDA_DEVICE int gda_shared_stand_back(struct gda_view *v, uint64_t deadline)
{
	unsigned int polls;
	int err;

	for (polls = 1; gda_gpu_load32(&v->retreat); polls++) {
		err = gda_gpu_expired(v, polls, deadline);
		if (err)
			return err;
	}
	return 0;
}

/*
 * The caller has @n slots at @index, which are not free yet: wait, or give them back.
 * Slots above are given back first, for their owners wait as well and look at retreat.
 */
GDA_DEVICE_SLOW int64_t gda_shared_room(struct gda_view *v, uint64_t index, uint32_t n)
{
	uint64_t deadline = gda_gpu_deadline(v, 0), completed, seen = 0;
	unsigned int polls, still = 0;
	int64_t err = 0;
	bool look;

	for (polls = 1;; polls++) {
		/* who rings follows the completions: look oneself only if nobody does */
		look = still == GDA_LOOKS || polls % GDA_POLLS == 0;
		completed = look ? gda_poll(v, 0) : gda_gpu_load64(&v->completed);
		still = look || completed != seen ? 0 : still + 1;
		seen = completed;
		if ((int64_t)(index + n - completed) <= (int64_t)v->mask + 1) {
			gda_fence_gpu();
			if (err)
				gda_gpu_add32(&v->retreat, (uint32_t)-1);
			return (int64_t)index;
		}
		if (!err && !look)
			continue;
		if (!err) {
			err = gda_load_acquire64(&v->error_index) != GDA_NO_ERROR ?
			      -EIO : gda_gpu_expired(v, polls, deadline);
			if (err)
				gda_gpu_add32(&v->retreat, 1);
			else if (!gda_gpu_load32(&v->retreat))
				continue;
		}
		if (gda_gpu_cas64(&v->reserved, index + n, index) != index + n)
			continue;
		if (err) {
			gda_gpu_add32(&v->retreat, (uint32_t)-1);
			return err;
		}
		err = gda_shared_stand_back(v, deadline);
		if (err)
			return err;
		index = gda_gpu_fetch_add64(&v->reserved, n);
	}
}

GDA_DEVICE int64_t gda_shared_take(const struct gda_port &p, uint32_t n, unsigned int flags)
{
	struct gda_view *v = p.view;
	uint64_t completed, index;

	if (flags & GDA_NOWAIT)
		return gda_shared_try(v, n);
	completed = gda_gpu_load64(&v->completed);
	index = gda_gpu_fetch_add64(&v->reserved, n);
	/* no further behind than what is handed out goes beyond the ring */
	if (__builtin_expect((uint32_t)(index + n - completed) > p.mask + 1, 0))
		return gda_shared_room(v, index, n);
	return (int64_t)index;
}

/*
 * The words of 32 slots, one of 64 bits: which are ready in the low half, where the
 * headship is in the high one. "Ready" is a bit that changes sides each lap of the ring, so
 * nothing has to be cleared. They are in view->slots behind four words, and the headship of
 * slot 0 is stored the other way round: what gda_view_init() leaves there, a first word
 * and zeros, says that nothing is ready and the headship is at slot 0.
 */
GDA_DEVICE uint64_t *gda_shared_word(const struct gda_port &p, uint64_t index)
{
	return (uint64_t *)(p.slots + 4) + (((uint32_t)index & p.mask) >> 5);
}

GDA_DEVICE uint64_t gda_shared_head(uint64_t index, uint32_t mask)
{
	return (uint64_t)1 << (32 + ((uint32_t)index & mask & 31));
}

/* The bits of @n slots from @index on that share its word. */
GDA_DEVICE uint32_t gda_shared_bits(uint64_t index, uint32_t n, uint32_t mask)
{
	return (n == 32 ? ~0U : (1U << n) - 1) << ((uint32_t)index & mask & 31);
}

GDA_DEVICE uint64_t gda_shared_load(const struct gda_port &p, uint64_t index)
{
	return gda_gpu_load64(gda_shared_word(p, index));
}

/* Where the headship is among the slots of @word, which is that of @index. */
GDA_DEVICE uint32_t gda_shared_heads(const struct gda_port &p, uint64_t index, uint64_t word)
{
	return (uint32_t)(word >> 32) ^ (((uint32_t)index & p.mask) < 32);
}

/* How many slots from @index on are ready, as far as the word of @index tells. */
GDA_DEVICE uint32_t gda_shared_run(const struct gda_port &p, uint64_t index, uint64_t word)
{
	uint32_t ready = (uint32_t)word;

	if ((uint32_t)index & (p.mask + 1))
		ready = ~ready;
	if (p.mask < 31)
		ready &= (1U << (p.mask + 1)) - 1;
	/* what is shifted in is not ready */
	ready = ~(ready >> ((uint32_t)index & p.mask & 31));
	return ready ? __ffs(ready) - 1 : 32;
}

/* Is the slot @index ready, as the word says that it shares? */
GDA_DEVICE bool gda_shared_ready(const struct gda_port &p, uint64_t index, uint64_t word)
{
	bool turned = (uint32_t)index & (p.mask + 1);

	return ((uint32_t)word >> ((uint32_t)index & p.mask & 31) & 1) != turned;
}

/* The first of the slots from @next on that is not ready, or 128 later. */
GDA_DEVICE uint64_t gda_shared_walk(const struct gda_port &p, uint64_t next)
{
	uint64_t w[4], at = next;
	uint32_t run;
	int i;

#pragma unroll
	for (i = 0; i < 4; i++)
		w[i] = gda_shared_load(p, next + 32 * i);
#pragma unroll
	for (i = 0; i < 4; i++) {
		run = gda_shared_run(p, at, w[i]);
		at += run;
		if (!run || at & 31)
			break;
	}
	return at;
}

/* The same by a warp, which sees 1024 slots at once. */
GDA_DEVICE uint64_t gda_shared_walk_warp(const struct gda_port &p, uint64_t next)
{
	unsigned int lane = threadIdx.x & 31, full, i;
	uint64_t first = p.mask < 31 ? next : lane ? (next & ~(uint64_t)31) + 32 * lane : next;
	uint32_t run = gda_shared_run(p, first, gda_shared_load(p, first));

	if (p.mask < 31)
		return next + __shfl_sync(~0U, run, 0);
	full = ~__ballot_sync(~0U, run == 32 - ((uint32_t)first & 31));
	i = full ? __ffs(full) - 1 : 31;
	return __shfl_sync(~0U, first + run, i);
}

/*
 * What rings also tells the others how far the device has come. It knows what it rang,
 * and no more than a ring of it can be incomplete, so 16 bits are enough. Returns what
 * it has told, @told before.
 */
GDA_DEVICE uint64_t gda_shared_advance(const struct gda_port &p, uint64_t rung, uint32_t word,
				       uint64_t told)
{
	uint16_t behind = (uint16_t)((uint32_t)rung - (gda_swap32(word) >> 16) - 1);

	if ((word >> 28) != GDA_MLX5_CQE_REQ || behind > p.mask + 1 || rung - behind == told)
		return told;
	gda_gpu_max64(&p.view->completed, rung - behind);
	return rung - behind;
}

GDA_DEVICE uint32_t gda_port_last(const struct gda_port &p)
{
	uint32_t word;

	asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(word) :
		     "l"(p.view->cq + offsetof(struct gda_mlx5_cqe, wqe_counter)) : "memory");
	return word;
}

/* Has somebody taken the headship? If not it is the caller's again. */
GDA_DEVICE bool gda_shared_offer(struct gda_view *v, uint64_t next)
{
	int i;

	gda_gpu_store64(&v->offer, next);
#pragma unroll 1
	for (i = 0; i < GDA_OFFERED; i++)
		if (gda_gpu_load64(&v->offer) != next)
			return true;
	return gda_gpu_cas64(&v->offer, next, 0) != next;
}

/* Leave the headship at slot @next, which is not ready; if it is by now, return false. */
GDA_DEVICE bool gda_shared_park(const struct gda_port &p, uint64_t next)
{
	uint64_t head = gda_shared_head(next, p.mask), *word = gda_shared_word(p, next);

	if (!gda_shared_ready(p, next, gda_gpu_xor64_relaxed(word, head)))
		return true;
	gda_gpu_toggle64(word, head);
	return false;
}

/*
 * The caller has the headship, all slots below @next are ready, and more may be. Rings for
 * @next if @ring, and for what comes. The doorbell goes before the headship: a later
 * doorbell never comes first, unless the device takes them in any order.
 * With @warp, all of a warp call it together.
 */
template <bool warp>
GDA_DEVICE_SLOW void gda_shared_lead(struct gda_port p, uint64_t next, bool ring)
{
	bool one = !warp || !(threadIdx.x & 31), busy = true, done;
	unsigned int led = 0;
	uint64_t told = 0;
	uint32_t last = 0;

	for (;;) {
		if (busy) {
			uint64_t end = warp ? gda_shared_walk_warp(p, next) :
					      gda_shared_walk(p, next);

			busy = end != next;
			if (busy) {
				last = gda_port_last(p);
				gda_pass_on(p.caps);
				ring = true;
				next = end;
			}
		}
		if (ring && one)
			gda_port_ring(p, next);
		ring = false;
		if (busy) {
			if (one)
				told = gda_shared_advance(p, next, last, told);
			if (++led < GDA_LED)
				continue;
		}
		if (!(p.caps & GDA_VIEW_LAZY)) {
			gda_release(p.caps);
			if (one)
				gda_gpu_store64(&p.view->rung, next);
		}
		done = one && (busy ? gda_shared_offer(p.view, next) :
				      gda_shared_park(p, next));
		if (warp)
			done = __shfl_sync(~0U, done, 0);
		if (done)
			return;
		if (busy)
			led = 0;
		busy = true;
	}
}

/* What marking @n entries takes in one word. */
GDA_DEVICE uint32_t gda_shared_fits(const struct gda_port &p, uint64_t index, uint32_t n)
{
	uint32_t room = p.mask < 31 ? 1 : 32 - ((uint32_t)index & 31);

	return n < room ? n : room;
}

/* With a courier: mark them, and that is all. */
GDA_DEVICE void gda_shared_leave(const struct gda_port &p, uint64_t index, uint32_t n)
{
	uint64_t end = index + n;

	while (index != end) {
		uint32_t fits = gda_shared_fits(p, index, (uint32_t)(end - index));

		gda_gpu_toggle64(gda_shared_word(p, index),
				 gda_shared_bits(index, fits, p.mask));
		index += fits;
	}
}

/* Mark the rest of a post, in further words; was the headship there? */
GDA_DEVICE bool gda_shared_mark(const struct gda_port &p, uint64_t index, uint32_t n)
{
	bool head = false;
	uint32_t fits;

	for (; n; index += fits, n -= fits) {
		uint64_t *word = gda_shared_word(p, index);
		uint32_t heads;

		fits = gda_shared_fits(p, index, n);
		heads = gda_shared_bits(index, fits, p.mask);
		heads &= gda_shared_heads(p, index, gda_gpu_xor64(word, heads));
		if (heads)
			gda_gpu_toggle64(word, (uint64_t)heads << 32);
		head |= !!heads;
	}
	return head;
}

/* Until who had the headship before has rung. */
GDA_DEVICE void gda_shared_follow(const struct gda_port &p, uint64_t index)
{
	while ((int64_t)(gda_load_acquire64(&p.view->rung) - index) < 0)
		;
}

/*
 * The headship is at the first of @n entries, which are released, and the slot behind them
 * was not ready: mark them, move the headship on, and ring. Whoever finds it there waits
 * until this doorbell has gone out (view->rung), if the device wants them in order. What
 * the atomic returns is looked at in the end, when it costs nothing. Returns whether that
 * slot is ready by now, and the headship the caller's.
 */
GDA_DEVICE bool gda_shared_pass(const struct gda_port &p, uint64_t index, uint32_t n,
				uint64_t move, uint64_t rung)
{
	uint64_t end = index + n, *word = gda_shared_word(p, index), was;
	uint64_t head = gda_shared_head(end, p.mask);

	was = gda_gpu_xor64_relaxed(word, move | head);
	if (p.caps & GDA_VIEW_LAZY) {
		gda_port_ring(p, end);
	} else {
		if ((int64_t)(rung - index) < 0)
			gda_shared_follow(p, index);
		gda_port_ring(p, end);
		gda_port_release(p);
		gda_gpu_store64(&p.view->rung, end);
	}
	if (!gda_shared_ready(p, end, was))
		return false;
	gda_gpu_toggle64(word, head);
	return true;
}

/*
 * The @n entries from @index on are written. What is loaded before the fence takes no
 * time: the word of the first, and what is on offer. A headship that is here already
 * cannot go away. The slot's bits are changed before the doorbell: once the device
 * has answered, its next owner may look at them.
 */
template <bool warp>
GDA_DEVICE void gda_shared_publish(const struct gda_port &p, uint64_t index, uint32_t n,
				   uint32_t caps)
{
	uint64_t seen = gda_shared_load(p, index), end = index + n;
	uint64_t offer = gda_gpu_load64(&p.view->offer), rung = gda_gpu_load64(&p.view->rung);
	uint64_t *word = gda_shared_word(p, index);
	uint32_t fits = gda_shared_fits(p, index, n);
	uint32_t bits = gda_shared_bits(index, fits, p.mask), heads;
	bool one = !warp || !(threadIdx.x & 31), lead = false, ring = true;

	gda_port_pass_on(p, caps);
	if (warp)
		__syncwarp();
	heads = gda_shared_heads(p, index, seen) & bits & -bits;
	if (one && heads && fits == n && gda_shared_word(p, end) == word &&
	    !gda_shared_ready(p, end, seen)) {
		lead = gda_shared_pass(p, index, n, (uint64_t)heads << 32 | bits, rung);
		ring = false;
	} else if (one) {
		if (heads) {
			gda_gpu_toggle64(word, (uint64_t)heads << 32 | bits);
		} else {
			heads = bits & gda_shared_heads(p, index, gda_gpu_xor64(word, bits));
			if (heads)
				gda_gpu_toggle64(word, (uint64_t)heads << 32);
		}
		lead = heads;
		if (fits < n)
			lead |= gda_shared_mark(p, index + fits, n - fits);
		if (lead && !(p.caps & GDA_VIEW_LAZY))
			gda_shared_follow(p, index);
		if (!lead && offer) {
			lead = gda_gpu_cas64(&p.view->offer, offer, 0) == offer;
			ring = false;
			end = offer;
		}
	}
	if (warp) {
		lead = __shfl_sync(~0U, lead, 0);
		ring = __shfl_sync(~0U, ring, 0);
		end = __shfl_sync(~0U, end, 0);
	}
	if (lead)
		gda_shared_lead<warp>(p, end, ring);
}

/**
 * gda_shared_reset - go on in shared mode after exclusive posting, on a GPU
 * @v: a view that nobody posts to during the call
 *
 * As gda_view_share() does for posters on a CPU. A view that nobody has posted to yet needs
 * neither. For one thread; rings of less than 8 are for exclusive posting only.
 */
GDA_GPU_API void gda_shared_reset(struct gda_view *v)
{
	struct gda_port p = gda_port_open(v);
	uint64_t start = gda_gpu_load64(&v->reserved), i, k;

	for (i = 0; i <= p.mask; i += 32) {
		uint64_t word = i ? 0 : (uint64_t)1 << 32;

		for (k = i; k < i + 32 && k <= p.mask; k++) {
			uint64_t index = start + ((k - start) & p.mask);

			if (index & (p.mask + 1))
				word |= (uint64_t)1 << (k & 31);
		}
		if (((start & p.mask) ^ i) < 32)
			word ^= gda_shared_head(start, p.mask);
		gda_gpu_store64(gda_shared_word(p, i), word);
	}
	gda_gpu_store64(&v->offer, 0);
	gda_gpu_store64(&v->rung, start);
	gda_fence_gpu();
}

#endif /* GDA_GPU_SHARED_H */

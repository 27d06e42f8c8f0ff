/* SPDX-License-Identifier: MIT */
/*
 * Shared posting on a GPU: any of its threads posts to one queue. Included by gda/queue.h in CUDA
 * code, where gda_put() and all others use it.
 *
 * gda/gpu/reserve.h has how a slot is reserved. Publishing works as on a CPU: a poster marks its
 * slot ready; the poster that finds the combining role at its slot walks on, rings once for all
 * ready slots, and parks the combining role at the next slot that is not ready. Two things differ.
 * The marks are bits, 32 slots to a word, so that a walk sees 256 slots at once (a warp 1024). And
 * a poster announces itself before it writes its entry, by an atomic whose result tells whether the
 * combining role is parked at this slot. The result arrives during the fence behind the entry, and
 * the mark after the fence needs no result. A leader, the poster that has the combining role, never
 * parks it at a slot whose owner is coming (has announced itself); it waits for the mark, one fence
 * away.
 *
 * A poster that parked the combining role at a slot and then reserves that very slot is alone. It
 * moves the role on when it announces itself; the next owner finds the role there and waits, by
 * view->rung, until the doorbell for all slots below was rung.
 *
 * Under load some poster is always coming, so a long-time leader offers the combining role in
 * view->offer to any poster that has just published, and goes on leading if none takes it.
 *
 * With a courier (gda/gpu/courier.h) a warp that does nothing else has the combining role, and
 * publishing is an atomic without a result.
 */
#ifndef GDA_GPU_SHARED_H
#define GDA_GPU_SHARED_H

#include <gda/gpu/reserve.h>

/*
 * A leader counts its consecutive rings and offers the combining role from GDA_LED on. A ring that
 * covered at most GDA_MANY entries counts GDA_LED_SOME: calls are short, and with many posters the
 * role rarely changes. A ring of at most GDA_FEW entries suffices for an offer; but two posters
 * that always passed the role back would do little else, so a ring of at most GDA_PAIR counts
 * GDA_LED_PAIR. The leader checks GDA_OFFERED times whether the role was taken.
 */
#define GDA_LED		256
#define GDA_MANY	512
#define GDA_LED_SOME	16
#define GDA_FEW		8
#define GDA_PAIR	2
#define GDA_LED_PAIR	128
#define GDA_OFFERED	4
/* Words that a leader reads together. */
#define GDA_WALK	8

/*
 * A word of 64 bits for 32 slots: the low half tells which slots are ready, the high half whose
 * owners are coming. Each bit is inverted once in each lap of the ring, so nothing has to be
 * cleared. The combining role is parked at a slot by inverting its "coming" bit before the owner
 * does: the second of the two finds the bit inverted already. If that is the owner, it inverts the
 * bit again when it marks its slot; if it is the leader, at once.
 *
 * The words are in view->slots behind four other words, and the "coming" bit of slot 0 is stored
 * inverted: so the initial content by gda_view_init(), a first word and zeros, means that nothing
 * is ready and the combining role is at slot 0.
 */
GDA_DEVICE uint64_t *gda_shared_word(const struct gda_port &p, uint64_t index)
{
	return (uint64_t *)(p.slots + 4) + (((uint32_t)index & p.mask) >> 5);
}

/* The bits of those of the @n slots from @index on that share its word. */
GDA_DEVICE uint32_t gda_shared_bits(uint64_t index, uint32_t n, uint32_t mask)
{
	return (n == 32 ? ~0U : (1U << n) - 1) << ((uint32_t)index & mask & 31);
}

GDA_DEVICE uint64_t gda_shared_load(const struct gda_port &p, uint64_t index)
{
	return gda_gpu_load64(gda_shared_word(p, index));
}

/* How many slots from @index on are ready, as far as @index's word shows. */
GDA_DEVICE uint32_t gda_shared_run(const struct gda_port &p, uint64_t index, uint64_t word)
{
	uint32_t ready = (uint32_t)word;

	if ((uint32_t)index & (p.mask + 1))
		ready = ~ready;
	if (p.mask < 31)
		ready &= (1U << (p.mask + 1)) - 1;
	/* bits that are shifted in are not ready */
	ready = ~(ready >> ((uint32_t)index & p.mask & 31));
	return ready ? __ffs(ready) - 1 : 32;
}

/* The "coming" bit of slot @index. */
GDA_DEVICE uint64_t gda_shared_coming(uint64_t index, uint32_t mask)
{
	return (uint64_t)1 << (32 + ((uint32_t)index & mask & 31));
}

/* Was the "coming" bit of @index inverted in this lap? @word is the word of @index. */
GDA_DEVICE bool gda_shared_turned(const struct gda_port &p, uint64_t index, uint64_t word)
{
	bool turned = (uint32_t)index & (p.mask + 1);

	turned ^= !((uint32_t)index & p.mask);
	return ((uint32_t)(word >> 32) >> ((uint32_t)index & p.mask & 31) & 1) != turned;
}

/*
 * The first slot from @next on that is not ready, or the end of GDA_WALK words. If it is @next,
 * @coming tells whether its owner is coming.
 */
GDA_DEVICE uint64_t gda_shared_walk(const struct gda_port &p, uint64_t next, bool &coming)
{
	uint64_t w[GDA_WALK], at = next;
	uint32_t run;
	int i;

#pragma unroll
	for (i = 0; i < GDA_WALK; i++)
		w[i] = gda_shared_load(p, next + 32 * i);
	coming = gda_shared_turned(p, next, w[0]);
#pragma unroll
	for (i = 0; i < GDA_WALK; i++) {
		run = gda_shared_run(p, at, w[i]);
		at += run;
		if (!run || at & 31)
			break;
	}
	return at;
}

/* The same by a warp, which sees 1024 slots at once. */
GDA_DEVICE uint64_t gda_shared_walk_warp(const struct gda_port &p, uint64_t next,
					 bool &coming)
{
	unsigned int lane = threadIdx.x & 31, full, i;
	uint64_t first = p.mask < 31 ? next : lane ? (next & ~(uint64_t)31) + 32 * lane : next;
	uint64_t word = gda_shared_load(p, first);
	uint32_t run = gda_shared_run(p, first, word);

	/* for the first lane only */
	coming = gda_shared_turned(p, first, word);
	if (p.mask < 31)
		return next + __shfl_sync(~0U, run, 0);
	full = ~__ballot_sync(~0U, run == 32 - ((uint32_t)first & 31));
	i = full ? __ffs(full) - 1 : 31;
	return __shfl_sync(~0U, first + run, i);
}

/*
 * The thread that rings also publishes the device's progress. It knows what it rang, and at most
 * one ring of that is incomplete, so 16 bits suffice. Return: the progress it has published; @told
 * is the last one. The ring of an unordered queue is emptied by threads that wait.
 */
GDA_DEVICE uint64_t gda_shared_advance(const struct gda_port &p, uint64_t rung, uint32_t word,
				       uint64_t told)
{
	uint32_t behind;

	if (gda_port_unordered(p))
		return told;
	behind = gda_cqe_behind(gda_port_dialect(p), rung, word);
	if (!gda_cqe_is_done(gda_port_dialect(p), word) ||
	    behind > p.mask + 1 || rung - behind == told)
		return told;
	gda_gpu_max64(&p.view->completed, rung - behind);
	return rung - behind;
}

/* Was the offered combining role taken? If not, the caller has it again. */
GDA_DEVICE bool gda_shared_taken(struct gda_view *v, uint64_t offer)
{
	int i;

#pragma unroll 1
	for (i = 0; i < GDA_OFFERED; i++)
		if (gda_gpu_load64(&v->offer) != offer)
			return true;
	return gda_gpu_cas64(&v->offer, offer, 0) != offer;
}

/* Park the combining role at slot @next. Return: false if its owner is coming. */
GDA_DEVICE bool gda_shared_park(const struct gda_port &p, uint64_t next)
{
	uint64_t bit = gda_shared_coming(next, p.mask), *word = gda_shared_word(p, next);

	if (!gda_shared_turned(p, next, gda_gpu_xor64_relaxed(word, bit)))
		return true;
	gda_gpu_toggle64(word, bit);
	return false;
}

/*
 * The caller has the combining role, and all slots below @next are ready. Ring for @next if @ring,
 * and for slots that become ready; if @busy, check for these at once. The doorbell is rung before
 * the combining role is passed on: so a later doorbell never precedes an earlier one, unless the
 * device takes them in any order. With @warp, all lanes of a warp call this together. Return: where
 * the combining role was parked, or GDA_NO_ERROR if another poster took it.
 */
template <bool warp>
GDA_DEVICE_SLOW uint64_t gda_shared_lead(struct gda_port p, uint64_t next, bool ring, bool busy)
{
	bool one = !warp || !(threadIdx.x & 31), coming = false, done;
	uint64_t told = 0, offer = 0;
	unsigned int led = 0;
	uint32_t last = 0;

	for (;;) {
		if (busy) {
			uint64_t end = warp ? gda_shared_walk_warp(p, next, coming) :
					      gda_shared_walk(p, next, coming);

			last = gda_port_last(p);
			busy = end != next;
			if (busy) {
				led += end - next > GDA_MANY ? 1 :
				       end - next > GDA_FEW ? GDA_LED_SOME :
				       end - next > GDA_PAIR ? GDA_LED : GDA_LED_PAIR;
				/* may be taken during this ring: view->rung tells its end */
				offer = led < GDA_LED ? 0 : end;
				if (offer && one)
					gda_gpu_store64(&p.view->offer, offer);
				gda_pass_on(p.caps);
				ring = true;
				next = end;
			}
			if (warp)
				coming = __shfl_sync(~0U, coming, 0);
		}
		if (ring && one)
			gda_port_ring(p, next);
		ring = false;
		/* publish progress for what was rung one walk ago: posters wait for it */
		if (one && (busy || coming))
			told = gda_shared_advance(p, next, last, told);
		if (busy && !offer)
			continue;
		if (!busy && coming) {
			busy = true;
			continue;
		}
		if (!(p.caps & GDA_VIEW_DB_UNORDERED))
			gda_release(p.caps);
		if (one)
			gda_gpu_store64(&p.view->rung, next);
		done = one && (busy ? gda_shared_taken(p.view, offer) :
				      gda_shared_park(p, next));
		if (warp)
			done = __shfl_sync(~0U, done, 0);
		if (done)
			return busy ? GDA_NO_ERROR : next;
		led -= busy ? GDA_LED / 4 : 0;
		busy = true;
	}
}

/* How many of @n entries have their marks in one word. */
GDA_DEVICE uint32_t gda_shared_fits(const struct gda_port &p, uint64_t index, uint32_t n)
{
	uint32_t room = p.mask < 31 ? 1 : 32 - ((uint32_t)index & 31);

	return n == 1 || n < room ? n : room;
}

/* Invert the bits of @n slots: those in the low half of @which, or in the high one, or both. */
GDA_DEVICE void gda_shared_toggle(const struct gda_port &p, uint64_t index, uint32_t n,
				  uint64_t which)
{
	uint64_t end = index + n;

	while (index != end) {
		uint32_t fits = gda_shared_fits(p, index, (uint32_t)(end - index));

		gda_gpu_toggle64(gda_shared_word(p, index),
				 gda_shared_bits(index, fits, p.mask) * which);
		index += fits;
	}
}

#define GDA_SHARED_READY	((uint64_t)1)
#define GDA_SHARED_COMING	((uint64_t)1 << 32)

/* With a courier: release and mark; that is all. */
GDA_DEVICE void gda_shared_publish(const struct gda_port &p, uint64_t index, uint32_t n,
				   uint32_t caps)
{
	uint32_t fits = gda_shared_fits(p, index, n);
	uint64_t bits = gda_shared_bits(index, fits, p.mask) *
			(GDA_SHARED_READY | GDA_SHARED_COMING);
	uint64_t *word = gda_shared_word(p, index);

	gda_need64(bits);
	gda_need64((uint64_t)word);
	gda_release(caps);
	gda_gpu_toggle64(word, bits);
	if (fits < n)
		gda_shared_toggle(p, index + fits, n - fits,
				  GDA_SHARED_READY | GDA_SHARED_COMING);
}

/*
 * Announce the owner of @n slots from @index on; the slots may then be written, and nothing is
 * waited for until they are marked. If @known, @parked is where the caller has parked the combining
 * role: if that is here, all slots are marked at once, and the role is moved on to a poster that
 * then waits for view->rung.
 */
template <bool known>
GDA_DEVICE struct gda_turn gda_shared_come(const struct gda_port &p, uint64_t index, uint32_t n,
					   uint64_t parked)
{
	uint64_t end = index + n, *word = gda_shared_word(p, index), *last;
	uint32_t fits = gda_shared_fits(p, index, n);
	uint64_t bits = gda_shared_bits(index, fits, p.mask);
	uint64_t turn = bits * GDA_SHARED_COMING;
	struct gda_turn t;

	t.passed = known && index == parked;
	if (t.passed) {
		/* the first slot's bit was inverted when the combining role was parked */
		turn = (bits & (bits - 1)) * GDA_SHARED_COMING | bits;
		last = gda_shared_word(p, end);
		if (fits < n || last != word) {
			gda_gpu_toggle64(word, turn);
			gda_shared_toggle(p, index + fits, n - fits,
					  GDA_SHARED_READY | GDA_SHARED_COMING);
			word = last;
			turn = 0;
		}
		turn ^= gda_shared_coming(end, p.mask);
	} else if (fits < n) {
		gda_shared_toggle(p, index + fits, n - fits, GDA_SHARED_COMING);
	}
	/* at one place only: at a join of two paths the result would be waited for */
	t.word = gda_gpu_xor64_relaxed(word, turn);
	return t;
}

/* Wait until the previous leader has rung. */
GDA_DEVICE void gda_shared_follow(const struct gda_port &p, uint64_t index)
{
	while ((int64_t)(gda_load_acquire64(&p.view->rung) - index) < 0)
		;
}

/*
 * The @n entries from @index on are written, by a poster that has moved the combining role on
 * already: ring, and publish that. If the next owner had announced itself before, the combining
 * role has stayed here. Return: whether it has.
 */
GDA_DEVICE bool gda_shared_passed(const struct gda_port &p, uint64_t end, uint64_t word)
{
	gda_port_ring(p, end);
	if (!(p.caps & GDA_VIEW_DB_UNORDERED))
		gda_port_release(p);
	gda_gpu_store64(&p.view->rung, end);
	if (!gda_shared_turned(p, end, word))
		return false;
	gda_gpu_toggle64(gda_shared_word(p, end), gda_shared_coming(end, p.mask));
	return true;
}

/*
 * The @n entries from @index on are written. Loads before the fence take no extra time, so
 * view->offer is loaded there. The slots' bits are changed before the doorbell: once the device has
 * completed the slots, their next owners may read the bits. Return: where the caller has parked the
 * combining role.
 */
template <bool warp>
GDA_DEVICE uint64_t gda_shared_publish(const struct gda_port &p, uint64_t index, uint32_t n,
				       uint32_t caps, const struct gda_turn &turn)
{
	uint64_t end = index + n, offer = gda_gpu_load64(&p.view->offer);
	uint32_t fits = gda_shared_fits(p, index, n);
	uint64_t bits = gda_shared_bits(index, fits, p.mask);
	bool one = !warp || !(threadIdx.x & 31), lead = false, ring = true, busy = true;
	uint64_t *word = gda_shared_word(p, index);

	gda_need64(bits);
	gda_need64((uint64_t)word);
	gda_need32(gda_db_record(gda_port_dialect(p), end));
	if (warp)
		__syncwarp();
	gda_port_release_as(p, caps);
	if (one && turn.passed) {
		lead = gda_shared_passed(p, end, turn.word);
		ring = false;
	} else if (one) {
		lead = gda_shared_turned(p, index, turn.word);
		if (lead)
			bits |= gda_shared_coming(index, p.mask);
		gda_gpu_toggle64(word, bits);
		if (fits < n)
			gda_shared_toggle(p, index + fits, n - fits, GDA_SHARED_READY);
		if (lead) {
			gda_shared_follow(p, index);
			/* is the owner of a later slot coming, as far as is known? */
			busy = gda_shared_word(p, end) != word ||
			       gda_shared_turned(p, end, turn.word);
		} else if (offer) {
			lead = gda_gpu_cas64(&p.view->offer, offer, 0) == offer;
			ring = false;
			end = offer;
			if (lead)
				gda_shared_follow(p, end);
		}
	}
	if (warp) {
		lead = __shfl_sync(~0U, lead, 0);
		ring = __shfl_sync(~0U, ring, 0);
		busy = __shfl_sync(~0U, busy, 0);
		end = __shfl_sync(~0U, end, 0);
	}
	if (lead)
		return gda_shared_lead<warp>(p, end, ring, busy);
	return one && turn.passed ? end : GDA_NO_ERROR;
}

/* The same for posters that keep no state of the queue: they announce themselves only now. */
GDA_DEVICE void gda_shared_publish_view(struct gda_view *v, uint64_t index, uint32_t n,
					unsigned int flags)
{
	struct gda_port p = gda_port_open(v);

	gda_shared_publish<false>(p, index, n, flags & GDA_SYSTEM ? 0 : p.caps,
				  gda_shared_come<false>(p, index, n, 0));
}

/**
 * gda_shared_reset - go on in shared mode after exclusive posting, on a GPU
 * @v: a view to which no thread posts during the call
 *
 * Like gda_view_share() for posters on a CPU. A new view needs neither call. Called by one thread;
 * rings of less than 8 slots only allow exclusive posting.
 */
GDA_GPU_API void gda_shared_reset(struct gda_view *v)
{
	struct gda_port p = gda_port_open(v);
	uint64_t start = gda_gpu_load64(&v->reserved), i, k;

	for (i = 0; i <= p.mask; i += 32) {
		uint64_t word = 0;

		for (k = i; k < i + 32 && k <= p.mask; k++) {
			uint64_t index = start + ((k - start) & p.mask);

			if (index & (p.mask + 1))
				word |= (uint64_t)1 << (k & 31) | gda_shared_coming(k, p.mask);
		}
		if (!i)
			word ^= gda_shared_coming(0, p.mask);
		if (((start & p.mask) ^ i) < 32)
			word ^= gda_shared_coming(start, p.mask);
		gda_gpu_store64(gda_shared_word(p, i), word);
	}
	gda_gpu_store64(&v->offer, 0);
	gda_gpu_store64(&v->rung, start);
	gda_fence_gpu();
}

#endif /* GDA_GPU_SHARED_H */

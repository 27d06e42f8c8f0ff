/* SPDX-License-Identifier: MIT */
/*
 * How threads of a GPU empty the completion ring of an efa queue. Included by gda/wqe/efa.h, whose
 * gda_efa_take() does the same on a CPU.
 *
 * A load takes 300 cycles and a fence 600 or more, so many entries are loaded together: 32 by a
 * warp whose lanes all call this for one queue, else 16 by one thread. A batch in the order of
 * posting only advances the counters. If another request completed before an older one, atomic
 * operations without a result set the bits of the whole batch, and the counter advances over the
 * bits that are set. Bits are cleared when the call ends, after the counter that replaces them.
 */
#ifndef GDA_GPU_REAP_EFA_H
#define GDA_GPU_REAP_EFA_H

/* Entries that a thread loads together, a power of two, and batches of a call. */
#define GDA_EFA_TOGETHER	16U
#define GDA_EFA_BATCHES		16U

#define GDA_EFA_DEVICE	static __device__ __forceinline__

/**
 * struct gda_efa_taken - how far a ring was emptied
 * @taken: as gda_view.taken
 * @done: as gda_view.done
 * @from: gda_view.done when the call began
 * @ahead: as gda_view.ahead
 * @failing: a request has failed, so the outcome of each is recorded
 * @overtaken: bits were set; they are to be cleared
 */
struct gda_efa_taken {
	uint64_t taken;
	uint64_t done;
	uint64_t from;
	uint32_t ahead;
	bool failing;
	bool overtaken;
};

/* The caller has a fence before it publishes anything. */
GDA_EFA_DEVICE uint64_t gda_efa_peek(const struct gda_view *v, uint64_t index)
{
	const char *at = (const char *)v->cq + ((uint32_t)index & v->mask) * GDA_EFA_WQE_CQE_BYTES;
	uint64_t word;

	asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
	return word;
}

/* Acquire what the requests moved, and release it to threads of the GPU. */
GDA_EFA_DEVICE void gda_efa_fence(void)
{
	asm volatile(GDA_FENCE_ACQUIRE ".sys;\n\tfence.acq_rel.gpu;" ::: "memory");
}

GDA_EFA_DEVICE void gda_efa_fence_gpu(void)
{
	asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

GDA_EFA_DEVICE bool gda_efa_lock(struct gda_view *v)
{
	uint32_t was;

	asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;"
		     : "=r"(was) : "l"(&v->reaper) : "memory");
	return !was;
}

GDA_EFA_DEVICE void gda_efa_unlock(struct gda_view *v)
{
	asm volatile("st.release.gpu.global.u32 [%0], 0;" ::"l"(&v->reaper) : "memory");
}

GDA_EFA_DEVICE struct gda_efa_taken gda_efa_begin(struct gda_view *v)
{
	struct gda_efa_taken t;
	uint32_t ahead;

	asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
		     : "=r"(ahead)
		     : "l"(&v->ahead)
		     : "memory");
	t.taken = gda_load_relaxed64(&v->taken);
	t.done = gda_load_relaxed64(&v->done);
	t.failing = gda_load_relaxed64(&v->error_index) != GDA_NO_ERROR;
	t.from = t.done;
	t.ahead = ahead;
	t.overtaken = ahead;
	return t;
}

/* Is @word the success of @ticket? */
GDA_EFA_DEVICE bool gda_efa_is_plain(uint64_t word, uint64_t ticket)
{
	return !(((uint32_t)word ^ ((uint32_t)ticket & 0xffff)) & 0xffffff);
}

GDA_EFA_DEVICE bool gda_efa_is_bad(uint64_t word)
{
	return word >> 16 & 0xff;
}

GDA_EFA_DEVICE uint64_t gda_efa_ticket(uint64_t word, uint64_t done)
{
	return done + (uint16_t)(word - done);
}

GDA_EFA_DEVICE void gda_efa_or_mark(const struct gda_view *v, uint64_t ticket)
{
	asm volatile("red.relaxed.gpu.global.or.b64 [%0], %1;"
		     ::"l"(gda_efa_word_of(v, GDA_EFA_DONE, ticket)), "l"(1ULL << (ticket & 63))
		     : "memory");
}

/* Record the outcome of a request. Return: whether there was an error, now or before. */
GDA_EFA_DEVICE bool gda_efa_note(struct gda_view *v, uint64_t word, uint64_t done, bool failing)
{
	failing |= gda_efa_is_bad(word);
	if (failing)
		gda_efa_outcome(v, gda_efa_ticket(word, done), (uint32_t)(word >> 16) & 0xff);
	return failing;
}

/* The bits of a batch of @n entries are set: advance over all that are. */
static __device__ __noinline__ struct gda_efa_taken
gda_efa_advance(const struct gda_view *v, struct gda_efa_taken t, uint32_t n)
{
	t.ahead += n;
	t.overtaken = true;
	while (t.ahead) {
		uint64_t bits = gda_load_relaxed64(gda_efa_word_of(v, GDA_EFA_DONE, t.done));
		uint32_t run;

		bits = ~(bits >> (t.done & 63));
		run = bits ? (uint32_t)__ffsll((long long)bits) - 1 : 64;
		t.done += run;
		t.ahead -= run;
		if (!run || t.done & 63)
			break;
	}
	return t;
}

/* Clear the bits of the tickets from @from to @to. */
static __device__ __noinline__ void gda_efa_clear_marks(const struct gda_view *v, uint64_t from,
							 uint64_t to)
{
	uint64_t next;

	for (; from < to; from = next) {
		uint64_t bits = ~0ULL << (from & 63);

		next = (from | 63) + 1;
		if (next > to)
			bits &= ~(~0ULL << (to & 63));
		asm volatile("red.relaxed.gpu.global.and.b64 [%0], %1;"
			     ::"l"(gda_efa_word_of(v, GDA_EFA_DONE, from)), "l"(~bits) : "memory");
	}
}

/* Publish, and let another thread reap. Return: gda_view.completed. */
GDA_EFA_DEVICE uint64_t gda_efa_end(struct gda_view *v, const struct gda_efa_taken &t)
{
	uint64_t free = t.done + GDA_EFA_WINDOW - 1 - v->mask;

	free = t.taken < free ? t.taken : free;
	gda_efa_fence();
	gda_store_relaxed64(&v->taken, t.taken);
	gda_store_relaxed64(&v->done, t.done);
	if (t.overtaken) {
		*(volatile uint32_t *)&v->ahead = t.ahead;
		/* a thread that finds a bit cleared also finds the ticket below gda_view.done */
		gda_efa_fence_gpu();
		gda_efa_clear_marks(v, t.from, t.done);
		/* and a ticket that has the same bit is not issued before */
		gda_efa_fence_gpu();
	}
	gda_store_relaxed64(&v->completed, free);
	gda_efa_unlock(v);
	return free;
}

/* The first 32 bits of the entries of a block of GDA_EFA_TOGETHER, loaded at once. */
GDA_EFA_DEVICE void gda_efa_peek_block(const struct gda_view *v, uint64_t block, uint32_t *word)
{
	const char *at = (const char *)v->cq + ((uint32_t)block & v->mask) * GDA_EFA_WQE_CQE_BYTES;
	uint32_t k;

#pragma unroll
	for (k = 0; k < GDA_EFA_TOGETHER; k++)
		asm volatile("ld.relaxed.sys.global.u32 %0, [%1];"
			     : "=r"(word[k]) : "l"(at + k * GDA_EFA_WQE_CQE_BYTES) : "memory");
}

/*
 * Take the entries from t.taken to the end of its block, as far as they are new. A block does not
 * wrap, so its entries have one phase; a bit mask tells which entries are not new, and which are
 * not plain. Return: whether the next block may have more.
 */
GDA_EFA_DEVICE bool gda_efa_take_block(struct gda_view *v, struct gda_efa_taken &t)
{
	uint32_t first = (uint32_t)t.taken & (GDA_EFA_TOGETHER - 1),
		 room = GDA_EFA_TOGETHER - first;
	uint32_t expect = (uint32_t)(t.done - first) & 0xffff, old = 0, other = 0, n, k;
	uint32_t word[GDA_EFA_TOGETHER];

	if (!((uint32_t)t.taken & (v->mask + 1)))
		expect |= (uint32_t)GDA_EFA_CQE_PHASE << 24;
	gda_efa_peek_block(v, t.taken - first, word);
	/*
	 * usually all are new and in order; then the indices of a block have low bits of their
	 * own
	 */
	if (!(first | t.ahead | t.failing)) {
#pragma unroll
		for (k = 0; k < GDA_EFA_TOGETHER; k++)
			other |= word[k] ^ expect ^ k;
		if (!(other & (0xffffffU | (uint32_t)GDA_EFA_CQE_PHASE << 24))) {
			t.taken += GDA_EFA_TOGETHER;
			t.done += GDA_EFA_TOGETHER;
			return true;
		}
		other = 0;
	}
#pragma unroll
	for (k = 0; k < GDA_EFA_TOGETHER; k++) {
		uint32_t differs = word[k] ^ (expect + k);

		old |= (differs >> 24 & GDA_EFA_CQE_PHASE) << k;
		other |= differs & 0xffffff ? 1U << k : 0;
	}
	old >>= first;
	n = old ? __ffs(old) - 1 : room;
	n = n < room ? n : room;
	t.taken += n;
	if (!t.ahead & !t.failing & !(other >> first & ((1U << n) - 1))) {
		t.done += n;
		return n == room;
	}
	gda_efa_fence();
#pragma unroll
	for (k = 0; k < GDA_EFA_TOGETHER; k++) {
		if (k - first >= n)
			continue;
		if (t.failing | gda_efa_is_bad(word[k]))
			t.failing = gda_efa_note(v, word[k], t.done, t.failing);
		gda_efa_or_mark(v, gda_efa_ticket(word[k], t.done));
	}
	t = gda_efa_advance(v, t, n);
	return n == room;
}

/* The same for a ring that is shorter than a block. */
GDA_EFA_DEVICE bool gda_efa_take_one(struct gda_view *v, struct gda_efa_taken &t)
{
	uint64_t word = gda_efa_peek(v, t.taken);

	if (!gda_efa_entry_is_new(word, t.taken, v->mask))
		return false;
	t.taken++;
	gda_efa_fence();
	t.failing = gda_efa_note(v, word, t.done, t.failing);
	gda_efa_or_mark(v, gda_efa_ticket(word, t.done));
	t = gda_efa_advance(v, t, 1);
	return true;
}

/*
 * Empty the ring, unless another thread does, but take at most 256 entries. Return:
 * gda_view.completed.
 */
static __device__ __noinline__ uint64_t gda_efa_reap_alone(struct gda_view *v)
{
	uint64_t taken = gda_load_relaxed64(&v->taken),
		 completed = gda_load_relaxed64(&v->completed);
	bool more = true, blocks = v->mask >= GDA_EFA_TOGETHER - 1;
	struct gda_efa_taken t;
	uint32_t i;

	if (!gda_efa_entry_is_new(gda_efa_peek(v, taken), taken, v->mask) || !gda_efa_lock(v))
		return completed;
	t = gda_efa_begin(v);
#pragma unroll 1
	for (i = 0; i < GDA_EFA_BATCHES && more; i++)
		more = blocks ? gda_efa_take_block(v, t) : gda_efa_take_one(v, t);
	return gda_efa_end(v, t);
}

/* The same by a warp. Lane 0 alone records errors, one after the other. */
GDA_EFA_DEVICE uint32_t gda_efa_take_warp(struct gda_view *v,
					  struct gda_efa_taken &t,
					  uint32_t lane)
{
	uint64_t word = gda_efa_peek(v, t.taken + lane);
	bool fresh = lane <= v->mask && gda_efa_entry_is_new(word, t.taken + lane, v->mask), mine;
	uint32_t all = ~__ballot_sync(~0U, fresh), n = all ? __ffs(all) - 1 : 32, k;

	mine = lane < n;
	t.taken += n;
	if (!t.ahead && !t.failing &&
	    __all_sync(~0U, !mine | gda_efa_is_plain(word, t.done + lane))) {
		t.done += n;
		return n;
	}
	gda_efa_fence();
	if (t.failing | __any_sync(~0U, mine & gda_efa_is_bad(word))) {
		for (k = 0; k < n; k++) {
			uint64_t one = __shfl_sync(~0U, (unsigned long long)word, k);

			if (!lane)
				t.failing = gda_efa_note(v, one, t.done, t.failing);
		}
		t.failing = __shfl_sync(~0U, t.failing, 0);
	}
	if (mine)
		gda_efa_or_mark(v, gda_efa_ticket(word, t.done));
	__syncwarp();
	if (!lane)
		t = gda_efa_advance(v, t, n);
	t.done = __shfl_sync(~0U, (unsigned long long)t.done, 0);
	t.ahead = __shfl_sync(~0U, t.ahead, 0);
	t.overtaken = true;
	return n;
}

static __device__ __noinline__ uint64_t gda_efa_reap_warp(struct gda_view *v, uint32_t lane)
{
	uint64_t taken = gda_load_relaxed64(&v->taken), completed = 0;
	struct gda_efa_taken t;
	bool go = false;
	uint32_t i;

	if (!lane)
		go = gda_efa_entry_is_new(gda_efa_peek(v, taken), taken,
					  v->mask) &&
		     gda_efa_lock(v);
	if (!__shfl_sync(~0U, go, 0))
		return __shfl_sync(~0U, (unsigned long long)gda_load_relaxed64(&v->completed), 0);
	t = gda_efa_begin(v);
#pragma unroll 1
	for (i = 0; i < GDA_EFA_BATCHES; i++)
		if (gda_efa_take_warp(v, t, lane) < 32)
			break;
	__syncwarp();
	if (!lane)
		completed = gda_efa_end(v, t);
	return __shfl_sync(~0U, (unsigned long long)completed, 0);
}

/*
 * For all lanes that call this together; of those that do for one queue, all get the same result.
 */
GDA_EFA_DEVICE uint64_t gda_efa_reap_gpu(struct gda_view *v)
{
	uint32_t lanes = __match_any_sync(__activemask(),
					  (unsigned long long)(uintptr_t)v),
		 lane, first;
	uint64_t completed = 0;

	asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
	if (lanes == ~0U)
		return gda_efa_reap_warp(v, lane);
	first = __ffs(lanes) - 1;
	if (lane == first)
		completed = gda_efa_reap_alone(v);
	return __shfl_sync(lanes, (unsigned long long)completed, first);
}

#endif /* GDA_GPU_REAP_EFA_H */

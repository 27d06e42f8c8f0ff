// SPDX-License-Identifier: MIT
/*
 * Words in memory that no CPU reaches: atomics, and writes of 4 or 8 aligned bytes, of MRs that
 * were registered for them. A copier only copies, so the CPU does the arithmetic here: the MR has a
 * *shadow* with the current values of its words, and the copier stores the new value.
 *
 * - All words of a device's memory are stored on one lane of its own, in the order in which the
 *   shadow changed, under lane->lock. So a word never takes an older value, whichever queues change
 *   it.
 * - A queue's word is begun when its copies are done, and the lane of its data is ordered behind
 *   the word before anything more is begun there. So words are stored in the order of the queue,
 *   and consecutive words do not wait for each other.
 * - The shadow is filled in by blocks, each read when an atomic first needs it. If others store to
 *   the words, too (words->stores), the shadow is not kept: each atomic reads its word. The read is
 *   ordered behind all stores that were begun, and until its value is used no other queue may
 *   change a word of the MR (words->holder).
 * - Words are stored through the lane only: any other write into an MR with a shadow is refused,
 *   because the shadow would become stale. MRs with words do not overlap.
 * - The old value is given to the program when the new one is stored, not before.
 *
 * gda_words_lock guards the list of all words and words->holder. It is taken inside lane->lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "async.h"

#define GDA_WORDS_BLOCK		4096U

struct gda_inproc_words {
	struct gda_inproc_attachment attachment;
	struct gda_inproc_words *next;	/* of all */
	struct gda_inproc_lane *lane;
	u64 addr;
	u64 length;
	bool stores;			/* of others */
	struct gda_inproc_async *holder;
	u8 *shadow;			/* under lane->lock, like the next */
	u8 *known;			/* by block: is the shadow valid? */
	u64 mapped;
};

static pthread_mutex_t gda_words_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gda_inproc_words *gda_words_all;

/* Add it to the list. Return: 0, or -EBUSY if there are words in the range already. */
static int gda_words_link(struct gda_inproc_words *words)
{
	struct gda_inproc_words *w;

	pthread_mutex_lock(&gda_words_lock);
	for (w = gda_words_all; w; w = w->next)
		if (words->addr < w->addr + w->length && w->addr < words->addr + words->length)
			break;
	if (!w) {
		words->next = gda_words_all;
		gda_words_all = words;
	}
	pthread_mutex_unlock(&gda_words_lock);
	return w ? -EBUSY : 0;
}

static void gda_words_free(struct gda_inproc_attachment *attached)
{
	struct gda_inproc_words *words = gda_attached_of(attached, struct gda_inproc_words);
	struct gda_inproc_words **link = &gda_words_all;

	pthread_mutex_lock(&gda_words_lock);
	while (*link != words)
		link = &(*link)->next;
	*link = words->next;
	if (words->holder)
		WRITE_ONCE(words->holder->holds, NULL);
	pthread_mutex_unlock(&gda_words_lock);
	words->lane->ops->put(words->lane);
	munmap(words->shadow, words->mapped);
	free(words);
}

int gda_inproc_words_create(u64 addr, u64 length, struct gda_inproc_lane *lane, bool stores,
			    struct gda_inproc_attachment **words)
{
	struct gda_inproc_words *w = calloc(1, sizeof(*w));
	u64 blocks = length / GDA_WORDS_BLOCK + 1;
	int err;

	if (!w)
		return -ENOMEM;
	w->lane = lane;
	w->addr = addr;
	w->length = length;
	w->stores = stores;
	/* pages that are never touched cost nothing */
	w->mapped = blocks * GDA_WORDS_BLOCK + blocks;
	w->shadow = mmap(NULL, w->mapped, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (w->shadow == MAP_FAILED) {
		free(w);
		return -ENOMEM;
	}
	w->known = w->shadow + blocks * GDA_WORDS_BLOCK;
	err = gda_words_link(w);
	if (err) {
		munmap(w->shadow, w->mapped);
		free(w);
		return err;
	}
	w->attachment.free = gda_words_free;
	*words = &w->attachment;
	return 0;
}

void gda_words_release(struct gda_inproc_async *async)
{
	if (likely(!READ_ONCE(async->holds)))
		return;
	pthread_mutex_lock(&gda_words_lock);
	if (async->holds) {
		WRITE_ONCE(async->holds->holder, NULL);
		WRITE_ONCE(async->holds, NULL);
	}
	pthread_mutex_unlock(&gda_words_lock);
}

static void gda_words_hold(struct gda_inproc_words *words, struct gda_inproc_async *async)
{
	pthread_mutex_lock(&gda_words_lock);
	WRITE_ONCE(words->holder, async);
	WRITE_ONCE(async->holds, words);
	pthread_mutex_unlock(&gda_words_lock);
}

static struct gda_inproc_words *gda_words_of(const struct gda_mem *mem)
{
	const struct gda_inproc_mr *mr = gda_inproc_of(mem, struct gda_inproc_mr, mem);

	return mr->attached ? gda_attached_of(mr->attached, struct gda_inproc_words) : NULL;
}

static bool gda_words_is_atomic(const struct gda_work *w)
{
	return gda_op_is_atomic(w->op);
}

/* Is the remote range one word? */
static bool gda_words_is_word(const struct gda_work *w)
{
	u32 len = w->remote.len;

	return (len == sizeof(u32) || len == sizeof(u64)) && !(w->remote.addr % len);
}

bool gda_words_concern(const struct gda_work *w, const struct gda_exec_mems *mems)
{
	const struct gda_inproc_words *words = mems->remote ? gda_words_of(mems->remote) : NULL;

	if (!words)
		return false;
	if (gda_words_is_atomic(w))
		return true;
	/* an MR with a shadow takes only words: let gda_words_carry() refuse anything else */
	return w->op == GDA_OP_WRITE && (gda_words_is_word(w) || !words->stores);
}

/* Are all earlier requests of the queue done, except words on the same lane? */
static bool gda_words_behind(struct gda_inproc_async *async, struct gda_inproc_lane *lane)
{
	if (async->lane != lane) {
		if (!gda_async_done(async, async->begun))
			return false;
		async->lane = lane;
	}
	return gda_async_done(async, async->data) &&
	       gda_async_done(async, async->begun - GDA_ASYNC_WINDOW);
}

static u64 gda_words_load(const void *p, u32 width)
{
	u64 value = 0;

	if ((uintptr_t)p % width)
		memcpy(&value, p, width);
	else if (width == sizeof(u64))
		/* pairs with the program's release: it may store meanwhile */
		value = smp_load_acquire((const u64 *)p);
	else	/* likewise */
		value = smp_load_acquire((const u32 *)p);
	return value;
}

/* Get the value that a write stores. Return: 1; 0 to wait; or gda_async_fail(). */
static int gda_words_value(struct gda_inproc_async *async, const struct gda_work *w,
			   const struct gda_exec_mems *mems, u64 *value)
{
	u8 bytes[sizeof(u64)] = { 0 };
	u32 i, done = 0;
	void *p;

	if (w->inlined) {
		*value = gda_words_load(w->data, w->remote.len);
		return 1;
	}
	if (!gda_async_settled(async))
		return 0;
	for (i = 0; i < w->nsge; i++) {
		u64 off = w->sge[i].addr - mems->local[i]->iova;

		if (READ_ONCE(mems->local[i]->state) & GDA_MEM_NO_CPU) {
			const struct gda_inproc_mr *mr =
				gda_inproc_of(mems->local[i], struct gda_inproc_mr, mem);

			/* there is only one bounce buffer */
			if (w->nsge > 1)
				return gda_async_fail(GDA_CLASS_LOCAL, GDA_CAUSE_IO);
			return gda_async_bounce_in(async, value, (uintptr_t)mr->addr + off,
						   w->sge[i].len);
		}
		gda_host_span(mems->local[i], off, w->sge[i].len, &p);
		if (w->nsge == 1) {
			*value = gda_words_load(p, w->remote.len);
			return 1;
		}
		memcpy(bytes + done, p, w->sge[i].len);
		done += w->sge[i].len;
	}
	*value = gda_words_load(bytes, w->remote.len);
	return 1;
}

/* The new value that an atomic stores for @old. Fields are added as in engine/exec.c. */
static u64 gda_words_new(const struct gda_work *w, u64 old)
{
	u64 last = w->compare;

	switch (w->op) {
	case GDA_OP_FETCH_ADD:
		return old + w->swap_add;
	case GDA_OP_COMPARE_SWAP:
		return old == w->compare ? w->swap_add : old;
	case GDA_OP_MASKED_FETCH_ADD:
		return ((old & ~last) + (w->swap_add & ~last)) ^ ((old ^ w->swap_add) & last);
	default:
		if ((old ^ w->compare) & w->compare_mask)
			return old;
		return (old & ~w->swap_mask) | (w->swap_add & w->swap_mask);
	}
}

/* Choose what to read for the word at @off: its block, or only the word if no shadow is kept. */
static void gda_words_extent(const struct gda_inproc_words *words, u64 *off, u32 *len)
{
	if (words->stores)
		return;
	*off -= *off % GDA_WORDS_BLOCK;
	*len = (u32)min(words->length - *off, (u64)GDA_WORDS_BLOCK);
}

/* Make the shadow of the word at @off valid. lane->lock is held. Return: 1, 0 or an error. */
static int gda_words_read(struct gda_inproc_async *async, struct gda_inproc_words *words, u64 off,
			  u32 len)
{
	u64 block = off / GDA_WORDS_BLOCK;

	if (words->known[block])
		return 1;
	if (!gda_async_done(async, async->bounced))
		return 0;
	gda_words_extent(words, &off, &len);
	if (READ_ONCE(async->holds) == words) {
		memcpy(words->shadow + off, async->copier->bounce, len);
		words->known[block] = !words->stores;
		return 1;
	}
	if (async->broken || words->lane->ops->read(words->lane, async->copier->bounce_addr,
						    words->addr + off, len))
		return gda_async_fail(GDA_CLASS_QUEUE, GDA_CAUSE_IO);
	gda_words_hold(words, async);
	async->behind = words->lane;
	async->begun++;
	async->bounced = async->begun;
	return 0;
}

/* Change the word at @off. lane->lock is held. Return: 1 or an error. */
static int gda_words_change(struct gda_inproc_async *async, struct gda_inproc_words *words,
			    const struct gda_work *w, u64 off, u64 value)
{
	u8 *word = words->shadow + off;
	u32 width = w->remote.len;
	u64 old = gda_words_load(word, width);
	bool same = false;

	if (gda_words_is_atomic(w)) {
		value = gda_words_new(w, old);
		same = value == old;
	}
	if (width == sizeof(u32))
		value = (u32)value;
	if (async->broken ||
	    (!same && words->lane->ops->store(words->lane, words->addr + off, value, width)))
		return gda_async_fail(GDA_CLASS_QUEUE, GDA_CAUSE_IO);
	memcpy(word, &value, width);
	/*
	 * even if nothing is stored: an earlier store of the value read here may still be under way
	 */
	async->behind = words->lane;
	async->begun++;
	async->old = old;
	return 1;
}

/*
 * Choose how the old value is returned: stored to host memory when all is done, or copied. 1, 0 or
 * an error.
 */
static int gda_words_result(struct gda_inproc_async *async, const struct gda_work *w,
			    const struct gda_mem *mem)
{
	u64 off = w->sge[0].addr - mem->iova;
	u32 width = w->remote.len;
	int err;

	if (w->flags & GDA_WORK_BIG_ENDIAN)
		async->old = __builtin_bswap32((u32)async->old);
	if (!(READ_ONCE(mem->state) & GDA_MEM_NO_CPU)) {
		gda_host_span(mem, off, width, &async->result);
		async->old_bytes = width;
		return 1;
	}
	memcpy(async->copier->bounce, &async->old, width);
	err = gda_async_copy(async,
			     (uintptr_t)gda_inproc_of(mem, struct gda_inproc_mr, mem)->addr + off,
			     async->copier->bounce_addr, width);
	async->bounced = async->begun;
	return err ? err : 1;
}

/*
 * Apply @w to its word. Under lane->lock no memory of the program is accessed, because that may be
 * gone (fault.c).
 */
static int gda_words_apply(struct gda_inproc_async *async, const struct gda_work *w,
			   struct gda_inproc_words *words, u64 off, u64 value)
{
	const struct gda_inproc_async *holder;
	int ret = 1;

	pthread_mutex_lock(&words->lane->lock);
	/* the holder changes a word under this lock, and then releases them */
	holder = READ_ONCE(words->holder);
	if (holder && holder != async)
		ret = 0;
	else if (gda_words_is_atomic(w))
		ret = gda_words_read(async, words, off, w->remote.len);
	if (ret > 0)
		ret = gda_words_change(async, words, w, off, value);
	pthread_mutex_unlock(&words->lane->lock);
	return ret;
}

int gda_words_carry(struct gda_inproc_async *async, const struct gda_work *w,
		    const struct gda_exec_mems *mems)
{
	struct gda_inproc_words *words = gda_words_of(mems->remote);
	bool atomic = gda_words_is_atomic(w);
	u64 value = 0;
	int ret = 1;

	if (!gda_words_is_word(w))
		return gda_async_fail(GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_ALIGN);
	if (!gda_words_behind(async, words->lane))
		return 0;
	if (!atomic)
		ret = gda_words_value(async, w, mems, &value);
	/* the old value is copied from the bounce buffer */
	else if (READ_ONCE(mems->local[0]->state) & GDA_MEM_NO_CPU)
		ret = gda_async_done(async, async->bounced);
	if (ret > 0)
		ret = gda_words_apply(async, w, words, w->remote.addr - mems->remote->iova, value);
	return ret > 0 && atomic ? gda_words_result(async, w, mems->local[0]) : ret;
}

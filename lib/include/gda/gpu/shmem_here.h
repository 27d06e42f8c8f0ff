/* SPDX-License-Identifier: MIT */
/*
 * The parts of gda/shmem.h that differ in a GPU kernel: words that take fetched values, and the
 * checks of a wait. Included by gda/shmem_direct.h.
 *
 * A word belongs to its request until the request is done and the word was read, which a bit in GPU
 * memory records. If a wait ends before its request is done the word stays reserved forever,
 * because no other thread may wait on a queue that a poster owns. After %GDA_SHMEM_GPU_WORDS such
 * cases calls that fetch return -ETIMEDOUT.
 */
#ifndef GDA_GPU_SHMEM_HERE_H
#define GDA_GPU_SHMEM_HERE_H

#include <gda/fastpath.h>
#include <gda/shmem_peer.h>

/**
 * gda_shmem_gpu_relax - pause between two polls of a wait in a kernel
 * @s: the heap
 * @polls: polls so far, at least 1
 * @pe: a PE whose loss ends the wait, or %GDA_SHMEM_ANY_PE for that of any
 * @deadline: in ns of gda_clock_ns(), 0 for the time-out of the heap from now, which is
 *	stored; or %GDA_SHMEM_FOREVER
 *
 * As gda_shmem_relax() on a CPU. Every 64th call checks the deadline and @pe; with
 * %GDA_SHMEM_ANY_PE one PE per check.
 *
 * Return: 0 poll again; -ESHUTDOWN the PE was lost; -ETIMEDOUT the deadline has passed; -EINVAL no
 * such PE.
 */
GDA_GPU_API int gda_shmem_gpu_relax(const struct gda_shmem *s, unsigned int polls, uint32_t pe,
				    uint64_t &deadline)
{
	const struct gda_shmem_peer *peers = (const struct gda_shmem_peer *)s->peers;
	uint64_t now;

	if (polls % GDA_POLLS)
		return 0;
	if (pe == GDA_SHMEM_ANY_PE)
		pe = polls / GDA_POLLS % s->npes;
	if (pe >= s->npes)
		return -EINVAL;
	if (gda_nic_load32((const uint32_t *)peers[pe].abort))
		return -ESHUTDOWN;
	now = gda_clock_ns();
	if (!deadline)
		deadline = now + s->timeout_ns;
	return now >= deadline ? -ETIMEDOUT : 0;
}

GDA_DEVICE uint64_t gda_shmem_gpu_word(const struct gda_shmem *s, int word)
{
	return s->stage + GDA_SHMEM_GPU_SINK + (uint64_t)word * GDA_SHMEM_GPU_LINE;
}

/* Set the first clear bit. Return: its number, or -1. */
GDA_DEVICE int gda_shmem_gpu_bit_take(uint64_t *bits)
{
	uint64_t used = gda_gpu_load64(bits), bit, old;

	while (~used) {
		bit = ~used & (used + 1);
		asm volatile("atom.acquire.gpu.global.or.b64 %0, [%1], %2;"
			     : "=l"(old) : "l"(bits), "l"(bit) : "memory");
		if (!(old & bit))
			return __ffsll((long long)bit) - 1;
		used = old;
	}
	return -1;
}

/* Reserve a word. Return: its number, or a negative errno. */
GDA_DEVICE_SLOW int gda_shmem_gpu_word_find(struct gda_shmem *s)
{
	struct gda_shmem_words *w = (struct gda_shmem_words *)s->words;
	uint32_t n = GDA_SHMEM_GPU_WORDS / 64, at = blockIdx.x * 5 + threadIdx.x / 32, i;
	uint64_t deadline = 0;
	unsigned int polls;
	int bit, err;

	for (polls = 1;; polls++) {
		for (i = 0; i < n; i++) {
			bit = gda_shmem_gpu_bit_take(&w->used[(at + i) % n]);
			if (bit >= 0)
				return (int)((at + i) % n * 64) + bit;
		}
		err = gda_shmem_gpu_relax(s, polls, s->pe, deadline);
		if (err)
			return err;
	}
}

/* The same, with its address, which is also its address in work requests. */
GDA_DEVICE int gda_shmem_gpu_word_reserve(struct gda_shmem *s, uint64_t *at)
{
	int word = gda_shmem_gpu_word_find(s);

	*at = gda_shmem_gpu_word(s, word < 0 ? 0 : word);
	return word;
}

GDA_DEVICE void gda_shmem_gpu_word_release(struct gda_shmem *s, int word)
{
	uint64_t *bits = &((struct gda_shmem_words *)s->words)->used[word / 64];

	asm volatile("red.release.gpu.global.and.b64 [%0], %1;"
		     ::"l"(bits), "l"(~(1ULL << word % 64)) : "memory");
}

/* The wait for a word's request has ended. Return: the error for the caller. */
GDA_DEVICE int gda_shmem_gpu_word_done(struct gda_shmem *s, int word, int err)
{
	if (!err || err == -EIO || err == -ECANCELED)
		gda_shmem_gpu_word_release(s, word);
	return err == -ECANCELED ? -EIO : err;
}

/* The value that a request has fetched. */
GDA_DEVICE uint64_t gda_shmem_gpu_word_load(const struct gda_shmem *s, int word, uint32_t bytes)
{
	uint64_t stored = gda_nic_load64((const uint64_t *)gda_shmem_gpu_word(s, word));

	return bytes == 8 ? stored : stored & ((1ULL << 8 * bytes) - 1);
}

/* Like gda_shmem_word_wait(), for any thread. */
GDA_DEVICE int gda_shmem_gpu_word_wait(struct gda_shmem *s, struct gda_view *view, int64_t ticket,
				       int word, void *value, uint32_t bytes)
{
	uint64_t stored;
	int err;

	if (ticket < 0) {
		gda_shmem_gpu_word_release(s, word);
		return (int)ticket;
	}
	err = gda_wait(view, ticket, 0);
	if (!err) {
		stored = gda_shmem_gpu_word_load(s, word, bytes);
		memcpy(value, &stored, bytes);
	}
	return gda_shmem_gpu_word_done(s, word, err);
}

#endif /* GDA_GPU_SHMEM_HERE_H */

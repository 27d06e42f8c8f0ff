/* SPDX-License-Identifier: MIT */
/*
 * Order and completion of what was put, signals behind it, and waiting for words that other
 * PEs change. Included by gda/shmem.h.
 *
 * A fence orders: a PE sees puts, signals and atomics from before the fence earlier than those from
 * after it. A quiet completes: afterwards all of them are visible to every PE, and gets have their
 * bytes. Both cover what any thread posted before the call.
 */
#ifndef GDA_SHMEM_SYNC_H
#define GDA_SHMEM_SYNC_H

#include <gda/shmem.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* Wait for the reads of gda_shmem_flush() on the queue pairs of a PE from @first to @end. */
GDA_HELPER int gda_shmem_settle(const struct gda_shmem *s, const struct gda_shmem_peer *p,
				uint64_t first, uint64_t end, uint64_t deadline)
{
	struct gda_shmem_qp *qps = (struct gda_shmem_qp *)(uintptr_t)p->qps;
	int err = 0, e;

	for (; first < end; first++) {
		e = gda_shmem_unordered(s) ?
		    gda_shmem_queue_settle_each(s, p, qps + first, deadline) :
		    gda_shmem_queue_settle(qps + first, deadline);
		err = err ? err : e;
	}
	return err;
}

/* Post those reads, unless they have to wait. */
GDA_HELPER int gda_shmem_flush(const struct gda_shmem *s, const struct gda_shmem_peer *p,
			       uint64_t first, uint64_t end)
{
	struct gda_shmem_qp *qps = (struct gda_shmem_qp *)(uintptr_t)p->qps;
	int err = 0, e;

	if (gda_shmem_unordered(s))
		return 0;
	for (; first < end; first++) {
		e = gda_shmem_queue_flush(s, p, qps + first);
		err = err ? err : e < 0 ? e : 0;
	}
	return err;
}

/**
 * gda_shmem_quiet_qp - complete all that was posted to one queue pair to a PE
 * @s: the heap
 * @pe: number of the PE
 * @id: id of a connection, as GDA_SHMEM_QP() takes it
 * @deadline: in ns of gda_clock_ns(), or %GDA_SHMEM_FOREVER; 0: s->timeout_ns from now
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
GDA_API int gda_shmem_quiet_qp(struct gda_shmem *s, uint32_t pe, uint32_t id,
			       uint64_t deadline)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	uint64_t first;
	int err;

	if (gda_unlikely(!p))
		return -EINVAL;
	/* sequentially consistent: of two PEs that each put and then get, one sees the other */
	gda_shmem_settled();
	if (p->heap)
		return 0;
	first = gda_qp_index(0, id, s->qps, 1);
	err = gda_shmem_flush(s, p, first, first + 1);
	return err ? err : gda_shmem_settle(s, p, first, first + 1, deadline);
}

/**
 * gda_shmem_quiet_pe - complete all that was posted to a PE
 * @s: the heap
 * @pe: number of the PE
 * @deadline: in ns of gda_clock_ns(), or %GDA_SHMEM_FOREVER; 0: s->timeout_ns from now
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
GDA_API int gda_shmem_quiet_pe(struct gda_shmem *s, uint32_t pe, uint64_t deadline)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	int err, settled;

	if (gda_unlikely(!p))
		return -EINVAL;
	gda_shmem_settled();
	if (p->heap)
		return 0;
	err = gda_shmem_flush(s, p, 0, s->qps);
	settled = gda_shmem_settle(s, p, 0, s->qps, deadline);
	return err ? err : settled;
}

/* Quiet all PEs: first post a read to every queue pair, then wait for each. */
GDA_SLOW int gda_shmem_queue_quiet(struct gda_shmem *s, uint64_t deadline)
{
	int err = 0, e;
	uint32_t pe;

	if (!deadline)
		deadline = gda_clock_ns() + s->timeout_ns;
	for (pe = 0; pe < s->npes; pe++) {
		if (gda_shmem_peer(s, pe)->heap)
			continue;
		e = gda_shmem_flush(s, gda_shmem_peer(s, pe), 0, s->qps);
		err = err ? err : e;
	}
	for (pe = 0; pe < s->npes; pe++) {
		if (gda_shmem_peer(s, pe)->heap)
			continue;
		e = gda_shmem_settle(s, gda_shmem_peer(s, pe), 0, s->qps, deadline);
		err = err ? err : e;
	}
	return err;
}

/**
 * gda_shmem_quiet - complete all that was posted
 * @s: the heap
 * @deadline: in ns of gda_clock_ns(), or %GDA_SHMEM_FOREVER; 0: s->timeout_ns from now
 *
 * Return: 0 or a negative errno, see gda/shmem.h: of the first error; the other PEs are quiet
 * nevertheless.
 */
GDA_API int gda_shmem_quiet(struct gda_shmem *s, uint64_t deadline)
{
	gda_shmem_settled();
	return s->qps ? gda_shmem_queue_quiet(s, deadline) : 0;
}

/**
 * gda_shmem_fence_pe - order puts, signals and atomics to a PE
 * @s: the heap
 * @pe: number of the PE
 *
 * Covers all queue pairs to the PE.
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
GDA_API int gda_shmem_fence_pe(struct gda_shmem *s, uint32_t pe)
{
	if (gda_unlikely(pe >= s->npes))
		return -EINVAL;
	gda_shmem_order();
	/* one queue pair is in order; several have to be waited for */
	return s->qps > 1 || gda_shmem_unordered(s) ? gda_shmem_quiet_pe(s, pe, 0) : 0;
}

/**
 * gda_shmem_fence - order puts, signals and atomics to each PE
 * @s: the heap
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
GDA_API int gda_shmem_fence(struct gda_shmem *s)
{
	gda_shmem_order();
	return s->qps > 1 || gda_shmem_unordered(s) ? gda_shmem_quiet(s, 0) : 0;
}

/**
 * gda_shmem_fence_qp - order puts, signals and atomics of one queue pair to a PE
 * @s: the heap
 * @pe: number of the PE
 * @id: id of a connection, as GDA_SHMEM_QP() takes it
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
GDA_API int gda_shmem_fence_qp(struct gda_shmem *s, uint32_t pe, uint32_t id)
{
	if (gda_unlikely(pe >= s->npes))
		return -EINVAL;
	gda_shmem_order();
	if (gda_shmem_unordered(s))
		return gda_shmem_quiet_qp(s, pe, id, 0);
	return 0;
}

/**
 * gda_shmem_test - test whether a call is done
 * @s: the heap
 * @ticket: of a call with the same PE and queue pair; a negative one is returned as it is
 * @pe: number of the PE
 * @flags: GDA_SHMEM_QP() of that call; 0 if it had none
 *
 * Return: 1 done, 0 not yet, or a negative errno.
 */
GDA_API int gda_shmem_test(struct gda_shmem *s, int64_t ticket, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);

	if (gda_unlikely(!p))
		return -EINVAL;
	if (p->heap || ticket < 0)
		return ticket < 0 ? (int)ticket : 1;
	return gda_test(gda_shmem_queue(s, p, flags), ticket);
}

/**
 * gda_shmem_wait - wait until a call is done
 * @s: the heap
 * @ticket: of a call with the same PE and queue pair; a negative one is returned as it is
 * @pe: number of the PE
 * @flags: GDA_SHMEM_QP() of that call; 0 if it had none
 * @deadline: in ns of gda_clock_ns(), or %GDA_SHMEM_FOREVER; 0: s->timeout_ns from now
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
GDA_API int gda_shmem_wait(struct gda_shmem *s, int64_t ticket, uint32_t pe, uint32_t flags,
			   uint64_t deadline)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);

	if (gda_unlikely(!p))
		return -EINVAL;
	if (p->heap || ticket < 0)
		return ticket < 0 ? (int)ticket : 0;
	return gda_shmem_queue_wait(gda_shmem_queue(s, p, flags), ticket, deadline);
}

/**
 * struct gda_shmem_signal - the word that tells a PE that a put has arrived
 * @word: symmetric address, of the caller
 * @value: the operand
 * @op: %GDA_SHMEM_SET or %GDA_SHMEM_ADD
 * @reserved: 0
 *
 * Its layout does not change.
 */
struct gda_shmem_signal {
	uint64_t *word;
	uint64_t value;
	uint32_t op;
	uint32_t reserved;
};

/* Wait until a signal may be posted: where nothing is in order, until all before it is done. */
GDA_HELPER int gda_shmem_before_signal(const struct gda_shmem *s, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);

	if (!gda_shmem_unordered(s) || p->heap)
		return 0;
	return gda_quiet(gda_shmem_queue(s, p, flags), 0);
}

/* Is it a signal? */
GDA_HELPER int gda_shmem_check_signal(const struct gda_shmem *s,
				      const struct gda_shmem_signal *signal)
{
	if (gda_unlikely(signal->op != GDA_SHMEM_SET && signal->op != GDA_SHMEM_ADD))
		return -EINVAL;
	if (gda_shmem_unordered(s) && signal->op == GDA_SHMEM_ADD)
		return -EOPNOTSUPP;
	return gda_unlikely(!gda_shmem_is_symmetric(s, signal->word, 8)) ? -EFAULT : 0;
}

/**
 * gda_shmem_put_signal_nbi - begin to write to a PE, and signal when the bytes have arrived
 * @s: the heap
 * @dest: symmetric address, of the caller
 * @source: any memory of the caller
 * @bytes: number of bytes; with 0 only the signal is sent
 * @signal: visible to the PE after the bytes; atomic against other signals
 * @pe: number of the PE to write to
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: the ticket of the signal, done when both are; or a negative errno, see
 * gda/shmem.h.
 */
GDA_API int64_t gda_shmem_put_signal_nbi(struct gda_shmem *s, void *dest, const void *source,
					 uint64_t bytes, const struct gda_shmem_signal *signal,
					 uint32_t pe, uint32_t flags)
{
	int64_t ticket = gda_shmem_check_signal(s, signal);

	if (gda_unlikely(ticket))
		return ticket;
	/* one doorbell for both; by queue the signal is behind the bytes on the same queue pair */
	ticket = gda_shmem_begin_put(s, dest, source, bytes, pe, flags | GDA_DEFER, 0).ticket;
	if (ticket >= 0)
		ticket = gda_shmem_before_signal(s, pe, flags);
	if (ticket < 0)
		return ticket;
	return gda_shmem_atomic64(s, signal->word, signal->op, signal->value, pe, flags);
}

/**
 * gda_shmem_put_signal - write to a PE, and signal when the bytes have arrived
 * @s: the heap
 * @dest: symmetric address, of the caller
 * @source: any memory of the caller; it may be changed when the call returns
 * @bytes: number of bytes
 * @signal: visible to the PE after the bytes
 * @pe: number of the PE to write to
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
GDA_API int gda_shmem_put_signal(struct gda_shmem *s, void *dest, const void *source,
				 uint64_t bytes, const struct gda_shmem_signal *signal,
				 uint32_t pe, uint32_t flags)
{
	int err = gda_shmem_check_signal(s, signal), done;
	struct gda_shmem_outcome put;
	int64_t ticket;

	if (gda_unlikely(err))
		return err;
	put = gda_shmem_begin_put(s, dest, source, bytes, pe, flags | GDA_DEFER, 0);
	if (put.ticket < 0)
		return (int)put.ticket;
	err = gda_shmem_before_signal(s, pe, flags);
	if (err)
		return err;
	ticket = gda_shmem_atomic64(s, signal->word, signal->op, signal->value, pe, flags);
	err = ticket < 0 ? (int)ticket : 0;
	if (put.source_free)
		return err;
	/* even without the signal the put has been posted, and reads the source */
	done = gda_shmem_wait(s, err ? put.ticket : ticket, pe, flags, 0);
	return err ? err : done;
}

/**
 * gda_shmem_load64 - load a word of this PE that other PEs change
 * @word: the word
 *
 * Puts that precede the loaded value, by a fence or signal, are visible afterwards.
 *
 * Return: its value.
 */
GDA_API uint64_t gda_shmem_load64(const uint64_t *word)
{
	return gda_nic_load64(word);
}

/**
 * gda_shmem_load32 - load a 32-bit word of this PE that other PEs change
 * @word: the word
 *
 * Return: as gda_shmem_load64().
 */
GDA_API uint32_t gda_shmem_load32(const uint32_t *word)
{
	return gda_nic_load32(word);
}

/**
 * enum gda_shmem_cmp - comparisons of a word with a value
 * @GDA_SHMEM_EQ: equal
 * @GDA_SHMEM_NE: not equal
 * @GDA_SHMEM_GT: greater
 * @GDA_SHMEM_LE: less or equal
 * @GDA_SHMEM_LT: less
 * @GDA_SHMEM_GE: greater or equal
 * @GDA_SHMEM_UNSIGNED: or'd: both are unsigned
 */
enum gda_shmem_cmp {
	GDA_SHMEM_EQ,
	GDA_SHMEM_NE,
	GDA_SHMEM_GT,
	GDA_SHMEM_LE,
	GDA_SHMEM_LT,
	GDA_SHMEM_GE,
	GDA_SHMEM_UNSIGNED = 8,
};

GDA_HELPER int gda_shmem_holds(uint32_t cmp, int64_t word, int64_t value)
{
	switch (cmp) {
	case GDA_SHMEM_EQ:
		return word == value;
	case GDA_SHMEM_NE:
		return word != value;
	case GDA_SHMEM_GT:
		return word > value;
	case GDA_SHMEM_LE:
		return word <= value;
	case GDA_SHMEM_LT:
		return word < value;
	case GDA_SHMEM_GE:
		return word >= value;
	default:
		return -EINVAL;
	}
}

/**
 * gda_shmem_test_until64 - test whether a word of this PE satisfies a condition
 * @word: a word that other PEs change
 * @cmp: enum gda_shmem_cmp, a constant, so that it folds
 * @value: the value to compare with
 *
 * If the condition holds, the order is that of gda_shmem_load64().
 *
 * Return: 1 or 0; -EINVAL no such comparison.
 */
GDA_API int gda_shmem_test_until64(const uint64_t *word, uint32_t cmp, uint64_t value)
{
	/* unsigned order is signed order, shifted by half the range */
	uint64_t shift = cmp & GDA_SHMEM_UNSIGNED ? 1ULL << 63 : 0;

	return gda_shmem_holds(cmp & ~(uint32_t)GDA_SHMEM_UNSIGNED,
			       (int64_t)(gda_nic_load64(word) + shift),
			       (int64_t)(value + shift));
}

/**
 * gda_shmem_test_until32 - test whether a 32-bit word of this PE satisfies a condition
 * @word: a word that other PEs change
 * @cmp: enum gda_shmem_cmp, a constant, so that it folds
 * @value: the value to compare with
 *
 * Return: as gda_shmem_test_until64().
 */
GDA_API int gda_shmem_test_until32(const uint32_t *word, uint32_t cmp, uint32_t value)
{
	uint32_t now = gda_nic_load32(word);

	if (cmp & GDA_SHMEM_UNSIGNED)
		return gda_shmem_holds(cmp & ~(uint32_t)GDA_SHMEM_UNSIGNED, now, value);
	return gda_shmem_holds(cmp, (int32_t)now, (int32_t)value);
}

/* gda_shmem_relax(), where this runs. */
GDA_HELPER int gda_shmem_look(struct gda_shmem *s, unsigned int polls, uint32_t pe,
			      uint64_t *deadline)
{
	return GDA_HERE(gda_shmem_relax(s, polls, pe, deadline),
			gda_shmem_gpu_relax(s, polls, pe, *deadline));
}

/**
 * gda_shmem_wait_until64 - wait until a word of this PE satisfies a condition
 * @s: the heap
 * @word: a word that other PEs change
 * @cmp: enum gda_shmem_cmp, a constant, so that it folds
 * @value: the value to compare with
 * @deadline: in ns of gda_clock_ns(), or %GDA_SHMEM_FOREVER; 0: s->timeout_ns from now
 *
 * The loss of any PE ends the wait; for a wait that only a certain PE's loss ends, use a loop with
 * gda_shmem_test_until64() and gda_shmem_relax().
 *
 * Return: 0; -ESHUTDOWN a PE was lost; -ETIMEDOUT; -EINVAL no such comparison.
 */
GDA_API int gda_shmem_wait_until64(struct gda_shmem *s, const uint64_t *word, uint32_t cmp,
				   uint64_t value, uint64_t deadline)
{
	unsigned int polls = 0;
	int done, err = 0;

	while (!(done = gda_shmem_test_until64(word, cmp, value)) && !err)
		err = gda_shmem_look(s, ++polls, GDA_SHMEM_ANY_PE, &deadline);
	if (done > 0)
		return 0;
	err = done ? done : err;
	return GDA_HERE(gda_wait_word_failed("gda_shmem_wait_until64", gda_nic_load64(word), value,
					     err), err);
}

/**
 * gda_shmem_wait_until32 - wait until a 32-bit word of this PE satisfies a condition
 * @s: the heap
 * @word: a word that other PEs change
 * @cmp: enum gda_shmem_cmp, a constant, so that it folds
 * @value: the value to compare with
 * @deadline: in ns of gda_clock_ns(), or %GDA_SHMEM_FOREVER; 0: s->timeout_ns from now
 *
 * Return: as gda_shmem_wait_until64().
 */
GDA_API int gda_shmem_wait_until32(struct gda_shmem *s, const uint32_t *word, uint32_t cmp,
				   uint32_t value, uint64_t deadline)
{
	unsigned int polls = 0;
	int done, err = 0;

	while (!(done = gda_shmem_test_until32(word, cmp, value)) && !err)
		err = gda_shmem_look(s, ++polls, GDA_SHMEM_ANY_PE, &deadline);
	if (done > 0)
		return 0;
	err = done ? done : err;
	return GDA_HERE(gda_wait_word_failed("gda_shmem_wait_until32", gda_nic_load32(word), value,
					     err), err);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_SHMEM_SYNC_H */

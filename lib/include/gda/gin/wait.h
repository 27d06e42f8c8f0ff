/* SPDX-License-Identifier: MIT */
/*
 * Signals, counters and flushes: everything of gda/gin.h that reads and waits. Included by
 * gda/gin.h.
 *
 * Every wait ends: with success, with -EIO when a queue of the context failed
 * (gda_gin_query_error() says which), with -ESHUTDOWN when a rank was lost or the context was
 * aborted, or at its deadline. Deadlines are those of gda_wait(): in ns of gda_clock_ns(); 0 means
 * gda_gin_attr.timeout_ns from now, and -ETIME instead of -ETIMEDOUT says that the deadline was
 * long past.
 *
 * Values are compared modulo their range ("rolling"): one has reached another if it is ahead by at
 * most half of the range (G-06).
 */
#ifndef GDA_GIN_WAIT_H
#define GDA_GIN_WAIT_H

#include <gda/gin/epoch_receive.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * define GDA_GIN_COUNTER_BITS - bits of a counter that are compared
 */
#define GDA_GIN_COUNTER_BITS	56

/**
 * gda_gin_reached - rolling compare (G-06)
 * @least: the awaited value
 * @value: the current value
 * @bits: number of bits to compare, 1 to 64
 *
 * Return: 1 if @value is at or beyond @least, else 0.
 */
GDA_API int gda_gin_reached(uint64_t least, uint64_t value, uint32_t bits)
{
	uint64_t mask = UINT64_MAX >> (64 - bits);

	return ((value - least) & mask) <= mask >> 1;
}

GDA_HELPER int gda_gin_failed_cpu(struct gda_view *v)
{
	gda_progress(v);
	gda_poll(v, 0);
	return gda_load_acquire64(&v->error_index) != GDA_NO_ERROR;
}

/*
 * On a GPU the queue may belong to another thread that keeps its consumer index in registers, so
 * nothing is written here.
 */
GDA_HELPER int gda_gin_failed_gpu(const struct gda_view *v)
{
	return gda_cqe_is_error(v->dialect, gda_nic_load32(gda_cqe_last(v->dialect, v->cq)));
}

/* Has a queue of the context failed? Each call checks another queue. */
GDA_HELPER int gda_gin_failed(const struct gda_gin *gin, unsigned int turn)
{
	struct gda_gin_queue *q = (struct gda_gin_queue *)(uintptr_t)gin->queues +
				  turn % (gin->endpoints * gin->nranks);
	struct gda_view *v = gda_gin_view(q);

	return v ? GDA_HERE(gda_gin_failed_cpu(v), gda_gin_failed_gpu(v)) : 0;
}

GDA_HELPER int gda_gin_aborted(const struct gda_gin *gin)
{
	return gda_nic_load32((const uint32_t *)(uintptr_t)gin->abort) != 0;
}

GDA_HELPER int gda_gin_lost(const struct gda_gin *gin, unsigned int turn)
{
	const uint32_t *lost = (const uint32_t *)(uintptr_t)gin->lost;

	return gda_nic_load32(lost + turn % gin->nranks) != 0;
}

/*
 * Rest between two polls of a wait. Peers may need the caller's own posts before they send what it
 * waits for, so rest as if waiting for those posts, one queue at a time.
 */
GDA_SLOW void gda_gin_rest_cpu(const struct gda_gin *gin, unsigned int polls)
{
	struct gda_gin_queue *q = (struct gda_gin_queue *)(uintptr_t)gin->queues;
	uint32_t i, n = gin->endpoints * gin->nranks;
	struct gda_view *v = NULL;

	for (i = 0; !v && i < n; i++)
		v = gda_gin_view(q + (polls + i) % n);
	if (!v)
		GDA_HERE(gda_yield(), gda_pause());
	else if (gda_load_relaxed64(&v->reserved) != gda_poll(v, 0))
		gda_rest(v, polls, GDA_RELAX_DONE);
	else
		gda_rest(v, polls, GDA_RELAX_ROOM);
}

GDA_HELPER void gda_gin_rest(const struct gda_gin *gin, unsigned int polls)
{
	GDA_HERE(gda_gin_rest_cpu(gin, polls), gda_pause());
}

/* The checks of every wait between two polls. Return: 0, or why the wait ends. */
GDA_SLOW int gda_gin_expired(const struct gda_gin *gin, unsigned int polls, uint64_t *deadline)
{
	unsigned int turn = polls / GDA_POLLS;
	uint64_t now;

	gda_gin_rest(gin, polls);
	if (polls % GDA_POLLS)
		return 0;
	if (gda_gin_aborted(gin) || gda_gin_lost(gin, turn))
		return -ESHUTDOWN;
	if (gda_gin_failed(gin, turn))
		return -EIO;
	now = gda_clock_ns();
	if (!*deadline)
		*deadline = now + gin->timeout_ns;
	if (now < *deadline)
		return 0;
	return turn == 1 && now - *deadline > GDA_LONG_AGO_NS ? -ETIME : -ETIMEDOUT;
}

/* Ring deferred doorbells, and tick the counters of completed puts. */
GDA_SLOW void gda_gin_progress(const struct gda_gin *gin, int ring)
{
	struct gda_gin_queue *q = (struct gda_gin_queue *)(uintptr_t)gin->queues;
	uint32_t i;

	for (i = 0; i < gin->endpoints * gin->nranks; i++, q++) {
		if (!q->view)
			continue;
		if (ring)
			gda_flush(gda_gin_view(q));
		gda_gin_credit(gin, q);
	}
}

/**
 * struct gda_gin_value - a word that is read or waited for
 * @word: the word, the first of @words
 * @zero: the value of it that counts as 0
 * @bits: number of bits that count
 * @counts: it is a counter, which only changes when a thread polls completions
 * @words: consecutive words whose sum it is
 * @unused: 0
 *
 * Not for programs: it exists only during a verb.
 */
struct gda_gin_value {
	const uint64_t *word;
	uint64_t zero;
	uint32_t bits;
	uint32_t counts;
	uint32_t words;
	uint32_t unused;
};

/* Has each sender words of its own for signals? In programs that speak no such dialect a constant. */
GDA_HELPER int gda_gin_senders(const struct gda_gin *gin)
{
	return GDA_WQE_UNORDERED && gin->flags & GDA_GIN_SENDERS;
}

/* With %GDA_GIN_SENDERS: the number of the word of @sender, for a signal or a barrier behind them. */
GDA_HELPER uint64_t gda_gin_word_of(const struct gda_gin *gin, uint32_t index, uint32_t sender)
{
	uint64_t word = (uint64_t)index * gin->nranks + sender;

	/* the words of a signal end with the sum of the epochs that were delivered */
	if (gda_gin_by_epochs(gin))
		word += index < gin->signals ? index : gin->signals;
	return word;
}

GDA_HELPER uint64_t gda_gin_value(const struct gda_gin_value *value)
{
	uint64_t mask = UINT64_MAX >> (64 - value->bits), sum = gda_nic_load64(value->word);
	uint32_t i;

	for (i = 1; i < value->words; i++)
		sum += gda_nic_load64(value->word + i);
	return (sum - value->zero) & mask;
}

GDA_SLOW int gda_gin_wait_value(const struct gda_gin *gin, const struct gda_gin_value *value,
				uint64_t least, uint64_t deadline)
{
	unsigned int polls;
	int err = 0;

	for (polls = 1;; polls++) {
		if (value->counts)
			gda_gin_progress(gin, polls % GDA_POLLS == 1);
		else if (gda_gin_by_epochs(gin))
			gda_gin_deliver(gin);
		if (gda_gin_reached(least, gda_gin_value(value), value->bits))
			return 0;
		if (err)
			return GDA_HERE(gda_gin_wait_failed(gin, value->word, gda_gin_value(value),
							    least, err), err);
		err = gda_gin_expired(gin, polls, &deadline);
	}
}

GDA_HELPER struct gda_gin_value gda_gin_signal_value(const struct gda_gin *gin, uint32_t signal,
						     uint32_t bits)
{
	struct gda_gin_value value;

	value.word = (const uint64_t *)(uintptr_t)*gda_gin_word64(gin->words, signal);
	value.zero = gda_load_relaxed64(gda_gin_word64(gin->resets, signal));
	value.bits = bits;
	value.counts = 0;
	value.words = gda_gin_senders(gin) && signal < gin->signals ? gin->nranks : 1;
	value.unused = 0;
	if (gda_gin_by_epochs(gin) && signal < gin->signals) {
		gda_gin_deliver(gin);
		value.words++;
	}
	return value;
}

/**
 * gda_gin_read_signal - the value of a signal (G-07)
 * @gin: the context
 * @signal: number of the signal, less than gda_gin_attr.signals
 * @bits: number of its lowest bits to read, 1 to 64
 *
 * Memory that the counted signals report is visible to the caller. Any thread may
 * call it.
 *
 * Return: the value.
 */
GDA_API uint64_t gda_gin_read_signal(const struct gda_gin *gin, uint32_t signal, uint32_t bits)
{
	struct gda_gin_value value = gda_gin_signal_value(gin, signal, bits);

	gda_gin_check_mixed(gin, signal);
	return gda_gin_value(&value);
}

/**
 * gda_gin_wait_signal - wait until a signal has a value
 * @gin: the context
 * @signal: number of the signal, less than gda_gin_attr.signals
 * @least: value to reach or pass, in rolling compare
 * @bits: number of its lowest bits to compare, 1 to 64
 * @deadline: in ns of gda_clock_ns(); 0: gda_gin_attr.timeout_ns from now
 *
 * A strong signal means that its put and all earlier puts of the same peer in the same context have
 * arrived here (G-04); a weak one, that its own put has. Neither tells anything about other peers
 * or contexts.
 *
 * Return: 0; -EINVAL no such signal; -EIO a queue of the context failed
 * (gda_gin_query_error() says which); -ESHUTDOWN a rank was lost, or gda_gin_abort() was
 * called; -ETIMEDOUT not reached at @deadline; -ETIME not reached, and @deadline was more
 * than a second past when the wait began.
 */
GDA_API int gda_gin_wait_signal(const struct gda_gin *gin, uint32_t signal, uint64_t least,
				uint32_t bits, uint64_t deadline)
{
	struct gda_gin_value value;
	int err = 0;

	if (gda_unlikely(signal >= gin->signals))
		return -EINVAL;
	value = gda_gin_signal_value(gin, signal, bits);
	if (!gda_gin_reached(least, gda_gin_value(&value), bits))
		err = gda_gin_wait_value(gin, &value, least, deadline);
	gda_gin_check_mixed(gin, signal);
	return err;
}

/**
 * gda_gin_shadow - the shadow of a signal (G-08)
 * @gin: the context
 * @signal: number of the signal
 *
 * A number beside the signal, in local memory, for what the program expects of it. One
 * thread at a time uses it.
 *
 * Return: the shadow.
 */
GDA_API uint64_t *gda_gin_shadow(const struct gda_gin *gin, uint32_t signal)
{
	return gda_gin_word64(gin->shadows, signal);
}

/**
 * gda_gin_reset_signal - make a signal and its shadow 0 (G-07)
 * @gin: the context
 * @signal: number of the signal
 *
 * May not race with signals in flight. The current value of the word counts as 0 from then on,
 * because a device's counter of arrivals cannot be written.
 */
GDA_API void gda_gin_reset_signal(struct gda_gin *gin, uint32_t signal)
{
	struct gda_gin_value value = gda_gin_signal_value(gin, signal, 64);
	uint64_t now = gda_gin_value(&value);

	gda_gin_check_reset(gin, signal, now);
	gda_store_relaxed64(gda_gin_word64(gin->resets, signal), value.zero + now);
	*gda_gin_shadow(gin, signal) = 0;
}

/**
 * gda_gin_add_shadow - add to the shadow of a signal (G-08)
 * @gin: the context
 * @signal: number of the signal
 * @add: added to the shadow
 */
GDA_API void gda_gin_add_shadow(struct gda_gin *gin, uint32_t signal, uint64_t add)
{
	*gda_gin_shadow(gin, signal) += add;
}

/**
 * gda_gin_wait_shadow - wait until a signal has reached its shadow (G-08)
 * @gin: the context
 * @signal: number of the signal
 * @deadline: in ns of gda_clock_ns(); 0: gda_gin_attr.timeout_ns from now
 *
 * Return: as gda_gin_wait_signal().
 */
GDA_API int gda_gin_wait_shadow(const struct gda_gin *gin, uint32_t signal, uint64_t deadline)
{
	if (gda_unlikely(signal >= gin->signals))
		return -EINVAL;
	return gda_gin_wait_signal(gin, signal, *gda_gin_shadow(gin, signal), 64, deadline);
}

/**
 * gda_gin_follow_signal - wait until a signal is beyond its shadow, which then follows (G-08)
 * @gin: the context
 * @signal: number of the signal
 * @least: least distance of the signal beyond its shadow
 * @before: receives the old shadow
 * @delta: receives the change of the shadow
 * @deadline: in ns of gda_clock_ns(); 0: gda_gin_attr.timeout_ns from now
 *
 * On failure nothing has changed.
 *
 * Return: as gda_gin_wait_signal().
 */
GDA_API int gda_gin_follow_signal(struct gda_gin *gin, uint32_t signal, uint64_t least,
				  uint64_t *before, uint64_t *delta, uint64_t deadline)
{
	uint64_t *shadow, now;
	int err;

	if (gda_unlikely(signal >= gin->signals))
		return -EINVAL;
	shadow = gda_gin_shadow(gin, signal);
	err = gda_gin_wait_signal(gin, signal, *shadow + least, 64, deadline);
	if (err)
		return err;
	now = gda_gin_read_signal(gin, signal, 64);
	*before = *shadow;
	*delta = now - *shadow;
	*shadow = now;
	return 0;
}

GDA_HELPER struct gda_gin_value gda_gin_value_at(struct gda_gin_place at, uint32_t bits)
{
	struct gda_gin_value value;

	value.word = (const uint64_t *)gda_at_local(at);
	value.zero = 0;
	value.bits = bits;
	value.counts = 0;
	value.words = 1;
	value.unused = 0;
	return value;
}

/**
 * gda_gin_read_signal_at - the value of a signal in a window (G-09)
 * @at: its place in the caller's memory, in the window and a multiple of 8
 * @bits: number of its lowest bits to read, 1 to 64
 *
 * Return: the value.
 */
GDA_API uint64_t gda_gin_read_signal_at(struct gda_gin_place at, uint32_t bits)
{
	struct gda_gin_value value = gda_gin_value_at(at, bits);

	return gda_gin_value(&value);
}

/**
 * gda_gin_wait_signal_at - wait until a signal in a window has a value
 * @gin: the context
 * @at: its place in the caller's memory, in the window and a multiple of 8
 * @least: value to reach or pass, in rolling compare
 * @bits: number of its lowest bits to compare, 1 to 64
 * @deadline: in ns of gda_clock_ns(); 0: gda_gin_attr.timeout_ns from now
 *
 * Return: as gda_gin_wait_signal().
 */
GDA_API int gda_gin_wait_signal_at(const struct gda_gin *gin, struct gda_gin_place at,
				   uint64_t least, uint32_t bits, uint64_t deadline)
{
	struct gda_gin_value value = gda_gin_value_at(at, bits);

	if (gda_gin_reached(least, gda_gin_value(&value), bits))
		return 0;
	return gda_gin_wait_value(gin, &value, least, deadline);
}

/**
 * gda_gin_reset_signal_at - make a signal in a window 0
 * @at: its place in the caller's memory, in the window and a multiple of 8
 *
 * May not race with signals in flight.
 */
GDA_API void gda_gin_reset_signal_at(struct gda_gin_place at)
{
	gda_nic_store64((uint64_t *)gda_at_local(at), 0);
}

GDA_HELPER struct gda_gin_value gda_gin_counter_value(const struct gda_gin *gin,
						      uint32_t counter, uint32_t bits)
{
	struct gda_gin_value value;

	value.word = gda_gin_word64(gin->counts, counter);
	value.zero = 0;
	value.bits = bits;
	value.counts = 1;
	value.words = 1;
	value.unused = 0;
	return value;
}

/**
 * gda_gin_read_counter - the value of a counter (G-10)
 * @gin: the context
 * @counter: number of the counter, less than gda_gin_attr.counters
 * @bits: number of its lowest bits to read, 1 to %GDA_GIN_COUNTER_BITS
 *
 * A counter counts puts whose sources were read and may be changed. It tells nothing about the
 * peer. Any thread may call this; it polls completions.
 *
 * Return: the value.
 */
GDA_API uint64_t gda_gin_read_counter(const struct gda_gin *gin, uint32_t counter,
				      uint32_t bits)
{
	struct gda_gin_value value = gda_gin_counter_value(gin, counter, bits);

	gda_gin_progress(gin, 0);
	return gda_gin_value(&value);
}

/**
 * gda_gin_wait_counter - wait until a counter has a value
 * @gin: the context
 * @counter: number of the counter, less than gda_gin_attr.counters
 * @least: value to reach or pass, in rolling compare
 * @bits: 1 to %GDA_GIN_COUNTER_BITS
 * @deadline: in ns of gda_clock_ns(); 0: gda_gin_attr.timeout_ns from now
 *
 * Rings deferred doorbells, so in a context of one thread only the poster may call it.
 *
 * Return: 0; -EINVAL no such counter; -EIO a queue of the context failed (gda_gin_query_error()
 * says which); -ESHUTDOWN a rank was lost, or gda_gin_abort() was called; -ETIMEDOUT not reached
 * at @deadline; -ETIME not reached, and @deadline was more than a second past when the wait began.
 */
GDA_API int gda_gin_wait_counter(const struct gda_gin *gin, uint32_t counter, uint64_t least,
				 uint32_t bits, uint64_t deadline)
{
	struct gda_gin_value value;

	if (gda_unlikely(counter >= gin->counters))
		return -EINVAL;
	value = gda_gin_counter_value(gin, counter, bits);
	return gda_gin_wait_value(gin, &value, least, deadline);
}

/**
 * gda_gin_reset_counter - make a counter 0
 * @gin: the context
 * @counter: number of the counter
 *
 * May not race with puts that tick it.
 */
GDA_API void gda_gin_reset_counter(struct gda_gin *gin, uint32_t counter)
{
	gda_store_relaxed64(gda_gin_word64(gin->counts, counter), 0);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_GIN_WAIT_H */

/* SPDX-License-Identifier: MIT */
/*
 * What a verb of gda/gin.h does besides moving data: its actions and flags. Included by gda/gin.h.
 */
#ifndef GDA_GIN_HOW_H
#define GDA_GIN_HOW_H

#include <gda/gin/window.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * define GDA_GIN_SIGNAL - add to gda_gin_how.signal of the peer
 */
#define GDA_GIN_SIGNAL		(1U << 16)
/**
 * define GDA_GIN_VA - add to the word at gda_gin_how.at of the peer
 */
#define GDA_GIN_VA		(1U << 17)
/**
 * define GDA_GIN_ADD - add gda_gin_how.add; without it, Inc
 *
 * Inc is Add of 1, but not to be mixed with it unless the signal is reset in between.
 */
#define GDA_GIN_ADD		(1U << 18)
/**
 * define GDA_GIN_WEAK - the signal reports only its own put
 */
#define GDA_GIN_WEAK		(1U << 19)
/**
 * define GDA_GIN_COUNTER - tick gda_gin_how.counter
 */
#define GDA_GIN_COUNTER		(1U << 20)
/**
 * define GDA_GIN_SKIP_CREDIT - the caller knows that there is room in the queue
 *
 * G-19. A hint: room is checked nevertheless, at the cost of a comparison.
 */
#define GDA_GIN_SKIP_CREDIT	(1U << 21)

/**
 * struct gda_gin_how - the actions and flags of a verb
 * @flags: GDA_GIN_*, and of the flags of gda_put() %GDA_EXCLUSIVE, %GDA_DEFER and %GDA_NOWAIT
 * @signal: with %GDA_GIN_SIGNAL
 * @counter: with %GDA_GIN_COUNTER
 * @reserved: 0
 * @add: with %GDA_GIN_ADD
 * @at: with %GDA_GIN_VA: a multiple of 8, in a window with %GDA_WINDOW_STRICT
 *
 * Passed by value, so it never grows.
 */
struct gda_gin_how {
	unsigned int flags;
	uint32_t signal;
	uint32_t counter;
	uint32_t reserved;
	uint64_t add;
	struct gda_gin_place at;
};

/**
 * gda_gin_plain - make the struct gda_gin_how of a verb that only moves data
 * @flags: %GDA_EXCLUSIVE, %GDA_DEFER, %GDA_NOWAIT, %GDA_GIN_SKIP_CREDIT
 *
 * Return: the actions and flags, for a verb.
 */
GDA_API struct gda_gin_how gda_gin_plain(unsigned int flags)
{
	struct gda_gin_how how;

	how.flags = flags;
	how.signal = 0;
	how.counter = 0;
	how.reserved = 0;
	how.add = 1;
	how.at = gda_at(0, 0);
	return how;
}

/**
 * gda_gin_inc - make a struct gda_gin_how: add 1 to a signal of the peer
 * @signal: number of the signal
 * @flags: %GDA_EXCLUSIVE, %GDA_DEFER, %GDA_NOWAIT, %GDA_GIN_SKIP_CREDIT, %GDA_GIN_WEAK
 *
 * Return: the actions and flags, for a verb.
 */
GDA_API struct gda_gin_how gda_gin_inc(uint32_t signal, unsigned int flags)
{
	struct gda_gin_how how = gda_gin_plain(flags | GDA_GIN_SIGNAL);

	how.signal = signal;
	return how;
}

/**
 * gda_gin_add - make a struct gda_gin_how: add to a signal of the peer
 * @signal: number of the signal
 * @add: value to add, modulo 2^64
 * @flags: %GDA_EXCLUSIVE, %GDA_DEFER, %GDA_NOWAIT, %GDA_GIN_SKIP_CREDIT, %GDA_GIN_WEAK
 *
 * Return: the actions and flags, for a verb.
 */
GDA_API struct gda_gin_how gda_gin_add(uint32_t signal, uint64_t add, unsigned int flags)
{
	struct gda_gin_how how = gda_gin_inc(signal, flags | GDA_GIN_ADD);

	how.add = add;
	return how;
}

/**
 * gda_gin_inc_at - make a struct gda_gin_how: add 1 to a word of a window of the peer
 * @at: the word
 * @flags: %GDA_EXCLUSIVE, %GDA_DEFER, %GDA_NOWAIT, %GDA_GIN_SKIP_CREDIT, %GDA_GIN_WEAK
 *
 * Return: the actions and flags, for a verb.
 */
GDA_API struct gda_gin_how gda_gin_inc_at(struct gda_gin_place at, unsigned int flags)
{
	struct gda_gin_how how = gda_gin_plain(flags | GDA_GIN_VA);

	how.at = at;
	return how;
}

/**
 * gda_gin_add_at - make a struct gda_gin_how: add to a word of a window of the peer
 * @at: the word
 * @add: value to add, modulo 2^64
 * @flags: %GDA_EXCLUSIVE, %GDA_DEFER, %GDA_NOWAIT, %GDA_GIN_SKIP_CREDIT, %GDA_GIN_WEAK
 *
 * Return: the actions and flags, for a verb.
 */
GDA_API struct gda_gin_how gda_gin_add_at(struct gda_gin_place at, uint64_t add, unsigned int flags)
{
	struct gda_gin_how how = gda_gin_inc_at(at, flags | GDA_GIN_ADD);

	how.add = add;
	return how;
}

/**
 * gda_gin_count - add the tick of a counter to a struct gda_gin_how
 * @how: actions and flags: gda_gin_plain(), gda_gin_inc() and others make it
 * @counter: number of the counter
 *
 * Return: the actions and flags, for a verb.
 */
GDA_API struct gda_gin_how gda_gin_count(struct gda_gin_how how, uint32_t counter)
{
	how.flags |= GDA_GIN_COUNTER;
	how.counter = counter;
	return how;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_GIN_HOW_H */

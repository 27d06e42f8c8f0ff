/* SPDX-License-Identifier: MIT */
/*
 * The dialects of posters; each view names its dialect. A header of gda/wqe encodes the work
 * requests and doorbells of one dialect and reads its completions; this file has the switch between
 * them, and documents each function. The rest of the library, on CPUs and GPUs, calls these
 * functions and does not depend on any format.
 *
 * With one dialect compiled in, the switch takes no instruction; with more it is a comparison with
 * a number in the view. There are no pointers to functions, because GPUs use views, too. A post of
 * the first dialect is inlined into the program; posts of other dialects are function calls, see
 * gda_wqe_is_first().
 *
 * A program speaks mlx5. A program that defines GDA_WQE_EFA before it first includes a header of
 * gda speaks efa, too, and so does the library.
 *
 * A dialect defines struct gda_<name>_wqe or the like, GDA_<NAME>_WQE_* and a function
 * gda_<name>_*() for each one below. It needs an include, a macro like GDA_WQE_IF_EFA() with its
 * place in those that follow and in gda_wqe_other(), and a member of struct gda_wqe. A test adds
 * one more, GDA_WQE_TEST: see selftests/dialect.
 */
#ifndef GDA_WQE_H
#define GDA_WQE_H

#include <errno.h>
#include <gda/barrier.h>
#include <gda/ioctl.h>
#include <gda/view.h>
#include <gda/wr.h>

#include <gda/wqe/mlx5.h>
#ifdef GDA_WQE_EFA
#include <gda/wqe/efa.h>
#endif
#ifdef GDA_WQE_TEST
#include <gda/wqe/test.h>
#endif

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* Evaluate to the argument of the view's dialect if it is compiled in, else to @others. */
#ifdef GDA_WQE_EFA
#define GDA_WQE_IF_EFA(dialect, efa, others)	((dialect) == GDA_DIALECT_EFA ? (efa) : (others))
#else
#define GDA_WQE_IF_EFA(dialect, efa, others)	(others)
#endif
#ifdef GDA_WQE_TEST
#define GDA_WQE_IF_TEST(dialect, test, others)	((dialect) == GDA_WQE_TEST ? (test) : (others))
#else
#define GDA_WQE_IF_TEST(dialect, test, others)	(others)
#endif

/* The call gda_<dialect>_@call(...) of @dialect, or a constant likewise. */
#define GDA_WQE_OF(dialect, call, ...)						\
	((void)(dialect), GDA_WQE_IF_TEST(dialect, gda_test_##call(__VA_ARGS__),	\
		GDA_WQE_IF_EFA(dialect, gda_efa_##call(__VA_ARGS__),			\
			       gda_mlx5_##call(__VA_ARGS__))))
#define GDA_WQE_CONST(dialect, name)						\
	((void)(dialect), GDA_WQE_IF_TEST(dialect, GDA_TEST_WQE_##name,		\
		GDA_WQE_IF_EFA(dialect, GDA_EFA_WQE_##name, GDA_MLX5_WQE_##name)))

/* A call of the dialects that complete to the one entry of a collapsed CQ. */
#define GDA_WQE_COLLAPSED(dialect, call, ...)					\
	((void)(dialect), GDA_WQE_IF_TEST(dialect, gda_test_##call(__VA_ARGS__),	\
		gda_mlx5_##call(__VA_ARGS__)))

/* ... and of those whose queues have a ring each, from which requests complete in any order. */
#define GDA_WQE_RING(dialect, call, none, ...)					\
	((void)(dialect), GDA_WQE_IF_EFA(dialect, gda_efa_##call(__VA_ARGS__), none))

/* May a view that the program gets be of a dialect without %GDA_CAN_ORDER? */
#ifdef GDA_WQE_EFA
#define GDA_WQE_UNORDERED	1
#else
#define GDA_WQE_UNORDERED	0
#endif

/* The default dialect, which 0 means in a view. */
#define GDA_WQE_FIRST	GDA_DIALECT_MLX5
#ifdef GDA_WQE_TEST
#define GDA_WQE_DEFAULT	gda_test_dialect()
#else
#define GDA_WQE_DEFAULT	GDA_WQE_FIRST
#endif

/* Do posters speak @dialect? */
GDA_HELPER int gda_wqe_speaks(uint32_t dialect)
{
	return GDA_WQE_IF_TEST(dialect, 1, GDA_WQE_IF_EFA(dialect, 1,
							  dialect == GDA_DIALECT_MLX5));
}

/*
 * Does the view have the first dialect? Other dialects are handled by out-of-line functions such as
 * gda_post_other(), which start again in that dialect.
 *
 * gda_post() encodes its entry in the first dialect before it calls this: the compiler hoists the
 * encoding out of a loop, but would not if it were on one side of a branch. A function with more
 * work before its entry, such as a put of gda/gin.h, calls this first, because its results would
 * have to be kept across the call. A poster that is set up for one queue, such as a session of
 * gda/async.h, calls this at set-up.
 */
GDA_HELPER int gda_wqe_is_first(uint32_t dialect)
{
#if defined(GDA_WQE_TEST) || defined(GDA_WQE_EFA)
	return !gda_unlikely(dialect > GDA_WQE_FIRST);
#else
	(void)dialect;
	return 1;
#endif
}

/*
 * How posts in another dialect are defined. If there is only one other, they are inlined like those
 * of the first: the program has chosen to speak both.
 */
#if defined(GDA_WQE_EFA) && !defined(GDA_WQE_TEST)
#define GDA_OTHER	GDA_HELPER
#else
#define GDA_OTHER	GDA_SLOW
#endif

/* @dialect, which is not the first one: a constant if there is only one other. */
GDA_HELPER uint32_t gda_wqe_other(uint32_t dialect)
{
#if defined(GDA_WQE_TEST) && !defined(GDA_WQE_EFA)
	(void)dialect;
	return GDA_WQE_TEST;
#elif defined(GDA_WQE_EFA) && !defined(GDA_WQE_TEST)
	(void)dialect;
	return GDA_DIALECT_EFA;
#else
	return dialect;
#endif
}

/**
 * struct gda_wqe - a work request as its dialect encodes it, without its index
 * @slots: number of slots that it fills
 * @as: of the dialect
 *
 * Not for programs: it exists only during a post.
 */
struct gda_wqe {
	uint32_t slots;
	union {
		struct gda_mlx5_wqe mlx5;
#ifdef GDA_WQE_EFA
		struct gda_efa_encoded efa;
#endif
#ifdef GDA_WQE_TEST
		struct gda_test_wqe test;
#endif
	} as;
};

/* Like GDA_WQE_OF(), with the dialect's part of @w as first argument. */
#define GDA_WQE_FILLS(dialect, call, w, ...)					\
	((void)(dialect), GDA_WQE_IF_TEST(dialect, gda_test_##call(&(w)->as.test, __VA_ARGS__), \
		GDA_WQE_IF_EFA(dialect, gda_efa_##call(&(w)->as.efa, __VA_ARGS__),	\
			       gda_mlx5_##call(&(w)->as.mlx5, __VA_ARGS__))))

/* --- entries --- */

/* Encode @r. In a dialect all of whose entries fill one slot, w->slots is a constant. */
GDA_HELPER void gda_wqe_encode(uint32_t dialect, struct gda_wqe *w, const struct gda_wr *r)
{
	w->slots = GDA_WQE_FILLS(dialect, wqe_encode, w, r);
}

GDA_HELPER struct gda_wqe gda_wqe_make(uint32_t dialect, struct gda_wr r)
{
	struct gda_wqe w;

	gda_wqe_encode(dialect, &w, &r);
	return w;
}

/*
 * Write @w to w->slots slots from @index on, which were reserved, if @on. @flags: of
 * %GDA_ENTRY_FLAGS.
 */
GDA_HELPER void gda_wqe_store_if(uint32_t on, struct gda_sq sq, uint64_t index,
				 const struct gda_wqe *w, unsigned int flags)
{
	GDA_WQE_FILLS(sq.dialect, wqe_store_if, w, on, sq, index, flags);
}

GDA_HELPER void gda_wqe_store(struct gda_sq sq, uint64_t index, const struct gda_wqe *w,
			      unsigned int flags)
{
	gda_wqe_store_if(1, sq, index, w, flags);
}

/* Does the dialect have the operation @op, enum gda_op? The first has all. */
GDA_HELPER int gda_wqe_has(uint32_t dialect, uint32_t op)
{
	(void)op;
	return GDA_WQE_RING(dialect, wqe_has, 1, op);
}

/* The two words of @w that take longest to encode, for callers that wait before they store them. */
GDA_HELPER uint64_t gda_wqe_early(uint32_t dialect, const struct gda_wqe *w, int second)
{
	return GDA_WQE_FILLS(dialect, wqe_early, w, second);
}

/* Is @len more than one work request can move? */
GDA_HELPER int gda_wqe_too_long(uint32_t dialect, uint64_t len)
{
	return GDA_WQE_OF(dialect, wqe_too_long, len);
}

/* Of the first dialect, and of any. */
#define GDA_WQE_INLINE_SLOT	GDA_MLX5_WQE_INLINE_SLOT
#define GDA_WQE_INLINE_MAX	GDA_MLX5_WQE_INLINE_MAX

/* Most inline bytes in one slot, and in an entry of a ring of @depth slots. */
GDA_HELPER uint32_t gda_wqe_inline_slot(uint32_t dialect)
{
	return GDA_WQE_CONST(dialect, INLINE_SLOT);
}

GDA_HELPER uint32_t gda_wqe_max_inline(uint32_t dialect, uint32_t depth)
{
	return GDA_WQE_OF(dialect, wqe_max_inline, depth);
}

/* The name that GDA_DIALECT has of the dialect. */
GDA_HELPER const char *gda_wqe_name(uint32_t dialect)
{
	return GDA_WQE_CONST(dialect, NAME);
}

GDA_HELPER uint32_t gda_wqe_slot_bytes(uint32_t dialect)
{
	return GDA_WQE_CONST(dialect, SLOT_BYTES);
}

/* Most slots of a ring. */
GDA_HELPER uint32_t gda_wqe_max_depth(uint32_t dialect)
{
	return GDA_WQE_CONST(dialect, MAX_DEPTH);
}

/* Most slots of a write of a value, and of a fetch-add. */
GDA_HELPER uint32_t gda_wqe_word_slots(uint32_t dialect)
{
	return GDA_WQE_CONST(dialect, WORD_SLOTS);
}

/* GDA_CAN_*: the promises of a queue of the dialect on a reliable connection, with any device. */
GDA_HELPER uint32_t gda_wqe_can(uint32_t dialect)
{
	return GDA_WQE_CONST(dialect, CAN);
}

/*
 * Devices ignore an entry until a record or a doorbell covers its slot, so GPUs may write entries
 * that they then do not post.
 */
#define GDA_WQE_MUTE	GDA_MLX5_WQE_MUTE

/* The remote address and key that the entry of one slot at @entry names. */
GDA_HELPER void gda_wqe_read_remote(uint32_t dialect, const char *entry, uint64_t *raddr,
				    uint32_t *rkey)
{
	GDA_WQE_OF(dialect, wqe_read_remote, entry, raddr, rkey);
}

/* --- doorbells --- */

/* The bytes of the doorbell that name the QP, for gda_db_value(). */
GDA_HELPER uint64_t gda_db_qpn(uint32_t dialect, uint32_t qpn)
{
	return GDA_WQE_OF(dialect, db_qpn, qpn);
}

/* The doorbell record that says that all slots below @next are written, as stored. */
GDA_HELPER uint32_t gda_db_record(uint32_t dialect, uint64_t next)
{
	return GDA_WQE_OF(dialect, db_record, next);
}

/* The doorbell that goes with @record. */
GDA_HELPER uint64_t gda_db_value(uint32_t dialect, uint64_t qpn_be, uint32_t record)
{
	return GDA_WQE_OF(dialect, db_value, qpn_be, record);
}

/* The end of the slots that @record covers; @index is beyond it, by less than 2^16. */
GDA_HELPER uint64_t gda_db_rung(uint32_t dialect, uint64_t index, uint32_t record)
{
	return GDA_WQE_OF(dialect, db_rung, index, record);
}

/* --- completions; @last is the word of an entry that its executor writes last, as stored --- */

/* The longest entry of any dialect. */
#define GDA_CQE_MAX_BYTES	64U

GDA_HELPER uint32_t gda_cqe_bytes(uint32_t dialect)
{
	return GDA_WQE_CONST(dialect, CQE_BYTES);
}

/* The syndrome of an error of the queue itself (%GDA_CLASS_QUEUE). */
GDA_HELPER uint32_t gda_cqe_queue_error(uint32_t dialect)
{
	return GDA_WQE_CONST(dialect, CQE_QUEUE_ERROR);
}

GDA_HELPER const uint32_t *gda_cqe_last(uint32_t dialect, uint64_t cqe)
{
	return GDA_WQE_OF(dialect, cqe_last, cqe);
}

/*
 * Does the entry say that work of this queue is done, that it has failed, or that an immediate has
 * arrived?
 */
GDA_HELPER int gda_cqe_is_done(uint32_t dialect, uint32_t last)
{
	return GDA_WQE_OF(dialect, cqe_is_done, last);
}

GDA_HELPER int gda_cqe_is_error(uint32_t dialect, uint32_t last)
{
	return GDA_WQE_OF(dialect, cqe_is_error, last);
}

GDA_HELPER int gda_cqe_is_imm(uint32_t dialect, uint32_t last)
{
	return GDA_WQE_OF(dialect, cqe_is_imm, last);
}

/* In a ring: is the entry the one for @index, rather than one of the previous lap? */
GDA_HELPER int gda_cqe_is_new(uint32_t dialect, uint32_t last, uint64_t index, uint32_t mask)
{
	return GDA_WQE_OF(dialect, cqe_is_new, last, index, mask);
}

/* Is the entry of a collapsed CQ still preset, with nothing completed? */
GDA_HELPER int gda_cqe_is_preset(uint32_t dialect, uint32_t last)
{
	return GDA_WQE_OF(dialect, cqe_is_preset, last);
}

/*
 * The consumer index of an entry. @old is an earlier value: at most one ring has completed since,
 * so only one index fits.
 */
GDA_HELPER uint64_t gda_cqe_unwrap(uint32_t dialect, uint64_t old, uint32_t last)
{
	return GDA_WQE_COLLAPSED(dialect, cqe_unwrap, old, last);
}

/* Slots before @rung that have not completed. */
GDA_HELPER uint32_t gda_cqe_behind(uint32_t dialect, uint64_t rung, uint32_t last)
{
	return GDA_WQE_COLLAPSED(dialect, cqe_behind, rung, last);
}

/*
 * The consumer index according to the entry of a view's collapsed CQ; @old is the earlier value.
 * *@failed becomes 1 if the queue has failed, and the view then has the place and the reason; else
 * 0. The slot that failed first is not counted.
 */
GDA_HELPER uint64_t gda_cqe_completed(uint32_t dialect, struct gda_view *v, uint32_t last,
				      uint64_t old, int *failed)
{
	return GDA_WQE_COLLAPSED(dialect, cqe_completed, v, last, old, failed);
}

/* Does each queue complete to a ring of its own, in any order? */
GDA_HELPER int gda_cqe_unordered(uint32_t dialect)
{
	return !(gda_wqe_can(dialect) & GDA_CAN_ORDER);
}

/* Take what has completed to the ring of a view. Return: gda_view.completed. */
GDA_HELPER uint64_t gda_cqe_reap(uint32_t dialect, struct gda_view *v)
{
	(void)v;
	return GDA_WQE_RING(dialect, reap, 0, v);
}

/* Is the work request at @index done? In order: when all below @completed have completed. */
GDA_HELPER int gda_cqe_done(uint32_t dialect, const struct gda_view *v, uint64_t completed,
			    uint64_t index)
{
	(void)v;
	return GDA_WQE_RING(dialect, cqe_done, index < completed, v, completed, index);
}

/* Unordered: is the work request at @index, which was posted, done? For posters of a GPU. */
GDA_HELPER int gda_cqe_passed(uint32_t dialect, const struct gda_view *v, uint64_t index)
{
	(void)v;
	(void)index;
	return GDA_WQE_RING(dialect, cqe_passed, 0, v, index);
}

/* The oldest request that has failed, or is not known to be done. In order: that is counted. */
GDA_HELPER uint64_t gda_cqe_first(uint32_t dialect, const struct gda_view *v)
{
	return GDA_WQE_RING(dialect, cqe_first, v->completed, v);
}

/* Return what gda_test() returns. In order, all tickets before the first error are done. */
GDA_HELPER int gda_cqe_outcome(uint32_t dialect, const struct gda_view *v, uint64_t index)
{
	uint64_t failed;

	if (gda_cqe_unordered(dialect))
		return GDA_WQE_RING(dialect, cqe_outcome, 0, v, index);
	failed = gda_load_acquire64(&v->error_index);
	if (index < failed)
		return 1;
	return index == failed ? -EIO : -ECANCELED;
}

/* Copy everything that gda_cqe_completed() reads from an error's entry, except the last word. */
GDA_HELPER void gda_cqe_copy_error(uint32_t dialect, char *to, const char *cqe)
{
	GDA_WQE_COLLAPSED(dialect, cqe_copy_error, to, cqe);
}

/* Write an error entry for a queue that has failed at index 0, with enum gda_cause @cause. */
GDA_HELPER void gda_cqe_write_error(uint32_t dialect, void *cqe, uint8_t cause)
{
	GDA_WQE_OF(dialect, cqe_write_error, cqe, cause);
}

GDA_HELPER uint32_t gda_cqe_qpn(uint32_t dialect, const char *cqe)
{
	return GDA_WQE_OF(dialect, cqe_qpn, cqe);
}

/* Decode an entry of a ring. The caller sets @entry->size. */
GDA_HELPER void gda_cqe_read(uint32_t dialect, const char *cqe, uint32_t last,
			     struct gda_cq_entry *entry)
{
	GDA_WQE_OF(dialect, cqe_read, cqe, last, entry);
}

/* The consumer index record of a ring after @next entries were taken, as stored. */
GDA_HELPER uint32_t gda_cqe_record(uint32_t dialect, uint64_t next)
{
	return GDA_WQE_OF(dialect, cqe_record, next);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_WQE_H */

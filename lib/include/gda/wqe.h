/* SPDX-License-Identifier: MIT */
/*
 * The dialects that posters speak: a view says which is its own. A header of gda/wqe encodes the
 * work requests and doorbells of one dialect and reads its completions; here is the switch
 * between them, and what each function means. All else in the library, on CPUs and GPUs,
 * calls these functions and knows no byte of any format.
 *
 * Where one dialect is compiled in the switch is no instruction; where there are more it is a
 * comparison with a number that the view has. There are no pointers to functions, for views are
 * also the GPUs'. A post of the first dialect is compiled where the program calls it; one of
 * another is a call away, see gda_wqe_is_first().
 *
 * A dialect brings struct gda_<name>_wqe, GDA_<NAME>_WQE_* and a function gda_<name>_*() for each
 * one below. It gets an include, a line in each of GDA_WQE_OF(), GDA_WQE_CONST(),
 * GDA_WQE_FILLS(), gda_wqe_speaks() and gda_wqe_other(), and a member of struct gda_wqe. A test
 * brings one more, as GDA_WQE_TEST: see selftests/dialect.
 */
#ifndef GDA_WQE_H
#define GDA_WQE_H

#include <gda/barrier.h>
#include <gda/ioctl.h>
#include <gda/view.h>
#include <gda/wr.h>

#include <gda/wqe/mlx5.h>
#ifdef GDA_WQE_TEST
#include <gda/wqe/test.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The call gda_<dialect>_@call(...) of @dialect, or a constant likewise. */
#ifdef GDA_WQE_TEST
#define GDA_WQE_OF(dialect, call, ...)						\
	((dialect) == GDA_WQE_TEST ? gda_test_##call(__VA_ARGS__) :		\
				     gda_mlx5_##call(__VA_ARGS__))
#define GDA_WQE_CONST(dialect, name)						\
	((dialect) == GDA_WQE_TEST ? GDA_TEST_WQE_##name : GDA_MLX5_WQE_##name)
#else
#define GDA_WQE_OF(dialect, call, ...)	((void)(dialect), gda_mlx5_##call(__VA_ARGS__))
#define GDA_WQE_CONST(dialect, name)	((void)(dialect), GDA_MLX5_WQE_##name)
#endif

/* The dialect that 0 stands for in a view; that of a queue whose creator names none. */
#define GDA_WQE_FIRST	GDA_DIALECT_MLX5
#ifdef GDA_WQE_TEST
#define GDA_WQE_DEFAULT	gda_test_dialect()
#else
#define GDA_WQE_DEFAULT	GDA_WQE_FIRST
#endif

/* Do posters speak @dialect? */
GDA_HELPER int gda_wqe_speaks(uint32_t dialect)
{
#ifdef GDA_WQE_TEST
	if (dialect == GDA_WQE_TEST)
		return 1;
#endif
	return dialect == GDA_DIALECT_MLX5;
}

/*
 * Is it the first dialect that a view has? Another's is served by a function off the path,
 * gda_post_other() and its like, which begins anew in that dialect.
 *
 * gda_post() encodes its entry in the first one, and then looks here: what a loop encodes at each
 * turn the compiler takes out of it, but not what only one side of a branch encodes. What has more
 * to do before its entry, as a put of gda/gin.h, looks here before it begins that: what it has
 * found would have to be kept for the call. And where a poster is set up for one queue, as a
 * session of gda/async.h, that is when to look.
 */
GDA_HELPER int gda_wqe_is_first(uint32_t dialect)
{
#ifdef GDA_WQE_TEST
	return !gda_unlikely(dialect > GDA_WQE_FIRST);
#else
	(void)dialect;
	return 1;
#endif
}

/* @dialect, of which that is not true: a constant where there is one such. */
GDA_HELPER uint32_t gda_wqe_other(uint32_t dialect)
{
#ifdef GDA_WQE_TEST
	(void)dialect;
	return GDA_WQE_TEST;
#else
	return dialect;
#endif
}

/**
 * struct gda_wqe - a work request as its dialect encodes it, without its index
 * @slots: that it fills
 * @as: of the dialect
 *
 * Not for programs: it lives while a post runs.
 */
struct gda_wqe {
	uint32_t slots;
	union {
		struct gda_mlx5_wqe mlx5;
#ifdef GDA_WQE_TEST
		struct gda_test_wqe test;
#endif
	} as;
};

/* GDA_WQE_OF(), whose first argument is that which the dialect made of @w. */
#ifdef GDA_WQE_TEST
#define GDA_WQE_FILLS(dialect, call, w, ...)					\
	((dialect) == GDA_WQE_TEST ? gda_test_##call(&(w)->as.test, __VA_ARGS__) : \
				     gda_mlx5_##call(&(w)->as.mlx5, __VA_ARGS__))
#else
#define GDA_WQE_FILLS(dialect, call, w, ...)					\
	((void)(dialect), gda_mlx5_##call(&(w)->as.mlx5, __VA_ARGS__))
#endif

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
 * Write @w to w->slots slots from @index on, which were reserved, if @on. @solicited: its
 * completion is a solicited one.
 */
GDA_HELPER void gda_wqe_store_if(uint32_t on, struct gda_sq sq, uint64_t index,
				 const struct gda_wqe *w, unsigned int solicited)
{
	GDA_WQE_FILLS(sq.dialect, wqe_store_if, w, on, sq, index, solicited);
}

GDA_HELPER void gda_wqe_store(struct gda_sq sq, uint64_t index, const struct gda_wqe *w,
			      unsigned int solicited)
{
	gda_wqe_store_if(1, sq, index, w, solicited);
}

/* Two words of @w that take the longest to encode, for who waits before it stores them. */
GDA_HELPER uint64_t gda_wqe_early(uint32_t dialect, const struct gda_wqe *w, int second)
{
	return GDA_WQE_FILLS(dialect, wqe_early, w, second);
}

/* Is that more than a work request moves? */
GDA_HELPER int gda_wqe_too_long(uint32_t dialect, uint64_t len)
{
	return GDA_WQE_OF(dialect, wqe_too_long, len);
}

/* Of the first dialect, and of any. */
#define GDA_WQE_INLINE_SLOT	GDA_MLX5_WQE_INLINE_SLOT
#define GDA_WQE_INLINE_MAX	GDA_MLX5_WQE_INLINE_MAX

/* Most bytes inline in one slot, and in an entry of a ring of @depth slots. */
GDA_HELPER uint32_t gda_wqe_inline_slot(uint32_t dialect)
{
	return GDA_WQE_CONST(dialect, INLINE_SLOT);
}

GDA_HELPER uint32_t gda_wqe_max_inline(uint32_t dialect, uint32_t depth)
{
	return GDA_WQE_OF(dialect, wqe_max_inline, depth);
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

/* GDA_CAN_*: what a queue of the dialect promises on a reliable connection, whatever the device. */
GDA_HELPER uint32_t gda_wqe_can(uint32_t dialect)
{
	return GDA_WQE_CONST(dialect, CAN);
}

/*
 * An entry means nothing to a device until a record or a doorbell covers its slot. GPUs write
 * entries that they may not post.
 */
#define GDA_WQE_MUTE	GDA_MLX5_WQE_MUTE

/* The remote address and key that the entry of one slot at @entry names. */
GDA_HELPER void gda_wqe_read_remote(uint32_t dialect, const char *entry, uint64_t *raddr,
				    uint32_t *rkey)
{
	GDA_WQE_OF(dialect, wqe_read_remote, entry, raddr, rkey);
}

/* --- doorbells --- */

/* The bytes of the doorbell that name the QP, as gda_db_value() wants them. */
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

/* The slot before which @record says that all is written; @index is beyond, by less than 2^16. */
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

/* Work of this queue is done; has failed; or an immediate has arrived. */
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

/* Of a ring: is the entry the one at @index, or one of the lap before? */
GDA_HELPER int gda_cqe_is_new(uint32_t dialect, uint32_t last, uint64_t index, uint32_t mask)
{
	return GDA_WQE_OF(dialect, cqe_is_new, last, index, mask);
}

/* Has the entry of a collapsed CQ been preset, and nothing completed since? */
GDA_HELPER int gda_cqe_is_preset(uint32_t dialect, uint32_t last)
{
	return GDA_WQE_OF(dialect, cqe_is_preset, last);
}

/*
 * The consumer index that an entry stands for. @old is one that was right before: at most a ring
 * has completed beyond it, so only one index fits.
 */
GDA_HELPER uint64_t gda_cqe_unwrap(uint32_t dialect, uint64_t old, uint32_t last)
{
	return GDA_WQE_OF(dialect, cqe_unwrap, old, last);
}

/* Slots before @rung that have not completed. */
GDA_HELPER uint32_t gda_cqe_behind(uint32_t dialect, uint64_t rung, uint32_t last)
{
	return GDA_WQE_OF(dialect, cqe_behind, rung, last);
}

/*
 * The consumer index by the entry of a view's collapsed CQ, @old before; *@failed becomes 1 if
 * the queue has failed, and then the view says where and why, else 0. The slot that failed first
 * is not counted.
 */
GDA_HELPER uint64_t gda_cqe_completed(uint32_t dialect, struct gda_view *v, uint32_t last,
				      uint64_t old, int *failed)
{
	return GDA_WQE_OF(dialect, cqe_completed, v, last, old, failed);
}

/* Is the work request at @index done, when all below @completed have completed? */
GDA_HELPER int gda_cqe_done(uint32_t dialect, uint64_t completed, uint64_t index)
{
	return GDA_WQE_OF(dialect, cqe_done, completed, index);
}

/* Copy from an error's entry all that gda_cqe_completed() reads; not the last word. */
GDA_HELPER void gda_cqe_copy_error(uint32_t dialect, char *to, const char *cqe)
{
	GDA_WQE_OF(dialect, cqe_copy_error, to, cqe);
}

/* Write an entry: a queue of index 0 failed itself, enum gda_cause @cause. */
GDA_HELPER void gda_cqe_write_error(uint32_t dialect, void *cqe, uint8_t cause)
{
	GDA_WQE_OF(dialect, cqe_write_error, cqe, cause);
}

GDA_HELPER uint32_t gda_cqe_qpn(uint32_t dialect, const char *cqe)
{
	return GDA_WQE_OF(dialect, cqe_qpn, cqe);
}

/* All that an entry of a ring says, but for its size, which is the caller's. */
GDA_HELPER void gda_cqe_read(uint32_t dialect, const char *cqe, uint32_t last,
			     struct gda_cq_entry *entry)
{
	GDA_WQE_OF(dialect, cqe_read, cqe, last, entry);
}

/* The consumer's record of a ring of which @next entries were taken, as stored. */
GDA_HELPER uint32_t gda_cqe_record(uint32_t dialect, uint64_t next)
{
	return GDA_WQE_OF(dialect, cqe_record, next);
}

#ifdef __cplusplus
}
#endif

#endif /* GDA_WQE_H */

/* SPDX-License-Identifier: MIT */
/*
 * Barriers of gda/gin.h among the ranks of a team, by separate signals: one slot for each barrier
 * and sender, whose low 32 bits are compared modulo 2^32 (G-26). Included by gda/gin.h.
 *
 * A barrier is used by the same team on all ranks, and by one session at a time. After a failed
 * sync the ranks disagree on the number of syncs, so the barrier cannot be used any more.
 */
#ifndef GDA_GIN_BARRIER_H
#define GDA_GIN_BARRIER_H

#include <gda/gin/epoch_send.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * define GDA_GIN_FENCE_PUT - members' puts to the caller before the barrier have arrived
 *
 * In the same context. With signals by arrival each member reads once from each other one before it
 * signals.
 */
#define GDA_GIN_FENCE_PUT	(1U << 0)
/**
 * define GDA_GIN_FENCE_GET - gets of all members before the barrier have arrived
 *
 * Of the same context.
 */
#define GDA_GIN_FENCE_GET	(1U << 1)

/**
 * struct gda_gin_barrier - a session of a barrier (G-25)
 * @gin: the context
 * @team: the team whose members meet
 * @index: of the barrier
 * @flags: %GDA_EXCLUSIVE or 0
 *
 * It lies in any memory of the caller and is not copied.
 */
struct gda_gin_barrier {
	struct gda_gin *gin;
	struct gda_team team;
	uint32_t index;
	unsigned int flags;
};

/**
 * gda_gin_barrier_begin - begin a session
 * @b: receives the session
 * @gin: the context
 * @team: the team whose members meet
 * @index: less than gda_gin_attr.barriers; of one session at a time
 *
 * Return: 0; -EINVAL no such barrier.
 */
GDA_API int gda_gin_barrier_begin(struct gda_gin_barrier *b, struct gda_gin *gin,
				  struct gda_team team, uint32_t index)
{
	if (index >= gin->barriers)
		return -EINVAL;
	gda_gin_check_barrier(gin, index, 1);
	b->gin = gin;
	b->team = team;
	b->index = index;
	b->flags = gin->sharing == GDA_GIN_SHARE_THREAD ? GDA_EXCLUSIVE : 0;
	return 0;
}

/**
 * gda_gin_barrier_end - end a session
 * @b: the session
 */
GDA_API void gda_gin_barrier_end(struct gda_gin_barrier *b)
{
	gda_gin_check_barrier(b->gin, b->index, 0);
}

GDA_HELPER uint32_t gda_gin_barrier_slot(const struct gda_gin *gin, uint32_t index,
					 uint32_t sender)
{
	return gin->signals + index * gin->nranks + sender;
}

/* With signals by arrival: wait until puts to @peer through any queue have arrived. */
GDA_SLOW int gda_gin_drain_peer(const struct gda_gin *gin, uint32_t peer, unsigned int flags,
				uint64_t deadline)
{
	uint32_t e;
	int err;

	for (e = 0; e < gin->endpoints; e++) {
		err = gda_gin_drain(gin, gda_gin_queue(gin, e, peer), flags, deadline);
		if (err)
			return err;
	}
	return 0;
}

/* Signal to @peer that the caller has arrived at the barrier. */
GDA_SLOW int gda_gin_barrier_send(const struct gda_gin_barrier *b, uint32_t peer,
				  unsigned int fence, uint64_t deadline)
{
	const struct gda_gin *gin = b->gin;
	struct gda_gin_queue *q = gda_gin_queue(gin, 0, peer);
	int64_t ticket;
	int err;

	if (!q)
		return -ENOTCONN;
	if (gda_gin_by_epochs(gin))
		return gda_gin_epoch_barrier(gin, q, b->index, b->flags, deadline);
	if (gda_gin_senders(gin))
		return gda_gin_barrier_fenced(gin, q, b->index, b->flags, deadline);
	if (!(gin->flags & GDA_GIN_ARRIVAL)) {
		ticket = gda_fetch_add(gda_gin_view(q), q->fetched, q->lkey,
				       q->signals + 8ULL * gda_gin_barrier_slot(gin, b->index,
										gin->rank),
				       q->rkey, 1, b->flags);
		return ticket < 0 ? (int)ticket : 0;
	}
	if (fence & GDA_GIN_FENCE_PUT) {
		err = gda_gin_drain_peer(gin, peer, b->flags, deadline);
		if (err)
			return err;
	}
	q = gda_gin_queue(gin, 1 + gin->signals + b->index, peer);
	ticket = gda_put(gda_gin_view(q), 0, 0, 0, 0, 0, b->flags);
	return ticket < 0 ? (int)ticket : 0;
}

/* The caller's part of a barrier: send the signals that the others wait for. */
GDA_SLOW int gda_gin_barrier_arrive(const struct gda_gin_barrier *b, unsigned int fence,
				    uint64_t deadline)
{
	uint32_t i;
	int err = 0;

	if (fence & GDA_GIN_FENCE_GET)
		err = gda_gin_flush(b->gin, deadline);
	for (i = 1; !err && i < b->team.nranks; i++) {
		uint32_t member = (b->team.rank + i) % b->team.nranks;

		err = gda_gin_barrier_send(b, gda_team_to_world(b->team, b->gin->rank, member),
					   fence, deadline);
	}
	return err;
}

/* Wait for the others. */
GDA_SLOW int gda_gin_barrier_wait(const struct gda_gin_barrier *b, uint64_t deadline)
{
	const struct gda_gin *gin = b->gin;
	struct gda_gin_value value;
	uint32_t i, slot;
	int err;

	for (i = 1; i < b->team.nranks; i++) {
		uint32_t member = (b->team.rank + i) % b->team.nranks;

		slot = gda_gin_barrier_slot(gin, b->index,
					    gda_team_to_world(b->team, gin->rank, member));
		value = gda_gin_signal_value(gin, slot, 32);
		err = gda_gin_wait_value(gin, &value, ++*gda_gin_shadow(gin, slot), deadline);
		if (err)
			return err;
	}
	return 0;
}

/**
 * gda_gin_barrier_sync - wait until all members are here
 * @b: the session
 * @fence: GDA_GIN_FENCE_*: the accesses that are visible behind the barrier
 * @deadline: in ns of gda_clock_ns(); 0: gda_gin_attr.timeout_ns from now
 *
 * One thread of each member calls this, for all threads with which it has synchronized.
 *
 * Return: as gda_gin_flush(); -ENOTCONN a member is not connected.
 */
GDA_API int gda_gin_barrier_sync(struct gda_gin_barrier *b, unsigned int fence,
				 uint64_t deadline)
{
	int err;

	if (!deadline)
		deadline = gda_clock_ns() + b->gin->timeout_ns;
	err = gda_gin_barrier_arrive(b, fence, deadline);
	return err ? err : gda_gin_barrier_wait(b, deadline);
}

/**
 * gda_gin_barrier_sync_all - wait until all members are here, in all contexts of a communicator
 * @comm: the communicator
 * @team: the team whose members meet
 * @index: of the barrier, in every context without a session
 * @fence: GDA_GIN_FENCE_*: the accesses of all contexts that are visible behind the barrier
 * @deadline: in ns of gda_clock_ns(); 0: gda_gin_attr.timeout_ns from now
 *
 * In contexts of %GDA_GIN_SHARE_THREAD no thread may post meanwhile.
 *
 * Return: as gda_gin_barrier_sync(); -EINVAL no such barrier.
 */
GDA_API int gda_gin_barrier_sync_all(const struct gda_gin_comm *comm, struct gda_team team,
				     uint32_t index, unsigned int fence, uint64_t deadline)
{
	struct gda_gin_barrier b;
	uint32_t phase, i;
	int err = 0;

	if (!deadline)
		deadline = gda_clock_ns() + gda_gin_context(comm, 0)->timeout_ns;
	for (phase = 0; phase < 2; phase++) {
		for (i = 0; !err && i < comm->contexts; i++) {
			err = gda_gin_barrier_begin(&b, gda_gin_context(comm, i), team, index);
			if (err)
				return err;
			err = phase ? gda_gin_barrier_wait(&b, deadline) :
				      gda_gin_barrier_arrive(&b, fence, deadline);
			gda_gin_barrier_end(&b);
		}
	}
	return err;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_GIN_BARRIER_H */

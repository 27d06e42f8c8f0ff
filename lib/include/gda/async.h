/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous copies: start one, compute, wait. The semantics of PTO's GET_ASYNC and
 * PUT_ASYNC, over queues of this library. C11, C++17 and CUDA device code, from this one text.
 *
 *	gda_async_create(NULL, ctx, &attr, &workspace);		the host: queues and windows
 *	s.size = sizeof(s);
 *	gda_async_open(workspace, 0, scratch, sizeof(scratch), &s);	the poster, from here on
 *	event = gda_async_get(&s, GDA_ASYNC_COPY, dst, src, bytes, 0);
 *	...
 *	gda_async_wait(&s, 0);
 *
 * The engine is a constant of each call: %GDA_ASYNC_COPY copies within this rank,
 * %GDA_ASYNC_PEER from and to the one peer of the session, %GDA_ASYNC_PEERS(rank) from and to the
 * peer that the call names. Everything else is the same for all of them.
 *
 * A call that cannot be posted, because an address is in no window, a tensor is not flat, or the
 * session is of another engine, posts nothing. Its event is 0, which is complete;
 * gda_async_session.refused has the errno, and on a CPU gda_last_error() says why. No wait reports
 * it, so check that member: -EFAULT an address is in no window, -ENOTCONN there is no such peer,
 * -EINVAL anything else. The member keeps the last errno until the program clears it. If a post
 * fails its event is negative, and the session's next wait returns the error, too.
 *
 * Flags are those of gda_put(): %GDA_EXCLUSIVE by a session that uses its group alone,
 * %GDA_DEFER, %GDA_NOWAIT, %GDA_SYSTEM. They should be constants, so that the compiler folds them.
 */
#ifndef GDA_ASYNC_H
#define GDA_ASYNC_H

#include <gda/async_post.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * gda_async_get - copy from the peer to this rank (P-01)
 * @s: the session
 * @engine: %GDA_ASYNC_COPY, %GDA_ASYNC_PEER or GDA_ASYNC_PEERS()
 * @dst: destination, in a window of this rank
 * @src: source, in a window of the peer, at the address that it has there
 * @bytes: any number; 0 posts nothing
 * @flags: GDA_*
 *
 * A copy longer than gda_async_attr.block_bytes is divided among the queues of the group. The bytes
 * have arrived when a wait that covers the event has returned 0.
 *
 * Return: the event, whose handle is 0 if nothing was posted, or a negative errno, in which case a
 * part may have been posted, which the next wait covers: -EAGAIN a queue is full and %GDA_NOWAIT is
 * set; -ETIMEDOUT it stayed full; -EIO it is full and has failed; -ESHUTDOWN the peer is lost.
 */
GDA_API struct gda_async_event gda_async_get(struct gda_async_session *s, uint32_t engine,
					     void *dst, const void *src, uint64_t bytes,
					     unsigned int flags)
{
	return gda_async_copy(s, engine, gda_async_asked((uintptr_t)dst, (uintptr_t)src, bytes, 0),
			      flags);
}

/**
 * gda_async_put - copy from this rank to the peer (P-15)
 * @s: the session
 * @engine: %GDA_ASYNC_COPY, %GDA_ASYNC_PEER or GDA_ASYNC_PEERS()
 * @dst: destination, in a window of the peer, at the address that it has there
 * @src: source, in a window of this rank
 * @bytes: any number; 0 posts nothing
 * @flags: GDA_*
 *
 * The source may be changed once a wait that covers the event returned 0. The peer learns by
 * gda_async_notify() that the bytes have arrived. With %GDA_ASYNC_COPY they have arrived after the
 * wait.
 *
 * Return: as gda_async_get().
 */
GDA_API struct gda_async_event gda_async_put(struct gda_async_session *s, uint32_t engine,
					     void *dst, const void *src, uint64_t bytes,
					     unsigned int flags)
{
	return gda_async_copy(s, engine, gda_async_asked((uintptr_t)dst, (uintptr_t)src, bytes, 1),
			      flags);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#include <gda/async_rows.h>
#include <gda/async_notify.h>
#include <gda/async_tensor.h>

#endif /* GDA_ASYNC_H */

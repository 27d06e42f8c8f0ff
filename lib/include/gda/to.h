/* SPDX-License-Identifier: MIT */
/*
 * Posts that name their target, for queues of a dialect in which each request does: one queue for
 * any number of peers. Included by gda/fastpath.h.
 *
 * The other posts are for the view's own peer (gda_qp_connect(), gda_view_peer()), and these leave
 * it alone. All of them share the ring and its tickets.
 */
#ifndef GDA_TO_H
#define GDA_TO_H

#include <gda/fastpath.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* Post @r, of an operation that all such dialects have, to @peer. */
GDA_OTHER int64_t gda_post_to(struct gda_view *v, const struct gda_peer *peer, struct gda_wr r,
			      unsigned int flags)
{
	uint32_t dialect = gda_wqe_other(v->dialect);
	struct gda_wqe w;
	int err;

	if (!gda_view_unordered(v))
		return -EOPNOTSUPP;
	if (gda_wqe_too_long(dialect, r.len))
		return -EMSGSIZE;
	err = gda_post_begin(dialect, v, flags);
	if (err)
		return err;
	w = gda_wqe_make(dialect, r);
	return gda_post_in(gda_sq_to(v, dialect, peer), v, &w, flags);
}

/**
 * gda_put_to - gda_put() to a peer that the post names
 * @v: the queue, in a dialect in which each request names its target
 * @peer: of gda_peer_add(), by the queue's context; not used after the call
 * @laddr: local address, as in the MR's iova
 * @lkey: key of the local MR
 * @raddr: remote address
 * @rkey: key of the remote MR, which is the peer's
 * @len: bytes
 * @flags: GDA_*
 *
 * Return: as gda_put(); -EOPNOTSUPP the queue is connected, and all its work is for one peer.
 */
GDA_API int64_t gda_put_to(struct gda_view *v, const struct gda_peer *peer, uint64_t laddr,
			   uint32_t lkey, uint64_t raddr, uint32_t rkey, uint64_t len,
			   unsigned int flags)
{
	gda_check_flags(flags);
	if (gda_unlikely(len > UINT32_MAX))
		return -EMSGSIZE;
	return gda_post_to(v, peer, gda_wr_put(laddr, lkey, raddr, rkey, (uint32_t)len), flags);
}

/**
 * gda_put_imm_to - gda_put_imm() to a peer that the post names
 * @v: the queue, in a dialect in which each request names its target
 * @peer: of gda_peer_add(), by the queue's context; not used after the call
 * @laddr: local address, as in the MR's iova
 * @lkey: key of the local MR
 * @raddr: remote address
 * @rkey: key of the remote MR, which is the peer's
 * @len: bytes
 * @imm: the immediate
 * @flags: GDA_*
 *
 * Return: as gda_put_to().
 */
GDA_API int64_t gda_put_imm_to(struct gda_view *v, const struct gda_peer *peer, uint64_t laddr,
			       uint32_t lkey, uint64_t raddr, uint32_t rkey, uint64_t len,
			       uint32_t imm, unsigned int flags)
{
	gda_check_flags(flags);
	if (gda_unlikely(len > UINT32_MAX))
		return -EMSGSIZE;
	return gda_post_to(v, peer, gda_wr_put_imm(laddr, lkey, raddr, rkey, (uint32_t)len, imm),
			   flags);
}

/**
 * gda_get_to - gda_get() from a peer that the post names
 * @v: the queue, in a dialect in which each request names its target
 * @peer: of gda_peer_add(), by the queue's context; not used after the call
 * @laddr: local address, as in the MR's iova
 * @lkey: key of the local MR, with local write
 * @raddr: remote address
 * @rkey: key of the remote MR, which is the peer's
 * @len: bytes
 * @flags: GDA_*
 *
 * Return: as gda_put_to().
 */
GDA_API int64_t gda_get_to(struct gda_view *v, const struct gda_peer *peer, uint64_t laddr,
			   uint32_t lkey, uint64_t raddr, uint32_t rkey, uint64_t len,
			   unsigned int flags)
{
	gda_check_flags(flags);
	if (gda_unlikely(len > UINT32_MAX))
		return -EMSGSIZE;
	return gda_post_to(v, peer, gda_wr_get(laddr, lkey, raddr, rkey, (uint32_t)len), flags);
}

/**
 * gda_put_value_to - gda_put_value() to a peer that the post names
 * @v: the queue, in a dialect in which each request names its target
 * @peer: of gda_peer_add(), by the queue's context; not used after the call
 * @raddr: remote address
 * @rkey: key of the remote MR, which is the peer's
 * @value: stored in the poster's byte order
 * @flags: GDA_*
 *
 * Return: as gda_put_to().
 */
GDA_API int64_t gda_put_value_to(struct gda_view *v, const struct gda_peer *peer, uint64_t raddr,
				 uint32_t rkey, uint64_t value, unsigned int flags)
{
	gda_check_flags(flags);
	return gda_post_to(v, peer, gda_wr_value(raddr, rkey, value), flags);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_TO_H */

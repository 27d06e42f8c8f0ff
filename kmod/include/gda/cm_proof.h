/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * This header makes and checks the tags of the messages that connect QPs (gda/cm.h says what they
 * prove), for gda_ib and for lib/device/verbs. A file that includes it defines gda_os_siphash()
 * before:
 *
 *   __be64 gda_os_siphash(const void *data, size_t bytes, __be64 k0, __be64 k1);
 *
 * SipHash-2-4 of @data, with the key whose halves are the numbers @k0 and @k1.
 */
#ifndef GDA_CM_PROOF_H
#define GDA_CM_PROOF_H

#include <gda/cm.h>

/*
 * In a probe, in place of the number of a QP: the number of %IB_QP1, which no connection can have.
 */
#define GDA_CM_PROBE_QPN	1

/* How much a rejection proves. */
enum gda_cm_proof {
	GDA_CM_PROOF_NONE,
	GDA_CM_PROOF_BRIEF,	/* that the sender is the target, or knows its nonce */
	GDA_CM_PROOF_FULL,	/* that the target has named the requester */
};

static inline __be64 gda_cm_hash(struct gda_cm_claim *c, u8 word, __be64 target, __be64 asker)
{
	c->word = word;
	return gda_os_siphash(c, sizeof(*c), target, asker);
}

static inline void gda_cm_tag_brief(struct gda_cm_tags *t, struct gda_cm_claim *c, __be64 target)
{
	t->brief = gda_cm_hash(c, GDA_CM_WORD_BRIEF, target, 0);
}

static inline void gda_cm_tag_full(struct gda_cm_tags *t, struct gda_cm_claim *c, __be64 target,
				   __be64 asker)
{
	t->full[0] = gda_cm_hash(c, GDA_CM_WORD_FULL, target, asker);
	t->full[1] = gda_cm_hash(c, GDA_CM_WORD_FULL_2, target, asker);
}

/* Both compare in a time that does not depend on where two tags differ. */
static inline bool gda_cm_tag_brief_ok(const struct gda_cm_tags *t, struct gda_cm_claim *c,
				       __be64 target)
{
	struct gda_cm_tags want;

	gda_cm_tag_brief(&want, c, target);
	return want.brief == t->brief;
}

static inline bool gda_cm_tag_full_ok(const struct gda_cm_tags *t, struct gda_cm_claim *c,
				      __be64 target, __be64 asker)
{
	struct gda_cm_tags want;

	gda_cm_tag_full(&want, c, target, asker);
	return !((want.full[0] ^ t->full[0]) | (want.full[1] ^ t->full[1]));
}

/* Fill in the tags of @p, which @self sends to @peer. @qpn is that of struct gda_cm_claim. */
static inline void gda_cm_sign(struct gda_cm_private *p, const struct gda_cm_address *self,
			       const struct gda_cm_address *peer, __be32 qpn)
{
	bool answers = p->role == GDA_CM_ROLE_REPLY;
	__be64 target = answers ? self->nonce : peer->nonce;
	__be64 asker = answers ? peer->nonce : self->nonce;
	struct gda_cm_claim c;

	gda_cm_claim_set(&c, p, peer, qpn);
	gda_cm_tag_brief(&p->tags, &c, target);
	gda_cm_tag_full(&p->tags, &c, target, asker);
}

/* Is @qpn GDA_CM_PROBE_QPN? */
static inline bool gda_cm_qpn_is_probes(__be32 qpn)
{
	static const __u8 probes[sizeof(qpn)] = { [sizeof(qpn) - 1] = GDA_CM_PROBE_QPN };

	return !memcmp(&qpn, probes, sizeof(qpn));
}

/*
 * @self has received a request or a probe: was its sender given the address of @self? A probe has
 * the number for probes. A request has another number, that of the QP to which it would be
 * connected.
 */
static inline bool gda_cm_knows(const struct gda_cm_private *p, const struct gda_cm_address *self,
				__be32 qpn)
{
	__u8 role = gda_cm_qpn_is_probes(qpn) ? GDA_CM_ROLE_PROBE : GDA_CM_ROLE_REQUEST;
	struct gda_cm_claim c;

	gda_cm_claim_set(&c, p, self, qpn);
	return p->role == role && p->number == self->number &&
	       gda_cm_tag_brief_ok(&p->tags, &c, self->nonce);
}

/* Are these addresses of one QP, whatever their nonces are? */
static inline bool gda_cm_same_end(const struct gda_cm_address *a, const struct gda_cm_address *b)
{
	return a->port == b->port && a->number == b->number && !memcmp(a->ip, b->ip, sizeof(a->ip));
}

/* @self has received @p, of any role: is its sender @peer, which @self has named? */
static inline bool gda_cm_is_peer(const struct gda_cm_private *p, const struct gda_cm_address *self,
				  const struct gda_cm_address *peer, __be32 qpn)
{
	bool answers = p->role == GDA_CM_ROLE_REPLY;
	__be64 target = answers ? peer->nonce : self->nonce;
	__be64 asker = answers ? self->nonce : peer->nonce;
	struct gda_cm_address from;
	struct gda_cm_claim c;

	gda_cm_private_from(p, &from);
	if (p->number != self->number || !gda_cm_same_end(&from, peer))
		return false;
	gda_cm_claim_set(&c, p, self, qpn);
	return gda_cm_tag_full_ok(&p->tags, &c, target, asker);
}

/*
 * Make the rejection of @p, a request or a probe, by its target, with as much proof as the target
 * can give. @peer: the QP that the target has named, if that is the sender of @p; or NULL.
 */
static inline void gda_cm_reject_set(struct gda_cm_reject *r, u8 reason,
				     const struct gda_cm_private *p,
				     const struct gda_cm_address *self,
				     const struct gda_cm_address *peer)
{
	struct gda_cm_address from;
	struct gda_cm_claim c;

	memset(r, 0, sizeof(*r));
	r->version = GDA_CM_VERSION;
	r->reason = reason;
	gda_cm_private_from(p, &from);
	gda_cm_claim_set_reject(&c, reason, p->token, self, &from);
	gda_cm_tag_brief(&r->tags, &c, self->nonce);
	if (peer)
		gda_cm_tag_full(&r->tags, &c, self->nonce, peer->nonce);
}

/*
 * @self has sent a request or a probe with @token to @peer, and was rejected: what does the
 * rejection prove?
 */
static inline enum gda_cm_proof gda_cm_reject_proof(const struct gda_cm_reject *r, __be32 token,
						    const struct gda_cm_address *self,
						    const struct gda_cm_address *peer)
{
	struct gda_cm_claim c;

	if (r->version != GDA_CM_VERSION)
		return GDA_CM_PROOF_NONE;
	gda_cm_claim_set_reject(&c, r->reason, token, peer, self);
	if (!gda_cm_tag_brief_ok(&r->tags, &c, peer->nonce))
		return GDA_CM_PROOF_NONE;
	return gda_cm_tag_full_ok(&r->tags, &c, peer->nonce, self->nonce) ? GDA_CM_PROOF_FULL :
									    GDA_CM_PROOF_BRIEF;
}

#endif /* GDA_CM_PROOF_H */

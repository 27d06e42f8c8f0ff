/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/**
 * DOC: Connections over an RDMA fabric
 *
 * The bytes that two queue pairs of RDMA devices exchange to connect, whoever executes
 * them: the kernel (devices ``ib:``) or libgda (devices ``verbs:``). They are the same on
 * every machine, so all integers are big-endian.
 *
 * Each end makes its address known by means of its own, and names the other end's. The end whose
 * address is the greater one, as memcmp(3) compares the bytes, sends the request of rdma_cm, port
 * space %RDMA_PS_TCP, to the IP address and port of the other. The target answers once it has named
 * the requester, and holds the request until then: at most %GDA_CM_MAX_PENDING for a QP, one of
 * each requester. A request that names no QP, or one that has named another peer, is rejected, and
 * the target of the request does not notice.
 *
 * If the requester ends before it has sent its request, the target hears nothing of that. So a
 * target that waits sends a probe from time to time: a request with number 1 (%IB_QP1) in place of
 * that of its QP. The peer rejects the probe: with %GDA_CM_REASON_LATER if it can still send its
 * request.
 *
 * Request, probe and reply carry struct gda_cm_private, a rejection struct gda_cm_reject. rdma_cm
 * appends zeros to what was sent.
 *
 * **Who may connect.** The nonces of two addresses are the secret of the two QPs: each end has
 * given its nonce, with its address, to its peer by means of its own, and no message contains
 * one. Each message has two tags (struct gda_cm_tags), which only a holder of nonces can make:
 *
 * * The brief tag is keyed by the nonce of the target, the QP to which the request or the probe
 *   goes. It proves that the sender was given the address of the target, or, in the target's
 *   answer, that the sender is the target. The target looks at it before it keeps anything of a
 *   request or says anything of itself: without it a request is rejected like one for a QP that is
 *   not there.
 * * The full tag is keyed by the nonces of both. It proves that the sender is the peer that was
 *   named. A target checks it as soon as it has named a peer, so later for a request that was held;
 *   a requester checks it in the reply. No connection begins without it.
 *
 * A tag covers struct gda_cm_claim: the kind of the message, both addresses, the number of the
 * sender's RDMA QP and a token that the requester draws for each request and probe. Where the
 * fabric's addresses are IP addresses (RoCE), a target also compares the one to which packets of
 * the connection would go with the one in the message. So an answer that was recorded answers no
 * other question; a request that was recorded connects nothing but that RDMA QP at that address;
 * and no message can be sent back to its sender.
 *
 * A rejection with a right full tag ends the connection at once. One with a right brief tag says
 * that the target is there: if it is %GDA_CM_REASON_LATER or %GDA_CM_REASON_FULL the end that
 * probes goes on waiting. Any other rejection proves nothing, since a host whose QP is gone has
 * no nonce to prove it by: it counts as a message that was lost, of which some in a row end
 * the wait. All probes have the same number, so rdma_cm may refuse one as stale while the probe of
 * another QP is under way: such a rejection counts only if there were many since the last answer.
 *
 * RoCE itself authenticates no packet: whoever can send packets from the address of a host, or read
 * those of the connection, is not kept out by any of this.
 */
#ifndef _UAPI_GDA_CM_H
#define _UAPI_GDA_CM_H

#include <linux/types.h>

/**
 * define GDA_CM_VERSION - version of all formats here; ends of different versions do not talk
 */
#define GDA_CM_VERSION		2

/**
 * define GDA_CM_MAX_PENDING - most requests that wait for one QP to name its peer
 */
#define GDA_CM_MAX_PENDING	64

/**
 * struct gda_cm_address - the address of a QP, of %GDA_ADDRESS_BYTES
 * @version: %GDA_CM_VERSION
 * @reserved: 0
 * @port: of rdma_cm, where the QP's device listens
 * @number: of the QP, 24 bits
 * @nonce: random. It is the secret of those to whom the address was given: it is never sent by
 *	rdma_cm, and 0 wherever an address stands in a message or under a tag
 * @ip: the IPv6 address of the device, or its IPv4 address as ::ffff:a.b.c.d
 */
struct gda_cm_address {
	__u8 version;
	__u8 reserved;
	__be16 port;
	__be32 number;
	__be64 nonce;
	__u8 ip[16];
};

/**
 * gda_cm_address_ok - may these bytes be an address?
 * @a: from anywhere
 *
 * Return: whether the version, the port and the number are possible.
 */
static __inline__ int gda_cm_address_ok(const struct gda_cm_address *a)
{
	__u8 top;

	/* the first byte is the most significant; C and C++ share no cast for this */
	__builtin_memcpy(&top, &a->number, sizeof(top));
	return a->version == GDA_CM_VERSION && !a->reserved && a->port && a->number && !top;
}

/**
 * enum gda_cm_role - what a message is
 * @GDA_CM_ROLE_REQUEST: it asks for a connection
 * @GDA_CM_ROLE_REPLY: the answer to a request: the connection begins
 * @GDA_CM_ROLE_PROBE: it asks whether the target is there and may ask
 * @GDA_CM_ROLE_REJECT: of struct gda_cm_reject, under its tags
 */
enum gda_cm_role {
	GDA_CM_ROLE_REQUEST = 1,
	GDA_CM_ROLE_REPLY = 2,
	GDA_CM_ROLE_PROBE = 3,
	GDA_CM_ROLE_REJECT = 4,
};

/**
 * enum gda_cm_word - which tag, or half of it, a hash is
 * @GDA_CM_WORD_BRIEF: @brief of struct gda_cm_tags
 * @GDA_CM_WORD_FULL: the first half of @full
 * @GDA_CM_WORD_FULL_2: the second half of @full
 */
enum gda_cm_word {
	GDA_CM_WORD_BRIEF = 0,
	GDA_CM_WORD_FULL = 1,
	GDA_CM_WORD_FULL_2 = 2,
};

/**
 * struct gda_cm_claim - what is hashed for a tag; it is not sent
 * @version: %GDA_CM_VERSION
 * @role: enum gda_cm_role
 * @reason: enum gda_cm_reason of a rejection; otherwise 0
 * @word: enum gda_cm_word
 * @token: of the request or the probe that this is, or answers
 * @qpn: number of the RDMA QP of the sender, as rdma_cm tells it to the receiver; 1 in a probe;
 *	0 in a rejection
 * @reserved: 0
 * @from: the address of the end that sends, with a nonce of 0
 * @to: the address of the end that it is sent to, with a nonce of 0
 */
struct gda_cm_claim {
	__u8 version;
	__u8 role;
	__u8 reason;
	__u8 word;
	__be32 token;
	__be32 qpn;
	__be32 reserved;
	struct gda_cm_address from;
	struct gda_cm_address to;
};

/**
 * struct gda_cm_tags - proof that a message is by the sender that it names
 * @brief: keyed by the nonce of the target
 * @full: keyed by both nonces; 0 in a rejection by a target that has not named the requester, and
 *	so does not know its nonce
 *
 * Each word is SipHash-2-4, with a result of 64 bits, of struct gda_cm_claim. The halves of its
 * key, which SipHash calls k0 and k1, are numbers here: k0 is the nonce of the target; k1 is 0
 * for @brief and the nonce of the requester for @full. The target is the QP that the request
 * or the probe is for, also in what it answers.
 */
struct gda_cm_tags {
	__be64 brief;
	__be64 full[2];
};

/**
 * struct gda_cm_private - private data of a request, of a probe and of a reply
 * @version: %GDA_CM_VERSION
 * @role: enum gda_cm_role
 * @port: of the address of the QP that sends this
 * @number: of the QP that this is sent to
 * @from: number of the QP that sends this
 * @token: random, of each request and each probe; a reply has that of its request
 * @ip: of the address of the QP that sends this
 * @tags: proof
 */
struct gda_cm_private {
	__u8 version;
	__u8 role;
	__be16 port;
	__be32 number;
	__be32 from;
	__be32 token;
	__u8 ip[16];
	struct gda_cm_tags tags;
};

/**
 * gda_cm_private_set - fill a message to the other end, except for its tags
 * @p: out
 * @role: enum gda_cm_role
 * @token: of the request or the probe that this is, or answers
 * @from: the address of the end that sends it
 * @to: the address of the other end
 */
static __inline__ void gda_cm_private_set(struct gda_cm_private *p, __u8 role, __be32 token,
					  const struct gda_cm_address *from,
					  const struct gda_cm_address *to)
{
	__builtin_memset(p, 0, sizeof(*p));
	p->version = GDA_CM_VERSION;
	p->role = role;
	p->port = from->port;
	p->number = to->number;
	p->from = from->number;
	p->token = token;
	__builtin_memcpy(p->ip, from->ip, sizeof(p->ip));
}

/**
 * gda_cm_private_from - the address of the end that has sent a message
 * @p: the message
 * @from: out, with a nonce of 0
 */
static __inline__ void gda_cm_private_from(const struct gda_cm_private *p,
					   struct gda_cm_address *from)
{
	__builtin_memset(from, 0, sizeof(*from));
	from->version = p->version;
	from->port = p->port;
	from->number = p->from;
	__builtin_memcpy(from->ip, p->ip, sizeof(from->ip));
}

/**
 * gda_cm_private_ok - is this a request, a probe or a reply that any end may have sent?
 * @p: what arrived, copied and padded with zeros to its size
 *
 * Return: whether it is of this version and well formed. Whether @p->number is that of a QP, and
 * the tags are right, is for the caller to see.
 */
static __inline__ int gda_cm_private_ok(const struct gda_cm_private *p)
{
	struct gda_cm_address from;

	gda_cm_private_from(p, &from);
	return p->role >= GDA_CM_ROLE_REQUEST && p->role <= GDA_CM_ROLE_PROBE &&
	       gda_cm_address_ok(&from);
}

/**
 * gda_cm_claim_set - fill the claim under the tags of a request, a reply or a probe
 * @c: out; @c->word is 0
 * @p: the message
 * @to: the address of the end that it is sent to
 * @qpn: of struct gda_cm_claim
 */
static __inline__ void gda_cm_claim_set(struct gda_cm_claim *c, const struct gda_cm_private *p,
					const struct gda_cm_address *to, __be32 qpn)
{
	__builtin_memset(c, 0, sizeof(*c));
	c->version = p->version;
	c->role = p->role;
	c->token = p->token;
	c->qpn = qpn;
	gda_cm_private_from(p, &c->from);
	c->to = *to;
	c->to.nonce = 0;
}

/**
 * gda_cm_claim_set_reject - fill the claim under the tags of a rejection
 * @c: out; @c->word is 0
 * @reason: enum gda_cm_reason
 * @token: of the request or the probe that is rejected
 * @from: the address of the target, which rejects
 * @to: the address of the requester
 */
static __inline__ void gda_cm_claim_set_reject(struct gda_cm_claim *c, __u8 reason, __be32 token,
					       const struct gda_cm_address *from,
					       const struct gda_cm_address *to)
{
	__builtin_memset(c, 0, sizeof(*c));
	c->version = GDA_CM_VERSION;
	c->role = GDA_CM_ROLE_REJECT;
	c->reason = reason;
	c->token = token;
	c->from = *from;
	c->from.nonce = 0;
	c->to = *to;
	c->to.nonce = 0;
}

/**
 * enum gda_cm_reason - why a request is rejected
 * @GDA_CM_REASON_VERSION: the private data is of another version, or malformed
 * @GDA_CM_REASON_UNKNOWN: there is no such QP, or not any more, or the brief tag is wrong
 * @GDA_CM_REASON_BUSY: the QP has named another peer, or has failed, or has a request of this
 *	requester already; or it has named the requester, and the full tag is wrong
 * @GDA_CM_REASON_FULL: %GDA_CM_MAX_PENDING requests wait for the QP, or its host has no room
 * @GDA_CM_REASON_LATER: the QP is there and is the end that requests: it has done so, or may yet
 */
enum gda_cm_reason {
	GDA_CM_REASON_VERSION = 1,
	GDA_CM_REASON_UNKNOWN = 2,
	GDA_CM_REASON_BUSY = 3,
	GDA_CM_REASON_FULL = 4,
	GDA_CM_REASON_LATER = 5,
};

/**
 * struct gda_cm_reject - private data of a rejection
 * @version: %GDA_CM_VERSION
 * @reason: enum gda_cm_reason
 * @reserved: 0
 * @tags: proof; 0 where the brief tag of what is rejected was wrong, or there was no QP
 */
struct gda_cm_reject {
	__u8 version;
	__u8 reason;
	__u8 reserved[6];
	struct gda_cm_tags tags;
};

#endif /* _UAPI_GDA_CM_H */

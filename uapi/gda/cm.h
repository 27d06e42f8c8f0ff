/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/**
 * DOC: Connections over an RDMA fabric
 *
 * The bytes that two queue pairs of RDMA devices exchange to connect, whoever executes
 * them: the kernel (devices ``ib:``) or libgda (devices ``verbs:``). They are the same on
 * every machine, so all integers are big-endian.
 *
 * Each end makes its address known by means of its own, and names the other end's. The end
 * whose address is the greater one, as memcmp(3) compares the bytes, sends the request of
 * rdma_cm, port space %RDMA_PS_TCP, to the IP address and port of the other. That one answers
 * when it has named the requester, and holds the request until then: it holds at most
 * %GDA_CM_MAX_PENDING for a QP. A request that names no QP, or one that has named another
 * peer, is rejected, and the target of the request does not notice.
 *
 * The end that is asked hears nothing of a peer that ends before it has asked. So while it
 * waits it sends a request itself from time to time, with number 1 (%IB_QP1) in place of that
 * of its QP. The peer rejects it: with %GDA_CM_REASON_LATER if it can still ask.
 *
 * Request and reply carry struct gda_cm_private, a rejection struct gda_cm_reject. rdma_cm
 * appends zeros to what was sent.
 */
#ifndef _UAPI_GDA_CM_H
#define _UAPI_GDA_CM_H

#include <linux/types.h>

/**
 * define GDA_CM_VERSION - of everything here; no end talks to one of another version
 */
#define GDA_CM_VERSION		1

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
 * @nonce: random, so that a number that is used again is not taken for the QP before
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

	/* the first byte is the highest; C and C++ have no cast in common for it */
	__builtin_memcpy(&top, &a->number, sizeof(top));
	return a->version == GDA_CM_VERSION && !a->reserved && a->port && a->number && !top;
}

/**
 * struct gda_cm_private - private data of a request and of a reply
 * @version: %GDA_CM_VERSION
 * @reserved: 0
 * @number: of the QP that this is sent to
 * @nonce: of that QP
 * @from: the address of the QP that sends this
 */
struct gda_cm_private {
	__u8 version;
	__u8 reserved[3];
	__be32 number;
	__be64 nonce;
	struct gda_cm_address from;
};

/**
 * gda_cm_private_set - make what one end sends to the other
 * @p: out
 * @from: the address of the end that sends it
 * @to: the address of the other end
 */
static __inline__ void gda_cm_private_set(struct gda_cm_private *p,
					  const struct gda_cm_address *from,
					  const struct gda_cm_address *to)
{
	p->version = GDA_CM_VERSION;
	p->reserved[0] = 0;
	p->reserved[1] = 0;
	p->reserved[2] = 0;
	p->number = to->number;
	p->nonce = to->nonce;
	p->from = *from;
}

/**
 * gda_cm_private_ok - is this a request or reply that any end may have sent?
 * @p: what arrived, copied and padded with zeros to its size
 *
 * Return: whether it is of this version and well formed. Whether @p->number and @p->nonce are
 * those of a QP, and @p->from the peer that it has named, is for the caller to see.
 */
static __inline__ int gda_cm_private_ok(const struct gda_cm_private *p)
{
	return p->version == GDA_CM_VERSION && !p->reserved[0] && !p->reserved[1] &&
	       !p->reserved[2] && gda_cm_address_ok(&p->from);
}

/**
 * enum gda_cm_reason - why a request is rejected
 * @GDA_CM_REASON_VERSION: the private data is of another version, or malformed
 * @GDA_CM_REASON_UNKNOWN: there is no such QP, or not any more
 * @GDA_CM_REASON_BUSY: the QP has named another peer, or has failed
 * @GDA_CM_REASON_FULL: %GDA_CM_MAX_PENDING requests wait for the QP
 * @GDA_CM_REASON_LATER: the QP is there, and is the one to ask: it has, or it may yet
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
 */
struct gda_cm_reject {
	__u8 version;
	__u8 reason;
	__u8 reserved[6];
};

#endif /* _UAPI_GDA_CM_H */

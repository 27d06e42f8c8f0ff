/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * One end of a pair of queues whose other end is in the other guest of gda-pair, on the
 * device of the kernel ("ib") or on that of the library ("verbs").
 */
#ifndef SELFTESTS_PAIR_REMOTE_H
#define SELFTESTS_PAIR_REMOTE_H

#include "pair.h"
#include "../lib/pair.h"

#define DEPTH	256
#define LONG_NS	25000000000ULL

struct remote {
	struct side s;
	uint64_t iova;	/* of the memory of the peer */
	uint32_t key;
	char why[512];	/* there is no such device here, or there */
};

struct hello {
	int err;
	struct gda_address address;
	uint64_t iova;
	uint32_t key;
	char why[128];
};

/*
 * @kind: of both sides; or that of side 0 and that of side 1, with a comma between them.
 * Return: 0; 1 there is no such device, see @why; or a negative errno.
 */
static inline int remote_open(struct remote *r, const char *kind, const char *test)
{
	char device[80], name[128];
	struct hello own = { 0 }, peer;
	const char *other = strchr(kind, ','), *mine = kind;
	int err;

	if (other && pair_side())
		mine = other + 1;
	snprintf(device, sizeof(device), "%.*s:%s", (int)strcspn(mine, ","), mine,
		 pair_env("GDA_PAIR_RDMA"));
	own.err = side_open_on(&r->s, device, DEPTH);
	if (own.err) {
		snprintf(own.why, sizeof(own.why), "%s", gda_last_error());
	} else {
		own.iova = r->s.iova;
		own.key = r->s.key;
		own.err = gda_qp_address(r->s.qp, &own.address);
	}
	snprintf(name, sizeof(name), "%s.%s", kind, test);
	err = pair_swap(name, &own, &peer, sizeof(own));
	if (err)
		return err;
	if (own.err || peer.err) {
		snprintf(r->why, sizeof(r->why), "%s: here %s %s, there %s %s", device,
			 gda_strerror(own.err), own.why, gda_strerror(peer.err), peer.why);
		return 1;
	}
	r->iova = peer.iova;
	r->key = peer.key;
	return gda_qp_connect(r->s.qp, &peer.address);
}

static inline int64_t put(struct remote *r, size_t at, uint32_t bytes, unsigned int flags)
{
	return gda_put(r->s.v, r->s.iova + at, r->s.key, r->iova + at, r->key, bytes,
		       flags | GDA_EXCLUSIVE);
}

static inline int put_wait(struct remote *r, size_t at, uint32_t bytes)
{
	return gda_wait(r->s.v, put(r, at, bytes, 0), gda_clock_ns() + LONG_NS);
}

/* The cause for which the queue failed; 0: it has not. */
static inline uint32_t cause(struct remote *r)
{
	struct gda_error e = { .size = sizeof(e) };

	return gda_error(r->s.v, &e) ? e.syndrome : 0;
}

/* A put to a peer that is not heard of fails, and says so. */
static inline int lost(struct remote *r, uint32_t *why)
{
	uint64_t begin = gda_clock_ns();
	int err = put_wait(r, 0, 8);

	*why = cause(r);
	printf("# %s after %llu ms\n", gda_syndrome_name(*why),
	       (unsigned long long)(gda_clock_ns() - begin) / 1000000);
	return err;
}

#endif /* SELFTESTS_PAIR_REMOTE_H */

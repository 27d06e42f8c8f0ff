// SPDX-License-Identifier: MIT
/*
 * P9: nobody becomes the peer of a QP who was not given its address. An impostor listens at the
 * port of a peer that is gone, and answers with all that it has heard; requests and replies are
 * recorded and sent again; requests come by the thousand. On the device that GDA_DEVICE names,
 * and over the fake one. As forged.c this speaks rdma_cm itself.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <rdma/rdma_cma.h>
#include "../inproc/suite.h"
#include "proof.h"

#define DEPTH		16
#define QPN		4242U		/* of an RDMA QP that is not there */
#define ROUNDS		40U
#define MS		15000		/* for one answer */
#define REJ_CONSUMER	28

/* An event, which was acknowledged. */
struct got {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id;
	uint32_t qpn;
	union {
		struct gda_cm_private private;
		struct gda_cm_reject reject;
		uint8_t bytes[56];
	};
};

FIXTURE(impostor) {
	struct rdma_event_channel *ch;	/* of the ids of this test */
	struct gda_context *ctx;
	struct gda_qp *qp;
	struct gda_cm_address target;	/* its address */
};

static struct rdma_event_channel *channel(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();

	if (ch)
		fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) | O_NONBLOCK);
	return ch;
}

static int qp_open(struct gda_context **ctx, struct gda_qp **qp, struct gda_cm_address *a)
{
	struct gda_address address;
	int err = gda_open(NULL, ctx);

	err = err ? err : s_qp_open(*ctx, DEPTH, S_TIMEOUT_NS, qp);
	err = err ? err : gda_qp_address(*qp, &address);
	if (!err)
		memcpy(a, address.bytes, sizeof(*a));
	return err;
}

FIXTURE_SETUP(impostor)
{
	self->ch = channel();
	ASSERT_NE(NULL, self->ch);
	ASSERT_OK(qp_open(&self->ctx, &self->qp, &self->target)) TH_LOG("%s", gda_last_error());
	if (!s_fabric(self->ctx))
		SKIP(return, "the device is on no fabric");
}

FIXTURE_TEARDOWN(impostor)
{
	gda_qp_destroy(self->qp);
	gda_close(self->ctx);
	if (self->ch)
		rdma_destroy_event_channel(self->ch);
}

static int name(struct gda_qp *qp, const struct gda_cm_address *peer)
{
	struct gda_address address = { 0 };

	memcpy(address.bytes, peer, sizeof(*peer));
	return gda_qp_connect(qp, &address);
}

static uint32_t state(struct gda_qp *qp)
{
	struct gda_qp_query q = { .size = sizeof(q) };

	return gda_qp_query(qp, &q) ? ~0U : q.state;
}

/* Wait until the QP has another state than @old. Return: the state. */
static uint32_t state_after(struct gda_qp *qp, uint32_t old, int ms)
{
	while (state(qp) == old && ms-- > 0)
		usleep(1000);
	return state(qp);
}

/* Return: whether an event came. */
static bool next(struct rdma_event_channel *ch, int ms, struct got *g)
{
	struct pollfd p = { .fd = ch->fd, .events = POLLIN };
	struct rdma_cm_event *e;
	size_t length;

	memset(g, 0, sizeof(*g));
	if (poll(&p, 1, ms) != 1 || rdma_get_cm_event(ch, &e))
		return false;
	g->type = e->event;
	g->status = e->status;
	g->id = e->id;
	g->qpn = e->param.conn.qp_num;
	length = e->param.conn.private_data_len;
	if (e->param.conn.private_data)
		memcpy(g->bytes, e->param.conn.private_data,
		       length < sizeof(g->bytes) ? length : sizeof(g->bytes));
	rdma_ack_cm_event(e);
	return true;
}

static void to_sockaddr(struct sockaddr_in *sin, const struct gda_cm_address *a, unsigned int plus)
{
	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_port = a->port;
	memcpy(&sin->sin_addr, a->ip + 12, 4);
	sin->sin_addr.s_addr = htonl(ntohl(sin->sin_addr.s_addr) + plus);
}

static const struct rdma_conn_param plain = {
	.private_data_len = sizeof(struct gda_cm_private), .retry_count = 6, .rnr_retry_count = 6,
	.responder_resources = 1, .initiator_depth = 1,
};

/*
 * Send a request to @to, from its own address, or from the one that is @plus above it. Return: its
 * id, or NULL: the address is none here.
 */
static struct rdma_cm_id *ask(struct rdma_event_channel *ch, const struct gda_cm_address *to,
			      unsigned int plus, const struct gda_cm_private *p, uint32_t qpn)
{
	struct rdma_conn_param param = plain;
	struct sockaddr_in from, sin;
	struct rdma_cm_id *id;
	struct got g;

	to_sockaddr(&sin, to, 0);
	to_sockaddr(&from, to, plus);
	from.sin_port = 0;
	param.private_data = p;
	param.qp_num = qpn;
	if (rdma_create_id(ch, &id, NULL, RDMA_PS_TCP))
		return NULL;
	if (!rdma_resolve_addr(id, (struct sockaddr *)&from, (struct sockaddr *)&sin, 2000) &&
	    next(ch, MS, &g) && g.type == RDMA_CM_EVENT_ADDR_RESOLVED &&
	    !rdma_resolve_route(id, 2000) && next(ch, MS, &g) &&
	    g.type == RDMA_CM_EVENT_ROUTE_RESOLVED && !rdma_connect(id, &param))
		return id;
	rdma_destroy_id(id);
	return NULL;
}

/* Are the 8 bytes of a nonce anywhere in them? */
static bool tells(const struct got *g, const struct gda_cm_address *a)
{
	return memmem(g->bytes, sizeof(g->bytes), &a->nonce, sizeof(a->nonce));
}

/* --- at the port of a peer that is gone --- */

struct thief {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *listener, *out;
	struct gda_cm_address gone;	/* but for its nonce, which the thief was not told */
	unsigned int requests, probes, joined;
	bool told;			/* a nonce was in a message */
	struct gda_cm_address secret[2];
};

static int thief_listen(struct thief *t)
{
	struct sockaddr_in sin;

	to_sockaddr(&sin, &t->gone, 0);
	t->ch = channel();
	if (!t->ch || rdma_create_id(t->ch, &t->listener, NULL, RDMA_PS_TCP))
		return -ENOMEM;
	return rdma_bind_addr(t->listener, (struct sockaddr *)&sin) ||
	       rdma_listen(t->listener, 8) ? -errno : 0;
}

/* All that a message has told, the other way round. */
static struct gda_cm_private echo(const struct thief *t, const struct gda_cm_private *heard,
				  enum gda_cm_role role)
{
	struct gda_cm_private p = *heard;

	p.role = role;
	p.port = t->gone.port;
	p.number = heard->from;
	p.from = heard->number;
	return p;
}

/* It asks the target in the place of the one that is gone, and was probed. */
static void thief_asks(struct thief *t, const struct gda_cm_private *heard)
{
	struct gda_cm_private p = echo(t, heard, GDA_CM_ROLE_REQUEST);
	struct gda_cm_address to;

	gda_cm_private_from(heard, &to);
	if (t->out)
		rdma_destroy_id(t->out);
	t->out = ask(t->ch, &to, 0, &p, 1);
}

/* A request or a probe has come. */
static void thief_answers(struct thief *t, const struct got *g)
{
	struct gda_cm_reject later = {
		.version = GDA_CM_VERSION, .reason = GDA_CM_REASON_LATER, .tags = g->private.tags,
	};
	struct gda_cm_private p = echo(t, &g->private, GDA_CM_ROLE_REPLY);
	struct rdma_conn_param param = plain;

	t->told |= tells(g, &t->secret[0]) || tells(g, &t->secret[1]);
	if (g->private.role == GDA_CM_ROLE_PROBE) {
		t->probes++;
		rdma_reject(g->id, &later, sizeof(later));
		rdma_destroy_id(g->id);
		thief_asks(t, &g->private);
		return;
	}
	t->requests++;
	param.private_data = &p;
	param.qp_num = g->qpn;
	/* the id stays with the listener's channel until the test ends */
	if (rdma_accept(g->id, &param))
		rdma_destroy_id(g->id);
}

static void thief_works(struct thief *t, struct gda_qp *qp)
{
	uint64_t end = gda_clock_ns() + 20000000000ULL;
	struct got g;

	while (state(qp) == GDA_QP_WAIT && gda_clock_ns() < end) {
		if (!next(t->ch, 100, &g))
			continue;
		if (g.type == RDMA_CM_EVENT_CONNECT_REQUEST)
			thief_answers(t, &g);
		else if (g.type == RDMA_CM_EVENT_ESTABLISHED ||
			 g.type == RDMA_CM_EVENT_CONNECT_RESPONSE)
			t->joined++;
	}
}

static void thief_ends(struct thief *t)
{
	if (t->out)
		rdma_destroy_id(t->out);
	if (t->listener)
		rdma_destroy_id(t->listener);
	if (t->ch)
		rdma_destroy_event_channel(t->ch);
}

/*
 * Rounds until both ends were at stake, the one that asks and the one that is asked: ports are
 * random, and the fake device counts them. In every other round the target is there before.
 */
TEST_F_TIMEOUT(impostor, P9_at_the_port_of_the_peer, 300)
{
	unsigned int requests = 0, probes = 0, joined = 0, rounds = 0;
	struct gda_query q = { .size = sizeof(q) };

	ASSERT_OK(gda_context_query(self->ctx, &q));
	gda_qp_destroy(self->qp);
	gda_close(self->ctx);
	for (; rounds < ROUNDS && (rounds < 4 || !requests || !probes); rounds++) {
		/* contexts of ib: have one listener in common */
		bool before = rounds % 2 && strncmp((const char *)q.device, "ib:", 3);
		struct gda_context *gone;
		struct gda_qp *gone_qp;
		struct thief t = { 0 };

		if (before)
			ASSERT_OK(qp_open(&self->ctx, &self->qp, &self->target));
		ASSERT_OK(qp_open(&gone, &gone_qp, &t.secret[0]));
		t.gone = t.secret[0];
		t.gone.nonce = 0;
		gda_qp_destroy(gone_qp);
		gda_close(gone);
		ASSERT_OK(thief_listen(&t));
		if (!before)
			ASSERT_OK(qp_open(&self->ctx, &self->qp, &self->target));
		t.secret[1] = self->target;
		ASSERT_OK(name(self->qp, &t.secret[0]));
		thief_works(&t, self->qp);
		EXPECT_NE((uint32_t)GDA_QP_READY, state(self->qp));
		EXPECT_FALSE(t.told);
		joined += t.joined || state(self->qp) == GDA_QP_READY;
		requests += t.requests;
		probes += t.probes;
		gda_qp_destroy(self->qp);
		gda_close(self->ctx);
		thief_ends(&t);
	}
	TH_LOG("%u of %u joined; %u requests, %u probes heard", joined, rounds, requests, probes);
	EXPECT_EQ(0, joined);
	EXPECT_LT(0, requests);
	EXPECT_LT(0, probes);
	ASSERT_OK(qp_open(&self->ctx, &self->qp, &self->target));
}

/* --- recorded, and sent again --- */

/* Send @p as the peer's, which the target names then or before. Return: was it accepted? */
static bool accepted(FIXTURE_DATA(impostor) *self, const struct gda_cm_private *p, uint32_t qpn,
		     unsigned int plus)
{
	struct rdma_cm_id *id = ask(self->ch, &self->target, plus, p, qpn);
	struct got g = { 0 };
	bool yes;

	if (!id)
		return false;
	yes = next(self->ch, MS, &g) && (g.type == RDMA_CM_EVENT_CONNECT_RESPONSE ||
					 g.type == RDMA_CM_EVENT_ESTABLISHED);
	rdma_destroy_id(id);
	return yes;
}

/* A request is good for the RDMA QP that has sent it, at its address, and for its target. */
TEST_F(impostor, P9_replayed_request)
{
	struct gda_cm_address peer = greater(&self->target, 0xffff00);
	struct gda_cm_private p = signed_request(&peer, &self->target, QPN), q;

	ASSERT_OK(name(self->qp, &peer));
	EXPECT_FALSE(accepted(self, &p, QPN + 1, 0));
	EXPECT_FALSE(accepted(self, &p, QPN, 1));
	/* of each part of it one bit is changed */
	for (size_t i = 4; i < sizeof(p); i += 4) {
		q = p;
		((uint8_t *)&q)[i] ^= 1;
		EXPECT_FALSE(accepted(self, &q, QPN, 0)) TH_LOG("byte %zu", i);
	}
	q = p;
	q.role = GDA_CM_ROLE_PROBE;
	EXPECT_FALSE(accepted(self, &q, QPN, 0));
	q.role = GDA_CM_ROLE_REPLY;
	EXPECT_FALSE(accepted(self, &q, QPN, 0));
	EXPECT_EQ((uint32_t)GDA_QP_WAIT, state(self->qp));
	/* and from there it is right */
	EXPECT_TRUE(accepted(self, &p, QPN, 0));
}

/* The peer asks with number 1, of probes and the RDMA device's own QP; and probes with another. */
TEST_F(impostor, P9_number_of_probes)
{
	struct gda_cm_address peer = greater(&self->target, 0xffff00);
	struct gda_cm_private p = signed_request(&peer, &self->target, 1);
	struct rdma_cm_id *id;
	struct got g;

	ASSERT_OK(name(self->qp, &peer));
	EXPECT_FALSE(accepted(self, &p, 1, 0));
	gda_cm_private_set(&p, GDA_CM_ROLE_PROBE, htonl(98), &peer, &self->target);
	gda_cm_sign(&p, &peer, &self->target, htonl(QPN));
	id = ask(self->ch, &self->target, 0, &p, QPN);
	ASSERT_TRUE(id && next(self->ch, MS, &g) && g.type == RDMA_CM_EVENT_REJECTED);
	EXPECT_EQ(GDA_CM_REASON_UNKNOWN, g.reject.reason);
	rdma_destroy_id(id);
	EXPECT_EQ((uint32_t)GDA_QP_WAIT, state(self->qp));
	p = signed_request(&peer, &self->target, QPN);
	EXPECT_TRUE(accepted(self, &p, QPN, 0));
}

/* One that knows the nonce of the target, and not that of the peer, which is named later. */
TEST_F(impostor, P9_held_in_the_name_of_the_peer)
{
	struct gda_cm_address peer = greater(&self->target, 0xffff00), other = peer;
	struct gda_cm_private p;
	struct rdma_cm_id *id;
	struct got g;

	other.nonce ^= 1;
	p = signed_request(&other, &self->target, QPN);
	id = ask(self->ch, &self->target, 0, &p, QPN);
	ASSERT_NE(NULL, id);
	/* it is held, and no other of the same QP is */
	EXPECT_FALSE(next(self->ch, 500, &g)) TH_LOG("event %d", g.type);
	EXPECT_FALSE(accepted(self, &p, QPN, 0));
	ASSERT_OK(name(self->qp, &peer));
	ASSERT_TRUE(next(self->ch, MS, &g));
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, g.type);
	EXPECT_EQ(GDA_CM_REASON_BUSY, g.reject.reason);
	/* what it may believe: the target is there, and has not named it */
	EXPECT_EQ(GDA_CM_PROOF_BRIEF,
		  gda_cm_reject_proof(&g.reject, p.token, &other, &self->target));
	rdma_destroy_id(id);
	EXPECT_EQ((uint32_t)GDA_QP_WAIT, state(self->qp));
	p = signed_request(&peer, &self->target, QPN);
	EXPECT_TRUE(accepted(self, &p, QPN, 0));
}

enum answer { RIGHT, OTHER_QPN, OTHER_TOKEN, OTHER_NONCE, AS_REQUEST, ANSWERS };

/* Answer a request of @from: right, or nearly. */
static int answer(const struct got *g, const struct gda_cm_address *self,
		  const struct gda_cm_address *from, enum answer how)
{
	struct rdma_conn_param param = plain;
	struct gda_cm_address me = *self;
	struct gda_cm_private p;

	if (how == OTHER_NONCE)
		me.nonce ^= 1;
	gda_cm_private_set(&p, how == AS_REQUEST ? GDA_CM_ROLE_REQUEST : GDA_CM_ROLE_REPLY,
			   g->private.token ^ (how == OTHER_TOKEN ? htonl(1) : 0), &me, from);
	gda_cm_sign(&p, &me, from, htonl(QPN));
	param.private_data = &p;
	param.qp_num = QPN + (how == OTHER_QPN);
	return rdma_accept(g->id, &param);
}

/* A reply is good for one question, and for the RDMA QP of which it speaks. */
TEST_F_TIMEOUT(impostor, P9_replayed_reply, 200)
{
	struct gda_cm_address peer = self->target;
	struct sockaddr_in sin;
	struct rdma_cm_id *listener;

	/* the peer listens at an address that is less, so that it is asked */
	ASSERT_OK(rdma_create_id(self->ch, &listener, NULL, RDMA_PS_TCP));
	to_sockaddr(&sin, &self->target, 0);
	for (uint16_t port = 3000; port < 3100; port++) {
		sin.sin_port = htons(port);
		if (!rdma_bind_addr(listener, (struct sockaddr *)&sin))
			break;
	}
	ASSERT_OK(rdma_listen(listener, 8));
	peer.port = sin.sin_port;
	peer.nonce = htobe64(0x99aabbccddeeff00ULL);
	for (enum answer how = RIGHT; how < ANSWERS; how++) {
		struct got g;

		ASSERT_OK(name(self->qp, &peer));
		ASSERT_TRUE(next(self->ch, MS, &g));
		ASSERT_EQ(RDMA_CM_EVENT_CONNECT_REQUEST, g.type);
		EXPECT_TRUE(gda_cm_private_ok(&g.private));
		EXPECT_TRUE(gda_cm_knows(&g.private, &peer, htonl(g.qpn)));
		EXPECT_TRUE(gda_cm_is_peer(&g.private, &peer, &self->target, htonl(g.qpn)));
		EXPECT_FALSE(tells(&g, &peer) || tells(&g, &self->target));
		ASSERT_OK(answer(&g, &peer, &self->target, how));
		EXPECT_EQ((uint32_t)(how == RIGHT ? GDA_QP_READY : GDA_QP_ERROR),
			  state_after(self->qp, GDA_QP_WAIT, MS)) TH_LOG("answer %d", how);
		ASSERT_OK(gda_qp_destroy(self->qp));
		gda_close(self->ctx);
		rdma_destroy_id(g.id);
		while (next(self->ch, 0, &g))
			;
		ASSERT_OK(qp_open(&self->ctx, &self->qp, &self->target));
	}
	rdma_destroy_id(listener);
}

/* --- by the thousand --- */

/* A request that does not know the nonce: is it rejected at once, without a word of the QP? */
static bool is_refused(FIXTURE_DATA(impostor) *self, unsigned int number)
{
	struct gda_cm_address target = self->target, peer = greater(&target, 0xffff00 - number);
	struct gda_cm_private p;
	struct rdma_cm_id *id;
	struct got g;
	bool yes;

	target.nonce ^= htobe64(1);
	p = signed_request(&peer, &target, QPN);
	id = ask(self->ch, &self->target, 0, &p, QPN);
	yes = id && next(self->ch, MS, &g) && g.type == RDMA_CM_EVENT_REJECTED &&
	      g.reject.reason == GDA_CM_REASON_UNKNOWN && !g.reject.tags.brief;
	if (id)
		rdma_destroy_id(id);
	return yes;
}

/* They are rejected as if there were no QP, and take no place; then all places are taken. */
TEST_F_TIMEOUT(impostor, P9_without_the_nonce, 300)
{
	unsigned long n = s_short(500, 10000), wrong = 0, held = 0;
	struct rdma_cm_id *ids[GDA_CM_MAX_PENDING];
	struct gda_cm_address peer;
	struct gda_cm_private p;
	struct got g;

	for (unsigned long i = 0; i < n; i++)
		wrong += !is_refused(self, (unsigned int)(i % 1000));
	TH_LOG("%lu requests without the nonce", n);
	EXPECT_EQ(0, wrong);
	for (unsigned int i = 0; i < GDA_CM_MAX_PENDING; i++) {
		peer = greater(&self->target, 0xffff00 - i);
		p = signed_request(&peer, &self->target, QPN + i);
		ids[i] = ask(self->ch, &self->target, 0, &p, QPN + i);
		held += !!ids[i];
	}
	EXPECT_EQ(GDA_CM_MAX_PENDING, held);
	EXPECT_FALSE(next(self->ch, 500, &g)) TH_LOG("event %d", g.type);
	peer = greater(&self->target, 0x800000);
	p = signed_request(&peer, &self->target, QPN - 1);
	EXPECT_FALSE(accepted(self, &p, QPN - 1, 0));
	for (unsigned int i = 0; i < GDA_CM_MAX_PENDING; i++)
		if (ids[i])
			rdma_destroy_id(ids[i]);
}

#define QPS	(1024U / GDA_CM_MAX_PENDING + 1)
#define MOST	(1024U + QPS)	/* requests that a context holds, one of each QP among them */

/* Ask @to for the peer of this number, which the target does not name. Return: is it held? */
static bool is_held(FIXTURE_DATA(impostor) *self, const struct gda_cm_address *to,
		    unsigned int number, struct rdma_cm_id **id)
{
	struct gda_cm_address peer = greater(to, 0xffff00 - number);
	struct gda_cm_private p = signed_request(&peer, to, QPN + number);
	struct got g;

	*id = ask(self->ch, to, 0, &p, QPN + number);
	return *id && !next(self->ch, number < MOST ? 0 : MS, &g);
}

/*
 * Each QP of a context holds as many as it may; all together one of each QP, and 1024. The newest
 * kernel sends no more requests of a device than some at once: then one asker cannot show it.
 */
TEST_F_TIMEOUT(impostor, O18_held_by_a_context, 300)
{
	struct rdma_cm_id **id = calloc(MOST + 1, sizeof(*id));
	unsigned int held = 0;
	struct gda_qp *qp[QPS];
	bool sends;

	ASSERT_NE(NULL, id);
	for (unsigned int i = 0; i < QPS; i++) {
		struct gda_address address;
		struct gda_cm_address to;

		ASSERT_OK(s_qp_open(self->ctx, DEPTH, S_TIMEOUT_NS, &qp[i]));
		ASSERT_OK(gda_qp_address(qp[i], &address));
		memcpy(&to, address.bytes, sizeof(to));
		for (unsigned int n = i * GDA_CM_MAX_PENDING;
		     n <= MOST && n < (i + 1) * GDA_CM_MAX_PENDING; n++)
			held += is_held(self, &to, n, &id[n]);
	}
	/* if not even this one is answered, the last request was not sent either */
	sends = held <= MOST || is_refused(self, 0);
	if (sends)
		EXPECT_EQ(MOST, held);
	for (unsigned int i = 0; i < QPS; i++)
		gda_qp_destroy(qp[i]);
	for (unsigned int n = 0; n <= MOST; n++)
		if (id[n])
			rdma_destroy_id(id[n]);
	free(id);
	if (!sends)
		SKIP(return, "this kernel sends no more requests of one device at once");
}

/* A request that its target does not answer goes in the end. Of gda_ib: kernel/ib_limits. */
TEST_F(impostor, O18_held_for_a_while)
{
	const char *device = getenv("GDA_DEVICE");
	struct rdma_cm_id *id;
	struct got g;

	if (device && !strncmp(device, "ib:", 3))
		SKIP(return, "of devices verbs:");
	gda_qp_destroy(self->qp);
	gda_close(self->ctx);
	setenv("GDA_PENDING_S", "2", 1);
	ASSERT_OK(qp_open(&self->ctx, &self->qp, &self->target));
	unsetenv("GDA_PENDING_S");
	EXPECT_TRUE(is_held(self, &self->target, 0, &id));
	EXPECT_FALSE(next(self->ch, 500, &g));
	ASSERT_TRUE(next(self->ch, MS, &g) && g.type == RDMA_CM_EVENT_REJECTED);
	EXPECT_EQ(GDA_CM_REASON_LATER, g.reject.reason);
	rdma_destroy_id(id);
}

TEST_HARNESS_MAIN

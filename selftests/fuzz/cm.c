// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Private data of rdma_cm, of any length and content, as requests, replies and rejections to a
 * context of lib/device/verbs with three QPs: one that has named nobody, one that has named its
 * peer, and one that asks. An input is a list of events. A part of each may be made right, or a
 * request would hardly ever get further than its tags.
 *
 * Each request ends in one place: rejected, held by the QP that it is for, or as its
 * connection. One by somebody who knows no nonce of a QP leaves everything as it was.
 */
#include "fuzz.h"
#include "../../lib/device/verbs/cm.c"

#define QPS		3
#define PRIVATE		256		/* most that rdma_cm ever passes on */

enum { FREE, NAMED, ASKS };

static struct gda_inproc_context *ctx;
static struct gda_verbs verbs;
static struct gda_inproc_qp iq[QPS];
static struct gda_verbs_qp vq[QPS];
static struct ibv_qp ibqp;
static struct ibv_device dev;
static struct ibv_context ibctx = { .device = &dev };

static uint64_t made, destroyed, rejected, accepted;

static int fake_create_id(struct rdma_event_channel *ch, struct rdma_cm_id **id, void *context,
			  enum rdma_port_space ps)
{
	(void)ps;
	*id = calloc(1, sizeof(**id));
	HOLDS(*id);
	(*id)->channel = ch;
	(*id)->context = context;
	made++;
	return 0;
}

static int fake_destroy_id(struct rdma_cm_id *id)
{
	free(id);
	destroyed++;
	return 0;
}

static int fake_reject(struct rdma_cm_id *id, const void *data, uint8_t length)
{
	const struct gda_cm_reject *why = data;

	(void)id;
	HOLDS(length == sizeof(*why) && why->version == GDA_CM_VERSION && why->reason &&
	      why->reason <= GDA_CM_REASON_LATER);
	rejected++;
	return 0;
}

static int fake_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	(void)id;
	HOLDS(param->private_data_len == sizeof(struct gda_cm_private));
	accepted++;
	return 0;
}

static int fake_id(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

/* Every message comes from the address of which it speaks, or none does. */
static uint8_t came_from[16];

static int fake_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	(void)id;
	attr->ah_attr.is_global = 1;
	memcpy(attr->ah_attr.grh.dgid.raw, came_from, sizeof(came_from));
	*mask = 0;
	return 0;
}

static int fake_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	(void)qp;
	(void)attr;
	(void)mask;
	return 0;
}

static void set_up(void)
{
	gda_rdma.create_id = fake_create_id;
	gda_rdma.destroy_id = fake_destroy_id;
	gda_rdma.reject = fake_reject;
	gda_rdma.accept = fake_accept;
	gda_rdma.disconnect = fake_id;
	gda_rdma.establish = fake_id;
	gda_rdma.init_qp_attr = fake_init_qp_attr;
	gda_ibv.modify_qp = fake_modify_qp;
	ctx = calloc(1, sizeof(*ctx));
	HOLDS(ctx);
	ctx->nworkers = 1;
	pthread_mutex_init(&ctx->worker[0].lock, NULL);
	verbs.ctx = ctx;
	verbs.dev = &ibctx;
	verbs.roce = true;
	ibqp.context = &ibctx;
}

static void address(struct gda_cm_address *a, uint32_t number, uint64_t nonce)
{
	memset(a, 0, sizeof(*a));
	a->version = GDA_CM_VERSION;
	a->port = htons(4000);
	a->number = htonl(number);
	a->nonce = htobe64(nonce);
	a->ip[15] = 1;
}

/* Another context's QP: greater than ours, so that it may ask. */
static void stranger(struct gda_cm_address *a, uint8_t which)
{
	address(a, 0x800000 + which, 99);
}

static void begin(void)
{
	verbs.qps = NULL;
	for (uint32_t i = 0; i < QPS; i++) {
		struct gda_verbs_qp *v = &vq[i];

		memset(v, 0, sizeof(*v));
		memset(&iq[i], 0, sizeof(iq[i]));
		iq[i].obj.ctx = ctx;
		iq[i].priv = v;
		iq[i].engine_qp.state = GDA_QP_INIT;
		v->qp = &iq[i];
		v->verbs = &verbs;
		v->fabric.qp = &ibqp;
		address(&v->fabric.self, i + 1, 7 + i);
		v->next = verbs.qps;
		verbs.qps = v;
	}
	vq[NAMED].fabric.named = true;
	stranger(&vq[NAMED].fabric.peer, 0);
	iq[NAMED].engine_qp.state = GDA_QP_WAIT;
	vq[ASKS].fabric.named = true;
	address(&vq[ASKS].fabric.peer, 1, 5);
	vq[ASKS].fabric.peer.ip[0] = 0;
	iq[ASKS].engine_qp.state = GDA_QP_WAIT;
	fake_create_id(NULL, &vq[ASKS].fabric.id, &vq[ASKS], RDMA_PS_TCP);
}

static void end(void)
{
	for (uint32_t i = 0; i < QPS; i++) {
		uint32_t n = 0;

		for (struct gda_fabric_request *r = vq[i].fabric.held; r; r = r->next)
			n++;
		HOLDS(n == vq[i].fabric.nheld && n <= GDA_CM_MAX_PENDING);
		gda_verbs_settle(&vq[i], false);
		gda_verbs_probe_end(&vq[i]);
		gda_verbs_drop(&vq[i]);
	}
	HOLDS(made == destroyed);
}

#define QPN	htonl(5)		/* of every RDMA QP that sends something */

/*
 * Make the bytes of a request, probe or reply right in the places that @how says: above all the
 * tags, as somebody makes them who knows the nonce of the QP (4), or of both ends (8).
 */
static void mend(uint8_t *data, uint32_t how, uint8_t which)
{
	const struct gda_verbs_qp *v = &vq[which % QPS];
	struct gda_cm_private p;
	struct gda_cm_address from;
	struct gda_cm_claim c;
	bool reply;

	memcpy(&p, data, sizeof(p));
	if (how & 1)
		p.version = GDA_CM_VERSION;
	p.role = how & 64 ? GDA_CM_ROLE_REPLY : how & 128 ? GDA_CM_ROLE_PROBE : p.role;
	if (how & 2)
		p.number = v->fabric.self.number;
	stranger(&from, which / QPS % 80);
	if (how & 16)
		from = v->fabric.peer;
	if (how & 32) {
		p.port = from.port;
		p.from = from.number;
		memcpy(p.ip, from.ip, sizeof(p.ip));
		p.token = v->fabric.token;
	}
	reply = p.role == GDA_CM_ROLE_REPLY;
	gda_cm_claim_set(&c, &p, &v->fabric.self, QPN);
	if (how & 4)
		gda_cm_tag_brief(&p.tags, &c, v->fabric.self.nonce);
	if (how & 8)
		gda_cm_tag_full(&p.tags, &c, reply ? from.nonce : v->fabric.self.nonce,
				reply ? v->fabric.self.nonce : from.nonce);
	memcpy(data, &p, sizeof(p));
}

/* The same of a rejection of what @v has sent to its peer. */
static void mend_reject(uint8_t *data, uint32_t how, const struct gda_verbs_qp *v, __be32 token)
{
	struct gda_cm_reject r;
	struct gda_cm_claim c;

	memcpy(&r, data, sizeof(r));
	if (how & 1)
		r.version = GDA_CM_VERSION;
	gda_cm_claim_set_reject(&c, r.reason, token, &v->fabric.peer, &v->fabric.self);
	if (how & 4)
		gda_cm_tag_brief(&r.tags, &c, v->fabric.peer.nonce);
	if (how & 8)
		gda_cm_tag_full(&r.tags, &c, v->fabric.peer.nonce, v->fabric.self.nonce);
	memcpy(data, &r, sizeof(r));
}

/* Is it by one that knows the nonce of the QP that it is for, and from its own address? */
static bool has_nonce(const uint8_t *data, size_t length)
{
	struct gda_cm_private p;

	if (length < sizeof(p))
		return false;
	memcpy(&p, data, sizeof(p));
	for (int i = 0; i < QPS; i++)
		if (gda_cm_private_ok(&p) && gda_cm_knows(&p, &vq[i].fabric.self, QPN))
			return !memcmp(p.ip, came_from, sizeof(came_from));
	return false;
}

/* State that a request without a nonce must not change. */
struct shown {
	uint32_t state[QPS], fail[QPS], npending[QPS];
	struct rdma_cm_id *id[QPS];
	uint64_t live, accepted;
};

static void show(struct shown *s)
{
	memset(s, 0, sizeof(*s));
	for (int i = 0; i < QPS; i++) {
		s->state[i] = iq[i].engine_qp.state;
		s->fail[i] = iq[i].engine_qp.fail;
		s->npending[i] = vq[i].fabric.nheld;
		s->id[i] = vq[i].fabric.id;
	}
	s->live = made - destroyed;
	s->accepted = accepted;
}

/* An event of @id with this private data, as the thread of a context takes it. */
static void happen(struct gda_fabric_event *e, struct rdma_cm_id *id, enum rdma_cm_event_type type,
		   int status, const uint8_t *data, size_t length)
{
	const struct rdma_cm_event event = {
		.event = type,
		.status = status,
		.param.conn = {
			.private_data = data,
			.private_data_len = (uint8_t)length,
			.qp_num = ntohl(QPN),
		},
	};

	gda_fabric_event_set(e, id, &event);
	gda_verbs_handle(&verbs, e);
}

static void request(const uint8_t *data, size_t length)
{
	struct gda_fabric_event e;
	struct rdma_cm_id *id;
	struct shown before, after;
	uint64_t refused = rejected;

	show(&before);
	fake_create_id(NULL, &id, NULL, RDMA_PS_TCP);
	happen(&e, id, RDMA_CM_EVENT_CONNECT_REQUEST, 0, data, length);
	show(&after);
	if (!has_nonce(data, length)) {
		HOLDS(!memcmp(&before, &after, sizeof(before)) && rejected == refused + 1);
		return;
	}
	/* kept, or rejected and gone */
	HOLDS(after.live - before.live + (rejected - refused) == 1);
}

/* An answer to the QP that asks, or to its probe. */
static void answer(enum rdma_cm_event_type type, int status, bool probe, const uint8_t *data,
		   size_t length)
{
	struct gda_verbs_qp *v = &vq[probe ? NAMED : ASKS];
	struct rdma_cm_id *id;
	struct gda_fabric_event e;
	bool was_ready = iq[ASKS].engine_qp.state == GDA_QP_READY;

	if (probe && !v->fabric.probe)
		fake_create_id(NULL, &v->fabric.probe, v, RDMA_PS_TCP);
	id = probe ? v->fabric.probe : v->fabric.id;
	if (!id)
		return;
	happen(&e, id, type, status, data, length);
	/* ready only if the peer that was named says so, of the right QP */
	if (!probe && !was_ready && iq[ASKS].engine_qp.state == GDA_QP_READY)
		HOLDS(e.private.role == GDA_CM_ROLE_REPLY &&
		      e.private.token == v->fabric.token &&
		      gda_cm_is_peer(&e.private, &v->fabric.self, &v->fabric.peer, QPN));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint8_t buf[PRIVATE];

	if (!ctx)
		set_up();
	begin();
	/* more than may wait for one QP */
	for (int i = 0; in.left && i < 80; i++) {
		uint8_t what = take8(&in), how = take8(&in), which = take8(&in);
		size_t length = take8(&in);

		memset(buf, 0, sizeof(buf));
		take(&in, buf, length);
		memset(came_from, 0, sizeof(came_from));
		came_from[15] = what & 128 ? 2 : 1;
		if (what % 4 == 3)
			mend_reject(buf, how, &vq[how & 64 ? NAMED : ASKS],
				    how & 64 ? vq[NAMED].fabric.probe_token :
				    vq[ASKS].fabric.token);
		else
			mend(buf, how, which);
		if (what % 4 < 2)
			request(buf, length);
		else if (what % 4 == 2)
			answer(RDMA_CM_EVENT_CONNECT_RESPONSE, 0, false, buf, length);
		else
			answer(RDMA_CM_EVENT_REJECTED, what / 4 % 32, how & 64, buf, length);
	}
	end();
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A QP's side of rdma_cm (gda/cm.h): the messages that it sends to its peer, and what it does when
 * messages come. The RDMA QP exists before its connection does, so this file moves it through its
 * states itself, and not rdma_cm. Nonces of addresses are secrets that are never sent: a tag proves
 * that an end knows a nonce, before a request is held and before a connection begins.
 */
#include "fabric.h"

/* The code of 537 ms: seven tries then outlast a cable that is unplugged for two seconds. */
#define GDA_FABRIC_ACK_TIMEOUT		17

/* The code of 163.84 ms: six more tries then end after about one second. */
#define GDA_FABRIC_MIN_RNR_TIMER	28

/* So many unanswered probes in a row, and the peer is taken for gone. */
#define GDA_FABRIC_PROBE_MISSES		3U

/* Why rdma_cm reports a request as rejected: by the peer's CM (stale), or by its listener. */
#define GDA_FABRIC_REJ_STALE		10
#define GDA_FABRIC_REJ_BY_PEER		28

static_assert(sizeof(struct gda_cm_address) == GDA_ADDRESS_BYTES);

/* --- addresses and events --- */

const u8 gda_fabric_mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

void gda_fabric_sockaddr(struct sockaddr_storage *sa, const u8 *ip, __be16 port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)sa;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)sa;

	memset(sa, 0, sizeof(*sa));
	if (!memcmp(ip, gda_fabric_mapped, sizeof(gda_fabric_mapped))) {
		in->sin_family = AF_INET;
		in->sin_port = port;
		memcpy(&in->sin_addr, ip + sizeof(gda_fabric_mapped), sizeof(in->sin_addr));
	} else {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = port;
		memcpy(&in6->sin6_addr, ip, sizeof(in6->sin6_addr));
	}
}

void gda_fabric_event_set(struct gda_fabric_event *e, struct rdma_cm_id *id,
			  const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	size_t length = conn->private_data ? conn->private_data_len : 0;

	memset(e, 0, sizeof(*e));
	e->type = event->event;
	e->status = event->status;
	e->id = id;
	e->qpn = cpu_to_be32(conn->qp_num);
	/* the most that the sender has in flight is the most that we respond to */
	e->depth = conn->responder_resources;
	e->resources = conn->initiator_depth;
	if (e->type == RDMA_CM_EVENT_REJECTED && length >= sizeof(e->reject))
		memcpy(&e->reject, conn->private_data, sizeof(e->reject));
	else if ((e->type == RDMA_CM_EVENT_CONNECT_REQUEST ||
		  e->type == RDMA_CM_EVENT_CONNECT_RESPONSE) && length >= sizeof(e->private))
		memcpy(&e->private, conn->private_data, sizeof(e->private));
}

/* --- the QP --- */

/* Move the RDMA QP to @state. Its driver reads only the members of @attr that @mask names. */
static int gda_fabric_move(struct gda_fabric_qp *q, struct rdma_cm_id *id, int state)
{
	struct gda_os_qp_attr attr = { .qp_state = state };
	int mask, ret;

	ret = gda_os_init_qp_attr(id, &attr, &mask);
	if (ret)
		return ret;
	/* the QP allows all accesses; MRs restrict them */
	attr.qp_access_flags = GDA_OS_IB(ACCESS_LOCAL_WRITE) | GDA_OS_IB(ACCESS_REMOTE_WRITE) |
			       GDA_OS_IB(ACCESS_REMOTE_READ);
	if (q->atomic)
		attr.qp_access_flags |= GDA_OS_IB(ACCESS_REMOTE_ATOMIC);
	attr.min_rnr_timer = GDA_FABRIC_MIN_RNR_TIMER;
	attr.timeout = GDA_FABRIC_ACK_TIMEOUT;
	attr.retry_cnt = GDA_FABRIC_RETRIES;
	attr.rnr_retry = GDA_FABRIC_RETRIES;
	attr.max_dest_rd_atomic = min(attr.max_dest_rd_atomic, q->responds);
	attr.max_rd_atomic = min(attr.max_rd_atomic, q->initiates);
	return gda_os_modify_qp(q->qp, &attr, mask);
}

/* Receives are posted before the peer can send anything. */
static int gda_fabric_to_init(struct gda_fabric_qp *q, struct rdma_cm_id *id)
{
	int ret = gda_fabric_move(q, id, GDA_OS_IB(QPS_INIT));

	if (ret)
		return ret;
	WRITE_ONCE(q->started, true);
	return gda_fabric_post_receives(q, q->nrecv) == q->nrecv ? 0 : -ENOMEM;
}

static int gda_fabric_to_rts(struct gda_fabric_qp *q, struct rdma_cm_id *id)
{
	int ret = gda_fabric_move(q, id, GDA_OS_IB(QPS_RTR));

	return ret ? ret : gda_fabric_move(q, id, GDA_OS_IB(QPS_RTS));
}

/* --- messages --- */

/*
 * Build the private data that @q sends to its peer, for its RDMA QP @qpn. @p must live as long as
 * @param.
 */
static void gda_fabric_param(const struct gda_fabric_qp *q, u8 role, __be32 token, u32 qpn,
			     struct gda_cm_private *p, struct rdma_conn_param *param)
{
	gda_cm_private_set(p, role, token, &q->self, &q->peer);
	gda_cm_sign(p, &q->self, &q->peer, cpu_to_be32(qpn));
	*param = (struct rdma_conn_param) {
		.private_data = p,
		.private_data_len = sizeof(*p),
		.retry_count = GDA_FABRIC_RETRIES,
		.qp_num = qpn,
	};
	if (role == GDA_CM_ROLE_PROBE)
		return;
	param->responder_resources = q->responds;
	param->initiator_depth = q->initiates;
	param->rnr_retry_count = GDA_FABRIC_RETRIES;
}

/* The route is known. */
static int gda_fabric_ask(struct gda_fabric_qp *q, struct rdma_cm_id *id)
{
	struct rdma_conn_param param;
	struct gda_cm_private p;
	int ret;

	q->token = (__force __be32)gda_os_random32();
	gda_fabric_param(q, GDA_CM_ROLE_REQUEST, q->token, q->qp->qp_num, &p, &param);
	ret = gda_fabric_to_init(q, id);
	return ret ? ret : gda_os_connect(id, &param);
}

int gda_fabric_accept(struct gda_fabric_qp *q, const struct gda_fabric_request *request)
{
	struct rdma_conn_param param;
	struct gda_cm_private p;
	int ret;

	gda_fabric_param(q, GDA_CM_ROLE_REPLY, request->private.token, q->qp->qp_num, &p, &param);
	param.responder_resources = min(q->responds, request->depth);
	param.initiator_depth = min(q->initiates, request->resources);
	ret = gda_fabric_to_init(q, request->id);
	if (!ret)
		ret = gda_fabric_to_rts(q, request->id);
	return ret ? ret : gda_os_accept(request->id, &param);
}

/*
 * The peer has answered. Check that the answer comes from the QP that was asked, and that it names
 * this QP.
 */
static int gda_fabric_answered(struct gda_fabric_qp *q, const struct gda_fabric_event *e)
{
	int ret;

	/* it must be the peer's QP, not another one at its port */
	if (!gda_cm_private_ok(&e->private) || e->private.role != GDA_CM_ROLE_REPLY ||
	    e->private.token != q->token ||
	    !gda_cm_is_peer(&e->private, &q->self, &q->peer, e->qpn))
		return -EPROTO;
	ret = gda_fabric_to_rts(q, e->id);
	if (!ret)
		ret = gda_os_establish(e->id);
	if (!ret)
		gda_fabric_host_ready(q);
	return ret;
}

int gda_fabric_event(struct gda_fabric_qp *q, const struct gda_fabric_event *e)
{
	switch (e->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return gda_os_resolve_route(q->qp, e->id, GDA_FABRIC_RESOLVE_MS);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return gda_fabric_ask(q, e->id);
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		return gda_fabric_answered(q, e);
	case RDMA_CM_EVENT_ESTABLISHED:
		gda_fabric_host_ready(q);
		return 0;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return 0;
	default:
		/* RDMA_CM_EVENT_TIMEWAIT_EXIT, too, which ends a connection without a message */
		return -ECONNRESET;
	}
}

/* --- probes --- */

static int gda_fabric_probe_send(struct gda_fabric_qp *q, struct rdma_cm_id *id)
{
	struct rdma_conn_param param;
	struct gda_cm_private p;

	q->probe_token = (__force __be32)gda_os_random32();
	gda_fabric_param(q, GDA_CM_ROLE_PROBE, q->probe_token, GDA_CM_PROBE_QPN, &p, &param);
	return gda_os_connect(id, &param);
}

/*
 * The peer, its machine or a stranger has rejected the probe. A rejection cannot prove that a QP is
 * gone, because its nonce is gone with it.
 */
static enum gda_fabric_probe gda_fabric_probe_rejected(const struct gda_fabric_qp *q,
						       const struct gda_fabric_event *e)
{
	enum gda_cm_proof proof;

	if (e->status == GDA_FABRIC_REJ_STALE)
		return GDA_FABRIC_PROBE_STALE;
	if (e->status != GDA_FABRIC_REJ_BY_PEER)
		return GDA_FABRIC_PROBE_MISSED;
	proof = gda_cm_reject_proof(&e->reject, q->probe_token, &q->self, &q->peer);
	if (proof == GDA_CM_PROOF_NONE)
		return GDA_FABRIC_PROBE_MISSED;
	if (e->reject.reason == GDA_CM_REASON_LATER || e->reject.reason == GDA_CM_REASON_FULL)
		return GDA_FABRIC_PROBE_THERE;
	return proof == GDA_CM_PROOF_FULL ? GDA_FABRIC_PROBE_GONE : GDA_FABRIC_PROBE_MISSED;
}

enum gda_fabric_probe gda_fabric_probe_event(struct gda_fabric_qp *q,
					     const struct gda_fabric_event *e)
{
	int ret = -ECONNRESET;

	switch (e->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		ret = gda_os_resolve_route(q->qp, e->id, GDA_FABRIC_RESOLVE_MS);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ret = gda_fabric_probe_send(q, e->id);
		break;
	case RDMA_CM_EVENT_REJECTED:
		return gda_fabric_probe_rejected(q, e);
	case RDMA_CM_EVENT_UNREACHABLE:
		/* many tries in a row, for more than a minute */
		return GDA_FABRIC_PROBE_GONE;
	default:
		break;
	}
	return ret ? GDA_FABRIC_PROBE_MISSED : GDA_FABRIC_PROBE_GOES_ON;
}

bool gda_fabric_probe_over(struct gda_fabric_qp *q, enum gda_fabric_probe outcome)
{
	if (q->probe)
		gda_os_destroy_id(q->probe);
	q->probe = NULL;
	if (outcome == GDA_FABRIC_PROBE_THERE) {
		q->probe_missed = 0;
		q->probe_stale = 0;
	} else if (outcome == GDA_FABRIC_PROBE_MISSED ||
		   (outcome == GDA_FABRIC_PROBE_STALE &&
		    ++q->probe_stale > GDA_FABRIC_PROBES_STALE)) {
		q->probe_missed++;
	}
	return outcome == GDA_FABRIC_PROBE_GONE || q->probe_missed >= GDA_FABRIC_PROBE_MISSES;
}

// SPDX-License-Identifier: MIT
/*
 * A peer that speaks rdma_cm and verbs itself, and knows the nonce: it was given the address. What
 * it does beyond uapi/gda/cm.h costs it the connection, and the target nothing but that. On the
 * device that GDA_DEVICE names.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <rdma/rdma_cma.h>
#include <gda/ring.h>
#include "../inproc/suite.h"
#include "proof.h"

#define DEPTH	16

FIXTURE(forged) {
	struct gda_context *ctx;
	struct gda_cq *ring;
	struct gda_qp *qp;
	struct gda_cm_address target;
	struct gda_cm_address self;	/* of the peer, which asks: it is the greater one */
};

static int target_open(FIXTURE_DATA(forged) *self)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = DEPTH, .timeout_ns = S_TIMEOUT_NS,
		.recv_cq = self->ring,
	};
	struct gda_address address;
	int err = gda_qp_create(self->ctx, &attr, &self->qp);

	err = err ? err : gda_qp_address(self->qp, &address);
	if (err)
		return err;
	memcpy(&self->target, address.bytes, sizeof(self->target));
	self->self = self->target;
	self->self.port = htons(0xffff);
	self->self.number = htonl(0xffff00);
	return 0;
}

FIXTURE_SETUP(forged)
{
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = 64 };

	ASSERT_OK(gda_open(NULL, &self->ctx)) TH_LOG("%s", gda_last_error());
	if (!s_fabric(self->ctx))
		SKIP(return, "the device is on no fabric");
	ASSERT_OK(gda_cq_create(self->ctx, &ring, &self->ring));
	ASSERT_OK(target_open(self));
}

FIXTURE_TEARDOWN(forged)
{
	gda_qp_destroy(self->qp);
	gda_cq_destroy(self->ring);
	gda_close(self->ctx);
}

/* The target names the peer. */
static int target_name(FIXTURE_DATA(forged) *self)
{
	struct gda_address address;

	memset(&address, 0, sizeof(address));
	memcpy(address.bytes, &self->self, sizeof(self->self));
	return gda_qp_connect(self->qp, &address);
}

/* Make an id whose address and route are resolved, and a QP where @qp says so. */
static struct rdma_cm_id *peer_id(FIXTURE_DATA(forged) *self, struct rdma_event_channel *channel,
				  bool qp)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = self->target.port };
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_cm_id *id;

	memcpy(&to.sin_addr, self->target.ip + 12, 4);
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return NULL;
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000) ||
	    rdma_resolve_route(id, 2000) || (qp && rdma_create_qp(id, NULL, &attr)) ||
	    (channel && rdma_migrate_id(id, channel))) {
		rdma_destroy_id(id);
		return NULL;
	}
	return id;
}

static int ask(FIXTURE_DATA(forged) *self, struct rdma_cm_id *id, const struct gda_cm_address *from)
{
	struct gda_cm_private p;
	struct rdma_conn_param param = {
		.private_data = &p, .private_data_len = sizeof(p), .retry_count = 6,
		.rnr_retry_count = 6, .responder_resources = 1, .initiator_depth = 1, .qp_num = 17,
	};

	gda_cm_private_set(&p, GDA_CM_ROLE_REQUEST, htonl(1), from, &self->target);
	gda_cm_sign(&p, from, &self->target, htonl(id->qp ? id->qp->qp_num : param.qp_num));
	return rdma_connect(id, &param) ? -errno : 0;
}

static uint32_t wait_error(FIXTURE_DATA(forged) *self)
{
	struct gda_qp_query q = { .size = sizeof(q) };
	uint64_t end = gda_clock_ns() + S_TIMEOUT_NS / 2;

	do {
		if (gda_qp_query(self->qp, &q) || q.state == GDA_QP_ERROR)
			break;
		usleep(1000);
	} while (gda_clock_ns() < end);
	return q.state;
}

/*
 * Connect to the target, which has named the peer by the time that the request is answered. Return:
 * the peer's id with its QP, or NULL: the target gave the peer up, which was too slow to ask.
 */
static struct rdma_cm_id *connected(FIXTURE_DATA(forged) *self, struct rdma_event_channel *channel)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_id *id = peer_id(self, channel, true);
	struct rdma_cm_event *event;
	bool established = false;

	if (!id || ask(self, id, &self->self) || target_name(self))
		return NULL;
	if (poll(&p, 1, 30000) == 1 && !rdma_get_cm_event(channel, &event)) {
		established = event->event == RDMA_CM_EVENT_ESTABLISHED;
		rdma_ack_cm_event(event);
	}
	if (established)
		return id;
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	return NULL;
}

/* A SEND arrives as a receive, as an immediate does, and is none. */
TEST_F(forged, X_sends)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	struct rdma_cm_id *id = NULL;

	ASSERT_NE(NULL, channel);
	for (int i = 0; i < 5 && !id; i++) {
		if (i) {
			ASSERT_OK(gda_qp_destroy(self->qp));
			ASSERT_OK(target_open(self));
		}
		id = connected(self, channel);
	}
	ASSERT_NE(NULL, id);
	ASSERT_EQ(0, ibv_post_send(id->qp, &wr, &bad));
	EXPECT_EQ(GDA_QP_ERROR, wait_error(self));
	EXPECT_EQ(0, gda_cq_poll(gda_cq_view(self->ring), &entry));
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
}

#define HELD	32		/* requests that come before the QP names its peer */

/* The peer's request, others that are to be refused, which takes time, and the peer's again. */
struct storm {
	FIXTURE_DATA(forged) *self;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *ids[2 * HELD];
};

static void storm_ask(struct storm *s, unsigned int i, const struct gda_cm_address *from)
{
	s->ids[i] = peer_id(s->self, s->channel, false);
	if (s->ids[i])
		ask(s->self, s->ids[i], from);
}

static void *storm_main(void *arg)
{
	struct storm *s = arg;

	for (unsigned int i = HELD; i < 2 * HELD; i++)
		storm_ask(s, i, &s->self->self);
	return NULL;
}

/*
 * The peer asks again and again while the QP names it: one request becomes the connection, and
 * the others are refused. No id is left that knows the QP, which is gone then.
 */
TEST_F_TIMEOUT(forged, E1_asks_many_times, 200)
{
	for (unsigned int round = 0; round < s_short(3, 10); round++) {
		struct gda_cm_address other = self->self;
		struct storm s = { .self = self };
		pthread_t thread;

		s.channel = rdma_create_event_channel();
		ASSERT_NE(NULL, s.channel);
		for (unsigned int i = 0; i < HELD; i++) {
			other.number = htonl(ntohl(self->self.number) - 1 - i);
			storm_ask(&s, i, &other);
		}
		/* for most to come; it is no matter if some come later */
		usleep(500000);
		ASSERT_EQ(0, pthread_create(&thread, NULL, storm_main, &s));
		EXPECT_OK(target_name(self));
		pthread_join(thread, NULL);
		EXPECT_OK(gda_qp_destroy(self->qp));
		/* one that was forgotten would tell a QP that is freed */
		for (unsigned int i = 0; i < 2 * HELD; i++) {
			ASSERT_NE(NULL, s.ids[i]);
			rdma_disconnect(s.ids[i]);
			rdma_destroy_id(s.ids[i]);
		}
		rdma_destroy_event_channel(s.channel);
		ASSERT_OK(target_open(self));
	}
}

TEST_HARNESS_MAIN

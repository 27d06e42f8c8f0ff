// SPDX-License-Identifier: MIT
/*
 * librdmacm of the fake RDMA device (fake.c): ids of one process that find each other by
 * port. Its events are queued at a channel, at once or, with GDA_FAKE_DELAY, by a thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#define FAKE_PRIVATE	56		/* of a request */
#define REJ_TIMEOUT	4
#define REJ_NO_SERVICE	8
#define REJ_CONSUMER	28

struct fake_event {
	struct rdma_cm_event ib;
	struct fake_event *next;
	struct fake_id *to;
	uint64_t due;
	unsigned char private[FAKE_PRIVATE];
};

struct fake_channel {
	struct rdma_event_channel ib;
	struct fake_event *events;	/* that have come */
};

struct fake_id {
	struct rdma_cm_id ib;
	struct fake_id *next;		/* that listens */
	struct fake_id *peer;
	uint16_t port;
	uint16_t to;
	uint8_t ip[2][16];		/* its own, and the other end's */
	uint32_t qpn;
	uint64_t due;			/* of its last event */
	unsigned int refs;		/* its own, and of each event under way */
	bool dead;
	bool connected;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_id *listeners;
static struct fake_event *wire;		/* events under way */
static uint16_t next_port = 20000;
static uint64_t seed = 88172645463325252ULL;
static struct ibv_device device = { .name = "fake0" };
static struct ibv_context context = { .device = &device };

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static unsigned int delay_ms(void)
{
	const char *env = getenv("GDA_FAKE_DELAY");
	unsigned int most = env ? (unsigned int)atoi(env) : 0;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return most ? (unsigned int)(seed % (most + 1)) : 0;
}

static bool is_silent(void)
{
	const char *does = getenv("GDA_FAKE");

	return does && !strcmp(does, "silent");
}

/* --- events; all with the lock --- */

static void put_id(struct fake_id *id)
{
	if (!--id->refs)
		free(id);
}

/* Give an event to its channel, or drop it: its id was destroyed. */
static void deliver(struct fake_event *e)
{
	struct fake_id *id = e->to;
	struct fake_channel *ch = (struct fake_channel *)id->ib.channel;
	struct fake_event **end = &ch->events;

	if (id->dead) {
		put_id(id);
		free(e);
		return;
	}
	while (*end)
		end = &(*end)->next;
	*end = e;
	e->next = NULL;
	eventfd_write(ch->ib.fd, 1);
}

static void *wire_main(void *arg)
{
	(void)arg;
	for (;;) {
		struct fake_event **link;
		uint64_t now;

		usleep(1000);
		pthread_mutex_lock(&lock);
		now = now_ms();
		for (link = &wire; *link;) {
			struct fake_event *e = *link;

			if (e->due > now) {
				link = &e->next;
				continue;
			}
			*link = e->next;
			deliver(e);
		}
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void send_event(struct fake_id *to, enum rdma_cm_event_type type, int status,
		       const void *private, size_t length)
{
	static pthread_t thread;
	struct fake_event *e = calloc(1, sizeof(*e)), **end = &wire;

	if (!e || length > sizeof(e->private))
		abort();
	e->ib.event = type;
	e->ib.status = status;
	e->ib.id = &to->ib;
	if (length)
		memcpy(e->private, private, length);
	e->ib.param.conn.private_data = e->private;
	e->ib.param.conn.private_data_len = sizeof(e->private);
	e->ib.param.conn.qp_num = to->peer ? to->peer->qpn : 0;
	e->to = to;
	to->refs++;
	e->due = now_ms() + delay_ms();
	if (e->due <= to->due)
		e->due = to->due + 1;
	if (!getenv("GDA_FAKE_DELAY")) {
		deliver(e);
		return;
	}
	to->due = e->due;
	while (*end)
		end = &(*end)->next;
	*end = e;
	if (!thread && pthread_create(&thread, NULL, wire_main, NULL))
		abort();
}

static void drop_events(struct fake_id *id)
{
	struct fake_event **link = &((struct fake_channel *)id->ib.channel)->events;
	eventfd_t one;

	while (*link) {
		struct fake_event *e = *link;

		if (e->to != id) {
			link = &e->next;
			continue;
		}
		*link = e->next;
		eventfd_read(id->ib.channel->fd, &one);
		put_id(id);
		free(e);
	}
}

/* --- the calls --- */

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct fake_channel *ch = calloc(1, sizeof(*ch));

	if (ch)
		ch->ib.fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	return ch ? &ch->ib : NULL;
}

int rdma_get_cm_event(struct rdma_event_channel *ib, struct rdma_cm_event **event)
{
	struct fake_channel *ch = (struct fake_channel *)ib;
	struct fake_event *e;
	eventfd_t one;

	pthread_mutex_lock(&lock);
	e = ch->events;
	if (e) {
		ch->events = e->next;
		eventfd_read(ch->ib.fd, &one);
		*event = &e->ib;
	}
	pthread_mutex_unlock(&lock);
	errno = EAGAIN;
	return e ? 0 : -1;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct fake_event *e = (struct fake_event *)event;

	pthread_mutex_lock(&lock);
	put_id(e->to);
	pthread_mutex_unlock(&lock);
	free(e);
	return 0;
}

static struct fake_id *new_id(struct rdma_event_channel *ch, void *own)
{
	struct fake_id *id = calloc(1, sizeof(*id));

	if (!id)
		abort();
	id->ib.channel = ch;
	id->ib.context = own;
	id->ib.verbs = &context;
	id->ib.port_num = 1;
	id->refs = 1;
	return id;
}

int rdma_create_id(struct rdma_event_channel *ch, struct rdma_cm_id **id, void *own,
		   enum rdma_port_space ps)
{
	(void)ps;
	*id = &new_id(ch, own)->ib;
	return 0;
}

/* Tell the peer, if there is one, that this end goes. */
static void leave(struct fake_id *id)
{
	struct fake_id *peer = id->peer;

	if (!peer)
		return;
	id->peer = NULL;
	peer->peer = NULL;
	if (is_silent())
		return;
	if (id->connected)
		send_event(peer, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	else
		send_event(peer, RDMA_CM_EVENT_REJECTED, REJ_TIMEOUT, NULL, 0);
}

int rdma_destroy_id(struct rdma_cm_id *ib)
{
	struct fake_id *id = (struct fake_id *)ib, **link = &listeners;

	pthread_mutex_lock(&lock);
	while (*link && *link != id)
		link = &(*link)->next;
	if (*link)
		*link = id->next;
	leave(id);
	drop_events(id);
	id->dead = true;
	put_id(id);
	pthread_mutex_unlock(&lock);
	return 0;
}

/* The request of an event that nobody took: its id is nobody's, and goes as the kernel's does. */
static void drop_request(struct fake_id *id)
{
	if (id->dead)
		return;
	leave(id);
	id->dead = true;
	put_id(id);
}

/* All ids of users are gone. What is left, here and under way, are requests. */
void rdma_destroy_event_channel(struct rdma_event_channel *ib)
{
	struct fake_channel *ch = (struct fake_channel *)ib;
	struct fake_event *e;

	pthread_mutex_lock(&lock);
	while ((e = ch->events)) {
		ch->events = e->next;
		drop_request(e->to);
		put_id(e->to);
		free(e);
	}
	for (e = wire; e; e = e->next)
		if (e->to->ib.channel == ib)
			drop_request(e->to);
	pthread_mutex_unlock(&lock);
	close(ch->ib.fd);
	free(ch);
}

/* As a GID has it. */
static void take_ip(uint8_t ip[16], const struct sockaddr *addr)
{
	memset(ip, 0, 16);
	if (addr && addr->sa_family == AF_INET) {
		memset(ip + 10, 0xff, 2);
		memcpy(ip + 12, &((const struct sockaddr_in *)(const void *)addr)->sin_addr, 4);
	} else if (addr) {
		memcpy(ip, &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr, 16);
	}
}

int rdma_bind_addr(struct rdma_cm_id *ib, struct sockaddr *addr)
{
	struct fake_id *id = (struct fake_id *)ib, *l;
	int ret = 0;

	/* the port is where IPv4 and IPv6 have it */
	pthread_mutex_lock(&lock);
	id->port = ntohs(((struct sockaddr_in *)(void *)addr)->sin_port);
	for (l = listeners; l; l = l->next)
		if (id->port && l->port == id->port)
			ret = -1;
	pthread_mutex_unlock(&lock);
	errno = EADDRINUSE;
	return ret;
}

int rdma_listen(struct rdma_cm_id *ib, int backlog)
{
	struct fake_id *id = (struct fake_id *)ib;

	(void)backlog;
	pthread_mutex_lock(&lock);
	if (!id->port)
		id->port = next_port++;
	id->next = listeners;
	listeners = id;
	pthread_mutex_unlock(&lock);
	return 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return htons(((struct fake_id *)id)->port);
}

int rdma_resolve_addr(struct rdma_cm_id *ib, struct sockaddr *from, struct sockaddr *to, int ms)
{
	struct fake_id *id = (struct fake_id *)ib;

	(void)ms;
	pthread_mutex_lock(&lock);
	take_ip(id->ip[0], from ? from : to);
	take_ip(id->ip[1], to);
	id->to = ntohs(((struct sockaddr_in *)(void *)to)->sin_port);
	send_event(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, 0);
	pthread_mutex_unlock(&lock);
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int ms)
{
	(void)ms;
	pthread_mutex_lock(&lock);
	send_event((struct fake_id *)id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, 0);
	pthread_mutex_unlock(&lock);
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *ib, struct ibv_qp_attr *attr, int *mask)
{
	const struct fake_id *id = (struct fake_id *)ib;

	pthread_mutex_lock(&lock);
	*mask = IBV_QP_STATE;
	if (id->peer)
		attr->dest_qp_num = id->peer->qpn;
	attr->ah_attr.is_global = 1;
	memcpy(attr->ah_attr.grh.dgid.raw, id->ip[1], 16);
	pthread_mutex_unlock(&lock);
	attr->max_dest_rd_atomic = 255;
	attr->max_rd_atomic = 255;
	return 0;
}

int rdma_connect(struct rdma_cm_id *ib, struct rdma_conn_param *param)
{
	struct fake_id *id = (struct fake_id *)ib, *l, *child;

	pthread_mutex_lock(&lock);
	id->qpn = param->qp_num;
	for (l = listeners; l && l->port != id->to;)
		l = l->next;
	if (l) {
		child = new_id(l->ib.channel, l->ib.context);
		memcpy(child->ip[0], id->ip[1], 16);
		memcpy(child->ip[1], id->ip[0], 16);
		child->peer = id;
		id->peer = child;
		send_event(child, RDMA_CM_EVENT_CONNECT_REQUEST, 0, param->private_data,
			   param->private_data_len);
	} else if (!is_silent()) {
		send_event(id, RDMA_CM_EVENT_REJECTED, REJ_NO_SERVICE, NULL, 0);
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

/* An end whose peer is gone has nobody to answer. */
static int answer(struct rdma_cm_id *ib, enum rdma_cm_event_type type,
		  const struct rdma_conn_param *param)
{
	struct fake_id *id = (struct fake_id *)ib;
	int ret = -1;

	pthread_mutex_lock(&lock);
	if (id->peer) {
		if (param)
			id->qpn = param->qp_num;
		id->connected = true;
		send_event(id->peer, type, 0, param ? param->private_data : NULL,
			   param ? param->private_data_len : 0);
		ret = 0;
	}
	pthread_mutex_unlock(&lock);
	errno = ENOTCONN;
	return ret;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	return answer(id, RDMA_CM_EVENT_CONNECT_RESPONSE, param);
}

int rdma_establish(struct rdma_cm_id *id)
{
	return answer(id, RDMA_CM_EVENT_ESTABLISHED, NULL);
}

int rdma_reject(struct rdma_cm_id *ib, const void *data, uint8_t length)
{
	struct fake_id *id = (struct fake_id *)ib;

	pthread_mutex_lock(&lock);
	if (id->peer) {
		send_event(id->peer, RDMA_CM_EVENT_REJECTED, REJ_CONSUMER, data, length);
		id->peer->peer = NULL;
		id->peer = NULL;
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *ib)
{
	pthread_mutex_lock(&lock);
	leave((struct fake_id *)ib);
	pthread_mutex_unlock(&lock);
	return 0;
}

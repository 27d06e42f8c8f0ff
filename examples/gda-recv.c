// SPDX-License-Identifier: MIT
/*
 * gda-recv - let another process write into registered memory, and check it
 *
 * Meets gda-send at a socket, registers memory for what is to come and a 64-bit
 * counter for signals, and says where they are. While the data flows it only looks
 * at the counter. Then it compares SHA-256 of its memory with what the sender says
 * of the file.
 */
#include <string.h>
#include <unistd.h>
#include "demo.h"

struct receiver {
	struct gda_context *ctx;
	struct gda_qp *qp;
	struct gda_mr *data;
	struct gda_mr *counter_mr;
	uint64_t *counter;
	uint64_t blocks;
	int memory;
};

/* Inside the window: see the signals come. The parent sees to it that this ends. */
static int receive(struct window *w, void *arg)
{
	struct receiver *r = arg;
	uint64_t block;

	for (block = 0; block < r->blocks; block++) {
		window_step(w, block);
		while (__atomic_load_n(r->counter, __ATOMIC_ACQUIRE) <= block)
			gda_pause();
	}
	window_step(w, block);
	return 0;
}

static void set_up(struct receiver *r, const struct options *o, const struct message_hello *hello,
		   struct message_offer *offer)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 1 };
	uint32_t access = GDA_ACCESS_LOCAL_WRITE | GDA_ACCESS_REMOTE_WRITE;
	void *data = shared_memory(hello->bytes, &r->memory);

	r->counter = shared_memory(sizeof(*r->counter), NULL);
	r->blocks = (hello->bytes + hello->block - 1) / hello->block;
	must(gda_open(o->device, &r->ctx), o->device);
	must(gda_qp_create(r->ctx, &attr, &r->qp), "create QP");
	must(gda_mr_reg(r->ctx, data, hello->bytes, access, 0, &r->data), "register memory");
	must(gda_mr_reg(r->ctx, r->counter, sizeof(*r->counter),
			GDA_ACCESS_LOCAL_WRITE | GDA_ACCESS_REMOTE_ATOMIC, 0,
			&r->counter_mr), "register counter");
	must(gda_qp_connect(r->qp, &hello->qp), "connect QP");
	offer->type = MESSAGE_OFFER;
	offer->data_key = gda_mr_key(r->data);
	offer->data_iova = gda_mr_iova(r->data);
	offer->counter_key = gda_mr_key(r->counter_mr);
	offer->counter_iova = gda_mr_iova(r->counter_mr);
	must(gda_qp_address(r->qp, &offer->qp), "QP address");
}

static void tell(const struct options *o, const struct receiver *r, const char *peer,
		 const struct window *w, const struct message_sum *sum, const char *sha256)
{
	report(o, "role", "receiver");
	report(o, "user", "%u", getuid());
	report(o, "peer", "%s", peer);
	report(o, "bytes", "%llu", (unsigned long long)sum->bytes);
	report(o, "signals", "%llu", (unsigned long long)*r->counter);
	report(o, "ms", "%.1f", (double)(w->ended_ns - w->began_ns) / 1e6);
	report(o, "filter", "%s", window_proof());
	report(o, "sha256", "%s", sha256);
	report(o, "verdict", "%s", strcmp(sha256, sum->sha256) ? "DIFFERENT" : "equal");
	report_end(o);
}

int main(int argc, char **argv)
{
	struct receiver r = { 0 };
	struct message_hello hello;
	struct message_offer offer = { 0 };
	struct message_armed armed = { .type = MESSAGE_ARMED };
	struct message_sum sum;
	struct message_verdict verdict = { .type = MESSAGE_VERDICT };
	char sha256[DEMO_HASH];
	struct options o;
	struct window *w;
	char peer[DEMO_PEER_NAME];
	int fd;

	options_parse(&o, argc, argv, false);
	fd = wire_accept(&o, wire_listen(&o), peer);
	wire_recv(fd, &hello, sizeof(hello), MESSAGE_HELLO);
	if (!hello.bytes || hello.bytes >> 32 || !hello.block)
		die(DEMO_FAILED, "the sender offers %llu bytes", (unsigned long long)hello.bytes);
	set_up(&r, &o, &hello, &offer);
	wire_send(fd, &offer, sizeof(offer));

	w = window_open(&o, receive, &r, r.blocks);
	wire_send(fd, &armed, sizeof(armed));
	window_close(w, &o, fd);

	sha256_of(r.memory, sha256);
	wire_recv(fd, &sum, sizeof(sum), MESSAGE_SUM);
	sum.sha256[DEMO_HASH - 1] = 0;
	verdict.equal = !strcmp(sha256, sum.sha256) && sum.bytes == hello.bytes;
	wire_send(fd, &verdict, sizeof(verdict));
	tell(&o, &r, peer, w, &sum, sha256);
	return verdict.equal ? 0 : DEMO_FAILED;
}

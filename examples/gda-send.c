// SPDX-License-Identifier: MIT
/*
 * gda-send - stream a file into the memory of another process
 *
 * Reads the file into registered memory and meets gda-recv at a socket. Then
 * block by block a put, and a fetch-add on the receiver's counter as its signal,
 * all posted by stores to mapped memory. While the data flows it polls and never waits by a
 * call: the calls that wait may yield the processor, or carry out work themselves.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "demo.h"

/* Two requests a block, and more than an executor has in flight at once. */
#define SEND_DEPTH	512

struct sender {
	struct gda_context *ctx;
	struct gda_qp *qp;
	struct gda_view *view;
	struct gda_mr *data;
	struct gda_mr *old_mr;		/* where fetch-add leaves the old count */
	struct message_offer offer;
	uint64_t bytes;
	int file;
};

/* Post: there may be no room just now. The parent sees to it that this ends. */
#define POST(call) ({							\
	int64_t posted;							\
									\
	while ((posted = (call)) == -EAGAIN)				\
		gda_pause();						\
	posted;								\
})

static int64_t send_block(struct sender *s, uint64_t off)
{
	uint64_t left = s->bytes - off;
	int64_t ticket;

	ticket = POST(gda_put(s->view, gda_mr_iova(s->data) + off, gda_mr_key(s->data),
			      s->offer.data_iova + off, s->offer.data_key,
			      left < DEMO_BLOCK ? (uint32_t)left : DEMO_BLOCK,
			      GDA_EXCLUSIVE | GDA_DEFER | GDA_NOWAIT));
	if (ticket < 0)
		return ticket;
	return POST(gda_fetch_add(s->view, gda_mr_iova(s->old_mr), gda_mr_key(s->old_mr),
				  s->offer.counter_iova, s->offer.counter_key, 1,
				  GDA_EXCLUSIVE | GDA_NOWAIT));
}

/* Inside the window: post all, see all done. */
static int stream(struct window *w, void *arg)
{
	struct sender *s = arg;
	int64_t last = 0;
	uint64_t off;
	int done = 0;

	for (off = 0; off < s->bytes && last >= 0; off += DEMO_BLOCK) {
		window_step(w, off / DEMO_BLOCK);
		last = send_block(s, off);
	}
	while (last >= 0 && !(done = gda_test(s->view, last)))
		gda_pause();
	window_step(w, (off + DEMO_BLOCK - 1) / DEMO_BLOCK);
	w->error.size = sizeof(w->error);
	w->failed = gda_error(s->view, &w->error);
	if (w->failed)
		return -EIO;
	return last < 0 ? (int)last : done < 0 ? done : 0;
}

static void read_file(struct sender *s, const char *path, char *to)
{
	uint64_t got = 0;
	ssize_t n;

	while (got < s->bytes) {
		n = read(s->file, to + got, s->bytes - got);
		if (n <= 0)
			die(DEMO_FAILED, "%s: %s", path, n ? strerror(errno) : "it shrinks");
		got += (uint64_t)n;
	}
}

static void set_up(struct sender *s, const struct options *o, struct message_hello *hello)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr),
		.sq_depth = SEND_DEPTH,
		.timeout_ns = o->seconds * 1000000000ULL,
	};
	struct stat st;
	char *data, *old;

	s->file = open(o->file, O_RDONLY | O_CLOEXEC);
	if (s->file < 0 || fstat(s->file, &st))
		die(DEMO_FAILED, "%s: %s", o->file, strerror(errno));
	if (!S_ISREG(st.st_mode) || !st.st_size || (uint64_t)st.st_size >> 32)
		die(DEMO_FAILED, "%s: not a file of 1 byte to 4 GiB", o->file);
	s->bytes = (uint64_t)st.st_size;
	data = shared_memory(s->bytes, NULL);
	old = shared_memory(8, NULL);
	read_file(s, o->file, data);
	must(gda_open(o->device, &s->ctx), o->device);
	must(gda_qp_create(s->ctx, &attr, &s->qp), "create QP");
	must(gda_mr_reg(s->ctx, data, s->bytes, 0, 0, &s->data), "register memory");
	must(gda_mr_reg(s->ctx, old, 8, GDA_ACCESS_LOCAL_WRITE, 0, &s->old_mr),
	     "register memory");
	s->view = gda_qp_view(s->qp);
	hello->type = MESSAGE_HELLO;
	hello->block = DEMO_BLOCK;
	hello->bytes = s->bytes;
	must(gda_qp_address(s->qp, &hello->qp), "QP address");
}

static void tell(const struct options *o, const char *peer, const struct window *w,
		 const struct message_sum *sum, bool equal)
{
	report(o, "role", "sender");
	report(o, "user", "%u", getuid());
	report(o, "peer", "%s", peer);
	report(o, "file", "%s", o->file);
	report(o, "bytes", "%llu", (unsigned long long)sum->bytes);
	report(o, "signals", "%llu", (unsigned long long)w->blocks);
	report(o, "ms", "%.1f", (double)sum->ns / 1e6);
	/* in MB/s */
	report(o, "rate", "%.0f", (double)sum->bytes * 1e3 / (double)sum->ns);
	report(o, "filter", "%s", window_proof());
	report(o, "sha256", "%s", sum->sha256);
	report(o, "verdict", "%s", equal ? "equal" : "DIFFERENT");
	report_end(o);
}

int main(int argc, char **argv)
{
	struct sender s = { 0 };
	struct message_hello hello = { 0 };
	struct message_armed armed;
	struct message_sum sum = { .type = MESSAGE_SUM };
	struct message_verdict verdict;
	struct options o;
	struct window *w;
	char peer[DEMO_PEER_NAME];
	int fd;

	options_parse(&o, argc, argv, true);
	set_up(&s, &o, &hello);
	fd = wire_connect(&o, peer);
	wire_send(fd, &hello, sizeof(hello));
	wire_recv(fd, &s.offer, sizeof(s.offer), MESSAGE_OFFER);
	must(gda_qp_connect(s.qp, &s.offer.qp), "connect QP");
	wire_recv(fd, &armed, sizeof(armed), MESSAGE_ARMED);

	w = window_open(&o, stream, &s, (s.bytes + DEMO_BLOCK - 1) / DEMO_BLOCK);
	window_close(w, &o, fd);

	sha256_of(s.file, sum.sha256);
	sum.bytes = s.bytes;
	sum.ns = w->ended_ns - w->began_ns;
	wire_send(fd, &sum, sizeof(sum));
	wire_recv(fd, &verdict, sizeof(verdict), MESSAGE_VERDICT);
	tell(&o, peer, w, &sum, verdict.equal);
	return verdict.equal ? 0 : DEMO_FAILED;
}

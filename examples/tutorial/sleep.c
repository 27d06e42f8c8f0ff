// SPDX-License-Identifier: MIT
/* The consumer sleeps until a put with an immediate arrives. */
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <gda/ring.h>
#include "tutorial.h"

static char source[8] = "three", target[8];
static struct end producer, consumer;

static void *produce(void *unused)
{
	struct gda_view *view = gda_qp_view(producer.qp);

	(void)unused;
	usleep(20000);
	MUST(gda_wait(view, gda_put_imm(view, gda_mr_iova(producer.mr), gda_mr_key(producer.mr),
					gda_mr_iova(consumer.mr), gda_mr_key(consumer.mr),
					sizeof(source), 3, 0), 0));
	return NULL;
}

/* As end_open(), with a ring that takes the immediates of the peer. */
static struct gda_cq *consumer_open(void)
{
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = 64 };
	struct gda_qp_attr attr = { .size = sizeof(attr) };

	MUST(gda_open(NULL, &consumer.ctx));
	MUST(gda_cq_create(consumer.ctx, &ring, &attr.recv_cq));
	MUST(gda_qp_create(consumer.ctx, &attr, &consumer.qp));
	MUST(gda_mr_reg(consumer.ctx, target, sizeof(target), GDA_ACCESS_ALL, 0, &consumer.mr));
	return attr.recv_cq;
}

int main(void)
{
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	int efd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	struct gda_cq *ring;
	pthread_t thread;

	end_open(&producer, source, sizeof(source));
	ring = consumer_open();
	end_connect(&producer, &consumer);
	MUST(-pthread_create(&thread, NULL, produce, NULL));

	MUST(gda_cq_sleep(ring, efd, GDA_CQ_ARM, &entry, in_ms(10000)));
	printf("woken by immediate %u, with %u bytes: %s\n", entry.imm, entry.bytes, target);

	pthread_join(thread, NULL);
	end_close(&producer);
	MUST(gda_mr_dereg(consumer.mr));
	MUST(gda_qp_destroy(consumer.qp));
	MUST(gda_cq_destroy(ring));
	gda_close(consumer.ctx);
	close(efd);
	return 0;
}

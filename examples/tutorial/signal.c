// SPDX-License-Identifier: MIT
/* A producer puts blocks of data, and a signal behind each; the consumer polls the signal. */
#include <pthread.h>
#include <sched.h>
#include "tutorial.h"

#define BLOCKS	3
#define WORDS	1000

static struct {
	uint64_t block[BLOCKS][WORDS];
	uint64_t signal;
} source, target;

static struct end producer, consumer;

static void *produce(void *unused)
{
	struct gda_view *view = gda_qp_view(producer.qp);
	uint32_t lkey = gda_mr_key(producer.mr), rkey = gda_mr_key(consumer.mr);
	struct gda_signal signal = { .size = sizeof(signal), .op = GDA_SIGNAL_SET,
				     .raddr = (uintptr_t)&target.signal, .rkey = rkey };

	(void)unused;
	for (uint64_t n = 0; n < BLOCKS; n++) {
		for (int i = 0; i < WORDS; i++)
			source.block[n][i] = n + 1;
		signal.value = n + 1;
		MUST(gda_put_signal(view, (uintptr_t)source.block[n], lkey,
				    (uintptr_t)target.block[n], rkey, sizeof(source.block[n]),
				    &signal, 0));
	}
	MUST(gda_quiet(view, 0));
	return NULL;
}

/* Waits until the signal is at least @value. */
static void signal_wait(uint64_t value)
{
	uint64_t deadline = in_ms(10000);

	while (__atomic_load_n(&target.signal, __ATOMIC_ACQUIRE) < value) {
		if (gda_clock_ns() > deadline)
			MUST(-ETIMEDOUT);
		sched_yield();
	}
}

int main(void)
{
	pthread_t thread;

	end_open(&producer, &source, sizeof(source));
	end_open(&consumer, &target, sizeof(target));
	end_connect(&producer, &consumer);
	MUST(-pthread_create(&thread, NULL, produce, NULL));
	for (uint64_t n = 0; n < BLOCKS; n++) {
		uint64_t sum = 0;

		signal_wait(n + 1);
		for (int i = 0; i < WORDS; i++)
			sum += target.block[n][i];
		printf("signal %llu: the sum of the block is %llu\n",
		       (unsigned long long)n + 1, (unsigned long long)sum);
	}
	pthread_join(thread, NULL);
	end_close(&producer);
	end_close(&consumer);
	return 0;
}

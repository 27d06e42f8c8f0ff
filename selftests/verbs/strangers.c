// SPDX-License-Identifier: MIT
/*
 * Requests of strangers to the listener of a device `verbs:` or `ib:`, with private data of each
 * length and any content: each is rejected, costs no memory, and takes no place of those that
 * may wait for a QP. On the device that GDA_DEVICE names.
 */
#include <arpa/inet.h>
#include <malloc.h>
#include <stdio.h>
#include <rdma/rdma_cma.h>
#include "../inproc/suite.h"
#include "proof.h"

#define DEPTH	16
#define LEN	4096
#define PRIVATE	56		/* most that a request has room for */

FIXTURE(strangers) {
	struct s_end end[2];
	struct gda_cm_address target;
	struct sockaddr_in to;
};

FIXTURE_SETUP(strangers)
{
	struct gda_address address;

	for (int i = 0; i < 2; i++)
		ASSERT_OK(s_end_open(&self->end[i], DEPTH, LEN)) TH_LOG("%s", gda_last_error());
	if (!s_fabric(self->end[0].ctx))
		SKIP(return, "the device is on no fabric");
	ASSERT_OK(gda_qp_address(self->end[0].qp, &address));
	memcpy(&self->target, address.bytes, sizeof(self->target));
	self->to.sin_family = AF_INET;
	self->to.sin_port = self->target.port;
	memcpy(&self->to.sin_addr, self->target.ip + 12, 4);
}

FIXTURE_TEARDOWN(strangers)
{
	s_pair_close(self->end);
}

/* Send one request. Return: the errno of rdma_cm. */
static int request(FIXTURE_DATA(strangers) *self, const void *data, uint8_t length)
{
	struct rdma_conn_param param = {
		.private_data = data, .private_data_len = length, .retry_count = 6, .qp_num = 1,
	};
	struct rdma_cm_id *id;
	int err = 0;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return errno;
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&self->to, 2000) ||
	    rdma_resolve_route(id, 2000) || rdma_connect(id, &param))
		err = errno;
	rdma_destroy_id(id);
	return err;
}

/* Nearly right, or not at all; never with the nonce. Return: its length. */
static uint8_t invent(FIXTURE_DATA(strangers) *self, uint8_t *data, uint64_t *seed)
{
	struct gda_cm_address from, to = self->target;
	struct gda_cm_private p;

	for (int i = 0; i < PRIVATE; i++)
		data[i] = (uint8_t)s_random(seed);
	if (s_below(seed, 4)) {
		to.nonce ^= 1ULL << s_below(seed, 64);
		from = self->target;
		from.nonce = s_random(seed);
		from.number = htonl(0xffffff);
		gda_cm_private_set(&p, (uint8_t)(GDA_CM_ROLE_REQUEST + s_below(seed, 3)),
				   (__be32)s_random(seed), &from, &to);
		gda_cm_sign(&p, &from, &to, htonl(1));
		memcpy(data, &p, sizeof(p));
	}
	return (uint8_t)s_below(seed, PRIVATE + 1);
}

/* Memory of this process, and of the kernel but for what it can reclaim: KiB. */
static long memory_used(void)
{
	struct mallinfo2 here = mallinfo2();
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "SUnreclaim: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib + (long)(here.uordblks >> 10);
}

TEST_F_TIMEOUT(strangers, E6_costs_no_memory, 200)
{
	unsigned long n = s_short(500, 2000), wrong = 0;
	uint64_t seed = s_seed();
	uint8_t data[PRIVATE];
	long before, after;

	TH_LOG("%lu requests, GDA_SEED=%llu", n, (unsigned long long)seed);
	for (unsigned long i = 0; i < 60; i++)
		wrong += request(self, data, invent(self, data, &seed)) != ECONNREFUSED;
	before = memory_used();
	for (unsigned long i = 0; i < n; i++)
		wrong += request(self, data, invent(self, data, &seed)) != ECONNREFUSED;
	/* rdma_cm has some that wait for a second */
	sleep(2);
	after = memory_used();
	EXPECT_EQ(0, wrong);
	TH_LOG("%ld KiB more after %lu requests", after - before, n);
	/* what is kept of a request is more than 2 KiB, with its id */
	EXPECT_GT((long)n, after - before);
	/* and the target did not notice */
	ASSERT_OK(s_connect(self->end[0].qp, self->end[1].qp));
	EXPECT_OK(gda_wait(self->end[0].v, s_put(&self->end[0], 0, &self->end[1], 0, 8, 0), 0));
}

TEST_F_TIMEOUT(strangers, E6_every_length, 100)
{
	uint8_t data[PRIVATE] = { GDA_CM_VERSION };
	unsigned int wrong = 0;

	for (uint8_t length = 0; length <= PRIVATE; length++)
		wrong += request(self, data, length) != ECONNREFUSED;
	EXPECT_EQ(0, wrong);
}

TEST_HARNESS_MAIN

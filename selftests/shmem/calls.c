// SPDX-License-Identifier: MIT
/*
 * Every call of gda/shmem.h against a serial reference: PEs as threads and as processes.
 */
#include "pes.h"

#define PES	3
#define HEAP	(1U << 20)
#define CHUNK	65536U
/* fewer by queue, where PEs, their workers and a busy machine take turns */
#define ROUNDS(n)	(s->qps ? (n) / 5 : (n))

FIXTURE(calls) {
	struct p_pe *p;
	struct gda_shmem_attr attr;
};

FIXTURE_VARIANT(calls) {
	uint32_t way;
	bool processes;
	uint64_t chunk_bytes;
};

FIXTURE_VARIANT_ADD(calls, direct_threads) { .way = GDA_SHMEM_DIRECT };
FIXTURE_VARIANT_ADD(calls, direct_processes) { .way = GDA_SHMEM_DIRECT, .processes = true };

FIXTURE_VARIANT_ADD(calls, queue_threads) { .way = GDA_SHMEM_QUEUE };
/* a heap of many MRs */
FIXTURE_VARIANT_ADD(calls, queue_chunks) { .way = GDA_SHMEM_QUEUE, .chunk_bytes = CHUNK };
FIXTURE_VARIANT_ADD(calls, queue_processes) { .way = GDA_SHMEM_QUEUE, .processes = true };

FIXTURE_SETUP(calls)
{
	if (variant->way == GDA_SHMEM_QUEUE && variant->processes && access("/dev/gda", F_OK))
		SKIP(return, "no /dev/gda");
	self->p = p_alloc();
	self->attr = (struct gda_shmem_attr) {
		.way = variant->way, .heap_bytes = HEAP, .chunk_bytes = variant->chunk_bytes,
	};
}

FIXTURE_TEARDOWN(calls)
{
	munmap(self->p, sizeof(struct p_pe) * R_MAX);
}

#define RUN(body)								\
	EXPECT_EQ(0, p_run(self->p, PES, variant->processes, &self->attr, body)) {	\
		uint32_t i;							\
		for (i = 0; i < PES; i++)					\
			TH_LOG("PE %u: %d %s", i, self->p[i].result, self->p[i].why);	\
	}

static uint64_t *words(struct gda_shmem *s)
{
	return (uint64_t *)(uintptr_t)s->heap;
}

static bool sync_all(struct gda_shmem *s, struct gda_comm *comm)
{
	return !gda_shmem_quiet(s, 0) && !gda_comm_barrier(comm, 0);
}

/* The byte that PE @pe puts at @i in round @round. */
static uint8_t pattern(uint32_t pe, uint32_t i, uint32_t round)
{
	return (uint8_t)(pe * 37 + i * 11 + round * 101 + (i >> 8));
}

static int body_put_get(struct gda_shmem *s, struct gda_comm *comm)
{
	uint8_t *heap = (uint8_t *)(uintptr_t)s->heap, *local = malloc(HEAP);
	static const uint32_t sizes[] = { 0, 1, 7, 8, 28, 29, 64, 972, 973, 4095, 65537, 200000 };
	uint32_t left = (s->pe + s->npes - 1) % s->npes, right = (s->pe + 1) % s->npes, k, i;

	for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		uint32_t n = sizes[k], off = 3 * k;

		for (i = 0; i < n; i++)
			local[i] = pattern(s->pe, i, k);
		if (k % 2) {
			CHECK(!gda_shmem_put(s, heap + off, local, n, right, 0));
			memset(local, 0, n);
		} else {
			CHECK(gda_shmem_put_nbi(s, heap + off, local, n, right, 0) >= 0);
		}
		CHECK(sync_all(s, comm));
		for (i = 0; i < n; i++)
			CHECK(heap[off + i] == pattern(left, i, k));
		/* and back again: what the PE to the right has is this one's */
		memset(local, 0xee, n);
		if (k % 2)
			CHECK(!gda_shmem_get(s, local, heap + off, n, right, 0));
		else
			CHECK(gda_shmem_get_nbi(s, local, heap + off, n, right, 0) >= 0 &&
			      !gda_shmem_quiet_pe(s, right, 0));
		for (i = 0; i < n; i++)
			CHECK(local[i] == pattern(s->pe, i, k));
		CHECK(sync_all(s, comm));
	}
	free(local);
	return 0;
}

TEST_F(calls, put_get)
{
	RUN(body_put_get);
}

/* A source in the heap, which the device reads, is stored to as soon as the put has returned. */
static int body_source_free(struct gda_shmem *s, struct gda_comm *comm)
{
	struct gda_shmem_signal signal = { .word = words(s), .value = 1, .op = GDA_SHMEM_SET };
	char *heap = (char *)(uintptr_t)s->heap, *source = heap + 256, back[64];
	uint32_t right = (s->pe + 1) % s->npes, i, n, k;

	CHECK(sync_all(s, comm));
	for (i = 0; i < 400; i++) {
		char *dest;

		n = 2 + i % 27;
		/* across the end of an MR, where there are several */
		dest = heap + CHUNK * (1 + i % 8) - 1 - i % (n - 1);
		memset(source, 1 + i % 100, n);
		if (i % 2)
			CHECK(!gda_shmem_put(s, dest, source, n, right, 0));
		else
			CHECK(!gda_shmem_put_signal(s, dest, source, n, &signal, right, 0));
		memset(source, 0xee, n);
		CHECK(!gda_shmem_quiet(s, 0) && !gda_shmem_get(s, back, dest, n, right, 0));
		for (k = 0; k < n; k++)
			CHECK(back[k] == (char)(1 + i % 100));
	}
	return sync_all(s, comm) ? 0 : __LINE__;
}

TEST_F(calls, item_1_source_is_free_when_a_put_returns)
{
	RUN(body_source_free);
}

static int body_p_g(struct gda_shmem *s, struct gda_comm *comm)
{
	uint8_t *heap = (uint8_t *)(uintptr_t)s->heap;
	uint64_t all = 0x1122334455667788U * (s->pe + 1), got;
	uint32_t right = (s->pe + 1) % s->npes;

	memset(heap, 0xee, 64);
	CHECK(sync_all(s, comm));
	CHECK(gda_shmem_p(s, heap + 1, all, 1, right, 0) >= 0);
	CHECK(gda_shmem_p(s, heap + 4, all, 2, right, 0) >= 0);
	CHECK(gda_shmem_p(s, heap + 8, all, 4, right, 0) >= 0);
	CHECK(gda_shmem_p(s, heap + 16, all, 8, right, 0) >= 0);
	CHECK(sync_all(s, comm));
	CHECK(!gda_shmem_g(s, &got, heap + 1, 1, right, 0) && got == (uint8_t)all);
	CHECK(!gda_shmem_g(s, &got, heap + 4, 2, right, 0) && got == (uint16_t)all);
	CHECK(!gda_shmem_g(s, &got, heap + 8, 4, right, 0) && got == (uint32_t)all);
	CHECK(!gda_shmem_g(s, &got, heap + 16, 8, right, 0) && got == all);
	/* nothing beside them was written */
	CHECK(heap[0] == 0xee && heap[2] == 0xee && heap[3] == 0xee && heap[6] == 0xee &&
	      heap[7] == 0xee && heap[12] == 0xee && heap[15] == 0xee && heap[24] == 0xee);
	CHECK(gda_shmem_p(s, heap + 1, 1, 8, right, 0) == -EINVAL);
	CHECK(gda_shmem_p(s, heap, 1, 3, right, 0) == -EINVAL);
	CHECK(gda_shmem_g(s, &got, heap, 16, right, 0) == -EINVAL);
	return 0;
}

TEST_F(calls, I_16_p_and_g_of_every_width)
{
	RUN(body_p_g);
}

static int body_strided(struct gda_shmem *s, struct gda_comm *comm)
{
	uint32_t *heap = (uint32_t *)(uintptr_t)s->heap, local[64], right, left, i;
	struct gda_shmem_strided what = {
		.dest = heap, .source = local, .dest_stride = 3, .source_stride = 2,
		.bytes = 4, .count = 20,
	};

	right = (s->pe + 1) % s->npes;
	left = (s->pe + s->npes - 1) % s->npes;
	for (i = 0; i < 64; i++) {
		heap[i] = 0xeeeeeeee;
		local[i] = s->pe * 1000 + i;
	}
	CHECK(sync_all(s, comm));
	CHECK(!gda_shmem_iput(s, &what, right, 0));
	CHECK(sync_all(s, comm));
	for (i = 0; i < 60; i++)
		CHECK(heap[i] == (i % 3 ? 0xeeeeeeee : left * 1000 + i / 3 * 2));
	what = (struct gda_shmem_strided) {
		.dest = local + 19, .source = heap, .dest_stride = -1, .source_stride = 3,
		.bytes = 4, .count = 20,
	};
	CHECK(!gda_shmem_iget(s, &what, right, 0));
	for (i = 0; i < 20; i++)
		CHECK(local[19 - i] == s->pe * 1000 + 2 * i);
	return 0;
}

TEST_F(calls, strided)
{
	RUN(body_strided);
}

static const uint32_t ops[] = {
	GDA_SHMEM_SET, GDA_SHMEM_ADD, GDA_SHMEM_AND, GDA_SHMEM_OR, GDA_SHMEM_XOR,
};

static uint64_t reference(uint32_t op, uint64_t old, uint64_t value)
{
	switch (op) {
	case GDA_SHMEM_SET:
		return value;
	case GDA_SHMEM_ADD:
		return old + value;
	case GDA_SHMEM_AND:
		return old & value;
	case GDA_SHMEM_OR:
		return old | value;
	case GDA_SHMEM_XOR:
		return old ^ value;
	default:
		return old;
	}
}

/* Without atomics: a store, a load, and everything else is refused. */
static int body_no_atomics(struct gda_shmem *s, struct gda_comm *comm)
{
	uint32_t right = (s->pe + 1) % s->npes, i, *half = (uint32_t *)(words(s) + 2), old32;
	uint64_t *w = words(s), old;

	for (i = 1; i < 50; i++) {
		CHECK(gda_shmem_atomic64(s, w, GDA_SHMEM_SET, i, right, 0) >= 0);
		CHECK(gda_shmem_atomic32(s, half, GDA_SHMEM_SET, i, right, 0) >= 0);
		CHECK(!gda_shmem_fence(s));
		CHECK(!gda_shmem_atomic_fetch64(s, w, GDA_SHMEM_FETCH, 0, &old, right, 0) && old == i);
		CHECK(!gda_shmem_atomic_fetch32(s, half, GDA_SHMEM_FETCH, 0, &old32, right, 0) &&
		      old32 == i);
	}
	for (i = 1; i < sizeof(ops) / sizeof(ops[0]); i++) {
		CHECK(gda_shmem_atomic64(s, w, ops[i], 1, right, 0) == -EOPNOTSUPP);
		CHECK(gda_shmem_atomic32(s, half, ops[i], 1, right, 0) == -EOPNOTSUPP);
	}
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		CHECK(gda_shmem_atomic_fetch64(s, w, ops[i], 1, &old, right, 0) == -EOPNOTSUPP);
		CHECK(gda_shmem_atomic_fetch32(s, half, ops[i], 1, &old32, right, 0) == -EOPNOTSUPP);
	}
	CHECK(gda_shmem_compare_swap64(s, w, 1, 7, &old, right, 0) == -EOPNOTSUPP);
	CHECK(gda_shmem_compare_swap32(s, half, 1, 7, &old32, right, 0) == -EOPNOTSUPP);
	return sync_all(s, comm) && *w == 49 && *half == 49 ? 0 : __LINE__;
}

static int body_atomics(struct gda_shmem *s, struct gda_comm *comm)
{
	uint64_t *w = words(s), was = 0, old, value = 0x9e3779b97f4a7c15U * (s->pe + 1);
	uint32_t right = (s->pe + 1) % s->npes, i, *half = (uint32_t *)(w + 2);
	uint32_t was32 = 0, old32;

	if (gda_shmem_unordered(s))
		return body_no_atomics(s, comm);
	/* this PE alone changes those of the one to the right */
	for (i = 0; i < 50; i++, value = value * 6364136223846793005U + 1) {
		uint32_t op = ops[i % 5];

		CHECK(gda_shmem_atomic64(s, w, op, value, right, 0) >= 0);
		was = reference(op, was, value);
		CHECK(!gda_shmem_atomic_fetch64(s, w, op, ~value, &old, right, 0) && old == was);
		was = reference(op, was, ~value);
		CHECK(!gda_shmem_compare_swap64(s, w, was + 1, 7, &old, right, 0) && old == was);
		CHECK(!gda_shmem_compare_swap64(s, w, was, value, &old, right, 0) && old == was);
		was = value;
		CHECK(!gda_shmem_atomic_fetch64(s, w, GDA_SHMEM_FETCH, 0, &old, right, 0) &&
		      old == was);

		CHECK(gda_shmem_atomic32(s, half, op, (uint32_t)value, right, 0) >= 0);
		was32 = (uint32_t)reference(op, was32, (uint32_t)value);
		CHECK(!gda_shmem_atomic_fetch32(s, half, op, (uint32_t)~value, &old32, right, 0) &&
		      old32 == was32);
		was32 = (uint32_t)reference(op, was32, (uint32_t)~value);
		CHECK(!gda_shmem_compare_swap32(s, half, was32 + 1, 7, &old32, right, 0) &&
		      old32 == was32);
		CHECK(!gda_shmem_compare_swap32(s, half, was32, (uint32_t)value, &old32, right,
						0) &&
		      old32 == was32);
		was32 = (uint32_t)value;
		CHECK(!gda_shmem_atomic_fetch32(s, half, GDA_SHMEM_FETCH, 0, &old32, right, 0) &&
		      old32 == was32);
	}
	CHECK(sync_all(s, comm));
	CHECK(w[1] == 0 && half[1] == 0);
	CHECK(gda_shmem_atomic64(s, w, 17, 1, right, 0) == -EINVAL);
	CHECK(gda_shmem_atomic64(s, (uint64_t *)(void *)(half + 1), GDA_SHMEM_ADD, 1, right, 0) ==
	      -EINVAL);
	return 0;
}

TEST_F(calls, atomics_of_both_widths)
{
	RUN(body_atomics);
}

/* All PEs at one word of each width, and nothing is lost; what lies beside stays. */
static int body_contended(struct gda_shmem *s, struct gda_comm *comm)
{
	uint64_t *w = words(s), old, bits;
	uint32_t *half = (uint32_t *)(w + 2), i, rounds = ROUNDS(2000), old32;

	if (gda_shmem_unordered(s))
		return body_no_atomics(s, comm);
	for (i = 0; i < rounds; i++) {
		CHECK(gda_shmem_atomic64(s, w, GDA_SHMEM_ADD, 1, 0, 0) >= 0);
		CHECK(gda_shmem_atomic32(s, half, GDA_SHMEM_ADD, 0x80000001, 0, 0) >= 0);
		CHECK(gda_shmem_atomic32(s, half + 4, GDA_SHMEM_XOR, 1U << s->pe, 0, 0) >= 0);
		if (i % 16)
			continue;
		CHECK(!gda_shmem_atomic_fetch64(s, w + 5, GDA_SHMEM_OR,
						1ULL << (20 * s->pe + i / 16 % 20), &old, 0, 0));
		bits = old >> 20 * s->pe & 0xfffff;
		CHECK(bits == (i / 16 < 20 ? (1ULL << i / 16) - 1 : 0xfffff));
		CHECK(!gda_shmem_atomic_fetch32(s, half, GDA_SHMEM_ADD, 0, &old32, 0, 0));
	}
	CHECK(sync_all(s, comm));
	if (s->pe == 0) {
		CHECK(w[0] == (uint64_t)rounds * s->npes && w[1] == 0);
		CHECK(half[0] == 0x80000001U * rounds * s->npes && half[1] == 0);
		CHECK(half[4] == 0 && half[5] == 0);
	}
	return 0;
}

TEST_F(calls, I_15_contended_atomics_touch_only_their_word)
{
	RUN(body_contended);
}

/* The bytes are there when the signal is seen, many times over. */
static int body_signal(struct gda_shmem *s, struct gda_comm *comm)
{
	uint8_t *data = (uint8_t *)(uintptr_t)s->heap + 4096, local[600];
	struct gda_shmem_signal signal = { .word = words(s), .value = 1, .op = GDA_SHMEM_ADD };
	uint32_t right = (s->pe + 1) % s->npes, left = (s->pe + s->npes - 1) % s->npes, i, k;
	uint64_t *ack = words(s) + 1;

	if (gda_shmem_unordered(s)) {
		CHECK(gda_shmem_put_signal(s, data, local, 1, &signal, right, 0) == -EOPNOTSUPP);
		signal.op = GDA_SHMEM_SET;
	}
	for (i = 1; i <= ROUNDS(300); i++) {
		signal.value = signal.op == GDA_SHMEM_SET ? i : 1;
		for (k = 0; k < sizeof(local); k++)
			local[k] = pattern(s->pe, k, i);
		if (i % 2)
			CHECK(!gda_shmem_put_signal(s, data, local, sizeof(local), &signal, right,
						    0));
		else
			CHECK(gda_shmem_put_signal_nbi(s, data, local, sizeof(local), &signal,
						       right, 0) >= 0);
		CHECK(!gda_shmem_wait_until64(s, signal.word, GDA_SHMEM_GE, i, 0));
		for (k = 0; k < sizeof(local); k++)
			CHECK(data[k] == pattern(left, k, i));
		/* tell the sender that it may write again, and wait for the other's word */
		CHECK(gda_shmem_p(s, ack, i, 8, left, 0) >= 0);
		CHECK(!gda_shmem_wait_until64(s, ack, GDA_SHMEM_EQ, i, 0));
		CHECK(!gda_shmem_quiet(s, 0));
	}
	CHECK(sync_all(s, comm));
	CHECK(gda_shmem_load64(signal.word) == ROUNDS(300) && !gda_comm_barrier(comm, 0));
	signal.op = GDA_SHMEM_SET;
	signal.value = 12345;
	CHECK(!gda_shmem_put_signal(s, data, local, 0, &signal, right, 0));
	CHECK(!gda_shmem_wait_until64(s, signal.word, GDA_SHMEM_EQ, 12345, 0));
	signal.op = GDA_SHMEM_XOR;
	CHECK(gda_shmem_put_signal_nbi(s, data, local, 1, &signal, right, 0) == -EINVAL);
	return 0;
}

TEST_F(calls, put_with_signal)
{
	RUN(body_signal);
}

/* A flag behind a fence is seen after what was put before it. */
static int body_fence(struct gda_shmem *s, struct gda_comm *comm)
{
	uint64_t *w = words(s) + 64, *flag = words(s), *ack = words(s) + 8, value[32];
	uint32_t right = (s->pe + 1) % s->npes, left = (s->pe + s->npes - 1) % s->npes, k;
	uint32_t add = gda_shmem_unordered(s) ? GDA_SHMEM_SET : GDA_SHMEM_ADD;
	uint64_t i;

	for (i = 1; i <= ROUNDS(300); i++) {
		for (k = 0; k < 32; k++)
			value[k] = i * 1000 + k;
		CHECK(gda_shmem_put_nbi(s, w, value, sizeof(value), right, 0) >= 0);
		CHECK(gda_shmem_atomic64(s, w + 40, add, add == GDA_SHMEM_ADD ? 1 : i, right, 0) >= 0);
		CHECK(!(i % 3 ? gda_shmem_fence(s) : i % 2 ? gda_shmem_fence_pe(s, right) :
			gda_shmem_fence_qp(s, right, 0)));
		CHECK(gda_shmem_p(s, flag, i, 8, right, 0) >= 0);
		CHECK(!gda_shmem_wait_until64(s, flag, GDA_SHMEM_EQ, i, 0));
		for (k = 0; k < 32; k++)
			CHECK(w[k] == i * 1000 + k);
		CHECK(w[40] == i);
		CHECK(gda_shmem_p(s, ack, i, 8, left, 0) >= 0);
		CHECK(!gda_shmem_wait_until64(s, ack, GDA_SHMEM_EQ, i, 0));
		CHECK(!gda_shmem_quiet_qp(s, right, 0, 0));
	}
	CHECK(sync_all(s, comm));
	return 0;
}

TEST_F(calls, fence_orders)
{
	RUN(body_fence);
}

static int body_tickets(struct gda_shmem *s, struct gda_comm *comm)
{
	uint64_t *w = words(s);
	int64_t t = gda_shmem_p(s, w, 1, 8, s->pe, 0);
	uint32_t heap32 = 0;
	volatile uint64_t too_many = UINT64_MAX;	/* not for the compiler to see */

	CHECK(t >= 0 && !gda_shmem_wait(s, t, s->pe, 0, 0) &&
	      gda_shmem_test(s, t, s->pe, 0) == 1);
	CHECK(gda_shmem_test(s, -EFAULT, s->pe, 0) == -EFAULT);
	CHECK(gda_shmem_wait(s, -EFAULT, s->pe, 0, 0) == -EFAULT);
	CHECK(gda_shmem_put(s, w, &t, 8, s->npes, 0) == -EINVAL);
	CHECK(gda_shmem_put(s, &t, &t, 8, 0, 0) == -EFAULT);
	CHECK(gda_shmem_put(s, (char *)w + HEAP - 7, &t, 8, 0, 0) == -EFAULT);
	CHECK(gda_shmem_get(s, &t, (char *)w - 1, 8, 0, 0) == -EFAULT);
	CHECK(gda_shmem_get(s, &t, w, too_many, 0, 0) == -EFAULT);
	CHECK(gda_shmem_atomic64(s, (uint64_t *)&t, GDA_SHMEM_SET, 1, 0, 0) == -EFAULT);
	CHECK(gda_shmem_atomic32(s, &heap32, GDA_SHMEM_SET, 1, 0, 0) == -EFAULT);
	CHECK(gda_shmem_quiet_pe(s, s->npes, 0) == -EINVAL);
	CHECK(gda_shmem_fence_pe(s, s->npes) == -EINVAL);
	CHECK(gda_shmem_is_symmetric(s, w, HEAP) && !gda_shmem_is_symmetric(s, w, HEAP + 1) &&
	      gda_shmem_is_symmetric(s, &t, 0));
	return sync_all(s, comm) ? 0 : __LINE__;
}

TEST_F(calls, tickets_and_refusals)
{
	RUN(body_tickets);
}

static int body_compare(struct gda_shmem *s, struct gda_comm *comm)
{
	uint64_t *w = words(s), soon;
	uint32_t *h = (uint32_t *)(w + 1);

	(void)comm;
	*w = UINT64_MAX;
	*h = 0x80000000;
	CHECK(gda_shmem_test_until64(w, GDA_SHMEM_LT, 0) == 1);
	CHECK(gda_shmem_test_until64(w, GDA_SHMEM_LT | GDA_SHMEM_UNSIGNED, 0) == 0);
	CHECK(gda_shmem_test_until64(w, GDA_SHMEM_GE | GDA_SHMEM_UNSIGNED, 1) == 1);
	CHECK(gda_shmem_test_until64(w, GDA_SHMEM_EQ, UINT64_MAX) == 1);
	CHECK(gda_shmem_test_until64(w, GDA_SHMEM_NE, UINT64_MAX) == 0);
	CHECK(gda_shmem_test_until64(w, GDA_SHMEM_GT, 0) == 0);
	CHECK(gda_shmem_test_until64(w, GDA_SHMEM_LE, 0) == 1);
	CHECK(gda_shmem_test_until32(h, GDA_SHMEM_LT, 0) == 1);
	CHECK(gda_shmem_test_until32(h, GDA_SHMEM_GT | GDA_SHMEM_UNSIGNED, 1) == 1);
	CHECK(gda_shmem_test_until32(h, GDA_SHMEM_GE, 0x80000000) == 1);
	CHECK(gda_shmem_load32(h) == 0x80000000);
	CHECK(gda_shmem_test_until64(w, 7, 0) == -EINVAL);
	CHECK(gda_shmem_wait_until64(s, w, 7, 0, 0) == -EINVAL);
	soon = gda_clock_ns() + 1000000;
	CHECK(gda_shmem_wait_until64(s, w, GDA_SHMEM_EQ, 3, soon) == -ETIMEDOUT);
	CHECK(gda_shmem_wait_until32(s, h, GDA_SHMEM_EQ, 3, soon) == -ETIMEDOUT);
	CHECK(gda_clock_ns() >= soon);
	CHECK(gda_shmem_relax(s, 64, s->npes, &soon) == -EINVAL);
	return 0;
}

/* A wait that fails says what it waited for. */
static int body_words_of_waits(struct gda_shmem *s, struct gda_comm *comm)
{
	struct gda_context *none;
	uint64_t *w = words(s);

	(void)comm;
	*w = 41;
	CHECK(gda_open("no-such-device", &none));
	CHECK(gda_shmem_wait_until64(s, w, GDA_SHMEM_EQ, 42, gda_clock_ns() + 1000000) ==
	      -ETIMEDOUT);
	CHECK(strstr(gda_last_error(), "gda_shmem_wait_until64: the word holds 0x29, and is "
				       "compared with 0x2a: not at the deadline"));
	return 0;
}

TEST_F(calls, I40_14_words_of_waits)
{
	RUN(body_words_of_waits);
}

TEST_F(calls, comparisons_and_deadlines)
{
	RUN(body_compare);
}

TEST_HARNESS_MAIN

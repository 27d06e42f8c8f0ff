// SPDX-License-Identifier: MIT
/*
 * GPU memory in work requests of the in-process device, without a GPU: lib/gpu and the
 * queues with a copier (lib/device/copier/copy.c) on a driver that copies when it likes
 * (fake.c). A CPU posts, as a kernel would.
 */
#include <pthread.h>
#include "pair.h"

/* A detector of races sees one in a plain store that is polled. */
#ifdef __SANITIZE_THREAD__
#define COPIES_TSAN	1
#else
#define COPIES_TSAN	0
#endif

FIXTURE(copies) {
	struct end end[2];
	uint32_t place;
	uint64_t seed;
};

FIXTURE_VARIANT(copies) {
	uint32_t place;
	uint32_t depth;
	int device;		/* of the second end */
};

FIXTURE_VARIANT_ADD(copies, host) { .depth = 256, .device = 1 };

FIXTURE_VARIANT_ADD(copies, one_gpu) { .depth = 256 };

FIXTURE_VARIANT_ADD(copies, room) { .place = GDA_CUDA_LEAVES_ROOM, .depth = 256 };

FIXTURE_VARIANT_ADD(copies, gpu) {
	.place = GDA_CUDA_SQ_GPU | GDA_CUDA_CQ_GPU | GDA_CUDA_VIEW_HOST, .depth = 16,
};

FIXTURE_VARIANT_ADD(copies, gpu_all) {
	.place = GDA_CUDA_SQ_GPU | GDA_CUDA_CQ_GPU, .depth = 64, .device = 1,
};

FIXTURE_SETUP(copies)
{
	fake_cuda_use();
	fake_cuda_full(!(variant->place & GDA_CUDA_LEAVES_ROOM));
	self->place = variant->place & ~GDA_CUDA_LEAVES_ROOM;
	self->seed = s_seed();
	TH_LOG("GDA_SEED=%#llx", (unsigned long long)self->seed);
	ASSERT_OK(end_open(&self->end[0], 0, variant->depth, variant->place));
	ASSERT_OK(end_open(&self->end[1], variant->device, variant->depth, variant->place));
	ASSERT_OK(s_connect(gda_cuda_qp_base(self->end[0].qp), gda_cuda_qp_base(self->end[1].qp)));
}

FIXTURE_TEARDOWN(copies)
{
	fake_cuda_hold(false);
	end_close(&self->end[0]);
	end_close(&self->end[1]);
}

/* A piece of memory of an end: on the GPU, or here. */
struct piece {
	uint64_t addr;
	uint8_t *bytes;
	uint32_t key;
};

static struct piece piece_of(struct end *e, bool gpu, uint64_t off)
{
	if (gpu)
		return (struct piece){ e->gpu + off, e->window + off, e->key };
	return (struct piece){ e->near.iova + off, e->near.addr + off, e->near.key };
}

static int64_t piece_move(struct end *e, bool get, struct piece local, struct piece remote,
			  uint32_t len)
{
	return get ? gda_get(e->v, local.addr, local.key, remote.addr, remote.key, len, 0) :
		     gda_put(e->v, local.addr, local.key, remote.addr, remote.key, len, 0);
}

/* Every pair of places, both ways, lengths around all limits. */
TEST_F(copies, every_way)
{
	static const uint32_t lens[] = { 1, 3, 8, 64, 65, 4096, 65535, 65536, 65537, 200000 };
	unsigned int i, way;

	for (way = 0; way < 8; way++) {
		for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			struct piece local = piece_of(&self->end[0], way & 1, i);
			struct piece remote = piece_of(&self->end[1], way & 2, 2 * i);
			bool get = way & 4;
			uint8_t *src = get ? remote.bytes : local.bytes;
			uint8_t *dst = get ? local.bytes : remote.bytes;
			int64_t ticket;
			uint32_t j;

			for (j = 0; j < lens[i]; j++)
				src[j] = (uint8_t)s_random(&self->seed);
			memset(dst, 0, lens[i]);
			ticket = piece_move(&self->end[0], get, local, remote, lens[i]);
			ASSERT_OK(gda_wait(self->end[0].v, ticket, 0));
			ASSERT_EQ(0, memcmp(dst, src, lens[i]))
				TH_LOG("way %u, %u bytes", way, lens[i]);
		}
	}
}

/* Long chains in which each reads what others have written: only one order is right. */
TEST_F(copies, in_order)
{
	uint64_t off, len, dst, rounds = s_short(600, 3000);
	uint8_t *model = malloc(4 * 8192);
	int64_t ticket = 0;
	uint64_t i;

	ASSERT_NE(NULL, model);
	for (i = 0; i < 4; i++) {
		struct piece p = piece_of(&self->end[i / 2], i % 2, 0);

		for (off = 0; off < 8192; off++)
			p.bytes[off] = (uint8_t)s_random(&self->seed);
		memcpy(model + i * 8192, p.bytes, 8192);
	}
	for (i = 0; i < rounds; i++) {
		bool far_local = s_below(&self->seed, 4), far_remote = s_below(&self->seed, 4);
		bool get = s_below(&self->seed, 2);
		uint8_t *local, *remote;

		len = 1 + s_below(&self->seed, 512);
		off = s_below(&self->seed, 8192 - len);
		dst = s_below(&self->seed, 8192 - len);
		ticket = piece_move(&self->end[0], get, piece_of(&self->end[0], far_local, off),
				    piece_of(&self->end[1], far_remote, dst), (uint32_t)len);
		ASSERT_LE(0, ticket);
		local = model + far_local * 8192 + off;
		remote = model + (2 + far_remote) * 8192 + dst;
		if (get)
			memcpy(local, remote, len);
		else
			memcpy(remote, local, len);
	}
	ASSERT_OK(gda_wait(self->end[0].v, ticket, 0));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, memcmp(model + i * 8192, piece_of(&self->end[i / 2], i % 2, 0).bytes,
				    8192)) TH_LOG("memory %d", (int)i);
	free(model);
}

/*
 * Transfers of several pieces, each reading what the one before has written, at once: what
 * goes by way of the stage is not read before it was written there.
 */
TEST_F(copies, in_order_long)
{
	const uint64_t len = 7000001, most = 2 * len, tail = 1500000, at = len - tail;
	struct gda_mr *mr[2];
	uint64_t gpu[2], i, k, rounds = s_short(1, 4);
	uint8_t *bytes[2];
	uint32_t key[2];
	int64_t ticket = 0;

	for (i = 0; i < 2; i++) {
		gpu[i] = fake_cuda_alloc(i ? variant->device : 0, most);
		bytes[i] = fake_cuda_window(gpu[i]);
		ASSERT_OK(gda_cuda_mr_reg(self->end[i].cuda, gpu[i], most, GDA_ACCESS_ALL, 0,
					  &mr[i]));
		key[i] = gda_mr_key(mr[i]);
	}
	for (i = 0; i < rounds; i++) {
		struct gda_view *v = self->end[0].v;

		for (k = 0; k < len; k += 8)
			bytes[0][k] = (uint8_t)s_random(&self->seed);
		memset(bytes[0] + len, 0xee, len);
		memset(bytes[1], 0xee, most);
		/* long, a small one into its end, and that end back, which the last piece wrote */
		ASSERT_LE(0, gda_put(v, gpu[0], key[0], gpu[1] + i, key[1], (uint32_t)len, 0));
		ASSERT_LE(0, gda_put(v, gpu[0], key[0], gpu[1] + i + at, key[1], 1000, 0));
		ticket = gda_get(v, gpu[0] + len, key[0], gpu[1] + i + at, key[1],
				 (uint32_t)tail, 0);
		ASSERT_OK(gda_wait(v, ticket, 0));
		ASSERT_EQ(0, memcmp(bytes[1] + i, bytes[0], at));
		ASSERT_EQ(0, memcmp(bytes[0] + len, bytes[0], 1000));
		ASSERT_EQ(0, memcmp(bytes[0] + len + 1000, bytes[0] + at + 1000, tail - 1000));
	}
	for (i = 0; i < 2; i++) {
		gda_mr_dereg(mr[i]);
		fake_cuda_free(gpu[i]);
	}
}

/* Queues go round; values and inline data find their way to the GPU. */
TEST_F(copies, small)
{
	struct end *e = self->end;
	uint64_t i, n = s_short(1000, 2000);
	int64_t ticket = 0;

	for (i = 0; i < n; i++) {
		char text[20];

		memset(text, (int)i, sizeof(text));
		ASSERT_LE(0, gda_put_value(e[0].v, e[1].gpu + i % 1000 * 8, e[1].key, i, 0));
		ticket = gda_put_inline(e[0].v, e[1].gpu + 8192 + i % 100 * 20, e[1].key, text,
					sizeof(text), 0);
		ASSERT_LE(0, ticket);
	}
	ASSERT_OK(gda_quiet(e[0].v, 0));
	for (i = n - 1000; i < n; i++) {
		uint64_t value;

		memcpy(&value, e[1].window + i % 1000 * 8, sizeof(value));
		ASSERT_EQ(i, value);
	}
	for (i = n - 100; i < n; i++)
		ASSERT_EQ((uint8_t)i, e[1].window[8192 + i % 100 * 20 + 19]);
}

/* Done is done: not before the copy is, and many are begun before one is. */
TEST_F(copies, completes_when_done)
{
	struct end *e = self->end;
	uint32_t i, n = e[0].v->mask;
	int64_t ticket = 0;

	/* a far queue is itself copied: let that be done */
	ASSERT_OK(gda_wait(e[0].v, gda_nop(e[0].v, 0), 0));
	if (self->place)
		SKIP(return, "what was posted would not be fetched");
	fake_cuda_hold(true);
	for (i = 0; i < n; i++) {
		ticket = gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 8, 0);
		ASSERT_LE(0, ticket);
	}
	while (fake_cuda_pending() < n)
		usleep(100);
	EXPECT_EQ(0, gda_test(e[0].v, 1));
	EXPECT_EQ(0, gda_test(e[0].v, ticket));
	EXPECT_EQ(-ETIMEDOUT, gda_wait(e[0].v, 1, gda_clock_ns() + 20000000));
	fake_cuda_hold(false);
	EXPECT_OK(gda_wait(e[0].v, ticket, 0));
}

/* A signal in host memory comes behind the data, an atomic too. */
TEST_F(copies, signal_behind_data)
{
	struct end *e = self->end;
	uint64_t *flag = (uint64_t *)(void *)e[1].near.addr, i, n = s_short(100, 300);
	int64_t signal;

	for (i = 1; i <= n; i++) {
		memset(e[0].window, (int)i, 60000);
		ASSERT_LE(0, gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 60000, 0));
		if (i % 2 && !COPIES_TSAN)
			signal = gda_put_value(e[0].v, e[1].near.iova, e[1].near.key, i, 0);
		else
			signal = gda_fetch_add(e[0].v, e[0].near.iova, e[0].near.key,
					       e[1].near.iova, e[1].near.key, 1, 0);
		ASSERT_LE(0, signal);
		while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != i)
			sched_yield();
		ASSERT_EQ((uint8_t)i, e[1].window[0]);
		ASSERT_EQ((uint8_t)i, e[1].window[59999]);
		/* the source may be written again when it is done, not before */
		ASSERT_OK(gda_quiet(e[0].v, 0));
	}
}

/* Nothing is allocated, pinned or waited for while work is executed. */
TEST_F(copies, allocates_nothing)
{
	struct end *e = self->end;
	unsigned int before = fake_cuda_allocations(), waits = fake_cuda_waits();
	uint64_t i;
	bool gpu;

	for (i = 0; i < 2000; i++) {
		gpu = s_below(&self->seed, 2);
		ASSERT_LE(0, piece_move(&e[0], i % 2, piece_of(&e[0], gpu, 0),
					piece_of(&e[1], !gpu, 0), 1000));
	}
	ASSERT_OK(gda_quiet(e[0].v, 0));
	EXPECT_EQ(before, fake_cuda_allocations());
	EXPECT_EQ(waits, fake_cuda_waits());
}

/* Errors come in order, behind what was begun before them, and name the right slot. */
TEST_F(copies, error_in_order)
{
	struct end *e = self->end;
	struct gda_error error = { .size = sizeof(error) };
	int64_t good = 0, bad, after;
	int i;

	for (i = 0; i < 8; i++)
		good = gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 50000, 0);
	bad = gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu + LEN - 7, e[1].key, 8, 0);
	after = gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 8, 0);
	EXPECT_EQ(-ECANCELED, gda_wait(e[0].v, after, 0));
	EXPECT_EQ(-EIO, gda_wait(e[0].v, bad, 0));
	EXPECT_OK(gda_wait(e[0].v, good, 0));
	ASSERT_EQ(1, gda_error(e[0].v, &error));
	EXPECT_EQ(bad, error.ticket);
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, error.syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_RANGE, error.vendor);
}

/* Atomic work on memory that was not registered for it is refused, with the reason. */
TEST_F(copies, no_atomics_without_words)
{
	struct end *e = self->end;
	struct gda_cuda_caps caps = { .size = sizeof(caps) };
	struct gda_error error = { .size = sizeof(error) };
	int64_t bad;

	ASSERT_OK(gda_cuda_query(e[0].cuda, &caps));
	EXPECT_EQ(GDA_CUDA_COPY | GDA_CUDA_ATOMIC, caps.features);
	bad = gda_fetch_add(e[0].v, e[0].near.iova, e[0].near.key, e[1].gpu, e[1].key, 1, 0);
	EXPECT_EQ(-EIO, gda_wait(e[0].v, bad, 0));
	ASSERT_EQ(1, gda_error(e[0].v, &error));
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_OP, error.syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_IO, error.vendor);
}

/* A queue that has no copier does not touch it. */
TEST_F(copies, without_copier)
{
	struct end *e = self->end;
	struct gda_error error = { .size = sizeof(error) };
	struct s_end plain;

	ASSERT_OK(gda_open(GDA_DEVICE_INPROC, &plain.ctx));
	ASSERT_OK(s_qp_open(plain.ctx, 16, S_TIMEOUT_NS, &plain.qp));
	ASSERT_OK(s_memory_new(plain.ctx, 4096, GDA_ACCESS_ALL, &plain.mem));
	plain.v = gda_qp_view(plain.qp);
	ASSERT_OK(s_connect(plain.qp, plain.qp));
	/* a key of another context's is none */
	EXPECT_EQ(-EIO, gda_wait(plain.v, gda_put(plain.v, plain.mem.iova, plain.mem.key,
						  e[0].gpu, e[0].key, 8, 0), 0));
	s_end_close(&plain);

	ASSERT_OK(s_qp_open(e[0].ctx, 16, S_TIMEOUT_NS, &plain.qp));
	ASSERT_OK(s_connect(plain.qp, plain.qp));
	plain.v = gda_qp_view(plain.qp);
	EXPECT_EQ(-EIO, gda_wait(plain.v, gda_put(plain.v, e[0].near.iova, e[0].near.key,
						  e[0].gpu, e[0].key, 8, 0), 0));
	ASSERT_EQ(1, gda_error(plain.v, &error));
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_OP, error.syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_IO, error.vendor);
	gda_qp_destroy(plain.qp);
}

static void *dereg_thread(void *arg)
{
	struct end *e = arg;

	gda_mr_dereg(e->mr);
	__atomic_store_n(&e->mr, NULL, __ATOMIC_RELEASE);
	return NULL;
}

/* When memory is deregistered nothing of it is being copied any more. */
TEST_F(copies, dereg_waits)
{
	struct end *e = self->end;
	pthread_t thread;
	int64_t ticket;

	ASSERT_OK(gda_wait(e[0].v, gda_nop(e[0].v, 0), 0));
	if (self->place)
		SKIP(return, "what was posted would not be fetched");
	fake_cuda_hold(true);
	ticket = gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 4096, 0);
	while (!fake_cuda_pending())
		usleep(100);
	ASSERT_OK(pthread_create(&thread, NULL, dereg_thread, &e[1]));
	usleep(50000);
	EXPECT_NE(NULL, __atomic_load_n(&e[1].mr, __ATOMIC_ACQUIRE));
	fake_cuda_hold(false);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, fake_cuda_pending());
	EXPECT_OK(gda_wait(e[0].v, ticket, 0));
	EXPECT_EQ(-EIO, gda_wait(e[0].v, gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu,
						 e[1].key, 8, 0), 0));
}

/* A queue can go while it has copies in flight. */
TEST_F(copies, destroy_in_flight)
{
	struct end *e = self->end;
	int i;

	for (i = 0; i < 12; i++)
		ASSERT_LE(0, gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 100000, 0));
	EXPECT_OK(gda_cuda_qp_destroy(e[0].qp));
	e[0].qp = NULL;
	/* a far CQ of the peer's is being told, meanwhile */
	if (!self->place)
		EXPECT_EQ(0, fake_cuda_pending());
}

/* So can the whole context, under it. */
TEST_F(copies, shutdown_in_flight)
{
	struct end *e = self->end;
	int i;

	for (i = 0; i < 12; i++)
		ASSERT_LE(0, gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 100000, 0));
	EXPECT_OK(gda_context_shutdown(e[0].ctx));
	/* a far CQ of the peer's is being told, meanwhile */
	if (!self->place)
		EXPECT_EQ(0, fake_cuda_pending());
	EXPECT_EQ(-ENODEV, gda_cuda_qp_destroy(e[0].qp));
	e[0].qp = NULL;
}

static int64_t put_8(struct end *e, unsigned int flags)
{
	return gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 8, flags);
}

/* The driver died: @first is what failed, @last was flushed. */
static void expect_dead(struct __test_metadata *_metadata, struct end *e, int64_t first,
			int64_t last)
{
	struct gda_error error = { .size = sizeof(error) };

	EXPECT_EQ(-EIO, gda_wait(e->v, first, 0));
	EXPECT_EQ(-ECANCELED, gda_wait(e->v, last, 0));
	ASSERT_EQ(1, gda_error(e->v, &error));
	EXPECT_EQ(first, error.ticket);
	EXPECT_EQ(GDA_MLX5_SYND_LOCAL_QP_OP, error.syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_IO, error.vendor);
}

/* The driver dies with copies in flight: the oldest request without a completion fails. */
TEST_F(copies, driver_dies)
{
	struct end *e = self->end;
	int64_t ticket[8];
	int i;

	ASSERT_OK(gda_wait(e[0].v, put_8(e, 0), 0));
	if (self->place)
		SKIP(return, "nobody would hear of it: the CQ is the driver's to write");
	fake_cuda_hold(true);
	for (i = 0; i < 8; i++)
		ticket[i] = put_8(e, 0);
	while (fake_cuda_pending() < 8)
		usleep(100);
	fake_cuda_break();
	expect_dead(_metadata, e, ticket[0], ticket[7]);
}

/* It died before the queue is told to copy: what is flushed then is heard of as well. */
TEST_F(copies, driver_dies_first)
{
	struct end *e = self->end;
	int64_t ticket[8];
	int i;

	if (self->place)
		SKIP(return, "nobody would hear of it: the CQ is the driver's to write");
	fake_cuda_hold(true);
	ticket[0] = put_8(e, 0);
	while (!fake_cuda_pending())
		usleep(100);
	for (i = 1; i < 8; i++)
		ticket[i] = put_8(e, GDA_DEFER);
	fake_cuda_break();
	gda_flush(e[0].v);
	expect_dead(_metadata, e, ticket[0], ticket[7]);
}

/* It dies when the queue has failed and told so: that stays the first error. */
TEST_F(copies, driver_dies_last)
{
	struct end *e = self->end;
	struct gda_qp_query before = { .size = sizeof(before) };
	struct gda_qp_query after = { .size = sizeof(after) };
	int64_t ticket;

	ASSERT_OK(gda_wait(e[0].v, put_8(e, 0), 0));
	ticket = gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, ~e[1].key, 8, 0);
	EXPECT_EQ(-EIO, gda_wait(e[0].v, ticket, 0));
	ASSERT_OK(gda_qp_query(gda_cuda_qp_base(e[0].qp), &before));
	EXPECT_EQ((uint64_t)ticket, before.error_index);
	fake_cuda_break();
	put_8(e, 0);
	/* time to do it wrong */
	usleep(20000);
	ASSERT_OK(gda_qp_query(gda_cuda_qp_base(e[0].qp), &after));
	EXPECT_EQ(GDA_QP_ERROR, after.state);
	EXPECT_EQ(before.error_index, after.error_index);
	EXPECT_EQ(before.syndrome, after.syndrome);
	EXPECT_EQ(before.vendor, after.vendor);
}

/* The abort word is in host memory, and ends waits. */
TEST_F(copies, abort)
{
	struct end *e = self->end;

	if (!self->place)
		SKIP(return, "the view of the CPU has its own abort word");
	ASSERT_OK(gda_wait(e[0].v, gda_nop(e[0].v, 0), 0));
	fake_cuda_hold(true);
	gda_cuda_qp_abort(e[0].qp);
	EXPECT_EQ(-ESHUTDOWN, gda_wait(e[0].v, gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu,
						       e[1].key, 8, 0), 0));
}

/* Only memory of a GPU's is registered as such. */
TEST_F(copies, mr_range)
{
	struct end *e = self->end;
	struct gda_mr_query query = { .size = sizeof(query) };
	struct gda_mr *mr = NULL;
	uint64_t offset;
	int fd;

	EXPECT_EQ(-EFAULT, gda_cuda_mr_reg(e->cuda, e->gpu, LEN + 1, GDA_ACCESS_ALL, 0, &mr));
	EXPECT_EQ(-EFAULT, gda_cuda_mr_reg(e->cuda, e->gpu + LEN, 1, GDA_ACCESS_ALL, 0, &mr));
	EXPECT_EQ(-EFAULT, gda_cuda_mr_reg(e->cuda, e->near.iova, 1, GDA_ACCESS_ALL, 0, &mr));
	EXPECT_NE(NULL, strstr(gda_last_error(), "length 0x1: pass memory of one cuMemAlloc()"));
	EXPECT_EQ(-EINVAL, gda_cuda_mr_reg(e->cuda, e->gpu, 0, GDA_ACCESS_ALL, 0, &mr));
	EXPECT_EQ(-EOVERFLOW, gda_cuda_mr_reg(e->cuda, e->gpu, SIZE_MAX, 0, 0, &mr));
	EXPECT_EQ(-EINVAL, gda_cuda_mr_reg(e->cuda, e->gpu, 8, GDA_ACCESS_REMOTE_WRITE, 0, &mr));
	EXPECT_STREQ("gda_cuda_mr_reg: access: remote write needs GDA_ACCESS_LOCAL_WRITE, too",
		     gda_last_error());
	EXPECT_EQ(-EOPNOTSUPP, gda_cuda_mr_reg(e->cuda, e->gpu, 8, 0, 1U << 31, &mr));
	EXPECT_EQ(NULL, mr);
	ASSERT_OK(gda_mr_query(e->mr, &query));
	EXPECT_EQ(GDA_MR_LIVE, query.state);
	EXPECT_EQ(-EOPNOTSUPP, gda_cuda_dmabuf(e->cuda, e->gpu, 8, &fd, &offset));
	ASSERT_OK(gda_cuda_mr_reg(e->cuda, e->gpu + 5, 8, 0, GDA_MR_ZERO_BASED, &mr));
	EXPECT_EQ(0, gda_mr_iova(mr));
	EXPECT_OK(gda_mr_dereg(mr));
}

TEST(no_driver)
{
	struct gda_context *ctx;
	struct gda_cuda *cuda = NULL;

	setenv("GDA_LIBCUDA", "/nowhere/libcuda.so", 1);
	ASSERT_OK(gda_open(GDA_DEVICE_INPROC, &ctx));
	EXPECT_EQ(-ENOENT, gda_cuda_open(ctx, 0, &cuda));
	EXPECT_EQ(0, strncmp("gda_cuda_open: there is no CUDA driver", gda_last_error(), 38));
	EXPECT_EQ(NULL, cuda);
	gda_close(ctx);
}

TEST(no_such_gpu)
{
	struct gda_context *ctx;
	struct gda_cuda *cuda;

	fake_cuda_use();
	ASSERT_OK(gda_open(GDA_DEVICE_INPROC, &ctx));
	EXPECT_EQ(-ENODEV, gda_cuda_open(ctx, 7, &cuda));
	EXPECT_STREQ(gda_last_error(),
		     "gda_cuda_open: the CUDA driver has no such GPU (error 101): nvidia-smi lists them");
	gda_close(ctx);
}

/* A request that no part has room for is refused, and nothing is left over. */
TEST(no_such_place)
{
	const struct gda_cuda_qp_attr place = { .size = sizeof(place), .place = 1U << 4 };
	const struct gda_cuda_qp_attr depth = { .size = sizeof(depth), .sq_depth = 3 };
	struct gda_context *ctx;
	struct gda_cuda_qp *qp;
	struct gda_cuda *cuda;

	fake_cuda_use();
	ASSERT_OK(gda_open(GDA_DEVICE_INPROC, &ctx));
	ASSERT_OK(gda_cuda_open(ctx, 0, &cuda));
	EXPECT_EQ(-EOPNOTSUPP, gda_cuda_qp_create(cuda, &place, &qp));
	EXPECT_STREQ("gda_cuda_qp_create: place has bits other than GDA_CUDA_*: 0x10",
		     gda_last_error());
	EXPECT_EQ(-EINVAL, gda_cuda_qp_create(cuda, &depth, &qp));
	EXPECT_STREQ(gda_last_error(),
		     "gda_cuda_qp_create: gda_qp_create: sq_depth 3 is no power of two: set it to 2");
	gda_cuda_close(cuda);
	gda_close(ctx);
}

TEST_HARNESS_MAIN

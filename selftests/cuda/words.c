// SPDX-License-Identifier: MIT
/*
 * Words in GPU memory (lib/inproc/words.c), without a GPU: on a driver that carries out what it
 * is asked in any order that streams allow (fake.c). A CPU posts, as a kernel would.
 */
#include <pthread.h>
#include <gda/masked_atomic.h>
#include "pair.h"

#define WORDS	8192U		/* bytes that are registered for words: two blocks of the shadow */
#define QUEUES	8U

/* A detector of races sees one in a plain copy that is polled. */
#ifdef __SANITIZE_THREAD__
#define WORDS_TSAN	1
#else
#define WORDS_TSAN	0
#endif

FIXTURE(words) {
	struct end end[2];
	uint64_t addr;		/* words, on the GPU of the second end */
	uint8_t *window;
	struct gda_mr *mr;
	uint32_t key;
	uint64_t seed;
};

FIXTURE_VARIANT(words) {
	uint32_t place;
	uint32_t flags;
	int device;		/* of the second end */
	uint64_t operations;	/* of the model */
};

FIXTURE_VARIANT_ADD(words, host) { .device = 1, .operations = 100000 };

FIXTURE_VARIANT_ADD(words, one_gpu) { .operations = 10000 };

FIXTURE_VARIANT_ADD(words, gpu) {
	.place = GDA_CUDA_SQ_GPU | GDA_CUDA_CQ_GPU | GDA_CUDA_VIEW_HOST, .device = 1,
	.operations = 10000,
};

FIXTURE_VARIANT_ADD(words, stores) {
	.flags = GDA_CUDA_MR_STORES, .device = 1, .operations = 5000,
};

FIXTURE_VARIANT_ADD(words, stores_gpu) {
	.place = GDA_CUDA_SQ_GPU | GDA_CUDA_CQ_GPU, .flags = GDA_CUDA_MR_STORES,
	.operations = 5000,
};

FIXTURE_SETUP(words)
{
	fake_cuda_use();
	fake_cuda_full(true);
	self->seed = s_seed();
	TH_LOG("GDA_SEED=%#llx", (unsigned long long)self->seed);
	ASSERT_OK(end_open(&self->end[0], 0, 64, variant->place));
	ASSERT_OK(end_open(&self->end[1], variant->device, 64, variant->place));
	ASSERT_OK(s_connect(gda_cuda_qp_base(self->end[0].qp), gda_cuda_qp_base(self->end[1].qp)));
	self->addr = fake_cuda_alloc(variant->device, WORDS);
	self->window = fake_cuda_window(self->addr);
	memset(self->window, 0, WORDS);
	ASSERT_OK(gda_cuda_mr_reg(self->end[1].cuda, self->addr, WORDS, GDA_ACCESS_ALL,
				  GDA_CUDA_MR_WORDS | variant->flags, &self->mr));
	self->key = gda_mr_key(self->mr);
}

FIXTURE_TEARDOWN(words)
{
	fake_cuda_hold(false);
	gda_mr_dereg(self->mr);
	end_close(&self->end[0]);
	end_close(&self->end[1]);
	fake_cuda_free(self->addr);
}

/* What a thread of the GPU sees of a word. */
static uint64_t word64(const uint8_t *window, uint64_t off)
{
	return __atomic_load_n((const uint64_t *)(const void *)(window + off), __ATOMIC_ACQUIRE);
}

static uint32_t word32(const uint8_t *window, uint64_t off)
{
	return __atomic_load_n((const uint32_t *)(const void *)(window + off), __ATOMIC_ACQUIRE);
}

/* The operations on a word, by width, and their model. */
enum op {
	OP_ADD,
	OP_CAS,
	OP_FIELDS,
	OP_MASKED,
	OP_SWAP,
	OP_INLINE,
	OP_HOST,
	OP_GPU,
	OPS
};

struct step {
	enum op op;
	uint32_t width;
	uint64_t off;		/* of the word */
	uint64_t value, compare, mask;
	uint64_t result;	/* where the old value goes, or the value comes from */
	bool gpu;		/* ... on the GPU */
};

/* Results lie 8 bytes apart in the memory of the first end, here or on its GPU. */
static uint8_t *step_result(struct end *e, const struct step *s)
{
	return (s->gpu ? e->window : e->near.addr) + 8 * s->result;
}

static bool step_fetches(const struct step *s)
{
	return s->op < OP_INLINE;
}

static uint64_t step_mask(const struct step *s)
{
	return s->width == 8 ? ~0ULL : 0xffffffffULL;
}

static uint64_t step_model(const struct step *s, uint64_t old)
{
	uint64_t top = 0x8000800080008000ULL & step_mask(s);

	switch (s->op) {
	case OP_ADD:
		return (old + s->value) & step_mask(s);
	case OP_CAS:
		return old == s->compare ? s->value : old;
	case OP_FIELDS:
		return (((old & ~top) + (s->value & ~top)) ^ ((old ^ s->value) & top)) &
		       step_mask(s);
	case OP_MASKED:
		return (old ^ s->compare) & s->mask ? old : (old & s->mask) | (s->value & ~s->mask);
	default:
		return s->value;
	}
}

/* Every field has 16 bits. */
static int64_t step_post64(struct end *e, const struct step *s, uint64_t laddr, uint32_t lkey,
			   uint64_t raddr, uint32_t rkey)
{
	uint64_t top = 0x8000800080008000ULL;

	switch (s->op) {
	case OP_ADD:
		return gda_fetch_add(e->v, laddr, lkey, raddr, rkey, s->value, 0);
	case OP_CAS:
		return gda_compare_swap(e->v, laddr, lkey, raddr, rkey, s->compare, s->value, 0);
	case OP_FIELDS:
		return gda_masked_fetch_add(e->v, laddr, lkey, raddr, rkey, s->value, top, 0);
	case OP_MASKED:
		return gda_masked_compare_swap(e->v, laddr, lkey, raddr, rkey, s->compare, s->mask,
					       s->value, ~s->mask, 0);
	case OP_SWAP:
		return gda_masked_compare_swap(e->v, laddr, lkey, raddr, rkey, 0, 0, s->value,
					       ~0ULL, 0);
	default:
		return gda_put_value(e->v, raddr, rkey, s->value, 0);
	}
}

static int64_t step_post32(struct end *e, const struct step *s, uint64_t laddr, uint32_t lkey,
			   uint64_t raddr, uint32_t rkey)
{
	uint32_t value = (uint32_t)s->value, compare = (uint32_t)s->compare;
	uint32_t mask = (uint32_t)s->mask;

	switch (s->op) {
	case OP_ADD:
		return gda_masked_fetch_add32(e->v, laddr, lkey, raddr, rkey, value, 0, 0);
	case OP_CAS:
		return gda_masked_compare_swap32(e->v, laddr, lkey, raddr, rkey, compare, ~0U,
						 value, ~0U, 0);
	case OP_FIELDS:
		return gda_masked_fetch_add32(e->v, laddr, lkey, raddr, rkey, value, 0x80008000U,
					      0);
	case OP_MASKED:
		return gda_masked_compare_swap32(e->v, laddr, lkey, raddr, rkey, compare, mask,
						 value, ~mask, 0);
	case OP_SWAP:
		return gda_masked_compare_swap32(e->v, laddr, lkey, raddr, rkey, 0, 0, value, ~0U,
						 0);
	default:
		return gda_put_inline(e->v, raddr, rkey, &value, sizeof(value), 0);
	}
}

static int64_t step_post(FIXTURE_DATA(words) *self, const struct step *s)
{
	struct end *e = self->end;
	uint64_t laddr = (s->gpu ? e->gpu : e->near.iova) + 8 * s->result;
	uint32_t lkey = s->gpu ? e->key : e->near.key;

	if (s->op >= OP_HOST) {
		memcpy(step_result(e, s), &s->value, s->width);
		return gda_put(e->v, laddr, lkey, self->addr + s->off, self->key, s->width, 0);
	}
	return s->width == 8 ? step_post64(e, s, laddr, lkey, self->addr + s->off, self->key) :
			       step_post32(e, s, laddr, lkey, self->addr + s->off, self->key);
}

static uint64_t step_old(struct end *e, const struct step *s)
{
	uint64_t old64;
	uint32_t old32;

	memcpy(&old64, step_result(e, s), 8);
	if (s->width == 8)
		return old64;
	memcpy(&old32, step_result(e, s), 4);
	return gda_masked_old32(old32);
}

static uint64_t model_load(const uint8_t *model, const struct step *s)
{
	uint64_t value = 0;

	memcpy(&value, model + s->off, s->width);
	return value;
}

/* Values that meet each other: few, some with all bits. */
static uint64_t random_value(uint64_t *seed)
{
	uint64_t kind = s_below(seed, 4);

	return kind == 0 ? s_random(seed) : kind == 1 ? ~0ULL : s_below(seed, 3);
}

static struct step random_step(FIXTURE_DATA(words) *self, const uint8_t *model, uint64_t result)
{
	struct step s = { .op = (enum op)s_below(&self->seed, OPS), .result = result };

	s.width = s_below(&self->seed, 2) ? 8 : 4;
	/* around the boundary of two blocks, and at both ends */
	s.off = (s_below(&self->seed, 3) * (WORDS - 32) / 2 + s_below(&self->seed, 32)) &
		~(uint64_t)(s.width - 1);
	s.gpu = s.op == OP_GPU || (s.op < OP_INLINE && s_below(&self->seed, 4) == 0);
	s.value = random_value(&self->seed) & step_mask(&s);
	s.mask = s_random(&self->seed) & step_mask(&s);
	s.compare = s_below(&self->seed, 2) ? model_load(model, &s) :
					      random_value(&self->seed) & step_mask(&s);
	return s;
}

/* Each operation at each width by itself: the word, what lies beside it, and the old value. */
TEST_F(words, every_operation)
{
	struct end *e = self->end;
	unsigned int op, width, gpu;

	for (op = 0; op < OPS; op++) {
		for (width = 4; width <= 8; width += 4) {
			for (gpu = op == OP_GPU; gpu < 2 && !(gpu && op == OP_HOST); gpu++) {
				struct step s = { (enum op)op, width, .result = 3, .gpu = gpu };
				uint8_t model[24];
				uint64_t new;

				s.off = 8;
				s.value = 0x1234567890abcdefULL & step_mask(&s);
				s.compare = model_load(self->window, &s);
				memcpy(model, self->window, sizeof(model));
				new = step_model(&s, s.compare);
				ASSERT_OK(gda_wait(e->v, step_post(self, &s), 0));
				if (step_fetches(&s))
					EXPECT_EQ(s.compare, step_old(e, &s));
				memcpy(model + 8, &new, width);
				EXPECT_EQ(0, memcmp(model, self->window, sizeof(model)))
					TH_LOG("operation %u, %u bytes, gpu %u", op, width, gpu);
			}
		}
	}
}

/* A batch of operations that are in flight at once. */
struct batch {
	struct step steps[32];
	uint64_t olds[32];
	uint32_t n;
};

static void batch_run(struct __test_metadata *_metadata, FIXTURE_DATA(words) *self,
		      struct batch *b, uint8_t *model)
{
	struct end *e = self->end;
	uint32_t i;

	for (i = 0; i < b->n; i++) {
		struct step *s = &b->steps[i];
		uint64_t new;

		*s = random_step(self, model, i);
		b->olds[i] = model_load(model, s);
		new = step_model(s, b->olds[i]);
		memcpy(model + s->off, &new, s->width);
		ASSERT_LE(0, step_post(self, s)) TH_LOG("%s", gda_last_error());
	}
	ASSERT_OK(gda_quiet(e->v, 0));
	for (i = 0; i < b->n; i++) {
		const struct step *s = &b->steps[i];

		if (step_fetches(s))
			ASSERT_EQ(b->olds[i], step_old(e, s))
				TH_LOG("operation %u, %u bytes at %llu", s->op, s->width,
				       (unsigned long long)s->off);
	}
}

/* Random operations on words that overlap, many in flight, against a model. */
TEST_F(words, model)
{
	uint64_t n = s_short(1500, variant->operations), done, i;
	uint8_t *model = malloc(WORDS);
	struct batch b;

	ASSERT_NE(NULL, model);
	for (i = 0; i < WORDS; i++)
		model[i] = (uint8_t)s_random(&self->seed);
	memcpy(self->window, model, WORDS);
	for (done = 0; done < n; done += b.n) {
		b.n = 1 + (uint32_t)s_below(&self->seed, 32);
		batch_run(_metadata, self, &b, model);
		if (done % 64 == 0)
			ASSERT_EQ(0, memcmp(model, self->window, WORDS));
	}
	EXPECT_EQ(0, memcmp(model, self->window, WORDS));
	free(model);
}

/* Whoever sees a word sees what was put before it, and nothing of what was put after it. */
TEST_F(words, behind_data)
{
	struct end *e = self->end;
	uint64_t i, n = s_short(50, 200);

	for (i = 1; i <= n; i++) {
		const uint32_t len = i % 3 ? 60000 : 300;
		uint64_t last = 0;

		memset(e[0].window, (int)i, len);
		ASSERT_LE(0, gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, len, 0));
		ASSERT_LE(0, gda_fetch_add(e[0].v, e[0].near.iova, e[0].near.key, self->addr,
					   self->key, 1, 0));
		ASSERT_LE(0, gda_put_value(e[0].v, self->addr + 4096, self->key, i, 0));
		ASSERT_LE(0, gda_put_value(e[0].v, e[1].gpu + 65536, e[1].key, i, 0));
		while (last != i) {
			/* in the other order than they were posted */
			last = WORDS_TSAN ? word64(self->window, 4096) :
					    word64(e[1].window, 65536);
			if (last == i)
				ASSERT_EQ(i, word64(self->window, 4096));
			if (word64(self->window, 4096) == i)
				ASSERT_EQ(i, word64(self->window, 0));
			if (word64(self->window, 0) == i) {
				ASSERT_EQ((uint8_t)i, e[1].window[0]);
				ASSERT_EQ((uint8_t)i, e[1].window[len - 1]);
			}
			sched_yield();
		}
		/* the source may be written again when it is done, not before */
		ASSERT_OK(gda_quiet(e[0].v, 0));
	}
}

/* A put of a word that was just changed copies the new value, whatever way it goes. */
TEST_F(words, read_behind)
{
	struct end *e = self->end;
	const uint32_t len = 600000;
	uint64_t source = fake_cuda_alloc(variant->device, len), there;
	uint64_t sink = fake_cuda_alloc(variant->device, len), i;
	uint8_t *bytes = fake_cuda_window(source), *sunk = fake_cuda_window(sink);
	struct gda_mr *mr, *sink_mr;

	memset(bytes, 0, len);
	ASSERT_OK(gda_cuda_mr_reg(e[1].cuda, source, len, GDA_ACCESS_ALL, GDA_CUDA_MR_WORDS,
				  &mr));
	ASSERT_OK(gda_cuda_mr_reg(e[0].cuda, sink, len, GDA_ACCESS_ALL, 0, &sink_mr));
	for (i = 1; i <= s_short(20, 60); i++) {
		there = i * 8000 % len;
		ASSERT_LE(0, gda_put_value(e[0].v, source + there, gda_mr_key(mr), i, 0));
		ASSERT_LE(0, gda_get(e[0].v, sink, gda_mr_key(sink_mr), source, gda_mr_key(mr),
				     len, 0));
		ASSERT_OK(gda_quiet(e[0].v, 0));
		ASSERT_EQ(i, word64(sunk, there));
	}
	gda_mr_dereg(mr);
	gda_mr_dereg(sink_mr);
	fake_cuda_free(source);
	fake_cuda_free(sink);
}

/* What was fetched is there for what is posted next, which takes it on or stores over it. */
TEST_F(words, result_before_later_work)
{
	struct end *e = self->end;
	uint64_t i, n = s_short(50, 300), *near = (uint64_t *)(void *)e[0].near.addr;

	for (i = 0; i < n; i++) {
		uint64_t start = s_random(&self->seed);

		ASSERT_LE(0, gda_put_value(e->v, self->addr, self->key, start, 0));
		ASSERT_LE(0, gda_fetch_add(e->v, e->near.iova, e->near.key, self->addr, self->key,
					   1, 0));
		/* the old value, to another word and to plain memory; then the new one over it */
		ASSERT_LE(0, gda_put(e->v, e->near.iova, e->near.key, self->addr + 64, self->key, 8,
				     0));
		ASSERT_LE(0, gda_put(e->v, e->near.iova, e->near.key, e[1].gpu, e[1].key, 8, 0));
		ASSERT_LE(0, gda_fetch_add(e->v, e->near.iova, e->near.key, self->addr, self->key,
					   1, 0));
		ASSERT_LE(0, gda_get(e->v, e->near.iova, e->near.key, self->addr, self->key, 8,
				     0));
		ASSERT_OK(gda_quiet(e->v, 0));
		ASSERT_EQ(start, word64(self->window, 64));
		ASSERT_EQ(start, word64(e[1].window, 0));
		ASSERT_EQ(start + 2, *near);
	}
}

/* The counts that @n additions of one queue found, and what it adds to. */
struct adder {
	struct end end;
	uint64_t addr;
	uint32_t key;
	uint32_t n, words;
	uint64_t seed;
	uint64_t *olds;		/* word in the upper bits */
	bool failed;
};

static void *adder_main(void *arg)
{
	struct adder *a = arg;
	struct end *e = &a->end;
	uint32_t i, k;

	for (i = 0; i < a->n; i += k) {
		for (k = 0; k < 16 && i + k < a->n; k++) {
			uint64_t word = s_below(&a->seed, a->words);

			a->olds[i + k] = word << 32;
			a->failed |= gda_fetch_add(e->v, e->near.iova + 8 * k, e->near.key,
						   a->addr + 8 * word, a->key, 1, 0) < 0;
		}
		a->failed |= gda_quiet(e->v, 0) != 0;
		for (k = 0; k < 16 && i + k < a->n; k++)
			a->olds[i + k] |= ((uint64_t *)(void *)e->near.addr)[k];
	}
	return NULL;
}

/* Looks at the words as long as anybody adds: none ever goes back. */
struct watcher {
	const uint8_t *window;
	uint32_t words;
	bool stop, back;
};

static void *watcher_main(void *arg)
{
	struct watcher *w = arg;
	uint64_t seen[QUEUES] = { 0 };
	uint32_t i;

	while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
		for (i = 0; i < w->words; i++) {
			uint64_t now = word64(w->window, 8 * i);

			w->back |= now < seen[i];
			seen[i] = now;
		}
		sched_yield();
	}
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Queues of several contexts on two GPUs add to the same words at once: the sums are exact, no
 * value is found twice, none is left out, and no word is seen to go back.
 */
TEST_F(words, many_queues)
{
	const uint32_t n = (uint32_t)s_short(150, variant->flags ? 300 : 2000), words = 3;
	uint64_t *olds = malloc(QUEUES * n * sizeof(*olds)), sum = 0, found = 0;
	struct watcher w = { .window = self->window, .words = words };
	struct adder *adders = calloc(QUEUES, sizeof(*adders));
	struct end *to = calloc(QUEUES, sizeof(*to));
	pthread_t thread[QUEUES], watching;
	uint32_t i;

	ASSERT_NE(NULL, olds);
	ASSERT_NE(NULL, adders);
	ASSERT_NE(NULL, to);
	for (i = 0; i < QUEUES; i++) {
		struct gda_cuda_qp_attr attr = {
			.size = sizeof(attr), .sq_depth = 64, .timeout_ns = S_TIMEOUT_NS,
			.place = GDA_CUDA_LEAVES_ROOM,
		};

		ASSERT_OK(end_open(&adders[i].end, i % 2, 64, variant->place |
				   GDA_CUDA_LEAVES_ROOM));
		ASSERT_OK(gda_cuda_qp_create(self->end[1].cuda, &attr, &to[i].qp));
		ASSERT_OK(s_connect(gda_cuda_qp_base(adders[i].end.qp),
				    gda_cuda_qp_base(to[i].qp)));
		adders[i].addr = self->addr;
		adders[i].key = self->key;
		adders[i].n = n;
		adders[i].words = words;
		adders[i].seed = self->seed + i;
		adders[i].olds = olds + (size_t)i * n;
	}
	ASSERT_OK(pthread_create(&watching, NULL, watcher_main, &w));
	for (i = 0; i < QUEUES; i++)
		ASSERT_OK(pthread_create(&thread[i], NULL, adder_main, &adders[i]));
	for (i = 0; i < QUEUES; i++)
		pthread_join(thread[i], NULL);
	__atomic_store_n(&w.stop, true, __ATOMIC_RELEASE);
	pthread_join(watching, NULL);
	EXPECT_FALSE(w.back);
	qsort(olds, QUEUES * n, sizeof(*olds), by_value);
	for (i = 0; i < words; i++)
		sum += word64(self->window, 8 * i);
	EXPECT_EQ(QUEUES * n, sum);
	for (i = 0; i < QUEUES * n; i++, found++) {
		if (i && olds[i] >> 32 != olds[i - 1] >> 32)
			found = 0;
		ASSERT_EQ(found, olds[i] & 0xffffffff);
	}
	for (i = 0; i < QUEUES; i++) {
		EXPECT_FALSE(adders[i].failed);
		gda_cuda_qp_destroy(to[i].qp);
		end_close(&adders[i].end);
	}
	free(to);
	free(adders);
	free(olds);
}

/* The queue has failed with this, at @ticket. */
static void expect_error(struct __test_metadata *_metadata, struct end *e, int64_t ticket,
			 uint32_t syndrome, uint32_t vendor)
{
	struct gda_error error = { .size = sizeof(error) };

	EXPECT_EQ(-EIO, gda_wait(e->v, ticket, 0));
	ASSERT_EQ(1, gda_error(e->v, &error));
	EXPECT_EQ(ticket, error.ticket);
	EXPECT_EQ(syndrome, error.syndrome);
	EXPECT_EQ(vendor, error.vendor);
}

static int64_t add(FIXTURE_DATA(words) *self, uint64_t off, uint32_t key)
{
	struct end *e = self->end;

	return gda_fetch_add(e->v, e->near.iova, e->near.key, self->addr + off, key, 1, 0);
}

TEST_F(words, misaligned)
{
	int64_t ticket = add(self, 4, self->key);

	expect_error(_metadata, self->end, ticket, GDA_MLX5_SYND_REMOTE_INVAL_REQ,
		     GDA_MLX5_VENDOR_ALIGN);
	EXPECT_EQ(0, word64(self->window, 0));
	EXPECT_EQ(0, word64(self->window, 8));
}

TEST_F(words, outside)
{
	expect_error(_metadata, self->end, add(self, WORDS, self->key),
		     GDA_MLX5_SYND_REMOTE_ACCESS, GDA_MLX5_VENDOR_RANGE);
}

/* What is no word is written only where nothing is kept. */
TEST_F(words, other_writes)
{
	struct end *e = self->end;
	int64_t ticket;

	ASSERT_OK(gda_wait(e->v, add(self, 16, self->key), 0));
	memset(e->near.addr, 0x77, 64);
	ticket = gda_put(e->v, e->near.iova, e->near.key, self->addr + 12, self->key, 8, 0);
	if (!variant->flags) {
		expect_error(_metadata, e, ticket, GDA_MLX5_SYND_REMOTE_INVAL_REQ,
			     GDA_MLX5_VENDOR_ALIGN);
		EXPECT_EQ(1, word64(self->window, 16));
		return;
	}
	ASSERT_LE(0, ticket);
	ASSERT_OK(gda_wait(e->v, add(self, 16, self->key), 0));
	EXPECT_EQ(0x77777778, word64(self->window, 16));
	EXPECT_EQ(0x77777777, word32(self->window, 12));
}

/* A kernel stores to a word between: the next addition is to that. */
TEST_F(words, others_store)
{
	struct end *e = self->end;
	uint64_t i, old;

	if (!variant->flags)
		SKIP(return, "nobody else stores to these words");
	for (i = 0; i < 100; i++) {
		uint64_t reset = i % 2 ? s_random(&self->seed) : 0;

		ASSERT_OK(gda_wait(e->v, add(self, 8 * (i % 4), self->key), 0));
		__atomic_store_n((uint64_t *)(void *)(self->window + 8 * (i % 4)), reset,
				 __ATOMIC_RELEASE);
		ASSERT_OK(gda_wait(e->v, add(self, 8 * (i % 4), self->key), 0));
		memcpy(&old, e->near.addr, sizeof(old));
		ASSERT_EQ(reset, old);
		ASSERT_EQ(reset + 1, word64(self->window, 8 * (i % 4)));
	}
}

/* Rights are looked at as for any other memory. */
TEST_F(words, K3_rights)
{
	struct end *e = self->end;
	struct gda_mr *mr;

	gda_mr_dereg(self->mr);
	self->mr = NULL;
	ASSERT_OK(gda_cuda_mr_reg(e[1].cuda, self->addr, WORDS,
				  GDA_ACCESS_LOCAL_WRITE | GDA_ACCESS_REMOTE_WRITE,
				  GDA_CUDA_MR_WORDS | variant->flags, &mr));
	EXPECT_OK(gda_wait(e->v, gda_put_value(e->v, self->addr, gda_mr_key(mr), 7, 0), 0));
	EXPECT_EQ(7, word64(self->window, 0));
	expect_error(_metadata, e, add(self, 0, gda_mr_key(mr)), GDA_MLX5_SYND_REMOTE_ACCESS,
		     GDA_MLX5_VENDOR_RIGHTS);
	gda_mr_dereg(mr);
}

TEST_F(words, registration)
{
	struct end *e = &self->end[1];
	struct gda_mr *mr = NULL;

	EXPECT_EQ(-EINVAL, gda_cuda_mr_reg(e->cuda, e->gpu, 64, GDA_ACCESS_ALL,
					   GDA_CUDA_MR_STORES, &mr));
	EXPECT_NE(NULL, strstr(gda_last_error(), "without GDA_CUDA_MR_WORDS"));
	EXPECT_EQ(-EINVAL, gda_cuda_mr_reg(e->cuda, e->gpu + 4, 64, GDA_ACCESS_ALL,
					   GDA_CUDA_MR_WORDS, &mr));
	EXPECT_NE(NULL, strstr(gda_last_error(), "no multiple of 8"));
	EXPECT_EQ(-EBUSY, gda_cuda_mr_reg(e->cuda, self->addr + 8, 8, GDA_ACCESS_ALL,
					  GDA_CUDA_MR_WORDS, &mr));
	EXPECT_NE(NULL, strstr(gda_last_error(), "registered with GDA_CUDA_MR_WORDS already"));
	EXPECT_EQ(-EFAULT, gda_cuda_mr_reg(e->cuda, self->addr, WORDS + 8, GDA_ACCESS_ALL,
					   GDA_CUDA_MR_WORDS, &mr));
	EXPECT_EQ(-EOPNOTSUPP, gda_cuda_mr_reg(e->cuda, e->gpu, 64, GDA_ACCESS_ALL,
					       GDA_CUDA_MR_WORDS | 1U << 18, &mr));
	EXPECT_EQ(NULL, mr);
	/* what was refused is in nobody's way, and plain MRs of the same memory are not either */
	ASSERT_OK(gda_cuda_mr_reg(e->cuda, e->gpu, 64, GDA_ACCESS_ALL, GDA_CUDA_MR_WORDS, &mr));
	EXPECT_OK(gda_mr_dereg(mr));
	ASSERT_OK(gda_cuda_mr_reg(e->cuda, self->addr, 64, GDA_ACCESS_ALL, 0, &mr));
	EXPECT_OK(gda_mr_dereg(mr));
}

static void *dereg_thread(void *arg)
{
	FIXTURE_DATA(words) *self = arg;

	gda_mr_dereg(self->mr);
	__atomic_store_n(&self->mr, NULL, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * The MR goes while words are read and stored for several queues: that waits for what was begun,
 * and what was not begun fails; nobody waits for a queue that held the words.
 */
TEST_F(words, dereg_in_flight)
{
	struct end *e = self->end;
	int64_t first, last = 0;
	pthread_t thread;
	int i;

	ASSERT_OK(gda_wait(e[0].v, gda_nop(e[0].v, 0), 0));
	ASSERT_OK(gda_wait(e[1].v, gda_nop(e[1].v, 0), 0));
	if (variant->place)
		SKIP(return, "what was posted would not be fetched");
	fake_cuda_hold(true);
	first = add(self, 0, self->key);
	while (!fake_cuda_pending())
		usleep(100);
	for (i = 0; i < 8; i++) {
		last = add(self, 8, self->key);
		ASSERT_LE(0, gda_fetch_add(e[1].v, e[1].near.iova, e[1].near.key, e[0].gpu,
					   e[0].key, 1, 0));
	}
	ASSERT_OK(pthread_create(&thread, NULL, dereg_thread, self));
	usleep(20000);
	EXPECT_NE(NULL, __atomic_load_n(&self->mr, __ATOMIC_ACQUIRE));
	fake_cuda_hold(false);
	pthread_join(thread, NULL);
	EXPECT_GE(0, gda_wait(e[0].v, first, 0));
	EXPECT_GT(0, gda_wait(e[0].v, add(self, 0, self->key), 0));
	EXPECT_GE(0, gda_wait(e[0].v, last, 0));
}

/* A queue goes while it has words in flight, and one that it kept waiting goes on. */
TEST_F(words, destroy_in_flight)
{
	struct gda_cuda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = 64, .timeout_ns = S_TIMEOUT_NS,
	};
	struct end *e = self->end;
	struct gda_cuda_qp *to;
	struct end other;
	int64_t ticket;
	int i;

	ASSERT_OK(end_open(&other, 0, 64, 0));
	ASSERT_OK(gda_cuda_qp_create(e[1].cuda, &attr, &to));
	ASSERT_OK(s_connect(gda_cuda_qp_base(other.qp), gda_cuda_qp_base(to)));
	for (i = 0; i < 12; i++)
		ASSERT_LE(0, add(self, 8 * (uint64_t)i, self->key));
	ticket = gda_fetch_add(other.v, other.near.iova, other.near.key, self->addr, self->key, 1,
			       0);
	EXPECT_OK(gda_cuda_qp_destroy(e[0].qp));
	e[0].qp = NULL;
	EXPECT_OK(gda_wait(other.v, ticket, 0));
	EXPECT_LE(1, word64(self->window, 0));
	gda_cuda_qp_destroy(to);
	end_close(&other);
}

/* So can the whole context, under it. */
TEST_F(words, shutdown_in_flight)
{
	struct end *e = self->end;
	int i;

	for (i = 0; i < 12; i++) {
		ASSERT_LE(0, add(self, 8 * (uint64_t)i, self->key));
		ASSERT_LE(0, gda_put(e[0].v, e[0].gpu, e[0].key, e[1].gpu, e[1].key, 3000, 0));
	}
	EXPECT_OK(gda_context_shutdown(e[variant->flags ? 1 : 0].ctx));
	if (variant->flags)
		gda_quiet(e[0].v, 0);
	for (i = 0; i < 2; i++) {
		gda_cuda_qp_destroy(e[i].qp);
		e[i].qp = NULL;
	}
}

/* The GPU may be closed before words of its memory are: they stay. */
TEST_F(words, outlive_the_gpu)
{
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	uint64_t addr = fake_cuda_alloc(0, 4096);
	struct gda_mr *mr;

	ASSERT_OK(gda_open(GDA_DEVICE_INPROC, &ctx));
	ASSERT_OK(gda_cuda_open(ctx, 0, &cuda));
	ASSERT_OK(gda_cuda_mr_reg(cuda, addr, 4096, GDA_ACCESS_ALL, GDA_CUDA_MR_WORDS, &mr));
	gda_cuda_close(cuda);
	EXPECT_OK(gda_mr_dereg(mr));
	gda_close(ctx);
	fake_cuda_free(addr);
}

/* The driver dies: the oldest request without a completion fails, and all others are flushed. */
TEST_F(words, driver_dies)
{
	struct end *e = self->end;
	int64_t ticket[8];
	int i;

	ASSERT_OK(gda_wait(e[0].v, add(self, 0, self->key), 0));
	if (variant->place)
		SKIP(return, "nobody would hear of it: the CQ is the driver's to write");
	fake_cuda_hold(true);
	for (i = 0; i < 8; i++)
		ticket[i] = add(self, 0, self->key);
	while (!fake_cuda_pending())
		usleep(100);
	fake_cuda_break();
	expect_error(_metadata, e, ticket[0], GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_IO);
	EXPECT_EQ(-ECANCELED, gda_wait(e[0].v, ticket[7], 0));
}

TEST_HARNESS_MAIN

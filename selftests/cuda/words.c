// SPDX-License-Identifier: MIT
/*
 * Words in GPU memory: every operation against a model, in order behind data, from many queues.
 */
#include <pthread.h>
#include <gda/masked_atomic.h>
#include "words.h"

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

TEST_HARNESS_MAIN

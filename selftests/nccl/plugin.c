// SPDX-License-Identifier: MIT
/*
 * The RMA plugin without NCCL and without a GPU: two ranks drive its table as NCCL does, with
 * memory of the host and with memory of GPUs that selftests/cuda/fake.c stands for.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "ranks.h"

/* Sanitizers, on a busy machine. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	200

/* It is slow, and does not take a word that the fake GPU stores by memcpy() for a signal. */
#ifdef __SANITIZE_THREAD__
#define UNDER_TSAN	true
#else
#define UNDER_TSAN	false
#endif

TEST(what_nccl_asks_first)
{
	struct gda_nccl_properties p;
	unsigned char handle[GDA_NCCL_HANDLE_BYTES];
	void *listener;
	int n = 0;

	ASSERT_TRUE(ranks_load());
	EXPECT_STREQ("gda", rma->name);
	EXPECT_EQ(0, rma->devices(&n));
	EXPECT_EQ(1, n);
	EXPECT_EQ(0, rma->get_properties(0, &p));
	EXPECT_EQ(GDA_NCCL_PTR_HOST | GDA_NCCL_PTR_CUDA, p.ptr_support);
	EXPECT_EQ(GDA_NCCL_DEVICE_PROXY, p.device_type);
	EXPECT_EQ(1, p.virtual_nic.n);
	EXPECT_EQ(GDA_NCCL_INVALID_ARGUMENT, rma->get_properties(1, &p));
	EXPECT_EQ(GDA_NCCL_INVALID_ARGUMENT, rma->listen(NULL, 1, handle, &listener));
	EXPECT_EQ(0, rma->finalize(NULL));
}

FIXTURE(pair)
{
	uint64_t seed;
};

FIXTURE_VARIANT(pair)
{
	bool cuda;
};

FIXTURE_VARIANT_ADD(pair, host)
{
	.cuda = false,
};

FIXTURE_VARIANT_ADD(pair, cuda)
{
	.cuda = true,
};

FIXTURE_SETUP(pair)
{
	self->seed = 1;
	ASSERT_TRUE(ranks_open(variant->cuda)) TH_LOG("%s", logged);
}

FIXTURE_TEARDOWN(pair)
{
	ranks_close();
}

static void fill(uint8_t *p, size_t n, uint64_t seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (uint8_t)ranks_random(&seed);
}

TEST_F(pair, puts_and_gets_of_every_size)
{
	size_t size;

	for (size = 1; size <= WINDOW / 2; size = size < 16 ? size + 1 : size * 3) {
		fill(ranks[0].window, size, size);
		ASSERT_EQ(0, ranks_put(&ranks[0], 0, 0, WINDOW / 2, size, 1));
		ASSERT_EQ(0, memcmp(ranks[0].window, ranks[1].window + WINDOW / 2, size));
		fill(ranks[0].window, size, size + 1);
		ASSERT_EQ(0, ranks_get(&ranks[1], 1, 0, 0, size, 0));
		ASSERT_EQ(0, memcmp(ranks[0].window, ranks[1].window, size));
		/* to itself */
		ASSERT_EQ(0, ranks_put(&ranks[0], 1, 0, WINDOW / 2, size, 0));
		ASSERT_EQ(0, memcmp(ranks[0].window, ranks[0].window + WINDOW / 2, size));
		ASSERT_EQ(0, ranks_get(&ranks[0], 0, 0, WINDOW / 2 + 1, size - 1, 0));
	}
	ASSERT_EQ(0, ranks_put(&ranks[0], 0, 0, 0, 0, 1));
}

static uint64_t seen(const uint64_t *word)
{
	/* pairs with the store of the executor */
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

TEST_F(pair, signal_behind_its_data)
{
	struct rank *a = &ranks[0], *b = &ranks[1];
	unsigned int n;

	for (n = 1; n <= 200; n++) {
		uint64_t end = ranks_now() + 60000000000U, *word = &b->words[n % 2];
		uint64_t before = seen(word);
		size_t size = 1 + ranks_random(&self->seed) % (WINDOW / 2);
		void *request;
		int done = 0;

		fill(a->window, size, n);
		ASSERT_EQ(0, rma->iput_signal(a->context, n % CONTEXTS, 0, a->window_mr, size,
					      WINDOW / 2, a->window_mr, 1, n % 2 * 8,
					      a->words_mr, 99, GDA_NCCL_SIGNAL_INC, n % 3,
					      &request));
		if (UNDER_TSAN && variant->cuda)
			ASSERT_EQ(0, ranks_wait(a, request));
		/* the signal does not depend on a test */
		while (seen(word) == before && ranks_now() < end) {
			rma->progress(a->context);
			sched_yield();
		}
		ASSERT_EQ(before + 1, seen(word));
		ASSERT_EQ(0, memcmp(a->window, b->window + WINDOW / 2, size));
		if (!(UNDER_TSAN && variant->cuda))
			ASSERT_EQ(0, ranks_wait(a, request));
		ASSERT_EQ(GDA_NCCL_INVALID_ARGUMENT, rma->test(a->coll, request, &done));
	}
}

/* A signal alone follows the puts before it. */
TEST_F(pair, signal_alone_follows_earlier_puts)
{
	struct rank *a = &ranks[0], *b = &ranks[1];
	unsigned int n, i;

	for (n = 1; n <= 50; n++) {
		void *request[9];

		fill(a->window, WINDOW / 2, n);
		for (i = 0; i < 8; i++)
			ASSERT_EQ(0, rma->iput(a->context, 1, i * (WINDOW / 16), a->window_mr,
					       WINDOW / 16, WINDOW / 2 + i * (WINDOW / 16),
					       a->window_mr, 1, &request[i]));
		ASSERT_EQ(0, rma->iput_signal(a->context, 1, 0, NULL, 0, 0, NULL, 1, 24,
					      a->resettable_mr, 1ULL << 40, GDA_NCCL_SIGNAL_ADD,
					      true, &request[8]));
		ASSERT_EQ(0, ranks_wait(a, request[8]));
		ASSERT_EQ((uint64_t)n << 40, b->resettable[3]);
		ASSERT_EQ(0, memcmp(a->window, b->window + WINDOW / 2, WINDOW / 2));
		for (i = 0; i < 8; i++)
			ASSERT_EQ(0, ranks_wait(a, request[i]));
	}
}

TEST_F(pair, signal_words_that_the_program_resets)
{
	unsigned int n;

	for (n = 1; n <= 100; n++) {
		ASSERT_EQ(0, ranks_put_signal(&ranks[0], 0, 0, 0, 8, 1, ranks[0].resettable_mr, 5,
					      n));
		ASSERT_EQ(0, ranks_put_signal(&ranks[1], 0, 0, 0, 8, 1, ranks[1].resettable_mr, 5,
					      1));
		ASSERT_EQ(n + 1, ranks[1].resettable[5]);
		ranks[1].resettable[5] = 0;
	}
	/* what lay there before the first signal counts */
	ranks[0].words[7] = 1000;
	ASSERT_EQ(0, ranks_put_signal(&ranks[1], 0, 0, 0, 0, 0, ranks[1].words_mr, 7, 23));
	ASSERT_EQ(1023, ranks[0].words[7]);
}

#define ADDS	(UNDER_TSAN ? 50 : 120)

/* Both ranks, in both contexts, add to the same words of both. */
static int adds(struct rank *r)
{
	void *request[4];
	int result = 0;
	unsigned int n, i;

	for (n = 0; n < ADDS && !result; n++) {
		for (i = 0; i < 4 && !result; i++)
			result = rma->iput_signal(r->context, (int)(i / 2), 0, r->window_mr, n % 64,
						  WINDOW / 2 + (uint64_t)r->rank * 4096 + i * 64,
						  r->window_mr, i % 2, 8 * (n % 3),
						  n % 2 ? r->words_mr : r->resettable_mr, n,
						  GDA_NCCL_SIGNAL_ADD, n % 5, &request[i]);
		for (i = 0; i < 4 && !result; i++)
			result = ranks_wait(r, request[i]);
	}
	return result;
}

TEST_F(pair, many_add_to_the_same_words)
{
	uint64_t sum[2] = { 0, 0 };
	unsigned int n, i;

	ASSERT_TRUE(ranks_both(adds)) TH_LOG("%s", logged);
	for (n = 0; n < ADDS; n++)
		sum[n % 2] += n;
	for (i = 0; i < RANKS; i++) {
		EXPECT_EQ(4 * sum[1], ranks[i].words[0] + ranks[i].words[1] + ranks[i].words[2]);
		EXPECT_EQ(4 * sum[0], ranks[i].resettable[0] + ranks[i].resettable[1] +
				      ranks[i].resettable[2]);
	}
}

TEST_F(pair, flush_waits_for_puts_and_gets)
{
	struct rank *a = &ranks[0], *b = &ranks[1];
	void *put, *get, *flush;
	unsigned int n;

	for (n = 0; n < 100; n++) {
		fill(a->window, WINDOW / 4, n);
		fill(b->window, WINDOW / 4, n + 1);
		ASSERT_EQ(0, rma->iput(a->context, 0, 0, a->window_mr, WINDOW / 4, WINDOW / 2,
				       a->window_mr, 1, &put));
		ASSERT_EQ(0, rma->iget(a->context, 0, 0, a->window_mr, WINDOW / 4, WINDOW / 2,
				       a->window_mr, 1, &get));
		ASSERT_EQ(0, rma->iflush(a->context, 0, a->words_mr, 1, &flush));
		ASSERT_EQ(0, ranks_wait(a, flush));
		ASSERT_EQ(0, memcmp(a->window, b->window + WINDOW / 2, WINDOW / 4));
		ASSERT_EQ(0, memcmp(b->window, a->window + WINDOW / 2, WINDOW / 4));
		ASSERT_EQ(0, ranks_wait(a, put));
		ASSERT_EQ(0, ranks_wait(a, get));
	}
	ASSERT_EQ(0, rma->iflush(a->context, 1, NULL, 0, &flush));
	ASSERT_EQ(0, ranks_wait(a, flush));
}

/* Less than any deadline: a busy machine is slow. */
#define SOON_NS		10000000000U
#define RANDOM_OPS	(UNDER_TSAN ? 400 : 1000)

/* One rank works, against a model of both windows and of the words. */
TEST_F(pair, random_operations_against_a_model)
{
	static uint8_t model[RANKS][WINDOW];
	static uint64_t words[RANKS][WORDS];
	struct rank *a = &ranks[0];
	unsigned int n;

	for (n = 0; n < RANKS; n++) {
		fill(ranks[n].window, WINDOW, n);
		memcpy(model[n], ranks[n].window, WINDOW);
	}
	for (n = 0; n < RANDOM_OPS; n++) {
		uint64_t what = ranks_random(&self->seed);
		size_t size = what >> 8 & 3 ? what >> 16 & 0xff : what >> 16 & 0x3fff;
		uint64_t from = ranks_random(&self->seed) % (WINDOW / 2 - size);
		uint64_t to = WINDOW / 2 + ranks_random(&self->seed) % (WINDOW / 2 - size);
		int peer = what >> 1 & 1, context = what >> 2 & 1;
		unsigned int word = what >> 3 & 15;

		if (what % 4 == 0) {
			ASSERT_EQ(0, ranks_get(a, context, from, to, size, peer));
			memmove(model[0] + to, model[peer] + from, size);
		} else if (what % 4 == 1) {
			ASSERT_EQ(0, ranks_put(a, context, from, to, size, peer));
			memmove(model[peer] + to, model[0] + from, size);
		} else {
			ASSERT_EQ(0, ranks_put_signal(a, context, from, to, size, peer, a->words_mr,
						      word, what));
			memmove(model[peer] + to, model[0] + from, size);
			words[peer][word] += what;
		}
	}
	for (n = 0; n < RANKS; n++) {
		EXPECT_EQ(0, memcmp(model[n], ranks[n].window, WINDOW));
		EXPECT_EQ(0, memcmp(words[n], ranks[n].words, sizeof(words[n])));
	}
}

static int refused(void *mr, void *signal_mr, uint64_t from, uint64_t to, size_t size,
		   uint32_t rank, uint64_t word, uint32_t op, int context)
{
	void *request;

	return rma->iput_signal(ranks[0].context, context, from, mr, size, to, mr, rank, word,
				signal_mr, 1, op, true, &request);
}

TEST_F(pair, misuse_is_refused_and_loses_nothing)
{
	void *mr = ranks[0].window_mr, *words = ranks[0].words_mr, *request;
	const int bad = GDA_NCCL_INVALID_ARGUMENT, inc = GDA_NCCL_SIGNAL_INC;
	bool error = true;
	int done;

	EXPECT_EQ(bad, ranks_put(&ranks[0], 0, WINDOW - 3, 0, 4, 1));
	EXPECT_EQ(bad, ranks_put(&ranks[0], 0, 0, WINDOW - 3, 4, 1));
	EXPECT_EQ(bad, ranks_put(&ranks[0], 0, 0, ~0ULL, 4, 1));
	EXPECT_EQ(bad, ranks_get(&ranks[0], 0, WINDOW, 0, 1, 1));
	EXPECT_EQ(bad, ranks_put(&ranks[0], CONTEXTS, 0, 0, 1, 1));
	EXPECT_EQ(bad, ranks_put(&ranks[0], -1, 0, 0, 1, 1));
	EXPECT_EQ(bad, ranks_put(&ranks[0], 0, 0, 0, 1, RANKS));
	EXPECT_EQ(bad, refused(mr, words, 0, 0, 1, 1, 4, inc, 0));
	EXPECT_EQ(bad, refused(mr, words, 0, 0, 1, 1, WORDS * 8, inc, 0));
	EXPECT_EQ(bad, refused(mr, words, 0, 0, 1, 1, 0, 3, 0));
	EXPECT_EQ(bad, refused(mr, NULL, 0, 0, 1, 1, 0, inc, 0));
	EXPECT_EQ(bad, refused(NULL, words, 0, 0, 1, 1, 0, inc, 0));
	EXPECT_EQ(bad, refused(ranks[1].window_mr, words, 0, 0, 1, 1, 0, inc, 0));
	EXPECT_EQ(bad, rma->dereg_mr_sym(ranks[0].coll, ranks[1].window_mr));
	EXPECT_EQ(bad, rma->test(ranks[0].coll, NULL, &done));
	ASSERT_EQ(0, rma->iput(ranks[0].context, 0, 0, mr, 8, 0, mr, 1, &request));
	EXPECT_EQ(bad, rma->test(ranks[1].coll, request, &done));
	EXPECT_EQ(0, ranks_wait(&ranks[0], request));
	EXPECT_EQ(0, rma->query_last_error(ranks[0].context, &error));
	EXPECT_FALSE(error);
	EXPECT_NE(NULL, strstr(logged, "not inside of what is registered"));
}

static int odd_context(struct rank *r)
{
	struct gda_nccl_config config = { .contexts = 1 + r->rank, .rank_stride = 1 };
	void *context;

	return rma->create_context(r->coll, &config, &context) == GDA_NCCL_SYSTEM_ERROR ? 0 : 1;
}

TEST_F(pair, ranks_that_disagree_are_told)
{
	struct gda_nccl_config config = { .contexts = 0 };
	void *context;

	EXPECT_EQ(GDA_NCCL_INVALID_ARGUMENT,
		  rma->create_context(ranks[0].coll, &config, &context));
	config = (struct gda_nccl_config){ .contexts = 1, .rank_stride = 3 };
	EXPECT_EQ(GDA_NCCL_INVALID_ARGUMENT,
		  rma->create_context(ranks[0].coll, &config, &context));
	EXPECT_TRUE(ranks_both(odd_context));
}

static int strided(struct rank *r)
{
	struct gda_nccl_config config = { .contexts = 1, .rank_stride = 2 };
	void *context, *request;
	int result = rma->create_context(r->coll, &config, &context);

	if (result)
		return result;
	if (rma->iput(context, 0, 0, r->window_mr, 8, 64, r->window_mr, !r->rank, &request) !=
	    GDA_NCCL_INVALID_ARGUMENT)
		return -1;
	result = rma->iput(context, 0, 0, r->window_mr, 8, 64, r->window_mr, (uint32_t)r->rank,
			   &request);
	if (!result)
		result = ranks_wait(r, request);
	rma->destroy_context(context);
	return result;
}

TEST_F(pair, peers_beyond_the_stride_are_not_connected)
{
	EXPECT_TRUE(ranks_both(strided));
	EXPECT_NE(NULL, strstr(logged, "rank stride"));
}

/* A key that is refused is an error of the request, soon, and says what it was. */
TEST_F(pair, refused_key)
{
	uint64_t start;
	bool error = false;

	ASSERT_EQ(0, ranks_put(&ranks[0], 0, 0, 0, 8, 1));
	rma->dereg_mr_sym(ranks[1].coll, ranks[1].window_mr);
	start = ranks_now();
	EXPECT_EQ(GDA_NCCL_REMOTE_ERROR, ranks_put(&ranks[0], 0, 0, 0, 8, 1));
	EXPECT_GT(SOON_NS, ranks_now() - start);
	EXPECT_EQ(0, rma->query_last_error(ranks[0].context, &error));
	EXPECT_TRUE(error);
	EXPECT_NE(NULL, strstr(logged, "iput of rank 0 to rank 1, context 0")) TH_LOG("%s", logged);
	EXPECT_NE(NULL, strstr(logged, "key")) TH_LOG("%s", logged);
	/* another context goes on */
	EXPECT_EQ(0, ranks_put_signal(&ranks[0], 1, 0, 0, 0, 1, ranks[0].words_mr, 0, 1));
}

TEST_F(pair, closed_peer)
{
	uint64_t start;
	void *mr;

	ASSERT_EQ(0, ranks_put(&ranks[0], 0, 0, 0, 8, 1));
	rma->close_coll(ranks[1].coll);
	start = ranks_now();
	EXPECT_EQ(GDA_NCCL_REMOTE_ERROR, ranks_put(&ranks[0], 0, 0, 0, 8, 1));
	EXPECT_EQ(GDA_NCCL_REMOTE_ERROR, ranks_get(&ranks[0], 1, 0, 0, 8, 1));
	EXPECT_EQ(GDA_NCCL_SYSTEM_ERROR,
		  rma->reg_mr_sym(ranks[0].coll, ranks[0].addr[0], 8,
				  variant->cuda ? GDA_NCCL_PTR_CUDA : GDA_NCCL_PTR_HOST, 0, &mr));
	EXPECT_GT(SOON_NS, ranks_now() - start);
	EXPECT_NE(NULL, strstr(logged, "has closed its communicator")) TH_LOG("%s", logged);
	rma->close_coll(ranks[0].coll);
	/* both are gone, and a new pair can be had, for the fixture to close */
	ASSERT_TRUE(ranks_open(variant->cuda)) TH_LOG("%s", logged);
}

static unsigned int count(const char *dir)
{
	DIR *d = opendir(dir);
	unsigned int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int closes_only(struct rank *r)
{
	return rma->close_coll(r->coll);
}

/* NCCL does not always destroy its contexts and deregister. */
TEST(close_sweeps)
{
	unsigned int threads, files, i;
	void *request;

	ASSERT_TRUE(ranks_open(false)) TH_LOG("%s", logged);
	ranks_both(closes_only);
	threads = count("/proc/self/task");
	files = count("/proc/self/fd");
	for (i = 0; i < 10; i++) {
		ASSERT_TRUE(ranks_open(false)) TH_LOG("%s", logged);
		ASSERT_EQ(0, rma->iput(ranks[0].context, 0, 0, ranks[0].window_mr, 8, 0,
				       ranks[0].window_mr, 1, &request));
		ASSERT_EQ(0, rma->iput_signal(ranks[0].context, 0, 0, NULL, 0, 0, NULL, 1, 0,
					      ranks[0].words_mr, 1, GDA_NCCL_SIGNAL_INC, true,
					      &request));
		ASSERT_TRUE(ranks_both(closes_only));
	}
	EXPECT_EQ(threads, count("/proc/self/task"));
	EXPECT_EQ(files, count("/proc/self/fd"));
}

/* The handle of a rank in another process is refused, in one sentence. */
TEST(I40_18_several_processes)
{
	char said[1024] = "";
	unsigned char other[GDA_NCCL_HANDLE_BYTES], mine[GDA_NCCL_HANDLE_BYTES];
	void *handles[2] = { mine, other };
	void *listener, *coll;
	int fd[2], status, saved, err, again;

	ASSERT_TRUE(ranks_load());
	ASSERT_EQ(0, rma->listen(NULL, 0, mine, &listener));
	ASSERT_EQ(0, pipe(fd));
	if (!fork()) {
		void *theirs;

		if (rma->listen(NULL, 0, other, &theirs) ||
		    write(fd[1], other, sizeof(other)) != sizeof(other))
			_exit(1);
		_exit(0);
	}
	wait(&status);
	ASSERT_EQ(0, status);
	ASSERT_EQ(sizeof(other), read(fd[0], other, sizeof(other)));
	/* a user who has not set NCCL_DEBUG reads stderr */
	unsetenv("NCCL_DEBUG");
	saved = dup(STDERR_FILENO);
	ASSERT_EQ(0, pipe2(fd, O_NONBLOCK));
	dup2(fd[1], STDERR_FILENO);
	err = rma->connect(NULL, handles, 2, 0, listener, &coll);
	again = rma->connect(NULL, handles, 2, 0, listener, &coll);
	dup2(saved, STDERR_FILENO);
	ASSERT_LT(0, read(fd[0], said, sizeof(said) - 1));
	EXPECT_EQ(GDA_NCCL_INVALID_USAGE, err);
	EXPECT_EQ(GDA_NCCL_INVALID_USAGE, again);
	EXPECT_EQ(0, strncmp(said, "GDA: rank 1 is in another process", 33)) TH_LOG("%s", said);
	EXPECT_EQ(NULL, strstr(said + 1, "GDA:"));
	EXPECT_NE(NULL, strstr(logged, "rank 1 is in another process")) TH_LOG("%s", logged);
	memset(other, 0, sizeof(other));
	EXPECT_EQ(GDA_NCCL_INVALID_ARGUMENT, rma->connect(NULL, handles, 2, 0, listener, &coll));
	EXPECT_EQ(GDA_NCCL_INVALID_ARGUMENT, rma->connect(NULL, handles, 2, 2, listener, &coll));
	rma->close_listen(listener);
}

TEST_HARNESS_MAIN

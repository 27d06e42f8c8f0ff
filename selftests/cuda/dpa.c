// SPDX-License-Identifier: MIT
/*
 * Events of gda/dpa.h for a GPU, on a driver without one: streams that wait for an event and set
 * one, launches behind streams, and what is refused. Kernels are in selftests/gpu/dpa.
 */
#include <gda/dpa_cuda.h>
#include "../inproc/suite.h"
#include "fake.h"
#include "fake_calls.h"

#define SECOND	1000000000ULL
#define LINKS	200U

static int ran;

GDA_DPA_TASK(g_count)
{
	__atomic_fetch_add(&ran, 1, __ATOMIC_RELEASE);
}

FIXTURE(dpa) {
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	struct gda_dpa *dpa;
	struct gda_dpa_cuda *gpu;
	struct gda_dpa_event *from, *to;	/* set by the GPU; by host and tasks */
	void *stream;
};

FIXTURE_SETUP(dpa)
{
	struct gda_dpa_event_attr from = {
		.size = sizeof(from), .publishers = GDA_DPA_GPU,
		.subscribers = GDA_DPA_HOST | GDA_DPA_TASKS,
	}, to = {
		.size = sizeof(to), .publishers = GDA_DPA_HOST | GDA_DPA_TASKS,
		.subscribers = GDA_DPA_GPU | GDA_DPA_HOST,
	};

	fake_cuda_use();
	ASSERT_EQ(0, gda_open(GDA_DEVICE_INPROC, &self->ctx));
	ASSERT_EQ(0, gda_cuda_open(self->ctx, 0, &self->cuda));
	ASSERT_EQ(0, gda_dpa_create(self->ctx, NULL, &self->dpa));
	ASSERT_EQ(0, gda_dpa_cuda_create(self->dpa, self->cuda, &self->gpu));
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, &from, &self->from));
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, &to, &self->to));
	ASSERT_EQ(0, cuStreamCreateWithPriority(&self->stream, 1, 0));
	ran = 0;
}

FIXTURE_TEARDOWN(dpa)
{
	EXPECT_EQ(0, gda_dpa_cuda_destroy(self->gpu));
	cuStreamDestroy_v2(self->stream);
	EXPECT_EQ(0, gda_dpa_destroy(self->dpa));
	gda_cuda_close(self->cuda);
	gda_close(self->ctx);
}

static uint64_t soon(void)
{
	return gda_clock_ns() + 20 * SECOND;
}

/* A stream does nothing before the event is greater, and all of it in order afterwards. */
TEST_F(dpa, D_06_a_stream_waits)
{
	uint64_t i;

	for (i = 0; i < LINKS; i++) {
		ASSERT_EQ(0, gda_dpa_cuda_stream_wait_gt(self->gpu, self->to, i, UINT64_MAX,
							 self->stream));
		ASSERT_EQ(0, gda_dpa_cuda_stream_set(self->gpu, self->from, i + 1, self->stream));
	}
	EXPECT_EQ(-ETIMEDOUT, gda_dpa_event_await_gt(self->from, 0, UINT64_MAX,
						     gda_clock_ns() + SECOND / 50));
	for (i = 0; i < LINKS; i++) {
		ASSERT_EQ(0, gda_dpa_event_add(self->to, 1));
		ASSERT_EQ(0, gda_dpa_event_await_gt(self->from, i, UINT64_MAX, soon()));
		/* and not one more */
		ASSERT_EQ(-ETIMEDOUT, gda_dpa_event_await_gt(self->from, i + 1, UINT64_MAX,
							     gda_clock_ns()));
	}
	EXPECT_EQ(0, cuStreamSynchronize(self->stream));
}

/* A launch starts when a stream sets an event, and a stream goes on when it has ended. */
TEST_F(dpa, D_11_a_launch_between_streams)
{
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &g_count, .wait = self->from, .done = self->to,
		.value = 1, .threads = 3,
	};
	uint64_t i;

	for (i = 0; i < LINKS; i++) {
		l.threshold = i;
		ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
	}
	for (i = 0; i < LINKS; i++) {
		ASSERT_EQ(0, gda_dpa_cuda_stream_set(self->gpu, self->from, i + 1, self->stream));
		ASSERT_EQ(0, gda_dpa_cuda_stream_wait_gt(self->gpu, self->to, i, UINT64_MAX,
							 self->stream));
	}
	EXPECT_EQ(0, cuStreamSynchronize(self->stream));
	EXPECT_EQ(3 * LINKS, __atomic_load_n(&ran, __ATOMIC_ACQUIRE));
}

/* A stream that would wait for ever goes on when the GPU gives the events back. */
TEST_F(dpa, D_16_destruction_lets_streams_go)
{
	struct gda_dpa_report r = { .size = sizeof(r) };
	uint64_t value;

	ASSERT_EQ(0, gda_dpa_event_get(self->to, &value));
	ASSERT_EQ(0, gda_dpa_cuda_stream_wait_gt(self->gpu, self->to, 41, UINT64_MAX,
						 self->stream));
	usleep(20000);
	EXPECT_EQ(600, cuStreamQuery(self->stream));
	EXPECT_EQ(-EBUSY, gda_dpa_destroy(self->dpa));
	EXPECT_NE(NULL, strstr(gda_last_error(), "gda_dpa_cuda_destroy"));
	EXPECT_EQ(0, gda_dpa_error(self->dpa, &r));
	EXPECT_EQ(0, gda_dpa_cuda_destroy(self->gpu));
	EXPECT_EQ(0, cuStreamSynchronize(self->stream));
	ASSERT_EQ(0, gda_dpa_event_get(self->to, &value));
	EXPECT_EQ(42, value);
	self->gpu = NULL;
}

TEST_F(dpa, D_06_what_streams_are_refused)
{
	struct gda_dpa_cuda_event word;
	struct gda_dpa_event *plain, *other;
	struct gda_dpa_cuda *gpu;
	struct gda_context *ctx;
	struct gda_dpa *dpa;

	EXPECT_EQ(-EOPNOTSUPP, gda_dpa_cuda_stream_wait_gt(self->gpu, self->to, 0, 1,
							   self->stream));
	EXPECT_NE(NULL, strstr(gda_last_error(), "set mask to UINT64_MAX"));
	EXPECT_EQ(-ERANGE, gda_dpa_cuda_stream_wait_gt(self->gpu, self->to, INT64_MAX, UINT64_MAX,
						       self->stream));
	EXPECT_EQ(-EACCES, gda_dpa_cuda_stream_wait_gt(self->gpu, self->from, 0, UINT64_MAX,
						       self->stream));
	EXPECT_EQ(-EACCES, gda_dpa_cuda_stream_set(self->gpu, self->to, 1, self->stream));
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &plain));
	EXPECT_EQ(-EACCES, gda_dpa_cuda_event(self->gpu, plain, &word));
	ASSERT_EQ(0, gda_open(GDA_DEVICE_INPROC, &ctx));
	ASSERT_EQ(0, gda_dpa_create(ctx, NULL, &dpa));
	ASSERT_EQ(0, gda_dpa_event_create(dpa, NULL, &other));
	EXPECT_EQ(-EINVAL, gda_dpa_cuda_event(self->gpu, other, &word));
	EXPECT_EQ(-EINVAL, gda_dpa_cuda_create(dpa, self->cuda, &gpu));
	EXPECT_EQ(0, gda_dpa_destroy(dpa));
	gda_close(ctx);
	EXPECT_EQ(0, cuStreamQuery(self->stream));
}

/* A processor does with an event what kernels do. */
TEST_F(dpa, D_06_words_of_kernels)
{
	struct gda_dpa_cuda_event from, to;
	uint64_t value;

	ASSERT_EQ(0, gda_dpa_cuda_event(self->gpu, self->from, &from));
	ASSERT_EQ(0, gda_dpa_cuda_event(self->gpu, self->to, &to));
	gda_dpa_cuda_set(from, 0x1234);
	ASSERT_EQ(0, gda_dpa_event_get(self->from, &value));
	EXPECT_EQ(0x1234, value);
	EXPECT_EQ(-ETIMEDOUT, gda_dpa_cuda_wait_gt(to, 0, UINT64_MAX, gda_clock_ns() + 1000000));
	ASSERT_EQ(0, gda_dpa_event_set(self->to, 0x105));
	EXPECT_EQ(0x105, gda_dpa_cuda_read(to));
	EXPECT_EQ(0, gda_dpa_cuda_wait_gt(to, 0x104, UINT64_MAX, 0));
	EXPECT_EQ(-ETIMEDOUT, gda_dpa_cuda_wait_gt(to, 5, 0xff, gda_clock_ns() + 1000000));
	EXPECT_EQ(0, gda_dpa_cuda_wait_ne(to, 4, 0xff, 0));
	EXPECT_EQ(-ETIMEDOUT, gda_dpa_cuda_wait_ne(to, 5, 0xff, gda_clock_ns() + 1000000));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: MIT
/*
 * A single transfer, as PTO's SimpleGet does it with the SDMA engine: 1024 elements from one
 * place to another by a copy engine, a session with 256 bytes of scratch, one wait. No other rank
 * is needed. simple_get_peer.c is the same with the RDMA engine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <gda/async.h>

#define ELEMENTS	1024U

static float local[ELEMENTS], remote[ELEMENTS];

static void must(int err, const char *name)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", name, gda_last_error());
	exit(1);
}

/* The poster's part. None of its calls asks the host for anything. */
static void simple_get(struct gda_async_workspace *workspace, float *dst, const float *src)
{
	struct gda_async_session session = { .size = sizeof(session) };
	uint64_t scratch[32];

	if (gda_async_open(workspace, GDA_ASYNC_AUTO, scratch, sizeof(scratch), &session))
		return;
	gda_async_get_array(&session, GDA_ASYNC_COPY, dst, src, ELEMENTS, 0);
	must(gda_async_wait(&session, 0), "gda_async_wait");
}

int main(void)
{
	struct gda_async_window windows[2] = {
		{ .addr = (uintptr_t)local, .bytes = sizeof(local) },
		{ .addr = (uintptr_t)remote, .bytes = sizeof(remote) },
	};
	struct gda_async_attr attr = { .size = sizeof(attr), .windows = windows, .count = 2 };
	struct gda_async_workspace *workspace;
	struct gda_context *ctx;
	uint32_t i, wrong = 0;

	for (i = 0; i < ELEMENTS; i++)
		remote[i] = (float)i / 7;
	must(gda_open(NULL, &ctx), "gda_open");
	must(gda_async_create(NULL, ctx, &attr, &workspace), "gda_async_create");
	simple_get(workspace, local, remote);
	for (i = 0; i < ELEMENTS; i++)
		wrong += local[i] != (float)i / 7;
	gda_async_destroy(workspace);
	gda_close(ctx);
	printf("simple get: %s\n", wrong ? "WRONG" : "as the reference");
	return wrong != 0;
}

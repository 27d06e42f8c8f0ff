// SPDX-License-Identifier: MIT
/*
 * Copies by the CUDA driver, for a queue of the in-process device. A lane is a non-blocking stream
 * of the highest priority: streams share hardware channels by priority, and kernels seldom use this
 * one.
 *
 * Between the GPU and the host, and between two GPUs, copy engines copy. Within one GPU every copy
 * call of the driver runs a kernel, which has to wait for a free multiprocessor; the kernel that
 * occupies all of them may be waiting for the copy. So such copies go through pinned host memory,
 * the stage, unless the poster promises room. A second stream fills pieces of the stage while the
 * lane empties others, so both directions of the bus are busy. The lane works in order, so nothing
 * is written too early. To read nothing too early, the second stream waits for the lane if an
 * unfinished copy there may write its source.
 *
 * Words are stored by stream memory operations. They are held back until something else is begun on
 * their lane or the caller flushes, because a call takes longer than the store.
 *
 * Copies from and to host memory use only pinned memory: otherwise the driver copies synchronously,
 * or waits. The caller is a worker thread of the library, so any CUDA context may stay current.
 */
#include <errno.h>
#include <string.h>
#include "cuda_internal.h"

static struct gda_cuda_copier *gda_cuda_copier_of(struct gda_inproc_copier *c)
{
	return gda_inproc_of(c, struct gda_cuda_copier, base);
}

/* Which GPU has the address, or -1. */
static int gda_cuda_copier_where(const struct gda_cuda_copier *c, u64 addr)
{
	int device = -1;

	if (addr - c->host_addr < c->host_bytes ||
	    gda_cu.pointer_attribute(&device, GDA_CU_POINTER_DEVICE, addr))
		return -1;
	return device;
}

/* Would the driver run a kernel for this copy? */
static bool gda_cuda_copier_stages(const struct gda_cuda_copier *c, u64 dst, u64 src)
{
	int from, to;

	if (!c->stage)
		return false;
	from = gda_cuda_copier_where(c, src);
	to = gda_cuda_copier_where(c, dst);
	return from >= 0 && from == to;
}

/* Remember the range that the data lane writes, but for its own pinned memory. */
static void gda_cuda_copier_wrote(struct gda_cuda_copier *c, u64 dst, u64 len)
{
	if (dst - c->host_addr < c->host_bytes)
		return;
	if (c->wrote_from == c->wrote_to) {
		c->wrote_from = dst;
		c->wrote_to = dst;
	}
	if (dst < c->wrote_from)
		c->wrote_from = dst;
	if (dst + len > c->wrote_to)
		c->wrote_to = dst + len;
}

/* A copy must not read at @src before an earlier copy has written there. */
static int gda_cuda_copier_order(struct gda_cuda_copier *c, u64 src, u64 len)
{
	int result;

	if (src >= c->wrote_to || src + len <= c->wrote_from)
		return GDA_CU_SUCCESS;
	c->wrote_from = 0;
	c->wrote_to = 0;
	result = gda_cu.event_record(c->order, c->stream[GDA_INPROC_LANE_DATA]);
	return result ? result : gda_cu.stream_wait(c->fill, c->order, 0);
}

/* Copy one piece: one stream fills a free part of the stage, the other empties it. */
static int gda_cuda_copier_piece(struct gda_cuda_copier *c, u64 dst, u64 src, u64 len)
{
	void *out = c->stream[GDA_INPROC_LANE_DATA];
	u32 i = c->piece++ % GDA_CUDA_PIECES;
	u64 stage = c->stage + (u64)i * GDA_CUDA_PIECE;
	/* an event that was never recorded does not block */
	int result = gda_cu.stream_wait(c->fill, c->empty[i], 0);

	if (!result)
		result = gda_cu.stream_copy(stage, src, len, c->fill);
	if (!result)
		result = gda_cu.event_record(c->full[i], c->fill);
	if (!result)
		result = gda_cu.stream_wait(out, c->full[i], 0);
	if (!result)
		result = gda_cu.stream_copy(dst, stage, len, out);
	return result ? result : gda_cu.event_record(c->empty[i], out);
}

static int gda_cuda_copier_staged(struct gda_cuda_copier *c, u64 dst, u64 src, u64 len)
{
	void *out = c->stream[GDA_INPROC_LANE_DATA];
	u64 small = c->stage + (u64)GDA_CUDA_PIECES * GDA_CUDA_PIECE;
	int result;

	if (len <= GDA_CUDA_SMALL) {
		result = gda_cu.stream_copy(small, src, len, out);
		return result ? result : gda_cu.stream_copy(dst, small, len, out);
	}
	result = gda_cuda_copier_order(c, src, len);
	while (len && !result) {
		u64 n = len < GDA_CUDA_PIECE ? len : GDA_CUDA_PIECE;

		result = gda_cuda_copier_piece(c, dst, src, n);
		dst += n;
		src += n;
		len -= n;
	}
	return result;
}

/* Begin the stores that are held back. The context is set. */
static int gda_cuda_copier_begin(struct gda_cuda_copier *c, u32 lane)
{
	struct gda_cuda_stores *s = &c->stores[lane];
	u32 count = s->count;

	s->count = 0;
	return count ? gda_cu.stream_batch(c->stream[lane], count, s->ops, 0) : GDA_CU_SUCCESS;
}

static int gda_cuda_copier_copy(struct gda_inproc_copier *base, u32 lane, u64 dst, u64 src,
				u64 len)
{
	struct gda_cuda_copier *c = gda_cuda_copier_of(base);
	int result;

	gda_cu.context_set(c->cuda->context);
	result = gda_cuda_copier_begin(c, lane);
	if (result)
		return gda_cu_errno(result);
	if (lane == GDA_INPROC_LANE_DATA && gda_cuda_copier_stages(c, dst, src))
		result = gda_cuda_copier_staged(c, dst, src, len);
	else
		result = gda_cu.stream_copy(dst, src, len, c->stream[lane]);
	if (lane == GDA_INPROC_LANE_DATA)
		gda_cuda_copier_wrote(c, dst, len);
	return gda_cu_errno(result);
}

static int gda_cuda_copier_flush(struct gda_inproc_copier *base, u32 lane)
{
	struct gda_cuda_copier *c = gda_cuda_copier_of(base);

	gda_cu.context_set(c->cuda->context);
	return gda_cu_errno(gda_cuda_copier_begin(c, lane));
}

static int gda_cuda_copier_store(struct gda_inproc_copier *base, u32 lane, u64 dst, u64 value,
				 u32 width)
{
	struct gda_cuda_copier *c = gda_cuda_copier_of(base);
	struct gda_cuda_stores *s = &c->stores[lane];
	union gda_cu_memop *op;
	int err = s->count < GDA_CUDA_STORES ? 0 : gda_cuda_copier_flush(base, lane);

	if (err)
		return err;
	op = &s->ops[s->count++];
	memset(op, 0, sizeof(*op));
	op->write.type = width == sizeof(u32) ? GDA_CU_WRITE_VALUE_32 : GDA_CU_WRITE_VALUE_64;
	op->write.addr = dst;
	/* without flags, what was begun earlier is visible before the store */
	op->write.value = value;
	/* no copy reads a CQ */
	if (lane == GDA_INPROC_LANE_DATA && dst - c->base.cq >= GDA_ENGINE_MAX_CQE_BYTES)
		gda_cuda_copier_wrote(c, dst, width);
	return 0;
}

/* Its own memory, and that of GPUs whose memory it maps. */
static bool gda_cuda_copier_reaches(struct gda_inproc_copier *base, u64 dst, u32 width)
{
	struct gda_cuda_copier *c = gda_cuda_copier_of(base);
	int device, other, can = 0;

	if (width == sizeof(u64) && !(c->cuda->caps.features & GDA_CUDA_ATOMIC))
		return false;
	gda_cu.context_set(c->cuda->context);
	device = gda_cuda_copier_where(c, dst);
	if (device < 0 || device > 63)
		return false;
	if (!(c->asked >> device & 1)) {
		can = device == c->cuda->ordinal;
		if (!can && (gda_cu.device_get(&other, device) ||
			     gda_cu.peer_can(&can, c->cuda->device, other)))
			can = 0;
		c->asked |= 1ULL << device;
		c->reached |= (u64)!!can << device;
	}
	return c->reached >> device & 1;
}

int gda_cuda_copier_wait(struct gda_inproc_copier *base, void *event)
{
	struct gda_cuda_copier *c = gda_cuda_copier_of(base);
	int result;

	gda_cu.context_set(c->cuda->context);
	/* the second stream's next source may be anything written so far */
	c->wrote_from = 0;
	c->wrote_to = ~0ULL;
	result = gda_cuda_copier_begin(c, GDA_INPROC_LANE_DATA);
	if (!result)
		result = gda_cu.stream_wait(c->stream[GDA_INPROC_LANE_DATA], event, 0);
	return gda_cu_errno(result);
}

static int gda_cuda_copier_check(struct gda_inproc_copier *base)
{
	struct gda_cuda_copier *c = gda_cuda_copier_of(base);

	int result;
	u32 lane;

	gda_cu.context_set(c->cuda->context);
	for (lane = 0; lane < GDA_INPROC_LANES; lane++) {
		result = gda_cu.stream_query(c->stream[lane]);
		if (result && result != GDA_CU_NOT_READY)
			return -EIO;
	}
	result = c->fill ? gda_cu.stream_query(c->fill) : GDA_CU_SUCCESS;
	return result && result != GDA_CU_NOT_READY ? -EIO : 0;
}

/* The memory belongs to struct gda_cuda_qp, which outlives the copier. */
static void gda_cuda_copier_free(struct gda_inproc_copier *base)
{
	(void)base;
}

static const struct gda_inproc_copier_ops gda_cuda_copier_ops = {
	.copy = gda_cuda_copier_copy,
	.store = gda_cuda_copier_store,
	.flush = gda_cuda_copier_flush,
	.reaches = gda_cuda_copier_reaches,
	.check = gda_cuda_copier_check,
	.free = gda_cuda_copier_free,
};

static int gda_cuda_copier_events(struct gda_cuda_copier *c)
{
	int result = gda_cu.stream_create(&c->fill, GDA_CU_STREAM_NON_BLOCKING,
					  c->cuda->priority);
	u32 i;

	if (!result)
		result = gda_cu.event_create(&c->order, GDA_CU_EVENT_DISABLE_TIMING);
	for (i = 0; i < GDA_CUDA_PIECES && !result; i++) {
		result = gda_cu.event_create(&c->full[i], GDA_CU_EVENT_DISABLE_TIMING);
		if (!result)
			result = gda_cu.event_create(&c->empty[i], GDA_CU_EVENT_DISABLE_TIMING);
	}
	return gda_cu_errno(result);
}

int gda_cuda_copier_init(struct gda_cuda *cuda, struct gda_cuda_copier *c, bool stages)
{
	u32 lane;
	int err = 0;

	c->cuda = cuda;
	c->base.ops = &gda_cuda_copier_ops;
	for (lane = 0; lane < GDA_INPROC_LANES && !err; lane++)
		err = gda_cu_errno(gda_cu.stream_create(&c->stream[lane],
							GDA_CU_STREAM_NON_BLOCKING,
							cuda->priority));
	return err || !stages ? err : gda_cuda_copier_events(c);
}

static void gda_cuda_event_destroy(void *event)
{
	if (event)
		gda_cu.event_destroy(event);
}

void gda_cuda_copier_exit(struct gda_cuda_copier *c)
{
	u32 i;

	if (c->fill)
		gda_cu.stream_destroy(c->fill);
	for (i = 0; i < GDA_INPROC_LANES; i++)
		if (c->stream[i])
			gda_cu.stream_destroy(c->stream[i]);
	gda_cuda_event_destroy(c->order);
	for (i = 0; i < GDA_CUDA_PIECES; i++) {
		gda_cuda_event_destroy(c->full[i]);
		gda_cuda_event_destroy(c->empty[i]);
	}
}

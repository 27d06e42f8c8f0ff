// SPDX-License-Identifier: MIT
/*
 * The heap of a context, and the buffers in it. Only the host records allocations, so no task can
 * make the allocator return memory twice.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "dpa_internal.h"

/* Pieces are adjacent and cover the heap. */
struct gda_dpa_piece {
	struct gda_dpa_piece *next;
	uint64_t addr;
	uint64_t bytes;
	enum { GDA_DPA_FREE, GDA_DPA_MEMORY, GDA_DPA_ARRAY } use;
};

int gda_dpa_heap_create(struct gda_dpa *dpa)
{
	struct gda_dpa_piece *p;

	if (dpa->map.heap_bytes < 2 * GDA_DPA_LINE)
		return gda_because(-EINVAL,
				   "heap_bytes is less than %u: set more, or 0 for the default",
				   2 * GDA_DPA_LINE);
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->addr = GDA_DPA_LINE;
	p->bytes = (dpa->map.heap_bytes - GDA_DPA_LINE) & ~(uint64_t)(GDA_DPA_LINE - 1);
	dpa->pieces = p;
	return 0;
}

void gda_dpa_heap_destroy(struct gda_dpa *dpa)
{
	struct gda_dpa_piece *p;

	while ((p = dpa->pieces)) {
		dpa->pieces = p->next;
		free(p);
	}
}

/* Take the first piece that is large enough, and leave the rest free. Under dpa->lock. */
static int gda_dpa_piece_take(struct gda_dpa *dpa, uint64_t bytes, int use, uint64_t *addr)
{
	struct gda_dpa_piece *p = dpa->pieces, *rest;

	if (bytes > dpa->map.heap_bytes)
		return -ENOSPC;
	bytes = (bytes + GDA_DPA_LINE - 1) & ~(uint64_t)(GDA_DPA_LINE - 1);
	while (p && (p->use != GDA_DPA_FREE || p->bytes < bytes))
		p = p->next;
	if (!p)
		return -ENOSPC;
	if (p->bytes > bytes) {
		rest = calloc(1, sizeof(*rest));
		if (!rest)
			return -ENOMEM;
		rest->next = p->next;
		rest->addr = p->addr + bytes;
		rest->bytes = p->bytes - bytes;
		p->next = rest;
		p->bytes = bytes;
	}
	p->use = use;
	*addr = p->addr;
	return 0;
}

static int gda_dpa_piece_give(struct gda_dpa *dpa, uint64_t addr, int use)
{
	struct gda_dpa_piece *p = dpa->pieces, *before = NULL, *next;

	while (p && p->addr != addr) {
		before = p;
		p = p->next;
	}
	if (!p || (int)p->use != use)
		return gda_because(-EINVAL,
				   "nothing was allocated at %#llx: pass an address of gda_dpa_alloc(), once",
				   (unsigned long long)addr);
	/* clear the header, so that no task takes this for an array */
	if (use == GDA_DPA_ARRAY)
		memset(gda_dpa_map_at(&dpa->map, addr, sizeof(struct gda_dpa_array)), 0,
		       sizeof(struct gda_dpa_array));
	p->use = GDA_DPA_FREE;
	next = p->next;
	if (next && next->use == GDA_DPA_FREE) {
		p->bytes += next->bytes;
		p->next = next->next;
		free(next);
	}
	if (before && before->use == GDA_DPA_FREE) {
		before->bytes += p->bytes;
		before->next = p->next;
		free(p);
	}
	return 0;
}

static int gda_dpa_take(struct gda_dpa *dpa, uint64_t bytes, int use, uint64_t *addr)
{
	int err = gda_dpa_enter(dpa);

	if (err)
		return err;
	if (!bytes)
		return gda_because(-EINVAL, "bytes is 0: ask for at least one byte");
	pthread_mutex_lock(&dpa->lock);
	err = gda_dpa_piece_take(dpa, bytes, use, addr);
	pthread_mutex_unlock(&dpa->lock);
	if (err == -ENOSPC)
		gda_because(err,
			    "the heap has no %llu bytes in one piece: free some, or set a larger heap_bytes",
			    (unsigned long long)bytes);
	return err;
}

static int gda_dpa_give(struct gda_dpa *dpa, uint64_t addr, int use)
{
	int err = gda_dpa_enter(dpa);

	if (err || !addr)
		return err;
	pthread_mutex_lock(&dpa->lock);
	err = gda_dpa_piece_give(dpa, addr, use);
	pthread_mutex_unlock(&dpa->lock);
	return err;
}

GDA_EXPORT int gda_dpa_alloc(struct gda_dpa *dpa, size_t bytes, uint64_t *addr)
{
	return gda_called(gda_dpa_take(dpa, bytes, GDA_DPA_MEMORY, addr), "gda_dpa_alloc", "%zu",
			  bytes);
}

GDA_EXPORT int gda_dpa_free(struct gda_dpa *dpa, uint64_t addr)
{
	return gda_called(gda_dpa_give(dpa, addr, GDA_DPA_MEMORY), "gda_dpa_free", "%#llx",
			  (unsigned long long)addr);
}

/* Find a part of the heap in this process. */
static int gda_dpa_part(struct gda_dpa *dpa, uint64_t addr, size_t bytes, void **at)
{
	int err = gda_dpa_enter(dpa);

	if (err)
		return err;
	*at = gda_dpa_map_at(&dpa->map, addr, bytes);
	if (!*at)
		return gda_because(-ERANGE,
				   "%zu bytes at %#llx are not inside the heap of %llu: pass an address of gda_dpa_alloc()",
				   bytes, (unsigned long long)addr,
				   (unsigned long long)dpa->map.heap_bytes);
	return 0;
}

GDA_EXPORT int gda_dpa_write(struct gda_dpa *dpa, uint64_t addr, const void *from, size_t bytes)
{
	void *at;
	int err = gda_dpa_part(dpa, addr, bytes, &at);

	if (!err)
		memcpy(at, from, bytes);
	return gda_called(err, "gda_dpa_write", "%#llx, %zu", (unsigned long long)addr, bytes);
}

GDA_EXPORT int gda_dpa_read(struct gda_dpa *dpa, void *to, uint64_t addr, size_t bytes)
{
	void *at;
	int err = gda_dpa_part(dpa, addr, bytes, &at);

	if (!err)
		memcpy(to, at, bytes);
	return gda_called(err, "gda_dpa_read", "%#llx, %zu", (unsigned long long)addr, bytes);
}

GDA_EXPORT int gda_dpa_set(struct gda_dpa *dpa, uint64_t addr, int value, size_t bytes)
{
	void *at;
	int err = gda_dpa_part(dpa, addr, bytes, &at);

	if (!err)
		memset(at, value, bytes);
	return gda_called(err, "gda_dpa_set", "%#llx, %zu", (unsigned long long)addr, bytes);
}

GDA_EXPORT int gda_dpa_heap_buf(struct gda_dpa *dpa, uint64_t addr, size_t bytes,
				struct gda_dpa_buf *buf)
{
	void *at;
	int err = gda_dpa_part(dpa, addr, bytes, &at);

	if (!err)
		*buf = (struct gda_dpa_buf) {
			.addr = gda_mr_iova(dpa->mr) +
				(uint64_t)((char *)at - dpa->map.base) - dpa->map.mr_offset,
			.bytes = bytes, .key = gda_mr_key(dpa->mr), .pointer = (uintptr_t)at,
		};
	return gda_called(err, "gda_dpa_heap_buf", "%#llx, %zu", (unsigned long long)addr, bytes);
}

static int gda_dpa_mr_part(struct gda_dpa *dpa, struct gda_mr *mr, void *pointer, size_t bytes,
			   struct gda_dpa_buf *buf)
{
	struct gda_mr_query q = { .size = sizeof(q) };
	uint64_t offset = (uintptr_t)pointer;
	int err = gda_dpa_enter(dpa);

	if (!err && mr->ctx != dpa->ctx)
		err = gda_because(-EINVAL,
				  "the MR is of another context: register the memory with that of gda_dpa_create()");
	if (!err)
		err = gda_because_last(gda_mr_query(mr, &q));
	if (err)
		return err;
	if (!q.iova)
		return gda_because(-EINVAL,
				   "the MR was registered with GDA_MR_ZERO_BASED: register it without");
	offset -= q.iova;
	if (offset > q.length || bytes > q.length - offset)
		return gda_because(-ERANGE,
				   "%zu bytes at %p are not inside the MR: register all of them",
				   bytes, pointer);
	*buf = (struct gda_dpa_buf) {
		.addr = q.iova + offset, .bytes = bytes, .key = gda_mr_key(mr),
		.pointer = (uintptr_t)pointer,
	};
	return 0;
}

GDA_EXPORT int gda_dpa_mr_buf(struct gda_dpa *dpa, struct gda_mr *mr, void *pointer,
			      size_t bytes, struct gda_dpa_buf *buf)
{
	return gda_called(gda_dpa_mr_part(dpa, mr, pointer, bytes, buf), "gda_dpa_mr_buf",
			  "%p, %zu", pointer, bytes);
}

GDA_EXPORT int gda_dpa_bufs_create(struct gda_dpa *dpa, const struct gda_dpa_buf *bufs,
				   uint32_t n, uint64_t *array)
{
	struct gda_dpa_array head = { .magic = GDA_DPA_ARRAY_MAGIC, .count = n };
	uint64_t bytes = n * sizeof(*bufs), addr;
	int err = gda_dpa_take(dpa, n ? sizeof(head) + bytes : 0, GDA_DPA_ARRAY, &addr);
	char *at;

	if (!err) {
		at = gda_dpa_map_at(&dpa->map, addr, sizeof(head) + bytes);
		memcpy(at + sizeof(head), bufs, bytes);
		memcpy(at, &head, sizeof(head));
		*array = addr;
	}
	return gda_called(err, "gda_dpa_bufs_create", "%u", n);
}

GDA_EXPORT int gda_dpa_bufs_destroy(struct gda_dpa *dpa, uint64_t array)
{
	return gda_called(gda_dpa_give(dpa, array, GDA_DPA_ARRAY), "gda_dpa_bufs_destroy", "%#llx",
			  (unsigned long long)array);
}

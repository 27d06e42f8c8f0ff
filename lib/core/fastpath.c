// SPDX-License-Identifier: MIT
/*
 * The functions of gda/fastpath.h, gda/gin.h and gda/async.h, and those that go with them, exported
 * from the library for languages that cannot include them. They are compiled from the same headers.
 *
 * An inline function and the structure that it fills come from the same version of the headers. An
 * exported function's caller may have another version: so it is called with a structure of the
 * library, and the result is copied.
 */
#define GDA_API __attribute__((visibility("default")))
#define GDA_HOST_API __attribute__((visibility("default")))
#define GDA_SIZED_API static inline __attribute__((always_inline))
#include <gda/async.h>
#include <gda/chunk.h>
#include <gda/cuda.h>
#include <gda/fastpath.h>
#include <gda/gda.h>
#include <gda/gin.h>
#include <gda/masked_atomic.h>
#include <gda/ring.h>
#include "gda_internal.h"

GDA_EXPORT int gda_sized_error(struct gda_view *v, struct gda_error *error)
	__asm__("gda_error");
GDA_EXPORT int gda_sized_cq_poll(struct gda_cq_view *cq, struct gda_cq_entry *entry)
	__asm__("gda_cq_poll");
GDA_EXPORT int gda_sized_cq_wait(struct gda_cq_view *cq, struct gda_cq_entry *entry,
				 uint64_t deadline) __asm__("gda_cq_wait");
GDA_EXPORT int64_t gda_sized_put_chunked(struct gda_view *v, const struct gda_chunk_map *lmap,
					 uint64_t laddr, const struct gda_chunk_map *rmap,
					 uint64_t raddr, uint64_t len, unsigned int flags)
	__asm__("gda_put_chunked");
GDA_EXPORT int64_t gda_sized_put_signal(struct gda_view *v, uint64_t laddr, uint32_t lkey,
					uint64_t raddr, uint32_t rkey, uint64_t len,
					const struct gda_signal *signal, unsigned int flags)
	__asm__("gda_put_signal");

GDA_EXPORT struct gda_async_event gda_sized_async_get_rows(struct gda_async_session *s,
							   uint32_t engine,
							   const struct gda_async_rows *rows,
							   unsigned int flags)
	__asm__("gda_async_get_rows");
GDA_EXPORT struct gda_async_event gda_sized_async_put_rows(struct gda_async_session *s,
							   uint32_t engine,
							   const struct gda_async_rows *rows,
							   unsigned int flags)
	__asm__("gda_async_put_rows");

int gda_sized_error(struct gda_view *v, struct gda_error *error)
{
	struct gda_error ours = { .size = sizeof(ours) };
	int ret = gda_struct_check(error, GDA_THROUGH(struct gda_error, reserved));

	if (ret)
		return gda_called(ret, "gda_error", "%p", (void *)error);
	ret = gda_error(v, &ours);
	if (ret > 0)
		gda_struct_write(error, &ours, sizeof(ours));
	return ret;
}

int gda_sized_cq_poll(struct gda_cq_view *cq, struct gda_cq_entry *entry)
{
	struct gda_cq_entry ours = { .size = sizeof(ours) };
	int ret = gda_struct_check(entry, GDA_THROUGH(struct gda_cq_entry, vendor));

	if (ret)
		return gda_called(ret, "gda_cq_poll", "%p", (void *)entry);
	ret = gda_cq_poll(cq, &ours);
	if (ret > 0)
		gda_struct_write(entry, &ours, sizeof(ours));
	return ret;
}

int gda_sized_cq_wait(struct gda_cq_view *cq, struct gda_cq_entry *entry, uint64_t deadline)
{
	struct gda_cq_entry ours = { .size = sizeof(ours) };
	int ret = gda_struct_check(entry, GDA_THROUGH(struct gda_cq_entry, vendor));

	if (ret)
		return gda_called(ret, "gda_cq_wait", "%p", (void *)entry);
	ret = gda_cq_wait(cq, &ours, deadline);
	if (!ret)
		gda_struct_write(entry, &ours, sizeof(ours));
	return ret;
}

static int gda_chunk_map_read(struct gda_chunk_map *ours, const struct gda_chunk_map *theirs)
{
	return gda_struct_read(ours, sizeof(*ours), GDA_THROUGH(struct gda_chunk_map, chunks),
			       theirs);
}

int64_t gda_sized_put_chunked(struct gda_view *v, const struct gda_chunk_map *lmap,
			      uint64_t laddr, const struct gda_chunk_map *rmap,
			      uint64_t raddr, uint64_t len, unsigned int flags)
{
	struct gda_chunk_map local, remote;
	int err = gda_chunk_map_read(&local, lmap);

	if (!err)
		err = gda_chunk_map_read(&remote, rmap);
	if (err)
		return gda_called(err, "gda_put_chunked", "%p, %p", (const void *)lmap,
				  (const void *)rmap);
	return gda_put_chunked(v, &local, laddr, &remote, raddr, len, flags);
}

int64_t gda_sized_put_signal(struct gda_view *v, uint64_t laddr, uint32_t lkey,
			     uint64_t raddr, uint32_t rkey, uint64_t len,
			     const struct gda_signal *signal, unsigned int flags)
{
	struct gda_signal ours;
	int err = gda_struct_read(&ours, sizeof(ours), GDA_THROUGH(struct gda_signal, lkey),
				  signal);

	if (err)
		return gda_called(err, "gda_put_signal", "%p", (const void *)signal);
	return gda_put_signal(v, laddr, lkey, raddr, rkey, len, &ours, flags);
}

static int gda_async_rows_read(struct gda_async_session *s, const char *call,
			       struct gda_async_rows *ours, const struct gda_async_rows *theirs)
{
	int err = gda_struct_read(ours, sizeof(*ours), GDA_THROUGH(struct gda_async_rows, bytes),
				  theirs);

	if (err)
		s->refused = gda_called(err, call, "%p", (const void *)theirs);
	return err;
}

struct gda_async_event gda_sized_async_get_rows(struct gda_async_session *s, uint32_t engine,
						const struct gda_async_rows *rows,
						unsigned int flags)
{
	struct gda_async_rows ours;

	if (gda_async_rows_read(s, "gda_async_get_rows", &ours, rows))
		return gda_async_event(0);
	return gda_async_get_rows(s, engine, &ours, flags);
}

struct gda_async_event gda_sized_async_put_rows(struct gda_async_session *s, uint32_t engine,
						const struct gda_async_rows *rows,
						unsigned int flags)
{
	struct gda_async_rows ours;

	if (gda_async_rows_read(s, "gda_async_put_rows", &ours, rows))
		return gda_async_event(0);
	return gda_async_put_rows(s, engine, &ours, flags);
}

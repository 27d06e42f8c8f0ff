// SPDX-License-Identifier: MIT
/*
 * Calls that tasks make: memory, copies, events. Copies go through the thread's own queue, which is
 * connected to itself, so keys are checked as for any work request. Ranges are checked before,
 * because a failed queue cannot be used again.
 */
#include <errno.h>
#include <string.h>
#include <gda/fastpath.h>
#include "dpa_internal.h"

GDA_EXPORT unsigned int gda_dpa_rank(const struct gda_dpa_thread *t)
{
	return t->rank;
}

GDA_EXPORT unsigned int gda_dpa_threads(const struct gda_dpa_thread *t)
{
	return t->threads;
}

GDA_EXPORT void *gda_dpa_at(const struct gda_dpa_thread *t, uint64_t addr, size_t bytes)
{
	return gda_dpa_map_at(t->pool->map, addr, bytes);
}

GDA_EXPORT int gda_dpa_buf_get(const struct gda_dpa_thread *t, uint64_t array, uint64_t index,
			       struct gda_dpa_buf *buf)
{
	const struct gda_dpa_map *m = t->pool->map;
	struct gda_dpa_array head;
	const char *at = gda_dpa_map_at(m, array, sizeof(head));

	if (!at)
		return -EINVAL;
	memcpy(&head, at, sizeof(head));
	if (head.magic != GDA_DPA_ARRAY_MAGIC)
		return -EINVAL;
	if (index >= head.count || index >= m->heap_bytes / sizeof(*buf))
		return -ERANGE;
	at = gda_dpa_map_at(m, array + sizeof(head) + index * sizeof(*buf), sizeof(*buf));
	if (!at)
		return -ERANGE;
	memcpy(buf, at, sizeof(*buf));
	return 0;
}

static bool gda_dpa_buf_has(const struct gda_dpa_buf *buf, uint64_t offset, uint64_t bytes)
{
	return offset <= buf->bytes && bytes <= buf->bytes - offset;
}

GDA_EXPORT void *gda_dpa_buf_pointer(const struct gda_dpa_thread *t,
				     const struct gda_dpa_buf *buf, uint64_t offset, size_t bytes)
{
	const struct gda_dpa_pool *p = t->pool;
	uint64_t at = buf->addr + offset - p->mr_iova;

	if (!buf->pointer || !gda_dpa_buf_has(buf, offset, bytes))
		return NULL;
	if (p->foreign) {
		if (buf->key != p->mr_key || at > p->map->mr_bytes || bytes > p->map->mr_bytes - at)
			return NULL;
		return p->map->base + p->map->mr_offset + at;
	}
	return (char *)(uintptr_t)buf->pointer + offset;
}

static int gda_dpa_copy_check(const struct gda_dpa_buf *dst, uint64_t dst_offset,
			      const struct gda_dpa_buf *src, uint64_t src_offset, uint64_t bytes)
{
	if (!dst->pointer || !src->pointer)
		return -EINVAL;
	if (!gda_dpa_buf_has(dst, dst_offset, bytes) || !gda_dpa_buf_has(src, src_offset, bytes))
		return -ERANGE;
	return 0;
}

/* A queue that has failed makes the context fatal. */
static int gda_dpa_copied(struct gda_dpa_thread *t, int err)
{
	if (err == -EIO)
		gda_dpa_fatal(t->pool->map, GDA_DPA_COPY_FAILED, t->index);
	return err;
}

static int gda_dpa_copy(struct gda_dpa_thread *t, uint64_t to, uint32_t key, uint64_t from,
			const struct gda_dpa_buf *src, uint32_t bytes)
{
	int64_t ticket = gda_put(t->view, from, src->key, to, key, bytes, GDA_EXCLUSIVE);

	return ticket < 0 ? gda_dpa_copied(t, (int)ticket) : 0;
}

GDA_EXPORT int gda_dpa_memcpy(struct gda_dpa_thread *t, const struct gda_dpa_buf *dst,
			      uint64_t dst_offset, const struct gda_dpa_buf *src,
			      uint64_t src_offset, size_t bytes)
{
	int err = gda_dpa_copy_check(dst, dst_offset, src, src_offset, bytes);

	if (err)
		return err;
	if (bytes > INT32_MAX)
		return -EMSGSIZE;
	return gda_dpa_copy(t, dst->addr + dst_offset, dst->key, src->addr + src_offset, src,
			    (uint32_t)bytes);
}

static int gda_dpa_matrix_check(const struct gda_dpa_matrix *m)
{
	uint64_t bytes;

	if (m->size < sizeof(*m) || !m->element || !m->columns || !m->rows)
		return -EINVAL;
	if (m->element > INT32_MAX)
		return -EMSGSIZE;
	if (__builtin_mul_overflow(m->columns, m->rows, &bytes) ||
	    __builtin_mul_overflow(bytes, m->element, &bytes))
		return -ERANGE;
	return gda_dpa_copy_check(m->dst, m->dst_offset, m->src, m->src_offset, bytes);
}

GDA_EXPORT int gda_dpa_transpose(struct gda_dpa_thread *t, const struct gda_dpa_matrix *what)
{
	uint64_t to = what->dst->addr + what->dst_offset, row, column;
	uint64_t from = what->src->addr + what->src_offset;
	int err = gda_dpa_matrix_check(what);

	for (row = 0; !err && row < what->rows; row++)
		for (column = 0; !err && column < what->columns; column++)
			err = gda_dpa_copy(t, to + (column * what->rows + row) * what->element,
					   what->dst->key,
					   from + (row * what->columns + column) * what->element,
					   what->src, what->element);
	return err;
}

GDA_EXPORT int gda_dpa_memcpy_wait(struct gda_dpa_thread *t, uint64_t deadline)
{
	return gda_dpa_copied(t, gda_quiet(t->view, deadline));
}

GDA_EXPORT int gda_dpa_event_read(const struct gda_dpa_thread *t, uint32_t event,
				  uint64_t *value)
{
	struct gda_dpa_word *w;
	int err = gda_dpa_word_subscribe(t->pool->map, event, GDA_DPA_TASKS, &w);

	if (!err)
		*value = gda_dpa_word_value(w);
	return err;
}

GDA_EXPORT int gda_dpa_event_update_add(struct gda_dpa_thread *t, uint32_t event, uint64_t value)
{
	struct gda_dpa_word *w;
	int err = gda_dpa_word_publish(t->pool->map, event, GDA_DPA_TASKS, &w);

	if (!err)
		gda_dpa_word_add(t->pool->map, w, value);
	return err;
}

GDA_EXPORT int gda_dpa_event_update_set(struct gda_dpa_thread *t, uint32_t event, uint64_t value)
{
	struct gda_dpa_word *w;
	int err = gda_dpa_word_publish(t->pool->map, event, GDA_DPA_TASKS, &w);

	if (!err)
		gda_dpa_word_set(t->pool->map, w, value);
	return err;
}

static int gda_dpa_event_wait(struct gda_dpa_thread *t, uint32_t event, struct gda_dpa_wait *wait)
{
	int err = gda_dpa_word_subscribe(t->pool->map, event, GDA_DPA_TASKS, &wait->word);

	return err ? err : gda_dpa_word_wait(t->pool->map, wait, UINT64_MAX, true);
}

GDA_EXPORT int gda_dpa_event_wait_gt(struct gda_dpa_thread *t, uint32_t event,
				     uint64_t threshold, uint64_t mask)
{
	struct gda_dpa_wait wait = { .than = threshold, .mask = mask };

	return gda_dpa_event_wait(t, event, &wait);
}

GDA_EXPORT int gda_dpa_event_wait_ne(struct gda_dpa_thread *t, uint32_t event, uint64_t value,
				     uint64_t mask)
{
	struct gda_dpa_wait wait = { .than = value, .mask = mask, .differs = true };

	return gda_dpa_event_wait(t, event, &wait);
}

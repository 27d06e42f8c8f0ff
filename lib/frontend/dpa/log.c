// SPDX-License-Identifier: MIT
/*
 * The log: a ring of lines. Tasks reserve a line each, fill it, and store its number last; the host
 * reads lines in order. A thread that dies in between leaves a line without a number, which the
 * host skips once the context is fatal.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "dpa_internal.h"

/* Reserve a line. Return: its number, from 1; 0 if the ring is full. */
static uint64_t gda_dpa_log_reserve(const struct gda_dpa_map *m)
{
	struct gda_dpa_header *h = m->header;
	uint64_t tail = __atomic_load_n(&h->log_tail, __ATOMIC_RELAXED);

	do {
		if (tail - __atomic_load_n(&h->log_head, __ATOMIC_ACQUIRE) >= m->lines) {
			__atomic_fetch_add(&h->log_dropped, 1, __ATOMIC_RELAXED);
			return 0;
		}
	} while (!__atomic_compare_exchange_n(&h->log_tail, &tail, tail + 1, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return tail + 1;
}

GDA_EXPORT int gda_dpa_log(struct gda_dpa_thread *t, const char *format, ...)
{
	const struct gda_dpa_map *m = t->pool->map;
	uint64_t number = gda_dpa_log_reserve(m);
	struct gda_dpa_line *line;
	va_list args;
	int n;

	if (!number)
		return -EAGAIN;
	line = &m->log[(number - 1) % m->lines];
	va_start(args, format);
	n = vsnprintf(line->text, sizeof(line->text), format, args);
	va_end(args);
	if (n > (int)sizeof(line->text) - 1)
		n = (int)sizeof(line->text) - 1;
	line->bytes = n < 0 ? 0 : (uint32_t)n;
	line->rank = t->rank;
	__atomic_store_n(&line->number, number, __ATOMIC_RELEASE);
	return 0;
}

/* Copy a line from shared memory. Return: its length, or -EAGAIN if there is none. */
static int gda_dpa_log_take(struct gda_dpa *dpa, char text[GDA_DPA_LINE_BYTES])
{
	struct gda_dpa_map *m = &dpa->map;
	struct gda_dpa_header *h = m->header;
	uint64_t next = dpa->log_next;
	const struct gda_dpa_line *line = &m->log[next % m->lines];
	uint32_t bytes;

	while (__atomic_load_n(&line->number, __ATOMIC_ACQUIRE) != next + 1) {
		if (!__atomic_load_n(&h->fatal, __ATOMIC_ACQUIRE) ||
		    next - dpa->log_next >= m->lines ||
		    next >= __atomic_load_n(&h->log_tail, __ATOMIC_ACQUIRE))
			return -EAGAIN;
		next++;
		line = &m->log[next % m->lines];
	}
	bytes = __atomic_load_n(&line->bytes, __ATOMIC_RELAXED);
	if (bytes > GDA_DPA_LINE_BYTES - 1)
		bytes = GDA_DPA_LINE_BYTES - 1;
	memcpy(text, line->text, bytes);
	text[bytes] = 0;
	dpa->log_next = next + 1;
	__atomic_store_n(&h->log_head, dpa->log_next, __ATOMIC_RELEASE);
	return (int)bytes;
}

static int gda_dpa_log_get(struct gda_dpa *dpa, char *line, size_t bytes)
{
	char text[GDA_DPA_LINE_BYTES];
	int n;

	if (dpa->generation != gda_fork_generation())
		return gda_because(-ENODEV,
				   "the context belongs to the parent of this process: create another one here");
	n = gda_dpa_log_take(dpa, text);
	if (n < 0)
		return gda_because(n, "the log is empty: a task writes to it by gda_dpa_log()");
	if (bytes)
		snprintf(line, bytes, "%s", text);
	return n;
}

GDA_EXPORT int gda_dpa_log_read(struct gda_dpa *dpa, char *line, size_t bytes)
{
	int n = gda_dpa_log_get(dpa, line, bytes);

	return n < 0 ? gda_called(n, "gda_dpa_log_read", "%zu", bytes) : n;
}

GDA_EXPORT uint64_t gda_dpa_log_dropped(struct gda_dpa *dpa)
{
	if (dpa->generation != gda_fork_generation())
		return 0;
	return __atomic_load_n(&dpa->map.header->log_dropped, __ATOMIC_RELAXED);
}

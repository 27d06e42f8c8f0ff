// SPDX-License-Identifier: MIT
/*
 * Finds out from /proc/self/smaps whether memory is in huge pages (P-12): in a mapping of
 * hugetlbfs, or in one whose resident pages are all transparent huge pages.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "async_internal.h"

/* The part of a mapping's entry that was read so far. Sizes are in KiB. */
struct gda_async_mapping {
	unsigned long long start, end, page, resident, anon_huge, file_huge, shmem_huge;
};

static int gda_async_is_huge(const struct gda_async_mapping *m)
{
	unsigned long long huge = m->anon_huge + m->file_huge + m->shmem_huge;

	if (m->page > 64)
		return 1;
	return huge && huge >= m->resident && huge * 1024 >= m->end - m->start;
}

static void gda_async_mapping_line(struct gda_async_mapping *m, const char *line)
{
	const struct {
		const char *name;
		unsigned long long *value;
	} lines[] = {
		{ "KernelPageSize:", &m->page }, { "Rss:", &m->resident },
		{ "AnonHugePages:", &m->anon_huge }, { "FilePmdMapped:", &m->file_huge },
		{ "ShmemPmdMapped:", &m->shmem_huge },
	};
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		size_t n = strlen(lines[i].name);

		if (!strncmp(line, lines[i].name, n))
			*lines[i].value = strtoull(line + n, NULL, 10);
	}
}

/* Advance *@at, up to @end, past a mapping if that has huge pages. Return: 0 or -EFAULT. */
static int gda_async_covers(const struct gda_async_mapping *m, unsigned long long *at,
			    unsigned long long end)
{
	if (m->end <= *at || m->start >= end)
		return 0;
	if (m->start > *at || !gda_async_is_huge(m))
		return gda_because(-EFAULT,
				   "%#llx to %#llx is of pages of %llu KiB: map it with MAP_HUGETLB, or leave out GDA_ASYNC_HUGE_PAGES",
				   *at > m->start ? *at : m->start, end < m->end ? end : m->end,
				   m->page);
	*at = m->end;
	return 0;
}

int gda_async_huge(const struct gda_async_window *window)
{
	unsigned long long at = window->addr, end = at + window->bytes, from, to;
	struct gda_async_mapping m = { 0 };
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	int err = 0;

	if (!f)
		return gda_because(-EFAULT,
				   "/proc/self/smaps cannot be read: mount /proc, or leave out GDA_ASYNC_HUGE_PAGES");
	while (!err && at < end && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx-%llx ", &from, &to) != 2) {
			gda_async_mapping_line(&m, line);
			continue;
		}
		err = gda_async_covers(&m, &at, end);
		memset(&m, 0, sizeof(m));
		m.start = from;
		m.end = to;
	}
	if (!err)
		err = gda_async_covers(&m, &at, end);
	fclose(f);
	if (!err && at < end)
		err = gda_because(-EFAULT,
				  "%#llx to %#llx is not mapped: map it before gda_async_create()",
				  at, end);
	return err;
}

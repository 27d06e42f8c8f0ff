// SPDX-License-Identifier: MIT
/*
 * The memory of a context: one memfd, whose layout follows from four numbers and the size of the
 * heap, so that every process that knows them finds the same parts. The parts for peers, events and
 * heap, are last and start on a page.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "dpa_internal.h"

#define GDA_DPA_PAGE	4096U

static_assert(sizeof(struct gda_dpa_word) == 64, "shared layout");
static_assert(sizeof(struct gda_dpa_slot) == 64, "shared layout");
static_assert(sizeof(struct gda_dpa_entry) == 320, "shared layout");
static_assert(sizeof(struct gda_dpa_line) == 256, "shared layout");
static_assert(sizeof(struct gda_dpa_header) <= GDA_DPA_PAGE, "shared layout");

static uint64_t gda_dpa_pages(uint64_t bytes)
{
	return (bytes + GDA_DPA_PAGE - 1) / GDA_DPA_PAGE * GDA_DPA_PAGE;
}

void gda_dpa_map_layout(struct gda_dpa_map *m)
{
	uint64_t at = GDA_DPA_PAGE;

	at += gda_dpa_pages((uint64_t)m->threads * sizeof(struct gda_dpa_slot));
	at += gda_dpa_pages((uint64_t)m->launches * sizeof(struct gda_dpa_entry));
	at += gda_dpa_pages((uint64_t)m->lines * sizeof(struct gda_dpa_line));
	m->mr_offset = at;
	at += gda_dpa_pages(((uint64_t)m->events + 1) * sizeof(struct gda_dpa_word));
	at += gda_dpa_pages(m->heap_bytes);
	m->mr_bytes = at - m->mr_offset;
	m->bytes = at;
}

static void gda_dpa_map_point(struct gda_dpa_map *m)
{
	char *at = m->base + GDA_DPA_PAGE;

	m->header = (struct gda_dpa_header *)m->base;
	m->slots = (struct gda_dpa_slot *)at;
	at += gda_dpa_pages((uint64_t)m->threads * sizeof(struct gda_dpa_slot));
	m->ring = (struct gda_dpa_entry *)at;
	at += gda_dpa_pages((uint64_t)m->launches * sizeof(struct gda_dpa_entry));
	m->log = (struct gda_dpa_line *)at;
	at += gda_dpa_pages((uint64_t)m->lines * sizeof(struct gda_dpa_line));
	m->words = (struct gda_dpa_word *)at;
	at += gda_dpa_pages(((uint64_t)m->events + 1) * sizeof(struct gda_dpa_word));
	m->heap = at;
}

int gda_dpa_map_open(struct gda_dpa_map *m, int fd)
{
	void *p = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	m->base = p;
	gda_dpa_map_point(m);
	return 0;
}

void gda_dpa_map_close(struct gda_dpa_map *m)
{
	if (m->base)
		munmap(m->base, m->bytes);
	m->base = NULL;
}

// SPDX-License-Identifier: MIT
/*
 * Finds the main program's static and global variables, and the identity of its build.
 *
 * The writable segment of a program begins with data that the dynamic linker relocates and then
 * protects (RELRO): that part has no variables and is not touched. Libraries have their own
 * segments, which are not symmetric.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>
#include "osh.h"

/* A simple hash is enough, because nothing about the result is secret. */
static void fold(unsigned char id[GDA_OSH_BUILD_ID_BYTES], const void *data, size_t bytes)
{
	const unsigned char *from = data;
	uint64_t hash = 0xcbf29ce484222325ULL;
	size_t i;

	for (i = 0; i < bytes; i++)
		hash = (hash ^ from[i]) * 0x100000001b3ULL;
	memset(id, 0, GDA_OSH_BUILD_ID_BYTES);
	memcpy(id, &hash, sizeof(hash));
}

static bool note_find(struct gda_osh_program *program, uintptr_t at, size_t bytes)
{
	while (bytes >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		size_t name = (note->n_namesz + 3UL) & ~3UL;
		size_t all = sizeof(*note) + name + ((note->n_descsz + 3UL) & ~3UL);
		const void *id = (const void *)(at + sizeof(*note) + name);

		if (all > bytes)
			return false;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4) {
			fold(program->build_id, id, note->n_descsz);
			if (note->n_descsz <= GDA_OSH_BUILD_ID_BYTES)
				memcpy(program->build_id, id, note->n_descsz);
			return true;
		}
		at += all;
		bytes -= all;
	}
	return false;
}

static void find_build(struct gda_osh_program *program, const struct dl_phdr_info *info)
{
	int i;

	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE &&
		    note_find(program, info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
			      info->dlpi_phdr[i].p_memsz))
			return;
	/* without a build id: sizes and addresses of the segments differ between builds, too */
	fold(program->build_id, info->dlpi_phdr, info->dlpi_phnum * sizeof(*info->dlpi_phdr));
}

/* The end of the part that is protected after relocation (RELRO), in whole pages. */
static uintptr_t protected_end(const struct dl_phdr_info *info, uintptr_t page)
{
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_GNU_RELRO)
			return (info->dlpi_addr + p->p_vaddr + p->p_memsz) & ~(page - 1);
	}
	return 0;
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t skip = protected_end(info, page), start = UINTPTR_MAX, end = 0;
	struct gda_osh_program *program = arg;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = (info->dlpi_addr + p->p_vaddr) & ~(page - 1);
		uintptr_t to = (info->dlpi_addr + p->p_vaddr + p->p_memsz + page - 1) & ~(page - 1);

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
			continue;
		if (from < skip)
			from = skip < to ? skip : to;
		if (from == to)
			continue;
		start = from < start ? from : start;
		end = to > end ? to : end;
	}
	if (start < end) {
		program->base = start;
		program->bytes = end - start;
	}
	find_build(program, info);
	program->is_static = true;
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_INTERP)
			program->is_static = false;
	/* the main program comes first, then the libraries */
	return 1;
}

void gda_osh_program_find(struct gda_osh_program *program)
{
	memset(program, 0, sizeof(*program));
	dl_iterate_phdr(visit, program);
}

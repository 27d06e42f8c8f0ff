// SPDX-License-Identifier: MIT
/*
 * The heap and the data segment: memfds, mapped here and at every other PE. The heap's base
 * is aligned as far as any allocation in it can ask for. The data segment is copied to
 * its memfd and that is mapped over it, so each variable stays where it is.
 *
 * A child of fork(2) would share the variables with its parent. It gets a copy of its own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "osh.h"

/* What the PEs tell each other. */
struct card {
	int64_t pid;
	int32_t heap_fd;
	int32_t data_fd;
	uint64_t heap_bytes;
	uint64_t data_bytes;
	unsigned char build_id[GDA_OSH_BUILD_ID_BYTES];
};

static struct gda_osh_program program;

static int memfd(const char *name, size_t bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

int gda_osh_heap_create(struct gda_osh_segment *segment, size_t bytes)
{
	size_t align = 2UL << 20;
	uintptr_t start, base;
	void *p;

	segment->fd = memfd("gda-shmem-heap", bytes);
	if (segment->fd < 0)
		return segment->fd;
	while (align < bytes)
		align *= 2;
	p = mmap(NULL, bytes + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0);
	if (p == MAP_FAILED)
		return -errno;
	start = (uintptr_t)p;
	base = (start + align - 1) & ~(align - 1);
	if (mmap((void *)base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 segment->fd, 0) == MAP_FAILED)
		return -errno;
	if (base > start)
		munmap(p, base - start);
	if (start + align > base)
		munmap((void *)(base + bytes), start + align - base);
	segment->base = base;
	segment->bytes = bytes;
	return 0;
}

/* By system call: sanitizers take what lies between variables for an error. */
static int write_all(int fd, uintptr_t from, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		long n = syscall(SYS_pwrite64, fd, from + done, bytes - done, done);

		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

__attribute__((no_sanitize("address", "undefined")))
static void copy_words(volatile uint64_t *to, const volatile uint64_t *from, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes / sizeof(*to); i++)
		to[i] = from[i];
}

static void forked(void)
{
	struct gda_osh_segment *s = &gda_osh.data;
	void *copy;

	gda_osh.npes = 0;
	if (!s->bytes)
		return;
	copy = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		_exit(1);
	copy_words(copy, (const void *)s->base, s->bytes);
	if (mremap(copy, s->bytes, s->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
		   (void *)s->base) == MAP_FAILED)
		_exit(1);
}

/* Nothing may be written to a variable between the copy and the mapping. */
static int move_data(struct gda_osh_segment *segment)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = write_all(segment->fd, program.base, program.bytes);
	if (!err && mmap((void *)program.base, program.bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, segment->fd, 0) == MAP_FAILED)
		err = -errno;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

int gda_osh_data_create(struct gda_osh_segment *segment)
{
	int err;

	gda_osh_program_find(&program);
	segment->fd = -1;
	if (!program.bytes)
		return 0;
	segment->fd = memfd("gda-shmem-data", program.bytes);
	if (segment->fd < 0)
		return segment->fd;
	err = move_data(segment);
	if (err)
		return err;
	segment->base = program.base;
	segment->bytes = program.bytes;
	return -pthread_atfork(NULL, NULL, forked);
}

static int map_one(char **at, const struct card *card, int fd, size_t bytes)
{
	char path[64];
	void *p;
	int err;

	if (!bytes)
		return 0;
	snprintf(path, sizeof(path), "/proc/%lld/fd/%d", (long long)card->pid, fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = p == MAP_FAILED ? -errno : 0;
	close(fd);
	if (!err)
		*at = p;
	return err;
}

/* -EXDEV: another build; -EDOM: another heap. */
static int map_peer(struct gda_osh *osh, unsigned int pe, const struct card *own,
		    const struct card *card)
{
	int err;

	if (memcmp(own->build_id, card->build_id, sizeof(own->build_id)) ||
	    own->data_bytes != card->data_bytes)
		return -EXDEV;
	if (own->heap_bytes != card->heap_bytes)
		return -EDOM;
	if (pe == (unsigned int)osh->me) {
		osh->heap.peer[pe] = (char *)osh->heap.base;
		osh->data.peer[pe] = (char *)osh->data.base;
		return 0;
	}
	err = map_one(&osh->heap.peer[pe], card, card->heap_fd, osh->heap.bytes);
	return err ? err : map_one(&osh->data.peer[pe], card, card->data_fd, osh->data.bytes);
}

int gda_osh_segments_map(struct gda_osh *osh, unsigned int *pe)
{
	unsigned int n = gda_comm_size(osh->comm), i;
	struct card own = {
		.pid = getpid(), .heap_fd = osh->heap.fd, .data_fd = osh->data.fd,
		.heap_bytes = osh->heap.bytes, .data_bytes = osh->data.bytes,
	};
	struct card *cards = calloc(n, sizeof(*cards));
	int err = -ENOMEM;

	*pe = (unsigned int)osh->me;
	memcpy(own.build_id, program.build_id, sizeof(own.build_id));
	osh->heap.peer = calloc(n, sizeof(*osh->heap.peer));
	osh->data.peer = calloc(n, sizeof(*osh->data.peer));
	if (cards && osh->heap.peer && osh->data.peer)
		err = gda_comm_allgather(osh->comm, &own, sizeof(own), cards, 0);
	for (i = 0; !err && i < n; i++) {
		*pe = i;
		err = map_peer(osh, i, &own, &cards[i]);
	}
	free(cards);
	/* All have mapped what they need: no descriptor is left to anybody. */
	if (!err)
		err = gda_comm_barrier(osh->comm, 0);
	close(osh->heap.fd);
	if (osh->data.fd >= 0)
		close(osh->data.fd);
	osh->heap.fd = -1;
	osh->data.fd = -1;
	return err;
}

static void unmap(struct gda_osh_segment *s, unsigned int npes, unsigned int me)
{
	unsigned int i;

	for (i = 0; i < npes; i++)
		if (i != me && s->peer[i])
			munmap(s->peer[i], s->bytes);
	free(s->peer);
	s->peer = NULL;
}

void gda_osh_segments_unmap(struct gda_osh *osh)
{
	unsigned int npes = gda_comm_size(osh->comm);

	unmap(&osh->heap, npes, (unsigned int)osh->me);
	unmap(&osh->data, npes, (unsigned int)osh->me);
}

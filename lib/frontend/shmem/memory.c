// SPDX-License-Identifier: MIT
/*
 * Symmetric memory that other processes of this machine map: the heap, which is a memfd, and the
 * data segment, which is replaced by a copy in a memfd.
 *
 * A PE opens another's memfd as /proc/PID/fd/FD, and checks its inode, because a PID means another
 * process in another PID namespace. For the same reason a random number, and not the PID, tells
 * whether two PEs are threads of one process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include "shmem_internal.h"

static uint64_t gda_shmem_number;	/* 0: not drawn yet; atomic */
static pthread_once_t gda_shmem_number_once = PTHREAD_ONCE_INIT;

static void gda_shmem_number_forked(void)
{
	gda_shmem_number = 0;
}

static void gda_shmem_number_init(void)
{
	pthread_atfork(NULL, NULL, gda_shmem_number_forked);
}

uint64_t gda_shmem_process(void)
{
	uint64_t number = 0, none = 0;

	pthread_once(&gda_shmem_number_once, gda_shmem_number_init);
	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		number = gda_clock_ns() << 22 ^ (uint64_t)getpid();
	number |= 1;
	if (__atomic_compare_exchange_n(&gda_shmem_number, &none, number, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		return number;
	return none;
}

#define GDA_SHMEM_SEALS	(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int gda_shmem_memory_create(struct gda_shmem_heap *h, const char *name, uint64_t bytes,
				   struct gda_shmem_memory *m)
{
	struct stat st;

	m->fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (m->fd < 0)
		return gda_shmem_refuse(h, -errno,
					"memfd_create(2): %s: raise ulimit -n",
					strerror(errno));
	/* seal the size: a PE that shrank the file would kill the others by SIGBUS */
	if (ftruncate(m->fd, (off_t)bytes) || fcntl(m->fd, F_ADD_SEALS, GDA_SHMEM_SEALS) ||
	    fstat(m->fd, &st))
		return gda_shmem_refuse(h, -errno,
					"a memfd of %llu bytes: %s: set fewer heap_bytes",
					(unsigned long long)bytes, strerror(errno));
	m->bytes = bytes;
	m->dev = st.st_dev;
	m->ino = st.st_ino;
	return 0;
}

/*
 * Reserve addresses aligned to the next power of two, so that an allocation at an offset has the
 * same alignment in all PEs.
 */
static void *gda_shmem_memory_place(uint64_t bytes)
{
	uint64_t align = 2U << 20, start, at;
	void *p;

	while (align < bytes)
		align *= 2;
	p = mmap(NULL, bytes + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0);
	if (p == MAP_FAILED)
		return p;
	start = (uintptr_t)p;
	at = (start + align - 1) & ~(align - 1);
	if (at > start)
		munmap(p, at - start);
	if (start + align > at)
		munmap((void *)(uintptr_t)(at + bytes), start + align - at);
	return (void *)(uintptr_t)at;
}

int gda_shmem_memory_heap(struct gda_shmem_heap *h)
{
	struct gda_shmem_memory *m = &h->own.heap;
	int err = gda_shmem_memory_create(h, "gda-shmem-heap", h->attr.heap_bytes, m);
	void *addr;

	if (err)
		return err;
	addr = gda_shmem_memory_place(m->bytes);
	if (addr != MAP_FAILED)
		addr = mmap(addr, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, m->fd,
			    0);
	if (addr == MAP_FAILED)
		return gda_shmem_refuse(h, -errno, "a heap of %llu bytes: %s: set fewer",
					(unsigned long long)m->bytes, strerror(errno));
	/* use huge pages if the kernel may (shmem_enabled) */
	madvise(addr, m->bytes, MADV_HUGEPAGE);
	/* a child of fork(2) or similar must not write to this PE's memory */
	madvise(addr, m->bytes, MADV_DONTFORK);
	m->addr = (uintptr_t)addr;
	return 0;
}

/* Copy all but zeros, so that untouched pages of the file use no memory. */
static int gda_shmem_memory_copy(const struct gda_shmem_memory *m, const char *from, size_t page)
{
	uint64_t at;

	for (at = 0; at < m->bytes; at += page) {
		const char *p = from + at;

		if (!*p && !memcmp(p, p + 1, page - 1))
			continue;
		if (pwrite(m->fd, p, page, (off_t)at) != (ssize_t)page)
			return -ENOMEM;
	}
	return 0;
}

/* The caller mapped the memory before any thread could write there. */
static int gda_shmem_memory_given(struct gda_shmem_heap *h)
{
	struct gda_shmem_memory *m = &h->own.data;
	struct stat st;

	m->fd = (int)h->attr.data_fd - 1;
	if (fstat(m->fd, &st))
		return gda_shmem_refuse(h, -errno,
					"data_fd %u: %s: pass a memfd, plus 1",
					h->attr.data_fd, strerror(errno));
	m->bytes = h->attr.data_bytes;
	m->dev = st.st_dev;
	m->ino = st.st_ino;
	m->addr = (uintptr_t)h->attr.data;
	return 0;
}

int gda_shmem_memory_data(struct gda_shmem_heap *h)
{
	struct gda_shmem_memory *m = &h->own.data;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int err;

	if (!h->attr.data_bytes)
		return 0;
	if (h->attr.data_fd)
		return gda_shmem_memory_given(h);
	err = gda_shmem_memory_create(h, "gda-shmem-data", h->attr.data_bytes, m);
	if (!err)
		err = gda_shmem_memory_copy(m, h->attr.data, page);
	if (!err && mmap(h->attr.data, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 m->fd, 0) == MAP_FAILED)
		err = -errno;
	if (err)
		return gda_shmem_refuse(h, err,
					"the data segment of %llu bytes cannot be mapped: %s",
					(unsigned long long)m->bytes, strerror(-err));
	m->addr = (uintptr_t)h->attr.data;
	return 0;
}

/* Open the file of another process, and check that it is the file meant. */
static int gda_shmem_memory_open(int pid, const struct gda_shmem_memory *m)
{
	char path[64];
	struct stat st;
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, m->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : 0;
	if (!err && (st.st_dev != m->dev || st.st_ino != m->ino))
		err = -ESRCH;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Return: the address where it is mapped, or a negative errno. */
static int64_t gda_shmem_memory_map_one(const struct gda_shmem_card *card,
					const struct gda_shmem_memory *m)
{
	int fd = gda_shmem_memory_open(card->pid, m), err;
	void *addr;

	if (fd < 0)
		return fd;
	addr = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = -errno;
	close(fd);
	if (addr == MAP_FAILED)
		return err;
	madvise(addr, m->bytes, MADV_HUGEPAGE);
	madvise(addr, m->bytes, MADV_DONTFORK);
	return (int64_t)(uintptr_t)addr;
}

int gda_shmem_memory_map(struct gda_shmem_heap *h, uint32_t pe)
{
	const struct gda_shmem_card *card = &h->cards[pe];
	struct gda_shmem_peer *p = &h->peers[pe];
	int64_t addr;

	/* threads of one process use one address, so that tools see that the memory is the same */
	if (gda_shmem_is_thread(card, &h->own)) {
		p->heap = card->heap.addr;
		p->data = card->data.addr;
		return 0;
	}
	addr = gda_shmem_memory_map_one(card, &card->heap);
	if (addr >= 0) {
		p->heap = (uint64_t)addr;
		if (card->data.bytes)
			addr = gda_shmem_memory_map_one(card, &card->data);
	}
	if (addr < 0)
		return gda_shmem_refuse(h, (int)addr == -ENOMEM ? -ENOMEM : -EACCES,
					"memory of PE %u (process %d): %s: same user, same namespaces?",
					pe, card->pid, strerror(-(int)addr));
	if (card->data.bytes)
		p->data = (uint64_t)addr;
	return 0;
}

void gda_shmem_memory_unmap(struct gda_shmem_heap *h, uint32_t pe)
{
	struct gda_shmem_peer *p = &h->peers[pe];

	if (gda_shmem_is_thread(&h->cards[pe], &h->own))
		return;
	if (p->heap)
		munmap((void *)(uintptr_t)p->heap, h->shmem.heap_bytes);
	if (p->data)
		munmap((void *)(uintptr_t)p->data, h->shmem.data_bytes);
}

void gda_shmem_memory_close(struct gda_shmem_heap *h)
{
	if (h->own.heap.fd >= 0)
		close(h->own.heap.fd);
	if (h->own.data.fd >= 0)
		close(h->own.data.fd);
	h->own.heap.fd = -1;
	h->own.data.fd = -1;
}

void gda_shmem_memory_free(struct gda_shmem_heap *h)
{
	if (h->own.heap.addr)
		munmap((void *)(uintptr_t)h->own.heap.addr, h->own.heap.bytes);
	h->own.heap.addr = 0;
}

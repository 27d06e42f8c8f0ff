// SPDX-License-Identifier: MIT
/*
 * The program's variables become memory that others can map: they are copied to a memfd,
 * and that is mapped over them, so each stays where it is. It is done here, before there
 * are threads of the library, for in a static program some of its variables are theirs.
 *
 * A child of fork(2) would share the variables with its parent. It gets a copy of its own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "osh.h"

static struct gda_osh_program moved;

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
	void *copy;

	gda_osh_forget();
	copy = mmap(NULL, moved.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		_exit(1);
	copy_words(copy, (const void *)moved.base, moved.bytes);
	if (mremap(copy, moved.bytes, moved.bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
		   (void *)moved.base) == MAP_FAILED)
		_exit(1);
}

/* Nothing may be written to a variable between the copy and the mapping. */
static int move_data(int fd, const struct gda_osh_program *p)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = write_all(fd, p->base, p->bytes);
	if (!err && mmap((void *)p->base, p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 fd, 0) == MAP_FAILED)
		err = -errno;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

int gda_osh_data_create(const struct gda_osh_program *program)
{
	int fd, err = 0;

	if (!program->bytes)
		return -ENOENT;
	fd = memfd_create("gda-shmem-data", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)program->bytes))
		err = -errno;
	if (!err)
		err = move_data(fd, program);
	if (!err) {
		moved = *program;
		err = -pthread_atfork(NULL, NULL, forked);
	}
	if (err)
		close(fd);
	return err ? err : fd;
}

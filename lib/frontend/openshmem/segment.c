// SPDX-License-Identifier: MIT
/*
 * Turns the program's variables into memory that other processes can map: they are copied to a
 * memfd, which is mapped over them, so addresses stay. This is done before the library has threads,
 * because some variables of a static program belong to such threads.
 *
 * A child of fork(2) would share the variables with its parent, so it gets a copy. The copy is made
 * before the fork, so that the child sees the values at the call of fork() whatever the parent does
 * meanwhile, and is mapped over the variables in the child.
 *
 * In a static program the C library's own state is among the variables, and what fork() writes in
 * the child, before and after the handlers below, would change the parent's state. So fork() is
 * refused there.
 *
 * fork_lock is held while the process forks. @copy is thread-local, because the child reads it
 * before its variables are its own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "osh.h"

#define PAGE	4096UL	/* a divisor of all sizes of a page */

static struct gda_osh_program moved;
static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread void *copy;
static __thread sigset_t mask;
static __thread bool held;	/* held by the current fork */

/* By system calls, because sanitizers report reads between variables as errors. */
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

/* Skip pages of zeros: the target is zero already, and untouched pages use no memory. */
__attribute__((no_sanitize("address", "undefined", "thread")))
static void copy_page(volatile uint64_t *to, const volatile uint64_t *from)
{
	uint64_t any = 0;
	size_t i;

	for (i = 0; i < PAGE / sizeof(*to); i++)
		any |= from[i];
	for (i = 0; any && i < PAGE / sizeof(*to); i++)
		to[i] = from[i];
}

static void snapshot(void)
{
	uintptr_t at;

	copy = mmap(NULL, moved.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (at = 0; copy != MAP_FAILED && at < moved.bytes; at += PAGE)
		copy_page((volatile uint64_t *)((uintptr_t)copy + at),
			  (const volatile uint64_t *)(moved.base + at));
}

bool gda_osh_fork_is_refused(void)
{
	return moved.bytes && moved.is_static;
}

/* Also called by functions of the C library that fork. */
static void fork_prepare(void)
{
	sigset_t all;

	if (gda_osh_fork_is_refused())
		gda_osh_die("fork", -1,
			    "a static program cannot fork after shmem_init(): link it dynamically, or start programs with posix_spawn(3)");
	held = moved.bytes != 0;
	if (!held)
		return;
	/* no signal handler may run in the child while it has the parent's variables */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	pthread_mutex_lock(&fork_lock);
	snapshot();
}

static void fork_parent(void)
{
	if (!held)
		return;
	if (copy != MAP_FAILED)
		munmap(copy, moved.bytes);
	pthread_mutex_unlock(&fork_lock);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* Writes to no variable before the variables are the child's own. */
static void fork_child(void)
{
	static const char why[] = "fork: no memory for a copy of the variables: the child ends\n";

	if (!held)
		return;
	if (copy == MAP_FAILED ||
	    mremap(copy, moved.bytes, moved.bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
		   (void *)moved.base) == MAP_FAILED) {
		(void)!write(STDERR_FILENO, why, sizeof(why) - 1);
		_exit(1);
	}
	pthread_mutex_unlock(&fork_lock);
	gda_osh_forget();
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/*
 * Register before the program's own handlers: then the copy is made after they have prepared, and
 * is mapped before they run in the child.
 */
__attribute__((constructor(101))) static void fork_register(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* No variable may be written between the copy and the mapping. */
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
	fd = memfd_create("gda-shmem-data", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	/* seal the size: a PE that shrank the file would kill the others by SIGBUS */
	if (ftruncate(fd, (off_t)program->bytes) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		err = -errno;
	if (!err)
		err = move_data(fd, program);
	if (!err)
		moved = *program;
	if (err)
		close(fd);
	return err ? err : fd;
}

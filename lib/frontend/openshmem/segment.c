// SPDX-License-Identifier: MIT
/*
 * The program's variables become memory that others can map: they are copied to a memfd,
 * and that is mapped over them, so each stays where it is. It is done here, before there
 * are threads of the library, for in a static program some of its variables are theirs.
 *
 * A child of fork(2) would share the variables with its parent. It gets a copy of its own: it
 * is made before the fork, so that the child has them as they were when fork() was called
 * whatever the parent does meanwhile, and takes the place of the variables in the child.
 *
 * In a static program the C library's own state is among the variables, and what fork() writes
 * to it in the child, before and after the handlers below, would be the parent's. So there
 * fork() is refused.
 *
 * fork_lock is held while the process forks. @copy is in memory of the thread's own, for the
 * child finds it before its variables are its own.
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
static __thread bool held;	/* by the fork under way */

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

/* Pages of zeros are left alone: the memory that they are copied to is zero, and not there yet. */
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

/* Also by calls of the C library that fork. */
static void fork_prepare(void)
{
	sigset_t all;

	if (gda_osh_fork_is_refused())
		gda_osh_die("fork", -1,
			    "a static program cannot fork after shmem_init(): link it dynamically, or start programs with posix_spawn(3)");
	held = moved.bytes != 0;
	if (!held)
		return;
	/* no handler may run in the child while it has the parent's variables */
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

/* Nothing of the variables is written to before they are the child's own. */
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
 * Before the program's own handlers: then the copy is made after they have prepared, and is in
 * place before they run in the child.
 */
__attribute__((constructor(101))) static void fork_register(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
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
	fd = memfd_create("gda-shmem-data", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	/* a PE that made it shorter would end the others by SIGBUS */
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

// SPDX-License-Identifier: MIT
/*
 * Descriptors that a child of fork(2) does not keep. A copy in a child would keep a connection open
 * after its process has died, and its peers would learn of the death only when the child ends. So
 * each descriptor of the library that means something to another process is listed here, and closed
 * in the child by its number.
 *
 * All of them are also close-on-exec, which is enough for posix_spawn(3), system(3), and a child of
 * vfork(2) or of a bare clone(2) once it calls execve(2). Memory shared with other processes needs
 * no list: it is MADV_DONTFORK, which the kernel applies in all of these cases.
 *
 * gda_fd_mutex guards the list. It is held while a descriptor is created and listed, and while the
 * process forks, so a child never has an unlisted descriptor.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gda_internal.h"

static pthread_mutex_t gda_fd_mutex = PTHREAD_MUTEX_INITIALIZER;

/* A bitmap of descriptors. */
static uint64_t *gda_fd_words;
static size_t gda_fd_nwords;

void gda_fd_prepare(void)
{
	pthread_mutex_lock(&gda_fd_mutex);
}

void gda_fd_unlock(void)
{
	pthread_mutex_unlock(&gda_fd_mutex);
}

static int gda_fd_grow(size_t nwords)
{
	uint64_t *words = realloc(gda_fd_words, nwords * sizeof(*words));

	if (!words)
		return -ENOMEM;
	memset(words + gda_fd_nwords, 0, (nwords - gda_fd_nwords) * sizeof(*words));
	gda_fd_words = words;
	gda_fd_nwords = nwords;
	return 0;
}

int gda_fd_list(int fd)
{
	size_t word = (size_t)fd / 64;

	if (fd < 0)
		return fd;
	if (word >= gda_fd_nwords && gda_fd_grow(word + 1)) {
		close(fd);
		errno = ENOMEM;
		return -1;
	}
	gda_fd_words[word] |= 1ULL << fd % 64;
	return fd;
}

void gda_fd_close(int fd)
{
	size_t word = (size_t)fd / 64;

	pthread_mutex_lock(&gda_fd_mutex);
	if (word < gda_fd_nwords)
		gda_fd_words[word] &= ~(1ULL << fd % 64);
	close(fd);
	pthread_mutex_unlock(&gda_fd_mutex);
}

void gda_fd_parent(void)
{
	pthread_mutex_unlock(&gda_fd_mutex);
}

void gda_fd_child(void)
{
	size_t i;

	for (i = 0; i < gda_fd_nwords; i++) {
		while (gda_fd_words[i]) {
			close((int)(i * 64) + __builtin_ctzll(gda_fd_words[i]));
			gda_fd_words[i] &= gda_fd_words[i] - 1;
		}
	}
	pthread_mutex_unlock(&gda_fd_mutex);
}

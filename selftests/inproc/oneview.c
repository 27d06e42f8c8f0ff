// SPDX-License-Identifier: MIT
/*
 * For ThreadSanitizer, which knows memory by its address: a region that the device and
 * the posters map at two addresses would be two memories to it. Linked with --wrap for
 * mmap and munmap, all mappings of one offset of a file are one, counted.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>

void *__real_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *addr, size_t length);
void *__wrap_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *addr, size_t length);
const char *__tsan_default_options(void);

/* Every test is a process, which would otherwise sleep a second for threads to race. */
const char *__tsan_default_options(void)
{
	return "atexit_sleep_ms=50";
}

struct view {
	struct view *next;
	void *addr;
	size_t length;
	off_t offset;
	int fd;
	unsigned int users;
};

static struct view *views;
static pthread_mutex_t views_lock = PTHREAD_MUTEX_INITIALIZER;

static struct view *view_create(size_t length, int fd, off_t offset)
{
	struct view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->addr = __real_mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (v->addr == MAP_FAILED) {
		free(v);
		return NULL;
	}
	v->length = length;
	v->fd = fd;
	v->offset = offset;
	v->next = views;
	views = v;
	return v;
}

void *__wrap_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	struct view *v;

	if (fd < 0 || addr || !(flags & MAP_SHARED))
		return __real_mmap(addr, length, prot, flags, fd, offset);
	pthread_mutex_lock(&views_lock);
	for (v = views; v; v = v->next)
		if (v->fd == fd && v->offset == offset && v->length == length)
			break;
	if (!v)
		v = view_create(length, fd, offset);
	if (v)
		v->users++;
	pthread_mutex_unlock(&views_lock);
	return v ? v->addr : MAP_FAILED;
}

int __wrap_munmap(void *addr, size_t length)
{
	struct view **link;
	struct view *v;
	int ret = 0;

	pthread_mutex_lock(&views_lock);
	for (link = &views; (v = *link) && v->addr != addr;)
		link = &v->next;
	if (!v) {
		ret = __real_munmap(addr, length);
	} else if (!--v->users) {
		*link = v->next;
		ret = __real_munmap(addr, v->length);
		free(v);
	}
	pthread_mutex_unlock(&views_lock);
	return ret;
}

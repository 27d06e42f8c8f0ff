// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The kernel selftests on the in-process device. They drive /dev/gda by system calls;
 * linked with --wrap for those named here, the ones that go to /dev/gda are served by
 * lib/device/inproc. mmap(2) needs no help, for a context's file is a memfd.
 *
 * Not served, and so not for tests that need it: a file that is passed on, shared or
 * duplicated, sizes of structures, and SIGBUS after an object is destroyed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "inproc.h"
#include "../kernel/gda_test.h"

#define RAW_FILES	1024

int __real_open(const char *path, int flags, ...);
int __real_close(int fd);
int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_t_objects_read(struct t_objects *o);
int __wrap_t_objects_settle(const struct t_objects *base, struct t_objects *now);

static struct {
	struct gda_inproc_context *ctx;
	bool bound;
} raw[RAW_FILES];

static pthread_mutex_t raw_lock = PTHREAD_MUTEX_INITIALIZER;

int __wrap_open(const char *path, int flags, ...)
{
	struct gda_inproc_context *ctx;
	va_list args;
	mode_t mode;
	int err;

	va_start(args, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (strcmp(path, "/dev/gda"))
		return __real_open(path, flags, mode);
	err = gda_inproc_context_create(GDA_DEVICE_INPROC, &ctx);
	if (!err && ctx->fd >= RAW_FILES) {
		gda_inproc_context_destroy(ctx);
		err = -EMFILE;
	}
	if (err) {
		errno = -err;
		return -1;
	}
	pthread_mutex_lock(&raw_lock);
	raw[ctx->fd].ctx = ctx;
	raw[ctx->fd].bound = false;
	pthread_mutex_unlock(&raw_lock);
	return ctx->fd;
}

static struct gda_inproc_context *raw_context(int fd, bool take)
{
	struct gda_inproc_context *ctx;

	if (fd < 0 || fd >= RAW_FILES)
		return NULL;
	pthread_mutex_lock(&raw_lock);
	ctx = raw[fd].ctx;
	if (take)
		raw[fd].ctx = NULL;
	pthread_mutex_unlock(&raw_lock);
	return ctx;
}

int __wrap_close(int fd)
{
	struct gda_inproc_context *ctx = raw_context(fd, true);

	if (!ctx)
		return __real_close(fd);
	gda_inproc_context_destroy(ctx);
	return 0;
}

/* Only so that the tests' world can be set up: a file, but no dma-buf. */
static int raw_export(struct gda_inproc_context *ctx, struct gda_region_export *cmd)
{
	struct gda_region_query query = { .handle = cmd->handle, .type = cmd->type };
	int err = gda_inproc_call(ctx, GDA_IOC_REGION_INFO, &query);

	if (!err)
		cmd->fd = memfd_create("dmabuf", MFD_CLOEXEC);
	return err;
}

static int raw_bind(int fd, const struct gda_bind *bind)
{
	if (raw[fd].bound)
		return -EALREADY;
	if (bind->device[0] && memcmp(bind->device, GDA_DEVICE_SOFT, sizeof(GDA_DEVICE_SOFT)))
		return -ENOENT;
	raw[fd].bound = true;
	return 0;
}

static int raw_call(int fd, struct gda_inproc_context *ctx, unsigned long request, void *arg)
{
	if (request == GDA_IOC_BIND)
		return raw_bind(fd, arg);
	if (!raw[fd].bound && request != GDA_IOC_QUERY)
		return -ENOTCONN;
	if (request == GDA_IOC_REGION_EXPORT)
		return raw_export(ctx, arg);
	return gda_inproc_call(ctx, request, arg);
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct gda_inproc_context *ctx = raw_context(fd, false);
	va_list args;
	void *arg;
	int err;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!ctx)
		return __real_ioctl(fd, request, arg);
	err = raw_call(fd, ctx, request, arg);
	if (!err)
		return 0;
	errno = -err;
	return -1;
}

int __wrap_t_objects_read(struct t_objects *o)
{
	memset(o, 0, sizeof(*o));
	o->n[T_CONTEXTS] = __atomic_load_n(&gda_inproc.contexts, __ATOMIC_RELAXED);
	o->n[T_QPS] = __atomic_load_n(&gda_inproc.objects[GDA_INPROC_QP], __ATOMIC_RELAXED);
	o->n[T_CQS] = __atomic_load_n(&gda_inproc.objects[GDA_INPROC_CQ], __ATOMIC_RELAXED);
	o->n[T_COUNTERS] = __atomic_load_n(&gda_inproc.objects[GDA_INPROC_COUNT], __ATOMIC_RELAXED);
	o->n[T_MRS] = __atomic_load_n(&gda_inproc.objects[GDA_INPROC_MR], __ATOMIC_RELAXED);
	o->n[T_REGIONS] = __atomic_load_n(&gda_inproc.regions, __ATOMIC_RELAXED);
	return 0;
}

int __wrap_t_objects_settle(const struct t_objects *base, struct t_objects *now)
{
	__wrap_t_objects_read(now);
	return memcmp(base, now, sizeof(*now)) ? -ESTALE : 0;
}

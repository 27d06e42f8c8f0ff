// SPDX-License-Identifier: MIT
/*
 * The kernel's devices: an open file of /dev/gda, bound to one of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "gda_internal.h"

#define GDA_NODE "/dev/gda"

/* Return: 0, or -ENODEV in a child of fork(2). */
static int gda_kernel_enter(const struct gda_context *ctx)
{
	return ctx->fd >= 0 ? 0 : gda_because(-ENODEV,
		"the context belongs to the parent of this process: open another one here");
}

static int gda_kernel_ioctl(const struct gda_context *ctx, unsigned long request, void *arg)
{
	int saved = errno;
	int err = gda_kernel_enter(ctx);

	if (!err && ioctl(ctx->fd, request, arg) < 0)
		err = -errno;
	errno = saved;
	return err;
}

static void gda_kernel_close(struct gda_context *ctx)
{
	if (ctx->fd >= 0)
		gda_fd_close(ctx->fd);
}

/*
 * The device's files in a child of fork(2). fds.c has closed the descriptor, also that of a context
 * that another thread was opening or closing. A mapping keeps the file open just as a descriptor
 * does, so it is replaced by anonymous memory: a pointer that the library does not know of then
 * reads zeroes, and its stores have no effect.
 */
static void gda_kernel_forked(struct gda_context *ctx)
{
	struct gda_region *r;

	for (r = ctx->regions; r; r = r->next)
		if (mmap(r->addr, r->length, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
			munmap(r->addr, r->length);
			r->length = 0;	/* the library does not own this range any more */
		}
	ctx->fd = -1;
}

int gda_kernel_open_node(struct gda_context *ctx)
{
	int saved = errno;
	int err = 0;

	gda_fd_lock();
	ctx->fd = gda_fd_list(open(GDA_NODE, O_RDWR | O_CLOEXEC));
	gda_fd_unlock();
	if (ctx->fd < 0)
		err = -errno;
	if (err == -ENOENT)
		gda_because(err, "there is no " GDA_NODE ": load gda_core, or open \"inproc\"");
	else if (err == -EACCES)
		gda_because(err,
			    "no permission for %s: add this user to group gda, or open \"inproc\"",
			    GDA_NODE);
	errno = saved;
	return err;
}

static int gda_kernel_no_device(int err, const char *device, const char *also)
{
	char names[128];

	gda_device_names(names, sizeof(names));
	return gda_because(err, "there is no device \"%s\", there are: %s%s", device, names, also);
}

static int gda_kernel_open(struct gda_context *ctx, const char *device)
{
	struct gda_bind arg = { .size = sizeof(arg) };
	size_t len = strlen(device);
	int err;

	if (len >= sizeof(arg.device))
		return gda_because(-EINVAL,
				   "the name has %zu bytes, the most is %zu: gda_devices() lists the names",
				   len, sizeof(arg.device) - 1);
	memcpy(arg.device, device, len);
	err = gda_kernel_open_node(ctx);
	if (err == -ENOENT && *device) {
		gda_forget_reason();
		return gda_kernel_no_device(err, device, " (and no " GDA_NODE ": load gda_core)");
	}
	if (err)
		return err;
	err = gda_kernel_ioctl(ctx, GDA_IOC_BIND, &arg);
	if (err == -ENOENT)
		gda_kernel_no_device(err, *device ? device : "default", "");
	else if (err == -ENOSPC)
		gda_because(err,
			    "this user has max_contexts contexts bound: close one, or raise it (gdactl limits)");
	else if (err == -EAGAIN)
		gda_because(err,
			    "no thread can be made for the context: raise RLIMIT_NPROC (ulimit -u), or pids.max of the cgroup (TasksMax of a systemd unit)");
	else if (err == -ENOTTY)
		gda_because(err, "gda_core is older than this library: load a newer one");
	if (err)
		gda_kernel_close(ctx);
	return err;
}

static int gda_kernel_map(struct gda_context *ctx, const struct gda_region_info *info,
			  void **addr)
{
	int prot = info->map == GDA_MAP_RO ? PROT_READ : PROT_READ | PROT_WRITE;
	int err = gda_kernel_enter(ctx);

	if (err)
		return err;
	*addr = mmap(NULL, info->length, prot, MAP_SHARED, ctx->fd, (off_t)info->cookie);
	return *addr == MAP_FAILED ? -errno : 0;
}

static void gda_kernel_unmap(struct gda_context *ctx, void *addr, size_t length)
{
	(void)ctx;
	munmap(addr, length);
}

const struct gda_device_ops gda_device_kernel = {
	.open = gda_kernel_open,
	.close = gda_kernel_close,
	.ioctl = gda_kernel_ioctl,
	.map = gda_kernel_map,
	.unmap = gda_kernel_unmap,
	.forked = gda_kernel_forked,
};

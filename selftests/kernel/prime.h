/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * dma-bufs that go to and come from vgem, a driver of the kernel's own, through PRIME.
 */
#ifndef GDA_PRIME_H
#define GDA_PRIME_H

#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "gda_test.h"

/* Of drm.h and drm_mode.h, which the C library's headers do not have. */
struct drm_prime_handle {
	__u32 handle;
	__u32 flags;
	__s32 fd;
};

struct drm_gem_close {
	__u32 handle;
	__u32 pad;
};

struct drm_mode_create_dumb {
	__u32 height;
	__u32 width;
	__u32 bpp;
	__u32 flags;
	__u32 handle;
	__u32 pitch;
	__u64 size;
};

struct drm_mode_map_dumb {
	__u32 handle;
	__u32 pad;
	__u64 offset;
};

struct drm_version {
	int v[3];
	size_t name_len;
	char *name;
	size_t rest[4];
};

#define DRM_IOCTL_VERSION		_IOWR('d', 0x00, struct drm_version)
#define DRM_IOCTL_GEM_CLOSE		_IOW('d', 0x09, struct drm_gem_close)
#define DRM_IOCTL_PRIME_HANDLE_TO_FD	_IOWR('d', 0x2d, struct drm_prime_handle)
#define DRM_IOCTL_PRIME_FD_TO_HANDLE	_IOWR('d', 0x2e, struct drm_prime_handle)
#define DRM_IOCTL_MODE_CREATE_DUMB	_IOWR('d', 0xb2, struct drm_mode_create_dumb)
#define DRM_IOCTL_MODE_MAP_DUMB		_IOWR('d', 0xb3, struct drm_mode_map_dumb)

/* vgem's node, or -1. */
static inline int vgem_open(void)
{
	if (system("modprobe -q vgem"))
		return -1;
	for (int i = 0; i < 8; i++) {
		struct drm_version version = { 0 };
		char path[32], name[16] = "";
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		version.name = name;
		version.name_len = sizeof(name) - 1;
		if (fd >= 0 && !t_ioctl(fd, DRM_IOCTL_VERSION, &version) &&
		    !strcmp(name, "vgem"))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

static inline int export_region(int fd, uint32_t handle, uint32_t type,
				struct gda_region_export *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->size = sizeof(*cmd);
	cmd->handle = handle;
	cmd->type = type;
	return t_ioctl(fd, GDA_IOC_REGION_EXPORT, cmd);
}

static inline int prime_import(int drm, int fd, uint32_t *handle)
{
	struct drm_prime_handle cmd = { .fd = fd };
	int err = t_ioctl(drm, DRM_IOCTL_PRIME_FD_TO_HANDLE, &cmd);

	*handle = cmd.handle;
	return err;
}

static inline int gem_close(int drm, uint32_t handle)
{
	struct drm_gem_close cmd = { .handle = handle };

	return t_ioctl(drm, DRM_IOCTL_GEM_CLOSE, &cmd);
}

/* A buffer of vgem's own, as a dma-buf and as vgem itself maps it. */
struct own {
	uint32_t handle;
	int fd;
	uint64_t offset;
	uint8_t *p;
};

static inline int own_create(int drm, size_t len, struct own *own)
{
	struct drm_mode_create_dumb dumb = {
		.height = 1, .width = (uint32_t)(len / 4), .bpp = 32,
	};
	struct drm_mode_map_dumb map = { 0 };
	struct drm_prime_handle prime = { .flags = O_CLOEXEC | O_RDWR };
	int err = t_ioctl(drm, DRM_IOCTL_MODE_CREATE_DUMB, &dumb);

	map.handle = dumb.handle;
	prime.handle = dumb.handle;
	err = err ? err : t_ioctl(drm, DRM_IOCTL_MODE_MAP_DUMB, &map);
	err = err ? err : t_ioctl(drm, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);
	if (err)
		return err;
	own->handle = dumb.handle;
	own->fd = prime.fd;
	own->offset = map.offset;
	own->p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, drm, (off_t)map.offset);
	return own->p == MAP_FAILED ? -errno : 0;
}

static inline int own_destroy(int drm, size_t len, struct own *own)
{
	munmap(own->p, len);
	close(own->fd);
	return gem_close(drm, own->handle);
}

#endif /* GDA_PRIME_H */

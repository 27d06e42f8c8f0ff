// SPDX-License-Identifier: MIT
/*
 * Kinds of memory: registers each of them for a moment, if it is available.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "command.h"
#include "doctor.h"
#include "library.h"

#define BYTES	65536UL

static void no_kind(struct answer *a)
{
	if (module_installed("gda_mr"))
		fails(a, "as root: modprobe gda_mr",
		      "gda_mr, the module of memory kinds, is not loaded");
	else
		fails(a, "install package gda-dkms, or make install",
		      "gda_mr, the module of memory kinds, is not installed for this kernel");
}

void check_user_memory(struct patient *p, struct answer *a)
{
	struct rlimit lim;
	struct gda_mr *mr;
	void *mem;
	int err;

	if (!(p->query.features[0] & GDA_FEATURE_MR_USER)) {
		no_kind(a);
		return;
	}
	getrlimit(RLIMIT_MEMLOCK, &lim);
	mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	err = mem == MAP_FAILED ? -ENOMEM :
	      gda_mr_reg(p->ctx, mem, BYTES, GDA_ACCESS_LOCAL_WRITE, 0, &mr);
	if (!err) {
		gda_mr_dereg(mr);
		if (lim.rlim_cur == RLIM_INFINITY)
			works(a, "no limit (RLIMIT_MEMLOCK)");
		else
			works(a, "up to %llu KiB a user (RLIMIT_MEMLOCK)",
			      (unsigned long long)lim.rlim_cur / 1024);
	} else if (err == -ENOMEM) {
		fails(a, "raise it: ulimit -l, or memlock in /etc/security/limits.conf",
		      "RLIMIT_MEMLOCK of %llu KiB is too small, or used up",
		      (unsigned long long)lim.rlim_cur / 1024);
	} else {
		fails(a, "", "%s", gda_last_error());
	}
	if (mem != MAP_FAILED)
		munmap(mem, BYTES);
}

/* Closes @fd. */
static void try_dmabuf(struct patient *p, struct answer *a, int fd, const char *from)
{
	struct gda_mr_reg_dmabuf reg = {
		.size = sizeof(reg), .length = BYTES, .access = GDA_ACCESS_LOCAL_WRITE, .fd = fd,
		.flags = GDA_MR_ZERO_BASED,
	};
	struct gda_destroy destroy = { .size = sizeof(destroy) };
	int kernel = gda_context_fd(p->ctx);

	if (ioctl(kernel, GDA_IOC_MR_REG_DMABUF, &reg)) {
		fails(a, "", "a buffer of %s: %s", from, gda_strerror(-errno));
	} else {
		destroy.handle = reg.handle;
		ioctl(kernel, GDA_IOC_DESTROY, &destroy);
		works(a, "a buffer of %s was registered", from);
	}
	close(fd);
}

static bool has_dmabuf(struct patient *p, struct answer *a)
{
	if (p->query.features[0] & GDA_FEATURE_MR_DMABUF)
		return true;
	no_kind(a);
	return false;
}

static void no_node(struct answer *a, const char *path, const char *option)
{
	if (errno == ENOENT)
		fails(a, "only if buffers of it are wanted", "no %s: a kernel with %s has it", path,
		      option);
	else
		fails(a, "ask for access to it, if it is needed", "%s: %s", path, strerror(errno));
}

void check_udmabuf(struct patient *p, struct answer *a)
{
	struct udmabuf_create create = { .size = BYTES };
	int dev, mem, fd = -1;

	if (!has_dmabuf(p, a))
		return;
	dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	if (dev < 0) {
		no_node(a, "/dev/udmabuf", "CONFIG_UDMABUF");
		return;
	}
	mem = memfd_create("gdactl", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (mem >= 0 && !ftruncate(mem, BYTES) && !fcntl(mem, F_ADD_SEALS, F_SEAL_SHRINK)) {
		create.memfd = (__u32)mem;
		fd = ioctl(dev, UDMABUF_CREATE, &create);
	}
	if (fd < 0)
		fails(a, "", "udmabuf gives no buffer: %s", strerror(errno));
	else
		try_dmabuf(p, a, fd, "udmabuf");
	if (mem >= 0)
		close(mem);
	close(dev);
}

void check_dma_heap(struct patient *p, struct answer *a)
{
	struct dma_heap_allocation_data data = { .len = BYTES, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap;

	if (!has_dmabuf(p, a))
		return;
	heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
	if (heap < 0) {
		no_node(a, "/dev/dma_heap/system", "CONFIG_DMABUF_HEAPS_SYSTEM");
		return;
	}
	if (ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &data))
		fails(a, "", "the heap gives no buffer: %s", strerror(errno));
	else
		try_dmabuf(p, a, (int)data.fd, "the system heap");
	close(heap);
}

void check_cuda_memory(struct patient *p, struct answer *a)
{
	void *cuda;

	if (!has_dmabuf(p, a))
		return;
	if (gda_library_open("libcuda.so.1", NULL, &cuda)) {
		fails(a, "only for machines with an NVIDIA GPU", "no libcuda.so.1 here");
		return;
	}
	/* the CPU cannot map CUDA's dma-bufs */
	fails(a, "use the in-process device and gda/cuda.h",
	      GDA_DEVICE_SOFT " needs a window of the CPU, which CUDA's dma-bufs do not give");
}

/* Modules that use gda_mr are peer clients: it offers nothing else. */
static int peer_clients(char *names, size_t room)
{
	DIR *dir = opendir("/sys/module/gda_mr/holders");
	struct dirent *entry;
	size_t len = 0;
	int n = 0;

	names[0] = 0;
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (len < room)
			len += (size_t)snprintf(names + len, room - len, "%s%s", n ? ", " : "",
						entry->d_name);
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

void check_peer_memory(struct patient *p, struct answer *a)
{
	char names[128];

	if (!(p->query.features[0] & GDA_FEATURE_MR_PEER))
		no_kind(a);
	else if (peer_clients(names, sizeof(names)))
		works(a, "by address, of %s", names);
	else
		fails(a, "use a dma-buf, if the driver exports them",
		      "no driver of a device has registered as a peer client");
}

// SPDX-License-Identifier: MIT
/*
 * GPU memory as MRs. The in-process device takes the address, since the CUDA driver copies for it;
 * a kernel device takes a dma-buf.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "cuda_internal.h"

#define GDA_CUDA_PAGE	4096U

/* Is the whole range in one allocation of GPU memory? The context is entered. */
static int gda_cuda_allocated(uint64_t addr, size_t length)
{
	unsigned int type = 0;
	uint64_t start = 0;
	size_t size = 0;

	if (gda_cu.pointer_attribute(&type, GDA_CU_POINTER_MEMORY_TYPE, addr) ||
	    type != GDA_CU_MEMORY_DEVICE)
		return -EFAULT;
	if (gda_cu.pointer_attribute(&start, GDA_CU_POINTER_RANGE_START, addr) ||
	    gda_cu.pointer_attribute(&size, GDA_CU_POINTER_RANGE_SIZE, addr))
		return -EFAULT;
	return addr - start > size || length > size - (addr - start) ? -EFAULT : 0;
}

static int gda_cuda_check(struct gda_cuda *cuda, uint64_t addr, size_t length)
{
	int err;

	if (gda_cuda_inherited(cuda))
		return -ENODEV;
	if (!length)
		return gda_because(-EINVAL, "length is 0: register at least one byte");
	if (addr + length < addr)
		return gda_because(-EOVERFLOW,
				   "addr %#llx plus length %#zx wraps: is one of them wrong?",
				   (unsigned long long)addr, length);
	err = gda_cuda_enter(cuda);
	if (err)
		return err;
	err = gda_cuda_allocated(addr, length);
	gda_cuda_leave();
	if (err)
		gda_because(err,
			    "addr %#llx, length %#zx: pass memory of one cuMemAlloc(), or register host memory by gda_mr_reg()",
			    (unsigned long long)addr, length);
	return err;
}

static int gda_cuda_dmabuf_get(struct gda_cuda *cuda, uint64_t addr, size_t length, int *fd,
			       uint64_t *offset)
{
	uint64_t into = addr % GDA_CUDA_PAGE;
	size_t pages = (into + length + GDA_CUDA_PAGE - 1) / GDA_CUDA_PAGE * GDA_CUDA_PAGE;
	int dmabuf = -1;
	int err = gda_cuda_check(cuda, addr, length);

	if (err)
		return err;
	if (!(cuda->caps.features & GDA_CUDA_DMABUF))
		return gda_because(-EOPNOTSUPP,
				   "GPU %d, or its driver, exports no dma-bufs: use the open kernel modules of NVIDIA's driver, or another GPU",
				   cuda->ordinal);
	err = gda_cuda_enter(cuda);
	if (err)
		return err;
	err = gda_cu_errno(gda_cu.range_handle(&dmabuf, addr - into, pages,
					       GDA_CU_RANGE_DMA_BUF_FD, 0));
	gda_cuda_leave();
	if (err)
		return err;
	fcntl(dmabuf, F_SETFD, FD_CLOEXEC);
	*fd = dmabuf;
	*offset = into;
	return 0;
}

GDA_EXPORT int gda_cuda_dmabuf(struct gda_cuda *cuda, uint64_t addr, size_t length, int *fd,
			       uint64_t *offset)
{
	return gda_called(gda_cuda_dmabuf_get(cuda, addr, length, fd, offset), "gda_cuda_dmabuf",
			  "GPU %d, addr %#llx, length %#zx", cuda->ordinal,
			  (unsigned long long)addr, length);
}

/* Create words for the range if @flags ask for them; else NULL. */
static int gda_cuda_mr_words(struct gda_cuda *cuda, const struct gda_mr_reg_user *arg,
			     uint32_t flags, struct gda_inproc_attachment **words)
{
	struct gda_inproc_lane *lane;
	int err;

	*words = NULL;
	if (!flags)
		return 0;
	err = gda_cuda_enter(cuda);
	if (err)
		return err;
	err = gda_cuda_lane_get(cuda, &lane);
	gda_cuda_leave();
	if (err)
		return err;
	err = gda_inproc_words_create(arg->addr, arg->length, lane,
				      flags & GDA_CUDA_MR_STORES, words);
	if (err)
		lane->ops->put(lane);
	if (err == -EBUSY)
		gda_because(err,
			    "some of it is registered with GDA_CUDA_MR_WORDS already: use that MR, or deregister it first");
	return err;
}

static int gda_cuda_mr_inproc(struct gda_cuda *cuda, const struct gda_mr_reg_user *arg,
			      uint32_t flags, struct gda_mr *m)
{
	struct gda_mr_reg_user cmd = *arg;
	struct gda_inproc_attachment *words;
	int err = gda_cuda_mr_words(cuda, arg, flags, &words);

	if (err)
		return err;
	err = gda_inproc_mr_reg_no_cpu(cuda->ctx->device, &cmd, words);
	if (err) {
		if (words)
			words->free(words);
		return err;
	}
	m->handle = cmd.handle;
	m->key = cmd.key;
	m->iova = cmd.iova;
	return 0;
}

static int gda_cuda_mr_dmabuf(struct gda_cuda *cuda, const struct gda_mr_reg_user *arg,
			      struct gda_mr *m)
{
	struct gda_mr_reg_dmabuf cmd = {
		.size = sizeof(cmd),
		.flags = arg->flags,
		.length = arg->length,
		.iova = arg->flags & GDA_MR_ZERO_BASED ? 0 : arg->addr,
		.access = arg->access,
	};
	uint64_t offset;
	int err = gda_cuda_dmabuf_get(cuda, arg->addr, arg->length, &cmd.fd, &offset);

	if (err)
		return err;
	cmd.offset = offset;
	err = gda_ioctl(cuda->ctx, GDA_IOC_MR_REG_DMABUF, &cmd);
	close(cmd.fd);
	if (err)
		return err;
	m->handle = cmd.handle;
	m->key = cmd.key;
	m->iova = cmd.iova;
	return 0;
}

/* May the range have words? */
static int gda_cuda_check_words(const struct gda_cuda *cuda, const struct gda_mr_reg_user *arg,
				uint32_t flags)
{
	if (!flags)
		return 0;
	if (!(flags & GDA_CUDA_MR_WORDS))
		return gda_because(-EINVAL,
				   "GDA_CUDA_MR_STORES without GDA_CUDA_MR_WORDS: give both");
	if (!(cuda->caps.features & GDA_CUDA_ATOMIC))
		return gda_because(-EOPNOTSUPP,
				   "GDA_CUDA_MR_WORDS: the device or GPU %d has no GDA_CUDA_ATOMIC: use words in host memory",
				   cuda->ordinal);
	if (arg->addr % 8)
		return gda_because(-EINVAL,
				   "GDA_CUDA_MR_WORDS: addr %#llx is no multiple of 8",
				   (unsigned long long)arg->addr);
	return 0;
}

static int gda_cuda_mr_new(struct gda_cuda *cuda, const struct gda_mr_reg_user *arg,
			   uint32_t flags, struct gda_mr **mr)
{
	struct gda_mr *m;
	int err = gda_cuda_check(cuda, arg->addr, arg->length);

	if (!err)
		err = gda_cuda_check_words(cuda, arg, flags);
	if (err)
		return err;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->ctx = cuda->ctx;
	err = gda_cuda_copies(cuda) ? gda_cuda_mr_inproc(cuda, arg, flags, m) :
				      gda_cuda_mr_dmabuf(cuda, arg, m);
	if (err) {
		free(m);
		return err;
	}
	*mr = m;
	return 0;
}

GDA_EXPORT int gda_cuda_mr_reg(struct gda_cuda *cuda, uint64_t addr, size_t length,
			       uint32_t access, uint32_t flags, struct gda_mr **mr)
{
	const uint32_t words = GDA_CUDA_MR_WORDS | GDA_CUDA_MR_STORES;
	const struct gda_mr_reg_user arg = {
		.flags = flags & ~words, .addr = addr, .length = length, .access = access,
	};
	const struct gda_mr_rule rule = {
		"addr", addr, length, gda_cuda_copies(cuda) ? GDA_FEATURE_MR_USER :
							      GDA_FEATURE_MR_DMABUF,
		access, arg.flags,
	};
	int err = gda_cuda_mr_new(cuda, &arg, flags & words, mr);

	if (err)
		gda_why_mr(cuda->ctx, err, &rule);
	return gda_called(err, "gda_cuda_mr_reg",
			  "GPU %d, addr %#llx, length %#zx, access %#x, flags %#x", cuda->ordinal,
			  (unsigned long long)addr, length, access, flags);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * A GPU in RAM: a client of gda/peer_memory.h. Its memory belongs to an open file of
 * /dev/gda_test_peer, is mapped as that of a device, so that it cannot be pinned, and is taken
 * away by a command, or when the file is closed.
 *
 * As in exporter.c there are two stores: the invalidated one is filled with canaries, and
 * a later write to it is noticed. After closing both are freed at once, for KASAN to see
 * it. One lock guards all of a GPU, and comes after mmap_lock and all locks of GDA; memory
 * is invalidated under it. Open file and registrations each hold the GPU.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/kref.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <gda/compat.h>
#include <gda/peer_memory.h>

#include "ioctl.h"
#include "parts.h"

struct gpu {
	struct kref ref;
	struct mutex lock;	/* guards all below */
	size_t bytes;		/* 0: nothing allocated yet */
	u32 flags;
	bool gone;
	u8 *store;		/* in use */
	u8 *old;
	struct list_head uses;
};

/* One registration. */
struct gpu_use {
	struct list_head node;
	struct gpu *gpu;
	struct gda_peer_memory *memory;
	size_t offset;
	size_t length;
	bool dead;		/* invalidated */
};

static void gpu_free(struct kref *ref)
{
	struct gpu *gpu = container_of(ref, struct gpu, ref);

	WARN_ON(!list_empty(&gpu->uses));
	vfree(gpu->store);
	vfree(gpu->old);
	mutex_destroy(&gpu->lock);
	kfree(gpu);
}

/* --- the client --- */

static void gpu_invalidate(struct gpu *gpu)
{
	struct gpu_use *use;

	lockdep_assert_held(&gpu->lock);
	list_for_each_entry(use, &gpu->uses, node) {
		gda_peer_invalidate(use->memory);
		use->dead = true;
	}
}

static int gpu_use_create(struct gpu *gpu, struct gda_peer_memory *memory, size_t offset,
			  size_t length, void **priv)
{
	struct gpu_use *use = kzalloc(sizeof(*use), GFP_KERNEL_ACCOUNT);
	int ret = 0;

	if (!use)
		return -ENOMEM;
	use->gpu = gpu;
	use->memory = memory;
	use->offset = offset;
	use->length = length;
	mutex_lock(&gpu->lock);
	if (gpu->gone) {
		ret = -ENODEV;
	} else if (offset > gpu->bytes || length > gpu->bytes - offset) {
		ret = -EINVAL;
	} else {
		kref_get(&gpu->ref);
		list_add(&use->node, &gpu->uses);
		*priv = use;
	}
	mutex_unlock(&gpu->lock);
	if (ret)
		kfree(use);
	return ret;
}

static const struct vm_operations_struct gpu_vm_ops;

static int gpu_get(struct gda_peer_memory *memory, u64 addr, u64 length, bool writable,
		   void **priv)
{
	unsigned long want = VM_READ | (writable ? VM_WRITE : 0);
	struct vm_area_struct *vma;
	u64 offset;
	int ret;

	mmap_read_lock(current->mm);
	vma = find_vma(current->mm, addr);
	if (!vma || vma->vm_ops != &gpu_vm_ops || addr < vma->vm_start ||
	    length > vma->vm_end - addr) {
		ret = -ENXIO;
	} else if ((vma->vm_flags & want) != want) {
		ret = -EACCES;
	} else {
		offset = addr - vma->vm_start + ((u64)vma->vm_pgoff << PAGE_SHIFT);
		ret = gpu_use_create(vma->vm_private_data, memory, offset, length, priv);
	}
	mmap_read_unlock(current->mm);
	return ret;
}

static int gpu_vmap(void *priv, struct iosys_map *map)
{
	struct gpu_use *use = priv;
	struct gpu *gpu = use->gpu;
	int ret = 0;

	mutex_lock(&gpu->lock);
	if (use->dead)
		ret = -ENODEV;
	else if (gpu->flags & GDA_TEST_NO_VMAP)
		ret = -EOPNOTSUPP;
	else
		iosys_map_set_vaddr(map, gpu->store + use->offset);
	if (!ret)
		map->is_iomem = gpu->flags & GDA_TEST_IOMEM;
	mutex_unlock(&gpu->lock);
	return ret;
}

static void gpu_put(void *priv)
{
	struct gpu_use *use = priv;
	struct gpu *gpu = use->gpu;

	mutex_lock(&gpu->lock);
	list_del(&use->node);
	mutex_unlock(&gpu->lock);
	kfree(use);
	kref_put(&gpu->ref, gpu_free);
}

static struct gda_peer_client gpu_client = {
	.owner = THIS_MODULE,
	.get = gpu_get,
	.vmap = gpu_vmap,
	.put = gpu_put,
};

static DEFINE_MUTEX(gpu_client_lock);
static bool gpu_client_on;	/* under gpu_client_lock */

static int gpu_client_set(bool on)
{
	int ret = 0;

	mutex_lock(&gpu_client_lock);
	if (on && !gpu_client_on)
		ret = gda_peer_register(&gpu_client);
	if (!on && gpu_client_on)
		gda_peer_unregister(&gpu_client);
	if (!ret)
		gpu_client_on = on;
	mutex_unlock(&gpu_client_lock);
	return ret;
}

int test_peer_register(void)
{
	return gpu_client_set(true);
}

void test_peer_unregister(void)
{
	gpu_client_set(false);
}

/* --- the device --- */

static vm_fault_t gpu_fault(struct vm_fault *vmf)
{
	struct gpu *gpu = vmf->vma->vm_private_data;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	u8 *p;

	mutex_lock(&gpu->lock);
	if (!gpu->gone && vmf->pgoff < gpu->bytes >> PAGE_SHIFT) {
		p = gpu->store + (vmf->pgoff << PAGE_SHIFT);
		ret = vmf_insert_pfn(vmf->vma, vmf->address & PAGE_MASK, vmalloc_to_pfn(p));
	}
	mutex_unlock(&gpu->lock);
	return ret;
}

static const struct vm_operations_struct gpu_vm_ops = {
	.fault = gpu_fault,
};

static int gpu_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = file->private_data;
	vma->vm_ops = &gpu_vm_ops;
	return 0;
}

static int gpu_open(struct inode *inode, struct file *file)
{
	struct gpu *gpu = kzalloc(sizeof(*gpu), GFP_KERNEL_ACCOUNT);

	if (!gpu)
		return -ENOMEM;
	kref_init(&gpu->ref);
	mutex_init(&gpu->lock);
	INIT_LIST_HEAD(&gpu->uses);
	file->private_data = gpu;
	return 0;
}

/* Its process is gone: so is the memory. No mapping is left, they hold the file. */
static int gpu_release(struct inode *inode, struct file *file)
{
	struct gpu *gpu = file->private_data;

	mutex_lock(&gpu->lock);
	gpu_invalidate(gpu);
	gpu->gone = true;
	vfree(gpu->store);
	vfree(gpu->old);
	gpu->store = NULL;
	gpu->old = NULL;
	mutex_unlock(&gpu->lock);
	kref_put(&gpu->ref, gpu_free);
	return 0;
}

static long gpu_alloc(struct gpu *gpu, const struct gda_test_peer_alloc *cmd)
{
	u8 *store, *old;
	long ret = -ENOMEM;

	if (!cmd->length || cmd->length > TEST_MAX_BYTES || cmd->length % PAGE_SIZE ||
	    cmd->flags & ~(GDA_TEST_NO_VMAP | GDA_TEST_IOMEM) || cmd->reserved)
		return -EINVAL;
	store = vmalloc_user(cmd->length);
	old = vmalloc_user(cmd->length);
	mutex_lock(&gpu->lock);
	if (gpu->bytes) {
		ret = -EBUSY;
	} else if (store && old) {
		swap(gpu->store, store);
		swap(gpu->old, old);
		gpu->bytes = cmd->length;
		gpu->flags = cmd->flags;
		ret = 0;
	}
	mutex_unlock(&gpu->lock);
	vfree(store);
	vfree(old);
	return ret;
}

static u64 gpu_changed(const struct gpu *gpu)
{
	u64 n = 0;
	size_t i;

	if (!memchr_inv(gpu->old, GDA_TEST_CANARY, gpu->bytes))
		return 0;
	for (i = 0; i < gpu->bytes; i++)
		n += READ_ONCE(gpu->old[i]) != GDA_TEST_CANARY;
	return n;
}

/* The lock is held while the old memory is watched: no registration begins. */
static long gpu_take_away(struct file *file, struct gda_test_peer_invalidate *cmd)
{
	struct gpu *gpu = file->private_data;
	unsigned long us;
	u64 start;

	if (cmd->flags & ~GDA_TEST_GONE || cmd->reserved)
		return -EINVAL;
	mutex_lock(&gpu->lock);
	start = ktime_get_ns();
	gpu_invalidate(gpu);
	cmd->wait_ns = ktime_get_ns() - start;
	gpu->gone |= !!(cmd->flags & GDA_TEST_GONE);
	cmd->changed = 0;
	if (gpu->bytes) {
		/* of all files: the others' fault it in again */
		unmap_mapping_range(file->f_mapping, 0, 0, 1);
		memcpy(gpu->old, gpu->store, gpu->bytes);
		swap(gpu->old, gpu->store);
		memset(gpu->old, GDA_TEST_CANARY, gpu->bytes);
		us = div_u64(min_t(u64, cmd->linger_ns, NSEC_PER_SEC), NSEC_PER_USEC);
		if (us)
			usleep_range(us, us + us / 2);
		cmd->changed = gpu_changed(gpu);
	}
	mutex_unlock(&gpu->lock);
	return 0;
}

static long gpu_ioctl(struct file *file, unsigned int nr, unsigned long arg)
{
	union {
		struct gda_test_peer_alloc alloc;
		struct gda_test_peer_invalidate invalidate;
		__u32 on;
	} cmd;
	void __user *user = (void __user *)arg;
	long ret;

	if (nr != GDA_TEST_PEER_ALLOC && nr != GDA_TEST_PEER_INVALIDATE &&
	    nr != GDA_TEST_PEER_CLIENT)
		return -ENOTTY;
	if (copy_from_user(&cmd, user, _IOC_SIZE(nr)))
		return -EFAULT;
	if (nr == GDA_TEST_PEER_ALLOC)
		return gpu_alloc(file->private_data, &cmd.alloc);
	if (nr == GDA_TEST_PEER_CLIENT)
		return gpu_client_set(cmd.on);
	ret = gpu_take_away(file, &cmd.invalidate);
	if (!ret && copy_to_user(user, &cmd, _IOC_SIZE(nr)))
		return -EFAULT;
	return ret;
}

static const struct file_operations gpu_fops = {
	.owner = THIS_MODULE,
	.open = gpu_open,
	.release = gpu_release,
	.mmap = gpu_mmap,
	.unlocked_ioctl = gpu_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

struct miscdevice test_peer_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "gda_test_peer",
	.mode = 0600,
	.fops = &gpu_fops,
};

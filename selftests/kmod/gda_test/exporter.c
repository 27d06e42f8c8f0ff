// SPDX-License-Identifier: GPL-2.0
/*
 * A dma-buf exporter whose memory moves whenever a test says so.
 *
 * A buffer has two stores. A move notifies the importers, fills the store that was in use
 * with canaries and goes on in the other one, so a later write to the old one is
 * noticed. The store in use is guarded by @lock, pins by the buffer's dma_resv; the lock
 * comes after dma_resv and mmap_lock. Mappings may stay where importers cannot give
 * them up in their callback (GDA_VMAP_UNDER_RESV).
 */
#include <linux/delay.h>
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/iosys-map.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <gda/compat.h>

#include "ioctl.h"
#include "parts.h"

struct test_buffer {
	struct mutex lock;	/* guards all below but @pins */
	size_t bytes;
	bool gone;
	unsigned int pins;
	unsigned int vmaps;
	void *wc;	/* another mapping of @store, write-combined; such a buffer does not move */
	u8 *store;	/* in use */
	u8 *old;
};

static int test_pin(struct dma_buf_attachment *attach)
{
	struct test_buffer *buf = attach->dmabuf->priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	if (buf->gone)
		return -ENODEV;
	buf->pins++;
	return 0;
}

static void test_unpin(struct dma_buf_attachment *attach)
{
	struct test_buffer *buf = attach->dmabuf->priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	WARN_ON(!buf->pins);
	buf->pins--;
}

static struct sg_table *test_map(struct dma_buf_attachment *attach,
				 enum dma_data_direction dir)
{
	struct test_buffer *buf = attach->dmabuf->priv;
	struct scatterlist *sg;
	struct sg_table *sgt;
	unsigned int i;
	int ret;

	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(sgt, buf->bytes >> PAGE_SHIFT, GFP_KERNEL);
	if (ret)
		goto err_kfree;
	for_each_sgtable_sg(sgt, sg, i)
		sg_set_page(sg, vmalloc_to_page(buf->store + i * PAGE_SIZE), PAGE_SIZE, 0);
	ret = dma_map_sgtable(attach->dev, sgt, dir, 0);
	if (ret)
		goto err_table;
	return sgt;

err_table:
	sg_free_table(sgt);
err_kfree:
	kfree(sgt);
	return ERR_PTR(ret);
}

static void test_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
		       enum dma_data_direction dir)
{
	dma_unmap_sgtable(attach->dev, sgt, dir, 0);
	sg_free_table(sgt);
	kfree(sgt);
}

/* Never fails: the core would warn. What is gone was refused by test_pin(). */
static int test_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct test_buffer *buf = dmabuf->priv;

	mutex_lock(&buf->lock);
	buf->vmaps++;
	iosys_map_set_vaddr(map, buf->wc ?: buf->store);
	mutex_unlock(&buf->lock);
	return 0;
}

static void test_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct test_buffer *buf = dmabuf->priv;

	mutex_lock(&buf->lock);
	WARN_ON(!buf->vmaps);
	buf->vmaps--;
	mutex_unlock(&buf->lock);
}

static vm_fault_t test_fault(struct vm_fault *vmf)
{
	struct test_buffer *buf = vmf->vma->vm_private_data;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	mutex_lock(&buf->lock);
	if (!buf->gone && vmf->pgoff < buf->bytes >> PAGE_SHIFT) {
		ret = vmf_insert_page(vmf->vma, vmf->address & PAGE_MASK,
				      vmalloc_to_page(buf->store + (vmf->pgoff << PAGE_SHIFT)));
	}
	mutex_unlock(&buf->lock);
	return ret;
}

static const struct vm_operations_struct test_vm_ops = {
	.fault = test_fault,
};

static int test_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct test_buffer *buf = dmabuf->priv;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (buf->wc)
		vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = buf;
	vma->vm_ops = &test_vm_ops;
	return 0;
}

static void test_buffer_free(struct test_buffer *buf)
{
	vunmap(buf->wc);
	vfree(buf->store);
	vfree(buf->old);
	mutex_destroy(&buf->lock);
	kfree(buf);
}

static void test_release(struct dma_buf *dmabuf)
{
	struct test_buffer *buf = dmabuf->priv;

	WARN_ON(buf->pins || buf->vmaps);
	test_buffer_free(buf);
}

#define TEST_DMABUF_OPS			\
	.pin = test_pin,		\
	.unpin = test_unpin,		\
	.map_dma_buf = test_map,	\
	.unmap_dma_buf = test_unmap,	\
	.mmap = test_mmap,		\
	.release = test_release

static const struct dma_buf_ops test_dmabuf_ops = {
	TEST_DMABUF_OPS,
	.vmap = test_vmap,
	.vunmap = test_vunmap,
};

static const struct dma_buf_ops test_no_vmap_ops = {
	TEST_DMABUF_OPS,
};

static struct test_buffer *test_buffer_create(size_t bytes)
{
	struct test_buffer *buf = kzalloc(sizeof(*buf), GFP_KERNEL);

	if (!buf)
		return NULL;
	mutex_init(&buf->lock);
	buf->bytes = bytes;
	buf->store = vmalloc_user(bytes);
	buf->old = vmalloc_user(bytes);
	if (buf->store && buf->old)
		return buf;
	test_buffer_free(buf);
	return NULL;
}

static int test_buffer_combine(struct test_buffer *buf)
{
	unsigned int n = buf->bytes >> PAGE_SHIFT, i;
	struct page **pages = kvmalloc_array(n, sizeof(*pages), GFP_KERNEL);

	if (!pages)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		pages[i] = vmalloc_to_page(buf->store + i * PAGE_SIZE);
	buf->wc = vmap(pages, n, VM_MAP, pgprot_writecombine(PAGE_KERNEL));
	kvfree(pages);
	return buf->wc ? 0 : -ENOMEM;
}

static long test_export(struct gda_test_export *cmd)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct test_buffer *buf;
	struct dma_buf *dmabuf;

	if (!cmd->length || cmd->length > TEST_MAX_BYTES || cmd->length % PAGE_SIZE ||
	    cmd->flags & ~(GDA_TEST_NO_VMAP | GDA_TEST_WC))
		return -EINVAL;
	buf = test_buffer_create(cmd->length);
	if (!buf)
		return -ENOMEM;
	if (cmd->flags & GDA_TEST_WC && test_buffer_combine(buf)) {
		test_buffer_free(buf);
		return -ENOMEM;
	}
	info.ops = cmd->flags & GDA_TEST_NO_VMAP ? &test_no_vmap_ops : &test_dmabuf_ops;
	info.size = cmd->length;
	info.flags = O_RDWR;
	info.priv = buf;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		test_buffer_free(buf);
		return PTR_ERR(dmabuf);
	}
	cmd->fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (cmd->fd >= 0)
		return 0;
	dma_buf_put(dmabuf);
	return cmd->fd;
}

/* The importers were told: from here on the old memory is ours alone. */
static int test_swap(struct dma_buf *dmabuf, u32 flags)
{
	struct test_buffer *buf = dmabuf->priv;
	int ret = -EBUSY;

	mutex_lock(&buf->lock);
	if (buf->wc || buf->pins || (GDA_VMAP_UNDER_RESV && buf->vmaps))
		goto out;
	unmap_mapping_range(dmabuf->file->f_mapping, 0, 0, 1);
	memcpy(buf->old, buf->store, buf->bytes);
	swap(buf->old, buf->store);
	memset(buf->old, GDA_TEST_CANARY, buf->bytes);
	buf->gone |= !!(flags & GDA_TEST_GONE);
	ret = 0;
out:
	mutex_unlock(&buf->lock);
	return ret;
}

static u64 test_changed(const struct test_buffer *buf)
{
	u64 n = 0;
	size_t i;

	if (!memchr_inv(buf->old, GDA_TEST_CANARY, buf->bytes))
		return 0;
	for (i = 0; i < buf->bytes; i++)
		n += READ_ONCE(buf->old[i]) != GDA_TEST_CANARY;
	return n;
}

/* dma_resv is held while the old memory is watched: no importer attaches, nothing moves. */
static long test_move_locked(struct dma_buf *dmabuf, struct gda_test_move *cmd)
{
	u64 start = ktime_get_ns();
	unsigned long us;
	int ret;

	dma_buf_invalidate_mappings(dmabuf);
	cmd->wait_ns = ktime_get_ns() - start;
	ret = test_swap(dmabuf, cmd->flags);
	if (ret)
		return ret;
	us = div_u64(min_t(u64, cmd->linger_ns, NSEC_PER_SEC), NSEC_PER_USEC);
	if (us)
		usleep_range(us, us + us / 2);
	cmd->changed = test_changed(dmabuf->priv);
	return 0;
}

static long test_move(struct gda_test_move *cmd)
{
	struct dma_buf *dmabuf;
	long ret = -EINVAL;

	if (cmd->flags & ~GDA_TEST_GONE)
		return -EINVAL;
	dmabuf = dma_buf_get(cmd->fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	if (dmabuf->ops == &test_dmabuf_ops || dmabuf->ops == &test_no_vmap_ops) {
		dma_resv_lock(dmabuf->resv, NULL);
		ret = test_move_locked(dmabuf, cmd);
		dma_resv_unlock(dmabuf->resv);
	}
	dma_buf_put(dmabuf);
	return ret;
}

/* Under mmap_lock, which keeps the tables. Those of large pages are none for us. */
static pte_t *test_pte(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;
	pud_t *pud;
	pmd_t *pmd;

	if (pgd_none(*pgd) || pgd_bad(*pgd))
		return NULL;
	p4d = p4d_offset(pgd, addr);
	if (p4d_none(*p4d) || p4d_bad(*p4d))
		return NULL;
	pud = pud_offset(p4d, addr);
	if (pud_none(*pud) || pud_bad(*pud))
		return NULL;
	pmd = pmd_offset(pud, addr);
	return pmd_none(*pmd) || pmd_bad(*pmd) ? NULL : pte_offset_kernel(pmd, addr);
}

/* Setting a type again changes nothing, so cached memory is that which both change. */
static bool test_cached(pgprot_t prot)
{
	return pgprot_val(pgprot_writecombine(prot)) != pgprot_val(prot) &&
	       pgprot_val(pgprot_noncached(prot)) != pgprot_val(prot);
}

static long test_memtype(struct gda_test_memtype *cmd)
{
	struct mm_struct *mm = current->mm;
	long ret = -EFAULT;
	pte_t *ptep, pte;

	mmap_read_lock(mm);
	ptep = vma_lookup(mm, cmd->addr) ? test_pte(mm, cmd->addr) : NULL;
	if (ptep) {
		pte = ptep_get(ptep);
		if (pte_present(pte)) {
			cmd->cached = test_cached(pte_pgprot(pte));
			ret = 0;
		}
	}
	mmap_read_unlock(mm);
	return ret;
}

static long test_ioctl(struct file *file, unsigned int nr, unsigned long arg)
{
	union {
		struct gda_test_export export;
		struct gda_test_move move;
		struct gda_test_memtype memtype;
	} cmd;
	void __user *user = (void __user *)arg;
	long ret;

	if (nr != GDA_TEST_EXPORT && nr != GDA_TEST_MOVE && nr != GDA_TEST_MEMTYPE)
		return -ENOTTY;
	if (copy_from_user(&cmd, user, _IOC_SIZE(nr)))
		return -EFAULT;
	if (nr == GDA_TEST_EXPORT)
		ret = test_export(&cmd.export);
	else
		ret = nr == GDA_TEST_MOVE ? test_move(&cmd.move) : test_memtype(&cmd.memtype);
	/* a descriptor that cannot be told stays the caller's: this is a test */
	if (!ret && copy_to_user(user, &cmd, _IOC_SIZE(nr)))
		return -EFAULT;
	return ret;
}

static const struct file_operations test_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = test_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

struct miscdevice test_exporter_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "gda_test",
	.mode = 0600,
	.fops = &test_fops,
};

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes of Linux since 6.1, and nothing else; the only place that checks versions. The code is
 * written for the newest kernel, and this header makes the older ones look like it.
 */
#ifndef GDA_COMPAT_H
#define GDA_COMPAT_H

#include <linux/dma-buf.h>
#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/sched/coredump.h>
#if __has_include(<linux/sched/exec_state.h>)
#include <linux/sched/exec_state.h>
#endif
#include <linux/sched/signal.h>
#include <linux/version.h>
#include <net/genetlink.h>

#if !defined(CONFIG_64BIT) || (defined(CONFIG_SPARSEMEM) && !defined(CONFIG_SPARSEMEM_VMEMMAP))
#error "GDA wants a 64-bit kernel whose struct pages are one array"
#endif
#ifdef __BIG_ENDIAN
#error "GDA wants a little-endian kernel"
#endif

/* Names of 7.1, which older kernels may get, too: so the top Kbuild looks into their header. */
#ifndef GDA_HAVE_INVALIDATE_MAPPINGS
#define dma_buf_invalidate_mappings	dma_buf_move_notify
#define invalidate_mappings		move_notify
#endif

/*
 * Pinning for long without write access: before 6.2 the kernel did not break
 * copy-on-write for it, and the pin would have stayed with the wrong page.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define GDA_FOLL_READ	(FOLL_WRITE | FOLL_FORCE)

/* FOLL_FORCE also pins what the process itself may not read, so that is checked first. */
static inline bool gda_mm_readable(struct mm_struct *mm, unsigned long addr, unsigned long len)
{
	VMA_ITERATOR(vmi, mm, addr);
	struct vm_area_struct *vma;
	bool readable = true;

	mmap_read_lock(mm);
	for_each_vma_range(vmi, vma, addr + len)
		readable &= !!(vma->vm_flags & VM_READ);
	mmap_read_unlock(mm);
	return readable;
}
#else
#define GDA_FOLL_READ	0

/* Pinning asks. */
static inline bool gda_mm_readable(struct mm_struct *mm, unsigned long addr, unsigned long len)
{
	return true;
}
#endif

/*
 * Under RCU: may the user of @task's program look into it? Return: @before if the task has no
 * program any more.
 */
#if __has_include(<linux/sched/exec_state.h>)
static inline bool gda_task_dumpable(struct task_struct *task, bool before)
{
	const struct task_exec_state *state = rcu_dereference(task->exec_state);

	return state ? READ_ONCE(state->dumpable) == TASK_DUMPABLE_OWNER : before;
}
#else
static inline bool gda_task_dumpable(struct task_struct *task, bool before)
{
	task_lock(task);
	if (task->mm)
		before = get_dumpable(task->mm) == SUID_DUMP_USER;
	else if (get_nr_threads(task) > 1)
		before = false;		/* the first thread has ended, others have its mm */
	task_unlock(task);
	return before;
}
#endif

/* From 6.13 on the namespace is a string, before that a bare token. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define GDA_EXPORT(sym)	EXPORT_SYMBOL_NS_GPL(sym, "GDA")
#define GDA_IMPORT_NS(ns)	MODULE_IMPORT_NS(#ns)
#else
#define GDA_EXPORT(sym)	EXPORT_SYMBOL_NS_GPL(sym, GDA)
#define GDA_IMPORT_NS(ns)	MODULE_IMPORT_NS(ns)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* Until 6.10 a driver's remove() returned an int, which its caller ignored. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define GDA_PLATFORM_REMOVE(fn)	\
	static_assert(__same_type(fn, void (struct platform_device *)))
#define gda_platform_remove(fn)	fn
#else
#define GDA_PLATFORM_REMOVE(fn)					\
static int fn##_int(struct platform_device *pdev)		\
{								\
	fn(pdev);						\
	return 0;						\
}								\
static_assert(true)
#define gda_platform_remove(fn)	fn##_int
#endif

/* From 6.2 on a class's devnode() cannot change the device. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define GDA_DEVNODE_CONST	const
#else
#define GDA_DEVNODE_CONST
#endif

static inline void gda_eventfd_signal(struct eventfd_ctx *event)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	eventfd_signal(event);
#else
	eventfd_signal(event, 1);
#endif
}

/*
 * dma_buf_vmap() and vunmap are called with dma_resv held. Until 6.2 they took a lock of
 * their own, inside of which exporters took dma_resv.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define GDA_VMAP_UNDER_RESV	true
#else
#define GDA_VMAP_UNDER_RESV	false
#endif

/*
 * Create a thread in the calling process, to which all limits apply. Kernels offer such threads
 * since 6.4, but only since 6.12 with errors reported. Return: NULL if this kernel does not.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0) && IS_ENABLED(CONFIG_VHOST_TASK)
#include <linux/sched/vhost_task.h>

static inline struct vhost_task *gda_vhost_task_create(bool (*fn)(void *), void (*killed)(void *),
						       void *arg, const char *name)
{
	struct vhost_task *task = vhost_task_create(fn, killed, arg, name);

	/* the first kernels that have it return NULL for any error */
	return task ?: ERR_PTR(-EAGAIN);
}
#else
struct vhost_task;

static inline struct vhost_task *gda_vhost_task_create(bool (*fn)(void *), void (*killed)(void *),
						       void *arg, const char *name)
{
	return NULL;
}

static inline void vhost_task_start(struct vhost_task *task) { }
static inline void vhost_task_stop(struct vhost_task *task) { }
#endif

/* From 6.6 on a dump's attributes are in a struct genl_info, as those of other requests. */
static inline struct nlattr **gda_dump_attrs(struct netlink_callback *cb)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	return genl_dumpit_info(cb)->info.attrs;
#else
	return genl_dumpit_info(cb)->attrs;
#endif
}

/*
 * Wrappers for operations of an RDMA device whose arguments have changed: GDA_IB_x(fn) defines the
 * operation gda_ib_x(fn), which calls @fn. From 6.11 on a CQ is created with all attributes of the
 * call.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define GDA_IB_CREATE_CQ(fn)							\
static int fn##_op(struct ib_cq *cq, const struct ib_cq_init_attr *attr,	\
		   struct uverbs_attr_bundle *attrs)				\
{										\
	return fn(cq, attr, attrs ? &attrs->driver_udata : NULL);		\
}
#define gda_ib_create_cq(fn)	fn##_op
#else
#define GDA_IB_CREATE_CQ(fn)	static_assert(true);
#define gda_ib_create_cq(fn)	fn
#endif

/* The resizing of a CQ has another name in kernels that cannot do it for CQs of their own. */
#ifdef GDA_HAVE_RESIZE_USER_CQ
#define GDA_IB_RESIZE_CQ(fn)	static_assert(true);
#define gda_ib_resize_cq(fn)	.resize_user_cq = fn
#else
#define GDA_IB_RESIZE_CQ(fn)							\
static int fn##_op(struct ib_cq *cq, int cqe, struct ib_udata *udata)		\
{										\
	return fn(cq, cqe, udata);						\
}
#define gda_ib_resize_cq(fn)	.resize_cq = fn##_op
#endif

/* From 6.17 on memory can be registered with hints to the host's bus, which are ignored here. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define GDA_IB_REG_USER_MR(fn)							\
static struct ib_mr *fn##_op(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access, \
			     struct ib_dmah *dmah, struct ib_udata *udata)	\
{										\
	return dmah ? ERR_PTR(-EOPNOTSUPP) : fn(pd, start, length, iova, access); \
}
#else
#define GDA_IB_REG_USER_MR(fn)							\
static struct ib_mr *fn##_op(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access, \
			     struct ib_udata *udata)				\
{										\
	return fn(pd, start, length, iova, access);				\
}
#endif
#define gda_ib_reg_user_mr(fn)	fn##_op

/* Until 6.5 such a fault always held mmap_lock. Its VMA may be gone when this returns. */
static inline void gda_fault_unlock(struct vm_fault *vmf)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	release_fault_lock(vmf);
#else
	mmap_read_unlock(vmf->vma->vm_mm);
#endif
}

/*
 * Does another task want this processor? Since 6.13 that task may have to wait for the next tick.
 */
static inline bool gda_need_resched(void)
{
#ifdef TIF_NEED_RESCHED_LAZY
	return need_resched() || test_thread_flag(TIF_NEED_RESCHED_LAZY);
#else
	return need_resched();
#endif
}

#endif /* GDA_COMPAT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory kinds: where the memory of an MR comes from. gda_core owns MRs, keys and
 * their life; a kind, registered by another module, owns the backing.
 *
 * Life of a backing: attach() once, then any number of readers under SRCU, then
 * detach() once, after gda_core has made sure that no reader is left. detach()
 * cannot fail and may run in another process than attach(), long after the memory's
 * owner died.
 */
#ifndef GDA_MEM_H
#define GDA_MEM_H

#include <linux/gfp.h>
#include <linux/slab.h>
#include <linux/types.h>
#include <linux/vmalloc.h>

/*
 * For all memory that a caller has allocated, charged to its memory cgroup. At the group's limit,
 * or when memory is short, an allocation fails. With plain GFP_KERNEL_ACCOUNT the OOM killer would
 * choose a process by its RSS, which has no page of a queue, so often a bystander.
 */
#define GDA_GFP_USER	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/*
 * Zeroed memory of any size, for kvfree(). An allocation larger than a page is never contiguous:
 * kvmalloc() would first have memory compacted for it, as __GFP_RETRY_MAYFAIL asks.
 */
static inline void *gda_alloc_large(size_t bytes)
{
	if (bytes <= PAGE_SIZE)
		return kzalloc(bytes, GDA_GFP_USER);
	return __vmalloc(bytes, GDA_GFP_USER | __GFP_ZERO);
}

struct cred;
struct device;
struct gda_mem_backing;
struct module;
struct page;

/**
 * struct gda_mem_request - what a registration asks for
 * @addr: start in the caller's address space, or offset in the dma-buf
 * @length: bytes, at least 1; addr + length does not wrap
 * @fd: the dma-buf; other kinds ignore it
 * @writable: work may write to the memory, so its owner must be allowed to
 */
struct gda_mem_request {
	u64 addr;
	u64 length;
	int fd;
	bool writable;
};

/**
 * struct gda_mem_kind - operations of a kind
 * @name: for messages
 * @owner: held while an MR of this kind lives
 * @id: enum gda_mr_kind
 * @attach: pin the memory and fill @b; process context of the caller, may sleep
 * @detach: undo attach()
 * @span: as gda_host_span() of the engine, called under SRCU: takes no lock that
 *	waits for memory management, allocates nothing. It clamps the offset, which a queue
 *	chooses, by array_index_nospec() before the offset selects a pointer (lint looks for
 *	that). NULL if @b->pages is set.
 */
struct gda_mem_kind {
	const char *name;
	struct module *owner;
	u32 id;
	int (*attach)(struct gda_mem_backing *b, const struct gda_mem_request *req);
	void (*detach)(struct gda_mem_backing *b);
	u32 (*span)(const struct gda_mem_backing *b, u64 off, u32 len, void **ptr);
};

/**
 * struct gda_mem_backing - the memory behind one MR, or a part of a queue
 * @kind: the kind that made it; set by gda_core
 * @revoke: called by gda_mem_revoke_begin(); gda_core's own, set before attach()
 * @pages: pages of the kernel's direct map, or NULL (then kind->span is used)
 * @npages: how many
 * @offset: of the MR's first byte in the first page
 * @priv: the kind's own
 */
struct gda_mem_backing {
	const struct gda_mem_kind *kind;
	void (*revoke)(struct gda_mem_backing *b);
	struct page **pages;
	unsigned long npages;
	u32 offset;
	void *priv;
};

/**
 * gda_mem_kind_register - offer a kind; at most one per id
 * @kind: stays valid until gda_mem_kind_unregister()
 *
 * Return: 0; -EINVAL no such id; -EBUSY another module offers it already.
 */
int gda_mem_kind_register(const struct gda_mem_kind *kind);

/**
 * gda_mem_kind_unregister - withdraw a kind
 * @kind: of which no MR is left (they hold its owner)
 */
void gda_mem_kind_unregister(const struct gda_mem_kind *kind);

/**
 * gda_mem_revoke - the memory behind an MR or a queue is being taken away
 * @b: as given to attach(), which may not have returned yet
 *
 * When it returns, no executor reads or writes the memory and none ever will; the kind may give it
 * back. Any number of calls. May be called with locks of the memory's owner (dma_resv) held: it
 * waits only for readers, which take no locks and copy at most 64 KiB. Sleeps.
 */
void gda_mem_revoke(struct gda_mem_backing *b);

/**
 * gda_mem_revoke_begin - the first half of gda_mem_revoke()
 * @b: as given to attach(), which may not have returned yet
 *
 * For a kind that gives up many backings at once: call this for each of them, then
 * gda_mem_revoke_wait() once. Does not wait; takes spinlocks of gda_core's.
 */
void gda_mem_revoke_begin(struct gda_mem_backing *b);

/**
 * gda_mem_revoke_wait - the second half of gda_mem_revoke()
 *
 * When it returns, the memory of all for which gda_mem_revoke_begin() was called before is
 * neither read nor written, and never will be. Locks and waiting as for gda_mem_revoke().
 */
void gda_mem_revoke_wait(void);

/**
 * struct gda_memlock - pages charged to RLIMIT_MEMLOCK of a user
 * @cred: credentials of the user that was charged, held; NULL: nothing is charged
 * @npages: how many
 *
 * Zero-initialized, it stands for no charge.
 */
struct gda_memlock {
	const struct cred *cred;
	unsigned long npages;
};

/**
 * gda_memlock_charge - charge pages to the user of the calling process
 * @charge: out; to be given back by gda_memlock_uncharge(), once
 * @npages: at least 1
 *
 * A process with CAP_IPC_LOCK is not charged.
 *
 * Return: 0; -ENOMEM over RLIMIT_MEMLOCK, and nothing is charged.
 */
int gda_memlock_charge(struct gda_memlock *charge, unsigned long npages);

/**
 * gda_memlock_uncharge - give pages back to the user that was charged
 * @charge: of gda_memlock_charge(), or zero; stands for no charge afterwards
 *
 * Any process may call it. Does not sleep.
 */
void gda_memlock_uncharge(struct gda_memlock *charge);

/**
 * gda_dma_device - the device in whose name memory is attached and mapped
 *
 * Return: valid while gda_core is loaded.
 */
struct device *gda_dma_device(void);

#endif /* GDA_MEM_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Peer memory: the interface for a driver whose memory the kernel cannot pin by itself (that of a
 * GPU, for example), so that its users can register the memory with GDA by address. Such a driver
 * is a client of gda_mr. A driver that can export dma-bufs should do that instead.
 *
 * One registration of memory, seen by the client:
 *
 *   get()                      the memory belongs to the caller, and stays where it is
 *   vmap()                     at most once; an address of it for the CPU
 *   gda_peer_invalidate()      any time after get() was called, any number of times
 *   put()                      once; everything above is undone
 *
 * Invalidation calls no operation of the client's and takes no lock; it only waits for executors
 * that are copying. So it may be called under the lock that get(), vmap() and put() take, and that
 * lock is all a client needs: under it, put() takes the registration off a list that invalidation
 * goes through. After invalidation the client may unmap the address, at once or in put(), and the
 * memory is free to be used for something else.
 *
 * All executors are CPUs. If an executor is ever a device, an operation that maps memory for DMA is
 * to be appended here.
 *
 * Locks of the client's come after those of GDA, as after mmap_lock: get() takes whatever
 * a page fault may take, vmap() and put() do not take mmap_lock. A client may hold any lock of
 * its own during invalidation: executors, which are waited for, take none of them.
 */
#ifndef GDA_PEER_MEMORY_H
#define GDA_PEER_MEMORY_H

#include <linux/list.h>
#include <linux/types.h>

struct gda_peer_memory;
struct iosys_map;
struct module;

/**
 * struct gda_peer_client - what the driver of a peer device does for GDA
 * @owner: held from before get() is called until put() has returned
 * @get: the caller of gda_mr_reg(), in whose context this runs (current->mm), wants @length bytes
 *	of its address space at @addr to be registered. Both come from the user, and were checked
 *	only not to wrap, not to be zero and to lie in user space. The client decides whether all
 *	of the range is memory of its own that the caller has mapped, for writing if @writable.
 *	If so, the memory stays where it is until @memory is invalidated, or put. May sleep and
 *	take mmap_lock, must not wait for user space. No lock of GDA's is held. Returns 0, and
 *	*@priv is passed to the other operations; -ENXIO: the range is not, or not all, of this
 *	client, and other clients are asked; any other errno of gda/ioctl.h: the range is of this
 *	client, but cannot be registered for that reason. -EACCES: it is not mapped for that
 *	access; -ENODEV: the memory is gone.
 * @vmap: optional, but executors that are CPUs, such as the software device, refuse memory
 *	without it: give the CPU's address of the first byte of the range; the others follow.
 *	Write-back cached and readable, also writable if get() was told so. I/O memory
 *	(map->is_iomem) is refused by the software device. Valid until invalidation or put().
 *	Process context, may sleep.
 *	Returns 0; -EOPNOTSUPP there is no such address; -ENODEV the memory was invalidated;
 *	-ENOMEM, -EINTR.
 * @put: the registration ends, also if a call above failed or the memory was
 *	invalidated: gda_mr uses neither it, its address nor @priv any more, and @memory must not be
 *	invalidated after put() has returned. Process context, perhaps of another process and
 *	long after the caller died. May sleep; must not fail, take mmap_lock or wait for user
 *	space.
 *
 * The operations are called for many registrations at a time, for one of them one after the other.
 * Most errors are caused by the user: a client does not log them.
 */
struct gda_peer_client {
	struct module *owner;
	int (*get)(struct gda_peer_memory *memory, u64 addr, u64 length, bool writable,
		   void **priv);
	int (*vmap)(void *priv, struct iosys_map *map);
	void (*put)(void *priv);
/* private: gda_mr's */
	struct list_head node;
};

/**
 * gda_peer_register - become a client
 * @client: stays valid until gda_peer_unregister() has returned and the last put() too;
 *	@owner is THIS_MODULE
 *
 * From here on get() may be called. Clients are asked in the order in which they came. Call it last
 * in a module's init: after it, init must not fail. Process context.
 *
 * Return: 0; -EINVAL get() or put() is missing; -EBUSY it is registered.
 */
int gda_peer_register(struct gda_peer_client *client);

/**
 * gda_peer_unregister - stop being a client
 * @client: was registered
 *
 * When it returns, get() is not running and will not be called. Registered memory stays registered
 * and holds the client's module until put(): a module that is being unloaded has none. Waits for
 * calls of get(): process context, without any lock that get() takes.
 */
void gda_peer_unregister(struct gda_peer_client *client);

/**
 * gda_peer_invalidate - memory is being taken away
 * @memory: as given to get(), which may not have returned yet; put() has not returned
 *
 * When it returns, no executor reads or writes the memory, and none ever will: work that names it
 * fails with a "revoked" error, and so does what was under way. The key stays taken until the user
 * deregisters. Any number of calls, at once, too. Takes no lock and calls no operation of the
 * client's, so locks that these operations take may be held. Sleeps for as long as executors copy
 * at most 64 KiB each.
 */
void gda_peer_invalidate(struct gda_peer_memory *memory);

#endif /* GDA_PEER_MEMORY_H */

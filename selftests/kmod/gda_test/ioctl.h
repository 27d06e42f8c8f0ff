/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Drivers that the kernel selftests need beside GDA's own: exporter, importer, peer. For root.
 *
 * /dev/gda_test exports dma-bufs, and tells how an address is mapped. An open
 * /dev/gda_test_peer is a GPU with memory that only its driver can hand out: mmap(2) maps
 * it, MAP_SHARED. An open /dev/gda_test_importer is a device that has attached one dma-buf,
 * dynamically. An open /dev/gda_test_watch is a waiter of one eventfd.
 */
#ifndef GDA_TEST_IOCTL_H
#define GDA_TEST_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Flags of an exported buffer. */
#define GDA_TEST_NO_VMAP	1U	/* no address for the CPU, as memory of a GPU */
#define GDA_TEST_IOMEM		2U	/* peer memory only: the address is one of I/O memory */
#define GDA_TEST_WC		4U	/* it is mapped write-combined */

/* The byte that fills a buffer's old memory after it has moved. */
#define GDA_TEST_CANARY		0xca

/**
 * struct gda_test_export - a dma-buf of zeros (GDA_TEST_EXPORT)
 * @length: in: bytes, whole pages
 * @flags: in: GDA_TEST_NO_VMAP or GDA_TEST_WC
 * @fd: out: the dma-buf
 */
struct gda_test_export {
	__u64 length;
	__u32 flags;
	__s32 fd;
};

/* Flags of a move. */
#define GDA_TEST_GONE	1U		/* take the memory away for good */

/**
 * struct gda_test_move - move a buffer's memory (GDA_TEST_MOVE)
 * @fd: in: the dma-buf
 * @flags: in: GDA_TEST_GONE
 * @linger_ns: in: how long to watch the old memory, at most a second
 * @wait_ns: out: how long the importers' callbacks took
 * @changed: out: bytes of the old memory that changed after they had returned
 *
 * The contents move along. Fails with EBUSY if an importer holds a pin or a mapping
 * although it was told: then nothing moved.
 */
struct gda_test_move {
	__s32 fd;
	__u32 flags;
	__u64 linger_ns;
	__u64 wait_ns;
	__u64 changed;
};

/**
 * struct gda_test_peer_alloc - give a GPU its memory, zeros, once (GDA_TEST_PEER_ALLOC)
 * @length: bytes, whole pages
 * @flags: GDA_TEST_NO_VMAP, GDA_TEST_IOMEM
 * @reserved: 0
 */
struct gda_test_peer_alloc {
	__u64 length;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct gda_test_peer_invalidate - move a GPU's memory (GDA_TEST_PEER_INVALIDATE)
 * @flags: in: GDA_TEST_GONE
 * @reserved: in: 0
 * @linger_ns: in: how long to watch the old memory, at most a second
 * @wait_ns: out: how long invalidation took
 * @changed: out: bytes of the old memory that changed after it had returned
 *
 * The contents move along.
 */
struct gda_test_peer_invalidate {
	__u32 flags;
	__u32 reserved;
	__u64 linger_ns;
	__u64 wait_ns;
	__u64 changed;
};

/**
 * struct gda_test_memtype - how an address of the caller is mapped (GDA_TEST_MEMTYPE)
 * @addr: in: of a page that was touched; EFAULT where no page is mapped
 * @cached: out: 1 if it is write-back cached, as its page table says, else 0
 * @reserved: 0
 */
struct gda_test_memtype {
	__u64 addr;
	__u32 cached;
	__u32 reserved;
};

#define GDA_TEST_EXPORT		_IOWR('t', 1, struct gda_test_export)
#define GDA_TEST_MOVE		_IOWR('t', 2, struct gda_test_move)
#define GDA_TEST_PEER_ALLOC	_IOW('t', 3, struct gda_test_peer_alloc)
#define GDA_TEST_PEER_INVALIDATE _IOWR('t', 4, struct gda_test_peer_invalidate)
/* The driver is a peer client, or not: 1 or 0. It begins as one. */
#define GDA_TEST_PEER_CLIENT	_IOW('t', 5, __u32)

/* Attach a dma-buf, pin and map it, once. */
#define GDA_TEST_ATTACH		_IOW('t', 6, __s32)
/* Map it anew, as after a move. */
#define GDA_TEST_MAP		_IO('t', 7)
/* How often the exporter said that it moves: then it is unmapped and unpinned. */
#define GDA_TEST_NOTIFIED	_IOR('t', 8, __u32)

/**
 * struct gda_test_watch - wait for an eventfd, once a file (GDA_TEST_WATCH)
 * @fd: the eventfd
 * @busy_us: how long the waiter delays the thread that signals, at most 100000
 */
struct gda_test_watch {
	__s32 fd;
	__u32 busy_us;
};

/**
 * struct gda_test_watched - who signalled it (GDA_TEST_WATCHED)
 * @pid: out: the last task that did, as the first pid namespace names it
 * @count: out: how often
 */
struct gda_test_watched {
	__s32 pid;
	__u32 count;
};

#define GDA_TEST_WATCH		_IOW('t', 10, struct gda_test_watch)
#define GDA_TEST_WATCHED	_IOR('t', 11, struct gda_test_watched)

#define GDA_TEST_MEMTYPE	_IOWR('t', 9, struct gda_test_memtype)

#endif /* GDA_TEST_IOCTL_H */

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * /dev/gda_test: what the kernel selftests ask of a driver that is not ours. For root.
 */
#ifndef GDA_TEST_IOCTL_H
#define GDA_TEST_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Flags of an exported buffer. */
#define GDA_TEST_NO_VMAP	1U	/* no address for the CPU, as memory of a GPU */

/* What a buffer's old memory is filled with when it moved. */
#define GDA_TEST_CANARY		0xca

/**
 * struct gda_test_export - a dma-buf of zeros (GDA_TEST_EXPORT)
 * @length: in: bytes, whole pages
 * @flags: in: GDA_TEST_NO_VMAP
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

#define GDA_TEST_EXPORT		_IOWR('t', 1, struct gda_test_export)
#define GDA_TEST_MOVE		_IOWR('t', 2, struct gda_test_move)

#endif /* GDA_TEST_IOCTL_H */

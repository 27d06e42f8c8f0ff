/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * /dev/gda_edu: what the kernel selftests ask of a PCI device behind an IOMMU. For root.
 */
#ifndef GDA_EDU_IOCTL_H
#define GDA_EDU_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Most bytes that the device copies at once. */
#define GDA_EDU_MAX_COPY	2048U

/* Flags of an attachment. */
#define GDA_EDU_READ_ONLY	1U	/* the device may not write */
#define GDA_EDU_DYNAMIC		2U	/* the exporter may move it, for both ways only */

/**
 * struct gda_edu_attach - map a dma-buf for the device (GDA_EDU_ATTACH)
 * @fd: in: the dma-buf
 * @flags: in: GDA_EDU_READ_ONLY or GDA_EDU_DYNAMIC
 * @id: out: names the mapping, until it is detached or the file is closed
 * @reserved: 0
 * @iova: out: where the device sees it
 * @length: out: its bytes
 *
 * Memory that moves is unmapped while its exporter waits, and stays unmapped.
 */
struct gda_edu_attach {
	__s32 fd;
	__u32 flags;
	__u32 id;
	__u32 reserved;
	__u64 iova;
	__u64 length;
};

/**
 * struct gda_edu_detach - end a mapping (GDA_EDU_DETACH)
 * @id: in
 */
struct gda_edu_detach {
	__u32 id;
};

/* Flags of a copy. */
#define GDA_EDU_WRITE		1U	/* to @iova; else from there */

/**
 * struct gda_edu_copy - have the device copy (GDA_EDU_COPY)
 * @iova: in: as the device sees it: whatever is mapped there, or nothing
 * @data: in: the caller's bytes, to or from
 * @length: in: at most GDA_EDU_MAX_COPY
 * @flags: in: GDA_EDU_WRITE
 *
 * The device says nothing of an address that its IOMMU refuses. A copy takes 0.2 s.
 */
struct gda_edu_copy {
	__u64 iova;
	__u64 data;
	__u32 length;
	__u32 flags;
};

#define GDA_EDU_ATTACH		_IOWR('e', 1, struct gda_edu_attach)
#define GDA_EDU_DETACH		_IOW('e', 2, struct gda_edu_detach)
#define GDA_EDU_COPY		_IOW('e', 3, struct gda_edu_copy)

#endif /* GDA_EDU_IOCTL_H */

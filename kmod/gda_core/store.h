/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The store that a fault is about. Each architecture that can decode stores has a folder with a
 * store.c of its own; on the others no store can be decoded, and doorbell pages are mapped.
 */
#ifndef GDA_STORE_H
#define GDA_STORE_H

#include <linux/types.h>

struct vm_fault;

#ifdef CONFIG_X86_64
/**
 * gda_store_emulate - make the store that faulted, and have the program go on after it
 * @vmf: a fault of the caller's own memory
 * @page: the kernel's mapping of the page that is stored to
 *
 * One store of 4 or 8 bytes, of its natural alignment, so it is within one doorbell. The program's
 * earlier stores become visible before this one, as they would if the program made it.
 *
 * Return: false if it was not decoded; then nothing was changed.
 */
bool gda_store_emulate(const struct vm_fault *vmf, void *page);
#else
static inline bool gda_store_emulate(const struct vm_fault *vmf, void *page)
{
	return false;
}
#endif

#endif /* GDA_STORE_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * What is left below the memory limit of the caller's cgroup once an object was created.
 *
 * Memory of objects does not have the OOM killer called (GDA_GFP_USER), but a page fault of any
 * process of the group does. A program that creates objects until -ENOMEM would leave a group with
 * no page to spare, and the next fault, of the library that maps a queue or of a bystander, would
 * kill a process. So an object counts as created only if GDA_HEADROOM more pages could have been
 * charged. These pages are not kept: they are a test and no reserve, and need no lock.
 */
#include <linux/gfp.h>

#include "gda_private.h"

/*
 * What a program itself needs between two creations, in pages: page tables of its mappings, heap
 * and stack.
 */
#define GDA_HEADROOM	16

/* Return: 0 or -ENOMEM. */
int gda_headroom_check(void)
{
	struct page *pages[GDA_HEADROOM];
	unsigned int n = 0;
	int ret = 0;

	while (n < GDA_HEADROOM && !ret) {
		pages[n] = alloc_page(GDA_GFP_USER);
		if (pages[n])
			n++;
		else
			ret = -ENOMEM;
	}
	while (n)
		__free_page(pages[--n]);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * gda_mr: the kinds of memory that can be registered. Each kind is a file; this one
 * only offers them to gda_core, which loads this module along with itself.
 */
#include <linux/module.h>

#include <gda/compat.h>
#include <gda/mem.h>

#include "gda_mr.h"

static int __init gda_mr_init(void)
{
	int ret;

	ret = gda_mem_kind_register(&gda_mem_user);
	if (ret)
		return ret;
	ret = gda_mem_kind_register(&gda_mem_dmabuf);
	if (ret)
		gda_mem_kind_unregister(&gda_mem_user);
	return ret;
}

static void __exit gda_mr_exit(void)
{
	gda_mem_kind_unregister(&gda_mem_dmabuf);
	gda_mem_kind_unregister(&gda_mem_user);
}

module_init(gda_mr_init);
module_exit(gda_mr_exit);

MODULE_DESCRIPTION("Memory kinds for GDA");
MODULE_LICENSE("GPL");
GDA_IMPORT_NS(DMA_BUF);
GDA_IMPORT_NS(GDA);

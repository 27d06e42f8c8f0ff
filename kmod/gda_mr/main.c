// SPDX-License-Identifier: GPL-2.0
/*
 * gda_mr: the kinds of memory that can be registered. Each kind is a file; this one
 * only offers them to gda_core, which loads this module along with itself.
 */
#include <linux/module.h>

#include <gda/compat.h>
#include <gda/mem.h>

#include "gda_mr.h"

static const struct gda_mem_kind * const gda_mr_kinds[] = {
	&gda_mem_user,
	&gda_mem_dmabuf,
	&gda_mem_peer,
};

static void gda_mr_withdraw(unsigned int n)
{
	while (n--)
		gda_mem_kind_unregister(gda_mr_kinds[n]);
}

static int __init gda_mr_init(void)
{
	unsigned int i;
	int ret;

	gda_dmabuf_init();
	for (i = 0; i < ARRAY_SIZE(gda_mr_kinds); i++) {
		ret = gda_mem_kind_register(gda_mr_kinds[i]);
		if (ret) {
			gda_mr_withdraw(i);
			return ret;
		}
	}
	return 0;
}

static void __exit gda_mr_exit(void)
{
	gda_mr_withdraw(ARRAY_SIZE(gda_mr_kinds));
}

module_init(gda_mr_init);
module_exit(gda_mr_exit);

MODULE_DESCRIPTION("Memory kinds for GDA");
MODULE_LICENSE("GPL");
GDA_IMPORT_NS(DMA_BUF);
GDA_IMPORT_NS(GDA);

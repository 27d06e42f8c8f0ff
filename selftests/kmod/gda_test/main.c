// SPDX-License-Identifier: GPL-2.0
/*
 * gda_test: what GDA's selftests ask of other drivers. Each file plays one, with a device
 * node of its own.
 */
#include <linux/module.h>

#include <gda/compat.h>

#include "parts.h"

static int __init test_init(void)
{
	int ret;

	ret = misc_register(&test_exporter_misc);
	if (ret)
		return ret;
	ret = misc_register(&test_peer_misc);
	if (ret)
		goto err_exporter;
	ret = misc_register(&test_importer_misc);
	if (ret)
		goto err_peer;
	ret = misc_register(&test_watch_misc);
	if (ret)
		goto err_importer;
	/* last: it cannot be undone by failing */
	ret = test_peer_register();
	if (ret)
		goto err_watch;
	return 0;

err_watch:
	misc_deregister(&test_watch_misc);
err_importer:
	misc_deregister(&test_importer_misc);
err_peer:
	misc_deregister(&test_peer_misc);
err_exporter:
	misc_deregister(&test_exporter_misc);
	return ret;
}

static void __exit test_exit(void)
{
	test_peer_unregister();
	misc_deregister(&test_watch_misc);
	misc_deregister(&test_importer_misc);
	misc_deregister(&test_peer_misc);
	misc_deregister(&test_exporter_misc);
}

module_init(test_init);
module_exit(test_exit);

MODULE_DESCRIPTION("What GDA's selftests ask of other drivers");
MODULE_LICENSE("GPL");
GDA_IMPORT_NS(DMA_BUF);
GDA_IMPORT_NS(GDA);

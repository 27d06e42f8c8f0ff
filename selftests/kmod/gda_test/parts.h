/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GDA_TEST_PARTS_H
#define GDA_TEST_PARTS_H

#include <linux/miscdevice.h>

#define TEST_MAX_BYTES	(64UL << 20)

extern struct miscdevice test_exporter_misc;	/* exporter.c */
extern struct miscdevice test_peer_misc;	/* peer.c */
extern struct miscdevice test_importer_misc;	/* importer.c */
extern struct miscdevice test_watch_misc;	/* watch.c */

int test_peer_register(void);
void test_peer_unregister(void);

#endif /* GDA_TEST_PARTS_H */

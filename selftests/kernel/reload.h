/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The modules, taken out and put in again by a test. Their folder is $GDA_MODULES, else
 * build/RELEASE/kmod. As in gda_test.h nothing prints.
 */
#ifndef GDA_RELOAD_H
#define GDA_RELOAD_H

#include <stdbool.h>

enum { T_CORE, T_MR, T_TEST, T_MODULES };

extern const char *const t_module_names[T_MODULES];

struct t_modules {
	char path[T_MODULES][512];
	bool test;		/* it was in: it uses the others, and is out meanwhile */
};

/* Take gda_test out. -ENOENT: no files of modules, and nothing was done. */
int t_modules_begin(struct t_modules *m);
/* Put gda_test in again. */
int t_modules_end(struct t_modules *m);

int t_unload(int i);
int t_load(const struct t_modules *m, int i, const char *parameters);
/* Core and memory kinds out and in again, the core with @parameters. */
int t_reload(const struct t_modules *m, const char *parameters);

#endif /* GDA_RELOAD_H */

/* SPDX-License-Identifier: MIT */
/*
 * Where programs find gda-dpa and the tasks that it loads: beside them in the build folder.
 */
#ifndef DPA_PATHS_H
#define DPA_PATHS_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char tasks_path[PATH_MAX];

/* The build folder is three above the folder of this program. */
__attribute__((constructor)) static void find_paths(void)
{
	char self[PATH_MAX], dpa[PATH_MAX + 16];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int i;

	self[n < 0 ? 0 : n] = 0;
	for (i = 0; i < 2; i++)
		*strrchr(self, '/') = 0;
	snprintf(tasks_path, sizeof(tasks_path), "%.*s/tasks.so", PATH_MAX - 16, self);
	for (i = 0; i < 2; i++)
		*strrchr(self, '/') = 0;
	snprintf(dpa, sizeof(dpa), "%s/lib/gda-dpa", self);
	setenv("GDA_DPA", dpa, 1);
}

#endif /* DPA_PATHS_H */

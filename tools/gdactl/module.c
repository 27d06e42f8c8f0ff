// SPDX-License-Identifier: MIT
/* Finds out which modules the running kernel could load. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include "command.h"

bool module_installed(const char *name)
{
	char path[320], want[64], line[1024];
	struct utsname uts;
	bool found = false;
	FILE *file;

	uname(&uts);
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", uts.release);
	snprintf(want, sizeof(want), "/%s.ko", name);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, ":")] = 0;
		found = strstr(line, want);
	}
	fclose(file);
	return found;
}

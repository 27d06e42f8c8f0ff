// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Cgroups, for the kernel selftests. */
#include <sys/mount.h>
#include <sys/stat.h>
#include "gda_test.h"
#include "group.h"

int t_group_open(struct t_group *g, const char *controllers)
{
	g->dir[0] = 0;
	snprintf(g->root, sizeof(g->root), "/tmp/gda-cgroup.XXXXXX");
	if (!mkdtemp(g->root))
		return -errno;
	if (mount("none", g->root, "cgroup2", 0, NULL))
		return -ENODEV;
	if (t_write_file(g->root, "cgroup.subtree_control", controllers))
		return -EOPNOTSUPP;
	snprintf(g->dir, sizeof(g->dir), "%s/gda-test", g->root);
	return mkdir(g->dir, 0755) ? -errno : 0;
}

void t_group_remove(const char *dir)
{
	uint64_t end = t_now() + T_WAIT_NS;

	t_write_file(dir, "cgroup.kill", "1");
	while (rmdir(dir) && errno == EBUSY && t_now() < end)
		t_sleep_ns(T_NS / 100);
}

void t_group_close(struct t_group *g)
{
	if (g->dir[0])
		t_group_remove(g->dir);
	umount2(g->root, MNT_DETACH);
	rmdir(g->root);
}

int t_group_sub(const struct t_group *g, const char *name, char *dir)
{
	int n = snprintf(dir, sizeof(g->dir), "%s/%s", g->dir, name);

	if (n < 0 || (size_t)n >= sizeof(g->dir))
		return -ENAMETOOLONG;
	return mkdir(dir, 0755) ? -errno : 0;
}

int t_group_enter(const char *dir)
{
	return t_write_file(dir, "cgroup.procs", "0");
}

long t_group_get(const char *dir, const char *file, const char *key)
{
	char path[160], name[64];
	long n, found = -ENOENT;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "re");
	if (f && !key && fscanf(f, "%ld", &n) == 1)
		found = n;
	while (f && key && fscanf(f, "%63s %ld", name, &n) == 2)
		if (!strcmp(name, key))
			found = n;
	if (f)
		fclose(f);
	return found;
}

/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A cgroup (version 2) for tests that limit a process. As in gda_test.h nothing prints.
 */
#ifndef GDA_GROUP_H
#define GDA_GROUP_H

struct t_group {
	char root[64];		/* where cgroup v2 is mounted for it */
	char dir[96];		/* its folder; empty if there is no group */
};

/*
 * Make a group whose parent hands out @controllers ("+cpu +memory").
 *
 * Return: 0; -ENODEV no cgroup v2; -EOPNOTSUPP not those controllers; another -errno.
 */
int t_group_open(struct t_group *g, const char *controllers);
/* Kill all that is in the group, and remove it. */
void t_group_close(struct t_group *g);
/* A group below @g, in @dir, which is as long as g->dir. It must be removed before @g. */
int t_group_sub(const struct t_group *g, const char *name, char *dir);
void t_group_remove(const char *dir);
/* Move the calling process into the group. */
int t_group_enter(const char *dir);
/* A number in a file of the group, behind @key if that is not NULL; or -errno. */
long t_group_get(const char *dir, const char *file, const char *key);

#endif /* GDA_GROUP_H */

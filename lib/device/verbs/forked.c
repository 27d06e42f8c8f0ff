// SPDX-License-Identifier: MIT
/*
 * Makes a child of fork(2) drop the RDMA objects of its parent, so that peers notice when the
 * parent dies. Descriptors and mappings of the device's file keep these objects alive. libibverbs
 * maps rings and doorbells from that file without reporting where, so the child reads
 * /proc/self/maps and unmaps all of the file, including what the program itself has mapped of that
 * device, which a child may not use. Without /proc only the descriptors are closed.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "verbs_internal.h"

#define GDA_VERBS_MAPS_LINE	4352	/* a path has at most 4096 bytes */

/* Unmap the range of a line of /proc/self/maps, if it maps the file of @st. */
static void gda_verbs_unmap_line(const char *line, const struct stat *st)
{
	unsigned long begin, end, major, minor;
	char *at;

	/* begin-end rights offset device inode path */
	begin = strtoul(line, &at, 16);
	end = *at == '-' ? strtoul(at + 1, &at, 16) : 0;
	if (!end || !(at = strchr(at + 1, ' ')) || !(at = strchr(at + 1, ' ')))
		return;
	major = strtoul(at, &at, 16);
	minor = *at == ':' ? strtoul(at + 1, &at, 16) : 0;
	if (makedev(major, minor) == st->st_dev && strtoul(at, NULL, 10) == st->st_ino)
		munmap((void *)begin, end - begin);
}

/* Uses only calls that are allowed in a child of a threaded process: no stdio, no allocation. */
static void gda_verbs_unmap_file(const struct stat *st)
{
	char line[GDA_VERBS_MAPS_LINE], *end;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;

	if (fd < 0)
		return;
	while ((n = read(fd, line + used, sizeof(line) - 1 - used)) > 0) {
		used += (size_t)n;
		line[used] = 0;
		while ((end = strchr(line, '\n'))) {
			*end = 0;
			gda_verbs_unmap_line(line, st);
			used -= (size_t)(end + 1 - line);
			memmove(line, end + 1, used + 1);
		}
		/* the kernel prints no line of this length */
		if (used == sizeof(line) - 1)
			used = 0;
	}
	close(fd);
}

void gda_verbs_forked(struct gda_inproc_context *ctx)
{
	struct gda_verbs *verbs = gda_verbs_of(ctx);
	struct stat st;
	bool known = !fstat(verbs->dev->cmd_fd, &st) && S_ISCHR(st.st_mode);

	close(verbs->dev->cmd_fd);
	close(verbs->dev->async_fd);
	close(verbs->channel->fd);
	close(verbs->timer);
	close(verbs->stop);
	/* last, because it needs a descriptor, which may have become free only now */
	if (known)
		gda_verbs_unmap_file(&st);
}

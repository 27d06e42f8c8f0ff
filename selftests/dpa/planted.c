// SPDX-License-Identifier: MIT
/*
 * planted.c - a file that search_paths.sh plants: what runs or loads it leaves its name in the
 * file that PLANTED_MARK names.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef PLANTED_PROGRAM
#define PLANTED_NAME	"gda-dpa\n"
#else
#define PLANTED_NAME	"a library\n"
#endif

__attribute__((constructor)) static void leave_mark(void)
{
	/* a program with more rights than its user has no variable */
	const char *mark = getenv("PLANTED_MARK");
	int fd = open(mark ? mark : "/dev/null", O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd >= 0 && write(fd, PLANTED_NAME, strlen(PLANTED_NAME)) < 0)
		_exit(1);
	close(fd);
}

#ifdef PLANTED_PROGRAM
int main(void)
{
	return 0;
}
#endif

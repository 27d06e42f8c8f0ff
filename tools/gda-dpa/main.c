// SPDX-License-Identifier: MIT
/*
 * gda-dpa - the process of the tasks of a context; libgda starts it
 *
 * Its descriptor 3 is a socket to the program that did. It ends when the socket does.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <gda/dpa.h>
#include <gda/version.h>

int main(int argc, char **argv)
{
	struct stat st;

	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts("gda-dpa " GDA_VERSION_STRING);
		return 0;
	}
	if (argc > 1 || fstat(3, &st) || !S_ISSOCK(st.st_mode)) {
		fputs("gda-dpa: libgda starts it: see gda_dpa_create(3)\n", stderr);
		return 2;
	}
	/* tasks shall not have any of the program's open files */
	close_range(4, ~0U, 0);
	fcntl(3, F_SETFD, FD_CLOEXEC);
	return gda_dpa_serve(3);
}

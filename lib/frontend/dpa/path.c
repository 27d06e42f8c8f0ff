// SPDX-License-Identifier: MIT
/*
 * Finds gda-dpa: by GDA_DPA; beside libgda.so; where `make install` puts it; beside the program.
 *
 * Invariant: the path is absolute, and depends neither on the program's arguments nor on its
 * working directory. dladdr(3) returns argv[0] in a static program, and a relative path after a
 * relative LD_LIBRARY_PATH: so "beside libgda.so" is used only if the loader reports an absolute
 * path. A program with more rights than its user (AT_SECURE) does not start gda-dpa: the user
 * controls the environment, and may have linked the program into a directory of his own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "dpa_internal.h"

/* lib.mk defines the LIBDIR that the library is built for. */
#ifndef GDA_LIBDIR
#define GDA_LIBDIR "/usr/local/lib"
#endif

#define GDA_DPA_PROGRAM "gda-dpa"

/* Write the path of gda-dpa beside @file, which must be absolute, to @path; else "". */
static void gda_dpa_path_beside(char path[PATH_MAX], const char *file)
{
	const char *slash = *file == '/' ? strrchr(file, '/') : NULL;
	size_t length = slash ? (size_t)(slash + 1 - file) : 0;

	path[0] = 0;
	if (!length || length + sizeof(GDA_DPA_PROGRAM) > PATH_MAX)
		return;
	memcpy(path, file, length);
	memcpy(path + length, GDA_DPA_PROGRAM, sizeof(GDA_DPA_PROGRAM));
}

/* The path from which libgda.so was loaded; "" in a program that is linked with libgda.a. */
static const char *gda_dpa_path_library(void)
{
#ifdef __GLIBC__
	struct link_map *self;
	Dl_info info;

	if (dladdr1((void *)(uintptr_t)gda_dpa_create, &info, (void **)&self, RTLD_DL_LINKMAP) &&
	    self && self->l_name)
		return self->l_name;
#endif
	return "";
}

static void gda_dpa_path_program(char path[PATH_MAX])
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n < 0 ? 0 : n] = 0;
	gda_dpa_path_beside(path, self);
}

/* Find the first of @n paths at which there is a program. */
static int gda_dpa_path_search(char paths[][PATH_MAX], int n, char path[PATH_MAX])
{
	int i;

	for (i = 0; i < n; i++) {
		if (!paths[i][0] || access(paths[i], X_OK))
			continue;
		memcpy(path, paths[i], PATH_MAX);
		return 0;
	}
	return gda_because(-ENOENT,
			   "no gda-dpa to start at %s%s%s, %s: install it, or set GDA_DPA to its absolute path",
			   paths[0], paths[0][0] ? ", " : "", paths[1], paths[2]);
}

int gda_dpa_path(char path[PATH_MAX])
{
	const char *env = secure_getenv("GDA_DPA");
	char paths[3][PATH_MAX];

	if (getauxval(AT_SECURE))
		return gda_because(-EACCES,
				   "a program with more rights than its user (setuid, capabilities) starts no gda-dpa: set program to NULL");
	if (env && (*env != '/' || strlen(env) >= PATH_MAX))
		return gda_because(-EINVAL,
				   "GDA_DPA \"%s\": set it to the absolute path of gda-dpa, or unset it",
				   env);
	if (env) {
		memcpy(path, env, strlen(env) + 1);
		return 0;
	}
	gda_dpa_path_beside(paths[0], gda_dpa_path_library());
	gda_dpa_path_beside(paths[1], GDA_LIBDIR "/");
	gda_dpa_path_program(paths[2]);
	return gda_dpa_path_search(paths, 3, path);
}

/* --- environment --- */

#define GDA_DPA_SEARCH "LD_LIBRARY_PATH="

/* Copy the absolute directories of the variable @from to @to. */
static void gda_dpa_path_absolute(const char *from, char *to)
{
	size_t length;
	const char *separator = "";

	from += sizeof(GDA_DPA_SEARCH) - 1;
	to += sprintf(to, GDA_DPA_SEARCH);
	for (; *from; from += length + !!from[length]) {
		length = strcspn(from, ":;");
		if (*from != '/')
			continue;
		to += sprintf(to, "%s%.*s", separator, (int)length, from);
		separator = ":";
	}
}

char **gda_dpa_path_environ(char **from)
{
	size_t n = 0, bytes = 0, i, used = 0;
	char **env, *text;

	for (; from[n]; n++)
		if (!strncmp(from[n], GDA_DPA_SEARCH, sizeof(GDA_DPA_SEARCH) - 1))
			bytes += strlen(from[n]) + 1;
	env = malloc((n + 1) * sizeof(*env) + bytes);
	if (!env)
		return NULL;
	text = (char *)(env + n + 1);
	for (i = 0; i < n; i++) {
		env[used++] = from[i];
		if (strncmp(from[i], GDA_DPA_SEARCH, sizeof(GDA_DPA_SEARCH) - 1))
			continue;
		env[used - 1] = text;
		gda_dpa_path_absolute(from[i], text);
		/* remove the variable if no directory is left: empty means the working directory */
		used -= !text[sizeof(GDA_DPA_SEARCH) - 1];
		text += strlen(from[i]) + 1;
	}
	env[used] = NULL;
	return env;
}
